"""Zip archives: their members, and NumPy's ``.npz``, which is an archive of ``.npy`` files."""
from __future__ import annotations

import io
import struct
import zipfile
import zlib

from flambeau.core import _core
from flambeau.core.io.errors import fail
from flambeau.core.io.npy import MAGIC, elements, header
from flambeau.core.io.npy import read as read_array
from flambeau.core.io.sources import Source

_LOCAL = struct.Struct("<4s22xHH")      # signature ... length of the name, of what follows it
_MOST_SQUEEZED = 1032                   # deflate cannot do better
_DAMAGE = (zipfile.BadZipFile, struct.error, ValueError, NotImplementedError, EOFError, KeyError,
           OverflowError, OSError, IndexError, AttributeError)


class _Reading(io.RawIOBase):
    """A ``Source`` as the file that zipfile wants."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._source.size)[whence]
        if self._at < 0:
            raise OSError("an index before the start of the file")
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        room = max(self._source.size - self._at, 0)
        size = room if size is None or size < 0 else min(size, room)
        start = self._at
        self._at += size
        return bytes(self._source.part(start, start + size)) if size else b""


def read_members(source: Source) -> dict[str, zipfile.ZipInfo]:
    """The members of an archive by name."""
    try:
        with zipfile.ZipFile(_Reading(source)) as archive:
            members = archive.infolist()
    except _DAMAGE as error:
        fail(f"the zip archive is damaged or cut off ({error})")
    if min((member.header_offset for member in members), default=0) > 0:
        fail("several zip archives lie one after the other, and their directory is that of the "
             "last; save each object to a file of its own, or all of them as one list")
    by_name = {member.filename: member for member in members}
    if len(by_name) != len(members):
        fail("two members of the zip archive have the same name")
    return by_name


def stored_part(source: Source, member: zipfile.ZipInfo) -> tuple[int, int]:
    """Where the bytes of a member that is not compressed lie in the file."""
    if member.flag_bits & 1:
        fail(f"{member.filename!r} in the zip archive is encrypted")
    if member.compress_type != zipfile.ZIP_STORED or member.compress_size != member.file_size:
        fail(f"{member.filename!r} in the zip archive is compressed, which checkpoints never are; "
             "pack it again without compression (zip -0)")
    start = _data_start(source, member)
    source.part(start + member.file_size, start + member.file_size)    # within the file?
    return start, start + member.file_size


def _data_start(source: Source, member: zipfile.ZipInfo) -> int:
    at = member.header_offset
    signature, name, extra = _LOCAL.unpack(source.part(at, at + _LOCAL.size))
    if signature != b"PK\x03\x04":
        fail(f"{member.filename!r} in the zip archive does not lie where its directory says")
    return at + _LOCAL.size + name + extra


# ---- NumPy's .npz ------------------------------------------------------------------


def read_arrays(source: Source, members: dict[str, zipfile.ZipInfo]) -> dict:
    """Tensors by name of an ``.npz`` file."""
    for name in members:
        if not name.endswith(".npy"):
            fail(f"the zip archive holds {name!r}: it is neither an .npz file nor a checkpoint")
    if sum(member.compress_size for member in members.values()) > source.size:
        fail("members of the zip archive lie over each other; the file is damaged")
    return {name[:-4]: _read_array(source, member) for name, member in members.items()}


def _read_array(source: Source, member: zipfile.ZipInfo):
    if member.compress_type == zipfile.ZIP_STORED:
        part = source.part(*stored_part(source, member))
    else:
        part = _inflate(source, member)
    if bytes(part[:6]) != MAGIC:
        fail(f"{member.filename!r} in the zip archive is not an .npy file")
    return read_array(Source(part))


def _inflate(source: Source, member: zipfile.ZipInfo) -> memoryview:
    if member.flag_bits & 1 or member.compress_type != zipfile.ZIP_DEFLATED:
        fail(f"{member.filename!r} in the zip archive is encrypted or compressed in another way "
             "than numpy.savez_compressed does")
    if member.file_size > _MOST_SQUEEZED * member.compress_size + 64:
        fail(f"{member.filename!r} claims to be {member.file_size} bytes, more than "
             f"{member.compress_size} compressed bytes can hold")
    start = _data_start(source, member)
    packed = source.part(start, start + member.compress_size)
    inflater = zlib.decompressobj(-15)
    try:
        plain = inflater.decompress(packed, member.file_size + 1)
    except zlib.error as error:
        fail(f"{member.filename!r} in the zip archive is damaged ({error})")
    if len(plain) != member.file_size or zlib.crc32(plain) != member.CRC:
        fail(f"{member.filename!r} in the zip archive is damaged: its size or checksum is wrong")
    return memoryview(bytearray(plain))


def writer(arrays):
    """What writes a dict of tensors to an open file as ``.npz``."""
    if not isinstance(arrays, dict):
        raise TypeError(f"save(): an .npz file holds a dict of tensors, got "
                        f"{type(arrays).__name__}; write {{'x': tensor}}")
    for name, x in arrays.items():
        if not isinstance(name, str) or not isinstance(x, _core.Tensor):
            raise TypeError(f"save(): an .npz file holds tensors under names, got "
                            f"{type(x).__name__} under {name!r}")
    heads = {name: header(x) for name, x in arrays.items()}

    def write(file) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name, x in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    member.write(heads[name])
                    member.write(elements(x))

    return write
