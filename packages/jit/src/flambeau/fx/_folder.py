"""Graph modules as folders of code and weights."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import flambeau.fx._names as _names
from flambeau import nn

_FORM = """import pickle
from pathlib import Path

{imports}
import {library}
from {library} import nn

FOLDER = Path(__file__).parent


def read(name):
    with open(FOLDER / name, "rb") as file:
        return pickle.load(file)


class {name}(nn.Module):
    def __init__(self):
        super().__init__()
{members}
{forward}
"""


def write(module: Any, folder: Path, name: str) -> None:
    """Write the module, with a pickle for each module, parameter and buffer in it."""
    folder.mkdir(parents=True, exist_ok=True)
    members = []
    for key, value in _members(module):
        file = f"{key}.pickle"
        (folder / file).write_bytes(pickle.dumps(value))
        members.append(f'        {_assignment(key, value, file)}')
    made = module.graph.python_code("self")
    forward = "\n".join(f"    {line}".rstrip() for line in made.src.strip("\n").split("\n"))
    text = _FORM.format(imports="\n".join(_imports(made.globals)), library=_names.library(),
                        name=name, members="\n".join(members), forward=forward)
    (folder / "module.py").write_text(text.rstrip() + "\n", encoding="utf-8")
    (folder / "__init__.py").write_text(f"from .module import {name} as {name}\n",
                                        encoding="utf-8")


def _members(module: Any) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = list(module.named_children())
    found += module.named_parameters(recurse=False)
    return found + list(module.named_buffers(recurse=False))


def _assignment(key: str, value: Any, file: str) -> str:
    if isinstance(value, nn.Module):
        return f'self.add_module("{key}", read("{file}"))'
    kind = "parameter" if isinstance(value, nn.Parameter) else "buffer"
    return f'self.register_{kind}("{key}", read("{file}"))'


def _imports(names: dict[str, Any]) -> list[str]:
    """How the code imports what it names."""
    lines = []
    for name, thing in names.items():
        if name in _names.GLOBALS:
            lines.append(_names.GLOBALS[name][0])
            continue
        home, _, last = _names.qualified_name(thing).rpartition(".")
        if home:
            lines.append(f"from {home} import {last} as {name}")
    return [line for line in lines if line not in ("import torch", "import flambeau")]
