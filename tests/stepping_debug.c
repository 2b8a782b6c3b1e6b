/* stepping_debug.c - with EDF_DEBUG, what a forward forgets is NaN, and the first NaN is told
   once without a call.

   Built with: own implementation */

#include "harness.h"
#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wshadow"        /* the harness has a global `path` */
#endif
#define EDF_DEBUG
#define EDF_IMPLEMENTATION
#include "edf.h"

static void copies_all_but_one(CompNode *y) {
  for (size_t i = 1; i < y->size; i++) y->value[i] = y->in[0]->value[i];
}

static void copies(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = y->in[0]->value[i];
}

static void adds_nothing(CompNode *y) { (void)y; }

static void spoils(CompNode *y) { y->in[0]->grad[1] = (edf_real)INFINITY; }

static int times(const char *what) {
  int n = 0;
  for (const char *at = captured; (at = strstr(at, what)) != NULL; at++) n++;
  return n;
}

static void a_forgotten_value_is_nan(void) {
  Parameter *p = edf_parameter("p[3]");
  CompNode *y = edf_name(edf_compnode("Forgets", copies_all_but_one, adds_nothing, p), "y");
  CompNode *z = Square(y);
  capture_begin();
  Forward();
  Forward();
  capture_end();
  CHECK(y->value[0] != y->value[0] && y->value[1] == 0, "y[0] is %g", (double)y->value[0]);
  CHECK(times("y[0] = nan is the first") == 1, "%s", captured);
  WORDS(captured, "Forgets");
  capture_begin();
  Backward(z);
  capture_end();
  CHECK(p->grad[0] == 0, "a gradient that nobody writes is %g", (double)p->grad[0]);
  edf_clear();
}

static void the_first_infinite_gradient_is_told_once(void) {
  Parameter *p = edf_parameter("p[3]");
  p->value[0] = p->value[1] = p->value[2] = 1;
  CompNode *q = edf_name(Square(p), "q");
  CompNode *l = Sum(edf_name(edf_compnode("Spoils", copies, spoils, q), "y"));
  capture_begin();
  Forward();
  CHECK(!times("is the first"), "there is none");
  Backward(l);
  Backward(l);
  capture_end();
  CHECK(times("q.grad[1] = inf is the first") == 1, "%s", captured);
  WORDS(captured, "backward of y|Spoils");
  edf_clear();
}

int main(void) {
  RUN(a_forgotten_value_is_nan);
  RUN(the_first_infinite_gradient_is_told_once);
  return harness_report();
}
