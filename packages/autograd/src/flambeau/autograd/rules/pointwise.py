"""Pointwise operators whose derivative is written by hand, because it is shorter or safer."""
from flambeau.autograd._table import rule
from flambeau.autograd.rules._help import conj, is_tensor, not_implemented, scaled, zeros_like
from flambeau.core import ops

# ---- sums and products -------------------------------------------------------------------------
rule("add", self=lambda g: g, other=lambda g, alpha: scaled(g, alpha))
rule("sub", self=lambda g: g, other=lambda g, alpha: scaled(g, -alpha))
rule("rsub", self=lambda g, alpha: scaled(g, -alpha), other=lambda g: g)
rule("mul",
     self=lambda g, other: g * conj(other),
     other=lambda g, self: g * conj(self))
rule("div",
     self=lambda g, other: g / conj(other),
     other=lambda g, self, other: -g * conj(self / other / other))
rule("floor_divide", self=not_implemented("floor_divide"), other=not_implemented("floor_divide"))
rule("neg", self=lambda g: -g)
rule("square", self=lambda g, self: g * conj(self * 2))


# ---- powers ------------------------------------------------------------------------------------
def _pow_self(g, self, exponent):
    """``exponent * self**(exponent - 1)``, and 0 where the exponent is 0."""
    if not is_tensor(exponent):
        if exponent == 0:
            return zeros_like(g)
        if exponent == 1:
            return g
        if exponent == 2:
            return g * conj(self * 2)
        return g * conj(self ** (exponent - 1) * exponent)
    slope = exponent * self ** (exponent - 1)
    return g * conj(ops.where(exponent == 0, 0, slope))


def _not_negative(exponent):
    """Whether the exponent is real and 0 or more."""
    if is_tensor(exponent) and exponent.is_complex():
        return (exponent.real >= 0) & (exponent.imag == 0)
    if isinstance(exponent, complex):
        return exponent.real >= 0 and exponent.imag == 0
    return exponent >= 0


def _pow_exponent(g, self, exponent, result):
    """``result * log(self)``, and 0 where both are: 0**0 is 1 on both sides."""
    if not is_tensor(self):
        slope = result * ops.full_of((), self, dtype=result.dtype).log()
        if self == 0:
            return g * conj(ops.where(_not_negative(exponent), 0, slope))
        return g * conj(slope)
    base = self.to(result.dtype)            # a complex power of a negative number is a number
    return g * conj(ops.where((base == 0) & _not_negative(exponent), 0, result * base.log()))


rule("pow", self=_pow_self, exponent=_pow_exponent)

# ---- sizes, choices ----------------------------------------------------------------------------
rule("abs", self=lambda g, self: g * self.sgn())
rule("where",
     self=lambda g, condition: ops.where(condition, g, 0),
     other=lambda g, condition: ops.where(condition, 0, g))

# ---- complex numbers ---------------------------------------------------------------------------
rule("conj", self=lambda g: conj(g))
rule("real_part", self=lambda g: g)

# ---- activations -------------------------------------------------------------------------------
def _passed(g, self, scale, zero_point, quant_min, quant_max):
    """The gradient where the values were in the range, as if nothing had been rounded."""
    whole = ops.round(self * (1 / scale)) + zero_point
    return g * ((whole >= quant_min) & (whole <= quant_max))


rule("fake_quantize_by", self=_passed, scale=not_implemented("fake_quantize_by"),
     zero_point=not_implemented("fake_quantize_by"))
rule("relu", self=lambda g, result: ops.relu_grad(g, result))
rule("relu_grad", grad=lambda g, result: ops.relu_grad(g, result))

# ---- steps: flat wherever they are differentiable ----------------------------------------------
rule("trunc_divide", self=lambda g: zeros_like(g), other=lambda g: zeros_like(g))
