"""Creation."""
from flambeau.core.opdefs.make import composite, kernel

_OPTIONS = "*, DType? dtype=None, Device? device=None"
_DRAWN = "*, Generator? generator=None"
_NEW = ("function",)


def _new(schema, **facts):
    facts.setdefault("forms", _NEW)
    return kernel(schema, out=False, differentiable=False, **facts)


OPDEFS = (
    kernel("clone(Tensor self, *, Str? memory_format=None)", out=False,
           doc="A copy with memory of its own, in the same order or that of a memory format.",
           exact_out=True, linear="self", batching="rule", rows="elements", any_dtype=True),
    kernel("contiguous_copy(Tensor self)", forms=(), out=False, doc="A copy in C order.",
           linear="self", batching="stack", rows="elements", any_dtype=True),
    kernel("cast(Tensor self, DType dtype)", forms=(), out=False, doc="A copy in another dtype.",
           linear="self", batching="stack", rows="elements", any_dtype=True),
    kernel("copy(Tensor self, Tensor src)", call="copy", forms=("inplace",), inplace=True,
           out=False,
           doc="``src`` broadcast and cast into ``self``.", linear="src", batching="rule",
           overlap="partial", any_dtype=True),
    kernel("to_device(Tensor self, Device device)", call="to_device", forms=(), out=False,
           doc="A copy on another device.", linear="self", batching="stack", any_dtype=True),
    kernel("fill(Tensor self, Operand value)", inplace=True, out=False, doc="Sets every element.",
           jvp="rule", batching="rule", any_dtype=True),
    _new(f"empty(Shape size, {_OPTIONS})", doc="Uninitialized memory.", exact_out=True,
         any_dtype=True),
    _new(f"empty_strided(Shape size, Ints stride, {_OPTIONS})",
         doc="Uninitialized memory with given strides.", any_dtype=True),
    _new(f"full_of(Shape size, Scalar fill_value, {_OPTIONS})", forms=(),
         doc="Every element the same number.", any_dtype=True),
    _new("filled_like(Tensor self, Scalar? fill_value, DType? dtype=None)", forms=(),
         doc="As many elements as another tensor has, all one number, or uninitialized.",
         batching="stack", any_dtype=True),
    _new(f"arange_of(Scalar start, Scalar end, Scalar step, {_OPTIONS})", forms=(),
         doc="Numbers from start to end, end excluded."),
    _new(f"linspace(Scalar start, Scalar end, Int steps, {_OPTIONS})",
         doc="``steps`` evenly spaced numbers, end included.", exact_out=True),
    _new(f"eye_of(Int n, Int m, {_OPTIONS})", forms=(), doc="Ones on the diagonal.",
         any_dtype=True),
    *(composite(f"{name}_like(Tensor self, {extra}DType? dtype=None, Device? device=None, "
                "Bool requires_grad=False, Object memory_format=None, Object layout=None, "
                "Object pin_memory=None)", forms=("function",),
                differentiable=False, call=f"{name}_like",
                doc=f"{text} of the shape, dtype and device of another tensor.")
      for name, extra, text in (
          ("empty", "*, ", "Uninitialized memory"), ("zeros", "*, ", "Zeros"),
          ("ones", "*, ", "Ones"), ("full", "Scalar fill_value, *, ", "One number"),
          ("rand", f"{_DRAWN}, ", "Uniform random numbers"),
          ("randn", f"{_DRAWN}, ", "Normal random numbers"))),
)
