#include "rows.h"

#include <stddef.h>

#include "pack.h"

/* A warp takes a row of so many elements at most, a block a longer one. */
#define FL_WARP_ELEMENTS 1024
#define FL_WARPS 4
#define FL_BLOCK 256
#define FL_BLOCKS 65536

static void put_tensor(fl_arg &a, const fl_tensor *t, const int64_t *geometry) {
    a.data = t->data;
    a.dtype = t->dtype;
    a.is_number = 0;
    for (int k = 0; k < 3; k++)
        a.strides[k] = geometry[k];
}

int fl_run_fused_rows(Device &d, const Plan &plan, const fl_value *in, int n,
                      fl_tensor *const *outs, int nouts) {
    fl_widest_call call;
    const fl_value &geometry = in[n - 1];
    const int64_t *at = geometry.is + 2;
    const int count = n - 1 + nouts;
    call.ndim = 0;
    call.numel = call.shape[0] = geometry.is[0];
    const int64_t length = call.shape[1] = geometry.is[1];
    for (int k = 0; k < n - 1; k++) {
        if (in[k].tag != FL_TENSOR) {
            fl_pack_number(call.args[k], in[k]);
            continue;
        }
        put_tensor(call.args[k], in[k].t, at);
        at += 3;
    }
    for (int k = 0; k < nouts; k++, at += 3)
        put_tensor(call.args[n - 1 + k], outs[k], at);
    const bool is_short = length <= FL_WARP_ELEMENTS;
    const int64_t wanted = is_short ? (call.numel + FL_WARPS - 1) / FL_WARPS : call.numel;
    uint32_t grid[3] = {(uint32_t)(wanted < FL_BLOCKS ? wanted : FL_BLOCKS), 1, 1};
    uint32_t block[3] = {is_short ? 32 * FL_WARPS : FL_BLOCK, 1, 1};
    const size_t bytes = offsetof(fl_widest_call, args) + sizeof(fl_arg) * (size_t)count;
    int status = fl_launch(d, outs[0]->device_index, is_short ? plan.near : plan.far, grid, block,
                           0, &call, bytes);
    return status ? fl_raise_status(d, status, plan.name) : 0;
}
