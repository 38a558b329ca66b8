"""Changing the settings of a module for a while."""
from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


def patcher(module: str) -> Callable[..., Any]:
    """The function ``patch`` of a module of settings.

    Args:
        module: Its name.
    """

    @contextmanager
    def changed(changes: dict[str, Any]) -> Iterator[None]:
        settings = vars(sys.modules[module])
        before = {name: settings[name] for name in changes if name in settings}
        settings.update(changes)
        try:
            yield
        finally:
            for name in changes.keys() - before.keys():
                settings.pop(name, None)
            settings.update(before)

    def patch(first: Any = None, value: Any = None, **changes: Any) -> Any:
        """A block, or a decorator, inside which settings are others.

        Args:
            first: A name, whose value follows, or a dict of values by name.
            value: Of the name.
            changes: Values by name.
        """
        given = {first: value} if isinstance(first, str) else dict(first or {})
        return changed(given | changes)

    return patch
