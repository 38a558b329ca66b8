"""Models that are averages of others."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any

import flambeau
from flambeau import Tensor, rooms

from .swa_utils import Average, MultiAverage, get_swa_multi_avg_fn

nn = rooms.enter("nn")
_BatchNorm = nn.modules.batchnorm._BatchNorm


class AveragedModel(nn.Module):  # type: ignore[name-defined]
    """A copy of a model whose parameters are averages over training.

    Equal weights (Izmailov et al., Averaging Weights Leads to Wider Optima, 2018) unless a
    function says otherwise, e.g. ``get_ema_multi_avg_fn(0.999)`` for an exponential average.

    Args:
        model: The model that is copied.
        device: Where the copy is kept.
        avg_fn: New average of an average, a parameter and the number of models averaged.
        multi_avg_fn: The same for lists, in place.
        use_buffers: Average buffers too, rather than copy them.

    Raises:
        ValueError: Both functions are given.

    Example:
        >>> import flambeau
        >>> from flambeau import nn, optim
        >>> model = nn.Linear(1, 1, bias=False)
        >>> averaged = optim.swa_utils.AveragedModel(model)
        >>> for value in (1.0, 2.0, 6.0):
        ...     model.weight.data.fill_(value)
        ...     averaged.update_parameters(model)
        tensor([[1.]])
        tensor([[2.]])
        tensor([[6.]])
        >>> averaged.module.weight.detach()
        tensor([[3.]])
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Any,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: MultiAverage | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise ValueError("give avg_fn or multi_avg_fn, not both")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        count = flambeau.tensor(0, dtype=flambeau.int64, device=device)
        self.register_buffer("n_averaged", count)
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model computes."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Any) -> None:
        """Take a model into the average; the first one is copied.

        Args:
            model: A model like the one that was copied.
        """
        pairs = list(zip(self._averaged(self.module), self._averaged(model), strict=True))
        averages = [average.detach() for average, _ in pairs]
        params = [param.detach().to(average.device) for average, param in pairs]
        if int(self.n_averaged) == 0:
            for average, param in zip(averages, params, strict=True):
                average.copy_(param)
        elif self.avg_fn is not None:
            for average, param in zip(averages, params, strict=True):
                average.copy_(self.avg_fn(average, param, self.n_averaged.to(average.device)))
        else:
            self._update_all(averages, params)
        if not self.use_buffers:
            for own, other in zip(self.module.buffers(), model.buffers(), strict=True):
                own.detach().copy_(other.detach().to(own.device))
        self.n_averaged += 1

    def _averaged(self, model: Any) -> Iterator[Tensor]:
        buffers = model.buffers() if self.use_buffers else ()
        return itertools.chain(model.parameters(), buffers)

    def _update_all(self, averages: list[Tensor], params: list[Tensor]) -> None:
        """By kind of tensor, since a function may look at the first one alone."""
        update = self.multi_avg_fn or get_swa_multi_avg_fn()
        kinds: dict[Any, tuple[list[Tensor], list[Tensor]]] = {}
        for average, param in zip(averages, params, strict=True):
            own, others = kinds.setdefault((str(average.device), average.dtype), ([], []))
            own.append(average)
            others.append(param)
        for own, others in kinds.values():
            update(own, others, self.n_averaged.to(own[0].device))


def update_bn(loader: Iterable[Any], model: Any, device: Any = None) -> None:
    """Compute the running mean and variance of all batch normalizations anew.

    Args:
        loader: Batches: tensors, or lists or tuples that begin with one.
        model: The model they are passed through.
        device: Where batches are moved before.

    Example:
        >>> import flambeau
        >>> from flambeau import nn, optim
        >>> model = nn.Sequential(nn.BatchNorm1d(1))
        >>> optim.swa_utils.update_bn([flambeau.tensor([[1.0], [3.0]])], model)
        >>> model[0].running_mean
        tensor([2.])
    """
    norms = [m for m in model.modules() if isinstance(m, _BatchNorm)]
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    was_training = model.training
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None
    model.train()
    with flambeau.no_grad():
        for batch in loader:
            first = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(first if device is None else first.to(device))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    model.train(was_training)
