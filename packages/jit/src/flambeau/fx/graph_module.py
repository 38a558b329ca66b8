"""Modules made of graphs."""

from __future__ import annotations

import copy
import itertools
import linecache
import os
from pathlib import Path
from typing import Any

import flambeau
import flambeau.fx._names as _names
from flambeau import nn
from flambeau.fx._codegen import PythonCode
from flambeau.fx.graph import Graph

__all__ = ["GraphModule", "reduce_graph_module"]

_count = itertools.count()


def _compile(src: str, names: dict[str, Any], origin: str = "") -> dict[str, Any]:
    """Run the text of a definition; tracebacks show its lines, and where it came from."""
    path = f"<eval_with_key>.{next(_count)}{origin}"
    linecache.cache[path] = (len(src), None, src.splitlines(keepends=True), path)
    names = dict(names)
    exec(compile(src, path, "exec"), names)
    return names


def _copy_attr(source: nn.Module, target: nn.Module, path: str) -> None:
    """Give a module the attribute of another one, with modules on the way to it."""
    *way, field = path.split(".")
    for part in way:
        below = getattr(source, part)
        if below is getattr(target, part, None):
            return
        if getattr(target, part, None) is None:
            setattr(target, part, nn.Module())
        source, target = below, getattr(target, part)
    _assign_attr(getattr(source, field), target, field)


def _assign_attr(value: Any, module: nn.Module, path: str) -> None:
    *way, field = path.split(".")
    for part in way:
        if getattr(module, part, None) is None:
            setattr(module, part, nn.Module())
        module = getattr(module, part)
    if isinstance(value, flambeau.Tensor) and not isinstance(value, nn.Parameter):
        module.register_buffer(field, value)
    else:
        setattr(module, field, value)


class GraphModule(nn.Module):
    """A module whose ``forward`` is generated from a graph.

    After the graph was changed, `recompile` makes ``forward`` anew.

    Args:
        root: Where modules, parameters and buffers of the graph are: a module, or a dict from
            paths to them.
        graph: The graph.
        class_name: The name of the module's class.

    Raises:
        RuntimeError: ``root`` lacks something that the graph names.

    Example:
        >>> import flambeau
        >>> from flambeau import fx
        >>> graph = fx.Graph()
        >>> x = graph.placeholder("x")
        >>> _ = graph.output(graph.call_function(flambeau.add, (x, 1)))
        >>> module = fx.GraphModule({}, graph)
        >>> module(flambeau.ones(2))
        tensor([2., 2.])
        >>> print(module.code.strip())
        def forward(self, x):
            add = flambeau.add(x, 1);  x = None
            return add
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        base = next(each for each in cls.__mro__ if not each.__dict__.get("_of_one_module"))
        made = type(base.__name__, (base,), {"_of_one_module": True, "__module__": base.__module__})
        return super().__new__(made)

    def __init__(self, root: nn.Module | dict[str, Any], graph: Graph,
                 class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        self.meta: dict[str, Any] = {}
        self._graph_hooks()
        if isinstance(root, nn.Module):
            self.training = root.training
            meta = getattr(root, "meta", None)
            self.meta = dict(meta) if isinstance(meta, dict) else {}
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module"):
                self._take(root, str(node.target))
        self._tracer_cls = graph._tracer_cls
        self.graph = graph

    def _graph_hooks(self) -> None:
        self._replace_hooks: list[Any] = []
        self._create_node_hooks: list[Any] = []
        self._erase_node_hooks: list[Any] = []

    def _take(self, root: Any, path: str) -> None:
        if isinstance(root, nn.Module):
            _copy_attr(root, self, path)
        elif path in root:
            _assign_attr(root[path], self, path)
        else:
            raise RuntimeError(f"the graph names {path!r}, which root has not: add "
                               f"root[{path!r}]")

    @property
    def graph(self) -> Graph:
        """The graph. Assigning one compiles it."""
        found: Graph = self.__dict__["_graph"]
        return found

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        if g._owning_module is not None and g._owning_module is not self \
                and g is not self.__dict__.get("_graph"):
            g = copy.deepcopy(g)
        self.__dict__["_graph"] = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The text of ``forward``."""
        found: str = self.__dict__["_code"]
        return found

    def recompile(self) -> PythonCode:
        """Make ``forward`` from the graph as it is now.

        Returns:
            Its code.
        """
        made = self.graph.python_code("self")
        self.__dict__["_code"] = made.src
        for spec in ("in_spec", "out_spec"):
            if hasattr(self.graph._codegen, spec):
                self.__dict__[f"_{spec}"] = getattr(self.graph._codegen, spec)
        self.__dict__["_lineno_map"] = made._lineno_map
        kind = type(self)
        name = self.graph._codegen._func_name
        made_names = _compile(made.src, made.globals, self.graph._origin)
        kind.forward = made_names[name]  # type: ignore[method-assign]
        return made

    # ---- modules below -------------------------------------------------------------------------

    def add_submodule(self, target: str, m: nn.Module) -> bool:
        """Add a module below this one, with empty modules on the way to it.

        Args:
            target: Its dotted path.
            m: The module.

        Returns:
            False where something on the way is no module.
        """
        *way, field = target.split(".")
        at: nn.Module = self
        for part in way:
            below = getattr(at, part, None)
            if below is None:
                below = nn.Module()
                setattr(at, part, below)
            if not isinstance(below, nn.Module):
                return False
            at = below
        at.add_module(field, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Delete a module below this one.

        Args:
            target: Its dotted path.

        Returns:
            False where there is none.
        """
        *way, field = target.split(".")
        at: Any = self
        for part in way:
            at = getattr(at, part, None)
            if not isinstance(at, nn.Module):
                return False
        if not isinstance(getattr(at, field, None), nn.Module):
            return False
        delattr(at, field)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Delete the modules that the graph neither calls nor reads from."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op not in ("call_module", "get_attr"):
                continue
            parts = str(node.target).split(".")
            used.update(".".join(parts[:i + 1]) for i in range(len(parts)))
        present = dict(self.named_modules())
        for node in self.graph.nodes:
            if node.op == "call_module" and node.target in present:
                below = present[str(node.target)]
                used.update(f"{node.target}.{name}" for name, _ in below.named_modules() if name)
        for name in present:
            if name and name not in used:
                self.delete_submodule(name)

    # ---- copies and files ------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        made = GraphModule.__new__(_plain_class(type(self)))
        memo[id(self)] = made
        shell = nn.Module()
        hidden = ("_graph", "_code", "_lineno_map")
        state = {key: each for key, each in self.__dict__.items() if key not in hidden}
        shell.__dict__.update(copy.deepcopy(state, memo))
        graph = copy.deepcopy(self.graph, memo)
        GraphModule.__init__(made, shell, graph, type(self).__name__)
        made.__dict__.update({key: each for key, each in shell.__dict__.items()
                              if key not in made.__dict__ or key.startswith("_hook_table")})
        made.meta = shell.__dict__.get("meta", {})
        made.training = self.training
        return made

    def __copy__(self) -> GraphModule:
        made = _construct(type(self), self, copy.deepcopy(self.graph))
        made.meta = self.meta
        return made

    def __reduce__(self) -> Any:
        state = self.__dict__.copy()
        made = self.graph.python_code("self")
        state.pop("_graph")
        state.pop("_lineno_map", None)
        state["_code"] = made.src
        names = {name: thing for name, thing in made.globals.items() if name not in _names.GLOBALS}
        kind = _plain_class(type(self))
        return reduce_graph_module, (state, names, kind, type(self).__name__, self.graph)

    def to_folder(self, folder: str | os.PathLike[str], module_name: str = "FxModule") -> None:
        """Write the module as a Python package that can be imported and changed.

        Args:
            folder: Where to; made where it is not there.
            module_name: The name of its class.
        """
        from flambeau.fx._folder import write

        write(self, Path(folder), module_name)

    def print_readable(self, print_output: bool = True, **kwargs: Any) -> str:
        """The code of this module and of the graph modules below it.

        Args:
            print_output: Print it, too.
            kwargs: What PyTorch takes besides, such as ``colored``; without effect.
        """
        text = self._readable(type(self).__name__)
        if print_output:
            print(text)
        return text

    def _readable(self, name: str) -> str:
        made = self.graph.python_code("self", verbose=True).src.lstrip("\n")
        lines = f"class {name}({_names.library()}.nn.Module):\n" + _indent(made)
        below = [_indent(child._readable(key)) for key, child in self.named_children()
                 if isinstance(child, GraphModule)]
        return "\n".join([lines, *below])

    def __str__(self) -> str:
        return "\n".join([
            super().__repr__(), self.code,
            "# To see more debug info, please use `graph_module.print_readable()`"])


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" if line.strip() else "" for line in text.split("\n"))


def _plain_class(kind: type) -> type:
    return next(each for each in kind.__mro__ if not each.__dict__.get("_of_one_module"))


def _construct(kind: type, root: Any, graph: Graph) -> Any:
    """A graph module of a class, whose own constructor may take other arguments."""
    made = GraphModule.__new__(_plain_class(kind))
    GraphModule.__init__(made, root, graph, kind.__name__)
    return made


def reduce_graph_module(state: dict[str, Any], names: dict[str, Any], kind: type, class_name: str,
                        graph: Graph) -> Any:
    """What a pickle of a graph module calls.

    Args:
        state: Its attributes.
        names: What its code refers to.
        kind: Its class.
        class_name: The name of that.
        graph: Its graph.
    """
    shell = nn.Module()
    shell.__dict__.update({key: each for key, each in state.items() if key != "_code"})
    type_of = type(class_name, (kind,), {"_of_one_module": True})
    made = _construct(type_of, shell, graph)
    made.__dict__.update({key: each for key, each in shell.__dict__.items()
                          if key not in made.__dict__})
    made.meta = state.get("meta", {})
    return made
