/* Where taps read: the input as it is, or padded and split by phase. */
#pragma once
#include "conv/kernels/conv_strip.h"

namespace {

/* The input can be read as it is: nothing to pad or to split. */
inline bool conv_plain(const fl_conv &p) {
    return p.x.stride == 1 && p.y.padding == 0 && p.x.padding == 0 &&
           (p.oh - 1) * p.y.stride + fl_window_reach(p.y) <= p.h &&
           p.ow - 1 + fl_window_reach(p.x) <= p.w;
}

/* Offsets of `count` taps from number `first` of a channel on, channels `channel_step` apart;
 * position(ky, kx) is where a tap lies in a channel. Returns the greatest. */
template <class Offset>
inline int64_t set_offsets(const fl_conv &p, int64_t first, int64_t count, int64_t channel_step,
                           const Offset &position, int64_t *offsets) {
    int64_t ky = first / p.x.size, kx = first % p.x.size, channel = 0, farthest = 0;
    for (int64_t j = 0; j < count; j++) {
        offsets[j] = channel + position(ky, kx);
        farthest = offsets[j] > farthest ? offsets[j] : farthest;
        if (++kx < p.x.size)
            continue;
        kx = 0;
        if (++ky < p.y.size)
            continue;
        ky = 0;
        channel += channel_step;
    }
    return farthest;
}

}  // namespace
