"""Bytes that each operator saves for its backward, ours and PyTorch's: prints a table.

    python saved.py [--page docs/design/saved-tensors.md]

Counted with `saved_tensors_hooks` in both: the sizes of the distinct storages that one call
packs. A storage that someone else keeps anyway, such as an input of the network, counts too.
With `--page` the table of a page is replaced, between its two marks.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

BEGIN, END = "<!-- table: benchmarks/saved.py -->", "<!-- end of table -->"
SIDE = 64

#: Called with the framework, its `nn.functional` and the tensors of `Inputs`.
CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "a + b": lambda T, F, i: i.a + i.b,
    "a * b": lambda T, F, i: i.a * i.b,
    "a * 2": lambda T, F, i: i.a * 2,
    "a / b": lambda T, F, i: i.a / i.b,
    "a ** 2": lambda T, F, i: i.a**2,
    "a ** b": lambda T, F, i: i.p**i.b,
    "exp": lambda T, F, i: i.a.exp(),
    "log": lambda T, F, i: i.p.log(),
    "sqrt": lambda T, F, i: i.p.sqrt(),
    "rsqrt": lambda T, F, i: i.p.rsqrt(),
    "sin": lambda T, F, i: i.a.sin(),
    "tanh": lambda T, F, i: i.a.tanh(),
    "sigmoid": lambda T, F, i: i.a.sigmoid(),
    "abs": lambda T, F, i: i.a.abs(),
    "maximum": lambda T, F, i: T.maximum(i.a, i.b),
    "clamp": lambda T, F, i: i.a.clamp(-1, 1),
    "where": lambda T, F, i: T.where(i.mask, i.a, i.b),
    "lerp": lambda T, F, i: T.lerp(i.a, i.b, 0.3),
    "addcmul": lambda T, F, i: T.addcmul(i.a, i.b, i.p),
    "relu": lambda T, F, i: F.relu(i.a),
    "leaky_relu": lambda T, F, i: F.leaky_relu(i.a),
    "elu": lambda T, F, i: F.elu(i.a),
    "gelu": lambda T, F, i: F.gelu(i.a),
    "silu": lambda T, F, i: F.silu(i.a),
    "softplus": lambda T, F, i: F.softplus(i.a),
    "dropout": lambda T, F, i: F.dropout(i.a, 0.5),
    "sum": lambda T, F, i: i.a.sum(1),
    "mean": lambda T, F, i: i.a.mean(1),
    "var": lambda T, F, i: i.a.var(1),
    "norm": lambda T, F, i: i.a.norm(dim=1),
    "amax": lambda T, F, i: i.a.amax(1),
    "max with indices": lambda T, F, i: i.a.max(1)[0],
    "cumsum": lambda T, F, i: i.a.cumsum(1),
    "prod": lambda T, F, i: i.a.prod(1),
    "sort": lambda T, F, i: i.a.sort(1)[0],
    "logsumexp": lambda T, F, i: i.a.logsumexp(1),
    "softmax": lambda T, F, i: i.a.softmax(1),
    "log_softmax": lambda T, F, i: i.a.log_softmax(1),
    "matmul": lambda T, F, i: i.a @ i.b,
    "bmm": lambda T, F, i: i.cube @ i.cube2,
    "linear": lambda T, F, i: F.linear(i.a, i.b, i.bias),
    "conv2d": lambda T, F, i: F.conv2d(i.images, i.filters),
    "max_pool2d": lambda T, F, i: F.max_pool2d(i.images, 2),
    "avg_pool2d": lambda T, F, i: F.avg_pool2d(i.images, 2),
    "layer_norm": lambda T, F, i: F.layer_norm(i.a, (SIDE,), i.bias, i.bias2),
    "batch_norm": lambda T, F, i: F.batch_norm(i.a, None, None, i.bias, i.bias2, training=True),
    "group_norm": lambda T, F, i: F.group_norm(i.images, 2),
    "embedding": lambda T, F, i: F.embedding(i.ids, i.a),
    "gather": lambda T, F, i: i.a.gather(1, i.positions),
    "index_select": lambda T, F, i: i.a.index_select(0, i.ids),
    "a[ids]": lambda T, F, i: i.a[i.ids],
    "masked_fill": lambda T, F, i: i.a.masked_fill(i.mask, 0.0),
    "cat": lambda T, F, i: T.cat([i.a, i.b]),
    "transpose": lambda T, F, i: i.a.t(),
    "cross_entropy": lambda T, F, i: F.cross_entropy(i.a, i.ids),
    "mse_loss": lambda T, F, i: F.mse_loss(i.a, i.b),
    "bce_with_logits": lambda T, F, i: F.binary_cross_entropy_with_logits(i.a, i.p),
    "attention": lambda T, F, i: F.scaled_dot_product_attention(i.q, i.k, i.v, is_causal=True),
    "linalg.inv": lambda T, F, i: T.linalg.inv(i.good),
    "linalg.solve": lambda T, F, i: T.linalg.solve(i.good, i.b),
    "linalg.cholesky": lambda T, F, i: T.linalg.cholesky(i.good),
}


class Inputs:
    """The tensors of the calls, made in one framework; the floating ones require grad."""

    def __init__(self, base: ModuleType) -> None:
        def leaf(*shape: int) -> Any:
            return base.randn(*shape).requires_grad_()

        self.a, self.b = leaf(SIDE, SIDE), leaf(SIDE, SIDE)
        self.p = base.rand(SIDE, SIDE).add(0.1).requires_grad_()
        self.bias, self.bias2 = leaf(SIDE), leaf(SIDE)
        self.cube, self.cube2 = leaf(4, 32, 32), leaf(4, 32, 32)
        self.images, self.filters = leaf(1, 4, 32, 32), leaf(4, 4, 3, 3)
        self.q, self.k, self.v = (leaf(1, 2, SIDE, 32) for _ in range(3))
        self.good = base.eye(SIDE).mul(3).requires_grad_()
        self.mask = base.rand(SIDE, SIDE) < 0.5
        self.ids = base.arange(SIDE)
        self.positions = base.zeros(SIDE, SIDE, dtype=base.int64)


def extent(tensor: Any) -> tuple[int, int]:
    """Return where a tensor's storage starts, and how many bytes of it the tensor reaches."""
    offset = tensor.storage_offset()
    start = tensor.data_ptr() - offset * tensor.element_size()
    if tensor.numel() == 0:
        return start, 0
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    last = offset + sum((length - 1) * step for length, step in steps)
    return start, (last + 1) * tensor.element_size()


def saved_bytes(base: ModuleType, call: Callable[[Any, Any, Any], Any], inputs: Inputs) -> int:
    """Return the bytes of the distinct storages that one call saves."""
    functional = importlib.import_module(f"{base.__name__}.nn.functional")
    graph = importlib.import_module(f"{base.__name__}.autograd.graph")
    kept = []
    sizes: dict[int, int] = {}

    def pack(tensor: Any) -> Any:
        kept.append(tensor)  # so that no address is used twice
        start, size = extent(tensor)
        sizes[start] = max(size, sizes.get(start, 0))
        return tensor

    with graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        call(base, functional, inputs)
    return sum(sizes.values())


def table() -> list[str]:
    """Return the lines of the table, in Markdown."""
    columns = []
    for name in ("flambeau", "torch"):
        base = importlib.import_module(name)
        inputs = Inputs(base)
        columns.append([saved_bytes(base, call, inputs) for call in CALLS.values()])
    lines = ["| operator | saves | PyTorch saves | |", "|---|--:|--:|---|"]
    for title, ours, theirs in zip(CALLS, *columns, strict=True):
        word = "less" if ours < theirs else "more" if ours > theirs else ""
        lines.append(f"| `{title}` | {ours:,} | {theirs:,} | {word} |")
    return lines


def main() -> None:
    """Print the table, and put it into a page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--page", type=Path)
    page = parser.parse_args().page
    lines = table()
    print("\n".join(lines))
    if page is not None:
        before, rest = page.read_text().split(BEGIN)
        after = rest.split(END)[1]
        page.write_text("\n".join([before + BEGIN, *lines, END]) + after)


if __name__ == "__main__":
    main()
