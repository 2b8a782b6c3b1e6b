/* ps2/parts.c - the graded parts of the second problem set: no code runs, texts are read. */
#include "ps2.h"
#include "grade.h"

const grade_variant grade_variants[] = {
  { "y", 0, 0, 0, "y z s u" }, { "M", 0, 0, 0, "W V M U" }, 
  { "j", 0, 0, 0, "j m n" }, { "N", 3, 6, 1, NULL },
  { "K", 2, 9, 1, NULL }, { "C", 2, 30, 1, NULL }, { NULL, 0, 0, 0, NULL }
};

static const char *N(void) { return edf_fmt("%g", grade_number("N")); }

static double judge_product(const grade_part *p) {
  const char *y = grade_word("y"), *M = grade_word("M"), *j = grade_word("j");
  (void)p;
  return grade_answer(edf_fmt("input x[4,%s] \n %s[b,%s] = %s[%s,I] x[b,I] | %s<3", N(), y, j,
                              M, j, j));
}

static double judge_convolution(const grade_part *p) {
  const char *y = grade_word("y"), *M = grade_word("M"), *j = grade_word("j");
  (void)p;
  return grade_answer(edf_fmt("input x[2,9,3] \n"
                              "%s[b,t,%s] = %s[%s,D,I] x[b,t+D,I] | D<%s, %s<2", y, j, M, j,
                              N(), j));
}

static double judge_weights(const grade_part *p) {
  const char *j = grade_word("j");
  (void)p;
  return grade_answer(edf_fmt("input q[3,%s], k[4,%s] \n a[t,%s] = softmax_%s q[t,D] k[%s,D]",
                              N(), N(), j, j, j));
}

static double judge_attention(const grade_part *p) {
  const char *y = grade_word("y"), *j = grade_word("j");
  (void)p;
  return grade_answer(edf_fmt("input a[3,4], v[4,%s] \n %s[t,%s] = a[t,S] v[S,%s]", N(), y, j,
                              j));
}

static double judge_normalisation(const grade_part *p) {
  const char *y = grade_word("y"), *j = grade_word("j");
  (void)p;
  return grade_answer(edf_fmt("input x[3,%s] \n %s[b,%s] = x[b,%s] / sqrt(1 + mean_l x[b,l]^2)",
                              N(), y, j, j));
}

/* ---- What the puzzles ask for. Their sizes change from question to question. */
static void define_running_sum(grade_tensor *o, const grade_tensor *a) {
  grade_like(o, a);
  for (int i = 0; i < a->dim[0]; i++)
    for (int j = 0; j <= i; j++) o->value[i] += grade_number("K") * a->value[j];
}

static void define_difference(grade_tensor *o, const grade_tensor *a) {
  grade_like(o, a);
  for (int i = 0; i < a->dim[0]; i++)
    o->value[i] = a->value[i] - (i ? grade_number("K") * a->value[i - 1] : 0);
}

static void define_count(grade_tensor *o, const grade_tensor *in) {
  grade_shape(o, 1, 5, 0, 0);
  for (int i = 0; i < in[0].dim[0]; i++) o->value[(int)in[0].value[i]] += in[1].value[i];
}

static void define_mask(grade_tensor *o, const grade_tensor *in) {
  const grade_tensor *v = &in[0], *l = &in[1];
  grade_like(o, v);
  for (int i = 0; i < v->dim[0]; i++)
    for (int j = 0; j < 4; j++)
      o->value[4 * i + j] = j < l->value[i] ? v->value[4 * i + j] : grade_number("C");
}

#define ANSWER(name, points, judge) \
  { #name, points, judge, GRADE_TEXT, STUDENT(name), NULL, NULL, 0 }
#define PUZZLE(name, points, inputs) \
  { "puzzle " #name, points, grade_equation, GRADE_TEXT, STUDENT(name), inputs, \
    define_##name, 0 }
const grade_part grade_parts[] = {
  ANSWER(product, 10, judge_product),
  ANSWER(convolution, 15, judge_convolution),
  ANSWER(weights, 20, judge_weights),
  ANSWER(attention, 10, judge_attention),
  ANSWER(normalisation, 15, judge_normalisation),
  PUZZLE(running_sum, 5, "a[b]"),
  PUZZLE(difference, 5, "a[b]"),
  PUZZLE(count, 10, "a[b]<5 w[b]"),
  PUZZLE(mask, 10, "v[b,4] l[b]<5"),
  { NULL, 0, NULL, GRADE_TEXT, NULL, NULL, NULL, 0 }
};
