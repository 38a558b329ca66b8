"""What all transforms ask of the function that they are given."""
from __future__ import annotations

__all__ = ["expect_function"]


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
