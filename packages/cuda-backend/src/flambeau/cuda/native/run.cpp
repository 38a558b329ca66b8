/* From a call to a launch, without Python where the call's kind has been seen before. */
#include "device.h"
#include "pack.h"
#include "rows.h"

int fl_start_running(void) { return fl_import(); }

/* ---- for Python ----------------------------------------------------------------------------- */
PyObject *fl_handle_of(Device &d, const fl_op *op) {
    auto known = d.handles.find(op);
    if (known != d.handles.end())
        return known->second;
    PyObject *core = PyImport_ImportModule("flambeau.core._core");
    PyObject *handle = core ? PyObject_CallMethod(core, "op_at", "K",
                                                  (unsigned long long)(uintptr_t)op)
                            : nullptr;
    Py_XDECREF(core);
    if (handle)
        d.handles[op] = handle;
    return handle;
}

PyObject *fl_values(const fl_value *in, int n) {
    PyObject *list = PyList_New(n);
    for (int i = 0; list && i < n; i++) {
        PyObject *value = FL->box(&in[i]);
        if (!value)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, value);
    }
    return list;
}

PyObject *fl_targets(const fl_op *op, fl_tensor *const *outs) {
    PyObject *list = PyList_New(op->nouts);
    for (int i = 0; list && i < op->nouts; i++)
        PyList_SET_ITEM(list, i, Py_NewRef((PyObject *)outs[i]));
    return list;
}

int fl_raise_status(Device &d, int status, PyObject *what) {
    PyObject *done = PyObject_CallMethod(d.backend, "raise_status", "iOs", status, what,
                                         d.driver->error(d.driver->ctx, status));
    if (done)
        PyErr_SetString(PyExc_SystemError, "raise_status() returned instead of raising");
    Py_XDECREF(done);
    return -1;
}

int fl_launch(Device &d, int index, void *function, const uint32_t *grid, const uint32_t *block,
              uint32_t shared_bytes, const void *argument, size_t bytes) {
    void *stream = fl_stream_of(d, index);
    int done, status = d.driver->launch(d.driver->ctx, index, stream, function, grid, block,
                                        shared_bytes, argument, bytes);
    if (status || !d.blocking)
        return status;
    return d.driver->stream_done(d.driver->ctx, index, stream, 1, &done);
}

/* ---- plans ---------------------------------------------------------------------------------- */
/* (name, short, long): functions over rows. */
static int read_rows(PyObject *made, Plan &plan) {
    PyObject *name;
    unsigned long long near, far;
    if (!PyArg_ParseTuple(made, "UKK", &name, &near, &far))
        return -1;
    plan.name = Py_NewRef(name);
    plan.near = (void *)(uintptr_t)near;
    plan.far = (void *)(uintptr_t)far;
    plan.has_rows = true;
    return 0;
}

/* (name, near, far, own, result, masks, arguments, (by_number, width)), a program, or functions
 * over rows; None where Python computes. */
static int read_plan(PyObject *made, Plan &plan, bool &by_number) {
    PyObject *arguments = nullptr, *name = nullptr;
    unsigned long long near = 0, far = 0;
    int flag = 0;
    if (made == Py_None)
        return 0;
    if (PyTuple_Check(made) && PyTuple_GET_SIZE(made) == FL_PROGRAM_FIELDS) {
        Program *program = new Program;
        if (fl_read_program(made, *program, &name) < 0) {
            delete program;
            return -1;
        }
        plan.program = program;
        plan.name = Py_NewRef(name);
        return 0;
    }
    if (PyTuple_Check(made) && PyTuple_GET_SIZE(made) == FL_ROWS_FIELDS)
        return read_rows(made, plan);
    if (!PyArg_ParseTuple(made, "UKKbbIO!(pi)", &name, &near, &far, &plan.own, &plan.result,
                          &plan.masks, &PyTuple_Type, &arguments, &flag, &plan.width))
        return -1;
    plan.name = Py_NewRef(name);
    plan.near = (void *)(uintptr_t)near;
    plan.far = (void *)(uintptr_t)far;
    plan.count = (int)PyTuple_GET_SIZE(arguments);
    for (int i = 0; i < plan.count; i++)
        plan.arguments[i] = (uint8_t)PyLong_AsLong(PyTuple_GET_ITEM(arguments, i));
    by_number = flag != 0;
    return PyErr_Occurred() ? -1 : 0;
}

static const Plan *ask_for_plan(Device &d, const fl_op *op, const fl_value *in, int n,
                                fl_tensor *const *outs, Signature &s) {
    Plan plan;
    bool by_number = false;
    PyObject *handle = fl_handle_of(d, op), *values = nullptr, *targets = nullptr,
             *made = nullptr;
    if (handle && (values = fl_values(in, n)) && (targets = fl_targets(op, outs)))
        made = PyObject_CallMethod(d.backend, "plan", "OOO", handle, values, targets);
    int status = made ? read_plan(made, plan, by_number) : -1;
    Py_XDECREF(values);
    Py_XDECREF(targets);
    Py_XDECREF(made);
    if (status < 0)
        return nullptr;
    if (by_number && !d.plans.needs_numbers(op)) {
        d.plans.set_needs_numbers(op);
        s = fl_sign(op, in, n, outs, true);
    }
    return d.plans.keep(s, plan);
}

/* ---- launches ------------------------------------------------------------------------------- */
static bool lies_alike(const fl_tensor *t, const fl_tensor *out) {
    if (t->ndim != out->ndim)
        return t->numel == out->numel && t->flags & out->flags & FL_CONTIGUOUS;
    for (int d = 0; d < t->ndim; d++)
        if (t->shape[d] != out->shape[d]
            || (t->strides[d] != out->strides[d] && t->shape[d] != 1))
            return false;
    return true;
}

/* Whether elements lie side by side, in whatever order of dimensions. */
static bool is_dense(const fl_tensor *t) {
    if (t->flags & FL_CONTIGUOUS)
        return true;
    int64_t last = 0;
    for (int d = 0; d < t->ndim; d++) {
        if (t->strides[d] < 0 || (t->strides[d] == 0 && t->shape[d] != 1))
            return false;
        last += (t->shape[d] - 1) * t->strides[d];
    }
    return last + 1 == t->numel;
}

static bool is_near(const Plan &plan, const fl_value *values, fl_tensor *const *outs, int nouts) {
    const bool any_dtype = plan.own == FL_NO_DTYPE;     /* they are the kernel's own, as signed */
    if (!plan.near || !is_dense(outs[0]))
        return false;
    for (int i = 0; i < nouts; i++)
        if ((!any_dtype && outs[i]->dtype != plan.result) || !lies_alike(outs[i], outs[0]))
            return false;
    for (int i = 0; i < plan.count; i++) {
        const fl_value &v = values[i];
        if (v.tag != FL_TENSOR || v.t->device_type == FL_CPU)
            continue;
        if (!any_dtype && v.t->dtype != (plan.masks >> i & 1 ? (uint8_t)FL_BOOL : plan.own))
            return false;
        if (!lies_alike(v.t, outs[0]))
            return false;
    }
    return true;
}

#define FL_THREADS_OF_BLOCK 256
#define FL_MOST_BLOCKS 65536

static int launch(Device &d, const Plan &plan, const fl_value *values, const fl_op *op,
                  fl_tensor *const *outs) {
    fl_widest_call call;
    bool near = is_near(plan, values, outs, op->nouts);
    size_t bytes = fl_pack(call, values, plan.count, outs, op->nouts, near);
    if (!bytes)
        return 1;
    int64_t of_block = FL_THREADS_OF_BLOCK * (near ? plan.width : 1);
    int64_t wanted = (call.numel + of_block - 1) / of_block;
    uint32_t grid[3] = {(uint32_t)(wanted < FL_MOST_BLOCKS ? wanted : FL_MOST_BLOCKS), 1, 1};
    uint32_t block[3] = {FL_THREADS_OF_BLOCK, 1, 1};
    int status = fl_launch(d, outs[0]->device_index, near ? plan.near : plan.far, grid, block, 0,
                           &call, bytes);
    return status ? fl_raise_status(d, status, plan.name) : 0;
}

int fl_run_planned(Device &d, const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    Signature s = fl_sign(op, in, n, outs, d.plans.needs_numbers(op));
    const Plan *plan = d.plans.find(s);
    if (!plan && !(plan = ask_for_plan(d, op, in, n, outs, s)))
        return -1;
    if (plan->program)
        return fl_run_program(d, *plan, op, in, n, outs);
    if (plan->has_rows)
        return fl_run_fused_rows(d, *plan, in, n, outs, op->nouts);
    if (!plan->far)
        return 1;
    if (outs[0]->numel == 0)
        return 0;
    fl_value values[FL_MAX_PARAMS];
    for (int i = 0; i < plan->count; i++) {
        values[i] = in[plan->arguments[i]];
        if (!fl_is_packable(values[i]))
            return 1;
    }
    return launch(d, *plan, values, op, outs);
}
