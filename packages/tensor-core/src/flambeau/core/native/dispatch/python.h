/* The Python side of the core's C++: what is known of objects and calls, and how they are boxed. */
#pragma once
#include "dispatch/objects.h"
#include "common/sparse.h"

/* Released objects that wait for the next call. Without the GIL threads would race for them, and
 * Python's own allocator is made for that. */
template <typename T, int LIMIT> struct WaitingObjects {
#ifdef Py_GIL_DISABLED
    bool keep(T *) { return false; }
    T *take() { return nullptr; }
#else
    T *objects[LIMIT];
    int count;
    bool keep(T *object) {
        if (FL_UNLIKELY(count == LIMIT))
            return false;
        objects[count++] = object;
        return true;
    }
    T *take() { return FL_LIKELY(count > 0) ? objects[--count] : nullptr; }
#endif
};

/* ---- objects ---------------------------------------------------------------------------------- */
extern PyTypeObject fl_storage_type;
/* The storage that owns the memory, where another one only counts versions apart, as x.data does. */
static inline fl_storage *fl_root_storage(PyObject *storage) {
    fl_storage *s = (fl_storage *)storage;
    while (s->owner && Py_TYPE(s->owner) == &fl_storage_type)
        s = (fl_storage *)s->owner;
    return s;
}
int fl_storage_init(void);
extern PyTypeObject *fl_tensor_type;
int fl_tensor_blank_init(void);                 /* once fl_tensor_type is known */
extern PyObject *fl_level_escaped;             /* called with tensors of a level, and a name */
extern PyObject *fl_level_blank;               /* makes memory at the levels of tensors, or NULL */
extern PyObject *fl_level_alias;               /* makes aliases of tensors with a level, or NULL */
/* Any tensor, sparse ones too; and a tensor that arguments are read as, which is dense memory. */
static inline bool fl_any_tensor_check(PyObject *o) {
    return PyObject_TypeCheck(o, fl_tensor_type);
}
static inline bool fl_tensor_check(PyObject *o) {
    return FL_LIKELY(Py_TYPE(o) == fl_tensor_type) ||
           (PyType_IsSubtype(Py_TYPE(o), fl_tensor_type) && !fl_is_sparse((fl_tensor *)o));
}

/* ---- shapes as Python objects: what flambeau.Size derives from; a new reference -------------- */
PyObject *fl_size_base(void);

/* ---- operators as Python objects ---------------------------------------------------------------- */
int fl_add_op(fl_op *op);
PyObject *fl_op_table(void);       /* dict: key -> address of fl_op; a new reference */
int fl_op_count(void);
PyObject *fl_api_capsule(void);
int fl_api_push(const fl_interposer *w);
int fl_api_pop(const fl_interposer *w);

/* ---- boxing --------------------------------------------------------------------------------- */
/* Lists, and objects to be kept alive, for the length of one call. */
class fl_arena {
  public:
    fl_arena() : used_(0), kept_(0), extra_count_(0) {}
    ~fl_arena();
    int64_t *words(Py_ssize_t count);           /* NULL with MemoryError */
    void keep(PyObject *o);                     /* steals; at most 16 */
    fl_arena(const fl_arena &) = delete;
    bool choosing = false;                      /* between overloads */
  private:
    int64_t words_[64];
    int used_, kept_, extra_count_;
    PyObject *keep_[16];
    void *extra_[8];
};
PyObject *fl_box(const fl_value *v);
int fl_unbox(PyObject *o, const fl_op *op, const fl_param *p, fl_value *v, fl_arena *arena);
const char *fl_role_name(int role);

/* Filled in by the Cython module. */
struct fl_hooks {
    PyObject *(*box_dtype)(int code);
    PyObject *(*box_device)(int code);
    int (*unbox_dtype)(PyObject *o);            /* code, or -1 with an exception */
    int (*unbox_device)(PyObject *o);
    PyObject *(*find_composite)(const fl_op *op);    /* a new reference */
    PyTypeObject *generator_type;
    PyObject *linalg_error;                     /* the exception LinAlgError */
    PyObject *argument_error;                   /* ArgumentError: a ValueError and a RuntimeError */
    PyObject *zero_division;                    /* the exception IntegerZeroDivisionError */
};
extern fl_hooks fl_python;

static inline int fl_count_positional(const fl_op *op) { return (int)(op->reserved[2] & 255); }
static inline int fl_count_required(const fl_op *op) { return (int)(op->reserved[2] >> 8); }
/* Parse a vectorcall's arguments into op->nparams values (defaults filled in) and `out`. */
int fl_parse(const fl_op *op, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
             fl_value *values, fl_arena *arena, PyObject **out);
/* False only where fl_parse would fail: told from counts and from what is no tensor, since the
 * text of an error that nobody reads takes longer than the call. */
bool fl_may_fit(const fl_op *op, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
/* The overload whose error says most about a call that fits none. */
const fl_op *fl_nearest_form(fl_op *const *overloads, int count, PyObject *const *args,
                             Py_ssize_t nargs, PyObject *kwnames);
/* Call an operator from Python: overloads are tried in order. */
PyObject *fl_call_python(fl_op *const *overloads, int count, bool inplace, PyObject *const *args,
                         Py_ssize_t nargs, PyObject *kwnames);
/* The same with an argument `inplace` more, last or by name. */
PyObject *fl_call_choosing(fl_op *const *overloads, int count, PyObject *const *args,
                           Py_ssize_t nargs, PyObject *kwnames);
/* Operators of Python syntax: NotImplemented when an operand is neither tensor nor number. */
PyObject *fl_binary(const fl_op *op, PyObject *a, PyObject *b, bool inplace);
PyObject *fl_unary(const fl_op *op, PyObject *a);
PyObject *fl_results(const fl_op *op, fl_value *out);
