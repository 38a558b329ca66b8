"""Processes that the launcher starts."""
