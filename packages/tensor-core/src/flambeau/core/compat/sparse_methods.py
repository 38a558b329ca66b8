"""Methods of Tensor that make sparse tensors, or ask for parts of them: ``x.to_sparse()``."""
from flambeau.core import _core, layouts

_COO = "sparse coordinate"
_ROWS, _COLUMNS = "sparse row compressed", "sparse column compressed"


def _conversions():
    from flambeau.sparse import _conversions  # and with it what calls with such tensors mean

    return _conversions


def to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
    """The tensor in a sparse layout, ``sparse_coo`` by default: elements that are 0 are left out.

    Args:
        sparse_dim: How many dimensions are indexed; all by default.
        layout: The sparse layout that is wanted.
        blocksize: Rows and columns of blocks.
        dense_dim: How many of the last dimensions are not indexed.
    """
    if sparse_dim is None:
        return _conversions().converted(self, layout or layouts.sparse_coo, blocksize, dense_dim)
    if layout is not None or blocksize is not None:
        raise RuntimeError("to_sparse(): sparse_dim goes with neither layout nor blocksize")
    if self.layout is layouts.strided:
        return _conversions().from_dense(self, sparse_dim)
    if sparse_dim != self.sparse_dim():
        raise RuntimeError("to_sparse(): conversion from Sparse to Sparse with sparse_dim argument "
                           "!=self.sparse_dim() is not supported; write "
                           f"x.to_dense().to_sparse({sparse_dim})")
    return _conversions().to_coo(self)


def _to(name):
    def convert(self, dense_dim=None):
        return _conversions().converted(self, getattr(layouts, name), None, dense_dim)

    return _named(convert, f"to_{name}", f"The tensor in layout ``flambeau.{name}``.")


def _to_blocks(name):
    def convert(self, blocksize, dense_dim=None):
        return _conversions().converted(self, getattr(layouts, name), blocksize, dense_dim)

    return _named(convert, f"to_{name}", f"The matrix in layout ``flambeau.{name}``, in blocks of "
                                         "``blocksize``.")


def _named(function, name, doc):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def sparse_mask(self, mask):
    """The elements where the sparse tensor ``mask`` has some, in its layout."""
    _conversions()
    from flambeau.sparse._masks import sparse_mask as masked

    return masked(self, mask)


def sparse_dim(self):
    """How many dimensions are given by indices: of a dense tensor, none."""
    return 0 if self.layout is layouts.strided else self.sparse_dim()


def dense_dim(self):
    """How many dimensions are not given by indices: of a dense tensor, all."""
    return self.ndim if self.layout is layouts.strided else self.dense_dim()


def _refusing(name, wanted, doc):
    def ask(self):
        if self.layout is not layouts.strided:      # Tensor.values(x) is x.values()
            for cls in type(self).__mro__:
                if name in vars(cls) and cls is not _core.Tensor:
                    return vars(cls)[name](self)
        raise RuntimeError(f"{name} expected {wanted} tensor layout but got {self.layout}: write "
                           "x.to_sparse() or another of the conversions first")

    return _named(ask, name, doc)


def smm(self, mat2):
    """The product of a sparse matrix and a dense one as a sparse tensor."""
    _conversions()
    from flambeau.sparse import smm as product

    return product(self, mat2)


_REFUSING = (("coalesce", _COO, "The same sparse tensor with sorted indices, each of them once."),
             ("is_coalesced", _COO, "Whether indices are sorted and occur once each."),
             ("indices", _COO, "The indices of a coalesced sparse tensor."),
             ("values", "sparse", "The stored values of a sparse tensor."),
             ("_indices", _COO, "The indices of a sparse tensor."),
             ("_values", "sparse", "The stored values of a sparse tensor, without history."),
             ("_nnz", "sparse", "How many elements or blocks a sparse tensor stores."),
             ("crow_indices", _ROWS, "Where each row starts among the values."),
             ("col_indices", _ROWS, "The column of each value."),
             ("ccol_indices", _COLUMNS, "Where each column starts among the values."),
             ("row_indices", _COLUMNS, "The row of each value."))
METHODS = {f.__name__: f for f in (  # type: dict[str, object]
    to_sparse, _to("sparse_coo"), _to("sparse_csr"), _to("sparse_csc"),
    _to_blocks("sparse_bsr"), _to_blocks("sparse_bsc"), sparse_mask, sparse_dim, dense_dim, smm,
    *[_refusing(*row) for row in _REFUSING])}
globals().update(METHODS)     # so that pickle finds those made above by their names
