"""What an operator launches: kernels, over what, with what memory."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

FAMILIES = {"steps": 0, "reduction": 1, "sorting": 2, "joining": 3, "spread": 4, "scan": 5}
SPANS = {"none": 0, "dim": 1, "dims": 2, "last": 3, "all": 4, "channels": 5,
         "classes": 6}
POLICIES = {"elements": 0, "rows": 1, "thread rows": 2, "planes": 3, "columns": 4,
            "once": 5, "parts": 6}
BEGINNINGS = {"empty": 0, "first": 1, "zero": 2}

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64")
COMPLEX = ("complex64", "complex128")
REAL = (*FLOATS, *INTEGERS, "bool")
ALL = (*REAL, *COMPLEX)

#: Rarer integers use the kernels of int64, which read and write every dtype: fewer modules.
_SHARED = dict.fromkeys(("int8", "int16", "uint16", "uint32"), "int64")


@dataclass(frozen=True)
class Group:
    """A module's text for each dtype.

    Attributes:
        files: of this folder, after packet.cuh.
        kernels: by name the call that is the kernel's body; ``{D}`` is the dtype's code.
        views: how many tensors the kernels see.
    """

    files: tuple[str, ...]
    kernels: dict[str, str]
    views: int


@dataclass(frozen=True)
class Step:
    """One launch: a kernel for short rows (or the only one), another for long ones."""

    few: str
    many: str = ""
    policy: str = "elements"
    view: int = 0
    block: int = 256


@dataclass(frozen=True)
class Program:
    """What an operator runs: see native/programs.h.

    Attributes:
        group: the module of its kernels, a key of ``GROUPS``.
        dtypes: of the kernels.
        dtype_of: the argument whose dtype the kernels have; ``-1`` for the first result.
        steps: launches in order. Steps of ``"order"``'s kernels are named ``order:NAME``.
        span: which dimensions make a row, by the parameter of number ``span_parameter``.
        beginning: what the first result holds before: nothing, the first argument, or zeros.
        scratch: bytes of scratch memory for each element of view ``scratch_view``, or in all where
            that is -1.
        aside: views that have no rows, by bit.
        accepts: whether the kernels do for these arguments.
        choose: the group for a dtype, where dtypes have groups of their own.
        otherwise: what runs where these kernels do not do.
    """

    group: str
    dtypes: tuple[str, ...]
    steps: tuple[Step, ...] = ()
    family: str = "steps"
    dtype_of: int = 0
    span: str = "none"
    span_parameter: int = 0
    beginning: str = "empty"
    scratch: int = 0
    scratch_view: int = 0
    aside: int = 0
    accepts: Callable[[list, list], bool] | None = None
    choose: Callable[[str], str] | None = None
    otherwise: Program | None = None


GROUPS: dict[str, Group] = {}
PROGRAMS: dict[str, Program] = {}
_TABLES = ("reductions", "rows", "scans", "sorts", "indexing", "ldl")


@cache
def _load() -> None:
    for name in _TABLES:
        import_module(f"flambeau.cuda.kernels.{name}")


def program_of(key: str) -> Program | None:
    """An operator's program, or None."""
    _load()
    return PROGRAMS.get(key)


def group(name: str) -> Group | None:
    """A group of kernels, or None."""
    _load()
    return GROUPS.get(name)


def modules() -> list[tuple[str, str]]:
    """All (group, dtype) pairs that programs use."""
    _load()
    programs = [each for program in PROGRAMS.values() for each in (program, program.otherwise)]
    pairs = {(home_of(program, dtype), _SHARED.get(dtype, dtype)) for program in programs
             if program and program.group for dtype in program.dtypes}
    return sorted(pairs)


def home_of(program: Program, dtype: str) -> str:
    """The group of a program's kernels for a dtype."""
    return program.choose(dtype) if program.choose else program.group


def packed(program: Program, name: str, function: Callable[[str, str, str], int],
           dtype: str) -> tuple[Any, ...]:
    """The tuple that ``fl_read_program`` reads.

    Args:
        program: what runs.
        name: of the operator, for errors.
        function: gives a kernel's handle by group, dtype and name.
        dtype: of the kernels.
    """
    dtype = _SHARED.get(dtype, dtype)

    def find(kernel: str) -> int:
        if not kernel:
            return 0
        home, _, plain = kernel.rpartition(":")
        kind = "int64" if home else dtype
        return function(home or home_of(program, dtype), kind, kernel_name(plain, kind))

    steps = tuple((find(s.few), find(s.many), POLICIES[s.policy], s.view, s.block)
                  for s in program.steps)
    own = group(program.group) if program.group else None
    views = own.views if own else 0
    return (name, FAMILIES[program.family], SPANS[program.span], program.span_parameter,
            BEGINNINGS[program.beginning], views, program.scratch_view & 0xff, program.scratch,
            program.aside, steps)


def kernel_name(kernel: str, dtype: str) -> str:
    return f"{kernel}_{dtype}"
