"""Activation functions as modules. Shapes: unless said otherwise the output's is the input's."""

from .normalized import LogSoftmax, Softmax, Softmax2d, Softmin
from .rectifiers import CELU, ELU, SELU, LeakyReLU, PReLU, ReLU, RReLU, Threshold
from .shrinkage import Hardshrink, Softshrink, Tanhshrink
from .sigmoids import GLU, Hardsigmoid, Hardtanh, LogSigmoid, ReLU6, Sigmoid, Softsign, Tanh
from .smooth import GELU, Hardswish, Mish, SiLU, Softplus

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]
