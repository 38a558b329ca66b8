"""``AdaptiveLogSoftmaxWithLoss``: a softmax over so many classes that rare ones cost less."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import flambeau
from flambeau import Tensor

from .._siblings import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module


class _Result(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log probabilities of classes sorted by frequency, the rare ones in clusters.

    The head scores the frequent classes and one cluster for each range of rare ones; only
    clusters that occur among the targets are evaluated, and the rarer a cluster, the smaller its
    projection (Grave, Joulin, Cisse, Grangier, Jegou 2017, "Efficient softmax approximation for
    GPUs").

    Shapes: input ``(N, in_features)`` or ``(in_features,)``; target ``(N,)`` or ``()``; returns
    ``output``, the log probability of each target, ``(N,)`` or ``()``, and ``loss``, minus their
    mean.

    Args:
        in_features: Size of the input.
        n_classes: How many classes there are; 0 is the most frequent.
        cutoffs: The first class of every cluster, ascending.
        div_value: Cluster ``i`` (from 1) projects to ``in_features // div_value**i`` features.
        head_bias: Whether the head has a bias.
        device: Where the parameters are made.
        dtype: Their dtype.

    Raises:
        ValueError: The cutoffs are empty, not ascending, or not between 1 and ``n_classes - 1``.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> layer = nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[4, 10], div_value=2.0)
        >>> out = layer(flambeau.randn(3, 8), flambeau.tensor([0, 12, 5]))
        >>> tuple(out.output.shape), tuple(layer.log_prob(flambeau.randn(3, 8)).shape)
        ((3,), (3, 20))
    """

    head: Linear
    tail: ModuleList

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*_checked(cutoffs, n_classes), n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        made: dict[str, Any] = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **made)
        self.tail = ModuleList()
        for i, (start, stop) in enumerate(pairwise(self.cutoffs)):
            size = int(in_features // div_value ** (i + 1))
            down = Linear(in_features, size, bias=False, **made)
            self.tail.append(Sequential(down, Linear(size, stop - start, bias=False, **made)))

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        for layer in (self.head, *(linear for cluster in self.tail for linear in cluster)):
            layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _Result:
        """Compute the log probability of each target, and the loss."""
        _check_call(input_, target_, self.n_classes)
        rows = input_ if target_.ndim else input_.unsqueeze(0)
        wanted = target_.reshape(-1)
        columns = wanted.clone()
        output = flambeau.zeros_like(wanted, dtype=input_.dtype)
        for i, (start, stop) in enumerate(pairwise(self.cutoffs)):
            indices = ((wanted >= start) & (wanted < stop)).nonzero().squeeze(1)
            if indices.numel():
                columns = columns.index_fill(0, indices, self.shortlist_size + i)
                scores = F.log_softmax(self.tail[i](rows.index_select(0, indices)), 1)
                inside = wanted.index_select(0, indices) - start
                chosen = scores.gather(1, inside.unsqueeze(1)).squeeze(1)
                output = output.index_copy(0, indices, chosen)
        head = F.log_softmax(self.head(rows), 1)
        output = output + head.gather(1, columns.unsqueeze(1)).squeeze(1)
        return _Result(output.reshape(target_.shape), -output.mean())

    def log_prob(self, input: Tensor) -> Tensor:
        """The log probabilities of all classes.

        Args:
            input: Shape ``(N, in_features)``.

        Returns:
            Shape ``(N, n_classes)``.
        """
        return self._spread(input, F.log_softmax(self.head(input), 1))

    def predict(self, input: Tensor) -> Tensor:
        """The class of the greatest probability; clusters are evaluated where they may win.

        Args:
            input: Shape ``(N, in_features)``.

        Returns:
            Shape ``(N,)``.
        """
        head = F.log_softmax(self.head(input), 1)
        classes = head.argmax(1)
        rare = (classes >= self.shortlist_size).nonzero().squeeze(1)
        if rare.numel() == 0:
            return classes
        spread = self._spread(input.index_select(0, rare), head.index_select(0, rare))
        return classes.index_copy(0, rare, spread.argmax(1))

    def _spread(self, input: Tensor, head: Tensor) -> Tensor:
        """The probability of each cluster, spread over its classes."""
        parts = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            inside = F.log_softmax(cluster(input), 1)
            parts.append(inside + head[:, self.shortlist_size + i].unsqueeze(1))
        return flambeau.cat(parts, 1)


def _checked(cutoffs: Sequence[int], classes: int) -> list[int]:
    numbers = list(cutoffs)
    whole = all(int(number) == number for number in numbers)
    ascending = all(a < b for a, b in pairwise([0, *numbers, classes]))
    if not numbers or not whole or not ascending:
        raise ValueError(
            "cutoffs are one or more integers, ascending, each between 1 and n_classes - 1 = "
            f"{classes - 1}, not {numbers}"
        )
    return numbers


def _check_call(input: Tensor, target: Tensor, classes: int) -> None:
    if target.ndim > 1 or input.ndim != target.ndim + 1:
        raise RuntimeError(
            "AdaptiveLogSoftmaxWithLoss takes an input (N, in_features) with a target (N,), or "
            f"(in_features,) with (); got {tuple(input.shape)} and {tuple(target.shape)}"
        )
    if target.ndim and len(input) != len(target):
        raise RuntimeError(
            "AdaptiveLogSoftmaxWithLoss takes as many targets as rows of the input; got "
            f"{tuple(input.shape)} and {tuple(target.shape)}"
        )
    outside = (target < 0) | (target >= classes)
    if outside.any():
        raise RuntimeError(
            f"targets are from 0 to n_classes - 1 = {classes - 1}, not from "
            f"{target.min().item()} to {target.max().item()}"
        )
