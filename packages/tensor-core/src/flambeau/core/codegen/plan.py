"""Which rows are built, and which kernels each pointwise row has."""
from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from flambeau.core.opdefs import OPDEFS
from flambeau.core.opdefs.derived import derived_rows
from flambeau.core.opdefs.families import MODULES
from flambeau.core.opdefs.opdef import FORMULA_OF_KIND, KINDS, OpDef
from flambeau.core.opdefs.wide import in_double

CORE = Path(__file__).parent.parent
_SOURCES = ("native/**/*.cpp", "native/**/*.h", "bindings/*", "*.pyx")

_REAL = {"c64": "f32", "c128": "f64"}

#: Complex functions beyond arithmetic: powers, and what is made of exponentials and logarithms.
_COMPLEX = frozenset(
    "acos acosh asin asinh atan atanh cos cosh exp exp2 expm1 log log10 log1p log2 logaddexp pow "
    "rsqrt sigmoid silu sin sinc sinh sqrt tan tanh tanhshrink".split()
)


@dataclass(frozen=True)
class PointwisePlan:
    """A pointwise row and its kernels."""

    row: OpDef
    index: int

    @property
    def kinds(self) -> tuple[str, ...]:
        """Compute kinds that have a kernel."""
        kinds = [k for k in KINDS if FORMULA_OF_KIND[k] in self.row.formulas]
        return tuple(k for k in kinds if not (k == "c64" and in_double(self.row)))

    def is_rare(self, kind: str) -> bool:
        """Whether a kernel is long and seldom called: few levels have code of their own for it."""
        return kind in _REAL and (self.index >= _written() or self.row.symbol in _COMPLEX)

    @property
    def has_unsigned(self) -> bool:
        """Whether uint64 has a kernel of its own."""
        return "unsigned" in self.row.formulas

    def formula(self, kind: str) -> str:
        return self.row.formulas[FORMULA_OF_KIND.get(kind, kind)]

    def result_kind(self, kind: str) -> str:
        """Kind of the outputs when computing in ``kind``."""
        if self.row.rule == "bool":
            return "bool"
        if self.row.rule == "real":
            return _REAL.get(kind, kind)
        return kind

    @property
    def writes(self) -> tuple[int, ...]:
        """The operand each output is written to; 255 for a fresh tensor."""
        targets = [i for i, p in enumerate(self.row.operands) if p.writes]
        return tuple(targets) if targets else (255,) * len(self.row.outputs)


@dataclass(frozen=True)
class Export:
    """A Python name, and the rows of all its overloads; ``linalg.solve`` is in a namespace."""

    name: str
    entries: tuple[tuple[int, OpDef], ...]

    @property
    def rows(self) -> list[OpDef]:
        return [row for _, row in self.entries]

    @property
    def forms(self) -> set[str]:
        """What the name is: a function, a method, a function of nn.functional."""
        return {form for row in self.rows for form in row.forms if "." not in self.name}

    @property
    def inplace(self) -> bool:
        """Whether there is the same with an underscore."""
        return "." not in self.name and any(row.inplace for row in self.rows)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the results; empty where there is one."""
        longest = max((row.outputs for row in self.rows), key=len)
        return longest if len(longest) > 1 else ()


@cache
def named_in_cpp() -> tuple[str, ...]:
    """Symbols of the operators that C++ and Cython call by their number, ``FL_OP_<symbol>``."""
    sources = [path for pattern in _SOURCES for path in CORE.glob(pattern)]
    found = {name for path in sources for name in re.findall(r"\bFL_OP_(\w+)", path.read_text())}
    return tuple(sorted(found.union(row.symbol for row in all_rows() if row.dunder)))


@cache
def numbered_rows() -> list[OpDef]:
    """All rows in the order of their numbers: those that C++ names first, then the others.

    So numbers in compiled code do not depend on which operators there are: a new definition leaves
    ``op_index.h`` as it was, and what includes it is not compiled again.
    """
    by_symbol = {row.symbol: row for row in all_rows()}
    if absent := set(named_in_cpp()) - by_symbol.keys():
        raise ValueError(f"C++ names operators that are not defined: {sorted(absent)}")
    first = [by_symbol[symbol] for symbol in named_in_cpp()]
    return [*first, *(row for row in all_rows() if row.symbol not in named_in_cpp())]


@cache
def exports() -> list[Export]:
    """Python names: all overloads of a name together, then its aliases."""
    names: dict[str, list[tuple[int, OpDef]]] = {}
    numbers = {row.key: i for i, row in enumerate(numbered_rows())}
    for row in all_rows():
        for name in (row.name, *row.aliases):
            names.setdefault(name, []).append((numbers[row.key], row))
    return [Export(name, tuple(entries)) for name, entries in names.items()]


@cache
def all_rows() -> list[OpDef]:
    """The rows written by hand, then the derivatives of pointwise ones."""
    return [*OPDEFS, *derived_rows(OPDEFS)]


@cache
def _modules() -> dict[str, str]:
    """Symbols of the definitions written by hand -> the module each stands in."""
    return {opdef.symbol: module.__name__.rpartition(".")[2]
            for module in MODULES for opdef in module.OPDEFS}


def module_of(opdef: OpDef) -> str:
    """The module that an operator, or the one it is a derivative of, is defined in."""
    modules = _modules()
    return modules.get(opdef.symbol) or modules[opdef.symbol.rpartition("__d_")[0]]


@cache
def _written() -> int:
    """How many pointwise rows are written by hand; derivatives follow them."""
    return sum(row.category == "pointwise" for row in OPDEFS)


@cache
def pointwise_rows() -> list[PointwisePlan]:
    rows = [row for row in all_rows() if row.category == "pointwise"]
    return [PointwisePlan(row, i) for i, row in enumerate(rows)]
