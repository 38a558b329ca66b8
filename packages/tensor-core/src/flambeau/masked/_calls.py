"""Calls with masked tensors: element by element, reductions, and what moves elements."""
from __future__ import annotations

from typing import Any

from flambeau.core import _core, layouts
from flambeau.core.wrapped import called, is_pointwise
from flambeau.masked import _reductions, _rows
from flambeau.masked._sparse import dense
from flambeau.masked._tensor import MaskedTensor, as_masked_tensor

_REDUCTIONS = {f.__name__: f for f in (
    _reductions.sum, _reductions.mean, _reductions.amax, _reductions.amin, _reductions.prod,
    _reductions.std, _reductions.var, _reductions.argmax, _reductions.argmin,
    _reductions.logsumexp, _rows.softmax, _rows.log_softmax, _rows.cumsum, _rows.cumprod)}
_MOVING = frozenset(
    "cat chunk clone contiguous detach diagonal expand flatten flip getitem index_select movedim "
    "narrow permute repeat reshape roll select slice split squeeze stack swapaxes t tile transpose "
    "tril triu unbind unflatten unfold unsqueeze view alias concat select_scatter".split())
_LAYOUTS = frozenset("to_dense to_sparse to_sparse_coo to_sparse_csr".split())
_BY_ELEMENT = frozenset(
    "bfloat16 bool byte char clamp copy cpu cuda double empty_like float full_like gelu half int "
    "long nan_to_num ones_like rand_like randn_like relu short silu sigmoid softplus square tanh "
    "to type zero zeros_like fill dropout".split())


def run(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a call that was shown to the class of masked tensors.

    Args:
        func: What is called.
        args: By position.
        kwargs: By name.

    Raises:
        NotImplementedError: The call has no meaning for masked tensors.
    """
    if getattr(func, "__name__", "") in ("__get__", "__set__", "__delete__"):
        with _core.DisableTorchFunction():
            return func(*args, **kwargs)
    func, args, name, inplace = called(func, args)
    if name in ("any", "all"):
        return _truth(func, *args, **kwargs)
    if name in _REDUCTIONS:
        return _reduce(name, args, kwargs)
    if name in _LAYOUTS:
        return _in_layout(name, args[0])
    if name == "where" and len(args) == 3:
        return _where(func, *args)
    if name == "contiguous":
        args[0].is_contiguous()     # sparse elements have no order
    if name in _MOVING:
        return _moved(func, args, kwargs)
    if name in _BY_ELEMENT or is_pointwise(func, name):
        return _by_element(func, name, inplace, args, kwargs)
    raise NotImplementedError(f"{name}() is not implemented for masked tensors: write "
                              f"x.to_tensor(value), or compute with x.get_data()")


def _in_layout(name: str, x: MaskedTensor) -> MaskedTensor:
    """The same elements in another layout; a sparse one stores those that count."""
    if name == "to_dense":
        return as_masked_tensor(x._values.to_dense(), x._mask.to_dense())
    whole = x if x.layout is layouts.strided else _in_layout("to_dense", x)
    mask = getattr(whole._mask, name)()
    if name != "to_sparse_csr":
        mask = mask.coalesce()
    return as_masked_tensor(whole._values.sparse_mask(mask), mask)


def _reduce(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    names = {"std": ("dim", "unbiased"), "var": ("dim", "unbiased")}.get(name, ("dim", "keepdim"))
    given = dict(zip(names, args[1:], strict=False)) | kwargs
    if isinstance(given.get("dim"), bool):
        raise TypeError(f"{name}(): dim is an integer, not {given['dim']}")
    return _REDUCTIONS[name](args[0], **given)


def _truth(func: Any, x: MaskedTensor, dim: Any = None, keepdim: bool = False) -> MaskedTensor:
    fills = func.__name__ == "all"
    data = x.to_tensor(fills)
    if dim is None:
        return as_masked_tensor(func(data), x._mask.any())
    return as_masked_tensor(func(data, dim, keepdim=keepdim), x._mask.any(dim, keepdim=keepdim))


def _data(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(map(_data, value))
    return value._values if isinstance(value, MaskedTensor) else value


def _mask_of(value: Any) -> Any:
    """The mask instead of a masked tensor; dense tensors count as a whole."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_mask_of, value))
    return value._mask if isinstance(value, MaskedTensor) else value


def _where(func: Any, condition: Any, first: Any, second: Any) -> MaskedTensor:
    masks = [x._mask if isinstance(x, MaskedTensor) else True for x in (first, second)]
    chosen = func(_data(condition), *masks)
    if isinstance(condition, MaskedTensor):
        chosen = chosen & condition._mask
    return as_masked_tensor(func(_data(condition), _data(first), _data(second)), chosen)


def _moved(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    first = args[0]
    if isinstance(first, (list, tuple)) and not all(isinstance(x, MaskedTensor) for x in first):
        raise TypeError(f"{func.__name__}(): masked tensors go together with masked ones; write "
                        "as_masked_tensor(x, flambeau.ones_like(x, dtype=flambeau.bool))")
    data = func(*map(_data, args), **kwargs)
    name = getattr(func, "__name__", "")
    mask = _mask_of(first).detach() if name == "detach" else func(*map(_mask_of, args), **kwargs)
    if isinstance(data, _core.Tensor):
        return as_masked_tensor(data, mask)
    return tuple(as_masked_tensor(d, m) for d, m in zip(data, mask, strict=True))


def _same(one: Any, other: Any) -> bool:
    return tuple(one.shape) == tuple(other.shape) and one.layout is other.layout and bool(
        (dense(one) == dense(other)).all())


def _by_element(func: Any, name: str, inplace: bool, args: tuple[Any, ...],
                kwargs: dict[str, Any]) -> Any:
    masks = [x._mask for x in (*args, *kwargs.values()) if isinstance(x, MaskedTensor)]
    mask = masks[0]
    for other in masks[1:]:
        if other is not mask and not _same(other, mask):
            raise ValueError(f"{name}(): Input masks must match, for which elements of the result "
                             "count would be open otherwise: combine data and masks, e.g. "
                             "as_masked_tensor(x.get_data() + y.get_data(), x.get_mask() & "
                             "y.get_mask())")
    result = func(*map(_data, args), **{key: _data(value) for key, value in kwargs.items()})
    if inplace:
        return args[0]
    if not isinstance(result, _core.Tensor):
        return result
    if tuple(result.shape) != tuple(mask.shape):
        mask = mask.expand(result.shape)
    return as_masked_tensor(result, mask)
