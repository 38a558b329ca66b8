"""Names that libraries take from `torch.hub` besides its functions."""
from __future__ import annotations

import os
import re
from typing import Any
from urllib.parse import urlparse

__all__ = ["HASH_REGEX", "urlparse"]

#: The hash in a file's name: ``resnet18-f37072fd.pth``.
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")


class _Steps:
    """A bar that shows nothing, where tqdm is not installed."""

    def __init__(self, iterable: Any = (), *args: Any, **kwargs: Any) -> None:
        self.iterable = iterable

    def __iter__(self) -> Any:
        return iter(self.iterable)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing was shown."""

    def update(self, n: float = 1) -> None:
        """Show nothing."""

    set_postfix = set_description = close = update


def __getattr__(name: str) -> Any:
    if name != "tqdm":
        raise AttributeError(f"module 'torch.hub' has no attribute {name!r}")
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Steps
    return tqdm


def _get_torch_home() -> str:
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch")))
