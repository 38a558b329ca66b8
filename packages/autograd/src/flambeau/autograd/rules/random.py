"""Random numbers: what is drawn does not follow its parameters, so that derivatives are zero."""
from flambeau.autograd._table import rule
from flambeau.autograd.rules._help import not_implemented, zeros_like

rule("bernoulli", self=lambda g: zeros_like(g))
rule("poisson", self=lambda g: zeros_like(g))
rule("binomial", count=not_implemented("binomial"), prob=not_implemented("binomial"))
