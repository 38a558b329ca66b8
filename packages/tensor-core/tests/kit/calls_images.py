"""Calls of norms by groups, of images in other sizes, and of sampling (see ``calls.py``)."""

from __future__ import annotations

from call import FLOATS, TWO, nn, quiet
from call import call_of as _c

LINE, IMAGE, VOLUME = (2, 3, 7), (2, 3, 6, 5), (1, 2, 3, 4, 5)
BAG = [0, 3, 3, 6, 1, 0, 2]
LABELS = [[1, 2, 2, 3], [3, 1, 0, 0], [2, 2, 2, 2]]
LENGTHS = ([6, 6, 4], [4, 2, 0])


def _resized(shape, d=TWO, **options):
    return _c(lambda lib, x: nn(lib).interpolate(x, **options), shape, d=d)


def _bytes(mode, align, **options):
    """Weights of 16 bits, and each dimension rounded: to the last unit as PyTorch has it."""
    return _c(lambda lib, x: nn(lib).interpolate(x * 37, mode=mode, align_corners=align, **options),
              (2, 3, 8, 7), d=("uint8",))


def _sampled(shape, indices, **options):
    return [_c(lambda lib, x, g, o=(mode, border, align): nn(lib).grid_sample(x, g * 0.5, *o),
               shape, indices, **options)
            for mode in ("bilinear", "nearest", *(("bicubic",) if len(shape) == 4 else ()))
            for border in ("zeros", "border", "reflection") for align in (True, False)]


def _bags(offsets=(0, 2, 2, 5), **options):
    return _c(lambda lib, w, i, o: nn(lib).embedding_bag(i, w, o, **options), (7, 5),
              extra=(BAG, list(offsets)))


def _group(*args, shape=(2, 6, 4, 3), d=TWO):
    return _c(lambda lib, x, w, b: nn(lib).group_norm(x, *args[:1], w, b, *args[1:]), shape,
              (shape[1],), (shape[1],), d=d)


def _ctc(**options):
    return _c(lambda lib, x, t, n, m: nn(lib).ctc_loss(x.log_softmax(-1), t, n, m, **options),
              (6, 3, 5), extra=(LABELS, *LENGTHS))


NORMS = {
    "group_norm": [_group(3, d=FLOATS), _group(1), _group(6, 0.5), _group(2, shape=(3, 4)),
                   _c(lambda lib, x: lib.group_norm(x * 9 + 100, 2), (2, 4, 300)),
                   _c(lambda lib, x: nn(lib).group_norm(x, 2), (0, 4, 3))],
    "instance_norm": [
        _c(lambda lib, x: nn(lib).instance_norm(x), IMAGE, d=FLOATS),
        _c(lambda lib, x, w, b: nn(lib).instance_norm(x, None, None, w, b), IMAGE, (3,), (3,)),
        _c(lambda lib, x, m, v, w: (nn(lib).instance_norm(x, m, v, w, use_input_stats=False)),
           IMAGE, (3,), (3,), (3,), domain=(0.2, 2.0)),
        _c(lambda lib, x, m, v: (nn(lib).instance_norm(x, m, v, momentum=0.3), m, v),
           IMAGE, (3,), (3,), domain=(0.2, 2.0))],
    "rms_norm": [_c(lambda lib, x: nn(lib).rms_norm(x, (5,)), d=FLOATS),
                 _c(lambda lib, x, w: lib.rms_norm(x, (4, 5), w, 0.1), (3, 4, 5), (4, 5)),
                 _c(lambda lib, x, w: nn(lib).rms_norm(x * 1e-4, [5], w), (3, 5), (5,))],
    "local_response_norm": [
        _c(lambda lib, x: nn(lib).local_response_norm(x, 3, 0.1, 0.6, 2.0), IMAGE),
        _c(lambda lib, x: nn(lib).local_response_norm(x, 4), (2, 7, 5), d=FLOATS),
        _c(lambda lib, x: nn(lib).local_response_norm(x, 2), VOLUME),
        _c(lambda lib, x: nn(lib).local_response_norm(x, 2), IMAGE, d=("int64",))],
    "normalize": [_c(lambda lib, x: nn(lib).normalize(x), d=FLOATS),
                  _c(lambda lib, x: nn(lib).normalize(x, p=1.0, dim=-1), d=TWO),
                  _c(lambda lib, x: nn(lib).normalize(x, 3.0, 0, 20.0), d=TWO),
                  _c(lambda lib, x: nn(lib).normalize(x, dim=(-2, 0)), d=TWO),
                  _c(lambda lib, x: nn(lib).normalize(x, dim=[1]), d=TWO),
                  _c(lambda lib, x: nn(lib).normalize(x * 0), (2, 3)),
                  _c(lambda lib, x: nn(lib).normalize(x, out=lib.empty(0, dtype=x.dtype)), (2, 3))],
}

SIZES = {
    "interpolate": [
        *(_resized(shape, size=size, mode=mode, d=FLOATS)
          for mode in ("nearest", "nearest-exact", "area")
          for shape, size in ((LINE, 11), (LINE, 3), (IMAGE, (9, 3)), (VOLUME, (5, 2, 5)))),
        *(_resized(shape, size=size, mode=mode, align_corners=align)
          for mode, shape, size in (("linear", LINE, 11), ("linear", LINE, 1),
                                    ("bilinear", IMAGE, (9, 3)), ("bicubic", IMAGE, (3, 12)),
                                    ("trilinear", VOLUME, (5, 2, 7)))
          for align in (None, False, True)),
        *(_resized(IMAGE, size=size, mode=mode, antialias=True, align_corners=align)
          for mode in ("bilinear", "bicubic") for size in ((3, 2), (9, 3))
          for align in (None, True)),
        _resized(IMAGE, size=(3, 2), mode="lanczos", antialias=True),
        *(_resized(IMAGE, scale_factor=(1.7, 0.6), mode=mode, recompute_scale_factor=again)
          for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area")
          for again in (None, True)),
        _resized(IMAGE, scale_factor=2, mode="bilinear", d=FLOATS),
        _resized((2, 3, 40, 33), size=(17, 71), mode="bilinear"),
        _resized(IMAGE, size=(4, 4), mode="nearest", d=("uint8",)),
        *(_bytes(mode, align, **options) for mode in ("bilinear", "bicubic")
          for align in (False, True)
          for options in ({"size": (9, 3)}, {"scale_factor": (1.7, 0.6)})),
        *(_bytes(mode, False, size=(9, 3), antialias=True) for mode in ("bilinear", "bicubic")),
        _resized((0, 3, 4, 4), size=2)],
    "upsample": [_c(quiet(lambda lib, x: nn(lib).upsample(x, 9, mode="linear")), LINE)],
    "upsample_nearest": [_c(quiet(lambda lib, x: nn(lib).upsample_nearest(x, None, 3)), IMAGE)],
    "upsample_bilinear": [_c(quiet(lambda lib, x: nn(lib).upsample_bilinear(x, (4, 9))), IMAGE)],
}

SAMPLED = {
    "embedding_bag": [
        *(_bags(mode=mode, **o) for mode in ("sum", "mean", "max")
          for o in ({}, {"padding_idx": 3}, {"padding_idx": -1})),
        *(_bags((0, 2, 2, 7), mode=mode, include_last_offset=True) for mode in ("sum", "mean")),
        _c(lambda lib, w, i: nn(lib).embedding_bag(i, w), (7, 5), d=("float32", "float16"),
           extra=([[0, 3, 3], [6, 1, 0]],)),
        _c(lambda lib, w, p, i, o: nn(lib).embedding_bag(i, w, o, per_sample_weights=p, mode="sum"),
           (7, 5), (7,), extra=(BAG, [0, 2, 2, 5])),
        _c(lambda lib, w, i: nn(lib).embedding_bag(i, w.clone(), max_norm=1.0), (7, 5),
           extra=([[0, 3, 3], [6, 1, 0]],))],
    "grid_sample": [
        *_sampled((2, 3, 6, 5), (2, 4, 3, 2)), *_sampled((2, 3, 4, 6, 5), (2, 3, 4, 2, 3)),
        _c(lambda lib, x, g: nn(lib).grid_sample(x, g * 40, "bilinear", "reflection", True),
           (1, 2, 1, 3), (1, 2, 2, 2))],
    "grid_sampler_2d": [_c(lambda lib, x, g: lib.grid_sampler_2d(x, g * 0.4, 0, 1, True),
                           (2, 3, 6, 5), (2, 4, 3, 2))],
    "grid_sampler_3d": [_c(lambda lib, x, g: lib.grid_sampler_3d(x, g * 0.4, 0, 1, False),
                           (1, 2, 3, 6, 5), (1, 2, 4, 3, 3))],
    "affine_grid_generator": [_c(lambda lib, x: lib.affine_grid_generator(x, (2, 3, 4, 5), True),
                                 (2, 2, 3))],
    "affine_grid": [_c(quiet(lambda lib, x, a=a, s=s: nn(lib).affine_grid(x, s, a)), shape)
                    for s, shape in (((2, 3, 4, 5), (2, 2, 3)), ((1, 2, 1, 4, 3), (1, 3, 4)))
                    for a in (False, True)],
    "ctc_loss": [
        *(_ctc(reduction=r) for r in ("none", "mean", "sum")),
        _ctc(blank=4), _ctc(zero_infinity=True, reduction="sum"),
        _c(lambda lib, x, t: nn(lib).ctc_loss(x.log_softmax(-1), t, (6, 6, 4), (4, 2, 0)),
           (6, 3, 5), extra=([1, 2, 2, 3, 3, 1],)),
        _c(lambda lib, x, t: nn(lib).ctc_loss(x.log_softmax(-1), t, (2,), (4,)), (6, 1, 5),
           extra=([1, 2, 2, 3],)),
        _c(lambda lib, x, t, n, m: nn(lib).ctc_loss(x.log_softmax(-1), t, n, m, reduction="none"),
           (6, 5), extra=([1, 2, 2, 3], 6, 4))],
}
IMAGES = NORMS | SIZES | SAMPLED
