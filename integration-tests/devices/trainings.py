"""Ten families of networks, small, each with data, a loss and an optimizer."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from recurrent_networks import Sentences, Seq2Seq
from vision_networks import Depthwise, ResNet, UNet, ViT

import flambeau as fl
from flambeau import nn, optim
from flambeau.nn import functional as F

Loss = Callable[[Any, list[Any]], Any]


class GPT(nn.Module):
    """Causal attention over learned positions; the last layer has the embedding's weights."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.positions = nn.Embedding(20, 16), nn.Embedding(8, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, 0.0, "gelu", batch_first=True,
                                           norm_first=True)
        self.blocks, self.norm = nn.TransformerEncoder(layer, 2), nn.LayerNorm(16)

    def forward(self, words):
        length = words.shape[1]
        x = self.words(words) + self.positions(fl.arange(length, device=words.device))
        mask = nn.Transformer.generate_square_subsequent_mask(length, device=words.device)
        return self.norm(self.blocks(x, mask, is_causal=True)) @ self.words.weight.t()


class VAE(nn.Module):
    """A code drawn at random, and both losses."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(20, 16), nn.SiLU(), nn.Linear(16, 8))
        self.decoder = nn.Sequential(nn.Linear(4, 16), nn.SiLU(), nn.Linear(16, 20))

    def forward(self, x):
        mean, log_var = self.encoder(x).chunk(2, -1)
        code = mean + fl.randn_like(mean) * (0.5 * log_var).exp()
        divergence = -0.5 * (1 + log_var - mean ** 2 - log_var.exp()).sum(-1).mean()
        return F.binary_cross_entropy_with_logits(self.decoder(code), x) + 0.1 * divergence


class GAN(nn.Module):
    """Both networks' losses as one, the generator's through a discriminator held still."""

    def __init__(self) -> None:
        super().__init__()
        self.generator = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, 6))
        self.discriminator = nn.Sequential(nn.Linear(6, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))

    def forward(self, noise, real):
        fake = self.generator(noise)
        judged = self.discriminator(fl.cat([real, fake.detach()]))
        labels = fl.cat([fl.ones_like(judged[:len(real)]), fl.zeros_like(judged[len(real):])])
        held = {k: p.detach() for k, p in self.discriminator.named_parameters()}
        fooled = fl.func.functional_call(self.discriminator, held, (fake,))
        return F.binary_cross_entropy_with_logits(judged, labels) + F.softplus(-fooled).mean()


class GNN(nn.Module):
    """Messages along edges, added up at their ends, with weights from a softmax over each end."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(5, 8), nn.Linear(8, 3)
        self.score = nn.Linear(16, 1)

    def forward(self, nodes, edges):
        start, end = edges
        x = self.first(nodes)
        scores = F.leaky_relu(self.score(fl.cat([x[start], x[end]], -1)), 0.2).squeeze(-1).exp()
        total = fl.zeros(len(x), device=x.device).index_add(0, end, scores)
        weights = (scores / total[end]).unsqueeze(-1)
        return self.last(F.elu(fl.zeros_like(x).index_add(0, end, weights * x[start]) + x))


def _classes(model, data):
    *inputs, labels = data
    return F.cross_entropy(model(*inputs), labels)


def _next_words(model, data):
    words, = data
    return F.cross_entropy(model(words[:, :-1]).transpose(1, 2), words[:, 1:])


def _itself(model, data):
    return model(*data)


def _pictures() -> list[Any]:
    return [fl.randn(4, 3, 8, 8), fl.randint(0, 5, (4,))]


def _sentences() -> list[Any]:
    return [fl.randint(0, 20, (3, 7))]


#: name: the network, its data, its loss, its optimizer.
FAMILIES: dict[str, tuple[Callable, Callable, Loss, Callable]] = {
    "resnet": (ResNet, _pictures, _classes,
               lambda p: optim.SGD(p, 0.05, momentum=0.9, nesterov=True, weight_decay=1e-4)),
    "depthwise": (Depthwise, _pictures, _classes, lambda p: optim.RMSprop(p, 1e-3)),
    "unet": (UNet, lambda: [fl.randn(2, 2, 8, 8), fl.randint(0, 3, (2, 8, 8))], _classes,
             lambda p: optim.Adam(p, 1e-2)),
    "vit": (ViT, _pictures, _classes, lambda p: optim.AdamW(p, 1e-2)),
    "gpt": (GPT, _sentences, _next_words, lambda p: optim.AdamW(p, 1e-2, foreach=True)),
    "lstm": (Sentences, _sentences, _next_words, lambda p: optim.Adagrad(p, 0.1)),
    "seq2seq": (Seq2Seq, lambda: [*_sentences(), *_sentences()], _itself,
                lambda p: optim.NAdam(p, 1e-2)),
    "vae": (VAE, lambda: [fl.rand(6, 20).round()], _itself, lambda p: optim.Adamax(p, 1e-2)),
    "gan": (GAN, lambda: [fl.randn(6, 4), fl.randn(6, 6) + 2], _itself,
            lambda p: optim.Adam(p, 1e-2, betas=(0.5, 0.9))),
    "gnn": (GNN, lambda: [fl.randn(6, 5), fl.randint(0, 6, (2, 14)), fl.randint(0, 3, (6,))],
            _classes, lambda p: optim.Adadelta(p, 1.0)),
}


def train(name: str, device: str, steps: int = 10,
          watch: Callable[[], Any] = lambda: None) -> tuple[list[float], list[Any]]:
    """Train a family from the same weights and data, whatever the device.

    Args:
        name: one of ``FAMILIES``.
        device: where.
        steps: of the optimizer.
        watch: called before each step and after the last.

    Returns:
        The losses, and what ``watch`` gave.
    """
    network, data, loss_of, optimizer_of = FAMILIES[name]
    fl.manual_seed(0)
    model, given = network().to(device), [x.to(device) for x in data()]
    optimizer, losses, seen = optimizer_of(model.parameters()), [], []
    for step in range(steps):
        fl.manual_seed(step)
        seen.append(watch())
        optimizer.zero_grad()
        loss = loss_of(model, given)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        seen.append(watch())
        losses.append(loss.item())
    return losses, seen
