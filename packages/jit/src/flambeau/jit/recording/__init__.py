"""A function recorded as a graph, what its sizes must be, and its comparison with the function."""
