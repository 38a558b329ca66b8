"""The order of products in ``einsum``, which the core chooses itself."""

__all__ = ["get_opt_einsum", "is_available"]

enabled = True
strategy = "auto"


def is_available() -> bool:
    """True: ``einsum`` always chooses an order."""
    return True


def get_opt_einsum() -> None:
    """None: the package of this name is not used."""
