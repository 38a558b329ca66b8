"""The library without Python stays small (docs/design/build.md, "Size")."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from runtime import find_library

LIMIT_BYTES = 5_000_000

_SECTION_TYPE_NO_BITS = 8
_SECTION_IS_LOADED = 2


def loaded_bytes(library: Path) -> int:
    """What a stripped file would hold: sections that are loaded, of an ELF file of 64 bits."""
    content = library.read_bytes()
    sections_at, = struct.unpack_from("<Q", content, 40)
    size_of_one, count = struct.unpack_from("<2H", content, 58)
    total = 0
    for i in range(count):
        kind, flags, _, _, size = struct.unpack_from("<I4Q", content,
                                                     sections_at + i * size_of_one + 4)
        total += size * (kind != _SECTION_TYPE_NO_BITS and flags & _SECTION_IS_LOADED != 0)
    return total


def test_the_library_stays_below_its_limit() -> None:
    library = find_library()
    if library is None:
        pytest.skip("needs libflambeau_runtime")
    size = loaded_bytes(library)
    assert 500_000 < size <= min(LIMIT_BYTES, library.stat().st_size)
