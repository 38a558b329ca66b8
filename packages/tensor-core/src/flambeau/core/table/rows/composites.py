"""Rows written in terms of other rows; their bodies are in ``core/composites``."""
from flambeau.core.table.make import composite

_NN = ("nn",)
_BOTH = ("function", "method")
_LOSS = "Str reduction='mean'"

ROWS = (
    composite("reshape(Tensor self, Shape shape)", call="reshape",
              doc="A view if possible, else a copy."),
    composite("flatten(Tensor self, Int start_dim=0, Int end_dim=-1)",
              call="flatten", doc="Merges a range of dimensions."),
    composite("unflatten(Tensor self, Dim dim, Shape sizes)",
              call="unflatten", doc="Splits a dimension into several."),
    composite("expand_as(Tensor self, Tensor other)", forms=("method",),
              call="expand_as", doc="Expanded to the shape of another tensor."),
    composite("view_as(Tensor self, Tensor other)", forms=("method",),
              call="view_as", doc="Viewed in the shape of another tensor."),
    composite("reshape_as(Tensor self, Tensor other)", forms=("method",),
              call="reshape_as", doc="Reshaped to the shape of another tensor."),
    composite("contiguous(Tensor self, *, Object memory_format=None)", forms=("method",),
              call="contiguous",
              doc="The tensor itself if its elements lie in C order, else a copy that does."),
    *(composite(f"{name}_like(Tensor self, {extra}*, DType? dtype=None, Device? device=None, "
                "Bool requires_grad=False, Object memory_format=None)", forms=("function",),
                differentiable=False, call=f"{name}_like",
                doc=f"{text} of the shape, dtype and device of another tensor.")
      for name, extra, text in (
          ("empty", "", "Uninitialized memory"), ("zeros", "", "Zeros"), ("ones", "", "Ones"),
          ("full", "Scalar fill_value, ", "One number"), ("rand", "", "Uniform random numbers"),
          ("randn", "", "Normal random numbers"))),
    composite("max(Tensor self)", call="max", doc="The greatest value."),
    composite("min(Tensor self)", call="min", doc="The least value."),
    composite("max[other](Tensor self, Tensor other)", call="max_other",
              doc="The greater of both."),
    composite("min[other](Tensor self, Tensor other)", call="min_other", doc="The lesser of both."),
    composite("equal(Tensor self, Tensor other)", differentiable=False,
              call="equal", returns="_bool",
              doc="Whether two tensors have the same shape and elements, as a Python bool."),
    composite("isclose(Tensor self, Tensor other, Float rtol=1e-05, Float atol=1e-08, "
              "Bool equal_nan=False)", differentiable=False,
              call="isclose", doc="Whether ``|self - other| <= atol + rtol * |other|``."),
    composite("allclose(Tensor self, Tensor other, Float rtol=1e-05, Float atol=1e-08, "
              "Bool equal_nan=False)", differentiable=False,
              call="allclose", returns="_bool",
              doc="Whether all elements are close, as a Python bool."),
    composite("clamp(Tensor self, Operand? min=None, Operand? max=None)", inplace=True,
              aliases=("clip",), call="clamp", doc="Restricts values to an interval."),
    composite("div[mode](Operand self, Operand other, *, Str? rounding_mode)",
              doc="Division with rounding: None, 'trunc' or 'floor'."),
    composite("stack(Tensors tensors, Dim dim=0)", forms=("function",),
              call="stack", doc="Joins tensors along a new dimension."),
    composite("split(Tensor self, Object split_size_or_sections, Dim dim=0) -> Tensors",
              call="split", doc="Pieces along a dimension."),
    composite("unsafe_split(Tensor self, Object split_size_or_sections, Dim dim=0) -> Tensors",
              call="split", doc="Pieces along a dimension, which may be written to."),
    composite("chunk(Tensor self, Int chunks, Dim dim=0) -> Tensors",
              call="chunk", doc="About equal pieces along a dimension."),
    composite("unsafe_chunk(Tensor self, Int chunks, Dim dim=0) -> Tensors", call="chunk",
              doc="About equal pieces along a dimension, which may be written to."),
    composite("unbind(Tensor self, Dim dim=0) -> Tensors", call="unbind",
              doc="All slices along a dimension."),
    composite("movedim(Tensor self, Ints source, Ints destination)", aliases=("moveaxis",),
              call="movedim", doc="Moves dimensions to other places."),
    composite("masked_fill(Tensor self, Tensor mask, Operand value)", inplace=True,
              call="masked_fill", doc="``value`` where the mask holds."),
    composite("repeat(Tensor self, Shape repeats)", forms=("method",),
              call="repeat", doc="Tiles by copying."),
    composite("argsort(Tensor self, Dim dim=-1, Bool descending=False, Bool stable=False)",
              call="argsort", doc="The order that sorts along a dimension."),
    composite("gelu(Tensor self, *, Str approximate='none')", forms=_NN,
              call="gelu", doc="``x * Phi(x)``, exact or by tanh."),
    composite("layer_norm(Tensor input, Shape normalized_shape, Tensor? weight=None,"
              " Tensor? bias=None, Float eps=1e-05)", forms=("function", "nn"),
              call="layer_norm", doc="Normalizes over the last dimensions."),
    composite("batch_norm(Tensor input, Tensor? running_mean, Tensor? running_var,"
              " Tensor? weight=None, Tensor? bias=None, Bool training=False,"
              " Float momentum=0.1, Float eps=1e-05)", forms=_NN,
              call="batch_norm", doc="Normalizes each channel."),
    composite("embedding(Tensor input, Tensor weight, Int? padding_idx=None,"
              " Float? max_norm=None, Float norm_type=2.0, Bool scale_grad_by_freq=False,"
              " Bool sparse=False)", forms=_NN, call="embedding", doc="Rows of a table."),
    composite("dropout(Tensor input, Float p=0.5, Bool training=True, Bool inplace=False)",
              forms=_NN, call="dropout",
              doc="Zeroes elements with probability p and rescales the rest."),
    composite("nll_loss(Tensor input, Tensor target, Tensor? weight=None,"
              " Object size_average=None, Int ignore_index=-100, Object reduce=None,"
              f" {_LOSS})", forms=_NN, call="nll_loss", doc="Negative log likelihood."),
    composite("cross_entropy(Tensor input, Tensor target, Tensor? weight=None,"
              " Object size_average=None, Int ignore_index=-100, Object reduce=None,"
              f" {_LOSS}, Float label_smoothing=0.0)", forms=_NN,
              call="cross_entropy", doc="Negative log likelihood of the softmax of scores."),
    composite("mse_loss(Tensor input, Tensor target, Object size_average=None,"
              f" Object reduce=None, {_LOSS}, Tensor? weight=None)", forms=_NN,
              call="mse_loss", doc="Mean squared error; with weights, the weighted mean."),
    composite("l1_loss(Tensor input, Tensor target, Object size_average=None,"
              f" Object reduce=None, {_LOSS}, Tensor? weight=None)", forms=_NN,
              call="l1_loss", doc="Mean absolute error; with weights, the weighted mean."),
    composite("binary_cross_entropy_with_logits(Tensor input, Tensor target,"
              " Tensor? weight=None, Object size_average=None, Object reduce=None,"
              f" {_LOSS}, Tensor? pos_weight=None)", forms=_NN,
              call="binary_cross_entropy_with_logits", doc="Binary cross entropy of scores."),
    composite("scaled_dot_product_attention(Tensor query, Tensor key, Tensor value,"
              " Tensor? attn_mask=None, Float dropout_p=0.0, Bool is_causal=False, *,"
              " Float? scale=None, Bool enable_gqa=False)", forms=_NN,
              call="scaled_dot_product_attention",
              doc="``softmax(query @ key.T * scale) @ value``."),
)
