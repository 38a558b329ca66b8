#include "special/gamma.h"

#include "flambeau/special/zeta.h"
