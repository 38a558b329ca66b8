"""Training that was stopped goes on bit for bit, in a new process, whatever loads the data."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("flambeau.nn")
pytest.importorskip("flambeau.optim")

TRAINING = '''
import hashlib, random, sys
import flambeau
from flambeau import nn, optim
from flambeau.utils.data import DataLoader, Dataset


class Points(Dataset):
    """Points with noise from two streams."""

    def __init__(self, noise):
        self.noise = noise

    def __len__(self):
        return 23

    def __getitem__(self, index):
        x = flambeau.full((4,), index / 23) + 0.1 * flambeau.randn(4)
        if self.noise:
            x = x * (1 + self.noise * random.random())
        return x, index % 3


def main(path, first, last, workers, kind, noise):
    flambeau.manual_seed(0)
    random.seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3),
                          nn.Linear(8, 3))
    optimizer = optim.AdamW(model.parameters(), lr=0.01)
    scheduler = optim.lr_scheduler.StepLR(optimizer, 3, gamma=0.7)
    scaler = flambeau.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=4)
    loader = DataLoader(Points(noise), 4, shuffle=True, num_workers=workers, workers=kind)
    step = 0
    everything = model, optimizer, scheduler, scaler, loader
    if first:
        step = flambeau.load_training_state(path, *everything).step
        assert step == first
    while step < last:
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(nn.functional.cross_entropy(model(x), y)).backward()
            scaler.step(optimizer)
            scaler.update()
            scheduler.step()
            step += 1
            if step == last:
                break
        # Left by a break, the loader is in mid-epoch.
    flambeau.save_training_state(path, *everything, step)
    digest = hashlib.sha256()
    for value in model.state_dict().values():
        digest.update(bytes(memoryview(value.detach().contiguous())))
    for state in optimizer.state_dict()["state"].values():
        for value in state.values():
            digest.update(str(value.tolist() if hasattr(value, "tolist") else value).encode())
    print(digest.hexdigest(), random.random(), flambeau.rand(1).item(), scaler.get_scale())


if __name__ == "__main__":
    path, first, last, workers, kind, noise = sys.argv[1:]
    kind = None if kind == "None" else kind
    main(path, int(first), int(last), int(workers), kind, float(noise))
'''


def train(folder, name, first, last, workers, kind, noise="0.1"):
    script = folder / "training.py"
    script.write_text(TRAINING)
    command = [sys.executable, str(script), str(folder / name), str(first), str(last)]
    command += [str(workers), str(kind), noise]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


# 23 points in batches of 4 are six steps an epoch: stops in the middle, at the end, at the start.
@pytest.mark.parametrize("stop", [1, 4, 6, 9])
def test_stopped_and_continued_is_not_stopped(tmp_path, stop):
    whole = train(tmp_path, "whole", 0, 14, 0, None)
    train(tmp_path, "part", 0, stop, 0, None)
    assert train(tmp_path, "part", stop, 14, 0, None) == whole


def test_workers_may_change_meanwhile(tmp_path):
    whole = train(tmp_path, "whole", 0, 14, 0, None)
    train(tmp_path, "part", 0, 3, 2, "process")
    train(tmp_path, "part", 3, 8, 0, None)
    assert train(tmp_path, "part", 8, 14, 3, "process") == whole


def test_threads(tmp_path):
    whole = train(tmp_path, "whole", 0, 14, 0, None, "0")
    train(tmp_path, "part", 0, 8, 3, "thread", "0")
    assert train(tmp_path, "part", 8, 14, 2, "thread", "0") == whole


def kinds_of(module, base):
    """Every public class of a module below a base, but the base."""
    found = {name: getattr(module, name) for name in module.__all__}
    kinds = {name: kind for name, kind in found.items() if isinstance(kind, type)}
    return sorted(n for n, kind in kinds.items() if issubclass(kind, base) and kind is not base)


def optimizers():
    from flambeau import optim

    return kinds_of(optim, optim.Optimizer)


SCHEDULES = {
    "StepLR": {"step_size": 2},
    "MultiStepLR": {"milestones": [1, 1, 4]},
    "ConstantLR": {},
    "LinearLR": {},
    "ExponentialLR": {"gamma": 0.9},
    "PolynomialLR": {},
    "CosineAnnealingLR": {"T_max": 4},
    "CosineAnnealingWarmRestarts": {"T_0": 2},
    "CyclicLR": {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 2},
    "OneCycleLR": {"max_lr": 0.1, "total_steps": 20},
    "ReduceLROnPlateau": {"patience": 0},
    "LambdaLR": {"lr_lambda": lambda epoch: 0.9**epoch},
    "MultiplicativeLR": {"lr_lambda": lambda epoch: 0.9},
}


def steps(model, optimizer, schedule, count):
    import flambeau
    from flambeau import nn

    for _ in range(count):
        x = flambeau.randn(5, 4)

        def closure(x=x):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), x[:, :3])
            loss.backward()
            return loss

        loss = optimizer.step(closure)
        if schedule is not None:
            plateau = type(schedule).__name__ == "ReduceLROnPlateau"
            schedule.step(*([1 + loss.detach().item()] if plateau else []))


def model_and_optimizer(name):
    import flambeau
    from flambeau import nn, optim

    flambeau.manual_seed(3)
    model = nn.Linear(4, 3, bias=False)
    options = {"momentum": 0.9} if name == "SGD" else {}
    return model, getattr(optim, name)(model.parameters(), lr=0.05, **options)


def resumed_equals_whole(path, name, make_schedule):
    import flambeau

    model, optimizer = model_and_optimizer(name)
    schedule = make_schedule(optimizer)
    steps(model, optimizer, schedule, 3)
    flambeau.save_training_state(path, model, optimizer, schedule)
    steps(model, optimizer, schedule, 4)
    again, its_optimizer = model_and_optimizer(name)
    its_schedule = make_schedule(its_optimizer)
    flambeau.load_training_state(path, again, its_optimizer, its_schedule)
    steps(again, its_optimizer, its_schedule, 4)
    assert again.weight.equal(model.weight)
    rates = [[group["lr"] for group in each.param_groups] for each in (optimizer, its_optimizer)]
    assert rates[0] == rates[1]


@pytest.mark.parametrize("name", sorted(set(optimizers()) - {"SparseAdam"}))  # no sparse gradients
def test_every_optimizer_goes_on(tmp_path, name):
    resumed_equals_whole(tmp_path / "state", name, lambda optimizer: None)


@pytest.mark.parametrize("name", SCHEDULES)
def test_every_schedule_goes_on(tmp_path, name):
    from flambeau.optim import lr_scheduler

    kind = getattr(lr_scheduler, name)
    resumed_equals_whole(tmp_path / "state", "SGD", lambda each: kind(each, **SCHEDULES[name]))


@pytest.mark.parametrize("milestone", [2, 5])
def test_schedules_in_a_row_go_on(tmp_path, milestone):
    from flambeau.optim import lr_scheduler

    def make(optimizer):
        first = lr_scheduler.LinearLR(optimizer, total_iters=milestone)
        second = lr_scheduler.CosineAnnealingLR(optimizer, 6)
        return lr_scheduler.SequentialLR(optimizer, [first, second], [milestone])

    resumed_equals_whole(tmp_path / "state", "Adam", make)


def test_chained_schedules_go_on(tmp_path):
    from flambeau.optim import lr_scheduler

    def make(optimizer):
        warmup = lr_scheduler.ConstantLR(optimizer, factor=0.1, total_iters=5)
        decay = lr_scheduler.ExponentialLR(optimizer, 0.9)
        return lr_scheduler.ChainedScheduler([warmup, decay], optimizer)

    resumed_equals_whole(tmp_path / "state", "Adam", make)
