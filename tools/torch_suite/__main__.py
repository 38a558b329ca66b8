"""Run files of PyTorch's own test suite against Flambeau.

Nothing is fetched and nothing of PyTorch is kept here: FOLDER is its `test/`, of any version; the
library of the tests is taken from `torch/testing` beside it, else from the installed wheel.
Failures are run again against the installed PyTorch; what fails there too does not count.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

from . import driver, report


def main() -> int:
    """Return 0 when every test that is in scope passed."""
    options = parse()
    failed = 0
    for name in options.files:
        try:
            records = one_file(options, options.folder / name)
        except driver.CannotCollect as error:
            print(f"{name} cannot be imported:\n{error}", file=sys.stderr)
            failed += 1
            continue
        print(report.text(name, records), flush=True)
        failed += report.counts(records)["failed"]
        if options.json:
            options.json.mkdir(parents=True, exist_ok=True)
            stem = options.json / name.replace("/", "-").removesuffix(".py")
            content = {"file": name, "counts": report.counts(records), "tests": records}
            stem.with_suffix(".json").write_text(json.dumps(content, indent=1))
            stem.with_suffix(".txt").write_text(report.text(name, records))
    return 1 if failed else 0


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="torch_suite", description=__doc__)
    parser.add_argument("folder", type=Path, help="PyTorch's test/")
    parser.add_argument("files", nargs="+", help="test_torch.py functorch/test_vmap.py ...")
    parser.add_argument("-k", default="", help="only ids that hold this text")
    parser.add_argument("--without", default="", metavar="REGEX", help="leave these ids out")
    parser.add_argument("--one-in", type=int, default=1, metavar="N", help="draw a sample")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--chunk", type=int, default=100, help="tests in one process")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--limit", type=float, default=60.0, help="processor seconds a test")
    parser.add_argument("--json", type=Path, help="folder for FILE.json and FILE.txt")
    parser.add_argument("--no-pytorch", action="store_true", help="do not rerun failures")
    return parser.parse_args()


def one_file(options: argparse.Namespace, file: Path) -> list[report.Record]:
    """Run one file; return a record a test."""
    beside = options.folder.resolve().parent
    sources = beside if (beside / "torch" / "testing").is_dir() else None
    flambeau = driver.Engine("flambeau", sources, options.limit)
    file = file.resolve()
    ids = [each for each in driver.collect(flambeau, file) if options.k in each
           and not (options.without and re.search(options.without, each))]
    ids = driver.sample(ids, options.one_in, options.seed)
    records = driver.run(flambeau, file, ids, options.chunk, options.jobs)
    failures = [record["id"] for record in records if record["outcome"] == "failed"]
    judged: dict[str, report.Record] = {}
    if failures and not options.no_pytorch:
        judged = in_pytorch(options, file, sources, failures)
        newer = [each for each, record in judged.items() if record.get("newer_library")]
        records = with_newer_library(options, file, records, newer)
    report.judge(records, judged)
    return records


def with_newer_library(
    options: argparse.Namespace, file: Path, records: list[report.Record], ids: list[str]
) -> list[report.Record]:
    """Run again what PyTorch passes only with the library of its own version: like with like."""
    if not ids:
        return records
    flambeau = driver.Engine("flambeau", None, options.limit)
    try:
        known = set(driver.collect(flambeau, file))
    except driver.CannotCollect:
        return records
    again = [each for each in ids if each in known]
    found = {record["id"]: record
             for record in driver.run(flambeau, file, again, options.chunk, options.jobs)}
    return [found.get(record["id"], record) for record in records]


def in_pytorch(
    options: argparse.Namespace, file: Path, sources: Path | None, ids: list[str]
) -> dict[str, report.Record]:
    """Run tests in PyTorch, with the library beside them and, what does not pass, with its own."""
    found: dict[str, report.Record] = {}
    for library in dict.fromkeys((sources, None)):
        engine = driver.Engine("torch", library, options.limit)
        try:
            known = set(driver.collect(engine, file))
        except driver.CannotCollect as error:
            print(f"{file.name} in PyTorch, library {library}: {str(error)[-300:]}",
                  file=sys.stderr)
            continue
        open_ids = [each for each in ids if each in known and not _passed(found.get(each))]
        for record in driver.run(engine, file, open_ids, options.chunk, options.jobs):
            found[record["id"]] = {**record, "newer_library": library is None and bool(sources)
                                   and _passed(record)}
    return found


def _passed(record: report.Record | None) -> bool:
    return record is not None and record["outcome"] == "passed"


if __name__ == "__main__":
    sys.exit(main())
