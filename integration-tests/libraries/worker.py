"""Runs the cases of one program, with whatever `torch` is, and writes what they give.

`python worker.py PROGRAM RESULTS [WORDS]`; of the cases, those whose names contain WORDS. Cases
that a file RESULTS has values of are not run again.
"""

from __future__ import annotations

import importlib
import io
import os
import pickle
import sys
import time
import traceback
import warnings
from typing import Any

import numpy
import pytorch_side

#: Elements of a tensor that are kept; of larger ones as many, and the norm.
MOST = 4096
warnings.simplefilter("ignore")
pytorch_side.prepare()
import torch  # noqa: E402


def fill(module: Any, seed: int = 0) -> Any:
    """Give the parameters and buffers of a network the same numbers whatever `torch` is."""
    generator = numpy.random.default_rng(seed)
    with torch.no_grad():
        for name, value in module.state_dict().items():
            if not value.is_floating_point():
                continue
            spread = 1 / max(1.0, value.numel() / max(1,
                    value.shape[0] if value.dim() else 1)) ** 0.5
            numbers = generator.standard_normal(tuple(value.shape)) * spread
            if "running_var" in name or (value.dim() == 1 and name.endswith("weight")):
                numbers = 1 + 0.1 * numbers
            value.copy_(torch.from_numpy(numpy.asarray(numbers, dtype="float32")))
    return module


def numbers(*shape: int, seed: int = 1, dtype: str = "float32") -> Any:
    """Normal numbers, the same whatever `torch` is."""
    drawn = numpy.random.default_rng(seed).standard_normal(shape)
    return torch.from_numpy(numpy.asarray(drawn, dtype=dtype))


def plain(value: Any) -> Any:
    """A result as lists, numbers, text and arrays."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        array = value.double().numpy() if value.is_floating_point() else value.numpy()
        if array.size <= MOST or array.dtype.kind not in "fc":
            return array
        return [list(array.shape), numpy.linalg.norm(array), array.ravel()[::array.size // MOST]]
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if value is None or isinstance(value, bool | int | float | str | numpy.ndarray):
        return value
    return str(value)


def gradients(module: Any) -> dict[str, Any]:
    """The norm of each parameter's gradient, and some of its elements."""
    return {name: None if p.grad is None else [p.grad.double().norm(), p.grad.flatten()[:8]]
            for name, p in module.named_parameters()}


def trained(module: Any, loss_of: Any, optimizer: Any = None) -> list[Any]:
    """Gradients, losses of ten steps, and the loss after the weights went through a file."""
    optimizer = optimizer or torch.optim.SGD(module.parameters(), 1e-3, momentum=0.9)
    losses, found = [], None
    for _ in range(10):
        optimizer.zero_grad()
        loss = loss_of(module)
        loss.backward()
        found = found or gradients(module)
        optimizer.step()
        losses.append(loss.detach())
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    module.load_state_dict(torch.load(file))
    return [found, losses, loss_of(module)]


def kept(path: str) -> dict[str, Any]:
    """What an earlier run wrote."""
    if not os.path.exists(path):
        return {}
    with open(path, "rb") as file:
        found: dict[str, Any] = pickle.load(file)
        return found


def write(path: str, results: dict[str, Any]) -> None:
    """Replace the file at once: the process may end at any time."""
    with open(f"{path}.new", "wb") as file:
        pickle.dump(results, file)
    os.replace(f"{path}.new", path)


def main() -> None:
    """Read the command line and run the cases."""
    program, path, words = sys.argv[1], sys.argv[2], sys.argv[3:]
    results = kept(path)
    cases = importlib.import_module(f"programs.{program}").CASES
    for name, function in cases.items():
        if words and not any(word in name for word in words):
            continue
        if results.get(name, ("",))[0] == "value":
            continue
        start = time.perf_counter()
        try:
            torch.manual_seed(0)
            numpy.random.seed(0)
            results[name] = ("value", plain(function()), time.perf_counter() - start)
        except Exception as error:
            traces = traceback.extract_tb(error.__traceback__)[-4:]
            where = [f"{each.filename}:{each.lineno} {each.line}" for each in traces]
            results[name] = ("error", f"{type(error).__name__}: {error}", where)
        write(path, results)


if __name__ == "__main__":
    sys.modules["worker"] = sys.modules["__main__"]
    main()
