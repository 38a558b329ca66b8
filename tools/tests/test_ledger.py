"""Skips and expected failures are counted, and more than announced fails."""

import sys

import ledger
import pytest

REPORT = """<testsuites><testsuite>
<testcase classname="test_a" name="test_ok"/>
<testcase classname="test_a" name="test_disk">
  <skipped type="pytest.skip" message="no disk"/></testcase>
<testcase classname="test_a" name="test_gpu">
  <skipped type="pytest.skip" message="needs a GPU"/></testcase>
<testcase classname="test_a" name="test_bug">
  <skipped type="pytest.xfail" message="known"/></testcase>
<testcase classname="" name="test_t">
  <skipped type="pytest.skip" message="could not import 'torch': No module"/></testcase>
<testcase classname="" name="test_u">
  <skipped type="pytest.skip" message="collection skipped">PyTorch is not installed</skipped>
</testcase>
</testsuite></testsuites>"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the ledger on the report above, with so many announced."""

    def run(announced, name="tests-nn"):
        report = tmp_path / f"{name}.xml"
        report.write_text(REPORT)
        table = tmp_path / "skips.toml"
        table.write_text(f'[{name}]\ncount = {announced}\nwhy = "they are"\n')
        monkeypatch.setattr(ledger, "ANNOUNCED", table)
        monkeypatch.setattr(sys, "argv", ["ledger.py", str(report)])
        return ledger.main()

    return run


def test_as_announced(run, capsys):
    assert run(2) == 0
    text = capsys.readouterr().out
    assert "test_disk: no disk" in text
    assert "1 not on this machine\n  skip: test_a.test_gpu: needs a GPU" in text


def test_more_than_announced(run):
    assert run(1) == 1


def test_fewer_asks_to_lower_the_number(run, capsys):
    assert run(3) == 0
    assert "lower it" in capsys.readouterr().out


def test_the_oracle_session_may_not_lack_the_oracle(run):
    assert run(3, "oracle-nn") == 1
