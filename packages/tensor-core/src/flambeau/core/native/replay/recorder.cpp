/* Noting kernels and the memory they run over. Nothing that is made inside the call is held, since
 * who else holds a tensor decides what some operators do. */
#include "replay/recorder.h"
#include "deferral/deferral.h"
#include "dispatch/captures.h"
#include "dispatch/caller.h"
#include "dispatch/overlap.h"

__thread fl_recorder *fl_recording __attribute__((tls_model("initial-exec"))) = nullptr;

/* What storages that are made inside own, so that they tell when they are gone. */
struct BirthMark {
    PyObject_HEAD
    fl_recorder *recorder;              /* NULL when the recording is over */
    uint32_t memory;
};

static std::unordered_set<BirthMark *> marks;

static void mark_dealloc(PyObject *self) {
    BirthMark *mark = (BirthMark *)self;
    if (mark->recorder)
        mark->recorder->memories[mark->memory].is_alive = false;
    marks.erase(mark);
    PyObject_Free(self);
}

static PyTypeObject mark_type = {PyVarObject_HEAD_INIT(NULL, 0)};

static BirthMark *mark_of(const fl_storage *s, const fl_recorder *r) {
    if (!s->owner || Py_TYPE(s->owner) != &mark_type)
        return nullptr;
    BirthMark *mark = (BirthMark *)s->owner;
    return mark->recorder == r ? mark : nullptr;
}

void fl_record_birth(fl_storage *s) {
    fl_recorder *r = fl_recording;
    BirthMark *mark = r ? PyObject_New(BirthMark, &mark_type) : nullptr;
    if (!mark) {
        PyErr_Clear();
        if (r)
            r->refuse("memory ran out");
        return;
    }
    mark->recorder = r;
    mark->memory = (uint32_t)r->memories.size();
    r->memories.emplace_back();
    r->memories.back().is_born = true;
    r->foreign.erase(s);
    marks.insert(mark);
    s->owner = (PyObject *)mark;
}

void fl_record_foreign(const fl_storage *s) {
    if (fl_recording)
        fl_recording->foreign.insert(s);
}

void fl_record_escape(const char *why) {
    if (fl_recording)
        fl_recording->refuse(std::string(why) + " looks at values");
}

void fl_record_python(void) {
    if (fl_recording)
        fl_recording->calls_python = true;
}

void fl_record_refuse(const char *why) {
    if (fl_recording)
        fl_recording->refuse(why);
}

void fl_recorder::refuse(const std::string &why) {
    if (refusal.empty())
        refusal = why;
}

/* Some functions ask who else has a tensor's memory. */
void fl_recorder::let_go(void) {
    std::vector<fl_written> aliases;
    aliases.swap(writes);
    counters.clear();
    outside.clear();
    for (fl_memory &m : memories)
        Py_CLEAR(m.outside);
    for (fl_written &w : aliases)
        Py_DECREF(w.alias);
}

fl_recorder::~fl_recorder() {
    let_go();
    for (PyObject *o : objects)
        Py_DECREF(o);
}

/* Storages over one array, or over memory that another storage owns, have bytes in common. */
bool fl_may_overlap(const fl_storage *a, const fl_storage *b) {
    return a == b || (a->ptr < b->ptr + b->nbytes && b->ptr < a->ptr + a->nbytes);
}

/* Loops are planned as if memories lay apart, which those that are only read need not. */
void fl_recorder::note_write(fl_memory &m, bool is_written) {
    m.is_written |= is_written;
    if (m.is_shared && m.is_written)
        refuse("an array is written to over which another tensor lies, too");
}

int64_t fl_recorder::memory_of(const fl_tensor *t) {
    fl_storage *s = fl_root_storage(t->storage);
    if (BirthMark *mark = mark_of(s, this)) {
        fl_memory &m = memories[mark->memory];
        if (!m.is_used) {
            m.at = s->ptr;
            m.bytes = s->nbytes;
        } else if (m.at != s->ptr || m.bytes != s->nbytes) {
            refuse("memory was resized");
            return -1;
        }
        return mark->memory;
    }
    if (foreign.count(s)) {
        refuse("memory of an array or a file is taken over inside the call");
        return -1;
    }
    auto found = outside.find(s);
    if (found != outside.end())
        return found->second;
    memories.emplace_back();
    fl_memory &m = memories.back();
    for (auto &other : outside)
        if (fl_may_overlap(other.first, s)) {
            m.is_shared = memories[other.second].is_shared = true;
            note_write(memories[other.second], false);
        }
    outside[s] = (uint32_t)memories.size() - 1;
    m.outside = (fl_storage *)Py_NewRef((PyObject *)s);
    m.at = s->ptr;
    m.bytes = s->nbytes;
    m.is_used = true;
    return (int64_t)memories.size() - 1;
}

static bool fills_memory(const fl_tensor *t, const fl_memory &m) {
    return t->data == m.at && (uint64_t)(t->numel * fl_itemsize(t->dtype)) == m.bytes &&
           fl_is_dense(t);
}

/* A number for a tensor; `fills`: its kernel writes all of it and reads nothing of it. */
int64_t fl_recorder::extent_of(const fl_tensor *t, bool fills) {
    if (t->device_type != FL_CPU || t->flags >> FL_LEVEL_SHIFT) {
        refuse(t->device_type != FL_CPU ? "a tensor on another device takes part"
                                        : "a transform is at work");
        return -1;
    }
    int64_t k = memory_of(t);
    if (k < 0)
        return -1;
    fl_memory &m = memories[(size_t)k];
    if (!m.is_used && !(fills && fills_memory(t, m)))
        m.first.assign(m.at ? m.at : "", m.at ? (size_t)m.bytes : 0);
    m.is_used = true;
    fl_extent p;
    p.memory = (uint32_t)k;
    p.dtype = t->dtype;
    p.start = t->data - m.at;
    p.shape.assign(t->shape, t->shape + t->ndim);
    p.strides.assign(t->strides, t->strides + t->ndim);
    extents.push_back(std::move(p));
    return (int64_t)extents.size() - 1;
}

/* A copy that outlives the call. */
fl_value fl_recorder::keep(const fl_value &v) {
    fl_value kept = v;
    switch (v.tag) {
    case FL_TENSOR:
        kept.i = v.t ? extent_of(v.t, false) : -1;
        break;
    case FL_TENSORS:
        words.emplace_back();
        for (uint32_t k = 0; k < v.len; k++)
            words.back().push_back(v.ts[k] ? extent_of(v.ts[k], false) : -1);
        kept.is = words.back().data();
        break;
    case FL_INTS: case FL_BOOLS: case FL_FLOATS:
        words.emplace_back((size_t)v.len);
        if (v.len)
            memcpy(words.back().data(), v.is, sizeof(int64_t) * v.len);
        kept.is = words.back().data();
        break;
    case FL_STRING:
        strings.emplace_back(v.s, v.len);
        kept.s = strings.back().c_str();
        break;
    case FL_GENERATOR:
        if (v.o)
            objects.push_back(Py_NewRef(v.o));
        break;
    case FL_SYMINT: case FL_OBJECT:
        if (v.o && v.o != Py_None)
            refuse("an operator takes a Python object");
        break;
    default:
        break;
    }
    return kept;
}

/* Count writes to a tensor that was there before. */
int fl_recorder::watch_writes(fl_tensor *t) {
    if (!refusal.empty() || counters.count(t->version) ||
        mark_of(fl_root_storage(t->storage), this) || foreign.count((fl_storage *)t->storage))
        return 0;
    fl_recorder *own = fl_recording;
    fl_recording = nullptr;
    fl_tensor *alias = fl_tensor_alias(t);
    fl_recording = own;
    if (!alias)
        return -1;
    counters[t->version] = writes.size();
    writes.push_back({alias, *t->version & ~FL_VERSION_SAVED, 0});
    return 0;
}

bool fl_recorder::uses(const fl_tensor *t) const {
    return outside.count(fl_root_storage(t->storage)) > 0;
}

uint32_t fl_recorder::take_writes(const fl_tensor *t) {
    auto found = counters.find(t->version);
    int64_t source = sources_taken++;
    if (found == counters.end())
        return 0;
    fl_written &w = writes[found->second];
    w.source = source;
    uint32_t now = *w.alias->version & ~FL_VERSION_SAVED, count = w.count + now - w.version;
    w.version = now;
    w.count = 0;
    return count;
}

void fl_recorder::count_writes(bool again) {
    for (fl_written &w : writes) {
        uint32_t now = *w.alias->version & ~FL_VERSION_SAVED;
        if (again)
            w.version = now;
        else
            w.count += now - w.version;
    }
}

/* Whether the kernels account for all that versions have counted. */
bool fl_recorder::made_all_writes(void) const {
    std::vector<uint32_t> own(writes.size());
    for (const fl_kernel_run &run : runs)
        for (uint32_t i : run.writes)
            own[i]++;
    for (size_t i = 0; i < writes.size(); i++) {
        const fl_written &w = writes[i];
        if (own[i] != w.count + (*w.alias->version & ~FL_VERSION_SAVED) - w.version)
            return false;
    }
    return true;
}

int fl_recorder::record(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    if (!refusal.empty())
        return 0;
    fl_kernel_run run;
    run.op = op;
    run.caller = fl_caller;
    run.called = fl_caller ? fl_outermost : nullptr;
    run.is_fusible = fl_is_fusible(op, in, n, outs, false);
    for (int i = 0; i < n; i++)
        run.values.push_back(keep(in[i]));
    for (int i = 0; i < op->nouts; i++) {
        bool is_input = false;
        for (int k = 0; k < n; k++)
            is_input |= in[k].tag == FL_TENSOR && in[k].t == outs[i];
        if (watch_writes(outs[i]) < 0)
            return -1;
        auto counter = counters.find(outs[i]->version);
        if (counter != counters.end())
            run.writes.push_back((uint32_t)counter->second);
        run.outs.push_back((uint32_t)extent_of(outs[i], !is_input));
        if (!refusal.empty())
            return 0;
        note_write(memories[extents[run.outs.back()].memory], true);
    }
    runs.push_back(std::move(run));
    return 0;
}

int fl_record_kernel(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    return fl_recording ? fl_recording->record(op, in, n, outs) : 0;
}

void fl_record_begin(fl_recorder *r) {
    if (!mark_type.tp_name) {
        mark_type.tp_name = "flambeau.core.BirthMark";
        mark_type.tp_basicsize = sizeof(BirthMark);
        mark_type.tp_dealloc = mark_dealloc;
        mark_type.tp_flags = Py_TPFLAGS_DEFAULT;
        PyType_Ready(&mark_type);
    }
    fl_record_resume(r);
}

/* Marks that live on tell nobody. */
void fl_record_end(fl_recorder *r) {
    if (fl_recording)
        fl_record_pause(r);
    for (BirthMark *mark : marks)
        if (mark->recorder == r)
            mark->recorder = nullptr;
}

void fl_record_pause(fl_recorder *) {
    fl_recording = nullptr;
    __atomic_sub_fetch(&fl_waiting_queues, 1, __ATOMIC_RELAXED);
    fl_births_exit();
}

void fl_record_resume(fl_recorder *r) {
    fl_births_enter();
    __atomic_add_fetch(&fl_waiting_queues, 1, __ATOMIC_RELAXED);
    fl_recording = r;
}
