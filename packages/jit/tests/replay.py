"""Every traced program runs on a second batch size and other values, against eager."""

import flambeau
from flambeau import jit
from flambeau.jit import bridge
from flambeau.jit.tree import flatten


def leaves(result):
    found = []
    flatten(result, found)
    return found


def same(one, other):
    """Equal bit for bit; every NaN counts as the same."""
    assert (one.shape, one.dtype) == (other.shape, other.dtype)
    if one.dtype.is_complex:
        one, other = flambeau.view_as_real(one), flambeau.view_as_real(other)
    if not one.dtype.is_floating_point:
        return bool((one == other).all())
    equal = (one == other) & (one.signbit() == other.signbit())
    return bool((equal | (one.isnan() & other.isnan())).all())


def with_rows(tensor, count):
    """Other values in another number of rows."""
    shape = (count, *tensor.shape[1:])
    if tensor.dtype.is_floating_point:
        return flambeau.randn(shape).to(tensor.dtype)
    if tensor.dtype is flambeau.bool:
        return flambeau.rand(shape) < 0.5
    return flambeau.randint(0, int(tensor.max()) + 1, shape).to(tensor.dtype)


def replay(fn, *examples, sizes=(1, 2, 3, 8), static=()):
    """Trace, then compare with eager on the example and on every size; the program.

    ``static`` holds the numbers of the inputs that keep their size.
    """
    program = jit.trace(fn, examples)
    others = [
        [x if i in static or not x.ndim else with_rows(x, n) for i, x in enumerate(examples)]
        for n in sizes
    ]
    for inputs in (list(examples), *others):
        for run in (program, program.reference):
            given = [x.clone() for x in inputs]
            mine = [x.clone() for x in inputs]
            with bridge.same_random_numbers():
                wanted = leaves(fn(*given))
            with bridge.same_random_numbers():
                found = leaves(run(*mine))
            assert len(found) == len(wanted)
            for one, other in zip([*found, *mine], [*wanted, *given], strict=True):
                assert same(one, other)
    return program
