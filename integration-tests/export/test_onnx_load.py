"""ONNX models as modules: ONNX's own tests, onnxruntime, and what users do with them."""

import copy
import pickle
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import flambeau as fl
from flambeau import jit, nn

onnx = pytest.importorskip("onnx", reason="needs onnx")
pytest.importorskip("onnxruntime", reason="needs onnxruntime")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx_models import (  # noqa: E402
    against_onnxruntime,
    assert_same,
    model_of,
    network,
    one,
    written,
)

from flambeau.onnx.importing.reading import tensor_of  # noqa: E402

#: ONNX's tests of what is not read: strings, floats of 4 bits, other domains, training.
OUT_OF_SCOPE = re.compile(
    r"string|strnorm|tfidf|regex|image_decoder|FLOAT4|float4|ai_onnx_ml|adagrad|adam|momentum"
    r"|gradient_of|label_encoder|optional_has_element_empty|optional_get_element|_ml_")
#: Numbers that a generator draws.
RANDOM = re.compile(r"bernoulli|randomuniform|training_dropout(?!_zero)")



def plain(value):
    if isinstance(value, TensorProto):
        return tensor_of(numpy_helper.to_array(value))
    if isinstance(value, onnx.SequenceProto):
        return [tensor_of(each) for each in numpy_helper.to_list(value)]
    if isinstance(value, onnx.OptionalProto):
        return plain(numpy_helper.to_optional(value))
    if isinstance(value, list):
        return [plain(each) for each in value]
    return None if value is None else tensor_of(np.asarray(value))


def failure(case):
    try:
        module = fl.onnx.load(case.model)
        for inputs, outputs in case.data_sets:
            with fl.no_grad():
                found = module(*map(plain, inputs))
            if not RANDOM.search(case.name):
                found = found if len(module.output_names) > 1 else (found,)
                assert_same(found, plain(outputs), case.rtol, max(case.atol, 1e-6))
    except Exception as error:
        return f"{case.name}: {str(error)[:300]}"
    return None


@pytest.mark.filterwarnings("ignore")
def test_the_tests_of_onnx_itself():
    from onnx.backend.test.loader import load_model_tests

    cases = [each for kind in ("node", "simple") for each in load_model_tests(kind=kind)
             if each.model is not None and not OUT_OF_SCOPE.search(each.name)]
    assert len(cases) > 1500
    failures = [each for each in map(failure, cases) if each]
    assert not failures, "\n".join(failures)


def ints(*numbers):
    return np.array(numbers, np.int64)


OLD = [
    one("Softmax", [2, 3, 4], 11, axis=1), one("LogSoftmax", [2, 3, 4], 9, axis=2),
    one("Hardmax", [2, 3, 4], 11, axis=1), one("Squeeze", [2, 3, 1], 11, axes=[2]),
    one("Unsqueeze", [2, 3, 4], 11, axes=[0, 3]), one("Clip", [2, 3, 4], 6, min=-0.5, max=0.5),
    one("ReduceSum", [2, 3, 4], 11, axes=[1], keepdims=0),
    one("ReduceMax", [2, 3, 4], 12, axes=[-1]), one("Pad", [2, 3, 4], 10, pads=[0, 1, 2, 0, 0, 1],
                                                     mode="reflect"),
    one("Slice", [2, 3, 4], 9, starts=[1, -3], ends=[3, -1], axes=[1, 2]),
    one("Split", [2, 4, 4], 11, axis=1, split=[4]), one("Dropout", [2, 3, 4], 10, ratio=0.3),
    one("Upsample", [1, 2, 4, 4], 9, [("s", np.array([1, 1, 2, 3], np.float32))]),
    one("Upsample", [1, 2, 4, 4], 9, [("s", np.array([1, 1, 2, 2], np.float32))], mode="linear"),
    one("Resize", [1, 2, 4, 4], 10, [("s", np.array([1, 1, 2, 3], np.float32))]),
    one("Flatten", [2, 3, 4], 9, axis=2),
    one("Expand", [2, 1, 4], 8, [("s", ints(2, 3, 1))]),
    one("GroupNormalization", [2, 4, 5], 21, [("s", np.ones(4, np.float32) * 2),
                                              ("b", np.ones(4, np.float32))], num_groups=2)]


@pytest.mark.parametrize("model", OLD, ids=lambda m: f"{m.graph.node[0].op_type}-"
                                                     f"{m.opset_import[0].version}")
def test_older_versions(model):
    shape = [each.dim_value for each in model.graph.input[0].type.tensor_type.shape.dim]
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    against_onnxruntime(model, x)


WINDOWS = [
    ("MaxPool", {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    ("MaxPool", {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [0, 1, 1, 0],
                 "ceil_mode": 1, "dilations": [2, 1]}),
    ("MaxPool", {"kernel_shape": [2, 2], "auto_pad": "SAME_LOWER", "strides": [2, 2]}),
    ("AveragePool", {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    ("AveragePool", {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [0, 1, 1, 0],
                     "count_include_pad": 1}),
    ("AveragePool", {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
    ("AveragePool", {"kernel_shape": [2, 3], "auto_pad": "SAME_UPPER"}),
    ("LpPool", {"kernel_shape": [2, 2], "p": 2}), ("GlobalAveragePool", {}),
    ("GlobalMaxPool", {}), ("LRN", {"size": 3}), ("LRN", {"size": 5, "bias": 2.0}),
    ("DepthToSpace", {"blocksize": 2}), ("DepthToSpace", {"blocksize": 2, "mode": "CRD"}),
    ("SpaceToDepth", {"blocksize": 1})]


@pytest.mark.parametrize(("op", "attributes"), WINDOWS)
def test_windows_as_onnxruntime(op, attributes):
    x = np.random.default_rng(2).standard_normal((2, 4, 7, 6)).astype(np.float32)
    against_onnxruntime(one(op, list(x.shape), 20, **attributes), x)


@pytest.mark.parametrize("attributes", [
    {"pads": [1, 1, 1, 1]}, {"pads": [0, 1, 2, 0], "strides": [2, 1]},
    {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, {"auto_pad": "SAME_LOWER"},
    {"group": 2, "dilations": [2, 1]}])
@pytest.mark.parametrize("op", ["Conv", "ConvTranspose"])
def test_convolutions_as_onnxruntime(op, attributes):
    draw = np.random.default_rng(3)
    x = draw.standard_normal((2, 4, 9, 8)).astype(np.float32)
    groups = attributes.get("group", 1)
    shape = (6, 4 // groups, 3, 2) if op == "Conv" else (4, 6 // groups, 3, 2)
    if op == "ConvTranspose" and attributes.get("auto_pad") and groups == 1:
        attributes = {**attributes, "strides": [2, 2]}
    held = [("w", draw.standard_normal(shape).astype(np.float32)),
            ("b", draw.standard_normal(6).astype(np.float32))]
    against_onnxruntime(one(op, list(x.shape), 11, held, **attributes), x, atol=1e-4)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("places", ["half_pixel", "align_corners", "asymmetric",
                                    "pytorch_half_pixel"])
@pytest.mark.parametrize("scale", [[1, 1, 2, 3], [1, 1, 0.5, 0.6]])
def test_resizing_as_onnxruntime(mode, places, scale):
    if places == "align_corners":
        scale = [1, 1, 2, 0.5]  # others' last elements are defined otherwise in onnxruntime
    x = np.random.default_rng(4).standard_normal((1, 2, 7, 6)).astype(np.float32)
    node = helper.make_node("Resize", ["x", "", "s"], ["y"], mode=mode,
                            coordinate_transformation_mode=places)
    model = model_of([node], [("x", 1, [1, 2, 7, 6])], [("y", 1, None)], 18,
                     [("s", np.array(scale, np.float32))])
    against_onnxruntime(model, x, atol=1e-4)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("more", [{}, {"lengths": True}, {"states": True}])
@pytest.mark.parametrize("op", ["LSTM", "GRU", "GRU-after", "RNN"])
def test_recurrent_networks_as_onnxruntime(op, direction, more):
    draw = np.random.default_rng(5)
    name, gates = op.split("-")[0], {"L": 4, "G": 3, "R": 1}[op[0]]
    d, hidden, steps, batch = 2 if direction == "bidirectional" else 1, 5, 6, 3
    held = [(n, draw.standard_normal(s).astype(np.float32)) for n, s in (
        ("w", (d, gates * hidden, 4)), ("r", (d, gates * hidden, hidden)),
        ("b", (d, 2 * gates * hidden)))]
    names = ["x", "w", "r", "b"]
    if more:
        held.append(("n", np.array([6, 2, 4], np.int32) if "lengths" in more else
                     np.full(batch, steps, np.int32)))
        names.append("n")
    if "states" in more:
        for state in ("h", "c") if name == "LSTM" else ("h",):
            held.append((state, draw.standard_normal((d, batch, hidden)).astype(np.float32)))
            names.append(state)
    attributes = {"linear_before_reset": 1} if op == "GRU-after" else {}
    if not more:
        attributes["activations"] = {"LSTM": ["HardSigmoid", "Tanh", "Relu"], "RNN": ["Relu"]}.get(
            name, ["Sigmoid", "Tanh"]) * d
    outputs = ["y", "y_h"] + ["y_c"] * (name == "LSTM")
    node = helper.make_node(name, names, outputs, hidden_size=hidden, direction=direction,
                            **attributes)
    model = model_of([node], [("x", 1, [steps, batch, 4])],
                     [(each, 1, None) for each in outputs], 20, held)
    against_onnxruntime(model, draw.standard_normal((steps, batch, 4)).astype(np.float32))


def test_what_was_written_is_read_back():
    model, x = network(), fl.randn(3, 1, 8, 8)
    read = fl.onnx.load(written(model, x, dynamic_axes={"x": {0: "n"}}))
    assert (read.input_names, read.output_names) == (("x",), ("y",))
    for n in (3, 1, 5):
        x = fl.randn(n, 1, 8, 8)
        assert_same(read(x), model(x))
        assert_same(read(x=x), model(x))
        assert_same(read({"x": x}), model(x))


def test_gradients_are_those_of_the_module():
    model, x = network(), fl.randn(3, 1, 8, 8)
    read = fl.onnx.load(written(model, x))
    ours, theirs = dict(read.named_parameters()), dict(model.named_parameters())
    model(x).square().sum().backward()
    read(x).square().sum().backward()
    assert {"0.weight", "5.weight"} <= ours.keys() & theirs.keys()
    for name in ours.keys() & theirs.keys():
        np.testing.assert_allclose(ours[name].grad.numpy(), theirs[name].grad.numpy(), rtol=1e-4,
                                   atol=1e-5)


def test_fine_tuning():
    read = fl.onnx.load(written(network(), fl.randn(4, 1, 8, 8)))
    x, y = fl.randn(4, 1, 8, 8), fl.tensor([1, 2, 3, 4])
    optimizer = fl.optim.SGD(read.parameters(), lr=0.1)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(read(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.2 * losses[0]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_their_own(copied):
    read, x = fl.onnx.load(written(network(), fl.randn(2, 1, 8, 8))), fl.randn(2, 1, 8, 8)
    other = copied(read)
    wanted = read(x)
    assert_same(other(x), wanted)
    with fl.no_grad():
        for each in other.parameters():
            each.zero_()
    assert_same(read(x), wanted)
    assert not other(x).any()
    read.load_state_dict(other.state_dict())
    assert not read(x).any()


def reshaping():
    """Sizes computed by operators, as exporters write `x.view(x.shape[0] * 3) + arange(n * 3)`."""
    nodes = [helper.make_node("Shape", ["x"], ["s"]),
             helper.make_node("Gather", ["s", "zero"], ["n"]),
             helper.make_node("Mul", ["n", "three"], ["whole"]),
             helper.make_node("Unsqueeze", ["whole", "first"], ["to"]),
             helper.make_node("Reshape", ["x", "to"], ["r"]),
             helper.make_node("Range", ["zero", "whole", "one"], ["i"]),
             helper.make_node("Cast", ["i"], ["f"], to=1),
             helper.make_node("Add", ["r", "f"], ["y"])]
    held = [("zero", np.array(0, np.int64)), ("one", np.array(1, np.int64)), ("first", ints(0)),
            ("three", np.array(3, np.int64))]
    return model_of(nodes, [("x", 1, ["n", 3])], [("y", 1, None)], 20, held)


def test_sizes_stay_symbols_in_programs():
    read = fl.onnx.load(reshaping())
    program = jit.trace(read, fl.ones(4, 3), dynamic={0: {0: "n"}})
    for n in (4, 8, 10):
        x = fl.randn(n, 3)
        assert_same(program(x), read(x))
    compiled = fl.compile(read)
    for n in (4, 8):
        x = fl.randn(n, 3)
        assert_same(compiled(x), read(x))


def test_threads_share_a_module():
    read, x = fl.onnx.load(written(network(), fl.randn(2, 1, 8, 8))), fl.randn(8, 2, 1, 8, 8)
    with fl.no_grad():
        wanted = [read(each) for each in x]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(read, list(x) * 5))
    assert_same(found, wanted * 5)


def test_branches_and_loops_see_values_around_them():
    body = helper.make_graph(
        [helper.make_node("Add", ["v", "x"], ["w"]), helper.make_node("Identity", ["c"], ["d"]),
         helper.make_node("Mul", ["w", "w"], ["e"])], "body",
        [helper.make_tensor_value_info("i", 7, []), helper.make_tensor_value_info("c", 9, []),
         helper.make_tensor_value_info("v", 1, [2])],
        [helper.make_tensor_value_info("d", 9, []), helper.make_tensor_value_info("w", 1, [2]),
         helper.make_tensor_value_info("e", 1, [2])])
    then = helper.make_graph([helper.make_node("Neg", ["x"], ["t"])], "then", [],
                             [helper.make_tensor_value_info("t", 1, [2])])
    other = helper.make_graph([helper.make_node("Loop", ["n", "", "x"], ["last", "all"],
                                                body=body),
                               helper.make_node("Identity", ["last"], ["o"])], "other", [],
                              [helper.make_tensor_value_info("o", 1, [2])])
    nodes = [helper.make_node("If", ["p"], ["y"], then_branch=then, else_branch=other)]
    model = model_of(nodes, [("x", 1, [2]), ("p", 9, [])], [("y", 1, [2])], 20,
                     [("n", np.array(3, np.int64))])
    x = np.array([1.5, -2], np.float32)
    against_onnxruntime(model, x, np.array(True))
    against_onnxruntime(model, x, np.array(False))


def test_a_function_of_the_model():
    function = helper.make_function(
        "own", "Twice", ["a"], ["b"], [
            helper.make_node("Constant", [], ["f"], value_float=2.0),
            helper.make_node("Mul", ["a", "f"], ["b"])], [helper.make_opsetid("", 20)])
    graph = helper.make_graph([helper.make_node("Twice", ["x"], ["y"], domain="own")], "g",
                              [helper.make_tensor_value_info("x", 1, [3])],
                              [helper.make_tensor_value_info("y", 1, [3])])
    model = helper.make_model(graph, functions=[function], ir_version=10, opset_imports=[
        helper.make_opsetid("", 20), helper.make_opsetid("own", 1)])
    assert fl.onnx.load(model)(fl.ones(3)).tolist() == [2, 2, 2]
