"""No input to a public function may crash the interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import flambeau
from flambeau.core import ops

FUZZ = Path(__file__).parent / "fuzz.py"


def _run(seed: int, rounds: int, folder: Path, seconds: int) -> None:
    call = folder / "call"
    command = [sys.executable, "-X", "faulthandler", str(FUZZ), str(seed), str(rounds)]
    done = subprocess.run(command, text=True, capture_output=True, check=False, timeout=seconds,
                          env={**os.environ, "FUZZ_TRACE": str(call)})
    made = call.read_text(encoding="utf-8") if call.exists() else ""
    assert done.returncode == 0, made + done.stderr[-2000:]


@pytest.mark.parametrize("seed", range(3))
def test_odd_arguments_raise_and_never_crash(seed, tmp_path):
    _run(seed, 10, tmp_path, seconds=120)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
def test_many_odd_arguments(seed, tmp_path):
    _run(seed, 100, tmp_path, seconds=600)


def test_lists_without_tensors_are_refused():
    with pytest.raises(TypeError, match="expected a list of tensors, but element 1 is None"):
        flambeau.cat([flambeau.ones(2), None])


def test_out_on_another_device_is_refused():
    with pytest.raises(RuntimeError, match="give out= a tensor on the same device"):
        flambeau.exp(flambeau.ones(4), out=flambeau.empty(4, device="meta"))
    with pytest.raises(RuntimeError, match="give out= a tensor on the same device"):
        flambeau.flip(flambeau.empty(5, device="meta"), [0], out=flambeau.empty(5))


@pytest.mark.parametrize("mode", [-(2 ** 31), -1, 3, 2 ** 31, 2 ** 62])
def test_unknown_numbers_of_pad_modes_are_refused(mode):
    with pytest.raises(RuntimeError, match="it must be 0 .reflect., 1 .replicate. or 2"):
        ops.pad_by(flambeau.ones(2, 3), [1, 1], mode)
    with pytest.raises(RuntimeError, match="it must be 0 .reflect., 1 .replicate. or 2"):
        ops.pad_by_grad(flambeau.ones(2, 5), [1, 1], mode, [2, 3])


@pytest.mark.parametrize("pad", [[2 ** 63 - 1] * 2, [2 ** 63 - 1, 0], [-(2 ** 63)] * 2])
def test_pads_beyond_64_bits_are_refused(pad):
    with pytest.raises(RuntimeError, match="larger than 64 bits can count"):
        ops.pad(flambeau.ones(2, 3), pad)
    with pytest.raises(RuntimeError, match="larger than 64 bits can count"):
        ops.pad(flambeau.ones(2, 3), pad, "replicate")


def test_the_gradient_of_a_pad_refuses_negative_sizes():
    with pytest.raises(RuntimeError, match="does not belong to size"):
        ops.pad_by_grad(flambeau.ones(1), [2, 0], 1, [-1])


def test_tensors_without_dimensions_have_no_border():
    with pytest.raises(RuntimeError, match="needs at least one dimension"):
        ops.pad_by(flambeau.ones(()), [], 0)
    with pytest.raises(RuntimeError, match="needs at least one dimension"):
        ops.pad_by_grad(flambeau.ones(()), [], 0, [])


def test_lists_with_a_tensor_of_another_device_are_refused():
    points, edges, far = flambeau.ones(4, 2), flambeau.ones(3), flambeau.empty(3, device="meta")
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        ops.histogram_of(points, [edges, far], None)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        ops.bincount_of(flambeau.ones(3, dtype=flambeau.int64), far, 5)


@pytest.mark.parametrize("sections", [2 ** 40, 2 ** 63 - 2])
def test_sections_without_end_are_refused(sections):
    with pytest.raises(RuntimeError, match="sections of a dimension of size 3"):
        flambeau.tensor_split(flambeau.ones(3), sections)
    with pytest.raises(RuntimeError, match="sections of a dimension of size 0"):
        flambeau.hsplit(flambeau.ones(0), sections)
    with pytest.raises(RuntimeError, match="chunks of a dimension of size 0"):
        flambeau.chunk(flambeau.ones(0), sections)
