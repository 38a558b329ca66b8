"""Passes that may still change; each is imported by the name of its module."""
