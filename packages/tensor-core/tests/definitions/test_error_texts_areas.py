"""The exact texts of errors in the larger areas: windows, linear algebra, files and the like."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from test_error_texts import GOLDEN as GENERAL

import flambeau
from flambeau import fft, linalg
from flambeau.core import namespaces, ops
from flambeau.core.io.errors import FileError

T, nn = flambeau.tensor, SimpleNamespace(**namespaces["nn.functional"])
X, M, L, Z = T([1.0, 2.0, 3.0]), flambeau.ones(2, 3), flambeau.ones(1, 2, 3), T([1 + 2j])

GOLDEN = [
    # ---- pooling and convolution
    (lambda: ops.max_pool1d(L, 9), RuntimeError,
     "max_pool1d(), on planes: self has shape [1, 2, 1, 3], which is smaller than the window "
     "[1, 9]; the output would be empty"),
    (lambda: ops.avg_pool1d(L, 9), RuntimeError,
     "avg_pool1d(), on planes: self has shape [1, 2, 1, 3], which is smaller than the window "
     "[1, 9]; the output would be empty"),
    (lambda: ops.avg_pool3d(flambeau.ones(1, 2, 3, 3, 3), 9), RuntimeError,
     "avg_pool3d(): input has shape [1, 2, 3, 3, 3], which is smaller than the window [9, 9, 9]; "
     "make the window smaller, or pad the input by pad()"),
    (lambda: ops.max_pool2d(flambeau.ones(1, 2, 3, 3), 2, padding=2), RuntimeError,
     "max_pool2d(): padding [2, 2] should be at most half of the effective kernel size [2, 2]"),
    (lambda: ops.max_pool3d(M, 2), RuntimeError,
     "max_pool3d(): input has shape [2, 3]; expected [batch, channels, depth, height, width], "
     "or 4 dimensions for a single image, of which only the batch may be empty"),
    (lambda: ops.adaptive_avg_pool1d(X, 2), RuntimeError,
     "adaptive_avg_pool1d(): input has shape [3]; expected [batch, channels, length], or 2 "
     "dimensions for a single image, of which only the batch may be empty"),
    (lambda: ops.conv1d(L, flambeau.ones(1, 2, 9)), RuntimeError,
     "conv1d(), on planes: the kernel covers [1, 9] pixels (with dilation), but the input with "
     "its padding has only [1, 3]; enlarge the input or the padding"),
    (lambda: ops.conv1d(L, flambeau.ones(1, 3, 2)), RuntimeError,
     "conv1d(), on planes: given groups=1 and weight of shape [1, 3, 1, 2], expected input [1, "
     "2, 1, 3] to have 3 channels, but it has 2"),
    (lambda: ops.conv3d(flambeau.ones(1, 2, 3, 3, 3), flambeau.ones(1, 3, 2, 2, 2)), RuntimeError,
     "conv3d(): given groups=1 and weight of shape [1, 3, 2, 2, 2], expected input [1, 2, 3, "
     "3, 3] to have 3 channels, but it has 2"),
    (lambda: ops.conv_transpose2d(flambeau.ones(1, 2, 3, 3), flambeau.ones(3, 2, 2, 2)),
     RuntimeError,
     "conv_transpose2d(): input has shape [1, 2, 3, 3], weight [3, 2, 2, 2] and groups=1; the "
     "input must have weight.shape[0] = 3 channels, which groups divides"),
    (lambda: ops.group_norm(flambeau.ones(2, 3, 4), 2), RuntimeError,
     "group_norm(): Expected number of channels in input to be divisible by num_groups, but "
     "got input of shape [2, 3, 4] and num_groups=2"),
    (lambda: ops.interpolate(L, size=2, mode="bilinear"), NotImplementedError,
     "interpolate(): Got 3D input, but bilinear mode needs 4D input"),
    (lambda: ops.pixel_shuffle(flambeau.ones(1, 3, 2, 2), 2), RuntimeError,
     "pixel_shuffle(): expects its input's 'channel' dimension to be divisible by the square "
     "of upscale_factor, but input.size(-3)=3 is not divisible by 4"),
    (lambda: ops.one_hot(T([5]), 3), RuntimeError,
     "one_hot(): Class values must be non-negative and smaller than num_classes: element "
     "number 0 is 5, num_classes is 3"),
    (lambda: ops.embedding(T([7]), M), IndexError,
     "embedding(): index 7 (number 0 of the index) is out of bounds for dimension 0 with size "
     "2; it must be at least 0 and less than 2"),
    (lambda: ops.celu(T([1])), RuntimeError,
     "celu(): For integral input tensors, argument alpha must not be a floating point number; "
     "got 1 with dtype int64"),
    (lambda: ops.threshold(T([True]), 1, 2), RuntimeError,
     "threshold(): not implemented for dtype bool; convert with x.to(flambeau.int64) or "
     "x.float() first"),
    # ---- Fourier transforms
    (lambda: fft.fft(X, n=0), RuntimeError,
     "fft(): Invalid number of data points (0) specified; a transform needs at least one"),
    (lambda: fft.fft(X, norm="x"), RuntimeError,
     "fft(): Invalid normalization mode: \"x\"; write \"backward\", \"forward\" or \"ortho\""),
    (lambda: fft.rfft(Z), RuntimeError,
     "rfft expects a real input tensor, but got complex64; write x.real, or call the "
     "transform of complex numbers"),
    (lambda: fft.fft(X.bfloat16()), RuntimeError,
     "fft(): Unsupported dtype bfloat16; write x.float() first"),
    # ---- shapes and products
    (lambda: M.unflatten(1, ()), RuntimeError,
     "unflatten(): sizes are 0; they must be 1 or more, and the result can have 32 dimensions at "
     "most"),
    (lambda: flambeau.cross(L, L, dim=3), IndexError,
     "cross(): Dimension out of range (expected to be in range of [-3, 2], but got 3)"),
    (lambda: flambeau.addmm(X, X, M), RuntimeError,
     "addmm(): argument 'mat1' must be a matrix (2 dimensions), got shape [3]; use matmul for "
     "other shapes"),
    # ---- linear algebra
    (lambda: linalg.solve(flambeau.zeros(2, 2), flambeau.ones(2)), linalg.LinAlgError,
     "linalg.solve: The diagonal element 1 is zero, the inversion could not be completed "
     "because the input matrix is singular; add a multiple of the identity to the matrix, or "
     "use linalg.lstsq or linalg.pinv, which accept it"),
    (lambda: linalg.inv(M), RuntimeError,
     "linalg.inv: A must be batches of square matrices, but it has shape [2, 3]"),
    (lambda: linalg.cholesky(-flambeau.eye(2)), linalg.LinAlgError,
     "linalg.cholesky: The factorization could not be completed because the input is not "
     "positive-definite (the leading minor of order 1 is not positive-definite); add a small "
     "multiple of the identity, or use linalg.eigh"),
    (lambda: linalg.svd(X), RuntimeError,
     "linalg.svd(): The input tensor 'A' must have at least 2 dimensions, the last two being "
     "rows and columns; got shape [3]"),
    (lambda: linalg.eigh(T([[1]])), RuntimeError,
     "linalg.eigh(): Expected a floating point or complex tensor as input: 'A' is int64; "
     "convert it with A.float()"),
    (lambda: linalg.qr(M, "x"), RuntimeError,
     "linalg.qr(): qr received unrecognized mode 'x' but expected one of 'reduced' (default), "
     "'r', or 'complete'"),
    (lambda: linalg.lstsq(M, flambeau.ones(3, 2)), RuntimeError,
     "linalg.lstsq(): A and B must have as many rows, one for each equation: A is [2, 3] and B "
     "is [3, 2]"),
    (lambda: linalg.lstsq(M, flambeau.ones(2), driver="x"), RuntimeError,
     "linalg.lstsq: parameter 'driver' should be one of ('gels', 'gelsy', 'gelsd', 'gelss'), "
     "got 'x'"),
    (lambda: linalg.ldl_solve(flambeau.eye(2), T([1, 2]), M), RuntimeError,
     "linalg.ldl_solve(): pivots must be an int32 tensor as ldl_factor returns it; got int64 "
     "of shape [2]"),
    (lambda: linalg.ldl_factor(flambeau.zeros(2, 2)), linalg.LinAlgError,
     "linalg.ldl_factor: The diagonal element 1 of D is zero, and solving with it would divide "
     "by it; add a multiple of the identity to the matrix, or use linalg.lstsq"),
    (lambda: linalg.norm(M, "x"), RuntimeError,
     "linalg.norm: Order 'x' not supported; it is 'fro', 'nuc', 1, -1, 2, -2, inf or -inf"),
    (lambda: flambeau.einsum("ij,jk", M, M), RuntimeError,
     "einsum(): subscript j has size 2 for operand 1 which does not broadcast with previously "
     "seen size 3"),
    (lambda: flambeau.einsum("i1", M), RuntimeError,
     "einsum(): invalid subscript '1' in operand 0, 'i1': subscripts are letters and '...'"),
    (lambda: flambeau.cdist(M, flambeau.ones(2, 4)), RuntimeError,
     "cdist(): X1 and X2 must have the same number of columns. X1: 3 X2: 4"),
    (lambda: flambeau.tensordot(M, M, 1), RuntimeError,
     "tensordot(): contracted dimensions need to match, but first has size 3 in dim 1 and "
     "second has size 2 in dim 0"),
    # ---- more of indexing
    (lambda: M.scatter(0, T([[5]]), 1.0), RuntimeError,
     "scatter(): index 5 (number 0 of the index) is out of bounds for dimension 0 with size 2; "
     "it must be at least 0 and less than 2"),
    (lambda: M.index_add(0, T([7]), M), RuntimeError,
     "index_add(): 'source' must have shape [1, 3] here, got [2, 3]"),
    (lambda: M.take(T([9])), IndexError,
     "take(): index 9 (number 0 of the index) is out of bounds for dimension 0 with size 6; it "
     "must be at least -6 and less than 6"),
    (lambda: M.index_select(0, T([0.5])), RuntimeError,
     "index_select(): expected 'index' to have dtype int32 or int64, since its elements are "
     "positions; got float32 of shape [1]; convert it with index.long()"),
    (lambda: flambeau.kthvalue(M, 9), RuntimeError,
     "kthvalue(): selected number k out of range for dimension 1: k=9, but shape [2, 3] has 3 "
     "elements there; k counts from 1"),
    (lambda: X.unfold(0, 5, 1), RuntimeError,
     "unfold(): size 5 and step 1 do not fit dimension 0 of size 3; size lies between 0 and "
     "that, step is positive"),
    (lambda: M.repeat(1), RuntimeError,
     "repeat(): Number of dimensions of repeat dims [1] can not be smaller than number of "
     "dimensions of tensor [2, 3]"),
    # ---- files
    (lambda: flambeau.load(io.BytesIO(b"")), FileError,
     "load(): only 0 bytes; the file is damaged or not a safetensors file"),
    (lambda: flambeau.load(io.BytesIO(b"no tensors here")), FileError,
     "load(): a header of 8030883942550761326 bytes does not fit a file of 15 bytes; the file "
     "is damaged or not a safetensors file"),
    (lambda: flambeau.frombuffer(bytearray(3), dtype=flambeau.float32), ValueError,
     "frombuffer(): buffer length (3 bytes) after offset (0 bytes) must be a multiple of element "
     "size (4) of flambeau.float32; give count"),
    (lambda: flambeau.from_dlpack(3), TypeError,
     "from_dlpack(): int has no __dlpack__ method; give an array of a library that supports "
     "DLPack"),
    # ---- distributions
    (lambda: flambeau.multinomial(T([-1.0, 2.0]), 1), RuntimeError,
     "multinomial(): probability tensor contains either inf, nan or element < 0: -1 in column "
     "0"),
    (lambda: flambeau.multinomial(T([1.0, 2.0]), 5), RuntimeError,
     "multinomial(): cannot sample num_samples=5 > 2 categories without replacement; give "
     "replacement=True"),
    (lambda: flambeau.bernoulli(T([2.0])), RuntimeError,
     "bernoulli(): p must lie from 0 to 1, but element 0 is 2"),
    (lambda: flambeau.normal(0, -1, (2,)), RuntimeError,
     "normal(): std=-1, but a standard deviation is 0 or more"),
    (lambda: flambeau.randperm(-1), RuntimeError,
     "randperm(): n must be non-negative, not -1"),
    (lambda: flambeau.empty(3).exponential_(-1), RuntimeError,
     "exponential_(): expects lambd > 0.0, but found lambd=-1.0"),
    (lambda: flambeau.bincount(T([-1])), RuntimeError,
     "bincount(): expected non-negative integers, found -1 at position 0"),
    (lambda: flambeau.quantile(X, 2.0), RuntimeError,
     "quantile(): q must be in the range [0, 1] but got 2.0"),
    # ---- what was called, not the row that does the work
    (lambda: nn.unfold(X, 2), RuntimeError,
     "unfold(): expected images [batch, channels, height, width], or 3 dimensions for a single "
     "one, of which only the batch may be empty; got float32 of shape [3]"),
    (lambda: nn.fold(L), TypeError,
     "fold() missing required argument 'output_size' (int or list of ints)"),
    (lambda: nn.pad(M, (1,)), RuntimeError,
     "pad(): pad [1] must hold pairs (left, right), at most one for each of the 2 dimensions, "
     "the last dimension first"),
    (lambda: flambeau.hann_window(-1), ValueError,
     "hann_window() requires non-negative window length, got M=-1"),
    (lambda: flambeau.logspace(0, 1, -1), RuntimeError,
     "logspace(): number of steps must be non-negative, not -1"),
    (lambda: flambeau.logspace("0", 1, 2), TypeError,
     "logspace(): argument 'start' must be number, not str"),
    (lambda: flambeau.full((2,), "a"), TypeError,
     "full(): argument 'fill_value' must be number, not str"),
    (lambda: flambeau.full((2,), 300, dtype=flambeau.uint8), RuntimeError,
     "full(): fill_value 300 does not fit uint8, which holds 0 to 255"),
    (lambda: linalg.vector_norm(M, dim=5), IndexError,
     "linalg.vector_norm: Dimension out of range (expected to be in range of [-2, 1], but got 5)"),
    (lambda: linalg.vector_norm(M, dim=(0, -2)), RuntimeError,
     "linalg.vector_norm: dim [0, -2] names a dimension twice; name each once"),
    (lambda: flambeau.addmm(M, M, M), RuntimeError,
     "addmm(): in matmul(): self is [2, 3] and other is [2, 3]; the last dimension of self (3) "
     "must equal the second-last of other (2)"),
    (lambda: M.reshape(7), RuntimeError,
     "reshape(): in view(): shape '[7]' is invalid for input of size 6 (shape [2, 3]); the product "
     "of the sizes must stay the same"),
    (lambda: flambeau.vander(M), RuntimeError,
     "vander(): x must be a one-dimensional tensor, got shape [2, 3]"),
    (lambda: flambeau.fft.fft("a"), TypeError,
     "fft.fft(): argument 'input' must be Tensor, not str"),
    (lambda: flambeau.arange("a"), TypeError,
     "arange(): argument 'end' must be number, not str"),
    (lambda: flambeau.zeros("a", 2), TypeError,
     "zeros(): argument 'size' must be ints (shape), not tuple with str at position 0"),
    (lambda: flambeau.randn(2, 1.5), TypeError,
     "randn(): argument 'size' must be ints (shape), not tuple with float at position 1"),
    # ---- of several forms, the error of the one that was meant
    (lambda: flambeau.where(M > 0, M, "a"), TypeError,
     "where(): argument 'other' must be Tensor or number, not str; its forms: where(condition, "
     "self, other), where.indices(condition)"),
    (lambda: M.std(correction="a"), TypeError,
     "std(): argument 'correction' must be number or None, not str; its forms: std(self, dim, "
     "correction, keepdim), std.unbiased(self, unbiased), std.dim(self, dim, unbiased, keepdim)"),
    # ---- functions that are no rows
    (lambda: M["a"], IndexError,
     "only integers, slices (`:`), ellipsis (`...`), None and integer or bool tensors are valid "
     "indices (got str 'a')"),
    (lambda: flambeau.promote_types(flambeau.int8, "a"), TypeError,
     "promote_types(): argument 'type2' must be flambeau.dtype such as flambeau.float32, not str"),
    (lambda: flambeau.manual_seed("a"), ValueError,
     "manual_seed(): seed must be an integer, not 'a'"),
    (lambda: flambeau.set_num_threads("a"), TypeError,
     "set_num_threads(): expects an int, but got str"),
    (lambda: flambeau.save(M, 3), TypeError,
     "save(): f must be a path or a file with a write() method, not int"),
    (lambda: flambeau.load(3), TypeError,
     "load(): f must be a path or a file with a read() method, not int"),
    (lambda: nn.interpolate(flambeau.ones(1, 1, 4, 4), scale_factor="a"), TypeError,
     "interpolate(): scale_factor is a number or one for each spatial dimension, not 'a'"),
]


@pytest.mark.parametrize(("call", "kind", "text"), GOLDEN,
                         ids=[f"{i}-{t.split(':')[0][:24]}" for i, (_, _, t) in enumerate(GOLDEN)])
def test_texts(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, kind)
    assert str(caught.value) == text


def test_there_are_enough():
    assert len(GENERAL) + len(GOLDEN) >= 100
