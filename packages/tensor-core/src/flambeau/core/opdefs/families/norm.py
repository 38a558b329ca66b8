"""Normalization."""
from flambeau.core.opdefs.make import composite, helper, kernel

_NN = ("nn",)
_BOTH = ("function", "nn")

OPDEFS = (
    helper("native_layer_norm(Tensor input, Int axes, Tensor? weight=None, Tensor? bias=None,"
           " Float eps=1e-05) -> (Tensor result, Tensor mean, Tensor rstd)",
           doc="Normalizes over the last ``axes`` dimensions.", autocast="float32 on gpu",
           batching="rule", decomposes=True, rows="axes"),
    helper("layer_norm_grad(Tensor grad, Tensor input, Tensor mean, Tensor rstd, Tensor? weight,"
           " Int axes) -> (Tensor input, Tensor weight, Tensor bias)",
           doc="Gradients of layer_norm.", batching="rule", decomposes=True),
    helper("native_batch_norm(Tensor input, Tensor? weight, Tensor? bias,"
           " Tensor(!)? running_mean, Tensor(!)? running_var, Bool training, Float momentum,"
           " Float eps) -> (Tensor result, Tensor mean, Tensor rstd)",
           doc="Normalizes each channel; updates the running statistics when training.",
           batching="rule", decomposes=True),
    helper("batch_norm_grad(Tensor grad, Tensor input, Tensor? weight, Tensor mean, Tensor rstd,"
           " Bool training) -> (Tensor input, Tensor weight, Tensor bias)",
           doc="Gradients of batch_norm.", batching="rule", decomposes=True),
    helper("native_rms_norm(Tensor input, Int axes, Tensor? weight=None, Float eps=1e-05)"
           " -> (Tensor result, Tensor rstd)",
           doc="rms_norm over the last ``axes`` dimensions as one operator.", decomposes=True),
    helper("rms_norm_grad(Tensor grad, Tensor input, Tensor rstd, Tensor? weight, Int axes,"
           " Float eps) -> (Tensor input, Tensor weight)",
           doc="Gradients of native_rms_norm.", decomposes=True),
    composite("layer_norm(Tensor input, Shape normalized_shape, Tensor? weight=None,"
              " Tensor? bias=None, Float eps=1e-05)", forms=("function", "nn"),
              call="layer_norm", doc="Normalizes over the last dimensions.",
              autocast="float32 on gpu"),
    composite("batch_norm(Tensor input, Tensor? running_mean, Tensor? running_var,"
              " Tensor? weight=None, Tensor? bias=None, Bool training=False,"
              " Float momentum=0.1, Float eps=1e-05)", forms=_NN,
              call="batch_norm", doc="Normalizes each channel."),
    kernel("native_group_norm(Tensor input, Tensor? weight, Tensor? bias, Int num_groups,"
           " Float eps) -> (Tensor result, Tensor mean, Tensor rstd)", forms=(), out=False,
           doc="Normalizes each group of channels; statistics are [batch, groups].",
           autocast="float32 on gpu", batching="rule", decomposes=True),
    kernel("group_norm_grad(Tensor grad, Tensor input, Tensor? weight, Tensor mean, Tensor rstd,"
           " Int num_groups) -> (Tensor input, Tensor weight, Tensor bias)", forms=(), out=False,
           doc="Gradients of group_norm.", batching="rule", decomposes=True),
    composite("group_norm(Tensor input, Int num_groups, Tensor? weight=None, Tensor? bias=None,"
              " Float eps=1e-05)", forms=_BOTH,
              call="group_norm", doc="Normalizes each group of channels.",
              autocast="float32 on gpu"),
    composite("instance_norm(Tensor input, Tensor? running_mean=None, Tensor? running_var=None,"
              " Tensor? weight=None, Tensor? bias=None, Bool use_input_stats=True,"
              " Float momentum=0.1, Float eps=1e-05)", forms=_NN,
              doc="Normalizes each channel of each instance."),
    composite("rms_norm(Tensor input, Shape normalized_shape, Tensor? weight=None,"
              " Float? eps=None)", forms=_BOTH,
              call="rms_norm",
              doc="Divides by the root of the mean square over the last dimensions.",
              autocast="float32 on gpu"),
    composite("local_response_norm(Tensor input, Int size, Float alpha=0.0001, Float beta=0.75,"
              " Float k=1.0)", forms=_NN,
              doc="Divides by a power of the mean square over neighbouring channels.",
              autocast="float32 on gpu"),
    composite("normalize(Tensor input, Float p=2.0, Dims dim=(1,), Float eps=1e-12)", forms=_NN,
              out=True, call="normalize",
              doc="Divides by the p-norm over dimensions, at least ``eps``.", overlap="partial"),
)
