"""Layers that are trained with weights rounded as they will be."""
from flambeau.ao.nn.qat import dynamic
from flambeau.ao.nn.qat.modules import Conv1d, Conv2d, Conv3d, Embedding, EmbeddingBag, Linear

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Embedding", "EmbeddingBag", "Linear", "dynamic"]
