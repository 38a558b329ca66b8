/* Recordings of calls: which kernels ran over which memory, to run them again without Python.
 *
 * A recorder hears of every kernel where the queue of kernels that wait does (deferral.h), and of
 * everybody who looks at memory otherwise, which ends the hope of a recording. */
#pragma once
#include "dispatch/python.h"

struct fl_recorder;
/* What records on this thread, or NULL. Somebody records: fl_any_waiting() is true, so that small
 * calls go by the long way, and storages that are made are told of. */
extern __thread fl_recorder *fl_recording __attribute__((tls_model("initial-exec")));

/* A kernel is about to run. */
int fl_record_kernel(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs);
/* Memory is about to be read or written by somebody who is no kernel. */
void fl_record_escape(const char *why);
/* A function of Flambeau's modules is about to run. */
void fl_record_python(void);
/* A storage was made. */
void fl_record_birth(fl_storage *s);
/* It shows memory that it did not allocate. */
void fl_record_foreign(const fl_storage *s);
