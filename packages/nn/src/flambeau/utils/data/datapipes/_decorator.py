"""Decorators of stages: methods by name, determinism, checks of samples."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Iterator
from typing import Any

from .datapipe import IterDataPipe, MapDataPipe

__all__ = ["argument_validation", "functional_datapipe", "guaranteed_datapipes_determinism",
           "non_deterministic", "runtime_validation", "runtime_validation_disabled"]


class functional_datapipe:
    """A class decorator: stages get a method of this name, which puts one of the class behind.

    Args:
        name: The method's name.
        enable_df_api_tracing: Accepted for compatibility.

    Example:
        >>> from flambeau.utils.data import IterDataPipe, functional_datapipe
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> @functional_datapipe("every_other")
        ... class EveryOther(IterDataPipe):
        ...     def __init__(self, source):
        ...         self.source = source
        ...
        ...     def __iter__(self):
        ...         yield from (x for i, x in enumerate(self.source) if i % 2 == 0)
        >>> list(IterableWrapper("abcd").every_other())
        ['a', 'c']
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name

    def __call__(self, cls: Any) -> Any:
        kind = cls.cls if isinstance(cls, non_deterministic) else cls
        kind = getattr(getattr(kind, "__self__", None), "cls", kind)
        for base in (IterDataPipe, MapDataPipe):
            if isinstance(kind, type) and issubclass(kind, base):
                base.register_datapipe_as_function(self.name, cls)
                return cls
        raise TypeError("`functional_datapipe` can only decorate classes of IterDataPipe and "
                        f"MapDataPipe, not {cls!r}")


class _Switch:
    """A setting that is on, or off, until the block is left; set when it is made."""

    setting: str
    value: bool

    def __init__(self) -> None:
        self.prev = _settings[self.setting]
        _settings[self.setting] = self.value

    def __enter__(self) -> None:
        """Nothing: it is set."""

    def __exit__(self, *error: object) -> None:
        _settings[self.setting] = self.prev


_settings = {"determinism": False, "validation": True}


class guaranteed_datapipes_determinism(_Switch):
    """A block in which no stage may be made whose order is not the same in each run."""

    setting, value = "determinism", True


class runtime_validation_disabled(_Switch):
    """A block in which ``runtime_validation`` checks nothing."""

    setting, value = "validation", False


class non_deterministic:
    """A class decorator: such stages are refused where determinism is guaranteed.

    Args:
        arg: The class, or a function of the arguments that says whether that is so.
    """

    cls: Any = None

    def __init__(self, arg: Any) -> None:
        if isinstance(arg, type):
            _check_stage(arg)
            self.cls, self._says = arg, lambda *args, **kwargs: True
        elif callable(arg):
            self._says = arg
        else:
            raise TypeError(f"{arg} can not be decorated by non_deterministic: write it above a "
                            "class of IterDataPipe")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.cls is None:
            _check_stage(args[0])
            self.cls = args[0]
            return self._make
        return self._make(*args, **kwargs)

    def _make(self, *args: Any, **kwargs: Any) -> Any:
        answer = self._says(*args, **kwargs)
        if not isinstance(answer, bool):
            raise TypeError("the function of `non_deterministic` must return True or False, not "
                            f"{type(answer).__name__}")
        if answer and _settings["determinism"]:
            raise TypeError(f"{self.cls.__name__} is non-deterministic, but you set "
                            "'guaranteed_datapipes_determinism': leave its block for this stage")
        return self.cls(*args, **kwargs)


def _check_stage(cls: Any) -> None:
    if not (isinstance(cls, type) and issubclass(cls, IterDataPipe)):
        raise TypeError(f"Only `IterDataPipe` can be decorated with `non_deterministic`, not {cls}")


def argument_validation(f: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator of ``__init__``: what is annotated as a stage must be one."""
    signature, hints = inspect.signature(f), typing.get_type_hints(f)

    @functools.wraps(f)
    def checked(*args: Any, **kwargs: Any) -> Any:
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            hint = typing.get_origin(hints.get(name)) or hints.get(name)
            if isinstance(hint, type) and issubclass(hint, IterDataPipe) and \
                    not isinstance(value, IterDataPipe):
                raise TypeError(f"Expected argument {name!r} as a IterDataPipe, but found "
                                f"{type(value)}")
        return f(*args, **kwargs)

    return checked


def runtime_validation(f: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """A decorator of ``__iter__``: samples must be of the class in ``IterDataPipe[...]``."""
    if f.__name__ != "__iter__":
        raise TypeError(f"Can not decorate function {f.__name__} with 'runtime_validation': it is "
                        "for __iter__")

    @functools.wraps(f)
    def checked(self: Any) -> Iterator[Any]:
        wanted = _declared(type(self))
        for sample in f(self):
            if _settings["validation"] and wanted and not isinstance(sample, wanted):
                raise RuntimeError(f"Expected an instance as subtype of {wanted.__name__}, but "
                                   f"found {sample}({type(sample)})")
            yield sample

    return checked


def _declared(cls: type) -> type | None:
    """The class of samples that a stage declares, where that is a plain class."""
    for base in getattr(cls, "__orig_bases__", ()):
        origin, given = typing.get_origin(base), typing.get_args(base)
        if isinstance(origin, type) and issubclass(origin, IterDataPipe) and given:
            kind = typing.get_origin(given[0]) or given[0]
            return kind if isinstance(kind, type) else None
    return None
