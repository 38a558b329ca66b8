"""Statements of functions that tell what they read: see ``rewrite.py``."""

from __future__ import annotations

import ast
from typing import Any

from .source import NoSource


def name_of(name: str, store: bool = False) -> ast.Name:
    """A name, read or written to."""
    return ast.Name(name, ast.Store() if store else ast.Load())


#: How operators are called.
SIGNS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.LShift: "<<", ast.RShift: ">>", ast.USub: "-", ast.UAdd: "+", ast.Invert: "~",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}


class Statements(ast.NodeTransformer):
    """What the rewriter does with statements; the rest is ``Rewriter``'s."""

    tell: Any           # a call of the context
    text: Any           # a text
    key: Any            # what stands between brackets
    mangled: Any        # a name as classes know it
    temporary: Any      # a name that nobody has
    temporary_name: Any     # the name of a number
    outside: list[dict[str, str]]   # names of outside that are written to
    temporaries: int    # how many of them there are
    iteration: Any      # what is iterated over
    check_target: Any   # refuses targets that are not followed

    def statements(self, body: list[Any]) -> list[Any]:
        """A block."""
        result: list[Any] = []
        for each in body:
            made = self.visit(each)
            result += made if isinstance(made, list) else [made]
        return result

    def visit_For(self, node: Any) -> Any:
        self.check_target(node.target)
        node.iter = self.iteration(node.target, node.iter)
        node.body, node.orelse = self.statements(node.body), self.statements(node.orelse)
        return node

    def visit_While(self, node: Any) -> Any:
        node.test = self.tell("t", self.visit(node.test))
        node.body, node.orelse = self.statements(node.body), self.statements(node.orelse)
        return node

    visit_If = visit_While

    def visit_Assert(self, node: Any) -> Any:
        node.test = self.tell("t", self.visit(node.test))
        node.msg = node.msg and self.visit(node.msg)
        return node

    def visit_With(self, node: Any) -> Any:
        for item in node.items:
            item.context_expr = self.tell("cm", self.visit(item.context_expr))
            if item.optional_vars is not None and not isinstance(item.optional_vars, ast.Name):
                raise NoSource("what 'with' binds is followed only as a name")
        node.body = self.statements(node.body)
        return node

    def visit_Try(self, node: Any) -> Any:
        """A block in which nothing was raised, and in which no replay can raise: else it is
        refused."""
        kept = self.temporary()
        for handler in node.handlers:
            handler.type = handler.type and self.visit(handler.type)
            handler.body = [self.tell_alone("ex", handler), *self.statements(handler.body)]
        for name in ("body", "orelse", "finalbody"):
            setattr(node, name, self.statements(getattr(node, name)))
        begin = ast.copy_location(ast.Assign([name_of(kept, True)], self.tell("tb")), node)
        end = self.tell_alone("te", node, name_of(kept))
        return [begin, ast.copy_location(ast.Try([node], [], [], [end]), node)]

    def tell_alone(self, what: str, at: Any, *args: Any) -> Any:
        """A statement that is a call of the context."""
        return ast.copy_location(ast.Expr(self.tell(what, *args, at=at)), at)

    def visit_Assign(self, node: Any) -> Any:
        value = self.visit(node.value)
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name) \
                and node.targets[0].id not in self.outside[-1]:
            node.value = value
            return node
        names = self.temporaries
        kept = self.temporary()
        made = [ast.copy_location(ast.Assign([name_of(kept, True)], value), node)]
        for target in node.targets:
            made += self.store(target, name_of(kept), node)
        return [*made, self.forget(names, node)]

    def forget(self, names: int, at: Any) -> Any:
        """A statement that lets go of what was kept since there were so many temporary names."""
        kept = range(names + 1, self.temporaries + 1)
        return ast.copy_location(
            ast.Delete([ast.Name(self.temporary_name(k), ast.Del()) for k in kept]), at)

    def store(self, target: Any, value: Any, at: Any) -> list[Any]:
        """Statements that write a value to a target."""
        if isinstance(target, ast.Attribute):
            call = self.tell("sa", self.visit(target.value), self.mangled(target.attr), value,
                             at=at)
        elif isinstance(target, ast.Subscript):
            call = self.tell("si", self.visit(target.value), self.key(target.slice), value, at=at)
        elif isinstance(target, ast.Name) and target.id in self.outside[-1]:
            call = self.tell(self.outside[-1][target.id], self.text(target.id), value, at=at)
        elif isinstance(target, ast.Name):
            return [ast.copy_location(ast.Assign([target], value), at)]
        elif isinstance(target, ast.Starred):
            return self.store(target.value, self.tell("n", value), at)
        else:
            names = [self.temporary() for _ in target.elts]
            inner = ast.Tuple([ast.Starred(name_of(name, True), ast.Store())
                               if isinstance(each, ast.Starred) else name_of(name, True)
                               for each, name in zip(target.elts, names, strict=True)],
                              ast.Store())
            made: list[Any] = [ast.copy_location(
                ast.Assign([inner], self.tell("u", value)), at)]
            for each, name in zip(target.elts, names, strict=True):
                made += self.store(each, name_of(name), at)
            return made
        return [ast.copy_location(ast.Expr(call), at)]

    def visit_AnnAssign(self, node: Any) -> Any:
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return self.visit_Assign(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_AugAssign(self, node: Any) -> Any:
        sign = self.text(SIGNS[type(node.op)])
        target = node.target
        if isinstance(target, ast.Name):
            now = self.visit_Name(ast.copy_location(name_of(target.id), node))
            value = self.tell("ip", sign, now, self.visit(node.value), at=node)
            if target.id in self.outside[-1]:
                return self.store(target, value, node)
            return ast.copy_location(ast.Assign([target], value), node)
        names = self.temporaries
        of, old = self.temporary(), self.temporary()
        made: list[Any] = [ast.Assign([name_of(of, True)], self.visit(target.value))]
        if isinstance(target, ast.Attribute):
            key: Any = self.mangled(target.attr)
            read, write = "a", "sa"
        else:
            made.append(ast.Assign([name_of(name := self.temporary(), True)],
                                   self.key(target.slice)))
            key, read, write = name_of(name), "s", "si"
        made.append(ast.Assign([name_of(old, True)], self.tell(read, name_of(of), key, at=node)))
        value = self.tell("ip", sign, name_of(old), self.visit(node.value), at=node)
        made.append(ast.Expr(self.tell(write, name_of(of), key, value, at=node)))
        made.append(self.forget(names, node))
        return [ast.copy_location(each, node) for each in made]

    def visit_Delete(self, node: Any) -> Any:
        if not all(isinstance(each, ast.Name) for each in node.targets):
            raise NoSource("'del' is followed only for names")
        return node
