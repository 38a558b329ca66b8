"""The profiler's numbers, and the drawing of graphs."""

import gzip
import json
import shutil
import threading

import pytest
from numbers_for_tests import reals

import flambeau
from flambeau.autograd import graph
from flambeau.autograd.profiler import record_function
from flambeau.autograd.profiler_util import EventList, FunctionEvent, FunctionEventAvg
from flambeau.core import blocks
from flambeau.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    schedule,
    tensorboard_trace_handler,
)


def profiled(**options):
    x = flambeau.ones(4, requires_grad=True)
    with profile(**options) as prof:
        with record_function("forward"):
            y = (x * x).sum()
        y.backward()
    return prof


def test_operators_calls_and_bytes():
    prof = profiled(activities=[ProfilerActivity.CPU])
    sums = {row.key: row for row in prof.key_averages()}
    assert sums["aten::sum"].count == 1 and sums["aten::sum"].bytes == 4
    assert sums["aten::mul"].bytes == 16 * sums["aten::mul"].count
    assert all(row.cpu_time_total >= row.cpu_time > 0 for row in sums.values())


def test_scopes_and_nodes():
    prof = profiled()
    scopes = {row.key: row.count for row in prof.key_averages(by="scope")}
    assert set(scopes) == {"forward", "(no scope)"}     # the sum of the gradients has none
    assert scopes["(no scope)"] == 1
    nodes = {event.node for event in prof.events()}
    assert nodes == {None, "MulBackward0", "SumBackward0"}
    assert all(event.duration > 0 and event.start >= 0 for event in prof.events())


def test_scopes_of_a_decorated_function_nest():
    @record_function("inner")
    def step(x):
        return x + 1

    with profile() as prof, record_function("outer"):
        step(flambeau.ones(2))
    assert "outer.inner" in {event.scope for event in prof.events()}


def test_shapes_and_tables():
    prof = profiled(record_shapes=True)
    keys = [(row.key, row.input_shapes) for row in prof.key_averages(group_by_input_shape=True)]
    assert ("aten::mul", "[[4], [4]]") in keys
    table = prof.key_averages().table(sort_by="count", row_limit=2)
    assert table.splitlines()[0].split() == ["Name", "CPU", "total", "CPU", "%", "CPU", "avg",
                                             "Calls", "Made"]
    assert len(table.splitlines()) == 5
    with pytest.raises(ValueError, match="sort_by must be one of"):
        prof.table(sort_by="colour")
    with pytest.raises(ValueError, match="by must be one of"):
        prof.key_averages(by="colour")


def test_chrome_trace(tmp_path):
    prof = profiled()
    prof.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert len(events) == len(prof.events())
    assert {e["cat"] for e in events} == {"forward", "backward", "user_annotation"}
    assert all(e["ph"] == "X" and e["dur"] > 0 for e in events)


def test_nothing_is_recorded_outside():
    prof = profiled()
    count = len(prof.events())
    flambeau.ones(2) + 1
    assert len(prof.events()) == count
    with profile(enabled=False) as off:
        flambeau.ones(2) + 1
    assert off.events() == []


def test_autocast_is_seen_inside_a_profile():
    x = flambeau.ones(2, 2)
    with profile() as prof, flambeau.autocast("cpu"):
        flambeau.core.ops.mse_loss(x @ x, x)
    assert {"aten::cast", "aten::matmul"} <= {event.name for event in prof.events()}


def test_events_are_those_of_pytorch():
    linear = flambeau.core.ops.linear
    with profile(record_shapes=True) as prof:
        with record_function("outer"):
            y = linear(flambeau.ones(5, 3), flambeau.ones(4, 3), flambeau.ones(4))
            y = linear(y, flambeau.ones(2, 4), flambeau.ones(2))
            with record_function("inner"):
                y.mul_(2)
        y / 1
    events = prof.events()
    names = [event.name for event in events]
    assert [n for n in names if n[:4] != "aten" or n in ("aten::mul_", "aten::div")] == [
        "outer", "inner", "aten::mul_", "aten::div"]
    shapes = [event.input_shapes for event in events if event.name == "aten::linear"]
    assert shapes == [[[5, 3], [4, 3], [4]], [[5, 4], [2, 4], [2]]]
    inner = events[names.index("inner")]
    assert [child.name for child in inner.cpu_children] == ["aten::mul_"]
    assert inner.cpu_parent is events[0]
    assert inner.self_cpu_time_total < inner.cpu_time_total
    assert [event.id for event in events] == list(range(len(events)))


def test_lists_of_events_made_by_hand():
    """The expected children and sums are what PyTorch gives."""
    spans = [(1, 0, 1), (1, 1, 2), (0, 0, 2), (0, 1, 2), (0, 1, 3)]
    events = EventList([FunctionEvent(id=n, node_id=0, name="foo", thread=thread, start_us=start,
                                      end_us=end) for n, (thread, start, end) in enumerate(spans)])
    events._populate_cpu_children()
    assert [[child.id for child in event.cpu_children] for event in events] == [
        [], [], [], [], [3]]
    row, = events.key_averages()
    assert (row.key, row.count, row.cpu_time_total, row.self_cpu_time_total) == ("foo", 5, 7, 6)
    total = FunctionEventAvg()
    total.add(row).add(total)
    assert (total.key, total.count, total.cpu_time_total) == ("foo", 10, 14)


# ---- drawing ---------------------------------------------------------------------------
def test_text_of_a_graph():
    w = flambeau.ones(2, requires_grad=True)
    h = w * 2
    text = graph.draw((h * h).exp(), {"weight": w})
    assert text.splitlines() == [
        "ExpBackward0  saves 8 bytes: [2] float32",
        "  MulBackward0  saves 16 bytes: [2] float32, [2] float32",
        "    (1) MulBackward0",
        "      weight  [2] float32",
        "    -> (1)",
    ]


def test_several_roots_hooks_and_freed_graphs():
    x = reals(2)
    with graph.save_on_cpu():
        y = x.exp()
    y.sum().backward()
    assert "saves" not in graph.draw(y)
    with graph.save_on_cpu():
        y = x.exp()
    assert "taken by a hook" in graph.draw([y, x * 2])
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        graph.draw(flambeau.ones(2))


def test_long_chains_are_cut():
    x = reals(1)
    for _ in range(3000):
        x = x + 1
    assert graph.draw(x).splitlines()[-1] == "... and more: the first 2000 lines are shown"


def test_files(tmp_path):
    w = reals(2)
    graph.draw(w * 2, {"w": w}, file=tmp_path / "graph.dot")
    text = (tmp_path / "graph.dot").read_text()
    assert text.startswith("digraph {") and "MulBackward0" in text and "w\\n[2] float64" in text
    graph.draw(w * 2, file=tmp_path / "graph.txt")
    assert "MulBackward0" in (tmp_path / "graph.txt").read_text()


def test_pictures_need_graphviz(tmp_path, monkeypatch):
    y = reals(2) * 2
    if shutil.which("dot"):
        graph.draw(y, file=tmp_path / "graph.svg")
        assert "<svg" in (tmp_path / "graph.svg").read_text()
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(RuntimeError, match="'dot' of Graphviz, which is not installed"):
        graph.draw(y, file=tmp_path / "graph.png")


@pytest.mark.parametrize(("plan", "saved"), [
    ({"wait": 1, "warmup": 1, "active": 2, "repeat": 2}, [(4, 2), (8, 2)]),
    ({"wait": 1, "warmup": 0, "active": 1, "skip_first": 2, "repeat": 1}, [(4, 1)]),
    ({"wait": 2, "warmup": 1, "active": 2, "skip_first_wait": 1}, [(3, 2), (8, 2)]),
    ({"wait": 5, "warmup": 1, "active": 9}, [(9, 3)]),
])
def test_a_schedule_records_its_steps_and_no_others(plan, saved):
    """The expected pairs of step and count are what torch.profiler gives."""
    found = []

    def ready(prof):
        counts = {row.key: row.count for row in prof.key_averages()}
        found.append((prof.step_num, counts.get("aten::exp", 0)))

    with profile(schedule=schedule(**plan), on_trace_ready=ready) as prof:
        for _ in range(9):
            flambeau.ones(2).exp()
            prof.step()
    assert found == saved


def test_a_schedule_that_records_nothing_is_refused():
    with pytest.raises(ValueError, match="active=0"):
        schedule(wait=1, warmup=1, active=0)
    assert schedule(wait=0, warmup=1, active=1)(0) is ProfilerAction.WARMUP


def test_arguments_of_older_programs_are_accepted():
    with profile(use_device=None, with_flops=True, use_kineto=True) as prof:
        flambeau.ones(2).exp()
    assert [row.count for row in prof.key_averages() if row.key == "aten::exp"] == [1]


def test_named_blocks_have_rows_and_come_first_by_time():
    with profile() as prof:
        with record_function("fwd"):
            for _ in range(3):
                with record_function("exp"):
                    flambeau.ones(2).exp()
        flambeau.ones(2).log()
    rows = {(row.key, row.named): row for row in prof.key_averages()}
    assert rows["fwd", True].count == 1
    assert rows["exp", True].count == rows["aten::exp", False].count == 3
    assert rows["fwd", True].cpu_time_total >= rows["exp", True].cpu_time_total
    inside = sum(e.duration for e in prof.events() if e.scope.startswith("fwd") and not e.named)
    assert rows["fwd", True].inside == pytest.approx(inside / 1000)
    assert rows["fwd", True].self_cpu_time_total >= 0
    lines = prof.key_averages().table(row_limit=1).splitlines()
    assert lines[2].startswith("fwd ")
    assert [e.name for e in prof.events()][0] == "fwd"


def test_named_blocks_are_noted_where_a_profile_saw_them_begin(tmp_path):
    @record_function("step")
    def step():
        return flambeau.ones(2).exp()

    with record_function("before"):
        with profile() as prof:
            step()
    step()
    assert [e.name for e in prof.events() if e.named] == ["step"]
    assert [row.key for row in prof.key_averages(by="scope")] == ["before.step"]
    prof.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [e["name"] for e in events if e["cat"] == "user_annotation"] == ["step"]


def test_what_programs_ask_of_a_profile():
    with profile() as prof:
        with record_function("head"):
            y = flambeau.ones(2) + 1
        y * y
    assert prof.function_events == prof.events()
    head, = (event for event in prof.function_events if event.key == "head")
    assert head.count == 1
    assert head.cpu_time_total == pytest.approx(head.duration / 1000)
    assert str(prof) == prof.table()
    text = prof.table(sort_by="self_cpu_time_total", row_limit=-1, header="Summary",
                      top_level_events_only=True, max_name_column_width=2)
    assert text.startswith("Summary\nName")
    assert "\nhe " in text
    times = [event.duration for event in prof.events() if not event.named]
    assert prof.self_cpu_time_total == pytest.approx(sum(times) / 1000)
    assert prof.total_average().count == len(times)


def test_steps_of_optimizers_and_loaders_have_rows():
    nn = pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    data = pytest.importorskip("flambeau.utils.data", reason="needs flambeau-nn")
    optim = pytest.importorskip("flambeau.optim", reason="needs flambeau-optim")

    class Own(optim.SGD):
        def step(self, closure=None):
            return super().step(closure)

    model = nn.Linear(3, 1)
    loader = data.DataLoader(data.TensorDataset(flambeau.ones(6, 3)), batch_size=2)

    def train(kind, several):
        optimizer = kind(model.parameters(), lr=0.1)
        with profile() as prof:
            for (x,) in loader:
                optimizer.zero_grad()
                model(x).sum().backward()
                optimizer.step()
        rows = {row.key: row for row in prof.key_averages() if "#" in row.key}
        name = kind.__name__
        assert {key: row.count for key, row in rows.items()} == {
            "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__": several + 1,
            f"Optimizer.step#{name}.step": several,
            f"Optimizer.zero_grad#{name}.zero_grad": several}
        assert rows[f"Optimizer.step#{name}.step"].cpu_time_total > 0

    train(optim.SGD, 3)
    train(Own, 3)
    assert not blocks.watchers
    seen = []
    optimizer = optim.Adam(model.parameters())
    optimizer.register_step_pre_hook(lambda *given: seen.append("hook"))
    with profile():
        optimizer.step()
    assert seen == ["hook"] and optimizer._step_count == 1


def test_workers_of_loaders_have_rows():
    data = pytest.importorskip("flambeau.utils.data", reason="needs flambeau-nn")
    with profile() as prof:
        list(data.DataLoader(range(4), batch_size=2, num_workers=1))
    counts = {row.key: row.count for row in prof.key_averages() if "#" in row.key}
    assert counts == {"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__": 3}


def test_scheduled_steps_have_rows_and_other_threads_none():
    seen = []

    def ready(prof):
        seen.append([event.name for event in prof.events() if event.named])

    with profile(schedule=schedule(wait=1, warmup=0, active=2, repeat=1),
                 on_trace_ready=ready) as prof:
        for _ in range(4):
            flambeau.ones(2) + 1
            prof.step()
    assert seen == [["ProfilerStep#1", "ProfilerStep#2"]]
    with profile() as prof:
        thread = threading.Thread(target=lambda: blocks.block("other").__enter__())
        thread.start()
        thread.join()
        with blocks.block("mine"):
            pass
    assert [event.name for event in prof.events() if event.named] == ["mine"]


def test_traces_and_stacks_as_files(tmp_path):
    with profile() as prof:
        with record_function("outer"), record_function("inner"):
            flambeau.ones(2) + 1
        flambeau.ones(2).exp()
    prof.add_metadata("run", "first")
    prof.add_metadata_json("sizes", "[1, 2]")
    prof.export_chrome_trace(tmp_path / "trace.json.gz")
    written = json.loads(gzip.decompress((tmp_path / "trace.json.gz").read_bytes()))
    assert written["run"] == "first" and written["sizes"] == [1, 2]
    assert {"outer", "inner", "aten::exp"} <= {event["name"] for event in written["traceEvents"]}
    prof.export_stacks(tmp_path / "stacks", "self_cpu_time_total")
    lines = [line.rpartition(" ")[0] for line in (tmp_path / "stacks").read_text().splitlines()]
    assert "outer;inner;aten::add" in lines and "aten::exp" in lines
    with pytest.raises(ValueError, match="self_cpu_time_total"):
        prof.export_stacks(tmp_path / "stacks", "self_cuda_time_total")
    folder = tmp_path / "traces"
    with profile(on_trace_ready=tensorboard_trace_handler(folder, use_gzip=True)):
        flambeau.ones(2) + 1
    assert [path.name for path in folder.iterdir()] == ["flambeau.1.pt.trace.json.gz"]
    row = prof.key_averages()[0]
    assert row.cpu_time_total_str.endswith("s") and row.cpu_memory_usage == row.bytes
    assert row.self_device_time_total == row.device_time_total == 0
