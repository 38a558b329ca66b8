"""Where shared tensors and parameters were in earlier versions of PyTorch."""
