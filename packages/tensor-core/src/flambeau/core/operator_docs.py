"""What ``help`` and the reference say of an operator beyond its line: derived from its definition.

A definition says of each parameter what it accepts. What parameters of one name mean wherever they
occur is said here once.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Parameter(NamedTuple):
    """One parameter of an operator: its name, what it accepts, and whether None will do."""

    name: str
    kind: str
    optional: bool


#: How the dtype of a result follows from the operands.
RULES = {
    "promote": "The promoted dtype of all operands.",
    "float": "The promoted dtype of all operands; integers and bool give the default float dtype.",
    "integer": "The promoted dtype of all operands; bool becomes int64.",
    "bool": "Computed in the promoted dtype; the result is bool.",
    "real": "The promoted dtype of all operands; complex gives its real counterpart.",
    "first": "The dtype of the first operand.",
    "custom": "",
}

#: What some kinds of parameter are called, and what they mean under any name.
_KINDS = {
    "int (dimension)": ("int", "a dimension; negative ones count from the last"),
    "int or list of ints (dimensions)": ("int or ints",
                                         "dimensions; negative ones count from the last"),
    "ints (shape)": ("ints", "sizes, one by one or as a sequence"),
}
_MEANINGS = {
    "batch_first": "whether the batch is the first dimension, not the second",
    "bidirectional": "whether a second direction reads the sequences from their ends",
    "ceil_mode": "whether a last window that is only partly filled counts",
    "correction": "what is subtracted from the count before dividing by it",
    "descending": "whether the largest come first",
    "device": "where the result is made",
    "generator": "the stream of random numbers; the default one when left out",
    "hermitian": "whether the matrices are known to be Hermitian",
    "inplace": "whether the input is overwritten",
    "keepdim": "whether the dimensions that are reduced stay, with size 1",
    "num_layers": "layers on top of each other",
    "out": "where the result is written",
    "requires_grad": "whether operations on the result are recorded",
    "return_indices": "whether the indices of the maxima are returned too",
    "stable": "whether equal elements keep their order",
    "training": "whether the network is being trained",
    "unbiased": "whether the sum is divided by one less than the count",
}
_OF_WINDOWS = {
    "dilation": "distance between the elements of a window, for each dimension or all",
    "groups": "independent parts into which the channels are divided",
    "kernel_size": "size of the windows, for each dimension or all",
    "padding": "what is added on both sides, for each dimension or all",
    "stride": "step from window to window, for each dimension or all",
}
_OF_LOSSES = {
    "reduction": '"mean", "sum" or "none"',
    "reduce": "deprecated: write reduction",
    "size_average": "deprecated: write reduction",
}
_OF_TRANSFORMS = {
    "n": "length that is transformed: the input is cut or padded with zeros",
    "norm": '"backward", "ortho" or "forward": which direction is divided by the length',
    "s": "lengths that are transformed: the input is cut or padded with zeros",
}


def meanings(opdef: Any) -> dict[str, str]:
    """What the names of a definition's parameters mean.

    Args:
        opdef: A definition at run time, as ``find_op`` gives it.
    """
    names = {p.name for p in opdef.parameters}
    found = dict(_MEANINGS)
    if {"dilation", "kernel_size"} & names:
        found |= _OF_WINDOWS
    if "reduction" in names:
        found |= _OF_LOSSES
    if opdef.name.startswith("fft_"):
        found |= _OF_TRANSFORMS
    return found


def arguments(opdef: Any) -> list[tuple[str, str]]:
    """Each parameter of a definition, and what it accepts and means.

    Args:
        opdef: A definition at run time, as ``find_op`` gives it.

    Example:
        >>> from flambeau.core import _core
        >>> dict(arguments(_core.find_op("sum")))["keepdim"]
        'bool: whether the dimensions that are reduced stay, with size 1.'
    """
    known = meanings(opdef)
    several = opdef.category == "pointwise" and len(_operands(opdef)) > 1
    return [(p.name, _sentence(p, known.get(p.name), several)) for p in opdef.parameters]


def _operands(opdef: Any) -> list[Parameter]:
    return [p for p in opdef.parameters if p.kind in ("Tensor", "Tensor or number")]


def _sentence(p: Parameter, meaning: str | None, broadcasts: bool) -> str:
    kind, usual = _KINDS.get(p.kind, (p.kind, ""))
    text = f"{kind} or None" if p.optional else kind
    if meaning or usual:
        return f"{text}: {meaning or usual}."
    if broadcasts and p.kind.startswith("Tensor"):
        return f"{text}, broadcast with the others."
    return f"{text}."


def result(opdef: Any) -> str:
    """What a definition returns; empty where its own line says all there is.

    Args:
        opdef: A definition at run time, as ``find_op`` gives it.
    """
    if opdef.fields:
        return f"A named tuple ({', '.join(opdef.fields)})."
    if opdef.category == "view":
        return f"A view, which shares memory with ``{opdef.parameters[0].name}``."
    dtype = "The shape of the result depends on values." if opdef.dynamic_shape \
        else RULES[opdef.dtype_rule]
    if opdef.category != "pointwise":
        return dtype
    first, *others = _operands(opdef)
    if others:
        return f"A tensor of the shape to which the operands are broadcast. {dtype}".rstrip()
    dtype = dtype.replace("promoted dtype of all operands", "dtype of the operand")
    return f"A tensor of the shape of ``{first.name}``. {dtype}".rstrip()


def errors(opdef: Any) -> list[tuple[str, str]]:
    """The errors that follow from what a definition's parameters are.

    Args:
        opdef: A definition at run time, as ``find_op`` gives it.
    """
    found = [("TypeError", "An argument is of another kind.")]
    if any("dimension" in p.kind for p in opdef.parameters):
        found.append(("IndexError", "A dimension is out of range."))
    if opdef.category == "pointwise" and len(_operands(opdef)) > 1:
        found.append(("RuntimeError", "The shapes do not broadcast, or the devices differ."))
    return found


def details(opdefs: Sequence[Any], inplace: bool) -> str:
    """Arguments, result and errors of an operator, in the form of other docstrings.

    Args:
        opdefs: The definitions of its overloads.
        inplace: Whether it writes to its first argument.
    """
    texts = {name: text for opdef in reversed(opdefs) for name, text in arguments(opdef)}
    order = dict.fromkeys(p.name for opdef in opdefs for p in opdef.parameters)
    returned = f"``{next(iter(order))}``, which is written to." if inplace else result(opdefs[0])
    raised = dict(pair for opdef in opdefs for pair in errors(opdef))
    parts = [("Args", [f"{name}: {texts[name]}" for name in order]),
             ("Returns", [returned] if returned else []),
             ("Raises", [f"{kind}: {text}" for kind, text in raised.items()])]
    return "\n\n".join(f"{title}:\n" + "\n".join(f"    {line}" for line in lines)
                       for title, lines in parts if lines)
