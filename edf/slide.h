/* edf/slide.h - v4.0 - whole slides as programs, for edf.h

   A companion of edf.h. Keep it in the same folder. It includes edf.h. Define
   EDF_IMPLEMENTATION in exactly one file: the code of both headers is compiled there. The
   equations of a lecture slide are a program. Equations("...") reads them and builds the
   nodes. edf_print_equations writes a program as a text. edf/layers.h has layers, which are
   such texts. edf/judge.h checks a backward that a student writes as lines. MIT licence, like
   edf.h.

       #define EDF_IMPLEMENTATION
       #include "edf/slide.h"

       CompNode *loss = Equations("h[b,j] = sigmoid(W[j,I] x[b,I] - B[j])  | j<64 \n"
                                  "P[b,k] = softmax_k V[k,J] h[b,J]        | k<10 \n"
                                  "loss[b] = -ln P[b,y[b]]");

   x[b,784] and y[b] are Inputs. W, B and V are not defined, so they become new Parameters.

   Private names of edf.h that are used here, in edf/layers.h, edf/judge.h and edf/derive.h:

     EDF__BEGIN_COLD EDF__END_COLD EDF__NORETURN EDF__SHARED_LOOP EDF__SHOWN EDF__USED
     EDF__WAITS edf__accept edf__add_compnode edf__alloc edf__append_leaf edf__block
     edf__call_of edf__canonical edf__caret edf__check_exists edf__check_operands
     edf__class_in edf__computed edf__dot edf__exp edf__expect edf__fail edf__fill
     edf__find_equal edf__found edf__free edf__free_list edf__grow edf__header
     edf__identifier edf__infer edf__infer_new edf__is_digit edf__is_letter edf__label
     edf__largest edf__ln edf__mark_backward edf__n_nodes edf__new_node edf__node_marks
     edf__nth edf__numbers edf__operands edf__peek edf__print_by edf__print_formula
     edf__prints_program edf__read_declared edf__restore_marks edf__row_end edf__run_list
     edf__runs_backward edf__say edf__scan edf__scan_of edf__show edf__site edf__softmax_rows
     edf__softmax_rows_back edf__softmax_shape edf__syntax edf__text edf__texts edf__threads
     edf__total edf__vformat edf__vtext edf__whole edf__without_batch

   A text becomes nodes in these stages. Search for the names of their chapters.
     >>read     edf_slide__read_line     text -> lines -> trees
     >>resolve  edf_slide__resolve       names -> tensors, Parameters, indices
     >>bind     edf_slide__bind_line     which index is free, summed or masked
     >>sizes    edf_slide__solve_extents the size of each index; new Parameters
     >>equal    edf_slide__find_equal    a node that computes the same as an older one
     >>lower    edf_slide__whole_line    tree -> nodes: equations, rows of the function table
     >>steps    edf_slide__recur         a recurrence, step by step
     >>write    edf_slide__write_equation  equation -> line, swap rule -> loops; >>formulas
   An equation is compiled in >>contractions, >>reach, >>einsum and >>rewriting. >>trees has the
   trees and the function table. >>functions has further nodes, and >>rows nodes that only texts
   make. >>build runs the stages: edf_slide__run_slide. edf/judge.h runs >>lower again, over the
   tree of a line. */
#if !defined(EDF_H) || \
    (defined(EDF_IMPLEMENTATION) && !defined(EDF_LINKED) && !defined(EDF_IMPLEMENTED))
#include "../edf.h"
#endif
#ifndef EDF_SLIDE_4_H
#define EDF_SLIDE_4_H
#ifdef EDF_SLIDE_H
#error "edf_slide.h is version 3.0, and edf/slide.h is version 4.0: include only edf/slide.h"
#include "edf/slide.h: two versions"
#elif EDF_VERSION != 400
#error "edf/slide.h is version 4.0, and edf.h is another version: use one version of both"
#include "edf/slide.h: another version"  /* This file does not exist: a compiler stops here.  */
#endif
#define EDF_SLIDE__HERE __FILE__, __LINE__
#if defined(__GNUC__) && defined(__MINGW_PRINTF_FORMAT)    /* MinGW has two formats of printf */
#define EDF_SLIDE__PRINTF(f, a) __attribute__((format(__MINGW_PRINTF_FORMAT, f, a)))
#elif defined(__GNUC__)
#define EDF_SLIDE__PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define EDF_SLIDE__PRINTF(f, a)
#endif
#ifdef __cplusplus
extern "C" {
#endif
/* ---- Einsum: one equation, a signed sum of products, as a node.
     edf_einsum("y[b,j] = W[I,j] x[b,I] - B[j]", W, x, B)
   For all b and j, y[b,j] is the sum over I of W[I,j] x[b,I], minus B[j]. The names on the
   right are bound to the operands in order of first appearance.

     equation = tensor "=" ["-"] term { ("+"|"-") term } [ "|" bound { "," bound } ]
     bound    = index "<" number
     term     = [ number ["*"] ] tensor { ["*"] tensor }
     tensor   = name [ "[" position { "," position } "]" ]     a scalar has no brackets
     position = an index, or a sum with whole factors and a constant:   2*i+DI   t-1   0

   free      A free index is an index on the left.
   summed    Any other index is summed within its term. Its name begins with a capital.
   size      An index has one size. A bound gives it, as in | i<28. If there is none, an index
             alone in its position has the size of that dimension. Otherwise it is the largest
             size that keeps every read inside the tensors (a "valid" convolution).
   outside   A read outside a tensor is an error. But if an index of that position has a bound,
             the entry counts as 0 ("same" padding).
   scatter   A sum on the left writes there: y[b,2*i+DI] = ... Values for one entry add up, and
             unwritten entries are 0.
   repeat    A term without a free index is repeated along it.
   diagonal  An index may occur twice in a tensor, and a tensor twice.

   The gradient is the swap rule: exchange a factor with the output and add .grad.
     y[b,j] += W[i,j] x[b,i]   gives   W.grad[i,j] += y.grad[b,j] x[b,i]
                                       x.grad[b,i] += W[i,j] y.grad[b,j]
   One kernel runs the forward loop and the backward loops. A factor that is read outside its
   tensor first becomes a padded copy, and a product of more than two factors becomes products
   of two. Each copy and each product is another node. */
#define edf_einsum(...) edf_einsum_at(EDF_SLIDE__HERE, __VA_ARGS__, (edf_node *)0)
edf_node *edf_einsum_at(const char *file, int line, const char *equation, ...);

/* Puts numbers into a text of at most 511 characters. The text lasts for the next 90 calls of
   edf_fmt. Only your program calls it.
     edf_einsum(edf_fmt("a[t,s] = %.17g Q[t,I] K[s,I]", c), Q, K) */
const char *edf_fmt(const char *format, ...) EDF_SLIDE__PRINTF(1, 2);

/* ---- Slides. Each line is one equation. The call returns the node of the last line:
     edf_equations("h[b,j] = sigmoid(W[j,I] x[b,I] - B[j]) | j<64 \n"
                   "P[b,k] = softmax_k V[k,J] h[b,J]      | k<10 \n"
                   "loss[b] = -ln P[b,y[b]]");
   The text is printf-style. Pass a text of any length as edf_equations("%s", text). A name
   means the line that defines it, or the newest node of that name. If there is neither, it is
   a new Parameter. ; joins parts along a position: h[b,J+K] = x[b,J]; y[b,K].

     line       = ["for" index {"," index} ":"] left ("="|"+="|"-=") sum {";" sum} ["|" bounds]
                | ("input"|"parameter") declaration {"," declaration}
     sum        = ["-"] term {("+"|"-") term}
     term       = [number "/" number] factor {["*"] factor} {"/" factor}
     factor     = (number | name | tensor | call | over | "(" sum ")" | "1[" test "]")
                  ["^" (number | tensor | "(" sum ")")]
     test       = sum ("<"|"<="|"="|"!="|">"|">=") sum
     tensor     = name "[" position {"," position} "]"
     position   = a sum of indices, numbers and lookups: t-1, n[b]-1 | "(" indices ")"
     call       = name "(" sum {"," sum} ")" | name factor, as in ln P[b,y[b]]
     over       = name "_" (index | "{" index or bound {","...} "}") argument
     bound      = (index | name) "<" number | a test of two positions: s<=t, s<n[b], s!=t

   functions  sigmoid (or sig) tanh relu gelu silu softplus exp ln log sqrt abs sin cos erf
              log1p expm1, min(x,y), max(x,y), clamp(x,lo,hi), dropout(x,rate).
              Functions without a gradient: sign floor stop.
              Reductions over indices: sum mean max min prod norm std variance logsumexp
              argmax argmin. The variance of n entries is the mean of (x - mean)^2, so its
              divisor is n. norm is sqrt(sum x^2), std is sqrt(variance). Where norm or std is
              0, its gradient is 0. logsumexp_k x is ln sum_k exp(x).
              softmax, logsoftmax and normalize(x,eps) keep their indices. normalize is
              (x - mean) / sqrt(variance + eps). eps is 1e-5 if it is not given.
   powers     x[i]^y[i], with its gradient by y, needs x > 0.
   gradients  grad(L, x[b,i]) is the derivative of the sum of L by x. See edf/derive.h.
   tests      1[x > y] is 1 or 0. A comparison with NaN is 0.
   selection  where(x > y, a, c) is a if the test is true, else c. The other one has no
              influence on values or gradients, and its lookups are not read:
              where(y[b] >= 0, -ln P[b,y[b]], 0) ignores labels below 0.
   sums       A summed index is a capital, such as I, that is not on the left. The outermost
              product sums I if one of its tensors has I. In a bracket or a function, a product
              sums I only if two of its factors have I. With += and -=, lower-case indices that
              are not on the left are summed too, over the whole right side.
   numbers    A capital alone is the size of an index. A lower-case index alone is its value:
              (t-s)^2 / B.
   parameters If indices of a new Parameter are summed, it starts uniform with variance 1/n,
              for n products in a sum. For a lookup table, n is the length of a row. Otherwise
              a new Parameter starts at 0 if it is a whole term, else at 1. Other tensors or
              bounds give its size. The first use of a declared one sets it, too.
   recurrence The line of h, or a line above it, may read an earlier step, h[b,t-1,j]. Then the
              lines from this read to the line of h run step by step. The step before the first
              is 0, or a line gives it: h[b,-1,j] = z[b,j].
   bounds     j<64 gives the size of j. w<27: w has 27 classes.
   masks      s<=t, s!=t, t-3<s and s<n[b] keep only these entries, and a mean counts only
              them. An excluded one has no influence on values or gradients, also if it is NaN.
              This holds for the line that has the mask: a line above gets the gradient 0, and
              0 times infinity is NaN. A mask in braces also names an index to reduce, which is
              the new one: sum_{s<=t} x[s].
   lookups    A position n[b]-1 or p[b]+D outside the tensor is 0 if one of its indices has a
              bound. Otherwise Forward stops there.
   logarithms ln sum_k exp(s[b,k]) and ln of a softmax are stable for all numbers.
   equal      Lines that compute the same are one node, and so are parts of lines: a[i] = 2 x[i]
              and b[j] = 2 x[j]. edf_find knows the node by all names. Two dropouts are two.
   A full stop at the end of a line is ignored. An error shows the position in the text. */
#define edf_equations(...) edf_equations_at(EDF_SLIDE__HERE, __VA_ARGS__)
edf_node *edf_equations_at(const char *file, int line, const char *text, ...)
    EDF_SLIDE__PRINTF(3, 4);
edf_node *edf_find(const char *name);    /* Returns the newest tensor of this name, or stops. */

/* Reads the same language over nodes of your own. The names that no line defines are these
   nodes, in the order in which the names first appear. No Input or Parameter is created.
     edf_text("P[b,t,s] = softmax_s a[b,t,s] | s<=t", a)
   edf_recurrence is for a line that reads an earlier step of itself:
     Recurrence("h[b,t,j] = tanh(Whh[j,I] h[b,t-1,I] + Wxh[j,K] x[b,t,K] - B[j])",
                Whh, Wxh, x, B) */
#define edf_text(...)       edf_text_at(EDF_SLIDE__HERE, __VA_ARGS__, (edf_node *)0)
#define edf_recurrence(...) edf_recurrence_at(EDF_SLIDE__HERE, __VA_ARGS__, (edf_node *)0)
edf_node *edf_text_at(const char *file, int line, const char *text, ...);
edf_node *edf_recurrence_at(const char *file, int line, const char *equation, ...);

/* ---- Prints. With this header, edf_print_program prints equations and formulas with the
   indices of each node, and the backward as loops: for b,i,j: W.grad[i,j] += ... A capital
   index is summed. A line of a slide is a heading above its nodes, which are indented. If the
   line is one node that looks the same, apart from bounds such as | j<4, it is printed once.
   A recurrence shows its first steps, up to the largest offset and one more. One line stands
   for the others. edf_print_equations writes the whole program as a text for edf_equations:
   declarations and the author's lines. If an empty graph reads the text, it gets the same
   nodes. The same Parameters then give the same numbers, bit for bit. If two texts define one
   name, the second becomes h_2. A node that C code made is a comment. */
void edf_print_equations(FILE *out);

/* Prints the life of each value: how many bytes it has, and which code reads it last. Then it
   prints how much memory the values and gradients of a step need, each in its own array, as
   now, and in arrays that are used again as soon as their last reader has run. Each array is
   placed at the first gap that is long enough. No plan needs less than the arrays that live at
   one moment. Backward reads a value if the gradient has it as a factor: tanh reads y, and a
   product reads its other factor. A node without a formula may read all of them.
   A step is what the last Backward runs, or all nodes if there was none. Errors: no Forward. */
void edf_print_memory(FILE *out);
#ifdef EDF_NO_DEBUG
#define edf_print_equations(out)      ((void)(out))      /* They do nothing.              */
#define edf_print_memory(out)         ((void)(out))
#endif


/* ---- Further nodes, for C calls and for texts.
   LeakyRelu: y = x if x > 0, else slope x.   dx += dy (1 if x > 0, else slope)
   Gelu: y = x/2 (1 + tanh(c (x + 0.044715 x^3))), c = sqrt(2/pi) (Hendrycks, Gimpel 2016).
         dx += dy (s + x s (1-s) 2 c (1 + 0.134145 x^2)), s = sigmoid(2 c (x + 0.044715 x^3))
   Softplus: y = ln(1 + exp(x)).   dx += dy / (1+exp(-x))
   Abs: y = |x|.  dx += dy sign(x)         Sin: dx += dy cos(x)         Cos: dx -= dy sin(x)
   Pow: y = x^p for a number p.    dx += dy p x^(p-1)
   Clamp: y = min(max(x, lo), hi) for numbers lo <= hi.    dx += dy [lo <= x <= hi]
   Min, Max: of two nodes, with shapes as Add.    da += dy [a is chosen]    db += dy [b is]
   At kinks: sign(0) = 0, Clamp passes the gradient at lo and hi (both as in PyTorch), and if a
   and b are equal, a is chosen. A NaN stays NaN in Forward. In Backward, a slope of exactly 0
   stops a NaN or an infinity of y.grad: x.grad gets 0. Examples are x^2, x^3 and |x| at 0, and
   Clamp outside of lo and hi. Relu, Min and Max stop it at an entry that is not chosen. A
   product, such as x x in an equation, does not stop it, since 0 times infinity is NaN. Nor do
   Exp, Tanh, Sigmoid and Gelu. */
#define EDF_SLIDE__NODE1(name, x)    edf_node1(&edf_##name##_op, EDF_SLIDE__HERE, x)
#define EDF_SLIDE__NODE2(name, a, b) edf_node2(&edf_##name##_op, EDF_SLIDE__HERE, a, b)
extern const edf_op edf_min_op, edf_max_op, edf_gelu_op, edf_softplus_op, edf_abs_op,
    edf_sin_op, edf_cos_op, edf_leaky_relu_op, edf_pow_op, edf_clamp_op, edf_log_softmax_op;
#define edf_leaky_relu(x, slope) edf_leaky_relu_at(EDF_SLIDE__HERE, x, slope)
#define edf_gelu(x)              EDF_SLIDE__NODE1(gelu, x)
#define edf_softplus(x)          EDF_SLIDE__NODE1(softplus, x)
#define edf_abs(x)               EDF_SLIDE__NODE1(abs, x)
#define edf_sin(x)               EDF_SLIDE__NODE1(sin, x)
#define edf_cos(x)               EDF_SLIDE__NODE1(cos, x)
#define edf_pow(x, p)            edf_pow_at(EDF_SLIDE__HERE, x, p)
#define edf_clamp(x, lo, hi)     edf_clamp_at(EDF_SLIDE__HERE, x, lo, hi)
#define edf_min(a, b)            EDF_SLIDE__NODE2(min, a, b)
#define edf_max(a, b)            EDF_SLIDE__NODE2(max, a, b)
edf_node *edf_leaky_relu_at(const char *file, int line, edf_node *x, edf_real slope);
edf_node *edf_pow_at(const char *file, int line, edf_node *x, edf_real p);
edf_node *edf_clamp_at(const char *file, int line, edf_node *x, edf_real lo, edf_real hi);

/* LogSoftmax, the logarithm of Softmax, stable: y[b,k] = s[b,k] - ln sum_j exp(s[b,j]).
   s.grad[b,k] += y.grad[b,k] - exp(y[b,k]) sum_j y.grad[b,j] */
#define edf_log_softmax(s) EDF_SLIDE__NODE1(log_softmax, s)

/* ---- The compiled form of an equation, for tools. It is what runs. Prints, ONNX, the GPU and
   the trace read it. edf_contraction_of returns NULL for a node without an equation.

   An equation says  left[..] = sum over terms of  coefficient * ref[first] * ref[first+1] ...
   A term sums over its indices that are not on the left. `e` has at most two factors a term.

     kind   0    sums
            'm'  the mean over the summed indices; 's' divides by one less than their number
            'x'  the maximum over the summed indices
            'p'  a scatter: a position on the left is n-1 minus the place of a tensor: place.by

   A term counts only where its masks hold: index[low] - index[high] + constant <= 0. An index
   -1 is the number 0. A mask's test is a factor, too: a node Test. An excluded entry is not in
   the sum, even if it is infinite. Padded copies and products have replaced the refs that no
   term uses. */
enum { EDF_SLIDE__MAX_REF = 32, EDF_SLIDE__MAX_MASK = 16, EDF_SLIDE__SIZE_STEPS = 64 };
typedef struct {                         /* a position in a tensor: 2*i+DI-1                  */
  int factor[EDF_MAX_INDEX];
  int constant;
  int by;                                /* a lookup: number of the ref that gives it, else 0 */
  const char *at;
} edf_place;
typedef struct {                         /* a tensor in an equation: W[I,j]                   */
  const char *name;
  int operand;                           /* number of the tensor: of y->in for `e`, of        */
                                         /* `operand` for `written`; -1 for the left side     */
  int rank;
  edf_place place[EDF_MAX_RANK];
} edf_ref;
typedef struct {                         /* an index                                          */
  const char *name;
  int left;                              /* 1 if it is on the left                            */
  int bound;                             /* its size in | i<28, or as the rewriting needs it, */
                                         /* else 0                                            */
} edf_index;
typedef struct {                         /* a step of a coefficient, in postfix notation      */
  char op;                               /* '#' a number, 's' a size, '+' '*' '/' '^', 'f'    */
  double number;                         /* the number, or the size if it is known            */
  const char *name;                      /* of the size's index, or of the function 'f'       */
  const edf_node *of; int dim;           /* an unknown size is of->dim[dim]                   */
  double (*f)(double);
} edf_size_step;
typedef struct {                         /* a coefficient times n tensors: ref[first] ...     */
  double number;                         /* the coefficient is number * steps, as 2/(B-1)     */
  int n_step;
  const edf_size_step *step;
  int first, n;
  const char *at;
  unsigned masks;                        /* Bit m is 1 if mask[m] holds for this term.        */
} edf_term;

typedef struct {
  struct edf__scan *scan;                /* its text, for messages                            */
  int n_index, n_ref, n_term, n_operand;
  edf_index index[EDF_MAX_INDEX];
  edf_term *term;
  edf_ref *ref;                          /* ref[0] is the left-hand side                      */
  int n_mask;
  edf_mask mask[EDF_SLIDE__MAX_MASK];    /* low and high are numbers of indices.              */
} edf_equation;
/* The state of an equation's node. */
typedef struct edf_contraction {
  edf_equation e;                        /* as it runs: two factors a term, no read outside   */
  edf_equation written;                  /* as the program wrote it, for prints               */
  edf_node **operand;                    /* the operands of `written`                         */
  int kind;                              /* see above                                         */
  int runs;                              /* 1 if its contractions compute it                  */
  ptrdiff_t extent[EDF_MAX_INDEX];       /* size of each index; 0 for a batch that was not    */
                                         /* fed, -1 if unknown                                */
  const edf_ref *source[EDF_MAX_INDEX];  /* the tensor that gives the size, or NULL           */
  int padded[EDF_MAX_RANK];              /* of a padded copy: its dimensions, else 0          */
  edf_real outside;                      /* of a padded copy: the entries around the tensor   */
  struct edf_slide__run *run;            /* 3 for each term: out += a b, and the swap rule's  */
  ptrdiff_t *window;                     /* of a maximum: the offsets                         */
  ptrdiff_t *entry;                      /* of a Lookup: where each run of adjacent entries   */
                                         /* is in the table, or -1                            */
} edf_contraction;
edf_contraction *edf_contraction_of(const edf_node *y);

/* ---- What a slide knows about a node, for tools. A row is what a softmax or a reduction
   computes by itself. edf_row_dims returns how many last indices of y form a row.
   edf_row_is_causal returns 1 if row t uses only its first t+1 entries, as with s<=t.
   edf_index_name returns the name of the index of dimension d in prints, such as b. It is
   valid until the next call.
   edf_write_heading writes the line of the slide as its author wrote it, and the step of a
   recurrence: h[b,t] = ...   [t=0]. It writes nothing for a node of a C call. edf_same_heading
   returns 1 if both nodes have one heading. edf_folded_step returns the step, t=5, if prints
   fold it, else NULL. */
int edf_row_dims(const edf_node *y);
int edf_row_is_causal(const edf_node *y);
const char *edf_index_name(const edf_node *y, int d);
void edf_write_heading(edf_page *to, const edf_node *x);
int edf_same_heading(const edf_node *x, const edf_node *y);
const char *edf_folded_step(const edf_node *x);

/* A maximum over windows: entry i of y is the greatest x[.. + offset[k]]. The first n_kept
   loops of t run over y and x, and the others over the n entries of the window. winner[i] is
   the k of the first greatest entry. Backward adds y.grad to its x.grad. edf_window_of is for a
   node whose equation has kind 'x'. */
typedef struct {
  edf_nest t;
  int n_kept;
  ptrdiff_t n;
  ptrdiff_t *offset;
  int *winner;
} edf_window;
edf_window edf_window_of(edf_node *y);
double edf_coefficient(const edf_term *t);         /* Returns it for the present batch.       */

/* Embed: y[b,t,j] = W[k[b,t],j] for class numbers k.   W.grad[k[b,t],j] += y.grad[b,t,j]
   Errors, in Forward: a class out of range or not whole. The message has its row and value. */
#define edf_embed(W, k) edf_embed_at(EDF_SLIDE__HERE, W, k)
edf_node *edf_embed_at(const char *file, int line, edf_node *W, edf_node *k);

#ifdef __cplusplus
}
#endif

/* ---- Short names */
#ifndef EDF_NO_SHORT_NAMES
#define Embed           edf_embed
#define Recurrence      edf_recurrence
#define Einsum          edf_einsum
#define LogSoftmax      edf_log_softmax
#define LeakyRelu       edf_leaky_relu
#define Gelu            edf_gelu
#define Softplus        edf_softplus
#define Abs             edf_abs
#define Sin             edf_sin
#define Cos             edf_cos
#define Pow             edf_pow
#define Clamp           edf_clamp
#define Min             edf_min
#define Max             edf_max
#define Equations       edf_equations
#endif
#endif /* EDF_SLIDE_4_H */

#if defined(EDF_IMPLEMENTATION) && !defined(EDF_LINKED) && !defined(EDF_SLIDE__IMPLEMENTED)
#define EDF_SLIDE__IMPLEMENTED
#include <ctype.h>
#ifdef __cplusplus
extern "C" {
#endif
EDF__BEGIN_COLD
/* ==== >>helpers  Names, errors, memory and reading ======================================= */

/* Stops with the message `rule` and a list of the operands of y. */
static void edf_slide__operands_error(const edf_node *y, const char *rule) {
  edf__site at = { y->op, y->file, y->line };
  edf_page list = { NULL, 0 };
  for (int k = 0; k < y->n_in; k++) edf_write(&list, "\n  %s", edf__show(y->in[k]));
  edf__fail(at, "%s%s", rule, list.at);
}

/* ---- Characters */
static char edf_slide__upper(char c) {
  return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}
static char edf_slide__lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Returns 1 if the first letter of A-Z and a-z in a name is a capital. */
static int edf_slide__is_capital(const char *name) {
  while (*name && edf_slide__lower(*name) == edf_slide__upper(*name)) name++;
  return *name && *name == edf_slide__upper(*name);
}
/* Returns 0 if two names are equal or differ only in case. */
static int edf_slide__compare_names(const char *a, const char *b) {
  while (*a && edf_slide__lower(*a) == edf_slide__lower(*b)) { a++; b++; }
  return edf_slide__lower(*a) - edf_slide__lower(*b);
}

/* Replaces the signs of slides by those of a keyboard, and a no-break space by blanks. */
static void edf_slide__plain(char *text) {
  static const char *const signs[][2] = {
    { "\xE2\x88\x92", "-  " }, { "\xC2\xB7", "* " }, { "\xC3\x97", "* " },
    { "\xE2\x8A\x99", "*  " }, { "\xE2\x89\xA4", "<= " }, { "\xE2\x89\xA5", ">= " },
    { "\xE2\x89\xA0", "!= " }, { "\xC2\xA0", "  " } };
  for (size_t k = 0; k < sizeof signs / sizeof *signs; k++)
    for (char *c = text; (c = strstr(c, signs[k][0])) != NULL;)
      memcpy(c, signs[k][1], strlen(signs[k][1]));
}

/* Replaces a full stop at the end of each line by a blank. A line ends with its comment. */
static void edf_slide__drop_full_stops(char *text) {
  for (char *end = text; *end; end += *end != '\0') {
    char *begin = end, *last;
    end += strcspn(end, "#\n");
    for (last = end; last > begin && last[-1] == ' '; last--) {}
    if (last > begin && last[-1] == '.') last[-1] = ' ';
    end += strcspn(end, "\n");
  }
}

static void edf_slide__type_signs(char *text) {
  edf_slide__plain(text);
  edf_slide__drop_full_stops(text);
}

/* Reads a decimal number, 12, 0.125, .5 or 1e-3, and moves *at after it. In 0x10 it reads the
   0, since strtod would read 16. */
static double edf_slide__decimal(const char **at) {
  char *end = (char *)(uintptr_t)*at + (**at == '.');
  int is_hex = **at == '0' && ((*at)[1] == 'x' || (*at)[1] == 'X');
  double n = edf__is_digit(*end) && !is_hex ? edf_read_number(*at, &end) : 0;
  *at = end + is_hex;
  return n;
}
/* Reads a number, which has a digit and at most one point. */
static double edf_slide__read_number(edf__scan *s) {
  const char *start = s->at;
  if (*start == '.' && !edf__is_digit(start[1]))
    edf__syntax(s, start, "a point alone is no product: write x[i] y[i] or x[i] * y[i]");
  double n = edf_slide__decimal(&s->at);
  if (*s->at == '.') edf__syntax(s, s->at, "a number has at most one point");
  if (!((double)(edf_real)n < HUGE_VAL)) edf__syntax(s, start, "the number is out of range");
  return n;
}

/* Returns memory that is all 0. edf_clear_compnodes frees it. */
static void *edf_slide__alloc(size_t bytes) { return edf__grow(&edf.computed, NULL, bytes); }

/* ---- Memory of trees. An Einsum and a layer free their trees when their nodes are built. The
   trees of a slide stay, because a submitted backward is compared with them. */
static int edf_slide__frees_trees;
static edf__block **edf_slide__trees(void) {
  return edf_slide__frees_trees ? &edf.scratch : &edf.computed;
}
static void *edf_slide__tree(size_t bytes) {
  return edf__grow(edf_slide__trees(), NULL, bytes);
}
/* Returns 1 if the trees may be freed at the end: one text may be built inside another. */
static int edf_slide__begin_trees(void) {
  edf_slide__frees_trees = 1;
  return !edf.scratch;
}
static char *edf_slide__copy(const char *text) {
  size_t n = strlen(text) + 1;
  return (char *)memcpy(edf_slide__alloc(n), text, n);
}

/* Stops unless the operand x is a node of this graph. */
static void edf_slide__check(const edf__site *at, const edf_node *x, const char *name) {
  const char *file = edf.file;
  int line = edf.line;
  edf.file = at->file;                   /* An error names this place.                        */
  edf.line = at->line;
  edf_expect_node(at->op, name, x);
  edf.file = file;
  edf.line = line;
}

/* ---- The note of a node. Lines that compute the same are one node. It has the name of the
   first of them, and an alias for each of the others. */
typedef struct edf_slide__alias {
  const char *name;
  const void *line;                      /* its line, or NULL: as in the note                 */
  const void *steps;
  struct edf_slide__alias *next;
} edf_slide__alias;
typedef struct {
  edf_note head;                         /* its heading is that of a program's print          */
  edf_contraction *equation;             /* its compiled equation, or NULL                    */
  const char *letters;                   /* its indices, as [b,t,j]                           */
  const void *line;                      /* its line of a program, or NULL                    */
  const char *said;                      /* its line, as the author wrote it                  */
  const void *steps;                     /* the recurrence whose step it is, or NULL          */
  edf_slide__alias *also;                /* its other names, or NULL                          */
  const char *time;                      /* its step of a recurrence, t=5; "" or NULL: none   */
  const char *group;                     /* the heading of its line or step, or NULL          */
  const char *fold[2];                   /* one heading for folded steps, or NULL; in the     */
                                         /* print of the backward program                     */
  void (*forward)(edf_node *);           /* of a constant, which runs once for each batch     */
  int is_mask;                           /* 1 for the test of a mask                          */
  int row_dims;                          /* number of last dimensions that form a row         */
  int causal;                            /* 1 if row t uses only its first t+1 entries        */
  int letters_of;                        /* number of the input with the same indices, or -1  */
  int inner;                             /* 1 if it was built inside a line, for a part of it */
  int later;                             /* 1 for a step after the first, 2: like the others  */
} edf_slide__facts;

/* Prints a node of a slide, see >>formulas. Notes of slides are known by it. */
static void edf_slide__print(edf_page *to, const edf_node *y, int backward);
static const edf_slide__facts edf_slide__no_note = {
  { NULL, NULL }, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, { NULL, NULL }, NULL, 0, 1, 0,
  0, 0, 0 };

/* Returns the note of x, to be read. */
static const edf_slide__facts *edf_slide__note_of(const edf_node *x) {
  const edf_note *note = x->note;
  return note && note->print == edf_slide__print ? (const edf_slide__facts *)(const void *)note
                                                 : &edf_slide__no_note;
}
/* Returns the note of x, to be written. It replaces that of another companion. */
static edf_slide__facts *edf_slide__note(edf_node *x) {
  if (edf_slide__note_of(x) == &edf_slide__no_note) {
    edf_slide__facts *note = (edf_slide__facts *)(x->kind == EDF_COMPNODE
        ? edf_slide__alloc(sizeof *note) : edf_keep(NULL, sizeof *note));
    *note = edf_slide__no_note;
    note->head.print = edf_slide__print;
    x->note = &note->head;
  }
  return (edf_slide__facts *)(void *)x->note;
}

int edf_row_dims(const edf_node *y) {
  edf__check_exists("edf_row_dims", y);
  return y->about == &edf_reshape_op ? y->rank : edf_slide__note_of(y)->row_dims;
}
int edf_row_is_causal(const edf_node *y) {
  edf__check_exists("edf_row_is_causal", y);
  return edf_slide__note_of(y)->causal;
}
void edf_write_heading(edf_page *to, const edf_node *x) {
  edf__check_exists("edf_write_heading", x);
  if (edf_slide__note_of(x)->group) edf_write(to, "%s", edf_slide__note_of(x)->group);
}
int edf_same_heading(const edf_node *x, const edf_node *y) {
  edf__check_exists("edf_same_heading", x);
  edf__check_exists("edf_same_heading", y);
  return edf_slide__note_of(x)->group == edf_slide__note_of(y)->group;
}
const char *edf_folded_step(const edf_node *x) {
  edf__check_exists("edf_folded_step", x);
  return edf_slide__note_of(x)->later > 1 ? edf_slide__note_of(x)->time : NULL;
}

/* Returns the number of entries of a row of y. */
static size_t edf_slide__columns(const edf_node *y) {
  size_t K = 1;
  for (int d = y->rank - edf_slide__note_of(y)->row_dims; d < y->rank; d++)
    K *= (size_t)y->dim[d];
  return K;
}
/* Returns T if each T rows of y are causal, else 0. */
static size_t edf_slide__causal_rows(const edf_node *y) {
  const edf_slide__facts *note = edf_slide__note_of(y);
  return note->causal ? (size_t)y->dim[y->rank - note->row_dims - 1] : 0;
}

/* Fills w with uniform numbers in +-sqrt(3/n): variance 1/n, for sums of n products. */
static edf_node *edf_slide__init_for(edf_node *w, double n) {
  edf_real bound = (edf_real)sqrt((double)((edf_real)3 / (edf_real)n));
  edf_init_uniform(w, -bound, bound);
  return w;
}
static void edf_slide__set(edf_node *p, edf_real number) {
  for (size_t i = 0; i < p->size; i++) p->value[i] = number;
  edf_push(p);
}

EDF__END_COLD
/* ==== >>contractions  Equations as they are compiled ===================================== */

static int edf_slide__index_of(edf_equation *e, const char *name) {
  for (int i = 0; i < e->n_index; i++) if (!strcmp(e->index[i].name, name)) return i;
  if (e->n_index == EDF_MAX_INDEX)
    edf__syntax(e->scan, name, "an equation has at most %d indices", EDF_MAX_INDEX);
  edf_index index = { name, 0, 0 };
  e->index[e->n_index] = index;
  return e->n_index++;
}

static int edf_slide__first_sign(edf__scan *s) { return edf__accept(s, '-') ? -1 : 1; }

/* Adds a tensor, all zero, to an equation. It may move the others. */
static edf_ref *edf_slide__next_ref_in(edf__block **list, edf_equation *e) {
  if (e->n_ref == EDF_SLIDE__MAX_REF)
    edf__syntax(e->scan, e->scan->at, "an equation has at most %d tensors", EDF_SLIDE__MAX_REF);
  size_t n = (size_t)++e->n_ref;
  e->ref = (edf_ref *)edf__grow(list, e->ref, n * sizeof *e->ref);
  return (edf_ref *)memset(&e->ref[n - 1], 0, sizeof *e->ref);
}
static edf_ref *edf_slide__next_ref(edf_equation *e) {
  return edf_slide__next_ref_in(&edf.computed, e);
}
/* Adds a term. It may move the others. */
static edf_term *edf_slide__next_term(edf_equation *e) {
  size_t n = (size_t)++e->n_term;
  e->term = (edf_term *)edf__grow(&edf.computed, e->term, n * sizeof *e->term);
  return &e->term[n - 1];
}

/* ---- The indices of a part of an equation: bit i stands for index i. */
static unsigned edf_slide__place_has(const edf_place *p) {
  unsigned has = 0;
  for (int i = 0; i < EDF_MAX_INDEX; i++) has |= (unsigned)(p->factor[i] != 0) << i;
  return has;
}
static unsigned edf_slide__ref_has(const edf_ref *r) {
  unsigned has = 0;
  for (int d = 0; d < r->rank; d++) has |= edf_slide__place_has(&r->place[d]);
  return has;
}
static unsigned edf_slide__term_has(const edf_equation *e, const edf_term *t) {
  unsigned has = 0;
  for (int f = t->first; f < t->first + t->n; f++) has |= edf_slide__ref_has(&e->ref[f]);
  return has;
}
/* Returns the index that is alone in its position, or -1. */
static int edf_slide__alone(const edf_equation *e, const edf_place *p) {
  for (int i = 0; i < e->n_index; i++)
    if (p->factor[i] == 1 && p->constant == 0 && edf_slide__place_has(p) == 1u << i) return i;
  return -1;
}

static unsigned edf_slide__refs_have(const edf_equation *e, int f, int end) {
  unsigned has = 0;
  for (; f < end; f++) has |= edf_slide__ref_has(&e->ref[f]);
  return has;
}

/* Returns the name of the first index whose bit in `has` is 1, or NULL. */
static const char *edf_slide__first_of(const edf_equation *e, unsigned has) {
  int i = 0;
  while (has && !(has >> i & 1)) i++;
  return has ? e->index[i].name : NULL;
}

/* Stops if a term has no index i of the left side but sums I. This typo would still train. */
static void edf_slide__check_cases(const edf_equation *e, const char *at, unsigned lacks,
                                   unsigned sums) {
  for (int i = 0; i < e->n_index; i++)
    for (int o = 0; o < e->n_index; o++) {
      const char *a = e->index[i].name, *b = e->index[o].name;
      if (lacks >> i & sums >> o & 1 && !edf_slide__compare_names(a, b))
        edf__syntax(e->scan, at, "%s and %s are two indices: this term sums %s and does not "
                    "have %s; if you mean that, rename one", a, b, b, a);
    }
}

EDF__BEGIN_COLD
/* ==== >>reach  Sizes of one equation, and what it reads =================================== */

static edf_contraction *edf_slide__einsum_of(const edf_node *y) {
  return edf_slide__note_of(y)->equation;
}
/* Returns 1 if y has an equation. A lookup has one, too. */
static int edf_slide__has_equation(const edf_node *y) {
  return edf_slide__einsum_of(y) != NULL;
}
edf_contraction *edf_contraction_of(const edf_node *y) {
  edf__check_exists("edf_contraction_of", y);
  return edf_slide__einsum_of(y);
}

static const char *edf_slide__show_ref(const edf_ref *r, edf_node **in) {
  return edf__text("%s = %s", r->name, edf__show(in[r->operand]));
}
/* Returns a line of a message:  I is 100 in x = Relu "h" [b=64, 100]   built at hw1.c:55 */
static const char *edf_slide__show_size(const edf_index *l, ptrdiff_t n, const edf_ref *r,
                                        edf_node **in) {
  return edf__text("\n  %s is %s in %s", l->name, n ? edf__text("%ld", (long)n) : "the batch",
                   edf_slide__show_ref(r, in));
}

static void edf_slide__check_rank(const edf_equation *e, const edf_ref *r, const edf_node *x) {
  if (r->rank != x->rank)
    edf__syntax(e->scan, r->name, "%s has %d %s here, but the tensor has %d\n  %s = %s",
                r->name, r->rank, r->rank == 1 ? "index" : "indices", x->rank, r->name,
                edf__show(x));
}

/* An index alone in its position has the size of that dimension. All such dimensions agree. */
static void edf_slide__take_size(edf_contraction *m, edf_node **in, const edf_ref *r, int d) {
  int i = edf_slide__alone(&m->e, &r->place[d]);
  if (i < 0 || r->operand < 0) return;
  const edf_index *l = &m->e.index[i];
  int n = in[r->operand]->dim[d];
  if (l->bound && n && l->bound > n)
    edf__syntax(m->e.scan, r->place[d].at, "the bound %s<%d is larger than this dimension, %d"
                "\n  %s", l->name, l->bound, n, edf_slide__show_ref(r, in));
  if (l->bound) return;
  if (!m->source[i]) { m->source[i] = r; m->extent[i] = n; }
  if (m->extent[i] != n)
    edf__syntax(m->e.scan, r->place[d].at, "index %s has two different sizes%s%s", l->name,
                edf_slide__show_size(l, n, r, in),
                edf_slide__show_size(l, m->extent[i], m->source[i], in));
}

/* Finds the least and the greatest value of a position. An index without a size counts as 0.
   Returns 0 if an index of the position is the unknown batch. */
static int edf_slide__reach(const edf_contraction *m, const edf_place *p, ptrdiff_t *least,
                            ptrdiff_t *greatest) {
  int known = 1;
  *least = *greatest = p->constant;
  for (int i = 0; i < m->e.n_index; i++) {
    if (!p->factor[i] || m->extent[i] < 0) continue;
    ptrdiff_t away = (m->extent[i] - 1) * p->factor[i];
    if (m->extent[i] == 0) known = 0;
    if (away > 0) *greatest += away;
    else *least += away;
  }
  return known;
}

/* Stops because position d of r reads outside. */
EDF__NORETURN static void edf_slide__read_error(const edf_contraction *m, edf_node **in,
                                                const edf_ref *r, int d, ptrdiff_t least,
                                                ptrdiff_t greatest) {
  const edf_node *x = in[r->operand];
  const char *index = NULL, *hint = "", *sizes = "";
  for (int i = 0; i < m->e.n_index; i++) {
    const edf_ref *source = m->source[i];
    if (!r->place[d].factor[i]) continue;
    if (!m->e.index[i].bound && (!index || !source)) index = m->e.index[i].name;
    if (source && source->operand != r->operand)
      sizes = edf_slide__show_size(&m->e.index[i], m->extent[i], source, in);
  }
  if (index)
    hint = edf__text(". With a bound, | %s<n, entries outside count as 0", index);
  if (x->batched >> d & 1) hint = ": a dimension that depends on the batch is not padded";
  const char *range = least == greatest ? edf__text("entry %ld", (long)least)
                      : edf__text("entries %ld to %ld", (long)least, (long)greatest);
  edf__syntax(m->e.scan, r->place[d].at, "out of range: reads %s, but the dimension "
              "has 0 to %d%s\n  %s%s", range, x->dim[d] - 1, hint,
              edf_slide__show_ref(r, in), sizes);
}

/* Stops if position d of r reads outside. Before the rewriting (m->runs is 0) it may, if one of
   its indices has a bound. With i >= 0 it returns the largest size of index i, the only one
   without a size, or 0 for the unknown batch. With i = -1 all have a size. */
static ptrdiff_t edf_slide__check_read(const edf_contraction *m, edf_node **in,
                                       const edf_ref *r, int d, int i) {
  const edf_place *p = &r->place[d];
  ptrdiff_t least, greatest, n = in[r->operand]->dim[d];
  if (!edf_slide__reach(m, p, &least, &greatest) || n == 0) return 0;
  int inside = least >= 0 && greatest < n, factor = i < 0 ? 1 : p->factor[i];
  for (int k = 0; i < 0 && !m->runs && k < m->e.n_index; k++)
    inside |= p->factor[k] && m->e.index[k].bound;
  if (!inside) edf_slide__read_error(m, in, r, d, least, greatest);
  return 1 + (factor > 0 ? (n - 1 - greatest) / factor : least / -factor);
}

/* If a position has exactly one index without a size, that index is as large as it can be while
   every read of the position is inside. Returns 1 if a size was found. */
static int edf_slide__find_sizes_in_sums(edf_contraction *m, edf_node **in) {
  const edf_contraction before = *m;     /* Sizes that are found now count in the next call.  */
  unsigned unknown = 0;
  int found = 0;
  for (int i = 0; i < m->e.n_index; i++) unknown |= (unsigned)(m->extent[i] < 0) << i;
  for (const edf_ref *r = m->e.ref + 1; r < m->e.ref + m->e.n_ref; r++)
    for (int d = 0; d < r->rank; d++) {
      unsigned has = edf_slide__place_has(&r->place[d]) & unknown;
      int i = 0, several = (has & (has - 1)) != 0;
      if (!has || several || r->operand < 0) continue;
      while (!(has >> i & 1)) i++;
      ptrdiff_t n = edf_slide__check_read(&before, in, r, d, i);
      if (m->extent[i] < 0 || n < m->extent[i]) m->extent[i] = n;
      found = 1;
    }
  return found;
}

/* Finds the size of every index. It stays -1 if nothing gives it. */
static void edf_slide__find_extents(edf_contraction *m, edf_node **in) {
  const edf_equation *e = &m->e;
  memset(m->source, 0, sizeof m->source);
  for (int i = 0; i < e->n_index; i++)
    m->extent[i] = e->index[i].bound ? e->index[i].bound : -1;
  for (int f = 1; f < e->n_ref; f++)
    for (int d = 0; d < e->ref[f].rank; d++) edf_slide__take_size(m, in, &e->ref[f], d);
  while (edf_slide__find_sizes_in_sums(m, in)) {}
}
/* Finds the size of every index. Stops if a size is unknown, or a read is outside. */
static void edf_slide__check_extents(edf_contraction *m, edf_node **in) {
  edf_slide__find_extents(m, in);
  for (int f = 0; f < m->e.n_ref; f++)
    for (int d = 0; d < m->e.ref[f].rank; d++) {
      for (int i = 0; i < m->e.n_index; i++) {
        const char *name = m->e.index[i].name;
        if (m->e.ref[f].place[d].factor[i] && m->extent[i] < 0)
          edf__syntax(m->e.scan, name, "unknown size of %s: it is not a plain index on the "
                      "right. Add '| %s<n'", name, name);
      }
      if (f > 0) edf_slide__check_read(m, in, &m->e.ref[f], d, -1);
    }
}

/* ==== >>einsum  Contractions as nodes ==================================================== */

/* ---- Each term is a nest. The swap rule makes the nests of its gradients. */
static edf_nest edf_slide__swap(const edf_nest *forward, int x) {
  edf_nest t = *forward;
  for (int i = 0; i < t.n; i++) {
    t.loop[i].s[EDF_OUT] = forward->loop[i].s[x];
    t.loop[i].s[x] = forward->loop[i].s[EDF_OUT];
  }
  t.start[EDF_OUT] = forward->start[x];
  t.start[x] = forward->start[EDF_OUT];
  return t;
}

/* Sets the start and the strides of an operand from the positions of tensor r, node x. */
static void edf_slide__add_strides(edf_nest *nest, int operand, const edf_equation *e,
                                   const edf_ref *r, const edf_node *x) {
  ptrdiff_t stride = 1;
  for (int d = r->rank - 1; d >= 0; d--) {
    nest->start[operand] += r->place[d].constant * stride;
    for (int i = 0; i < e->n_index; i++)
      nest->loop[i].s[operand] += r->place[d].factor[i] * stride;
    stride *= x->dim[d];
  }
}

double edf_coefficient(const edf_term *t) {
  double v[EDF_SLIDE__SIZE_STEPS + 1] = { 1 };       /* a stack; v[0] is for no steps         */
  int n = 0;
  for (int k = 0; k < t->n_step; k++) {
    const edf_size_step *s = &t->step[k];
    switch (s->op) {
      case '#': v[n++] = s->number; break;
      case 's': v[n++] = s->number > 0 ? s->number : s->of->dim[s->dim]; break;
      case '+': n--; v[n - 1] += v[n]; break;
      case '*': n--; v[n - 1] *= v[n]; break;
      case '/': n--; v[n - 1] /= v[n]; break;
      case '^': n--; v[n - 1] = pow(v[n - 1], v[n]); break;
      default:  v[n - 1] = s->f(v[n - 1]);
    }
  }
  return t->number * v[0];
}

/* Returns the divisor of a term: for kind 'm', a mean, the number n of summed entries, for 's'
   n - 1, else 1. Only edf/slide.h makes kinds other than 0. It also has 'x', a maximum, and
   'p', a position on the left that a tensor gives. */
static double edf_slide__divisor(const edf_contraction *m, const edf_equation *e,
                                 const edf_term *t) {
  double entries = 1;
  for (int i = 0; i < e->n_index; i++)
    if (!e->index[i].left && edf_slide__term_has(e, t) >> i & 1)
      entries *= (double)m->extent[i];
  return m->kind == 'm' ? entries : m->kind == 's' ? entries - 1 : 1;
}

/* A nest, and its plan. `planned` is 1 if the plan is for the present batch. */
typedef struct edf_slide__run {
  edf_nest nest;
  edf_route *route;
  int planned;
  int kernel;                            /* edf.kernel when it was planned                    */
  edf_real *rows;                        /* for edf_slide__run_by_class: X, P and S           */
  struct edf_slide__row *row;            /* the rows of x and z                               */
  ptrdiff_t *number;                     /* the classes                                       */
} edf_slide__run;

static void edf_slide__make_term(const edf_node *y, const edf_term *t, edf_slide__run *run) {
  const edf_contraction *m = edf_slide__einsum_of(y);
  const edf_equation *e = &m->e;
  unsigned has = edf_slide__ref_has(e->ref) | edf_slide__term_has(e, t);
  edf_nest nest;
  memset(&nest, 0, sizeof nest);
  nest.alpha = (edf_real)(edf_coefficient(t) / edf_slide__divisor(m, e, t));
  edf_slide__add_strides(&nest, EDF_OUT, e, e->ref, y);
  for (int f = 0; f < t->n; f++) {
    const edf_ref *r = &e->ref[t->first + f];
    edf_slide__add_strides(&nest, EDF_A + f, e, r, y->in[r->operand]);
  }
  for (int i = 0; i < e->n_index; i++)
    if (has >> i & 1) {                  /* Moves the loops of this term to the front.        */
      nest.loop[nest.n] = nest.loop[i];
      nest.loop[nest.n].n = m->extent[i];
      nest.loop[nest.n++].index = e->index[i].name;
    }
  for (int x = EDF_OUT; x <= EDF_B; x++) {
    run[x].planned = 0;
    run[x].nest = edf_slide__swap(&nest, x);         /* EDF_OUT: it changes nothing           */
  }
}

/* Finds the shape of an equation, and makes the nests of its terms. */
static void edf_slide__einsum_shape(edf_node *y) {
  edf_contraction *m = edf_slide__einsum_of(y);
  size_t bytes = 3 * (size_t)m->e.n_term * sizeof *m->run;
  edf_slide__check_extents(m, y->in);
  y->rank = m->e.ref->rank;
  for (int d = 0; d < y->rank; d++) {
    ptrdiff_t least, greatest;
    const edf_place *p = &m->e.ref->place[d];
    int known = edf_slide__reach(m, p, &least, &greatest);
    if (known && least < 0)
      edf__syntax(m->e.scan, p->at, "this position writes entry %ld, below 0", (long)least);
    if (known && greatest >= INT_MAX)
      edf__syntax(m->e.scan, p->at, "this dimension is too long: %ld", (long)greatest + 1);
    y->dim[d] = m->padded[d] ? m->padded[d] : known ? (int)greatest + 1 : 0;
  }
  m->run = (edf_slide__run *)edf__grow(&edf.computed, m->run, bytes);
  for (int t = 0; m->runs && t < m->e.n_term; t++)
    edf_slide__make_term(y, &m->e.term[t], m->run + 3 * t);
}

/* ---- Masks. A pair that a mask excludes has no influence, also if it is NaN or infinite. If
   all products are finite, another factor is 0 for these pairs, and the fast loops run. If one
   may not be, and on a device, a slower loop leaves the pairs out. */

/* Returns masks a and b as one, for a nest without the index u between them: s<=u and u<=t are
   s<=t. Returns a, if b is NULL. */
static edf_mask edf_slide__join_masks(edf_mask a, const edf_mask *b) {
  if (!b) return a;
  a.high = b->high;
  a.constant += b->constant;
  return a;
}
/* Finds the masks of a term for the loops of its nest. An index that the nest does not have
   takes the value that excludes least. Returns how many masks there are. */
static int edf_slide__find_masks(const edf_contraction *m, const edf_term *t, edf_mask *to) {
  unsigned has = edf_slide__ref_has(m->e.ref) | edf_slide__term_has(&m->e, t);
  int loop[EDF_MAX_INDEX], n_loop = 0, n = 0, masks = m->e.n_mask;
  for (int i = 0; i < EDF_MAX_INDEX; i++) loop[i] = has >> i & 1 ? n_loop++ : -1;
  for (int k = 0; k < masks * (masks + 1) && n < EDF_SLIDE__MAX_MASK; k++) {
    int i = k % masks, j = k / masks - 1, u = m->e.mask[i].high;     /* j is -1: mask i alone */
    if (!(t->masks >> i & 1)) continue;
    if (j >= 0 && (!(t->masks >> j & 1) || u < 0 || u != m->e.mask[j].low || loop[u] >= 0))
      continue;
    edf_mask mask = edf_slide__join_masks(m->e.mask[i], j < 0 ? NULL : &m->e.mask[j]);
    if (mask.high >= 0 && loop[mask.high] < 0)
      mask.constant -= (int)m->extent[mask.high] - 1;
    if (mask.low >= 0) mask.low = loop[mask.low];
    if (mask.high >= 0) mask.high = loop[mask.high];
    to[n++] = mask;
  }
  return n;
}
EDF__END_COLD
/* Returns 1 if all numbers are so small that no product of three of them is infinite. */
static int edf_slide__are_small(const edf_real *v, size_t n) {
  const edf_real limit = (edf_real)(EDF_REAL_IS_DOUBLE ? 1e100 : 1e12);
  int bad = 0;
  for (size_t i = 0; i < n; i++) bad |= !(v[i] > -limit && v[i] < limit);
  return !bad;
}
EDF__BEGIN_COLD
static int edf_slide__is_small(edf_operand a) {
  if (!a.of) return 1;
  return edf_slide__are_small(edf__numbers(a), a.of->size);
}
/* Runs a product of a Lookup in fewer steps, and returns 1, or 0 if it cannot: see >>rows. */
static int edf_slide__run_by_class(edf_slide__run *c, int how, edf_operand out, edf_operand a,
                                   edf_operand b);
/* Runs term number `t` of y, or for x = 1 or 2 the gradient of its factor x - 1. */
static void edf_slide__run_term(const edf_node *y, int t, int x, int how, edf_operand out,
                                edf_operand a, edf_operand b) {
  edf_contraction *m = edf_slide__einsum_of(y);
  edf_slide__run *c = &m->run[3 * t + x];
  int masked = m->e.term[t].masks != 0;
  if (masked) edf__run_list();           /* The numbers are read here.                        */
  if (masked && !edf_device)             /* If all is small, the masks' tests are enough.     */
    masked = !(edf_slide__are_small(&c->nest.alpha, 1) && edf_slide__is_small(a) &&
               edf_slide__is_small(b));
  if (masked) {
    edf_mask mask[EDF_SLIDE__MAX_MASK];
    edf_route route;
    memset(&route, 0, sizeof route);
    route.nest = c->nest;
    route.n_mask = edf_slide__find_masks(m, &m->e.term[t], mask);
    route.mask = mask;
    edf_run(&route, how, out, a, b);
    return;
  }
  if (!c->route) c->route = (edf_route *)edf_slide__alloc(sizeof *c->route);
  if (!c->planned || c->kernel != edf.kernel) *c->route = edf_plan(&c->nest);
  c->planned = 1;
  c->kernel = edf.kernel;
  if (!edf_slide__run_by_class(c, how, out, a, b)) edf_run(c->route, how, out, a, b);
}

/* Returns factor f of a term, or the number 1. */
static edf_operand edf_slide__factor(const edf_node *y, const edf_term *t, int f) {
  const edf_contraction *m = edf_slide__einsum_of(y);
  return f < t->n ? edf_values(y->in[m->e.ref[t->first + f].operand]) : edf_one;
}
static void edf_slide__einsum_forward(edf_node *y) {
  edf_contraction *m = edf_slide__einsum_of(y);
  int first = m->outside != 0 ? EDF_PART : EDF_ASSIGN;
  if (first == EDF_PART) edf__fill(y, EDF_VALUE, m->outside);
  for (int i = 0; i < m->e.n_term; i++) {
    const edf_term *t = &m->e.term[i];
    edf_slide__run_term(y, i, 0, i ? EDF_ADD : first, edf_values(y), edf_slide__factor(y, t, 0),
                        edf_slide__factor(y, t, 1));
  }
}
static void edf_slide__einsum_backward(edf_node *y) {
  edf_contraction *m = edf_slide__einsum_of(y);
  for (int i = 0; i < m->e.n_term; i++) {
    const edf_term *t = &m->e.term[i];
    for (int f = 0; f < t->n; f++) {     /* y.grad takes the place of factor f: swap rule     */
      edf_operand x = edf_slide__factor(y, t, f), other = edf_slide__factor(y, t, 1 - f);
      if (!x.of->grad) continue;
      edf_slide__run_term(y, i, 1 + f, EDF_ADD, edf_grads(x.of), f ? other : edf_grads(y),
                          f ? edf_grads(y) : other);
    }
  }
}
static const edf_op edf_slide__einsum_op = { "Einsum", edf_slide__einsum_shape,
  edf_slide__einsum_forward, edf_slide__einsum_backward, NULL, NULL, NULL,
  EDF_LOOPS | EDF_TESTED | EDF__WAITS, NULL };
/* A copy for a maximum, with -infinity around it. */
static const edf_op edf_slide__pad_op = { "Pad", edf_slide__einsum_shape,
  edf_slide__einsum_forward, edf_slide__einsum_backward, NULL, NULL, NULL,
  EDF_LOOPS | EDF_TESTED | EDF_MASKS | EDF__WAITS, NULL };
static int edf_slide__is_equation(const edf_node *y) {
  return edf_slide__has_equation(y) && edf_slide__einsum_of(y)->runs;
}

/* ---- Constructors */

/* Makes the node of an equation that needs no more rewriting. The op computes it. */
static edf_node *edf_slide__einsum_node(edf__site at, const edf_op *op,
                                        const edf_contraction *m, int n, edf_node **in) {
  edf_node *y = edf__computed(op, at, n, in);
  edf_slide__note(y)->equation =
      (edf_contraction *)memcpy(edf__alloc(&edf.computed, sizeof *m), m, sizeof *m);
  if (!strcmp(at.op, "Einsum")) y->name = m->e.ref->name;
  return edf__add_compnode(y);
}

/* ==== >>rewriting  Padded copies, and products of more than two factors ================== */
/* Returns an equation with the indices of m, and no tensors yet. */
static edf_contraction edf_slide__equation_like(const edf_contraction *m) {
  edf_contraction like = *m;
  like.e.ref = NULL;
  like.e.term = NULL;
  like.e.n_ref = like.e.n_term = like.e.n_operand = like.kind = like.written.n_ref = 0;
  like.runs = 1;
  return like;
}

/* If factor r reads outside x, returns a copy of what it reads, with `outside` around it, and
   lets r read the copy. Else returns x. With c as the least position read, copy[i] = x[i+c]. */
static edf_node *edf_slide__pad(const edf_contraction *m, edf__site at, edf_ref *r,
                                edf_node *x) {
  static const char *const names[EDF_MAX_RANK] = { "i", "j", "k", "l", "m", "n", "o", "p" };
  edf_contraction copy = edf_slide__equation_like(m);
  edf_ref to = *r, from = *r;
  edf_term term = { 1, 0, NULL, 1, 1, r->name, 0 };
  int outside = 0;
  for (int d = 0; d < r->rank; d++) {
    ptrdiff_t least, greatest, n = x->dim[d];
    int known = edf_slide__reach(m, &r->place[d], &least, &greatest) && !(x->batched >> d & 1);
    edf_index index = { names[d], 1, 0 };
    edf_place plain = { { 0 }, 0, 0, r->place[d].at };
    plain.factor[d] = 1;
    from.place[d] = to.place[d] = plain;
    copy.e.index[d] = index;
    if (!known || (least >= 0 && greatest < n)) continue;
    ptrdiff_t begin = least > 0 ? least : 0, end = greatest < n ? greatest + 1 : n;
    int empty = end <= begin;            /* 1 if all reads are outside: the copy is 0         */
    if (empty) { term.number = 0; begin = 0; end = 1; }
    copy.e.index[d].bound = (int)(end - begin);
    copy.padded[d] = (int)(greatest - least + 1);
    from.place[d].constant = (int)begin;
    to.place[d].constant = empty ? 0 : (int)(begin - least);
    r->place[d].constant -= (int)least;
    outside = 1;
  }
  if (!outside) return x;
  at.op = "Pad";
  copy.outside = m->kind == 'x' ? -(edf_real)HUGE_VAL : 0;
  copy.e.n_index = r->rank;
  copy.e.n_mask = 0;
  *edf_slide__next_term(&copy.e) = term;
  to.operand = -1;
  from.operand = 0;
  *edf_slide__next_ref(&copy.e) = to;
  *edf_slide__next_ref(&copy.e) = from;
  const edf_op *op = copy.outside != 0 ? &edf_slide__pad_op : &edf_slide__einsum_op;
  edf_node *y = edf_slide__einsum_node(at, op, &copy, 1, &x);
  return y;
}

/* Returns the number of entries of a tensor with these indices. An unknown batch counts as
   64. */
static double edf_slide__volume(const edf_contraction *m, unsigned has) {
  double volume = 1;
  for (int i = 0; i < m->e.n_index; i++)
    if (has >> i & 1) volume *= m->extent[i] ? (double)m->extent[i] : 64;
  return volume;
}
/* Replaces the two factors of term t whose product is cheapest by their product. x[f] is the
   node of factor f. */
static void edf_slide__multiply_pair(edf_contraction *m, edf__site at, edf_term *t,
                                     edf_node **x) {
  edf_ref left = { "product", -1, 0, { { { 0 }, 0, 0, NULL } } }, *r = m->e.ref + t->first;
  edf_term both = { 1, 0, NULL, 1, 2, t->at, t->masks };
  int first = 0, second = 1;
  double best = HUGE_VAL;
  unsigned keeps = 0;                    /* the indices of the product                        */
  for (int i = 0; i < t->n; i++)
    for (int j = i + 1; j < t->n; j++) {
      unsigned has = edf_slide__ref_has(&r[i]) | edf_slide__ref_has(&r[j]);
      unsigned needed = edf_slide__ref_has(m->e.ref);
      for (int k = 0; k < t->n; k++) if (k != i && k != j) needed |= edf_slide__ref_has(&r[k]);
      double cost = edf_slide__volume(m, has) + edf_slide__volume(m, has & needed);
      if (cost < best) { best = cost; first = i; second = j; keeps = has & needed; }
    }
  for (int i = 0; i < m->e.n_index; i++) {
    if (!(keeps >> i & 1)) continue;
    if (left.rank == EDF_MAX_RANK)
      edf__syntax(m->e.scan, t->at, "the product of %s and %s has more than %d indices",
                  r[first].name, r[second].name, EDF_MAX_RANK);
    left.place[left.rank].at = t->at;
    left.place[left.rank++].factor[i] = 1;
  }
  edf_contraction product = edf_slide__equation_like(m);
  edf_node *pair[2] = { x[first], x[second] };
  at.op = "Product";
  *edf_slide__next_term(&product.e) = both;
  *edf_slide__next_ref(&product.e) = left;
  *edf_slide__next_ref(&product.e) = r[first];
  *edf_slide__next_ref(&product.e) = r[second];
  product.e.ref[1].operand = 0;
  product.e.ref[2].operand = 1;
  r[first] = left;
  x[first] = edf_slide__einsum_node(at, &edf_slide__einsum_op, &product, 2, pair);
  t->n--;                                /* The last factor fills the gap, and the product    */
  r[second] = r[t->n];                   /* stands in its place: so nothing reads the pair.   */
  x[second] = x[t->n];
  r[t->n] = left;
  x[t->n] = x[first];
}

/* Gives e tensors and terms of its own. */
static void edf_slide__copy_terms(edf_equation *e) {
  size_t refs = (size_t)e->n_ref * sizeof *e->ref, terms = (size_t)e->n_term * sizeof *e->term;
  e->ref = (edf_ref *)memcpy(edf__alloc(&edf.computed, refs), e->ref, refs);
  e->term = (edf_term *)memcpy(edf__alloc(&edf.computed, terms), e->term, terms);
}

/* Rewrites an equation until no factor reads outside and no term has more than two factors.
   Copies and products replace the operands that only they read. */
static void edf_slide__rewrite(edf_contraction *m, edf__site at, edf_node **in) {
  edf_node copy[EDF_SLIDE__MAX_REF], *x[EDF_SLIDE__MAX_REF];
  int rewritten = 0;
  for (int k = 0; k < m->e.n_operand; k++) {
    copy[k] = edf__without_batch(in[k]);
    x[k] = &copy[k];
  }
  edf_slide__check_extents(m, x);
  for (int i = 0; i < m->e.n_index; i++)          /* A product may have no other size of it. */
    if (m->extent[i] > 0) m->e.index[i].bound = (int)m->extent[i];
  edf_slide__copy_terms(&m->e);
  for (int f = 1; f < m->e.n_ref; f++) {
    edf_node *operand = in[m->e.ref[f].operand];
    x[f] = edf_slide__pad(m, at, &m->e.ref[f], operand);
    rewritten |= x[f] != operand;
  }
  for (edf_term *t = m->e.term; t < m->e.term + m->e.n_term; t++)
    for (; t->n > 2; rewritten = 1) edf_slide__multiply_pair(m, at, t, x + t->first);
  if (!rewritten) {
    edf__free(m->e.ref);
    edf__free(m->e.term);
    m->e.ref = m->written.ref;
    m->e.term = m->written.term;
    return;
  }
  m->e.n_operand = 0;
  for (int f = 1; f < m->e.n_ref; f++) {           /* Numbers the operands again.             */
    int k = 0;
    while (k < m->e.n_operand && in[k] != x[f]) k++;
    if (k == m->e.n_operand) in[m->e.n_operand++] = x[f];
    m->e.ref[f].operand = k;
  }
}

/* Returns 1 for a padded copy or a product that an equation needs. Prints show it inline. */
EDF__USED static int edf_slide__is_helper(const edf_node *x) {
  return x->kind == EDF_COMPNODE && edf_slide__is_equation(x) &&
         !edf_slide__einsum_of(x)->written.n_ref;
}

/* Makes the node of any equation. It is rewritten first, if it has to be. In a lookup a
   tensor gives a position of another one: y[b,j] = W[k[b],j]. It is not rewritten, and an op
   of edf/slide.h computes it. If op is NULL, the node is an Einsum. */
static edf_node *edf_slide__equation_node(const edf__site *at, const edf_op *op, int kind,
                                          const edf_equation *e, int n, edf_node **operands) {
  edf_node *in[EDF_SLIDE__MAX_REF];
  edf_contraction m;
  int is_lookup = 0;
  memset(&m, 0, sizeof m);
  m.e = m.written = *e;
  m.kind = kind;
  edf__check_operands(*at, n, operands);
  m.operand = (edf_node **)edf__alloc(&edf.computed, ((size_t)n + 1) * sizeof *in);
  for (int k = 0; k < n; k++) m.operand[k] = in[k] = operands[k];
  for (int f = 0; f < e->n_ref; f++) {
    const edf_ref *r = &e->ref[f];
    if (f > 0) edf_slide__check_rank(e, r, in[r->operand]);
    for (int d = 0; d < r->rank; d++) is_lookup |= r->place[d].by;
  }
  if (!is_lookup) edf_slide__rewrite(&m, *at, in);
  m.runs = !is_lookup;
  for (int t = 0; t < m.e.n_term; t++)
    if (m.e.term[t].n > 2) edf__syntax(e->scan, m.e.term[t].at, "more than two factors");
  return edf_slide__einsum_node(*at, op ? op : &edf_slide__einsum_op, &m, m.e.n_operand, in);
}

/* ---- The names of a node's indices: of the left side of its equation, or of a text "[b,t,j]",
   or of the node that it was computed from. If nothing names them, they are i, j, k. */
enum { EDF_SLIDE__LETTER = 16 };
typedef struct {
  int n;
  char name[EDF_MAX_RANK][EDF_SLIDE__LETTER];
} edf_slide__letters;

/* Adds an index in lower case. Returns 0 if it is there already. */
static int edf_slide__add_letter(edf_slide__letters *l, const char *name) {
  char *to = l->name[l->n];
  int n = 0;
  for (; n < EDF_SLIDE__LETTER - 1 && (edf__is_letter(name[n]) || edf__is_digit(name[n])); n++)
    to[n] = edf_slide__lower(name[n]);
  to[n] = 0;
  for (int k = 0; k < l->n; k++) if (!strcmp(l->name[k], to)) return 0;
  l->n++;
  return 1;
}

/* Adds an index that nothing names. */
static void edf_slide__any_letter(edf_slide__letters *l, const edf_node *x) {
  char any[2] = "i";
  if (l->n == 0 && (x->batched & 1) && edf_slide__add_letter(l, edf.batch_name)) return;
  while (!edf_slide__add_letter(l, any)) ++*any;         /* i, j, k ... */
}

/* Returns the indices of x as a text, or NULL if nothing names them. */
static const char *edf_slide__named_indices(const edf_node *x) {
  static const char *const affine[] = { "[j]", "[b,j]", "[b,t,j]", "[b,h,t,j]" };
  if (edf_slide__note_of(x)->letters) return edf_slide__note_of(x)->letters;
  return x->about == &edf_affine_op && x->rank <= 4 ? affine[x->rank - 1] : NULL;
}
static int edf_slide__names_indices(const edf_node *x) {
  return edf_slide__named_indices(x) || edf_slide__is_equation(x);
}
/* Returns the node whose indices x has, or NULL if nothing names them. A node may be reached in
   very many ways, so the search ends after *left visits. */
static const edf_node *edf_slide__find_letters(const edf_node *x, int *left) {
  const edf_node *found = NULL;
  while ((*left)-- > 0 && !edf_slide__names_indices(x) && x->n_in &&
         x->about != &edf_reshape_op && edf_slide__note_of(x)->letters_of >= 0) {
    int like = edf_slide__note_of(x)->letters_of, pair = x->n_in == 2 && !like;
    int second = pair && x->in[1]->rank > x->in[0]->rank;
    if (pair && x->about && x->about->flags & EDF_LOOPS && x->in[0]->rank == x->in[1]->rank) {
      if ((found = edf_slide__find_letters(x->in[0], left)) != NULL) return found;
      second = 1;
    }
    x = x->in[like ? like : second];
  }
  return edf_slide__names_indices(x) ? x : NULL;
}
static const edf_node *edf_slide__letter_source(const edf_node *x) {
  int left = 1000;
  return edf_slide__find_letters(x, &left);
}

static inline edf_slide__letters edf_slide__letters_of(const edf_node *y) {
  edf_slide__letters l = { 0, { { 0 } } };
  const edf_node *x = edf_slide__letter_source(y);
  const char *c = x ? edf_slide__named_indices(x) : NULL;
  const edf_equation *e = x && !c ? &edf_slide__einsum_of(x)->e : NULL;
  for (int d = 0; x && d < x->rank; d++) {
    int i = e ? edf_slide__alone(e, &e->ref->place[d]) : -1;
    const char *name = c ? c + 1 : i < 0 ? NULL : e->index[i].name;
    if (!name || !edf_slide__add_letter(&l, name)) edf_slide__any_letter(&l, x);
    if (c) c += 1 + strcspn(c + 1, ",]");
  }
  if (l.n > y->rank) l.n = y->rank;
  while (l.n < y->rank) edf_slide__any_letter(&l, y);
  return l;
}
const char *edf_index_name(const edf_node *y, int d) {
  static char name[EDF_SLIDE__LETTER];
  edf__check_exists("edf_index_name", y);
  if (d < 0 || d >= y->rank) edf_stop("edf_index_name: there is no dimension %d", d);
  edf_slide__letters all = edf_slide__letters_of(y);
  return strcpy(name, all.name[d]);
}
/* Stops unless all indices of a line have a size. */
static void edf_slide__check_known(const edf_contraction *m) {
  for (int i = 0; i < m->e.n_index; i++) {
    const char *name = m->e.index[i].name;
    if (m->extent[i] < 0)
      edf__syntax(m->e.scan, name, "unknown size of %s: it is not a plain index on the right. "
                  "Add '| %s<n'", name, name);
  }
}

EDF__END_COLD
/* ==== >>functions  Further nodes ========================================================== */

/* ---- Functions of one entry   y[i] = f(x[i])     x.grad[i] += y.grad[i] f'(x[i])
   Each is an op, a line of f, a line of f' and a macro. p and q are the numbers of the state.
   They are computed in double. A slope of exactly 0 stops an infinite or NaN y.grad. ---- */
extern const edf_op edf_slide__silu_op, edf_slide__root_op, edf_slide__erf_op,
    edf_slide__log1p_op, edf_slide__expm1_op;
static double edf_slide__f(const edf_op *is, double x, double p, double q) {
  if (is == &edf_softplus_op) return (x < 0 ? 0 : x) + log1p(exp(x < 0 ? x : -x));
  if (is == &edf_leaky_relu_op) return x > 0 ? x : p * x;
  if (is == &edf_abs_op) return fabs(x);
  if (is == &edf_sin_op) return sin(x);
  if (is == &edf_cos_op) return cos(x);
  if (is == &edf_pow_op) return pow(x, p);
  if (is == &edf_slide__silu_op) return x / (1 + exp(-x));
  if (is == &edf_slide__root_op) return sqrt(x);
  if (is == &edf_slide__erf_op) return erf(x);
  if (is == &edf_slide__log1p_op) return log1p(x);
  if (is == &edf_slide__expm1_op) return expm1(x);
  return x < p ? p : x > q ? q : x;      /* Clamp */
}
static double edf_slide__slope_of_f(const edf_op *is, double x, double p, double q) {
  if (is == &edf_softplus_op) return 1 / (1 + exp(-x));
  if (is == &edf_leaky_relu_op) return x > 0 ? 1 : p;
  if (is == &edf_abs_op) return x > 0 ? 1 : x < 0 ? -1 : 0;
  if (is == &edf_sin_op) return cos(x);
  if (is == &edf_cos_op) return -sin(x);
  if (is == &edf_pow_op) return p == 0 ? 0 : p * pow(x, p - 1);
  if (is == &edf_slide__silu_op) return (1 + x / (1 + exp(x))) / (1 + exp(-x));
  if (is == &edf_slide__root_op) return x == 0 ? 0 : 0.5 / sqrt(x);
  if (is == &edf_slide__erf_op) return 1.1283791670955126 * exp(-x * x);       /* 2/sqrt(pi)  */
  if (is == &edf_slide__log1p_op) return 1 / (1 + x);
  if (is == &edf_slide__expm1_op) return exp(x);
  return x < p || x > q ? 0 : 1;
}
/* Returns number k of the state, or 0 if the node has no state. */
static double edf_slide__number_of(const edf_node *y, int k) {
  return y->state ? (double)((const edf_real *)y->state)[k] : 0;
}
static void edf_slide__function_forward(edf_node *y) {
  const edf_real *x = y->in[0]->value;
  double p = edf_slide__number_of(y, 0), q = edf_slide__number_of(y, 1);
  for (size_t i = 0; i < y->size; i++)
    y->value[i] = (edf_real)edf_slide__f(y->about, (double)x[i], p, q);
}
static void edf_slide__function_backward(edf_node *y) {
  const edf_real *x = y->in[0]->value;
  double p = edf_slide__number_of(y, 0), q = edf_slide__number_of(y, 1);
  for (size_t i = 0; i < y->size; i++) {
    double slope = edf_slide__slope_of_f(y->about, (double)x[i], p, q);
    edf_addgrad(y->in[0], i, slope == 0 ? 0 : (edf_real)((double)y->grad[i] * slope));
  }
}
#define EDF_SLIDE__FUNCTION(name, formula, gradient) \
  { name, NULL, edf_slide__function_forward, edf_slide__function_backward, "y x", formula, \
    gradient, EDF_TESTED, NULL }
const edf_op edf_softplus_op =
  EDF_SLIDE__FUNCTION("Softplus", "y[i] = ln(1 + exp(x[i]))",
                      "x.grad[i] += y.grad[i] sigmoid(x[i])");
const edf_op edf_leaky_relu_op =
  EDF_SLIDE__FUNCTION("LeakyRelu", "y[i] = max(0, x[i]) + p min(0, x[i])",
                      "x.grad[i] += y.grad[i] (1[x[i] > 0] + p 1[x[i] <= 0])");
const edf_op edf_abs_op =
  EDF_SLIDE__FUNCTION("Abs", "y[i] = max(x[i], -x[i])",
                      "x.grad[i] += y.grad[i] (1[x[i] > 0] - 1[x[i] < 0])");
const edf_op edf_sin_op =
  EDF_SLIDE__FUNCTION("Sin", "y[i] = sin(x[i])", "x.grad[i] += y.grad[i] cos(x[i])");
const edf_op edf_cos_op =
  EDF_SLIDE__FUNCTION("Cos", "y[i] = cos(x[i])", "x.grad[i] -= y.grad[i] sin(x[i])");
const edf_op edf_pow_op =
  EDF_SLIDE__FUNCTION("Pow", "y[i] = x[i]^p", "x.grad[i] += y.grad[i] p x[i]^(p-1)");
const edf_op edf_clamp_op =
  EDF_SLIDE__FUNCTION("Clamp", "y[i] = min(max(x[i], p), q)",
                      "x.grad[i] += y.grad[i] 1[p <= x[i]] 1[x[i] <= q]");
static const edf_op edf_slide__clamp_below_op =
  EDF_SLIDE__FUNCTION("Clamp", "y[i] = max(x[i], p)", "x.grad[i] += y.grad[i] 1[p <= x[i]]");
static const edf_op edf_slide__clamp_above_op =
  EDF_SLIDE__FUNCTION("Clamp", "y[i] = min(x[i], q)", "x.grad[i] += y.grad[i] 1[x[i] <= q]");

const edf_op edf_slide__silu_op =
  EDF_SLIDE__FUNCTION("Silu", "y[i] = x[i] sigmoid(x[i])",
                      "x.grad[i] += y.grad[i] sigmoid(x[i]) (1 + x[i] sigmoid(-x[i]))");
const edf_op edf_slide__root_op =        /* of norm_ and std_: a Sqrt with the slope 0 at 0   */
  EDF_SLIDE__FUNCTION("Root", "y[i] = sqrt(x[i])",
                      "x.grad[i] += where(x[i] != 0, y.grad[i] / (2 y[i]), 0)");
const edf_op edf_slide__erf_op =
  EDF_SLIDE__FUNCTION("Erf", "y[i] = erf(x[i])",
                      "x.grad[i] += y.grad[i] 1.1283791671 exp(-x[i]^2)");
const edf_op edf_slide__log1p_op =
  EDF_SLIDE__FUNCTION("Log1p", "y[i] = log1p(x[i])", "x.grad[i] += y.grad[i] / (1 + x[i])");
const edf_op edf_slide__expm1_op =
  EDF_SLIDE__FUNCTION("Expm1", "y[i] = expm1(x[i])", "x.grad[i] += y.grad[i] exp(x[i])");

static edf_node *edf_slide__function_at(const edf_op *is, const char *file, int line,
                                        edf_node *x, edf_real p, edf_real q) {
  edf_real state[2] = { p, q };
  return edf_node_at(is, file, line, 1, &x, state, sizeof state);
}
edf_node *edf_leaky_relu_at(const char *file, int line, edf_node *x, edf_real slope) {
  return edf_slide__function_at(&edf_leaky_relu_op, file, line, x, slope, 0);
}
edf_node *edf_pow_at(const char *file, int line, edf_node *x, edf_real p) {
  return edf_slide__function_at(&edf_pow_op, file, line, x, p, 0);
}
edf_node *edf_clamp_at(const char *file, int line, edf_node *x, edf_real lo, edf_real hi) {
  edf__site at = { "Clamp", file, line };
  if (!(lo <= hi)) edf__fail(at, "lo is %g, above hi, %g", (double)lo, (double)hi);
  const edf_op *is = hi == (edf_real)HUGE_VAL ? &edf_slide__clamp_below_op
                     : lo == -(edf_real)HUGE_VAL ? &edf_slide__clamp_above_op : &edf_clamp_op;
  return edf_slide__function_at(is, file, line, x, lo, hi);
}

/* ---- Gelu, as y = x sigmoid(u) with u = 2 c (x + 0.044715 x^3). */
static const edf_real edf_slide__gelu_c = (edf_real)1.5957691216057308;      /* 2 c           */
static const edf_real edf_slide__gelu_d = (edf_real)(1.5957691216057308 * 0.044715);

static void edf_slide__gelu_forward(edf_node *y) {
  edf_node *x = y->in[0];
  EDF__SHARED_LOOP(y->size)
  for (size_t i = 0; i < y->size; i++) {
    edf_real v = x->value[i], u = v * (edf_slide__gelu_c + edf_slide__gelu_d * v * v);
    y->value[i] = v / (1 + edf__exp(-u));
  }
}
static void edf_slide__gelu_backward(edf_node *y) {
  edf_node *x = y->in[0];
  edf_real *dx = x->grad;
  if (!dx) return;
  EDF__SHARED_LOOP(y->size)
  for (size_t i = 0; i < y->size; i++) {
    edf_real v = x->value[i], u = v * (edf_slide__gelu_c + edf_slide__gelu_d * v * v);
    edf_real s = 1 / (1 + edf__exp(-u)), du = edf_slide__gelu_c + 3 * edf_slide__gelu_d * v * v;
    dx[i] += y->grad[i] * (s + v * s * (1 - s) * du);
  }
}
const edf_op edf_gelu_op = { "Gelu", NULL, edf_slide__gelu_forward, edf_slide__gelu_backward,
  "y x", "y[i] = x[i] sigmoid(1.5957691216 (x[i] + 0.044715 x[i]^3))",
  "x.grad[i] += y.grad[i] sigmoid(1.5957691216 (x[i] + 0.044715 x[i]^3))\n"
  "x.grad[i] += y.grad[i] y[i] sigmoid(-1.5957691216 (x[i] + 0.044715 x[i]^3)) "
  "1.5957691216 (1 + 0.134145 x[i]^2)", EDF_TESTED, NULL };

static void edf_slide__pair_shape(edf_node *y) { edf_shape_by(y, "... = ..., ..."); }

/* ---- Max, Min   y = the greater, the lesser     The chosen one receives y.grad. ---- */
static int edf_slide__takes_first(const edf_node *y, edf_real a, edf_real b) {
  return a != a || (y->about == &edf_max_op ? b <= a : a <= b);
}
static void edf_slide__choice_forward(edf_node *y) {
  const edf_node *a = y->in[0], *b = y->in[1];
  for (size_t i = 0; i < y->size; i++) {
    edf_real v = a->value[i % a->size], w = b->value[i % b->size];
    y->value[i] = edf_slide__takes_first(y, v, w) ? v : w;
  }
}
static void edf_slide__choice_backward(edf_node *y) {
  edf_node *a = y->in[0], *b = y->in[1];
  for (size_t i = 0; i < y->size; i++) {
    int first = edf_slide__takes_first(y, a->value[i % a->size], b->value[i % b->size]);
    edf_addgrad(a, i % a->size, first ? y->grad[i] : 0);
    edf_addgrad(b, i % b->size, first ? 0 : y->grad[i]);
  }
}
const edf_op edf_max_op = { "Max", edf_slide__pair_shape, edf_slide__choice_forward,
  edf_slide__choice_backward, "y a b", "y[i] = max(a[i], b[i])",
  "a.grad[i] += y.grad[i] 1[b[i] <= a[i]]\nb.grad[i] += y.grad[i] 1[b[i] > a[i]]",
  EDF_TESTED, NULL };
const edf_op edf_min_op = { "Min", edf_slide__pair_shape, edf_slide__choice_forward,
  edf_slide__choice_backward, "y a b", "y[i] = min(a[i], b[i])",
  "a.grad[i] += y.grad[i] 1[a[i] <= b[i]]\nb.grad[i] += y.grad[i] 1[a[i] > b[i]]",
  EDF_TESTED, NULL };

/* ---- Power   y = a^b for a > 0.   da += dy b a^(b-1)     db += dy y ln a ---- */
static void edf_slide__power_forward(edf_node *y) {
  const edf_node *a = y->in[0], *b = y->in[1];
  for (size_t i = 0; i < y->size; i++)
    y->value[i] =
        (edf_real)pow((double)a->value[i % a->size], (double)b->value[i % b->size]);
}
static void edf_slide__power_backward(edf_node *y) {
  edf_node *a = y->in[0], *b = y->in[1];
  for (size_t i = 0; i < y->size; i++) {
    double x = (double)a->value[i % a->size], p = (double)b->value[i % b->size];
    double dy = (double)y->grad[i], slope = p == 0 ? 0 : p * pow(x, p - 1);
    edf_addgrad(a, i % a->size, slope == 0 ? 0 : (edf_real)(dy * slope));
    edf_addgrad(b, i % b->size, x == 0 ? 0 : (edf_real)(dy * (double)y->value[i] * log(x)));
  }
}
static const edf_op edf_slide__power_op = { "Power", edf_slide__pair_shape,
  edf_slide__power_forward, edf_slide__power_backward, "y a b", "y[i] = a[i]^b[i]",
  "a.grad[i] += y.grad[i] b[i] a[i]^(b[i] - 1)\nb.grad[i] += y.grad[i] y[i] ln a[i]",
  EDF_TESTED, NULL };

/* ---- Where   y = a where c is not 0, else b     The chosen one receives y.grad, the other one
   exactly 0. ---- */
static void edf_slide__where_shape(edf_node *y) { edf_shape_by(y, "... = ..., ..., ..."); }
/* Returns which entry of x entry i of y meets. A shorter x repeats. */
static size_t edf_slide__met(const edf_node *x, const edf_node *y, size_t i) {
  return x->size == y->size ? i : i % x->size;
}
/* Returns the node that entry i of y takes: a or b. */
static edf_node *edf_slide__chosen(const edf_node *y, size_t i) {
  const edf_node *c = y->in[0];
  return y->in[c->value[edf_slide__met(c, y, i)] != 0 ? 1 : 2];
}
static void edf_slide__where_forward(edf_node *y) {
  for (size_t i = 0; i < y->size; i++) {
    const edf_node *x = edf_slide__chosen(y, i);
    y->value[i] = x->value[edf_slide__met(x, y, i)];
  }
}
static void edf_slide__where_backward(edf_node *y) {
  for (size_t i = 0; i < y->size; i++) {
    edf_node *x = edf_slide__chosen(y, i);
    edf_addgrad(x, edf_slide__met(x, y, i), y->grad[i]);
  }
}
static const edf_op edf_slide__where_op = { "Where", edf_slide__where_shape,
  edf_slide__where_forward, edf_slide__where_backward, "y c a b",
  "y[i] = where(c[i] != 0, a[i], b[i])",
  "a.grad[i] += where(c[i] != 0, y.grad[i], 0)\nb.grad[i] += where(c[i] != 0, 0, y.grad[i])",
  EDF_TESTED, NULL };

/* ---- Softmax of a text   P[b,k] = exp(s[b,k]) / sum_j exp(s[b,j])
   As edf_softmax, but a row may be several last indices, or causal. ---- */
static void edf_slide__softmax_forward(edf_node *P) {
  size_t K = edf_slide__columns(P);
  edf__softmax_rows(P->value, P->in[0]->value, P->size / K, K, edf_slide__causal_rows(P));
}
static void edf_slide__softmax_backward(edf_node *P) {
  edf__softmax_rows_back(P, edf_slide__columns(P), edf_slide__causal_rows(P));
}
static const edf_op edf_slide__softmax_op = { "Softmax", NULL, edf_slide__softmax_forward,
  edf_slide__softmax_backward, "P s", "P[b,k] = exp(s[b,k]) / sum_K exp(s[b,K])",
  "s.grad[b,k] += P[b,k] (P.grad[b,k] - sum_K P[b,K] P.grad[b,K])", EDF_TESTED, NULL };

/* ---- LogSoftmax. The logarithm of an unused entry is minus infinity. */
static void edf_slide__log_softmax_forward(edf_node *y) {
  edf_node *s = y->in[0];
  size_t K = edf_slide__columns(y);
  for (size_t b = 0; b < y->size; b += K) {
    size_t n = edf__row_end(b / K, K, edf_slide__causal_rows(y));
    edf_real *row = y->value + b, max = edf__largest(s->value + b, (ptrdiff_t)n);
    for (size_t k = 0; k < n; k++) row[k] = edf__exp(s->value[b + k] - max);
    edf_real ln_Z = edf__ln(edf__total(row, (ptrdiff_t)n));
    for (size_t k = 0; k < K; k++)
      row[k] = k < n ? (s->value[b + k] - max) - ln_Z : -(edf_real)HUGE_VAL;
  }
}
static void edf_slide__log_softmax_backward(edf_node *y) {
  edf_node *s = y->in[0];
  size_t K = edf_slide__columns(y);
  for (size_t b = 0; b < y->size; b += K) {
    size_t n = edf__row_end(b / K, K, edf_slide__causal_rows(y));
    edf_real sum = edf__total(y->grad + b, (ptrdiff_t)n);
    for (size_t k = b; k < b + n; k++)
      edf_addgrad(s, k, y->grad[k] - edf__exp(y->value[k]) * sum);
  }
}
const edf_op edf_log_softmax_op = { "LogSoftmax", edf__softmax_shape,
  edf_slide__log_softmax_forward, edf_slide__log_softmax_backward, "y s",
  "y[b,k] = s[b,k] - ln sum_K exp(s[b,K])",
  "s.grad[b,k] += y.grad[b,k] - exp(y[b,k]) sum_K y.grad[b,K]", EDF_TESTED, NULL };

/* ==== >>rows  Nodes that only texts and layers make ======================================= */

/* ---- Sign, Floor, Stop, Test   y[i] = f(x[i]), without a gradient
   Stop is y[i] = x[i]. The state of Test is a sum of 1 for x[i] < 0, 2 for x[i] = 0 and 4 for
   x[i] > 0. Test is 1 if a case in this sum is true, else 0. If x[i] is NaN, Test is 0. ---- */
static void edf_slide__sign_forward(edf_node *y) {
  const edf_real *x = y->in[0]->value;
  for (size_t i = 0; i < y->size; i++) y->value[i] = (edf_real)((x[i] > 0) - (x[i] < 0));
}
static void edf_slide__floor_forward(edf_node *y) {
  const edf_real *x = y->in[0]->value;
  for (size_t i = 0; i < y->size; i++) y->value[i] = (edf_real)floor((double)x[i]);
}
static void edf_slide__stop_forward(edf_node *y) {
  memcpy(y->value, y->in[0]->value, y->size * sizeof *y->value);
}
static void edf_slide__test_forward(edf_node *y) {
  const edf_real *x = y->in[0]->value;
  int which = (int)*(const edf_real *)y->state;
  for (size_t i = 0; i < y->size; i++) {
    int bit = x[i] < 0 ? 1 : x[i] > 0 ? 4 : 2;
    y->value[i] = (which & bit) && x[i] == x[i];
  }
}
static const edf_op edf_slide__sign_op = { "Sign", NULL, edf_slide__sign_forward, NULL, "y x",
  "y[i] = sign(x[i])", "", EDF_TESTED, NULL };
static const edf_op edf_slide__floor_op = { "Floor", NULL, edf_slide__floor_forward, NULL,
  "y x", "y[i] = floor(x[i])", "", EDF_TESTED, NULL };
static const edf_op edf_slide__stop_op = { "Stop", NULL, edf_slide__stop_forward, NULL, "y x",
  "y[i] = stop(x[i])", "", EDF_TESTED | EDF_HELD, NULL };
static const edf_op edf_slide__test_op = { "Test", NULL, edf_slide__test_forward, NULL, "y x",
  "y[i] = 1[x[i] ? 0]", "", EDF_TESTED | EDF_MASKS, NULL };

/* ---- Number   y = n. The state of both nodes is the number n.
   Index    y[i] = i, for each i of dimension n of x. Without x, y has n entries. ---- */
static void edf_slide__count_shape(edf_node *y) {
  edf_real n = *(const edf_real *)y->state;
  int most = y->n_in ? y->in[0]->rank : 1000000000, is_index = !strcmp(y->about->name, "Index");
  y->rank = is_index;
  if (is_index && !(n >= 0 && n < (edf_real)most))
    edf_slide__operands_error(y, "there is no such dimension");
  if (is_index) y->dim[0] = y->n_in ? y->in[0]->dim[(int)n] : (int)n;
}
static void edf_slide__count_forward(edf_node *y) {
  for (size_t i = 0; i < y->size; i++)
    y->value[i] = y->rank ? (edf_real)i : *(const edf_real *)y->state;
}
/* Makes a node of this op with a number as its state. If x is NULL, the node has no input. */
static edf_node *edf_slide__with_number(const edf__site *at, const edf_op *is, edf_node *x,
                                        double number) {
  edf_real state = (edf_real)number;
  return edf_node_at(is, at->file, at->line, x != NULL, &x, &state, sizeof state);
}
static const edf_op edf_slide__number_op = { "Number", edf_slide__count_shape,
  edf_slide__count_forward, NULL, "y", "y = p", "", EDF_TESTED, NULL };
static const edf_op edf_slide__index_op = { "Index", edf_slide__count_shape,
  edf_slide__count_forward, NULL, "y", "y[k] = k", "", EDF_TESTED, NULL };

/* ---- ArgMax   y[b] = position of the first greatest # x in row b. The state # is +-1. ---- */
static void edf_slide__argmax_shape(edf_node *y) {
  const edf_node *x = y->in[0];
  size_t n = 1;
  y->rank = x->rank - edf_row_dims(y);
  memcpy(y->dim, x->dim, sizeof y->dim);
  for (int d = y->rank; d < x->rank; d++) n *= (size_t)x->dim[d];
  if (!EDF_REAL_IS_DOUBLE && n > 16777216 && !strcmp(y->op, "ArgMax"))
    edf_slide__operands_error(y, "a float has positions up to 16777216: cc -DEDF_REAL=double");
}
static void edf_slide__argmax_forward(edf_node *y) {
  const edf_real *x = y->in[0]->value, order = *(const edf_real *)y->state;
  size_t n = y->in[0]->size / y->size;
  for (size_t b = 0; b < y->size; b++) {
    size_t best = b * n;
    for (size_t i = best; i < (b + 1) * n; i++) if (order * x[i] > order * x[best]) best = i;
    if (order * x[best] == -(edf_real)HUGE_VAL) {
      edf__site at = { y->op, y->file, y->line };
      edf__fail(at, "argmax over no entry, or only over infinities, in row %zu", b);
    }
    y->value[b] = (edf_real)(best - b * n);
  }
}
static const edf_op edf_slide__argmax_op = { "ArgMax", edf_slide__argmax_shape,
  edf_slide__argmax_forward, NULL, "y x", "y[b] = argmax_K p x[b,K]", "", EDF_TESTED, NULL };

/* Names an inner node after a left side, `more` and its own number: q2, k3, h_in5. */
static edf_node *edf_slide__called(edf_node *y, const char *left, const char *more) {
  int n = (int)strcspn(left, "'");
  if (n > 400) n = 400;                  /* An inner name need not be longer.                 */
  y->name = edf_slide__copy(edf__text("%.*s%s%d", n, left, more, y->position));
  return y;
}

/* Values of edf_contraction.kind, the reduction. PUT marks a Scatter. */
enum { EDF_SLIDE__SUM = 0, EDF_SLIDE__MEAN = 'm', EDF_SLIDE__MAX = 'x', EDF_SLIDE__PUT = 'p' };

enum { EDF_SLIDE__HEAD = 16 };           /* A state's array begins here, so it is aligned.    */

/* ---- NormalizeOver   y = (x - m) r, r = 1/sqrt(v + eps), for each row by itself
                        x.grad += r (y.grad - mean y.grad - y mean(y y.grad))
   m and v are the mean and the variance of the row. The last term is the gradient through v.
   The state holds eps and, from number EDF_SLIDE__HEAD on, the r of each row. ---- */
static void edf_slide__normalize_forward(edf_node *y) {
  const edf_node *x = y->in[0];
  size_t K = edf_slide__columns(y), rows = y->size / K;
  edf_real *r = (edf_real *)edf_state(y, (EDF_SLIDE__HEAD + rows) * sizeof *r), eps = r[0];
  r += EDF_SLIDE__HEAD;
  EDF__SHARED_LOOP(y->size)
  for (size_t b = 0; b < rows; b++) {
    const edf_real *in = x->value + b * K;
    edf_real *out = y->value + b * K, n = (edf_real)K,
             m = edf__total(in, (ptrdiff_t)K) / n;
    for (size_t k = 0; k < K; k++) out[k] = in[k] - m;
    r[b] = 1 / (edf_real)sqrt((double)(edf__dot(out, out, (ptrdiff_t)K) / n + eps));
    for (size_t k = 0; k < K; k++) out[k] *= r[b];
  }
}
static void edf_slide__normalize_backward(edf_node *y) {
  edf_node *x = y->in[0];
  size_t K = edf_slide__columns(y), rows = y->size / K;
  const edf_real *r = (const edf_real *)y->state + EDF_SLIDE__HEAD;
  EDF__SHARED_LOOP(y->size)
  for (size_t b = 0; b < rows; b++) {
    const edf_real *out = y->value + b * K, *dy = y->grad + b * K;
    edf_real n = (edf_real)K, mean = edf__total(dy, (ptrdiff_t)K) / n;
    edf_real cross = edf__dot(out, dy, (ptrdiff_t)K) / n;
    for (size_t k = 0; k < K; k++)
      edf_addgrad(x, b * K + k, r[b] * (dy[k] - mean - out[k] * cross));
  }
}
static const edf_op edf_slide__normalize_op = { "NormalizeOver", NULL,
  edf_slide__normalize_forward, edf_slide__normalize_backward, "y x",
  "y[b,k] = (x[b,k] - mean_K x[b,K]) / sqrt(variance_K x[b,K] + p)",
  "x.grad[b,k] += (y.grad[b,k] - mean_K y.grad[b,K] - y[b,k] mean_K y[b,K] y.grad[b,K]) "
  "/ sqrt(variance_K x[b,K] + p)", EDF_TESTED, NULL };

/* ---- MaxOver   y[b,i] = max_J x[b,2*i+J]     x.grad[b,2*i+J] += y.grad[b,i] at the winner
   The equation has a maximum in place of its sum, and the same loops. Outside, x is minus
   infinity. The summed loops run over the window. For each entry of y, winner[] has the number
   of the first greatest entry in the window. It receives the gradient. NaN wins. ---- */
/* Returns the plan of a maximum: its loops, and the offset in x of each window entry. */
edf_window edf_window_of(edf_node *y) {
  edf_contraction *m = edf_contraction_of(y);
  edf_window w;
  if (!m || m->kind != EDF_SLIDE__MAX) edf_stop("edf_window_of: the node is not a maximum");
  memset(&w, 0, sizeof w);
  w.t = edf__canonical(&m->run[0].nest);           /* Loops without a stride in y are last.   */
  while (w.n_kept < w.t.n && w.t.loop[w.n_kept].s[EDF_OUT]) w.n_kept++;
  w.n = 1;
  for (int i = w.n_kept; i < w.t.n; i++) w.n *= w.t.loop[i].n;
  size_t table = (size_t)w.n * sizeof *w.offset;
  w.offset = m->window = (ptrdiff_t *)edf__grow(&edf.computed, m->window, table);
  w.winner = (int *)edf_state(y, y->size * sizeof *w.winner);
  for (ptrdiff_t k = 0; k < w.n; k++) {
    ptrdiff_t rest = k;
    w.offset[k] = 0;
    for (int i = w.t.n - 1; i >= w.n_kept; rest /= w.t.loop[i--].n)
      w.offset[k] += rest % w.t.loop[i].n * w.t.loop[i].s[EDF_A];
  }
  return w;
}

/* Finds the maxima of n windows, and their first greatest entries. The loops have no branches,
   so that compilers vectorise them. */
enum { EDF_SLIDE__BLOCK = 64 };
static void edf_slide__max_block(const edf_window *w, ptrdiff_t n, ptrdiff_t sx, edf_real *most,
                                 int *first, const edf_real *x) {
  for (ptrdiff_t j = 0; j < n; j++) {
    most[j] = x[j * sx + w->offset[0]];
    first[j] = 0;
  }
  for (int k = 1; k < w->n; k++) {
    const edf_real *in = x + w->offset[k];
    for (ptrdiff_t j = 0; j < n; j++) {
      int wins = (in[j * sx] > most[j]) | (in[j * sx] != in[j * sx]);
      most[j] = wins ? in[j * sx] : most[j];
      first[j] = wins ? k : first[j];
    }
  }
}
/* Runs the kept loops from d on. x and y are values in Forward, and gradients in Backward. */
static void edf_slide__run_window(const edf_window *w, int d, int backward, edf_real *y,
                                  int *winner, edf_real *x) {
  static const edf_loop once = { 1, { 0, 0, 0 }, NULL };
  const edf_loop *l = d < w->n_kept ? &w->t.loop[d] : &once;
  ptrdiff_t so = l->s[EDF_OUT], sx = l->s[EDF_A], n;
  if (d + 1 < w->n_kept) {
    for (ptrdiff_t i = 0; i < l->n; i++)
      edf_slide__run_window(w, d + 1, backward, y + i * so, winner + i * so, x + i * sx);
    return;
  }
  for (ptrdiff_t i = 0; i < l->n && backward; i++)
    x[i * sx + w->offset[winner[i * so]]] += y[i * so];
  for (ptrdiff_t i = 0; i < l->n && !backward; i += n) {
    edf_real most[EDF_SLIDE__BLOCK];
    int first[EDF_SLIDE__BLOCK];
    n = l->n - i;
    if (n > EDF_SLIDE__BLOCK) n = EDF_SLIDE__BLOCK;
    edf_slide__max_block(w, n, sx, most, first, x + i * sx);
    for (ptrdiff_t j = 0; j < n; j++) {
      y[(i + j) * so] = most[j];
      winner[(i + j) * so] = first[j];
    }
  }
}
static void edf_slide__max_over(edf_node *y, int backward) {
  edf_contraction *m = edf_slide__einsum_of(y);
  edf_node *x = y->in[m->e.ref[1].operand];
  edf_window w = edf_window_of(y);
  edf_real *to = backward ? y->grad : y->value, *from = backward ? x->grad : x->value;
  if (!from) return;
  edf_slide__run_window(&w, 0, backward, to, w.winner, from + w.t.start[EDF_A]);
}
static void edf_slide__max_over_forward(edf_node *y) { edf_slide__max_over(y, 0); }
static void edf_slide__max_over_backward(edf_node *y) { edf_slide__max_over(y, 1); }
static const edf_op edf_slide__max_over_op = { "Einsum", edf_slide__einsum_shape,
  edf_slide__max_over_forward, edf_slide__max_over_backward, NULL, NULL, NULL,
  EDF_TESTED, NULL };

/* ---- MaskedSoftmax   P[b,k] = m[b,k] exp(s[b,k]) / sum_j m[b,j] exp(s[b,j])
                        s.grad[b,k] += P[b,k] (P.grad[b,k] - sum_j P[b,j] P.grad[b,j])
   m is 0 or 1. An entry with m = 0 is left out, whatever s is. If all are left out, P is 0. If
   the state is 1, the node is ln P:
     s.grad[b,k] += lnP.grad[b,k] - P[b,k] sum_j m[b,j] lnP.grad[b,j] ---- */
static void edf_slide__masked_softmax_forward(edf_node *y) {
  size_t K = edf_slide__columns(y);
  int log_of = *(const edf_real *)y->state != 0;
  for (size_t b = 0; b < y->size; b += K) {
    const edf_real *s = y->in[0]->value + b, *m = y->in[1]->value + b;
    edf_real *P = y->value + b, most = -(edf_real)HUGE_VAL, Z = 0;
    for (size_t k = 0; k < K; k++) if (m[k] != 0 && !(s[k] <= most)) most = s[k];
    for (size_t k = 0; k < K; k++) {
      P[k] = m[k] != 0 ? (edf_real)exp((double)(s[k] - most)) : 0;
      Z += P[k];
    }
    edf_real ln_Z = (edf_real)log((double)Z);
    for (size_t k = 0; k < K; k++) {
      if (log_of) P[k] = m[k] != 0 ? (s[k] - most) - ln_Z : -(edf_real)HUGE_VAL;
      else if (m[k] != 0) P[k] /= Z;
    }
  }
}
static void edf_slide__masked_softmax_backward(edf_node *y) {
  size_t K = edf_slide__columns(y);
  int log_of = *(const edf_real *)y->state != 0;
  for (size_t b = 0; b < y->size; b += K) {
    const edf_real *m = y->in[1]->value + b, *P = y->value + b, *dP = y->grad + b;
    edf_real sum = 0;
    for (size_t k = 0; k < K; k++) if (m[k] != 0) sum += log_of ? dP[k] : P[k] * dP[k];
    for (size_t k = 0; k < K; k++)
      if (m[k] != 0)
        edf_addgrad(y->in[0], b + k, log_of ? dP[k] - (edf_real)exp((double)P[k]) * sum
                                            : P[k] * (dP[k] - sum));
  }
}
static const edf_op edf_slide__masked_softmax_op = { "MaskedSoftmax", NULL,
  edf_slide__masked_softmax_forward, edf_slide__masked_softmax_backward, "P s m",
  "P[b,k] = m[b,k] exp(s[b,k]) / sum_K m[b,K] exp(s[b,K])",
  "s.grad[b,k] += P[b,k] (P.grad[b,k] - sum_K P[b,K] P.grad[b,K])", EDF_TESTED, NULL };
static const edf_op edf_slide__masked_log_softmax_op = { "MaskedLogSoftmax", NULL,
  edf_slide__masked_softmax_forward, edf_slide__masked_softmax_backward, "y s m",
  "y[b,k] = ln(m[b,k]) + s[b,k] - ln sum_K m[b,K] exp(s[b,K])",
  "s.grad[b,k] += m[b,k] y.grad[b,k] - exp(y[b,k]) sum_K m[b,K] y.grad[b,K]",
  EDF_TESTED, NULL };

/* ---- LogSumExp   y[b] = ln sum_k w[b,k] exp(x[b,k]); without w it counts as 1
        x.grad[b,k] += y.grad[b] w[b,k] exp(x[b,k] - y[b])
        w.grad[b,k] += y.grad[b] exp(x[b,k] - y[b])
   The greatest x of the row, m, is subtracted first, which changes only the rounding. The state
   is m and the sum of w exp(x - m), for each row. ---- */
static void edf_slide__log_sum_forward(edf_node *y) {
  const edf_real *x = y->in[0]->value, *w = y->n_in > 1 ? y->in[1]->value : NULL;
  size_t K = y->in[0]->size / y->size;
  edf_real *state = (edf_real *)edf_state(y, 2 * y->size * sizeof *state);
  for (size_t b = 0; b < y->size; b++) {
    edf_real most = -(edf_real)HUGE_VAL;
    double sum = 0;
    for (size_t k = b * K; k < b * K + K; k++)
      if ((!w || w[k] != 0) && !(x[k] <= most)) most = x[k];
    if (!(most - most == 0)) most = 0;   /* NaN, infinity, or no entry above -infinity        */
    for (size_t k = b * K; k < b * K + K; k++)
      if (!w || w[k] != 0) sum += (w ? (double)w[k] : 1) * exp((double)(x[k] - most));
    y->value[b] = (edf_real)log(sum) + most;
    state[2 * b] = most;
    state[2 * b + 1] = (edf_real)sum;
  }
}
static void edf_slide__log_sum_backward(edf_node *y) {
  edf_node *x = y->in[0], *w = y->n_in > 1 ? y->in[1] : NULL;
  size_t K = x->size / y->size;
  for (size_t i = 0; i < x->size; i++) {
    const edf_real *state = (const edf_real *)y->state + i / K * 2;
    double dy = (double)y->grad[i / K], of = (double)x->value[i];
    double e = of == -HUGE_VAL ? 0 : exp(of - (double)state[0]) / (double)state[1];
    edf_addgrad(x, i, !w ? (edf_real)(dy * e) : w->value[i] == 0 ? 0
                      : (edf_real)(dy * (double)w->value[i] * e));
    if (w) edf_addgrad(w, i, (edf_real)(dy * e));
  }
}
static const edf_op edf_slide__log_sum_op = { "LogSumExp", edf_slide__argmax_shape,
  edf_slide__log_sum_forward, edf_slide__log_sum_backward, "y x",
  "y[b] = ln sum_K exp(x[b,K])", "x.grad[b,k] += y.grad[b] exp(x[b,k] - y[b])",
  EDF_TESTED, NULL };
static const edf_op edf_slide__weighted_log_sum_op = { "WeightedLogSumExp",
  edf_slide__argmax_shape, edf_slide__log_sum_forward, edf_slide__log_sum_backward, "y x w",
  "y[b] = ln sum_K w[b,K] exp(x[b,K])",
  "x.grad[b,k] += y.grad[b] w[b,k] exp(x[b,k] - y[b])\n"
  "w.grad[b,k] += y.grad[b] exp(x[b,k] - y[b])", EDF_TESTED, NULL };

/* ---- Prod   y[b] = prod_k x[b,k]     x.grad[b,k] += y.grad[b] prod_{j!=k} x[b,j]
   The state has the products of the entries behind each entry of a row. ---- */
static void edf_slide__prod_forward(edf_node *y) {
  const edf_real *x = y->in[0]->value;
  size_t K = y->in[0]->size / y->size;
  for (size_t b = 0; b < y->size; b++) {
    y->value[b] = 1;
    for (size_t k = 0; k < K; k++) y->value[b] *= x[b * K + k];
  }
}
static void edf_slide__prod_backward(edf_node *y) {
  edf_node *x = y->in[0];
  size_t K = x->size / y->size;
  edf_real *behind = (edf_real *)edf_state(y, (K + 1) * sizeof *behind);
  behind[K] = 1;
  for (size_t b = 0; b < y->size; b++) {
    const edf_real *row = x->value + b * K;
    edf_real before = 1;
    for (size_t k = K; k-- > 0;) behind[k] = behind[k + 1] * row[k];
    for (size_t k = 0; k < K; before *= row[k++])
      edf_addgrad(x, b * K + k, y->grad[b] * (before * behind[k + 1]));
  }
}
static const edf_op edf_slide__prod_op = { "Prod", edf_slide__argmax_shape,
  edf_slide__prod_forward, edf_slide__prod_backward, "y x", "y[b] = prod_K x[b,K]",
  "x.grad[b,k] += y.grad[b] prod_{K!=k} x[b,K]", EDF_TESTED, NULL };

/* ---- Lookup    y[b,t,j] = x[k[b,t],j]     x.grad[k[b,t],j] += y.grad[b,t,j]
   ---- Scatter   y[k[b],j] += x[b,j]        x.grad[b,j] += y.grad[k[b],j]
   The class numbers k select an entry of the table, which is x of a Lookup and y of a Scatter.
   The other tensor has the entries. The state is an equation. Its tensors are the left side, x,
   and one tensor k for each position that is looked up. */
typedef struct {
  const edf_contraction *m;              /* the state of the node                             */
  const edf_node *entries, *table;
  const edf_ref *at;                    /* the index positions of `entries`                  */
  edf_ref of;                           /* those of `table`, with the last entry's classes   */
  size_t run;                            /* number of entries that are adjacent in both       */
} edf_slide__lookup;

static int edf_slide__scatters(const edf_node *y) {
  return (edf_slide__einsum_of(y))->kind == EDF_SLIDE__PUT;
}

/* Returns the plan of a Lookup or Scatter. Entries are adjacent in both tensors along an index
   that is last in both and occurs nowhere else. */
static edf_slide__lookup edf_slide__plan_lookup(const edf_node *y) {
  const edf_contraction *m = edf_slide__einsum_of(y);
  const edf_equation *e = &m->e;
  int put = edf_slide__scatters(y), d = e->ref[!put].rank - 1;
  edf_slide__lookup p = { m, put ? y->in[0] : y, put ? y : y->in[0], &e->ref[put], e->ref[!put],
                          1 };
  int last = p.at->rank ? edf_slide__alone(e, &p.at->place[p.at->rank - 1]) : -1;
  unsigned others = edf_slide__refs_have(e, 2, e->n_ref);
  ptrdiff_t least, most;
  if (last < 0 || p.of.place[d].factor[last] != 1) return p;
  edf_slide__reach(m, &p.of.place[d], &least, &most);
  if (least < 0 || most >= p.table->dim[d]) return p;
  while (d-- > 0) others |= edf_slide__place_has(&p.of.place[d]);
  if (!(others >> last & 1)) p.run = (size_t)p.entries->dim[p.at->rank - 1];
  return p;
}

/* Returns the entry of x that tensor r reads at these indices, or -1 if r reads outside x. */
static ptrdiff_t edf_slide__entry_of(const edf_contraction *m, const edf_ref *r,
                                     const edf_node *x, const ptrdiff_t *index) {
  ptrdiff_t entry = 0;
  for (int d = 0; d < r->rank; d++) {
    ptrdiff_t at = r->place[d].constant;
    for (int i = 0; i < m->e.n_index; i++) at += r->place[d].factor[i] * index[i];
    if (at < 0 || at >= x->dim[d]) return -1;
    entry = entry * x->dim[d] + at;
  }
  return entry;
}

/* Returns the entry of the table that belongs to entry i, or -1 if there is none: the entry is
   outside the table, or its class number outside the tensor k. A Lookup then reads 0. Stops if
   a class number of entry i is not valid. */
static ptrdiff_t edf_slide__in_table(edf_slide__lookup *p, const edf_node *y, size_t i) {
  const edf_equation *e = &p->m->e;
  ptrdiff_t index[EDF_MAX_INDEX] = { 0 };
  for (int d = p->at->rank - 1; d >= 0; i /= (size_t)p->entries->dim[d--])
    index[edf_slide__alone(e, &p->at->place[d])] = (ptrdiff_t)(i % (size_t)p->entries->dim[d]);
  for (int d = 0; d < p->of.rank; d++) {
    const edf_ref *k = &e->ref[p->of.place[d].by];
    if (k == e->ref) continue;
    const edf_node *x = y->in[k->operand];
    ptrdiff_t at = edf_slide__entry_of(p->m, k, x, index);
    if (at < 0) return -1;
    p->of.place[d].constant = (int)edf__class_in(y, x, (size_t)at, (size_t)p->table->dim[d]);
  }
  return edf_slide__entry_of(p->m, &p->of, p->table, index);
}

/* Stops at a wrong class number of an Input, if the node reads all entries of the Input. */
static void edf_slide__check_lookup(const edf_node *y) {
  edf_slide__lookup p = edf_slide__plan_lookup(y);
  for (int d = 0; d < p.of.rank; d++) {
    const edf_ref *k = &p.m->e.ref[p.of.place[d].by];
    const edf_node *x = k == p.m->e.ref ? y : y->in[k->operand];
    int all = x->kind == EDF_INPUT;
    for (int o = 0; all && o < k->rank; o++) {
      int i = edf_slide__alone(&p.m->e, &k->place[o]);
      all = i >= 0 && p.m->extent[i] == x->dim[o];
    }
    for (size_t b = 0; all && b < x->size; b++)
      edf__class_in(y, x, b, (size_t)p.table->dim[d]);
  }
}
/* Adds entries of `from` to `to`: to the table if to_table is 1, else from the table. Notes
   where they are in the table. */
static void edf_slide__move_entries(edf_node *y, edf_real *to, const edf_real *from,
                                    int to_table) {
  edf_slide__lookup p = edf_slide__plan_lookup(y);
  edf_contraction *m = edf_slide__einsum_of(y);
  size_t runs = p.entries->size / p.run;
  m->entry = (ptrdiff_t *)edf__grow(&edf.computed, m->entry, runs * sizeof *m->entry);
  for (size_t i = 0; i < p.entries->size; i += p.run) {
    ptrdiff_t there = m->entry[i / p.run] = edf_slide__in_table(&p, y, i);
    if (there < 0) continue;
    size_t out = to_table ? (size_t)there : i, in = i + (size_t)there - out;
    for (size_t j = 0; j < p.run; j++) to[out + j] += from[in + j];
  }
}
static void edf_slide__lookup_shape(edf_node *y) {
  edf_slide__einsum_shape(y);
  y->check = edf_slide__check_lookup;
}
static void edf_slide__lookup_forward(edf_node *y) {
  memset(y->value, 0, y->size * sizeof *y->value);
  edf_slide__move_entries(y, y->value, y->in[0]->value, edf_slide__scatters(y));
}
static void edf_slide__lookup_backward(edf_node *y) {
  if (y->in[0]->grad)
    edf_slide__move_entries(y, y->in[0]->grad, y->grad, !edf_slide__scatters(y));
}
static const edf_op edf_slide__lookup_op = { "Lookup", edf_slide__lookup_shape,
  edf_slide__lookup_forward, edf_slide__lookup_backward, NULL, NULL, NULL, EDF_TESTED, NULL };

/* ---- Products of a Lookup. If x[b,t,i] = E[k[b,t],i], rows (b,t) of x with the same class are
   equal, and so are these rows of z[b,t,j] = W[j,I] x[b,t,I]. If there are eight rows or more
   for each class, on average, the product runs once for each class c that occurs. Its row of x
   is X[c,i]:
     P[c,j] = W[j,I] X[c,I]                            z[b,t,j] = P[k[b,t],j]
     P[c,j] = sum of z.grad[b,t,j] over k[b,t] = c     W.grad[j,i] += P[C,j] X[C,i] */
#ifndef EDF_SLIDE__LONG                  /* Shorter rows are multiplied as fast as copied.    */
#define EDF_SLIDE__LONG(x_row, z_row) ((x_row) >= 64 && (z_row) >= 64)
#endif
typedef struct edf_slide__row {          /* row (b,t) of x and z                              */
  ptrdiff_t z_at, p_at;                  /* where it is in z, and where its class is in P     */
  int ends;                              /* 1 if it ends a block of rows of its class         */
} edf_slide__row;
typedef struct {
  int x, z;                              /* numbers of these operands                         */
  edf_nest rows;                         /* the loops over b and t                            */
  edf_nest one;                          /* the other loops, of one row, and the one over c   */
  ptrdiff_t n;                           /* number of rows of x                               */
  ptrdiff_t most, classes;               /* number of rows of E, and of X and P               */
  ptrdiff_t x_row, z_row, E_row;         /* entries of a row                                  */
  edf_real *X, *P, *S;                   /* S is the sum of a block, as large as P            */
  edf_slide__row *row;
  ptrdiff_t *number, *count;             /* for each row of E: its row of X, and how many x   */
} edf_slide__by_class;

static int edf_slide__is_looked_up(edf_operand a) {
  return a.of && a.which == EDF_VALUE && a.of->about == &edf_slide__lookup_op &&
         !edf_slide__scatters(a.of);
}
/* Finds x, z and the loops. Returns 0 if this is no such product, or a small one. */
static int edf_slide__find_rows(edf_slide__by_class *p, const edf_slide__run *c,
                                const edf_operand *of) {
  const edf_nest all = edf__canonical(&c->nest);
  int x = edf_slide__is_looked_up(of[EDF_A]) ? EDF_A : EDF_B;
  ptrdiff_t last = 0;
  if (edf_device || !c->route->product || !edf_slide__is_looked_up(of[x]) || all.start[x])
    return 0;
  const edf_node *E = of[x].of->in[0];
  if (E->size == 0) return 0;
  memset(p, 0, sizeof *p);
  p->rows = p->one = all;
  p->rows.n = p->one.n = 0;
  p->x = x;
  p->n = 1;
  p->x_row = (ptrdiff_t)edf_slide__plan_lookup(of[x].of).run;
  p->E_row = E->rank ? E->dim[E->rank - 1] : 1;
  p->most = (ptrdiff_t)E->size / p->E_row;
  for (int i = 0; i < all.n; i++)
    if (all.loop[i].s[x] >= p->x_row && !all.loop[i].s[EDF_OUT]) p->z = EDF_A + EDF_B - x;
  for (int i = 0; i < all.n; i++) {
    const edf_loop *l = &all.loop[i];
    ptrdiff_t in_x = l->s[x], in_z = l->s[p->z], in_w = l->s[EDF_A + EDF_B - x - p->z];
    if (in_x >= p->x_row) {
      if (in_x % p->x_row || !in_z || in_w) return 0;
      p->n *= l->n;
      p->rows.loop[p->rows.n++] = *l;
    } else {
      if (in_x < 0 || (in_z && (p->z_row || in_z != 1))) return 0;
      if (in_z) p->z_row = l->n;
      last += in_x * (l->n - 1);
      p->one.loop[p->one.n++] = *l;
    }
  }
  return last < p->x_row && p->n >= 8 * p->most && EDF_SLIDE__LONG(p->x_row, p->z_row);
}

/* Returns where row r begins in an operand. */
static ptrdiff_t edf_slide__row_at(const edf_slide__by_class *p, int operand, ptrdiff_t r) {
  ptrdiff_t at = p->rows.start[operand];
  for (int i = p->rows.n - 1; i >= 0; r /= p->rows.loop[i--].n)
    at += r % p->rows.loop[i].n * p->rows.loop[i].s[operand];
  return at;
}
/* Finds the class of each row, and X. All rows outside E are one class. Returns 0 if two rows
   of one class differ: then somebody has changed x after Forward. */
static int edf_slide__find_classes(edf_slide__by_class *p, const edf_node *x) {
  enum { BLOCK = 256 };
  const ptrdiff_t *entry = edf_slide__einsum_of(x)->entry;
  size_t bytes = (size_t)p->x_row * sizeof *x->value;
  for (ptrdiff_t c = 0; c <= p->most; c++) p->number[c] = -1;
  for (ptrdiff_t r = 0; r < p->n; r++) {
    ptrdiff_t at = edf_slide__row_at(p, p->x, r), in = entry[at / p->x_row];
    ptrdiff_t c = in < 0 ? p->most : in / p->E_row;
    if (c > p->most) return 0;
    if (p->number[c] < 0) {
      memcpy(p->X + p->x_row * p->classes, x->value + at, bytes);
      p->number[c] = p->classes++;
      p->count[c] = 0;
    } else if (memcmp(p->X + p->x_row * p->number[c], x->value + at, bytes)) return 0;
    p->row[r].z_at = edf_slide__row_at(p, p->z, r);
    p->row[r].p_at = p->z_row * p->number[c];
    p->row[r].ends = ++p->count[c] % BLOCK == 0;
  }
  return 1;
}
/* P[c,j] = sum of z[b,t,j] over k[b,t] = c. Blocks of rows are added up first, so that a long
   sum has small errors. Each thread has columns of its own. */
static void edf_slide__sum_rows(const edf_slide__by_class *p, const edf_real *z) {
  const ptrdiff_t threads = edf__threads(), part = (p->z_row + threads - 1) / threads;
  size_t bytes = (size_t)(p->classes * p->z_row) * sizeof *z;
  memset(p->P, 0, bytes);
  memset(p->S, 0, bytes);
  EDF__SHARED_LOOP(p->n * p->z_row)
  for (ptrdiff_t j = 0; j < p->z_row; j += part) {
    ptrdiff_t n = p->z_row - j < part ? p->z_row - j : part;
    for (const edf_slide__row *r = p->row; r < p->row + p->n; r++) {
      const edf_real *from = z + r->z_at + j;
      edf_real *sum = p->S + r->p_at + j, *all = p->P + r->p_at + j;
      for (ptrdiff_t k = 0; k < n; k++) sum[k] += from[k];
      for (ptrdiff_t k = 0; r->ends && k < n; k++) { all[k] += sum[k]; sum[k] = 0; }
    }
    for (ptrdiff_t at = j; at < p->classes * p->z_row; at += p->z_row)
      for (ptrdiff_t k = at; k < at + n; k++) p->P[k] += p->S[k];
  }
}
static void edf_slide__copy_rows(const edf_slide__by_class *p, edf_real *z) {
  EDF__SHARED_LOOP(p->n * p->z_row)
  for (ptrdiff_t r = 0; r < p->n; r++) {
    const edf_real *from = p->P + p->row[r].p_at;
    edf_real *to = z + p->row[r].z_at;
    for (ptrdiff_t j = 0; j < p->z_row; j++) to[j] = from[j];
  }
}
/* Gives X, P and the others their memory. Returns 0 if the Lookup has noted no classes. */
static int edf_slide__find_room(edf_slide__by_class *p, edf_slide__run *c, const edf_node *x) {
  size_t most = (size_t)p->most + 1, n = (size_t)p->n, E_bytes = most * sizeof *p->number;
  size_t x_size = most * (size_t)p->x_row, z_size = most * (size_t)p->z_row;
  ptrdiff_t *entry = edf_slide__einsum_of(x)->entry;
  size_t x_rows = x->size / (size_t)p->x_row;
  if (!entry || edf__header(entry)->bytes < x_rows * sizeof *entry) return 0;
  c->rows = (edf_real *)edf__grow(&edf.computed, c->rows,
                                  (x_size + 2 * z_size) * sizeof *c->rows);
  c->row = (edf_slide__row *)edf__grow(&edf.computed, c->row, n * sizeof *c->row);
  c->number = (ptrdiff_t *)edf__grow(&edf.computed, c->number, 2 * E_bytes);
  p->X = c->rows;
  p->P = p->X + x_size;
  p->S = p->P + z_size;
  p->row = c->row;
  p->number = c->number;
  p->count = p->number + most;
  return 1;
}
static edf_node edf_slide__matrix(edf_real *value, ptrdiff_t size) {
  edf_node x;
  memset(&x, 0, sizeof x);
  x.kind = EDF_COMPNODE;
  x.value = value;
  x.size = (size_t)size;
  return x;
}
/* In Forward, z must be the first term, and in Backward all numbers finite: else the product by
   classes could have other bits, or a NaN that is not there. */
static int edf_slide__run_by_class(edf_slide__run *c, int how, edf_operand out, edf_operand a,
                                   edf_operand b) {
  edf_operand of[3] = { out, a, b };
  size_t covers = c->route->covers;      /* 0: the product writes some entries twice          */
  edf_slide__by_class p;
  if (!edf_slide__find_rows(&p, c, of)) return 0;
  int forward = p.z == EDF_OUT;
  if (out.which != (forward ? EDF_VALUE : EDF_GRAD)) return 0;
  if (forward && (how == EDF_ADD || !covers || (how == EDF_ASSIGN && covers != out.of->size)))
    return 0;
  edf__run_list();                       /* The numbers are read here.                        */
  if (!edf_slide__find_room(&p, c, of[p.x].of) || !edf_slide__find_classes(&p, of[p.x].of))
    return 0;
  edf_loop over = { p.classes, { 0, 0, 0 }, NULL };
  over.s[p.x] = p.x_row;
  over.s[p.z] = p.z_row;
  p.one.loop[p.one.n++] = over;
  p.one.start[p.z] = 0;
  edf_route route = edf_plan(&p.one);
  edf_node X = edf_slide__matrix(p.X, p.classes * p.x_row);
  edf_node P = edf_slide__matrix(p.P, p.classes * p.z_row);
  if (!route.product) return 0;
  if (!forward) {
    edf_slide__sum_rows(&p, edf__numbers(of[p.z]));
    if (!edf_slide__is_small(edf_values(&X)) || !edf_slide__is_small(edf_values(&P))) return 0;
  }
  of[p.x] = edf_values(&X);
  of[p.z] = edf_values(&P);
  edf_run(&route, forward ? EDF_ASSIGN : how, of[EDF_OUT], of[EDF_A], of[EDF_B]);
  edf__run_list();                       /* before X and P end                                */
  if (forward) edf_slide__copy_rows(&p, out.of->value);
  return 1;
}

/* ---- Concat   y[b,t,j] = a[b,t,j] for j < J, else c[b,t,j-J], and gradients in reverse
   A row of y begins at the joined index. It is a row of each operand, one by one. ---- */
static void edf_slide__concat_shape(edf_node *y) {
  int axis = y->rank - edf_row_dims(y), joined = 0;
  for (int k = 0; k < y->n_in; k++) {
    const edf_node *x = y->in[k];
    int lacks = x->rank == y->rank - 1;  /* x has no joined index: its size there is 1        */
    if (x->rank != y->rank && !lacks)
      edf_slide__operands_error(y, "each operand has the indices of the result, or all but the "
                                "joined one");
    for (int d = 0; d < y->rank; d++) {
      int n = d == axis ? (lacks ? 1 : x->dim[d]) : x->dim[d - (lacks && d > axis)];
      if (d == axis && n == 0) edf_slide__operands_error(y, "the batch cannot be joined");
      if (d == axis) joined += n;
      else if (k && n != y->dim[d])
        edf_slide__operands_error(y, "operands may differ only in the joined index");
      else y->dim[d] = n;
    }
  }
  y->dim[axis] = joined;
}
static void edf_slide__concat_forward(edf_node *y) {
  size_t row = edf_slide__columns(y), rows = y->size / row, at = 0;
  for (int k = 0; k < y->n_in; k++) {
    size_t part = y->in[k]->size / rows;
    for (size_t b = 0; b < rows; b++)
      memcpy(y->value + b * row + at, y->in[k]->value + b * part, part * sizeof *y->value);
    at += part;
  }
}
static void edf_slide__concat_backward(edf_node *y) {
  size_t row = edf_slide__columns(y), rows = y->size / row, at = 0;
  for (int k = 0; k < y->n_in; k++) {
    edf_node *x = y->in[k];
    size_t part = x->size / rows;
    for (size_t b = 0; b < rows; b++)
      for (size_t i = 0; i < part; i++)
        edf_addgrad(x, b * part + i, y->grad[b * row + at + i]);
    at += part;
  }
}
static const edf_op edf_slide__concat_op = { "Concat", edf_slide__concat_shape,
  edf_slide__concat_forward, edf_slide__concat_backward, "y x", "y[b,t+p,u] = x[b,t,u]",
  "x.grad[b,t,u] += y.grad[b,t+p,u]", EDF_TESTED, NULL };

/* Joins n nodes along dimension `axis` of the result. `letters` names its indices: [b,t,j]. */
static edf_node *edf_slide__joined(const edf__site *at, int rank, int axis, const char *letters,
                                   int n, edf_node **in) {
  if (n < 1) edf__fail(*at, "expected at least one operand");
  edf__site site = { "Concat", at->file, at->line };
  edf_node *y = edf__computed(&edf_slide__concat_op, site, n, in);
  y->rank = rank;
  edf_slide__note(y)->row_dims = rank - axis;
  edf_slide__note(y)->letters = edf_slide__copy(letters);
  return edf__add_compnode(y);
}

EDF__BEGIN_COLD
/* ==== >>trees  A line as a tree =========================================================== */

/* ---- A line as a tree of expressions. Each expression points at its text, for messages. */
typedef enum {
  EDF_SLIDE__A_NUMBER, EDF_SLIDE__A_TENSOR, EDF_SLIDE__A_NAME, EDF_SLIDE__A_GROUP,
  EDF_SLIDE__A_SUM, EDF_SLIDE__A_PRODUCT, EDF_SLIDE__A_CALL, EDF_SLIDE__AN_OVER,
  EDF_SLIDE__A_POWER, EDF_SLIDE__A_TEST
} edf_slide__sort;

/* `number` is the value of a number, and the factor of a product. A function over indices has
   its node's number there, such as normalize's eps. For the name of an index, 1 means its
   size, and 0 means its value.
   `which` is the number of a tensor or an index, or the row of a function. A test has the bits
   of edf_slide__read_comparison. A power has 1 if it is a divisor, and 2 for a mean's divisor.
   For a tensor, `over` has the indices that are summed around the tensor. */
typedef struct edf_slide__expr edf_slide__expr;
struct edf_slide__expr {
  edf_slide__sort sort;
  const char *at;                        /* its name, or else a character of its text         */
  double number;                         /* see above                                         */
  int which;                             /* see above                                         */
  int place;                             /* if a lookup or group: its position in the tensor  */
  int closed;                            /* 1 for a call without brackets: f x; 1 for a sum   */
                                         /* that is a node of its own                         */
  unsigned over;                         /* the indices of its sum or function, as bits       */
  unsigned masks;                        /* the masks that hold in it: bit m is l->mask[m]    */
  int alone;                             /* 1 if it is the only factor of its product         */
  edf_slide__expr *in, *next;            /* its first part; the next part of its parent       */
  struct edf_slide__value *early;        /* its value at all steps of a recurrence, or NULL   */
};

/* A mask keeps the entries for which a test is true. If the test compares two positions, as in
   s<=t and t-3<s, the mask is i[low] - i[high] + constant <= 0. Any other one is general: s!=t,
   s<n[b], and the condition of where(...), which holds in its second argument. The opposite of
   the condition holds in the third one. */
typedef struct {
  edf_slide__expr *test;                 /* a test                                            */
  unsigned has;                          /* the indices of the test, as bits                  */
  int low, high;                         /* the indices of i - j + constant ? 0, or -1        */
  int constant;
  int general;                           /* see above                                         */
  int where;                             /* 1 for a condition, 2 for its opposite, else 0     */
  int used;                              /* 1 if the mask has an effect                       */
} edf_slide__mask;
/* Limits: masks of a line, time indices, nested factors, steps of a recurrence. */
enum { EDF_SLIDE__BOUNDS = 24, EDF_SLIDE__LOOPS = 2, EDF_SLIDE__DEPTH = 32,
  EDF_SLIDE__STEPS = 65536 };

typedef struct edf_slide__slide edf_slide__slide;
typedef struct edf_slide__statement {    /* a line that is an equation                        */
  edf_slide__slide *slide;
  edf_contraction m;                     /* its indices, their sizes, and all its tensors     */
  edf_node *of[EDF_SLIDE__MAX_REF];      /* the node of each tensor, or NULL                  */
  edf_slide__expr *tensor[EDF_SLIDE__MAX_REF + 1];   /* the expression of each tensor         */
  const char *grad_of[EDF_SLIDE__MAX_REF + 1];       /* for grad(L, x[i]): L, else NULL       */
  const char *grad_by[EDF_SLIDE__MAX_REF + 1];       /* and x                                 */
  int depth;                             /* depth of the factor that is being read            */
  int whole;                             /* 1 if it has been read to its end                  */
  int told;                              /* number of steps that were built                   */
  edf_slide__expr *where, *right;        /* left side; list of the sums f ; g on the right    */
  unsigned left, loops;                  /* indices of the left side; indices after `for`     */
  int adds, sign;                        /* 1 for += and -=; -1 for -=, else 1                */
  edf_slide__mask mask[EDF_SLIDE__BOUNDS]; int n_mask;
  /* the lines above and below with the same name on the left; the first line that reads its
     tensor before it is computed */
  struct edf_slide__statement *older, *newer, *oldest, *reader;
  /* the next three are for the oldest line of a name */
  int is_free;                           /* 1 if a line has no number on its left             */
  int is_given;                          /* 1 if a line gives entries                         */
  struct edf_slide__statement *last_added;           /* the last line with += or -=           */
  edf_node *y;                           /* its node, or NULL until the node exists           */
  int from, to;                          /* its recurrence: lines from .. to-1; to is 0: none */
  int entry;                             /* 1 if it only gives entries: h[b,-1,j] = z[b,j]    */
  int offset[EDF_MAX_RANK];              /* by how much reads are offset: -1 at t for h[t-1]  */
  /* the time indices: how many, which indices, and their positions on the left */
  int n_loop, loop[EDF_SLIDE__LOOPS], axis[EDF_SLIDE__LOOPS];
  int back[EDF_SLIDE__LOOPS];            /* 1 if the last step is computed first              */
  int reach[EDF_SLIDE__LOOPS];           /* later steps are like the steps up to this one     */
  unsigned fixed;                        /* indices that have a number in the present step    */
  int at[EDF_MAX_INDEX];                 /* the numbers of these indices                      */
  edf_node **step; size_t n_step;        /* the nodes of all steps; the first is step -1      */
  char *is_read;                         /* for each step: 1 if a line reads it               */
  unsigned *form;                        /* for each step: which nodes it has, as a hash      */
} edf_slide__statement;

typedef struct { const char *name; edf_node *x; } edf_slide__named;
struct edf_slide__slide {
  edf__site site;
  edf__scan scan;
  const char *layer;                     /* the op of a layer's nodes, NULL outside of layers */
  edf_node **in;                         /* the operands of edf_text or of a layer, else NULL */
  edf_equation operands;                /* the names of the operands                         */
  edf_slide__statement *line; int n;
  edf_slide__statement **table;          /* the newest line of each name, found by its hash   */
  size_t n_table;                        /* a power of two                                    */
  edf_slide__named *named;               /* of a long text: the newest tensor of each name    */
  size_t n_named, room;                  /* number of these tensors; size of their table      */
  int seen[EDF_COMPNODE + 1];            /* number of nodes of each kind that were entered    */
  int first_declared, n_declared;        /* positions of the declared Parameters              */
  char *is_set;                          /* for each of them: 1 after its first use           */
  edf_node *one;                         /* the number 1, for equations without a tensor      */
  int first;                             /* number of nodes before its first one              */
  edf_node **built;                      /* its nodes, found by what they compute             */
  size_t n_built, built_room;            /* their number; the size of the table               */
  const char *told;                      /* the newest step of which prints show a line       */
  const char *step_heading;              /* the heading of the last later step, or NULL       */
  const char *step_told;                 /* that step, t=5                                    */
};

/* ---- The functions. `takes` says how to call one:
     _   It reduces over indices or normalises along them: softmax_k ..., sum_{i,j} ...
     x   It has one argument, an expression: tanh(x). xx has two. x# has one and a number.
   The first rows have the order of the constants below. */
typedef double edf_slide__of_number(double x);
static const struct {
  const char *name;
  const char *op;                        /* the op of its node, or ""                         */
  const char *takes;
  const edf_op *about;                   /* the op of its node, or NULL                       */
  edf_slide__of_number *number;          /* computes it for a constant: sqrt(D); or NULL      */
} edf_slide__functions[] = {
  { "sum", "", "_", NULL, NULL },
  { "mean", "", "_", NULL, NULL },
  { "max", "", "_", NULL, NULL },
  { "min", "", "_", NULL, NULL },
  { "prod", "", "_", &edf_slide__prod_op, NULL },
  { "norm", "", "_", NULL, NULL },
  { "logsumexp", "", "_", NULL, NULL },
  { "std", "", "_", NULL, NULL },
  { "variance", "", "_", NULL, NULL },
  { "argmax", "", "_", NULL, NULL },
  { "argmin", "", "_", NULL, NULL },
  { "softmax", "Softmax", "_", NULL, NULL },
  { "logsoftmax", "LogSoftmax", "_", NULL, NULL },
  { "normalize", "NormalizeOver", "_#", NULL, NULL },
  { "dropout", "Dropout", "x#", NULL, NULL },
  { "where", "Where", "xxx", &edf_slide__where_op, NULL },
  { "clamp", "Clamp", "xxx", NULL, NULL },
  { "min", "Min", "xx", &edf_min_op, NULL },
  { "max", "Max", "xx", &edf_max_op, NULL },
  { "tanh", "Tanh", "x", &edf_tanh_op, tanh },
  { "relu", "Relu", "x", &edf_relu_op, NULL },
  { "gelu", "Gelu", "x", &edf_gelu_op, NULL },
  { "silu", "Silu", "x", &edf_slide__silu_op, NULL },
  { "softplus", "Softplus", "x", &edf_softplus_op, NULL },
  { "sigmoid", "Sigmoid", "x", &edf_sigmoid_op, NULL },
  { "sig", "", "x", &edf_sigmoid_op, NULL },
  { "\xCF\x83", "", "x", &edf_sigmoid_op, NULL },
  { "exp", "Exp", "x", &edf_exp_op, exp },
  { "log", "Log", "x", &edf_log_op, log },
  { "ln", "", "x", &edf_log_op, log },
  { "log1p", "Log1p", "x", &edf_slide__log1p_op, log1p },
  { "expm1", "Expm1", "x", &edf_slide__expm1_op, expm1 },
  { "erf", "Erf", "x", &edf_slide__erf_op, erf },
  { "sqrt", "Sqrt", "x", &edf_sqrt_op, sqrt },
  { "abs", "Abs", "x", &edf_abs_op, fabs },
  { "sin", "Sin", "x", &edf_sin_op, sin },
  { "cos", "Cos", "x", &edf_cos_op, cos },
  { "floor", "Floor", "x", &edf_slide__floor_op, floor },
  { "sign", "Sign", "x", &edf_slide__sign_op, NULL },
  { "stop", "Stop", "x", &edf_slide__stop_op, NULL }
};
enum { EDF_SLIDE__SUM_OVER, EDF_SLIDE__MEAN_OVER, EDF_SLIDE__MAX_OVER, EDF_SLIDE__MIN_OVER,
  EDF_SLIDE__PROD_OVER, EDF_SLIDE__NORM_OVER, EDF_SLIDE__LOG_SUM_EXP_OVER, EDF_SLIDE__STD_OVER,
  EDF_SLIDE__VARIANCE_OVER, EDF_SLIDE__ARGMAX_OVER, EDF_SLIDE__ARGMIN_OVER,
  EDF_SLIDE__SOFTMAX_OVER, EDF_SLIDE__LOG_SOFTMAX_OVER, EDF_SLIDE__NORMALIZE_OVER,
  EDF_SLIDE__DROPOUT_OF, EDF_SLIDE__WHERE_OF, EDF_SLIDE__CLAMP_OF,
  EDF_SLIDE__N_FUNCTIONS = sizeof edf_slide__functions / sizeof *edf_slide__functions };

/* Returns the row of a function whose `takes` begins with a character of `ways`, or -1. If
   `takes` has a _, the name continues with a _: softmax_t. */
static int edf_slide__function_named(const char *name, const char *ways) {
  for (int f = 0; f < EDF_SLIDE__N_FUNCTIONS; f++) {
    const char *takes = edf_slide__functions[f].takes, *end = strchr(takes, '_') ? "_" : "";
    size_t n = strlen(edf_slide__functions[f].name);
    if (strchr(ways, *takes) && !strncmp(edf_slide__functions[f].name, name, n)
        && (*end ? name[n] == '_' : !name[n])) return f;
  }
  return -1;
}

/* ---- The indices of an expression: bit i stands for index i. */
/* Returns 1 if x is a reduction: its result does not have the indices that it reduces over. */
static int edf_slide__reduces(const edf_slide__expr *x) {
  return x->sort == EDF_SLIDE__AN_OVER && x->which < EDF_SLIDE__SOFTMAX_OVER;
}

/* Returns the masks of x that go over one of its own indices. */
static unsigned edf_slide__own_masks(const edf_slide__statement *l, const edf_slide__expr *x) {
  unsigned own = 0;
  for (int m = 0; m < l->n_mask; m++)
    if (x->over & l->mask[m].has) own |= x->masks & 1u << m;
  return own;
}
/* Returns those of these masks that are general and about one of the indices in `has`. Their
   tests are nodes. */
static unsigned edf_slide__general(const edf_slide__statement *l, unsigned masks,
                                   unsigned has) {
  unsigned general = 0;
  for (int m = 0; m < l->n_mask; m++)
    if (l->mask[m].general && l->mask[m].has & has) general |= masks & 1u << m;
  return general;
}

/* Returns t for a softmax_s whose only mask is s<=t, else -1. Row t then ends with entry t. */
static int edf_slide__limit(const edf_slide__statement *l, const edf_slide__expr *x) {
  unsigned own = edf_slide__own_masks(l, x);
  int limit = -1;
  if (x->sort != EDF_SLIDE__AN_OVER || x->which != EDF_SLIDE__SOFTMAX_OVER) return -1;
  for (const edf_slide__mask *m = l->mask; m < l->mask + l->n_mask; m++)
    if (own == 1u << (m - l->mask) && !m->general && !m->constant && m->low >= 0 &&
        x->over == 1u << m->low) limit = m->high;
  return limit;
}
/* Returns the indices of x, except indices that x sums or that have a number in this step. */
static unsigned edf_slide__expr_has(const edf_slide__statement *l, const edf_slide__expr *x) {
  unsigned has = 0;
  if (x->sort == EDF_SLIDE__A_TENSOR) has = edf_slide__ref_has(&l->m.e.ref[x->which]);
  if (x->sort == EDF_SLIDE__A_NAME && !(x->number > 0)) has = 1u << x->which;
  for (const edf_slide__expr *k = x->in; k; k = k->next) has |= edf_slide__expr_has(l, k);
  unsigned own = x->sort == EDF_SLIDE__AN_OVER ? edf_slide__own_masks(l, x) : 0;
  own |= edf_slide__general(l, x->masks, has);
  for (int m = 0; own; m++, own >>= 1) if (own & 1) has |= l->mask[m].has;
  if (x->sort == EDF_SLIDE__A_PRODUCT || edf_slide__reduces(x)) has &= ~x->over;
  return has & ~l->fixed;
}

/* ---- Words of other notations, and what to write in this one. A word that ends with _ is a
   function over an index. */
#define EDF_SLIDE__TOP "k[b] = argmax_i x[b,i]. A line with | i!=k[b] leaves this entry out"
static const struct { const char *word, *write; } edf_slide__elsewhere[] = {
  { "product_", "prod_i" }, { "\xCE\xA0_", "prod_i" }, { "\xCE\xA3_", "sum_i" },   /* Greek   */
  { "\xE2\x88\x8F", "prod_i" }, { "\xE2\x88\x91", "sum_i" },          /* and the signs      */
  { "avg_", "mean_i" }, { "average_", "mean_i" }, { "var_", "variance_i" },
  { "cumsum", "sum_{s<=t} x[s]" }, { "cumsum_", "sum_{s<=t} x[s]" },
  { "topk", EDF_SLIDE__TOP }, { "topk_", EDF_SLIDE__TOP }, { "top_", EDF_SLIDE__TOP },
  { "any_", "max_i" }, { "all_", "min_i" }, { "log_softmax_", "logsoftmax_i" },
  { "clip", "clamp(x[i], 0, 1)" },
  { "if", "where(x[i] > 0, a[i], c[i])" }, { "select", "where(x[i] > 0, a[i], c[i])" },
  { "pow", "x[i]^2" }, { "power", "x[i]^2" }, { "square", "x[i]^2" },
  { "sg", "stop(x[i])" }, { "detach", "stop(x[i])" }, { "stop_gradient", "stop(x[i])" },
  { "stopgrad", "stop(x[i])" }, { "stop_grad", "stop(x[i])" },
  { "swish", "silu(x[i])" }, { "logistic", "sigmoid(x[i])" },
  { "leakyrelu", "max(x[i], 0.01 x[i])" }, { "leaky_relu", "max(x[i], 0.01 x[i])" },
  { "relu6", "clamp(x[i], 0, 6)" },
  { "sgn", "sign(x[i])" }, { "fabs", "abs(x[i])" }, { "tan", "sin(x[i]) / cos(x[i])" },
  { "ceil", "-floor(-x[i])" }, { "round", "floor(x[i] + 0.5)" },
  { "log2", "ln(x[i]) / ln(2)" }, { "log10", "ln(x[i]) / ln(10)" }, { "rsqrt", "1/sqrt(x[i])" },
  { "maximum", "max(x[i], y[i])" }, { "minimum", "min(x[i], y[i])" },
  { "\xE2\x88\x9A", "sqrt(x[i])" }, { "\xC2\xB2", "x[i]^2" }, { "\xC2\xB3", "x[i]^3" }
};
/* Stops if a name that is no tensor is such a word. A sign may be joined to a name. */
static void edf_slide__check_word(const edf__scan *s, const char *name) {
  size_t n = sizeof edf_slide__elsewhere / sizeof *edf_slide__elsewhere;
  for (size_t k = 0; k < n; k++) {
    const char *word = edf_slide__elsewhere[k].word;
    size_t length = strlen(word);
    int begins = *word & 0x80 || word[length - 1] == '_';
    if (begins ? !strncmp(name, word, length) : !strcmp(name, word))
      edf__syntax(s, name, "there is no %s: write %s", name, edf_slide__elsewhere[k].write);
  }
}

/* ==== >>read  A text to lines, a line to a tree =========================================== */
/* ---- Names in hash tables. Names that differ in case only have one hash (FNV-1a). */
static size_t edf_slide__hash(const char *name) {
  uint32_t hash = 2166136261u;
  for (const char *c = name; *c; c++)
    hash = (hash ^ (unsigned char)edf_slide__lower(*c)) * 16777619u;
  return hash;
}
/* Returns where the newest line with this name on its left is, or will be. */
static edf_slide__statement **edf_slide__newest_line(const edf_slide__slide *all,
                                                     const char *name) {
  size_t k = edf_slide__hash(name) & (all->n_table - 1);
  while (all->table[k] && strcmp(all->table[k]->m.e.ref->name, name))
    k = (k + 1) & (all->n_table - 1);
  return &all->table[k];
}
static void edf_slide__enter(edf_slide__statement *l) {
  edf_slide__statement **entry = edf_slide__newest_line(l->slide, l->m.e.ref->name);
  l->older = *entry;
  l->oldest = l->older ? l->older->oldest : l;
  if (l->older) l->older->newer = l;
  *entry = l;
}

/* Returns the last line with this name on its left, or NULL. Lines of entries do not count. */
static edf_slide__statement *edf_slide__line_of(const edf_slide__slide *all, const char *name) {
  edf_slide__statement *l = *edf_slide__newest_line(all, name);
  while (l && l->entry) l = l->older;
  return l;
}

/* ---- Nodes by their names. */
/* Joins the steps of a recurrence. It is called when the tensor of all steps is needed. */
static edf_node *edf_slide__all_times(edf_slide__statement *l);

/* Returns 1 for a node that was built inside a line, such as y3 for a part of y. It is no
   tensor of the program. */
static int edf_slide__is_inner(const edf_node *x) { return edf_slide__note_of(x)->inner; }
/* Returns the alias of x with this name, or NULL. */
static edf_slide__alias *edf_slide__alias_of(const edf_node *x, const char *name) {
  edf_slide__alias *also = edf_slide__note_of(x)->also;
  while (also && strcmp(also->name, name)) also = also->next;
  return also;
}
/* Returns the tensor `name`, which is x. If x is a step of a recurrence, returns all steps,
   joined. */
static edf_node *edf_slide__all_of(edf_node *x, const char *name) {
  const edf_slide__alias *also = x ? edf_slide__alias_of(x, name) : NULL;
  const void *steps = !x ? NULL : also ? also->steps : edf_slide__note_of(x)->steps;
  if (!steps) return x;
  int eager = edf.eager;
  edf.eager = eager || x->ran == edf.feeds;          /* It runs if the steps have run.       */
  x = edf_slide__all_times((edf_slide__statement *)(uintptr_t)steps);
  edf.eager = eager;
  return x;
}

/* Returns the newest tensor with this name among the first n nodes, or NULL. */
static edf_node *edf_slide__newest_of(int n, const char *name) {
  int i = n - 1;
  while (i >= 0 && (edf_slide__is_inner(edf__nth(i)) ||
                    (strcmp(edf__nth(i)->name, name) &&
                     !edf_slide__alias_of(edf__nth(i), name)))) i--;
  return edf_slide__all_of(i < 0 ? NULL : edf__nth(i), name);
}
static edf_node *edf_slide__newest(const char *name) {
  return edf_slide__newest_of(edf__n_nodes(), name);
}

/* ---- The tensors that a text finds by name. A long text has a table of them. Returns where
   this name is in the table, or will be. */
static edf_slide__named *edf_slide__place_of(const edf_slide__slide *all, const char *name) {
  size_t k = edf_slide__hash(name) & (all->room - 1);
  while (all->named[k].x && strcmp(all->named[k].name, name)) k = (k + 1) & (all->room - 1);
  return &all->named[k];
}
static void edf_slide__enter_node(edf_slide__slide *all, const char *name, edf_node *x) {
  if (2 * all->n_named >= all->room) {   /* It is half full.                                  */
    edf_slide__named *was = all->named;
    size_t room = all->room;
    all->room = room ? 2 * room : 1024;
    all->named = (edf_slide__named *)edf_slide__tree(all->room * sizeof *all->named);
    for (size_t k = 0; k < room; k++)
      if (was[k].x) *edf_slide__place_of(all, was[k].name) = was[k];
  }
  edf_slide__named *at = edf_slide__place_of(all, name);
  all->n_named += !at->x;
  if (at->x && at->x->kind > x->kind) return;
  at->name = name;
  at->x = x;
}
/* Enters the nodes that are new. Inputs come before Parameters, and these before CompNodes. */
static void edf_slide__enter_new(edf_slide__slide *all) {
  edf_node **list[] = { edf.inputs, edf.parameters, edf.compnodes };
  const int n[] = { edf.n_inputs, edf.n_parameters, all->first };
  for (int kind = 0; kind <= EDF_COMPNODE; kind++)
    for (int *i = &all->seen[kind]; *i < n[kind]; ++*i) {
      edf_node *x = list[kind][*i];
      if (edf_slide__is_inner(x)) continue;
      edf_slide__enter_node(all, x->name, x);
      for (edf_slide__alias *also = edf_slide__note_of(x)->also; also; also = also->next)
        edf_slide__enter_node(all, also->name, x);
    }
}
/* Returns the newest tensor with this name that is no line of the text, or NULL. */
static edf_node *edf_slide__newest_for(edf_slide__slide *all, const char *name) {
  if (all->n_table < 512)
    return edf_slide__newest_of(edf.n_inputs + edf.n_parameters + all->first, name);
  edf_slide__enter_new(all);
  return all->room ? edf_slide__all_of(edf_slide__place_of(all, name)->x, name) : NULL;
}

/* Returns the number of an operand of a composition, or -1. The operands are the names that no
   line defines, in the order in which they first appear. */
static int edf_slide__operand_named(const edf_slide__slide *all, const char *name) {
  int f = all->operands.n_ref - 1;
  while (f > 0 && strcmp(all->operands.ref[f].name, name)) f--;
  return f - 1;
}
/* Returns the node of a name that no line defines, or NULL. A composition knows only its
   operands. An operand that is NULL is zero. */
static edf_node *edf_slide__known(edf_slide__slide *all, const char *name) {
  int k = edf_slide__operand_named(all, name);
  return !all->in ? edf_slide__newest_for(all, name) : k < 0 ? NULL : all->in[k];
}

/* Returns 1 if a name is a scalar tensor: of a line, or of the graph. */
static int edf_slide__is_scalar(edf_slide__slide *all, const char *name) {
  edf_slide__statement *by = edf_slide__line_of(all, name);
  const edf_node *x = by ? NULL : edf_slide__known(all, name);
  return by ? by->m.e.ref->rank == 0 : x && x->rank == 0;
}

/* ---- Reading an expression. */
static edf_slide__expr *edf_slide__read_sum(edf_slide__statement *l);
static edf_slide__expr *edf_slide__read_product(edf_slide__statement *l,
                                                edf_slide__expr *first);
static edf_slide__expr *edf_slide__read_atom(edf_slide__statement *l);
static edf_slide__expr *edf_slide__read_factor(edf_slide__statement *l);
static edf_slide__expr *edf_slide__read_grad(edf_slide__statement *l, const char *name);

static edf_slide__expr *edf_slide__new_expr(edf_slide__sort sort, const char *at,
                                            edf_slide__expr *in) {
  edf_slide__expr *x = (edf_slide__expr *)edf_slide__tree(sizeof *x);
  x->sort = sort;
  x->at = at;
  x->number = 1;
  x->in = in;
  return x;
}
/* Appends x to a list of parts. Returns the list. */
static edf_slide__expr *edf_slide__append_expr(edf_slide__expr *list, edf_slide__expr *x) {
  edf_slide__expr *last = list;
  if (!list) return x;
  while (last->next) last = last->next;
  last->next = x;
  return list;
}
/* Returns the sum of one term, whose only factor is x. If x is NULL, the sum is 1. */
static edf_slide__expr *edf_slide__sum_of(const char *at, edf_slide__expr *x) {
  return edf_slide__new_expr(EDF_SLIDE__A_SUM, at,
                             edf_slide__new_expr(EDF_SLIDE__A_PRODUCT, at, x));
}

/* Returns the only factor of a product, or NULL if the product sums or has a number. */
static const edf_slide__expr *edf_slide__only(const edf_slide__expr *x) {
  return x->number == 1 && !x->over && x->in && !x->in->next ? x->in : NULL;
}

/* Reads a list after its opening bracket, and the closing one. Returns the number of parts. */
static int edf_slide__read_list(edf_slide__statement *l, edf_slide__expr **list,
                                edf_slide__expr *(*read)(edf_slide__statement *)) {
  edf__scan *s = l->m.e.scan;
  int n = 0;
  for (; n == 0 || edf__accept(s, ','); n++)
    *list = edf_slide__append_expr(*list, read(l));
  edf__expect(s, ')', "')' or ','", "");
  return n;
}
static edf_slide__expr *edf_slide__read_bracket(edf_slide__statement *l) {
  edf_slide__expr *x = edf_slide__read_sum(l);
  edf__expect(l->m.e.scan, ')', "')'", "");
  return x;
}

/* Returns 1 if name_i is a function over index i. */
static int edf_slide__is_over(const char *name) {
  return edf_slide__function_named(edf__text("%s_", name), "_") >= 0;
}

/* Returns the test 1[a<b], or the test of a mask s<=t. A test compares a - b with 0. */
static edf_slide__expr *edf_slide__test_of(edf_slide__expr *a, edf_slide__expr *b, int which) {
  edf_slide__expr *x = edf_slide__new_expr(EDF_SLIDE__A_TEST, a->at, a);
  x->which = which;
  const edf_slide__expr *only = b->in->next ? NULL : edf_slide__only(b->in);
  if (only && only->sort == EDF_SLIDE__A_NUMBER && only->number == 0) return x;      /* a > 0 */
  for (edf_slide__expr *p = b->in; p; p = p->next) p->number = -p->number;
  edf_slide__append_expr(a->in, b->in);
  return x;
}

/* Reads <, <=, =, !=, > or >=. Returns which differences a - b make it true, as a sum: 1 for
   negative differences, 2 for 0, and 4 for positive differences. */
static int edf_slide__read_comparison(edf__scan *s, const char *expected) {
  char c = edf__peek(s);
  if (!c || !strchr("<>=!", c)) edf__found(s, expected, "");
  s->at++;
  int equal = *s->at == '=' && s->at++, which = c == '<' ? 1 : c == '>' ? 4 : c == '!' ? 5 : 2;
  if (c == '!' && !equal) edf__found(s, expected, "");
  return equal && strchr("<>", c) ? which | 2 : which;
}

/* Reads a comparison of two sums. */
static edf_slide__expr *edf_slide__read_test(edf_slide__statement *l) {
  edf_slide__expr *a = edf_slide__read_sum(l);
  int which = edf_slide__read_comparison(l->m.e.scan, "<, <=, =, !=, > or >=");
  return edf_slide__test_of(a, edf_slide__read_sum(l), which);
}

/* Reads the arguments of function f: f(x), f(x,y) or f x. */
static edf_slide__expr *edf_slide__read_call(edf_slide__statement *l, const char *name, int f) {
  edf__scan *s = l->m.e.scan;
  edf_slide__expr *x = edf_slide__new_expr(EDF_SLIDE__A_CALL, name, NULL);
  int n = 1, wanted = (int)strlen(edf_slide__functions[f].takes);
  x->which = f;
  x->closed = !edf__accept(s, '(');
  if (x->closed) x->in = edf_slide__read_factor(l);
  else {
    if (f == EDF_SLIDE__WHERE_OF) {
      x->in = edf_slide__read_test(l);
      if (edf__accept(s, ',')) n++;
      else edf__found(s, "',' and two values: where(x[i] > 0, a[i], b[i])", "");
    }
    n = n - 1 + edf_slide__read_list(l, &x->in, edf_slide__read_sum);
  }
  if (n != wanted)
    edf__syntax(s, name, "%s takes %d argument%s, found %d%s", name, wanted,
                wanted > 1 ? "s" : "", n, !edf_slide__is_over(name) ? ""
                : edf__text(". Over an index: %s_i", name));
  return x;
}

static edf_slide__expr *edf_slide__read_index(edf_slide__statement *l) {
  const char *name = edf__identifier(l->m.e.scan, "an index");
  edf_slide__expr *x = edf_slide__new_expr(EDF_SLIDE__A_NAME, name, NULL);
  x->which = edf_slide__index_of(&l->m.e, name);
  x->number = 0;
  return x;
}

/* Reads one summand of a position: 2*i, 2i, i or 3. */
static void edf_slide__read_summand(edf_equation *e, edf_place *place, int sign) {
  edf__scan *s = e->scan;
  int number = edf__is_digit(edf__peek(s)), factor = number ? edf__whole(s, 0, 1000000) : 1;
  if (number && !edf__accept(s, '*') && !edf__is_letter(edf__peek(s))) {
    place->constant += sign * factor;
    return;
  }
  const char *name = edf__identifier(s, "an index or a number");
  int *sum = &place->factor[edf_slide__index_of(e, name)];
  *sum += sign * factor;
  if (*sum == 0) edf__syntax(s, place->at, "index %s cancels out in this position", name);
}
/* Reads a summand of a mask or a position: an index, a scalar, or a lookup, as n[b]. */
static edf_slide__expr *edf_slide__read_tensor(edf_slide__statement *l, edf_slide__expr *x);
static edf_slide__expr *edf_slide__read_operand(edf_slide__statement *l) {
  edf_equation *e = &l->m.e;
  edf__scan *s = e->scan;
  edf__peek(s);
  const char *behind = s->at + strlen(s->at + s->size);
  behind += strspn(behind, " ");
  if (edf__is_letter(*s->at) && (*behind == '[' || *behind == '('))
    return edf_slide__read_atom(l);
  edf_slide__expr *x = edf_slide__new_expr(EDF_SLIDE__A_NAME,
                                           edf__identifier(s, "an index or a number"), NULL);
  int i = 0;
  while (i < e->n_index && strcmp(e->index[i].name, x->at)) i++;
  if (i == e->n_index && edf_slide__is_scalar(l->slide, x->at))
    return edf_slide__read_tensor(l, x);
  x->which = edf_slide__index_of(e, x->at);
  x->number = 0;
  return x;
}
/* Reads a side of a mask, t-3 or n[b], or a position with a lookup: a sum of indices and
   lookups with whole factors, and of numbers. */
static edf_slide__expr *edf_slide__read_side(edf_slide__statement *l) {
  edf__scan *s = l->m.e.scan;
  edf__peek(s);
  edf_slide__expr *x = edf_slide__new_expr(EDF_SLIDE__A_SUM, s->at, NULL);
  for (int sign = edf_slide__first_sign(s); sign;
       sign = edf__accept(s, '+') ? 1 : edf__accept(s, '-') ? -1 : 0) {
    int number = edf__is_digit(edf__peek(s));
    edf_slide__expr *p = edf_slide__new_expr(EDF_SLIDE__A_PRODUCT, s->at, NULL);
    p->number = sign * (number ? edf__whole(s, 0, 1000000) : 1);
    if (!number || edf__accept(s, '*') || edf__is_letter(edf__peek(s)))
      p->in = edf_slide__read_operand(l);
    x->in = edf_slide__append_expr(x->in, p);
  }
  return x;
}
/* Returns 1 if a name before a bracket is in the position that begins at c. */
static int edf_slide__looks_up(const char *c) {
  const char *bracket = c + strcspn(c, ",;|[](\n");
  if (*bracket != '[' && *bracket != '(') return 0;
  while (bracket > c && bracket[-1] == ' ') bracket--;
  return bracket > c && (edf__is_letter(bracket[-1]) || edf__is_digit(bracket[-1]) ||
                         bracket[-1] == '\'');
}

/* Reads an index position of tensor f: a sum of indices, a sum with lookups w[b,t] or
   floor(...), or a group (I,J), whose factors come later. */
static void edf_slide__read_place(edf_slide__statement *l, int f) {
  edf__scan *s = l->m.e.scan;
  edf_slide__expr *x = NULL;
  edf_place p;
  memset(&p, 0, sizeof p);
  edf__peek(s);
  p.at = s->at;
  if (edf__accept(s, '(')) {
    if (edf_slide__looks_up(s->at))
      edf__syntax(s, s->at, "a lookup position has no brackets around it: write n[b] - 1");
    x = edf_slide__new_expr(EDF_SLIDE__A_GROUP, p.at, NULL);
    edf_slide__read_list(l, &x->in, edf_slide__read_index);
  } else if (edf_slide__looks_up(p.at)) {
    x = edf_slide__read_side(l);
    const edf_slide__expr *alone = x->in->next ? NULL : edf_slide__only(x->in);
    if (alone) x = x->in->in;
  }
  if (x && strchr("+-*/^", edf__peek(s)) && *s->at)
    edf__syntax(s, s->at, "a position is a sum of indices, lookups and numbers: write "
                "floor(n[b] / 2)");
  for (int sign = x ? 0 : edf_slide__first_sign(s); sign;
       sign = edf__accept(s, '+') ? 1 : edf__accept(s, '-') ? -1 : 0)
    edf_slide__read_summand(&l->m.e, &p, sign);
  p.by = x && x->sort != EDF_SLIDE__A_GROUP;
  edf_ref *r = &l->m.e.ref[f];
  if (x) x->place = r->rank;
  if (x) l->tensor[f]->in = edf_slide__append_expr(l->tensor[f]->in, x);
  r->place[r->rank++] = p;
}

/* Reads the tensor whose name is x: the name again, then its index positions. */
static edf_slide__expr *edf_slide__read_tensor(edf_slide__statement *l, edf_slide__expr *x) {
  edf_equation *e = &l->m.e;
  edf__scan *s = e->scan;
  int f = e->n_ref, function = edf_slide__function_named(x->at, "x") >= 0;
  const char *hint = function ? ": the argument of a function stands in round brackets" : "";
  edf_ref *r = edf_slide__next_ref_in(edf_slide__trees(), e);
  r->operand = -1;
  r->name = x->at;
  x->sort = EDF_SLIDE__A_TENSOR;
  x->which = f;
  l->tensor[f] = x;
  s->at = x->at - s->size + strlen(x->at);
  if (!edf__accept(s, '[')) return x;
  do {
    if (e->ref[f].rank == EDF_MAX_RANK)
      edf__syntax(s, s->at, "a tensor has at most %d indices", EDF_MAX_RANK);
    edf_slide__read_place(l, f);
  } while (edf__accept(s, ','));
  if (edf__peek(s) == '.') hint = ": the factor of an index is a whole number";
  if (*s->at && strchr("[(", *s->at))
    hint = ": a position is a sum of indices, lookups and numbers";
  edf__expect(s, ']', "']' or ','", hint);
  if (edf__peek(s) == '[') edf__found(s, "a comma between indices, as in W[I,j]", "");
  return x;
}

/* Reads the size of an index after its '<'. */
static void edf_slide__read_size(edf_equation *e, int index, const char *name) {
  int *bound = &e->index[index].bound;
  const char *at = e->scan->at;
  double n = 0;
  if (*bound) edf__syntax(e->scan, name, "%s has two bounds", name);
  for (; edf__is_digit(*e->scan->at); e->scan->at++) n = 10 * n + (*e->scan->at - '0');
  if (n < 1) edf__syntax(e->scan, at, "a bound is at least 1");
  if (n > 1e9) edf__syntax(e->scan, at, "the number is too large: at most 1000000000");
  *bound = (int)n;
}

/* Returns the index that is a side of a mask alone, or NULL. */
static const edf_slide__expr *edf_slide__lone(const edf_slide__expr *side) {
  const edf_slide__expr *f = side->in->next ? NULL : edf_slide__only(side->in);
  return f && f->sort == EDF_SLIDE__A_NAME ? f : NULL;
}

/* Returns the mask that keeps the entries for which a test is true. */
static edf_slide__mask edf_slide__mask_of(const edf_slide__statement *l,
                                          edf_slide__expr *test) {
  edf_slide__mask m = { test, edf_slide__expr_has(l, test), -1, -1, 0, 0, 0, 0 };
  int factor[EDF_MAX_INDEX] = { 0 }, sign = test->which == 4 || test->which == 6 ? -1 : 1;
  for (const edf_slide__expr *p = test->in->in; p; p = p->next) {
    int number = sign * (int)p->number;
    if (!p->in) m.constant += number;
    else if (p->in->sort == EDF_SLIDE__A_NAME) factor[p->in->which] += number;
    else m.general = 1;
  }
  for (int i = 0; i < EDF_MAX_INDEX; i++) {
    if (factor[i] == 1 && m.low < 0) m.low = i;
    else if (factor[i] == -1 && m.high < 0) m.high = i;
    else if (factor[i]) m.general = 1;
  }
  if (m.general) m.low = m.high = -1;
  m.general |= test->which == 2 || test->which == 5;
  m.constant += test->which == 1 || test->which == 4;          /* s<t is s - t + 1 <= 0       */
  return m;
}
/* Adds a mask to the line, and returns its bit. */
static unsigned edf_slide__add_mask(edf_slide__statement *l, edf_slide__mask m) {
  if (l->n_mask == EDF_SLIDE__BOUNDS)
    edf__syntax(l->m.e.scan, m.test->at, "too many masks: at most %d in a line",
                EDF_SLIDE__BOUNDS);
  l->mask[l->n_mask] = m;
  return 1u << l->n_mask++;
}
/* Returns the index that a mask in braces reduces, as a bit. `over` has the indices that the
   braces have named so far, `n` is the number of indices before the mask. */
static unsigned edf_slide__reduced_by(const edf_slide__statement *l, const edf_slide__mask *m,
                                      const edf_slide__expr *a, const edf_slide__expr *b,
                                      unsigned over, int n) {
  const edf_slide__expr *first = edf_slide__lone(a), *second = edf_slide__lone(b);
  unsigned fresh = m->has >> n << n;
  if (fresh) return fresh;
  if (m->has & over) return 0;
  if (!first || (second && l->left >> first->which & 1)) first = second;
  if (!first)
    edf__syntax(l->m.e.scan, a->at, "which index does this mask reduce? Name it first, as in "
                "{s, 2*s<t}");
  return 1u << first->which;
}

/* Reads a bound: a size x<28, a class bound w<27, or a mask s<=t. In braces an index may be
   alone, and `over` has the indices that the braces have named so far. Returns the bit of the
   index that has a size or is reduced, or 0. */
static unsigned edf_slide__read_bound(edf_slide__statement *l, int braces, unsigned over) {
  edf_equation *e = &l->m.e;
  edf__scan *s = e->scan;
  int n = e->n_index, used = braces;
  edf__peek(s);
  const char *text = s->at;
  edf_slide__expr *a = edf_slide__read_side(l), *b;
  const edf_slide__expr *x = edf_slide__lone(a);
  unsigned bit = x ? 1u << x->which : 0;
  char c = edf__peek(s);
  if (braces && x && (!c || !strchr("<>=!", c))) return bit;
  int which = edf_slide__read_comparison(s, "'<' and a number, or '<=' and an index");
  edf__peek(s);
  const char *digits = s->at, *end = digits + strspn(digits, "0123456789"),
             *next = end + strspn(end, " ");
  int is_number = end > digits && !edf__is_letter(*end) && (!*next || !strchr("*+-", *next));
  if (braces && which == 2 && is_number)
    edf__syntax(s, digits, "in braces write an index, %s<5 or s<=t. Entries count from 0",
                x ? x->at : "i");
  /* Outside braces, a name that is no index yet is a tensor. The number counts classes. */
  if (which == 1 && x && is_number) {
    for (int f = 0; f < e->n_ref; f++) used |= !strcmp(e->ref[f].name, x->at);
    for (int i = 0; i < n && x->which >= n && !used; i++)
      if (!edf_slide__compare_names(e->index[i].name, x->at))
        edf__syntax(s, x->at, "%s is not an index of this line, but %s is", x->at,
                    e->index[i].name);
    if (x->which >= n && !used)
      edf__syntax(s, x->at, "%s is not an index and not a tensor of this line", x->at);
    edf_slide__read_size(e, x->which, x->at);
    return x->which < n || braces ? bit : 0;
  }
  b = edf_slide__read_side(l);
  edf_slide__mask m = edf_slide__mask_of(l, edf_slide__test_of(a, b, which));
  unsigned fresh = m.has >> n << n, second = fresh & (fresh - 1);
  const char *unknown = edf_slide__first_of(e, braces ? second : fresh);
  if (unknown)
    edf__syntax(s, unknown, "%s is not an index of this line%s", unknown, !braces ? ""
                : edf__text(". If both are summed, write sum_{%s,%s} ... | %.*s",
                            edf_slide__first_of(e, fresh), unknown, (int)(s->at - text), text));
  edf_slide__add_mask(l, m);
  return braces ? edf_slide__reduced_by(l, &m, a, b, over, n) : 0;
}

static edf_slide__expr *edf_slide__read_number_expr(edf_slide__statement *l) {
  edf_slide__expr *x = edf_slide__new_expr(EDF_SLIDE__A_NUMBER, l->m.e.scan->at, NULL);
  x->number = edf_slide__read_number(l->m.e.scan);
  return x;
}

/* Returns 1/base as a power -1. Its `which` is 1, because edf_slide__bind_product counts the
   indices of a divisor once, and those of another power twice. */
static edf_slide__expr *edf_slide__divisor_of(edf_slide__expr *base) {
  edf_slide__expr *x = edf_slide__new_expr(EDF_SLIDE__A_POWER, base->at, base);
  x->which = 1;
  base->next = edf_slide__new_expr(EDF_SLIDE__A_PRODUCT, base->at, NULL);
  base->next->number = -1;
  return x;
}
/* Reads a power after its base, x^2, x^(-1/2) or x^y[i]. Returns the base if no ^ follows. */
static edf_slide__expr *edf_slide__read_power(edf_slide__statement *l, edf_slide__expr *base) {
  edf__scan *s = l->m.e.scan;
  const char *at = s->at;
  if (!edf__accept(s, '^')) return base;
  double sign = edf_slide__first_sign(s);
  char c = edf__peek(s);
  if (!edf__is_digit(c) && !edf__is_letter(c) && c != '.' && c != '(')
    edf__syntax(s, s->at, "a power is a number, a tensor, or a bracket");
  edf_slide__expr *power = edf_slide__new_expr(EDF_SLIDE__A_PRODUCT, s->at, NULL);
  power->number = sign;
  power->in = edf_slide__read_atom(l);
  base->next = power;
  return edf_slide__new_expr(EDF_SLIDE__A_POWER, at, base);
}

/* Returns f(x) for the function with this name. */
static edf_slide__expr *edf_slide__call_of(const char *name, const char *at,
                                           edf_slide__expr *x) {
  edf_slide__expr *call = edf_slide__new_expr(EDF_SLIDE__A_CALL, at, x);
  call->which = edf_slide__function_named(name, "x");
  return call;
}
/* Returns ln sum_k exp(x), as which logsumexp_k(x) is read. */
static edf_slide__expr *edf_slide__log_sum_exp(const edf_slide__expr *x) {
  edf_slide__expr *of = x->in;
  if (of->sort == EDF_SLIDE__A_PRODUCT) of = edf_slide__new_expr(EDF_SLIDE__A_SUM, of->at, of);
  else if (of->sort != EDF_SLIDE__A_SUM) of = edf_slide__sum_of(of->at, of);
  of = edf_slide__sum_of(x->at, edf_slide__call_of("exp", x->at, of));
  of->in->over = x->over;
  return edf_slide__call_of("ln", x->at, of);
}

/* Reads softmax_t x or sum_{i,j} x. The argument x of sum and mean is the rest of the term. The
   argument of another function is the next bracket, if the bracket has one of the function's
   indices. Otherwise the argument is the rest of the term. */
static edf_slide__expr *edf_slide__read_over(edf_slide__statement *l, const char *name, int f) {
  edf__scan *s = l->m.e.scan;
  edf_slide__expr *x = edf_slide__new_expr(EDF_SLIDE__AN_OVER, name, NULL);
  const char *index = name + strcspn(name, "_") + 1;
  x->which = f;
  x->number = 1e-5;                      /* normalize's eps, unless the text gives it         */
  if (*index) x->over = 1u << edf_slide__index_of(&l->m.e, index);
  else {
    edf__expect(s, '{', "an index or '{'", "");
    do x->over |= edf_slide__read_bound(l, 1, x->over); while (edf__accept(s, ','));
    edf__expect(s, '}', "'}' or ','", "");
  }
  int is_log = f == EDF_SLIDE__LOG_SUM_EXP_OVER;
  if (f > EDF_SLIDE__MEAN_OVER && edf__accept(s, '(')) {
    x->in = edf_slide__read_sum(l);
    if (f == EDF_SLIDE__NORMALIZE_OVER && edf__accept(s, ',')) {
      edf__peek(s);
      x->number = edf_slide__read_number(s);
    }
    edf__expect(s, ')', "')'", "");
    x->in = edf_slide__read_power(l, x->in);
    if (edf_slide__expr_has(l, x->in) & x->over)
      return is_log ? edf_slide__log_sum_exp(x) : x;
  }
  double sign = x->in ? 1 : edf_slide__first_sign(s);
  x->closed = f > EDF_SLIDE__MEAN_OVER;  /* Its argument is the rest of the term.             */
  x->in = edf_slide__read_product(l, x->in);
  x->in->number *= sign;
  if (is_log) return edf_slide__log_sum_exp(x);
  if (f > EDF_SLIDE__MEAN_OVER) return x;
  x->sort = EDF_SLIDE__A_SUM;            /* The product sums. A mean is divided by sum_i 1.   */
  x->in->at = name;
  x->in->over = x->over;
  if (f == EDF_SLIDE__SUM_OVER) return x;
  edf_slide__expr *n = edf_slide__sum_of(name, NULL);
  n->in->over = x->over;
  edf_slide__expr *divisor = edf_slide__divisor_of(n);
  divisor->which = 2;                    /* This divisor is the number of a mean's entries.   */
  edf_slide__append_expr(x->in->in, divisor);
  return x;
}

/* Stops because a line does not end here. If another equation follows, a newline is missing. */
static void edf_slide__check_end(const edf__scan *s) {
  const char *hint = ": is a newline missing? Each equation has a line, in C "
                     "\"h[j] = a[j] \\n\"";
  if (*s->at == '=')
    edf__syntax(s, s->at, "expected a factor, an operator or the end of the line, found '='%s",
                hint);
  if (*s->at == ',' && edf__is_digit(s->at[-1]) && *localeconv()->decimal_point == ',')
    edf__syntax(s, s->at, "a number has a point: after setlocale, printf writes 0,5. "
                "edf_equations(\"%%g\", x) and edf_format write 0.5");
  if (edf__is_letter(*s->at) && memchr(s->at, '=', strcspn(s->at, "\n")))
    edf__syntax(s, s->at, "expected '|' or the end of the line, found an equation%s", hint);
  edf__found(s, "an operator, '|' or the end of the line", "");
}

/* Stops if a name before a bracket is a word of another notation, and no line and no tensor has
   this name. */
static void edf_slide__check_call(const edf_slide__statement *l, const char *name) {
  if (!l->slide->in && !edf_slide__line_of(l->slide, name) && !edf_slide__known(l->slide, name))
    edf_slide__check_word(l->m.e.scan, name);
}
/* Reads a factor without its power: a test, number, bracket, function, tensor or name. */
static edf_slide__expr *edf_slide__read_atom(edf_slide__statement *l) {
  edf__scan *s = l->m.e.scan;
  char c = edf__peek(s);
  if (c == '1' && s->at[1] == '[') {
    s->at += 2;
    edf_slide__expr *test = edf_slide__read_test(l);
    edf__expect(s, ']', "']'", "");
    return test;
  }
  if (edf__is_digit(c) || c == '.') return edf_slide__read_number_expr(l);
  if (edf__accept(s, '(')) return edf_slide__read_bracket(l);
  if (c == '=') edf_slide__check_end(s);
  const char *name = edf__identifier(s, "a tensor, a function or a number");
  int over = edf_slide__function_named(name, "_"), f = edf_slide__function_named(name, "x");
  c = edf__peek(s);
  if (c == '(' && !strcmp(name, "grad")) return edf_slide__read_grad(l, name);
  if (c != '[' && over >= 0) return edf_slide__read_over(l, name, over);
  if (c != '[' && f >= 0) return edf_slide__read_call(l, name, f);
  edf_slide__expr *x = edf_slide__new_expr(EDF_SLIDE__A_NAME, name, NULL);
  if (c == '(' || c == '{' || *name & 0x80) edf_slide__check_call(l, name);
  return c == '[' ? edf_slide__read_tensor(l, x) : x;
}
static edf_slide__expr *edf_slide__read_factor(edf_slide__statement *l) {
  if (l->depth++ > EDF_SLIDE__DEPTH)
    edf__syntax(l->m.e.scan, l->m.e.scan->at, "brackets and functions are nested at most %d "
                "deep", EDF_SLIDE__DEPTH);
  edf_slide__expr *x = edf_slide__read_atom(l);
  x = edf_slide__read_power(l, x);
  l->depth--;
  return x;
}

/* Returns 1 if a factor follows. */
static int edf_slide__at_factor(edf__scan *s) {
  char c = edf__peek(s);
  return edf__is_letter(c) || edf__is_digit(c) || c == '(' || c == '.';
}

/* Reads a product. `first` is the first factor if it has been read, else NULL. A factor after
   a divisor is an error, except after a fraction of two numbers: 1/2 x[i]. */
static edf_slide__expr *edf_slide__read_product(edf_slide__statement *l,
                                                edf_slide__expr *first) {
  edf__scan *s = l->m.e.scan;
  int below = 0;
  edf__peek(s);
  edf_slide__expr *x = edf_slide__new_expr(EDF_SLIDE__A_PRODUCT, s->at, NULL), *f = NULL;
  do {
    if (f && f->closed && !below)
      edf__syntax(s, f->at, "%s without brackets takes one factor: write %s(...)", f->at,
                  f->at);
    f = first ? first : edf_slide__read_factor(l);
    int half =
        below && f->sort == EDF_SLIDE__A_NUMBER && x->in->sort == f->sort && !x->in->next;
    x->in = edf_slide__append_expr(x->in, below ? edf_slide__divisor_of(f) : f);
    first = NULL;
    if (below && !half && (edf_slide__at_factor(s) || *s->at == '*'))
      edf__syntax(s, s->at, "ambiguous division: put brackets, as in (1/2) x[i]");
    below = edf__accept(s, '/');
  } while (below || edf__accept(s, '*') || edf_slide__at_factor(s));
  return x;
}

static edf_slide__expr *edf_slide__read_sum(edf_slide__statement *l) {
  edf__scan *s = l->m.e.scan;
  edf__peek(s);
  edf_slide__expr *x = edf_slide__new_expr(EDF_SLIDE__A_SUM, s->at, NULL);
  int sign = edf_slide__first_sign(s);
  do {
    edf_slide__expr *p = edf_slide__read_product(l, NULL);
    p->number *= sign;
    x->in = edf_slide__append_expr(x->in, p);
    sign = edf__peek(s) == '-' ? -1 : 1;
  } while (edf__accept(s, '+') || edf__accept(s, '-'));
  return x;
}

/* ---- Derivatives. edf/derive.h builds them. Without it, this is NULL. */
#ifdef __cplusplus
static edf_node *(*edf_slide__derive)(const edf__site *at, edf_node *L, edf_node *x) = NULL;
#else
static edf_node *(*edf_slide__derive)(const edf__site *at, edf_node *L, edf_node *x);
#endif
/* Reads grad(L, x[b,i]) after its name. It is a tensor called grad, with the positions of x. */
static edf_slide__expr *edf_slide__read_grad(edf_slide__statement *l, const char *name) {
  edf__scan *s = l->m.e.scan;
  if (!edf_slide__derive) edf__syntax(s, name, "grad(L, x[i]) needs #include \"edf/derive.h\"");
  edf__expect(s, '(', "'('", "");
  const char *of = edf__identifier(s, "the name of a tensor");
  edf__expect(s, ',', "','", edf__peek(s) != '[' ? ""
                              : ": write grad(L, x[i]), with the name of L alone");
  const char *by = edf__identifier(s, "a tensor");
  edf_slide__expr *x =
      edf_slide__read_tensor(l, edf_slide__new_expr(EDF_SLIDE__A_NAME, by, NULL));
  edf__expect(s, ')', "')'", "");
  l->grad_of[x->which] = of;
  l->grad_by[x->which] = by;
  l->m.e.ref[x->which].name = x->at = name;
  return x;
}

/* ---- Reading lines. A newline ends a line. A blank replaces a newline in brackets, before an
   operator or after an operator. Blanks replace a comment. */
static void edf_slide__join_lines(char *text) {
  char before = '\n';
  int depth = 0;
  for (char *c = text; (c = strchr(c, '#')) != NULL;) memset(c, ' ', strcspn(c, "\n"));
  for (char *c = text; *c; c++) {
    depth += (strchr("([{", *c) != NULL) - (strchr(")]}", *c) != NULL);
    if (*c == ' ') continue;
    char next = c[1 + strspn(c + 1, " \n")];
    int goes_on = depth > 0 || strchr("+-*/^=,;|<>:_", before) || strchr("+-*/^=,;|<>", next);
    if (*c == '\n' && before != '\n' && next && goes_on) *c = ' ';
    else before = *c;
  }
}

static void edf_slide__read_statement(edf_slide__slide *all, edf__scan *s) {
  edf_slide__statement *l = &all->line[all->n++];
  edf_equation *e = &l->m.e;
  e->scan = s;
  l->slide = all;
  const char *name = edf__identifier(s, "a tensor");
  if (!strcmp(name, "for") && edf__is_letter(edf__peek(s))) {
    do l->loops |= 1u << edf_slide__read_index(l)->which; while (edf__accept(s, ','));
    edf__expect(s, ':', "':' or ','", "");
    name = edf__identifier(s, "a tensor");
  }
  l->where = edf_slide__read_tensor(l, edf_slide__new_expr(EDF_SLIDE__A_TENSOR, name, NULL));
  edf_slide__enter(l);
  l->left = edf_slide__expr_has(l, l->where);
  l->sign = edf_slide__first_sign(s);
  l->adds = l->sign < 0 || edf__accept(s, '+');
  edf__expect(s, '=', edf__peek(s) != '(' ? "'=', '+=' or '-=' behind the left side"
                    : "square brackets around indices, y[b,j]", "");
  do l->right = edf_slide__append_expr(l->right, edf_slide__read_sum(l));
  while (edf__accept(s, ';'));
  if (edf__accept(s, '|'))
    do edf_slide__read_bound(l, 0, 0); while (edf__accept(s, ','));
  if (edf__peek(s) && *s->at != '\n') edf_slide__check_end(s);
  l->whole = 1;
}

/* Reads a declaration, x[b,784]. Creates x unless the graph has x with the same shape. */
static void edf_slide__read_declaration(edf_slide__slide *all, edf__scan *s, int is_input) {
  const edf__site *at = &all->site;
  edf_node *x = edf__new_node(is_input ? EDF_INPUT : EDF_PARAMETER,
                              is_input ? "Input" : "Parameter", at->file, at->line, 0);
  edf__peek(s);
  const char *begin = s->at;
  edf__read_declared(x, s);
  const edf_node *old = edf_slide__newest_for(all, x->name);
  if (!old) {
    edf__append_leaf(x);
    if (is_input) return;
    all->first_declared = x->position - all->n_declared;
    size_t room = (size_t)all->n_declared++ / 1024 * 1024 + 1024;
    all->is_set = (char *)edf__grow(edf_slide__trees(), all->is_set, room);
    return;
  }
  if (old->kind == x->kind && old->rank == x->rank && old->batched == x->batched
      && !memcmp(old->dim, x->dim, sizeof x->dim)) return;
  edf__syntax(s, begin, "there is another tensor with that name\n  %s", edf__show(old));
}

static void edf_slide__read_line(edf_slide__slide *all, edf__scan *s) {
  edf__scan before = *s;
  const char *word = edf__identifier(s, "a tensor");
  int is_input = !strcmp(word, "input");
  if (is_input || !strcmp(word, "parameter"))
    if (edf__is_letter(edf__peek(s))) {
      do edf_slide__read_declaration(all, s, is_input); while (edf__accept(s, ','));
      if (edf__peek(s) && *s->at != '\n')
        edf__found(s, "',' or the end of the line", "");
      return;
    }
  *s = before;
  edf_slide__read_statement(all, s);
}

/* ==== >>resolve  Names to tensors, indices and sizes ====================================== */
/* ---- Names without brackets: scalars, values of indices, and sizes of indices (capitals).
   Returns the index with this name, or -1. A capital also finds its lower-case index. */
static int edf_slide__index_for(const edf_equation *e, const char *name) {
  int found = -1;
  for (int i = 0; i < e->n_index; i++) {
    if (!strcmp(e->index[i].name, name)) return i;
    if (edf_slide__is_capital(name) && !edf_slide__compare_names(e->index[i].name, name))
      found = i;
  }
  return found;
}

/* Makes the name x a scalar or an index. Stops if x is neither, or both. */
static void edf_slide__resolve_name(edf_slide__statement *l, edf_slide__expr *x) {
  const edf__scan *s = l->m.e.scan;
  const char *behind = x->at - s->size + strlen(x->at);
  int i = edf_slide__index_for(&l->m.e, x->at);
  edf_slide__statement *by = edf_slide__line_of(l->slide, x->at);
  edf_node *node = by ? NULL : edf_slide__known(l->slide, x->at);
  int scalar = edf_slide__is_scalar(l->slide, x->at);
  x->number = edf_slide__is_capital(x->at);
  x->which = i;
  if (scalar && i >= 0)
    edf__syntax(s, x->at, "%s is a scalar and an index here: rename one", x->at);
  edf__scan now = *s;
  if (scalar) edf_slide__read_tensor(l, x);
  *l->m.e.scan = now;
  if (scalar || i >= 0) return;
  if (by || node) {
    edf_page shape = { NULL, 0 };
    if (node) edf_write_node(&shape, node, EDF_SHAPE);
    edf__syntax(s, x->at, "%s is %s: write its indices", x->at, node ? shape.at : "a tensor");
  }
  if (edf_slide__is_over(x->at))
    edf__syntax(s, x->at, "%s over which index? As in %s_i", x->at, x->at);
  edf_slide__check_word(s, x->at);
  if (!strcmp(x->at, "T") && x->at[-(ptrdiff_t)s->size - 1] == '^')
    edf__syntax(s, x->at, "a transpose has the indices in the other order: W[j,i]");
  if (behind[strspn(behind, " ")] == '(')
    edf__syntax(s, x->at, "there is no function %s. A new scalar needs a line 'parameter %s'",
                x->at, x->at);
  edf__syntax(s, x->at, "unknown name %s. A new weight needs indices, as in %s[j]. A new "
              "scalar needs a line 'parameter %s'. %%g inserts a number, as in printf",
              x->at, x->at, x->at);
}
static void edf_slide__resolve(edf_slide__statement *l, edf_slide__expr *x) {
  int is_index = x->number == 0;         /* of a mask or a position                           */
  if (x->sort == EDF_SLIDE__A_NAME && !is_index) edf_slide__resolve_name(l, x);
  for (edf_slide__expr *k = x->in; k && x->sort != EDF_SLIDE__A_GROUP; k = k->next)
    edf_slide__resolve(l, k);
}

/* ==== >>bind  Which index is free, summed or masked ======================================= */
/* ---- Summed indices. The outermost product with a tensor that has a capital sums the capital.
   Returns the indices whose sizes are in x: D in 1/sqrt D. */
static unsigned edf_slide__extents_in(const edf_slide__expr *x) {
  unsigned has = x->sort == EDF_SLIDE__A_NAME && x->number > 0 ? 1u << x->which : 0;
  for (const edf_slide__expr *k = x->in; k; k = k->next) has |= edf_slide__extents_in(k);
  return has;
}

/* Returns the first name in x that has one of these indices, or NULL. */
static const char *edf_slide__first_with(const edf_slide__statement *l,
                                         const edf_slide__expr *x, unsigned has) {
  const char *at = NULL;
  for (const edf_slide__expr *k = x->in; k && !at; k = k->next)
    at = edf_slide__first_with(l, k, has);
  if (!at && x->sort == EDF_SLIDE__A_NAME && edf_slide__expr_has(l, x) & has) at = x->at;
  if (x->sort != EDF_SLIDE__A_TENSOR) return at;
  const edf_ref *r = &l->m.e.ref[x->which];
  for (int d = 0; d < r->rank && !at; d++)
    if (edf_slide__place_has(&r->place[d]) & has) at = r->place[d].at;
  return at;
}

static int edf_slide__count_letters(const char *name) {
  int n = 0;
  for (; *name; name++)
    n += edf_slide__lower(*name) != edf_slide__upper(*name) || (*name & 0xC0) == 0xC0;
  return n;
}
/* Returns 1 if name a is name b with one letter more: Inn and In. */
static int edf_slide__has_letter_more(const char *a, const char *b) {
  while (*b && *a == *b) { a++; b++; }
  if (!edf__is_letter(*a) || *a == '_') return 0;
  do a++; while ((*a & 0xC0) == 0x80);
  return !strcmp(a, b);
}
/* `single` has the summed indices of a term that are in one tensor each. If two of them differ
   by one letter, as in W[o,In] x[Inn], they are most likely one index. Else each factor would
   be summed by itself. */
static void edf_slide__check_single(const edf_equation *e, const char *at, unsigned single) {
  for (int i = 0; i < e->n_index; i++)
    for (int j = 0; j < e->n_index; j++) {
      const char *a = e->index[i].name, *b = e->index[j].name;
      if (single >> i & single >> j & 1 && edf_slide__has_letter_more(a, b) &&
          edf_slide__count_letters(b) >= 2)
        edf__syntax(e->scan, at, "%s and %s are summed, each in one tensor alone: did you "
                    "mean %s? Else rename one", b, a, b);
    }
}

/* Stops if `open` has an index: an index of x that nothing binds. */
static void edf_slide__check_bound(const edf_slide__statement *l, const edf_slide__expr *x,
                                   unsigned open) {
  const char *c = edf_slide__first_of(&l->m.e, open);
  for (int i = 0; c && edf_slide__is_capital(c) && i < l->m.e.n_index; i++)   /* i, not I */
    if (open >> i & 1 && !edf_slide__compare_names(l->m.e.index[i].name, c)) open &= ~0u << i;
  c = edf_slide__first_of(&l->m.e, open);
  const char *at = edf_slide__first_with(l, x, open & (~open + 1));
  if (!c) return;
  if (!at) at = x->at;
  edf_slide__check_single(&l->m.e, at, open);
  if (edf_slide__is_capital(c))
    edf__syntax(l->m.e.scan, at, "%s is not summed here. Write sum_%s, or (1/%s) sum_%s for "
                "the mean", c, c, c, c);
  const char *lookup = "";
  if (edf_slide__known(l->slide, c)) lookup = edf__text("; a lookup is %.400s[...]", c);
  edf__syntax(l->m.e.scan, at, "index %s is neither on the left nor summed: write %c%s, or "
              "sum_%s%s", c, edf_slide__upper(*c), c + 1, c, lookup);
}

static unsigned edf_slide__small_letters(const edf_slide__statement *l) {
  unsigned small = 0;
  for (int i = 0; i < l->m.e.n_index; i++)
    small |= (unsigned)!edf_slide__is_capital(l->m.e.index[i].name) << i;
  return small;
}

/* Sums the capitals of the tensors among the factors of x. If `inner` is not 0, two factors
   must have the capital. A square counts as two. */
static void edf_slide__bind_product(const edf_slide__statement *l, edf_slide__expr *x,
                                    unsigned bound, unsigned summed, int inner) {
  unsigned own = 0, above = 0, once = 0, twice = 0;
  for (const edf_slide__expr *f = x->in; f; f = f->next) {
    const edf_slide__expr *base = f->sort == EDF_SLIDE__A_POWER ? f->in : f;
    int alone = base->sort == EDF_SLIDE__A_TENSOR || base->sort == EDF_SLIDE__A_NAME;
    unsigned its = alone ? edf_slide__expr_has(l, base) : 0;
    unsigned has = edf_slide__expr_has(l, f), extents = edf_slide__extents_in(f);
    int square = base != f && !f->which;             /* a divisor counts as one factor        */
    own |= its;
    twice |= (once & (has | extents)) | (has & extents) | (square ? its : 0);
    once |= has | extents;
    if (base == f || !f->which) above |= its;
  }
  const char *c = edf_slide__first_of(&l->m.e, inner == 2 ? own & summed & twice : 0);
  if (c)
    edf__syntax(l->m.e.scan, x->at, "one sum over %s, or two? Rename one, or remove "
                "brackets: an outer product sums it, and two factors here have it", c);
  own &= ~bound;
  edf_slide__check_bound(l, x, own & (edf_slide__small_letters(l) | ~(inner ? twice : above)));
  x->over |= own;
}

/* Applies each mask of the line whose indices are known at x. A product that sums one of them
   gets the factor 1[s<=t]. If is_entry is 1, a term that sums none of them gets the factor.
   Functions over s or t leave excluded entries out by themselves. Returns the applied masks. */
static unsigned edf_slide__apply_bounds(edf_slide__statement *l, edf_slide__expr *x,
                                        unsigned known, int is_entry) {
  unsigned over = x->over, applied = 0;
  const edf_slide__expr *f = edf_slide__only(x);
  for (edf_slide__mask *m = l->mask; m < l->mask + l->n_mask; m++) {
    if (m->where || m->has & ~known || ((over & m->has) != 0) == is_entry) continue;
    m->used = 1;
    applied |= 1u << (m - l->mask);
    if (x->sort == EDF_SLIDE__A_PRODUCT) {
      int done = f && f->sort == EDF_SLIDE__AN_OVER && f->which == EDF_SLIDE__SOFTMAX_OVER;
      edf_slide__expr *test = edf_slide__new_expr(EDF_SLIDE__A_TEST, m->test->at, m->test->in);
      test->which = m->test->which;
      if (!done || !(f->over & m->has)) x->in = edf_slide__append_expr(x->in, test);
    } else if (x->which == EDF_SLIDE__VARIANCE_OVER || x->which == EDF_SLIDE__STD_OVER ||
               x->which > EDF_SLIDE__SOFTMAX_OVER)
      edf__syntax(l->m.e.scan, x->at, "a mask is for sum, mean, max, min, prod, norm, "
                  "logsumexp, argmax, argmin and softmax");
  }
  return applied;
}

/* Returns 1 if x is the test of a mask: what apply_bounds has added to a product. */
static int edf_slide__is_mask_test(const edf_slide__statement *l, const edf_slide__expr *x) {
  int is = 0;
  for (int m = 0; m < l->n_mask; m++) is |= x->in && x->in == l->mask[m].test->in;
  return is && x->sort == EDF_SLIDE__A_TEST;
}

/* ---- Sums that have two readings. Returns the end of the sum that begins at c. */
static const char *edf_slide__end_of_sum(const char *c) {
  for (int depth = 0; *c && (depth || !strchr("|;,)]\n", *c)); c++)
    depth += (strchr("([{", *c) != NULL) - (strchr(")]}", *c) != NULL);
  return c;
}
static int edf_slide__n_tensors(const edf_slide__expr *x) {
  int n = x->sort == EDF_SLIDE__A_TENSOR;
  for (const edf_slide__expr *k = x->in; k; k = k->next) n += edf_slide__n_tensors(k);
  return n;
}

/* Returns the softmax without brackets that ends product p, also behind ln, or NULL. */
static const edf_slide__expr *edf_slide__last_softmax(const edf_slide__expr *p) {
  const edf_slide__expr *f = p->in;
  while (f && f->next) f = f->next;
  while (f && f->sort == EDF_SLIDE__A_CALL && f->closed) {
    f = f->in;
    while (f && f->in && (f->sort == EDF_SLIDE__A_SUM || f->sort == EDF_SLIDE__A_PRODUCT))
      for (f = f->in; f->next;) f = f->next;
  }
  int is = f && f->sort == EDF_SLIDE__AN_OVER && f->closed &&
           (f->which == EDF_SLIDE__SOFTMAX_OVER || f->which == EDF_SLIDE__LOG_SOFTMAX_OVER);
  return is ? f : NULL;
}

/* Stops if a term after softmax_k W[k,J] h[J] has a tensor: is it an argument of softmax? */
static void edf_slide__check_softmax(const edf_slide__statement *l,
                                     const edf_slide__expr *sum) {
  const edf__scan *s = l->m.e.scan;
  for (const edf_slide__expr *p = sum->in, *f, *q; p; p = p->next) {
    for (q = p->next; q && !edf_slide__n_tensors(q); q = q->next) {}
    f = q ? edf_slide__last_softmax(p) : NULL;
    if (!f) continue;
    const char *name = f->at - s->size, *begin = p->at, *end = edf_slide__end_of_sum(name);
    const char *to = p->next->at, *argument = name + strlen(f->at);
    if (begin < s->text || begin > name) begin = name;
    while (p == sum->in && strchr(" -", begin[-1])) begin--;         /* with its sign         */
    begin += strspn(begin, " ");
    if (argument[-1] == '_') argument += strcspn(argument, "}") + 1;
    argument += strspn(argument, " ");
    while (to[-1] == ' ' || to[-1] == '+' || to[-1] == '-') to--;
    while (end > to && end[-1] == ' ') end--;
    edf__syntax(s, q->at, "is this a term after softmax, or part of its argument? Write "
                "%.*s(%.*s) or (%.*s)%.*s", (int)(argument - begin), begin,
                (int)(end - argument), argument, (int)(to - begin), begin, (int)(end - to), to);
  }
}
/* Returns the number of tensors that give class numbers in x. */
static int edf_slide__n_classes(const edf_slide__expr *x) {
  int n = 0, tensor = x->sort == EDF_SLIDE__A_TENSOR;
  for (const edf_slide__expr *k = x->in; k; k = k->next)
    n += tensor ? edf_slide__n_tensors(k) : edf_slide__n_classes(k);
  return n;
}
/* Stops if a term of a sum is the bare size B, beside a product of tensors: is it a bias? */
static void edf_slide__check_size_terms(const edf_slide__statement *l,
                                        const edf_slide__expr *sum) {
  int beside = 0;
  for (const edf_slide__expr *p = sum->in; p; p = p->next)
    beside |= edf_slide__n_tensors(p) > 1 + edf_slide__n_classes(p);
  for (const edf_slide__expr *p = sum->in; p && beside; p = p->next) {
    const edf_slide__expr *f = p->in;
    if (f && !f->next && !p->over && f->sort == EDF_SLIDE__A_NAME && f->number > 0)
      edf__syntax(l->m.e.scan, f->at, "this term is the size of an index. Did you mean a "
                  "bias, as in %s[j]? The size as a number is 1 %s", f->at, f->at);
  }
}

/* Stops if a sum has two readings. */
static void edf_slide__check_sum(const edf_slide__statement *l, const edf_slide__expr *sum) {
  edf_slide__check_softmax(l, sum);
  edf_slide__check_size_terms(l, sum);
}

/* Binds the indices of x. `bound` has the indices that are known around x. `summed` has the
   capitals that products around x sum, and, 16 bits higher, the indices of sum_i around x.
   `inner` is 0 for a term of a line, 1 in a bracket, and 2 in a function, in a divisor and
   under a power. `masks` has the masks that hold around x. */
static void edf_slide__bind_expr(edf_slide__statement *l, edf_slide__expr *x, unsigned bound,
                                 unsigned summed, int inner, unsigned masks) {
  const edf__scan *s = l->m.e.scan;
  int over = x->sort == EDF_SLIDE__AN_OVER, product = x->sort == EDF_SLIDE__A_PRODUCT;
  if (x->sort == EDF_SLIDE__A_SUM) edf_slide__check_sum(l, x);
  int reduces = edf_slide__reduces(x) || (product && x->in);
  unsigned said = x->over;
  const char *again = edf_slide__first_of(&l->m.e, reduces ? said & bound : 0);
  const char *lost = edf_slide__first_of(&l->m.e, over && !reduces ? said & ~bound : 0);
  if (again)
    edf__syntax(s, x->at, "%s is already used on the left or by an outer sum: rename one",
                again);
  if (lost)
    edf__syntax(s, x->at, "%s_%s gives a value for each %s: put %s on the left",
                edf_slide__functions[x->which].name, lost, lost, lost);
  if (x->sort == EDF_SLIDE__A_TENSOR) {
    edf_slide__check_bound(l, x, edf_slide__expr_has(l, x) & ~bound);
    x->over = (summed | summed >> EDF_MAX_INDEX) & 0xFFFF;
  }
  if (over || product) bound |= said;
  if (product) {
    int is_term = !inner;
    if (said && inner) inner = 2;
    edf_slide__bind_product(l, x, bound, summed, inner);
    bound |= x->over;
    summed |= (x->over & ~said) | said << EDF_MAX_INDEX;
    if (x->in) x->in->alone = !x->in->next;
    masks |= edf_slide__apply_bounds(l, x, bound, 0);
    if (is_term) masks |= edf_slide__apply_bounds(l, x, bound, 1);
  } else if (over) {
    masks |= edf_slide__apply_bounds(l, x, bound, 0);
    inner = 2;
  } else if (x->sort == EDF_SLIDE__A_CALL || x->sort == EDF_SLIDE__A_TEST ||
             x->sort == EDF_SLIDE__A_POWER) inner = 2;
  else if (!inner) inner = 1;
  for (int m = 0; m < l->n_mask && over && !reduces; m++)      /* softmax reads all entries   */
    if (l->mask[m].where && l->mask[m].has & said) masks &= ~(1u << m);
  x->masks = masks;
  unsigned where = 0;                    /* the condition of where(...), and its opposite     */
  for (edf_slide__expr *k = x->in; k; k = k->next) {
    unsigned its = edf_slide__is_mask_test(l, k) ? 0 : masks;
    for (int m = 0; m < l->n_mask && k->sort == EDF_SLIDE__A_POWER && k->which == 2; m++)
      if (l->mask[m].has & x->over) its &= ~(1u << m);         /* The count has its own mask. */
    edf_slide__bind_expr(l, k, bound, summed, inner, its | where);
    if (x->sort != EDF_SLIDE__A_CALL || x->which != EDF_SLIDE__WHERE_OF) continue;
    edf_slide__mask m = edf_slide__mask_of(l, x->in);
    m.general = m.used = 1;
    m.where = where ? 2 : 1;
    where = k->next ? edf_slide__add_mask(l, m) : 0;
  }
}

/* Returns 1 if x has only numbers and sizes. */
static int edf_slide__is_number(const edf_slide__expr *x) {
  int is = x->sort == EDF_SLIDE__A_NUMBER || x->sort == EDF_SLIDE__A_SUM ||
           x->sort == EDF_SLIDE__A_PRODUCT || x->sort == EDF_SLIDE__A_POWER ||
           (x->sort == EDF_SLIDE__A_NAME && x->number > 0) ||
           (x->sort == EDF_SLIDE__A_CALL && edf_slide__functions[x->which].number);
  for (const edf_slide__expr *k = x->in; k && is; k = k->next) is = edf_slide__is_number(k);
  return is;
}
/* Moves the factor 1/B of (1/B) sum_b x into the sum, which makes the mean one equation. */
static void edf_slide__find_means(edf_slide__expr *x) {
  edf_slide__expr *sum = NULL;
  for (edf_slide__expr *k = x->in; k; k = k->next) edf_slide__find_means(k);
  for (edf_slide__expr *k = x->in; k && x->sort == EDF_SLIDE__A_PRODUCT; k = k->next)
    if (k->sort == EDF_SLIDE__A_SUM && !k->in->next && k->in->over) sum = k;
  for (edf_slide__expr **at = &x->in, *d; sum && (d = *at) != NULL;) {
    if (d == sum || !edf_slide__is_number(d)) { at = &d->next; continue; }
    *at = d->next;
    d->next = NULL;
    edf_slide__append_expr(sum->in->in, d);
  }
}

/* Stops unless the `for` of a line names the indices of the line, and no others. Those that a
   word reduces, as sum_K does, need not be named. */
static void edf_slide__check_loops(const edf_slide__statement *l) {
  unsigned used = 0, needed = l->left;
  for (int f = 0; f < l->m.e.n_ref; f++) used |= edf_slide__expr_has(l, l->tensor[f]);
  for (const edf_slide__expr *x = l->right; x; x = x->next) needed |= edf_slide__expr_has(l, x);
  const char *none = edf_slide__first_of(&l->m.e, l->loops & ~used);
  const char *not_named = edf_slide__first_of(&l->m.e, l->loops ? needed & ~l->loops : 0);
  if (none) edf__syntax(l->m.e.scan, none, "%s is not an index of this line", none);
  if (not_named)
    edf__syntax(l->m.e.scan, not_named, "the for names all indices, but not %s", not_named);
}

/* Adds the indices of the tensors in x to *once, and those that two tensors have to *twice.
   Indices that a function names, as sum_i does, count as if two tensors had them. */
static void edf_slide__count_indices(const edf_slide__statement *l, const edf_slide__expr *x,
                                     unsigned *once, unsigned *twice) {
  int names = x->sort == EDF_SLIDE__A_SUM || x->sort == EDF_SLIDE__AN_OVER;
  unsigned has = x->sort == EDF_SLIDE__A_TENSOR ? edf_slide__ref_has(&l->m.e.ref[x->which]) : 0;
  *twice |= (*once & has) | (names ? x->over : 0);
  *once |= has;
  for (const edf_slide__expr *k = x->in; k; k = k->next)
    edf_slide__count_indices(l, k, once, twice);
}

/* Finds what each name of a line means, and where each index is summed. */
static void edf_slide__bind_line(edf_slide__statement *l) {
  for (edf_slide__expr *x = l->right; x; x = x->next) {
    edf_slide__resolve(l, x);
    edf_slide__find_means(x);
  }
  for (edf_slide__mask *m = l->mask; m < l->mask + l->n_mask; m++) {
    edf_slide__resolve(l, m->test);      /* as in s<floor(t/2)                                */
    m->has = edf_slide__expr_has(l, m->test);
  }
  for (const edf_ref *r = l->m.e.ref + 1; r < l->m.e.ref + l->m.e.n_ref; r++) {
    const edf_node *x = edf_slide__known(l->slide, r->name);
    if (x && !edf_slide__line_of(l->slide, r->name)) edf_slide__check_rank(&l->m.e, r, x);
  }
  edf_slide__check_loops(l);
  unsigned bound = l->left;              /* with +=, also lower-case indices on the right     */
  for (edf_slide__expr *x = l->adds ? l->right : NULL; x; x = x->next)
    bound |= edf_slide__expr_has(l, x) & edf_slide__small_letters(l);
  for (edf_slide__expr *x = l->right; x; x = x->next) {
    edf_slide__check_sum(l, x);
    for (edf_slide__expr *p = x->in; p; p = p->next) {
      edf_slide__bind_expr(l, p, bound, 0, 0, 0);
      unsigned once = 0, twice = 0;
      edf_slide__check_cases(&l->m.e, p->at, l->left & ~edf_slide__expr_has(l, p),
                             p->over & ~edf_slide__extents_in(p));
      edf_slide__count_indices(l, p, &once, &twice);
      edf_slide__check_single(&l->m.e, p->at, once & ~twice & ~l->left);
      p->number *= l->sign;
    }
  }
  for (const edf_slide__mask *m = l->mask; m < l->mask + l->n_mask; m++)
    if (!m->used) edf__syntax(l->m.e.scan, m->test->at, "the mask has no effect");
}

/* ==== >>sizes  Sizes of a line, and new Parameters ======================================== */
/* ---- Sizes of a line. Finds the sizes that an Einsum of the known tensors would find. */
static void edf_slide__solve_extents(edf_slide__statement *l) {
  edf_node x[EDF_SLIDE__MAX_REF], *in[EDF_SLIDE__MAX_REF];
  for (int f = 1; f < l->m.e.n_ref; f++) {
    l->m.e.ref[f].operand = l->of[f] ? f : -1;
    if (!l->of[f]) continue;
    edf_slide__check_rank(&l->m.e, &l->m.e.ref[f], l->of[f]);
    in[f] = &x[f];
    x[f] = *l->of[f];                    /* The batch counts as unknown, since it can change. */
    for (int d = 0; d < x[f].rank; d++) if (x[f].batched >> d & 1) x[f].dim[d] = 0;
  }
  edf_slide__find_extents(&l->m, in);
}

/* Makes a group (i,j) the position J*i + j, of I*J entries. The last index runs fastest. */
static void edf_slide__set_group(const edf_slide__statement *l, int f,
                                 const edf_slide__expr *group) {
  edf_place *p = &l->m.e.ref[f].place[group->place];
  const edf_node *t = l->of[f];
  ptrdiff_t n = 1;
  memset(p->factor, 0, sizeof p->factor);
  for (const edf_slide__expr *i = group->in; i; i = i->next) {
    ptrdiff_t extent = l->m.extent[i->which];
    if (extent == 0)
      edf__syntax(l->m.e.scan, i->at, "%s is the batch, which cannot be in a group", i->at);
    if (extent < 0)
      edf__syntax(l->m.e.scan, i->at, "an index of a group needs a known size: add '| %s<n'",
                  i->at);
    if (n > 1000000000 / extent)
      edf__syntax(l->m.e.scan, i->at, "the group is too long");
    for (int k = 0; k < l->m.e.n_index; k++) p->factor[k] *= (int)extent;
    p->factor[i->which]++;
    n *= extent;
  }
  if (!t || t->dim[group->place] == n) return;
  edf__syntax(l->m.e.scan, group->at, "the group has %d entries, the dimension %d\n  %s",
              (int)n, t->dim[group->place], edf__show(t));
}
static void edf_slide__set_groups(edf_slide__statement *l) {
  for (int f = 0; f < l->m.e.n_ref; f++)
    for (const edf_slide__expr *k = l->tensor[f]->in; k; k = k->next)
      if (k->sort == EDF_SLIDE__A_GROUP) edf_slide__set_group(l, f, k);
}

/* ---- New Parameters. Returns the class bound of a lookup: 27 for | w<27. */
static int edf_slide__classes_of(const edf_slide__statement *l, const edf_slide__expr *value) {
  const edf_equation *e = &l->m.e;
  int c = 0;
  const edf_slide__expr *p = value->sort == EDF_SLIDE__A_SUM ? value->in : NULL;
  while (p && (!p->in || p->in->sort == EDF_SLIDE__A_NAME)) p = p->next;
  if (p) value = p->in;                  /* the first lookup of a sum                         */
  while (c < e->n_index && (!e->index[c].bound || strcmp(e->index[c].name, value->at))) c++;
  if (c == e->n_index)
    edf__syntax(l->m.e.scan, value->at,
                l->adds && value == l->where->in
                ? "unknown size of %s: add '| %s<n'" : "%s: how many classes? Add '| %s<27'",
                l->adds && value == l->where->in ? l->m.e.ref->name : value->at, value->at);
  return e->index[c].bound;
}

/* Returns the lookup at dimension d of tensor f, or NULL. */
static const edf_slide__expr *edf_slide__lookup_at(const edf_slide__statement *l, int f,
                                                   int d) {
  const edf_slide__expr *value = l->tensor[f]->in;
  while (value && value->place != d) value = value->next;
  return value && value->sort != EDF_SLIDE__A_GROUP ? value : NULL;
}
/* Returns the size of dimension d that tensor f of the line needs if it is a new Parameter. */
static int edf_slide__new_extent(const edf_slide__statement *l, int f, int d) {
  const edf_ref *r = &l->m.e.ref[f];
  const edf_place *p = &r->place[d];
  const edf_slide__expr *value = edf_slide__lookup_at(l, f, d);
  ptrdiff_t least, greatest;
  if (value) {
    if (edf_slide__function_named(r->name, "x") >= 0)
      edf__syntax(l->m.e.scan, r->name, "%s[...] is a tensor: use round brackets for a "
                  "function", r->name);
    return edf_slide__classes_of(l, value);
  }
  for (int i = 0; i < l->m.e.n_index; i++) {
    const char *c = l->m.e.index[i].name;
    if (p->factor[i] && l->m.extent[i] < 0)
      edf__syntax(l->m.e.scan, p->at, "%s is a new Parameter, and nothing gives the size of "
                  "%s: add '| %s<64' at the end of the line%s", r->name, c, c,
                  edf_slide__is_capital(c)
                      ? ", or write an index that another tensor has" : "");
  }
  edf_slide__reach(&l->m, p, &least, &greatest);
  if (greatest < 0 || greatest >= 1000000000)
    edf__syntax(l->m.e.scan, p->at, "%s is new, and this position reads entries %ld to %ld",
                r->name, (long)least, (long)greatest);
  return (int)greatest + 1;
}

/* Stops if the names of a new tensor r and of a tensor of equal rank differ only in case. */
static void edf_slide__compare_new(const edf__scan *s, const edf_ref *r, const char *name,
                                   int rank) {
  if (rank == r->rank && !edf_slide__compare_names(name, r->name))
    edf__syntax(s, r->name, "%s is not defined. Did you mean %s? If it is new, declare it: "
                "parameter %s[...]", r->name, name, r->name);
}
/* Returns 1 if `word` is `name` with one letter that is wrong, missing or extra. */
static int edf_slide__misspells(const char *word, const char *name) {
  size_t n = strlen(word), m = strlen(name), same = 0;
  while (word[same] && word[same] == name[same]) same++;
  const char *x = word + same, *y = name + same;
  if (n <= 2) return 0;
  return n >= m ? *x && !strcmp(x + 1, y + (n == m)) : n + 1 == m && !strcmp(x, y + 1);
}
/* Returns the name that `word` misspells, or NULL. */
static const char *edf_slide__meant(const edf_slide__slide *all, const char *word) {
  const char *meant = NULL;
  for (int i = edf__n_nodes() - 1; i >= 0; i--)
    if (!edf_slide__is_inner(edf__nth(i)) && edf_slide__misspells(word, edf__nth(i)->name))
      meant = edf__nth(i)->name;
  for (const edf_slide__statement *o = all->line; o < all->line + all->n; o++)
    if (edf_slide__misspells(word, o->m.e.ref->name)) meant = o->m.e.ref->name;
  return meant;
}
/* Stops if the name of new tensor x is an index, a function over an index, or close to another
   tensor, or if it has the batch index. */
static void edf_slide__check_new(const edf_slide__statement *l, int x) {
  const edf__scan *s = l->m.e.scan;
  const edf_ref *r = &l->m.e.ref[x];
  edf_slide__slide *all = l->slide;
  int f = edf_slide__function_named(r->name, "_");
  for (int i = 0; i < l->m.e.n_index; i++)
    if (!strcmp(l->m.e.index[i].name, r->name))
      edf__syntax(s, r->name, "%s is an index here, and not a tensor", r->name);
  edf_slide__check_word(s, r->name);
  if (f >= 0)
    edf__syntax(s, r->name, "%s is not defined. The function %s takes round brackets, or a "
                "blank before its argument", r->name, edf_slide__functions[f].name);
  edf_slide__enter_new(all);
  size_t k = edf_slide__hash(r->name) & (all->room - 1);
  for (; all->room && all->named[k].x; k = (k + 1) & (all->room - 1))
    if (!edf_slide__line_of(all, all->named[k].name))      /* It is no step of a line.        */
      edf_slide__compare_new(s, r, all->named[k].name, all->named[k].x->rank);
  for (k = edf_slide__hash(r->name) & (all->n_table - 1); all->table[k];
       k = (k + 1) & (all->n_table - 1))
    edf_slide__compare_new(s, r, all->table[k]->m.e.ref->name, all->table[k]->m.e.ref->rank);
  for (int d = 0; d < r->rank; d++)
    for (int i = 0; i < l->m.e.n_index && !edf_slide__lookup_at(l, x, d); i++) {
      const char *c = l->m.e.index[i].name;
      int batch = l->m.extent[i] == 0 || (l->m.extent[i] < 0 && !strcmp(c, edf.batch_name));
      if (!batch || !r->place[d].factor[i]) continue;
      const char *meant = edf_slide__meant(all, r->name);
      edf__syntax(s, r->place[d].at, "%s cannot have the batch index %s: it is a new "
                  "Parameter, because nothing defines it%s%s%s", r->name, c,
                  meant ? ". Did you mean " : "", meant ? meant : "", meant ? "?" : "");
    }
}

static edf_node *edf_slide__parameter(const edf__site *at, const char *name, int rank,
                                      const int *dim) {
  edf_node *p = edf__new_node(EDF_PARAMETER, "Parameter", at->file, at->line, 0);
  size_t n = strlen(name) + 1;
  p->name = (const char *)memcpy(edf_keep(NULL, n), name, n);
  p->rank = rank;
  memcpy(p->dim, dim, (size_t)rank * sizeof *dim);
  edf__infer(p);
  return edf__append_leaf(p);
}

/* Sets the Parameter of tensor f. It is uniform if it is summed or a lookup table, 0 if it is
   alone in its term, and else 1. */
static void edf_slide__set_parameter(edf_slide__statement *l, int f) {
  const edf_slide__expr *x = l->tensor[f];
  edf_node *p = l->of[f];
  int by_value = x->in && x->in->sort != EDF_SLIDE__A_GROUP;
  unsigned sums = edf_slide__ref_has(&l->m.e.ref[f]) & (by_value ? ~0u : x->over);
  double n = 1;                          /* entries in one sum, or in a row of a lookup table */
  for (int i = 0; i < l->m.e.n_index; i++)
    if (sums >> i & 1) n *= (double)l->m.extent[i];
  if (by_value || sums) edf_slide__init_for(p, n);
  else edf_slide__set(p, x->alone ? 0 : 1);
  edf_push(p);
}
/* Sets the Parameter of tensor f if the text has declared it, and this is its first use. */
static void edf_slide__set_declared(edf_slide__statement *l, int f) {
  const edf_node *p = l->of[f];
  int k = p->position - l->slide->first_declared;
  if (p->kind != EDF_PARAMETER || k < 0 || k >= l->slide->n_declared) return;
  if (!l->slide->is_set[k]++) edf_slide__set_parameter(l, f);
}
/* Creates the Parameter for tensor f. It is large enough for all its uses in the line. */
static void edf_slide__new_parameter(edf_slide__statement *l, int f) {
  const edf_ref *r = &l->m.e.ref[f];
  int dim[EDF_MAX_RANK] = { 0 };
  for (int g = f; g < l->m.e.n_ref; g++)
    for (int d = 0; d < r->rank && !strcmp(l->m.e.ref[g].name, r->name); d++) {
      int here = d < l->m.e.ref[g].rank ? edf_slide__new_extent(l, g, d) : 0;
      if (here > dim[d]) dim[d] = here;
    }
  l->of[f] = edf_slide__parameter(&l->slide->site, r->name, r->rank, dim);
  edf_slide__set_parameter(l, f);
}
/* Creates the new Parameters of a line. All names are checked before the first size. */
static void edf_slide__new_parameters(edf_slide__statement *l) {
  for (int f = 1; f < l->m.e.n_ref && !l->slide->in; f++) {
    const char *name = l->m.e.ref[f].name;
    if (l->of[f] || edf_slide__line_of(l->slide, name)) continue;
    if (!edf_slide__known(l->slide, name)) edf_slide__check_new(l, f);
  }
  for (int f = 1; f < l->m.e.n_ref && !l->slide->in; f++) {
    const edf_ref *r = &l->m.e.ref[f];
    if (l->of[f]) edf_slide__set_declared(l, f);
    if (l->of[f] || edf_slide__line_of(l->slide, r->name)) continue;
    l->of[f] = edf_slide__known(l->slide, r->name);  /* created by an earlier use             */
    if (!l->of[f]) edf_slide__new_parameter(l, f);
    edf_slide__check_rank(&l->m.e, r, l->of[f]);
  }
}

/* ==== >>equal  Nodes that compute the same =============================================== */
/* ---- No two nodes of a text compute the same: a node that is equal to an older one is not
   added. Two equations are equal if they differ only in the names of their indices, in the
   order of terms, and in the order of two factors. A match compares equation a of x with
   equation b of y. Index i of a is index of[i] - 1 of b, and 0 is not known yet. */
typedef struct {
  const edf_node *x, *y;
  const edf_equation *a, *b;
  int of[EDF_MAX_INDEX], is[EDF_MAX_INDEX];          /* is: the same from b to a              */
} edf_slide__match;

static int edf_slide__same_index(edf_slide__match *m, int i, int k) {
  if (!m->of[i] && !m->is[k] && m->a->index[i].bound == m->b->index[k].bound) {
    m->of[i] = k + 1;
    m->is[k] = i + 1;
  }
  return m->of[i] == k + 1;
}
static int edf_slide__same_place(edf_slide__match *m, const edf_place *p, const edf_place *q) {
  unsigned used = 0;
  int same = p->constant == q->constant && !p->by == !q->by;
  for (int i = 0; i < m->a->n_index && same; i++) {
    int k = 0, n = m->b->n_index;
    if (!p->factor[i]) continue;
    while (k < n && (used >> k & 1 || p->factor[i] != q->factor[k] ||
                     !edf_slide__same_index(m, i, k))) k++;
    same = k < n;
    used |= same ? 1u << k : 0;
  }
  return same && used == edf_slide__place_has(q);
}
static int edf_slide__same_ref(edf_slide__match *m, int f, int g) {
  const edf_ref *r = &m->a->ref[f], *s = &m->b->ref[g];
  int same = r->rank == s->rank && (r->operand < 0) == (s->operand < 0) &&
             (r->operand < 0 || m->x->in[r->operand] == m->y->in[s->operand]);
  for (int d = 0; d < r->rank && same; d++)
    same = edf_slide__same_place(m, &r->place[d], &s->place[d]) &&
           (!r->place[d].by || edf_slide__same_ref(m, r->place[d].by, s->place[d].by));
  return same;
}
/* Returns 1 if m is the mean over its summed indices C and D: of kind 'm', as in a variance, or
   with the coefficient 1/(C D), which mean_{c,d} has. Its steps are 1 C D * / then. */
static int edf_slide__is_mean(const edf_contraction *m) {
  const edf_term *t = m->e.term;
  unsigned summed = edf_slide__term_has(&m->e, t) & ~edf_slide__ref_has(m->e.ref), by = 0;
  int n = t->n_step, depth = 0, is = m->e.n_term == 1 && !m->kind && n > 2 &&
                                     t->step->op == '#' && t->step->number == 1;
  if (m->kind == 'm') return m->e.n_term == 1 && !n;
  for (int k = 1; k < n && is; k++) {
    unsigned index = 0;
    for (int i = 0; i < m->e.n_index && t->step[k].op == 's'; i++)
      if (m->e.index[i].name == t->step[k].name) index = 1u << i;
    depth += index ? 1 : -1;             /* the number of sizes that are not multiplied yet   */
    if (index) is = !(by & index);
    else if (k < n - 1) is = t->step[k].op == '*' && depth > 0;
    else is = t->step[k].op == '/' && !depth;
    by |= index;
  }
  return is && by == summed;
}
/* Returns 1 if the masks of two terms are equal. */
static int edf_slide__same_masks(const edf_slide__match *m, unsigned a, unsigned b) {
  int same = 1;
  for (int i = 0; i < m->a->n_mask && same; i++) {
    const edf_mask *p = &m->a->mask[i];
    int k = 0, n = m->b->n_mask, low = p->low < 0 ? -1 : m->of[p->low] - 1,
        high = p->high < 0 ? -1 : m->of[p->high] - 1;
    if (!(a >> i & 1)) continue;
    while (k < n && !(b >> k & 1 && m->b->mask[k].constant == p->constant &&
                      m->b->mask[k].low == low && m->b->mask[k].high == high)) k++;
    same = k < n && (low < 0) == (p->low < 0) && (high < 0) == (p->high < 0);
    b &= ~(same ? 1u << k : 0);
  }
  return same && !b;
}
static int edf_slide__same_term(edf_slide__match *m, const edf_term *a, const edf_term *b,
                                int means) {
  int same = a->number == b->number && a->n == b->n &&
             (means || a->n_step == b->n_step);
  for (int k = 0; k < a->n_step && same && !means; k++) {
    const edf_size_step *s = &a->step[k], *t = &b->step[k];
    same = s->op == t->op && s->number == t->number && s->f == t->f && s->of == t->of &&
           s->dim == t->dim;
  }
  for (int turn = 0; turn < a->n && same; turn++) {            /* W x, then x W               */
    edf_slide__match saved = *m;
    int found = 1;
    for (int f = 0; f < a->n && found; f++)
      found = edf_slide__same_ref(m, a->first + f, b->first + (f + turn) % a->n);
    if (found && edf_slide__same_masks(m, a->masks, b->masks)) return 1;
    *m = saved;
  }
  return same && !a->n && !a->masks && !b->masks;
}
/* Returns 1 if the equations that x and y run are equal. */
static int edf_slide__same_equation(const edf_node *x, const edf_node *y) {
  const edf_contraction *p = edf_slide__einsum_of(x), *q = edf_slide__einsum_of(y);
  edf_slide__match m;
  memset(&m, 0, sizeof m);
  m.x = x;
  m.y = y;
  m.a = &p->e;
  m.b = &q->e;
  unsigned used = 0;
  int means = edf_slide__is_mean(p) && edf_slide__is_mean(q);
  int same = (means || p->kind == q->kind) && p->runs == q->runs && p->outside == q->outside &&
             !memcmp(p->padded, q->padded, sizeof p->padded) && p->e.n_term == q->e.n_term &&
             edf_slide__same_ref(&m, 0, 0);
  const edf_slide__match left = m;
  for (int t = 0; t < p->e.n_term && same; t++) {
    int k = 0, n = q->e.n_term;
    m = left;                            /* Each term has its own summed indices.             */
    while (k < n && (used >> k & 1 ||
                     !edf_slide__same_term(&m, &p->e.term[t], &q->e.term[k], means))) k++;
    same = k < n && k < 32;
    used |= same ? 1u << k : 0;
  }
  return same;
}
/* Returns 1 if x and y compute the same. Two dropouts do not. */
static int edf_slide__are_equal(const edf_node *x, const edf_node *y) {
  const edf_slide__facts *a = edf_slide__note_of(x), *b = edf_slide__note_of(y);
  if (x->about != y->about || x->n_in != y->n_in || x->about == &edf_dropout_op ||
      (y->rank && x->rank != y->rank) || a->row_dims != b->row_dims ||
      a->causal != b->causal || !a->equation != !b->equation)
    return 0;
  if (a->equation) return edf_slide__same_equation(x, y);
  return !memcmp(x->in, y->in, (size_t)x->n_in * sizeof *x->in) &&
         (!y->state || !memcmp(x->state, y->state, edf__header(y->state)->bytes));
}

/* Returns a number that is the same for equal nodes: of the op, the operands, the coefficients
   and the places, in any order. */
static size_t edf_slide__hash_of(const edf_node *y) {
  const edf_contraction *m = edf_slide__einsum_of(y);
  uint64_t hash = (uintptr_t)y->about >> 4, bits;
  for (int k = 0; k < y->n_in; k++) hash += (uintptr_t)y->in[k] >> 4;
  for (int t = 0; m && t < m->e.n_term; t++) {
    memcpy(&bits, &m->e.term[t].number, sizeof bits);
    hash += bits * 31 + (bits >> 23);
  }
  for (int f = 0; m && f < m->e.n_ref; f++)
    for (int d = 0; d < m->e.ref[f].rank; d++)
      hash += (uint64_t)m->e.ref[f].place[d].constant * 2654435761u;
  return (size_t)((hash * 11400714819323198485u) >> 24);
}
/* Returns where a node that is equal to y is in the table of the text, or will be. */
static edf_node **edf_slide__equal_place(const edf_slide__slide *all, const edf_node *y) {
  size_t k = edf_slide__hash_of(y) & (all->built_room - 1);
  while (all->built[k] && !edf_slide__are_equal(all->built[k], y))
    k = (k + 1) & (all->built_room - 1);
  return &all->built[k];
}
/* The text that is being built, or NULL. */
static edf_slide__slide *edf_slide__building;
/* Returns the node of this text that is equal to y, or enters y and returns NULL. A product
   that no line had written so far takes the line of y. */
static edf_node *edf_slide__find_equal(edf_node *y) {
  edf_slide__slide *all = edf_slide__building;
  if (2 * all->n_built >= all->built_room) {         /* It is half full.                      */
    edf_node **was = all->built;
    size_t room = all->built_room;
    all->built_room = room ? 2 * room : 64;
    all->built = (edf_node **)edf_slide__tree(all->built_room * sizeof *all->built);
    for (size_t k = 0; k < room; k++)
      if (was[k]) *edf_slide__equal_place(all, was[k]) = was[k];
  }
  edf_node **at = edf_slide__equal_place(all, y), *x = *at;
  if (!x) {
    *at = y;
    all->n_built++;
    return NULL;
  }
  edf_contraction *m = edf_slide__einsum_of(x);
  if (m && !m->written.n_ref && edf_slide__einsum_of(y)->written.n_ref) {
    edf_slide__run *run = m->run;
    *m = *edf_slide__einsum_of(y);
    m->run = run;
    memcpy(x->in, y->in, (size_t)y->n_in * sizeof *y->in);
    edf__infer_new(x);
  }
  return x;
}

/* ==== >>lower  A tree to nodes ============================================================ */
/* ---- Constants. Returns the value of x if x is a number now, as in 1/sqrt D, else NaN. */
static double edf_slide__number_now(const edf_slide__statement *l, const edf_slide__expr *x) {
  double n = x->sort == EDF_SLIDE__A_PRODUCT ? x->number : 0, none = (double)NAN;
  switch (x->sort) {
    case EDF_SLIDE__A_NUMBER: return x->number;
    case EDF_SLIDE__A_NAME:
      if (!(x->number > 0)) return l->fixed >> x->which & 1 ? l->at[x->which] : none;
      return l->m.extent[x->which] > 0 ? (double)l->m.extent[x->which] : none;
    case EDF_SLIDE__A_POWER:
      return pow(edf_slide__number_now(l, x->in), edf_slide__number_now(l, x->in->next));
    case EDF_SLIDE__A_CALL:
      if (!edf_slide__functions[x->which].number) return none;
      return edf_slide__functions[x->which].number(edf_slide__number_now(l, x->in));
    case EDF_SLIDE__A_SUM:
      for (x = x->in; x; x = x->next) n += edf_slide__number_now(l, x);
      return n;
    case EDF_SLIDE__A_PRODUCT: break;
    default: return none;
  }
  for (int i = 0; i < l->m.e.n_index; i++)
    if (x->over >> i & 1) n *= l->m.extent[i] > 0 ? (double)l->m.extent[i] : none;
  for (const edf_slide__expr *f = x->in; f; f = f->next) n *= edf_slide__number_now(l, f);
  return n;
}
/* Writes the value of x to *to. Returns 1 if x is a number now, else 0. */
static int edf_slide__constant(const edf_slide__statement *l, const edf_slide__expr *x,
                               double *to) {
  *to = edf_slide__number_now(l, x);
  return *to == *to;
}
/* ---- Building the nodes of an expression. A value is `number` times node[at], in the indices
   of the line. A value without a node is zero, as h[b,t-1,j] is before the first step. */
typedef struct edf_slide__value {
  edf_node *node;
  double number;
  edf_ref at;
} edf_slide__value;

static edf_slide__value edf_slide__value_of(edf_slide__statement *l, edf_slide__expr *x);
static edf_slide__value edf_slide__tensor_value(edf_slide__statement *l, edf_slide__expr *x);

/* Returns a value of `node` whose positions are the indices in `has`, one index a position. The
   batch comes first. */
static edf_slide__value edf_slide__new_value(const edf_slide__statement *l, edf_node *node,
                                             unsigned has) {
  edf_slide__value v = { node, 1, *l->m.e.ref };
  edf_ref *r = &v.at;
  memset(r->place, 0, sizeof r->place);
  r->rank = 0;
  for (int batch = 1; batch >= 0; batch--)
    for (int i = 0; i < l->m.e.n_index; i++) {
      if (!(has >> i & 1) || (l->m.extent[i] == 0) != batch) continue;
      if (r->rank == EDF_MAX_RANK)
        edf__syntax(l->m.e.scan, r->name, "more than %d indices", EDF_MAX_RANK);
      r->place[r->rank].at = r->name;
      r->place[r->rank++].factor[i] = 1;
    }
  return v;
}

/* Replaces each fixed index of a recurrence by its present number: t-1 becomes 4 if t is 5. */
static edf_ref edf_slide__ref_now(const edf_slide__statement *l, edf_ref r) {
  for (edf_place *p = r.place; p < r.place + r.rank; p++)
    for (int i = 0; i < l->m.e.n_index; i++) {
      if (!(l->fixed >> i & 1)) continue;
      p->constant += p->factor[i] * l->at[i];
      p->factor[i] = 0;
    }
  return r;
}

/* Returns 1 if v is all of its node, times 1. Each position must be another plain index, and
   the index must have the size of the dimension. */
static int edf_slide__is_plain(const edf_slide__statement *l, const edf_slide__value *v) {
  unsigned has = 0;
  for (int d = 0; d < v->at.rank; d++) {
    int i = edf_slide__alone(&l->m.e, &v->at.place[d]);
    if (i < 0 || has >> i & 1) return 0;
    if (l->m.extent[i] != (v->node->batched >> d & 1 ? 0 : v->node->dim[d])) return 0;
    has |= 1u << i;
  }
  return v->number == 1;
}
static int edf_slide__same_places(const edf_ref *a, const edf_ref *b) {
  int same = a->rank == b->rank;
  for (int d = 0; same && d < a->rank; d++)
    same = !memcmp(a->place[d].factor, b->place[d].factor, sizeof a->place->factor)
           && a->place[d].constant == b->place[d].constant;
  return same;
}

/* Returns the indices of r as a text, [b,t,j]. Any other position is written as i. A long name
   is cut, as prints cut it. */
static const char *edf_slide__letters_at(const edf_slide__statement *l, const edf_ref *r) {
  const char *text = r->rank ? "[" : "";
  for (int d = 0; d < r->rank; d++) {
    int i = edf_slide__alone(&l->m.e, &r->place[d]);
    text = edf__text("%s%.15s%s", text, i < 0 ? "i" : l->m.e.index[i].name,
                     d + 1 < r->rank ? "," : "]");
  }
  return edf_slide__copy(text);
}

/* Names the indices of a function's node as in its line: x has no names in  input x[b,784]. */
static edf_slide__value edf_slide__lettered(const edf_slide__statement *l, edf_slide__value v) {
  edf_node *y = v.node;
  if (y && y->kind == EDF_COMPNODE && y->rank && !edf_slide__has_equation(y)
      && edf_slide__is_plain(l, &v) && !edf_slide__note(y)->letters)
    edf_slide__note(y)->letters = edf_slide__letters_at(l, &v.at);
  return v;
}

/* Returns a node of the number n as a value. Prints show the number in its place. */
static edf_slide__value edf_slide__literal(const edf_slide__statement *l, double n) {
  const edf__site *at = &l->slide->site;
  edf_node *y = edf_slide__with_number(at, &edf_slide__number_op, NULL, n);
  return edf_slide__new_value(l, y, 0);
}
/* Returns the number n as a value: n times the number 1. */
static edf_slide__value edf_slide__number_value(const edf_slide__statement *l, double n) {
  edf_node **one = &l->slide->one;
  if (!*one) *one = edf_slide__with_number(&l->slide->site, &edf_slide__number_op, NULL, 1);
  edf_slide__value v = edf_slide__new_value(l, *one, 0);
  v.number = n;
  return v;
}

/* Returns a tensor of the program that depends on the batch, and which of its dimensions is the
   batch. */
static edf_node *edf_slide__batched(const edf_slide__statement *l, int *dim) {
  edf_node *t = NULL;
  for (int k = l->slide->n - 1; k >= 0 && !t; k--)
    for (int f = 1; f < l->slide->line[k].m.e.n_ref; f++) {
      edf_node *x = l->slide->line[k].of[f];
      if (x && x->batched) t = x;
    }
  for (*dim = 0; t && !(t->batched >> *dim & 1);) ++*dim;
  return t;
}
/* Returns the values 0, 1, 2 ... of index i. */
static edf_slide__value edf_slide__index_value(const edf_slide__statement *l, int i) {
  int dim = (int)l->m.extent[i];
  edf_node *t = dim ? NULL : edf_slide__batched(l, &dim);
  edf_slide__value v = edf_slide__new_value(l, NULL, 1u << i);
  v.node = edf_slide__with_number(&l->slide->site, &edf_slide__index_op, t, dim);
  edf_slide__note(v.node)->letters_of = -1;        /* Its index is not the first one of in[0] */
  return edf_slide__lettered(l, v);
}

/* ---- Steps. While a recurrence runs, h[b,t-1,j] is the node of step t-1, which has only the
   indices b and j. Returns the line that computes r step by step now, or NULL. */
static edf_slide__statement *edf_slide__running(const edf_slide__statement *l,
                                                const edf_ref *r) {
  edf_slide__statement *by = edf_slide__line_of(l->slide, r->name);
  return by && !by->y && by->step ? by : NULL;
}
/* Returns 1 if x reads a tensor of the recurrence that runs. */
static int edf_slide__reads_group(const edf_slide__statement *l, const edf_slide__expr *x) {
  int found = x->sort == EDF_SLIDE__A_TENSOR && edf_slide__running(l, &l->m.e.ref[x->which]);
  unsigned general = edf_slide__general(l, x->masks, ~0u);
  for (int m = 0; general >> m && !found; m++)
    if (general >> m & 1) found = edf_slide__reads_group(l, l->mask[m].test);
  for (const edf_slide__expr *k = x->in; k; k = k->next) found |= edf_slide__reads_group(l, k);
  return found;
}

/* Removes the positions of the first n loops of line `by` from r. */
static void edf_slide__drop_axes(edf_ref *r, const edf_slide__statement *by, int n) {
  for (int d = r->rank - 1; d >= 0; d--)
    for (int k = 0; k < n; k++)
      if (by->axis[k] == d)
        memmove(r->place + d, r->place + d + 1, (size_t)(--r->rank - d) * sizeof *r->place);
}
/* Returns the size of the tensor along loop k. The left side h[b,t+1,j] adds one to the
   size. */
static ptrdiff_t edf_slide__times_of(const edf_slide__statement *l, int k) {
  return l->m.extent[l->loop[k]] + l->m.e.ref->place[l->axis[k]].constant;
}
/* Returns where the node of a step is kept, or NULL. Steps -1 and T have room too. */
static edf_node **edf_slide__step_at(const edf_slide__statement *l, const int *time) {
  ptrdiff_t at = 0;
  for (int k = 0; k < l->n_loop; k++) {
    ptrdiff_t T = edf_slide__times_of(l, k);
    if (time[k] < -1 || time[k] > T) return NULL;
    at = at * (T + 2) + time[k] + 1;
  }
  return &l->step[at];
}

/* Returns the node of the step that r reads, or NULL. Removes the loops' positions from r. */
static edf_node *edf_slide__now(const edf_slide__statement *l, const edf_slide__statement *by,
                                edf_ref *r) {
  int time[EDF_SLIDE__LOOPS];
  if (r->rank != by->m.e.ref->rank)
    edf__syntax(l->m.e.scan, r->name, "expected %d indices, as on its left",
                by->m.e.ref->rank);
  for (int k = 0; k < by->n_loop; k++) {
    const edf_place *p = &r->place[by->axis[k]];
    time[k] = p->constant;
    if (edf_slide__place_has(p) || p->by)
      edf__syntax(l->m.e.scan, p->at, "%s is computed step by step here: expected one step of "
                  "it", r->name);
  }
  edf_slide__drop_axes(r, by, by->n_loop);
  edf_node **step = edf_slide__step_at(by, time);
  if (step) by->is_read[step - by->step] = 1;
  return step ? *step : NULL;
}

/* Returns 1 if a position of r is a lookup. */
static int edf_slide__by_value(const edf_ref *r) {
  int found = 0;
  for (int d = 0; d < r->rank; d++) found |= r->place[d].by;
  return found;
}

/* ---- Building one equation, which has the same indices as its line. */
typedef struct {
  edf_slide__statement *l;
  edf_contraction m;
  edf_node *in[EDF_SLIDE__MAX_REF];
  /* is_line is 1 for the left side of a line. any is 1 if any node may be returned. */
  int is_line, any;
  unsigned guards;                       /* the general masks that hold for the next factor   */
  int n_step;                            /* the steps of the coefficient of the next term     */
  edf_size_step step[EDF_SLIDE__SIZE_STEPS];
} edf_slide__making;

static void edf_slide__begin_equation(edf_slide__making *to, edf_slide__statement *l,
                                      const edf_ref *left) {
  edf_equation *e = &to->m.e;
  memset(to, 0, sizeof *to);
  to->l = l;
  e->scan = l->m.e.scan;
  e->n_index = l->m.e.n_index;
  *edf_slide__next_ref(e) = *left;
  e->ref->operand = -1;
  for (int i = 0; i < e->n_index; i++) {
    e->index[i].name = l->m.e.index[i].name;
    e->index[i].left = (int)(edf_slide__ref_has(left) >> i & 1);
  }
}

/* ---- Coefficients. Returns 1 if x has only numbers and sizes, and sets *sizes if it has a
   size: 1/sqrt D, 2/(B-1). In the present step of a recurrence a time index is a number. */
static int edf_slide__is_coefficient(const edf_slide__statement *l, const edf_slide__expr *x,
                                     int *sizes) {
  int size = x->sort == EDF_SLIDE__A_NAME && x->number > 0, is = 0;
  switch (x->sort) {
    case EDF_SLIDE__A_NUMBER: is = 1; break;
    case EDF_SLIDE__A_NAME:
      is = size ? l->m.extent[x->which] >= 0 : (int)(l->fixed >> x->which & 1);
      break;
    case EDF_SLIDE__A_CALL: is = edf_slide__functions[x->which].number != NULL; break;
    case EDF_SLIDE__A_PRODUCT: case EDF_SLIDE__A_SUM: case EDF_SLIDE__A_POWER: is = 1; break;
    default: break;
  }
  if (x->sort == EDF_SLIDE__A_PRODUCT && x->over)
    for (int i = 0; i < l->m.e.n_index; i++)
      if (x->over >> i & 1) { size = 1; is &= l->m.extent[i] >= 0; }
  *sizes |= size;
  for (const edf_slide__expr *k = x->in; k && is; k = k->next)
    is = edf_slide__is_coefficient(l, k, sizes);
  return is;
}
static edf_size_step *edf_slide__add_step(edf_slide__making *to, char op, double number) {
  edf_size_step step = { op, number, NULL, NULL, 0, NULL };
  if (to->n_step == EDF_SLIDE__SIZE_STEPS)
    edf__syntax(to->m.e.scan, to->m.e.ref->name, "a coefficient is too long");
  to->step[to->n_step] = step;
  return &to->step[to->n_step++];
}
static void edf_slide__add_size(edf_slide__making *to, int i) {
  edf_size_step *s = edf_slide__add_step(to, 's', (double)to->l->m.extent[i]);
  s->name = to->l->m.e.index[i].name;
  if (!to->l->m.extent[i]) s->of = edf_slide__batched(to->l, &s->dim);
}
/* Returns 1 if x is a single number, or so many that `most` parts do not suffice. */
static int edf_slide__is_literal(const edf_slide__expr *x, int *most) {
  int is = x->sort == EDF_SLIDE__A_NUMBER || x->sort == EDF_SLIDE__A_NAME ||
           ((x->sort == EDF_SLIDE__A_SUM || x->sort == EDF_SLIDE__A_PRODUCT) &&
            (!x->in || !x->in->next));
  --*most;
  for (const edf_slide__expr *k = x->in; k; k = k->next) is &= edf_slide__is_literal(k, most);
  return is || *most < 0;
}
/* Returns 1 if coefficient x becomes one number, and sets *number. Else x is kept as written:
   1/B, 1/3, sqrt(2). */
static int edf_slide__is_one_number(const edf_slide__statement *l, const edf_slide__expr *x,
                                    double *number) {
  int sizes = 0, most = 12;
  edf_slide__is_coefficient(l, x, &sizes);
  return !sizes && edf_slide__constant(l, x, number) && edf_slide__is_literal(x, &most);
}
/* Adds the steps of x, which is a coefficient. */
static void edf_slide__add_steps(edf_slide__making *to, const edf_slide__expr *x) {
  const edf_slide__statement *l = to->l;
  int n = 0;
  double number;
  if (edf_slide__is_one_number(l, x, &number)) {
    edf_slide__add_step(to, '#', number);
    return;
  }
  switch (x->sort) {
    case EDF_SLIDE__A_NAME: edf_slide__add_size(to, x->which); return;
    case EDF_SLIDE__A_CALL: {
      edf_slide__add_steps(to, x->in);
      edf_size_step *s = edf_slide__add_step(to, 'f', 0);
      s->name = edf_slide__functions[x->which].name;
      s->f = edf_slide__functions[x->which].number;
      return;
    }
    case EDF_SLIDE__A_POWER:
      if (x->which) edf_slide__add_step(to, '#', 1);
      edf_slide__add_steps(to, x->in);
      if (!x->which) edf_slide__add_steps(to, x->in->next);
      edf_slide__add_step(to, x->which ? '/' : '^', 0);
      return;
    case EDF_SLIDE__A_SUM:
      for (const edf_slide__expr *p = x->in; p; p = p->next) {
        edf_slide__add_steps(to, p);
        if (n++) edf_slide__add_step(to, '+', 0);
      }
      return;
    default: break;
  }
  if (x->number != 1 && ++n) edf_slide__add_step(to, '#', x->number);
  for (const edf_slide__expr *f = x->in; f; f = f->next) {
    int divides = n && f->sort == EDF_SLIDE__A_POWER && f->which;
    edf_slide__add_steps(to, divides ? f->in : f);
    if (n++) edf_slide__add_step(to, divides ? '/' : '*', 0);
  }
  for (int i = 0; i < l->m.e.n_index; i++) {
    if (!(x->over >> i & 1)) continue;
    edf_slide__add_size(to, i);
    if (n++) edf_slide__add_step(to, '*', 0);
  }
}
/* Multiplies the coefficient of the next term by x. A number multiplies *number. */
static void edf_slide__multiply(edf_slide__making *to, const edf_slide__expr *x,
                                double *number) {
  int before = to->n_step;
  double k;
  if (edf_slide__is_one_number(to->l, x, &k)) { *number *= k; return; }
  while (x->sort == EDF_SLIDE__A_SUM && !x->in->next && !x->in->over) {      /* (1/B)         */
    const edf_slide__expr *p = x->in;
    *number *= p->number;
    if (!p->in->next) { x = p->in; continue; }
    for (const edf_slide__expr *f = p->in; f; f = f->next) edf_slide__multiply(to, f, number);
    return;
  }
  int divides = before && x->sort == EDF_SLIDE__A_POWER && x->which;
  edf_slide__add_steps(to, divides ? x->in : x);
  if (before) edf_slide__add_step(to, divides ? '/' : '*', 0);
}

/* Adds factor v to a term, and multiplies *number. Returns 0 if v is zero. */
static int edf_slide__add_factor(edf_slide__making *to, const edf_slide__value *v,
                                 double *number) {
  edf_equation *e = &to->m.e;
  int k = 0;
  if (!v->node) return 0;
  if (e->n_ref == EDF_SLIDE__MAX_REF)
    edf__syntax(e->scan, v->at.name, "this line is too long");
  while (k < e->n_operand && to->in[k] != v->node) k++;
  if (k == e->n_operand) to->in[e->n_operand++] = v->node;
  edf_ref *r = edf_slide__next_ref(e);
  *r = v->at;
  r->operand = k;
  *number *= v->number;
  return 1;
}

/* Returns the factor d^2 of a sum over a number times d^2, or of a mean, else NULL. It needs no
   node for d^2, because the sum is over a product of two equal factors. */
static edf_slide__expr *edf_slide__squared(const edf_slide__making *to,
                                           const edf_slide__expr *x) {
  edf_slide__expr *square = NULL;
  double p;
  for (edf_slide__expr *f = x->over ? x->in : NULL; f; f = f->next) {
    int sizes = 0;
    if (edf_slide__is_coefficient(to->l, f, &sizes)) continue;
    if (square || f->sort != EDF_SLIDE__A_POWER || f->which) return NULL;
    square = f;
  }
  return square && edf_slide__constant(to->l, square->in->next, &p) && p == 2 ? square : NULL;
}
/* Returns how many factors of a product are no coefficients. A square counts as two. */
static int edf_slide__n_values(const edf_slide__making *to, const edf_slide__expr *x) {
  int n = 0, sizes = 0;
  for (const edf_slide__expr *f = x->in; f; f = f->next)
    if (!edf_slide__is_coefficient(to->l, f, &sizes))
      n += f->sort == EDF_SLIDE__A_POWER ? 2 : 1;
  return n;
}
static edf_slide__value edf_slide__guarded(edf_slide__statement *l, edf_slide__value v,
                                           unsigned masks, double fill);
/* Adds the factors of x to a term. Numbers multiply *number. Returns 0 if a factor is zero. */
static int edf_slide__add_factors(edf_slide__making *to, edf_slide__expr *x, double *number) {
  int there = 1, product = x->sort == EDF_SLIDE__A_PRODUCT, sizes = 0;
  if (edf_slide__is_coefficient(to->l, x, &sizes)) {
    edf_slide__multiply(to, x, number);
    return 1;
  }
  if (x->sort == EDF_SLIDE__A_SUM && !x->in->next && !x->in->over && !x->closed)
    return edf_slide__add_factors(to, x->in, number);
  unsigned guards = to->guards;
  if (product) *number *= x->number;
  if (product && edf_slide__n_values(to, x) > 1) to->guards |= x->masks;
  for (edf_slide__expr *f = x->in; product && f; f = f->next)  /* no node for 0 sigmoid(g)    */
    if (f->sort == EDF_SLIDE__A_TENSOR && !edf_slide__by_value(&to->l->m.e.ref[f->which])
        && !edf_slide__tensor_value(to->l, f).node) return 0;
  edf_slide__expr *square = product ? edf_slide__squared(to, x) : NULL;
  for (edf_slide__expr *f = x->in; product && f; f = f->next)
    if (f != square)
      there = there && edf_slide__add_factors(to, f, number);
  if (there && (!product || square)) {
    edf_slide__value v = edf_slide__value_of(to->l, square ? square->in : x);
    if (square || (x->sort != EDF_SLIDE__A_TEST && x->sort != EDF_SLIDE__A_NAME &&
                   x->sort != EDF_SLIDE__A_POWER))
      v = edf_slide__guarded(to->l, v, edf_slide__general(to->l, to->guards, ~0u), 0);
    if (square) there = edf_slide__add_factor(to, &v, number);
    there = there && edf_slide__add_factor(to, &v, number);
  }
  to->guards = guards;
  return there;
}

/* Multiplies by the size of each index that p sums and no factor has: sum_i 1 is I. */
static void edf_slide__add_counts(edf_slide__making *to, const edf_slide__expr *p, int first) {
  int sizes = 0;
  unsigned has = edf_slide__refs_have(&to->m.e, first, to->m.e.n_ref);
  if (p->sort != EDF_SLIDE__A_PRODUCT || edf_slide__is_coefficient(to->l, p, &sizes)) return;
  for (int i = 0; i < to->l->m.e.n_index; i++)
    if ((p->over & ~has) >> i & 1) {
      int before = to->n_step;
      edf_slide__add_size(to, i);
      if (before) edf_slide__add_step(to, '*', 0);
    }
}

/* Finds what mask m means for a tensor that has the indices in `has`. An index that has a
   number in the present step is this number. Any other index takes the value that excludes
   least. Returns 0 if the mask then excludes nothing, or is general. */
static int edf_slide__mask_for(const edf_slide__statement *l, const edf_slide__mask *m,
                               unsigned has, edf_mask *to) {
  int low = m->low, high = m->high;
  ptrdiff_t most = 0;                    /* the greatest value of low                         */
  edf_mask mask = { low, high, m->constant };
  if (m->general) return 0;
  if (low >= 0 && !(has & ~l->fixed & 1u << low)) {
    mask.low = -1;
    if (l->fixed >> low & 1) mask.constant += l->at[low];
  }
  if (high >= 0 && !(has & ~l->fixed & 1u << high)) {
    mask.high = -1;
    if (l->fixed >> high & 1) mask.constant -= l->at[high];
    else if (l->m.extent[high] <= 0) return 0;       /* a batch of any size                   */
    else mask.constant -= (int)l->m.extent[high] - 1;
  }
  if (mask.low >= 0) most = l->m.extent[low] - 1;
  *to = mask;
  return most < 0 || most + mask.constant > 0;
}

/* Finds what masks m and k mean together for a tensor without the index u between them: s<=u
   and u<=t keep s and t only if s<=t. With k = m, finds what mask m means alone. Returns 0 if
   they exclude nothing. */
static int edf_slide__masks_for(const edf_slide__statement *l, unsigned masks, int m, int k,
                                unsigned has, edf_mask *to) {
  int u = l->mask[m].high;
  edf_mask second;
  if (!(masks >> m & masks >> k & 1)) return 0;
  if (k == m) return edf_slide__mask_for(l, &l->mask[m], has, to);
  unsigned between = u < 0 ? 0 : 1u << u;
  if (u < 0 || u != l->mask[k].low || (has | l->fixed) & between ||
      !edf_slide__mask_for(l, &l->mask[m], has | between, to) ||
      !edf_slide__mask_for(l, &l->mask[k], has | between, &second)) return 0;
  to->high = second.high;
  to->constant += second.constant;
  return to->low >= 0 || to->high >= 0;
}

/* Gives the last term, whose tensors begin with number `first`, the masks that exclude some of
   its entries. Numbers and positions are never infinite, and need none. */
static void edf_slide__add_masks(edf_slide__making *to, int first, unsigned masks) {
  edf_equation *e = &to->m.e;
  unsigned has = edf_slide__refs_have(e, first, e->n_ref) | edf_slide__ref_has(e->ref);
  int tensors = 0;
  for (int f = first; f < e->n_ref; f++)
    tensors += to->in[e->ref[f].operand]->shape != edf_slide__count_shape;
  for (int m = 0; m < to->l->n_mask && tensors; m++)
    for (int with = 0; with < to->l->n_mask; with++) {
      edf_mask mask;
      size_t k = 0;
      if (!edf_slide__masks_for(to->l, masks, m, with, has, &mask)) continue;
      while (k < (size_t)e->n_mask && memcmp(&e->mask[k], &mask, sizeof mask)) k++;
      if (k == sizeof e->mask / sizeof mask)
        edf__syntax(e->scan, e->ref->name, "this line has too many masks");
      if (k == (size_t)e->n_mask) e->mask[e->n_mask++] = mask;
      e->term[e->n_term - 1].masks |= 1u << k;
    }
}

/* Takes the sizes of the coefficient from the term's own tensors, if they have the index. */
static void edf_slide__find_sizes(edf_slide__making *to, int first) {
  for (edf_size_step *s = to->step; s < to->step + to->n_step; s++)
    for (int f = first; s->of && f < to->m.e.n_ref; f++)
      for (int d = 0; d < to->m.e.ref[f].rank; d++) {
        edf_node *x = to->in[to->m.e.ref[f].operand];
        int i = edf_slide__alone(&to->m.e, &to->m.e.ref[f].place[d]);
        if (i < 0 || to->m.e.index[i].name != s->name || !(x->batched >> d & 1)) continue;
        s->of = x;
        s->dim = d;
      }
}

/* Adds one term: v, v w or p. Drops a term that is zero. A number alone is a term, too. */
static void edf_slide__add_term(edf_slide__making *to, const edf_slide__value *v,
                                const edf_slide__value *w, edf_slide__expr *p) {
  edf_equation *e = &to->m.e;
  const char *at = p ? p->at : e->ref->name;
  int before = e->n_operand, first = e->n_ref;
  double number = 1;
  to->n_step = 0;
  int there =
      p ? edf_slide__add_factors(to, p, &number) : edf_slide__add_factor(to, v, &number);
  if (w && there) there = edf_slide__add_factor(to, w, &number);
  if (p && there) edf_slide__add_counts(to, p, first);
  if (e->n_ref - first > EDF_MAX_FACTOR)
    edf__syntax(e->scan, at, "a product has at most %d factors", EDF_MAX_FACTOR);
  if (e->n_ref == first && e->n_term && number == 0) there = 0;      /* x - 0 is x            */
  if (!there) {                          /* the term is zero                                  */
    e->n_ref = first;
    e->n_operand = before;
    return;
  }
  edf_term *t = edf_slide__next_term(e);
  edf_slide__find_sizes(to, first);
  t->number = number;
  t->first = first;
  t->n = e->n_ref - first;
  t->at = at;
  if (to->n_step) {
    size_t bytes = (size_t)to->n_step * sizeof *to->step;
    t->step = (const edf_size_step *)memcpy(edf__alloc(&edf.computed, bytes), to->step, bytes);
    t->n_step = to->n_step;
  }
  edf_slide__add_masks(to, first, p ? p->masks : 0);
}

/* Adds the bounds that the equation needs. An index that may read outside needs one, if the
   line bounds it or is in a recurrence. So does an index whose size this equation does not
   give. */
static void edf_slide__add_bounds(edf_slide__making *to) {
  const edf_slide__statement *l = to->l;
  edf_equation *e = &to->m.e;
  unsigned has = edf_slide__refs_have(e, 0, e->n_ref);
  for (int sums = 1; sums >= 0; sums--)
    for (int i = 0; i < e->n_index; i++) {
      int bound = (int)l->m.extent[i], outside = 0;
      for (int f = 1; sums && f < e->n_ref; f++)
        for (int d = 0; d < e->ref[f].rank; d++) {
          const edf_place *p = &e->ref[f].place[d];
          int alone = edf_slide__alone(e, p) == i;
          outside |= alone ? to->in[e->ref[f].operand]->dim[d] != bound : p->factor[i] != 0;
        }
      if (bound <= 0 || !(has >> i & 1) || e->index[i].bound) continue;
      if (!sums) edf_slide__find_extents(&to->m, to->in);
      if (sums ? outside && (l->m.e.index[i].bound || l->to) : to->m.extent[i] != bound)
        e->index[i].bound = bound;
    }
}

/* Removes the indices that no tensor has. The others keep their order. */
static void edf_slide__keep_letters(edf_equation *e) {
  unsigned has = edf_slide__refs_have(e, 0, e->n_ref);
  int n = 0;
  for (int i = 0; i < e->n_index; i++) {
    if (!(has >> i & 1)) continue;
    e->index[n] = e->index[i];
    for (edf_mask *m = e->mask; m < e->mask + e->n_mask; m++) {
      if (m->low == i) m->low = n;
      if (m->high == i) m->high = n;
    }
    for (int f = 0; n < i && f < e->n_ref; f++)
      for (int d = 0; d < e->ref[f].rank; d++) {
        e->ref[f].place[d].factor[n] = e->ref[f].place[d].factor[i];
        e->ref[f].place[d].factor[i] = 0;
      }
    n++;
  }
  e->n_index = n;
}

/* Adds 0 times the batch index if the batch index is on the left, but no tensor has it.
   Otherwise the node would not know its batch size. */
static void edf_slide__add_batch(edf_slide__making *to) {
  edf_equation *e = &to->m.e;
  unsigned has = 0;
  for (int f = 1; f < e->n_ref; f++) has |= edf_slide__ref_has(&e->ref[f]);
  for (int i = 0; i < e->n_index; i++) {
    if (!e->index[i].left || has >> i & 1 || to->l->m.extent[i]) continue;
    edf_slide__value v = edf_slide__index_value(to->l, i);
    v.number = 0;
    edf_slide__add_term(to, &v, NULL, NULL);
  }
}

/* Returns the node of the equation, or NULL if no term is left. An equation that only copies a
   CompNode of this text returns that node. With `any`, it may be any node. */
static edf_node *edf_slide__end_equation(edf_slide__making *to, const edf_op *is, int kind) {
  edf_equation *e = &to->m.e;
  edf__site at = to->l->slide->site;
  if (!e->n_term) return NULL;
  edf_slide__add_batch(to);
  if (!e->n_operand) {                   /* An equation without a tensor gets the tensor 1.   */
    edf_slide__value one = edf_slide__number_value(to->l, 1);
    e->term->n = edf_slide__add_factor(to, &one, &e->term->number);
  }
  edf_slide__value v = { to->in[0], e->term->number, e->ref[1] };
  int plain = !is;                       /* 1 unless it is a lookup                           */
  if (kind == EDF_SLIDE__SUM && plain && e->n_ref == 2 && e->n_term == 1 && !e->term->n_step
      && edf_slide__is_plain(to->l, &v)
      && (to->any || (v.node->kind == EDF_COMPNODE && v.node->position >= to->l->slide->first))
      && edf_slide__same_places(&v.at, e->ref)) return v.node;
  edf_slide__add_bounds(to);
  edf_slide__keep_letters(e);
  if (!to->l->slide->layer)
    at.op = plain ? "Einsum" : kind == EDF_SLIDE__PUT ? "Scatter" : is->name;
  if (kind == EDF_SLIDE__MAX) is = &edf_slide__max_over_op;
  int before = edf.n_compnodes;
  edf_node *y = edf_slide__equation_node(&at, is, kind, e, e->n_operand, to->in);
  return to->is_line || edf.n_compnodes == before ? y : edf_slide__called(y, e->ref->name, "");
}

/* Builds left = a or left = a + b. With another kind, builds the maximum or the mean of a over
   the indices that `left` does not have. */
static edf_node *edf_slide__terms(edf_slide__statement *l, int kind, const edf_ref *left,
                                  const edf_slide__value *a, const edf_slide__value *b) {
  edf_slide__making to;
  edf_slide__begin_equation(&to, l, left);
  edf_slide__add_term(&to, a, NULL, NULL);
  if (b) edf_slide__add_term(&to, b, NULL, NULL);
  return edf_slide__end_equation(&to, NULL, kind);
}
/* Returns v as a node of its own that has exactly these indices. */
static edf_slide__value edf_slide__with_indices(edf_slide__statement *l,
                                                const edf_slide__value *v, unsigned has) {
  edf_slide__value y = edf_slide__new_value(l, NULL, has);
  y.node = edf_slide__terms(l, EDF_SLIDE__SUM, &y.at, v, NULL);
  return y;
}
/* Returns v if it is zero or plain, else a copy that is plain. */
static edf_slide__value edf_slide__dense(edf_slide__statement *l, edf_slide__value v) {
  if (!v.node || edf_slide__is_plain(l, &v)) return v;
  return edf_slide__with_indices(l, &v, edf_slide__ref_has(&v.at));
}

/* ---- Masks as nodes. Returns v as an operand of a node with the indices `has`. If the indices
   of v are the last ones of `has`, v repeats along the others. Any other value is copied. */
static edf_slide__value edf_slide__wide(edf_slide__statement *l, edf_slide__value v,
                                        unsigned has) {
  if (!v.node || v.node == l->slide->one) v = edf_slide__literal(l, v.node ? v.number : 0);
  v = edf_slide__dense(l, v);
  edf_slide__value all = edf_slide__new_value(l, NULL, has);
  const edf_place *tail = all.at.place + all.at.rank - v.at.rank;
  for (int d = 0; d < v.at.rank; d++)
    if (memcmp(v.at.place[d].factor, tail[d].factor, sizeof tail->factor))
      return edf_slide__with_indices(l, &v, has);
  return v;
}
/* Builds where(test, a, b). */
static edf_slide__value edf_slide__choose(edf_slide__statement *l, edf_slide__value test,
                                          edf_slide__value a, edf_slide__value b) {
  unsigned has = edf_slide__ref_has(&test.at) | edf_slide__ref_has(&a.at) |
                 edf_slide__ref_has(&b.at);
  const edf__site *at = &l->slide->site;
  edf_slide__value y = edf_slide__new_value(l, NULL, has);
  edf_node *in[3] = { edf_slide__wide(l, test, has).node, edf_slide__wide(l, a, has).node,
                      edf_slide__wide(l, b, has).node };
  y.node = edf_node_at(&edf_slide__where_op, at->file, at->line, 3, in, NULL, 0);
  return edf_slide__lettered(l, y);
}

/* Returns the test i[low] - i[high] + constant <= 0. */
static edf_slide__value edf_slide__mask_test(edf_slide__statement *l, const edf_mask *mask) {
  unsigned has = mask->low < 0 ? 0 : 1u << mask->low;
  if (mask->high >= 0) has |= 1u << mask->high;
  edf_slide__value y = edf_slide__new_value(l, NULL, has), part;
  edf_slide__making to;
  edf_slide__begin_equation(&to, l, &y.at);
  for (int high = 0; high < 2; high++) {
    int i = high ? mask->high : mask->low;
    if (i < 0) continue;
    part = edf_slide__index_value(l, i);
    part.number = high ? -1 : 1;
    edf_slide__add_term(&to, &part, NULL, NULL);
  }
  int below = mask->constant == 1, constant = below ? 0 : mask->constant;  /* s<t: s - t < 0  */
  part = edf_slide__number_value(l, constant);
  if (constant || !to.m.e.n_term) edf_slide__add_term(&to, &part, NULL, NULL);
  y.node = edf_slide__end_equation(&to, NULL, EDF_SLIDE__SUM);
  y.node = edf_slide__with_number(&l->slide->site, &edf_slide__test_op, y.node, below ? 1 : 3);
  edf_slide__note(y.node)->is_mask = 1;
  return edf_slide__lettered(l, y);
}
/* Returns v, and `fill` at the entries that general mask m excludes. */
static edf_slide__value edf_slide__only_where(edf_slide__statement *l, int m,
                                              edf_slide__value v, double fill) {
  edf_slide__value test = edf_slide__value_of(l, l->mask[m].test);
  edf_slide__value other = edf_slide__literal(l, fill);
  return l->mask[m].where > 1 ? edf_slide__choose(l, test, other, v)
                              : edf_slide__choose(l, test, v, other);
}
/* Returns v with the number `fill` at the entries that a mask excludes. So a function of v and
   its slope are finite there, whatever v is, and no gradient goes to v. */
static edf_slide__value edf_slide__guarded(edf_slide__statement *l, edf_slide__value v,
                                           unsigned masks, double fill) {
  unsigned general = edf_slide__general(l, masks, edf_slide__ref_has(&v.at));
  for (int m = 0; m < l->n_mask; m++)
    for (int k = 0; k < l->n_mask && v.node; k++) {
      edf_mask mask;
      if (k == m && general >> m & 1) v = edf_slide__only_where(l, m, v, fill);
      if (edf_slide__masks_for(l, masks, m, k, edf_slide__ref_has(&v.at), &mask))
        v = edf_slide__choose(l, edf_slide__mask_test(l, &mask), v,
                              edf_slide__literal(l, fill));
    }
  return v;
}
/* Returns the product of the tests of these masks, for an expression with the indices in `has`,
   or no node if they exclude nothing. */
static edf_slide__value edf_slide__masks_test(edf_slide__statement *l, unsigned masks,
                                              unsigned has) {
  edf_slide__value all = edf_slide__new_value(l, NULL, 0), one;
  for (int m = 0; m < l->n_mask; m++) {
    edf_mask mask;
    if (!(masks >> m & 1)) continue;
    if (l->mask[m].general) one = edf_slide__value_of(l, l->mask[m].test);
    else if (!edf_slide__mask_for(l, &l->mask[m], has | l->mask[m].has, &mask)) continue;
    else one = edf_slide__mask_test(l, &mask);
    edf_slide__value y = edf_slide__new_value(l, NULL, edf_slide__ref_has(&all.at) |
                                              edf_slide__ref_has(&one.at));
    edf_slide__making to;
    edf_slide__begin_equation(&to, l, &y.at);
    edf_slide__add_term(&to, &one, all.node ? &all : NULL, NULL);
    if (all.node) y.node = edf_slide__end_equation(&to, NULL, EDF_SLIDE__SUM);
    all = all.node ? y : one;
  }
  return all;
}

/* Returns v, and `fill` where a mask excludes: a number or minus infinity. The result has all
   indices in `has`, and those of the masks. */
static edf_slide__value edf_slide__filled(edf_slide__statement *l, edf_slide__value v,
                                          unsigned masks, unsigned has, double fill) {
  edf_slide__value test = edf_slide__masks_test(l, masks, has);
  const edf__site *at = &l->slide->site;
  edf_slide__value other = test;
  if (test.node && fill == -HUGE_VAL) {  /* ln 0 */
    other.node = edf_node1(&edf_log_op, at->file, at->line, test.node);
    other = edf_slide__lettered(l, other);
  } else if (test.node) other = edf_slide__literal(l, fill);
  if (test.node) v = edf_slide__choose(l, test, v, other);
  has |= edf_slide__ref_has(&v.at);
  return has == edf_slide__ref_has(&v.at) ? v : edf_slide__with_indices(l, &v, has);
}

/* Returns a copy of x that is in no list. */
static edf_slide__expr *edf_slide__copy_of(const edf_slide__expr *x) {
  edf_slide__expr *copy = edf_slide__new_expr(x->sort, x->at, NULL);
  *copy = *x;
  copy->next = NULL;
  return copy;
}
/* ---- Sums of products. In a recurrence over t, a + b + h[t-1] becomes (a + b) + h[t-1]. One
   equation computes a + b for all steps, because a + b does not read the recurrence. The list
   of x stays as it is for other expressions that have it, too. */
static void edf_slide__split_early(edf_slide__statement *l, edf_slide__expr *x) {
  edf_slide__expr *sum = edf_slide__new_expr(EDF_SLIDE__A_SUM, x->at, NULL), *others = NULL;
  int n = 0, work = 0;
  for (edf_slide__expr *p = x->in; p; p = p->next) {
    const edf_slide__expr *f = edf_slide__only(p);
    if (!edf_slide__reads_group(l, p))
      work |= n++ || !f;
  }
  if (!work) return;
  for (const edf_slide__expr *p = x->in; p; p = p->next) {
    edf_slide__expr **list = edf_slide__reads_group(l, p) ? &others : &sum->in;
    *list = edf_slide__append_expr(*list, edf_slide__copy_of(p));
  }
  sum->closed = 1;                       /* the sum becomes a node of its own                 */
  edf_slide__expr *early = edf_slide__new_expr(EDF_SLIDE__A_PRODUCT, x->at, sum);
  early->next = others;
  x->in = others ? early : sum->in;
}

/* Builds left = x for a sum or a product x. If `any` is 1, it may return an older node. */
static edf_node *edf_slide__sum_node(edf_slide__statement *l, edf_slide__expr *x,
                                     const edf_ref *left, int is_line, int any) {
  edf_slide__making to;
  edf_slide__begin_equation(&to, l, left);
  to.is_line = is_line;
  to.any = any;
  if (l->fixed && x->sort == EDF_SLIDE__A_SUM) edf_slide__split_early(l, x);
  for (edf_slide__expr *p = x->sort == EDF_SLIDE__A_SUM ? x->in : x; p;
       p = p == x ? NULL : p->next)
    edf_slide__add_term(&to, NULL, NULL, p);
  return edf_slide__end_equation(&to, NULL, EDF_SLIDE__SUM);
}

/* ---- Lookups. Stops if a class number of this dimension may have no exact edf_real. */
static void edf_slide__check_classes(const edf_slide__statement *l, const char *at, int n) {
  if (!EDF_REAL_IS_DOUBLE && n > 16777216)
    edf__syntax(l->m.e.scan, at, "%d classes: a float has class numbers up to 16777216; use "
                "cc -DEDF_REAL=double", n);
}
/* Returns 1 if v is read outside its tensor. */
static int edf_slide__misses(const edf_slide__statement *l, const edf_slide__value *v) {
  ptrdiff_t least, greatest;
  int misses = 0;
  for (int d = 0; d < v->at.rank; d++)
    misses |= !v->at.place[d].by && !(v->node->batched >> d & 1) &&
              edf_slide__reach(&l->m, &v->at.place[d], &least, &greatest) &&
              (least < 0 || greatest >= v->node->dim[d]);
  return misses;
}
/* Returns 1 if x is a tensor that is read outside, but not by a lookup. A step of the present
   recurrence counts as inside. */
static int edf_slide__tensor_misses(const edf_slide__statement *l, const edf_slide__expr *x) {
  if (x->sort != EDF_SLIDE__A_TENSOR) return 0;
  const edf_ref *r = &l->m.e.ref[x->which];
  edf_slide__value v = { l->of[x->which], 1, edf_slide__ref_now(l, *r) };
  return v.node && !edf_slide__running(l, r) && edf_slide__misses(l, &v);
}
/* Stops if a class number would be computed from an entry outside of a tensor in x. */
static void edf_slide__check_inside(const edf_slide__statement *l, const edf_slide__expr *x) {
  if (edf_slide__tensor_misses(l, x))
    edf__syntax(l->m.e.scan, x->at, "%s is read outside, where it is 0, and a class number is "
                "computed from that. Compute it on its own line, k[t] = ..., and look up with "
                "k[t-1]: then such an entry selects nothing", x->at);
  for (const edf_slide__expr *k = x->in; k; k = k->next) edf_slide__check_inside(l, k);
}
/* Returns the class numbers that expression x gives. A tensor keeps its index positions, so
   that an entry that is read outside it selects nothing. */
static edf_slide__value edf_slide__classes_from(edf_slide__statement *l, edf_slide__expr *x) {
  edf_slide__value k = edf_slide__value_of(l, x);
  unsigned general = edf_slide__general(l, x->masks, edf_slide__ref_has(&k.at));
  int tensor = x->sort == EDF_SLIDE__A_TENSOR && !general;
  for (const edf_slide__expr *p = tensor ? x->in : x; p; p = tensor ? p->next : NULL)
    edf_slide__check_inside(l, p);
  if (general) return edf_slide__guarded(l, edf_slide__dense(l, k), general, 0);
  return tensor && k.number == 1 ? k : edf_slide__dense(l, k);
}

/* Returns 1 if position p has a lookup and a bound, and is no lookup alone: an entry outside
   counts as 0. */
static int edf_slide__is_padded(const edf_slide__statement *l, const edf_slide__expr *p) {
  unsigned has = p->sort == EDF_SLIDE__A_SUM ? edf_slide__expr_has(l, p) : 0;
  int bounded = 0;
  for (int i = 0; i < l->m.e.n_index; i++)
    bounded |= has >> i & 1 && l->m.e.index[i].bound;
  return bounded;
}
/* Moves class numbers *k that are outside 0 .. n-1 inside. Returns the test of the others. */
static edf_slide__value edf_slide__inside(edf_slide__statement *l, edf_slide__value *k, int n) {
  const edf__site *at = &l->slide->site;
  edf_slide__value was = *k, test = edf_slide__new_value(l, NULL, edf_slide__ref_has(&k->at));
  k->node = edf_clamp_at(at->file, at->line, k->node, 0, (edf_real)(n - 1));
  *k = edf_slide__lettered(l, *k);
  edf_slide__value minus = *k;
  minus.number = -1;
  test.node = edf_slide__terms(l, EDF_SLIDE__SUM, &test.at, &was, &minus);
  test.node = edf_slide__with_number(at, &edf_slide__test_op, test.node, 2);
  return edf_slide__lettered(l, test);
}

/* Builds the Lookup of tensor x in `table`. If `entries` is given, builds the Scatter that adds
   the entries to the table. Returns no node if a class number is outside its tensor. */
static edf_slide__value edf_slide__look_up(edf_slide__statement *l, edf_slide__expr *x,
                                           const edf_slide__value *table,
                                           const edf_slide__value *entries) {
  edf_slide__value y = edf_slide__new_value(l, NULL, edf_slide__expr_has(l, x));
  edf_slide__value test[EDF_MAX_RANK];
  edf_slide__making to;
  double number = 1;
  int d = 0, tests = 0;
  edf_slide__begin_equation(&to, l, entries ? &table->at : &y.at);
  edf_slide__add_term(&to, entries ? entries : table, NULL, NULL);
  for (edf_slide__expr *p = x->in; p; p = p->next) {
    if (p->sort == EDF_SLIDE__A_GROUP) continue;
    edf_slide__value k = edf_slide__classes_from(l, p);
    while (!table->at.place[d].by) d++;
    int classes = entries ? edf_slide__classes_of(l, p) : table->node->dim[d];
    edf_slide__check_classes(l, p->at, classes);
    if (!entries && k.node && edf_slide__is_padded(l, p)) {
      if (table->node->batched >> d & 1)
        edf__syntax(l->m.e.scan, p->at, "a dimension that depends on the batch is not padded");
      test[tests++] = edf_slide__inside(l, &k, classes);
    }
    edf_place *place = &to.m.e.ref[!entries].place[d++];
    place->by = to.m.e.n_ref;
    if (entries) place->constant = classes - 1;
    if (!k.node) return y;
    edf_slide__add_factor(&to, &k, &number);
  }
  y.node = edf_slide__end_equation(&to, &edf_slide__lookup_op,
                                   entries ? EDF_SLIDE__PUT : EDF_SLIDE__SUM);
  if (!entries) edf_slide__note(y.node)->letters = edf_slide__letters_at(l, &y.at);
  while (tests--) y = edf_slide__choose(l, test[tests], y, edf_slide__literal(l, 0));
  return y;
}

/* Returns 1 if position p is a number outside 0 .. n-1, and an index of `was` has a bound or is
   the present step. The tensor then counts as 0. `was` is the same position in the text. */
static int edf_slide__is_outside(const edf_slide__statement *l, const edf_place *was,
                                 const edf_place *p, int n) {
  int bounded = 0;
  for (int i = 0; i < l->m.e.n_index; i++)
    bounded |= was->factor[i] && (l->m.e.index[i].bound || l->fixed >> i & 1);
  return bounded && !edf_slide__place_has(p) && n && (p->constant < 0 || p->constant >= n);
}

/* Returns a tensor of the line as a value, at the present step. */
static edf_slide__value edf_slide__tensor_value(edf_slide__statement *l, edf_slide__expr *x) {
  const edf_ref *r = &l->m.e.ref[x->which];
  edf_slide__value v = { l->of[x->which], 1, edf_slide__ref_now(l, *r) };
  const edf_slide__statement *by = edf_slide__running(l, r);
  if (by) v.node = edf_slide__now(l, by, &v.at);
  for (int d = 0; !by && v.node && d < r->rank; d++)
    if (edf_slide__is_outside(l, &r->place[d], &v.at.place[d], v.node->dim[d])) v.node = NULL;
  return v.node && edf_slide__by_value(r) ? edf_slide__look_up(l, x, &v, NULL) : v;
}

/* ---- Functions over indices. Builds the node of op `is` over the indices in `goes`. These are
   moved to the end, where they form a row. Index `limit` of a bound s<=t comes right before the
   row, so row t ends with entry t. A second operand w, unless it is NULL, gets the indices of
   the first. */
static edf_slide__value edf_slide__row_node(edf_slide__statement *l, const edf_op *is,
                                            const char *name, unsigned goes,
                                            const edf_slide__value *v,
                                            const edf_slide__value *w, int limit,
                                            double number) {
  edf_slide__value from = edf_slide__is_plain(l, v)
                              ? *v
                              : edf_slide__new_value(l, NULL, edf_slide__ref_has(&v->at));
  edf_slide__value y = from;
  const edf__site *at = &l->slide->site;
  int n_over = 0;
  for (int order = y.at.rank = 0; order < 3; order++)
    for (int d = 0; d < from.at.rank; d++) {
      int i = edf_slide__alone(&l->m.e, &from.at.place[d]), over = (int)(goes >> i & 1);
      if (order != (over ? 2 : i == limit)) continue;
      y.at.place[y.at.rank++] = from.at.place[d];
      n_over += over;
    }
  if (!from.node || !edf_slide__same_places(&from.at, &y.at)) {
    y.at.name = "moved";
    from.node = edf_slide__terms(l, EDF_SLIDE__SUM, &y.at, v, NULL);
  }
  y.at.name = l->m.e.ref->name;
  edf_node *in[2] = { from.node, NULL };
  if (w && edf_slide__is_plain(l, w) && edf_slide__same_places(&w->at, &y.at)) in[1] = w->node;
  else if (w) in[1] = edf_slide__terms(l, EDF_SLIDE__SUM, &y.at, w, NULL);
  edf__site site = { name, at->file, at->line };
  y.node = edf__computed(is, site, w ? 2 : 1, in);
  *(edf_real *)edf_state(y.node, sizeof(edf_real)) = (edf_real)number;
  edf_slide__note(y.node)->row_dims = n_over;
  edf_slide__note(y.node)->causal = limit >= 0;
  edf_slide__note(y.node)->letters = edf_slide__letters_at(l, &y.at);
  y.node = edf__add_compnode(y.node);
  y.at.rank = y.node->rank;
  return y;
}

/* Builds the sum of v^2, or the mean, which has the indices in `left`. */
static edf_slide__value edf_slide__squares(edf_slide__statement *l, int kind,
                                           const edf_slide__value *v, unsigned left) {
  edf_slide__value y = edf_slide__new_value(l, NULL, left);
  edf_slide__making to;
  edf_slide__begin_equation(&to, l, &y.at);
  edf_slide__add_term(&to, v, v, NULL);
  y.node = edf_slide__end_equation(&to, NULL, kind);
  return y;
}
/* Builds the mean of (v - mean v)^2, which has the indices in `left`. */
static edf_slide__value edf_slide__variance(edf_slide__statement *l, const edf_slide__value *v,
                                            unsigned left) {
  edf_slide__value m = edf_slide__new_value(l, NULL, left);
  edf_slide__value d = edf_slide__new_value(l, NULL, edf_slide__ref_has(&v->at));
  m.at.name = "m";
  m.node = edf_slide__terms(l, EDF_SLIDE__MEAN, &m.at, v, NULL);
  m.number = -1;
  d.at.name = "d";
  d.node = edf_slide__terms(l, EDF_SLIDE__SUM, &d.at, v, &m);
  return edf_slide__squares(l, EDF_SLIDE__MEAN, &d, left);
}

/* Returns -x, with the indices of x. */
static edf_node *edf_slide__negated(const edf_slide__statement *l, edf_node *x) {
  edf_equation e;
  edf_term minus = { -1, 0, NULL, 1, 1, l->m.e.scan->at, 0 };
  edf_slide__letters names = edf_slide__letters_of(x);
  memset(&e, 0, sizeof e);
  e.scan = l->m.e.scan;
  e.n_index = x->rank;
  e.n_operand = 1;
  *edf_slide__next_term(&e) = minus;
  for (int f = 0; f < 2; f++) {
    edf_ref *r = edf_slide__next_ref(&e);
    memset(r, 0, sizeof *r);
    r->name = f ? x->name : l->m.e.ref->name;
    r->operand = f - 1;
    r->rank = x->rank;
    for (int d = 0; d < x->rank; d++) r->place[d].factor[d] = 1;
  }
  for (int d = 0; d < x->rank; d++) e.index[d].name = edf_slide__copy(names.name[d]);
  edf__site at = { "Einsum", l->slide->site.file, l->slide->site.line };
  edf_node *y = edf_slide__equation_node(&at, NULL, 0, &e, 1, &x);
  return edf_slide__called(y, l->m.e.ref->name, "");
}
/* Prepares the argument of max_ and min_: max_ has v, or -v, and is minus infinity where v is
   read outside. */
static edf_slide__value edf_slide__compared(edf_slide__statement *l, edf_slide__value v,
                                            int is_min, unsigned own) {
  int misses = v.number == 1 && edf_slide__misses(l, &v);
  if (misses && is_min) v.node = edf_slide__negated(l, v.node);
  else if (is_min) v.number = -v.number;
  if (!misses || !own) return v;         /* The equation of the maximum makes the copy.       */
  edf_slide__value y = edf_slide__new_value(l, NULL, edf_slide__ref_has(&v.at));
  y.node = edf_slide__terms(l, EDF_SLIDE__MAX, &y.at, &v, NULL);
  return y;
}

/* Builds a function over indices that keeps or reduces them: softmax_i x, max_i x. If `log_of`
   is 1, builds the logarithm of a softmax. */
static edf_slide__value edf_slide__over_value(edf_slide__statement *l, edf_slide__expr *x,
                                              int log_of) {
  static const edf_op *const rows[] = { &edf_slide__argmax_op, &edf_slide__argmax_op,
    &edf_slide__softmax_op, &edf_log_softmax_op, &edf_slide__normalize_op };
  int kind = x->which, softmax = kind == EDF_SLIDE__SOFTMAX_OVER,
      limit = edf_slide__limit(l, x);
  unsigned own = limit < 0 ? edf_slide__own_masks(l, x) : 0;
  edf_slide__value v = edf_slide__value_of(l, x->in), y;
  if (!v.node) v = edf_slide__number_value(l, 0);
  if (kind > EDF_SLIDE__MIN_OVER)
    v = edf_slide__guarded(l, v, x->masks & ~edf_slide__own_masks(l, x), 1);
  if (kind == EDF_SLIDE__MIN_OVER || kind == EDF_SLIDE__MAX_OVER)
    v = edf_slide__compared(l, v, kind == EDF_SLIDE__MIN_OVER, own);
  unsigned has = edf_slide__ref_has(&v.at), want = has | x->over, left;
  edf_slide__value keep = edf_slide__masks_test(l, softmax ? own : 0, want);
  if (limit >= 0) want |= 1u << limit;
  if (keep.node) want |= edf_slide__ref_has(&keep.at);
  if (kind == EDF_SLIDE__ARGMIN_OVER && own) v.number = -v.number;   /* then an argmax        */
  double fill = kind == EDF_SLIDE__PROD_OVER ? 1 : kind == EDF_SLIDE__NORM_OVER ? 0 : -HUGE_VAL;
  if (!softmax && own) v = edf_slide__filled(l, v, own, want, fill);
  else if (has != want) v = edf_slide__with_indices(l, &v, want);
  left = edf_slide__ref_has(&v.at) & ~x->over;
  if (kind == EDF_SLIDE__VARIANCE_OVER) return edf_slide__variance(l, &v, left);
  if (kind == EDF_SLIDE__NORM_OVER || kind == EDF_SLIDE__STD_OVER) {
    y = kind == EDF_SLIDE__STD_OVER ? edf_slide__variance(l, &v, left)
                                    : edf_slide__squares(l, EDF_SLIDE__SUM, &v, left);
    y.node = edf_node1(&edf_slide__root_op, l->slide->site.file, l->slide->site.line, y.node);
    return edf_slide__lettered(l, y);
  }
  if (kind == EDF_SLIDE__ARGMAX_OVER) x->number = 1;
  if (kind == EDF_SLIDE__ARGMIN_OVER) x->number = own ? 1 : -1;
  if (keep.node)
    return edf_slide__row_node(l, log_of ? &edf_slide__masked_log_softmax_op
                               : &edf_slide__masked_softmax_op,
                               log_of ? "LogSoftmaxOver" : "SoftmaxOver", x->over, &v, &keep,
                               -1, log_of);
  const edf_op *is = edf_slide__functions[kind].about;
  for (int i = 0; i < l->m.e.n_index && kind == EDF_SLIDE__PROD_OVER; i++)   /* one by one    */
    if (x->over >> i & 1) v = edf_slide__row_node(l, is, is->name, 1u << i, &v, NULL, -1, 0);
  if (kind == EDF_SLIDE__PROD_OVER) return v;
  if (is || kind >= EDF_SLIDE__ARGMAX_OVER) {
    if (!is) is = rows[kind - EDF_SLIDE__ARGMAX_OVER + log_of];
    const char *name = is == &edf_slide__softmax_op ? "SoftmaxOver" : is == &edf_log_softmax_op
                       ? "LogSoftmaxOver" : is->name;
    return edf_slide__row_node(l, is, name, x->over, &v, NULL, limit, x->number);
  }
  if (!(v.number == 1)) v = edf_slide__dense(l, v);
  y = edf_slide__new_value(l, NULL, left);
  y.node = edf_slide__terms(l, EDF_SLIDE__MAX, &y.at, &v, NULL);
  y.number = kind == EDF_SLIDE__MIN_OVER ? -1 : 1;
  return y;
}

/* ---- Stable logarithms. Returns the softmax that computes P, or NULL. P may be a copy of it
   with its indices in another order. */
static edf_node *edf_slide__softmax_of(edf_node *P) {
  if (edf_slide__has_equation(P)) {
    const edf_contraction *m = edf_slide__einsum_of(P);
    const edf_equation *e = &m->e;
    unsigned once = 0;
    if (m->kind || !m->runs || e->n_ref != 2 || e->n_term != 1 || e->term->n_step ||
        !(e->term->number == 1))
      return NULL;
    for (int d = 0; d < e->ref->rank; d++)
      for (int f = 0; f < 2; f++) {
        int i = d < e->ref[f].rank ? edf_slide__alone(e, &e->ref[f].place[d]) : -1;
        if (i < 0) return NULL;
        once |= 1u << i;
      }
    if (once != (1u << e->ref->rank) - 1 || P->size != P->in[0]->size) return NULL;
    P = P->in[0];
  }
  int is = P->about == &edf_softmax_op || P->about == &edf_slide__softmax_op ||
           P->about == &edf_slide__masked_softmax_op;
  return is ? P : NULL;
}

/* Returns ln Q for a softmax Q, as a node of the same shape. */
static edf_node *edf_slide__log_of_softmax(edf_slide__statement *l, const edf_node *Q) {
  const edf__site *at = &l->slide->site;
  int masked = Q->n_in > 1;
  edf__site site = { "LogSoftmaxOver", at->file, at->line };
  if (edf_slide__note_of(Q) == &edf_slide__no_note)
    return edf_node1(&edf_log_softmax_op, at->file, at->line, Q->in[0]);
  edf_node *y = edf__computed(masked ? &edf_slide__masked_log_softmax_op : &edf_log_softmax_op,
                              site, Q->n_in, Q->in);
  *(edf_real *)edf_state(y, sizeof(edf_real)) = (edf_real)masked;
  edf_slide__note(y)->row_dims = edf_slide__note_of(Q)->row_dims;
  edf_slide__note(y)->causal = edf_slide__note_of(Q)->causal;
  edf_slide__note(y)->letters = edf_slide__note_of(Q)->letters;
  return edf__add_compnode(y);
}

/* Returns 1 if the tensor x of the line, or one of its class numbers, is read outside. */
static int edf_slide__reads_outside(edf_slide__statement *l, edf_slide__expr *x) {
  int outside = edf_slide__tensor_misses(l, x);
  for (edf_slide__expr *p = x->in; p && !outside; p = p->next) {
    outside = edf_slide__is_padded(l, p);
    if (p->sort != EDF_SLIDE__A_TENSOR) continue;
    edf_slide__value k = edf_slide__classes_from(l, p);
    outside = !k.node || edf_slide__misses(l, &k);
  }
  return outside;
}

/* Builds ln P of a tensor x of the line that is the softmax Q. ln P[b,y[b]] becomes minus a
   SoftmaxLogLoss. */
static edf_slide__value edf_slide__log_softmax_of(edf_slide__statement *l, edf_slide__expr *x,
                                                  edf_node *Q) {
  edf_node *P = l->of[x->which], *log_P;
  edf_slide__value v = { P, 1, edf_slide__ref_now(l, l->m.e.ref[x->which]) }, k;
  const edf__site *at = &l->slide->site;
  edf_slide__expr *by = x->in;
  int single = edf_row_dims(Q) == 1 && !edf_row_is_causal(Q) && Q->n_in == 1;
  if (single && P == Q && by && !by->next && by->sort != EDF_SLIDE__A_GROUP &&
      !edf_slide__is_padded(l, by) && by->place == v.at.rank - 1) {
    k = edf_slide__classes_from(l, by);
    v.at.rank--;
    if (k.node && !edf_slide__misses(l, &k) && edf_slide__is_plain(l, &v) &&
        edf_slide__same_places(&v.at, &k.at)) {
      k.node = edf_node2(&edf_softmax_log_loss_op, at->file, at->line, P->in[0], k.node);
      k.number = -1;
      return k;
    }
  }
  log_P = edf_slide__log_of_softmax(l, Q);
  if (P != Q) {                          /* the same copy, of the logarithm                   */
    edf__site copy = { "Einsum", at->file, at->line };
    const edf_equation *e = &edf_slide__einsum_of(P)->e;
    log_P = edf_slide__equation_node(&copy, NULL, 0, e, 1, &log_P);
    log_P = edf_slide__called(log_P, P->name, "");
  }
  l->of[x->which] = log_P;
  v = edf_slide__tensor_value(l, x);
  if (v.node && edf_slide__reads_outside(l, x)) {      /* P is 0 there, and ln 0 is added.   */
    l->of[x->which] = edf_slide__with_number(at, &edf_slide__test_op, P, 6);       /* P >= 0  */
    edf_slide__value one = edf_slide__dense(l, edf_slide__tensor_value(l, x));
    one.node = edf_node1(&edf_log_op, at->file, at->line, one.node);
    one = edf_slide__lettered(l, one);
    v.node = edf_slide__terms(l, EDF_SLIDE__SUM, &one.at, &v, &one);
    v.at = one.at;
  }
  l->of[x->which] = P;
  return v;
}

/* A logarithm of a sum that has the factor exp(x): its parts. */
typedef struct {
  edf_slide__expr *exponent, *others;    /* the sum of the arguments of exp; other factors    */
  unsigned over, masks;                  /* the indices that are summed; the masks            */
  int n_sum;                             /* number of sums that are not inside another        */
  double number;
} edf_slide__log_parts;

static int edf_slide__is_exp(const edf_slide__expr *f) {
  return f->sort == EDF_SLIDE__A_CALL && edf_slide__functions[f->which].about == &edf_exp_op;
}
/* Returns 1 if product x has a factor exp, also in a factor that is a sum of one term. */
static int edf_slide__has_exp(const edf_slide__expr *x) {
  int has = 0;
  for (const edf_slide__expr *f = x->in; f; f = f->next)
    has |= edf_slide__is_exp(f) ||
           (f->sort == EDF_SLIDE__A_SUM && !f->in->next && edf_slide__has_exp(f->in));
  return has;
}
/* Adds the factors of product x to `to`. A factor that is a sum of one term with exp gives its
   factors. Tests of masks are left out. */
static void edf_slide__find_parts(const edf_slide__statement *l, const edf_slide__expr *x,
                                  unsigned around, edf_slide__log_parts *to) {
  to->n_sum += x->over && !around;
  to->over |= x->over;
  around |= x->over;
  to->masks |= x->masks;
  to->number *= x->number;
  for (const edf_slide__expr *f = x->in; f; f = f->next) {
    if (edf_slide__is_mask_test(l, f)) continue;
    if (f->sort == EDF_SLIDE__A_SUM && !f->in->next && edf_slide__has_exp(f->in))
      edf_slide__find_parts(l, f->in, around, to);
    else if (edf_slide__is_exp(f)) {
      edf_slide__expr *p = edf_slide__new_expr(EDF_SLIDE__A_PRODUCT, f->at, f->in);
      p->masks = f->masks;
      to->exponent = edf_slide__append_expr(to->exponent, p);
    } else to->others = edf_slide__append_expr(to->others, edf_slide__copy_of(f));
  }
}

/* Builds ln sum_k w[k] exp(x[k]), where w has the factors beside the exp. Returns no node if x
   is no such sum. */
static edf_slide__value edf_slide__log_sum(edf_slide__statement *l, const edf_slide__expr *x) {
  edf_slide__log_parts of = { NULL, NULL, 0, 0, 0, 1 };
  edf_slide__value none = edf_slide__new_value(l, NULL, 0), w = none, u, y, test;
  if (x->sort != EDF_SLIDE__A_SUM || x->in->next) return none;
  edf_slide__find_parts(l, x->in, 0, &of);
  if (!of.exponent || of.n_sum != 1) return none;
  unsigned own = 0;
  edf_slide__expr *sum = edf_slide__new_expr(EDF_SLIDE__A_SUM, x->at, of.exponent);
  sum->masks = of.masks;
  u = edf_slide__value_of(l, sum);
  if (!u.node) u = edf_slide__number_value(l, 0);
  if (of.others || of.number != 1) {
    edf_slide__expr *p = edf_slide__new_expr(EDF_SLIDE__A_PRODUCT, x->at, of.others);
    p->number = of.number;
    p->masks = of.masks;
    w = edf_slide__value_of(l, p);
    if (!w.node) w = edf_slide__number_value(l, 0);
  }
  for (int m = 0; m < l->n_mask; m++)
    if (of.over & l->mask[m].has) own |= of.masks & 1u << m;
  u = edf_slide__guarded(l, u, of.masks & ~own, 1);    /* masks of the term around it         */
  w = edf_slide__guarded(l, w, of.masks & ~own, 1);
  unsigned has = edf_slide__ref_has(&u.at) | of.over | (w.node ? edf_slide__ref_has(&w.at) : 0);
  y = edf_slide__filled(l, u, own, has, -HUGE_VAL);
  has = edf_slide__ref_has(&y.at);
  test = edf_slide__masks_test(l, w.node ? own : 0, has);
  if (test.node) {                       /* w is 0 where a mask excludes it                   */
    w = edf_slide__choose(l, test, w, edf_slide__literal(l, 0));
    w = edf_slide__with_indices(l, &w, has);
  }
  const edf_op *is = w.node ? &edf_slide__weighted_log_sum_op : &edf_slide__log_sum_op;
  return edf_slide__row_node(l, is, "LogSumExp", of.over, &y, w.node ? &w : NULL, -1, 0);
}

/* Returns x without brackets around it. */
static edf_slide__expr *edf_slide__bare(edf_slide__expr *x) {
  while (x->sort == EDF_SLIDE__A_SUM && !x->in->next && edf_slide__only(x->in)) x = x->in->in;
  return x;
}
/* Builds a stable ln x of a softmax x. Returns no node if x is another expression. */
static edf_slide__value edf_slide__log_of_one(edf_slide__statement *l, edf_slide__expr *x) {
  x = edf_slide__bare(x);
  edf_node *P = x->sort == EDF_SLIDE__A_TENSOR ? l->of[x->which] : NULL;
  edf_node *Q = P ? edf_slide__softmax_of(P) : NULL;
  if (Q) return edf_slide__log_softmax_of(l, x, Q);
  if (x->sort == EDF_SLIDE__AN_OVER && x->which == EDF_SLIDE__SOFTMAX_OVER)
    return edf_slide__over_value(l, x, 1);
  return edf_slide__new_value(l, NULL, 0);
}
static edf_slide__value edf_slide__call_value(edf_slide__statement *l, edf_slide__expr *x);
/* Builds ln(P Q^2 w) as ln P + 2 ln Q + ln w, for softmaxes P, Q and other factors w. `call` is
   the logarithm of x. Returns no node if x is no such product. */
static edf_slide__value edf_slide__log_product(edf_slide__statement *l, edf_slide__expr *x,
                                               const edf_slide__expr *call) {
  edf_slide__value term[EDF_SLIDE__MAX_REF], none = edf_slide__new_value(l, NULL, 0), y = none;
  const edf_slide__expr *p = x->in;
  edf_slide__expr *others = NULL;
  edf_slide__making to;
  unsigned has = 0;
  int n = 0;
  if (x->sort != EDF_SLIDE__A_SUM || p->next || p->over || p->masks) return none;
  for (edf_slide__expr *f = p->in; f; f = f->next) {
    double power = 1;
    int powers = f->sort == EDF_SLIDE__A_POWER && edf_slide__constant(l, f->in->next, &power);
    if (n < EDF_SLIDE__MAX_REF - 1) y = edf_slide__log_of_one(l, powers ? f->in : f);
    if (n == EDF_SLIDE__MAX_REF - 1 || !y.node)
      others = edf_slide__append_expr(others, edf_slide__copy_of(f));
    else {
      y.number *= power;
      term[n++] = y;
    }
  }
  if (!n) return none;
  edf_slide__expr *rest = edf_slide__new_expr(EDF_SLIDE__A_PRODUCT, p->at, others);
  edf_slide__expr of_rest = *call;
  rest->number = p->number;
  of_rest.in = edf_slide__new_expr(EDF_SLIDE__A_SUM, p->at, rest);
  of_rest.next = NULL;
  if (others) term[n++] = edf_slide__call_value(l, &of_rest);
  else if (!(p->number == 1)) term[n++] = edf_slide__number_value(l, log(p->number));
  for (int k = 0; k < n; k++) has |= edf_slide__ref_has(&term[k].at);
  y = edf_slide__new_value(l, NULL, has);
  edf_slide__begin_equation(&to, l, &y.at);
  for (int k = 0; k < n; k++) edf_slide__add_term(&to, &term[k], NULL, NULL);
  y.node = edf_slide__end_equation(&to, NULL, EDF_SLIDE__SUM);
  return y;
}
/* Builds a stable ln x. Returns no node if x has neither a softmax nor a sum of exp. */
static edf_slide__value edf_slide__log_value(edf_slide__statement *l, edf_slide__expr *x,
                                             const edf_slide__expr *call) {
  edf_slide__value y = edf_slide__log_of_one(l, x);
  x = edf_slide__bare(x);
  if (!y.node) y = edf_slide__log_sum(l, x);
  if (x->sort == EDF_SLIDE__A_POWER) {   /* as a product of one factor                        */
    edf_slide__expr *p = edf_slide__copy_of(x);
    p = edf_slide__new_expr(EDF_SLIDE__A_PRODUCT, x->at, p);
    x = edf_slide__new_expr(EDF_SLIDE__A_SUM, x->at, p);
  }
  return y.node ? y : edf_slide__log_product(l, x, call);
}

/* ---- Functions, powers, and any expression. Returns the argument of a function as a plain
   node. An argument that is zero becomes the number 0. */
static edf_slide__value edf_slide__argument(edf_slide__statement *l, edf_slide__expr *x) {
  edf_slide__value v = edf_slide__dense(l, edf_slide__value_of(l, x));
  return v.node ? v : edf_slide__dense(l, edf_slide__number_value(l, 0));
}
/* Builds a function of two values, as min(x,y). */
static edf_slide__value edf_slide__of_two(edf_slide__statement *l, const edf_op *is,
                                          edf_slide__value a, edf_slide__value b) {
  unsigned has = edf_slide__ref_has(&a.at) | edf_slide__ref_has(&b.at);
  const edf__site *at = &l->slide->site;
  edf_slide__value y = edf_slide__new_value(l, NULL, has);
  a = edf_slide__wide(l, a, has);
  b = edf_slide__wide(l, b, has);
  y.node = edf_node2(is, at->file, at->line, a.node, b.node);
  return edf_slide__lettered(l, y);
}
/* Builds clamp(x,lo,hi). If lo and hi are numbers, it is a Clamp, else min(max(x,lo),hi). */
static edf_slide__value edf_slide__clamped(edf_slide__statement *l, edf_slide__expr *x) {
  edf_slide__expr *lo = x->in->next, *hi = lo->next;
  const edf__site *at = &l->slide->site;
  double least, most;
  edf_slide__value v = edf_slide__value_of(l, x->in);
  if (!edf_slide__constant(l, lo, &least) || !edf_slide__constant(l, hi, &most)) {
    v = edf_slide__of_two(l, &edf_max_op, v, edf_slide__value_of(l, lo));
    return edf_slide__of_two(l, &edf_min_op, v, edf_slide__value_of(l, hi));
  }
  if (!(least <= most)) edf__syntax(l->m.e.scan, lo->at, "lo is %g, above hi, %g", least, most);
  v = edf_slide__argument(l, x->in);
  v.node = edf_clamp_at(at->file, at->line, v.node, (edf_real)least, (edf_real)most);
  return v;
}

static edf_slide__value edf_slide__call_value(edf_slide__statement *l, edf_slide__expr *x) {
  const edf__site *at = &l->slide->site;
  const edf_op *is = edf_slide__functions[x->which].about;
  double rate;
  if (x->which == EDF_SLIDE__WHERE_OF) {
    edf_slide__value test = edf_slide__value_of(l, x->in);
    edf_slide__value a = edf_slide__value_of(l, x->in->next);
    return edf_slide__choose(l, test, a, edf_slide__value_of(l, x->in->next->next));
  }
  if (x->which == EDF_SLIDE__CLAMP_OF) return edf_slide__clamped(l, x);
  if (!strcmp(edf_slide__functions[x->which].takes, "xx")) {
    edf_slide__value a = edf_slide__value_of(l, x->in);
    return edf_slide__of_two(l, is, a, edf_slide__value_of(l, x->in->next));
  }
  if (is == &edf_log_op) {
    edf_slide__value log = edf_slide__log_value(l, x->in, x);
    if (log.node) return log;
  }
  edf_slide__value v = edf_slide__argument(l, x->in);
  if (is && is->backward) v = edf_slide__guarded(l, v, x->masks, 1);
  if (x->which == EDF_SLIDE__DROPOUT_OF) {
    if (!edf_slide__constant(l, x->in->next, &rate) || !(rate >= 0 && rate < 1))
      edf__syntax(l->m.e.scan, x->in->next->at, "the rate is a number, 0 or more and below 1");
    v.node = edf_dropout_at(at->file, at->line, v.node, rate);
  } else v.node = edf_node1(is, at->file, at->line, v.node);
  return v;
}

static int edf_slide__has_sort(const edf_slide__expr *x, edf_slide__sort sort) {
  int found = x->sort == sort;
  for (const edf_slide__expr *k = x->in; k; k = k->next) found |= edf_slide__has_sort(k, sort);
  return found;
}
/* Builds x^p for a number p, x^y, and 0.9^(t-s) as an exp. */
static edf_slide__value edf_slide__power_value(edf_slide__statement *l, edf_slide__expr *x) {
  const edf__site *at = &l->slide->site;
  double p, base;
  if (!edf_slide__constant(l, x->in->next, &p)) {
    edf_slide__value k = edf_slide__value_of(l, x->in->next);
    if (!edf_slide__constant(l, x->in, &base) || !(base > 0)) {
      edf_slide__value of = edf_slide__guarded(l, edf_slide__value_of(l, x->in), x->masks, 1);
      return edf_slide__of_two(l, &edf_slide__power_op, of,
                               edf_slide__guarded(l, k, x->masks, 1));
    }                                    /* else as 0.9^(t-s)                                 */
    k.number *= log(base);
    k = edf_slide__guarded(l, edf_slide__dense(l, k), x->masks, 1);
    k.node = edf_node1(&edf_exp_op, at->file, at->line, k.node);
    return k;
  }
  edf_slide__expr *of = x->in, *call = edf_slide__bare(of);
  if (p == -1 && call->sort == EDF_SLIDE__A_CALL &&
      edf_slide__functions[call->which].about == &edf_sqrt_op) {
    of = call->in;                       /* 1/sqrt(v) is v^(-1/2)                             */
    p = -0.5;
  }
  edf_slide__value v = edf_slide__dense(l, edf_slide__value_of(l, of));
  if (x->which != 2) v = edf_slide__guarded(l, v, x->masks, 1);   /* 2: the count of a mean   */
  if (!v.node) return v;
  /* A mean over no entries is 0, because its count is at least 1. */
  if (x->which == 2 && edf_slide__has_sort(x->in, EDF_SLIDE__A_TEST))
    v.node = edf_clamp_at(at->file, at->line, v.node, 1, (edf_real)HUGE_VAL);
  v.node = p == 2 ? edf_node1(&edf_square_op, at->file, at->line, v.node)
                  : edf_pow_at(at->file, at->line, v.node, (edf_real)p);
  return v;
}

/* Computes x for all steps at once, because x does not read the recurrence. Returns the value
   at the present step. */
static edf_slide__value edf_slide__early_value(edf_slide__statement *l, edf_slide__expr *x) {
  unsigned fixed = l->fixed;
  int sum = x->sort == EDF_SLIDE__A_SUM, before = edf.n_compnodes;
  if (!x->early) {
    l->fixed = 0;
    x->early = (edf_slide__value *)edf_slide__tree(sizeof *x->early);
    *x->early = edf_slide__value_of(l, x);
    edf_node *y = x->early->node;
    sum &= edf.n_compnodes > before && y == edf.compnodes[edf.n_compnodes - 1];
    if (sum && edf_slide__has_equation(y)) edf_slide__called(y, l->m.e.ref->name, "_in");
    l->fixed = fixed;
  }
  edf_slide__value v = *x->early;
  v.at = edf_slide__ref_now(l, v.at);
  return v;
}

/* Returns a coefficient as a scalar. */
static edf_slide__value edf_slide__size_value(edf_slide__statement *l, edf_slide__expr *x) {
  edf_slide__value y = edf_slide__new_value(l, NULL, 0);
  edf_slide__making to;
  edf_slide__begin_equation(&to, l, &y.at);
  edf_slide__add_term(&to, NULL, NULL, x);
  y.node = edf_slide__end_equation(&to, NULL, EDF_SLIDE__SUM);
  return y;
}
/* Builds the nodes of any expression, and returns its value. */
static edf_slide__value edf_slide__value_of(edf_slide__statement *l, edf_slide__expr *x) {
  edf_slide__value v;
  double k;
  int sum = x->sort == EDF_SLIDE__A_SUM, sizes = 0;
  const edf_ref *r = &l->m.e.ref[x->sort == EDF_SLIDE__A_TENSOR ? x->which : 0];
  if (edf_slide__is_coefficient(l, x, &sizes) && sizes) return edf_slide__size_value(l, x);
  if (edf_slide__constant(l, x, &k)) return edf_slide__number_value(l, k);
  if (l->fixed && (x->sort != EDF_SLIDE__A_TENSOR || edf_slide__by_value(r))
      && !edf_slide__reads_group(l, x))
    return edf_slide__early_value(l, x);
  switch (x->sort) {
    case EDF_SLIDE__A_TENSOR: return edf_slide__tensor_value(l, x);
    case EDF_SLIDE__A_NAME: return edf_slide__index_value(l, x->which);
    case EDF_SLIDE__A_CALL: return edf_slide__lettered(l, edf_slide__call_value(l, x));
    case EDF_SLIDE__AN_OVER: return edf_slide__over_value(l, x, 0);
    case EDF_SLIDE__A_POWER: return edf_slide__lettered(l, edf_slide__power_value(l, x));
    case EDF_SLIDE__A_TEST:
      v = edf_slide__argument(l, x->in);
      v.node = edf_slide__with_number(&l->slide->site, &edf_slide__test_op, v.node, x->which);
      if (edf_slide__is_mask_test(l, x)) edf_slide__note(v.node)->is_mask = 1;
      return edf_slide__lettered(l, v);
    default: break;
  }
  const edf_slide__expr *p = sum ? x->in : x;
  if (!(sum && p->next) && !x->closed && edf_slide__only(p))
    return edf_slide__value_of(l, p->in);
  v = edf_slide__new_value(l, NULL, edf_slide__expr_has(l, x));
  v.node = edf_slide__sum_node(l, x, &v.at, 0, 0);
  return v;
}

/* ---- Lines. Builds left = x, and a Scatter for a lookup on the left. For `any` see above. */
static edf_node *edf_slide__line_node(edf_slide__statement *l, edf_slide__expr *x,
                                      edf_ref left, int any) {
  unsigned has = edf_slide__expr_has(l, x);
  int scatters = edf_slide__by_value(&left),
      several = l->adds && x->in->next && (has & ~l->left);
  if (!scatters && !several) return edf_slide__sum_node(l, x, &left, 1, any);
  has |= scatters ? edf_slide__expr_has(l, l->where) : l->left & ~l->fixed;
  edf_slide__value v = edf_slide__new_value(l, NULL, has), table = { NULL, 1, left };
  v.node = edf_slide__sum_node(l, x, &v.at, 0, 1);
  if (!v.node) return NULL;
  if (!scatters) return edf_slide__terms(l, EDF_SLIDE__SUM, &left, &v, NULL);
  return edf_slide__look_up(l, l->where, &table, &v).node;
}

/* Stops unless a position J+K or 2J has one index for each part that is joined there. */
static void edf_slide__check_parts(const edf_slide__statement *l, const edf_place *sum) {
  int wanted = 0, found = 0, bad = sum->constant != 0;
  for (int i = 0; i < l->m.e.n_index; i++) {
    bad |= sum->factor[i] < 0;
    wanted += sum->factor[i];
  }
  for (const edf_slide__expr *x = l->right; x; x = x->next) found++;
  if (bad)
    edf__syntax(l->m.e.scan, sum->at, "';' joins along a sum of indices, as in h[b,J+K]");
  if (wanted != found)
    edf__syntax(l->m.e.scan, l->right->next->at, "there are %s parts than indices in the sum: "
                "expected %d, found %d", found > wanted ? "more" : "fewer", wanted, found);
}

/* Builds h[b,J+K] = f ; g. Joins the parts along the position on the left that is a sum, which
   has one index for each part. */
static edf_node *edf_slide__joined_line(edf_slide__statement *l, edf_ref left) {
  edf_node *part[EDF_MAX_INDEX];
  unsigned all = l->left;
  int d = 0, n = 0, i = 0, used = 0;
  while (d < left.rank && edf_slide__alone(&l->m.e, &left.place[d]) >= 0) d++;
  if (d == left.rank)
    edf__syntax(l->m.e.scan, left.name, "';' needs a sum of indices on the left, one for each "
                "part: h[b,J+K]");
  const edf_place sum = left.place[d];
  edf_slide__check_parts(l, &sum);
  for (edf_slide__expr *x = l->right; x; x = x->next) {
    for (; used >= sum.factor[i]; i++) used = 0;
    used++;
    unsigned other = edf_slide__expr_has(l, x) & edf_slide__place_has(&sum) & ~(1u << i);
    const char *c = edf_slide__first_of(&l->m.e, other);
    if (c)
      edf__syntax(l->m.e.scan, edf_slide__first_with(l, x, other), "%s is the index of "
                  "another part: expected %s here", c, l->m.e.index[i].name);
    memset(left.place[d].factor, 0, sizeof sum.factor);
    left.place[d].factor[i] = 1;
    l->left = edf_slide__ref_has(&left);
    part[n] = edf_slide__line_node(l, x, left, 1);
    if (part[n++]) continue;             /* a part that is zero gets a node of zeros          */
    edf_slide__value zero = edf_slide__number_value(l, 0);
    part[n - 1] = edf_slide__terms(l, EDF_SLIDE__SUM, &left, &zero, NULL);
  }
  l->left = all;
  return edf_slide__joined(&l->slide->site, left.rank, d, edf_slide__letters_at(l, &left), n,
                           part);
}

/* Returns the line as its author wrote it. It ends with a newline or the text. */
static const char *edf_slide__author_line(const edf_slide__statement *l) {
  const edf__scan *s = l->m.e.scan;
  const char *c = l->m.e.ref->name - s->size;
  while (c > s->text + s->size && c[-1] != '\n') c--;
  return c + strspn(c, " ");
}
/* Writes the line as its author wrote it, with single blanks. */
static void edf_slide__write_author(edf_page *to, const edf_slide__statement *l) {
  for (const char *c = edf_slide__author_line(l); *c && *c != '\n'; c++)
    if (*c != ' ' || !strchr(" \n", c[1])) edf_write(to, "%c", *c);
}
/* Writes line l below the heading of y, which computes l, too. */
static void edf_slide__head_too(edf_node *y, const edf_slide__statement *l) {
  const char *group = edf_slide__note_of(y)->group;
  edf_page page = { NULL, 0 };
  if (!group || edf_slide__note_of(y)->later || l->slide->in) return;
  edf_write(&page, "%s\n  ", group);
  edf_slide__write_author(&page, l);
  const char *both = edf_slide__copy(page.at);
  edf_release(page.at);
  for (int i = l->slide->first; i < edf.n_compnodes; i++)
    if (edf_slide__note_of(edf.compnodes[i])->group == group)
      edf_slide__note(edf.compnodes[i])->group = both;
}
/* Names y after the left side of its line. A node that has a line already gets an alias. In a
   layer, a number follows the name, and the node of the last line is named after the layer. */
static void edf_slide__name_as(edf_node *y, const edf_slide__statement *l) {
  const edf_slide__slide *all = l->slide;
  const char *name = l->m.e.ref->name;
  edf_slide__facts *note = y ? edf_slide__note(y) : NULL;
  if (y && !all->layer && note->line && note->line != l) {
    if (!strcmp(y->name, name) || edf_slide__alias_of(y, name)) return;
    edf_slide__alias *also = (edf_slide__alias *)edf_slide__alloc(sizeof *also);
    also->name = name;
    also->line = l;
    also->next = note->also;
    note->also = also;
    edf_slide__head_too(y, l);
  } else if (y && !all->layer) {
    y->name = name;
    note->line = l;
    note->inner = 0;
  } else if (y && (l->step || l < all->line + all->n - 1))
    edf_slide__called(y, name, "");
}
/* Returns 0 if prints show the line of a step of l, 1 if they show only its nodes, and 2 if
   they fold the step. `before` is the number of nodes before the step. A step is folded if it
   is behind the largest offset, and has the same nodes as the step before. */
static int edf_slide__shown_of_step(edf_slide__statement *l, int before) {
  int time[EDF_SLIDE__LOOPS], nearest = -1, later = 0;
  unsigned form = 17;
  for (int i = before; i < edf.n_compnodes; i++) {
    const edf_node *x = edf.compnodes[i];
    const edf_equation *e =
      edf_slide__has_equation(x) ? &edf_slide__einsum_of(x)->e : NULL;
    form = form * 31 + (unsigned)((uintptr_t)x->about >> 4) + (unsigned)x->n_in;
    if (e) form = form * 31 + (unsigned)(e->n_term * 64 + e->n_ref);
  }
  for (int k = 0; k < l->n_loop && l->fixed; k++) {
    if (l->loop[k] < 0) return 0;        /* a given step                                      */
    int t = l->at[l->loop[k]] + l->m.e.ref->place[l->axis[k]].constant;
    int T = (int)edf_slide__times_of(l, k), order = l->back[k] ? T - 1 - t : l->at[l->loop[k]];
    time[k] = t;
    if (order > l->reach[k]) nearest = k;
    if (order > later) later = order > l->reach[k] ? 2 : 1;
  }
  if (!l->fixed || l->entry) return 0;
  l->form[edf_slide__step_at(l, time) - l->step] = form;
  if (nearest >= 0) {
    time[nearest] += l->back[nearest] ? 1 : -1;
    if (l->form[edf_slide__step_at(l, time) - l->step] != form) later = 1;
  }
  if (edf.n_compnodes > before && !l->told++) later = 0;               /* its first nodes     */
  return later;
}
/* Returns the heading of a line's nodes, or NULL: the line as its author wrote it and its step,
   h[b,t] = ...   [t=0]. A later step has only [t=1], for all its lines. */
static const char *edf_slide__heading(edf_slide__statement *l, const char *time, int later) {
  edf_slide__slide *all = l->slide;
  edf_page page = { NULL, 0 };
  if (later && all->step_heading && !strcmp(all->step_told, time)) return all->step_heading;
  if (!later && !all->in) edf_slide__write_author(&page, l);
  if (time) edf_write(&page, page.n ? "   [%s]" : "[%s]", time);
  char *heading = page.n ? edf_slide__copy(page.at) : NULL;
  edf_release(page.at);
  all->step_heading = later ? heading : NULL;
  all->step_told = time;
  return heading;
}
/* Builds the node of a line, which is a call, parts joined with ';', or an equation. */
static edf_node *edf_slide__whole_line(edf_slide__statement *l, edf_ref left) {
  int before = edf.n_compnodes;
  edf_node *y = l->right->next ? edf_slide__joined_line(l, left)
                               : edf_slide__line_node(l, l->right, left, 0);
  int later = edf_slide__shown_of_step(l, before);
  const char *time = "";
  for (int i = 0; i < l->m.e.n_index; i++)
    if (l->fixed >> i & 1)
      time = edf__text("%s%s%.15s=%d", time, *time ? "," : "", l->m.e.index[i].name, l->at[i]);
  time = *time ? edf_slide__copy(time) : NULL;
  if (later == 1 && l->slide->told && !strcmp(l->slide->told, time)) later = 0;
  if (!later) l->slide->told = time;     /* In this step all lines are shown.                 */
  edf_slide__name_as(y, l);
  const char *group = edf.n_compnodes > before ? edf_slide__heading(l, time, later) : NULL;
  for (int i = before; i < edf.n_compnodes; i++) {
    edf_slide__facts *note = edf_slide__note(edf.compnodes[i]);
    if (!note->time) note->time = time;
    note->group = group;
    note->inner = edf.compnodes[i] != y;
    note->later = later;
    if (!l->slide->in) note->said = edf_slide__author_line(l);
  }
  return y;
}

/* ==== >>steps  Recurrences, step by step ================================================== */
/* ---- Recurrences: which lines run step by step, and over which indices. Returns the index of
   a position that is t, t-1 or t+1, or -1 for another position. */
static int edf_slide__time_index(const edf_slide__statement *l, const edf_place *place) {
  edf_place p = *place;
  p.constant = 0;
  return edf_slide__alone(&l->m.e, &p);
}
/* Returns the offset of position p against position `left` of the line that p reads: -1 for t-1
   against t. Returns 0 if the two positions have different indices. */
static int edf_slide__offset_of(const edf_slide__statement *l, const edf_place *p,
                                const edf_slide__statement *by, const edf_place *left) {
  int i = edf_slide__time_index(by, left), j = edf_slide__time_index(l, p);
  if (i < 0 || j < 0 || edf_slide__index_for(&l->m.e, by->m.e.index[i].name) != j) return 0;
  return p->constant - left->constant;
}

/* Makes one group of the lines `from` .. `by`, and of all groups that overlap with them. */
static void edf_slide__make_group(edf_slide__slide *all, edf_slide__statement *from,
                                  edf_slide__statement *by) {
  int begin = (int)(from - all->line), end = (int)(by - all->line) + 1;
  for (int k = begin; k < end; k++) {
    const edf_slide__statement *l = &all->line[k];
    if (l->to && l->from < begin) begin = l->from;
    if (l->to > end) end = l->to;
  }
  for (int k = begin; k < end; k++) {
    all->line[k].from = begin;
    all->line[k].to = end;
  }
}

/* Finds for each line the first line that reads its tensor before it is computed. */
static void edf_slide__find_readers(edf_slide__slide *all) {
  for (edf_slide__statement *l = all->line; l < all->line + all->n; l++)
    for (int f = 1; f < l->m.e.n_ref && !l->entry; f++) {
      edf_slide__statement *by = edf_slide__line_of(all, l->m.e.ref[f].name);
      if (by && by >= l && !by->reader) by->reader = l;
    }
}

/* Finds the reads of line `by` in itself and in the lines above. Line `by` runs over the first
   index that has an offset in all reads. Without such an index, it runs over every index that
   has an offset in some read. */
static void edf_slide__find_reads(edf_slide__slide *all, edf_slide__statement *by) {
  const edf_ref *left = by->m.e.ref;
  unsigned some = 0, in_all = ~0u;
  const char *turns[EDF_MAX_RANK] = { NULL };
  for (edf_slide__statement *l = by->reader; l && l <= by; l++)
    for (int f = 1; f < l->m.e.n_ref; f++) {
      const edf_ref *r = &l->m.e.ref[f];
      unsigned offsets = 0;
      if (l->entry || strcmp(r->name, left->name)) continue;
      edf_slide__make_group(all, l, by);
      if (r->rank != left->rank) continue; /* edf_slide__now reports this error               */
      for (int d = 0; d < r->rank; d++) {
        int o = edf_slide__offset_of(l, &r->place[d], by, &left->place[d]);
        if (o * by->offset[d] < 0) turns[d] = r->place[d].at;
        if (abs(o) > abs(by->offset[d])) by->offset[d] = o;
        offsets |= (unsigned)(o != 0) << d;
      }
      if (!offsets)
        edf__syntax(l->m.e.scan, r->name,
                    l < by ? "%s is computed below: move its line up, or read an earlier step"
                           : "%s depends on itself: a recurrence must read an earlier step, as "
                             "in h[b,t-1,j]", left->name);
      some |= offsets;
      in_all &= offsets;
    }
  if (some & in_all) some = in_all & (~in_all + 1);
  for (int d = 0; d < left->rank; d++) {
    if (!(some >> d & 1)) by->offset[d] = 0;
    else if (turns[d])
      edf__syntax(by->m.e.scan, turns[d], "%s is read before and after its own step: read one "
                  "of both", left->name);
  }
}

/* Adds a loop over dimension `axis` of line `by` to all lines of its group. */
static void edf_slide__add_loop(edf_slide__slide *all, const edf_slide__statement *by,
                                int axis) {
  int i = edf_slide__time_index(by, &by->m.e.ref->place[axis]), n = by->n_loop;
  const char *name = by->m.e.index[i].name;
  for (int k = 0; k < n; k++) if (by->axis[k] == axis) return;
  for (edf_slide__statement *l = all->line + by->from; l < all->line + by->to; l++) {
    const edf_ref *left = l->m.e.ref;
    int d = 0;
    if (l->entry) continue;
    i = edf_slide__index_for(&l->m.e, name);
    while (d < left->rank && (i < 0 || edf_slide__time_index(l, &left->place[d]) != i)) d++;
    if (d == left->rank)
      edf__syntax(l->m.e.scan, left->name, "this line is in a recurrence over %s: expected "
                  "that index on the left", name);
    if (n == EDF_SLIDE__LOOPS)
      edf__syntax(l->m.e.scan, left->name, "a recurrence runs over at most two indices");
    if (left->place[d].constant < 0)
      edf__syntax(l->m.e.scan, left->place[d].at, "this position writes entry %d, below 0",
                  left->place[d].constant);
    l->axis[n] = d;
    l->back[n] = by->offset[axis] > 0;
    l->reach[n] = abs(by->offset[axis]);
    l->loop[l->n_loop++] = i;
  }
}

/* Joins all steps into one tensor, the last loop first. Zero steps share one node of zeros. */
static edf_node *edf_slide__all_times(edf_slide__statement *l) {
  int T[EDF_SLIDE__LOOPS], n = 1, time[EDF_SLIDE__LOOPS];
  edf_slide__value zero = { NULL, 0, *l->m.e.ref };
  edf_slide__drop_axes(&zero.at, l, l->n_loop);
  for (int k = 0; k < l->n_loop; k++) n *= T[k] = (int)edf_slide__times_of(l, k);
  edf_node **part = (edf_node **)edf_slide__alloc((size_t)n * sizeof *part);
  for (int i = 0; i < n; i++) {
    for (int k = l->n_loop - 1, rest = i; k >= 0; rest /= T[k--]) time[k] = rest % T[k];
    part[i] = *edf_slide__step_at(l, time);
    if (part[i]) zero.node = part[i];
  }
  for (int i = 0; i < n; i++) {
    if (part[i]) continue;
    if (zero.number == 0)
      zero.node = edf_slide__terms(l, EDF_SLIDE__SUM, &zero.at, &zero, NULL);
    zero.number = 1;
    part[i] = zero.node;
  }
  for (int k = l->n_loop - 1; k >= 0; k--) {
    edf_ref r = *l->m.e.ref;
    int axis = l->axis[k];
    for (int d = 0; d < r.rank; d++) r.place[d].constant = 0;
    for (int o = 0; o < k; o++) axis -= l->axis[o] < l->axis[k];
    edf_slide__drop_axes(&r, l, k);
    n /= T[k];
    for (int i = 0; i < n; i++)
      part[i] = edf_slide__joined(&l->slide->site, r.rank, axis, edf_slide__letters_at(l, &r),
                                  T[k], part + i * T[k]);
  }
  edf_slide__name_as(*part, l);
  return l->y = *part;
}

/* ---- Tensors, sizes and new Parameters. Returns the tensor `name` of grad(L, x[i]), which is
   above. */
static edf_node *edf_slide__above(edf_slide__statement *l, const char *name) {
  edf_slide__statement *by = edf_slide__line_of(l->slide, name);
  if (by && !by->y && by->step && by->to <= l - l->slide->line) edf_slide__all_times(by);
  edf_node *x = by ? by->y : edf_slide__known(l->slide, name);
  if (!x)
    edf__syntax(l->m.e.scan, name, "%s has no line above: a derivative needs its node", name);
  return x;
}
/* Finds the node of each tensor on the right of l. */
static void edf_slide__know_tensors(edf_slide__statement *l) {
  for (int f = 1; f < l->m.e.n_ref; f++) {
    const edf_ref *r = &l->m.e.ref[f];
    if (l->grad_of[f]) {
      edf_node *L = edf_slide__above(l, l->grad_of[f]);
      l->of[f] = edf_slide__derive(&l->slide->site, L, edf_slide__above(l, l->grad_by[f]));
      continue;
    }
    edf_slide__statement *by = edf_slide__line_of(l->slide, r->name);
    int below = !l->slide->in || by >= l;            /* in edf_text, NULL is zero             */
    int other = by && (!l->to || by->from != l->from || by->to != l->to);
    if (other && !by->y && by->step) edf_slide__all_times(by);
    if (other && !by->y && below)
      edf__syntax(l->m.e.scan, r->name, "%s is computed below: move its line up, or read an "
                  "earlier step", r->name);
    l->of[f] = by ? by->y : edf_slide__known(l->slide, r->name);
  }
}

/* If only one of two sizes is known, sets the other to it, and returns 1. */
static int edf_slide__same_extent(ptrdiff_t *a, ptrdiff_t *b) {
  if ((*a < 0) == (*b < 0)) return 0;
  if (*a < 0) *a = *b;
  else *b = *a;
  return 1;
}
/* Returns the size of a position on the left that joins parts: K+I for the position K+I.
   Returns -1 if the size is unknown, or if the line joins no parts. */
static ptrdiff_t edf_slide__joined_extent(const edf_slide__statement *by, const edf_place *p) {
  ptrdiff_t n = 0;
  for (int i = 0; i < by->m.e.n_index; i++) {
    if (p->factor[i] && by->m.extent[i] <= 0) return -1;
    n += p->factor[i] * by->m.extent[i];
  }
  return n > 0 && by->right->next ? n : -1;
}
/* Shares sizes between r and the left side of line `by`. Returns 1 if it found a size. */
static int edf_slide__share_extents(edf_slide__statement *l, const edf_ref *r,
                                    edf_slide__statement *by) {
  int changed = 0;
  for (int d = 0; d < r->rank && d < by->m.e.ref->rank; d++) {
    const edf_place *left = &by->m.e.ref->place[d];
    int i = edf_slide__time_index(l, &r->place[d]), o = edf_slide__time_index(by, left);
    if (i < 0) continue;
    ptrdiff_t joined = o < 0 ? edf_slide__joined_extent(by, left) : -1;
    if (o < 0 && joined < 0) continue;               /* the left side gives no size           */
    changed |= edf_slide__same_extent(&l->m.extent[i], o < 0 ? &joined : &by->m.extent[o]);
  }
  return changed;
}

/* Stops if tensor r of line l, which the group of line `by` computes, has another size than
   line `by` gives it. */
static void edf_slide__check_group_sizes(const edf_slide__statement *l, const edf_ref *r,
                                         const edf_slide__statement *by) {
  const edf__scan *s = l->m.e.scan;
  for (int d = 0; d < r->rank && d < by->m.e.ref->rank; d++) {
    const edf_place *left = &by->m.e.ref->place[d];
    int i = edf_slide__alone(&l->m.e, &r->place[d]), o = edf_slide__alone(&by->m.e, left);
    ptrdiff_t n = i < 0 ? -1 : l->m.extent[i];
    ptrdiff_t here = o < 0 ? edf_slide__joined_extent(by, left) : by->m.extent[o];
    if (n < 0 || here < 0 || n == here) continue;
    const char *name = l->m.e.index[i].name, *batch = "the batch";
    int bound = l->m.e.index[i].bound;
    const edf_ref *from = l->m.source[i];
    const edf_node *x = from ? l->of[from - l->m.e.ref] : NULL;
    if (bound && here && bound < here) continue;
    if (bound && here)
      edf__syntax(s, r->place[d].at, "the bound %s<%d is larger than this dimension of %s, %ld",
                  name, bound, r->name, (long)here);
    edf__syntax(s, r->place[d].at, "index %s has two different sizes\n  %s is %s in %s\n  %s "
                "is %s in %s%s%s", name, name, here ? edf__text("%ld", (long)here) : batch,
                r->name, name, n ? edf__text("%ld", (long)n) : batch,
                from ? from->name : "this line",
                x ? " = " : "", x ? edf__show(x) : "");
  }
}

/* Makes room for a node for each step. Stops unless the number of steps is known. */
static void edf_slide__begin_steps(edf_slide__statement *l) {
  const edf__scan *s = l->m.e.scan;
  size_t n = 1;
  for (int k = 0; k < l->n_loop; k++) {
    const char *c = l->m.e.index[l->loop[k]].name;
    ptrdiff_t T = l->m.extent[l->loop[k]];
    if (T == 0)
      edf__syntax(s, c, "%s is the batch, but the number of steps must be known", c);
    if (T < 0)
      edf__syntax(s, c, "the number of steps must be known: add '| %s<n'", c);
    if ((double)n * ((double)edf_slide__times_of(l, k) + 2) > (int)EDF_SLIDE__STEPS)
      edf__syntax(s, c, "a recurrence has at most %d steps", EDF_SLIDE__STEPS);
    n *= (size_t)edf_slide__times_of(l, k) + 2;
  }
  l->n_step = n;
  l->step = (edf_node **)edf_slide__tree(n * sizeof *l->step);
  l->is_read = (char *)edf_slide__tree(n);
  l->form = (unsigned *)edf_slide__tree(n * sizeof *l->form);
}

/* Returns the line that defines the tensor of l. It is l, unless l gives entries: h[b,-1,j] =
   0. */
static edf_slide__statement *edf_slide__given_by(edf_slide__statement *l) {
  return l->entry ? edf_slide__line_of(l->slide, l->m.e.ref->name) : l;
}
/* Returns 1 if l defines or gives entries of a tensor of the lines from .. to-1. */
static int edf_slide__belongs(edf_slide__statement *l, const edf_slide__statement *from,
                              const edf_slide__statement *to) {
  const edf_slide__statement *by = edf_slide__given_by(l);
  return by && by >= from && by < to;
}

/* Makes *first .. *end-1 the lines from .. to-1 and those that give entries of their tensors,
   with all lines between. */
static void edf_slide__find_range(edf_slide__statement *from, edf_slide__statement *to,
                                  edf_slide__statement **first, edf_slide__statement **end) {
  *first = from;
  *end = to;
  for (edf_slide__statement *l = from, *o; l < to; l++) {
    if (!l->oldest->is_given) continue;
    if (l->oldest < *first) *first = l->oldest;
    o = *edf_slide__newest_line(l->slide, l->m.e.ref->name);
    if (o >= *end) *end = o + 1;
  }
}
/* Returns 1 if the size of each index on the left of l is known. */
static int edf_slide__knows_left(const edf_slide__statement *l) {
  int known = 1;
  for (int i = 0; i < l->m.e.n_index; i++)
    known &= !(l->left >> i & 1) || l->m.extent[i] >= 0;
  return known;
}
/* Prepares the lines from .. to-1, and the lines that give entries of their tensors. */
static void edf_slide__prepare(edf_slide__slide *all, edf_slide__statement *from,
                               edf_slide__statement *to) {
  edf_slide__statement *l, *first, *end;
  edf_slide__find_range(from, to, &first, &end);
  for (l = first; l < end; l++) {
    if (!edf_slide__belongs(l, from, to)) continue;
    edf_slide__know_tensors(l);
    edf_slide__solve_extents(l);
    for (edf_slide__statement *o = l->older; l->adds && o; o = o->older) {
      edf_slide__share_extents(l, l->m.e.ref, o);
      if (edf_slide__knows_left(l)) break;
    }
  }
  for (int changed = 1; changed;)
    for (changed = 0, l = first; l < end; l++) {
      if (!edf_slide__belongs(l, from, to)) continue;
      for (const edf_slide__mask *m = l->mask; m < l->mask + l->n_mask; m++)
        if (m->low >= 0 && m->high >= 0 && !m->where)
          changed |= edf_slide__same_extent(&l->m.extent[m->low], &l->m.extent[m->high]);
      for (int f = 0; f < l->m.e.n_ref; f++) {
        edf_slide__statement *by = edf_slide__line_of(all, l->m.e.ref[f].name);
        if (by && by >= from && by < to)
          changed |= edf_slide__share_extents(l, &l->m.e.ref[f], by);
      }
    }
  for (l = first; l < end; l++)
    for (int f = 1; edf_slide__belongs(l, from, to) && f < l->m.e.n_ref; f++) {
      const edf_slide__statement *by = edf_slide__line_of(all, l->m.e.ref[f].name);
      if (by && by->to && by >= from && by < to)
        edf_slide__check_group_sizes(l, &l->m.e.ref[f], by);
    }
  for (l = first; l < end; l++) {
    if (!edf_slide__belongs(l, from, to)) continue;
    edf_slide__set_groups(l);
    edf_slide__new_parameters(l);
    if (l->to && !l->entry) edf_slide__begin_steps(l);
    edf_slide__check_known(&l->m);
  }
}

/* ---- Running a recurrence. */
/* Runs one step of line l. A line with a number as its time gives that step of h: h[b,-1,j] =
   z[b,j]. If the line has numbers at other positions too, F[0,0] = 1, all other entries of the
   step are 0. */
static void edf_slide__run_step(edf_slide__statement *l) {
  edf_slide__statement *by = edf_slide__given_by(l);
  edf_slide__value from = { NULL, 1, *by->m.e.ref };
  edf_ref left = edf_slide__ref_now(l, *l->m.e.ref), whole;
  int time[EDF_SLIDE__LOOPS] = { 0, 0 }, single = 0;
  for (int k = 0; k < by->n_loop; k++) time[k] = left.place[by->axis[k]].constant;
  edf_node **step = edf_slide__step_at(by, time);
  if (!step)
    edf__syntax(l->m.e.scan, left.name, "there is no such step of %s: the step before the "
                "first is -1", left.name);
  if (*step && l == by) return;
  if (*step)
    edf__syntax(l->m.e.scan, left.name, "two lines give this step of %s", left.name);
  edf_slide__drop_axes(&left, by, by->n_loop);
  edf_slide__drop_axes(&from.at, by, by->n_loop);
  whole = from.at;                       /* shifted by one, so that entries outside are 0     */
  for (int d = 0; l->entry && d < left.rank; d++) {
    if (edf_slide__place_has(&left.place[d])) continue;
    left.place[d].constant++;
    single = from.at.place[d].constant = 1;
  }
  *step = from.node = edf_slide__whole_line(l, left);
  if (single) *step = edf_slide__terms(by, EDF_SLIDE__SUM, &whole, &from, NULL);
}

/* Runs all steps of the lines from .. to-1. */
static void edf_slide__run_steps(edf_slide__statement *from, edf_slide__statement *to) {
  const edf_slide__statement *last = to - 1;
  int T[EDF_SLIDE__LOOPS], n = 1;
  for (int k = 0; k < last->n_loop; k++)
    n *= T[k] = last->loop[k] < 0 ? 1 : (int)last->m.extent[last->loop[k]];
  for (int i = 0; i < n; i++)
    for (edf_slide__statement *l = from; l < to; l++) {
      if (l->entry != last->entry || l->y) continue;
      for (int k = last->n_loop - 1, rest = i; k >= 0; rest /= T[k--]) {
        int t = rest % T[k];
        if (l->loop[k] < 0) continue;
        l->fixed |= 1u << l->loop[k];
        l->at[l->loop[k]] = last->back[k] ? T[k] - 1 - t : t;
      }
      edf_slide__run_step(l);
      l->fixed = 0;
    }
}

/* Stops if l gives a step -1 or T of the tensor of `by`, and no line reads it. */
static void edf_slide__check_read_step(const edf_slide__statement *l,
                                       const edf_slide__statement *by) {
  int read = 0, outside = -1;
  for (int k = 0; k < by->n_loop; k++) {
    const edf_place *p = &l->m.e.ref->place[by->axis[k]];
    if (l->loop[k] < 0 && (p->constant < 0 || p->constant >= edf_slide__times_of(by, k)))
      outside = k;
  }
  for (size_t i = 0; i < by->n_step && outside >= 0; i++) {
    size_t at = i;
    int its = 1;
    for (int k = by->n_loop - 1; k >= 0; k--) {
      size_t n = (size_t)edf_slide__times_of(by, k) + 2;
      its &= l->loop[k] >= 0 ||
             (int)(at % n) - 1 == l->m.e.ref->place[by->axis[k]].constant;
      at /= n;
    }
    read |= its && by->is_read[i];
  }
  if (outside < 0 || read) return;
  edf__syntax(l->m.e.scan, l->m.e.ref->place[by->axis[outside]].at, "nothing reads this step "
              "of %s: its own steps are 0 to %ld", l->m.e.ref->name,
              (long)edf_slide__times_of(by, outside) - 1);
}

/* Gives folded steps one heading, which stands for all of them in prints. */
static void edf_slide__fold_steps(int first) {
  for (int i = first, last; i < edf.n_compnodes; i = last + 1) {
    const edf_slide__facts *a = edf_slide__note_of(edf.compnodes[i]), *b = a;
    last = i;
    if (a->later < 2 || edf_slide__is_helper(edf.compnodes[i])) continue;
    for (int k = i + 1; k < edf.n_compnodes; k++) {
      if (edf_slide__is_helper(edf.compnodes[k])) continue;
      if (edf_slide__note_of(edf.compnodes[k])->later < 2) break;
      b = edf_slide__note_of(edf.compnodes[last = k]);
    }
    for (int back = 0; back < 2; back++) {
      const char *form = strcmp(a->time, b->time) ? "%s to %s" : "%s";
      const char *times = edf__text(form, back ? b->time : a->time, back ? a->time : b->time);
      const char *nodes = edf__text(i < last ? "nodes %d to %d" : "node %d", back ? last : i,
                                    back ? i : last);
      char *fold = edf_slide__copy(edf__text("[%s] the same: %s", times, nodes));
      for (int k = i; k <= last; k++) edf_slide__note(edf.compnodes[k])->fold[back] = fold;
    }
  }
}

/* Marks x as a step of line l. */
static void edf_slide__set_steps(edf_node *x, const edf_slide__statement *l) {
  edf_slide__alias *also = edf_slide__alias_of(x, l->m.e.ref->name);
  if (also) also->steps = l;
  else edf_slide__note(x)->steps = l;
}
/* Runs the recurrence of the lines from .. to-1. Lines that give its entries run first. */
static void edf_slide__recur(edf_slide__slide *all, edf_slide__statement *from,
                             edf_slide__statement *to) {
  edf_slide__statement *l, *first, *end;
  edf_slide__find_range(from, to, &first, &end);
  edf_slide__prepare(all, from, to);
  for (l = first; l < end; l++) {
    const edf_slide__statement *by = edf_slide__given_by(l);
    if (!l->entry || !edf_slide__belongs(l, from, to)) continue;
    if (l->m.e.ref->rank != by->m.e.ref->rank)
      edf__syntax(l->m.e.scan, l->m.e.ref->name, "expected %d indices, as below",
                  by->m.e.ref->rank);
    l->n_loop = by->n_loop;              /* h[-1,t,j] = x[t,j] is a loop over t               */
    int numbers = 0;
    for (int k = 0; k < l->n_loop; k++) {
      l->loop[k] = edf_slide__time_index(l, &l->m.e.ref->place[by->axis[k]]);
      numbers += l->loop[k] < 0;
    }
    if (!numbers)
      edf__syntax(l->m.e.scan, l->m.e.ref->place[by->axis[0]].at, "a line beside the "
                  "recurrence of %s gives a step: expected its number here, in place of %s",
                  l->m.e.ref->name, l->m.e.index[l->loop[0]].name);
    edf_slide__run_steps(l, l + 1);
  }
  int before = edf.n_compnodes;
  edf_slide__run_steps(from, to);
  edf_slide__fold_steps(before);
  for (l = first; l < end; l++)
    if (l->entry && edf_slide__belongs(l, from, to))
      edf_slide__check_read_step(l, edf_slide__given_by(l));
  for (l = from; l < to; l++) {
    if (l->entry || l->y) continue;
    edf_node *some = NULL;
    for (size_t i = 0; i < l->n_step; i++)
      if (l->step[i] && (some = l->step[i]) && !all->layer) edf_slide__set_steps(some, l);
    if (!some) edf__syntax(l->m.e.scan, l->m.e.ref->name, "%s is 0 at all steps",
                           l->m.e.ref->name);
  }
}

/* ==== >>build  All lines of a text ======================================================== */
/* ---- The text. Returns 1 if a position on the left of l is a number. */
static int edf_slide__has_number(const edf_slide__statement *l) {
  int number = 0;
  for (int d = 0; d < l->m.e.ref->rank; d++) {
    int by_value = 0;
    for (edf_slide__expr *k = l->where->in; k; k = k->next) by_value |= k->place == d;
    number |= !by_value && !edf_slide__place_has(&l->m.e.ref->place[d]);
  }
  return number;
}
/* Stops because two lines with = define the tensor of l. */
static void edf_slide__two_lines(const edf_slide__statement *l) {
  const char *name = l->m.e.ref->name;
  edf__syntax(l->m.e.scan, name, "%s is already defined above: write += to add to it. To join "
              "parts write one line, as in %s[J+K] = a[J] ; c[K]. Only a recurrence has "
              "several lines with =", name, name);
}
/* Marks lines that give entries. The left side of such a line has a number, but another line of
   the same tensor has none. Stops if a line defines a tensor again. */
static void edf_slide__mark_entries(edf_slide__slide *all) {
  edf_slide__statement *o, *end = all->line + all->n;
  for (edf_slide__statement *l = all->line; l < end; l++) {
    l->oldest->is_free |= !edf_slide__has_number(l);
    if (l->adds) l->oldest->last_added = l;
  }
  for (edf_slide__statement *l = all->line; l < end; l++) {
    const edf_slide__expr *p = l->right->in, *f = p->next ? NULL : edf_slide__only(p);
    int given = !l->adds && edf_slide__has_number(l);
    int zero = !l->adds && f && f->sort == EDF_SLIDE__A_NUMBER && f->number == 0;
    l->entry = (given && l->oldest->is_free) ||      /* also h[b,j] = 0 above h[b,j] += ...   */
               (zero && l->oldest->last_added > l);
    l->oldest->is_given |= l->entry;
    for (o = l->older; o && !l->entry && !l->adds; o = o->older)
      if (!o->entry) edf_slide__two_lines(l);
  }
}
/* Stops unless the tensor of each line of entries has a recurrence, or begins with 0. Stops if
   several lines add to a tensor of a recurrence. */
static void edf_slide__check_entries(edf_slide__slide *all) {
  for (edf_slide__statement *l = all->line; l < all->line + all->n; l++) {
    const edf_slide__statement *by = edf_slide__line_of(all, l->m.e.ref->name);
    if (l != by && !l->entry && by->to)
      edf__syntax(by->m.e.scan, by->m.e.ref->name, "several lines add to %s, which has a "
                  "recurrence: write one line", by->m.e.ref->name);
    if (l->entry && !by->to && !(by->adds && !edf_slide__has_number(l)))
      edf_slide__two_lines(by > l ? by : l);
  }
}
/* Adds up all lines of one name, if `last` is the last of them. */
static void edf_slide__add_lines(edf_slide__slide *all, edf_slide__statement *last) {
  const edf__site *at = &all->site;
  const edf_ref *r = last->m.e.ref;
  edf_node *sum = NULL;
  if (edf_slide__line_of(all, r->name) != last) return;
  for (edf_slide__statement *l = last->oldest; l && l <= last; l = l->newer)
    if (!l->entry) {
      if (sum && (sum->rank != l->y->rank || memcmp(sum->dim, l->y->dim, sizeof sum->dim)))
        edf__syntax(l->m.e.scan, l->m.e.ref->name, "the lines of %s have one shape, but here "
                    "it is another. To join parts write one line, as in %s[J+K] = a[J] ; c[K]"
                    "\n  %s\n  %s", r->name, r->name, edf__show(sum), edf__show(l->y));
      sum = sum ? edf_node2(&edf_add_op, at->file, at->line, sum, l->y) : l->y;
    }
  last->y = sum;
  edf_slide__name_as(sum, last);
}

/* Begins to read a program, and makes room for its lines. */
static edf__scan *edf_slide__begin_text(edf_slide__slide *all, const edf__site *at,
                                        const char *what, const char *text, int n) {
  size_t lines = 1;
  all->site = *at;
  all->scan = edf__scan_of(at, what, text, n, n, "\t\r", edf_slide__type_signs);
  edf_slide__join_lines((char *)(uintptr_t)all->scan.at);
  for (const char *c = all->scan.at; *c; c++) lines += *c == '\n';
  all->line = (edf_slide__statement *)edf_slide__tree(lines * sizeof *all->line);
  for (all->n_table = 4; all->n_table < 2 * lines;) all->n_table *= 2;
  all->table = (edf_slide__statement **)edf_slide__tree(all->n_table * sizeof *all->table);
  all->first = edf.n_compnodes;
  return &all->scan;
}
static void edf_slide__read_text(edf_slide__slide *all, const edf__site *at, const char *text,
                                 int n) {
  edf__scan *s = edf_slide__begin_text(all, at, "equation", text, n);
  while (*(s->at += strspn(s->at, " \r\n"))) edf_slide__read_line(all, s);
  if (!all->n) edf__fail(*at, "the program has no equation, found the end");
}

/* ---- Constants. A node that depends on no Input and no Parameter runs once for each batch
   size: a mask or 1/B. It runs again if EDF_DEBUG has set its value to NaN. */
static void edf_slide__run_once(edf_node *y) {
  void (*forward)(edf_node *) = edf_slide__note(y)->forward;
  int is_nan = *y->value != *y->value;
  if (y->fed != edf.batch || is_nan) {
    if (forward == y->about->forward) edf_run_code(y, 0);
    else forward(y);                     /* that of a device                                  */
  }
  y->fed = edf.batch;
}
static void edf_slide__mark_constants(int from) {
  for (int i = from; i < edf.n_compnodes; i++) {
    edf_node *y = edf.compnodes[i];
    int constant = y->n_in > 0 && strcmp(y->op, "Dropout");
    if (y->forward == edf_slide__run_once) continue;
    for (int k = 0; k < y->n_in; k++) constant &= y->in[k]->forward == edf_slide__run_once;
    if (!constant && y->shape != edf_slide__count_shape) continue;
    edf_slide__note(y)->forward = y->forward;
    y->forward = edf_slide__run_once;
  }
}

/* Builds all lines of a program, and returns the node of the last line. */
static edf_node *edf_slide__run_slide(edf_slide__slide *all) {
  int before = edf.n_compnodes;
  edf_slide__building = all;
  edf__find_equal = edf_slide__find_equal;
  edf_slide__mark_entries(all);
  for (int k = 0; k < all->n; k++) edf_slide__bind_line(&all->line[k]);
  edf_slide__find_readers(all);
  for (int k = 0; k < all->n; k++) edf_slide__find_reads(all, &all->line[k]);
  edf_slide__check_entries(all);
  for (edf_slide__statement *l = all->line; l < all->line + all->n; l++)
    for (int d = 0; d < l->m.e.ref->rank; d++) if (l->offset[d]) edf_slide__add_loop(all, l, d);
  for (int k = 0; k < all->n; k++) {
    edf_slide__statement *l = &all->line[k];
    if (l->entry) continue;
    if (l->to) {
      k = l->to - 1;
      edf_slide__recur(all, all->line + l->from, all->line + l->to);
    } else {
      edf_slide__prepare(all, l, l + 1);
      l->y = edf_slide__whole_line(l, *l->m.e.ref);
      edf_slide__add_lines(all, l);
    }
  }
  edf_slide__statement *last = edf_slide__line_of(all, all->line[all->n - 1].m.e.ref->name);
  if (!last->y) edf_slide__all_times(last);
  edf__find_equal = NULL;
  for (int i = before; i < edf.n_compnodes && !all->in; i++)           /* a sum of += lines   */
    if (!edf_slide__note(edf.compnodes[i])->said) edf_slide__note(edf.compnodes[i])->said = "";
  edf_slide__mark_constants(before);
  return last->y;
}

edf_node *edf_equations_at(const char *file, int line, const char *format, ...) {
  edf__site site = { "Equations", file, line };
  edf_slide__frees_trees = 0;
  edf_slide__slide *all = (edf_slide__slide *)edf_slide__tree(sizeof *all);
  va_list args;
  if (!format) edf__fail(site, "the text is NULL");
  va_start(args, format);
  int n = edf__vformat(NULL, 0, format, args);
  va_end(args);
  char *text = (char *)edf_slide__alloc((size_t)n + 1);
  va_start(args, format);
  edf__vformat(text, (size_t)n + 1, format, args);
  va_end(args);
  edf_slide__read_text(all, &site, text, n);
  edf_release(text);
  return edf_slide__run_slide(all);
}

/* ---- Texts over given nodes: edf_text, Recurrence and layers. Collects the names in x that no
   line defines, in the order in which they first appear. */
static void edf_slide__find_operands(edf_slide__slide *all, const edf_slide__statement *l,
                                     const edf_slide__expr *x) {
  edf_equation *to = &all->operands;
  int is = x->sort == EDF_SLIDE__A_TENSOR, grad = is && l->grad_of[x->which];
  if (x->sort == EDF_SLIDE__A_NAME) is = edf_slide__index_for(&l->m.e, x->at) < 0;
  for (int k = 0; k < is + grad; k++) {
    const char *name = !grad ? x->at : k ? l->grad_by[x->which] : l->grad_of[x->which];
    if (edf_slide__line_of(all, name) || edf_slide__operand_named(all, name) >= 0) continue;
    edf_ref *r = edf_slide__next_ref_in(edf_slide__trees(), to);
    r->name = name;
    r->operand = to->n_operand++;
  }
  for (const edf_slide__expr *k = x->in; k; k = k->next) edf_slide__find_operands(all, l, k);
}

/* Reads a text over n nodes. Nodes from number `needed` on may be NULL, which means zero. */
static void edf_slide__read_over_nodes(edf_slide__slide *all, const edf__site *at,
                                       const char *text, int n, int needed, edf_node **in) {
  memset(all, 0, sizeof *all);
  all->in = in;
  all->layer = at->op;
  /* ref[0] is for a left side, and stays empty */
  edf_slide__next_ref_in(edf_slide__trees(), &all->operands);
  edf_slide__read_text(all, at, text, text ? (int)strlen(text) : 0);
  for (edf_slide__statement *l = all->line; l < all->line + all->n; l++) {
    for (int right = 0; right < 2; right++)
      for (edf_slide__expr *x = right ? l->right : l->where->in; x; x = x->next)
        edf_slide__find_operands(all, l, x);
    for (int m = 0; m < l->n_mask; m++) edf_slide__find_operands(all, l, l->mask[m].test);
  }
  const edf_ref *name = all->operands.ref + 1;
  int wanted = all->operands.n_operand;
  for (int k = 0; k < n; k++)
    if (in[k] || k < needed)
      edf_slide__check(at, in[k], k < wanted ? name[k].name : "an operand");
  if (n == wanted) return;
  edf_page list = { NULL, 0 };
  for (int k = 0; k < n || k < wanted; k++)
    edf_write(&list, "\n  %s = %s", k < wanted ? name[k].name : "(no name)",
              k < n ? edf__show(in[k]) : "NULL or missing");
  edf__syntax(&all->scan, all->scan.text, "the text has %d operands, but %d %s given%s", wanted,
              n, n == 1 ? "was" : "were", list.at);
}
/* Frees the trees of a text. Its equations get a text of their own for messages. */
static void edf_slide__end_trees(edf_slide__slide *all, int outermost) {
  edf__scan *scan = (edf__scan *)edf_slide__alloc(sizeof *scan);
  *scan = all->scan;
  for (int i = all->first; i < edf.n_compnodes; i++) {
    edf_contraction *m = edf_contraction_of(edf.compnodes[i]);
    if (m && m->e.scan == &all->scan) m->e.scan = m->written.scan = scan;
    if (edf_slide__note_of(edf.compnodes[i])->line)
      edf_slide__note(edf.compnodes[i])->line = NULL;
    for (edf_slide__alias *also = edf_slide__note_of(edf.compnodes[i])->also; also;
         also = also->next) also->line = also->steps = NULL;
  }
  if (!outermost) return;
  edf__free_list(&edf.scratch);
  edf_slide__frees_trees = 0;
}
static edf_node *edf_slide__lines(const edf__site *at, const char *text, int n, int needed,
                                  edf_node **in) {
  int outermost = edf_slide__begin_trees();
  edf_slide__slide *all = (edf_slide__slide *)edf_slide__tree(sizeof *all);
  edf_slide__read_over_nodes(all, at, text, n, needed, in);
  edf_node *y = edf_slide__run_slide(all);
  edf_slide__end_trees(all, outermost);
  return y;
}

/* Reads and builds a text over the nodes in `args`, which end with NULL. */
static edf_node *edf_slide__text_of(const edf__site *at, int is_layer, const char *text,
                                    va_list args) {
  edf_slide__frees_trees = 0;
  edf_slide__slide *all = (edf_slide__slide *)edf_slide__tree(sizeof *all);
  edf_node **in = NULL;
  int n = 0;
  for (edf_node *x; (x = va_arg(args, edf_node *)) != NULL; in[n++] = x)
    in = (edf_node **)edf_keep(in, (size_t)(n + 8) / 8 * 8 * sizeof *in);
  edf_slide__read_over_nodes(all, at, text, n, n, in);
  if (!is_layer) all->layer = NULL;
  edf_node *y = edf_slide__run_slide(all);
  edf_release(in);
  return y;
}
edf_node *edf_text_at(const char *file, int line, const char *text, ...) {
  edf__site at = { "edf_text", file, line };
  va_list args;
  va_start(args, text);
  edf_node *y = edf_slide__text_of(&at, 0, text, args);
  va_end(args);
  return y;
}
edf_node *edf_recurrence_at(const char *file, int line, const char *equation, ...) {
  edf__site at = { "Recurrence", file, line };
  va_list args;
  va_start(args, equation);
  edf_node *y = edf_slide__text_of(&at, 1, equation, args);
  va_end(args);
  return y;
}

/* ---- Einsum: a text of one line, which is a sum of products of tensors. */
static void edf_slide__check_products(const edf_slide__statement *l) {
  const edf__scan *s = l->m.e.scan;
  for (const edf_slide__expr *p = l->right->in, *f; p; p = p->next) {
    int tensors = 0;
    for (f = p->in; f; f = f->next) {
      int scalar = f->sort == EDF_SLIDE__A_NAME && edf_slide__index_for(&l->m.e, f->at) < 0;
      tensors += f->sort == EDF_SLIDE__A_TENSOR || scalar;
      if (f->sort == EDF_SLIDE__A_TENSOR ? !f->in : scalar || f->sort == EDF_SLIDE__A_NUMBER)
        continue;
      edf__syntax(s, f->at, "an Einsum is a sum of products of tensors: a function is a node "
                  "of its own, and Equations reads any line");
    }
    if (!tensors)
      edf__syntax(s, p->at, "a term needs a tensor; for a constant use a scalar Parameter or "
                  "Input: one - G[b,j]");
  }
  if (l->adds || l->loops || l->n_mask || l->where->in || l->right->next)
    edf__syntax(s, l->where->at, "an Einsum is y[b,j] = a sum of products of tensors: "
                "Equations reads any line");
}
static edf_node *edf_slide__parsed(const edf__site *at, const char *text, int n,
                                   edf_node **in) {
  int outermost = edf_slide__begin_trees();
  edf_slide__slide *all = (edf_slide__slide *)edf_slide__tree(sizeof *all);
  edf__check_operands(*at, n, in);
  edf_slide__read_over_nodes(all, at, text, n, n, in);
  if (!strcmp(at->op, "Einsum")) all->layer = NULL;
  if (all->n != 1) edf__syntax(&all->scan, all->line[1].where->at, "an Einsum is one equation");
  edf_slide__check_products(all->line);
  edf_node *y = edf_slide__run_slide(all);
  edf_slide__end_trees(all, outermost);
  return y;
}
const char *edf_fmt(const char *format, ...) {
  static edf__texts all;
  va_list args;
  va_start(args, format);
  const char *text = edf__vtext(&all, format, args);
  va_end(args);
  size_t n = strlen(text);
  if (n > 511)
    edf__fail(edf__call_of("edf_fmt"), "the text is too long: %zu characters, at most 511", n);
  return text;
}

edf_node *edf_einsum_at(const char *file, int line, const char *equation, ...) {
  edf__site at = { "Einsum", file, line };
  int n;
  va_list args;
  va_start(args, equation);
  edf_node **in = edf__operands(args, &n);
  va_end(args);
  edf_node *y = edf_slide__parsed(&at, equation, n, in);
  edf__free(in);
  return y;
}

edf_node *edf_find(const char *name) {
  edf__site at = { "edf_find", NULL, 0 };
  if (!name) edf__fail(at, "the name is NULL");
  edf_node *x = edf_slide__newest(name), *nearest = NULL;
  for (int i = 0, most = -1; !x && i < edf__n_nodes(); i++) {
    const char *other = edf__nth(i)->name;
    int n = 0;                           /* length of the common beginning of both names      */
    while (name[n] && edf_slide__upper(name[n]) == edf_slide__upper(other[n])) n++;
    if (n > most) nearest = edf__nth(i);
    if (n > most) most = n;
  }
  if (!x)
    edf__fail(at, "no tensor is called %s; the nearest name:\n  %s", name,
              nearest ? edf__show(nearest) : "none");
  return x;
}

/* ---- Embed. Builds y[b,t,j] = W[k[b,t],j], with as many indices as k and W have. */
edf_node *edf_embed_at(const char *file, int line, edf_node *W, edf_node *k) {
  edf__site at = { "Embed", file, line };
  edf_node *in[2] = { W, k };
  edf_slide__check(&at, W, "W");
  edf_slide__check(&at, k, "k");
  int rows = k->rank, columns = W->rank - 1;
  if (columns < 0 || rows + columns > EDF_MAX_RANK || k->kind == EDF_PARAMETER)
    edf__fail(at, "W has a row for each class, and k has the class numbers\n  %s\n  %s",
              edf__show(W), edf__show(k));
  const char *row = edf__text("%.*s", rows ? 2 * rows - 1 : 0, "b,t,u,v,w,x,y,z");
  const char *column = edf__text("%.*s", columns * 2, ",j,i,l,m,n,o,p");
  const char *class_number = edf__text(rows ? "k[%s]" : "floor(k)%s", row);
  const char *left = edf__text("%s%s", row, column + !rows);
  return edf_slide__lines(&at, edf__text("y%s%s%s = W[%s%s]", *left ? "[" : "", left,
                                         *left ? "]" : "", class_number, column), 2, 2, in);
}

#ifndef EDF_NO_DEBUG
/* ==== >>write  Equations as text ========================================================== */
/* Returns n with as few digits as it needs, as text of edf__text. */
static const char *edf_slide__number_text(double n) {
  char text[40];
  int digits = 6;
  if (!(fabs(n) < HUGE_VAL)) return n < 0 ? "-1e999" : "1e999";
  do edf_format(text, sizeof text, "%.*g", digits++, n);
  while (digits < 18 && fabs(edf_read_number(text, NULL) - n) > 1e-15 * fabs(n));
  return edf__text("%s", text);
}

/* ---- Equations, as the program wrote them, with the names of the nodes. */

/* Returns the equation that is shown, and the node of a tensor in it. */
static const edf_equation *edf_slide__shown(const edf_node *y) {
  const edf_contraction *m = edf_slide__einsum_of(y);
  return m->written.n_ref ? &m->written : &m->e;
}
static const edf_node *edf_slide__node_of(const edf_node *y, const edf_ref *r) {
  const edf_contraction *m = edf_slide__einsum_of(y);
  if (r->operand < 0) return y;
  return m->written.n_ref ? m->operand[r->operand] : y->in[r->operand];
}

/* Returns a name with its first letter as a capital. A Greek delta may stand before it. */
static const char *edf_slide__capital(const char *name) {
  const char *c = name;
  while (*c && edf_slide__lower(*c) == edf_slide__upper(*c)) c++;
  return *c ? edf__text("%.*s%c%s", (int)(c - name), name, edf_slide__upper(*c), c + 1) : name;
}

/* Writes an index. In a loop an index is lower-case, unless two would then be equal. Elsewhere
   a summed index is a capital. */
static void edf_slide__write_letter(edf_page *out, const char *before, const edf_node *y, int i,
                                    int in_loop) {
  const edf_equation *e = edf_slide__shown(y);
  const char *name = e->index[i].name, *first = name;
  int same = 0, left = e->index[i].left;
  for (const edf_place *p = e->ref->place; p < e->ref->place + e->ref->rank; p++)
    left |= p->by && edf_slide__ref_has(&e->ref[p->by]) >> i & 1;
  for (int k = 0; k < e->n_index; k++)
    same |= k != i && !edf_slide__compare_names(name, e->index[k].name);
  while (*first && edf_slide__lower(*first) == edf_slide__upper(*first)) first++;
  int capital = !in_loop && !left && !edf_slide__is_capital(name), none = same || !*first;
  edf_write(out, capital && none ? "%sS_" : "%s", before);
  for (const char *c = name; *c; c++)
    edf_write(out, "%c", in_loop && !same ? edf_slide__lower(*c)
              : capital && !none && c == first ? edf_slide__upper(*c) : *c);
}

static void edf_slide__write_ref(edf_page *out, const edf_node *y, const edf_ref *r,
                                 const char *grad, int in_loop) {
  const edf_equation *e = edf_slide__shown(y);
  edf_write(out, "%s%s", edf__label(edf_slide__node_of(y, r)), grad);
  for (const edf_place *p = r->place; p < r->place + r->rank; p++) {
    int empty = 1;
    edf_write(out, p > r->place ? "," : "[");
    if (p->by) { edf_slide__write_ref(out, y, &e->ref[p->by], "", in_loop); continue; }
    for (int i = 0; i < e->n_index; i++) {
      int factor = p->factor[i];
      if (!factor) continue;
      edf_write(out, factor < 0 ? "-" : empty ? "" : "+");
      if (abs(factor) != 1) edf_write(out, "%d*", abs(factor));
      edf_slide__write_letter(out, "", y, i, in_loop);
      empty = 0;
    }
    if (p->constant || empty) edf_write(out, empty ? "%d" : "%+d", p->constant);
  }
  if (r->rank) edf_write(out, "]");
}

/* Writes sum_I or sum_{I,J}. It frees the names. */
static void edf_slide__write_over(edf_page *out, const char *what, edf_page *names) {
  if (names->n) edf_write(out, strchr(names->at, ',') ? "%s_{%s} " : "%s_%s ", what, names->at);
  edf_release(names->at);
}
/* Writes how the indices of a term are reduced if it is not a sum: mean_I, max_I. */
static void edf_slide__write_reduction(edf_page *out, const edf_node *y, const edf_term *t,
                                       int backward) {
  const edf_contraction *m = edf_slide__einsum_of(y);
  const edf_equation *e = edf_slide__shown(y);
  int mean = m->kind == 'm', sample = m->kind == 's', max = m->kind == 'x';
  int divides = sample || (mean && backward);
  edf_page names = { NULL, 0 };
  for (int i = 0; (mean || sample || max) && i < m->e.n_index; i++)
    if (!e->index[i].left && edf_slide__term_has(e, t) >> i & 1)
      edf_slide__write_letter(&names, !names.n ? "" : divides ? " " : ",", y, i, 0);
  if (!divides && !(max && backward)) edf_slide__write_over(out, mean ? "mean" : "max", &names);
  else {
    const char *n = names.n ? names.at : "1";
    if (max) edf_write(out, "[the first greatest] ");
    else edf_write(out, sample ? "(1/(%s-1)) " : strchr(n, ' ') ? "(1/(%s)) " : "(1/%s) ", n);
    edf_release(names.at);
  }
}

/* Returns 1 if y is the number 1, the factor of a term that has no other tensor. */
static int edf_slide__is_one(const edf_node *y) {
  return !strcmp(y->op, "Number") && *(const edf_real *)y->state == 1;
}
/* Returns how often factor f is in term t, 0 if it is there before f. `but` does not count. */
static int edf_slide__times(const edf_equation *e, const edf_term *t, int f, int but) {
  const edf_ref *r = &e->ref[f], *x = &e->ref[t->first];
  int n = 0;
  for (int k = t->first; k < t->first + t->n; k++, x++) {
    int same = k != but && x->operand == r->operand;
    for (int d = 0; d < r->rank && same; d++)
      same = x->place[d].constant == r->place[d].constant && x->place[d].by == r->place[d].by
             && !memcmp(x->place[d].factor, r->place[d].factor, sizeof r->place[d].factor);
    if (same && k < f) return 0;
    n += same;
  }
  return n;
}
/* Returns 1 if the steps are 1 times and divided by others, as in 1/(B-1). Then the number of
   the term is written in place of the 1. */
static int edf_slide__begins_with_1(const edf_term *t) {
  int depth = 1, is = t->step->op == '#' && t->step->number == 1;
  for (int k = 1; k < t->n_step && is; k++) {      /* `depth` values are on the stack.        */
    char op = t->step[k].op;
    int joins = strchr("+*/^", op) != NULL;
    is = depth > 1 + joins || op == '*' || op == '/' || op == '#' || op == 's';
    depth += joins ? -1 : op != 'f';
  }
  return is;
}
/* Writes the coefficient of a term: 2/(B-1). It is in brackets if tensors follow. Its parts are
   texts on a stack. `tight` is 0 for a sum, 1 for a quotient, 2 for a product, and 3 for a
   single word. */
static void edf_slide__write_coefficient(edf_page *out, const edf_term *t, double number,
                                         int brackets) {
  struct { const char *text; int tight; } v[EDF_SLIDE__SIZE_STEPS];
  int n = 0, first = edf_slide__begins_with_1(t);
  for (const edf_size_step *s = t->step; s < t->step + t->n_step; s++) {
    const char *a = n > 1 ? v[n - 2].text : "", *b = n ? v[n - 1].text : "";
    int least = s->op == '+' ? 0 : s->op == '^' ? 3 : 2, right = least + (s->op == '/');
    if (strchr("+*/^", s->op)) {
      if (v[n - 2].tight < least) a = edf__text("(%s)", a);
      if (v[n - 1].tight < right) b = edf__text("(%s)", b);
      n -= 2;
    } else if (s->op == 'f') n--;
    switch (s->op) {
      case '#': a = edf_slide__number_text(s == t->step && first ? number : s->number); break;
      case 's': a = edf_slide__capital(s->name); break;
      case '+': a = *b == '-' ? edf__text("%s-%s", a, b + 1) : edf__text("%s+%s", a, b); break;
      case '*': a = edf__text(strcmp(a, "-1") ? "%s %s" : "-%.0s%s", a, b); break;
      case '/': a = edf__text("%s/%s", a, b); break;
      case '^': a = edf__text("%s^%s", a, b); break;
      default:  a = edf__text("%s(%s)", s->name, b);
    }
    v[n].text = a;
    v[n++].tight = s->op == '+' ? 0 : s->op == '/' ? 1 : s->op == '*' ? 2 : 3;
  }
  if (!first && number != 1) edf_write(out, "%s ", edf_slide__number_text(number));
  edf_write(out, brackets && v[0].tight < 3 ? "(%s)" : "%s", v[0].text);
}

/* Writes a term without its sign. By the swap rule, factor `swapped` is exchanged with the
   output; 0 exchanges none. */
static void edf_slide__write_term(edf_page *out, const edf_node *y, const edf_term *t,
                                  int swapped) {
  const edf_ref *r = edf_slide__shown(y)->ref;
  int n = 0;                             /* number of factors that are not the number 1       */
  for (int f = t->first; f < t->first + t->n; f++)
    n += !edf_slide__is_one(edf_slide__node_of(y, r + f));
  edf_slide__write_reduction(out, y, t, swapped > 0);
  double number = fabs(t->number);
  if (swapped) number *= edf_slide__times(edf_slide__shown(y), t, swapped, 0);
  if (t->n_step) edf_slide__write_coefficient(out, t, number, n > 0);
  else if (number != 1 || !n) edf_write(out, "%s", edf_slide__number_text(number));
  if (n && (t->n_step || number != 1)) edf_write(out, " ");
  for (int f = t->first, written = 0; f < t->first + t->n; f++) {
    int times = f == swapped ? 1 : edf_slide__times(edf_slide__shown(y), t, f, swapped);
    if (!times || edf_slide__is_one(edf_slide__node_of(y, r + f))) continue;
    if (written++) edf_write(out, " ");
    edf_slide__write_ref(out, y, &r[f == swapped ? 0 : f], f == swapped ? ".grad" : "",
                         swapped > 0);
    if (times > 1) edf_write(out, "^%d", times);
  }
}

/* Returns 1 if a tensor on the left or in n terms from t on has index i alone in a place. */
static int edf_slide__shows(const edf_equation *e, const edf_term *t, int n, int i) {
  int found = 0;
  for (int k = -1; k < n; k++) {
    const edf_ref *r = k < 0 ? e->ref : e->ref + t[k].first;
    for (int f = k < 0 ? 1 : t[k].n; f > 0; f--, r++)
      for (int d = 0; d < r->rank; d++) found |= edf_slide__alone(e, &r->place[d]) == i;
  }
  return found;
}
/* Writes | S<4 for a size in n coefficients if no tensor of the statement shows it. `bounds` is
   the number of bounds before it. */
static void edf_slide__write_sizes(edf_page *out, const edf_equation *e, const edf_term *t,
                                   int n, int bounds) {
  const char *last = NULL;
  for (int k = 0; k < n; k++)
    for (int step = 0; step < t[k].n_step; step++) {
      const edf_size_step *s = &t[k].step[step];
      int i = 0;
      if (s->op != 's' || !(s->number > 0) || s->name == last) continue;
      while (i < e->n_index && e->index[i].name != s->name) i++;
      if (i < e->n_index && (e->index[i].bound || edf_slide__shows(e, t, n, i))) continue;
      last = s->name;
      edf_write(out, "%s%s<%g", bounds++ ? ", " : " | ", edf_slide__capital(last), s->number);
    }
}

/* Writes | s<=t for the masks that all of n terms have, and returns the number of bounds. A
   term that a mask makes 0 has the mask's test as a factor. */
static int edf_slide__write_masks(edf_page *out, const edf_node *y, const edf_term *t, int n,
                                  int bounds, int in_loop) {
  const edf_equation *e = edf_slide__shown(y);
  unsigned all = ~0u;
  for (int k = 0; k < n; k++) {
    unsigned tested = 0;
    for (int f = t[k].first; f < t[k].first + t[k].n; f++) {
      unsigned has = edf_slide__ref_has(&e->ref[f]);
      const edf_node *x = edf_slide__node_of(y, &e->ref[f]);
      int is_test = edf_slide__note_of(x)->is_mask;
      for (int m = 0; m < e->n_mask && is_test; m++)
        if (e->mask[m].low >= 0 && e->mask[m].high >= 0 &&
            has == (1u << e->mask[m].low | 1u << e->mask[m].high)) tested |= 1u << m;
    }
    all &= t[k].masks & tested;
  }
  for (int k = 0; k < e->n_mask; k++) {
    const edf_mask *m = &e->mask[k];
    if (!(all >> k & 1) || m->low < 0 || m->high < 0 || m->constant >> 1) continue;
    edf_slide__write_letter(out, bounds++ ? ", " : " | ", y, m->low, in_loop);
    edf_slide__write_letter(out, m->constant ? "<" : "<=", y, m->high, in_loop);
  }
  return bounds;
}

static void edf_slide__write_equation(edf_page *out, const edf_node *y) {
  const edf_contraction *m = edf_slide__einsum_of(y);
  const edf_equation *e = edf_slide__shown(y);
  int n = 0, written = 0;
  edf_slide__write_ref(out, y, &e->ref[0], "", 0);
  edf_write(out, m->kind == 'p' ? " += " : " = ");
  for (const edf_term *t = e->term; t < e->term + e->n_term; t++) {
    if (t->number == 0) continue;          /* no 0 x                                */
    if (written++) edf_write(out, t->number < 0 ? " - " : " + ");
    else if (t->number < 0) edf_write(out, "-");
    edf_slide__write_term(out, y, t, 0);
  }
  if (!written) edf_write(out, "0");
  for (int i = 0; i < e->n_index; i++) {
    if (!e->index[i].bound) continue;
    edf_slide__write_letter(out, n++ ? ", " : " | ", y, i, 0);
    edf_write(out, "<%d", e->index[i].bound);
  }
  for (int d = 0; d < e->ref->rank; d++) {
    const edf_place *p = &e->ref->place[d];
    if (!p->by) continue;                /* the classes of a scatter                          */
    const edf_node *by = edf_slide__node_of(y, &e->ref[p->by]);
    edf_write(out, "%s%s<%d", n++ ? ", " : " | ", edf__label(by), p->constant + 1);
  }
  n = edf_slide__write_masks(out, y, e->term, e->n_term, n, 0);
  edf_slide__write_sizes(out, e, e->term, e->n_term, n);
}

/* Writes the loops: for b,i,j: with every index of the term and of the left side, in
   alphabetical order. If no tensor of the statement shows the size of an index, the size is
   written. */
static void edf_slide__write_loops(edf_page *out, const edf_node *y, const edf_term *t) {
  const edf_equation *e = edf_slide__shown(y);
  int list[EDF_MAX_INDEX], n = 0;
  for (int i = 0; i < e->n_index; i++) {
    if (!e->index[i].left && !(edf_slide__term_has(e, t) >> i & 1)) continue;
    int k = n++;
    const char *name = e->index[i].name;
    for (; k > 0 && edf_slide__compare_names(name, e->index[list[k - 1]].name) < 0; k--)
      list[k] = list[k - 1];
    list[k] = i;
  }
  for (int k = 0; k < n; k++) {
    int i = list[k];
    ptrdiff_t bound = e->index[i].bound;
    edf_slide__write_letter(out, k ? "," : "for ", y, i, 1);
    if (!bound && !edf_slide__shows(e, t, 1, i)) bound = edf_slide__einsum_of(y)->extent[i];
    if (bound > 0) edf_write(out, "<%td", bound);
  }
  if (n) edf_write(out, ": ");
}

static void edf_slide__write_equation_backward(edf_page *out, const edf_node *y) {
  const edf_equation *e = edf_slide__shown(y);
  for (const edf_term *t = e->term; t < e->term + e->n_term; t++)
    for (int f = t->first; f < t->first + t->n; f++) {
      if (!edf_slide__node_of(y, &e->ref[f])->needs_grad || !edf_slide__times(e, t, f, 0))
        continue;
      edf_slide__write_loops(out, y, t);
      edf_slide__write_ref(out, y, &e->ref[f], ".grad", 1);
      edf_write(out, t->number < 0 ? " -= " : " += ");
      edf_slide__write_term(out, y, t, f);
      edf_slide__write_sizes(out, e, t, 1, edf_slide__write_masks(out, y, t, 1, 0, 1));
      edf_write(out, "\n");
    }
}

/* ==== >>formulas  The formulas of other nodes ============================================ */
/* The formula of an op is a line of the notation. An index of it stands for several of a node:
     i  all     b  those before the row     k  the row     t, u  the first of the row, the rest
     n  an index that y does not have
   A capital is summed. Alone it is the size: K, T. The row is the indices that y does not have,
   or along which it is computed. The row of an Extent begins at its dimension. p and q are the
   numbers of the state, and ? is the sign of a Test. For Concat, p is where the part of y that
   input x fills begins, and the formula is written for each input. Lines after a blank line
   hold if edf.training is 0. Only names are replaced. */
typedef struct {
  const edf_node *y;
  edf_slide__letters letters;
  int row, operand, lacks;               /* lacks is 1 if the operand has no joined index     */
  double part;                           /* where the part of Concat's y begins               */
} edf_slide__formula;

/* Returns the tensor of y with this name of n letters, or NULL. about->tensors lists them. */
static const edf_node *edf_slide__tensor_named(const edf_slide__formula *f, const char *name,
                                               size_t n) {
  const char *list = f->y->about->tensors;
  for (int k = 0; *list; k++, list += strspn(list, " ")) {
    size_t m = strcspn(list, " ");
    if (m == n && !strncmp(list, name, n)) return k ? f->y->in[k - 1 + f->operand] : f->y;
    list += m;
  }
  return NULL;
}
/* Returns the first letter from i on that is no index of the node. A capital stays one. */
static char edf_slide__free_letter(const edf_slide__formula *f, char index) {
  char letter = 'i';
  for (int d = 0; d < f->letters.n; d++)
    if (*f->letters.name[d] == letter) { letter++; d = -1; }
  return index == 'N' ? edf_slide__upper(letter) : letter;
}
/* Adds the indices of the node for which an index of the formula stands. */
static void edf_slide__add_range(const edf_slide__formula *f, char index,
                                 edf_slide__letters *to) {
  char c = edf_slide__lower(index);
  int n = f->letters.n, begin = n - f->row, from = strchr("ktu", c) ? begin + (c == 'u') : 0;
  if (c == 'n') index = edf_slide__free_letter(f, index);
  if (!strchr("ibktu", c)) { to->name[to->n++][0] = index; return; }
  if (c == 'b') n = begin;
  if (c == 't') n = begin + !f->lacks;
  for (int d = from; d < n && d < f->letters.n; d++) {
    const char *name = f->letters.name[d];
    snprintf(to->name[to->n++], EDF_SLIDE__LETTER, "%s",
             c == index ? name : edf_slide__capital(name));
  }
}
/* Writes a list from number `from` on, in these brackets if it has more than one name. */
static void edf_slide__write_list(edf_page *out, const edf_slide__letters *l, int from,
                                  const char *between, const char *brackets) {
  int several = *brackets && l->n > 1;
  if (several) edf_write(out, "%c", brackets[0]);
  for (int k = from; k < l->n; k++) edf_write(out, "%s%s", k > from ? between : "", l->name[k]);
  if (several) edf_write(out, "%c", brackets[1]);
}

/* 1 while numbers are written so that they can be read again. */
EDF__USED static int edf_slide__exact;
/* Writes n characters of a formula. In an index position, `list` gets the indices. */
static void edf_slide__write_words(edf_page *out, const edf_slide__formula *f, const char *c,
                                   size_t n) {
  static const char *const sign[] = { "", "<", "=", "<=", ">", "!=", ">=" };
  const edf_real *state = (const edf_real *)f->y->state;
  for (const char *end = c + n, *word = c; c < end; word = c) {
    edf_slide__letters list = { 0, { { 0 } } };
    while (edf__is_letter(*c) || (c > word && edf__is_digit(*c))) c++;
    size_t length = (size_t)(c - word), over = strcspn(word, "_");
    const edf_node *x = edf_slide__tensor_named(f, word, length);
    int grad = !strncmp(c, ".grad", 5);
    if (*c == '?') { edf_write(out, "%s", sign[(int)*state]); c++; continue; }
    if (!length) { edf_write(out, "%c", *c++); continue; }
    if (over < length) {                 /* sum_K                                             */
      if (*c != '{') edf_slide__add_range(f, word[over + 1], &list);
      c += !list.n && *c == ' ';
      if (list.n || *c == '{') edf_write(out, "%.*s", (int)over + 1, word);
      if (*c == '{') continue;           /* prod_{K!=k}                                       */
      edf_slide__write_list(out, &list, 0, ",", "{}");
    } else if (x || *c == '[') {         /* a tensor                                          */
      if (x && x->about == &edf_slide__number_op && !grad) {
        edf_write(out, edf_slide__exact ? "%.17g" : "%g", (double)*(const edf_real *)x->state);
        if (*c == '[') c += strcspn(c, "]") + 1;
        continue;
      }
      edf_write(out, "%.*s%s", x ? 0 : (int)length, word, x ? edf_label(x) : "");
      if (grad) edf_write(out, ".grad");
      if (grad) c += 5;
      if (*c != '[') continue;
      edf_page lookup = { NULL, 0 };
      do {
        c++;
        if (c[1] == '[') {               /* a lookup, y[b]                                    */
          size_t all = strcspn(c, "]") + 1;
          edf_slide__write_words(&lookup, f, c, all);
          c += all;
          list.name[list.n++][0] = 0;
          continue;
        }
        int first = list.n;
        edf_slide__add_range(f, *c++, &list);
        if (*c != '+') continue;         /* t+p                                               */
        char *to = list.name[first];
        if (list.n == first) list.n++;
        if (f->part > 0 || !*to)
          edf_format(to + strlen(to), EDF_SLIDE__LETTER, *to ? "+%g" : "%g", f->part);
        c += 2;
      } while (*c == ',');
      c++;
      if (x && !x->rank) list.n = 0;
      if (!list.n) continue;
      edf_write(out, "[");
      edf_slide__write_list(out, &list, x && list.n > x->rank ? list.n - x->rank : 0, ",", "");
      edf_write(out, "%s]", lookup.n ? lookup.at : "");
      edf_release(lookup.at);
    } else if (length == 1 && strchr("pq", *word)) {
      double number = (double)state[*word == 'q'];
      int less = *c == '-' ? *++c - '0' : 0;         /* p-1                                   */
      c += less;
      int alone = word[-1] == ' ' && *c == ' ' && number == 1;
      if (alone) c++;
      else if (edf_slide__exact) edf_write(out, "(%.17g)", number - less);
      else edf_write(out, number < less && word[-1] != '(' ? "(%g)" : "%g", number - less);
    } else if (length == 1 && strchr("kIBKT", *word)) {
      edf_slide__add_range(f, *word, &list);
      edf_slide__write_list(out, &list, 0, *word == 'k' ? "," : " ", *word == 'k' ? "" : "()");
      if (!list.n) edf_write(out, "1");
    } else edf_write(out, "%.*s", (int)length, word);
  }
}

/* Writes the bounds of a causal row. An unused entry of a LogSoftmax is not 0 but ln 0. */
static void edf_slide__write_causal(edf_page *out, const edf_slide__formula *f, int backward) {
  int n = f->letters.n, is_log = f->y->about == &edf_log_softmax_op && !backward;
  if (!edf_row_is_causal(f->y) || n < 2) return;
  const char *s = f->letters.name[n - 1], *t = f->letters.name[n - 2];
  if (is_log) edf_write(out, " + ln(1[%s <= %s]) | ", s, t);
  else edf_write(out, " | %s<=%s, ", s, t);
  edf_write(out, "%s<=%s", edf_slide__capital(s), t);
}

/* Writes one line of a gradient as a loop over the indices on its left. */
static void edf_slide__write_loop(edf_page *out, const edf_slide__formula *f, const char *c,
                                  size_t n) {
  edf_slide__letters loops = { 0, { { 0 } } };
  for (const char *index = "ibtunk"; *index; index++)
    for (size_t at = 1; at + 1 < n; at++)
      if (c[at] == *index && strchr("[,", c[at - 1]) && strchr(",+]", c[at + 1])) {
        edf_slide__add_range(f, *index, &loops);
        break;
      }
  if (loops.n) edf_write(out, "for ");
  edf_slide__write_list(out, &loops, 0, ",", "");
  if (loops.n) edf_write(out, ": ");
  edf_slide__write_words(out, f, c, n);
  edf_slide__write_causal(out, f, 1);
  edf_write(out, "\n");
}

/* Writes the formula of y, or its gradient as loops. */
static void edf_slide__write_formula(edf_page *out, const edf_node *y, int backward) {
  edf_slide__formula f;
  int like = y->about == &edf_reshape_op ? -1 : edf_slide__note_of(y)->letters_of;
  int joins = y->about == &edf_slide__concat_op;
  const edf_node *x = y->n_in && like >= 0 ? y->in[like] : y;
  int longer = x->rank > y->rank, n = joins ? y->n_in : 1, most = n > EDF__SHOWN ? 2 : n;
  const char *text = backward ? y->about->gradient : y->about->formula;
  const char *blank = edf.training ? NULL : strstr(text, "\n\n");
  memset(&f, 0, sizeof f);
  f.y = y;
  f.letters = edf_slide__letters_of(longer ? x : y);
  f.row = longer ? x->rank - y->rank : edf_row_dims(y);
  if (f.row > f.letters.n) f.row = f.letters.n;          /* A scalar is a row of one number.  */
  for (; f.operand < n; f.operand++) {
    f.lacks = joins && y->in[f.operand]->rank < y->rank;
    for (const char *c = blank ? blank + 2 : text; *c && *c != '\n' && f.operand < most;) {
      size_t length = strcspn(c, "\n");
      const edf_node *to = edf_slide__tensor_named(&f, c, strcspn(c, ".["));
      if (!backward && f.operand) edf_write(out, "; ");
      if (!backward) edf_slide__write_words(out, &f, c, length);
      else if (!to || to->needs_grad) edf_slide__write_loop(out, &f, c, length);
      c += length + (c[length] == '\n');
    }
    if (joins) f.part += f.lacks ? 1 : y->in[f.operand]->dim[y->rank - f.row];
  }
  if (n > most) edf_write(out, backward ? "... %d more\n" : "; ... %d more", n - most);
  if (!backward) edf_slide__write_causal(out, &f, 0);
}

/* Returns 1 if y is a number, and no print names it: an equation is printed without the number
   1, and a formula with the number in its place. */
static int edf_slide__is_unread(const edf_node *y) {
  int unread = y->about == &edf_slide__number_op;
  for (int i = y->position + 1; i < edf.n_compnodes && unread; i++) {
    const edf_node *x = edf.compnodes[i];
    for (int k = 0; k < x->n_in && unread; k++)
      if (x->in[k] == y)
        unread = edf_slide__has_equation(x) ? edf_slide__is_one(y)
                                            : x->about && x->about->formula;
  }
  return unread;
}
/* ---- A line that became one node, and looks the same, is not printed twice. It may also have
   bounds that gave sizes: | j<4, k<2. Returns 1 if c is empty or only such bounds. */
static int edf_slide__are_bounds(const char *c) {
  for (const char *sign = " | "; *c; sign = ", ") {
    size_t n = strlen(sign);
    if (strncmp(c, sign, n)) return 0;
    c += n + strcspn(c + n, "<=!>,| ");
    if (*c != '<' || !edf__is_digit(*++c)) return 0;
    while (edf__is_digit(*c)) c++;
  }
  return 1;
}
/* Returns what follows `line` at the begin of `text`, or NULL. Blanks and * do not count. */
static const char *edf_slide__after(const char *text, const char *line) {
  for (;;) {
    line += strspn(line, " *");
    if (!*line) return text;
    text += strspn(text, " *");
    if (*text++ != *line++) return NULL;
  }
}
/* Writes the line of y without a heading. */
static void edf_slide__write_line(edf_page *to, const edf_node *y, int backward) {
  const edf_op *op = y->about;
  if (edf_slide__has_equation(y) && backward) edf_slide__write_equation_backward(to, y);
  else if (edf_slide__has_equation(y)) edf_slide__write_equation(to, y);
  else if (op && op->formula && *op->tensors) edf_slide__write_formula(to, y, backward);
}
/* Finds the heading of y for the print of a program, and writes the line of y. A padded copy, a
   product and a folded step are left out there. */
static void edf_slide__print(edf_page *to, const edf_node *y, int backward) {
  edf_slide__facts *note = edf_slide__note((edf_node *)(uintptr_t)y);
  edf_page line = { NULL, 0 };
  int left_out = edf_slide__is_helper(y) || edf_slide__is_unread(y);
  const char *fold = note->fold[edf__prints_program == 2];
  note->head.heading = left_out ? NULL : fold ? fold : note->group;
  if (edf__prints_program && !backward && (left_out || fold)) return;
  edf_slide__write_line(&line, y, backward);
  const char *rest = note->group && !backward && edf__prints_program
                         ? edf_slide__after(note->group, line.at ? line.at : "") : NULL;
  int own = rest && edf_slide__are_bounds(rest);
  int in_list = edf__prints_program == 2 && !backward;         /* There the name is enough.   */
  if (own) note->head.heading = NULL;
  edf_write(to, "%s", own ? note->group : in_list ? edf__label(y) : line.at ? line.at : "");
  edf_release(line.at);
}
#ifdef __cplusplus
static const int edf_slide__print_is_set EDF__USED =
    (edf__print_formula = edf_slide__write_formula, 1);
#else
static void (*edf__print_formula)(edf_page *, const edf_node *, int) = edf_slide__write_formula;
#endif

/* ---- A program as its equations. */

static void edf_slide__write_declaration(edf_page *out, const edf_node *x, const char *name) {
  edf_write(out, x->kind == EDF_INPUT ? "input %s" : "parameter %s", name);
  for (int d = 0; d < x->rank; d++) {
    edf_write(out, d ? "," : "[");
    if (x->batched >> d & 1) edf_write(out, "%s", edf.batch_name);
    else edf_write(out, "%d", x->dim[d]);
  }
  if (x->rank) edf_write(out, "]");
}

/* Returns the line of a program that computes x, or NULL. */
static const edf_slide__statement *edf_slide__line_of_node(const edf_node *x) {
  return (const edf_slide__statement *)edf_slide__note_of(x)->line;
}
/* Returns the line with this name that computes x. */
EDF__USED static const edf_slide__statement *edf_slide__line_named(const edf_node *x,
                                                                   const char *name) {
  const edf_slide__alias *also = edf_slide__alias_of(x, name);
  return also ? (const edf_slide__statement *)also->line : edf_slide__line_of_node(x);
}

/* Several texts become one, in which a name is defined once. The names so far: `of` is an
   Input, a Parameter, or the oldest line of a tensor. */
typedef struct { const void *of; const char *name; int is_new; } edf_slide__printed_name;
typedef struct {
  edf_slide__printed_name *at;
  int n, changed;                        /* number of names, and of those that were changed   */
} edf_slide__printed_names;

/* Gives a tensor its name, or name_2 if the name is taken. */
static const char *edf_slide__print_as(edf_slide__printed_names *all, const void *of,
                                       const char *name) {
  edf_page fresh = { NULL, 0 };
  edf_write(&fresh, "%s", name);
  for (char *c = fresh.at; *c; c++)      /* W@3, or a name that edf_name has given            */
    if (!edf__is_letter(*c) && !edf__is_digit(*c) && *c != '\'') *c = '_';
  for (int k = 0, number = 2; k < all->n; k++) {
    if (strcmp(all->at[k].name, fresh.at)) continue;
    fresh.n = 0;
    edf_write(&fresh, "%s_%d", name, number++);
    k = -1;
  }
  edf_slide__printed_name entry = { of, name, strcmp(name, fresh.at) != 0 };
  if (entry.is_new) entry.name = fresh.at;
  else edf_release(fresh.at);
  size_t room = (size_t)all->n / 1024 * 1024 + 1024;
  all->at = (edf_slide__printed_name *)edf_keep(all->at, room * sizeof *all->at);
  all->changed += entry.is_new;
  all->at[all->n++] = entry;
  return entry.name;
}
/* Returns the name of tensor f of line l in the text. */
static const char *edf_slide__name_in_text(const edf_slide__printed_names *all,
                                           const edf_slide__statement *l, int f) {
  const char *name = l->m.e.ref[f].name;
  const edf_slide__slide *slide = l->slide;
  const edf_slide__statement *by = NULL;
  const void *of = l->of[f];
  for (int k = 0; k < slide->n && !by; k++)
    if (!strcmp(slide->line[k].m.e.ref->name, name)) by = slide->line[k].oldest;
  if (!by && of && edf_slide__line_of_node(l->of[f]))
    by = edf_slide__line_of_node(l->of[f])->oldest;
  if (by) of = by;
  for (int k = 0; k < all->n; k++) if (all->at[k].of == of) return all->at[k].name;
  return name;
}
/* Writes line l as its author wrote it, without a comment. Names that have changed are new. */
static void edf_slide__write_author_line(edf_page *out, const edf_slide__printed_names *all,
                                         const edf_slide__statement *l) {
  const edf__scan *s = l->m.e.scan;
  const char *plain = edf_slide__author_line(l), *text = plain - s->size;
  size_t n = strcspn(plain, "\n"), letters;
  while (n && plain[n - 1] == ' ') n--;
  for (size_t i = 0; i < n; i += letters) {
    const char *name = NULL;
    for (letters = 0; edf__is_letter(text[i + letters]) || edf__is_digit(text[i + letters]) ||
                      (letters && text[i + letters] == '\'');) letters++;
    for (int f = 0; f < l->m.e.n_ref && letters && all->changed && !name; f++) {
      const char *old = l->m.e.ref[f].name;
      int here = old == plain + i + s->size, bound = text[i + letters] == '<' && letters < n;
      for (int k = 0; k < l->m.e.n_index; k++) bound &= l->m.e.index[k].name != old;
      if (here || (bound && strlen(old) == letters && !strncmp(old, text + i, letters)))
        name = edf_slide__name_in_text(all, l, f);
    }
    if (!letters) letters = 1;
    if (name) edf_write(out, "%s", name);
    else edf_write(out, "%.*s", (int)letters, text + i);
  }
  edf_write(out, "\n");
}
/* Writes the declarations, and all lines of a slide at its first node. Nodes of C calls are
   comments. */
void edf_print_equations(FILE *out) {
  edf_page page = { NULL, 0 };
  edf_slide__printed_names names = { NULL, 0, 0 };
  const edf_slide__slide *last = NULL;
  edf_write(&page, "%s", "");
  for (int i = 0; i < edf.n_inputs + edf.n_parameters; i++) {
    const edf_node *x = edf__nth(i);
    edf_slide__write_declaration(&page, x, edf_slide__print_as(&names, x, x->name));
    edf_write(&page, "\n");
  }
  for (int i = 0; i < edf.n_compnodes; i++) {
    const edf_node *x = edf.compnodes[i];
    const edf_slide__statement *line = edf_slide__line_of_node(x), *l;
    if (edf_slide__note_of(x)->said) {
      if (!line || line->slide == last) continue;
      last = line->slide;
      for (l = last->line; l < last->line + last->n; l++)
        if (l == l->oldest) edf_slide__print_as(&names, l, l->m.e.ref->name);
      for (l = last->line; l < last->line + last->n; l++)
        edf_slide__write_author_line(&page, &names, l);
    } else if (!edf_slide__is_helper(x)) {
      edf_write(&page, "# %s of C code: ", x->op);
      edf_write_node(&page, x, EDF_FORWARD_LINE);
      edf_write(&page, "\n");
    }
  }
  fputs(page.at, out);
  for (int k = 0; k < names.n; k++)
    if (names.at[k].is_new) edf_release((char *)(uintptr_t)names.at[k].name);
  edf_release(names.at);
  edf_release(page.at);
}

/* ==== >>memory  The life of values, and a plan that uses memory again ==================== */
/* Returns 1 if a formula of an op has the tensor `name` as a value: y[i], and not y.grad[i]. */
static int edf_slide__formula_reads(const char *formula, const char *name, size_t n) {
  int inside = 0, right = 0;
  for (const char *c = formula; *c; c++) {
    right = *c != '\n' && (right || *c == '=');
    int next = edf__is_letter(c[n]) || edf__is_digit(c[n]) || c[n] == '.';
    if (right && !inside && !strncmp(c, name, n) && !next) return 1;
    inside = edf__is_letter(*c) || edf__is_digit(*c) || *c == '.';
  }
  return 0;
}
/* Returns 1 if the backward of y reads the value of x, which is an operand of y, or y. In an
   equation, the gradient of a factor reads the other factor, and a lookup its positions. */
static int edf_slide__backward_reads(const edf_node *y, const edf_node *x) {
  const edf_contraction *m = edf_slide__einsum_of(y);
  int reads = 0;
  for (int f = 1; m && f < m->e.n_ref; f++)
    for (int d = 0; d < m->e.ref[f].rank || (f == 1 && d < m->e.ref->rank); d++)
      for (int left = 0; left < 2; left++) {
        const edf_ref *r = &m->e.ref[left ? 0 : f];
        int by = d < r->rank ? r->place[d].by : 0;
        reads |= by && y->in[m->e.ref[by].operand] == x;
      }
  for (int t = 0; m && t < m->e.n_term; t++)
    for (int f = 0; f < m->e.term[t].n; f++) {
      const edf_ref *r = &m->e.ref[m->e.term[t].first];
      const edf_node *other = m->e.term[t].n > 1 ? y->in[r[1 - f].operand] : NULL;
      reads |= y->in[r[f].operand] == x && other && other->needs_grad;
    }
  if (m) return reads;
  const char *name = y->about && y->about->gradient ? y->about->tensors : NULL;
  for (int k = -1; name && k < y->n_in; k++) {
    size_t n = strcspn(name, " ");
    if ((k < 0 ? y : y->in[k]) == x)
      reads |= edf_slide__formula_reads(y->about->gradient, name, n);
    if (name[n]) name += n + 1;          /* The last name stands for all other operands.      */
  }
  return reads || !y->about || !y->about->gradient;
}

/* An array of a step. It lives from moment `from` to moment `to`. Node i of n nodes runs
   Forward at moment i and Backward at moment 2n-1-i. A result lives to moment 2n. */
typedef struct { int from, to; size_t bytes, at; } edf_slide__life;

static int edf_slide__by_size(const void *x, const void *y) {
  const edf_slide__life *a = (const edf_slide__life *)x, *b = (const edf_slide__life *)y;
  if (a->bytes != b->bytes) return a->bytes < b->bytes ? 1 : -1;
  return a->from - b->from;
}
/* Places n arrays, the largest first, each at the first place that is free while it lives.
   Returns the bytes of the plan. *least is what lives at one moment at most. */
static size_t edf_slide__plan(edf_slide__life *all, int n, int moments, size_t *least) {
  size_t most = *least = 0;
  for (int moment = 0; moment <= moments; moment++) {
    size_t sum = 0;
    for (int k = 0; k < n; k++)
      if (all[k].from <= moment && moment <= all[k].to) sum += all[k].bytes;
    if (sum > *least) *least = sum;
  }
  qsort(all, (size_t)n, sizeof *all, edf_slide__by_size);
  for (int i = 0; i < n; i++) {
    edf_slide__life *a = &all[i];
    for (int k = 0; k < i; k++) {
      const edf_slide__life *b = &all[k];
      if (b->from > a->to || a->from > b->to || b->at >= a->at + a->bytes ||
          a->at >= b->at + b->bytes) continue;
      a->at = b->at + b->bytes;          /* Any place below this one meets b, too.            */
      k = -1;
    }
    if (a->at + a->bytes > most) most = a->at + a->bytes;
  }
  return most;
}
/* Finds the lives of all values, one for each CompNode, and behind them those of the gradients.
   Returns their number. A result, which no node reads, and a mask, which runs once for each
   batch size, are kept. */
static int edf_slide__find_lives(edf_slide__life *all, int backward) {
  int n = edf.n_compnodes, n_life = n;
  char *has_grad = (char *)edf_keep(NULL, (size_t)n + 1);
  memset(has_grad, 0, (size_t)n + 1);
  for (int i = 0; i < n; i++) {
    edf_node *y = edf.compnodes[i];
    int keeps = y->forward == edf_slide__run_once;
    edf_slide__life value = { i, keeps ? 2 * n : i, y->active ? y->size * sizeof(edf_real) : 0,
                              0 };
    all[i] = value;
    for (int k = 0; k < y->n_in && y->active; k++)
      if (y->in[k]->kind == EDF_COMPNODE && all[y->in[k]->position].to < i)
        all[y->in[k]->position].to = i;
  }
  for (int i = n - 1; i >= 0 && backward; i--) {
    edf_node *y = edf.compnodes[i];
    if (!edf__runs_backward(y)) continue;
    for (int k = -1; k < y->n_in; k++) {
      const edf_node *x = k < 0 ? y : y->in[k];
      edf_slide__life grad = { 2 * n - 1 - i, 2 * n - 1 - x->position,
                               x->size * sizeof(edf_real), 0 };
      if (x->kind != EDF_COMPNODE) continue;
      if (edf_slide__backward_reads(y, x) && all[x->position].to < grad.from)
        all[x->position].to = grad.from;
      if (!edf__runs_backward(x) || has_grad[x->position]) continue;
      has_grad[x->position] = 1;
      all[n_life++] = grad;
    }
  }
  for (int i = 0; i < n; i++) if (all[i].to == i) all[i].to = 2 * n;
  edf_release(has_grad);
  return n_life;
}
/* Writes the bytes of a step, and of a plan for it. */
static void edf_slide__write_plan(edf_page *out, edf_slide__life *all, int n,
                                  const char *what) {
  size_t own = 0, least;
  for (int k = 0; k < n; k++) own += all[k].bytes;
  size_t plan = edf_slide__plan(all, n, 2 * edf.n_compnodes, &least);
  edf_write(out, "%12zu  %s, each in its own array\n%12zu  the same in arrays that are used "
            "again, at least %zu\n", own, what, plan, least);
}
static void edf_slide__write_memory(edf_page *out, const edf_node *every) {
  int n = edf.n_compnodes, n_life;
  size_t numbers = 0;
  edf_slide__life *all = (edf_slide__life *)edf_keep(NULL, (2 * (size_t)n + 1) * sizeof *all);
  edf__node_marks *marks = edf__mark_backward();
  (void)every;
  n_life = edf_slide__find_lives(all, 1);
  edf_write(out, "       bytes   the value is read last by\n");
  for (int i = 0; i < n; i++) {
    const edf_node *x = edf.compnodes[i];
    int to = all[i].to, reader = to < n ? to : 2 * n - 1 - to;
    if (!x->active) continue;
    if (!x->size)
      edf__fail(edf__call_of("edf_print_memory"), "the batch has no size yet: feed the Inputs "
                "and call edf_forward\n  %s", edf__show(x));
    edf_write(out, "%12zu   %d  %s: ", all[i].bytes, i, edf__label(x));
    if (to == 2 * n)
      edf_write(out, x->forward == edf_slide__run_once ? "kept for all steps\n" : "a result\n");
    else edf_write(out, "%s of %d  %s\n", to < n ? "Forward" : "Backward", reader,
                   edf__label(edf.compnodes[reader]));
  }
  for (int i = 0; i < edf.n_parameters; i++) numbers += edf.parameters[i]->size;
  edf_write(out, "%12zu  parameters\n", numbers * sizeof(edf_real));
  edf_slide__write_plan(out, all, n_life, "values and gradients");
  n_life = edf_slide__find_lives(all, 0);
  edf_slide__write_plan(out, all, n_life, "values of Forward alone");
  edf__restore_marks(marks);
  edf_release(all);
}
void edf_print_memory(FILE *out) { edf__print_by(edf_slide__write_memory, out, NULL); }

#else
static void edf_slide__print(edf_page *to, const edf_node *y, int backward) {
  (void)to, (void)y, (void)backward;
}
#endif
EDF__END_COLD
#ifdef __cplusplus
}
#endif
#endif /* EDF_SLIDE__IMPLEMENTED */
