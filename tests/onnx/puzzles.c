/* puzzles.c - exports the Tensor Puzzles in several sizes, see ../puzzles.c. */
#include "export.h"
#define PLAIN_EXPORT export_node
#include "../puzzles.c"
