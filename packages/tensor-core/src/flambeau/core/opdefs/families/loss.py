"""Losses."""
from flambeau.core.opdefs.make import composite, helper, kernel, pointwise

_NN = ("nn",)
_LOSS = "Str reduction='mean'"
_LEGACY = "Object size_average=None, Object reduce=None, Str reduction='mean'"


def _loss(schema, doc, call="", autocast="float32", **facts):
    return composite(schema, forms=_NN, doc=doc, call=call, autocast=autocast, **facts)


OPDEFS = (
    helper("nll_loss_rows(Tensor self, Tensor target, Tensor? weight=None, Int reduction=1,"
           " Int ignore_index=-100) -> (Tensor result, Tensor total_weight)",
           doc="Negative log likelihood of rows; reduction 0 none, 1 mean, 2 sum.", jvp="rule",
           batching="rule", raises_on_values=True),
    helper("nll_loss_grad(Tensor grad, Tensor self, Tensor target, Tensor? weight, Int reduction,"
           " Int ignore_index, Tensor total_weight)", doc="Gradient of nll_loss.", jvp="rule",
           batching="rule", raises_on_values=True, rows="classes"),
    helper("cross_entropy_rows(Tensor self, Tensor target, Tensor? weight=None, Int reduction=1,"
           " Int ignore_index=-100, Float label_smoothing=0.0) -> (Tensor result,"
           " Tensor total_weight, Tensor highest, Tensor log_total)",
           doc="cross_entropy of class numbers as one operator; of each row also the greatest score"
               " and ``log(sum(exp(scores - greatest)))``, with which gradients begin.",
           raises_on_values=True, decomposes=True),
    helper("cross_entropy_grad(Tensor self, Tensor grad, Tensor target, Tensor? weight,"
           " Int reduction, Int ignore_index, Float label_smoothing, Tensor total_weight,"
           " Tensor highest, Tensor log_total)", doc="Gradient of cross_entropy_rows.",
           raises_on_values=True, decomposes=True),
    composite("nll_loss(Tensor input, Tensor target, Tensor? weight=None,"
              " Object size_average=None, Int ignore_index=-100, Object reduce=None,"
              f" {_LOSS})", forms=_NN, call="nll_loss", doc="Negative log likelihood.",
              autocast="float32", raises_on_values=True),
    composite("cross_entropy(Tensor input, Tensor target, Tensor? weight=None,"
              " Object size_average=None, Int ignore_index=-100, Object reduce=None,"
              f" {_LOSS}, Float label_smoothing=0.0)", forms=_NN,
              call="cross_entropy", doc="Negative log likelihood of the softmax of scores.",
              autocast="float32", raises_on_values=True),
    composite("mse_loss(Tensor input, Tensor target, Object size_average=None,"
              f" Object reduce=None, {_LOSS}, Tensor? weight=None)", forms=_NN,
              call="mse_loss", doc="Mean squared error; with weights, the weighted mean.",
              autocast="float32"),
    composite("l1_loss(Tensor input, Tensor target, Object size_average=None,"
              f" Object reduce=None, {_LOSS}, Tensor? weight=None)", forms=_NN,
              call="l1_loss", doc="Mean absolute error; with weights, the weighted mean.",
              autocast="float32"),
    composite("binary_cross_entropy_with_logits(Tensor input, Tensor target,"
              " Tensor? weight=None, Object size_average=None, Object reduce=None,"
              f" {_LOSS}, Tensor? pos_weight=None)", forms=_NN,
              call="binary_cross_entropy_with_logits", doc="Binary cross entropy of scores.",
              autocast="float32"),
    pointwise("binary_cross_entropy_terms(Tensor self, Tensor target)",
              float="(target - 1) * maximum(log1p(-self), -100)"
                    " - target * maximum(log(self), -100)",
              forms=(), derive=False, domain=(0.05, 0.95),
              doc="``-(y * log(x) + (1 - y) * log(1 - x))``, logarithms at least -100."),
    kernel("check_probabilities(Tensor self)", forms=(), out=False, differentiable=False,
           doc="True; an error where an element is outside of 0 to 1.", raises_on_values=True,
           decomposes=True),
    pointwise("huber_terms(Tensor self, Tensor target, Scalar delta=1.0)",
              float="0.5 * (self - target) * (self - target) if abs(self - target) < delta"
                    " else delta * (abs(self - target) - 0.5 * delta)",
              forms=(), doc="``d**2 / 2`` where ``d = |x - y| < delta``, then a line."),
    composite("binary_cross_entropy(Tensor input, Tensor target, Tensor? weight=None,"
              f" {_LEGACY})", forms=("nn",),
              doc="Mean of ``-(y * log(x) + (1 - y) * log(1 - x))``, logarithms at least -100.",
              autocast="float32", raises_on_values=True),
    composite(f"smooth_l1_loss(Tensor input, Tensor target, {_LEGACY}, Float beta=1.0)",
              forms=("nn",),
              call="smooth_l1_loss",
              doc="Mean of ``d**2 / (2 * beta)`` where ``d = |x - y| < beta``, else of "
                  "``d - beta / 2``.", autocast="float32"),
    composite("huber_loss(Tensor input, Tensor target, Str reduction='mean', Float delta=1.0,"
              " Tensor? weight=None)", forms=("nn",),
              call="huber_loss", doc="Mean of ``d**2 / 2`` where ``d = |x - y| < delta``, else of "
                  "``delta * (d - delta / 2)``.", autocast="float32"),
    # ---- likelihoods
    _loss(f"kl_div(Tensor input, Tensor target, {_LEGACY}, Bool log_target=False)",
          "Mean of ``target * (log(target) - input)``, ``input`` being logarithms."),
    _loss("poisson_nll_loss(Tensor input, Tensor target, Bool log_input=True, Bool full=False,"
          " Object size_average=None, Float eps=1e-08, Object reduce=None, Str reduction='mean')",
          "Mean of ``exp(input) - target * input``; ``full`` adds Stirling's approximation."),
    _loss("gaussian_nll_loss(Tensor input, Tensor target, Operand var, Bool full=False,"
          " Float eps=1e-06, Str reduction='mean')",
          "Mean of ``(log(var) + (input - target)**2 / var) / 2``.", raises_on_values=True),
    # ---- signs
    _loss(f"soft_margin_loss(Tensor input, Tensor target, {_LEGACY})",
          "Mean of ``log(1 + exp(-target * input))``, targets being 1 or -1."),
    _loss(f"hinge_embedding_loss(Tensor input, Tensor target, Float margin=1.0, {_LEGACY})",
          "Mean of ``input`` where the target is 1, of ``max(0, margin - input)`` where it is -1."),
    _loss("margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, Float margin=0.0,"
          f" {_LEGACY})", "Mean of ``max(0, -target * (input1 - input2) + margin)``."),
    _loss("cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, Float margin=0.0,"
          f" {_LEGACY})",
          "Mean of ``1 - cos`` where the target is 1, of ``max(0, cos - margin)`` where it is -1."),
    # ---- classes
    _loss("multi_margin_loss(Tensor input, Tensor target, Int p=1, Float margin=1.0,"
          f" Tensor? weight=None, {_LEGACY})",
          "Mean over the classes of ``max(0, margin - input[target] + input)**p``.",
          "multi_margin_loss", raises_on_values=True),
    _loss(f"multilabel_margin_loss(Tensor input, Tensor target, {_LEGACY})",
          "Hinges between the classes that ``target`` lists before its first -1 and all others.",
          raises_on_values=True),
    _loss("multilabel_soft_margin_loss(Tensor input, Tensor target, Tensor? weight=None,"
          f" {_LEGACY})", "Binary cross entropy of scores, mean over the classes.",
          autocast=""),
    # ---- distances
    _loss("triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, Float margin=1.0,"
          f" Float p=2.0, Float eps=1e-06, Bool swap=False, {_LEGACY})",
          "Mean of ``max(0, d(anchor, positive) - d(anchor, negative) + margin)``."),
    _loss("triplet_margin_with_distance_loss(Tensor anchor, Tensor positive, Tensor negative, *,"
          " Object distance_function=None, Float margin=1.0, Bool swap=False,"
          " Str reduction='mean')",
          "triplet_margin_loss with a distance of your own.", autocast=""),
    # ---- sequences
    helper("ctc_loss_rows(Tensor log_probs, Tensor targets, Tensor input_lengths,"
           " Tensor target_lengths, Int blank=0)",
           "Negative logarithms of the probability of each target.", jvp="rule",
           raises_on_values=True, decomposes=True),
    helper("ctc_loss_grad(Tensor grad, Tensor log_probs, Tensor targets, Tensor input_lengths,"
           " Tensor target_lengths, Tensor result, Int blank)",
           "Gradient of ctc_loss for the scores before log_softmax.", raises_on_values=True,
           decomposes=True),
    composite("ctc_loss(Tensor log_probs, Tensor targets, Object input_lengths,"
              " Object target_lengths, Int blank=0, Str reduction='mean',"
              " Bool zero_infinity=False)", forms=_NN,
              doc="Negative log probability of sequences, summed over all alignments.",
              autocast="float32", raises_on_values=True),
)
