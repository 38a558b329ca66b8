"""Exponentials, logarithms and trigonometry."""
from flambeau.core.opdefs.make import pointwise

_POSITIVE = (0.05, 5.0)
_UNIT = (-0.95, 0.95)
_COMPLEX = frozenset("exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan "
                     "sinh cosh tanh asinh acosh atanh sigmoid".split())


def _real(name, doc, formula=None, domain=(-3.0, 3.0), **facts):
    facts.setdefault("complex", f"{name}(self)" if name in _COMPLEX else None)
    return pointwise(f"{name}(Tensor self)", float=formula or f"{name}(self)", rule="float",
                     inplace=True, domain=domain, doc=doc, **facts)


OPDEFS = (
    _real("exp", "The exponential function.", autocast="float32 on gpu"),
    _real("exp2", "Two to the power of the input.", aliases=("special.exp2",)),
    _real("expm1", "``exp(x) - 1``, accurate near zero.", aliases=("special.expm1",),
          autocast="float32 on gpu"),
    _real("log", "Natural logarithm.", domain=_POSITIVE, autocast="float32 on gpu"),
    _real("log2", "Logarithm to base two.", domain=_POSITIVE, autocast="float32 on gpu"),
    _real("log10", "Logarithm to base ten.", domain=_POSITIVE, autocast="float32 on gpu"),
    _real("log1p", "``log(1 + x)``, accurate near zero.", domain=(-0.9, 5.0),
          aliases=("special.log1p",), autocast="float32 on gpu"),
    _real("sqrt", "Square root.", domain=_POSITIVE),
    _real("rsqrt", "One over the square root.", domain=_POSITIVE, autocast="float32 on gpu"),
    _real("sin", "Sine of radians."),
    _real("cos", "Cosine of radians."),
    _real("tan", "Tangent of radians.", domain=(-1.2, 1.2), autocast="float32 on gpu"),
    _real("asin", "Inverse sine.", domain=_UNIT, aliases=("arcsin",), autocast="float32 on gpu"),
    _real("acos", "Inverse cosine.", domain=_UNIT, aliases=("arccos",), autocast="float32 on gpu"),
    _real("atan", "Inverse tangent.", aliases=("arctan",)),
    _real("sinh", "Hyperbolic sine.", autocast="float32 on gpu"),
    _real("cosh", "Hyperbolic cosine.", autocast="float32 on gpu"),
    _real("tanh", "Hyperbolic tangent."),
    _real("asinh", "Inverse hyperbolic sine.", aliases=("arcsinh",)),
    _real("acosh", "Inverse hyperbolic cosine.", domain=(1.05, 5.0), aliases=("arccosh",)),
    _real("atanh", "Inverse hyperbolic tangent.", domain=_UNIT, aliases=("arctanh",)),
    _real("erf", "The error function.", aliases=("special.erf",)),
    _real("erfc", "The complementary error function.", aliases=("special.erfc",)),
    _real("sigmoid", "``1 / (1 + exp(-x))``.", aliases=("special.expit",)),
    pointwise("atan2(Tensor self, Tensor other)", float="atan2(self, other)", rule="float",
              inplace=True, aliases=("arctan2",), doc="The angle of the point (other, self)."),
    pointwise("hypot(Tensor self, Tensor other)", float="hypot(self, other)", inplace=True,
              doc="``sqrt(self**2 + other**2)`` without overflow."),
    pointwise("copysign(Tensor self, Operand other)", float="copysign(self, other)",
              rule="float", inplace=True, doc="The size of ``self`` with the sign of ``other``."),
)
