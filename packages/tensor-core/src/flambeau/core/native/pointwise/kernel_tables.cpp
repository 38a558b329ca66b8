/* The kernels of the running ISA level. */
#include "dispatch/pointwise.h"
#include "runtime/isa.h"

const fl_tile_moves *fl_moves = nullptr;
static fl_pw_fn interpreters[2];
fl_pw_fn fl_bytecode_interpreter(bool streams) { return interpreters[streams]; }

#if defined(FL_ONLY_ISA)
#define FL_ONLY(X, level) X(level, FL_ISA_NEON)
#define LEVELS(X) FL_ONLY(X, FL_ONLY_ISA)
#elif defined(__x86_64__)
#define LEVELS(X) X(v2, FL_ISA_V2) X(v3, FL_ISA_V3) X(v4, FL_ISA_V4)
#else
#define LEVELS(X) X(neon, FL_ISA_NEON)
#endif
#define DECLARE(level, code)                                                                     \
    extern "C" const fl_tile_moves fl_tile_moves_##level;                                        \
    void fl_run_bytecode_##level(const void *, const void *const *, void *const *,               \
                                 const fl_scalar *, int64_t);                                    \
    void fl_stream_bytecode_##level(const void *, const void *const *, void *const *,            \
                                    const fl_scalar *, int64_t);                                 \
    void fl_fill_pw_kernels_##level(fl_pw_fn (*rows)[FL_KERNEL_COUNT]);
LEVELS(DECLARE)

void fl_kernels_init(void) {
    int isa = fl_isa_level();
    void (*fill)(fl_pw_fn (*rows)[FL_KERNEL_COUNT]) = nullptr;
#define PICK(level, code)                                                                        \
    if (isa >= code) {                                                                           \
        fl_moves = &fl_tile_moves_##level;                                                       \
        interpreters[false] = fl_run_bytecode_##level;                                           \
        interpreters[true] = fl_stream_bytecode_##level;                                         \
        fill = fl_fill_pw_kernels_##level;                                                       \
    }
    LEVELS(PICK)
    fill(fl_pw_kernels);
}
