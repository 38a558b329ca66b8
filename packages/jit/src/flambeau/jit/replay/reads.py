"""What a recorded call was seen to read, as guards."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import (
    BuiltinMethodType,
    CellType,
    FunctionType,
    GeneratorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any
from weakref import ref

from . import trust
from .decorated import is_decorated
from .numbers import MISSING, Slot
from .trust import VALUES


class Reads:
    """Guards of one recording.

    Args:
        recording: the core's.
        guards: the core's.
    """

    def __init__(self, recording: Any, guards: Any) -> None:
        self.recording = recording
        self.guards = guards
        self.seen: set[tuple[Any, ...]] = set()
        self.inside: dict[int, Any] = {}        # what the call made itself, by address
        self.generators: dict[int, ref[Any]] = {}       # of functions of the call, by address
        #: Numbers that are others at each replay, by address: each, and its formula.
        self.numbers: dict[int, tuple[Any, Any]] = {}
        self.slots: set[tuple[int, Any]] = set()       # that were read: see ``numbers.Slot``
        self.written: dict[tuple[int, Any], Any] = {}   # and those that were written to
        self.argument_parts: set[int] = set()           # lists and dicts that are arguments
        self.writes: Any = None         # what writes to objects of outside; ``None``: refuse
        self.kept: list[Any] = []               # so that addresses stay theirs
        self.tensors: dict[int, Any] = {}       # those of outside, by address
        self.sources: dict[int, Any] = {}       # those that are arguments
        self.given: dict[int, Any] = {}         # containers of these, arguments as well
        self.grads: dict[int, Any] = {}         # the gradient of each as last seen
        self.cleared: set[int] = set()          # whose gradient is taken away before it is read
        self.waiting: list[Any] | None = []     # tensors whose gradients nobody has used so far
        #: Hears of gradients that are taken away; ``None`` where a program cannot do that anew.
        self.note_cleared: Callable[[Any], None] | None = None
        self.goes_back = False                  # a backward pass has run
        #: What steps of optimizers and schedulers may have changed, by address; a step that called
        #: a function of the program may have changed anything.
        self.stepped: set[int] = set()
        self.stepped_blindly = False
        self.versions: dict[int, int] = {}      # of tensors of outside, when they were first met

    def take_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Tensors among the arguments, which each call brings anew."""
        self.guards.take_arguments(args, kwargs)
        sources: list[Any] = self.guards.sources()
        self.sources = {id(each): each for each in sources}
        for each in (*args, *kwargs.values()):
            self._note_given(each)
        return sources

    def _note_given(self, obj: Any) -> bool:
        """Whether an argument is one of these tensors, or a container that has one."""
        if type(obj) in (tuple, list, dict):
            self.argument_parts.add(id(obj))
            found = [self._note_given(each)
                     for each in (obj.values() if type(obj) is dict else obj)]
            if any(found):
                self.given[id(obj)] = obj
        return id(obj) in self.sources or id(obj) in self.given

    def refuse(self, why: str) -> None:
        """There will be no replay, and from now on nothing is held that others could see."""
        self.recording.refuse(why)
        self.guards.let_go()
        self.inside.clear()
        self.numbers.clear()

    @property
    def is_refused(self) -> bool:
        """Whether there will be none."""
        return bool(self.recording.refusal)

    def made(self, obj: Any) -> Any:
        """Something that the call itself made."""
        if self.is_refused:
            self.inside.clear()         # so that each lives as long as it would otherwise
        else:
            self.inside[id(obj)] = obj
        return obj

    def made_deep(self, obj: Any) -> Any:
        """What an operator returned, with the containers in it."""
        if type(obj) in (list, dict) or isinstance(obj, tuple):
            self.made(obj)
            for each in obj.values() if type(obj) is dict else obj:
                self.made_deep(each)
        elif not isinstance(obj, VALUES) and not trust.is_tensor(obj):
            self.made(obj)
        return obj

    def begun(self, obj: Any) -> Any:
        """What a function returned: a generator ends when the program lets go of it."""
        if type(obj) is GeneratorType:
            self.generators[id(obj)] = ref(obj)
        return obj

    def is_inside(self, obj: Any) -> bool:
        """Whether the call made it."""
        if type(obj) is GeneratorType and id(obj) in self.generators:
            return self.generators[id(obj)]() is obj
        return id(obj) in self.inside

    def guard(self, kind: str, of: Any, key: Any = MISSING, value: Any = MISSING) -> None:
        """Add a guard, once."""
        mark = (kind, id(of), key if isinstance(key, str) else id(key))
        if mark in self.seen or self.is_refused:
            return
        if kind in ("item", "attribute", "cell"):
            slot = id(vars(of)) if kind == "attribute" else id(of), None if kind == "cell" else key
            self.slots.add(slot)
            written = slot in self.written
        else:
            written = kind in ("dict", "list") and any(each[0] == id(of) for each in self.written)
        if written:
            self.refuse(f"an object of class {type(of).__name__} is written to, and read")
        self.seen.add(mark)
        self.kept.append((of, key, value))
        try:
            self.guards.add((kind, of, key, value))
        except RuntimeError as error:
            self.refuse(str(error))

    # ---- tensors ---------------------------------------------------------------------------
    def read(self, value: Any) -> Any:
        """Something that was reached from outside: the next call's arguments may be others."""
        if self._has_arguments(value):
            self.refuse("an argument is also reached otherwise than as an argument")
        self._tensor_in(value)
        return value

    def _tensor_in(self, value: Any) -> None:
        """A tensor, or one of which there is a method."""
        if isinstance(value, MethodType | BuiltinMethodType):
            value = value.__self__
        if trust.is_tensor(value):
            self.tensor(value)

    def _has_arguments(self, value: Any) -> bool:
        if isinstance(value, MethodType | BuiltinMethodType):
            value = value.__self__
        if type(value) is tuple and any(self._has_arguments(each) for each in value):
            return True
        return id(value) in self.sources or id(value) in self.given

    def tensor(self, tensor: Any) -> None:
        """A tensor that was there before."""
        if id(tensor) in self.tensors or id(tensor) in self.sources or self.is_refused:
            return
        self.tensors[id(tensor)] = tensor
        self.versions[id(tensor)] = tensor._version
        if not trust.is_plain_tensor(tensor):
            self.refuse(f"a tensor of class {type(tensor).__name__} takes part")
            return
        if tensor.requires_grad and not tensor.is_leaf:
            self.refuse("a tensor with a history from outside takes part")
            return
        self.guard("tensor", tensor)
        grad = tensor.grad if tensor.is_leaf else None
        self.grads[id(tensor)] = grad
        if id(tensor) not in self.cleared:
            if self.waiting is not None:
                self.waiting.append(tensor)
            else:
                self._guard_grad(tensor)
        elif tensor.is_leaf:
            self.guard("hooks", tensor)

    def _guard_grad(self, tensor: Any) -> None:
        grad = self.grads[id(tensor)]
        if self.writes is not None and grad is not None and not grad.requires_grad \
                and trust.is_plain_tensor(grad) and self._has_used_grad(tensor):
            self.guard("hooks", tensor)         # it is added to, whichever it is
            self.writes.take_source(tensor, None, grad)
            return
        self.guard("leaf", tensor, MISSING, MISSING if grad is None else grad)
        self.read(grad)

    def use_grads(self) -> None:
        """Gradients are about to be read or changed: they have to be there as they are."""
        waiting, self.waiting = self.waiting, None
        self._guard_grads(waiting or ())

    def _guard_grads(self, tensors: Iterable[Any]) -> None:
        """The gradients of some of those that nobody has used so far had to be as they were."""
        for each in tensors:
            self._guard_grad(each)
        if self.waiting:
            guarded = set(map(id, tensors))
            self.waiting = [each for each in self.waiting if id(each) not in guarded]

    def clear_grad(self, tensor: Any) -> bool:
        """A gradient is about to be taken away: whether it may be any, as nobody has used it."""
        if self.note_cleared is None or not any(each is tensor for each in self.waiting or ()) \
                or not self.may_be_cleared(tensor):
            return False
        self.note_cleared(tensor)
        return True

    def may_be_cleared(self, tensor: Any) -> bool:
        """Whether the gradient that is about to be taken away may be any; then it is not looked
        at."""
        if id(tensor) not in self.tensors:
            self.cleared.add(id(tensor))
            return True
        if not any(each is tensor for each in self.waiting or ()) or self._has_used_grad(tensor):
            return id(tensor) in self.cleared
        self.waiting = [each for each in self.waiting or () if each is not tensor]
        self.cleared.add(id(tensor))
        self.guard("hooks", tensor)
        return True

    def went_back(self) -> None:
        """A backward pass has run: gradients that it has changed had to be there as they were."""
        self.goes_back = True
        self._guard_grads([each for each in self.waiting or () if self._has_used_grad(each)])

    def _has_used_grad(self, tensor: Any) -> bool:
        """Whether the gradient that was there was added to, which may be in place."""
        before = self.grads[id(tensor)]
        return tensor.grad is not before or before is not None and self.recording.uses(before)

    def end(self) -> None:
        """Of the call: gradients that no kernel used may be any."""
        self._guard_grads([each for each in self.waiting or () if self._has_used_grad(each)])
        for each in self.waiting or ():
            self.guard("hooks", each)

    # ---- what is written to ----------------------------------------------------------------
    def write(self, slots: Sequence[Slot], value: Any, put: Callable[[Any], Any]) -> None:
        """Something of outside is written to: see ``Writes.write``."""
        if self.writes is None:
            self.refuse("an object that was there before is written to")
        if self.is_refused:
            put(value)
        else:
            self.writes.write(slots, value, put)

    def is_changed(self, container: Any, key: Any) -> bool:
        """Whether this call has written there, or calls are known to change a number there."""
        mark = id(container), key
        return mark in self.written or self.writes is not None and mark in self.writes.changing

    def changed(self, container: Any, key: Any, value: Any) -> Any:
        """What is read at such a slot."""
        if (id(container), key) in self.written or self.is_refused:
            return value
        slot = Slot(container, key)
        if type(value) in (int, float):
            return self.writes.counter(slot, value)
        if self.writes.tensor(slot, value) is not None:
            return value
        self.guard("cell" if key is None else "item", container, MISSING if key is None else key,
                   value)
        return self.read(value)

    # ---- names -----------------------------------------------------------------------------
    def item(self, namespace: dict[Any, Any], key: Any) -> Any:
        """An item of a dict of outside, which is there."""
        value = dict.__getitem__(namespace, key)
        if id(namespace) in self.given:
            return value
        self.after_step(namespace)
        if self.is_changed(namespace, key):
            return self.changed(namespace, key, value)
        self.guard("item", namespace, key, value)
        return self.read(value)

    def cell(self, cell: CellType) -> Any:
        """What a variable of an outer function holds."""
        value = cell.cell_contents
        self.after_step(cell)
        if self.is_changed(cell, None):
            return self.changed(cell, None, value)
        self.guard("cell", cell, MISSING, value)
        return self.read(value)

    def function(self, fn: FunctionType) -> None:
        """A function's code, and its defaults."""
        self.guard("function", fn, MISSING, (fn.__code__, fn.__defaults__, fn.__kwdefaults__))
        if fn.__kwdefaults__:
            self.guard("dict", fn.__kwdefaults__, tuple(fn.__kwdefaults__),
                       tuple(fn.__kwdefaults__.values()))
        for each in (*(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values()):
            self.read(each)

    # ---- attributes ------------------------------------------------------------------------
    def in_class(self, cls: type, name: str) -> Any:
        """What a class has under a name, raw."""
        self.guard("class", cls)
        for each in cls.__mro__:
            if name in each.__dict__:
                return each.__dict__[name]
        return MISSING

    def class_name(self, cls: type) -> str:
        """A class's name, which may be assigned to, and then does not count as a change of it."""
        mark = ("name", id(cls))
        if mark not in self.seen:
            self.seen.add(mark)
            self.guard("answer", partial(getattr, cls, "__name__"), MISSING, cls.__name__)
        return cls.__name__

    def of_instance(self, obj: Any, name: str) -> tuple[str, Any]:
        """How an attribute is found: ``("value", it)``, ``("property", getter)``,
        ``("method", function)``, ``("hook", __getattr__)`` or ``("none", None)``."""
        cls = type(obj)
        if not self.is_inside(obj):
            self.guard("type", obj, MISSING, cls)
        raw = self.in_class(cls, name)
        if isinstance(raw, property):
            return "property", raw.fget
        fixed = isinstance(raw, MemberDescriptorType | GetSetDescriptorType)
        if fixed and not self.is_inside(obj):
            if name in ("__dict__", "__class__"):
                return "value", getattr(obj, name)
            self.refuse(f"{cls.__name__}.{name} cannot be guarded")
            return "value", getattr(obj, name)
        if hasattr(type(raw), "__set__"):
            self.refuse(f"{cls.__name__}.{name} is a descriptor")
            return "value", getattr(obj, name)
        own = getattr(obj, "__dict__", None)
        if own is not None and name in own:
            value = own[name]
            if not self.is_inside(obj):
                self.after_step(obj)
                if self.is_changed(own, name):
                    return "value", self.changed(own, name, value)
                self.guard("attribute", obj, name, value)
                self.read(value)
            return "value", value
        if own is not None and not self.is_inside(obj):
            self.guard("attribute", obj, name)
        if isinstance(raw, FunctionType) or is_decorated(raw):
            return "method", raw
        if raw is not MISSING:
            if trust.computes(raw):
                self.refuse(f"{cls.__name__}.{name} is a descriptor")
            return "value", self.read(getattr(obj, name))
        hook = self.in_class(cls, "__getattr__")
        return ("none", None) if hook is MISSING else ("hook", hook)

    def after_step(self, obj: Any) -> None:
        """A step of an optimizer may have changed what is read now."""
        if self.stepped_blindly or id(obj) in self.stepped:
            self.refuse(f"{type(obj).__name__} is read after an optimizer's step")

    # ---- containers ------------------------------------------------------------------------
    def whole(self, obj: Any) -> Any:
        """All of a container, where it was there before."""
        kind = type(obj)
        if self.is_inside(obj) or id(obj) in self.given:
            return obj
        if isinstance(obj, tuple):      # of outside, or of a function's arguments
            for each in obj:
                self._tensor_in(each)
            return obj
        if kind is list:
            self.after_step(obj)
            self.guard("list", obj, MISSING, tuple(obj))
            for each in obj:
                self.read(each)
        elif trust.is_dict(obj):
            self.after_step(obj)
            if kind is OrderedDict and len(obj) > 1:
                self.refuse("the order of an OrderedDict is read")
            self.guard("dict", obj, tuple(obj), tuple(obj.values()))
            for each in obj.values():
                self.read(each)
        elif not isinstance(obj, VALUES) and not isinstance(obj, (ModuleType, type)) \
                and not trust.is_constant(obj):
            self.refuse(f"an object of class {kind.__name__} is read as a whole")
        return obj
