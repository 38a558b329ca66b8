"""The guide's steps fit the tree: files, the places in them, and what pages say of their number."""

import ast
import shutil
from pathlib import Path

import follow_guide
import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", follow_guide.PAGES)
def test_blocks_go_where_a_page_says(name, tmp_path):
    page = (follow_guide.GUIDE / f"{name}.md").read_text()
    written = [b for b in follow_guide.blocks(page) if b.path]
    assert written
    for block in written:
        target = tmp_path / block.path
        target.parent.mkdir(parents=True, exist_ok=True)
        if block.where == "new":
            assert not (ROOT / block.path).exists()
        elif not target.exists():
            shutil.copy(ROOT / block.path, target)
    assert follow_guide.follow(name, tmp_path, runs=False) == []
    for block in written:
        text = (tmp_path / block.path).read_text()
        assert block.text in text
        if block.path.endswith(".py"):
            ast.parse(text)


def test_a_kernel_with_a_rule_takes_five_files():
    page = (follow_guide.GUIDE / "add-an-operator.md").read_text()
    files = {b.path for b in follow_guide.blocks(page) if "kernel" in b.section.lower() and b.path}
    assert len(files) == 5


def test_wrong_counts_are_told():
    page = "## One\n2 files, 3 lines\n```{code-block} python\n:caption: `a.py`, new\n\nx = 1\n```\n"
    assert "1 files, 1 lines" in follow_guide.check_counts(page)[0]


@pytest.mark.parametrize(("text", "said"), [
    ("$ echo one two\none ...\n", ""), ("$ echo one\nthree\n", "three"),
    ("$ exit 3\n", "status 3")])
def test_what_does_not_come_is_told(tmp_path, text, said):
    told = follow_guide.run(follow_guide.Block("", "", "", text), tmp_path)
    assert said in told and bool(said) == bool(told)
