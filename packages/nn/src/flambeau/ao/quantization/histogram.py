"""The observer that chooses a range by the error which rounding to it would make."""
from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor

from .observer import UniformQuantizationObserverBase

#: Parts into which a bin is cut before its content moves to bins of other widths.
PARTS = 16
#: The share of all numbers that one step of the search gives up at an end.
STEP = 1e-5


class HistogramObserver(UniformQuantizationObserverBase):
    r"""Keeps a histogram of all numbers, and narrows its range while that lessens the error.

    The error of a range is :math:`\sum_b h_b \int_b (x - q(x))^2 dx`, where numbers are spread
    evenly over each bin and :math:`q` rounds to the middle of the nearest of the steps.

    Args:
        bins: How many bins there are.
        others: as in `UniformQuantizationObserverBase`.

    Example:
        >>> import flambeau
        >>> from flambeau.ao.quantization import HistogramObserver
        >>> observer = HistogramObserver()
        >>> _ = observer(flambeau.linspace(0, 1, 1000))
        >>> scale, zero_point = observer.calculate_qparams()
        >>> round(float(scale), 4), int(zero_point)
        (0.0039, 0)
    """

    histogram: Tensor
    min_val: Tensor
    max_val: Tensor

    def __init__(self, bins: int = 2048, dtype: Any = flambeau.quint8,
                 qscheme: Any = flambeau.per_tensor_affine, *args: Any, **kwargs: Any) -> None:
        super().__init__(dtype, qscheme, *args, **kwargs)
        self.bins = bins
        self.register_buffer("histogram", flambeau.zeros(bins))
        self.register_buffer("min_val", flambeau.tensor(float("inf")))
        self.register_buffer("max_val", flambeau.tensor(float("-inf")))
        self.steps = 2 ** (8 * self.dtype.itemsize)

    def forward(self, x_orig: Tensor) -> Tensor:
        """Count numbers, which pass unchanged."""
        x = x_orig.detach().to(self.min_val.dtype).flatten()
        x = x[x.isfinite()]
        if not x.numel():
            return x_orig
        low, high = flambeau.aminmax(x)
        if bool(self.min_val > self.max_val):       # nothing was seen yet
            self._keep(self._counted(x, low, high), low, high)
            return x_orig
        least, greatest = flambeau.minimum(low, self.min_val), flambeau.maximum(high, self.max_val)
        counts = self._counted(x, least, greatest)
        self._keep(counts + self._moved(least, greatest), least, greatest)
        return x_orig

    def _counted(self, x: Tensor, low: Tensor, high: Tensor) -> Tensor:
        return flambeau.histc(x, self.bins, float(low), float(high))

    def _keep(self, counts: Tensor, low: Tensor, high: Tensor) -> None:
        self.histogram.copy_(counts)
        self.min_val.copy_(low)
        self.max_val.copy_(high)

    def _moved(self, least: Tensor, greatest: Tensor) -> Tensor:
        """The histogram in bins between other ends."""
        if bool((least == self.min_val) & (greatest == self.max_val)):
            return self.histogram
        old_low, old_high = float(self.min_val), float(self.max_val)
        if old_low == old_high:     # all of one value
            return self._counted(self.min_val.reshape(1), least, greatest) * self.histogram.sum()
        parts = self.histogram.repeat_interleave(PARTS) / PARTS
        n = self.bins * PARTS
        middles = flambeau.linspace(old_low, old_high, n + 1)[:-1] \
            + 0.5 * (old_high - old_low) / n
        edges = flambeau.linspace(float(least), float(greatest), self.bins + 1)
        bins = (flambeau.bucketize(middles, edges, right=True) - 1).clamp(0, self.bins - 1)
        return flambeau.bincount(bins, weights=parts, minlength=self.bins)

    def calculate_qparams(self) -> Any:     # type: ignore[override]
        """The scale and the zero point of the range with the least error."""
        if bool(self.min_val > self.max_val):
            return self._calculate_qparams(self.min_val, self.max_val)
        return self._calculate_qparams(*self._narrowed())

    def _narrowed(self) -> tuple[Tensor, Tensor]:
        """The range of bins from which nothing more is cut off."""
        width = float(self.max_val - self.min_val) / self.bins
        sums = self.histogram.double().cumsum(0)
        total = float(sums[-1])
        shares = (sums / total).tolist()
        first, last, least_error = 0, self.bins - 1, float("inf")
        low_share, high_share = 0.0, 1.0
        while low_share < high_share:
            left, right = first, last
            while left < last and shares[left] < low_share + STEP:
                left += 1
            while right > first and shares[right] > high_share - STEP:
                right -= 1
            if left - first > last - right:     # the end with more empty bins
                low_share += STEP
                wanted = left, last
            else:
                high_share -= STEP
                wanted = first, right
            if wanted == (first, last):
                continue
            error = self._error(width, *wanted)
            if error > least_error:
                break
            least_error = error
            first, last = wanted
        low = self.min_val + width * first
        return low, self.min_val + width * (last + 1)

    def _error(self, width: float, first: int, last: int) -> float:
        """The summed square distance of numbers from the steps between two bins."""
        step = width * (last - first + 1) / self.steps
        if step == 0.0:
            return 0.0
        begin = (flambeau.arange(self.bins) - first) * width
        end = begin + width
        step_of_begin = flambeau.div(begin, step, rounding_mode="floor").clamp(0, self.steps - 1)
        step_of_end = flambeau.div(end, step, rounding_mode="floor").clamp(0, self.steps - 1)
        density = self.histogram / width
        half = step / 2

        def cost(low: Any, high: Any) -> Any:
            return density * (high * high * high - low * low * low) / 3

        error = cost(begin - (step_of_begin + 0.5) * step, half)
        error = error + (step_of_end - step_of_begin - 1) * cost(-half, half)
        error = error + cost(-half, end - (step_of_end * step + half))
        return float(error.sum())

    def extra_repr(self) -> str:
        """What was seen."""
        return f"min_val={self.min_val.item()}, max_val={self.max_val.item()}"

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        self._keep(flambeau.zeros(self.bins), flambeau.tensor(float("inf")),
                   flambeau.tensor(float("-inf")))
