"""Reading and writing by index, moving, and pooling: index.cuh and pool.cuh."""
from __future__ import annotations

from dataclasses import replace

from flambeau.cuda.kernels.program import (
    ALL,
    FLOATS,
    GROUPS,
    INTEGERS,
    PROGRAMS,
    Group,
    Program,
    Step,
)

_REAL = (*FLOATS, *INTEGERS)


def _add(key: str, call: str, views: int, over: int, dtypes=ALL, file: str = "index.cuh",
         **options) -> None:
    """One kernel, with a thread for each element of view ``over``."""
    name = key.replace(".", "_")
    GROUPS[name] = Group((file,), {name: f"{call}(c)"}, views)
    PROGRAMS[key] = Program(name, dtypes, (Step(name, view=over),), **options)


_add("gather", "fl_gather<{D}>", 3, 2)
_add("scatter.src", "fl_scatter<{D}, false>", 4, 1, beginning="first")
_add("scatter.value", "fl_scatter<{D}, true>", 3, 1, beginning="first")
_add("index_select", "fl_index_select<{D}>", 3, 2)
_add("embedding_lookup", "fl_embedding<{D}>", 3, 2)
_add("flip", "fl_flip<{D}>", 2, 1)
_add("tril", "fl_triangle<{D}, false>", 2, 1)
_add("triu", "fl_triangle<{D}, true>", 2, 1)
_add("constant_pad_nd", "fl_pad<{D}>", 2, 1)


def _no_masks(args: list, outs: list) -> bool:
    names = [str(t.dtype) for t in args[1] if t is not None]
    return bool(names) and not any("bool" in n or "uint8" in n for n in names)


def _plain_put(args: list, outs: list) -> bool:
    return not args[3] and args[2].dtype == args[0].dtype and _no_masks(args, outs)


_add("index", "fl_index<{D}>", 15, 1, accepts=_no_masks)
_add("index_put", "fl_index_put<{D}>", 15, 0, beginning="first", accepts=_plain_put)
PROGRAMS["cat"] = Program("", ALL, family="joining", dtype_of=-1)

_POOL = "pool.cuh"
for _key, _indices in (("max_pool2d_with_indices", "true"), ("max_pool2d_compact_indices", "true"),
                       ("max_pool2d_values", "false")):
    _add(_key, f"fl_max_pool<{{D}}, {_indices}>", 3, 1, _REAL, _POOL)
_add("avg_pool2d", "fl_avg_pool<{D}>", 2, 1, _REAL, _POOL)
_add("avg_pool2d_grad", "fl_avg_pool_grad<{D}>", 2, 1, FLOATS, _POOL)
_add("adaptive_mean", "fl_adaptive<{D}, false>", 2, 1, FLOATS, _POOL)
_add("adaptive_max", "fl_adaptive<{D}, true>", 3, 1, _REAL, _POOL)
_add("adaptive_mean_grad", "fl_adaptive_grad<{D}>", 2, 1, FLOATS, _POOL)
GROUPS["max_pool2d_grad"] = Group(
    ("order.cuh", _POOL, "pool_grad.cuh"),
    {"pooled_load": "fl_load_pooled(c)",
     "pooled_finish": "fl_max_pool_grad<{D}>(c)"}, 3)
PROGRAMS["max_pool2d_grad"] = Program(
    "max_pool2d_grad", FLOATS, (Step("pooled_load", view=1), Step("order3:tiles3"),
                                Step("order3:merge3"), Step("pooled_finish", view=1)),
    "sorting", beginning="zero")

# ---- other sizes, and grids ----------------------------------------------------------------------
def _not_bytes(args: list, outs: list) -> bool:
    return outs[0].ndim <= 5 and not args[2].startswith("bytes")


for _key, _back in (("resample", "false"), ("resample_grad", "true")):
    _add(_key, f"fl_{_key}<{{D}}>", 2, 1, (*FLOATS, "uint8"), "resample.cuh", accepts=_not_bytes)
    # Weights of bytes have sixteen bits: a kernel of its own finds how many behind the point.
    _name = _key.replace("resample", "resample_bytes")
    GROUPS[_name] = Group(("resample.cuh",), {f"{_name}_units": f"fl_byte_units<{_back}>(c)",
                                              _name: f"fl_{_name}<{{D}}>(c)"}, 2)
    PROGRAMS[_key] = replace(PROGRAMS[_key], otherwise=Program(
        _name, (*FLOATS, "uint8"), (Step(f"{_name}_units", policy="once"), Step(_name, view=1)),
        accepts=lambda args, outs: outs[0].ndim <= 5, scratch=32, scratch_view=-1))
_GRID = ("resample.cuh", "grid.cuh")
GROUPS["grid_sampler"] = Group(_GRID, {"grid_sample": "fl_grid_sample<{D}>(c)"}, 3)
PROGRAMS["grid_sampler"] = Program("grid_sampler", FLOATS, (Step("grid_sample", view=2),))
GROUPS["grid_sampler_grad"] = Group(
    _GRID, {"grid_by_grid": "fl_grid_sample_grad_grid<{D}>(c)",
            "grid_by_input": "fl_grid_sample_grad_input<{D}>(c)"}, 5)
PROGRAMS["grid_sampler_grad"] = Program(
    "grid_sampler_grad", FLOATS, (Step("grid_by_grid", view=2), Step("grid_by_input", view=1)),
    dtype_of=1, scratch=8, scratch_view=3)
