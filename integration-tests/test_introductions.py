"""What introductions to PyTorch show, with ``torch`` replaced in the import lines.

Every test holds a program as a reader would type it, and the output PyTorch prints for it. The
programs are run as they stand, each in a namespace of its own.
"""

import contextlib
import io
import textwrap

import pytest
from introductions import control_flow, gradients, networks, tensors
from introductions.failures import FAILURES

PROGRAMS = {
    **tensors.PROGRAMS,
    **control_flow.PROGRAMS,
    **gradients.PROGRAMS,
    **networks.PROGRAMS,
}


def run(program):
    """What a program prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(textwrap.dedent(program), "introduction", "exec"), {"__name__": "program"})
    return printed.getvalue()


@pytest.mark.parametrize(("program", "expected"), PROGRAMS.values(), ids=PROGRAMS)
def test_prints_what_pytorch_prints(program, expected):
    expected = textwrap.dedent(expected).lstrip("\n").replace("torch.float64", "flambeau.float64")
    assert run(program) == expected


@pytest.mark.oracle
@pytest.mark.parametrize(("program", "expected"), PROGRAMS.values(), ids=PROGRAMS)
def test_pytorch_prints_that(program, expected):
    pytest.importorskip("torch")
    program = program.replace("import flambeau as torch", "import torch")
    assert run(program.replace("flambeau", "torch")) == textwrap.dedent(expected).lstrip("\n")


@pytest.mark.parametrize(("program", "words"), FAILURES.values(), ids=FAILURES)
def test_fails_with_a_clear_error(program, words):
    with pytest.raises(RuntimeError) as error:
        run(program)
    for word in words:
        assert word in str(error.value)


@pytest.mark.oracle
@pytest.mark.parametrize(("program", "words"), FAILURES.values(), ids=FAILURES)
def test_pytorch_fails_likewise(program, words):
    pytest.importorskip("torch")
    with pytest.raises(RuntimeError) as error:
        run(program.replace("import flambeau as torch", "import torch"))
    for word in words:
        assert word in str(error.value)
