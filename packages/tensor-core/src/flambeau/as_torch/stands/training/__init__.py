"""What programs that train take from private parts: optimizers, loaders, mixed precision."""
