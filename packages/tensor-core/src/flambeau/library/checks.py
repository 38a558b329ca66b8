"""``opcheck``: whether what was registered for an operator fits together."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau
from flambeau import rooms
from flambeau.core.pytree import tree_flatten, tree_map
from flambeau.library.calls import tensors_in
from flambeau.library.operators import OpOverload, OpOverloadPacket
from flambeau.library.registering import find

_UTILS = ("test_schema", "test_autograd_registration", "test_faketensor",
          "test_aot_dispatch_dynamic")


class OpCheckError(Exception):
    """What was registered for an operator does not fit together."""


def opcheck(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, *,
            test_utils: str | Sequence[str] = _UTILS, raise_exception: bool = True,
            atol: float | None = None, rtol: float | None = None) -> dict[str, Any]:
    """Test an operator with arguments: its schema, gradients, and fake results.

    Args:
        op: What ``custom_op`` made, or ``flambeau.ops.mylib.name``.
        args: Its arguments.
        kwargs: Its keywords.
        test_utils: ``"test_schema"`` (writes to what it says, and returns no argument),
            ``"test_autograd_registration"``, ``"test_faketensor"`` (results without values have
            the shapes and dtypes of real ones), ``"test_aot_dispatch_dynamic"`` (gradients inside
            a function that is differentiated), or several.
        raise_exception: Raise at the first failure; else it is the test's value.
        atol: For comparing gradients.
        rtol: For comparing gradients.

    Returns:
        ``"SUCCESS"``, or the error, by test.

    Raises:
        OpCheckError: a test failed.

    Example:
        >>> import flambeau
        >>> @flambeau.library.custom_op("doccheck::cosine", mutates_args=())
        ... def cosine(x: flambeau.Tensor) -> flambeau.Tensor:
        ...     return x.cos()
        >>> flambeau.library.opcheck(cosine, (flambeau.ones(2),), test_utils="test_schema")
        {'test_schema': 'SUCCESS'}
    """
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    stray = set(names) - set(_UTILS)
    if stray:
        raise ValueError(f"opcheck(): test_utils are {_UTILS}, got {sorted(stray)}")
    if isinstance(op, OpOverloadPacket):
        op = op.default
    if not isinstance(op, OpOverload) and not hasattr(op, "_definition"):
        raise ValueError(f"opcheck(op, ...): op is an operator of flambeau.ops or of custom_op, "
                         f"not {type(op).__name__}")
    results: dict[str, Any] = {}
    for name in names:
        try:
            _TESTS[name](op, tuple(args), dict(kwargs or {}))
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error} (scroll up for "
                                   "stack trace)") from error
            results[name] = error
    return results


def _copied(values: Any) -> Any:
    return tree_map(lambda v: v.detach().clone().requires_grad_(v.requires_grad)
                    if isinstance(v, flambeau.Tensor) else v, values)


def _schema(op: Any, args: Any, kwargs: Any) -> None:
    found = find(op)
    args, kwargs = _copied((args, kwargs))
    values, named = found.schema.bind(args, kwargs)
    before = _copied((values, named))
    op(*args, **kwargs)
    for argument, old, new in zip(found.schema.arguments, (*before[0], *before[1].values()),
                                  (*values, *named.values()), strict=True):
        for was, now in zip(tensors_in((old,)), tensors_in((new,)), strict=True):
            if not argument.is_write and not flambeau.equal(was.detach(), now.detach()):
                raise RuntimeError(f"Argument {argument.name} is not defined as mutable but was "
                                   "mutated")


def _registration(op: Any, args: Any, kwargs: Any) -> None:
    found = find(op)
    given = list(tensors_in((*args, *kwargs.values())))
    if not any(t.requires_grad for t in given):
        return
    if found.backward is None and found.autograd is None and "composite" not in found.kernels:
        raise RuntimeError("test_autograd_registration: no gradient was registered, and an "
                           "argument requires grad: use flambeau.library.register_autograd")


def _fake(op: Any, args: Any, kwargs: Any) -> None:
    real = tree_flatten(op(*_copied(args), **_copied(kwargs)))[0]
    without = tree_map(lambda v: v.detach().to("meta") if isinstance(v, flambeau.Tensor) else v,
                       (args, kwargs))
    fake = tree_flatten(op(*without[0], **without[1]))[0]
    for number, (ours, theirs) in enumerate(zip(real, fake, strict=True)):
        if isinstance(ours, flambeau.Tensor) and (ours.shape, ours.dtype) != (theirs.shape,
                                                                              theirs.dtype):
            raise RuntimeError(f"result {number}: the fake one has shape {list(theirs.shape)} and "
                               f"dtype {theirs.dtype}, the real one {list(ours.shape)} and "
                               f"{ours.dtype}")


def _gradients(op: Any, args: Any, kwargs: Any) -> None:
    copies, named = _copied((args, kwargs))
    leaves = [t for t in tensors_in((*copies, *named.values())) if t.requires_grad]
    if not leaves or find(op).schema.is_mutable:
        return
    grad = rooms.enter("autograd").grad
    results = [t for t in tensors_in(tree_flatten(op(*copies, **named))[0]) if t.requires_grad]
    if results:
        grad([t.sum() for t in results], leaves, allow_unused=True)


_TESTS = {"test_schema": _schema, "test_autograd_registration": _registration,
          "test_faketensor": _fake, "test_aot_dispatch_dynamic": _gradients}
