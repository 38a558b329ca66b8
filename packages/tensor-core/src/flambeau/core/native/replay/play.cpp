/* Running a program. */
#include "replay/program.h"
#include "deferral/deferral.h"
#include "dispatch/caller.h"
#include "dispatch/core.h"

int (*fl_remake_graph)(PyObject *, fl_tensor **, fl_tensor **) = nullptr;

/* One run: what it has made so far. */
struct fl_running {
    fl_program *program;
    fl_tensor *const *sources;
    std::vector<fl_storage *> fresh;
    std::vector<PyObject *> results, nodes, held;

    fl_running(fl_program *p, fl_tensor *const *given, size_t n)
        : program(p), fresh(p->later.size()), results(p->results.size()) {
        p->is_running = true;
        for (size_t i = 0; i < n; i++)      /* other calls may let go of them, and of the list */
            held.push_back(Py_NewRef((PyObject *)given[i]));
        sources = (fl_tensor *const *)held.data();
    }
    ~fl_running() {
        for (fl_storage *s : fresh)
            Py_XDECREF(s);
        for (PyObject *o : results)
            Py_XDECREF(o);
        for (PyObject *o : held)
            Py_DECREF(o);
        program->is_running = false;
    }
    char *address(uint32_t memory, int64_t start) const {
        const fl_room &room = program->rooms[memory];
        if (room.home == FL_H_SOURCE)
            return sources[room.where]->data - room.before + start;
        if (room.home == FL_H_FRESH)
            return fresh[(size_t)room.where]->ptr + start;
        return program->recorder->memories[memory].outside->ptr + start;
    }
    /* Memory that leaves the call, made when it is first written to: until then what the call
     * before left there may still be needed, and gone afterwards. */
    int make(size_t memory) {
        size_t i = (size_t)program->rooms[memory].where;
        fresh[i] = fl_storage_new((size_t)program->recorder->memories[memory].bytes, 0);
        if (!fresh[i])
            return -1;
        for (const fl_patch &p : program->later[i])
            *p.where = fresh[i]->ptr + p.start;
        return 0;
    }
};

namespace {

int run_kernel(const fl_kernel_run &run, const fl_program_step &step) {
    const fl_op *op = run.op;
    int n = (int)run.values.size(), status;
    const fl_weight_offer offer(step.weight.get());
    if (step.work < FL_GRAIN)
        return op->run_cpu(op, run.values.data(), n, step.outs.data()) < 0 ? fl_raise() : 0;
    Py_BEGIN_ALLOW_THREADS
    status = op->run_cpu(op, run.values.data(), n, step.outs.data());
    Py_END_ALLOW_THREADS
    return status < 0 ? fl_raise() : 0;
}

/* Its errors are about what the user called, as they were when it was recorded. */
int run_for_caller(const fl_kernel_run &run, const fl_program_step &step) {
    const fl_op *outer = fl_caller;
    fl_caller = run.caller;
    int status = run_kernel(run, step);
    fl_caller = outer;
    if (FL_UNLIKELY(status < 0) && run.called)
        fl_name_in_error(run.called);
    return status;
}

int run_loop(fl_program_step &step) {
    bool has_memory;
    if (step.code.total <= FL_GRAIN) {
        has_memory = step.code.run_some(step.words, 0, step.code.total);
    } else {
        Py_BEGIN_ALLOW_THREADS
        has_memory = step.code.run_all(step.words);
        Py_END_ALLOW_THREADS
    }
    return has_memory ? 0 : (PyErr_NoMemory(), -1);
}

int run_rows(const fl_program_step &step) {
    int status;
    Py_BEGIN_ALLOW_THREADS
    status = fl_run_rows(step.calls.get(), step.rows);
    Py_END_ALLOW_THREADS
    if (status < 0)
        PyErr_NoMemory();
    return status;
}

int call(const fl_program_step &step) {
    PyObject *result = PyObject_Call(step.object, step.args, nullptr);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

void set_flags(fl_tensor *t, uint32_t flags) {
    t->flags = (t->flags & FL_CONTIGUOUS) | (flags & ~(uint32_t)FL_CONTIGUOUS);
}

}  // namespace

int fl_program::run_step(fl_program_step &step, fl_running &now) {
    switch (step.kind) {
    case FL_STEP_RUN:
        return run_for_caller(recorder->runs[step.index], step);
    case FL_STEP_LOOP:
        return run_loop(step);
    case FL_STEP_ROWS:
        return run_rows(step);
    case FL_STEP_MAKE:
        return now.make(step.index);
    case FL_STEP_DROP:
        Py_CLEAR(now.fresh[(size_t)rooms[step.index].where]);
        return 0;
    case FL_STEP_FIRST: {
        const std::string &first = recorder->memories[step.index].first;
        memcpy((char *)step.words[0], first.data(), first.size());
        return 0;
    }
    case FL_STEP_GRAD: {
        static PyObject *name = PyUnicode_InternFromString("grad");
        PyObject *grad = step.result < 0 ? Py_None : (PyObject *)result((size_t)step.result, now);
        return grad ? PyObject_SetAttr(step.object, name, grad) : -1;
    }
    case FL_STEP_CALL:
        return call(step);
    case FL_STEP_GIVE: {
        PyObject *given = (PyObject *)result((size_t)step.result, now);
        PyObject *nothing = given ? PyObject_CallOneArg(step.object, given) : nullptr;
        Py_XDECREF(nothing);
        return nothing ? 0 : -1;
    }
    }
    return 0;
}

int fl_program::run_steps(fl_running &now) {
    for (size_t i = 0; i < steps.size(); i++)
        if (run_step(steps[i], now) < 0)
            return fail(i, now);
    count_writes(now);
    return 0;
}

/* Where nothing has changed so far, Python runs the call, whose error tells the line. */
int fl_program::fail(size_t i, const fl_running &now) {
    const bool is_python = steps[i].kind == FL_STEP_CALL || steps[i].kind == FL_STEP_GRAD ||
                           steps[i].kind == FL_STEP_GIVE;
    failed_run = steps[i].kind == FL_STEP_RUN ? (int64_t)steps[i].index : -1;
    if (i < first_effect && !is_python)
        PyErr_Clear();
    else
        count_writes_before(steps[i], now);
    return -1;
}

void fl_program::count_writes(const fl_running &now) {
    for (const fl_written &w : recorder->writes)
        for (uint32_t k = 0; k < w.count; k++)
            fl_count_write(nullptr, w.alias);
    for (size_t i = 0; i < source_writes.size(); i++)
        for (uint32_t k = 0; k < source_writes[i]; k++)
            fl_count_write(nullptr, now.sources[i]);
}

/* An error counts the writes of the kernels before it, which have all run; loops have no errors. */
void fl_program::count_writes_before(const fl_program_step &failed, const fl_running &now) {
    if (failed.kind != FL_STEP_RUN) {
        count_writes(now);
        return;
    }
    for (size_t k = 0; k < failed.index; k++)
        for (uint32_t i : recorder->runs[k].writes) {
            const fl_written &w = recorder->writes[i];
            fl_count_write(nullptr, w.source < 0 ? w.alias : now.sources[w.source]);
        }
}

/* A history that nobody else knows; NULL where results of other calls still have all of them. */
PyObject *fl_program::pick_node(const fl_result &r) const {
    for (PyObject *node : r.nodes)
        if (Py_REFCNT(node) == 1)
            return node;
    return nullptr;
}

/* A tensor that leaves the call; borrowed. */
fl_tensor *fl_program::result(size_t i, fl_running &now) {
    if (now.results[i])
        return (fl_tensor *)now.results[i];
    const fl_result &r = results[i];
    const fl_extent &p = r.extent;
    const fl_room &room = rooms[p.memory];
    int ndim = (int)p.shape.size();
    fl_tensor *t, *base = r.base >= 0 ? result((size_t)r.base, now)
                          : r.base_source >= 0 ? now.sources[r.base_source]
                                               : (fl_tensor *)r.base_object;
    if (base) {
        t = fl_tensor_view(base, p.dtype, ndim, p.shape.data(), p.strides.data(),
                           now.address(p.memory, p.start) - base->data);
    } else if (r.base >= 0) {
        return nullptr;
    } else {
        fl_storage *s = now.fresh[(size_t)room.where];
        s->version = r.version;
        t = fl_tensor_on(s, p.dtype, ndim, p.shape.data(), p.strides.data(), p.start);
    }
    if (!t)
        return nullptr;
    now.results[i] = (PyObject *)t;
    set_flags(t, r.flags);
    if (now.nodes[i]) {
        t->autograd = Py_NewRef(now.nodes[i]);
        t->output_nr = r.output_nr;
    }
    return t;
}

/* What a backward pass outside walks: all that it keeps leaves the call. */
int fl_program::make_graph(fl_running &now) {
    for (size_t i = 0; graph && i < results.size(); i++)
        if (!result(i, now))
            return -1;
    return graph ? fl_remake_graph(graph, (fl_tensor **)now.results.data(),
                                   (fl_tensor **)now.held.data()) : 0;
}

static PyObject *number_of(PyObject *tensor, PyObject *function) {
    if (!function)
        return PyObject_CallMethod(tensor, "item", nullptr);
    return PyObject_CallFunctionObjArgs(function, tensor, nullptr);
}

PyObject *fl_program::build(const fl_returned &r, fl_running &now) {
    if (r.kind == FL_GIVES_RESULT)
        return Py_XNewRef((PyObject *)result((size_t)r.index, now));
    if (r.kind == FL_GIVES_NUMBER) {
        PyObject *of = r.index < 0 ? nullptr : (PyObject *)result((size_t)r.index, now);
        return r.index >= 0 && !of ? nullptr : number_of(of, r.object);
    }
    if (r.kind == FL_GIVES_SOURCE)
        return Py_NewRef((PyObject *)now.sources[r.index]);
    if (r.kind == FL_GIVES_OBJECT)
        return Py_NewRef(r.object);
    Py_ssize_t n = (Py_ssize_t)r.parts.size();
    PyObject *whole = r.kind == FL_GIVES_TUPLE ? PyTuple_New(n)
                      : r.kind == FL_GIVES_LIST ? PyList_New(n) : PyDict_New();
    for (Py_ssize_t i = 0; whole && i < n; i++) {
        PyObject *part = build(r.parts[(size_t)i], now);
        if (!part) {
            Py_CLEAR(whole);
        } else if (r.kind == FL_GIVES_TUPLE) {
            PyTuple_SET_ITEM(whole, i, part);
        } else if (r.kind == FL_GIVES_LIST) {
            PyList_SET_ITEM(whole, i, part);
        } else {
            if (PyDict_SetItem(whole, PyTuple_GET_ITEM(r.object, i), part) < 0)
                Py_CLEAR(whole);
            Py_DECREF(part);
        }
    }
    return whole;
}

/* What other threads' compiled calls have waiting comes first, as before any call. */
int fl_program::settle(const fl_running &now) const {
    for (size_t i = 0; fl_any_waiting() && i < rooms.size(); i++) {
        const fl_memory &m = recorder->memories[i];
        fl_storage *s = rooms[i].home == FL_H_OUTSIDE ? m.outside
                        : rooms[i].home == FL_H_SOURCE
                            ? fl_root_storage(now.sources[rooms[i].where]->storage)
                            : nullptr;
        if (s && fl_settle_storage("a replayed call", s, !m.is_written) < 0)
            return -1;
    }
    return 0;
}

PyObject *fl_program::play(fl_tensor *const *sources, size_t n) {
    if (is_running)
        return nullptr;
    fl_running now(this, sources, n);
    if (settle(now) < 0)
        return nullptr;
    for (const fl_result &r : results) {
        now.nodes.push_back(r.nodes.empty() ? nullptr : pick_node(r));
        if (!r.nodes.empty() && !now.nodes.back())
            return nullptr;
    }
    for (const fl_patch &p : patches)
        *p.where = now.address(p.memory, p.start);
    return run_steps(now) < 0 || make_graph(now) < 0 ? nullptr : build(returned, now);
}
