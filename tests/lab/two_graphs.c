/* two_graphs.c - the laboratory in a file of its own, for tests/lab.sh: the implementation of
   edf.h is in another object, and only that one knows counted_malloc. Two graphs learn in
   turn, with a doctor and curves each, and one step is traced. The second never moves its
   parameters, which its doctor says; the first one's says nothing. Nothing is left. */
#define EDF_LAB_IMPLEMENTATION
#include "edf_lab.h"

long counted_live(void);
long counted_calls(void);

typedef struct { edf_graph graph; Input *x, *y; CompNode *loss; } model;

static model new_model(void) {
  model m;
  edf = edf_new_graph();
  AffineParams Phi1 = edf_affine_params(2, 8), Phi2 = edf_affine_params(8, 2);
  m.x = edf_input("x[b,2]");
  m.y = edf_input("y[b]");
  m.loss = LogLoss(Softmax(Affine(Phi2, Tanh(Affine(Phi1, m.x)))), m.y);
  edf_doctor(m.loss);
  m.graph = edf;
  return m;
}

static void step(model *m, edf_real eta, int number) {
  static const edf_real points[] = { 0, 0, 0, 1, 1, 0, 1, 1 }, classes[] = { 0, 1, 1, 0 };
  edf = m->graph;
  edf_feed(m->x, points, 4);
  edf_feed(m->y, classes, 4);
  if (number == 3) edf_trace_begin("two_graphs.html");
  Forward();
  Backward(m->loss);
  if (eta > 0) SGD(eta);
  if (number == 3) edf_trace_end();
  edf_log("loss/train", (double)m->loss->value[0]);
  m->graph = edf;
}

int main(void) {
  model a = new_model(), b = new_model();
  for (int i = 0; i < 30; i++) {
    step(&a, (edf_real)0.5, i);
    step(&b, 0, 0);
  }
  edf = b.graph;
  edf_plot_svg("two_graphs.svg");
  edf_write_dot("two_graphs.dot");
  edf_clear();
  edf = a.graph;
  edf_print_latex(stdout);
  edf_clear();
  printf("%ld blocks are left of %s\n", counted_live(), counted_calls() > 100 ? "many" : "few");
  return counted_live() != 0;
}
