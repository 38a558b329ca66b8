"""Joining, gathering and scattering."""
from flambeau.core.table.make import composite, kernel

ROWS = (
    kernel("cat(Tensors tensors, Dim dim=0)", forms=("function",),
           aliases=("concat", "concatenate"), doc="Joins tensors along a dimension."),
    kernel("index_select(Tensor self, Dim dim, Tensor index)",
           doc="Slices along a dimension, in the order of an index."),
    kernel("index_add(Tensor self, Dim dim, Tensor index, Tensor source, *, Scalar alpha=1)",
           inplace=True, doc="Adds slices of ``source`` to the slices named by an index."),
    kernel("gather(Tensor self, Dim dim, Tensor index)",
           doc="Picks one element along a dimension for each index."),
    composite("gather[sparse_grad](Tensor self, Dim dim, Tensor index, *, Bool sparse_grad)",
              doc="The same: the gradient is dense, whatever ``sparse_grad`` says."),
    kernel("scatter_add(Tensor self, Dim dim, Tensor index, Tensor src)", inplace=True,
           doc="Adds elements to the places named by an index."),
    kernel("scatter[src](Tensor self, Dim dim, Tensor index, Tensor src)", inplace=True,
           doc="Writes elements to the places named by an index."),
    kernel("scatter[value](Tensor self, Dim dim, Tensor index, Scalar value)", inplace=True,
           doc="Writes a number to the places named by an index."),
    kernel("index(Tensor self, Tensors indices)", forms=(), out=False,
           doc="NumPy's advanced indexing with integer tensors (None: whole dimension)."),
    kernel("index_put(Tensor self, Tensors indices, Tensor values, Bool accumulate=False)",
           forms=(), inplace=True, doc="Writes through advanced indexing with integer tensors."),
    kernel("masked_select(Tensor self, Tensor mask)", rule="dynamic",
           doc="The elements where the mask holds."),
    kernel("nonzero(Tensor self)", differentiable=False, rule="dynamic",
           doc="Indices of the non-zero elements."),
    kernel("flip(Tensor self, Dims dims)", doc="Reverses dimensions."),
    kernel("sort(Tensor self, Dim dim=-1, Bool descending=False, Bool stable=False)"
           " -> (Tensor values, Tensor indices)", doc="Sorts along a dimension."),
    kernel("topk(Tensor self, Int k, Dim dim=-1, Bool largest=True, Bool sorted=True)"
           " -> (Tensor values, Tensor indices)", doc="The k greatest or least values."),
    kernel("tril(Tensor self, Int diagonal=0)", inplace=True, doc="The lower triangle."),
    kernel("triu(Tensor self, Int diagonal=0)", inplace=True, doc="The upper triangle."),
    kernel("one_hot_rows(Tensor self, Int num_classes)", forms=(), out=False,
           differentiable=False, doc="Indices as rows of an identity matrix."),
    composite("one_hot(Tensor self, Int num_classes=-1)", forms=("nn",), differentiable=False,
              doc="Indices as rows of an identity matrix; -1 takes one more than the greatest "
                  "index as the number of classes."),
)
