"""Which classes and functions a file asks for, found without making anything of it."""
from __future__ import annotations

import json
import pickletools
from collections.abc import Iterator
from typing import Any

from flambeau.core.io.archive import read_members, stored_part
from flambeau.core.io.checkpoint_tensors import StoredTensors
from flambeau.core.io.errors import fail
from flambeau.core.io.permission import Permission
from flambeau.core.io.safetensors import read_source
from flambeau.core.io.sources import Source, open_source

_ZIP = b"PK\x03\x04"
_PICKLE = "data.pkl"
_TREE = "flambeau.tree"


def names_asked(f: Any) -> set[str]:
    """Names that a checkpoint asks for beside data.

    Args:
        f: Path, or a binary file open for reading.
    """
    with open_source(f, False) as source:
        if source.size >= len(_ZIP) and bytes(source.part(0, len(_ZIP))) == _ZIP:
            known = StoredTensors(Permission(), source.size)._names()
            return {name for name in _of_archive(source) if name not in known}
        _, metadata = read_source(source)
    try:
        return set(_of_tree(json.loads(metadata.get(_TREE, "{}"))))
    except (ValueError, RecursionError) as error:
        fail(f"the structure description is damaged ({error})")


def _of_archive(source: Source) -> Iterator[str]:
    for name, member in read_members(source).items():
        if name == _PICKLE or name.endswith("/" + _PICKLE):
            yield from _of_pickle(bytes(source.part(*stored_part(source, member))))


def _of_pickle(program: bytes) -> Iterator[str]:
    """Names of a program: those of one instruction, and those of two strings before another."""
    strings: list[str] = []
    memo: dict[int, str] = {}
    try:
        for code, argument, _ in pickletools.genops(program):
            if code.name in ("GLOBAL", "INST"):
                yield ".".join(str(argument).split(" ", 1))
            elif code.name == "STACK_GLOBAL":
                yield ".".join(strings[-2:])
            elif code.name in ("BINPUT", "LONG_BINPUT", "PUT", "MEMOIZE") and strings:
                memo[len(memo) if argument is None else int(argument)] = strings[-1]
            elif code.name in ("BINGET", "LONG_BINGET", "GET"):
                strings.append(memo.get(int(argument or 0), ""))
            elif isinstance(argument, str):
                strings.append(argument)
    except (ValueError, IndexError, UnicodeDecodeError) as error:
        fail(f"the pickle is damaged ({error})")


def _of_tree(root: Any) -> Iterator[str]:
    """Names in the description of a structure, which may be nested deeply."""
    nodes = [root]
    while nodes:
        node = nodes.pop()
        if isinstance(node, dict):
            named = node.get("g")
            if isinstance(named, list) and len(named) == 2 and isinstance(named[1], str):
                yield named[1]
            nodes += node.values()
        elif isinstance(node, list):
            nodes += node
