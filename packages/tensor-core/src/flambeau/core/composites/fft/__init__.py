"""Fourier transforms made of three kernels."""
