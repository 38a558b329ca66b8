/* flambeau.cuda._launch: device types whose calls need no Python once their kinds are known. */
#include "device.h"

#include "libcuda.h"
#include "streams.h"

/* ---- the contract of backends (flambeau/abi.h) -------------------------------------------------- */
static int allocate(void *ctx, int index, size_t bytes, char **data, PyObject **owner) {
    Device &d = *(Device *)ctx;
    *owner = d.blocks.take(index, fl_stream_of(d, index), bytes, data);
    return *owner ? 0 : -1;
}

static int copy(void *ctx, int index, char *to, const char *from, size_t bytes, int kind) {
    Device &d = *(Device *)ctx;
    d.copies[kind].fetch_add(1, std::memory_order_relaxed);
    d.copied_bytes[kind].fetch_add((int64_t)bytes, std::memory_order_relaxed);
    int status = d.driver->copy(d.driver->ctx, index, fl_stream_of(d, index), to, from, bytes,
                                kind | fl_copy_flags());
    if (!status)
        return 0;
    PyObject *what = PyUnicode_FromFormat("a copy of %zu bytes", bytes);
    fl_raise_status(d, status, what);
    Py_XDECREF(what);
    return -1;
}

static int run_in_python(Device &d, const fl_op *op, const fl_value *in, int n,
                         fl_tensor *const *outs) {
    PyObject *handle = fl_handle_of(d, op), *values = nullptr, *targets = nullptr,
             *known = nullptr;
    if (handle && (values = fl_values(in, n)) && (targets = fl_targets(op, outs)))
        known = PyObject_CallMethod(d.backend, "run", "OOO", handle, values, targets);
    int status = !known ? -1 : known == Py_NotImplemented ? 1 : 0;
    Py_XDECREF(values);
    Py_XDECREF(targets);
    Py_XDECREF(known);
    return status;
}

/* What makes tensors of any values: memory is all there is to it. */
static bool only_allocates(const fl_op *op) {
    static const fl_op *const found[] = {FL->find_op("empty"), FL->find_op("empty_strided")};
    return op == found[0] || op == found[1];
}

static int run(void *ctx, const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    Device &d = *(Device *)ctx;
    if (only_allocates(op))
        return 0;
    int status = fl_run_planned(d, op, in, n, outs);
    return status == 1 ? run_in_python(d, op, in, n, outs) : status;
}

static int synchronize(void *ctx, int index) {
    Device &d = *(Device *)ctx;
    int status = d.driver->synchronize(d.driver->ctx, index);
    if (!status)
        return 0;
    PyObject *what = PyUnicode_FromString("synchronize()");
    fl_raise_status(d, status, what);
    Py_XDECREF(what);
    return -1;
}

static int device_count(void *ctx) {
    PyObject *count = PyObject_CallMethod(((Device *)ctx)->backend, "device_count", nullptr);
    int number = count ? (int)PyLong_AsLong(count) : -1;
    Py_XDECREF(count);
    return number;
}

/* ---- the module ------------------------------------------------------------------------------- */
static std::unordered_map<int, Device *> devices;       /* by type; they live as long as the process */

static PyObject *attach(PyObject *, PyObject *args) {
    PyObject *backend;
    unsigned long long driver;
    int exact;
    if (!PyArg_ParseTuple(args, "OKp:attach", &backend, &driver, &exact))
        return nullptr;
    PyObject *name = PyObject_GetAttrString(backend, "name");
    const char *text = name ? PyUnicode_AsUTF8(name) : nullptr;
    if (!text)
        return nullptr;
    Device *d = new Device;
    d->backend = Py_NewRef(backend);
    d->driver = (const fl_driver *)(uintptr_t)driver;
    d->name = text;
    Py_DECREF(name);
    d->blocks.start(backend, d->driver, exact);
    const char *blocking = getenv("FLAMBEAU_CUDA_BLOCKING");
    d->blocking = blocking && *blocking && strcmp(blocking, "0") != 0;
    d->contract = {sizeof(fl_backend), 0, d->name.c_str(), d, allocate, copy, run, synchronize,
                   device_count};
    if (FL->add_backend(&d->contract, &d->type) < 0)
        return nullptr;
    devices[d->type] = d;
    return PyLong_FromLong(d->type);
}

Device *fl_device_of_type(int type) {
    auto found = devices.find(type);
    if (found != devices.end())
        return found->second;
    PyErr_Format(PyExc_ValueError, "no device type %d was attached", type);
    return nullptr;
}

static PyObject *copies(PyObject *, PyObject *arg) {
    int type = (int)PyLong_AsLong(arg);
    Device *d = type == -1 && PyErr_Occurred() ? nullptr : fl_device_of_type(type);
    if (!d)
        return nullptr;
    return Py_BuildValue("{sLsLsLsL}",
                         "to_host", (long long)d->copies[FL_TO_HOST],
                         "to_host_bytes", (long long)d->copied_bytes[FL_TO_HOST],
                         "to_device", (long long)d->copies[FL_TO_DEVICE],
                         "to_device_bytes", (long long)d->copied_bytes[FL_TO_DEVICE]);
}

static PyObject *launch(PyObject *, PyObject *args) {
    int type, index;
    unsigned long long function;
    uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, shared_bytes;
    Py_buffer argument;
    PyObject *name;
    Device *d;
    if (!PyArg_ParseTuple(args, "iiOK(III)(III)Iy*:launch", &type, &index, &name, &function,
                          &grid[0], &grid[1], &grid[2], &block[0], &block[1], &block[2],
                          &shared_bytes, &argument))
        return nullptr;
    int status = (d = fl_device_of_type(type)) ? 0 : -1;
    if (d)
        status = fl_launch(*d, index, (void *)(uintptr_t)function, grid, block, shared_bytes,
                           argument.buf, (size_t)argument.len);
    PyBuffer_Release(&argument);
    if (status > 0)
        fl_raise_status(*d, status, name);
    if (status)
        return nullptr;
    Py_RETURN_NONE;
}

static PyObject *copy_into(PyObject *, PyObject *args) {
    int type;
    PyObject *tensors[2];
    fl_value pair[2] = {};
    Device *d;
    if (!PyArg_ParseTuple(args, "iO!O!:copy_into", &type, FL->tensor_type, &tensors[0],
                          FL->tensor_type, &tensors[1])
        || !(d = fl_device_of_type(type)))
        return nullptr;
    for (int i = 0; i < 2; i++) {
        pair[i].tag = FL_TENSOR;
        pair[i].t = (fl_tensor *)tensors[i];
    }
    const fl_op *op = FL->find_op("copy");
    int status = op ? run(d, op, pair, 2, &pair[0].t) : -1;
    if (status == 1)
        PyErr_SetString(PyExc_NotImplementedError, "no kernel copies tensors of these dtypes");
    if (status)
        return nullptr;
    Py_RETURN_NONE;
}

static PyObject *statistics(PyObject *, PyObject *args) {
    int type, index;
    Device *d;
    if (!PyArg_ParseTuple(args, "ii:statistics", &type, &index) || !(d = fl_device_of_type(type)))
        return nullptr;
    const BlockStatistics &s = d->blocks.statistics(index & 255);
    return Py_BuildValue("{sLsLsLsLsLsLsLsLsLsLsLsL}", "allocated", s.allocated, "reserved",
                         s.reserved, "most_allocated", s.most_allocated, "most_reserved",
                         s.most_reserved, "count", s.count, "segments", s.segments, "takes",
                         s.takes, "bytes_taken", s.bytes_taken, "reserves", s.reserves,
                         "bytes_reserved", s.bytes_reserved, "retries", s.retries, "failures",
                         s.failures);
}

static PyObject *reset_peaks(PyObject *, PyObject *args) {
    int type, index;
    Device *d;
    if (!PyArg_ParseTuple(args, "ii:reset_peaks", &type, &index) || !(d = fl_device_of_type(type)))
        return nullptr;
    BlockStatistics &s = d->blocks.statistics(index & 255);
    s.most_allocated = s.allocated;
    s.most_reserved = s.reserved;
    Py_RETURN_NONE;
}

static PyObject *trim(PyObject *, PyObject *args) {
    int type, index;
    Device *d;
    if (!PyArg_ParseTuple(args, "ii:trim", &type, &index) || !(d = fl_device_of_type(type)))
        return nullptr;
    d->blocks.trim(index);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"attach", attach, METH_VARARGS,
     "attach(backend, driver, exact)\n--\n\n"
     "Make a device type known; ``driver`` is the address of an ``fl_driver``, and with ``exact``\n"
     "no memory is kept for reuse. Returns the number of the type."},
    {"launch", launch, METH_VARARGS,
     "launch(type, index, name, function, grid, block, shared_bytes, argument)\n--\n\n"
     "Start a kernel; ``argument`` holds the bytes of its only parameter."},
    {"update", fl_update_rows, METH_VARARGS,
     "update(type, index, name, function, threads, columns, chosen, scalars)\n--\n\n"
     "Start the kernel of an update rule over rows of tensors; ``columns`` has a tuple of tensors\n"
     "for each operand, ``chosen`` the rows' numbers, ``scalars`` numbers and float64 tensors."},
    {"copies", copies, METH_O,
     "copies(type)\n--\n\nHow many copies went to the host and to the device, and their bytes."},
    {"copy_into", copy_into, METH_VARARGS,
     "copy_into(type, target, source)\n--\n\nWrite a tensor's elements into another one."},
    {"statistics", statistics, METH_VARARGS,
     "statistics(type, index)\n--\n\nBytes in use and reserved on a device, and their peaks."},
    {"reset_peaks", reset_peaks, METH_VARARGS,
     "reset_peaks(type, index)\n--\n\nLet the peaks of the statistics begin anew."},
    {"trim", trim, METH_VARARGS,
     "trim(type, index)\n--\n\nGive memory that is kept for reuse back."},
    {"nvidia_driver", fl_nvidia_driver, METH_NOARGS,
     "nvidia_driver()\n--\n\nThe address of NVIDIA's driver as an ``fl_driver``.\n\n"
     "Raises:\n    OSError: its library is not there, or lacks a function; the text says which."},
    {nullptr, nullptr, 0, nullptr}};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "flambeau.cuda._launch",
                                 "The launch path: from a call to a kernel without Python.", -1,
                                 methods, nullptr, nullptr, nullptr, nullptr};

PyMODINIT_FUNC PyInit__launch(void) {
    if (fl_import() < 0 || fl_start_running() < 0 || fl_start_packing() < 0
        || fl_start_programs() < 0 || fl_start_families() < 0 || fl_start_updates() < 0)
        return nullptr;
    PyObject *module = PyModule_Create(&definition);
    if (module && (fl_add_block_type(module) < 0 || fl_add_stream_functions(module) < 0))
        Py_CLEAR(module);
    return module;
}
