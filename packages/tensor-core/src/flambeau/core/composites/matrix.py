"""Composite rows of matrix products."""
from flambeau.core import _core

_op = _core.operators()
_matmul = _op["matmul"]


def _expect(what, x, ndim, name):
    if x.ndim != ndim:
        kind = {1: "a vector", 2: "a matrix", 3: "a stack of matrices"}[ndim]
        raise RuntimeError(f"{what}(): argument '{name}' must be {kind} ({ndim} dimensions), got "
                           f"shape {list(x.shape)}; use matmul for other shapes")


def mm(x, mat2):
    _expect("mm", x, 2, "self")
    _expect("mm", mat2, 2, "mat2")
    return _matmul(x, mat2)


def bmm(x, mat2):
    _expect("bmm", x, 3, "self")
    _expect("bmm", mat2, 3, "mat2")
    return _matmul(x, mat2)


def mv(x, vec):
    _expect("mv", x, 2, "self")
    _expect("mv", vec, 1, "vec")
    return _matmul(x, vec)


def dot(x, tensor):
    _expect("dot", x, 1, "self")
    _expect("dot", tensor, 1, "tensor")
    return _matmul(x, tensor)


def outer(x, vec2):
    _expect("outer", x, 1, "self")
    _expect("outer", vec2, 1, "vec2")
    return _op["mul"](_op["unsqueeze"](x, 1), vec2)


def addmm(x, mat1, mat2, beta, alpha):
    product = mm(mat1, mat2)
    if beta == 0:
        return product if alpha == 1 else _op["mul"](product, alpha)
    if beta != 1:
        x = _op["mul"](x, beta)
    return _op["add"](x, product, alpha=alpha)
