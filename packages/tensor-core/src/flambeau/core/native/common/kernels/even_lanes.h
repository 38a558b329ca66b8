/* Every second element of a row of floats or doubles, by vectors. */
#pragma once
#include "matmul/kernels/gemm_vector.h"

namespace {

template <class T, int FIRST, int... E>
inline Index<T> every_second(std::integer_sequence<int, E...>) {
    return Index<T>{(2 * E + FIRST)...};
}

/* Every second element of two vectors, from number FIRST on. */
template <int FIRST, class T> inline Vector<T> second_lanes(Vector<T> a, Vector<T> b) {
    return fl_shuffle(a, b, every_second<T, FIRST>(Every<T>{}));
}

/* As TakeEven of phase_rows.h: `room` elements may be read. The last vector ends with the last
 * element. */
struct TakeEvenLanes {
    template <class T> static void run(T *out, const T *in, int64_t n, int64_t room) {
        const int64_t L = Lanes<T>::COUNT;
        if (n <= L)
            return run_small(out, in, n);
        int64_t j = 0;
        for (; j + L <= n && 2 * (j + L) <= room; j += L)
            store(out + j, second_lanes<0, T>(load(in + 2 * j), load(in + 2 * j + L)));
        if (j < n) {
            const T *last = in + 2 * (n - L) - 1;
            store(out + n - L, second_lanes<1, T>(load(last), load(last + L)));
        }
    }

  private:
    template <class T> static void run_small(T *out, const T *in, int64_t n) {
        const int64_t L = Lanes<T>::COUNT, read = 2 * n - 1, more = read > L ? read - L : 0;
        if (n > 0)
            store_part(out, second_lanes<0, T>(load_part(in, read - more), load_part(in + L, more)),
                       n);
    }
};

}  // namespace
