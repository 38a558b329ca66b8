"""Small recurrent networks over words."""
from __future__ import annotations

import flambeau as fl
from flambeau import nn
from flambeau.nn import functional as F


class Sentences(nn.Module):
    """Two layers of an LSTM."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(20, 8, padding_idx=0)
        self.lstm, self.last = nn.LSTM(8, 12, 2, batch_first=True), nn.Linear(12, 20)

    def forward(self, words):
        return self.last(self.lstm(self.words(words))[0])


class Seq2Seq(nn.Module):
    """A GRU reads, in both directions; one that writes looks back at what was read."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(20, 8)
        self.reader = nn.GRU(8, 6, batch_first=True, bidirectional=True)
        self.writer, self.last = nn.GRUCell(20, 12), nn.Linear(12, 20)

    def forward(self, source, target):
        read, last = self.reader(self.words(source))
        state = fl.cat([last[0], last[1]], -1)
        loss = 0
        for step in range(target.shape[1] - 1):
            weights = F.softmax(fl.einsum("bd,btd->bt", state, read), -1)
            seen = fl.einsum("bt,btd->bd", weights, read)
            state = self.writer(fl.cat([self.words(target[:, step]), seen], -1), state)
            loss = loss + F.cross_entropy(self.last(state), target[:, step + 1])
        return loss
