"""Default values in schemas of PyTorch's operators: lists where a number stands for several."""
import pytest

from flambeau.library import aten
from flambeau.library.schemas import parse_schema


def test_a_number_stands_for_a_list():
    schema = parse_schema("f(Tensor x, int[2] size, int[2] stride=[], int[3] padding=0) -> Tensor")
    assert [a.default_value for a in schema.arguments] == [None, None, [], [0, 0, 0]]
    assert str(schema) == "f(Tensor x, int[2] size, int[2] stride=[], int[3] padding=0) -> Tensor"
    assert str(parse_schema("f(int[2] x=[0, 1], int[] y=[2]) -> ()")) == \
        "f(int[2] x=[0, 1], int[] y=[2]) -> ()"


@pytest.mark.oracle
def test_defaults_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    compared = 0
    for base, forms in aten._signatures().items():
        for form in forms:
            other = getattr(getattr(torch.ops.aten, base, None), form or "default", None)
            if other is not None and form != "sublist":     # ``einsum``, of any number of arguments
                own = [a.default_value for a in aten.schema(base, form).arguments]
                assert own == [a.default_value for a in other._schema.arguments], (base, form)
                compared += 1
    assert compared > 1000
