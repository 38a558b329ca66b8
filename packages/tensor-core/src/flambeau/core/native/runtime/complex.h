/* Complex numbers as the compiler knows them: two parts side by side, and the arithmetic of
 * std::complex, bit by bit. <complex> would take longer to read than most files to compile. */
#ifndef FLAMBEAU_RUNTIME_COMPLEX_H
#define FLAMBEAU_RUNTIME_COMPLEX_H
#include <cmath>

typedef _Complex float fl_complex64;
typedef _Complex double fl_complex128;

static inline fl_complex64 fl_complex_of(float real, float imag) {
    fl_complex64 z;
    __real__ z = real;
    __imag__ z = imag;
    return z;
}
static inline fl_complex128 fl_complex_of(double real, double imag) {
    fl_complex128 z;
    __real__ z = real;
    __imag__ z = imag;
    return z;
}

/* Of real numbers too, for templates over both. */
static inline float fl_magnitude(float x) { return std::abs(x); }
static inline double fl_magnitude(double x) { return std::abs(x); }
static inline float fl_magnitude(fl_complex64 z) { return __builtin_cabsf(z); }
static inline double fl_magnitude(fl_complex128 z) { return __builtin_cabs(z); }
static inline float fl_real_part(float x) { return x; }
static inline double fl_real_part(double x) { return x; }
static inline float fl_real_part(fl_complex64 z) { return __real__ z; }
static inline double fl_real_part(fl_complex128 z) { return __real__ z; }
static inline double fl_imag_part(fl_complex128 z) { return __imag__ z; }
#endif
