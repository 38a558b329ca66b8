"""Environment variables: what they set, and what is said about those that cannot be meant."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flambeau.core.environment import VARIABLES, problems

PAGE = Path(__file__).parents[4] / "docs" / "environment.md"


def run(code, **variables):
    """What a new process prints and complains about."""
    clean = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    return subprocess.run([sys.executable, "-c", f"import flambeau as fl\n{code}"],
                          env={**clean, **variables}, capture_output=True, text=True, check=True)


@pytest.mark.parametrize(("variables", "count"), [
    ({"OMP_NUM_THREADS": "1"}, 1), ({"MKL_NUM_THREADS": "3"}, 3), ({"OMP_NUM_THREADS": "3,2"}, 3),
    ({"OMP_NUM_THREADS": "3", "MKL_NUM_THREADS": "4"}, 3),
    ({"FLAMBEAU_NUM_THREADS": "5", "OMP_NUM_THREADS": "3"}, 5),
    ({"OMP_NUM_THREADS": "many", "MKL_NUM_THREADS": "4"}, 4),
])
def test_threads(variables, count):
    done = run("print(fl.get_num_threads())", **variables)
    assert done.stdout.strip() == str(count)
    assert ("OMP_NUM_THREADS=many is ignored" in done.stderr) == ("many" in variables.values())


@pytest.mark.parametrize(("name", "value", "text"), [
    ("FLAMBEAU_ISA", "x86-64-v2", "is ignored: it is one of v2, v3, v4, neon"),
    ("FLAMBEAU_ALLOC", "fast", "is ignored: it is one of cache, plain, poison"),
    ("FLAMBEAU_NUM_THREADS", "0", "is ignored: it is a positive number"),
    ("MKL_NUM_THREADS", "1.5", "is ignored: it is a positive number"),
    ("FLAMBEAU_NUM_THREDS", "1", "do you mean FLAMBEAU_NUM_THREADS?"),
    ("FLAMBEAU_XYZZY", "1", "there are FLAMBEAU_NUM_THREADS, FLAMBEAU_ISA"),
])
def test_what_cannot_be_meant(name, value, text):
    found, = problems({name: value})
    assert text in found
    assert text in run("", **{name: value}).stderr


@pytest.mark.parametrize("level", ["v2", "neon"])
def test_levels(level):
    done = run("print(fl.core.isa_level())", FLAMBEAU_ISA=level)
    assert (done.stdout.strip() != level) == ("this processor does not have it" in done.stderr)


def test_empty_values_say_nothing():
    assert not problems(dict.fromkeys(VARIABLES, ""))


@pytest.mark.skipif(not PAGE.exists(), reason="the manual is not beside the tests")
def test_the_manual_lists_them():
    rows = [line.split("`")[1] for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    assert rows == list(VARIABLES)
