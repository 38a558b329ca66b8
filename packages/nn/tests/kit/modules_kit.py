"""Rows that say how a module is made and called, and the checks that every module passes.

``against_torch`` compares with PyTorch: signature, printing, attributes, ``state_dict``, outputs,
gradients of inputs and parameters, buffers afterwards. The functions named ``check_...`` need no
PyTorch: finite differences, copies, ``meta`` tensors, strided and single inputs.

A test file writes rows and two tests::

    ROWS = [row("Conv2d", 4, 6, 3, padding=1, inputs=[(2, 4, 7, 6)])]

    @pytest.mark.oracle
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("row", ROWS, ids=str)
    def test_against_torch(row, dtype):
        against_torch(row, dtype)

    @pytest.mark.parametrize("row", ROWS, ids=str)
    def test_invariants(row):
        check_invariants(row)
"""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import nn

TOLERANCE = {"float32": (2e-5, 4e-6), "float64": (1e-10, 1e-11)}
SETTABLE = (bool, int, float, str, type(None))


@dataclass(frozen=True)
class Given:
    """An input that is no plain normal array: made by ``make(rng)``; with a gradient or without."""

    make: Callable[[np.random.Generator], Any]
    grad: bool = False


@dataclass(frozen=True)
class Row:
    """A module and how it is called."""

    name: str
    args: tuple[Any, ...]
    options: dict[str, Any]
    inputs: tuple[Any, ...]  # per call, per argument of forward: a shape or a Given
    call: dict[str, Any]  # further keywords of forward
    train: bool  # whether the outputs in training mode can be compared (not if random)
    smooth: bool  # whether finite differences apply
    scale: float  # factor on the tolerances

    def __str__(self) -> str:
        settings = [*map(str, self.args), *(f"{k}={v}" for k, v in self.options.items())]
        shapes = [shape if isinstance(shape, tuple) else "made" for shape in self.inputs[0]]
        return f"{self.name}({', '.join(settings)})-{shapes}".replace(" ", "")

    def make(self, package: Any, **more: Any) -> Any:
        """The module, from ``flambeau`` or ``torch``."""
        return getattr(package.nn, self.name)(*self.args, **self.options, **more)

    def arrays(self, dtype: str, seed: int = 0) -> list[list[Any]]:
        """For every call its arguments, as arrays."""
        rng = np.random.default_rng(seed)
        return [[_array(rng, each, dtype) for each in one] for one in self.inputs]

    def differentiable(self) -> list[bool]:
        """Which arguments of ``forward`` take a gradient."""
        return [each.grad if isinstance(each, Given) else True for each in self.inputs[0]]


def row(
    name: str,
    *args: Any,
    inputs: list[Any],
    call: dict[str, Any] | None = None,
    train: bool = True,
    smooth: bool = True,
    scale: float = 1.0,
    **options: Any,
) -> Row:
    """A row: ``nn.name(*args, **options)``, called once with every element of ``inputs``.

    An element is a shape (normal numbers that take a gradient), a ``Given``, or a list of these
    for a ``forward`` with several arguments.
    """
    calls = tuple(tuple(each) if isinstance(each, list) else (each,) for each in inputs)
    return Row(name, args, options, calls, call or {}, train, smooth, scale)


def against_torch(row: Row, dtype: str) -> None:
    """Everything that can be compared with PyTorch, in training and in evaluation mode."""
    torch = pytest.importorskip("torch")
    theirs = row.make(torch).to(getattr(torch, dtype))
    mine = row.make(flambeau).to(getattr(flambeau, dtype))
    assert parameters_of(mine) == parameters_of(theirs)
    assert repr(mine) == repr(theirs)
    compare_attributes(mine, theirs)
    copy_state(mine, theirs)
    modes = (True, False) if row.train else (False,)
    for mode in modes:
        mine.train(mode)
        theirs.train(mode)
        for arrays in row.arrays(dtype, seed=int(mode)):
            compare_call(row, mine, theirs, arrays, dtype)
        compare_state(mine, theirs, dtype)


def parameters_of(module: Any) -> list[tuple[str, Any]]:
    """Names and defaults of what the constructor takes."""
    listed = inspect.signature(type(module)).parameters.values()
    return [(p.name, _default(p.default)) for p in listed if p.name != "self"]


def compare_attributes(mine: Any, theirs: Any) -> None:
    """Public settings have the names and values they have in PyTorch."""
    for name, value in vars(theirs).items():
        if name[0] == "_" or not _is_setting(value) or name in type(theirs).__dict__:
            continue
        assert hasattr(mine, name), f"{type(mine).__name__} has no attribute {name!r}"
        assert getattr(mine, name) == value, name


def copy_state(mine: Any, theirs: Any) -> None:
    """Give our module the weights of the other, whose keys are the same in the same order."""
    state = theirs.state_dict()
    assert list(mine.state_dict()) == list(state)
    assert [n for n, _ in mine.named_parameters()] == [n for n, _ in theirs.named_parameters()]
    mine.load_state_dict({key: ours(value) for key, value in state.items()})


def compare_state(mine: Any, theirs: Any, dtype: str) -> None:
    """Parameters and buffers agree in dtype, shape and value."""
    for (key, a), b in zip(mine.state_dict().items(), theirs.state_dict().values(), strict=True):
        assert str(a.dtype).split(".")[-1] == str(b.dtype).split(".")[-1], key
        close(a, b, dtype)


def compare_call(row: Row, mine: Any, theirs: Any, arrays: list[Any], dtype: str) -> None:
    """Outputs of one call, and every gradient for a random cotangent of every output."""
    torch = pytest.importorskip("torch")
    wanted = row.differentiable()
    given_mine = [_input(flambeau, a, g) for a, g in zip(arrays, wanted, strict=True)]
    given = [_input(torch, a, g) for a, g in zip(arrays, wanted, strict=True)]
    mine.zero_grad()
    theirs.zero_grad()
    outs = _flat(mine(*given_mine, **row.call))
    expected = _flat(theirs(*given, **row.call))
    assert len(outs) == len(expected)
    for a, b in zip(outs, expected, strict=True):
        assert a.requires_grad == b.requires_grad
        close(a, b, dtype, row.scale)
    if not any(out.requires_grad for out in expected):
        return
    _project(flambeau, outs).backward()
    _project(torch, expected).backward()
    for a, b in zip((*given_mine, *mine.parameters()), (*given, *theirs.parameters()), strict=True):
        assert (_grad(a) is None) == (_grad(b) is None)
        if _grad(b) is not None:
            close(a.grad, b.grad, dtype, 5 * row.scale)


def check_invariants(row: Row) -> None:
    """What holds of every module by itself, without PyTorch."""
    check_copies(row)
    check_dtype(row)
    check_strided(row)
    check_meta(row)
    check_gradients(row)


def check_gradients(row: Row) -> None:
    """Gradients of inputs and parameters against a difference along a random direction."""
    if not row.smooth:
        return
    module = row.make(flambeau, **_dtype_option(row, "float64"))
    module = module.to(flambeau.float64).train(row.train)
    arguments = [_input(flambeau, a, g) for a, g in _first(row, "float64")]
    buffers = {name: buffer.clone() for name, buffer in module.named_buffers()}

    def total() -> Any:
        for name, buffer in module.named_buffers():
            buffer.copy_(buffers[name])
        return _project(flambeau, _flat(module(*arguments, **row.call)))

    value = total()
    if isinstance(value, int) or not value.requires_grad:
        return
    value.backward()
    rng = np.random.default_rng(3)
    for leaf in (*arguments, *module.parameters()):
        if _grad(leaf) is not None:
            _check_direction(leaf, total, flambeau.tensor(rng.standard_normal(tuple(leaf.shape))))


def _check_direction(leaf: Any, total: Callable[[], Any], direction: Any) -> None:
    step = 1e-6
    slope = (leaf.grad * direction).sum().item()
    with flambeau.no_grad():
        leaf.add_(direction, alpha=step)
        above = total().item()
        leaf.add_(direction, alpha=-2 * step)
        below = total().item()
        leaf.add_(direction, alpha=step)
    np.testing.assert_allclose(slope, (above - below) / (2 * step), rtol=1e-5, atol=1e-6)


def check_copies(row: Row) -> None:
    """A deep copy, a pickled one, and one that loads the ``state_dict`` compute the same."""
    module = row.make(flambeau).eval()
    arguments = [_input(flambeau, a, False) for a, _ in _first(row, "float32")]
    expected = _flat(module(*arguments, **row.call))
    loaded = row.make(flambeau).eval()
    loaded.load_state_dict(module.state_dict())
    for twin in (copy.deepcopy(module), pickle.loads(pickle.dumps(module)), loaded):
        assert repr(twin) == repr(module)
        for a, b in zip(_flat(twin(*arguments, **row.call)), expected, strict=True):
            same(a, b)


def check_dtype(row: Row) -> None:
    """The constructor's ``dtype`` is that of the parameters, and outputs follow the input's."""
    for dtype in ("float32", "float64"):
        module = row.make(flambeau, **_dtype_option(row, dtype)).eval()
        arguments = [_input(flambeau, a, False) for a, _ in _first(row, dtype)]
        for out in _flat(module(*arguments, **row.call)):
            assert not out.is_floating_point() or str(out.dtype) == f"flambeau.{dtype}"


def check_strided(row: Row) -> None:
    """Inputs that are not contiguous give what contiguous ones give."""
    module = row.make(flambeau).eval()
    plain = [_input(flambeau, a, False) for a, _ in _first(row, "float32")]
    strided = [_strided(tensor) for tensor in plain]
    outs = _flat(module(*strided, **row.call))
    for a, b in zip(outs, _flat(module(*plain, **row.call)), strict=True):
        np.testing.assert_allclose(give(a), give(b), rtol=1e-5, atol=1e-5)


def check_meta(row: Row) -> None:
    """On the ``meta`` device, where nothing is computed, shapes and dtypes are the same.

    A module that was made there takes its weights later.
    """
    module = row.make(flambeau).eval()
    state = copy.deepcopy(module.state_dict())
    plain = [_input(flambeau, a, False) for a, _ in _first(row, "float32")]
    absent = [_to(tensor, "meta") for tensor in plain]
    expected = _flat(module(*plain, **row.call))
    for a, b in zip(_flat(module.to("meta")(*absent, **row.call)), expected, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
    if "device" in inspect.signature(getattr(nn, row.name)).parameters:
        made = row.make(flambeau, device="meta").eval()
        assert all(p.device.type == "meta" for p in (*made.parameters(), *made.buffers()))
        made = made.to_empty(device="cpu")
        made.load_state_dict(state)
        for a, b in zip(_flat(made(*plain, **row.call)), expected, strict=True):
            same(a, b)


def refuses(make: Callable[[Any], Any], error: Any, text: str, same_type: bool = True) -> None:
    """``make(package)`` raises ``error`` with ``text`` here, and in PyTorch the same type."""
    with pytest.raises(error, match=text):
        make(flambeau)
    if same_type:
        torch = pytest.importorskip("torch")
        with pytest.raises(error):
            make(torch)


def ours(tensor: Any) -> Any:
    """A tensor of PyTorch's as one of Flambeau's."""
    return flambeau.tensor(tensor.detach().numpy())


def give(tensor: Any) -> Any:
    """The values as an array."""
    return tensor.detach().numpy()


def close(mine: Any, theirs: Any, dtype: str = "float32", scale: float = 1.0) -> None:
    """Equal shapes, and values as near as ``dtype`` allows."""
    rtol, atol = TOLERANCE[dtype]
    assert tuple(mine.shape) == tuple(theirs.shape)
    np.testing.assert_allclose(give(mine), give(theirs), rtol=rtol * scale, atol=atol * scale)


def same(a: Any, b: Any) -> None:
    """Equal shapes and values."""
    np.testing.assert_array_equal(give(a), give(b))


def _array(rng: np.random.Generator, each: Any, dtype: str) -> Any:
    made = each.make(rng) if isinstance(each, Given) else rng.standard_normal(each)
    is_real = isinstance(made, np.ndarray) and made.dtype.kind == "f"
    return made.astype(dtype) if is_real else made


def _first(row: Row, dtype: str) -> list[tuple[Any, bool]]:
    return list(zip(row.arrays(dtype)[0], row.differentiable(), strict=True))


def _input(package: Any, value: Any, grad: bool) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    tensor = package.tensor(value)
    return tensor.requires_grad_() if grad else tensor


def _strided(tensor: Any) -> Any:
    if not isinstance(tensor, flambeau.Tensor) or tensor.ndim == 0:
        return tensor
    return flambeau.stack((tensor, tensor), -1)[..., 0]


def _to(value: Any, device: str) -> Any:
    return value.to(device) if isinstance(value, flambeau.Tensor) else value


def _dtype_option(row: Row, dtype: str) -> dict[str, Any]:
    takes = inspect.signature(getattr(nn, row.name)).parameters
    return {"dtype": getattr(flambeau, dtype)} if "dtype" in takes else {}


def _default(value: Any) -> Any:
    """Functions of the two packages are compared by their names."""
    return value.__name__ if callable(value) else value


def _is_setting(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_is_setting, value))
    return isinstance(value, SETTABLE)


def _flat(outputs: Any) -> list[Any]:
    if isinstance(outputs, tuple | list):
        return [leaf for each in outputs for leaf in _flat(each)]
    return [] if outputs is None else [outputs]


def _project(package: Any, outs: list[Any]) -> Any:
    """The sum of all outputs that have a gradient, each times a random cotangent."""
    rng = np.random.default_rng(7)
    total: Any = 0
    for out in outs:
        cotangent = rng.standard_normal(tuple(out.shape))
        if out.is_floating_point():
            total = total + (out * package.tensor(cotangent).to(out.dtype)).sum()
    return total


def _grad(value: Any) -> Any:
    return getattr(value, "grad", None)
