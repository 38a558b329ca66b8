/* Calls of kernels of our own: which are launched, over what, with what memory. */
#pragma once
#include <Python.h>
#include <flambeau/abi.h>

#include "arguments.h"
#include "packet.h"

#define FL_MOST_STEPS 6
#define FL_PROGRAM_FIELDS 10

enum fl_family {
    FL_STEPS = 0,
    FL_REDUCING = 1,
    FL_SORTING = 2,
    FL_JOINING = 3,
    FL_SPREADING = 4,       /* rows, of which few long ones have several blocks */
    FL_SCANNING = 5,
};

/* Which dimensions make a row. */
enum fl_span {
    FL_SPAN_NONE = 0,       /* views stay as they are */
    FL_SPAN_DIM = 1,        /* the one of a parameter; all where it is not given */
    FL_SPAN_DIMS = 2,       /* those of a parameter; all where it is not given */
    FL_SPAN_LAST = 3,       /* as many of the last as a parameter says */
    FL_SPAN_ALL = 4,
    FL_SPAN_CHANNELS = 5,   /* all but the second one */
    FL_SPAN_CLASSES = 6,    /* the second one, or the only one */
};

/* How many threads a step has. */
enum fl_policy {
    FL_PER_ELEMENT = 0,     /* a thread for each element of a view */
    FL_PER_ROW = 1,         /* `few` with a warp for each short row, `many` with a block */
    FL_PER_THREAD_ROW = 2,  /* a thread for each row */
    FL_PER_PLANE = 3,       /* a block for each element of a view */
    FL_PER_COLUMNS = 4,     /* a block for 32 neighbouring elements of a view */
    FL_ONCE = 5,            /* one block */
    FL_IN_PARTS = 6,        /* a block for each part of a view; `many` joins what several found */
};

/* What the results hold before the first step. */
enum fl_beginning { FL_BEGIN_EMPTY = 0, FL_BEGIN_FIRST = 1, FL_BEGIN_ZERO = 2 };

#define FL_OWN_SCRATCH 2        /* a program's own; families use those before */
#define FL_OF_THE_CALL 255      /* instead of a view */

struct Step {
    void *few = nullptr, *many = nullptr;
    uint8_t policy = 0, view = 0;
    uint16_t block = 256;
};

struct Program {
    uint8_t family = FL_STEPS, span = FL_SPAN_NONE, span_parameter = 0, beginning = FL_BEGIN_EMPTY;
    uint8_t width = 0, count = 0;           /* views of the kernels' packet; steps */
    uint8_t scratch_view = 0;
    uint16_t aside = 0;                     /* views that have no rows, by bit */
    uint32_t scratch_each = 0;              /* bytes for each element of that view, or in all */
    Step steps[FL_MOST_STEPS];
};

struct Device;
struct Plan;

/* From the tuple that `plan` of a backend gives (kernels/program.py); -1 with an exception. */
int fl_read_program(PyObject *made, Program &program, PyObject **name);

/* Runs a program for a call: 0, -1 with an exception, or 1 where the call is Python's. */
int fl_run_program(Device &d, const Plan &plan, const fl_op *op, const fl_value *in, int n,
                   fl_tensor *const *outs);
