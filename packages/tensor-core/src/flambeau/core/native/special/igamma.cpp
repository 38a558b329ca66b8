#include "special/gamma.h"

#include "flambeau/special/igamma.h"
