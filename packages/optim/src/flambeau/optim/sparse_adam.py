"""``SparseAdam``: not here, and why."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor

from .optimizer import Optimizer


class SparseAdam(Optimizer):
    """Adam for sparse gradients: there are none here, so making one is an error that says so.

    Gradients are always dense, also those of ``nn.Embedding``, and SparseAdam is defined by which
    elements a gradient does not hold. Use ``Adam``, one fused pass over memory, or give embeddings
    of which few rows are used in a batch to ``SGD`` or ``Adagrad``, which leave rows with a zero
    gradient as they are.

    Args:
        params: Not used, like all that follow.
        lr: As of ``Adam``.
        betas: As of ``Adam``.
        eps: As of ``Adam``.
        maximize: As of ``Adam``.

    Raises:
        NotImplementedError: Always.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> optim.SparseAdam([flambeau.zeros(1)])
        Traceback (most recent call last):
        NotImplementedError: SparseAdam: gradients are dense here, also those of nn.Embedding...
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        raise NotImplementedError(
            "SparseAdam: gradients are dense here, also those of nn.Embedding(sparse=True). Use "
            "optim.Adam; or optim.SGD or optim.Adagrad, which leave rows with a zero gradient as "
            "they are"
        )
