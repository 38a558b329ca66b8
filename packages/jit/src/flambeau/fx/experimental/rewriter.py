"""Recording programs whose statements look at values, after rewriting the statements."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from flambeau import nn
from flambeau.core.homes import own_module
from flambeau.fx._symbolic_trace import Tracer
from flambeau.fx.graph import Graph

__all__ = ["AST_Rewriter", "RewritingTracer"]

_OUTER = "_with_free_variables"
_ASSERT = "__import__('flambeau.core.compat.asserting', fromlist=['_assert'])._assert()"


class AST_Rewriter(ast.NodeTransformer):
    """Rewrites a function: ``assert`` becomes a call that can be recorded.

    Subclasses add statements by methods such as ``visit_If``. An annotated assignment becomes
    ``annotate(value, type)`` where the function's module has `flambeau.fx.annotate.annotate`.
    """

    _annotates = False

    def rewrite(self, fn: FunctionType) -> FunctionType:
        """The rewritten function, with the names of the module that it is in.

        Args:
            fn: The function; its source must be known.
        """
        lines, _ = inspect.getsourcelines(fn)
        inner: Any = inspect.unwrap(getattr(fn, "__func__", fn))
        self._annotates = callable(inner.__globals__.get("annotate"))
        tree = _parsed(lines)
        names = inner.__code__.co_freevars
        tree = self.visit(tree)
        if names:
            tree.body = [_outer(tree.body[0], names)]
        made: dict[str, Any] = {}
        exec(compile(ast.fix_missing_locations(tree), "", "exec"), inner.__globals__, made)
        (found,) = made.values()
        if names:
            found = found(*[cell.cell_contents for cell in inner.__closure__])
        return found

    def visit_Assert(self, node: ast.Assert) -> ast.Expr:
        """A call of a function instead of ``assert``.

        Args:
            node: The statement.
        """
        call = ast.parse(_ASSERT, mode="eval").body
        assert isinstance(call, ast.Call)
        call.args = [node.test, node.msg or ast.Constant(value="")]
        return ast.copy_location(ast.Expr(value=call), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        """A call of ``annotate`` for an annotated assignment, where there is such a function.

        Args:
            node: The statement.
        """
        if not self._annotates or node.value is None:
            return node
        call = ast.Call(func=ast.Name(id="annotate", ctx=ast.Load()),
                        args=[node.value, node.annotation], keywords=[])
        return ast.copy_location(ast.Assign(targets=[node.target], value=call), node)


def _parsed(lines: list[str]) -> ast.Module:
    """The tree of a definition that may be indented, as text in it may be not."""
    if not lines[0][:1].isspace():
        return ast.parse("".join(lines))
    block = ast.parse("if True:\n" + "".join(lines)).body[0]
    assert isinstance(block, ast.If)
    return ast.Module(body=block.body, type_ignores=[])


def _outer(definition: ast.stmt, names: tuple[str, ...]) -> ast.stmt:
    """A function of the free variables of another one, which gives that one."""
    made = ast.parse(f"def {_OUTER}({', '.join(names)}):\n    return 0").body[0]
    assert isinstance(made, ast.FunctionDef) and isinstance(definition, ast.FunctionDef)
    made.body = [definition, ast.Return(value=ast.Name(id=definition.name, ctx=ast.Load()))]
    return made


class RewritingTracer(Tracer):
    """A tracer that rewrites functions before it records them; see `AST_Rewriter`."""

    def trace(self, root: nn.Module | Callable[..., Any],
              concrete_args: dict[str, Any] | None = None) -> Graph:
        """Record a module or function.

        Args:
            root: The module or function.
            concrete_args: Name of a parameter -> its value.
        """
        return super().trace(_rewrite(root), concrete_args)


def _rewrite(fn: Any) -> Any:
    """A function, or a module and those below it, rewritten."""
    if not isinstance(fn, nn.Module):
        return AST_Rewriter().rewrite(fn)
    return _rewritten_module(fn, {})


def _rewritten_module(module: nn.Module, made: dict[int, nn.Module]) -> nn.Module:
    """A copy of a module over the same tensors, whose class has a rewritten ``forward``."""
    if id(module) in made:
        return made[id(module)]
    kind = type(module)
    if own_module(kind).startswith("flambeau.nn") and not list(module.children()):
        return module
    forward: Any = kind.forward
    if not own_module(kind).startswith("flambeau.") and isinstance(forward, FunctionType):
        forward = AST_Rewriter().rewrite(forward)
    new: Any = type(kind.__name__, (kind,), {"forward": forward, "__module__": kind.__module__})
    copied: Any = new.__new__(new)
    copied.__dict__.update(vars(module))
    made[id(module)] = copied
    for name, child in module.named_children():
        copied._modules[name] = _rewritten_module(child, made)
    return copied
