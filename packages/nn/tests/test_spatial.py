"""Convolutions, pooling, margins, resizing and norms, each row against PyTorch and by itself."""

import pytest
import rows_norms
import rows_spatial
from modules_kit import against_torch, check_invariants

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
