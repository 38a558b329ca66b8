"""What losses say of the shapes of their arguments."""
import warnings

from flambeau.core import _core

#: Losses whose arguments PyTorch lets broadcast, and whether it warns.
_BROADCASTING = {
    **dict.fromkeys(("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"), True),
    **dict.fromkeys(("kl_div", "poisson_nll_loss", "gaussian_nll_loss", "hinge_embedding_loss",
                     "margin_ranking_loss", "cosine_embedding_loss", "soft_margin_loss",
                     "multilabel_soft_margin_loss", "triplet_margin_loss"), False)}
#: Those among them that write the result into what has the shape of the input.
_IN_PLACE = ("soft_margin_loss",)


def same_shape(what, x, target, role="target", name="input"):
    """Raise where two arguments of a loss differ in shape; programs of PyTorch's may broadcast."""
    if x.shape == target.shape:
        return
    if role != "weight" and _core.shown_package[0] == "torch" and what in _BROADCASTING:
        _broadcast_as_pytorch(what, x, target, role, name)
        return
    remedy = "both need the same shape"
    if x.numel() == target.numel():
        remedy += f": {role}.view_as({name}) gives it that of {name}"
    if _broadcast(x.shape, target.shape):
        remedy += (f"; to broadcast on purpose write {name}, {role} = "
                   f"flambeau.broadcast_tensors({name}, {role})")
    raise _core.ArgumentError(
        f"{what}(): {name} has shape {list(x.shape)} and {role} {list(target.shape)}, and a loss "
        f"does not broadcast silently; {remedy}")


def fits(what, x, weight, role="weight"):
    """Raise where weights do not broadcast to the shape of the terms."""
    short = x.ndim - weight.ndim
    if short < 0 or any(a not in (1, b) for a, b in zip(weight.shape, x.shape[short:],
                                                        strict=True)):
        raise _core.ArgumentError(
            f"{what}(): {role} has shape {list(weight.shape)}, which does not broadcast to that of "
            f"the input, {list(x.shape)}; give a weight for each element, or one that repeats over "
            f"the first dimensions")


def _broadcast_as_pytorch(what, x, target, role, name):
    if _BROADCASTING[what]:
        warnings.warn(
            f"Using a {role} size ({target.shape}) that is different to the {name} size "
            f"({x.shape}). This will likely lead to incorrect results due to broadcasting. Please "
            "ensure they have the same size.", stacklevel=4)
    if what in _IN_PLACE:
        fits(what, x, target, role)


def _broadcast(one, other):
    """Whether two shapes broadcast together."""
    pairs = zip(reversed(one), reversed(other), strict=False)
    return all(a == b or a == 1 or b == 1 for a, b in pairs)
