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

inline int64_t float_to_int(double d) {
    bool fits = d >= -9223372036854775808.0 && d < 9223372036854775808.0;
    return fits ? (int64_t)d : INT64_MIN;
}

/* Every type opens to one of: itself (arithmetic), float (halves), complex. */
template <class T> inline T open(T x) { return x; }
inline int64_t open(fl_bool x) { return x.v != 0; }
inline float open(fl_f16 x) { return widen(x); }
inline float open(fl_bf16 x) { return widen(x); }

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

template <class D, class S> struct converter {
    static D of(S x) { return close_as<D>::of(open(x)); }
};
template <class T> struct converter<T, T> {     /* bits as they are: bytes of any meaning */
    static T of(T x) { return x; }
};
template <class D, class S> inline D convert(S x) { return converter<D, S>::of(x); }

}  // namespace
