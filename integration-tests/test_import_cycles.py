"""No module waits, while it is imported, for one that waits for it.

In one thread such a cycle works where the names that are needed are there already. Two threads
that begin it at two ends wait for each other, and Python breaks that with an error in one of them:
see Note [first uses] in core/once.py. `from package import submodule` waits for the package.
"""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterable, Iterator
from pathlib import Path

PACKAGES = Path(__file__).parent.parent / "packages"

#: `import flambeau` imports these before a thread can ask for anything below them.
BEFORE_ALL = {"flambeau", "flambeau.core"}


def modules() -> dict[str, Path]:
    """The sources by module."""
    found = {}
    for source in PACKAGES.glob("*/src"):
        for path in source.rglob("*.py"):
            name = ".".join(path.relative_to(source).with_suffix("").parts)
            found[name.removesuffix(".__init__")] = path
    return found


def at_import(body: Iterable[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """The import statements that run when a module is imported."""
    for statement in body:
        match statement:
            case ast.Import() | ast.ImportFrom():
                yield statement
            case ast.If() if "TYPE_CHECKING" in ast.unparse(statement.test):
                yield from at_import(statement.orelse)
            case ast.FunctionDef():
                pass
            case _:
                for _, inner in ast.iter_fields(statement):
                    if isinstance(inner, list):
                        yield from at_import(i for i in inner if isinstance(i, ast.stmt))


def waits_for(name: str, path: Path) -> set[str]:
    """What a module names in them."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found = set()
    for statement in at_import(ast.parse(path.read_text()).body):
        if isinstance(statement, ast.Import):
            found.update(alias.name for alias in statement.names)
            continue
        above = package[:len(package) + 1 - statement.level] if statement.level else []
        base = ".".join([*above, *([statement.module] if statement.module else [])])
        found.update({base, *(f"{base}.{alias.name}" for alias in statement.names)})
    return found - {name}


def test_there_are_no_cycles():
    sources = modules()
    graph = {name: waits_for(name, path) & sources.keys() - BEFORE_ALL
             for name, path in sources.items()}
    assert len(graph) > 400
    graphlib.TopologicalSorter(graph).prepare()
