/* Small whole powers: see power.h. */
#include "kernels/power.h"

namespace {

template <class T>
void square(const void *, const void *const *in, void *const *out, const fl_scalar *, int64_t n) {
    const T *x = (const T *)in[0];
    T *y = (T *)out[0];
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] * x[i];
}

template <class T>
void cube(const void *, const void *const *in, void *const *out, const fl_scalar *, int64_t n) {
    const T *x = (const T *)in[0];
    T *y = (T *)out[0];
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] * x[i] * x[i];
}

}  // namespace

extern const fl_power_kernels FL_LEVEL(fl_power_kernels) = {{square<float>, square<double>},
                                                            {cube<float>, cube<double>}};
