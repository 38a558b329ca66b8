/* Taps of the resampling modes. Positions follow PyTorch: pixels are areas whose centres lie at
 * (i + 1/2) / size, or with align_corners at i / (size - 1). */
#include "resample/resample.h"
#include <math.h>
#include <string.h>

namespace {

const double PI = 3.14159265358979323846;

/* Inputs per output, `given` being the factor asked for. */
double ratio_of(int64_t in, int64_t out, bool align_corners, double given) {
    if (align_corners)
        return out > 1 ? (double)(in - 1) / (double)(out - 1) : 0;
    return given > 0 ? 1 / given : (double)in / (double)out;
}

/* Keys' cubic convolution: its two pieces. */
double near_cubic(double x, double a) { return ((a + 2) * x - (a + 3)) * x * x + 1; }
double far_cubic(double x, double a) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; }

double sinc(double x) { return x == 0 ? 1 : sin(PI * x) / (PI * x); }

/* The filters that are widened when an image is made smaller, as in Pillow. */
double filter(int mode, double x) {
    x = fabs(x);
    if (mode == FL_SMOOTH_LINEAR)
        return x < 1 ? 1 - x : 0;
    if (mode == FL_SMOOTH_LANCZOS)
        return x < 3 ? sinc(x) * sinc(x / 3) : 0;
    return x < 1 ? near_cubic(x, -0.5) : x < 2 ? far_cubic(x, -0.5) : 0;
}

double reach_of(int mode, double ratio) {
    double reach = mode == FL_SMOOTH_LINEAR ? 1 : mode == FL_SMOOTH_CUBIC ? 2 : 3;
    return ratio > 1 ? reach * ratio : reach;
}

int64_t within(int64_t i, int64_t n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

}  // namespace

int fl_resample_mode_of(const fl_value &name) {
    static const char bytes[] = "bytes-";
    const uint32_t prefix = sizeof bytes - 1;
    if (name.len > prefix && !memcmp(name.s, bytes, prefix)) {
        fl_value rest = name;
        rest.s += prefix;
        rest.len -= prefix;
        int mode = fl_resample_mode_of(rest);
        return mode < 0 ? -1 : mode | FL_RESAMPLE_BYTES;
    }
    static const char *const names[FL_RESAMPLE_MODES] = {
        "nearest", "nearest-exact", "linear", "cubic", "area", "smooth-linear", "smooth-cubic",
        "smooth-lanczos"};
    for (int i = 0; i < FL_RESAMPLE_MODES; i++)
        if (strlen(names[i]) == name.len && !memcmp(names[i], name.s, name.len))
            return i;
    return -1;
}

int64_t Taps::width_of(int mode, int64_t in, int64_t out, double ratio) {
    if (mode == FL_NEAREST || mode == FL_NEAREST_EXACT)
        return 1;
    if (mode == FL_LINEAR || mode == FL_CUBIC)
        return mode == FL_LINEAR ? 2 : 4;
    double most = mode == FL_AREA ? (double)in / (double)out + 2 : 2 * reach_of(mode, ratio) + 2;
    return most < (double)in ? (int64_t)most : in;
}

Taps::Taps(int given, int64_t in, int64_t out, bool align_corners, double scale, int kind)
    : kind_(kind),
      table_{in, out, width_of(given & ~FL_RESAMPLE_BYTES, in, out,
                               ratio_of(in, out, align_corners, scale)), nullptr, nullptr, nullptr, 0},
      memory_(fl_bytes(fl_wrapping_mul(out, table_.width) + out, 16)) {
    if (!memory_.ok())
        return;
    int64_t cells = out * table_.width;
    table_.index = index_ = memory_.as<int64_t>();
    table_.weight = weight_ = (char *)(index_ + cells);
    table_.count = count_ = (int32_t *)(weight_ + cells * 8);
    memset(count_, 0, (size_t)out * sizeof(int32_t));
    double ratio = ratio_of(in, out, align_corners, scale);
    int mode = given & ~FL_RESAMPLE_BYTES;
    if (mode <= FL_NEAREST_EXACT)
        nearest(mode == FL_NEAREST_EXACT, scale);
    else if (mode <= FL_CUBIC)
        between(mode == FL_CUBIC, ratio, align_corners);
    else if (mode == FL_AREA)
        area();
    else
        smooth(mode, ratio);
    if (given & FL_RESAMPLE_BYTES)
        round_to_bytes();
}

void Taps::put(int64_t j, int64_t index, double weight) {
    int64_t at = j * table_.width + count_[j]++;
    index_[at] = index;
    set_weight(at, weight);
}

void Taps::set_weight(int64_t k, double weight) {
    if (kind_ == FL_K_F64)
        ((double *)weight_)[k] = weight;
    else
        ((float *)weight_)[k] = (float)weight;
}

double Taps::weight(int64_t k) const {
    return kind_ == FL_K_F64 ? ((const double *)weight_)[k] : (double)((const float *)weight_)[k];
}

bool Taps::identity() const {
    if (table_.in != table_.out)
        return false;
    for (int64_t j = 0; j < table_.out; j++) {
        if (count_[j] < 1 || index_[j * table_.width] != j || weight(j * table_.width) != 1)
            return false;
        for (int32_t k = 1; k < count_[j]; k++)
            if (weight(j * table_.width + k) != 0)
                return false;
    }
    return true;
}

/* In float32 whatever the dtype: rounding decides which pixel is picked, and PyTorch's does so. */
void Taps::nearest(bool exact, double scale) {
    float ratio = scale > 0 ? (float)(1 / scale) : (float)table_.in / (float)table_.out;
    for (int64_t j = 0; j < table_.out; j++) {
        float at = (exact ? (float)j + 0.5f : (float)j) * ratio;
        put(j, within((int64_t)floorf(at), table_.in), 1);
    }
    const int64_t times = table_.in > 0 ? table_.out / table_.in : 0;
    bool even = times > 0 && times * table_.in == table_.out;
    for (int64_t j = 0; even && j < table_.out; j++)
        even = index_[j] == j / times;
    table_.repeats = even ? times : 0;
}

void Taps::between(bool cubic, double ratio, bool align_corners) {
    const double a = -0.75;
    for (int64_t j = 0; j < table_.out; j++) {
        double at = align_corners ? ratio * (double)j : ratio * ((double)j + 0.5) - 0.5;
        if (!cubic && at < 0)
            at = 0;
        int64_t i = (int64_t)floor(at);
        double t = at - (double)i;
        if (!cubic) {
            i = within(i, table_.in);
            t = i + 1 < table_.in ? t : 0;
            put(j, i, 1 - t);
            if (t != 0)
                put(j, i + 1, t);
            continue;
        }
        put(j, within(i - 1, table_.in), far_cubic(t + 1, a));
        put(j, within(i, table_.in), near_cubic(t, a));
        put(j, within(i + 1, table_.in), near_cubic(1 - t, a));
        put(j, within(i + 2, table_.in), far_cubic(2 - t, a));
    }
}

void Taps::area() {
    for (int64_t j = 0; j < table_.out; j++) {
        int64_t in = table_.in, out = table_.out;
        int64_t first = j / out * in + j % out * in / out;
        int64_t last = ((j + 1) * in - 1) / out + 1;
        for (int64_t i = first; i < last; i++)
            put(j, i, 1 / (double)(last - first));
    }
}

void Taps::smooth(int mode, double ratio) {
    double reach = reach_of(mode, ratio), shrink = ratio > 1 ? 1 / ratio : 1;
    for (int64_t j = 0; j < table_.out; j++) {
        double centre = ratio * ((double)j + 0.5), total = 0;
        int64_t first = (int64_t)(centre - reach + 0.5), last = (int64_t)(centre + reach + 0.5);
        first = first < 0 ? 0 : first;
        last = last > table_.in ? table_.in : last;
        if (last - first > table_.width)
            last = first + table_.width;
        for (int64_t i = first; i < last; i++)
            total += filter(mode, ((double)i - centre + 0.5) * shrink);
        for (int64_t i = first; i < last; i++) {
            double w = filter(mode, ((double)i - centre + 0.5) * shrink);
            put(j, i, total != 0 ? w / total : w);
        }
    }
}

/* One weight for an input that an edge repeats. */
void Taps::merge_repeated() {
    for (int64_t j = 0; j < table_.out; j++) {
        int64_t first = j * table_.width, last = first;
        for (int64_t at = first + 1; at < first + count_[j]; at++) {
            if (index_[at] == index_[last]) {
                set_weight(last, weight(last) + weight(at));
                continue;
            }
            last++;
            index_[last] = index_[at];
            set_weight(last, weight(at));
        }
        count_[j] = (int32_t)(last - first + 1);
    }
}

/* Multiples of a power of two that fit int16 when scaled by it, as in PyTorch and Pillow: sums of
 * their products with bytes are exact, so that ties round the same way. */
void Taps::round_to_bytes() {
    merge_repeated();
    double most = 0;
    for (int64_t j = 0; j < table_.out; j++)
        for (int32_t k = 0; k < count_[j]; k++)
            most = fmax(most, weight(j * table_.width + k));
    double unit = 1;
    for (int bits = 0; bits < 22 && floor(0.5 + most * 2 * unit) < 32768; bits++)
        unit *= 2;
    for (int64_t j = 0; j < table_.out; j++)
        for (int32_t k = 0; k < count_[j]; k++) {
            int64_t at = j * table_.width + k;
            set_weight(at, round(weight(at) * unit) / unit);
        }
}
