"""Pipelines put back to where they were, by reading as many samples again."""

from __future__ import annotations

from typing import Any

import flambeau

from ...graph_settings import apply_random_seed
from .._hook_iterator import _SnapshotState


def _simple_graph_snapshot_restoration(datapipe: Any, n_iterations: int,
                                       rng: flambeau.Generator | None = None) -> None:
    """Let the next iterator of a pipeline begin behind so many samples.

    Args:
        datapipe: The last stage.
        n_iterations: How many samples are passed over.
        rng: What the seeds of its stages were drawn from.

    Raises:
        RuntimeError: It was put back before, or has fewer samples.
    """
    if datapipe._snapshot_state is _SnapshotState.Restored:
        raise RuntimeError("Snapshot restoration cannot be applied. You can only restore simple "
                           "snapshot to the graph if your graph has not been restored.")
    datapipe.reset()
    apply_random_seed(datapipe, rng)
    samples = iter(datapipe)
    for _ in range(n_iterations):
        try:
            next(samples)
        except StopIteration:
            raise RuntimeError(f"Fast-forward {datapipe} by {n_iterations} iterations exceeds the "
                               "number of samples available.") from None
    datapipe._fast_forward_iterator = samples
    datapipe._snapshot_state = _SnapshotState.Restored
