"""Forms that a program registers for operators: functions of a graph and its values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flambeau.jit.ir import Node, Value

if TYPE_CHECKING:   # forms are registered, by torchvision for one, where onnx is not installed
    from flambeau.onnx.exporting.builder import Builder

#: ``namespace::name`` -> the function of PyTorch's form: of a graph, values and numbers.
SYMBOLICS: dict[str, Callable[..., Any]] = {}

#: The last letter of an attribute's name, as PyTorch writes it -> how its value is held.
_KINDS: dict[str, Callable[[Any], Any]] = {
    "i": lambda v: [int(n) for n in v] if isinstance(v, list | tuple) else int(v),
    "f": lambda v: [float(n) for n in v] if isinstance(v, list | tuple) else float(v),
    "s": lambda v: v}


def find(node: Node) -> Callable[..., Any] | None:
    """The function that was registered for a node's operator."""
    name = node.op.partition(".")[0]
    return SYMBOLICS.get(f"aten::{name}") or SYMBOLICS.get(f"flambeau::{name}")


def write_symbolic(b: Builder, node: Node) -> list[str]:
    """The nodes that a registered function writes."""
    function = find(node)
    assert function is not None
    given = [b.of(arg) if isinstance(arg, Value) else arg for arg in node.args]
    made = function(_Graph(b), *given)
    return list(made) if isinstance(made, tuple | list) else [made]


class _Graph:
    """What a registered function calls ``op`` of; values are names."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.opset = builder.opset

    def op(self, name: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> Any:
        """Write a node.

        Args:
            name: ``Add``, or ``domain::Name``.
            inputs: Names of values, and numbers or tensors, which become constants.
            outputs: How many results it has.
            attributes: With the letter of their kind behind the name: ``alpha_f=1.0``.
        """
        b = self.builder
        domain, _, word = name.rpartition("::")
        if name == "Constant":
            return self._constant(attributes["value_t"])
        given = {}
        for key, value in attributes.items():
            stem, _, kind = key.rpartition("_")
            if kind not in _KINDS or not stem:
                raise ValueError(f"g.op({name!r}): attribute {key!r} has to end in _i, _f or _s, "
                                 "which says its kind")
            given[stem] = _KINDS[kind](value)
        names = [each if isinstance(each, str) else self._constant(each) for each in inputs]
        if domain and domain != "onnx":
            b.domains.add(domain)
            given["domain"] = domain
        made = b.add_several(outputs, word, *names, **given)
        return made[0] if outputs == 1 else tuple(made)

    def _constant(self, value: Any) -> str:
        if hasattr(value, "detach"):
            array = value.detach().cpu().numpy()
            return self.builder.constant(array, str(array.dtype))
        if value is None:
            return ""
        first = value[0] if isinstance(value, list | tuple) and value else value
        return self.builder.constant(value, "float32" if isinstance(first, float) else "int64")
