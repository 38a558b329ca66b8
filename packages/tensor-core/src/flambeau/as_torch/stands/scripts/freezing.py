"""`torch.jit.freeze`: copies whose weights no later training changes."""
from __future__ import annotations

import contextlib
import copy
import operator
from typing import Any

from flambeau import rooms
from flambeau.as_torch.stands.scripts.objects import ScriptModule
from flambeau.as_torch.stands.scripts.tracing import Traced, TracedModule

_errors = rooms.import_module(f"{rooms.PREFIX}jit.errors")
_freezing = rooms.import_module(f"{rooms.PREFIX}jit.programs.freezing")
_programs = rooms.import_module(f"{rooms.PREFIX}jit.programs.program")


def freeze(mod: Any, preserved_attrs: Any = None, optimize_numerics: bool = True) -> Any:
    """A copy of a scripted or traced module, whose parameters require no gradient.

    Args:
        mod: The module, in eval mode; a program is frozen as `flambeau.jit.freeze` does.
        preserved_attrs: Accepted: attributes and methods all stay.
        optimize_numerics: Of a program: see there.

    Raises:
        RuntimeError: It is no scripted module, or in training mode.
    """
    if isinstance(mod, _programs.Program):
        return _freezing.freeze(mod, preserved_attrs, optimize_numerics)
    if not isinstance(mod, ScriptModule):
        raise RuntimeError("torch.jit.freeze(): write torch.jit.freeze(torch.jit.script(module)), "
                           f"or of torch.jit.trace(); it was given a {type(mod).__name__}")
    if mod.training:
        raise RuntimeError("torch.jit.freeze(): the module is in training mode; call its eval() "
                           "before")
    for name in preserved_attrs or ():
        try:
            operator.attrgetter(name)(mod)
        except AttributeError:
            raise RuntimeError(
                f"torch.jit.freeze(): the module has no attribute {name!r}") from None
    made = copy.deepcopy(mod).requires_grad_(False)
    if isinstance(mod, TracedModule):
        _freeze_program(mod, made)
    return made


def _freeze_program(module: TracedModule, made: TracedModule) -> None:
    """Give a copy the program of a module with constants for weights, if it can have them."""
    traced = module._methods["forward"]
    if traced.program is not None:
        with contextlib.suppress(_errors.ProgramError):
            program = _freezing.freeze(traced.program, None)
            made._methods["forward"] = Traced(made._methods["forward"].function, program)


def optimize_for_inference(mod: Any, other_methods: Any = None) -> Any:
    """The same as `freeze`.

    Args:
        mod: See there.
        other_methods: Accepted.
    """
    return freeze(mod, other_methods)


def run_frozen_optimizations(mod: Any, optimize_numerics: bool = True,
                             preserved_methods: Any = None) -> None:
    """Nothing: what could be optimized is so already.

    Args:
        mod: A frozen module.
        optimize_numerics: Accepted.
        preserved_methods: Accepted.
    """
