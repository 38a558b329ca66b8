"""Losses of pairs of equal shape, and their terms as fused pointwise rows."""
from flambeau.core.table.make import composite, pointwise

_LEGACY = "Object size_average=None, Object reduce=None, Str reduction='mean'"

ROWS = (
    pointwise("binary_cross_entropy_terms(Tensor self, Tensor target)",
              float="(target - 1) * maximum(log1p(-self), -100)"
                    " - target * maximum(log(self), -100)",
              forms=(), derive=False, domain=(0.05, 0.95),
              doc="``-(y * log(x) + (1 - y) * log(1 - x))``, logarithms at least -100."),
    pointwise("huber_terms(Tensor self, Tensor target, Scalar delta=1.0)",
              float="0.5 * (self - target) * (self - target) if abs(self - target) < delta"
                    " else delta * (abs(self - target) - 0.5 * delta)",
              forms=(), doc="``d**2 / 2`` where ``d = |x - y| < delta``, then a line."),
    composite("binary_cross_entropy(Tensor input, Tensor target, Tensor? weight=None,"
              f" {_LEGACY})", forms=("nn",),
              doc="Mean of ``-(y * log(x) + (1 - y) * log(1 - x))``, logarithms at least -100."),
    composite(f"smooth_l1_loss(Tensor input, Tensor target, {_LEGACY}, Float beta=1.0)",
              forms=("nn",),
              call="smooth_l1_loss",
              doc="Mean of ``d**2 / (2 * beta)`` where ``d = |x - y| < beta``, else of "
                  "``d - beta / 2``."),
    composite("huber_loss(Tensor input, Tensor target, Str reduction='mean', Float delta=1.0,"
              " Tensor? weight=None)", forms=("nn",),
              call="huber_loss", doc="Mean of ``d**2 / 2`` where ``d = |x - y| < delta``, else of "
                  "``delta * (d - delta / 2)``."),
)
