"""Damaged programs are refused in our words, and never crash; older formats load.

More of them: ``PROGRAM_MUTATIONS=10000 pytest`` of this file.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import flambeau
from flambeau import jit

HERE = Path(__file__).parent
FILES = sorted((HERE / "data").glob("*.program"))
COUNT = int(os.environ.get("PROGRAM_MUTATIONS", "300"))


@pytest.mark.parametrize("path", [*FILES, "now.program", "pure.program"],
                         ids=lambda path: Path(path).stem)
def test_mutations(path, tmp_path):
    """In a process of its own, whose last line of stderr names the file that crashes."""
    if path == "now.program":
        pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    path = tmp_path / path          # those of the folder are absolute
    command = [sys.executable, str(HERE / "fuzz_programs.py"), str(path), "0", str(COUNT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-200:]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_files_of_earlier_versions(path):
    """``version_N.program`` was saved when N was the newest format."""
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    x = flambeau.arange(12.0).view(2, 6) / 12
    program = jit.load(path)
    state = program.state_dict()["captured2"]
    for runs in (1, 2):
        y, more = program(x, {"by": 0.25})
        assert y[0].tolist() == pytest.approx([0.79620779, 1.29620779, 1.17494607, 0.9226321,
                                               0.52976191])
        assert y[1, 4].item() == pytest.approx(1.2006934)
        assert more["half"][:, 0].tolist() == [-0.5, -0.5]
        assert more["total"].item() == pytest.approx(1.7105, abs=1e-4)
        assert state.tolist() == pytest.approx((x.sum(0) * runs).tolist())
    if "best" in more:
        assert more["best"].indices.tolist() == [4, 4]
        assert [name for name, _ in program.named_parameters()] == ["captured0"]


def test_every_format_has_a_file():
    from flambeau.jit.programs.archive import VERSION

    assert [path.stem for path in FILES] == [f"version_{n}" for n in range(1, VERSION + 1)]
