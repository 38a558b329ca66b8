/* Rows beside a number: see wide.h. NaN wins where order decides, and of equal numbers the first
 * stays, as in the formulas: zeros have signs. */
#include "pointwise/kernels/wide.h"

namespace {

#define FL_WIDE_SIGN(NAME, SIGN)                                                                 \
    struct NAME {                                                                                \
        template <class T> static inline T of(T a, T b) { return a SIGN b; }                     \
    }
FL_WIDE_SIGN(Add, +);
FL_WIDE_SIGN(Sub, -);
FL_WIDE_SIGN(Mul, *);
FL_WIDE_SIGN(Div, /);
struct Max {
    template <class T> static inline T of(T a, T b) { return (b > a) | (b != b) ? b : a; }
};
struct Min {
    template <class T> static inline T of(T a, T b) { return (b < a) | (b != b) ? b : a; }
};

template <class Op, class T>
void run(const void *left, int step_a, const void *right, int step_b, void *to, int64_t n) {
    const T *a = (const T *)left, *b = (const T *)right;
    T *out = (T *)to;
    if (step_b == 0) {
        const T number = *b;
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++)
            out[i] = Op::of(a[step_a ? i : 0], number);
        return;
    }
    const T number = *a;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++)
        out[i] = Op::of(number, b[i]);
}

template <class T>
void clamp(const void *from, const void *low, const void *high, void *to, int64_t n) {
    const T *x = (const T *)from, least = *(const T *)low, most = *(const T *)high;
    T *out = (T *)to;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++)
        out[i] = Min::of(Max::of(x[i], least), most);
}

}  // namespace

#define FL_BOTH(OP) {run<OP, float>, run<OP, double>}

extern const fl_wide_kernels FL_LEVEL(fl_wide_kernels) = {
    {FL_BOTH(Add), FL_BOTH(Sub), FL_BOTH(Mul), FL_BOTH(Div), FL_BOTH(Max), FL_BOTH(Min)},
    {clamp<float>, clamp<double>, clamp<int64_t>}};
