/* The next element that beats a bar: whole sets of lanes are compared and mostly passed over. */
#include "sort/kernels/select.h"
#include "common/kernels/lanes.h"

namespace {

template <bool less, class T> FL_TIGHT bool may_beat(T x, T bar) {
    return less ? !(x >= bar) : !(x <= bar);
}

/* Whether any of four sets of lanes may beat the bar. */
template <bool less, class T> FL_TIGHT bool any_of_four(const T *p, const Lanes<T> &bar) {
    typedef typename Lanes<T>::mask mask;
    mask all = ~mask{};
    for (int s = 0; s < 4; s++) {
        Lanes<T> x = Lanes<T>::load(p + s * Lanes<T>::COUNT);
        for (int i = 0; i < Lanes<T>::PARTS; i++)
            all &= less ? (x.r[i] >= bar.r[i]) : (x.r[i] <= bar.r[i]);
    }
    int64_t word[FL_REGISTER / 8], both = -1;
    memcpy(word, &all, FL_REGISTER);
    for (int i = 0; i < FL_REGISTER / 8; i++)
        both &= word[i];
    return both != -1;
}

template <bool less, class T>
int64_t next(const void *x, int64_t begin, int64_t n, const void *bar_at) {
    constexpr int64_t STEP = 4 * Lanes<T>::COUNT;
    const T *p = (const T *)x;
    const T bar = *(const T *)bar_at;
    const Lanes<T> bars = Lanes<T>::fill(bar);
    for (int64_t i = begin; i < n;) {
        while (i + STEP <= n && !any_of_four<less>(p + i, bars))
            i += STEP;
        int64_t end = i + STEP < n ? i + STEP : n;
        for (; i < end; i++)
            if (may_beat<less>(p[i], bar))
                return i;
    }
    return n;
}

}  // namespace

extern const fl_select_kernels FL_LEVEL(fl_select_kernels) = {
    {{next<false, float>, next<false, double>, next<false, int64_t>},
     {next<true, float>, next<true, double>, next<true, int64_t>}}};
