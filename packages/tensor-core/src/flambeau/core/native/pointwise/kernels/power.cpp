/* Small whole powers: see power.h. */
#include "pointwise/kernels/power.h"
#include <cmath>

namespace {

template <class T, class Function>
inline void each(const void *const *in, void *const *out, int64_t n, Function function) {
    const T *x = (const T *)in[0];
    T *y = (T *)out[0];
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++)
        y[i] = function(x[i]);
}

#define POWER(name, expression)                                                                  \
    template <class T>                                                                           \
    void name(const void *, const void *const *in, void *const *out, const fl_scalar *,          \
              int64_t n) {                                                                       \
        each<T>(in, out, n, [](T x) { return expression; });                                     \
    }
POWER(square, x * x)
POWER(cube, x * x * x)
POWER(inverse, 1 / x)
POWER(inverse_square, 1 / (x * x))
POWER(root, std::sqrt(x))
POWER(inverse_root, 1 / std::sqrt(x))

}  // namespace

#define BOTH(name) {name<float>, name<double>}

extern const fl_power_kernels FL_LEVEL(fl_power_kernels) = {
    BOTH(square), BOTH(cube), BOTH(inverse), BOTH(inverse_square),
    BOTH(root), BOTH(inverse_root)};
