"""pickle and copy of tensors: values, dtype and requires_grad; views become plain tensors."""
from __future__ import annotations


def rebuild(cls, raw: bytes, dtype, shape: tuple[int, ...], requires_grad: bool):
    """Make a tensor from the bytes of its elements in C order."""
    from flambeau.core import _core

    flat = _core.frombuffer(bytearray(raw), dtype=dtype) if raw else \
        _core.operators()["empty"]((0,), dtype=dtype)
    x = flat.view(shape)
    if cls is not _core.Tensor:
        return _core.Tensor._make_subclass(cls, x, requires_grad)
    return x.requires_grad_(True) if requires_grad else x


def tensor_bytes(x) -> bytes:
    """The elements in C order."""
    from flambeau.core import _core

    return _core.raw_bytes(x.detach().cpu().contiguous())


def reduce_tensor(x):
    """What pickle needs (``Tensor.__reduce_ex__``)."""
    if not x.is_leaf:
        raise RuntimeError("only leaf tensors can be pickled or deep-copied: this one has a "
                           f"grad_fn ({x.grad_fn}); write x.detach()")
    return rebuild, (type(x), tensor_bytes(x), x.dtype, tuple(x.shape), x.requires_grad)


def deepcopy_tensor(x, memo: dict):
    """What copy.deepcopy needs."""
    from flambeau.core import _core

    if id(x) in memo:
        return memo[id(x)]
    if not x.is_leaf:
        raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the "
                           "deepcopy protocol at the moment; write x.detach().clone()")
    made = x.detach().clone()
    if type(x) is not _core.Tensor:
        made = _core.Tensor._make_subclass(type(x), made, x.requires_grad)
    elif x.requires_grad:
        made.requires_grad_(True)
    made.__dict__.update(x.__dict__)
    memo[id(x)] = made
    return made
