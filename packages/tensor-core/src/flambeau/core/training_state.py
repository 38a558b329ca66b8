"""One file from which training goes on bit for bit: what has a state, and the random streams.

Nothing here knows modules or optimizers. What has ``state_dict()`` and ``load_state_dict()`` is
saved, by whatever package it comes from.
"""
from __future__ import annotations

import json
import platform
import random
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

from flambeau.core import _core, optimizer_names
from flambeau.core.io import structure
from flambeau.core.io.errors import FileError
from flambeau.core.io.paths import replace_atomically
from flambeau.core.io.sealed import read_sealed, write_sealed

_FORMAT = "flambeau.training-state"
_VERSION = "1"
_TREE = "flambeau.tree"
_PARTS = ("model", "optimizer", "scheduler", "scaler", "loader")
_BY_KIND = ("optimizer", "scheduler")  # another class reads the same state in another way
_ROOMS = ("tensor-core", "autograd", "nn", "optim", "jit", "cuda-backend")


class TrainingState(NamedTuple):
    """What a file of ``save_training_state`` holds beside the states that were put back.

    Args:
        step: What was given as ``step``.
        extra: What was given as ``extra``.
        versions: Python's and the installed packages' versions when it was saved.
        parts: Which of model, optimizer, scheduler, scaler and loader the file has.
    """

    step: Any
    extra: Any
    versions: dict[str, str]
    parts: tuple[str, ...]


def save_training_state(
    path: Any,
    model: Any = None,
    optimizer: Any = None,
    scheduler: Any = None,
    scaler: Any = None,
    loader: Any = None,
    step: Any = None,
    *,
    generators: dict[str, Any] | None = None,
    extra: Any = None,
    python_random: bool = True,
    numpy_random: bool = True,
) -> None:
    """Save everything that training needs to go on as if it had not stopped.

    The file is written beside ``path``, flushed to disk and then renamed, so that ``path`` is at
    any time a whole file, the former or the new one. It holds no pickle but tensors and JSON, in
    the safetensors format with a checksum over every byte.

    Args:
        path: The file.
        model: The parameters and buffers. This and the next four are anything with
            ``state_dict()`` and ``load_state_dict()``, or a dict or list of such things.
        optimizer: Its state is keyed by the names that its parameters have in ``model``.
        scheduler: The learning rates.
        scaler: The scale of gradients in mixed precision.
        loader: The position in the epoch.
        step: How far training is: a number, or nested dicts and lists of numbers and strings.
        generators: Generators to save by name, beside the default one.
        extra: Anything more that ``flambeau.save`` takes.
        python_random: Save the state of Python's ``random``.
        numpy_random: Save the state of ``numpy.random``, if NumPy is imported.

    Raises:
        TypeError: Something has no ``state_dict()``, or a state holds what a file cannot.

    Example:
        >>> import flambeau, os, tempfile
        >>> from flambeau.utils.data import DataLoader
        >>> path = os.path.join(tempfile.mkdtemp(), "training.safetensors")
        >>> loader = DataLoader(range(4), batch_size=2)
        >>> batches = iter(loader)
        >>> next(batches)
        tensor([0, 1])
        >>> flambeau.save_training_state(path, loader=loader, step=1)
        >>> again = DataLoader(range(4), batch_size=2)
        >>> flambeau.load_training_state(path, loader=again).step
        1
        >>> next(iter(again))
        tensor([2, 3])
    """
    given = dict(zip(_PARTS, (model, optimizer, scheduler, scaler, loader), strict=True))
    names = optimizer_names.names_of(model)
    kinds: dict[str, str] = {}
    states = {part: _state_of(part, obj, part, names, kinds) for part, obj in given.items()
              if obj is not None}
    content = {
        "states": states, "kinds": kinds, "step": step, "extra": extra, "versions": _versions(),
        "random": _random_states(generators or {}, python_random, numpy_random)}
    tree, tensors = structure.encode(content)
    metadata = {"format": _FORMAT, "version": _VERSION,
                _TREE: json.dumps(tree, separators=(",", ":"))}
    replace_atomically(path, lambda file: write_sealed(file, tensors, metadata))


def load_training_state(
    path: Any,
    model: Any = None,
    optimizer: Any = None,
    scheduler: Any = None,
    scaler: Any = None,
    loader: Any = None,
    *,
    generators: dict[str, Any] | None = None,
    random_states: bool = True,
) -> TrainingState:
    """Put back what ``save_training_state`` saved.

    The file is read and checked before anything is changed. Parts that are left out stay in the
    file.

    Args:
        path: The file.
        model: As for ``save_training_state``, made in the same way as then; also the next four.
        optimizer: Its parameters are found by their names in ``model``.
        scheduler: The learning rates.
        scaler: The scale of gradients in mixed precision.
        loader: The next loop over it yields what was left of the epoch.
        generators: Generators by the names under which they were saved.
        random_states: Put back the default generator, and Python's and NumPy's streams where
            they were saved.

    Returns:
        The step and whatever else was saved.

    Raises:
        FileError: The file is cut off, damaged, or not a training state.
        ValueError: The file does not have a part that is given, parameters differ, or an
            optimizer or scheduler is of another class than the saved one.
    """
    content = _read(path)
    states = content["states"]
    given = dict(zip(_PARTS, (model, optimizer, scheduler, scaler, loader), strict=True))
    wanted = {part: obj for part, obj in given.items() if obj is not None}
    for part in wanted:
        if part not in states:
            raise ValueError(f"{path} has no {part}; it has {', '.join(states) or 'none'}")
    names = optimizer_names.names_of(model)
    loads: list[Callable[[], None]] = []
    kinds = content.get("kinds", {})  # files of earlier releases do not tell
    for part, obj in wanted.items():
        _plan_loads(part, obj, states[part], part, names, kinds, loads)
    for load in loads:
        load()
    _restore_random(content["random"], generators or {}, random_states, path)
    return TrainingState(content["step"], content["extra"], content["versions"], tuple(states))


def _read(path: Any) -> Any:
    tensors, metadata = read_sealed(path)
    if metadata.get("format") != _FORMAT:
        raise FileError(f"{path} holds {metadata.get('format')!r}, not a training state")
    if metadata.get("version") != _VERSION:
        raise FileError(f"{path} has version {metadata.get('version')} of the format; this "
                        f"package reads version {_VERSION}: upgrade flambeau-tensor-core")
    return structure.decode(json.loads(metadata[_TREE]), tensors)


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for room in _ROOMS:
        try:
            found[f"flambeau-{room}"] = version(f"flambeau-{room}")
        except PackageNotFoundError:
            continue
    return found


# ---- things with a state --------------------------------------------------------------


def _state_of(
    part: str, obj: Any, where: str, names: dict[int, str], kinds: dict[str, str]
) -> Any:
    if isinstance(obj, dict):
        return {key: _state_of(part, each, f"{where}[{key!r}]", names, kinds)
                for key, each in obj.items()}
    if isinstance(obj, (list, tuple)):
        return [_state_of(part, each, f"{where}[{i}]", names, kinds)
                for i, each in enumerate(obj)]
    if not callable(getattr(obj, "state_dict", None)):
        raise TypeError(f"save_training_state(): {where} is a {type(obj).__name__}, which has no "
                        "state_dict()")
    state = obj.state_dict()
    if part in _BY_KIND:
        kinds[where] = type(obj).__name__
    return optimizer_names.to_names(obj, state, names) if part == "optimizer" else state


def _plan_loads(
    part: str, obj: Any, state: Any, where: str, names: dict[int, str], kinds: dict[str, str],
    loads: list,
) -> None:
    """Append to ``loads`` what puts each state back, once all are known to fit."""
    if isinstance(obj, (dict, list, tuple)):
        keys = list(obj) if isinstance(obj, dict) else list(range(len(obj)))
        saved = list(state) if isinstance(state, dict) else list(range(len(state)))
        if isinstance(obj, dict) != isinstance(state, dict) or set(keys) != set(saved):
            raise ValueError(f"{where} was saved with {saved}, but {keys} are given")
        for key in keys:
            _plan_loads(part, obj[key], state[key], f"{where}[{key!r}]", names, kinds,
                        loads)
        return
    if not callable(getattr(obj, "load_state_dict", None)):
        raise TypeError(f"load_training_state(): {where} is a {type(obj).__name__}, which has no "
                        "load_state_dict()")
    kind = type(obj).__name__
    if kinds.get(where, kind) != kind:
        raise ValueError(f"{where} was saved by {kinds[where]}, but {kind} is given, to which the "
                         "state means something else: make the same, or leave it out")
    if part == "optimizer":
        state = optimizer_names.from_names(obj, state, names, where)
    loads.append(lambda: obj.load_state_dict(state))


# ---- random streams --------------------------------------------------------------------


def _random_states(generators: dict[str, Any], python: bool, numpy: bool) -> dict[str, Any]:
    states: dict[str, Any] = {
        "default": _core.get_rng_state(),
        "generators": {name: each.get_state() for name, each in generators.items()}}
    if python:
        kind, words, gauss = random.getstate()
        states["python"] = [kind, _core.tensor(list(words), dtype=_INT64), gauss]
    if numpy and "numpy" in sys.modules:
        name, words, position, has_gauss, gauss = sys.modules["numpy"].random.get_state()
        if name == "MT19937":
            kept = _core.tensor(words.tolist(), dtype=_INT64)
            states["numpy"] = [name, kept, int(position), int(has_gauss), float(gauss)]
    return states


_INT64 = _core._dtype_named("int64")


def _restore_random(states: Any, generators: dict[str, Any], global_too: bool, path: Any) -> None:
    for name, generator in generators.items():
        if name not in states["generators"]:
            raise ValueError(f"{path} has no generator {name!r}; it has "
                             f"{list(states['generators'])}")
        generator.set_state(states["generators"][name])
    if not global_too:
        return
    _core.set_rng_state(states["default"])
    if "python" in states:
        kind, words, gauss = states["python"]
        random.setstate((kind, tuple(words.tolist()), gauss))
    if "numpy" in states:
        import numpy

        name, words, *rest = states["numpy"]
        numpy.random.set_state((name, words.numpy(), *rest))
