/* Tensor objects, made and released: most of what a small operator costs beside its call.
 *
 * The Cython class would make a dictionary for every tensor, and set up fields that the caller sets
 * again. Tensors made here get a dictionary when the first attribute is set, as Python's own
 * objects do. Released objects of the class itself, not of subclasses, wait on a list. */
#include "dispatch/python.h"

static WaitingObjects<PyObject, 1024> waiting;
static void *vtab = nullptr;    /* what the Cython class expects in the frozen prefix */

static inline PyObject **slot(PyObject *o, Py_ssize_t offset) {
    return (PyObject **)((char *)o + offset);
}

static void release(PyObject *o) {
    fl_tensor *t = (fl_tensor *)o;
    PyObject_GC_UnTrack(o);
    if (*slot(o, fl_tensor_type->tp_weaklistoffset))
        PyObject_ClearWeakRefs(o);
    if (t->shape != ((fl_tensor_full *)o)->inline_geometry)
        PyMem_Free(t->shape);
    Py_CLEAR(t->storage);
    Py_CLEAR(t->autograd);
    Py_CLEAR(((fl_tensor_full *)o)->base);
    Py_CLEAR(*slot(o, fl_tensor_type->tp_dictoffset));
    if (!(FL_LIKELY(Py_TYPE(o) == fl_tensor_type) && waiting.keep(o)))
        Py_TYPE(o)->tp_free(o);
}

int fl_tensor_blank_init(void) {
    PyObject *none = PyTuple_New(0);
    PyObject *first = none ? fl_tensor_type->tp_new(fl_tensor_type, none, nullptr) : nullptr;
    Py_XDECREF(none);
    if (!first)
        return -1;
    vtab = ((fl_tensor *)first)->vtab;
    Py_DECREF(first);
    fl_tensor_type->tp_dealloc = release;
    return 0;
}

fl_tensor *fl_tensor_blank(void) {
    PyObject *o = waiting.take();
    if (FL_LIKELY(o != nullptr)) {
        memset((char *)o + sizeof(PyObject), 0,
               (size_t)fl_tensor_type->tp_basicsize - sizeof(PyObject));
        PyObject_Init(o, fl_tensor_type);
        PyObject_GC_Track(o);
    } else {
        o = fl_tensor_type->tp_alloc(fl_tensor_type, 0);
        if (!o)
            return nullptr;
    }
    fl_tensor_full *t = (fl_tensor_full *)o;
    t->head.vtab = vtab;
    t->head.shape = t->inline_geometry;
    t->head.strides = t->inline_geometry + 8;
    Py_INCREF(Py_None);
    t->head.autograd = Py_None;
    Py_INCREF(Py_None);
    t->base = Py_None;
    return (fl_tensor *)o;
}
