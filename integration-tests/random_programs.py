"""Random programs: lines of Python over a few tensors, run as they are and compiled.

A line is kept where it runs eagerly, so that programs are valid without a model of shapes. What two
runs may differ in is compared bit for bit: results and everything they could have touched.
"""

from __future__ import annotations

import copy
import pickle
import random
import re
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np

import flambeau
import flambeau.nn.functional as F
from flambeau import autograd
from flambeau.utils.checkpoint import checkpoint

_UNARY = ("exp", "tanh", "neg", "abs", "sin", "sigmoid", "square", "relu", "floor", "sqrt",
          "isnan", "logical_not", "erf", "log1p", "sign", "reciprocal")
_BINARY = ("+", "-", "*", "/", "<", ">=", "==", "**", "%", "//")
_DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool",
           "complex64")

#: Kinds of lines and how often they are drawn; N is a new name, A and B are tensors.
LINES: dict[str, tuple[int, tuple[str, ...]]] = {
    "pointwise": (8, (
        *(f"N = A.{name}()" for name in _UNARY),
        *(f"N = A {sign} B" for sign in _BINARY), *(f"N = A {sign} 2" for sign in _BINARY),
        "N = A * 1.5 + B", "N = flambeau.where(A > 0, A, B)", "N = flambeau.add(A, B, alpha=2)",
        "N = 2 ** A", "N = A.clamp(-1, 1)", "N = flambeau.lerp(A, B, 0.3)", "N = A ** 3",
        "N = A.pow(-2)", "N = flambeau.addcmul(A, B, B, value=0.5)", "N = F.gelu(A)")),
    "reduce": (4, (
        "N = A.sum()", "N = A.sum(0)", "N = A.mean(-1, keepdim=True)", "N = A.max()",
        "N = A.amax(-1)", "N = A.argmax(-1)", "N = A.softmax(-1)", "N = A.var(-1)",
        "N = A.cumsum(0)", "N, k = A.sort(-1)", "N = A.prod(-1)", "N = A.any()", "N = A.norm()",
        "N = A.logsumexp(-1)", "N = F.layer_norm(A, A.shape[-1:])")),
    "movement": (3, (
        "N = flambeau.cat([A, B])", "N = flambeau.stack([A, B])", "N = A.clone()",
        "N = A.contiguous()", "N = A.flip(0)", "N = A.repeat(2, 1)", "N = A.index_select(0, w.i)",
        "N = A[w.i]", "N = A[A > 0]", "N = A.gather(0, A.argsort(0))", "N = A.roll(1)",
        "N = F.pad(A, (1, 0))", "N = A.tril()", "N = A.nonzero()", "N = A.unique()")),
    "product": (1, ("N = A @ B.T", "N = A @ B", "N = F.linear(A, B)", "N = flambeau.outer(A, B)")),
    "view": (6, (
        "N = A.view(-1)", "N = A[1:]", "N = A[0]", "N = A[:, 1]", "N = A.t()", "N = A.T",
        "N = A.unsqueeze(0)", "N = A.squeeze()", "N = A.expand(2, *A.shape)", "N = A.reshape(-1)",
        "N = A.unfold(0, 2, 1)", "N = A.narrow(0, 0, 2)", "N = A.diagonal()", "N = A[::2]",
        "N = A.as_strided((2, 2), (1, 1))", "N = A.view_as(A)", "N = A[:]", "N = A.detach()",
        "N = A.data", "N, M = A.chunk(2)", "N = A.flatten()", "N = A.view(A.dtype)",
        "N = A.transpose(0, -1)", "N = A.real", "N = A.split(2)[0]", "N = A.movedim(0, -1)")),
    "in place": (8, (
        "A.add_(1)", "A.mul_(B)", "A.copy_(B)", "A.zero_()", "A.fill_(3)", "A[0] = 2", "A[1:] = B",
        "A[A > 0] = 0", "A.clamp_(-1, 1)", "A.exp_()", "A.index_fill_(0, w.i, 2)", "A += B",
        "A.sub_(A)", "A.masked_fill_(A > 1, 0.5)", "A[w.i] = 1", "A.relu_()", "A.t_()",
        "A.unsqueeze_(0)", "A.squeeze_()", "flambeau.mul(A, B, out=A)", "A.neg_()", "A[:, 0] += 1",
        "A.data.add_(1)", "A.detach().mul_(2)", "A.T.add_(1)", "A.view(-1)[0] = 5",
        "flambeau.exp(A, out=B)", "A.index_add_(0, w.i, B[w.i])", "A.addcmul_(A, B)",
        "F.relu(A, inplace=True)", "A.scatter_(0, w.i[:, None], 1)", "A.cumsum_(0)")),
    "storage": (2, (
        "A.data = B.clone()", "A.data = B", "A.set_(B)", "A.resize_(2, 2).fill_(4)", "A.resize_(1)",
        "A.data = A.data * 2", "A.requires_grad_()", "A.data, B.data = B.data, A.data",
        "A.data = A.data.half()", "A.set_()")),
    "alias": (2, (
        "w.array += 1", "w.array[0] = 7", "N = flambeau.from_numpy(w.array)", "N = w.flat",
        "N = w.rows", "N = w.over", "N = w.under", "w.flat.add_(1)", "w.rows.mul_(2)",
        "w.rows[0] = w.flat[:4]", "w.over.add_(w.under)", "N = flambeau.as_tensor(w.array)")),
    "random": (3, (
        "N = flambeau.rand_like(A)", "N = F.dropout(A, 0.5)", "N = flambeau.randn(A.shape)",
        "flambeau.manual_seed(3)", "w.state = flambeau.get_rng_state()",
        "flambeau.set_rng_state(w.state)", "N = flambeau.bernoulli(A.sigmoid())", "A.normal_()",
        "N = flambeau.randperm(4)", "A.uniform_()", "N = flambeau.rand(3, generator=w.g)",
        "w.g.manual_seed(5)", "N = flambeau.randint(0, 9, (3,))", "N = F.dropout(A, w.p)",
        "N = flambeau.multinomial(A.abs() + 0.1, 1)")),
    "escape": (4, (
        "notes.append(A.sum().item())", "notes.append(A.tolist())", "N = copy.deepcopy(A)",
        "N = pickle.loads(pickle.dumps(A))", "notes.append(A.numpy().copy())",
        "N = flambeau.tensor(A.tolist())", "w.kept = A.numpy()", "N = flambeau.from_dlpack(A)",
        "A.numpy()[...] = 1", "notes.append(float(A.sum()))", "notes.append(str(A))",
        "notes.append(A.data_ptr() == B.data_ptr())", "notes.append(A._version)",
        "notes.append(A.stride())", "notes.append(bool((A == A).all()))", "w.list.append(A)",
        "notes.append(A.is_contiguous())", "notes.append(A.equal(B))", "N = copy.copy(A)",
        "notes.append(np.asarray(A).sum())", "notes.append(len(A))", "notes.append(A.shape)",
        "notes.append(A.is_set_to(B))", "notes.append(A.untyped_storage().data_ptr() == "
        "B.untyped_storage().data_ptr())", "del A")),
    "control": (3, (
        "N = A * 2 if A.sum() > 0 else A - 1", "N = A.sum(0) if A.shape[0] > 3 else A.sum(-1)",
        "for k in range(min(len(A), 8)):\n    A[k] = k",
        "if bool(A.isnan().any()):\n    A.zero_()",
        "for part in A.unbind(0):\n    part.add_(1)", "N = A[:min(A.shape[0], 2)]",
        "N = A.topk(min(2, A.shape[-1]))[0]", "while A.sum() > 100:\n    A.mul_(0.5)",
        "N = sum(A.unbind(0))", "w.count += 1\nN = A * w.count")),
    "autograd": (4, (
        "A.sum().backward()", "(A * A).sum().backward()", "N = autograd.grad(A.sum(), w.leaf)[0]",
        "with flambeau.no_grad():\n    A.mul_(2)", "N = w.leaf * 2", "N = w.leaf.exp()",
        "w.leaf.grad = None", "N = w.leaf.grad", "with flambeau.no_grad():\n    w.leaf.sub_(0.1)",
        "(A.float() * w.leaf).sum().backward()", "w.optimizer.step()", "w.optimizer.zero_grad()",
        "N = w.model(w.x)", "F.mse_loss(w.model(w.x), w.x[:, :2]).backward()",
        "N = checkpoint(lambda a: F.dropout(a * 2, 0.5), w.leaf, use_reentrant=False)",
        "A.register_hook(lambda g: g * 2)", "with flambeau.inference_mode():\n    N = A * 2",
        "notes.append(A.requires_grad)", "notes.append(A.is_leaf)")),
    "dtype": (3, (*(f"N = A.to(flambeau.{dtype})" for dtype in _DTYPES), "N = A.type_as(B)",
                  "N = A.half()",
                  "with flambeau.autocast('cpu', flambeau.bfloat16):\n    N = A @ B.T",
                  "N = flambeau.ones(3, 4, dtype=A.dtype)", "N = A.new_zeros(A.shape)")),
    "error": (2, (
        "N = A[99]", "N = A.index_select(0, w.i + 99)", "N = A // (A - A)",
        "N = flambeau.linalg.inv(A.new_zeros(2, 2))", "A.add_(flambeau.ones(7, 9))",
        "N = A % w.zero", "N = w.ints // w.zero", "N = F.embedding(w.i + 50, w.x)",
        "N = F.nll_loss(w.x.log_softmax(-1), w.i + 9)", "A[w.i + 77] = 1",
        "A.gather(0, w.i[:, None] + 50)")),
}
_KINDS = [kind for kind, (often, _) in LINES.items() for _ in range(often)]


def world(seed: int, rows: int) -> SimpleNamespace:
    """The tensors that a program starts with, and what else it may change."""
    flambeau.manual_seed(seed)
    numbers = np.random.default_rng(seed)
    w = SimpleNamespace(list=[], count=0, p=0.25, kept=None, state=flambeau.get_rng_state())
    w.x = flambeau.tensor(numbers.standard_normal((rows, 4)).astype("float32"))
    w.y = flambeau.tensor(numbers.standard_normal((rows, 4)).astype("float32"))
    w.ints = flambeau.tensor(numbers.integers(-4, 5, (rows, 4)))
    w.zero = flambeau.tensor(0)
    w.i = flambeau.tensor([0, 2])
    w.flat = flambeau.tensor(numbers.standard_normal(rows * 4).astype("float32"))
    w.rows = w.flat.view(rows, 4)
    w.array = numbers.standard_normal((rows, 4)).astype("float32")
    w.over, w.under = flambeau.from_numpy(w.array), flambeau.from_numpy(w.array[:, 1:])
    w.leaf = flambeau.tensor(numbers.standard_normal((rows, 4)).astype("float32"),
                             requires_grad=True)
    w.g = flambeau.Generator().manual_seed(seed)
    w.model = flambeau.nn.Sequential(flambeau.nn.Linear(4, 3), flambeau.nn.Dropout(0.3),
                                     flambeau.nn.GELU(), flambeau.nn.Linear(3, 2))
    w.optimizer = flambeau.optim.AdamW(w.model.parameters(), lr=0.1)
    return w


class Program:
    """Lines over names; as source it is a function of a world."""

    def __init__(self, seed: int, lines: int = 12, without: tuple[str, ...] = ()) -> None:
        self.seed = seed
        self.without = without          # beginnings of lines that are not drawn
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.names = ["x", "y", "ints", "flat", "rows", "over", "under", "leaf"]
        self._grow(lines)

    def source(self) -> str:
        """The program as text."""
        head = ["def program(w, notes):"]
        head += [f"{name} = w.{name}" for name in
                 ("x", "y", "ints", "flat", "rows", "over", "under", "leaf")]
        results = ", ".join(f"'{name}': {name}" for name in self._results())
        text = "\n".join([*head[1:], *self.lines, f"return {{{results}}}"])
        return head[0] + "\n" + "\n".join("    " + line for line in text.split("\n"))

    def function(self) -> Any:
        """The function ``program(w, notes)``."""
        names = _names()
        exec(compile(self.source(), "<random program>", "exec"), names)
        return names["program"]

    def _results(self) -> list[str]:
        made = [name for name in self.names if re.fullmatch(r"v\d+", name)]
        return [name for name in made if (int(name[1:]) + self.seed) % 3]

    def _grow(self, count: int) -> None:
        """Add lines that run; one that fails after it changed something is kept as it fell."""
        names = _names() | {"w": (w := world(self.seed, 3)), "notes": []}
        names |= {name: getattr(w, name) for name in self.names}
        tries = 0
        while len(self.lines) < count and tries < 12 * count:
            tries += 1
            known = list(self.names)
            self._add(self._draw())
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                try:
                    exec(self.lines[-1], names)
                except Exception:
                    self.names = known
                    self.lines.pop()

    def _draw(self) -> str:
        kind = self.random.choice(_KINDS)
        line = self.random.choice(LINES[kind][1])
        if self.without and line.startswith(self.without):
            return self._draw()
        return _in_try(line) if kind == "error" else line

    def _add(self, line: str) -> None:
        recent = self.names[-4:] if self.random.random() < 0.6 else self.names
        values = {letter: self.random.choice(recent) for letter in "AB"}
        new = {letter: f"v{len(self.lines)}{letter.lower()}" for letter in "NM"}
        new["N"] = f"v{len(self.lines)}"
        if line == "del A" and not values["A"].startswith("v"):
            line = "notes.append(len(notes))"
        self.lines.append(re.sub(r"\b[ABNM]\b", lambda m: (values | new)[m[0]], line))
        if line == "del A":
            self.names.remove(values["A"])
        elif re.search(r"\bN\b", line) and not line.startswith("try"):
            self.names.append(new["N"])


def _in_try(line: str) -> str:
    return f"try:\n    {line}\nexcept Exception as error:\n    notes.append(type(error).__name__)"


def _names() -> dict[str, Any]:
    """What a program's lines may name."""
    return {"flambeau": flambeau, "F": F, "np": np, "copy": copy, "pickle": pickle,
            "autograd": autograd, "checkpoint": checkpoint}


def run(function: Any, w: SimpleNamespace) -> dict[str, Any]:
    """Run a program on a world; everything that may be compared afterwards."""
    notes: list[Any] = []
    results, error = {}, ""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            results = function(w, notes)
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
    return {"error": error, "notes": notes, "world": w, "results": results}


def snapshot(ran: dict[str, Any]) -> dict[str, Any]:
    """What a run left behind, as comparable values."""
    w = ran["world"]
    tensors = {**ran["results"], **{f"w.{k}": v for k, v in vars(w).items()}}
    tensors |= {f"p{i}": p for i, p in enumerate(w.model.parameters())}
    tensors |= {f"kept{i}": t for i, t in enumerate(w.list)}
    found: dict[str, Any] = {"error": ran["error"].split(":")[0]}
    for name, value in tensors.items():
        if isinstance(value, flambeau.Tensor):
            found[name] = describe(value)
            if value.is_leaf and value.grad is not None:
                found[f"{name}.grad"] = describe(value.grad)
        elif isinstance(value, np.ndarray):
            found[name] = value.tobytes()
    found["notes"] = [repr(note) if not isinstance(note, np.ndarray) else note.tobytes()
                      for note in ran["notes"]]
    found["rng"] = flambeau.get_rng_state().tolist()
    found["generator"] = w.g.get_state().tolist()
    return found


def describe(t: Any) -> tuple[Any, ...]:
    """A tensor as a tuple: dtype, geometry, version, history, and bits (any NaN is NaN)."""
    version = None if t.is_inference() else t._version
    numbers = t.detach()
    kind = str(t.dtype)
    if t.dtype == flambeau.bfloat16:
        numbers = numbers.float()
    array = np.array(numbers.numpy())
    if array.dtype.kind in "fc":
        array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    grad = type(t.grad_fn).__name__ if t.grad_fn is not None else None
    return (kind, tuple(t.shape), t.stride(), t.storage_offset(), version, t.requires_grad, grad,
            array.tobytes())


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """The names under which two snapshots differ."""
    return [name for name in {**one, **other} if one.get(name) != other.get(name)]
