"""Recording a call, and making a program of it."""

from __future__ import annotations

import gc
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from flambeau.jit import bridge

from . import effects, numbers, plan, steps, trust
from .calls import Calls
from .depth import room_for_frames
from .modules import Tree
from .numbers import MISSING
from .reads import Reads
from .signatures import signature
from .trust import VALUES
from .warned import guard_filters, hear_warnings
from .writes import Writes


@dataclass(eq=False)
class Recorded:
    """What a recorded call gave.

    Args:
        result: what it returned.
        program: the core's, or ``None``.
        refusal: why there is none.
        kernels: how many there are.
        runs: the kernels, where they are compared later: see ``signature``.
        source_lines: where they stand: ``(kernels before, file, line)``.
        about: for people, a line for each loop.
        spent: the results that have a history: their numbers, and where in what is returned.
        trees: by address the trees of modules that were called.
    """

    result: Any
    program: Any = None
    refusal: str = ""
    kernels: int = 0
    runs: list[Any] = field(default_factory=list)
    source_lines: list[tuple[int, str, int]] = field(default_factory=list)
    about: list[str] = field(default_factory=list)
    kept: Any = None
    guards: int = 0
    spent: list[tuple[int, tuple[Any, ...]]] = field(default_factory=list)
    trees: dict[int, Tree] = field(default_factory=dict)


class Recorder:
    """Records one call of a function.

    Args:
        args: those of the call.
        kwargs: those by name.
        strict: refuse also what only a program that changes a lot behind the call could change.
        known: another recording of the function, whose guards may be taken over.
        changing: where calls are known to read a number and to write another: see ``Writes``.
    """

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any], strict: bool = False,
                 known: Recorded | None = None,
                 changing: set[tuple[int, Any]] | None = None) -> None:
        self.strict = strict
        self.recording, self.guards = bridge.Recording(), bridge.Guards()
        self.reads = Reads(self.recording, self.guards)
        self.reads.note_cleared = self.note_cleared
        self.writes = Writes(self.reads, self.note_step, self.take_source,
                             set() if changing is None else changing)
        self.reads.writes = self.writes
        self.calls = Calls(self.reads, self.step, strict)
        self.calls.gives_numbers = True
        self.reads.writes.refuse = self.calls.refuse
        self.calls.known_trees = known.trees if known is not None else {}
        self.events: list[tuple[int, tuple[Any, ...]]] = []
        self.results: list[tuple[Any, ...]] = []
        self.numbers: dict[int, int] = {}       # of results, by address
        self.leaving: list[Any] = []
        self.spent: list[tuple[int, tuple[Any, ...]]] = []
        self.wants_graph = False                # a result's graph is walked after the call
        self.args, self.kwargs = args, kwargs

    def run(self, fn: Any) -> Recorded:
        """Call the function, and make a program where there can be one."""
        self.sources = self.reads.take_arguments(self.args, self.kwargs)
        self.first = trust.graph_start()
        self.generator_before = effects.generator_state()
        self.recording.begin()
        try:
            self._look_at_sources()
            with hear_warnings(lambda: self.calls.refuse("a warning is given")), room_for_frames():
                result = self.calls.call(self.reads.read(fn), self.args, self.kwargs)
            return self._finish(result)
        finally:
            self.recording.end()
            self.reads.note_cleared = None
            self.reads.writes = None
            del self.calls, self.results, self.leaving, self.writes     # nodes are nobody's now

    def _look_at_sources(self) -> None:
        self.histories: list[Any] = []
        self.origins: list[Any] = []
        for source in self.sources:
            if not trust.is_plain_tensor(source):
                self.reads.refuse(f"an argument is of class {type(source).__name__}")
            self._look_at_source(source)

    def _look_at_source(self, source: Any) -> None:
        self.recording.watch_writes(source)
        self.histories.append(trust.history_key(source))
        self.origins.append(self.recording.result(source))

    def take_source(self, of: Any, key: Any, tensor: Any) -> None:
        """A tensor that lies somewhere is given to replays, like an argument."""
        if self.reads.is_refused:
            return
        self.guards.take_slot(of, key)
        self.reads.kept.append(tensor)
        if id(tensor) not in self.reads.sources:
            self.reads.sources[id(tensor)] = tensor
            self.sources.append(tensor)
            self._look_at_source(tensor)

    # ---- steps that are taken anew ----------------------------------------------------------
    def step(self, obj: Any, name: str, args: tuple[Any, ...]) -> Any:
        """``optimizer.step()``, ``optimizer.zero_grad()`` or ``scheduler.step()``."""
        method = getattr(obj, name)
        if args:
            self.calls.refuse(f"{type(obj).__name__}.{name}() is given arguments")
        self.reads.guard("type", obj, MISSING, type(obj))
        self.reads.guard("class", type(obj))
        if hasattr(obj, "param_groups"):
            self._look_at_optimizer(obj)
        params = self._params(obj) if name == "zero_grad" else []
        for param in params:
            self.reads.may_be_cleared(param)
        self.note_grads()               # steps look at gradients as they are, at a replay as well
        self.recording.pause()
        try:
            result = method(*args)
        finally:
            self.recording.resume()
        for param in params:
            self.reads.kept.append(param)
            self.reads.grads[id(param)] = param.grad
        if name == "step":
            changed, is_blind = steps.changed_by(obj)
            self.reads.stepped |= changed
            self.reads.stepped_blindly |= is_blind
        if result is not None:
            self.calls.refuse(f"{type(obj).__name__}.{name}() returns something")
        self.events.append((self.recording.count, ("call", bridge.DeferredCall(method), args)))
        return result

    def note_step(self, step: tuple[Any, ...]) -> None:
        """A step of the program that comes here."""
        self.events.append((self.recording.count, step))

    def _look_at_optimizer(self, optimizer: Any) -> None:
        hooks = optimizer._hook_table
        if hooks.watch_steps():
            self.calls.refuse("the optimizer has hooks")
        anywhere = type(hooks).watch_steps.__globals__
        for table in (hooks.before_step, hooks.after_step, anywhere["_before_any"],
                      anywhere["_after_any"]):
            self.reads.guard("dict", table, (), ())
        own = optimizer.__dict__
        for name in ("param_groups", "_hook_table"):
            self.reads.guard("item", own, name, own[name])
        self.reads.guard("item", own, "step")
        self.reads.guard("item", own, "zero_grad")
        self.reads.guard("list", optimizer.param_groups, MISSING, tuple(optimizer.param_groups))
        for group in optimizer.param_groups:
            self.reads.guard("item", group, "params", group["params"])
            self.reads.guard("list", group["params"], MISSING, tuple(group["params"]))

    @staticmethod
    def _params(optimizer: Any) -> list[Any]:
        return [param for group in optimizer.param_groups for param in group["params"]]

    def note_cleared(self, tensor: Any) -> None:
        """A gradient is taken away here, whatever it is."""
        self.reads.grads[id(tensor)] = None
        self.events.append((self.recording.count, ("grad", tensor, -1)))

    def note_grads(self) -> None:
        """Gradients that have changed are set by the program here."""
        for key, tensor in self.reads.tensors.items():
            if not tensor.is_leaf:
                continue
            grad = tensor.grad
            if grad is self.reads.grads[key]:
                continue
            self.reads.grads[key] = grad
            number = -1 if grad is None else self.result(grad)
            self.events.append((self.recording.count, ("grad", tensor, number)))

    # ---- results -----------------------------------------------------------------------------
    def result(self, tensor: Any) -> int:
        """The number of a tensor that leaves the call; -1 after a refusal."""
        if id(tensor) in self.numbers:
            return self.numbers[id(tensor)]
        found = self.recording.result(tensor)
        if found is None:
            return -1
        memory, extent, flags, version, output_nr, base, own_counter = found
        if not own_counter or not trust.is_plain_tensor(tensor):
            self.reads.refuse("a result shares memory in a way that is not followed")
        node = None
        if tensor.requires_grad:
            node = trust.spent_node(tensor)
            self.wants_graph |= node is None
            if tensor.is_leaf:
                self.reads.refuse("a result is a leaf that the call made")
        base_number, base_object, base_source = -1, None, -1
        if base is not None:
            base_source = self._source(base)
            if id(base) in self.reads.tensors:
                base_object = base
            elif base_source < 0:
                base_number = self.result(base)
        elif not self.recording.is_new(memory):
            self.reads.refuse("a result shares memory with a tensor of outside")
        number = self.numbers[id(tensor)] = len(self.results)
        self.leaving.append(tensor)
        self.results.append((extent, flags, version, output_nr, base_number, base_object,
                             base_source, node))
        return number

    def _source(self, tensor: Any) -> int:
        return next((k for k, each in enumerate(self.sources) if each is tensor), -1)

    def returned(self, obj: Any, way: tuple[Any, ...] = ()) -> tuple[Any, ...]:
        """How what is returned is put together; ``way`` leads there."""
        if trust.is_tensor(obj):
            if self._source(obj) >= 0:
                return ("source", self._source(obj))
            if id(obj) in self.reads.tensors:
                return ("object", obj)
            if obj.requires_grad:
                self.spent.append((self.result(obj), way))
            return ("result", self.result(obj))
        if id(obj) in self.reads.numbers:
            return self.number(self.reads.numbers[id(obj)][1])
        if isinstance(obj, VALUES) or trust.is_constant(obj):
            return ("object", obj)
        kind = type(obj)
        if kind is tuple or kind is list and self.reads.is_inside(obj):
            return (kind.__name__, tuple(self.returned(each, (*way, k))
                                         for k, each in enumerate(obj)))
        if kind is dict and self.reads.is_inside(obj):
            return ("dict", tuple(self.returned(each, (*way, k)) for k, each in obj.items()),
                    tuple(obj))
        self.reads.refuse(f"an object of class {kind.__name__} is returned")
        return ("object", None)

    def number(self, formula: Any) -> tuple[Any, ...]:
        """How a number is returned that is another one at each replay."""
        tensors = {id(each): each.tensor for each in numbers.leaves(formula)
                   if isinstance(each, numbers.Item)}
        if len(tensors) > 1:
            self.reads.refuse("a number is returned that is computed of several tensors")
        index = self.result(next(iter(tensors.values()))) if tensors else -1
        if isinstance(formula, numbers.Item):
            return ("number", index)
        return ("number", index, partial(numbers.of_tensor, formula))

    # ---- the end ---------------------------------------------------------------------------
    def _finish(self, result: Any) -> Recorded:
        made = Recorded(result, source_lines=self.calls.source_lines)
        returned = ("object", None)
        if not self.reads.is_refused:
            self.note_grads()
            self.events = [(count, (*step[:2], self.result(step[2])) if step[0] == "give" else step)
                           for count, step in self.events]
            returned = self.returned(result)
            self._keep_graph()
        self.reads.inside.clear()
        self.reads.numbers.clear()
        self._check_end()
        if not self.reads.is_refused:
            try:
                self._program(made, returned)
            except Exception as error:      # the call is over, and has its result
                self.reads.refuse(f"{type(error).__name__}: {error}")
        made.refusal = self.recording.refusal if made.program is None else ""
        return made

    def _keep_graph(self) -> None:
        """What the graph keeps leaves the call, where a backward pass may walk it later."""
        done = 0
        while self.wants_graph and done < len(self.leaving) and not self.reads.is_refused:
            new, done = self.leaving[done:], len(self.leaving)
            try:
                kept = trust.kept_tensors(new, self.first)
            except ValueError as error:
                return self.reads.refuse(str(error))
            for each in kept:
                if id(each) not in self.reads.tensors and self._source(each) < 0:
                    self.result(each)

    def _graph(self) -> Any:
        if not self.wants_graph:
            return None
        self.results = [(*each[:-1], None) for each in self.results]
        self.spent = []
        return trust.copy_graph(self.leaving, self.sources, list(self.reads.tensors.values()),
                                self.first)

    def _check_end(self) -> None:
        if self.reads.is_refused:
            return
        if self.reads.goes_back and any(each.requires_grad for each in self.sources):
            self.reads.refuse("a backward pass inside may reach an argument that requires grad")
        leaving = {self.recording.memory_at(each[0]) for each in self.results}
        if self._left(leaving):
            gc.collect()
        if self._left(leaving):
            self.reads.refuse("a tensor that the call made is still held by somebody")
        self.reads.end()
        if self.calls.uses_own_code or self.reads.goes_back or self.recording.calls_python:
            trust.watch_own_names()
            self.reads.guard("names", None)
            guard_filters(self.reads)
        with self.writes.undone():
            if not self.guards.still_hold():
                what = self.guards.failed
                self.reads.refuse("arguments share memory" if what is None
                                  else f"{what} changed during the call")
        if not self.guards.take_again(self.args, self.kwargs):
            self.reads.refuse("an argument was changed otherwise than by operators")
        if [trust.history_key(each) for each in self.sources] != self.histories:
            self.reads.refuse("an argument has another history after the call")
        held: dict[int, int] = {}
        for each in self.leaving:
            held[trust.storage_id(each)] = held.get(trust.storage_id(each), 0) + 1
        for each in self.leaving:
            if trust.storage_refcount(each) != held[trust.storage_id(each)] \
                    and each._base is None:
                self.reads.refuse("memory of a result is still held by somebody")

    def _left(self, leaving: set[int]) -> bool:
        return any(alive and k not in leaving
                   for k, (_, _, _, alive) in enumerate(self.recording.memories()))

    def _program(self, made: Recorded, returned: tuple[Any, ...]) -> None:
        runs, memories = self.recording.runs(), self.recording.memories()
        fresh = {self.recording.memory_at(each[0]) for each in self.results}
        fresh = {k for k in fresh if memories[k][0]}
        origin = {found[0]: k for k, found in enumerate(self.origins)}
        outside = {k for k, (born, *_) in enumerate(memories) if not born}
        first = {k for k, (_, _, begins, _) in enumerate(memories) if begins}
        steps = plan.make_steps(runs, self.events, fresh | outside, first, fresh)
        sizes = {k: each[1] for k, each in enumerate(memories)
                 if k not in fresh and k not in outside}
        borrowed = {k for k, size in sizes.items() if size >= plan.LEAST_BORROWED}
        offsets, total = plan.lay_out(steps.uses, {k: size for k, size in sizes.items()
                                                   if k not in borrowed})
        used = set().union(*steps.uses)
        changed = plan.written(runs) & outside
        if self.strict and not self.recording.made_all_writes():
            self.reads.refuse("another thread wrote to the same tensors")
            return
        homes = []
        for k in range(len(memories)):
            if k in origin:
                before = self.recording.start_of(self.origins[origin[k]][1])
                homes.append((plan.SOURCE, origin[k], before))
            elif k in outside:
                homes.append((plan.OUTSIDE, 0, 0))
            elif k in fresh or k in borrowed & used:
                homes.append((plan.FRESH, 0, 0))
            else:
                homes.append((plan.STATIC, offsets[k], 0) if k in offsets
                             else (plan.UNUSED, 0, 0))
        made.kernels = len(runs)
        made.runs = [] if self.strict else signature(runs, self.recording)
        graph = self._graph()
        writes = [self.recording.take_writes(each) for each in self.sources]
        self.recording.end()
        made.guards = self.guards.count
        every = plan.with_borrowed(steps.steps, steps.uses, borrowed)
        first_effect = effects.first_effect(steps, changed, runs, every, self.generator_before)
        made.program = bridge.ReplayProgram(self.recording, self.guards, homes, total, every,
                                            self.results, returned, writes, graph, first_effect)
        made.about, made.kept, made.spent = steps.about, steps.kept, self.spent
        made.trees = self.calls.found_trees
