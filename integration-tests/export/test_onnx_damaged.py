"""Models of ONNX that are damaged, or want files beside them: errors, and no more."""

import numpy as np
import pytest

import flambeau as fl

onnx = pytest.importorskip("onnx", reason="needs onnx")
pytest.importorskip("onnxruntime", reason="needs onnxruntime")
from onnx import TensorProto, helper  # noqa: E402
from onnx_models import assert_same, model_of, network, one, written  # noqa: E402


def test_data_in_further_files(tmp_path):
    model, x = network(), fl.randn(2, 1, 8, 8)
    onnx.save(written(model, x), tmp_path / "m.onnx", save_as_external_data=True,
              location="m.data", size_threshold=0)
    assert_same(fl.onnx.load(tmp_path / "m.onnx")(x), model(x))
    (tmp_path / "m.data").unlink()
    with pytest.raises(fl.onnx.ImportedError, match=r"m\.data"):
        fl.onnx.load(tmp_path / "m.onnx")


@pytest.mark.parametrize("location", ["../secret", "/etc/hostname", "a/../../secret"])
def test_data_outside_of_the_folder_is_refused(tmp_path, location):
    (tmp_path / "secret").write_bytes(bytes(16))
    inside = tmp_path / "inside"
    inside.mkdir()
    model = one("Add", [4], 20, [("w", np.ones(4, np.float32))])
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    (inside / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(fl.onnx.ImportedError):
        fl.onnx.load(inside / "m.onnx")


def test_damaged_models_are_refused():
    data = written(network(), fl.randn(2, 1, 8, 8)).SerializeToString()
    draw, x, refused = np.random.default_rng(6), fl.zeros(2, 1, 8, 8), 0
    for k in range(300):
        damaged = bytearray(data[:int(draw.integers(len(data)))] if k % 3 == 0 else data)
        for _ in range(int(draw.integers(1, 6)) if k % 3 else 0):
            damaged[int(draw.integers(600 if k % 2 else len(data)))] = int(draw.integers(256))
        try:
            module = fl.onnx.load(bytes(damaged))
        except fl.onnx.OnnxError:
            refused += 1
            continue
        try:
            module(x)
        except RuntimeError:
            refused += 1
    assert refused > 100


def test_an_error_names_the_node():
    model = one("Concat", [2, 3], 20, [("w", np.ones((2, 3), np.float32))], axis=7)
    model.graph.node[0].name = "join"
    assert "Concat (join): IndexError" in refusal(model, fl.ones(2, 3))
    missing = one("DepthToSpace", [1, 4, 2, 2], 20, blocksize=0)
    assert "DepthToSpace: ZeroDivisionError" in refusal(missing, fl.ones(1, 4, 2, 2))


def refusal(model, *inputs):
    with pytest.raises((fl.onnx.ImportedError, TypeError)) as caught:
        fl.onnx.load(model)(*inputs)
    return str(caught.value)


def test_errors_say_what_is_wrong():
    unknown = one("Add", [4], 20, [("w", np.ones(4, np.float32))])
    unknown.graph.node[0].domain = "com.example"
    unknown.opset_import.append(helper.make_opsetid("com.example", 1))
    assert "com.example:Add" in refusal(unknown)
    fine = one("Add", [4], 20, [("w", np.ones(4, np.float32))])
    assert "takes 1 inputs (x), not 2" in refusal(fine, fl.ones(4), fl.ones(4))
    assert "'x' is missing" in refusal(fine)
    assert "use .to(flambeau.float32)" in refusal(fine, fl.ones(4, dtype=fl.float64))
    assert "no valid ONNX model" in refusal(b"nonsense")
    text = model_of([helper.make_node("Identity", ["x"], ["y"])], [("x", 8, [2])],
                    [("y", 8, [2])])
    assert "STRING" in refusal(text, fl.ones(2))


def test_inference_that_crashes_ends_no_process(monkeypatch):
    from flambeau.onnx.importing import inference

    model = onnx.helper.make_model(onnx.helper.make_graph(
        [onnx.helper.make_node("Relu", ["x"], ["y"])], "g",
        [onnx.helper.make_tensor_value_info("x", 1, [2])],
        [onnx.helper.make_tensor_value_info("y", 1, None)]))
    worker = inference._Worker()
    assert worker.inferred(model).graph.output[0].type.tensor_type.shape.dim[0].dim_value == 2
    monkeypatch.setattr(inference, "_WORKER", "import os; os.abort()")
    broken = inference._Worker()
    assert broken.inferred(model) is None and broken.inferred(model) is None
    assert worker.inferred(model) is not None
    worker.end()
