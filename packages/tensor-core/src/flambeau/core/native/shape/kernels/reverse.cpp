/* Lines copied backwards; the compiler turns whole registers around. */
#include "shape/kernels/reverse.h"

namespace {

struct Wide {
    uint64_t half[2];
};

template <class T> void reverse(const void *x, void *out, int64_t n) {
    const T *p = (const T *)x;
    T *q = (T *)out;
    for (int64_t i = 0; i < n; i++)
        q[i] = p[n - 1 - i];
}

}  // namespace

extern const fl_reverse_kernels FL_LEVEL(fl_reverse_kernels) = {
    {reverse<uint8_t>, reverse<uint16_t>, reverse<uint32_t>, reverse<uint64_t>, reverse<Wide>}};
