/* Python names of the operators, written by the generator. */
#pragma once
#include <stdint.h>

struct fl_export {
    const char *name;
    uint8_t forms;              /* 1 function, 2 method, 4 nn.functional, 8 name_ is a method */
    uint8_t inplace;            /* there is also name_ */
    uint8_t count;
    uint16_t ops[5];            /* overloads, tried in this order */
    const char *outputs;        /* "values,indices", or "" for one output */
};
extern "C" const fl_export fl_exports[];
extern "C" const int fl_export_count;
