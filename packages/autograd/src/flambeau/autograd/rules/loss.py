"""Losses, and alignment of sequences."""
from flambeau.autograd._table import rule
from flambeau.autograd.rules._compose import vjp_of
from flambeau.autograd.rules._help import not_implemented
from flambeau.core import ops
from flambeau.core.decompositions.loss import cross_entropy_grad

rule("binary_cross_entropy_terms",
     self=lambda g, self, target: g * (self - target) / (self * (1 - self)).clamp_min(1e-12),
     target=lambda g, self: g * ((-self).log1p().clamp_min(-100) - self.log().clamp_min(-100)))
rule("nll_loss_rows", weight=not_implemented("nll_loss", "weight"),
     self=lambda g, self, target, weight, reduction, ignore_index, result1:
         ops.nll_loss_grad(g, self, target, weight, reduction, ignore_index, result1))
rule("nll_loss_grad", grad=lambda g, target, weight, reduction, ignore_index:
     ops.nll_loss_rows(g, target, weight, reduction, ignore_index)[0])

rule("cross_entropy_rows", weight=not_implemented("cross_entropy", "weight"),
     self=lambda g, self, target, weight, reduction, ignore_index, label_smoothing, result1,
     result2, result3: ops.cross_entropy_grad(
         self, g, target, weight, reduction, ignore_index, label_smoothing, result1, result2,
         result3))
rule("cross_entropy_grad", ("self", "grad"),
     lambda g, self, grad, target, weight, reduction, ignore_index, label_smoothing,
     total_weight, needs: vjp_of(
         lambda x, slope: (cross_entropy_grad(x, slope, target, weight, reduction, ignore_index,
                                              label_smoothing, total_weight, None, None),),
         (self, grad), (g,), needs))

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
