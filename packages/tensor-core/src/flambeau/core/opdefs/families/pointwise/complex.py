"""Complex numbers."""
from flambeau.core.opdefs.make import composite

OPDEFS = (
    composite("complex(Tensor real, Tensor imag)", forms=("function",),
              call="complex", doc="Complex numbers from real and imaginary parts.",
              autocast="float32", exact_out=True),
    composite("polar(Tensor abs, Tensor angle)", forms=("function",),
              call="polar", doc="Complex numbers from sizes and angles.", autocast="float32"),
    composite("resolve_conj(Tensor self)",
              doc="The tensor itself: conjugates are computed at once here."),
    composite("resolve_neg(Tensor self)",
              doc="The tensor itself: negatives are computed at once here."),
)
