"""What is around a call: modes, replaced functions and globals, and what a call did there."""

from __future__ import annotations

import sys
from contextlib import contextmanager

import worlds
from random_programs import describe

import flambeau
import flambeau.nn.functional as F
from flambeau import nn


@contextmanager
def _set(owner, name, value):
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextmanager
def _default_dtype():
    flambeau.set_default_dtype(flambeau.float64)
    try:
        yield
    finally:
        flambeau.set_default_dtype(flambeau.float32)


@contextmanager
def _threads():
    before = flambeau.get_num_threads()
    flambeau.set_num_threads(1)
    try:
        yield
    finally:
        flambeau.set_num_threads(before)


@contextmanager
def _everywhere():
    handle = nn.modules.module.register_module_forward_hook(
        lambda m, x, y: y + 0.5 if isinstance(m, nn.LayerNorm) else None)
    try:
        yield
    finally:
        handle.remove()


class Silent(flambeau.overrides.TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        found = function(*args, **(kwargs or {}))
        return found * 2 if getattr(function, "__name__", "") == "linear" else found


#: What is around a call, of both worlds.
AROUND = {
    "nothing": lambda: _set(worlds, "FACTOR", worlds.FACTOR),
    "a global": lambda: _set(worlds, "FACTOR", 3.0),
    "a global function": lambda: _set(worlds, "activation", F.gelu),
    "an item": lambda: _set(worlds, "TABLE", {"shift": -0.5}),
    "a function of Flambeau": lambda: _set(F, "relu", lambda x: x.clamp(min=0.1)),
    "a function that layers call": lambda: _set(
        sys.modules[nn.Linear.forward.__module__], "F",
        _Changed(F, linear=lambda x, w, b=None: F.linear(x, w, b) + 1)),
    "a method": lambda: _set(nn.Linear, "forward", lambda m, x: F.linear(x, m.weight) * 2),
    "a call": lambda: _set(nn.Module, "__call__", lambda m, *args: m.forward(*args) + 0.125),
    "no gradients": flambeau.no_grad,
    "inference": flambeau.inference_mode,
    "autocast": lambda: flambeau.autocast("cpu", dtype=flambeau.bfloat16),
    "default dtype": _default_dtype,
    "threads": _threads,
    "hooks of all modules": _everywhere,
    "a mode": Silent,
}


class _Changed:
    """A module with other functions."""

    def __init__(self, module, **changed):
        self.module = module
        self.changed = changed

    def __getattr__(self, name):
        return self.changed[name] if name in self.changed else getattr(self.module, name)


def replayer(compiled):
    """What makes the calls of a compiled function or module."""
    return vars(compiled).get("_compiled", compiled).replayer


def told(world, result):
    state = [describe(t) for t in (*world.net.parameters(), *world.net.buffers())]
    grads = [None if p.grad is None else p.grad.tolist() for p in world.net.parameters()]
    return describe(result), state, grads


def ran(world, function, around, x):
    """All that a call did."""
    flambeau.manual_seed(3)
    try:
        with around():
            result = function(x)
        found = told(world, result.detach())
        if result.requires_grad and not result.is_inference():
            result.sum().backward()
            found = (*found, [None if p.grad is None else p.grad.tolist()
                              for p in world.net.parameters()])
            world.net.zero_grad()
    except (RuntimeError, TypeError, ValueError) as error:
        found = (type(error).__name__, str(error))
    return found, flambeau.get_rng_state().tolist()
