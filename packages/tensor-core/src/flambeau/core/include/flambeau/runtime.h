/* Run programs that flambeau.jit saved, without Python.
 *
 *     flambeau_program *program;
 *     flambeau_session *session;
 *     if (flambeau_load("model.program", &program) || flambeau_session_new(program, &session))
 *         return fprintf(stderr, "%s\n", flambeau_error_text()), 1;
 *     float x[3] = {1, 2, 3}, y[3];
 *     flambeau_tensor in = {x, sizeof x, FLAMBEAU_FLOAT32, 1, {3}};
 *     flambeau_tensor out = {y, sizeof y};
 *     int status = flambeau_run(session, &in, 1, &out, 1);
 *
 * A program never changes, and many threads may use it at once. A session holds what a program
 * changes (buffers that it writes to, its random numbers); each thread has one of its own, and a
 * call that meets a session in use waits. Functions that can fail return 0 or a code, and
 * flambeau_error_text() then says what was wrong, for this thread, until its next call. */
#ifndef FLAMBEAU_RUNTIME_H
#define FLAMBEAU_RUNTIME_H
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define FLAMBEAU_API
#else
#define FLAMBEAU_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum flambeau_status {
    FLAMBEAU_OK = 0,
    FLAMBEAU_INVALID = 1,       /* an argument of the call itself: NULL, an index out of range */
    FLAMBEAU_NO_FILE = 2,       /* a file that is not there or cannot be read */
    FLAMBEAU_BAD_PROGRAM = 3,   /* no program, or a damaged one */
    FLAMBEAU_UNSUPPORTED = 4,   /* a program that this runtime cannot run; the text says why */
    FLAMBEAU_WRONG_INPUT = 5,   /* number, dtype, shape or bytes of the inputs */
    FLAMBEAU_SMALL_BUFFER = 6,  /* an output has more bytes than its buffer; shapes are filled in */
    FLAMBEAU_NO_MEMORY = 7,
    FLAMBEAU_FAILED = 8         /* an operator failed on these values */
};

enum flambeau_dtype {
    FLAMBEAU_BOOL = 0, FLAMBEAU_UINT8 = 1, FLAMBEAU_INT8 = 2, FLAMBEAU_INT16 = 3,
    FLAMBEAU_INT32 = 4, FLAMBEAU_INT64 = 5, FLAMBEAU_UINT16 = 6, FLAMBEAU_UINT32 = 7,
    FLAMBEAU_UINT64 = 8, FLAMBEAU_FLOAT16 = 9, FLAMBEAU_BFLOAT16 = 10, FLAMBEAU_FLOAT32 = 11,
    FLAMBEAU_FLOAT64 = 12, FLAMBEAU_COMPLEX64 = 13, FLAMBEAU_COMPLEX128 = 14
};
#define FLAMBEAU_MAX_DIMS 32

typedef struct flambeau_program flambeau_program;
typedef struct flambeau_session flambeau_session;

/* Elements in C order: the last dimension's are adjacent. Aligned as their dtype. */
typedef struct flambeau_tensor {
    void *data;
    size_t bytes;               /* of the buffer */
    int32_t dtype, ndim;
    int64_t shape[FLAMBEAU_MAX_DIMS];
} flambeau_tensor;

/* What a program takes or gives; the texts live as long as the program. */
typedef struct flambeau_info {
    const char *name;           /* "0", "1.mask": where it stands among the arguments or results */
    int32_t dtype, ndim;
    int64_t shape[FLAMBEAU_MAX_DIMS];               /* -1 where the size may vary */
    const char *symbols[FLAMBEAU_MAX_DIMS];         /* "N", "2*N+1" there; else NULL */
    int32_t is_written;         /* of an input: a run changes the elements of its buffer */
    int32_t reserved;
} flambeau_info;

FLAMBEAU_API const char *flambeau_version(void);
FLAMBEAU_API const char *flambeau_error_text(void);
FLAMBEAU_API const char *flambeau_status_name(int status);
FLAMBEAU_API const char *flambeau_dtype_name(int dtype);    /* "float32"; NULL for other numbers */
FLAMBEAU_API size_t flambeau_dtype_size(int dtype);         /* bytes of an element; 0 likewise */

/* Weights stay in the file's memory, where they are aligned: the bytes given must stay as they are
 * until the program is freed. */
FLAMBEAU_API int flambeau_load(const char *path, flambeau_program **program);
FLAMBEAU_API int flambeau_load_memory(const void *bytes, size_t size, flambeau_program **program);
/* After its sessions. NULL is ignored. */
FLAMBEAU_API void flambeau_program_free(flambeau_program *program);

FLAMBEAU_API size_t flambeau_input_count(const flambeau_program *program);
FLAMBEAU_API size_t flambeau_output_count(const flambeau_program *program);
FLAMBEAU_API int flambeau_input_info(const flambeau_program *program, size_t index,
                                     flambeau_info *info);
FLAMBEAU_API int flambeau_output_info(const flambeau_program *program, size_t index,
                                      flambeau_info *info);

FLAMBEAU_API int flambeau_session_new(const flambeau_program *program, flambeau_session **session);
FLAMBEAU_API void flambeau_session_free(flambeau_session *session);
/* Begin the stream of random numbers that flambeau.manual_seed(seed) begins. */
FLAMBEAU_API int flambeau_session_seed(flambeau_session *session, uint64_t seed);
/* Seed and position of that stream, the two numbers of flambeau.get_rng_state(). */
FLAMBEAU_API int flambeau_session_get_random(flambeau_session *session, uint64_t state[2]);
FLAMBEAU_API int flambeau_session_set_random(flambeau_session *session, const uint64_t state[2]);
/* Run once. Outputs go to the buffers given, and their dtype and shape are filled in; where `data` is
 * NULL it is set to memory of the session, which stays until its next call: set it to NULL again for
 * that one. Buffers may overlap. Those that do not, and are as large as they need be, are what the
 * outputs are computed in, without a copy; after a call that failed they hold anything. */
FLAMBEAU_API int flambeau_run(flambeau_session *session, const flambeau_tensor *inputs,
                              size_t input_count, flambeau_tensor *outputs, size_t output_count);

/* Threads that take part in a run, for all sessions; the calling one included. */
FLAMBEAU_API int flambeau_set_threads(int count);
FLAMBEAU_API int flambeau_get_threads(void);
/* The OpenBLAS library that large products and linear algebra go to, as they do in Python; without
 * one, products go to kernels of the runtime. Before the first run. */
FLAMBEAU_API int flambeau_use_blas(const char *path);
/* What a program gives an operator: a tensor, a number, or a list of these. */
enum flambeau_kind {
    FLAMBEAU_NOTHING = 0, FLAMBEAU_TENSOR = 1, FLAMBEAU_TENSORS = 2, FLAMBEAU_INTEGER = 3,
    FLAMBEAU_INTEGERS = 4, FLAMBEAU_REAL = 5, FLAMBEAU_REALS = 6, FLAMBEAU_COMPLEX = 7,
    FLAMBEAU_TRUTH = 8, FLAMBEAU_DTYPE = 9, FLAMBEAU_DEVICE = 10, FLAMBEAU_TEXT = 11,
    FLAMBEAU_TRUTHS = 15
};
typedef struct flambeau_argument {
    int32_t kind;
    uint32_t count;                     /* of tensors or numbers; a complex number is two reals */
    const flambeau_tensor *tensors;     /* in C order, not to be changed; no data: None in a list */
    const int64_t *integers;            /* INTEGER, INTEGERS, TRUTH, TRUTHS, DTYPE */
    const double *reals;
    const char *text;
} flambeau_argument;

/* An operator of a package, which programs call by name. Both functions give 0, or a code that the
 * error's text then has; they are called by several threads at once. */
typedef struct flambeau_kernel {
    /* Fill in dtype, ndim and shape of each result. */
    int (*describe)(void *context, const flambeau_argument *arguments, size_t argument_count,
                    flambeau_tensor *results, size_t result_count);
    /* Compute the results, in C order, into their data. */
    int (*run)(void *context, const flambeau_argument *arguments, size_t argument_count,
               const flambeau_tensor *results, size_t result_count);
    void *context;
} flambeau_kernel;
/* Before a program is loaded that calls it; it is copied, and stays. */
FLAMBEAU_API int flambeau_register_kernel(const char *name, const flambeau_kernel *kernel);

/* Where memory comes from: `take` gives bytes aligned to 64, or NULL. Before anything else. */
FLAMBEAU_API int flambeau_set_allocator(void *(*take)(void *context, size_t bytes),
                                        void (*give)(void *context, void *memory, size_t bytes),
                                        void *context);

#ifdef __cplusplus
}
#endif
#endif
