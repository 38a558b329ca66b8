"""Networks of which blocks of weights are zero: masks, and how many zeros they have over time.

Example:
    >>> from flambeau import nn
    >>> from flambeau.ao.pruning import WeightNormSparsifier
    >>> model = nn.Sequential(nn.Linear(8, 4))
    >>> sparsifier = WeightNormSparsifier(sparsity_level=0.5, sparse_block_shape=(1, 4))
    >>> sparsifier.prepare(model, [{"tensor_fqn": "0.weight"}])
    >>> sparsifier.step()
    >>> sparsifier.squash_mask()
    >>> int((model[0].weight == 0).sum())
    16
"""
from flambeau.ao.pruning.scheduler.base_scheduler import BaseScheduler
from flambeau.ao.pruning.scheduler.cubic_scheduler import CubicSL
from flambeau.ao.pruning.scheduler.lambda_scheduler import LambdaSL
from flambeau.ao.pruning.sparsifier.base_sparsifier import BaseSparsifier
from flambeau.ao.pruning.sparsifier.nearly_diagonal_sparsifier import NearlyDiagonalSparsifier
from flambeau.ao.pruning.sparsifier.utils import (
    FakeSparsity,
    fqn_to_module,
    get_arg_info_from_tensor_fqn,
    module_to_fqn,
)
from flambeau.ao.pruning.sparsifier.weight_norm_sparsifier import WeightNormSparsifier

__all__ = ["BaseScheduler", "BaseSparsifier", "CubicSL", "FakeSparsity", "LambdaSL",
           "NearlyDiagonalSparsifier", "WeightNormSparsifier", "fqn_to_module",
           "get_arg_info_from_tensor_fqn", "module_to_fqn"]
