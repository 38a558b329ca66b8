/* CUDA's words for a C++ compiler: what a kernel's text needs to run on the CPU. */
#pragma once
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define __global__
#define __device__
#define __host__
#define __constant__ static const
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

struct fl_dim3 {
    unsigned x, y, z;
};

#include "fibers.h"
#include "block.h"
#include "shared.h"
#include "warp.h"
#include "matrix.h"
#include "intrinsics.h"
#include "launch.h"
