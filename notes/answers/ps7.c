/* A solution of problem set 7; @EVERY@ and @SHIFT@ are the choices of an id. */
#include "ps7.h"

enum { EVERY = @EVERY@, SHIFT = @SHIFT@, BATCH = 50, KEPT = 200 };

/* How many percent of `rows` rows of P[b,10] have another greatest entry than y says */
static int best(const edf_node *P, int b) {
  int k = 0;
  for (int j = 1; j < 10; j++) if (P->value[10 * b + j] > P->value[10 * b + k]) k = j;
  return k;
}
static double percent_wrong(const edf_node *P, const edf_real *y, int rows) {
  int wrong = 0;
  for (int b = 0; b < rows; b++) wrong += best(P, b) != y[b];
  return 100.0 * wrong / rows;
}

static void feed_images(const edf_real *x, int rows) { edf_feed(edf_find("x"), x, rows); }

/* The last KEPT rows are not trained on: they are for the curve. */
void learn_images(const edf_real *x, const edf_real *y, int n, const edf_real *x_test, int m,
                  int *answer) {
  edf_input("x[b,28,28]");
  edf_node *label = edf_input("y[b]"), *P;
  edf_node *loss = edf_equations(
      "u[b,i,j,c] = K1[c,D,E] x[b,i+D,j+E] - B1[c] | c<8, D<5, E<5 \n"
      "h[b,i,j,c] = relu(max_{d,e} u[b,2*i+d,2*j+e,c]) | d<2, e<2 \n"
      "v[b,i,j,o] = K2[o,D,E,C] h[b,i+D,j+E,C] - B2[o] | o<16, D<5, E<5 \n"
      "g[b,i,j,o] = relu(max_{d,e} v[b,2*i+d,2*j+e,o]) | d<2, e<2 \n"
      "P[b,k] = softmax_k (W[k,X,Y,N] g[b,X,Y,N] - B3[k]) | k<10 \n"
      "l[b] = -ln P[b,y[b]]");
  int trained = n - KEPT, steps = 6 * trained / BATCH;
  double sum = 0;
  P = edf_find("P");
  for (int step = 1; step <= steps; step++) {
    int at = (step - 1) * BATCH % trained;
    feed_images(x + 784 * at, BATCH);
    edf_feed(label, y + at, BATCH);
    edf_forward();
    sum += edf_mean_value(loss);
    edf_backward(loss);
    edf_adam_default((edf_real)(0.003 * (1 - (step - 1.0) / steps)));
    if (step % EVERY) continue;
    feed_images(x + 784 * trained, KEPT);
    edf_forward_to(P);
    curve_point(step, sum / EVERY, percent_wrong(P, y + trained, KEPT));
    sum = 0;
  }
  feed_images(x_test, m);
  edf_forward_to(P);
  for (int b = 0; b < m; b++) answer[b] = best(P, b);
}

static void feed_lookups(lookups d, int at, int rows) {
  edf_feed(edf_find("k"), d.k + PAIRS * at, rows);
  edf_feed(edf_find("v"), d.v + PAIRS * at, rows);
  edf_feed(edf_find("q"), d.q + at, rows);
}
/* The weight of pair t is high where the key of pair t - SHIFT is the one that is asked for. */
void learn_lookup(lookups train, int n, lookups test, int m, int *answer) {
  edf_node *P, *label;
  edf_input("k[b,%d]", PAIRS), edf_input("v[b,%d]", PAIRS), edf_input("q[b]");
  label = edf_input("y[b]");
  edf_node *loss = edf_equations(
      "f[b,t,i] = F[k[b,t],i] | k<%d, i<16 \n"
      "a[b,t] = softmax_t (E[q[b],I] f[b,t%s,I]) | q<%d, t<%d \n"
      "o[b,i] = a[b,S] D[v[b,S],i] | v<10, i<16 \n"
      "P[b,j] = softmax_j (U[j,I] o[b,I]) | j<10 \n"
      "l[b] = -ln P[b,y[b]]", KEYS, SHIFT < 0 ? "+1" : SHIFT > 0 ? "-1" : "", KEYS, PAIRS);
  int trained = n - KEPT, steps = 15 * trained / BATCH;
  double sum = 0;
  P = edf_find("P");
  for (int step = 1; step <= steps; step++) {
    int at = (step - 1) * BATCH % trained;
    feed_lookups(train, at, BATCH);
    edf_feed(label, train.y + at, BATCH);
    edf_forward();
    sum += edf_mean_value(loss);
    edf_backward(loss);
    edf_adam_default(0.01f);
    if (step % EVERY) continue;
    feed_lookups(train, trained, KEPT);
    edf_forward_to(P);
    curve_point(step, sum / EVERY, percent_wrong(P, train.y + trained, KEPT));
    sum = 0;
  }
  feed_lookups(test, 0, m);
  edf_forward_to(P);
  for (int b = 0; b < m; b++) answer[b] = best(P, b);
}

static edf_real x[5000 * 784], y[5000];
static edf_real k[3000 * PAIRS], v[3000 * PAIRS], q[3000], a[3000];
static int answer[1000];

int main(void) {
  lookups train = { k, v, q, a };
  lookups test = { k + 2000 * PAIRS, v + 2000 * PAIRS, q + 2000, NULL };
  digits_make(1, 5000, x, y);
  learn_images(x, y, 4000, x + 4000 * 784, 1000, answer);
  curve_write("images.csv");
  edf_clear();
  lookups_make(1, 3000, SHIFT, train);
  learn_lookup(train, 2000, test, 1000, answer);
  curve_write("lookup.csv");
}
