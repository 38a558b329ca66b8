"""Classes of the nodes of autograd's graph, for which programs that walk it ask."""
from __future__ import annotations

from flambeau import rooms

AccumulateGrad = rooms.import_module(f"{rooms.PREFIX}autograd._engine").AccumulateGrad
