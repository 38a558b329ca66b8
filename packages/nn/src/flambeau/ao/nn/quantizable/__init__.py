"""Layers made of parts that are watched and quantized each for itself."""
from flambeau.ao.nn.quantizable.attention import MultiheadAttention
from flambeau.ao.nn.quantizable.lstm import LSTM, LSTMCell

__all__ = ["LSTM", "LSTMCell", "MultiheadAttention"]
