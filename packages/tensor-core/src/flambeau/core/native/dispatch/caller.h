/* Whose call an error is about: helper operators, which have no Python name, are called by
 * composites. */
#pragma once
#include "dispatch/core.h"
#include "opdef_enums.h"

/* The composite that runs on this thread; NULL outside. */
extern __thread const fl_op *fl_caller __attribute__((tls_model("initial-exec")));

/* The one that the user called, while there is a caller. */
extern __thread const fl_op *fl_outermost __attribute__((tls_model("initial-exec")));

/* Put the name of the composite that failed in front of the error's text, unless it is there. */
void fl_name_in_error(const fl_op *op);
