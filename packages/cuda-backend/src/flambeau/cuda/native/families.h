/* Programs whose launches depend on sizes. */
#pragma once
#include "packing.h"

#define FL_MOST_BLOCKS 65536

/* A program on its way. */
struct Running {
    Device &device;
    const Plan &plan;
    const Program &program;
    Packed &packed;
    fl_tensor *const *outs;
};

/* 0, or -1 with an exception. */
int fl_launch_items(Running &r, void *function, int64_t blocks, uint32_t threads, int64_t items);
int fl_take_scratch(Running &r, int which, size_t bytes);
int fl_run_step(Running &r, const Step &step);

int fl_run_reduction(Running &r);
int fl_run_sorting(Running &r);
/* Of few long rows each has several blocks, whose kernels are the steps after the first. */
int fl_run_spread(Running &r, int parted_steps);
/* 32 neighbouring elements of a view for a block; `many` joins what several blocks found. */
int fl_run_columns(Running &r, const Step &step);
/* Parts of a view; `many` joins the sums of several. */
int fl_run_parts(Running &r, const Step &step);
int fl_run_joining(Device &d, const fl_value *in, fl_tensor *out);
