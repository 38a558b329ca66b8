"""The core's operator tests on a device: each call that `tensor-core/tests/kit` knows, there and on
the CPU.

The device is ``TESTED_DEVICE``, or the simulated GPU.
"""
from __future__ import annotations

import contextlib
import os
import sys
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KIT = Path(__file__).parents[2] / "packages" / "tensor-core" / "tests" / "kit"
sys.path.insert(0, str(KIT))

import numpy  # noqa: E402
import tolerances  # noqa: E402
from arrays import DTYPES, KIND, LAYOUTS, lay_out, make, tensor  # noqa: E402
from call import Call  # noqa: E402
from calls import CALLS  # noqa: E402
from pointwise_opdefs import POINTWISE, operator, supports  # noqa: E402

import flambeau as fl  # noqa: E402
from flambeau.testing.convert import to_array  # noqa: E402

DEVICE = os.environ.get("TESTED_DEVICE", "cudasim")
#: Every how many-eth case is run; ``TESTED_SHARE=1`` runs all.
SHARE = int(os.environ.get("TESTED_SHARE", "3"))
#: Besides layouts: NaN and infinities among the values, and gradients.
VARIANTS = (*LAYOUTS, "nan", "backward")
#: Of these operators so many results are compared: which of equal elements is found is free.
_COMPARED = {"kthvalue": 1, "mode": 1, "nanmedian.dim": 1, "nanmedian": 1}
#: With NaN and infinities these may differ: NaN as an integer or a coordinate is the processor's
#: choice, rows that should be sorted are not, and infinities meet zeros or each other in some
#: orders of a product's, mean's or polynomial's terms and not in others.
_NAN_IS_FREE = {"cat", "cast", "searchsorted", "bucketize", "embedding_bag", "linalg_vander",
                "vander", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
                "conv_transpose3d", "group_norm", "instance_norm", "cumprod", "kthvalue",
                "scaled_dot_product_attention", "ctc_loss", "ormqr", "orgqr",
                "grid_sample", "grid_sampler_2d", "grid_sampler_3d", "interpolate", "upsample",
                "upsample_bilinear", "stft", "istft"}
#: Results differ by so many times the tolerance of one kernel: sums run in another order.
_FACTOR = 4.0
#: Further factors where rounding errors of large numbers are exponents.
_FACTORS = {"logcumsumexp": 8.0}


@dataclass(frozen=True)
class Case:
    """One call in one dtype and layout."""

    key: str
    number: int
    call: Call
    dtype: str
    variant: str

    @property
    def name(self) -> str:
        return f"{self.key}-{self.number}-{self.dtype}-{self.variant}"

    def is_chosen(self) -> bool:
        """Whether this case belongs to the share that is run."""
        return zlib.crc32(self.name.encode()) % SHARE == 0


def cases(key: str) -> list[Case]:
    """The cases of an operator, its variants where they mean something."""
    found = []
    for number, call in enumerate(all_calls()[key]):
        for dtype in call.dtypes:
            for variant in VARIANTS:
                wide = dtype in ("float32", "float64", "complex64", "complex128")
                free = (key in _NAN_IS_FREE or dtype.startswith("complex")
                        or key.startswith(("fft_", "linalg_")))
                if variant in LAYOUTS or (wide and not (free and variant == "nan")):
                    found.append(Case(key, number, call, dtype, variant))
    return found


def all_calls() -> dict[str, list[Call]]:
    """The kit's calls, and one of each pointwise operator."""
    return CALLS | {opdef.key: [_pointwise_call(opdef)] for opdef in POINTWISE
                    if opdef.key not in CALLS}


def _pointwise_call(opdef) -> Call:
    masks = [p.role == "Mask" for p in opdef.operands]
    dtypes = tuple(d for d in DTYPES if supports(opdef, KIND[d]))

    def function(lib, *operands):
        found = [x > 0 if mask and x.dtype != lib.bool else x
                 for x, mask in zip(operands, masks, strict=True)]
        return operator(opdef)(*found)

    shapes = ((4, 9), (1, 9), (4, 1), (4, 9), (9,))[:len(masks)]
    return Call(function, shapes, dtypes, opdef.domain)


@contextlib.contextmanager
def made_on(device: str) -> Iterator[None]:
    """What is made without a device lies on this one."""
    before = fl.get_default_device()
    fl.set_default_device(device)
    try:
        yield
    finally:
        fl.set_default_device(before)


def inputs(case: Case, device: str) -> list[Any]:
    """The tensors of a case, of equal values on every device."""
    call, found = case.call, []
    for i, shape in enumerate(call.shapes):
        values = make(shape, case.dtype, call.domain, seed=i)
        if case.variant == "nan" and values.size > 2:
            values.reshape(-1)[[0, values.size // 2, -1]] = [float("nan"), float("inf"),
                                                             -float("inf")]
        x = tensor(values, case.dtype).to(device)
        layout = case.variant if case.variant in LAYOUTS else "contiguous"
        with made_on(device):
            x = lay_out(x, layout)
        found.append(x.requires_grad_() if case.variant == "backward" else x)
    return [*found, *(fl.tensor(e).to(device) for e in call.extra)]


def run(case: Case, device: str) -> list[Any]:
    """Results of a case, or its gradients."""
    given = inputs(case, device)
    fl.manual_seed(0)
    with made_on(device), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = _flat(case.call.function(fl, *given))
        if case.variant != "backward":
            return results
        ends = [r for r in results if fl.is_tensor(r) and r.requires_grad]
        if not ends:
            return []
        starts = [x for x in given if x.requires_grad]
        weights = [_weights(end, device) for end in ends]
        return list(fl.autograd.grad(ends, starts, weights, allow_unused=True))


def _weights(end, device: str):
    values = numpy.cos(numpy.arange(end.numel(), dtype="float64")).reshape(tuple(end.shape))
    return fl.from_numpy(numpy.asarray(values)).to(end.dtype).to(device)


def _flat(result) -> list[Any]:
    if isinstance(result, (tuple, list)):
        return [part for each in result for part in _flat(each)]
    return [result]


def outcome(case: Case, device: str = DEVICE) -> str:
    """What became of a case: ``right``, ``free`` where the CPU refuses it, or how it is wrong."""
    try:
        expected = run(case, "cpu")
    except Exception:
        return "free"
    try:
        given = run(case, device)
    except NotImplementedError as error:
        return f"unsupported: {error}"
    except Exception as error:
        return f"wrong: {case.name}: {type(error).__name__}: {error}"
    compared = _COMPARED.get(case.key, len(expected))
    factor = case.call.factor * _FACTORS.get(case.key, 1.0)
    found = (difference(g, e, case.dtype, device, factor)
             for g, e in zip(given[:compared], expected, strict=False))
    text = next((t for t in found if t), "") or (len(given) != len(expected) and "other lengths")
    return f"wrong: {case.name}: {text}" if text else "right"


def difference(given, expected, dtype: str, device: str, factor: float = 1.0) -> str:
    """How a result on a device differs from the CPU's, or an empty text.

    Args:
        given, expected: the results; what is no tensor must be equal.
        dtype: the inputs', whose tolerance applies where it is the wider one.
        device: where results must lie.
        factor: multiplies the tolerance.
    """
    if not fl.is_tensor(expected):
        same = type(given) is type(expected) and (given == expected or given != given)
        return "" if same else f"{given!r} instead of {expected!r}"
    if given.dtype != expected.dtype or given.shape != expected.shape:
        return f"{given.dtype} {tuple(given.shape)} instead of {expected.dtype} " \
               f"{tuple(expected.shape)}"
    if given.device.type != device:
        return f"on {given.device}"
    name = str(expected.dtype).removeprefix("flambeau.")
    given, expected = (to_array(t.resolve_conj() if t.layout == fl.strided else t.to_dense())
                       for t in (given, expected))
    relative, absolute = (0.0, 0.0) if tolerances.is_exact(name) else \
        tolerances.relative_absolute(_coarsest(name, dtype))
    factor *= _FACTOR
    close = _close(given, expected, relative * factor, absolute * factor)
    if close.all():
        return ""
    at = tuple(int(i) for i in numpy.argwhere(~numpy.atleast_1d(close))[0])
    given, expected = numpy.atleast_1d(given), numpy.atleast_1d(expected)
    return f"at {at} {given[at]!r} instead of {expected[at]!r} ({(~close).sum()} of {close.size})"


def _close(given, expected, relative: float, absolute: float):
    """Which elements agree; complex numbers by their parts, of which one may be infinite."""
    if given.dtype.kind == "c":
        return (_close(given.real, expected.real, relative, absolute)
                & _close(given.imag, expected.imag, relative, absolute))
    with numpy.errstate(all="ignore"):
        return numpy.isclose(given, expected, relative, absolute, True)


def _coarsest(*names: str) -> str:
    inexact = [n for n in names if not tolerances.is_exact(n)]
    return max(inexact, key=lambda n: tolerances.relative_absolute(n)[0])


