"""Where there is nothing to write to ``out=``, it is refused rather than left as it was."""
import pytest

import flambeau as fl

VIEWS = {"t": (), "transpose": (0, 1), "permute": ((1, 0),), "unsqueeze": (0,), "select": (0, 0),
         "narrow": (0, 0, 1), "squeeze": (), "diagonal": (), "swapaxes": (0, 1),
         "unfold": (0, 1, 1)}


@pytest.mark.parametrize("name", VIEWS)
def test_views_have_no_out(name):
    x, function = fl.ones(2, 3), getattr(fl, name, None) or getattr(fl.Tensor, name)
    shape = function(x, *VIEWS[name]).shape
    with pytest.raises(TypeError, match="unexpected keyword argument 'out'"):
        function(x, *VIEWS[name], out=fl.zeros(shape))
    assert function(x, *VIEWS[name], **({"out": None} if hasattr(fl, name) else {})).shape == shape


@pytest.mark.parametrize("call", [lambda x, out: x.mul_(2.0, out=out),
                                  lambda x, out: fl.sin_(x, out=out)])
def test_neither_have_operators_that_write_to_their_input(call):
    x, out = fl.ones(2), fl.zeros(2)
    with pytest.raises(TypeError, match="_.. got an unexpected keyword argument 'out'"):
        call(x, out)
    assert x.tolist() == [1, 1] and out.tolist() == [0, 0]


def test_what_only_may_be_a_view_writes():
    out = fl.zeros(6)
    assert fl.flatten(fl.ones(2, 3), out=out) is out and out.sum() == 6
