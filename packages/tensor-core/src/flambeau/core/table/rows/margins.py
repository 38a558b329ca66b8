"""Losses of likelihoods, of margins and of distances."""
from flambeau.core.table.make import composite

_LEGACY = "Object size_average=None, Object reduce=None, Str reduction='mean'"


def _loss(schema, doc, call=""):
    return composite(schema, forms=("nn",), doc=doc, call=call)


ROWS = (
    # ---- likelihoods
    _loss(f"kl_div(Tensor input, Tensor target, {_LEGACY}, Bool log_target=False)",
          "Mean of ``target * (log(target) - input)``, ``input`` being logarithms."),
    _loss("poisson_nll_loss(Tensor input, Tensor target, Bool log_input=True, Bool full=False,"
          " Object size_average=None, Float eps=1e-08, Object reduce=None, Str reduction='mean')",
          "Mean of ``exp(input) - target * input``; ``full`` adds Stirling's approximation."),
    _loss("gaussian_nll_loss(Tensor input, Tensor target, Operand var, Bool full=False,"
          " Float eps=1e-06, Str reduction='mean')",
          "Mean of ``(log(var) + (input - target)**2 / var) / 2``."),
    # ---- signs
    _loss(f"soft_margin_loss(Tensor input, Tensor target, {_LEGACY})",
          "Mean of ``log(1 + exp(-target * input))``, targets being 1 or -1.",
          "soft_margin_loss"),
    _loss(f"hinge_embedding_loss(Tensor input, Tensor target, Float margin=1.0, {_LEGACY})",
          "Mean of ``input`` where the target is 1, of ``max(0, margin - input)`` where it is -1.",
          "hinge_embedding_loss"),
    _loss("margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, Float margin=0.0,"
          f" {_LEGACY})", "Mean of ``max(0, -target * (input1 - input2) + margin)``.",
          "margin_ranking_loss"),
    _loss("cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, Float margin=0.0,"
          f" {_LEGACY})",
          "Mean of ``1 - cos`` where the target is 1, of ``max(0, cos - margin)`` where it is -1."),
    # ---- classes
    _loss("multi_margin_loss(Tensor input, Tensor target, Int p=1, Float margin=1.0,"
          f" Tensor? weight=None, {_LEGACY})",
          "Mean over the classes of ``max(0, margin - input[target] + input)**p``.",
          "multi_margin_loss"),
    _loss(f"multilabel_margin_loss(Tensor input, Tensor target, {_LEGACY})",
          "Hinges between the classes that ``target`` lists before its first -1 and all others."),
    _loss("multilabel_soft_margin_loss(Tensor input, Tensor target, Tensor? weight=None,"
          f" {_LEGACY})", "Binary cross entropy of scores, mean over the classes."),
    # ---- distances
    _loss("triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, Float margin=1.0,"
          f" Float p=2.0, Float eps=1e-06, Bool swap=False, {_LEGACY})",
          "Mean of ``max(0, d(anchor, positive) - d(anchor, negative) + margin)``.",
          "triplet_margin_loss"),
    _loss("triplet_margin_with_distance_loss(Tensor anchor, Tensor positive, Tensor negative, *,"
          " Object distance_function=None, Float margin=1.0, Bool swap=False,"
          " Str reduction='mean')",
          "triplet_margin_loss with a distance of your own."),
)
