"""Small ONNX models, and what onnxruntime computes with them."""

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import flambeau as fl
from flambeau import nn

#: bfloat16 and float16 rounded at other places than in ONNX's reference: one unit in the last
#: place, or two after a sum.
ROUNDINGS = {fl.bfloat16: 2**-6, fl.float16: 2**-9}


def assert_same(found, wanted, rtol=1e-5, atol=1e-6):
    if isinstance(wanted, list | tuple):
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted, strict=True):
            assert_same(a, b, rtol, atol)
        return
    wanted = wanted if isinstance(wanted, fl.Tensor) else fl.from_numpy(np.asarray(wanted))
    assert (tuple(found.shape), found.dtype) == (tuple(wanted.shape), wanted.dtype)
    rtol = max(rtol, ROUNDINGS.get(found.dtype, 0))
    found = found.detach()
    wanted = wanted.detach()
    if found.dtype.itemsize <= 2 and found.is_floating_point():
        found, wanted = found.float(), wanted.float()
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=rtol, atol=atol)


def model_of(nodes, inputs, outputs, opset=20, held=(), **more):
    def info(entry):
        name, number, shape = entry
        return helper.make_tensor_value_info(name, number, shape)

    graph = helper.make_graph(list(nodes), "g", [info(each) for each in inputs],
                              [info(each) for each in outputs],
                              [numpy_helper.from_array(value, name) for name, value in held],
                              **more)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                             ir_version=min(10, 8 if opset < 20 else 10))


def against_onnxruntime(model, *arrays, rtol=1e-5, atol=1e-5):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1    # LSTMs of bytes have a scale for each thread's sequences
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    wanted = session.run(None, dict(zip([each.name for each in session.get_inputs()], arrays,
                                        strict=True)))
    module = fl.onnx.load(model)
    with fl.no_grad():
        found = module(*(fl.from_numpy(np.array(each)) for each in arrays))
    assert_same(found if len(wanted) > 1 else (found,), wanted, rtol, atol)


def one(op, shape, opset, held=(), out=None, kind=TensorProto.FLOAT, **attributes):
    """A model of one node on an input of float32."""
    names = ["x", *(name for name, _ in held)]
    node = helper.make_node(op, names, ["y"], **attributes)
    return model_of([node], [("x", TensorProto.FLOAT, shape)], [("y", kind, out)], opset, held)


def network():
    return nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 10)).eval()


def written(model, x, **more):
    return fl.onnx.export(model, x, input_names=["x"], output_names=["y"], **more)
