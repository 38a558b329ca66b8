"""A GPT or an LSTM learns to write, letter by letter, from the manual of Python's language.

    python letters.py --network gpt --out results
    python letters.py --network lstm --out results

The text is what `help()` shows of the language, which comes with Python. Both networks guess the
next letter of 64 at once, and write a text of their own at the end: the GPT with a key-value
cache, the LSTM with its state, so that a letter costs the same wherever it stands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from helpers import load_text, options, plot_curves, report, start
from tqdm import tqdm

import flambeau
from flambeau import Tensor, nn, optim
from flambeau.nn import functional as F

CONTEXT = 64
Reader = Callable[[Tensor], Tensor]


class GPT(nn.Module):
    """A decoder: each letter attends to those before it."""

    def __init__(self, letters: int, width: int, layers: int) -> None:
        super().__init__()
        self.letters = nn.Embedding(letters, width)
        self.positions = nn.Embedding(CONTEXT, width)
        block = nn.TransformerEncoderLayer(
            width,
            nhead=4,
            dim_feedforward=4 * width,
            dropout=0.0,
            activation="gelu",
            batch_first=True,
            norm_first=True,
        )
        norm = nn.LayerNorm(width)
        self.blocks = nn.TransformerEncoder(block, layers, norm, enable_nested_tensor=False)
        self.score = nn.Linear(width, letters)

    def forward(self, ids: Tensor) -> Tensor:
        """Letters of shape (N, L) to scores of the next, of shape (N, L, letters)."""
        length = ids.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        x = self.letters(ids) + self.positions(flambeau.arange(length))
        return self.score(self.blocks(x, mask, is_causal=True))

    def reader(self) -> Reader:
        """A function that continues reading where its last call stopped, up to the context."""
        from flambeau.nn.attention import KeyValueCache

        cache = KeyValueCache(len(self.blocks.layers), max_length=CONTEXT)

        def read(ids: Tensor) -> Tensor:
            if cache.length + ids.shape[1] > CONTEXT:
                raise ValueError(f"the network was made for {CONTEXT} letters")
            positions = flambeau.arange(cache.length, cache.length + ids.shape[1])
            x = self.letters(ids) + self.positions(positions)
            return self.score(self.blocks(x, cache=cache))

        return read


class LSTM(nn.Module):
    """A state that is carried from letter to letter."""

    def __init__(self, letters: int, width: int, layers: int) -> None:
        super().__init__()
        self.letters = nn.Embedding(letters, width)
        self.lstm = nn.LSTM(width, 2 * width, layers, batch_first=True)
        self.score = nn.Linear(2 * width, letters)

    def forward(self, ids: Tensor) -> Tensor:
        """Letters of shape (N, L) to scores of the next, of shape (N, L, letters)."""
        return self.score(self.lstm(self.letters(ids))[0])

    def reader(self) -> Reader:
        """A function that continues reading where its last call stopped."""
        state: Any = None

        def read(ids: Tensor) -> Tensor:
            nonlocal state
            output, state = self.lstm(self.letters(ids), state)
            return self.score(output)

        return read


NETWORKS: dict[str, type[GPT] | type[LSTM]] = {"gpt": GPT, "lstm": LSTM}


def cut(ids: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
    """Pieces of the text at some positions, and the same one letter later."""
    positions = starts.unsqueeze(1) + flambeau.arange(CONTEXT + 1)
    pieces = ids[positions]
    return pieces[:, :-1], pieces[:, 1:]


def loss_of(model: nn.Module, pieces: tuple[Tensor, Tensor]) -> Tensor:
    """Nats per letter."""
    ids, following = pieces
    return F.cross_entropy(model(ids).flatten(0, 1), following.flatten())


def train(model: nn.Module, ids: Tensor, steps: int, batch: int) -> list[float]:
    """Teach the model random pieces of the text, and return the loss of every step."""
    optimizer = optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=2e-3, total_steps=steps)
    losses = []
    progress = tqdm(range(steps), desc="training", unit="step")
    for _ in progress:
        loss = loss_of(model, cut(ids, flambeau.randint(0, len(ids) - CONTEXT, (batch,))))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        progress.set_postfix(loss=f"{losses[-1]:.4f}")
    return losses


@flambeau.no_grad()
def evaluate(model: nn.Module, ids: Tensor) -> float:
    """Nats per letter of a text that was not trained on."""
    starts = flambeau.arange(0, len(ids) - CONTEXT, CONTEXT)[:512]
    losses = [loss_of(model, cut(ids, part)) * len(part) for part in starts.split(64)]
    return float(sum(losses)) / len(starts)


@flambeau.no_grad()
def write(model: GPT | LSTM, ids: Tensor, count: int, temperature: float = 0.8) -> Tensor:
    """Continue a text: letters of shape (L,) become (L + count,).

    A GPT whose context is full begins again with the second half of it.
    """
    read, fresh = model.reader(), ids[-CONTEXT // 2 :]
    seen = 0
    for _ in tqdm(range(count), desc="writing", unit="letter"):
        if isinstance(model, GPT) and seen + len(fresh) > CONTEXT:
            read, fresh, seen = model.reader(), ids[-CONTEXT // 2 :], 0
        scores = read(fresh.unsqueeze(0))[0, -1] / temperature
        seen += len(fresh)
        fresh = flambeau.multinomial(scores.softmax(dim=0), 1)
        ids = flambeau.cat([ids, fresh])
    return ids


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Train, evaluate, and write."""
    parser = options("Learn to write letter by letter.", "letters")
    parser.add_argument("--network", choices=sorted(NETWORKS), default="gpt")
    parser.add_argument("--steps", type=int, default=800, help="batches to train on")
    parser.add_argument("--batch", type=int, default=32, help="pieces of text in a batch")
    parser.add_argument("--width", type=int, default=128, help="numbers that describe a letter")
    parser.add_argument("--layers", type=int, default=2, help="layers of the network")
    parser.add_argument("--letters", type=int, default=600, help="how many letters to write")
    arguments = parser.parse_args(argv)
    began = start(arguments)

    text = load_text()
    alphabet = sorted(set(text))
    ids = flambeau.tensor([alphabet.index(letter) for letter in text])
    split = len(ids) * 9 // 10
    model = NETWORKS[arguments.network](len(alphabet), arguments.width, arguments.layers)
    losses = train(model, ids[:split], arguments.steps, arguments.batch)
    model.eval()
    held_out = evaluate(model, ids[split:])

    if arguments.letters:
        prompt = flambeau.tensor([alphabet.index(letter) for letter in "The "])
        story = "".join(alphabet[i] for i in write(model, prompt, arguments.letters).tolist())
        print(story)
        (arguments.out / f"{arguments.network}.txt").write_text(story)
    title = f"{arguments.network}: nats per letter"
    plot_curves(arguments.out / "loss.png", title, "step", {"loss": losses})
    figures = {"loss": losses, "held-out loss": held_out, "bits per letter": held_out / math.log(2)}
    return report(figures, began)


if __name__ == "__main__":
    main()
