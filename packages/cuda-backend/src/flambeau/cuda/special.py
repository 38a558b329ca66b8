"""Kernels of special functions, whose text is the core's own C++ (``flambeau/special/*.h``).

They compute in double precision, or in integers, one element after the other, and are launched
like pointwise operators.
"""
from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources

from flambeau.cuda import source

#: What the headers ask for, in CUDA C++.
_WORDS = """
#define FL_DEVICE [[maybe_unused]] __device__
#define FL_NAN fl_bit_cast<double>(0x7ff8000000000000LL)
#define FL_INF FL_INF_F64
"""


@dataclass(frozen=True)
class Function:
    """A function of the headers: which of them has it, and how it is called.

    ``double a``, ``b`` and ``d`` (or ``int64_t``) are the operands; ``eps`` and ``sharp`` stand
    for where sums end, which follows from the dtype of the results.
    """

    header: str
    call: str
    kind: str = "f64"
    operands: int = 1


def _bessel(call: str, header: str = "bessel") -> Function:
    return Function(header, f"fl_{header}::{call}(a)")


def _pair(header: str, call: str, kind: str = "f64") -> Function:
    return Function(header, call, kind, 2)


_CHEBYSHEV = [f"{shifted}chebyshev_polynomial_{letter}" for shifted in ("", "shifted_")
              for letter in "tuvw"]
_STEPWISE = ("hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
             "legendre_polynomial_p")

#: Operators, and what computes an element of each.
FUNCTIONS = {
    "zeta": _pair("zeta", "fl_zeta(a, b)"),
    "igamma": _pair("igamma", "fl_igamma(a, b, eps)"),
    "igammac": _pair("igamma", "fl_igammac(a, b, eps)"),
    "gcd": _pair("integers", "fl_integers::gcd(a, b)", "i64"),
    "lcm": _pair("integers", "fl_integers::lcm(a, b)", "i64"),
    "standard_gamma_grad": _pair("implicit", "fl_gamma_slope(a, b, sharp)"),
    "dirichlet_grad": Function("implicit", "fl_beta_slope(a, b, d, sharp)", operands=3),
    "frexp": Function("frexp", "fl_split_exponent(a, &out0, &out1)"),
    "modified_bessel_k0": _bessel("k0"), "modified_bessel_k1": _bessel("k1"),
    "scaled_modified_bessel_k0": _bessel("scaled_k0"),
    "scaled_modified_bessel_k1": _bessel("scaled_k1"),
    "bessel_j0": _bessel("of_first_kind_0"), "bessel_j1": _bessel("of_first_kind_1"),
    "bessel_y0": _bessel("of_second_kind_0"), "bessel_y1": _bessel("of_second_kind_1"),
    "spherical_bessel_j0": _bessel("spherical_j0"), "airy_ai": _bessel("ai", "airy"),
    **{key: _pair("polynomials", f"fl_{key.replace('_polynomial', '')}(a, b)")
       for key in (*_CHEBYSHEV, *_STEPWISE)},
}
_HEADERS = {"airy": ("bessel_terms", "bessel", "airy"), "bessel": ("bessel_terms", "bessel")}
#: Where sums end, by whether results are float64.
_ENDS = {"eps": ("1.1e-16", "1e-10"), "sharp": ("1e-15", "1e-9")}


def kernel_name(key: str, wide: bool) -> str:
    """The kernel of an operator, with ``_near`` or ``_far`` to come."""
    ends = FUNCTIONS[key].call.endswith(tuple(f"{word})" for word in _ENDS))
    return f"s_{key}" + (f"_{'wide' if wide else 'narrow'}" if ends else "")


def group_of(key: str) -> str:
    """The module that an operator's kernels are compiled with."""
    return f"special_{FUNCTIONS[key].header}"


def module_names() -> list[tuple[str, str]]:
    """All (group, kind) pairs of special functions."""
    return sorted({(group_of(key), function.kind) for key, function in FUNCTIONS.items()})


@cache
def module(group: str) -> source.Module:
    """The module of the operators of one header."""
    header, parts, kernels = group.removeprefix("special_"), [source.prelude(), _WORDS], {}
    parts += [_text(name) for name in _HEADERS.get(header, (header,))]
    for key, function in FUNCTIONS.items():
        for wide in (True, False) if function.header == header else ():
            for near in (True, False):
                name = f"{kernel_name(key, wide)}_{'near' if near else 'far'}"
                if name not in kernels:
                    width = function.operands + (2 if key == "frexp" else 1)
                    kernels[name] = f"fl_call<{width}>"
                    parts.append(_kernel(name, function, width, wide, near))
    return source.Module("\n".join(parts), kernels)


def _text(name: str) -> str:
    """A header without its includes, which NVRTC would look for."""
    path = resources.files("flambeau.core").joinpath("include", "flambeau", "special", f"{name}.h")
    lines = path.read_text().splitlines()
    return "\n".join(line for line in lines if not line.startswith(("#include", "#pragma")))


def _kernel(name: str, function: Function, width: int, wide: bool, near: bool) -> str:
    own, suffix = source.C_TYPES[function.kind], "_near" if near else ""
    lines = [f"const {own} {operand} = fl_get{suffix}<{own}>(c, {k}, i);"
             for k, operand in enumerate("abd"[:function.operands])]
    if width - function.operands == 2:
        lines += [f"{own} out0;", "int32_t out1;", f"{function.call};",
                  f"fl_put<{own}>(c, {width - 2}, i, out0);",
                  f"fl_put<int64_t>(c, {width - 1}, i, out1);"]
    else:
        call = function.call
        for word, (if_wide, if_narrow) in _ENDS.items():
            call = call.replace(word, if_wide if wide else if_narrow)
        lines.append(f"fl_put{suffix}<{own}>(c, {width - 1}, i, {call});")
    body = "\n".join(f"        {line}" for line in lines)
    loop = "for (int64_t i = FL_THREAD; i < c.numel; i += FL_THREADS)"
    return (f'extern "C" __global__ void {name}(const fl_call<{width}> c) {{\n    {loop} {{\n'
            f"{body}\n    }}\n}}")
