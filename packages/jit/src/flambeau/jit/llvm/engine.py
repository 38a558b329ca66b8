"""LLVM assembly to machine code, with a bounded cache."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from flambeau.jit.llvm.machine import machine

CACHE_SIZE = 512


class Compiled:
    """Machine code, alive as long as this object."""

    def __init__(self, text: str) -> None:
        self._engine = _compile(text)
        self.address: int = self._engine.get_function_address("kernel")


class KernelCache:
    """The functions used last, by key.

    Args:
        size: how many are kept.
    """

    def __init__(self, size: int = CACHE_SIZE) -> None:
        self.size = size
        self._kernels: OrderedDict[object, Compiled] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kernels)

    def get(self, key: object, text: Callable[[], str]) -> Compiled:
        """The function for a key, compiled from ``text()`` when it is not there."""
        with self._lock:
            found = self._kernels.get(key)
            if found is None:
                found = self._kernels[key] = Compiled(text())
            self._kernels.move_to_end(key)
            while len(self._kernels) > self.size:
                self._kernels.popitem(last=False)
            return found


KERNELS = KernelCache()


def _target() -> Any:
    """A machine to compile for; an engine takes it over, so each needs its own."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=machine().cpu, opt=3)


def _optimize(text: str, target: Any) -> Any:
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(text)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    options.slp_vectorization = True
    builder = llvm.create_pass_builder(target, options)
    builder.getModulePassManager().run(module, builder)
    return module


def _compile(text: str) -> Any:
    import llvmlite.binding as llvm

    target = _target()
    engine = llvm.create_mcjit_compiler(_optimize(text, target), target)
    engine.finalize_object()
    return engine


def machine_code(text: str) -> str:
    """The machine's assembly for a module: what ``Compiled`` would run."""
    target = _target()
    return str(target.emit_assembly(_optimize(text, target)))
