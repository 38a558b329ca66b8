"""Modules of files whose classes are not here: their tensors by name, and the program."""
from __future__ import annotations

import io
from typing import Any

from flambeau import rooms
from flambeau.as_torch.stands.scripts.tracing import Traced, TracedModule

_nn = rooms.import_module(f"{rooms.PREFIX}nn")
_archive = rooms.import_module(f"{rooms.PREFIX}jit.programs.archive")
_programs = rooms.import_module(f"{rooms.PREFIX}jit.programs.program")


class LoadedModule(TracedModule):
    """A program as a module.

    Args:
        program: The program; its tensors are the module's parameters and buffers.
    """

    def __init__(self, program: Any) -> None:
        self.__dict__["_methods"] = {}
        root = _nn.Module()
        for capture in program.graph.captures:
            if not capture.constant:
                _hold(root, capture)
        super().__init__(root, {})
        made = _programs.Program(program.graph, program.takes, program.gives, program.training)
        self.__dict__.update(_methods={"forward": Traced(made)}, _program=made)

    def recorded(self) -> Any:
        """The program."""
        return self._program

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the program gives."""
        return self._program(*args, **kwargs)

    def _apply(self, fn: Any, recurse: bool = True) -> LoadedModule:
        for tensor in (*self.parameters(), *self.buffers()):
            made = fn(tensor.detach())
            if made.dtype is not tensor.dtype or made.device != tensor.device:
                self._program.to(made.dtype if made.dtype is not tensor.dtype else made.device)
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        buffer = io.BytesIO()
        self._program.save(buffer)
        return _loaded, (buffer.getvalue(),)


def _loaded(content: bytes) -> LoadedModule:
    """The module of a program in a file's bytes."""
    return LoadedModule(_archive.load(io.BytesIO(content)))


def _hold(root: Any, capture: Any) -> None:
    """Make a tensor of a program a parameter or buffer, under the name that it had."""
    *path, last = capture.name.split(".")
    module = root
    for name in path:
        if name not in module._modules:
            module.add_module(name, _nn.Module())
        module = module._modules[name]
    if capture.tensor.requires_grad:
        capture.tensor = _nn.Parameter(capture.tensor.detach())
        module.register_parameter(last, capture.tensor)
    else:
        module.register_buffer(last, capture.tensor)
