"""Rows whose result shares memory with their input."""
from flambeau.core.table.make import view

ROWS = (
    view("view(Tensor self, Shape size)", forms=("method",),
         doc="The same elements in another shape; the strides must allow it."),
    view("as_strided(Tensor self, Shape size, Ints stride, Int? storage_offset=None)",
         doc="A view with any geometry inside the storage."),
    view("permute(Tensor self, Dims dims)", doc="Dimensions in another order."),
    view("transpose(Tensor self, Dim dim0, Dim dim1)", aliases=("swapaxes", "swapdims"),
         doc="Two dimensions swapped."),
    view("t(Tensor self)", doc="The transpose of a matrix."),
    view("expand(Tensor self, Shape size)", forms=("method",),
         doc="Dimensions of size 1 repeated without copying."),
    view("squeeze(Tensor self, Dims? dim=None)", doc="Drops dimensions of size 1."),
    view("unsqueeze(Tensor self, Dim dim)", doc="Inserts a dimension of size 1."),
    view("select(Tensor self, Dim dim, Int index)", doc="One slice along a dimension."),
    view("slice(Tensor self, Dim dim=0, Int? start=None, Int? end=None, Int step=1)",
         forms=(), doc="A range along a dimension."),
    view("narrow(Tensor self, Dim dim, Int start, Int length)",
         doc="``length`` slices from ``start``."),
    view("diagonal(Tensor self, Int offset=0, Dim dim1=0, Dim dim2=1)",
         doc="The diagonal of two dimensions, as the last dimension."),
    view("unfold(Tensor self, Dim dimension, Int size, Int step)", forms=("method",),
         doc="Sliding windows along a dimension."),
    view("alias(Tensor self)", forms=(), doc="The same tensor as a new object."),
    view("view_as_real(Tensor self)", doc="Complex numbers as pairs of reals."),
    view("view_as_complex(Tensor self)", doc="Pairs of reals as complex numbers."),
)
