"""Calls of reductions, scans, order statistics and histograms; see ``calls.py``."""

from __future__ import annotations

from calls import ALL, FLOATS, NUMBERS, REAL, TWO, Call

INF = float("inf")
NAN = float("nan")
#: Where PyTorch has these for integers, but not for bool.
COUNTED = tuple(d for d in REAL if d != "bool")
SOME_NAN = [[NAN, 1.0, -2.0, 7.0, 3.0], [5.0, NAN, NAN, 2.0, -1.0], [NAN] * 5]
TIES = [[3.0, 1.0, 3.0, 1.0, 2.0, 2.0, 1.0], [5.0, 5.0, 4.0, 4.0, 0.0, 0.0, 0.0]]


def _c(function, *shapes, d=TWO, extra=(), domain=(-3.0, 3.0), factor=1.0):
    return Call(function, shapes or ((3, 4, 5),), d, domain, extra, factor)


def _on(values, *functions):
    """Calls on given numbers, in float32."""
    return [_c(lambda lib, _, x, f=f: f(x), extra=(values,), d=("float32",)) for f in functions]


def _moments(name):
    def call(*args, **kw):
        def run(lib, x):
            result = getattr(lib, name)(x, *args, **kw)
            return result if hasattr(result, "shape") else tuple(result)
        return run

    return {name: [_c(call()), _c(call(1, correction=0, keepdim=True)), _c(call((0, 2)))],
            f"{name}.unbiased": [_c(call(False)), _c(call(unbiased=True))],
            f"{name}.dim": [_c(call(1, False)), _c(call((0, 1), True, True)),
                            _c(call(dim=2, unbiased=False, keepdim=True))]}


def _pair(name, *args, dtypes=COUNTED, **kw):
    return _c(lambda lib, x: tuple(getattr(x, name)(*args, **kw)), (3, 41), d=dtypes)


def _order(name, *first):
    """Values and indices along dims; which of equal elements is named follows PyTorch."""
    return [_pair(name, *first, dim=-1), _pair(name, *first, dim=0, keepdim=True),
            _c(lambda lib, x: tuple(getattr(x, name)(*first, dim=1)), (2, 3, 4)),
            _c(lambda lib, x: tuple(getattr(x, name)(*first, dim=0)), (1,)),
            *_on(TIES, lambda x: tuple(getattr(x, name)(*first, dim=1)))]


STATISTICS = {
    **_moments("var_mean"), **_moments("std_mean"),
    **{k: v for k, v in (_moments("var") | _moments("std")).items() if "." in k},
    "nansum": [_c(lambda lib, x: x.nansum(1), (3, 67)), _c(lambda lib, x: x.nansum(0), (67, 3)),
               _c(lambda lib, x: x.nansum(), d=NUMBERS[:-2]),
               _c(lambda lib, x: x.nansum((0, 2), keepdim=True)),
               _c(lambda lib, x: x.nansum(1), (2, 0)),
               *_on(SOME_NAN, lambda x: x.nansum(1), lambda x: x.nansum(0))],
    "nanmean": [_c(lambda lib, x: x.nanmean(1)), _c(lambda lib, x: x.nanmean()),
                *_on(SOME_NAN, lambda x: x.nanmean(1), lambda x: x.nanmean((0, 1), True))],
    "norm": [_c(lambda lib, x: x.norm()), _c(lambda lib, x: x.norm(1, 0)),
             _c(lambda lib, x: x.norm(INF, (0, 1), True)), _c(lambda lib, x: x.norm(3, -1)),
             _c(lambda lib, x: x.norm(0.5, 1), (3, 67)), _c(lambda lib, x: x.norm(0, 0)),
             _c(lambda lib, x: x.norm(-INF, 0), (67, 5)), _c(lambda lib, x: x.norm("fro", (0, 2))),
             _c(lambda lib, x: lib.norm(x, p=2, dim=1, dtype=lib.float64), (3, 9000)),
             _c(lambda lib, x: x.norm(p=2), (4,), d=("complex64", *FLOATS)),
             _c(lambda lib, x: x.norm(), (0,)), _c(lambda lib, x: x.norm(2, 0), ())],
    "dist": [_c(lambda lib, x, y, p=p: x.dist(y, p), (3, 4), (4,)) for p in (2, 0, 1, INF, 3)],
    "renorm": [_c(lambda lib, x: x.renorm(2, 0, 1.5), (4, 5)),
               _c(lambda lib, x: x.renorm(1, -1, 3.0)),
               _c(lambda lib, x: x.clone().renorm_(INF, 1, 2.0))],
    "trace": [_c(lambda lib, x: x.trace(), (4, 5), d=NUMBERS)],
    "cov": [_c(lambda lib, x: x.cov(), (3, 9), factor=4),
            _c(lambda lib, x: x.cov(), (9,), factor=4),
            _c(lambda lib, x: x.cov(correction=0), (3, 9), d=("int64", "complex64"), factor=4),
            _c(lambda lib, x, w, f: x.cov(aweights=w.abs(), fweights=f), (3, 4), (4,), factor=4,
               extra=([1, 2, 3, 1],))],
    "corrcoef": [_c(lambda lib, x: x.corrcoef(), (3, 9), d=(*TWO, "complex64"), factor=4),
                 _c(lambda lib, x: x.corrcoef(), (9,))],
    "count_nonzero": [_c(lambda lib, x: lib.count_nonzero(x), d=ALL),
                      _c(lambda lib, x: x.count_nonzero((0, 2)), d=ALL)],
    "aminmax": [_c(lambda lib, x: tuple(x.aminmax()), d=REAL),
                _c(lambda lib, x: tuple(x.aminmax(dim=1, keepdim=True)), d=REAL)],
    "cumprod": [_c(lambda lib, x: x.cumprod(-1), (3, 67), domain=(0.5, 1.5)),
                _c(lambda lib, x: x.cumprod(0), (6, 5), d=NUMBERS, factor=2),
                _c(lambda lib, x: x.cumprod(1, dtype=lib.float64), d=("bool", "int32", "float32")),
                _c(lambda lib, x: x.clone().cumprod_(0), (5,)),
                _c(lambda lib, x: x.cumprod(0), (), d=TWO),
                _c(lambda lib, x: x.cumprod(1), (2, 0))],
    "cummax": [_c(lambda lib, x: tuple(x.cummax(-1)), (3, 67), d=REAL),
               _c(lambda lib, x: tuple(x.cummax(0)), (67, 5), d=REAL),
               _c(lambda lib, x: tuple(x.cummax(0)), ()),
               _c(lambda lib, x: tuple(x.cummax(0)), (0,)),
               *_on(TIES, lambda x: tuple(x.cummax(1))),
               *_on(SOME_NAN, lambda x: tuple(x.cummax(1)), lambda x: tuple(x.cummax(0)))],
    "cummin": [_c(lambda lib, x: tuple(x.cummin(-1)), (3, 67), d=REAL),
               _c(lambda lib, x: tuple(x.cummin(1)), d=REAL),
               *_on(TIES, lambda x: tuple(x.cummin(1)), lambda x: tuple(x.cummin(0))),
               *_on(SOME_NAN, lambda x: tuple(x.cummin(1)), lambda x: tuple(x.cummin(0)))],
    "logcumsumexp": [_c(lambda lib, x: x.logcumsumexp(-1), (3, 67), d=FLOATS),
                     _c(lambda lib, x: (x * 300).logcumsumexp(1)),
                     _c(lambda lib, x: x.logcumsumexp(0), (5,), d=("complex64",), factor=4),
                     _c(lambda lib, x: (x * 3 + 400j).logcumsumexp(0), (5,), d=("complex64",)),
                     *_on([-INF, -INF, 1.0, -INF, INF, 2.0, NAN, 1.0],
                          lambda x: x.logcumsumexp(0))],
    "median": [_c(lambda lib, x: x.median(), d=COUNTED), _c(lambda lib, x: x.median(), ()),
               _c(lambda lib, x: x.median(), (0,)), *_on(SOME_NAN, lambda x: x.median())],
    "median.dim": [*_order("median"), *_on(SOME_NAN, lambda x: tuple(x.median(1)))],
    "nanmedian": [_c(lambda lib, x: x.nanmedian(), d=COUNTED),
                  *_on(SOME_NAN, lambda x: x.nanmedian())],
    "nanmedian.dim": [*_order("nanmedian"), *_on(SOME_NAN, lambda x: tuple(x.nanmedian(1)))],
    "kthvalue": [*_order("kthvalue", 1), _pair("kthvalue", 17, dim=1),
                 _pair("kthvalue", 2, 0, True),
                 *_on(SOME_NAN, lambda x: tuple(x.kthvalue(3)))],
    "mode": [*_order("mode"), _c(lambda lib, x: tuple(x.mode()), (2, 9), d=("bool",))],
    "quantile": [*(_c(lambda lib, x, kind=kind: x.quantile(0.37, 1, interpolation=kind), (3, 7))
                   for kind in ("linear", "lower", "higher", "midpoint", "nearest")),
                 _c(lambda lib, x: x.quantile(0.5)), _c(lambda lib, x: x.quantile(1.0, 0, True)),
                 _c(lambda lib, x: x.quantile(lib.tensor([0.1, 0.9], dtype=x.dtype), 1, True)),
                 _c(lambda lib, x: x.quantile(lib.tensor([0.1, 0.9, 0.0], dtype=x.dtype))),
                 *_on(SOME_NAN, lambda x: x.quantile(0.3, 1))],
    "nanquantile": [_c(lambda lib, x: x.nanquantile(0.2, 0)),
                    *_on(SOME_NAN, lambda x: x.nanquantile(0.3, 1), lambda x: x.nanquantile(0.6))],
    "diff": [_c(lambda lib, x: x.diff(), d=ALL), _c(lambda lib, x: x.diff(2, 0), (5, 3), d=NUMBERS),
             _c(lambda lib, x, a, b: x.diff(1, 1, a, b), (3, 4), (3, 2), (3, 1)),
             _c(lambda lib, x: x.diff(9), (3, 4)), _c(lambda lib, x: x.diff(0), (3, 4))],
    "trapezoid": [_c(lambda lib, y: lib.trapezoid(y)),
                  _c(lambda lib, y: lib.trapz(y, dx=0.5, dim=1)),
                  _c(lambda lib, y: lib.trapezoid(y, dim=0), (0, 3))],
    "trapezoid.x": [_c(lambda lib, y, x: lib.trapezoid(y, x), (3, 5), (5,)),
                    _c(lambda lib, y, x: lib.trapezoid(y, x, dim=0), (3, 5), (3, 5))],
    "cumulative_trapezoid": [_c(lambda lib, y: lib.cumulative_trapezoid(y, dx=2, dim=1))],
    "cumulative_trapezoid.x": [_c(lambda lib, y, x: lib.cumulative_trapezoid(y, x), (3, 5), (5,))],
    "gradient": [_c(lambda lib, x: lib.gradient(x), (4, 5), d=(*TWO, "complex64")),
                 _c(lambda lib, x: lib.gradient(x, spacing=0.5, dim=1, edge_order=2), (4, 5)),
                 _c(lambda lib, x, t: lib.gradient(x, spacing=(t,), dim=1, edge_order=2), (3, 4),
                    extra=([0.0, 1.0, 1.5, 4.0],)),
                 _c(lambda lib, x: lib.gradient(x, spacing=(0.5, 2.0), dim=(1, 0)), (3, 4))],
    "histc": [_c(lambda lib, x: x.histc(7), (200,)), _c(lambda lib, x: x.histc(5, -1, 2)),
              _c(lambda lib, x: lib.histc(x * 0, 3), (4,))],
    "bincount": [_c(lambda lib, x: x.abs().bincount(), (40,), d=("int64", "uint8")),
                 _c(lambda lib, x: x.abs().bincount(minlength=30), (0,), d=("int64",)),
                 _c(lambda lib, _, w, i: i.bincount(w), (2,), (5,), extra=([4, 1, 1, 0, 4],))],
    "histogram": [_c(lambda lib, x, e: tuple(x.histogram(e.to(x.dtype))), (30,),
                     extra=([-2.0, -0.5, 0.0, 2.5],)),
                  _c(lambda lib, x, w, e: tuple(x.histogram(e.to(x.dtype), weight=w, density=True)),
                     (30,), (30,), extra=([-2.0, -0.5, 0.0, 2.5],), factor=4)],
    "histogram.count": [_c(lambda lib, x: tuple(x.histogram(6)), (50,)),
                        _c(lambda lib, x: tuple(x.histogram(4, range=(-1.0, 1.0), density=True)),
                           (50,), factor=4)],
    "histogramdd": [_c(lambda lib, x: lib.histogramdd(x, 3)[0], (40, 2)),
                    _c(lambda lib, x: lib.histogramdd(x, [2, 3], range=(-2.0, 2.0, -1.0, 3.0))[1],
                       (40, 2)),
                    _c(lambda lib, x, w: lib.histogramdd(x, [2, 3], weight=w, density=True)[0],
                       (40, 2), (40,), factor=4)],
}

#: Rows without a call here, and the test that covers each.
STATISTICS_ELSEWHERE = {
    "norm_of": "norm", "bincount_of": "bincount", "histogram_of": "histogram",
    "check_probabilities": "binary_cross_entropy",
}
