"""Layers of integers."""
from flambeau.ao.nn.quantized import dynamic, functional
from flambeau.ao.nn.quantized.activations import (
    ELU,
    Dropout,
    Hardswish,
    LeakyReLU,
    MaxPool2d,
    PReLU,
    ReLU6,
    Sigmoid,
    Softmax,
)
from flambeau.ao.nn.quantized.between import (
    DeQuantize,
    FloatFunctional,
    FXFloatFunctional,
    QFunctional,
    Quantize,
)
from flambeau.ao.nn.quantized.conv import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from flambeau.ao.nn.quantized.embeddings import Embedding, EmbeddingBag
from flambeau.ao.nn.quantized.linear import Linear
from flambeau.ao.nn.quantized.norms import (
    BatchNorm2d,
    BatchNorm3d,
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LayerNorm,
)

__all__ = ["ELU", "BatchNorm2d", "BatchNorm3d", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d",
           "ConvTranspose2d", "ConvTranspose3d", "DeQuantize", "Dropout", "Embedding",
           "EmbeddingBag", "FXFloatFunctional", "FloatFunctional", "GroupNorm", "Hardswish",
           "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LayerNorm", "LeakyReLU", "Linear",
           "MaxPool2d", "PReLU", "QFunctional", "Quantize", "ReLU6", "Sigmoid", "Softmax",
           "dynamic", "functional"]
