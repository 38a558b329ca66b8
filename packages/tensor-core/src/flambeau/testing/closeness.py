"""``assert_close``: tensors, numbers and nests of them that must agree within tolerances."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Number
from typing import Any

import flambeau
from flambeau.core import Tensor

# dtype: (relative, absolute); what is not listed must be equal. PyTorch's defaults.
_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise unless ``|actual - expected| <= atol + rtol * |expected|`` everywhere.

    Args:
        actual: A tensor, an array, a number, or a sequence or mapping of them.
        expected: What it should be, of the same structure.
        allow_subclasses: Whether types may differ when both are tensors.
        rtol: Relative tolerance; together with ``atol``, else both follow from the dtype.
        atol: Absolute tolerance.
        equal_nan: Whether NaN equals NaN.
        check_device: Whether devices must be the same.
        check_dtype: Whether dtypes must be the same.
        check_layout: Whether layouts must be the same; sparse tensors are compared as dense ones.
        check_stride: Whether strides must be the same.
        msg: The error's text, or a function that makes it from the usual one.

    Raises:
        AssertionError: They differ; the text says where and by how much.
        ValueError: One tolerance was given without the other.

    Example:
        >>> import flambeau
        >>> from flambeau.testing import assert_close
        >>> assert_close(flambeau.tensor([1.0, 2.0]), flambeau.tensor([1.0, 2.0 + 1e-6]))
        >>> assert_close([1.0, {"a": 2}], [1.0, {"a": 3}])
        Traceback (most recent call last):
        AssertionError: at [1]['a']: 1 of 1 elements differ (rtol=0.0, atol=0.0): got 2, expected 3
    """
    if (rtol is None) != (atol is None):
        raise ValueError("assert_close(): give rtol and atol together, or neither")
    same_type = not allow_subclasses
    checks = {"dtype": check_dtype, "device": check_device, "stride": check_stride,
              "layout": check_layout}
    tolerances = None if rtol is None or atol is None else (rtol, atol)

    def walk(got: Any, want: Any, path: str) -> str:
        if isinstance(got, Mapping) and isinstance(want, Mapping):
            if got.keys() != want.keys():
                return f"{path}keys {sorted(map(str, got))}, expected {sorted(map(str, want))}"
            return _first(walk(got[key], want[key], f"{path}[{key!r}]") for key in want)
        if _is_sequence(got) and _is_sequence(want):
            if len(got) != len(want):
                return f"{path}{len(got)} items, expected {len(want)}"
            pairs = enumerate(zip(got, want, strict=True))
            return _first(walk(a, b, f"{path}[{i}]") for i, (a, b) in pairs)
        problem = "" if not same_type or type(got) is type(want) else "types differ"
        problem = problem or _difference(got, want, tolerances, equal_nan, checks)
        return f"at {path}: {problem}" if problem and path else problem

    problem = walk(actual, expected, "")
    if problem:
        raise AssertionError(msg(problem) if callable(msg) else msg or problem)


def _first(problems: Any) -> str:
    """The first text that is not empty."""
    return next(filter(None, problems), "")


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _difference(
    got: Any,
    want: Any,
    tolerances: tuple[float, float] | None,
    equal_nan: bool,
    checks: dict[str, bool],
) -> str:
    """How two tensors or numbers differ; empty when they agree."""
    if got is None and want is None:
        return ""
    both_numbers = isinstance(got, Number) and isinstance(want, Number)
    got, want = _as_tensor(got), _as_tensor(want)
    if got is None or want is None:
        return "only tensors, arrays, numbers, and sequences and mappings of them are compared"
    problem = attributes(got, want, {} if both_numbers else checks)
    return problem or distance(*alike(got, want), tolerances or tolerances_of(
        got.dtype, want.dtype), equal_nan)


def attributes(got: Tensor, want: Tensor, checks: dict[str, bool]) -> str:
    """How the shapes of two tensors differ, or one of the facts that are checked."""
    if got.shape != want.shape:
        return f"shape {tuple(got.shape)}, expected {tuple(want.shape)}"
    facts = {
        "layout": (got.layout, want.layout),
        "dtype": (got.dtype, want.dtype),
        "device": (got.device, want.device),
        "stride": (got.stride(), want.stride()),
    }
    return _first(f"{fact} {a}, expected {b}" for fact, (a, b) in facts.items()
                  if checks.get(fact) and a != b)


def _as_tensor(value: Any) -> Tensor | None:
    if isinstance(value, Tensor):
        return value.detach()
    if isinstance(value, bool | int):
        return flambeau.tensor(value)
    if isinstance(value, Number):
        dtype = flambeau.complex128 if isinstance(value, complex) else flambeau.float64
        return flambeau.tensor(value, dtype=dtype)
    return flambeau.as_tensor(value) if hasattr(value, "__array__") else None


def tolerances_of(*dtypes: flambeau.dtype) -> tuple[float, float]:
    """The largest relative and the largest absolute tolerance of some dtypes."""
    each = [_TOLERANCES.get(dtype.name, (0.0, 0.0)) for dtype in dtypes]
    return max(relative for relative, _ in each), max(absolute for _, absolute in each)


def alike(got: Tensor, want: Tensor) -> tuple[Tensor, Tensor]:
    """Both as dense tensors of one dtype, on the CPU."""
    dtype = flambeau.promote_types(got.dtype, want.dtype)
    return got.to_dense().to("cpu", dtype), want.to_dense().to("cpu", dtype)


def distance(
    got: Tensor, want: Tensor, tolerances: tuple[float, float], equal_nan: bool
) -> str:
    """How values of equal shapes and dtypes differ."""
    rtol, atol = tolerances
    if got.dtype == flambeau.bool:
        close = got == want
    else:
        close = flambeau.isclose(got, want, rtol=rtol, atol=atol, equal_nan=equal_nan)
    wrong = flambeau.nonzero(~close.reshape(close.shape or (1,)))
    if len(wrong) == 0:
        return ""
    text = f"{len(wrong)} of {close.numel()} elements differ (rtol={rtol}, atol={atol})"
    path = tuple(wrong[0].tolist()) if got.ndim else ()
    where = f"; first at {path}" if path else ""
    return f"{text}{where}: got {got[path].item()}, expected {want[path].item()}"
