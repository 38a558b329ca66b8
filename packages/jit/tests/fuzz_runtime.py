"""Give damaged programs to the runtime without Python: ``fuzz_runtime.py DRIVER SECONDS [SEED]``.

DRIVER is ``flambeau_fuzz`` (tensor-core's cmake/runtime.cmake), built with sanitizers; it loads and
runs what it is sent, and calls the C interface wrongly too. Exit status 1, and the file that did it
in ``finding-SEED.program``, where the driver dies of anything but too long a run.
"""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fuzz_programs import everything
from mutations import mutate

import flambeau as fl
from flambeau import jit
from flambeau.core.opdefs import OPDEFS
from flambeau.core.vision.boxes import nms
from flambeau.core.vision.points import roi_align
from flambeau.nn import functional as F

#: What sanitizers do here: leaks matter, a size that nobody has is no fault.
SANITIZERS = {"ASAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=1",
              "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"}


def _written(x: Any) -> Any:
    y = x.clone()
    y[0].mul_(2)
    y.index_put_((fl.tensor([1, 0]),), fl.ones(2, 4))
    return y.scatter(1, fl.zeros(3, 1, dtype=fl.int64), 5.0), y.masked_fill_(y > 0, 1)


#: Functions and their inputs: each family of operators, so that changes have something to change.
CASES: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...] = (
    (lambda x: (x.exp() * 2 + 1).relu().sum(1).softmax(0), (fl.randn(3, 4),)),
    (lambda x, w: F.conv2d(x, w, padding=1, stride=2),
     (fl.randn(1, 2, 6, 6), fl.randn(3, 2, 3, 3))),
    (lambda x: (F.max_pool2d(x, 2), F.avg_pool2d(x, 2), F.interpolate(x, scale_factor=2)),
     (fl.randn(1, 2, 4, 4),)),
    (lambda q: F.scaled_dot_product_attention(q, q, q), (fl.randn(1, 2, 5, 8),)),
    (lambda x: (x @ x.t(), fl.einsum("ij,kj->ik", x, x)), (fl.randn(4, 4),)),
    (lambda x: (*x.sort(1), *x.topk(2), x.argmax(1), x.cumsum(0)), (fl.randn(3, 4),)),
    (lambda x: (x.view(-1).t(), x.t().expand(2, 4, 3).permute(2, 0, 1), x[:, ::2]),
     (fl.randn(3, 4),)),
    (lambda x: x.unfold(1, 2, 1), (fl.randn(3, 4),)),
    (lambda x: (fl.gather(x, 1, fl.zeros(3, 2, dtype=fl.int64)), x[[2, 0]]), (fl.randn(3, 4),)),
    (lambda x: x.index_select(0, fl.tensor([1])), (fl.randn(3, 4),)),
    (_written, (fl.randn(3, 4),)),
    (lambda x: x + fl.rand(4) * fl.randn(4), (fl.ones(4),)),
    (lambda i: F.embedding(i, fl.ones(5, 3)), (fl.tensor([[1, 2], [4, 0]]),)),
    (lambda x: F.layer_norm(F.group_norm(x, 2), (4,)), (fl.randn(2, 4, 4),)),
    (lambda x: fl.fft.rfft(x).abs(), (fl.randn(2, 8),)),
    (lambda x: F.grid_sample(x, fl.zeros(1, 2, 2, 2), align_corners=False),
     (fl.randn(1, 1, 4, 4),)),
    (lambda x: (x.to(fl.int8) // 2, x.to(fl.bfloat16) * 2, x.to(fl.complex64).abs()),
     (fl.randn(3, 4),)),
    (lambda x: (F.pad(x, (1, 2)), x.roll(1, 0), x.flip(1), x.repeat(2, 1), x.tril(), x.var(1)),
     (fl.randn(3, 4),)),
    (fl.nn.LSTM(3, 4, 2, batch_first=True).eval(), (fl.randn(2, 5, 3),)),
    # weights that are laid out and packed when a program is loaded
    (fl.nn.Sequential(fl.nn.Conv2d(18, 20, 3, padding=1), fl.nn.ReLU(), fl.nn.MaxPool2d(2)).eval(),
     (fl.randn(1, 18, 7, 7),)),
    (fl.nn.Conv2d(140, 17, 3, padding=1).eval(), (fl.randn(1, 140, 8, 7),)),
    (fl.nn.Sequential(fl.nn.Linear(40, 70), fl.nn.GELU()).eval(), (fl.randn(20, 40),)),
    (fl.nn.utils.quantize_weights(fl.nn.Sequential(fl.nn.Linear(70, 9)), "int4", group=32).eval(),
     (fl.randn(2, 70),)),
    # pointwise operators that run part by part
    (lambda x, s: (x * (x + 3).clamp(0, 6) / 6 * s + x, (x @ x).mul(s).tanh()),
     (fl.randn(9, 9), fl.tensor(2.0))),
    (fl.nn.Sequential(fl.nn.Conv2d(3, 4, 1), fl.nn.Hardswish(), fl.nn.Linear(5, 6)).eval(),
     (fl.randn(1, 3, 5, 5),)),
    (lambda x, boxes: roi_align(x, boxes, 0.5, 2, 2, 2, True),
     (fl.randn(1, 2, 6, 6), fl.tensor([[0.0, 1, 1, 9, 9]]))),
)

#: Functions with sizes that values decide.
SELECTING: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...] = (
    (lambda x: (x[x > 0] * 2, (x > 0).nonzero(), x[x[:, 0] > 0].sum(1)), (fl.randn(4, 5),)),
    (lambda x: (x.round().unique(), x[x > 0].new_zeros(x[x > 0].numel(), 2)), (fl.randn(4, 5),)),
    (lambda x, boxes: roi_align(x, boxes, 0.5, 2, 2, 0, True),
     (fl.randn(1, 2, 6, 6), fl.tensor([[0.0, 1, 1, 9, 9]]))),
    (lambda x: nms(fl.cat([x[:, :2], x[:, :2] + 3], 1), x[:, 4], 0.3), (fl.randn(4, 5),)),
    (lambda x: x[x > 0].topk(fl.minimum(fl.full((), x[x > 0].shape[0], dtype=fl.int64),
                                        fl.tensor(2))), (fl.randn(4, 5),)),
)


def _decides(x: Any) -> Any:
    while x.sum() < 9:
        x = x.abs() + 1
    return x.exp() if x[0, 0] > 3 else -x



def programs(folder: Path) -> Iterator[bytes]:
    """The files that are damaged."""
    everything(folder / "everything")
    yield (folder / "everything").read_bytes()
    for function, inputs in CASES:
        for dynamic in (False, {0: {0: "N"}}):
            try:
                program = jit.trace(function, inputs, dynamic=dynamic)
            except (jit.TraceError, RuntimeError):      # its sizes cannot vary
                continue
            program.save(folder / "case")
            yield (folder / "case").read_bytes()
    for function, inputs in SELECTING:
        jit.trace(function, inputs, value_sizes=True).save(folder / "case")
        yield (folder / "case").read_bytes()
    jit.script(_decides, example_inputs=[(fl.randn(3, 4),)]).save(folder / "case")
    yield (folder / "case").read_bytes()


class Driver:
    """The process that runs them."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen([self.command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                env=os.environ | SANITIZERS)

    def run(self, content: bytes) -> str:
        """How a file ended; "" where the process died of it."""
        assert self.process.stdin and self.process.stdout
        try:
            self.process.stdin.write(struct.pack("<I", len(content)) + content)
            self.process.stdin.flush()
        except BrokenPipeError:
            return ""
        return self.process.stdout.readline().decode().strip()


def main(command: str, seconds: float, seed: int) -> int:
    """Run until the time is over or something is found."""
    sys.setrecursionlimit(10_000)       # graphs are nested some hundred levels deep, and copied
    with tempfile.TemporaryDirectory() as folder:
        contents = list(programs(Path(folder)))
    operators = sorted({opdef.key for opdef in OPDEFS} | {"fused", "view_write"})
    driver, ends, first = Driver(command), Counter[str](), seed
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        content = mutate(contents[seed % len(contents)], seed, operators)
        result = driver.run(content)
        if not result and driver.process.wait() == -signal.SIGALRM:
            result, driver = "too long", Driver(command)
        if not result:
            Path(f"finding-{seed}.program").write_bytes(content)
            print(f"the driver died with {driver.process.returncode} of finding-{seed}.program")
            return 1
        ends[result] += 1
        seed += 1
    assert driver.process.stdin
    driver.process.stdin.close()
    print(f"seeds {first} to {seed - 1} of {len(contents)} programs: {dict(ends)}")
    return driver.process.wait() != 0       # leaks are reported at the end


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], float(sys.argv[2]), int((*sys.argv[3:], "1")[0])))
