/* What one core of this machine can do at best: multiply-adds in registers. */
#include <stdint.h>

#if defined(__AVX512F__)
#define LANES 16
#elif defined(__AVX2__)
#define LANES 8
#else
#define LANES 4
#endif
typedef float vec __attribute__((vector_size(4 * LANES)));

/* Twelve chains hide the wait for each step. Returns floating point operations done. */
int64_t multiply_adds(int64_t rounds, float *sink) {
    const vec x = (vec){0} + 0.999f, y = (vec){0} + 1e-3f;
    vec a = x, b = x, c = x, d = x, e = x, f = x, g = x, h = x, i = x, j = x, k = x, l = x;
#define STEP(v) v = v * x + y; __asm__ volatile("" : "+x"(v));
    for (int64_t n = 0; n < rounds; n++) {
        STEP(a) STEP(b) STEP(c) STEP(d) STEP(e) STEP(f)
        STEP(g) STEP(h) STEP(i) STEP(j) STEP(k) STEP(l)
    }
    *sink += (a + b + c + d + e + f + g + h + i + j + k + l)[0];
    return rounds * 12 * LANES * 2;
}
