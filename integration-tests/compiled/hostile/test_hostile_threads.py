"""Compiled functions among threads, processes, generators, coroutines and signals."""

import asyncio
import contextlib
import gc
import threading
from concurrent.futures import ThreadPoolExecutor

from agreeing import agree, each_way, numbers
from random_names import Stop, in_child, in_thread, on_signal, send_signal, stop

import flambeau

USES = []


def use(program):
    USES.append(program)
    return program


@use
def threads_share_what_they_read(compiled, rows):
    x = numbers(rows)
    work = compiled(lambda x, k: ((x * k).exp() + 1).log())
    with ThreadPoolExecutor(4) as pool:
        return [x, *pool.map(lambda k: work(x, float(k)), range(12))]


@use
def threads_write_rows_of_their_own(compiled, rows):
    x = numbers(rows)
    parts = x.view(-1).chunk(4)

    @compiled
    def work(k):
        parts[k].mul_(k + 1).add_(1)
        made = parts[k] * 2
        parts[k].sub_(made)
        return made

    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(work, range(4)))
        made += pool.map(work, range(4))
    return x.clone(), made      # a recording may count the writes of other threads as its own


@use
def threads_in_turn_write_the_same(compiled, rows):
    x = numbers(rows)

    @compiled
    def work(depth):
        x.mul_(2).add_(depth)
        if depth:
            in_thread(lambda: work(depth - 1))
        x.add_(x * 0.5)
        return x + 1
    return work(3), work(2), x


@use
def threads_train_models_of_their_own(compiled, rows):
    nn = flambeau.nn
    models = [nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1)) for _ in range(3)]
    rules = [flambeau.optim.Adam(model.parameters(), lr=0.1) for model in models]
    x = numbers(rows)

    @compiled
    def step(k):
        rules[k].zero_grad()
        loss = (models[k](x * (k + 1)) ** 2).mean()
        loss.backward()
        rules[k].step()
        return loss

    with ThreadPoolExecutor(3) as pool:
        losses = [list(pool.map(step, range(3))) for _ in range(4)]
    return losses, [list(model.parameters()) for model in models]


@use
def a_thread_waits_for_what_another_has_begun(compiled, rows):
    x, begun, seen = numbers(rows), threading.Event(), []

    def look():
        begun.wait(20)
        seen.append((x * 1).sum().item())

    thread = threading.Thread(target=look)
    thread.start()

    @compiled
    def work():
        x.mul_(2).add_(1)
        begun.set()
        thread.join()
        return x.exp() - 1
    return work(), seen, x


@use
def processes_fork_within_a_call(compiled, rows):
    x = numbers(rows)

    @compiled
    def work(x):
        y = x * 2 + 1
        x.add_(1)
        text = in_child(lambda: (y * 2).sum().item())
        return y.exp(), text
    return [work(x) for _ in range(3)], x, in_child(lambda: work(x)[0].sum().item())


@use
def processes_fork_between_calls(compiled, rows):
    x = numbers(rows)
    work = compiled(lambda x: (x.mul_(0.5) + 1).exp())
    kept = [work(x)]
    for _ in range(3):
        kept.append(in_child(lambda: (work(x).sum().item(), x.sum().item())))
        kept.append(work(x))
    return kept, x


@use
def generators_stop_in_the_middle(compiled, rows):
    x = numbers(rows)

    @compiled
    def steps(a):
        try:
            for k in range(4):
                a = a * 2
                a.add_(k)
                got = yield a
                if got is not None:
                    a = a + got
        finally:
            x.add_(100)

    one, two = steps(x), steps(x + 1)
    kept = [next(one), next(two)]
    kept[0].mul_(3)
    kept += [one.send(kept[1]), two.send(x)]
    one.close()
    kept.append(next(two))
    del two
    gc.collect()
    return kept, x


@use
def generators_are_thrown_errors(compiled, rows):
    x = numbers(rows)

    @compiled
    def steps(a):
        while True:
            a = a + 1
            try:
                yield a * 2
            except Stop:
                a.mul_(5)

    one = steps(x)
    return [next(one), one.throw(Stop()), next(one)], x


@use
def generators_of_other_functions_pass_through(compiled, rows):
    x = numbers(rows)

    def inner(a):
        for _ in range(3):
            yield a.add_(1)

    outer = compiled(lambda a: sum((b * 2 for b in inner(a)), start=a * 0))
    made = compiled(lambda a: (a * k for k in range(3)))(x)
    return outer(x), list(made), outer(x), x


@use
def coroutines_take_turns(compiled, rows):
    x, order = numbers(rows), []

    @compiled
    async def later(k):
        x.add_(k)
        y = x * 2
        order.append(k)
        await asyncio.sleep(0)
        x.mul_(0.5)
        y.add_(x)
        await asyncio.sleep(0)
        order.append(-k)
        return y + 1

    async def all_of_them():
        return await asyncio.gather(*(later(k) for k in range(1, 4)))
    return asyncio.run(all_of_them()), x, order


@use
def coroutines_are_cancelled(compiled, rows):
    x = numbers(rows)

    @compiled
    async def later():
        try:
            x.add_(1)
            await asyncio.sleep(30)
        finally:
            x.mul_(2)

    async def cancel():
        task = asyncio.ensure_future(later())
        await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    asyncio.run(cancel())
    return x


@use
def asynchronous_generators(compiled, rows):
    x = numbers(rows)

    @compiled
    async def steps(a):
        for k in range(3):
            a = a * 2 + k
            yield a
            await asyncio.sleep(0)

    async def gather():
        kept = []
        async for a in steps(x):
            kept.append(a.add_(1))
        return kept
    return asyncio.run(gather()), x


@use
def signals_read_and_write(compiled, rows):
    x, seen = numbers(rows), []

    def handle():
        seen.append(x.sum().item())
        x.add_(1)

    @compiled
    def work():
        x.mul_(2)
        y = x + 1
        send_signal()
        x.mul_(3)
        send_signal()
        return y * x
    with on_signal(handle):
        return [work() for _ in range(4)], x, seen


@use
def signals_end_a_call(compiled, rows):
    x, seen = numbers(rows), []

    @compiled
    def work():
        x.mul_(2)
        send_signal()
        x.mul_(3)
    with on_signal(stop):
        for _ in range(4):
            with contextlib.suppress(Stop):
                work()
            seen.append(x.clone())
    return x, seen


@each_way(USES)
def test_threads_and_steps_agree(use, way):
    agree(use, way)
