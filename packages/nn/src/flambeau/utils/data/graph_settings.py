"""Settings of all stages of a pipeline: shares, orders, seeds."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import flambeau

from ._epoch import draw_seed
from .datapipes.iter.sharding import SHARDING_PRIORITIES
from .graph import DataPipeGraph, traverse_dps

__all__ = ["apply_random_seed", "apply_sharding", "apply_shuffle_seed", "apply_shuffle_settings",
           "get_all_graph_pipes"]


def get_all_graph_pipes(graph: DataPipeGraph) -> list[Any]:
    """The stages of a graph, each once.

    Args:
        graph: What ``traverse_dps`` gives.
    """
    return list({id(stage): stage for stage in _all(graph)}.values())


def _all(graph: DataPipeGraph) -> Iterator[Any]:
    for stage, before in graph.values():
        yield stage
        yield from _all(before)


def _has_method(stage: Any, name: str) -> bool:
    return inspect.ismethod(getattr(stage, name, None))


def apply_sharding(datapipe: Any, num_of_instances: int, instance_id: int,
                   sharding_group: Any = SHARDING_PRIORITIES.DEFAULT) -> Any:
    """Give a share to each stage that has an ``apply_sharding``.

    Args:
        datapipe: The last stage.
        num_of_instances: How many shares there are.
        instance_id: Which one it is.
        sharding_group: Between whom.

    Returns:
        The last stage.

    Raises:
        RuntimeError: One reads what another gives, so that samples would be lost.
    """
    _share(traverse_dps(datapipe), (num_of_instances, instance_id), sharding_group, None)
    return datapipe


def _share(graph: DataPipeGraph, share: tuple[int, int], group: Any, applied: Any) -> None:
    for stage, before in graph.values():
        mine = applied
        if _has_method(stage, "apply_sharding"):
            if applied is not None:
                raise RuntimeError(
                    "Sharding twice on a single pipeline is likely unintended and will cause data "
                    f"loss. Sharding already applied to {applied} while trying to apply to {stage}")
            takes_group = len(inspect.signature(stage.apply_sharding).parameters) > 2
            stage.apply_sharding(*share, **({"sharding_group": group} if takes_group else {}))
            mine = stage
        _share(before, share, group, mine)


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Turn all shuffling stages on or off.

    Args:
        datapipe: The last stage.
        shuffle: On or off; ``None`` changes nothing.

    Returns:
        The last stage, which is a new one where the order is to be changed and no stage does.
    """
    if shuffle is None:
        return datapipe
    stages = [stage for stage in get_all_graph_pipes(traverse_dps(datapipe))
              if _has_method(stage, "set_shuffle") and _has_method(stage, "set_seed")]
    if shuffle and not stages:
        warnings.warn("`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. "
                      "Adding one at the end. Be aware that the default buffer size might not be "
                      "sufficient for your task.", stacklevel=2)
        datapipe = datapipe.shuffle()
        stages = [datapipe]
    for stage in stages:
        stage.set_shuffle(shuffle)
    return datapipe


def apply_random_seed(datapipe: Any, rng: flambeau.Generator | None) -> Any:
    """Give each stage that draws a seed of its own.

    Args:
        datapipe: The last stage.
        rng: What seeds are drawn from.

    Returns:
        The last stage.
    """
    for stage in get_all_graph_pipes(traverse_dps(datapipe)):
        if _has_method(stage, "set_seed"):
            stage.set_seed(draw_seed(rng))
    return datapipe


def apply_shuffle_seed(datapipe: Any, rng: flambeau.Generator | None) -> Any:
    """``apply_random_seed`` under its first name."""
    warnings.warn("`apply_shuffle_seed` is deprecated since 1.12 and will be removed in the future "
                  "releases. Please use `apply_random_seed` instead.", FutureWarning, stacklevel=2)
    return apply_random_seed(datapipe, rng)
