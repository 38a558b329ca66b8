"""Operators of a program's own, under PyTorch's names.

``custom_op`` makes an operator of a Python function; gradients, batches and results without values
are registered beside it. It is then ``flambeau.ops.mylib.name``. What belongs in the table of
operators, with kernels made from formulas, is added with ``flambeau.core.register_op``.

Example:
    >>> import flambeau
    >>> @flambeau.library.custom_op("doc::double", mutates_args=())
    ... def double(x: flambeau.Tensor) -> flambeau.Tensor:
    ...     return flambeau.from_numpy(x.detach().numpy() * 2)
    >>> double.register_autograd(lambda ctx, g: g * 2)
    >>> x = flambeau.ones(2, requires_grad=True)
    >>> flambeau.ops.doc.double(x).sum().backward()
    >>> x.grad
    tensor([2., 2.])
"""
from __future__ import annotations

from flambeau.library.checks import opcheck
from flambeau.library.custom import CustomOpDef, custom_op, triton_op
from flambeau.library.registering import (
    Library,
    define,
    fallthrough_kernel,
    get_ctx,
    impl,
    impl_abstract,
    register_autograd,
    register_fake,
    register_kernel,
    register_torch_dispatch,
    register_vmap,
    wrap_triton,
)
from flambeau.library.schemas import infer_schema

__all__ = ["CustomOpDef", "Library", "custom_op", "define", "fallthrough_kernel", "get_ctx",
           "impl", "impl_abstract", "infer_schema", "opcheck", "register_autograd",
           "register_fake", "register_kernel", "register_torch_dispatch", "register_vmap",
           "triton_op", "wrap_triton"]
