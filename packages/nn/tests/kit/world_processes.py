"""Runs a function in several processes that have met, and gives what each returned."""
from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flambeau import distributed

SECONDS = 120


def run(size: int, folder: Path, function: Callable[..., Any], *args: Any) -> list[Any]:
    """Call the function in each process, with its rank and the arguments."""
    context = multiprocessing.get_context("spawn")
    results: Any = context.Queue()
    workers = [context.Process(target=_child, args=(rank, size, str(folder / "meeting"), results,
                                                    function, args)) for rank in range(size)]
    for worker in workers:
        worker.start()
    found = dict(results.get(timeout=SECONDS) for _ in workers)
    for worker in workers:
        worker.join(SECONDS)
    failed = {rank: result for rank, (ended, result) in found.items() if not ended}
    assert not failed, "\n".join(failed.values())
    return [found[rank][1] for rank in range(size)]


def _child(rank: int, size: int, meeting: str, results: Any, function: Callable[..., Any],
           args: tuple[Any, ...]) -> None:
    try:
        distributed.init_process_group("gloo", f"file://{meeting}", rank=rank, world_size=size)
        results.put((rank, (True, function(rank, *args))))
        distributed.destroy_process_group()
    except BaseException:
        results.put((rank, (False, f"rank {rank}: {traceback.format_exc()}")))
