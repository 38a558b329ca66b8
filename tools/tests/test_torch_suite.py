"""The adapter for PyTorch's own tests: its causes, its counting, its stubs, its chunks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from torch_suite import alias, causes, driver, names, report, scope, stubs, table


@pytest.mark.parametrize(("kind", "message", "cause"), [
    ("Unsupported", "Unsupported: torch.fx.Node", "absent: torch.fx.Node"),
    ("AttributeError", "module 'flambeau' has no attribute 'lobpcg'", "absent: torch.lobpcg"),
    ("AttributeError", "module 'flambeau.nn' has no attribute 'X'", "absent: torch.nn.X"),
    ("AttributeError", "'Tensor' object has no attribute 'coalesce'", "absent: Tensor.coalesce"),
    ("NotImplementedError", "torch.fx.f is not part of Flambeau, which this program runs with",
     "absent: torch.fx.f"),
    ("ImportError", "cannot import name 'f' from 'torch.fx' (x.py)", "absent: torch.fx.f"),
    ("TypeError", "dtype must be a dtype, not <absent torch.qint8>", "absent: torch.qint8"),
    ("AttributeError", "<module 'torch' (<a.B at 0x1>)> does not have the attribute '_f'",
     "absent: torch._f"),
    ("ValueError", "sizes (2, 3) and (4,)\nmore", "ValueError: sizes (..) and (..)"),
    ("AssertionError", "", "AssertionError"),
    ("AssertionError", "The supported dtypes for f on device type cpu are incorrect!\nThe "
     "following dtypes worked in forward but are not listed by the OpInfo: {flambeau.int8}.",
     "dtypes: more than PyTorch has"),
    ("AssertionError", "The supported dtypes for f on device type cpu are incorrect!\nThe "
     "following dtypes did not work in forward but are listed by the OpInfo: {flambeau.int8, "
     "flambeau.bool}.",
     "dtypes: without bool, int8"),
])
def test_failures_are_grouped_by_cause(kind, message, cause):
    assert causes.cause(kind, message) == cause


def test_private_attributes_count_where_flambeau_itself_asks_for_them():
    message = "'Run' object has no attribute '_workers'"
    assert causes.cause("AttributeError", message, in_test=True) == "absent: Run._workers"
    assert scope.reason("absent: Run._workers", "T.t") is not None
    assert scope.reason(causes.cause("AttributeError", message), "T.t") is None


@pytest.mark.parametrize(("cause", "test", "inside"), [
    ("absent: torch.lobpcg", "TestX.test_lobpcg_cpu", True),
    ("AssertionError: Scalars are not equal!", "TestX.test_sum_cpu", True),
    ("absent: torch._C._jit_set", "TestX.test_y", False),
    ("absent: torch.qint8", "TestX.test_y", True),
    ("absent: torch.bits8", "TestX.test_y", False),
    ("dtypes: more than PyTorch has", "TestX.test_y", False),
    ("dtypes: without complex32", "TestX.test_y", False),
    ("dtypes: without bool, complex32", "TestX.test_y", True),
])
def test_scope(cause, test, inside):
    assert (scope.reason(cause, test) is None) == inside


def test_chunks_go_on_behind_the_test_that_ended_a_process():
    assert driver.chunks(["a", "b", "c"], 2) == [["a", "b"], ["c"]]
    lines = [{"start": "a"}, {"id": "a"}, {"start": "b"}]
    assert driver.remaining(["a", "b", "c"], lines) == (["c"], "b")
    assert driver.remaining(["a"], lines[:2]) == ([], None)


def test_a_sample_is_the_same_each_time_and_keeps_the_order():
    ids = [f"T.test_{number:02}" for number in range(25)]
    assert driver.sample(ids, 1) == ids
    drawn = driver.sample(ids, 10)
    assert len(drawn) == 3 and drawn == sorted(drawn) == driver.sample(ids, 10)
    assert drawn != driver.sample(ids, 10, seed=1)


def test_out_where_pytorch_takes_none_is_no_failure():
    def record(name, line):
        return {"id": name, "outcome": "failed", "type": "AssertionError", "line": f"680: {line}",
                "message": "Exception not raised"}

    raises = "with self.assertRaises(Exception):"
    records = [record("T.test_out_warning_f", raises), record("T.test_out_f", "self.assertEqual(a"),
               record("T.test_outer", raises)]
    report.judge(records, {})
    assert [each["verdict"] for each in records] == ["out of scope", "failed", "failed"]


def test_counts():
    records: list[report.Record] = [
        {"id": "T.a", "outcome": "passed", "words": ["..."]},
        {"id": "T.b", "outcome": "skipped"},
        {"id": "T.c", "outcome": "failed", "type": "E", "message": "1"},
        {"id": "T.d", "outcome": "failed", "type": "E", "message": "2"},
        {"id": "T.e", "outcome": "failed", "type": "U", "message": "Unsupported: torch.onnx.X"},
    ]
    passed, failed = {"outcome": "passed"}, {"outcome": "failed"}
    report.judge(records, {"T.c": passed, "T.d": failed})
    assert report.counts(records) == {
        "collected": 5, "skipped": 1, "run": 4, "fails in PyTorch too": 1, "out of scope": 1,
        "in scope": 2, "passed": 1, "passed, an error in other words": 1, "failed": 1,
    }
    assert "50.00% of what is in scope" in report.text("test_x.py", records)


def test_stubs_serve_at_import_and_refuse_in_tests(monkeypatch):
    stub: Any = stubs.absent("torch.fx.wrap")

    @stub
    def f():
        return 3

    class Node(stub):
        pass

    assert f() == 3 and not stub and not isinstance(3, stub) and list(stub) == []
    with pytest.raises(stubs.Unsupported, match="torch.fx.wrap"):
        Node()
    monkeypatch.setattr(stubs.Clock, "running", True)
    with pytest.raises(stubs.Unsupported, match="torch.fx.wrap"):
        stub(3)
    with pytest.raises(stubs.Unsupported, match="torch.fx.Graph"):
        stubs.absent("torch.fx.Graph")


def test_names():
    assert names.is_source("torch.testing._internal.common_utils")
    assert not names.is_source("torch.testing_more")


def test_dropped_names_are_stubs_while_files_are_imported_only(monkeypatch):
    look_up = alias.tolerant(lambda module, name: 3 if name == "known" else None)
    assert look_up("nn", "known") == 3
    assert isinstance(look_up("nn", "gone"), stubs.Stub)
    assert look_up("_C", "has_lapack") is True
    assert look_up("nn", "__path__") is None
    monkeypatch.setattr(stubs.Clock, "running", True)
    assert look_up("nn", "gone") is None


def test_table(tmp_path):
    count = dict.fromkeys(table.COLUMNS, 4) | {"passed": 3}
    for name in ("a", "b"):
        text = json.dumps({"file": f"test_{name}.py", "counts": count})
        (tmp_path / f"{name}.json").write_text(text)
    lines = table.table(tmp_path).splitlines()
    assert lines[2] == "| test_a.py | 4 | 4 | 4 | 4 | 3 | 4 | 75.00% | 75.00% |"
    assert lines[4].startswith("| all | 8 | 8 | 8 | 8 | 6 | 8 | 75.00%")
