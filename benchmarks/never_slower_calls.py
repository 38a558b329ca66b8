"""What `never_slower.py` times: operators and chains by family, over inputs of a size and dtype."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import flambeau as fl
from flambeau import Tensor
from flambeau.nn import functional as F

#: Rows and columns by number of elements; odd ones end no vector and no block.
SIZES = {"8": (2, 4), "1e3": (10, 100), "33k": (33, 1001), "300k": (300, 1000),
         "300k odd": (611, 491), "4M": (4096, 1024), "4M odd": (4093, 1023)}
DTYPES = ("float32", "float16", "bfloat16", "int64")


@dataclass(frozen=True)
class Inputs:
    """Tensors of one size and dtype.

    Args:
        a: rows by columns.
        b: the same.
        p: the same, of positive numbers.
        row: one row.
        column: a column.
        mask: of truth values.
        ids: a row number for each row.
        classes: a column number for each row.
        places: a column number for each element.
    """

    a: Tensor
    b: Tensor
    p: Tensor
    row: Tensor
    column: Tensor
    mask: Tensor
    ids: Tensor
    classes: Tensor
    places: Tensor

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.a.shape[0], self.a.shape[1]

    @property
    def images(self) -> Tensor:
        """The elements as images of channels of pixels, where sizes allow; else as one image."""
        rows, columns = self.shape
        channels = 4 if rows % 4 == 0 else 1
        return self.a.view(rows // channels, channels, 1, columns)


def make_inputs(size: str, dtype: str, is_strided: bool) -> Inputs:
    """Random inputs; strided ones are transposed."""
    rows, columns = SIZES[size]
    kind = getattr(fl, dtype)

    def laid(make: Callable[[int, int], Tensor]) -> Tensor:
        return make(columns, rows).t() if is_strided else make(rows, columns)

    def random(*shape: int) -> Tensor:
        return fl.randint(-9, 9, shape) if dtype == "int64" else fl.randn(*shape).to(kind)

    fl.manual_seed(0)
    return Inputs(laid(random), laid(random), laid(random).abs() + 1, random(columns),
                  random(rows, 1), laid(fl.rand) > 0.3, fl.randint(0, rows, (rows,)),
                  fl.randint(0, columns, (rows,)), fl.randint(0, columns, (rows, columns)))


def attention(i: Inputs) -> Tensor:
    """Scaled, masked scores of heads of 32, or of as many as there are, and their values."""
    rows, columns = i.shape
    n = min(rows, 128)
    width = 32 if columns >= 32 else columns
    q, k, v = i.a[:n, :width], i.b[:n, :width], i.p[:n, :width]
    scores = (q @ k.t()) * 0.2
    return scores.masked_fill(fl.ones(n, n, dtype=fl.bool).triu(1), -1e4).softmax(-1) @ v


def gradient(loss: Callable[[Tensor, Inputs], Tensor]) -> Callable[[Inputs], Tensor]:
    """The gradient of a loss with respect to `a`."""
    def run(i: Inputs) -> Tensor:
        a = i.a.detach().requires_grad_()
        loss(a, i).backward()
        assert a.grad is not None
        return a.grad
    return run


def _rms(x: Tensor, weight: Tensor) -> Tensor:
    return x * (x * x).mean(-1, keepdim=True).add(1e-6).rsqrt() * weight


Call = Callable[[Inputs], object]
#: Of integers as well.
ANY: dict[str, dict[str, Call]] = {
    "pointwise": {
        "add": lambda i: i.a + i.b,
        "mul number": lambda i: i.a * 3,
        "sub row": lambda i: i.a - i.row,
        "mul column": lambda i: i.a * i.column,
        "abs": lambda i: i.a.abs(),
        "neg": lambda i: -i.a,
        "maximum": lambda i: fl.maximum(i.a, i.b),
        "clamp": lambda i: i.a.clamp(-1, 1),
        "where": lambda i: fl.where(i.mask, i.a, i.b),
        "relu": lambda i: i.a.relu(),
        "greater": lambda i: i.a > i.b,
        "masked_fill": lambda i: i.a.masked_fill(i.mask, 0),
        "add in place": lambda i: i.b.clone().add_(i.a),
        "chain": lambda i: ((i.a + i.b) * i.a - i.row).clamp(-4, 4)},
    "casts": {
        "to float32": lambda i: i.a.to(fl.float32),
        "to float64": lambda i: i.a.to(fl.float64),
        "to int32": lambda i: i.a.to(fl.int32),
        "to bool": lambda i: i.a.to(fl.bool),
        "clone": lambda i: i.a.clone(),
        "there and back": lambda i: (i.a.to(fl.float32) + 1).to(i.a.dtype)},
    "reductions": {
        "sum": lambda i: i.a.sum(),
        "sum rows": lambda i: i.a.sum(1),
        "sum columns": lambda i: i.a.sum(0),
        "amax rows": lambda i: i.a.amax(1),
        "max rows": lambda i: i.a.max(1),
        "argmax": lambda i: i.a.argmax(1),
        "any": lambda i: i.mask.any(1),
        "prod rows": lambda i: i.a.prod(1),
        "sum of products": lambda i: (i.a * i.b).sum(),
        "rows of products": lambda i: (i.a * i.b).sum(1),
        "columns of products": lambda i: (i.a * i.b).sum(0),
        "cumsum": lambda i: i.a.cumsum(1),
        "cumsum of products": lambda i: (i.a * i.b).cumsum(1),
        "count": lambda i: (i.a > i.b).sum(1)},
    "movement": {
        "cat": lambda i: fl.cat([i.a, i.b], 1),
        "cat made": lambda i: fl.cat([i.a + 1, i.b * 2], 1),
        "stack": lambda i: fl.stack([i.a, i.b + 1]),
        "transpose": lambda i: i.a.t().contiguous(),
        "roll": lambda i: i.a.roll(1, 1),
        "flip": lambda i: i.a.flip(1),
        "gather": lambda i: i.a.gather(1, i.places),
        "gather and add": lambda i: i.a.gather(1, i.places) + i.b,
        "index_select": lambda i: i.a.index_select(0, i.ids),
        "index": lambda i: i.a[i.ids],
        "index and scale": lambda i: i.a[i.ids] * 2 + i.b,
        "slice": lambda i: i.a[:, 1:] - i.a[:, :-1],
        "pad": lambda i: F.pad(i.a, (1, 1)),
        "repeat": lambda i: i.row.expand(i.shape) + i.a,
        "triu": lambda i: i.a.triu(),
        "sort": lambda i: i.a.sort(1)},
}
#: Of floating numbers alone.
FLOATS: dict[str, dict[str, Call]] = {
    "functions": {
        "exp": lambda i: i.a.exp(),
        "log": lambda i: i.p.log(),
        "sqrt": lambda i: i.p.sqrt(),
        "tanh": lambda i: i.a.tanh(),
        "sigmoid": lambda i: i.a.sigmoid(),
        "gelu": lambda i: F.gelu(i.a),
        "gelu tanh": lambda i: F.gelu(i.a, approximate="tanh"),
        "silu": lambda i: F.silu(i.a),
        "softplus": lambda i: F.softplus(i.a),
        "sin": lambda i: i.a.sin(),
        "erf": lambda i: i.a.erf(),
        "divide": lambda i: i.a / i.p,
        "power": lambda i: i.p**1.5,
        "lerp": lambda i: i.a.lerp(i.b, 0.3),
        "addcmul": lambda i: fl.addcmul(i.a, i.b, i.p),
        "log1p": lambda i: i.p.log1p(),
        "silu and mul": lambda i: F.silu(i.a) * i.b,
        "nine": lambda i: ((i.a * 2 + 1).tanh().exp().sigmoid() * i.a - 0.5).relu().sqrt()},
    "statistics": {
        "mean": lambda i: i.a.mean(),
        "mean rows": lambda i: i.a.mean(1),
        "var rows": lambda i: i.a.var(1),
        "std columns": lambda i: i.a.std(0),
        "norm": lambda i: i.a.norm(),
        "norm rows": lambda i: i.a.norm(dim=1),
        "logsumexp": lambda i: i.a.logsumexp(1),
        "channels": lambda i: i.images.mean((0, 2, 3)),
        "channels made": lambda i: (i.images * 2 + 1).mean((0, 2, 3))},
    "norms": {
        "layer_norm": lambda i: F.layer_norm(i.a, (i.shape[1],), i.row, i.row),
        "norm and gelu": lambda i: F.gelu(F.layer_norm(i.a, (i.shape[1],), i.row, i.row)) + i.b,
        "rms_norm": lambda i: F.rms_norm(i.a, (i.shape[1],), i.row),
        "rms by hand": lambda i: _rms(i.a, i.row),
        "normalize": lambda i: F.normalize(i.a * 2),
        "group_norm": lambda i: F.group_norm(i.images, 1),
        "batch_norm": lambda i: F.relu(F.batch_norm(i.images, None, None, training=True))},
    "softmax": {
        "softmax": lambda i: i.a.softmax(1),
        "log_softmax": lambda i: i.a.log_softmax(1),
        "scaled and masked": lambda i: (i.a * 0.1).masked_fill(i.mask, -1e4).softmax(-1),
        "attention": attention},
    "losses": {
        "mse": lambda i: F.mse_loss(i.a, i.b),
        "l1": lambda i: F.l1_loss(i.a, i.b),
        "bce": lambda i: F.binary_cross_entropy_with_logits(i.a, i.p),
        "cross_entropy": lambda i: F.cross_entropy(i.a, i.classes),
        "cross_entropy of scaled": lambda i: F.cross_entropy(i.a * 1.5, i.classes),
        "nll": lambda i: F.nll_loss(i.a.log_softmax(1), i.classes),
        "smoothed": lambda i: F.cross_entropy(i.a, i.classes, label_smoothing=0.1)},
    "random": {
        "dropout": lambda i: F.dropout(i.a, 0.5),
        "dropout of gelu": lambda i: F.dropout(F.gelu(i.a), 0.1) + i.b,
        "noise": lambda i: i.a + fl.randn_like(i.a) * 0.1},
    "training": {
        "gelu": gradient(lambda a, i: F.gelu(a).sum()),
        "mse": gradient(lambda a, i: F.mse_loss(a * i.row, i.b)),
        "cross_entropy": gradient(lambda a, i: F.cross_entropy(a, i.classes)),
        "cross_entropy of scaled": gradient(lambda a, i: F.cross_entropy(a * 1.5, i.classes)),
        "nll": gradient(lambda a, i: F.nll_loss(a.log_softmax(1), i.classes)),
        "layer_norm": gradient(lambda a, i: (F.layer_norm(a, (i.shape[1],), i.row) * i.b).sum()),
        "softmax": gradient(lambda a, i: (a.softmax(1) * i.b).sum()),
        "rms": gradient(lambda a, i: (_rms(a, i.row) * i.b).sum()),
        "dropout": gradient(lambda a, i: (F.dropout(F.relu(a), 0.1) * i.b).sum()),
        "embedding": gradient(lambda a, i: (F.embedding(i.ids, a) * i.b).sum()),
        "gather": gradient(lambda a, i: a.gather(1, i.places).mul(i.b).sum())},
}


def families(dtype: str) -> dict[str, dict[str, Call]]:
    """What is called with inputs of a dtype."""
    return ANY if dtype == "int64" else {**ANY, **FLOATS}
