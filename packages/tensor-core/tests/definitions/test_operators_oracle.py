"""Every definition against PyTorch: dtype, shape and values, over dtypes and layouts."""

from __future__ import annotations

import pytest
import references
from arrays import DTYPES, KIND, LAYOUTS, make, tensor
from calls import CALLS
from checks import same
from pointwise_opdefs import POINTWISE, operands, operator, supports

import flambeau

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = pytest.mark.oracle

CASES = [pytest.param(call, dtype, id=f"{key}-{i}-{dtype}")
         for key, calls in CALLS.items() for i, call in enumerate(calls) for dtype in call.dtypes]


@pytest.mark.filterwarnings("ignore:index_reduce", "ignore:The reduce argument")
@pytest.mark.parametrize(("call", "dtype"), CASES)
def test_calls(call, dtype):
    expected = call.run(torch, dtype)
    for layout in LAYOUTS:
        same(call.run(flambeau, dtype, layout), expected, call.factor)


def _fake_quantized(x, scale, zero):
    """Without rounding to half precision between the steps."""
    kind = x.dtype
    x, scale, zero = (t.to(torch.promote_types(t.dtype, torch.float32)) for t in (x, scale, zero))
    return ((x * (1 / scale)).round() + zero).clamp(0, 255).sub(zero).mul(scale).to(kind)


#: What PyTorch calls the definitions that are no functions of its own.
_NAMES = {
    "trunc_divide": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "clamp_both": torch.clamp, "real_part": torch.real,
    "gelu_exact": torch.nn.functional.gelu,
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "conj": lambda x: torch.conj(x).resolve_conj(), "where": torch.where,
    "binary_cross_entropy_terms": lambda x, y: (
        (y - 1) * (-x).log1p().clamp(min=-100) - y * x.log().clamp(min=-100)),
    "masked_scale": lambda x, mask: x * mask,
    "huber_terms": lambda x, y: torch.nn.functional.huber_loss(x, y, reduction="none"),
    "relu_grad": lambda g, r: torch.where(r > 0, g, 0),
    "channel_affine": lambda x, scale, shift: x * scale + shift,
    "trigamma": lambda x: torch.polygamma(1, x), "logit_of": torch.logit,
    "angle_of": torch.angle, "angle_of_complex": torch.angle,
    "nextafter_wide": torch.nextafter,
    "nextafter_narrow": torch.nextafter,
    "replace_nonfinite": lambda x: torch.nan_to_num(x, 0, 0, 0),
    "round_by": lambda x: torch.round(x, decimals=2),
    "softshrink_by": torch.nn.functional.softshrink,
    "softsign_of": torch.nn.functional.softsign, "elu_scaled": torch.nn.functional.elu,
    "threshold_at": lambda x: torch.threshold(x, 0, 0),
    "fake_quantize_by": lambda *given: _fake_quantized(*given),
    "hardtanh_between": torch.nn.functional.hardtanh,
    "prelu_rows": lambda x, w: torch.where(x > 0, x, w * x),
}


def _theirs(key):
    return (_NAMES.get(key) or getattr(torch, key, None)
            or getattr(torch.special, key, None) or getattr(torch.nn.functional, key))


def _domain(opdef):
    return {"pow": (0.1, 3.0), "div": (0.5, 3.0), "floor_divide": (0.5, 9.0),
            "remainder": (0.5, 9.0), "fmod": (0.5, 9.0), "trunc_divide": (0.5, 9.0),
            "addcdiv": (0.5, 3.0)}.get(opdef.key, opdef.domain)


#: One has no meaning without its scalars; PyTorch's trigamma has ten digits, and none at poles.
_APART = {"nextafter_narrow", "trigamma"}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("opdef", [r for r in POINTWISE if r.key not in _APART],
                         ids=lambda opdef: opdef.key)
def test_pointwise(opdef, dtype):
    if not supports(opdef, KIND[dtype]):
        return      # refused with an error, see test_pointwise.py
    kinds = ["bool" if p.role == "Mask" else dtype for p in opdef.operands]
    arrays = [make((4, 9), k, _domain(opdef), seed=i) for i, k in enumerate(kinds)]
    if opdef.key in (*references.INT_DIVISION, "addcdiv", "pow"):
        arrays[1:] = [abs(a) + a.dtype.type(1) if a.dtype != bool else a | True for a in arrays[1:]]
    try:
        theirs = [tensor(a, k, torch) for a, k in zip(arrays, kinds, strict=True)]
        expected = _theirs(opdef.key)(*theirs)
    except (RuntimeError, TypeError):
        return      # what PyTorch refuses is free here; test_pointwise.py says what is refused
    same(operator(opdef)(*[tensor(a, k) for a, k in zip(arrays, kinds, strict=True)]), expected)


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 25.0, -100.0, 1e30, float("inf"), -float("inf"),
           float("nan")]
#: Where PyTorch's vector code and its own scalar code differ, or the sign of a zero is free.
_LOOSE = {"gelu_tanh", "relu_grad", "where", "masked_scale",
          # i0(inf) and i1(inf) are nan there; near the poles its trigamma is large, not infinite;
          # this one has no meaning without its scalars
          "i0", "i1", "trigamma", "nextafter_narrow"}


@pytest.mark.parametrize("opdef", [r for r in POINTWISE if "float" in r.formulas
                                 and r.key not in _LOOSE], ids=lambda opdef: opdef.key)
def test_special_values(opdef):
    n = operands(opdef)
    grid = torch.meshgrid(*[torch.tensor(SPECIAL, dtype=torch.float64)] * n, indexing="ij")
    theirs = [g.reshape(-1) for g in grid]
    ours = [flambeau.from_numpy(t.numpy().copy()) for t in theirs]
    same(operator(opdef)(*ours), _theirs(opdef.key)(*theirs))


@pytest.mark.parametrize("name", ("remainder", "floor_divide", "fmod"))
def test_infinite_divisors(name):
    a, b = [1.0, -1.0, 0.0, 7.0], [float("inf"), float("inf"), -float("inf"), 2.0]
    same(getattr(flambeau, name)(flambeau.tensor(a), flambeau.tensor(b)),
         getattr(torch, name)(torch.tensor(a), torch.tensor(b)))


def test_fmod_of_infinities():
    a = [1.0, -1.0, 5.5, -5.5, float("inf"), float("nan")]
    b = [float("inf"), -float("inf"), 2.0, 2.0, 2.0, 1.0]
    same(flambeau.fmod(flambeau.tensor(a), flambeau.tensor(b)),
         torch.fmod(torch.tensor(a), torch.tensor(b)))
