"""The rest of the contract: memory, copies, views, writing, errors, and the tape on top."""
from __future__ import annotations

import gc
import importlib.util

import numpy as np

import flambeau as fl
from flambeau.core import _core
from flambeau.testing.contract_operators import Outcome
from flambeau.testing.convert import to_array
from flambeau.testing.samples import DTYPES


def _values(*shape) -> np.ndarray:
    return np.arange(float(np.prod(shape)), dtype="float32").reshape(shape)


def _on(device, *shape):
    return fl.from_numpy(_values(*shape)).to(device)


def check_allocation(device: str) -> None:
    """Tensors of all sizes, also none, are made, are apart, and are freed."""
    made = [fl.empty(n, device=device) for n in (0, 1, 7, 1000, 1 << 16)]
    spans = sorted((t.data_ptr(), 4 * t.numel()) for t in made if t.numel())
    for (start, size), (following, _) in zip(spans, spans[1:], strict=False):
        assert start + size <= following, "two live tensors share memory"
    for t in made:
        assert t.device.type == device
    for _ in range(200):
        fl.empty(1 << 18, device=device)
    del made
    gc.collect()


def check_copies(device: str) -> None:
    """Values survive the way to the device, on it, and back, in every dtype."""
    for name in DTYPES:
        if name == "bfloat16":
            continue
        want = (_values(3, 5) % 7).astype(name)
        here = fl.from_numpy(want).to(device)
        np.testing.assert_array_equal(to_array(here), want)
        np.testing.assert_array_equal(to_array(here.clone()), want)
    half = fl.from_numpy(_values(5)).to(fl.bfloat16)
    assert (half.to(device).cpu() == half).all().item()
    turned = fl.from_numpy(_values(3, 5)).t().to(device)
    np.testing.assert_array_equal(to_array(turned), _values(3, 5).T)
    np.testing.assert_array_equal(to_array(_on(device, 4, 5)[1:, ::2]), _values(4, 5)[1:, ::2])
    assert _on(device, 0, 3).cpu().shape == (0, 3)


def check_views(device: str) -> None:
    """Views share memory with their base, both ways."""
    x = _on(device, 4, 6)
    x.t()[2:4].add_(100)
    want = _values(4, 6)
    want[:, 2:4] += 100
    np.testing.assert_array_equal(to_array(x), want)
    row = x[1]
    x.mul_(2)
    np.testing.assert_array_equal(to_array(row), want[1] * 2)


def check_writing(device: str) -> None:
    """In-place operators, ``out=``, slices written to, overlap, and version counters."""
    x, y = _on(device, 3, 4), _on(device, 4)
    before = x._version
    x.add_(y).mul_(0.5)
    want = (_values(3, 4) + _values(4)) * 0.5
    np.testing.assert_allclose(to_array(x), want)
    assert x._version == before + 2
    out = fl.empty(3, 4, device=device)
    assert fl.exp(x, out=out) is out
    np.testing.assert_allclose(to_array(out), np.exp(want), rtol=1e-5)
    x[:, 1:] = x[:, :-1]
    want[:, 1:] = want[:, :-1].copy()
    np.testing.assert_allclose(to_array(x), want)
    x.copy_(fl.zeros(4))
    assert not to_array(x).any()


def check_errors(device: str) -> None:
    """Mixed devices and numpy() of device memory are refused with a sentence that helps."""
    x = _on(device, 3)
    for attempt, words in ((lambda: x + fl.ones(3), device), (lambda: x.numpy(), "cpu()")):
        try:
            attempt()
        except (RuntimeError, TypeError) as error:
            assert words in str(error), f"the error does not mention {words!r}: {error}"
        else:
            raise AssertionError("no error")


def check_host_numbers(device: str) -> None:
    """A 0-d CPU tensor meets tensors of the device as a number does."""
    x = _on(device, 3)
    assert (x * fl.tensor(2.0)).tolist() == [0.0, 2.0, 4.0]
    assert fl.where(x > 1, x, fl.tensor(-1.0)).tolist() == [-1.0, -1.0, 2.0]


def check_missing_kernel(device: str) -> None:
    """A row that no backend knows says so and computes nothing."""
    key = "contract_unknown"
    if key not in _core.op_keys():
        fl.core.register_op(f"{key}(Operand x)", float="x + 1")
    backend = fl.core.backends.adapter(device)
    original = backend.run
    if hasattr(backend, "plan"):    # it has a launch path that asks this first
        vars(backend)["plan"] = lambda op, args, outs: None

    def run(op, args, outs):
        return NotImplemented if op.key == key else original(op, args, outs)

    vars(backend)["run"] = run
    try:
        _core.call(key, [_on(device, 3)])
    except NotImplementedError as error:
        assert key in str(error) and device in str(error), str(error)
    else:
        raise AssertionError("no error for a missing kernel")
    finally:
        del vars(backend)["run"]
        vars(backend).pop("plan", None)


def check_creation(device: str) -> None:
    """Factories make what they make on the CPU, random numbers included."""
    def makers(where):
        return [fl.zeros(2, 3, device=where), fl.ones(3, device=where),
                fl.full((2,), 1.5, device=where), fl.arange(5, device=where),
                fl.arange(0, 2, 0.25, device=where), fl.linspace(0, 1, 5, device=where),
                fl.eye(3, device=where), fl.tensor([[1, 2], [3, 4]], device=where)]

    for here, there in zip(makers(device), makers("cpu"), strict=True):
        assert here.dtype == there.dtype
        np.testing.assert_array_equal(to_array(here), to_array(there))


def check_random(device: str) -> None:
    """A seed gives the CPU's numbers."""
    for make in (fl.rand, fl.randn):
        fl.manual_seed(7)
        here = make(1000, device=device)
        fl.manual_seed(7)
        np.testing.assert_allclose(to_array(here), to_array(make(1000)), rtol=2e-5, atol=1e-6)


def check_items(device: str) -> None:
    """Values that Python looks at: item, bool, tolist, printing."""
    x = _on(device, 3)
    assert x[2].item() == 2.0
    assert x.tolist() == [0.0, 1.0, 2.0]
    assert bool(x.sum() > 2)
    assert device in repr(x)
    _core.synchronize(device)


def check_autograd(device: str) -> None:
    """A small network learns the same gradients as on the CPU."""
    def gradients(where):
        w = fl.from_numpy(_values(4, 3) / 10).to(where).requires_grad_()
        x = fl.from_numpy(_values(5, 4) / 20).to(where)
        ((x @ w).tanh() * fl.from_numpy(_values(3)).to(where)).sum().backward()
        return to_array(w.grad)

    np.testing.assert_allclose(gradients(device), gradients("cpu"), rtol=1e-4, atol=1e-6)


_CHECKS = (check_allocation, check_copies, check_views, check_writing, check_errors,
           check_host_numbers, check_missing_kernel, check_creation, check_random, check_items)


def checks():
    """The checks that apply here; the tape's only where flambeau-autograd is installed."""
    try:
        tape = importlib.util.find_spec("flambeau.autograd") is not None
    except ModuleNotFoundError:
        tape = False
    return (*_CHECKS, check_autograd) if tape else _CHECKS


def run_check(check, device: str) -> Outcome:
    """One check as an outcome; a kernel that is not there counts as missing."""
    name = check.__name__.removeprefix("check_")
    try:
        check(device)
    except NotImplementedError as error:
        return Outcome(f"({name}: {error})", missing=True)
    except Exception as error:
        return Outcome(name, failures=(f"{name}: {type(error).__name__}: {error}",))
    return Outcome(name, passed=1)
