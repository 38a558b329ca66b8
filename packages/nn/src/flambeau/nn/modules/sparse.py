"""``Embedding``."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module


class Embedding(Module):
    """A table of vectors, looked up by index: ``y = weight[x]``.

    The table starts normal with mean 0 and variance 1.

    Shapes: input ``(*)`` of integers; output ``(*, embedding_dim)``; ``weight``
    ``(num_embeddings, embedding_dim)``.

    Args:
        num_embeddings: Rows of the table.
        embedding_dim: Size of each row.
        padding_idx: A row that starts at zero and gets no gradient.
        max_norm: Rows longer than this are shortened, in the table, when they are looked up.
        norm_type: The exponent of that norm.
        scale_grad_by_freq: Divide a row's gradient by how often it was looked up.
        sparse: Only ``False``: gradients are dense.
        _weight: A table to start from.
        _freeze: Whether the table is not trained.
        device: Where the table is made.
        dtype: Its dtype.

    Raises:
        ValueError: ``padding_idx`` is not a row, or ``_weight`` has another shape.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> table = nn.Embedding.from_pretrained(flambeau.tensor([[1.0, 2.0], [3.0, 4.0]]))
        >>> table(flambeau.tensor([1, 0]))
        tensor([[3., 4.],
                [1., 2.]])
    """

    weight: Parameter

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = _resolve_padding(padding_idx, num_embeddings)
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        if _weight is None:
            table = flambeau.empty(num_embeddings, embedding_dim, device=device, dtype=dtype)
            self.weight = Parameter(table, requires_grad=not _freeze)
            self.reset_parameters()
            return
        if tuple(_weight.shape) != (num_embeddings, embedding_dim):
            raise ValueError(
                f"the table has shape {tuple(_weight.shape)}, but num_embeddings and "
                f"embedding_dim are {(num_embeddings, embedding_dim)}"
            )
        self.weight = Parameter(_weight, requires_grad=not _freeze)

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None
    ) -> Embedding:
        """Make a layer around an existing table.

        Args:
            embeddings: The table, rows by size.
            freeze: Whether the table is not trained.
            padding_idx: A row that gets no gradient.

        Raises:
            ValueError: The table does not have two dimensions.
        """
        if embeddings.ndim != 2:
            raise ValueError(
                f"from_pretrained() takes a table of two dimensions (rows, size), not "
                f"{tuple(embeddings.shape)}"
            )
        rows, size = embeddings.shape
        return cls(rows, size, padding_idx, _weight=embeddings, _freeze=freeze)

    def reset_parameters(self) -> None:
        """Draw a new table."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with flambeau.no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Tensor) -> Tensor:
        """Look up the rows that ``input`` names."""
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        for name, usual in _OPTIONS.items():
            value = getattr(self, name)
            if value != usual:
                text += f", {name}={value}"
        return text


_OPTIONS = {
    "padding_idx": None,
    "max_norm": None,
    "norm_type": 2.0,
    "scale_grad_by_freq": False,
    "sparse": False,
}


def _resolve_padding(index: int | None, rows: int) -> int | None:
    if index is None:
        return None
    if not -rows <= index < rows:
        raise ValueError(f"padding_idx {index} is not a row of a table of {rows} rows")
    return index % rows
