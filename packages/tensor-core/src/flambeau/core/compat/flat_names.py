"""Functions of layers under their names in ``flambeau``, whose arguments stand in another order
than those of ``flambeau.nn.functional``, as in PyTorch. Reductions are numbers; left out, there is
none, as there.
"""
from flambeau.core import _core
from flambeau.core.composites.index.embedding import bags

_op = _core.operators()
_REDUCTIONS = ("none", "mean", "sum")


def _named(what, reduction):
    """The name of a reduction given as a number."""
    if isinstance(reduction, int) and 0 <= reduction < 3:
        return _REDUCTIONS[reduction]
    raise ValueError(f"{what}(): reduction is 0 (none), 1 (mean) or 2 (sum), got {reduction!r}; "
                     f"names are taken by flambeau.nn.functional.{what}")


# ---- pools, normalization, embeddings, grids ---------------------------------------------------
def adaptive_max_pool1d(input, output_size):
    """Maxima over windows of one dimension that give the wanted size, and where they were."""
    return _op["adaptive_max_pool1d_with_indices"](input, output_size)


def max_pool1d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1,
                            ceil_mode=False):
    """Maxima over windows of one dimension, and where they were."""
    return _op["max_pool1d_with_indices"](input, kernel_size, stride or None, padding, dilation,
                                          ceil_mode)


def batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps,
               cudnn_enabled=True):
    """Normalizes each channel."""
    return _op["batch_norm"](input, running_mean, running_var, weight, bias, training, momentum,
                             eps)


def instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps,
                  cudnn_enabled=True):
    """Normalizes each channel of each instance."""
    return _op["instance_norm"](input, running_mean, running_var, weight, bias, use_input_stats,
                                momentum, eps)


def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """Rows of a table."""
    padding = None if padding_idx < 0 else padding_idx
    return _op["embedding"](indices, weight, padding, None, 2.0, scale_grad_by_freq, sparse)


def embedding_bag(weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False,
                  per_sample_weights=None, include_last_offset=False, padding_idx=None):
    """Sums (0), means (1) or maxima (2) of rows of a table, and what their gradient needs.

    Returns:
        The results; the bag of each index; indices per bag; the row of each maximum.
    """
    if not isinstance(mode, int) or not 0 <= mode < 3:
        raise ValueError(f"embedding_bag(): mode is 0 (sum), 1 (mean) or 2 (max), got {mode!r}; "
                         "names are taken by flambeau.nn.functional.embedding_bag")
    return tuple(bags(indices, weight, offsets, None, 2.0, scale_grad_by_freq,
                               ("sum", "mean", "max")[mode], sparse, per_sample_weights,
                               include_last_offset, None if padding_idx == -1 else padding_idx))


def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """Images or volumes at the points of a grid, the modes as numbers."""
    return _op["grid_sampler"](input, grid, interpolation_mode, padding_mode, align_corners)


# ---- dropout -----------------------------------------------------------------------------------
def dropout(input, p, train):
    """Zeroes elements with probability p and rescales the rest."""
    return _op["dropout"](input, p, train)


def dropout_(input, p, train):
    """``dropout``, written to the input."""
    return _op["dropout"](input, p, train, True)


#: By the number of dimensions, the first two of which count samples and channels.
_BY_CHANNELS = {2: "dropout", 3: "dropout1d", 5: "dropout3d"}


def feature_dropout(input, p, train):
    """Zeroes whole channels with probability p and rescales the rest."""
    return _op[_BY_CHANNELS.get(input.ndim, "dropout2d")](input, p, train, False)


def feature_dropout_(input, p, train):
    """``feature_dropout``, written to the input."""
    return _op[_BY_CHANNELS.get(input.ndim, "dropout2d")](input, p, train, True)


# ---- losses ------------------------------------------------------------------------------------
def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction=0):
    """Binary cross entropy of scores."""
    name = _named("binary_cross_entropy_with_logits", reduction)
    return _op["binary_cross_entropy_with_logits"](input, target, weight, None, None, name,
                                                   pos_weight)


def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=0):
    """``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1."""
    name = _named("cosine_embedding_loss", reduction)
    return _op["cosine_embedding_loss"](input1, input2, target, margin, None, None, name)


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=0,
             zero_infinity=False):
    """Negative log probability of sequences, summed over all alignments."""
    return _op["ctc_loss"](log_probs, targets, input_lengths, target_lengths, blank,
                           _named("ctc_loss", reduction), zero_infinity)


def hinge_embedding_loss(input, target, margin=1.0, reduction=0):
    """``input`` where the target is 1, ``max(0, margin - input)`` where it is -1."""
    name = _named("hinge_embedding_loss", reduction)
    return _op["hinge_embedding_loss"](input, target, margin, None, None, name)


def kl_div(input, target, reduction=0, *, log_target=False):
    """``target * (log(target) - input)``, ``input`` being logarithms."""
    return _op["kl_div"](input, target, None, None, _named("kl_div", reduction), log_target)


def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=0):
    """``max(0, -target * (input1 - input2) + margin)``."""
    name = _named("margin_ranking_loss", reduction)
    return _op["margin_ranking_loss"](input1, input2, target, margin, None, None, name)


def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    """``exp(input) - target * input``; ``full`` adds Stirling's approximation."""
    return _op["poisson_nll_loss"](input, target, log_input, full, None, eps, None,
                                   _named("poisson_nll_loss", reduction))


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False,
                        reduction=0):
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)``."""
    name = _named("triplet_margin_loss", reduction)
    return _op["triplet_margin_loss"](anchor, positive, negative, margin, p, eps, swap, None, None,
                                      name)


FUNCTIONS = {f.__name__: f for f in (  # type: dict[str, object]
    adaptive_max_pool1d, max_pool1d_with_indices, batch_norm, instance_norm, embedding,
    embedding_bag, grid_sampler, dropout, dropout_, feature_dropout, feature_dropout_,
    binary_cross_entropy_with_logits, cosine_embedding_loss, ctc_loss, hinge_embedding_loss,
    kl_div, margin_ranking_loss, poisson_nll_loss, triplet_margin_loss)}
