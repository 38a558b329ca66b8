"""Sample arguments as tensors of a device, with the layout that the arrays have, and back."""
from __future__ import annotations

import numpy as np

import flambeau
from flambeau.core import _core
from flambeau.testing.arrays import dtype_name, from_bfloat16, host_memory


def to_tensor(array: np.ndarray, device: str, dtype: str | None = None):
    """A tensor with an array's values and strides.

    Args:
        array: The values; a view is rebuilt as a view of its base.
        device: Where the tensor lives.
        dtype: Name of the dtype, where it is not the array's (``"bfloat16"``).
    """
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    if not root.flags.c_contiguous:     # in Fortran's order, or with gaps
        root = root.T if root.flags.f_contiguous else np.ascontiguousarray(array)
        array = array if np.shares_memory(root, array) or not array.size else root
    tensor = flambeau.from_numpy(np.array(root))
    if dtype is not None and dtype_name(tensor.dtype) != dtype:
        tensor = tensor.to(getattr(flambeau, dtype))
    tensor = tensor.to(device)
    if root.shape == array.shape and root.strides == array.strides:
        return tensor
    offset = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    strides = [step // array.itemsize for step in array.strides]
    return tensor.as_strided(array.shape, strides, offset // array.itemsize)


def to_values(arg, device: str, dtype: str):
    """A sample argument as a definition takes it: arrays become tensors, also inside tuples."""
    if isinstance(arg, np.ndarray):
        half = dtype if dtype == "bfloat16" and arg.dtype == np.float32 else None
        return to_tensor(arg, device, half)
    if isinstance(arg, str) and arg.startswith("dtype:"):
        return getattr(flambeau, arg[6:])
    if isinstance(arg, tuple):
        return tuple(to_values(a, device, dtype) for a in arg)
    return arg


def to_array(tensor) -> np.ndarray:
    """A tensor's values; bfloat16 as float32."""
    host = tensor.detach().cpu().contiguous()
    bits = host_memory(host)
    return from_bfloat16(bits) if dtype_name(host.dtype) == "bfloat16" else bits


def results_of(key: str, args, device: str, dtype: str) -> list:
    """Run a definition on a device; its outputs as (array, dtype name)."""
    flambeau.manual_seed(1)
    made = _core.call(key, [to_values(a, device, dtype) for a in args])
    made = list(made) if isinstance(made, (tuple, list)) else [made]
    for tensor in made:
        assert tensor.device.type == device, f"{key} gave a result on {tensor.device}"
    return [(to_array(t), dtype_name(t.dtype)) for t in made]
