"""`torch.testing._comparison`: comparisons as objects, from which tests derive their own.

What two tensors differ in is decided by `flambeau.testing.closeness`, as for `assert_close`.
"""
from __future__ import annotations

import cmath
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

import flambeau
from flambeau.core import Tensor
from flambeau.testing import closeness


class ErrorMeta(Exception):
    """What two things differ in, and the type of the error that says so."""

    def __init__(self, type: type[Exception], msg: str, *, id: tuple[Any, ...] = ()) -> None:
        super().__init__(msg)
        self.type, self.msg, self.id = type, msg, id

    def to_error(self, msg: str | Callable[[str], str] | None = None) -> Exception:
        """The error, with a text or with what a function makes of the usual one."""
        if isinstance(msg, str):
            return self.type(msg)
        where = "".join(f"[{each!r}]" for each in self.id)
        text = self.msg + (f"\n\nThe failure occurred for item {where}" if where else "")
        return self.type(msg(text) if callable(msg) else text)


class UnsupportedInputs(Exception):
    """Raised by a pair's constructor: another kind of pair may compare these."""


def default_tolerances(*inputs: Tensor | flambeau.dtype) -> tuple[float, float]:
    """The relative and the absolute tolerance of tensors or dtypes: the largest of each."""
    return closeness.tolerances_of(
        *(each.dtype if isinstance(each, Tensor) else each for each in inputs))


def get_tolerances(*inputs: Tensor | flambeau.dtype, rtol: float | None, atol: float | None,
                   id: tuple[Any, ...] = ()) -> tuple[float, float]:
    """The tolerances that were given, or the usual ones where none was.

    Raises:
        ErrorMeta: One was given without the other.
    """
    if rtol is not None and atol is not None:
        return rtol, atol
    if rtol is None and atol is None:
        return default_tolerances(*inputs)
    raise ErrorMeta(ValueError, "Both 'rtol' and 'atol' must be either specified or omitted, "
                    f"but got no {'rtol' if rtol is None else 'atol'}.", id=id)


class Pair:
    """Two things to compare; `compare` raises ErrorMeta where they differ."""

    def __init__(self, actual: Any, expected: Any, *, id: tuple[Any, ...] = (),
                 **unknown_parameters: Any) -> None:
        self.actual, self.expected, self.id = actual, expected, id
        self._unknown_parameters = unknown_parameters

    @staticmethod
    def _inputs_not_supported() -> NoReturn:
        raise UnsupportedInputs

    @staticmethod
    def _check_inputs_isinstance(*inputs: Any, cls: type | tuple[type, ...]) -> None:
        if not all(isinstance(each, cls) for each in inputs):
            raise UnsupportedInputs

    def _fail(self, type: type[Exception], msg: str, *, id: tuple[Any, ...] = ()) -> NoReturn:
        raise ErrorMeta(type, msg, id=id or getattr(self, "id", ()))

    def compare(self) -> None:
        """Raise ErrorMeta where the two differ.

        Raises:
            NotImplementedError: The class does not say how it compares.
        """
        raise NotImplementedError(f"{type(self).__name__} has no compare(); define it")

    def extra_repr(self) -> Sequence[str | tuple[str, Any]]:
        """Names of attributes, or names and values, that are shown with the pair."""
        return []

    def __repr__(self) -> str:
        extra = [(each, getattr(self, each)) if isinstance(each, str) else each
                 for each in ("id", "actual", "expected", *self.extra_repr())]
        return "\n".join((f"{type(self).__name__}(", *(f"    {k}={v!s}," for k, v in extra), ")"))


class ObjectPair(Pair):
    """Anything, compared by `==`."""

    def compare(self) -> None:
        """Raise ErrorMeta unless the two are equal."""
        try:
            equal = self.actual == self.expected
        except Exception as error:
            text = f"{self.actual} == {self.expected} failed with:\n{error}."
            raise ErrorMeta(ValueError, text, id=self.id) from error
        if not equal:
            self._fail(AssertionError, f"{self.actual} != {self.expected}")


class NonePair(Pair):
    """None, with anything."""

    def __init__(self, actual: Any, expected: Any, **other_parameters: Any) -> None:
        if actual is not None and expected is not None:
            self._inputs_not_supported()
        super().__init__(actual, expected, **other_parameters)

    def compare(self) -> None:
        """Raise ErrorMeta unless both are None."""
        if self.actual is not self.expected:
            self._fail(AssertionError, f"None mismatch: {self.actual} is not {self.expected}")


class BooleanPair(Pair):
    """Two bools of Python's or NumPy's."""

    def __init__(self, actual: Any, expected: Any, **other_parameters: Any) -> None:
        self._check_inputs_isinstance(actual, expected, cls=(bool, np.bool_))
        super().__init__(bool(actual), bool(expected), **other_parameters)

    def compare(self) -> None:
        """Raise ErrorMeta unless both are the same."""
        if self.actual is not self.expected:
            self._fail(AssertionError,
                       f"Booleans mismatch: {self.actual} is not {self.expected}")


class NumberPair(Pair):
    """Two numbers of Python's or NumPy's."""

    _TYPE_TO_DTYPE = {int: flambeau.int64, float: flambeau.float64, complex: flambeau.complex128}

    def __init__(self, actual: Any, expected: Any, *, id: tuple[Any, ...] = (),
                 rtol: float | None = None, atol: float | None = None, equal_nan: bool = False,
                 check_dtype: bool = False, **other_parameters: Any) -> None:
        self._check_inputs_isinstance(actual, expected, cls=(int, float, complex, np.number))
        both = [each.item() if isinstance(each, np.number) else each
                for each in (actual, expected)]
        super().__init__(*both, id=id, **other_parameters)
        self.rtol, self.atol = get_tolerances(
            *(self._TYPE_TO_DTYPE[type(each)] for each in both), rtol=rtol, atol=atol, id=id)
        self.equal_nan, self.check_dtype = equal_nan, check_dtype

    def compare(self) -> None:
        """Raise ErrorMeta unless the two are close."""
        got, want = self.actual, self.expected
        if self.check_dtype and type(got) is not type(want):
            self._fail(AssertionError, f"The (d)types do not match: {type(got)} != {type(want)}.")
        if got == want or (self.equal_nan and cmath.isnan(got) and cmath.isnan(want)):
            return
        apart = abs(got - want)
        if not (cmath.isfinite(apart) and apart <= self.atol + self.rtol * abs(want)):
            self._fail(AssertionError, f"Scalars are not close: got {got}, expected {want} "
                       f"(rtol={self.rtol}, atol={self.atol})")

    def extra_repr(self) -> Sequence[str | tuple[str, Any]]:
        """Tolerances are shown, too."""
        return "rtol", "atol", "equal_nan", "check_dtype"


class TensorLikePair(Pair):
    """Two tensors, or two things of one type that become tensors."""

    def __init__(self, actual: Any, expected: Any, *, id: tuple[Any, ...] = (),
                 allow_subclasses: bool = True, rtol: float | None = None,
                 atol: float | None = None, equal_nan: bool = False,
                 check_device: bool = True, check_dtype: bool = True, check_layout: bool = True,
                 check_stride: bool = False, **other_parameters: Any) -> None:
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        if not related or not (allow_subclasses or type(actual) is type(expected)):
            self._inputs_not_supported()
        both = [self._to_tensor(each) for each in (actual, expected)]
        super().__init__(*both, id=id, **other_parameters)
        self.rtol, self.atol = get_tolerances(*both, rtol=rtol, atol=atol, id=id)
        self.equal_nan = equal_nan
        self.check_device, self.check_dtype = check_device, check_dtype
        self.check_layout, self.check_stride = check_layout, check_stride

    def _to_tensor(self, tensor_like: Any) -> Tensor:
        if isinstance(tensor_like, Tensor):
            return tensor_like
        try:
            return flambeau.as_tensor(tensor_like)
        except Exception:
            self._inputs_not_supported()

    def compare(self) -> None:
        """Raise ErrorMeta unless the two are alike and close."""
        self._compare_attributes(self.actual, self.expected)
        if "meta" not in (self.actual.device.type, self.expected.device.type):
            self._compare_values(*self._equalize_attributes(self.actual, self.expected))

    def _compare_attributes(self, actual: Tensor, expected: Tensor) -> None:
        checks = {"layout": self.check_layout, "dtype": self.check_dtype,
                  "device": self.check_device, "stride": self.check_stride}
        problem = closeness.attributes(actual, expected, checks)
        if problem:
            self._fail(AssertionError, problem)

    def _equalize_attributes(self, actual: Tensor, expected: Tensor) -> tuple[Tensor, Tensor]:
        return closeness.alike(actual, expected)

    def _compare_values(self, actual: Tensor, expected: Tensor) -> None:
        problem = closeness.distance(actual, expected, (self.rtol, self.atol), self.equal_nan)
        if problem:
            self._fail(AssertionError, f"Tensor-likes are not close!\n\n{problem}")

    def extra_repr(self) -> Sequence[str | tuple[str, Any]]:
        """Tolerances and checks are shown, too."""
        return ("rtol", "atol", "equal_nan", "check_device", "check_dtype", "check_layout",
                "check_stride")


def originate_pairs(
    actual: Any, expected: Any, *, pair_types: Sequence[type[Pair]],
    sequence_types: tuple[type, ...] = (Sequence,),
    mapping_types: tuple[type, ...] = (Mapping,), id: tuple[Any, ...] = (), **options: Any,
) -> list[Pair]:
    """The pairs of two nests, of the first of the types that takes each.

    Raises:
        ErrorMeta: The nests differ, or no type takes what is in them.
    """
    both = actual, expected
    rules = {"pair_types": pair_types, "sequence_types": sequence_types,
             "mapping_types": mapping_types, **options}
    if all(isinstance(each, sequence_types) and not isinstance(each, str) for each in both):
        if len(actual) != len(expected):
            raise ErrorMeta(AssertionError, "The length of the sequences mismatch: "
                            f"{len(actual)} != {len(expected)}", id=id)
        return list(_pairs_of(both, range(len(actual)), id, rules))
    if all(isinstance(each, mapping_types) for each in both):
        if actual.keys() != expected.keys():
            raise ErrorMeta(AssertionError, "The keys of the mappings do not match: "
                            f"{list(actual)} != {list(expected)}", id=id)
        return list(_pairs_of(both, actual.keys(), id, rules))
    for kind in pair_types:
        try:
            return [kind(actual, expected, id=id, **options)]
        except UnsupportedInputs:
            continue
    raise ErrorMeta(TypeError, "No comparison pair was able to handle inputs of type "
                    f"{type(actual)} and {type(expected)}.", id=id)


def _pairs_of(both: tuple[Any, Any], keys: Any, id: tuple[Any, ...],
              rules: dict[str, Any]) -> Iterator[Pair]:
    """The pairs of what two containers have under the same keys."""
    for key in keys:
        yield from originate_pairs(*(each[key] for each in both), id=(*id, key), **rules)


def not_close_error_metas(
    actual: Any, expected: Any, *, pair_types: Sequence[type[Pair]] = (ObjectPair,),
    **options: Any,
) -> list[ErrorMeta]:
    """What each pair of two nests differs in; empty where all agree.

    Raises:
        AssertionError: The nests differ; TypeError, ValueError: they cannot be compared.
    """
    try:
        pairs = originate_pairs(actual, expected, pair_types=pair_types, **options)
    except ErrorMeta as problem:
        raise problem.to_error() from None
    return [problem for problem in map(_problem, pairs) if problem is not None]


def _problem(pair: Pair) -> ErrorMeta | None:
    """What a pair differs in."""
    try:
        pair.compare()
    except ErrorMeta as problem:
        return problem
    return None


assert_close = flambeau.testing.assert_close
