"""Dropout as one operator: the bits of a drawn mask and a product, and as its decomposition."""
from __future__ import annotations

import pytest

import flambeau as fl
from flambeau.core import _core
from flambeau.core.decompositions import decomposition

DTYPES = (fl.float16, fl.bfloat16, fl.float32, fl.float64)


def same_bits(one, other):
    """Whether two tensors agree in all bits; NaN agrees with NaN."""
    kind = {2: fl.int16, 4: fl.int32, 8: fl.int64}[one.dtype.itemsize]
    equal = one.isnan() & other.isnan() | (one.contiguous().view(kind)
                                           == other.contiguous().view(kind))
    return one.dtype == other.dtype and bool(equal.all())


@pytest.mark.parametrize("dtype", DTYPES)
def test_beside_its_parts(dtype):
    for algorithm in ("philox", "mt19937"):
        generator = fl.Generator(algorithm=algorithm)
        for x in (fl.randn(5, 7), fl.randn(7, 5).t(), fl.randn(9, 3)[::2], fl.randn(()),
                  fl.randn(0, 3)):
            x = x.to(dtype)
            if x.numel() > 3:
                x[0, :3] = fl.tensor([float("nan"), float("inf"), -0.0]).to(dtype)
            for p in (0.1, 0.5, 0.999, 1.0):
                mask = fl.empty(x.shape, dtype=dtype).bernoulli_(1 - p,
                                                                 generator=generator.manual_seed(3))
                scale = fl.tensor(1 / (1 - p) if p < 1 else 1.0, dtype=dtype).item()
                args = [x, p, scale, generator]
                for call in (_core.operators()["native_dropout"], decomposition("native_dropout")):
                    generator.manual_seed(3)
                    found, kept = call(*args[:3], generator=generator)
                    assert same_bits(found, x * (mask * scale))
                    assert kept.dtype == fl.bool and kept.tolist() == mask.bool().tolist()


def test_masked_scale_keeps_nan_and_signs():
    x, kept = fl.tensor([float("nan"), float("inf"), -2.0, 2.0]), fl.tensor([False, False, False,
                                                                            True])
    found = _core.call("masked_scale", [x, kept, 1.5])
    assert found[:2].isnan().all() and found[2:].tolist() == [0.0, 3.0]
    assert fl.signbit(found)[2]


def test_what_is_refused():
    with pytest.raises(RuntimeError, match="must be floating point"):
        _core.call("native_dropout", [fl.ones(3, dtype=fl.int64), 0.5, 2.0])
    with pytest.raises(RuntimeError, match="a probability lies from 0 to 1"):
        _core.call("native_dropout", [fl.ones(3), 1.5, 2.0])
