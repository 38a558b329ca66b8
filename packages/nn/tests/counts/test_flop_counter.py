"""Floating point operations as PyTorch counts them."""
import pytest

import flambeau
from flambeau import nn
from flambeau.nn import functional as F
from flambeau.utils.flop_counter import FlopCounterMode, register_flop_formula


def counted(function):
    with FlopCounterMode(display=False) as counter:
        function()
    return counter


# Figures of PyTorch 2.13 on a CPU.
CASES = {
    "linear": (lambda k: k.nn.Linear(4, 5)(k.leaf(3, 4)), 360),
    "rows": (lambda k: k.nn.Linear(4, 5, bias=False)(k.leaf(2, 3, 4)), 720),
    "conv": (lambda k: k.nn.Conv2d(2, 4, 3, padding=1)(k.leaf(1, 2, 5, 5)), 10800),
    "groups": (lambda k: k.nn.Conv2d(4, 4, 3, groups=2)(k.leaf(1, 4, 5, 5)), 5184),
    "conv1d": (lambda k: k.nn.Conv1d(2, 3, 3, stride=2)(k.leaf(1, 2, 9)), 432),
    "transposed": (lambda k: k.nn.ConvTranspose2d(2, 3, 3)(k.leaf(1, 2, 5, 5)), 8100),
    "batches": (lambda k: k.leaf(2, 3, 4) @ k.leaf(2, 4, 5), 720),
    "vector": (lambda k: k.leaf(3, 4) @ k.leaf(4), 0),
    "einsum": (lambda k: k.einsum("bij,bjk->bik", k.leaf(2, 3, 4), k.leaf(2, 4, 5)), 720),
}


class Kit:
    nn, einsum = nn, staticmethod(flambeau.einsum)

    @staticmethod
    def leaf(*shape):
        return flambeau.rand(*shape, requires_grad=True)


@pytest.mark.parametrize("name", CASES)
def test_counts_are_those_of_pytorch(name):
    make, expected = CASES[name]
    assert counted(lambda: make(Kit).sum().backward()).get_total_flops() == expected


def test_attention_counts_as_on_a_gpu_of_pytorch():
    q, k = Kit.leaf(1, 2, 6, 4), Kit.leaf(1, 2, 7, 4)
    counter = counted(lambda: F.scaled_dot_product_attention(q, k, k).sum().backward())
    product = 2 * 2 * 6 * 7 * 4
    assert counter.get_total_flops() == 2 * product + 5 * product


def test_modules_and_operators():
    model = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2))
    counter = counted(lambda: model(Kit.leaf(3, 4)).sum().backward())
    found = {name: {str(op): n for op, n in counts.items()}
             for name, counts in counter.get_flop_counts().items()}
    whole = {"aten.addmm": 180, "aten.mm": 360}
    assert found == {"Global": whole, "Sequential": whole,
                     "Sequential.0": {"aten.addmm": 120, "aten.mm": 240},
                     "Sequential.2": {"aten.addmm": 60, "aten.mm": 120}}
    assert "Sequential.0" in counter.get_table() and "540" in counter.get_table(0)


def test_own_operators_count_by_their_formula():
    @flambeau.library.custom_op("flops::twice", mutates_args=())
    def twice(x: flambeau.Tensor) -> flambeau.Tensor:
        return x * 2

    @register_flop_formula(flambeau.ops.flops.twice)
    def formula(shape, *args, out_shape=None, **kwargs):
        return 10 * shape[0]

    assert counted(lambda: twice(flambeau.ones(3))).get_total_flops() == 30
