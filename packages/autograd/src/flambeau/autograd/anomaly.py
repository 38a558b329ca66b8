"""Finding where a NaN came from: ``detect_anomaly``, ``set_detect_anomaly``, ``nan_check``."""
from __future__ import annotations

from types import TracebackType

from flambeau.autograd._engine import NanWatch, note_places

__all__ = ["detect_anomaly", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "nan_check",
           "set_detect_anomaly"]

_open: list[detect_anomaly] = []


class detect_anomaly:
    """Note the line of each forward call, and raise at the first operator that makes a NaN.

    An error in a backward pass then names the forward call it belongs to, and so does the error
    about a saved tensor that was changed in place. It costs time at every operator: switch it
    on to look for a fault, and off again. What ran before the block is not watched.

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
        self.check_nan = check_nan
        self._watch: NanWatch | None = None

    def __enter__(self) -> detect_anomaly:
        note_places(True, True)
        self._watch = NanWatch(False) if self.check_nan else None
        if self._watch is not None:
            self._watch.__enter__()
        _open.append(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        _open.remove(self)
        if self._watch is not None:
            self._watch.__exit__(kind, value, trace)
        note_places(False, True)


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
        self._before = list(_open)
        for block in reversed(self._before):
            block.__exit__(None, None, None)
        self._own = detect_anomaly(check_nan) if mode else None
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
    return bool(_open)


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly detection is on and looks for NaN.

    Returns:
        bool

    Example:
        >>> import flambeau
        >>> flambeau.is_anomaly_check_nan_enabled()
        False
    """
    return any(block.check_nan for block in _open)
