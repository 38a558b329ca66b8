/* Integers narrower than 64 bits: see narrow.h. Sums and products wrap. */
#include "pointwise/kernels/narrow.h"

namespace {

#define FL_WRAPPING(NAME, SIGN)                                                                  \
    struct NAME {                                                                                \
        template <class T> static T of(T a, T b) { return (T)((uint32_t)a SIGN (uint32_t)b); }   \
    }
FL_WRAPPING(Add, +);
FL_WRAPPING(Sub, -);
FL_WRAPPING(Mul, *);
FL_WRAPPING(And, &);
FL_WRAPPING(Or, |);
FL_WRAPPING(Xor, ^);
#define FL_COMPARING(NAME, SIGN)                                                                 \
    struct NAME {                                                                                \
        template <class T> static uint8_t of(T a, T b) { return a SIGN b; }                      \
    }
FL_COMPARING(Eq, ==);
FL_COMPARING(Ne, !=);
FL_COMPARING(Lt, <);
FL_COMPARING(Le, <=);
FL_COMPARING(Gt, >);
FL_COMPARING(Ge, >=);
struct Max {
    template <class T> static T of(T a, T b) { return a > b ? a : b; }
};
struct Min {
    template <class T> static T of(T a, T b) { return a < b ? a : b; }
};

template <class Op, class T>
void run(const void *left, int step_a, const void *right, int step_b, void *to, int64_t n) {
    const T *a = (const T *)left, *b = (const T *)right;
    auto *out = (decltype(Op::of(T(), T())) *)to;
    const T first = *a, second = *b;
    if (step_a && step_b) {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++)
            out[i] = Op::of(a[i], b[i]);
    } else if (step_a) {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++)
            out[i] = Op::of(a[i], second);
    } else {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++)
            out[i] = Op::of(first, b[i]);
    }
}

}  // namespace

#define FL_EACH(OP) {run<OP, uint8_t>, run<OP, int8_t>, run<OP, int16_t>, run<OP, int32_t>}

extern const fl_narrow_kernels FL_LEVEL(fl_narrow_kernels) = {
    {FL_EACH(Add), FL_EACH(Sub), FL_EACH(Mul), FL_EACH(Max), FL_EACH(Min), FL_EACH(And),
     FL_EACH(Or), FL_EACH(Xor), FL_EACH(Eq), FL_EACH(Ne), FL_EACH(Lt), FL_EACH(Le), FL_EACH(Gt),
     FL_EACH(Ge)}};
