/* What is printed is what runs. The lines of edf_print_program, forward and backward, are
   evaluated here by a small interpreter of their own, which knows nothing of the kernels; every
   value and every gradient has to come out the same. An index that nothing binds is an error.

   Built as: double none sanitized shim */
#define _POSIX_C_SOURCE 200809L                              /* capture.h */
#define HARNESS_CATCH
#include "harness.h"
#include "capture.h"
#include "edf.h"
#include "edf_lab.h"
#include "inside.h"
#include <ctype.h>
#include <stdint.h>

enum { NODES = 200, LETTERS = 24, PROGRAM = 200000 };

/* ---- What the interpreter has computed so far, by node */
static struct { edf_node *node; double *value, *grad; } tensor[NODES];
static int n_tensors;

static const char *line, *end;               /* the statement that is read */
static edf_node *current;                    /* the node it belongs to */

static void wrong(const char *at, const char *what) {
  CHECK(0, "%s at \"%.40s\" in\n  %.*s", what, at, (int)(end - line), line);
  longjmp(harness_outer, 1);
}

/* ---- Letters that have a value */
static struct { char name[16]; int value; } letter[LETTERS];
static int n_letters;

static int letter_named(const char *c, size_t n) {
  for (int k = n_letters - 1; k >= 0; k--)
    if (strlen(letter[k].name) == n && !memcmp(letter[k].name, c, n)) return k;
  return -1;
}

static int push_letter(const char *c, size_t n) {
  if (n_letters == LETTERS || n > 15) wrong(c, "too many letters");
  memcpy(letter[n_letters].name, c, n);
  letter[n_letters].name[n] = 0;
  letter[n_letters].value = 0;
  return n_letters++;
}

/* ---- Words */
static size_t word(const char *c) {
  size_t n = 0;
  if (isdigit((unsigned char)*c)) return 0;
  while (isalnum((unsigned char)c[n]) || c[n] == '_') n++;
  return n;
}
static int is(const char *c, const char *what) { return !strncmp(c, what, strlen(what)); }
static int is_operator(const char *c) {
  return is(c, "sum_") || is(c, "max_") || is(c, "mean_") || is(c, "variance_");
}
static const char *blanks(const char *c) { while (*c == ' ') c++; return c; }

static int tensor_named(const char *c, size_t n) {
  for (int k = 0; k < n_tensors; k++) {
    const char *name = tensor[k].node->name;
    if (strlen(name) == n && !memcmp(name, c, n)) return k;
  }
  return -1;
}

/* ---- Extents: an index has that of a dimension in which it stands alone, else its bound */
static const char *closing(const char *c) {                  /* of the bracket at c */
  int depth = 0;
  for (; c < end; c++) {
    depth += (*c == '[') - (*c == ']');
    if (!depth) return c;
  }
  wrong(c, "no closing bracket");
  return c;
}

static int extent_in(const edf_node *x, const char *open, const char *name, size_t n) {
  const char *c = open + 1, *close = closing(open);
  for (int d = 0; c < close && d < x->rank; d++) {
    const char *from = c;
    for (int depth = 0; c < close && (depth || *c != ','); c++)
      depth += (*c == '[') - (*c == ']');
    if ((size_t)(c - from) == n && !memcmp(from, name, n)) return x->dim[d];
    c++;
  }
  return 0;
}

static int extent_of(const char *name, size_t n) {
  for (const char *c = line; c < end; c += word(c) ? word(c) : 1) {
    size_t length = word(c);
    int k = length ? tensor_named(c, length) : -1;
    if (k < 0) continue;
    const char *open = c + length;
    if (is(open, ".grad")) open += 5;
    if (is(open, ".flat[")) return (int)tensor[k].node->size;
    int extent = *open == '[' ? extent_in(tensor[k].node, open, name, n) : 0;
    if (extent) return extent;
  }
  return 0;
}

/* | i<28, S<=t: how far a letter goes. */
static int bound_of(const char *name, size_t n) {
  int extent = extent_of(name, n);
  for (const char *c = line; c < end; c += word(c) ? word(c) : 1) {
    const char *sign = c + n;
    if (word(c) != n || memcmp(c, name, n) || *sign != '<') continue;
    if (c > line && c[-1] != ' ' && c[-1] != ',') continue;
    if (sign[1] != '=') { int number = atoi(sign + 1); return number; }
    int other = letter_named(sign + 2, word(sign + 2));
    return other < 0 ? extent : letter[other].value + 1;
  }
  if (!extent) wrong(name, "the extent of an index is unknown");
  return extent;
}

/* ---- Expressions */
static double sum_of(const char **at);
static double product(const char **at, int implicit);

static double number_of(const char **at) {
  char *after;
  double x = strtod(*at, &after);
  *at = after;
  return x;
}

/* The flat place of name[...], -1 outside. */
static ptrdiff_t place(const edf_node *x, const char **at) {
  const char *c = *at;
  ptrdiff_t flat = 0;
  int outside = 0;
  if (is(c, ".flat[")) {
    c += 6;
    flat = (ptrdiff_t)sum_of(&c);
    *at = c + 1;
    return flat;
  }
  if (!x->rank) return 0;
  if (*c++ != '[') wrong(c, "a tensor without its indices");
  for (int d = 0; d < x->rank; d++) {
    ptrdiff_t i = (ptrdiff_t)floor(sum_of(&c) + 0.5);
    outside |= i < 0 || i >= x->dim[d];
    flat = flat * x->dim[d] + i;
    if (*c++ != (d + 1 < x->rank ? ',' : ']')) wrong(c, "another number of indices");
  }
  *at = c;
  return outside ? -1 : flat;
}

static double entry(int k, const char **at) {
  int grad = is(*at, ".grad");
  if (grad) *at += 5;
  ptrdiff_t i = place(tensor[k].node, at);
  return i < 0 ? 0 : grad ? tensor[k].grad[i] : tensor[k].value[i];
}

/* The mask of a Dropout lies in its state; a device has drawn it by the same hash. */
static double mask(const char **at) {
  const edf_real *state = (const edf_real *)current->state;
  ptrdiff_t i = place(current, at);
  unsigned long long n = edf.draws - current->size + (unsigned long long)i + 1;
  if (i < 0) return 0;
  if (edf_device) return inside_draw(n) >> 40 >= (uint32_t)((double)state[0] * 16777216);
  return ((const unsigned char *)(state + inside_mask_begins))[i];
}

/* sum_J,K, mean_J, variance_J, max_J and what follows them */
static double over_letters(const char *c, const char **at, const char *body, double *squares,
                           double *n, double *most) {
  double total = 0;
  size_t length = word(c);
  if (!length) {
    *at = body;
    double x = product(at, 0);
    *squares += x * x;
    *n += 1;
    if (x > *most) *most = x;
    return x;
  }
  const char *next = c + length + (c[length] == ',');
  int k = push_letter(c, length), extent = bound_of(c, length);
  for (int i = 0; i < extent; i++) {
    letter[k].value = i;
    total += over_letters(*next == ' ' ? "" : next, at, body, squares, n, most);
  }
  n_letters--;
  return total;
}

static double operator_at(const char **at) {
  const char *name = *at, *letters = strchr(name, '_') + 1, *body = letters;
  double squares = 0, n = 0, most = -HUGE_VAL;
  while (*body != ' ') body++;
  double total = over_letters(letters, at, blanks(body), &squares, &n, &most);
  if (is(name, "sum_")) return total;
  if (is(name, "max_")) return most;
  if (is(name, "mean_")) return total / n;
  return squares / n - total / n * (total / n);
}

/* [k = y[b]], [x > 0] */
static double condition(const char **at) {
  const char *c = *at + 1;
  if (is(c, "the first greatest]")) {                        /* there are no ties here */
    const char *left = strchr(line, ':') ? blanks(strchr(line, ':') + 1) : line;
    int x = tensor_named(left, word(left)), y;
    left += word(left) + 5;
    ptrdiff_t from = place(tensor[x].node, &left);
    *at = c + 19;
    c = blanks(*at);
    y = tensor_named(c, word(c));
    c += word(c) + 5;
    ptrdiff_t to = place(tensor[y].node, &c);
    return tensor[x].value[from] == tensor[y].value[to];
  }
  double a = sum_of(&c);
  c = blanks(c);
  char sign = *c;
  int equal = c[1] == '=';
  c = blanks(c + 1 + equal);
  double b = sum_of(&c);
  if (*c != ']') wrong(c, "a condition does not end");
  *at = c + 1;
  return sign == '>' ? a > b : sign == '=' ? a == b : equal ? a <= b : a < b;
}

static double function(const char *name, const char **at) {
  double x = sum_of(at), y = 0;
  if (**at == ',') { *at = blanks(*at + 1); y = sum_of(at); }
  if (*(*at)++ != ')') wrong(*at, "no closing bracket");
  return is(name, "exp") ? exp(x) : is(name, "ln") ? log(x) : is(name, "tanh") ? tanh(x)
       : is(name, "sqrt") ? sqrt(x) : is(name, "max") ? fmax(x, y) : fmin(x, y);
}

/* ", s = ..." behind a statement */
static double defined(const char *name, size_t n) {
  for (const char *c = line; c + n < end; c++)
    if (is(c, ", ") && !memcmp(c + 2, name, n) && is(c + 2 + n, " = ")) {
      const char *body = c + 5 + n;
      return sum_of(&body);
    }
  wrong(name, "nothing binds this name");
  return 0;
}

static double primary(const char **at) {
  const char *c = *at = blanks(*at);
  size_t n = word(c);
  int k;
  if (*c == '-') { ++*at; return -primary(at); }
  if (*c == '(') { ++*at; double x = sum_of(at); ++*at; return x; }
  if (*c == '[') return condition(at);
  if (isdigit((unsigned char)*c) || *c == '.') return number_of(at);
  if (is_operator(c)) return operator_at(at);
  *at += n;
  if (**at == '(') { ++*at; return function(c, at); }
  if (is(c, "ln ")) return log(primary(at));
  if (is(c, "pi")) return acos(-1);
  if (is(c, "mask[")) return mask(at);
  if ((k = letter_named(c, n)) >= 0 && **at != '[') return letter[k].value;
  if ((k = tensor_named(c, n)) >= 0) return entry(k, at);
  return defined(c, n);
}

static double power(const char **at) {
  double x = primary(at);
  if (**at != '^') return x;
  ++*at;
  return pow(x, number_of(at));
}

static int goes_on(const char *c) {
  return *c && c < end && !strchr("+-|,;)]=<>\n", *c);
}

static double factors(const char **at) {
  double x = power(at);
  for (;;) {
    const char *c = blanks(*at);
    if (!goes_on(c)) return x;
    *at = c + (*c == '*' || *c == '/');
    double y = power(at);
    x = *c == '/' ? x / y : x * y;
  }
}

/* A product; a letter that nothing binds, outside of an operator, is summed. */
static const char *unbound(const char *c, size_t *n) {
  int depth = 0;
  for (; c < end && (depth || !strchr("|;", *c)); c += *n ? *n : 1) {
    *n = word(c);
    if (!depth && c[-1] == ' ' && strchr("+-", *c) && c[1] == ' ') return NULL;
    if (is_operator(c)) return NULL;
    depth += (*c == '[') - (*c == ']');
    if (!*n || !depth || c[*n] == '[' || letter_named(c, *n) >= 0) continue;
    if (*c >= 'A' && *c <= 'Z' && tensor_named(c, *n) < 0) return c;
    if (*c >= 'A' && *c <= 'Z' && c[*n] != '.') return c;
  }
  return NULL;
}

static double product(const char **at, int implicit) {
  size_t n = 0;
  const char *begin = *at, *c = implicit ? unbound(begin, &n) : NULL;
  if (!c) return factors(at);
  int k = push_letter(c, n), extent = bound_of(c, n);
  double total = 0;
  for (int i = 0; i < extent; i++) {
    letter[k].value = i;
    *at = begin;
    total += product(at, 1);
  }
  n_letters--;
  return total;
}

static int brackets;                         /* outermost terms alone are summed implicitly */

static double sum_of(const char **at) {
  const char *c = blanks(*at);
  int minus = *c == '-' && c[1] != ' ' ? 0 : *c == '-';
  double total = 0;
  *at = c + minus;
  for (int outermost = !brackets++;;) {
    double x = product(at, outermost);
    total += minus ? -x : x;
    c = blanks(*at);
    if (!((*c == '+' || *c == '-') && c[1] != '=')) break;
    minus = *c == '-';
    *at = blanks(c + 1);
  }
  brackets--;
  return total;
}

/* ---- Statements: for b,i: x.grad[b,i] += ...      or      y[b,i] = ... for all on the left */

static void assign(const char *left, const char *right, char sign) {
  int k = tensor_named(left, word(left)), grad;
  if (k < 0) wrong(left, "no such tensor");
  left += word(left);
  grad = is(left, ".grad");
  left += grad ? 5 : 0;
  brackets = 1;
  ptrdiff_t i = place(tensor[k].node, &left);
  brackets = 0;
  double x = sum_of(&right);
  if (i < 0) return;
  (grad ? tensor[k].grad : tensor[k].value)[i] += sign == '-' ? -x : x;
}

static void loop(const char *const *name, const size_t *length, int n, const char *left,
                 const char *right, char sign) {
  if (n == 0) { assign(left, right, sign); return; }
  int k = push_letter(*name, *length), extent = bound_of(*name, *length);
  for (int i = 0; i < extent; i++) {
    letter[k].value = i;
    loop(name + 1, length + 1, n - 1, left, right, sign);
  }
  n_letters--;
}

/* The letters of "for b,i<28: ", or all those between the brackets on the left. */
static void statement(const char *from, const char *to) {
  const char *name[LETTERS], *left = blanks(from), *c, *equals;
  size_t length[LETTERS];
  int n = 0, depth = 0;
  line = left;
  end = to;
  if (is(left, "for ")) {
    for (c = left + 4; *c != ':'; c += strcspn(c, ",:"), c += *c == ',') {
      name[n] = c;
      length[n++] = word(c);
    }
    left = blanks(c + 1);
  } else
    for (c = left; *c != '='; c += word(c) ? word(c) : 1) {
      size_t w = word(c);
      depth += (*c == '[') - (*c == ']');
      int known = 0;
      for (int k = 0; k < n; k++) known |= length[k] == w && !memcmp(name[k], c, w);
      if (!w || !depth || known) continue;
      name[n] = c;
      length[n++] = w;
    }
  equals = strchr(left, '=');
  if (!equals || equals > to) wrong(left, "no statement");
  n_letters = 0;
  loop(name, length, n, left, blanks(equals + 1), equals[-1]);
}

/* ---- A program */

static void begin(void) {
  n_tensors = 0;
  edf_node **list[] = { edf.inputs, edf.parameters, edf.compnodes };
  int n[] = { edf.n_inputs, edf.n_parameters, edf.n_compnodes };
  for (int l = 0; l < 3; l++)
    for (int i = 0; i < n[l]; i++) {
      edf_node *x = list[l][i];
      if (n_tensors == NODES) abort();
      tensor[n_tensors].node = x;
      tensor[n_tensors].value = (double *)calloc(x->size + 1, sizeof(double));
      tensor[n_tensors].grad = (double *)calloc(x->size + 1, sizeof(double));
      for (size_t k = 0; l < 2 && k < x->size; k++) tensor[n_tensors].value[k] = x->value[k];
      n_tensors++;
    }
}

static void finish(void) {
  for (int k = 0; k < n_tensors; k++) {
    free(tensor[k].value);
    free(tensor[k].grad);
  }
  edf_clear();
}

static void compare(const char *what, const edf_node *x, const edf_real *ours,
                    const double *theirs) {
  double largest = 0, worst = 0;
  for (size_t i = 0; i < x->size; i++) {
    largest = fmax(largest, fabs(theirs[i]));
    double error = fabs(ours[i] - theirs[i]);
    if (!(error <= worst)) worst = error;
  }
  CHECK(worst <= 3e-5 * largest + 1e-9, "%s of %s, a %s: %g off of %g", what, x->name, x->op,
        worst, largest);
}

/* A line begins with the number of its node, or with blanks. */
static const char *line_of(const char *c, int *number) {
  char *after;
  long i = strtol(c, &after, 10);
  if (after > c && *blanks(c) >= '0' && *blanks(c) <= '9') { *number = (int)i; return after; }
  return c;
}

static void evaluate(edf_node *loss) {
  int number = 0, backward = 0, statements = 0;
  edf_forward();
  edf_backward(loss);
  capture_begin();
  edf_print_program(stdout);
  capture_end();
  begin();
  tensor[tensor_named(loss->name, strlen(loss->name))].grad[0] = 1;
  const char *c = strstr(captured, "forward\n") + 8;
  while (*c) {
    const char *stop = c + strcspn(c, "\n"), *next = stop + 1;
    if (is(c, "backward")) { backward = 1; c = next; continue; }
    const char *from = line_of(c, &number);
    current = edf.compnodes[number];
    if (!backward)                               /* without its place: three blanks, the op */
      for (const char *s = from; s < stop; s++)
        if (is(s, "   ") && is(s + 3, current->op)) { stop = s; break; }
    for (; !(backward && from > c) && from < stop; statements++) {
      const char *semicolon = (const char *)memchr(from, ';', (size_t)(stop - from));
      statement(from, semicolon ? semicolon : stop);
      from = semicolon ? semicolon + 1 : stop;
    }
    c = next;
  }
  CHECK(statements > edf.n_compnodes, "%d statements", statements);
  for (int k = 0; k < n_tensors; k++) {
    edf_node *x = tensor[k].node;
    if (x->kind == EDF_COMPNODE) compare("the value", x, x->value, tensor[k].value);
    if (x->grad && x->active) compare("the gradient", x, x->grad, tensor[k].grad);
  }
  finish();
}

/* ---- The programs */

static edf_node *par(const char *decl) {
  edf_node *p = edf_parameter("%s", decl);
  edf_init_normal(p, 0, (edf_real)0.7);
  return p;
}

static edf_node *in(const char *decl, int batch) {
  static edf_real numbers[20][600];
  edf_node *x = edf_want_grad(edf_input("%s", decl));
  edf_real *data = numbers[edf.n_inputs];
  for (int i = 0; i < 600; i++) data[i] = edf_normal(0, 1);
  edf_feed(x, data, batch);
  return x;
}

static edf_node *labels(const char *decl, int classes, int batch) {
  static edf_real all[20][60];
  edf_node *y = edf_input("%s", decl);
  edf_real *numbers = all[edf.n_inputs];
  for (int i = 0; i < 60; i++) numbers[i] = (edf_real)(i * 7 % classes);
  edf_feed(y, numbers, batch);
  return y;
}

static void mlp(void) {
  AffineParams Phi1 = edf_affine_params(5, 4), Phi2 = edf_affine_params(4, 3);
  CompNode *h = Sigmoid(Affine(Phi1, in("x[b,5]", 3)));
  evaluate(Mean(LogLoss(Softmax(Affine(Phi2, h)), labels("y[b]", 3, 3))));
}

static void convolution(void) {
  ConvParams Phi = edf_conv_params(2, 3, 2, 4);
  Phi.padding = 1;
  CompNode *h = MaxPool(Tanh(Conv(Phi, in("x[b,6,6,2]", 2))), 2, 2);
  ConvParams wide = edf_grouped_conv_params(2, 2, 4, 4, 2);
  wide.dilation = 2;
  h = AvgPool(TransposedConv(edf_conv_params(2, 2, 4, 2), Conv(wide, h)), 1, 1);
  h = edf_reshape(h, "flat[b,8]");
  evaluate(Mean(SoftmaxLogLoss(h, labels("y[b]", 8, 2))));
}

static void recurrent(void) {
  CompNode *h = Unroll(edf_lstm_params(3, 2), in("x[b,3,3]", 2));
  h = Unroll(edf_gru_params(2, 2), Concat("h[b,T,j]", h, h));
  h = Recurrence("h[b,t,j] = tanh(W[j,I] h[b,t-1,I] + x[b,t,j])", par("W[2,2]"), h);
  evaluate(Mean(Square(Unroll(edf_ugrnn_params(2, 3), h))));
}

static void attention(void) {
  CompNode *x = Embed(par("W[5,6]"), labels("t[b,4]", 5, 2));
  x = Add(x, CausalAttention(edf_attention_params(6, 2), x));
  x = LayerNorm(edf_layer_norm_params(6), x);
  x = Attention(edf_attention_params(6, 3), BatchNorm(edf_batch_norm_params(6), x));
  evaluate(Mean(SoftmaxLogLoss(x, labels("y[b,4]", 6, 2))));
}

static void element_wise(void) {
  edf_node *x = in("x[b,3]", 4), *p = par("p[3]");
  CompNode *y = Gelu(LeakyRelu(Sub(Tanh(x), p), (edf_real)0.1));
  y = Dropout(Softplus(Mul(y, Exp(y))), 0.3);
  y = Div(y, Exp(p));
  y = Div(y, Sqrt(Sum(Square(p))));
  CompNode *l = Log(Exp(y));
  evaluate(Mean(Add(BCELoss(l, Sigmoid(y)), MSE(l, Relu(x)))));
}

static void over_indices(void) {
  edf_node *x = in("x[b,2,3,4]", 2);
  CompNode *y = SoftmaxOver("x[b,T,S,j]", x);
  y = Add(y, LogSoftmaxOver("x[b,T,s,j]", x));
  y = NormalizeOver("x[b,t,S,J]", y, (edf_real)0.01);
  y = SoftmaxOver("y[b,j,t,S] | S<=t", Einsum("y[b,j,t,s] = x[b,t,J,j] x[b,s,J,j]", y));
  CompNode *m = MaxOver("y[b,j,T,s]", y), *v = VarianceOver("y[b,J,t,s]", y);
  CompNode *s = SampleVarianceOver("y[b,j,t,S]", y), *a = MeanOver("a[b,J,t]", s);
  CompNode *d = Slice("y[b,T,s]", v, 0, 2), *e = Select("m[b,J,s]", m, 1);
  d = Concat("d[b,T,s]", d, e, Select("v[b,T,s]", v, 1));
  evaluate(Add(Sum(Square(d)), Add(Sum(a), Mean(Square(s)))));
}

/* Outside of training Dropout does nothing, and BatchNorm goes by its running statistics. */
static void in_evaluation(void) {
  CompNode *x = Dropout(in("x[b,4]", 3), 0.5);
  BatchNormParams Phi = edf_batch_norm_params(4);
  edf_init_uniform(Phi.mean, -1, 1);
  edf_init_uniform(Phi.variance, 1, 2);
  edf.training = 0;
  evaluate(Mean(Square(BatchNorm(Phi, x))));
  edf.training = 1;
}

/* Custom nodes with a formula of the user's, and words where there is none. */
static void cube_forward(CompNode *y) {
  const edf_real *x = y->in[0]->value;
  for (size_t i = 0; i < y->size; i++) y->value[i] = x[i] * x[i] * x[i];
}
static void cube_backward(CompNode *y) {
  const edf_real *x = y->in[0]->value;
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, 3 * y->grad[i] * x[i] * x[i]);
}
static void own_formula(void) {
  CompNode *y = edf_compnode("Cube", cube_forward, cube_backward, in("x[b,3]", 2));
  CHECK(edf_formula(y, "y[b,i] = x[b,i]^3", "x.grad[b,i] += 3 y.grad[b,i] x[b,i]^2") == y,
        "it returns the node");
  evaluate(Mean(y));
}

/* A formula of the user's stands as it is, with names for names. */
static void formulas_stay_as_they_are(void) {
  Input *x = in("x[b,3]", 2), *t = in("t[b,3]", 2);
  CompNode *y = edf_compnode("Mine", cube_forward, cube_backward, x, t);
  edf_name(y, "y");
  edf_formula(y, "o[b,i] = floor(u[b,i]) 2e3 > 0 ? v[b,i] : #%&!~@ sum_B,I v[B,I]",
              "u.grad[b,i] += sign(o.grad[b,i]) && v[b,i]");
  capture_begin();
  edf_print_node(stdout, y);
  capture_end();
  CHECK(strstr(captured, "y[b,i] = floor(x[b,i]) 2e3 > 0 ? t[b,i] : #%&!~@ sum_B,I t[B,I]   "),
        "%s", captured);
  CHECK(strstr(captured, "for b,i: x.grad[b,i] += sign(y.grad[b,i]) && t[b,i]\n"), "%s",
        captured);
  edf_clear();
}

/* A scalar has no indices, and is looped over by none. */
static void formulas_of_scalars(void) {
  CompNode *y = edf_compnode("Mine", cube_forward, cube_backward, edf_parameter("p"));
  edf_name(y, "y");
  edf_formula(y, "o[i] = 2e+20 u[i] + 1 / u[i,j]", "u.grad[i] += 2e20 o.grad[i]\nu.grad += 1");
  capture_begin();
  edf_print_node(stdout, y);
  edf_print_latex(stdout);
  capture_end();
  CHECK(strstr(captured, "y = 2e+20 p + 1 / p   "), "%s", captured);
  CHECK(strstr(captured, "\n       p.grad += 2e20 y.grad\n       p.grad += 1\n"), "%s",
        captured);
  CHECK(strstr(captured, "{y} = 2\\cdot 10^{20}\\,{p} + 1 / {p}$"), "%s", captured);
  CHECK(strstr(captured, "{p}{\\rm.grad} \\mathrel{+}= 2\\cdot 10^{20}\\,{y}"), "%s", captured);
  edf_clear();
}

static void prints(CompNode *y, const char *wanted) {
  capture_begin();
  edf_print_node(stdout, y);
  capture_end();
  CHECK(strstr(captured, wanted), "no\n%s\nin\n%s", wanted, captured);
}

/* Small letters in a tensor's brackets on the right are looped over too; not what a sum goes
   over, a capital, or a number's name in a condition. */
static void loops_of_the_right(void) {
  static const struct { const char *gradient, *wanted; } table[] = {
    { "a.grad[b,i] += y.grad[b,i,j] c[b,j]", "for b,i,j: a.grad[b,i] += y.grad[" },
    { "a.grad[b,i] += sum_j y.grad[b,i,j] c[b,j]", "for b,i: a.grad[b,i] += sum_j " },
    { "a.grad[b,i] += sum_k,j y.grad[b,k,j] c[b,jj]", "for b,i,jj: a.grad[b,i] += " },
    { "a.grad[b,i] += y.grad[b,i,J] c[B,J]", "for b,i: a.grad[b,i] += " },
    { "a.grad[b,i] += y.grad[b,i] [a[b,i] > eps]", "for b,i: a.grad[b,i] += " },
    { "a.grad[b,i] += y.grad[b,i] [k = c[b,n]]", "for b,i,n: a.grad[b,i] += " },
    { "a.grad[b,i] += y.grad[b,a[b,m]]\nc.grad[b,j] += y.grad[b,i,j]",
      "for b,i,m: a.grad[b,i] += y.grad[b,a[b,m]]\n       for b,j,i: c.grad[b,j] += " },
  };
  for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
    Parameter *a = edf_parameter("a[2,3]"), *c = edf_parameter("c[2,4]");
    CompNode *y = edf_name(edf_compnode("Mine", cube_forward, cube_backward, a, c), "y");
    prints(edf_formula(y, "y[b,i,j] = a[b,i] + c[b,j]", table[k].gradient), table[k].wanted);
    edf_clear();
  }
}

/* A bracket that is not closed ends with the text; whole words are read, and no more. */
static void an_open_bracket(void) {
  for (int k = 0; k < 2; k++) {
    CompNode *y = edf_compnode("Mine", cube_forward, cube_backward, edf_parameter("p"));
    edf_name(y, "y");
    edf_formula(y, "y = x[b", k ? "x.grad[b" : "x.grad[b\nx.grad += y.grad");
    prints(y, "y = p   Mine scalar");
    prints(y, k ? "\n       p.grad\n" : "\n       p.grad\n       p.grad += y.grad\n");
    edf_clear();
  }
}

/* What has no index is not summed; what has, is. */
static void sums_of_scalars(void) {
  Parameter *p = edf_parameter("p"), *v = edf_parameter("v[3]");
  prints(edf_name(Sum(p), "s"), "s = p   Sum scalar");
  prints(edf_name(Mean(p), "m"), "m = 1/1 p   Mean scalar");
  prints(edf_name(Sum(v), "t"), "t = sum_I v[I]   Sum scalar");
  edf_clear();
}

/* A condition on an operand that repeats: its own indices, or none. */
static void conditions(void) {
  Parameter *a = edf_parameter("a[2,3]"), *v = edf_parameter("v[3]"), *c = edf_parameter("c");
  prints(edf_name(Max(a, v), "m"), "m[i,j] = max(a[i,j], v[j])");
  CHECK(strstr(captured, "for i,j: a.grad[i,j] += m.grad[i,j] [v[j] <= a[i,j]]\n"
                         "       for i,j: v.grad[j] += m.grad[i,j] [v[j] > a[i,j]]\n"), "%s",
        captured);
  prints(edf_name(Min(c, v), "n"), "n[i] = min(c, v[i])");
  CHECK(strstr(captured, "c.grad += n.grad[i] [c <= v[i]]\n"), "%s", captured);
  prints(edf_name(Clamp(v, 0, 1), "w"), "v.grad[i] += w.grad[i] [0 <= v[i]] [v[i] <= 1]\n");
  prints(edf_name(Pow(v, 3), "p"), "v.grad[i] += p.grad[i] 3 pow(v[i], 3 - 1)\n");
  edf_clear();
}

/* A batch that was just fed is shown before any Forward; a larger one after a smaller one. */
static void a_batch_just_fed(void) {
  static const edf_real rows[3][2] = { { 1, 2 }, { 3, 4 }, { 5, 6 } };
  Input *x = edf_input("x[b,2]"), *y = edf_input("y[b]");
  Add(Sum(x), Sum(y));
  for (int n = 1; n <= 3; n += 2) {
    edf_feed(x, rows[0], n);
    edf_feed(y, rows[0], n);
    capture_begin();
    edf_print(x);
    edf_print(y);
    capture_end();
    CHECK(strstr(captured, n == 1 ? "value: 1 to 2, mean 1.5\n           1           2\ny "
                           : "\n           5           6\ny "), "%s", captured);
    CHECK(strstr(captured, n == 1 ? "value: 1 to 1, mean 1\n           1\n"
                 : "value: 1 to 3, mean 2\n           1           2           3\n"), "%s",
          captured);
    CHECK(!strstr(captured, "none yet"), "%s", captured);
    if (n == 1) Forward();
  }
  edf_clear();
}

/* Its letters are those of the input that it says, also of a third one. */
static void letters_of_the_third(void) {
  Parameter *a = edf_parameter("a[2,3]"), *v = edf_parameter("v[3]");
  CompNode *u = Einsum("u[row,column] = a[row,column]", a);
  CompNode *y = edf_name(edf_compnode("Mine", cube_forward, cube_backward, a, v, u), "y");
  y->letters_of = 2;
  prints(edf_name(Tanh(y), "t"), "t[row,column] = tanh(y[row,column])");
  y->letters_of = 0;
  prints(Tanh(y), "tanh(y[i,j])");
  edf_clear();
}

/* As mathematics: functions and sums are LaTeX's, other operators are upright. */
static void words_of_latex(void) {
  CompNode *y = Exp(Softmax(in("x[n,4]", 2)));
  Sqrt(Mean(LayerNorm(edf_layer_norm_params(4), y)));
  Sin(Cos(Pow(y, (edf_real)2.5)));
  capture_begin();
  edf_print_latex(stdout);
  capture_end();
  const char *wanted[] = {
    "[n,i] = \\exp({x}[n,i]) / \\sum_{I} \\,\\exp({x}[n,I])$", "\\mathop{\\rm mean}_{I} \\,",
    "/ \\sqrt{\\mathop{\\rm variance}_{I} \\,", " + 1\\cdot 10^{-5}}$",
    "1/{n}\\,\\sum_{N,I} \\,", " = \\sin(", " = \\cos(", " = {\\rm pow}(", "[n,i], 2.5)$",
  };
  for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++)
    CHECK(strstr(captured, wanted[k]), "no %s in\n%s", wanted[k], captured);
  edf_clear();
}

static void errors_of_formulas(void) {
  Parameter *p = edf_parameter("p[2]");
  CompNode *y = edf_compnode("Cube", cube_forward, cube_backward, p), *r = Relu(p);
  TRY(edf_formula(r, "y = x", "x.grad += y.grad"));
  CHECK(panicked && !strncmp(caught, "edf_formula: the node is not one of your own\n"
                             "  Relu \"Relu1\" [2] ", 64), "%s", caught);
  TRY(edf_formula(y, "y[i] = a[i] b[i]", "a.grad[i] += y.grad[i]"));
  CHECK(panicked && strstr(caught, "3 tensors (y a b), but the node and its inputs are 2\n"
                                 "  Cube \"Cube0\" [2] "), "%s", caught);
  TRY(edf_formula(y, "y[i] = x[i]", NULL));
  CHECK(panicked && strstr(caught, "edf_formula"), "%s", caught);
  capture_begin();
  edf_print_node(stdout, y);
  capture_end();
  CHECK(strstr(captured, "Cube0 = Cube(p)"), "%s", captured);
  CHECK(strstr(captured, "p.grad += by the code of Cube, from Cube0.grad, Cube0, p"), "%s",
        captured);
  edf_clear();
}

int main(void) {
  RUN(mlp);
  RUN(convolution);
  RUN(recurrent);
  RUN(attention);
  RUN(element_wise);
  RUN(over_indices);
  RUN(in_evaluation);
  RUN(own_formula);
  RUN(formulas_stay_as_they_are);
  RUN(formulas_of_scalars);
  RUN(loops_of_the_right);
  RUN(an_open_bracket);
  RUN(sums_of_scalars);
  RUN(conditions);
  RUN(a_batch_just_fed);
  RUN(letters_of_the_third);
  RUN(words_of_latex);
  RUN(errors_of_formulas);
  return harness_report();
}
