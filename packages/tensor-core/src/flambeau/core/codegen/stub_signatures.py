"""Operator definitions as ``def`` lines of a stub."""
from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from flambeau.core.codegen.plan import Export
from flambeau.core.opdefs.opdef import OpDef, Param

#: Types of parameters by role; names with an underscore are declared in ``_core.pyi``.
_TYPES = {
    "Tensor": "Tensor", "Mask": "Tensor", "Operand": "Tensor | _Number",
    "Tensors": "Sequence[Tensor]", "Scalar": "_Number | Tensor", "Int": "_int",
    "Float": "_float | Tensor", "Bool": "_bool", "Dim": "_int", "Dims": "_int | Sequence[_int]",
    "Shape": "_int | Sequence[_int]", "Ints": "_int | Sequence[_int]", "DType": "_Dtype",
    "Device": "_Device", "Str": "str", "Generator": "Generator", "Object": "Any",
    "Floats": "Sequence[_float]", "Index": "Any", "Bools": "Sequence[_bool]",
}
_INTS = ("Dims", "Shape", "Ints")

#: What a definition returns where flags decide: "tuple[Tensor, Tensor] if return_indices else
#: Tensor".
_CHOICE = re.compile("(.+) if (.+) else (.+)")


def function(export: Export, documented: bool = True) -> str:
    """The function of a name, all overloads; the first parameter is ``input``, as in PyTorch."""
    return _overloads(export.name, [_Form(opdef) for opdef in export.opdefs], documented)


def in_place(export: Export) -> str:
    """The function that writes its result to its first argument."""
    forms = [_Form(opdef, inplace=True) for opdef in export.opdefs if opdef.inplace]
    return _overloads(f"{export.name}_", forms, True)


def choosing(export: Export) -> str:
    """The function of ``nn.functional`` that takes an argument ``inplace``."""
    opdefs = [_Form(opdef, last="inplace: _bool = False") for opdef in export.opdefs]
    return _overloads(export.name, opdefs, True)


def method(export: Export, inplace: bool = False) -> str:
    """The method of Tensor."""
    opdefs = [opdef for opdef in export.opdefs if opdef.inplace or not inplace]
    opdefs = [opdef for opdef in opdefs if "self" not in [p.name for p in opdef.params[1:]]]
    forms = [_Form(opdef, inplace=inplace, bound=True) for opdef in opdefs]
    text = _overloads(f"{export.name}{'_' * inplace}", forms, True)
    return "".join(f"    {line}\n" for line in text.splitlines())


def outputs_class(export: Export) -> str:
    """The tuple with names that a definition of several outputs returns."""
    fields = "".join(f"    {name}: Tensor\n" for name in export.outputs)
    return f"class {export.name}_outputs(NamedTuple):\n{fields}\n"


class _Form:
    """One definition in one of the forms that it is called in."""

    def __init__(self, opdef: OpDef, *, inplace: bool = False, bound: bool = False,
                 last: str = "") -> None:
        self.opdef, self.inplace, self.bound, self.last = opdef, inplace, bound, last

    def signatures(self) -> Iterable[tuple[str, str]]:
        """Parameters and result, of all ways to call the definition."""
        params = [self._first(), *self.opdef.params[1:]] if self.opdef.params else []
        found = _CHOICE.match(self.opdef.returns)
        if found is None:
            yield self._parameters(params), self._result()
        else:
            yield from self._chosen(params, found[2].split(" or "), found[1], found[3])
        gathered = self._gathered(params)
        if gathered is not None:
            yield self._parameters(params, gathered), self._result()

    def _chosen(self, params: Sequence[Param], flags: Sequence[str], then: str,
                otherwise: str) -> Iterable[tuple[str, str]]:
        """What is returned depends on flags."""
        yield self._parameters(params, literal=dict.fromkeys(flags, "False")), otherwise
        for flag in flags:
            moved = [p for p in params if p.name != flag]
            given = next(replace(p, keyword=True, default=...) for p in params if p.name == flag)
            yield self._parameters([*moved, given], literal={flag: "True"}), then
        yield self._parameters(params), "Any"

    def _gathered(self, params: Sequence[Param]) -> Param | None:
        """The parameter whose sizes or tensors may be given one by one."""
        positional = [p for p in params if not p.keyword]
        for i, p in enumerate(positional):
            one_by_one = p.role == "Shape" or (p.role in _INTS and p is positional[-1])
            if p.variadic or (one_by_one and (i > 0 or not self.bound)):
                return p
        return None

    def _first(self) -> Param:
        p = self.opdef.params[0]
        name = "self" if self.bound else "input" if p.name == "self" else p.name
        return replace(p, name=name)

    def _parameters(self, params: Sequence[Param], gathered: Param | None = None,
                    literal: dict[str, str] | None = None) -> str:
        parts, starred = [], False
        for i, p in enumerate(params):
            if p.keyword and not starred:
                parts.append("*")
                starred = True
            if p is gathered:
                parts.append(f"*{p.name}: {'Tensor' if p.variadic else '_int'}")
                starred = True
            elif literal and p.name in literal:
                parts.append(f"{p.name}: Literal[{literal[p.name]}]{_default(p)}")
            else:
                parts.append("self" if self.bound and i == 0 else _param(p))
        if self.last:
            parts.append(self.last)
        if self.opdef.out and not self.inplace:
            several = len(self.opdef.outputs) > 1
            parts += ["*"] * (not starred)
            parts.append(f"out: {'Sequence[Tensor]' if several else 'Tensor'} | None = None")
        return ", ".join(parts)

    def _result(self) -> str:
        opdef = self.opdef
        if self.inplace:
            return "Tensor"
        if opdef.returns:
            return opdef.returns
        if opdef.list_output:
            return "tuple[Tensor, ...]"
        if len(opdef.outputs) == 1:
            return "Tensor"
        return f"{opdef.name}_outputs"


def _param(p: Param) -> str:
    none = " | None" if p.optional or (p.has_default and p.default is None) else ""
    return f"{p.name}: {_TYPES[p.role]}{none}{_default(p)}"


def _default(p: Param) -> str:
    return f" = {p.default!r}" if p.has_default else ""


def _overloads(name: str, forms: Sequence[_Form], documented: bool) -> str:
    lines = {f"def {name}({text}) -> {result}:": form.opdef
             for form in forms for text, result in form.signatures()}
    head = "@overload\n" if len(lines) > 1 else ""
    return "".join(f"{head}{line}{_body(opdef) if documented else ' ...'}\n"
                   for line, opdef in lines.items())


def _body(opdef: OpDef) -> str:
    return f'\n    """{opdef.doc}"""' if opdef.doc and (opdef.forms or opdef.aliases) else " ..."
