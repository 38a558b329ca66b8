"""What recurrent layers refuse, and in which words."""

import pytest

import flambeau
from flambeau import nn
from flambeau.nn.utils.rnn import pack_sequence

MISTAKES = {
    "dims": (lambda: nn.LSTM(3, 5)(flambeau.zeros(3)), ValueError, "2D or 3D, got 1D"),
    "features": (lambda: nn.GRU(3, 5)(flambeau.zeros(4, 2, 7)), RuntimeError, "Expected 3, got 7"),
    "dtype": (
        lambda: nn.RNN(3, 5)(flambeau.zeros(4, 2, 3, dtype=flambeau.float64)),
        ValueError,
        "does not match weight dtype",
    ),
    "no steps": (lambda: nn.RNN(3, 5)(flambeau.zeros(0, 2, 3)), RuntimeError, "at least one step"),
    "state": (
        lambda: nn.GRU(3, 5)(flambeau.zeros(4, 2, 3), flambeau.zeros(1, 3, 5)),
        RuntimeError,
        r"Expected hidden size \(1, 2, 5\), got \[1, 3, 5\]",
    ),
    "state rank": (
        lambda: nn.GRU(3, 5)(flambeau.zeros(4, 2, 3), flambeau.zeros(2, 5)),
        RuntimeError,
        "hx should also be 3-D, got 2-D",
    ),
    "one state": (
        lambda: nn.LSTM(3, 5)(flambeau.zeros(4, 2, 3), flambeau.zeros(1, 2, 5)),
        RuntimeError,
        "hx is a pair",
    ),
    "projection": (lambda: nn.GRU(3, 5, proj_size=2), ValueError, "only supported for LSTM"),
    "wide projection": (lambda: nn.LSTM(3, 5, proj_size=5), ValueError, "smaller than hidden_size"),
    "hidden": (lambda: nn.LSTM(3, 0), ValueError, "hidden_size must be greater than zero"),
    "float size": (lambda: nn.LSTM(3, 5.0), TypeError, "hidden_size should be of type int"),
    "layers": (lambda: nn.LSTM(3, 5, 0), ValueError, "num_layers must be greater"),
    "dropout": (lambda: nn.LSTM(3, 5, dropout=2), ValueError, r"in range \[0, 1\]"),
    "bias": (lambda: nn.LSTM(3, 5, 1, 1), TypeError, "bias should be of type bool"),
    "nonlinearity": (lambda: nn.RNN(3, 5, nonlinearity="gelu"), ValueError, "'tanh' or 'relu'"),
    "mode": (lambda: nn.RNNBase("MGU", 3, 5), ValueError, "Unrecognized RNN mode"),
    "cell dims": (
        lambda: nn.GRUCell(3, 5)(flambeau.zeros(1, 2, 3)),
        ValueError,
        "1D or 2D, got 3D",
    ),
    "cell features": (lambda: nn.RNNCell(3, 5)(flambeau.zeros(2, 4)), RuntimeError, "got 4, exp"),
    "cell state": (
        lambda: nn.RNNCell(3, 5)(flambeau.zeros(2, 3), flambeau.zeros(3, 5)),
        RuntimeError,
        r"needs \[2, 5\]",
    ),
    "cell pair": (
        lambda: nn.LSTMCell(3, 5)(flambeau.zeros(2, 3), flambeau.zeros(2, 5)),
        RuntimeError,
        "hx is a pair",
    ),
    "cell nonlinearity": (
        lambda: nn.RNNCell(3, 5, nonlinearity="gelu")(flambeau.zeros(2, 3)),
        RuntimeError,
        "Unknown nonlinearity: gelu",
    ),
    "packed state": (
        lambda: nn.GRU(1, 2)(pack_sequence([flambeau.zeros(3, 1)]), flambeau.zeros(1, 2, 2)),
        RuntimeError,
        "hidden size",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_mistakes(mistake):
    call, error, text = mistake
    with pytest.raises(error, match=text):
        call()
