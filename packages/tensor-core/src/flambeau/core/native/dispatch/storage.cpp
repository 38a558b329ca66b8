/* Storage objects: memory, its owner and its version counter. Small data lives in the object. */
#include "deferral/deferral.h"
#include "dispatch/captures.h"
#include "replay/replay.h"

static WaitingObjects<fl_storage, 512> waiting;

static void storage_dealloc(PyObject *self) {
    fl_storage *s = (fl_storage *)self;
    if (FL_UNLIKELY(s->queue != nullptr)) {
        fl_queue_keep(s);
        return;
    }
    if (s->kind == FL_S_HEAP)
        fl_free(s->ptr, s->nbytes);
    Py_CLEAR(s->owner);
    if (!waiting.keep(s))
        PyObject_Free(s);
}

/* A method, not an entry of copyreg: picklers may have a dispatch table of their own, or a copy of
 * copyreg's that was taken before the first tensor came by, as multiprocessing's do. */
static PyObject *storage_reduce(PyObject *self, PyObject *) {
    PyObject *copying = PyImport_ImportModule("flambeau.core.copying");
    if (!copying)
        return nullptr;
    PyObject *reduced = PyObject_CallMethod(copying, "reduce_storage", "O", self);
    Py_DECREF(copying);
    return reduced;
}

static PyMethodDef storage_methods[] = {
    {"__reduce__", storage_reduce, METH_NOARGS, "What pickle and copy need."},
    {nullptr, nullptr, 0, nullptr}};

PyTypeObject fl_storage_type = {PyVarObject_HEAD_INIT(NULL, 0)};
fl_storage *fl_empty_storage = nullptr;

int fl_storage_init(void) {
    fl_storage_type.tp_name = "flambeau.core.Storage";
    fl_storage_type.tp_basicsize = sizeof(fl_storage);
    fl_storage_type.tp_dealloc = storage_dealloc;
    fl_storage_type.tp_flags = Py_TPFLAGS_DEFAULT;
    fl_storage_type.tp_methods = storage_methods;
    fl_storage_type.tp_doc = "Memory shared by a tensor and its views.";
    if (PyType_Ready(&fl_storage_type) < 0)
        return -1;
    fl_empty_storage = fl_storage_new(0, 0);
    return fl_empty_storage ? 0 : -1;
}

static fl_storage *storage_blank(int device) {
    fl_storage *s = waiting.take();
    if (FL_LIKELY(s != nullptr)) {
        PyObject_Init((PyObject *)s, &fl_storage_type);
    } else {
        s = PyObject_New(fl_storage, &fl_storage_type);
        if (!s)
            return nullptr;
    }
    s->version = 0;
    s->device_type = (uint8_t)(device >> 8);
    s->device_index = (uint8_t)device;
    s->readonly = 0;
    s->owner = nullptr;
    s->queue = nullptr;
    s->is_shared = 0;
    if (fl_any_capture_scope()) {
        fl_capture_born(s);
        fl_record_birth(s);
    }
    return s;
}

/* Room inside the object, aligned as the allocator's blocks are. */
static char *inside(fl_storage *s) {
    const uintptr_t mask = FL_ALLOC_ALIGNMENT - 1;
    return (char *)(((uintptr_t)s->small + mask) & ~mask);
}

static int storage_from_backend(fl_storage *s, size_t nbytes, int device) {
    const fl_backend *b = fl_backend_of(device >> 8);
    if (!b) {
        PyErr_Format(PyExc_RuntimeError, "no backend for device type %d", device >> 8);
        return -1;
    }
    s->kind = FL_S_FOREIGN;
    Py_CLEAR(s->owner);
    return b->allocate(b->ctx, device & 255, nbytes, &s->ptr, &s->owner);
}

fl_storage *fl_storage_new(size_t nbytes, int device) {
    fl_storage *s = storage_blank(device);
    if (!s)
        return nullptr;
    s->nbytes = nbytes;
    s->kind = FL_S_INLINE;
    s->ptr = inside(s);
    if ((device >> 8) == FL_META) {
        s->ptr = nullptr;
        return s;
    }
    if ((device >> 8) != FL_CPU) {
        if (storage_from_backend(s, nbytes, device) == 0)
            return s;
        Py_DECREF(s);
        return nullptr;
    }
    if (nbytes <= FL_SMALL && !fl_alloc_watched)
        return s;
    s->ptr = (char *)fl_alloc(nbytes);
    if (!s->ptr) {
        Py_DECREF(s);
        char text[FL_ALLOC_TEXT];
        fl_alloc_text(text);
        PyErr_SetString(PyExc_MemoryError, text);
        return nullptr;
    }
    s->kind = FL_S_HEAP;
    return s;
}

fl_storage *fl_storage_foreign(char *ptr, size_t nbytes, int device, PyObject *owner,
                               bool readonly) {
    fl_storage *s = storage_blank(device);
    if (!s)
        return nullptr;
    s->ptr = ptr;
    s->nbytes = nbytes;
    s->kind = FL_S_FOREIGN;
    if (device >> 8 != FL_CPU)          /* another library's; the backend's own is foreign, too */
        s->is_shared = FL_S_WRITABLE_OUTSIDE;
    s->readonly = readonly;
    Py_XINCREF(owner);
    Py_XSETREF(s->owner, owner);
    if (fl_any_capture_scope())
        fl_record_foreign(s);
    return s;
}

int64_t fl_storage_offset(const fl_tensor *t) {
    return (t->data - ((fl_storage *)t->storage)->ptr) / fl_itemsize(t->dtype);
}

uint64_t fl_storage_bytes(const fl_tensor *t) { return ((fl_storage *)t->storage)->nbytes; }
