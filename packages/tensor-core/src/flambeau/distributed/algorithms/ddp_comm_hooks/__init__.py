"""Functions that exchange the gradients of ``DistributedDataParallel``."""
