/* panels.c where EDF_DEBUG watches.

   Built as: float own slow */
#define EDF_DEBUG
#define EDF_IMPLEMENTATION
#include "panels.c"
