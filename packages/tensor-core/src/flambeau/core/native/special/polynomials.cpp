#include "special/polynomials.h"

#include "flambeau/special/polynomials.h"
