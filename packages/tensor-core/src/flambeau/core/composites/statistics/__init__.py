"""Statistics made of other operators."""
