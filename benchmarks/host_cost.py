"""What a call on a GPU costs the host: calls through a driver whose launches do nothing.

    python benchmarks/host_cost.py
"""
from __future__ import annotations

import ctypes
import timeit

import flambeau as fl
from flambeau.core import backends
from flambeau.cuda.simulation import SimulatedBackend
from flambeau.cuda.simulation.building import build, default_folder

PASSES, ROUNDS, CALLS = 20, 100, 200
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


def least_times(statements: dict[str, str], names: dict[str, object]) -> dict[str, float]:
    """Nanoseconds of each statement: the least mean of many short rounds.

    A round is shorter than what a scheduler gives a process at a time, so that on a machine with
    other work some rounds are not interrupted, and rounds of one statement are spread over the
    whole run, as work on the core's other thread slows all down for a while.
    """
    timers = {name: timeit.Timer(text, globals=names) for name, text in statements.items()}
    rounds = [{name: min(timer.repeat(ROUNDS, CALLS)) for name, timer in timers.items()}
              for _ in range(PASSES)]
    return {name: min(each[name] for each in rounds) / CALLS * 1e9 for name in statements}


def main() -> None:
    backends.register(IdleBackend())
    host = fl.ones(8)
    names = {"host": host, "x": host.to("cudaidle"), "wide": fl.ones(20, 50).to("cudaidle"),
             "tall": fl.ones(50, 20).to("cudaidle").t()}
    statements = {"add on the CPU": "host + host", "add": "x + x", "add in place": "x.add_(x)",
                  "times a number": "x * 2", "square": "x ** 2", "exp": "x.exp()",
                  "cast": "x.double()", "other strides": "wide + tall", "sum": "x.sum()"}
    for name, least in least_times(statements, names).items():
        print(f"{name:16s} {least:7.0f} ns")


if __name__ == "__main__":
    main()
