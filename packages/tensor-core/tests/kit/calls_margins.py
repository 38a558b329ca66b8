"""Calls of losses of likelihoods, margins and distances (see ``calls.py``)."""

from __future__ import annotations

from call import FLOATS, TWO, nn, quiet
from call import call_of as _c

SIGNS = [1.0, -1.0, -1.0, 1.0]
LABELS = [0, 2, 4, 2]
LISTED = [[3, 0, -1, 1], [0, 1, 2, 3], [-1, 0, 0, 0]]
REDUCTIONS = ("mean", "sum", "none")


def _pair(name, *args, d=TWO, domain=(-3.0, 3.0), **options):
    """Calls with two tensors, all reductions and the legacy flags."""
    def one(**more):
        return quiet(lambda lib, x, y: getattr(nn(lib), name)(x, y, *args, **options, **more))

    return [*(_c(one(reduction=r), (3, 4), (3, 4), d=d, domain=domain) for r in REDUCTIONS),
            _c(one(size_average=False), (3, 4), (3, 4), domain=domain),
            _c(one(reduce=False), (3, 4), (3, 4), domain=domain)]


def _classed(name, *shapes, extra, **options):
    return [_c(lambda lib, *t, r=r: getattr(nn(lib), name)(*t, reduction=r, **options), *shapes,
               extra=extra) for r in REDUCTIONS]


def _signed(name, shapes, extra=(SIGNS,), **options):
    return _classed(name, *shapes, extra=extra, **options)


MARGINS = {
    "kl_div": [*_pair("kl_div", domain=(0.1, 2.0), d=FLOATS),
               *_pair("kl_div", log_target=True),
               _c(lambda lib, x, y: nn(lib).kl_div(x, y, reduction="batchmean"), (3, 4), (3, 4)),
               _c(lambda lib, x, y: nn(lib).kl_div(x, y * 0, reduction="sum"), (3, 4), (3, 4))],
    "poisson_nll_loss": [*_pair("poisson_nll_loss", domain=(0.1, 4.0), d=FLOATS),
                         *_pair("poisson_nll_loss", domain=(0.1, 4.0), full=True),
                         *_pair("poisson_nll_loss", domain=(0.1, 4.0), log_input=False, eps=0.1)],
    "gaussian_nll_loss": [
        *(_c(lambda lib, x, y, v, o=o: nn(lib).gaussian_nll_loss(x, y, v, **o), (3, 4), (3, 4),
             shape, domain=(0.1, 2.0))
          for shape in ((3, 4), (3,), (3, 1)) for o in ({}, {"full": True, "eps": 0.5},
                                                        {"reduction": "none"})),
        _c(lambda lib, x, y: nn(lib).gaussian_nll_loss(x, y, 0.3), (3, 4), (3, 4))],
    "soft_margin_loss": _signed("soft_margin_loss", [(4,)]) + _pair("soft_margin_loss"),
    "hinge_embedding_loss": _signed("hinge_embedding_loss", [(4,)])
    + _signed("hinge_embedding_loss", [(4,)], margin=0.4),
    "margin_ranking_loss": _signed("margin_ranking_loss", [(4,), (4,)])
    + _signed("margin_ranking_loss", [(4,), (4,)], margin=0.7)
    + [_c(lambda lib, x, y, t: nn(lib).margin_ranking_loss(x, y, t, 0.5, reduction="none"),
          (4,), (4,), (4,), d=("uint8",))],
    "cosine_embedding_loss": _signed("cosine_embedding_loss", [(4, 5), (4, 5)])
    + _signed("cosine_embedding_loss", [(4, 5), (4, 5)], margin=0.1)
    + [_c(lambda lib, x, y, t: nn(lib).cosine_embedding_loss(x, y, t), (5,), (5,), extra=(-1,)),
       _c(lambda lib, x, t: nn(lib).cosine_embedding_loss(x * 0, x, t), (4, 5), extra=(SIGNS,))],
    "multi_margin_loss": _classed("multi_margin_loss", (4, 5), extra=(LABELS,))
    + _classed("multi_margin_loss", (4, 5), extra=(LABELS,), p=2, margin=0.3)
    + [_c(lambda lib, x, w, t: nn(lib).multi_margin_loss(x, t, weight=w), (4, 5), (5,),
          extra=(LABELS,)),
       _c(lambda lib, x, t: nn(lib).multi_margin_loss(x, t), (5,), extra=(3,))],
    "multilabel_margin_loss": _classed("multilabel_margin_loss", (3, 4), extra=(LISTED,))
    + [_c(lambda lib, x, t: nn(lib).multilabel_margin_loss(x, t), (4,), extra=(LISTED[0],))],
    "multilabel_soft_margin_loss": _pair("multilabel_soft_margin_loss", domain=(0.0, 1.0))
    + [_c(lambda lib, x, y, w: nn(lib).multilabel_soft_margin_loss(x, y, w), (3, 4), (3, 4), (4,)),
       _c(lambda lib, x, y: nn(lib).multilabel_soft_margin_loss(x, y), (4,), (4,))],
    "triplet_margin_loss": _classed("triplet_margin_loss", (3, 4), (3, 4), (3, 4), extra=())
    + _classed("triplet_margin_loss", (3, 4), (3, 4), (3, 4), extra=(), p=1, swap=True, margin=2.5)
    + [_c(lambda lib, a, b, c: nn(lib).triplet_margin_loss(a, b, c), (4,), (4,), (4,))],
    "triplet_margin_with_distance_loss": [
        _c(lambda lib, a, b, c: nn(lib).triplet_margin_with_distance_loss(a, b, c, swap=True),
           (3, 4), (3, 4), (3, 4)),
        _c(lambda lib, a, b, c: nn(lib).triplet_margin_with_distance_loss(
            a, b, c, distance_function=lambda x, y: (x - y).abs().sum(-1), margin=0.4,
            reduction="none"), (3, 4), (3, 4), (3, 4))],
}
