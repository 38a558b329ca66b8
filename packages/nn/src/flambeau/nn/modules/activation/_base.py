"""What activation functions share."""

from __future__ import annotations

from ..module import Module


class Inplace(Module):
    """An activation that may overwrite its input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""

    def _with_inplace(self, text: str) -> str:
        """The other options, and the flag where it is set."""
        return f"{text}, inplace=True" if self.inplace else text


class AlongDim(Module):
    """A function that normalizes along one dimension."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"
