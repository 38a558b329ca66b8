"""What stands for a name of PyTorch's that Flambeau does not have.

At import a stub is whatever the test file needs: a decorator, a base class, a list, a number.
In a running test it refuses to be used, and the failure says which name is absent.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any


class Unsupported(AttributeError, NotImplementedError):
    """A test used a name that Flambeau does not have; an AttributeError, so `hasattr` is false."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Unsupported: {name}")


class Clock:
    """Whether a test is running, rather than its file being imported."""

    running = False


class Stub:
    """An absent name."""

    def __init__(self, name: str) -> None:
        self.__dict__["__name__"] = self.__dict__["__qualname__"] = name
        self.__dict__["__module__"] = name.rpartition(".")[0]

    def __getattr__(self, name: str) -> Any:
        return absent(f"{self.__name__}.{name}")

    def __setattr__(self, name: str, value: object) -> None:
        self.__dict__[name] = value

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """As a decorator, what it decorates; else, while importing, a stub of the result."""
        if not Clock.running and len(args) == 1 and not kwargs and _is_code(args[0]):
            return args[0]
        self._refuse()
        return Stub(f"{self.__name__}()")

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        plain = all(type(base) in (type, Stub) for base in bases)
        return (absent_class(self.__name__, AbsentType if plain else type),)

    def __instancecheck__(self, instance: object) -> bool:
        return False

    def __subclasscheck__(self, subclass: type) -> bool:
        return False

    def __enter__(self) -> Stub:
        self._refuse()
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __iter__(self) -> Iterator[Any]:
        self._refuse()
        return iter(())

    def __getitem__(self, key: object) -> Stub:
        self._refuse()
        return Stub(f"{self.__name__}[]")

    def __contains__(self, item: object) -> bool:
        return False

    def __bool__(self) -> bool:
        return False

    def __index__(self) -> int:
        self._refuse()
        return 0

    __int__ = __index__

    def __lt__(self, other: object) -> bool:
        return False

    __gt__ = __le__ = __ge__ = __lt__

    def __or__(self, other: object) -> Any:
        return self

    __ror__ = __or__

    def __repr__(self) -> str:
        return f"<absent {self.__name__}>"

    def __deepcopy__(self, memo: object) -> Stub:
        return self

    def __reduce__(self) -> tuple[type, tuple[str]]:
        return Stub, (self.__name__,)

    def _refuse(self) -> None:
        if Clock.running:
            raise Unsupported(self.__name__)


class AbsentValue(Stub):
    """A dtype or layout that Flambeau does not have, which tables and comparisons mention."""

    is_floating_point = is_complex = is_signed = True
    itemsize = 1

    def __init__(self, name: str, kind: type) -> None:
        super().__init__(name)
        self.__dict__["_kind"] = kind

    @property  # type: ignore[misc]  # what isinstance asks
    def __class__(self) -> Any:
        return self._kind

    def __bool__(self) -> bool:
        return True

    def __str__(self) -> str:
        return self.__name__


def absent(name: str) -> Any:
    """Return a stub while a file is imported; refuse the name while a test runs."""
    last = name.rpartition(".")[2]
    if last == "__config__":
        last = "config"
    if last == "__all__":
        return []
    if last.startswith("__") and last.endswith("__"):
        raise AttributeError(f"module has no attribute {last!r}")
    if Clock.running:
        raise Unsupported(name)
    return Stub(name)


class AbsentType(type):
    """The type of base classes that are absent: what they would bring is refused by name."""

    absent_name = ""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return absent(f"{cls.absent_name}.{name}")


def absent_class(name: str, kind: type[type]) -> type:
    """Return a base class of that name, whose instances cannot be made."""

    def refuse(self: object, *args: Any, **kwargs: Any) -> None:
        raise Unsupported(name)

    methods = {"__init__": refuse, "__enter__": refuse, "__exit__": refuse}
    return kind(name.rpartition(".")[2], (),
                {**methods, "__module__": "torch_suite", "absent_name": name})


def _is_code(value: object) -> bool:
    return isinstance(value, (types.FunctionType, types.MethodType, type))
