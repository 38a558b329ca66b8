"""The rows' part of the contract: every row on a device gives what it gives on the CPU."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import flambeau  # noqa: F401  (the rows need the core)
from flambeau.core.opdefs import OPDEFS, OpDef
from flambeau.core.opdefs.derived import derived_rows
from flambeau.testing.convert import results_of
from flambeau.testing.samples import DTYPES, samples
from flambeau.testing.tolerances import difference


@dataclass
class Outcome:
    """What became of one row, or of one check."""

    name: str
    passed: int = 0
    failures: tuple[str, ...] = ()
    missing: bool = False

    @property
    def status(self) -> str:
        if self.failures:
            return "failed"
        if self.missing:
            return "missing"
        return "passed" if self.passed else "no samples"


def rows_to_check() -> list[OpDef]:
    """The rows that a backend may be asked to run, and the views, which it only carries."""
    rows = [*OPDEFS, *derived_rows(OPDEFS)]
    return [row for row in rows if row.category != "composite"]


def check_row(row: OpDef, device: str, dtypes=DTYPES) -> Outcome:
    """Compare a row on a device with the CPU, on all its samples."""
    outcome = Outcome(row.key)
    for dtype in dtypes:
        for args, _ in samples(row, dtype):
            try:
                expected = results_of(row.key, args, "cpu", dtype)
            except RuntimeError:
                continue        # the row does not take this dtype
            _compare(row, args, device, dtype, expected, outcome)
            if outcome.missing:
                return outcome
    return outcome


def _compare(row, args, device, dtype, expected, outcome) -> None:
    try:
        got = results_of(row.key, args, device, dtype)
    except NotImplementedError:
        outcome.missing = True
        return
    except Exception as error:
        outcome.failures += (f"{_title(row, args, dtype)}: {type(error).__name__}: {error}",)
        return
    for (value, name), (wanted, wanted_name) in zip(got, expected, strict=True):
        text = f"dtype {name} instead of {wanted_name}" if name != wanted_name else \
            difference(value, wanted, "bfloat16" if dtype == "bfloat16" and name == "float32"
                       else name)
        if text:
            outcome.failures += (f"{_title(row, args, dtype)}: {text}",)
            return
    outcome.passed += 1


def _title(row, args, dtype) -> str:
    shown = [f"{a.dtype}{list(a.shape)}/{a.strides}" if hasattr(a, "shape") else repr(a)
             for a in args]
    return f"{row.key}({', '.join(shown)}) as {dtype}"[:300]


def check_rows(device: str, wanted: str = "") -> Iterator[Outcome]:
    """The outcome of every row whose key contains a text."""
    for row in rows_to_check():
        if wanted in row.key:
            yield check_row(row, device)
