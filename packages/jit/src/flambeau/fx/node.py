"""A node: one value of a graph, and what it is computed from."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import flambeau
import flambeau.fx._names as _names
from flambeau.core import Operator
from flambeau.core.homes import own_module
from flambeau.fx._mapping import _format_arg, map_aggregate, map_arg

if TYPE_CHECKING:
    from flambeau.fx.graph import Graph

__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]

Target = Callable[..., Any] | str
Argument = Any
base_types = (str, int, float, bool, complex, flambeau.dtype, flambeau.Tensor, flambeau.device,
              flambeau.memory_format, flambeau.layout, type(None), slice, range)

OPS = ("placeholder", "get_attr", "call_function", "call_module", "call_method", "output", "root")
#: Functions whose calls are kept although nothing uses their results.
_side_effectful_functions: set[Callable[..., Any]] = {setattr, operator.setitem, print}


def has_side_effect(fn: Any) -> Any:
    """Keep calls of a function in every graph, whether or not something uses their results.

    Args:
        fn: The function.

    Returns:
        The function, so that this is a decorator.
    """
    _side_effectful_functions.add(fn)
    return fn


class Node:
    """One value of a graph.

    ``op`` says how it comes about: ``placeholder`` (an argument; its default is ``args``),
    ``get_attr`` (a parameter or buffer), ``call_function``, ``call_method``, ``call_module``,
    ``output``. ``target`` is the function, or the name of the method, module or attribute.

    Args:
        graph: The graph; nodes are made by its methods.
        name: A name that is unique in it.
        op: See above.
        target: See above.
        args: Positional arguments: numbers, strings, nodes, and tuples, lists and dicts of them.
        kwargs: Named arguments.
        return_type: The type, for annotations; or None.

    Raises:
        AssertionError: no such ``op``.
        ValueError: the target is no function, or no string, where one is needed.
    """

    def __init__(self, graph: Graph, name: str, op: str, target: Target, args: Any, kwargs: Any,
                 return_type: Any = None) -> None:
        if op not in OPS:
            raise AssertionError(f"Node(): op must be one of {', '.join(OPS)}, not {op!r}")
        if op == "call_function" and not callable(target):
            raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                             f"{type(target).__name__} but a Callable is expected")
        if op != "call_function" and not isinstance(target, str):
            raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                             f"{type(target).__name__} but a str is expected")
        self.graph = graph
        self.name = name
        self.op = op
        self.target = target
        self.type = return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._input_nodes: dict[Node, None] = {}
        self._prev: Node = self
        self._next: Node = self
        self._erased = False
        self._repr_fn: Callable[[Node], str] | None = None
        self._args: tuple[Any, ...] = ()
        self._kwargs: dict[str, Any] = {}
        self._set(args, kwargs)

    # ---- order -------------------------------------------------------------------------------

    @property
    def next(self) -> Node:
        """The node after this one."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Move a node of the graph before this one.

        Args:
            x: The node.

        Raises:
            AssertionError: it belongs to another graph.
        """
        if self.graph is not x.graph:
            raise AssertionError("prepend(): a node of another graph; copy it with node_copy()")
        if x is self:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev, x._next, self._prev = x, before, self, x
        self.graph._order_known = False

    def append(self, x: Node) -> None:
        """Move a node of the graph behind this one.

        Args:
            x: The node.
        """
        if x is not self:
            self._next.prepend(x) if self._next is not x else None

    def _remove_from_list(self) -> None:
        before, after = self._prev, self._next
        before._next, after._prev = after, before

    def _place(self) -> int:
        return self.graph._places()[self]

    def __lt__(self, other: Node) -> bool:
        return self._place() < other._place()

    def __le__(self, other: Node) -> bool:
        return self is other or self < other

    def __gt__(self, other: Node) -> bool:
        return other < self

    def __ge__(self, other: Node) -> bool:
        return other <= self

    # ---- arguments ---------------------------------------------------------------------------

    @property
    def args(self) -> tuple[Any, ...]:
        """Positional arguments. Assign a new tuple; the old one cannot be changed."""
        return self._args

    @args.setter
    def args(self, a: tuple[Any, ...]) -> None:
        self._set(a, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """Named arguments. Assign a new dict; the old one cannot be changed."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k: dict[str, Any]) -> None:
        self._set(self._args, k)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once."""
        return list(self._input_nodes)

    def _set(self, args: Any, kwargs: Any) -> None:
        for old in self._input_nodes:
            old.users.pop(self, None)
        found: dict[Node, None] = {}

        def use(node: Node) -> Node:
            found[node] = None
            node.users.setdefault(self)
            return node

        self._args = map_arg(tuple(args), use)
        self._kwargs = map_arg(dict(kwargs), use)
        self._input_nodes = found

    def update_arg(self, idx: int, arg: Any) -> None:
        """Replace one positional argument.

        Args:
            idx: Its position.
            arg: The new one.
        """
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Any) -> None:
        """Add a positional argument.

        Args:
            idx: The position that it gets; at most the number of arguments.
            arg: The argument.

        Raises:
            AssertionError: there is no such position.
        """
        if not 0 <= idx <= len(self.args):
            raise AssertionError(f"insert_arg(): index must be between 0 and {len(self.args)}")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Replace or add one named argument.

        Args:
            key: Its name.
            arg: The new value.
        """
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Put a node wherever another one is among the arguments.

        Args:
            old_input: What is replaced.
            new_input: What takes its place.
        """
        def swap(node: Node) -> Node:
            return new_input if node is old_input else node

        self.graph._tell_replaced(old_input, new_input.name, self)
        self._set(map_arg(self.args, swap), map_arg(self.kwargs, swap))

    def replace_all_uses_with(self, replace_with: Node,
                              delete_user_cb: Callable[[Node], bool] = lambda user: True, *,
                              propagate_meta: bool = False) -> list[Node]:
        """Let every node that uses this one use another one.

        Args:
            replace_with: The other one.
            delete_user_cb: Says of each user whether its arguments are changed.
            propagate_meta: Give the other one this one's ``meta``; it must have none.

        Returns:
            Those that used this one.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError("replace_all_uses_with(propagate_meta=True): the new node "
                                     "has meta of its own, which would be overwritten")
            replace_with.meta.update(self.meta)
        changed = [user for user in list(self.users) if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    # ---- what it is --------------------------------------------------------------------------

    @property
    def stack_trace(self) -> str | None:
        """Where the node was recorded, as a traceback is printed; None where that is unknown."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the node is kept although nothing uses it.

        Args:
            impure_random: Whether drawing random numbers is reason enough.
        """
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            return self._calls_impure(impure_random)
        if self.op == "call_method":
            name = str(self.target)
            return name.endswith("_") and not name.endswith("__")
        if self.op == "call_module":
            if self.graph.owning_module is None:
                raise AssertionError("is_impure(): the graph of a module node has no owning "
                                     "GraphModule that could be asked")
            module = self.graph.owning_module.get_submodule(str(self.target))
            return bool(getattr(module, "_is_impure", False))
        return False

    def _calls_impure(self, impure_random: bool) -> bool:
        if self.target in _side_effectful_functions or "out" in self.kwargs:
            return True
        name = getattr(self.target, "__name__", "")
        if isinstance(self.target, Operator):
            inplace = name.endswith("_") and not name.endswith("__")
            return inplace or self.kwargs.get("inplace") is True or (impure_random and _draws(name))
        if own_module(type(self.target)) == "flambeau.library.operators":
            return writes(self.target) or (impure_random and _draws(name.partition(".")[0]))
        return False

    def normalized_arguments(self, root: Any, arg_types: Any = None, kwarg_types: Any = None,
                             normalize_to_only_use_kwargs: bool = False) -> Any:
        """The arguments of a call as its signature has them, defaults filled in; None: unknown.

        Args:
            root: The module that module names are of.
            arg_types: Types of positional arguments, for functions with several forms.
            kwarg_types: Types of named arguments.
            normalize_to_only_use_kwargs: Name every argument.
        """
        from flambeau.fx import operator_schemas

        if self.op == "call_function":
            return operator_schemas.normalize_function(
                cast(Callable[..., Any], self.target), self.args, self.kwargs, arg_types,
                kwarg_types, normalize_to_only_use_kwargs)
        if self.op == "call_module":
            return operator_schemas.normalize_module(
                root, str(self.target), self.args, self.kwargs, normalize_to_only_use_kwargs)
        return None

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name

    def _pretty_print_target(self, target: Any) -> str:
        if isinstance(target, str):
            return target
        if hasattr(target, "__module__") and target.__module__ in ("builtins", "_operator"):
            return f"{'builtins' if _is_builtin(target) else 'operator'}.{target.__name__}"
        return _names.qualified_name(target)

    def format_node(self, placeholder_names: list[str] | None = None,
                    maybe_return_typename: list[str] | None = None) -> str | None:
        """The node as a line of a printed graph.

        Args:
            placeholder_names: Receives the text of a placeholder.
            maybe_return_typename: Its first item receives the type of an output.
        """
        kind = f"{_names.type_name(self.type)} " if self.type else ""
        head = f"%{self.name} : {kind}[num_users={len(self.users)}] = {self.op}"
        if self.op == "placeholder":
            default = f"(default={self.args[0]})" if self.args else ""
            return f"{head}[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"{head}[target={self._pretty_print_target(self.target)}]"
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {_names.type_name(self.type)}"
            return f"return {self.args[0]}"
        return (f"{head}[target={self._pretty_print_target(self.target)}]("
                f"args = {_format_arg(self.args)}, kwargs = {_format_arg(self.kwargs)})")


def _is_builtin(target: Any) -> bool:
    return getattr(builtins, getattr(target, "__name__", ""), None) is target


#: Operators that draw random numbers.
_DRAWING = frozenset(("dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d", "dropout2d",
                      "dropout3d", "rrelu", "bernoulli", "multinomial", "normal", "poisson",
                      "rand", "randn", "randint", "randperm", "rand_like", "randn_like",
                      "randint_like", "gumbel_softmax", "native_dropout"))


def _draws(name: str) -> bool:
    return name in _DRAWING


def writes(form: Any) -> bool:
    """Whether an operator of ``flambeau.ops``, or a form of one, writes to an argument.

    Args:
        form: The operator or form.
    """
    schema = getattr(form, "_schema", None)
    if schema is None:
        return str(form).partition(".")[2].endswith("_")
    return any(each.is_write for each in schema.arguments)
