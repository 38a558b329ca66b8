"""Machine code made ahead of time beside the program in Python and onnxruntime, one thread each.

    python benchmarks/aot.py

Prints sizes and, in one run, the least time of a call. Needs gcc; onnx and onnxruntime for the last
column.
"""

import ctypes
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import flambeau
from flambeau import jit, nn

START = """
#include "NAME.h"
static float y[UPPER_OUTPUT_0_ELEMENTS], x[UPPER_INPUT_0_ELEMENTS];
static char arena[UPPER_ARENA_BYTES];
int main(void) { return NAME_init() || NAME_run(x, y, arena); }
"""


class Encoder(nn.Module):
    """Of MiniLM's sizes, with random weights."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(30522, 384), nn.Parameter(flambeau.randn(64, 384))
        self.first = nn.LayerNorm(384)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(
            384, 12, 1536, batch_first=True, activation="gelu") for _ in range(6))

    def forward(self, words):
        x = self.first(self.words(words) + self.places)
        for layer in self.layers:
            x = layer(x)
        return x.mean(1)


def digits():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(128, 10), nn.LogSoftmax(1))


def least(call, seconds=2.0):
    """The least time of a call in microseconds."""
    best, until = 1e9, time.perf_counter() + seconds
    while time.perf_counter() < until:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best * 1e6


def ahead(program, folder, name, weights):
    made = jit.aot(program, folder / f"{name}.o", weights=weights)
    print(made)
    library = folder / f"{name}.so"
    subprocess.run(["gcc", "-shared", "-o", library, made.object, "-lm"], check=True)
    loaded = ctypes.CDLL(str(library))
    held = None
    if made.weights is not None:
        held = np.fromfile(made.weights, np.uint8)
        ctypes.c_void_p.in_dll(loaded, f"{name}_weights").value = held.ctypes.data + 64
    return made, loaded[f"{name}_run"], held


def start(made, folder):
    """Size of an executable, and the time from its start to its end."""
    text = START.replace("UPPER", made.name.upper()).replace("NAME", made.name)
    (folder / "main.c").write_text(text)
    path = folder / "alone"
    subprocess.run(["gcc", "-O2", "-s", "-o", path, folder / "main.c", made.object, "-lm"],
                   check=True)
    took = least(lambda: subprocess.run([path], check=True)) / 1000
    print(f"  executable {path.stat().st_size:,} bytes, process start to end {took:.1f} ms")


def onnx(model, x, folder):
    import onnxruntime

    path = folder / "model.onnx"
    flambeau.onnx.export(model, x, path)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    given = {session.get_inputs()[0].name: x.numpy()}
    return lambda: session.run(None, given)


def compare(name, model, x, weights, folder):
    with flambeau.no_grad():
        program = jit.trace(model, x, dynamic=False)
    made, function, held = ahead(program, folder, name, weights)
    result, arena = np.empty_like(program(x).numpy()), np.empty(made.arena_bytes, np.uint8)
    given = [ctypes.c_void_p(each.ctypes.data) for each in (x.numpy(), result, arena)]
    function(*given)
    assert (result == program(x).numpy()).all(), held is None
    if weights == "embedded":
        start(made, folder)
    times = [least(lambda: function(*given)), least(lambda: program(x))]
    try:
        times.append(least(onnx(model, x, folder)))
    except ModuleNotFoundError:
        times.append(float("nan"))
    print("  alone {:.1f} us, Python {:.1f} us, onnxruntime {:.1f} us".format(*times))


def main():
    flambeau.manual_seed(0)
    flambeau.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        compare("digits", digits().eval(), flambeau.randn(1, 1, 8, 8), "embedded", Path(folder))
        compare("encoder", Encoder().eval(), flambeau.randint(0, 30522, (1, 64)), "file",
                Path(folder))


if __name__ == "__main__":
    main()
