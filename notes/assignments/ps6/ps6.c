/* ps6.c - your sixth problem set: six programs that run, and do not learn what they should.

     cc -g ps6.c -lm -o ps6 && ./ps6          your own tests, in main below
     make grade ID=you                        the grader's

   Each trains a network on n points x[n,2] of three classes, three arms of a spiral, and then
   names the class of m others. Find what is wrong, name it in diagnosis, and repair it. */
#include "ps6.h"
#include <math.h>

enum { HIDDEN = 32, EPOCHS = 150, BATCH = 20 };

/* diagnosis writes a code of the handout's table for each of the programs 1 to 6. */
void diagnosis(int code[6]) {
  (void)code;
  NOT_IMPLEMENTED();
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
    edf_addgrad(y->in[0], i, (edf_real)(y->grad[i] * s * (1 - s)));
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
    edf_feed(in, x, BATCH);
    edf_feed(label, y, BATCH);
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
                                 "P[b,k] = softmax_b (W1[k,J] h[b,J] - B1[k]) | k<3 \n"
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
    edf_feed(label, y + (i + BATCH) % n, BATCH);
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
  edf_init_uniform(edf_find("W0"), 0.1, 0.1);
  edf_init_uniform(edf_find("W1"), 0.1, 0.1);
  for (int i = 0; i < EPOCHS * n; i += BATCH) {
    edf_feed(in, x + 2 * (i % n), BATCH);
    edf_feed(label, y + i % n, BATCH);
    edf_forward();
    edf_backward(loss);
    edf_adam_default(0.01);
  }
  name_classes(in, x_test, m, answer);
}

/* ---- 6 */
void train_6(const edf_real *x, const edf_real *y, int n, const edf_real *x_test, int m,
             int *answer) {
  edf_node *in = edf_input("x[b,2]"), *label = edf_input("y[b]");
  edf_node *loss = edf_equations("h[b,j] = relu(W0[j,I] x[b,I] - B0[j]) | j<%d \n"
                                 "P[b,k] = softmax_k (W1[k,J] h[b,J] - B1[k]) | k<3 \n"
                                 "loss[b] = -ln P[b,y[b]]", HIDDEN);
  edf.accumulate = 1;
  for (int i = 0; i < EPOCHS * n; i += BATCH) {
    edf_feed(in, x + 2 * (i % n), BATCH);
    edf_feed(label, y + i % n, BATCH);
    edf_forward();
    edf_backward(loss);
    edf_sgd(0.1);
  }
  edf.accumulate = 0;
  name_classes(in, x_test, m, answer);
}

#ifndef NO_TESTS
/* Your own tests: how many of 300 new points does each program name wrongly? */
static void draw_points(edf_real *x, edf_real *y, int n) {
  for (int i = 0; i < n; i++) {
    int arm = edf_below(3);
    double r = edf_uniform(0.1, 1), angle = 3 * r + arm * 2.0944 + edf_uniform(-0.25, 0.25);
    x[2 * i] = (edf_real)(3 * r * cos(angle));
    x[2 * i + 1] = (edf_real)(3 * r * sin(angle));
    y[i] = (edf_real)arm;
  }
}

int main(void) {
  static edf_real x[1200], y[600], x_test[600], y_test[300];
  void (*train[])(const edf_real *, const edf_real *, int, const edf_real *, int, int *) = {
    train_1, train_2, train_3, train_4, train_5, train_6 };
  for (int k = 0; k < 6; k++) {
    int answer[300], wrong = 0;
    draw_points(x, y, 600);
    draw_points(x_test, y_test, 300);
    train[k](x, y, 600, x_test, 300, answer);
    for (int i = 0; i < 300; i++) wrong += answer[i] != (int)y_test[i];
    printf("program %d: %d of 300 wrong\n", k + 1, wrong);
    edf_clear();
  }
}
#endif
