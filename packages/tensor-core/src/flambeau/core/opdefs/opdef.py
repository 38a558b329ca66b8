"""What an operator definition says."""
from __future__ import annotations

from dataclasses import dataclass, field

CATEGORIES = ("pointwise", "reduction", "view", "kernel", "composite")

#: How the dtype of a result follows from the operands (PyTorch's type promotion).
DTYPE_RULES = (
    "promote",  # the promoted dtype of all operands
    "float",    # promoted; integers and bool become the default floating dtype
    "bool",     # computed in the promoted dtype, result bool
    "real",     # promoted; complex becomes its real counterpart
    "first",    # the dtype of the first operand
    "custom",   # the definition's own infer decides
    "dynamic",  # custom, and the shape depends on values
    "integer",  # promoted; bool becomes int64
)

#: What a parameter may be, and its number in the interface (``fl_role`` in abi.h, where a mask is
#: a tensor): an ``Operand`` is a tensor or a number, ``Dim`` a dimension, ``Dims`` some or all.
ROLES = {
    "Tensor": 0, "Mask": 0, "Operand": 1, "Tensors": 2, "Scalar": 3, "Int": 4, "Float": 5,
    "Bool": 6, "Dim": 7, "Dims": 8, "Shape": 9, "Ints": 10, "DType": 11, "Device": 12, "Str": 13,
    "Generator": 14, "Object": 15, "Floats": 16, "Index": 17, "Bools": 18,
}

#: Kinds of formula, in the order of the kernels' compute types.
KINDS = ("f32", "f64", "i64", "bool", "c64", "c128")
FORMULA_OF_KIND = {"f32": "float", "f64": "float", "i64": "int", "bool": "bool",
                   "c64": "complex", "c128": "complex"}


@dataclass(frozen=True)
class Param:
    """One parameter: its name, role and default."""

    name: str
    role: str
    optional: bool = False
    keyword: bool = False
    default: object = ...
    writes: bool = False
    variadic: bool = False  # a list of tensors that may be given one by one

    @property
    def is_operand(self) -> bool:
        """Whether a pointwise kernel streams this parameter's elements."""
        return self.role in ("Tensor", "Operand", "Mask")

    @property
    def has_default(self) -> bool:
        return self.default is not ...


@dataclass(frozen=True)
class OpDef:
    """One overload of one operator."""

    name: str
    overload: str
    params: tuple[Param, ...]
    outputs: tuple[str, ...]
    category: str
    rule: str = "promote"
    formulas: dict[str, str] = field(default_factory=dict)
    forms: tuple[str, ...] = ("function", "method")
    inplace: bool = False
    out: bool = True
    dunder: str = ""
    aliases: tuple[str, ...] = ()   # "special.erf" is the function flambeau.special.erf
    infer: str = ""
    run: str = ""
    call: str = ""          # the boxed call, where the generic one does not do
    option: int = 0
    doc: str = ""
    domain: tuple[float, float] = (-3.0, 3.0)
    differentiable: bool = True
    list_output: bool = False
    returns: str = ""       # type of what is returned where outputs do not say: "A if flag else B"
    derive: bool = True     # whether derivative definitions are compiled for a pointwise operator
    exact_out: bool = False     # out= has to be of the result's dtype: see out_dtypes.py
    autocast: str = ""      # "lower", "float32", "promote", "float32 on gpu": see autocast.py

    @property
    def key(self) -> str:
        """The name other packages look the definition up by: ``name`` or ``name.overload``."""
        return f"{self.name}.{self.overload}" if self.overload else self.name

    @property
    def symbol(self) -> str:
        """The key as a C identifier."""
        return self.key.replace(".", "__")

    @property
    def plain_aliases(self) -> tuple[str, ...]:
        """The aliases that are functions and methods, not functions of a namespace."""
        return tuple(name for name in self.aliases if "." not in name)

    @property
    def operands(self) -> tuple[Param, ...]:
        return tuple(p for p in self.params if p.is_operand)

    @property
    def scalars(self) -> tuple[Param, ...]:
        """Run-time scalars of a pointwise formula."""
        return tuple(p for p in self.params if p.role in ("Scalar", "Float", "Int", "Bool"))

    @property
    def refuses_integer_zeros(self) -> bool:
        """Whether integers have no result where the second operand is 0."""
        return self.call == "division"

    @property
    def refuses_integers(self) -> bool:
        """Whether there is no result of integers, though a floating one could be computed."""
        return self.call == "quotient_sum"

    @property
    def signature(self) -> str:
        """The signature in Python's terms, as shown by ``help``."""
        parts, starred = [], False
        for p in self.params:
            if p.keyword and not starred:
                parts.append("*")
                starred = True
            star = "*" if p.variadic else ""
            starred = starred or p.variadic
            parts.append(f"{star}{p.name}" + (f"={p.default!r}" if p.has_default else ""))
        if self.out and not starred:
            parts.append("*")
        if self.out:
            parts.append("out=None")
        return f"{self.name.rsplit('.', 1)[-1]}({', '.join(parts)})"
