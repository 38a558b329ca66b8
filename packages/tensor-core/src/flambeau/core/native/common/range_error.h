/* A kind of error beside those of runtime/error.h: an element of an index is out of range. */
#pragma once
#include "dispatch/core.h"

enum { FL_RANGE_ERROR = 10 };

extern PyObject *fl_index_range_error;      /* IndexRangeError: an IndexError and a RuntimeError */
