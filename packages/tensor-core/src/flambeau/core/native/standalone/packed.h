/* The table of operators without a pointer in it: the generator writes it, one loop reads it. */
#pragma once
#include "dispatch/objects.h"
#include "dispatch/pointwise.h"

struct PackedParam {
    uint16_t name;              /* where it begins among the names of parameters */
    uint8_t role, flags;
    uint16_t fallback;          /* its number among the defaults */
};

struct PackedOp {
    uint8_t category, dtype_rule, nparams, nouts;
    uint8_t positional, required;
    uint16_t params;            /* where its list begins */
    uint32_t flags;
};

/* Of one pointwise operator: numbers that have kernels of their own. */
struct PackedLiterals {
    int pointwise;
    uint8_t param, count;
    const fl_pw_literal *values;
};

struct PackedTable {
    const char *op_names;               /* name, overload, name, overload, ... */
    const char *param_names;
    const fl_value *defaults;
    const PackedParam *params;
    int param_count;
    const PackedOp *ops;
    const uint8_t *pointwise;           /* of each pointwise operator what is in an fl_pointwise */
    const uint8_t *options;             /* of each reduction */
    const PackedLiterals *literals;
    fl_param *all_params;               /* what is filled, beside fl_builtin_ops */
    fl_pointwise *all_pointwise;
    int *all_options;
};

/* Fill the table but for functions that are not the same for all operators of a category. */
void unpack_operators(const PackedTable &table);
