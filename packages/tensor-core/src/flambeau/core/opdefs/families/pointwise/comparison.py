"""Comparison and logic."""
from flambeau.core.opdefs.make import composite, pointwise


def _compare(name, symbol, bools, complex_too=False, aliases=(), **kinds):
    formula = f"self {symbol} other"
    kinds |= {"float": formula, "int": formula, "bool": bools}
    if complex_too:
        kinds |= {"complex": formula, "any_dtype": True}
    return pointwise(f"{name}(Tensor self, Operand other)", rule="bool", dunder=name,
                     aliases=aliases, inplace=True, differentiable=False,
                     doc=f"Whether ``{formula}``.", **kinds)


def _logic(name, numbers, bools):
    return pointwise(f"logical_{name}(Tensor self, Tensor other)", float=numbers, int=numbers,
                     complex=numbers, bool=bools, rule="bool", inplace=True, differentiable=False,
                     doc=f"Logical {name} of the truth of both.")


OPDEFS = (
    _compare("eq", "==", "~(self ^ other)", True),
    _compare("ne", "!=", "self ^ other", True, aliases=("not_equal",)),
    _compare("lt", "<", "~self & other", aliases=("less",),
             unsigned="unsigned_less(self, other)"),
    _compare("le", "<=", "~self | other", aliases=("less_equal",),
             unsigned="~unsigned_less(other, self)"),
    _compare("gt", ">", "self & ~other", aliases=("greater",),
             unsigned="unsigned_less(other, self)"),
    _compare("ge", ">=", "self | ~other", aliases=("greater_equal",),
             unsigned="~unsigned_less(self, other)"),
    _logic("and", "(self != 0) & (other != 0)", "self & other"),
    _logic("or", "(self != 0) | (other != 0)", "self | other"),
    _logic("xor", "(self != 0) ^ (other != 0)", "self ^ other"),
    pointwise("logical_not(Tensor self)", float="self == 0", int="self == 0", bool="~self",
              complex="self == 0", rule="bool", inplace=True, differentiable=False,
              doc="Whether the input is zero."),
    pointwise("isnan(Tensor self)", float="isnan(self)", int="self != self", bool="self ^ self",
              complex="self != self", rule="bool", out=False, differentiable=False,
              doc="Whether the input is not a number.", any_dtype=True),
    pointwise("isinf(Tensor self)", float="isinf(self)", int="self != self", bool="self ^ self",
              complex="isinf(real(self)) | isinf(imag(self))", rule="bool", out=False,
              differentiable=False, doc="Whether the input, or a part of it, is infinite."),
    pointwise("isfinite(Tensor self)", float="isfinite(self)", int="self == self",
              bool="~(self ^ self)", complex="isfinite(real(self)) & isfinite(imag(self))",
              rule="bool", out=False, differentiable=False,
              doc="Whether the input is neither infinite nor NaN."),
    pointwise("signbit(Tensor self)", float="signbit(self)", int="self < 0", bool="self ^ self",
              unsigned="self != self", rule="bool", differentiable=False,
              doc="Whether the sign bit is set.", exact_out=True),
    composite("equal(Tensor self, Tensor other)", differentiable=False,
              call="equal", returns="_bool",
              doc="Whether two tensors have the same shape and elements, as a Python bool."),
    composite("isclose(Tensor self, Tensor other, Float rtol=1e-05, Float atol=1e-08, "
              "Bool equal_nan=False)", differentiable=False,
              doc="Whether ``|self - other| <= atol + rtol * |other|``."),
    composite("allclose(Tensor self, Tensor other, Float rtol=1e-05, Float atol=1e-08, "
              "Bool equal_nan=False)", differentiable=False,
              returns="_bool",
              doc="Whether all elements are close, as a Python bool."),
)
