"""Watching and rounding in one: how training with rounding chooses scales from moving averages.

Where numbers lie on both sides of zero and scales are symmetric, the least integer counts too: of
256 steps 128 are below zero and 127 above. Where they lie on one side, all steps are on that side.
"""
from __future__ import annotations

import flambeau
from flambeau import Tensor

__all__ = ["chosen", "rounded", "watched_and_rounded"]

#: Scales below it are raised to it: the float32 that is nearest to 6.1e-5.
_LEAST_SCALE = 6.0999998822808266e-05


def chosen(low: Tensor, high: Tensor, quant_min: int, quant_max: int,
           symmetric: bool) -> tuple[Tensor, Tensor]:
    """Scales in float32 and zero points in int32 that hold the numbers between two, and zero.

    Args:
        low: The least numbers.
        high: The greatest numbers, of the same shape.
        quant_min: The least integer.
        quant_max: The greatest integer.
        symmetric: Whether zero lies in the middle, where numbers lie on both sides of it.
    """
    low, high = low.double().clamp(max=0), high.double().clamp(min=0)
    both = (low < 0) & (high > 0) & symmetric
    above = (quant_max - quant_min) // 2
    widest = flambeau.maximum(-low / (above + 1), high / above)
    low = flambeau.where(both, (-widest * (above + 1)).float().double(), low)
    high = flambeau.where(both, (widest * above).float().double(), high)
    scale = (high - low) / (quant_max - quant_min)
    scale = flambeau.where(scale < 2.0**-128, flambeau.full_like(scale, 0.1), scale)
    wider = (_LEAST_SCALE / scale).clamp(min=1)
    low, high, scale = low * wider, high * wider, scale.clamp(min=_LEAST_SCALE)
    from_low, from_high = quant_min - low / scale, quant_max - high / scale
    errs_less = abs(quant_min) - (low / scale).abs() < abs(quant_max) - (high / scale).abs()
    zero = flambeau.where(errs_less, from_low, from_high)
    zero = flambeau.where(both, flambeau.full_like(zero, (quant_min + quant_max) / 2), zero)
    return scale.float(), zero.clamp(quant_min, quant_max).round().int()


def watched_and_rounded(self: Tensor, observer_on: Tensor, fake_quant_on: Tensor,
                        running_min: Tensor, running_max: Tensor, scale: Tensor,
                        zero_point: Tensor, averaging_const: float, quant_min: int,
                        quant_max: int, ch_axis: int, per_row_fake_quant: bool = False,
                        symmetric_quant: bool = False) -> Tensor:
    """Follow the ends of a tensor by moving averages, choose scales for them, and round it.

    Args:
        self: The numbers.
        observer_on: Whether the averages and scales change.
        fake_quant_on: Whether the numbers are rounded.
        running_min, running_max: The averages, infinite before the first call; written to.
        scale, zero_point: Written to.
        averaging_const: The weight of a new tensor.
        quant_min, quant_max: The least and the greatest integer.
        ch_axis: The dimension of the channels.
        per_row_fake_quant: Whether each channel has a scale.
        symmetric_quant: As in `chosen`.
    """
    if not self.numel():
        return self
    if bool(observer_on):
        x = self.detach().float()
        if per_row_fake_quant:
            x = x.movedim(ch_axis, 0)
            low, high = flambeau.aminmax(x.reshape(x.shape[0], -1), dim=1)
        else:
            low, high = flambeau.aminmax(x)
        for running, new in ((running_min, low), (running_max, high)):
            if running.numel() != new.numel():
                running.resize_(new.shape).fill_(float("inf"))
            new = new.reshape(running.shape)
            running.copy_(flambeau.where(running.isinf(), new,
                                         running + averaging_const * (new - running)))
        for kept, found in zip((scale, zero_point), chosen(
                running_min, running_max, quant_min, quant_max, symmetric_quant), strict=True):
            found = found.reshape(-1)
            kept.resize_(found.shape).copy_(found)
    if not bool(fake_quant_on):
        return self
    return rounded(self, scale, zero_point, ch_axis if per_row_fake_quant else None, quant_min,
                   quant_max)


def rounded(x: Tensor, scale: Tensor, zero_point: Tensor, ch_axis: int | None, quant_min: int,
            quant_max: int) -> Tensor:
    """Fake quantization by scales that are written to later, while gradients still need these.

    Args:
        x: The numbers.
        scale, zero_point: One, or one for each channel.
        ch_axis: The dimension of the channels, or None.
        quant_min, quant_max: The least and the greatest integer.
    """
    scale, zero_point = scale.clone(), zero_point.clone()
    if ch_axis is not None:
        return flambeau.fake_quantize_per_channel_affine(x, scale, zero_point, ch_axis, quant_min,
                                                         quant_max)
    return flambeau.fake_quantize_per_tensor_affine(x, scale, zero_point, quant_min, quant_max)
