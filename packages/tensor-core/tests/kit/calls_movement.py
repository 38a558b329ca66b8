"""Calls of the rows that move, join, split, pad, write by position and search; see calls.py."""

from __future__ import annotations

from calls import ALL, FLOATS, NUMBERS, REAL, _c, nn

BOTH = ("float32", "int64")
PLACES = [3, 0, 3]
MASK = [[True, False, True], [False, False, True]]
INDEX = [[0, 2, 1], [2, 2, 0]]


def _view_copies():
    calls = {
        "alias_copy": lambda lib, x: lib.alias_copy(x), "t_copy": lambda lib, x: lib.t_copy(x[0]),
        "detach_copy": lambda lib, x: lib.detach_copy(x),
        "as_strided_copy": lambda lib, x: lib.as_strided_copy(
            x.contiguous().clone(), (2, 3), (1, 2), 4),
        "diagonal_copy": lambda lib, x: lib.diagonal_copy(x, 1, 0, 2),
        "expand_copy": lambda lib, x: lib.expand_copy(x[:, :1], (3, 2, 5)),
        "narrow_copy": lambda lib, x: lib.narrow_copy(x, 1, 1, 2),
        "permute_copy": lambda lib, x: lib.permute_copy(x, (2, 0, 1)),
        "select_copy": lambda lib, x: lib.select_copy(x, 1, -1),
        "slice_copy": lambda lib, x: lib.slice_copy(x, 1, 1, 4, 2),
        "squeeze_copy": lambda lib, x: lib.squeeze_copy(x[:1]),
        "transpose_copy": lambda lib, x: lib.transpose_copy(x, 0, 2),
        "unfold_copy": lambda lib, x: lib.unfold_copy(x, 1, 2, 1),
        "unsqueeze_copy": lambda lib, x: lib.unsqueeze_copy(x, -1),
        "view_copy": lambda lib, x: lib.view_copy(x.contiguous(), (5, 12)),
        "split_copy": lambda lib, x: lib.split_copy(x, 2, 1),
        "split_with_sizes_copy": lambda lib, x: lib.split_with_sizes_copy(x, [1, 3], 1),
        "unbind_copy": lambda lib, x: lib.unbind_copy(x, 1),
        "view_as_complex_copy": lambda lib, x: lib.view_as_complex_copy(
            x.contiguous()[:, :, :2].contiguous()),
    }
    made = {key: [_c(function, d=BOTH)] for key, function in calls.items()}
    made["view_as_complex_copy"] = [_c(calls["view_as_complex_copy"])]
    made["view_as_real_copy"] = [_c(lambda lib, x: lib.view_as_real_copy(x), d=("complex64",))]
    return made


def _method(name, *args, shapes=((3, 4, 5),), d=BOTH, **kw):
    return _c(lambda lib, x: getattr(x, name)(*args, **kw), *shapes, d=d)


CALLS = {
    **_view_copies(),
    "view.dtype": [_c(lambda lib, x: x.contiguous().clone().view(lib.uint8)),
                   _c(lambda lib, x: x.contiguous().clone().view(lib.int32), d=("float32",)),
                   _c(lambda lib, x: x.contiguous().clone().view(lib.float64), (3, 4),
                      d=("float32",))],
    # ---- splits
    **{name: [_method(name, *given, d=ALL)] for name, given in (
        ("unsafe_split", (2, 1)), ("unsafe_split_with_sizes", ([1, 3, 0], 1)),
        ("unsafe_chunk", (3, 1)))},
    "split_with_sizes": [_method("split_with_sizes", [1, 3, 0], 1, d=ALL)],
    "tensor_split": [_method("tensor_split", 3, 1, shapes=((2, 7),), d=ALL),
                     _method("tensor_split", (1, 5, 3), -1),
                     _c(lambda lib, x: x.tensor_split(lib.tensor([1, 2]), 0))],
    "hsplit": [_method("hsplit", 2), _method("hsplit", [1, 2]),
               _method("hsplit", 3, shapes=((6,),))],
    "vsplit": [_method("vsplit", 3), _method("vsplit", [1])],
    "dsplit": [_method("dsplit", 5), _method("dsplit", (2, 3))],
    # ---- joins
    **{f"atleast_{n}d": [_c(lambda lib, x, name=f"atleast_{n}d": getattr(lib, name)(x), s)
                         for s in ((), (3,), (2, 3), (2, 3, 4))] for n in (1, 2, 3)},
    **{f"atleast_{n}d.list": [
        _c(lambda lib, a, b, name=f"atleast_{n}d": getattr(lib, name)(a, b), (), (3,)),
        _c(lambda lib, a, b, name=f"atleast_{n}d": getattr(lib, name)([a, b]), (2, 3), ())]
       for n in (1, 2, 3)},
    **{name: [_c(lambda lib, a, b, name=name: getattr(lib, name)((a, b)), *shapes)
              for shapes in (((2,), (2,)), ((2, 3), (2, 3)), ((2, 3, 2), (2, 3, 2)), ((), ()))]
       for name in ("hstack", "vstack", "dstack", "column_stack")},
    "block_diag": [_c(lambda lib, a, b, c: lib.block_diag(a, b, c), (2, 3), (4,), ()),
                   _c(lambda lib, a: lib.block_diag(a, a.int()), (2, 0))],
    "broadcast_tensors": [_c(lambda lib, a, b: lib.broadcast_tensors(a, b), (3, 1), (4,)),
                          _c(lambda lib, a, b: lib.broadcast_tensors(a, b), (), (0, 2))],
    "cartesian_prod": [_c(lambda lib, a, b, c: lib.cartesian_prod(a, b, c), (2,), (3,), (2,)),
                       _c(lambda lib, a: lib.cartesian_prod(a), (2,))],
    "combinations": [_c(lambda lib, a: lib.combinations(a), (4,)),
                     _c(lambda lib, a: lib.combinations(a, 3, True), (4,), d=BOTH),
                     _c(lambda lib, a: lib.combinations(a, 0), (4,)),
                     _c(lambda lib, a: lib.combinations(a, 3), (2,))],
    "meshgrid": [_c(lambda lib, a, b, c: lib.meshgrid(a, b, c, indexing="xy"), (2,), (3,), (1,)),
                 _c(lambda lib, a, b: lib.meshgrid([a, b], indexing="ij"), (2,), ())],
    # ---- shapes
    "adjoint": [_c(lambda lib, x: x.adjoint() * 1, d=(*BOTH, "complex64")),
                _c(lambda lib, x: x.mH * 1, d=("complex64",)),
                _c(lambda lib, x: x.H * 1, (3, 4), d=("complex64", "float32"))],
    "broadcast_to": [_method("broadcast_to", (2, 3, 4), shapes=((3, 1),), d=ALL)],
    "ravel": [_method("ravel", d=ALL), _method("ravel", shapes=((),))],
    "sum_to_size": [_method("sum_to_size", 4, 1), _method("sum_to_size", (1, 1, 5)),
                    _method("sum_to_size", 3, 4, 5), _method("sum_to_size", (), shapes=((2,),))],
    "tile": [_method("tile", 2), _method("tile", (2, 1, 3, 2)), _method("tile", (0,))],
    "diag": [_method("diag", shapes=((3,),), d=ALL), _method("diag", -1, shapes=((3, 4),)),
             _method("diag", 2, shapes=((2,),))],
    "diagflat": [_method("diagflat", 1, shapes=((2, 2),)), _method("diagflat", -2, shapes=((),))],
    "diag_embed": [_method("diag_embed", d=ALL), _method("diag_embed", 1, 0, 2),
                   _method("diag_embed", -2, 2, -4)],
    "diagonal_scatter": [_c(lambda lib, x, s: x.diagonal_scatter(s, 1), (3, 4), (3,), d=ALL)],
    "select_scatter": [_c(lambda lib, x, s: x.select_scatter(s, 1, -2), (3, 4, 2), (3, 2), d=ALL)],
    "slice_scatter": [_c(lambda lib, x, s: x.slice_scatter(s, 1, 1, 4, 2), (2, 5), (2, 2), d=ALL),
                      _c(lambda lib, x, s: x.slice_scatter(s), (2, 5), (2, 5))],
    "as_strided_scatter": [_c(lambda lib, x, s: x.contiguous().clone().as_strided_scatter(
        s, (2, 3), (1, 3), 2), (3, 4), (2, 3))],
    # ---- order
    "fliplr": [_method("fliplr")], "flipud": [_method("flipud")],
    "roll": [_method("roll", 2, 1, d=ALL), _method("roll", -7), _method("roll", (1, -2), (0, 2)),
             _method("roll", 3, 0, shapes=((0, 2),)), _method("roll", 0, 0),
             _method("roll", 1, shapes=((),))],
    "rot90": [_method("rot90", k, (0, 2)) for k in (-1, 0, 1, 2, 7)],
    "msort": [_method("msort", d=REAL)],
    "repeat_interleave": [_method("repeat_interleave", 2),
                          _method("repeat_interleave", 3, 1, d=ALL),
                          _c(lambda lib, x, r: x.repeat_interleave(r, 1), (2, 3),
                             extra=([2, 0, 1],), d=BOTH),
                          _c(lambda lib, x, r: x.repeat_interleave(r, 0, output_size=4), (2, 3),
                             extra=([2],)), _method("repeat_interleave", 2, shapes=((),))],
    "repeat_interleave.indices": [_c(lambda lib, x, r: lib.repeat_interleave(r), (1,),
                                    extra=([2, 0, 3],))],
    # ---- borders
    "constant_pad_nd": [_c(lambda lib, x: lib.constant_pad_nd(x, (1, 2, 0, 3), 2), d=ALL),
                        _c(lambda lib, x: lib.constant_pad_nd(x, (-1, 2, 1, -2)), d=BOTH),
                        _c(lambda lib, x: lib.constant_pad_nd(x, (-3, -2)), d=BOTH),
                        _c(lambda lib, x: lib.constant_pad_nd(x, ()), d=BOTH)],
    "pad": [_c(lambda lib, x: nn(lib).pad(x, (1, 2), value=0.5)),
            *(_c(lambda lib, x, w=w, m=m: nn(lib).pad(x, w, m), shape)
              for m in ("reflect", "replicate", "circular")
              for w, shape in (((1, 2), (2, 4)), ((2, 1), (3, 2, 4)), ((1, 2, 2, 0), (2, 3, 4)),
                               ((0, 2, 1, 1, 1, 0), (2, 1, 3, 3, 4)), ((-1, 1), (2, 2, 4)),
                               ((1, 1), (0, 2, 4))))],
    "pixel_shuffle": [_c(lambda lib, x: nn(lib).pixel_shuffle(x, 2), (2, 8, 3, 2), d=BOTH)],
    "pixel_unshuffle": [_c(lambda lib, x: nn(lib).pixel_unshuffle(x, 2), (3, 4, 6), d=BOTH)],
    "channel_shuffle": [_c(lambda lib, x: nn(lib).channel_shuffle(x, 3), (2, 6, 2, 2))],
    # ---- writing by position
    "index_copy": [_c(lambda lib, x, s, i: x.index_copy(1, i, s), (3, 4, 2), (3, 2, 2),
                      extra=([3, 0],), d=ALL),
                   _c(lambda lib, x, s, i: x.index_copy(0, i, s), (5,), (3,), extra=([3, 0, 3],)),
                   _c(lambda lib, x, s, i: x.index_copy_(0, i, s), (3, 4100), (2, 4100),
                      extra=([2, 2],), d=("float32",)),
                   _c(lambda lib, x, s, i: x.index_copy(0, i, s), (), (), extra=([0],))],
    "index_fill": [_c(lambda lib, x, i: x.index_fill(1, i, 2), (3, 4, 2), extra=([3, -4],), d=ALL),
                   _c(lambda lib, x, i: x.index_fill_(0, i, lib.tensor(2)), (5,), extra=(PLACES,)),
                   _c(lambda lib, x, i: x.index_fill(0, i, 7), (), extra=([0],))],
    "index_reduce": [_c(lambda lib, x, s, i, r=r, w=w: x.index_reduce(0, i, s, r, include_self=w),
                        (4, 3), (3, 3), extra=(PLACES,), d=("float32", "float64", "int32"))
                     for r in ("prod", "mean", "amax", "amin") for w in (True, False)],
    "scatter_reduce": [_c(lambda lib, x, s, i, r=r, w=w: x.scatter_reduce(
        1, i, s, r, include_self=w), (3, 4), (2, 3), extra=(INDEX,), d=(*FLOATS, "int32", "int64"),
        factor=4) for r in ("sum", "prod", "mean", "amax", "amin") for w in (True, False)] + [
        _c(lambda lib, x, s, i: x.scatter_reduce(0, i, s, "sum"), (3, 4), (2, 3), extra=(INDEX,),
           d=("complex64", "bool"))],
    "scatter.reduce": [_c(lambda lib, x, s, i, r=r: x.scatter(0, i, s, reduce=r), (3, 4), (2, 3),
                          extra=(INDEX,), d=BOTH) for r in ("add", "multiply")],
    "scatter.value_reduce": [_c(lambda lib, x, i: x.scatter(0, i, 3, reduce="add"), (3, 4),
                                extra=(INDEX,), d=BOTH)],
    "masked_scatter": [_c(lambda lib, x, s, m: x.masked_scatter(m, s), (2, 3), (3, 2),
                          extra=(MASK,), d=ALL),
                       _c(lambda lib, x, s, m: x.masked_scatter(m, s), (3,), (7,), extra=(MASK,)),
                       _c(lambda lib, x: x.masked_scatter_(x > 0, x * 2), (3, 40000),
                          d=("float32",))],
    "put": [_c(lambda lib, x, s, i: x.put(i, s), (3, 4), (3,), extra=([3, -1, 0],), d=ALL),
            _c(lambda lib, x, s, i: x.put_(i, s, True), (3, 4), (3,), extra=([3, -1, 3],), d=BOTH)],
    "take": [_c(lambda lib, x, i: x.take(i), (3, 4), extra=([[3, -1], [0, 11]],), d=ALL)],
    "take_along_dim": [_c(lambda lib, x, i: x.take_along_dim(i, 1), (2, 4), extra=(INDEX,), d=ALL),
                       _c(lambda lib, x, i: lib.take_along_dim(x, i[:1], 1), (2, 4),
                          extra=(INDEX,)),
                       _c(lambda lib, x, i: lib.take_along_dim(x, i), (2, 4), extra=(INDEX,))],
    "argwhere": [_c(lambda lib, x: x.argwhere(), d=BOTH),
                 _c(lambda lib, x: x.argwhere(), (), d=BOTH)],
    "nonzero_static": [_c(lambda lib, x: x.nonzero_static(size=5), d=BOTH),
                       _c(lambda lib, x: lib.nonzero_static(x, size=20, fill_value=3), d=BOTH)],
    "nonzero.tuple": [_c(lambda lib, x: x.nonzero(as_tuple=True), d=BOTH),
                      _c(lambda lib, x: lib.nonzero(x, as_tuple=True), (), d=BOTH)],
    "where.indices": [_c(lambda lib, x: lib.where(x), d=BOTH),
                     _c(lambda lib, x: lib.where(x > 0), (), d=BOTH)],
    "unravel_index": [
        _c(lambda lib, x, i: lib.unravel_index(i, (2, 3, 4)), (1,), extra=([[0, 23, 7]],)),
        _c(lambda lib, x, i: lib.unravel_index(i.int(), 9), (1,), extra=([5, -1],)),
        _c(lambda lib, x, i: lib.unravel_index(i, (1 << 30, 5)), (1,), extra=([[5 << 29]],))],
    # ---- searching
    "searchsorted": [
        _c(lambda lib, s, v: lib.searchsorted(s.sort()[0], v), (7,), (3, 5), d=NUMBERS[:-2]),
        _c(lambda lib, s, v: lib.searchsorted(s.sort()[0], v, right=True, out_int32=True), (2, 9),
           (2, 5), d=BOTH),
        _c(lambda lib, s, v: lib.searchsorted(s, v, side="right", sorter=s.argsort()), (2, 9),
           (2, 5)),
        _c(lambda lib, s: lib.searchsorted(s.sort()[0], 0.5), (7,)),
        _c(lambda lib, s, v: lib.searchsorted(s.sort()[0], v / 0), (7,), (9,))],
    "bucketize": [_c(lambda lib, v, s: lib.bucketize(v, s.sort()[0]), (3, 5), (7,), d=BOTH),
                  _c(lambda lib, v, s: lib.bucketize(v, s.sort()[0], right=True), (3, 5), (7,)),
                  _c(lambda lib, s: lib.bucketize(1, s.sort()[0]), (7,), d=BOTH)],
    "unique": [_c(lambda lib, x: lib.unique(x), (3, 40), d=REAL),
               _c(lambda lib, x: lib.unique(x, return_inverse=True, return_counts=True), (3, 40),
                  d=("int32", "bool")),
               _c(lambda lib, x: x.unique(return_counts=True, dim=1), (2, 40), d=("bool",)),
               _c(lambda lib, x: x.unique(return_inverse=True, dim=0), (40, 1), d=("int32",)),
               _c(lambda lib, x: x.unique(return_inverse=True, return_counts=True), (0,), d=BOTH)],
    "unique_consecutive": [
        _c(lambda lib, x: lib.unique_consecutive(x, return_inverse=True, return_counts=True),
           (3, 40), d=("int32", "bool")),
        _c(lambda lib, x: x.unique_consecutive(dim=0), (40, 1), d=("bool",))],
    "segment_reduce": [
        _c(lambda lib, x, n, r=r, i=i: lib.segment_reduce(x, r, lengths=n, initial=i), (6, 2),
           extra=([2, 0, 4],), d=("float32", "float64"))
        for r in ("sum", "mean", "max", "min", "prod") for i in (None, 0.5)] + [
        _c(lambda lib, x, n: lib.segment_reduce(x, "sum", offsets=n, axis=1), (2, 5),
           extra=([[0, 2, 5], [0, 4, 5]],), d=("float64",))],
    "isin": [_c(lambda lib, x, t: lib.isin(x, t), (3, 40), (n,), d=("int32", "int64", "uint8"))
             for n in (0, 3, 30)] + [
        _c(lambda lib, x, t: lib.isin(x, t, invert=True), (3, 4), (40,)),
        _c(lambda lib, x: lib.isin(x, 1), (9,), d=BOTH),
        _c(lambda lib, x: lib.isin(1, x), (9,), d=("int32",))],
}

#: Rows without a call here, and the test that covers each.
ELSEWHERE = {
    "repeat_indices": "repeat_interleave.indices", "row_order": "unique",
    "isin_of": "isin", "pdist_euclidean": "pdist", "cdist_of": "cdist",
    "pad_by": "pad", "pad_by_grad": "autograd's gradcheck", "randint_like": "test_movement.py",
    "randint_like.low": "test_movement.py",
}
