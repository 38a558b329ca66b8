"""Comparisons, tests and logic: rows with bool results."""
from flambeau.core.table.make import pointwise


def _compare(name, symbol, bools, complex_too=False, aliases=()):
    formula = f"self {symbol} other"
    kinds = {"float": formula, "int": formula, "bool": bools}
    if complex_too:
        kinds["complex"] = formula
    return pointwise(f"{name}(Operand self, Operand other)", rule="bool", dunder=name,
                     aliases=aliases, inplace=True, differentiable=False,
                     doc=f"Whether ``{formula}``.", **kinds)


def _logic(name, numbers, bools):
    return pointwise(f"logical_{name}(Operand self, Operand other)", float=numbers, int=numbers,
                     bool=bools, rule="bool", inplace=True, differentiable=False,
                     doc=f"Logical {name} of the truth of both.")


ROWS = (
    _compare("eq", "==", "~(self ^ other)", True),
    _compare("ne", "!=", "self ^ other", True, aliases=("not_equal",)),
    _compare("lt", "<", "~self & other", aliases=("less",)),
    _compare("le", "<=", "~self | other", aliases=("less_equal",)),
    _compare("gt", ">", "self & ~other", aliases=("greater",)),
    _compare("ge", ">=", "self | ~other", aliases=("greater_equal",)),
    _logic("and", "(self != 0) & (other != 0)", "self & other"),
    _logic("or", "(self != 0) | (other != 0)", "self | other"),
    _logic("xor", "(self != 0) ^ (other != 0)", "self ^ other"),
    pointwise("logical_not(Tensor self)", float="self == 0", int="self == 0", bool="~self",
              complex="self == 0", rule="bool", inplace=True, differentiable=False,
              doc="Whether the input is zero."),
    pointwise("isnan(Tensor self)", float="isnan(self)", int="self != self", bool="self ^ self",
              complex="self != self", rule="bool", out=False, differentiable=False,
              doc="Whether the input is not a number."),
    pointwise("isinf(Tensor self)", float="isinf(self)", int="self != self", bool="self ^ self",
              rule="bool", out=False, differentiable=False, doc="Whether the input is infinite."),
    pointwise("isfinite(Tensor self)", float="isfinite(self)", int="self == self",
              bool="~(self ^ self)", rule="bool", out=False, differentiable=False,
              doc="Whether the input is neither infinite nor NaN."),
    pointwise("signbit(Tensor self)", float="signbit(self)", int="self < 0", bool="self ^ self",
              rule="bool", differentiable=False, doc="Whether the sign bit is set."),
)
