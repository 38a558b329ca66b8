"""Whose code reads nothing but its arguments, and what objects cannot change."""

from __future__ import annotations

import sys
from abc import ABCMeta
from collections import OrderedDict, defaultdict
from contextlib import nullcontext
from enum import Enum
from functools import cache
from types import FunctionType, MethodDescriptorType, MethodType, UnionType
from typing import Any

from flambeau.core import _core
from flambeau.core.composites import conversions
from flambeau.core.homes import is_own, own_module
from flambeau.core.size import Size

COMPILED = (_core.DeferredCall, _core.ReplayedCall)
_CONSTANTS = {"dtype", "device", "layout", "memory_format", "Generator", "finfo", "iinfo"}
CYTHON = type(conversions.to)
_NATIVE = frozenset({"tensor", "as_tensor", "is_tensor", "promote_types", "result_type", "can_cast",
                     "is_grad_enabled", "is_inference_mode_enabled", "get_default_dtype"})
_FUNCTIONS = ("flambeau.core.composites.", "flambeau.core.compat.flat_names", "flambeau.nn.")
#: Modules whose functions run while a call is recorded, by how their names begin.
_OWN = ("flambeau.nn", "flambeau.core.composites", "flambeau.core.compat", "flambeau.autograd",
        "flambeau.utils.checkpoint")
_OWN_ABOVE = ("flambeau", "flambeau.core", "flambeau.core._core")
_watched = 0        # the version of ``sys.modules`` whose modules are
_REFUSED = ("flambeau.core.composites.shape.resizing",)
_MODES = frozenset({"no_grad", "enable_grad", "inference_mode", "set_grad_enabled", "autocast"})
_METHODS = frozenset({
    "size", "stride", "dim", "numel", "storage_offset", "is_contiguous", "element_size",
    "get_device", "is_floating_point", "is_complex", "detach", "ndimension", "nelement", "to",
    "type_as", "cpu", "zero_", "float_power_", "uniform_", "normal_", "random_", "bernoulli_",
    "conj", "where", "index_put", "index_put_", "is_conj", "is_neg", "type", "float", "double",
    "half", "bfloat16", "int", "long", "short", "bool", "byte", "char", "is_signed",
    "is_same_size", "fill_diagonal_", "new_empty", "new_zeros", "new_ones", "new_full",
    "new_tensor", "backward", "requires_grad_", "item", "tolist", "numpy", "__len__",
})


#: Objects that cannot change.
VALUES = (int, float, complex, str, bytes, bool, type(None), type(...), type(NotImplemented), range,
          slice, frozenset)
DICTS = (dict, OrderedDict, defaultdict)


def is_tensor(obj: object) -> bool:
    """Whether an object is a tensor."""
    return isinstance(obj, _core.Tensor)


def is_plain_tensor(obj: Any) -> bool:
    """Whether it is none of a class that may do otherwise."""
    cls = type(obj)
    return cls is _core.Tensor or own_module(cls) == "flambeau.nn.parameter"


def is_value(obj: Any) -> bool:
    """Whether an object cannot change, and has no methods that could look at something else."""
    return type(obj) in VALUES or isinstance(obj, VALUES) and (
        isinstance(obj, Enum) or type(obj).__module__ == "numpy")


def is_integral(tensor: Any) -> bool:
    """Whether a tensor holds integers."""
    return not (tensor.is_floating_point() or tensor.is_complex() or tensor.dtype.name == "bool")


def is_sequence(obj: Any) -> bool:
    """Whether an object is a tuple, text or range, or one of a class that indexes as they do."""
    kind = type(obj)
    return kind in (tuple, str, bytes, range, Size) or isinstance(obj, tuple) \
        and kind.__iter__ is tuple.__iter__ and kind.__getitem__ is tuple.__getitem__


def is_dict(obj: Any) -> bool:
    """Whether an object is a dict, or the members of a module, which are read like one."""
    kind = type(obj)
    return kind in DICTS or kind.__name__ == "Members" \
        and own_module(kind) == "flambeau.nn.modules.module._members"


def hashes_plainly(key: Any) -> bool:
    """Whether looking for an object in a dict or a set calls no function of Python."""
    if type(key) is tuple:
        return all(map(hashes_plainly, key))
    kind: Any = type(key)
    return is_value(key) or not isinstance(kind.__hash__, FunctionType) \
        and not isinstance(kind.__eq__, FunctionType)


def is_constant(obj: Any) -> bool:
    """Whether an object of Flambeau cannot change, or only by what operators do."""
    return type(obj).__name__ in _CONSTANTS and own_module(type(obj)).startswith("flambeau") \
        or isinstance(obj, Size)


def is_ufunc(fn: Any) -> bool:
    """Whether a function is one of NumPy's that reads nothing but numbers it is given."""
    return (type(fn).__module__, type(fn).__name__) == ("numpy", "ufunc")


def is_plain_member(obj: Any) -> bool:
    """Whether an object is a member of an enumeration that is compared by identity."""
    return isinstance(obj, Enum) and type(obj).__eq__ is object.__eq__ \
        and type(obj).__hash__ is Enum.__hash__


def is_fixed_attribute(obj: Any, name: str) -> bool:
    """Whether an attribute of an object that cannot change is a part of it."""
    if isinstance(obj, MethodType):
        return name in ("__self__", "__func__", "__name__")
    if isinstance(obj, Enum):
        return name in ("name", "value")
    homes = [cls.__dict__ for cls in type(obj).__mro__ if name in cls.__dict__]
    return isinstance(obj, tuple) and bool(homes) and name in homes[0].get("_fields", ())


def computes(raw: Any) -> bool:
    """Whether what a class holds under a name runs code of its own when it is asked for."""
    return hasattr(type(raw), "__get__") and not isinstance(
        raw, FunctionType | classmethod | staticmethod | type)


def asks_plainly(cls: Any) -> bool:
    """Whether being an instance or subclass of a class, or of several, is a matter of bases."""
    if isinstance(cls, tuple):
        return all(map(asks_plainly, cls))
    if isinstance(cls, UnionType):
        return asks_plainly(cls.__args__)
    return type(cls) is type or own_module(cls).startswith(
        ("flambeau", "collections.abc", "numbers", "enum"))


def asks_registry(cls: Any) -> bool:
    """Whether ``register()`` of an abstract class may make it a base of what it was none of."""
    if isinstance(cls, UnionType):
        cls = cls.__args__
    return any(map(asks_registry, cls)) if isinstance(cls, tuple) else isinstance(cls, ABCMeta)


def is_mode(obj: Any) -> bool:
    """Whether an object is a mode of the program, such as ``no_grad()``."""
    return own_module(type(obj)).startswith("flambeau.autograd") \
        or type(obj) is nullcontext and obj.enter_result is None


def uncovered(fn: Any) -> Any:
    """A function without what shows its calls to classes and modes: see core/bindings/covers.pxi.
    Of those there are none, or the call is not recorded."""
    return fn.__wrapped__ if type(fn) is _core.Shown else fn


def is_trusted(fn: Any) -> bool:
    """Whether a function does nothing but run operators over its arguments."""
    if isinstance(fn, _core.Operator):
        return True
    if not isinstance(fn, (FunctionType, CYTHON, type(len))):
        return False
    module, name = own_module(fn), fn.__name__
    if isinstance(fn, FunctionType) and not is_own(fn.__globals__):
        return False        # somebody's wrapper, which took over names
    if module == "flambeau.core._core":
        return name in _NATIVE
    if module.startswith("flambeau.autograd"):
        return name in _MODES or name == "grad"
    if module == "flambeau":
        return isinstance(fn, FunctionType | CYTHON)
    return module.startswith(_FUNCTIONS) and module not in _REFUSED and _is_at_home(fn, module) \
        and "." not in fn.__qualname__


def is_native(fn: Any) -> bool:
    """Whether a function that is not followed looks up no names as it runs."""
    return isinstance(fn, _core.Operator | type(len) | MethodDescriptorType)


def watch_own_names() -> None:
    """Have names of Flambeau's modules that operators and layers look up watched."""
    global _watched
    version = _core.dict_version(sys.modules)
    if version and version == _watched:
        return
    _watched = version
    for name, module in list(sys.modules.items()):
        if (name in _OWN_ABOVE or name.startswith(_OWN)) and module is not None:
            _core.watch_names(module.__dict__)


def goes_back(fn: Any) -> bool:
    """Whether a trusted function runs a backward pass; it adds nothing to gradients."""
    return own_module(fn).startswith("flambeau.autograd") and fn.__name__ == "grad"


def looks_at_grads(fn: Any) -> bool:
    """Whether a trusted function looks at gradients."""
    return own_module(fn).startswith("flambeau.nn.utils")


def _is_at_home(fn: Any, module: str) -> bool:
    home = sys.modules.get(module)
    names = getattr(fn, "__globals__", None)
    return home is not None and (names is None or names is home.__dict__)


def is_trusted_class(cls: type) -> bool:
    """Whether making an instance reads nothing but its arguments."""
    return own_module(cls).startswith("flambeau.autograd") and cls.__name__ in _MODES \
        or cls in (Size, _core.device)


@cache
def is_tensor_method(name: str) -> bool:
    """Whether a method of tensors is followed."""
    found = next((c.__dict__[name] for c in _core.Tensor.__mro__ if name in c.__dict__), None)
    return name in _METHODS or isinstance(found, _core.Operator)


def is_method_of_tensors(fn: Any, name: str) -> bool:
    """Whether a function is the method of this name."""
    return getattr(_core.Tensor, name, None) is fn


def spent_node(tensor: Any) -> Any:
    """The node of a tensor whose graph holds nothing any more, or ``None``."""
    from flambeau.autograd import _engine

    return _engine.spent_node(tensor)


def graph_start() -> int:
    """A number between the nodes of graphs that are there and those to come."""
    if "flambeau.autograd" not in sys.modules:
        return 0
    from flambeau.autograd import _engine

    return _engine.graph_start()


def history_key(tensor: Any) -> Any:
    """Where a tensor came from: equal for equal places in the graph."""
    if not tensor.requires_grad or tensor.is_leaf:
        return None
    from flambeau.autograd import _engine

    return _engine.history_key(tensor)


def kept_tensors(tensors: list[Any], first: int) -> list[Any]:
    """The tensors that the graph made since ``first`` keeps; ``ValueError``: it has no copies."""
    from flambeau.autograd import _engine

    return _engine.kept_tensors(tensors, first)


def copy_graph(results: list[Any], sources: list[Any], outside: list[Any], first: int) -> Any:
    """What makes a graph again over other tensors; ``ValueError``: it has no copies."""
    from flambeau.autograd import _engine

    return _engine.GraphCopy(results, sources, outside, first)


def storage_id(tensor: Any) -> int:
    """A number that tensors over the same memory share."""
    return int(_core.storage_id(tensor))


def storage_refcount(tensor: Any) -> int:
    """How many hold a tensor's memory."""
    return int(_core.storage_refcount(tensor))


# ---- modules -----------------------------------------------------------------------------------
@cache
def _module_class() -> Any:
    nn = sys.modules.get("flambeau.nn")
    return nn.Module if nn is not None else None


def is_module(obj: object) -> bool:
    """Whether an object is a module of a network."""
    return "flambeau.nn" in sys.modules and isinstance(obj, _module_class())


def is_module_class(cls: type) -> bool:
    """Whether its instances are."""
    return "flambeau.nn" in sys.modules and issubclass(cls, _module_class())


def is_own_module(module: Any) -> bool:
    """Whether a module's class is one of Flambeau's."""
    cls = type(module)
    home = sys.modules.get(own_module(cls))
    return own_module(cls).startswith("flambeau.nn.") and getattr(home, cls.__name__, None) is cls


def is_own_property(cls: type, name: str) -> bool:
    """Whether an attribute of a class is the property that all modules have."""
    return getattr(cls, name, None) is getattr(_module_class(), name, MISSING)


def is_own_method(module: Any, name: str) -> bool:
    """Whether a method is the one that all modules have."""
    found = getattr(type(module), name, None)
    return found is getattr(_module_class(), name, MISSING) and name not in module.__dict__


MISSING = object()


def calls_plainly(module: Any) -> bool:
    """Whether calling a module is calling its ``forward``."""
    call = _module_class().__call__
    return type(module).__call__ is call and is_own(getattr(call, "__globals__", {})) \
        and module._hook_table is None and not hooks_everywhere()


def hooks_everywhere() -> Any:
    """The table of hooks of all modules."""
    return sys.modules["flambeau.nn.modules.module._everywhere"].EVERYWHERE


def is_list_of_modules(module: Any) -> bool:
    """Whether iterating over a module gives its members."""
    nn = sys.modules["flambeau.nn"]
    return type(module) in (nn.ModuleList, nn.Sequential, nn.ParameterList)


# ---- optimizers --------------------------------------------------------------------------------
def is_plain_clearing(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call is ``zero_grad(set_to_none=True)``, which is ``zero_grad()``."""
    return name == "zero_grad" and (args, kwargs) in [((), {}), ((True,), {}),
                                                      ((), {"set_to_none": True})]


def steps(obj: Any, name: str) -> bool:
    """Whether a method takes a step that is taken anew at every replay: it is Python that changes
    numbers of its own, and tensors in place."""
    cls = type(obj)
    if not own_module(cls).startswith("flambeau.optim.") or name in getattr(obj, "__dict__", ()):
        return False
    is_optimizer = isinstance(obj, sys.modules["flambeau.optim"].Optimizer)
    if name == "zero_grad":
        return is_optimizer
    return name == "step" and (is_optimizer
                               or own_module(cls).startswith("flambeau.optim.lr_scheduler"))
