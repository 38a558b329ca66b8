"""``grouped_mm``: products of groups, against NumPy and PyTorch."""

import numpy as np
import pytest

import flambeau
import flambeau.nn.functional as F

ENDS = [4, 4, 12]


def operands(first, second):
    numbers = np.random.default_rng(0)
    return [numbers.normal(size=shape).astype("f4") for shape in (first, second)]


def by_hand(a, b, ends):
    bounds = list(zip([0, *ends[:-1]], ends, strict=True))
    if a.ndim == b.ndim == 2:
        return np.stack([a[:, i:j] @ b[i:j] for i, j in bounds])
    if a.ndim == 2:
        return np.concatenate([a[i:j] @ b[g] for g, (i, j) in enumerate(bounds)])
    return np.concatenate([a[g] @ b[:, i:j] for g, (i, j) in enumerate(bounds)], 1)


SHAPES = [((12, 4), (3, 4, 8)), ((3, 8, 4), (4, 12)), ((8, 12), (12, 4))]


@pytest.mark.parametrize("shapes", SHAPES)
def test_against_numpy(shapes):
    a, b = operands(*shapes)
    offs = flambeau.tensor(ENDS, dtype=flambeau.int32)
    found = F.grouped_mm(flambeau.from_numpy(a), flambeau.from_numpy(b), offs=offs)
    np.testing.assert_allclose(found.numpy(), by_hand(a, b, ENDS), rtol=1e-5, atol=1e-5)


def test_one_matrix_for_every_group_of_both():
    a, b = operands((3, 2, 4), (3, 4, 5))
    found = F.grouped_mm(flambeau.from_numpy(a), flambeau.from_numpy(b), bias=flambeau.ones(5))
    np.testing.assert_allclose(found.numpy(), a @ b + 1, rtol=1e-5)


def test_what_lies_behind_the_last_group_is_zero():
    a, b = map(flambeau.from_numpy, operands((5, 4), (2, 4, 3)))
    found = F.grouped_mm(a, b, offs=flambeau.tensor([1, 3]), out_dtype=flambeau.float64)
    assert found.shape == (5, 3)
    assert found.dtype is flambeau.float64
    assert found[3:].abs().sum().item() == 0


def test_gradients():
    a, b = operands((12, 4), (3, 4, 8))
    a, b = (flambeau.from_numpy(m).double().requires_grad_() for m in (a, b))
    offs = flambeau.tensor(ENDS)
    assert flambeau.autograd.gradcheck(lambda a, b: F.grouped_mm(a, b, offs=offs), (a, b))


@pytest.mark.parametrize(
    ("first", "second", "ends", "text"),
    [
        ((4,), (4, 3), [4], "2 or 3 dimensions"),
        ((4, 4), (2, 4, 3), None, "offs says"),
        ((4, 4), (2, 4, 3), [3, 2], "rises"),
        ((4, 4), (2, 4, 3), [3, 5], "at most 4"),
        ((4, 4), (2, 4, 3), [4], "1 ends for 2 groups"),
        ((2, 4, 4), (2, 4, 3), [4], "an operand of 2"),
    ],
)
def test_mistakes(first, second, ends, text):
    a, b = map(flambeau.from_numpy, operands(first, second))
    with pytest.raises(ValueError, match=text):
        F.grouped_mm(a, b, offs=None if ends is None else flambeau.tensor(ends))


@pytest.mark.oracle
@pytest.mark.parametrize("shapes", SHAPES)
def test_against_torch(shapes):
    torch = pytest.importorskip("torch")
    a, b = operands(*shapes)
    theirs = torch.nn.functional.grouped_mm(
        torch.from_numpy(a), torch.from_numpy(b), offs=torch.tensor(ENDS, dtype=torch.int32)
    )
    mine = F.grouped_mm(flambeau.from_numpy(a), flambeau.from_numpy(b), offs=flambeau.tensor(ENDS))
    np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-5)


def test_scaled_products_are_those_of_the_numbers_times_their_scales():
    flambeau.manual_seed(0)
    a = flambeau.randn(6, 256).to(flambeau.float8_e4m3fn)
    b = flambeau.randn(5, 256).to(flambeau.float8_e5m2).t()
    whole, rows, blocks = (F.ScalingType[name] for name in (
        "TensorWise", "RowWise", "BlockWise1x128"))
    bias = flambeau.randn(5)
    for kind, sizes in ((whole, ((), ())), (rows, ((6, 1), (1, 5))), (blocks, ((6, 2), (5, 2)))):
        scale_a, scale_b = (flambeau.rand(*size) + 0.5 for size in sizes)
        wide_a, wide_b = scale_a, scale_b
        if kind is blocks:
            wide_a = scale_a.repeat_interleave(128, 1)
            wide_b = scale_b.repeat_interleave(128, 1).t()
        expected = (a.float() * wide_a) @ (b.float() * wide_b) + bias
        result = F.scaled_mm(a, b, scale_a, kind, [scale_b], [kind], bias=bias,
                             output_dtype=flambeau.float32)
        flambeau.testing.assert_close(result, expected)
    assert F.scaled_mm(a, b, scale_a, kind, scale_b, kind).dtype is flambeau.bfloat16
    with pytest.raises(ValueError, match="scale_b has shape"):
        F.scaled_mm(a, b, scale_a, kind, scale_a, kind)
    with pytest.raises(ValueError, match="a matrix of float8"):
        F.scaled_mm(a.float(), b, scale_a, kind, scale_b, kind)
    with pytest.raises(ValueError, match="is for GPUs"):
        F.scaled_mm(a, b, scale_a, kind, scale_b, kind, F.SwizzleType.SWIZZLE_32_4_4)
