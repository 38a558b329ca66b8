"""Stubs: types of every operator and of all names that the table gives, for editors and checkers.

What is not in the table is written by hand in ``stub_templates/``; ``test_stubs.py``
compares both with the names and signatures at run time.
"""
from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

from flambeau import rooms
from flambeau.core.codegen import slots
from flambeau.core.codegen import stub_signatures as signatures
from flambeau.core.codegen.plan import Export, all_opdefs, exports

TEMPLATES = Path(__file__).parent / "stub_templates"
_HEAD = "# Generated from the operator definitions; do not edit.\n"
_OPS = '''from builtins import bool as _bool, complex as _complex, float as _float, int as _int
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, overload

from flambeau.core._core import Generator, Tensor, _Device, _Dtype, _Number

# mypy: disable-error-code="overload-cannot-match, overload-overlap"

'''


def files() -> dict[str, str]:
    """Path below ``flambeau/`` -> text."""
    made = {"core/ops.pyi": _ops(), "core/_core.pyi": _core(),
            "core/functional.pyi": _functional(), "__init__.pyi": _package(),
            "amp/__init__.pyi": _lazy_package("amp"),
            "utils/__init__.pyi": _lazy_package("utils")}
    for module in ("fft", "linalg", "special", "signal/windows"):
        made[f"{module}.pyi"] = _namespace(module.replace("/", "."))
    return {name: _HEAD + text for name, text in made.items()}


def _plain() -> list[Export]:
    """The exports that are operators of ``core.ops``; the others are in namespaces."""
    return [export for export in exports() if "." not in export.name]


def _ops() -> str:
    body = [_OPS, "OUTPUT_TYPES: dict[str, Any]\n\ndef name_outputs() -> None: ...\n\n"]
    body += [signatures.outputs_class(export) for export in _plain() if export.outputs]
    taken = {export.name for export in _plain()}
    for export in sorted(_plain(), key=lambda export: export.name):
        body.append(signatures.function(export))
        if export.inplace and f"{export.name}_" not in taken:
            body.append(signatures.in_place(export))
    return "".join(body)


def _core() -> str:
    """The extension module: a template, with Tensor's operators and methods filled in."""
    template = _template("_core").replace("# {{tensor}}\n", _template("tensor"))
    named = [f"{export.name}_outputs" for export in _plain() if export.outputs]
    methods = []
    for export in sorted(_plain(), key=lambda export: export.name):
        if "method" in export.forms:
            methods.append(signatures.method(export))
        if export.inplace and {"method", "inplace"} & export.forms:
            methods.append(signatures.method(export, inplace=True))
    used = [name for name in named if any(name in text for text in methods)]
    return _filled(template, operators="".join(_dunders()), methods="".join(methods),
                   outputs=_import("flambeau.core.ops", ((name, name) for name in used)))


def _dunders() -> Iterable[str]:
    """Python's operators."""
    for opdef in all_opdefs():
        name, other = opdef.dunder, "other: Tensor | _Number"
        if name in slots.UNARY:
            yield f"    def __{name}__(self) -> Tensor: ...\n"
        elif name in ("eq", "ne"):
            yield (f"    def __{name}__(self, other: object, /) -> Tensor: ..."
                   "  # type: ignore[override]  # pyright: ignore\n")
        elif name in slots.COMPARE:
            yield f"    def __{name}__(self, {other}, /) -> Tensor: ...\n"
        elif name:
            other = "other: Tensor" if name == "matmul" else other
            yield f"    def __{name}__(self, {other}, /) -> Tensor: ...\n"
            yield f"    def __r{name}__(self, {other}, /) -> Tensor: ...\n"
            if opdef.inplace and name != "matmul":
                yield f"    def __i{name}__(self, {other}, /) -> Tensor: ...\n"


def _functional() -> str:
    """``core.functional``: functions of ``nn.functional`` that are operators."""
    same, own, renamed = [], [], []
    for export in exports():
        space, _, short = export.name.rpartition(".")
        if space == "nn.functional":
            renamed.append((export.opdefs[0].name, short))
        elif "nn" in export.forms and export.inplace:
            own.append(signatures.choosing(export))
        elif "nn" in export.forms:
            same.append((export.name, export.name))
        if "nn" in export.forms and export.inplace:
            same.append((f"{export.name}_", f"{export.name}_"))
    text = _OPS + _import("flambeau.core.ops", [*same, *renamed]) + "\n" + "".join(own)
    return text + _all(text)


def _namespace(space: str) -> str:
    """A module of functions under their names there: ``linalg.solve``."""
    text = _template(space.rpartition(".")[2])
    functions = [(export.opdefs[0].name, export.name.rpartition(".")[2]) for export in exports()
                 if export.name.rpartition(".")[0] == space]
    text += _import("flambeau.core.ops", functions)
    return text + _all(text)


def _package() -> str:
    """``flambeau/__init__``: what it imports, operators, and what rooms and modules fill in."""
    template = _template("flambeau")
    written = _defined(template)
    operators = [(name, name) for export in _plain() for name in _functions(export)
                 if name not in written]
    source = Path(rooms.__file__).with_name("__init__.py").read_text()
    text = _filled(template, imports=_reexports(source),
                   operators=_import("flambeau.core.ops", operators))
    return text + _lazy_package("")


def _lazy_package(package: str) -> str:
    """What ``rooms.lazy_attributes`` gives: names, rooms and modules."""
    prefix = f"{package}." * bool(package)
    below = f"flambeau.{prefix}".rstrip(".")
    imports: dict[str, list[tuple[str, str]]] = {}
    for key, module in {**rooms.NAMES, **rooms.OLDER}.items():
        space, _, name = key.rpartition(".")
        if space == package:
            imports.setdefault(f"flambeau.{module}", []).append((name, name))
    for key in dict.fromkeys((*rooms.OWN_MODULES, *rooms.ROOMS)):
        space, _, name = key.rpartition(".")
        if space == package:
            imports.setdefault(below, []).append((name, name))
    return "".join(_import(module, names) for module, names in imports.items())


def _functions(export: Export) -> Iterable[str]:
    if "function" in export.forms:
        yield export.name
        if export.inplace:
            yield f"{export.name}_"


def _reexports(source: str) -> str:
    """The imports of a module, as a stub exports them."""
    lines = []
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [(a.name, a.asname or a.name) for a in node.names
                     if not (a.asname or a.name).startswith("_")]
            lines.append(_import(node.module, names))
    return "".join(lines)


def _import(module: str, names: Iterable[tuple[str, str]]) -> str:
    words = ",\n    ".join(f"{name} as {short}" for name, short in sorted(names, key=_second))
    return f"from {module} import (\n    {words},\n)\n" if words else ""


def _second(pair: tuple[str, str]) -> str:
    return pair[1]


def _defined(text: str) -> list[str]:
    """Public names that a stub defines or imports."""
    names: dict[str, None] = {}
    for node in ast.parse(text).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names[node.name] = None
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("flambeau"):
            names |= dict.fromkeys(a.asname or a.name for a in node.names)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names[node.target.id] = None
    hidden = ("Generator", "Tensor", "dtype", "device")
    return [name for name in names if name[0] != "_" and name not in hidden]


def _all(text: str) -> str:
    words = ",\n    ".join(f'"{name}"' for name in sorted(_defined(text)))
    return f"\n__all__ = [\n    {words},\n]\n"


def _template(name: str) -> str:
    """What is written by hand; empty for modules of which everything is in the table."""
    path = TEMPLATES / f"{name}.pyi.in"
    return path.read_text() if path.exists() else ""


def _filled(template: str, **texts: str) -> str:
    for name, text in texts.items():
        template = template.replace(f"# {{{{{name}}}}}\n", text)
    return template
