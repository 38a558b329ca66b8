"""Layers of integers."""
from flambeau.ao.nn.quantized import dynamic, functional, reference
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
from flambeau.ao.nn.quantized.observed import LSTM, MultiheadAttention

__all__ = ["ELU", "LSTM", "BatchNorm2d", "BatchNorm3d", "Conv1d", "Conv2d", "Conv3d",
           "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "DeQuantize", "Dropout",
           "Embedding", "EmbeddingBag", "FXFloatFunctional", "FloatFunctional", "GroupNorm",
           "Hardswish", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LayerNorm",
           "LeakyReLU", "Linear", "MaxPool2d", "MultiheadAttention", "PReLU", "QFunctional",
           "Quantize", "ReLU6", "Sigmoid", "Softmax", "dynamic", "functional", "reference"]
