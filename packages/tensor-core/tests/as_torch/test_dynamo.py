"""What programs ask of PyTorch's tracer: what a call does, how often it is compiled, settings."""
from __future__ import annotations

import textwrap

import pytest
from test_alias import PROGRAM, run


@pytest.fixture(autouse=True)
def needed():
    """Each test is skipped, and not the file, without the packages that it is about."""
    pytest.importorskip("flambeau.jit", reason="needs flambeau-jit")
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")


def lines(folder, code):
    """What a program prints: graphs are made of functions whose source is in a file."""
    (folder / "program.py").write_text(textwrap.dedent(code))
    return run([*PROGRAM, str(folder / "program.py")]).splitlines()


def test_a_call_that_is_one_graph(tmp_path):
    assert lines(tmp_path, """
        import torch, torch._dynamo
        def f(x):
            return torch.sin(x).add(1)
        told = torch._dynamo.explain(f)(torch.zeros(3))
        print(told.graph_count, told.graph_break_count, told.op_count, told.break_reasons)
        print(told.graphs[0](torch.zeros(2)), len(told.ops_per_graph[0]), len(told.out_guards))
        print(torch._dynamo.explain(f, torch.zeros(3)))
    """)[:4] == ["1 0 2 []", "(tensor([1., 1.]),) 2 0", "Graph Count: 1", "Graph Break Count: 0"]


def test_where_values_decide_a_graph_ends_and_the_call_is_made_once(tmp_path):
    assert lines(tmp_path, """
        import torch, torch._dynamo
        calls = []
        def f(x):
            calls.append(1)
            for k in range(3):
                if x.sum() > 0:
                    x = x + 1
            y = x * x.max().item()
            return y[0] if bool(y.any()) else y
        told = torch._dynamo.explain(f)(torch.ones(3))
        print(told.graph_count, told.graph_break_count, len(told.graphs), len(calls))
        for each in told.break_reasons:
            print(each.user_stack[0].lineno, each.reason)
        print("Graph Break Count: 2" in str(told))
        def clock(x):
            import time
            return x + time.time()
        told = torch._dynamo.explain(clock)(torch.ones(3))
        print(told.graph_break_count, "runs as it is" in told.break_reasons[0].reason)
    """) == ["3 2 0 1", "7 bool() takes values of a tensor of shape [] to Python",
             "10 bool() takes values of a tensor of shape [] to Python", "True", "1 True"]


def test_backends_that_count(tmp_path):
    assert lines(tmp_path, """
        import torch, torch._dynamo
        from torch._dynamo.testing import CompileCounter, CompileCounterWithBackend, same
        counter = CompileCounter()
        @torch.compile(backend=counter)
        def f(x):
            return x.sin() + 1
        x = torch.ones(2)
        print(same(f(x), x.sin() + 1), counter.frame_count, counter.op_count)
        f(x)
        print(counter.frame_count)
        torch._dynamo.reset()
        f(x)
        print(counter.frame_count, counter.op_count)
        counter.clear()
        f(x)
        print(counter.frame_count)
        kept = CompileCounterWithBackend("eager")
        print(torch.compile(lambda x: x * 2, backend=kept)(x), len(kept.graphs), kept.op_count)
        print(same([x], [x + 1]), same([x], (x,)), same(x, x.double()), same(3, 3))
    """) == ["True 1 2", "1", "2 4", "0", "tensor([2., 2.]) 1 1", "False False False True"]


def test_settings_and_marks(tmp_path):
    assert lines(tmp_path, """
        import torch, torch._dynamo
        config = torch._dynamo.config
        print(config.cache_size_limit, config.suppress_errors, config.assume_static_by_default)
        with config.patch(suppress_errors=True, made_up=1):
            print(config.suppress_errors, config.made_up)
        @config.patch("cache_size_limit", 64)
        def inside():
            return torch._dynamo.config.cache_size_limit
        print(inside(), config.cache_size_limit, config.suppress_errors, "made_up" in vars(config))
        config.cache_size_limit = 5
        print(torch._dynamo.config.cache_size_limit)
        import torch._inductor.config
        with torch._inductor.config.patch({"max_autotune": True}):
            print(torch._inductor.config.max_autotune)
        x = torch.ones(2)
        torch._dynamo.mark_dynamic(x, 0), torch._dynamo.maybe_mark_dynamic(x, 0)
        try:
            torch.compile(lambda x: 1 if x.sum() > 0 else 2, fullgraph=True)(x)
        except torch._dynamo.exc.Unsupported as error:
            print(isinstance(error, torch._dynamo.exc.TorchDynamoException))
    """) == ["8 False True", "True 1", "64 8 False False", "5", "True", "True"]
