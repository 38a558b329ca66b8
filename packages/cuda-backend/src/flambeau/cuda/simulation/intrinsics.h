/* Atomics, which nothing interrupts here, and functions of integers and bits. */

#define FL_ATOMIC(name, expression)                                                              \
    template <class T, class V> static T name(T *at, V given) {                                  \
        T old = *at, value = (T)given;                                                           \
        *at = (T)(expression);                                                                   \
        return old;                                                                              \
    }
FL_ATOMIC(atomicAdd, old + value)
FL_ATOMIC(atomicSub, old - value)
FL_ATOMIC(atomicExch, value)
FL_ATOMIC(atomicMax, value > old ? value : old)
FL_ATOMIC(atomicMin, value < old ? value : old)
FL_ATOMIC(atomicAnd, old & value)
FL_ATOMIC(atomicOr, old | value)
FL_ATOMIC(atomicXor, old ^ value)
#undef FL_ATOMIC

template <class T, class V, class W> static T atomicCAS(T *at, V expected, W value) {
    T old = *at;
    if (old == (T)expected)
        *at = (T)value;
    return old;
}

template <class T> static T __ldg(const T *at) { return *at; }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline unsigned __umulhi(unsigned a, unsigned b) {
    return (unsigned)((unsigned long long)a * b >> 32);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
template <class T> static T min(T a, T b) { return b < a ? b : a; }
template <class T> static T max(T a, T b) { return a < b ? b : a; }

struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(8) int2 { int x, y; };
struct alignas(16) int4 { int x, y, z, w; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(16) double2 { double x, y; };
