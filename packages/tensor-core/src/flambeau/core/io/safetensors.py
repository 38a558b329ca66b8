"""The safetensors format: a JSON header with names, dtypes and offsets, then the bytes."""
from __future__ import annotations

import json
import struct

from flambeau.core import _core
from flambeau.core.io.errors import FileError
from flambeau.core.io.memory import over_bytes
from flambeau.core.io.sources import Source

_NAMES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16",
          "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8",
          "U16": "uint16", "U32": "uint32", "U64": "uint64", "BOOL": "bool", "C64": "complex64",
          "C128": "complex128", "C32": "complex32", "F8_E4M3": "float8_e4m3fn",
          "F8_E5M2": "float8_e5m2", "F8_E4M3FNUZ": "float8_e4m3fnuz",
          "F8_E5M2FNUZ": "float8_e5m2fnuz", "F8_E8M0": "float8_e8m0fnu"}
_CODES = {v: k for k, v in _NAMES.items()}
_MAX_HEADER = 100_000_000
_MAX_DIMS = 32


def _header(tensors: dict, metadata: dict) -> bytes:
    entries = {"__metadata__": metadata} if metadata else {}
    start = 0
    for name, x in tensors.items():
        end = start + x.nbytes
        entries[name] = {"dtype": _CODES[x.dtype.name], "shape": list(x.shape),
                         "data_offsets": [start, end]}
        start = end
    text = json.dumps(entries, separators=(",", ":")).encode()
    return text + b" " * (-len(text) % 8)


def write_tensors(file, tensors: dict, metadata: dict | None = None) -> None:
    """Write named tensors in safetensors format to an open binary file."""
    header = _header(tensors, metadata or {})
    file.write(struct.pack("<Q", len(header)))
    file.write(header)
    for x in tensors.values():     # one after the other: no more than one copy at a time
        file.write(_core.raw_bytes(x.detach().cpu().contiguous()))


def _fail(what: str):
    raise FileError(f"load(): {what}; the file is damaged or not a safetensors file")


def _read_header(source: Source) -> tuple[dict, int]:
    if source.size < 8:
        _fail(f"only {source.size} bytes")
    size, = struct.unpack("<Q", source.part(0, 8))
    if size > _MAX_HEADER or 8 + size > source.size:
        _fail(f"a header of {size} bytes does not fit a file of {source.size} bytes")
    try:
        header = json.loads(bytes(source.part(8, 8 + size)), object_pairs_hook=_no_twice)
    except (ValueError, RecursionError) as error:
        _fail(f"the header is not JSON ({error})")
    if not isinstance(header, dict):
        _fail("the header is not a JSON object")
    return header, 8 + size


def _no_twice(pairs):
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name occurs twice")
    return made


def _read_metadata(metadata) -> dict[str, str]:
    if not isinstance(metadata, dict) or not all(type(v) is str for v in metadata.values()):
        _fail("__metadata__ is not an object of strings")
    return metadata


def _read_entry(name: str, entry, room: int) -> tuple[str, tuple[int, ...], int, int]:
    try:
        dtype = _NAMES[entry["dtype"]]
        shape = tuple(entry["shape"])
        start, end = entry["data_offsets"]
    except (KeyError, TypeError, ValueError):
        _fail(f"the entry of {name!r} is incomplete")
    numbers = (*shape, start, end)
    if any(type(n) is not int or n < 0 for n in numbers) or not start <= end <= room:
        _fail(f"the entry of {name!r} points outside the file")
    if len(shape) > _MAX_DIMS:
        _fail(f"the entry of {name!r} has {len(shape)} dimensions; {_MAX_DIMS} are the limit")
    count = 1
    for size in shape:
        count *= size
    if count * _core._dtype_named(dtype).itemsize != end - start:
        _fail(f"the entry of {name!r} has {end - start} bytes for shape {list(shape)} of {dtype}")
    return dtype, shape, start, end


def read_tensors(view: memoryview) -> tuple[dict, dict]:
    """Named tensors and metadata of a safetensors file, over the memory of ``view``."""
    return read_source(Source(view))


def read_source(source: Source) -> tuple[dict, dict]:
    """Named tensors and metadata of a safetensors file."""
    header, base = _read_header(source)
    metadata = _read_metadata(header.pop("__metadata__", {}))
    room = source.size - base
    entries = {name: _read_entry(name, entry, room) for name, entry in header.items()}
    _check_cover(sorted(entry[2:] for entry in entries.values()), room)
    tensors = {}
    for name, (dtype, shape, start, end) in entries.items():
        part = source.part(base + start, base + end)
        tensors[name] = over_bytes(part, _core._dtype_named(dtype)).view(shape)
    return tensors, metadata


def _check_cover(spans: list[tuple[int, int]], room: int) -> None:
    at = 0
    for start, end in spans:
        if start != at:
            _fail(f"tensors overlap or leave a gap at byte {at}")
        at = end
    if at != room:
        _fail(f"{room - at} bytes belong to no tensor")
