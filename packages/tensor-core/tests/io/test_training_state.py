"""One file from which training goes on: what is in it, what is refused, what a kill leaves."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import flambeau
from flambeau.core.io import FileError

ROUNDS = int(os.environ.get("FLAMBEAU_KILLS", "8"))


class Model:
    """Parameters by name, as a network has them."""

    def __init__(self, **tensors):
        self.tensors = tensors

    def named_parameters(self):
        return iter(self.tensors.items())

    def state_dict(self):
        return self.tensors

    def load_state_dict(self, state):
        for name, value in state.items():
            self.tensors[name].copy_(value)


class Optimizer:
    """Groups and state by position, as PyTorch's have them."""

    def __init__(self, *groups):
        self.param_groups = [{"params": list(params), "lr": lr} for params, lr in groups]
        self.state = {}

    def params(self):
        return [param for group in self.param_groups for param in group["params"]]

    def state_dict(self):
        indices = {id(param): i for i, param in enumerate(self.params())}
        groups = [{**g, "params": [indices[id(p)] for p in g["params"]]} for g in self.param_groups]
        return {"state": {indices[i]: s for i, s in self.state.items()}, "param_groups": groups}

    def load_state_dict(self, state):
        params = self.params()
        self.state = {id(params[i]): s for i, s in state["state"].items()}
        for group, saved in zip(self.param_groups, state["param_groups"], strict=True):
            group.update({**saved, "params": [params[i] for i in saved["params"]]})


class Count:
    def __init__(self, value=0):
        self.value = value

    def state_dict(self):
        return {"value": self.value}

    def load_state_dict(self, state):
        self.value = state["value"]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "training.safetensors"


def make(order="ab"):
    model = Model(a=flambeau.zeros(2), b=flambeau.zeros(3))
    params = [model.tensors[name] for name in order]
    return model, Optimizer((params, 0.5))


def test_everything_comes_back(path):
    model, optimizer = make()
    model.tensors["a"].fill_(1.5)
    optimizer.state[id(model.tensors["b"])] = {"step": 3, "m": flambeau.ones(3), "x": None}
    optimizer.param_groups[0]["lr"] = 0.1
    own = flambeau.Generator().manual_seed(5)
    flambeau.rand(3, generator=own)
    flambeau.save_training_state(
        path, model, optimizer, Count(4), Count(5), Count(6), {"epoch": 2, "batch": 7},
        generators={"own": own}, extra=[flambeau.arange(2), "note"])
    model, optimizer = make()
    others = Count(), Count(), Count()
    again = flambeau.Generator()
    state = flambeau.load_training_state(path, model, optimizer, *others,
                                         generators={"own": again})
    assert model.tensors["a"].tolist() == [1.5, 1.5]
    assert optimizer.param_groups[0]["lr"] == 0.1
    kept = optimizer.state[id(model.tensors["b"])]
    assert (kept["step"], kept["m"].tolist(), kept["x"]) == (3, [1, 1, 1], None)
    assert [each.value for each in others] == [4, 5, 6]
    assert again.get_state().tolist() == own.get_state().tolist()
    assert state.step == {"epoch": 2, "batch": 7}
    assert state.extra[0].tolist() == [0, 1] and state.extra[1] == "note"
    assert state.versions["python"].startswith("3.")
    assert state.parts == ("model", "optimizer", "scheduler", "scaler", "loader")


def test_the_optimizer_goes_by_name(path):
    model, optimizer = make("ab")
    for name, value in (("a", 1), ("b", 2)):
        optimizer.state[id(model.tensors[name])] = {"step": value}
    flambeau.save_training_state(path, model, optimizer)
    stored = flambeau.load(path)["states"]["optimizer"]
    assert stored["state"] == {"a": {"step": 1}, "b": {"step": 2}}
    assert stored["param_groups"][0]["params"] == ["a", "b"]
    model, optimizer = make("ba")
    flambeau.load_training_state(path, model, optimizer)
    assert optimizer.state[id(model.tensors["a"])] == {"step": 1}
    assert [p is model.tensors[n] for p, n in zip(optimizer.params(), "ba", strict=True)] == [
        True, True]


def test_other_parameters_are_named(path):
    model, optimizer = make()
    flambeau.save_training_state(path, model, optimizer)
    model = Model(a=flambeau.zeros(2), c=flambeau.zeros(3))
    with pytest.raises(ValueError, match=r"group 0.*\['c'\].*\['b'\]"):
        flambeau.load_training_state(path, model, Optimizer((model.tensors.values(), 1.0)))
    model, _ = make()
    with pytest.raises(ValueError, match="1 parameter groups, but has 2"):
        flambeau.load_training_state(
            path, model, Optimizer(([model.tensors["a"]], 1.0), ([model.tensors["b"]], 1.0)))


def test_another_class_is_refused_before_anything_is_changed(path):
    class Other(Count):
        pass

    saved = Count(3)
    flambeau.save_training_state(path, scaler=saved, scheduler=[saved, saved])
    given = Count(), Other()
    before = [each.state_dict() for each in given]
    with pytest.raises(ValueError, match=r"scheduler\[1\] was saved by Count, but Other is given"):
        flambeau.load_training_state(path, scheduler=list(given))
    assert [each.state_dict() for each in given] == before
    flambeau.load_training_state(path, scaler=Other())


def test_several_of_a_kind(path):
    models = {"g": make()[0], "d": make()[0]}
    optimizers = [Optimizer((models[key].tensors.values(), 1.0)) for key in "gd"]
    optimizers[1].state[id(models["d"].tensors["a"])] = {"step": 9}
    flambeau.save_training_state(path, models, optimizers)
    assert flambeau.load(path)["states"]["optimizer"][1]["state"] == {"d.a": {"step": 9}}
    models = {"g": make()[0], "d": make()[0]}
    optimizers = [Optimizer((models[key].tensors.values(), 1.0)) for key in "gd"]
    flambeau.load_training_state(path, models, optimizers)
    assert optimizers[1].state[id(models["d"].tensors["a"])] == {"step": 9}
    with pytest.raises(ValueError, match=r"\['g', 'd'\], but \['g'\]"):
        flambeau.load_training_state(path, {"g": models["g"]})


def test_random_streams_go_on(path):
    def draw():
        return flambeau.rand(3).tolist(), random.gauss(0, 1), np.random.randn(3).tolist()

    flambeau.manual_seed(3)
    draw()                                            # leaves half of a pair of normal numbers
    flambeau.save_training_state(path)
    expected = draw()
    draw()
    flambeau.load_training_state(path)
    assert draw() == expected
    flambeau.load_training_state(path, random_states=False)
    assert draw() != expected


def test_streams_that_are_not_wanted(path):
    flambeau.save_training_state(path, python_random=False, numpy_random=False)
    states = random.getstate(), np.random.get_state()[1].tolist()
    random.random(), np.random.rand()
    moved = random.getstate(), np.random.get_state()[1].tolist()
    flambeau.load_training_state(path)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == moved != states


def test_what_does_not_fit_is_told(path):
    with pytest.raises(TypeError, match="scheduler is a int, which has no state_dict"):
        flambeau.save_training_state(path, scheduler=3)
    with pytest.raises(TypeError, match="cannot store object at extra"):
        flambeau.save_training_state(path, extra=object())
    assert not path.exists()
    flambeau.save_training_state(path, scaler=Count())
    with pytest.raises(ValueError, match="has no loader; it has scaler"):
        flambeau.load_training_state(path, loader=Count())
    with pytest.raises(ValueError, match="no generator 'x'"):
        flambeau.load_training_state(path, generators={"x": flambeau.Generator()})
    flambeau.save({"a": 1}, path)
    with pytest.raises(FileError, match="no checksum"):
        flambeau.load_training_state(path)


def test_every_flipped_bit_is_refused(path):
    model, optimizer = make()
    flambeau.save_training_state(path, model, optimizer, python_random=False, numpy_random=False)
    whole = path.read_bytes()
    rng = random.Random(0)
    for index in {*range(40), *rng.sample(range(len(whole)), 100), len(whole) - 1}:
        damaged = bytearray(whole)
        damaged[index] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        with pytest.raises(FileError, match=r"training\.safetensors is not a whole"):
            flambeau.load_training_state(path, model, optimizer)
    for size in (0, 5, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(FileError, match="cut off"):
            flambeau.load_training_state(path, model, optimizer)
    path.write_bytes(whole + b"\0")
    with pytest.raises(FileError, match="cut off or damaged"):
        flambeau.load_training_state(path, model, optimizer)
    path.write_bytes(whole)
    flambeau.load_training_state(path, model, optimizer)


def test_other_programs_can_read_the_file(path):
    safetensors = pytest.importorskip("safetensors.numpy")
    model, _ = make()
    flambeau.save_training_state(path, model)
    assert safetensors.load_file(path)["states.model.b"].tolist() == [0, 0, 0]


SAVER = """
import sys, flambeau
class Model:
    def __init__(self, step):
        self.values = {"w": flambeau.full((50_000,), float(step)), "v": flambeau.tensor(step)}
    def state_dict(self):
        return self.values
path, step = sys.argv[1], int(sys.argv[2])
while True:
    step += 1
    flambeau.save_training_state(path, Model(step), step=step)
    print(step, flush=True)
"""


class Reader:
    def load_state_dict(self, state):
        self.state = state


def test_killed_while_saving(path):
    """FLAMBEAU_KILLS=200 does it as often as the release asks for."""
    rng = random.Random(1)
    last = 0
    for _ in range(ROUNDS):
        command = [sys.executable, "-c", SAVER, str(path), str(last)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            first = process.stdout.readline()
            time.sleep(rng.uniform(0, 0.05))
            os.kill(process.pid, signal.SIGKILL)
            said = [first, *process.stdout.read().split()]
        reader = Reader()
        step = flambeau.load_training_state(path, reader).step
        assert step >= max(map(int, said))
        assert reader.state["v"].item() == step
        assert bool((reader.state["w"] == step).all())
        last = step


def test_leftovers_of_killed_processes_go(path, monkeypatch):
    left = path.parent / f".{path.name}.saving-abc"
    left.write_bytes(b"half")
    flambeau.save_training_state(path)
    assert left.exists()                              # it may just have been begun
    os.utime(left, (0, 0))
    flambeau.save_training_state(path)
    assert not left.exists()
    other = path.parent / ".another.saving-abc"
    other.write_bytes(b"half")
    os.utime(other, (0, 0))
    flambeau.save_training_state(path)
    assert other.exists()


def test_who_may_read_the_file(path):
    (path.parent / "plain").write_bytes(b"")
    flambeau.save_training_state(path)
    assert path.stat().st_mode == (path.parent / "plain").stat().st_mode
