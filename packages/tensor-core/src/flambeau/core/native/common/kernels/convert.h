/* Element types and the conversions between them. Total: NaN, infinity and numbers out of range
 * become the least integer, as x86's conversion gives; floats become bool by `!= 0`. */
#pragma once
#include <math.h>
#include <stdint.h>
#include <string.h>

namespace {

struct fl_bool { uint8_t v; };
struct fl_f16 { uint16_t v; };
struct fl_bf16 { uint16_t v; };
struct fl_c32 { fl_f16 re, im; };
struct fl_c64 { float re, im; };
struct fl_c128 { double re, im; };

inline float from_bits(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }
inline uint32_t to_bits(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }

inline float widen(fl_bf16 x) { return from_bits((uint32_t)x.v << 16); }

/* Half to float: the exponent is moved by a multiplication, which also handles subnormals. */
inline float widen(fl_f16 x) {
    uint32_t magnitude = (uint32_t)(x.v & 0x7fff) << 13;
    float scaled = from_bits(magnitude) * 5.192296858534828e33f;    /* 2^112 */
    uint32_t special = (x.v & 0x7c00) == 0x7c00 ? (magnitude | 0x7f800000u) : to_bits(scaled);
    return from_bits(special | (uint32_t)(x.v & 0x8000) << 16);
}

inline fl_bf16 narrow_bf16(float f) {
    uint32_t u = to_bits(f);
    uint32_t rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
    return fl_bf16{(uint16_t)(f != f ? 0x7fc0 : rounded)};
}

/* Float to half, ties to even: subnormals by adding a magic number, normals by bit arithmetic. */
inline fl_f16 narrow_f16(float f) {
    uint32_t u = to_bits(f);
    uint32_t sign = (u >> 16) & 0x8000;
    uint32_t m = u & 0x7fffffff;
    uint32_t small = to_bits(from_bits(m) + 0.5f) - 0x3f000000u;
    uint32_t normal = (m - 0x38000000u + 0xfff + ((m >> 13) & 1)) >> 13;
    uint32_t big = m > 0x7f800000u ? 0x7e00u : 0x7c00u;
    uint32_t h = m >= 0x477ff000u ? big : m < 0x38800000u ? small : normal;
    return fl_f16{(uint16_t)(h | sign)};
}

/* Eight bits: a sign, an exponent, M bits of the mantissa. What exceeds the greatest number, whose
 * code is GREATEST, becomes OVERFLOWN; codes from FIRST_SPECIAL on are infinite or no numbers. With
 * ZERO_IS_POSITIVE the code of -0 is that of NaN instead. */
template <int M, int BIAS, int GREATEST, int OVERFLOWN, int FIRST_SPECIAL, bool ZERO_IS_POSITIVE>
struct fl_float8 {
    uint8_t v;

    float widened() const {
        const uint32_t magnitude = (uint32_t)(v & 0x7f) << (23 - M);
        uint32_t bits = to_bits(from_bits(magnitude) * from_bits((uint32_t)(254 - BIAS) << 23));
        if (ZERO_IS_POSITIVE)
            bits = v == 0x80 ? 0x7fc00000u : bits;
        else
            bits = (v & 0x7f) >= FIRST_SPECIAL ? magnitude << (M == 3 ? 1 : 0) | 0x7f800000u : bits;
        return from_bits(bits | (uint32_t)(v & 0x80) << 24);
    }

    /* Ties to even, as narrow_f16. */
    static fl_float8 narrowed(float f) {
        const uint32_t u = to_bits(f), m = u & 0x7fffffff;
        const uint32_t step = (uint32_t)(127 + 1 - BIAS - M + 23) << 23;
        const uint32_t small = to_bits(from_bits(m) + from_bits(step)) - step;
        const uint32_t half = (1u << (22 - M)) - 1;
        const uint32_t moved = m - ((uint32_t)(127 - BIAS) << 23);
        const uint32_t normal = (moved + half + ((m >> (23 - M)) & 1)) >> (23 - M);
        uint32_t code = m < (uint32_t)(128 - BIAS) << 23 ? small : normal;
        code = m >= 0x7f800000u || code > GREATEST ? (uint32_t)OVERFLOWN : code;
        uint32_t sign = (u >> 24) & 0x80;
        if (ZERO_IS_POSITIVE) {
            code = m > 0x7f800000u ? 0x80u : code;
            sign = code == 0 || code == 0x80 ? 0 : sign;
        } else {
            code = m > 0x7f800000u ? 0x7fu : code;
        }
        return fl_float8{(uint8_t)(code | sign)};
    }
};
typedef fl_float8<3, 7, 0x7e, 0x7e, 0x7f, false> fl_e4m3;
typedef fl_float8<2, 15, 0x7b, 0x7c, 0x7c, false> fl_e5m2;
typedef fl_float8<3, 8, 0x7f, 0x80, 0x80, true> fl_e4m3uz;
typedef fl_float8<2, 16, 0x7f, 0x80, 0x80, true> fl_e5m2uz;

/* A power of two, or NaN: the exponent alone. */
struct fl_e8m0 {
    uint8_t v;

    float widened() const {
        return from_bits(v == 0xff ? 0x7fc00000u : v ? (uint32_t)v << 23 : 0x00400000u);
    }

    /* The sign is dropped; the mantissa rounds to even, of which the implied bit is the last. */
    static fl_e8m0 narrowed(float f) {
        const uint32_t u = to_bits(f), exponent = (u >> 23) & 0xff;
        const bool up = (u & 0x400000) && (exponent > 0 || (u & 0x3fffff));
        return fl_e8m0{(uint8_t)(exponent == 0xff ? exponent : exponent + up)};
    }
};

inline int64_t float_to_int(double d) {
    bool fits = d >= -9223372036854775808.0 && d < 9223372036854775808.0;
    return fits ? (int64_t)d : INT64_MIN;
}

/* Every type opens to one of: itself (arithmetic), float (halves), complex. */
template <class T> inline T open(T x) { return x; }
inline int64_t open(fl_bool x) { return x.v != 0; }
inline float open(fl_f16 x) { return widen(x); }
inline float open(fl_bf16 x) { return widen(x); }
inline fl_c64 open(fl_c32 x) { return fl_c64{widen(x.re), widen(x.im)}; }
inline float open(fl_e4m3 x) { return x.widened(); }
inline float open(fl_e5m2 x) { return x.widened(); }
inline float open(fl_e4m3uz x) { return x.widened(); }
inline float open(fl_e5m2uz x) { return x.widened(); }
inline float open(fl_e8m0 x) { return x.widened(); }

template <class T> struct close_as {
    static T of(float x) { return (T)float_to_int(x); }
    static T of(double x) { return (T)float_to_int(x); }
    static T of(fl_c64 x) { return of(x.re); }
    static T of(fl_c128 x) { return of(x.re); }
    template <class I> static T of(I x) { return (T)x; }
};
/* What does not fit is the least int32, as the processor's own conversion has it. */
template <> struct close_as<int32_t> {
    static int32_t of(float x) {
        return x >= -2147483648.0f && x < 2147483648.0f ? (int32_t)x : INT32_MIN;
    }
    static int32_t of(double x) {
        return x > -2147483649.0 && x < 2147483648.0 ? (int32_t)x : INT32_MIN;
    }
    static int32_t of(fl_c64 x) { return of(x.re); }
    static int32_t of(fl_c128 x) { return of(x.re); }
    template <class I> static int32_t of(I x) { return (int32_t)x; }
};
template <> struct close_as<uint64_t> {
    static uint64_t of(float x) { return of((double)x); }
    static uint64_t of(double x) {
        bool high = x >= 9223372036854775808.0 && x < 18446744073709551616.0;
        return high ? (uint64_t)float_to_int(x - 9223372036854775808.0) + (1ull << 63)
                    : (uint64_t)float_to_int(x);
    }
    static uint64_t of(fl_c64 x) { return of(x.re); }
    static uint64_t of(fl_c128 x) { return of(x.re); }
    template <class I> static uint64_t of(I x) { return (uint64_t)x; }
};
template <> struct close_as<fl_bool> {
    static fl_bool of(fl_c64 x) { return fl_bool{(uint8_t)((x.re != 0) | (x.im != 0))}; }
    static fl_bool of(fl_c128 x) { return fl_bool{(uint8_t)((x.re != 0) | (x.im != 0))}; }
    template <class X> static fl_bool of(X x) { return fl_bool{(uint8_t)(x != 0)}; }
};
template <> struct close_as<float> {
    static float of(fl_c64 x) { return x.re; }
    static float of(fl_c128 x) { return (float)x.re; }
    template <class X> static float of(X x) { return (float)x; }
};
template <> struct close_as<double> {
    static double of(fl_c64 x) { return x.re; }
    static double of(fl_c128 x) { return x.re; }
    template <class X> static double of(X x) { return (double)x; }
};
template <> struct close_as<fl_f16> {
    template <class X> static fl_f16 of(X x) { return narrow_f16(close_as<float>::of(x)); }
};
template <> struct close_as<fl_bf16> {
    template <class X> static fl_bf16 of(X x) { return narrow_bf16(close_as<float>::of(x)); }
};
template <> struct close_as<fl_c64> {
    static fl_c64 of(fl_c64 x) { return x; }
    static fl_c64 of(fl_c128 x) { return fl_c64{(float)x.re, (float)x.im}; }
    template <class X> static fl_c64 of(X x) { return fl_c64{(float)x, 0}; }
};
template <> struct close_as<fl_c128> {
    static fl_c128 of(fl_c64 x) { return fl_c128{x.re, x.im}; }
    static fl_c128 of(fl_c128 x) { return x; }
    template <class X> static fl_c128 of(X x) { return fl_c128{(double)x, 0}; }
};

template <> struct close_as<fl_c32> {
    static fl_c32 of(fl_c64 x) { return fl_c32{narrow_f16(x.re), narrow_f16(x.im)}; }
    static fl_c32 of(fl_c128 x) { return of(fl_c64{(float)x.re, (float)x.im}); }
};
#define CLOSE_AS_FLOAT8(T)                                                                       \
    template <> struct close_as<T> { static T of(float x) { return T::narrowed(x); } };
CLOSE_AS_FLOAT8(fl_e4m3)
CLOSE_AS_FLOAT8(fl_e5m2)
CLOSE_AS_FLOAT8(fl_e4m3uz)
CLOSE_AS_FLOAT8(fl_e5m2uz)
CLOSE_AS_FLOAT8(fl_e8m0)
#undef CLOSE_AS_FLOAT8

template <class D, class S> struct converter {
    static D of(S x) { return close_as<D>::of(open(x)); }
};
template <class T> struct converter<T, T> {     /* bits as they are: bytes of any meaning */
    static T of(T x) { return x; }
};
template <class D, class S> inline D convert(S x) { return converter<D, S>::of(x); }

}  // namespace
