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
    "integer",  # promoted; bool becomes int64
)

#: What a parameter may be, and its number in the interface (``fl_role`` in abi.h, where a mask is
#: a tensor): an ``Operand`` is a tensor or a number, ``Dim`` a dimension, ``Dims`` some or all.
ROLES = {
    "Tensor": 0, "Mask": 0, "Operand": 1, "Tensors": 2, "Scalar": 3, "Int": 4, "Float": 5,
    "Bool": 6, "Dim": 7, "Dims": 8, "Shape": 9, "Ints": 10, "DType": 11, "Device": 12, "Str": 13,
    "Generator": 14, "Object": 15, "Floats": 16, "Index": 17, "Bools": 18,
}

#: What ``autocast`` does with floating inputs. Which operators it treats how is as in PyTorch.
AUTOCAST = {
    "": "nothing: the operator runs in the dtype of its inputs",
    "lower": "casts to the lower precision: products, which are fast there and sum in float32",
    "float32": "casts to float32: sums of many small terms, losses, decompositions",
    "promote": "casts to the widest dtype among the inputs",
    "float32 on gpu": "casts to float32, but not on the CPU: bfloat16 does not overflow there",
}

#: How tangents are pushed forward (``flambeau.func.jvp``). Where a definition says nothing, the
#: category does: see ``OpDef._usual_jvp``.
JVP = {
    "none": "results carry no gradients",
    "elementwise": "the derivative of each operand, times its tangent",
    "linear": "the operator itself, of tangents: ``linear='self + source'``",
    "product": "linear in one factor at a time: ``linear='input * weight + bias'``",
    "rule": "written by hand, in autograd/transforms/forward/own.py",
    "gradient": "the derivative of the gradient: no rule of its own, and slower",
    "composite": "that of the operators it calls",
}

#: How an operator runs under ``vmap``. Where a definition says nothing, see ``_usual_batching``.
BATCHING = {
    "pointwise": "the batch broadcasts in front of what the function sees",
    "reduction": "dims count from one further on; no dims are all that the function sees",
    "dims": "dims count from one further on, and all tensors have one rank",
    "stack": "the last dimensions hold one matrix or value, all others are a stack of them",
    "samples": "the batch joins the first dimension, which is that of samples",
    "images": "the same, and a single image may lack that dimension",
    "rule": "written by hand, in autograd/transforms/batching/",
    "random": "one draw for all samples or one for each, as the caller says",
    "loop": "one sample at a time",
    "refused": "the shape depends on values, which differ between samples",
    "no tensors": "takes none, so that nothing is batched",
    "composite": "that of the operators it calls",
}

#: Which of a result's elements need the same part of the arguments, and no more. Such kernels may
#: run a few rows at a time (``native/deferral/``), to the same bits.
ROWS = {
    "": "all of them, or it is not said",
    "elements": "those at one index",
    "drawn": "none: random numbers that depend on the index",
    "dim": "those of one index before the dimension, or the first of the dimensions, ``dim``",
    "axes": "those of one index before the last ``axes`` dimensions; weights have no more",
    "lookup": "those of one element of the index; the first argument, a table, all",
    "classes": "those of one index of the first dimension; weights of classes and numbers, all",
}

#: Inputs in the memory that is written to. What is refused is as in PyTorch; all else is computed
#: from a copy. Where a definition says nothing, operators batched as pointwise refuse parts.
OVERLAP = {
    "": "computed from a copy",
    "partial": "refused, but for that very memory, element for element",
    "any": "refused, but for the first input in place: the operator writes while it reads",
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
    literals: dict[str, tuple[float, ...]] = field(default_factory=dict)    # see literal.py
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
    exact_out: bool = False     # out= has to be of the result's dtype, as in PyTorch
    autocast: str = ""      # one of AUTOCAST
    jvp: str = ""           # one of JVP; most follow from the category
    linear: str = ""        # in which parameters, see JVP
    batching: str = ""      # one of BATCHING; most follow from the category
    rows: str = ""          # one of ROWS
    epilogue: bool = False  # may run a loop over its result while it makes it: runtime/epilogue.h
    overlap: str = ""       # one of OVERLAP
    any_dtype: bool = False     # takes float8 too: it moves elements, or converts them one by one
    dynamic_shape: bool = False     # the shape of a result depends on values
    raises_on_values: bool = False  # there are values, not only shapes and dtypes, it refuses
    decomposes: bool = False    # runs as others where a device has no kernel: decompositions.py

    def __post_init__(self) -> None:
        """Fill in what the category says, and refuse misspelt facts."""
        object.__setattr__(self, "batching", self.batching or self._usual_batching())
        if self.category == "view" and self.differentiable and not self.jvp + self.linear:
            object.__setattr__(self, "linear", "self")
        object.__setattr__(self, "jvp", self.jvp or self._usual_jvp())
        if self.batching == "pointwise":
            object.__setattr__(self, "overlap", self.overlap or "partial")
        for fact, known in (("autocast", AUTOCAST), ("jvp", JVP), ("batching", BATCHING),
                            ("overlap", OVERLAP), ("rows", ROWS)):
            if getattr(self, fact) not in known:
                raise ValueError(f"{self.key}: {fact}={getattr(self, fact)!r} is not one of "
                                 f"{', '.join(map(repr, known))}")

    def _usual_batching(self) -> str:
        if self.category in ("pointwise", "reduction", "composite"):
            return self.category
        if self.random:
            return "random"
        if self.dynamic_shape:
            return "refused"
        if not any(p.role in ("Tensor", "Operand", "Tensors") for p in self.params):
            return "no tensors"
        return "rule" if self.category == "view" else "loop"

    def _usual_jvp(self) -> str:
        if self.category == "composite":
            return "composite"
        if not self.differentiable:
            return "none"
        if self.linear:
            return "product" if "*" in self.linear else "linear"
        return "elementwise" if self.batching == "pointwise" else "gradient"

    @property
    def random(self) -> bool:
        """Whether it draws random numbers, so that equal calls differ."""
        return any(p.role == "Generator" for p in self.params)

    @property
    def linear_in(self) -> tuple[tuple[str, ...], str]:
        """The parameters it is linear in, together or one by one, and what is only added."""
        if "*" not in self.linear:
            return tuple(self.linear.replace("+", " ").split()), ""
        factors, _, summand = self.linear.partition("+")
        return tuple(factors.replace("*", " ").split()), summand.strip()

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
    def refuses_bools(self) -> bool:
        """Whether bool is computed beside a number alone."""
        return self.call == "power"

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
