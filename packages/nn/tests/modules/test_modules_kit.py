"""The kit finds what it is there to find."""

import pytest
from modules_kit import Given, against_torch, check_invariants, row

import flambeau
from flambeau import nn
from flambeau.autograd import Function

ROWS = [
    row("Linear", 3, 2, inputs=[(4, 3), (3,)]),
    row("BatchNorm1d", 3, inputs=[(4, 3), (2, 3, 5)]),
    row("MaxPool2d", 2, inputs=[(2, 3, 4, 4), (3, 4, 4)], return_indices=True),
    row("Dropout", 0.5, inputs=[(3, 4)], train=False),
    row("CrossEntropyLoss", inputs=[[(5, 4), Given(lambda rng: rng.integers(0, 4, 5))]]),
]
LINEAR = ROWS[0]


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_good_modules_against_torch(row, dtype):
    against_torch(row, dtype)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_invariants_of_good_modules(row):
    check_invariants(row)


class Doubled(Function):
    """A product whose derivative is wrong."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 3


class WrongGradient(nn.Linear):
    def forward(self, input):
        return Doubled.apply(super().forward(input))


class WrongDtype(nn.Linear):
    def forward(self, input):
        return super().forward(input).float()


class WrongLayout(nn.Linear):
    def forward(self, input):
        return super().forward(input) * (1 if input.is_contiguous() else 2)


class LosesState(nn.Linear):
    def __deepcopy__(self, memo):
        return nn.Linear(self.in_features, self.out_features)


class WrongName(nn.Linear):
    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__(in_features, out_features, bias, device, dtype)
        self.scale = nn.Parameter(flambeau.ones(1))


class WrongText(nn.Linear):
    def extra_repr(self):
        return "3, 2"


class WrongDefault(nn.Linear):
    def __init__(self, in_features, out_features, bias=False, device=None, dtype=None):
        super().__init__(in_features, out_features, bias, device, dtype)


@pytest.mark.parametrize("faulty", [WrongGradient, WrongDtype, WrongLayout, LosesState])
def test_invariants_find(monkeypatch, faulty):
    monkeypatch.setattr(nn, "Linear", faulty)
    with pytest.raises(AssertionError):
        check_invariants(LINEAR)


@pytest.mark.oracle
@pytest.mark.parametrize("faulty", [WrongGradient, WrongName, WrongText, WrongDefault])
def test_comparison_finds(monkeypatch, faulty):
    pytest.importorskip("torch")
    faulty.__name__ = "Linear"
    monkeypatch.setattr(nn, "Linear", faulty)
    with pytest.raises(AssertionError):
        against_torch(LINEAR, "float32")
