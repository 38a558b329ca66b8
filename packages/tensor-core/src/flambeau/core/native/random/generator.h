/* States of random number generators: a seed, and how many Philox blocks have been used; or a
 * Mersenne Twister, whose numbers are those of PyTorch (mersenne.h). */
#ifndef FLAMBEAU_CORE_GENERATOR_H
#define FLAMBEAU_CORE_GENERATOR_H
#include "dispatch/core.h"

typedef struct fl_mersenne fl_mersenne;

/* One Philox block is four 32-bit words; block number b of a seed never changes. */
typedef struct fl_generator_state {
    uint64_t seed;
    uint64_t offset;        /* the next unused block */
    fl_mersenne *mersenne;  /* NULL: the stream is Philox */
} fl_generator_state;

/* The Python object `Generator`; its cdef class must begin with these members. */
typedef struct fl_generator {
    PyObject_HEAD
    fl_generator_state state;
} fl_generator;

#ifdef __cplusplus
extern "C" {
#endif

/* What is used when no generator is given: this thread's own, else the one of the process. */
fl_generator_state *fl_default_generator_state(void);

/* Give this thread a default generator of its own (NULL: none); returns the one it had. The
   reference to it passes to the thread, and that to the former one to the caller. */
void *fl_exchange_own_generator(void *generator);
int fl_has_own_generator(void);

/* Use the state of a Generator object, which must live forever, from here on. */
void fl_set_default_generator(void *generator);

/* The state behind a Generator object; NULL means the default one. */
fl_generator_state *fl_generator_state_of(void *generator);

/* Take `count` blocks, and return the number of the first. Safe from several threads. */
uint64_t fl_generator_reserve(void *generator, uint64_t count);

/* Bytes of a saved twister, in the format of PyTorch's torch.get_rng_state(). */
#define FL_MERSENNE_BYTES 5056

fl_mersenne *fl_mersenne_new(void);     /* NULL: no memory; to be seeded */
void fl_mersenne_free(fl_mersenne *m);
void fl_mersenne_seed(fl_mersenne *m, uint64_t seed);
void fl_mersenne_save(const fl_mersenne *m, uint64_t seed, char *bytes);
int fl_mersenne_load(fl_mersenne *m, uint64_t *seed, const char *bytes);    /* -1: no such state */
void fl_mersenne_copy(fl_mersenne *to, const fl_mersenne *from);

#ifdef __cplusplus
}
#endif
#endif
