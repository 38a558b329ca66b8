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
};

/* The stream that the calling thread works on; null is the default one. */
extern thread_local void *fl_current_stream;

/* Find the core's functions, of which every file has its own pointer; -1 with an exception. */
int fl_start_running(void);
int fl_start_packing(void);
int fl_start_programs(void);
int fl_start_families(void);

/* Runs kernels for a call: 0, -1 with an exception, or 1 where the call is Python's. */
int fl_run_planned(Device &d, const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs);

/* Raises what the backend makes of a failed launch or copy; returns -1. */
int fl_raise_status(Device &d, int status, PyObject *what);

/* A call's values for Python; null with an exception. */
PyObject *fl_handle_of(Device &d, const fl_op *op);
PyObject *fl_values(const fl_value *in, int n);
PyObject *fl_targets(const fl_op *op, fl_tensor *const *outs);
