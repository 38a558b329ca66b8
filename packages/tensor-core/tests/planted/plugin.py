"""A pytest plugin that plants one fault, named by PLANTED_FAULT, before any test is imported.

The faults are put in place of operators, methods and functions at run time, so that nothing is
compiled. Faults in compiled code are in ``native.py``.
"""

from __future__ import annotations

import os

import flambeau
from flambeau.core import _core, copying, install_tensor_methods, ops, printing, register_op
from flambeau.core import io as tensor_io
from flambeau.core.io import safetensors

RIGHT = dict(_core.operators())


def _put(name, function):
    """Serve an operator by something else, as a function and as a method."""
    setattr(ops, name, function)
    if hasattr(flambeau, name):
        setattr(flambeau, name, function)
    if hasattr(flambeau.Tensor, name):
        install_tensor_methods({name: function})


def wrong_constant():
    """gelu's tanh approximation with 0.04472 in place of 0.044715."""
    _put("gelu_tanh", register_op(
        "planted_gelu(Tensor self)", derive=False, differentiable=False,
        float="0.5 * self * (1 + tanh(0.7978845608 * (self + 0.04472 * self * self * self)))"))


def wrong_sign():
    """rsub subtracts the wrong way round."""
    _put("rsub", register_op("planted_rsub(Operand self, Operand other)", "self - other"))


def wrong_dtype_rule():
    """div of integers gives integers of the operands' dtype."""
    _put("div", lambda a, b, **kw: RIGHT["div"](a, b, **kw).to(flambeau.result_type(a, b)))


def wrong_nan():
    """maximum drops NaN."""
    _put("maximum", RIGHT["fmax"])


def wrong_stride():
    """narrow steps through the dimension by twos."""
    def narrow(x, dim, start, length):
        y = RIGHT["narrow"](x, dim, start, length)
        strides = list(y.stride())
        strides[dim] *= 2 if length * 2 <= x.shape[dim] else 1
        return x.as_strided(y.shape, strides, y.storage_offset())

    _put("narrow", narrow)


def missing_version_bump():
    """zero_ writes without counting."""
    install_tensor_methods({"zero_": lambda x: (RIGHT["fill_"](x.data, 0), x)[1]})


def dropped_accumulation():
    """index_put keeps one of the values of a repeated index."""
    def index_put_(x, indices, values, accumulate=False):
        if not accumulate:
            return RIGHT["index_put_"](x, indices, values)
        return RIGHT["index_put_"](x, indices, x[indices] + values)

    install_tensor_methods({"index_put_": index_put_})


def ignored_option():
    """var ignores its correction."""
    _put("var", lambda x, dim=None, *, correction=1, keepdim=False:
         RIGHT["var"](x, dim, keepdim=keepdim))


def promoting_fill():
    """masked_fill promotes to the dtype of the value."""
    _put("masked_fill", lambda x, mask, value: RIGHT["where"](mask, value, x))


def copying_view():
    """t copies."""
    _put("t", lambda x: RIGHT["t"](x).clone())
    install_tensor_methods({"T": property(lambda x: RIGHT["t"](x).clone())})


def wrong_tail():
    """exp forgets the last element of odd rows of 37."""
    def exp(x, **kw):
        y = RIGHT["exp"](x, **kw)
        if y.ndim and y.shape[-1] == 37:
            y[..., -1] = 1.0
        return y

    _put("exp", exp)


def write_in_place():
    """save writes over the old file."""
    def write(path, function):
        with open(path, "wb") as file:
            function(file)
            file.flush()
            os.fsync(file.fileno())

    tensor_io.replace_atomically = write


def unchecked_cover():
    """load does not look for bytes that belong to no tensor."""
    safetensors._check_cover = lambda spans, room: None


def unchecked_size():
    """load believes the shape that a header states, as far as the bytes go."""
    right = safetensors._read_entry

    def read(name, entry, room):
        dtype, shape, start, end = right(name, entry, room)
        return dtype, shape[::-1], start, end

    safetensors._read_entry = read


def shared_copy():
    """A deep copy shares the memory."""
    copying.deepcopy_tensor = lambda x, memo: x.detach()


def printed_width():
    """Numbers are not aligned."""
    printing._Format.__call__ = printing._Format.number


def unseeded():
    """manual_seed goes on where the stream was."""
    right = flambeau.manual_seed

    def manual_seed(seed):
        state = flambeau.get_rng_state().tolist()
        made = right(seed)
        flambeau.set_rng_state(flambeau.tensor([seed, state[1] + 1], dtype=flambeau.uint64))
        return made

    flambeau.manual_seed = manual_seed


#: Fault -> the test file, or files, that must find it.
FAULTS = {
    wrong_constant: "test_pointwise.py", wrong_sign: "test_pointwise.py",
    wrong_dtype_rule: "test_pointwise.py test_promotion_oracle.py", wrong_nan: "test_pointwise.py",
    wrong_stride: "test_operators_oracle.py", missing_version_bump: "test_writes.py",
    dropped_accumulation: "test_indexing.py", ignored_option: "test_operators_oracle.py",
    promoting_fill: "test_operators_oracle.py", copying_view: "test_views.py",
    wrong_tail: "test_pointwise.py", write_in_place: "test_files.py",
    unchecked_cover: "test_files.py", unchecked_size: "test_files.py",
    shared_copy: "test_exchange.py", printed_width: "test_printing.py", unseeded: "test_random.py",
}


def pytest_configure(config):
    chosen = os.environ["PLANTED_FAULT"]
    next(f for f in FAULTS if f.__name__ == chosen)()
