"""Calls of norms, order statistics and scans, for gradcheck; see ``samples.py``."""

from numbers_for_tests import complexes, reals

import flambeau

INF = float("inf")


def _kept_zeros(a):
    """The tensor with a zero, two zeros and none in its rows, still a function of it."""
    mask = flambeau.tensor([[1.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0]],
                           dtype=flambeau.float64)
    return a * mask


STATISTICS = {
    "var_mean": [lambda: (lambda a: flambeau.var_mean(a), (reals(2, 3),)),
                 lambda: (lambda a: flambeau.var_mean(a, 1, keepdim=True)[1], (reals(2, 3),)),
                 lambda: (lambda a: flambeau.var_mean(a, 0), (complexes(3, 2),))],
    "std_mean": [lambda: (lambda a: flambeau.std_mean(a, (0, 2), correction=0),
                          (reals(2, 3, 2),))],
    "aminmax": [lambda: (lambda a: flambeau.aminmax(a), (reals(2, 3),)),
                lambda: (lambda a: flambeau.aminmax(a, dim=1)[0], (reals(2, 3),))],
    "nansum": [lambda: (lambda a: a.nansum(1), (reals(2, 3),)),
               lambda: (lambda a: a.nansum((0, 1), keepdim=True), (reals(2, 3),))],
    "std": [lambda: (lambda a: a.std(), (reals(2, 3),)),
            lambda: (lambda a: a.std(1, correction=0), (reals(2, 3),)),
            lambda: (lambda a: a.std((0, 2), True, True), (reals(2, 3, 2),)),
            lambda: (lambda a: flambeau.std_mean(a, 0)[0], (complexes(3, 2),))],
    "norm_of": [
        *[lambda p=p: (lambda a: a.norm(p, 1), (reals(2, 3),))
          for p in (2, 1, 3, 2.5, 1.5, 0.5, INF, -INF, -1)],
        lambda: (lambda a: a.norm(), (reals(2, 3),)),
        lambda: (lambda a: a.norm(2, (0, 2), True), (reals(2, 3, 2),)),
        lambda: (lambda a: a.norm(2, 0), (complexes(3, 2),)),
        lambda: (lambda a: a.norm(1, 0), (complexes(3, 2),)),
        lambda: (lambda a: a.norm(INF, 0), (complexes(9, 7),)),
        lambda: (lambda a: a.norm(-INF, 0), (complexes(9, 7),)),
        lambda: (lambda a: a.norm(3), (complexes(3),)),
        lambda: (lambda a: a.renorm(2, 0, 1.0), (reals(2, 3),)),
        lambda: (lambda a: a.renorm(1, 1, 1.0), (complexes(2, 3),)),
        lambda: (lambda a, b: a.dist(b, 3), (reals(2, 3), reals(3, seed=1))),
    ],
    "median": [lambda: (lambda a: a.median(), (reals(2, 3),)),
               lambda: (lambda a: a.median(), (reals(),))],
    "nanmedian": [lambda: (lambda a: a.nanmedian(), (reals(2, 3),))],
    "median.dim": [lambda: (lambda a: a.median(1)[0], (reals(2, 5),)),
                   lambda: (lambda a: a.median(0, True)[0], (reals(3, 2),))],
    "nanmedian.dim": [lambda: (lambda a: a.nanmedian(1)[0], (reals(2, 5),))],
    "kthvalue": [lambda: (lambda a: a.kthvalue(2, 0)[0], (reals(3, 2),)),
                 lambda: (lambda a: a.kthvalue(1)[0], (reals(),))],
    "mode": [lambda: (lambda a: a.mode(1)[0], (reals(2, 3),))],
    "cumprod": [lambda: (lambda a: a.cumprod(1), (reals(2, 3),)),
                lambda: (lambda a: a.cumprod(0), (complexes(3, 2),)),
                lambda: (lambda a: _kept_zeros(a).cumprod(1), (reals(3, 4),)),
                lambda: (lambda a: a.cumprod(0), (reals(),))],
    "cummax": [lambda: (lambda a: a.cummax(1)[0], (reals(2, 5),)),
               lambda: (lambda a: a.cummax(0)[0], (reals(),))],
    "cummin": [lambda: (lambda a: a.cummin(0)[0], (reals(4, 2),))],
    "logcumsumexp": [lambda: (lambda a: a.logcumsumexp(1), (reals(2, 5),)),
                     lambda: (lambda a: a.logcumsumexp(0), (complexes(3),)),
                     lambda: (lambda a: (a + 800).logcumsumexp(0), (complexes(3),)),
                     lambda: (lambda a: a.logcumsumexp(0), (reals(),))],
}
