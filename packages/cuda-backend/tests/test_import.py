"""Importing needs neither CuPy nor a GPU, and what is missing is said."""
from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

import flambeau
from flambeau.core import backends
from flambeau.cuda import cupy_module


@pytest.fixture
def fresh():
    """Forget what was found out about the machine, before and after."""
    cupy_module.why_unavailable.cache_clear()
    yield
    cupy_module.why_unavailable.cache_clear()


def test_import_touches_neither_cupy_nor_numpy():
    code = ("import flambeau.cuda, sys; "
            "print([m for m in ('cupy', 'numpy') if m in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_without_a_driver(monkeypatch, fresh):
    monkeypatch.setattr(cupy_module, "_has_driver", lambda: False)
    assert flambeau.cuda.is_available() is False
    assert flambeau.cuda.device_count() == 0
    with pytest.raises(RuntimeError, match="no NVIDIA driver"):
        flambeau.cuda.backend()


def test_without_cupy(monkeypatch, fresh):
    monkeypatch.setattr(cupy_module, "_has_driver", lambda: True)
    monkeypatch.setattr(cupy_module.importlib.util, "find_spec", lambda name: None)
    assert not flambeau.cuda.is_available()
    with pytest.raises(RuntimeError, match=r"CuPy is not installed: pip install .*\[cuda12\]"):
        flambeau.cuda.synchronize()


def test_moving_a_tensor_explains_itself(monkeypatch, fresh):
    monkeypatch.setattr(cupy_module, "_has_driver", lambda: False)
    entry = EntryPoint("cuda", "flambeau.cuda:backend", backends.GROUP)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [entry])
    with pytest.raises(RuntimeError, match="'cuda'.*no NVIDIA driver"):
        flambeau.ones(2).to("cuda")


def test_programs_for_either_device_run_without_a_gpu(monkeypatch, fresh):
    monkeypatch.setattr(cupy_module, "_has_driver", lambda: False)
    cuda = flambeau.cuda
    flambeau.manual_seed(3)
    cuda.manual_seed_all(7)
    assert flambeau.initial_seed() == 3
    assert (cuda.device_count(), cuda.memory_allocated(), cuda.memory_reserved()) == (0, 0, 0)
    cuda.empty_cache()


def test_a_process_forked_from_one_that_used_a_gpu_cannot_use_it(monkeypatch):
    assert not flambeau.cuda._is_in_bad_fork()
    monkeypatch.setattr(flambeau.cuda, "_backend", object())
    assert flambeau.cuda._is_in_bad_fork()
    monkeypatch.setattr(flambeau.cuda, "_owner", os.getpid())
    assert not flambeau.cuda._is_in_bad_fork()
