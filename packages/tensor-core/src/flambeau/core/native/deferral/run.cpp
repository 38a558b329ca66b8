/* Running what waits: the plan for it is made by flambeau.jit when it is new. */
#include "deferral/apart.h"
#include "deferral/plan.h"
#include "deferral/reuse.h"
#include "deferral/trial.h"
#include "deferral/watch.h"
#include "random/taken.h"
#include "runtime/epilogue.h"
#include "runtime/pool.h"
#include <memory>
#include <numeric>
#include <unordered_map>

PyObject *fl_deferral_planner = nullptr;

namespace {

struct Plan {
    std::vector<fl_step> steps;
    std::vector<int64_t> alone;             /* calls that run as they would have done at once */
    bool is_doubtful = false;               /* the calls may be faster one by one */
    bool is_rejected = false;               /* they are */
    fl_trial trial;                         /* of a doubtful plan, and of any single call */
    PyObject *object = nullptr;             /* keeps the code, and says what it is */

    Plan() = default;
    Plan(const Plan &) = delete;
    Plan &operator=(const Plan &) = delete;
    ~Plan() { Py_XDECREF(object); }
};

static const size_t MAX_PLANS = 512;
/* Never destroyed, as Python ends before static objects do. */
auto &plans = *new std::unordered_map<std::string, std::shared_ptr<Plan>>;

/* (operator, values, results) or (operator, values, results, geometry of rows): a kernel that a
 * backend made. */
int read_kernel(PyObject *o, fl_step &step) {
    step.kernel = (const fl_op *)PyLong_AsVoidPtr(PyTuple_GET_ITEM(o, 0));
    if (PyErr_Occurred() || fl_read_longs(PyTuple_GET_ITEM(o, 1), step.code.operands) < 0)
        return -1;
    step.kernel_at = step.code.operands.size();
    if (PyTuple_GET_SIZE(o) == 4 && fl_read_longs(PyTuple_GET_ITEM(o, 3), step.code.grid) < 0)
        return -1;
    return fl_read_longs(PyTuple_GET_ITEM(o, 2), step.code.operands);
}

/* (call,), (call, code, value), a kernel, code, or rows */
int read_step(PyObject *o, fl_step &step) {
    if (!PyTuple_Check(o))
        return -1;
    if (PyTuple_GET_SIZE(o) == 8)
        return fl_read_code(o, step.code);
    if (PyTuple_GET_SIZE(o) == 4 ||
        (PyTuple_GET_SIZE(o) == 3 && PyTuple_Check(PyTuple_GET_ITEM(o, 1)) &&
         PyTuple_Check(PyTuple_GET_ITEM(o, 2))))
        return read_kernel(o, step);
    if (PyLong_Check(PyTuple_GET_ITEM(o, 0))) {
        step.call = PyLong_AsSize_t(PyTuple_GET_ITEM(o, 0));
        if (PyTuple_GET_SIZE(o) == 3 && fl_read_code(PyTuple_GET_ITEM(o, 1), step.code) == 0)
            step.made = PyLong_AsLongLong(PyTuple_GET_ITEM(o, 2));
        return PyErr_Occurred() ? -1 : 0;
    }
    return PyTuple_GET_SIZE(o) == 2 ? fl_read_rows(o, step) : -1;
}

/* Whether the memory of each slot is needed by anyone but the queue; the end of the key. */
void add_needed(fl_queue *q) {
    for (const fl_queue::Slot &s : q->slots)
        q->key.push_back((char)!s.is_kept);
}

bool is_builtin(const fl_op *op) {
    return op >= fl_builtin_ops && op < fl_builtin_ops + fl_builtin_count;
}

/* The key with operators' names for their addresses: the same in every process. Empty where a
 * program registered an operator, which may be another one in the next process, as may a device's
 * number. */
PyObject *portable_key(const fl_queue *q) {
    std::string key = q->key, names;
    for (const fl_queue::Call &c : q->calls) {
        if (!is_builtin(c.op) || q->values[c.first + c.n].t->device_type != FL_CPU)
            return PyBytes_FromStringAndSize("", 0);
        memset(&key[c.key_at], 0, sizeof c.op);
        names.append(c.op->name).append(1, '.').append(c.op->overload).append(1, '\0');
    }
    key.append(names);
    return PyBytes_FromStringAndSize(key.data(), (Py_ssize_t)key.size());
}

int make_plan(const fl_queue *q, Plan &plan) {
    PyObject *calls = fl_describe_calls(q);
    int collects = PyGC_Disable();      /* finalizers might want what is not computed yet */
    size_t slots = q->slots.size();
    PyObject *bytes = PyBytes_FromStringAndSize(q->key.data() + q->key.size() - slots,
                                                (Py_ssize_t)slots);
    PyObject *key = portable_key(q), *made = nullptr;
    if (calls && bytes && key)
        made = PyObject_CallFunctionObjArgs(fl_deferral_planner, calls, bytes, key, nullptr);
    Py_XDECREF(key);
    Py_XDECREF(bytes);
    if (collects)
        PyGC_Enable();
    Py_XDECREF(calls);
    PyObject *steps = made ? PyObject_GetAttrString(made, "steps") : nullptr;
    int status = steps ? 0 : -1;
    for (Py_ssize_t i = 0; status == 0 && i < PyList_GET_SIZE(steps); i++) {
        plan.steps.emplace_back();
        status = read_step(PyList_GET_ITEM(steps, i), plan.steps.back());
    }
    Py_XDECREF(steps);
    PyObject *alone = status == 0 ? PyObject_GetAttrString(made, "alone") : nullptr;
    if (!alone || fl_read_longs(alone, plan.alone) < 0)
        status = -1;
    Py_XDECREF(alone);
    PyObject *doubtful = status == 0 ? PyObject_GetAttrString(made, "doubtful") : nullptr;
    plan.is_doubtful = doubtful == Py_True;
    if (!doubtful)
        status = -1;
    Py_XDECREF(doubtful);
    plan.object = made;
    return status;
}

/* The plan for what waits; none when it cannot be made. */
std::shared_ptr<Plan> find_plan(fl_queue *q) {
    add_needed(q);
    auto found = plans.find(q->key);
    if (found != plans.end())
        return found->second;
    auto plan = std::make_shared<Plan>();
    int status = -1;
    fl_call_apart([&] {
        status = make_plan(q, *plan);
        if (status < 0 && PyErr_Occurred())
            PyErr_WriteUnraisable(fl_deferral_planner);
    });
    if (status < 0)
        return nullptr;
    if (plans.size() >= MAX_PLANS)
        plans.clear();
    plans[q->key] = plan;
    return plan;
}

/* By a backend, on this thread. It may look for a call's memory, which all that comes before wrote
 * or was told to write. */
int run_elsewhere(fl_queue *q, const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    q->is_elsewhere = true;
    int status = fl_run_on_backend(outs[0]->device_type, op, in, n, outs);
    q->is_elsewhere = false;
    return status;
}

int run_kernel(fl_queue *q, const fl_queue::Call &c, fl_tensor *const *outs) {
    int status;
    if (outs[0]->device_type != FL_CPU)
        return run_elsewhere(q, c.op, &q->values[c.first], c.n, outs);
    Py_BEGIN_ALLOW_THREADS
    status = c.op->run_cpu(c.op, &q->values[c.first], c.n, outs);
    Py_END_ALLOW_THREADS
    return status < 0 ? fl_raise() : 0;
}

int run_call(fl_queue *q, const fl_queue::Call &c) {
    fl_tensor *outs[FL_MAX_OUTS];
    for (int i = 0; i < c.nouts; i++)
        outs[i] = q->values[c.first + c.n + (size_t)i].t;
    return run_kernel(q, c, outs);
}

int run_backend_kernel(fl_queue *q, const fl_step &step) {
    fl_value in[FL_MAX_PARAMS];
    fl_tensor *outs[FL_MAX_OUTS];
    const std::vector<int64_t> &values = step.code.operands;
    for (size_t i = 0; i < step.kernel_at; i++)
        in[i] = q->values[(size_t)values[i]];
    for (size_t i = step.kernel_at; i < values.size(); i++)
        outs[i - step.kernel_at] = q->values[(size_t)values[i]].t;
    size_t count = step.kernel_at;
    const std::vector<int64_t> &geometry = step.code.grid;
    if (!geometry.empty()) {
        in[count].tag = FL_INTS;
        in[count].len = (uint32_t)geometry.size();
        in[count++].is = (int64_t *)geometry.data();
    }
    return run_elsewhere(q, step.kernel, in, (int)count, outs);
}

int run_code(const fl_queue *q, const fl_code &code) {
    std::vector<int64_t> words;
    code.words(q, words);
    bool has_memory;
    Py_BEGIN_ALLOW_THREADS
    has_memory = code.run_all(words);
    Py_END_ALLOW_THREADS
    return has_memory ? 0 : (PyErr_NoMemory(), -1);
}

/* A call whose result is made in the memory of another value, and code over it: as the kernel makes
 * it, or afterwards where it does not. */
int run_product(fl_queue *q, const fl_step &step) {
    const fl_queue::Call &c = q->calls[step.call];
    fl_tensor made = *q->values[c.first + c.n].t;
    fl_tensor *outs[1] = {&made};
    made.data = q->values[(size_t)step.made].t->data;
    std::vector<int64_t> words;
    step.code.words(q, words);
    fl_epilogue epilogue = {step.code.run, words.data(), made.data, made.numel,
                            fl_itemsize(made.dtype)};
    fl_offer_epilogue(&epilogue);
    int status = run_kernel(q, c, outs);
    bool was_taken = fl_offer_epilogue(nullptr);
    return was_taken || status < 0 ? status : run_code(q, step.code);
}

int run_rows(const fl_queue *q, const fl_step &step) {
    int status;
    Py_BEGIN_ALLOW_THREADS
    status = fl_run_rows(q, step);
    Py_END_ALLOW_THREADS
    if (status < 0)
        PyErr_NoMemory();
    return status;
}

int run_step(fl_queue *q, const fl_step &step) {
    if (step.kernel)
        return run_backend_kernel(q, step);
    if (step.made >= 0)
        return run_product(q, step);
    if (step.code.run)
        return run_code(q, step.code);
    return step.rows ? run_rows(q, step) : run_call(q, q->calls[step.call]);
}

int run_calls(fl_queue *q) {
    int status = 0;
    for (size_t i = 0; i < q->calls.size() && status == 0; i++)
        status = run_call(q, q->calls[i]);
    return status;
}

int run_plan(fl_queue *q, const Plan &plan) {
    int status = 0;
    for (const fl_step &step : plan.steps) {
        if (status < 0)
            break;
        status = run_step(q, step);
    }
    return status;
}

/* What each call gained by waiting. */
void note_habits(const fl_queue *q, const std::vector<int64_t> &alone) {
    size_t next = 0;
    for (size_t i = 0; i < q->calls.size(); i++) {
        const bool was_alone = next < alone.size() && alone[next] == (int64_t)i;
        next += was_alone;
        if (q->calls[i].habit)
            q->calls[i].habit->note(was_alone);
    }
}

/* By code or by the core's kernels, which have the same bits, until it is known which is faster. */
int run_tried(fl_queue *q, Plan &plan) {
    int status;
    q->trial_runs++;
    if (plan.trial.is_turn_of_code()) {
        status = plan.trial.run_code([&] { return run_plan(q, plan); }, q->calls.size());
    } else {
        fl_reuse reuse(q);
        status = plan.trial.run_kernels([&] { return run_calls(q); });
    }
    plan.is_rejected = plan.trial.has_ended() && !plan.trial.gained();
    if (plan.is_rejected) {
        plan.alone.resize(q->calls.size());
        std::iota(plan.alone.begin(), plan.alone.end(), 0);
    }
    return status;
}

bool is_tried(const fl_queue *q, const Plan &plan) {
    const bool is_in_question = plan.is_doubtful || (q->calls.size() == 1 && plan.alone.empty());
    return is_in_question && !plan.trial.has_ended();
}

int run_known(fl_queue *q, const Plan &plan, const char *why) {
    note_habits(q, plan.alone);
    if (fl_is_watched())
        return fl_watch_run(q, why, plan.object, [&] { return run_plan(q, plan); },
                            [&] { return run_calls(q); });
    return plan.is_rejected ? run_calls(q) : run_plan(q, plan);
}

/* Without a plan the calls run one by one, which is always right; why there is none is shown. */
int run_all(fl_queue *q, const char *why) {
    if (q->calls.size() == 1 && q->has_product && !fl_is_watched()) {
        note_habits(q, {0});
        return run_calls(q);                /* nothing follows it */
    }
    std::shared_ptr<Plan> plan;             /* others may empty the cache while it runs */
    if (fl_deferral_planner)
        plan = find_plan(q);
    if (!plan)
        return run_calls(q);
    int status = !fl_is_watched() && is_tried(q, *plan) ? run_tried(q, *plan)
                                                        : run_known(q, *plan, why);
    q->ran.push_back(Py_NewRef(plan->object));
    q->reasons.push_back(why);
    return status;
}

}  // namespace

bool fl_queue::is_launching(void) const {
    return is_elsewhere && runner == PyThread_get_thread_ident();
}

void fl_queue::clear(void) {
    std::vector<fl_value> old;
    std::vector<Slot> used;
    old.swap(values);
    used.swap(slots);
    calls.clear();
    has_product = false;
    lists.clear();
    key.clear();
    for (fl_value &v : old)             /* its tensor's own reference again */
        if (v.tag == FL_TENSOR)
            Py_INCREF(v.t->storage);
    for (Slot &s : used)
        s.storage->queue = nullptr;
    __atomic_sub_fetch(&fl_waiting_queues, 1, __ATOMIC_RELAXED);
    /* What was there first was read; what came later may never have been touched, and is used next
     * of all. */
    for (auto s = used.rbegin(); s != used.rend(); ++s)
        if (s->is_kept)
            Py_DECREF(s->storage);
    for (fl_value &v : old)
        if (v.tag == FL_TENSOR)
            Py_DECREF(v.t);
}

int fl_run_queue(fl_queue *q, const char *why) {
    if (q->is_running && q->runner == PyThread_get_thread_ident()) {    /* a signal's handler */
        PyErr_Format(PyExc_RuntimeError, "%s() needs values that are being computed at this moment",
                     why);
        return -1;
    }
    if (!q->mutex.try_lock()) {         /* another thread runs it */
        Py_BEGIN_ALLOW_THREADS
        q->mutex.lock();
        Py_END_ALLOW_THREADS
    }
    int status = 0;
    if (!q->calls.empty()) {
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);     /* of a call that leaves with an error */
        fl_queue *own = fl_thread.queue;
        fl_thread.queue = nullptr;
        q->is_running = true;
        q->runner = PyThread_get_thread_ident();
        status = run_all(q, why);
        q->clear();
        q->is_running = false;
        fl_thread.queue = own;
        if (type)
            PyErr_Restore(type, value, trace);
    }
    q->mutex.unlock();
    return status;
}

void fl_forget_plans(void) { plans.clear(); }
