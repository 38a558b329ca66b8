"""The stage that decodes files by their ending."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..lengths import length_of
from ..utils import decoder

__all__ = ["RoutedDecoderIterDataPipe"]


@functional_datapipe("routed_decode")
class RoutedDecoderIterDataPipe(IterDataPipe[Any]):
    """Gives paths with what handlers make of the files; deprecated by PyTorch.

    Args:
        datapipe: Gives paths and files that are open for reading bytes.
        handlers: Functions of the key and the content, which return None where others should try;
            those of text and images when left out.
        key_fn: Makes the key of a path; its ending when left out.
    """

    def __init__(self, datapipe: Any, *handlers: Callable[[str, Any], Any],
                 key_fn: Callable[[str], str] = decoder.extension_extract_fn) -> None:
        warnings.warn("`RoutedDecoder()` and its functional API `.routed_decode()` are deprecated "
                      "since 1.12: write map(function)", FutureWarning, stacklevel=2)
        self.datapipe = datapipe
        defaults = (decoder.basichandlers, decoder.imagehandler("torch"))
        self.decoder = decoder.Decoder(*(handlers or defaults), key_fn=key_fn)

    def add_handler(self, *handler: Callable[[str, Any], Any]) -> None:
        """Let functions try before the others."""
        self.decoder.add_handler(*handler)

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for data in self.datapipe:
            yield data[0], self.decoder(data)[data[0]]

    def __len__(self) -> int:
        return length_of(self.datapipe, self)
