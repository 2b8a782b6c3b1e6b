/* interpreter.h - a small interpreter of what edf_print_program prints. It knows nothing of the
   kernels. It evaluates the printed lines, forward and backward, and all values and gradients
   have to come out the same as those of the nodes. B is the batch size. */

#ifndef INTERPRETER_H
#define INTERPRETER_H

#include "harness.h"
#include "edf/slide.h"
#include <ctype.h>

enum { NODES = 400, LETTERS = 24 };

/* ---- The tensors as the interpreter has computed them so far */

static struct { edf_node *node; double *value, *grad; int shown; } tensor[NODES];
static char tensor_name[NODES][40];
static int n_tensors;

static const char *this_line, *end;          /* the statement that runs */
static edf_node *current;                    /* the node that it belongs to */

static const char *program;                  /* what is told where a check fails */
static double print_error = 3e-5;            /* numbers are printed with six digits */

static void wrong(const char *at, const char *what) {
  CHECK(0, "%s: %s at \"%.40s\" in\n  %.*s", program, what, at, (int)(end - this_line),
        this_line);
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

/* A tensor B[j] may stand in a line beside the batch size B. */
static int tensor_named(const char *c, size_t n) {
  int k = find(tensor_name, n_tensors, c, n);
  return k < 0 || !tensor[k].node->rank || c[n] == '[' || c[n] == '.' ? k : -1;
}

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

static int is(const char *c, const char *what) { return !strncmp(c, what, strlen(what)); }
static int in_word(unsigned char c) { return isalnum(c) || c == '_' || c >= 0x80; }
static size_t word(const char *c) {
  size_t n = 0;
  if (isdigit((unsigned char)*c)) return 0;
  while (in_word((unsigned char)c[n]) || (n && (c[n] == '@' || c[n] == '\''))) n++;
  return n;
}
/* The second letter of a name such as dX, written with a Greek delta, makes it a capital. */
static int is_capital(const char *c) {
  c += is(c, "\xce\x94") ? 2 : 0;
  return isupper((unsigned char)*c);
}
static int is_operator(const char *c) {
  return is(c, "sum_") || is(c, "max_") || is(c, "prod_") || is(c, "mean_") || is(c, "variance_") ||
         is(c, "argmax_");
}
static const char *blanks(const char *c) { return c + strspn(c, " "); }

/* ---- Extents. An index runs over a dimension in which it stands alone, or to its bound. */

static int same_index(const char *a, const char *b, size_t n, int exactly) {
  size_t k = 0;
  while (k < n && (exactly ? a[k] == b[k]
                           : tolower((unsigned char)a[k]) == tolower((unsigned char)b[k]))) k++;
  return k == n;
}
static int extent_in(const char *name, size_t n, int exactly) {
  for (const char *c = this_line; c < end; c += word(c) ? word(c) : 1) {
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
      if ((size_t)(at - from) == n && same_index(from, name, n, exactly))
        return tensor[k].node->dim[d];
      from = at + 1;
      d++;
    }
  }
  for (const char *c = this_line; c < end; c += word(c) ? word(c) : 1)
    if (word(c) == n && c[n] == '<' && isdigit((unsigned char)c[n + 1]) &&      /* DI<2 */
        same_index(c, name, n, exactly)) return atoi(c + n + 1);
  return 0;
}

static int extent_of(const char *name, size_t n) {
  int extent = extent_in(name, n, 1);            /* T and t are two indices of a[t,T].  */
  return extent ? extent : extent_in(name, n, 0);
}

/* Reads bounds such as `| i<28, S<=t`. */
static int bound_of(const char *name, size_t n) {
  int extent = extent_of(name, n);
  for (const char *c = this_line; c < end; c += word(c) ? word(c) : 1) {
    const char *sign = c + n;
    if (word(c) != n || memcmp(c, name, n) || *sign != '<') continue;
    if (c > this_line && c[-1] != ' ' && c[-1] != ',') continue;
    int or_equal = sign[1] == '=', other;
    if (isdigit((unsigned char)sign[1])) return atoi(sign + 1);
    sign += 1 + or_equal;
    other = letter_named(sign, word(sign));
    return other < 0 ? extent : letter_value[other] + or_equal;
  }
  if (!extent) wrong(name, "the extent of an index is unknown");
  return extent;
}

/* ---- Expressions */

static int positions;                        /* above 0 in the brackets of a tensor */
static int beyond;                           /* 1: a tensor in such brackets was read outside */
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
    beyond = 0;
    ptrdiff_t i = (ptrdiff_t)floor(sum_of(&c) + 0.5);
    outside |= beyond || i < 0 || i >= x->dim[d];
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
  beyond = i < 0;
  return i < 0 ? 0 : grad ? tensor[k].grad[i] : tensor[k].value[i];
}

/* The mask of a Dropout is 0 where the node has computed a 0. */
static double mask(const char **at) {
  ptrdiff_t i = place(current, at);
  return i >= 0 && current->value[i] != 0;
}

/* The sums and the maximum of the n entries so far: for sum_{J,K}, mean_J, variance_J, max_J,
   argmax_J and prod_J. */
typedef struct { double n, total, squares, most, first, product; } entries;

/* The rest of such an operator: runs over the letters from c on. */
static void over_letters(const char *c, const char **at, const char *body, entries *all) {
  size_t length = word(c);
  if (length) {
    const char *next = c + length, *other = is(next, "!=") ? next + 2 : NULL;    /* {J!=j}  */
    int k = other ? letter_named(other, word(other)) : -1;
    if (other) next = other + word(other);
    next += *next == ',' || *next == '}';
    EACH(c, length)
      if (k < 0 || letter_value[k] != letter_value[n_letters - 1])
        over_letters(*next == ' ' ? "" : next, at, body, all);
    if (k >= 0 && all->n == 0) *at = body, product(at, 1);           /* It is not counted. */
    return;
  }
  *at = body;
  double x = product(at, 1);
  if (x > all->most) all->most = x, all->first = all->n;
  all->n++;
  all->total += x;
  all->product *= x;
  all->squares += x * x;
}

static double operator_at(const char **at) {
  const char *name = *at, *body = strchr(name, '_') + 1, *letters = body + (*body == '{');
  entries all = { .most = -HUGE_VAL, .product = 1 };
  while (*body != ' ') body++;
  over_letters(letters, at, blanks(body), &all);
  double mean = all.total / all.n;
  if (is(name, "sum_")) return all.total;
  if (is(name, "prod_")) return all.product;
  if (is(name, "max_")) return all.most;
  if (is(name, "argmax_")) return all.first;
  return is(name, "mean_") ? mean : all.squares / all.n - mean * mean;
}

static double comparison(const char **at) {
  double a = sum_of(at);
  const char *c = blanks(*at);
  char sign = *c;
  int equal = c[1] == '=';
  *at = blanks(c + 1 + equal);
  double b = sum_of(at);
  if (sign == '!') return a != b;
  if (equal && sign != '=' && a == b) return 1;
  return sign == '>' ? a > b : sign == '=' ? a == b : a < b;
}
/* Conditions: [k = y[b]], [x > 0], and [the first greatest]. The last one gives NaN if another
   entry is as great: which one comes first is not looked at. */
static double condition(const char **at) {
  const char *c = *at + 1;
  if (is(c, "the first greatest]")) {
    const char *loops = strchr(this_line, ':');
    const char *left = loops ? blanks(loops + 1) : this_line;
    int x = tensor_named(left, word(left)), y;
    left += word(left) + 5;
    ptrdiff_t from = place(tensor[x].node, &left);
    *at = c + 19;
    c = blanks(*at);
    y = tensor_named(c, word(c));
    c += word(c) + 5;
    ptrdiff_t to = place(tensor[y].node, &c);
    double most = tensor[y].value[to];
    if (tensor[x].value[from] != most) return 0;
    for (size_t i = 0; i < tensor[x].node->size; i++)
      if ((ptrdiff_t)i != from && tensor[x].value[i] == most) return NAN;
    return fabs(most) < HUGE_VAL ? 1 : NAN;
  }
  double is_true = comparison(&c);
  if (*c != ']') wrong(c, "a condition does not end");
  *at = c + 1;
  return is_true;
}

static double function(const char *name, const char **at) {
  int where = is(name, "where(");
  double x = where ? comparison(at) : sum_of(at), y = 0, z = 0;
  if (**at == ',') {
    *at = blanks(*at + 1);
    y = sum_of(at);
  }
  if (where && **at == ',') {
    *at = blanks(*at + 1);
    z = sum_of(at);
  }
  if (*(*at)++ != ')') wrong(*at, "no closing bracket");
  if (where) return x != 0 ? y : z;
  if (is(name, "exp(")) return exp(x);
  if (is(name, "stop(")) return x;
  if (is(name, "erf(")) return erf(x);
  if (is(name, "log1p(")) return log1p(x);
  if (is(name, "expm1(")) return expm1(x);
  if (is(name, "sigmoid(")) return 1 / (1 + exp(-x));
  if (is(name, "gelu(")) return x / (1 + exp(-sqrt(8 / acos(-1)) * (x + 0.044715 * x * x * x)));
  if (is(name, "abs(")) return fabs(x);
  if (is(name, "ln(")) return log(x);
  if (is(name, "tanh(")) return tanh(x);
  if (is(name, "sqrt(")) return sqrt(x);
  if (is(name, "floor(")) return floor(x);
  if (is(name, "sin(")) return sin(x);
  if (is(name, "cos(")) return cos(x);
  if (is(name, "max(")) return fmax(x, y);
  if (is(name, "min(")) return fmin(x, y);
  wrong(name, "an unknown function");
  return 0;
}

/* A name that is defined behind the statement: ", s = ...". */
static double defined(const char *name, size_t n) {
  for (const char *c = this_line; c + n < end; c++)
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
  if (is_capital(c) && !positions && tensor_named(c, n) < 0 &&
      (k = extent_of(c, n)) > 0) return k;
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
  return *c && c < end && !strchr("+-|,;)]=<>!\n", *c);
}

static double factors(const char **at) {
  double x = power(at);
  for (;;) {
    const char *c = blanks(*at);
    if (!goes_on(c)) return x;
    *at = c + (*c == '*' || *c == '/');
    double y = power(at);
    if (*c == '/' && x == 0 && y == 0) continue;  /* of a row without entries, as 0 */
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
  for (const char *named = c - 1; c < end && depth >= 0 && (depth || !strchr("|;),<>=", *c));
       c += *n ? *n : 1) {
    *n = word(c);
    if (*n) named = c + *n;
    if (*c == '(') c = skip(c, '(', ')') - 1;
    if (*c == '[' && named != c) c = skip(c, '[', ']') - 1;
    else depth += (*c == '[') - (*c == ']');
    if (!depth && c[-1] == ' ' && strchr("+-", *c) && c[1] == ' ') return NULL;
    if (is_operator(c)) return NULL;
    if (!*n || !depth || c[*n] == '[' || letter_named(c, *n) >= 0) continue;
    if (is_capital(c) && (tensor_named(c, *n) < 0 || c[*n] != '.')) return c;
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
  this_line = left;
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
  int written = tensor_named(left, word(left));
  if (written >= 0) tensor[written].shown = 1;   /* also if a bound excludes all entries */
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
    double error = ours[i] == theirs[i] ? 0 : fabs(ours[i] - theirs[i]);
    if (fabs(theirs[i]) < HUGE_VAL) largest = fmax(largest, fabs(theirs[i]));
    if (!(error <= worst)) worst = error;
  }
  CHECK(worst <= print_error * largest + (EDF_REAL_IS_DOUBLE ? 1e-9 : 1e-6),
        "%s: %s of %s, a %s: %g off of %g", program, what, x->name, x->op, worst, largest);
}

/* Returns 1 if the lines give a NaN: the slope of ln at an entry that a mask excludes. */
static int is_undefined(void) {
  int found = 0;
  for (int k = 0; k < n_tensors; k++)
    for (size_t i = 0; i < tensor[k].node->size; i++)
      found |= isnan(tensor[k].value[i]) || isnan(tensor[k].grad[i]);
  return found;
}

/* A line begins with the number of its node, or with blanks. */
static const char *line_of(const char *c, int *number) {
  char *after;
  long i = strtol(c, &after, 10);
  if (after == c || !isdigit((unsigned char)*blanks(c))) return c;
  *number = (int)i;
  return after;
}

/* Returns 1 if prints show the node inside of the line of another one. */
static int is_inner(const edf_node *x) {
  return !strcmp(x->op, "Pad") || !strcmp(x->op, "Product") ||
         !strcmp(x->op, "Number");
}
/* Runs the lines of a printed program from c on. A line "[t=3 to t=9] the same: nodes 36 to 700"
   stands for the lines of these nodes. */
static void run_lines(const char *c, int *backward) {
  int number = 0, first, last;
  while (*c) {
    const char *stop = c + strcspn(c, "\n"), *next = *stop ? stop + 1 : stop;
    const char *from = line_of(c, &number), *s = from, *fold = strstr(c, "] the same: node");
    int n = fold && fold < stop ? sscanf(fold + 16, "%*[s ]%d to %d", &first, &last) : 0;
    if (n == 1) last = first;
    for (int k = 0; n > 0 && k <= abs(last - first); k++) {
      edf_node *x = edf.compnodes[last < first ? first - k : first + k];
      edf_page page = { NULL, 0 };
      if (is_inner(x) || (*backward && !(x->active && x->needs_grad && x->backward))) continue;
      if (*backward) edf_write(&page, "%3d  %s\n", x->position, edf_label(x));
      else edf_write(&page, "%3d  ", x->position);
      edf_write_node(&page, x, *backward ? EDF_BACKWARD_LINES : EDF_FORWARD_LINE);
      run_lines(page.at, backward);
      edf_release(page.at);
    }
    current = edf.compnodes[number];
    while (s < stop && !(is(s, "   ") && is(s + 3, current->op))) s++;
    if (is(c, "  ") && c[2] != ' ' && !isdigit((unsigned char)c[2])) from = stop;  /* heading */
    else if (!*backward) stop = s;               /* without "   Op [shape]   file:line" */
    else if (from > c) from = stop;              /* a numbered line has only the name */
    if (is(c, "backward\n")) {
      *backward = 1;
      from = stop;
    }
    while (from < stop) {
      const char *semicolon = (const char *)memchr(from, ';', (size_t)(stop - from));
      statement(from, semicolon ? semicolon : stop);
      from = semicolon ? semicolon + 1 : stop;
    }
    c = next;
  }
}

/* Runs the program and its printed lines, and compares all values and gradients. Returns 0 and
   compares none if the lines give a NaN. Clears the graph. */
static inline int evaluate(const char *what, edf_node *loss) {
  int backward = 0, defined;
  program = what;
  edf_forward();
  TRY(edf_backward(loss));
  if (panicked) WORDS(caught, "the loss depends on no Parameter");
  CAPTURE(edf_print_program(stdout));
  begin();
  for (int k = 0; k < n_tensors; k++)
    for (size_t i = 0; i < loss->size && tensor[k].node == loss; i++)
      tensor[k].grad[i] = 1 / (double)loss->size;
  run_lines(strstr(captured, "forward\n") + 8, &backward);
  defined = !is_undefined();
  for (int k = 0; k < n_tensors && defined; k++) {
    edf_node *x = tensor[k].node;
    CHECK(tensor[k].shown || is_inner(x), "%s: %s is not printed", what, x->name);
    if (!tensor[k].shown) continue;              /* It is written inside a line. */
    if (x->kind == EDF_COMPNODE) compare("the value", x, x->value, tensor[k].value);
    if (x->grad && x->active) compare("the gradient", x, x->grad, tensor[k].grad);
  }
  finish();
  return defined;
}

#endif
