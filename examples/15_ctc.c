/* 15_ctc.c - connectionist temporal classification: learning sounds without their times

     cc -g -std=c99 -I. examples/15_ctc.c -o build/15_ctc -lm && build/15_ctc

   A noisy recording of 16 time steps has three sounds, with silence between. A sound lasts one
   to three steps. The labels y[1], y[2], y[3] are the sounds, but their times are not known. A
   recurrent network gives a probability P[t,z] to every sound z at time t. z = 0 means that the
   network says nothing.

   F[n,t] is the probability that the network has said exactly the first n sounds by time t. At
   time t the network says nothing or sound n. The slide has two lines for F. Like the network,
   these lines run step by step over t. Backward goes through the lines and the network. Before
   training the program checks the gradients. After training the network says each sound once,
   at a time that it chooses:

     gradcheck of loss, ...
       ok    d loss / d U: worst relative error ...
       ok    d loss / d V: worst relative error ...
       ok    d loss / d B: worst relative error ...
       ok    d loss / d W: worst relative error ...
       ok    d loss / d C: worst relative error ...
     step  400  loss 4.742
     step  800  loss 1.356
     step 1200  loss 0.218
     ...
     step 4000  loss 0.039

     heard ..44...33.333...
     says  ....4..3..3.....

     heard 444..111...33...
     says  ...4.1.....3....
     ...
*/
#define EDF_REAL double
#define EDF_IMPLEMENTATION
#include "edf/slide.h"

enum { T = 16, N = 3, SOUNDS = 4, BANDS = 6 };

static Input *x, *y;
static edf_real spectrum[SOUNDS + 1][BANDS];     /* of sound z; z = 0 is silence, all 0 */
static int heard[T + 1];

/* Feeds a new recording. Silence and sounds alternate, each for one to three time steps. The
   answer at time 0 and y[0] are not used. */
static void feed_recording(void) {
  static edf_real frame[T + 1][BANDS], said[N + 1];    /* static, as edf_feed does not copy */
  int left = 1 + edf_below(3), n = 0, z = 0;
  for (int t = 0; t <= T; t++, left--) {
    if (left == 0) {
      z = z || n == N ? 0 : 1 + edf_below(SOUNDS);
      left = 1 + edf_below(3);
      if (z) said[++n] = z;
    }
    heard[t] = z;
    for (int k = 0; k < BANDS; k++) frame[t][k] = spectrum[z][k] + edf_normal(0, 0.2);
  }
  edf_feed(x, frame[0], T + 1);
  edf_feed(y, said, N + 1);
}

static void show(const char *title, const int *z) {
  printf("%-5s ", title);
  for (int t = 1; t <= T; t++) putchar(z[t] ? '0' + z[t] : '.');
  putchar('\n');
}

int main(void) {
  double mean = 0;
  for (int z = 1; z <= SOUNDS; z++)
    for (int k = 0; k < BANDS; k++) spectrum[z][k] = edf_normal(0, 1);
  x = edf_input("x[%d,%d]", T + 1, BANDS);
  y = edf_input("y[%d]", N + 1);
  CompNode *loss = Equations(
    "h[t,j] = tanh(U[j,I] h[t-1,I] + V[j,K] x[t,K] - B[j])      | j<16 \n"
    "P[t,z] = softmax_z (W[z,J] h[t,J] - C[z])                  | z<%d \n"
    "F[0,0] = 1                                                        \n"
    "F[n,t] = P[t,0] F[n,t-1] + P[t,y[n]] F[n-1,t-1]                   \n"
    "loss   = -ln F[%d,%d]", SOUNDS + 1, N, T);
  feed_recording();
  Forward();
  edf_gradcheck(loss);

  for (int step = 1; step <= 4000; step++) {
    feed_recording();
    Forward();
    Backward(loss);
    Adam(0.003, 0.9, 0.99, 1e-8);
    mean += *edf_value(loss) / 400;
    if (step % 400) continue;
    printf("step %4d  loss %.3f\n", step, mean);
    mean = 0;
  }

  for (int example = 0; example < 4; example++) {
    int says[T + 1];
    feed_recording();
    Forward();
    for (int t = 1; t <= T; t++) {
      const edf_real *p = edf_value(edf_find("P")) + t * (SOUNDS + 1);
      says[t] = 0;
      for (int z = 1; z <= SOUNDS; z++) if (p[z] > p[says[t]]) says[t] = z;
    }
    putchar('\n');
    show("heard", heard);
    show("says", says);
  }
  edf_clear();
  return 0;
}
