/* Short lines put in order side by side: element i of line r is x[i * count + r]. What comes first
 * moves to the front by exchanges of neighbours, which keep the order of equals. */
#include "sort/kernels/short_lines.h"

namespace {

/* Whether b, which stands behind a, is to stand before it. NaN is the greatest. */
template <bool descending, class T> inline bool precedes(T b, T a) {
    return descending ? (b > a) | ((b != b) & (a == a)) : (b < a) | ((a != a) & (b == b));
}

template <bool descending, class T, class Position>
void first_of(void *lines, void *numbers, int64_t n, int64_t k, int64_t count) {
    T *x = (T *)lines;
    Position *position = (Position *)numbers;
    for (int64_t i = 0; i < n; i++)
        for (int64_t r = 0; r < count; r++)
            position[i * count + r] = (Position)i;
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = n - 1; i > j; i--) {
            T *__restrict front = x + (i - 1) * count, *__restrict back = x + i * count;
            Position *__restrict at = position + (i - 1) * count;
            Position *__restrict behind = position + i * count;
            for (int64_t r = 0; r < count; r++) {
                const T a = front[r], b = back[r];
                const Position p = at[r], q = behind[r];
                const bool exchange = precedes<descending>(b, a);
                front[r] = exchange ? b : a;
                back[r] = exchange ? a : b;
                at[r] = exchange ? q : p;
                behind[r] = exchange ? p : q;
            }
        }
}

}  // namespace

#define FL_ORDERS(descending)                                                                    \
    {first_of<descending, float, int32_t>, first_of<descending, double, int64_t>,                \
     first_of<descending, int64_t, int64_t>}

extern const fl_short_line_kernels FL_LEVEL(fl_short_line_kernels) = {
    {FL_ORDERS(false), FL_ORDERS(true)}};
