"""The planted faults of planted/native.py still fit the sources they are planted in."""
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import native


@pytest.mark.parametrize("fault", native.FAULTS, ids=lambda fault: fault.name)
def test_there_is_one_place_for_each_fault(fault):
    assert (native.NATIVE / fault.source).read_text().count(fault.old) == 1
