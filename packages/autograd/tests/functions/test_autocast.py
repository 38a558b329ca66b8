"""autocast: which operator runs in what, and gradients in the parameters' dtype."""

import asyncio
import threading
import warnings

import pytest
from numbers_for_tests import reals

import flambeau
from flambeau.core import ops
from flambeau.core.opdefs import OPDEFS
from flambeau.core.opdefs.opdef import AUTOCAST

LOW, FULL = flambeau.bfloat16, flambeau.float32


def ones(*shape, dtype=FULL, grad=False):
    return flambeau.ones(*shape, dtype=dtype).requires_grad_(grad)


CASES = {
    "matmul": (lambda a, b: a @ b, LOW),
    "addmm": (lambda a, b: flambeau.addmm(a, a, b), LOW),
    "bmm": (lambda a, b: flambeau.bmm(a[None], b[None]), LOW),
    "linear": (lambda a, b: ops.linear(a, b), LOW),
    "conv1d": (lambda a, b: ops.conv1d(a[None], b[None]), LOW),
    "attention": (lambda a, b: ops.scaled_dot_product_attention(a[None, None], b[None, None],
                                                                b[None, None]), LOW),
    "mse_loss": (lambda a, b: ops.mse_loss(a, b), FULL),
    "cross_entropy": (lambda a, b: ops.cross_entropy(a, flambeau.tensor([0, 1])), FULL),
    "prod": (lambda a, b: flambeau.prod(a), FULL),
    "trace": (lambda a, b: flambeau.trace(a), FULL),
    "pinv": (lambda a, b: flambeau.linalg.pinv(a), FULL),
    "fft": (lambda a, b: flambeau.fft.fft(a).real, FULL),
}


@pytest.mark.parametrize(("fn", "expected"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("dtype", [FULL, LOW], ids=["float32", "bfloat16"])
def test_policies(fn, expected, dtype):
    with flambeau.autocast("cpu", dtype=LOW):
        assert fn(ones(2, 2, dtype=dtype), ones(2, 2, dtype=dtype)).dtype == expected


def test_other_operators_keep_the_dtype_of_their_inputs():
    for dtype in (FULL, LOW):
        x = ones(2, 2, dtype=dtype)
        with flambeau.autocast("cpu"):
            assert (x + x).dtype == x.softmax(0).dtype == x.sum().dtype == dtype


def test_promotion_takes_the_widest():
    with flambeau.autocast("cpu"):
        assert flambeau.cat([ones(2), ones(2, dtype=LOW)]).dtype == FULL
        assert flambeau.stack([ones(2, dtype=LOW)] * 2).dtype == LOW
        assert flambeau.cat([ones(2, dtype=flambeau.float16), ones(2, dtype=LOW)]).dtype == FULL


def test_float64_integers_and_written_tensors_are_left_alone():
    with flambeau.autocast("cpu"):
        assert (reals(2, 2) @ reals(2, 2)).dtype == flambeau.float64
        whole = flambeau.ones(2, 2, dtype=flambeau.int64)
        assert (whole @ whole).dtype == flambeau.int64
        out = flambeau.empty(2, 2)
        assert flambeau.matmul(ones(2, 2), ones(2, 2), out=out).dtype == FULL


def test_gradients_have_the_dtype_of_the_parameters():
    w, b = ones(3, 3, grad=True), ones(3, grad=True)
    with flambeau.autocast("cpu"):
        h = ops.linear(ones(2, 3), w, b)
        loss = ops.mse_loss(h, flambeau.zeros(2, 3))
    assert (h.dtype, loss.dtype) == (LOW, FULL)
    loss.backward()
    assert w.grad.dtype == b.grad.dtype == FULL
    assert flambeau.allclose(w.grad, flambeau.full((3, 3), 8 / 3), rtol=1e-2)


def test_nested_and_switched_off():
    x = ones(2, 2)
    with flambeau.autocast("cpu", dtype=LOW):
        with flambeau.autocast("cpu", enabled=False):
            assert (x @ x).dtype == FULL
            assert not flambeau.is_autocast_enabled("cpu")
        with flambeau.autocast("cpu", dtype=flambeau.float16):
            assert (x @ x).dtype == flambeau.float16
            assert flambeau.get_autocast_dtype("cpu") == flambeau.float16
        assert (x @ x).dtype == LOW
    assert (x @ x).dtype == FULL


def test_restored_after_an_error():
    with pytest.raises(ZeroDivisionError), flambeau.autocast("cpu"):
        1 / 0  # noqa: B018
    assert (ones(2, 2) @ ones(2, 2)).dtype == FULL


def test_decorators():
    @flambeau.autocast("cpu")
    def product(x):
        return (x @ x).dtype

    @flambeau.autocast("cpu")
    async def later(x):
        await asyncio.sleep(0)
        return (x @ x).dtype

    @flambeau.autocast("cpu")
    def steps(x):
        yield (x @ x).dtype

    x = ones(2, 2)
    assert product(x) == product(x) == asyncio.run(later(x)) == LOW
    for dtype in steps(x):
        assert dtype == LOW
        assert (x @ x).dtype == FULL


def test_each_thread_has_its_own():
    seen = []
    with flambeau.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append((ones(2, 2) @ ones(2, 2)).dtype))
        thread.start()
        thread.join()
    assert seen == [FULL]


def casts_of(fn):
    counts = []

    def watch(op, args, outs):
        counts.append(op.key)
        return flambeau.core.call(op, args, outs)

    with flambeau.core.interpose("trace", watch):
        fn()
    return counts.count("cast")


def test_parameters_are_cast_once():
    w, x = ones(2, 2, grad=True), ones(2, 2)

    def twice():
        with flambeau.autocast("cpu"):
            x @ w
            x @ w

    def uncached():
        with flambeau.autocast("cpu", cache_enabled=False):
            x @ w
            x @ w

    assert casts_of(twice) == 3
    assert casts_of(uncached) == 4


def test_the_cache_knows_modes_and_writes():
    w, x = ones(2, 2, grad=True), ones(2, 2)
    with flambeau.autocast("cpu"):
        with flambeau.no_grad():
            assert not (x @ w).requires_grad
        y = x @ w
        with flambeau.no_grad():
            w.mul_(2)
        z = x @ w
    assert y.requires_grad and z.tolist() == [[4.0, 4.0]] * 2
    y.sum().backward()
    assert w.grad.tolist() == [[2.0, 2.0]] * 2


def test_custom_functions():
    seen = []

    class Product(flambeau.autograd.Function):
        @staticmethod
        @flambeau.amp.custom_fwd(device_type="cpu", cast_inputs=FULL)
        def forward(ctx, x):
            ctx.save_for_backward(x)
            seen.append((x.dtype, (x @ x).dtype))
            return x @ x

        @staticmethod
        @flambeau.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            x, = ctx.saved_tensors
            seen.append((g @ x).dtype)
            return g @ x.t() + x.t() @ g

    x = ones(2, 2, dtype=LOW, grad=True)
    with flambeau.autocast("cpu"):
        y = Product.apply(x)
        y.sum().backward()
    assert seen == [(FULL, FULL), FULL]
    assert x.grad.tolist() == [[4.0, 4.0]] * 2


def test_what_cannot_be_meant():
    with pytest.warns(UserWarning, match="target dtype flambeau.float64 is not supported"):
        assert not flambeau.autocast("cpu", dtype=flambeau.float64)._enabled
    with pytest.raises(RuntimeError, match="write 'cpu'"):
        flambeau.autocast("cpu:0")
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        flambeau.autocast(LOW)


def test_cuda_without_a_gpu_warns_and_changes_nothing():
    if flambeau.cuda.is_available():
        pytest.skip("needs a machine without a GPU")
    assert not flambeau.amp.is_autocast_available("cuda")
    a = flambeau.ones(2, 2)
    with pytest.warns(UserWarning, match="there is no such device here. Disabling"):
        block = flambeau.autocast("cuda")
    with flambeau.autocast("cpu"), block:
        assert (a @ a).dtype == flambeau.bfloat16
        assert not flambeau.is_autocast_enabled("cuda")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with flambeau.autocast("cuda", enabled=False):
            assert (a @ a).dtype == flambeau.float32
    assert flambeau.get_autocast_gpu_dtype() == flambeau.float16
    assert (flambeau.get_autocast_cpu_dtype(), flambeau.is_autocast_cpu_enabled()) == (
        flambeau.bfloat16, False)


def test_the_column_of_the_table():
    policies = {opdef.key: opdef.autocast for opdef in OPDEFS}
    assert policies["matmul"] == "lower" and policies["add"] == ""
    assert set(policies.values()) == set(AUTOCAST)


# ---- against PyTorch -------------------------------------------------------------------
DATA = [[1.0, 0.1, 0.2], [0.3, 1.0, 0.1], [0.2, 0.5, 1.0]]
#: Name -> function of the module, its functional, two matrices and an image.
AGAINST = {
    "mm": lambda T, F, x, y, i: T.mm(x, y),
    "bmm": lambda T, F, x, y, i: T.bmm(x[None], y[None]),
    "addmm": lambda T, F, x, y, i: T.addmm(x, x, y),
    "baddbmm": lambda T, F, x, y, i: T.baddbmm(x[None], x[None], y[None]),
    "matmul": lambda T, F, x, y, i: T.matmul(x, y),
    "einsum": lambda T, F, x, y, i: T.einsum("ij,jk->ik", x, y),
    "linear": lambda T, F, x, y, i: F.linear(x, y),
    "conv1d": lambda T, F, x, y, i: F.conv1d(x[None], y[None]),
    "conv2d": lambda T, F, x, y, i: F.conv2d(i, i),
    "conv_transpose2d": lambda T, F, x, y, i: F.conv_transpose2d(i, i),
    "attention": lambda T, F, x, y, i: F.scaled_dot_product_attention(i, i, i),
    "softmax": lambda T, F, x, y, i: F.softmax(x, -1),
    "log_softmax": lambda T, F, x, y, i: F.log_softmax(x, -1),
    "layer_norm": lambda T, F, x, y, i: F.layer_norm(x, (3,)),
    "exp": lambda T, F, x, y, i: T.exp(x),
    "sum": lambda T, F, x, y, i: x.sum(),
    "mean": lambda T, F, x, y, i: x.mean(),
    "prod": lambda T, F, x, y, i: x.prod(),
    "cdist": lambda T, F, x, y, i: T.cdist(x, y),
    "trace": lambda T, F, x, y, i: T.trace(x),
    "mse": lambda T, F, x, y, i: F.mse_loss(x, y),
    "l1": lambda T, F, x, y, i: F.l1_loss(x, y),
    "huber": lambda T, F, x, y, i: F.huber_loss(x, y),
    "smooth_l1": lambda T, F, x, y, i: F.smooth_l1_loss(x, y),
    "kl_div": lambda T, F, x, y, i: F.kl_div(x, y, reduction="sum"),
    "cross_entropy": lambda T, F, x, y, i: F.cross_entropy(x, T.tensor([0, 1, 2])),
    "nll": lambda T, F, x, y, i: F.nll_loss(x, T.tensor([0, 1, 2])),
    "soft_margin": lambda T, F, x, y, i: F.soft_margin_loss(x, y),
    "bce_logits": lambda T, F, x, y, i: F.binary_cross_entropy_with_logits(x, y),
    "hinge": lambda T, F, x, y, i: F.hinge_embedding_loss(x, y),
    "poisson": lambda T, F, x, y, i: F.poisson_nll_loss(x, y),
    "margin": lambda T, F, x, y, i: F.margin_ranking_loss(x[0], y[0], y[0]),
    "triplet": lambda T, F, x, y, i: F.triplet_margin_loss(x, y, y),
    "cosine": lambda T, F, x, y, i: F.cosine_embedding_loss(x, y, y[0]),
    "quantile": lambda T, F, x, y, i: T.quantile(x, 0.5),
    "cat": lambda T, F, x, y, i: T.cat([x, y]),
    "stack": lambda T, F, x, y, i: T.stack([x, y]),
    "gelu": lambda T, F, x, y, i: F.gelu(x),
    "add": lambda T, F, x, y, i: x + y,
    "pow": lambda T, F, x, y, i: x ** 2,
    "logsumexp": lambda T, F, x, y, i: x.logsumexp(0),
    "avg_pool3d": lambda T, F, x, y, i: F.avg_pool3d(i[None], 1),
    "inverse": lambda T, F, x, y, i: T.inverse(x),
    "solve": lambda T, F, x, y, i: T.linalg.solve(x, y),
    "fft": lambda T, F, x, y, i: T.fft.fft(x).real,
}


def result_dtype(T, F, fn, dtype):
    """The dtype's name, or what kind of error it is."""
    x, y, image = T.tensor(DATA).to(getattr(T, dtype)), T.tensor(DATA), T.tensor([[DATA]])
    try:
        with T.autocast("cpu", dtype=T.bfloat16):
            return str(fn(T, F, x, y, image).dtype).rpartition(".")[2]
    except RuntimeError:
        return "error"


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("fn", AGAINST.values(), ids=AGAINST)
def test_dtypes_are_those_of_pytorch(fn, dtype):
    torch = pytest.importorskip("torch")
    nn = pytest.importorskip("flambeau.nn")
    expected = result_dtype(torch, torch.nn.functional, fn, dtype)
    found = result_dtype(flambeau, nn.functional, fn, dtype)
    assert found == expected or expected == "error"


def test_a_name_is_no_dtype():
    with pytest.raises(TypeError, match="flambeau.bfloat16 or flambeau.float16, not 'bfloat16'"):
        flambeau.autocast("cpu", dtype="bfloat16")
