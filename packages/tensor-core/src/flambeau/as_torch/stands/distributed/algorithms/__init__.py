"""Checkpoints of activations in modules of a network."""
