/* Operators of programs alone whose results have as many elements as values say. These throw. */
#pragma once
#include "standalone/objects.h"

/* The integers below a number, none if it is negative. */
Ref numbers_below(const fl_tensor *number);
/* The boxes that overlap none of a higher score, as `nms` in Python. */
Ref best_boxes(const fl_tensor *boxes, const fl_tensor *scores, double threshold);
