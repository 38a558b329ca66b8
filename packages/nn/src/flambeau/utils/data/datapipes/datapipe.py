"""The base classes of pipelines' stages, whose methods are the stages that were registered."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Generic, TypeVar

from ..dataset import Dataset, IterableDataset
from ._hook_iterator import _SnapshotState, hook_iter, hook_next, hook_reset

T = TypeVar("T")
Sample = TypeVar("Sample", covariant=True)

__all__ = ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"]


class DataChunk(list[T], Generic[T]):
    """A list of samples: what ``batch`` gives.

    Args:
        items: The samples.
    """

    def __init__(self, items: Iterable[T]) -> None:
        items = list(items)
        super().__init__(items)
        self.items = items

    def as_str(self, indent: str = "") -> str:
        """The samples as text, after so much space."""
        return f"{indent}[{', '.join(map(str, self))}]"

    def raw_iterator(self) -> Iterator[T]:
        """The samples as they were given."""
        yield from self.items


class _Stage:
    """What stages of both kinds have in common: methods by name, hooks of programs."""

    functions: ClassVar[dict[str, Callable[..., Any]]]
    reduce_ex_hook: ClassVar[Callable[..., Any] | None] = None
    getstate_hook: ClassVar[Callable[..., Any] | None] = None
    str_hook: ClassVar[Callable[..., str] | None] = None
    repr_hook: ClassVar[Callable[..., str] | None] = None

    def __getattr__(self, name: str) -> Any:
        make = type(self).functions.get(name)
        if make is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        method = functools.partial(make, self)
        return functools.update_wrapper(method, make, assigned=("__doc__",))

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *type(self).functions]

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Give all stages of this kind a method.

        Args:
            function_name: Its name.
            function: What is called with the stage and the arguments.
        """
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(cls, function_name: str, cls_to_register: Any,
                                      enable_df_api_tracing: bool = False) -> None:
        """Give all stages of this kind a method that puts a stage of a class behind them.

        Args:
            function_name: Its name.
            cls_to_register: The class, or what makes one.
            enable_df_api_tracing: Accepted for compatibility: there are no data frames.

        Raises:
            Exception: There is one of that name.
        """
        if function_name in cls.functions:
            raise Exception(  # that is what programs catch
                f"Unable to add DataPipe function name {function_name} as it is already taken: "
                "give functional_datapipe() another name")

        def make(source: Any, *args: Any, **kwargs: Any) -> Any:
            return cls_to_register(source, *args, **kwargs)

        cls.functions[function_name] = functools.update_wrapper(
            make, cls_to_register, assigned=("__doc__",), updated=())

    def __getstate__(self) -> Any:
        return self._hooked(vars(self))

    def _hooked(self, state: Any) -> Any:
        """A state as the hook of programs wants it, if there is one."""
        hook = type(self).getstate_hook
        return state if hook is None else hook(state)

    def __reduce_ex__(self, protocol: Any) -> Any:
        hook = type(self).reduce_ex_hook
        if hook is not None:
            try:
                return hook(self)
            except NotImplementedError:
                pass
        return super().__reduce_ex__(protocol)

    @classmethod
    def set_getstate_hook(cls, hook_fn: Callable[..., Any] | None) -> None:
        """Set what ``__getstate__`` passes states to; None: nothing."""
        cls._set_hook("getstate_hook", hook_fn)

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn: Callable[..., Any] | None) -> None:
        """Set what is asked before ``__reduce_ex__``; None: nothing."""
        cls._set_hook("reduce_ex_hook", hook_fn)

    @classmethod
    def _set_hook(cls, name: str, hook: Callable[..., Any] | None) -> None:
        if getattr(cls, name) is not None and hook is not None:
            raise RuntimeError(f"Attempt to override existing {name}: set it to None before")
        setattr(cls, name, hook)

    def __repr__(self) -> str:
        hook = type(self).repr_hook
        return type(self).__qualname__ if hook is None else hook(self)

    def __str__(self) -> str:
        hook = type(self).str_hook
        return type(self).__qualname__ if hook is None else hook(self)


class IterDataPipe(_Stage, IterableDataset[Sample]):
    """A stage that is iterated over: subclasses define ``__iter__``, and ``reset`` for buffers.

    A stage has one iterator at a time: a new one resets the stage, and the older one raises.

    Example:
        >>> from flambeau.utils.data import IterDataPipe
        >>> class Count(IterDataPipe):
        ...     def __iter__(self):
        ...         yield from range(4)
        >>> list(Count().filter(bool).batch(2))
        [[1, 2], [3]]
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}
    _valid_iterator_id: int | None = None
    _number_of_samples_yielded = 0
    _snapshot_state = _SnapshotState.NotStarted
    _fast_forward_iterator: Iterator[Any] | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = vars(cls)
        counts = "__next__" in own
        for name, hook in (("reset", hook_reset), ("__next__", hook_next)):
            if name in own:
                setattr(cls, name, hook(own[name]))
        if "__iter__" in own:
            setattr(cls, "__iter__", hook_iter(own["__iter__"], counts))  # noqa: B010

    def __iter__(self) -> Iterator[Sample]:
        return self     # a subclass defines __next__

    @hook_reset
    def reset(self) -> None:
        """Go back to the first sample; called when iteration begins."""


class DFIterDataPipe(IterDataPipe[Any]):
    """A stage of data frames; there are none here, and classes are asked for it."""


class MapDataPipe(_Stage, Dataset[Sample]):
    """A stage that gives samples by their index: subclasses define ``__getitem__``, ``__len__``.

    Example:
        >>> from flambeau.utils.data.datapipes.map import SequenceWrapper
        >>> data = SequenceWrapper(range(5)).map(lambda x: x * x).batch(2)  # doctest: +SKIP
        >>> data[1]  # doctest: +SKIP
        [4, 9]
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}
