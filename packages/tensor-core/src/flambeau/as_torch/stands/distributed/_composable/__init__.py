"""Where `fully_shard` was in earlier versions of PyTorch."""
