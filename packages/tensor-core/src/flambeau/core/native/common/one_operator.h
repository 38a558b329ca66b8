/* Composites that devices run as one operator. */
#pragma once
#include "common/compose.h"
#include "overrides/subclass.h"

/* Whether a call is one operator: on a device, and nobody wants its parts. Compiled calls fuse these,
 * watchers and classes have rules for them. */
static inline bool fl_is_one_operator(const fl_value *in, int n, const fl_value *out) {
    const fl_thread_state &T = fl_thread;
    if (in[0].t->device_type < FL_FIRST_BACKEND || !fl_is_float(in[0].t->dtype) ||
        !in[0].t->numel || out[0].tag == FL_TENSOR || T.queue || T.level < T.watchers)
        return false;
    for (int i = 0; i < n; i++)
        if (fl_t(in[i]) && (in[i].t->flags >> FL_LEVEL_SHIFT || fl_is_shown_below(in[i].t)))
            return false;
    return true;
}
