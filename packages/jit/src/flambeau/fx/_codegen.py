"""The Python code that a graph is."""

from __future__ import annotations

import builtins
import enum
import types
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import flambeau
import flambeau.fx._infix as _infix
import flambeau.fx._names as _names
from flambeau.fx.node import Node

TransformCodeFunc = Callable[[list[str]], list[str]]


@dataclass
class PythonCode:
    """Source text, and what the names in it mean.

    Args:
        src: The definition of ``forward``.
        globals: Name -> object, for names that the text does not define.
        _lineno_map: Line of the body -> position of the node that it came from.
        _prologue_start: Lines before the definition.
    """

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] | None = field(default_factory=dict)
    _prologue_start: int = 0


class CodeGen:
    """How a graph is written as a function; subclasses change what goes in and comes out."""

    def __init__(self) -> None:
        self._body_transformer: TransformCodeFunc | None = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The line that begins the function.

        Args:
            free_vars: Its parameters, with annotations and defaults.
            maybe_return_annotation: " -> type", or nothing.
        """
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any) -> str:
        """The line that ends the function.

        Args:
            output_args: The arguments of the output node.
        """
        return f"return {output_args!r}"

    def process_inputs(self, *args: Any) -> Any:
        """The arguments of the graph, from those of the function.

        Args:
            args: What the function was called with.
        """
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """The result of the function, from that of the graph.

        Args:
            outputs: What the graph gave.
        """
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Names that the code of this class uses, with their objects."""
        return []

    def _gen_python_code(self, nodes: Iterable[Node], root_module: str, namespace: Any, *,
                         verbose: bool = False, **ignored: Any) -> PythonCode:
        return Writer(self, list(nodes), root_module, namespace, verbose).write()


class Writer:
    """Writes one function.

    Args:
        codegen: Says how it begins and ends.
        nodes: The graph's.
        root: The name of the module that module names are below.
        namespace: The names that are taken.
        verbose: Say in comments where nodes came from.
    """

    def __init__(self, codegen: CodeGen, nodes: list[Node], root: str, namespace: Any,
                 verbose: bool) -> None:
        self.codegen = codegen
        self.nodes = nodes
        self.root = root
        self.namespace = namespace
        self.verbose = verbose
        self.globals: dict[str, Any] = {}
        self.free: list[str] = []
        self.body: list[str] = []
        self.renamed: list[str] = []
        self.wrapped: dict[str, None] = {}
        self.returns = ""
        self.origins: dict[int, int | None] = {}

    def write(self) -> PythonCode:
        """The code."""
        for name, (_, thing) in _names.GLOBALS.items():
            self.globals[name] = thing
            self.namespace.reserve(name, thing)
        dies = _last_uses(self.nodes)
        said = None
        for at, node in enumerate(self.nodes):
            if self.verbose and node.op not in ("placeholder", "output"):
                said = self._comment(node, said)
            start = len(self.body)
            self._statement(node)
            self._forget(node, dies.get(node, []))
            for line in range(start, len(self.body)):
                self.origins[line] = at
        return self._assemble()

    # ---- names -------------------------------------------------------------------------------

    def name_global(self, hint: str, thing: Any) -> str:
        """The name of an object that is not of the graph: a function, a type."""
        if thing is not flambeau.device and _names.is_from_library(thing):
            return _names.qualified_name(thing)
        if isinstance(thing, type) and getattr(builtins, thing.__name__, None) is thing:
            return str(getattr(thing, "__name__"))  # noqa: B009 - narrowed to None by mypy
        name: str = self.namespace.create_name(hint, thing)
        self.globals.setdefault(name, thing)
        return name

    def annotation(self, kind: Any) -> str:
        """How a type is written; its names become globals."""
        if kind == ():
            return "()"
        if isinstance(kind, types.UnionType):
            return "|".join(self.annotation(each) for each in typing.get_args(kind))
        inner = typing.get_args(kind)
        if not inner:
            return self.name_global(_names.type_name(kind), kind)
        base = self._origin(kind)
        return f"{base}[{','.join(self.annotation(each) for each in inner)}]"

    def _origin(self, kind: Any) -> str:
        name = _names.type_name(kind).split("[")[0]
        origin = kind.__origin__
        if name.startswith("typing."):
            origin = getattr(typing, name.removeprefix("typing."), origin)
        return self.name_global(name, origin)

    def _typed(self, node: Node) -> str:
        return "" if node.type is None else f" : {self.annotation(node.type)}"

    # ---- expressions -------------------------------------------------------------------------

    def show(self, arg: Any) -> str:
        """An argument as an expression."""
        if isinstance(arg, Node):
            return repr(arg)
        if isinstance(arg, tuple) and hasattr(arg, "_fields"):
            name = self.name_global(_names.qualified_name(type(arg)), type(arg))
            return f"{name}({', '.join(self.show(each) for each in arg)}" \
                   f"{',' if len(arg) == 1 else ''})"
        if isinstance(arg, enum.Enum):
            return f"{self.name_global(type(arg).__name__, type(arg))}.{arg.name}"
        if isinstance(arg, flambeau.Tensor):
            dtype = str(arg.dtype).split(".")[-1]
            return f"{_names.library()}.Tensor(size={list(arg.shape)}, dtype={dtype})"
        if isinstance(arg, flambeau.dtype | flambeau.memory_format | flambeau.layout):
            return f"{_names.library()}.{str(arg).split('.')[-1]}"
        if type(arg) is tuple or isinstance(arg, flambeau.Size):
            inside = ", ".join(self.show(each) for each in arg)
            return f"({inside},)" if len(arg) == 1 else f"({inside})"
        if isinstance(arg, list):
            return "[" + ", ".join(self.show(each) for each in arg) + "]"
        if isinstance(arg, dict):
            return "{" + ", ".join(f"{k!r}: {self.show(v)}" for k, v in arg.items()) + "}"
        if isinstance(arg, slice):
            return f"slice({self.show(arg.start)}, {self.show(arg.stop)}, {self.show(arg.step)})"
        return repr(arg)

    def arguments(self, args: Any, kwargs: Any) -> str:
        """The arguments of a call."""
        shown = [self.show(each) for each in args]
        return ", ".join([*shown, *(f"{key} = {self.show(v)}" for key, v in kwargs.items())])

    # ---- statements --------------------------------------------------------------------------

    def _statement(self, node: Node) -> None:
        if node.op == "placeholder":
            self._parameter(node)
            return
        if node.op == "output":
            if node.type is not None:
                self.returns = f" -> {self.annotation(node.type)}"
            self.body.append(self._output(node))
            return
        self.body.append(self._assignment(node))

    def _output(self, node: Node) -> str:
        import inspect

        if "repr_fn" in inspect.signature(self.codegen.generate_output).parameters:
            return self.codegen.generate_output(node.args[0], repr_fn=self.show)  # type: ignore
        if type(self.codegen).generate_output is CodeGen.generate_output:
            return f"return {self.show(node.args[0])}"
        return self.codegen.generate_output(node.args[0])

    def _parameter(self, node: Node) -> None:
        target = str(node.target)
        default = f" = {self.show(node.args[0])}" if node.args else ""
        self.free.append(f"{target}{self._typed(node)}{default}")
        plain = target.replace("*", "")
        if plain != repr(node):
            self.renamed.append(f"{node!r} = {plain}\n")

    def _assignment(self, node: Node) -> str:
        left = f"{node!r}{self._typed(node)} = "
        if node.op == "call_method":
            return (f"{left}{_names.dotted(self.show(node.args[0]), str(node.target))}"
                    f"({self.arguments(node.args[1:], node.kwargs)})")
        if node.op == "call_module":
            return (f"{left}{_names.dotted(self.root, str(node.target))}"
                    f"({self.arguments(node.args, node.kwargs)})")
        if node.op == "get_attr":
            return f"{left}{_names.dotted(self.root, str(node.target))}"
        return self._call(node, left)

    def _call(self, node: Node, left: str) -> str:
        target, args = node.target, node.args
        short = _infix.text(target, args, node.kwargs)
        if short is not None:
            written = short.format(*(self.show(each) for each in args))
            if getattr(target, "__name__", "") in _infix.inplace_methods:
                return f"{written};  {left}{self.show(args[0])}"
            return left + written
        qualified = _names.qualified_name(target)
        name = self.name_global(qualified, target)
        if name == "getattr" and len(args) == 2 and isinstance(args[1], str) \
                and args[1].isidentifier():
            return left + _names.dotted(self.show(args[0]), args[1])
        if node.meta.get("is_wrapped"):
            self.wrapped[name] = None
        return f"{left}{name}({self.arguments(args, node.kwargs)})"

    def _forget(self, node: Node, dead: list[Node]) -> None:
        """Let go of values after their last use, so that memory is free early."""
        if node.op == "placeholder":
            return
        if node.op == "output":
            self.body.append("\n")
            return
        if not node.users:
            dead = [*dead, node]
        text = " = ".join([*(repr(each) for each in dead), "None"])
        self.body.append(f";  {text}\n" if dead else "\n")

    def _comment(self, node: Node, said: str | None) -> str | None:
        trace = node.stack_trace
        line = _where(trace) if trace else ""
        if trace and line and line != said:
            self.body.append(f"\n# {line}\n")
            return line
        if not trace and said != "":
            self.body.append("# No stacktrace found for following nodes\n")
            return ""
        return said

    def _assemble(self) -> PythonCode:
        body = self.body or ["pass\n"]
        if self.codegen._body_transformer:
            body = self.codegen._body_transformer(body)
        for name, thing in self.codegen.additional_globals():
            self.name_global(name, thing)
        head = self.codegen.gen_fn_def(self.free, self.returns)
        wrap = f"{_names.library()}.fx._symbolic_trace.wrap"
        wraps = "\n".join(f'{wrap}("{name}")' for name in self.wrapped)
        text = "".join([*self.renamed, *body])
        code = "\n".join("    " + line for line in text.split("\n"))
        prologue = f"\n{wraps}\n\n{head}"
        before = prologue.count("\n") + 1
        return PythonCode(f"{prologue}\n{code}", self.globals, self._lines(before), before)

    def _lines(self, before: int) -> dict[int, int | None]:
        lines: dict[int, int | None] = {}
        at = len(self.renamed)
        for index, piece in enumerate(self.body):
            for _ in range(piece.count("\n") or 1):
                lines.setdefault(at + 1, self.origins.get(index))
            at += piece.count("\n")
        return lines


def _where(trace: str) -> str:
    """``File: path:line in function, code: text`` of the innermost frame of a trace."""
    lines = [line.strip() for line in trace.strip().split("\n")]
    for at in range(len(lines) - 2, -1, -1):
        if lines[at].startswith('File "'):
            path, line, place = lines[at].removeprefix('File "').split(", ")[:3]
            number = line.removeprefix("line ")
            name = place.removeprefix("in ")
            return f'File: {path.rstrip(chr(34))}:{number} in {name}, code: {lines[at + 1]}'
    return ""


def _last_uses(nodes: list[Node]) -> dict[Node, list[Node]]:
    """Node -> the nodes that are used by it last."""
    last: dict[Node, Node] = {}
    dies: dict[Node, list[Node]] = {}
    for node in reversed(nodes):
        for used in node._input_nodes:
            if used not in last:
                last[used] = node
                dies.setdefault(node, []).append(used)
    return dies
