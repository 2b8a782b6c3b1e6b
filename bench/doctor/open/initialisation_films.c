/* Recommending films: ratings as products of hidden tastes of viewers and films, rank 4.
   Viewers and films are looked up in two tables that are learned by Adam.
   CAUSE equal-weights
   FAULT both tables begin with the same constant everywhere, so that all columns stay alike
   SYMPTOMS none
   MEASURE 1-R2 on unseen ratings, healthy 0.012 0.013, faulty 0.900 0.664
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/lab.h"
#include <math.h>
#include <stdlib.h>

enum { VIEWERS = 60, FILMS = 50, RANK = 4, N = 2000, TEST = 500, BATCH = 100 };

static edf_real viewer[N + TEST], film[N + TEST], rating[N + TEST];
static edf_real taste[VIEWERS][RANK], genre[FILMS][RANK];

static void draw_ratings(void) {
  for (int v = 0; v < VIEWERS; v++)
    for (int r = 0; r < RANK; r++) taste[v][r] = edf_normal(0, 1);
  for (int f = 0; f < FILMS; f++)
    for (int r = 0; r < RANK; r++) genre[f][r] = edf_normal(0, 1);
  for (int n = 0; n < N + TEST; n++) {
    int v = edf_below(VIEWERS), f = edf_below(FILMS);
    double sum = 3;
    for (int r = 0; r < RANK; r++) sum += 0.5 * taste[v][r] * genre[f][r];
    viewer[n] = (edf_real)v;
    film[n] = (edf_real)f;
    rating[n] = (edf_real)sum + edf_normal(0, 0.1f);
  }
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  draw_ratings();
  Input *v = edf_input("v[b]"), *f = edf_input("f[b]"), *y = edf_input("y[b]");
  Parameter *U = edf_parameter("U[%d,%d]", VIEWERS, RANK);
  Parameter *V = edf_parameter("V[%d,%d]", FILMS, RANK);
  Parameter *c = edf_parameter("c");
  double start = sqrt(1.0 / RANK);
#ifdef FAULTY
  for (size_t i = 0; i < U->size; i++) U->value[i] = (edf_real)start;
  for (size_t i = 0; i < V->size; i++) V->value[i] = (edf_real)start;
#else
  edf_init_normal(U, 0, (edf_real)start);
  edf_init_normal(V, 0, (edf_real)start);
#endif
  c->value[0] = 3;
  CompNode *u = Embed(U, v), *w = Embed(V, f);
  CompNode *p = Einsum("p[b] = u[b,R] w[b,R] + c", u, w, c);
  CompNode *loss = MSE(p, y);
  edf_doctor(loss);
  for (int step = 0; step < 1500; step++) {
    int at = step * BATCH % N;
    edf_feed(v, viewer + at, BATCH);
    edf_feed(f, film + at, BATCH);
    edf_feed(y, rating + at, BATCH);
    Forward();
    Backward(loss);
    AdamDefault(0.01);
  }
  edf_feed(v, viewer + N, TEST);
  edf_feed(f, film + N, TEST);
  edf_feed(y, rating + N, TEST);
  Forward();
  double mean = 0, variance = 0;
  for (int n = N; n < N + TEST; n++) mean += rating[n] / TEST;
  for (int n = N; n < N + TEST; n++)
    variance += (rating[n] - mean) * (rating[n] - mean) / TEST;
  printf("MEASURE %.3f\n", (double)edf_value(loss)[0] / variance);
  edf_clear();
}
