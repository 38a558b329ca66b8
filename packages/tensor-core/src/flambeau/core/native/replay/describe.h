/* A recording as Python objects. */
#pragma once
#include "replay/recorder.h"

PyObject *fl_record_runs(const fl_recorder *r);
PyObject *fl_record_memories(const fl_recorder *r);
/* By memory a number that tells its first contents. */
PyObject *fl_record_contents(const fl_recorder *r);
PyObject *fl_record_result(fl_recorder *r, fl_tensor *t);
