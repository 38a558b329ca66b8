"""One process of the suite: collect the tests of a file, or run some of them.

`python -m torch_suite.child ENGINE FILE OUT LIMIT SOURCES` with the ids on stdin, one a line;
none: write the ids of all tests. ENGINE is `flambeau` or `torch`.
"""

from __future__ import annotations

import importlib
import json
import sys
import unittest
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import Any

from . import alias, judge, tolerant

# Names that NumPy 2 dropped and PyTorch's tests of their time use.
NUMPY_NAMES = {"float_": "float64", "complex_": "complex128", "product": "prod", "in1d": "isin",
               "unicode_": "str_", "trapz": "trapezoid", "cumproduct": "cumprod", "bool8": "bool_"}


def main() -> None:
    """Collect or run."""
    engine, file, out, limit, sources = sys.argv[1:]
    wanted = sys.stdin.read().splitlines()
    path = Path(file)
    sys.argv = [str(path)]
    sys.path[:0] = list(dict.fromkeys([str(path.parent), str(suite_folder(path))]))
    restore_numpy_names()
    prepare(engine, suite_folder(path), Path(sources) if sources else None)
    tests = dict(collect(load(path)))
    with open(out, "a") as lines:
        if wanted:
            run([tests[each] for each in wanted if each in tests], judge.Recorder(
                lines, float(limit)))
        else:
            print(json.dumps(list(tests)), file=lines)


def suite_folder(path: Path) -> Path:
    """Return the folder `test/` that a file lies in, at whatever depth."""
    return next((p for p in path.parents if (p / "test_torch.py").is_file()), path.parent)


def restore_numpy_names() -> None:
    import numpy

    for old, new in NUMPY_NAMES.items():
        if old not in numpy.__dict__:
            setattr(numpy, old, getattr(numpy, new))


def prepare(engine: str, suite: Path, sources: Path | None) -> None:
    """Make `torch` what it shall be."""
    importlib.import_module("torch")
    if engine == "flambeau":
        judge.accept_other_words()
        alias.adjust()
        library = importlib.import_module("torch.testing._internal.common_utils")
        judge.read_names_as_pytorch(library.TestCase)
    else:
        tolerant.install(suite, sources)


def load(path: Path) -> ModuleType:
    """Import a test file under its own name."""
    text = path.read_text()
    if "hypothesis" in text:
        lift_deadline()
    if "parametrize" in text or "common_device_type" in text:
        allow_empty_lists()
    return importlib.import_module(path.stem)     # of the first folder of the path


def allow_empty_lists() -> None:
    """Let a test over a list that is empty for this `torch` have no instances."""
    library = "torch.testing._internal."
    for module, name in (("common_device_type", "ops"), ("common_utils", "parametrize")):
        kind = getattr(importlib.import_module(library + module), name)
        kind._parametrize_test = none_of_empty(kind._parametrize_test)


def none_of_empty(instances: Any) -> Any:
    """Wrap a generator of test instances that raises for an empty list."""

    def tolerant(*args: Any, **kwargs: Any) -> Iterator[Any]:
        try:
            yield from instances(*args, **kwargs)
        except ValueError as error:
            if "An empty " not in str(error):
                raise

    return tolerant


def lift_deadline() -> None:
    """Let examples take their time; the test library sets this in a way of older versions."""
    import hypothesis

    hypothesis.settings.register_profile("patient", deadline=None)
    hypothesis.settings.load_profile("patient")


def collect(module: ModuleType) -> Iterator[tuple[str, unittest.TestCase]]:
    """Yield the tests of a module by `TestClass.test_method`."""
    loader = unittest.TestLoader()
    for value in list(vars(module).values()):
        if isinstance(value, type) and issubclass(value, unittest.TestCase):
            for name in loader.getTestCaseNames(value):
                test = value(name)
                yield judge.short_id(test), test


def run(tests: list[unittest.TestCase], recorder: judge.Recorder) -> None:
    """Run tests, with the fixtures of their classes."""
    judge.watch()
    judge.running(True)
    for _, same_class in groupby(tests, key=type):
        unittest.TestSuite(same_class).run(recorder)


if __name__ == "__main__":
    main()
