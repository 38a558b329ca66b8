"""The interface is frozen: the installed header is the checked-in copy of its minor version."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from flambeau.core import get_include

FROZEN = Path(__file__).parents[2] / "abi"
INSTALLED = Path(get_include()) / "flambeau" / "abi.h"


def hashes() -> dict[str, str]:
    """Return the recorded sha256 of each frozen header, by its path in the folder."""
    lines = (FROZEN / "HASHES").read_text().splitlines()
    return {path: digest for digest, path in (line.split() for line in lines)}


def version(header: Path) -> str:
    """Return the "major.minor" that a header states."""
    found = dict(re.findall(r"#define FL_ABI_(MAJOR|MINOR) (\d+)", header.read_text()))
    return f"{found['MAJOR']}.{found['MINOR']}"


def test_the_installed_header_is_the_frozen_one():
    frozen = FROZEN / version(INSTALLED) / "abi.h"
    assert frozen.exists(), f"freeze the new minor: copy {INSTALLED} to {frozen}, add its hash"
    assert INSTALLED.read_bytes() == frozen.read_bytes(), (
        "abi.h changed without a new version: append only, and raise FL_ABI_MINOR")


def test_every_frozen_header_is_recorded():
    assert {str(path.relative_to(FROZEN)) for path in FROZEN.glob("*/abi.h")} == set(hashes())


@pytest.mark.parametrize("path", hashes())
def test_frozen_headers_stay(path):
    header = FROZEN / path
    assert hashlib.sha256(header.read_bytes()).hexdigest() == hashes()[path]
    assert version(header) == header.parent.name
