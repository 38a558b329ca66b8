"""Whatever is made on first use may be asked for by several threads at once."""

import subprocess
import sys
from pathlib import Path

import first_uses
import pytest

CHILD = Path(__file__).with_name("first_uses.py")


@pytest.mark.parametrize("order", ["together", "1"])
@pytest.mark.parametrize("group", first_uses.GROUPS)
def test_first_uses_in_eight_threads(group, order):
    command = [sys.executable, "-W", "ignore", CHILD, group, order]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert (done.stdout.strip(), done.returncode) == ("", 0), done.stderr
