"""Build-time generators: the operator table in, C++ and Cython sources out."""
