/* The error state of C++ code: a kind and a text per thread, and the words used in texts.
 *
 * C++ code never raises. It says `return fl_error(FL_VALUE_ERROR, "gather(): ...", ...)` and
 * hands the -1 up to the Python boundary, which raises what it finds here and clears it. Work
 * running on the pool has its own threads, so it reports through its context, not through this. */
#ifndef FLAMBEAU_RUNTIME_ERROR_H
#define FLAMBEAU_RUNTIME_ERROR_H
#include <stddef.h>
#include <stdint.h>

enum fl_error_kind {
    FL_NO_ERROR = 0,
    FL_VALUE_ERROR = 1,
    FL_TYPE_ERROR = 2,
    FL_INDEX_ERROR = 3,
    FL_RUNTIME_ERROR = 4,
    FL_MEMORY_ERROR = 5,
    FL_NOT_IMPLEMENTED = 6,
    FL_OVERFLOW_ERROR = 7,
    FL_LINALG_ERROR = 8,    /* LinAlgError: a singular matrix, no convergence */
    FL_ZERO_DIVISION = 9    /* IntegerZeroDivisionError */
};

#ifdef __cplusplus
extern "C" {
#endif

/* Store a printf-formatted text of any length for this thread; returns -1. Arguments may point
 * into the text being replaced, so an outer function can put words in front of an inner error. */
int fl_error(int kind, const char *format, ...) __attribute__((format(printf, 2, 3)));

int fl_error_kind_get(void);        /* FL_NO_ERROR when nothing is stored */
const char *fl_error_text(void);    /* "" when nothing is stored; valid until the next error */
void fl_error_clear(void);

/* One of this thread's 24 buffers of FL_TEXT_ROOM bytes, which take turns: room for the texts
 * that one fl_error call puts together. */
#define FL_TEXT_ROOM 720
char *fl_text_buffer(void);

/* "[2, 3]"; "[]" for no dimensions; in a text buffer. */
const char *fl_shape_text(const int64_t *shape, int ndim);

const char *fl_dtype_name(int code);    /* "float32"; "unknown dtype" for other numbers */
int64_t fl_itemsize(int code);          /* bytes of one element; 0 for unknown codes */

#ifdef __cplusplus
}
#endif
#endif
