/* Regions of images whose points are as many as values say. */
#pragma once
#include "standalone/objects.h"

struct RegionBins {
    double scale;               /* from the coordinates of regions to those of pixels */
    int64_t down, across;
    int64_t points;             /* of a bin in each direction; not above 0: one a pixel */
    bool has_centres;           /* of pixels, half a pixel from their corners */
};

/* Each bin the mean of interpolated points in it, as `roi_align` in Python. Throws. */
Ref means_of_regions(const fl_tensor *images, const fl_tensor *regions, const RegionBins &bins);
