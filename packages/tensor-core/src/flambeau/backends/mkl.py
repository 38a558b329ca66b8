"""MKL, which is not used."""

__all__ = ["is_available"]


def is_available() -> bool:
    """False: MKL is not used."""
    return False
