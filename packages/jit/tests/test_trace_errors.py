"""What cannot be traced raises, with file and line and what to write instead."""

import re
import sys

import pytest

import flambeau
from flambeau import jit

X = flambeau.randn(4, 6)


def line_of(fn, offset=1):
    return f"{fn.__code__.co_filename}:{fn.__code__.co_firstlineno + offset}: "


def refused(fn, *words, example=X, offset=1, **options):
    with pytest.raises(jit.TraceError) as error:
        jit.trace(fn, example, **options)
    text = str(error.value)
    if offset is not None:
        assert text.startswith(line_of(fn, offset)), text
    for word in words:
        assert word in text, text


def reads_bool(x):
    return x if x.sum() > 0 else -x


def reads_item(x):
    return x * x.max().item()


def reads_int(x):
    return x[: int(x.argmax())]


def reads_list(x):
    return x + sum(x.flatten().tolist())


def reads_array(x):
    return flambeau.from_numpy(x.numpy() + 1)


def reads_text(x):
    return x if "inf" in str(x) else x + 1


def reads_index(x):
    return list(range(10))[x.argmax()]


@pytest.mark.parametrize(("fn", "what"), [
    (reads_bool, "bool()"), (reads_item, "item()"), (reads_int, "int()"),
    (reads_list, "tolist()"), (reads_array, "numpy()"), (reads_index, "index"),
])
def test_reading_values(fn, what):
    refused(fn, what, "where(condition, a, b)", "allow_reads=True")


def test_printing_reads_values():
    refused(reads_text, "reads a value")


def mask_index(x):
    return x[x > 0]


def count_nonzero(x):
    return x.nonzero()


def test_shapes_that_depend_on_values():
    refused(mask_index, "masked_select()", "where()")
    refused(count_nonzero, "nonzero()")


def scaled(x):
    return x * (0.3 / x.shape[0])


def doubled(x):
    return x.new_zeros(2 ** x.shape[0])


def halved(x):
    return x[: x.shape[0] // 2]


def powered(x):
    return x + 2.0 ** x.shape[0]


@pytest.mark.parametrize(("fn", "argument"), [
    (scaled, "'other' of mul()"), (doubled, "'size' of"), (halved, "'end' of slice()"),
    (powered, "'other' of add()"),
])
def test_numbers_that_are_no_multiples_of_sizes(fn, argument):
    """They fix the size: other sizes are refused with the line; named ones cannot be fixed."""
    refused(fn, argument, "y / x.shape[0]", "dynamic=False", dynamic={0: {0: "N"}})
    program = jit.trace(fn, X)
    assert flambeau.equal(program(X), fn(X))
    with pytest.raises(jit.ProgramError, match="sizes are fixed") as error:
        program(flambeau.randn(5, 6))
    assert line_of(fn) in str(error.value)
    assert argument in program.explain()


def branches(x):
    if x.shape[0] > 5:
        return x.exp()
    return x.sin()


def does_more(x):
    for _ in range(x.shape[0]):
        x = x + 1
    return x


def returns_sizes(x):
    return x, x.shape[0]


def short(x):
    return x.topk(min(x.shape[0], 8), 0)[0] if x.shape[0] < 100 else x


def split(x):
    return [part * 2 for part in x.split(8)]


def outside(program, rows, *words):
    """A refusal that names the line and the sizes."""
    with pytest.raises(jit.ProgramError) as error:
        program(flambeau.randn(rows, 6))
    for word in words:
        assert word in str(error.value), str(error.value)


def test_sizes_that_decide_are_guards():
    program = jit.trace(branches, X, check=True)
    for rows in (1, 3, 5):
        x = flambeau.randn(rows, 6)
        assert flambeau.equal(program(x), x.sin())
    outside(program, 6, "for N from 1 to 5", line_of(branches, 3), "exp() at", "retrace=True")
    program = jit.trace(short, flambeau.randn(32, 6), check=True)
    outside(program, 7, "for N from 8 to 99", line_of(short), "argument 'k' of topk()")
    outside(program, 100, "for N from 8 to 99", "Python did more")
    assert "N may be any size from 8 to 99" in program.explain()
    program = jit.trace(split, flambeau.randn(32, 6), check=True)
    assert [tuple(part.shape) for part in program(flambeau.randn(27, 6))] == 3 * [(8, 6)] + [(3, 6)]
    outside(program, 24, "for N from 25 to 32", "is not built the same")
    outside(jit.trace(does_more, X), 5, "sizes are fixed", "Python did more for some sizes")
    outside(jit.trace(returns_sizes, X), 5, "numbers that do not depend on sizes")
    refused(does_more, "Python did more for some sizes", offset=2, dynamic={0: {0: "N"}})


@pytest.mark.parametrize(("decides", "first", "last"), [
    (lambda n: n == 37, 1, 36),
    (lambda n: 2 * n + 1 > 200_001, 1, 99_998),
    (lambda n: n % 8 == 7, 1, 6),
    (lambda n: n // 8 == 5, 1, 23),
    (lambda n: n / 2 == 9, 1, 17),
    (lambda n: int(n) == 18, 1, 17),
    (lambda n: n in (1, 2, 50), 3, 49),
    (lambda n: (n, 6) == (12, 6), 1, 11),
    (lambda n: n * n > 200, 1, 14),
])
def test_what_sizes_are_compared_with_is_tried(decides, first, last):
    """Also where no size nearby shows it: equality, remainders, far bounds."""
    def fn(x):
        return x.exp() if decides(x.shape[0]) else x.sin()

    program = jit.trace(fn, X)
    for rows in (1, 2, 3, 4, 6, 7, 11, 12, 14, 15, 18, 36, 37, 45, 49, 50):
        x = flambeau.randn(rows, 6)
        if first <= rows <= last:
            assert flambeau.equal(program(x), fn(x)), rows
        else:
            outside(program, rows, f"for N from {first}")
    assert f"N may be any size from {first} to {last}" in program.explain()


def test_len_may_decide_as_well():
    def fn(x):
        return x.exp() if len(x) == 18 or x.numel() == 9 * 6 else x.sin()

    outside(jit.trace(fn, X), 18, "for N from 1 to 8")
    program = jit.trace(lambda x: x + len(x), X)
    outside(program, 99, "for N from 1 to 23", "only sizes that were tried are known")


def test_numel_is_a_size_that_is_compared():
    program = jit.trace(lambda x: x.exp() if x.numel() < 600 else x.sin(), X)
    outside(program, 100, "for N from 1 to 99")
    assert "N may be any size from 1 to 99" in program.explain()


def test_retrace_records_again(tmp_path):
    program = jit.trace(short, flambeau.randn(32, 6), retrace=True)
    for rows in (32, 4, 200, 5, 300, 50):
        x = flambeau.randn(rows, 6)
        assert flambeau.equal(program(x), short(x))
    assert "2 more programs were recorded" in program.explain()
    x = flambeau.randn(32, 6, dtype=flambeau.float64)
    assert flambeau.equal(program(x), short(x))


def test_guards_are_saved(tmp_path):
    jit.trace(short, flambeau.randn(32, 6)).save(tmp_path / "p")
    outside(jit.load(tmp_path / "p"), 7, "for N from 8 to 99", "argument 'k' of topk()")


COUNTER = [0]


def counts(x):
    COUNTER[0] += 1
    return x + COUNTER[0]


def made_from_numbers(x):
    return x.sum(0) * flambeau.tensor([float(x.shape[0])])


def test_numbers_that_change_from_call_to_call():
    refused(counts, "'other' of add()", offset=2)
    outside(jit.trace(made_from_numbers, X), 5, "made from Python numbers differs",
            "arange(x.shape[0])")


def test_constants_made_from_numbers_are_fine():
    program = jit.trace(lambda x: x + flambeau.tensor([1.0, 2.0]), flambeau.zeros(3, 2))
    assert program(flambeau.zeros(1, 2)).tolist() == [[1.0, 2.0]]


KEPT = []


def keeps(x):
    KEPT.append(x * 2)
    return x + 1


def test_tensors_kept_outside():
    refused(keeps, "still held after the call", "return it instead")
    KEPT.clear()


def gives_an_object(x):
    return {"x": x, "kind": object()}


def test_results_that_cannot_go_out():
    refused(gives_an_object, "object cannot go in or out", offset=0)


def fails_for_odd_batches(x):
    return x.view(x.shape[0] // 2, 12)


def test_the_functions_own_error_for_another_size_fixes_it():
    program = jit.trace(fails_for_odd_batches, X)
    outside(program, 5, "sizes are fixed because of", "view")
    with pytest.raises(RuntimeError, match="view"):
        jit.trace(fails_for_odd_batches, X, dynamic={0: {0: "N"}})


VIEWED = flambeau.zeros(4, 6)
FIRST_ROW = VIEWED[0]


def writes_a_shared_capture(x):
    y = VIEWED + x
    FIRST_ROW.add_(1)
    return y, VIEWED * 1


def test_captures_that_share_memory():
    """They share it in the program."""
    program = jit.trace(writes_a_shared_capture, X, dynamic=False)
    assert VIEWED.sum().item() == 0
    _, after = program(X)
    assert after[0].tolist() == [1.0] * 6
    assert VIEWED[0].tolist() == [1.0] * 6


def test_allow_reads_needs_fixed_sizes():
    refused(reads_bool, "dynamic=False", offset=None, allow_reads=True)


@pytest.mark.parametrize(("dynamic", "words"), [
    ({3: {0: "N"}}, "names input 3"),
    ({0: {2: "N"}}, "names dimension 2"),
    ({0: {0: "N", 1: "N"}}, "two sizes N"),
])
def test_wrong_names_of_sizes(dynamic, words):
    refused(lambda x: x, words, offset=None, dynamic=dynamic)


def test_errors_of_operators_keep_their_location():
    """A wrong shape inside the function is the operator's own error, not one of tracing."""
    with pytest.raises(RuntimeError, match="add") as error:
        jit.trace(lambda x: x + flambeau.ones(5), X)
    assert any(entry.path.name == "test_trace_errors.py" for entry in error.traceback)


@pytest.mark.parametrize(("fn", "words"), [
    (lambda x: x.long().add_(0.5), "can't be cast"),
    (lambda x: x[0].add_(x), "doesn't match the broadcast shape"),
    (lambda x: x[:1].expand(4, 6).add_(1), "single memory location"),
])
def test_writes_are_checked_as_in_eager(fn, words):
    with pytest.raises(RuntimeError, match=words):
        fn(X.clone())
    with pytest.raises(RuntimeError, match=words):
        jit.trace(fn, X)


def test_after_an_error_tensors_work_as_before():
    with pytest.raises(jit.TraceError):
        jit.trace(reads_bool, X)
    assert (X * 2).sum().item() == pytest.approx(2 * X.sum().item())
    assert "jit" in sys.modules["flambeau.jit"].__name__
    assert re.match("tensor", repr(X))
