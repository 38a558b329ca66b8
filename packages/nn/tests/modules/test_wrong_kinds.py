"""Arguments of the wrong kind: errors name the call and the argument."""

import pytest

import flambeau
from flambeau import nn
from flambeau.nn import functional as F
from flambeau.nn.utils import clip_grad_norm_, clip_grad_value_, get_total_norm
from flambeau.utils.data import DataLoader, IterableDataset

KINDS = [
    (lambda: nn.LayerNorm("a"), r"LayerNorm\(\): normalized_shape must be an int, not str"),
    (lambda: nn.LayerNorm((2, "a")), r"LayerNorm\(\): normalized_shape must be an int, not str"),
    (lambda: nn.RMSNorm(2.5), r"RMSNorm\(\): normalized_shape must be an int, not float"),
    (lambda: nn.GroupNorm("a", 2), r"GroupNorm\(\): num_groups must be an int, not str"),
    (lambda: F.gumbel_softmax("a"), r"gumbel_softmax\(\): argument 'logits' must be a Tensor"),
    (lambda: nn.init.normal_("a"), r"nn.init.normal_\(\): argument 'tensor' must be a Tensor"),
    (lambda: nn.init.zeros_(3), r"nn.init.zeros_\(\): argument 'tensor' must be a Tensor, not int"),
    (lambda: nn.init.xavier_uniform_([1]), r"nn.init.xavier_uniform_\(\): argument 'tensor'"),
    (lambda: clip_grad_norm_(3, 1.0), r"clip_grad_norm_\(\): argument 'parameters' .*, not int"),
    (lambda: clip_grad_norm_([None], 1.0), r"clip_grad_norm_\(\): .*, not NoneType"),
    (lambda: clip_grad_value_("a", 1.0), r"clip_grad_value_\(\): .*, not str"),
    (lambda: get_total_norm(3), r"get_total_norm\(\): argument 'tensors' .*, not int"),
    (lambda: DataLoader(3), r"DataLoader\(\): argument 'dataset' must have __getitem__ .*; int is"),
]
NEGATIVE = [
    (lambda: nn.Linear(-1, 2), r"Linear\(\): in_features is -1; it must be 0 or more"),
    (lambda: nn.Linear(2, -1), r"Linear\(\): out_features is -1"),
    (lambda: nn.Conv2d(2, -3, 1), r"Conv2d\(\): out_channels is -3"),
    (lambda: nn.Embedding(-1, 2), r"Embedding\(\): num_embeddings is -1"),
    (lambda: nn.LayerNorm(-1), r"LayerNorm\(\): normalized_shape is -1"),
]


@pytest.mark.parametrize(("call", "text"), KINDS, ids=[text for _, text in KINDS])
def test_wrong_kinds_are_named(call, text):
    with pytest.raises(TypeError, match=text):
        call()


@pytest.mark.parametrize(("call", "text"), NEGATIVE, ids=[text for _, text in NEGATIVE])
@pytest.mark.parametrize("kind", [RuntimeError, ValueError])
def test_negative_sizes_are_named(call, text, kind):
    with pytest.raises(kind, match=text):
        call()


def test_what_is_of_the_right_kind_is_taken():
    assert nn.LayerNorm([2, 3]).normalized_shape == (2, 3)
    assert nn.LayerNorm(flambeau.Size([4])).normalized_shape == (4,)
    assert nn.Linear(0, 2).weight.shape == (2, 0)
    assert clip_grad_norm_([], 1.0).item() == 0.0

    class Numbers(IterableDataset):
        def __iter__(self):
            return iter(range(2))

    assert [int(each) for each in DataLoader(Numbers(), batch_size=None)] == [0, 1]
