"""PyTorch's own test files, run against Flambeau: `python -m tools.torch_suite --help`."""
