/* Which stream calls work on, and whether their copies return before they are done. */
#pragma once
#include "device.h"

/* An attached device type by its number; null with an exception. */
Device *fl_device_of_type(int type);
/* FL_LATER where the calling thread asked for copies that return at once. */
int fl_copy_flags(void);
int fl_add_stream_functions(PyObject *module);
