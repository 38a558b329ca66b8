/* Range checks: one comparison for both ends, no early exit, so that it runs in registers. Counts
 * of true bytes. */
#include "index/kernels/indices.h"
#include "common/kernels/lanes.h"

namespace {

bool within(const int64_t *index, int64_t n, int64_t low, int64_t high) {
    const uint64_t span = (uint64_t)high - (uint64_t)low;
    uint64_t beyond = 0;
    for (int64_t i = 0; i < n; i++)
        beyond |= (uint64_t)index[i] - (uint64_t)low >= span ? 1 : 0;
    return beyond == 0;
}

/* Bytes count up to 255 rounds of 64 elements before they are added. */
int64_t count(const uint8_t *mask, int64_t n) {
    typedef Lanes<uint8_t> Bytes;
    int64_t total = 0;
    while (n >= Bytes::COUNT) {
        int64_t rounds = n / Bytes::COUNT < 255 ? n / Bytes::COUNT : 255;
        Bytes sums = Bytes::fill(0);
        for (int64_t r = 0; r < rounds; r++, mask += Bytes::COUNT) {
            Bytes v = Bytes::load(mask);
            for (int i = 0; i < Bytes::PARTS; i++)
                sums.r[i] -= (Bytes::reg)(v.r[i] != Bytes::reg{});
        }
        uint8_t lane[Bytes::COUNT];
        sums.store(lane);
        for (int i = 0; i < Bytes::COUNT; i++)
            total += lane[i];
        n -= rounds * Bytes::COUNT;
    }
    for (int64_t i = 0; i < n; i++)
        total += mask[i] != 0;
    return total;
}

}  // namespace

extern const fl_index_kernels FL_LEVEL(fl_index_kernels) = {within, count};
