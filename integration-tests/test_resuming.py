"""Training that was stopped goes on to the bit, in a new process, whatever loads the data."""

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

    def __len__(self):
        return 23

    def __getitem__(self, index):
        x = flambeau.full((4,), index / 23) + 0.1 * flambeau.randn(4)
        if NOISE:
            x = x * (1 + NOISE * random.random())
        return x, index % 3


def main(path, first, last, workers, kind):
    flambeau.manual_seed(0)
    random.seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3),
                          nn.Linear(8, 3))
    optimizer = optim.AdamW(model.parameters(), lr=0.01)
    scheduler = optim.lr_scheduler.StepLR(optimizer, 3, gamma=0.7)
    scaler = flambeau.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=4)
    loader = DataLoader(Points(), 4, shuffle=True, num_workers=workers, workers=kind)
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
    path, first, last, workers, kind, NOISE = sys.argv[1:]
    NOISE = float(NOISE)
    main(path, int(first), int(last), int(workers), None if kind == "None" else kind)
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
