"""The C header of a packaged program, and the lines of the examples that depend on it."""
from __future__ import annotations

from flambeau.jit.c_names import C_TYPES, c_name
from flambeau.jit.dims import Dim, Size, factors
from flambeau.jit.ir import Graph, Value
from flambeau.jit.printing import show_type


def header(name: str, graph: Graph) -> str:
    """The header: how many tensors go in and out, and a function that describes each input."""
    upper = name.upper()
    gradients = sum(grad.value is not None for grad in graph.grads)
    lines = [f"/* {name}.program: what it takes and gives. */", f"#ifndef {upper}_H",
             f"#define {upper}_H", "#include <flambeau/runtime.h>", "",
             f"enum {{ {upper}_INPUTS = {len(graph.inputs)}, "
             f"{upper}_OUTPUTS = {len(graph.outputs) + gradients} }};"]
    for number, value in enumerate(graph.inputs):
        lines += ["", *_input(f"{name}_input_{number}", number, value, graph)]
    for number, value in enumerate(graph.outputs):
        lines += ["", f"/* Output {number}: {show_type(value)} */"]
    if gradients:
        lines += ["", f"/* The last {gradients} outputs are gradients. */"]
    return "\n".join([*lines, "#endif", ""])


def _input(function: str, number: int, value: Value, graph: Graph) -> list[str]:
    """The function that makes a buffer's description."""
    names = _symbols(value)
    kind = C_TYPES.get(value.dtype, "void")
    sizes = ", ".join(map(_c_size, value.shape)) or "0"
    count = " * ".join(["(size_t)1", *(f"(size_t)({_c_size(size)})" for size in value.shape)])
    what = f"/* Input {number}: {show_type(value)}"
    limits = [_limits(name, graph) for name in names]
    arguments = ", ".join([f"{kind} *data", *(f"int64_t {c_name(name)}" for name in names)])
    dtype = f"FLAMBEAU_{value.dtype.upper()}"
    return [
        "; ".join([what, *limits]) + " */",
        f"static inline flambeau_tensor {function}({arguments}) {{",
        f"    flambeau_tensor tensor = {{data, 0, {dtype}, {len(value.shape)}, {{{sizes}}}}};",
        f"    tensor.bytes = {count} * flambeau_dtype_size({dtype});",
        "    return tensor;", "}"]


def _symbols(value: Value) -> list[str]:
    """The symbols in a shape, in order."""
    found = {name: None for size in value.shape if isinstance(size, Dim) for name in size.names}
    return list(found)


def _limits(name: str, graph: Graph) -> str:
    sizes = graph.range_of(name)
    last = "" if sizes.stop > 2**62 - 1 else f" to {sizes.stop - 1}"
    return f"{name} from {sizes.start}{last}"


def _c_size(size: Size) -> str:
    if not isinstance(size, Dim):
        return str(size)
    terms = [f"{factor} * {' * '.join(map(c_name, factors(name)))}".removeprefix("1 * ")
             for name, factor in size.terms]
    return " + ".join(terms + ([str(size.offset)] if size.offset else []))


def examples(name: str, graph: Graph) -> dict[str, str]:
    """What the templates leave open: sizes, buffers and inputs."""
    used = dict.fromkeys(symbol for value in graph.inputs for symbol in _symbols(value))
    sizes = [f"    const int64_t {c_name(symbol)} = {graph.symbols[symbol][0]};\n"
             for symbol in used]
    inputs = []
    for number, value in enumerate(graph.inputs):
        words = ", ".join(["NULL", *map(c_name, _symbols(value))])
        inputs.append(f"        {name}_input_{number}({words}),\n")
    takes = "; ".join(show_type(value) for value in graph.inputs) or "nothing"
    gives = "; ".join(show_type(value) for value in graph.outputs) or "nothing"
    return {"sizes": "".join(sizes), "inputs": "".join(inputs) or "        {0},\n",
            "takes": takes, "gives": gives}
