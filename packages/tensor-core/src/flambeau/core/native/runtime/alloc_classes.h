/* Size classes of the caching allocator: multiples of 64 up to 512 bytes, then eight per power of
 * two, so that a block is at most 12.5% larger than what it was taken for. */
#ifndef FLAMBEAU_RUNTIME_ALLOC_CLASSES_H
#define FLAMBEAU_RUNTIME_ALLOC_CLASSES_H
#include <stddef.h>

const size_t FL_CLASS_UNIT = 64;
const int FL_CLASS_STEPS = 8;
const int FL_FINE_POWER = 9;                /* classes are multiples of the unit up to 2^9 */
const int FL_FINE_CLASSES = 8;
const int FL_CLASS_COUNT = FL_FINE_CLASSES + (47 - FL_FINE_POWER) * FL_CLASS_STEPS;
const size_t FL_LARGEST_CLASS = size_t(1) << 47;    /* no address space beyond */

/* The class whose sizes end at 2^power. */
constexpr int fl_class_of_power(int power) {
    return FL_FINE_CLASSES + (power - FL_FINE_POWER) * FL_CLASS_STEPS - 1;
}

/* The smallest class that holds so many bytes; at most FL_LARGEST_CLASS may be asked. */
inline int fl_class_of(size_t bytes) {
    if (bytes <= size_t(1) << FL_FINE_POWER)
        return bytes ? static_cast<int>((bytes - 1) / FL_CLASS_UNIT) : 0;
    int power = 63 - __builtin_clzll(bytes - 1); /* 2^power < bytes <= 2^(power + 1) */
    int step = static_cast<int>((bytes - 1) >> (power - 3)) - FL_CLASS_STEPS;
    return FL_FINE_CLASSES + (power - FL_FINE_POWER) * FL_CLASS_STEPS + step;
}

inline size_t fl_class_bytes(int index) {
    if (index < FL_FINE_CLASSES)
        return static_cast<size_t>(index + 1) * FL_CLASS_UNIT;
    int power = FL_FINE_POWER + (index - FL_FINE_CLASSES) / FL_CLASS_STEPS;
    int step = (index - FL_FINE_CLASSES) % FL_CLASS_STEPS;
    return static_cast<size_t>(FL_CLASS_STEPS + step + 1) << (power - 3);
}
#endif
