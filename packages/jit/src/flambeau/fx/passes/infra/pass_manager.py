"""Passes in a row."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from flambeau import nn
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.passes.infra.pass_base import PassResult

__all__ = ["PassManager", "inplace_wrapper", "pass_result_wrapper",
           "this_before_that_pass_constraint"]


def pass_result_wrapper(fn: Callable[..., Any]) -> Callable[..., PassResult]:
    """A pass that gives a `PassResult`, from one that gives a module or nothing.

    Args:
        fn: The pass.
    """
    @wraps(fn)
    def run(gm: GraphModule) -> PassResult:
        result = fn(gm)
        if result is None:
            return PassResult(gm, True)
        return result if isinstance(result, PassResult) else PassResult(result, True)

    if not inspect.isfunction(fn):
        run.__name__ = type(fn).__name__
    return run


def inplace_wrapper(fn: Callable[..., Any]) -> Callable[..., PassResult]:
    """A pass from a function that changes the module and gives nothing.

    Args:
        fn: The function.
    """
    @wraps(fn)
    def run(gm: GraphModule) -> PassResult:
        fn(gm)
        return PassResult(gm, True)

    return run


def this_before_that_pass_constraint(this: Callable[..., Any], that: Callable[..., Any]
                                     ) -> Callable[..., bool]:
    """A constraint on orders of passes.

    Args:
        this: The pass that comes first.
        that: The other one.
    """
    def depends_on(a: Callable[..., Any], b: Callable[..., Any]) -> bool:
        return not (a == that and b == this)

    return depends_on


def _validate_pass_schedule_constraint(constraint: Callable[..., bool],
                                       passes: list[Callable[..., Any]]) -> None:
    for i, a in enumerate(passes):
        for j, b in enumerate(passes[i + 1:], i + 1):
            if not constraint(a, b):
                raise RuntimeError(f"pass schedule constraint violated. Expected {a} before {b} "
                                   f"but found {a} at index {i} and {b} at index{j} in pass list.")


def _topological_sort_passes(passes: list[Callable[..., Any]],
                             constraints: list[Callable[..., bool]]) -> list[Callable[..., Any]]:
    """Passes in an order that the constraints allow, as near to theirs as that is."""
    if not constraints:
        return passes
    waiting, order = list(passes), []
    while waiting:
        ready = next((each for each in waiting
                      if all(allow(each, other) for allow in constraints
                             for other in waiting if other is not each)), None)
        if ready is None:
            raise RuntimeError(f"Circular dependency detected within the following passes: "
                               f"{waiting}")
        waiting.remove(ready)
        order.append(ready)
    return order


class PassManager:
    """Runs passes one after the other.

    Args:
        passes: Functions of a module; they give a `PassResult`, a module, or nothing.
        constraints: Functions of two passes: whether the first may come first.
        steps: How often the row is run, at most.
        run_checks_after_each_pass: Run the checks behind each pass, not behind the last only.
        suppress_check_failures: Go on where a check fails.
    """

    def __init__(self, passes: list[Callable[..., Any]] | None = None,
                 constraints: list[Callable[..., bool]] | None = None, steps: int | None = None,
                 run_checks_after_each_pass: bool = False,
                 suppress_check_failures: bool = False) -> None:
        self.passes = list(passes or ())
        self.constraints = list(constraints or ())
        self.steps = steps or 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._validated = False

    def add_pass(self, _pass: Callable[..., Any]) -> None:
        """Add a pass at the end.

        Args:
            _pass: The pass.
        """
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Callable[..., bool]) -> None:
        """Add a constraint.

        Args:
            constraint: A function of two passes.
        """
        self.constraints.append(constraint)
        self._validated = False

    def solve_constraints(self) -> None:
        """Sort the passes as the constraints want."""
        self.passes = _topological_sort_passes(self.passes, self.constraints)
        self._validated = True

    def validate_constraints(self) -> None:
        """Raise RuntimeError where the order of the passes breaks a constraint."""
        for constraint in self.constraints:
            _validate_pass_schedule_constraint(constraint, self.passes)
        self._validated = True

    def add_checks(self, check: Callable[..., Any]) -> None:
        """Add a check, which is run behind passes.

        Args:
            check: A function of a module.

        Raises:
            TypeError: it does not take one argument.
        """
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a "
                            "module")
        self.check = check  # type: ignore[method-assign]

    def check(self, module: nn.Module) -> None:
        """Run behind passes; nothing, unless a subclass or `add_checks` says more.

        Args:
            module: The module.
        """

    def __call__(self, module: nn.Module) -> PassResult:
        """Run the passes on a module."""
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        overall = False
        for _ in range(self.steps):
            modified = False
            for each in self.passes:
                module, changed = self._run(each, module)
                modified = modified or changed
                if self.run_checks_after_each_pass:
                    self.check(module)
            overall = overall or modified
            if not modified:
                break
        return PassResult(module, overall)  # type: ignore[arg-type]

    def _run(self, each: Callable[..., Any], module: Any) -> tuple[Any, bool]:
        name = each.__name__ if inspect.isfunction(each) else type(each).__name__
        try:
            result = each(module)
            if not isinstance(result, PassResult) and not hasattr(result, "graph_module"):
                raise TypeError(f"The result of the pass {name} should be type PassResult. Please "
                                "wrap it with pass_result_wrapper()")
        except Exception as error:
            before = [p.__name__ if inspect.isfunction(p) else type(p).__name__
                      for p in self.passes[:self.passes.index(each)]]
            raise Exception(f"An error occurred when running the '{name}' pass after the "
                            f"following passes: {before}") from error
        return result.graph_module, bool(result.modified)
