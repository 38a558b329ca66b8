#include "special/implicit.h"

#include "flambeau/special/implicit.h"
