"""Connectionist temporal classification: the loss of aligned sequences."""
from flambeau.core import _core
from flambeau.core.composites._halves import rounded
from flambeau.core.composites.loss.losses import _code, _reduce

_op = _core.operators()


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity):
    code = _code("ctc_loss", reduction)
    alone = log_probs.ndim == 2
    if alone:
        log_probs = _op["unsqueeze"](log_probs, 1)
    if log_probs.ndim != 3:
        raise RuntimeError(f"ctc_loss(): log_probs must be [time, batch, classes] or [time, "
                           f"classes], got shape {list(log_probs.shape)}")
    inputs, wanted = _lengths(log_probs, input_lengths), _lengths(log_probs, target_lengths)
    if targets.is_floating_point():
        raise RuntimeError(f"ctc_loss(): targets must be integers, got {targets.dtype}")
    loss = _op["ctc_loss_rows"](log_probs, targets, inputs, wanted, blank)
    if zero_infinity:
        loss = _op["where"](_op["isinf"](loss), 0, loss)
    if code == 1:
        loss = _op["mean"](_op["div"](loss, _op["clamp_min"](wanted, 1).to(loss.dtype)))
        return rounded(loss, log_probs.dtype)
    loss = rounded(_reduce("ctc_loss", loss, reduction), log_probs.dtype)
    return _op["reshape"](loss, ()) if alone else loss


def _lengths(log_probs, lengths):
    """A tensor of one length for each item of the batch."""
    int64 = _core._dtype_named("int64")
    if not isinstance(lengths, _core.Tensor):
        lengths = _core.tensor(lengths, dtype=int64, device=log_probs.device)
    if lengths.is_floating_point() or lengths.dtype.name == "bool":
        raise RuntimeError(f"ctc_loss(): lengths must be integral, got {lengths.dtype}")
    return _op["reshape"](lengths.to(int64), (-1,))
