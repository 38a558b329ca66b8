/* The open table: operators built in and operators added at run time, found by key; device
 * backends. */
#include "dispatch/python.h"
#include "overrides/subclass.h"

static PyObject *by_key = nullptr;      /* key -> capsule of fl_op */

static int add(fl_op *op) {
    PyObject *key = op->overload[0] ? PyUnicode_FromFormat("%s.%s", op->name, op->overload)
                                    : PyUnicode_FromString(op->name);
    if (!key)
        return -1;
    if (PyDict_Contains(by_key, key)) {
        PyErr_Format(PyExc_ValueError, "an operator '%U' is already in the table; choose another "
                     "name or overload", key);
        Py_DECREF(key);
        return -1;
    }
    PyObject *address = PyLong_FromVoidPtr(op);
    int status = address ? PyDict_SetItem(by_key, key, address) : -1;
    Py_XDECREF(address);
    Py_DECREF(key);
    return status;
}

static int ensure_table(void) {
    if (by_key)
        return 0;
    by_key = PyDict_New();
    for (int i = 0; i < fl_builtin_count && by_key; i++)
        if (add(&fl_builtin_ops[i]) < 0)
            return -1;
    return by_key ? 0 : -1;
}

/* Counts that every call from Python needs; the generator writes them for built-in operators. */
static void count_parameters(fl_op *op) {
    int positional = 0, required = 0;
    while (positional < op->nparams && !(op->params[positional].flags & FL_P_KEYWORD))
        positional++;
    for (int i = 0; i < op->nparams; i++)
        required += !(op->params[i].flags & (FL_P_DEFAULT | FL_P_VARIADIC));
    op->reserved[2] = FL_PARAMETER_COUNTS(positional, required);
}

int fl_add_op(fl_op *op) {
    count_parameters(op);
    if (!op->call)
        op->call = fl_call_generic;
    if (fl_showing_below && op->category != FL_COMPOSITE)
        fl_look_below(op);
    return ensure_table() < 0 ? -1 : add(op);
}

PyObject *fl_op_table(void) {
    if (ensure_table() < 0)
        return nullptr;
    Py_INCREF(by_key);
    return by_key;
}

fl_op *fl_find_op(const char *key) {
    if (ensure_table() < 0)
        return nullptr;
    PyObject *address = PyDict_GetItemString(by_key, key);
    if (address)
        return (fl_op *)PyLong_AsVoidPtr(address);
    PyErr_Format(PyExc_KeyError, "no operator '%s' in the table", key);
    return nullptr;
}

int fl_op_count(void) { return fl_builtin_count; }

/* ---- backends -------------------------------------------------------------------------------------- */

static fl_backend backends[32];
static int backend_count = 0;

int fl_add_backend(const fl_backend *backend, int *device_type) {
    int known = fl_backend_by_name(backend->name);
    int slot = known >= 0 ? known - FL_FIRST_BACKEND : backend_count;
    if (known == FL_CPU || known == FL_META || slot >= 32) {
        PyErr_Format(PyExc_ValueError, "cannot register a backend named '%s'", backend->name);
        return -1;
    }
    memset(&backends[slot], 0, sizeof(fl_backend));
    size_t size = backend->struct_size < sizeof(fl_backend) ? backend->struct_size
                                                            : sizeof(fl_backend);
    memcpy(&backends[slot], backend, size);
    if (known < 0)
        backend_count++;
    *device_type = slot + FL_FIRST_BACKEND;
    return 0;
}

const fl_backend *fl_backend_of(int device_type) {
    int slot = device_type - FL_FIRST_BACKEND;
    return slot >= 0 && slot < backend_count ? &backends[slot] : nullptr;
}

const char *fl_device_name(int device_type) {
    if (device_type == FL_CPU)
        return "cpu";
    if (device_type == FL_META)
        return "meta";
    const fl_backend *b = fl_backend_of(device_type);
    return b ? b->name : "unknown";
}

int fl_backend_by_name(const char *name) {
    for (int type = 0; type < backend_count + FL_FIRST_BACKEND; type++)
        if (strcmp(fl_device_name(type), name) == 0)
            return type;
    return -1;
}
