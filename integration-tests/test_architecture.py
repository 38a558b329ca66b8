"""The packages import each other only along the arrows of the architecture.

Read from the sources: every import statement, `import_module("...")` and `flambeau.<room>` in
every package. What a package uses of third parties must be declared too.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

from flambeau import rooms

PACKAGES = Path(__file__).parent.parent / "packages"

# Package -> packages it may import, besides the core. jit records gradients where autograd is
# installed, and fx and export need nn; everything else here is a declared dependency.
ARROWS = {
    "tensor-core": set(),
    "autograd": set(),
    "nn": {"autograd"},
    "optim": set(),
    "jit": {"autograd", "nn"},
    "cuda-backend": set(),
}
OPTIONAL = {("jit", "autograd"), ("jit", "nn")}

# Package -> third-party modules it may import, all of them declared or an extra.
THIRD_PARTY = {
    "tensor-core": {"numpy", "scipy_openblas32", "PIL", "tqdm"},
    "autograd": set(),
    "nn": {"google", "numpy", "PIL", "tensorboard", "matplotlib", "gguf"},
    "optim": set(),
    "jit": {"google", "llvmlite", "numpy", "onnx", "pydot"},
    "cuda-backend": {"cupy", "cupy_backends", "cupyx", "cudnn", "numpy"},
}
CYTHON_OWN = {"cython", "cpython", "libc", "libcpp"}
CYTHON_IMPORT = re.compile(r"^\s*c?import\s+([\w.]+)", re.MULTILINE)
CYTHON_FROM = re.compile(r"^\s*from\s+([\w.]+)\s+c?import\s+(\w+)", re.MULTILINE)


def package_of(module: str) -> str | None:
    """Return the folder of the package that ships a module of the namespace."""
    words = module.split(".")
    if words[0] != "flambeau":
        return None
    for depth in (3, 2):
        room = ".".join(words[1:depth])
        if room in rooms.ROOMS:
            return rooms.ROOMS[room].removeprefix("flambeau-")
    return "tensor-core"


def imported_by_python(text: str) -> set[str]:
    """Return the modules that a Python source names in imports or as `flambeau.<room>`."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                found.update(alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                found.update(f"{module}.{alias.name}" for alias in names)
            case ast.Attribute(value=ast.Name(id="flambeau"), attr=name):
                found.add(f"flambeau.{name}")
            case ast.Call(func=function, args=[ast.Constant(value=str(name)), *_]):
                if ast.unparse(function).endswith(("import_module", "__import__")):
                    found.add(name)
    return found


def imported_by_cython(text: str) -> set[str]:
    """Return the modules that a Cython source names in import statements."""
    pairs = CYTHON_FROM.findall(text)
    return {*CYTHON_IMPORT.findall(text), *(f"{module}.{name}" for module, name in pairs)}


def imports(package: str) -> set[tuple[Path, str]]:
    """Return every (file, module) of a package."""
    found = set()
    for path in (PACKAGES / package / "src").rglob("*.p*"):
        if path.suffix == ".py":
            modules = imported_by_python(path.read_text())
        elif path.suffix in (".pyx", ".pxi", ".pxd"):
            modules = imported_by_cython(path.read_text())
        else:
            continue
        found.update((path, module) for module in modules)
    return found


def test_every_package_is_in_the_table():
    assert {path.parent.name for path in PACKAGES.glob("*/pyproject.toml")} == set(ARROWS)


@pytest.mark.parametrize("package", ARROWS)
def test_siblings(package):
    allowed = {"tensor-core", package, None} | ARROWS[package]
    wrong = {
        f"{path.relative_to(PACKAGES)} imports {module}"
        for path, module in imports(package)
        if package_of(module) not in allowed
    }
    assert not wrong


@pytest.mark.parametrize("package", ARROWS)
def test_third_parties(package):
    allowed = {"flambeau", *sys.stdlib_module_names, *CYTHON_OWN, *THIRD_PARTY[package]}
    wrong = {
        f"{path.relative_to(PACKAGES)} imports {module}"
        for path, module in imports(package)
        if module.split(".")[0] not in allowed
    }
    assert not wrong


@pytest.mark.parametrize("package", ARROWS)
def test_arrows_are_declared_dependencies(package):
    declared = declared_siblings(package)
    needed = {arrow for arrow in ARROWS[package] if (package, arrow) not in OPTIONAL}
    assert needed <= declared
    assert declared <= ARROWS[package] | {"tensor-core"}
    assert declared or package == "tensor-core"


def declared_siblings(package: str) -> set[str]:
    """Return the packages of the house among a package's declared dependencies."""
    text = (PACKAGES / package / "pyproject.toml").read_text()
    entries = tomllib.loads(text)["project"]["dependencies"]
    names = [re.split(r"[<>=]", entry)[0] for entry in entries]
    return {name.removeprefix("flambeau-") for name in names if name.startswith("flambeau-")}


@pytest.mark.parametrize(
    "line",
    [
        "import flambeau.nn.functional as F",
        "from flambeau import nn",
        "from flambeau.nn import Module",
        "def f():\n    import flambeau\n    return flambeau.nn.Linear(1, 1)",
        "import importlib\nm = importlib.import_module('flambeau.nn')",
    ],
)
def test_the_reader_sees_every_way_to_import(line):
    assert "nn" in {package_of(module) for module in imported_by_python(line)}


def test_the_reader_sees_cython_imports():
    text = "cimport flambeau.nn\nfrom flambeau.optim cimport x\n    from flambeau import jit\n"
    assert imported_by_cython(text) == {"flambeau.nn", "flambeau.optim.x", "flambeau.jit"}


def test_rooms_belong_to_their_packages():
    assert package_of("flambeau.utils.data.sampler") == "nn"
    assert package_of("flambeau.utils") == "tensor-core"
    assert package_of("flambeau.cuda") == "cuda-backend"
    assert package_of("flambeau.core._core") == "tensor-core"
    assert package_of("numpy.linalg") is None
