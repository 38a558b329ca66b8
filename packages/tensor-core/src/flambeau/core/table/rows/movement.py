"""Views in other shapes, their copies, joins, splits, borders and grids."""
from flambeau.core.table.make import composite, kernel

_FUNCTION = ("function",)
_METHOD = ("method",)
_NN = ("nn",)


def _copy(name: str, rest: str = "", returns: str = "", forms=_FUNCTION,
          call: str = "copy_of_view") -> object:
    return composite(f"{name}_copy(Tensor self{rest}){returns}", forms=forms, call=call,
                     doc=f"What {name} shows, in memory of its own.")


def _written(name: str, rest: str, call: str | None = None) -> object:
    call = f"{name}_scatter" if call is None else call
    return composite(f"{name}_scatter(Tensor self, Tensor src{rest})", call=call,
                     doc=f"A copy in which ``src`` stands where {name} looks.")


_COPIES = (
    _copy("alias"), _copy("detach", call=""), _copy("t"), _copy("view_as_real"),
    _copy("view_as_complex"),
    _copy("as_strided", ", Shape size, Ints stride, Int? storage_offset=None"),
    _copy("diagonal", ", Int offset=0, Dim dim1=0, Dim dim2=1"),
    _copy("expand", ", Shape size, *, Bool implicit=False"),
    _copy("narrow", ", Dim dim, Int start, Int length", forms=("function", "method")),
    _copy("permute", ", Dims dims"),
    _copy("select", ", Dim dim, Int index"),
    _copy("slice", ", Dim dim=0, Int? start=None, Int? end=None, Int step=1"),
    _copy("squeeze", ", Dims? dim=None"),
    _copy("transpose", ", Dim dim0, Dim dim1"),
    _copy("unfold", ", Dim dimension, Int size, Int step"),
    _copy("unsqueeze", ", Dim dim"),
    _copy("view", ", Object size", call=""),
    _copy("split", ", Object split_size, Dim dim=0", " -> Tensors", call=""),
    _copy("split_with_sizes", ", Ints split_sizes, Dim dim=0", " -> Tensors", call=""),
    _copy("unbind", ", Dim dim=0", " -> Tensors", call="unbind_copy"),
)

_SPLITS = (
    composite("split_with_sizes(Tensor self, Ints split_sizes, Dim dim=0) -> Tensors",
              doc="Pieces of given sizes along a dimension."),
    composite("unsafe_split_with_sizes(Tensor self, Ints split_sizes, Dim dim=0) -> Tensors",
              doc="Pieces of given sizes along a dimension, which may be written to."),
    composite("tensor_split(Tensor self, Object indices_or_sections, Dim dim=0) -> Tensors",
              call="tensor_split", doc="Pieces as equal as can be, or cut at given places."),
    composite("hsplit(Tensor self, Object indices_or_sections) -> Tensors",
              call="hsplit", doc="tensor_split of the columns; of a vector's elements."),
    composite("vsplit(Tensor self, Object indices_or_sections) -> Tensors",
              call="vsplit", doc="tensor_split of the rows."),
    composite("dsplit(Tensor self, Object indices_or_sections) -> Tensors",
              call="dsplit", doc="tensor_split of the third dimension."),
)


def _at_least(n: int) -> tuple:
    return (composite(f"atleast_{n}d(Tensor self)", forms=_FUNCTION,
                      doc=f"The tensor with {n} dimensions or more."),
            composite(f"atleast_{n}d[list](Tensors* tensors) -> Tensors", forms=_FUNCTION,
                      doc=f"The tensors with {n} dimensions or more each."))


_JOINS = (
    composite("hstack(Tensors tensors)", forms=_FUNCTION,
              call="hstack", doc="Joins columns; of vectors, ends."),
    composite("vstack(Tensors tensors)", forms=_FUNCTION, aliases=("row_stack",),
              call="vstack", doc="Joins rows; a vector is a row."),
    composite("dstack(Tensors tensors)", forms=_FUNCTION,
              call="dstack", doc="Joins along the third dimension."),
    composite("column_stack(Tensors tensors)", forms=_FUNCTION,
              call="column_stack", doc="Joins columns; a vector is a column."),
    composite("block_diag(Tensors* tensors)", forms=_FUNCTION,
              doc="A matrix with the given ones along its diagonal."),
    composite("broadcast_tensors(Tensors* tensors) -> Tensors", forms=_FUNCTION,
              doc="The tensors expanded to one shape."),
    composite("cartesian_prod(Tensors* tensors)", forms=_FUNCTION,
              doc="All combinations of one element from each vector, as rows."),
    composite("combinations(Tensor self, Int r=2, Bool with_replacement=False)", forms=_FUNCTION,
              doc="All choices of ``r`` elements of a vector, as rows."),
    composite("meshgrid(Tensors* tensors, *, Str? indexing=None) -> Tensors", forms=_FUNCTION,
              doc="Coordinate grids of vectors; ``indexing`` is 'ij' (the default) or 'xy'."),
)

_SHAPES = (
    composite("adjoint(Tensor self)", doc="Matrices transposed and conjugated."),
    composite("broadcast_to(Tensor self, Shape size)",
              call="broadcast_to", doc="Expanded to a shape."),
    composite("ravel(Tensor self)", call="ravel", doc="The elements in C order as a vector."),
    composite("sum_to_size(Tensor self, Shape size)", forms=_METHOD,
              call="sum_to_size", doc="Sums what broadcasting from ``size`` would repeat."),
    composite("tile(Tensor self, Shape dims)",
              call="tile", doc="Repeats a tensor along its dimensions."),
    composite("diag(Tensor self, Int diagonal=0)",
              call="diag",
              doc="A matrix with a vector on its diagonal, or the diagonal of a matrix."),
    composite("diagflat(Tensor self, Int offset=0)",
              call="diagflat", doc="A matrix with all elements on its diagonal."),
    composite("diag_embed(Tensor self, Int offset=0, Dim dim1=-2, Dim dim2=-1)",
              call="diag_embed", doc="Matrices with the last dimension on their diagonals."),
    _written("diagonal", ", Int offset=0, Dim dim1=0, Dim dim2=1"),
    _written("select", ", Dim dim, Int index"),
    _written("slice", ", Dim dim=0, Int? start=None, Int? end=None, Int step=1"),
    _written("as_strided", ", Shape size, Ints stride, Int? storage_offset=None", ""),
)

_ORDER = (
    composite("fliplr(Tensor self)", doc="Columns in reverse."),
    composite("flipud(Tensor self)", doc="Rows in reverse."),
    composite("roll(Tensor self, Ints shifts, Dims? dims=None)",
              call="roll",
              doc="Elements shifted along dimensions; what falls off returns at the other end."),
    composite("rot90(Tensor self, Int k=1, Dims dims=(0, 1))",
              call="rot90", doc="Rotated by k quarter turns in the plane of two dimensions."),
    composite("msort(Tensor self)", call="msort", doc="Sorted along the first dimension."),
    composite("repeat_interleave(Tensor self, Object repeats, Dim? dim=None, *,"
              " Int? output_size=None)", doc="Every slice repeated, one after the other."),
    composite("repeat_interleave[places](Tensor repeats, *, Int? output_size=None)",
              differentiable=False, doc="Number i, ``repeats[i]`` times."),
    kernel("repeat_places(Tensor repeats, Int total)", forms=(), differentiable=False, out=False,
           doc="Number i, ``repeats[i]`` times, ``total`` in all."),
)

_BORDERS = (
    kernel("constant_pad_nd(Tensor self, Ints pad, Scalar value=0)", forms=_FUNCTION,
           doc="A border of one number; negative widths crop."),
    kernel("pad_by(Tensor self, Ints pad, Int mode)", forms=(), out=False,
           doc="A border of the tensor's own elements: 0 reflect, 1 replicate, 2 circular."),
    kernel("pad_by_grad(Tensor grad, Ints pad, Int mode, Shape size)", forms=(), out=False,
           doc="The gradient of pad_by."),
    composite("pad(Tensor input, Ints pad, Str mode='constant', Scalar? value=None)", forms=_NN,
              doc="A border: 'constant', 'reflect', 'replicate' or 'circular'."),
    composite("pixel_shuffle(Tensor self, Int upscale_factor)", forms=("function", "nn"),
              call="pixel_shuffle", doc="Channels become finer rows and columns."),
    composite("pixel_unshuffle(Tensor self, Int downscale_factor)", forms=("function", "nn"),
              call="pixel_unshuffle", doc="Finer rows and columns become channels."),
    composite("channel_shuffle(Tensor self, Int groups)", forms=("function", "nn"),
              call="channel_shuffle", doc="Channels of several groups in turn."),
)

_MADE = (
    composite("randint_like(Tensor self, Int high, *, DType? dtype=None,"
              " Device? device=None, Bool requires_grad=False, Object memory_format=None)",
              forms=_FUNCTION, differentiable=False,
              doc="Random integers from 0 to ``high``, excluded, in the shape of another tensor."),
    composite("randint_like[low](Tensor self, Int low, Int high, *, DType? dtype=None,"
              " Device? device=None, Bool requires_grad=False, Object memory_format=None)",
              forms=_FUNCTION, differentiable=False,
              doc="Random integers from low to high, excluded, in the shape of another tensor."),
)

ROWS = (*_SHAPES, *_COPIES, *_SPLITS, *_at_least(1), *_at_least(2), *_at_least(3), *_JOINS,
        *_ORDER, *_BORDERS, *_MADE)
