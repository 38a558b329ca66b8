"""Quantized networks in both libraries, in turns in one process: least times and their ratios.

    python quantized.py [resnet mobilenet] [--threads 1 2] [--rounds 20] [--side 224]
"""
from __future__ import annotations

import argparse
import importlib
import time
import warnings
from itertools import pairwise
from typing import Any

import numpy as np


def networks(lib: Any) -> dict[str, Any]:
    """ResNet-18 and MobileNetV2 as torchvision writes them for quantization."""
    nn = importlib.import_module(f"{lib.__name__}.nn")
    quantized = importlib.import_module(f"{lib.__name__}.ao.nn.quantized")

    def conv(a: int, b: int, size: int, stride: int = 1, groups: int = 1, relu: bool = True) -> Any:
        layers = [nn.Conv2d(a, b, size, stride, size // 2, groups=groups, bias=False),
                  nn.BatchNorm2d(b)]
        return nn.Sequential(*layers, *([nn.ReLU()] if relu else []))

    class Basic(nn.Module):     # type: ignore[name-defined, misc]
        def __init__(self, a: int, b: int, stride: int) -> None:
            super().__init__()
            self.first, self.second = conv(a, b, 3, stride), conv(b, b, 3, relu=False)
            same = a == b and stride == 1
            self.down = None if same else conv(a, b, 1, stride, relu=False)
            self.sum = quantized.FloatFunctional()

        def forward(self, x: Any) -> Any:
            y = self.second(self.first(x))
            return self.sum.add_relu(y, x if self.down is None else self.down(x))

    class Inverted(nn.Module):      # type: ignore[name-defined, misc]
        def __init__(self, a: int, b: int, stride: int, factor: int) -> None:
            super().__init__()
            wide = a * factor
            first = [conv(a, wide, 1)] if factor > 1 else []
            self.body = nn.Sequential(*first, conv(wide, wide, 3, stride, wide),
                                      conv(wide, b, 1, relu=False))
            self.same = a == b and stride == 1
            self.sum = quantized.FloatFunctional()

        def forward(self, x: Any) -> Any:
            return self.sum.add(x, self.body(x)) if self.same else self.body(x)

    class Whole(nn.Module):     # type: ignore[name-defined, misc]
        def __init__(self, body: Any, width: int) -> None:
            super().__init__()
            q = importlib.import_module(f"{lib.__name__}.ao.quantization")
            self.quant, self.dequant = q.QuantStub(), q.DeQuantStub()
            self.body, self.pool = body, nn.AdaptiveAvgPool2d(1)
            self.last = nn.Linear(width, 1000)

        def forward(self, x: Any) -> Any:
            x = self.pool(self.body(self.quant(x)))
            return self.dequant(self.last(lib.flatten(x, 1)))

    def resnet() -> Any:
        widths = [64, 64, 64, 128, 128, 256, 256, 512, 512]
        blocks = [Basic(a, b, 1 if a == b else 2) for a, b in pairwise(widths)]
        return Whole(nn.Sequential(conv(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1), *blocks), 512)

    def mobilenet() -> Any:
        blocks, a = [], 32
        for factor, b, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                         (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
            for i in range(count):
                blocks.append(Inverted(a, b, stride if i == 0 else 1, factor))
                a = b
        return Whole(nn.Sequential(conv(3, 32, 3, 2), *blocks, conv(320, 1280, 1)), 1280)

    return {"resnet": resnet, "mobilenet": mobilenet}


def filled(lib: Any, network: Any) -> Any:
    """A network with the same numbers in both libraries."""
    rng = np.random.default_rng(1)
    with lib.no_grad():
        for name, value in sorted(network.state_dict().items()):
            if value.dtype == lib.float32:
                numbers = rng.standard_normal(tuple(value.shape))
                if "var" in name or value.ndim == 1 and "weight" in name:
                    numbers = np.abs(numbers) * 0.1 + 1
                elif value.ndim > 1:
                    numbers = numbers * (2 / np.prod(value.shape[1:])) ** 0.5
                value.copy_(lib.from_numpy(np.asarray(numbers, np.float32)))
    return network.eval()


def quantized_form(lib: Any, network: Any, x: Any) -> Any:
    """The network with integers for weights and activations, its layers fused."""
    q = importlib.import_module(f"{lib.__name__}.ao.quantization")
    nn = importlib.import_module(f"{lib.__name__}.nn")
    groups = [[f"{name}.{i}" for i in range(len(layer))]
              for name, layer in network.named_modules()
              if isinstance(layer, nn.Sequential) and len(layer) in (2, 3)
              and isinstance(layer[1], nn.BatchNorm2d)]
    fused = q.fuse_modules(network, groups)
    fused.qconfig = q.get_default_qconfig("x86")
    ready = q.prepare(fused)
    ready(x)
    return q.convert(ready)


def least(calls: dict[str, Any], rounds: int) -> dict[str, float]:
    """The least time of each call, in seconds, in turns."""
    times = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            for _ in range(3):
                start = time.perf_counter()
                call()
                times[name] = min(times[name], time.perf_counter() - start)
    return times


def main() -> None:
    """Print a line for each network and number of threads."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["resnet", "mobilenet"])
    parser.add_argument("--threads", nargs="*", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--side", type=int, default=224)
    options = parser.parse_args()
    libraries = {"flambeau": importlib.import_module("flambeau"),
                 "torch": importlib.import_module("torch")}
    image = np.random.default_rng(2).standard_normal((1, 3, options.side, options.side))
    for name in options.names:
        calls, results = {}, {}
        for library, lib in libraries.items():
            x = lib.from_numpy(image.astype(np.float32))
            network = filled(lib, networks(lib)[name]())
            done = quantized_form(lib, network, x)
            for kind, made in (("float", network), ("int8", done)):
                calls[f"{library} {kind}"] = lambda made=made, x=x, lib=lib: _run(lib, made, x)
            results[library] = _run(lib, done, x).numpy()
        apart = np.abs(results["flambeau"] - results["torch"]).max()
        print(f"{name}: greatest difference {apart:.3g} of {np.abs(results['torch']).max():.3g}")
        for threads in options.threads:
            for lib in libraries.values():
                lib.set_num_threads(threads)
            times = least(calls, options.rounds)
            ours = times["flambeau int8"]
            print(f"{name}, {threads} threads: "
                  + ", ".join(f"{key} {value * 1e3:.2f} ms ({value / ours:.2f})"
                              for key, value in times.items()), flush=True)


def _run(lib: Any, network: Any, x: Any) -> Any:
    with lib.no_grad():
        return network(x)


if __name__ == "__main__":
    main()
