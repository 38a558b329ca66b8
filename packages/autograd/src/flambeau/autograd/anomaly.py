"""Finding where a NaN came from: ``detect_anomaly``, ``set_detect_anomaly``, ``nan_check``."""
from __future__ import annotations

import sys
import threading
import warnings
from types import TracebackType
from typing import Any

from flambeau.autograd._engine import NanWatch, note_call_sites

__all__ = ["detect_anomaly", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "nan_check",
           "set_detect_anomaly"]

class _Thread(threading.local):
    """The blocks that each thread is in: each watches the operators of its own thread."""

    def __init__(self) -> None:
        self.open: list[_Watching] = []


_thread = _Thread()


class _Watching:
    """A block that is watched."""

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        self._watch: NanWatch | None = None

    def __enter__(self) -> _Watching:
        note_call_sites(True, True)
        self._watch = NanWatch(False) if self.check_nan else None
        if self._watch is not None:
            self._watch.__enter__()
        _thread.open.append(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        _thread.open.remove(self)
        if self._watch is not None:
            self._watch.__exit__(kind, value, trace)
        note_call_sites(False, True)


class detect_anomaly(_Watching):
    """Note the line of each forward call, and raise at the first operator that makes a NaN.

    An error in a backward pass then names the forward call it belongs to, and so does the error
    about a saved tensor that was changed in place; a warning shows the traceback of that call. It
    costs time at every operator, and warns of that: switch it on to look for a fault, and off
    again. What ran before the block is not watched.

    Args:
        check_nan: raise where a forward or backward step makes a NaN of finite numbers.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([0.0, 1.0], requires_grad=True)
        >>> with flambeau.autograd.detect_anomaly():
        ...     flambeau.sqrt(x).mul(0).sum().backward()
        Traceback (most recent call last):
        RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output: ...
    """

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(check_nan)
        warnings.warn("Anomaly Detection has been enabled. This mode will increase the runtime "
                      "and should only be enabled for debugging.", UserWarning, stacklevel=2)


class set_detect_anomaly:
    """Switch anomaly detection on or off at once; as a context manager, until its block ends.

    Args:
        mode: whether to watch.
        check_nan: as in :class:`detect_anomaly`.

    Example:
        >>> import flambeau
        >>> with flambeau.autograd.set_detect_anomaly(True):
        ...     flambeau.is_anomaly_enabled()
        True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = list(_thread.open)
        for block in reversed(self._before):
            block.__exit__(None, None, None)
        self._own = _Watching(check_nan) if mode else None
        if self._own is not None:
            self._own.__enter__()

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self._own is not None:
            self._own.__exit__(kind, value, trace)
        for block in self._before:
            block.__enter__()


class nan_check:
    """Raise at the first operator that makes a NaN or an infinity; lighter than detect_anomaly.

    It notes the line of each forward call, but no tracebacks.

    Args:
        inf: look for infinities, too, where all that went in was finite.

    Example:
        >>> import flambeau
        >>> with flambeau.autograd.nan_check():
        ...     flambeau.log(flambeau.tensor([1.0, 0.0]))
        Traceback (most recent call last):
        RuntimeError: log() made an infinity of finite inputs (a flambeau.float32 tensor ...
    """

    def __init__(self, inf: bool = True) -> None:
        self._watch = NanWatch(inf)

    def __enter__(self) -> nan_check:
        self._watch.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._watch.__exit__(kind, value, trace)


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection is on.

    Returns:
        bool

    Example:
        >>> import flambeau
        >>> flambeau.is_anomaly_enabled()
        False
    """
    return bool(_thread.open)


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly detection is on and looks for NaN.

    Returns:
        bool

    Example:
        >>> import flambeau
        >>> flambeau.is_anomaly_check_nan_enabled()
        False
    """
    return any(block.check_nan for block in _thread.open)


def warn_of_error(node: Any) -> None:
    """Show which forward call a node of a failed backward pass belongs to.

    Args:
        node: the node; where it was recorded in a backward pass itself, the node of that pass
            is told of, too.
    """
    trace = node.metadata.get("traceback_")
    text = f"Error detected in {node.name()}. " + (
        f"Traceback of forward call that caused the error:\n{''.join(trace)}" if trace else
        "No forward pass information available. Enable detect anomaly during forward pass for "
        "more information.")
    _warn_or_print(text)
    while (node := node.metadata.get("parent_")) is not None:
        trace = node.metadata.get("traceback_")
        _warn_or_print(f"Previous calculation was induced by {node.name()}. " + (
            "Traceback of forward call that induced the previous calculation:\n"
            f"{''.join(trace)}" if trace else
            "No forward pass information available."))


def _warn_or_print(text: str) -> None:
    """Warn; where warnings are errors, print, for the error itself is to be seen."""
    try:
        warnings.warn(text, UserWarning, stacklevel=2)
    except UserWarning as warning:
        print(f"Warning: {warning}", file=sys.stderr)
