/* Runtime choice of the instruction-set level: see isa.h. */
#include "runtime/isa.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace {

const char *const NAMES[] = {"", "neon", "v2", "v3", "v4"};

int detect() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return FL_ISA_V4;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2"))
        return FL_ISA_V3;
    return FL_ISA_V2;
#else
    return FL_ISA_NEON;
#endif
}

#if defined(FL_ONLY_ISA)
#define FL_TEXT2(name) #name
#define FL_TEXT(name) FL_TEXT2(name)

int choose() {
    for (int level = FL_ISA_NEON; level <= detect(); level++)
        if (strcmp(FL_TEXT(FL_ONLY_ISA), NAMES[level]) == 0)
            return level;
    fprintf(stderr, "flambeau was built with -DFLAMBEAU_ISA=%s, which this processor does not "
                    "have: build it again without\n", FL_TEXT(FL_ONLY_ISA));
    exit(1);
}
#else
int choose() {
    int best = detect();
    const char *pinned = getenv("FLAMBEAU_ISA");
    if (!pinned || !*pinned)
        return best;
    int lowest = best == FL_ISA_NEON ? FL_ISA_NEON : FL_ISA_V2;
    for (int level = lowest; level <= best; level++)
        if (strcmp(pinned, NAMES[level]) == 0)
            return level;
    return best; /* environment.py warns */
}
#endif

} // namespace

int fl_isa_level(void) {
    static const int level = choose();
    return level;
}

const char *fl_isa_name(int level) {
    return level >= FL_ISA_NEON && level <= FL_ISA_V4 ? NAMES[level] : "unknown";
}

#if defined(__x86_64__) && defined(__linux__)
/* Linux has room for the 8 KiB of tile registers only in threads of processes that asked. */
static bool ask_for_tiles() {
    const long ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18;
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

bool fl_has_amx(void) {
    static const bool has = __builtin_cpu_supports("amx-tile") &&
                            __builtin_cpu_supports("amx-bf16") &&
                            __builtin_cpu_supports("amx-int8") && ask_for_tiles();
    return has;
}
#else
bool fl_has_amx(void) { return false; }
#endif

bool fl_has_vnni(void) {
#if defined(__x86_64__)
    static const bool has = __builtin_cpu_supports("avx512vnni");
    return has;
#else
    return false;
#endif
}
