"""What a profile recorded, under the names of PyTorch's module."""
from flambeau.autograd._profiled import EventList, FunctionEvent, Interval
from flambeau.autograd._profiled import KernelSum as FunctionEventAvg

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]
