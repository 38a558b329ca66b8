"""Parametrizations, and weight and spectral norm as hooks, against PyTorch and by themselves."""

import copy
import pickle

import numpy as np
import pytest
from modules_kit import close, copy_state, give, ours

import flambeau
from flambeau import nn
from flambeau.nn.utils import parametrizations, parametrize, stateless

RNG = np.random.default_rng(5)
INPUT = RNG.standard_normal((5, 4)).astype("float32")
IMAGE = RNG.standard_normal((2, 4, 6, 6)).astype("float32")


def symmetric(package):
    class Symmetric(package.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).mT

        def right_inverse(self, a):
            return a.triu()

    return Symmetric()


def rank_one(package):
    class RankOne(package.nn.Module):
        def forward(self, x, y):
            return x.unsqueeze(-1) * y.unsqueeze(-2)

        def right_inverse(self, a):
            return a[:, 0], a[0]

    return RankOne()


class Twice(nn.Module):
    calls = 0

    def forward(self, x):
        Twice.calls += 1
        return 2 * x


def on(package, make):
    utils = package.nn.utils
    return make(package, utils.parametrize, utils.parametrizations, utils)


CASES = {
    "symmetric": lambda p, pz, ps, u: pz.register_parametrization(
        p.nn.Linear(4, 4), "weight", symmetric(p)
    ),
    "several originals": lambda p, pz, ps, u: pz.register_parametrization(
        p.nn.Linear(4, 3), "weight", rank_one(p)
    ),
    "two": lambda p, pz, ps, u: pz.register_parametrization(
        ps.weight_norm(p.nn.Linear(4, 4)), "weight", symmetric(p)
    ),
    "two tensors": lambda p, pz, ps, u: pz.register_parametrization(
        ps.weight_norm(p.nn.Linear(4, 4)), "bias", p.nn.Tanh()
    ),
    "weight norm": lambda p, pz, ps, u: ps.weight_norm(p.nn.Linear(4, 3)),
    "weight norm of columns": lambda p, pz, ps, u: ps.weight_norm(p.nn.Linear(4, 3), dim=1),
    "one weight norm": lambda p, pz, ps, u: ps.weight_norm(p.nn.Linear(4, 3), dim=None),
    "weight norm of convolution": lambda p, pz, ps, u: ps.weight_norm(p.nn.Conv2d(4, 3, 3)),
    "spectral norm": lambda p, pz, ps, u: ps.spectral_norm(p.nn.Linear(4, 3)),
    "spectral norm of convolution": lambda p, pz, ps, u: ps.spectral_norm(
        p.nn.Conv2d(4, 3, 3), n_power_iterations=2
    ),
    "spectral norm of columns": lambda p, pz, ps, u: ps.spectral_norm(p.nn.Linear(4, 3), dim=1),
    "spectral norm of a vector": lambda p, pz, ps, u: ps.spectral_norm(
        p.nn.Linear(4, 3), name="bias"
    ),
    "spectral norm transposed": lambda p, pz, ps, u: ps.spectral_norm(
        p.nn.ConvTranspose2d(4, 3, 3)
    ),
    "old weight norm": lambda p, pz, ps, u: u.weight_norm(p.nn.Linear(4, 3)),
    "old weight norm, one": lambda p, pz, ps, u: u.weight_norm(p.nn.Conv2d(4, 3, 3), dim=None),
    "old spectral norm": lambda p, pz, ps, u: u.spectral_norm(p.nn.Linear(4, 3)),
    "old spectral norm of convolution": lambda p, pz, ps, u: u.spectral_norm(
        p.nn.ConvTranspose2d(4, 3, 3), n_power_iterations=3
    ),
}
for kind in ("matrix_exp", "cayley", "householder"):
    for sizes in ((4, 4), (4, 6), (4, 3)):
        for base in (True, False):
            CASES[f"{kind} {sizes} {base}"] = (
                lambda p, pz, ps, u, kind=kind, sizes=sizes, base=base: ps.orthogonal(
                    p.nn.Linear(*sizes), "weight", kind, use_trivialization=base
                )
            )

LOUD = pytest.mark.filterwarnings("ignore:`torch.nn.utils.weight_norm` is deprecated")


def fill(mine, theirs):
    """The weights of the other; bases of orthogonal maps are buffers and come along."""
    state = {key: ours(value) for key, value in theirs.state_dict().items()}
    mine.load_state_dict(state)


@LOUD
@pytest.mark.oracle
@pytest.mark.parametrize("name", CASES)
def test_against_torch(name):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    mine, theirs = on(flambeau, CASES[name]), on(torch, CASES[name])
    assert repr(mine) == repr(theirs)
    assert sorted(mine.state_dict()) == sorted(theirs.state_dict())
    assert [n for n, _ in mine.named_parameters()] == [n for n, _ in theirs.named_parameters()]
    fill(mine, theirs)
    x = INPUT if isinstance(mine, nn.Linear) else IMAGE
    for training in (True, True, False):
        outs = []
        for package, module in ((flambeau, mine), (torch, theirs)):
            module.train(training).zero_grad()
            out = module(package.tensor(x))
            out.cos().sum().backward()
            outs.append([out, *(p.grad for p in module.parameters())])
        for a, b in zip(*outs, strict=True):
            close(a, b, scale=20)
    for key, value in theirs.state_dict().items():
        close(mine.state_dict()[key], value, scale=20)


@pytest.mark.oracle
@pytest.mark.parametrize("name", [name for name in CASES if "old" not in name])
def test_removing_is_as_in_torch(name):
    torch = pytest.importorskip("torch")
    mine, theirs = on(flambeau, CASES[name]).eval(), on(torch, CASES[name]).eval()
    fill(mine, theirs)
    tensor = "bias" if "vector" in name else "weight"
    for package, module in ((flambeau, mine), (torch, theirs)):
        package.nn.utils.parametrize.remove_parametrizations(module, tensor)
    assert list(mine.state_dict()) == list(theirs.state_dict())
    assert repr(mine) == repr(theirs)
    for key, value in theirs.state_dict().items():
        close(mine.state_dict()[key], value, scale=5)


@pytest.mark.parametrize("name", [name for name in CASES if "old" not in name])
def test_copies(name):
    module = on(flambeau, CASES[name]).eval()
    x = flambeau.tensor(INPUT if isinstance(module, nn.Linear) else IMAGE)
    expected = give(module(x))
    twins = [copy.deepcopy(module)]
    if name not in ("symmetric", "several originals", "two"):  # their classes are local
        twins.append(pickle.loads(pickle.dumps(module)))
    for twin in twins:
        assert repr(twin) == repr(module)
        np.testing.assert_array_equal(give(twin(x)), expected)
        with flambeau.no_grad():
            for param in twin.parameters():
                param.add_(0.25)
        assert (give(twin(x)) != expected).any()
        np.testing.assert_array_equal(give(module(x)), expected)


@pytest.mark.parametrize("name", [name for name in CASES if name[0] in "mch"])
def test_orthogonal(name):
    module = on(flambeau, CASES[name])
    for _ in range(2):
        weight = give(module.weight).astype("float64")
        weight = weight if weight.shape[0] >= weight.shape[1] else weight.T
        np.testing.assert_allclose(weight.T @ weight, np.eye(weight.shape[1]), atol=2e-6)
        loss = module(flambeau.tensor(INPUT)).pow(2).sum() if module.in_features == 4 else None
        if loss is None:
            break
        loss.backward()
        with flambeau.no_grad():
            for param in module.parameters():
                param.sub_(0.01 * param.grad)


def test_orthogonal_starts_where_the_weight_is():
    layer = nn.Linear(6, 6)
    nn.init.orthogonal_(layer.weight)
    before = give(layer.weight).copy()
    np.testing.assert_allclose(give(parametrizations.orthogonal(layer).weight), before, atol=1e-6)
    skew = flambeau.linalg.qr(flambeau.randn(6, 6))[0]
    layer.weight = skew
    np.testing.assert_allclose(give(layer.weight), give(skew), atol=1e-6)
    thin = parametrizations.orthogonal(
        nn.Linear(3, 5), orthogonal_map="householder", use_trivialization=False
    )
    q = flambeau.linalg.qr(flambeau.randn(5, 3))[0]
    thin.weight = q
    np.testing.assert_allclose(give(thin.weight), give(q), atol=1e-6)


def test_unitary():
    layer = nn.Linear(3, 3, bias=False, dtype=flambeau.complex64)
    q = parametrizations.orthogonal(layer).weight.detach()
    np.testing.assert_allclose(give(q.mH @ q), np.eye(3), atol=1e-5)


def test_spectral_norm_is_one():
    layer = parametrizations.spectral_norm(nn.Linear(30, 20))
    for _ in range(30):
        norm = np.linalg.norm(give(layer.weight), 2)
    assert norm == pytest.approx(1.0, rel=1e-3)
    old = nn.utils.spectral_norm(nn.Linear(30, 20))
    for _ in range(100):
        old(flambeau.zeros(1, 30))
    assert np.linalg.norm(give(old.weight), 2) == pytest.approx(1.0, rel=1e-3)


def test_two_forwards_before_a_backward():
    for norm in (parametrizations.spectral_norm, nn.utils.spectral_norm):
        layer = norm(nn.Linear(4, 3))
        x = flambeau.tensor(INPUT)
        (layer(x).sum() - layer(-x).sum()).backward()
        assert layer.bias.grad.tolist() == [0.0, 0.0, 0.0]


def test_weight_norm_by_hand():
    layer = nn.Linear(4, 3, bias=False)
    weight = give(layer.weight).copy()
    parametrizations.weight_norm(layer)
    norm, direction = layer.parametrizations.weight.parameters()
    np.testing.assert_allclose(give(norm)[:, 0], np.linalg.norm(weight, axis=1), rtol=1e-6)
    np.testing.assert_allclose(give(direction), weight, rtol=1e-6)
    with flambeau.no_grad():
        norm.mul_(3)
    np.testing.assert_allclose(give(layer.weight), 3 * weight, rtol=1e-5)


def test_weight_norm_loads_what_the_older_one_saved():
    old, new = nn.utils.weight_norm(nn.Linear(4, 3)), parametrizations.weight_norm(nn.Linear(4, 3))
    new.load_state_dict(old.state_dict())
    np.testing.assert_array_equal(give(new.weight), give(old.weight))


def test_assigning():
    layer = on(flambeau, CASES["symmetric"])
    original = layer.parametrizations.weight.original
    layer.weight = flambeau.eye(4)
    assert layer.parametrizations.weight.original is original
    assert layer.weight.tolist() == flambeau.eye(4).tolist()
    layer.weight = nn.Parameter(2 * flambeau.eye(4))
    assert layer.weight.tolist() == (2 * flambeau.eye(4)).tolist()
    given = flambeau.ones(4, 4).triu()
    layer.weight = given
    given.zero_()
    assert layer.weight.sum().item() == 16


def test_cached():
    layer = parametrize.register_parametrization(nn.Linear(4, 3), "weight", Twice())
    Twice.calls = 0
    with parametrize.cached():
        with parametrize.cached():
            first = layer.weight
        assert layer.weight is first
        layer(flambeau.tensor(INPUT)).sum().backward()
    assert Twice.calls == 1
    assert layer.weight is not first


def test_questions():
    layer = nn.Linear(4, 3)
    assert not parametrize.is_parametrized(layer)
    assert parametrize.type_before_parametrizations(layer) is nn.Linear
    parametrizations.weight_norm(layer)
    parametrizations.spectral_norm(layer, "bias")
    assert parametrize.is_parametrized(layer)
    assert [parametrize.is_parametrized(layer, n) for n in ("weight", "bias", "x")] == [
        True,
        True,
        False,
    ]
    assert isinstance(layer, nn.Linear)
    assert parametrize.type_before_parametrizations(layer) is nn.Linear
    parametrize.remove_parametrizations(layer, "weight")
    assert isinstance(layer.weight, nn.Parameter)
    assert parametrize.is_parametrized(layer, "bias")
    parametrize.remove_parametrizations(layer, "bias")
    assert type(layer) is nn.Linear
    assert sorted(layer.state_dict()) == ["bias", "weight"]


def test_leaving_the_original():
    layer = nn.Linear(4, 4)
    weight = layer.weight
    parametrize.register_parametrization(layer, "weight", Twice())
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    assert layer.weight is weight
    parametrizations.weight_norm(layer)
    with pytest.raises(ValueError, match="computed from 2 tensors"):
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)


def test_buffers():
    layer = nn.BatchNorm1d(3)
    parametrize.register_parametrization(layer, "running_var", Twice())
    assert layer.running_var.tolist() == [2, 2, 2]
    assert "parametrizations.running_var.original" in layer.state_dict()
    parametrize.remove_parametrizations(layer, "running_var")
    assert dict(layer.named_buffers())["running_var"].tolist() == [2, 2, 2]


def test_transferring():
    source = on(flambeau, CASES["two tensors"])
    target = nn.Linear(4, 4)
    parametrize.transfer_parametrizations_and_params(source, target)
    assert repr(target) == repr(source)
    assert target.parametrizations.bias.original is source.parametrizations.bias.original
    x = flambeau.tensor(INPUT)
    np.testing.assert_array_equal(give(target(x)), give(source(x)))
    some = parametrize.transfer_parametrizations_and_params(source, nn.Linear(4, 4), "bias")
    assert [parametrize.is_parametrized(some, n) for n in ("bias", "weight")] == [True, False]


def test_mode_and_dtype_reach_parametrizations():
    layer = parametrizations.spectral_norm(nn.Linear(4, 3).eval())
    assert not layer.parametrizations.weight[0].training
    layer.double()
    assert layer.weight.dtype == flambeau.float64


def test_hooks_can_be_removed():
    x = flambeau.tensor(INPUT)
    for put, take in (
        (nn.utils.weight_norm, nn.utils.remove_weight_norm),
        (nn.utils.spectral_norm, nn.utils.remove_spectral_norm),
    ):
        layer = put(nn.Linear(4, 3)).eval()
        out = give(layer(x))
        assert take(layer) is layer
        np.testing.assert_allclose(give(layer(x)), out, rtol=1e-5, atol=1e-6)
        assert sorted(layer.state_dict()) == ["bias", "weight"]
        assert isinstance(layer.weight, nn.Parameter)
        put(layer)


def test_functional_call():
    layer = nn.Linear(4, 3)
    weight = flambeau.ones(3, 4, requires_grad=True)
    out = stateless.functional_call(layer, {"weight": weight}, flambeau.tensor(INPUT))
    np.testing.assert_allclose(
        give(out), INPUT.sum(1, keepdims=True) + give(layer.bias), rtol=1e-4, atol=1e-5
    )
    out.sum().backward()
    assert weight.grad is not None and layer.weight.grad is None
    same = flambeau.func.functional_call(layer, {"weight": weight}, (flambeau.tensor(INPUT),))
    np.testing.assert_array_equal(give(same), give(out))
    with pytest.raises(RuntimeError, match="missing"):
        stateless.functional_call(layer, {"weight": weight}, flambeau.ones(4), strict=True)
    wrapped = parametrizations.weight_norm(nn.Linear(4, 3))
    norm = flambeau.ones(3, 1)
    out = stateless.functional_call(
        wrapped, {"parametrizations.weight.original0": norm}, flambeau.tensor(INPUT)
    )
    expected = (
        INPUT @ (give(wrapped.weight) / np.linalg.norm(give(wrapped.weight), axis=1)[:, None]).T
    )
    np.testing.assert_allclose(give(out), expected + give(wrapped.bias), rtol=1e-4, atol=1e-5)


def test_skip_init():
    for cls, args in ((nn.Linear, (5, 1)), (nn.Conv2d, (2, 3, 3)), (nn.MultiheadAttention, (4, 2))):
        plain, made = cls(*args), nn.utils.skip_init(cls, *args)
        assert repr(made) == repr(plain)
        for a, b in zip(made.parameters(), plain.parameters(), strict=True):
            assert (a.shape, a.device, a.requires_grad) == (b.shape, b.device, b.requires_grad)
    assert nn.utils.skip_init(nn.Linear, 5, 1, device="meta").weight.is_meta


@pytest.mark.oracle
def test_weight_norm_is_that_of_torch_at_load():
    torch = pytest.importorskip("torch")
    theirs = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(4, 3))
    mine = parametrizations.weight_norm(nn.Linear(4, 3))
    copy_state(mine, theirs)
    close(mine.weight, theirs.weight)
