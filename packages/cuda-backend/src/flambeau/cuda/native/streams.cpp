/* Streams, events, pinned memory and graphs for Python. */
#include "streams.h"

#include <vector>

/* What the calling thread works on: for each device type and index, null the default stream. */
static thread_local std::vector<void *> current;
static thread_local bool copies_later;

void *fl_stream_of(const Device &d, int index) {
    const size_t at = (size_t)d.type << 8 | (size_t)index;
    return at < current.size() ? current[at] : nullptr;
}

int fl_copy_flags(void) { return copies_later ? FL_LATER : 0; }

static PyObject *failed(Device &d, int status, const char *what) {
    PyObject *name = PyUnicode_FromString(what);
    if (name)
        fl_raise_status(d, status, name);
    Py_XDECREF(name);
    return nullptr;
}

/* What waits in a compiled call was asked of the stream that is current now, and before this: 0, or
 * -1 where it fails. */
static PyObject *run_waiting;
static int run_what_waits(void) {
    PyObject *done = PyObject_CallNoArgs(run_waiting);
    Py_XDECREF(done);
    return done ? 0 : -1;
}
static int leave_waiting(void) { return 0; }

/* A device, an index and two numbers: what all of these functions take. */
struct Arguments {
    int type = 0, index = 0;
    unsigned long long first = 0, second = 0;
    Device *device = nullptr;

    bool read(PyObject *args, const char *name) {
        char format[32];
        snprintf(format, sizeof format, "ii|KK:%s", name);
        return PyArg_ParseTuple(args, format, &type, &index, &first, &second) &&
               (index >= 0 && index < 64
                    ? (device = fl_device_of_type(type)) != nullptr
                    : (PyErr_Format(PyExc_ValueError, "%s(): no device %d", name, index), false));
    }
    void *a() const { return (void *)(uintptr_t)first; }
    void *b() const { return (void *)(uintptr_t)second; }
    void *ctx() const { return device->driver->ctx; }
};

/* One function: `before`, `call` of the driver without the lock of Python, `result` where it
 * succeeds. */
#define FL_FUNCTION(name, before, call, result)                                                  \
    static PyObject *name(PyObject *, PyObject *args) {                                          \
        Arguments g;                                                                             \
        void *made = nullptr;                                                                    \
        int done = 0, status;                                                                    \
        float time = 0;                                                                          \
        (void)made, (void)done, (void)time;                                                      \
        if (!g.read(args, #name) || before() < 0)                                                \
            return nullptr;                                                                      \
        const fl_driver &driver = *g.device->driver;                                             \
        Py_BEGIN_ALLOW_THREADS                                                                   \
        status = driver.call;                                                                    \
        Py_END_ALLOW_THREADS                                                                     \
        return status ? failed(*g.device, status, #name "()") : result;                          \
    }

FL_FUNCTION(make_stream, leave_waiting,
            make_stream(g.ctx(), g.index, (int)(long long)g.first, &made),
            PyLong_FromVoidPtr(made))
FL_FUNCTION(stream_done, run_what_waits, stream_done(g.ctx(), g.index, g.a(), (int)g.second, &done),
            PyBool_FromLong(done))
FL_FUNCTION(make_event, leave_waiting, make_event(g.ctx(), g.index, (int)g.first, &made),
            PyLong_FromVoidPtr(made))
FL_FUNCTION(drop_event, leave_waiting, drop_event(g.ctx(), g.index, g.a()), Py_NewRef(Py_None))
FL_FUNCTION(record, run_what_waits, record(g.ctx(), g.index, g.a(), g.b()), Py_NewRef(Py_None))
FL_FUNCTION(event_done, run_what_waits, event_done(g.ctx(), g.index, g.a(), (int)g.second, &done),
            PyBool_FromLong(done))
FL_FUNCTION(wait, run_what_waits, wait(g.ctx(), g.index, g.a(), g.b()), Py_NewRef(Py_None))
FL_FUNCTION(elapsed, leave_waiting, elapsed(g.ctx(), g.a(), g.b(), &time),
            PyFloat_FromDouble((double)time))
FL_FUNCTION(pin, leave_waiting, pin(g.ctx(), (size_t)g.first, &made), PyLong_FromVoidPtr(made))
FL_FUNCTION(unpin, leave_waiting, unpin(g.ctx(), g.a()), Py_NewRef(Py_None))

static PyObject *drop_stream(PyObject *, PyObject *args) {
    Arguments g;
    if (!g.read(args, "drop_stream"))
        return nullptr;
    g.device->blocks.leave(g.index, g.a());
    const int status = g.device->driver->drop_stream(g.ctx(), g.index, g.a());
    return status ? failed(*g.device, status, "drop_stream()") : Py_NewRef(Py_None);
}

static PyObject *graph(PyObject *, PyObject *args) {
    int type, index, step;
    unsigned long long stream, known = 0;
    Device *d;
    if (!PyArg_ParseTuple(args, "iiKi|K:graph", &type, &index, &stream, &step, &known) ||
        !(d = fl_device_of_type(type)) || run_what_waits() < 0)
        return nullptr;
    void *made = (void *)(uintptr_t)known;
    int status = d->driver->graph(d->driver->ctx, index, (void *)(uintptr_t)stream, step, &made);
    return status ? failed(*d, status, "CUDAGraph") : PyLong_FromVoidPtr(made);
}

static PyObject *stream(PyObject *, PyObject *args) {
    Arguments g;
    return g.read(args, "stream") ? PyLong_FromVoidPtr(fl_stream_of(*g.device, g.index)) : nullptr;
}

static PyObject *set_stream(PyObject *, PyObject *args) {
    Arguments g;
    if (!g.read(args, "set_stream") || run_what_waits() < 0)
        return nullptr;
    PyObject *before = PyLong_FromVoidPtr(fl_stream_of(*g.device, g.index));
    const size_t at = (size_t)g.type << 8 | (size_t)g.index;
    if (current.size() <= at)
        current.resize(at + 1);
    current[at] = g.a();
    return before;
}

static PyObject *set_later(PyObject *, PyObject *wanted) {
    const bool before = copies_later;
    copies_later = PyObject_IsTrue(wanted) == 1;
    return PyBool_FromLong(before);
}

static PyObject *set_pool(PyObject *, PyObject *number) {
    if (run_what_waits() < 0)
        return nullptr;
    const uint32_t before = fl_current_pool;
    fl_current_pool = (uint32_t)PyLong_AsUnsignedLong(number);
    return PyErr_Occurred() ? nullptr : PyLong_FromUnsignedLong(before);
}

/* ---- memory --------------------------------------------------------------------------------- */
static PyObject *use(PyObject *, PyObject *args) {
    Arguments g;
    return g.read(args, "use") ? PyBool_FromLong(g.device->blocks.use((char *)g.a(), g.b()))
                               : nullptr;
}

static PyObject *snapshot(PyObject *, PyObject *args) {
    Arguments g;
    return g.read(args, "snapshot") ? g.device->blocks.snapshot(g.index) : nullptr;
}

static PyObject *set_limit(PyObject *, PyObject *args) {
    Arguments g;
    if (!g.read(args, "set_limit"))
        return nullptr;
    g.device->blocks.set_limit(g.index, (int64_t)g.first);
    Py_RETURN_NONE;
}

static PyObject *drop_pool(PyObject *, PyObject *args) {
    Arguments g;
    if (!g.read(args, "drop_pool"))
        return nullptr;
    g.device->blocks.drop_pool(g.index, (uint32_t)g.first);
    Py_RETURN_NONE;
}

static PyObject *take(PyObject *, PyObject *args) {
    Arguments g;
    char *data = nullptr;
    if (!g.read(args, "take"))
        return nullptr;
    PyObject *block = g.device->blocks.take(g.index, fl_stream_of(*g.device, g.index),
                                            (size_t)g.first, &data);
    return block ? Py_BuildValue("(KN)", (unsigned long long)(uintptr_t)data, block) : nullptr;
}

#define FL_METHOD(name, signature, text)                                                         \
    {#name, name, METH_VARARGS, #name signature "\n--\n\n" text}
static PyMethodDef methods[] = {
    FL_METHOD(make_stream, "(type, index, priority)", "A new stream's address."),
    FL_METHOD(drop_stream, "(type, index, stream)", "Destroy a stream."),
    FL_METHOD(stream_done, "(type, index, stream, wait)",
              "Whether all that a stream was asked is done; wait until it is."),
    FL_METHOD(make_event, "(type, index, timed)", "A new event's address."),
    FL_METHOD(drop_event, "(type, index, event)", "Destroy an event."),
    FL_METHOD(record, "(type, index, event, stream)", "Let an event stand for what was asked."),
    FL_METHOD(event_done, "(type, index, event, wait)", "Whether an event has come; wait for it."),
    FL_METHOD(wait, "(type, index, stream, event)", "Let a stream wait for an event."),
    FL_METHOD(elapsed, "(type, index, first, second)", "Milliseconds between two events."),
    FL_METHOD(pin, "(type, index, bytes)", "The address of page-locked memory of the host."),
    FL_METHOD(unpin, "(type, index, address)", "Free page-locked memory."),
    FL_METHOD(graph, "(type, index, stream, step, graph=0)",
              "Begin a graph (0), end and return it (1), launch (2) or free it (3)."),
    FL_METHOD(stream, "(type, index)", "The stream that the calling thread works on."),
    FL_METHOD(set_stream, "(type, index, stream)",
              "Let the calling thread work on a stream; returns the one before."),
    {"set_later", set_later, METH_O,
     "set_later(wanted)\n--\n\nWhether copies of this thread return before they are done."},
    {"set_pool", set_pool, METH_O,
     "set_pool(number)\n--\n\nWhich blocks this thread takes; 0 is what is no graph's."},
    FL_METHOD(use, "(type, index, address, stream)",
              "A stream works on the memory that begins there; False where no tensor has it."),
    FL_METHOD(snapshot, "(type, index)", "(address, bytes, stream, pool, in use) of each block."),
    FL_METHOD(set_limit, "(type, index, bytes)", "At most how much is reserved; 0 for no limit."),
    FL_METHOD(drop_pool, "(type, index, pool)", "Release the blocks of a graph."),
    FL_METHOD(take, "(type, index, bytes)", "Memory: its address and what keeps it."),
    {nullptr, nullptr, 0, nullptr}};

int fl_add_stream_functions(PyObject *module) {
    PyObject *core = PyImport_ImportModule("flambeau.core._core");
    run_waiting = core ? PyObject_GetAttrString(core, "run_waiting") : nullptr;
    Py_XDECREF(core);
    return run_waiting ? PyModule_AddFunctions(module, methods) : -1;
}
