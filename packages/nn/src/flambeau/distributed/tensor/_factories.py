"""New shared tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau

from ._api import DTensor, default_mesh
from ._layout import contiguous_stride, normalized, part
from ._redistribute import redistribute
from ._spec import DTensorSpec
from ._strategies.random import agreed
from .placement_types import Placement, Replicate

Mesh = Any


def _shape(size: Sequence[Any]) -> tuple[int, ...]:
    given = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    return tuple(given)


def _made(
    make: Callable[..., Any], size: Sequence[Any], mesh: Mesh, placements: Any, random: bool,
    options: dict[str, Any],
) -> DTensor:
    mesh = mesh or default_mesh()
    shape, grad = _shape(size), options.pop("requires_grad", False)
    placed = normalized(placements, mesh, len(shape))
    if random:
        whole: list[Placement] = [Replicate()] * mesh.ndim
        numbers = agreed(make(shape, **options), mesh)
        local = redistribute(numbers, shape, mesh, whole, placed)
    else:
        local = make(part(shape, mesh, placed)[0], **options)
    spec = DTensorSpec(mesh, placed, shape, contiguous_stride(shape), local.dtype)
    return DTensor(local, spec, requires_grad=grad)


def _factory(name: str, random: bool = False) -> Callable[..., DTensor]:
    make = getattr(flambeau, name)

    def function(
        *size: Any, device_mesh: Mesh = None, placements: Sequence[Placement] | None = None,
        **options: Any,
    ) -> DTensor:
        return _made(make, size, device_mesh, placements, random, options)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""A shared tensor as ``flambeau.{name}`` makes it.

    Args:
        size: The shape of all of it.
        device_mesh: The processes; all by default.
        placements: How they share it; each has all of it by default.
        options: ``dtype``, ``device`` and ``requires_grad``.
    """
    return function


empty = _factory("empty")
ones = _factory("ones")
zeros = _factory("zeros")
rand = _factory("rand", True)
randn = _factory("randn", True)


def full(
    size: Sequence[int], fill_value: Any, *, device_mesh: Mesh = None,
    placements: Sequence[Placement] | None = None, **options: Any,
) -> DTensor:
    """A shared tensor of one value.

    Args:
        size: The shape of all of it.
        fill_value: The value.
        device_mesh: The processes; all by default.
        placements: How they share it; each has all of it by default.
        options: ``dtype``, ``device`` and ``requires_grad``.
    """

    def make(shape: Any, **given: Any) -> Any:
        return flambeau.full(shape, fill_value, **given)

    return _made(make, [size], device_mesh, placements, False, options)
