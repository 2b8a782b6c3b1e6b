/* course.c - writes C files of the texts of course_lines.c: see written.h. */
#include "written.h"
#define PLAIN_EXPORT written_slide
#include "../course_lines.c"
