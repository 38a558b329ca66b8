"""Module paths in profiles and in errors that find a NaN."""

import pytest

import flambeau
from flambeau import nn
from flambeau.autograd import detect_anomaly
from flambeau.core import scope_path
from flambeau.profiler import profile

pytestmark = [pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled"),
              pytest.mark.filterwarnings("ignore:Error detected in")]


class Broken(nn.Module):
    """Its derivative at zero is infinite times zero."""

    def forward(self, x):
        return (x * 0).sqrt() * 0


class Seen(nn.Module):
    """Notes its scope."""

    def __init__(self):
        super().__init__()
        self.paths = []

    def forward(self, x):
        self.paths.append(scope_path())
        return x


def test_paths_of_nested_modules_while_somebody_reads_them():
    seen = Seen()
    net = nn.Sequential(nn.Linear(2, 2), seen)
    net(flambeau.ones(1, 2))
    with profile() as prof:
        net(flambeau.ones(1, 2))
    net(flambeau.ones(1, 2))
    assert seen.paths == ["", "Sequential.1", ""]
    assert "Sequential.0" in {event.scope for event in prof.events()}


def test_backward_is_counted_for_the_module_of_its_forward():
    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    with profile() as prof:
        net(flambeau.ones(1, 2)).sum().backward()
    scopes = {event.scope for event in prof.events() if event.node == "AddmmBackward0"}
    assert scopes == {"Sequential.0"}


def test_a_nan_names_the_module():
    net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Tanh(), Broken()))
    with detect_anomaly(), pytest.raises(RuntimeError, match=r"\(scope Sequential\.1\.1\)"):
        net(flambeau.ones(1, 2)).sum().backward()


def test_hooks_run_inside_the_scope_and_errors_leave_it():
    def fail(module, args):
        raise KeyError(scope_path())

    net = nn.Sequential(nn.Linear(2, 2))
    net[0].register_forward_pre_hook(fail)
    with detect_anomaly():
        with pytest.raises(KeyError, match="Sequential.0"):
            net(flambeau.ones(1, 2))
        assert scope_path() == ""
