"""Bags of embeddings, sampling at places of a grid, and alignment of sequences."""
from flambeau.core.table.make import composite, kernel

_NN = ("nn",)
_BOTH = ("function", "nn")
_GRID = "Int interpolation_mode, Int padding_mode, Bool align_corners"


def _k(schema, doc):
    return kernel(schema, forms=(), out=False, doc=doc)


ROWS = (
    # ---- bags
    _k("embedding_bag_rows(Tensor weight, Tensor indices, Tensor offsets,"
       " Tensor? per_sample_weights, Int mode, Bool include_last_offset, Int padding_idx,"
       " Bool scale_grad_by_freq)"
       " -> (Tensor result, Tensor bags, Tensor counts, Tensor chosen)",
       "Sums (0), means (1) or maxima (2) of rows; the bag of each index, indices per bag, and "
       "the row of each maximum."),
    composite("embedding_bag(Tensor input, Tensor weight, Tensor? offsets=None,"
              " Float? max_norm=None, Float norm_type=2.0, Bool scale_grad_by_freq=False,"
              " Str mode='mean', Bool sparse=False, Tensor? per_sample_weights=None,"
              " Bool include_last_offset=False, Int? padding_idx=None)", forms=_NN,
              doc="Sums, means or maxima of rows of a table, without storing the rows."),
    # ---- grids
    _k(f"grid_sampler(Tensor input, Tensor grid, {_GRID})",
       "The input at the places of a grid."),
    _k(f"grid_sampler_grad(Tensor grad, Tensor input, Tensor grid, {_GRID})"
       " -> (Tensor input, Tensor grid)", "Gradients of grid_sampler."),
    composite(f"grid_sampler_2d(Tensor input, Tensor grid, {_GRID})", forms=("function",),
              doc="Images at the places of a grid, the modes as numbers."),
    composite(f"grid_sampler_3d(Tensor input, Tensor grid, {_GRID})", forms=("function",),
              doc="Volumes at the places of a grid, the modes as numbers."),
    composite("grid_sample(Tensor input, Tensor grid, Str mode='bilinear',"
              " Str padding_mode='zeros', Bool? align_corners=None)", forms=_NN,
              doc="Images or volumes at the places of a grid from -1 to 1."),
    composite("affine_grid_generator(Tensor theta, Shape size, Bool align_corners)",
              forms=("function",), doc="The places that an affine map sends a grid to."),
    composite("affine_grid(Tensor theta, Shape size, Bool? align_corners=None)", forms=_NN,
              doc="The places that an affine map sends a grid to."),
    # ---- sequences
    _k("ctc_loss_rows(Tensor log_probs, Tensor targets, Tensor input_lengths,"
       " Tensor target_lengths, Int blank=0)",
       "Negative logarithms of the probability of each target."),
    _k("ctc_loss_grad(Tensor grad, Tensor log_probs, Tensor targets, Tensor input_lengths,"
       " Tensor target_lengths, Tensor result, Int blank)",
       "Gradient of ctc_loss for the scores before log_softmax."),
    composite("ctc_loss(Tensor log_probs, Tensor targets, Object input_lengths,"
              " Object target_lengths, Int blank=0, Str reduction='mean',"
              " Bool zero_infinity=False)", forms=_NN,
              doc="Negative log probability of sequences, summed over all alignments."),
)
