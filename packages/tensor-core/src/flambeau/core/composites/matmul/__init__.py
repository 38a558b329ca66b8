"""Products of matrices made of matmul."""
