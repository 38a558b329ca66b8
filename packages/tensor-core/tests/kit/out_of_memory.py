"""Lets every allocation of every call fail, one after the other: ``out_of_memory.py``.

Runs in a process of its own with FLAMBEAU_ALLOC=plain. Each failure must be a MemoryError that says
what was asked for and what is held, and must leave no memory behind. Prints how many there were.
"""

from __future__ import annotations

import gc
import io
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
from calls import CALLS
from pointwise_opdefs import POINTWISE, operands, operator

import flambeau
from flambeau.core import _core, memory_stats

MOST = 12           # allocations of one call that are tried
TEXT = re.compile(r"cannot allocate \d+ bytes.*(hold|live)", re.S)


def _files(folder: Path) -> dict:
    """Readers of files, by name."""
    tensors, path = {"a": flambeau.rand(40, 40), "b": [flambeau.rand(50)]}, folder / "x.safetensors"
    flambeau.save(tensors, path)
    np.save(folder / "x.npy", np.ones((30, 30)))
    np.savez(folder / "x.npz", a=np.ones((30, 30)), b=np.ones(9))
    found = {name: (lambda name=name: flambeau.load(folder / name))
             for name in ("x.safetensors", "x.npy", "x.npz")}
    return {**found, "save": lambda: flambeau.save(tensors, path),
            "bytes": lambda: flambeau.load(io.BytesIO(path.read_bytes()))}


def _others() -> dict:
    """Views, lists, conversions and indexing, which ``calls.py`` does not have."""
    x, m = flambeau.rand(40, 40), flambeau.rand(40, 40) > 0.5
    return {
        "views": lambda: x.t()[1:].unsqueeze(0).expand(2, 39, 40).flatten(),
        "split": lambda: [part.contiguous() for part in x.t().split(7)],
        "cat": lambda: flambeau.cat([x, x.t()], 1), "mask": lambda: x[m], "list": lambda: x[[1, 2]],
        "write": lambda: x.clone().__setitem__(m, 0), "tensor": lambda: flambeau.tensor([1.0] * 99),
        "numpy": lambda: flambeau.tensor(np.ones(99)), "to": lambda: x.to(flambeau.float64),
        "repr": lambda: repr(x), "tolist": lambda: x.t().tolist(), "out": lambda: flambeau.exp(
            x, out=flambeau.empty(0)), "inplace": lambda: x.t().clone().add_(x.double()),
        "pickle": lambda: x.t().__reduce_ex__(4), "einsum": lambda: flambeau.einsum(
            "ij,kj->ik", x, x), "arange": lambda: flambeau.arange(500),
    }


def _calls():
    for key, calls in CALLS.items():
        for i, call in enumerate(calls):
            dtype = "float32" if "float32" in call.dtypes else call.dtypes[0]
            inputs = call.inputs(flambeau, dtype)
            yield f"{key}-{i}", lambda call=call, inputs=inputs: call.function(flambeau, *inputs)
    for opdef in POINTWISE:
        inputs = [flambeau.rand(5, 7) for _ in range(operands(opdef))]
        yield opdef.key, lambda opdef=opdef, inputs=inputs: operator(opdef)(*inputs)


def _held() -> int:
    return memory_stats()["live_bytes"]


def _keeps(before: int) -> bool:
    """Whether memory is held that was not before, cycles collected."""
    if _held() != before:
        gc.collect()
    return _held() > before


def _failures(name: str, call) -> int:
    """How many allocations of the call were let fail."""
    try:
        call()
        call()
    except (TypeError, RuntimeError, NotImplementedError):
        return 0        # a definition that takes other arguments
    for count in range(MOST):
        before = _held()
        _core._fail_allocations_after(count)
        try:
            call()
        except MemoryError as error:
            text = str(error)
        else:
            return count
        finally:
            _core._fail_allocations_after(-1)
        if not TEXT.search(text):
            sys.exit(f"{name}, allocation {count}: the text is {text!r}")
        if _keeps(before):
            sys.exit(f"{name}, allocation {count}: {_held() - before} bytes were kept")
        call()
    return MOST


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        named = [*_others().items(), *_files(Path(folder)).items(), *_calls()]
        counts = [_failures(name, call) for name, call in named]
    print(f"{sum(counts)} failures in {sum(1 for c in counts if c)} of {len(counts)} calls")


if __name__ == "__main__":
    main()
