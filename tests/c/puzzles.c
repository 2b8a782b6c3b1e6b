/* puzzles.c - writes C files of the texts of puzzles.c: see written.h. */
#include "written.h"
#define PLAIN_EXPORT written_slide
#include "../puzzles.c"
