"""What is made on first use is made once, whichever threads come first.

Note [first uses]: there is one lock for all packages, so that what holds it may make other things
on the way. Importing holds a lock of Python's for each module, which makes two rules. Code that
runs while a module of this library is imported makes nothing of this kind: the thread that has
our lock may be waiting for that module. And no module waits for one that is imported above it,
which the test of import cycles checks: threads that import both would wait for each other.
For the same reason a package is imported before its modules by who imports these from outside:
`import flambeau.library.calls` locks the module, and then waits for the package.
"""
from __future__ import annotations

import os
from _thread import RLock
from functools import cache, wraps

TYPE_CHECKING = False  # the imports below would cost time
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Result = TypeVar("Result")

#: Held while something is made. A context manager, which one thread may enter several times.
first_use = RLock()

# A fork waits until nothing is being made: its child would find it half done.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=first_use.acquire, after_in_parent=first_use.release,
                        after_in_child=first_use.release)


def once(function: Callable[..., Result]) -> Callable[..., Result]:
    """Let a function run once for each tuple of arguments; a decorator.

    ``functools.cache`` lets all threads run it that ask before the first has the result, and gives
    each its own. Later calls cost no more than there: they take no lock.

    Args:
        function: Takes hashable positional arguments.

    Returns:
        The function.

    Example:
        >>> from flambeau.core.once import once
        >>> @once
        ... def table(size):
        ...     return list(range(size))
        >>> table(3) is table(3)
        True
    """
    made = cache(function)

    def make(*args: Any) -> Result:
        with first_use:
            return made(*args)

    return wraps(function)(cache(make))
