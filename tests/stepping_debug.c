/* stepping_debug.c - with EDF_DEBUG, what a forward forgets is NaN, and the first NaN is told
   without a call. It contains the implementation. */

#include "harness.h"
#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wshadow"        /* the harness has a global `path` */
#endif
#define EDF_DEBUG
#define EDF_IMPLEMENTATION
#include "edf/slide.h"

static int begins_with;                  /* the first entry that a forward writes           */
static void copies_all_but_one(CompNode *y) {
  for (size_t i = (size_t)begins_with; i < y->size; i++) y->value[i] = y->in[0]->value[i];
}

static void adds_nothing(CompNode *y) { (void)y; }

TEST(a_forgotten_value_is_nan) {
  Parameter *p = edf_parameter("p[3]");
  CompNode *y = edf_name(edf_compnode("Forgets", copies_all_but_one, adds_nothing, p), "y");
  CompNode *z = Square(y);
  CAPTURE(Forward());
  CHECK(!*captured && y->value[0] == 0, "y[0] is written: %g", (double)y->value[0]);
  begins_with = 1;
  CAPTURE(Forward(); Forward());
  CHECK(y->value[0] != y->value[0] && y->value[1] == 0, "y[0] is %g", (double)y->value[0]);
  WORDS(captured, "y[0] = nan is the first|Forgets");
  CAPTURE(Backward(z));
  CHECK(p->grad[0] == 0, "a gradient that nobody writes is %g", (double)p->grad[0]);
}

/* A mask is not reported, and a NaN after it is. */
TEST(a_mask_is_not_reported) {
  static edf_real numbers[] = { 1, 2 }, mask[] = { 0, -(edf_real)INFINITY };
  Input *x = edf_input("x[2]"), *M = edf_input("M[2]");
  Parameter *w = edf_parameter("w[2]");
  CompNode *r = edf_name(Sqrt(edf_einsum("d[i] = x[i] - w[i]", x, w)), "r");
  CompNode *loss = Sum(Mul(Softmax(edf_einsum("s[i] = x[i] + M[i]", x, M)), r));
  edf_feed(x, numbers, 1);
  edf_feed(M, mask, 1);
  CAPTURE(Forward(); Backward(loss); Forward());
  CHECK(!*captured, "%s", captured);
  w->value[1] = 3;
  CAPTURE(Forward());
  WORDS(captured, "r[1]|nan is the first NaN|Sqrt");
  CAPTURE(Forward());
  CHECK(!*captured, "again: %s", captured);
}

/* Before Forward a value is NaN. The first NaN of each graph is told once. */
TEST(values_are_nan_before_forward) {
  for (int k = 0; k < 2; k++) {
    Input *x = edf_input("x[b,2]");
    Parameter *p = edf_parameter("p[2]");
    CompNode *y = Sqrt(Sub(p, x)), *of_p = Square(p);
    CHECK(y->value[0] != y->value[0] && y->value[1023] != y->value[1023], "of any batch");
    CHECK(of_p->value[0] != of_p->value[0] && of_p->value[1] != of_p->value[1], "of a shape");
    static edf_real numbers[] = { 1, 2 };
    edf_feed(x, numbers, 1);
    CAPTURE(Forward());
    WORDS(captured, "is the first NaN|Sqrt");
    edf_clear();
  }
}

int main(void) { return harness_main(); }
