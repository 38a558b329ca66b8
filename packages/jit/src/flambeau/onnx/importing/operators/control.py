"""Branches and loops: Python's own."""

from __future__ import annotations

from typing import Any

import flambeau as fl
from flambeau.onnx.importing.table import Call, computes
from flambeau.onnx.importing.values import Host, as_tensor, numbers_of


def _number(value: Any) -> Any:
    found = numbers_of(value)
    while isinstance(found, list):
        (found,) = found
    return found


@computes("If", raw=True, placed=True)
def branch(call: Call, condition: Any) -> tuple[Any, ...]:
    """One of two subgraphs."""
    plan = call.get("then_branch" if _number(condition) else "else_branch")
    return tuple(plan.call(call.env))


@computes("Loop", raw=True, placed=True)
def loop(call: Call, most: Any = None, condition: Any = None, *state: Any) -> tuple[Any, ...]:
    """A subgraph while a condition holds; some of its results are collected."""
    plan, env, device = call.get("body"), call.env, call.device
    limit = None if most is None else _number(most)
    goes_on = True if condition is None else bool(_number(condition))
    carried = list(state)
    collected: list[list[Any]] = [[] for _ in plan.outputs[1 + len(state):]]
    k = 0
    while goes_on and (limit is None or k < limit):
        known = condition if condition is not None else fl.tensor(True)
        condition, *found = plan.call(env, Host(k, fl.int64), known, *carried)
        carried = found[:len(state)]
        for held, each in zip(collected, found[len(state):], strict=True):
            held.append(as_tensor(each, device))
        goes_on = bool(_number(condition)) if isinstance(condition, fl.Tensor | Host) else True
        k += 1
    return (*carried, *(fl.stack(each) if each else fl.zeros(0) for each in collected))


@computes("Scan", raw=True, placed=True)
def scan(call: Call, *values: Any) -> tuple[Any, ...]:
    """A subgraph for each slice of its inputs."""
    if call.opset < 9:
        return _old_scan(call, *values)
    plan, count = call.get("body"), call.get("num_scan_inputs")
    held = len(values) - count
    axes = call.get("scan_input_axes") or [0] * count
    turned = call.get("scan_input_directions") or [0] * count
    env, device = call.env, call.device
    state, inputs = list(values[:held]), []
    for each, axis, back in zip(values[held:], axes, turned, strict=True):
        parts = list(as_tensor(each, device).unbind(axis))
        inputs.append(parts[::-1] if back else parts)
    outputs: list[list[Any]] = [[] for _ in plan.outputs[held:]]
    for slices in zip(*inputs, strict=True):
        found = plan.call(env, *state, *slices)
        state = found[:held]
        for kept, each in zip(outputs, found[held:], strict=True):
            kept.append(as_tensor(each, device))
    axes = call.get("scan_output_axes") or [0] * len(outputs)
    turned = call.get("scan_output_directions") or [0] * len(outputs)
    return (*state, *(fl.stack(each[::-1] if back else each, axis)
                      for each, axis, back in zip(outputs, axes, turned, strict=True)))


def _old_scan(call: Call, lengths: Any, *values: Any) -> tuple[Any, ...]:
    """Version 8: for each sample of a batch."""
    if lengths is not None:
        raise call.refuse("sequence_lens of version 8 is not read")
    env, device = call.env, call.device
    tensors = [as_tensor(each, device) for each in values]
    inner = Call(call.op, call.name, 9, {
        "body": call.get("body"), "num_scan_inputs": call.get("num_scan_inputs"),
        "scan_input_directions": call.get("directions")}, call.outputs, env, device)
    rows = [scan(inner, *(each[k] for each in tensors)) for k in range(tensors[0].shape[0])]
    return tuple(fl.stack([as_tensor(row[j], device) for row in rows])
                 for j in range(len(rows[0])))
