/* Multiplying numbers and looking whether all of them are finite, in one pass. */
#include "pointwise/kernels/unscale.h"
#include <string.h>

namespace {

/* Infinities and nan have all bits of the exponent set. */
template <class T, class Bits, Bits EXPONENT>
bool unscale(const T *x, T *out, int64_t n, double factor) {
    const T f = (T)factor;
    Bits bad = 0;
    for (int64_t i = 0; i < n; i++) {
        Bits bits;
        memcpy(&bits, x + i, sizeof bits);
        bad |= (Bits)((bits & EXPONENT) == EXPONENT);
        out[i] = x[i] * f;
    }
    return bad == 0;
}

}  // namespace

extern const fl_unscale_kernels FL_LEVEL(fl_unscale_kernels) = {
    unscale<float, uint32_t, 0x7f800000u>,
    unscale<double, uint64_t, 0x7ff0000000000000ull>};
