"""Layers with weights of integers whose inputs, floats, are rounded as they come."""
from flambeau.ao.nn.quantized.dynamic.conv import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from flambeau.ao.nn.quantized.dynamic.linear import Linear
from flambeau.ao.nn.quantized.dynamic.rnn import GRU, LSTM, GRUCell, LSTMCell, RNNCell

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d",
           "GRU", "GRUCell", "LSTM", "LSTMCell", "Linear", "RNNCell"]
