/* Transposed copies: see copy_transposed.h.
 *
 * Strips of a line of every column go from one end of the rows to the other. The loads then have
 * one stride, which the processor learns, and the stores are a few long runs; of tiles, which the
 * pointwise driver would take, it foresees neither beyond the second cache. */
#include "common/copy_transposed.h"
#include "common/kernels/blocks.h"
#include "runtime/even.h"

namespace {

const int64_t LINE_BYTES = 64, MIN_COLS = 16, PAGE_BYTES = 4096;
const int64_t MAX_STRIP_COLS = 8192;        /* what threads share if there is one strip */

struct Dims {
    int ndim = 0;
    int64_t shape[FL_MAX_DIMS], to[FL_MAX_DIMS], from[FL_MAX_DIMS];

    /* Without dimensions of one element; neighbours that step together are one. */
    Dims(const fl_strided &dst, const fl_strided &src, int count, const int64_t *sizes) {
        for (int d = 0; d < count; d++) {
            if (sizes[d] == 1)
                continue;
            const bool together = ndim > 0 && to[ndim - 1] == dst.strides[d] * sizes[d] &&
                                  from[ndim - 1] == src.strides[d] * sizes[d];
            ndim += !together;
            shape[ndim - 1] = together ? shape[ndim - 1] * sizes[d] : sizes[d];
            to[ndim - 1] = dst.strides[d];
            from[ndim - 1] = src.strides[d];
        }
    }

    /* The dimension along which the source lies side by side; -1 for none. */
    int source_row() const {
        for (int d = 0; d < ndim - 1; d++)
            if (from[d] == 1)
                return d;
        return -1;
    }
};

/* Whether rows of the target meet in too small a part of the first cache, as of 1024 floats: its
 * lines would leave before they are full. Of larger elements a strip has no more rows than ways. */
bool rows_collide(int64_t row_bytes, int64_t size) {
    return size <= 4 && row_bytes % PAGE_BYTES == 0;
}

}  // namespace

bool fl_copy_transposed(const fl_strided &dst, const fl_strided &src, int64_t size, int ndim,
                        const int64_t *shape) {
    const Dims dims(dst, src, ndim, shape);
    const int last = dims.ndim - 1, across = dims.source_row();
    const int64_t line = LINE_BYTES / size;
    if (size == 1 || across < 0 || dims.to[last] != 1 || dims.from[last] < line ||
        dims.shape[across] < line || dims.shape[last] < MIN_COLS ||
        rows_collide(dims.to[across] * size, size))
        return false;
    const int64_t rows = dims.shape[across], cols = dims.shape[last];
    const int64_t strips = (rows + line - 1) / line;
    const int64_t cut = cols < MAX_STRIP_COLS ? cols : MAX_STRIP_COLS;
    const int64_t cuts = (cols + cut - 1) / cut;
    int64_t planes = 1;
    for (int d = 0; d < last; d++)
        planes *= d == across ? 1 : dims.shape[d];
    const auto turn = FL_PICK(fl_block_kernels)->turn;
    const int64_t units = planes * strips * cuts, per_unit = line * cut;
    fl_parallel(units, fl_even_grain(units, 1 + FL_GRAIN / per_unit, 1),
                [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
            const int64_t c = i % cuts * cut, r = i / cuts % strips * line;
            int64_t rest = i / cuts / strips;
            int64_t to = r * dims.to[across] + c, from = r + c * dims.from[last];
            for (int d = last - 1; d >= 0; d--) {
                if (d == across)
                    continue;
                to += rest % dims.shape[d] * dims.to[d];
                from += rest % dims.shape[d] * dims.from[d];
                rest /= dims.shape[d];
            }
            turn(size, dst.data + to * size, dims.to[across], src.data + from * size,
                 dims.from[last], rows - r < line ? rows - r : line,
                 cols - c < cut ? cols - c : cut);
        }
    });
    return true;
}
