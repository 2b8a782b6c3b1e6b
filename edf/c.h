/* edf/c.h - v4.0 - writes a model as one C file without a framework, for edf.h

   A companion of edf.h. It includes edf/slide.h and edf/data.h, and uses only public names of
   edf.h. EDF_IMPLEMENTATION, defined in exactly one file, compiles its code too. MIT licence,
   like edf.h. */
#if !defined(EDF_DATA_4_H) || \
    (defined(EDF_IMPLEMENTATION) && !defined(EDF_LINKED) && !defined(EDF_DATA__IMPLEMENTED))
#include "data.h"
#endif
#if !defined(EDF_SLIDE_4_H) || \
    (defined(EDF_IMPLEMENTATION) && !defined(EDF_LINKED) && !defined(EDF_SLIDE__IMPLEMENTED))
#include "slide.h"
#endif
#ifndef EDF_C_4_H
#define EDF_C_4_H
#if EDF_VERSION != 400
#error "edf/c.h is version 4.0, and edf.h is another version: use one version of both"
#include "edf/c.h: another version"      /* This file does not exist: a compiler stops here.  */
#endif
#ifdef __cplusplus
extern "C" {
#endif
/* Writes `node` and all that it depends on as a C99 file that needs <math.h> only. Each tensor
   is a static array with the name of its node, and W.grad is W_grad. Parameters have their
   numbers. forward(B) computes all tensors for the first B rows of the Inputs. If the node is a
   loss, backward(B) computes the gradients of the mean of its entries, as edf_backward does,
   and step(eta) makes a step of SGD. A loss depends on a Parameter, and is what edf_backward
   was called with, or a scalar, or one number a row, or a node such as LogLoss. The file is a
   program, too: main is an example. With -DNO_MAIN it has none.
   The line of the slide is a comment, and below it stand its loops. Equal steps of a recurrence
   are a loop over t. Dropout and BatchNorm are as edf.training says. A node of your own becomes
   a call of two functions that you supply: the file declares them.
   MOST, the greatest B, is the batch of the last Forward, or 1: cc -DMOST=64 sets another.
   Errors: a node whose size depends on the batch, but is no multiple of it, and before the
   first Forward a Reshape that changes the batch. Then no file is written. */
void edf_write_c(const char *path, edf_node *node);

/* The same, but Parameters are 0. load(file) reads them from a file of edf_save. */
void edf_write_c_loading(const char *path, edf_node *node);

/* The same as edf_write_c, at the end of a text. */
void edf_write_c_text(edf_page *to, edf_node *node);
#ifdef __cplusplus
}
#endif
#endif /* EDF_C_4_H */

#if defined(EDF_IMPLEMENTATION) && !defined(EDF_LINKED) && !defined(EDF_C__IMPLEMENTED)
#define EDF_C__IMPLEMENTED
#ifdef __cplusplus
extern "C" {
#endif
/* ==== >>c  A model as a C file =============================================================
   A contraction becomes its loops. Other nodes have a template. */

/* Steps of a recurrence that differ only in numbers that grow with t. They are `times` times
   `period` nodes, from node `first` on. Node first + i of the step with number t = begin is an
   element of an array over t. */
typedef struct { int first, period, times, begin; } edf_c__loop;
typedef struct {
  edf_page out;
  edf_node *target, *y;                  /* the node that is asked for; that is being written */
  int batch, loss;
  char *used, *learns;                   /* of each value, see edf_c__of: 1 if it is needed;  */
                                         /* 1 if it has a gradient                            */
  const char **name;                     /* its name in the file                              */
  int *member;                           /* 1 + the number of its loop, or 0                  */
  edf_c__loop *loop;
  int n_loop;
  const edf_c__loop *in;                 /* the loop that is being written, or NULL           */
  int depth;
  const char *B, *t;                     /* the number of rows; the step of a recurrence      */
  int n;                                 /* indices of the nest: names and limits             */
  const char *index[EDF_MAX_INDEX], *limit[EDF_MAX_INDEX];
} edf_c__file;

static void edf_c__refuse(const edf_c__file *o, const char *why) {
  edf_stop("edf_write_c: %s cannot be written: %s\n  %s", o->y->op, why, edf_shown(o->y));
}
static const char *const edf_c__real = EDF_REAL_IS_DOUBLE ? "double" : "float";
static int edf_c__of(const edf_node *x) { return 3 * x->position + (int)x->kind; }
static edf_node *edf_c__node(int v) {
  edf_node **all[3] = { edf.inputs, edf.parameters, edf.compnodes };
  return all[v % 3][v / 3];
}
static const char *edf_c__text(const char *format, ...) EDF_SLIDE__PRINTF(1, 2);
static const char *edf_c__text(const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  size_t n = (size_t)vsnprintf(NULL, 0, format, args) + 1;
  char *text = (char *)edf_keep(NULL, n);
  vsnprintf(text, n, format, again);
  va_end(again);
  va_end(args);
  return text;
}
/* Writes a line at the present depth. */
#define edf_c__line(o, ...) \
  (edf_write(&(o)->out, "%*s", 2 * (o)->depth, ""), edf_write(&(o)->out, __VA_ARGS__), \
   edf_write(&(o)->out, "\n"))

/* ---- Names */
/* Words of C, names of the file, and functions of the headers. A name with f or l behind one
   of these is reserved, too: sinf, fmaxl. */
static const char edf_c__reserved[] =
  " auto break case char const continue default do double else enum extern float for goto if "
  "inline int long register restrict return short signed sizeof static struct switch typedef "
  "union unsigned void volatile while asm typeof linux unix i386 main forward backward step "
  "load eta most sum dot slope mean variance all rows keep seed draws MOST argc argv path__ "
  "file__ header__ size__ ok__ at__ read_numbers NAN INFINITY HUGE_VAL M_PI M_E EOF NULL "
  "stdin stdout stderr acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem "
  "erf erfc exp exp2 expm1 fabs fdim floor fma fmax fmin fmod frexp gamma hypot ilogb j0 j1 jn "
  "ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint "
  "nextafter nexttoward pow remainder remquo rint round scalb scalbln scalbn signgam "
  "significand sin sinh sqrt tan tanh tgamma trunc y0 y1 yn clearerr fclose feof ferror fflush "
  "fgetc fgetpos fgets fopen fprintf fputc fputs fread freopen fscanf fseek fsetpos ftell "
  "fwrite getc getchar gets perror printf putc putchar puts remove rename rewind scanf setbuf "
  "setvbuf snprintf sprintf sscanf tmpfile tmpnam ungetc abort abs atexit atof atoi atol "
  "bsearch calloc div exit free getenv index labs ldiv malloc mblen qsort rand realloc rindex "
  "srand strtod strtol system memchr memcmp memcpy memmove memset strcat strchr strcmp strcoll "
  "strcpy strcspn strlen strncat strncmp strncpy strpbrk strrchr strspn strstr strtok ";

/* Writes a name in C: L'_2 is L_prime_2, a Greek letter has its name. */
static void edf_c__spell(edf_page *to, const char *name) {
  static const char *const greek[] = { "alpha", "beta", "gamma", "delta", "epsilon", "zeta",
    "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi", "omicron", "pi", "rho",
    "sigma", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega" };
  const unsigned char *c = (const unsigned char *)name;
  if (!(*c >= 'A' && *c <= 'Z') && !(*c >= 'a' && *c <= 'z') && *c < 0x80) edf_write(to, "_");
  for (; *c; c++) {
    int code = (c[0] & 31) << 6 | (c[1] & 63);     /* of a letter of two bytes                */
    if ((*c >= 'A' && *c <= 'Z') || (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9'))
      edf_write(to, "%c", *c);
    else if (*c == '\'') edf_write(to, "_prime");
    else if ((c[0] & 0xFE) == 0xCE && code >= 0x391 && code <= 0x3C9 &&
             (code - 0x391) % 32 < 25) {
      const char *letter = greek[(code - 0x391) % 32];
      edf_write(to, "%c%s", code < 0x3B1 ? *letter - 'a' + 'A' : *letter, letter + 1);
      c++;
    } else if (*c < 0x80) edf_write(to, "_");
    else edf_write(to, "x%02X", *c);
  }
}
static int edf_c__is_reserved(const char *name) {
  size_t n = strlen(name);
  return strstr(edf_c__reserved, edf_c__text(" %s ", name)) ||
         (n > 3 && strchr("fl", name[n - 1]) &&
          strstr(edf_c__reserved, edf_c__text(" %.*s ", (int)n - 1, name)));
}
static int edf_c__is_name(const edf_c__file *o, const char *name, int most) {
  for (int v = 0; v < most; v++) {
    const char *other = o->name[v];
    size_t n = other ? strlen(other) : 0;
    if (n && !strncmp(name, other, n) &&
        (!name[n] || !strcmp(name + n, "_grad") || !strcmp(name + n, "_max"))) return 1;
    n = strlen(name);
    if (other && !strncmp(name, other, n) &&
        (!strcmp(other + n, "_grad") || !strcmp(other + n, "_max"))) return 1;
  }
  return edf_c__is_reserved(name);
}
/* Gives value v a name that no other one has. The last node of a name gets it without a
   number. */
static void edf_c__give_name(edf_c__file *o, int v, int most, const char *more) {
  edf_page name = { NULL, 0 };
  const edf_node *x = edf_c__node(v);
  edf_c__spell(&name, x->name ? x->name : x->op);
  edf_write(&name, "%s", more);
  while (edf_c__is_name(o, name.at, most)) edf_write(&name, "_%d", x->position);
  o->name[v] = name.at;
}

/* ---- Sizes. Returns the k of a dimension with k B entries, or 0 if it has no B. */
static int edf_c__times(edf_c__file *o, const edf_node *x, int d) {
  if (!(x->batched >> d & 1)) return 0;
  if (!o->batch) return 1;               /* before the first Forward                          */
  if (x->dim[d] % o->batch)
    edf_c__refuse(o, "a size depends on the batch, but is no multiple of it");
  return x->dim[d] / o->batch;
}
/* Returns a size as C writes it, with B or MOST for the number of rows. */
static const char *edf_c__size(edf_c__file *o, const edf_node *x, int d, const char *B) {
  int k = edf_c__times(o, x, d);
  return !k ? edf_c__text("%d", x->dim[d]) : k == 1 ? B : edf_c__text("%d * %s", k, B);
}
/* Returns the number of entries along some indices of the nest, as a factor: 12, or (3 * B). */
static const char *edf_c__product(edf_c__file *o, const int *which, int n) {
  edf_page text = { NULL, 0 };
  double known = 1;
  for (int k = 0; k < n; k++) {
    const char *limit = o->limit[which[k]];
    if (*limit >= '0' && *limit <= '9') known *= strtod(limit, NULL);
    if (strstr(limit, o->B)) edf_write(&text, " * %s", o->B);
  }
  return !text.n ? edf_c__text("%.0f", known)
         : known == 1 && !strstr(text.at + 3, "*") ? text.at + 3
                                                   : edf_c__text("(%.0f%s)", known, text.at);
}

/* ---- Steps of a recurrence. Returns the loop that has x as an element, or NULL. */
static const edf_c__loop *edf_c__loop_of(const edf_c__file *o, const edf_node *x) {
  int member = x->kind == EDF_COMPNODE ? o->member[x->position] : 0;
  return member ? &o->loop[member - 1] : NULL;
}
/* Returns 1 if x is an element of another step than the first one of its loop. */
static int edf_c__is_later(const edf_c__loop *l, const edf_node *x) {
  return l && (x->position < l->first || x->position >= l->first + l->period);
}
/* Returns the number of the step in which x is computed. */
static int edf_c__step_of(const edf_c__loop *l, const edf_node *x) {
  int n = x->position - l->first;
  return l->begin + (n >= 0 ? n / l->period : -((l->period - 1 - n) / l->period));
}
/* Returns the node of the next step in place of y. */
static edf_node *edf_c__next(const edf_c__file *o) {
  return edf.compnodes[o->y->position + o->in->period];
}
/* Returns 1 if the file computes x.grad. */
static int edf_c__wants(const edf_c__file *o, const edf_node *x) {
  return o->loss && o->used[edf_c__of(x)] && o->learns[edf_c__of(x)];
}
static const edf_node *edf_c__operand(const edf_node *y, int k) { return k < 0 ? y : y->in[k]; }
/* Returns the array of operand k, or of the node itself if k is -1: h_at[t - 1], W_grad. */
static const char *edf_c__array(const edf_c__file *o, int k, const char *suffix) {
  const edf_node *x = edf_c__operand(o->y, k);
  const char *name = o->name[edf_c__of(x)];
  const edf_c__loop *l = edf_c__loop_of(o, x);
  if (!l) return edf_c__text("%s%s", name, suffix);
  int step = edf_c__step_of(l, x);
  if (o->in != l || edf_c__operand(edf_c__next(o), k) == x)
    return edf_c__text("%s%s[%d]", name, suffix, step);
  int back = edf_c__step_of(l, o->y) - step;
  return back ? edf_c__text("%s%s[%s - %d]", name, suffix, o->t, back)
              : edf_c__text("%s%s[%s]", name, suffix, o->t);
}

/* ---- Templates. In a text $y is an entry of the node, $a $b $c entries of its operands, and
   $dy $da $db $dc their gradients. $0 and $1 are the numbers of its state, $n is the length of
   a row, $k the number of an entry in its row, and $a{..} the entry with this number.
   A line that begins with K is done for all entries of a row, or for a causal one up to its
   own. Z is done for all of a causal one. Lines with the gradient of an operand that wants none
   are left out. Rows are the last dimensions, as edf_row_dims says, or all of them. For a
   BatchNorm in training they are all dimensions but the last one. */
#define EDF_C__MOST "double most = -INFINITY, sum = 0;\n"
#define EDF_C__MOMENTS \
  "double mean = 0, variance = 0;\nK mean += $a / $n;\n" \
  "K variance += ($a - mean) * ($a - mean) / $n;\n"
#define EDF_C__NORMAL_BACK \
  EDF_C__MOMENTS "double sum = 0, dot = 0;\nK sum += $dy / $n;\nK dot += $y * $dy / $n;\n" \
  "K $da += ($dy - sum - $y * dot) / sqrt(variance + $0);"
#define EDF_C__GELU "1 / (1 + exp(-1.5957691216057308 * ($a + 0.044715 * $a * $a * $a)))"
static const struct { const char *op, *forward, *backward; } edf_c__templates[] = {
  { "Sigmoid", "$y = 1 / (1 + exp(-$a));", "$da += $dy * $y * (1 - $y);" },
  { "Tanh", "$y = tanh($a);", "$da += $dy * (1 - $y * $y);" },
  { "Relu", "$y = $a < 0 ? 0 : $a;", "if ($y > 0) $da += $dy;" },
  { "Exp", "$y = exp($a);", "$da += $dy * $y;" },
  { "Log", "$y = log($a);", "$da += $dy / $a;" },
  { "Sqrt", "$y = sqrt($a);", "$da += $dy / (2 * $y);" },
  { "Square", "$y = $a * $a;", "$da += 2 * $a * $dy;" },
  { "Abs", "$y = fabs($a);", "$da += $a > 0 ? $dy : $a < 0 ? -$dy : 0;" },
  { "Sin", "$y = sin($a);", "$da += $dy * cos($a);" },
  { "Cos", "$y = cos($a);", "$da -= $dy * sin($a);" },
  { "Pow", "$y = pow($a, $0);", "$da += $dy * $0 * pow($a, $0 - 1);" },
  { "Silu", "$y = $a / (1 + exp(-$a));",
    "$da += $dy * (1 + $a / (1 + exp($a))) / (1 + exp(-$a));" },
  { "Root", "$y = sqrt($a);", "if ($a != 0) $da += $dy / (2 * $y);" },
  { "Erf", "$y = erf($a);", "$da += $dy * 1.1283791670955126 * exp(-$a * $a);" },
  { "Log1p", "$y = log1p($a);", "$da += $dy / (1 + $a);" },
  { "Expm1", "$y = expm1($a);", "$da += $dy * exp($a);" },
  { "Softplus", "$y = fmax($a, 0) + log1p(exp(-fabs($a)));", "$da += $dy / (1 + exp(-$a));" },
  { "LeakyRelu", "$y = $a > 0 ? $a : $0 * $a;", "$da += $a > 0 ? $dy : $0 * $dy;" },
  { "Clamp", "$y = $a < $0 ? $0 : $a > $1 ? $1 : $a;",
    "if ($0 <= $a && $a <= $1) $da += $dy;" },
  { "Gelu", "$y = $a * " EDF_C__GELU ";",
    "double all = " EDF_C__GELU ";\n"
    "double slope = 1.5957691216057308 * (1 + 0.134145 * $a * $a);\n"
    "$da += $dy * (all + $a * all * (1 - all) * slope);" },
  { "Add", "$y = $a + $b;", "$da += $dy;\n$db += $dy;" },
  { "Sub", "$y = $a - $b;", "$da += $dy;\n$db -= $dy;" },
  { "Mul", "$y = $a * $b;", "$da += $dy * $b;\n$db += $a * $dy;" },
  { "Div", "$y = $a / $b;", "$da += $dy / $b;\n$db -= $dy * $y / $b;" },
  { "Power", "$y = pow($a, $b);",
    "if ($b != 0) $da += $dy * $b * pow($a, $b - 1);\n"
    "if ($a != 0) $db += $dy * $y * log($a);" },
  { "Where", "$y = $a != 0 ? $b : $c;", "if ($a != 0) $db += $dy;\nif ($a == 0) $dc += $dy;" },
  { "Masked", "$y = $b == 0 ? 0 : $a * $b;",
    "$da += $b == 0 ? 0 : $dy * $b;\n$db += $dy * $a;" },
  { "Max", "$y = $b <= $a || $a != $a ? $a : $b;",
    "$da += $b <= $a || $a != $a ? $dy : 0;\n$db += $b <= $a || $a != $a ? 0 : $dy;" },
  { "Min", "$y = $a <= $b || $a != $a ? $a : $b;",
    "$da += $a <= $b || $a != $a ? $dy : 0;\n$db += $a <= $b || $a != $a ? 0 : $dy;" },
  { "BCELoss", "$y = fmax($a, 0) + log1p(exp(-fabs($a))) - $b * $a;",
    "$da += $dy * (1 / (1 + exp(-$a)) - $b);\n$db -= $dy * $a;" },
  { "Sign", "$y = ($a > 0) - ($a < 0);", "" }, { "Floor", "$y = floor($a);", "" },
  { "Stop", "$y = $a;", "" }, { "Ones", "$y = 1;", "" }, { "Number", "$y = $0;", "" },
  { "Index", "K $y = $k;", "" },
  { "Test1", "$y = $a < 0;", "" }, { "Test2", "$y = $a == 0;", "" },
  { "Test3", "$y = $a <= 0;", "" }, { "Test4", "$y = $a > 0;", "" },
  { "Test5", "$y = $a < 0 || $a > 0;", "" }, { "Test6", "$y = $a >= 0;", "" },
  { "Test7", "$y = $a == $a;", "" },
  { "Dropout", "$y = $a;", "$da += $dy;" },
  { "Dropout in training", "$y_max = keep($0);\n$y = $a * $y_max / (1 - $0);",
    "$da += $dy * $y_max / (1 - $0);" },
  { "BatchNorm", "$y = ($a - $b) / sqrt($c + $0);", "$da += $dy / sqrt($c + $0);" },
  { "BatchNorm in training",
    EDF_C__MOMENTS "K $y = ($a - mean) / sqrt(variance + $0);\n"
    "$b += 0.1 * (mean - $b);\n$c += 0.1 * ($n / ($n - 1.0) * variance - $c);",
    EDF_C__NORMAL_BACK },
  { "NormalizeOver", EDF_C__MOMENTS "K $y = ($a - mean) / sqrt(variance + $0);",
    EDF_C__NORMAL_BACK },
  { "Sum", "$y = 0;\nK $y += $a;", "K $da += $dy;" },
  { "Mean", "$y = 0;\nK $y += $a / $n;", "K $da += $dy / $n;" },
  { "Softmax",
    EDF_C__MOST "Z $y = 0;\nK most = fmax(most, $a);\nK sum += $y = exp($a - most);\n"
    "K $y /= sum;",
    "double dot = 0;\nK dot += $y * $dy;\nK $da += $y * ($dy - dot);" },
  { "LogSoftmax",
    EDF_C__MOST "Z $y = -INFINITY;\nK most = fmax(most, $a);\nK sum += exp($a - most);\n"
    "K $y = $a - most - log(sum);",
    "double all = 0;\nK all += $dy;\nK $da += $dy - exp($y) * all;" },
  { "MaskedSoftmax",
    EDF_C__MOST "K if ($b != 0) most = fmax(most, $a);\n"
    "K sum += $y = $b != 0 ? exp($a - most) : 0;\nK if ($b != 0) $y /= sum;",
    "double dot = 0;\nK if ($b != 0) dot += $y * $dy;\n"
    "K if ($b != 0) $da += $y * ($dy - dot);" },
  { "MaskedLogSoftmax",
    EDF_C__MOST "K if ($b != 0) most = fmax(most, $a);\nK if ($b != 0) sum += exp($a - most);\n"
    "K $y = $b != 0 ? $a - most - log(sum) : -INFINITY;",
    "double all = 0;\nK if ($b != 0) all += $dy;\n"
    "K if ($b != 0) $da += $dy - exp($y) * all;" },
  { "LogSumExp",
    EDF_C__MOST "K most = fmax(most, $a);\nif (most - most != 0) most = 0;\n"
    "K sum += exp($a - most);\n$y = log(sum) + most;",
    "K if ($a != -INFINITY) $da += $dy * exp($a - $y);" },
  { "WeightedLogSumExp",
    EDF_C__MOST "K if ($b != 0) most = fmax(most, $a);\nif (most - most != 0) most = 0;\n"
    "K if ($b != 0) sum += $b * exp($a - most);\n$y = log(sum) + most;",
    "K if ($b != 0 && $a != -INFINITY) $da += $dy * $b * exp($a - $y);\n"
    "K if ($a != -INFINITY) $db += $dy * exp($a - $y);" },
  { "Prod", "$y = 1;\nK $y *= $a;",
    "double others = 1;\nint zeros = 0;\nK if ($a != 0) others *= $a; else zeros++;\n"
    "K if (!zeros) $da += $dy * others / $a;\n"
    "K if (zeros == 1 && $a == 0) $da += $dy * others;" },
  { "ArgMax",
    "double most = -INFINITY;\n$y = 0;\n"
    "K if ($0 * $a > most) { most = $0 * $a; $y = $k; }", "" },
  { "LogLoss", "$y = -log($a{(int)$b});", "$da{(int)$b} -= $dy / $a{(int)$b};" },
  { "SoftmaxLogLoss",
    EDF_C__MOST "K most = fmax(most, $a);\nK sum += exp($a - most);\n"
    "$y = most + log(sum) - $a{(int)$b};",
    EDF_C__MOST "K most = fmax(most, $a);\nK sum += exp($a - most);\n"
    "K $da += $dy * exp($a - most) / sum;\n$da{(int)$b} -= $dy;" },
};
enum { EDF_C__TEMPLATES = sizeof edf_c__templates / sizeof *edf_c__templates };

/* Returns the number of a node's template, or -1. */
static int edf_c__template_of(const edf_node *y) {
  const char *name = y->about ? y->about->name : "";
  int trains = edf.training && (!strcmp(name, "Dropout") || !strcmp(name, "BatchNorm"));
  const char *is = trains ? edf_c__text("%s in training", name)
                   : strcmp(name, "Test") ? name
                   : edf_c__text("Test%d", (int)*(const edf_real *)y->state);
  int k = EDF_C__TEMPLATES;
  while (k-- && strcmp(edf_c__templates[k].op, is)) {}
  return k;
}
/* Returns how many numbers of a state its template uses. */
static size_t edf_c__numbers(const edf_node *y) {
  int k = edf_c__template_of(y);
  const char *text = k < 0 ? "" : edf_c__templates[k].forward;
  return strstr(text, "$1") ? 2 : strstr(text, "$0") ? 1 : 0;
}

/* Returns 1 if nodes x and y, which is `period` later, are steps of one recurrence: equal, but
   for operands that are `period` later and for numbers of positions. */
static int edf_c__follows(const edf_node *x, const edf_node *y) {
  const edf_contraction *a = edf_contraction_of(x), *b = edf_contraction_of(y);
  int period = y->position - x->position;
  if (x->about != y->about || !x->about || edf_c__template_of(x) != edf_c__template_of(y) ||
      edf_row_is_causal(x) != edf_row_is_causal(y) || x->rank != y->rank ||
      x->n_in != y->n_in || x->batched != y->batched || !a != !b ||
      edf_row_dims(x) != edf_row_dims(y) ||
      memcmp(x->dim, y->dim, (size_t)x->rank * sizeof *x->dim)) return 0;
  for (int k = 0; k < x->n_in; k++)
    if (x->in[k] != y->in[k] &&
        (x->in[k]->kind != EDF_COMPNODE || y->in[k]->kind != EDF_COMPNODE ||
         y->in[k]->position - x->in[k]->position != period)) return 0;
  size_t numbers = a ? 0 : edf_c__numbers(x) * sizeof(edf_real);
  if (!a) return !numbers || !memcmp(x->state, y->state, numbers);
  if (a->kind != b->kind || a->e.n_index != b->e.n_index || a->e.n_ref != b->e.n_ref ||
      a->e.n_term != b->e.n_term || a->outside != b->outside || a->e.n_mask || b->e.n_mask ||
      memcmp(a->extent, b->extent, (size_t)a->e.n_index * sizeof *a->extent)) return 0;
  for (int t = 0; t < a->e.n_term; t++) {
    const edf_term *p = &a->e.term[t], *q = &b->e.term[t];
    if (p->number != q->number || p->n_step || q->n_step || p->first != q->first ||
        p->n != q->n) return 0;
  }
  for (int f = 0; f < a->e.n_ref; f++) {
    const edf_ref *p = &a->e.ref[f], *q = &b->e.ref[f];
    if (p->rank != q->rank || p->operand != q->operand) return 0;
    for (int d = 0; d < p->rank; d++)
      if (p->place[d].by != q->place[d].by ||
          memcmp(p->place[d].factor, q->place[d].factor, sizeof p->place[d].factor)) return 0;
  }
  return 1;
}
/* Returns 1 if positions change as much from y to the next step as from x to its next one. */
static int edf_c__drifts(const edf_node *x, const edf_node *y, int period) {
  const edf_contraction *a = edf_contraction_of(x), *b = edf_contraction_of(y);
  const edf_contraction *c = a ? edf_contraction_of(edf.compnodes[x->position + period]) : NULL;
  const edf_contraction *e = a ? edf_contraction_of(edf.compnodes[y->position + period]) : NULL;
  for (int f = 0; a && f < a->e.n_ref; f++)
    for (int d = 0; d < a->e.ref[f].rank; d++)
      if (c->e.ref[f].place[d].constant - a->e.ref[f].place[d].constant !=
          e->e.ref[f].place[d].constant - b->e.ref[f].place[d].constant) return 0;
  return 1;
}
/* Returns how often the nodes from `first` on repeat. */
static int edf_c__repeats(const edf_c__file *o, int first, int period) {
  int q = first;
  for (; q + period < edf.n_compnodes; q++) {
    const edf_node *x = edf.compnodes[q], *y = edf.compnodes[q + period];
    int moved = q >= first + period;
    if (o->used[edf_c__of(x)] != o->used[edf_c__of(y)] || o->member[q] ||
        o->learns[edf_c__of(x)] != o->learns[edf_c__of(y)] || o->member[q + period] ||
        !edf_c__follows(x, y) ||
        (moved && !edf_c__drifts(edf.compnodes[q - period], x, period))) break;
    int k = 0;
    while (k < x->n_in && o->learns[edf_c__of(x->in[k])] == o->learns[edf_c__of(y->in[k])]) k++;
    if (k < x->n_in) break;
  }
  return (q - first) / period + 1;
}
/* Makes the elements of a loop, also those before its first step that it reads. Returns 0 if
   one of them cannot be an element. */
static int edf_c__take_loop(edf_c__file *o, edf_c__loop *l) {
  int before = 0, wish = 0;
  for (int pass = 0; pass < 2; pass++)
    for (int q = l->first; q < l->first + l->period; q++) {
      const edf_node *x = edf.compnodes[q], *next = edf.compnodes[q + l->period];
      const edf_contraction *m = edf_contraction_of(x), *n = edf_contraction_of(next);
      for (int k = 0; k < x->n_in; k++) {
        if (x->in[k] == next->in[k]) continue;
        for (int p = x->in[k]->position; p < l->first; p += l->period) {
          const edf_node *slot = edf.compnodes[p];
          int at = (p - l->first) % l->period;   /* 0, or below */
          const edf_node *like = edf.compnodes[l->first + at + (at ? l->period : 0)];
          if (pass) { o->member[p] = 1 + o->n_loop; continue; }
          if (o->member[p] || slot->rank != like->rank || slot->batched != like->batched ||
              o->used[edf_c__of(slot)] != o->used[edf_c__of(like)] ||
              memcmp(slot->dim, like->dim, (size_t)slot->rank * sizeof *slot->dim)) return 0;
          int steps = (l->first - p + l->period - 1) / l->period;
          if (steps > before) before = steps;
        }
      }
      for (int f = 0; m && f < m->e.n_ref; f++)
        for (int d = 0; d < m->e.ref[f].rank; d++) {
          int at = m->e.ref[f].place[d].constant;
          if (n->e.ref[f].place[d].constant == at + 1 && !wish) wish = at;
        }
    }
  l->begin = wish > before ? wish : before;
  for (int q = l->first; q < l->first + l->period * l->times; q++) o->member[q] = 1 + o->n_loop;
  return 1;
}
static void edf_c__find_loops(edf_c__file *o) {
  for (int first = 0; first < edf.n_compnodes; first++)
    for (int period = 1; first + 3 * period <= edf.n_compnodes; period++) {
      edf_c__loop l = { first, period, edf_c__repeats(o, first, period), 0 };
      if (l.times < 3) continue;
      while (l.times >= 3 && !edf_c__take_loop(o, &l)) {       /* The first step stays alone. */
        l.first += period;
        l.times--;
      }
      if (l.times < 3) continue;
      o->loop = (edf_c__loop *)edf_keep(o->loop, ((size_t)o->n_loop + 1) * sizeof l);
      o->loop[o->n_loop++] = l;
      first = l.first + period * l.times - 1;
      break;
    }
}

/* ---- Nests of loops */
static void edf_c__name_index(edf_c__file *o, int i, const char *name) {
  edf_page to = { NULL, 0 };
  edf_c__spell(&to, name);
  for (char *c = to.at; *c; c++) if (*c >= 'A' && *c <= 'Z') *c = (char)(*c - 'A' + 'a');
  for (int again = 1; again; again ? edf_write(&to, "_") : (void)0) {
    again = !strcmp(to.at, o->B) || (o->in && !strcmp(to.at, o->t)) ||
            edf_c__is_reserved(to.at);
    for (int k = 0; k < i; k++) again |= !strcmp(to.at, o->index[k]);
    for (int k = -1; k < o->y->n_in; k++)
      again |= !strcmp(to.at, o->name[edf_c__of(edf_c__operand(o->y, k))]);
  }
  o->index[i] = to.at;
}
/* Opens loops over these indices. With `brace` the last one has a block. */
static void edf_c__open(edf_c__file *o, const int *which, int n, int brace) {
  for (int k = 0; k < n; k++, o->depth++) {
    const char *i = o->index[which[k]];
    edf_c__line(o, "for (int %s = 0; %s < %s; %s++)%s", i, i, o->limit[which[k]], i,
                brace && k == n - 1 ? " {" : "");
  }
  if (brace && !n) {
    edf_c__line(o, "{");
    o->depth++;
  }
}
static void edf_c__close(edf_c__file *o, int n, int brace) {
  o->depth -= n ? 1 : brace;
  if (brace) edf_c__line(o, "}");
  if (n) o->depth -= n - 1;
}
/* Writes one line inside of loops. */
#define edf_c__each(o, which, n, ...) \
  (edf_c__open(o, which, n, 0), edf_c__line(o, __VA_ARGS__), edf_c__close(o, n, 0))
/* Gives the nest the indices and limits of x. Returns an entry: [b][j]. */
static const char *edf_c__name_all(edf_c__file *o, const edf_node *x, int *which) {
  const char *at = "";
  for (int d = 0; d < x->rank; d++) {
    edf_c__name_index(o, d, edf_index_name(x, d));
    o->limit[d] = edf_c__size(o, x, d, o->B);
    at = edf_c__text("%s[%s]", at, o->index[d]);
    which[d] = d;
  }
  o->n = x->rank;
  return at;
}
/* Writes a line for all entries of the node: h_grad[b][j] = 0; */
static void edf_c__set(edf_c__file *o, const char *suffix, const char *to) {
  int which[EDF_MAX_RANK];
  const char *at = edf_c__name_all(o, o->y, which), *y = edf_c__array(o, -1, suffix);
  edf_c__each(o, which, o->y->rank, "%s%s = %s;", y, at, to);
}

/* ---- Contractions */
static int edf_c__alone(const edf_contraction *m, const edf_place *p) {
  int alone = -1;
  for (int i = 0; i < m->e.n_index; i++)
    if (p->factor[i]) alone = p->by || p->constant || p->factor[i] != 1 || alone != -1 ? -2 : i;
  return p->by ? -2 : alone;
}
static const edf_contraction *edf_c__take(edf_c__file *o) {
  const edf_contraction *m = edf_contraction_of(o->y);
  o->n = m->e.n_index;
  for (int i = 0; i < o->n; i++) {
    edf_c__name_index(o, i, m->e.index[i].name);
    o->limit[i] = edf_c__text("%ld", (long)m->extent[i]);
  }
  for (int f = 0; f < m->e.n_ref; f++) {
    const edf_ref *r = &m->e.ref[f];
    const edf_node *x = edf_c__operand(o->y, f ? r->operand : -1);
    for (int d = 0; d < r->rank; d++) {
      int i = edf_c__alone(m, &r->place[d]);
      if (!edf_c__times(o, x, d) || i == -1 || r->place[d].by) continue;
      if (i < 0) edf_c__refuse(o, "it reads the batch at other places than a row's own");
      o->limit[i] = edf_c__size(o, x, d, o->B);
    }
  }
  return m;
}
static const char *edf_c__ref(const edf_c__file *o, const edf_contraction *m, int f,
                              const char *suffix);
/* Returns position d of tensor f: 2 * x + dx - 1. */
static const char *edf_c__place(const edf_c__file *o, const edf_contraction *m, int f, int d) {
  const edf_place *p = &m->e.ref[f].place[d];
  int drift = !o->in ? 0 : edf_contraction_of(edf_c__next(o))->e.ref[f].place[d].constant -
                           p->constant;
  int constant = p->constant - (drift ? drift * edf_c__step_of(o->in, o->y) : 0);
  edf_page to = { NULL, 0 };
  if (p->by) return edf_c__text("(int)%s", edf_c__ref(o, m, p->by, ""));
  for (int i = 0; i <= m->e.n_index; i++) {
    int factor = i < m->e.n_index ? p->factor[i] : drift;
    if (!factor) continue;
    edf_write(&to, "%s", factor < 0 ? to.n ? " - " : "-" : to.n ? " + " : "");
    if (factor != 1 && factor != -1) edf_write(&to, "%d * ", abs(factor));
    edf_write(&to, "%s", i < m->e.n_index ? o->index[i] : o->t);
  }
  if (!to.n) return edf_c__text("%d", constant);
  if (constant) edf_write(&to, constant < 0 ? " - %d" : " + %d", abs(constant));
  return to.at;
}
/* Returns tensor f of the equation: x[b][t + dt], W_grad[j][i]. */
static const char *edf_c__ref(const edf_c__file *o, const edf_contraction *m, int f,
                              const char *suffix) {
  const edf_ref *r = &m->e.ref[f];
  const char *text = edf_c__array(o, f ? r->operand : -1, suffix);
  for (int d = 0; d < r->rank; d++)
    text = edf_c__text("%s[%s]", text, edf_c__place(o, m, f, d));
  return text;
}
static const char *edf_c__number(double x) {
  char text[64];
  edf_format(text, sizeof text, EDF_REAL_IS_DOUBLE ? "%.17g" : "%.9g", x);
  return x != x ? "NAN" : x - x != 0 ? x < 0 ? "-INFINITY" : "INFINITY"
         : edf_c__text("%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}
/* Returns the steps of a coefficient as C writes them. */
static const char *edf_c__steps(edf_c__file *o, const edf_term *t) {
  const char *stack[EDF_SLIDE__SIZE_STEPS], *f;
  int n = 0;
  for (const edf_size_step *s = t->step; s < t->step + t->n_step; s++)
    switch (s->op) {
      case '#': stack[n++] = edf_c__number(s->number); break;
      case 's':
        stack[n++] = s->number > 0
                         ? edf_c__text("%.0f.0", s->number)
                         : edf_c__text("(double)(%s)", edf_c__size(o, s->of, s->dim, o->B));
        break;
      case 'f':
        f = !strcmp(s->name, "ln") ? "log" : !strcmp(s->name, "abs") ? "fabs" : s->name;
        stack[n - 1] = edf_c__text("%s(%s)", f, stack[n - 1]);
        break;
      default:
        n--;
        stack[n - 1] = s->op == '^' ? edf_c__text("pow(%s, %s)", stack[n - 1], stack[n])
                                    : edf_c__text("(%s %c %s)", stack[n - 1], s->op, stack[n]);
    }
  return stack[0];
}

/* Returns 1 if a tensor has an index. */
static int edf_c__has(const edf_ref *r, int i) {
  for (int d = 0; d < r->rank; d++) if (r->place[d].factor[i]) return 1;
  return 0;
}
/* Returns the indices of a term that are not on the left, and their number. */
static int edf_c__summed(const edf_contraction *m, const edf_term *t, int *which) {
  int n = 0;
  for (int i = 0; i < m->e.n_index; i++) {
    int has = 0;
    for (int f = t->first; f < t->first + t->n; f++) has |= edf_c__has(&m->e.ref[f], i);
    if (has && !edf_c__has(m->e.ref, i)) which[n++] = i;
  }
  return n;
}
/* The same, behind those on the left. */
static int edf_c__all(const edf_contraction *m, const edf_term *t, int *which) {
  int n = 0;
  for (int i = 0; i < m->e.n_index; i++) if (edf_c__has(m->e.ref, i)) which[n++] = i;
  return n + edf_c__summed(m, t, which + n);
}
/* Returns what is added for a term: 0.5 * W[j][i] * x[b][i]. In place of factor `skip`, which
   may be -1, stands y_grad. *minus is 1 if it is subtracted. */
static const char *edf_c__term(edf_c__file *o, const edf_contraction *m, const edf_term *t,
                               int skip, int *minus) {
  int summed[EDF_MAX_INDEX], n = edf_c__summed(m, t, summed);
  double number = fabs(t->number);
  edf_page to = { NULL, 0 };
  *minus = t->number < 0;
  if (t->n && number != 1 && number == floor(number) && number < 1e6)
    edf_write(&to, "%.0f * ", number);
  else if (number != 1 || (!t->n && !t->n_step))
    edf_write(&to, "%s * ", edf_c__number(number));
  if (t->n_step) edf_write(&to, "%s * ", edf_c__steps(o, t));
  for (int f = 0; f < t->n; f++)
    edf_write(&to, "%s * ", f == skip ? edf_c__ref(o, m, 0, "_grad")
                                      : edf_c__ref(o, m, t->first + f, ""));
  to.at[to.n -= 3] = 0;
  if (m->kind == 'm' && n) edf_write(&to, " / %s", edf_c__product(o, summed, n));
  if (m->kind == 's') edf_write(&to, " / (%s - 1)", edf_c__product(o, summed, n));
  return to.at;
}
/* Writes a test of a mask: s <= t. */
static void edf_c__test(const edf_c__file *o, edf_page *text, edf_mask is) {
  edf_write(text, "%s", text->n ? " && " : "if (");
  if (is.low < 0) edf_write(text, "%d <= %s", is.constant, o->index[is.high]);
  else if (is.high < 0) edf_write(text, "%s <= %d", o->index[is.low], -is.constant);
  else {
    edf_write(text, "%s", o->index[is.low]);
    if (is.constant) edf_write(text, is.constant < 0 ? " - %d" : " + %d", abs(is.constant));
    edf_write(text, " <= %s", o->index[is.high]);
  }
}
/* Returns if (s <= t), for the masks of a term, or an empty text. Without a loop over u, s <= u
   and u <= t are s <= t. A limit without a loop takes its greatest value, or an index its
   least one. */
static const char *edf_c__masks(const edf_c__file *o, const edf_contraction *m,
                                const edf_term *t) {
  edf_page text = { NULL, 0 };
  int all[2 * EDF_MAX_INDEX], n = edf_c__all(m, t, all), loop[EDF_MAX_INDEX] = { 0 };
  for (int k = 0; k < n; k++) loop[all[k]] = 1;
  for (int k = 0; k < m->e.n_mask; k++)
    for (int j = -1; j < m->e.n_mask; j++) {
      edf_mask is = m->e.mask[k];
      int u = is.high;
      if (!(t->masks >> k & 1)) continue;
      if (j >= 0) {
        if (!(t->masks >> j & 1) || u < 0 || u != m->e.mask[j].low || loop[u]) continue;
        is.high = m->e.mask[j].high;
        is.constant += m->e.mask[j].constant;
      }
      if (is.high >= 0 && !loop[is.high]) {
        is.constant -= (int)m->extent[is.high] - 1;
        is.high = -1;
      }
      if (is.low >= 0 && !loop[is.low]) is.low = -1;
      if (is.low >= 0 || is.high >= 0) edf_c__test(o, &text, is);
    }
  if (text.n) edf_write(&text, ") ");
  return text.n ? text.at : "";
}
/* Returns 1 if the loops over the left side reach each entry of y once. */
static int edf_c__covers(const edf_contraction *m, const edf_node *y, int *left) {
  unsigned seen = 0;
  for (int d = 0; d < y->rank; d++) {
    int i = left[d] = edf_c__alone(m, &m->e.ref->place[d]);
    if (i < 0 || seen >> i & 1 || m->extent[i] != y->dim[d]) return 0;
    seen |= 1u << i;
  }
  return 1;
}
static void edf_c__add_term(edf_c__file *o, const edf_contraction *m, const edf_term *t,
                            const char *how, const int *which, int n) {
  int minus;
  const char *right = edf_c__term(o, m, t, -1, &minus);
  edf_c__each(o, which, n, "%s%s %s %s%s;", edf_c__masks(o, m, t), edf_c__ref(o, m, 0, ""),
              *how == '+' && minus ? "-=" : how, *how == '=' && minus ? "-" : "", right);
}
static void edf_c__equation(edf_c__file *o) {
  const edf_contraction *m = edf_c__take(o);
  int left[EDF_MAX_RANK], which[2 * EDF_MAX_INDEX], rank = o->y->rank;
  if (!edf_c__covers(m, o->y, left)) {
    edf_c__set(o, "", m->outside == 0 ? "0" : edf_c__number((double)m->outside));
    m = edf_c__take(o);
    for (const edf_term *t = m->e.term; t < m->e.term + m->e.n_term; t++) {
      int n = edf_c__all(m, t, which);
      edf_c__add_term(o, m, t, m->outside == 0 ? "+=" : "=", which, n);
    }
    return;
  }
  int sums = edf_c__summed(m, m->e.term, which) || *edf_c__masks(o, m, m->e.term);
  int block = m->e.n_term > 1 || sums;
  edf_c__open(o, left, rank, block);
  if (sums) edf_c__line(o, "%s = 0;", edf_c__ref(o, m, 0, ""));
  for (int k = 0; k < m->e.n_term; k++) {
    int n = edf_c__summed(m, &m->e.term[k], which);
    edf_c__add_term(o, m, &m->e.term[k], k || sums ? "+=" : "=", which, n);
  }
  edf_c__close(o, rank, block);
}
/* The swap rule: y_grad takes the place of each factor. */
static void edf_c__equation_backward(edf_c__file *o) {
  const edf_contraction *m = edf_c__take(o);
  for (const edf_term *t = m->e.term; t < m->e.term + m->e.n_term; t++)
    for (int f = 0; f < t->n; f++) {
      int all[2 * EDF_MAX_INDEX], n = edf_c__all(m, t, all), minus;
      if (!edf_c__wants(o, o->y->in[m->e.ref[t->first + f].operand])) continue;
      const char *right = edf_c__term(o, m, t, f, &minus);
      edf_c__each(o, all, n, "%s%s %s %s;", edf_c__masks(o, m, t),
                  edf_c__ref(o, m, t->first + f, "_grad"), minus ? "-=" : "+=", right);
    }
}
/* Returns the number of an entry along some indices: (i * 3 + j) * 2 + k. */
static const char *edf_c__entry_number(const edf_c__file *o, const int *which, int n) {
  const char *k = n ? o->index[which[0]] : "0";
  for (int i = 1; i < n; i++)
    k = edf_c__text(i > 1 ? "(%s) * %s + %s" : "%s * %s + %s", k, o->limit[which[i]],
                    o->index[which[i]]);
  return k;
}
/* A maximum notes in y_max which entry of the window is the first greatest one. */
static void edf_c__max(edf_c__file *o, int backward) {
  const edf_contraction *m = edf_c__take(o);
  int left[EDF_MAX_RANK], window[EDF_MAX_INDEX], n = edf_c__summed(m, m->e.term, window);
  const char *y = edf_c__ref(o, m, 0, ""), *x = edf_c__ref(o, m, 1, "");
  const char *at = edf_c__ref(o, m, 0, "_max"), *k = edf_c__entry_number(o, window, n);
  if (!edf_c__covers(m, o->y, left))
    edf_c__refuse(o, "it is a maximum that does not write all entries");
  edf_c__open(o, left, o->y->rank, !backward);
  if (backward)
    edf_c__each(o, window, n, "if (%s == %s) %s += %s;", at, k, edf_c__ref(o, m, 1, "_grad"),
                edf_c__ref(o, m, 0, "_grad"));
  else {
    edf_c__line(o, "%s = -INFINITY;", y);
    edf_c__line(o, "%s = 0;", at);
    edf_c__open(o, window, n, 0);
    edf_c__line(o, "if (%s > %s || %s != %s) {", x, y, x, x);
    edf_c__line(o, "  %s = %s;", y, x);
    edf_c__line(o, "  %s = %s;", at, k);
    edf_c__line(o, "}");
    edf_c__close(o, n, 0);
  }
  edf_c__close(o, o->y->rank, !backward);
}
/* Returns the test whether tensor f is read inside, or an empty text if it always is. In a loop
   over t the numbers of positions change. */
static const char *edf_c__inside(edf_c__file *o, const edf_contraction *m, int f) {
  const edf_ref *r = &m->e.ref[f];
  const edf_node *x = edf_c__operand(o->y, f ? r->operand : -1);
  const char *text = "";
  for (int d = 0; d < r->rank; d++) {
    const edf_place *p = &r->place[d];
    double least = p->constant, most = p->constant;
    const char *place = edf_c__place(o, m, f, d), *by = p->by ? edf_c__inside(o, m, p->by) : "";
    if (*by) text = edf_c__text("%s%s%s", text, *text ? " && " : "", by);
    if (p->by || edf_c__times(o, x, d)) continue;
    for (int i = 0; i < m->e.n_index; i++) {
      double reach = p->factor[i] * (double)(m->extent[i] - 1);
      if (reach < 0) least += reach; else most += reach;
    }
    if (least < 0 || o->in)
      text = edf_c__text("%s%s%s >= 0", text, *text ? " && " : "", place);
    if (most >= x->dim[d] || o->in)
      text = edf_c__text("%s%s%s < %d", text, *text ? " && " : "", place, x->dim[d]);
  }
  return text;
}
/* Lookup: y[b,j] = x[k[b],j]. Scatter: y[k[b],j] += x[b,j]. */
static void edf_c__lookup(edf_c__file *o, int backward) {
  int put = edf_contraction_of(o->y)->kind == 'p', all[EDF_MAX_INDEX];
  if (backward && !edf_c__wants(o, o->y->in[0])) return;
  if (put && !backward) edf_c__set(o, "", "0");
  const edf_contraction *m = edf_c__take(o);
  for (int i = 0; i < o->n; i++) all[i] = i;
  const char *inside = edf_c__inside(o, m, !put), *suffix = backward ? "_grad" : "";
  const char *to = edf_c__ref(o, m, backward, suffix);
  const char *from = edf_c__ref(o, m, !backward, suffix);
  if (!put && !backward && *inside)
    edf_c__each(o, all, o->n, "%s = %s ? %s : 0;", to, inside, from);
  else if (*inside) edf_c__each(o, all, o->n, "if (%s) %s += %s;", inside, to, from);
  else edf_c__each(o, all, o->n, "%s %s %s;", to, put || backward ? "+=" : "=", from);
}

/* ---- Nodes with a template */
typedef struct {
  int n_outer, n_inner, outer[EDF_MAX_RANK], inner[EDF_MAX_RANK];
  int reduces;                           /* 1 if y has no entries along the inner dimensions  */
  int causal;
} edf_c__rows;

/* Names the indices of the longest tensor of a node, and finds its rows. Only a size
   of the operand of an Index counts. */
static edf_c__rows edf_c__find_rows(edf_c__file *o, const char *op, int inner) {
  const edf_node *y = o->y, *x = y;
  int is_index = !strcmp(op, "Index"), columns = !strcmp(op, "BatchNorm in training");
  int which[EDF_MAX_RANK];
  edf_c__rows r;
  memset(&r, 0, sizeof r);
  for (int k = 0; k < y->n_in && !is_index; k++) if (y->in[k]->rank > x->rank) x = y->in[k];
  edf_c__name_all(o, x, which);
  r.reduces = y->rank < x->rank;
  int n = !inner ? 0 : r.reduces ? x->rank - y->rank : is_index ? 1
          : columns ? x->rank - 1 : edf_row_dims(y);
  int begin = columns ? 0 : x->rank - n;
  for (int d = 0; d < x->rank; d++) {
    if (d >= begin && d < begin + n) r.inner[r.n_inner++] = d;
    else r.outer[r.n_outer++] = d;
  }
  r.causal = y->about && strstr(op, "oftmax") && n == 1 && edf_row_is_causal(y);
  return r;
}
/* Returns an entry of operand k. A shorter operand has the first dimensions of a reduction, or
   else the last ones. `last` is the number of an entry of the row, or NULL. */
static const char *edf_c__entry(edf_c__file *o, const edf_c__rows *r, int k, const char *suffix,
                                const char *last) {
  const edf_node *x = edf_c__operand(o->y, k);
  int from = r->reduces || x->rank == o->n ? 0 : o->n - x->rank;
  const char *text = edf_c__array(o, k, suffix);
  for (int d = 0; d < x->rank - (last != NULL); d++)
    text = edf_c__text("%s[%s]", text, o->index[from + d]);
  return last ? edf_c__text("%s[%s]", text, last) : text;
}
/* Replaces what begins with $ in a line that ends at `end`. */
static const char *edf_c__fill(edf_c__file *o, const edf_c__rows *r, const char *text,
                               const char *end) {
  const edf_real *state = (const edf_real *)o->y->state;
  edf_page to = { NULL, 0 };
  while (text < end) {
    if (*text != '$') { edf_write(&to, "%c", *text++); continue; }
    int is_grad = *++text == 'd', is_max = !strncmp(text, "y_max", 5);
    char c = text[is_grad];
    text += is_max ? 5 : 1 + is_grad;
    if (c == '0' || c == '1') edf_write(&to, "%s", edf_c__number((double)state[c - '0']));
    else if (c == 'n') edf_write(&to, "%s", edf_c__product(o, r->inner, r->n_inner));
    else if (c == 'k') edf_write(&to, "%s", edf_c__entry_number(o, r->inner, r->n_inner));
    else {
      const char *suffix = is_grad ? "_grad" : is_max ? "_max" : "", *last = NULL;
      if (*text == '{') {
        const char *inside = text + 1;
        text = strchr(text, '}') + 1;
        last = edf_c__fill(o, r, inside, text - 1);
      }
      edf_write(&to, "%s", edf_c__entry(o, r, c == 'y' ? -1 : c - 'a', suffix, last));
    }
  }
  return to.at;
}
static int edf_c__is_left_out(const edf_c__file *o, const char *line, size_t n) {
  for (const char *c = line; c + 2 < line + n; c++)
    if (*c == '$' && c[1] == 'd' && c[2] != 'y' && !edf_c__wants(o, o->y->in[c[2] - 'a']))
      return 1;
  return 0;
}
static void edf_c__write_template(edf_c__file *o, const char *op, const char *text) {
  int lines = 0, inner = *text == 'K' || strstr(text, "\nK") || strchr(text, '{');
  edf_c__rows r = edf_c__find_rows(o, op, inner);
  size_t n;
  for (const char *at = text; *at; at += n + (at[n] == '\n')) {
    n = strcspn(at, "\n");
    lines += !(edf_c__is_left_out(o, at, n) || (*at == 'Z' && !r.causal));
  }
  if (!lines) return;
  edf_c__open(o, r.outer, r.n_outer, lines > 1);
  for (const char *at = text; *at; at += n + (at[n] == '\n')) {
    int each = (*at == 'K' || *at == 'Z') && at[1] == ' ', causal = r.causal && *at == 'K';
    n = strcspn(at, "\n");
    if (edf_c__is_left_out(o, at, n) || (*at == 'Z' && !r.causal)) continue;
    const char *line = edf_c__fill(o, &r, at + 2 * each, at + n);
    if (causal) {
      const char *i = o->index[r.inner[0]];
      edf_c__line(o, "for (int %s = 0; %s <= %s%s; %s++)", i, i, o->index[r.inner[0] - 1],
                  o->y->dim[r.inner[0]] < o->y->dim[r.inner[0] - 1]
                      ? edf_c__text(" && %s < %s", i, o->limit[r.inner[0]]) : "", i);
      edf_c__line(o, "  %s", line);
    } else edf_c__each(o, r.inner, each ? r.n_inner : 0, "%s", line);
  }
  edf_c__close(o, r.n_outer, lines > 1);
}

/* ---- Other nodes */

/* Affine: s[b,j] = W[I,j] x[b,I] - B[j]. Its loops are those of edf.h. */
static void edf_c__affine(edf_c__file *o, int backward) {
  const edf_node *s = o->y;
  int which[EDF_MAX_RANK + 1], n = s->rank;
  edf_c__name_all(o, s, which);
  edf_c__name_index(o, which[n] = n, "i");
  o->limit[n] = edf_c__text("%d", s->in[0]->dim[0]);
  const char *b = "", *j = o->index[n - 1], *i = o->index[n], *to = backward ? "_grad" : "";
  for (int d = 0; d < n - 1; d++) b = edf_c__text("%s[%s]", b, o->index[d]);
  const char *y = edf_c__text("%s%s[%s]", edf_c__array(o, -1, to), b, j);
  const char *W[2], *x[2], *B[2];
  for (int k = 0; k < 2; k++) {
    W[k] = edf_c__text("%s[%s][%s]", edf_c__array(o, 0, k ? "_grad" : ""), i, j);
    x[k] = edf_c__text("%s%s[%s]", edf_c__array(o, 1, k ? "_grad" : ""), b, i);
    B[k] = edf_c__text("%s[%s]", edf_c__array(o, 2, k ? "_grad" : ""), j);
  }
  if (backward) {
    int m = n + 1;
    if (edf_c__wants(o, s->in[0])) edf_c__each(o, which, m, "%s += %s * %s;", W[1], y, x[0]);
    if (edf_c__wants(o, s->in[1])) edf_c__each(o, which, m, "%s += %s * %s;", x[1], W[0], y);
    if (edf_c__wants(o, s->in[2])) edf_c__each(o, which, n, "%s -= %s;", B[1], y);
    return;
  }
  edf_c__open(o, which, n, 1);
  edf_c__line(o, "%s = -%s;", y, B[0]);
  edf_c__each(o, which + n, 1, "%s += %s * %s;", y, W[0], x[0]);
  edf_c__close(o, n, 1);
}
/* Returns how many operands from number k on are consecutive elements of one array over t. */
static int edf_c__run_of(const edf_c__file *o, int k) {
  const edf_c__loop *l = o->in ? NULL : edf_c__loop_of(o, o->y->in[k]);
  int n = 1;
  while (l && k + n < o->y->n_in && edf_c__loop_of(o, o->y->in[k + n]) == l &&
         o->y->in[k + n]->position == o->y->in[k]->position + n * l->period) n++;
  return n;
}
static void edf_c__concat(edf_c__file *o, int backward) {
  const edf_node *y = o->y;
  int axis = y->rank - edf_row_dims(y), at = 0, run, which[EDF_MAX_RANK];
  const char *suffix = backward ? "_grad" : "";
  edf_c__name_all(o, y, which);
  for (int k = 0; k < y->n_in; k += run) {
    const edf_node *x = y->in[k];
    int lacks = x->rank < y->rank, n = 0;
    run = lacks ? edf_c__run_of(o, k) : 1;
    int single = lacks && run == 1;      /* one element without the joined index              */
    const char *to = edf_c__array(o, -1, suffix), *from = edf_c__array(o, k, suffix);
    if (run > 1)
      from = edf_c__text("%s%s[%s + %d]", o->name[edf_c__of(x)], suffix, o->index[axis],
                         edf_c__step_of(edf_c__loop_of(o, x), x));
    o->limit[axis] = edf_c__text("%d", lacks ? run : x->dim[axis]);
    for (int d = 0; d < y->rank; d++) {
      const char *i = o->index[d];
      if (d != axis) to = edf_c__text("%s[%s]", to, i);
      else to = single ? edf_c__text("%s[%d]", to, at)
                : at ? edf_c__text("%s[%s + %d]", to, i, at) : edf_c__text("%s[%s]", to, i);
      if (d != axis || !lacks) from = edf_c__text("%s[%s]", from, i);
      if (d != axis || !single) which[n++] = d;
    }
    at += lacks ? run : x->dim[axis];
    if (!backward) edf_c__each(o, which, n, "%s = %s;", to, from);
    else if (edf_c__wants(o, x)) edf_c__each(o, which, n, "%s += %s;", from, to);
  }
}
/* Returns the number of entries of x, as 64 * B. */
static const char *edf_c__entries(edf_c__file *o, const edf_node *x) {
  int which[EDF_MAX_RANK];
  for (int d = 0; d < x->rank; d++) {
    which[d] = d;
    o->limit[d] = edf_c__size(o, x, d, o->B);
  }
  return edf_c__product(o, which, x->rank);
}
/* Returns operand k as a pointer to its first entry. */
static const char *edf_c__pointer(edf_c__file *o, int k, const char *suffix) {
  const char *to = edf_c__array(o, k, suffix);
  for (int d = 0; d < edf_c__operand(o->y, k)->rank; d++) to = edf_c__text("%s[0]", to);
  return edf_c__text("&%s", to);
}
/* Returns 1 if the entries of x are one behind the other for each B: if only its first
   dimension depends on B. */
static int edf_c__is_flat(const edf_node *x) { return !(x->batched >> 1); }
static void edf_c__reshape(edf_c__file *o, int backward) {
  const char *suffix = backward ? "_grad" : "";
  const edf_node *x = o->y->in[0];
  int which[EDF_MAX_RANK], later[EDF_MAX_RANK];
  if (!o->batch && o->y->batched) {
    const char *entries = edf_c__entries(o, x);
    if (strcmp(edf_c__entries(o, o->y), entries))
      edf_c__refuse(o, "the size of its batch is not known before the first Forward");
  }
  if (edf_c__is_flat(x) && edf_c__is_flat(o->y)) {
    const char *y = edf_c__pointer(o, -1, suffix), *from = edf_c__pointer(o, 0, suffix);
    edf_c__name_index(o, which[0] = 0, "n");
    const char *n = o->index[0];
    o->limit[0] = edf_c__entries(o, o->y);
    if (backward) edf_c__each(o, which, 1, "(%s)[%s] += (%s)[%s];", from, n, y, n);
    else edf_c__each(o, which, 1, "(%s)[%s] = (%s)[%s];", y, n, from, n);
    return;
  }
  /* Else entry n of x is found by loops, and that of y by divisions. */
  const char *size[EDF_MAX_RANK], *limit[EDF_MAX_RANK], *y = edf_c__array(o, -1, suffix);
  int rank = o->y->rank;
  edf_c__name_all(o, o->y, later);
  for (int d = 0; d < rank; d++) {
    size[d] = edf_c__product(o, later + d + 1, rank - d - 1);
    limit[d] = o->limit[d];
  }
  const char *at = edf_c__name_all(o, x, which);
  const char *from = edf_c__text("%s%s", edf_c__array(o, 0, suffix), at);
  edf_c__name_index(o, x->rank, "n");
  const char *n = o->index[x->rank];
  for (int d = 0; d < rank; d++)
    y = d ? edf_c__text("%s[%s / %s %% (%s)]", y, n, size[d], limit[d])
          : edf_c__text("%s[%s / %s]", y, n, size[d]);
  edf_c__open(o, which, x->rank, 1);
  edf_c__line(o, "int %s = %s;", n, edf_c__entry_number(o, which, x->rank));
  if (backward) edf_c__line(o, "%s += %s;", from, y);
  else edf_c__line(o, "%s = %s;", y, from);
  edf_c__close(o, x->rank, 1);
}
/* Writes the declaration or the call of a function that the reader of the file supplies. */
static void edf_c__own(edf_c__file *o, int backward, int declares) {
  edf_page text = { NULL, 0 };
  if (declares) edf_write(&text, "void ");
  edf_c__spell(&text, o->y->op);
  edf_write(&text, backward ? "_backward(" : "_forward(");
  for (int k = -1; k < o->y->n_in; k++) {
    const edf_node *x = edf_c__operand(o->y, k);
    const char *name = k < 0 ? "y" : edf_c__text("%c", 'a' + k);
    int writes = !backward && k < 0;
    if (!edf_c__is_flat(x)) edf_c__refuse(o, "the batch is not the first index of each tensor");
    edf_write(&text, k < 0 ? "" : ", ");
    if (declares)
      edf_write(&text, "int %s_size, %s%s *%s", name, writes ? "" : "const ", edf_c__real,
                name);
    else edf_write(&text, "%s, %s", edf_c__entries(o, x), edf_c__pointer(o, k, ""));
    if (!backward) continue;
    if (declares) edf_write(&text, ", %s%s *%s_grad", k < 0 ? "const " : "", edf_c__real, name);
    else edf_write(&text, ", %s",
                   k < 0 || edf_c__wants(o, x) ? edf_c__pointer(o, k, "_grad") : "0");
  }
  edf_c__line(o, "%s);", text.at);
}

/* ---- A node, and the file */
static void edf_c__write_node(edf_c__file *o, int backward) {
  const edf_contraction *m = edf_contraction_of(o->y);
  const char *name = o->y->about ? o->y->about->name : "";
  int k = edf_c__template_of(o->y);
  if (m && m->kind == 'x') edf_c__max(o, backward);
  else if (m && !m->runs) edf_c__lookup(o, backward);
  else if (m && backward) edf_c__equation_backward(o);
  else if (m) edf_c__equation(o);
  else if (!strcmp(name, "Affine")) edf_c__affine(o, backward);
  else if (!strcmp(name, "Concat")) edf_c__concat(o, backward);
  else if (!strcmp(name, "Reshape")) edf_c__reshape(o, backward);
  else if (k >= 0)
    edf_c__write_template(o, edf_c__templates[k].op, backward ? edf_c__templates[k].backward
                                                              : edf_c__templates[k].forward);
  else edf_c__own(o, backward, 0);
}
/* Returns a text that cannot end a comment. */
static const char *edf_c__commented(const char *text) {
  char *copy = strcpy((char *)edf_keep(NULL, strlen(text) + 1), text);
  for (char *c = copy; *c; c++)
    if ((*c == '*' && c[1] == '/') || (*c == '/' && c[1] == '*') || *c == '\n') *c = ' ';
  return copy;
}
/* Writes the line of the slide, or the node of a C call, as a comment. */
static void edf_c__comment(edf_c__file *o, const edf_node *before) {
  edf_page text = { NULL, 0 };
  edf_write_heading(&text, o->y);
  if (text.n && before && edf_same_heading(before, o->y)) return;
  if (text.n && *text.at == '[' && o->in) edf_write(&text, ", and the steps after it");
  if (!text.n) edf_write_node(&text, o->y, EDF_FORWARD_LINE);
  if (!text.n) edf_write_node(&text, o->y, EDF_SITE);
  edf_write(&o->out, "\n");
  edf_c__line(o, "/* %s */", edf_c__commented(text.at));
}
static void edf_c__pass(edf_c__file *o, int backward) {
  const edf_node *before = NULL;
  for (int i = 0; i < edf.n_compnodes; i++) {
    int p = backward ? edf.n_compnodes - 1 - i : i;
    edf_node *y = o->y = edf.compnodes[p];
    const edf_c__loop *l = edf_c__loop_of(o, y);
    if (l && p < l->first) l = NULL;     /* It is computed before the loop.                   */
    if (l && (p - l->first) / l->period != (backward ? l->times - 1 : 0)) continue;
    if (l) {                             /* Each step is written as the first one.            */
      int end = l->begin + l->times;
      p = l->first + (p - l->first) % l->period;
      y = o->y = edf.compnodes[p];
      if (p == (backward ? l->first + l->period - 1 : l->first)) {
        edf_write(&o->out, "\n");
        if (backward)
          edf_c__line(o, "for (int %s = %d; %s >= %d; %s--) {", o->t, end - 1, o->t, l->begin,
                      o->t);
        else
          edf_c__line(o, "for (int %s = %d; %s < %d; %s++) {", o->t, l->begin, o->t, end,
                      o->t);
        o->depth++;
      }
    }
    o->in = l;
    if (o->used[edf_c__of(y)] && (!backward || (edf_c__wants(o, y) && y->backward))) {
      edf_c__comment(o, before);
      edf_c__write_node(o, backward);
      before = y;
    }
    o->in = NULL;
    if (l && p == (backward ? l->first : l->first + l->period - 1)) {
      o->depth--;
      edf_c__line(o, "}");
      before = NULL;
    }
  }
}
/* Writes numbers v as an initialiser with braces for each dimension. Returns those behind. */
static const edf_real *edf_c__numbers_of(edf_page *to, const edf_node *x, int d,
                                         const edf_real *v) {
  if (d == x->rank) {
    edf_write(to, "%s", edf_c__number((double)*v));
    return v + 1;
  }
  edf_write(to, "{ ");
  for (int i = 0; i < x->dim[d]; i++) {
    if (i) edf_write(to, i % 8 ? ", " : ",\n    ");
    v = edf_c__numbers_of(to, x, d + 1, v);
  }
  edf_write(to, " }");
  return v;
}
/* Writes an array with its dimensions, behind those of a loop over t. */
static void edf_c__dims(edf_c__file *o, const edf_node *x, const char *suffix) {
  const edf_c__loop *l = edf_c__loop_of(o, x);
  edf_write(&o->out, "%s%s", o->name[edf_c__of(x)], suffix);
  if (l) edf_write(&o->out, "[%d]", l->begin + l->times);
  for (int d = 0; d < x->rank; d++) edf_write(&o->out, "[%s]", edf_c__size(o, x, d, "MOST"));
}
static void edf_c__declare(edf_c__file *o, const edf_node *x) {
  edf_write(&o->out, "static %s ", edf_c__real);
  edf_c__dims(o, x, "");
  if (edf_c__wants(o, x)) edf_write(&o->out, ", ");
  if (edf_c__wants(o, x)) edf_c__dims(o, x, "_grad");
  edf_write(&o->out, ";");
  if (x->name && strcmp(x->name, o->name[edf_c__of(x)]))
    edf_write(&o->out, "   /* %s */", edf_c__commented(edf_label(x)));
  edf_write(&o->out, "\n");
}
/* Writes the numbers of the Parameters. In C an array may be declared without them before. */
static void edf_c__write_numbers(edf_c__file *o) {
  edf_write(&o->out, "\n/* The numbers of the Parameters. */\n");
  for (int i = 0; i < edf.n_parameters; i++) {
    edf_node *p = edf.parameters[i];
    if (!o->used[edf_c__of(p)]) continue;
    edf_write(&o->out, "static %s ", edf_c__real);
    edf_c__dims(o, p, "");
    edf_write(&o->out, " = ");
    edf_c__numbers_of(&o->out, p, 0, edf_value(p));
    edf_write(&o->out, ";\n");
  }
}
/* Dropout in training draws as edf.h does: a hash of the seed and of the number of the draw. */
static void edf_c__write_dropout(edf_c__file *o) {
  edf_write(&o->out, "\nstatic unsigned long long seed = %lluu, draws = %lluu;\n"
            "static int keep(double rate) {   /* 0 with this probability: SplitMix64 */\n"
            "  unsigned long long z = ++draws * 0x9E3779B97F4A7C15u + seed * "
            "0xD1342543DE82EF95u;\n"
            "  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;\n"
            "  z = (z ^ z >> 27) * 0x94D049BB133111EBu;\n"
            "  return (z ^ z >> 31) >> 40 >= (unsigned long long)(rate * 16777216);\n}\n",
            edf.seed, edf.draws);
}

/* Declares the functions of nodes of one's own, once each. */
static void edf_c__declare_own(edf_c__file *o) {
  int any = 0;
  for (int i = 0; i < edf.n_compnodes; i++) {
    edf_node *y = o->y = edf.compnodes[i];
    int seen = y->about || !o->used[edf_c__of(y)];
    for (int k = 0; k < i && !seen; k++)
      seen = !edf.compnodes[k]->about && !strcmp(edf.compnodes[k]->op, y->op);
    if (seen) continue;
    if (!any++)
      edf_write(&o->out, "\n/* Nodes of your own: write these functions. x_size is the number "
                "of entries of x. backward\n   adds to a_grad, which may be 0. */\n");
    edf_c__own(o, 0, 1);
    if (o->loss) edf_c__own(o, 1, 1);
  }
}
static void edf_c__zero_gradients(edf_c__file *o, int most) {
  for (int v = 0; v < most; v++) {
    edf_node *x = o->y = o->used[v] ? edf_c__node(v) : NULL;
    int which[EDF_MAX_RANK];
    if (!x || x == o->target || !edf_c__wants(o, x)) continue;
    const edf_c__loop *l = o->in = edf_c__loop_of(o, x);
    if (edf_c__is_later(l, x)) continue;
    const char *at = edf_c__name_all(o, x, which), *line = "";
    if (l)
      line = edf_c__text("for (int %s = 0; %s < %d; %s++) ", o->t, o->t, l->begin + l->times,
                         o->t);
    for (int d = 0; d < x->rank; d++)
      line = edf_c__text("%sfor (int %s = 0; %s < %s; %s++) ", line, o->index[d], o->index[d],
                         o->limit[d], o->index[d]);
    edf_c__line(o, "%s%s%s = 0;", line, edf_c__array(o, -1, "_grad"), at);
  }
  o->in = NULL;
}
static void edf_c__write_tensors(edf_c__file *o, int most) {
  int drops = 0;
  for (int v = 0; v < most; v++) {
    edf_node *x = o->used[v] ? edf_c__node(v) : NULL;
    const edf_contraction *m = x && x->kind == EDF_COMPNODE ? edf_contraction_of(x) : NULL;
    o->y = x;
    if (!x || edf_c__is_later(edf_c__loop_of(o, x), x)) continue;
    edf_c__declare(o, x);
    int is_dropout = edf.training && x->about && !strcmp(x->about->name, "Dropout");
    drops |= is_dropout;
    if (!(m && m->kind == 'x') && !is_dropout) continue;
    edf_write(&o->out, "static int ");
    edf_c__dims(o, x, "_max");
    edf_write(&o->out, ";\n");
  }
  if (drops) edf_c__write_dropout(o);
}
/* Returns 1 if a program has this name outside of its comments. */
static int edf_c__mentions(const char *text, const char *name) {
  size_t n = strlen(name);
  for (const char *at = text; at && *at; at++) {
    if (*at == '/' && at[1] == '*') at = strstr(at, "*/") + 1;
    else if (strchr(" (", *at) && !strncmp(at + 1, name, n) && strchr(" ;),", at[1 + n]))
      return 1;
  }
  return 0;
}
static void edf_c__function(edf_c__file *o, const char *head, int backward, int most) {
  edf_page before = o->out, none = { NULL, 0 };
  o->out = none;
  o->depth = 1;
  if (backward) {
    edf_c__zero_gradients(o, most);
    o->y = o->target;
    const char *n = edf_c__entries(o, o->target);
    edf_c__set(o, "_grad", strcmp(n, "1") ? edf_c__text("1.0 / %s", n) : "1");
  }
  edf_c__pass(o, backward);
  edf_page body = o->out;
  o->out = before;
  o->depth = 0;
  edf_write(&o->out, "\n%s(int %s) {\n", head, o->B);
  if (!edf_c__mentions(body.at, o->B)) edf_write(&o->out, "  (void)%s;\n", o->B);
  edf_write(&o->out, "%s}\n", body.at ? body.at : "");
}
static void edf_c__write_backward(edf_c__file *o, int most) {
  edf_c__function(o, "void backward", 1, most);
  edf_write(&o->out, "\nvoid step(%s eta) {\n", edf_c__real);
  o->depth = 1;
  int any = 0, which[EDF_MAX_RANK];
  for (int i = 0; i < edf.n_parameters; i++) {
    edf_node *p = o->y = edf.parameters[i];
    if (!edf_c__wants(o, p)) continue;
    const char *at = edf_c__name_all(o, p, which), *name = o->name[edf_c__of(p)];
    edf_c__each(o, which, p->rank, "%s%s -= eta * %s_grad%s;", name, at, name, at);
    any = 1;
  }
  if (!any) edf_c__line(o, "(void)eta;");
  o->depth = 0;
  edf_write(&o->out, "}\n");
}
/* Writes a function that reads the Parameters from a file of edf_save. Its header, which is
   JSON, has the place of the numbers of each. */
static void edf_c__write_load(edf_c__file *o) {
  edf_write(&o->out, "\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
            "static int read_numbers(FILE *file__, const char *header__, const char *name, "
            "%s *to, size_t n) {\n"
            "  const char *at__ = strstr(header__, name);\n"
            "  if (at__) at__ = strstr(at__, \"\\\"data_offsets\\\":[\");\n"
            "  if (!at__) return 0;\n"
            "  fseek(file__, 8 + (long)strlen(header__) + atol(at__ + 16), SEEK_SET);\n"
            "  return fread(to, sizeof *to, n, file__) == n;\n}\n\n"
            "/* Reads the Parameters from a file of edf_save. Returns 1, or 0 if it cannot. "
            "*/\n"
            "int load(const char *path__) {\n"
            "  FILE *file__ = fopen(path__, \"rb\");\n"
            "  unsigned char size__[8];\n"
            "  if (!file__ || fread(size__, 1, 8, file__) != 8) return 0;\n"
            "  size_t ok__ = size__[0] | size__[1] << 8 | size__[2] << 16 | "
            "(size_t)size__[3] << 24;\n"
            "  char *header__ = (char *)calloc(ok__ + 1, 1);\n"
            "  ok__ = header__ && fread(header__, 1, ok__, file__) == ok__;\n", edf_c__real);
  for (int i = 0; i < edf.n_parameters; i++) {
    const edf_node *p = o->y = edf.parameters[i];
    edf_page name = { NULL, 0 };
    if (!o->used[edf_c__of(p)]) continue;
    edf_write_quoted(&name, p->name, strlen(p->name));
    edf_write(&o->out, "  ok__ = ok__ && read_numbers(file__, header__, \"");
    for (const char *c = name.at; *c; c++)
      edf_write(&o->out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    edf_write(&o->out, ":{\", %s, %zu);\n", edf_c__pointer(o, -1, ""), p->size);
  }
  edf_write(&o->out, "  free(header__);\n  fclose(file__);\n  return (int)ok__;\n}\n");
}
/* Writes loops over a row of a tensor around one line, in which %s is an entry. */
static void edf_c__row(edf_c__file *o, edf_node *x, const char *before, const char *behind) {
  int which[EDF_MAX_RANK], n = 0;
  o->y = x;
  const char *at = edf_c__array(o, -1, "");
  edf_c__name_all(o, x, which);
  for (int d = 0; d < x->rank; d++) {
    int k = edf_c__times(o, x, d);
    o->limit[d] = edf_c__text("%d", k ? k : x->dim[d]);
    at = k == 1 ? edf_c__text("%s[0]", at) : edf_c__text("%s[%s]", at, o->index[d]);
    if (k != 1) which[n++] = d;
  }
  edf_c__each(o, which, n, "%s%s%s", before, at, behind);
}
/* Writes an example: it reads a row of each Input, and prints the node. */
static void edf_c__write_main(edf_c__file *o, int loads) {
  edf_write(&o->out, "\n#ifndef NO_MAIN\n#include <stdio.h>\n\n/* Reads a row of");
  const char *comma = "";
  for (int i = 0; i < edf.n_inputs; i++, comma = ",")
    if (o->used[edf_c__of(edf.inputs[i])])
      edf_write(&o->out, "%s %s", comma, o->name[edf_c__of(edf.inputs[i])]);
  edf_write(&o->out, "%s, and prints %s. */\nint main(%s) {\n", *comma ? "" : " nothing",
            o->name[edf_c__of(o->target)], loads ? "int argc, char **argv" : "void");
  o->depth = 1;
  if (loads) edf_c__line(o, "if (argc > 1 && !load(argv[1])) return 1;");
  for (int i = 0; i < edf.n_inputs; i++)
    if (o->used[edf_c__of(edf.inputs[i])])
      edf_c__row(o, edf.inputs[i], EDF_REAL_IS_DOUBLE ? "if (scanf(\"%lf\", &"
                 : "if (scanf(\"%f\", &", ") != 1) return 1;");
  edf_c__line(o, "forward(1);");
  edf_c__row(o, o->target, "printf(\"%g\\n\", ", ");");
  if (o->loss) {
    edf_c__line(o, "backward(1);");
    edf_c__line(o, "step(0.1%s);", EDF_REAL_IS_DOUBLE ? "" : "f");
    edf_c__line(o, "forward(1);");
    edf_c__row(o, o->target, "printf(\"%g after a step\\n\", ", ");");
  }
  o->depth = 0;
  edf_write(&o->out, "}\n#endif\n");
}
static void edf_c__write(edf_c__file *o, int most, int loads) {
  o->y = o->target;
  const char *y = edf_c__array(o, -1, "");
  edf_write(&o->out, "/* A model, written by edf.h. cc file.c -lm compiles it.\n"
            "     forward(%s)   computes %s for so many rows of the Inputs\n", o->B, y);
  if (o->loss)
    edf_write(&o->out, "     backward(%s)  computes the gradients of the mean of %s\n"
              "     step(eta)  makes a step of SGD */\n", o->B, y);
  else edf_write(&o->out, "*/\n");
  edf_write(&o->out, "#include <math.h>\n#ifndef MOST\n#define MOST %d   /* %s is at most this "
            "*/\n#endif\n\n", o->batch ? o->batch : 1, o->B);
  edf_c__write_tensors(o, most);
  edf_c__declare_own(o);
  if (loads) edf_c__write_load(o);
  edf_c__function(o, "void forward", 0, most);
  if (o->loss) edf_c__write_backward(o, most);
  if (!loads) edf_c__write_numbers(o);
  edf_c__write_main(o, loads);
}
/* Marks the values that the target needs, and those that have a gradient. */
static void edf_c__mark(edf_c__file *o) {
  for (int i = 0; i < edf.n_inputs; i++)
    o->learns[edf_c__of(edf.inputs[i])] = edf.inputs[i]->wanted;
  for (int i = 0; i < edf.n_parameters; i++)
    o->learns[edf_c__of(edf.parameters[i])] = edf.parameters[i]->update != edf_frozen;
  for (int i = 0; i < edf.n_compnodes; i++) {
    const edf_node *y = edf.compnodes[i];
    const edf_contraction *m = edf_contraction_of(y);
    int n = m && !m->runs ? 1 : y->n_in;           /* Classes have no gradient.               */
    for (int k = 0; y->backward && k < n; k++)
      o->learns[edf_c__of(y)] |= o->learns[edf_c__of(y->in[k])];
  }
  o->used[edf_c__of(o->target)] = 1;
  for (int i = edf.n_compnodes - 1; i >= 0; i--) {
    edf_node *y = edf.compnodes[i];
    for (edf_node **in = y->in; o->used[edf_c__of(y)] && *in; in++) o->used[edf_c__of(*in)] = 1;
  }
}
/* Names all values, and at last the number of rows and the step, which avoid them. */
static void edf_c__name_values(edf_c__file *o, int most) {
  for (int v = 0; v < most; v++)
    if (o->used[v] && v % 3 != EDF_COMPNODE) edf_c__give_name(o, v, most, "");
  for (int i = edf.n_compnodes - 1; i >= 0; i--) {
    int v = edf_c__of(edf.compnodes[i]);
    if (o->used[v] && !o->member[i]) edf_c__give_name(o, v, most, "");
  }
  for (int k = 0; k < o->n_loop; k++) {
    const edf_c__loop *l = &o->loop[k];
    for (int i = 0; i < l->period; i++) {
      int v = edf_c__of(edf.compnodes[l->first + i]);
      if (!o->used[v]) continue;
      edf_c__give_name(o, v, most, "_at");
      for (int p = 0; p < edf.n_compnodes; p++)
        if (o->member[p] == k + 1 && (p - l->first - i) % l->period == 0)
          o->name[edf_c__of(edf.compnodes[p])] = o->name[v];
    }
  }
  for (int v = 0; v < most; v++)                   /* A bias is often called B.               */
    if (o->name[v] && !strcmp(o->name[v], "B")) o->B = "rows";
  while (edf_c__is_name(o, o->t, most)) o->t = edf_c__text("%s_step", o->t);
}
static edf_page edf_c__page(edf_page out, edf_node *node, int loads) {
  edf_c__file o;
  memset(&o, 0, sizeof o);
  int most = 3 * (edf.n_inputs + edf.n_parameters + edf.n_compnodes);
  edf_expect_node("edf_write_c", "the node", node);
  o.out = out;
  o.target = o.y = node;
  o.B = "B";
  o.t = "t";
  o.used = (char *)edf_keep(NULL, (size_t)most + 1);
  o.learns = (char *)edf_keep(NULL, (size_t)most + 1);
  o.name = (const char **)edf_keep(NULL, ((size_t)most + 1) * sizeof *o.name);
  o.member = (int *)edf_keep(NULL, ((size_t)edf.n_compnodes + 1) * sizeof *o.member);
  for (int i = 0; i < edf.n_inputs; i++)
    if (edf.inputs[i]->batched & 1 && edf.inputs[i]->dim[0] > o.batch)
      o.batch = edf.inputs[i]->dim[0];
  edf_c__mark(&o);
  int is_loss = node == edf.loss || !node->rank || (node->rank == 1 && (node->batched & 1)) ||
                (node->about && strstr(node->about->name, "Loss"));
  o.loss = node->kind == EDF_COMPNODE && o.learns[edf_c__of(node)] && is_loss;
  edf_c__find_loops(&o);
  edf_c__name_values(&o, most);
  edf_c__write(&o, most, loads);
  return o.out;
}
static void edf_c__save(const char *path, edf_node *node, int loads) {
  edf_page none = { NULL, 0 }, text = edf_c__page(none, node, loads);
  edf_writer w = edf_create_file("edf_write_c", path);
  fwrite(text.at, 1, text.n, w.file);
  edf_finish_file(&w);
  edf_release(text.at);
}
void edf_write_c(const char *path, edf_node *node) { edf_c__save(path, node, 0); }
void edf_write_c_loading(const char *path, edf_node *node) { edf_c__save(path, node, 1); }
void edf_write_c_text(edf_page *to, edf_node *node) { *to = edf_c__page(*to, node, 0); }
#ifdef __cplusplus
}
#endif
#endif /* EDF_C__IMPLEMENTED */
