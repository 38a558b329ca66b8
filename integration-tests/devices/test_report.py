"""What the report of a device counts as a failure."""
from __future__ import annotations

import sys

import pytest
import report


def test_pieces_of_the_contract_are_added_up():
    pieces = [{"states": {"passed": 3}}, {"states": {"passed": 2, "failed": 1}, "wrong": ["add"]},
              {"ended": "contract 3 of 3 took more than 900 seconds"}]
    lines, failures = report.contract(pieces)
    assert "1 failed, 5 passed.\n" in lines and failures == 2


@pytest.mark.parametrize(("apart", "reads", "failures"), [
    (1e-6, 0, 0), (1e-2, 0, 1), (float("nan"), 0, 1), (1e-6, 1, 1)])
def test_a_training_that_is_apart_nan_or_reads_is_a_failure(apart, reads, failures):
    assert report.trainings([{"rows": [["gpt", 1.0, 1.0, apart, reads, 2.0]]}])[1] == failures


@pytest.mark.parametrize(("program", "text"), [
    ("pass", None), ("raise SystemExit(9)", "reports errors"), ("import absent", "ended with 1"),
    ("import time; time.sleep(60)", "took more than 1 seconds")])
def test_a_sanitizer_passes_only_where_it_ended_well(monkeypatch, program, text):
    if text and "took" in text:
        monkeypatch.setattr(report, "_LIMIT_SECONDS", 1)
    ended = report._sanitized("memcheck", [sys.executable, "-c", program])
    assert text in ended["ended"] if text else ended == {}
