"""Nested structures taken apart and put together."""

from collections import OrderedDict, defaultdict, namedtuple

import pytest

from flambeau.core.pytree import register_pytree_node, tree_flatten, tree_map, tree_unflatten

Point = namedtuple("Point", "x y")


@pytest.mark.parametrize("tree", [
    1, None, [], (), {}, [1, (2, None), {"a": [3]}], Point(1, [2, 3]),
    OrderedDict([("b", 1), ("a", (2,))]), defaultdict(list, {"k": [1]})])
def test_round_trip(tree):
    leaves, spec = tree_flatten(tree)
    again = tree_unflatten(leaves, spec)
    assert again == tree
    assert type(again) is type(tree)


def test_order_of_leaves():
    assert tree_flatten({"b": 1, "a": [2, (3,)], "c": Point(4, 5)})[0] == [1, 2, 3, 4, 5]
    assert tree_flatten(None)[0] == [None]


def test_map_keeps_the_structure():
    assert tree_map(lambda x: x * 2, Point(1, {"a": [2]})) == Point(2, {"a": [4]})


def test_structures_differ():
    assert tree_flatten([1, 2])[1] != tree_flatten((1, 2))[1]
    assert tree_flatten({"a": 1})[1] != tree_flatten({"b": 1})[1]


@pytest.mark.parametrize(("leaves", "word"), [([1], "fewer"), ([1, 2, 3], "more")])
def test_wrong_count(leaves, word):
    with pytest.raises(ValueError, match=word):
        tree_unflatten(leaves, tree_flatten((1, [2]))[1])


def test_registered_class():
    class Box:
        def __init__(self, inside):
            self.inside = inside
    register_pytree_node(Box, lambda b: ([b.inside], None), lambda children, _: Box(*children),
                         serialized_type_name="Box")
    assert tree_map(lambda x: x + 1, Box([1])).inside == [2]
    with pytest.raises(ValueError, match="registered already"):
        register_pytree_node(Box, lambda b: ([], None), lambda children, _: None)
