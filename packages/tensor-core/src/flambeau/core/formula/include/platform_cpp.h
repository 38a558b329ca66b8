/* Scalar helpers of rendered formulas: C++17, any compiler with GCC's builtins. */
#include <math.h>
#include <stdint.h>

#define FL_INLINE static inline __attribute__((always_inline))
#define FL_SLOW static __attribute__((noinline, unused))
#define FL_BIT_CAST(type, value) __builtin_bit_cast(type, value)
#define FL_INF_F32 __builtin_inff()
#define FL_INF_F64 __builtin_inf()
#define FL_BUILTIN(name) __builtin_##name
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define FL_HAS_FMA 1
#else
#define FL_HAS_FMA 0
#endif

