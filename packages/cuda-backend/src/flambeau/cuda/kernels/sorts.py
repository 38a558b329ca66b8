"""What is made of an order, and sums by index in the order of their sources: order.cuh."""
from __future__ import annotations

from dataclasses import replace

from flambeau.cuda.kernels.program import (
    COMPLEX,
    FLOATS,
    GROUPS,
    INTEGERS,
    PROGRAMS,
    REAL,
    Group,
    Program,
    Step,
)

_FILE = ("order.cuh",)
_SUMS = (*FLOATS, *INTEGERS, *COMPLEX)
#: Kernels that see nothing but entries: one module for all dtypes.
for _views in (3, 4):
    GROUPS[f"order{_views}"] = Group(
        _FILE, {f"tiles{_views}": "fl_sort_tiles(c)", f"merge{_views}": "fl_merge_runs(c)"}, _views)
GROUPS["order4"].kernels["places4"] = "fl_load_places(c)"


def _steps(load: str, views: int, *finish: Step, view: int = 0) -> tuple[Step, ...]:
    home = f"order{views}"
    return (Step(load, view=view), Step(f"{home}:tiles{views}"), Step(f"{home}:merge{views}"),
            *finish)


def _sort(key: str, name: str, load: str, call: str, finish: Step, span: str = "dim",
          at: int = 1) -> None:
    kernels = {f"{name}_load": load, f"{name}_finish": call}
    GROUPS[name] = Group(_FILE, kernels, 3)
    PROGRAMS[key] = Program(name, REAL, _steps(f"{name}_load", 3, finish), "sorting", span=span,
                            span_parameter=at)


_ROWS = "fl_load_rows<{D}, %d>(c)"
_sort("sort", "sort", _ROWS % 2, "fl_take_order<{D}>(c)", Step("sort_finish", view=1))
_sort("topk", "topk", _ROWS % 3, "fl_take_order<{D}>(c)", Step("topk_finish", view=1), at=2)
#: Of long rows only the first entries are ordered.
GROUPS["topk"] = Group((*_FILE, "select.cuh"), GROUPS["topk"].kernels
                       | {"topk_select": "fl_select_rows<{D}, 3>(c)"}, 3)
PROGRAMS["topk"] = replace(PROGRAMS["topk"], steps=(Step("topk_load", "topk_select"),
                                                    *PROGRAMS["topk"].steps[1:]))
for _key, _how, _at in (("kthvalue", 0, 2), ("median.dim", 1, 1), ("nanmedian.dim", 2, 1)):
    _name = _key.replace(".", "_")
    _sort(_key, _name, _ROWS % -1, f"fl_take_rank<{{D}}, {_how}>(c)",
          Step(f"{_name}_finish", f"{_name}_select", "thread rows"), at=_at)
    GROUPS[_name] = Group((*_FILE, "select.cuh"), GROUPS[_name].kernels
                          | {f"{_name}_select": f"fl_select_rank<{{D}}, {_how}>(c)"}, 3)


def _sums(key: str, call: str, load: str, index: int, finish: Step, views: int, load_of: str = "",
          beginning: str = "first") -> None:
    GROUPS[key] = Group(_FILE, {f"{key}_finish": call} | ({f"{key}_load": load} if load else {}),
                        views)
    PROGRAMS[key] = Program(key, _SUMS, _steps(load_of or f"{key}_load", views, finish, view=index),
                            "sorting", beginning=beginning)


_sums("index_add", "fl_index_add<{D}>(c)", "fl_load_indices<3, 1>(c)", 1,
      Step("index_add_finish", view=2), 4)
PROGRAMS["index_add"] = replace(PROGRAMS["index_add"], dtypes=(*_SUMS, "bool"))
_sums("embedding_grad", "fl_embedding_grad<{D}>(c)", "fl_load_indices<2, 1>(c)", 1,
      Step("embedding_grad_finish", view=0), 3, beginning="zero")
_sums("scatter_add", "fl_scatter_add<{D}>(c)", "", 1, Step("scatter_add_finish", view=1), 4,
      "order4:places4")


def _same_dtypes(args: list, outs: list) -> bool:
    tensors = [t for t in args[:2] if hasattr(t, "dtype")]
    return len(tensors) == 2 and tensors[0].dtype == tensors[1].dtype


for _key, _buckets, _views in (("searchsorted", "false", 4), ("bucketize", "true", 3)):
    GROUPS[_key] = Group(_FILE, {_key: f"fl_searchsorted<{{D}}, {_buckets}>(c)"}, _views)
    PROGRAMS[_key] = Program(_key, REAL, (Step(_key, view=_views - 1),), accepts=_same_dtypes)
