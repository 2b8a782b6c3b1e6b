/* 15_ctc.c - connectionist temporal classification: which sounds, when nobody says at what time

     cc -g -std=c99 -I. examples/15_ctc.c -o build/15_ctc -lm && build/15_ctc

   Three sounds are heard within 16 times, each one to three times long, with silence between,
   and noise. Given are the three, y[1], y[2], y[3], but not when they came. A recurrent network
   gives for each time t a probability P[t,z] to every sound z, and to none, z = 0. F[n,t] is
   that of all the ways to say the first n sounds in the first t times: at time t none is said,
   or the n-th. These are the slide's two lines. They run step by step over t, as the network
   does, and backprop runs through both. Before training the gradients are checked; after it
   the network says each sound once, at a time of its own choice:

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
#include "edf_slide.h"

enum { T = 16, N = 3, SOUNDS = 4, BANDS = 6 };

static Input *x, *y;
static edf_real sound[SOUNDS + 1][BANDS];        /* sound 0, the silence, is 0 */
static int heard[T + 1];

/* Silence, then sounds and silences of one to three times in turn. Time 0 and y[0] are none. */
static void speak(void) {
  static edf_real frame[T + 1][BANDS], said[N + 1];          /* edf_feed does not copy */
  int left = 1 + edf_below(3), n = 0, now = 0;
  for (int t = 0; t <= T; t++, left--) {
    if (left <= 0) {
      now = now || n == N ? 0 : 1 + edf_below(SOUNDS);
      left = 1 + edf_below(3);
      if (now) said[++n] = now;
    }
    heard[t] = now;
    for (int k = 0; k < BANDS; k++) frame[t][k] = sound[now][k] + edf_normal(0, 0.2);
  }
  edf_feed(x, frame[0], T + 1);
  edf_feed(y, said, N + 1);
}

static void show(const char *what, const int *z) {
  printf("%-5s ", what);
  for (int t = 1; t <= T; t++) putchar(z[t] ? '0' + z[t] : '.');
  putchar('\n');
}

int main(void) {
  double mean = 0;
  for (int z = 1; z <= SOUNDS; z++)
    for (int k = 0; k < BANDS; k++) sound[z][k] = edf_normal(0, 1);
  x = edf_input("x[%d,%d]", T + 1, BANDS);
  y = edf_input("y[%d]", N + 1);
  CompNode *loss = Equations(
    "h[t,j] = tanh(U[j,I] h[t-1,I] + V[j,K] x[t,K] - B[j])      | j<16 \n"
    "P[t,z] = softmax_z (W[z,J] h[t,J] - C[z])                  | z<%d \n"
    "F[0,0] = 1                                                        \n"
    "F[n,t] = P[t,0] F[n,t-1] + P[t,y[n]] F[n-1,t-1]                   \n"
    "loss   = -ln F[%d,%d]", SOUNDS + 1, N, T);
  speak();
  Forward();
  edf_gradcheck(loss);

  for (int step = 1; step <= 4000; step++) {
    speak();
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
    speak();
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
