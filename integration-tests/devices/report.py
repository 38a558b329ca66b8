"""All that is to be known of a device, in one page.

    python report.py --device cuda --page docs/design/gpu-results.md

Runs the contract of backends, the core's operator tests, autograd's and nn's, ten trainings,
``compute-sanitizer`` where it is installed, and a benchmark beside PyTorch's CUDA build where that
is. Everything runs in processes of its own, so that a fault of the device ends no more than one.
"""
from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
#: In how many processes each part runs.
PIECES = {"contract": 8, "operators": 16, "gradients": 4, "modules": 4, "trainings": 10,
          "benchmark": 1}
_TITLES = {"operators": "The core's operator tests", "gradients": "Autograd's samples, through "
           "second order", "modules": "nn's modules, forward and backward"}
_LIMIT_SECONDS = 900
_MARK = "<!-- Results: what follows is written by nox -s gpu. -->"


def run_part(name: str, device: str, number: int, of: int) -> dict[str, Any]:
    """What a part found, or how it ended."""
    words = [sys.executable, str(HERE / "parts.py"), name, device, str(number), str(of)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        return {"ended": f"{name} {number + 1} of {of} took more than {_LIMIT_SECONDS} seconds"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        return {"ended": f"{name} {number + 1} of {of} ended with {done.returncode}: {last}"}
    return json.loads(done.stdout.strip().splitlines()[-1])


def gathered(name: str, device: str) -> list[dict[str, Any]]:
    """All pieces of a part."""
    return [run_part(name, device, i, PIECES[name]) for i in range(PIECES[name])]


# ---- the page --------------------------------------------------------------------------------
def _ended(piece: dict[str, Any]) -> list[str]:
    return [piece["ended"]] if "ended" in piece else []


def judged(title: str, pieces: list[dict[str, Any]]) -> tuple[list[str], int]:
    """Lines on pieces that were judged case by case, and the number of failures."""
    cases: Counter[str] = Counter()
    of_operators: Counter[str] = Counter()
    for piece in pieces:
        cases.update(piece.get("cases", {}))
        of_operators.update(piece.get("operators", {}))
    names = {state: sorted(k for p in pieces for k in p.get(state, ()))
             for state in ("missing", "partly")}
    wrong = [text for p in pieces for text in p.get("wrong", ())]
    ended = [text for p in pieces for text in _ended(p)]
    lines = [f"## {title}", "", "| | right | wrong | partly | missing |",
             "|---|---:|---:|---:|---:|",
             f"| names | {of_operators['right']} | {of_operators['wrong']} | "
             f"{of_operators['partly']} | {of_operators['missing']} |",
             f"| cases | {cases['right']} | {cases['wrong']} | | {cases['unsupported']} |", ""]
    lines += [f"{state.capitalize()}: {' '.join(f'`{n}`' for n in found)}.\n"
              for state, found in names.items() if found]
    return lines + _listed(wrong[:40] + ended), len(wrong) + len(ended)


def contract(pieces: list[dict[str, Any]]) -> tuple[list[str], int]:
    """Lines on the contract of backends."""
    states: Counter[str] = Counter()
    for piece in pieces:
        states.update(piece.get("states", {}))
    counts = ", ".join(f"{n} {state}" for state, n in sorted(states.items()))
    wrong = [text for p in pieces for text in (*p.get("wrong", ()), *_ended(p))]
    return ["## The contract of backends", "", f"{counts}.\n", *_listed(wrong)], len(wrong)


def trainings(pieces: list[dict[str, Any]]) -> tuple[list[str], int]:
    """Lines on the ten families."""
    rows = [row for p in pieces for row in p.get("rows", ())]
    ended = [text for p in pieces for text in _ended(p)]
    bad = [row for row in rows if not row[3] <= 5e-3 or row[4]]
    lines = ["## Trainings of ten steps", "",
             "| network | last loss | on the CPU | furthest apart | reads | seconds |",
             "|---|---:|---:|---:|---:|---:|"]
    lines += [f"| {name} | {loss:.5f} | {expected:.5f} | {apart:.1e} | {reads} | {seconds:.1f} |"
              for name, loss, expected, apart, reads, seconds in rows]
    return [*lines, "", *_listed(ended)], len(bad) + len(ended)


def benchmark(pieces: list[dict[str, Any]]) -> tuple[list[str], int]:
    """Lines on the times of calls."""
    piece = pieces[0]
    if "ended" in piece:
        return ["## Times", "", *_listed([piece["ended"]])], 1
    side = piece["side"]
    lines = [f"## Times, {side} x {side} float32", "", "| call | ms | PyTorch, ms |",
             "|---|---:|---:|"]
    lines += [f"| {name} | {1e3 * mine:.3f} | {'' if theirs is None else f'{1e3 * theirs:.3f}'} |"
              for name, mine, theirs in piece["rows"]]
    return [*lines, ""], 0


def sanitizer(device: str) -> tuple[list[str], int]:
    """Lines on ``compute-sanitizer`` over a part of the contract."""
    program, lines = shutil.which("compute-sanitizer"), ["## compute-sanitizer", ""]
    if program is None or device == "cudasim":
        why = "not installed" if program is None else "is for GPUs"
        return [*lines, f"Not run: {why}. The simulation looks for the same on every run.\n"], 0
    failed = []
    for check in ("memcheck", "racecheck", "initcheck"):
        words = [program, "--tool", check, "--error-exitcode", "9", sys.executable, "-m",
                 "flambeau.testing.backend", device, "--filter", "sum"]
        failed += _ended(_sanitized(check, words))
    return [*lines, *(_listed(failed) or ["No errors of memory, races or first reads.\n"])], \
        len(failed)


def _sanitized(check: str, words: list[str]) -> dict[str, Any]:
    """How a check ended, where it found errors or did not come to its end."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        return {"ended": f"{check} took more than {_LIMIT_SECONDS} seconds"}
    if done.returncode == 0:
        return {}
    why = "reports errors" if done.returncode == 9 else f"ended with {done.returncode}"
    return {"ended": f"{check} {why}: `{' '.join(words[:4])} ...`"}


def _listed(texts: list[str]) -> list[str]:
    shown = (" ".join(text.replace("|", "\\|").split()) for text in texts)
    return [f"- {text}" for text in shown] + ([""] if texts else [])


def page(device: str) -> tuple[str, int]:
    """The page, and how many failures it lists."""
    lines, failures = head(device), 0
    makers = {"contract": contract, "trainings": trainings, "benchmark": benchmark}
    for name in PIECES:
        pieces = gathered(name, device)
        made, failed = makers[name](pieces) if name in makers else judged(_TITLES[name], pieces)
        print(f"{name}: {failed} failures", flush=True)
        lines, failures = lines + made, failures + failed
    made, failed = sanitizer(device)
    return "\n".join(lines + made).rstrip() + "\n", failures + failed


def head(device: str) -> list[str]:
    """What ran, and where."""
    title = "# Results of the simulated GPU" if device == "cudasim" else "## Results"
    share = os.environ.get("TESTED_SHARE", "1")
    part = "all cases" if share == "1" else f"one case in {share}, chosen by its name"
    return [title, "", "Written by `integration-tests/devices/report.py`, which `nox -s gpu` runs, "
            f"on {where(device)}; {part}; Python {platform.python_version()}.", ""]


def kept(path: Path) -> str:
    """What somebody wrote above the results of a page."""
    text = path.read_text() if path.exists() else ""
    return text[:text.index(_MARK)] + _MARK + "\n\n" if _MARK in text else ""


def where(device: str) -> str:
    """The GPU's name, or the simulation."""
    if device == "cudasim":
        return "the simulation, whose times say nothing of a GPU's"
    import flambeau as fl

    found = fl.cuda.get_device_properties(0)
    return f"{found.name} (sm_{found.major}{found.minor})"


def main() -> int:
    """Write the page; 1 where it lists failures."""
    parser = argparse.ArgumentParser("report", description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--page", type=Path, required=True)
    parser.add_argument("--share", default="1", help="run every so many-eth case")
    options = parser.parse_args()
    os.environ["TESTED_DEVICE"], os.environ["TESTED_SHARE"] = options.device, options.share
    text, failures = page(options.device)
    options.page.write_text(kept(options.page) + text)
    print(f"{options.page}: {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
