/* Which bracket is still open? A row of 12 signs ( ) [ ] and dots; the answer is the kind of
   the innermost open one: none, ( or [. Two layers of attention over signs and places.
   CAUSE rate-too-large
   FAULT Adam's rate is 0.03, ten times what these layers of attention bear
   SYMPTOMS no-progress
   MEASURE test accuracy, healthy 0.968 0.978, faulty 0.456 0.492
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/layers.h"
#include "edf/lab.h"
#include <stdlib.h>

enum { SIGNS = 5, TIME = 12, WIDTH = 24, BATCH = 32, STEPS = 800, TEST = 500 };

static const char *const sign = ".()[]";

/* A row that is properly nested as far as it goes; returns its answer. */
static int row(edf_real *at) {
  int open[TIME], depth = 0;
  for (int t = 0; t < TIME; t++) {
    int what = edf_below(5), c = 0;
    if (what < 2) {
      c = what ? 3 : 1;
      open[depth++] = c;
    } else if (what < 4 && depth > 0) {
      c = open[--depth] + 1;
    }
    at[t] = (edf_real)c;
  }
  return depth == 0 ? 0 : sign[open[depth - 1]] == '(' ? 1 : 2;
}

static CompNode *block(CompNode *x) {
  AffineParams in = edf_affine_params(WIDTH, 2 * WIDTH);
  AffineParams out = edf_affine_params(2 * WIDTH, WIDTH);
  CompNode *a = Attention(edf_attention_params(WIDTH, 2), x);
  CompNode *h = LayerNorm(edf_layer_norm_params(WIDTH), Add(x, a));
  CompNode *f = Affine(out, Relu(Affine(in, h)));
  return LayerNorm(edf_layer_norm_params(WIDTH), Add(h, f));
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  Input *c = edf_input("c[b,12]"), *y = edf_input("y[b]");
  Parameter *E = edf_parameter("E[5,24]"), *place = edf_parameter("place[12,24]");
  edf_init_normal(E, 0, 0.7f);
  edf_init_normal(place, 0, 0.7f);
  CompNode *h = block(block(Add(Embed(E, c), place)));
  CompNode *last = Einsum("l[b,j] = h[b,11,j]", h);
  CompNode *s = Affine(edf_affine_params(WIDTH, 3), last), *loss = SoftmaxLogLoss(s, y);
  edf_doctor(loss);

  static edf_real signs[TEST][TIME], kind[TEST];
#ifdef FAULTY
  const double rate = 0.03;
#else
  const double rate = 0.003;
#endif
  for (int step = 0; step < STEPS; step++) {
    for (int b = 0; b < BATCH; b++) kind[b] = (edf_real)row(signs[b]);
    edf_feed(c, signs[0], BATCH);
    edf_feed(y, kind, BATCH);
    Forward();
    Backward(loss);
    AdamDefault(rate);
  }
  for (int b = 0; b < TEST; b++) kind[b] = (edf_real)row(signs[b]);
  edf_feed(c, signs[0], TEST);
  edf_feed(y, kind, TEST);
  Forward();
  printf("MEASURE %.3f\n", 1 - edf_error_rate(s, y));
  edf_clear();
}
