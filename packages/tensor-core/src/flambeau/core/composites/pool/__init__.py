"""Pooling made of other operators."""
