/* Short lines are sorted side by side: one after the other, most of the time goes into what a sort
 * does before it compares. */
#include "sort/kernels/short_lines.h"
#include "common/args.h"
#include "dispatch/pointwise.h"
#include "sort/sort_line.h"

namespace {

const int64_t MAX_LINE_ELEMENTS = 16, MIN_LINES = 16, BLOCK_LINES = 128;

}  // namespace

bool fl_sort_short_lines(const fl_lines &job, const char *x, char *values, int64_t *positions) {
    const int64_t n = job.n, k = job.k, size = fl_kind_size[job.kind];
    if (n > MAX_LINE_ELEMENTS || job.lines < MIN_LINES)
        return false;
    const int dtype = fl_dtype_of_kind[job.kind];
    const fl_gather_fn move = fl_moves->gather[dtype][job.kind];
    const fl_gather_fn widen = fl_moves->gather[size == 4 ? FL_I32 : FL_I64][FL_K_I64];
    const fl_first_of_fn first_of =
        FL_PICK(fl_short_line_kernels)->first_of[job.descending][job.kind];
    fl_parallel(job.lines, fl_row_grain(n), [&](int64_t begin, int64_t end) {
        alignas(64) char lines[MAX_LINE_ELEMENTS * BLOCK_LINES * 8];
        alignas(64) char numbers[MAX_LINE_ELEMENTS * BLOCK_LINES * 8];
        for (int64_t first = begin; first < end; first += BLOCK_LINES) {
            const int64_t count = end - first < BLOCK_LINES ? end - first : BLOCK_LINES;
            move(lines, x + first * n * size, n, count, 1, n);
            first_of(lines, numbers, n, k, count);
            move(values + first * k * size, lines, count, k, 1, count);
            widen(positions + first * k, numbers, count, k, 1, count);
        }
    });
    return true;
}
