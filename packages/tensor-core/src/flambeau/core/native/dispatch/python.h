/* The Python side of the core's C++: objects, the thread's state, the dispatcher. */
#pragma once
#include "dispatch/core.h"
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

/* ---- storage: memory with an owner and a version counter ----------------------------------- */
static const size_t FL_SMALL = 256;      /* tensors of up to so many bytes live in the object */
struct fl_storage {
    PyObject_HEAD
    char *ptr;
    uint64_t nbytes;
    uint32_t version;
    uint8_t device_type, device_index, readonly, kind;   /* kind: fl_storage_kind */
    PyObject *owner;                /* keeps foreign memory alive */
    struct fl_queue *queue;         /* kernels that wait and use the memory, or NULL */
    uint32_t slot;                  /* its number there */
    uint32_t is_shared;             /* fl_storage_sharing */
    alignas(16) char small[FL_SMALL + FL_ALLOC_ALIGNMENT - 16];
};
enum fl_storage_kind { FL_S_INLINE = 0, FL_S_HEAP = 1, FL_S_FOREIGN = 2 };
enum fl_storage_sharing {
    FL_S_WRITABLE_OUTSIDE = 1,      /* others may read and write the memory at any time */
    FL_S_COUNTED_APART = 2          /* tensors with a version of their own were made of it */
};
extern PyTypeObject fl_storage_type;
/* The storage that owns the memory, where another one only counts versions apart, as x.data does. */
static inline fl_storage *fl_root_storage(PyObject *storage) {
    fl_storage *s = (fl_storage *)storage;
    while (s->owner && Py_TYPE(s->owner) == &fl_storage_type)
        s = (fl_storage *)s->owner;
    return s;
}
extern fl_storage *fl_empty_storage;    /* what tensors made by Tensor.__new__ alone show */
int fl_storage_init(void);
fl_storage *fl_storage_new(size_t nbytes, int device_code);
fl_storage *fl_storage_foreign(char *ptr, size_t nbytes, int device_code, PyObject *owner,
                               bool readonly);

/* ---- tensors --------------------------------------------------------------------------------- */
/* What follows the frozen prefix; must match `cdef class Tensor` (checked at import). */
struct fl_tensor_full {
    fl_tensor head;
    PyObject *base;                 /* the tensor this is a view of, or None */
    int64_t inline_geometry[16];
};
extern PyTypeObject *fl_tensor_type;
int fl_tensor_blank_init(void);                 /* once fl_tensor_type is known */
fl_tensor *fl_tensor_blank(void);
fl_tensor *fl_tensor_empty(int dtype, int device, int ndim, const int64_t *shape);
fl_tensor *fl_tensor_strided(int dtype, int device, int ndim, const int64_t *shape,
                             const int64_t *strides);
fl_tensor *fl_tensor_view(fl_tensor *source, int dtype, int ndim, const int64_t *shape,
                          const int64_t *strides, int64_t offset_bytes);
fl_tensor *fl_tensor_alias(fl_tensor *t);      /* same memory, no history */
/* The same without the dimensions before `first`: of those, index 0. */
fl_tensor *fl_tensor_alias_from(fl_tensor *t, int first);
/* Run an operator that a device lacks as others, where its definition has a decomposition; 1 where
 * the device lacks one of these, too. */
extern int (*fl_run_decomposed)(const fl_op *, const fl_value *, int, fl_tensor *const *);
extern PyObject *fl_level_escaped;             /* called with tensors of a level, and a name */
extern PyObject *fl_level_blank;               /* makes memory at the levels of tensors, or NULL */
extern PyObject *fl_level_alias;               /* makes aliases of tensors with a level, or NULL */
fl_tensor *fl_tensor_on(fl_storage *storage, int dtype, int ndim, const int64_t *shape,
                        const int64_t *strides, int64_t offset_bytes);
int fl_tensor_geometry(fl_tensor *t, int ndim, const int64_t *shape, const int64_t *strides);
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

/* ---- parameters: flags that only the core knows, beyond fl_param_flags ------------------------- */
enum { FL_P_VARIADIC = 8 };      /* a list of tensors that may be given one by one */

/* ---- per-thread state ------------------------------------------------------------------------ */
struct fl_thread_state {
    uint32_t mode;                  /* fl_mode bits */
    int32_t watchers, level;        /* interposers pushed; how many are passed already */
    fl_interposer stack[16];
    struct fl_queue *queue;         /* inside a compiled call: where kernels may wait */
};
extern __thread fl_thread_state fl_thread __attribute__((tls_model("initial-exec")));

/* ---- the dispatcher --------------------------------------------------------------------------- */
extern const fl_tape *fl_the_tape;
int fl_dispatch(const fl_op *op, const fl_value *in, int n, fl_value *out);
int fl_call_generic(const fl_op *op, const fl_value *in, int n, fl_value *out);
int fl_call_pointwise(const fl_op *op, const fl_value *in, int n, fl_value *out);
/* The same, of integers only where there is an answer: no division by zero, no negative powers. */
int fl_call_division(const fl_op *op, const fl_value *in, int n, fl_value *out);
int fl_call_power(const fl_op *op, const fl_value *in, int n, fl_value *out);
int fl_call_to_device(const fl_op *op, const fl_value *in, int n, fl_value *out);
int fl_call_copy(const fl_op *op, const fl_value *in, int n, fl_value *out);
int fl_call_composite(const fl_op *op, const fl_value *in, int n, fl_value *out);
int fl_check_write(const fl_op *op, const fl_value *in, int n, const fl_spec *spec, fl_tensor *t);
/* Give the target of out= the result's shape, with a warning unless it is empty. */
int fl_resize_out(const fl_op *op, const fl_spec *result, fl_tensor *t);
void fl_tell_of_write(const fl_op *op, fl_tensor *t);
/* Count a write; needs the GIL. The tape hears of the first one to memory that it has saved. */
static inline void fl_count_write(const fl_op *op, fl_tensor *t) {
    uint32_t version = __atomic_add_fetch(t->version, 1, __ATOMIC_RELAXED);
    if (__builtin_expect(version & FL_VERSION_SAVED, 0))
        fl_tell_of_write(op, t);
}
int fl_raise(void);                 /* the C++ error state as a Python exception; returns -1 */

/* ---- backends ---------------------------------------------------------------------------------- */
const fl_backend *fl_backend_of(int device_type);
int fl_add_backend(const fl_backend *backend, int *device_type);
int fl_backend_by_name(const char *name);      /* device type, or -1 */
const char *fl_device_name(int device_type);

/* ---- operators as Python objects ---------------------------------------------------------------- */
fl_op *fl_find_op(const char *key);
int fl_add_op(fl_op *op);
PyObject *fl_op_table(void);       /* dict: key -> address of fl_op; a new reference */
int fl_op_count(void);
extern "C" fl_op fl_builtin_ops[];      /* in the order of op_index.h */
extern "C" const int fl_builtin_count;
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

/* How many parameters may be given by position, and how many must be given. */
#define FL_PARAMETER_COUNTS(positional, required) ((uint64_t)((positional) | (required) << 8))
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
