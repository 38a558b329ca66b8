"""Layers that compute in floats what the integers of their weights stand for."""
from flambeau.ao.nn.quantized.reference.layers import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    Embedding,
    EmbeddingBag,
    Linear,
)
from flambeau.ao.nn.quantized.reference.recurrent import GRU, LSTM, GRUCell, LSTMCell, RNNCell

__all__ = ["GRU", "LSTM", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d",
           "ConvTranspose3d", "Embedding", "EmbeddingBag", "GRUCell", "LSTMCell", "Linear",
           "RNNCell"]
