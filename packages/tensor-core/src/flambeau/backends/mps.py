"""GPUs of Apple, for which there is no backend."""

__all__ = ["is_available", "is_built"]


def is_available() -> bool:
    """False: there is no backend for them."""
    return False


def is_built() -> bool:
    """False: there is no backend for them."""
    return False
