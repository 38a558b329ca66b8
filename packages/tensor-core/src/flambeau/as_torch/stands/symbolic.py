"""Questions about sizes that PyTorch's compilers leave open: here every size is a number."""
from __future__ import annotations

from typing import Any


class GuardOnDataDependentSymNode(RuntimeError):
    """Never raised here: what PyTorch raises where a branch depends on an unknown size."""


class ConstraintViolationError(RuntimeError):
    """Never raised here: what PyTorch raises where sizes are not as was said."""


def _truth(x: Any) -> bool:
    """The truth of a condition."""
    return bool(x)


guard_bool = guard_or_false = guard_or_true = guard_size_oblivious = expect_true = _truth
statically_known_true = definitely_true = _truth


def definitely_false(x: Any) -> bool:
    """Whether a condition does not hold."""
    return not x


def guard_int(x: Any) -> int:
    """A size."""
    return int(x)


def guard_float(x: Any) -> float:
    """A number."""
    return float(x)


def guard_scalar(x: Any) -> Any:
    """A number or bool, as it is."""
    return x


def hint_int(x: Any, fallback: int | None = None) -> int:
    """A size."""
    return int(x)


def has_hint(x: Any) -> bool:
    """True: every size is known."""
    return True


def is_symbolic(x: Any) -> bool:
    """False: every size is known."""
    return False


has_free_symbols = has_free_unbacked_symbols = is_symbolic


def is_concrete_int(x: Any) -> bool:
    """Whether something is an int."""
    return isinstance(x, int) and not isinstance(x, bool)


def is_concrete_bool(x: Any) -> bool:
    """Whether something is a bool."""
    return isinstance(x, bool)


def is_concrete_float(x: Any) -> bool:
    """Whether something is a float."""
    return isinstance(x, float)


def has_static_value(x: Any) -> bool:
    """True: every size is known."""
    return True


def free_symbols(x: Any) -> set[Any]:
    """The sizes that are unknown in something: none."""
    return set()


free_unbacked_symbols = free_symbols


def sym_eq(x: Any, y: Any) -> bool:
    """Whether two sizes, or lists of sizes, are equal."""
    return bool(x == y) if not isinstance(x, list | tuple) else list(x) == list(y)


def sym_or(x: Any, *others: Any) -> bool:
    """Whether one of several conditions holds."""
    return any((x, *others))


def sym_and(x: Any, *others: Any) -> bool:
    """Whether all of several conditions hold."""
    return all((x, *others))


def constrain_range(a: Any, *, min: int | None = None, max: int | None = None) -> None:
    """Raise ValueError where a number is not within bounds."""
    if (min is not None and a < min) or (max is not None and a > max):
        raise ValueError(f"constrain_range(): {a} is not between {min} and {max}")
