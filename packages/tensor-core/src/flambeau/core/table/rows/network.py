"""Kernels of neural networks."""
from flambeau.core.table.make import kernel

_NN = ("nn",)
_BOTH = ("function", "nn")
_CONV = "Ints stride=1, Ints padding=0, Ints dilation=1, Int groups=1"
_POOL = "Ints kernel_size, Ints? stride=None, Ints padding=0, Ints dilation=1, Bool ceil_mode=False"


def _k(schema, **facts):
    facts.setdefault("out", False)
    facts.setdefault("forms", ())
    return kernel(schema, **facts)


ROWS = (
    _k(f"conv2d(Tensor input, Tensor weight, Tensor? bias=None, {_CONV})", forms=_BOTH,
       doc="Two-dimensional cross-correlation."),
    _k(f"conv2d_input_grad(Tensor grad, Tensor weight, Shape input_size, {_CONV})",
       doc="Gradient of conv2d for its input."),
    _k(f"conv2d_weight_grad(Tensor grad, Tensor input, Shape weight_size, {_CONV})",
       doc="Gradient of conv2d for its weight."),
    _k(f"conv3d(Tensor input, Tensor weight, Tensor? bias=None, {_CONV})", forms=_BOTH,
       doc="Three-dimensional cross-correlation."),
    _k(f"conv3d_input_grad(Tensor grad, Tensor weight, Shape input_size, {_CONV})",
       doc="Gradient of conv3d for its input."),
    _k(f"conv3d_weight_grad(Tensor grad, Tensor input, Shape weight_size, {_CONV})",
       doc="Gradient of conv3d for its weight."),
    _k(f"max_pool2d_with_indices(Tensor self, {_POOL}) -> (Tensor values, Tensor indices)",
       forms=_NN,
       doc="Maximum over windows, and where it was (flat index in the plane)."),
    _k(f"max_pool2d_places(Tensor self, {_POOL}) -> (Tensor values, Tensor indices)", forms=(),
       doc="The same; places are of the smallest dtype that holds those of a plane."),
    _k(f"max_pool2d_values(Tensor self, {_POOL})", forms=(),
       doc="Maximum over windows, without where it was."),
    _k("max_pool2d_grad(Tensor grad, Tensor indices, Shape input_size)",
       doc="Gradient of max_pool2d."),
    _k("avg_pool2d(Tensor self, Ints kernel_size, Ints? stride=None, Ints padding=0,"
       " Bool ceil_mode=False, Bool count_include_pad=True, Int? divisor_override=None)",
       forms=_NN, doc="Mean over windows."),
    _k("avg_pool2d_grad(Tensor grad, Shape input_size, Ints kernel_size, Ints? stride=None,"
       " Ints padding=0, Bool ceil_mode=False, Bool count_include_pad=True,"
       " Int? divisor_override=None)", doc="Gradient of avg_pool2d."),
    _k("native_layer_norm(Tensor input, Int axes, Tensor? weight=None, Tensor? bias=None,"
       " Float eps=1e-05) -> (Tensor result, Tensor mean, Tensor rstd)",
       doc="Normalizes over the last ``axes`` dimensions."),
    _k("layer_norm_grad(Tensor grad, Tensor input, Tensor mean, Tensor rstd, Tensor? weight,"
       " Int axes) -> (Tensor input, Tensor weight, Tensor bias)",
       doc="Gradients of layer_norm."),
    _k("native_batch_norm(Tensor input, Tensor? weight, Tensor? bias,"
       " Tensor(!)? running_mean, Tensor(!)? running_var, Bool training, Float momentum, Float eps)"
       " -> (Tensor result, Tensor mean, Tensor rstd)",
       doc="Normalizes each channel; updates the running statistics when training."),
    _k("batch_norm_grad(Tensor grad, Tensor input, Tensor? weight, Tensor mean, Tensor rstd,"
       " Bool training) -> (Tensor input, Tensor weight, Tensor bias)",
       doc="Gradients of batch_norm."),
    _k("amp_unscale(Tensor self, Float factor) -> (Tensor result, Tensor found)", out=True,
       differentiable=False, doc="A product, and whether a factor was infinite or nan."),
    _k("embedding_lookup(Tensor weight, Tensor indices, Int padding_idx=-1,"
       " Bool scale_grad_by_freq=False)",
       doc="Rows of a table."),
    _k("embedding_grad(Tensor grad, Tensor indices, Int num_weights, Int padding_idx=-1)",
       doc="Gradient of embedding for its table."),
    _k("nll_loss_rows(Tensor self, Tensor target, Tensor? weight=None, Int reduction=1,"
       " Int ignore_index=-100) -> (Tensor result, Tensor total_weight)",
       doc="Negative log likelihood of rows; reduction 0 none, 1 mean, 2 sum."),
    _k("nll_loss_grad(Tensor grad, Tensor self, Tensor target, Tensor? weight, Int reduction,"
       " Int ignore_index, Tensor total_weight)", doc="Gradient of nll_loss."),
    _k("attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None,"
       " Bool is_causal=False, Float? scale=None) -> (Tensor result, Tensor logsumexp)",
       doc="Scaled dot product attention in blocks; never stores the whole score matrix."),
    _k("attention_grad(Tensor grad, Tensor query, Tensor key, Tensor value, Tensor? attn_mask,"
       " Bool is_causal, Float? scale, Tensor result, Tensor logsumexp)"
       " -> (Tensor query, Tensor key, Tensor value)", doc="Gradients of attention."),
)
