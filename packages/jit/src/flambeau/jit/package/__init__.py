"""Saved programs as folders for C and C++: ``python -m flambeau.jit.package FILE --to DIR``.

``folder``     what is written, and where the runtime comes from
``header``     the C header: what the program takes and gives
``templates``  two examples, their CMakeLists.txt, and a page that says how to build them
"""
from __future__ import annotations

from flambeau.jit.package.folder import package

__all__ = ["package"]
