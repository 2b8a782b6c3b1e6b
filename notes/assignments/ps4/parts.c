/* ps4/parts.c - the graded parts of the fourth problem set; handout.md has the formulas. */
#include "ps4.h"
#include "grade.h"
#include <math.h>

const grade_variant grade_variants[] = {
  { "A", 0.5, 2, 0.1, NULL }, { "C", 0.5, 2, 0.1, NULL }, { "D", 1.5, 6, 0.1, NULL },
  { NULL, 0, 0, 0, NULL }
};

/* ---- Cells: of T times, n inputs and J units; batches as they come. */
enum { T = 4, I = 3, J = 2 };
static double sig(double x) { return 1 / (1 + exp(-x)); }

/* sum_k V[j,k] h[k] + sum_i W[j,i] x[i] */
static double sums(const grade_tensor *VW, int j, const double *h, const double *x) {
  double sum = 0;
  for (int k = 0; k < J; k++) sum += VW[0].value[J * j + k] * h[k];
  for (int i = 0; i < I; i++) sum += VW[1].value[I * j + i] * x[i];
  return sum;
}

static void define_gru(grade_tensor *h, const grade_tensor *in) {
  double A = grade_number("A");
  grade_shape(h, 3, in[0].dim[0], T, J);
  for (int b = 0; b < in[0].dim[0]; b++) {
    double was[J] = { 0 }, reset[J];
    for (int t = 0; t < T; t++) {
      const double *x = in[0].value + (b * T + t) * I;
      double *now = h->value + (b * T + t) * J;
      for (int j = 0; j < J; j++) reset[j] = sig(sums(in + 3, j, was, x)) * was[j];
      for (int j = 0; j < J; j++) {
        double g = sig(sums(in + 1, j, was, x)), u = tanh(A * sums(in + 5, j, reset, x));
        now[j] = (1 - g) * was[j] + g * u;
      }
      memcpy(was, now, sizeof was);
    }
  }
}

static void define_lstm(grade_tensor *s, const grade_tensor *in) {
  double C = grade_number("C");
  grade_shape(s, 3, in[0].dim[0], T, J);
  for (int b = 0; b < in[0].dim[0]; b++) {
    double was[J] = { 0 }, c[J] = { 0 };
    for (int t = 0; t < T; t++) {
      const double *x = in[0].value + (b * T + t) * I;
      double *now = s->value + (b * T + t) * J;
      for (int j = 0; j < J; j++) {
        double f = sig(C + sums(in + 1, j, was, x)), i = sig(sums(in + 3, j, was, x));
        double o = sig(sums(in + 5, j, was, x)), u = tanh(sums(in + 7, j, was, x));
        c[j] = f * c[j] + i * u;
        now[j] = o * tanh(c[j]);
      }
      memcpy(was, now, sizeof was);
    }
  }
}

static void define_attention(grade_tensor *o, const grade_tensor *in) {
  const double *q = in[0].value, *k = in[1].value, *v = in[2].value, D = grade_number("D");
  grade_shape(o, 2, 5, 2, 0);
  for (int t = 0; t < 5; t++) {
    double sum = 0, e[5];
    for (int s = 0; s <= t; s++) {
      double fit = 0;
      for (int d = 0; d < 3; d++) fit += q[3 * t + d] * k[3 * s + d];
      sum += e[s] = exp(fit / D);
    }
    for (int s = 0; s <= t; s++)
      for (int n = 0; n < 2; n++) o->value[2 * t + n] += e[s] / sum * v[2 * s + n];
  }
}

/* ---- A text of 8 letters, each drawn by the two before it: no model can know more. */
enum { LETTERS = 8, LONG = 20000, ASKED = 1000, BACK = 8 };
#ifdef GRADE_DESK
static void call_text(const double *in, double *out) {
  learn_text(in, LONG, in + LONG, ASKED, out);
}
#else
#define call_text NULL
#endif

static double source[LETTERS][LETTERS][LETTERS];

static void draw_source(void) {
  for (int a = 0; a < LETTERS; a++)
    for (int b = 0; b < LETTERS; b++) {
      double sum = 0;
      for (int c = 0; c < LETTERS; c++) sum += source[a][b][c] = exp(grade_uniform(-4, 4));
      for (int c = 0; c < LETTERS; c++) source[a][b][c] /= sum;
    }
}

static void draw_text(double *text, int n) {
  for (int i = 0; i < n; i++) {
    double left = grade_uniform(0, 1);
    int c = i < 2 ? grade_below(LETTERS) : 0;
    const double *next = i < 2 ? NULL : source[(int)text[i - 2]][(int)text[i - 1]];
    while (next && c < LETTERS - 1 && (left -= next[c]) > 0) c++;
    text[i] = c;
  }
}

static double judge_text(const grade_part *p) {
  static double in[LONG + ASKED * BACK], test[ASKED + BACK];
  double loss = 0, best = 0;
  (void)p;
  draw_source();
  draw_text(in, LONG);
  draw_text(test, ASKED + BACK);
  for (int i = 0; i < ASKED; i++) memcpy(in + LONG + i * BACK, test + i, BACK * sizeof *test);
  const double *P = grade_ask(in, LONG + ASKED * BACK, ASKED * LETTERS);
  for (int i = 0; i < ASKED; i++) {
    const double *row = P + i * LETTERS, *last = test + i + BACK - 2;
    int next = (int)test[i + BACK];
    double sum = 0;
    for (int c = 0; c < LETTERS; c++) sum += row[c] >= 0 ? row[c] : NAN;
    if (!(fabs(sum - 1) < 1e-6)) {
      printf("the probabilities of context %d are no probabilities: their sum is %g\n", i, sum);
      return 0;
    }
    loss -= log(fmax(row[next], 1e-12)) / ASKED;
    best -= log(source[(int)last[0]][(int)last[1]][next]) / ASKED;
  }
  if (loss <= best + 0.25) return 1;
  printf("its loss is %.3f a letter, expected at most %.3f, the source's own, and 0.25\n", loss,
         best);
  return 0;
}

const grade_part grade_parts[] = {
  { "gru", 25, grade_equation, GRADE_TEXT, STUDENT(gru),
    "x[b,4,3] Vg[2,2] Wg[2,3] Vr[2,2] Wr[2,3] Vu[2,2] Wu[2,3]", define_gru, 0 },
  { "lstm", 25, grade_equation, GRADE_TEXT, STUDENT(lstm),
    "x[b,4,3] Vf[2,2] Wf[2,3] Vi[2,2] Wi[2,3] Vo[2,2] Wo[2,3] Vc[2,2] Wc[2,3]", define_lstm,
    0 },
  { "attention", 20, grade_equation, GRADE_TEXT, STUDENT(attention), "q[5,3] k[5,3] v[5,2]",
    define_attention, 0 },
  { "text", 30, judge_text, GRADE_NUMBERS, STUDENT(call_text), NULL, NULL, 60 },
  { NULL, 0, NULL, GRADE_TEXT, NULL, NULL, NULL, 0 }
};
