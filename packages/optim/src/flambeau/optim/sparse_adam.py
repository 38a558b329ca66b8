"""``SparseAdam``: not here, and why."""

from __future__ import annotations

from typing import Any

from .optimizer import Optimizer


class SparseAdam(Optimizer):
    """Adam for sparse gradients: there are none here, so making one is an error that says so.

    Gradients are always dense, also those of ``nn.Embedding``, and SparseAdam is defined by which
    elements a gradient does not hold. Use ``Adam``, one fused pass over memory, or give embeddings
    of which few rows are used in a batch to ``SGD`` or ``Adagrad``, which leave rows with a zero
    gradient as they are.

    Args:
        params: Not used.
        options: Not used.

    Raises:
        NotImplementedError: Always.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> optim.SparseAdam([flambeau.zeros(1)])
        Traceback (most recent call last):
        NotImplementedError: SparseAdam: gradients are dense here, also those of nn.Embedding...
    """

    def __init__(self, params: Any, *args: Any, **options: Any) -> None:
        raise NotImplementedError(
            "SparseAdam: gradients are dense here, also those of nn.Embedding(sparse=True). Use "
            "optim.Adam; or optim.SGD or optim.Adagrad, which leave rows with a zero gradient as "
            "they are"
        )
