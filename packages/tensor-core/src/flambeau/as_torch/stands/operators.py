"""`torch.ops`: operators that compiled parts of libraries would register."""
from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from flambeau import rooms
from flambeau.as_torch import placeholders

#: The end of a compiled library's path, without its suffix -> namespace, module that has operators.
LIBRARIES = {"torchvision/_C": ("torchvision", "vision"), "torchvision/image": ("image", "images")}


class Operator:
    """A function with the names that PyTorch's operators have; its one overload is itself."""

    def __init__(self, namespace: str, name: str, function: Callable[..., Any]) -> None:
        self.namespace, self.__name__, self.__doc__ = namespace, name, function.__doc__
        self._qualified_op_name = f"{namespace}::{name}"
        self.default, self.__call = self, function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__call(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<operator {self._qualified_op_name}>"


class Namespace:
    """Operators of one library."""

    def __init__(self, name: str, functions: dict[str, Callable[..., Any]]) -> None:
        self.name = name
        for word, function in functions.items():
            setattr(self, word, Operator(name, word, function))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return placeholders.placeholder(f"ops.{self.name}.{name}")


class Operators:
    """Namespaces of operators; one that nobody registered raises when it is used."""

    def __init__(self) -> None:
        self.loaded_libraries: set[str] = set()

    def load_library(self, path: str | os.PathLike[str]) -> None:
        """Offer the operators of a compiled library, in Flambeau's own making.

        Raises:
            OSError: Nobody made them; the library itself needs PyTorch.
        """
        words = os.fspath(path).replace(os.sep, "/").split("/")[-2:]
        name = "/".join(words).partition(".")[0]
        if name not in LIBRARIES:
            raise OSError(
                f"torch.ops.load_library(): {os.fspath(path)!r} is compiled for PyTorch and cannot "
                "be loaded; write its operators in Python, or with flambeau.core.register_op")
        namespace, module = LIBRARIES[name]
        home = rooms.import_module(f"{__package__}.{module}")
        setattr(self, namespace, Namespace(namespace, home.OPERATORS))
        self.loaded_libraries.add(os.fspath(path))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return placeholders.placeholder(f"ops.{name}")


ops = Operators()
