"""What weights in few bits cost and save, on real data: ``python benchmarks/few_bits.py``.

Two networks are trained, one on the digits that scikit-learn ships, one to continue the texts by
which it describes its datasets; then accuracy on data that they have not seen, the size of their
state and the time of a call, in float32 and with weights in fewer bits.
"""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Callable
from pathlib import Path

import flambeau as fl
import flambeau.nn.functional as F
from flambeau import nn

CONTEXT = 48
FORMS: dict[str, Callable[[nn.Module], nn.Module]] = {
    "float32": lambda model: model,
    "bfloat16 weights": lambda model: nn.utils.quantize_weights(model, "bfloat16"),
    "int8, inputs too": nn.utils.quantize_dynamic,
    "int8 weights": lambda model: nn.utils.quantize_weights(model, "int8", group=0),
    "int4 weights": lambda model: nn.utils.quantize_weights(model, "int4", symmetric=False),
}


class Reader(nn.Module):
    """A small transformer over characters: the scores of the next one at each place."""

    def __init__(self, letters: int, width: int = 128, layers: int = 2) -> None:
        super().__init__()
        self.table = nn.Embedding(letters, width)
        self.places = nn.Embedding(CONTEXT, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(layers))
        self.scores = nn.Linear(width, letters)

    def forward(self, text: fl.Tensor) -> fl.Tensor:
        x = self.table(text) + self.places(fl.arange(text.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.scores(x)


class Block(nn.Module):
    """Attention to what came before, and two layers."""

    def __init__(self, width: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.joined, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: fl.Tensor) -> fl.Tensor:
        parts = self.joined(self.first(x)).chunk(3, -1)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).flatten(2))
        return x + self.narrow(F.gelu(self.wide(self.second(x))))


def digits() -> tuple[fl.Tensor, fl.Tensor]:
    """Images and classes, in an order of their own."""
    from sklearn.datasets import load_digits

    data = load_digits()
    order = fl.randperm(len(data.target))
    images = fl.tensor(data.images / 16, dtype=fl.float32).unsqueeze(1)
    return images[order], fl.tensor(data.target)[order]


def texts() -> tuple[fl.Tensor, int]:
    """The numbers of the letters of all descriptions, and how many letters there are."""
    import sklearn.datasets

    folder = Path(sklearn.datasets.__file__).parent / "descr"
    text = "\n".join(path.read_text("utf-8") for path in sorted(folder.glob("*.rst")))
    letters = sorted(set(text))
    return fl.tensor([letters.index(letter) for letter in text]), len(letters)


def train(model: nn.Module, loss: Callable[[], fl.Tensor], steps: int) -> None:
    """Steps of AdamW whose rate falls to zero."""
    optimizer = fl.optim.AdamW(model.parameters(), lr=3e-3)
    rate = fl.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(steps):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
        rate.step()
    model.eval()


def trained_on_digits(steps: int) -> tuple[nn.Module, Callable[[nn.Module], float], fl.Tensor]:
    """A network, the part of unseen images that a network reads rightly, and one image."""
    images, classes = digits()
    model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                          nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    seen, held = images[:1200], images[1200:]

    def loss() -> fl.Tensor:
        at = fl.randint(0, len(seen), (64,))
        return F.cross_entropy(model(seen[at]), classes[:1200][at])

    train(model, loss, steps)
    return (model, lambda net: float((net(held).argmax(1) == classes[1200:]).float().mean()),
            held[:1])


def trained_on_texts(steps: int) -> tuple[nn.Module, Callable[[nn.Module], float], fl.Tensor]:
    """A network, the part of next letters of unseen text that a network knows, and one text."""
    text, letters = texts()
    model = Reader(letters)
    parts = text[:len(text) // (CONTEXT + 1) * (CONTEXT + 1)].reshape(-1, CONTEXT + 1)
    parts = parts[fl.randperm(len(parts))]
    seen, held = parts[100:], parts[:100]

    def loss() -> fl.Tensor:
        rows = seen[fl.randint(0, len(seen), (32,))]
        return F.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())

    train(model, loss, steps)
    return (model, lambda net: float((net(held[:, :-1]).argmax(2) == held[:, 1:]).float().mean()),
            held[:1, :-1])


def size(model: nn.Module) -> int:
    """The bytes of its state as a file."""
    file = io.BytesIO()
    fl.save(model.state_dict(), file)
    return len(file.getvalue())


def rows(steps: int) -> list[tuple[str, str, float, float, float]]:
    """Network, form, accuracy, kilobytes, microseconds of a call, the best of some."""
    found = []
    for name, make in (("digits", trained_on_digits), ("texts", trained_on_texts)):
        model, accuracy, example = make(steps)
        nets = {form: change(model).eval() for form, change in FORMS.items()}
        best = dict.fromkeys(nets, float("inf"))
        with fl.no_grad():
            for _ in range(30):             # in turns, as other work disturbs all of them alike
                for form, net in nets.items():
                    start = time.perf_counter()
                    net(example)
                    best[form] = min(best[form], time.perf_counter() - start)
            found += [(name, form, accuracy(net), size(net) / 1e3, best[form] * 1e6)
                      for form, net in nets.items()]
    return found


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=400)
    fl.manual_seed(0)
    print("| network | weights | right | size | one call |\n|---|---|--:|--:|--:|")
    for name, form, right, kilobytes, micros in rows(parser.parse_args().steps):
        print(f"| {name} | {form} | {right:.2%} | {kilobytes:.0f} kB | {micros:.0f} µs |")


if __name__ == "__main__":
    main()
