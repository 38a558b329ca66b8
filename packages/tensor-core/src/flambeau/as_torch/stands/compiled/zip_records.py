"""The records of a checkpoint's archive one by one, for programs that write and read them so.

What a record holds is the program's own business: nothing is unpickled here.
"""
from __future__ import annotations

import ctypes
import os
import sys
import zipfile
from contextlib import contextmanager
from hashlib import sha256
from mmap import ACCESS_READ, mmap
from typing import TYPE_CHECKING, Any

import flambeau
from flambeau.core.io.archive import read_members, stored_part
from flambeau.core.io.pytorch import write_member
from flambeau.core.io.sources import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

_IDENTITY = ".data/serialization_id"
_DIGITS = 40


class PyTorchFileWriter:
    """An archive that is written record by record.

    Args:
        file_name_or_buffer: A path, or a file that is open for writing.
        compute_crc32: Checksums are always computed.
        storage_alignment: Records begin at multiples of 64 bytes; nothing else is made.
    """

    def __init__(self, file_name_or_buffer: Any, compute_crc32: bool = True,
                 storage_alignment: int = 64) -> None:
        if storage_alignment != 64:
            raise NotImplementedError("PyTorchFileWriter(): records begin at multiples of 64 bytes "
                                      f"here; leave storage_alignment={storage_alignment} out")
        is_file = hasattr(file_name_or_buffer, "write")
        path = "archive" if is_file else os.fspath(file_name_or_buffer)
        self._folder = os.path.splitext(os.path.basename(path))[0]
        self._archive = zipfile.ZipFile(file_name_or_buffer if is_file else path, "w")
        self._written: dict[str, int] = {}      # record -> its checksum
        self._is_finished = False

    def archive_name(self) -> str:
        """The folder that all records lie in."""
        return self._folder

    def write_record(self, name: str, data: Any, size: int) -> None:
        """Write the first bytes of something as a record.

        Args:
            name: Of the record.
            data: Bytes, a string, a storage, or the address of memory.
            size: How many bytes.

        Raises:
            RuntimeError: The name is taken, or the archive was ended.
        """
        if self._is_finished:
            raise RuntimeError(f"write_record(): {name!r} comes after write_end_of_file()")
        if name in self._written:
            raise RuntimeError(f"write_record(): Tried to serialize file twice: {name}")
        write_member(self._archive, name, _bytes_of(data, size), self._folder)
        self._written[name] = self._archive.getinfo(f"{self._folder}/{name}").CRC

    def write_record_metadata(self, name: str, size: int) -> None:
        """Leave room for a record: zeros.

        Args:
            name: Of the record.
            size: How many bytes.
        """
        self.write_record(name, bytes(size), size)

    def get_all_written_records(self) -> set[str]:
        """Names of what was written."""
        return set(self._written)

    def serialization_id(self) -> str:
        """Digits that depend on names and contents of the records."""
        facts = repr(sorted((k, v) for k, v in self._written.items() if k != _IDENTITY))
        return str(int(sha256(facts.encode()).hexdigest(), 16))[:_DIGITS].zfill(_DIGITS)

    def set_min_version(self, version: int) -> None:
        """Do nothing: archives have the version that all readers know."""

    def write_end_of_file(self) -> None:
        """Write version, byte order and the archive's directory."""
        for name, content in (("version", "3\n"), ("byteorder", sys.byteorder)):
            if name not in self._written:
                self.write_record(name, content, len(content))
        self.write_record(_IDENTITY, self.serialization_id(), _DIGITS)
        self._archive.close()
        self._is_finished = True


def _bytes_of(data: Any, size: int) -> bytes:
    if isinstance(data, int):
        return ctypes.string_at(data, size)
    if isinstance(data, str):
        data = data.encode()
    elif isinstance(data, flambeau.UntypedStorage | flambeau.TypedStorage):
        data = bytes(data.untyped().cpu()) if hasattr(data, "untyped") else bytes(data.cpu())
    raw = bytes(memoryview(data)[:size])
    if len(raw) != size:
        raise ValueError(f"write_record(): there are {len(raw)} bytes, not {size}")
    return raw


class PyTorchFileReader:
    """The records of an archive that ``torch.save`` or a ``PyTorchFileWriter`` wrote.

    Args:
        name_or_buffer: A path, or a file that is open for reading.

    Raises:
        RuntimeError: There is no such file, or it is no zip archive.
    """

    def __init__(self, name_or_buffer: Any) -> None:
        self._source = _source_of(name_or_buffer)
        try:
            members = read_members(self._source)
        except ValueError as error:
            raise RuntimeError("PytorchStreamReader failed reading zip archive: "
                               f"{error}") from error
        folders = {name.partition("/")[0] for name in members}
        if len(folders) != 1:
            raise RuntimeError("PytorchStreamReader: the archive's records lie in several folders, "
                               "or there are none")
        self._folder = folders.pop()
        self._members = {name.partition("/")[2]: info for name, info in members.items()}

    def get_all_records(self) -> list[str]:
        """Names of the records, as they lie in the file."""
        return list(self._members)

    def has_record(self, name: str) -> bool:
        """Say whether there is a record of this name."""
        return name in self._members

    def get_record(self, name: str) -> bytes:
        """The bytes of a record; a RuntimeError where there is none.

        Args:
            name: Of the record.
        """
        return bytes(self._source.part(*self._span(name)))

    def get_record_size(self, name: str) -> int:
        """How many bytes a record has."""
        return self._member(name).file_size

    def get_record_offset(self, name: str) -> int:
        """Where in the file the bytes of a record begin."""
        return self._span(name)[0]

    def get_record_header_offset(self, name: str) -> int:
        """Where in the file the header of a record begins."""
        return self._member(name).header_offset

    def get_storage_from_record(self, name: str, numel: int, dtype: Any) -> Any:
        """A tensor without elements, over memory that has the bytes of a record.

        Args:
            name: Of the record.
            numel: How many numbers of the dtype it has.
            dtype: Their dtype; ``torch.UntypedStorage`` for bytes.
        """
        kind = dtype if isinstance(dtype, flambeau.dtype) else flambeau.uint8
        raw = bytearray(self.get_record(name))
        if len(raw) < numel * kind.itemsize:
            raise RuntimeError(f"get_storage_from_record(): {name!r} has {len(raw)} bytes, not the "
                               f"{numel * kind.itemsize} of {numel} numbers of {kind}")
        whole = flambeau.frombuffer(raw, dtype=kind, count=numel) if numel else \
            flambeau.empty(0, dtype=kind)
        return whole[:0]

    def serialization_id(self) -> str:
        """What the writer made of names and contents; empty where it wrote none."""
        return self.get_record(_IDENTITY).decode() if self.has_record(_IDENTITY) else ""

    def _member(self, name: str) -> zipfile.ZipInfo:
        if name not in self._members:
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found. "
                               "get_all_records() lists what there is")
        return self._members[name]

    def _span(self, name: str) -> tuple[int, int]:
        return stored_part(self._source, self._member(name))


def _source_of(name_or_buffer: Any) -> Source:
    if hasattr(name_or_buffer, "read"):
        return Source(memoryview(name_or_buffer.read()))
    try:
        with open(name_or_buffer, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            return Source(memoryview(mmap(file.fileno(), 0, access=ACCESS_READ) if size else b""))
    except OSError as error:
        raise RuntimeError(f"open file failed because of errno {error.errno} on fopen: "
                           f"{error.strerror}, file path: {name_or_buffer}") from error


@contextmanager
def _open_zipfile_writer(name_or_buffer: Any) -> Iterator[PyTorchFileWriter]:
    """A writer that ends its archive with the block."""
    writer = PyTorchFileWriter(name_or_buffer)
    yield writer
    writer.write_end_of_file()


@contextmanager
def _open_zipfile_reader(name_or_buffer: Any) -> Iterator[PyTorchFileReader]:
    """A reader."""
    yield PyTorchFileReader(name_or_buffer)


def _is_zipfile(f: Any) -> bool:
    """Say whether a file begins as a zip archive; it is left where it was."""
    start = f.tell()
    begin = f.read(4)
    f.seek(start)
    return bool(begin == b"PK\x03\x04")


def _is_torchscript_zip(zip_file: PyTorchFileReader) -> bool:
    """Say whether an archive holds a TorchScript program."""
    return zip_file.has_record("constants.pkl")
