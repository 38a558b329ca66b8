/* Launches of update rules over many tensors. */
#include "device.h"
#include "streams.h"
#include "update.h"

int fl_start_updates(void) { return fl_import(); }

namespace {

#define FL_MOST_BLOCKS_OF_LAUNCH (1 << 30)

/* The argument of a launch in its kernel's layout, which depends on how many operands and numbers
 * the rule has: all members have eight bytes, but for the two counts that come first. */
struct Argument {
    alignas(8) char bytes[FL_UPDATE_BYTES] = {};
    int operands, numbers, most;
    int64_t blocks = 0;

    Argument(int operands, int numbers)
        : operands(operands), numbers(numbers), most(fl_rows_of_launch(operands, numbers)) {}
    int fields() const { return 3 + operands; }
    int32_t &rows() { return ((int32_t *)bytes)[0]; }
    fl_rule_number &number(int k) { return ((fl_rule_number *)(bytes + 8))[k]; }
    int64_t *row(int i) {
        return (int64_t *)(bytes + 8 + sizeof(fl_rule_number) * (size_t)numbers)
               + fields() * i;
    }
    size_t size() const {
        return 8 + sizeof(fl_rule_number) * (size_t)numbers + 8 * (size_t)(fields() * most);
    }
};

bool read_number(PyObject *given, fl_rule_number &number) {
    number = {};
    if (PyObject_TypeCheck(given, FL->tensor_type)) {
        const fl_tensor *t = (const fl_tensor *)given;
        number.found = (const double *)t->data;
        number.step = t->numel > 1;
        return true;
    }
    number.value = PyFloat_AsDouble(given);
    return number.value != -1 || !PyErr_Occurred();
}

int start(Device &d, int index, void *function, uint32_t threads, Argument &a, PyObject *name) {
    if (!a.blocks)
        return 0;
    uint32_t grid[3] = {(uint32_t)a.blocks, 1, 1}, block[3] = {threads, 1, 1};
    int status = fl_launch(d, index, function, grid, block, 0, a.bytes, a.size());
    a.rows() = 0;
    a.blocks = 0;
    return status ? fl_raise_status(d, status, name) : 0;
}

void add_row(Argument &a, PyObject *columns, Py_ssize_t i) {
    int64_t *row = a.row(a.rows()++);
    row[2] = i;
    for (int k = 0; k < a.operands; k++) {
        const fl_tensor *t = (const fl_tensor *)PyTuple_GET_ITEM(PyList_GET_ITEM(columns, k), i);
        row[0] = t->numel;
        row[3 + k] = (int64_t)(uintptr_t)t->data;
    }
    row[1] = a.blocks;
    a.blocks += (row[0] + FL_CHUNK_ELEMENTS - 1) / FL_CHUNK_ELEMENTS;
}

}  // namespace

PyObject *fl_update_rows(PyObject *, PyObject *args) {
    int type, index;
    unsigned threads;
    unsigned long long function;
    PyObject *name, *columns, *chosen, *scalars;
    Device *d;
    if (!PyArg_ParseTuple(args, "iiUKIO!O!O!:update", &type, &index, &name, &function, &threads,
                          &PyList_Type, &columns, &PyList_Type, &chosen, &PyTuple_Type, &scalars)
        || !(d = fl_device_of_type(type)))
        return nullptr;
    const Py_ssize_t numbers = PyTuple_GET_SIZE(scalars);
    Argument a((int)PyList_GET_SIZE(columns), (int)numbers);
    for (int k = 0; k < numbers; k++)
        if (!read_number(PyTuple_GET_ITEM(scalars, k), a.number(k)))
            return nullptr;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(chosen); i++) {
        add_row(a, columns, PyLong_AsSsize_t(PyList_GET_ITEM(chosen, i)));
        const bool full = a.rows() == a.most || a.blocks > FL_MOST_BLOCKS_OF_LAUNCH;
        if (full && start(*d, index, (void *)(uintptr_t)function, threads, a, name) < 0)
            return nullptr;
    }
    if (start(*d, index, (void *)(uintptr_t)function, threads, a, name) < 0)
        return nullptr;
    Py_RETURN_NONE;
}
