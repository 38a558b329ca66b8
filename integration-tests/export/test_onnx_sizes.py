"""A model of sizes that vary gives what the function gives, or its export warned."""

import itertools
import warnings

import numpy as np
import pytest
from test_onnx_operators import LOOSE, filled, flat, tensors_of

import flambeau as fl
from flambeau import jit, onnx
from flambeau.core import _core
from flambeau.core.opdefs import OPDEFS
from flambeau.onnx.exporting import rewritten
from flambeau.testing.samples import samples

onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")

#: The sizes that are tried, and how many samples of each operator.
SIZES, COUNT = (1, 2, 3, 7, 40), 3

#: Operands that repeated ones are not: sorted bounds, and a scale or a loss that stem from the
#: input.
FITTING = {"searchsorted", "bucketize", "row_order", "rms_norm_grad", "ctc_loss_grad"}


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options,
                                        providers=["CPUExecutionProvider"])


def repeated(tensor, dims, size):
    """Elements of a tensor over and over, up to a size, a little different where they can be."""
    values = tensor.numpy()
    for d in dims:
        values = np.take(values, np.arange(size) % values.shape[d], axis=d)
    if values.dtype.kind == "f":
        noise = np.random.default_rng(0).random(values.shape)
        values = (values * (1 + 0.01 * noise)).astype(values.dtype)
    return fl.from_numpy(np.ascontiguousarray(values))


def choices(tensors):
    """Which dimensions vary: each alone, and those of one size together."""
    found = [(k, d, n) for k, each in enumerate(tensors) for d, n in enumerate(each.shape) if n > 1]
    alone = [[(k, d)] for k, d, _ in found]
    together = [[(k, d) for k, d, m in found if m == n] for n in dict.fromkeys(
        n for *_, n in found)]
    for marks in together + [each for each in alone if each not in together]:
        yield {k: {d: "S" for other, d in marks if other == k} for k, _ in marks}


def exported(call, tensors, dims):
    """The model, or None where there is none, and whether it warned."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            model = onnx.export(jit.trace(call, tensors, dynamic=dims))
        except (onnx.ExportError, jit.TraceError, ValueError, RuntimeError, IndexError):
            return None, False
    return model, any("known to be right" in str(each.message) for each in seen)


def is_right(key, session, call, tensors):
    """Whether a model gives what a call gives, or fails as onnxruntime does aloud."""
    try:
        wanted = flat(call(*(each.clone() for each in tensors)))
        found = session.run(None, {each.name: given.numpy() for each, given in zip(
            session.get_inputs(), tensors, strict=True)})
    except Exception:
        return True
    pairs = list(zip(found, wanted, strict=True))[:1 if key in LOOSE else None]
    return all(a.shape == tuple(b.shape) and np.allclose(
        a, b.numpy(), rtol=1e-4, atol=1e-4 * max(1, np.nanmax(np.abs(a), initial=0)),
        equal_nan=True) for a, b in pairs)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("opdef", [
    each for each in OPDEFS if not each.random and each.key not in FITTING
    and not each.key.startswith(("empty", "dropout", "rand"))], ids=lambda opdef: opdef.key)
def test_an_operator_at_other_sizes(opdef):
    for args, named in itertools.islice(samples(opdef, "float32"), COUNT):
        args = [*args, *(named.get(p.name, None if p.default is ... else p.default)
                         for p in opdef.params[len(args):])]
        found: list = []
        tensors_of(args, found)
        if not found or any(each.is_complex() or 0 in each.shape for each in found):
            continue

        def call(*given, args=args):
            tensors = iter(given)
            return _core.call(opdef.key, [filled(each, tensors) for each in args])

        for dims in choices(found):
            model, is_told = exported(call, tuple(found), dims)
            if model is None or is_told:
                continue
            try:
                session = session_of(model)
            except Exception:           # onnxruntime lacks it for this dtype
                continue
            for size in SIZES:
                given = [repeated(each, dims.get(k, {}), size) for k, each in enumerate(found)]
                assert is_right(opdef.key, session, call, given), (dims, size)


@pytest.mark.parametrize(("fn", "first"), [
    (lambda x: x.squeeze(), 2), (lambda x: x * 2 if len(x) > 2 else x, 3), (fl.corrcoef, 2)],
    ids=["squeeze", "branch", "corrcoef"])
def test_other_cases_of_smaller_sizes_are_told(fn, first):
    with pytest.warns(UserWarning, match=f"known to be right for b from {first} on alone"):
        onnx.export(fn, fl.randn(4, 5), input_names=["x"], dynamic_axes={"x": {0: "b"}})


def test_sizes_that_nobody_named_do_not_vary_where_they_decide():
    def shape(fn):
        [given] = onnx.export(fn, fl.randn(4, 5)).graph.input
        return [dim.dim_value or dim.dim_param for dim in given.type.tensor_type.shape.dim]

    assert shape(lambda x: x.squeeze()) == [4, 5]
    assert shape(lambda x: x.relu()) == ["N", 5]


def test_a_size_that_fails_is_no_other_case():
    """Warnings are errors here: a smaller image than the kernel raises in both."""
    onnx.export(fl.nn.Conv2d(1, 2, 3).eval(), fl.randn(2, 1, 8, 8), input_names=["x"],
                dynamic_axes={"x": {2: "height"}})


@pytest.mark.parametrize(("fn", "size"), [
    (lambda x: x * 2 if int(x.shape[0]) > 300 else x, 4),
    (lambda x: x * 2 if int(x.shape[0]) < 2 else x, 40)], ids=["above", "below"])
def test_other_cases_far_from_the_example_are_told(fn, size):
    with pytest.warns(UserWarning, match="known to be right for b from"):
        onnx.export(fn, fl.randn(size, 5), input_names=["x"], dynamic_axes={"x": {0: "b"}})


def test_an_operator_that_is_written_by_others_tells_their_limits(monkeypatch):
    def nansum(x, *rest):
        return x.sum() if x.shape[0] < 11 else x.sum(1).sum()

    monkeypatch.setitem(rewritten._FUNCTIONS, "nansum", nansum)
    dims = {"input_names": ["x"], "dynamic_axes": {"x": {0: "b"}}}
    with pytest.warns(UserWarning, match="the size 2\\*b in nansum at .* from 1 to 10 alone"):
        onnx.export(lambda x: fl.cat([x, x]).nansum(), fl.randn(3, 5), **dims)
    with pytest.warns(UserWarning, match="the size b in nansum at .* from 11 on alone"):
        onnx.export(lambda x: x.nansum(), fl.randn(13, 5), **dims)


def test_attention_of_any_width():
    def attention(x):
        return fl.nn.functional.scaled_dot_product_attention(x, x, x)

    model = onnx.export(attention, fl.randn(2, 5, 8), input_names=["x"],
                        dynamic_axes={"x": {0: "b", 1: "t", 2: "width"}})
    for shape in ((2, 5, 8), (1, 7, 3), (4, 1, 1)):
        x = fl.randn(*shape)
        [found] = session_of(model).run(None, {"x": x.numpy()})
        np.testing.assert_allclose(found, attention(x).numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("start", [-1, -3, 0, 2])
def test_parts_that_are_counted_from_the_end(start):
    def part(x):
        return x.narrow(1, start, 1) * 2

    for dims in ({}, {"x": {1: "t"}}):
        model = onnx.export(part, fl.randn(2, 5), input_names=["x"], dynamic_axes=dims)
        for size in (5, 3, 9) if dims else (5,):
            x = fl.randn(2, size)
            [found] = session_of(model).run(None, {"x": x.numpy()})
            np.testing.assert_array_equal(found, part(x).numpy())
