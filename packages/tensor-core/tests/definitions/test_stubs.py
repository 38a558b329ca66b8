"""Stubs name what there is at run time, all of it, and with the same parameters."""

from __future__ import annotations

import ast
import importlib
import inspect
import multiprocessing
import types
from pathlib import Path

import pytest

import flambeau
from flambeau import rooms
from flambeau.core import op_keys
from flambeau.core.compat.table import HOMES
from flambeau.core.composites.conversions import TYPES
from flambeau.core.ops import OUTPUT_TYPES

MODULES = ("flambeau", "flambeau.core._core", "flambeau.core.ops", "flambeau.core.functional",
           "flambeau.fft", "flambeau.linalg", "flambeau.special", "flambeau.signal.windows")
#: Of these the public names are filled in at run time.
FILLED = ("flambeau.array_api", "flambeau.array_api.fft", "flambeau.return_types",
          *(f"flambeau.{home.name}" for home in HOMES
            if home.name.startswith(("backends.", "core.", "cpu", "dist", "multi"))))
#: What modules have beside their own names.
_OTHER = {"NamedOutputs", "named_outputs", "Any", "TYPE_CHECKING", "annotations", "_FUNCTIONS",
          "_UNNAMED", "_dtypes", "_FORMATS"}
_Signature = list[tuple[str, str, bool]]


def stub(module: str) -> list[ast.stmt]:
    """The statements of a module's stub, which the build puts beside it."""
    file = Path(importlib.import_module(module).__file__ or "")
    name = "__init__" if file.name == "__init__.py" else module.rpartition(".")[2]
    return ast.parse(file.with_name(f"{name}.pyi").read_text()).body


def names_in(body: list[ast.stmt]) -> set[str]:
    """Names that statements of a stub define or export."""
    found = set()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign) and "TypeAlias" not in ast.unparse(node.annotation):
            found.add(ast.unparse(node.target))
        elif isinstance(node, ast.ImportFrom) and node.module != "builtins":
            short = "core.ops" in (node.module or "")
            found |= {a.asname for a in node.names if a.asname and (short or a.asname == a.name)}
    return found


def names_of(module: str) -> set[str]:
    """Names at run time, without modules that were imported for use."""
    given = {name: value for name, value in vars(importlib.import_module(module)).items()
             if not (name.startswith("__") or isinstance(value, types.ModuleType))}
    used = {"namespaces"} if module != "flambeau.core._core" else set()
    return set(given) - _OTHER - used


def lazy_names() -> set[str]:
    """Names that ``flambeau`` fills in on first use."""
    keys = (*rooms.NAMES, *rooms.OLDER, *rooms.OWN_MODULES, *rooms.ROOMS)
    return {key for key in keys if "." not in key} | {f"{name}Tensor" for name in TYPES}


@pytest.mark.parametrize("module", MODULES)
def test_a_stub_has_the_names_of_its_module(module):
    written, given = names_in(stub(module)), names_of(module)
    if module == "flambeau":
        given |= lazy_names() | {"rooms"}
    if module == "flambeau.core._core":
        written -= names_in(stub("flambeau.core.ops"))    # classes of results
    if module == "flambeau.core.ops":
        written -= {f"{name}_outputs" for name in OUTPUT_TYPES}
    assert sorted(written - given) == [], "in the stub alone"
    registered = {key for key in op_keys() if key.startswith("doc_")}
    assert sorted(given - written - registered) == [], "not in the stub"


@pytest.mark.parametrize("module", FILLED)
def test_a_stub_has_the_public_names_of_a_filled_module(module):
    found = importlib.import_module(module)
    written = names_in(stub(module))
    public = {name for name in found.__all__ if not hasattr(multiprocessing, name)}
    assert sorted(public - written - {"__array_namespace_info__", "histogramdd"}) == []
    assert [name for name in written if not hasattr(found, name)] == []


def test_the_stub_of_tensor_has_its_attributes():
    body = next(node.body for node in stub("flambeau.core._core")
                if isinstance(node, ast.ClassDef) and node.name == "Tensor")
    written, given = names_in(body), set(vars(flambeau.Tensor))
    assert sorted(written - given) == []
    implied = {"__doc__", "__dict__", "__new__", "__pyx_vtable__", "__repr__", "__delitem__",
               "_backward_hooks", "_grad", "_grad_fn", "_refuse_derivative",
               "_attach_backward", "volatile",           # of the autograd package
               "__buffer__", "__release_buffer__"}       # of Python from 3.12 on
    assert sorted(given - written - implied) == []


def parameters(node: ast.FunctionDef) -> _Signature:
    """Name and kind of each parameter, and whether it may be left out."""
    a = node.args
    plain = [*a.posonlyargs, *a.args]
    required = len(plain) - len(a.defaults)
    found = [(p.arg, "plain", i >= required) for i, p in enumerate(plain)]
    found += [(a.vararg.arg, "several", True)] if a.vararg else []
    found += [(p.arg, "keyword", default is not None)
              for p, default in zip(a.kwonlyargs, a.kw_defaults, strict=True)]
    return found + ([(a.kwarg.arg, "others", True)] if a.kwarg else [])


def shown(function: object) -> _Signature:
    """The same of a function at run time."""
    kinds = {inspect.Parameter.KEYWORD_ONLY: "keyword", inspect.Parameter.VAR_POSITIONAL: "several",
             inspect.Parameter.VAR_KEYWORD: "others"}
    if str(getattr(function, "__text_signature__", "")).startswith("($self"):
        raise ValueError("what Python says of C functions of its own accord, from 3.13 on")
    given = inspect.signature(function).parameters.values()    # type: ignore[arg-type]
    return [(p.name, kinds.get(p.kind, "plain"), p.default is not p.empty
             or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)) for p in given]


def plain(signature: _Signature, first: str) -> _Signature:
    """Without ``out``, which ``inspect`` does not show for operators; ``input`` by its name."""
    named = [p for p in signature if p[0] != "out"]
    return [(first, *p[1:]) if i == 0 and p[0] in ("self", "input", "tensor") else p
            for i, p in enumerate(named)]


def functions(body: list[ast.stmt]) -> dict[str, list[ast.FunctionDef]]:
    """All forms of each function."""
    found: dict[str, list[ast.FunctionDef]] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append(node)
    return found


#: Called in several ways, which overloads tell apart and one signature cannot.
_OVERLOADED = ("polygamma", "polygamma_", "randint", "size", "stride", "to", "type")


def differing(owner: object, body: list[ast.stmt]) -> list[str]:
    wrong = []
    for name, forms in functions(body).items():
        function = getattr(owner, name, None)
        try:
            expected = plain(shown(function), "self")
        except (TypeError, ValueError):
            continue    # a function of C without a signature
        if not any(plain(parameters(form), "self") == expected for form in forms):
            wrong.append(f"{name}: {expected} {[parameters(form) for form in forms]}")
    return [text for text in wrong if text.partition(":")[0] not in _OVERLOADED]


@pytest.mark.parametrize("module", MODULES)
def test_functions_have_the_parameters_of_the_stub(module):
    assert differing(importlib.import_module(module), stub(module)) == []


def test_methods_have_the_parameters_of_the_stub():
    body = next(node.body for node in stub("flambeau.core._core")
                if isinstance(node, ast.ClassDef) and node.name == "Tensor")
    ours = [node for node in body if not getattr(node, "name", "").startswith("__")]
    assert differing(flambeau.Tensor, ours) == []


def test_classes_of_several_results_are_those_of_the_stub():
    fields = {node.name: names_in(node.body) for node in stub("flambeau.core.ops")
              if isinstance(node, ast.ClassDef)}
    given = {f"{name}_outputs": set(kind._fields) for name, kind in OUTPUT_TYPES.items()}
    assert fields == given
