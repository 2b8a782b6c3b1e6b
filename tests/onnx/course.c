/* course.c - exports what each equation of the course computes, see ../course_lines.c. */
#include "export.h"
#define PLAIN_EXPORT export_node
#include "../course_lines.c"
