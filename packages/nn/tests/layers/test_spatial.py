"""Convolutions, pooling, margins, resizing and norms, each row against PyTorch and by itself."""

import pytest
import rows_norms
import rows_spatial
from modules_kit import against_torch, check_invariants

import flambeau
from flambeau import nn

pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same':UserWarning")
ROWS = [*rows_spatial.ROWS, *rows_norms.ROWS]


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_against_torch(row, dtype):
    against_torch(row, dtype)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_invariants(row):
    check_invariants(row)


def test_a_batch_of_none_normalizes_to_none_and_leaves_the_running_statistics():
    norm = nn.BatchNorm1d(3)
    y = norm(flambeau.zeros(0, 3, 4))
    y.sum().backward()
    assert y.shape == (0, 3, 4)
    assert norm.running_mean.tolist() == [0.0, 0.0, 0.0]
    assert norm.running_var.tolist() == [1.0, 1.0, 1.0]
    assert norm.weight.grad.tolist() == [0.0, 0.0, 0.0]
