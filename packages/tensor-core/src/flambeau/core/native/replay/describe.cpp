/* A recording as Python objects, for those who plan and for people. */
#include "replay/describe.h"
#include "deferral/deferral.h"

static PyObject *tuple_of(const std::vector<int64_t> &numbers) {
    PyObject *tuple = PyTuple_New((Py_ssize_t)numbers.size());
    for (size_t i = 0; tuple && i < numbers.size(); i++)
        PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, PyLong_FromLongLong(numbers[i]));
    return tuple;
}

/* (memory, dtype, shape, strides, bytes from its start, number of the extent) */
static PyObject *describe_extent(const fl_recorder *r, int64_t extent) {
    if (extent < 0)
        Py_RETURN_NONE;
    const fl_extent &p = r->extents[(size_t)extent];
    return Py_BuildValue("IsNNLL", p.memory, fl_dtype_name(p.dtype), tuple_of(p.shape),
                         tuple_of(p.strides), (long long)p.start, (long long)extent);
}

static PyObject *describe_value(const fl_recorder *r, const fl_value &v) {
    if (v.tag == FL_TENSOR)
        return describe_extent(r, v.i);
    if (v.tag != FL_TENSORS)
        return fl_box(&v);
    PyObject *list = PyList_New(v.len);
    for (uint32_t k = 0; list && k < v.len; k++)
        PyList_SET_ITEM(list, k, describe_extent(r, v.is[k]));
    return list;
}

static PyObject *describe_run(const fl_recorder *r, const fl_kernel_run &run) {
    const fl_op *op = run.op;
    PyObject *args = PyList_New(0), *outs = PyList_New(0);
    for (const fl_value &v : run.values) {
        PyObject *o = describe_value(r, v);
        if (!o || PyList_Append(args, o) < 0)
            return nullptr;
        Py_DECREF(o);
    }
    for (uint32_t extent : run.outs) {
        PyObject *o = describe_extent(r, extent);
        PyList_Append(outs, o);
        Py_XDECREF(o);
    }
    PyObject *name = op->overload[0] ? PyUnicode_FromFormat("%s.%s", op->name, op->overload)
                                     : PyUnicode_FromString(op->name);
    return Py_BuildValue("NNNN", name, args, outs, PyBool_FromLong(run.is_fusible));
}

PyObject *fl_record_runs(const fl_recorder *r) {
    PyObject *runs = PyList_New(0);
    for (const fl_kernel_run &run : r->runs) {
        PyObject *o = describe_run(r, run);
        if (!o || PyList_Append(runs, o) < 0)
            return nullptr;
        Py_DECREF(o);
    }
    return runs;
}

/* (was made inside, bytes, has first contents, is alive) */
PyObject *fl_record_memories(const fl_recorder *r) {
    PyObject *memories = PyList_New(0);
    for (const fl_memory &m : r->memories) {
        PyObject *o = Py_BuildValue("iLii", m.is_born, (long long)m.bytes, !m.first.empty(),
                                    m.is_born && m.is_alive);
        if (!o || PyList_Append(memories, o) < 0)
            return nullptr;
        Py_DECREF(o);
    }
    return memories;
}

PyObject *fl_record_contents(const fl_recorder *r) {
    PyObject *dict = PyDict_New();
    for (size_t k = 0; dict && k < r->memories.size(); k++) {
        if (r->memories[k].first.empty())
            continue;
        PyObject *key = PyLong_FromSize_t(k);
        PyObject *value = PyLong_FromSize_t(std::hash<std::string>{}(r->memories[k].first));
        PyDict_SetItem(dict, key, value);
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    return dict;
}

/* (memory, extent, flags, version, output number, base, whether the counter is the memory's own) */
PyObject *fl_record_result(fl_recorder *r, fl_tensor *t) {
    int64_t extent = r->extent_of(t, false);
    if (extent < 0)
        Py_RETURN_NONE;
    return Py_BuildValue("ILIIIOi", r->extents[(size_t)extent].memory, (long long)extent, t->flags,
                         *t->version & ~FL_VERSION_SAVED, t->output_nr,
                         ((fl_tensor_full *)t)->base,
                         t->storage == (PyObject *)fl_root_storage(t->storage));
}
