"""Indexing, gathering and scattering."""
from flambeau.core.opdefs.make import composite, helper, kernel

_NN = ("nn",)
_FUNCTION = ("function",)

OPDEFS = (
    kernel("index_select(Tensor self, Dim dim, Tensor index)",
           doc="Slices along a dimension, in the order of an index.", exact_out=True,
           linear="self", batching="rule", raises_on_values=True, overlap="any", any_dtype=True,
           rows="lookup"),
    kernel("index_add(Tensor self, Dim dim, Tensor index, Tensor source, *, Scalar alpha=1)",
           inplace=True, doc="Adds slices of ``source`` to the slices named by an index.",
           exact_out=True, linear="self + source", batching="rule", raises_on_values=True,
           overlap="any"),
    kernel("gather(Tensor self, Dim dim, Tensor index)",
           doc="Picks one element along a dimension for each index.", exact_out=True,
           linear="self", batching="dims", raises_on_values=True, overlap="partial"),
    composite("gather[sparse_grad](Tensor self, Dim dim, Tensor index, *, Bool sparse_grad)",
              doc="The same: the gradient is dense, whatever ``sparse_grad`` says.",
              raises_on_values=True),
    kernel("scatter_add(Tensor self, Dim dim, Tensor index, Tensor src)", inplace=True,
           doc="Adds elements where an index says.", exact_out=True,
           linear="self + src", batching="dims", raises_on_values=True, overlap="any"),
    kernel("scatter[src](Tensor self, Dim dim, Tensor index, Tensor src)", inplace=True,
           doc="Writes elements where an index says.", exact_out=True,
           linear="self + src", batching="dims", raises_on_values=True, overlap="any"),
    kernel("scatter[value](Tensor self, Dim dim, Tensor index, Scalar value)", inplace=True,
           doc="Writes a number where an index says.", exact_out=True,
           linear="self + value", batching="dims", raises_on_values=True, overlap="any"),
    kernel("index(Tensor self, Tensors indices)", forms=(), out=False,
           doc="NumPy's advanced indexing with integer tensors (None: whole dimension).",
           linear="self", batching="rule", raises_on_values=True, any_dtype=True, rows="lookup"),
    kernel("index_put(Tensor self, Tensors indices, Tensor values, Bool accumulate=False)",
           forms=(), inplace=True, doc="Writes through advanced indexing with integer tensors.",
           linear="self + values", batching="rule", raises_on_values=True, overlap="any",
           any_dtype=True),
    kernel("masked_select(Tensor self, Tensor mask)", dynamic_shape=True,
           doc="The elements where the mask holds.", exact_out=True, linear="self",
           batching="rule", overlap="partial", any_dtype=True),
    kernel("nonzero(Tensor self)", differentiable=False, dynamic_shape=True,
           doc="Indices of the non-zero elements.", exact_out=True, overlap="partial"),
    kernel("one_hot_rows(Tensor self, Int num_classes)", forms=(), out=False,
           differentiable=False, doc="Indices as rows of an identity matrix.", batching="stack",
           raises_on_values=True, decomposes=True),
    composite("one_hot(Tensor self, Int num_classes=-1)", forms=("nn",), differentiable=False,
              doc="Indices as rows of an identity matrix; -1 takes one more than the greatest "
                  "index as the number of classes.", raises_on_values=True, dynamic_shape=True),
    kernel("index_copy(Tensor self, Dim dim, Tensor index, Tensor source)", inplace=True,
           doc="Writes slices of ``source`` to the slices named by an index.", autocast="promote",
           exact_out=True, linear="self + source", batching="rule", raises_on_values=True,
           overlap="any", decomposes=True),
    kernel("index_fill(Tensor self, Dim dim, Tensor index, Operand value)", inplace=True,
           doc="Writes one number to the slices named by an index.", batching="rule",
           raises_on_values=True, overlap="any", decomposes=True),
    composite("index_reduce(Tensor self, Dim dim, Tensor index, Tensor source, Str reduce, *,"
              " Bool include_self=True)", inplace=True,
              doc="Reductions slices into those named by an index: 'prod', 'mean', 'amax', 'amin'.",
              exact_out=True, raises_on_values=True, overlap="any"),
    kernel("scatter_reduce(Tensor self, Dim dim, Tensor index, Tensor src, Str reduce, *,"
           " Bool include_self=True)", inplace=True,
           doc="Reduces elements where an index says: 'sum', 'prod', 'mean', 'amax',"
               " 'amin'.", exact_out=True, batching="dims", raises_on_values=True, overlap="any",
           decomposes=True),
    composite("scatter[reduce](Tensor self, Dim dim, Tensor index, Tensor src, *, Str reduce)",
              inplace=True, call="scatter_reduced",
              doc="Adds ('add') or multiplies ('multiply') into elements.", exact_out=True,
              raises_on_values=True, overlap="any"),
    composite("scatter[value_reduce](Tensor self, Dim dim, Tensor index, Scalar value, *,"
              " Str reduce)", inplace=True, call="scatter_reduced_number",
              doc="Adds ('add') or multiplies ('multiply') a number into elements.", exact_out=True,
              raises_on_values=True, overlap="any"),
    kernel("masked_scatter(Tensor self, Tensor mask, Tensor source)", inplace=True,
           doc="Elements of ``source``, in order, where the mask holds.", linear="self + source",
           batching="rule", raises_on_values=True, decomposes=True),
    composite("put(Tensor self, Tensor index, Tensor source, Bool accumulate=False)", inplace=True,
              call="put", doc="Writes elements by index into the flattened tensor.",
              raises_on_values=True, overlap="any"),
    composite("take(Tensor self, Tensor index)", doc="Elements of the flattened tensor.",
              exact_out=True, raises_on_values=True, overlap="any"),
    composite("take_along_dim(Tensor self, Tensor indices, Dim? dim=None)",
              call="take_along_dim",
              doc="Picks along a dimension; the other dimensions broadcast.", exact_out=True,
              raises_on_values=True),
    composite("argwhere(Tensor self)", differentiable=False,
              doc="Indices of the non-zero elements, as rows.", dynamic_shape=True),
    composite("nonzero[tuple](Tensor self, *, Bool as_tuple)", differentiable=False,
              returns="tuple[Tensor, ...] if as_tuple else Tensor",
              doc="Indices of the non-zero elements; ``as_tuple``: one vector per dimension.",
              dynamic_shape=True),
    composite("nonzero_static(Tensor self, *, Int size, Int fill_value=-1)", differentiable=False,
              doc="Indices of the first ``size`` non-zero elements, as rows; where there are "
                  "fewer, rows of ``fill_value``."),
    composite("where[indices](Tensor condition)", forms=_FUNCTION, differentiable=False,
              returns="tuple[Tensor, ...]",
              doc="Indices of the non-zero elements, one vector per dimension.", exact_out=True,
              dynamic_shape=True),
    kernel("isin_of(Tensor elements, Tensor test_elements)", forms=(), differentiable=False,
           out=False, doc="Whether each element is among the others, which have the same dtype.",
           decomposes=True),
    composite("segment_reduce(Tensor data, Str reduce, *, Tensor? lengths=None,"
              " Tensor? indices=None, Tensor? offsets=None, Int axis=0, Bool unsafe=False,"
              " Scalar? initial=None)", forms=("function",),
              doc="Sums, means, products or extremes of neighbouring slices; ``lengths`` says how "
                  "many make a segment, or ``offsets`` where segments begin and end.",
              raises_on_values=True),
    composite("unravel_index(Tensor indices, Object shape) -> Tensors", forms=("function",),
              differentiable=False, doc="Flat indices as one tensor of coordinates per dimension."),
    helper("embedding_lookup(Tensor weight, Tensor indices, Int padding_idx=-1,"
           " Bool scale_grad_by_freq=False)",
           doc="Rows of a table.", linear="weight", batching="rule", raises_on_values=True,
           decomposes=True, rows="lookup"),
    helper("embedding_grad(Tensor grad, Tensor indices, Int num_weights, Int padding_idx=-1)",
           doc="Gradient of embedding for its table.", linear="grad", batching="rule",
           raises_on_values=True),
    composite("masked_fill(Tensor self, Tensor mask, Operand value)", inplace=True,
              call="masked_fill", doc="``value`` where the mask holds.", overlap="partial"),
    composite("embedding(Tensor input, Tensor weight, Int? padding_idx=None,"
              " Float? max_norm=None, Float norm_type=2.0, Bool scale_grad_by_freq=False,"
              " Bool sparse=False)", forms=_NN, call="embedding", doc="Rows of a table.",
              raises_on_values=True),
    # ---- bags
    helper("embedding_bag_rows(Tensor weight, Tensor indices, Tensor offsets,"
           " Tensor? per_sample_weights, Int mode, Bool include_last_offset, Int padding_idx,"
           " Bool scale_grad_by_freq)"
           " -> (Tensor result, Tensor bags, Tensor counts, Tensor chosen)",
           "Sums (0), means (1) or maxima (2) of rows; the bag of each index, indices per bag, and "
           "the row of each maximum.", raises_on_values=True, decomposes=True),
    composite("embedding_bag(Tensor input, Tensor weight, Tensor? offsets=None,"
              " Float? max_norm=None, Float norm_type=2.0, Bool scale_grad_by_freq=False,"
              " Str mode='mean', Bool sparse=False, Tensor? per_sample_weights=None,"
              " Bool include_last_offset=False, Int? padding_idx=None)", forms=_NN,
              doc="Sums, means or maxima of rows of a table, without storing the rows.",
              raises_on_values=True),
)
