/* The part of the DLPack exchange format (dmlc.github.io/dlpack, version 1) that is used here. */
#ifndef FLAMBEAU_DLPACK_H
#define FLAMBEAU_DLPACK_H
#include <stdint.h>

typedef struct { uint32_t major, minor; } fl_dl_version;
typedef struct { int32_t device_type, device_id; } fl_dl_device;
typedef struct { uint8_t code, bits; uint16_t lanes; } fl_dl_dtype;
typedef struct {
    void *data;
    fl_dl_device device;
    int32_t ndim;
    fl_dl_dtype dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} fl_dl_tensor;
typedef struct fl_dl_managed {
    fl_dl_tensor tensor;
    void *context;
    void (*deleter)(struct fl_dl_managed *);
} fl_dl_managed;
typedef struct fl_dl_versioned {
    fl_dl_version version;
    void *context;
    void (*deleter)(struct fl_dl_versioned *);
    uint64_t flags;             /* 1: read only, 2: copied */
    fl_dl_tensor tensor;
} fl_dl_versioned;
#endif
