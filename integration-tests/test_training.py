"""Small networks train as they do in PyTorch: same weights, same data, same losses."""

from __future__ import annotations

import importlib
from types import SimpleNamespace

import pytest

import flambeau

np = pytest.importorskip("numpy")
STEPS = 8


def library(name: str) -> SimpleNamespace:
    """Return what a network is written with, from one of the two libraries."""
    base = importlib.import_module(name)
    nn = importlib.import_module(f"{name}.nn")
    functional = importlib.import_module(f"{name}.nn.functional")
    return SimpleNamespace(base=base, nn=nn, F=functional,
                           optim=importlib.import_module(f"{name}.optim"))


def small_cnn(lib):
    """Convolutions, batch norm and pooling for 8x8 images of ten classes."""
    nn = lib.nn
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 4 * 4, 10))


def small_transformer(lib):
    """One block of causal attention over a vocabulary of twelve tokens."""
    nn = lib.nn

    class Transformer(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(12, 16)
            self.indices = nn.Embedding(6, 16)
            self.norm1 = nn.LayerNorm(16)
            self.norm2 = nn.LayerNorm(16)
            self.qkv = nn.Linear(16, 48)
            self.project = nn.Linear(16, 16)
            self.widen = nn.Linear(16, 32)
            self.narrow = nn.Linear(32, 16)
            self.head = nn.Linear(16, 12)

        def attend(self, x):
            batch, length, width = x.shape
            heads = self.qkv(x).reshape(batch, length, 6, 8).transpose(1, 2)
            q, k, v = heads[:, :2], heads[:, 2:4], heads[:, 4:]
            mixed = lib.F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.project(mixed.transpose(1, 2).reshape(batch, length, width))

        def forward(self, ids):
            x = self.tokens(ids) + self.indices(lib.base.arange(ids.shape[1]))
            x = x + self.attend(self.norm1(x))
            x = x + self.narrow(lib.F.gelu(self.widen(self.norm2(x))))
            return self.head(x).reshape(-1, 12)

    return Transformer()


def sgd(lib, parameters):
    return lib.optim.SGD(parameters, lr=0.05, momentum=0.9)


def adamw(lib, parameters):
    return lib.optim.AdamW(parameters, lr=3e-3, weight_decay=0.01)


def images():
    """A batch of images and their classes."""
    random = np.random.default_rng(0)
    pixels = random.normal(size=(16, 1, 8, 8)).astype(np.float32)
    return pixels, random.integers(0, 10, size=16)


def sentences():
    """A batch of token sequences, and the token that follows each."""
    ids = np.random.default_rng(1).integers(0, 12, size=(8, 7))
    return ids[:, :-1].copy(), ids[:, 1:].reshape(-1).copy()


CASES = {
    "cnn": (small_cnn, sgd, images),
    "transformer": (small_transformer, adamw, sentences),
}


def losses(lib, model, optimizer, inputs, targets) -> list[float]:
    """Train a few steps on one batch; return the loss before each."""
    inputs = lib.base.from_numpy(inputs)
    targets = lib.base.from_numpy(targets)
    found = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = lib.F.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def same_start(network, torch_lib, lib):
    """Return the network in both libraries, with PyTorch's initial weights."""
    torch_lib.base.manual_seed(0)
    theirs = network(torch_lib)
    ours = network(lib)
    weights = {name: flambeau.from_numpy(value.numpy().copy())
               for name, value in theirs.state_dict().items()}
    ours.load_state_dict(weights)
    return theirs, ours


@pytest.mark.oracle
@pytest.mark.parametrize("case", CASES)
def test_losses_are_those_of_pytorch(case):
    pytest.importorskip("torch")
    network, optimizer, data = CASES[case]
    torch_lib, lib = library("torch"), library("flambeau")
    theirs, ours = same_start(network, torch_lib, lib)
    expected = losses(torch_lib, theirs, optimizer(torch_lib, theirs.parameters()), *data())
    found = losses(lib, ours, optimizer(lib, ours.parameters()), *data())
    assert expected[-1] < 0.9 * expected[0]
    assert found == pytest.approx(expected, abs=1e-4)
