"""What `importlib.metadata` finds: an installed distribution named torch."""
from __future__ import annotations

from importlib.metadata import Distribution
from typing import Any

from flambeau.as_torch.versions import VERSION


class Installed(Distribution):
    """The metadata of a `torch` that is Flambeau."""

    def read_text(self, filename: str) -> str | None:
        """Its name, version and module; there are no other files."""
        return {
            "METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {VERSION}\n"
                        "Summary: Flambeau under PyTorch's name\n",
            "top_level.txt": "torch\n",
        }.get(filename)

    def locate_file(self, path: Any) -> Any:
        """Where the package lies."""
        import pathlib

        import flambeau

        return pathlib.Path(flambeau.__path__[0]).parent / path
