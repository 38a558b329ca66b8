"""What all transforms ask of the function that they are given."""
from __future__ import annotations

__all__ = ["chosen_argnums", "expect_function"]


def expect_function(func, what: str) -> None:
    """Refuse what cannot be called when the transform is made, not when it is used.

    Args:
        func: what was given for the function.
        what: the transform, for the error.

    Raises:
        TypeError: it is not callable.
    """
    if not callable(func):
        raise TypeError(f"{what}(): argument 'func' must be a function, not "
                        f"{type(func).__name__}; write func.{what}(lambda x: ...)")


def chosen_argnums(argnums, count: int, what: str) -> list[int]:
    """The positions of the arguments to differentiate by, counted from the first."""
    if isinstance(argnums, bool) or not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"{what}: argnums must be int or Tuple[int, ...], got: {argnums!r}; "
                           "write argnums=(0, 1) for two arguments")
    if argnums == ():
        raise RuntimeError(f"{what}: argnums must be non-empty: it says by which arguments to "
                           "differentiate")
    chosen = [_argnum(n, count, what)
              for n in (argnums if isinstance(argnums, tuple) else (argnums,))]
    if len(set(chosen)) < len(chosen):
        raise RuntimeError(f"{what}: argnums elements must be unique, got {argnums} of {count} "
                           "arguments: name each argument once")
    return chosen


def _argnum(n, count, what) -> int:
    if not isinstance(n, int) or isinstance(n, bool):
        raise RuntimeError(f"{what}: argnum must be int, got: {n!r}, an element of argnums")
    if not -count <= n < count:
        raise RuntimeError(f"{what}: Got argnum={n}, but only {count} positional inputs: the "
                           "arguments to differentiate by are given by position")
    return n % count
