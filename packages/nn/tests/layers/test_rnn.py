"""Recurrent layers and cells against their definition in NumPy, and their gradients numerically."""

import numpy as np
import pytest

import flambeau
from flambeau import nn
from flambeau.autograd import gradcheck, gradgradcheck
from flambeau.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

KINDS = {"LSTM": {}, "GRU": {}, "RNN": {}, "relu": {"nonlinearity": "relu"}}


def layer(kind, *args, **options):
    cls = getattr(nn, "RNN" if kind == "relu" else kind)
    return cls(*args, dtype=flambeau.float64, **KINDS[kind], **options)


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step(kind, x, h, c, p):
    """One step of one sequence or a batch: the new states."""
    a = x @ p["weight_ih"].T + p.get("bias_ih", 0)
    b = h @ p["weight_hh"].T + p.get("bias_hh", 0)
    if kind == "LSTM":
        i, f, g, o = np.split(a + b, 4, -1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        return (h @ p["weight_hr"].T if "weight_hr" in p else h), c
    if kind == "GRU":
        (ar, az, an), (br, bz, bn) = np.split(a, 3, -1), np.split(b, 3, -1)
        n = np.tanh(an + sigmoid(ar + br) * bn)
        z = sigmoid(az + bz)
        return (1 - z) * n + z * h, c
    return (np.maximum(a + b, 0) if kind == "relu" else np.tanh(a + b)), c


def reference(kind, module, x, h0, c0):
    """Output and last states of a network for one sequence ``[steps, features]``."""
    last = []
    for index in range(module.num_layers):
        outputs = []
        for d, suffix in enumerate(["", "_reverse"][: 2 if module.bidirectional else 1]):
            ending = f"_l{index}{suffix}"
            p = {
                k[: -len(ending)]: v.detach().numpy()
                for k, v in module.named_parameters()
                if k.endswith(ending)
            }
            position = len(last)
            h, c = h0[position], c0[position]
            rows = []
            for row in x[::-1] if d else x:
                h, c = step(kind, row, h, c, p)
                rows.append(h)
            outputs.append(np.stack(rows[::-1] if d else rows))
            last.append((h, c))
        x = np.concatenate(outputs, -1)
    return x, np.stack([h for h, _ in last]), np.stack([c for _, c in last])


def run(module, x, h0, c0):
    states = (flambeau.tensor(h0), flambeau.tensor(c0))
    output, last = module(x, states if isinstance(module, nn.LSTM) else states[0])
    return output, (last if isinstance(module, nn.LSTM) else (last, None))


def states_of(module, batch, seed=1):
    count = module.num_layers * (2 if module.bidirectional else 1)
    return (
        numbers(count, batch, module.proj_size or module.hidden_size, seed=seed),
        numbers(count, batch, module.hidden_size, seed=seed + 1),
    )


OPTIONS = {
    "plain": {},
    "no_bias": {"bias": False},
    "layers": {"num_layers": 3},
    "both_ways": {"bidirectional": True},
    "all": {"num_layers": 2, "bidirectional": True},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("sizes", [(5, 3, 4, 6), (1, 1, 3, 5), (13, 1, 3, 40), (7, 40, 5, 33)])
def test_networks(kind, options, sizes):
    steps, batch, features, hidden = sizes
    module = layer(kind, features, hidden, **options)
    x, (h0, c0) = numbers(steps, batch, features), states_of(module, batch)
    output, (h, c) = run(module, flambeau.tensor(x), h0, c0)
    for b in range(batch):
        expected = reference(kind, module, x[:, b], h0[:, b], c0[:, b])
        np.testing.assert_allclose(output[:, b].detach().numpy(), expected[0], atol=1e-12)
        np.testing.assert_allclose(h[:, b].detach().numpy(), expected[1], atol=1e-12)
        if c is not None:
            np.testing.assert_allclose(c[:, b].detach().numpy(), expected[2], atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True, "bias": False}])
@pytest.mark.parametrize("batch", [1, 3, 40])
def test_projections(options, batch):
    module = layer("LSTM", 4, 7, proj_size=3, **options)
    x, (h0, c0) = numbers(6, batch, 4), states_of(module, batch)
    output, (h, c) = run(module, flambeau.tensor(x), h0, c0)
    for b in range(batch):
        expected = reference("LSTM", module, x[:, b], h0[:, b], c0[:, b])
        for got, want in zip((output, h, c), expected, strict=True):
            np.testing.assert_allclose(got[:, b].detach().numpy(), want, atol=1e-12)


def test_large_layers():
    """Weights that do not fit a core's cache, whose units are shared among threads."""
    for kind in KINDS:
        module = layer(kind, 3, 600)
        x, (h0, c0) = numbers(3, 5, 3), states_of(module, 5)
        output, (h, _) = run(module, flambeau.tensor(x), h0, c0)
        for b in range(5):
            expected = reference(kind, module, x[:, b], h0[:, b], c0[:, b])
            np.testing.assert_allclose(output[:, b].detach().numpy(), expected[0], atol=1e-11)
            np.testing.assert_allclose(h[:, b].detach().numpy(), expected[1], atol=1e-11)


@pytest.mark.parametrize(("kind", "projection"), [*((kind, 0) for kind in KINDS), ("LSTM", 2)])
@pytest.mark.parametrize("enforce_sorted", [True, False])
def test_packed_sequences(kind, enforce_sorted, projection):
    extra = {"proj_size": projection} if projection else {}
    module = layer(kind, 3, 5, num_layers=2, bidirectional=True, **extra)
    lengths = [6, 4, 4, 1] if enforce_sorted else [4, 1, 6, 4]
    x, (h0, c0) = numbers(6, 4, 3), states_of(module, 4)
    packed = pack_padded_sequence(flambeau.tensor(x), lengths, enforce_sorted=enforce_sorted)
    output, (h, c) = run(module, packed, h0, c0)
    padded, found = pad_packed_sequence(output)
    assert found.tolist() == lengths
    for b, length in enumerate(lengths):
        expected = reference(kind, module, x[:length, b], h0[:, b], c0[:, b])
        np.testing.assert_allclose(padded[:length, b].detach().numpy(), expected[0], atol=1e-12)
        assert not padded[length:, b].any()
        np.testing.assert_allclose(h[:, b].detach().numpy(), expected[1], atol=1e-12)
        if c is not None:
            np.testing.assert_allclose(c[:, b].detach().numpy(), expected[2], atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_single_sequence_and_batch_first(kind):
    module = layer(kind, 3, 5, num_layers=2)
    x = flambeau.tensor(numbers(4, 2, 3))
    output, last = module(x)
    first = layer(kind, 3, 5, num_layers=2, batch_first=True)
    first.load_state_dict(module.state_dict())
    turned, last_turned = first(x.transpose(0, 1))
    assert flambeau.equal(turned.transpose(0, 1), output)
    single, last_single = module(x[:, 1])
    assert single.shape == (4, 5)
    np.testing.assert_allclose(single.detach().numpy(), output[:, 1].detach().numpy(), atol=1e-12)
    for a, b, s in zip(
        *[t if kind == "LSTM" else (t,) for t in (last, last_turned, last_single)], strict=True
    ):
        assert flambeau.equal(a, b)
        np.testing.assert_allclose(s.detach().numpy(), a[:, 1].detach().numpy(), atol=1e-12)


# ---- gradients -----------------------------------------------------------------------------------
def function_of(module, packed=None):
    """The network as a function of input, states and parameters."""
    names = [name for name, _ in module.named_parameters()]
    lstm = isinstance(module, nn.LSTM)

    def function(x, h, c, *weights):
        for name, value in zip(names, weights, strict=True):
            del module._parameters[name]
            setattr(module, name, value)
        x = pack_padded_sequence(x, packed) if packed else x
        output, last = module(x, (h, c) if lstm else h)
        output = output.data if packed else output
        for name in names:
            delattr(module, name)
            module._parameters[name] = None
        return (output, *last) if lstm else (output, last + 0 * c.sum())

    return function


CASES = {
    "plain": ({}, None),
    "both_ways": ({"num_layers": 2, "bidirectional": True}, None),
    "packed": ({"bidirectional": True}, [3, 2]),
    "no_bias": ({"bias": False}, None),
}


@pytest.mark.parametrize("kind", [*KINDS, "projection"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_gradients(kind, case):
    options, packed = case
    if kind == "projection":
        kind, options = "LSTM", options | {"proj_size": 2}
    module = layer(kind, 2, 3, **options)
    weights = [p.detach() for p in module.parameters()]
    states = [flambeau.tensor(s) for s in states_of(module, 2)]
    inputs = [flambeau.tensor(numbers(3, 2, 2)), *states, *weights]
    inputs = [x.requires_grad_() for x in inputs]
    function = function_of(module, packed)
    assert gradcheck(function, inputs)
    if case is not CASES["both_ways"]:
        assert gradgradcheck(function, inputs)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_large_networks(kind):
    """The kernel's gradient against that of the same network written as operators."""
    flambeau.manual_seed(3)
    for sizes in ((9, 40, 4, 32), (4, 3, 5, 300), (20, 1, 3, 40)):
        steps, batch, features, hidden = sizes
        module = layer(kind, features, hidden)
        x = flambeau.randn(steps, batch, features, dtype=flambeau.float64, requires_grad=True)
        weight = flambeau.randn(steps, batch, hidden, dtype=flambeau.float64)
        inputs = (x, *module.parameters())
        loss = (module(x)[0] * weight).sum()
        by_kernel = flambeau.autograd.grad(loss, inputs, retain_graph=True)
        by_operators = flambeau.autograd.grad(loss, inputs, create_graph=True)
        for a, b in zip(by_kernel, by_operators, strict=True):
            np.testing.assert_allclose(a.numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-10)


def test_nothing_is_kept_without_gradients():
    module = nn.LSTM(3, 5)
    x = flambeau.randn(4, 2, 3)
    with flambeau.no_grad():
        without = module(x)[0]
    assert flambeau.equal(without, module(x)[0].detach())
    assert not without.requires_grad


# ---- options -------------------------------------------------------------------------------------
def test_dropout_between_layers():
    module = nn.GRU(3, 8, num_layers=2, dropout=0.5)
    x = flambeau.randn(5, 2, 3)
    assert not flambeau.equal(module(x)[0], module(x)[0])
    module.eval()
    assert flambeau.equal(module(x)[0], module(x)[0])
    with pytest.warns(UserWarning, match="num_layers greater than 1"):
        nn.GRU(3, 8, dropout=0.5)


def test_all_dropped():
    """With every output of the first layer dropped the second one sees zeros."""
    module = nn.RNN(3, 4, num_layers=2, dropout=1.0, dtype=flambeau.float64)
    zeros = nn.RNN(4, 4, dtype=flambeau.float64)
    zeros.load_state_dict({k[:-1] + "0": v for k, v in module.state_dict().items() if "l1" in k})
    output = module(flambeau.randn(5, 2, 3, dtype=flambeau.float64))[0]
    expected = zeros(flambeau.zeros(5, 2, 4, dtype=flambeau.float64))[0]
    assert flambeau.equal(output, expected)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_low_precision(kind):
    module = getattr(nn, kind)(4, 8)
    x = flambeau.randn(5, 2, 4)
    exact = module(x)[0]
    for dtype in (flambeau.bfloat16, flambeau.float16):
        low = getattr(nn, kind)(4, 8, dtype=dtype)
        low.load_state_dict(module.state_dict())
        output = low(x.to(dtype))[0]
        assert output.dtype is dtype
        assert (output.float() - exact).abs().max().item() < 0.03
        output.sum().backward()
        assert low.weight_hh_l0.grad.dtype is dtype


def test_autocast():
    module = nn.LSTM(4, 8)
    with flambeau.autocast("cpu", dtype=flambeau.bfloat16):
        output, (h, _) = module(flambeau.randn(5, 2, 4))
    assert output.dtype is flambeau.bfloat16
    assert h.dtype is flambeau.bfloat16


def test_meta_device():
    for kind in KINDS:
        module = nn.RNN if kind == "relu" else getattr(nn, kind)
        module = module(3, 5, num_layers=2, bidirectional=True, device="meta")
        output, _ = module(flambeau.zeros(4, 2, 3, device="meta"))
        assert output.shape == (4, 2, 10)
        assert output.device.type == "meta"


@pytest.mark.parametrize("kind", KINDS)
def test_transforms(kind):
    module = layer(kind, 2, 3)
    xs = flambeau.tensor(numbers(4, 5, 2, 2))
    batched = flambeau.func.vmap(lambda x: module(x)[0])(xs)
    assert flambeau.allclose(batched, flambeau.stack([module(x)[0] for x in xs]))
    direction = flambeau.tensor(numbers(5, 2, 2, seed=7))
    value, slope = flambeau.func.jvp(lambda x: module(x)[0], (xs[0],), (direction,))
    ahead, behind = [module(xs[0] + e * direction)[0] for e in (1e-6, -1e-6)]
    assert flambeau.allclose(value, module(xs[0])[0])
    assert flambeau.allclose(slope, (ahead - behind) / 2e-6, atol=1e-7)
    gradient = flambeau.func.grad(lambda x: module(x)[0].sum())
    per_sample = flambeau.func.vmap(gradient)(xs)
    assert flambeau.allclose(per_sample, flambeau.stack([gradient(x) for x in xs]))


def test_names_and_shapes():
    module = nn.LSTM(3, 5, num_layers=2, bidirectional=True, proj_size=2)
    shapes = {name: tuple(p.shape) for name, p in module.named_parameters()}
    assert list(shapes)[:6] == [
        "weight_ih_l0",
        "weight_hh_l0",
        "bias_ih_l0",
        "bias_hh_l0",
        "weight_hr_l0",
        "weight_ih_l0_reverse",
    ]
    assert shapes["weight_ih_l1"] == (20, 4)
    assert shapes["weight_hh_l1_reverse"] == (20, 2)
    assert shapes["weight_hr_l1"] == (2, 5)
    assert module.all_weights[0][0] is module.weight_ih_l0
    assert len(module.all_weights) == 4
    assert module.flatten_parameters() is None
    assert repr(module) == "LSTM(3, 5, proj_size=2, num_layers=2, bidirectional=True)"


def test_replaced_parameters_are_used():
    module = nn.RNN(2, 3, bias=False)
    module.weight_ih_l0 = nn.Parameter(flambeau.zeros(3, 2))
    assert not module(flambeau.randn(4, 1, 2))[0].any()
    assert module._flat_weights[0] is module.weight_ih_l0


# ---- cells ---------------------------------------------------------------------------------------
CELLS = {"LSTM": nn.LSTMCell, "GRU": nn.GRUCell, "RNN": nn.RNNCell, "relu": nn.RNNCell}


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("bias", [True, False])
def test_cells(kind, bias):
    cell = CELLS[kind](3, 5, bias, **KINDS[kind], dtype=flambeau.float64)
    x, h, c = numbers(4, 3), numbers(4, 5, seed=1), numbers(4, 5, seed=2)
    p = {name: value.detach().numpy() for name, value in cell.named_parameters()}
    expected = step(kind, x, h, c, p)[: 2 if kind == "LSTM" else 1]
    tx, th, tc = map(flambeau.tensor, (x, h, c))
    got = cell(tx, (th, tc) if kind == "LSTM" else th)
    single = cell(tx[2], (th[2], tc[2]) if kind == "LSTM" else th[2])
    for a, s, want in zip(
        *[r if kind == "LSTM" else (r,) for r in (got, single)], expected, strict=True
    ):
        np.testing.assert_allclose(a.detach().numpy(), want, atol=1e-13)
        np.testing.assert_allclose(s.detach().numpy(), want[2], atol=1e-13)
    start = step(kind, x, np.zeros((4, 5)), np.zeros((4, 5)), p)[0]
    fresh = cell(tx)
    np.testing.assert_allclose(
        (fresh[0] if kind == "LSTM" else fresh).detach().numpy(), start, atol=1e-13
    )


@pytest.mark.parametrize("kind", CELLS)
def test_gradients_of_cells(kind):
    cell = CELLS[kind](2, 3, **KINDS[kind], dtype=flambeau.float64)
    x, h, c = [flambeau.tensor(numbers(2, n, seed=n), requires_grad=True) for n in (2, 3, 3)]
    inputs = (x, h, c) if kind == "LSTM" else (x, h)
    assert gradcheck(lambda x, *s: cell(x, s if len(s) > 1 else s[0]), inputs)
    assert gradgradcheck(lambda x, *s: cell(x, s if len(s) > 1 else s[0]), inputs)


def test_cells_show_their_options():
    assert repr(nn.LSTMCell(2, 3)) == "LSTMCell(2, 3)"
    assert repr(nn.RNNCell(2, 3, False, "relu")) == "RNNCell(2, 3, bias=False, nonlinearity=relu)"


def test_nan_and_infinity():
    module = layer("LSTM", 1, 2)
    x = flambeau.tensor([[[1e300], [float("nan")]]], dtype=flambeau.float64)
    output = module(x)[0]
    assert output[0, 0].isfinite().all()
    assert output[0, 1].isnan().all()
    assert layer("relu", 1, 2)(x)[0][0, 1].isnan().all()
