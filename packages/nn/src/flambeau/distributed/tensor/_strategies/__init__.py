"""How operators compute on shared tensors, by family.

A rule gives strategies for one dimension of a mesh: how results are shared where the tensors given
are shared so. Dimensions of a mesh do not depend on each other. That each process has everything is
a strategy of every operator, and the only one of those without a rule.
"""

from . import alongside, creation, pointwise, products, random, reads, reductions, rows, views

__all__ = ["alongside", "creation", "pointwise", "products", "random", "reads", "reductions",
           "rows", "views"]
