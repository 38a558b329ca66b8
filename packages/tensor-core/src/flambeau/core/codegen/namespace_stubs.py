"""Stubs of modules that fill their names in at run time: ``array_api`` and ``return_types``.

The modules are read as text: the generator runs before they can be imported.
"""
from __future__ import annotations

import ast
from contextlib import suppress
from pathlib import Path
from typing import Any

from flambeau.core.codegen.plan import exports

_PACKAGE = Path(__file__).parent.parent.parent
_API = "flambeau.array_api"
_HEAD = "# Generated from the modules of this folder; do not edit.\nfrom typing import Any\n\n"
#: The signature of what each list of names stands for.
_SIGNATURES = {
    "_OF_ONE": "(x: Any, /) -> Any", "_ROUNDING": "(x: Any, /) -> Any",
    "_OF_TWO": "(x1: Any, x2: Any, /) -> Any",
    "_ALONG_ONE": "(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = 'backward')"
                  " -> Any",
    "_ALONG_SEVERAL": "(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = 'backward')"
                      " -> Any"}


def files() -> dict[str, str]:
    """Path below ``flambeau/`` -> text."""
    return {"array_api/__init__.pyi": _HEAD + _array_api(),
            "array_api/fft.pyi": _HEAD + _filled("fft") + _written("fft"),
            "return_types.pyi": _return_types()}


def _tree(name: str) -> ast.Module:
    return ast.parse((_PACKAGE / "array_api" / f"{name}.py").read_text())


def _constants(tree: ast.Module) -> dict[str, Any]:
    """What is assigned to names in a module, where it is written out."""
    found: dict[str, Any] = {}
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        with suppress(ValueError):      # it is computed
            found[ast.unparse(target)] = ast.literal_eval(node.value)
    return found


def _filled(module: str) -> str:
    constants = _constants(_tree(module))
    return "".join(f"def {name}{signature}: ...\n" for group, signature in _SIGNATURES.items()
                   for name in constants.get(group, ()))


def _written(module: str) -> str:
    return "".join(f"def {node.name}({ast.unparse(node.args)}) -> Any: ...\n"
                   for node in _tree(module).body
                   if isinstance(node, ast.FunctionDef) and node.name[0] != "_")


def _array_api() -> str:
    tree = _tree("__init__")
    listed = next(node for node in tree.body if isinstance(node, ast.Assign)
                  and ast.unparse(node.targets[0]) == "_FUNCTIONS").value
    assert isinstance(listed, ast.DictComp)
    parts = [ast.unparse(part) for part in ast.walk(listed.generators[0].iter)
             if isinstance(part, ast.Name)]
    text = (f"from flambeau import dtype as _dtype, e as e, inf as inf, nan as nan, "
            f"newaxis as newaxis, pi as pi\nfrom {_API} import fft as fft, linalg as linalg\n"
            f"from {_API}._info import __array_namespace_info__ as __array_namespace_info__\n")
    for part in parts:
        names = _constants(_tree(part))["__all__"]
        text += f"from {_API}.{part} import ({', '.join(f'{n} as {n}' for n in names)})\n"
    kinds = _constants(_tree("_dtypes"))["_KINDS"]
    dtypes = "".join(f"{name}: _dtype\n" for names in kinds.values() for name in names)
    head = "__array_api_version__: str\nVERSIONS: tuple[str, ...]\n"
    return text + "\n" + head + _filled("_elementwise") + dtypes


def _return_types() -> str:
    names = [export.name for export in exports() if "." not in export.name and export.outputs]
    pairs = [(f"{name}_outputs", short) for name in names for short in (name, f"{name}_out")]
    words = ",\n    ".join(f"{name} as {short}" for name, short in pairs)
    own = "".join("from flambeau.core.composites.statistics.histograms import "
                  f"Histogramdd as {short}\n" for short in ("histogramdd", "histogramdd_out"))
    return f"# Generated from the operator definitions; do not edit.\n{own}" \
           f"from flambeau.core.ops import (\n    {words},\n)\n" \
           f"\n__all__ = {[short for _, short in pairs] + ['histogramdd', 'histogramdd_out']}\n"
