"""The recorded graph: its nodes, and handles of hooks."""
from flambeau.autograd._engine import AccumulateGrad, Node, RemovableHandle

__all__ = ["AccumulateGrad", "Node", "RemovableHandle"]
