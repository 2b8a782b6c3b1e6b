/* printed.c - what edf_print_program prints is what runs. A small interpreter, which knows
   nothing of the kernels, evaluates the printed lines, forward and backward. All values and
   gradients have to come out the same. B is the batch size.

   What edf_print_equations prints is the same program too: read again and trained, it gives
   the same bits. */

#include "models.h"
#include <ctype.h>

enum { NODES = 200, LETTERS = 24, PROGRAM = 200000 };

/* ---- The tensors as the interpreter has computed them so far */

static struct { edf_node *node; double *value, *grad; int shown; } tensor[NODES];
static char tensor_name[NODES][40];
static int n_tensors;

static const char *line, *end;               /* the statement that runs */
static edf_node *current;                    /* the node that it belongs to */

static const char *program;                  /* what is told where a check fails */

static void wrong(const char *at, const char *what) {
  CHECK(0, "%s: %s at \"%.40s\" in\n  %.*s", program, what, at, (int)(end - line), line);
  longjmp(harness_outer, 1);
}

/* ---- The indices that have a value now */

static char letter_name[LETTERS][40];
static int letter_value[LETTERS], n_letters;

static int find(char (*name)[40], int n, const char *c, size_t length) {
  int k = n - 1;
  while (k >= 0 && (strlen(name[k]) != length || memcmp(name[k], c, length))) k--;
  return k;
}
static int letter_named(const char *c, size_t n) { return find(letter_name, n_letters, c, n); }
static int tensor_named(const char *c, size_t n) { return find(tensor_name, n_tensors, c, n); }

static int push_letter(const char *c, size_t n) {
  if (n_letters == LETTERS || n > 39) wrong(c, "too many letters");
  snprintf(letter_name[n_letters], sizeof *letter_name, "%.*s", (int)n, c);
  letter_value[n_letters] = 0;
  return n_letters++;
}

/* Runs what follows for each value of the letter of n characters at c. */
#define EACH(c, n)                                                                     \
  for (int letter_ = push_letter(c, n), extent_ = bound_of(c, n);                      \
       letter_value[letter_] < extent_ || (n_letters--, 0); letter_value[letter_]++)

/* ---- Words */

static size_t word(const char *c) {
  size_t n = 0;
  if (isdigit((unsigned char)*c)) return 0;
  while (isalnum((unsigned char)c[n]) || c[n] == '_' || (n && c[n] == '@')) n++;
  return n;
}
static int is(const char *c, const char *what) { return !strncmp(c, what, strlen(what)); }
static int is_operator(const char *c) {
  return is(c, "sum_") || is(c, "max_") || is(c, "mean_") || is(c, "variance_");
}
static const char *blanks(const char *c) { return c + strspn(c, " "); }

/* ---- Extents. An index runs over a dimension in which it stands alone, or to its bound. */

static int same_index(const char *a, const char *b, size_t n) {
  size_t k = 0;
  while (k < n && tolower((unsigned char)a[k]) == tolower((unsigned char)b[k])) k++;
  return k == n;
}
static int extent_of(const char *name, size_t n) {
  for (const char *c = line; c < end; c += word(c) ? word(c) : 1) {
    size_t length = word(c);
    int k = length ? tensor_named(c, length) : -1, d = 0;
    if (k < 0) continue;
    const char *at = c + length, *from;
    if (is(at, ".grad")) at += 5;
    if (is(at, ".flat[")) return (int)tensor[k].node->size;
    if (*at != '[') continue;
    from = at + 1;
    for (int depth = 1; depth > 0;) {              /* `from` begins an index of the tensor */
      at++;
      depth += (*at == '[') - (*at == ']');
      if (depth > 0 && (depth > 1 || *at != ',')) continue;
      if ((size_t)(at - from) == n && same_index(from, name, n)) return tensor[k].node->dim[d];
      from = at + 1;
      d++;
    }
  }
  for (const char *c = line; c < end; c += word(c) ? word(c) : 1)          /* DI<2 */
    if (word(c) == n && same_index(c, name, n) && c[n] == '<' && isdigit((unsigned char)c[n + 1]))
      return atoi(c + n + 1);
  return 0;
}

/* Reads bounds such as `| i<28, S<=t`. */
static int bound_of(const char *name, size_t n) {
  int extent = extent_of(name, n);
  for (const char *c = line; c < end; c += word(c) ? word(c) : 1) {
    const char *sign = c + n;
    if (word(c) != n || memcmp(c, name, n) || *sign != '<') continue;
    if (c > line && c[-1] != ' ' && c[-1] != ',') continue;
    if (sign[1] != '=') return atoi(sign + 1);
    int other = letter_named(sign + 2, word(sign + 2));
    return other < 0 ? extent : letter_value[other] + 1;
  }
  if (!extent) wrong(name, "the extent of an index is unknown");
  return extent;
}

/* ---- Expressions */

static int positions;                        /* above 0 in the brackets of a tensor */
static double sum_of(const char **at);
static double power(const char **at);
static double product(const char **at, int implicit);

static double number_of(const char **at) {
  char *after;
  double x = strtod(*at, &after);
  *at = after;
  return x;
}

/* Returns the flat place of name[...], or -1 outside of the tensor. */
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
  positions++;
  for (int d = 0; d < x->rank; d++) {
    ptrdiff_t i = (ptrdiff_t)floor(sum_of(&c) + 0.5);
    outside |= i < 0 || i >= x->dim[d];
    flat = flat * x->dim[d] + i;
    if (*c++ != (d + 1 < x->rank ? ',' : ']')) wrong(c, "another number of indices");
  }
  positions--;
  *at = c;
  return outside ? -1 : flat;
}

static double entry(int k, const char **at) {
  int grad = is(*at, ".grad");
  if (grad) *at += 5;
  ptrdiff_t i = place(tensor[k].node, at);
  return i < 0 ? 0 : grad ? tensor[k].grad[i] : tensor[k].value[i];
}

/* The mask of a Dropout is 0 where the node has computed a 0. */
static double mask(const char **at) {
  ptrdiff_t i = place(current, at);
  return i >= 0 && current->value[i] != 0;
}

/* The rest of sum_{J,K}, mean_J, variance_J or max_J: runs over the letters from c on. */
static double over_letters(const char *c, const char **at, const char *body, double *squares,
                           double *n, double *most) {
  double total = 0;
  size_t length = word(c);
  if (!length) {
    *at = body;
    double x = product(at, 1);
    *squares += x * x;
    *n += 1;
    if (x > *most) *most = x;
    return x;
  }
  const char *next = c + length + (c[length] == ',' || c[length] == '}');
  EACH(c, length)
    total += over_letters(*next == ' ' ? "" : next, at, body, squares, n, most);
  return total;
}

static double operator_at(const char **at) {
  const char *name = *at, *body = strchr(name, '_') + 1, *letters = body + (*body == '{');
  double squares = 0, n = 0, most = -HUGE_VAL;
  while (*body != ' ') body++;
  double total = over_letters(letters, at, blanks(body), &squares, &n, &most);
  if (is(name, "sum_")) return total;
  if (is(name, "max_")) return most;
  if (is(name, "mean_")) return total / n;
  return squares / n - total / n * (total / n);
}

/* Conditions: [k = y[b]], [x > 0], and [the first greatest], which has no ties here. */
static double condition(const char **at) {
  const char *c = *at + 1;
  if (is(c, "the first greatest]")) {
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
  if (equal && sign != '=' && a == b) return 1;
  return sign == '>' ? a > b : sign == '=' ? a == b : a < b;
}

static double function(const char *name, const char **at) {
  double x = sum_of(at), y = 0;
  if (**at == ',') {
    *at = blanks(*at + 1);
    y = sum_of(at);
  }
  if (*(*at)++ != ')') wrong(*at, "no closing bracket");
  if (is(name, "exp(")) return exp(x);
  if (is(name, "sigmoid(")) return 1 / (1 + exp(-x));
  if (is(name, "gelu(")) return x / (1 + exp(-sqrt(8 / acos(-1)) * (x + 0.044715 * x * x * x)));
  if (is(name, "abs(")) return fabs(x);
  if (is(name, "ln(")) return log(x);
  if (is(name, "tanh(")) return tanh(x);
  if (is(name, "sqrt(")) return sqrt(x);
  if (is(name, "sin(")) return sin(x);
  if (is(name, "cos(")) return cos(x);
  if (is(name, "max(")) return fmax(x, y);
  if (is(name, "min(")) return fmin(x, y);
  wrong(name, "an unknown function");
  return 0;
}

/* A name that is defined behind the statement: ", s = ...". */
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
  if (*c == '-') return ++*at, -power(at);
  if (*c == '(') {
    ++*at;
    double x = sum_of(at);
    ++*at;
    return x;
  }
  if (*c == '[') return condition(at);
  if (isdigit((unsigned char)*c) || *c == '.') return number_of(at);
  if (is_operator(c)) return operator_at(at);
  *at += n;
  if (**at == '(') {
    ++*at;
    return function(c, at);
  }
  if (is(c, "ln ")) return log(primary(at));
  if (is(c, "pi")) return acos(-1);
  if (is(c, "mask[")) return mask(at);
  if (isupper((unsigned char)*c) && !positions && tensor_named(c, n) < 0 && (k = extent_of(c, n)) > 0)
    return k;
  if (*c == 'B' && n == 1 && !positions && tensor_named(c, n) < 0) return tensor->node->dim[0];
  if ((k = letter_named(c, n)) >= 0 && **at != '[') return letter_value[k];
  if ((k = tensor_named(c, n)) >= 0) return entry(k, at);
  return defined(c, n);
}

static double power(const char **at) {
  double x = primary(at);
  if (**at != '^') return x;
  ++*at;
  return pow(x, primary(at));
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

/* Returns what is behind the bracket at c and its end, or c. */
static const char *skip(const char *c, char opens, char closes) {
  int depth = 0;
  do depth += (*c == opens) - (*c == closes); while (c++, depth);
  return c;
}

/* Finds a capital letter that nothing binds outside of brackets: the product sums over it. */
static const char *unbound(const char *c, size_t *n) {
  int depth = 0;
  for (const char *begin = c; c < end && depth >= 0 && (depth || !strchr("|;),<>=", *c));
       c += *n ? *n : 1) {
    *n = word(c);
    if (*c == '(') c = skip(c, '(', ')') - 1;
    if (*c == '[' && (c == begin || strchr(" (-", c[-1]))) c = skip(c, '[', ']') - 1;
    else depth += (*c == '[') - (*c == ']');
    if (!depth && c[-1] == ' ' && strchr("+-", *c) && c[1] == ' ') return NULL;
    if (is_operator(c)) return NULL;
    if (!*n || !depth || c[*n] == '[' || letter_named(c, *n) >= 0) continue;
    if (*c >= 'A' && *c <= 'Z' && (tensor_named(c, *n) < 0 || c[*n] != '.')) return c;
  }
  return NULL;
}

static double product(const char **at, int implicit) {
  size_t n = 0;
  const char *begin = *at, *c = implicit ? unbound(begin, &n) : NULL;
  if (!c) return factors(at);
  double total = 0;
  EACH(c, n) {
    *at = begin;
    total += product(at, 1);
  }
  return total;
}

static double sum_of(const char **at) {
  const char *c = blanks(*at);
  int minus = *c == '-' && c[1] != ' ' ? 0 : *c == '-';
  double total = 0;
  *at = c + minus;
  for (;;) {
    double x = product(at, !positions);
    total += minus ? -x : x;
    c = blanks(*at);
    if (!((*c == '+' || *c == '-') && c[1] != '=')) break;
    minus = *c == '-';
    *at = blanks(c + 1);
  }
  return total;
}

/* ---- Statements: `for b,i: x.grad[b,i] += ...`, or `y[b,i] = ...` for all b and i */

static void assign(const char *left, const char *right, char sign) {
  int k = tensor_named(left, word(left)), grad;
  if (k < 0) wrong(left, "no such tensor");
  left += word(left);
  grad = is(left, ".grad");
  left += grad ? 5 : 0;
  ptrdiff_t i = place(tensor[k].node, &left);
  double x = sum_of(&right);
  if (i < 0) return;
  tensor[k].shown = 1;
  (grad ? tensor[k].grad : tensor[k].value)[i] += sign == '-' ? -x : x;
}

static void loop(const char *const *name, const size_t *length, int n, const char *left,
                 const char *right, char sign) {
  if (n == 0) assign(left, right, sign);
  else EACH(*name, *length) loop(name + 1, length + 1, n - 1, left, right, sign);
}

/* Loops over the letters of "for b,i<28: ", or over all in the brackets on the left. */
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
      if (!w || !depth || known || c[w] == '[') continue;
      name[n] = c;
      length[n++] = w;
    }
  equals = strchr(left, '=');
  if (!equals || equals > to) wrong(left, "no statement");
  n_letters = positions = 0;
  loop(name, length, n, left, blanks(equals + 1), equals[-1]);
}

/* ---- Programs */

static void begin(void) {
  n_tensors = 0;
  edf_node **list[] = { edf.inputs, edf.parameters, edf.compnodes };
  int n[] = { edf.n_inputs, edf.n_parameters, edf.n_compnodes };
  for (int l = 0; l < 3; l++)
    for (int i = 0; i < n[l]; i++) {
      edf_node *x = list[l][i];
      if (n_tensors == NODES) abort();
      tensor[n_tensors].node = x;
      tensor[n_tensors].shown = l < 2;
      snprintf(tensor_name[n_tensors], sizeof *tensor_name, "%s", edf_label(x));
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
  CHECK(worst <= 3e-5 * largest + (EDF_REAL_IS_DOUBLE ? 1e-9 : 1e-6),
        "%s: %s of %s, a %s: %g off of %g", program, what, x->name, x->op, worst, largest);
}

/* A line begins with the number of its node, or with blanks. */
static const char *line_of(const char *c, int *number) {
  char *after;
  long i = strtol(c, &after, 10);
  if (after == c || !isdigit((unsigned char)*blanks(c))) return c;
  *number = (int)i;
  return after;
}

/* Runs the program and its printed lines, and compares all values and gradients. */
static void evaluate(const char *what, edf_node *loss) {
  int number = 0, backward = 0;
  program = what;
  edf_forward();
  edf_backward(loss);
  for (int i = 0; i < edf.n_compnodes; i++)      /* shows all steps */
    if (edf.compnodes[i]->written) edf.compnodes[i]->written->later = 0;
  CAPTURE(edf_print_program(stdout));
  begin();
  for (size_t i = 0; i < loss->size; i++)        /* the loss is the last tensor */
    tensor[n_tensors - 1].grad[i] = 1 / (double)loss->size;
  const char *c = strstr(captured, "forward\n") + 8;
  while (*c) {
    const char *stop = c + strcspn(c, "\n"), *next = stop + 1;
    const char *from = line_of(c, &number), *s = from;
    current = edf.compnodes[number];
    while (s < stop && !(is(s, "   ") && is(s + 3, current->op))) s++;
    if (is(c, "  ") && c[2] != ' ' && !isdigit((unsigned char)c[2])) from = stop;  /* heading */
    else if (!backward) stop = s;                /* without "   Op [shape]   file:line" */
    else if (from > c) from = stop;              /* a numbered line has only the name */
    if (is(c, "backward\n")) {
      backward = 1;
      from = stop;
    }
    while (from < stop) {
      const char *semicolon = (const char *)memchr(from, ';', (size_t)(stop - from));
      statement(from, semicolon ? semicolon : stop);
      from = semicolon ? semicolon + 1 : stop;
    }
    c = next;
  }
  for (int k = 0; k < n_tensors; k++) {
    edf_node *x = tensor[k].node;
    int inner = !strcmp(x->op, "Pad") || !strcmp(x->op, "Product");
    CHECK(tensor[k].shown || inner, "%s: %s is not printed", what, x->name);
    if (!tensor[k].shown) continue;              /* It is written inside a line. */
    if (x->kind == EDF_COMPNODE) compare("the value", x, x->value, tensor[k].value);
    if (x->grad && x->active) compare("the gradient", x, x->grad, tensor[k].grad);
  }
  finish();
}

/* ---- The programs: models, and texts. Their last node is the loss. */

enum { MOST = 1 << 16, STEPS = 20 };

static const struct { const char *tensors, *text; } texts[] = {
  { "x[b,5]", "h[b,j] = sig( W0[j,I] x[b,I] - C0[j] ) | j<4" },
  { "Phi[4] x[4] y", "L = (Phi[J] x[J] - y)^2" },
  { "L[b,6,6,2] W[2,2,2,3]", "M[b,x,y,j] = W[DX,DY,I,j] L[b,2*x+DX,2*y+DY,I]" },
  { "x[b,3,3,2] W[2,2,4,2]", "M[b,2*x+DX,2*y+DY,i] = W[DX,DY,i,J] x[b,x,y,J]" },
  { "A[b,3] C[b,2]", "L[b,J+K] = A[b,J] ; C[b,K]" },
  { "W[4,3,3] z[3]", "x[0,i] = z[i]\nx[t+1,i] = W[t,i,J] x[t,J] | t<4" },
  { "x[b,4,3]", "h[b,t,j] = tanh( V[j,I] h[b,t+1,I] + W[j,K] x[b,t,K] ) | j<3" },
  { "L[b,4,6]", "Q[b,k,t,i] = WQ[k,i,J] L[b,t,J] | k<2, i<3\n"
    "a[b,k,t,s] = softmax_s (1/sqrt I) Q[b,k,t,I] Q[b,k,s,I] | s<=t\n"
    "H[b,k,t,i] = a[b,k,t,S] Q[b,k,S,i]\nN[b,t,j] = W0[j,(K,I)] H[b,K,t,I] | j<6" },
  { "x[b,4]", "m[b] = mean_i x[b,i]\nv[b] = variance_i x[b,i]\n"
    "y[b,i] = A[i] (x[b,i] - m[b]) / sqrt(v[b] + 1e-5) + B[i]" },
  { "x[b,2,3,4]", "q[b,t,s,j] = logsoftmax_s x[b,t,s,j]\nr[b,t,s,j] = normalize_j(q[b,t,s,j], "
    "1e-2)\nm[b,t,j] = max_s r[b,t,s,j]" },
  { "x[4] C[3]", "a[t] = 0.5 h[t-1]\nh[t] = x[t] + a[t]\nfor t,i: z[t] += h[t] C[i] / (1+T)"
    "\nz[t] += 1/2 h[t]" },
  { "v[5] a[5]=3", "o[a[i]] += v[i] | a<3\nz = o[I] o[I]" },
  { "x[b,4] u[4] k[b]=4", "h[b,j] = relu(V[j,I] x[b,I]) + sum_i (tanh(x[b,i])^2 - u[i]^2 - 1) "
    "- sigmoid(u[I] x[b,I]) | j<3\nq[b] = mean_i (x[b,i] - u[i])^2 - gelu(u[I] x[b,I]) u[1]\n"
    "v[j] = (1/(B-1)) sum_b (h[b,j] - x[b,0])^2 / 2 + u[0] variance_b h[b,j]\n"
    "p[b] = max(q[b], u[k[b]] - 1)^2 - (q[b] - x[b,0]) / sqrt(u[I] u[I] + 1)\n"
    "y[b,j] = p[b] exp(-tanh(v[j]) (u[3] - tanh(p[b]))) - abs(h[b,j] - v[j])" },
  { "s[b,4] W[4,2]", "y[b,j] += W[i,j] s[b,i]\ny[b,j] -= W[0,j] s[b,0]\nz[b] = y[b,J] y[b,J]" }
};

enum { TEXTS = sizeof texts / sizeof *texts };

/* Builds model k, or behind the models text k - MODELS, and returns its name. */
static const char *build(int k) {
  edf_seed((unsigned)k + 1);
  declare_plain(k < MODELS ? models[k].tensors : texts[k - MODELS].tensors);
  if (k < MODELS) models[k].build();
  else edf_equations("%s", texts[k - MODELS].text);
  return k < MODELS ? edf_fmt("model %d", k) : texts[k - MODELS].text;
}

static edf_node *last(void) { return edf.compnodes[edf.n_compnodes - 1]; }

TEST(what_is_printed_is_what_runs) {
  for (int k = 0; k < MODELS + TEXTS; k++) {
    const char *what = build(k);
    evaluate(what, last());
  }
}

/* ---- Equal steps */

/* Returns the number of lines that edf_print_program writes. */
static int printed_lines(void) {
  int lines = 0;
  CAPTURE(edf_print_program(stdout));
  for (const char *c = captured; *c; c++) lines += *c == '\n';
  return lines;
}

TEST(equal_steps_are_printed_once) {
  declare_plain("x[b,20,3] V[3,3]");
  edf_equations("h[b,t,j] = tanh(V[j,I] h[b,t-1,I] + x[b,t,j])");
  printed_lines();
  WORDS(captured, "  h[b,t,j] = tanh(V[j,I] h[b,t-1,I] + x[b,t,j])   [t=0]\n|  [t=1]\n|"
        "3  h@3[b,j] = tanh(h2[b,j])|  [t=2 to t=19] the same: nodes 4 to 39\n|"
        "  [t=19 to t=2] the same: nodes 39 to 4\n  [t=1]\n|1  h@1");
  CHECK(!strstr(captured, "x[b,2,j]"), "the third step is printed:\n%s", captured);
}

/* A line is a heading. Below it are the nodes that run. */
TEST(lines_are_headings) {
  declare_plain("x[b,3] y[b,20,3]");
  edf_equations("h[b,t,j] = tanh( y[b,t,j]  + h[b,t-1,j])\n"
                "m[j] = mean_b x[b,j]\n"
                "v[j] = mean_b (x[b,j] - m[j])^2\n"
                "z[b,j] = A[j] (x[b,j] - m[j]) / sqrt(v[j] + 1e-5) + C[j]");
  printed_lines();
  WORDS(captured, "  h[b,t,j] = tanh( y[b,t,j] + h[b,t-1,j])   [t=0]\n|"
        "  v[j] = mean_b (x[b,j] - m[j])^2\n|"
        "  z[b,j] = A[j] (x[b,j] - m[j]) / sqrt(v[j] + 1e-5) + C[j]\n|\nbackward\n|  z\n|"
        "  z[b,j] = A[j]");
}

/* Nodes are not equal if they have other numbers, names or tensors. */
TEST(other_nodes_are_printed) {
  declare_plain("x[b,3] a[3] c[3]");
  edf_node *y = edf_find("x");
  for (int k = 0; k < 12; k++) y = LeakyRelu(y, k == 6 ? 0.25 : 0.125);
  for (int k = 0; k < 12; k++) y = edf_name(Tanh(y), edf_fmt("%c", 'A' + k));
  for (int k = 0; k < 12; k++) y = edf_name(Mul(y, edf_find(k == 6 ? "a" : "c")), "y");
  int lines = printed_lines();
  CHECK(!strstr(captured, "more times") && lines > 36, "%d lines:\n%s", lines, captured);
}

/* ---- Only the backward that runs is printed */

/* Prints the program, and checks the words after "backward". One with a ! must be missing. */
static void prints_backward(const char *words) {
  char word[200];
  CAPTURE(edf_print_program(stdout));
  const char *back = strstr(captured, "\nbackward\n");
  CHECK(back, "no backward in\n%s", captured);
  for (size_t n; back && *words; words += n + (words[n] == '|')) {
    n = strcspn(words, "|");
    snprintf(word, sizeof word, "%.*s", (int)n, words);
    if (*word == '!') CHECK(!strstr(back, word + 1), "%s in\n%s", word, captured);
    else WORDS(back, word);
  }
}

#define PRINTS_AS_BEFORE(then, words)                                          \
  do {                                                                         \
    prints_backward(words);                                                    \
    strcpy(before, captured);                                                  \
    then;                                                                      \
    prints_backward(words);                                                    \
    CHECK(!strcmp(before, captured), "before\n%s\nafter\n%s", before, captured); \
  } while (0)

TEST(only_the_backward_that_runs_is_printed) {
  static char before[sizeof captured];
  declare_plain("x[b,3] y[b]=2");
  edf_node *loss = edf_equations("h[b,j] = tanh(W[j,I] x[b,I]) | j<4\n"
                                 "P[b,k] = softmax_k V[k,J] h[b,J] | k<2\n"
                                 "d[b] = h[b,J] h[b,J]\nloss[b] = -ln P[b,y[b]]");
  edf_node *d = edf_find("d"), *P = edf_find("P"), *W = edf_find("W");
  Forward();
  PRINTS_AS_BEFORE(Backward(loss), "V.grad[k,j] += P2.grad[b,k] h[b,j]|!P.grad|!d.grad");
  CAPTURE(edf_print_node(stdout, P));
  CHECK(!strstr(captured, "+="), "%s", captured);
  WORDS(captured, "loss does not depend on P");
  prints_backward("!d.grad");
  PRINTS_AS_BEFORE(W->update = edf_frozen; Backward(loss); W->update = NULL, "W.grad");
  W->update = edf_frozen;
  PRINTS_AS_BEFORE(Backward(loss), "V.grad|!W.grad");
  W->update = NULL;
  PRINTS_AS_BEFORE(Backward(d); Backward(loss), "P2.grad");
  Backward(d);
  prints_backward("h.grad[b,j] += 2 d.grad[b] h[b,j]|!loss.grad|!P2.grad");
}

/* A node after the loss that has no gradient is not the loss. */
TEST(a_test_after_the_loss_is_not_the_loss) {
  declare_plain("x[b,3] y[b,2]");
  edf_equations("s[b,k] = W[k,I] x[b,I] | k<2\nloss[b] = sum_k (s[b,k] - y[b,k])^2\n"
                "guess[b] = argmax_k s[b,k]");
  prints_backward("W.grad[k,i] += s.grad[b,k] x[b,i]");
  Forward();
  CHECK(edf_step_backward() == edf_find("loss"), "a step begins with the loss");
}

/* To print between two steps does not change which nodes run. */
TEST(printing_does_not_change_a_pass) {
  static edf_real grad[8];
  declare_plain("x[b,3] V[2,3]");
  edf_node *x = edf_find("x"), *V = edf_find("V");
  edf_node *s = edf_einsum("s[b,j] = V[j,I] x[b,I]", V, x), *loss = Square(s), *other = Tanh(s);
  Forward();
  Backward(loss);
  memcpy(grad, V->grad, V->size * sizeof *grad);
  edf_step_forward();
  CAPTURE(edf_print_program(stdout); edf_where(); edf_print_node(stdout, s));
  CHECK(edf_step_forward() == loss && edf_step_forward() == other, "not all nodes run");
  CHECK(!edf_step_forward() && s->active && other->active, "the marks of Forward");
  CHECK(edf_step_backward() == loss, "the loss runs backward");
  V->update = edf_frozen;
  CAPTURE(edf_print_program(stdout); edf_where(); edf_print_node(stdout, s));
  V->update = NULL;
  CHECK(edf_step_backward() == s && !edf_step_backward(), "not all nodes run backward");
  CHECK(!memcmp(grad, V->grad, V->size * sizeof *grad), "other gradients");
}

/* ---- Nodes of the user's own */

static void cube_forward(CompNode *y) {
  const edf_real *x = y->in[0]->value;
  for (size_t i = 0; i < y->size; i++) y->value[i] = x[i] * x[i] * x[i];
}

static void cube_backward(CompNode *y) {
  const edf_real *x = y->in[0]->value;
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, 3 * y->grad[i] * x[i] * x[i]);
}

static CompNode *own(edf_node *a, edf_node *b) {
  CompNode *y = b ? edf_compnode("Mine", cube_forward, cube_backward, a, b)
                  : edf_compnode("Mine", cube_forward, cube_backward, a);
  return edf_name(y, "y");
}

TEST(a_formula_of_a_users_node_runs) {
  declare_plain("x[b,3]");
  CompNode *y = own(edf_find("x"), NULL);
  CHECK(edf_formula(y, "y[b,i] = x[b,i]^3", "for b,i: x.grad[b,i] += 3 y.grad[b,i] x[b,i]^2")
        == y,
        "it returns the node");
  evaluate("an own formula", Mean(y));
}

/* ---- Printed equations, read again */

/* Copies all parameters into the array, or out of it, and returns how many numbers they are. */
static size_t parameters(edf_real *at, int into) {
  size_t n = 0;
  for (int i = 0; i < edf.n_parameters; n += edf.parameters[i++]->size) {
    Parameter *p = edf.parameters[i];
    memcpy(into ? at + n : p->value, into ? p->value : at + n, p->size * sizeof *at);
  }
  return n;
}

static size_t train(edf_real *to) {
  edf_seed(5);
  for (int step = 0; step < STEPS; step++) {
    Forward();
    Backward(last());
    edf_adam((edf_real)0.003, (edf_real)0.9, (edf_real)0.99, (edf_real)1e-8);
  }
  size_t n = parameters(to, 1);
  memcpy(to + n, last()->value, last()->size * sizeof *to);
  return n + last()->size;
}

static void print_equations(char *to) {
  CAPTURE(edf_print_equations(stdout));
  snprintf(to, MOST, "%s", captured);
}

static void both_ways(const char *what) {
  static char text[2][MOST];
  static edf_real start[MOST], found[2][MOST];
  const edf_real *data[12];
  int rows[12], n_data = edf.n_inputs;
  for (int i = 0; i < n_data; i++) {
    data[i] = edf.inputs[i]->value;
    rows[i] = edf.inputs[i]->fed;
  }
  parameters(start, 1);
  print_equations(text[0]);
  size_t n = train(found[0]);
  edf_clear();
  edf_equations("%s", text[0]);
  print_equations(text[1]);
  CHECK(!strcmp(text[0], text[1]), "%s:\n%s\nis read as\n%s", what, text[0], text[1]);
  parameters(start, 0);
  for (int i = 0; i < n_data; i++) edf_feed(edf_want_grad(edf.inputs[i]), data[i], rows[i]);
  size_t again = train(found[1]);
  CHECK(n == again && !memcmp(found[0], found[1], n * sizeof **found),
        "%s: other numbers from\n%s", what, text[0]);
  edf_clear();
}

TEST(printed_equations_give_the_same_bits) {
  for (int k = MODELS; k < MODELS + TEXTS; k++) {
    const char *what = build(k);
    both_ways(what);
  }
}

TEST(one_parameter_has_one_number) {
  edf_node *w = edf_parameter("w");
  Tanh(w);
  CAPTURE(edf_print_program(stdout));
  WORDS(captured, "parameters, 1 number\n");
  edf_parameter("v[3]");
  CAPTURE(edf_print_program(stdout));
  WORDS(captured, "parameters, 4 numbers\n");
  edf_clear();
}

/* A scalar is a row of one number. It has no index. */
TEST(sums_of_a_scalar_are_printed) {
  edf_node *x = edf_parameter("x");
  edf_node *y = edf_name(edf_sum(x), "y"), *z = edf_name(edf_mean(y), "z");
  evaluate("sums of a scalar", edf_mul(z, z));
}

/* The search for the names of indices visits many nodes twice, but it ends. */
TEST(a_long_chain_is_printed) {
  edf_node *y = edf_parameter("x[3]");
  for (int k = 0; k < 60; k++) y = edf_add(y, edf_tanh(y));
  CAPTURE(edf_print_program(stdout));
  WORDS(captured, "Add1[i] = x[i] + Tanh0[i]");
  edf_clear();
}

/* Row t of a causal softmax or its logarithm uses only its first t+1 entries. */
TEST(causal_rows_have_bounds) {
  declare_plain("x[3,3] m[3,3]");
  edf_equations("P[t,s] = softmax_s x[t,s] | s<=t\nQ[t,s] = ln P[t,s]\n"
                "z = sum_{t,s} Q[t,s] m[t,s] + sum_{t,s} P[t,s] m[t,s] | s<=t");
  CAPTURE(edf_print_program(stdout));
  WORDS(captured, "exp(x[t,s]) / sum_S exp(x[t,S]) | s<=t, S<=t|ln(1[s <= t]) | S<=t|"
        "exp(Q[t,s]) sum_S Q.grad[t,S] | s<=t, S<=t");
  edf_clear();
}

int main(void) { return harness_main(); }
