"""Models in files of GGUF, read through the package gguf."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

import flambeau
from flambeau import Tensor

from .weight_only import QuantizedWeight, pack_int4


@dataclass(frozen=True)
class GGUF:
    """What a file of GGUF holds.

    Args:
        metadata: Architecture, sizes, words and what else the writer noted, by key.
        tensors: Tensors by name, as PyTorch has them (rows first); matrices of quantized types
            as :class:`QuantizedWeight`.
    """

    metadata: dict[str, Any]
    tensors: dict[str, Tensor | QuantizedWeight]


def load_gguf(path: str | PathLike[str], keep_quantized: bool = True) -> GGUF:
    """Read a model of GGUF, with ``pip install 'flambeau-nn[gguf]'``.

    Args:
        path: The file.
        keep_quantized: Matrices of the types Q4_0, Q4_1, Q4_K, Q5_0, Q5_1 and Q8_0 stay in four or
            eight bits, which loses nothing. False gives float32, as other types do that the
            package knows.

    Returns:
        Metadata and tensors.

    Raises:
        ImportError: The package gguf is missing.
        ValueError: The file is damaged, or no file of GGUF.
        NotImplementedError: It has a tensor of a type that the package cannot read.

    The format is that of https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
    """
    try:
        import gguf
    except ImportError as error:
        raise ImportError("load_gguf() needs the package gguf: pip install 'flambeau-nn[gguf]'"
                          ) from error
    with open(path, "rb"):      # what is wrong with the path is not wrong with its contents
        pass
    try:
        reader: Any = gguf.GGUFReader(path)
        metadata = {name: field.contents() for name, field in reader.fields.items()}
    except (ValueError, IndexError, KeyError, OverflowError, MemoryError, TypeError) as error:
        raise ValueError(f"load_gguf(): {path} is no whole file of GGUF: {error}") from error
    tensors = {t.name: _tensor(t, keep_quantized, gguf) for t in reader.tensors}
    return GGUF(metadata, tensors)


def _tensor(entry: Any, keep_quantized: bool, gguf: Any) -> Tensor | QuantizedWeight:
    kind, shape = entry.tensor_type.name, tuple(int(n) for n in reversed(entry.shape))
    data = np.array(entry.data)                 # the file may go
    if kind == "BF16":
        bits = flambeau.from_numpy(data.view(np.int16).reshape(shape))
        result: Tensor = bits.view(flambeau.bfloat16)
        return result
    if kind in ("F32", "F16", "F64", "I8", "I16", "I32", "I64"):
        return flambeau.from_numpy(data.reshape(shape))
    if keep_quantized and kind in _KEPT and len(shape) == 2:
        _, size = gguf.GGML_QUANT_SIZES[entry.tensor_type]
        return _KEPT[kind](data.reshape(shape[0], -1, size), shape[1])
    try:
        return flambeau.from_numpy(gguf.quants.dequantize(data, entry.tensor_type).reshape(shape))
    except NotImplementedError as error:
        raise NotImplementedError(f"load_gguf(): {entry.name!r} has the type {kind}, which the "
                                  "package gguf does not read") from error


# Each takes blocks of bytes, (rows, blocks of a row, bytes of a block), and the columns.
def _half(blocks: np.ndarray, at: int) -> np.ndarray:
    """The number at these two bytes of each block."""
    return np.ascontiguousarray(blocks[:, :, at:at + 2]).view(np.float16)[:, :, 0]


def _weight(values: Tensor, scales: np.ndarray, offsets: np.ndarray | None, columns: int
            ) -> QuantizedWeight:
    shifts = None if offsets is None else flambeau.from_numpy(offsets)
    group = 0 if scales.shape[1] == 1 else 32
    return QuantizedWeight(values, flambeau.from_numpy(scales), shifts, group, columns)


def _bytes(blocks: np.ndarray, at: int, dtype: type) -> Tensor:
    part = np.ascontiguousarray(blocks[:, :, at:])
    return flambeau.from_numpy(part.reshape(len(blocks), -1).view(dtype))


def _q8_0(blocks: np.ndarray, columns: int) -> QuantizedWeight:
    return _weight(_bytes(blocks, 2, np.int8), _half(blocks, 0), None, columns)


def _q4_0(blocks: np.ndarray, columns: int) -> QuantizedWeight:
    return _weight(_bytes(blocks, 2, np.uint8), _half(blocks, 0), None, columns)


def _q4_1(blocks: np.ndarray, columns: int) -> QuantizedWeight:
    return _weight(_bytes(blocks, 4, np.uint8), _half(blocks, 0), _half(blocks, 2), columns)


def _five_bits(blocks: np.ndarray, at: int) -> np.ndarray:
    """32 numbers of each block: four bits, and a fifth bit before them."""
    fifth = np.unpackbits(blocks[:, :, at:at + 4], axis=2, bitorder="little")
    low = blocks[:, :, at + 4:]
    four = np.concatenate([low & 15, low >> 4], 2)
    return (four | fifth << 4).reshape(len(blocks), -1).astype(np.int8)


def _q5_0(blocks: np.ndarray, columns: int) -> QuantizedWeight:
    whole = flambeau.from_numpy(_five_bits(blocks, 2) - np.int8(16))
    return _weight(whole, _half(blocks, 0), None, columns)


def _q5_1(blocks: np.ndarray, columns: int) -> QuantizedWeight:
    whole = flambeau.from_numpy(_five_bits(blocks, 4))
    return _weight(whole, _half(blocks, 0), _half(blocks, 2), columns)


def _q4_k(blocks: np.ndarray, columns: int) -> QuantizedWeight:
    """Eight groups of 32 share two numbers, by which their factors of six bits are multiplied."""
    rows = len(blocks)
    factors = blocks[:, :, 4:16]
    first, second, third = factors[:, :, :4], factors[:, :, 4:8], factors[:, :, 8:]
    scales = np.concatenate([first & 63, third & 15 | first >> 6 << 4], 2)
    least = np.concatenate([second & 63, third >> 4 | second >> 6 << 4], 2)
    large = _half(blocks, 0)[:, :, None].astype(np.float32) * scales
    small = _half(blocks, 2)[:, :, None].astype(np.float32) * least
    fours = blocks[:, :, 16:].reshape(rows, -1, 4, 1, 32)
    whole = np.concatenate([fours & 15, fours >> 4], 3).reshape(rows, -1)
    return _weight(pack_int4(flambeau.from_numpy(whole)), large.reshape(rows, -1),
                   -small.reshape(rows, -1), columns)


_KEPT: dict[str, Callable[[np.ndarray, int], QuantizedWeight]] = {
    "Q8_0": _q8_0, "Q4_0": _q4_0, "Q4_1": _q4_1, "Q5_0": _q5_0, "Q5_1": _q5_1, "Q4_K": _q4_k}
