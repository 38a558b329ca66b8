/* Reading the parts of a program that flambeau.jit has planned. */
#include "replay/program.h"
#include "dispatch/pointwise.h"

fl_program::~fl_program() {
    for (fl_program_step &s : steps)    /* before the storages go that others may hold as well */
        s.weight.reset();
    for (fl_program_step &s : steps) {
        Py_XDECREF(s.object);
        Py_XDECREF(s.args);
    }
    for (fl_tensor *t : tensors)
        Py_XDECREF(t);
    for (fl_result &r : results) {
        Py_XDECREF(r.base_object);
        for (PyObject *node : r.nodes)
            Py_DECREF(node);
    }
    std::vector<fl_returned *> parts{&returned};
    while (!parts.empty()) {
        fl_returned *part = parts.back();
        parts.pop_back();
        Py_XDECREF(part->object);
        for (fl_returned &p : part->parts)
            parts.push_back(&p);
    }
    Py_XDECREF(arena);
    Py_XDECREF(graph);
    delete recorder;
}

char *fl_program::address_of(uint32_t memory, int64_t start) const {
    const fl_room &room = rooms[memory];
    if (room.home == FL_H_STATIC)
        return arena->ptr + room.where + start;
    return recorder->memories[memory].outside->ptr + start;
}

/* Write an address, now or whenever the program runs. */
void fl_program::point_to(char **where, uint32_t memory, int64_t start) {
    fl_home home = rooms[memory].home;
    if (home == FL_H_STATIC || home == FL_H_OUTSIDE)
        *where = address_of(memory, start);
    else if (home == FL_H_SOURCE)
        patches.push_back({where, memory, start});
    else
        later[(size_t)rooms[memory].where].push_back({where, memory, start});
}

/* A tensor that kernels take; its address is patched where it is not known. */
fl_tensor *fl_program::tensor_of(int64_t extent) {
    fl_tensor *&t = tensors[(size_t)extent];
    if (t)
        return t;
    const fl_extent &p = recorder->extents[(size_t)extent];
    fl_home home = rooms[p.memory].home;
    fl_storage *s = home == FL_H_OUTSIDE ? recorder->memories[p.memory].outside : arena;
    t = fl_tensor_on(s, p.dtype, (int)p.shape.size(), p.shape.data(), p.strides.data(), 0);
    if (!t)
        return nullptr;
    t->flags &= FL_CONTIGUOUS;
    if (home != FL_H_UNUSED)            /* otherwise threads have their own */
        point_to(&t->data, p.memory, p.start);
    return t;
}

int fl_program::add_run(size_t index) {
    fl_kernel_run &run = recorder->runs[index];
    const bool is_new = !run.has_tensors;       /* kernels may run twice */
    run.has_tensors = true;
    fl_program_step step;
    step.kind = FL_STEP_RUN;
    step.index = index;
    const fl_storage *weight = is_new ? fl_constant_weight(recorder, run) : nullptr;
    for (fl_value &v : run.values) {
        if (v.tag == FL_TENSOR) {
            if (is_new)
                v.t = v.i < 0 ? nullptr : tensor_of(v.i);
            step.work += v.t ? v.t->numel : 0;
            if (PyErr_Occurred())
                return -1;
        }
        for (uint32_t k = 0; is_new && v.tag == FL_TENSORS && k < v.len; k++)
            if (!(v.ts[k] = v.is[k] < 0 ? nullptr : tensor_of(v.is[k])) && PyErr_Occurred())
                return -1;
    }
    for (uint32_t extent : run.outs) {
        step.outs.push_back(tensor_of(extent));
        if (!step.outs.back())
            return -1;
        step.work += step.outs.back()->numel;
    }
    if (weight)
        step.weight = fl_find_packed_weight(weight, run);
    steps.push_back(std::move(step));
    return 0;
}

static void put_number(std::vector<int64_t> &words, PyObject *o) {
    double parts[2] = {0, 0};
    int64_t bits[2] = {0, 0};
    if (PyLong_Check(o)) {
        bits[0] = PyLong_AsLongLong(o);
    } else {
        Py_complex c = PyComplex_AsCComplex(o);
        parts[0] = c.real;
        parts[1] = c.imag;
        memcpy(bits, parts, sizeof bits);
    }
    words.insert(words.end(), bits, bits + 2);
}

/* ("loop", address, total, extents, numbers, geometry, moved, offsets) */
int fl_program::add_loop(PyObject *o) {
    PyObject *extents = PyTuple_GET_ITEM(o, 3), *numbers = PyTuple_GET_ITEM(o, 4);
    PyObject *geometry = PyTuple_GET_ITEM(o, 5);
    steps.emplace_back();
    fl_program_step &step = steps.back();
    step.kind = FL_STEP_LOOP;
    step.code.run = (fl_chunk_fn)PyLong_AsVoidPtr(PyTuple_GET_ITEM(o, 1));
    step.code.total = PyLong_AsLongLong(PyTuple_GET_ITEM(o, 2));
    if (fl_read_moved(PyTuple_GET_ITEM(o, 6), step.code) < 0 ||
        fl_read_longs(PyTuple_GET_ITEM(o, 7), step.code.offsets) < 0)
        return -1;
    Py_ssize_t n = PyTuple_GET_SIZE(extents);
    step.words.resize((size_t)n);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(numbers); i++)
        put_number(step.words, PyTuple_GET_ITEM(numbers, i));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(geometry); i++)
        step.words.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(geometry, i)));
    for (Py_ssize_t i = 0; i < n; i++) {
        const fl_extent &p = recorder->extents[PyLong_AsSize_t(PyTuple_GET_ITEM(extents, i))];
        point_to((char **)&step.words[(size_t)i], p.memory, p.start + step.code.offset((size_t)i));
    }
    return PyErr_Occurred() ? -1 : 0;
}

int fl_program::add_call(fl_queue &calls, const fl_kernel_run &run) {
    const size_t n = run.values.size();
    calls.calls.push_back({run.op, (uint32_t)calls.values.size(), (uint16_t)n,
                           (uint16_t)run.outs.size(), 0, nullptr});
    for (size_t i = 0; i < n + run.outs.size(); i++) {
        fl_value v{};
        v.tag = FL_TENSOR;
        if (i < n)
            v = run.values[i];
        if (v.tag == FL_TENSOR && !(i < n && run.has_tensors)) {
            int64_t extent = i < n ? v.i : (int64_t)run.outs[i - n];
            v.t = extent < 0 ? nullptr : tensor_of(extent);
            if (!v.t && extent >= 0)
                return -1;
        }
        calls.values.push_back(v);
    }
    return 0;
}

/* ("rows", first kernel, after the last, step) */
int fl_program::add_rows(PyObject *o) {
    size_t start = PyLong_AsSize_t(PyTuple_GET_ITEM(o, 1));
    size_t stop = PyLong_AsSize_t(PyTuple_GET_ITEM(o, 2));
    fl_program_step step;
    step.kind = FL_STEP_ROWS;
    step.index = start;
    for (const fl_program_step &s : steps)      /* planned together */
        if (s.kind == FL_STEP_ROWS && s.index == start)
            step.calls = s.calls;
    if (!step.calls) {
        step.calls = std::make_shared<fl_queue>();
        for (size_t i = start; i < stop; i++)
            if (add_call(*step.calls, recorder->runs[i]) < 0)
                return -1;
    }
    if (fl_read_rows(PyTuple_GET_ITEM(o, 3), step.rows) < 0)
        return -1;
    steps.push_back(std::move(step));
    return 0;
}

int fl_program::add_step(PyObject *o) {
    const char *kind = PyUnicode_AsUTF8(PyTuple_GET_ITEM(o, 0));
    PyObject *first = PyTuple_GET_ITEM(o, 1);
    if (!strcmp(kind, "run"))
        return add_run(PyLong_AsSize_t(first));
    if (!strcmp(kind, "loop"))
        return add_loop(o);
    if (!strcmp(kind, "rows"))
        return add_rows(o);
    fl_program_step step;
    if (!strcmp(kind, "first")) {
        step.kind = FL_STEP_FIRST;
        step.index = PyLong_AsSize_t(first);
        step.words.push_back(0);
        point_to((char **)step.words.data(), (uint32_t)step.index, 0);
    } else if (!strcmp(kind, "make") || !strcmp(kind, "drop")) {
        step.kind = kind[0] == 'm' ? FL_STEP_MAKE : FL_STEP_DROP;
        step.index = PyLong_AsSize_t(first);
    } else {
        step.kind = !strcmp(kind, "grad")   ? FL_STEP_GRAD
                    : !strcmp(kind, "give") ? FL_STEP_GIVE
                                            : FL_STEP_CALL;
        step.object = Py_NewRef(first);
        if (step.kind == FL_STEP_CALL)
            step.args = Py_NewRef(PyTuple_GET_ITEM(o, 2));
        else
            step.result = PyLong_AsLongLong(PyTuple_GET_ITEM(o, 2));
    }
    steps.push_back(std::move(step));
    return PyErr_Occurred() ? -1 : 0;
}

/* (extent, flags, version, output number, number of the base, base, source, node) */
int fl_program::add_result(PyObject *o) {
    long long extent, base, source;
    unsigned int flags, version, output_nr;
    PyObject *base_object, *node;
    if (!PyArg_ParseTuple(o, "LIIILOLO", &extent, &flags, &version, &output_nr, &base, &base_object,
                          &source, &node))
        return -1;
    fl_result r{recorder->extents[(size_t)extent], flags, version, output_nr, base,
                base_object == Py_None ? nullptr : Py_NewRef(base_object), source, {}};
    if (node != Py_None)
        r.nodes.push_back(Py_NewRef(node));
    results.push_back(std::move(r));
    return 0;
}

/* ("result", i), ("number", i, f): what f gives of a result or, if i is -1, of nothing, or without
 * it its item(), ("source", i), ("object", o), or a tuple, list or dict of such */
int fl_program::add_returned(PyObject *o, fl_returned &to) {
    const char *kind = PyUnicode_AsUTF8(PyTuple_GET_ITEM(o, 0));
    PyObject *what = PyTuple_GET_ITEM(o, 1);
    if (!strcmp(kind, "result") || !strcmp(kind, "number") || !strcmp(kind, "source")) {
        to.kind = kind[0] == 'r'   ? FL_GIVES_RESULT
                  : kind[0] == 'n' ? FL_GIVES_NUMBER
                                   : FL_GIVES_SOURCE;
        to.index = PyLong_AsLongLong(what);
        if (PyTuple_GET_SIZE(o) > 2)
            to.object = Py_NewRef(PyTuple_GET_ITEM(o, 2));
        return 0;
    }
    if (!strcmp(kind, "object")) {
        to.kind = FL_GIVES_OBJECT;
        to.object = Py_NewRef(what);
        return 0;
    }
    to.kind = kind[0] == 't' ? FL_GIVES_TUPLE : kind[0] == 'l' ? FL_GIVES_LIST : FL_GIVES_DICT;
    if (to.kind == FL_GIVES_DICT)
        to.object = Py_NewRef(PyTuple_GET_ITEM(o, 2));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(what); i++) {
        to.parts.emplace_back();
        if (add_returned(PyTuple_GET_ITEM(what, i), to.parts.back()) < 0)
            return -1;
    }
    return 0;
}

int fl_program::prepare(PyObject *homes, int64_t arena_bytes, PyObject *plan, PyObject *leaving,
                        PyObject *returns) {
    arena = fl_storage_new((size_t)arena_bytes, 0);
    if (!arena)
        return -1;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(homes); i++) {
        int home;
        long long where, before;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(homes, i), "iLL", &home, &where, &before))
            return -1;
        rooms.push_back({(fl_home)home, where, before});
        if (home == FL_H_FRESH) {
            rooms.back().where = (int64_t)later.size();
            later.emplace_back();
        }
    }
    tensors.resize(recorder->extents.size());
    steps.reserve((size_t)PyList_GET_SIZE(plan));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(plan); i++)
        if (add_step(PyList_GET_ITEM(plan, i)) < 0)
            return -1;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(leaving); i++)
        if (add_result(PyList_GET_ITEM(leaving, i)) < 0)
            return -1;
    return add_returned(returns, returned);
}
