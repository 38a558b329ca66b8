"""Half precision: the processor's conversions where it has them, else arithmetic on bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau.jit.llvm.emitter import Emitter


def _of(out: Emitter, kind: str) -> str:
    """LLVM's type of an element or a vector of 16 bits."""
    return f"<{out.width} x {kind}>" if out.width else kind


def widen(out: Emitter, raw: str) -> str:
    """The float32 register of 16 bits; of vectors where the processor converts these."""
    if out.has_fma:         # processors with one have the other
        number = out.add(f"bitcast {_of(out, 'i16')} {raw} to {_of(out, 'half')}")
        return out.add(f"fpext {_of(out, 'half')} {number} to {out.type('f32')}")
    bits = out.add(f"zext i16 {raw} to i32")
    magnitude = out.add(f"shl i32 {out.add(f'and i32 {bits}, 32767')}, 13")
    # the exponent is moved by a product with 2**112, which is right for subnormals
    moved = out.add(f"fmul float {out.add(f'bitcast i32 {magnitude} to float')}, "
                    "0x46F0000000000000")
    is_special = out.add(f"icmp uge i32 {magnitude}, 260046848")        # infinity and NaN
    special = out.add(f"or i32 {magnitude}, 2139095040")
    number = out.add(f"bitcast float {moved} to i32")
    chosen = out.add(f"select i1 {is_special}, i32 {special}, i32 {number}")
    sign = out.add(f"shl i32 {out.add(f'and i32 {bits}, 32768')}, 16")
    return out.add(f"bitcast i32 {out.add(f'or i32 {chosen}, {sign}')} to float")


def narrow(out: Emitter, value: str) -> str:
    """The 16 bits nearest to a float32 register, even ones of two."""
    if out.has_fma:
        number = out.add(f"fptrunc {out.type('f32')} {value} to {_of(out, 'half')}")
        return out.add(f"bitcast {_of(out, 'half')} {number} to {_of(out, 'i16')}")
    bits = out.add(f"bitcast float {value} to i32")
    magnitude = out.add(f"and i32 {bits}, 2147483647")
    # subnormals: a half is added, which has their last bit as its own
    raised = out.add(f"fadd float {out.add(f'bitcast i32 {magnitude} to float')}, 5.0e-1")
    small = out.add(f"sub i32 {out.add(f'bitcast float {raised} to i32')}, 1056964608")
    last = out.add(f"and i32 {out.add(f'lshr i32 {magnitude}, 13')}, 1")
    biased = out.add(f"sub i32 {magnitude}, {0x38000000 - 0xFFF}")
    normal = out.add(f"lshr i32 {out.add(f'add i32 {biased}, {last}')}, 13")
    is_nan = out.add(f"icmp ugt i32 {magnitude}, {0x7F800000}")
    big = out.add(f"select i1 {is_nan}, i32 {0x7E00}, i32 {0x7C00}")
    is_small = out.add(f"icmp ult i32 {magnitude}, {0x38800000}")
    is_big = out.add(f"icmp uge i32 {magnitude}, {0x477FF000}")
    chosen = out.add(f"select i1 {is_small}, i32 {small}, i32 {normal}")
    chosen = out.add(f"select i1 {is_big}, i32 {big}, i32 {chosen}")
    sign = out.add(f"and i32 {out.add(f'lshr i32 {bits}, 16')}, 32768")
    return out.add(f"trunc i32 {out.add(f'or i32 {chosen}, {sign}')} to i16")
