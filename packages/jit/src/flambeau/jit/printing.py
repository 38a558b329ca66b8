"""Graphs as text: one line per value, ``%3: float32[N, 10] = linear(%0, %weight, %bias)``."""

from __future__ import annotations

from flambeau.jit.ir import Graph, Node, Value
from flambeau.jit.literals import show
from flambeau.jit.opset import BRANCH, LOOP, find_opdef

_WORDS = {BRANCH: ("then", "else"), LOOP: ("while", "do")}


def show_graph(graph: Graph) -> str:
    """The whole graph as text."""
    names = name_values(graph)
    head = ", ".join(f"{names[value]}: {show_type(value)}" for value in graph.inputs)
    lines = [f"graph({head}):"]
    for capture in graph.captures:
        kind = "constant" if capture.constant else "captured"
        lines.append(f"    {names[capture.value]}: {show_type(capture.value)} {kind}")
    for node in graph.nodes:
        lines += [f"    {line}" for line in show_node(node, names)]
    for target, value in graph.writes:
        lines.append(f"    write {names[target]} <- {names[value]}")
    for grad in graph.grads:
        left = "None" if grad.value is None else names[grad.value]
        lines.append(f"    {names[grad.leaf]}.grad = {left}")
    lines.append(f"    return {', '.join(names[value] for value in graph.outputs)}")
    return "\n".join(lines)


def name_values(graph: Graph) -> dict[Value, str]:
    """``%0``, ``%1`` … for inputs and results in order, ``%name`` for captured tensors."""
    names = {capture.value: f"%{capture.name}" for capture in graph.captures}
    results = [value for node in graph.nodes for value in node.outputs]
    for number, value in enumerate([*graph.inputs, *results]):
        names[value] = f"%{number}"
    return names


def show_type(value: Value) -> str:
    """``float32[N, 10]``, followed by the device where it is not the CPU."""
    text = f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    return text if value.device == "cpu" else f"{text}@{value.device}"


def show_node(node: Node, names: dict[Value, str]) -> list[str]:
    """A node as one line, with its region below it if it has one."""
    left = ", ".join(f"{names.get(v, '%?')}: {show_type(v)}" for v in node.outputs)
    line = f"{node.op}({', '.join(_show_args(node, names))})"
    line = f"{left} = {line}" if left else line
    if node.into:
        line += f" into {', '.join(names.get(value, '%?') for value in node.into)}"
    if node.body is not None:
        return [line + ":", *str(node.body).splitlines()[1:]]
    lines = [line]
    for word, region in zip(_WORDS.get(node.op, ()), node.regions, strict=False):
        head, *rest = str(region).splitlines()
        lines += [f"  {word} {head.removeprefix('graph')}", *(f"  {each}" for each in rest)]
    return lines


def _show_args(node: Node, names: dict[Value, str]) -> list[str]:
    """Values in order, then literals by name where they differ from the default."""
    opdef = find_opdef(node.op)
    texts = []
    for number, arg in enumerate(node.args):
        param = opdef.params[number] if opdef is not None and number < len(opdef.params) else None
        text = _show_arg(arg, names)
        if isinstance(arg, Value) or param is None:
            texts.append(text)
        elif not (param.has_default and _same(param.default, arg)):
            texts.append(f"{param.name}={text}")
    return texts


def _show_arg(arg: object, names: dict[Value, str]) -> str:
    if isinstance(arg, Value):
        return names.get(arg, "%?")
    if isinstance(arg, tuple):
        return "[" + ", ".join(_show_arg(item, names) for item in arg) + "]"
    return show(arg)


def _same(default: object, arg: object) -> bool:
    if isinstance(default, list):
        default = tuple(default)
    return type(default) is type(arg) and default == arg
