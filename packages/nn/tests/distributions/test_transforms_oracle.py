"""Every transform beside PyTorch's: values, inverses, determinants, gradients, constraints."""

import numpy as np
import pytest

import flambeau

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.oracle
RNG = np.random.default_rng(4)


def _stacked(kind):
    def make(lib):
        D = lib.distributions
        parts = [D.ExpTransform(), D.AffineTransform(1.0, 2.0), D.SigmoidTransform()]
        if kind == "stack":
            return D.StackTransform(parts, dim=-1)
        return D.CatTransform(parts, dim=-1, lengths=[1, 2, 1])

    return make


def _tensor(lib, value):
    return lib.tensor(value, dtype=lib.float64)


#: What makes the transform, the shape of arguments.
TRANSFORMS = {
    "abs": (lambda lib: lib.distributions.AbsTransform(), (3,)),
    "affine": (lambda lib: lib.distributions.AffineTransform(_tensor(lib, [1.0, 2.0, 3.0]),
                                                             _tensor(lib, [-1.0, 2.0, 3.0])), (3,)),
    "affine of vectors": (lambda lib: lib.distributions.AffineTransform(0.5, -2.0, event_dim=1),
                          (2, 3)),
    "cat": (_stacked("cat"), (2, 4)),
    "compose": (lambda lib: lib.distributions.ComposeTransform(
        [lib.distributions.AffineTransform(1.0, 0.5), lib.distributions.StickBreakingTransform()]),
        (2, 3)),
    "corr cholesky": (lambda lib: lib.distributions.CorrCholeskyTransform(), (2, 6)),
    "cumulative": (lambda lib: lib.distributions.CumulativeDistributionTransform(
        lib.distributions.Normal(_tensor(lib, 0.5), _tensor(lib, 2.0))), (3,)),
    "exp": (lambda lib: lib.distributions.ExpTransform(), (3,)),
    "identity": (lambda lib: lib.distributions.identity_transform, (3,)),
    "independent": (lambda lib: lib.distributions.IndependentTransform(
        lib.distributions.ExpTransform(), 1), (2, 3)),
    "inverse": (lambda lib: lib.distributions.SigmoidTransform().inv, None),
    "lower cholesky": (lambda lib: lib.distributions.LowerCholeskyTransform(), (2, 3, 3)),
    "positive definite": (lambda lib: lib.distributions.PositiveDefiniteTransform(), (2, 3, 3)),
    "power": (lambda lib: lib.distributions.PowerTransform(_tensor(lib, [-2.0, 0.5, 3.0])), None),
    "reshape": (lambda lib: lib.distributions.ReshapeTransform((6,), (2, 3)), (4, 6)),
    "sigmoid": (lambda lib: lib.distributions.SigmoidTransform(), (3,)),
    "softmax": (lambda lib: lib.distributions.SoftmaxTransform(), (2, 3)),
    "softplus": (lambda lib: lib.distributions.SoftplusTransform(), (3,)),
    "stack": (_stacked("stack"), (2, 3)),
    "stick breaking": (lambda lib: lib.distributions.StickBreakingTransform(), (2, 3)),
    "tanh": (lambda lib: lib.distributions.TanhTransform(), (3,)),
}


def _near(ours, theirs):
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("cache_size", [0, 1])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name, cache_size):
    make, shape = TRANSFORMS[name]
    x = RNG.normal(size=shape) if shape else RNG.uniform(0.2, 0.8, 3)
    results = []
    for lib in (flambeau, torch):
        transform = make(lib)
        if name != "inverse":
            transform = transform.with_cache(cache_size)
        arg = lib.tensor(x, requires_grad=True)
        y = transform(arg)
        try:
            logdet = transform.log_abs_det_jacobian(arg, y)
        except NotImplementedError:
            logdet = None
        total = y.square().sum() + (0 if logdet is None else logdet.sum())
        total.backward()
        results.append((transform, y, logdet, arg.grad, transform.inv(y.detach())))
    ours, theirs = results
    _near(ours[1], theirs[1])
    assert (ours[2] is None) == (theirs[2] is None)
    if ours[2] is not None:
        _near(ours[2], theirs[2])
    _near(ours[3], theirs[3])
    _near(ours[4], theirs[4])
    a, b = ours[0], theirs[0]
    assert (repr(a.domain), repr(a.codomain), a.bijective) == (
        repr(b.domain), repr(b.codomain), b.bijective)
    assert a.forward_shape(flambeau.Size(x.shape)) == b.forward_shape(torch.Size(x.shape))
    assert a.inverse_shape(ours[1].shape) == b.inverse_shape(theirs[1].shape)


@pytest.mark.parametrize("name", ["real", "positive", "nonnegative", "unit_interval", "simplex",
                                  "lower_cholesky", "corr_cholesky", "positive_definite",
                                  "real_vector", "less_than", "interval", "greater_than"])
@pytest.mark.parametrize("table", ["biject_to", "transform_to"])
def test_registries(name, table):
    found = []
    for lib in (flambeau, torch):
        constraint = getattr(lib.distributions.constraints, name)
        if isinstance(constraint, type):
            constraint = constraint(*([-1.5, 2.5] if name == "interval" else [2.5]))
        try:
            found.append(getattr(lib.distributions, table)(constraint))
        except NotImplementedError:
            found.append(None)
    ours, theirs = found
    assert (ours is None) == (theirs is None)
    if ours is not None:
        shape = {"lower_cholesky": (3, 3), "positive_definite": (3, 3)}.get(name, (3,))
        x = RNG.normal(size=shape)
        _near(ours(flambeau.tensor(x)), theirs(torch.tensor(x)))
