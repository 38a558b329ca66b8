"""Training on the simulated GPU gives the losses of the CPU."""
from __future__ import annotations

import copy

import pytest

import flambeau as fl
from flambeau import nn, optim
from flambeau.nn import functional as F


class Pictures(nn.Module):
    """Convolutions with groups and strides, both norms, pooling."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.batch_norm = nn.BatchNorm2d(8)
        self.second = nn.Conv2d(8, 8, 3, stride=2, groups=2)
        self.group_norm = nn.GroupNorm(2, 8)
        self.last = nn.Linear(8, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.batch_norm(self.first(x))), 2)
        x = F.gelu(self.group_norm(self.second(x)))
        return self.last(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Words(nn.Module):
    """Embedding, attention, an LSTM and a GRU."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 16)
        self.attention = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.lstm = nn.LSTM(16, 16, batch_first=True)
        self.gru = nn.GRU(16, 8, batch_first=True)
        self.last = nn.Linear(8, 20)

    def forward(self, words):
        mask = nn.Transformer.generate_square_subsequent_mask(words.shape[1], device=words.device)
        x = self.attention(self.embedding(words), src_mask=mask, is_causal=True)
        return self.last(self.gru(self.lstm(x)[0])[0]).transpose(1, 2)


def losses(model, x, y, steps=3):
    optimizer, found = optim.AdamW(model.parameters(), lr=1e-2), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


@pytest.mark.parametrize("kind", ["pictures", "words"])
def test_losses_are_those_of_the_cpu(kind):
    fl.manual_seed(0)
    if kind == "pictures":
        model, x, y = Pictures(), fl.randn(4, 3, 12, 12), fl.randint(0, 5, (4,))
    else:
        model, x, y = Words(), fl.randint(0, 20, (3, 7)), fl.randint(0, 20, (3, 7))
    simulated = copy.deepcopy(model).to("cudasim")
    got = losses(simulated, x.to("cudasim"), y.to("cudasim"))
    assert got == pytest.approx(losses(model, x, y), rel=1e-4)
    assert got[2] < got[0]
    assert all(p.device.type == "cudasim" for p in simulated.parameters())
