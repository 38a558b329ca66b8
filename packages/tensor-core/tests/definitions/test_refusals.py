"""Calls that are refused, as PyTorch refuses them: kind of error, and what its text says.

Each group stands for a family; what is right beside it follows.
"""

from __future__ import annotations

import pytest

import flambeau
from flambeau.core import ops

F32, F64, F16 = flambeau.float32, flambeau.float64, flambeau.float16
I64, I32, U8 = flambeau.int64, flambeau.int32, flambeau.uint8
C64, C128, BOOL = flambeau.complex64, flambeau.complex128, flambeau.bool
X = flambeau.tensor([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]])
WHOLE = flambeau.tensor([1, 2, 3])
PICK = flambeau.tensor([[0, 1, 0]])
MASK = flambeau.tensor([True, False, True])
POINT = flambeau.tensor(7.0)
windows = flambeau.signal.windows


def new(shape, dtype):
    return flambeau.empty(shape, dtype=dtype)


# ---- out= of another dtype ---------------------------------------------------------------------
EXACT = {
    "gather": lambda d: flambeau.gather(X, 0, PICK, out=new((1, 3), d)),
    "index_select": lambda d: flambeau.index_select(X, 1, WHOLE - 1, out=new((2, 3), d)),
    "aminmax": lambda d: flambeau.aminmax(X, dim=0, out=(new(3, F32), new(3, d))),
    "amax": lambda d: flambeau.amax(X, 0, out=new(3, d)),
    "max": lambda d: flambeau.max(X, 0, out=(new(3, d), new(3, I64))),
    "sort": lambda d: flambeau.sort(X, out=(new((2, 3), d), new((2, 3), I64))),
    "neg": lambda d: flambeau.neg(X, out=new((2, 3), d)),
    "floor": lambda d: flambeau.floor(X, out=new((2, 3), d)),
    "nan_to_num": lambda d: flambeau.nan_to_num(X, out=new((2, 3), d)),
    "softmax": lambda d: flambeau.softmax(X, 0, out=new((2, 3), d)),
    "tril": lambda d: flambeau.tril(X, out=new((2, 3), d)),
    "matmul": lambda d: flambeau.matmul(X, X.t(), out=new((2, 2), d)),
    "mm": lambda d: flambeau.mm(X, X.t(), out=new((2, 2), d)),
    "linspace": lambda d: flambeau.linspace(0, 1, 3, dtype=F32, out=new(3, d)),
}
CASTING = {
    "exp": lambda d: flambeau.exp(X, out=new((2, 3), d)),
    "add": lambda d: flambeau.add(X, X, out=new((2, 3), d)),
    "mean": lambda d: flambeau.mean(X, 0, out=new(3, d)),
    "cat": lambda d: flambeau.cat([X, X], out=new((4, 3), d)),
    "stack": lambda d: flambeau.stack([X, X], out=new((2, 2, 3), d)),
    "max": lambda d: flambeau.max(X, out=new((), d)),
    "cumsum": lambda d: flambeau.cumsum(X, 0, out=new((2, 3), d)),
    "outer": lambda d: flambeau.outer(X[0], X[0], out=new((3, 3), d)),
    "eq": lambda d: flambeau.eq(X, X, out=new((2, 3), d)),
}


@pytest.mark.parametrize("call", EXACT.values(), ids=EXACT)
def test_out_has_to_be_of_the_dtype_of_the_result(call):
    call(F32)
    with pytest.raises(RuntimeError, match="expected out to have dtype float32"):
        call(F64)


@pytest.mark.parametrize("call", CASTING.values(), ids=CASTING)
def test_out_may_be_wider(call):
    assert call(F64).dtype is F64


def test_out_of_frequencies_is_resized_not_broadcast_to():
    for function, count in ((flambeau.fft.fftfreq, 4), (flambeau.fft.rfftfreq, 3)):
        assert function(4, out=new(0, F64)).shape == (count,)
        with pytest.warns(UserWarning, match="was resized"):
            assert function(1, out=new(5, F32)).shape == (1,)


def test_several_outs_may_be_a_list():
    values, indices = flambeau.sort(X[0], out=[new(0, F32), new(0, I64)])
    assert values.tolist() == [1.0, 2.0, 5.0] and indices.tolist() == [0, 2, 1]


def test_indices_and_truth_are_no_other_dtype():
    for out in (new((2, 3), F64), new((2, 3), U8)):
        with pytest.raises(RuntimeError, match="expected out to have dtype bool"):
            flambeau.isposinf(X, out=out)
    with pytest.raises(RuntimeError, match="expected out to have dtype int64"):
        flambeau.sort(X, out=(new((2, 3), F32), new((2, 3), I32)))
    with pytest.raises(RuntimeError, match=r"can't be cast|expected out to have dtype int64"):
        flambeau.multinomial(flambeau.tensor([1.0, 2.0]), 1, out=new(1, F64))
    with pytest.raises(RuntimeError, match="expected out to have dtype complex64"):
        flambeau.complex(X, X, out=new((2, 3), C128))
    with pytest.raises(RuntimeError, match="requires dtype flambeau.float64"):
        X.clone().float_power_(2)


# ---- values that the dtype does not hold -------------------------------------------------------
@pytest.mark.parametrize(("x", "value"), [
    (WHOLE.to(U8), flambeau.tensor(300)),
    (WHOLE.to(U8), flambeau.tensor(1e10)),
    (WHOLE, flambeau.tensor(2j)),
    (WHOLE.to(F32), flambeau.tensor(2j)),
    (WHOLE.to(F16), flambeau.tensor(1e10)),
    (WHOLE.to(F32), flambeau.tensor(1e300, dtype=F64)),
])
def test_a_value_in_a_tensor_has_to_fit(x, value):
    with pytest.raises(RuntimeError, match="does not fit|value is complex"):
        x.masked_fill(MASK, value)
    with pytest.raises(RuntimeError, match="does not fit|value is complex"):
        x.index_fill(0, WHOLE[:1], value)


def test_values_that_fit_are_filled_in():
    assert WHOLE.masked_fill(MASK, flambeau.tensor(9.5)).tolist() == [9, 2, 9]
    assert WHOLE.masked_fill(MASK, flambeau.tensor(9 + 0j)).tolist() == [9, 2, 9]
    assert WHOLE.to(U8).masked_fill(MASK, flambeau.tensor(-1)).tolist() == [255, 2, 255]
    assert MASK.masked_fill(MASK, 2j).tolist() == [True, False, True]
    assert WHOLE.to(F16).index_fill(0, WHOLE[:1], flambeau.tensor(float("inf")))[1] == float("inf")
    assert WHOLE.index_fill(0, WHOLE[:1], flambeau.tensor(9)).tolist() == [1, 9, 3]


# ---- True for an int, 1 for a bool, a vector for a number, numbers for tensors -----------------
@pytest.mark.parametrize(("call", "text"), [
    (lambda: X.topk(True), "'k' must be int, not bool"),
    (lambda: X.unsqueeze(True), "'dim' must be int"),
    (lambda: X.sum(True), "'dim' must be int"),
    (lambda: X.sum((True,)), "'dim' must be int"),
    (lambda: X.narrow(0, True, 1), "'start' must be int, not bool"),
    (lambda: X.narrow(0, flambeau.tensor(True), 1), "'start' must be int"),
    (lambda: X.narrow(0, 1.0, 1), "'start' must be int, not float"),
    (lambda: X.diagonal(flambeau.tensor(True)), "'offset' must be int"),
    (lambda: X.sum(0, 1), "'keepdim' must be bool, not int"),
    (lambda: X.amax(0, keepdim=1), "'keepdim' must be bool, not int"),
    (lambda: X.sort(descending=1), "'descending' must be bool, not int"),
    (lambda: ops.dropout(X, 0.5, 1), "must be bool, not int"),
    (lambda: flambeau.add(X, 1, alpha=flambeau.tensor([2.0])), "'alpha' must be number"),
    (lambda: ops.leaky_relu(X, flambeau.tensor([0.1])), "'negative_slope' must be number"),
    (lambda: ops.layer_norm(X, (3,), eps=flambeau.tensor([1e-5])), "'eps' must be float"),
    (lambda: X.split(True), "'split_size' must be int"),
    (lambda: X.tensor_split(True), "'indices_or_sections' must be int"),
    (lambda: X.var(0, 1), r"takes at most \d positional arguments|must be bool"),
    (lambda: flambeau.std_mean(X, 0, 1), r"positional arguments|must be bool"),
    (lambda: flambeau.rot90(X, 1, 0, 1), "takes at most 3 positional arguments"),
    (lambda: flambeau.roll(X, 1, 0, 1), "takes at most 3 positional arguments"),
    (lambda: flambeau.pow(2, 3), "must be Tensor where 'exponent' is a number"),
    (lambda: flambeau.maximum(2, 3), "must be Tensor"),
    (lambda: flambeau.eq(2.0, 3), "must be Tensor"),
    (lambda: flambeau.lerp(1, 2, 3), "must be Tensor"),
    (lambda: flambeau.float_power(2, 3), "must be Tensor"),
    (lambda: flambeau.maximum(X, 2), "'other' must be Tensor, not int"),
    (lambda: X.logical_and(True), "'other' must be Tensor, not bool"),
    (lambda: flambeau.atan2(1.0, X), "'self' must be Tensor, not float"),
    (lambda: flambeau.eq(2, X), "'self' must be Tensor, not int"),
    (lambda: flambeau.fmod(2, X), "'self' must be Tensor, not int"),
    (lambda: flambeau.lerp(X, 2.0, 0.5), "'end' must be Tensor, not float"),
])
def test_kinds_of_arguments(call, text):
    with pytest.raises(TypeError, match=text):
        call()


def test_arguments_of_the_right_kind():
    assert X.permute(1, 0).shape == X.flip(0, 1).t().shape == (3, 2)
    assert X.count_nonzero(0, 1).item() == 6 and X[None].squeeze(0, 1).shape == (2, 3)
    assert X.topk(flambeau.tensor(2))[0].shape == (2, 2)
    assert flambeau.zeros((2, True)).shape == (2, 1)        # only the first one is looked at
    assert flambeau.add(2, 3).item() == 5
    assert flambeau.div(7, 2, rounding_mode="floor").item() == 3
    assert flambeau.eq(X[0], 5).tolist() == (5 == X[0]).tolist() == [False, True, False]
    assert flambeau.add(X[0], 1, alpha=flambeau.tensor(2.0)).tolist() == [3.0, 7.0, 4.0]


def test_truth_may_be_numpys():
    np = pytest.importorskip("numpy")
    assert X.sum(0, keepdim=np.bool_(True)).shape == (1, 3)


# ---- values of arguments -----------------------------------------------------------------------
@pytest.mark.parametrize(("call", "kind", "text"), [
    (lambda: flambeau.cov(X, fweights=flambeau.tensor([1, -2, 1])), RuntimeError,
     "fweights cannot be negative"),
    (lambda: flambeau.cov(X, aweights=flambeau.tensor([1.0, -0.5, 1.0])), RuntimeError,
     "aweights cannot be negative, but the least is -0.5"),
    (lambda: ops.hardtanh(X, 2.0, 1.0), ValueError, "min_val cannot be greater than max_val"),
    (lambda: flambeau.roll(POINT, 1, 0), IndexError, "the tensor has no dimensions"),
    (lambda: flambeau.roll(POINT, (1, 1), (0, -1)), IndexError, "the tensor has no dimensions"),
    (lambda: flambeau.unbind(POINT), IndexError, "no dimension to unbind"),
    (lambda: X.narrow(1, 4, 0), IndexError, "start out of range"),
    (lambda: X.narrow(1, -4, 0), IndexError, "start out of range"),
    (lambda: X.narrow(1, 2, 2), RuntimeError, "exceeds dimension size"),
    (lambda: X.narrow(1, 2, -1), RuntimeError, "length must be non-negative"),
    (lambda: flambeau.empty(0, 2).amin(), RuntimeError, "dim to be specified"),
    (lambda: ops.batch_norm(X, None, None, None, None, True, 0.1, 0.0), ValueError,
     "eps must be positive during training"),
    (lambda: ops.nll_loss(X, WHOLE[:2] - 1, weight=flambeau.ones(3, dtype=F64)), RuntimeError,
     "expected weight to have dtype float32"),
    (lambda: ops.cross_entropy(X, WHOLE[:2], weight=flambeau.ones(3, dtype=F16)), RuntimeError,
     "expected weight to have dtype float32"),
    (lambda: ops.multi_margin_loss(X, WHOLE[:2], weight=flambeau.ones(3, dtype=F64)),
     RuntimeError, "expected weight to have dtype"),
    *((lambda w=w, d=d: w(3, dtype=d), ValueError, "expects dtype float32 or float64")
      for w in (windows.hann, windows.bartlett, windows.cosine, windows.kaiser)
      for d in (F16, flambeau.bfloat16, I64, C64)),
])
def test_values_of_arguments(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_values_at_the_edge():
    assert ops.hardtanh(X[0], 2.0, 2.0).tolist() == [2.0, 2.0, 2.0]
    assert flambeau.roll(POINT, 1).item() == 7.0
    assert X.narrow(1, 3, 0).shape == (2, 0) and X.narrow(1, -3, 3).equal(X)
    assert flambeau.cov(X, fweights=flambeau.tensor([1, 0, 1])).shape == (2, 2)
    assert ops.batch_norm(X, flambeau.zeros(3), flambeau.ones(3), eps=0.0).equal(X)
    assert flambeau.hann_window(3, dtype=flambeau.bfloat16).dtype is flambeau.bfloat16


# ---- dtypes that do not promote, numbers that are none -----------------------------------------
@pytest.mark.parametrize(("call", "text"), [
    (lambda: flambeau.add(X, 1, alpha=True), "Boolean alpha only supported for Boolean results"),
    (lambda: WHOLE.sub(WHOLE, alpha=True), "Boolean alpha only supported for Boolean results"),
    (lambda: flambeau.lerp(X, X.double(), 0.5), "expected dtype float32 for `end`"),
    (lambda: flambeau.lerp(X, X, X.double()), "expected dtype float32 for `weight`"),
    (lambda: flambeau.addcdiv(X[0], WHOLE, WHOLE), "Integer division with addcdiv is no longer"),
    (lambda: flambeau.logspace(0, 1j, 3, dtype=F32), "can't be safely cast"),
    (lambda: flambeau.randperm(257, dtype=U8), "n cannot be greater than 256"),
    (lambda: flambeau.repeat_interleave(X[0]), "'repeats' to have dtype int32 or int64"),
    (lambda: flambeau.meshgrid(WHOLE, WHOLE.to("meta"), indexing="ij"), "the same device"),
    (lambda: flambeau.FloatTensor(2, device="cuda"), "expects device type: cpu"),
])
def test_what_would_be_rounded_or_guessed_is_refused(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()


def test_numbers_of_any_dtype_stay_right_beside_them():
    assert flambeau.lerp(X, X + 2, POINT.double() / 7).equal(X + 2)
    assert flambeau.add(MASK, MASK, alpha=True).tolist() == [True, False, True]
    assert flambeau.addmm(X[:, :2], X[:, :2], X[:, :2], alpha=True).equal(
        X[:, :2] + X[:, :2] @ X[:, :2])
    assert flambeau.addcdiv(X[0], WHOLE, X[0]).equal(X[0] + WHOLE / X[0])
    assert flambeau.randperm(256, dtype=U8).sort().values[-1] == 255
    assert flambeau.zeros_like(X, layout=flambeau.strided, pin_memory=False).sum() == 0
    assert flambeau.FloatTensor(2, device="cpu").shape == (2,)
    with pytest.raises(ValueError, match="only one element tensors can be converted"):
        int(X)


def test_nothing_is_drawn_where_a_dtype_has_gaps_without_a_warning():
    with pytest.warns(UserWarning, match="to - 1 is out of bounds"):
        new(3, F16).random_(0, 5000)
    with pytest.warns(UserWarning, match="required to pass the indexing arg"):
        flambeau.meshgrid(WHOLE)


@pytest.mark.parametrize("dtype", [I64, F32, C64])
def test_truth_is_of_no_other_dtype(dtype):
    for function in (flambeau.any, flambeau.all):
        with pytest.raises(RuntimeError, match="only supports bool tensor for result, got"):
            function(MASK, 0, out=new((), dtype))
        assert function(MASK.to(U8), 0, out=new((), BOOL)).dtype is BOOL
    assert flambeau.add(x1=X, x2=X).equal(2 * X)


def test_numbers_beside_tensors_within_functions():
    assert flambeau.linalg.matrix_rank(flambeau.eye(3), atol=0.5).item() == 3
    assert flambeau.linalg.pinv(flambeau.eye(2), atol=0.5).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    true = flambeau.tensor([True, True])
    assert flambeau.addr(true[None] & ~true, true, true, alpha=False).tolist() == [[False] * 2] * 2


def test_divide_rounds_as_div_does():
    x = flambeau.tensor([7.0, -7.0])
    assert flambeau.divide(x, 2, rounding_mode="floor").tolist() == [3.0, -4.0]
    assert x.divide_(2, rounding_mode="trunc").tolist() == [3.0, -3.0]
