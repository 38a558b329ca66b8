"""Follow a page of the guide to the letter: ``python tools/follow_guide.py PAGE... --tree COPY``.

A block whose caption names a file in backquotes is written to it: "new" makes the file, "at the
end" appends, "at the end of `NAME`" puts the lines before the last one of a literal, "after `TEXT`"
behind the line that reads so. Of a ``console`` block the lines that begin with ``$`` are run in the
copy, and the others have to appear in what they print (``...`` stands for anything). Where a
section says "2 files, 9 lines", that is what its blocks have to come to.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

GUIDE = Path(__file__).parent.parent / "docs" / "guide"
PAGES = ("add-an-operator", "add-a-layer", "add-an-optimizer", "write-a-backend")
_FENCE = re.compile(r"^( *)```(\{code-block\} )?(\w+)\n(.*?)^\1```$", re.M | re.S)
_CAPTION = re.compile(
    r"\A:caption: `([^`]+)`, (new|at the end of `\w+`|at the end|after `[^`]+`)\n\n?")


@dataclass
class Block:
    """A block of a page: text for a file, or commands."""

    section: str
    path: str       # "" for commands
    where: str
    text: str


def blocks(page: str) -> Iterator[Block]:
    """The blocks of a page that have a file or are commands, in order."""
    for section in re.split(r"^(?=## )", page, flags=re.M):
        title = section.partition("\n")[0]
        for indent, directive, language, body in _FENCE.findall(section):
            text = "".join(line.removeprefix(indent) for line in body.splitlines(keepends=True))
            caption = _CAPTION.match(text) if directive else None
            if caption:
                yield Block(title, caption[1], caption[2], text[caption.end():])
            elif language == "console":
                yield Block(title, "", "", text)


def check_counts(page: str) -> list[str]:
    """What sections say of their files and lines, and is not so."""
    wrong = []
    for section in re.split(r"^(?=## )", page, flags=re.M):
        said = re.search(r"(\d+) files?, (\d+) lines", section)
        written = [b for b in blocks(section) if b.path]
        counted = (len({b.path for b in written}), sum(b.text.count("\n") for b in written))
        if (said is not None or written) and (said is None
                                               or tuple(map(int, said.groups())) != counted):
            title = section.partition("\n")[0]
            wrong.append(f"{title}: it says {said and said[0]}, its blocks are {counted[0]} files, "
                         f"{counted[1]} lines")
    return wrong


def apply(block: Block, tree: Path) -> None:
    """Write a block to its file.

    Raises:
        ValueError: the file has no such place.
    """
    path = tree / block.path
    if block.where == "new":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text)
        return
    lines = path.read_text().splitlines(keepends=True)
    at = len(lines)
    if block.where.startswith("at the end of"):
        at = _last_line(path, block.where.split("`")[1])
    elif block.where.startswith("after"):
        wanted = block.where.split("`")[1]
        found = [i for i, line in enumerate(lines) if line.strip() == wanted]
        if len(found) != 1:
            raise ValueError(f"{block.path}: {len(found)} lines read {wanted!r}")
        at = found[0] + 1
    path.write_text("".join([*lines[:at], block.text, *lines[at:]]))


def _last_line(path: Path, name: str) -> int:
    """Where the last line of the literal begins that a module assigns to a name."""
    for node in ast.parse(path.read_text()).body:
        targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
        if any(isinstance(t, ast.Name) and t.id == name for t in targets):
            value = node.value          # type: ignore[attr-defined]
            while isinstance(value, ast.BinOp):     # {...} | others
                value = value.right if isinstance(value.right, ast.Dict) else value.left
            return int(value.end_lineno) - 1
    raise ValueError(f"{path} assigns nothing to {name}")


def run(block: Block, tree: Path) -> str:
    """Run the commands of a block in one shell; what was expected and did not come, or nothing."""
    lines = block.text.splitlines()
    commands = [line[2:] for line in lines if line.startswith(("$ ", "> "))]
    expected = [line for line in lines if not line.startswith(("$", "> "))]
    print("\n".join(f"$ {command}" for command in commands), flush=True)
    done = subprocess.run(["bash", "-e", "-c", "\n".join(commands)], cwd=tree, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    print(done.stdout[-3000:], flush=True)
    if done.returncode:
        return f"exit status {done.returncode}: {commands}"
    pattern = ".*".join(".*".join(map(re.escape, line.split("..."))) for line in expected)
    return "" if re.search(pattern, done.stdout, re.S) else f"did not print: {expected}"


def follow(name: str, tree: Path, runs: bool = True) -> list[str]:
    """Follow a page in a copy of the tree; what went wrong."""
    page = (GUIDE / f"{name}.md").read_text()
    wrong = check_counts(page)
    for block in blocks(page):
        if block.path:
            apply(block, tree)
        elif runs and (text := run(block, tree)):
            return [*wrong, f"{name}: {text}"]
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pages", nargs="*", default=PAGES)
    parser.add_argument("--tree", required=True, type=Path, help="a copy that may be changed")
    options = parser.parse_args()
    wrong = [text for name in options.pages or PAGES for text in follow(name, options.tree)]
    print("\n".join(wrong) or "every step of the guide holds")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
