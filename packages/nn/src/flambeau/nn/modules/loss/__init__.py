"""Losses as modules: each is a function of ``functional`` with its options."""

from .binary import BCELoss, BCEWithLogitsLoss
from .classes import CrossEntropyLoss, MultiMarginLoss, NLLLoss
from .likelihood import GaussianNLLLoss, KLDivLoss, PoissonNLLLoss
from .linear_cross_entropy import LinearCrossEntropyLoss, LinearCrossEntropyOptions
from .pairs import CosineEmbeddingLoss, HingeEmbeddingLoss, MarginRankingLoss
from .regression import HuberLoss, L1Loss, MSELoss, SmoothL1Loss
from .sequences import CTCLoss
from .several_classes import MultiLabelMarginLoss, MultiLabelSoftMarginLoss, SoftMarginLoss
from .triplets import TripletMarginLoss, TripletMarginWithDistanceLoss

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "LinearCrossEntropyLoss",
    "LinearCrossEntropyOptions",
    "MSELoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]
