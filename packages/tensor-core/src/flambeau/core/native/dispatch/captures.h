/* Functions that are being differentiated by a transform must not write to memory that they
 * captured: what they write would be seen outside, where the transform's history is not. */
#pragma once
#include "dispatch/objects.h"

/* How many such functions run, in all threads. */
extern int fl_capture_scopes;
static inline bool fl_any_capture_scope(void) {
    return FL_UNLIKELY(__atomic_load_n(&fl_capture_scopes, __ATOMIC_RELAXED) != 0);
}

/* Enter such a function on this thread; n tensors that it may write to, beside those made inside. */
void fl_capture_enter(fl_tensor *const *arguments, size_t n);
void fl_capture_exit(void);

/* From now on births are noted, until as many calls of fl_births_exit: gives the time. Nothing is
 * refused for it. */
uint64_t fl_births_enter(void);
void fl_births_exit(void);
/* Whether a tensor's memory was made since a time that fl_births_enter gave. */
bool fl_is_born_since(const fl_tensor *t, uint64_t began);

/* A storage was made while such a function runs. */
void fl_capture_born(const fl_storage *s);
/* Whether a tensor's memory was there before a function that this thread runs, and is not among
 * the arguments of that function. */
bool fl_is_captured(const fl_tensor *t);
/* Whether this thread runs such a function, which has made the tensor or got it as an argument. */
bool fl_is_differentiated_inside(const fl_tensor *t);
