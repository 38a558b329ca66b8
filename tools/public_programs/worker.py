"""Runs one program for a few steps and writes down its losses, and when each step ended.

`python worker.py`, or with `-m flambeau.as_torch` before it, reads a job from each line of its
input. The program is run as it is, in a process of its own: what it calls is watched, and its
standard generators have a seed.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import random
import runpy
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

SEED = 0
#: Names that NumPy removed and older programs still use -> what they meant.
NUMPY_NAMES = {"bool8": "bool_", "float_": "float64", "int0": "intp", "float": "float64",
               "int": "int_", "object": "object_"}


class Stop(BaseException):
    """Ends a program that has made its steps; nothing between catches it."""


class Watch:
    """What a program has done so far."""

    def __init__(self, steps: int, seconds: float) -> None:
        self.steps, self.seconds = steps, seconds
        self.losses: list[float] = []
        self.times: list[float] = []
        self.marks = [0, 0]     # calls of backward, steps of optimizers

    def mark(self, kind: int) -> None:
        """A step of one kind is over: those of optimizers count where there are any."""
        self.marks[kind] += 1
        if kind == 0 and self.marks[1] == 0:
            return
        now = time.perf_counter()
        self.times.append(now)
        if len(self.times) >= self.steps or now - self.times[0] > self.seconds:
            raise Stop

    def loss(self, value: Any) -> None:
        """Keep the number that gradients are asked of."""
        if len(self.losses) < self.steps:
            self.losses.append(float(value.detach().sum()))


def watch_losses(torch: Any, watch: Watch) -> None:
    """See each call of `backward`, and each step of an optimizer."""
    from torch.optim.optimizer import register_optimizer_step_post_hook

    backward = torch.Tensor.backward

    def seen(self: Any, *args: Any, **kwargs: Any) -> None:
        watch.loss(self)
        backward(self, *args, **kwargs)
        bare = watch.marks[1] == 0
        watch.mark(0)
        if bare and watch.marks[0] >= watch.steps:
            raise Stop

    torch.Tensor.backward = seen
    register_optimizer_step_post_hook(lambda *_: watch.mark(1))


def replace_downloads() -> None:
    """Let data sets that torchvision would fetch be made here."""
    try:
        datasets = importlib.import_module("torchvision.datasets")
    except ImportError:
        return
    from public_programs import data

    def make(self: Any) -> None:
        data.MAKERS[type(self).__name__.lower()](Path(self.root))

    datasets.MNIST.download = make
    datasets.CIFAR10.download = make
    datasets.CIFAR10._check_integrity = lambda self: (Path(self.root) / self.base_folder).exists()
    datasets.cifar.check_integrity = lambda path, md5=None: os.path.exists(path)


def prepare(watch: Watch) -> None:
    """Seed and watch, before the program begins."""
    import numpy
    import torch

    for name, now in NUMPY_NAMES.items():
        if name not in vars(numpy):
            setattr(numpy, name, getattr(numpy, now))
    replace_downloads()
    random.seed(SEED)
    numpy.random.seed(SEED)
    torch.manual_seed(SEED)
    watch_losses(torch, watch)


def run(job: dict[str, Any]) -> None:
    """Run a program in this process, and write the result."""
    watch = Watch(job["steps"], job["seconds"])
    error = None
    prepare(watch)
    sys.argv = [job["script"], *job["arguments"]]
    sys.path[0] = os.getcwd()
    sys.path.append(job["repository"])
    try:
        runpy.run_path(job["script"], run_name="__main__")
    except Stop:
        pass
    except (Exception, SystemExit) as raised:
        if not isinstance(raised, SystemExit) or raised.code:
            error = f"{type(raised).__name__}: {raised}"
            traceback.print_exc()
    found = {"losses": watch.losses, "times": watch.times, "marks": watch.marks, "error": error}
    Path(job["result"]).write_text(json.dumps(found))


def child(job: dict[str, Any]) -> None:
    """Run a program in a process of its own, which ends here."""
    os.setsid()
    signal.alarm(job["timeout"])
    said = os.open(job["said"], os.O_WRONLY | os.O_CREAT)
    for stream, file in ((0, job["terminal"]), (1, said), (2, said)):
        os.dup2(file, stream)
    os.chdir(job["folder"])
    try:
        run(job)
    finally:
        sys.stdout.flush()
        os._exit(0)     # workers and windows of a program that was stopped do not hold it


def main() -> None:
    """Run what each line of standard input says: libraries are imported once, before."""
    importlib.import_module("torch")
    importlib.import_module("pytorch_side").prepare()
    os.environ.setdefault("MPLBACKEND", "Agg")
    with contextlib.suppress(ImportError):
        importlib.import_module("matplotlib.pyplot")
        importlib.import_module("torchvision")
    for line in sys.stdin:
        made = os.fork()
        if made == 0:
            child(json.loads(line))
        os.waitpid(made, 0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(made, signal.SIGKILL)
        print("done", flush=True)


if __name__ == "__main__":
    main()
