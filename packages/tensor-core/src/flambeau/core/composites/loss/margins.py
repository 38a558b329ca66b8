"""Composite operators of losses of likelihoods, margins and distances."""
import math
import warnings

from flambeau.core import _core
from flambeau.core.composites._halves import in_float32, rounded, total
from flambeau.core.composites.loss.losses import _code, _reduce, _reduction
from flambeau.core.composites.loss.shapes import same_shape

_op = _core.operators()
_EPS_OF_LENGTH = 1e-12     # keeps the cosine of a zero vector finite


# ---- likelihoods


def kl_div(x, target, size_average, reduce, reduction, log_target):
    if size_average is None and reduce is None and reduction == "mean":
        warnings.warn("kl_div(): reduction='mean' divides by the number of elements; the "
                      "divergence of distributions is reduction='batchmean', which divides by the "
                      "batch size", stacklevel=1)
    reduction = _reduction("kl_div", size_average, reduce, reduction)
    same_shape("kl_div", x, target)
    for name, value in (("input", x), ("target", target)):
        if not value.is_floating_point():
            raise RuntimeError(f"kl_div(): {name} holds {value.dtype}, but probabilities "
                               "or their logarithms are needed; write .float()")
    if log_target:
        loss = _op["mul"](_op["exp"](target), _op["sub"](target, x))
    else:
        loss = _op["sub"](_op["xlogy"](target, target), _op["mul"](target, x))
    if reduction != "batchmean":
        return _reduce("kl_div", loss, reduction)
    if x.ndim == 0:
        return loss
    return rounded(_op["div"](total(loss), x.shape[0]), loss.dtype)


def poisson_nll_loss(x, target, log_input, full, size_average, eps, reduce, reduction):
    reduction = _reduction("poisson_nll_loss", size_average, reduce, reduction)
    same_shape("poisson_nll_loss", x, target)
    if log_input:
        loss = _op["sub"](_op["exp"](x), _op["mul"](target, x))
    else:
        loss = _op["sub"](x, _op["mul"](target, _op["log"](_op["add"](x, eps))))
    if full:
        loss = _op["add"](loss, _log_factorial(target))
    return _reduce("poisson_nll_loss", loss, reduction)


def _log_factorial(n):
    """Stirling's approximation of ``log(n!)``, 0 for n up to 1."""
    powers = _op["sub"](_op["mul"](n, _op["log"](n)), n)
    root = _op["mul"](_op["log"](_op["mul"](n, 2 * math.pi)), 0.5)
    return _op["where"](_op["le"](n, 1), 0, _op["add"](powers, root))


def gaussian_nll_loss(x, target, var, full, eps, reduction):
    _code("gaussian_nll_loss", reduction)
    same_shape("gaussian_nll_loss", x, target)
    if _is_negative(var):
        raise ValueError("gaussian_nll_loss(): var has negative entry/entries; pass variances, not "
                         "their logarithms")
    if _is_tensor(var):
        var = _fitting_variance(x, var)
        floor = _op["clamp_min"](var.detach(), eps)
        var = _op["add"](var, _op["sub"](floor, var.detach()))    # the gradient passes the floor
        log = _op["log"](var)
    else:
        var = max(var, eps)
        log = math.log(var)
    loss = _op["mul"](_op["add"](_op["div"](_op["square"](_op["sub"](x, target)), var), log), 0.5)
    if full:
        loss = _op["add"](loss, 0.5 * math.log(2 * math.pi))
    return _reduce("gaussian_nll_loss", loss, reduction)


def _is_tensor(value):
    return isinstance(value, _core.Tensor)


def _is_negative(var):
    """Whether a variance is less than 0; tensors without values pass."""
    if not _is_tensor(var):
        return var < 0
    if var.device.type == "meta":
        return False
    try:
        return _op["any"](_op["lt"](var, 0)).item()
    except RuntimeError as error:
        if getattr(error, "has_no_values", False):      # a trace records what follows
            return False
        raise


def _fitting_variance(x, var):
    """Variances of each element, or one for the elements along one dimension."""
    if var.shape == x.shape:
        return var
    if tuple(x.shape[:-1]) == tuple(var.shape):
        return _op["unsqueeze"](var, -1)
    if x.ndim == var.ndim:
        differing = [b for a, b in zip(x.shape, var.shape, strict=True) if a != b]
        if differing == [1]:
            return var
    raise ValueError(f"gaussian_nll_loss(): var is of incorrect size: the input has shape "
                     f"{list(x.shape)}, var {list(var.shape)}; var has the shape of the input, or "
                     "lacks its last dimension, or has size 1 in one dimension")


# ---- signs


def soft_margin_loss(x, target, size_average, reduce, reduction):
    reduction = _reduction("soft_margin_loss", size_average, reduce, reduction)
    same_shape("soft_margin_loss", x, target)
    loss = _op["neg"](_op["logsigmoid"](_op["mul"](target, x)))
    return _reduce("soft_margin_loss", loss, reduction)


def hinge_embedding_loss(x, target, margin, size_average, reduce, reduction):
    reduction = _reduction("hinge_embedding_loss", size_average, reduce, reduction)
    same_shape("hinge_embedding_loss", x, target)
    if not (x.is_floating_point() or x.is_complex()):
        margin = int(margin)        # integers stay integers, as in PyTorch
    hinge = _op["clamp_min"](_op["sub"](margin, x), 0)
    loss = _op["add"](_op["where"](_op["ne"](target, 1), hinge, 0),
                      _op["where"](_op["ne"](target, -1), x, 0))
    return _reduce("hinge_embedding_loss", loss, reduction)


def margin_ranking_loss(x1, x2, target, margin, size_average, reduce, reduction):
    reduction = _reduction("margin_ranking_loss", size_average, reduce, reduction)
    if not x1.ndim == x2.ndim == target.ndim:
        raise RuntimeError(f"margin_ranking_loss(): All input tensors should have same dimension "
                           f"but got sizes: input1: {list(x1.shape)}, input2: {list(x2.shape)}, "
                           f"target: {list(target.shape)}")
    same_shape("margin_ranking_loss", x1, x2, "input2", "input1")
    same_shape("margin_ranking_loss", x1, target, name="input1")
    # Unsigned integers wrap in the product, and then meet the margin as floats: PyTorch's order.
    loss = _op["add"](_op["mul"](target, _op["sub"](x2, x1)), margin)
    return _reduce("margin_ranking_loss", _op["clamp_min"](loss, 0), reduction)


@in_float32
def cosine_embedding_loss(x1, x2, target, margin, size_average, reduce, reduction):
    what = "cosine_embedding_loss"
    reduction = _reduction(what, size_average, reduce, reduction)
    if target.ndim > 1:
        raise RuntimeError(f"{what}(): 0D or 1D target tensor expected, multi-target not "
                           f"supported; got shape {list(target.shape)}")
    if not x1.ndim == x2.ndim == target.ndim + 1:
        raise RuntimeError(f"{what}(): with a {target.ndim}D target the inputs have one dimension "
                           f"more, got {list(x1.shape)} and {list(x2.shape)}")
    same_shape(what, x1, x2, "input2", "input1")
    dim = target.ndim
    if target.shape != x1.shape[:dim]:
        raise _core.ArgumentError(
            f"{what}(): a target for each row of the inputs is needed: the inputs have shape "
            f"{list(x1.shape)}, the target {list(target.shape)}")
    inner = _op["sum"](_op["mul"](x1, x2), dim)
    lengths = [_op["add"](_op["sum"](_op["square"](x), dim), _EPS_OF_LENGTH) for x in (x1, x2)]
    cos = _op["div"](inner, _op["sqrt"](_op["mul"](*lengths)))
    loss = _op["where"](_op["eq"](target, 1), _op["sub"](1, cos), 0)
    apart = _op["clamp_min"](_op["sub"](cos, margin), 0)
    return _reduce(what, _op["add"](loss, _op["where"](_op["eq"](target, -1), apart, 0)), reduction)


# ---- classes


def multi_margin_loss(x, target, p, margin, weight, size_average, reduce, reduction):
    what = "multi_margin_loss"
    reduction = _reduction(what, size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError(f"{what}(): only p == 1 and p == 2 supported, got {p}")
    rows, index = _class_rows(what, x, target, False)
    if weight is not None and (weight.ndim != 1 or weight.numel() != rows.shape[1]):
        raise ValueError(f"{what}(): weight must be one-dimensional, one number for each of the "
                         f"{rows.shape[1]} classes, got shape {list(weight.shape)}")
    if weight is not None and weight.dtype is not x.dtype:
        raise RuntimeError(f"{what}(): expected weight to have dtype {x.dtype}, that of the input, "
                           f"but got {weight.dtype}; write weight.to(input.dtype)")
    excess = _op["sub"](_op["add"](rows, margin), _op["gather"](rows, 1, index))
    loss = _op["relu"](excess)
    loss = loss if p == 1 else _op["square"](loss)
    if weight is not None:
        loss = _op["mul"](loss, _op["gather"](_op["expand"](weight, rows.shape), 1, index))
    loss = _op["mean"](_op["scatter"](loss, 1, index, 0), 1)
    if target.ndim == 0:
        loss = _op["reshape"](loss, ())
    return _reduce(what, loss, reduction)


def _class_rows(what, x, target, several):
    """Scores as [batch, classes], and classes as [batch, 1] (or [batch, classes])."""
    batch, classes = x.shape[0] if x.ndim == 2 else 1, x.shape[-1] if x.ndim else 1
    wanted = x.numel() if several else batch
    if x.ndim > 2 or classes == 0 or target.numel() != wanted or \
            target.ndim > (x.ndim if several else 1) or (several and target.shape != x.shape):
        targets = "as many targets as scores" if several else "one target for each row"
        raise RuntimeError(f"{what}(): inconsistent target size: expected scores of shape [batch, "
                           f"classes] or [classes] and {targets}, got {list(x.shape)} and "
                           f"{list(target.shape)}")
    return _op["reshape"](x, (batch, classes)), _op["reshape"](
        target, (batch, classes if several else 1))


def multilabel_margin_loss(x, target, size_average, reduce, reduction):
    what = "multilabel_margin_loss"
    reduction = _reduction(what, size_average, reduce, reduction)
    rows, indices = _class_rows(what, x, target, True)
    listed = _op["eq"](_op["cumsum"](_op["lt"](indices, 0), 1), 0)    # before the first -1
    indices = _op["where"](listed, indices, 0)
    hits = _op["scatter_add"](_op["zeros_like"](indices), 1, indices, listed.to(indices.dtype))
    others = _op["eq"](hits, 0)
    chosen = _op["gather"](rows, 1, indices)
    hinge = _op["relu"](_op["sub"](_op["add"](_op["unsqueeze"](rows, 1), 1),
                                   _op["unsqueeze"](chosen, 2)))
    pairs = _op["logical_and"](_op["unsqueeze"](listed, 2), _op["unsqueeze"](others, 1))
    loss = _op["div"](_op["sum"](_op["where"](pairs, hinge, 0), (1, 2)), rows.shape[1])
    return _reduce(what, _op["reshape"](loss, x.shape[:-1]), reduction)


def multilabel_soft_margin_loss(x, target, weight, size_average, reduce, reduction):
    what = "multilabel_soft_margin_loss"
    reduction = _reduction(what, size_average, reduce, reduction)
    same_shape(what, x, target)
    loss = _op["add"](_op["mul"](target, _op["logsigmoid"](x)),
                      _op["mul"](_op["sub"](1, target), _op["logsigmoid"](_op["neg"](x))))
    if weight is not None:
        loss = _op["mul"](loss, weight)
    if loss.shape == x.shape:
        return _reduce(what, _op["neg"](_op["mean"](loss, -1)), reduction)
    loss = _op["div"](_op["sum"](loss, x.ndim - 1), x.shape[-1])    # as PyTorch's broadcasts
    return _reduce(what, _op["neg"](loss), reduction)


# ---- distances


def triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, size_average, reduce,
                        reduction):
    reduction = _reduction("triplet_margin_loss", size_average, reduce, reduction)

    if anchor.ndim == positive.ndim == negative.ndim:
        same_shape("triplet_margin_loss", anchor, positive, "positive", "anchor")
        same_shape("triplet_margin_loss", anchor, negative, "negative", "anchor")

    def distance(a, b):
        return _op["norm"](_op["add"](_op["sub"](a, b), eps), p, -1)

    return _triplet("triplet_margin_loss", anchor, positive, negative, distance, margin, swap,
                    reduction)


def triplet_margin_with_distance_loss(anchor, positive, negative, distance_function, margin, swap,
                                      reduction):
    def distance(a, b):
        return _op["norm"](_op["add"](_op["sub"](a, b), 1e-6), 2, -1)

    return _triplet("triplet_margin_with_distance_loss", anchor, positive, negative,
                    distance_function or distance, margin, swap, reduction)


def _triplet(what, anchor, positive, negative, distance, margin, swap, reduction):
    _code(what, reduction)
    if margin <= 0:
        raise ValueError(f"{what}(): margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(f"{what}(): The anchor, positive, and negative tensors are expected to "
                           f"have the same number of dimensions, but got: anchor {anchor.ndim}D, "
                           f"positive {positive.ndim}D, and negative {negative.ndim}D inputs")
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = _op["minimum"](far, distance(positive, negative))
    return _reduce(what, _op["clamp_min"](_op["sub"](_op["add"](near, margin), far), 0), reduction)
