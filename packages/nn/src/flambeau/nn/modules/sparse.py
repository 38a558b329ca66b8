"""``Embedding`` and ``EmbeddingBag``: tables of vectors, looked up by index."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor

from .._siblings import functional as F
from .._siblings import init
from ..parameter import Parameter
from ._sizes import check_integer
from .module import Module


class _Table(Module):
    """A table of vectors, one row for each index; it starts normal with mean 0 and variance 1."""

    weight: Parameter
    padding_idx: int | None
    sparse: bool

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        max_norm: float | None,
        norm_type: float,
        scale_grad_by_freq: bool,
        sparse: bool,
    ) -> None:
        super().__init__()
        check_integer(self, num_embeddings=num_embeddings, embedding_dim=embedding_dim)
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = _row(padding_idx, num_embeddings)
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse

    def reset_parameters(self) -> None:
        """Draw a new table."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        return text + self._settings("padding_idx", "max_norm", "norm_type", "scale_grad_by_freq",
                                     "sparse")

    def _fill_padding_idx_with_zero(self) -> None:
        """Set the row of ``padding_idx`` to zero, after a program's own initial values, say."""
        if self.padding_idx is not None:
            with flambeau.no_grad():
                self.weight[self.padding_idx].fill_(0)

    def _settings(self, *names: str) -> str:
        """The settings that are not the usual ones."""
        pairs = ((name, getattr(self, name)) for name in names)
        return "".join(f", {name}={value}" for name, value in pairs if value != _USUAL[name])

    def _set_weight(self, given: Tensor | None, frozen: bool, device: Any, dtype: Any) -> None:
        """Take the table that was given, or draw one."""
        shape = (self.num_embeddings, self.embedding_dim)
        if given is None:
            table = flambeau.empty(shape, device=device, dtype=dtype)
            self.weight = Parameter(table, requires_grad=not frozen)
            self.reset_parameters()
            return
        if tuple(given.shape) != shape:
            raise ValueError(
                f"the table has shape {tuple(given.shape)}, but num_embeddings and embedding_dim "
                f"are {shape}"
            )
        self.weight = Parameter(given, requires_grad=not frozen)


class Embedding(_Table):
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
        sparse: Whether the gradient of ``weight`` is a sparse tensor, which holds the rows that
            were looked up; for ``SGD``, ``Adagrad`` and ``SparseAdam``.
        _weight: A table to start from.
        _freeze: Whether the table is not trained.
        device: Where the table is made.
        dtype: Its dtype.

    Raises:
        AssertionError: ``padding_idx`` is not a row.
        ValueError: ``_weight`` has another shape.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> table = nn.Embedding.from_pretrained(flambeau.tensor([[1.0, 2.0], [3.0, 4.0]]))
        >>> table(flambeau.tensor([1, 0]))
        tensor([[3., 4.],
                [1., 2.]])
    """

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
        super().__init__(
            num_embeddings,
            embedding_dim,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
        )
        self._set_weight(_weight, _freeze, device, dtype)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """Make a layer around an existing table.

        Args:
            embeddings: The table, rows by size.
            freeze: Whether the table is not trained.
            padding_idx: A row that gets no gradient.
            max_norm: As in the constructor, like what follows.
            norm_type: The exponent of that norm.
            scale_grad_by_freq: Divide a row's gradient by how often it was looked up.
            sparse: Whether the gradient is a sparse tensor.

        Raises:
            ValueError: The table does not have two dimensions.
        """
        return cls(
            *_table_shape(embeddings),
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight=embeddings,
            _freeze=freeze,
        )

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


class EmbeddingBag(_Table):
    """Sums, means or maxima of bags of rows of a table, without the rows themselves.

    The table starts normal with mean 0 and variance 1. An empty bag gives zeros.

    Shapes: input ``(B, N)``: B bags of N indices; or ``(N,)`` with offsets ``(B,)``: where each
    bag begins; per_sample_weights like the input; output ``(B, embedding_dim)``; ``weight``
    ``(num_embeddings, embedding_dim)``.

    Args:
        num_embeddings: Rows of the table.
        embedding_dim: Size of each row.
        max_norm: Rows longer than this are shortened, in the table, when they are looked up.
        norm_type: The exponent of that norm.
        scale_grad_by_freq: Divide a row's gradient by how often it was looked up.
        mode: ``"sum"``, ``"mean"`` or ``"max"``.
        sparse: Whether the gradient of ``weight`` is a sparse tensor, which holds the rows that
            were looked up; for ``SGD``, ``Adagrad`` and ``SparseAdam``.
        _weight: A table to start from.
        include_last_offset: Whether offsets end with the number of indices.
        padding_idx: A row that starts at zero, is in no bag and gets no gradient.
        device: Where the table is made.
        dtype: Its dtype.

    Raises:
        AssertionError: ``padding_idx`` is not a row.
        ValueError: ``_weight`` has another shape, or ``mode`` is not known.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> table = flambeau.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        >>> bags = nn.EmbeddingBag.from_pretrained(table, mode="sum")
        >>> bags(flambeau.tensor([0, 1, 2]), flambeau.tensor([0, 2]))
        tensor([[4., 6.],
                [5., 6.]])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            num_embeddings,
            embedding_dim,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
        )
        if mode not in ("sum", "mean", "max"):
            raise ValueError(f'the mode of EmbeddingBag is "sum", "mean" or "max", not {mode!r}')
        self._set_weight(_weight, False, device, dtype)
        self.mode = mode
        self.include_last_offset = include_last_offset

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """Make a layer around an existing table.

        Args:
            embeddings: The table, rows by size.
            freeze: Whether the table is not trained.
            max_norm: As in the constructor, like what follows.
            norm_type: The exponent of that norm.
            scale_grad_by_freq: Divide a row's gradient by how often it was looked up.
            mode: ``"sum"``, ``"mean"`` or ``"max"``.
            sparse: Whether the gradient is a sparse tensor.
            include_last_offset: Whether offsets end with the number of indices.
            padding_idx: A row that is in no bag.

        Raises:
            ValueError: The table does not have two dimensions.
        """
        made = cls(
            *_table_shape(embeddings),
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            embeddings,
            include_last_offset,
            padding_idx,
        )
        made.weight.requires_grad = not freeze
        return made

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        """Reduce the bags of rows that ``input`` names."""
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        text += self._settings("max_norm", "norm_type", "scale_grad_by_freq")
        return f"{text}, mode={self.mode!r}" + self._settings("padding_idx")


_USUAL = {"padding_idx": None, "max_norm": None, "norm_type": 2.0, "scale_grad_by_freq": False,
          "sparse": False}


def _row(index: int | None, rows: int) -> int | None:
    if index is None:
        return None
    if not -rows <= index < rows:
        raise AssertionError(f"padding_idx {index} is not a row of a table of {rows} rows")
    return index % rows


def _table_shape(table: Tensor) -> tuple[int, int]:
    if table.ndim != 2:
        raise ValueError(
            "from_pretrained() takes a table of two dimensions (rows, size), not "
            f"{tuple(table.shape)}"
        )
    rows, size = table.shape
    return rows, size
