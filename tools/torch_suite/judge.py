"""How the child process watches the tests: results, time limits, the words of errors."""

from __future__ import annotations

import faulthandler
import functools
import json
import re
import signal
import sys
import time
import traceback
import unittest
from typing import Any, TextIO

from .stubs import Clock, Unsupported

SHOWN_LINES = 40
WAITING = 2  # times its seconds of processor time may a test take on the clock
GRACE_S = 20  # after which a test that does not return to Python ends its process


class Timeout(BaseException):
    """A test took longer than it may; not an Exception, so that no test catches it."""


class Words:
    """How many errors and warnings of the running test were of the kind asked for only."""

    seen: list[str] = []


class Recorder(unittest.TestResult):
    """Writes a line when a test starts and another when it ends."""

    def __init__(self, out: TextIO, limit_s: float) -> None:
        super().__init__()
        self.out, self.limit_s = out, limit_s
        self.record: dict[str, Any] = {}

    def write(self, **record: Any) -> None:
        print(json.dumps(record), file=self.out, flush=True)

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self.record = {"id": short_id(test), "outcome": "passed"}
        self.write(start=self.record["id"])
        Words.seen, self.began = [], time.monotonic()
        signal.setitimer(signal.ITIMER_PROF, self.limit_s)
        signal.setitimer(signal.ITIMER_REAL, WAITING * self.limit_s)
        faulthandler.dump_traceback_later(WAITING * self.limit_s + GRACE_S, exit=True)

    def stopTest(self, test: unittest.TestCase) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()
        self.record["seconds"] = round(time.monotonic() - self.began, 3)
        if Words.seen:
            self.record["words"] = Words.seen
        self.write(**self.record)
        super().stopTest(test)

    def fail(self, test: Any, error: Any) -> None:
        value = root(error[1])
        text = "".join(traceback.format_exception(value)).splitlines()
        found = {
            "outcome": "failed",
            "type": type(value).__name__,
            "message": str(value)[:2000],
            "line": asked(value, type(test).__module__),
            "in_test": raised_in(value, type(test).__module__),
            "trace": "\n".join(text[-SHOWN_LINES:]),
        }
        if isinstance(test, unittest.TestCase):
            self.record.update(found)
        else:  # setUpClass or setUpModule: the tests behind it do not start
            self.write(fixture=test.id(), **found)

    def addError(self, test: Any, err: Any) -> None:
        self.fail(test, err)

    def addFailure(self, test: Any, err: Any) -> None:
        self.fail(test, err)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None and self.record["outcome"] == "passed":
            self.fail(test, err)

    def addSkip(self, test: Any, reason: str) -> None:
        if isinstance(test, unittest.TestCase):
            self.record.update(outcome="skipped", message=reason)
        else:
            self.write(fixture=test.id(), outcome="skipped", type="SkipTest", message=reason)

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        """PyTorch expects of itself to fail here: nothing is asked of Flambeau."""

    def addUnexpectedSuccess(self, test: Any) -> None:
        """Better than PyTorch expects of itself."""


def root(error: BaseException) -> BaseException:
    """Return the error that the comparison of tensors met and wrapped, else the error itself."""
    wrapped = error.__cause__ or error.__context__
    return wrapped if wrapped is not None and "unexpected exception" in str(error) else error


def asked(error: BaseException, module: str) -> str:
    """Return the last line of the test file that the error went through, with its number."""
    file = getattr(sys.modules.get(module), "__file__", None)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    return f"{frames[-1].lineno}: {frames[-1].line}" if frames else ""


def raised_in(error: BaseException, module: str) -> bool:
    """Say whether the test file itself raised, not what it called."""
    frames = traceback.extract_tb(error.__traceback__)
    file = getattr(sys.modules.get(module), "__file__", None)
    return bool(frames) and frames[-1].filename == file


def short_id(test: unittest.TestCase) -> str:
    """Return `TestClass.test_method`, the same in each process: without addresses."""
    kind = f"{type(test).__name__}."
    return kind + re.sub(r" at 0x[0-9a-f]+", "", test.id().partition(kind)[2])


def watch() -> None:
    """Install the time limit."""

    def stop(signum: int, frame: object) -> None:
        raise Timeout("the test took longer than it may")

    signal.signal(signal.SIGALRM, stop)
    signal.signal(signal.SIGPROF, stop)


def accept_other_words() -> None:
    """Let an error or warning of the kind asked for pass in other words, and take note of it.

    Absent names stay failures even where a test expects an AttributeError.
    """
    case: Any = unittest.case
    for context in (case._AssertRaisesContext, case._AssertWarnsContext):
        context.__exit__ = _tolerant(context.__exit__)


def read_names_as_pytorch(case: Any) -> None:
    """Let texts that a test compares say `flambeau.float32` for `torch.float32`."""
    for name in ("assertEqual", "assertExpectedInline", "assertIn", "assertRegex"):
        setattr(case, name, _renaming(getattr(case, name)))


def _renaming(assertion: Any) -> Any:
    @functools.wraps(assertion)
    def renamed(self: Any, *texts: Any, **kwargs: Any) -> Any:
        inline = assertion.__name__ == "assertExpectedInline"
        if inline:
            texts = (str(texts[0]), *texts[1:])
        texts = tuple(text.replace("flambeau.", "torch.") if type(text) is str else text
                      for text in texts)
        if inline:
            kwargs["skip"] = kwargs.get("skip", 0) + 1  # frames up to the test
        return assertion(self, *texts, **kwargs)

    return renamed


def _tolerant(exit: Any) -> Any:
    def __exit__(self: Any, kind: Any, value: Any, trace: Any) -> Any:
        if isinstance(value, Unsupported) or "is not part of Flambeau" in str(value):
            return False
        try:
            return exit(self, kind, value, trace)
        except self.test_case.failureException as failure:
            if '" does not match "' not in str(failure):
                raise
            Words.seen.append(str(failure)[:500])
            return True

    return __exit__


def running(on: bool) -> None:
    """Say that tests run from here on, or that files are imported."""
    Clock.running = on
