/* Scalar helpers of rendered formulas: CUDA C++17, also under NVRTC, which has no headers. */
#ifdef __CUDACC_RTC__
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#else
#include <math.h>
#include <stdint.h>
#include <string.h>
#endif

#define FL_INLINE [[maybe_unused]] static __device__ __forceinline__
#define FL_SLOW [[maybe_unused]] static __device__ __noinline__
template <class To, class From> FL_INLINE To fl_bit_cast(From from) {
    static_assert(sizeof(To) == sizeof(From), "a bit cast keeps the size");
    To to;
    memcpy(&to, &from, sizeof(To));
    return to;
}
#define FL_BIT_CAST(type, value) fl_bit_cast<type>(value)
#define FL_INF_F32 fl_bit_cast<float>(0x7f800000)
#define FL_INF_F64 fl_bit_cast<double>(0x7ff0000000000000LL)
#define FL_BUILTIN(name) name
#define FL_HAS_FMA 1

