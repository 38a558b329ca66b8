"""Recording programs that look at shapes, dtypes and devices."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import nn
from flambeau.fx import _patching
from flambeau.fx._symbolic_trace import Tracer
from flambeau.fx.graph import Graph
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import map_aggregate
from flambeau.fx.proxy import Attribute, Proxy

__all__ = ["MetaAttribute", "MetaDeviceAttribute", "MetaProxy", "MetaTracer", "proxys_to_metas",
           "symbolic_trace"]


class MetaProxy(Proxy):
    """A proxy that knows shape and dtype of what it stands for."""

    _tensor_meta: Any = None

    def install_tensor_meta(self, tensor_meta: Any) -> None:
        """Note what the value is like.

        Args:
            tensor_meta: A tensor on the device ``meta``.
        """
        self.__dict__["_tensor_meta"] = tensor_meta

    def _ask(self, name: str, *args: Any) -> Any:
        meta = self._tensor_meta
        if isinstance(meta, flambeau.Tensor):
            return getattr(meta, name)(*args)
        return self.tracer.create_proxy("call_method", name, (self, *args), {})

    def size(self, dim: int | None = None) -> Any:
        """The sizes, or one of them.

        Args:
            dim: Which one.
        """
        return self._ask("size") if dim is None else self._ask("size", dim)

    def dim(self) -> Any:
        """The number of dimensions."""
        return self._ask("dim")

    def numel(self) -> Any:
        """The number of elements."""
        return self._ask("numel")

    def __getattr__(self, k: str) -> Any:
        meta = self._tensor_meta
        if k in ("shape", "dtype", "ndim") and isinstance(meta, flambeau.Tensor):
            return getattr(meta, k)
        super().__getattr__(k)      # which refuses what no proxy has
        return MetaDeviceAttribute(self, k) if k == "device" else MetaAttribute(self, k)


class MetaAttribute(Attribute, MetaProxy):
    """An attribute of such a proxy, or a method that will be called."""


class MetaDeviceAttribute(MetaAttribute):
    """The device of such a proxy: a node of the graph, ``meta`` while shapes are found."""


def proxys_to_metas(v: Any) -> Any:
    """What stands for a value while shapes are found.

    Args:
        v: A value, perhaps a proxy.
    """
    if isinstance(v, MetaDeviceAttribute):
        return flambeau.device("meta")
    if isinstance(v, MetaAttribute):
        return getattr(proxys_to_metas(v.root), v.attr)
    return v._tensor_meta if isinstance(v, MetaProxy) else v


class MetaTracer(Tracer):
    """Records programs whose branches depend on shapes; `symbolic_trace` says how."""

    allow_insert_stateless_mods = True
    _TORCH_METHODS_TO_PATCH = ("arange", "zeros", "ones", "full_like", "eye")

    meta_args: dict[str, Any] = {}
    _plain = False

    def create_proxy(self, kind: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any],
                     name: str | None = None, type_expr: Any | None = None,
                     proxy_factory_fn: Any = None) -> Any:
        """A proxy of a new node, with shape and dtype.

        Args:
            kind: The node's ``op``.
            target: Its target.
            args: Its positional arguments.
            kwargs: Its named arguments.
            name: Its name.
            type_expr: Its type.
            proxy_factory_fn: Makes the proxy.
        """
        made = super().create_proxy(kind, target, args, kwargs, name, type_expr, proxy_factory_fn)
        if not isinstance(made, MetaProxy):
            return made
        if kind == "placeholder":
            made.install_tensor_meta(self.meta_args.get(target))
            return made
        self._plain = True
        try:
            made.install_tensor_meta(self._meta(kind, target, args, dict(kwargs)))
        except Exception as error:
            warnings.warn(f"Could not compute metadata for {kind} target {target}: {error}",
                          stacklevel=2)
        finally:
            self._plain = False
        return made

    def _meta(self, kind: str, target: Any, args: Any, kwargs: Any) -> Any:
        if kind == "call_function" and "device" in kwargs:
            kwargs["device"] = flambeau.device("meta")
        given: Any = map_aggregate(args, proxys_to_metas)
        named: Any = map_aggregate(kwargs, proxys_to_metas)
        if kind == "call_function":
            return target(*given, **named)
        if kind == "call_method":
            return getattr(given[0], target)(*given[1:], **named)
        if kind == "call_module":
            return copy.deepcopy(self.root.get_submodule(target)).to("meta")(*given, **named)
        value: Any = self.root
        for part in str(target).split("."):
            value = getattr(value, part)
        return value.to("meta") if isinstance(value, flambeau.Tensor) else value

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """A parameter or buffer that the program reads.

        Args:
            attr: Its name.
            attr_val: The parameter or buffer.
            parameter_proxy_cache: Path -> proxy.
        """
        return attr_val if self._plain else super().getattr(attr, attr_val, parameter_proxy_cache)

    def call_module(self, m: nn.Module, forward: Callable[..., Any], args: tuple[Any, ...],
                    kwargs: dict[str, Any]) -> Any:
        """The result of a module that the program calls.

        Args:
            m: The module.
            forward: Runs what it computes.
            args: Positional arguments.
            kwargs: Named arguments.
        """
        return forward(*args, **kwargs) if self._plain else \
            super().call_module(m, forward, args, kwargs)

    def path_of_module(self, mod: nn.Module) -> str:
        """The path of a module; one without parameters that has none is added.

        Args:
            mod: The module.
        """
        try:
            return super().path_of_module(mod)
        except NameError:
            if not self.allow_insert_stateless_mods or mod.state_dict():
                raise
        name = self.get_fresh_qualname(f"{type(mod).__name__.lower()}_")
        self.root.add_module(name, mod)
        if self.submodule_paths is not None:
            self.submodule_paths[mod] = name
        return name

    def proxy(self, node: Any) -> Any:
        """The proxy of a node.

        Args:
            node: The node.
        """
        return MetaProxy(node, self)

    def _patch(self, fn: Any) -> None:
        makers = {name: getattr(flambeau, name) for name in self._TORCH_METHODS_TO_PATCH}
        super()._patch(fn)
        for name, function in makers.items():
            made = _patching.recorder(self._patcher, function, False)
            self._patcher.item(vars(flambeau), name, made)

    def trace(self, root: Any, meta_args: dict[str, Any] | None = None,  # type: ignore[override]
              concrete_args: dict[str, Any] | None = None) -> Graph:
        """Record a module or function.

        Args:
            root: The module or function.
            meta_args: Name of a parameter -> a tensor on the device ``meta``.
            concrete_args: Name of a parameter -> its value.
        """
        self.meta_args = dict(meta_args or {})
        graph = super().trace(root, concrete_args)
        graph._tracer_extras = {"meta_args": self.meta_args}
        return graph


def symbolic_trace(root: nn.Module | Callable[..., Any],
                   meta_args: dict[str, Any] | None = None,
                   concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """Record a module or function that looks at shapes, which become constants of the graph.

    Args:
        root: The module or function.
        meta_args: Name of a parameter -> a tensor on the device ``meta``.
        concrete_args: Name of a parameter -> its value.

    Returns:
        The module.

    Example:
        >>> import flambeau
        >>> from flambeau.fx.experimental.meta_tracer import symbolic_trace
        >>> def program(x):
        ...     return x.relu() if x.shape[0] < 3 else x.neg()
        >>> module = symbolic_trace(program, {"x": flambeau.empty(5, device="meta")})
        >>> module(flambeau.ones(5))
        tensor([-1., -1., -1., -1., -1.])
    """
    tracer = MetaTracer()
    graph = tracer.trace(root, meta_args, concrete_args)
    name = type(root).__name__ if isinstance(root, nn.Module) else getattr(root, "__name__", "")
    return GraphModule(tracer.root, graph, name)
