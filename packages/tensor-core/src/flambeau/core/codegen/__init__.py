"""Build-time generators: operator definitions in, C++ and Cython sources out."""
