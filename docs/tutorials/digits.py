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

import argparse
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

import flambeau
from flambeau import Tensor, nn, optim
from flambeau.utils.data import DataLoader, TensorDataset


class Digits(NamedTuple):
    """Pictures of shape (N, 1, 8, 8) between 0 and 1, and labels of shape (N,)."""

    images: Tensor
    labels: Tensor


def load_digits() -> tuple[Digits, Digits]:
    """The digits to train on, and the quarter that is held out."""
    from sklearn import datasets
    from sklearn.model_selection import train_test_split

    digits = datasets.load_digits()
    parts = train_test_split(
        digits.images, digits.target, test_size=0.25, random_state=0, stratify=digits.target
    )
    train_images, test_images = (flambeau.tensor(a / 16).float().unsqueeze(1) for a in parts[:2])
    train_labels, test_labels = (flambeau.tensor(a).long() for a in parts[2:])
    return Digits(train_images, train_labels), Digits(test_images, test_labels)


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


def accuracy(predictions: Tensor, labels: Tensor) -> float:
    """The fraction of predictions that are right."""
    return (predictions == labels).float().mean().item()


def save_weights(model: nn.Module, path: Path) -> None:
    """Save what was learned, and check that a fresh model can take it over."""
    flambeau.save(model.state_dict(), path)
    make_model().load_state_dict(flambeau.load(path))


def save_program(model: nn.Module, example: Tensor, path: Path) -> Any:
    """Record what the model computes, save the record, and load it back."""
    flambeau.jit.trace(model, example).save(path)
    return flambeau.jit.load(path)


def plot_loss(history: list[float], path: Path) -> None:
    """Draw the mean loss of every epoch."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    axes.semilogy(range(1, len(history) + 1), history)
    axes.set_xlabel("epoch")
    axes.set_ylabel("mean loss")
    axes.grid(alpha=0.3)
    figure.savefig(path)


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


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Learn to read handwritten digits.")
    parser.add_argument("--out", type=Path, default=Path("digits"), help="folder for the results")
    parser.add_argument("--epochs", type=int, default=30, help="passes over the training digits")
    parser.add_argument("--seed", type=int, default=0, help="where random numbers begin")
    return parser.parse_args()


def main() -> None:
    """Train, evaluate, and write the results."""
    arguments = parse_arguments()
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    flambeau.manual_seed(arguments.seed)

    train_digits, test_digits = load_digits()
    model = make_model()
    history = train(model, train_digits, arguments.epochs)

    model.eval()
    predictions = predict(model, test_digits.images)
    right = accuracy(predictions, test_digits.labels)
    print(f"{right:.2%} of {len(predictions)} held-out digits are read correctly")

    save_weights(model, out / "digits.safetensors")
    plot_loss(history, out / "loss.png")
    plot_predictions(test_digits, predictions, out / "predictions.png")

    program = save_program(model, test_digits.images[:1], out / "digits.program")
    same = bool((predict(program, test_digits.images) == predictions).all())
    print(f"the saved program, loaded back, predicts the same: {same}")
    print(f"see {out}/loss.png and {out}/predictions.png")


if __name__ == "__main__":
    main()
