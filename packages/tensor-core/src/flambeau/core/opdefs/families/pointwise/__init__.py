"""Operators computed element by element."""
