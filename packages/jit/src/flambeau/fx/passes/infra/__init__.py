"""Passes over graphs; each is imported by the name of its module."""
