"""Linear algebra made of other operators."""
