"""What a nested tensor is: samples of different lengths, over dense values."""
from __future__ import annotations

from typing import Any

from flambeau.core.wrapped import Wrapped


class Nested(Wrapped):
    """Samples of different lengths in one tensor. Its memory is that of the dense ``_values``."""

    is_nested = True

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from flambeau.nested._calls import run

        return run(func, tuple(args), dict(kwargs or {}))

    def _parts(self) -> list[Any]:
        """The samples, as dense tensors."""
        raise NotImplementedError

    def values(self) -> Any:
        """All samples side by side, as a dense tensor with the same memory and history."""
        return self._values.view_as(self._values)

    def unbind(self, dim: int = 0) -> Any:
        """The samples, as views."""
        if dim not in (0, -self.ndim):
            raise RuntimeError(f"unbind(): only supported for NestedTensor on dim=0, not {dim}")
        return tuple(self._parts())

    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Any:
        """A dense tensor in which shorter samples are filled up."""
        from flambeau.nested._calls import JAGGED, STRIDED

        table = JAGGED if self.layout == "jagged" else STRIDED
        return table["to_padded_tensor"](self, padding, output_size)
