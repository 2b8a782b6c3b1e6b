/* Prices of flats, told in euros: hundreds of thousands. Unusual: neither target nor output is
   standardised by hand; the model ends with 30000 + 400000 * softplus(network), and the loss
   is of ln(price), so that raw large numbers are in the graph and yet nothing is badly scaled.
   CAUSE healthy
   FAULT none
   SYMPTOMS none
   MEASURE 1-R2 of the price of fresh flats, healthy 0.027 0.030
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/lab.h"
#include <math.h>
#include <stdlib.h>

enum { N = 2000, TEST = 600, BATCH = 50 };

static edf_real flat[N + TEST][4], euros[N + TEST];

static void draw_flats(void) {
  for (int n = 0; n < N + TEST; n++) {
    double size = edf_uniform(30, 150), floor = edf_below(6), age = edf_uniform(0, 100);
    int centre = edf_below(2);
    double price = 60000 + 2500 * size * (1 + 0.5 * centre) * (1 - 0.4 * sin(age / 32))
                 + 8000 * floor;
    euros[n] = (edf_real)(price * exp(edf_normal(0, 0.05f)));
    flat[n][0] = (edf_real)((size - 90) / 35);
    flat[n][1] = (edf_real)((floor - 2.5) / 1.7);
    flat[n][2] = (edf_real)((age - 50) / 29);
    flat[n][3] = (edf_real)(2 * centre - 1);
  }
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  draw_flats();
  edf_input("x[b,4]");
  edf_input("euros[b]");
  Parameter *typical = edf_parameter("typical");
  typical->value[0] = 300000;
  typical->update = edf_frozen;
  CompNode *loss = Equations("h[b,j] = tanh(W[j,I] x[b,I] - B[j])        | j<40 \n"
                             "r[b] = v[J] h[b,J] - c[0] \n"
                             "f[b] = softplus(r[b]) \n"
                             "price[b] = 0.1 typical + 400000 f[b] \n"
                             "e[b] = ln price[b] - ln euros[b] \n"
                             "loss[b] = e[b] e[b]");
  edf_doctor(loss);
  for (int step = 0; step < 1200; step++) {
    int at = step * BATCH % N;
    edf_feed(edf_find("x"), flat[at], BATCH);
    edf_feed(edf_find("euros"), euros + at, BATCH);
    Forward();
    Backward(loss);
    AdamDefault(step < 900 ? 0.005 : 0.001);
  }
  edf_feed(edf_find("x"), flat[N], TEST);
  edf_feed(edf_find("euros"), euros + N, TEST);
  Forward();
  double mean = 0, variance = 0, error = 0;
  for (int n = N; n < N + TEST; n++) mean += euros[n] / TEST;
  for (int n = 0; n < TEST; n++) {
    variance += pow(euros[N + n] - mean, 2);
    error += pow(euros[N + n] - edf_value(edf_find("price"))[n], 2);
  }
  printf("MEASURE %.3f\n", error / variance);
  edf_clear();
}
