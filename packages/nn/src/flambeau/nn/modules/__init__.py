"""Layers, containers and losses, one family per file; ``flambeau.nn`` exports them."""
