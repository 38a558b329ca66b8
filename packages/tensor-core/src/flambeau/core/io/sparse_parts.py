"""Sparse and quantized tensors in files: their parts, which are dense, and what to know of them."""
from __future__ import annotations

from typing import Any

import flambeau.core.io.quantized_parts as quantized
from flambeau.core import _core, layouts
from flambeau.core.io.errors import fail


def parts_of(x: Any) -> list[tuple[str, Any]]:
    """The dense tensors of a sparse one, by name.

    Args:
        x: A sparse tensor of any layout, or a quantized one.
    """
    if x.is_quantized:
        return quantized.parts_of(x)
    if not str.__str__(x.layout).startswith("sparse_"):
        raise TypeError(f"save(): a {type(x).__name__} is not written to files: save what it is "
                        "made of, e.g. x.get_data() and x.get_mask(), or x.unbind()")
    names = ("indices",) if x.is_sparse else ("compressed_indices", "plain_indices")
    return [*zip(names, x._parts(), strict=True), ("values", x.detach()._values())]


def facts_of(x: Any) -> list[Any]:
    """The layout's name, the shape, and whether the tensor is coalesced.

    Args:
        x: A sparse tensor of any layout, or a quantized one, of which other things are to be known.
    """
    if x.is_quantized:
        return quantized.facts_of(x)
    return [str.__str__(x.layout), list(x.shape), bool(x.is_sparse and x.is_coalesced())]


def joined(facts: Any, parts: Any) -> Any:
    """The tensor of these parts; damaged ones are refused.

    Args:
        facts: What `facts_of` gave.
        parts: Dense tensors, in the order of `parts_of`.
    """
    from flambeau import sparse

    if isinstance(facts, list) and facts[:1] == [quantized.KIND]:
        return quantized.joined(facts, parts)
    kind, sizes, _ = facts if isinstance(facts, list) and len(facts) == 3 else (None, None, None)
    if type(kind) is not str or not isinstance(sizes, tuple | list) or \
            any(type(n) is not int for n in sizes):
        fail("a sparse tensor of the file has no layout or shape; the file is damaged")
    for part in parts:
        if not isinstance(part, _core.Tensor) or _core.is_sparse_object(part):
            fail("a part of a sparse tensor is no dense tensor; the file is damaged")
        if not part.is_meta and \
                part.numel() * part.dtype.itemsize > part.untyped_storage().nbytes():
            fail("a part of a sparse tensor repeats its elements; the file is damaged")
    try:
        name, shape, coalesced = facts
        if name == "sparse_coo":
            indices, values = parts
            return sparse.sparse_coo_tensor(indices, values, tuple(shape), is_coalesced=coalesced)
        compressed, plain, values = parts
        return sparse.sparse_compressed_tensor(compressed, plain, values, tuple(shape),
                                               layout=layouts.layout_named(name))
    except (IndexError, RuntimeError, TypeError, ValueError) as error:
        fail(f"a sparse tensor of the file is damaged: {error}")


def layout_of_pytorch(name: Any) -> str:
    """The name of a layout that a checkpoint of PyTorch writes as ``torch.sparse_coo``.

    Args:
        name: What the checkpoint says.
    """
    if type(name) is not str:
        fail("a layout of the checkpoint has no name; the file is damaged")
    return name.removeprefix("torch.")


def rebuilt(kind: Any, parts: Any) -> Any:
    """A sparse tensor of a checkpoint of PyTorch.

    Args:
        kind: The layout's name.
        parts: Dense tensors, the shape, and in coordinate format whether it is coalesced.
    """
    if type(parts) is not tuple or not 3 <= len(parts) <= 4:
        fail("a sparse tensor of the checkpoint lacks parts; the file is damaged")
    coo = kind == "sparse_coo"
    coalesced = parts[3] if coo and len(parts) == 4 else None
    shape, dense = (parts[2], parts[:2]) if coo else (parts[-1], parts[:-1])
    return joined([kind, shape, coalesced], dense)
