/* Long batches of tiny products: a block of them is laid out so that each lane of a register has
 * one. One by one they take longer to call than to compute. */
#include "matmul/kernels/tiny.h"
#include "dispatch/pointwise.h"
#include "matmul/product.h"

namespace {

const int64_t MIN_BATCH = 32;
const int64_t MAX_ELEMENTS = 64;        /* of both operands and the result */
const int64_t BLOCK_BYTES = 256;        /* of the same element of all products of a block */

/* Matrices `first` and on of an operand, by elements. */
void gather(int64_t size, const Batched &x, int64_t rows, int64_t cols, int64_t first,
            int64_t count, char *to) {
    auto move = fl_move_of_size(size);
    const char *from = x.data + first * x.batch[0] * size;
    if (x.col == 1 && x.row == cols)
        return move(to, from, rows * cols, count, 1, x.batch[0]);
    for (int64_t i = 0; i < rows; i++)
        move(to + i * cols * count * size, from + i * x.row * size, cols, count, x.col, x.batch[0]);
}

}  // namespace

bool fl_run_tiny_products(const Product &p, char *c) {
    const int64_t made = p.m * p.n;
    if (p.nbatch != 1 || p.batch[0] < MIN_BATCH || (p.dtype != FL_F32 && p.dtype != FL_F64) ||
        p.m * p.k + p.k * p.n + made > MAX_ELEMENTS || p.k == 0)
        return false;
    const int wide = p.dtype == FL_F64;
    const int64_t size = fl_itemsize(p.dtype), some = BLOCK_BYTES / size;
    auto products = FL_PICK(fl_tiny_kernels)->products[wide];
    auto move = fl_move_of_size(size);
    fl_parallel(p.batch[0], fl_row_grain(made * p.k), [&](int64_t b, int64_t e) {
        alignas(64) char room[MAX_ELEMENTS * BLOCK_BYTES];
        for (int64_t first = b; first < e; first += some) {
            const int64_t count = e - first < some ? e - first : some;
            char *x = room, *y = x + p.m * p.k * count * size, *z = y + p.k * p.n * count * size;
            gather(size, p.a, p.m, p.k, first, count, x);
            gather(size, p.b, p.k, p.n, first, count, y);
            products(x, y, z, count, p.m, p.n, p.k);
            move(c + first * made * size, z, count, made, 1, count);
        }
    });
    return true;
}
