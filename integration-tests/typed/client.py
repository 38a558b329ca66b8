"""A program with types, as a user writes it: ``test_typed.py`` checks it with mypy and pyright.

It trains a small network on images that it draws, saves it, loads it and looks at it with the
transforms and the compiler. It runs, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import flambeau
import flambeau.nn.functional as F
from flambeau import Tensor, nn, optim
from flambeau.autograd import Function
from flambeau.func import functional_call
from flambeau.nn import Module, Parameter
from flambeau.optim.lr_scheduler import CosineAnnealingLR
from flambeau.utils.data import DataLoader, Dataset, TensorDataset, random_split


class Batch(NamedTuple):
    """Images and their classes."""

    images: Tensor
    labels: Tensor


@dataclass
class Options:
    """What a run depends on."""

    classes: int = 3
    width: int = 8
    epochs: int = 2
    batch_size: int = 16
    lr: float = 0.01
    device: flambeau.device = field(default_factory=lambda: flambeau.device("cpu"))
    dtype: flambeau.dtype = flambeau.float32


class Squares(Dataset[tuple[Tensor, int]]):
    """Images with a bright square, whose row is the class."""

    def __init__(self, count: int, classes: int, seed: int = 0) -> None:
        generator = flambeau.Generator().manual_seed(seed)
        self.noise = flambeau.rand(count, 1, 12, 12, generator=generator)
        self.labels = flambeau.randint(0, classes, (count,), generator=generator)

    def __len__(self) -> int:
        return self.noise.shape[0]

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        label = int(self.labels[index].item())
        image = self.noise[index].clone()
        image[:, 4 * label : 4 * label + 4, 4:8] += 1.0
        return image, label


class Scaled(Function):
    """Multiplication with a derivative of its own."""

    @staticmethod
    def forward(ctx: flambeau.autograd.function.FunctionCtx, x: Tensor, factor: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(
        ctx: flambeau.autograd.function.FunctionCtx, grad: Tensor
    ) -> tuple[Tensor, None]:
        return grad * ctx.factor, None


class Block(Module):
    """Convolution, normalization, activation, pooling."""

    def __init__(self, channels: int, width: int, activation: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, width, kernel_size=3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(width)
        self.gain = Parameter(flambeau.ones(width, 1, 1))
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        x = self.activation(self.norm(self.conv(x)) * self.gain)
        pooled, indices = F.max_pool2d(x, 2, return_indices=True)
        assert indices.dtype == flambeau.int64
        return pooled


class Classifier(Module):
    """Two blocks and a linear layer."""

    def __init__(self, options: Options) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([
            Block(1, options.width, F.relu),
            Block(options.width, options.width, F.gelu),
        ])
        self.head = nn.Linear(options.width * 9, options.classes)
        self.register_buffer("seen", flambeau.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        features: Tensor = F.dropout(x.flatten(1), p=0.1, training=self.training)
        scores: Tensor = self.head(features)
        return scores


def evaluate(model: Module, batches: Sequence[Batch]) -> tuple[float, Tensor]:
    """The share of right answers, and how often each class was given."""
    right, total = 0, 0
    counts = flambeau.zeros(3, dtype=flambeau.int64)
    model.eval()
    with flambeau.no_grad():
        for images, labels in batches:
            scores: Tensor = model(images)
            values, classes = scores.max(dim=1)
            assert values.shape == labels.shape
            right += int((classes == labels).sum())
            total += labels.numel()
            counts += flambeau.bincount(classes, minlength=3)
    return right / total, counts


def batches_of(loader: DataLoader[tuple[Tensor, int]]) -> Iterator[Batch]:
    """The loader's batches, by name."""
    for images, labels in loader:
        yield Batch(images, flambeau.as_tensor(labels))


def train(model: Classifier, loader: DataLoader[tuple[Tensor, int]], options: Options) -> float:
    """All epochs; the last loss."""
    optimizer = optim.AdamW(model.parameters(), lr=options.lr, weight_decay=1e-4)
    scheduler = CosineAnnealingLR(optimizer, T_max=options.epochs)
    last = flambeau.inf
    for _ in range(options.epochs):
        model.train()
        for images, labels in batches_of(loader):
            scores: Tensor = model(images.to(options.device, options.dtype))
            loss = F.cross_entropy(scores, labels, label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=5.0)
            assert bool(flambeau.isfinite(norm))
            optimizer.step()
            last = float(loss)
        scheduler.step()
    return last


def save_and_load(model: Classifier, options: Options, folder: Path) -> Classifier:
    """A copy of the model by way of a file."""
    file = folder / "classifier.safetensors"
    flambeau.save(model.state_dict(), file)
    copy = Classifier(options)
    copy.load_state_dict(flambeau.load(file))
    return copy


def statistics(model: Classifier) -> dict[str, tuple[flambeau.Size, float]]:
    """Shape and root mean square of each parameter."""
    found: dict[str, tuple[flambeau.Size, float]] = {}
    for name, parameter in model.named_parameters():
        assert parameter.requires_grad and parameter.is_leaf
        found[name] = parameter.shape, parameter.detach().square().mean().sqrt().item()
    return found


def gradients(model: Classifier, batch: Batch) -> dict[str, Tensor]:
    """Gradients as a transform gives them."""
    parameters = {name: p.detach() for name, p in model.named_parameters()}

    def loss_of(values: dict[str, Tensor]) -> Tensor:
        scores = functional_call(model, values, (batch.images,))
        return F.cross_entropy(scores, batch.labels)

    grads: dict[str, Tensor] = flambeau.func.grad(loss_of)(parameters)
    return grads


def linear_algebra(seed: int) -> tuple[Tensor, Tensor]:
    """A system, solved twice."""
    generator = flambeau.Generator().manual_seed(seed)
    a = flambeau.randn(4, 4, generator=generator, dtype=flambeau.float64)
    matrix = a @ a.mT + flambeau.eye(4, dtype=flambeau.float64)
    right = matrix.sum(dim=1, keepdim=True)
    factor, pivots = flambeau.linalg.lu_factor(matrix)
    assert pivots.shape[-1] == 4
    spectrum = flambeau.fft.rfft(right.squeeze(1))
    assert spectrum.is_complex() and 1.0 - spectrum.abs().amin() <= 1.0
    return flambeau.linalg.solve(matrix, right), flambeau.linalg.lu_solve(factor, pivots, right)


def higher_order(x: float) -> tuple[float, float]:
    """First and second derivative of a function with a custom derivative."""
    point = flambeau.tensor(x, requires_grad=True)
    y: Tensor = Scaled.apply(point**3, 2.0)
    (first,) = flambeau.autograd.grad(y, point, create_graph=True)
    (second,) = flambeau.autograd.grad(first, point)
    return first.item(), second.item()


def compiled(x: Tensor) -> Tensor:
    """The same numbers from compiled code."""

    def function(x: Tensor) -> Tensor:
        return (x.sin() ** 2 + x.cos() ** 2).log1p() - 2 * x.tanh()

    program = flambeau.jit.trace(function, (x,))
    result: Tensor = program(x)
    assert flambeau.allclose(result, function(x))
    return result


def main(folder: Path) -> float:
    """Everything; the share of right answers."""
    options = Options()
    flambeau.manual_seed(0)
    train_part, test_part = random_split(Squares(96, options.classes), [80, 16])
    model = Classifier(options)
    train(model, DataLoader(train_part, batch_size=options.batch_size, shuffle=True), options)
    batches = list(batches_of(DataLoader(test_part, batch_size=options.batch_size)))
    copy = save_and_load(model, options, folder)
    share, counts = evaluate(copy, batches)
    assert int(counts.sum()) == len(TensorDataset(batches[0].labels))
    assert set(statistics(copy)) == set(gradients(copy, batches[0]))
    ones, same = linear_algebra(1)
    assert flambeau.allclose(ones, same)
    assert higher_order(2.0) == (24.0, 24.0)
    compiled(flambeau.linspace(-1.0, 1.0, 9))
    print(f"{share:.0%} right", counts.tolist(), ones.T.tolist()[0][:1])
    return share
