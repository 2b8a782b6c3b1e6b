/* 16_stream.c - truncated backprop through time: a stream that does not end

     cc -g -std=c99 -I. examples/16_stream.c -o build/16_stream -lm && build/16_stream

   A recurrent network reads bits, and says of each time which bit came three times before. It
   learns from pieces of 8 times. Backward ends where a piece begins: there the state is an
   Input, and what is fed to it is a copy of the state at the end of the piece before. So the
   graph is built once. A node of an older graph would not do: edf_clear_compnodes has freed it,
   and says so.

   Without the copy the first three answers of each piece are guesses, of 8: 3/8 of 1/2 are
   wrong. It prints

     loss 0.70 a bit at first, 0.00 after 400 pieces
     the state fed on:                100.0 % of 19200 bits are right
     the state forgotten each time:    81 % are right
*/
#define EDF_REAL double
#define EDF_IMPLEMENTATION
#include "edf_slide.h"
#include "edf_data.h"

enum { T = 8, BATCH = 32, UNITS = 16, DELAY = 3 };

static Input *x[T], *y[T], *before;                          /* before: the state, fed */
static CompNode *score[T], *after, *ell;
static edf_real bit[T + DELAY][BATCH], state[BATCH * UNITS];

/* before -> h[0] -> ... -> h[7] = after, with a loss at each time */
static void build(void) {
  GRUParams cell = edf_gru_params(1, UNITS);
  AffineParams out = edf_affine_params(UNITS, 2);
  RecurrentState s = { NULL, NULL };
  s.h = before = edf_input("before[b,%d]", UNITS);
  for (int t = 0; t < T; t++) {
    x[t] = edf_input("x%d[b,1]", t);
    y[t] = edf_input("y%d[b]", t);
    s = GRU(cell, x[t], s);
    score[t] = Affine(out, s.h);
    CompNode *loss = Mean(SoftmaxLogLoss(score[t], y[t]));
    ell = t ? Add(ell, loss) : loss;
  }
  after = s.h;
}

/* The next eight bits of 32 streams; bit[0 .. 2] are the last of the piece before. */
static void next_piece(void) {
  memmove(bit, bit + T, DELAY * sizeof *bit);
  for (int t = DELAY; t < T + DELAY; t++)
    for (int b = 0; b < BATCH; b++) bit[t][b] = edf_below(2);
  for (int t = 0; t < T; t++) {
    edf_feed(x[t], bit[t + DELAY], BATCH);
    edf_feed(y[t], bit[t], BATCH);
  }
  edf_feed(before, state, BATCH);
}

/* After Backward, since what was fed has to stay until then. */
static void keep_state(int forget) {
  memcpy(state, edf_value(after), sizeof state);
  if (forget) memset(state, 0, sizeof state);
}

static double right(int forget) {
  double sum = 0;
  for (int piece = 0; piece < 75; piece++) {
    next_piece();
    Forward();
    for (int t = 0; t < T; t++) sum += 1 - edf_error_rate(score[t], y[t]);
    keep_state(forget);
  }
  return 100 * sum / (75 * T);
}

int main(void) {
  double first = 0;
  edf_seed(1);
  build();
  for (int piece = 0; piece < 400; piece++) {
    next_piece();
    Forward();
    Backward(ell);
    Adam(0.02, 0.9, 0.999, 1e-8);
    keep_state(0);
    if (piece == 0) first = *ell->value;
  }
  printf("loss %.2f a bit at first, %.2f after 400 pieces\n", first / T, *ell->value / T);
  printf("the state fed on:                %.1f %% of %d bits are right\n", right(0),
         75 * T * BATCH);
  printf("the state forgotten each time:    %.0f %% are right\n", right(1));
  edf_clear();
  return 0;
}
