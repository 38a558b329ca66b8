"""What an operator would give: types and layouts of results, asked of the core's ``infer``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from flambeau.jit import bridge
from flambeau.jit.dims import shape_for
from flambeau.jit.ir import Value
from flambeau.jit.literals import Slot

Tensor = Any
_NUMBERS = {"int": 2, "float": 2.0, "bool": True, "complex": 2j}


@dataclass(frozen=True)
class Spec:
    """What ``infer`` says of one result."""

    value: Value
    strides: tuple[int, ...] | None

    def allocate(self) -> Tensor:
        """Memory for it, not filled."""
        shape, dtype = shape_for(self.value.shape, {}), self.value.dtype
        device = self.value.device
        if self.strides is None:
            return bridge.empty_on(shape, dtype, device)
        return bridge.empty_on(shape, dtype, device, self.strides)


def infer_specs(op: str, args: Sequence[Any]) -> list[Spec]:
    """Types and layouts of a definition's results, without computing."""
    specs = []
    for shape, dtype, device, layout in bridge.infer(op, args):
        plain = layout is None or layout[:1] == ("alias",)
        value = Value(tuple(shape), bridge.dtype_name(dtype), str(device))
        specs.append(Spec(value, None if plain else layout))
    return specs


def infer_values(op: str, args: Sequence[Any]) -> list[Value]:
    """The same for arguments with a ``Value`` of known sizes for each tensor."""
    specs = infer_specs(op, [_stand_in(arg) for arg in args])
    devices = {value.device for value in _values(args)}
    if len(devices) != 1:
        return [spec.value for spec in specs]
    (device,) = devices
    return [Value(s.value.shape, s.value.dtype, device) for s in specs]


def _values(args: Sequence[Any]) -> Iterator[Value]:
    for arg in args:
        if isinstance(arg, Value):
            yield arg
        elif isinstance(arg, tuple | list):
            yield from _values(arg)


def _stand_in(arg: Any) -> Any:
    """A tensor without memory for a value, a number for a run-time scalar."""
    if isinstance(arg, Slot):
        return _NUMBERS[arg.kind]
    if isinstance(arg, Value):
        return bridge.empty_on(shape_for(arg.shape, {}), arg.dtype, "meta")
    return [_stand_in(item) for item in arg] if isinstance(arg, tuple) else bridge.from_literal(arg)
