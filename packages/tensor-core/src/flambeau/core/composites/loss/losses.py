"""Composite operators of losses."""
import math

from flambeau.core import _core
from flambeau.core.composites._halves import rounded, total
from flambeau.core.composites.loss.shapes import fits, same_shape

_op = _core.operators()
_REDUCTION = {"none": 0, "mean": 1, "sum": 2}


def _code(what, reduction):
    if reduction not in _REDUCTION:
        raise ValueError(f"{what}(): {reduction} is not a valid value for reduction; it is 'none', "
                         "'mean' or 'sum'")
    return _REDUCTION[reduction]


def _reduce(what, loss, reduction):
    code = _code(what, reduction)
    return loss if code == 0 else _op["mean"](loss) if code == 1 else _op["sum"](loss)


def _reduction(what, size_average, reduce, reduction):
    """``reduction``, unless the two flags of PyTorch's first versions are used."""
    for name, flag in (("size_average", size_average), ("reduce", reduce)):
        if flag is not None and not isinstance(flag, bool):
            raise ValueError(f"{what}(): {name} is True, False or None, not {flag!r}; write "
                             "reduction='mean', 'sum' or 'none'")
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def nll_loss(x, target, weight, size_average, ignore_index, reduce, reduction):
    reduction = _reduction("nll_loss", size_average, reduce, reduction)
    code = _code("nll_loss", reduction)
    return _op["nll_loss_rows"](x, _class_numbers(target), weight, code, ignore_index)[0]


def _class_numbers(target):
    """Bytes, as PyTorch takes them, become integers that index."""
    if target.dtype.name != "uint8":
        return target
    return _op["cast"](target, _core._dtype_named("int64"))


def cross_entropy(x, target, weight, size_average, ignore_index, reduce, reduction,
                  label_smoothing):
    reduction = _reduction("cross_entropy", size_average, reduce, reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"cross_entropy(): label_smoothing must be between 0.0 and 1.0, got "
                           f"{label_smoothing}")
    dim = 0 if x.ndim == 1 else 1
    scores = _op["log_softmax"](x, dim)
    if target.is_floating_point():
        if ignore_index >= 0:
            raise RuntimeError(f"cross_entropy(): ignore_index={ignore_index} is not supported for "
                               "a floating point target, which holds probabilities of classes; "
                               "leave it out, or give class numbers")
        return _soft_cross_entropy(scores, target, weight, reduction, label_smoothing, dim)
    target = _class_numbers(target)
    # Ahead of the loss, which looks at values: compiled calls take both from one pass over scores.
    sums = total(scores, dim) if label_smoothing and weight is None else None
    loss = nll_loss(scores, target, weight, None, ignore_index, None, reduction)
    if label_smoothing == 0.0:
        return loss
    if weight is not None:
        sums = total(_op["mul"](scores, _per_class(weight, scores, dim)), dim)
    return _smoothed(sums, target, weight, ignore_index, reduction, label_smoothing, loss,
                     scores.shape[dim])


def _soft_cross_entropy(scores, target, weight, reduction, smoothing, dim):
    same_shape("cross_entropy", scores, target)
    classes = scores.shape[dim]
    if smoothing:
        target = _op["add"](_op["mul"](target, 1.0 - smoothing), _share(smoothing, classes))
    terms = _op["mul"](scores, target)
    if weight is not None:
        terms = _op["mul"](terms, _per_class(weight, scores, dim))
    loss = _op["neg"](_op["sum"](terms, dim))
    if _code("cross_entropy", reduction) == 1 and classes == 0:
        return _op["mul"](_op["sum"](loss), math.nan)
    return _reduce("cross_entropy", loss, reduction)


def _share(smoothing, classes):
    """What label smoothing gives to each class."""
    return smoothing / classes if classes else math.inf


def _per_class(weight, scores, dim):
    shape = [1] * scores.ndim
    shape[dim] = -1
    return _op["view"](weight, shape)


def _smoothed(sums, target, weight, ignore_index, reduction, smoothing, loss, classes):
    """``(1 - s) * nll + s / classes * mean over all classes``, ignored rows left out."""
    kept = _op["ne"](target, ignore_index)
    smooth = _op["where"](kept, _op["neg"](sums), 0.0)
    code = _code("cross_entropy", reduction)
    if code == 2:
        smooth = _op["sum"](smooth)
    elif code == 1:
        if weight is None or classes == 0:
            count = _op["sum"](kept, dtype=sums.dtype)
        else:
            chosen = _op["index_select"](weight, 0, _op["reshape"](
                _op["where"](kept, target, 0), (-1,)))
            count = total(_op["mul"](chosen, _op["reshape"](kept, (-1,))))
        smooth = _op["div"](_op["sum"](smooth), count)
    smooth = _op["mul"](smooth, _share(smoothing, classes))
    return rounded(_op["add"](_op["mul"](loss, 1.0 - smoothing), smooth), loss.dtype)


def mse_loss(x, target, size_average, reduce, reduction, weight):
    reduction = _reduction("mse_loss", size_average, reduce, reduction)
    same_shape("mse_loss", x, target)
    return _weighted("mse_loss", x, _op["square"](_op["sub"](x, target)), weight, reduction)


def l1_loss(x, target, size_average, reduce, reduction, weight):
    reduction = _reduction("l1_loss", size_average, reduce, reduction)
    same_shape("l1_loss", x, target)
    return _weighted("l1_loss", x, _op["abs"](_op["sub"](x, target)), weight, reduction)


def _weighted(what, x, loss, weight, reduction):
    """Reduced, each term times its weight; the mean divides by the sum of the weights."""
    if weight is None:
        return _reduce(what, loss, reduction)
    same_shape(what, x, weight, "weight")
    loss = _op["mul"](loss, weight)
    if _code(what, reduction) == 1:
        return rounded(_op["div"](total(loss), total(weight)), loss.dtype)
    return _reduce(what, loss, reduction)


def binary_cross_entropy_with_logits(x, target, weight, size_average, reduce, reduction,
                                     pos_weight):
    """``max(x, 0) - x * y + log(1 + exp(-|x|))``, with weights on the positive part."""
    what = "binary_cross_entropy_with_logits"
    reduction = _reduction(what, size_average, reduce, reduction)
    same_shape(what, x, target)
    for role, given in (("weight", weight), ("pos_weight", pos_weight)):
        if given is not None:
            fits(what, x, given, role)
    log_sigmoid = _op["logsigmoid"](x)
    if pos_weight is None:
        loss = _op["sub"](_op["mul"](_op["sub"](1, target), x), log_sigmoid)
    else:
        scale = _op["add"](_op["mul"](_op["sub"](pos_weight, 1), target), 1)
        loss = _op["sub"](_op["mul"](_op["sub"](1, target), x), _op["mul"](scale, log_sigmoid))
    if weight is not None:
        loss = _op["mul"](loss, weight)
    return _reduce(what, loss, reduction)


def binary_cross_entropy(x, target, weight, size_average, reduce, reduction):
    what = "binary_cross_entropy"
    reduction = _reduction(what, size_average, reduce, reduction)
    same_shape(what, x, target)
    loss = _op["binary_cross_entropy_terms"](x, target)
    if weight is not None:
        fits(what, x, weight)
        loss = _op["mul"](loss, weight)
    loss = _reduce(what, loss, reduction)
    if _core.may_read(loss):
        _op["check_probabilities"](x.detach())
    return loss


def smooth_l1_loss(x, target, size_average, reduce, reduction, beta):
    reduction = _reduction("smooth_l1_loss", size_average, reduce, reduction)
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss(): beta must be at least 0, not {beta}")
    same_shape("smooth_l1_loss", x, target)
    if beta == 0:
        loss = _op["abs"](_op["sub"](x, target))
    else:
        loss = _op["div"](_op["huber_terms"](x, target, beta), beta)
    return _reduce("smooth_l1_loss", loss, reduction)


def huber_loss(x, target, reduction, delta, weight):
    _code("huber_loss", reduction)
    if delta <= 0:
        raise RuntimeError(f"huber_loss(): delta must be greater than 0, not {delta}")
    same_shape("huber_loss", x, target)
    loss = _op["huber_terms"](x, target, delta)
    if weight is not None:    # the mean is over all terms here: PyTorch's, unlike mse_loss's
        same_shape("huber_loss", x, weight, "weight")
        loss = _op["mul"](loss, weight)
    return _reduce("huber_loss", loss, reduction)
