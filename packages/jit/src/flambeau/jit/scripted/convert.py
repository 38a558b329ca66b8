"""Python's control flow as calls: ``if a: b`` becomes a function of its variables, and so on.

Converted code does what the function does, and is only run while it is recorded. Variables that a
body assigns are its parameters and results; a ``return`` in a branch takes what follows along.
"""

from __future__ import annotations

import ast
import copy
from types import CellType, CodeType, FunctionType
from typing import Any

from flambeau.jit.replay.source import NoSource, tree_of
from flambeau.jit.scripted import flow
from flambeau.jit.scripted.jumps import Jumps, Unsupported, has, statements_in

_FLOW = "_fl_flow"
_REFUSED = (ast.Yield, ast.YieldFrom, ast.Await, ast.Nonlocal, ast.Global, ast.AsyncFor,
            ast.AsyncWith, ast.AsyncFunctionDef, ast.Match)
#: Functions of the module ``operator``; the name of one in place begins with i.
_OPERATORS = {"Add": "add", "Sub": "sub", "Mult": "mul", "Div": "truediv", "Pow": "pow",
              "FloorDiv": "floordiv", "Mod": "mod", "BitOr": "or_", "BitAnd": "and_",
              "BitXor": "xor", "LShift": "lshift", "RShift": "rshift", "MatMult": "matmul"}
#: Names that are called as they are: Python looks at who calls them.
_PLAIN = {"super", "locals", "globals", "vars", "eval", "exec", "isinstance", "len", "print"}


def converted(fn: FunctionType) -> FunctionType:
    """The function with its control flow as calls.

    Raises:
        Unsupported: it has statements that are not converted, or its source is not known.
    """
    try:
        tree, _ = tree_of(fn)
    except NoSource as error:
        raise Unsupported(str(error)) from None
    tree = copy.deepcopy(tree)
    if any(isinstance(node, _REFUSED) for node in ast.walk(tree)):
        raise Unsupported("a generator, a coroutine, nonlocal, global or match")
    if isinstance(tree, ast.Lambda):
        body: list[Any] = [ast.copy_location(ast.Return(tree.body), tree.body)]
        tree = ast.copy_location(
            ast.FunctionDef("lambda_", tree.args, body, [], None, None), tree)
    return _compiled(fn, Converter().function(tree))


def _compiled(fn: FunctionType, tree: Any) -> FunctionType:
    """A definition as a function over the same variables."""
    free = (*fn.__code__.co_freevars, _FLOW)
    arguments = ast.arguments([], [ast.arg(name) for name in free], None, [], [], None, [])
    uses: list[ast.stmt] = [ast.Expr(ast.Name(name, ast.Load())) for name in free]
    tree.body = [ast.If(ast.Constant(0), uses, []), *tree.body]     # each is a free variable
    around = ast.FunctionDef("around", arguments, [tree], [], None, None)
    module = ast.fix_missing_locations(ast.Module([around], []))
    code = compile(module, fn.__code__.co_filename, "exec", dont_inherit=True)
    outer = next(c for c in code.co_consts if isinstance(c, CodeType))
    inner = next(c for c in outer.co_consts if isinstance(c, CodeType) and c.co_name == tree.name)
    cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
    cells[_FLOW] = CellType(flow)
    made = FunctionType(inner, fn.__globals__, fn.__name__, fn.__defaults__,
                        tuple(cells.get(name) or CellType() for name in inner.co_freevars))
    made.__kwdefaults__ = fn.__kwdefaults__
    return made


def _name(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _function(name: str, parameters: list[str], body: list[Any]) -> ast.FunctionDef:
    arguments = ast.arguments([], [ast.arg(each) for each in parameters], None, [], [], None, [])
    return ast.FunctionDef(name, arguments, body or [ast.Pass()], [], None, None)


def _thunk(value: ast.expr) -> ast.expr:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), value)


def _stored(body: list[Any]) -> list[str]:
    """The variables that statements assign, in order of their names."""
    names = set()
    todo: list[Any] = list(body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            todo += [each for each in ast.walk(node) if isinstance(each, ast.NamedExpr)]
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
        elif not isinstance(node, ast.Lambda | ast.ClassDef):
            todo += ast.iter_child_nodes(node)
    return sorted(names)


def _attribute_set(body: list[Any]) -> str:
    """An attribute that statements set, as it is written."""
    for statement in statements_in(body, into_loops=True):
        for node in ast.walk(statement):
            if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                return ast.unparse(node)
    return ""


class Converter(ast.NodeTransformer):
    """Converts one function and those inside it."""

    def __init__(self) -> None:
        self.count = 0

    # ---- helpers ----

    def flow(self, what: str, *args: ast.expr) -> ast.Call:
        return ast.Call(ast.Attribute(_name(_FLOW), what, ast.Load()), list(args), [])

    def fresh(self, what: str) -> str:
        self.count += 1
        return f"{flow.MADE}{what}_{self.count}"

    def texts(self, names: list[str]) -> ast.expr:
        return ast.Tuple([ast.Constant(name) for name in names], ast.Load())

    def state(self, names: list[str]) -> ast.expr:
        """The variables' values, of which some may have none."""
        return ast.Tuple([self.flow("get", _thunk(_name(name)), ast.Constant(name))
                          for name in names], ast.Load())

    def gives(self, names: list[str]) -> Any:
        return ast.Return(ast.Tuple([_name(name) for name in names], ast.Load()))

    def assigned(self, names: list[str], value: ast.expr) -> Any:
        if not names:
            return ast.Expr(value)
        targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in names]
        return ast.Assign([ast.Tuple(targets, ast.Store())], value)

    # ---- functions ----

    def function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.decorator_list, node.returns = [], None
        arguments = node.args
        for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs,
                    arguments.vararg, arguments.kwarg):
            if arg is not None:
                arg.annotation = None
        body = Jumps(flow.MADE).block(node.body)
        node.body = self.block(body, ends=True)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        decorators = node.decorator_list
        node.args.defaults = [self.visit(each) for each in node.args.defaults]
        made = self.function(node)
        made.decorator_list = decorators
        return made

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        return node

    # ---- statements ----

    def block(self, body: list[Any], ends: bool) -> list[Any]:
        """Statements; ``ends``: nothing follows them, so that each way through them returns."""
        found: list[Any] = []
        for i, statement in enumerate(body):
            if isinstance(statement, ast.If) and has([statement], ast.Return):
                if not ends:
                    raise Unsupported("a return from with or try in a branch")
                return [*found, *self.last(statement, body[i + 1:])]
            if isinstance(statement, ast.Return | ast.Raise):
                return [*found, self.visit(statement)]
            made = self.statement(statement)
            found += made if isinstance(made, list) else [made]
        if ends:
            found.append(ast.Return(ast.Constant(None)))
        return found

    def statement(self, node: Any) -> Any:
        if isinstance(node, ast.If | ast.While | ast.For | ast.FunctionDef | ast.ClassDef):
            return self.visit(node)
        for name in ("body", "orelse", "finalbody"):
            if getattr(node, name, None):
                setattr(node, name, self.block(getattr(node, name), ends=False))
        for handler in getattr(node, "handlers", []):
            handler.body = self.block(handler.body, ends=False)
        return self._heads(node) if hasattr(node, "body") else self.visit(node)

    def _heads(self, node: Any) -> Any:
        """What a ``with`` enters; its body is done."""
        for item in getattr(node, "items", []):
            item.context_expr = self.visit(item.context_expr)
        return node

    def last(self, node: ast.If, rest: list[Any]) -> list[Any]:
        """An ``if`` that returns: both branches take the rest along."""
        names = _stored([*node.body, *node.orelse, *rest])
        then, orelse = self.fresh("then"), self.fresh("else")
        bodies = [self.block([*side, *copy.deepcopy(rest)], ends=True)
                  for side in (node.body, node.orelse)]
        for body in bodies:
            _give_tuples(body)
        sets = ast.Constant(_attribute_set([*node.body, *node.orelse, *rest]))
        call = self.flow("choose", self.condition(node.test), _name(then), _name(orelse),
                         self.texts([f"{flow.MADE}result"]), self.state(names), sets)
        value = ast.Subscript(call, ast.Constant(0), ast.Load())
        made = [_function(then, names, bodies[0]), _function(orelse, names, bodies[1]),
                ast.Return(value)]
        return [ast.copy_location(each, node) for each in made]

    def visit_If(self, node: ast.If) -> Any:
        names = _stored([*node.body, *node.orelse])
        then, orelse = self.fresh("then"), self.fresh("else")
        sets = ast.Constant(_attribute_set([*node.body, *node.orelse]))
        bodies = [[*self.block(side, ends=False), self.gives(names)]
                  for side in (node.body, node.orelse)]
        call = self.flow("choose", self.condition(node.test), _name(then), _name(orelse),
                         self.texts(names), self.state(names), sets)
        made = [_function(then, names, bodies[0]), _function(orelse, names, bodies[1]),
                self.assigned(names, call)]
        return [ast.copy_location(each, node) for each in made]

    def visit_While(self, node: ast.While) -> Any:
        names = _stored([*node.body, node.test])
        holds, step = self.fresh("while"), self.fresh("do")
        test, stop = node.test, getattr(node, "stop", None)
        if stop is not None:
            test = ast.BoolOp(ast.And(), [ast.UnaryOp(ast.Not(), _name(stop)), test])
        sets = ast.Constant(_attribute_set(node.body))
        body = [*self.block(node.body, ends=False), self.gives(names)]
        call = self.flow("repeat", _name(holds), _name(step), self.texts(names),
                         self.state(names), sets)
        made = [_function(holds, names, [ast.Return(self.condition(test))]),
                _function(step, names, body), self.assigned(names, call)]
        return [ast.copy_location(each, node) for each in made]

    def visit_For(self, node: ast.For) -> Any:
        stop = getattr(node, "stop", None)
        names = sorted({*_stored([node.target, *node.body]), *([stop] if stop else [])})
        step, item = self.fresh("for"), self.fresh("item")
        items = node.iter
        if isinstance(items, ast.Call) and isinstance(items.func, ast.Name) \
                and items.func.id == "range" and not items.keywords:
            items = self.flow("counted", *(self.visit(arg) for arg in items.args))
        else:
            items = self.visit(items)
        sets = ast.Constant(_attribute_set(node.body))
        body = node.body
        if stop is not None:        # where Python counts and a value stops, the rest does nothing
            going = ast.UnaryOp(ast.Not(), _name(stop))
            body = [ast.copy_location(ast.If(going, body, []), node)]
        body = self.block(body, ends=False)
        first = ast.Assign([node.target], _name(item))
        number = names.index(stop) if stop is not None else -1
        call = self.flow("each", items, _name(step), self.texts(names), self.state(names),
                         ast.Constant(number), sets)
        made = [_function(step, [item, *names], [first, *body, self.gives(names)]),
                self.assigned(names, call)]
        return [ast.copy_location(each, node) for each in made]

    # ---- expressions ----

    def condition(self, test: Any) -> ast.expr:
        """What stands where Python asks whether something is true."""
        if isinstance(test, ast.BoolOp):
            what = "both" if isinstance(test.op, ast.And) else "any_of"
            *rest, last = [self.condition(value) for value in test.values]
            for value in reversed(rest):
                last = self.flow(what, value, _thunk(last))
            return ast.copy_location(last, test)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return ast.copy_location(self.flow("opposite", self.condition(test.operand)), test)
        made: ast.expr = self.visit(test)
        return made

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        what = "last_of" if isinstance(node.op, ast.And) else "first_of"
        *rest, last = [self.visit(value) for value in node.values]
        for value in reversed(rest):
            last = self.flow(what, value, _thunk(last))
        return ast.copy_location(last, node)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name) or type(node.op).__name__ not in _OPERATORS:
            return node
        what = ast.Constant(_OPERATORS[type(node.op).__name__])
        value = self.flow("augmented", what, _name(node.target.id), node.value)
        return ast.copy_location(ast.Assign([node.target], value), node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) or isinstance(node.slice, ast.Slice | ast.Constant):
            return node
        return ast.copy_location(self.flow("item", node.value, self.index(node.slice)), node)

    def index(self, node: ast.expr) -> ast.expr:
        """What stands in brackets, as a value."""
        if isinstance(node, ast.Slice):
            sides = (node.lower, node.upper, node.step)
            return self.flow("slice", *(each or ast.Constant(None) for each in sides))
        if isinstance(node, ast.Tuple):
            return ast.Tuple([self.index(each) for each in node.elts], ast.Load())
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        return self.condition(node) if isinstance(node.op, ast.Not) else self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        self.generic_visit(node)
        if len(node.ops) == 1:
            return node
        sides = ast.arguments([], [ast.arg("one"), ast.arg("other")], None, [], [], None, [])
        pairs: list[ast.expr] = []
        for op, right in zip(node.ops, node.comparators, strict=True):
            compare = ast.Lambda(sides, ast.Compare(_name("one"), [op], [_name("other")]))
            pairs.append(ast.Tuple([compare, _thunk(right)], ast.Load()))
        return ast.copy_location(self.flow("chain", node.left, *pairs), node)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        made = self.flow("either", self.condition(node.test), _thunk(self.visit(node.body)),
                         _thunk(self.visit(node.orelse)))
        return ast.copy_location(made, node)

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if not (isinstance(node.func, ast.Name) and node.func.id in _PLAIN):
            node.func = ast.copy_location(self.flow("call", node.func), node.func)
        return node


def _give_tuples(body: list[Any]) -> None:
    """Have the returns of a branch give a variable's value."""
    for statement in statements_in(body, into_loops=True):
        if isinstance(statement, ast.Return):
            value = statement.value or ast.Constant(None)
            statement.value = ast.Tuple([value], ast.Load())
