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
struct Distance {
    template <class T> static T of(T a, T b) {
        return a > b ? (T)((uint32_t)a - (uint32_t)b) : (T)((uint32_t)b - (uint32_t)a);
    }
};

struct Order {
    template <class T> static T of(T a, T b) { return (T)((b > a) - (b < a)); }
};

/* Counts out of range shift all bits out; to the right the sign comes in. */
struct Left {
    template <class T> static T of(T a, T b) {
        const uint32_t count = (uint32_t)b;
        return (T)(count < 8 * sizeof(T) ? (uint32_t)a << (count & 31) : 0);
    }
};
struct Right {
    template <class T> static T of(T a, T b) {
        const uint32_t most = 31, count = (uint32_t)b;
        return (T)((int32_t)a >> (count < most ? count : most));
    }
};

/* Floats that hold all numbers of a dtype: processors divide floats several at a time. A quotient
 * can only round up to an integer that it does not reach where the dividend needs all bits of the
 * fraction. */
template <class T> struct float_of {
    typedef float type;
};
template <> struct float_of<int32_t> {
    typedef double type;
};

/* The one quotient that no int32 holds, of the least number and -1, wraps. */
template <class F> inline int32_t wrapped(F quotient) {
    const F beyond = 2147483648.0f;
    return (int32_t)(quotient == beyond ? -beyond : quotient);
}

inline float down(float x) { return __builtin_floorf(x); }
inline double down(double x) { return __builtin_floor(x); }

template <class T> inline auto quotient(T a, T b) {
    return (typename float_of<T>::type)a / (typename float_of<T>::type)b;
}
template <class T> inline T rest(T a, T b, int32_t times) {
    return (T)((uint32_t)a - (uint32_t)times * (uint32_t)b);
}
struct FloorDivide {
    template <class T> static T of(T a, T b) { return (T)wrapped(down(quotient(a, b))); }
};
struct Remainder {
    template <class T> static T of(T a, T b) { return rest(a, b, wrapped(down(quotient(a, b)))); }
};
struct Fmod {
    template <class T> static T of(T a, T b) { return rest(a, b, wrapped(quotient(a, b))); }
};
struct Both {
    template <class T> static uint8_t of(T a, T b) { return (a != 0) & (b != 0); }
};
struct Either {
    template <class T> static uint8_t of(T a, T b) { return (a | b) != 0; }
};
struct One {
    template <class T> static uint8_t of(T a, T b) { return (a != 0) != (b != 0); }
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

template <class T>
void clamp(const void *from, int64_t low, int64_t high, void *to, int64_t n) {
    const T *x = (const T *)from, least = (T)low, most = (T)high;
    T *out = (T *)to;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++)
        out[i] = Min::of(Max::of(x[i], least), most);
}

}  // namespace

#define FL_EACH(OP) {run<OP, uint8_t>, run<OP, int8_t>, run<OP, int16_t>, run<OP, int32_t>}
/* Where bytes give the same bits with a sign and without. */
#define FL_BITS(OP) {run<OP, uint8_t>, run<OP, uint8_t>, run<OP, int16_t>, run<OP, int32_t>}

extern const fl_narrow_kernels FL_LEVEL(fl_narrow_kernels) = {
    {FL_BITS(Add), FL_BITS(Sub), FL_BITS(Mul), FL_EACH(Max), FL_EACH(Min), FL_BITS(And),
     FL_BITS(Or), FL_BITS(Xor), FL_EACH(Distance), FL_EACH(Order), FL_BITS(Left), FL_EACH(Right),
     FL_EACH(FloorDivide), FL_EACH(Remainder), FL_EACH(Fmod), FL_BITS(Eq), FL_BITS(Ne),
     FL_EACH(Lt), FL_EACH(Le), FL_EACH(Gt), FL_EACH(Ge), FL_BITS(Both), FL_BITS(Either),
     FL_BITS(One)},
    {clamp<uint8_t>, clamp<int8_t>, clamp<int16_t>, clamp<int32_t>}};
