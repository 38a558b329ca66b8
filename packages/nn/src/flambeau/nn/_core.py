"""The core's operators, by name: ``ops.linear``, ``ops.relu_``. Imported here and only here."""

from typing import Any

import flambeau.core.ops
from flambeau.core.decompositions.matmul import spread_weight as _spread_weight

ops: Any = flambeau.core.ops  # its names come from the operator table at run time
spread_weight: Any = _spread_weight
