"""Run the backend contract against a device: ``python -m flambeau.testing.backend NAME``.

Every definition of the operator table runs on sample inputs on the device and on the CPU; then
memory, copies, views, writing, errors and, where installed, gradients are tried. Prints a table and
exits with 1 when something failed. Missing definitions are listed, and are no failure.
"""
from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from flambeau.testing.contract_checks import checks, run_check
from flambeau.testing.contract_operators import Outcome, check_operators


def run_contract(device: str, wanted: str = "") -> list[Outcome]:
    """The outcomes of all definitions and checks.

    Args:
        device: Device type, such as ``"ref"``.
        wanted: Only definitions and checks whose name contains this text.
    """
    outcomes = list(check_operators(device, wanted))
    return outcomes + [run_check(c, device) for c in checks() if wanted in c.__name__]


def report(outcomes: Sequence[Outcome], out=None) -> int:
    """Print the table; returns the number of failed definitions and checks."""
    out = out or sys.stdout
    groups = {s: [o for o in outcomes if o.status == s]
              for s in ("passed", "failed", "missing", "no samples")}
    for outcome in groups["failed"]:
        for text in outcome.failures[:3]:
            print(f"FAILED  {text}", file=out)
    for status in ("missing", "no samples"):
        if groups[status]:
            print(f"{status}: {', '.join(o.name for o in groups[status])}", file=out)
    calls = sum(o.passed for o in outcomes)
    counts = ", ".join(f"{len(found)} {status}" for status, found in groups.items())
    print(f"{len(outcomes)} definitions and checks: {counts} ({calls} calls compared)", file=out)
    return len(groups["failed"])


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("flambeau.testing.backend", description=__doc__.split("\n")[0])
    parser.add_argument("device", help="device type, such as ref or cuda")
    parser.add_argument("--filter", default="", help="only names that contain this text")
    options = parser.parse_args(argv)
    return 1 if report(run_contract(options.device, options.filter)) else 0


if __name__ == "__main__":
    sys.exit(main())
