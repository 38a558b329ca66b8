"""NumPy's format for one array: a magic word, a header that is a Python dict, the elements."""
from __future__ import annotations

import ast
import struct

from flambeau.core import _core
from flambeau.core.io.errors import fail
from flambeau.core.io.memory import over_bytes
from flambeau.core.io.sources import Source

MAGIC = b"\x93NUMPY"
_NAMES = {"b1": "bool", "u1": "uint8", "i1": "int8", "u2": "uint16", "i2": "int16",
          "u4": "uint32", "i4": "int32", "u8": "uint64", "i8": "int64", "f2": "float16",
          "f4": "float32", "f8": "float64", "c8": "complex64", "c16": "complex128"}
_CODES = {name: code for code, name in _NAMES.items()}
_MAX_HEADER = 10_000
_MAX_DIMS = 32
_KEYS = {"descr", "fortran_order", "shape"}


def read(source: Source):
    """The tensor of an ``.npy`` file."""
    text, start = _header_text(source)
    dtype, big, fortran, shape = _parse(text)
    count = 1
    for size in shape:
        count *= size
    end = start + count * dtype.itemsize
    if end != source.size:
        fail(f"shape {list(shape)} of {dtype} needs {end} bytes, but the .npy file has "
             f"{source.size}; the file is damaged or cut off")
    flat = over_bytes(source.part(start, end), dtype, big)
    if not fortran:
        return flat.view(shape)
    return flat.view(shape[::-1]).permute(tuple(range(len(shape)))[::-1])


def _header_text(source: Source) -> tuple[str, int]:
    version = bytes(source.part(6, 8))
    if version not in (b"\1\0", b"\2\0", b"\3\0"):
        fail(f"version {tuple(version)} of the .npy format is not known; known are 1.0 to 3.0")
    form = "<H" if version == b"\1\0" else "<I"
    start = 8 + struct.calcsize(form)
    size, = struct.unpack(form, source.part(8, start))
    if size > _MAX_HEADER:
        fail(f"the header of the .npy file has {size} bytes; {_MAX_HEADER} are the limit")
    raw = bytes(source.part(start, start + size))
    return raw.decode("utf-8" if version == b"\3\0" else "latin-1", "replace"), start + size


def _parse(text: str):
    """dtype, whether big-endian, whether in Fortran's order, shape."""
    try:
        header = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        fail("the header of the .npy file is not a Python dict; the file is damaged")
    if not isinstance(header, dict) or set(header) != _KEYS:
        fail(f"the header of the .npy file must have the keys {sorted(_KEYS)}")
    shape, fortran = header["shape"], header["fortran_order"]
    if type(shape) is not tuple or any(type(n) is not int or n < 0 for n in shape):
        fail(f"the shape {shape!r} in the .npy file is not a tuple of sizes")
    if len(shape) > _MAX_DIMS:
        fail(f"the .npy file has {len(shape)} dimensions; {_MAX_DIMS} are the limit")
    if type(fortran) is not bool:
        fail("fortran_order in the .npy file is neither True nor False")
    return *_dtype(header["descr"]), fortran, shape


def _dtype(descr):
    if type(descr) is not str or descr[1:] not in _NAMES or descr[0] not in "<>|=":
        fail(f"arrays of dtype {descr!r} are not read; tensors have numbers and bools. Convert "
             "with NumPy and save again, for example numpy.save(path, array.astype('f4'))")
    return _core._dtype_named(_NAMES[descr[1:]]), descr[0] == ">"


# ---- writing ------------------------------------------------------------------


def writer(x):
    """What writes the tensor ``x`` to an open file."""
    if not isinstance(x, _core.Tensor):
        raise TypeError(f"save(): a .npy file holds one tensor, got {type(x).__name__}; use .npz "
                        "for a dict of tensors, or another ending for other structures")
    head = header(x)

    def write(file) -> None:
        file.write(head)
        file.write(elements(x))

    return write


def header(x) -> bytes:
    """Magic word, version and header of a tensor's array."""
    if x.dtype.name not in _CODES:
        raise TypeError(f"save(): NumPy's formats have no dtype {x.dtype}; save x.float(), or use "
                        "another ending than .npy and .npz")
    code = _CODES[x.dtype.name]
    order = "|" if x.dtype.itemsize == 1 else "<"
    text = f"{{'descr': '{order}{code}', 'fortran_order': False, 'shape': {tuple(x.shape)}, }}"
    size = -(-(10 + len(text) + 1) // 64) * 64 - 10     # elements start at a multiple of 64
    return MAGIC + b"\1\0" + struct.pack("<H", size) + text.ljust(size - 1).encode() + b"\n"


def elements(x) -> bytes:
    """The elements in C order."""
    return _core.raw_bytes(x.detach().cpu().contiguous())
