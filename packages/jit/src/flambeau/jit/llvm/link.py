"""Object files as images: code and constants in one piece that runs wherever it lies.

LLVM writes an ELF file, in which the code's distances to its constants and to other functions are
left open. Code is position independent, so that all distances within the image are known now, and
what remains are the addresses of functions of the C library (``sin``, ``memcpy``): each has 8 bytes
in the image, which whoever loads it fills in.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from flambeau.jit.cache.kernels import Image

_X86_64 = 62
_ALLOCATED, _WRITABLE = 2, 1
_SYMBOLS, _RELOCATIONS, _NO_BITS = 2, 4, 8
#: Relocations: distances to a symbol, to a function, to the address of a symbol.
_DISTANCE, _CALL, _ADDRESS_AT = 2, 4, (9, 41, 42)
_JUMP = b"\xff\x25"         # to the address that lies at a distance from the next instruction


class CannotLinkError(Exception):
    """The file has something that images do not have."""


@dataclass(frozen=True)
class _Section:
    """A section's header, with its number and name."""

    number: int
    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    align: int

    @property
    def is_code(self) -> bool:
        """Whether it is part of the image; tables for exceptions are not."""
        return bool(self.flags & _ALLOCATED and self.size) and self.name != ".eh_frame"


@dataclass
class _Linker:
    """An image that grows: sections, then jumps, then addresses."""

    data: bytes
    sections: list[_Section]
    image: bytearray = field(default_factory=bytearray)
    starts: dict[int, int] = field(default_factory=dict)
    slots: dict[str, int] = field(default_factory=dict)
    jumps: dict[str, int] = field(default_factory=dict)

    def place(self, content: bytes, align: int) -> int:
        """Append bytes; where they begin."""
        self.image += bytes(-len(self.image) % max(align, 1))
        start = len(self.image)
        self.image += content
        return start

    def slot(self, name: str) -> int:
        """Where the address of a function of others will be."""
        if name not in self.slots:
            self.slots[name] = self.place(bytes(8), 8)
        return self.slots[name]

    def jump(self, name: str) -> int:
        """An instruction that goes to a function of others."""
        if name not in self.jumps:
            slot = self.slot(name)
            start = self.place(bytes(6), 2)
            self.image[start:] = _JUMP + struct.pack("<i", slot - (start + 6))
            self.jumps[name] = start
        return self.jumps[name]

    def symbols(self) -> list[tuple[str, int, int]]:
        """Name, section and value of every symbol."""
        found = []
        for section in self.sections:
            if section.kind == _SYMBOLS:
                names = self.sections[section.link].offset
                for at in range(section.offset, section.offset + section.size, 24):
                    name, _, _, home, value, _ = struct.unpack_from("<IBBHQQ", self.data, at)
                    found.append((_text(self.data, names + name), home, value))
        return found

    def relocate(self, section: _Section, symbols: list[tuple[str, int, int]]) -> None:
        """Fill in the distances that one table of relocations lists."""
        if section.info not in self.starts:
            return
        for at in range(section.offset, section.offset + section.size, 24):
            offset, info, addend = struct.unpack_from("<QQq", self.data, at)
            name, home, value = symbols[info >> 32]
            kind = info & 0xFFFFFFFF
            place = self.starts[section.info] + offset
            target = self.target(kind, name, home, value)
            self.image[place : place + 4] = struct.pack("<i", target + addend - place)

    def target(self, kind: int, name: str, home: int, value: int) -> int:
        """Where in the image a relocation points to."""
        if home in self.starts and kind in (_DISTANCE, _CALL):
            return self.starts[home] + value
        if home == 0 and name and kind == _CALL:
            return self.jump(name)
        if home == 0 and name and kind in _ADDRESS_AT:
            return self.slot(name)
        raise CannotLinkError(f"relocation {kind} of {name!r}")


def link(data: bytes, function: str) -> Image:
    """The image of an object file.

    Args:
        data: the file.
        function: where it is entered.

    Raises:
        CannotLinkError: it is no ELF file for x86-64, or has data that is written to.
    """
    if data[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", data, 18) != (_X86_64,):
        raise CannotLinkError("no ELF file for x86-64")
    linker = _Linker(data, _sections(data))
    for section in linker.sections:
        if section.is_code:
            if section.flags & _WRITABLE or section.kind == _NO_BITS:
                raise CannotLinkError(f"section {section.name}")
            content = data[section.offset : section.offset + section.size]
            linker.starts[section.number] = linker.place(content, section.align)
    symbols = linker.symbols()
    for section in linker.sections:
        if section.kind == _RELOCATIONS:
            linker.relocate(section, symbols)
    entries = [linker.starts[home] + value for name, home, value in symbols
               if name == function and home in linker.starts]
    if len(entries) != 1:
        raise CannotLinkError(f"no function {function!r}")
    imports = tuple((at, name) for name, at in linker.slots.items())
    return Image(bytes(linker.image), entries[0], imports)


def _sections(data: bytes) -> list[_Section]:
    table, = struct.unpack_from("<Q", data, 40)
    _, count, names = struct.unpack_from("<HHH", data, 58)
    heads = [struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * n) for n in range(count)]
    first = heads[names][4]
    return [_Section(n, _text(data, first + name), kind, flags, offset, size, link_, info, align)
            for n, (name, kind, flags, _, offset, size, link_, info, align, _) in enumerate(heads)]


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()
