/* What waits, in the planner's terms, and code as the planner describes it. */
#include "dispatch/python.h"
#include "deferral/plan.h"
#include "random/taken.h"

namespace {

PyObject *describe_tensor(const fl_value &v, const fl_queue *q) {
    const fl_tensor *t = v.t;
    PyObject *shape = PyTuple_New(t->ndim), *strides = PyTuple_New(t->ndim);
    for (int i = 0; i < t->ndim; i++) {
        PyTuple_SET_ITEM(shape, i, PyLong_FromLongLong(t->shape[i]));
        PyTuple_SET_ITEM(strides, i, PyLong_FromLongLong(t->strides[i]));
    }
    return Py_BuildValue("IsNNLii", v.len, fl_dtype_name(t->dtype), shape, strides,
                         (long long)(t->data - q->slots[v.len].storage->ptr),
                         fl_itemsize(t->dtype), fl_device_code(t));
}

}  // namespace

PyObject *fl_describe_calls(const fl_queue *q) {
    PyObject *list = PyList_New(0);
    for (const fl_queue::Call &c : q->calls) {
        PyObject *parts[2] = {PyList_New(0), PyList_New(0)};
        for (int i = 0; i < c.n + c.nouts; i++) {
            const fl_value &v = q->values[c.first + (size_t)i];
            PyObject *o = v.tag == FL_TENSOR  ? describe_tensor(v, q)
                          : v.tag == FL_TAKEN ? Py_NewRef(Py_None)
                                              : fl_box(&v);
            if (!o || PyList_Append(parts[i >= c.n], o) < 0) {
                Py_XDECREF(o);
                Py_DECREF(parts[0]);
                Py_DECREF(parts[1]);
                Py_DECREF(list);
                return nullptr;
            }
            Py_DECREF(o);
        }
        PyObject *name = c.op->overload[0]
                             ? PyUnicode_FromFormat("%s.%s", c.op->name, c.op->overload)
                             : PyUnicode_FromString(c.op->name);
        PyObject *entry = Py_BuildValue("NNN", name, parts[0], parts[1]);
        PyList_Append(list, entry);
        Py_XDECREF(entry);
    }
    return list;
}

void fl_load_scalar(const fl_value &v, bool is_integer, std::vector<int64_t> &words) {
    double parts[2] = {fl_as_double(v), v.tag == FL_COMPLEX ? v.c[1] : 0.0};
    int64_t bits[2] = {fl_as_int(v), 0};
    if (!is_integer)
        memcpy(bits, parts, sizeof bits);
    words.insert(words.end(), bits, bits + 2);
}

void fl_code::words(const fl_queue *q, std::vector<int64_t> &to) const {
    for (size_t i = 0; i < operands.size(); i++)
        to.push_back((int64_t)(uintptr_t)q->values[(size_t)operands[i]].t->data + offset(i));
    for (auto &each : scalars)
        fl_load_scalar(q->values[(size_t)each.first], each.second != 0, to);
    to.insert(to.end(), grid.begin(), grid.end());
}

int fl_read_longs(PyObject *sequence, std::vector<int64_t> &to) {
    Py_ssize_t n = PyTuple_Size(sequence);
    for (Py_ssize_t i = 0; i < n; i++)
        to.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(sequence, i)));
    return n < 0 || PyErr_Occurred() ? -1 : 0;
}

/* (operand, room, whether it is a result, bytes of an element, size, stride, ...) */
static int read_one(PyObject *o, fl_moved &moved) {
    std::vector<int64_t> flat;
    const size_t FIRST = 4;
    if (fl_read_longs(o, flat) < 0 || flat.size() < FIRST + 2 || flat.size() % 2)
        return -1;
    moved.operand = (size_t)flat[0];
    moved.room = (size_t)flat[1];
    moved.is_result = flat[2] != 0;
    moved.size = flat[3];
    for (size_t i = FIRST; i < flat.size(); i += 2)
        moved.dims.push_back({flat[i], flat[i + 1]});
    return 0;
}

int fl_read_moved(PyObject *o, fl_code &code) {
    if (!PyTuple_Check(o))
        return -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); i++) {
        code.moved.emplace_back();
        if (read_one(PyTuple_GET_ITEM(o, i), code.moved.back()) < 0)
            return -1;
    }
    return 0;
}

/* (address, total, operands, scalars, integers, grid, moved, offsets) */
int fl_read_code(PyObject *o, fl_code &code) {
    std::vector<int64_t> scalars, integers;
    code.run = (fl_chunk_fn)PyLong_AsVoidPtr(PyTuple_GET_ITEM(o, 0));
    code.total = PyLong_AsLongLong(PyTuple_GET_ITEM(o, 1));
    if (PyErr_Occurred() || fl_read_longs(PyTuple_GET_ITEM(o, 2), code.operands) < 0 ||
        fl_read_longs(PyTuple_GET_ITEM(o, 3), scalars) < 0 ||
        fl_read_longs(PyTuple_GET_ITEM(o, 4), integers) < 0 ||
        fl_read_longs(PyTuple_GET_ITEM(o, 5), code.grid) < 0 ||
        fl_read_longs(PyTuple_GET_ITEM(o, 7), code.offsets) < 0)
        return -1;
    for (size_t i = 0; i < scalars.size(); i++)
        code.scalars.push_back({scalars[i], (int)integers[i]});
    return fl_read_moved(PyTuple_GET_ITEM(o, 6), code);
}
