"""Exchanges of gradients as they are, or in half precision."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import distributed

__all__ = ["allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook",
           "fp16_compress_wrapper"]

Hook = Callable[[Any, Any], Any]


def _mean(group: Any, values: Any) -> Any:
    """A future of the mean over all processes, whose parts are divided before they are added."""
    values.div_(distributed.get_world_size(group))
    work = distributed.all_reduce(values, group=group, async_op=True)
    assert work is not None
    return work.get_future().then(lambda done: done.value()[0])


def allreduce_hook(process_group: Any, bucket: Any) -> Any:
    """Average a bucket of gradients as they are.

    Args:
        process_group: The processes, or None for all.
        bucket: The gradients.

    Returns:
        A future of the averages.
    """
    return _mean(process_group, bucket.buffer())


def _compressed(dtype: Any, process_group: Any, bucket: Any) -> Any:
    buffer = bucket.buffer()
    mean = _mean(process_group, buffer.to(dtype))
    return mean.then(lambda done: buffer.copy_(done.value()))


def fp16_compress_hook(process_group: Any, bucket: Any) -> Any:
    """Average a bucket of gradients in float16, which halves what is sent.

    Args:
        process_group: The processes, or None for all.
        bucket: The gradients.

    Returns:
        A future of the averages.
    """
    return _compressed(flambeau.float16, process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: Any) -> Any:
    """Average a bucket of gradients in bfloat16, which halves what is sent.

    Args:
        process_group: The processes, or None for all.
        bucket: The gradients.

    Returns:
        A future of the averages.
    """
    return _compressed(flambeau.bfloat16, process_group, bucket)


def _wrapped(dtype: Any, hook: Hook) -> Hook:
    def wrapper(state: Any, bucket: Any) -> Any:
        buffer = bucket.buffer()
        bucket.set_buffer(buffer.to(dtype))
        return hook(state, bucket).then(lambda done: buffer.copy_(done.value()))

    return wrapper


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """Have another function exchange gradients in float16.

    Args:
        hook: The function.
    """
    return _wrapped(flambeau.float16, hook)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """Have another function exchange gradients in bfloat16.

    Args:
        hook: The function.
    """
    return _wrapped(flambeau.bfloat16, hook)
