/* The stream of a Mersenne Twister, and its state in PyTorch's format: see mersenne.h. */
#include "random/mersenne.h"
#include "random/kernels/mersenne.h"
#include "random/taken.h"
#include <math.h>
#include <string.h>

namespace {

const fl_mersenne_kernels *const kernels = FL_PICK(fl_mersenne_kernels);

/* The bytes that torch.get_rng_state() gives. */
struct SavedState {
    uint64_t seed;
    int32_t left, seeded;
    uint64_t next, words[MERSENNE_WORDS];
    double unused, spare, unused_too;
    int32_t has_spare, padding;
    float small_spare;
    bool has_small_spare;
};
static_assert(sizeof(SavedState) == FL_MERSENNE_BYTES, "as many bytes as in PyTorch");

}  // namespace

void fl_mersenne::twist() {
    kernels->twist(words);
    left = MERSENNE_WORDS + 1;
    next = 0;
}

void fl_mersenne::take(uint32_t *out, int64_t n) {
    while (n > 0) {
        if (left == 1)
            twist();
        int64_t count = n < left - 1 ? n : left - 1;
        kernels->temper(words + next, out, count);
        next += (int)count;
        left -= (int)count;
        out += count;
        n -= count;
    }
}

double fl_mersenne::normal() {
    if (has_spare) {
        has_spare = false;
        return spare;
    }
    double turn = uniform(), u = uniform();
    double r = sqrt(-2.0 * log1p(-u)), angle = 2.0 * M_PI * turn;
    spare = r * sin(angle);
    has_spare = true;
    return r * cos(angle);
}

fl_mersenne *fl_mersenne_of(const fl_value &generator) {
    if (generator.tag == FL_TAKEN)
        return nullptr;
    return fl_generator_state_of(generator.tag == FL_GENERATOR ? generator.o : nullptr)->mersenne;
}

extern "C" {

fl_mersenne *fl_mersenne_new(void) { return new (std::nothrow) fl_mersenne; }

void fl_mersenne_free(fl_mersenne *m) { delete m; }

void fl_mersenne_seed(fl_mersenne *m, uint64_t seed) {
    m->words[0] = (uint32_t)seed;
    for (uint32_t i = 1; i < MERSENNE_WORDS; i++) {
        uint32_t former = m->words[i - 1];
        m->words[i] = 1812433253u * (former ^ former >> 30) + i;
    }
    m->left = 1;
    m->next = 0;
    m->has_spare = m->has_small_spare = false;
    m->spare = m->small_spare = 0;
}

void fl_mersenne_save(const fl_mersenne *m, uint64_t seed, char *bytes) {
    SavedState saved = {};
    saved.seed = seed;
    saved.left = m->left;
    saved.seeded = 1;
    saved.next = (uint64_t)m->next;
    for (int i = 0; i < MERSENNE_WORDS; i++)
        saved.words[i] = m->words[i];
    saved.has_spare = m->has_spare;
    saved.spare = m->has_spare ? m->spare : 0;
    saved.has_small_spare = m->has_small_spare;
    saved.small_spare = m->has_small_spare ? m->small_spare : 0;
    memcpy(bytes, &saved, sizeof saved);
}

int fl_mersenne_load(fl_mersenne *m, uint64_t *seed, const char *bytes) {
    SavedState saved;
    memcpy(&saved, bytes, sizeof saved);
    if (saved.left < 1 || saved.left > MERSENNE_WORDS || saved.next > MERSENNE_WORDS ||
        (uint64_t)saved.left + saved.next > MERSENNE_WORDS + 1)
        return -1;
    for (int i = 0; i < MERSENNE_WORDS; i++)
        m->words[i] = (uint32_t)saved.words[i];
    *seed = saved.seed;
    m->left = saved.left;
    m->next = (int)saved.next;
    m->has_spare = saved.has_spare != 0;
    m->spare = saved.spare;
    m->has_small_spare = bytes[offsetof(SavedState, has_small_spare)] != 0;
    m->small_spare = saved.small_spare;
    return 0;
}

void fl_mersenne_copy(fl_mersenne *to, const fl_mersenne *from) {
    uint64_t seed = 0;
    char bytes[FL_MERSENNE_BYTES];
    fl_mersenne_save(from, seed, bytes);
    fl_mersenne_load(to, &seed, bytes);
}

}  // extern "C"
