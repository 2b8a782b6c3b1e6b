/* The gradient check calls no right program wrong: 100 graphs, each of a dozen nodes drawn at
   random, of the header's own and of a student's; and the doubt is on the check's side where an
   entry lies at a kink.

   Built as: float double none shim */
#define _POSIX_C_SOURCE 200809L                              /* capture.h */
#define HARNESS_CATCH
#include "harness.h"
#include "capture.h"
#include "edf.h"

/* ---- Two nodes as a student writes them */
static void relu_forward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++)
    y->value[i] = y->in[0]->value[i] < 0 ? 0 : y->in[0]->value[i];
}
static void relu_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++)
    edf_addgrad(y->in[0], i, y->in[0]->value[i] > 0 ? y->grad[i] : 0);
}
static void product_forward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = y->in[0]->value[i] * y->in[1]->value[i];
}
static void product_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) {
    edf_real a = y->in[0]->value[i], b = y->in[1]->value[i];
    edf_addgrad(y->in[0], i, y->grad[i] * b);
    edf_addgrad(y->in[1], i, y->grad[i] * a);
  }
}

/* ---- A graph: every node is [b, 4], and takes its operands from all that came before */
enum { NODES = 12, FIRST = 3 };
static edf_node *made[FIRST + NODES];

static int pick(int n) { return (int)(edf_uniform(0, 1) * (edf_real)n * (edf_real)0.99999); }

static edf_node *next_node(int n) {
  edf_node *a = made[pick(n)], *c = made[pick(n)], *w;
  switch (pick(17)) {
    case 0: return Add(a, c);
    case 1: return Sub(a, c);
    case 2: return Mul(a, c);
    case 3: return Tanh(a);
    case 4: return Sigmoid(a);
    case 5: return Gelu(a);
    case 6: return Softplus(a);
    case 7: return Softmax(a);
    case 8: return NormalizeOver("x[b,J]", a, (edf_real)0.1);
    case 9: return SoftmaxOver("x[B,j]", a);
    case 10: return Div(a, Exp(Tanh(c)));
    case 11: return Concat("x[b,J]", Slice("x[b,J]", a, 1, 2), Slice("x[b,J]", c, 0, 2));
    case 12: return Einsum("y[b,j] = a[b,j] s - c[b,j]", a, Mean(c), c);
    case 13: return LayerNorm(edf_layer_norm_params(4), a);
    case 14: return edf_compnode("Product", product_forward, product_backward, a, c);
    case 15: return edf_compnode("MyRelu", relu_forward, relu_backward, a);
    default:
      w = edf_parameter("W%d[4,4]", n);
      edf_init_normal(w, 0, (edf_real)0.5);
      return Einsum("y[b,j] = W[I,j] x[b,I]", w, a);
  }
}

static double checked(unsigned seed) {
  static edf_real data[12], more[12];
  edf_clear();
  edf_seed(seed);
  for (int i = 0; i < 12; i++) { data[i] = edf_uniform(-1, 1); more[i] = edf_uniform(-1, 1); }
  made[0] = edf_want_grad(edf_input("x[b,4]"));
  made[1] = edf_want_grad(edf_input("z[b,4]"));
  made[2] = edf_parameter("p[4]");
  edf_init_normal(made[2], 0, 1);
  made[2] = Einsum("q[b,j] = p[j] x[b,j]", made[2], made[0]);
  edf_feed(made[0], data, 3);
  edf_feed(made[1], more, 3);
  for (int n = FIRST; n < FIRST + NODES; n++) made[n] = next_node(n);
  edf_node *sum = made[FIRST + NODES - 1];
  for (int n = FIRST; n < FIRST + NODES - 1; n++) sum = Add(sum, made[n]);
  edf_node *loss = Mean(Square(sum));
  capture_begin();
  double error = edf_gradcheck(loss);
  capture_end();
  return error;
}

static void no_false_alarm(void) {
  double worst = 0;
  for (unsigned seed = 1; seed <= 100 / QUICK; seed++) {
    double error = checked(seed);
    if (error > worst) worst = error;
    CHECK(error < (EDF_REAL_IS_DOUBLE ? 1e-6 : 0.02) && !strstr(captured, "FAIL"),
          "seed %u: %g\n%s", seed, error, captured);
    CHECK(strstr(captured, "ok    d "), "seed %u compared nothing\n%s", seed, captured);
  }
  CHECK(worst > 1e-13, "%g: was anything compared?", worst);
  edf_clear();
}

int main(void) {
  RUN(no_false_alarm);
  return harness_report();
}
