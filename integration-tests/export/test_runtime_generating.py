"""Networks that generate outside Python: their state in buffers, which a session keeps."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import flambeau as fl
from flambeau import jit, nn
from flambeau.jit import bridge

sys.path.append(str(Path(__file__).resolve().parents[2] / "packages" / "jit" / "tests"))
from runtime import RuntimeFailed, RuntimeProgram, open_library

F = nn.functional
LIBRARY = open_library()
pytestmark = pytest.mark.skipif(LIBRARY is None, reason="needs libflambeau_runtime")

TOKENS, WIDTH, HEADS, LAYERS, LONGEST = 11, 16, 2, 2, 12


class Speller(nn.Module):
    """An LSTM of one step; hidden and cell state are buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(TOKENS, WIDTH)
        self.lstm = nn.LSTM(WIDTH, WIDTH, LAYERS)
        self.out = nn.Linear(WIDTH, TOKENS)
        for name in ("hidden", "cell"):
            self.register_buffer(name, fl.zeros(LAYERS, 1, WIDTH))

    def forward(self, token: Any) -> Any:
        y, (hidden, cell) = self.lstm(self.embed(token).reshape(1, 1, WIDTH),
                                      (self.hidden, self.cell))
        self.hidden.copy_(hidden)
        self.cell.copy_(cell)
        scores = self.out(y[0, 0])
        return scores, scores.argmax(0, keepdim=True)


class Block(nn.Module):
    """Attention to what was there before, from a cache of keys and values, and a small network."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        wide = 4 * WIDTH
        self.mlp = nn.Sequential(nn.Linear(WIDTH, wide), nn.GELU(), nn.Linear(wide, WIDTH))
        for name in ("keys", "values"):
            self.register_buffer(name, fl.zeros(HEADS, LONGEST, WIDTH // HEADS))

    def forward(self, x: Any, position: Any) -> Any:
        q, k, v = self.qkv(self.first(x)).reshape(3, HEADS, 1, WIDTH // HEADS).unbind(0)
        self.keys.index_copy_(1, position, k)
        self.values.index_copy_(1, position, v)
        mask = fl.arange(LONGEST)[None] <= position
        y = F.scaled_dot_product_attention(q, self.keys, self.values, mask)
        x = x + self.out(y.reshape(1, WIDTH))
        return x + self.mlp(self.second(x))


class GPT(nn.Module):
    """One token at a time; how many there were is a buffer, too."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(TOKENS, WIDTH)
        self.places = nn.Embedding(LONGEST, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.register_buffer("position", fl.zeros(1, dtype=fl.int64))

    def forward(self, token: Any) -> Any:
        x = self.embed(token) + self.places(self.position)
        for block in self.blocks:
            x = block(x, self.position)
        self.position.add_(1)
        scores = x[0] @ self.embed.weight.t()
        return scores, fl.multinomial(scores.softmax(0), 1)


def save(model: Any, path: Path) -> None:
    """One step; without a history, which the buffers would keep."""
    with fl.no_grad():
        jit.trace(model, fl.tensor([3]), dynamic=False).save(path)


def generate(step: Any, count: int) -> list[tuple[Any, Any]]:
    """Scores and tokens, each token chosen by the step before."""
    token, found = fl.tensor([3]), []
    for _ in range(count):
        scores, token = step(token)
        found.append((scores.detach().clone(), token.clone()))
    return found


def assert_same(one: list[tuple[Any, Any]], other: list[tuple[Any, Any]]) -> None:
    assert len(one) == len(other)
    for (scores, token), (wanted, wanted_token) in zip(one, other, strict=True):
        assert bridge.same_bits(scores, wanted) and bridge.same_bits(token, wanted_token)


@pytest.mark.parametrize("network", [Speller, GPT])
def test_generating(network: Any, tmp_path: Path) -> None:
    """Twice in sessions of their own, beside the module in Python, with the same random numbers."""
    fl.manual_seed(1)        # whose weights give several tokens
    model = network().eval()
    with fl.no_grad():
        for parameter in model.parameters():    # so that tokens differ
            parameter.mul_(4)
    state = {name: tensor.clone() for name, tensor in model.named_buffers()}
    save(model, tmp_path / "a.program")
    model.load_state_dict(state, strict=False)
    fl.manual_seed(5)
    with fl.no_grad():
        expected = generate(model, LONGEST)
    assert len({int(token) for _, token in expected}) > 1
    for _ in range(2):
        runtime = RuntimeProgram(LIBRARY, tmp_path / "a.program")
        runtime.check(LIBRARY.flambeau_session_seed(runtime.session, 5))
        assert_same(generate(runtime, LONGEST), expected)


def test_a_cache_that_is_full(tmp_path: Path) -> None:
    """An index beyond the cache is an error, and memory beyond it stays as it is."""
    save(GPT().eval(), tmp_path / "a.program")
    runtime = RuntimeProgram(LIBRARY, tmp_path / "a.program")
    generate(runtime, LONGEST)
    with pytest.raises(RuntimeFailed, match="embedding"):
        generate(runtime, 1)
