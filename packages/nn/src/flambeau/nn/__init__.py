"""Modules, layers and losses for building networks."""

from . import functional, init, modules, utils
from .modules import *
from .modules import __all__ as _layers
from .parameter import Buffer, Parameter

__all__ = [
    "Buffer",
    "Parameter",
    "functional",
    "init",
    "modules",
    "utils",
    *_layers,
]
