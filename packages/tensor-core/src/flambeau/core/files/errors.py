"""The error of every file format."""


class FileError(ValueError):
    """A file that is not what it should be; the text says where."""


def fail(what: str) -> None:
    """Raise a ``FileError`` of ``load``."""
    raise FileError(f"load(): {what}")
