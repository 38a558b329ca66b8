"""The operators' part of the contract: on a device each gives what it gives on the CPU."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import flambeau  # noqa: F401  (the definitions need the core)
from flambeau.core.opdefs import OPDEFS, OpDef
from flambeau.core.opdefs.derived import derived_opdefs
from flambeau.testing.convert import results_of
from flambeau.testing.samples import DTYPES, samples
from flambeau.testing.tolerances import difference


@dataclass
class Outcome:
    """What became of one definition, or of one check."""

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


def opdefs_to_check() -> list[OpDef]:
    """The definitions that a backend may be asked to run, and the views, which it only carries."""
    opdefs = [*OPDEFS, *derived_opdefs(OPDEFS)]
    return [opdef for opdef in opdefs if opdef.category != "composite"]


def check_operator(opdef: OpDef, device: str, dtypes=DTYPES) -> Outcome:
    """Compare a definition on a device with the CPU, on all its samples."""
    outcome = Outcome(opdef.key)
    for dtype in dtypes:
        for args, _ in samples(opdef, dtype):
            try:
                expected = results_of(opdef.key, args, "cpu", dtype)
            except RuntimeError:
                continue        # the definition does not take this dtype
            _compare(opdef, args, device, dtype, expected, outcome)
            if outcome.missing:
                return outcome
    return outcome


def _compare(opdef, args, device, dtype, expected, outcome) -> None:
    try:
        got = results_of(opdef.key, args, device, dtype)
    except NotImplementedError:
        outcome.missing = True
        return
    except Exception as error:
        outcome.failures += (f"{_title(opdef, args, dtype)}: {type(error).__name__}: {error}",)
        return
    for (value, name), (wanted, wanted_name) in zip(got, expected, strict=True):
        text = f"dtype {name} instead of {wanted_name}" if name != wanted_name else \
            difference(value, wanted, "bfloat16" if dtype == "bfloat16" and name == "float32"
                       else name)
        if text:
            outcome.failures += (f"{_title(opdef, args, dtype)}: {text}",)
            return
    outcome.passed += 1


def _title(opdef, args, dtype) -> str:
    shown = [f"{a.dtype}{list(a.shape)}/{a.strides}" if hasattr(a, "shape") else repr(a)
             for a in args]
    return f"{opdef.key}({', '.join(shown)}) as {dtype}"[:300]


def check_operators(device: str, wanted: str = "") -> Iterator[Outcome]:
    """The outcome of every definition whose key contains a text."""
    for opdef in opdefs_to_check():
        if wanted in opdef.key:
            yield check_operator(opdef, device)
