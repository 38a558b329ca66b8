/* Small tensors: a plan costs more than the work. Operands are brought into C order
 * in one pass over their memory. */
#pragma once
#include "dispatch/pointwise.h"

static const int64_t FL_SMALL_NUMEL = 256;

/* Strided memory with neighbouring dimensions merged where they step together; innermost first. */
struct fl_walk {
    int ndim;
    int64_t shape[FL_MAX_DIMS], strides[FL_MAX_DIMS];

    fl_walk(int nd, const int64_t *sizes, const int64_t *steps) : ndim(0) {
        for (int d = nd - 1; d >= 0; d--) {
            if (sizes[d] == 1)
                continue;
            if (ndim && steps[d] == strides[ndim - 1] * shape[ndim - 1]) {
                shape[ndim - 1] *= sizes[d];
                continue;
            }
            shape[ndim] = sizes[d];
            strides[ndim++] = steps[d];
        }
        for (int d = ndim; d < 2; d++) {
            shape[d] = 1;
            strides[d] = 0;
        }
    }
    bool in_order() const { return ndim == 0 || (ndim == 1 && strides[0] == 1); }

    /* Call move(element, position, rows, cols, row step, column step) for every two dimensions. */
    template <class Move> void each(Move move) const {
        int64_t index[FL_MAX_DIMS], element = 0, position = 0;
        for (int d = 2; d < ndim; d++)
            index[d] = 0;
        for (;;) {
            move(element, position, shape[1], shape[0], strides[1], strides[0]);
            position += shape[0] * shape[1];
            int d = 2;
            for (; d < ndim; d++) {
                element += strides[d];
                if (++index[d] < shape[d])
                    break;
                element -= strides[d] * shape[d];
                index[d] = 0;
            }
            if (d >= ndim)
                return;
        }
    }
};

/* Strided memory of any dtype to contiguous memory of a kind, and back. */
static inline void fl_gather_small(void *to, int kind, const char *from, int dtype,
                                 const fl_walk &walk) {
    fl_gather_fn gather = fl_moves->gather[dtype][kind];
    int64_t size = fl_itemsize(dtype), item = fl_kind_size[kind];
    walk.each([&](int64_t element, int64_t position, int64_t rows, int64_t cols, int64_t s1,
                  int64_t s0) {
        gather((char *)to + position * item, from + element * size, rows, cols, s1, s0);
    });
}

static inline void fl_scatter_small(char *to, int dtype, const void *from, int kind,
                                  const fl_walk &walk) {
    fl_scatter_fn scatter = fl_moves->scatter[kind][dtype];
    int64_t size = fl_itemsize(dtype), item = fl_kind_size[kind];
    walk.each([&](int64_t element, int64_t position, int64_t rows, int64_t cols, int64_t s1,
                  int64_t s0) {
        scatter(to + element * size, (const char *)from + position * item, rows, cols, s1, s0);
    });
}
