"""Find what nothing uses: private functions and classes, and tests that assert nothing.

    python3 tools/dead_code.py

A private name counts as used when its package's sources, or the tests beside them, name it
anywhere but in its own definition. A test asserts when it has an `assert`, an `assert_...`,
`raises` or the like, or calls a function of its suite that does.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from inventory import ROOT

SOURCES = ("*.py", "*.pyx", "*.pxi", "*.in")
#: Calls that check, from pytest, NumPy and subprocess.
CHECKS = frozenset({"raises", "warns", "gradcheck", "gradgradcheck", "check_call"})


def unused(folder: Path) -> Iterator[str]:
    """Yield the private functions and classes of a package that nothing names."""
    files = [path for pattern in SOURCES for path in folder.rglob(pattern)]
    files = [path for path in files if "build" not in path.relative_to(folder).parts]
    words: Counter[str] = Counter()
    for path in files:
        words.update(re.findall(r"\w+", path.read_text()))
    for path in files:
        if path.suffix != ".py" or "tests" in path.relative_to(folder).parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and is_private(node.name):
                if words[node.name] < 2:
                    yield f"{path.relative_to(ROOT)}:{node.lineno}: nothing uses {node.name}"


def is_private(name: str) -> bool:
    """Tell whether a name is private to its module; `__add__` is not."""
    return name.startswith("_") and not name.endswith("__")


def silent_tests(folder: Path) -> Iterator[str]:
    """Yield the tests that assert nothing, themselves or through the helpers they call."""
    trees = {path: ast.parse(path.read_text()) for path in folder.rglob("*.py")}
    functions = [
        (path, node, calls(node, owners(tree), defined(tree)))
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    ]
    checking = {f.name for _, f, _ in functions if any(map(is_assertion, ast.walk(f)))} | CHECKS
    while more := {f.name for _, f, called in functions if called & checking} - checking:
        checking |= more
    for path, function, _ in functions:
        if function.name.startswith("test_") and function.name not in checking:
            where = f"{path.relative_to(ROOT)}:{function.lineno}"
            yield f"{where}: {function.name} asserts nothing"


def is_assertion(node: ast.AST) -> bool:
    """Tell whether a node is an `assert`, or a method such as `assert_allclose`."""
    attribute = getattr(node, "attr", "")
    return isinstance(node, ast.Assert | ast.Raise) or attribute.startswith("assert_")


def owners(tree: ast.Module) -> set[str]:
    """Return the modules that a file imports, by the names it has for them."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    return {alias.asname or alias.name for node in imports for alias in node.names}


def defined(tree: ast.Module) -> set[str]:
    """Return the functions and methods that a file defines."""
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def calls(function: ast.FunctionDef, owners: set[str], defined: set[str]) -> set[str]:
    """Return the functions that a function names: `check`, `helpers.check`, `chain.check`."""
    nodes = list(ast.walk(function))
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    return {node.id for node in nodes if isinstance(node, ast.Name)} | {
        node.attr
        for node in attributes
        if node.attr in defined or (isinstance(node.value, ast.Name) and node.value.id in owners)
    }


def main() -> int:
    """Print what was found; the exit status says whether there was anything."""
    packages = [path.parent for path in sorted(ROOT.glob("packages/*/pyproject.toml"))]
    found = [line for folder in packages for line in unused(folder)]
    tests = [*(folder / "tests" for folder in packages), ROOT / "integration-tests"]
    found += [line for folder in tests for line in silent_tests(folder)]
    print("\n".join(found) or "no private name is unused, and every test asserts something")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
