/* Random numbers that a call has taken from its generator and draws later, a part at a time. */
#pragma once
#include "dispatch/core.h"

/* The tag of a value in place of a generator: its seed, the first block, and in `len` how many of
 * that block's elements to leave out. No such value leaves the core. */
enum { FL_TAKEN = 64 };

/* An operator of random numbers whose elements depend on their number alone. */
bool fl_draws_by_element(const fl_op *op);
/* Whether a call of one can take its numbers: a Mersenne Twister draws them at once. */
bool fl_can_take_numbers(const fl_op *op, const fl_value *in);
/* Take what a call of one draws; in[fl_generator_param(op)] is its generator. */
int fl_generator_param(const fl_op *op);
fl_value fl_take_numbers(const fl_op *op, const fl_value *in, const fl_tensor *out);
/* What is left after `count` elements of an operator's result. */
void fl_leave_out(const fl_op *op, fl_value *taken, const fl_tensor *out, int64_t count);
