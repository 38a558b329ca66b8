"""Public programs written for PyTorch, run unchanged with Flambeau and with PyTorch."""
