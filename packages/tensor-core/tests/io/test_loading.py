"""What loading the core takes from the process."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from flambeau.core import _core

PT_TLS = 7


def thread_local_bytes(image: bytes) -> int:
    """Bytes of thread-local memory that a 64-bit ELF file asks for, from its program headers."""
    (start,) = struct.unpack_from("<Q", image, 32)
    size, count = struct.unpack_from("<HH", image, 54)
    headers = [start + i * size for i in range(count)]
    sizes = [struct.unpack_from("<Q", image, at + 40)[0] for at in headers
             if struct.unpack_from("<I", image, at)[0] == PT_TLS]
    return sum(sizes)


def test_little_thread_local_memory():
    """All modules of a process that are loaded late share a reserve of some 1,600 bytes, and with
    scikit-learn and another framework loaded first there was none left for the core."""
    image = Path(_core.__file__).read_bytes()
    if not image.startswith(b"\x7fELF\x02"):
        pytest.skip("no ELF file")
    assert 0 < thread_local_bytes(image) < 800
