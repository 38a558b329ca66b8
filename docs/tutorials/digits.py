"""Learn to read handwritten digits: from pictures to a saved program in about a minute.

The pictures are the 1,797 digits of 8 by 8 pixels that scikit-learn ships. Three quarters of them
train a small convolutional network; the rest shows how well it reads digits it has never seen.

    python digits.py --out results

writes into ``results``:

    digits.safetensors   the learned weights
    digits.program       the traced network, which runs without this file
    loss.png             how the training went
    predictions.png      held-out digits, and what the network takes them for
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from helpers import Digits, accuracy, load_digits, options, plot_curves, report, start
from tqdm import tqdm

import flambeau
from flambeau import Tensor, nn, optim
from flambeau.utils.data import DataLoader, TensorDataset


def make_model() -> nn.Sequential:
    """Two convolutions that look at 5 by 5 pixels together, and a linear layer that decides."""
    return nn.Sequential(
        nn.Conv2d(1, 32, kernel_size=3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Conv2d(32, 64, kernel_size=3, padding=1),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.25),
        nn.Linear(64 * 4 * 4, 10),
    )


def shift(images: Tensor) -> Tensor:
    """Move a batch by up to one pixel in each direction: the same digits, drawn elsewhere."""
    framed = flambeau.zeros(len(images), 1, 10, 10)
    framed[:, :, 1:9, 1:9] = images
    top, left = flambeau.randint(0, 3, (2,)).tolist()
    return framed[:, :, top : top + 8, left : left + 8]


def train(model: nn.Module, digits: Digits, epochs: int) -> list[float]:
    """Teach the model, and return the mean loss of every epoch."""
    batches = DataLoader(TensorDataset(*digits), batch_size=32, shuffle=True)
    loss_function = nn.CrossEntropyLoss()
    optimizer = optim.AdamW(model.parameters(), lr=3e-3)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
    history = []
    model.train()
    progress = tqdm(range(epochs), desc="training", unit="epoch")
    for _ in progress:
        total = 0.0
        for images, labels in batches:
            loss = loss_function(model(shift(images)), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(images)
        schedule.step()
        history.append(total / len(digits.images))
        progress.set_postfix(loss=f"{history[-1]:.4f}")
    return history


def predict(model: Any, images: Tensor) -> Tensor:
    """The digit that the model takes each picture for."""
    with flambeau.no_grad():
        return model(images).argmax(dim=1)


def save_weights(model: nn.Module, path: Path) -> None:
    """Save what was learned, and check that a fresh model can take it over."""
    flambeau.save(model.state_dict(), path)
    make_model().load_state_dict(flambeau.load(path))


def save_program(model: nn.Module, example: Tensor, path: Path) -> Any:
    """Record what the model computes, save the record, and load it back."""
    flambeau.jit.trace(model, example).save(path)
    return flambeau.jit.load(path)


def plot_predictions(digits: Digits, predictions: Tensor, path: Path) -> None:
    """Draw 40 held-out digits with their predictions, mistakes first and in red."""
    from matplotlib.figure import Figure

    mistakes_first = (predictions == digits.labels).int().argsort(stable=True)
    figure = Figure(figsize=(8, 5), layout="constrained")
    cells = figure.subplots(5, 8).flat
    for axes, i in zip(cells, mistakes_first[:40].tolist(), strict=True):
        guess, label = predictions[i].item(), digits.labels[i].item()
        axes.imshow(digits.images[i, 0].tolist(), cmap="gray_r")
        axes.axis("off")
        if guess == label:
            axes.set_title(str(guess))
        else:
            axes.set_title(f"{guess}, is {label}", color="red")
    figure.savefig(path)


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Train, evaluate, and write the results."""
    parser = options("Learn to read handwritten digits.", "digits")
    parser.add_argument("--epochs", type=int, default=30, help="passes over the training digits")
    arguments = parser.parse_args(argv)
    out: Path = arguments.out
    began = start(arguments)

    train_digits, test_digits = load_digits()
    model = make_model()
    history = train(model, train_digits, arguments.epochs)

    model.eval()
    predictions = predict(model, test_digits.images)
    right = accuracy(predictions, test_digits.labels)

    save_weights(model, out / "digits.safetensors")
    plot_curves(out / "loss.png", "mean loss", "epoch", {"training": history})
    plot_predictions(test_digits, predictions, out / "predictions.png")

    program = save_program(model, test_digits.images[:1], out / "digits.program")
    same = accuracy(predict(program, test_digits.images), predictions)
    print(f"see {out}/loss.png and {out}/predictions.png")
    figures = {"loss": history, "held-out accuracy": right, "program agrees": same}
    return report(figures, began)


if __name__ == "__main__":
    main()
