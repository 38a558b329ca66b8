"""Composites of other shapes and orders."""
