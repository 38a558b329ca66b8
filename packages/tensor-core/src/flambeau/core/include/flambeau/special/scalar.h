/* What special functions are written with: C++ on the host, CUDA C++ on a device.
 *
 * Their definitions are headers because NVRTC compiles the same text, put together by
 * flambeau.cuda, which defines these names before it. On the host one source file includes each. */
#pragma once
#ifndef FL_DEVICE
#include <math.h>
#include <stdint.h>
#include <string.h>
#define FL_DEVICE
#define FL_NAN __builtin_nan("")
#define FL_INF __builtin_inf()
#endif
