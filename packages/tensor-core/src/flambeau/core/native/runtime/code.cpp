/* Memory for machine code. */
#include "runtime/code.h"
#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif

char *fl_code_map(const char *image, size_t n) {
    void *base = mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return nullptr;
    memcpy(base, image, n);
    return (char *)base;
}

int fl_code_seal(char *base, size_t n) {
    if (mprotect(base, n, PROT_READ | PROT_EXEC) < 0)
        return -1;
#ifndef __wasm__    /* which has no code in memory */
    __builtin___clear_cache(base, base + n);
#endif
    return 0;
}

void fl_code_unmap(char *base, size_t n) { munmap(base, n); }

void *fl_code_symbol(const char *name) { return dlsym(RTLD_DEFAULT, name); }
