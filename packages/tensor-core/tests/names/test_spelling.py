"""The name that was probably meant."""
from flambeau.core.spelling import hint, nearest


def test_the_most_similar_name_is_found():
    assert nearest("layer.weigth", ["layer.bias", "layer.weight"]) == "layer.weight"
    assert hint("weigth", iter(["bias", "weight"])) == "; did you mean 'weight'?"


def test_nothing_is_suggested_where_nothing_is_similar():
    assert nearest("weight", ["bias"]) is None
    assert hint("weight", ["bias"]) == hint("weight", []) == ""
