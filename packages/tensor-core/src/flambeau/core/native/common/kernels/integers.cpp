/* Conversions between bools and integers: see integers.h. What does not fit wraps. */
#include "common/kernels/integers.h"
#include "common/kernels/convert.h"

namespace {

template <class S, class D> void move(const void *from, void *to, int64_t n) {
    const S *in = (const S *)from;
    D *out = (D *)to;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++)
        out[i] = convert<D>(in[i]);
}

}  // namespace

#define FL_FROM(S)                                                                               \
    { move<S, fl_bool>, move<S, uint8_t>, move<S, int8_t>, move<S, int16_t>, move<S, int32_t>,   \
      move<S, int64_t> }

extern const fl_integer_moves FL_LEVEL(fl_integer_moves) = {
    {FL_FROM(fl_bool), FL_FROM(uint8_t), FL_FROM(int8_t), FL_FROM(int16_t), FL_FROM(int32_t),
     FL_FROM(int64_t)}};
