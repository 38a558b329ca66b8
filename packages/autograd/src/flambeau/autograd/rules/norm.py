"""Layer, RMS and batch normalization."""
from flambeau.autograd._moments import centre
from flambeau.autograd._table import rule
from flambeau.autograd.rules._compose import vjp_of
from flambeau.autograd.rules._help import not_implemented
from flambeau.core import ops
from flambeau.core.decompositions.norm import rms_norm_grad

# ---- layers ------------------------------------------------------------------------------------
rule("native_layer_norm", ("input", "weight", "bias"),
     lambda g, input, weight, result1, result2, axes:
         ops.layer_norm_grad(g, input, result1, result2, weight, axes))


def _layer_formula(axes, rstd):
    """What layer_norm_grad computes, as operators of (grad, input, weight)."""
    dims = tuple(range(-axes, 0))

    def formula(grad, input, weight):
        centred, scale = centre(input, dims, _like_kept(rstd, input, axes))
        xhat = centred * scale
        lead = tuple(range(input.ndim - axes))
        scaled = grad if weight is None else grad * weight
        return (_project(scaled, xhat, scale, dims), _sum_lead(grad * xhat, lead),
                _sum_lead(grad, lead))
    return formula


def _like_kept(t, input, axes):
    """Statistics with size 1 in the normalized dimensions."""
    return t.reshape([*input.shape[:input.ndim - axes], *[1] * axes])


def _project(g, xhat, scale, dims):
    """The gradient without its parts along the mean and along xhat."""
    inner = g - g.mean(dims, keepdim=True) - xhat * (g * xhat).mean(dims, keepdim=True)
    return scale * inner


def _sum_lead(t, lead):
    return t.sum(lead) if lead else t


rule("layer_norm_grad", ("grad", "input", "weight"),
     lambda grads, grad, input, weight, rstd, axes, needs:
         vjp_of(_layer_formula(axes, rstd), (grad, input, weight), grads, needs))

rule("native_rms_norm", ("input", "weight"),
     lambda g, input, weight, result1, axes, eps:
         ops.rms_norm_grad(g, input, result1, weight, axes, eps))
rule("rms_norm_grad", ("grad", "input", "weight"),
     lambda grads, grad, input, weight, axes, eps, needs: vjp_of(
         lambda g, x, w: rms_norm_grad(g, x, None, w, axes, eps), (grad, input, weight), grads,
         needs))

# ---- batches -----------------------------------------------------------------------------------
rule("native_batch_norm", ("input", "weight", "bias"),
     lambda g, input, weight, result1, result2, training:
         ops.batch_norm_grad(g, input, weight, result1, result2, training),
     running_mean=not_implemented("batch_norm", "running_mean"),
     running_var=not_implemented("batch_norm", "running_var"))


def _batch_formula(mean, rstd, training):
    """What batch_norm_grad computes, as operators of (grad, input, weight)."""
    def formula(grad, input, weight):
        dims = (0, *range(2, input.ndim))
        sizes = [1, -1, *[1] * (input.ndim - 2)]
        if training:
            centred, scale = centre(input, dims, rstd.reshape(sizes))
        else:
            centred, scale = input - mean.reshape(sizes), rstd.reshape(sizes)
        xhat = centred * scale
        scaled = grad if weight is None else grad * weight.reshape(sizes)
        first = _project(scaled, xhat, scale, dims) if training else scaled * scale
        return first, (grad * xhat).sum(dims), grad.sum(dims)
    return formula


rule("batch_norm_grad", ("grad", "input", "weight"),
     lambda grads, grad, input, weight, mean, rstd, training, needs:
         vjp_of(_batch_formula(mean, rstd, training), (grad, input, weight), grads, needs))

# ---- groups ------------------------------------------------------------------------------------
rule("native_group_norm", ("input", "weight", "bias"),
     lambda g, input, weight, result1, result2, num_groups:
         ops.group_norm_grad(g, input, weight, result1, result2, num_groups))


def _group_formula(rstd, groups):
    """What group_norm_grad computes, as operators of (grad, input, weight)."""
    def formula(grad, input, weight):
        channels = [1, -1, *[1] * (input.ndim - 2)]
        rows = [input.shape[0], groups, -1]
        centred, scale = centre(input.reshape(rows), (-1,), rstd.unsqueeze(-1))
        xhat = centred * scale
        scaled = grad if weight is None else grad * weight.reshape(channels)
        first = _project(scaled.reshape(rows), xhat, scale, (-1,)).reshape(input.shape)
        rest = (0, *range(2, input.ndim))
        return first, (grad * xhat.reshape(input.shape)).sum(rest), grad.sum(rest)
    return formula


rule("group_norm_grad", ("grad", "input", "weight"),
     lambda grads, grad, input, weight, rstd, num_groups, needs:
         vjp_of(_group_formula(rstd, num_groups), (grad, input, weight), grads, needs))
