"""A CNN for digits and a small transformer of the core's operators: trace, replay, save."""

import math

import pytest
from graphs import ops_of
from replay import replay, same

import flambeau
from flambeau import jit
from flambeau.core import ops
from flambeau.jit import bridge


class Model:
    """Parameters by name, as a module has them."""

    def __init__(self, **shapes):
        self.parameters = {n: flambeau.randn(s) / math.sqrt(s[-1]) for n, s in shapes.items()}

    def named_parameters(self):
        return self.parameters.items()

    def __getattr__(self, name):
        if name not in self.__dict__["parameters"]:
            raise AttributeError(name)
        return self.__dict__["parameters"][name]


class Digits(Model):
    """Two convolutions, batch norm with running statistics, two linear layers."""

    def __init__(self, training=False):
        super().__init__(w1=(8, 1, 3, 3), b1=(8,), w2=(16, 8, 3, 3), b2=(16,), g=(8,), s=(8,),
                         w3=(32, 64), b3=(32,), w4=(10, 32), b4=(10,))
        self.mean, self.var = flambeau.zeros(8), flambeau.ones(8)
        self.training = training

    def __call__(self, x):
        x = ops.conv2d(x, self.w1, self.b1, 1, 1)
        x = ops.batch_norm(x, self.mean, self.var, self.g, self.s, self.training)
        x = ops.max_pool2d(x.relu(), 2)
        x = ops.max_pool2d(ops.gelu(ops.conv2d(x, self.w2, self.b2, padding=1)), 2)
        x = ops.dropout(x.flatten(1), 0.25, self.training)
        x = ops.linear(x, self.w3, self.b3).relu()
        return ops.linear(x, self.w4, self.b4).log_softmax(1)


class Transformer(Model):
    """Embedding, one block of attention written out and one in a single operator, readout."""

    def __init__(self, width=16, heads=4, words=11):
        d = width
        super().__init__(table=(words, d), index=(20, d), qkv=(3 * d, d), out=(d, d), up=(4 * d, d),
                         down=(d, 4 * d), read=(words, d), n1=(d,), n2=(d,))
        self.heads = heads

    def attend(self, x, causal):
        n, t, d = x.shape
        q, k, v = ops.linear(x, self.qkv).view(n, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if not causal:
            y = ops.scaled_dot_product_attention(q, k, v)
        else:
            scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
            mask = flambeau.ones(t, t, dtype=flambeau.bool).tril()
            y = scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v
        return ops.linear(y.transpose(1, 2).reshape(n, t, d), self.out)

    def __call__(self, tokens):
        x = ops.embedding(tokens, self.table) + self.index[: tokens.shape[1]]
        for causal in (True, False):
            x = x + self.attend(ops.layer_norm(x, (x.shape[-1],), self.n1), causal)
            h = ops.linear(ops.layer_norm(x, (x.shape[-1],), self.n2), self.up)
            x = x + ops.linear(ops.gelu(h, approximate="tanh"), self.down)
        return ops.linear(x, self.read)


def images(count=5):
    return flambeau.rand(count, 1, 8, 8)


def test_digits():
    program = replay(Digits(), images())
    assert "%w1: float32[8, 1, 3, 3] captured" in str(program.graph)


def test_digits_in_training():
    """Running statistics are written as in eager, dropout draws the same numbers."""
    model, twin = Digits(training=True), Digits(training=True)
    for name, tensor in model.parameters.items():
        twin.parameters[name].copy_(tensor)
    program = jit.trace(model, images())
    assert model.mean.tolist() == [0.0] * 8
    for count in (5, 9, 2):
        x = images(count)
        with bridge.same_random_numbers():
            found = program(x)
        assert same(found, twin(x))
        assert same(model.mean, twin.mean)
        assert same(model.var, twin.var)


def test_transformer():
    program = replay(Transformer(), flambeau.randint(0, 11, (3, 7)))
    assert not any(op.startswith("tril") for op in ops_of(program.graph)), "a mask is a constant"


def test_transformer_of_any_length():
    model = Transformer()
    program = jit.trace(model, flambeau.randint(0, 11, (3, 7)), dynamic={0: {0: "N", 1: "T"}})
    assert str(program.graph).startswith("graph(%0: int64[N, T])")
    for n, t in ((1, 2), (2, 12), (5, 5), (3, 20)):
        tokens = flambeau.randint(0, 11, (n, t))
        assert same(program(tokens), model(tokens))


@pytest.mark.parametrize(("model", "example", "other"), [
    (Digits, images(), images(3)),
    (Transformer, flambeau.randint(0, 11, (3, 7)), flambeau.randint(0, 11, (1, 7))),
], ids=["digits", "transformer"])
def test_saved(tmp_path, model, example, other):
    program = jit.trace(model(), example)
    program.save(tmp_path / "p")
    loaded = jit.load(tmp_path / "p")
    assert same(loaded(other), program(other))
    assert same(loaded(other), program.reference(other))


@pytest.mark.parametrize("model", [Digits, Transformer])
def test_compiled(model):
    net = model()
    compiled = jit.compile(net)
    for count in (3, 1):
        x = images(count) if model is Digits else flambeau.randint(0, 11, (count, 7))
        assert same(compiled(x), net(x))
