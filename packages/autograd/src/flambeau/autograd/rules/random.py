"""Random numbers. Counts do not follow their rates: derivatives are zero. Gamma and Dirichlet
samples move with their concentrations, their probabilities held fixed (M. Figurnov, S. Mohamed,
A. Mnih, "Implicit reparameterization gradients", 2018)."""
from flambeau.autograd._table import rule
from flambeau.autograd.rules._help import not_implemented, zeros_like
from flambeau.core import ops

rule("bernoulli", self=lambda g: zeros_like(g))
rule("poisson", self=lambda g: zeros_like(g))
rule("binomial", count=not_implemented("binomial"), prob=not_implemented("binomial"))
rule("standard_gamma", self=lambda g, self, result: g * ops.standard_gamma_grad(self, result))
rule("standard_gamma_grad", self=not_implemented("standard_gamma_grad", "self"),
     output=not_implemented("standard_gamma_grad", "output"))

rule("native_dropout", input=lambda g, scale, result1: ops.masked_scale(g, result1, scale))
rule("masked_scale", self=lambda g, mask, scale: ops.masked_scale(g, mask, scale))


def _dirichlet(g, self, result):
    """Moving one concentration moves its element, and takes from the others in proportion."""
    slope = ops.dirichlet_grad(result, self, self.sum(-1, True))
    return slope * (g - (result * g).sum(-1, True))


rule("sample_dirichlet", self=_dirichlet)
rule("dirichlet_grad", self=not_implemented("dirichlet_grad", "self"),
     alpha=not_implemented("dirichlet_grad", "alpha"),
     total=not_implemented("dirichlet_grad", "total"))
