"""Arrays in other shapes and orders."""
from __future__ import annotations

from typing import Any

import flambeau
from flambeau.array_api._promotion import together


def broadcast_arrays(*arrays: Any) -> tuple[Any, ...]:
    """Arrays broadcast against one another."""
    return tuple(flambeau.broadcast_tensors(*arrays))


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that arrays of these shapes broadcast to."""
    try:
        return tuple(flambeau.broadcast_shapes(*shapes))
    except RuntimeError as error:       # PyTorch's kind of error; the standard wants a ValueError
        raise ValueError(str(error)) from None


def broadcast_to(x: Any, /, shape: Any) -> Any:
    """The array repeated to a larger shape, without copying."""
    return flambeau.broadcast_to(x, shape)


def concat(arrays: Any, /, *, axis: int | None = 0) -> Any:
    """Arrays joined along an axis; flattened first where ``axis`` is None."""
    same = together(*arrays)
    if axis is None:
        return flambeau.cat([x.reshape(-1) for x in same])
    return flambeau.cat(list(same), axis)


def stack(arrays: Any, /, *, axis: int = 0) -> Any:
    """Arrays of one shape joined along a new axis."""
    return flambeau.stack(list(together(*arrays)), axis)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The slices along an axis."""
    return tuple(flambeau.unbind(x, axis))


def expand_dims(x: Any, /, axis: Any) -> Any:
    """The array with new axes of size 1."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    ndim = x.ndim + len(axes)
    indices = sorted(a + ndim if a < 0 else a for a in axes)
    if len(set(indices)) < len(indices):
        raise ValueError(f"expand_dims(): axes {axes} name an index twice")
    for index in indices:
        if not 0 <= index < ndim:
            raise IndexError(f"expand_dims(): axes {axes} are not all in an array of {ndim} "
                             "dimensions")
        x = x.unsqueeze(index)
    return x


def squeeze(x: Any, /, axis: Any) -> Any:
    """The array without these axes of size 1."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    if any(x.size(a) != 1 for a in axes):
        raise ValueError(f"squeeze(): axes {axes} of an array of shape {tuple(x.shape)} are not "
                         "all of size 1")
    return flambeau.squeeze(x, axes)


def flip(x: Any, /, *, axis: Any = None) -> Any:
    """The array in reverse order along axes, or along all."""
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return flambeau.flip(x, tuple(axes))


def moveaxis(x: Any, source: Any, destination: Any, /) -> Any:
    """The array with axes in another order."""
    return flambeau.movedim(x, source, destination)


def permute_dims(x: Any, /, axes: Any) -> Any:
    """The array with its axes in another order."""
    return flambeau.permute(x, axes)


def matrix_transpose(x: Any, /) -> Any:
    """Matrices with rows and columns exchanged."""
    return x.mT


def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> Any:
    """The array in another shape.

    Args:
        x: The array.
        shape: The shape, one size of which may be -1.
        copy: Whether memory must (True), must not (False) or may (None) be copied.
    """
    if copy is False:
        return x.view(shape)
    return flambeau.reshape(x.clone() if copy else x, shape)


def roll(x: Any, /, shift: Any, *, axis: Any = None) -> Any:
    """Elements moved along axes; those that leave at one end enter at the other."""
    if axis is None:
        return flambeau.roll(x, shift)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    shifts = (shift,) * len(axes) if isinstance(shift, int) else tuple(shift)
    return flambeau.roll(x, shifts, axes)


def repeat(x: Any, repeats: Any, /, *, axis: int | None = None) -> Any:
    """Every element several times."""
    if not isinstance(repeats, int):
        repeats = repeats.long()
    return flambeau.repeat_interleave(x, repeats, axis)


def tile(x: Any, repetitions: Any, /) -> Any:
    """The array laid out several times."""
    return flambeau.tile(x, repetitions)


__all__ = ["broadcast_arrays", "broadcast_shapes", "broadcast_to", "concat", "expand_dims", "flip",
           "matrix_transpose", "moveaxis", "permute_dims", "repeat", "reshape", "roll", "squeeze",
           "stack", "tile", "unstack"]
