"""Writing and reading by position, searching, and sets."""
from flambeau.core.table.make import composite, kernel

_FUNCTION = ("function",)
_SEVERAL = "tuple[Tensor, ...] if return_inverse or return_counts else Tensor"

ROWS = (
    kernel("index_copy(Tensor self, Dim dim, Tensor index, Tensor source)", inplace=True,
           doc="Writes slices of ``source`` to the slices named by an index."),
    kernel("index_fill(Tensor self, Dim dim, Tensor index, Operand value)", inplace=True,
           doc="Writes one number to the slices named by an index."),
    composite("index_reduce(Tensor self, Dim dim, Tensor index, Tensor source, Str reduce, *,"
              " Bool include_self=True)", inplace=True,
              doc="Folds slices into those named by an index: 'prod', 'mean', 'amax', 'amin'."),
    kernel("scatter_reduce(Tensor self, Dim dim, Tensor index, Tensor src, Str reduce, *,"
           " Bool include_self=True)", inplace=True,
           doc="Folds elements into the places named by an index: 'sum', 'prod', 'mean', 'amax',"
               " 'amin'."),
    composite("scatter[reduce](Tensor self, Dim dim, Tensor index, Tensor src, *, Str reduce)",
              inplace=True, call="scatter_folded",
              doc="Adds ('add') or multiplies ('multiply') into places."),
    composite("scatter[value_reduce](Tensor self, Dim dim, Tensor index, Scalar value, *,"
              " Str reduce)", inplace=True, call="scatter_folded_number",
              doc="Adds ('add') or multiplies ('multiply') a number into places."),
    kernel("masked_scatter(Tensor self, Tensor mask, Tensor source)", inplace=True,
           doc="Elements of ``source``, in order, where the mask holds."),
    composite("put(Tensor self, Tensor index, Tensor source, Bool accumulate=False)", inplace=True,
              call="put", doc="Writes elements to places of the flattened tensor."),
    composite("take(Tensor self, Tensor index)", doc="Elements of the flattened tensor."),
    composite("take_along_dim(Tensor self, Tensor indices, Dim? dim=None)",
              call="take_along_dim",
              doc="Picks along a dimension; the other dimensions broadcast."),
    composite("argwhere(Tensor self)", differentiable=False,
              doc="Indices of the non-zero elements, as rows."),
    composite("nonzero[tuple](Tensor self, *, Bool as_tuple)", differentiable=False,
              returns="tuple[Tensor, ...] if as_tuple else Tensor",
              doc="Indices of the non-zero elements; ``as_tuple``: one vector per dimension."),
    composite("where[places](Tensor condition)", forms=_FUNCTION, differentiable=False,
              returns="tuple[Tensor, ...]",
              doc="Indices of the non-zero elements, one vector per dimension."),
    kernel("searchsorted(Tensor sorted_sequence, Operand input, *, Bool out_int32=False,"
           " Bool right=False, Str? side=None, Tensor? sorter=None)", forms=_FUNCTION,
           differentiable=False, doc="Where numbers belong in sorted sequences."),
    kernel("bucketize(Operand input, Tensor boundaries, *, Bool out_int32=False,"
           " Bool right=False)", forms=_FUNCTION, differentiable=False,
           doc="Between which sorted boundaries numbers lie."),
    kernel("row_order(Tensor self)", forms=(), differentiable=False, out=False,
           doc="The order that sorts the rows of a matrix, compared from the first column; "
               "NaN is neither less nor greater than any number."),
    composite("unique(Tensor self, Bool sorted=True, Bool return_inverse=False,"
              " Bool return_counts=False, Dim? dim=None)", differentiable=False,
              returns=_SEVERAL,
              doc="The different elements or slices, sorted; also where each went and how many."),
    composite("unique_consecutive(Tensor self, Bool return_inverse=False,"
              " Bool return_counts=False, Dim? dim=None)", differentiable=False,
              returns=_SEVERAL,
              doc="Elements or slices without those that equal their predecessor."),
    kernel("isin_of(Tensor elements, Tensor test_elements)", forms=(), differentiable=False,
           out=False, doc="Whether each element is among the others, which have the same dtype."),
    composite("isin(Operand elements, Operand test_elements, *, Bool assume_unique=False,"
              " Bool invert=False)", forms=_FUNCTION, differentiable=False,
              call="isin", doc="Whether each element is among the test elements."),
    composite("segment_reduce(Tensor data, Str reduce, *, Tensor? lengths=None,"
              " Tensor? indices=None, Tensor? offsets=None, Int axis=0, Bool unsafe=False,"
              " Scalar? initial=None)", forms=("function",),
              doc="Sums, means, products or extremes of neighbouring slices; ``lengths`` says how "
                  "many make a segment, or ``offsets`` where segments begin and end."),
    composite("unravel_index(Tensor indices, Object shape) -> Tensors", forms=("function",),
              differentiable=False, doc="Flat places as one tensor of coordinates per dimension."),
)
