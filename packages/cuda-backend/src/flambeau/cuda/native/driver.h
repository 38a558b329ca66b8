/* What the launch path asks of a driver: NVIDIA's, found at run time, or the simulation's. */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum fl_copy_kind { FL_TO_DEVICE = 0, FL_TO_HOST = 1, FL_WITHIN = 2 };

/* Functions return 0, or a status for `error` of which the text describes the last failure. */
struct fl_driver {
    uint32_t struct_size, reserved;
    void *ctx;
    int (*launch)(void *ctx, int device, void *stream, void *function, const uint32_t *grid,
                  const uint32_t *block, uint32_t shared_bytes, const void *argument,
                  size_t bytes);
    /* Returns at once, but for FL_TO_HOST and for FL_TO_DEVICE of memory that is not pinned. */
    int (*copy)(void *ctx, int device, void *stream, void *to, const void *from, size_t bytes,
                int kind);
    int (*synchronize)(void *ctx, int device);
    const char *(*error)(void *ctx, int status);
};
