"""Definitions as array calls, of CuPy on a GPU and of NumPy in the simulation."""
