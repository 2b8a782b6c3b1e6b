/* Wrong programs: each stops with a message that is compared as a whole, and afterwards
   edf_clear leaves no memory behind. The programs stand in a file hw1.c, at the lines given.

   Built as: float double none sanitized shim */

#include "wrong_programs.h"

/* The text with a caret below, as messages have it: "hw1.c:9: Einsum: y[b] = ..." */
static const char *message(const char *start, const char *text, const char *caret,
                           const char *rest) {
  static char all[2048];
  int n = snprintf(all, sizeof all, "%s%s\n", start, text);
  if (caret)
    n += snprintf(all + n, sizeof all - (size_t)n, "%*s%s\n", (int)strlen(start), "", caret);
  snprintf(all + n, sizeof all - (size_t)n, "  %s", rest);
  return all;
}

/* ---- Declarations: line 1 of hw1.c; the caret stands under the declaration */

typedef struct { const char *function, *decl, *caret, *rest; } bad_declaration;

static const bad_declaration declarations[] = {
  { "edf_input", "",
    "^", "expected a name, found the end" },
  { "edf_input", "[3]",
    "^", "expected a name, found '['" },
  { "edf_parameter", "3x",
    "^", "expected a name, found '3'" },
  { "edf_input", "x[b,784",
    "       ^", "expected ']' or ',', found the end" },
  { "edf_input", "x[b,",
    "    ^", "expected an extent or an index, found the end" },
  { "edf_parameter", "W[]",
    "  ^", "expected an extent or an index, found ']'" },
  { "edf_input", "x[b 3]",
    "    ^", "expected ']' or ',', found '3'" },
  { "edf_input", "x[b,784x]",
    "       ^", "expected ']' or ',', found 'x'" },
  { "edf_input", "x[b,-1]",
    "    ^", "expected an extent or an index, found '-'" },
  { "edf_input", "x[b,0]",
    "    ^", "an extent is at least 1" },
  { "edf_input", "x[b,i=]",
    "      ^", "expected a number after '='" },
  { "edf_input", "x[b,i]",
    "    ^", "i needs a number, as in i=10: only the batch has none, the first index of an "
    "Input" },
  { "edf_parameter", "W[b,3]",
    "  ^", "b needs a number, as in b=10: only the batch has none, the first index of an "
    "Input" },
  { "edf_input", "x[b,3] y",
    "       ^", "expected the end, found 'y'" },
  { "edf_parameter", "W(3)",
    " ^", "expected the end, found '('" },
  { "edf_parameter", "W[1,2,3,4,5,6,7,8,9]",
    "                  ^", "a tensor has at most 8 dimensions" },
  { "edf_input", "x[b,i=0]",
    "      ^", "an extent is at least 1" },
  { "edf_input", "x[b, i = 1000000001]",
    "         ^", "the number is too large: at most 1000000000" },
  { "edf_parameter", "W[2000000000]",
    "  ^", "the number is too large: at most 1000000000" },
};

static void bad_declarations(void) {
  size_t n = sizeof declarations / sizeof *declarations;
  for (const bad_declaration *d = declarations; d < declarations + n; d++) {
    char start[64];
    snprintf(start, sizeof start, "hw1.c:1: %s: ", d->function);
    if (!strcmp(d->function, "edf_input")) TRY(input(1, d->decl));
    else TRY(parameter(1, d->decl));
    expect(message(start, d->decl, d->caret, d->rest));
  }
}

/* ---- Equations: operands are declared in lines 1, 2, 3, the equation is line 9 */

typedef struct { const char *operand[3], *equation, *caret, *rest; } bad_equation;

static const bad_equation equations[] = {
  /* brackets, signs and other characters */
  { { "W[784,64]", "x[b,784]" }, "",
    "^", "expected a tensor, found the end" },
  { { "W[784,64]", "x[b,784]" }, "y[b,j] =",
    "        ^", "expected a tensor, found the end" },
  { { "W[784,64]", "x[b,784]" }, "y[b,j] W[I,j] x[b,I]",
    "       ^", "expected '=' after the left side, found 'W'" },
  { { "W[784,64]", "x[b,784]" }, "y[b,j = W[I,j] x[b,I]",
    "      ^", "expected ']' or ',', found '='" },
  { { "W[784,64]", "x[b,784]" }, "y[b,j] = W[I,j x[b,I]",
    "               ^", "expected ']' or ',', found 'x'" },
  { { "W[784,64]", "x[b,784]" }, "y[b,j] = W[I,j]] x[b,I]",
    "               ^", "expected '+', '-', '|' or the end, found ']'" },
  { { "W[784,64]", "x[b,784]" }, "y[b,j] = W[I,j] x[b,I",
    "                     ^", "expected ']' or ',', found the end" },
  { { "W[784,64]", "x[b,784]" }, "y[b,j] = W[I,j] x[b,I];",
    "                      ^", "expected '+', '-', '|' or the end, found ';'" },
  { { "W[784,64]", "x[b,784]" }, "y[b,j] = W[I,j] x[b,I] +",
    "                        ^", "expected a tensor, found the end" },
  { { "W[784,64]", "x[b,784]" }, "y[b,j] = W[I,j] * * x[b,I]",
    "                  ^", "expected a tensor, found '*'" },
  { { "W[784,64]", "x[b,784]" }, "y[b,j] += W[I,j] x[b,I]",
    "       ^", "expected '=' after the left side, found '+': the sum always begins at 0" },
  { { "W[784,64]", "x[b,784]" }, "bi,ij->bj",
    "  ^", "expected '=' after the left side, found ',': -> is another notation; here "
    "bi,ij->bj is y[b,j] = x[b,I] W[I,j]" },
  { { "W[784,64]", "x[b,784]" }, "y[b,j] = W[I][j] x[b,I]",
    "             ^", "expected a comma between indices, as in W[I,j], found '['" },
  { { "v[7]" }, "y[i] = exp(v[i])",
    "          ^", "expected '+', '-', '|' or the end, found '(': an equation is a sum of "
    "products, functions are nodes of their own" },
  { { "v[7]" }, "y[i] = v[i] / v[i]",
    "            ^", "expected '+', '-', '|' or the end, found '/': an equation is a sum of "
    "products, functions are nodes of their own" },
  { { "v[7]" }, "y[i] = v[i]^2",
    "           ^", "expected '+', '-', '|' or the end, found '^': an equation is a sum of "
    "products, functions are nodes of their own" },
  { { "v[7]" }, "y[i] = v[\303\244]",
    "         ^", "index \303\244 is not on the left, so it is summed: its name must begin "
    "with a capital" },
  { { "v[7]" }, "y[i] = v[]",
    "         ^", "expected an index or a number, found ']'" },
  { { "v[7]" }, "y[i] = v[3*]",
    "           ^", "expected an index, found ']'" },
  { { "v[7]" }, "y[i] = v[2*3]",
    "           ^", "expected an index, found '3'" },
  /* numbers */
  { { "v[7]" }, "y[i] = v[1.5*i]",
    "          ^", "expected ']' or ',', found '.': the factor of an index is a whole "
    "number" },
  { { "v[7]" }, "y[i] = 2 3 v[i]",
    "         ^", "expected a tensor, found '3'" },
  { { "v[7]" }, "y[i] = 1e400 v[i]",
    "       ^", "the number is out of range" },
  { { "v[7]" }, "y = v[99999999999]",
    "      ^", "the number is too large: at most 1000000 in a place" },
  { { "v[7]" }, "y = v[1000000000+1000000000]",
    "      ^", "the number is too large: at most 1000000 in a place" },
  { { "v[7]" }, "y[7000000*i] = v[i]",
    "  ^", "the number is too large: at most 1000000 in a place" },
  { { "v[7]" }, "y = v[1000001]",
    "      ^", "the number is too large: at most 1000000 in a place" },
  { { "v[7]" }, "y = v[1000000]",
    "      ^", "this place reads entry 1000000 of a dimension with entries 0 to 6\n"
    "  v = Parameter \"v\" [7]                         declared at hw1.c:1" },
  { { "v[7]" }, "y = v[I-I]",
    "      ^", "index I cancels out in this place" },
  { { "v[7]" }, "y[i] = v[i+2JJ-JJ*2]",
    "                 ^", "expected ']' or ',', found '*'" },
  { { "v[7]" }, "y[i] = v[i+2JJ-2*JJ]",
    "         ^", "index JJ cancels out in this place" },
  /* terms and sides */
  { { "v[7]" }, "y[i] = 1 - v[i]",
    "       ^", "a term needs a tensor; for a constant use a scalar Parameter or Input: "
    "one - G[b,j]" },
  { { "v[7]" }, "y[i] = y[i] + v[i]",
    "       ^", "y is the left side and may not stand on the right" },
  { { "W[784,64]", "x[b,784]" }, "y[b,j] = W[i,j] x[b,i]",
    "           ^", "index i is not on the left, so it is summed: write the capital, I" },
  { { "v[7]" }, "y = v[zaz]",
    "      ^", "index zaz is not on the left, so it is summed: write the capital, ZAZ" },
  { { "v[7]", "w[7]" }, "y[i+j] = v[i] w[j] + v[i]",
    "                     ^", "this term lacks index j, which is part of a sum on the left" },
  /* operands and ranks */
  { { "W[784,64]" }, "y[b,j] = W[I,j] x[b,I]",
    "^", "the equation has 2 operands (W, x), but 1 was given\n"
    "  W = Parameter \"W\" [784, 64]                   declared at hw1.c:1\n"
    "  x is missing, or NULL" },
  { { "W[784,64]", "x[b,784]", "B[64]" }, "y[b,j] = W[I,j] x[b,I]",
    "^", "the equation has 2 operands (W, x), but 3 were given\n"
    "  W = Parameter \"W\" [784, 64]                   declared at hw1.c:1\n"
    "  x = Input \"x\" [b, 784]                        declared at hw1.c:2\n"
    "  no name for Parameter \"B\" [64]                declared at hw1.c:3" },
  { { "W[784,64]", "x[b,784]" }, "y[b,j] = W[I] x[b,I]",
    "         ^", "W has 1 index here, but the tensor has 2\n"
    "  W = Parameter \"W\" [784, 64]                   declared at hw1.c:1" },
  { { "v[7]" }, "y[i] = v[i] + v[i,i]",
    "              ^", "v has 2 indices here, but the tensor has 1\n"
    "  v = Parameter \"v\" [7]                         declared at hw1.c:1" },
  /* extents */
  { { "W[784,64]", "x[b,64]" }, "y[b,j] = W[I,j] x[b,I]",
    NULL, "I is 64 in x = Input \"x\" [b, 64]              declared at hw1.c:2\n"
    "  I is 784 in W = Parameter \"W\" [784, 64]       declared at hw1.c:1" },
  { { "x[b,3]", "z[3,3]" }, "y[i,j] = x[i,j] + z[i,j]",
    NULL, "i is 3 in z = Parameter \"z\" [3, 3]            declared at hw1.c:2\n"
    "  i is the batch in x = Input \"x\" [b, 3]        declared at hw1.c:1" },
  { { "v[7]" }, "y[i,j] = v[i]",
    "    ^", "the extent of j is unknown: nowhere on the right does it stand alone; give it "
    "after a bar, | j<n" },
  { { "x[b,9]" }, "y[b,i] = x[b,i+DI]",
    "    ^", "the extent of i is unknown: nowhere on the right does it stand alone; give it "
    "after a bar, | i<n" },
  { { "x[b,9]" }, "y[b] = x[b,9]",
    "           ^", "this place reads entry 9 of a dimension with entries 0 to 8\n"
    "  x = Input \"x\" [b, 9]                          declared at hw1.c:1" },
  { { "x[b,9]" }, "d[b,t] = x[b,t+1] - x[b,t]",
    "             ^", "this place reads entries 1 to 9 of a dimension with entries 0 to 8: "
    "give t a bound, | t<n, and reads outside count as zero\n"
    "  x = Input \"x\" [b, 9]                          declared at hw1.c:1" },
  { { "v[7]" }, "y[t] = v[t+1] - v[t]",
    "         ^", "this place reads entries 1 to 7 of a dimension with entries 0 to 6: "
    "give t a bound, | t<n, and reads outside count as zero\n"
    "  v = Parameter \"v\" [7]                         declared at hw1.c:1" },
  { { "x[b,9]" }, "y[b,t] = x[b,t-1]",
    "             ^", "this place reads entry -1 when t is 0, of a dimension with entries 0 "
    "to 8: give t a bound, | t<n, and reads outside count as zero\n"
    "  x = Input \"x\" [b, 9]                          declared at hw1.c:1" },
  { { "K[10]", "x[b,5]" }, "y[b,i] = K[D] x[b,i+D]",
    "                  ^", "this place reads entries 0 to 9 when i is 0, of a dimension with "
    "entries 0 to 4: give i a bound, | i<n, and reads outside count as zero\n"
    "  x = Input \"x\" [b, 5]                          declared at hw1.c:2\n"
    "  D is 10 in K = Parameter \"K\" [10]             declared at hw1.c:1" },
  { { "v[7]" }, "y[i-1] = v[i]",
    "  ^", "this place writes entry -1, below 0" },
  /* bounds */
  { { "v[7]" }, "y[i] = v[i] |",
    "             ^", "expected an index, found the end" },
  { { "v[7]" }, "y[i] = v[i] | j<9",
    "              ^", "j is an index of no tensor" },
  { { "v[7]" }, "y[i] = v[i] | i=3",
    "               ^", "expected '<' and a number, found '='" },
  { { "v[7]" }, "y[i] = v[i] | i<n",
    "                ^", "expected a number after '<'" },
  { { "v[7]" }, "y[i] = v[i] | i<0",
    "                ^", "a bound is at least 1" },
  { { "v[7]" }, "y[i] = v[i] | i<3, i<4",
    "                   ^", "i has two bounds" },
  { { "v[7]" }, "y[i] = v[i] | i<9",
    "         ^", "the bound i<9 is longer than this dimension, 7\n"
    "  v = Parameter \"v\" [7]                         declared at hw1.c:1" },
  /* limits */
  { { "v[7]" }, "y[a,b,c,d,e,f,g,h,i] = v[i]",
    "                  ^", "a tensor has at most 8 indices" },
  { { "v[7]" }, "y[a,b,c,d,e,f,g,h] = v[I+J+K+L+M+N+O+P+Q]",
    "                                       ^", "an equation has at most 16 indices" },
  { { "v[7]" }, "y[i] = v[i]v[i]v[i]v[i]v[i]v[i]v[i]v[i]v[i]",
    "                                       ^", "a term has at most 8 factors" },
};

static void bad(const bad_equation *e, size_t n) {
  for (; n-- > 0; e++) {
    static edf_node *in[3];
    for (int k = 0; k < 3; k++) in[k] = e->operand[k] ? declared(1 + k, e->operand[k]) : NULL;
    TRY(edf_einsum_at(HW1(9), e->equation, in[0], in[1], in[2], END));
    expect(message("hw1.c:9: Einsum: ", e->equation, e->caret, e->rest));
  }
}
static void bad_equations(void) { bad(equations, sizeof equations / sizeof *equations); }

/* ---- j and J are two indices: a term that lacks the one and sums the other is a slip. And
   what is to be summed may have been meant for an index of the left. */
#define SUMMED "this term lacks the first and sums the second; if that is meant, take " \
               "another letter"
#define J_IS_SUMMED "j and J are two indices: " SUMMED
static const bad_equation slips[] = {
  { { "W[3,2]", "h[b,3]", "B[2]" }, "s[b,j] = W[I,J] h[b,I] - B[j]",
    "         ^", J_IS_SUMMED },
  { { "B[2]", "W[3,2]", "h[b,3]" }, "s[b,j] = B[j] - 2 W[I,J] h[b,I]",
    "                ^", J_IS_SUMMED },
  { { "u[4]", "v[3]" }, "y[it,k] = u[It+K] v[k] | k<3, it<2",
    "          ^", "it and It are two indices: " SUMMED },
  { { "u[4]" }, "y[dI] = u[DI] | dI<4",
    "        ^", "dI and DI are two indices: " SUMMED },
  { { "u[b,4]" }, "y[b,j] = u[b,j] - 0.25 u[b,J]",
    "                  ^", J_IS_SUMMED },
  { { "W[3,2]", "h[b,3]", "B[2]" }, "s[b,j] = W[I,k] h[b,I] - B[j]",
    "             ^", "index k is not on the left, so it is summed: write the capital, K, or "
    "j, which its term lacks" },
  { { "B[2]", "W[3,2]", "h[b,3]" }, "s[b,j] = B[j] - W[I,j] h[n,I]",
    "                         ^", "index n is not on the left, so it is summed: write the "
    "capital, N, or b, which its term lacks" },
};

static void two_cases(void) {
  static const char *const fine[] = { "y[b,j] = u[b,j] v[J]", "y[b,J] = u[b,J] - v[J]",
    "y[b,j] = u[b,j] - 0.25 u[b,K]", "y[j,J] = u[j,J]", "y[b] = u[b,J]",
    "y[b,j] = u[b,j] u[b,J] v[J]", "y[b,i] = u[b,JJ] v[i] | i<4" };
  bad(slips, sizeof slips / sizeof *slips);
  for (size_t k = 0; k < sizeof fine / sizeof *fine; k++) {
    static edf_node *u, *v;
    u = parameter(1, "u[4,4]");
    v = parameter(2, "v[4]");
    TRY(edf_einsum_at(HW1(9), fine[k], u, strchr(fine[k], 'v') ? v : END, END));
    CHECK(!panicked, "%s", caught);
    edf_clear();
  }
}

/* ---- Programs */

static edf_real data[6400];                                  /* zeros */

static edf_affine_package layer(int line, int n_in, int n_out) {
  return edf_affine_params_at(HW1(line), n_in, n_out);
}

/* Line 49: W2; line 55: h = Relu(x); line 57: Affine(Phi2, h) */
static void the_slide(void) {
  edf_affine_package Phi;
  edf_node *x = input(40, "x[b,100]");
  Phi.w = parameter(49, "W2[128,10]");
  Phi.b = parameter(50, "B2[10]");
  edf_feed(x, data, 64);
  edf_affine_at(HW1(57), Phi, edf_name(edf_relu_at(HW1(55), x), "h"));
}

static void affine_rank_0(void) { edf_affine_at(HW1(3), layer(1, 3, 2), input(2, "x")); }
static void affine_rank_5(void) {
  edf_affine_at(HW1(3), layer(1, 3, 2), input(2, "x[b,1,1,1,3]"));
}
static void affine_time(void) {
  edf_affine_at(HW1(3), layer(1, 3, 2), edf_tanh_at(HW1(2), input(1, "x[b,7,5]")));
}
static void affine_bias(void) {
  edf_affine_package Phi = layer(1, 3, 4);
  Phi.b = parameter(2, "B[5]");
  edf_affine_at(HW1(3), Phi, input(3, "x[b,3]"));
}
static void affine_vector(void) {
  edf_affine_package Phi = layer(1, 3, 4);
  Phi.w = parameter(2, "W[12]");
  edf_affine_at(HW1(3), Phi, input(3, "x[b,3]"));
}
static void affine_x_null(void) { edf_affine_at(HW1(2), layer(1, 3, 2), NULL); }
static void affine_w_null(void) {
  edf_affine_package Phi = layer(1, 3, 2);
  Phi.w = NULL;
  edf_affine_at(HW1(2), Phi, input(1, "x[b,3]"));
}
static void affine_params_0(void) { layer(2, 0, 3); }

static void relu_null(void) { edf_relu_at(HW1(2), NULL); }
static void add_null(void) { edf_add_at(HW1(2), parameter(1, "a[3]"), NULL); }
static void add_lengths(void) {
  edf_add_at(HW1(3), parameter(1, "a[3]"), parameter(2, "c[4]"));
}
static void sub_leading(void) {
  edf_sub_at(HW1(3), parameter(1, "a[3,4]"), parameter(2, "c[3]"));
}
static void mul_batch(void) { edf_mul_at(HW1(3), input(1, "x[b,4]"), parameter(2, "c[3,4]")); }
static void div_swapped(void) {
  edf_div_at(HW1(3), parameter(1, "a[3,4]"), parameter(2, "c[4,3]"));
}
static void div_batch(void) { edf_div_at(HW1(3), input(1, "x[b,4]"), input(2, "z[b]")); }
static void softmax_scalar(void) { edf_softmax_at(HW1(2), parameter(1, "s")); }

static void loss_one_hot(void) {
  edf_log_loss_at(HW1(3), input(1, "Q[b,10]"), input(2, "y[b,10]"));
}
static void loss_swapped(void) {
  edf_log_loss_at(HW1(3), input(1, "y[b]"), input(2, "Q[b,10]"));
}
static void loss_scalar(void) {
  edf_softmax_log_loss_at(HW1(3), input(1, "Q[b,7,10]"), input(2, "y"));
}

/* Forward with these labels. */
static void label(const char *scores, const char *labels, int batch, int row, double value,
                  int fused) {
  static edf_real y_data[8];
  edf_node *s = input(1, scores), *y = input(2, labels);
  memset(y_data, 0, sizeof y_data);
  y_data[row] = (edf_real)value;
  if (fused) edf_softmax_log_loss_at(HW1(3), s, y);
  else edf_log_loss_at(HW1(3), s, y);
  edf_feed(s, data, batch);
  edf_feed(y, y_data, batch);
  edf_forward();
}
static void label_10(void) { label("Q[b,10]", "y[b]", 4, 2, 10, 0); }
static void label_negative(void) { label("Q[b,10]", "y[b]", 4, 3, -1, 1); }
static void label_half(void) { label("Q[b,10]", "y[b]", 4, 0, 1.5, 1); }
static void label_nan(void) { label("Q[b,10]", "y[b]", 4, 1, fabs((double)NAN), 0); }
static void label_inf(void) { label("Q[b,10]", "y[b]", 4, 1, HUGE_VAL, 0); }
static void label_matrix(void) { label("Q[b,3,4]", "y[b,3]", 2, 4, 12, 1); }

static void never_fed(void) {
  edf_node *x = input(1, "x[b,3]"), *y = input(2, "y[b]");
  edf_softmax_log_loss_at(HW1(3), x, y);
  edf_feed(x, data, 4);
  edf_forward();
}
static void batches(void) {
  edf_node *x = input(1, "x[b,3]"), *y = input(2, "y[b]");
  edf_feed(x, data, 4);
  edf_feed(y, data, 5);
  edf_forward();
}
static void data_null(void) { edf_feed(input(1, "x[b,3]"), NULL, 4); }
static void batch_0(void) { edf_feed(input(1, "x[b,3]"), data, 0); }
static void batch_negative(void) { edf_feed(input(1, "x[b,3]"), data, -3); }
static void batch_of_none(void) { edf_feed(input(1, "x[3]"), data, 2); }
static void feed_null(void) { edf_feed(NULL, data, 1); }
static void feed_parameter(void) { edf_feed(parameter(1, "W[3,3]"), data, 1); }
static void feed_computed(void) {
  edf_feed(edf_name(edf_tanh_at(HW1(2), parameter(1, "W[3,3]")), "h"), data, 1);
}
static void eager_unfed(void) {
  edf.eager = 1;
  edf_tanh_at(HW1(2), input(1, "x[b,3]"));
}

static void backward_first(void) {
  edf_backward(edf_name(edf_sum_at(HW1(2), parameter(1, "W[3,3]")), "loss"));
}
static void backward_stale(void) {
  edf_node *x = edf_want_grad(input(1, "x[b,3]"));
  edf_node *loss = edf_sum_at(HW1(2), x);
  edf_feed(x, data, 2);
  edf_forward();
  edf_feed(x, data, 2);
  edf_backward(loss);
}
static void backward_nothing(void) {
  edf_node *x = input(1, "x[b,3]"), *loss = edf_sum_at(HW1(2), x);
  edf_feed(x, data, 2);
  edf_forward();
  edf_backward(loss);
}
static void backward_parameter(void) { edf_backward(parameter(1, "W[3,3]")); }
static void backward_null(void) { edf_backward(NULL); }
static void forward_to_null(void) { edf_forward_to(NULL); }

static void nothing(edf_node *y) { (void)y; }
static void shape_rank_9(edf_node *y) { y->rank = 9; }
static void shape_negative(edf_node *y) { y->rank = 1; y->dim[0] = y->in[0]->dim[0] - 5; }
static void custom(void (*shape)(edf_node *), edf_node *x) {
  edf_compnode_at(HW1(2), "Mine", shape, nothing, nothing, x, END);
}
static void custom_alone(void) { custom(NULL, NULL); }
static void custom_rank_9(void) { custom(shape_rank_9, parameter(1, "v[3]")); }
static void custom_negative(void) { custom(shape_negative, parameter(1, "v[3]")); }
static void custom_no_name(void) {
  edf_compnode_at(HW1(2), NULL, NULL, nothing, nothing, parameter(1, "v[3]"), END);
}
static void custom_no_forward(void) {
  edf_compnode_at(HW1(2), "Mine", NULL, NULL, nothing, parameter(1, "v[3]"), END);
}

static void no_equation(void) { edf_einsum_at(HW1(2), NULL, parameter(1, "v[3]"), END); }
static void batch_below_bound(void) {
  edf_node *x = input(1, "x[b,9]");
  edf_einsum_at(HW1(2), "y[b,i] = x[b,i] | b<4", x, END);
  edf_feed(x, data, 2);
  edf_forward();
}
static void no_such_row(void) {
  edf_node *x = input(1, "x[b,9]");
  edf_einsum_at(HW1(2), "y[i] = x[3,i]", x, END);
  edf_feed(x, data, 2);
  edf_forward();
}
static void too_large(void) { parameter(1, "W[1000000000,1000000000,1000000000]"); }
static void output_too_large(void) {
  edf_node *v = edf_parameter_at(HW1(1), "v[%d]", 1000);
  edf_einsum_at(HW1(2), "y[i,j,k,l,m,n,o] = v[i] v[j] v[k] v[l] v[m] v[n] v[o]", v, END);
}

static void no_declaration(void) {
  edf_node *(*const declare)(const char *, int, const char *, ...) = edf_input_at;
  declare(HW1(1), NULL);
}
static void long_declaration(void) { edf_input_at(HW1(1), "x[%0300d]", 3); }
static void long_text(void) { edf_fmt("y = %0600d x", 3); }
static void init_input(void) { edf_init_uniform(input(1, "x[b,3]"), 0, 1); }
static void init_null(void) { edf_init_normal(NULL, 0, 1); }
static void below_0(void) { edf_below(0); }
static void name_null(void) { edf_name(input(1, "x[b,3]"), NULL); }
static void want_null(void) { edf_want_grad(NULL); }
static void check_null(void) { edf_gradcheck(NULL); }
static void check_parameter(void) { edf_gradcheck(parameter(1, "W[3]")); }
static void check_nothing(void) {
  edf_node *x = input(1, "x[3]");
  edf_feed(x, data, 1);
  edf_gradcheck(edf_tanh_at(HW1(2), x));
}
static void print_null(void) { edf_print(NULL); }
static void error_rate(void) { edf_error_rate(parameter(1, "s[3,4]"), parameter(2, "y[4]")); }

static const bad_program programs[] = {
  { the_slide,
    "hw1.c:57: Affine: s[b,j] = W[I,j] x[b,I] - B[j]\n"
    "  I is 100 in x = Relu \"h\" [b=64, 100]          built at hw1.c:55\n"
    "  I is 128 in W = Parameter \"W2\" [128, 10]      declared at hw1.c:49" },
  { affine_rank_0,
    "hw1.c:3: Affine: x has 0 dimensions, expected 1 to 4\n"
    "  x = Input \"x\" scalar                          declared at hw1.c:2" },
  { affine_rank_5,
    "hw1.c:3: Affine: x has 5 dimensions, expected 1 to 4\n"
    "  x = Input \"x\" [b, 1, 1, 1, 3]                 declared at hw1.c:2" },
  { affine_time,
    "hw1.c:3: Affine: s[b,t,j] = W[I,j] x[b,t,I] - B[j]\n"
    "  I is 5 in x = Tanh \"Tanh0\" [b, 7, 5]          built at hw1.c:2\n"
    "  I is 3 in W = Parameter \"w1\" [3, 2]           declared at hw1.c:1" },
  { affine_bias,
    "hw1.c:3: Affine: s[b,j] = W[I,j] x[b,I] - B[j]\n"
    "  j is 5 in B = Parameter \"B\" [5]               declared at hw1.c:2\n"
    "  j is 4 in W = Parameter \"w1\" [3, 4]           declared at hw1.c:1" },
  { affine_vector,
    "hw1.c:3: Affine: s[b,j] = W[I,j] x[b,I] - B[j]\n"
    "                          ^\n"
    "  W has 2 indices here, but the tensor has 1\n"
    "  W = Parameter \"W\" [12]                        declared at hw1.c:2" },
  { affine_x_null, "hw1.c:2: Affine: x is NULL" },
  { affine_w_null, "hw1.c:2: Affine: Phi.w is NULL" },
  { affine_params_0,
    "hw1.c:2: edf_affine_params: 0 inputs and 3 outputs: expected at least 1 of each" },
  { relu_null, "hw1.c:2: Relu: operand 1 is NULL" },
  { add_null, "hw1.c:2: Add: operand 2 is NULL" },
  { add_lengths,
    "hw1.c:3: Add: y[i] = u[i] + v[i]\n"
    "  i is 4 in v = Parameter \"c\" [4]               declared at hw1.c:2\n"
    "  i is 3 in u = Parameter \"a\" [3]               declared at hw1.c:1" },
  { sub_leading,
    "hw1.c:3: Sub: y[i,j] = u[i,j] - v[j]\n"
    "  j is 3 in v = Parameter \"c\" [3]               declared at hw1.c:2\n"
    "  j is 4 in u = Parameter \"a\" [3, 4]            declared at hw1.c:1" },
  { mul_batch,
    "hw1.c:3: Mul: y[b,i] = u[b,i] v[b,i]\n"
    "  b is 3 in v = Parameter \"c\" [3, 4]            declared at hw1.c:2\n"
    "  b is the batch in u = Input \"x\" [b, 4]        declared at hw1.c:1" },
  { div_swapped,
    "hw1.c:3: Div: the shapes must be equal, or one the trailing part of the other\n"
    "  Parameter \"a\" [3, 4]                          declared at hw1.c:1\n"
    "  Parameter \"c\" [4, 3]                          declared at hw1.c:2" },
  { div_batch,
    "hw1.c:3: Div: the shapes must be equal, or one the trailing part of the other\n"
    "  Input \"x\" [b, 4]                              declared at hw1.c:1\n"
    "  Input \"z\" [b]                                 declared at hw1.c:2" },
  { softmax_scalar,
    "hw1.c:2: Softmax: a scalar has no last index\n"
    "  Parameter \"s\" scalar                          declared at hw1.c:1" },
  { loss_one_hot,
    "hw1.c:3: LogLoss: expected one label for each row of P: y is [b, 10], not [b]\n"
    "  P = Input \"Q\" [b, 10]                         declared at hw1.c:1\n"
    "  y = Input \"y\" [b, 10]                         declared at hw1.c:2" },
  { loss_swapped,
    "hw1.c:3: LogLoss: expected one label for each row of P: y is [b, 10], not scalar: "
    "are they swapped?\n"
    "  P = Input \"y\" [b]                             declared at hw1.c:1\n"
    "  y = Input \"Q\" [b, 10]                         declared at hw1.c:2" },
  { loss_scalar,
    "hw1.c:3: SoftmaxLogLoss: expected one label for each row of s: y is scalar, not "
    "[b, 7]\n"
    "  s = Input \"Q\" [b, 7, 10]                      declared at hw1.c:1\n"
    "  y = Input \"y\" scalar                          declared at hw1.c:2" },
  { label_10,
    "hw1.c:3: LogLoss: label 10 in row 2 of y is out of range: expected 0 to 9 (are the "
    "classes counted from 1?)\n"
    "  Input \"y\" [b=4]                               declared at hw1.c:2" },
  { label_negative,
    "hw1.c:3: SoftmaxLogLoss: label -1 in row 3 of y is out of range: expected 0 to 9\n"
    "  Input \"y\" [b=4]                               declared at hw1.c:2" },
  { label_half,
    "hw1.c:3: SoftmaxLogLoss: label 1.5 in row 0 of y is not a whole number: expected 0 to 9\n"
    "  Input \"y\" [b=4]                               declared at hw1.c:2" },
  { label_nan,
    "hw1.c:3: LogLoss: label nan in row 1 of y is not a whole number: expected 0 to 9\n"
    "  Input \"y\" [b=4]                               declared at hw1.c:2" },
  { label_inf,
    "hw1.c:3: LogLoss: label inf in row 1 of y is out of range: expected 0 to 9\n"
    "  Input \"y\" [b=4]                               declared at hw1.c:2" },
  { label_matrix,
    "hw1.c:3: SoftmaxLogLoss: label 12 in row [1,1] of y is out of range: expected 0 to 3\n"
    "  Input \"y\" [b=2, 3]                            declared at hw1.c:2" },
  { never_fed,
    "edf_forward: an input was never fed\n"
    "  Input \"y\" [b=4]                               declared at hw1.c:2" },
  { batches,
    "edf_forward: the inputs disagree on the batch\n"
    "  5 rows were fed to Input \"y\" [b=5]            declared at hw1.c:2\n"
    "  4 rows were fed to Input \"x\" [b=4, 3]         declared at hw1.c:1" },
  { data_null,
    "edf_feed: the data is NULL\n"
    "  Input \"x\" [b, 3]                              declared at hw1.c:1" },
  { batch_0,
    "edf_feed: batch is 0, expected 1 or more\n"
    "  Input \"x\" [b, 3]                              declared at hw1.c:1" },
  { batch_negative,
    "edf_feed: batch is -3, expected 1 or more\n"
    "  Input \"x\" [b, 3]                              declared at hw1.c:1" },
  { batch_of_none,
    "edf_feed: batch is 2, but this Input has none: expected 1\n"
    "  Input \"x\" [3]                                 declared at hw1.c:1" },
  { feed_null, "edf_feed: the node is NULL" },
  { feed_parameter,
    "edf_feed: only an Input can be fed\n"
    "  Parameter \"W\" [3, 3]                          declared at hw1.c:1" },
  { feed_computed,
    "edf_feed: only an Input can be fed\n"
    "  Tanh \"h\" [3, 3]                               built at hw1.c:2" },
  { eager_unfed,
    "hw1.c:2: Tanh: edf.eager is 1, and an input was never fed\n"
    "  Input \"x\" [b, 3]                              declared at hw1.c:1" },
  { backward_first,
    "edf_backward: the loss has no value for the last feed: call edf_forward first\n"
    "  Sum \"loss\" scalar                             built at hw1.c:2" },
  { backward_stale,
    "edf_backward: the loss has no value for the last feed: call edf_forward first\n"
    "  Sum \"Sum0\" scalar                             built at hw1.c:2" },
  { backward_nothing,
    "edf_backward: no parameter reaches the loss, and no input with edf_want_grad\n"
    "  Sum \"Sum0\" scalar                             built at hw1.c:2" },
  { backward_parameter,
    "edf_backward: the loss is not a computed node\n"
    "  Parameter \"W\" [3, 3]                          declared at hw1.c:1" },
  { backward_null, "edf_backward: the node is NULL" },
  { forward_to_null, "edf_forward_to: the node is NULL" },
  { custom_alone, "hw1.c:2: Mine: a node without inputs needs a shape function" },
  { custom_rank_9, "hw1.c:2: Mine: its shape function set rank 9, expected 0 to 8" },
  { custom_negative,
    "hw1.c:2: Mine: its shape function set dimension 0 to -2, expected 1 or more" },
  { custom_no_name, "hw1.c:2: edf_compnode: the name is NULL" },
  { custom_no_forward, "hw1.c:2: edf_compnode: forward is NULL" },
  { no_equation, "hw1.c:2: Einsum: the equation is NULL" },
  { batch_below_bound,
    "hw1.c:2: Einsum: y[b,i] = x[b,i] | b<4\n"
    "                            ^\n"
    "  the bound b<4 is longer than this dimension, 2\n"
    "  x = Input \"x\" [b=2, 9]                        declared at hw1.c:1" },
  { no_such_row,
    "hw1.c:2: Einsum: y[i] = x[3,i]\n"
    "                          ^\n"
    "  this place reads entry 3 of a dimension with entries 0 to 1\n"
    "  x = Input \"x\" [b=2, 9]                        declared at hw1.c:1" },
  { too_large,
    "hw1.c:1: Parameter: the tensor is too large\n"
    "  Parameter \"W\" [1000000000, 1000000000, 1000000000]  declared at hw1.c:1" },
  { output_too_large,
    "hw1.c:2: Einsum: the tensor is too large\n"
    "  Einsum \"y\" [1000, 1000, 1000, 1000, 1000, 1000, 1000]  built at hw1.c:2" },
  { no_declaration, "hw1.c:1: edf_input: the declaration is NULL" },
  { long_declaration,
    "hw1.c:1: edf_input: the declaration is too long: 303 characters, at most 255" },
  { long_text, "edf_fmt: the text is too long: 606 characters, at most 511" },
  { init_input,
    "edf_init_uniform: only a Parameter can be initialised\n"
    "  Input \"x\" [b, 3]                              declared at hw1.c:1" },
  { init_null, "edf_init_normal: the node is NULL" },
  { below_0, "edf_below: n is 0, expected at least 1" },
  { name_null, "edf_name: the name is NULL" },
  { want_null, "edf_want_grad: the node is NULL" },
  { check_null, "edf_gradcheck: the node is NULL" },
  { check_parameter,
    "edf_gradcheck: the node is not a computed node\n"
    "  Parameter \"W\" [3]                             declared at hw1.c:1" },
  { check_nothing,
    "edf_gradcheck: no parameter reaches the node, and no input with edf_want_grad\n"
    "  Tanh \"Tanh0\" [3]                              built at hw1.c:2" },
  { print_null, "edf_print: the node is NULL" },
  { error_rate,
    "edf_error_rate: expected one label for each row of scores\n"
    "  Parameter \"s\" [3, 4]                          declared at hw1.c:1\n"
    "  Parameter \"y\" [4]                             declared at hw1.c:2" },
};

static void bad_programs(void) {
  expect_all(programs, sizeof programs / sizeof *programs);
}

/* ---- Nodes of another graph: as operand, as loss, to feed */

static edf_graph first;
static edf_node *stranger;

static void other_graph(void (*program)(void), const char *message_text) {
  stranger = edf_name(edf_tanh_at(HW1(2), parameter(1, "W[3]")), "h");
  first = edf;
  edf = edf_new_graph();
  TRY(program());
  CHECK(panicked && !strcmp(caught, message_text), "%s", panicked ? caught : "(no error)");
  edf_clear();
  edf = first;
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
}

static void its_operand(void) { edf_relu_at(HW1(7), stranger); }
static void its_second_operand(void) {
  edf_einsum_at(HW1(7), "y[i] = a[i] b[i]", parameter(6, "a[3]"), stranger, END);
}
static void its_loss(void) { (edf_backward)(stranger); }

static void another_graph(void) {
  other_graph(its_operand, "hw1.c:7: Relu: operand 1 is a node of another graph: "
              "Tanh \"h\" [3]  built at hw1.c:2");
  other_graph(its_second_operand, "hw1.c:7: Einsum: operand 2 is a node of another graph: "
              "Tanh \"h\" [3]  built at hw1.c:2");
  other_graph(its_loss, "edf_backward: the node is a node of another graph: "
              "Tanh \"h\" [3]  built at hw1.c:2");
}

/* ---- The macros hand on the file and line of the call */

static void the_line_of_the_call(void) {
  char expected[1024], here[128];
  edf_affine_package Phi = edf_affine_params(3, 2);
  edf_node *x = edf_input("x[b,4]"); int line = __LINE__;
  TRY(edf_affine(Phi, x)); int call = __LINE__;
  snprintf(here, sizeof here, "%s", __FILE__);
  snprintf(expected, sizeof expected,
           "%s:%d: Affine: s[b,j] = W[I,j] x[b,I] - B[j]\n"
           "  I is 4 in x = Input \"x\" [b, 4]                declared at %s:%d\n"
           "  I is 3 in W = Parameter \"w1\" [3, 2]           declared at %s:%d",
           here, call, here, line, here, line - 1);
  expect(expected);
}

/* The calls that run a program say where they stand too; a call by a pointer, or one inside of
   another, has no line and says none. */
static void line_is(int line, const char *message) {
  char expected[1024];
  snprintf(expected, sizeof expected, "%s:%d: %s", __FILE__, line, message);
  CHECK(panicked && !strncmp(caught, expected, strlen(expected)), "%s\n  not %s", caught,
        expected);
}

static void the_line_of_a_run(void) {
  static void (*volatile run)(void);
  static edf_node *x, *y, *w, *loss;
  w = edf_parameter("w[3]");
  x = edf_input("x[b,3]");
  y = edf_input("y[b]");
  loss = Sub(Einsum("s[b] = W[I] x[b,I]", w, x), y);
  TRY(edf_forward()); line_is(__LINE__, "edf_forward: an input was never fed\n");
  run = edf_forward;
  TRY(run());
  CHECK(panicked && !strncmp(caught, "edf_forward: an input", 21), "%s", caught);
  TRY(edf_forward_to(loss)); line_is(__LINE__, "edf_forward_to: an input was never fed\n");
  TRY(edf_feed(x, NULL, 1)); line_is(__LINE__, "edf_feed: the data is NULL\n");
  TRY(Backward(loss)); line_is(__LINE__, "edf_backward: the loss has no value");
  edf_feed(x, data, 2);
  edf_feed(y, data, 2);
  Forward();
  Backward(loss);
  TRY(Momentum(1, 2)); line_is(__LINE__, "edf_momentum: mu is 2, expected 0");
  TRY(edf_average(1, 2)); line_is(__LINE__, "edf_average: beta is 2, expected 0");
  TRY(RMSProp(1, 2, 0)); line_is(__LINE__, "edf_rmsprop: beta is 2, expected 0");
  TRY(AdamW(1, 0, 2, 0, 0)); line_is(__LINE__, "edf_adam: beta2 is 2, expected 0");
  TRY(edf_adam_slides(1, 2, 0, 0)); line_is(__LINE__, "edf_adam_slides: beta1 is 2");
  TRY(edf_update_momentum(w, 1, 2));
  CHECK(panicked && !strncmp(caught, "edf_momentum: mu", 16), "%s", caught);
  edf_clear();
}

/* MSE and MaskedMean say who they are; a dimension of 1 is no batch, which is said. */
static void mse_lengths(void) {
  edf_mse_at(HW1(3), input(1, "x[b,3]"), input(2, "y[b,4]"));
}
static void mse_column(void) {
  edf_mse_at(HW1(3), edf_tanh_at(HW1(2), input(1, "x[b,1]")), input(2, "y[b]"));
}
static void masked_lengths(void) {
  edf_masked_mean_at(HW1(3), parameter(1, "x[3]"), parameter(2, "m[2]"));
}
static void add_row(void) {
  edf_add_at(HW1(3), parameter(1, "u[1,3]"), parameter(2, "v[2,3]"));
}
static void clamp_swapped(void) { edf_clamp_at(HW1(3), parameter(1, "u[3]"), 2, 1); }
static void clamp_nan(void) { edf_clamp_at(HW1(3), parameter(1, "u[3]"), 0, (edf_real)NAN); }
static void min_lengths(void) {
  edf_min_at(HW1(3), parameter(1, "u[3]"), parameter(2, "v[2]"));
}

static void names_of_compositions(void) {
  static const bad_program table[] = {
    { mse_lengths, "hw1.c:3: MSE: y[b,i] = u[b,i] - v[b,i]\n"
      "  i is 4 in v = Input \"y\" [b, 4]                declared at hw1.c:2\n"
      "  i is 3 in u = Input \"x\" [b, 3]                declared at hw1.c:1" },
    { mse_column, "hw1.c:3: MSE: y[b,i] = u[b,i] - v[i]\n"
      "  i is the batch in v = Input \"y\" [b]           declared at hw1.c:2\n"
      "  i is 1 in u = Tanh \"Tanh0\" [b, 1]             built at hw1.c:2\n"
      "  a dimension of 1 does not repeat: Reshape takes it away" },
    { masked_lengths, "hw1.c:3: MaskedMean: y[i] = u[i] v[i]\n"
      "  i is 2 in v = Parameter \"m\" [2]               declared at hw1.c:2\n"
      "  i is 3 in u = Parameter \"x\" [3]               declared at hw1.c:1" },
    { add_row, "hw1.c:3: Add: y[i,j] = u[i,j] + v[i,j]\n"
      "  i is 2 in v = Parameter \"v\" [2, 3]            declared at hw1.c:2\n"
      "  i is 1 in u = Parameter \"u\" [1, 3]            declared at hw1.c:1\n"
      "  a dimension of 1 does not repeat: Reshape takes it away" },
    { clamp_swapped, "hw1.c:3: Clamp: lo is 2, above hi, 1" },
    { clamp_nan, "hw1.c:3: Clamp: lo is 0, above hi, nan" },
    { min_lengths, "hw1.c:3: Min: the shapes must be equal, or one the trailing part of the "
      "other\n"
      "  Parameter \"u\" [3]                             declared at hw1.c:1\n"
      "  Parameter \"v\" [2]                             declared at hw1.c:2" },
  };
  expect_all(table, sizeof table / sizeof *table);
}

/* Two inputs name the batch differently: the first name stays, also after one that failed. */
static void the_name_of_the_batch(void) {
  static edf_node *x;
  TRY(input(1, "w[n,2"));
  x = input(1, "x[b,3]");
  input(2, "y[n]");
  TRY(edf_add_at(HW1(3), x, input(3, "z[rows]")));
  CHECK(panicked && strstr(caught, "\"x\" [b, 3] ") && strstr(caught, "\"z\" [b] "), "%s",
        caught);
  edf_clear();
  edf_tanh_at(HW1(3), input(2, "y[n]"));
  TRY((edf_forward)());
  CHECK(panicked && strstr(caught, "\"y\" [n] "), "%s", caught);
  edf_clear();
}

/* What the compiler knows of a buffer: a whole array, the rest of one; not of a pointer. */
static void short_buffers(void) {
  static edf_real rows[4][3];
  static const edf_real *volatile unknown;
  static edf_node *x, *w;
  x = edf_input("x[b,3]");
  w = edf_input("w[5]");
  unknown = rows[0];
  TRY(edf_feed(x, rows[0], 4));
#ifdef __GNUC__
  TRY(edf_feed(x, &rows[2][1], 2));
  line_is(__LINE__ - 1, "edf_feed: the data has 5 numbers, expected 6 for 2 rows\n  Input");
  TRY(edf_feed(w, rows[3], 1));
  line_is(__LINE__ - 1, "edf_feed: the data has 3 numbers, expected 5 for 1 row\n");
#ifndef __cplusplus
  TRY(edf_feed(x, (const edf_real *)(edf_real[]){ 1, 2, 3 }, 1));
  CHECK(!panicked, "%s", caught);
#endif
#endif
  TRY(edf_feed(x, &rows[3][0], 1));
  CHECK(!panicked, "%s", caught);
  TRY(edf_feed(x, unknown, 100));                            /* it is not read */
  CHECK(!panicked, "%s", caught);
  edf_clear();
}

/* After all of these the header works as if nothing had happened. */
static void still_works(void) {
  edf_affine_package Phi = edf_affine_params(3, 2);
  edf_node *x = edf_input("x[b,3]"), *y = edf_input("y[b]");
  edf_node *loss = edf_softmax_log_loss(edf_affine(Phi, x), y);
  edf_feed(x, data, 4);
  edf_feed(y, data, 4);
  edf_forward();
  edf_backward(loss);
  edf_sgd(1);
  CHECK(loss->value[3] > 0 && Phi.b->value[0] != 0, "the loss is %g", (double)loss->value[3]);
  edf_clear();
  CHECK(memory.live == 0 && memory.mallocs > 0, "%ld blocks are left", memory.live);
}

int main(void) {
  RUN(bad_declarations);
  RUN(bad_equations);
  RUN(two_cases);
  RUN(bad_programs);
  RUN(names_of_compositions);
  RUN(the_name_of_the_batch);
  RUN(another_graph);
  RUN(the_line_of_the_call);
  RUN(the_line_of_a_run);
  RUN(short_buffers);
  RUN(still_works);
  return harness_report();
}
