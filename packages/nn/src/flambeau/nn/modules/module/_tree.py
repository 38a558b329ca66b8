"""Walking the tree of modules: members by name, submodules by path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from flambeau import Tensor
from flambeau.core.spelling import hint

from ...parameter import Parameter
from ._attributes import Attributes
from ._members import members_of

if TYPE_CHECKING:
    from . import Module

Self = TypeVar("Self", bound="Tree")


class Tree(Attributes):
    """Lists parameters, buffers and modules of a module and all below it."""

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Iterate over the parameters, each once.

        Args:
            recurse: Include those of submodules.

        Example:
            >>> from flambeau import nn
            >>> [tuple(p.shape) for p in nn.Linear(3, 2).parameters()]
            [(2, 3), (2,)]
        """
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Iterate over (path, parameter).

        Args:
            prefix: Put before every name.
            recurse: Include those of submodules.
            remove_duplicate: Give a tied parameter once, under its first name.

        Example:
            >>> from flambeau import nn
            >>> net = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
            >>> [name for name, _ in net.named_parameters()]
            ['0.weight', '0.bias']
        """
        return self._named_members(_parameters_of, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Iterate over the buffers, each once; ``recurse`` includes those of submodules."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Iterate over (path, buffer); the arguments are those of ``named_parameters``.

        Example:
            >>> from flambeau import nn
            >>> [name for name, _ in nn.BatchNorm2d(4).named_buffers()]
            ['running_mean', 'running_var', 'num_batches_tracked']
        """
        return self._named_members(_buffers_of, prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Module]:
        """Iterate over the direct submodules, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Iterate over (name, submodule) of the direct submodules, each once.

        Example:
            >>> from flambeau import nn
            >>> [name for name, _ in nn.Sequential(nn.ReLU(), nn.Tanh()).named_children()]
            ['0', '1']
        """
        seen: set[int] = set()
        for name, module in self.__dict__["_modules"].items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Iterate over this module and all below it.

        Args:
            remove_duplicate: Give a module that occurs twice only once.
        """
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Iterate over (path, module) for this module and all below it, parents first.

        Args:
            memo: Modules already seen.
            prefix: The path of this module.
            remove_duplicate: Give a module that occurs twice only once.

        Example:
            >>> from flambeau import nn
            >>> [path for path, _ in nn.Sequential(nn.Sequential(nn.ReLU())).named_modules()]
            ['', '0', '0.0']
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self  # type: ignore[misc]
        for name, module in self.__dict__["_modules"].items():
            if module is not None:
                yield from module.named_modules(memo, join(prefix, name), remove_duplicate)

    def apply(self: Self, fn: Callable[[Module], Any]) -> Self:
        """Call ``fn`` on every module below this one and on itself, children first.

        Args:
            fn: Typically sets initial values.

        Returns:
            This module.

        Example:
            >>> from flambeau import nn
            >>> _ = nn.Sequential(nn.ReLU()).apply(lambda m: print(type(m).__name__))
            ReLU
            Sequential
        """
        for module in self.children():
            module.apply(fn)
        fn(self)  # type: ignore[arg-type]
        return self

    def get_submodule(self, target: str) -> Module:
        """The module at a path such as ``"encoder.0"``; ``""`` is this module.

        Raises:
            AttributeError: Nothing, or something else, is at that path.

        Example:
            >>> from flambeau import nn
            >>> nn.Sequential(nn.Sequential(nn.ReLU())).get_submodule("0.0")
            ReLU()
        """
        module: Any = self
        for name in target.split(".") if target else ():
            module = _step_to(module, name, target)
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put ``module`` at a path, replacing what is there.

        Args:
            target: The path.
            module: The new module.
            strict: Refuse a path whose last name does not exist yet.

        Raises:
            ValueError: The path is empty, or ``module`` is no module.
            AttributeError: A module on the way does not exist.

        Example:
            >>> from flambeau import nn
            >>> net = nn.Sequential(nn.ReLU())
            >>> net.set_submodule("0", nn.Tanh())
            >>> net[0]
            Tanh()
        """
        if not target:
            raise ValueError("set_submodule() needs the path of a submodule, not an empty string")
        if not isinstance(module, Attributes):
            raise ValueError(f"set_submodule() puts a module, not {type(module).__name__}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict:
            parent.get_submodule(name)
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a path such as ``"encoder.0.weight"``.

        Raises:
            AttributeError: Nothing, or something else, is at that path.
        """
        return _member_at(self, target, "parameter")

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path such as ``"encoder.1.running_mean"``.

        Raises:
            AttributeError: Nothing, or something else, is at that path.
        """
        return _member_at(self, target, "buffer")

    def _named_members(
        self,
        get_members_fn: Callable[[Any], Iterable[tuple[str, Any]]],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """Iterate over (path, member) of what ``get_members_fn`` says of every module."""
        seen: set[int] = set()
        modules: Any = [(prefix, self)]
        if recurse:
            modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for path, module in modules:
            for name, member in get_members_fn(module):
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield join(path, name), member


def _step_to(module: Any, name: str, target: str) -> Any:
    below = members_of(module, "_modules").get(name)
    if below is None:
        raise AttributeError(
            f"{type(module).__name__} has no submodule {name!r} (on the path {target!r})"
            + hint(name, module._modules)
        )
    return below


def _member_at(root: Tree, target: str, kind: str) -> Any:
    path, _, name = target.rpartition(".")
    module = root.get_submodule(path)
    members = members_of(module, f"_{kind}s")
    if members.get(name) is None:
        raise AttributeError(
            f"{type(module).__name__} has no {kind} {name!r} (on the path {target!r})"
            + hint(name, members)
        )
    return members[name]


def _parameters_of(module: Tree) -> list[tuple[str, Any]]:
    return list(module.__dict__["_parameters"].items())


def _buffers_of(module: Tree) -> list[tuple[str, Any]]:
    return list(module.__dict__["_buffers"].items())


def join(prefix: str, name: str) -> str:
    """The path of a member: ``prefix.name``, or ``name`` at the root."""
    return f"{prefix}.{name}" if prefix else name
