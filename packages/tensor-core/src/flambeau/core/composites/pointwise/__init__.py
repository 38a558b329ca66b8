"""Composites computed element by element."""
