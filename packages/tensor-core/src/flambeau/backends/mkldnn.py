"""oneDNN, which is not used."""

__all__ = ["is_available"]

enabled = False


def is_available() -> bool:
    """False: oneDNN is not used."""
    return False
