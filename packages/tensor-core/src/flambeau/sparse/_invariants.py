"""Whether indices of sparse tensors are checked for more than their range."""
from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any


class check_sparse_tensor_invariants:
    """A switch: whether columns of rows in compressed tensors must be sorted and distinct.

    Indices out of range and starts that fall are refused in any case.

    Example:
        >>> import flambeau
        >>> with flambeau.sparse.check_sparse_tensor_invariants():
        ...     flambeau.sparse.check_sparse_tensor_invariants.is_enabled()
        True
    """

    _enabled = False

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self._before: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Whether more is checked."""
        return check_sparse_tensor_invariants._enabled

    @staticmethod
    def enable() -> None:
        """Check from now on."""
        check_sparse_tensor_invariants._enabled = True

    @staticmethod
    def disable() -> None:
        """Check no longer."""
        check_sparse_tensor_invariants._enabled = False

    def __enter__(self) -> None:
        if self._before is not None:
            raise RuntimeError("This context manager instance is already activated: make another "
                               "one for the inner block")
        self._before = self.is_enabled()
        check_sparse_tensor_invariants._enabled = self.state

    def __exit__(self, *error: object) -> None:
        check_sparse_tensor_invariants._enabled = bool(self._before)
        self._before = None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def checked(*args: Any, **options: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **options)

        return checked
