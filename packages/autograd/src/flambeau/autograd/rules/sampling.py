"""Bags of embeddings, grids and alignment of sequences."""
from flambeau.autograd._engine import needs_grad, run_grad
from flambeau.autograd._table import rule
from flambeau.autograd.rules._compose import vjp_of
from flambeau.autograd.rules._grids import sampled
from flambeau.autograd.rules._help import zeros
from flambeau.autograd.rules.network import _times_looked_up
from flambeau.core import _core, ops

_MAX = 2
_NEAREST = 1


# ---- bags --------------------------------------------------------------------------------------
def _bag_table(g, weight_shape, indices, per_sample_weights, mode, padding_idx,
               scale_grad_by_freq, result1, result2, result3):
    if mode == _MAX:
        found = ops.where(result3 < 0, 0, g)
        return zeros(weight_shape, g).scatter_add(0, result3.clamp_min(0), found)
    rows = _bag_rows(g, mode, result1, result2)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    if scale_grad_by_freq:
        rows = rows / _times_looked_up(indices, weight_shape[0])
    return ops.embedding_grad(rows, indices, weight_shape[0], padding_idx)


def _bag_rows(g, mode, bags, counts):
    """The gradient of each looked up row; those in no bag get none."""
    if mode == 1:
        g = g / counts.clamp_min(1).unsqueeze(-1).to(g.dtype)
    if not g.shape[0]:
        return zeros((*bags.shape, g.shape[1]), g)
    return ops.where((bags < 0).unsqueeze(-1), 0, g.index_select(0, bags.clamp_min(0)))


def _bag_factors(g, weight, indices, mode, padding_idx, result1, result2):
    rows = _bag_rows(g, mode, result1, result2)
    factors = (rows * ops.embedding_lookup(weight, indices)).sum(-1)
    return factors if padding_idx < 0 else ops.where(indices == padding_idx, 0, factors)


rule("embedding_bag_rows", weight=_bag_table, per_sample_weights=_bag_factors)

# ---- grids -------------------------------------------------------------------------------------
rule("grid_sampler", ("input", "grid"),
     lambda g, input, grid, interpolation_mode, padding_mode, align_corners:
         ops.grid_sampler_grad(g, input, grid, interpolation_mode, padding_mode, align_corners))


def _grid_formula(modes):
    """The gradient of grid_sample, of what the same sampling is in operators."""
    def formula(grad, input, grid):
        input, grid = (x if needs_grad(x) else _core.requiring(x.detach()) for x in (input, grid))
        if modes[0] == _NEAREST:
            return *run_grad([sampled(input, grid, *modes)], [grad], [input], True, True), None
        return run_grad([sampled(input, grid, *modes)], [grad], [input, grid], True, True)
    return formula


rule("grid_sampler_grad", ("grad", "input", "grid"),
     lambda grads, grad, input, grid, interpolation_mode, padding_mode, align_corners, needs:
         vjp_of(_grid_formula((interpolation_mode, padding_mode, align_corners)),
                (grad, input, grid), (grads[0], None) if interpolation_mode == _NEAREST else grads,
                needs))

# ---- sequences ---------------------------------------------------------------------------------
# With log_softmax before it the gradient is that of the scores: the part p, which sums the
# others' gradients there, is already inside.
rule("ctc_loss_rows",
     log_probs=lambda g, log_probs, targets, input_lengths, target_lengths, blank, result:
         ops.ctc_loss_grad(g, log_probs, targets, input_lengths, target_lengths, result, blank))


def _once(name):
    def refuse(g):
        raise NotImplementedError(f"the derivative of {name}'s gradient is not implemented; leave "
                                  "out create_graph=True")
    return refuse


rule("ctc_loss_grad", grad=_once("ctc_loss"), log_probs=_once("ctc_loss"))
