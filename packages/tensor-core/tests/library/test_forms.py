"""Calls of kernels under PyTorch's names compute what the kernels do, for all samples."""
import numpy as np
import pytest

import flambeau
from flambeau.core import _core
from flambeau.core.opdefs import OPDEFS
from flambeau.library.aten_calls import aten_call
from flambeau.testing.samples import samples

#: Their elements are whatever was in memory.
UNSET = ("empty", "empty_like")


def _tensor(value):
    if isinstance(value, np.ndarray):
        return flambeau.from_numpy(np.ascontiguousarray(value).reshape(value.shape))
    return [_tensor(v) for v in value] if isinstance(value, (list, tuple)) else value


def _calls(opdef):
    for dtype in ("float32", "int64", "bool", "complex64"):
        for args, named in list(samples(opdef, dtype))[:5]:
            rest = [named.get(p.name, None if p.default is ... else p.default)
                    for p in opdef.params[len(args):]]
            yield [*map(_tensor, args), *map(_tensor, rest)]


class Again:
    """Runs each kernel a second time, as the form that it has in PyTorch."""

    def __init__(self):
        self.inside, self.compared = False, 0

    def __call__(self, op, args, outs):
        if self.inside or outs is not None:
            return _core.call(op, args, outs)
        self.inside = True
        try:
            name, form, given, named = aten_call(op, args, outs)
            state = flambeau.get_rng_state()
            expected = _core.call(op, args, outs)
            if form and name not in UNSET:
                flambeau.set_rng_state(state)
                found = getattr(getattr(flambeau.ops.aten, name), form)(*given, **named)
                self.compare(found, expected, f"{op.key} as aten.{name}.{form}")
            return expected
        finally:
            self.inside = False

    def compare(self, found, expected, what):
        found = list(found) if isinstance(found, (list, tuple)) else [found]
        expected = list(expected) if isinstance(expected, (list, tuple)) else [expected]
        assert len(found) == len(expected), what
        for one, other in zip(found, expected, strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape), what
            flambeau.testing.assert_close(one, other, equal_nan=True, msg=what)
            self.compared += 1


@pytest.mark.filterwarnings("ignore:.* is deprecated")
@pytest.mark.parametrize("opdef", OPDEFS, ids=lambda opdef: opdef.key)
def test_a_form_computes_what_its_kernel_does(opdef):
    again = Again()
    for args in _calls(opdef):
        try:
            _core.call(opdef.key, args)
        except (TypeError, ValueError, RuntimeError, NotImplementedError):
            continue
        with _core.interpose("trace", again):
            _core.call(opdef.key, args)


def test_most_kernels_have_a_form():
    again = Again()
    with _core.interpose("trace", again):
        x = flambeau.rand(3, 4)
        assert ((x @ x.T).softmax(0) + x[:, 1]).shape == (3, 3)
    assert again.compared >= 4
