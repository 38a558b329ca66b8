"""Activation functions."""
from flambeau.core.table.make import pointwise

_NN = ("nn",)

ROWS = (
    pointwise("relu(Tensor self)", float="0 if self <= 0 else self",
              int="maximum(self, 0)", inplace=True, forms=("function", "method", "nn"),
              derive=False, doc="``max(x, 0)``."),
    pointwise("relu_grad(Operand grad, Operand result)", float="0 if result <= 0 else grad",
              forms=(), derive=False, doc="The gradient of relu from its result."),
    pointwise("gelu_exact(Tensor self)", float="gelu(self)", forms=(),
              doc="``x * Phi(x)`` with the normal distribution function."),
    pointwise("gelu_tanh(Tensor self)", float="gelu_tanh(self)", forms=(),
              doc="The tanh approximation of gelu."),
    pointwise("silu(Tensor self)", float="silu(self)", forms=_NN, inplace=True,
              doc="``x * sigmoid(x)``."),
    pointwise("softplus(Tensor self, Scalar beta=1, Scalar threshold=20)",
              float="self if self * beta > threshold else log1p(exp(self * beta)) / beta",
              forms=_NN, doc="``log(1 + exp(beta * x)) / beta``, linear above the threshold."),
    pointwise("leaky_relu(Tensor self, Scalar negative_slope=0.01)",
              float="self if self > 0 else negative_slope * self", forms=_NN, inplace=True,
              doc="``x`` where positive, ``negative_slope * x`` elsewhere."),
    pointwise("elu(Tensor self, Scalar alpha=1.0)",
              float="self if self > 0 else alpha * expm1(self)", forms=_NN, inplace=True,
              doc="``x`` where positive, ``alpha * (exp(x) - 1)`` elsewhere."),
    pointwise("hardtanh(Tensor self, Scalar min_val=-1.0, Scalar max_val=1.0)",
              float="min_val if self <= min_val else max_val if self >= max_val else self",
              forms=_NN, inplace=True,
              doc="Restricts values to an interval."),
    pointwise("logsigmoid(Tensor self)",
              float="logsigmoid(self)", forms=_NN,
              doc="``log(sigmoid(x))``."),
)
