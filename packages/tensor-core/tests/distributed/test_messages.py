"""Messages from one process to another, and what happens where another process fails."""
from __future__ import annotations

import re
from datetime import timedelta

import pytest
from world_processes import run

import flambeau
from flambeau import distributed as dist


def letters(rank: int) -> list[object]:
    other = 1 - rank
    large = flambeau.full((300_000,), float(rank))
    dist.send(large, other)                 # both send first: neither waits for the other
    come = flambeau.zeros(300_000)
    assert dist.recv(come, other) == other
    dist.send(flambeau.tensor([1, rank]), other, tag=7)
    dist.send(flambeau.tensor([2, rank]), other, tag=8)
    second, first = flambeau.zeros(2).long(), flambeau.zeros(2).long()
    dist.recv(second, tag=8)                # from anybody
    dist.recv(first, other, tag=7)
    row = flambeau.zeros(2, 3)
    works = dist.batch_isend_irecv([
        dist.P2POp(dist.isend, flambeau.ones(2) * rank, other),
        dist.P2POp(dist.irecv, row[:, 1], other)])
    for work in works:
        work.wait()
    dist.send_object_list(["x", rank], other)
    listed = [None, None]
    dist.recv_object_list(listed, other)
    return [come[0].item(), come[-1].item(), first.tolist(), second.tolist(), row.tolist(), listed]


def test_messages(tmp_path):
    for rank, found in enumerate(run(2, tmp_path, letters)):
        other = float(1 - rank)
        assert found == [other, other, [1, 1 - rank], [2, 1 - rank],
                         [[0.0, other, 0.0]] * 2, ["x", 1 - rank]]


def sizes(rank: int) -> str:
    if rank == 0:
        dist.send(flambeau.ones(3), 1)
        return ""
    try:
        dist.recv(flambeau.zeros(4), 0)
    except RuntimeError as error:
        return str(error)
    return "nothing was raised"


def test_messages_of_another_size_are_refused(tmp_path):
    told = run(2, tmp_path, sizes)[1]
    assert "12 bytes came from rank 0" in told and "has 16" in told


def abandoned(rank: int) -> str:
    x = flambeau.ones(100_000)
    dist.all_reduce(x)
    if rank == 1:
        return "ended"
    try:
        dist.all_reduce(x)
    except RuntimeError as error:
        return str(error)
    return "nothing was raised"


def test_who_waits_for_a_process_that_ended_is_told(tmp_path):
    told, ended = run(2, tmp_path, abandoned)
    assert ended == "ended" and "all_reduce(): rank 0 of [0, 1]" in told
    assert "another process has failed" in told


def slow(rank: int) -> list[str]:
    told = []
    group = dist.new_group([0, 1], timeout=timedelta(seconds=0.3))
    if rank == 0:
        work = dist.all_reduce(flambeau.ones(10), group=group, async_op=True)
        for call in (work.wait, lambda: dist.monitored_barrier(timeout=timedelta(seconds=0.1))):
            try:
                call()
            except RuntimeError as error:
                told.append(str(error))
    dist.barrier()
    return told


def test_who_waits_too_long_is_told(tmp_path):
    told, nothing = run(2, tmp_path, slow)
    assert nothing == [] and len(told) == 2
    assert "in 0.3 s" in told[0] and "ranks [1] have not come" in told[1]




def disagreeing(rank: int, case: str) -> str:
    x = flambeau.ones(10)
    calls = {
        "size": lambda: dist.all_reduce(x if rank else flambeau.ones(20)),
        "large size": lambda: dist.all_reduce(flambeau.ones(100_000 + rank)),
        "dtype": lambda: dist.broadcast(x if rank else flambeau.ones(10, dtype=flambeau.int32)),
        "operation": lambda: dist.all_reduce(x, op=list(dist.ReduceOp)[2 * rank]),
        "function": lambda: dist.broadcast(x, 1) if rank else dist.all_reduce(x),
        "order": lambda: (dist.all_reduce(x), rank and dist.all_reduce(x), dist.broadcast(x, 0)),
    }
    dist.barrier()
    try:
        calls[case]()
    except RuntimeError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("case, said", [
    ("size", "sends 40 bytes.*expects 80"), ("large size", "sends .* bytes.*expects"),
    ("dtype", "broadcast flambeau.(int32|float32).*broadcast flambeau.(int32|float32)"),
    ("operation", "all_reduce (SUM|PRODUCT).*all_reduce (SUM|PRODUCT)"),
    ("function", "(broadcast|all_reduce).*(broadcast|all_reduce)"),
    ("order", "call 4.*call 4"),
])
def test_processes_that_do_not_agree_are_told(tmp_path, case, said):
    told = " ".join(run(2, tmp_path, disagreeing, case))
    assert re.search(said, told) and "the same functions in the same order" in told
