"""What definitions say of values is tried out: other values of the same shape and dtype."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from calls import CALLS

import flambeau
from flambeau.core import _core, ops
from flambeau.core.opdefs import OPDEFS
from flambeau.core.register import definition
from flambeau.testing.samples import samples

NAN = float("nan")
T, LONG = flambeau.tensor, flambeau.int64
#: What other values of the usual calls do not meet: calls with an option, or that make matrices.
REFUSED = {
    "masked_scatter": lambda: ops.masked_scatter(T([0.0, 0]), T([True, True]), T([1.0])),
    "div.mode": lambda: flambeau.div(T([1]), T([0]), rounding_mode="floor"),
    "quantile": lambda: flambeau.quantile(T([0.0, 1]), T(2.0)),
    "nanquantile": lambda: flambeau.nanquantile(T([0.0, 1]), T(2.0)),
    "normal": lambda: flambeau.normal(T([0.0]), T([-1.0])),
    "normal.std": lambda: flambeau.normal(0.0, T([-1.0])),
    "norm": lambda: T([[NAN]]).norm("nuc"),
    "cholesky": lambda: flambeau.cholesky(T([[-1.0]])),
    "cholesky_inverse": lambda: flambeau.cholesky_inverse(T([[0.0]])),
    "linalg_cholesky_ex": lambda: ops.linalg_cholesky_ex(T([[-1.0]]), check_errors=True),
    "linalg_inv_ex": lambda: ops.linalg_inv_ex(T([[0.0]]), check_errors=True),
    "linalg_solve_ex": lambda: ops.linalg_solve_ex(T([[0.0]]), T([1.0]), check_errors=True),
    "linalg_lu_factor_ex": lambda: ops.linalg_lu_factor_ex(T([[0.0]]), check_errors=True),
    "linalg_ldl_factor_ex": lambda: ops.linalg_ldl_factor_ex(T([[0.0]]), check_errors=True),
    "lu_unpack": lambda: flambeau.lu_unpack(T([[1.0]]), T([9], dtype=flambeau.int32)),
    "lu_solve": lambda: flambeau.lu_solve(T([[1.0]]), T([[1.0]]), T([9], dtype=flambeau.int32)),
    "linalg_lu_solve": lambda: flambeau.linalg.lu_solve(
        T([[1.0]]), T([9], dtype=flambeau.int32), T([[1.0]])),
    **{f"max_unpool{n}d": lambda n=n: getattr(ops, f"max_unpool{n}d")(
        flambeau.ones([1] * (n + 2)), flambeau.full([1] * (n + 2), 99, dtype=LONG), 2)
       for n in (1, 2, 3)},
    **{f"fractional_max_pool{n}d_with_indices": lambda n=n: getattr(
        ops, f"fractional_max_pool{n}d_with_indices")(
            flambeau.ones([1, 1] + [4] * n), 2, output_size=[2] * n,
            _random_samples=flambeau.full((1, 1, n), 1e30)) for n in (2, 3)},
    "istft": lambda: flambeau.istft(flambeau.ones(5, 9, dtype=flambeau.complex64), 8,
                                    window=flambeau.zeros(8)),
    **{f"{name}.data": lambda name=name, gates=gates, hx=hx: getattr(ops, name)(
        flambeau.ones(3, 1), T([2, -1]), hx, [flambeau.ones(gates, 1)] * 2, False, 1, 0.0,
        False, False) for name, gates, hx in (
            ("lstm", 4, [flambeau.zeros(1, 2, 1)] * 2), ("gru", 3, flambeau.zeros(1, 2, 1)),
            ("rnn_tanh", 1, flambeau.zeros(1, 2, 1)), ("rnn_relu", 1, flambeau.zeros(1, 2, 1)))},
}
#: The same of shapes: two calls whose tensors have equal shapes.
GROWS = {"tensor_split": lambda last: ops.tensor_split(flambeau.arange(6), T([1, last]))}


def _others(t):
    """Tensors like this one with other values, some of them extreme."""
    if t.dtype is flambeau.bool:
        values = [False, True]
    elif t.is_floating_point() or t.is_complex():
        values = [0.0, 1.0, -1.0, 6e4 if t.dtype is flambeau.float16 else 1e30, NAN, float("inf")]
    else:
        values = [0, 1, -1, 1000, -1000] if t.dtype.is_signed else [0, 1, 200]
    for value in values:
        if t.dtype is not flambeau.int8 or abs(value) < 128:
            yield flambeau.full(tuple(t.shape), value, dtype=t.dtype)
    if t.dtype is not flambeau.bool and t.numel() > 1:
        yield flambeau.arange(t.numel()).reshape(tuple(t.shape)).to(t.dtype)


def _copy(value):
    if isinstance(value, flambeau.Tensor):
        return value.clone()
    return [_copy(v) for v in value] if isinstance(value, (list, tuple)) else value


def _changed(args):
    """The arguments with one tensor replaced."""
    for i, value in enumerate(args):
        if isinstance(value, flambeau.Tensor):
            for other in _others(value):
                yield [other if k == i else _copy(a) for k, a in enumerate(args)]
        elif isinstance(value, (list, tuple)):
            for j, inner in enumerate(value):
                if isinstance(inner, flambeau.Tensor):
                    for other in _others(inner):
                        new = [_copy(a) for a in args]
                        new[i][j] = other
                        yield new


def _tensor(value):
    if isinstance(value, str) and value.startswith("dtype:"):
        return getattr(flambeau, value[6:])
    if isinstance(value, np.ndarray):
        return flambeau.from_numpy(np.ascontiguousarray(value).reshape(value.shape))
    return [_tensor(v) for v in value] if isinstance(value, (list, tuple)) else value


def _calls(opdef):
    """Functions and their arguments."""
    if opdef.category != "composite":
        for dtype in ("float32", "int64", "bool"):
            for args, named in list(samples(opdef, dtype))[:6]:
                rest = [named.get(p.name, None if p.default is ... else p.default)
                        for p in opdef.params[len(args):]] if named else []
                yield lambda *a: _core.call(opdef.key, a), [*map(_tensor, args), *rest]
    for call in CALLS.get(opdef.key, ())[:8]:
        for dtype in [d for d in ("float32", "int64") if d in call.dtypes] or call.dtypes[:1]:
            yield lambda *a, call=call: call.function(flambeau, *a), call.inputs(flambeau, dtype)


def _shapes(result):
    if isinstance(result, flambeau.Tensor):
        return tuple(result.shape)
    return [_shapes(r) for r in result] if isinstance(result, (list, tuple)) else None


def _seen(opdef):
    """Whether some values were refused, and whether the shape was another with some."""
    refused = moved = False
    for run, args in _calls(opdef):
        try:
            before = _shapes(run(*map(_copy, args)))
        except (RuntimeError, TypeError, ValueError, NotImplementedError):
            continue
        for new in _changed(args):
            try:
                moved |= _shapes(run(*new)) != before
            except (RuntimeError, ValueError, IndexError, ZeroDivisionError):
                refused = True
    return refused, moved


def _raises(call):
    with pytest.raises((RuntimeError, ValueError, IndexError, ZeroDivisionError)):
        call()
    return True


@pytest.mark.parametrize("opdef", OPDEFS, ids=lambda opdef: opdef.key)
def test_values_that_are_refused_and_shapes_that_depend_on_values(opdef):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        refused, moved = _seen(opdef)
    if opdef.key in REFUSED:
        refused = _raises(REFUSED[opdef.key])
    if opdef.key in GROWS:
        moved = _shapes(GROWS[opdef.key](2)) != _shapes(GROWS[opdef.key](4))
    assert (refused, moved) == (opdef.raises_on_values, opdef.dynamic_shape)


def test_operators_at_run_time_say_what_their_definitions_say():
    facts = ("random", "dynamic_shape", "raises_on_values", "differentiable", "batching", "jvp",
             "category")
    for opdef in OPDEFS:
        op = _core.find_op(opdef.key)
        assert [getattr(op, f) for f in facts] == [getattr(opdef, f) for f in facts], opdef.key
        assert op.dtype_rule == opdef.rule
        assert op.linear_in == opdef.linear_in
        assert definition(opdef.key) == opdef


def test_linear_operators_are():
    """``f(2 * x) - f(x)`` is ``f(x)``, where all that it is linear in is doubled."""
    tried = 0
    for opdef in OPDEFS:
        for args, named in list(samples(opdef, "float64"))[:4] if opdef.linear else ():
            names = dict(zip([p.name for p in opdef.params], map(_tensor, args), strict=False))
            names |= {name: _tensor(value) for name, value in named.items()}
            linear, added = opdef.linear_in
            twice = linear[:1] + (added,) if "*" in opdef.linear else linear

            def run(factor, opdef=opdef, names=names, twice=twice):
                args = [names.get(p.name, None if p.default is ... else p.default)
                        for p in opdef.params]
                return _core.call(opdef.key, [
                    _times(_copy(a), factor) if p.name in twice else _copy(a)
                    for p, a in zip(opdef.params, args, strict=True)])

            one, two = run(1), run(2)
            if one.dtype not in (flambeau.float64, flambeau.complex128):
                continue
            assert (two - one - one).abs().sum().item() <= 1e-9 * one.abs().sum().item(), opdef.key
            tried += 1
    assert tried > 60


def _times(value, factor):
    if isinstance(value, list):
        return [_times(v, factor) for v in value]
    return None if value is None else value * factor


def test_facts_are_spelt_right():
    for fact in ("jvp", "batching", "autocast"):
        with pytest.raises(ValueError, match=f"exp: {fact}='odd' is not one of"):
            replace(next(o for o in OPDEFS if o.key == "exp"), **{fact: "odd"})
