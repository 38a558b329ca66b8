/* Values to Python objects; unbox.cpp has the way back. */
#include "dispatch/python.h"

fl_hooks fl_python = {};

fl_arena::~fl_arena() {
    for (int i = 0; i < kept_; i++)
        Py_DECREF(keep_[i]);
    for (int i = 0; i < extra_count_; i++)
        PyMem_Free(extra_[i]);
}

int64_t *fl_arena::words(Py_ssize_t count) {
    if (used_ + count <= 64) {
        int64_t *p = words_ + used_;
        used_ += (int)count;
        return p;
    }
    void *p = extra_count_ < 8 ? PyMem_Malloc((size_t)(count ? count : 1) * 8) : nullptr;
    if (!p) {
        PyErr_NoMemory();
        return nullptr;
    }
    extra_[extra_count_++] = p;
    return (int64_t *)p;
}

void fl_arena::keep(PyObject *o) {
    if (kept_ < 16)
        keep_[kept_++] = o;
}

static PyObject *box_list(const fl_value *v) {
    PyObject *tuple = PyTuple_New(v->len);
    if (!tuple)
        return nullptr;
    for (uint32_t i = 0; i < v->len; i++) {
        PyObject *o;
        if (v->tag == FL_TENSORS) {
            o = v->ts[i] ? (PyObject *)v->ts[i] : Py_None;
            Py_INCREF(o);
        } else if (v->tag == FL_FLOATS) {
            o = PyFloat_FromDouble(v->ds[i]);
        } else if (v->tag == FL_BOOLS) {
            o = PyBool_FromLong((long)v->is[i]);
        } else {
            o = PyLong_FromLongLong(v->is[i]);
        }
        if (!o) {
            Py_DECREF(tuple);
            return nullptr;
        }
        PyTuple_SET_ITEM(tuple, i, o);
    }
    return tuple;
}

PyObject *fl_box(const fl_value *v) {
    switch (v->tag) {
    case FL_NONE: Py_RETURN_NONE;
    case FL_TENSOR:
    case FL_GENERATOR:
    case FL_SYMINT:
    case FL_OBJECT: {
        PyObject *o = v->o ? v->o : Py_None;
        Py_INCREF(o);
        return o;
    }
    case FL_TENSORS:
    case FL_INTS:
    case FL_FLOATS:
    case FL_BOOLS: return box_list(v);
    case FL_INT: return PyLong_FromLongLong(v->i);
    case FL_FLOAT: return PyFloat_FromDouble(v->d);
    case FL_COMPLEX: return PyComplex_FromDoubles(v->c[0], v->c[1]);
    case FL_BOOLEAN: return PyBool_FromLong((long)v->i);
    case FL_DTYPE: return fl_python.box_dtype((int)v->i);
    case FL_DEVICE: return fl_python.box_device((int)v->i);
    case FL_STRING: return PyUnicode_FromStringAndSize(v->s, v->len);
    default:
        PyErr_Format(PyExc_SystemError, "cannot box a value of tag %u", v->tag);
        return nullptr;
    }
}
