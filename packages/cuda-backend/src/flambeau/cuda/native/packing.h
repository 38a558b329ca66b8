/* Tensors and numbers of a call as a packet. */
#pragma once
#include "device.h"
#include "programs.h"

typedef fl_packet<FL_VIEWS> fl_widest_packet;

/* A view with all dimensions that a tensor may have. */
struct WideView {
    char *data;
    int32_t dtype, ndim;
    int64_t numel;
    int64_t shape[FL_MAX_DIMS], strides[FL_MAX_DIMS];
};

/* A call's packet and what it holds until the launches are under way. */
struct Packed {
    fl_widest_packet packet;
    fl_value values[FL_MAX_PARAMS];
    WideView wide[FL_VIEWS];
    PyObject *held[FL_VIEWS + FL_MAX_PARAMS];
    int held_count = 0, views = 0;

    ~Packed();
    /* Tensors of the host are copied to the device; 0, -1, or 1 where something does not fit. */
    int take(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs);
    /* Dimensions of a row come last, and neighbours that all views walk as one are one. */
    void arrange(const Program &program);
    /* Puts the views into the packet; 1 where one has more dimensions than kernels take. */
    int close();
    int hold(PyObject *object);
};
