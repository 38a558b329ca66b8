/* The interface between Flambeau's packages. Everything a sibling package, an out-of-tree
 * operator or a device backend may rely on stands in this file and nowhere else.
 *
 * Rules: structures marked FROZEN never change; the function table is append-only; a new
 * FL_ABI_MINOR when something is appended, a new FL_ABI_MAJOR when something breaks. Functions
 * that can fail return 0 on success and -1 with a Python exception set (or NULL for pointers),
 * unless their comment says otherwise. All functions need the GIL, unless marked NOGIL. */
#ifndef FLAMBEAU_ABI_H
#define FLAMBEAU_ABI_H
#ifdef FL_NO_PYTHON
/* For C++ that computes and passes objects on without looking into them (1.4): compiled without
 * Python's headers, and serves both the extension module and the runtime without Python. The build
 * gives the words that an object begins with. */
#include <stddef.h>
#include <stdint.h>
typedef struct _object PyObject;
typedef struct _typeobject PyTypeObject;
#define PyObject_HEAD intptr_t object_head[FL_OBJECT_WORDS];
#else
#include <Python.h>
#include <stdint.h>
#endif

#define FL_ABI_MAJOR 1
#define FL_ABI_MINOR 4
#define FL_CAPSULE "flambeau.core._core._C_API"
#define FL_MAX_DIMS 32
#define FL_MAX_PARAMS 16
#define FL_MAX_OUTS 8

/* ---- dtypes: FROZEN numbering --------------------------------------------------------- */
enum fl_dtype {
    FL_BOOL = 0, FL_U8 = 1, FL_I8 = 2, FL_I16 = 3, FL_I32 = 4, FL_I64 = 5,
    FL_U16 = 6, FL_U32 = 7, FL_U64 = 8,
    FL_F16 = 9, FL_BF16 = 10, FL_F32 = 11, FL_F64 = 12,
    FL_C64 = 13, FL_C128 = 14,
    FL_F8_E4M3 = 15, FL_F8_E5M2 = 16, FL_F8_E4M3UZ = 17, FL_F8_E5M2UZ = 18, FL_F8_E8M0 = 19,
    FL_C32 = 20,                                /* 1.3 */
    FL_DTYPE_COUNT = 21, FL_NO_DTYPE = 255
};

/* Device types with fixed numbers; backends get the numbers from FL_FIRST_BACKEND on. */
enum fl_device_type { FL_CPU = 0, FL_META = 1, FL_FIRST_BACKEND = 2 };

/* ---- tensor: FROZEN prefix of the Python object ----------------------------------------- */
enum fl_tensor_flags {
    FL_REQUIRES_GRAD = 1,   /* leaf asked for it, or grad_fn is set */
    FL_READONLY = 2,        /* writes are refused */
    FL_INFERENCE = 4,       /* made in inference_mode */
    FL_VIEW = 8,            /* shares storage with a base */
    FL_CONTIGUOUS = 16,     /* C-contiguous (kept up to date by the core) */
    FL_CONSTANT_VIEW = 32,  /* a view taken with grad mode off: has no part in its base's history */
    FL_MULTI_VIEW = 64,     /* one of several views that a call made, such as unbind(), or a view of
                             * one: not written to while recording (1.2) */
    FL_LEVEL_SHIFT = 24     /* top byte: transform level id (vmap, jvp), 0 for none */
};

typedef struct fl_tensor {
    PyObject_HEAD
    void *vtab;             /* private to the core */
    char *data;             /* first element, an address of the device */
    PyObject *storage;      /* owner of the memory; opaque */
    int64_t *shape;         /* points into the object up to 8 dims */
    int64_t *strides;       /* in elements */
    int64_t numel;
    int32_t ndim;
    uint8_t dtype, device_type, device_index, reserved0;
    uint32_t flags;
    uint32_t output_nr;     /* which output of grad_fn this is */
    uint32_t *version;      /* shared by base, views and detach() */
    PyObject *autograd;     /* NULL, or a node / leaf record owned by the autograd package */
} fl_tensor;

/* ---- values: FROZEN -------------------------------------------------------------------- */
enum fl_tag {
    FL_NONE = 0, FL_TENSOR = 1, FL_TENSORS = 2, FL_INT = 3, FL_INTS = 4, FL_FLOAT = 5,
    FL_FLOATS = 6, FL_COMPLEX = 7, FL_BOOLEAN = 8, FL_DTYPE = 9, FL_DEVICE = 10,
    FL_STRING = 11, FL_GENERATOR = 12, FL_SYMINT = 13, FL_OBJECT = 14, FL_BOOLS = 15
};

typedef struct fl_value {
    uint32_t tag;
    uint32_t len;           /* of lists and strings */
    union {
        fl_tensor *t;       /* TENSOR (borrowed on input, new reference on output) */
        fl_tensor **ts;     /* TENSORS; entries may be NULL for None */
        int64_t i;          /* INT, BOOLEAN (0, 1), DTYPE, DEVICE (type << 8 | index) */
        int64_t *is;        /* INTS, BOOLS */
        double d;           /* FLOAT */
        double *ds;         /* FLOATS */
        double c[2];        /* COMPLEX */
        const char *s;      /* STRING */
        PyObject *o;        /* GENERATOR, SYMINT, OBJECT */
    };
} fl_value;

/* ---- what infer says of one output: FROZEN ---------------------------------------------- */
enum fl_layout {
    FL_L_CONTIGUOUS = 0,    /* C order; strides are not read */
    FL_L_STRIDED = 1,       /* dense memory with these strides */
    FL_L_ALIAS = 2          /* a view of input number `alias`, `offset` elements from its data */
};

typedef struct fl_spec {
    uint8_t dtype, device_type, device_index, layout;
    int32_t ndim;
    int32_t alias;
    int32_t reserved;
    int64_t offset;
    int64_t shape[FL_MAX_DIMS];
    int64_t strides[FL_MAX_DIMS];
} fl_spec;

/* ---- operators --------------------------------------------------------------------------- */
enum fl_category { FL_POINTWISE = 0, FL_REDUCTION = 1, FL_VIEW_OP = 2, FL_KERNEL = 3, FL_COMPOSITE = 4 };

enum fl_role {              /* what a parameter accepts */
    FL_R_TENSOR = 0, FL_R_OPERAND = 1 /* tensor or Python number */, FL_R_TENSORS = 2,
    FL_R_SCALAR = 3, FL_R_INT = 4, FL_R_FLOAT = 5, FL_R_BOOL = 6, FL_R_DIM = 7, FL_R_DIMS = 8,
    FL_R_SHAPE = 9, FL_R_INTS = 10, FL_R_DTYPE = 11, FL_R_DEVICE = 12, FL_R_STRING = 13,
    FL_R_GENERATOR = 14, FL_R_OBJECT = 15, FL_R_FLOATS = 16, FL_R_INDEX = 17, FL_R_BOOLS = 18
};

enum fl_param_flags { FL_P_OPTIONAL = 1 /* None is allowed */, FL_P_KEYWORD = 2, FL_P_DEFAULT = 4 };

typedef struct fl_param {
    const char *name;
    uint8_t role, flags, reserved[6];
    fl_value fallback;      /* the default, when FL_P_DEFAULT */
} fl_param;

typedef struct fl_op fl_op;
/* infer: every argument error, shapes, dtypes, aliasing; touches no data. NOGIL; on failure
 * returns -1 after calling the table's set_error. */
typedef int (*fl_infer_fn)(const fl_op *, const fl_value *in, int n, fl_spec *outs);
/* run: compute into allocated outputs. NOGIL; same error convention as infer. */
typedef int (*fl_run_fn)(const fl_op *, const fl_value *in, int n, fl_tensor *const *outs);
/* boxed call: infer, allocate (or check the targets given in `out`), run. */
typedef int (*fl_call_fn)(const fl_op *, const fl_value *in, int n, fl_value *out);

struct fl_op {              /* append-only; read fields through struct_size when in doubt */
    uint32_t struct_size;
    uint8_t category, dtype_rule, nparams, nouts;
    const char *name;       /* "add" */
    const char *overload;   /* "" or "dim" */
    const char *doc;
    const fl_param *params;
    fl_infer_fn infer;
    fl_run_fn run_cpu;
    fl_call_fn call;
    const void *kernels;    /* private to the core */
    uint32_t flags, index;
    void *grad_rule;        /* owned by the autograd package */
    uint64_t reserved[4];
};

enum fl_op_flags {
    FL_O_DIFFERENTIABLE = 1,  /* results may carry gradients */
    FL_O_LIST = 2,            /* one output that is a list of tensors */
    FL_O_RANDOM = 4,
    /* What autocast does with the floating inputs (table/autocast.py); since 1.1. */
    FL_O_LOWER = 8,         /* to the lower precision */
    FL_O_SINGLE = 16,       /* to float32 */
    FL_O_WIDEST = 32,       /* to the widest dtype among them */
    FL_O_SINGLE_GPU = 64    /* to float32 on every device but the CPU */
};
#define FL_O_AUTOCAST (FL_O_LOWER | FL_O_SINGLE | FL_O_WIDEST | FL_O_SINGLE_GPU)

/* ---- the tape: what an autograd package provides ----------------------------------------- */
typedef struct fl_tape {
    uint32_t struct_size, reserved;
    /* After a functional call one of whose inputs requires grad (grad mode on): make the node and
     * hang it on the floating outputs. */
    int (*record)(const fl_op *, const fl_value *in, int n, fl_value *out, int nout);
    /* Around a call that writes to tensors preset in `out`: prepare runs before anything is
     * overwritten (saves clones where the rule reads what will be lost, refuses leaves), and gives
     * a token; commit runs after success and the version bump; drop runs after a failure. */
    PyObject *(*prepare)(const fl_op *, const fl_value *in, int n, fl_value *out, int nout);
    int (*commit)(PyObject *token, const fl_op *, const fl_value *in, int n, fl_value *out, int nout);
    /* After the first write to memory whose version carries FL_VERSION_SAVED; the version is the
     * new one, without that bit. May be NULL; cannot fail. Since 1.1. */
    void (*wrote)(const fl_op *, fl_tensor *);
} fl_tape;

/* A bit of *version that a tape sets when it saves a tensor; the next write takes it away. The
 * other bits count writes. Since 1.1. */
#define FL_VERSION_SAVED 0x80000000u

/* ---- interposers: everything that watches operators --------------------------------------- */
enum fl_interposer_kind { FL_I_PROFILER = 0, FL_I_AUTOCAST = 1, FL_I_TRANSFORM = 2, FL_I_TAPE = 3,
                          FL_I_TRACE = 4, FL_I_MODE = 5 };
typedef struct fl_interposer {
    /* Called instead of the operator; calls the table's dispatch to go on to what is below. */
    int (*call)(void *ctx, const fl_op *, const fl_value *in, int n, fl_value *out);
    void *ctx;
    int32_t kind, reserved;
} fl_interposer;

/* ---- per-thread modes --------------------------------------------------------------------- */
enum fl_mode { FL_M_GRAD = 1, FL_M_INFERENCE = 2 };

/* ---- the function table: append-only ------------------------------------------------------- */
struct fl_backend;
typedef struct fl_api {
    uint16_t abi_major, abi_minor;
    uint32_t struct_size;
    PyTypeObject *tensor_type;
    /* Operators, by "name" or "name.overload"; NULL with KeyError. */
    fl_op *(*find_op)(const char *key);
    /* Run an operator through everything that watches. in: borrowed; out: new references, or
     * targets preset with tag FL_TENSOR. Defaults are filled in for parameters beyond n. */
    int (*dispatch)(const fl_op *, const fl_value *in, int n, fl_value *out);
    /* Values to Python objects and back. unbox borrows tensors from the object; lists live in
     * `scratch` (64 words), longer lists are refused. */
    PyObject *(*box)(const fl_value *);
    int (*unbox)(PyObject *, int role, fl_value *out, int64_t *scratch);
    /* The same memory, geometry and version counter as a new tensor without history. */
    fl_tensor *(*alias)(fl_tensor *);
    fl_tensor *(*empty)(int dtype, int device_code, int ndim, const int64_t *shape);
    /* NOGIL: error state of infer and run; returns -1. kind: 1 ValueError, 2 TypeError, 3 IndexError,
     * 4 RuntimeError, 5 MemoryError, 6 NotImplementedError, 7 OverflowError. */
    int (*set_error)(int kind, const char *text);
    uint32_t (*get_mode)(void);
    void (*set_mode)(uint32_t);
    int (*set_tape)(const fl_tape *);
    int (*push_interposer)(const fl_interposer *);
    int (*pop_interposer)(const fl_interposer *);
    /* Add a row; the op and everything it points to must live for ever. */
    int (*add_op)(fl_op *);
    int (*add_backend)(const struct fl_backend *, int *device_type);
    PyObject *(*base)(fl_tensor *);   /* borrowed: the tensor this is a view of, or NULL */
} fl_api;

/* ---- device backends ----------------------------------------------------------------------- */
typedef struct fl_backend {
    uint32_t struct_size, reserved;
    const char *name;                 /* the device type, "cuda" */
    void *ctx;
    /* Memory: *owner keeps it alive (a new reference). */
    int (*allocate)(void *ctx, int device_index, size_t bytes, char **data, PyObject **owner);
    /* Copies of contiguous bytes; kind 0 host to device, 1 device to host, 2 within the device. */
    int (*copy)(void *ctx, int device_index, char *dst, const char *src, size_t bytes, int kind);
    /* Compute into allocated outputs; called with the GIL. Unknown operators return 1. */
    int (*run)(void *ctx, const fl_op *, const fl_value *in, int n, fl_tensor *const *outs);
    int (*synchronize)(void *ctx, int device_index);
    int (*device_count)(void *ctx);
} fl_backend;

#ifndef FL_BUILDING_CORE
/* Consumers: `static const fl_api *FL;` filled by fl_import(), 0 or -1 with ImportError. */
static const fl_api *FL = NULL;
static inline int fl_import(void) {
    PyObject *module = PyImport_ImportModule("flambeau.core._core");
    if (!module) return -1;
    PyObject *capsule = PyObject_GetAttrString(module, "_C_API");
    Py_DECREF(module);
    if (!capsule) return -1;
    const fl_api *api = (const fl_api *)PyCapsule_GetPointer(capsule, FL_CAPSULE);
    Py_DECREF(capsule);
    if (!api) return -1;
    const int major = api->abi_major, minor = api->abi_minor;
    if (major != FL_ABI_MAJOR || minor < FL_ABI_MINOR) {
        PyErr_Format(PyExc_ImportError,
                     "built for Flambeau interface %d.%d, but the installed flambeau-tensor-core "
                     "provides %d.%d: pip install --upgrade flambeau-tensor-core and this package",
                     FL_ABI_MAJOR, FL_ABI_MINOR, major, minor);
        return -1;
    }
    FL = api;
    return 0;
}
#endif
#endif
