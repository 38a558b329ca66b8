"""Devices: the reference backend passes the contract, and what does not load says why."""
from __future__ import annotations

import io
import pickle
import subprocess
import sys
from importlib.metadata import EntryPoint

import numpy as np
import pytest

import flambeau
from flambeau.core import backends
from flambeau.core.opdefs import by_name
from flambeau.testing import tolerances
from flambeau.testing.backend import main, report, run_contract
from flambeau.testing.contract_operators import Outcome, check_operator
from flambeau.testing.reference import KERNELS, ReferenceBackend
from flambeau.testing.samples import samples

#: Rows that are not run on sample inputs: the creation check or the core covers them.
NOT_SAMPLED = {"to_device", "empty", "empty_strided", "full_of", "filled_like", "arange_of",
               "linspace", "eye_of", "random_permutation", "random_distribution"}


def test_ref_passes_the_contract():
    outcomes, text = run_contract("ref"), io.StringIO()
    assert report(outcomes, text) == 0, text.getvalue()
    assert [o.name for o in outcomes if o.missing] == []
    assert {o.name for o in outcomes if o.status == "no samples"} == NOT_SAMPLED


def test_the_kit_sees_a_wrong_kernel(monkeypatch):
    right = KERNELS["softmax"]
    monkeypatch.setitem(KERNELS, "softmax", lambda x, dim, dtype: right(x, dim, dtype) * 1.001)
    outcome = check_operator(by_name("softmax"), "ref", ["float32"])
    assert outcome.status == "failed" and "elements differ" in outcome.failures[0]


def test_the_kit_sees_a_missing_kernel(monkeypatch, capsys):
    monkeypatch.delitem(KERNELS, "matrix_exp")
    assert main(["ref", "--filter", "matrix_exp"]) == 0
    assert "missing: matrix_exp" in capsys.readouterr().out


def test_the_kit_fails_with_1(monkeypatch, capsys):
    monkeypatch.setitem(KERNELS, "flip", lambda x, dims: x)
    assert main(["ref", "--filter", "flip"]) == 1
    assert "FAILED  flip" in capsys.readouterr().out


def test_outcomes_have_names():
    assert Outcome("a").status == "no samples"
    assert Outcome("a", passed=2).status == "passed"
    assert Outcome("a", passed=2, failures=("x",)).status == "failed"


def test_differences_are_found():
    assert tolerances.difference(np.float32([1, 2]), np.float32([1, 2.00001]), "float32") == ""
    assert "at (1,)" in tolerances.difference(np.float32([1, 2]), np.float32([1, 2.1]), "float32")
    assert "shape" in tolerances.difference(np.zeros(2), np.zeros(3), "float64")
    assert tolerances.difference(np.array([1]), np.array([2]), "int64")
    assert tolerances.difference(np.array([np.nan]), np.array([np.nan]), "float64") == ""


def test_samples_cover_layouts():
    found = [args[0] for args, _ in samples(by_name("exp"), "float32")]
    assert any(not a.flags.c_contiguous for a in found)
    assert any(a.size == 0 for a in found)
    assert any(a.ndim == 0 for a in found)


def test_unknown_device_lists_the_known():
    with pytest.raises(RuntimeError, match=r"Expected one of cpu, .*ref.* as device type, got "
                                           "'quantum'"):
        flambeau.ones(2).to("quantum")


def test_a_device_may_be_named_before_it_is_there():
    """Programs name the device first and ask whether it is there afterwards."""
    there = flambeau.device("xpu:1")
    assert (there.type, there.index) == ("xpu", 1)
    assert repr(there) == "device(type='xpu', index=1)"
    assert repr(flambeau.device("mps")) == "device(type='mps')"
    assert there == flambeau.device("xpu", 1) == flambeau.device(there)
    assert hash(there) == hash(flambeau.device("xpu", 1))
    assert there not in (flambeau.device("xpu"), flambeau.device("mps", 1), flambeau.device("cpu"))
    assert pickle.loads(pickle.dumps(there)) == there
    assert flambeau.ones(1).device != there


@pytest.mark.parametrize("use", (
    lambda d: flambeau.ones(2, device=d), lambda d: flambeau.ones(2).to(d),
    lambda d: flambeau.Generator(d), lambda d: flambeau.set_default_device(d),
    lambda d: d.__enter__()))
def test_using_a_device_that_is_not_there_is_refused(use):
    with pytest.raises(RuntimeError, match="Expected one of cpu, .* as device type, got 'xpu'"):
        use(flambeau.device("xpu"))
    assert flambeau.get_default_device() == flambeau.device("cpu")


@pytest.mark.oracle
@pytest.mark.parametrize("name", ("cuda", "cuda:1", "mps", "xpu", "meta", "cpu"))
def test_devices_print_as_in_pytorch(name):
    torch = pytest.importorskip("torch")
    assert repr(flambeau.device(name)) == repr(torch.device(name))


def test_tensors_on_different_devices_are_named_with_their_numbers():
    near, far = flambeau.ones(2), flambeau.ones(3).to("ref")
    with pytest.raises(RuntimeError, match=r"'other' of shape \[3\] is on ref:0 and an earlier one "
                                           r"of shape \[2\] on cpu; move one"):
        near + far


def test_absent_cuda_names_the_package(monkeypatch):
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [])
    with pytest.raises(RuntimeError, match="pip install flambeau-cuda-backend"):
        backends.load("cuda")


def _entries(monkeypatch, *entries):
    def found(group, name=None):
        assert group == backends.GROUP
        return [e for e in entries if name in (None, e.name)]

    monkeypatch.setattr("importlib.metadata.entry_points", found)


def test_a_broken_backend_disables_only_itself(monkeypatch):
    good = EntryPoint("twin", "flambeau.testing.reference:ReferenceBackend", backends.GROUP)
    broken = EntryPoint("broken", "no_such_module_here:backend", backends.GROUP)
    _entries(monkeypatch, broken, good)
    with pytest.raises(RuntimeError, match="'broken' .*did not load: No module named"):
        flambeau.ones(2).to("broken")
    monkeypatch.setattr(ReferenceBackend, "name", "twin")
    assert (flambeau.ones(2).to("twin") + 1).tolist() == [2.0, 2.0]
    assert "broken" in backends.available()


def test_environment_limits_what_is_loaded(monkeypatch):
    _entries(monkeypatch, EntryPoint("third", "flambeau.testing.reference:ReferenceBackend",
                                     backends.GROUP))
    monkeypatch.setenv("FLAMBEAU_BACKENDS", "")
    assert "third" not in backends.available()
    with pytest.raises(RuntimeError, match="got 'third'"):
        flambeau.device("third")
    monkeypatch.setenv("FLAMBEAU_BACKENDS", "other,third")
    assert "third" in backends.available()


def test_names_are_identifiers():
    class Odd(backends.Backend):
        name = "my device"

    with pytest.raises(ValueError, match="identifier"):
        backends.register(Odd())


def test_cpu_cannot_be_replaced():
    class Usurper(backends.Backend):
        name = "cpu"

    with pytest.raises(ValueError, match="cannot register a backend named 'cpu'"):
        backends.register(Usurper())


def test_importing_scans_nothing():
    code = "import flambeau, sys; print('importlib.metadata' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
