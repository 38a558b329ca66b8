# What the parts that watch need from C and from the core's Python side.
from libc.math cimport isfinite
from libc.string cimport strncmp
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

import traceback

from flambeau.core import scope_path as _scope_path, want_scopes as _want_scopes


cdef extern from *:
    """
    static thread_local PyObject *fl_node_in_hand = NULL;   /* borrowed: its rule runs now */
    static inline void set_node_in_hand(PyObject *node) { fl_node_in_hand = node; }
    static thread_local PyObject *fl_task_in_hand = NULL;   /* borrowed: the pass that runs */
    static inline void set_task_in_hand(PyObject *task) { fl_task_in_hand = task; }
    static thread_local int fl_nested_passes = 0;           /* each called by a rule of the one
                                                             * around it */
    static inline void set_nested_passes(int count) { fl_nested_passes = count; }
    static inline PyObject *referent(PyObject *ref) {       /* a new reference, or NULL */
#if PY_VERSION_HEX >= 0x030D0000
        PyObject *o = NULL;
        return PyWeakref_GetRef(ref, &o) == 1 ? o : NULL;
#else
        PyObject *o = PyWeakref_GET_OBJECT(ref);
        return o == Py_None ? NULL : Py_NewRef(o);
#endif
    }
    static PyObject *PyErr_GetRaisedException_(void) {      /* of 3.12, for 3.11 too */
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        if (!type)
            return NULL;
        PyErr_NormalizeException(&type, &value, &trace);
        if (trace) {
            PyException_SetTraceback(value, trace);
            Py_DECREF(trace);
        }
        Py_DECREF(type);
        return value;
    }
    static void PyErr_SetRaisedException_(PyObject *value) {
        if (value) {
            PyErr_SetObject((PyObject *)Py_TYPE(value), value);
            Py_DECREF(value);
        }
    }
    """
    PyObject *fl_node_in_hand
    void set_node_in_hand(PyObject *) noexcept
    PyObject *fl_task_in_hand
    void set_task_in_hand(PyObject *) noexcept
    int fl_nested_passes
    void set_nested_passes(int) noexcept
    PyObject *referent(PyObject *) noexcept
    PyObject *PyErr_GetRaisedException_() noexcept
    void PyErr_SetRaisedException_(PyObject *) noexcept


cdef extern from *:
    """
    static inline PyObject *fl_frame(void) { return (PyObject *)PyEval_GetFrame(); }
    static inline PyObject *fl_frame_code(PyObject *f) {
        return (PyObject *)PyFrame_GetCode((PyFrameObject *)f); }
    static inline PyObject *fl_frame_back(PyObject *f) {
        return (PyObject *)PyFrame_GetBack((PyFrameObject *)f); }
    static inline int fl_frame_lasti(PyObject *f) { return PyFrame_GetLasti((PyFrameObject *)f); }
    static inline int fl_code_line(PyObject *code, int at) {
        return PyCode_Addr2Line((PyCodeObject *)code, at); }
    """
    PyObject *PyEval_GetFrame "fl_frame" () noexcept
    PyObject *PyFrame_GetCode "fl_frame_code" (PyObject *) noexcept
    PyObject *PyFrame_GetBack "fl_frame_back" (PyObject *) noexcept
    int PyFrame_GetLasti "fl_frame_lasti" (PyObject *) noexcept
    int PyCode_Addr2Line "fl_code_line" (PyObject *, int) noexcept
    unsigned long PyThread_get_thread_ident() noexcept
