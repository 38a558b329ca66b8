"""Verdicts on the failures, and what is printed."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from .causes import cause
from .scope import reason

Record = dict[str, Any]

#: Tests of `out=`, and their line that expects a function without it to refuse it.
OUT_TEST = re.compile(r"\.test_out_")
OUT_LINE = "with self.assertRaises(Exception):"


def judge(records: list[Record], in_pytorch: dict[str, Record]) -> None:
    """Add `cause`, and the verdict "elsewhere" or "out of scope", to the failures."""
    for record in records:
        if record["outcome"] != "failed":
            continue
        record["cause"] = cause(record["type"], record["message"], record.get("in_test", False))
        if OUT_TEST.search(record["id"]) and record.get("line", "").endswith(OUT_LINE):
            record["cause"] = "out= where PyTorch takes none"
        record["pytorch"] = in_pytorch.get(record["id"], {}).get("outcome", "not collected")
        if record["pytorch"] in ("failed", "skipped"):
            record["verdict"] = "fails in PyTorch too"
        elif why := reason(record["cause"], record["id"]):
            record["verdict"], record["reason"] = "out of scope", why
        else:
            record["verdict"] = "failed"


def counts(records: list[Record]) -> dict[str, int]:
    """Return how many tests there are of each kind."""
    outcomes = Counter(record.get("verdict", record["outcome"]) for record in records)
    skipped = outcomes["skipped"]
    run = len(records) - skipped
    return {
        "collected": len(records),
        "skipped": skipped,
        "run": run,
        "fails in PyTorch too": outcomes["fails in PyTorch too"],
        "out of scope": outcomes["out of scope"],
        "in scope": outcomes["passed"] + outcomes["failed"],
        "passed": outcomes["passed"],
        "passed, an error in other words": sum(
            "words" in record for record in records if record["outcome"] == "passed"),
        "failed": outcomes["failed"],
    }


def text(name: str, records: list[Record]) -> str:
    """Return the summary."""
    return "\n".join(_lines(name, records)) + "\n"


def _lines(name: str, records: list[Record]) -> Iterator[str]:
    count = counts(records)
    yield f"== {name}"
    yield from (f"{number:6} {what}" for what, number in count.items())
    for what in ("in scope", "run"):
        yield f"{percent(count['passed'], count[what])} of what is {what} passed"
    for verdict in ("failed", "out of scope"):
        groups = defaultdict(list)
        for record in records:
            if record.get("verdict") == verdict:
                groups[record["reason" if verdict == "out of scope" else "cause"]].append(record)
        yield ""
        yield f"-- {verdict}, by {'reason' if verdict == 'out of scope' else 'cause'}"
        for key, found in sorted(groups.items(), key=lambda item: -len(item[1])):
            yield f"{len(found):5} {key}"
            if verdict == "failed":
                yield from (f"        {record['id']}  {record.get('line', '')}".rstrip()
                            for record in found)


def percent(part: int, of: int) -> str:
    """Return a percentage."""
    return f"{100 * part / of:.2f}%" if of else "nothing"
