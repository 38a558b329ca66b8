/* isa.h: the level named by FLAMBEAU_ISA is taken when the processor has it. */
#include "check.h"
#include "isa.h"

#include <stdlib.h>
#include <string.h>

static bool pinned(const char *value, int expected) {
    return in_child([=] {
        setenv("FLAMBEAU_ISA", value, 1);
        return fl_isa_level() == expected;
    });
}

/* Children are forked before this process has decided: the decision is made once. */
int main() {
#if defined(__x86_64__)
    bool v3 = __builtin_cpu_supports("avx2");
    CHECK(pinned("v2", FL_ISA_V2));
    CHECK(!v3 || pinned("v3", FL_ISA_V3));
    int best = __builtin_cpu_supports("avx512bw") ? FL_ISA_V4 : v3 ? FL_ISA_V3 : FL_ISA_V2;
#else
    int best = FL_ISA_NEON;
#endif
    CHECK(pinned("", best));
    CHECK(pinned("v9", best));
    unsetenv("FLAMBEAU_ISA");
    CHECK(fl_isa_level() == best);
    CHECK(strcmp(fl_isa_name(FL_ISA_V3), "v3") == 0);
    CHECK(strcmp(fl_isa_name(99), "unknown") == 0);
    return check_result();
}
