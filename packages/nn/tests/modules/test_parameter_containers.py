"""ParameterDict and ParameterList, and the arithmetic of Sequential."""

import copy
import pickle
from collections import OrderedDict

import pytest

import flambeau
from flambeau import nn


def sides():
    return nn.ParameterDict(
        [("right", flambeau.ones(2, 3)), ("left", nn.Parameter(flambeau.ones(1)))]
    )


def test_a_dict_of_parameters():
    net = nn.Module()
    net.sides = sides()
    assert [n for n, _ in net.named_parameters()] == ["sides.right", "sides.left"]
    assert list(net.state_dict()) == ["sides.right", "sides.left"]
    assert isinstance(net.sides["right"], nn.Parameter)
    assert "left" in net.sides
    assert "top" not in net.sides
    assert len(net.sides) == 2
    assert list(reversed(net.sides)) == ["left", "right"]
    net.sides["note"] = "no tensor"
    assert list(net.sides.keys()) == ["right", "left", "note"]
    assert list(net.sides.values())[2] == "no tensor"
    assert len(list(net.parameters())) == 2


def test_orders():
    plain = nn.ParameterDict({"b": flambeau.ones(1), "a": flambeau.ones(1)})
    ordered = nn.ParameterDict(OrderedDict(b=flambeau.ones(1), a=flambeau.ones(1)))
    assert (list(plain), list(ordered)) == (["a", "b"], ["b", "a"])
    assert list(nn.ParameterDict(ordered)) == ["b", "a"]


def test_taking_out():
    one = sides()
    left = one["left"]
    assert one.popitem() == ("left", left)
    assert one.pop("right").shape == (2, 3)
    with pytest.raises(KeyError, match="empty"):
        one.popitem()
    one = sides()
    del one["left"]
    assert [n for n, _ in one.named_parameters()] == ["right"]
    one.clear()
    assert len(one) == 0
    assert list(one.parameters()) == []
    for call in (lambda: one["left"], lambda: one.pop("left"), lambda: one.__delitem__("left")):
        with pytest.raises(KeyError, match="left"):
            call()


def test_merging():
    one, other = sides(), nn.ParameterDict({"left": flambeau.zeros(5), "top": flambeau.zeros(1)})
    merged = one | other
    assert list(merged) == ["right", "left", "top"]
    assert merged["left"].shape == (5,)
    assert one["left"].shape == (1,)
    one |= other
    assert one["top"] is other["top"]
    assert list({"low": flambeau.ones(1)} | other) == ["low", "left", "top"]
    assert one.get("nothing") is None
    assert one.get("nothing", 3) == 3
    assert one.setdefault("left", flambeau.ones(9)).shape == (5,)
    assert one.setdefault("new", flambeau.ones(9)).shape == (9,)
    assert one.copy()["new"] is one["new"]
    assert list(one.fromkeys(["x", "y"])) == ["x", "y"]


def test_copies():
    one = sides()
    for twin in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert list(twin) == list(one)
        assert twin["left"] is not one["left"]
        assert flambeau.equal(twin["left"], one["left"])


def test_errors():
    with pytest.raises(TypeError, match=r"strings, not int \(3\)"):
        sides()[3] = flambeau.ones(1)
    with pytest.raises(KeyError, match="take another key"):
        sides()["items"] = flambeau.ones(1)
    with pytest.raises(TypeError, match="pairs, not int"):
        nn.ParameterDict(5)
    with pytest.raises(TypeError, match="element 0 .* int"):
        nn.ParameterDict([5])
    with pytest.raises(ValueError, match="element 0 .* 3 parts"):
        nn.ParameterDict([("a", "b", "c")])
    for holder in (sides(), nn.ParameterList()):
        with pytest.raises(RuntimeError, match="cannot be called"):
            holder(flambeau.ones(1))
    with pytest.raises(TypeError, match="append"):
        nn.ParameterList().extend(flambeau.ones(2))


def test_a_list_of_parameters():
    values = nn.ParameterList([flambeau.ones(2), "text", nn.Parameter(flambeau.ones(1))])
    assert [n for n, _ in values.named_parameters()] == ["0", "2"]
    values += [flambeau.ones(4)]
    values[0] = flambeau.zeros(3)
    assert values[0].shape == (3,)
    assert values[-1].shape == (4,)
    assert len(values[1:3]) == 2
    with pytest.raises(IndexError, match="4 parameters"):
        values[4]


@pytest.mark.oracle
def test_printing():
    torch = pytest.importorskip("torch")

    def show(package):
        values = [package.ones(2, 3), "text", package.nn.Parameter(package.ones(1))]
        listed = package.nn.ParameterList(values)
        named = package.nn.ParameterDict({"b": package.ones(()), "a": 5})
        text = (repr(listed) + repr(named)).replace(f"{package.__name__}.", "")
        return text.replace("FloatTensor", "float32")

    assert show(flambeau) == show(torch)


def test_arithmetic_of_sequential():
    net = nn.Sequential(nn.ReLU(), nn.Tanh())
    assert [type(m).__name__ for m in net * 2] == ["ReLU", "Tanh", "ReLU", "Tanh"]
    assert (2 * net)[2] is net[0]
    same = net
    same *= 3
    assert same is net
    assert list(net.state_dict()) == []
    assert len(net) == 6
    same += nn.Sequential(nn.Sigmoid())
    assert len(net) == 7
    assert [type(m).__name__ for m in net.pop(slice(5, None))] == ["Tanh", "Sigmoid"]
    assert len(net) == 5
    for call, error in (
        (lambda: net * 0, ValueError),
        (lambda: net * 1.5, TypeError),
        (lambda: net + [nn.ReLU()], ValueError),
    ):
        with pytest.raises(error, match="Sequential"):
            call()
