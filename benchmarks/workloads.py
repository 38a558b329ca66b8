"""The work that is timed, written once in the names that both frameworks share.

`workloads(T)` returns named pieces of work for a top-level module `T` (torch or flambeau). A piece
is a function that prepares its data and returns the function to time. The word before the dot
is the group that its ratio is averaged in.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

Run = Callable[[], Any]
Make = Callable[[], Run]

CALLS = 500  # of a tiny operator in one timed run


def workloads(T: ModuleType) -> dict[str, Make]:
    """Return every piece of work by name."""
    return {
        **small_calls(T),
        **pointwise(T),
        **products(T),
        **reductions(T),
        **movement(T),
        **layers(T),
        **optimizers(T),
        **training(T),
        **loading(T),
    }


def repeated(work: Callable[..., Any], *inputs: Any) -> Make:
    """Return a piece that calls `work` many times on inputs that are made once."""

    def make() -> Run:
        values = [value() if callable(value) else value for value in inputs]

        def run() -> None:
            for _ in range(CALLS):
                work(*values)

        return run

    return make


def once(work: Callable[..., Any], *inputs: Callable[[], Any]) -> Make:
    """Return a piece that calls `work` once on inputs that are made once."""

    def make() -> Run:
        values = [value() for value in inputs]
        return lambda: work(*values)

    return make


def small_calls(T: ModuleType) -> dict[str, Make]:
    """What one call costs when the data is tiny."""

    def vector() -> Any:
        return T.randn(8)

    def matrix() -> Any:
        return T.randn(8, 8)

    def leaf() -> Any:
        return T.randn(8).requires_grad_(True)

    return {
        "small.add": repeated(lambda a, b: a + b, vector, vector),
        "small.add number": repeated(lambda a: a + 2.5, vector),
        "small.add in place": repeated(lambda a, b: a.add_(b, alpha=0.0), vector, vector),
        "small.broadcast": repeated(lambda a, b: a + b, matrix, vector),
        "small.transposed": repeated(lambda a: a.t() + 1.0, matrix),
        "small.mul with grad": repeated(lambda a, b: a * b, leaf, vector),
        "small.exp": repeated(lambda a: a.exp(), vector),
        "small.sum": repeated(lambda a: a.sum(), vector),
        "small.matmul": repeated(lambda a, b: a @ b, matrix, matrix),
        "small.slice": repeated(lambda a: a[1:5], vector),
        "small.reshape": repeated(lambda a: a.reshape(2, 4), vector),
        "small.softmax": repeated(lambda a: a.softmax(-1), matrix),
    }


def pointwise(T: ModuleType) -> dict[str, Make]:
    """Element by element over two million numbers."""

    def block() -> Any:
        return T.randn(1024, 2048)

    def column() -> Any:
        return T.randn(1024, 1)

    return {
        "pointwise.add": once(lambda a, b: a + b, block, block),
        "pointwise.column": once(lambda a, b: a * b, block, column),
        "pointwise.transposed": once(lambda a, b: a.t() + b.t(), block, block),
        "pointwise.exp": once(lambda a: a.exp(), block),
        "pointwise.sigmoid": once(lambda a: a.sigmoid(), block),
        "pointwise.where": once(lambda a, b: T.where(a > b, a, b), block, block),
    }


def products(T: ModuleType) -> dict[str, Make]:
    """Matrix products, large, skinny and batched."""

    def square(n: int) -> Callable[[], Any]:
        return lambda: T.randn(n, n)

    return {
        "products.256": once(lambda a, b: a @ b, square(256), square(256)),
        "products.1024": once(lambda a, b: a @ b, square(1024), square(1024)),
        "products.row": once(lambda a, b: a @ b, lambda: T.randn(1, 1024), square(1024)),
        "products.batched": once(
            lambda a, b: a @ b, lambda: T.randn(64, 48, 48), lambda: T.randn(64, 48, 48)
        ),
    }


def reductions(T: ModuleType) -> dict[str, Make]:
    """Folding one or all dimensions."""

    def block() -> Any:
        return T.randn(1024, 2048)

    return {
        "reductions.sum": once(lambda a: a.sum(), block),
        "reductions.sum rows": once(lambda a: a.sum(1), block),
        "reductions.sum columns": once(lambda a: a.sum(0), block),
        "reductions.max": once(lambda a: a.max(1), block),
        "reductions.var": once(lambda a: a.var(1), block),
        "reductions.softmax": once(lambda a: a.softmax(-1), block),
    }


def movement(T: ModuleType) -> dict[str, Make]:
    """Copies, joins and look-ups."""

    def block() -> Any:
        return T.randn(1024, 1024)

    return {
        "movement.transpose": once(lambda a: a.t().contiguous(), block),
        "movement.cat": once(lambda a, b: T.cat([a, b], 1), block, block),
        "movement.rows": once(
            lambda a, rows: a.index_select(0, rows), block, lambda: T.randint(0, 1024, (2048,))
        ),
    }


def layers(T: ModuleType) -> dict[str, Make]:
    """Single layers, forward only."""
    F = T.nn.functional

    def image() -> Any:
        return T.randn(16, 16, 28, 28)

    return {
        "layers.conv": once(
            lambda x, w: F.conv2d(x, w, padding=1), image, lambda: T.randn(32, 16, 3, 3)
        ),
        "layers.pool": once(lambda x: F.max_pool2d(x, 2), image),
        "layers.layer norm": once(lambda x: F.layer_norm(x, (512,)), lambda: T.randn(1024, 512)),
        "layers.gelu": once(lambda x: F.gelu(x), lambda: T.randn(1024, 512)),
    }


def optimizers(T: ModuleType) -> dict[str, Make]:
    """Many steps over ten tiny parameters, as small models and heads have them."""

    def stepped(kind: str, **options: Any) -> Make:
        def make() -> Run:
            params = [T.randn(4, 4).requires_grad_() for _ in range(10)]
            for param in params:
                param.grad = T.randn(4, 4)
            step = getattr(T.optim, kind)(params, lr=1e-6, **options).step

            def run() -> None:
                for _ in range(50):
                    step()

            return run

        return make

    return {
        "optimizers.sgd": stepped("SGD", momentum=0.9),
        "optimizers.adamw": stepped("AdamW"),
        "optimizers.adamw foreach": stepped("AdamW", foreach=True),
        "optimizers.rmsprop": stepped("RMSprop"),
        "optimizers.adafactor": stepped("Adafactor"),
        "optimizers.muon": stepped("Muon"),
    }


def training(T: ModuleType) -> dict[str, Make]:
    """Whole training steps."""
    nn, optim = T.nn, T.optim

    def steps(model: Any, optimizer: Any, images: Any, labels: Any) -> Run:
        loss_of = nn.CrossEntropyLoss()

        def run() -> None:
            optimizer.zero_grad()
            loss_of(model(images), labels).backward()
            optimizer.step()

        return run

    def perceptron() -> Run:
        model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
        optimizer = optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        return steps(model, optimizer, T.randn(64, 64), T.randint(0, 10, (64,)))

    def convolutional() -> Run:
        model = nn.Sequential(
            *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Flatten(), nn.Linear(128, 10)),
        )
        optimizer = optim.AdamW(model.parameters(), lr=1e-3)
        return steps(model, optimizer, T.randn(64, 1, 8, 8), T.randint(0, 10, (64,)))

    def scalar_graph() -> Run:
        def run() -> None:
            for _ in range(50):
                x = T.tensor(2.0, requires_grad=True)
                (x**2 + 3 * x + 1).backward()

        return run

    return {
        "training.scalar graph": scalar_graph,
        "training.perceptron": perceptron,
        "training.convolutional": convolutional,
    }


def loading(T: ModuleType) -> dict[str, Make]:
    """Two hundred batches of data in memory; `loading.py` has more settings."""

    def batches(size: int, workers: int) -> Make:
        def make() -> Run:
            data = importlib.import_module(f"{T.__name__}.utils.data")
            rows = data.TensorDataset(T.zeros(200 * size, 64), T.arange(200 * size))
            keep = workers > 0
            options = {"shuffle": True, "num_workers": workers, "persistent_workers": keep}
            loader = data.DataLoader(rows, batch_size=size, **options)

            def run() -> None:
                for _ in loader:
                    pass

            return run

        return make

    return {
        "loading.32 rows": batches(32, 0),
        "loading.256 rows": batches(256, 0),
        "loading.32 rows, two workers": batches(32, 2),
    }
