"""Proxies: what stands for values while a program is recorded."""

from __future__ import annotations

import dis
import inspect
import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import flambeau.fx._arguments as _arguments
from flambeau.core import _core
from flambeau.fx._infix import magic_methods, reflectable_magic_methods
from flambeau.fx.node import Node, map_aggregate

if TYPE_CHECKING:
    from flambeau.fx.proxy import TracerBase

#: Attributes that libraries ask any object for: a proxy has them not.
_PROTOCOLS = frozenset((
    "__array__", "__array_interface__", "__array_struct__", "__cuda_array_interface__",
    "__dlpack__", "__dlpack_device__", "__index__", "__float__", "__int__", "__complex__",
    "__torch_dispatch__", "__array_priority__", "__fx_create_arg__"))


class Proxy:
    """Stands for the value of a node: what is done with it is recorded.

    Args:
        node: The node.
        tracer: Where to record; None means the node's graph.

    Example:
        >>> from flambeau import fx
        >>> graph = fx.Graph()
        >>> x = fx.Proxy(graph.placeholder("x"))
        >>> (x * 2).relu()
        Proxy(relu)
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        from flambeau.fx.proxy import GraphAppendingTracer

        _core.start_overriding()        # functions of Python's are recorded, too: einsum, softmax
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        if k in _PROTOCOLS or k in ("tracer", "node"):
            raise AttributeError(f"a Proxy has no {k}: its value is not known while a program is "
                                 "recorded", name=k, obj=self)
        return Attribute(self, k)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        import copy

        made = type(self).__new__(type(self))
        made.__dict__ = {key: copy.deepcopy(each, memo) for key, each in self.__dict__.items()}
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        frame = inspect.currentframe()
        asks = frame.f_back if frame is not None else None
        count = _unpacked(asks) if asks is not None else None
        if count is not None:
            return (operator.getitem(self, i) for i in range(count))
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        frame = inspect.currentframe()
        asks = frame.f_back if frame is not None else None
        if self.tracer.trace_asserts and asks is not None and _is_assert(asks):
            self.tracer.create_proxy("call_function", _arguments._assert, (self,), {})
            return True
        return self.tracer.to_bool(self)

    def __len__(self) -> int:
        raise RuntimeError("'len' is not supported in symbolic tracing by default. If you want "
                           "this call to be recorded, please call flambeau.fx.wrap('len') at "
                           "module scope")

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def keys(self) -> Any:
        """The keys, as the tracer has it."""
        return self.tracer.keys(self)

    @classmethod
    def __torch_function__(cls, orig_method: Any, types: Any, args: Any = None,
                           kwargs: Any = None) -> Any:
        args, kwargs = args or (), kwargs or {}
        tracers: dict[TracerBase, None] = {}

        def note(x: Any) -> Any:
            if isinstance(x, cls):
                tracers[x.tracer] = None
            return x

        map_aggregate(args, note)
        map_aggregate(kwargs, note)
        if len(tracers) > 1:
            raise RuntimeError("Found multiple different tracers while trying to trace "
                               f"{orig_method}: proxies of one recording cannot meet those of "
                               "another")
        tracer = next(iter(tracers))
        if _arguments.is_method(orig_method):
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        args, kwargs = _arguments.as_recorded(orig_method, args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs,
                                   name=tracer.graph._target_to_str(orig_method.__name__))


class Attribute(Proxy):
    """An attribute of a proxy, recorded when something is done with it.

    Args:
        root: The proxy.
        attr: The attribute's name.
    """

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads the attribute; made when it is first asked for."""
        if self._node is None:
            self._node = self.tracer.create_proxy(
                "call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """Stands for a parameter whose shape the program may look at.

    Args:
        tracer: Where to record.
        node: The node that reads it.
        name: Its dotted path.
        param: The parameter.
    """

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Any) -> None:
        super().__init__(node, tracer)
        self.param = param
        self.name = name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The parameter's shape."""
        return self.param.shape

    @property
    def ndim(self) -> int:
        """The parameter's number of dimensions."""
        return int(self.param.ndim)

    def size(self, *args: Any) -> Any:
        """The parameter's shape, or one size of it."""
        return self.param.size(*args)

    def dim(self) -> int:
        """The parameter's number of dimensions."""
        return int(self.param.dim())

    def numel(self) -> int:
        """The parameter's number of elements."""
        return int(self.param.numel())

    nelement = numel


def _instruction(frame: Any) -> Any:
    code = list(dis.get_instructions(frame.f_code))
    return next((at, code) for at, each in enumerate(code) if each.offset == frame.f_lasti)


def _unpacked(frame: Any) -> int | None:
    """Into how many names a frame unpacks what it iterates over; None where it does not."""
    at, code = _instruction(frame)
    return code[at].argval if code[at].opname == "UNPACK_SEQUENCE" else None


def _is_assert(frame: Any) -> bool:
    """Whether a frame asks for a truth in an ``assert``."""
    at, code = _instruction(frame)
    following = [each.opname for each in code[at:at + 3]]
    return "LOAD_ASSERTION_ERROR" in following


def _record_operator(name: str, reflected: bool = False) -> Any:
    function = getattr(operator, name)

    def method(self: Proxy, *args: Any) -> Proxy:
        given = (*args, self) if reflected else (self, *args)
        return self.tracer.create_proxy("call_function", function, given, {})

    return method


for _name in magic_methods:
    if hasattr(operator, _name):
        setattr(Proxy, f"__{_name.strip('_')}__", _record_operator(_name))
for _name in reflectable_magic_methods:
    if hasattr(operator, _name):
        setattr(Proxy, f"__r{_name.strip('_')}__", _record_operator(_name, reflected=True))
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]

