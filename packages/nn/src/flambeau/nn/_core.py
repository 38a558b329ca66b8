"""The core's operators, by name: ``ops.linear``, ``ops.relu_``. Imported here and only here."""

from typing import Any

import flambeau.core.ops

ops: Any = flambeau.core.ops  # its names come from the operator table at run time
