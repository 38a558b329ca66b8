"""Tracing and compiling: functions of tensors as graphs, run as fused machine code.

``trace``     a function or module as a ``Program`` that can be saved
``script``    one whose branches and loops on values are part of what is saved
``save``      a program, or a function recorded for it, as a file; ``load`` reads it
``freeze``    a program whose weights are constants
``aot``       a program as an object file and a C header
``compile``   a function that is recorded and run as fused loops at each call
``Graph``     the representation; ``print(program.graph)`` shows it
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:   # the formula language and the operator table load with the first trace
    from typing import Final

    from flambeau.jit.ahead.entry import aot
    from flambeau.jit.compiling import compile
    from flambeau.jit.errors import GraphBreakError, GraphError, ProgramError, TraceError
    from flambeau.jit.ir import Graph
    from flambeau.jit.programs.archive import load
    from flambeau.jit.programs.freezing import freeze, optimize_for_inference, save
    from flambeau.jit.programs.program import Program
    from flambeau.jit.recording.tracing import trace
    from flambeau.jit.scripted.functions import cond, while_loop
    from flambeau.jit.scripted.objects import ScriptFunction, ScriptModule
    from flambeau.jit.scripting import (
        annotate,
        export,
        ignore,
        interface,
        is_scripting,
        is_tracing,
        script,
        script_if_tracing,
        unused,
    )

_HOMES = {
    "aot": "ahead.entry", "load": "programs.archive", "compile": "compiling",
    "GraphBreakError": "errors", "GraphError": "errors", "ProgramError": "errors",
    **dict.fromkeys(("Final", "annotate", "export", "ignore", "interface", "is_scripting",
                     "is_tracing", "script", "script_if_tracing", "unused"), "scripting"),
    **dict.fromkeys(("freeze", "optimize_for_inference", "save"), "programs.freezing"),
    "cond": "scripted.functions", "while_loop": "scripted.functions",
    "ScriptFunction": "scripted.objects", "ScriptModule": "scripted.objects",
    "TraceError": "errors", "Graph": "ir", "Program": "programs.program",
    "trace": "recording.tracing",
}


def __getattr__(name: str) -> object:
    """Import what is public when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


__all__ = [
    "Final", "Graph", "GraphBreakError", "GraphError", "Program", "ProgramError", "ScriptFunction",
    "ScriptModule", "TraceError", "annotate", "aot", "compile", "cond", "export", "freeze",
    "ignore", "interface", "is_scripting", "is_tracing", "load", "optimize_for_inference", "save",
    "script", "script_if_tracing", "trace", "unused", "while_loop",
]
