"""Exchanging two tensors."""
from __future__ import annotations

from flambeau import Tensor
from flambeau.core import _core

__all__ = ["swap_tensors"]


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange two tensors: whoever holds one of them has what the other was.

    Memory, class, attributes, ``requires_grad`` and ``grad`` are exchanged.

    Args:
        t1: A tensor without a history.
        t2: Another one.

    Raises:
        RuntimeError: one of them has a history, or is a view.
        TypeError: one is of the class ``Tensor`` itself, and the other of another one.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> a, b = nn.Parameter(flambeau.ones(2)), nn.Parameter(flambeau.zeros(1))
        >>> flambeau.utils.swap_tensors(a, b)
        >>> a.tolist(), b.tolist()
        ([0.0], [1.0, 1.0])
    """
    for name, tensor in (("t1", t1), ("t2", t2)):
        if not tensor.is_leaf or tensor._base is not None:
            raise RuntimeError(f"swap_tensors(): {name} has a history or is a view, which would "
                               "go on as that of another tensor; swap what it was made from, or "
                               "x.detach().clone()")
    if type(t1) is not type(t2) and Tensor in (type(t1), type(t2)):
        raise TypeError(f"swap_tensors(): a {type(t1).__name__} and a {type(t2).__name__} cannot "
                        "be exchanged, since the class Tensor itself cannot become another; make "
                        "both parameters, nn.Parameter(x)")
    _core.swap_tensors(t1, t2)
