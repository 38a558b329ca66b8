"""Types of values, inferred by ONNX in a process of its own: on a damaged model it may crash.

Few models need them: those whose operators are defined by others depending on types, and those with
numbers of four bits and fewer. The process is started for the first of these, serves all later
ones, and ends with this one.
"""

from __future__ import annotations

import atexit
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping
from threading import Lock
from typing import Any

from flambeau.onnx.importing.reading import NARROW

_WORKER = """
import struct, sys
from onnx import ModelProto, shape_inference
read, write = sys.stdin.buffer, sys.stdout.buffer
while head := read.read(8):
    model = ModelProto()
    model.ParseFromString(read.read(*struct.unpack("q", head)))
    try:
        found = shape_inference.infer_shapes(model).SerializeToString()
    except Exception:
        found = b""
    write.write(struct.pack("q", len(found)) + found)
    write.flush()
"""


class Types(Mapping[str, Any]):
    """Types of a model's values by name, inferred when one is first asked for.

    Args:
        model: the model, without its tensors.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._found: dict[str, Any] | None = None
        #: Whether numbers of four bits and fewer may be anywhere.
        self.may_be_narrow = _names_narrow(model.graph) or any(
            _nodes_name_narrow(each.node) for each in model.functions)

    def __getitem__(self, name: str) -> Any:
        return self._types()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._types())

    def __len__(self) -> int:
        return len(self._types())

    def _types(self) -> dict[str, Any]:
        if self._found is None:
            graph = (_worker.inferred(self._model) or self._model).graph
            self._found = {each.name: each.type
                           for each in (*graph.input, *graph.value_info, *graph.output)}
        return self._found


def _names_narrow(graph: Any) -> bool:
    """Whether a graph, or one in it, names a type of four bits and fewer."""
    values = (*graph.input, *graph.value_info, *graph.output)
    return any(each.type.tensor_type.elem_type in NARROW for each in values) or any(
        each.data_type in NARROW for each in graph.initializer) or _nodes_name_narrow(graph.node)


def _nodes_name_narrow(nodes: Any) -> bool:
    return any(each.i in NARROW or each.t.data_type in NARROW or _names_narrow(each.g)
               or any(map(_names_narrow, each.graphs))
               for node in nodes for each in node.attribute)


class _Worker:
    """The process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def inferred(self, model: Any) -> Any:
        """The model with types; ``None`` where they cannot be inferred."""
        from onnx import ModelProto

        with self._lock:
            try:
                content = self._asked(model.SerializeToString())
            except (OSError, struct.error):         # it crashed, or there is none
                self.end()
                return None
        found = ModelProto()
        if content:
            found.ParseFromString(content)
        return found if content else None

    def end(self) -> None:
        """Have the process end, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _asked(self, content: bytes) -> bytes:
        if self._process is None:
            self._process = subprocess.Popen([sys.executable, "-c", _WORKER], stdin=-1, stdout=-1,
                                             stderr=subprocess.DEVNULL)
        given, gives = self._process.stdin, self._process.stdout
        assert given is not None and gives is not None
        given.write(struct.pack("q", len(content)) + content)
        given.flush()
        (size,) = struct.unpack("q", gives.read(8))
        return gives.read(size)


_worker = _Worker()
atexit.register(_worker.end)
