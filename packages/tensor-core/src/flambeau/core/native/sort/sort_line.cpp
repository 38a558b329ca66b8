/* Sorting one line: by comparison when short, else by digits of 8 bits from the lowest up.
 *
 * A pass keeps the order of equal digits, so the sort is stable without looking at positions.
 * Passes in which all keys have the same digit are left out, which makes small integers, bools and
 * half precision cheap. */
#include "sort/sort_line.h"
#include <algorithm>

namespace {

const int64_t MAX_SHORT_LINE_ELEMENTS = 160;
const uint64_t MAX_COUNTED_RANGE = 4096;     /* beyond, counts leave the nearest cache */

/* One number per element: key above, position below. */
struct Packed {
    typedef uint64_t item;
    static const int FIRST = 4, LAST = 8;       /* digits that hold the key */
    static item join(uint32_t key, int64_t position) {
        return (uint64_t)key << 32 | (uint64_t)position;
    }
    static item make(float x, int64_t position, bool descending) {
        uint32_t key = fl_sort_key(x);
        return join(descending ? ~key : key, position);
    }
    static uint32_t key(item v) { return (uint32_t)(v >> 32); }
    static unsigned digit(item v, int d) { return (unsigned)(v >> (8 * d)) & 255; }
    static int64_t position(item v) { return (int64_t)(v & 0xffffffffu); }
};

struct Wide {
    typedef fl_keyed item;
    static const int FIRST = 0, LAST = 8;
    template <class T> static item make(T x, int64_t position, bool descending) {
        uint64_t key = fl_sort_key(x);
        return fl_keyed{descending ? ~key : key, position};
    }
    static unsigned digit(const item &v, int d) { return (unsigned)(v.key >> (8 * d)) & 255; }
    static int64_t position(const item &v) { return v.position; }
};

template <class Form>
void count_digits(const typename Form::item *a, int64_t n, int last, int64_t (*count)[256]) {
    memset(count, 0, sizeof(int64_t) * 256 * (size_t)(last - Form::FIRST));
    for (int64_t i = 0; i < n; i++)
        for (int d = Form::FIRST; d < last; d++)
            count[d - Form::FIRST][Form::digit(a[i], d)]++;
}

/* One pass; false when there was nothing to do. */
template <class Form>
bool distribute(const typename Form::item *a, typename Form::item *b, int64_t n, int d,
                int64_t *count) {
    if (count[Form::digit(a[0], d)] == n)
        return false;
    int64_t at = 0;
    for (int k = 0; k < 256; k++) {
        int64_t c = count[k];
        count[k] = at;
        at += c;
    }
    for (int64_t i = 0; i < n; i++)
        b[count[Form::digit(a[i], d)]++] = a[i];
    return true;
}

/* By the digits below `last`; the sorted items are in a or b. */
template <class Form>
typename Form::item *sort_items(typename Form::item *a, typename Form::item *b, int64_t n,
                                int last = Form::LAST) {
    if (n <= MAX_SHORT_LINE_ELEMENTS) {
        std::sort(a, a + n);
        return a;
    }
    int64_t count[Form::LAST - Form::FIRST][256];
    count_digits<Form>(a, n, last, count);
    for (int d = Form::FIRST; d < last; d++)
        if (distribute<Form>(a, b, n, d, count[d - Form::FIRST]))
            std::swap(a, b);
    return a;
}

template <class Form, class T>
void sort_as(const T *x, int64_t n, bool descending, void *room, T *values, int64_t *positions) {
    typedef typename Form::item item;
    item *a = (item *)room, *b = a + n;
    for (int64_t i = 0; i < n; i++)
        a[i] = Form::make(x[i], i, descending);
    a = sort_items<Form>(a, b, n);
    for (int64_t i = 0; i < n; i++)
        positions[i] = Form::position(a[i]);
    if (values == x)        /* in place: through the room that is free now */
        x = (const T *)memcpy(a == (item *)room ? b : (item *)room, x, (size_t)n * sizeof(T));
    for (int64_t i = 0; i < n; i++)
        values[i] = x[positions[i]];
}

/* Integers in a range that is no longer than the line: counted, and written run by run. Takes room
 * for 2 n numbers of 64 bits. */
void sort_counted(const int64_t *x, int64_t n, bool descending, int64_t low, int64_t range,
                  uint64_t *count, int64_t *values, int64_t *positions) {
    memset(count, 0, (size_t)(range + 1) * sizeof *count);
    for (int64_t i = 0; i < n; i++)
        count[x[i] - low]++;
    uint64_t at = 0;
    for (int64_t k = 0; k <= range; k++) {
        uint64_t &c = count[descending ? range - k : k];
        const uint64_t run = c;
        c = at;
        at += run;
    }
    for (int64_t i = 0; i < n; i++)
        positions[count[x[i] - low]++] = i;
    at = 0;
    for (int64_t k = 0; k <= range; k++) {      /* counts are ends now */
        const int64_t digit = descending ? range - k : k;
        for (; at < count[digit]; at++)
            values[at] = low + digit;
    }
}

/* Integers that lie within 2^32 of each other: packed by their distance from the first in order,
 * which gives them back. */
bool sort_near(const int64_t *x, int64_t n, bool descending, void *room, int64_t *values,
               int64_t *positions) {
    int64_t low = n ? x[0] : 0, high = low;
    for (int64_t i = 1; i < n; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    uint64_t range = (uint64_t)high - (uint64_t)low;
    if (range > UINT32_MAX || n > INT64_C(0xffffffff))
        return false;
    uint64_t *a = (uint64_t *)room, *b = a + n;
    if (range < (uint64_t)n && range < MAX_COUNTED_RANGE) {
        sort_counted(x, n, descending, low, (int64_t)range, a, values, positions);
        return true;
    }
    for (int64_t i = 0; i < n; i++)
        a[i] = Packed::join((uint32_t)(descending ? high - x[i] : x[i] - low), i);
    int last = Packed::FIRST;
    for (; range; range >>= 8)
        last++;
    a = sort_items<Packed>(a, b, n, last);
    for (int64_t i = 0; i < n; i++) {
        positions[i] = Packed::position(a[i]);
        values[i] = descending ? high - Packed::key(a[i]) : low + Packed::key(a[i]);
    }
    return true;
}

bool packs(int kind, int64_t n) { return kind == FL_K_F32 && n <= INT64_C(0xffffffff); }

}  // namespace

size_t fl_sort_room(int kind, int64_t n) {
    return (size_t)n * 2 * (packs(kind, n) ? sizeof(uint64_t) : sizeof(fl_keyed));
}

void fl_sort_line(int kind, const void *x, int64_t n, bool descending, void *room, void *values,
                  int64_t *positions) {
    if (packs(kind, n))
        sort_as<Packed>((const float *)x, n, descending, room, (float *)values, positions);
    else if (kind == FL_K_F64)
        sort_as<Wide>((const double *)x, n, descending, room, (double *)values, positions);
    else if (!sort_near((const int64_t *)x, n, descending, room, (int64_t *)values, positions))
        sort_as<Wide>((const int64_t *)x, n, descending, room, (int64_t *)values, positions);
}
