/* Define FL_COMPLEX_TYPES where fl_c64 and fl_c128 already exist as pairs re, im. */
#ifndef FL_COMPLEX_TYPES
struct fl_c64 {
    float re, im;
};
struct fl_c128 {
    double re, im;
};
#endif

/* Integers: wraparound through the unsigned type, no undefined case. */
#define FL_INTEGER(T, U, W)                                                                      \
    FL_INLINE T fl_add_##W(T a, T b) { return (T)((U)a + (U)b); }                                \
    FL_INLINE T fl_sub_##W(T a, T b) { return (T)((U)a - (U)b); }                                \
    FL_INLINE T fl_mul_##W(T a, T b) { return (T)((U)a * (U)b); }                                \
    FL_INLINE T fl_neg_##W(T a) { return (T)((U)0 - (U)a); }                                     \
    FL_INLINE T fl_abs_##W(T a) { return a < 0 ? fl_neg_##W(a) : a; }                            \
    FL_INLINE T fl_minimum_##W(T a, T b) { return a < b ? a : b; }                               \
    FL_INLINE T fl_maximum_##W(T a, T b) { return a > b ? a : b; }                               \
    FL_INLINE T fl_truncdiv_##W(T a, T b) {                                                      \
        const T safe = ((b == 0) | (b == -1)) ? (T)1 : b;                                        \
        return b == 0 ? (T)0 : b == -1 ? fl_neg_##W(a) : (T)(a / safe);                          \
    }                                                                                            \
    FL_INLINE T fl_rem_##W(T a, T b) {                                                           \
        const T safe = ((b == 0) | (b == -1)) ? (T)1 : b;                                        \
        return (T)(a % safe);                                                                    \
    }                                                                                            \
    FL_INLINE T fl_floordiv_##W(T a, T b) {                                                      \
        const T r = fl_rem_##W(a, b);                                                            \
        const T q = fl_truncdiv_##W(a, b);                                                       \
        return (r != 0 && (r < 0) != (b < 0)) ? fl_sub_##W(q, 1) : q;                            \
    }                                                                                            \
    FL_INLINE T fl_mod_##W(T a, T b) {                                                           \
        const T r = fl_rem_##W(a, b);                                                            \
        return (r != 0 && (r < 0) != (b < 0)) ? fl_add_##W(r, b) : r;                            \
    }                                                                                            \
    FL_INLINE T fl_ipow_##W(T a, T b) {                                                          \
        const T unit = a == 1 ? 1 : a == -1 ? ((b & 1) ? -1 : 1) : 0;                            \
        U result = 1, square = (U)a;                                                             \
        for (T rest = b; rest > 0; rest >>= 1) {                                                 \
            result = (rest & 1) ? result * square : result;                                      \
            square *= square;                                                                    \
        }                                                                                        \
        return b < 0 ? unit : (T)result;                                                         \
    }                                                                                            \
    FL_INLINE T fl_shl_near_##W(T a, T b) { return (T)((U)a << b); }                             \
    FL_INLINE T fl_shr_near_##W(T a, T b) { return (T)(a >> b); }                                \
    FL_INLINE T fl_shru_near_##W(T a, T b) { return (T)((U)a >> b); }                            \
    FL_INLINE T fl_shl_##W(T a, T b) {                                                           \
        const U top = 8 * sizeof(T) - 1;                                                         \
        return (U)b > top ? (T)0 : (T)((U)a << ((U)b & top));                                    \
    }                                                                                            \
    FL_INLINE T fl_shr_##W(T a, T b) {                                                           \
        const U top = 8 * sizeof(T) - 1;                                                         \
        return (T)(a >> ((U)b > top ? top : (U)b));                                              \
    }                                                                                            \
    FL_INLINE T fl_shru_##W(T a, T b) {                                                          \
        const U top = 8 * sizeof(T) - 1;                                                         \
        return (U)b > top ? (T)0 : (T)((U)a >> ((U)b & top));                                    \
    }                                                                                            \
    FL_INLINE float fl_f32_##W(T a) { return (float)a; }                                         \
    FL_INLINE double fl_f64_##W(T a) { return (double)a; }                                       \
    FL_INLINE int32_t fl_i32_##W(T a) { return (int32_t)a; }                                     \
    FL_INLINE int64_t fl_i64_##W(T a) { return (int64_t)a; }                                     \
    FL_INLINE bool fl_bool_##W(T a) { return a != 0; }

FL_INTEGER(int32_t, uint32_t, i32)
FL_INTEGER(int64_t, uint64_t, i64)
#undef FL_INTEGER

/* Floats. S is the suffix of the C library's single-precision names. */
#define FL_FLOAT(T, W, S, I, N)                                                                  \
    FL_INLINE I fl_bits_##W(T a) { return FL_BIT_CAST(I, a); }                                   \
    FL_INLINE T fl_frombits_##N(I a) { return FL_BIT_CAST(T, a); }                               \
    FL_INLINE T fl_abs_##W(T a) { return FL_BUILTIN(fabs##S)(a); }                               \
    FL_INLINE T fl_sqrt_##W(T a) { return FL_BUILTIN(sqrt##S)(a); }                              \
    FL_INLINE T fl_floor_##W(T a) { return FL_BUILTIN(floor##S)(a); }                            \
    FL_INLINE T fl_ceil_##W(T a) { return FL_BUILTIN(ceil##S)(a); }                              \
    FL_INLINE T fl_trunc_##W(T a) { return FL_BUILTIN(trunc##S)(a); }                            \
    FL_INLINE T fl_rint_##W(T a) { return FL_BUILTIN(rint##S)(a); }                              \
    FL_INLINE T fl_copysign_##W(T a, T b) { return FL_BUILTIN(copysign##S)(a, b); }              \
    FL_INLINE T fl_minimum_##W(T a, T b) { return ((b < a) | (b != b)) ? b : a; }                \
    FL_INLINE T fl_maximum_##W(T a, T b) { return ((b > a) | (b != b)) ? b : a; }                \
    FL_INLINE float fl_f32_##W(T a) { return (float)a; }                                         \
    FL_INLINE double fl_f64_##W(T a) { return (double)a; }                                       \
    FL_INLINE bool fl_bool_##W(T a) { return a != 0; }

FL_FLOAT(float, f32, f, int32_t, i32)
FL_FLOAT(double, f64, , int64_t, i64)
#undef FL_FLOAT

#define FL_TO_INTEGER(T, W, I, N, LOW)                                                           \
    FL_INLINE I fl_##N##_##W(T a) {                                                              \
        const bool fits = (a >= (T)LOW) & (a < -(T)LOW);                                         \
        return fits ? (I)a : (I)LOW;                                                             \
    }
FL_TO_INTEGER(float, f32, int32_t, i32, -0x1p31)
FL_TO_INTEGER(float, f32, int64_t, i64, -0x1p63)
FL_TO_INTEGER(double, f64, int64_t, i64, -0x1p63)
#undef FL_TO_INTEGER
FL_INLINE int32_t fl_i32_f64(double a) {
    const bool fits = (a > -0x1.00000002p31) & (a < 0x1p31);
    return fits ? (int32_t)a : (-2147483647 - 1);
}

#if FL_HAS_FMA
FL_INLINE float fl_fma_f32(float a, float b, float c) { return FL_BUILTIN(fmaf)(a, b, c); }
FL_INLINE double fl_fma_f64(double a, double b, double c) { return FL_BUILTIN(fma)(a, b, c); }
FL_INLINE float fl_mul_err_f32(float a, float b) { return FL_BUILTIN(fmaf)(a, b, -(a * b)); }
FL_INLINE double fl_mul_err_f64(double a, double b) { return FL_BUILTIN(fma)(a, b, -(a * b)); }
#else
FL_INLINE float fl_fma_f32(float a, float b, float c) { return a * b + c; }
FL_INLINE double fl_fma_f64(double a, double b, double c) { return a * b + c; }
FL_INLINE float fl_mul_err_f32(float a, float b) {
    return (float)((double)a * (double)b - (double)(a * b));
}
/* Dekker's product: halves of 26 bits multiply exactly. Large factors are scaled down first. */
FL_INLINE double fl_mul_err_f64(double a, double b) {
    const double sa = fl_abs_f64(a) > 0x1p990 ? 0x1p-60 : 1.0;
    const double sb = fl_abs_f64(b) > 0x1p990 ? 0x1p-60 : 1.0;
    const double x = a * sa, y = b * sb;
    const double cx = 134217729.0 * x, cy = 134217729.0 * y;
    const double xh = cx - (cx - x), yh = cy - (cy - y);
    const double xl = x - xh, yl = y - yh;
    const double p = a * b * sa * sb;
    return (xl * yl - (((p - xh * yh) - xl * yh) - xh * yl)) / (sa * sb);
}
#endif

/* Bools. */
FL_INLINE bool fl_not_b(bool a) { return !a; }
FL_INLINE bool fl_bool_b(bool a) { return a; }
FL_INLINE float fl_f32_b(bool a) { return a ? 1.0f : 0.0f; }
FL_INLINE double fl_f64_b(bool a) { return a ? 1.0 : 0.0; }
FL_INLINE int32_t fl_i32_b(bool a) { return a ? 1 : 0; }
FL_INLINE int64_t fl_i64_b(bool a) { return a ? 1 : 0; }

/* The platform's mathematics library. */
FL_INLINE float fl_sin_f32(float a) { return sinf(a); }
FL_INLINE float fl_cos_f32(float a) { return cosf(a); }
FL_INLINE float fl_tan_f32(float a) { return tanf(a); }
#if defined(__GLIBC__)
FL_INLINE float fl_lgamma_f32(float a) { int sign; return lgammaf_r(a, &sign); }
FL_INLINE double fl_lgamma_f64(double a) { int sign; return lgamma_r(a, &sign); }
#else
FL_INLINE float fl_lgamma_f32(float a) { return lgammaf(a); }
FL_INLINE double fl_lgamma_f64(double a) { return lgamma(a); }
#endif
FL_INLINE float fl_fmod_f32(float a, float b) { return fmodf(a, b); }
FL_INLINE double fl_sin_f64(double a) { return sin(a); }
FL_INLINE double fl_cos_f64(double a) { return cos(a); }
FL_INLINE double fl_tan_f64(double a) { return tan(a); }
FL_INLINE double fl_fmod_f64(double a, double b) { return fmod(a, b); }

