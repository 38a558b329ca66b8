/* Finding LAPACK's routines: see lapack.h. */
#include "runtime/lapack.h"

#include "runtime/blas.h"

#include <stdio.h>

#include <atomic>

namespace {

/* Names without the letter of the dtype; complex numbers call some of them otherwise. */
const char *const NAMES[FL_LAPACK_COUNT][2] = {
    {"getrf", "getrf"}, {"getrs", "getrs"}, {"gesv", "gesv"}, {"potrf", "potrf"}, {"trsm", "trsm"},
    {"geqrf", "geqrf"}, {"orgqr", "ungqr"}, {"syevd", "heevd"}, {"geev", "geev"},
    {"gesdd", "gesdd"}, {"gelsy", "gelsy"}, {"gelsd", "gelsd"}, {"gelss", "gelss"},
    {"gels", "gels"},   {"sytrf", "sytrf"}, {"sytrs", "sytrs"}, {"sytrf", "hetrf"},
    {"sytrs", "hetrs"}, {"ormqr", "unmqr"},
};

const int FIRST_DTYPE = 11;     /* float32 in abi.h; the letters follow in the order of codes */
const char LETTERS[] = "sdcz";

std::atomic<void *> found[FL_LAPACK_COUNT][4];

} // namespace

void *fl_lapack_find(int routine, int dtype) {
    int kind = dtype - FIRST_DTYPE;
    std::atomic<void *> &slot = found[routine][kind];
    void *function = slot.load(std::memory_order_acquire);
    if (function)
        return function;
    char name[16];
    snprintf(name, sizeof name, "%c%s_", LETTERS[kind], NAMES[routine][kind >= 2]);
    function = fl_blas_symbol(name);
    slot.store(function, std::memory_order_release);
    return function;
}
