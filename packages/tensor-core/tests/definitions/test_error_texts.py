"""The exact texts of errors: each names the operator, what was given and what would be right."""

from __future__ import annotations

import pytest

import flambeau
from flambeau.core import ops
from flambeau.core._core import ArgumentError, IndexRangeError

X = flambeau.tensor([1.0, 2.0, 3.0])
M = flambeau.ones(2, 3)
Z = flambeau.tensor([1 + 2j])
T = flambeau.tensor


GOLDEN = [
    # ---- shapes
    (lambda: X + flambeau.ones(2), RuntimeError,
     "add(): shapes [3] and [2] do not broadcast: The size of tensor a (3) must match the size of "
     "tensor b (2) at non-singleton dimension 0; sizes must be equal or one of them 1, counted "
     "from the last dimension"),
    (lambda: M @ M, RuntimeError,
     "matmul(): self is [2, 3] and other is [2, 3]; the last dimension of self (3) must equal the "
     "second-last of other (2)"),
    (lambda: M.view(7), RuntimeError,
     "view(): shape '[7]' is invalid for input of size 6 (shape [2, 3]); the product of the sizes "
     "must stay the same"),
    (lambda: M.t().view(6), RuntimeError,
     "view(): view size [6] is not compatible with input tensor's size [3, 2] and stride [1, 3] "
     "(at least one dimension spans across two contiguous subspaces). Use .reshape(...) instead."),
    (lambda: M.expand(4, 4), RuntimeError,
     "expand(): The expanded size of the tensor (4) must match the existing size (2) at "
     "non-singleton dimension 0. Target sizes: [4, 4]. Tensor sizes: [2, 3]"),
    (lambda: flambeau.cat([M, X]), RuntimeError,
     "cat(): Tensors must have same number of dimensions: got shape [2, 3] and, at position 1, "
     "[3]"),
    (lambda: flambeau.stack([M, X]), RuntimeError,
     "stack(): stack expects each tensor to be equal size, but got [2, 3] at entry 0 and [3] at "
     "entry 1"),
    (lambda: ops.linear(M, flambeau.ones(2, 2)), RuntimeError,
     "linear(): input is [2, 3] and weight is [2, 2]; the last dimension of input must equal the "
     "last of weight (2)"),
    (lambda: ops.conv2d(M, M), RuntimeError,
     "conv2d(): weight has shape [2, 3]; it must be [out_channels, in_channels / groups, height, "
     "width]"),
    (lambda: ops.conv2d(flambeau.ones(1, 3, 4, 4), flambeau.ones(2, 2, 3, 3)), RuntimeError,
     "conv2d(): given groups=1 and weight of shape [2, 2, 3, 3], expected input [1, 3, 4, 4] to "
     "have 2 channels, but it has 3"),
    (lambda: ops.layer_norm(M, (4,)), RuntimeError,
     "layer_norm(): Given normalized_shape=[4], expected input with shape [*, 4], but got input of "
     "size [2, 3]"),
    (lambda: ops.mse_loss(M, X), ArgumentError,
     "mse_loss(): input has shape [2, 3] and target [3], and a loss does not broadcast silently; "
     "both need the same shape; to broadcast on purpose write input, target = "
     "flambeau.broadcast_tensors(input, target)"),
    (lambda: M.permute(0), RuntimeError,
     "permute(): dims [0] name 1 dimensions, but the tensor of shape [2, 3] has 2; name every "
     "dimension once"),
    (lambda: flambeau.ones(2, 2, 2).t(), RuntimeError,
     "t() expects a tensor with <= 2 dimensions, but self has shape [2, 2, 2]; use "
     "transpose(dim0, dim1) or .mT"),
    (lambda: X.narrow(0, 2, 5), RuntimeError,
     "narrow(): start (2) + length (5) exceeds dimension size (3) of dimension 0"),
    (lambda: flambeau.gather(M, 0, T([0])), RuntimeError,
     "gather(): 'index' must have as many dimensions as 'self': got shapes [1] and [2, 3]"),
    (lambda: flambeau.tensor([[1], [2, 3]]), ValueError,
     "tensor(): expected sequence of length 1 at dim 1 (got 2); all rows must be of one length"),
    (lambda: X.topk(9), RuntimeError,
     "topk(): selected index k out of range: k=9, but dimension 0 of shape [3] has 3 elements"),
    (lambda: M.unflatten(1, (2, 2)), RuntimeError,
     "unflatten(): sizes [2, 2] don't multiply up to the size of dim 1 (3)"),
    (lambda: M.split([1, 1], 1), RuntimeError,
     "split(): split_with_sizes expects split_sizes to sum exactly to 3 (input tensor's size at "
     "dimension 1), but got [1, 1]"),
    # ---- axes and indices
    (lambda: M.sum(5), IndexError,
     "sum(): Dimension out of range: dim=5 for a tensor of 2 dimensions (expected to be in range "
     "of [-2, 1])"),
    (lambda: M.squeeze(4), IndexError,
     "squeeze(): Dimension out of range: dim=4 for a tensor of 2 dimensions (expected to be in "
     "range of [-2, 1])"),
    (lambda: X.sum((0, 0)), ArgumentError,
     "sum(): dim 0 appears multiple times in the list of dims [0, 0]; name each dimension once"),
    (lambda: flambeau.amax(flambeau.empty(0)), RuntimeError,
     "amax(): Expected reduction dim to be specified for input.numel() == 0: a tensor of shape [0] "
     "has no element to choose"),
    (lambda: M[5], IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
    (lambda: M[0, 0, 0], IndexError, "too many indices for tensor of dimension 2: 3 given"),
    (lambda: X[T([9])], IndexRangeError,
     "index(): index 9 (number 0 of the index) is out of bounds for dimension 0 with size 3; it "
     "must be at least -3 and less than 3"),
    (lambda: X[T([0.5])], IndexError,
     "tensors used as indices must be integer or bool tensors, got flambeau.float32 of shape [1]; "
     "write i.long()"),
    (lambda: X[T([True])], IndexError,
     "The shape of the mask [1] at index 0 does not match the shape of the indexed tensor [3] at "
     "index 0"),
    (lambda: M.index_select(0, T([9])), IndexRangeError,
     "index_select(): index 9 (number 0 of the index) is out of bounds for dimension 0 with size "
     "2; it must be at least 0 and less than 2"),
    (lambda: ops.nll_loss(M, T([9, 0])), IndexError,
     "nll_loss(): Target 9 (element 0) is out of bounds: there are 3 classes, numbered from 0; "
     "ignore_index is -100"),
    (lambda: X[::-1], ValueError,
     "step must be greater than zero, got -1; reverse with x.flip(0)"),
    # ---- dtypes
    (lambda: Z.erf(), NotImplementedError,
     "erf(): not implemented for dtype complex64; complex numbers have no such operation; use "
     "x.real, x.imag or x.abs()"),
    (lambda: T(True) - T(True), NotImplementedError,
     "sub(): not implemented for dtype bool; convert with x.to(flambeau.int64) or x.float() "
     "first"),
    (lambda: flambeau.ones(3).add_(Z), RuntimeError,
     "add(): result type complex64 can't be cast to the desired output type float32; write x = "
     "x.add(...) to get a new tensor"),
    (lambda: X.masked_fill(T([1, 0, 1]), 0), RuntimeError,
     "masked_fill(): mask must be a bool tensor, got flambeau.int64; write mask != 0"),
    (lambda: flambeau.tensor("x"), TypeError,
     "tensor(): could not infer dtype of str; give numbers, nested lists of numbers, an array or a "
     "tensor"),
    (lambda: flambeau.zeros(2, dtype="float32"), TypeError,
     "zeros(): argument 'dtype' must be flambeau.dtype or None, not str"),
    (lambda: flambeau.ones(2, dtype=flambeau.bfloat16).numpy(), TypeError,
     "NumPy has no dtype flambeau.bfloat16; write x.float().numpy()"),
    # ---- arguments
    (lambda: flambeau.add(X, "a"), TypeError,
     "add(): argument 'other' must be Tensor or number, not str"),
    (lambda: flambeau.add(X), TypeError,
     "add() missing required argument 'other' (Tensor or number)"),
    (lambda: flambeau.exp(X, 5), TypeError,
     "exp() takes at most 1 positional arguments, but 2 were given"),
    (lambda: flambeau.exp(X, foo=1), TypeError,
     "exp() got an unexpected keyword argument 'foo'"),
    (lambda: flambeau.div(X, X, rounding_mode="up"), RuntimeError,
     "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found 'up'"),
    (lambda: ops.dropout(X, p=2.0), ValueError,
     "dropout probability has to be between 0 and 1, but got 2.0"),
    (lambda: ops.mse_loss(X, X, reduction="avg"), ValueError,
     "mse_loss(): avg is not a valid value for reduction; it is 'none', 'mean' or 'sum'"),
    (lambda: flambeau.ones(-1), ArgumentError,
     "ones(): a tensor of shape [-1]: sizes must not be negative"),
    (lambda: flambeau.arange(0, 5, 0), RuntimeError,
     "arange(): start=0, end=5, step=0: step must be a number other than zero (in an integer dtype "
     "steps are truncated); give dtype=float32 for fractional steps"),
    (lambda: flambeau.from_numpy([1]), TypeError, "expected a numpy.ndarray (got list)"),
    # ---- writing
    (lambda: flambeau.ones(3).expand(2, 3).add_(1), RuntimeError,
     "add(): unsupported operation: more than one element of the written-to tensor refers to a "
     "single memory location (shape [2, 3], stride [0, 1], an expanded tensor?). Please clone() "
     "the tensor before performing the operation."),
    # ---- devices and values
    (lambda: X.item(), ArgumentError,
     "a Tensor with 3 elements cannot be converted to Scalar (item() of shape [3]): only one "
     "element tensors can be converted to Python scalars; index one element, or use x.tolist()"),
    (lambda: bool(X), RuntimeError,
     "Boolean value of Tensor with more than one value is ambiguous (shape [3]); write (x != "
     "0).any() or (x != 0).all()"),
    (lambda: flambeau.zeros(2, device="meta").tolist(), NotImplementedError,
     "a meta tensor has no values; make one with real memory, e.g. flambeau.empty_like(x, "
     "device='cpu')"),
]


@pytest.mark.parametrize(("call", "kind", "text"), GOLDEN,
                         ids=[f"{i}-{t.split(':')[0][:24]}" for i, (_, _, t) in enumerate(GOLDEN)])
def test_texts(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    assert str(caught.value) == text


def test_unknown_devices_are_listed():
    with pytest.raises(RuntimeError, match=r"Expected one of cpu, .* as device type, got 'zzz'"):
        X.to("zzz")


def test_there_are_enough():
    assert len(GOLDEN) >= 30


WRONG_SIZES = [
    lambda: flambeau.zeros(-1),
    lambda: flambeau.empty(2, -3),
    lambda: ops.mse_loss(M, X),
    lambda: ops.nll_loss(M, flambeau.zeros(3, dtype=flambeau.int64)),
    lambda: flambeau.cat([]),
    lambda: X.sum((0, 0)),
    lambda: flambeau.ones([1] * 40),
]


@pytest.mark.parametrize("call", WRONG_SIZES)
@pytest.mark.parametrize("kind", (RuntimeError, ValueError))
def test_wrong_sizes_are_caught_as_either_kind(call, kind):
    """PyTorch raises RuntimeError for some and ValueError for others."""
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is ArgumentError
