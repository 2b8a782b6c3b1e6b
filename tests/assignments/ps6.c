/* A solution of problem set 6; the codes are those of an id. */
#include "ps6.h"
#include <math.h>

enum { HIDDEN = 32, EPOCHS = 150, BATCH = 20 };

/* What diagnosis writes for the programs 1 to 5: a code of the handout's table each. */
void diagnosis(int code[5]) {
  code[0] = @backward@;
  code[1] = @rows@;
  code[2] = @softmax@;
  code[3] = @labels@;
  code[4] = @units@;
}

/* y = x sig(x) */
static void swish_forward(edf_node *y) {
  const edf_real *x = y->in[0]->value;
  for (size_t i = 0; i < y->size; i++) y->value[i] = x[i] / (1 + exp(-x[i]));
}
static void swish_backward(edf_node *y) {
  const edf_real *x = y->in[0]->value;
  for (size_t i = 0; i < y->size; i++) {
    double s = 1 / (1 + exp(-x[i]));
    edf_addgrad(y->in[0], i, (edf_real)(y->grad[i] * (s + x[i] * s * (1 - s))));
  }
}
edf_node *swish(edf_node *x) {
  return edf_compnode("Swish", swish_forward, swish_backward, x);
}

/* The class of each point, one after the other: the greatest of its three probabilities. */
static void name_classes(edf_node *x, const edf_real *x_test, int m, int *answer) {
  edf_node *P = edf_find("P");
  for (int i = 0; i < m; i++) {
    edf_feed(x, x_test + 2 * i, 1);
    edf_forward_to(P);
    answer[i] = 0;
    for (int k = 1; k < 3; k++) if (P->value[k] > P->value[answer[i]]) answer[i] = k;
  }
}

static edf_node *network(const char *output) {
  edf_node *h = swish(edf_equations("s[b,j] = W0[j,I] x[b,I] - B0[j] | j<%d", HIDDEN));
  edf_name(h, "h");
  return edf_equations("z[b,k] = W1[k,J] h[b,J] - B1[k] | k<3 \n%s\nloss[b] = -ln P[b,y[b]]",
                       output);
}

/* ---- 1 */
void train_1(const edf_real *x, const edf_real *y, int n, const edf_real *x_test, int m,
             int *answer) {
  edf_node *in = edf_input("x[b,2]"), *label = edf_input("y[b]");
  edf_node *loss = network("P[b,k] = softmax_k z[b,k]");
  for (int i = 0; i < EPOCHS * n; i += BATCH) {
    edf_feed(in, x + 2 * (i % n), BATCH);
    edf_feed(label, y + i % n, BATCH);
    edf_forward();
    edf_backward(loss);
    edf_adam_default(0.01);
  }
  name_classes(in, x_test, m, answer);
}

/* ---- 2 */
void train_2(const edf_real *x, const edf_real *y, int n, const edf_real *x_test, int m,
             int *answer) {
  edf_node *in = edf_input("x[b,2]"), *label = edf_input("y[b]");
  edf_node *loss = edf_equations("h[b,j] = tanh(W0[j,I] x[b,I] - B0[j]) | j<%d \n"
                                 "P[b,k] = softmax_k (W1[k,J] h[b,J] - B1[k]) | k<3 \n"
                                 "loss[b] = -ln P[b,y[b]]", HIDDEN);
  for (int i = 0; i < EPOCHS * n; i += BATCH) {
    edf_feed(in, x + 2 * (i % n), BATCH);
    edf_feed(label, y + i % n, BATCH);
    edf_forward();
    edf_backward(loss);
    edf_adam_default(0.01);
  }
  name_classes(in, x_test, m, answer);
}

/* ---- 3 */
void train_3(const edf_real *x, const edf_real *y, int n, const edf_real *x_test, int m,
             int *answer) {
  edf_node *in = edf_input("x[b,2]"), *label = edf_input("y[b]");
  edf_node *loss = edf_equations("h[b,j] = tanh(W0[j,I] x[b,I] - B0[j]) | j<%d \n"
                                 "P[b,k] = softmax_k (W1[k,J] h[b,J] - B1[k]) | k<3 \n"
                                 "loss[b] = -ln P[b,y[b]]", HIDDEN);
  for (int i = 0; i < EPOCHS * n; i += BATCH) {
    edf_feed(in, x + 2 * (i % n), BATCH);
    edf_feed(label, y + i % n, BATCH);
    edf_forward();
    edf_backward(loss);
    edf_adam_default(0.01);
  }
  name_classes(in, x_test, m, answer);
}

/* ---- 4 */
void train_4(const edf_real *x, const edf_real *y, int n, const edf_real *x_test, int m,
             int *answer) {
  edf_node *in = edf_input("x[b,2]"), *label = edf_input("y[b]");
  edf_node *loss = edf_equations("h[b,j] = tanh(W0[j,I] x[b,I] - B0[j]) | j<%d \n"
                                 "P[b,k] = softmax_k (W1[k,J] h[b,J] - B1[k]) | k<3 \n"
                                 "loss[b] = -ln P[b,y[b]]", HIDDEN);
  for (int i = 0; i < EPOCHS * n; i += BATCH) {
    edf_feed(in, x + 2 * (i % n), BATCH);
    edf_feed(label, y + i % n, BATCH);
    edf_forward();
    edf_backward(loss);
    edf_adam_default(0.01);
  }
  name_classes(in, x_test, m, answer);
}

/* ---- 5 */
void train_5(const edf_real *x, const edf_real *y, int n, const edf_real *x_test, int m,
             int *answer) {
  edf_node *in = edf_input("x[b,2]"), *label = edf_input("y[b]");
  edf_node *loss = edf_equations("h[b,j] = tanh(W0[j,I] x[b,I] - B0[j]) | j<%d \n"
                                 "P[b,k] = softmax_k (W1[k,J] h[b,J] - B1[k]) | k<3 \n"
                                 "loss[b] = -ln P[b,y[b]]", HIDDEN);
  edf_init_uniform(edf_find("W0"), -0.5, 0.5);
  for (int i = 0; i < EPOCHS * n; i += BATCH) {
    edf_feed(in, x + 2 * (i % n), BATCH);
    edf_feed(label, y + i % n, BATCH);
    edf_forward();
    edf_backward(loss);
    edf_adam_default(0.01);
  }
  name_classes(in, x_test, m, answer);
}

int main(void) { return 0; }
