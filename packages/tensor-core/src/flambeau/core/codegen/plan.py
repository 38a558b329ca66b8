"""Which definitions are built, and which kernels each pointwise operator has."""
from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from flambeau.core.opdefs import OPDEFS
from flambeau.core.opdefs.derived import derived_opdefs
from flambeau.core.opdefs.families import modules
from flambeau.core.opdefs.literal import literal_opdefs
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


#: Cases of these that are no longer than products.
_SHORT = frozenset({"pow__at_2", "pow__at_3"})


@dataclass(frozen=True)
class PointwisePlan:
    """A pointwise operator and its kernels."""

    opdef: OpDef
    index: int

    @property
    def kinds(self) -> tuple[str, ...]:
        """Compute kinds that have a kernel."""
        kinds = [k for k in KINDS if FORMULA_OF_KIND[k] in self.opdef.formulas]
        return tuple(k for k in kinds if not (k == "c64" and in_double(self.opdef)))

    @property
    def kernels(self) -> list[tuple[str, str]]:
        """Compute kind and formula of each kernel; uint64 lies in int64 and has its own formula."""
        unsigned = [("i64", "unsigned")] if self.has_unsigned else []
        return [*((kind, kind) for kind in self.kinds), *unsigned]

    @property
    def has_unsigned(self) -> bool:
        """Whether uint64 has a kernel of its own."""
        return "unsigned" in self.opdef.formulas

    def is_rare(self, kind: str) -> bool:
        """Whether a kernel is long and seldom called: it is interpreted at every level."""
        symbol = self.opdef.symbol
        return (kind in _REAL and symbol not in _SHORT
                and (self.index >= _written() or symbol in _COMPLEX))

    def formula(self, kind: str) -> str:
        return self.opdef.formulas[FORMULA_OF_KIND.get(kind, kind)]

    def result_kind(self, kind: str) -> str:
        """Kind of the outputs when computing in ``kind``."""
        if self.opdef.rule == "bool":
            return "bool"
        if self.opdef.rule == "real":
            return _REAL.get(kind, kind)
        return kind

    @property
    def writes(self) -> tuple[int, ...]:
        """The operand each output is written to; 255 for a fresh tensor."""
        targets = [i for i, p in enumerate(self.opdef.operands) if p.writes]
        return tuple(targets) if targets else (255,) * len(self.opdef.outputs)


def kernel_name(plan: PointwisePlan, formula: str) -> str:
    """The kernel of a formula in C++, before the name of the ISA level."""
    return f"fl_k_{plan.opdef.symbol}_{formula}_"


@dataclass(frozen=True)
class Export:
    """A Python name and the definitions of its overloads; ``linalg.solve`` is in a namespace."""

    name: str
    entries: tuple[tuple[int, OpDef], ...]

    @property
    def opdefs(self) -> list[OpDef]:
        return [opdef for _, opdef in self.entries]

    @property
    def forms(self) -> set[str]:
        """What the name is: a function, a method, a function of nn.functional."""
        return {form for opdef in self.opdefs for form in opdef.forms if "." not in self.name}

    @property
    def inplace(self) -> bool:
        """Whether there is the same with an underscore."""
        return "." not in self.name and any(opdef.inplace for opdef in self.opdefs)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the results; empty where there is one, or a plain tuple is returned."""
        longest = max((opdef.outputs for opdef in self.opdefs if not opdef.returns), key=len,
                      default=())
        return longest if len(longest) > 1 else ()


@cache
def named_in_cpp() -> tuple[str, ...]:
    """Symbols of the operators that C++ and Cython call by their number, ``FL_OP_<symbol>``."""
    sources = [path for pattern in _SOURCES for path in CORE.glob(pattern)]
    found = {name for path in sources for name in re.findall(r"\bFL_OP_(\w+)", path.read_text())}
    return tuple(sorted(found.union(opdef.symbol for opdef in all_opdefs() if opdef.dunder)))


@cache
def numbered_opdefs() -> list[OpDef]:
    """All definitions in the order of their numbers: those that C++ names first, then the others.

    So numbers in compiled code do not depend on which operators there are: a new definition leaves
    ``op_index.h`` as it was, and what includes it is not compiled again.
    """
    by_symbol = {opdef.symbol: opdef for opdef in all_opdefs()}
    if absent := set(named_in_cpp()) - by_symbol.keys():
        raise ValueError(f"C++ names operators that are not defined: {sorted(absent)}")
    first = [by_symbol[symbol] for symbol in named_in_cpp()]
    return [*first, *(opdef for opdef in all_opdefs() if opdef.symbol not in named_in_cpp())]


@cache
def exports() -> list[Export]:
    """Python names: all overloads of a name together, then its aliases."""
    names: dict[str, list[tuple[int, OpDef]]] = {}
    numbers = {opdef.key: i for i, opdef in enumerate(numbered_opdefs())}
    for opdef in all_opdefs():
        for name in (opdef.name, *opdef.aliases):
            names.setdefault(name, []).append((numbers[opdef.key], opdef))
    return [Export(name, tuple(entries)) for name, entries in names.items()]


@cache
def all_opdefs() -> list[OpDef]:
    """The definitions written by hand, then the derivatives of pointwise ones."""
    return [*OPDEFS, *derived_opdefs(OPDEFS)]


@cache
def _modules() -> dict[str, str]:
    """Symbols of the definitions written by hand -> the module each stands in."""
    return {opdef.symbol: module.__name__.rpartition(".")[2]
            for module in modules() for opdef in module.OPDEFS}


def module_of(opdef: OpDef) -> str:
    """The module that an operator is defined in, or the one it is a derivative or a case of."""
    modules = _modules()
    return modules.get(opdef.symbol) or modules[re.split("__d_|__at_", opdef.symbol)[0]]


@cache
def _written() -> int:
    """How many pointwise operators are written by hand; derivatives follow them."""
    return sum(opdef.category == "pointwise" for opdef in OPDEFS)


@cache
def pointwise_plans() -> list[PointwisePlan]:
    """Pointwise definitions in the order of their kernels; those at literals come last."""
    opdefs = [opdef for opdef in all_opdefs() if opdef.category == "pointwise"]
    opdefs += literal_opdefs(OPDEFS)
    return [PointwisePlan(opdef, i) for i, opdef in enumerate(opdefs)]
