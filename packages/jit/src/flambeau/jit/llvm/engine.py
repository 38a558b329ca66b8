"""LLVM assembly to machine code."""

from __future__ import annotations

from typing import Any

from flambeau.jit.cache.kernels import Image
from flambeau.jit.llvm.link import CannotLinkError, link
from flambeau.jit.llvm.machine import machine
from flambeau.jit.llvm.vectors import WRITTEN

#: The function of every module.
ENTRY = "kernel"


class Engine:
    """Code in LLVM's own memory, for systems whose object files are not linked here."""

    def __init__(self, text: str) -> None:
        import llvmlite.binding as llvm

        target = _target("jitdefault")
        self._engine = llvm.create_mcjit_compiler(_optimize(text, target), target)
        self._engine.finalize_object()
        self.address: int = self._engine.get_function_address(ENTRY)


def compile_image(text: str) -> Image | None:
    """Machine code that runs wherever it lies; ``None`` on systems whose files are not known."""
    target = _target("small")
    try:
        return link(target.emit_object(_optimize(text, target)), ENTRY)
    except CannotLinkError:
        return None


def machine_code(text: str) -> str:
    """The machine's assembly for a module: what would run."""
    target = _target("small")
    return str(target.emit_assembly(_optimize(text, target)))


def _target(codemodel: str) -> Any:
    """A machine to compile for; an engine takes it over, so each needs its own."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=machine().cpu, opt=2, reloc="pic", codemodel=codemodel)


def _optimize(text: str, target: Any) -> Any:
    """The module after LLVM's passes; loops over vectors gain nothing from unrolling.

    Code that is written in vectors is left much as it is: all passes would take twice as long as
    the rest of compiling, and find nothing.
    """
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(text)
    module.verify()
    if text.startswith(WRITTEN):
        passes = llvm.create_new_module_pass_manager()
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
        builder = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options())
        passes.run(module, builder)
        return module
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = True
    options.loop_interleaving = True
    options.slp_vectorization = False
    options.loop_unrolling = False
    builder = llvm.create_pass_builder(target, options)
    builder.getModulePassManager().run(module, builder)
    return module
