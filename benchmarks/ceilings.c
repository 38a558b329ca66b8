/* What this machine can do at best, one thread's share: multiply-adds in registers. */
#include <stdint.h>

#if defined(__AVX512F__)
#define LANES 16
#elif defined(__AVX2__)
#define LANES 8
#else
#define LANES 4
#endif
typedef float vec __attribute__((vector_size(4 * LANES)));

/* Enough chains to hide the wait for each step. Returns floating point operations done. */
int64_t multiply_adds(int64_t rounds, float *sink) {
    vec a[12];
    const vec x = (vec){0} + 0.999f, y = (vec){0} + 1e-3f;
    for (int k = 0; k < 12; k++)
        a[k] = (vec){0} + (float)k;
    for (int64_t i = 0; i < rounds; i++) {
        for (int k = 0; k < 12; k++)
            a[k] = a[k] * x + y;
        for (int k = 0; k < 12; k++)
            __asm__ volatile("" : "+v"(a[k]));
    }
    for (int k = 0; k < 12; k++)
        *sink += a[k][0];
    return rounds * 12 * LANES * 2;
}
