"""Autograd's samples and nn's modules on a device, against the CPU."""
from __future__ import annotations

import importlib.util
import sys
import zlib
from pathlib import Path
from typing import Any

from device_calls import DEVICE, SHARE, difference, made_on

import flambeau as fl

PACKAGES = Path(__file__).parents[2] / "packages"
for name in ("autograd", "nn"):
    sys.path.append(str(PACKAGES / name / "tests" / "kit"))

import modules_kit  # noqa: E402
from samples import SAMPLES  # noqa: E402, F401


def is_chosen(name: str) -> bool:
    """Whether a case belongs to the share that is run."""
    return zlib.crc32(name.encode()) % SHARE == 0


# ---- autograd --------------------------------------------------------------------------------
def sample_results(make, device: str) -> list[Any]:
    """Results of a sample, its gradients, and the gradients of their squares."""
    with made_on(device):
        function, given = make()
        given = [x.detach().to(device).requires_grad_(x.requires_grad) if fl.is_tensor(x) else x
                 for x in given]
        results = [r for r in _flat(function(*given)) if fl.is_tensor(r)]
        inputs = [x for x in given if fl.is_tensor(x) and x.requires_grad]
        first = _gradients(results, inputs, create_graph=True)
        second = _gradients(first, inputs)
    return [*results, *first, *second]


def _gradients(results, inputs, **options):
    ends = [r for r in results if r is not None and r.requires_grad]
    if not ends or not inputs:
        return []
    total = sum((r * r.conj()).real.sum() for r in ends)
    return list(fl.autograd.grad(total, inputs, allow_unused=True, **options))


def _flat(result) -> list[Any]:
    if isinstance(result, (tuple, list)):
        return [part for each in result for part in _flat(each)]
    return [result]


# ---- modules ---------------------------------------------------------------------------------
def rows() -> dict[str, modules_kit.Row]:
    """The rows of the tests of layers, by their names."""
    found = {}
    for path in sorted((PACKAGES / "nn" / "tests" / "layers").glob("test_*.py")):
        if "\nROWS = [" not in path.read_text():
            continue
        spec = importlib.util.spec_from_file_location(f"rows_of_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found |= {str(row): row for row in module.ROWS}
    return found


def row_results(row: modules_kit.Row, device: str) -> list[Any]:
    """Outputs, gradients and the state afterwards of a module called on a device."""
    fl.manual_seed(0)
    module = row.make(fl).to(device).train(row.train)
    found = []
    for arrays in row.arrays("float32", seed=1):
        pairs = zip(arrays, row.differentiable(), strict=True)
        given = [_given(array, grad, device) for array, grad in pairs]
        with made_on(device):
            results = [r for r in _flat(module(*given, **row.call)) if fl.is_tensor(r)]
            leaves = [*(x for x in given if fl.is_tensor(x) and x.requires_grad),
                      *module.parameters()]
            found += [*results, *_gradients(results, leaves)]
    return [*found, *module.state_dict().values()]


def _given(array, grad: bool, device: str):
    if not hasattr(array, "dtype"):
        return array.to(device) if fl.is_tensor(array) else array
    x = (array if fl.is_tensor(array) else fl.tensor(array)).to(device)
    return x.requires_grad_() if grad and x.is_floating_point() else x


def outcome(name: str, run, dtype: str, device: str = DEVICE) -> str:
    """``right``, ``free`` where the CPU refuses, or how a case is wrong or why not supported."""
    try:
        expected = run("cpu")
    except Exception:
        return "free"
    try:
        given = run(device)
    except NotImplementedError as error:
        return f"unsupported: {error}"
    except Exception as error:
        return f"wrong: {name}: {type(error).__name__}: {error}"
    if len(given) != len(expected):
        return f"wrong: {name}: {len(given)} results instead of {len(expected)}"
    for i, (got, want) in enumerate(zip(given, expected, strict=True)):
        text = difference(got, want, dtype, device)
        if text:
            return f"wrong: {name}: result {i}: {text}"
    return "right"
