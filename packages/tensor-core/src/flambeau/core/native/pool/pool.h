/* What the pooling rows share: sizes, checks, and work cut into bands of output rows. */
#pragma once
#include "pool/kernels/pool.h"
#include "common/window.h"

struct fl_pool_call {
    fl_pool p;
    int64_t planes;
    int nd;                     /* 3 or 4 dimensions */
    int64_t shape[4];           /* of the output */
};

/* Read kernel_size, stride and padding from in[at..at+3); dilation is {1, 1} for averages. */
int fl_pool_read(const fl_op *op, const fl_value *in, int at, const int64_t dilation[2],
                 bool ceil_mode, const char *input_name, int nd, const int64_t *input,
                 fl_pool_call *out);

static const int64_t FL_POOL_SCRATCH = 1 << 14;     /* elements; a band fits the nearest caches */

/* Output rows of a band: as many as the scratch takes. */
int64_t fl_pool_band(const fl_pool &p);

/* Call body(plane, first row, end row, scratch) for all bands of all planes; false when memory
 * ran out (the error is stored). */
template <class T, class Body> bool fl_pool_bands(const fl_pool_call &c, const Body &body) {
    const bool small = c.p.small && c.p.x.size < 4;    /* wider means take scratch */
    int64_t rows = small ? c.p.oh : fl_pool_band(c.p), bands = small ? 1 : (c.p.oh - 1) / rows + 1;
    double work = (double)(rows * c.p.ow) * (double)c.p.y.size * (double)c.p.x.size + 1;
    const int64_t elements = small ? 0 : FL_PICK(fl_pool_kernels)->scratch_elements(&c.p, rows);
    size_t bytes = fl_bytes(elements, sizeof(T));
    bool failed = false;
    fl_parallel(c.planes * bands, (int64_t)((1 << 17) / work) + 1, [&](int64_t begin, int64_t end) {
        Scratch scratch(bytes);
        if (!scratch.ok()) {
            __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
            return;
        }
        for (int64_t i = begin; i < end; i++) {
            int64_t first = i % bands * rows;
            int64_t last = first + rows < c.p.oh ? first + rows : c.p.oh;
            body(i / bands, first, last, scratch.as<T>());
        }
    });
    if (failed)
        fl_error(FL_MEMORY_ERROR, "pooling: no memory for %zu bytes of scratch per thread", bytes);
    return !failed;
}
