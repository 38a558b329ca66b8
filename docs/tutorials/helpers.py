"""What the scripts of the gallery share: data that comes with packages, options and pictures."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import flambeau
from flambeau import Tensor


class Digits(NamedTuple):
    """Pictures of shape (N, 1, 8, 8) between 0 and 1, and labels of shape (N,)."""

    images: Tensor
    labels: Tensor


def load_digits() -> tuple[Digits, Digits]:
    """The 1,797 digits of scikit-learn: those to train on, and the quarter that is held out."""
    from sklearn import datasets
    from sklearn.model_selection import train_test_split

    digits = datasets.load_digits()
    parts = train_test_split(
        digits.images, digits.target, test_size=0.25, random_state=0, stratify=digits.target
    )
    train_images, test_images = (flambeau.tensor(a / 16).float().unsqueeze(1) for a in parts[:2])
    train_labels, test_labels = (flambeau.tensor(a).long() for a in parts[2:])
    return Digits(train_images, train_labels), Digits(test_images, test_labels)


def load_text() -> str:
    """What `help()` knows of Python's language: half a million letters of English."""
    from pydoc_data import topics

    pages = (topics.topics[name] for name in sorted(topics.topics))
    return "\n".join(pages).encode("ascii", "ignore").decode()


def accuracy(predictions: Tensor, labels: Tensor) -> float:
    """The fraction of predictions that are right."""
    return (predictions == labels).float().mean().item()


def options(description: str, out: str) -> argparse.ArgumentParser:
    """The command line that all scripts have; each adds what it needs."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=Path, default=Path(out), help="folder for the results")
    parser.add_argument("--seed", type=int, default=0, help="where random numbers begin")
    return parser


def start(arguments: argparse.Namespace) -> float:
    """Make the folder for results, seed all random numbers, and return the time."""
    arguments.out.mkdir(parents=True, exist_ok=True)
    flambeau.manual_seed(arguments.seed)
    return time.perf_counter()


def report(figures: dict[str, Any], began: float) -> dict[str, Any]:
    """Print the last value of each figure, and the seconds that all took."""
    for name, value in figures.items():
        last = value[-1] if isinstance(value, list) else value
        print(f"{name}: {last:.4f}")
    print(f"seconds: {time.perf_counter() - began:.1f}")
    return figures


def plot_curves(path: Path, title: str, step: str, curves: dict[str, Sequence[float]]) -> None:
    """Draw one line per name over the steps of training."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    for name, values in curves.items():
        axes.plot(range(1, len(values) + 1), values, label=name)
    axes.set(xlabel=step, title=title)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path)


def draw_pictures(
    path: Path, pictures: Tensor, columns: int = 10, titles: Sequence[str] | None = None
) -> None:
    """Draw pictures of shape (N, height, width) in a grid, dark where they are large."""
    from matplotlib.figure import Figure

    rows = -(-len(pictures) // columns)
    figure = Figure(figsize=(0.7 * columns, 0.8 * rows), layout="constrained")
    cells = figure.subplots(rows, columns, squeeze=False).flat
    for index, axes in enumerate(cells):
        axes.axis("off")
        if index < len(pictures):
            axes.imshow(pictures[index].tolist(), cmap="gray_r")
        if titles is not None and index < len(titles):
            axes.set_title(titles[index], fontsize="small")
    figure.savefig(path)
