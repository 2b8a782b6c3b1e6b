void my_panic(const char *);
#define EDF_PANIC(m) my_panic(m)
#define EDF_IMPLEMENTATION
#include "/tmp/m14/edf.h"
#include "/tmp/m14/edf_lab.h"
