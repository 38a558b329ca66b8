"""Checks of functions that stages call, and files that they open."""

from __future__ import annotations

import fnmatch
import functools
import inspect
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

__all__ = ["StreamWrapper", "get_file_binaries_from_pathnames", "get_file_pathnames_from_root",
           "match_masks", "validate_input_col", "validate_pathname_binary_tuple"]

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_DEPTH = 10     # of containers in which streams are looked for


def validate_input_col(fn: Callable[..., Any], input_col: Any) -> None:
    """Check that a function takes as many arguments as columns are picked.

    Args:
        fn: The function.
        input_col: An index or key, or a list or tuple of them; ``None`` counts as one.

    Raises:
        ValueError: It takes more or fewer, or needs keywords.
    """
    try:
        parameters = inspect.signature(fn).parameters.values()
    except ValueError:      # of a function in C
        return
    given = len(input_col) if isinstance(input_col, list | tuple) else 1
    named = fn.func if isinstance(fn, functools.partial) else fn
    name = getattr(named, "__name__", repr(named))
    keywords = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    if keywords:
        raise ValueError(f"The function {name} takes {len(keywords)} non-default keyword-only "
                         "parameters, which is not allowed: give them defaults")
    positional = [p for p in parameters if p.kind in _POSITIONAL]
    needed = sum(p.default is p.empty for p in positional)
    open_ended = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if needed > given or (len(positional) < given and not open_ended):
        raise ValueError(f"The function {name} takes {len(positional)} parameters, but {given} are "
                         "required: input_col picks so many")


def pick(data: Any, column: Any, fn: Callable[..., Any]) -> Any:
    """A function's result for columns of a sample."""
    if column is None:
        return fn(data)
    if isinstance(column, list | tuple):
        return fn(*(data[each] for each in column))
    return fn(data[column])


def check_function(fn: Callable[..., Any]) -> None:
    """Warn of a function that cannot be sent to other processes.

    Raises:
        TypeError: It is no function.
    """
    if not callable(fn):
        raise TypeError(f"A callable function is expected, but {type(fn)} is provided.")
    inside = fn.func if isinstance(fn, functools.partial) else fn
    code = getattr(inside, "__code__", None)
    name = getattr(inside, "__qualname__", type(inside).__qualname__)
    is_local = code.co_flags & inspect.CO_NESTED if code is not None else "<locals>" in name
    is_lambda = getattr(inside, "__name__", "") == "<lambda>"
    if is_local or is_lambda:
        kind = "Local" if is_local else "Lambda"
        warnings.warn(f"{kind} function is not supported by pickle, please use regular python "
                      "function or functools.partial instead.", stacklevel=3)


def match_masks(name: str, masks: str | list[str]) -> bool:
    """Whether a name fits one of the patterns, such as ``"*.png"``; all fit no pattern."""
    patterns = [masks] if isinstance(masks, str) else masks
    return not masks or any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def get_file_pathnames_from_root(root: str, masks: str | list[str], recursive: bool = False,
                                 abspath: bool = False, non_deterministic: bool = False
                                 ) -> Iterator[str]:
    """The files below a folder, or a file itself.

    Args:
        root: The folder or file.
        masks: Patterns that their names fit.
        recursive: Whether folders in it are entered.
        abspath: Whether paths are absolute.
        non_deterministic: Whether they come in the order of the file system.
    """

    def fail(error: OSError) -> NoReturn:
        warnings.warn(f"{error.filename} : {error.strerror}", stacklevel=2)
        raise error

    if os.path.isfile(root):
        if match_masks(os.path.basename(root), masks):
            yield os.path.abspath(root) if abspath else root
        return
    for folder, folders, files in os.walk(root, onerror=fail):
        if not non_deterministic:
            files.sort()
            folders.sort()
        start = os.path.abspath(folder) if abspath else folder
        yield from (os.path.join(start, name) for name in files if match_masks(name, masks))
        if not recursive:
            return


def get_file_binaries_from_pathnames(pathnames: Any, mode: str, encoding: str | None = None
                                     ) -> Iterator[tuple[str, StreamWrapper]]:
    """Paths with the files opened.

    Args:
        pathnames: A path, or several.
        mode: As for ``open``; ``"b"`` and ``"t"`` read.
        encoding: The same.
    """
    several = pathnames if isinstance(pathnames, Iterable) else [pathnames]
    for pathname in several:
        if not isinstance(pathname, str):
            raise TypeError(f"Expected string type for pathname, but got {type(pathname)}")
        file = open(pathname, f"r{mode}" if mode in ("b", "t") else mode, encoding=encoding)
        yield pathname, StreamWrapper(file)


def validate_pathname_binary_tuple(data: Any) -> None:
    """Check that a sample is a path and a stream.

    Raises:
        TypeError: It is not.
    """
    if not isinstance(data, tuple) or len(data) != 2 or not isinstance(data[0], str) or \
            not hasattr(data[1], "read"):
        raise TypeError(f"a sample must be a tuple of a path and a binary stream, not {data!r}")


class StreamWrapper:
    """A file that is closed when nobody holds it any more.

    Args:
        file_obj: The file.
        parent_stream: The archive that it is in, which ``autoclose`` closes after its last file.
        name: What it is shown as.
    """

    child_counter: int
    closed = True   # until there is a file

    def __init__(self, file_obj: Any, parent_stream: StreamWrapper | None = None,
                 name: str | None = None) -> None:
        if parent_stream is not None:
            if not isinstance(parent_stream, StreamWrapper):
                raise RuntimeError(f"Parent stream should be StreamWrapper, {type(parent_stream)} "
                                   "was given")
            parent_stream.child_counter += 1
        self.file_obj, self.parent_stream, self.name = file_obj, parent_stream, name
        self.child_counter, self.close_on_last_child = 0, False
        self.closed = False

    @classmethod
    def close_streams(cls, v: Any, depth: int = 0) -> None:
        """Close all such streams in dicts, lists and tuples."""
        if isinstance(v, StreamWrapper):
            v.close()
        elif depth < _DEPTH and isinstance(v, dict | list | tuple):
            for each in v.values() if isinstance(v, dict) else v:
                cls.close_streams(each, depth + 1)

    def close(self, *args: Any, **kwargs: Any) -> None:
        """Close the file, and the archive after its last one."""
        if self.closed:
            return
        self.closed = True
        parent = self.parent_stream
        if parent is not None:
            parent.child_counter -= 1
            if not parent.child_counter and parent.close_on_last_child:
                parent.close()
        if hasattr(self.file_obj, "close"):
            self.file_obj.close(*args, **kwargs)

    def autoclose(self) -> None:
        """Close when the last file in it is closed; now, if there is none."""
        self.close_on_last_child = True
        if not self.child_counter:
            self.close()

    def __getattr__(self, name: str) -> Any:
        if name == "file_obj":
            raise AttributeError(name)
        return getattr(self.file_obj, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self.file_obj)})

    def __del__(self) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        yield from self.file_obj

    def __next__(self) -> Any:
        return next(self.file_obj)

    def __repr__(self) -> str:
        shown = repr(self.file_obj) if self.name is None else f"{self.name},{self.file_obj!r}"
        return f"StreamWrapper<{shown}>"

    def __getstate__(self) -> Any:
        return self.file_obj

    def __setstate__(self, file_obj: Any) -> None:
        StreamWrapper.__init__(self, file_obj)
