"""``functional`` and ``init`` as objects, for the layers.

``from .. import functional`` in a layer would wait until ``flambeau.nn`` is imported. A thread that
imports it may be waiting for the layer at that moment, where another imports the layer first.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import functional, init
else:
    functional = import_module("flambeau.nn.functional")
    init = import_module("flambeau.nn.init")

__all__ = ["functional", "init"]
