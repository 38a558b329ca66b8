"""`torch.jit` for programs that use TorchScript: what they script or trace runs as Python."""
