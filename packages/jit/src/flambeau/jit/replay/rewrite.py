"""Functions that tell what they read: every operation that could look at something becomes a call.

The rewritten function does what the original does. ``__r`` stands for a ``Context`` (context.py),
whose methods are named by a letter or two, since their names stand at every operation.
"""

from __future__ import annotations

import ast
import copy
from types import CodeType, FunctionType
from typing import Any

from .scopes import bound_names, outside_names
from .source import NoSource, tree_of
from .statements import SIGNS, Statements, name_of

_FOREIGN = (ast.ClassDef, ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await,
            ast.Import, ast.ImportFrom, ast.Match,
            *([ast.TryStar] if hasattr(ast, "TryStar") else []))

#: Names of functions that look at the frame they are called from: it must be the original's.
_OF_FRAMES = frozenset({"locals", "globals", "vars", "dir", "eval", "exec"})
_OF_FRAMES_IN_MODULES = frozenset({"_getframe", "currentframe"})

#: By code object: the code that tells, and the codes inside it; or why there is none.
_MADE: dict[CodeType, CodeType | str] = {}
#: Code that tells already.
TELLING: set[CodeType] = set()


def telling_code(fn: FunctionType) -> CodeType | str:
    """The code of a function that tells what it reads, or why there is none."""
    code = fn.__code__
    if code not in _MADE:
        try:
            _MADE[code] = _rewritten(fn)
        except NoSource as error:
            _MADE[code] = str(error)
    return _MADE[code]


def _rewritten(fn: FunctionType) -> CodeType:
    node, around = tree_of(fn)
    foreign: Any = next((each for each in ast.walk(node) if isinstance(each, _FOREIGN)), None)
    if foreign is not None:
        raise NoSource(f"{fn.__code__.co_filename}:{foreign.lineno}: {_say(foreign)} is not "
                       "followed")
    body = Rewriter(fn, around).function(copy.deepcopy(node))
    outer = ast.FunctionDef(
        name="__outer__", args=_plain_arguments(["__r"]), decorator_list=[], returns=None,
        body=[body if isinstance(body, ast.FunctionDef) else ast.Return(body),
              *([ast.Return(name_of(body.name))] if isinstance(body, ast.FunctionDef) else [])])
    outer.type_params = []      # type: ignore[attr-defined]  # since Python 3.12
    module = ast.fix_missing_locations(ast.Module([outer], []))
    made = compile(module, fn.__code__.co_filename, "exec", dont_inherit=True)
    inner = next(c for c in made.co_consts if isinstance(c, CodeType))
    code = next(c for c in inner.co_consts if isinstance(c, CodeType))
    if set(code.co_freevars) - {"__r"}:
        raise NoSource(f"{fn.__qualname__}() has names that are not understood")
    todo = [code]
    while todo:
        inside = todo.pop()
        TELLING.add(inside)
        todo += [c for c in inside.co_consts if isinstance(c, CodeType)]
    return code


def _say(node: ast.AST) -> str:
    names = {"TryStar": "try", "ClassDef": "a class", "Import": "import", "ImportFrom": "import",
             "Match": "match"}
    return f"'{names.get(type(node).__name__, 'async')}' in a recorded function"


def _plain_arguments(names: list[str]) -> ast.arguments:
    return ast.arguments(posonlyargs=[], args=[ast.arg(name) for name in names], vararg=None,
                         kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[])


class Rewriter(Statements):
    """Rewrites one function and those inside it.

    Args:
        fn: the function.
        around: the class it stands in.
    """

    def __init__(self, fn: FunctionType, around: str) -> None:
        self.free = set(fn.__code__.co_freevars)
        self.around = around.lstrip("_")
        self.scopes: list[set[str]] = []
        self.outside: list[dict[str, str]] = []
        self.firsts: list[str] = []
        self.temporaries = 0

    # ---- helpers -------------------------------------------------------------------------
    def tell(self, what: str, *args: Any, keywords: Any = (), at: Any = None) -> Any:
        """A call of the context."""
        call = ast.Call(ast.Attribute(name_of("__r"), what, ast.Load()), list(args), list(keywords))
        return ast.copy_location(call, at) if at is not None else call

    def text(self, value: str) -> Any:
        """A text."""
        return ast.Constant(value)

    def mangled(self, name: str) -> Any:
        """A name of an attribute; private ones carry that of the class."""
        private = name.startswith("__") and not name.endswith("__") and self.around
        return ast.Constant(f"_{self.around}{name}" if private else name)

    def temporary(self) -> str:
        """A name that the function does not have."""
        self.temporaries += 1
        return self.temporary_name(self.temporaries)

    @staticmethod
    def temporary_name(number: int) -> str:
        """The name of the one of that number."""
        return f"__t{number}"

    def is_local(self, name: str) -> bool:
        """Whether a name belongs to the function or one inside it."""
        return any(name in scope for scope in self.scopes)

    # ---- functions -----------------------------------------------------------------------
    def function(self, node: Any) -> Any:
        """A function's own definition; arguments have no defaults, which the caller sets."""
        count = len(node.args.defaults)
        node.args.defaults = [ast.Constant(None)] * count
        node.args.kw_defaults = [d and ast.Constant(None) for d in node.args.kw_defaults]
        return self._body(node)

    def _body(self, node: Any) -> Any:
        arguments = node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        every = (*positional, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
        for arg in every:
            if arg is not None:
                arg.annotation = None
        self.outside.append(outside_names(node, self.is_local))
        self.scopes.append(bound_names(node) - set(self.outside[-1]))
        self.firsts.append(positional[0].arg if positional else "")
        if isinstance(node, ast.FunctionDef):
            node.decorator_list, node.returns = [], None
            node.body = self.statements(node.body)
        else:
            node.body = self.visit(node.body)
        for packed in (arguments.vararg, arguments.kwarg):
            if packed:
                self._note_fresh(node, packed.arg)
        self.scopes.pop()
        self.outside.pop()
        self.firsts.pop()
        return node

    def visit_Global(self, node: Any) -> Any:
        return ast.copy_location(ast.Pass(), node)

    def visit_Nonlocal(self, node: Any) -> Any:
        names = [name for name in node.names if self.is_local(name)]
        return ast.copy_location(ast.Nonlocal(names) if names else ast.Pass(), node)

    def _note_fresh(self, node: Any, name: str) -> None:
        """Each call makes the tuple of other arguments, and the dict of other keywords."""
        note = self.tell("n", name_of(name))
        if isinstance(node, ast.FunctionDef):
            node.body.insert(0, ast.Expr(note))
        else:
            both = ast.Tuple([note, node.body], ast.Load())
            node.body = ast.Subscript(both, ast.Constant(1), ast.Load())

    def visit_FunctionDef(self, node: Any) -> Any:
        if node.decorator_list:
            raise NoSource("decorators inside a recorded function are not followed")
        self._defaults(node)
        return self._body(node)

    def visit_Lambda(self, node: Any) -> Any:
        self._defaults(node)
        return self._body(node)

    def _defaults(self, node: Any) -> None:
        node.args.defaults = [self.visit(d) for d in node.args.defaults]
        node.args.kw_defaults = [d and self.visit(d) for d in node.args.kw_defaults]

    # ---- names and reads -----------------------------------------------------------------
    def visit_Name(self, node: Any) -> Any:
        if not isinstance(node.ctx, ast.Load) or self.is_local(node.id) or node.id == "__debug__":
            return node
        if node.id in _OF_FRAMES:
            raise NoSource(f"{node.id}() looks at variables, and is not followed")
        free = node.id in self.free
        return self.tell("f" if free else "g", self.text(node.id), at=node)

    def visit_Attribute(self, node: Any) -> Any:
        if not isinstance(node.ctx, ast.Load):
            raise NoSource("an attribute is written to in a way that is not followed")
        self.check_attribute(node.attr)
        return self.tell("a", self.visit(node.value), self.mangled(node.attr), at=node)

    def check_attribute(self, name: str) -> None:
        """Refuse those that give frames."""
        if name in _OF_FRAMES_IN_MODULES:
            raise NoSource(f"{name}() gives a frame, and is not followed")

    def key(self, node: Any) -> Any:
        """What stands between the brackets."""
        if isinstance(node, ast.Slice):
            parts = [self.visit(p) if p else ast.Constant(None)
                     for p in (node.lower, node.upper, node.step)]
            return self.tell("sl", *parts, at=node)
        if isinstance(node, ast.Tuple):
            node.elts = [self.key(each) for each in node.elts]
            return self.fresh(node)
        if isinstance(node, ast.Starred):
            node.value = self.tell("it", self.visit(node.value))
            return node
        return self.visit(node)

    def visit_Subscript(self, node: Any) -> Any:
        if not isinstance(node.ctx, ast.Load):
            raise NoSource("an item is written to in a way that is not followed")
        return self.tell("s", self.visit(node.value), self.key(node.slice), at=node)

    # ---- calls and operators -------------------------------------------------------------
    def visit_Call(self, node: Any) -> Any:
        args = [self.visit(arg) for arg in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
            if keyword.arg is None:
                keyword.value = self.tell("mp", keyword.value)
        called = node.func
        if isinstance(called, ast.Name) and called.id == "super" and not self.is_local("super"):
            if args or not self.firsts[-1]:
                raise NoSource("super() with arguments is not followed")
            return self.tell("su", self.tell("f", self.text("__class__")),
                             name_of(self.firsts[-1]), at=node)
        if isinstance(called, ast.Attribute):
            self.check_attribute(called.attr)
            return self.tell("m", self.visit(called.value), self.mangled(called.attr), *args,
                             keywords=node.keywords, at=node)
        return self.tell("c", self.visit(called), *args, keywords=node.keywords, at=node)

    def visit_Starred(self, node: Any) -> Any:
        if isinstance(node.ctx, ast.Load):
            node.value = self.tell("it", self.visit(node.value))
        return node

    def visit_YieldFrom(self, node: Any) -> Any:
        node.value = self.tell("it", self.visit(node.value))
        return node

    def visit_BinOp(self, node: Any) -> Any:
        return self.tell("b", self.text(SIGNS[type(node.op)]), self.visit(node.left),
                         self.visit(node.right), at=node)

    def visit_UnaryOp(self, node: Any) -> Any:
        operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            node.operand = self.tell("t", operand)
            return node
        return self.tell("un", self.text(SIGNS[type(node.op)]), operand, at=node)

    def visit_BoolOp(self, node: Any) -> Any:
        values = [self.visit(value) for value in node.values]
        node.values = [self.tell("t", value) for value in values[:-1]] + values[-1:]
        return node

    def visit_Compare(self, node: Any) -> Any:
        operands = [node.left, *node.comparators]
        if len(operands) == 2:
            return self.compare(node.ops[0], operands[0], operands[1], node)
        signs = ast.Tuple([self.text(SIGNS[type(op)]) for op in node.ops], ast.Load())
        later = [ast.Lambda(_plain_arguments([]), self.visit(each)) for each in operands[1:]]
        return self.tell("kc", signs, self.visit(operands[0]), *later, at=node)

    def compare(self, op: Any, left: Any, right: Any, at: Any) -> Any:
        """One comparison."""
        return self.tell("k", self.text(SIGNS[type(op)]), self.visit(left), self.visit(right),
                         at=at)

    def visit_IfExp(self, node: Any) -> Any:
        node.test = self.tell("t", self.visit(node.test))
        node.body, node.orelse = self.visit(node.body), self.visit(node.orelse)
        return node

    def visit_FormattedValue(self, node: Any) -> Any:
        node.value = self.tell("fm", self.visit(node.value))
        if node.format_spec:
            node.format_spec = self.visit(node.format_spec)
        return node

    # ---- containers ----------------------------------------------------------------------
    def fresh(self, node: Any) -> Any:
        """A container that the function makes."""
        return self.tell("n", node, at=node)

    def visit_List(self, node: Any) -> Any:
        self.generic_visit(node)
        return self.fresh(node) if isinstance(node.ctx, ast.Load) else node

    def visit_Tuple(self, node: Any) -> Any:
        self.generic_visit(node)
        return self.fresh(node) if isinstance(node.ctx, ast.Load) else node

    def visit_Set(self, node: Any) -> Any:
        return self.fresh(self.generic_visit(node))

    def visit_Dict(self, node: Any) -> Any:
        node.values = [self.visit(v) if k else self.tell("mp", self.visit(v))
                       for k, v in zip(node.keys, node.values, strict=True)]
        node.keys = [k and self.visit(k) for k in node.keys]
        return self.fresh(node)

    def comprehension(self, node: Any) -> Any:
        first = node.generators[0]
        first.iter = self.iteration(first.target, first.iter)
        targets = [n.id for g in node.generators for n in ast.walk(g.target)
                   if isinstance(n, ast.Name)]
        self.scopes.append(set(targets))
        for each in node.generators:
            self.check_target(each.target)
            if each is not first:
                each.iter = self.iteration(each.target, each.iter)
            each.ifs = [self.tell("t", self.visit(test)) for test in each.ifs]
        for name in ("elt", "key", "value"):
            if hasattr(node, name):
                setattr(node, name, self.visit(getattr(node, name)))
        self.scopes.pop()
        return self.fresh(node)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = comprehension

    def iteration(self, target: Any, iterable: Any) -> Any:
        whole = isinstance(target, ast.Name)
        return self.tell("it" if whole else "iu", self.visit(iterable), at=iterable)

    def check_target(self, target: Any) -> None:
        for each in ast.walk(target):
            if isinstance(each, (ast.Attribute, ast.Subscript, ast.Starred)):
                raise NoSource("a loop's target is written to in a way that is not followed")
