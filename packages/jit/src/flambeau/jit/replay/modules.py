"""Modules of ``flambeau.nn`` in a recorded call.

A module whose class and whose members are Flambeau's own is called as it is, and its state is
guarded as a whole. Of others ``forward`` is followed.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from flambeau.core.homes import own_module
from flambeau.jit import bridge

from . import trust
from .numbers import MISSING
from .reads import Reads

_MEMBERS = ("_parameters", "_buffers", "_modules")
_LISTS = ("parameters", "buffers", "children", "modules", "named_parameters", "named_buffers",
          "named_children", "named_modules")


def call(calls: Any, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``module(...)``."""
    reads = calls.reads
    if not trust.calls_plainly(module):
        calls.refuse(f"{type(module).__name__} has hooks, or a __call__ of its own")
        return module(*args, **kwargs)
    reads.guard("attribute", module, "_hook_table", None)
    table = trust.hooks_everywhere()
    reads.guard("dict", table, tuple(table), tuple(table.values()))
    if is_guarded_tree(calls, module):
        return calls.native(module, args, kwargs)
    return calls.call(calls.attribute(module, "forward"), args, kwargs)


def is_own_tree(calls: Any, module: Any) -> bool:
    """Whether a module and all below are of Flambeau's classes and hold nothing but data."""
    known = calls.trees
    if id(module) not in known:
        calls.reads.kept.append(module)
        known[id(module)] = False           # what holds itself is no tree
        known[id(module)] = trust.is_own_module(module) and all(
            _is_data(calls, value) for value in module.__dict__.values())
    return known[id(module)]


def _is_data(calls: Any, value: Any) -> bool:
    if trust.is_tensor(value):
        return trust.is_plain_tensor(value)
    if type(value) in (list, tuple, set):
        return all(_is_data(calls, each) for each in value)
    if trust.is_dict(value):
        return all(_is_data(calls, each) for each in value.values())
    if trust.is_module(value):
        return trust.calls_plainly(value) and is_own_tree(calls, value)
    return trust.is_value(value) or trust.is_constant(value) or trust.is_trusted(value)


class _TreeReads(Reads):
    """Guards of a tree of modules by themselves, without those of its tensors."""

    def __init__(self, reads: Reads) -> None:
        super().__init__(reads.recording, bridge.Guards())
        self.stepped, self.stepped_blindly = reads.stepped, reads.stepped_blindly
        self.written = reads.written
        self.found: list[Any] = []

    def tensor(self, tensor: Any) -> None:
        self.found.append(tensor)


class Tree:
    """All that a tree of modules holds: later recordings take that over as long as it is so.

    Args:
        reads: those of the recording.
        module: the top of the tree.
    """

    def __init__(self, reads: Reads, module: Any) -> None:
        own = _TreeReads(reads)
        _guard_module(own, module)
        self.guards, self.marks, self.tensors = own.guards, own.seen, own.found

    def is_taken_over(self, reads: Reads) -> bool:
        """Whether a recording got its guards, all of which hold."""
        if any(mark[0] in ("dict", "list") and mark[1] == of for mark in self.marks
               for of, _ in reads.written):
            return False
        if not reads.guards.adopt(self.guards):
            return False
        reads.seen |= self.marks
        for each in self.tensors:
            reads.read(each)
        return True


def is_guarded_tree(calls: Any, module: Any) -> bool:
    """Guard all that a tree of modules holds, if it is Flambeau's own and nothing but data."""
    if ("tree", id(module)) in calls.reads.seen:
        return True
    tree = None if calls.reads.stepped_blindly else calls.known_trees.get(id(module))
    if tree is None or not tree.is_taken_over(calls.reads):
        if not is_own_tree(calls, module):
            return False
        tree = Tree(calls.reads, module)
        tree.is_taken_over(calls.reads)
    calls.found_trees[id(module)] = tree
    return True


def _guard_module(reads: Reads, module: Any) -> None:
    mark = ("tree", id(module))
    if mark in reads.seen:
        return
    reads.after_step(module)
    reads.seen.add(mark)
    reads.guard("type", module, MISSING, type(module))
    reads.guard("class", type(module))
    own = module.__dict__
    reads.guard("dict", own, tuple(own), tuple(own.values()))
    for value in own.values():
        _guard_data(reads, value)


def _guard_data(reads: Reads, value: Any) -> None:
    if type(value) in (list, tuple) or trust.is_dict(value):
        reads.whole(value)
        for each in value.values() if trust.is_dict(value) else value:
            _guard_data(reads, each)
    elif trust.is_module(value):
        _guard_module(reads, value)
    else:
        reads.read(value)


def holds_members(module: Any, name: str) -> bool:
    """Whether an attribute is one of the dicts that a module's members lie in."""
    return name in _MEMBERS and trust.is_module(module) \
        and trust.is_own_property(type(module), name)


def dict_of_members(calls: Any, module: Any, name: str) -> Any:
    """One of those dicts."""
    calls.reads.guard("type", module, MISSING, type(module))
    calls.reads.guard("class", type(module))
    getattr(module, name)           # a module that was copied takes a dict of its own
    return calls.reads.item(module.__dict__, name)


def members(calls: Any, module: Any) -> Any:
    """What a module that is a list of modules iterates over."""
    if not trust.is_list_of_modules(module):
        own = calls.reads.in_class(type(module), "__iter__")
        if isinstance(own, FunctionType):
            return calls.call(own, (module,), {})
        calls.refuse(f"{type(module).__name__} is iterated over")
        return iter(module)
    _guard_members(calls, module)
    return calls.reads.made(list(module))


def by_protocol(calls: Any, fn: Any, module: Any) -> Any:
    """``len(module)`` or ``reversed(module)``."""
    if trust.is_list_of_modules(module):
        found = fn(members(calls, module))
        return found if fn is len else calls.reads.made(found)
    own = calls.reads.in_class(type(module), f"__{fn.__name__}__")
    if isinstance(own, FunctionType) and own_module(own).startswith("flambeau.nn."):
        return calls.call(own, (module,), {})
    calls.refuse(f"{fn.__name__}() of {type(module).__name__}")
    return fn(module)


def member(calls: Any, module: Any, key: Any) -> Any:
    """``module[key]``."""
    if not trust.is_list_of_modules(module) or not isinstance(key, (int, str)):
        own = calls.reads.in_class(type(module), "__getitem__")
        if isinstance(own, FunctionType) and not trust.is_list_of_modules(module):
            return calls.call(own, (module, key), {})
        calls.refuse(f"an item of {type(module).__name__} is read")
        return module[key]
    calls.decide(key)
    _guard_members(calls, module)
    return calls.reads.read(module[key])


def _guard_members(calls: Any, module: Any) -> None:
    own = module.__dict__
    calls.reads.guard("type", module, MISSING, type(module))
    calls.reads.guard("class", type(module))
    calls.reads.guard("dict", own, tuple(own), tuple(own.values()))
    for value in own.values():
        if trust.is_dict(value):
            calls.reads.whole(value)
        else:
            calls.reads.read(value)


def holders_of(module: Any, name: str, value: Any) -> list[Any]:
    """The dicts in which a module keeps what is set on it; none where that is a member."""
    own = module.__dict__
    if trust.is_module(value) or own_module(type(value)) == "flambeau.nn.parameter" \
            or name in own["_parameters"] or name in own["_modules"]:
        return []
    if name not in own["_buffers"]:
        return [own]
    return [own, own["_buffers"]] if trust.is_tensor(value) else []


def clear_grads(calls: Any, module: Any) -> None:
    """``module.zero_grad()``."""
    for each in listed(calls, module, "parameters"):
        calls.set_attribute(each, "grad", None)


def lists(module: Any, name: str) -> bool:
    """Whether a method lists a module's members as Flambeau does."""
    return name in _LISTS and trust.is_own_method(module, name)


def listed(calls: Any, module: Any, name: str) -> Any:
    """The members that a method lists."""
    for each in module.modules():
        _guard_members(calls, each)
    found = list(getattr(module, name)())
    for each in found:
        calls.reads.read(each[1] if type(each) is tuple else each)
    return calls.reads.made(iter(found))
