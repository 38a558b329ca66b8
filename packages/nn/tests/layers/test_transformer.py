"""The Transformer family against PyTorch, and by itself."""

import numpy as np
import pytest
from modules_kit import (
    Given,
    against_torch,
    check_copies,
    check_dtype,
    check_gradients,
    check_meta,
    check_strided,
    close,
    copy_state,
    give,
    row,
)

import flambeau
from flambeau import nn

BATCH, LENGTH, TARGET, WIDTH = 3, 5, 4, 8
SRC, TGT = (BATCH, LENGTH, WIDTH), (BATCH, TARGET, WIDTH)
SIZES = (WIDTH, 2, 12, 0.0)


def fixed(value):
    return Given(lambda rng: np.array(value) if isinstance(value, np.ndarray) else value)


def later(length):
    return fixed(np.triu(np.ones((length, length), bool), 1))


def minus_infinity(length):
    return fixed(np.triu(np.full((length, length), -np.inf, np.float32), 1))


def numbers(*shape):
    return Given(lambda rng: rng.standard_normal(shape))


def padding(length):
    return fixed(np.arange(length) >= np.array([[length], [length - 2], [length - 1]]))


NONE, YES = fixed(None), fixed(True)
FIRST = {"batch_first": True}


def encoder(*given, **options):
    return row("TransformerEncoderLayer", *SIZES, inputs=[list(given)], **options)


def decoder(*given, **options):
    return row("TransformerDecoderLayer", *SIZES, inputs=[list(given)], **options)


def whole(*given, **options):
    return row("Transformer", WIDTH, 2, 2, 2, 12, 0.0, inputs=[list(given)], **options)


ROWS = [
    encoder(SRC, **FIRST),
    encoder((LENGTH, BATCH, WIDTH), norm_first=True),
    encoder((LENGTH, WIDTH), later(LENGTH), activation="gelu"),
    encoder(SRC, later(LENGTH), NONE, YES, **FIRST),
    encoder(SRC, minus_infinity(LENGTH), NONE, YES, norm_first=True, **FIRST),
    encoder(SRC, NONE, padding(LENGTH), bias=False, layer_norm_eps=1e-3, **FIRST),
    encoder(SRC, later(LENGTH), padding(LENGTH), activation="gelu", **FIRST),
    encoder((LENGTH, BATCH, WIDTH), numbers(BATCH * 2, LENGTH, LENGTH)),
    decoder(TGT, SRC, **FIRST),
    decoder((TARGET, BATCH, WIDTH), (LENGTH, BATCH, WIDTH), norm_first=True, activation="gelu"),
    decoder((TARGET, WIDTH), (LENGTH, WIDTH), later(TARGET), bias=False),
    decoder(TGT, SRC, later(TARGET), numbers(TARGET, LENGTH), padding(TARGET), NONE, **FIRST),
    decoder(TGT, SRC, later(TARGET), NONE, NONE, padding(LENGTH), YES, **FIRST),
    whole((LENGTH, BATCH, WIDTH), (TARGET, BATCH, WIDTH)),
    whole(SRC, TGT, NONE, later(TARGET), NONE, padding(LENGTH), NONE, padding(LENGTH), **FIRST),
    whole(SRC, TGT, NONE, minus_infinity(TARGET), activation="gelu", norm_first=True, **FIRST),
    whole((LENGTH, WIDTH), (TARGET, WIDTH), bias=False, layer_norm_eps=1e-3),
]

QUIET = pytest.mark.filterwarnings(
    "ignore:enable_nested_tensor",
    "ignore:Support for mismatched",
    "ignore:The PyTorch API of nested",
)


@QUIET
@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_against_torch(row, dtype):
    against_torch(row, dtype)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_invariants(row):
    for check in (check_copies, check_dtype, check_strided, check_gradients):
        check(row)
    check_meta(row)


@pytest.mark.parametrize(
    "make",
    [
        lambda p: p.nn.TransformerEncoderLayer(8, 2, 12, 0.0, activation=p.tanh),
        lambda p: p.nn.TransformerEncoderLayer(8, 2, 12, 0.0, activation=p.nn.SiLU()),
        lambda p: p.nn.TransformerEncoderLayer(8, 2, 12, 0.0, activation=p.nn.GELU("tanh")),
    ],
)
@pytest.mark.oracle
def test_activations(make):
    torch = pytest.importorskip("torch")
    mine, theirs = make(flambeau), make(torch)
    copy_state(mine, theirs)
    assert repr(mine) == repr(theirs)
    assert mine.activation_relu_or_gelu == theirs.activation_relu_or_gelu
    x = np.random.default_rng(0).standard_normal((5, 3, 8)).astype("float32")
    close(mine(flambeau.tensor(x)), theirs(torch.tensor(x)))


def stacks(package, **options):
    layer = package.nn.TransformerEncoderLayer(8, 2, 12, 0.0, **options)
    norm = package.nn.LayerNorm(8)
    with package.no_grad():
        norm.bias.fill_(0.5)
    return package.nn.TransformerEncoder(layer, 2, norm)


@QUIET
@pytest.mark.oracle
@pytest.mark.parametrize(
    "options",
    [
        {"batch_first": True},
        {"batch_first": True, "norm_first": True},
        {"batch_first": False},
        {"batch_first": True, "activation": "gelu"},
        {"batch_first": True, "bias": False},
    ],
    ids=str,
)
@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_padding_in_a_stack(options, recorded, training):
    """In evaluation without gradients PyTorch gives zeros at padded positions, before the norm."""
    torch = pytest.importorskip("torch")
    mine, theirs = stacks(flambeau, **options), stacks(torch, **options)
    copy_state(mine, theirs)
    assert repr(mine) == repr(theirs)
    assert mine.use_nested_tensor == theirs.use_nested_tensor
    x = np.random.default_rng(0).standard_normal((BATCH, LENGTH, 8)).astype("float32")
    x = x if options["batch_first"] else x.swapaxes(0, 1)
    last = np.arange(LENGTH) >= np.array([[LENGTH], [LENGTH - 2], [LENGTH - 1]])
    for dropped in (last, last[:, ::-1].copy()):
        outs = []
        for package, module in ((flambeau, mine), (torch, theirs)):
            module.train(training)
            with package.set_grad_enabled(recorded):
                mask = package.tensor(dropped)
                outs.append(module(package.tensor(x), src_key_padding_mask=mask))
        close(*outs)


@QUIET
@pytest.mark.oracle
@pytest.mark.parametrize("kind", ["bool", "numbers", "other", "none"])
@pytest.mark.parametrize("said", [None, False])
def test_causal_masks_are_noticed(kind, said):
    torch = pytest.importorskip("torch")
    mine, theirs = stacks(flambeau, batch_first=True), stacks(torch, batch_first=True)
    copy_state(mine, theirs)
    x = np.random.default_rng(0).standard_normal((BATCH, LENGTH, 8)).astype("float32")
    mask = np.triu(np.ones((LENGTH, LENGTH), bool), 1)
    if kind == "numbers":
        mask = np.where(mask, -np.inf, 0).astype("float32")
    if kind == "other":
        mask[4, 0] = True
    outs = []
    for package, module in ((flambeau, mine), (torch, theirs)):
        given = None if kind == "none" else package.tensor(mask)
        outs.append(module(package.tensor(x), given, is_causal=said))
    close(*outs)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("bool", True),
        ("numbers", True),
        ("other", False),
        ("smaller", False),
        ("none", False),
    ],
)
def test_layers_hear_of_causal_masks(kind, expected):
    heard = []

    class Layer(nn.Module):
        def forward(self, src, src_mask, src_key_padding_mask, is_causal):
            heard.append(is_causal)
            return src

    mask = flambeau.ones(5, 5).triu(1)
    mask = {
        "bool": mask != 0,
        "numbers": nn.Transformer.generate_square_subsequent_mask(5),
        "other": mask == 0,
        "smaller": flambeau.ones(4, 4).triu(1) != 0,
        "none": None,
    }[kind]
    nn.TransformerEncoder(Layer(), 2)(flambeau.zeros(5, 1, 8), mask)
    assert heard == [expected] * 2


def test_layers_are_copies():
    layer = nn.TransformerDecoderLayer(8, 2, 12)
    stack = nn.TransformerDecoder(layer, 3)
    assert len({id(p) for p in stack.parameters()}) == 3 * len(list(layer.parameters()))
    for copied in stack.layers:
        for one, other in zip(copied.parameters(), layer.parameters(), strict=True):
            assert bool((one == other).all())


def test_initial_values():
    flambeau.manual_seed(0)
    model = nn.Transformer(32, 2, 1, 1, 64)
    weight = give(model.encoder.layers[0].linear1.weight)
    bound = (6 / 96) ** 0.5
    assert abs(weight).max() <= bound
    assert weight.std() == pytest.approx(bound / 3**0.5, rel=0.05)


def test_own_encoder_and_decoder():
    class Twice(nn.Module):
        def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
            return 2 * src

    class Sum(nn.Module):
        def forward(self, tgt, memory, **masks):
            return tgt + memory

    model = nn.Transformer(4, 2, custom_encoder=Twice(), custom_decoder=Sum())
    x = flambeau.ones(3, 1, 4)
    assert model(x, x).tolist() == (3 * x).tolist()


def test_mistakes():
    with pytest.raises(RuntimeError, match="relu/gelu, or a function, not 'tanh'"):
        nn.TransformerEncoderLayer(8, 2, activation="tanh")
    model = nn.Transformer(8, 2, 1, 1, 12)
    with pytest.raises(RuntimeError, match=r"d_model=8, got \[3, 2, 8\] and \[3, 2, 6\]"):
        model(flambeau.ones(3, 2, 8), flambeau.ones(3, 2, 6))
    with pytest.raises(RuntimeError, match="batch number of src and tgt must be equal"):
        model(flambeau.ones(3, 2, 8), flambeau.ones(3, 1, 8))
    with pytest.raises(RuntimeError, match="generate_square_subsequent_mask"):
        model.encoder(flambeau.ones(3, 2, 8), is_causal=True)


@pytest.mark.oracle
@pytest.mark.parametrize("batch_first", (True, False))
@pytest.mark.parametrize("dropout", (0.0, 0.4))
def test_dropout_behind_attention_draws_as_pytorch(batch_first, dropout):
    """Numbers are drawn in the order of memory, which has lengths before batches there."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    flambeau.random.set_algorithm("mt19937")
    try:
        found = []
        for lib in (torch, flambeau):
            lib.manual_seed(3)
            block = lib.nn.MultiheadAttention(8, 2, dropout, batch_first=batch_first)
            layer = lib.nn.TransformerEncoderLayer(8, 2, 16, 0.3, batch_first=batch_first)
            x = lib.randn(3, 5, 8)
            y = lib.nn.functional.dropout(block(x, x, x)[0], 0.5)
            found.append([y.detach().numpy(), layer(x).detach().numpy(), lib.rand(3).numpy()])
        for theirs, ours in zip(*found, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=2e-6)
    finally:
        flambeau.random.set_algorithm("philox")
