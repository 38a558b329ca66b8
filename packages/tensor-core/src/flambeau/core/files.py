"""Saving and loading: safetensors files, never pickle.

A file holds tensors by name, and in its metadata the JSON description of the nested structure
they come from (dicts, lists, tuples, numbers, strings, None). It is written beside its final
place, flushed to disk and renamed, so that a crash leaves the old file.
"""
from __future__ import annotations

import json
import mmap as mapping
import os
import struct
import tempfile

from flambeau.core import _core

_NAMES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16",
          "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8",
          "U16": "uint16", "U32": "uint32", "U64": "uint64", "BOOL": "bool", "C64": "complex64",
          "C128": "complex128"}
_CODES = {v: k for k, v in _NAMES.items()}
_MAX_HEADER = 100_000_000
_MAX_DIMS = 32
_TREE = "flambeau.tree"


class FileError(ValueError):
    """A file that is not what it should be; the text says where."""


# ---- structure ------------------------------------------------------------


def _encode(obj, path: str, tensors: dict, seen: dict):
    """Replace tensors by references and containers by tagged JSON."""
    if isinstance(obj, _core.Tensor):
        key = (_core.storage_id(obj), obj.storage_offset(), tuple(obj.shape), obj.stride(),
               obj.dtype.name)
        if key not in seen:
            seen[key] = path or "value"
            tensors[seen[key]] = obj
        return {"t": seen[key]}
    if obj is None or isinstance(obj, (bool, int, str)):
        return {"v": obj}
    if isinstance(obj, float):
        return {"f": obj.hex() if obj == obj and abs(obj) != float("inf") else str(obj)}
    if isinstance(obj, (list, tuple)):
        kind = "l" if isinstance(obj, list) else "u"
        return {kind: [_encode(x, _join(path, i), tensors, seen) for i, x in enumerate(obj)]}
    if isinstance(obj, dict):
        return {"d": [[_key(k, path), _encode(v, _join(path, k), tensors, seen)]
                      for k, v in obj.items()]}
    raise TypeError(f"save(): cannot store {type(obj).__name__} at {path or 'the top'}; files hold "
                    "tensors, numbers, strings, None, lists, tuples and dicts")


def _join(path: str, part) -> str:
    return f"{path}.{part}" if path else str(part)


def _key(key, path: str):
    if isinstance(key, (str, int)) and not isinstance(key, bool):
        return key
    raise TypeError(f"save(): dict keys must be str or int, got {key!r} at {path or 'the top'}")


def _decode(node, tensors: dict):
    if not isinstance(node, dict) or len(node) != 1:
        raise FileError("load(): the structure description is damaged")
    (kind, value), = node.items()
    if kind == "t":
        if value not in tensors:
            raise FileError(f"load(): the structure names a tensor {value!r} that is not there")
        return tensors[value]
    if kind == "v":
        return value
    if kind == "f":
        return float(value) if value in ("nan", "inf", "-inf") else float.fromhex(value)
    if kind in "lu":
        items = [_decode(x, tensors) for x in value]
        return items if kind == "l" else tuple(items)
    if kind == "d":
        return {k: _decode(v, tensors) for k, v in value}
    raise FileError(f"load(): unknown kind {kind!r} in the structure description")


# ---- bytes ------------------------------------------------------------


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
    plain = {name: x.detach().cpu().contiguous() for name, x in tensors.items()}
    header = _header(plain, metadata or {})
    file.write(struct.pack("<Q", len(header)))
    file.write(header)
    for x in plain.values():
        file.write(_core.raw_bytes(x))


def _fail(what: str):
    raise FileError(f"load(): {what}; the file is damaged or not a safetensors file")


def _read_header(view: memoryview) -> tuple[dict, int]:
    if len(view) < 8:
        _fail(f"only {len(view)} bytes")
    size, = struct.unpack_from("<Q", view)
    if size > _MAX_HEADER or 8 + size > len(view):
        _fail(f"a header of {size} bytes does not fit a file of {len(view)} bytes")
    try:
        header = json.loads(bytes(view[8:8 + size]), object_pairs_hook=_no_twice)
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
    header, base = _read_header(view)
    metadata = _read_metadata(header.pop("__metadata__", {}))
    tensors, spans = {}, []
    for name, entry in header.items():
        dtype, shape, start, end = _read_entry(name, entry, len(view) - base)
        spans.append((start, end))
        flat = _core.frombuffer(view[base + start:base + end], dtype=_core._dtype_named(dtype)) \
            if end > start else _core.operators()["empty"]((0,), dtype=_core._dtype_named(dtype))
        tensors[name] = flat.view(shape)
    _check_cover(sorted(spans), len(view) - base)
    return tensors, metadata


def _check_cover(spans: list[tuple[int, int]], room: int) -> None:
    at = 0
    for start, end in spans:
        if start != at:
            _fail(f"tensors overlap or leave a gap at byte {at}")
        at = end
    if at != room:
        _fail(f"{room - at} bytes belong to no tensor")


# ---- paths ------------------------------------------------------------


def replace_atomically(path, write) -> None:
    """Call ``write(file)`` on a temporary file, flush it to disk, and rename it to ``path``."""
    path = os.fspath(path)
    folder = os.path.dirname(os.path.abspath(path))
    handle, temporary = tempfile.mkstemp(prefix=".saving-", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    _sync_folder(folder)


def _sync_folder(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def save(obj, f) -> None:
    """Save tensors and the structure that holds them.

    Args:
        obj: A tensor, or nested dicts, lists and tuples of tensors, numbers, strings and None.
        f: Path, or a binary file open for writing.

    Raises:
        TypeError: something that a file cannot hold, such as a function.

    Example:
        >>> import flambeau, tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "x.safetensors")
        >>> flambeau.save({"weight": flambeau.ones(2), "step": 3}, path)
        >>> flambeau.load(path)
        {'weight': tensor([1., 1.]), 'step': 3}
    """
    tensors: dict = {}
    tree = _encode(obj, "", tensors, {})
    metadata = {"format": "flambeau", _TREE: json.dumps(tree, separators=(",", ":"))}
    if hasattr(f, "write"):
        write_tensors(f, tensors, metadata)
        return
    replace_atomically(f, lambda file: write_tensors(file, tensors, metadata))


def load(f, map_location=None, *, mmap: bool = False, weights_only: bool = True):
    """Load what ``save`` wrote, or any safetensors file as a dict of tensors.

    Args:
        f: Path, or a binary file open for reading.
        map_location: Device of the tensors; the CPU when left out.
        mmap: Keep the file mapped and the tensors read-only, instead of reading it all.
        weights_only: Accepted for compatibility: files never hold code.

    Raises:
        FileError: the file is damaged or not a safetensors file.
    """
    view = _open(f, mmap)
    tensors, metadata = read_tensors(view)
    if map_location is not None:
        tensors = {name: x.to(map_location) for name, x in tensors.items()}
    if _TREE not in metadata:
        return tensors
    try:
        return _decode(json.loads(metadata[_TREE]), tensors)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError("load(): the structure description is damaged") from error


def _open(f, mapped: bool) -> memoryview:
    if hasattr(f, "read"):
        return memoryview(bytearray(f.read()))
    if not mapped:
        with open(f, "rb") as file:
            memory = bytearray(os.fstat(file.fileno()).st_size)
            file.readinto(memory)
        return memoryview(memory)
    with open(f, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return memoryview(b"")
        return memoryview(mapping.mmap(file.fileno(), 0, access=mapping.ACCESS_READ))
