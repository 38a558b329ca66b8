"""Recurrent layers against PyTorch: same weights, outputs, states, gradients, names and draws."""

import inspect

import numpy as np
import pytest

import flambeau
from flambeau import nn
from flambeau.nn.utils import rnn

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.filterwarnings("ignore:LSTM with projections is not supported"),
]

TOLERANCES = {"float32": 2e-5, "float64": 1e-11}


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def ours(tensor):
    return flambeau.tensor(tensor.detach().numpy())


def close(mine, theirs, tolerance):
    np.testing.assert_allclose(
        mine.detach().numpy(), theirs.detach().numpy(), rtol=tolerance, atol=tolerance
    )


def tensors(value):
    """All tensors of nested results, of packed sequences the data."""
    if isinstance(value, (tuple, list)):
        value = value[:1] if type(value).__name__ == "PackedSequence" else value
        return [t for part in value for t in tensors(part)]
    return [value]


MODULES = {
    "lstm": ("LSTM", {}),
    "gru": ("GRU", {}),
    "tanh": ("RNN", {}),
    "relu": ("RNN", {"nonlinearity": "relu"}),
    "projection": ("LSTM", {"proj_size": 3}),
}
OPTIONS = {
    "plain": {},
    "all": {"num_layers": 2, "bidirectional": True, "batch_first": True},
    "dropout": {"num_layers": 3, "dropout": 0.0, "bias": False},
}


def pair(torch, kind, options, dtype, features=5, hidden=17):
    name, more = MODULES[kind]
    theirs = getattr(torch.nn, name)(
        features, hidden, dtype=getattr(torch, dtype), **more, **options
    )
    mine = getattr(nn, name)(features, hidden, dtype=getattr(flambeau, dtype), **more, **options)
    assert list(mine.state_dict()) == list(theirs.state_dict())
    mine.load_state_dict({key: ours(value) for key, value in theirs.state_dict().items()})
    return mine, theirs


def states_of(torch, module, batch, dtype):
    count = module.num_layers * (2 if module.bidirectional else 1)
    sizes = [module.proj_size or module.hidden_size, module.hidden_size]
    made = [torch.randn(count, batch, n, dtype=getattr(torch, dtype)) for n in sizes]
    return made if isinstance(module, torch.nn.LSTM) else made[:1]


def check(torch, mine, theirs, inputs, dtype, run):
    """Outputs and all gradients; ``run`` calls a module of either library."""
    tolerance = TOLERANCES[dtype]
    inputs = [x.requires_grad_() for x in inputs]
    copies = [ours(x).requires_grad_() for x in inputs]
    results = [tensors(run(torch, theirs, *inputs)), tensors(run(flambeau, mine, *copies))]
    weights = [torch.randn_like(t) for t in results[0]]
    for a, b in zip(results[1], results[0], strict=True):
        close(a, b, tolerance)
    sum((t * w).sum() for t, w in zip(results[0], weights, strict=True)).backward()
    sum((t * ours(w)).sum() for t, w in zip(results[1], weights, strict=True)).backward()
    for a, b in zip(copies, inputs, strict=True):
        close(a.grad, b.grad, tolerance * 10)
    for a, b in zip(mine.parameters(), theirs.parameters(), strict=True):
        close(a.grad, b.grad, tolerance * 10)


def with_states(lib, module, x, *states):
    return module(x, tuple(states) if len(states) > 1 else states[0])


@pytest.mark.parametrize("kind", MODULES)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("training", [True, False])
def test_networks(torch, kind, options, dtype, training):
    torch.manual_seed(0)
    mine, theirs = pair(torch, kind, options, dtype)
    mine.train(training)
    theirs.train(training)
    shape = (20, 7, 5) if theirs.batch_first else (7, 20, 5)
    x = torch.randn(*shape, dtype=getattr(torch, dtype))
    check(torch, mine, theirs, [x, *states_of(torch, theirs, 20, dtype)], dtype, with_states)
    check(torch, mine, theirs, [x.detach()], dtype, lambda lib, module, x: module(x))


@pytest.mark.parametrize("kind", MODULES)
@pytest.mark.parametrize("dtype", TOLERANCES)
def test_single_sequences(torch, kind, dtype):
    mine, theirs = pair(torch, kind, {"num_layers": 2, "bidirectional": True}, dtype)
    x = torch.randn(6, 5, dtype=getattr(torch, dtype))
    states = [s[:, 0] for s in states_of(torch, theirs, 1, dtype)]
    check(torch, mine, theirs, [x, *states], dtype, with_states)


@pytest.mark.parametrize("kind", MODULES)
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("lengths", [[9, 5, 5, 1], [2, 9, 1, 4]])
def test_packed_sequences(torch, kind, dtype, lengths):
    mine, theirs = pair(torch, kind, {"num_layers": 2, "bidirectional": True}, dtype)
    x = torch.randn(9, 4, 5, dtype=getattr(torch, dtype))

    def run(lib, module, x, *states):
        utils = torch.nn.utils.rnn if lib is torch else rnn
        packed = utils.pack_padded_sequence(x, lengths, enforce_sorted=False)
        output, last = with_states(lib, module, packed, *states)
        return utils.pad_packed_sequence(output)[0], last

    check(torch, mine, theirs, [x, *states_of(torch, theirs, 4, dtype)], dtype, run)


@pytest.mark.parametrize("name", ["LSTMCell", "GRUCell", "RNNCell"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("batch", [None, 20])
def test_cells(torch, name, bias, dtype, batch):
    theirs = getattr(torch.nn, name)(5, 70, bias, dtype=getattr(torch, dtype))
    mine = getattr(nn, name)(5, 70, bias, dtype=getattr(flambeau, dtype))
    mine.load_state_dict({key: ours(value) for key, value in theirs.state_dict().items()})
    lead = () if batch is None else (batch,)
    inputs = [torch.randn(*lead, n, dtype=getattr(torch, dtype)) for n in (5, 70, 70)]
    inputs = inputs if name == "LSTMCell" else inputs[:2]
    check(torch, mine, theirs, inputs, dtype, with_states)


@pytest.mark.parametrize("name", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
def test_functions(torch, name):
    kind = {"rnn_tanh": "tanh", "rnn_relu": "relu"}.get(name, name)
    _, module = pair(torch, kind, {"num_layers": 2, "bidirectional": True}, "float64")
    x = torch.randn(4, 3, 5, dtype=torch.float64)
    states = states_of(torch, module, 3, "float64")
    hx = states if name == "lstm" else states[0]
    copies = [ours(s) for s in states] if name == "lstm" else ours(states[0])
    weights = [ours(w) for w in module._flat_weights]
    options = (True, 2, 0.0, False, True)
    expected = getattr(torch, name)(x, hx, module._flat_weights, *options, False)
    got = getattr(flambeau, name)(ours(x), copies, weights, *options, False)
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, [4, 2, 1])
    expected += getattr(torch, name)(*packed[:2], hx, module._flat_weights, *options)
    got = tuple(got) + tuple(
        getattr(flambeau, name)(*map(ours, packed[:2]), copies, weights, *options)
    )
    for a, b in zip(got, expected, strict=True):
        close(a, b, 1e-12)


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell"])
def test_members_and_representation(torch, name):
    options = {"bias": False} if name.endswith("Cell") else {"num_layers": 2, "dropout": 0.5}
    mine, theirs = getattr(nn, name)(3, 4, **options), getattr(torch.nn, name)(3, 4, **options)
    assert repr(mine) == repr(theirs)
    assert [tuple(p.shape) for p in mine.parameters()] == [
        tuple(p.shape) for p in theirs.parameters()
    ]
    plain = {k: v for k, v in vars(theirs).items() if isinstance(v, (str, int, float))}
    assert {k: getattr(mine, k) for k in plain} == plain
    wide = (
        getattr(nn, name)(30, 400).weight_hh_l0
        if hasattr(mine, "weight_hh_l0")
        else (getattr(nn, name)(30, 400).weight_hh)
    )
    assert 0.0499 < wide.abs().max().item() <= 0.05
    assert abs(wide.std().item() - 0.05 / 3**0.5) < 1e-4


@pytest.mark.parametrize("name", rnn.__all__)
def test_signatures(torch, name):
    mine, theirs = getattr(rnn, name), getattr(torch.nn.utils.rnn, name)
    if name == "PackedSequence":
        mine, theirs = mine.__new__, theirs.__new__
    assert list(inspect.signature(mine).parameters) == list(inspect.signature(theirs).parameters)


def test_padding(torch):
    parts = [torch.randn(n, 2) for n in (3, 5, 1)]
    for options in ({}, {"batch_first": True, "padding_value": -1.0}, {"padding_side": "left"}):
        expected = torch.nn.utils.rnn.pad_sequence(parts, **options)
        close(rnn.pad_sequence([ours(p) for p in parts], **options), expected, 0)
    mine = rnn.pack_sequence([ours(p) for p in parts], enforce_sorted=False)
    theirs = torch.nn.utils.rnn.pack_sequence(parts, enforce_sorted=False)
    for a, b in zip(mine, theirs, strict=True):
        close(a, b, 0)
    for a, b in zip(rnn.unpack_sequence(mine), parts, strict=True):
        close(a, b, 0)
