/* Maxima of integers of 8 bits, 64 channels at a time. */
#include "pool/kernels/byte_maxima.h"
#include "common/kernels/lanes.h"

namespace {

/* Taps [*from, *to) of the window at `position` that lie inside. */
void inside(const fl_window &w, int64_t position, int64_t length, int64_t *from, int64_t *to) {
    const int64_t first = position * w.stride - w.padding;
    *from = first < 0 ? (-first + w.dilation - 1) / w.dilation : 0;
    *to = first >= length ? 0 : (length - first - 1) / w.dilation + 1;
    *to = *to < w.size ? *to : w.size;
}

template <class T>
FL_TIGHT Lanes<T> greater(const Lanes<T> &a, const Lanes<T> &b) {
    Lanes<T> v;
    for (int i = 0; i < Lanes<T>::PARTS; i++)
        v.r[i] = a.r[i] > b.r[i] ? a.r[i] : b.r[i];
    return v;
}

/* Taps of one window that lie inside: `corner` is the first of them. */
struct Met {
    const uint8_t *corner;
    int64_t high, wide, row, pixel;
};

template <class T>
void window(const Met &met, int64_t c, int64_t count, T *to) {
    typedef Lanes<T> V;
    V most = V::fill(limits<T>::low);
    for (int64_t y = 0; y < met.high; y++)
        for (int64_t x = 0; x < met.wide; x++) {
            const T *from = (const T *)met.corner + y * met.row + x * met.pixel + c;
            most = greater(most, count < V::COUNT ? V::load_part(from, count, limits<T>::low)
                                                  : V::load(from));
        }
    if (count < V::COUNT)
        most.store_part(to + c, count);
    else
        most.store(to + c);
}

template <class T>
void rows(const fl_byte_pool *c, int64_t begin, int64_t end) {
    const fl_pool &p = c->p;
    for (int64_t i = begin * p.ow; i < end * p.ow; i++) {
        int64_t y0, y1, x0, x1;
        inside(p.y, i / p.ow, p.h, &y0, &y1);
        inside(p.x, i % p.ow, p.w, &x0, &x1);
        const int64_t row = i / p.ow * p.y.stride - p.y.padding + y0 * p.y.dilation;
        const int64_t pixel = i % p.ow * p.x.stride - p.x.padding + x0 * p.x.dilation;
        const Met met = {c->image + row * c->row + pixel * c->pixel, y1 - y0, x1 - x0,
                         p.y.dilation * c->row, p.x.dilation * c->pixel};
        T *to = (T *)c->out + i * c->channels;
        for (int64_t k = 0; k < c->channels; k += Lanes<T>::COUNT) {
            const int64_t left = c->channels - k;
            window(met, k, left < Lanes<T>::COUNT ? left : Lanes<T>::COUNT, to);
        }
    }
}

}  // namespace

extern const fl_byte_pool_kernels FL_LEVEL(fl_byte_pool_kernels) = {rows<uint8_t>, rows<int8_t>};
