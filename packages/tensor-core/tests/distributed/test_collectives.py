"""What several processes compute together, beside what one computes from all their tensors."""
from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from world_processes import run

import flambeau
from flambeau import distributed as dist

SIZE = 3
DTYPES = ("float32", "float64", "int64", "uint8", "bfloat16", "float16", "bool", "complex64")
COUNTS = (0, 1, 2, 5, 40_001)
OPS = {"SUM": flambeau.add, "PRODUCT": flambeau.mul, "MIN": flambeau.minimum,
       "MAX": flambeau.maximum, "BAND": flambeau.bitwise_and, "BOR": flambeau.bitwise_or,
       "BXOR": flambeau.bitwise_xor}


def drawn(rank: int, count: int, dtype: str, gaps: bool = False) -> flambeau.Tensor:
    """A process's tensor: small integers, of which sums are exact in any order."""
    numbers = np.random.default_rng((rank, count)).integers(0, 4, (count, 2 if gaps else 1))
    return flambeau.tensor(numbers).to(getattr(flambeau, dtype))[:, 0]


def allowed(op: str, dtype: str) -> bool:
    if op.startswith("B"):
        return dtype in ("int64", "uint8", "bool")
    return not (op in ("MIN", "MAX") and dtype == "complex64")


def reductions(rank: int) -> list[str]:
    wrong = []
    for dtype, count, op, gaps in itertools.product(DTYPES, COUNTS, OPS, (False, True)):
        if not allowed(op, dtype):
            continue
        every = [drawn(r, count, dtype, gaps) for r in range(SIZE)]
        wanted = functools.reduce(OPS[op], every)
        work = None
        x = drawn(rank, count, dtype, gaps)
        if gaps:
            work = dist.all_reduce(x, op=dist.ReduceOp[op], async_op=True)
            work.wait()
        else:
            dist.all_reduce(x, op=dist.ReduceOp[op])
        if not flambeau.equal(x, wanted):
            wrong.append(f"all_reduce {op} {dtype} {count} {gaps}")
        root = count % SIZE
        y = drawn(rank, count, dtype, gaps)
        dist.reduce(y, root, op=dist.ReduceOp[op])
        if not flambeau.equal(y, wanted if rank == root else every[rank]):
            wrong.append(f"reduce {op} {dtype} {count} {gaps}")
    return wrong


def test_reductions(tmp_path):
    assert run(SIZE, tmp_path, reductions) == [[]] * SIZE


def test_sums_have_the_same_bits_everywhere(tmp_path):
    first, *others = run(4, tmp_path, inexact)
    assert all(other == first for other in others)
    total = sum(np.random.default_rng(r).standard_normal(100_003) for r in range(4))
    np.testing.assert_allclose(np.frombuffer(first[0], np.float32), total, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(np.frombuffer(first[1], np.float32), total[:100] / 4, rtol=1e-4,
                               atol=1e-5)


def inexact(rank: int) -> list[bytes]:
    x = flambeau.tensor(np.random.default_rng(rank).standard_normal(100_003)).float()
    few = x[:100].clone()
    dist.all_reduce(x)
    dist.all_reduce(few, op=dist.ReduceOp.AVG)
    return [x.numpy().tobytes(), few.numpy().tobytes()]


def copies(rank: int) -> list[str]:
    wrong = []

    def check(name: str, found: object, wanted: object) -> None:
        if found != wanted:
            wrong.append(f"{name}: {found} instead of {wanted}")

    for count, root in itertools.product((0, 1, 3, 100_000), range(SIZE)):
        x = drawn(rank, count, "float32", gaps=True)
        dist.broadcast(x, root)
        check("broadcast", x.tolist(), drawn(root, count, "float32", gaps=True).tolist())
        every = [drawn(r, count, "int64").tolist() for r in range(SIZE)]
        mine = drawn(rank, count, "int64")
        lists = [flambeau.zeros(count, dtype=flambeau.int64) for _ in range(SIZE)]
        dist.all_gather(lists, mine)
        check("all_gather", [each.tolist() for each in lists], every)
        whole = flambeau.zeros(SIZE, count, dtype=flambeau.int64)
        dist.all_gather_into_tensor(whole, mine)
        check("all_gather_into_tensor", whole.tolist(), every)
        lists = [flambeau.zeros(count, dtype=flambeau.int64) for _ in range(SIZE)]
        dist.gather(mine, lists if rank == root else None, root)
        check("gather", [each.tolist() for each in lists] if rank == root else every, every)
        target = flambeau.zeros(count, dtype=flambeau.int64)
        dist.scatter(target, [drawn(r, count, "int64") for r in range(SIZE)]
                     if rank == root else None, root)
        check("scatter", target.tolist(), every[rank])
    return wrong


def test_copies(tmp_path):
    assert run(SIZE, tmp_path, copies) == [[]] * SIZE


def parts(rank: int) -> list[object]:
    x = flambeau.arange(6.0).view(3, 2) + 10 * rank
    mine = flambeau.zeros(2)
    dist.reduce_scatter_tensor(mine, x)
    listed = flambeau.zeros(2)
    dist.reduce_scatter(listed, list(x), op=dist.ReduceOp.AVG)
    swapped = flambeau.zeros(3, 2)
    dist.all_to_all_single(swapped, x)
    uneven = flambeau.zeros(3 * rank + 3)
    dist.all_to_all_single(uneven, flambeau.arange(6.0) + 10 * rank, [rank + 1] * 3, [1, 2, 3])
    come = [flambeau.zeros(1, dtype=flambeau.int32) for _ in range(3)]
    dist.all_to_all(come, [flambeau.tensor([10 * rank + r], dtype=flambeau.int32)
                           for r in range(3)])
    return [x.tolist(), mine.tolist(), listed.tolist(), swapped.tolist(), uneven.tolist(),
            [each.item() for each in come]]


def test_parts(tmp_path):
    found = run(SIZE, tmp_path, parts)
    x = np.arange(6.0).reshape(3, 2)
    for rank, (kept, mine, listed, swapped, uneven, come) in enumerate(found):
        assert kept == (x + 10 * rank).tolist()
        assert mine == (3 * x[rank] + 30).tolist() and listed == (x[rank] + 10).tolist()
        assert swapped == [(x[rank] + 10 * r).tolist() for r in range(3)]
        begin = (0, 1, 3)[rank]
        assert uneven == [10 * r + i for r in range(3) for i in range(begin, begin + rank + 1)]
        assert come == [10 * r + rank for r in range(3)]


def ordered(rank: int) -> list[float]:
    x = flambeau.full((50_000,), float(rank))
    works = [dist.all_reduce(x, async_op=True) for _ in range(3)]
    dist.all_reduce(x, op=dist.ReduceOp.MAX)        # behind those that still go on
    for work in reversed(works):
        work.wait()
    assert all(work.is_completed() and work.is_success() for work in works)
    return [x[0].item(), x[-1].item()]


def test_calls_run_in_the_order_of_the_program(tmp_path):
    assert run(SIZE, tmp_path, ordered) == [[27.0, 27.0]] * SIZE


def grouped(rank: int) -> list[object]:
    evens = dist.new_group([0, 2])
    pair, pairs = dist.new_subgroups_by_enumeration([[2, 1], [0]])
    x = flambeau.tensor([float(rank + 1)])
    if rank != 1:
        dist.all_reduce(x, group=evens)
        dist.broadcast(x, src=2, group=evens)
    else:
        with pytest.raises(ValueError, match="not in the group"):
            dist.all_reduce(x, group=evens)
    objects = [None] * pair.size()
    dist.all_gather_object(objects, {"rank": rank}, group=pair)
    dist.barrier()
    dist.monitored_barrier()
    return [x.item(), dist.get_rank(evens), objects, pair.rank(), len(pairs)]


def test_groups(tmp_path):
    assert run(SIZE, tmp_path, grouped) == [
        [4.0, 0, [{"rank": 0}], 0, 2],
        [2.0, -1, [{"rank": 1}, {"rank": 2}], 0, 2],
        [4.0, 1, [{"rank": 1}, {"rank": 2}], 1, 2]]


def objects(rank: int) -> list[object]:
    gathered = [None] * SIZE if rank == 1 else None
    dist.gather_object(("x" * rank, rank), gathered, 1)
    shared = [rank, {"a": [rank]}] if rank == 2 else [None, None]
    dist.broadcast_object_list(shared, 2)
    mine = [None]
    dist.scatter_object_list(mine, ["p", "q", "r"] if rank == 0 else None)
    return [gathered, shared, mine]


def test_objects(tmp_path):
    found = run(SIZE, tmp_path, objects)
    assert [each[0] for each in found] == [None, [("", 0), ("x", 1), ("xx", 2)], None]
    assert all(each[1] == [2, {"a": [2]}] for each in found)
    assert [each[2] for each in found] == [["p"], ["q"], ["r"]]
