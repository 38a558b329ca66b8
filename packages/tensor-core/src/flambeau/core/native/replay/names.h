/* What Flambeau's own modules hold under their names, which its functions look up as they run.
 *
 * Recordings follow the functions of programs, and call Flambeau's own as they are. These read the
 * globals of their modules: somebody may have assigned another function there. All recordings share
 * one list of modules, since there are hundreds of names, which hardly ever change. */
#pragma once
#include "dispatch/python.h"

/* Watch the dict of a module from now on; -1 with an exception. */
int fl_watch_names(PyObject *dict);
/* Another number whenever one of them was found to have changed. */
uint64_t fl_names_generation(void);
/* A number that no other state of any dict has; 0 where Python counts none. */
uint64_t fl_dict_version(const PyObject *dict);
