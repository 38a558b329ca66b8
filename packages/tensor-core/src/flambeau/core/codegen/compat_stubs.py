"""Stubs of the modules that are made of rows of ``core/compat/table.py``."""
from __future__ import annotations

from flambeau.core.compat.table import HOMES, Home

_HEAD = ("# Generated from core/compat/table.py; do not edit.\n"
         "from contextlib import AbstractContextManager\nfrom typing import Any\n\n")
_STREAMS = ("Event", "Stream", "StreamContext", "current_stream", "stream")
_PROCESSES = ("ProcessContext", "ProcessExitedException", "ProcessRaisedException",
              "SpawnContext", "spawn", "start_processes")
#: What modules have beside their rows.
_ALSO = {"cpu": "from flambeau.core.compat.cpu_streams import (\n" +
                "".join(f"    {name} as {name},\n" for name in _STREAMS) +
                ")\nfrom flambeau.cpu import amp as amp\n\n",
         "multiprocessing": "from multiprocessing import *\n"
                            "from flambeau.multiprocessing.spawn import (\n" +
                            "".join(f"    {name} as {name},\n" for name in _PROCESSES) + ")\n\n"}
#: These name their functions one by one.
_ELSEWHERE = ("compiler", "cuda", "jit")


def files() -> dict[str, str]:
    """Path below ``flambeau/`` -> text."""
    return {_path(home): _HEAD + _ALSO.get(home.name, "") + _rows(home)
            for home in HOMES if home.name not in _ELSEWHERE}


def _path(home: Home) -> str:
    folder = home.name.replace(".", "/")
    return f"{folder}/__init__.pyi" if home.name in ("cpu", "multiprocessing") else f"{folder}.pyi"


def _rows(home: Home) -> str:
    return "".join(f"{row.name}{row.signature}\n" if row.is_variable else
                   f"def {row.name}{row.signature}: ...\n" for row in home.rows if row.is_public)
