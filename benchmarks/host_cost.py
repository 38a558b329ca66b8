"""What a call on a GPU costs the host: calls through a driver whose launches do nothing.

    python benchmarks/host_cost.py
"""
from __future__ import annotations

import ctypes
import time

import flambeau as fl
from flambeau.core import backends
from flambeau.cuda.simulation import SimulatedBackend
from flambeau.cuda.simulation.building import build, default_folder

DRIVER = """
#include "../native/driver.h"
static int launch(void *, int, void *, void *, const uint32_t *, const uint32_t *, uint32_t,
                  const void *, size_t) { return 0; }
static int copy(void *, int, void *, void *, const void *, size_t, int) { return 0; }
static int synchronize(void *, int) { return 0; }
static const char *error(void *, int) { return ""; }
static const fl_driver driver = {sizeof driver, 0, 0, launch, copy, synchronize, error};
extern "C" const fl_driver *idle_driver() { return &driver; }
"""


class IdleBackend(SimulatedBackend):
    """Plans calls as any GPU's backend, and launches nothing."""

    name = "cudaidle"
    exact = False

    def driver(self):
        library = build("idle", DRIVER, default_folder())
        library.idle_driver.restype = ctypes.c_void_p
        return library.idle_driver()


def nanoseconds(call, count: int = 20_000) -> float:
    """The least mean time of a call in five rounds."""
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(count):
            call()
        best = min(best, (time.perf_counter() - start) / count)
    return best * 1e9


def main() -> None:
    backends.register(IdleBackend())
    host = fl.ones(8)
    x = host.to("cudaidle")
    wide, tall = fl.ones(20, 50).to("cudaidle"), fl.ones(50, 20).to("cudaidle")
    calls = {"add on the CPU": lambda: host + host, "add": lambda: x + x,
             "add in place": lambda: x.add_(x), "times a number": lambda: x * 2,
             "square": lambda: x ** 2, "exp": x.exp, "cast": x.double,
             "other strides": lambda: wide + tall.t()}
    for name, call in calls.items():
        call()
        print(f"{name:16s} {nanoseconds(call):7.0f} ns")
    print(f"{'sum':16s} {nanoseconds(x.sum, 500):7.0f} ns")


if __name__ == "__main__":
    main()
