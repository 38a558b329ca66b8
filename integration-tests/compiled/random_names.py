"""What the lines of random programs may name: modules, and who else comes to memory."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import ctypes
import functools
import gc
import io
import os
import pickle
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import flambeau
import flambeau.nn.functional as F
from flambeau import autograd, func, nn, profiler
from flambeau.autograd import forward_ad
from flambeau.library.dispatching import TorchDispatchMode
from flambeau.overrides import TorchFunctionMode
from flambeau.utils.checkpoint import checkpoint
from flambeau.utils.flop_counter import FlopCounterMode

_THRESHOLD = gc.get_threshold()


class Stop(Exception):
    """What programs raise."""


class Noted(TorchFunctionMode):
    """Reads what functions give, and notes it."""

    def __init__(self, notes: list[Any]) -> None:
        super().__init__()
        self.notes = notes

    def __torch_function__(self, fn: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = fn(*args, **kwargs or {})
        if isinstance(made, flambeau.Tensor) and made.dtype == flambeau.float32:
            self.notes.append((getattr(fn, "__name__", "?"), made.detach().sum().item()))
        return made


class Dispatched(TorchDispatchMode):
    """Notes operators, and writes to what some of them give."""

    def __init__(self, notes: list[Any]) -> None:
        super().__init__()
        self.notes = notes

    def __torch_dispatch__(self, fn: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.notes.append(str(fn))
        made = fn(*args, **kwargs or {})
        return made.add_(1) if "exp" in str(fn) else made


class Doubled(flambeau.Tensor):
    """Products of which are twice what they are."""

    @classmethod
    def __torch_function__(cls, fn: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = super().__torch_function__(fn, types, args, kwargs or {})
        is_new = isinstance(made, flambeau.Tensor) and getattr(fn, "__name__", "") == "mul"
        return made.add_(made.as_subclass(flambeau.Tensor)) if is_new else made


class Final:
    """Does something when nobody holds it any more."""

    def __init__(self, last: Callable[[], Any]) -> None:
        self.last = last

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.last()


def stop() -> None:
    """A signal's handler that ends what runs."""
    raise Stop


@contextlib.contextmanager
def on_signal(handle: Callable[[], Any]) -> Iterator[None]:
    """Run ``handle()`` at each ``send_signal()`` in the block."""
    before = signal.signal(signal.SIGUSR1, lambda *_: handle())
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)


def send_signal() -> None:
    """Have the handler run before the next line."""
    signal.raise_signal(signal.SIGUSR1)


def in_thread(work: Callable[[], Any]) -> Any:
    """What a thread of its own makes of it, or its error."""
    made: list[Any] = []

    def run() -> None:
        try:
            made.append((work(), None))
        except Exception as error:
            made.append((None, error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    result, error = made[0]
    if error is not None:
        raise error
    return result


def pool_map(work: Callable[[int], Any], count: int) -> list[Any]:
    """``work(0)`` and so on, at the same time in threads."""
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, range(count)))


def in_child(work: Callable[[], Any]) -> bytes:
    """The text of what a forked process makes of it."""
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            os.write(there, repr(work()).encode()[:4000])
        except BaseException as error:
            os.write(there, type(error).__name__.encode())
        finally:
            os._exit(0)
    os.close(there)
    with open(here, "rb") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return text


def names(compiled: Callable[[Any], Any]) -> dict[str, Any]:
    """A program's globals; ``compiled`` is ``jit.compile``, or leaves functions as they are."""
    modules = {"flambeau": flambeau, "F": F, "np": np, "copy": copy, "pickle": pickle, "nn": nn,
               "autograd": autograd, "checkpoint": checkpoint, "func": func, "gc": gc, "io": io,
               "forward_ad": forward_ad, "profiler": profiler, "weakref": weakref, "sys": sys,
               "contextlib": contextlib, "functools": functools, "ctypes": ctypes,
               "asyncio": asyncio, "finalize": weakref.finalize}
    helpers = {each.__name__: each for each in
               (Stop, Final, stop, on_signal, send_signal, in_thread, pool_map, in_child,
                Noted, Dispatched, Doubled, FlopCounterMode)}
    return {**modules, **helpers, "compiled": compiled}


def reset() -> None:
    """Undo settings that a program changed and, as it failed, did not set back."""
    flambeau.set_default_dtype(flambeau.float32)
    flambeau.use_deterministic_algorithms(False)
    flambeau.set_num_threads(2)
    flambeau.set_grad_enabled(True)
    sys.setprofile(None)
    sys.settrace(None)
    gc.set_threshold(*_THRESHOLD)
