"""Marks that the tests of this package share."""


def pytest_configure(config):
    config.addinivalue_line("markers", "oracle: compares with PyTorch, which must be installed")
