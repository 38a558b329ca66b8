"""`torch.ops.load_library`: operators that compiled parts of libraries would register."""
from __future__ import annotations

import os

from flambeau import rooms

#: The end of a compiled library's path, without its suffix -> module with its operators.
LIBRARIES = {"torchvision/_C": "vision", "torchvision/image": "images",
             "torchvision/_C_stable": "vision", "torchvision/image_stable": "images",
             "lib/_torchaudio": "audio_parts", "lib/libtorchaudio": "audio"}
_loaded: dict[str, object] = {}


def load_library(path: str | os.PathLike[str]) -> None:
    """Register the operators of a compiled library, in Flambeau's own making.

    Raises:
        OSError: Nobody made them; the library itself needs PyTorch.
    """
    from flambeau.library import Library

    words = os.fspath(path).replace(os.sep, "/").split("/")[-2:]
    name = "/".join(words).partition(".")[0]
    if name not in LIBRARIES:
        raise OSError(
            f"torch.ops.load_library(): {os.fspath(path)!r} is compiled for PyTorch and cannot "
            "be loaded; write its operators in Python with torch.library.custom_op, or compile "
            "them against the header in flambeau.core.get_include()")
    if name in _loaded:
        return
    home = rooms.import_module(f"{__package__}.compiled.{LIBRARIES[name]}")
    library = _loaded[name] = Library(home.NAMESPACE, "FRAGMENT")
    for schema, function in home.OPERATORS.items():
        word = library.define(schema)
        if function is not None:
            library.impl(word, function, "CompositeImplicitAutograd")
