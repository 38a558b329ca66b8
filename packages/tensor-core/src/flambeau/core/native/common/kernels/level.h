/* Tables of kernels that are compiled once per ISA level.
 *
 * A header declares `struct fl_x_kernels`, pointers to functions, and in an extern "C" block
 * FL_LEVELS(fl_x_kernels). The kernel file defines `extern const fl_x_kernels
 * FL_LEVEL(fl_x_kernels)`, which becomes fl_x_kernels_v2, _v3 and so on. Code compiled once says
 * FL_PICK(fl_x_kernels): the address of the table for the level this process runs. */
#pragma once
#include "runtime/isa.h"

#define FL_LEVEL_JOIN2(name, level) name##_##level
#define FL_LEVEL_JOIN(name, level) FL_LEVEL_JOIN2(name, level)
#define FL_LEVEL(name) FL_LEVEL_JOIN(name, FL_ISA)

/* Files that are no faster at v4 have no table there (NOT_FOR_v4 in cmake/flags.cmake): a weak name
 * nobody defines is the null pointer, and v3 is taken. */
#if defined(FL_ONLY_ISA)   /* a build for one level, -DFLAMBEAU_ISA=v3 */
#define FL_LEVELS(name) extern const struct name FL_LEVEL_JOIN(name, FL_ONLY_ISA)
#define FL_PICK(name) (&FL_LEVEL_JOIN(name, FL_ONLY_ISA))
#elif defined(__x86_64__)
#define FL_LEVELS(name)                                                                          \
    extern const struct name name##_v2, name##_v3, name##_v4 __attribute__((weak))
#define FL_PICK(name)                                                                            \
    (fl_isa_level() == FL_ISA_V4 && &name##_v4 ? &name##_v4                                      \
     : fl_isa_level() >= FL_ISA_V3             ? &name##_v3                                      \
                                               : &name##_v2)
#else
#define FL_LEVELS(name) extern const struct name name##_neon
#define FL_PICK(name) (&name##_neon)
#endif
