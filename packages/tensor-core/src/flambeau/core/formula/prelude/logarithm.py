"""Logarithms."""
