"""LDL decompositions of symmetric and Hermitian matrices, and solving with them: ldl.cuh.

No library for GPUs has Hermitian ones.
"""
from __future__ import annotations

from flambeau.cuda.kernels.program import COMPLEX, GROUPS, PROGRAMS, Group, Program, Step

_DTYPES = ("float32", "float64", *COMPLEX)


def _unchecked(args: list, outs: list) -> bool:
    return not args[2]


for _key, _view, _accepts in (("linalg_ldl_factor_ex", 3, _unchecked),
                              ("linalg_ldl_solve", 3, None)):
    _name = _key.removeprefix("linalg_").removesuffix("_ex")
    GROUPS[_name] = Group(("ldl.cuh",), {_name: f"fl_{_name}<{{D}}>(c)"}, 4)
    PROGRAMS[_key] = Program(_name, _DTYPES, (Step(_name, policy="planes", view=_view),),
                             accepts=_accepts)
