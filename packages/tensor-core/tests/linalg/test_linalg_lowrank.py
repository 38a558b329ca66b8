"""Random projection finds what the full decomposition finds; the nuclear norm."""
from __future__ import annotations

import numpy as np
import pytest

import flambeau


def _low(shape, rank, seed=0):
    """Matrices of a low rank."""
    draw = np.random.default_rng(seed)
    *batch, m, n = shape
    return draw.standard_normal((*batch, m, rank)) @ draw.standard_normal((*batch, rank, n))


@pytest.mark.parametrize("shape", ((9, 5), (5, 9), (2, 3, 8, 6), (6, 6)))
@pytest.mark.parametrize("dtype", ("float64", "complex128"))
def test_low_rank_matrices_are_found_exactly(shape, dtype):
    a = _low(shape, 3).astype(dtype)
    if dtype == "complex128":
        a = a * (1 + 2j)
    U, S, V = flambeau.svd_lowrank(flambeau.tensor(a), q=4)
    assert U.shape == (*shape[:-1], 4)
    assert V.shape == (*shape[:-2], shape[-1], 4)
    np.testing.assert_allclose((U * S.unsqueeze(-2) @ V.mH).numpy(), a, atol=1e-10)
    np.testing.assert_allclose(S.numpy(), np.linalg.svd(a, compute_uv=False)[..., :4], atol=1e-9)
    identity = np.broadcast_to(np.eye(4), (*shape[:-2], 4, 4))
    np.testing.assert_allclose((U.mH @ U).numpy(), identity, atol=1e-10)
    np.testing.assert_allclose((V.mH @ V).numpy(), identity, atol=1e-10)


def test_what_is_subtracted():
    a = _low((7, 4), 2)
    shift = np.arange(4.0)
    _, S, _ = flambeau.svd_lowrank(flambeau.tensor(a + shift), q=2, M=flambeau.tensor(shift))
    np.testing.assert_allclose(S.numpy(), np.linalg.svd(a, compute_uv=False)[:2])


@pytest.mark.parametrize("center", (True, False))
def test_principal_components(center):
    a = _low((20, 5), 2) + 3
    _, S, V = flambeau.pca_lowrank(flambeau.tensor(a), q=3, center=center)
    seen = a - a.mean(0) if center else a
    np.testing.assert_allclose(S.numpy(), np.linalg.svd(seen, compute_uv=False)[:3], atol=1e-9)
    np.testing.assert_allclose((seen @ V.numpy() @ V.numpy().T), seen, atol=1e-9)
    assert flambeau.pca_lowrank(flambeau.ones(3, 9))[1].shape == (3,)


def test_gradients_flow_through():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    x = flambeau.tensor(_low((5, 4), 4) + 4 * np.eye(5, 4), requires_grad=True)
    flambeau.svd_lowrank(x, q=4)[1].sum().backward()
    u, _, vh = np.linalg.svd(x.detach().numpy(), full_matrices=False)
    np.testing.assert_allclose(x.grad.numpy(), u @ vh, atol=1e-8)


@pytest.mark.parametrize("call", (
    lambda: flambeau.svd_lowrank(flambeau.ones(3, 2), q=3),
    lambda: flambeau.svd_lowrank(flambeau.ones(3, 2), q=-1),
    lambda: flambeau.svd_lowrank(flambeau.ones(3, 2), q=1, niter=-1),
    lambda: flambeau.svd_lowrank(flambeau.ones(3), q=1),
    lambda: flambeau.pca_lowrank(flambeau.ones(3, 2, dtype=flambeau.int64)),
    lambda: flambeau.pca_lowrank(flambeau.ones(3)),
))
def test_mistakes_are_refused(call):
    with pytest.raises(ValueError, match="_lowrank"):
        call()


def test_nuclear_norm():
    a = _low((2, 4, 3), 3)
    x = flambeau.tensor(a)
    np.testing.assert_allclose(flambeau.nuclear_norm(x[0]).item(), np.linalg.norm(a[0], "nuc"))
    kept = flambeau.nuclear_norm(x, dim=(0, 2), keepdim=True)
    expected = [np.linalg.norm(a[:, i], "nuc") for i in range(4)]
    assert kept.shape == (1, 4, 1)
    np.testing.assert_allclose(kept.numpy().ravel(), expected)
    with pytest.raises(RuntimeError, match="expected a matrix"):
        flambeau.nuclear_norm(x)


@pytest.mark.oracle
def test_the_same_shapes_and_values_as_pytorch():
    torch = pytest.importorskip("torch")
    a = _low((8, 5), 2)
    ours, theirs = flambeau.tensor(a), torch.tensor(a)
    for name, args in (("svd_lowrank", (3,)), ("pca_lowrank", (3,)), ("pca_lowrank", ())):
        mine, other = getattr(flambeau, name)(ours, *args), getattr(torch, name)(theirs, *args)
        assert [tuple(x.shape) for x in mine] == [tuple(x.shape) for x in other]
        np.testing.assert_allclose(mine[1].numpy(), other[1].numpy(), atol=1e-9)
    np.testing.assert_allclose(flambeau.nuclear_norm(ours, (0, 1)).item(),
                               torch.linalg.matrix_norm(theirs, "nuc").item())
