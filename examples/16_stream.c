/* 16_stream.c - truncated backprop through time: a stream that does not end

     cc -g -std=c99 -I. examples/16_stream.c -o build/16_stream -lm && build/16_stream

   A recurrent network reads a stream of bits. At each time it says which bit came three times
   earlier. The network learns from pieces of 8 bits. The state before a piece is an Input, so
   Backward ends at the beginning of the piece. The program feeds this Input a copy of the last
   state of the previous piece. So the graph is built once.

   Without the copy, the first 3 of 8 answers are guesses. Half of the guesses are wrong, which
   is 3/16 of the answers. The program prints:

     loss 0.70 a bit at first, 0.00 after 400 pieces
     state copied from piece to piece: 100.0 % of 19200 bits are right
     state forgotten after each piece: 81 % are right
*/
#define EDF_REAL double
#define EDF_IMPLEMENTATION
#include "edf/slide.h"
#include "edf/layers.h"
#include "edf/data.h"

enum { T = 8, BATCH = 32, UNITS = 16, DELAY = 3 };

static Input *x[T], *y[T], *state_in;
static CompNode *score[T], *state_out, *ell;
static edf_real bit[T + DELAY][BATCH], state[BATCH * UNITS];

/* Builds state_in -> h[0] -> ... -> h[7] = state_out, with a loss at each time. */
static void build(void) {
  GRUParams cell = edf_gru_params(1, UNITS);
  AffineParams out = edf_affine_params(UNITS, 2);
  state_in = edf_input("state_in[b,%d]", UNITS);
  RecurrentState s = { state_in, NULL };
  for (int t = 0; t < T; t++) {
    x[t] = edf_input("x%d[b,1]", t);
    y[t] = edf_input("y%d[b]", t);
    s = GRU(cell, x[t], s);
    score[t] = Affine(out, s.h);
    CompNode *loss = Mean(SoftmaxLogLoss(score[t], y[t]));
    ell = t ? Add(ell, loss) : loss;
  }
  state_out = s.h;
}

/* Feeds the next 8 bits of 32 streams. bit[0 .. 2] are the last bits of the previous piece. */
static void feed_piece(void) {
  memmove(bit, bit + T, DELAY * sizeof *bit);
  for (int t = DELAY; t < T + DELAY; t++)
    for (int b = 0; b < BATCH; b++) bit[t][b] = edf_below(2);
  for (int t = 0; t < T; t++) {
    edf_feed(x[t], bit[t + DELAY], BATCH);
    edf_feed(y[t], bit[t], BATCH);
  }
  edf_feed(state_in, state, BATCH);
}

/* Copies the last state for the next piece, after Backward has read the old state. */
static void copy_state(void) { memcpy(state, edf_value(state_out), sizeof state); }

/* Returns the percentage of right answers in 75 pieces. */
static double percent_right(int forget) {
  double sum = 0;
  for (int piece = 0; piece < 75; piece++) {
    feed_piece();
    Forward();
    for (int t = 0; t < T; t++) sum += 1 - edf_error_rate(score[t], y[t]);
    if (forget) memset(state, 0, sizeof state);
    else copy_state();
  }
  return 100 * sum / (75 * T);
}

int main(void) {
  double first = 0;
  edf_seed(1);
  build();
  for (int piece = 0; piece < 400; piece++) {
    feed_piece();
    Forward();
    Backward(ell);
    Adam(0.02, 0.9, 0.999, 1e-8);
    copy_state();
    if (piece == 0) first = *ell->value;
  }
  printf("loss %.2f a bit at first, %.2f after 400 pieces\n", first / T, *ell->value / T);
  printf("state copied from piece to piece: %.1f %% of %d bits are right\n", percent_right(0),
         75 * T * BATCH);
  printf("state forgotten after each piece: %.0f %% are right\n", percent_right(1));
  edf_clear();
  return 0;
}
