"""Nested structures taken apart and put together."""

import copy
import dataclasses
import pickle
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

from flambeau.core.pytree import register_pytree_node, tree_flatten, tree_map, tree_unflatten
from flambeau.utils import _pytree

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
    with pytest.raises(ValueError, match="already registered"):
        register_pytree_node(Box, lambda b: ([], None), lambda children, _: None)


def test_other_trees_begin_with_the_first_ones_structure():
    pairs = tree_map(lambda a, b: (a, b), [1, {"q": 2}], [[5], {"q": 3}])
    assert pairs == [(1, [5]), {"q": (2, 3)}]
    found = tree_map(lambda a, b: a - b, OrderedDict(a=1, c=2), {"c": 1, "a": 5})
    assert found == {"a": -4, "c": 1}
    for tree in [[1, 2], (1,), [[1, 2]]]:
        with pytest.raises(ValueError, match="first tree"):
            tree_map(lambda a, b: a, [1, [2]], tree)
    with pytest.raises(ValueError, match="the keys"):
        tree_map(lambda a, b: a, {"a": 1}, {"b": 1})


def test_nodes_that_count_as_leaves():
    leaves, spec = tree_flatten([1, (2, 3)], is_leaf=lambda x: isinstance(x, tuple))
    assert leaves == [1, (2, 3)]
    assert (spec.num_leaves, spec.num_nodes, spec.num_children) == (2, 3, 2)
    assert list(_pytree.tree_iter([1, (2, [3])])) == [1, 2, 3]
    assert _pytree.tree_all(bool, [1, [2]]) and not _pytree.tree_any(bool, [0, [None]])
    assert _pytree.tree_map_only(int, lambda x: x + 1, [1, "a", [2]]) == [2, "a", [3]]


def test_structures():
    tree = {"a": [1, (2, None)], "b": deque([4], maxlen=3)}
    spec = tree_flatten(tree)[1]
    assert copy.deepcopy(spec) == spec == pickle.loads(pickle.dumps(spec))
    assert hash(spec) == hash(_pytree.tree_structure(tree))
    assert isinstance(spec.child(0).children()[0], _pytree.LeafSpec)
    assert spec.child(0).children()[0].is_leaf() and not spec.is_leaf()
    assert spec.unflatten(range(4)) == {"a": [0, (1, 2)], "b": deque([3])}
    assert _pytree._broadcast_to_and_flatten({"a": 7, "b": 8}, spec) == [7, 7, 7, 8]
    assert _pytree._broadcast_to_and_flatten([7, 8], spec) is None
    assert _pytree.treespec_tuple([_pytree.treespec_leaf()]) == tree_flatten((1,))[1]


def test_paths():
    tree = {"a": [1, Point(2, 3)]}
    paths = _pytree.tree_leaves_with_path(tree)
    assert [(_pytree.keystr(path), _pytree.key_get(tree, path)) for path, _ in paths] == [
        ("['a'][0]", 1), ("['a'][1].x", 2), ("['a'][1].y", 3)]
    named = _pytree.tree_map_with_path(lambda path, x: len(path) * x, tree)
    assert named == {"a": [2, Point(6, 9)]}


def test_dataclasses():
    @dataclasses.dataclass
    class Pair:
        a: object
        b: object = None

    _pytree.register_dataclass(Pair)
    assert tree_flatten(Pair(1))[0] == [1]
    assert tree_map(lambda x: x + 1, Pair(1, [2])) == Pair(2, [3])
    assert _pytree.keystr(_pytree.tree_leaves_with_path(Pair(1, [2]))[1][0]) == ".b[0]"
    _pytree._deregister_pytree_node(Pair)
    assert len(tree_flatten(Pair(1))[0]) == 1
    _pytree._register_pytree_node(Pair, lambda x: ([x.a], None), lambda x, _: Pair(*x))
    assert tree_map(lambda x: x + 1, Pair(1)) == Pair(2)
    assert _pytree._get_node_type(Pair(1)) in _pytree.SUPPORTED_NODES
    assert _pytree._get_node_type(Point(1, 2)) is namedtuple
