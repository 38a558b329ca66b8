/* A device type: its driver, what it keeps, and the Python object that decides what calls run. */
#pragma once
#include <Python.h>
#include <flambeau/abi.h>
#include <atomic>
#include <unordered_map>

#include "blocks.h"
#include "driver.h"
#include "plans.h"

struct Device {
    PyObject *backend = nullptr;    /* a flambeau.core.backends.Backend */
    const fl_driver *driver = nullptr;
    int type = -1;
    Plans plans;
    Blocks blocks;
    std::unordered_map<const fl_op *, PyObject *> handles;      /* definitions as Python has them */
    std::atomic<int64_t> copies[3] = {}, copied_bytes[3] = {};     /* by enum fl_copy_kind */
    fl_backend contract = {};
    std::string name;
    bool blocking = false;          /* whether launches wait for their kernels */
};

/* The stream that the calling thread works on; null is the default one. */
void *fl_stream_of(const Device &d, int index);

/* Starts a kernel on that stream; a status of the driver. */
int fl_launch(Device &d, int index, void *function, const uint32_t *grid, const uint32_t *block,
              uint32_t shared_bytes, const void *argument, size_t bytes);

/* Find the core's functions, of which every file has its own pointer; -1 with an exception. */
int fl_start_running(void);
int fl_start_packing(void);
int fl_start_programs(void);
int fl_start_families(void);
int fl_start_updates(void);

/* Runs kernels for a call: 0, -1 with an exception, or 1 where the call is Python's. */
int fl_run_planned(Device &d, const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs);

/* Raises what the backend makes of a failed launch or copy; returns -1. */
int fl_raise_status(Device &d, int status, PyObject *what);

/* A call's values for Python; null with an exception. */
PyObject *fl_handle_of(Device &d, const fl_op *op);
PyObject *fl_values(const fl_value *in, int n);
PyObject *fl_targets(const fl_op *op, fl_tensor *const *outs);

/* Rows of tensors that an update rule writes; for Python. */
PyObject *fl_update_rows(PyObject *, PyObject *args);
