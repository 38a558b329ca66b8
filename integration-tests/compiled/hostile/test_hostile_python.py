"""Compiled functions with errors, recursion, finalizers, tracers, copies and files."""

import copy
import gc
import os
import pickle
import sys
import weakref

from agreeing import agree, each_way, numbers
from random_names import Final, Stop

import flambeau
from flambeau import compiler, jit

USES = []


def use(program):
    USES.append(program)
    return program


def len_of_stack():
    """How deep calls are nested here."""
    frame, depth = sys._getframe(), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    return depth


@use
def errors_in_the_middle(compiled, rows):
    x, seen = numbers(rows), []

    @compiled
    def work(fails):
        y = x * 2
        x.add_(1)
        if fails:
            raise KeyError(y.add_(1))
        return y
    for fails in (False, True, False, True, False, False):
        try:
            seen.append(work(fails))
        except KeyError as error:
            seen += [error.args[0], x.clone()]
    return seen, x


@use
def errors_of_operators(compiled, rows):
    x, seen = numbers(rows), []

    @compiled
    def work(index):
        x.add_(1)
        y = x * 2
        z = y.index_select(0, index)
        x.mul_(0.5)
        return z

    for last in (0, 1, 99999, 2, 99999, 0):
        try:
            seen.append(work(flambeau.tensor([0, last])))
        except IndexError as error:
            seen += [str(error), x.clone()]
    return seen, x


@use
def errors_keep_frames_alive(compiled, rows):
    x = numbers(rows)

    @compiled
    def work(a):
        b = a * 2 + 1
        a.add_(1)
        raise Stop(b)

    try:
        work(x)
    except Stop as error:
        last = error.__traceback__
        while last.tb_next:
            last = last.tb_next
        return x, last.tb_frame.f_locals["b"]


@use
def recursion(compiled, rows):
    x = numbers(rows)

    @compiled
    def down(a, depth):
        a = a * 0.5 + 1
        x.add_(a)
        return a if depth == 0 else down(a, depth - 1) + x
    return down(x, 6), down(x, 2), x


@use
def recursion_without_end(compiled, rows):
    from flambeau.jit import deferral  # noqa: F401  (imported at the limit, it would be told of)

    x = numbers(rows)

    @compiled
    def down(a):
        a.add_(1)
        return down(a)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len_of_stack() + 60)
    try:
        down(x)
    except RecursionError as error:
        return type(error)
    finally:
        sys.setrecursionlimit(limit)


@use
def functions_call_each_other(compiled, rows):
    x = numbers(rows)
    one = compiled(lambda a, k: two(a * 2, k - 1) + 1 if k else a)
    two = compiled(lambda a, k: one(a.add_(1), k - 1) * 3 if k else a.exp())
    return [one(x, k) for k in (0, 1, 2, 3, 3, 3)], x


@use
def weak_references_and_finalizers(compiled, rows):
    x, notes = numbers(rows), []

    @compiled
    def work(x):
        y = x * 2
        weak = weakref.ref(y)
        z = y + 1
        z.last = Final(lambda: notes.append(x.sum().item()))
        x.add_(1)
        notes.append(weak() is y)
        del y, z
        notes.append(weak() is None)
        x.mul_(2)
        return x + 1
    return [work(x) for _ in range(3)], notes, x


@use
def finalizers_write(compiled, rows):
    x = numbers(rows)

    @compiled
    def work(x):
        last = Final(lambda: x.add_(1))
        x.mul_(2)
        del last
        ring = [Final(lambda: x.mul_(3))]
        ring.append(ring)
        del ring
        y = x * 2
        gc.collect()
        return y + x
    return [work(x) for _ in range(3)], x


@use
def profilers_and_tracers_read(compiled, rows):
    x, seen = numbers(rows), []

    def watch(frame, event, argument):
        if frame.f_code.co_name == "work" and event in ("call", "line", "return"):
            seen.append((event, x.sum().item()))
        return watch

    @compiled
    def work(x):
        x.mul_(2)
        y = x + 1
        x.sub_(y)
        return y

    for setter in (sys.settrace, sys.setprofile):
        before = sys.gettrace() if setter is sys.settrace else sys.getprofile()
        setter(watch)
        try:
            work(x)
        finally:
            setter(before)
    return work(x), work(x), seen, x


@use
def tracers_write(compiled, rows):
    x = numbers(rows)

    def watch(frame, event, argument):
        if frame.f_code.co_name == "work" and event == "line":
            x.add_(1)
        return watch

    @compiled
    def work(x):
        x.mul_(2)
        y = x + 1
        x.sub_(y * 0.5)
        return y

    kept = [work(x), work(x), work(x)]
    before = sys.gettrace()
    sys.settrace(watch)
    try:
        kept.append(work(x))
    finally:
        sys.settrace(before)
    return kept, work(x), x


@use
def copies_and_pickles_within(compiled, rows):
    x = numbers(rows)

    @compiled
    def work(x):
        x.add_(1)
        y = x[1:] * 2
        one, two = copy.deepcopy([x, y])
        three, four = pickle.loads(pickle.dumps((x, x[:1])))
        four.mul_(0)
        x.mul_(2)
        shallow = copy.copy(x)
        shallow.add_(1)
        return one + 1, two, three, shallow
    return [work(x) for _ in range(4)], x


@use
def compiled_functions_are_copied(compiled, rows):
    x, model = numbers(rows), flambeau.nn.Linear(4, 2)
    work = compiled(model)
    other = copy.deepcopy(work)
    with flambeau.no_grad():
        model.weight.mul_(2)
    return work(x), other(x), work(x), pickle.loads(pickle.dumps(other))(x)


@use
def disabled_functions_within(compiled, rows):
    x = numbers(rows)

    @compiler.disable
    def plain(a):
        a.mul_(2)
        return a + 1

    @compiled
    def work(x):
        y = x * 3
        x.add_(y)
        z = plain(x)
        y.add_(plain(y))
        return y, z
    return [work(x) for _ in range(4)], x


@use
def files_within(compiled, rows):
    x = numbers(rows)

    @compiled
    def work(x):
        here, there = os.pipe()
        y = x.add_(1) * 2
        os.write(there, y[:1].numpy().tobytes())
        y.zero_()
        os.close(there)
        with open(here, "rb") as pipe:
            return pipe.read(), y
    return [work(x) for _ in range(3)], x


@use
def traces_of_compiled_functions(compiled, rows):
    x = numbers(rows)
    weight = numbers(4, 1)
    work = compiled(lambda a: (a * 2 + weight).exp() if a.shape[0] == 4 else a.add(1) * weight[0])
    program = jit.trace(work, x)
    inside = compiled(lambda a: program(a) * 2)
    return program(x), program(x + 1), [inside(x) for _ in range(4)], work(x)


@each_way(USES)
def test_pythons_means_agree(use, way):
    agree(use, way)
