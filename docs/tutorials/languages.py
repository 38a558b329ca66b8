"""A recurrent network hears in which language a name is said, and is never given padding.

    python languages.py --out results

The data are the names of countries, languages and currencies in twelve languages, from the
Unicode consortium's locale data, which the package Babel ships. Names have 2 to 60 letters; a
batch of them is one packed sequence, in which the LSTM does no work for the ends of short ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from helpers import accuracy, options, plot_curves, report, start
from tqdm import tqdm

import flambeau
from flambeau import Tensor, nn, optim
from flambeau.nn import functional as F
from flambeau.nn.utils.rnn import PackedSequence, pack_sequence
from flambeau.utils.data import DataLoader

LANGUAGES = ("cs", "de", "es", "fi", "fr", "hu", "it", "nl", "pl", "pt", "sv", "tr")


class Name(NamedTuple):
    """The numbers of its letters, of shape (length,), and the number of its language."""

    letters: Tensor
    language: int


def load_names() -> list[tuple[str, int]]:
    """Names that only one of the languages has, in a fixed random order."""
    from babel import Locale

    names: list[tuple[str, int]] = []
    for number, code in enumerate(LANGUAGES):
        locale = Locale(code)
        said = {
            *locale.territories.values(),
            *locale.languages.values(),
            *locale.currencies.values(),
        }
        names += [(name, number) for name in sorted(said) if len(name) > 1]
    known = Counter(name for name, _ in names)
    names = [each for each in names if known[each[0]] == 1]
    Random(0).shuffle(names)
    return names


def collate(names: Sequence[Name]) -> tuple[PackedSequence, Tensor]:
    """A batch: packed letters, and languages of shape (N,)."""
    letters = pack_sequence([name.letters for name in names], enforce_sorted=False)
    return letters, flambeau.tensor([name.language for name in names])


class Listener(nn.Module):
    """An LSTM in both directions, and a decision from what both remember at the end."""

    def __init__(self, letters: int, width: int = 128) -> None:
        super().__init__()
        self.embedding = nn.Embedding(letters, 48)
        self.lstm = nn.LSTM(48, width, bidirectional=True)
        self.decide = nn.Sequential(nn.Dropout(0.3), nn.Linear(2 * width, len(LANGUAGES)))

    def forward(self, names: PackedSequence) -> Tensor:
        """Packed letters to scores of shape (N, languages)."""
        _, (memory, _) = self.lstm(names._replace(data=self.embedding(names.data)))
        return self.decide(memory.transpose(0, 1).flatten(1))


def train(model: nn.Module, names: Sequence[Name], epochs: int) -> list[float]:
    """Teach the model, and return the mean loss of every epoch."""
    batches = DataLoader(names, batch_size=64, shuffle=True, collate_fn=collate)
    steps = epochs * len(batches)
    optimizer = optim.AdamW(model.parameters(), lr=4e-3)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=4e-3, total_steps=steps)
    history = []
    model.train()
    progress = tqdm(range(epochs), desc="training", unit="epoch")
    for _ in progress:
        total = 0.0
        for letters, languages in batches:
            loss = F.cross_entropy(model(letters), languages)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total += loss.item() * len(languages)
        history.append(total / len(names))
        progress.set_postfix(loss=f"{history[-1]:.4f}")
    return history


def predict(model: nn.Module, names: Sequence[Name]) -> Tensor:
    """The language that the model takes each name for."""
    model.eval()
    with flambeau.no_grad():
        batches = DataLoader(names, batch_size=256, collate_fn=collate)
        return flambeau.cat([model(letters).argmax(dim=1) for letters, _ in batches])


def draw_confusion(path: Any, guesses: Tensor, languages: Tensor) -> None:
    """Draw which language was taken for which."""
    from matplotlib.figure import Figure

    kinds = len(LANGUAGES)
    counts = (languages * kinds + guesses).bincount(minlength=kinds**2).reshape(kinds, kinds)
    figure = Figure(figsize=(5, 4.5), layout="constrained")
    axes = figure.subplots()
    shares = counts / counts.sum(dim=1, keepdim=True).clamp(min=1)
    axes.imshow(shares.sqrt().tolist(), cmap="Blues")
    axes.set_xticks(range(kinds), LANGUAGES)
    axes.set_yticks(range(kinds), LANGUAGES)
    axes.set(xlabel="taken for", ylabel="language of the name")
    figure.savefig(path)


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Train, evaluate, and write the results."""
    parser = options("Hear in which language a name is.", "languages")
    parser.add_argument("--epochs", type=int, default=12, help="passes over the names")
    parser.add_argument("--names", type=int, default=None, help="how many names to train on")
    parser.add_argument("--width", type=int, default=128, help="units in each direction")
    arguments = parser.parse_args(argv)
    began = start(arguments)

    texts = load_names()
    alphabet = {
        letter: i for i, letter in enumerate(sorted({c for name, _ in texts for c in name}))
    }
    names = [Name(flambeau.tensor([alphabet[c] for c in name]), i) for name, i in texts]
    held_out, rest = names[:2000], names[2000:][: arguments.names]
    model = Listener(len(alphabet), arguments.width)
    losses = train(model, rest, arguments.epochs)
    guesses = predict(model, held_out)
    truth = flambeau.tensor([name.language for name in held_out])

    for (name, _), guess in list(zip(texts, guesses.tolist(), strict=False))[:8]:
        print(f"{name}: {LANGUAGES[guess]}")
    draw_confusion(arguments.out / "confusion.png", guesses, truth)
    plot_curves(arguments.out / "loss.png", "loss per name", "epoch", {"loss": losses})
    return report({"loss": losses, "held-out accuracy": accuracy(guesses, truth)}, began)


if __name__ == "__main__":
    main()
