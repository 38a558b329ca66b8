"""Private modules of `torch.testing` that tests of libraries build on."""
