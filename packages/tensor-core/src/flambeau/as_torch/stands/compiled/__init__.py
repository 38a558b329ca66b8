"""Operators that libraries and PyTorch itself bring compiled, in Flambeau's making."""
