"""Recording programs: ``Tracer`` and ``symbolic_trace``."""

from __future__ import annotations

import collections
import copy
import inspect
import math
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import flambeau
import flambeau.fx._patching as _patching
from flambeau import nn
from flambeau.core.homes import is_own, own_module
from flambeau.fx._compatibility import compatibility
from flambeau.fx._concrete import PH, PHBase, PHWithMeta, parameters, return_type
from flambeau.fx.graph import Graph
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Argument
from flambeau.fx.proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase

__all__ = ["PH", "PHBase", "PHWithMeta", "ProxyableClassMeta", "Tracer", "compatibility",
           "is_fx_symbolic_tracing", "is_fx_tracing", "symbolic_trace", "wrap"]

#: Name of a function under ``wrap``, and the module's names that it is in.
_wrapped_functions: dict[tuple[int, str], dict[str, Any]] = {}
_tracing = 0


def is_fx_tracing() -> bool:
    """Whether a program is being recorded."""
    return _tracing > 0


is_fx_symbolic_tracing = is_fx_tracing


class ProxyableClassMeta(type):
    """A metaclass: making an object of its classes from proxies is recorded."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        proxy = _patching.find_proxy(args, kwargs)
        if proxy is None:
            return super().__call__(*args, **kwargs)
        return proxy.tracer.create_proxy("call_function", cls, args, kwargs)


class Tracer(TracerBase):
    """Records a module or function as a graph; subclasses change how.

    Args:
        autowrap_modules: Modules whose functions are recorded when proxies go into them.
        autowrap_functions: Functions that are.
        param_shapes_constant: Let programs look at the shapes of parameters, which become
            constants of the graph.

    Example:
        >>> import flambeau
        >>> from flambeau import fx, nn
        >>> graph = fx.Tracer().trace(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))
        >>> [node.name for node in graph.nodes]
        ['input_1', '_0', '_1', 'output']
    """

    def __init__(self, autowrap_modules: tuple[ModuleType, ...] = (math,),
                 autowrap_functions: tuple[Callable[..., Any], ...] = (),
                 param_shapes_constant: bool = False) -> None:
        super().__init__()
        self._autowrap_function_ids = _patching.functions_of(autowrap_modules)
        self._autowrap_function_ids.update({id(each): each for each in autowrap_functions})
        self._autowrap_search: list[ModuleType] = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Any, str] | None = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.num_calls: dict[str, int] = {}
        self.node_name_to_scope = {}
        self._patcher = _patching.Patcher()
        self.parameter_proxy_cache: dict[str, Any] = {}

    # ---- what subclasses change ----------------------------------------------------------------

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """Whether calls of a module are nodes; otherwise what it computes is recorded.

        Args:
            m: The module.
            module_qualified_name: Its path.
        """
        return own_module(type(m)).startswith("flambeau.nn") and not isinstance(m, nn.Sequential)

    def path_of_module(self, mod: nn.Module) -> str:
        """The dotted path of a module below the root.

        Args:
            mod: The module.

        Raises:
            NameError: it is not below the root.
        """
        if self.submodule_paths is None:
            self.submodule_paths = {module: name for name, module in self.root.named_modules()}
        path = self.submodule_paths.get(mod)
        if path is None:
            raise NameError(f"module is not installed as a submodule: {type(mod).__name__} is "
                            "called by the program, but is no attribute of the traced module or "
                            "of one below it; assign it in __init__")
        return path

    def call_module(self, m: nn.Module, forward: Callable[..., Any], args: tuple[Any, ...],
                    kwargs: dict[str, Any]) -> Any:
        """Called where a program calls a module.

        Args:
            m: The module.
            forward: Runs what it computes.
            args: Positional arguments.
            kwargs: Named arguments.
        """
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))):
            count = self.num_calls.get(path, 0)
            self.num_calls[path] = count + 1
            key = path if count == 0 else f"{path}@{count}"
            self.module_stack[key] = (path, type(m))
            try:
                if self.is_leaf_module(m, path):
                    return self.create_proxy("call_module", path, args, kwargs)
                return forward(*args, **kwargs)
            finally:
                self.module_stack.popitem(last=True)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """Called where a program reads a parameter or buffer of a module.

        Args:
            attr: Its name.
            attr_val: The parameter or buffer.
            parameter_proxy_cache: Path -> proxy, of those that were read.
        """
        if isinstance(attr_val, nn.Parameter):
            return self._attribute(attr_val, self.root.named_parameters(), parameter_proxy_cache)
        if self.proxy_buffer_attributes and isinstance(attr_val, flambeau.Tensor):
            return self._attribute(attr_val, self.root.named_buffers(), parameter_proxy_cache)
        return attr_val

    def _attribute(self, value: Any, named: Iterator[tuple[str, Any]],
                   cache: dict[str, Any]) -> Any:
        path = next((name for name, each in named if each is value), None)
        if path is None:
            return value
        if path not in cache:
            how: dict[str, Any] = {}        # a tracer's own create_proxy may not take it
            taken = inspect.signature(self.create_proxy).parameters
            if self.param_shapes_constant and "proxy_factory_fn" in taken:
                how["proxy_factory_fn"] = lambda node: ParameterProxy(self, node, path, value)
            cache[path] = self.create_proxy("get_attr", path, (), {}, **how)
        return cache[path]

    def get_fresh_qualname(self, prefix: str) -> str:
        """A name that no attribute of the root has.

        Args:
            prefix: How it begins.
        """
        at = 0
        while hasattr(self.root, f"{prefix}{at}"):
            at += 1
        return f"{prefix}{at}"

    def create_arg(self, a: Any) -> Argument:
        """What a node keeps of an argument; parameters and tensors are read as attributes.

        Args:
            a: The argument.
        """
        if isinstance(a, nn.Parameter):
            for name, param in self.root.named_parameters():
                if param is a:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module: assign it as an attribute "
                            "of the traced module, or of one below it")
        if isinstance(a, flambeau.Tensor):
            return self.create_node("get_attr", self._tensor_path(a), (), {})
        if isinstance(a, nn.Module):
            return self.create_node("get_attr", self.path_of_module(a), (), {})
        if isinstance(type(a), ProxyableClassMeta):
            return self.create_node("get_attr", self._object_path(a), (), {})
        return super().create_arg(a)

    def _object_path(self, a: Any) -> str:
        for name, value in vars(self.root).items():
            if value is a:
                return name
        name = self.get_fresh_qualname(f"_{type(a).__name__}_constant_")
        setattr(self.root, name, a)
        return name

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracer:
        made = type(self).__new__(type(self))
        shared = ("_autowrap_search", "_autowrap_function_ids", "_patcher")
        made.__dict__ = {key: value if key in shared else copy.deepcopy(value, memo)
                         for key, value in self.__dict__.items()}
        return made

    def _tensor_path(self, tensor: Any) -> str:
        found = self._tensor_paths.get(id(tensor))
        if found is None:
            name = self.get_fresh_qualname("_tensor_constant")
            setattr(self.root, name, tensor)
            found = (name, tensor)
            self._tensor_paths[id(tensor)] = found
        return found[0]

    # ---- recording -------------------------------------------------------------------------------

    def trace(self, root: nn.Module | Callable[..., Any],
              concrete_args: dict[str, Any] | None = None) -> Graph:
        """Record a module or function.

        Args:
            root: The module or function.
            concrete_args: Name of a parameter -> its value, which becomes a constant; ``PH`` in
                nested values stands for what remains a parameter.

        Returns:
            The graph.

        Raises:
            TraceError: the program looks at values that are not known.
        """
        global _tracing
        is_module = isinstance(root, nn.Module)
        if is_module and not hasattr(type(root), self.traced_func_name):
            raise AssertionError(f"traced_func_name={self.traced_func_name} doesn't exist in "
                                 f"{type(root).__name__}")
        self._set_root(root)
        fn = getattr(type(root), self.traced_func_name) if is_module else root
        if is_module and self.traced_func_name in vars(root):
            fn = _unbound(vars(root)[self.traced_func_name])
        self.graph = Graph(tracer_cls=getattr(self, "__class__", None))
        self.graph._tracer_extras = {}
        self.graph._origin = _patching.place_of(fn)
        fn, args = self.create_args_for_root(fn, is_module, concrete_args)
        self.parameter_proxy_cache = {}
        _tracing += 1
        try:
            with _patching.Patcher() as self._patcher:
                self._patch(fn)
                result = fn(*args)
                self.create_node("output", "output", (self.create_arg(result),), {},
                                 type_expr=return_type(fn))
        finally:
            _tracing -= 1
            self.submodule_paths = None
        return self.graph

    def _set_root(self, root: Any) -> None:
        self.root = root if isinstance(root, nn.Module) else nn.Module()
        self.root_module_name = type(root).__name__ if isinstance(root, nn.Module) else ""
        self.submodule_paths = {each: name for name, each in self.root.named_modules()}
        self._tensor_paths: dict[int, tuple[str, Any]] = {}
        for path, module in self.root.named_modules():
            for name, value in vars(module).items():
                if isinstance(value, flambeau.Tensor):
                    full = f"{path}.{name}".lstrip(".")
                    self._tensor_paths.setdefault(id(value), (full, value))

    def create_args_for_root(self, root_fn: Callable[..., Any], is_module: bool,
                             concrete_args: Any = None) -> tuple[Any, list[Any]]:
        """The placeholders of a function.

        Args:
            root_fn: The function.
            is_module: Whether its first parameter is the module.
            concrete_args: See `trace`.

        Returns:
            What to call, and with which arguments.
        """
        return parameters(self, root_fn, is_module, concrete_args)

    def _proxy_placeholder(self, name: str, default: Any, annotation: Any) -> Proxy:
        args = () if default is inspect.Parameter.empty else (default,)
        return self.create_proxy("placeholder", name, args, {}, type_expr=annotation)

    def _patch(self, fn: Any) -> None:
        patcher = self._patcher
        functions = {**_patching.library_functions(), **self._autowrap_function_ids}
        plain_call = nn.Module.__call__

        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            def forward(*args: Any, **kwargs: Any) -> Any:
                return plain_call(module, *args, **kwargs)

            if not patcher.here():
                return forward(*args, **kwargs)
            names = getattr(type(module).forward, "__globals__", None)
            if names is not None and not is_own(names):
                _patching.replace_functions(patcher, names, functions)
            return self.call_module(module, forward, args, kwargs)

        def read(module: Any, name: str) -> Any:
            value = object.__getattribute__(module, name)
            if isinstance(value, flambeau.Tensor) and patcher.here():
                return self.getattr(name, value, self.parameter_proxy_cache)
            return value

        patcher.attribute(nn.Module, "__call__", call)
        patcher.attribute(nn.Module, "__getattribute__", read)
        for names in [getattr(fn, "__globals__", {}),
                      *(vars(m) for m in (*_patching.library_modules(), *self._autowrap_search))]:
            _patching.replace_functions(patcher, names, functions)
        for (_, name), names in list(_wrapped_functions.items()):
            self._patch_wrapped(names, name)

    def _patch_wrapped(self, names: dict[str, Any], name: str) -> None:
        import builtins

        plain = names.get(name, getattr(builtins, name, None))
        if plain is not None and not hasattr(plain, "__fx_already_patched"):
            made = _patching.recorder(self._patcher, plain, True)
            setattr(made, "__fx_already_patched", True)
            self._patcher.item(names, name, made)


def _unbound(forward: Any) -> Any:
    """An instance's own ``forward`` as a function of the instance."""
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return forward(*args, **kwargs)

    if getattr(forward, "__self__", None) is not None:
        return forward.__func__
    call.__wrapped__ = forward  # type: ignore[attr-defined]
    return call


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """Let calls of a function be nodes, wherever programs of this module are recorded.

    Args:
        fn_or_name: The function, or its name in the module, which may be a builtin's; as a
            decorator the function.

    Returns:
        What was given.

    Raises:
        RuntimeError: the argument is neither.
        NotImplementedError: not called at the top level of a module.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or "
                           "string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe()
    caller = frame.f_back if frame is not None else None
    if caller is None or caller.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module: it changes "
                                  "what the module's name means while programs are recorded")
    _wrapped_functions[id(caller.f_globals), name] = caller.f_globals
    return fn_or_name


def symbolic_trace(root: nn.Module | Callable[..., Any],
                   concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """Record a module or function, and return a module that computes the same.

    The program is run once with proxies for its arguments. Loops and branches go the way that
    they go then; what depends on values of tensors is refused.

    Args:
        root: The module or function.
        concrete_args: Name of a parameter -> its value, which becomes a constant.

    Returns:
        The module; its ``graph`` may be changed, its ``code`` be read.

    Raises:
        TraceError: the program looks at values that are not known.

    Example:
        >>> import flambeau
        >>> from flambeau import fx
        >>> module = fx.symbolic_trace(lambda x: flambeau.relu(x + 1))
        >>> module(flambeau.tensor([-3., 1.]))
        tensor([0., 2.])
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, nn.Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
