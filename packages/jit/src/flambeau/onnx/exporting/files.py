"""Models as files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import onnx


def ordered(model: Any, names: Sequence[str]) -> Any:
    """A model with its inputs in this order."""
    by_name = {each.name: each for each in model.graph.input}
    inputs = [by_name[name] for name in names if name in by_name]
    if len(inputs) == len(by_name):
        held = [onnx.ValueInfoProto.FromString(each.SerializeToString()) for each in inputs]
        del model.graph.input[:]
        model.graph.input.extend(held)
    return model


def with_inputs(model: Any, has_weights: bool, are_inputs: bool) -> Any:
    """A model whose weights are inputs as well, or inputs without values.

    Args:
        model: The model, which stays as it is.
        has_weights: Whether it has the weights; without them they are inputs.
        are_inputs: Whether weights are inputs that need not be given.
    """
    if has_weights and not are_inputs:
        return model
    made = onnx.ModelProto()
    made.CopyFrom(model)
    kept = []
    for each in made.graph.initializer:
        if each.name.startswith("constant"):        # what operators need, no weight
            kept.append(each)
            continue
        made.graph.input.append(onnx.helper.make_tensor_value_info(
            each.name, each.data_type, list(each.dims)))
        if has_weights:
            kept.append(each)
    held = [onnx.TensorProto.FromString(each.SerializeToString()) for each in kept]
    del made.graph.initializer[:]
    made.graph.initializer.extend(held)
    return made


def save(model: Any, f: Any, beside: bool = False) -> None:
    """Write a model to a path or a file that is open.

    Args:
        model: The model.
        f: A path, or what has ``write``.
        beside: Whether tensors lie in ``NAME.data`` beside the file, as those above 2 GB do.
    """
    if hasattr(f, "write"):
        f.write(model.SerializeToString())
        return
    path = os.fspath(f)
    if not beside and model.ByteSize() < 2**31:
        onnx.save(model, path)
        return
    copied = onnx.ModelProto()
    copied.CopyFrom(model)
    data = os.path.basename(path) + ".data"
    target = os.path.join(os.path.dirname(path), data)
    if os.path.exists(target):
        os.remove(target)
    onnx.save(copied, path, save_as_external_data=True, location=data, size_threshold=1024)
