/* The error state of C++ code: see error.h. */
#include "runtime/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace {

/* Texts alternate between two buffers, so that a new text may quote the old one. */
struct ErrorState {
    int kind = FL_NO_ERROR;
    int current = 0;
    char *text[2] = {nullptr, nullptr};
    size_t capacity[2] = {0, 0};

    ~ErrorState() {
        kind = FL_NO_ERROR;
        for (int i = 0; i < 2; i++) {
            free(text[i]);
            text[i] = nullptr;
            capacity[i] = 0;
        }
    }

    bool reserve(int which, size_t bytes) {
        if (bytes <= capacity[which])
            return true;
        char *grown = static_cast<char *>(realloc(text[which], bytes));
        if (!grown)
            return false;
        text[which] = grown;
        capacity[which] = bytes;
        return true;
    }
};

thread_local ErrorState state;

const int TEXT_BUFFERS = 24;
const size_t SHAPE_BYTES = FL_TEXT_ROOM; /* 32 dims of at most 20 digits, ", " between them, brackets */
const int MAX_DIMS_SHOWN = 32;

/* On the heap: what is thread-local takes room that libraries loaded later may need, of which the
 * C library has little (glibc.rtld.optional_static_tls). */
struct TextBuffers {
    char *bytes = nullptr;
    unsigned turn = 0;

    ~TextBuffers() {
        free(bytes);
        bytes = nullptr;
    }
};

thread_local TextBuffers text_buffers;

struct DtypeFacts {
    const char *name;
    int64_t itemsize;
};

/* In the order of enum fl_dtype in abi.h. */
const DtypeFacts DTYPES[] = {
    {"bool", 1},
    {"uint8", 1},
    {"int8", 1},
    {"int16", 2},
    {"int32", 4},
    {"int64", 8},
    {"uint16", 2},
    {"uint32", 4},
    {"uint64", 8},
    {"float16", 2},
    {"bfloat16", 2},
    {"float32", 4},
    {"float64", 8},
    {"complex64", 8},
    {"complex128", 16},
    {"float8_e4m3fn", 1},
    {"float8_e5m2", 1},
    {"float8_e4m3fnuz", 1},
    {"float8_e5m2fnuz", 1},
    {"float8_e8m0fnu", 1},
    {"complex32", 4},
};
const int DTYPE_COUNT = sizeof(DTYPES) / sizeof(DTYPES[0]);

} // namespace

int fl_error(int kind, const char *format, ...) {
    ErrorState &s = state;
    int next = 1 - s.current;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(nullptr, 0, format, arguments);
    va_end(arguments);
    s.kind = kind;
    if (length < 0 || !s.reserve(next, static_cast<size_t>(length) + 1))
        return -1;
    va_start(arguments, format);
    vsnprintf(s.text[next], static_cast<size_t>(length) + 1, format, arguments);
    va_end(arguments);
    s.current = next;
    return -1;
}

int fl_error_kind_get(void) {
    return state.kind;
}

const char *fl_error_text(void) {
    const ErrorState &s = state;
    return s.kind == FL_NO_ERROR || !s.text[s.current] ? "" : s.text[s.current];
}

void fl_error_clear(void) {
    state.kind = FL_NO_ERROR;
}

char *fl_text_buffer(void) {
    static char last_resort[FL_TEXT_ROOM];
    TextBuffers &buffers = text_buffers;
    if (!buffers.bytes)
        buffers.bytes = static_cast<char *>(malloc(TEXT_BUFFERS * FL_TEXT_ROOM));
    if (!buffers.bytes)
        return last_resort;
    return buffers.bytes + (buffers.turn++ % TEXT_BUFFERS) * FL_TEXT_ROOM;
}

const char *fl_shape_text(const int64_t *shape, int ndim) {
    char *text = fl_text_buffer();
    size_t used = 0;
    text[used++] = '[';
    for (int i = 0; i < ndim && i < MAX_DIMS_SHOWN; i++) {
        const char *separator = i ? ", " : "";
        used += static_cast<size_t>(snprintf(text + used, SHAPE_BYTES - used, "%s%lld", separator,
                                             static_cast<long long>(shape[i])));
    }
    text[used++] = ']';
    text[used] = 0;
    return text;
}

const char *fl_dtype_name(int code) {
    return code >= 0 && code < DTYPE_COUNT ? DTYPES[code].name : "unknown dtype";
}

int64_t fl_itemsize(int code) {
    return code >= 0 && code < DTYPE_COUNT ? DTYPES[code].itemsize : 0;
}
