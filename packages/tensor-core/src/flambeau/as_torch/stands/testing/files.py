"""`torch._utils_internal`: where tests of libraries find their files."""
from __future__ import annotations

import os


def get_file_path_2(*path_components: str) -> str:
    """The parts of a path, joined."""
    return os.path.join(*path_components)
