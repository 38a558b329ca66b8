"""``inspect.signature`` reads the parameters of operators, which are no Python functions."""

from inspect import Parameter, signature

import flambeau
from flambeau.core import ops


def test_names_defaults_and_keyword_only_parameters():
    found = signature(flambeau.add).parameters
    assert list(found) == ["self", "other", "alpha"]
    assert found["other"].default is Parameter.empty
    assert found["alpha"].default == 1
    assert found["alpha"].kind is Parameter.KEYWORD_ONLY


def test_every_operator_has_a_signature():
    operators = [getattr(ops, name) for name in dir(ops)]
    operators = [o for o in operators if type(o) is type(flambeau.add)]
    assert len(operators) > 300
    for operator in operators:
        shown = operator.__text_signature__
        assert all(name in shown for name in signature(operator).parameters), operator
    assert signature(flambeau.sum).bind(1, dim=2, keepdim=True).arguments["dim"] == 2
