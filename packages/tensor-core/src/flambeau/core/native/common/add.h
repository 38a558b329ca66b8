/* Addition of two numbers of each compute kind, for operators that accumulate in place. */
#pragma once
#include "dispatch/core.h"

struct fl_pair32 {
    float re, im;
};
struct fl_pair64 {
    double re, im;
};

static inline float fl_plus(float a, float b) { return a + b; }
static inline double fl_plus(double a, double b) { return a + b; }
static inline int64_t fl_plus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static inline uint8_t fl_plus(uint8_t a, uint8_t b) { return a | b; }
static inline fl_pair32 fl_plus(fl_pair32 a, fl_pair32 b) { return {a.re + b.re, a.im + b.im}; }
static inline fl_pair64 fl_plus(fl_pair64 a, fl_pair64 b) { return {a.re + b.re, a.im + b.im}; }

#define FL_BY_KIND(kind, function, ...)                                                          \
    switch (kind) {                                                                              \
    case FL_K_F32: function<float>(__VA_ARGS__); break;                                          \
    case FL_K_F64: function<double>(__VA_ARGS__); break;                                         \
    case FL_K_I64: function<int64_t>(__VA_ARGS__); break;                                        \
    case FL_K_BOOL: function<uint8_t>(__VA_ARGS__); break;                                       \
    case FL_K_C64: function<fl_pair32>(__VA_ARGS__); break;                                      \
    default: function<fl_pair64>(__VA_ARGS__); break;                                            \
    }
