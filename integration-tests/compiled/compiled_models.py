"""Eight families of small models, with inputs; targets are what they give for another input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
import flambeau.nn.functional as F
from flambeau import nn
from flambeau.utils.checkpoint import checkpoint


def mlp() -> nn.Module:
    """Fully connected, with statistics and dropout."""
    return nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2),
                         nn.Linear(16, 8), nn.SiLU(), nn.Linear(8, 3))


class Residual(nn.Module):
    """A block of a ResNet, and what reads it."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(2, 6, 3, padding=1, bias=False)
        self.first, self.second = nn.BatchNorm2d(6), nn.BatchNorm2d(6)
        self.conv = nn.Conv2d(6, 6, 3, padding=1, bias=False)
        self.shortcut = nn.Conv2d(6, 6, 1, stride=2)
        self.read = nn.Linear(6, 3)

    def forward(self, x: Any) -> Any:
        x = F.relu(self.first(self.stem(x)), inplace=True)
        y = F.max_pool2d(self.second(self.conv(x)), 2)
        y += self.shortcut(x)
        return self.read(F.adaptive_avg_pool2d(F.relu(y), 1).flatten(1))


class Recurrent(nn.Module):
    """An LSTM or GRU over a sequence, and what reads its last state."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.cells = getattr(nn, kind)(4, 5, num_layers=2, dropout=0.2, batch_first=True)
        self.read = nn.Linear(5, 3)

    def forward(self, x: Any) -> Any:
        states, _ = self.cells(x)
        return self.read(states[:, -1])


class Attention(nn.Module):
    """A transformer's block that is computed again in backward, dropout included."""

    def __init__(self, width: int, causal: bool) -> None:
        super().__init__()
        self.norm, self.qkv = nn.LayerNorm(width), nn.Linear(width, 3 * width)
        self.out, self.causal = nn.Linear(width, width), causal
        self.mlp = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(),
                                 nn.Linear(2 * width, width), nn.Dropout(0.1))

    def forward(self, x: Any) -> Any:
        n, t, d = x.shape
        q, k, v = self.qkv(self.norm(x)).view(n, t, 3, 2, d // 2).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.out(y.transpose(1, 2).reshape(n, t, d))
        return x + checkpoint(self.mlp, x, use_reentrant=False)


class Gpt(nn.Module):
    """Tokens to the next token."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(7, 8), nn.Parameter(flambeau.randn(6, 8) * 0.1)
        self.blocks = nn.ModuleList(Attention(8, causal=True) for _ in range(2))
        self.norm = nn.LayerNorm(8)

    def forward(self, tokens: Any) -> Any:
        x = self.tokens(tokens) + self.places
        for block in self.blocks:
            x = block(x)
        return self.norm(x)[:, -1] @ self.tokens.weight[:3].T


class Vit(nn.Module):
    """Patches of an image."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(2, 8, 4, stride=4)
        self.token = nn.Parameter(flambeau.zeros(1, 1, 8))
        self.block, self.read = Attention(8, causal=False), nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = flambeau.cat([self.token.expand(x.shape[0], -1, -1), x], 1)
        return self.read(self.block(x)[:, 0])


class Unet(nn.Module):
    """An image to an image, of which three pixels are looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.deep = nn.Conv2d(2, 4, 3, padding=1), nn.Conv2d(4, 6, 3, padding=1)
        self.up = nn.ConvTranspose2d(6, 4, 2, stride=2)
        self.norm, self.last = nn.GroupNorm(2, 8), nn.Conv2d(8, 1, 1)

    def forward(self, x: Any) -> Any:
        a = F.leaky_relu(self.down(x), 0.1)
        b = F.elu(self.deep(F.avg_pool2d(a, 2)))
        wide = self.up(b) + F.interpolate(b, scale_factor=2, mode="bilinear")[:, :4]
        return self.last(self.norm(flambeau.cat([a, wide], 1)))[:, 0, 0, :3]


class GraphNet(nn.Module):
    """Messages along edges, weighted by a softmax over those that arrive at a node."""

    def __init__(self) -> None:
        super().__init__()
        self.message, self.score = nn.Linear(10, 6), nn.Linear(10, 1)
        self.update, self.read = nn.GRUCell(6, 5), nn.Linear(5, 3)
        self.register_buffer("seen", flambeau.zeros(8))
        self.register_buffer("start", flambeau.arange(16) % 8)
        self.register_buffer("end", (flambeau.arange(16) * 5 + 1) % 8)

    def forward(self, x: Any) -> Any:
        for _ in range(2):
            pair = flambeau.cat([x[self.start], x[self.end]], -1)
            weight = self.score(pair).squeeze(-1)
            top = flambeau.full((8,), -9.0, dtype=weight.dtype)
            top = top.scatter_reduce(0, self.end, weight.detach(), "amax")
            weight = (weight - top[self.end]).exp()
            total = weight.new_zeros(8).index_add(0, self.end, weight)
            sent = self.message(pair).tanh() * (weight / total[self.end])[:, None]
            x = self.update(sent.new_zeros(8, 6).index_add_(0, self.end, sent), x)
            self.seen.scatter_add_(0, self.end, weight.detach().float())
        return self.read(x)


#: What makes a model, and its input.
MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[], Any]]] = {
    "mlp": (mlp, lambda: flambeau.randn(8, 6)),
    "resnet": (Residual, lambda: flambeau.randn(3, 2, 8, 8)),
    "lstm": (lambda: Recurrent("LSTM"), lambda: flambeau.randn(3, 5, 4)),
    "gru": (lambda: Recurrent("GRU"), lambda: flambeau.randn(3, 5, 4)),
    "gpt": (Gpt, lambda: flambeau.randint(0, 7, (3, 6))),
    "vit": (Vit, lambda: flambeau.randn(3, 2, 8, 8)),
    "unet": (Unet, lambda: flambeau.randn(2, 2, 8, 8)),
    "graph": (GraphNet, lambda: flambeau.randn(8, 5)),
}
