/* Sizes of a run. */
#include "standalone/graph.h"

int64_t Dim::evaluate(const int64_t *sizes) const {
    int64_t total = offset;
    bool fits = true;
    for (const Term &term : terms) {
        int64_t part = term.factor;
        for (int symbol : term.symbols) {
            if (sizes[symbol] < 0)
                throw Failure(FLAMBEAU_BAD_PROGRAM, "a size is used before a result has it");
            fits = fits && !__builtin_mul_overflow(part, sizes[symbol], &part);
        }
        fits = fits && !__builtin_add_overflow(total, part, &total);
    }
    if (!fits)
        throw Failure(FLAMBEAU_WRONG_INPUT, "a size that is computed from the inputs' sizes "
                                            "does not fit 64 bits");
    return total;
}

double Dim::real(const int64_t *sizes) const {
    const double value = (double)evaluate(sizes);
    return form == RECIPROCAL ? 1.0 / value : value;
}
