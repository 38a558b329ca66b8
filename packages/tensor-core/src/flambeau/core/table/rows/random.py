"""Random rows: a function of (seed, offset) and each element's logical index."""
from flambeau.core.table.make import kernel


def _draw(schema, **facts):
    return kernel(schema, out=False, differentiable=False, **facts)


ROWS = (
    _draw("random_uniform(Tensor self, Float low=0.0, Float high=1.0, *,"
          " Generator? generator=None)", forms=(), inplace=True, doc="Uniform numbers."),
    _draw("random_normal(Tensor self, Float mean=0.0, Float std=1.0, *,"
          " Generator? generator=None)", forms=(), inplace=True, doc="Normal numbers."),
    _draw("random_integers(Tensor self, Int low, Int high, *, Generator? generator=None)",
          forms=(), inplace=True, doc="Integers from low to high, high excluded."),
    _draw("random_bernoulli(Tensor self, Float p=0.5, *, Generator? generator=None)",
          forms=(), inplace=True, doc="Ones with probability p, else zeros."),
    _draw("random_permutation(Int n, *, Generator? generator=None)", forms=(),
          doc="A random order of the numbers 0 to n - 1."),
)
