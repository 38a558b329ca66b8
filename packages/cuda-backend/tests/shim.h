/* CUDA's words for a C++ compiler: one thread after the other, as loop variables. */
#pragma once
#include <math.h>
#include <stdint.h>
#include <string.h>

#define __global__
#define __device__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))

struct fl_dim3 {
    unsigned x, y, z;
};
static thread_local fl_dim3 blockIdx, threadIdx, blockDim, gridDim;

#define FL_LAUNCHER(kernel, argument)                                                            \
    extern "C" void launch_##kernel(const void *bytes, unsigned blocks, unsigned threads) {      \
        argument call;                                                                           \
        memcpy(&call, bytes, sizeof call);                                                       \
        gridDim.x = blocks;                                                                      \
        blockDim.x = threads;                                                                    \
        for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)                                  \
            for (threadIdx.x = 0; threadIdx.x < threads; threadIdx.x++)                          \
                kernel(call);                                                                    \
    }                                                                                            \
    extern "C" unsigned size_##kernel(void) { return sizeof(argument); }
