/* A call of an elementwise kernel as its argument. */
#pragma once
#include <flambeau/abi.h>
#include <string.h>

#include "arguments.h"

#define FL_MAX_ARGUMENTS (FL_MAX_PARAMS + FL_MAX_OUTS)

typedef fl_call<FL_MAX_ARGUMENTS> fl_widest_call;

/* Whether a value can be an argument: a tensor of the device, one of no dimensions on the host, or
 * a number. */
bool fl_is_packable(const fl_value &v);

/* A number, or a tensor of no dimensions on the host, as an argument. */
void fl_pack_number(fl_arg &a, const fl_value &v);

/* Packs `count` values and `nouts` results over the shape of the results; the bytes it takes, or 0
 * where more than FL_DIMS dimensions are left. With `near` nothing but addresses is packed. */
size_t fl_pack(fl_widest_call &call, const fl_value *values, int count, fl_tensor *const *outs,
               int nouts, bool near);
