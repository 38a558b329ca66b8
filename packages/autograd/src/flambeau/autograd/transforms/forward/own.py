"""Rows whose tangents are shorter by hand."""
from __future__ import annotations

import flambeau
import flambeau.autograd.rules
from flambeau.autograd.rules._help import not_implemented
from flambeau.autograd.transforms.stack import empty_strided_at_levels
from flambeau.core import ops

__all__ = ["OWN"]


def _value(op, primals, name):
    return primals[op.params.index(name)]


# ---- views that depend on strides: a tangent may have others than its value --------------------
def _view(op, primals, tangents, results):
    return (ops.reshape(tangents[0], results[0].shape),)


def _as_strided(op, primals, tangents, results):
    x, size, stride, offset = primals
    t = _with_strides(tangents[0], x)
    if offset is not None:
        offset += t.storage_offset() - x.storage_offset()
    return (ops.as_strided(t, size, stride, offset),)


def _with_strides(tangent, like):
    if tangent.stride() == like.stride():
        return tangent
    room = empty_strided_at_levels(like.shape, like.stride(), like)
    return ops.copy_(room, tangent)


def _view_as_complex(op, primals, tangents, results):
    return (ops.view_as_complex(_with_strides(tangents[0], primals[0])),)


# ---- choices: the tangent at the positions that were picked --------------------------------------
def _picked(op, primals, tangents, results):
    """values, indices = op(self, dim, keepdim)"""
    dim, t = _value(op, primals, "dim"), tangents[0]
    keepdim = _value(op, primals, "keepdim") if "keepdim" in op.params else True
    if t.ndim == 0:
        return t, None
    if keepdim:
        return t.gather(dim, results[1]), None
    return t.gather(dim, results[1].unsqueeze(dim)).squeeze(dim), None


def _pooled(op, primals, tangents, results):
    indices = results[1]
    flat = indices.reshape(*indices.shape[:-2], -1).to(flambeau.int64)
    t = tangents[0].reshape(*tangents[0].shape[:-2], -1)
    return t.gather(-1, flat).reshape(indices.shape), None


# ---- softmax, log_softmax ------------------------------------------------------------------------
def _softmax(op, primals, tangents, results):
    """Its Jacobian is symmetric: the gradient's kernel does."""
    t = tangents[0].to(results[0].dtype)
    return (ops.softmax_grad(t, results[0], primals[1]),)


def _log_softmax(op, primals, tangents, results):
    t = tangents[0].to(results[0].dtype)
    if not t.ndim:
        return (t * 0,)
    return (t - (t * results[0].exp()).sum(primals[1], keepdim=True),)


def _logsumexp(op, primals, tangents, results):
    x, dim, keepdim = primals
    if not x.ndim:
        return (tangents[0],)
    whole = results[0] if keepdim else ops.logsumexp(x, dim, True)
    share = (x - whole).exp()
    if not isinstance(dim, (list, tuple)) or dim:
        return ((tangents[0] * share).sum(dim, keepdim=keepdim),)
    return ((tangents[0] * share).sum(keepdim=keepdim),)


# ---- losses and sampling, whose gradients are differentiable once ------------------------------
def _nll_rows(op, primals, tangents, results):
    """Linear in the log-probabilities."""
    if tangents[2] is not None:
        not_implemented("nll_loss", "weight")(tangents[2])
    return ops.nll_loss_rows(tangents[0], *primals[1:])[0], None


def _nll_grad(op, primals, tangents, results):
    """Linear in the gradient; of the log-probabilities only the shape counts."""
    if tangents[3] is not None:
        return None
    return (None,) if tangents[0] is None else (ops.nll_loss_grad(tangents[0], *primals[1:]),)


def _ctc(op, primals, tangents, results):
    """Each sample's loss depends on its own log-probabilities: one backward pass has them all."""
    log_probs, targets, lengths, target_lengths, blank = primals
    loss = results[0]
    grad = ops.ctc_loss_grad(ops.ones_like(loss), log_probs, targets, lengths, target_lengths,
                             loss, blank)
    dims = (0, 2) if log_probs.ndim == 3 else (0, 1)
    return ((grad * tangents[0]).sum(dims).reshape(loss.shape),)


def _grid_sampler(op, primals, tangents, results):
    """Linear in the input. A point of the grid moves its own element of each channel, so that
    one backward pass for each channel has all slopes."""
    x, grid, *modes = primals
    total = None if tangents[0] is None else ops.grid_sampler(tangents[0], grid, *modes)
    if tangents[1] is None:
        return (total,)
    channels = []
    for c in range(x.shape[1]):
        seed = ops.ones_like(results[0].select(1, c)).unsqueeze(1)
        slopes = ops.grid_sampler_grad(seed, x.narrow(1, c, 1), grid, *modes)[1]
        channels.append((slopes * tangents[1]).sum(-1))
    moved = ops.stack(channels, 1)
    return (moved if total is None else total + moved,)


def _filled(op, primals, tangents, results):
    """Only the filling counts."""
    t = tangents[1]
    return (ops.mul(results[0], 0) if t is None else t.to(results[0].dtype).expand(
        results[0].shape),)


def _still(op, primals, tangents, results):
    """What is drawn does not move with its parameters."""
    return tuple([ops.zeros_like(result) for result in results])


OWN = dict.fromkeys(("max.dim", "min.dim", "sort", "topk", "kthvalue", "mode", "median.dim",
                     "nanmedian.dim", "cummax", "cummin", "adaptive_max"), _picked) | {
    "max_pool2d_with_indices": _pooled, "max_pool2d_compact_indices": _pooled,
    "view": _view, "as_strided": _as_strided, "view_as_complex": _view_as_complex,
    "softmax": _softmax, "log_softmax": _log_softmax, "logsumexp": _logsumexp,
    "nll_loss_rows": _nll_rows, "nll_loss_grad": _nll_grad, "ctc_loss_rows": _ctc,
    "grid_sampler": _grid_sampler, "fill": _filled, "bernoulli": _still, "poisson": _still,
}
