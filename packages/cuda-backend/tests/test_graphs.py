"""Graphs that draw numbers, and that share memory."""
from __future__ import annotations

import flambeau as fl
from flambeau import cuda


def test_a_graph_with_a_generator_of_its_own(late):
    generator = fl.Generator(late.name, algorithm="philox").manual_seed(7)
    captured = cuda.CUDAGraph()
    with cuda.graph(captured):
        y = fl.rand(6, device=late.name, generator=generator)
    want = fl.Generator(late.name, algorithm="philox").manual_seed(7)
    for _ in range(2):
        captured.replay()
        assert y.tolist() == fl.rand(6, device=late.name, generator=want).tolist()


def test_memory_that_graphs_share(late):
    """While one of them lives, no other tensor gets its memory."""
    x = fl.ones(1000, device=late.name)
    first, second = cuda.CUDAGraph(), cuda.CUDAGraph()
    stream = cuda.Stream()
    with cuda.graph(first, stream=stream):
        a = (x + 1) * 2
    with cuda.graph(second, first.pool(), stream=stream):
        b = (x + 2) * 3
    first.reset()
    others = [fl.full((1000,), 7.0, device=late.name) for _ in range(4)]
    second.replay()
    assert b.tolist() == [9.0] * 1000 and a.shape == (1000,)
    assert all(t.tolist() == [7.0] * 1000 for t in others)
