/* edf.h - v3.0 - the Educational Framework: backpropagation in one C header
   C99 and C++11; needs the C library alone. MIT licence (at the end of the file).

   A program is a list of assignments to nodes of three kinds, Input, Parameter and CompNode,
   and three loops run over them: Forward, Backward and SGD. A line of a slide is a node:

       Einsum("s[b,j] = W[I,j] x[b,I] - B[j]", W, x, B)

   Its backward is derived, can be printed as loops, and runs through the same kernel, at BLAS
   speed. Three companions, optional, include this file: edf_slide.h (whole slides as programs,
   layers), edf_data.h (data, saved models) and edf_lab.h (the doctor, curves, the trace page).

       #define EDF_IMPLEMENTATION      in exactly one C or C++ file, before the include
       #include "edf.h"
       cc -g hw1.c -lm                 is all it takes; -O3 -march=native makes it fast

   This file's contract
     - Construction order is the schedule; only OpenMP slices one kernel's loops into threads.
     - A value is a plain row-major C array: print y->value[3] in a debugger.
     - A mistake stops the program with names, shapes and source lines; no node is NULL.
     - After Backward(loss) every grad in the graph is the derivative of the mean of loss.
     - Nothing is clamped; NaN and Inf go through unchanged.
     - Not here, on purpose: operator overloading, a layer class hierarchy, configuration
       files, plugins, several number types in one graph, a thread pool.

   Reading guide: search for >>name. `make lines` prints the lines of each chapter.
     Part One is a whole framework. Read its code from >>memory to >>nodes first, which needs no
     notation: errors and memory, nodes and the three loops, the simple nodes. Then read
     >>contraction, >>parser, >>einsum and >>products: the notation, and the nodes made with it.
     Part Two is faster and has more nodes: >>seam (the device interface), >>nest (the kernels),
     >>more, >>over, >>optim. Each chapter begins with its declarations.
     Part Three shows and checks a program: >>tools, >>print, >>check, >>watch (stepping).
*/

/* ---- >>example  A whole program ------------------------------------------------------------

   #define EDF_IMPLEMENTATION
   #include "edf.h"
   int main(void) {
     edf_real points[] = { 0,0,  0,1,  1,0,  1,1 }, classes[] = { 0, 1, 1, 0 };
     Input *x = edf_input("x[b,2]"), *y = edf_input("y[b]");
     AffineParams Phi1 = edf_affine_params(2, 8), Phi2 = edf_affine_params(8, 2);
     CompNode *h   = Tanh(Affine(Phi1, x));
     CompNode *Q   = Softmax(Affine(Phi2, h));
     CompNode *ell = LogLoss(Q, y);
     edf_feed(x, points, 4);
     edf_feed(y, classes, 4);
     for (int i = 0; i < 500; i++) {
       Forward();
       Backward(ell);
       SGD(0.5f);
     }
     Forward();
     for (int b = 0; b < 4; b++) printf("P(1) = %.3f\n", (double)Q->value[b * 2 + 1]);
     edf_clear();
   }
   ---- end of the example ---- */

#ifndef EDF_H
#define EDF_H

#include <stddef.h>
#include <stdio.h>

/* ---- >>config  Define before the include ----------------------------------------------------

   name                default        meaning
   EDF_IMPLEMENTATION  -              compile the code too, in exactly one file
   EDF_LINKED          -              leaves it out all the same: another object file has it
   EDF_REAL            float          float or double, the same in every file of a program
   EDF_CBLAS           -              use the CBLAS of <cblas.h> for matrix products
   EDF_NO_SHORT_NAMES  -              no Input, Affine, Forward ...: only names with edf_
   EDF_DEBUG           -              values and gradients are NaN until they are written
   EDF_NO_DEBUG        -              leaves out print, check, step, watch: calls do nothing
   EDF_PANIC(message)  print, abort   what a mistake does; it may longjmp, it must not return
   EDF_ASSERT(c)       assert         the header's own invariants
   EDF_MALLOC(n) EDF_FREE(p)    the C library's    both or neither
   Compiled with OpenMP (-fopenmp), large products run on all its threads; set OMP_NUM_THREADS,
   and keep the BLAS at one thread.                                                          */

#define EDF_VERSION 300          /* 3.0 */
#if !defined _MSC_VER && __STDC_VERSION__ < 199901L && __cplusplus < 201103L
#error "edf.h is C99 and C++11: cc -std=c99 or c++ -std=c++11, or newer"
#include "edf.h: an older standard"      /* no such file: here a compiler stops               */
#endif
#ifndef EDF_REAL
#define EDF_REAL float
#endif
/* A hook: a later chapter sets it, else NULL. C may say again what a static is; C++ sets it. */
#ifdef __cplusplus
#define EDF__C_BEGIN extern "C" {
#define EDF__C_END }
#define EDF__HOOK(type, name) static type *name = NULL;
#define EDF__HOOKED(type, name, is) static const int name##_is EDF__USED = (name = is, 1);
#else
#define EDF__C_BEGIN
#define EDF__C_END
#define EDF__HOOK(type, name) static type *name;
#define EDF__HOOKED(type, name, is) static type *name = is;
#endif
#define EDF__PASTE2(a, b) a##b
#define EDF__PASTE(a, b) EDF__PASTE2(a, b)
#define EDF__IS_float 1
#define EDF__IS_double 2
#if !EDF__PASTE(EDF__IS_, EDF_REAL)
#error "EDF_REAL must be float or double"
#endif
#define EDF_REAL_IS_DOUBLE (EDF__PASTE(EDF__IS_, EDF_REAL) == 2)
#if defined __FAST_MATH__ || defined __ASSOCIATIVE_MATH__ || \
    (defined __FINITE_MATH_ONLY__ && __FINITE_MATH_ONLY__)
#error "edf.h needs NaN, infinity and the order of additions: -O3, not -ffast-math or -Ofast"
#endif
#ifdef __GNUC__
#define EDF__ATTRIBUTE(what) __attribute__((what))
#else
#define EDF__ATTRIBUTE(what)
#endif
#ifdef __MINGW_PRINTF_FORMAT             /* Windows: which printf it has                      */
#define EDF__PRINTF(f, a) EDF__ATTRIBUTE(format(__MINGW_PRINTF_FORMAT, f, a))
#else
#define EDF__PRINTF(f, a) EDF__ATTRIBUTE(format(printf, f, a))
#endif
#define EDF__USED EDF__ATTRIBUTE(used)
#define EDF__NORETURN EDF__ATTRIBUTE(noreturn)

#define EDF_MAX_RANK   8         /* dimensions of a tensor                       */
#define EDF_MAX_INDEX  16        /* index letters of an equation                 */
#define EDF_MAX_FACTOR 8         /* tensors multiplied in one term               */

/* ---- >>notation  The index notation ---------------------------------------------------------

   edf_einsum("y[b,j] = W[I,j] x[b,I] - B[j]", W, x, B) makes one node from one line of a slide,
   a signed sum of products: for all b,j, y[b,j] is the sum over I of W[I,j] x[b,I], less B[j].
   Names on the right are bound to the operands as they first appear. All lines: edf_slide.h.

     equation = tensor "=" ["-"] term { ("+"|"-") term } [ "|" bound { "," bound } ]
     bound    = index "<" number
     term     = [ number ["*"] ] tensor { ["*"] tensor }
     tensor   = name [ "[" place { "," place } "]" ]        a scalar has no brackets
     place    = i   or a sum with whole factors and a constant:   2*i+DI   t-1   0

   free      An index on the left is free, whatever its case.
   summed    One that is not there is summed, within its term, and must begin with a capital.
   extent    An index has one extent. Alone in a place it has that dimension's. After a bar it
             may be given: | i<28. What is then unknown is as long as it can be with every read
             inside the tensor (a "valid" convolution).
   outside   A read outside a tensor is an error, or 0 by a bounded index ("same" padding).
   scatter   A sum on the left writes there: y[b,2*i+DI] = ...; what is written twice adds up,
             what is never written is 0.
   repeat    A term without an index that stands alone on the left is repeated along it.
   diagonal  An index twice in one tensor walks its diagonal. A tensor may appear twice.

   The gradient is the swap rule: for each factor, exchange it with the output and add .grad.
     y[b,j] += W[i,j] x[b,i]   gives   W.grad[i,j] += y.grad[b,j] x[b,i]
                                       x.grad[b,i] += W[i,j] y.grad[b,j]
   These are loops, in small letters: one kernel runs them, with the operands exchanged.    */

/* ---- >>api  Nodes, lists and the three loops -----------------------------------------------

   What reads like the slides has a short name too, see >>short and >>names: Forward() is
   edf_forward(), AffineParams edf_affine_package. The others, edf_feed ..., have none.      */

EDF__C_BEGIN
typedef EDF_REAL edf_real;

/* Files with different EDF_REAL must not link: each refers to the symbol of its own type. */
#define EDF__TYPE_MARK EDF__PASTE(edf_real_is_, EDF_REAL)
extern const char EDF__TYPE_MARK;
static const char *const edf__type_mark EDF__USED = &EDF__TYPE_MARK;

typedef struct edf_node edf_node;
typedef enum { EDF_INPUT, EDF_PARAMETER, EDF_COMPNODE } edf_kind;

struct edf_node {
  edf_kind     kind;
  const char  *op, *name;                /* "Affine", "h1"                                    */
  const char  *file; int line;           /* where the user's program built it                 */
  int          rank, dim[EDF_MAX_RANK];  /* shape; 0 is a batch that is not known yet         */
  size_t       size;                     /* product of dim                                    */
  edf_real    *value, *grad;             /* row-major; grad is NULL where none is needed      */
  edf_node   **in; int n_in;             /* in[n_in] is NULL                                  */
  void       (*shape)(edf_node *);       /* dim from the inputs' dims, or stop with an error  */
  void       (*forward)(edf_node *);     /* value from the inputs' values                     */
  void       (*backward)(edf_node *);    /* adds to the inputs' grads                         */
  void        *state;                    /* what forward keeps for backward                   */
  void       (*update)(edf_node *, edf_real eta);      /* a Parameter's own rule, or NULL     */
  edf_real    *m, *s; long steps;        /* what its optimiser remembers; steps made          */
  int          fresh;                    /* grad counts as zero, whatever its memory holds    */
  /* the framework's own */
  const struct edf_op *says;             /* how it is printed; NULL: nobody has said it       */
  const char  *letters;                  /* its indices, [b,t,S], where a text has named them */
  unsigned     graph, batched;           /* its graph; bit d: dim[d] follows the batch        */
  unsigned long ran;                     /* edf.feeds when forward last ran                   */
  int          fed; void *all;           /* rows of its last feed, or -1; its line            */
  const void  *line_of;                  /* the line of a slide that it is, or NULL           */
  char         wanted, needs_grad, active;         /* a gradient; one; in the pass that runs  */
  char         reached, beyond;          /* 1: by Backward; 2: and used; behind a mismatch    */
  int          lazy, is;                 /* as its op says; 1 << EDF_IS_... of what it is     */
  char         row_dims, causal;         /* a row: its last indices; | S<=t                   */
  signed char  letters_of;               /* the input whose indices it has; -1: none has them */
  int          classes, position;        /* of its last input's labels, or 0; in its list     */
};

/* What can be asked of a node: edf_is, in >>tools. */
typedef enum {
  EDF_IS_OWN,                            /* the program's: neither built in nor an equation   */
  EDF_IS_EQUATION, EDF_IS_SOFTMAX,       /* SoftmaxLogLoss is a softmax and a class loss      */
  EDF_IS_CLASS_LOSS, EDF_IS_BINARY_LOSS, /* LogLoss, SoftmaxLogLoss; BCELoss                  */
  EDF_IS_LOOKUP, EDF_IS_DROPOUT, EDF_IS_BATCH_NORM, EDF_IS_SQUARE, EDF_IS_DIFFERENCE,
  EDF_IS_MISMATCHED, EDF_HAS_FORMULA,    /* by edf_expect_mismatch; it prints as formulas     */
  EDF_IS_ACTIVE, EDF_IS_CURRENT,         /* of edf_mark's target; it ran since the last feed  */
  EDF_NEEDS_GRAD, EDF_HAS_BACKWARD,      /* a gradient goes to it; its own backward will run  */
  EDF_IS_REACHED, EDF_GRAD_IS_ZERO,      /* by the last Backward; nothing has arrived yet     */
  EDF_MAY_STEP                           /* a parameter that an optimiser would move now      */
} edf_trait;

/* What a node computes and how it is printed: see edf_node_at. All built-in nodes are made from
   an edf_op. The formulas are printed with the names and indices of the node. */
typedef struct edf_op {
  const char *name;                      /* "Tanh"                                            */
  void (*shape)(edf_node *);             /* NULL: the shape of the first input                */
  void (*forward)(edf_node *);           /* writes every entry of y->value                    */
  void (*backward)(edf_node *);          /* adds to the gradients of the inputs; may be NULL  */
  const char *tensors;                   /* "y x": what the formulas call output and inputs   */
  const char *formula;                   /* "y@ = tanh(x@)", or NULL: it prints as Tanh(x)    */
  const char *gradient;                  /* "x.grad@ += y.grad@ (1-y@^2)"; \n between lines   */
  int lazy;                              /* private, 0: inputs to which it adds just once     */
  int is;                                /* private, 0: 1 << EDF_IS_SOFTMAX and the like      */
} edf_op;

/* Who wants to be told what runs: see >>tools, edf_watch. */
typedef enum {
  EDF_BEGIN_FORWARD, EDF_BEFORE_FORWARD, EDF_AFTER_FORWARD, EDF_END_FORWARD,
  EDF_BEGIN_BACKWARD, EDF_BEFORE_BACKWARD, EDF_AFTER_BACKWARD, EDF_END_BACKWARD,
  EDF_BEFORE_UPDATE, EDF_CLEARED
} edf_event;
typedef struct edf_watcher {
  void (*told)(struct edf_watcher *w, edf_event event, edf_node *node);
  struct edf_watcher *next;              /* this and the rest: the framework's own            */
  int passes;                            /* it is not told of single nodes                    */
} edf_watcher;

/* The whole graph is one value: a program with two assigns, edf_graph a = edf; edf = b; */
typedef struct edf_graph {
  edf_node **inputs, **parameters, **compnodes;     /* in the order of construction           */
  int n_inputs, n_parameters, n_compnodes;
  int training;                          /* 1; set to 0 to evaluate (dropout, batch norm)     */
  int eager;                             /* 0; 1: a constructor runs its node's forward       */
  int accumulate;                        /* 0; 1: Backward adds to the parameters' grads      */
  int kernel;                            /* EDF_FASTEST, EDF_BUILTIN or EDF_REFERENCE         */
  unsigned long long seed, draws;        /* random numbers: the n-th depends on these alone   */
  void (*after_backward)(void);          /* NULL; several processes add up gradients here     */
  edf_node *loss;                        /* to read: the last Backward's; NULL in a new graph */
  unsigned long feeds;                   /* to read: grows with each feed or change of batch  */
  /* the framework's own */
  unsigned id; int batch, n_packages;    /* the batch that the shapes were inferred for       */
  const char *batch_name;                /* "b"                                               */
  struct edf__block *kept, *computed;    /* memory, until edf_clear and edf_clear_compnodes   */
  struct edf__workspace *workspace; int n_workspaces;    /* one for each thread               */
  int at, direction, held;               /* what runs; 1 forward, -1 back; a debugger waits   */
  unsigned long long drawn;              /* before the last Forward                           */
  edf_node *target;                      /* whose ancestors are marked                        */
  edf_watcher *watchers;                 /* who is told what runs; those of passes come last  */
  int telling;                           /* they are told now: nobody is told of what runs    */
  unsigned look;                         /* what edf.h itself looks at: see >>watch           */
  struct edf__block *breaks; struct edf_aside *aside;    /* the look aside that goes on       */
  const char *file; int line;            /* of the program's call that runs, for messages     */
  int unfinished;                        /* 1: the last node is built and runs eagerly        */
  const char *late;                      /* who changed gradients that a step had used        */
} edf_graph;

extern edf_graph edf;
#define EDF__HERE __FILE__, __LINE__     /* their caller's. Own names: EDF_NO_SHORT_NAMES     */
#define EDF__CALL(...)                   /* and so do Forward ..., which stay functions     */ \
  (edf.file = __FILE__, edf.line = __LINE__, __VA_ARGS__, edf.file = NULL, (void)0)
typedef edf_node *edf__unary(const char *file, int line, edf_node *x);
typedef edf_node *edf__binary(const char *file, int line, edf_node *a, edf_node *b);

/* An input, declared by name and shape: edf_input("x[b,784]"), edf_input("x[b,i=%d]", n).
   A first index without a number is the batch; its extent comes with each feed. A parameter,
   zero until it is initialised, has no batch: edf_parameter("W[784,64]"). A scalar has no
   brackets. A second parameter W is named by its number too, W@3: so a saved model has both.
   Errors: a malformed or too long declaration. */
#define edf_input(...)     edf_input_at(EDF__HERE, __VA_ARGS__)
#define edf_parameter(...) edf_parameter_at(EDF__HERE, __VA_ARGS__)
edf_node *edf_input_at(const char *file, int line, const char *decl, ...) EDF__PRINTF(3, 4);
edf_node *edf_parameter_at(const char *file, int line, const char *decl, ...) EDF__PRINTF(3, 4);

/* A node of your own, shaped like its first input; as a macro, so that messages name the line
   that calls it. Its two functions are written like Relu's, in >>nodes: see examples/04 too.
     #define MyRelu(x) edf_compnode("MyRelu", relu_forward, relu_backward, x)
   forward writes every entry of y->value from y->in[k]->value. backward adds y->grad times the
   derivative to the inputs' grads, with edf_addgrad; NULL: no gradient flows through. Another
   shape: edf_compnode_shaped("Op", shape, forward, backward, x), where shape sets y->rank and
   y->dim. edf_gradcheck checks a node. */
#define edf_compnode(op, forward, ...) edf_compnode_shaped(op, NULL, forward, __VA_ARGS__)
#define edf_compnode_shaped(op, shape, forward, ...) \
  edf_compnode_at(EDF__HERE, op, shape, forward, __VA_ARGS__, (edf_node *)0)
edf_node *edf_compnode_at(const char *file, int line, const char *op, void (*shape)(edf_node *),
                          void (*forward)(edf_node *), void (*backward)(edf_node *), ...);

/* Makes a node of your own that is printed, checked and stepped through as a built-in one. It
   has n inputs. Its state is a copy of `bytes` bytes, or empty if `state` is NULL. The op is
   not copied, so it must live as long as the node: make it static.
     static const edf_op cube_op = { "Cube", NULL, cube_forward, cube_backward, "y x",
       "y@ = x@^3", "x.grad@ += y.grad@ 3 x@^2", 0, 0 };
     edf_node *cube_at(const char *file, int line, edf_node *x) {
       return edf_node_at(&cube_op, file, line, 1, &x, NULL, 0);
     }
   In the formulas, `@` after a tensor stands for its indices, and `#` for the first edf_real of
   the state. Errors: no op, no name or no forward in it, an operand of another graph. */
edf_node *edf_node_at(const edf_op *op, const char *file, int line, int n, edf_node **in,
                      const void *state, size_t bytes);

/* x.grad[i] += d, or nothing where x has no gradient: the slide's x.addgrad. */
static inline void edf_addgrad(edf_node *x, size_t i, edf_real d) {
  int fresh = x->fresh;                  /* grad counts as zero                               */
  if (fresh && x->grad) x->grad[i] = d;
  else if (x->grad) x->grad[i] += d;
}

/* y->state: memory owned by node y, at least `bytes`, zero at first, kept where it grows. */
void *edf_state(edf_node *y, size_t bytes);

/* Names a node in messages and prints; returns it. By default that is its op and its number, of
   an Einsum the name on its left side. They say its edf_label: h@119 where several are h. */
edf_node *edf_name(edf_node *node, const char *name);
const char *edf_label(const edf_node *node);

/* Asks for the gradient of an Input, or of a node that only Inputs reach; returns it. */
edf_node *edf_want_grad(edf_node *node);

/* Gives an Input `batch` rows of data, as many as all Inputs with a batch index; one without
   takes its whole tensor, with batch 1 or its first extent. Nothing is copied: the data stays
   the caller's and must live unchanged until the next feed or the end of Backward. */
void edf_feed(edf_node *input, const edf_real *data, int batch);
#define edf_feed(input, ...) \
  EDF__CALL(edf_feed(input, __VA_ARGS__))

/* for c in CompNodes: c.forward(). Shapes follow a batch that has changed. edf_forward_to runs
   a node and what it is computed from: prediction without labels. Errors: an input that was
   never fed, fed inputs that disagree on the batch. */
void edf_forward(void);
void edf_forward_to(edf_node *node);
#define edf_forward()        EDF__CALL(edf_forward())
#define edf_forward_to(node) EDF__CALL(edf_forward_to(node))

/* All grads = 0; loss.grad[i] = 1/n for a loss of n entries; c.backward() for c in reversed
   CompNodes. So every grad is the derivative of the mean loss; the slides seed 1 and take the
   mean at the parameter, with the same numbers there. Errors: no Forward since the last feed; a
   loss that no parameter and no wanted input reaches.
   edf.after_backward, a function of the program's, is called at its end, but not where
   edf_step_backward began it: there processes that train on parts of a batch add up their
   gradients, from edf_grad(p) to edf_push_grad(p): see examples/mpi_mnist.c. */
void edf_backward(edf_node *loss);
#define edf_backward(loss) EDF__CALL(edf_backward(loss))

/* p -= eta * p.grad for p in Parameters that the last Backward reached. One with an `update`
   function of its own, p->update = mine, gets that instead; edf_update_sgd makes the step of
   one parameter. p->update = edf_frozen: no step, and no gradient is computed for it. */
void edf_sgd(edf_real eta);
#define edf_sgd(eta) EDF__CALL(edf_sgd(eta))
void edf_update_sgd(edf_node *p, edf_real eta);
void edf_frozen(edf_node *p, edf_real eta);

void edf_zero_grad(void);                /* parameters' grads = 0, for edf.accumulate         */
void edf_clear(void);                    /* forget all nodes, free everything; settings stay  */
void edf_clear_compnodes(void);          /* keep inputs and parameters: a new graph per step  */
edf_graph edf_new_graph(void);           /* an empty graph with the defaults                  */

/* node->value and node->grad, current on the host: brought back from a device if there is one.
   edf_grad: NULL without one. edf_push, edf_push_grad: the program has written them. */
edf_real *edf_value(edf_node *node);
edf_real *edf_grad(edf_node *node);
void edf_push(edf_node *node);
void edf_push_grad(edf_node *node);

/* ---- Every node and its formulas -----------------------------------------------------------
   Each is a macro that adds the source line to a function edf_NAME_at; break on that one. dx is
   x.grad. In the formulas of element-wise nodes one index stands for all. */
/* One node from one equation; see the notation above. edf_fmt puts run-time numbers into it,
   for one call, at most 511 characters:
     edf_einsum(edf_fmt("a[t,s] = %.17g Q[t,I] K[s,I]", c), Q, K) */
#define edf_einsum(...) edf_einsum_at(EDF__HERE, __VA_ARGS__, (edf_node *)0)
edf_node *edf_einsum_at(const char *file, int line, const char *equation, ...);
const char *edf_fmt(const char *format, ...) EDF__PRINTF(1, 2);

/* Affine: s[b,j] = W[I,j] x[b,I] - B[j]. The bias is a threshold and is subtracted. x has
   rank 1 to 4. W [n_in, n_out] starts uniform with variance 1/n_in, and B [n_out] starts 0. */
typedef struct { edf_node *w, *b; } edf_affine_package;
#define edf_affine_params(n_in, n_out) edf_affine_params_at(EDF__HERE, n_in, n_out)
#define edf_affine(...)                edf_affine_at(EDF__HERE, __VA_ARGS__)
edf_affine_package edf_affine_params_at(const char *file, int line, int n_in, int n_out);
edf_node *edf_affine_at(const char *file, int line, edf_affine_package Phi, edf_node *x);

#define edf_sigmoid(x) edf_sigmoid_at(EDF__HERE, x)  /* y = 1/(1+exp(-x))    dx += dy y (1-y) */
#define edf_tanh(x)    edf_tanh_at(EDF__HERE, x)     /* y = tanh(x)          dx += dy (1-y^2) */
#define edf_relu(x)    edf_relu_at(EDF__HERE, x)     /* y = max(0, x)        dx += dy [y > 0] */
#define edf_exp(x)     edf_exp_at(EDF__HERE, x)      /* y = exp(x)           dx += dy y       */
#define edf_log(x)     edf_log_at(EDF__HERE, x)      /* y = ln(x)            dx += dy / x     */
#define edf_sqrt(x)    edf_sqrt_at(EDF__HERE, x)     /* y = sqrt(x)          dx += dy / (2 y) */
#define edf_square(x)  edf_square_at(EDF__HERE, x)   /* y = x^2              dx += dy 2 x     */

/* y = a + b, a - b, a b, a / b. The shapes are equal, or one is the trailing part of the other
   (and repeats along the rest), or one operand is a scalar. */
#define edf_add(a, b) edf_add_at(EDF__HERE, a, b)
#define edf_sub(a, b) edf_sub_at(EDF__HERE, a, b)
#define edf_mul(a, b) edf_mul_at(EDF__HERE, a, b)    /* da += dy b        db += dy a          */
#define edf_div(a, b) edf_div_at(EDF__HERE, a, b)    /* da += dy / b      db -= dy y / b      */

/* Softmax over the last index k: P[b,k] = exp(s[b,k]) / sum_j exp(s[b,j]). */
#define edf_softmax(...) edf_softmax_at(EDF__HERE, __VA_ARGS__)

/* Of classes y[b], whole numbers from 0 to K-1 stored as reals: l[b] = -ln P[b,y[b]], from
   probabilities, and from scores, stable, l[b] = ln sum_j exp(s[b,j]) - s[b,y[b]].
   Errors, in Forward: a label out of range or not whole, with its row and value. */
#define edf_log_loss(P, y)         edf_log_loss_at(EDF__HERE, P, y)
#define edf_softmax_log_loss(s, y) edf_softmax_log_loss_at(EDF__HERE, s, y)

/* Over all entries, to a scalar: y = sum_i x[i], and y = (1/n) sum_i x[i]. */
#define edf_sum(...)  edf_sum_at(EDF__HERE, __VA_ARGS__)
#define edf_mean(...) edf_mean_at(EDF__HERE, __VA_ARGS__)
edf__unary edf_sigmoid_at, edf_tanh_at, edf_relu_at, edf_exp_at, edf_log_at, edf_sqrt_at,
           edf_square_at, edf_softmax_at, edf_sum_at, edf_mean_at;
edf__binary edf_add_at, edf_sub_at, edf_mul_at, edf_div_at, edf_log_loss_at,
            edf_softmax_log_loss_at;

/* ---- Random numbers, the same on every platform; edf_seed starts again from draw 0. */
void     edf_seed(unsigned long long seed);
edf_real edf_uniform(edf_real lo, edf_real hi);               /* in [lo, hi)                  */
edf_real edf_normal(edf_real mean, edf_real deviation);       /* Box and Muller               */
int      edf_below(int n);                                    /* 0 .. n-1                     */
void     edf_init_uniform(edf_node *p, edf_real lo, edf_real hi);
void     edf_init_normal(edf_node *p, edf_real mean, edf_real deviation);

/* ---- The kernel's interface. A term of an equation is a loop nest: loops with an extent and a
   stride in each operand, 0 where it is absent; its body: out[..] += alpha * a[..] * b[..]. */
enum { EDF_OUT, EDF_A, EDF_B };
enum { EDF_FASTEST, EDF_BUILTIN, EDF_REFERENCE };         /* edf.kernel: which code contracts */
typedef struct { ptrdiff_t n, s[3]; } edf_loop;
typedef struct {
  int n;
  edf_loop loop[EDF_MAX_INDEX];
  ptrdiff_t start[3];                    /* first element of each operand                     */
  edf_real alpha;
} edf_nest;
void edf_contract_reference(const edf_nest *nest, edf_real *out, const edf_real *a,
                            const edf_real *b);           /* the definition, in >>contraction */

EDF__C_END
#endif /* EDF_H */

/* ---- What the code of all chapters needs ------------------------------------------------ */
#ifdef EDF_IMPLEMENTATION                /* with EDF_LINKED too: the text compiles the same */
#include <float.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#ifndef __wasi__
#include <setjmp.h>
#endif
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#endif

#if defined(EDF_IMPLEMENTATION) && !defined(EDF_LINKED) && !defined(EDF_IMPLEMENTED)
#define EDF_IMPLEMENTED
#define EDF__CODE                        /* this time the code is compiled                    */
#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef EDF_CBLAS
#include <cblas.h>
#undef I                                 /* <cblas.h> may include <complex.h>                 */
#endif
#if defined A || defined B || defined C || defined G || defined J || defined K || defined N || \
    defined P || defined R || defined T || defined W || defined Z
#error "edf.h: a macro of one letter, as N: define it behind the include of EDF_IMPLEMENTATION"
#include "edf.h: it is defined before"   /* no such file: here a compiler stops               */
#endif

#if defined(__unix__) || defined(__APPLE__)
#define EDF__UNIX                        /* files: see >>tools                                */
#include <sys/types.h>
#include <sys/stat.h>
#ifdef __cplusplus
#include <unistd.h>
#else
ssize_t readlink(const char *path, char *to, size_t n);    /* -std=c99 hides it              */
#endif
#endif

#if defined(EDF_MALLOC) != defined(EDF_FREE)
#error "define both EDF_MALLOC and EDF_FREE, or neither"
#endif
#ifndef EDF_MALLOC
#define EDF_MALLOC(n) malloc(n)
#define EDF_FREE(p) free(p)
#endif
#ifndef EDF_ASSERT
#include <assert.h>
#define EDF_ASSERT(c) assert(c)
#endif
#ifndef EDF_PANIC
#define EDF_PANIC(message) (fflush(stdout), fprintf(stderr, "%s\n", message), abort())
#endif

EDF__C_BEGIN
const char EDF__TYPE_MARK = 1;
/* A device may run and hold what the code here does, see >>seam: it returns 1 where it has. */
typedef struct {
  void (*open)(void);                             /* a node is made                           */
  int  (*pass)(void (*nodes)(void));              /* run them, as nodes() does                */
  int  (*node)(edf_node *y, int backward);
  int  (*fill)(edf_real *x, size_t n, edf_real number);
  int  (*sgd)(edf_node *p, edf_real eta);
  void (*pull)(edf_real *x, size_t n);            /* an array is read here                    */
  void (*push)(edf_real *x, size_t n);            /* it was written here                      */
  void (*forget)(const void *x);                  /* it will be freed                         */
  void (*stop)(int clear);                        /* a mistake ends what runs, or edf_clear   */
} edf__seam_table;
EDF__HOOK(const edf__seam_table, edf__seam)

/* ==== >>memory  Errors, memory and names ================================================= */

/* ---- A message is put together piece by piece, then edf__stop hands it to EDF_PANIC. */
static char edf__message[8192];
static size_t edf__length;

static void edf__vsay(const char *format, va_list args) {
  size_t room = sizeof edf__message - edf__length;
  int n = vsnprintf(edf__message + edf__length, room, format, args);
  if (n > 0) edf__length += (size_t)n < room ? (size_t)n : room - 1;
}

/* Numbers have a point in every locale: an equation reads a comma as a comma. 1: the locale is
   another now, and goes back to the one that is named. */
static int edf__leave_locale(char name[128]) {
  if (*localeconv()->decimal_point == '.') return 0;
  snprintf(name, 128, "%s", setlocale(LC_NUMERIC, NULL));
  return setlocale(LC_NUMERIC, "C") != NULL;
}
static int edf__format(char *to, size_t room, const char *format, va_list args) {
  char locale[128];
  int left = edf__leave_locale(locale), n = vsnprintf(to, room, format, args);
  if (left) setlocale(LC_NUMERIC, locale);
  return n;
}

EDF__PRINTF(1, 2) static void edf__say(const char *format, ...) {
  va_list args;
  va_start(args, format);
  edf__vsay(format, args);
  va_end(args);
}

/* Who watches is told what runs, in >>tools; 1: a debugger has run the node meanwhile. */
enum { EDF__STOPPED = EDF_CLEARED + 1 };
typedef int edf__teller(int event, edf_node *x);
EDF__HOOK(edf__teller, edf__notice)

static int edf__tell(int event, edf_node *x) { return edf__notice && edf__notice(event, x); }


#ifndef __wasi__
static jmp_buf *edf__caught;             /* who goes on after an answer that cannot be read   */
#endif

EDF__NORETURN static void edf__stop(void) {
#ifndef __wasi__
  if (edf__caught) longjmp(*edf__caught, 1);
#endif
  edf__length = 0;                       /* the next message starts afresh                    */
  edf.file = NULL;
  edf.n_compnodes -= edf.unfinished;     /* a node that was built by edf.eager is not there   */
  if (edf.unfinished) edf.target = NULL;
  if (edf.unfinished) edf.direction = edf.unfinished = 0;
  int running = edf.direction > 0 && edf.at >= 0 && edf.at < edf.n_compnodes;
  if (running && edf.compnodes[edf.at]->ran != edf.feeds) edf.at--;  /* it is the next again  */
  edf__tell(EDF__STOPPED, NULL);
  if (edf__seam) edf__seam->stop(0);
  EDF_PANIC(edf__message);
  abort();
}

#define edf__die(...) (edf__say(__VA_ARGS__), edf__stop())

/* hw1.c:55: Relu:   before a message, of all that has an op, a file, or NULL, and a line. */
typedef struct { const char *op, *file; int line; } edf__site;
static void edf__say_place(const char *op, const char *file, int line) {
  if (file) edf__say("%s:%d: ", file, line);
  edf__say("%s: ", op);
}
#define edf__say_at(y) edf__say_place((y)->op, (y)->file, (y)->line)
#define edf__say_who(who) edf__say_place(who, edf.file, edf.line)         /* that was called */
#define edf__fail_at(y, ...) (edf__say_at(y), edf__die(__VA_ARGS__))

/* edf.h's own texts, which do not take the place of the program's. */
static int edf__own_texts;               /* so many of the next calls of edf_fmt are for them */
static void edf__own_text(void) { edf__own_texts++; }
#define edf__fmt(...) (edf__own_text(), edf_fmt(__VA_ARGS__))

/* ---- How messages name a node:  Relu "h" [b=64, 100]      built at hw1.c:55 */
static int edf__n_nodes(void) { return edf.n_inputs + edf.n_parameters + edf.n_compnodes; }
static edf_node *edf__nth(int i) {       /* of all of them                                    */
  if (i < edf.n_inputs) return edf.inputs[i];
  i -= edf.n_inputs;
  return i < edf.n_parameters ? edf.parameters[i] : edf.compnodes[i - edf.n_parameters];
}

static int edf__order_of(const edf_node *x) {
  int leaves = x->kind == EDF_PARAMETER ? edf.n_inputs : edf.n_inputs + edf.n_parameters;
  return x->kind == EDF_INPUT ? x->position : leaves + x->position;
}

const char *edf_label(const edf_node *x) {
  if (x->kind != EDF_COMPNODE || x->graph != edf.id || x->position < 0) return x->name;
  for (int i = 0; i < edf__n_nodes(); i++)         /* x may be a copy: its place is the same */
    if (i != edf__order_of(x) && !strcmp(edf__nth(i)->name, x->name))
      return edf__fmt("%.490s@%d", x->name, x->position);
  return x->name;
}

static void edf__say_dims(const edf_node *x, int rank) {
  int own = x->kind == EDF_INPUT && x->fed > 0, batch = own ? x->fed : 0;
  for (int i = 0; !batch && i < edf.n_inputs; i++)
    if (edf.inputs[i]->batched && edf.inputs[i]->fed > 0) batch = edf.inputs[i]->fed;
  if (rank > 0) edf__say("[");
  for (int d = 0; d < rank; d++) {
    int follows = x->batched >> d & 1, n = x->dim[d];
    if (!n || (own && follows)) n = batch;
    if (!n) edf__say("%s", edf.batch_name);
    else if (follows && (n == batch || n == edf.batch)) edf__say("%s=%d", edf.batch_name, n);
    else edf__say("%d", n);
    edf__say(d + 1 < rank ? ", " : "]");
  }
  if (rank <= 0) edf__say("scalar");
}

static void edf__say_node(const edf_node *x) {
  edf__say("%s \"%s\" ", x->op, edf_label(x));
  edf__say_dims(x, x->rank);
  size_t begin = edf__length;
  while (begin > 0 && edf__message[begin - 1] != '\n') begin--;
  int at = (int)(edf__length - begin);
  edf__say("%*s", at + 2 < 48 ? 48 - at : 2, "");    /* column 48, or behind */
  edf__say("%s at %s:%d", x->kind == EDF_COMPNODE ? "built" : "declared", x->file, x->line);
}

/* A message, or a part of one, that ends with a node; `fail`: with a node on its own line. */
#define edf__say_with(x, ...) (edf__say(__VA_ARGS__), edf__say_node(x))
#define edf__stop_with(x, ...) (edf__say_with(x, __VA_ARGS__), edf__stop())
#define edf__fail_with(x, ...) (edf__say(__VA_ARGS__), edf__stop_with(x, "\n  "))
#define edf__fail_who(who, x, ...) (edf__say_who(who), edf__fail_with(x, __VA_ARGS__))
#define edf__fail_at_with(y, x, ...) (edf__say_at(y), edf__fail_with(x, __VA_ARGS__))

/* ---- The one error function. A message is one statement that reads like what it prints:
     edf__fail(edf__site_of(y), "expected one label for each row\n  %s", edf__show(x));  */

/* Formats into one of 16 buffers in turn, so that one message can use several texts. */
EDF__USED EDF__PRINTF(1, 2) static const char *edf__text(const char *format, ...) {
  static char ring[16][1024];
  static unsigned turn;
  char *to = ring[turn++ % 16];
  va_list args;
  va_start(args, format);
  edf__format(to, sizeof ring[0], format, args);
  va_end(args);
  return to;
}

/* The shape as messages show it: [b=64, 100]. */
EDF__USED static const char *edf__dims(const edf_node *x, int rank) {
  size_t begin = edf__length;
  edf__say_dims(x, rank);
  const char *text = edf__text("%s", edf__message + begin);
  edf__message[edf__length = begin] = 0;
  return text;
}
/* A node as messages show it: Relu "h" [b=64, 100]   built at hw1.c:55 */
EDF__USED static const char *edf__show(const edf_node *x) {
  size_t begin = edf__length;
  edf__say_node(x);
  const char *text = edf__text("%s", edf__message + begin);
  edf__message[edf__length = begin] = 0;
  return text;
}

/* Where a message points: at a node that the program built, or at the call that runs. */
EDF__USED static edf__site edf__site_of(const edf_node *y) {
  edf__site at = { y->op, y->file, y->line };
  return at;
}
EDF__USED static edf__site edf__call_of(const char *function) {
  edf__site at = { function, edf.file, edf.line };
  return at;
}

/* Stops the program: hw1.c:55: Relu: the message. */
EDF__NORETURN EDF__USED EDF__PRINTF(2, 3)
static void edf__fail(edf__site at, const char *format, ...) {
  va_list args;
  edf__say_at(&at);
  va_start(args, format);
  edf__vsay(format, args);
  va_end(args);
  edf__stop();
}

/* ---- Memory: blocks in a list of the graph's, so that edf_clear finds all of them, also after
   a panic that jumped out of the middle of something. Data is aligned to 64 bytes. */
typedef struct edf__block {
  struct edf__block *next, **link;       /* link: what points at this block                   */
  size_t bytes;
  void *raw;
} edf__block;
enum { EDF__ALIGN = 64 };

static size_t edf__times(size_t a, size_t b) {
  if (b && a > SIZE_MAX / 4 / b)
    edf__die("edf: a size of %zu times %zu bytes overflows", a, b);
  return a * b;
}

static edf__block *edf__header(void *data) {
  return (edf__block *)(void *)((char *)data - EDF__ALIGN);
}

/* Zeros; NULL where there is no memory. */
static void *edf__try_alloc(edf__block **list, size_t bytes) {
  void *raw = EDF_MALLOC(bytes + 2 * EDF__ALIGN);
  if (!raw) return NULL;
  uintptr_t data = ((uintptr_t)raw + 2 * EDF__ALIGN - 1) / EDF__ALIGN * EDF__ALIGN;
  edf__block *block = edf__header((void *)data);
  block->raw = raw;
  block->bytes = bytes;
  block->next = *list;
  block->link = list;
  if (*list) (*list)->link = &block->next;
  *list = block;
  return memset((void *)data, 0, bytes);
}

static void edf__free(void *data) {
  if (!data) return;
  edf__block *block = edf__header(data);
  if (edf__seam) edf__seam->forget(data);
  *block->link = block->next;
  if (block->next) block->next->link = block->link;
  EDF_FREE(block->raw);
}
static void edf__free_list(edf__block **list) {
  while (*list) edf__free((char *)*list + EDF__ALIGN);
}

/* At least `bytes`, for x or NULL, with the old content and then zeros. Never shrinks. */
static void *edf__grow_for(const edf_node *x, edf__block **list, void *old, size_t bytes) {
  if (old && edf__header(old)->bytes >= bytes) return old;
  void *data = edf__try_alloc(list, bytes);
  if (!data && x) edf__fail_at_with(x, x, "out of memory: %zu bytes", bytes);
  if (!data) edf__die("edf: out of memory: %zu bytes", bytes);
  if (old) memcpy(data, old, edf__header(old)->bytes);
  edf__free(old);
  return data;
}
#define edf__grow(list, old, bytes) edf__grow_for(NULL, list, old, bytes)
#define edf__alloc(list, bytes) edf__grow_for(NULL, list, NULL, bytes)

static char *edf__copy(edf__block **list, const char *text) {
  size_t n = strlen(text) + 1;
  return (char *)memcpy(edf__alloc(list, n), text, n);
}

static edf__block **edf__list_of(const edf_node *x) {
  return x->kind == EDF_COMPNODE ? &edf.computed : &edf.kept;
}

static edf_real *edf__reals(const edf_node *x, edf_real *old) {
  return (edf_real *)edf__grow_for(x, edf__list_of(x), old, x->size * sizeof *old);
}

static void edf__fill_here(edf_real *x, size_t n, edf_real number) {
  if (number == 0) { memset(x, 0, n * sizeof *x); return; }
  for (size_t i = 0; i < n; i++) x[i] = number;
}
static void edf__fill(edf_real *x, size_t n, edf_real number) {
  if (!edf__seam || !edf__seam->fill(x, n, number)) edf__fill_here(x, n, number);
}

static void edf__push(edf_real *x, size_t n) { if (edf__seam && x) edf__seam->push(x, n); }
static void edf__pull(edf_real *x, size_t n) { if (edf__seam && x) edf__seam->pull(x, n); }

/* The size of a tensor, from dimensions that a shape function of the user's may have set. */
static void edf__find_size(edf_node *x) {
  if (x->rank < 0 || x->rank > EDF_MAX_RANK)
    edf__fail_at(x, "its shape function set rank %d, expected 0 to %d", x->rank, EDF_MAX_RANK);
  x->size = 1;
  int unknown = 0;                       /* what follows an unknown batch may fall below 0    */
  for (int k = 0; k < x->n_in; k++) unknown |= x->in[k]->size == 0;
  for (int d = 0; d < x->rank; d++) {
    if (unknown && x->dim[d] < 0) x->dim[d] = 0;
    if (x->dim[d] < (x->kind == EDF_COMPNODE && !unknown))
      edf__fail_at(x, "its shape function set dimension %d to %d, expected 1 or more", d,
                   x->dim[d]);
    if (x->size > SIZE_MAX / 64 / ((size_t)x->dim[d] + 1))
      edf__fail_at_with(x, x, "the tensor is too large");
    x->size *= (size_t)x->dim[d];
  }
}

/* ---- What was cleared is known by its address: it is not read, and no new node has that
   meanwhile. All of the last clear are, and of those before while half the places are free. */
typedef struct { const void *x; const char *file; int line; char name[40]; } edf__grave;
enum { EDF__GRAVES = 4096 };
static edf__grave edf__graves[EDF__GRAVES];
static int edf__n_graves;

/* Its place, or the free one where it would be. */
static edf__grave *edf__grave_of(const void *x) {
  size_t i = (size_t)((uintptr_t)x / EDF__ALIGN * UINT64_C(0x9E3779B97F4A7C15) >> 40);
  while (edf__graves[i % EDF__GRAVES].file && edf__graves[i % EDF__GRAVES].x != x) i++;
  return &edf__graves[i % EDF__GRAVES];
}
static int edf__was_cleared(const void *x) { return edf__grave_of(x)->file != NULL; }

/* Of a block of memory one address is known at most: so the other is free for a new node. */
static void edf__bury(edf_node *x) {
  if (edf__seam) edf__seam->forget(x);   /* what a device keeps by a node's address           */
  edf__grave_of((char *)x - EDF__ALIGN)->x = NULL;
  edf__grave_of((char *)x + EDF__ALIGN)->x = NULL;
  edf__grave *at = edf__grave_of(x);
  if (++edf__n_graves > EDF__GRAVES / 2) return;
  at->x = x;
  at->file = x->file;
  at->line = x->line;
  snprintf(at->name, sizeof at->name, "%.39s", x->name);
}

/* ---- What is asked of a node before it is used. */
#define EDF__FIRST_ID 0xEDF00000u        /* the default graph's; memory that is zero has none */
static int edf__is_there(const edf_node *x) {
  const int n[] = { edf.n_inputs, edf.n_parameters, edf.n_compnodes };
  return x && !edf__was_cleared(x) && x->graph == edf.id && x->position < n[x->kind];
}
EDF__NORETURN static void edf__not_there(const edf_node *x) {
  if (!x) edf__die(" is NULL");
  const edf__grave *at = edf__grave_of(x);
  if (at->file)
    edf__die(" was cleared, and its memory freed: \"%s\", built at %s:%d\n  to use its value "
              "in the next graph, copy that before, and feed the copy to an Input", at->name,
              at->file, at->line);
  if ((x->graph ^ EDF__FIRST_ID) >> 16) edf__die(" is not a node: was it ever made?");
  edf__stop_with(x, x->graph != edf.id ? " is a node of another graph: "
                 : " was made after this copy of its graph: copy that when all is built\n  ");
}

/* The rest names x: "operand %d", k + 1. */
#define edf__check_there(at, x, ...) (edf__is_there(x) ? (void)0 : \
  (edf__say_at(at), edf__say(__VA_ARGS__), edf__not_there(x)))

static void edf__check_node(const char *who, const edf_node *x) {
  edf__site at = { who, edf.file, edf.line };
  edf__check_there(&at, x, "the node");
}
static void edf__check_operands(const edf__site *at, int n, edf_node **in) {
  for (int k = 0; k < n; k++) edf__check_there(at, in[k], "operand %d", k + 1);
}

EDF__NORETURN static void edf__no_value(const char *who, const edf_node *x) {
  edf__fail_who(who, x, "the node has no value yet: %s first",
                x->kind == EDF_INPUT ? "feed it" : "call edf_forward");
}

static void edf__check_parameter(const char *who, const edf_node *p, int updated) {
  edf__check_node(who, p);
  if (p->kind != EDF_PARAMETER || (updated && !p->grad))
    edf__fail_who(who, p, "only a Parameter %s",
                  updated ? "that has a gradient can be updated" : "can be initialised");
}

/* ==== >>core  Nodes, lists and the three loops =========================================== */

enum { EDF__BREAKS = 1, EDF__POISON = 2, EDF__FINITE = 4 };      /* bits of edf.look          */
#if defined EDF_DEBUG && !defined EDF_NO_DEBUG
#define EDF__FIRST_LOOK (EDF__POISON | EDF__FINITE)
#else
#define EDF__FIRST_LOOK 0
#endif
#define EDF__EMPTY_GRAPH \
  { NULL, NULL, NULL, 0, 0, 0, 1, 0, 0, EDF_FASTEST, 1, 0, NULL, NULL, 1, EDF__FIRST_ID, 0, 0, \
    "b", NULL, NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL, 0, EDF__FIRST_LOOK, NULL, NULL, NULL, 0, \
    0, NULL }

edf_graph edf = EDF__EMPTY_GRAPH;

static edf_node *edf__new_node(edf_kind kind, const char *op, const char *file, int line,
                               int n) {
  if (edf__seam) edf__seam->open();
  edf__block **list = kind == EDF_COMPNODE ? &edf.computed : &edf.kept;
  size_t bytes = sizeof(edf_node) + (size_t)(n + 1) * sizeof(edf_node *);
  char *at = (char *)edf__alloc(list, bytes + EDF__ALIGN);
  if (edf__was_cleared(at)) at += EDF__ALIGN;
  edf__grave_of(at)->x = NULL;           /* blocks of other sizes may have begun at both      */
  edf_node *x = (edf_node *)(void *)at;
  x->kind = kind;
  x->op = op;
  x->file = file;
  x->line = line;
  x->graph = edf.id;
  x->fed = -1;
  x->position = -1;                      /* in no list so far                                 */
  x->n_in = n;
  x->in = (edf_node **)(x + 1);
  return x;
}

static void edf__append(edf_node ***list, int *n, edf_node *x) {
  if ((*n & (*n - 1)) == 0)              /* 0, 1, 2, 4 ...: full                              */
    *list = (edf_node **)edf__grow(&edf.kept, *list, (*n ? 2 * (size_t)*n : 1) * sizeof x);
  x->position = *n;
  (*list)[(*n)++] = x;
}

static int edf__is(const edf_node *x, edf_trait trait) { return x->is >> trait & 1; }

static void edf__each(void (*action)(edf_node *)) {
  for (int i = 0; i < edf__n_nodes(); i++) action(edf__nth(i));
}

/* What a node of the program's runs for the first time is looked at in >>check; 1: it ran. */
typedef int edf__runner(edf_node *y, void (*run)(edf_node *));
EDF__HOOK(edf__runner, edf__run_first)

/* ---- Shapes: from the inputs' to a node's, again for each batch. */
static void edf__shape_of_first(edf_node *y) {
  if (!y->n_in) edf__fail_at(y, "a node without inputs needs a shape function");
  y->rank = y->in[0]->rank;
  memcpy(y->dim, y->in[0]->dim, sizeof y->dim);
}

static void edf__shape_of_own(edf_node *y) {         /* by the program's function, maybe      */
  y->rank = INT_MIN;
  y->dim[0] = -1;
  if (y->value || !edf__run_first || !edf__run_first(y, y->shape)) y->shape(y);
  if (y->rank != INT_MIN) return;
  if (y->dim[0] >= 0) edf__fail_at(y, "its shape function set y->dim, but not y->rank");
  y->rank = y->dim[0] = 0;               /* neither: a scalar                                 */
}

/* Shape, size and memory. Of an Input or a Parameter the shape was declared. */
static void edf__infer(edf_node *y) {
  edf_real *value = y->value, *grad = y->grad;
  if (edf__is(y, EDF_IS_OWN)) edf__shape_of_own(y);
  else if (y->shape) y->shape(y);
  edf__find_size(y);
  y->grad = NULL;                        /* where there is no memory for so many              */
  if (y->shape && y->size) {
    y->value = NULL;
    y->value = edf__reals(y, value);
  }
  if (grad) y->grad = edf__reals(y, grad);
}

static void edf__set_batch(int batch) {
  if (batch == edf.batch) return;
  edf.batch = 0;                         /* so after a panic Forward infers all shapes again  */
  for (int i = 0; i < edf.n_inputs; i++)
    if (edf.inputs[i]->batched) edf.inputs[i]->dim[0] = batch;
  edf__each(edf__infer);
  edf.batch = batch;
  edf.feeds++;                           /* what ran with another batch is stale              */
}

/* A new node is inferred with the batch unknown too, from copies of its inputs: so a number
   never passes for the batch, and `batched` tells which dimensions follow it. */
static void edf__infer_new(edf_node *y) {
  if (edf.batch) edf__infer(y);
  size_t n = (size_t)y->n_in, bytes = n * sizeof *y + (n + 1) * sizeof y;
  edf_node **in = y->in, *x = (edf_node *)edf__alloc(&edf.computed, bytes);
  y->in = (edf_node **)(x + n);
  for (size_t k = 0; k < n; k++) {
    x[k] = *in[k];
    for (int d = 0; d < x[k].rank; d++) if (x[k].batched >> d & 1) x[k].dim[d] = 0;
    if (x[k].batched) x[k].size = 0;
    y->in[k] = &x[k];
  }
  edf__infer(y);
  for (int d = 0; d < y->rank; d++) y->batched |= (unsigned)(y->dim[d] == 0) << d;
  edf__free(x);
  y->in = in;
  if (edf.batch) edf__infer(y);
}

/* Every marked input has data. */
static void edf__check_fed(const char *who, const edf_node *target) {
  for (int i = 0; i < edf.n_inputs; i++) {
    const edf_node *x = edf.inputs[i];
    if (!x->active || x->fed >= 0) continue;
    if (!edf.unfinished) edf__fail_who(who, x, "an input was never fed");
    edf__fail_at_with(target, x, "edf.eager is 1, and an input was never fed");
  }
}

/* The batch on which all fed inputs agree; of the marked ones alone for a target. */
static int edf__find_batch(const edf_node *target) {
  edf_node *first = NULL;
  const char *who = target ? "edf_forward_to" : "edf_forward";
  edf__check_fed(who, target);
  for (int i = 0; i < edf.n_inputs; i++) {
    edf_node *x = edf.inputs[i];
    if (!x->batched || x->fed < 0 || (target && !x->active)) continue;
    if (!first) first = x;
    if (x->fed == first->fed) continue;
    edf__say_who(who);
    edf__say("the inputs disagree on the batch");
    edf__say_with(x, "\n  %d rows were fed to ", x->fed);
    edf__stop_with(first, "\n  %d rows were fed to ", first->fed);
  }
  return first ? first->fed : edf.batch;
}

static void edf__mark(edf_node *target) {            /* its ancestors; everything for NULL */
  edf.target = target;
  for (int i = 0; i < edf__n_nodes(); i++) edf__nth(i)->active = 0;
  for (int i = edf.n_compnodes - 1; i >= 0; i--) {
    edf_node *c = edf.compnodes[i];
    if (!target || c == target) c->active = 1;
    for (int k = 0; c->active && k < c->n_in; k++) c->in[k]->active = 1;
  }
}

/* ---- Forward. A debugger may have run the node meanwhile, a device runs it elsewhere. */
static void edf__call_forward(edf_node *c) {
  if (edf__tell(EDF_BEFORE_FORWARD, c)) return;
  int looked_at = c->ran || !edf__run_first;
  c->ran = 0;                            /* it may stop                                       */
  if (!edf__seam || !edf__seam->node(c, 0))
    if (looked_at || !edf__run_first(c, c->forward)) c->forward(c);
  c->ran = edf.feeds;
  edf__tell(EDF_AFTER_FORWARD, c);
}

static void edf__begin_forward(edf_node *target) {
  edf.direction = 0;                     /* steps that were stopped do not go on: others are  */
  edf__mark(target);                     /* marked now                                        */
  edf__set_batch(edf__find_batch(target));
  edf.direction = 1;
  edf.at = -1;
  edf.drawn = edf.draws;
  edf__tell(EDF_BEGIN_FORWARD, target);
}

static void edf__end(void) {
  if (edf.direction > 0) edf__tell(EDF_END_FORWARD, NULL);
  else edf__tell(EDF_END_BACKWARD, edf.loss);
  edf.direction = 0;
}

static void edf__forward_nodes(void) {
  for (edf.at = 0; edf.at < edf.n_compnodes; edf.at++) {
    edf_node *c = edf.compnodes[edf.at];
    int has_run = edf.unfinished && c->ran == edf.feeds;       /* as it was built */
    if (c->active && !has_run) edf__call_forward(c);
  }
}

static void edf__run(edf_node *target) {
  edf__begin_forward(target);
  if (!edf__seam || !edf__seam->pass(edf__forward_nodes)) edf__forward_nodes();
  edf__end();
}

void (edf_forward)(void) { edf__run(NULL); }
void (edf_forward_to)(edf_node *node) {
  edf__check_node("edf_forward_to", node);
  edf__run(node);
}

void (edf_feed)(edf_node *x, const edf_real *data, int batch) {
  const char *who = "edf_feed";
  edf__check_node(who, x);
  int fixed = !x->batched;
  int fits = fixed ? batch == 1 || (x->rank && batch == x->dim[0]) : batch >= 1;
  if (x->kind != EDF_INPUT) edf__fail_who(who, x, "only an Input can be fed");
  if (!data) edf__fail_who(who, x, "the data is NULL");
  if (!fits)
    edf__fail_who(who, x, "batch is %d, %s", batch, fixed
                  ? "but this Input has none: expected 1" : "expected 1 or more");
  x->value = (edf_real *)data;
  x->fed = batch;
  edf.feeds++;
  edf.direction = 0;
  edf__push(x->value, 0);
}

/* ---- A computed node. Inputs come before it, so the order of construction is a schedule. */
static edf_node *edf__computed(const edf_op *about, const char *file, int line, int n,
                               edf_node **in) {
  edf__site at = { about->name, file, line };
  edf__check_operands(&at, n, in);
  edf_node *y = edf__new_node(EDF_COMPNODE, at.op, file, line, n);
  for (int k = 0; k < n; k++) y->in[k] = in[k];
  y->says = about->formula ? about : NULL;
  y->shape = about->shape ? about->shape : edf__shape_of_first;
  y->forward = about->forward;
  y->backward = about->backward;
  y->lazy = about->lazy < 0 ? n : about->lazy;
  y->is = about->is;
  y->row_dims = 1;
  y->name = edf__copy(&edf.computed, edf__fmt("%.490s%d", y->op, edf.n_compnodes));
  return y;
}

/* Its value is not of the last feed, or of another batch than that of the shapes. */
static int edf__is_stale(const edf_node *x) {
  if (x->kind == EDF_COMPNODE) return x->ran != edf.feeds;
  return x->kind == EDF_INPUT && (x->fed < 0 || (x->batched && x->fed != edf.batch));
}

/* With edf.eager a node runs as it is built, and before it what it is computed from and has not
   run since the last feed. What is stepped meanwhile goes on. */
static void edf__run_new(edf_node *y) {
  edf_graph was = edf;
  int stale = 0;
  edf.unfinished = y->active = 1;
  for (int k = 0; k < y->n_in; k++) {
    stale |= edf__is_stale(y->in[k]);
    if (y->in[k]->kind == EDF_INPUT) y->in[k]->active = 1;           /* a device brings it    */
  }
  if (stale) edf__run(y);
  else edf__call_forward(y);
  edf.unfinished = 0;
  if (stale && was.direction) edf__mark(was.target);
  edf.at = was.at;
  edf.direction = was.direction;
  y->active = 1;                         /* for steps that go on, whoever has marked another  */
}

static edf_node *edf__add_compnode(edf_node *y) {
  edf__infer_new(y);
  edf__append(&edf.compnodes, &edf.n_compnodes, y);
  if (edf.eager) edf__run_new(y);
  return y;
}

/* ---- Backward. All gradients are zero when it begins. A `fresh` one is, whatever its memory
   holds; that saves a pass over every weight, since what adds to it first writes instead. So
   does edf_addgrad, for a node that adds to each entry of its first `lazy` inputs, and once; of
   all other inputs the zeros are there before. Where the program can look they are as well. */
static void edf__show_zeros(edf_node *x) {
  if (x->grad && x->fresh) edf__fill(x->grad, x->size, 0);
}
static void edf__end_fresh(edf_node *x) {
  edf__show_zeros(x);
  x->fresh = 0;
}

/* A node needs a gradient if a parameter or a wanted input reaches it. */
static void edf__find_needs(edf_node *x) {
  x->needs_grad = (x->kind == EDF_PARAMETER && x->update != edf_frozen) || x->wanted;
  for (int k = 0; x->backward && k < x->n_in; k++) x->needs_grad |= x->in[k]->needs_grad;
}

static void edf__check_loss(const char *who, const char *what, edf_node *x) {
  edf_node *end = NULL, *was = edf.target;
  int frozen = 0;
  if (x->kind != EDF_COMPNODE)
    edf__fail_who(who, x, "the %s is not a computed node", what);
  if (x->needs_grad && x->ran != edf.feeds)
    edf__fail_who(who, x, "the %s has no value for the last feed: call edf_forward first",
                  what);
  if (x->needs_grad) return;
  edf__mark(x);
  for (int i = 0; i < edf__n_nodes(); i++) {
    edf_node *c = edf__nth(i);
    frozen |= c->update == edf_frozen;
    for (int k = 0; c->active && !c->backward && k < c->n_in; k++)
      if (c->in[k]->needs_grad) end = c;
  }
  edf__mark(was);
  edf__say_who(who);
  edf__say_with(x, "no parameter%s reaches the %s, and no input with edf_want_grad\n  ",
                frozen ? " that is not frozen" : "", what);
  if (end) edf__say_with(end, "\nsince a gradient ends where there is no backward, at\n  ");
  edf__stop();
}

static void edf__prepare_grad(edf_node *x) {
  int keep = edf.accumulate && x->kind == EDF_PARAMETER && x->grad;
  int now = x->needs_grad && x->active;
  x->fresh = !keep;
  x->reached = (char)(now || (keep && x->reached));
  if (now) x->grad = edf__reals(x, x->grad);
  if (x->needs_grad) return;
  edf__free(x->grad);
  x->grad = NULL;
}

static int edf__runs_backward(const edf_node *c) {
  return c->active && c->needs_grad && c->backward;
}

/* May a debugger, a watcher or the program's own code look at gradients before the end? */
static int edf__shows_grads(void) {
  int shows = edf.kernel == EDF_REFERENCE || edf.watchers || edf.look;
#ifndef __OPTIMIZE__
  shows = 1;
#endif
  for (int i = 0; !shows && i < edf.n_compnodes; i++)
    shows = edf__is(edf.compnodes[i], EDF_IS_OWN) && edf__runs_backward(edf.compnodes[i]);
  return shows;
}

static void edf__begin_backward(edf_node *loss) {
  edf__check_node("edf_backward", loss);
  edf__each(edf__find_needs);
  edf__check_loss("edf_backward", "loss", loss);
  edf__mark(loss);
  edf__check_fed("edf_backward", loss);
  edf__each(edf__prepare_grad);
  edf__fill(loss->grad, loss->size, (edf_real)1 / (edf_real)loss->size);
  loss->fresh = 0;
  if (edf__shows_grads()) edf__each(edf__show_zeros);
  edf.loss = loss;
  edf.direction = -1;
  edf.at = edf.n_compnodes;
  edf__tell(EDF_BEGIN_BACKWARD, loss);
}

static void edf__ends_backward(edf_node *c) {
  for (int k = 0; k < c->lazy; k++) c->in[k]->fresh = 0;
  edf__tell(EDF_AFTER_BACKWARD, c);
}

static int edf__starts_backward(edf_node *c) {
  if (!edf__runs_backward(c)) return 0;
  edf__end_fresh(c);
  if (edf__tell(EDF_BEFORE_BACKWARD, c)) return 0;
  if (edf__seam && edf__seam->node(c, 1)) { edf__ends_backward(c); return 0; }
  for (int k = c->lazy; k < c->n_in; k++) edf__end_fresh(c->in[k]);
  if (c->steps++ || !edf__run_first || !edf__run_first(c, c->backward)) return 1;
  edf__ends_backward(c);
  return 0;
}

/* The loop alone: from another loss.grad, or told to a device. */
static void edf__backward_nodes(void) {
  for (edf.at = edf.n_compnodes - 1; edf.at >= 0; edf.at--) {
    edf_node *c = edf.compnodes[edf.at];
    if (edf__starts_backward(c)) { c->backward(c); edf__ends_backward(c); }
  }
  edf__each(edf__end_fresh);
}
static int edf__last_node(void) {        /* none, where a device has run them all             */
  return edf__seam && edf__seam->pass(edf__backward_nodes) ? -1 : edf.n_compnodes - 1;
}
static void edf__end_backward(void) {
  edf__each(edf__end_fresh);
  edf__end();
  if (edf.after_backward) edf.after_backward();
}

void (edf_backward)(edf_node *loss) {
  edf__begin_backward(loss);             /* all grads = 0, loss.grad = 1/n                    */
  for (edf.at = edf__last_node(); edf.at >= 0; edf.at--) {
    edf_node *c = edf.compnodes[edf.at];
    if (edf__starts_backward(c)) { c->backward(c); edf__ends_backward(c); }
  }
  edf__end_backward();
}

/* ---- SGD. A parameter with an update function of its own gets that instead. */
static int edf__may_step(const edf_node *p) {
  return p->grad && p->reached && p->update != edf_frozen;
}
static int edf__due(edf_node *p, edf_real eta) {
  edf__tell(EDF_BEFORE_UPDATE, p);
  if (!edf__may_step(p)) return 0;
  if (p->update && p->reached == 3)
    edf__fail_who("update", p, "this parameter's own rule calls an optimiser, which steps all "
                  "and calls the rule again: call edf_update_sgd, or another of one parameter");
  p->steps++;
  p->reached = 2;
  edf.late = NULL;
  if (!p->update) return 1;
  p->reached = 3;                        /* while its rule runs                               */
  p->update(p, eta);
  p->reached = 2;
  return 0;
}

void edf_frozen(edf_node *p, edf_real eta) { (void)p; (void)eta; }

void edf_update_sgd(edf_node *p, edf_real eta) {
  edf__check_parameter("edf_update_sgd", p, 1);
  if (edf__seam && edf__seam->sgd(p, eta)) return;
  for (size_t i = 0; i < p->size; i++) p->value[i] -= eta * p->grad[i];
}
void (edf_sgd)(edf_real eta) {
  for (int i = 0; i < edf.n_parameters; i++)
    if (edf__due(edf.parameters[i], eta)) edf_update_sgd(edf.parameters[i], eta);
}

void edf_zero_grad(void) {
  for (int i = 0; i < edf.n_parameters; i++) {
    edf.parameters[i]->fresh = 1;
    edf__end_fresh(edf.parameters[i]);
  }
}

void edf_clear_compnodes(void) {
  if (edf__n_graves + edf__n_nodes() > EDF__GRAVES / 2) {
    memset(edf__graves, 0, sizeof edf__graves);
    edf__n_graves = 0;
  }
  for (int i = edf.n_compnodes; i-- > 0;) edf__bury(edf.compnodes[i]);
  edf__free_list(&edf.computed);
  edf.n_compnodes = edf.direction = 0;
  edf.loss = edf.target = NULL;
}
void edf_clear(void) {
  if (edf__seam) edf__seam->stop(1);
  edf__tell(EDF_CLEARED, NULL);
  edf_clear_compnodes();
  edf__each(edf__bury);
  edf__free_list(&edf.kept);
  edf.inputs = edf.parameters = edf.compnodes = NULL;
  edf.n_inputs = edf.n_parameters = edf.n_packages = edf.n_workspaces = edf.batch = 0;
  edf.batch_name = "b";
  edf.workspace = NULL;
  edf.look = EDF__FIRST_LOOK;
  edf__free_list(&edf.breaks);
  edf.aside = NULL;
}

edf_graph edf_new_graph(void) {
  static unsigned graphs = 0;
  edf_graph empty = EDF__EMPTY_GRAPH;
  empty.id += ++graphs;
  return empty;
}

void *edf_state(edf_node *y, size_t bytes) {
  edf__check_node("edf_state", y);
  return y->state = edf__grow(edf__list_of(y), y->state, bytes);
}

edf_node *edf_name(edf_node *node, const char *name) {
  if (!name) edf__die("edf_name: the name is NULL");
  edf__check_node("edf_name", node);
  node->name = edf__copy(edf__list_of(node), name);
  return node;
}
edf_node *edf_want_grad(edf_node *node) {
  edf__check_node("edf_want_grad", node);
  node->wanted = 1;
  return node;
}

edf_real *edf_value(edf_node *node) {
  edf__check_node("edf_value", node);
  if (!node->value) edf__no_value("edf_value", node);
  edf__pull(node->value, node->size);
  return node->value;
}
edf_real *edf_grad(edf_node *node) {
  edf__check_node("edf_grad", node);
  edf__pull(node->grad, node->size);
  return node->grad;
}
void edf_push(edf_node *node) {
  edf__check_node("edf_push", node);
  edf__push(node->value, node->size);
}
void edf_push_grad(edf_node *node) {
  edf__check_node("edf_push_grad", node);
  edf__push(node->grad, node->size);
}

/* A constructor's operands, up to the end mark, as a NULL-terminated block of the graph. */
static edf_node **edf__operands(va_list args, int *n) {
  edf_node **in = NULL;
  for (*n = -1; *n < 0 || in[*n];) {
    ++*n;
    in = (edf_node **)edf__grow(&edf.computed, in, (size_t)(*n + 8) / 8 * 8 * sizeof *in);
    in[*n] = va_arg(args, edf_node *);
  }
  return in;
}

edf_node *edf_compnode_at(const char *file, int line, const char *op, void (*shape)(edf_node *),
                          void (*forward)(edf_node *), void (*backward)(edf_node *), ...) {
  edf_op about = { op, shape, forward, backward, NULL, NULL, NULL, 0, 1 << EDF_IS_OWN };
  int n;
  va_list args;
  if (!op || !forward) edf__die("%s:%d: edf_compnode: %s is NULL", file, line,
                                 op ? "forward" : "the name");
  va_start(args, backward);
  edf_node **in = edf__operands(args, &n);
  va_end(args);
  about.name = edf__copy(&edf.computed, op);
  edf_node *y = edf__add_compnode(edf__computed(&about, file, line, n, in));
  edf__free(in);
  return y;
}

edf_node *edf_node_at(const edf_op *op, const char *file, int line, int n, edf_node **in,
                      const void *state, size_t bytes) {
  const char *lacks = !op ? "the op" : !op->name ? "the name" : !op->forward ? "forward" : NULL;
  if (lacks) edf__die("%s:%d: edf_node_at: %s is NULL", file, line, lacks);
  edf_node *y = edf__computed(op, file, line, n, in);
  if (state) memcpy(edf_state(y, bytes), state, bytes);
  return edf__add_compnode(y);
}

/* ==== >>init  Random numbers and initialisation ========================================== */

/* The n-th number is a hash of the seed and n: SplitMix64's finaliser, Steele et al. 2014. */
static uint64_t edf__draw(unsigned long long n) {
  uint64_t z = n * UINT64_C(0x9E3779B97F4A7C15);
  z += edf.seed * UINT64_C(0xD1342543DE82EF95);
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}
static double edf__random_unit(void) {   /* in [0, 1), with 53 bits                           */
  return (double)(edf__draw(++edf.draws) >> 11) * (1.0 / 9007199254740992.0);
}

void edf_seed(unsigned long long seed) {
  edf.seed = seed;
  edf.draws = 0;
}
edf_real edf_uniform(edf_real lo, edf_real hi) {
  edf_real x = (edf_real)((double)lo + ((double)hi - (double)lo) * edf__random_unit());
  return x < hi ? x : lo;                /* rounding may have reached hi                      */
}
edf_real edf_normal(edf_real mean, edf_real deviation) {
  double radius = sqrt(-2 * log(1 - edf__random_unit()));
  double angle = 6.283185307179586 * edf__random_unit();
  return (edf_real)((double)mean + (double)deviation * radius * cos(angle));
}
int edf_below(int n) {
  if (n < 1) edf__die("edf_below: n is %d, expected at least 1", n);
  return (int)(edf__random_unit() * n);
}

void edf_init_uniform(edf_node *p, edf_real lo, edf_real hi) {
  edf__check_parameter("edf_init_uniform", p, 0);
  for (size_t i = 0; i < p->size; i++) p->value[i] = edf_uniform(lo, hi);
  edf_push(p);
}
void edf_init_normal(edf_node *p, edf_real mean, edf_real deviation) {
  edf__check_parameter("edf_init_normal", p, 0);
  for (size_t i = 0; i < p->size; i++) p->value[i] = edf_normal(mean, deviation);
  edf_push(p);
}

/* ==== >>nodes  Nodes, from the simplest ================================================== */

static edf_node *edf__node1(const edf_op *about, const char *file, int line, edf_node *x) {
  return edf__add_compnode(edf__computed(about, file, line, 1, &x));
}
static edf_node *edf__node2(const edf_op *about, const char *file, int line, edf_node *a,
                            edf_node *b) {
  edf_node *in[2] = { a, b };
  return edf__add_compnode(edf__computed(about, file, line, 2, in));
}

/* exp that a compiler vectorises: x = n ln2 + r, a polynomial for exp(r), and 2^n by the
   exponent's bits, in two halves so that results below the smallest normal number are right.
   Within 1 ulp; NaN stays NaN. In double the C library's. Coefficients: Cephes, expf, tanhf. */
#if EDF_REAL_IS_DOUBLE
static double edf__exp(double x) { return exp(x); }
static double edf__tanh(double x) { return tanh(x); }
static double edf__ln(double x) { return log(x); }
static double edf__root(double x) { return sqrt(x); }
#else
static inline float edf__power_of_two(int32_t n) {
  float power;
  n = (int32_t)((uint32_t)(n + 127) << 23);
  memcpy(&power, &n, sizeof power);
  return power;
}

static inline float edf__exp(float x) {
  float t = x < -104 ? -104 : x;
  t = t > 89 ? 89 : t;
  float n = (t * 1.44269504f + 12582912.f) - 12582912.f;       /* rounds to a whole number */
  float r = (t - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  int32_t k = n == n ? (int32_t)n : 0, half = k / 2;
  return (p * r * r + r + 1) * edf__power_of_two(half) * edf__power_of_two(k - half);
}

static inline float edf__tanh(float x) { /* near 0 by an odd polynomial                       */
  float size = x < 0 ? -x : x, z = x * x;
  float p = -5.70498872745e-3f * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  float near = p * z * x + x, far = 1 - 2 / (edf__exp(2 * size) + 1);
  return size < 0.625f ? near : x < 0 ? -far : far;
}
static float edf__ln(float x) { return logf(x); }
static float edf__root(float x) { return sqrtf(x); }
#endif

/* ---- Sigmoid   y[i] = 1/(1+exp(-x[i]))     x.grad[i] += y.grad[i] y[i] (1-y[i]) ---- */
static void edf__sigmoid_forward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) y->value[i] = 1 / (1 + edf__exp(-x->value[i]));
}
static void edf__sigmoid_backward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++)
    edf_addgrad(x, i, y->grad[i] * y->value[i] * (1 - y->value[i]));
}
static const edf_op edf__sigmoid_op = { "Sigmoid", NULL, edf__sigmoid_forward,
  edf__sigmoid_backward, "y x", "y@ = 1/(1+exp(-x@))", "x.grad@ += y.grad@ y@ (1-y@)", 1, 0 };
edf_node *edf_sigmoid_at(const char *file, int line, edf_node *x) {
  return edf__node1(&edf__sigmoid_op, file, line, x);
}

/* ---- Tanh   y[i] = tanh(x[i])     x.grad[i] += y.grad[i] (1-y[i]^2) ---- */
static void edf__tanh_forward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) y->value[i] = edf__tanh(x->value[i]);
}
static void edf__tanh_backward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++)
    edf_addgrad(x, i, y->grad[i] * (1 - y->value[i] * y->value[i]));
}
static const edf_op edf__tanh_op = { "Tanh", NULL, edf__tanh_forward, edf__tanh_backward,
  "y x", "y@ = tanh(x@)", "x.grad@ += y.grad@ (1-y@^2)", 1, 0 };
edf_node *edf_tanh_at(const char *file, int line, edf_node *x) {
  return edf__node1(&edf__tanh_op, file, line, x);
}

/* ---- Relu   y[i] = max(0, x[i])     x.grad[i] += y.grad[i] [y[i] > 0]
   Written so that a NaN stays one. The derivative at 0 is 0. ---- */
static void edf__relu_forward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) y->value[i] = x->value[i] < 0 ? 0 : x->value[i];
}
static void edf__relu_backward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) {
    edf_real dy = y->grad[i];            /* read in any case: so the loop has no branch       */
    edf_addgrad(x, i, y->value[i] > 0 ? dy : 0);
  }
}
static const edf_op edf__relu_op = { "Relu", NULL, edf__relu_forward, edf__relu_backward,
  "y x", "y@ = max(0, x@)", "x.grad@ += y.grad@ [y@ > 0]", 1, 0 };
edf_node *edf_relu_at(const char *file, int line, edf_node *x) {
  return edf__node1(&edf__relu_op, file, line, x);
}

/* ---- Exp   y[i] = exp(x[i])     x.grad[i] += y.grad[i] y[i] ---- */
static void edf__exp_forward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) y->value[i] = edf__exp(x->value[i]);
}
static void edf__exp_backward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) edf_addgrad(x, i, y->grad[i] * y->value[i]);
}
static const edf_op edf__exp_op = { "Exp", NULL, edf__exp_forward, edf__exp_backward,
  "y x", "y@ = exp(x@)", "x.grad@ += y.grad@ y@", 1, 0 };
edf_node *edf_exp_at(const char *file, int line, edf_node *x) {
  return edf__node1(&edf__exp_op, file, line, x);
}

/* ---- Log   y[i] = ln(x[i])     x.grad[i] += y.grad[i] / x[i] ---- */
static void edf__log_forward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) y->value[i] = edf__ln(x->value[i]);
}
static void edf__log_backward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) edf_addgrad(x, i, y->grad[i] / x->value[i]);
}
static const edf_op edf__log_op = { "Log", NULL, edf__log_forward, edf__log_backward,
  "y x", "y@ = ln(x@)", "x.grad@ += y.grad@ / x@", 1, 0 };
edf_node *edf_log_at(const char *file, int line, edf_node *x) {
  return edf__node1(&edf__log_op, file, line, x);
}

/* ---- Sqrt   y[i] = sqrt(x[i])     x.grad[i] += y.grad[i] / (2 y[i]) ---- */
static void edf__sqrt_forward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) y->value[i] = edf__root(x->value[i]);
}
static void edf__sqrt_backward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) edf_addgrad(x, i, y->grad[i] / (2 * y->value[i]));
}
static const edf_op edf__sqrt_op = { "Sqrt", NULL, edf__sqrt_forward, edf__sqrt_backward,
  "y x", "y@ = sqrt(x@)", "x.grad@ += y.grad@ / (2 y@)", 1, 0 };
edf_node *edf_sqrt_at(const char *file, int line, edf_node *x) {
  return edf__node1(&edf__sqrt_op, file, line, x);
}

/* ---- Square   y[i] = x[i]^2     x.grad[i] += y.grad[i] 2 x[i] ---- */
static void edf__square_forward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) y->value[i] = x->value[i] * x->value[i];
}
static void edf__square_backward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) edf_addgrad(x, i, y->grad[i] * 2 * x->value[i]);
}
static const edf_op edf__square_op = { "Square", NULL, edf__square_forward,
  edf__square_backward, "y x", "y@ = x@^2", "x.grad@ += y.grad@ 2 x@", 1, 1 << EDF_IS_SQUARE };
edf_node *edf_square_at(const char *file, int line, edf_node *x) {
  return edf__node1(&edf__square_op, file, line, x);
}

/* Sums and maxima by partial ones, so that the compiler may vectorise. */
enum { EDF__PARTIAL = 16 };
static edf_real edf__dot(const edf_real *a, const edf_real *b, ptrdiff_t n) {
  edf_real lane[EDF__PARTIAL] = { 0 }, sum = 0;
  ptrdiff_t i = 0;
  for (; i + EDF__PARTIAL <= n; i += EDF__PARTIAL)
    for (int l = 0; l < EDF__PARTIAL; l++) lane[l] += a[i + l] * b[i + l];
  for (; i < n; i++) sum += a[i] * b[i];
  for (int l = 0; l < EDF__PARTIAL; l++) sum += lane[l];
  return sum;
}
static edf_real edf__total(const edf_real *a, ptrdiff_t n) {
  edf_real lane[EDF__PARTIAL] = { 0 }, sum = 0;
  ptrdiff_t i = 0;
  for (; i + EDF__PARTIAL <= n; i += EDF__PARTIAL)
    for (int l = 0; l < EDF__PARTIAL; l++) lane[l] += a[i + l];
  for (; i < n; i++) sum += a[i];
  for (int l = 0; l < EDF__PARTIAL; l++) sum += lane[l];
  return sum;
}

/* A loop of 16 choices: gcc would unroll it, and then not make a vector of it. */
#if defined(__GNUC__) && !defined(__clang__)
#define EDF__KEEP_LOOP _Pragma("GCC unroll 1")
#else
#define EDF__KEEP_LOOP
#endif

static edf_real edf__largest(const edf_real *a, ptrdiff_t n) {
  edf_real lane[EDF__PARTIAL], most = a[0];
  ptrdiff_t i = 0;
  for (int l = 0; l < EDF__PARTIAL; l++) lane[l] = most;
  for (; i + EDF__PARTIAL <= n; i += EDF__PARTIAL)
    EDF__KEEP_LOOP for (int l = 0; l < EDF__PARTIAL; l++)
      lane[l] = a[i + l] > lane[l] ? a[i + l] : lane[l];
  for (; i < n; i++) most = a[i] > most ? a[i] : most;
  for (int l = 0; l < EDF__PARTIAL; l++) most = lane[l] > most ? lane[l] : most;
  return most;
}

/* ---- Div   y[i] = a[i] / b[i]     a.grad[i] += y.grad[i] / b[i]
                                     b.grad[i] -= y.grad[i] y[i] / b[i]
   The shorter operand repeats: entry i of y meets entry i mod size of each. ---- */
EDF__NORETURN static void edf__operands_error(const edf_node *y, const char *rule) {
  edf__say_at(y);
  edf__say("%s", rule);
  for (int k = 0; k < y->n_in; k++) edf__say_with(y->in[k], "\n  ");
  edf__stop();
}

static void edf__div_shape(edf_node *y) {
  edf_node *a = y->in[0], *b = y->in[1], *longer = a->rank >= b->rank ? a : b;
  edf_node *shorter = longer == a ? b : a;
  int skip = longer->rank - shorter->rank, equal = 1;
  for (int d = 0; d < shorter->rank; d++) equal &= shorter->dim[d] == longer->dim[skip + d];
  if (!equal)
    edf__operands_error(y, "the shapes must be equal, or one the trailing part of the other");
  y->rank = longer->rank;
  memcpy(y->dim, longer->dim, sizeof y->dim);
}
static void edf__div_forward(edf_node *y) {
  edf_node *a = y->in[0], *b = y->in[1];
  for (size_t i = 0; i < y->size; i++)
    y->value[i] = a->value[i % a->size] / b->value[i % b->size];
}
static void edf__div_backward(edf_node *y) {
  edf_node *a = y->in[0], *b = y->in[1];
  for (size_t i = 0; i < y->size; i++) {
    edf_real divisor = b->value[i % b->size];
    edf_addgrad(a, i % a->size, y->grad[i] / divisor);
    edf_addgrad(b, i % b->size, -y->grad[i] * y->value[i] / divisor);
  }
}
static const edf_op edf__div_op = { "Div", edf__div_shape, edf__div_forward, edf__div_backward,
  "y a b", "y@ = a' / b'", "a.grad' += y.grad@ / b'\nb.grad' -= y.grad@ y@ / b'", 0, 0 };
edf_node *edf_div_at(const char *file, int line, edf_node *a, edf_node *b) {
  return edf__node2(&edf__div_op, file, line, a, b);
}

/* ---- Sum   y = sum_i x[i]     x.grad[i] += y.grad ---- */
static void edf__scalar_shape(edf_node *y) { y->rank = 0; }
static void edf__sum_forward(edf_node *y) {
  edf_node *x = y->in[0];
  y->value[0] = edf__total(x->value, (ptrdiff_t)x->size);
}
static void edf__sum_backward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < x->size; i++) edf_addgrad(x, i, y->grad[0]);
}
static const edf_op edf__sum_op = { "Sum", edf__scalar_shape, edf__sum_forward,
  edf__sum_backward, "y x", "y = sum_~ x~", "x.grad@ += y.grad", 1, 0 };
edf_node *edf_sum_at(const char *file, int line, edf_node *x) {
  return edf__node1(&edf__sum_op, file, line, x);
}

/* ---- Mean   y = (1/n) sum_i x[i]     x.grad[i] += y.grad / n ---- */
static void edf__mean_forward(edf_node *y) {
  edf_node *x = y->in[0];
  y->value[0] = edf__total(x->value, (ptrdiff_t)x->size) / (edf_real)x->size;
}
static void edf__mean_backward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < x->size; i++) edf_addgrad(x, i, y->grad[0] / (edf_real)x->size);
}
static const edf_op edf__mean_op = { "Mean", edf__scalar_shape, edf__mean_forward,
  edf__mean_backward, "y x", "y = 1/% sum_~ x~", "x.grad@ += y.grad / %", 1, 0 };
edf_node *edf_mean_at(const char *file, int line, edf_node *x) {
  return edf__node1(&edf__mean_op, file, line, x);
}

/* ==== >>contraction  A contraction's definition ========================================== */

/* ---- The definition: out += alpha a b at all numbers of the letters, of which the last runs
   fastest; >>nest does the same, faster. The numbers are a text for a debugger to show, at =
   "b = 0, i = 3, j = 2", and turn like an odometer's wheels: that which ends at `end` goes on,
   from 9 to 10, or back to 0; then it returns where the wheel on its left ends. */
static char *edf__turn(char *end, const char *letters, int back) {
  if (!back) {
    while (*--end == '9') *end = '0';
    *end = *end == ' ' ? '1' : (char)(*end + 1);
    return end;
  }
  for (*--end = '0'; *--end != ' ';) *end = ' ';
  while (end > letters && *end != ',') end--;
  return end;
}

static void edf__walk(const edf_nest *t, char *letters, edf_real *Out, const edf_real *A,
                      const edf_real *B) {
  ptrdiff_t count[EDF_MAX_INDEX] = { 0 };
  const char *at = letters;              /* NULL where nobody named them                      */
  char *last = at ? letters + strlen(letters) : NULL;
  int l = t->n;
  while (l > 0) if (t->loop[--l].n <= 0) return;
  do {
    edf_real a = A[t->start[EDF_A]], b = B[t->start[EDF_B]], out = Out[t->start[EDF_OUT]];
    out += t->alpha * a * b;
    Out[t->start[EDF_OUT]] = out;
    l = t->n;
    for (char *end = last; --l >= 0;) {  /* a wheel that is through takes the next along      */
      const edf_loop *loop = &t->loop[l];
      ptrdiff_t step = ++count[l] < loop->n ? 1 : 1 - loop->n;
      Out += step * loop->s[EDF_OUT];
      A += step * loop->s[EDF_A];
      B += step * loop->s[EDF_B];
      if (at) end = edf__turn(end, at, step != 1);
      if (step == 1) break;
      count[l] = 0;
    }
  } while (l >= 0);
}
void edf_contract_reference(const edf_nest *t, edf_real *out, const edf_real *a,
                            const edf_real *b) {
  edf__walk(t, NULL, out, a, b);
}

static void edf__walk_zero(int n, const edf_loop *l, edf_real *out) {
  if (n == 0) { *out = 0; return; }
  for (ptrdiff_t i = 0; i < l->n; i++) edf__walk_zero(n - 1, l + 1, out + i * l->s[EDF_OUT]);
}

/* ==== >>parser  Declarations and equations =============================================== */

/* ---- A text that is being read, and where; an error puts a caret under the place. */
typedef struct {
  edf__site by;
  const char *text, *at;
  size_t size;
  int whole;                             /* it may have several lines                         */
} edf__scan;

/* Of several lines that which has the place; a letter is a column, however many its bytes. Of
   a line that is too long for a message what is near. */
static void edf__say_caret(const edf__scan *s, const char *at) {
  const char *line = s->text, *place = line + (size_t)(at - line) % s->size;
  size_t begin = edf__length;
  int number = 1, most = 1000;
  edf__site by = s->by;
  for (const char *c = line; c < place; c++)
    if (*c == '\n') { line = c + 1; number++; }
  if (!by.line) by.line = number;        /* of a file that is the text                        */
  edf__say_at(&by);
  if (strchr(s->text, '\n')) edf__say("line %d: ", number);
  if (place - line > most)
    for (line = place - most; (*line & 0xC0) == 0x80;) line++;
  int column = (int)(edf__length - begin);
  for (const char *c = line; c < place; c++) column += (*c & 0xC0) != 0x80;
  int length = (int)strcspn(line, "\n"), end = (int)(place - line) + most;
  while (length > end || (line[length] & 0xC0) == 0x80) length--;
  edf__say("%.*s\n%*s^\n  ", length, line, column, "");
}

#define edf__syntax(s, at, ...) (edf__say_caret(s, at), edf__die(__VA_ARGS__))

static int edf__is_letter(char c) {      /* beyond ASCII each is                              */
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c & 0x80;
}
static int edf__is_digit(char c) { return c >= '0' && c <= '9'; }
static char edf__upper(char c) { return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c; }
static char edf__lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }
static int edf__is_capital(const char *name) {           /* by its first letter of A-Z, a-z   */
  while (*name && edf__lower(*name) == edf__upper(*name)) name++;
  return *name && *name == edf__upper(*name);
}
static int edf__compare_names(const char *a, const char *b) {    /* but for their case */
  while (*a && edf__lower(*a) == edf__lower(*b)) { a++; b++; }
  return edf__lower(*a) - edf__lower(*b);
}

/* Signs of slides, and a blank that does not break, become those of a keyboard and blanks. */
static void edf__plain(char *text) {
  static const char *const signs[][2] = {
    { "\xE2\x88\x92", "-  " }, { "\xC2\xB7", "* " }, { "\xC3\x97", "* " },
    { "\xE2\x8A\x99", "*  " }, { "\xE2\x89\xA4", "<= " }, { "\xE2\x89\xA5", ">= " },
    { "\xC2\xA0", "  " } };
  for (char *c = text; *c; c++)
    for (size_t k = 0; *c & 0x80 && k < sizeof signs / sizeof *signs; k++) {
      size_t n = strlen(signs[k][1]);
      if (!strncmp(c, signs[k][0], n)) memcpy(c, signs[k][1], n);
    }
}

/* A text without tabs, since a caret follows. It stands there three times: as it was written,
   for messages; plain, where it is read; and there with a zero behind each name: so a name is
   a text, and its place is known. */
static edf__scan edf__scan_of(const edf__site *at, const char *what, const char *text, int n,
                              int most, const char *blanks) {
  if (!text) edf__fail_at(at, "the %s is NULL", what);
  if (n < 0 || n > most)
    edf__fail_at(at, "the %s is too long: %d characters, at most %d", what, n, most);
  size_t size = (size_t)n + 1;
  char *copy = (char *)edf__alloc(&edf.computed, 3 * size);
  char *plain = copy + size, *names = plain + size;
  for (size_t i = 0; i + 1 < size; i++) copy[i] = strchr(blanks, text[i]) ? ' ' : text[i];
  edf__plain(strcpy(plain, copy));
  for (size_t i = 0; plain[i]; i++) {
    int prime = plain[i] == '\'' && i > 0 && names[i - 1];
    if (edf__is_letter(plain[i]) || edf__is_digit(plain[i]) || prime) names[i] = plain[i];
  }
  edf__scan scan = { *at, copy, plain, size, !strchr(blanks, '\n') };
  return scan;
}

static char edf__peek(edf__scan *s) {
  while (*s->at == ' ') s->at++;
  return *s->at;
}
static int edf__accept(edf__scan *s, char c) {
  if (edf__peek(s) != c || !c) return 0;
  s->at++;
  return 1;
}

/* The character at which reading stopped, with all its bytes where it is not an ASCII one. */
EDF__NORETURN static void edf__found(const edf__scan *s, const char *expected,
                                     const char *hint) {
  const char *c = s->text + (size_t)(s->at - s->text) % s->size;
  int length = 1;
  while (c[0] & 0x80 && (c[length] & 0xC0) == 0x80) length++;
  if (!*c) edf__syntax(s, s->at, "expected %s, found the end", expected);
  edf__syntax(s, s->at, "expected %s, found '%.*s'%s", expected, length, c, hint);
}
static void edf__expect(edf__scan *s, char c, const char *expected, const char *hint) {
  if (!edf__accept(s, c)) edf__found(s, expected, hint);
}

static const char *edf__identifier(edf__scan *s, const char *what) {
  if (!edf__is_letter(edf__peek(s))) edf__found(s, what, "");
  const char *name = s->at + s->size;
  s->at += strlen(name);
  return name;
}

static int edf__whole(edf__scan *s, int most, const char *where) {
  const char *start = s->at;
  long long n = 0;
  for (; edf__is_digit(*s->at); s->at++) {
    n = 10 * n + (*s->at - '0');
    if (n > most) edf__syntax(s, start, "the number is too large: at most %d%s", most, where);
  }
  return (int)n;
}

/* The decimal number at *at, which moves behind it: 12, 0.125, .5, 1e-3; but not 0x10. */
static double edf__decimal(const char **at) {
  const char *c = *at;
  char locale[128], *end = (char *)c + (*c == '0' || *c == '.');
  int left = edf__leave_locale(locale), hex = *c == '0' && edf__lower(c[1]) == 'x';
  double n = edf__is_digit(c[*c == '.']) && !hex ? strtod(c, &end) : 0;
  if (left) setlocale(LC_NUMERIC, locale);
  *at = end;
  return n;
}

static double edf__read_number(edf__scan *s) {
  const char *at = s->at;
  double n = edf__decimal(&s->at);
  if (!((double)(edf_real)n < HUGE_VAL)) edf__syntax(s, at, "the number is out of range");
  return n;
}

/* ---- Declarations: x[b,784]  W[784,64]  v[i=3]  z */
static void edf__declare_place(edf_node *x, edf__scan *s) {
  int d = x->rank++;
  const char *at = s->at, *name = NULL;
  if (d == EDF_MAX_RANK) edf__syntax(s, at, "a tensor has at most %d dimensions", EDF_MAX_RANK);
  if (!edf__is_digit(edf__peek(s))) name = edf__identifier(s, "an extent or an index");
  if (name && !edf__accept(s, '=')) {
    if (x->kind == EDF_PARAMETER || d > 0)
      edf__syntax(s, name, "%s needs a number, as in %s=10: only the batch has none, the first "
                  "index of an Input", name, name);
    x->batched = 1;                      /* its extent comes with each feed                   */
    int first = x->kind == EDF_INPUT;    /* of several names of the batch the first stays     */
    for (int i = 0; i < edf.n_inputs; i++) first &= !edf.inputs[i]->batched;
    if (first) edf.batch_name = edf__copy(&edf.kept, name);
    return;
  }
  if (!edf__is_digit(edf__peek(s))) edf__syntax(s, s->at, "expected a number after '='");
  at = s->at;
  x->dim[d] = edf__whole(s, 1000000000, "");
  if (x->dim[d] == 0) edf__syntax(s, at, "an extent is at least 1");
}

static void edf__read_declared(edf_node *x, edf__scan *s) {
  const char *name = edf__identifier(s, "a name");
  if (edf__accept(s, '[')) {
    do edf__declare_place(x, s); while (edf__accept(s, ','));
    edf__expect(s, ']', "']' or ','", "");
  }
  x->name = edf__copy(edf__list_of(x), name);
  if (x->kind == EDF_COMPNODE) return;
  if (x->batched) x->dim[0] = edf.batch;
  edf__infer(x);
}

static void edf__declare(edf_node *x, const char *op, const char *format, va_list args) {
  enum { LONGEST = 255 };
  char text[LONGEST + 1];
  edf__site at = { op, x->file, x->line };
  int n = format ? vsnprintf(text, sizeof text, format, args) : 0;
  edf__scan s = edf__scan_of(&at, "declaration", format ? text : NULL, n, LONGEST,
                            "\t\n\r");
  edf__read_declared(x, &s);
  if (edf__peek(&s)) edf__found(&s, "the end", "");
  edf__free((char *)s.text);
}

static edf_node *edf__add_leaf(edf_node *p) {
  if (p->kind == EDF_INPUT) { edf__append(&edf.inputs, &edf.n_inputs, p); return p; }
  for (int i = 0; i < edf.n_parameters; i++)
    if (!strcmp(p->name, edf.parameters[i]->name))
      edf_name(p, edf__fmt("%s@%d", p->name, edf.n_parameters));
  p->value = edf__reals(p, NULL);
  edf__append(&edf.parameters, &edf.n_parameters, p);
  return p;
}
edf_node *edf_input_at(const char *file, int line, const char *decl, ...) {
  edf_node *x = edf__new_node(EDF_INPUT, "Input", file, line, 0);
  va_list args;
  va_start(args, decl);
  edf__declare(x, "edf_input", decl, args);
  va_end(args);
  return edf__add_leaf(x);
}
edf_node *edf_parameter_at(const char *file, int line, const char *decl, ...) {
  edf_node *p = edf__new_node(EDF_PARAMETER, "Parameter", file, line, 0);
  va_list args;
  va_start(args, decl);
  edf__declare(p, "edf_parameter", decl, args);
  va_end(args);
  return edf__add_leaf(p);
}

const char *edf_fmt(const char *format, ...) {
  static char text[2][8][512];           /* eight, so that a call may have several */
  static unsigned turn[2];
  int own = edf__own_texts > 0, most = (int)sizeof *text[0] - 1;
  va_list args;
  edf__own_texts -= own;
  char *to = text[own][turn[own]++ % 8];
  va_start(args, format);
  int n = edf__format(to, sizeof *text[0], format, args);
  va_end(args);
  if (n < 0 || n > most)
    edf__die("edf_fmt: the text is too long: %d characters, at most %d", n, most);
  return to;
}

/* ---- An equation, parsed. Names point into its text. */
enum { EDF__MAX_REF = 32 };
typedef struct {                         /* 2*i+DI-1                                          */
  int factor[EDF_MAX_INDEX], constant;
  int by;                                /* of a Lookup: the tensor that gives it by value    */
  const char *at;
} edf__place;
typedef struct {
  const char *name;
  int operand, rank;                     /* operand -1: the left side */
  edf__place place[EDF_MAX_RANK];
} edf__ref;                              /* a tensor where it stands: W[I,j] */
typedef struct { const char *name; int left, bound; } edf__letter;
typedef struct { double number; int first, n; const char *at; } edf__term;  /* its n refs */

typedef struct edf__equation edf__equation;
struct edf__equation {
  edf__scan scan;
  int n_letter, n_ref, n_term, n_operand;
  edf__letter letter[EDF_MAX_INDEX];
  edf__term term[EDF__MAX_REF];
  edf__ref *ref;                         /* ref[0] is the left side                           */
  void *line;                            /* the line of a slide that is being read, or NULL   */
  int (*read_position)(edf__equation *e, int f);   /* NULL, or reads a position that has no   */
};                                       /* sum of indices: 1 for a lookup, -1 for a group,   */
                                         /* 0 if there is none                                */

static int edf__letter_of(edf__equation *e, const char *name) {
  for (int i = 0; i < e->n_letter; i++) if (!strcmp(e->letter[i].name, name)) return i;
  if (e->n_letter == EDF_MAX_INDEX)
    edf__syntax(&e->scan, name, "an equation has at most %d indices", EDF_MAX_INDEX);
  edf__letter letter = { name, 0, 0 };
  e->letter[e->n_letter] = letter;
  return e->n_letter++;
}

/* Of the next summand or term; 0: none follows. */
static int edf__first_sign(edf__scan *s) { return edf__accept(s, '-') ? -1 : 1; }
static int edf__next_sign(edf__scan *s) {
  return edf__accept(s, '+') ? 1 : edf__accept(s, '-') ? -1 : 0;
}

/* One summand of a place: 2*i, 2i, i or 3 */
static void edf__parse_summand(edf__equation *e, edf__place *place, int sign) {
  edf__scan *s = &e->scan;
  int number = edf__is_digit(edf__peek(s));
  int factor = number ? edf__whole(s, 1000000, " in a place") : 1;
  int times = number && edf__accept(s, '*');
  if (number && !times && !edf__is_letter(edf__peek(s))) {
    place->constant += sign * factor;
    return;
  }
  const char *name = edf__identifier(s, times ? "an index" : "an index or a number");
  int *sum = &place->factor[edf__letter_of(e, name)];
  *sum += sign * factor;
  if (*sum == 0) edf__syntax(s, place->at, "index %s cancels out in this place", name);
}

/* The next tensor of an equation, all zero. It may move the others. */
static edf__ref *edf__next_ref(edf__equation *e) {
  size_t n = (size_t)++e->n_ref;
  e->ref = (edf__ref *)edf__grow(&edf.computed, e->ref, n * sizeof *e->ref);
  return (edf__ref *)memset(&e->ref[n - 1], 0, sizeof *e->ref);
}

static void edf__parse_place(edf__equation *e, int f) {
  edf__scan *s = &e->scan;
  edf__place p;
  memset(&p, 0, sizeof p);
  edf__peek(s);
  p.at = s->at;
  int by = e->read_position ? e->read_position(e, f) : 0, sign = by ? 0 : edf__first_sign(s);
  p.by = by > 0;
  for (; sign; sign = edf__next_sign(s)) edf__parse_summand(e, &p, sign);
  e->ref[f].place[e->ref[f].rank++] = p;
}

/* What was meant where this character stands. */
static const char *edf__hint_at(edf__scan *s) {
  char c = edf__peek(s);
  return c && strchr("(/^", c)
         ? ": an equation is a sum of products, functions are nodes of their own"
         : c && strchr(",.", c) ? ": factors stand side by side, or with * between them"
         : c == '%' ? ": edf_fmt puts numbers in" : "";
}

static edf__ref *edf__parse_tensor(edf__equation *e, const char *hint) {
  edf__scan *s = &e->scan;
  int f = e->n_ref;
  if (f == EDF__MAX_REF)
    edf__syntax(s, s->at, "an equation has at most %d tensors", EDF__MAX_REF);
  edf__ref *r = edf__next_ref(e);
  r->operand = -1;
  if (!edf__is_letter(edf__peek(s))) edf__found(s, "a tensor", edf__hint_at(s));
  r->name = edf__identifier(s, "a tensor");
  if (!edf__accept(s, '[')) return r;
  do {
    if (e->ref[f].rank == EDF_MAX_RANK)
      edf__syntax(s, s->at, "a tensor has at most %d indices", EDF_MAX_RANK);
    edf__parse_place(e, f);              /* with a tensor in the place it may move e->ref     */
  } while (edf__accept(s, ','));
  if (edf__peek(s) == '.') hint = ": the factor of an index is a whole number";
  edf__expect(s, ']', "']' or ','", hint);
  if (edf__peek(s) == '[') edf__found(s, "a comma between indices, as in W[I,j]", "");
  return &e->ref[f];
}

/* Operands are numbered in the order in which their names first appear on the right. */
static void edf__bind(edf__equation *e, edf__ref *r) {
  if (!strcmp(e->ref->name, r->name))
    edf__syntax(&e->scan, r->name, "%s is the left side and may not stand on the right",
                r->name);
  for (edf__ref *o = e->ref + 1; r->operand < 0 && o < r; o++)
    if (!strcmp(o->name, r->name)) r->operand = o->operand;
  if (r->operand < 0) r->operand = e->n_operand++;
}

static void edf__parse_term(edf__equation *e, int sign) {
  edf__scan *s = &e->scan;
  edf__term *t = &e->term[e->n_term++];
  int number = edf__is_digit(edf__peek(s)) || *s->at == '.';
  t->at = s->at;
  t->number = sign * (number ? edf__read_number(s) : 1);
  t->first = e->n_ref;
  t->n = 0;
  if (number && !edf__accept(s, '*') && strchr("+-|)", edf__peek(s)))
    edf__syntax(s, t->at,
                "a term needs a tensor; for a constant use a scalar Parameter or Input: "
                "one - G[b,j]");
  do {
    if (t->n++ == EDF_MAX_FACTOR)
      edf__syntax(s, s->at, "a term has at most %d factors", EDF_MAX_FACTOR);
    edf__bind(e, edf__parse_tensor(e, ""));
  } while (edf__accept(s, '*') || edf__is_letter(edf__peek(s)));
}

/* The extent of an index that is named in a bound. */
static void edf__read_extent(edf__equation *e, const char *name) {
  edf__scan *s = &e->scan;
  const char *at = s->at;
  int *bound = &e->letter[edf__letter_of(e, name)].bound;
  if (*bound) edf__syntax(s, name, "%s has two bounds", name);
  *bound = edf__whole(s, 1000000000, "");
  if (*bound == 0) edf__syntax(s, at, "a bound is at least 1");
}
static void edf__parse_bound(edf__equation *e) {
  edf__scan *s = &e->scan;
  const char *name = edf__identifier(s, "an index");
  int n = e->n_letter;
  if (edf__letter_of(e, name) == n) edf__syntax(s, name, "%s is an index of no tensor", name);
  edf__expect(s, '<', "'<' and a number", "");
  if (!edf__is_digit(edf__peek(s))) edf__syntax(s, s->at, "expected a number after '<'");
  edf__read_extent(e, name);
}

/* An index alone in its place: its number, else -1. */
static int edf__alone(const edf__equation *e, const edf__place *p) {
  int found = -1;
  for (int i = 0; i < e->n_letter; i++) {
    if (p->factor[i] == 0) continue;
    if (p->factor[i] != 1 || found >= 0) return -1;
    found = i;
  }
  return p->constant == 0 ? found : -1;
}

/* ---- Which indices a part of an equation has: bit i. */
static unsigned edf__place_has(const edf__place *p) {
  unsigned has = 0;
  for (int i = 0; i < EDF_MAX_INDEX; i++) has |= (unsigned)(p->factor[i] != 0) << i;
  return has;
}
static unsigned edf__ref_has(const edf__ref *r) {
  unsigned has = 0;
  for (int d = 0; d < r->rank; d++) has |= edf__place_has(&r->place[d]);
  return has;
}
static unsigned edf__refs_have(const edf__equation *e, int f, int end) {
  unsigned has = 0;
  for (; f < end; f++) has |= edf__ref_has(&e->ref[f]);
  return has;
}
static unsigned edf__term_has(const edf__equation *e, const edf__term *t) {
  return edf__refs_have(e, t->first, t->first + t->n);
}
static const char *edf__first_of(const edf__equation *e, unsigned has) {       /* its name    */
  int i = 0;
  while (has && !(has >> i & 1)) i++;
  return has ? e->letter[i].name : NULL;
}

/* What differs by its case alone is a slip, and would train. */
static void edf__check_cases(const edf__equation *e, const char *at, unsigned lacks,
                             unsigned sums) {
  const edf__letter *l = e->letter;
  for (int i = 0; i < e->n_letter; i++)
    for (int o = 0; o < e->n_letter; o++)
      if (lacks >> i & sums >> o & 1 && !edf__compare_names(l[i].name, l[o].name))
        edf__syntax(&e->scan, at, "%s and %s are two indices: this term lacks the first and "
                    "sums the second; if that is meant, take another letter", l[i].name,
                    l[o].name);
}
/* A term may lack an index that stands alone on the left, but not one of a sum there. */
static void edf__check_lacking(const edf__equation *e, const edf__term *t) {
  unsigned left = edf__ref_has(e->ref), has = edf__term_has(e, t), sum = 0;
  for (const edf__place *p = e->ref->place; p < e->ref->place + e->ref->rank; p++)
    if (edf__alone(e, p) < 0) sum |= edf__place_has(p);
  const char *c = edf__first_of(e, sum & ~has);
  if (c)
    edf__syntax(&e->scan, t->at, "this term lacks index %s, which is part of a sum on the "
                "left", c);
  edf__check_cases(e, t->at, left & ~has, has & ~left);
}

/* What is summed must be a capital. The caret stands where the letter was first met. */
static void edf__check_letters(const edf__equation *e) {
  unsigned left = edf__ref_has(e->ref);
  for (const edf__term *t = e->term; t < e->term + e->n_term; t++) edf__check_lacking(e, t);
  for (int i = 0; i < e->n_letter; i++) {
    const char *name = e->letter[i].name;
    const edf__term *t = e->term;
    if (left >> i & 1 || edf__is_capital(name)) continue;
    edf__say_caret(&e->scan, name);
    edf__say("index %s is not on the left, so it is summed: ", name);
    if (edf__upper(*name) == *name) edf__die("its name must begin with a capital");
    edf__say("write the capital, ");
    for (const char *c = name; *c; c++) edf__say("%c", edf__upper(*c));
    while (!(edf__term_has(e, t) >> i & 1)) t++;
    const char *lacks = edf__first_of(e, left & ~edf__term_has(e, t));
    if (lacks) edf__die(", or %s, which its term lacks", lacks);
    edf__stop();
  }
}

static void edf__parse(edf__equation *e) {
  edf__scan *s = &e->scan;
  edf__parse_tensor(e, "");
  for (int i = 0; i < e->n_letter; i++) e->letter[i].left = 1;
  char c = edf__peek(s);
  const char *hint = c == '+' ? ": the sum always begins at 0"
                     : c == '(' ? ": indices stand in square brackets, y[b,j]" : "";
  if (strstr(s->text, "->"))
    hint = ": -> is another notation; here bi,ij->bj is y[b,j] = x[b,I] W[I,j]";
  edf__expect(s, '=', "'=' after the left side", hint);
  for (int sign = edf__first_sign(s); sign; sign = edf__next_sign(s))
    edf__parse_term(e, sign);
  if (edf__accept(s, '|'))
    do edf__parse_bound(e); while (edf__accept(s, ','));
  if (edf__peek(s)) edf__found(s, "'+', '-', '|' or the end", edf__hint_at(s));
  edf__check_letters(e);
}

/* ==== >>einsum  Equations as nodes ======================================================= */

typedef struct {                         /* a contraction of a program, which keeps its plan  */
  edf_nest nest;
  char *letters;                         /* of its loops: "b = 0, j = 0"                      */
  struct edf_route *route;               /* the fast kernels' plan, made when it first runs   */
  char part;                             /* out is a padded copy, whose border stays          */
} edf__contraction;

/* ---- An equation becomes steps, each one contraction: out += a b. They go from node to node:
   the operands, the output, and those that only this equation knows: a padded copy of an
   operand that is read outside, or the product of two of more than two factors. Backward runs
   the terms with the roles swapped, and then what they were made from, in reverse. */
typedef struct {
  edf_node *of[3];                       /* out, a and b                                      */
  int ref[3];                            /* where these stand in the equation; 0: made here   */
  edf__contraction run[3];               /* out += a b, and the swap rule's two               */
} edf__step;

typedef struct {
  int batch, n_step, n_own;              /* the batch that it was made for; -1: none yet      */
  edf__step *step;
  edf_node **own;                        /* copies and products                               */
} edf__program;

/* out += a b, or out = a b where out is fresh: its memory then counts as zero. */
typedef void edf__contractor(edf__contraction *t, edf_real *out, size_t size, int *fresh,
                             const edf_real *a, const edf_real *b);

EDF__HOOK(edf__contractor, edf__fast)    /* see >>nest: NULL without it                       */

static const edf_real edf__number_one = 1;
static edf_node edf__one;                /* b of a term of one factor                         */

typedef struct {
  edf__equation e;
  int kind;                              /* what sums are: see below                          */
  ptrdiff_t extent[EDF_MAX_INDEX];       /* of each index; 0 for the batch that is not known  */
  const edf__ref *source[EDF_MAX_INDEX]; /* where the extent came from                        */
  edf__program program[2];               /* of the last two batch sizes                       */
  int now, *winner;                      /* winner and window: see MaxOver                    */
  ptrdiff_t *window;
} edf__einsum;

/* The kind of an equation is 0 if its sums are sums. It is 'm' if they are means, 's' if they
   are means with the divisor n - 1, 'x' if they are maxima, and 'p' if the left side looks up
   an entry and adds to it. Only edf_slide.h makes the last two. */

/* ---- Extents */
/*  I is 100 in x = Relu "h" [b=64, 100]          built at hw1.c:55 */
static void edf__say_extent(const edf__einsum *m, edf_node **in, int i, const edf__ref *r,
                            ptrdiff_t n) {
  edf__say("\n  %s is ", m->e.letter[i].name);
  if (n) edf__say("%ld in ", (long)n);
  else edf__say("the batch in ");
  edf__say_with(in[r->operand], "%s = ", r->name);
}

static void edf__check_prime(const edf__equation *e, const edf__ref *r, const edf_node *x) {
  size_t n = strlen(x->name);
  if (strncmp(r->name, x->name, n) || r->name[n] != '\'') return;
  edf__say_caret(&e->scan, r->name);
  edf__say("%s is a name of its own: to transpose %s, exchange its indices", r->name, x->name);
  edf__stop_with(x, "\n  %s = ", x->name);
}
static void edf__check_rank(const edf__equation *e, const edf__ref *r, const edf_node *x) {
  edf__check_prime(e, r, x);
  if (r->rank == x->rank) return;
  edf__say_caret(&e->scan, r->name);
  edf__say("%s has %d %s here, but the tensor has %d", r->name, r->rank,
           r->rank == 1 ? "index" : "indices", x->rank);
  edf__stop_with(x, "\n  %s = ", r->name);
}

/* An index alone in a place takes that dimension; all such places agree. */
static void edf__extent_alone(edf__einsum *m, edf_node **in, const edf__ref *r, int d) {
  int i = edf__alone(&m->e, &r->place[d]);
  if (i < 0 || r->operand < 0) return;
  const edf__letter *l = &m->e.letter[i];
  int n = in[r->operand]->dim[d];
  if (l->bound && n && l->bound > n) {
    edf__say_caret(&m->e.scan, r->place[d].at);
    edf__say("the bound %s<%d is longer than this dimension, %d", l->name, l->bound, n);
    edf__stop_with(in[r->operand], "\n  %s = ", r->name);
  }
  if (l->bound) return;
  if (!m->source[i]) { m->source[i] = r; m->extent[i] = n; }
  if (m->extent[i] == n) return;
  if (m->e.scan.whole) {
    edf__say_caret(&m->e.scan, r->place[d].at);
    edf__say("%s has two extents:", l->name);
  } else {
    edf__say_at(&m->e.scan.by);
    edf__say("%s", m->e.scan.text);
  }
  edf__say_extent(m, in, i, r, n);
  edf__say_extent(m, in, i, m->source[i], m->extent[i]);
  edf__die("%s", n == 1 || m->extent[i] == 1 ? "\n  a dimension of 1 does not repeat: Reshape "
            "takes it away" : "");
}

/* A place's least and greatest value; an index of unknown extent, -1, is 0. 0: no batch yet. */
static int edf__reach(const edf__einsum *m, const edf__place *p, ptrdiff_t *least,
                      ptrdiff_t *greatest) {
  int known = 1;
  *least = *greatest = p->constant;
  for (int i = 0; i < m->e.n_letter; i++) {
    if (!p->factor[i] || m->extent[i] < 0) continue;
    ptrdiff_t far = (m->extent[i] - 1) * p->factor[i];
    if (m->extent[i] == 0) known = 0;
    if (far > 0) *greatest += far;
    else *least += far;
  }
  return known;
}

/* Returns the entry of x that factor r reads at these indices, or -1 if it reads outside. */
EDF__USED static ptrdiff_t edf__entry_of(const edf__einsum *m, const edf__ref *r,
                                         const edf_node *x, const ptrdiff_t *index) {
  ptrdiff_t entry = 0;
  for (int d = 0; d < r->rank; d++) {
    ptrdiff_t at = r->place[d].constant;
    for (int i = 0; i < m->e.n_letter; i++) at += r->place[d].factor[i] * index[i];
    if (at < 0 || at >= x->dim[d]) return -1;
    entry = entry * x->dim[d] + at;
  }
  return entry;
}

/* A read outside; `at_zero` is the index whose extent was asked for, else -1. */
EDF__NORETURN static void edf__read_error(const edf__einsum *m, edf_node **in,
                                          const edf__ref *r, int d, int at_zero,
                                          ptrdiff_t least, ptrdiff_t greatest) {
  const edf__letter *l = NULL;
  for (int i = m->e.n_letter - 1; i >= 0; i--)
    if (at_zero < 0 ? r->place[d].factor[i] != 0 : i == at_zero) l = &m->e.letter[i];
  edf__say_caret(&m->e.scan, r->place[d].at);
  edf__say("this place reads %s %ld", least == greatest ? "entry" : "entries", (long)least);
  if (least < greatest) edf__say(" to %ld", (long)greatest);
  if (l && at_zero >= 0) edf__say(" when %s is 0,", l->name);
  edf__say(" of a dimension with entries 0 to %d", in[r->operand]->dim[d] - 1);
  if (l)
    edf__say(": give %s a bound, | %s<n, and reads outside count as zero", l->name, l->name);
  edf__say_with(in[r->operand], "\n  %s = ", r->name);
  for (int i = 0; i < m->e.n_letter; i++)
    if (r->place[d].factor[i] && m->source[i] && m->source[i]->operand != r->operand)
      edf__say_extent(m, in, i, m->source[i], m->extent[i]);
  edf__stop();
}

/* A place reads inside of its dimension, unless an index there has a bound. Returns how long
   index i of unknown extent can be, 0 for an unknown batch; i is -1 where all are known. */
static ptrdiff_t edf__check_read(const edf__einsum *m, edf_node **in, const edf__ref *r, int d,
                                 int i) {
  const edf__place *p = &r->place[d];
  ptrdiff_t least, greatest, n = in[r->operand]->dim[d];
  if (!edf__reach(m, p, &least, &greatest) || n == 0) return 0;
  int inside = least >= 0 && greatest < n, factor = i < 0 ? 1 : p->factor[i];
  for (int k = 0; i < 0 && k < m->e.n_letter; k++)
    inside |= p->factor[k] && m->e.letter[k].bound;
  if (!inside) edf__read_error(m, in, r, d, i, least, greatest);
  return 1 + (factor > 0 ? (n - 1 - greatest) / factor : least / -factor);
}

/* Places with one index of unknown extent fix it: as long as every read of each is inside. */
static int edf__extent_offsets(edf__einsum *m, edf_node **in) {
  ptrdiff_t longest[EDF_MAX_INDEX];
  int found = 0;
  for (int i = 0; i < EDF_MAX_INDEX; i++) longest[i] = -1;
  for (int f = 1; f < m->e.n_ref; f++)
    for (int d = 0; d < m->e.ref[f].rank; d++) {
      int unknown = -1, several = 0;
      for (int i = 0; i < m->e.n_letter; i++)
        if (m->e.ref[f].place[d].factor[i] && m->extent[i] < 0) {
          several = unknown >= 0;
          unknown = i;
        }
      if (unknown < 0 || several || m->e.ref[f].operand < 0) continue;
      ptrdiff_t n = edf__check_read(m, in, &m->e.ref[f], d, unknown);
      if (longest[unknown] < 0 || n < longest[unknown]) longest[unknown] = n;
    }
  for (int i = 0; i < m->e.n_letter; i++)
    if (longest[i] >= 0) { m->extent[i] = longest[i]; found = 1; }
  return found;
}

static void edf__left_shape(const edf__einsum *m, edf_node *y) {
  const edf__ref *left = &m->e.ref[0];
  y->rank = left->rank;
  for (int d = 0; d < left->rank; d++) {
    ptrdiff_t least, greatest;
    const edf__place *p = &left->place[d];
    int known = edf__reach(m, p, &least, &greatest);
    if (known && least < 0)
      edf__syntax(&m->e.scan, p->at, "this place writes entry %ld, below 0", (long)least);
    if (known && greatest >= INT_MAX)
      edf__syntax(&m->e.scan, p->at, "this dimension is too long: %ld", (long)greatest + 1);
    y->dim[d] = known ? (int)greatest + 1 : 0;
  }
}

/* The extents of all indices; -1 of one that nothing gives. */
static void edf__find_extents(edf__einsum *m, edf_node **in) {
  const edf__equation *e = &m->e;
  memset(m->source, 0, sizeof m->source);
  for (int i = 0; i < e->n_letter; i++)
    m->extent[i] = e->letter[i].bound ? e->letter[i].bound : -1;
  for (int f = 1; f < e->n_ref; f++)
    for (int d = 0; d < e->ref[f].rank; d++) edf__extent_alone(m, in, &e->ref[f], d);
  while (edf__extent_offsets(m, in)) {}
}

static void edf__check_known(const edf__einsum *m) {
  for (const edf__letter *l = m->e.letter; l < m->e.letter + m->e.n_letter; l++)
    if (m->extent[l - m->e.letter] < 0)
      edf__syntax(&m->e.scan, l->name, "the extent of %s is unknown: nowhere on the right does "
                  "it stand alone; give it after a bar, | %s<n", l->name, l->name);
}
static void edf__einsum_shape(edf_node *y) {
  edf__einsum *m = (edf__einsum *)y->state;
  const edf__equation *e = &m->e;
  edf__find_extents(m, y->in);
  edf__check_known(m);
  for (int f = 1; f < e->n_ref; f++)
    for (int d = 0; d < e->ref[f].rank; d++) edf__check_read(m, y->in, &e->ref[f], d, -1);
  edf__left_shape(m, y);
}

/* ---- A short text, put together for an equation. */
typedef struct { char at[2000]; size_t n; } edf__text_of;

EDF__PRINTF(2, 3) static void edf__put(edf__text_of *to, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = edf__format(to->at + to->n, sizeof to->at - to->n, format, args);
  va_end(args);
  if (n < 0 || (size_t)n >= sizeof to->at - to->n) edf__die("edf: an equation is too long");
  to->n += (size_t)n;
}

/* ---- Views: how indices walk over a tensor; over a padded copy, which begins at origin. */
typedef struct {
  edf_node *of;
  ptrdiff_t start, s[EDF_MAX_INDEX];
  unsigned has;
  int ref;                               /* where it stands in the equation; 0: it is made    */
} edf__view;

static edf__view edf__view_of(const edf__equation *e, const edf__ref *r, edf_node *of,
                              const ptrdiff_t *origin, const ptrdiff_t *extent) {
  edf__view v = { of, 0, { 0 }, edf__ref_has(r), extent ? 0 : (int)(r - e->ref) };
  ptrdiff_t stride = 1;
  for (int d = r->rank - 1; d >= 0; d--) {
    v.start += (r->place[d].constant - (origin ? origin[d] : 0)) * stride;
    for (int i = 0; i < e->n_letter; i++) v.s[i] += r->place[d].factor[i] * stride;
    stride *= extent ? extent[d] : of->dim[d];
  }
  return v;
}

/* The swap rule: exchange a factor with the output. */
static edf__contraction edf__swap(const edf__contraction *forward, int x) {
  edf__contraction c = *forward;
  edf_nest *t = &c.nest;
  for (int i = 0; i < t->n; i++) {
    t->loop[i].s[EDF_OUT] = forward->nest.loop[i].s[x];
    t->loop[i].s[x] = forward->nest.loop[i].s[EDF_OUT];
  }
  t->start[EDF_OUT] = forward->nest.start[x];
  t->start[x] = forward->nest.start[EDF_OUT];
  return c;
}

/* A loop for each index of the views, with its letter; of a copy, without e, it is i, j, k. */
static void edf__make_loops(edf__contraction *c, const edf__equation *e,
                            const ptrdiff_t *extent, const edf__view **v) {
  static const char copied[EDF_MAX_RANK][2] = { "i", "j", "k", "l", "m", "n", "o", "p" };
  edf__text_of text = { { 0 }, 0 };
  unsigned has = v[EDF_OUT]->has | v[EDF_A]->has | v[EDF_B]->has;
  edf_nest *t = &c->nest;
  for (int i = 0, digits; has >> i; i++) {
    edf_loop l = { extent[i], { v[EDF_OUT]->s[i], v[EDF_A]->s[i], v[EDF_B]->s[i] } };
    if (!(has >> i & 1)) continue;
    digits = snprintf(NULL, 0, "%ld", (long)l.n - 1);
    edf__put(&text, "%s%s = %*d", t->n ? ", " : "", e ? e->letter[i].name : copied[i], digits,
             0);
    t->loop[t->n++] = l;
  }
  c->letters = edf__copy(&edf.computed, text.at);
}

static edf__step *edf__add_step(edf__program *p, const edf__equation *e,
                                const ptrdiff_t *extent, const edf__view *out,
                                const edf__view *a, const edf__view *b, double alpha) {
  const edf__view *v[3] = { out, a, b };
  size_t bytes = (size_t)(p->n_step + 1) * sizeof *p->step;
  p->step = (edf__step *)edf__grow(&edf.computed, p->step, bytes);
  edf__step *s = &p->step[p->n_step++];
  edf__free(s->run->letters);            /* another batch size's                              */
  for (int x = 0; x < 3; x++) edf__free(s->run[x].route);
  memset(s, 0, sizeof *s);
  s->run->nest.alpha = (edf_real)alpha;
  for (int x = 0; x < 3; x++) {
    s->of[x] = v[x]->of;
    s->ref[x] = v[x]->ref;
    s->run->nest.start[x] = v[x]->start;
  }
  edf__make_loops(s->run, e, extent, v);
  s->run[EDF_A] = edf__swap(s->run, EDF_A);
  s->run[EDF_B] = edf__swap(s->run, EDF_B);
  return s;
}

static const edf__view edf__no_view = { &edf__one, 0, { 0 }, 0, 0 };

static edf_node *edf__own_node(edf__program *p, size_t size) {
  size_t n = (size_t)++p->n_own;
  p->own = (edf_node **)edf__grow(&edf.computed, p->own, n * sizeof *p->own);
  edf_node **at = &p->own[n - 1], *x = *at;
  if (!x) *at = x = (edf_node *)edf__alloc(&edf.computed, sizeof *x);
  size_t bytes = edf__times(size, sizeof *x->value);
  x->value = (edf_real *)edf__grow(&edf.computed, x->value, bytes);
  x->size = size;
  return x;
}

/* A copy of x, from the least to the greatest entry that is read. The border around x, what
   adds nothing, is written here and stays. */
static edf_node *edf__padded(edf__einsum *m, edf__program *p, edf_node *x, int ref,
                             const ptrdiff_t *origin, const ptrdiff_t *extent) {
  edf__view out = { NULL, 0, { 0 }, 0, 0 }, in = { x, 0, { 0 }, 0, ref };
  ptrdiff_t inside[EDF_MAX_RANK], size = 1, size_in = 1;
  for (int d = x->rank - 1; d >= 0; d--) {
    ptrdiff_t begin = origin[d] > 0 ? origin[d] : 0, end = origin[d] + extent[d];
    if (end > x->dim[d]) end = x->dim[d];
    inside[d] = end > begin ? end - begin : 0;
    out.s[d] = size;
    in.s[d] = size_in;
    out.start += (begin - origin[d]) * size;
    in.start += begin * size_in;
    in.has |= 1u << d;
    size = (ptrdiff_t)edf__times((size_t)size, (size_t)extent[d]);
    size_in *= x->dim[d];
  }
  out.of = edf__own_node(p, (size_t)size);
  edf__step *s = edf__add_step(p, NULL, inside, &out, &in, &edf__no_view, 1);
  s->run->part = 1;
  edf__fill(out.of->value, out.of->size, m->kind == 'x' ? -(edf_real)HUGE_VAL : 0);
  return out.of;
}

/* The view of a factor; where it reads outside, of a padded copy, which is its own step. */
static edf__view edf__factor_view(const edf_node *y, edf__program *p, const edf__ref *r) {
  edf__einsum *m = (edf__einsum *)y->state;
  edf_node *x = y->in[r->operand];
  ptrdiff_t origin[EDF_MAX_RANK], extent[EDF_MAX_RANK], greatest;
  int outside = 0;
  for (int d = 0; d < r->rank; d++) {
    edf__reach(m, &r->place[d], &origin[d], &greatest);
    outside |= origin[d] < 0 || greatest >= x->dim[d];
    extent[d] = greatest - origin[d] + 1;
  }
  if (!outside) return edf__view_of(&m->e, r, x, NULL, NULL);
  x = edf__padded(m, p, x, (int)(r - m->e.ref), origin, extent);
  return edf__view_of(&m->e, r, x, origin, extent);
}

/* ---- More than two factors: products of two, in the cheapest order. */
static double edf__volume(const edf__einsum *m, unsigned has) {
  double volume = 1;
  for (int i = 0; i < m->e.n_letter; i++) if (has >> i & 1) volume *= (double)m->extent[i];
  return volume;
}

/* The indices that the product of factors i and j keeps: those that are needed elsewhere. */
static unsigned edf__kept(const unsigned *has, int n, int i, int j, unsigned left) {
  unsigned others = left;
  for (int k = 0; k < n; k++) if (k != i && k != j) others |= has[k];
  return (has[i] | has[j]) & others;
}

/* Multiplications of the best order for n factors with these indices, and its first pair. */
static double edf__best_order(const edf__einsum *m, const unsigned *has, int n, unsigned left,
                              int *first, int *second) {
  double best = HUGE_VAL;
  if (n <= 2) return edf__volume(m, has[0] | has[n - 1]);
  for (int i = 0; i < n; i++)
    for (int j = i + 1; j < n; j++) {
      unsigned rest[EDF_MAX_FACTOR];
      int count = 0, x, y;
      for (int k = 0; k < n; k++) if (k != i && k != j) rest[count++] = has[k];
      rest[count++] = edf__kept(has, n, i, j, left);
      double cost = edf__volume(m, has[i] | has[j]);
      cost += edf__best_order(m, rest, count, left, &x, &y);
      if (cost < best) { best = cost; *first = i; *second = j; }
    }
  return best;
}

/* Multiplies factors i < j; the product takes the place of i, and the last that of j. */
static void edf__multiply(edf__einsum *m, edf__program *p, edf__view *v, int n, int i, int j,
                          unsigned kept) {
  edf__view product = { NULL, 0, { 0 }, kept, 0 };
  ptrdiff_t stride = 1;
  for (int k = m->e.n_letter - 1; k >= 0; k--)
    if (kept >> k & 1) {
      product.s[k] = stride;
      stride = (ptrdiff_t)edf__times((size_t)stride, (size_t)m->extent[k]);
    }
  product.of = edf__own_node(p, (size_t)stride);
  edf__add_step(p, &m->e, m->extent, &product, &v[i], &v[j], 1);
  v[i] = product;
  v[j] = v[n - 1];
}

/* By what a mean divides: the number of its entries, or one less. */
static double edf__divisor(const edf__einsum *m, const edf__term *t) {
  double entries = 1;
  for (int i = 0; i < m->e.n_letter; i++)
    if (!m->e.letter[i].left && edf__term_has(&m->e, t) >> i & 1)
      entries *= (double)m->extent[i];
  return m->kind == 'm' ? entries : m->kind == 's' ? entries - 1 : 1;
}

static void edf__compile_term(edf_node *y, edf__program *p, const edf__term *t,
                              const edf__view *out) {
  edf__einsum *m = (edf__einsum *)y->state;
  edf__view v[EDF_MAX_FACTOR];
  int n = t->n, i = 0, j = 0;
  for (int f = 0; f < n; f++) v[f] = edf__factor_view(y, p, &m->e.ref[t->first + f]);
  for (; n > 2; n--) {
    unsigned has[EDF_MAX_FACTOR];
    for (int f = 0; f < n; f++) has[f] = v[f].has;
    edf__best_order(m, has, n, out->has, &i, &j);
    edf__multiply(m, p, v, n, i, j, edf__kept(has, n, i, j, out->has));
  }
  const edf__view *a = &v[0], *b = n == 2 ? &v[1] : &edf__no_view;
  edf__add_step(p, &m->e, m->extent, out, a, b, t->number / edf__divisor(m, t));
}

/* Terms of one factor come first: a bias is then written where zeros would have to be. */
static void edf__compile(edf_node *y, edf__program *p) {
  edf__einsum *m = (edf__einsum *)y->state;
  edf__view out = edf__view_of(&m->e, &m->e.ref[0], y, NULL, NULL);
  p->batch = -1;                         /* fits none until it is complete                    */
  p->n_step = p->n_own = 0;
  for (int single = 1; single >= 0; single--)
    for (int t = 0; t < m->e.n_term; t++)
      if ((m->e.term[t].n == 1) == single) edf__compile_term(y, p, &m->e.term[t], &out);
  p->batch = edf.batch;
}

static edf__program *edf__program_of(edf_node *y) {
  edf__einsum *m = (edf__einsum *)y->state;
  edf__program *p = &m->program[m->now];
  if (p->batch != edf.batch) {           /* all shapes follow from it                         */
    p = &m->program[!m->now];
    if (p->batch != edf.batch) edf__compile(y, p);
    m->now = !m->now;                    /* last: a panic above leaves nothing half made      */
  }
  return p;
}

/* ---- Running the steps */
static void edf__contract_by_definition(edf__contraction *t, edf_real *out, size_t size,
                                        int *fresh, const edf_real *a, const edf_real *b) {
  const edf_nest *q = &t->nest;
  if (*fresh && t->part) edf__walk_zero(q->n, q->loop, out + q->start[EDF_OUT]);
  else if (*fresh) edf__fill_here(out, size, 0);
  *fresh = 0;
  edf__walk(q, t->letters, out, a, b);
}

static edf__contractor *edf__kernel(void) {
  return edf__fast ? edf__fast : edf__contract_by_definition;
}

/* Runs a term of y, forward or backward, instead of the kernel. The nest is that of forward. */
typedef void edf__term_runner(edf_node *y, edf_node *x, const edf_nest *nest, int backward);

/* Runs the steps of y. If `run` is not NULL, it runs the terms, which have one factor each, and
   the kernel runs the copies and products that the terms need. */
static void edf__run_forward(edf_node *y, edf__term_runner *run) {
  edf__program *p = edf__program_of(y);
  int fresh = 1, own;
  for (edf__step *s = p->step; s < p->step + p->n_step; s++) {
    edf_node *out = s->of[EDF_OUT];
    own = 1;                             /* one step writes what is not y                     */
    if (run && out == y) run(y, s->of[EDF_A], &s->run[EDF_OUT].nest, 0);
    else edf__kernel()(s->run, out->value, out->size, out == y ? &fresh : &own,
                       s->of[EDF_A]->value, s->of[EDF_B]->value);
  }
}

/* What the terms were made from has a gradient if a factor has one. Its memory, m, stays. */
static void edf__make_grads(edf_node *y, edf__program *p) {
  for (edf__step *s = p->step; s < p->step + p->n_step; s++) {
    edf_node *x = s->of[EDF_OUT];
    if (x == y) continue;
    x->fresh = 1;
    x->grad = NULL;
    if (s->of[EDF_A]->grad || s->of[EDF_B]->grad)
      x->grad = x->m = (edf_real *)edf__grow(&edf.computed, x->m, x->size * sizeof *x->m);
  }
}

/* The program that Forward ran: what its terms were made from, in reverse, then the operands in
   the order in which they are printed. */
static void edf__run_backward(edf_node *y, edf__term_runner *run) {
  edf__einsum *m = (edf__einsum *)y->state;
  edf__program *p = &m->program[m->now];
  edf__contractor *contract = edf__kernel();
  if (p->n_own) edf__make_grads(y, p);
  for (int r = !p->n_own; r < m->e.n_ref; r++)
    for (edf__step *s = p->step + p->n_step - 1; s >= p->step; s--) {
      edf_node *a = s->of[EDF_A], *b = s->of[EDF_B];
      const edf_real *dy = s->of[EDF_OUT]->grad;
      if (s->ref[EDF_A] == r && a->grad && run && s->of[EDF_OUT] == y)
        run(y, a, &s->run[EDF_OUT].nest, 1);
      else if (s->ref[EDF_A] == r && a->grad)
        contract(&s->run[EDF_A], a->grad, a->size, &a->fresh, dy, b->value);
      if (s->ref[EDF_B] == r && b->grad)
        contract(&s->run[EDF_B], b->grad, b->size, &b->fresh, a->value, dy);
    }
}

static void edf__run_equation(edf_node *y, edf__term_runner *run, int backward) {
  if (backward) edf__run_backward(y, run);
  else edf__run_forward(y, run);
}

static void edf__einsum_forward(edf_node *y) { edf__run_equation(y, NULL, 0); }
static void edf__einsum_backward(edf_node *y) { edf__run_equation(y, NULL, 1); }
static const edf_op edf__einsum_op = { "Einsum", edf__einsum_shape, edf__einsum_forward,
  edf__einsum_backward, NULL, NULL, NULL, -1, 1 << EDF_IS_EQUATION };

/* ---- The constructor, also for nodes that are equations under another name. */
static const edf__ref *edf__ref_of(const edf__equation *e, int operand) {
  for (int f = 1; f < e->n_ref; f++)
    if (e->ref[f].operand == operand) return &e->ref[f];
  return NULL;
}

static void edf__check_count(const edf__equation *e, int n, edf_node **in) {
  if (n == e->n_operand) return;
  edf__say_caret(&e->scan, e->scan.text);
  edf__say("the equation has %d %s", e->n_operand, e->n_operand == 1 ? "operand" : "operands");
  for (int k = 0; k < e->n_operand; k++)
    edf__say("%s%s", k ? ", " : " (", edf__ref_of(e, k)->name);
  edf__say("), but %d %s given", n, n == 1 ? "was" : "were");
  for (int k = 0; k < (n > e->n_operand ? n : e->n_operand); k++) {
    const edf__ref *r = edf__ref_of(e, k);
    edf__say("\n  ");
    if (!r) edf__say("no name for ");
    else edf__say(k < n ? "%s = " : "%s is missing, or NULL", r->name);
    if (k < n) edf__say_node(in[k]);
  }
  edf__stop();
}

static edf__equation edf__read_equation(const edf__site *at, const char *text) {
  edf__equation e;
  memset(&e, 0, sizeof e);
  e.scan = edf__scan_of(at, "equation", text, text ? (int)strlen(text) : 0, 1000,
                        "\t\n\r");
  edf__parse(&e);
  return e;
}

/* A node of this equation. op is NULL for a sum, else what runs it in place of an Einsum. */
static edf_node *edf__equation_node(const edf__site *at, const edf_op *op, int kind,
                                    edf__equation *e, int n, edf_node **in) {
  edf_op about = op ? *op : edf__einsum_op;
  edf__check_count(e, n, in);
  about.name = at->op;
  edf_node *y = edf__computed(&about, at->file, at->line, n, in);
  edf__einsum *m = (edf__einsum *)edf__alloc(&edf.computed, sizeof *m);
  edf__one.value = (edf_real *)&edf__number_one;
  m->program[0].batch = m->program[1].batch = -1;
  m->e = *e;
  m->kind = kind;
  y->state = m;
  if (!strcmp(y->op, edf__einsum_op.name)) y->name = e->ref->name;
  for (int f = 1; f < m->e.n_ref; f++)
    edf__check_rank(&m->e, &m->e.ref[f], in[m->e.ref[f].operand]);
  return edf__add_compnode(y);
}

/* The names of the nodes that follow, with a blank between; all of them have to be there. */
static void edf__check_named(const edf__site *at, const char *names, ...) {
  va_list args;
  va_start(args, names);
  for (int n; *names; names += n + (names[n] == ' ')) {
    const edf_node *x = va_arg(args, edf_node *);
    n = (int)strcspn(names, " ");
    edf__check_there(at, x, "%.*s", n, names);
  }
  va_end(args);
}

/* A rule, and the operand that does not keep it. */
#define edf__x_error(at, name, x, ...) \
  (edf__say_at(at), edf__say(__VA_ARGS__), edf__stop_with(x, "\n  %s = ", name))

/* One line of a composition: an equation over the n nodes that follow. */
static edf_node *edf__line(const edf__site *at, const char *equation, int n, ...) {
  edf_node *in[EDF_MAX_FACTOR];
  va_list args;
  EDF_ASSERT(n <= EDF_MAX_FACTOR);
  va_start(args, n);
  for (int k = 0; k < n; k++) in[k] = va_arg(args, edf_node *);
  va_end(args);
  edf__equation e = edf__read_equation(at, equation);
  return edf__equation_node(at, NULL, 0, &e, n, in);
}

edf_node *edf_einsum_at(const char *file, int line, const char *equation, ...) {
  edf__site at = { "Einsum", file, line };
  int n;
  va_list args;
  va_start(args, equation);
  edf_node **in = edf__operands(args, &n);
  va_end(args);
  edf__equation e = edf__read_equation(&at, equation);
  edf_node *y = edf__equation_node(&at, NULL, 0, &e, n, in);
  edf__free(in);
  return y;
}

/* ---- The letters of a node's indices: those on the left of its equation, those of a text as
   "a[b,t,S]", or those of what it was computed from; where nobody has named them i, j, k. */
enum { EDF__LETTER = 16 };
typedef struct { int n; char name[EDF_MAX_RANK][EDF__LETTER]; } edf__letters;

/* A letter of a loop is lower-case. One that is there already is not added. */
static int edf__add_letter(edf__letters *l, const char *name) {
  char *to = l->name[l->n];
  int n = 0;
  for (; n < EDF__LETTER - 1 && (edf__is_letter(name[n]) || edf__is_digit(name[n])); n++)
    to[n] = edf__lower(name[n]);
  to[n] = 0;
  for (int k = 0; k < l->n; k++) if (!strcmp(l->name[k], to)) return 0;
  l->n++;
  return 1;
}

/* The next one, where nobody has named it. */
static void edf__any_letter(edf__letters *l, const edf_node *x) {
  char any[2] = "i";
  if (l->n == 0 && (x->batched & 1) && edf__add_letter(l, edf.batch_name)) return;
  while (!edf__add_letter(l, any)) ++*any;         /* i, j, k ... */
}

/* The node whose letters x has, where the line of operands begins; NULL where none is named. */
static const edf_node *edf__letter_source(const edf_node *x) {
  while (!x->letters && !edf__is(x, EDF_IS_EQUATION) && x->n_in && x->letters_of >= 0) {
    int longer = x->n_in == 2 && x->in[1]->rank > x->in[0]->rank;
    x = x->in[x->letters_of ? x->letters_of : longer];
  }
  return x->letters || edf__is(x, EDF_IS_EQUATION) ? x : NULL;
}

static edf__letters edf__letters_of(const edf_node *y) {
  edf__letters l = { 0, { { 0 } } };
  const edf_node *x = edf__letter_source(y);
  const char *c = x ? x->letters : NULL;
  const edf__equation *e = x && !c ? &((const edf__einsum *)x->state)->e : NULL;
  for (int d = 0; x && d < x->rank; d++) {
    int i = e ? edf__alone(e, &e->ref->place[d]) : -1;
    const char *name = c ? c + 1 : i < 0 ? NULL : e->letter[i].name;
    if (!name || !edf__add_letter(&l, name)) edf__any_letter(&l, x);
    if (c) c += 1 + strcspn(c + 1, ",]");
  }
  if (l.n > y->rank) l.n = y->rank;
  while (l.n < y->rank) edf__any_letter(&l, y);
  return l;
}

/* The last `rank` of them: [i,j] */
static const char *edf__last_letters(const edf__letters *l, int rank) {
  edf__text_of text = { { 0 }, 0 };
  for (int d = l->n - rank; d < l->n; d++)
    edf__put(&text, "%s%s", d > l->n - rank ? "," : "[", l->name[d]);
  return edf__fmt(rank ? "%s]" : "%s", text.at);
}

/* ==== >>products  Products, softmax, losses ============================================== */

/* ---- Add, Sub, Mul are equations over the indices of the longer operand, or of that which has
   names: the shorter one has the last of them, a scalar none.
   y[b,j] = u[b,j] + v[j]     y[b,j] = u[b,j] v[j] ---- */
static edf_node *edf__pairwise(const char *op, const char *sign, const char *file, int line,
                               edf_node *u, edf_node *v) {
  edf__site at = { op, file, line };
  edf_node *in[2] = { u, v };
  edf__check_operands(&at, 2, in);
  int second = v->rank > u->rank;
  if (v->rank == u->rank) second = !edf__letter_source(u) && edf__letter_source(v);
  edf__letters l = edf__letters_of(second ? v : u);
  const char *of_y = edf__last_letters(&l, l.n), *of_u = edf__last_letters(&l, u->rank);
  const char *of_v = edf__last_letters(&l, v->rank);
  return edf__line(&at, edf__fmt("y%s = u%s %sv%s", of_y, of_u, sign, of_v), 2, u, v);
}

edf_node *edf_add_at(const char *file, int line, edf_node *u, edf_node *v) {
  return edf__pairwise("Add", "+ ", file, line, u, v);
}
edf_node *edf_sub_at(const char *file, int line, edf_node *u, edf_node *v) {
  edf_node *y = edf__pairwise("Sub", "- ", file, line, u, v);
  y->is |= 1 << EDF_IS_DIFFERENCE;
  return y;
}
edf_node *edf_mul_at(const char *file, int line, edf_node *u, edf_node *v) {
  return edf__pairwise("Mul", "", file, line, u, v);
}

/* ---- Softmax   P[b,k] = exp(s[b,k]) / sum_j exp(s[b,j])
                  s.grad[b,k] += P[b,k] (P.grad[b,k] - sum_j P[b,j] P.grad[b,j])
   The row's maximum is subtracted first, which changes nothing but the rounding. The
   exponentials of all rows are one long loop, so that short rows are vectorised too. ---- */
static void edf__softmax_shape(edf_node *P) {
  edf__shape_of_first(P);
  if (!P->rank) edf__fail_at_with(P, P->in[0], "a scalar has no last index");
}

/* Many functions go over rows: over the last y->row_dims indices, flattened. */
static size_t edf__columns(const edf_node *y) {
  size_t K = 1;
  for (int d = y->rank - y->row_dims; d < y->rank; d++) K *= (size_t)y->dim[d];
  return K;
}

/* With a bound | S<=t row t has its first t + 1 entries alone. */
static size_t edf__row_end(const edf_node *y, size_t row, size_t K) {
  size_t n = y->causal ? row % (size_t)y->dim[y->rank - y->row_dims - 1] + 1 : K;
  return n < K ? n : K;
}

static void edf__softmax_rows(const edf_node *y, edf_real *P, const edf_real *s, size_t rows,
                              size_t K) {
  for (size_t b = 0; b < rows; b++) {
    size_t n = edf__row_end(y, b, K);
    const edf_real *row = s + b * K, max = edf__largest(row, (ptrdiff_t)n);
    for (size_t k = 0; k < n; k++) P[b * K + k] = row[k] - max;
  }
  for (size_t i = 0; i < rows * K; i++) P[i] = edf__exp(P[i]);
  for (size_t b = 0; b < rows; b++) {
    size_t n = edf__row_end(y, b, K);
    edf_real *row = P + b * K, Z = edf__total(row, (ptrdiff_t)n);
    memset(row + n, 0, (K - n) * sizeof *row);
    for (size_t k = 0; k < K; k++) row[k] /= Z;
  }
}

static void edf__softmax_forward(edf_node *P) {
  size_t K = edf__columns(P);
  edf__softmax_rows(P, P->value, P->in[0]->value, P->size / K, K);
}
static void edf__softmax_backward(edf_node *P) {
  edf_node *s = P->in[0];
  size_t K = edf__columns(P);
  for (size_t b = 0; b < P->size; b += K) {
    edf_real e = edf__dot(P->value + b, P->grad + b, (ptrdiff_t)K);
    for (size_t k = b; k < b + K; k++) edf_addgrad(s, k, P->value[k] * (P->grad[k] - e));
  }
}
static const edf_op edf__softmax_op = { "Softmax", edf__softmax_shape, edf__softmax_forward,
  edf__softmax_backward, "P s", "P@ = exp(s@) / sum_~ exp(s~)",
  "s.grad@ += P@ (P.grad@ - sum_~ P~ P.grad~)", 1, 1 << EDF_IS_SOFTMAX };
edf_node *edf_softmax_at(const char *file, int line, edf_node *s) {
  return edf__node1(&edf__softmax_op, file, line, s);
}

/* ---- Parameter packages: their number, and what their constructors share. */
static int edf__new_package(const char *file, int line, const char *who, int n_in, int n_out) {
  if (n_in < 1 || n_out < 1)
    edf__die("%s:%d: %s: %d inputs and %d outputs: expected at least 1 of each", file, line,
              who, n_in, n_out);
  return ++edf.n_packages;
}

/* Uniform in +-sqrt(3/n), which has variance 1/n, for sums of n products. */
static edf_node *edf__init_for(edf_node *w, double n) {
  edf_real bound = edf__root((edf_real)3 / (edf_real)n);
  edf_init_uniform(w, -bound, bound);
  return w;
}

/* ---- Affine   s[b,j] = W[I,j] x[b,I] - B[j] : an equation, one for each rank of x ---- */
edf_affine_package edf_affine_params_at(const char *file, int line, int n_in, int n_out) {
  edf_affine_package Phi;
  int n = edf__new_package(file, line, "edf_affine_params", n_in, n_out);
  Phi.w = edf__init_for(edf_parameter_at(file, line, "w%d[%d,%d]", n, n_in, n_out), n_in);
  Phi.b = edf_parameter_at(file, line, "b%d[%d]", n, n_out);
  return Phi;
}

static edf_node *edf__affine(const edf__site *at, edf_affine_package Phi, edf_node *x) {
  static const char *const rows[] = { "", "b,", "b,t,", "b,h,t," };
  edf__check_named(at, "Phi.w x Phi.b", Phi.w, x, Phi.b);
  if (x->rank < 1 || x->rank > 4)
    edf__x_error(at, "x", x, "x has %d dimensions, expected 1 to 4", x->rank);
  const char *b = rows[x->rank - 1];
  return edf__line(at, edf__fmt("s[%sj] = W[I,j] x[%sI] - B[j]", b, b), 3, Phi.w, x, Phi.b);
}

edf_node *edf_affine_at(const char *file, int line, edf_affine_package Phi, edf_node *x) {
  edf__site at = { "Affine", file, line };
  return edf__affine(&at, Phi, x);
}

/* ---- Labels: class numbers, one for each row of scores. */
static void edf__rows_shape(edf_node *loss) {
  edf_node *P = loss->in[0], *y = loss->in[1];
  int equal = P->rank == y->rank + 1;
  for (int d = 0; equal && d < y->rank; d++) equal = y->dim[d] == P->dim[d];
  if (!P->rank) edf__operands_error(loss, "the first operand needs an index of classes");
  if (!equal) {
    const char *scores = edf__is(loss, EDF_IS_SOFTMAX) ? "s" : "P";
    edf__say_at(loss);
    edf__say("expected one label for each row of %s: y is ", scores);
    edf__say_dims(y, y->rank);
    edf__say(", not ");
    edf__say_dims(P, P->rank - 1);
    edf__say_with(P, "%s\n  %s = ", y->rank > P->rank ? ": are they swapped?" : "", scores);
    edf__stop_with(y, "\n  y = ");
  }
  loss->classes = P->dim[P->rank - 1];
  loss->rank = y->rank;
  memcpy(loss->dim, y->dim, sizeof loss->dim);
}

static const char *edf__indices(const edf_node *x, size_t i) {         /* of entry i: [1,0]   */
  edf__text_of text = { { 0 }, 0 };
  size_t size = x->size;
  for (int d = 0; d < x->rank; d++) {
    size /= (size_t)x->dim[d];
    edf__put(&text, "%c%zu", d ? ',' : '[', i / size % (size_t)x->dim[d]);
  }
  return edf__fmt(x->rank ? "%s]" : "%s", text.at);
}

/* The class number in row b of the last operand. */
static size_t edf__class_in(const edf_node *node, const edf_node *y, size_t b, size_t K) {
  double label = (double)y->value[b];
  int whole = label == floor(label);
  if (!whole || label < 0 || label >= (double)K) {
    const char *row = y->rank < 2 ? edf__fmt("%zu", b) : edf__indices(y, b);
    edf__fail_at_with(node, y, "%s %g in row %s of %s %s: expected 0 to %zu%s",
                      edf__is(node, EDF_IS_CLASS_LOSS) ? "label" :
                      edf__is(node, EDF_IS_LOOKUP) ? "class" : "row number", label, row,
                      edf_label(y), whole ? "is out of range" : "is not a whole number", K - 1,
                      label == (double)K ? " (are the classes counted from 1?)" :
                      !whole && fabs(label) < 1e-37 ? " (is it the bits of an int?)" : "");
  }
  return (size_t)label;
}
static size_t edf__class(const edf_node *node, size_t b) {
  return edf__class_in(node, node->in[node->n_in - 1], b, (size_t)node->classes);
}

/* ---- LogLoss   l[b] = -ln P[b,y[b]]     P.grad[b,y[b]] -= l.grad[b] / P[b,y[b]] ---- */
static void edf__log_loss_forward(edf_node *l) {
  edf_node *P = l->in[0];
  size_t K = (size_t)P->dim[P->rank - 1];
  for (size_t b = 0; b < l->size; b++)
    l->value[b] = -edf__ln(P->value[b * K + edf__class(l, b)]);
}
static void edf__log_loss_backward(edf_node *l) {
  edf_node *P = l->in[0];
  size_t K = (size_t)P->dim[P->rank - 1];
  for (size_t b = 0; b < l->size; b++) {
    size_t i = b * K + edf__class(l, b);
    edf_addgrad(P, i, -l->grad[b] / P->value[i]);
  }
}
static const edf_op edf__log_loss_op = { "LogLoss", edf__rows_shape, edf__log_loss_forward,
  edf__log_loss_backward, "l P y", "l@ = -ln P[&y@]",
  "P.grad[&y@] -= l.grad@ / P[&y@]", 0, 1 << EDF_IS_CLASS_LOSS };
edf_node *edf_log_loss_at(const char *file, int line, edf_node *P, edf_node *y) {
  return edf__node2(&edf__log_loss_op, file, line, P, y);
}

/* ---- SoftmaxLogLoss   l[b] = ln sum_j exp(s[b,j]) - s[b,y[b]]
                         s.grad[b,k] += l.grad[b] (softmax(s)[b,k] - [k = y[b]])
   The state holds P = softmax(s). The row's greatest entry has P = 1/Z, with Z the sum of
   exp(s - max): l = -ln(max P) + max s - s[y] loses nothing where P[y] is tiny. ---- */
static void edf__softmax_log_loss_forward(edf_node *l) {
  edf_node *s = l->in[0];
  size_t K = (size_t)s->dim[s->rank - 1];
  edf_real *P = (edf_real *)edf_state(l, s->size * sizeof *P);
  edf__softmax_rows(l, P, s->value, l->size, K);
  for (size_t b = 0; b < l->size; b++) {
    size_t best = b * K, label = b * K + edf__class(l, b);
    for (size_t k = best; k < b * K + K; k++) best = s->value[k] > s->value[best] ? k : best;
    l->value[b] = (s->value[best] - s->value[label]) - edf__ln(P[best]);
  }
}
static void edf__softmax_log_loss_backward(edf_node *l) {
  edf_node *s = l->in[0];
  const edf_real *P = (const edf_real *)l->state;
  size_t K = (size_t)s->dim[s->rank - 1];
  for (size_t b = 0; b < l->size; b++) {
    for (size_t k = b * K; k < b * K + K; k++) edf_addgrad(s, k, l->grad[b] * P[k]);
    if (s->grad) s->grad[b * K + edf__class(l, b)] -= l->grad[b];
  }
}
static const edf_op edf__softmax_log_loss_op = { "SoftmaxLogLoss", edf__rows_shape,
  edf__softmax_log_loss_forward, edf__softmax_log_loss_backward, "l s y",
  "l@ = ln sum_~ exp(s~) - s[&y@]",
  "s.grad@ += l.grad@ (exp(s@) / sum_~ exp(s~) - [! = y@])",
  1, 1 << EDF_IS_SOFTMAX | 1 << EDF_IS_CLASS_LOSS };
edf_node *edf_softmax_log_loss_at(const char *file, int line, edf_node *s, edf_node *y) {
  return edf__node2(&edf__softmax_log_loss_op, file, line, s, y);
}
EDF__C_END
#endif

/* ==== >>short  Short names, as on the slides ============================================ */
#if !defined(EDF_NO_SHORT_NAMES) && !defined(EDF__SHORT_NAMES)
#define EDF__SHORT_NAMES
typedef edf_node Node, Input, Parameter, CompNode;
typedef edf_affine_package AffineParams;
#define Forward         edf_forward
#define Backward        edf_backward
#define SGD             edf_sgd
#define Einsum          edf_einsum
#define Affine          edf_affine
#define Sigmoid         edf_sigmoid
#define Tanh            edf_tanh
#define Relu            edf_relu
#define Exp             edf_exp
#define Log             edf_log
#define Sqrt            edf_sqrt
#define Square          edf_square
#define Add             edf_add
#define Sub             edf_sub
#define Mul             edf_mul
#define Div             edf_div
#define Sum             edf_sum
#define Mean            edf_mean
#define Softmax         edf_softmax
#define LogLoss         edf_log_loss
#define SoftmaxLogLoss  edf_softmax_log_loss
#endif

/* ---- End of Part One -------------------------------------------------------------------- */

/* ######## Part Two: faster, and more ##################################################### */

/* ==== >>seam  The seam of a device ======================================================= */
#ifndef EDF__SEAM_H
#define EDF__SEAM_H
EDF__C_BEGIN
/* A linked edf_cuda.o sets edf_open_device, which is called with the first node and gives
   edf_device, which runs kernels and holds arrays, or NULL; each kernel begins by handing over
   to it. Arrays are known by their address on the host. edf_array_bytes: the size of an array
   of the framework's that begins at x, 0 for any other; the number 1 that stands for an absent
   factor is one of these. */
typedef enum {                           /* the loops of the optimisers                       */
  EDF_SGD_RULE, EDF_MOMENTUM_RULE, EDF_SQUARE_RULE, EDF_ADAM_RULE, EDF_SCALE_RULE, EDF_L2_RULE,
  EDF_L1_RULE
} edf_rule;
enum { EDF_RULE_NUMBERS = 6 };           /* of a rule, at most                                */

typedef struct edf_route edf_route;
typedef struct edf_window edf_window;
typedef struct edf_device_table {
  void   (*contract)(const edf_route *, int assign, edf_real *, const edf_real *,
                     const edf_real *);
  void   (*window)(const edf_window *, int backward);
  /* A built-in node's forward (0) or backward (1), which finds its own gradient up to date, and
     writes where an input's is `fresh` and clears that; 0: no kernel, so its C code runs. */
  int    (*node)(edf_node *y, int backward);
  /* Calls nodes(), twice where a recording failed; or, if nobody watches single nodes (whole),
     runs what it has recorded of it, and returns 1. */
  int    (*pass)(void (*nodes)(void), int whole);
  void   (*fill)(edf_real *x, size_t n, edf_real number);
  void   (*update)(edf_node *p, edf_rule rule, const edf_real *numbers, int n);
  double (*norm)(edf_node **p, int n);   /* the sum of the squares of their gradients         */
  void   (*pull)(edf_real *x, size_t n); /* brings an array here, where it is newer there     */
  void   (*push)(edf_real *x, size_t n); /* it was written here; n is 0: an Input fed with it */
  void   (*forget)(const void *x);       /* it will be freed                                  */
  void   (*here)(const edf_node *y);     /* a node in plain C runs here                       */
  void   (*sync)(int on);                /* on: all is right on both sides after each call    */
} edf_device_table;
extern edf_device_table *edf_device;
extern edf_device_table *(*edf_open_device)(void);
size_t edf_array_bytes(const void *x);
EDF__C_END
#endif

#ifdef EDF__CODE
EDF__C_BEGIN
edf_device_table *(*edf_open_device)(void) = NULL;
edf_device_table *edf_device = NULL;

static void edf__open_device(void) {
  volatile edf_real part = (edf_real)0.75;         /* rounded as in edf__exp: clang has no    */
  edf_real big = (edf_real)(EDF_REAL_IS_DOUBLE ? 6755399441055744.0 : 12582912.0);   /* macro */
  edf_real sum = part + big;                       /* for -funsafe-math-optimizations         */
  if (sum - big != 1)
    edf__die("edf.h needs the order of additions: not -funsafe-math-optimizations");
  edf_device_table *(*open)(void) = edf_open_device;
  edf_open_device = NULL;
  if (open) edf_device = open();
}

size_t edf_array_bytes(const void *x) {
  for (int k = 0; k < 2; k++)
    for (edf__block *b = k ? edf.computed : edf.kept; b; b = b->next)
      if ((char *)b + EDF__ALIGN == x) return b->bytes;
  return 0;
}

/* Class numbers out of an Input are looked at before a device's pass; others by the device. */
static void edf__check_classes(edf_node *y) {
  const edf_node *k = y->active && y->classes ? y->in[y->n_in - 1] : NULL;
  if (k && k->kind == EDF_INPUT) for (size_t b = 0; b < k->size; b++) edf__class(y, b);
}

/* A pass that the device has recorded runs without the nodes' code. */
static void edf__note_replayed(edf_node *x) {
  if (edf.direction < 0) x->fresh = 0;
  else if (x->active) x->ran = edf.feeds;
}

static unsigned long edf__passes;        /* so many began, or a step, or a value was written  */

static int edf__device_pass(void (*nodes)(void)) {
  edf__passes++;
  if (!edf_device) return 0;
  if (edf.direction > 0) edf__each(edf__check_classes);
  int told = edf.watchers && !edf.watchers->passes;
  int whole = edf.telling || !(told || edf.look);           /* nobody looks at single nodes   */
  if (edf_device->pass(nodes, whole)) edf__each(edf__note_replayed);
  return 1;
}

/* ---- Nodes in plain C run here: what they read is brought, what they write goes back. */
static edf_device_table *edf__paused;    /* meanwhile                                         */

static void edf__bring(edf_node *x, int grad) {
  edf__pull(x->value, x->size);
  if (grad) edf__pull(x->grad, x->size);
}

static void edf__run_here(edf_node *y, int backward) {
  for (int k = 0; backward && k < y->n_in; k++) edf__end_fresh(y->in[k]);
  for (int k = 0; k < y->n_in; k++) edf__bring(y->in[k], backward);
  if (backward) edf__bring(y, 1);
  edf_device->here(y);
  edf__paused = edf_device;
  edf_device = NULL;
  void (*run)(edf_node *) = backward ? y->backward : y->forward;
  int looked_at = y->steps & (backward ? 2 : 1) || !edf__run_first;
  y->steps |= backward ? 2 : 1;
  if (looked_at || !edf__run_first(y, run)) run(y);
  edf_device = edf__paused;
  edf__paused = NULL;
  if (!backward) edf__push(y->value, y->size);
  for (int k = 0; backward && k < y->n_in; k++) edf__push(y->in[k]->grad, y->in[k]->size);
}

/* ---- Threads. Where each row of y is made from the same row of one input, and nothing is kept
   of it, a slice of a node is a node. Under a bound | S<=t the rows of all t stay together. */
#ifdef _OPENMP
static double edf__worth = 10000;        /* nanoseconds, or entries; 0, in tests: cut all     */
static void edf__run_slice(edf_node part, int backward, ptrdiff_t begin, ptrdiff_t end) {
  edf_node x = *part.in[0], *in = &x;
  part.in = &in;
  part.size = x.size = (size_t)(end - begin);
  part.value += begin;
  x.value += begin;
  if (backward) { part.grad += begin; x.grad = x.grad ? x.grad + begin : NULL; }
  (backward ? part.backward : part.forward)(&part);
}
static int edf__ran_in_slices(const edf_node *y, int backward) {
  int t, threads = omp_in_parallel() ? 1 : omp_get_max_threads();
  int keeps = y->state && !edf__is(y, EDF_IS_SOFTMAX), alone = y->n_in == 1 && y->lazy == 1;
  if (!alone || keeps || edf__is(y, EDF_IS_OWN) || !y->rank || y->in[0]->size != y->size ||
      (double)y->size < edf__worth) return 0;
  ptrdiff_t steps = y->causal ? y->dim[y->rank - y->row_dims - 1] : 1;
  ptrdiff_t row = steps * (ptrdiff_t)edf__columns(y), n = (ptrdiff_t)y->size / row;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (t = 0; t < threads; t++)
    edf__run_slice(*y, backward, n * t / threads * row, n * (t + 1) / threads * row);
  return 1;
}
#else
static int edf__ran_in_slices(edf_node *y, int backward) { (void)y; (void)backward; return 0; }
#endif
/* 0: the node's C code calls kernels, and these hand over. */
static int edf__device_ran(edf_node *y, int backward) {
  if (!edf_device) return edf__ran_in_slices(y, backward);
  if (!edf.direction) edf__check_classes(y);        /* eager                               */
  if (edf__is(y, EDF_IS_EQUATION)) return 0;
  if (edf__is(y, EDF_IS_OWN) || !edf_device->node(y, backward)) edf__run_here(y, backward);
  return 1;
}

static void edf__push_there(edf_real *x, size_t n) {
  edf__passes++;
  edf_device_table *device = edf__paused ? edf__paused : edf_device;
  if (device) device->push(x, n);
}

static void edf__forget_there(const void *x) {
  edf_device_table *device = edf__paused ? edf__paused : edf_device;
  if (device) device->forget(x);
}

/* After a mistake, or before edf_clear: that may have jumped out of a check. */
static void edf__stop_there(int clear) {
  if (edf__paused) edf_device = edf__paused;
  edf__paused = NULL;
  if (clear && edf_device) edf_device->sync(0);
}

static int edf__fill_there(edf_real *x, size_t n, edf_real number) {
  if (edf_device) edf_device->fill(x, n, number);
  return edf_device != NULL;
}

static int edf__sgd_there(edf_node *p, edf_real eta) {
  if (edf_device) edf_device->update(p, EDF_SGD_RULE, &eta, 1);
  return edf_device != NULL;
}

static void edf__pull_there(edf_real *x, size_t n) {
  if (edf_device) edf_device->pull(x, n);
}

static const edf__seam_table edf__seam_code = { edf__open_device, edf__device_pass,
  edf__device_ran, edf__fill_there, edf__sgd_there, edf__pull_there, edf__push_there,
  edf__forget_there, edf__stop_there };
EDF__HOOKED(const edf__seam_table, edf__seam, &edf__seam_code)
EDF__C_END
#endif

/* ==== >>nest  Loop nests, plans and kernels; needs >>seam ================================ */
#ifndef EDF__NEST_H
#define EDF__NEST_H
EDF__C_BEGIN
/* A plan: the nest in canonical form, its loops in the order outside | M | N | K. Outside loops
   run one after another; the rest is a matrix product out[M,N] += a[M,K] b[K,N].
   `product` 0 means no product: the innermost loop is a vector loop, the others run outside. */
typedef struct { ptrdiff_t n, step, run; } edf_axis;   /* loops flattened, seen by an operand */
typedef struct { edf_axis row, column; int direct, tall; } edf_matrix;  /* tall: column-major */
struct edf_route {
  edf_nest nest;
  int product, first[4];                 /* index of the first M, N, K loop, and the end      */
  ptrdiff_t extent[3];                   /* of M, N, K                                        */
  edf_matrix matrix[3];                  /* out [M,N], a [M,K], b [K,N]                       */
  size_t covers;                         /* entries of out written, each once; else 0         */
  size_t apart;                          /* the same where sums run inside of all other loops */
  double cost;                           /* estimated nanoseconds, by one thread              */
};

/* What work costs on a machine, in nanoseconds; only ratios matter. `batched`: gemm takes all
   matrices of an outside loop in one call, and no sum may run outside. */
typedef struct {
  double call, multiply;                 /* of gemm: each call, each multiplication           */
  double operand, result;                /* each entry of a and b, of out                     */
  double pack, pack_alone;               /* an entry copied in: of a run, alone               */
  double add, add_alone;                 /* an entry added to out                             */
  double run;                            /* the start of such a run                           */
  double loop[3], start;                 /* an innermost loop: with steps of 1, to 8, more    */
  int batched;
} edf_costs;

edf_route edf_plan(const edf_nest *nest);                 /* a pure function, for this CPU    */
edf_route edf_plan_for(const edf_nest *nest, const edf_costs *costs);

/* out[..] += alpha a[..] b[..], or with `assign` out[..] = for the entries covered (only where
   route->covers > 0, on a device route->apart). out must not overlap a or b. */
void edf_contract(const edf_route *route, int assign, edf_real *out, const edf_real *a,
                  const edf_real *b);
EDF__C_END
#endif

#ifdef EDF__CODE
#ifdef EDF_CBLAS
#include <time.h>
#endif
EDF__C_BEGIN
/* ---- Canonical form. Loops commute, so a nest is a set of loops: those of extent 1 are
   dropped, one that is in no operand multiplies alpha, and two are fused where their
   strides allow it. */
static int edf__fuse_one(edf_nest *t) {
  for (int i = 0; i < t->n; i++)
    for (int j = 0; j < t->n; j++) {
      edf_loop *outer = &t->loop[i], *inner = &t->loop[j];
      int fit = i != j;
      for (int x = 0; x < 3; x++) fit = fit && outer->s[x] == inner->n * inner->s[x];
      if (!fit) continue;
      inner->n *= outer->n;
      *outer = t->loop[--t->n];
      return 1;
    }
  return 0;
}

static ptrdiff_t edf__abs(ptrdiff_t s) { return s < 0 ? -s : s; }
static ptrdiff_t edf__least(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }

/* For qsort, outer loops first: by the stride in out, then in a, then in b. The order is total,
   so a plan does not depend on the order in which the loops were given. */
static int edf__by_step(const void *p, const void *q) {
  const edf_loop *l = (const edf_loop *)p, *m = (const edf_loop *)q;
  for (int x = 0; x < 3; x++) {
    ptrdiff_t s = l->s[x], t = m->s[x];
    if (edf__abs(s) != edf__abs(t)) return edf__abs(s) < edf__abs(t) ? 1 : -1;
    if (s != t) return s < t ? 1 : -1;
  }
  return l->n < m->n ? 1 : l->n > m->n ? -1 : 0;
}

static edf_nest edf__canonical(const edf_nest *nest) {
  edf_nest t = *nest;
  for (int i = t.n - 1; i >= 0; i--) {
    edf_loop *l = &t.loop[i];
    int absent = !l->s[EDF_OUT] && !l->s[EDF_A] && !l->s[EDF_B];
    if (l->n <= 0) { t.n = 1; t.loop[0] = *l; t.loop[0].n = 0; return t; }  /* an empty sum */
    if (absent) t.alpha *= (edf_real)l->n;
    if (absent || l->n == 1) *l = t.loop[--t.n];
  }
  do qsort(t.loop, (size_t)t.n, sizeof *t.loop, edf__by_step); while (edf__fuse_one(&t));
  return t;
}

/* ---- Roles. out and a share an M loop, out and b an N loop, a and b a K loop; any other loop
   runs outside of the product. */
enum { EDF__M, EDF__N, EDF__K, EDF__OUTSIDE };

static int edf__role(const edf_loop *l) {
  int in = (l->s[EDF_OUT] != 0) | (l->s[EDF_A] != 0) << 1 | (l->s[EDF_B] != 0) << 2;
  return in == 3 ? EDF__M : in == 5 ? EDF__N : in == 6 ? EDF__K : EDF__OUTSIDE;
}

/* Puts the loops in the order outside | M | N | K, each group as it was sorted; `in` has the
   bits of those inside, where one alone, a vector loop, may be of any kind. */
static void edf__arrange(edf_route *r, const edf_nest *t, unsigned in) {
  static const int order[4] = { EDF__OUTSIDE, EDF__M, EDF__N, EDF__K };
  r->nest = *t;
  r->nest.n = 0;
  for (int group = 0; group < 4; group++) {
    for (int i = 0; i < t->n; i++) {
      int role = in >> i & 1 ? edf__role(&t->loop[i]) % EDF__OUTSIDE : EDF__OUTSIDE;
      if (role == order[group]) r->nest.loop[r->nest.n++] = t->loop[i];
    }
    r->first[group] = r->nest.n;
  }
}

/* Loops flattened into one axis, as operand x sees it: step is 0 where it is uneven; run is how
   many entries from the start follow one another in memory. */
static edf_axis edf__flatten(const edf_loop *l, int n, int x) {
  edf_axis axis = { 1, 1, 1 };
  int even = 1;
  for (int i = n - 1; i >= 0; i--) {
    ptrdiff_t s = l[i].s[x];
    if (i == n - 1) axis.step = s;
    else if (s != l[i + 1].n * l[i + 1].s[x]) even = 0;
    if (even && axis.step == 1) axis.run *= l[i].n;
    axis.n *= l[i].n;
  }
  if (!even) axis.step = 0;
  return axis;
}

/* BLAS reads an operand in place if it is row-major or column-major without overlap. What is
   not is seen along its longer run. */
static edf_matrix edf__matrix(edf_axis row, edf_axis column) {
  int fits = row.step <= INT_MAX && column.step <= INT_MAX;
  int flat = fits && column.step == 1 && row.step >= column.n;
  int tall = fits && row.step == 1 && column.step >= row.n;
  edf_matrix m = { row, column, flat || tall, !flat && (tall || row.run > column.run) };
  return m;
}

static const int edf__axes[3][2] = {     /* rows and columns of out, a, b                     */
  { EDF__M, EDF__N }, { EDF__M, EDF__K }, { EDF__K, EDF__N } };

static void edf__find_matrices(edf_route *r) {
  for (int x = 0; x < 3; x++) {
    edf_axis axis[2];
    for (int k = 0; k < 2; k++) {
      int group = edf__axes[x][k], begin = r->first[group];
      axis[k] = edf__flatten(r->nest.loop + begin, r->first[group + 1] - begin, x);
      r->extent[group] = axis[k].n;
    }
    r->matrix[x] = edf__matrix(axis[0], axis[1]);
  }
}

/* ---- The cost of a plan, in nanoseconds as measured on one machine. */
static const edf_costs edf__cpu = { 50, 0.008, 0.25, 0.1, 0.1, 0.3, 0.1, 0.5, 2,
                                    { 0.15, 0.8, 3 }, 4, 0 };

static double edf__copy_cost(const edf_matrix *m, double in_run, double alone, double start,
                             ptrdiff_t least) {
  ptrdiff_t run = m->row.run > m->column.run ? m->row.run : m->column.run;
  if (m->direct) return 0;
  return (double)m->row.n * (double)m->column.n
       * (run >= least ? in_run + start / (double)run : alone);
}

static double edf__product_cost(const edf_route *r, const edf_costs *c) {
  double m = (double)r->extent[EDF__M], n = (double)r->extent[EDF__N],
         k = (double)r->extent[EDF__K];
  double cost = c->multiply * m * n * k + c->operand * (m * k + k * n) + c->result * m * n;
  cost += edf__copy_cost(&r->matrix[EDF_A], c->pack, c->pack_alone, c->run, 8);
  cost += edf__copy_cost(&r->matrix[EDF_B], c->pack, c->pack_alone, c->run, 8);
  cost += edf__copy_cost(&r->matrix[EDF_OUT], c->add, c->add_alone, c->run, 4);
  if (!c->batched) cost += c->call;
  for (int i = 0; i < r->first[EDF__M]; i++) cost *= (double)r->nest.loop[i].n;
  return c->batched ? cost + c->call : cost;
}

/* A product, with the loops of `in` inside: K and at least one of M and N. Returns its cost. */
static double edf__try_product(edf_route *r, const edf_nest *t, unsigned in,
                               const edf_costs *cost) {
  edf__arrange(r, t, in);
  r->product = r->first[3] > r->first[2] && r->first[2] > r->first[0];
  if (!r->product) return HUGE_VAL;
  edf__find_matrices(r);
  return edf__product_cost(r, cost);
}

/* Plain loops with number i innermost. */
static double edf__loops_cost(const edf_nest *t, int i, const edf_costs *cost) {
  double iterations = 1;
  ptrdiff_t widest = 0;
  for (int k = 0; k < t->n; k++) iterations *= (double)t->loop[k].n;
  for (int x = 0; x < 3; x++)
    if (edf__abs(t->loop[i].s[x]) > widest) widest = edf__abs(t->loop[i].s[x]);
  double each = cost->loop[widest <= 1 ? 0 : widest <= 8 ? 1 : 2];
  return iterations * each + cost->start * iterations / (double)t->loop[i].n;
}

/* Thin work runs as plain loops around a vector loop: the one that is cheapest innermost. */
static double edf__try_loops(edf_route *r, const edf_nest *t, const edf_costs *costs) {
  double best = HUGE_VAL;
  int innermost = 0;
  for (int i = 0; i < t->n; i++) {
    double cost = edf__loops_cost(t, i, costs);
    if (cost < best) { best = cost; innermost = i; }
  }
  edf__arrange(r, t, 1u << innermost);
  r->first[EDF__M] = t->n ? t->n - 1 : 0;
  r->product = 0;
  return best;
}

/* Is the stride of loop i in out longer than the reach of all that are shorter (mixed radix)?
   Loops of which each is write entries of their own. */
static int edf__strides_over(const edf_loop *l, int n, int i) {
  ptrdiff_t s = edf__abs(l[i].s[EDF_OUT]), reach = 0;
  for (int k = 0; k < n; k++) {
    ptrdiff_t other = edf__abs(l[k].s[EDF_OUT]);
    if (k != i && other <= s) reach += (l[k].n - 1) * other;
  }
  return s > reach;
}

/* Entries of out written, each by one pass of the loops that run outside of a sum; 0 where an
   entry is visited again. */
static size_t edf__covers(const edf_route *r, int sums_inside) {
  const edf_loop *l = r->nest.loop;
  int n = r->product && !sums_inside ? r->first[2] : r->nest.n;
  size_t entries = 1;
  for (int i = 0; i < n; i++) {
    if (sums_inside && !l[i].s[EDF_OUT]) continue;
    if (!edf__strides_over(l, n, i)) return 0;
    entries *= (size_t)l[i].n;
  }
  return entries;
}

/* Greedy: starting with all M, N, K loops inside the product, move the one loop outside that
   lowers the cost most, until none does. Then the cheaper of that and plain loops. */
edf_route edf_plan_for(const edf_nest *nest, const edf_costs *costs) {
  edf_nest t = edf__canonical(nest);
  edf_route best, r;
  unsigned in = 0;
  memset(&best, 0, sizeof best);
  memset(&r, 0, sizeof r);
  for (int i = 0; i < t.n; i++) in |= (unsigned)(edf__role(&t.loop[i]) != EDF__OUTSIDE) << i;
  double cost = edf__try_product(&best, &t, in, costs);
  for (unsigned before = 0; before != in && cost < HUGE_VAL;) {
    before = in;
    for (int i = 0; i < t.n; i++) {
      if (!(before >> i & 1) || (costs->batched && edf__role(&t.loop[i]) == EDF__K)) continue;
      double other = edf__try_product(&r, &t, before & ~(1u << i), costs);
      if (other < cost) { cost = other; best = r; in = before & ~(1u << i); }
    }
  }
  double loops = edf__try_loops(&r, &t, costs);
  if (loops < cost || !best.product) { best = r; cost = loops; }
  best.covers = edf__covers(&best, 0);
  best.apart = edf__covers(&best, 1);
  best.cost = t.n ? cost : 1;
  return best;
}

edf_route edf_plan(const edf_nest *nest) { return edf_plan_for(nest, &edf__cpu); }

/* ---- Vector loops: the innermost loop of thin work, a row, as loops that a compiler
   vectorises. Where out, a and b step by 1, a or b may stay instead, or out for a sum. */
static inline void edf__add_scaled(edf_real *out, const edf_real *a, ptrdiff_t n, edf_real c,
                                   int assign) {
  if (assign) for (ptrdiff_t i = 0; i < n; i++) out[i] = c * a[i];
  else for (ptrdiff_t i = 0; i < n; i++) out[i] += c * a[i];
}

static void edf__row(const edf_loop *l, edf_real c, int assign, edf_real *out,
                     const edf_real *a, const edf_real *b) {
  ptrdiff_t n = l->n, so = l->s[EDF_OUT], sa = l->s[EDF_A], sb = l->s[EDF_B];
  int one = (sa == 1 && sb == 0) || (sa == 0 && sb == 1), both = sa == 1 && sb == 1;
  const edf_real *x = sa ? a : b, *stays = sa ? b : a;
  if (so == 0 && one) *out += c * *stays * edf__total(x, n);
  else if (so == 0 && both) *out += c * edf__dot(a, b, n);
  else if (so == 1 && one) edf__add_scaled(out, x, n, c * *stays, assign);
  else if (so == 1 && both && assign)
    for (ptrdiff_t i = 0; i < n; i++) out[i] = c * a[i] * b[i];
  else if (so == 1 && both)
    for (ptrdiff_t i = 0; i < n; i++) out[i] += c * a[i] * b[i];
  else if (assign)
    for (ptrdiff_t i = 0; i < n; i++) out[i * so] = c * a[i * sa] * b[i * sb];
  else
    for (ptrdiff_t i = 0; i < n; i++) out[i * so] += c * a[i * sa] * b[i * sb];
}

/* Rows of x are added up, four at a time, since an entry waits for its last addition. */
static void edf__add_rows(edf_real *out, const edf_real *x, ptrdiff_t step, ptrdiff_t n,
                          const edf_real *c) {
  const edf_real *y = x + step, *z = y + step, *w = z + step;
  for (ptrdiff_t i = 0; i < n; i++)
    out[i] = out[i] + c[0] * x[i] + c[1] * y[i] + c[2] * z[i] + c[3] * w[i];
}

/* The last two loops of r, or the one there is. */
static void edf__rows(const edf_route *r, int assign, edf_real *out, const edf_real *a,
                      const edf_real *b) {
  static const edf_loop once = { 1, { 0, 0, 0 } };
  const edf_loop *end = r->nest.loop + r->nest.n, *row = r->nest.n > 0 ? end - 1 : &once;
  const edf_loop *outer = r->nest.n > 1 ? end - 2 : &once;
  int x = row->s[EDF_A] ? EDF_A : EDF_B, y = EDF_A + EDF_B - x;
  int sums = row->s[EDF_OUT] == 1 && row->s[x] == 1 && !row->s[y] && !outer->s[EDF_OUT];
  const edf_real *from = x == EDF_A ? a : b, *stays = x == EDF_A ? b : a;
  ptrdiff_t i = 0, step = outer->s[x];
  for (; sums && i + 4 <= outer->n; i += 4) {
    edf_real c[4];
    for (int k = 0; k < 4; k++) c[k] = r->nest.alpha * stays[(i + k) * outer->s[y]];
    edf__add_rows(out, from + i * step, step, row->n, c);
  }
  for (; i < outer->n; i++)
    edf__row(row, r->nest.alpha, assign, out + i * outer->s[EDF_OUT],
             a + i * outer->s[EDF_A], b + i * outer->s[EDF_B]);
}

/* ---- The built-in product, out[M,N] += alpha a[M,K] b[K,N], in tiles:

                           a panel of b, packed
                           . . . . . . . . .
                        k  b b b b b b b b b     For each k a line of the panel, 4 vectors,
                           . . . . . . . . .     times one number of each of 6 rows of a:
            k              v v v v v v v v v     24 multiply-adds for 10 loads. The sums
       . .  a  . .         s s s s s s s s s     stay in registers.
       . .  a  . .         s s s s s s s s s
       . .  a  . .  rows   s s s s s s s s s     a is read where it lies, at row[i] +
       . .  a  . .         s s s s s s s s s     column[k]: no transpose, no im2col is ever
       a, in place         a tile of out         copied. Nor b, for a few rows.

   Every sum adds its k in their order, whatever M and N are: so it has the same bits for any
   number of threads, and a row has them in any batch. */
#if defined(__GNUC__) && FLT_EVAL_METHOD != 2    /* 2: the i387, whose products are too wide  */
#if defined(__AVX512F__)
enum { EDF__VECTOR_BYTES = 64, EDF__VECTORS = 4, EDF__SUMS = 24 };     /* of 32 registers     */
#elif defined(__AVX__)
enum { EDF__VECTOR_BYTES = 32, EDF__VECTORS = 2, EDF__SUMS = 12 };     /* of 16               */
#else
enum { EDF__VECTOR_BYTES = 16, EDF__VECTORS = 2, EDF__SUMS = 12 };
#endif
typedef edf_real edf__vector __attribute__((vector_size(EDF__VECTOR_BYTES), may_alias,
                                            aligned(sizeof(edf_real))));
#else
enum { EDF__VECTOR_BYTES = sizeof(edf_real), EDF__VECTORS = 2, EDF__SUMS = 8 };
typedef edf_real edf__vector;
#endif
enum { EDF__LANES = EDF__VECTOR_BYTES / sizeof(edf_real) };

enum { EDF__ROWS = 8, EDF__STRIP = (int)EDF__VECTORS * (int)EDF__LANES };

#if defined(__clang__)                   /* else it splits the vectors                        */
#define EDF__UNROLL _Pragma("clang loop unroll(full)")
#define EDF__FUSED __attribute__((min_vector_width(EDF__VECTOR_BYTES * 8)))
#elif defined(__GNUC__) && defined(__STRICT_ANSI__)      /* -std=c99 would not fuse a * b + c */
#define EDF__UNROLL _Pragma("GCC unroll 16")
#define EDF__FUSED __attribute__((optimize("fp-contract=fast")))
#elif defined(__GNUC__)                  /* fuses, unless -ffp-contract=off says no           */
#define EDF__UNROLL _Pragma("GCC unroll 16")
#define EDF__FUSED
#else
#define EDF__UNROLL
#define EDF__FUSED
#endif
#ifdef __GNUC__
#define EDF__ALWAYS_INLINE __attribute__((always_inline)) inline
#define EDF__ALIGNED __attribute__((aligned(64)))
#else
#define EDF__ALWAYS_INLINE inline
#define EDF__ALIGNED
#endif

typedef struct {
  int wide, rows, assign;                /* vectors and rows; out =, not +=                   */
  edf_real alpha;
  ptrdiff_t k, step;                     /* so many are summed; line t of b is at b + t step  */
  const edf_real *b, *a[EDF__ROWS];      /* number t of row r is at a[r][column[t]]           */
  const ptrdiff_t *column;
  edf_real *out[EDF__ROWS];
} edf__tile;

/* wide and rows are known to the compiler, so sum and line are registers. */
EDF__FUSED static EDF__ALWAYS_INLINE void edf__sum_tile(int wide, int rows,
                                                        const edf__tile *t) {
  edf__vector sum[EDF__ROWS][EDF__VECTORS], line[EDF__VECTORS];
  const edf_real *b = t->b, *a[EDF__ROWS];
  memset(sum, 0, sizeof sum);
  EDF__UNROLL
  for (int r = 0; r < rows; r++) a[r] = t->a[r];
  for (ptrdiff_t k = 0; k < t->k; k++, b += t->step) {
    ptrdiff_t column = t->column[k];
    EDF__UNROLL
    for (int v = 0; v < wide; v++)
      line[v] = *(const edf__vector *)(const void *)(b + v * EDF__LANES);
    EDF__UNROLL
    for (int r = 0; r < rows; r++) {
      edf_real number = a[r][column];
      EDF__UNROLL
      for (int v = 0; v < wide; v++) sum[r][v] += number * line[v];
    }
  }
  EDF__UNROLL
  for (int r = 0; r < rows; r++) {
    EDF__UNROLL
    for (int v = 0; v < wide; v++) {
      edf__vector *out = (edf__vector *)(void *)(t->out[r] + v * EDF__LANES);
      if (t->assign) *out = t->alpha * sum[r][v];
      else *out += t->alpha * sum[r][v];
    }
  }
}

/* As many rows as there are registers for the sums; or a third of them, for what is left. */
static EDF__ALWAYS_INLINE int edf__tile_rows(int wide, int whole) {
  int rows = EDF__SUMS / wide < EDF__ROWS ? EDF__SUMS / wide : EDF__ROWS;
  return whole ? rows : (rows + 1) / 3;
}
EDF__FUSED static EDF__ALWAYS_INLINE void edf__sum_wide(int wide, const edf__tile *t) {
  if (t->rows == edf__tile_rows(wide, 1)) edf__sum_tile(wide, edf__tile_rows(wide, 1), t);
  else edf__sum_tile(wide, edf__tile_rows(wide, 0), t);
}
EDF__FUSED static void edf__run_tile(const edf__tile *t) {
  if (t->wide == 1) edf__sum_wide(1, t);
  else if (t->wide == 2) edf__sum_wide(2, t);
  else if (EDF__VECTORS == 4 && t->wide == 3) edf__sum_wide(3, t);
  else if (EDF__VECTORS == 4) edf__sum_wide(4, t);
}

/* ---- Blocks, so that what is used again is still in the cache. Entry (i, j) of out, a and b
   lies at row[i] + column[j], since strides add: these are tables of a block. */
enum { EDF__MB = 1024, EDF__NB = 256, EDF__KB = 512 };

typedef struct { ptrdiff_t first, n, at[EDF__MB]; } edf__places;

typedef struct edf__panels {             /* of a Parameter: see edf__panels_of                */
  struct edf__panels *next;
  const edf_real *of;
  edf_axis line, column;                 /* how it is seen                                    */
  unsigned long pass;                    /* that used it last,                                */
  int uses, again, packed;               /* so often; the one before more than once           */
  edf_real *at;
} edf__panels;

typedef struct edf__workspace {
  EDF__ALIGNED edf_real panel[EDF__NB * EDF__KB * 3 / 2], sums[EDF__ROWS * EDF__STRIP];
  edf__places out_row, out_column, a_row, a_column, b_row, b_column;
  const edf_real *panels;                /* of the route that runs; NULL: none are kept       */
  edf__panels *kept;                     /* of the first thread: all of them                  */
} edf__workspace;

/* Where operand x has the indices from the first on, of n loops flattened. */
static void edf__offsets(const edf_loop *l, int n, int x, ptrdiff_t first, ptrdiff_t count,
                         ptrdiff_t *at) {
  static const edf_loop once = { 1, { 0, 0, 0 } };
  const edf_loop *inner = n ? l + n - 1 : &once;
  for (ptrdiff_t end = first + count, run; first < end; first += run, at += run) {
    ptrdiff_t index = first / inner->n, offset = first % inner->n * inner->s[x];
    run = edf__least(inner->n - first % inner->n, end - first);
    for (int i = n - 2; i >= 0; index /= l[i--].n) offset += index % l[i].n * l[i].s[x];
    for (ptrdiff_t c = 0; c < run; c++) at[c] = offset + c * inner->s[x];
  }
}

/* The same of a group's; what is there stays while loops outside run. */
static void edf__find_places(edf__places *p, const edf_route *r, int group, int x,
                             ptrdiff_t first, ptrdiff_t n) {
  int begin = r->first[group], end = r->first[group + 1];
  if (p->first == first && p->n == n) return;
  edf__offsets(r->nest.loop + begin, end - begin, x, first, n, p->at);
  p->first = first;
  p->n = n;
}

/* So many of n places follow one another in memory. */
static ptrdiff_t edf__run_of(const ptrdiff_t *at, ptrdiff_t n) {
  ptrdiff_t i = 1;
  while (i < n && at[i] == at[0] + i) i++;
  return i;
}

/* ---- Packing: to[k][j] = b[row[k] + column[j]], lines of `width`, with zeros after n. */
#if EDF_REAL_IS_DOUBLE
typedef int64_t edf__lane;
#else
typedef int32_t edf__lane;
#endif
static void edf__pack_square(edf_real *to, ptrdiff_t width, const edf_real *b,
                             const ptrdiff_t *column, ptrdiff_t n) {
#if defined(__GNUC__) && !defined(__clang__) && defined(__AVX__)
  typedef edf__lane chosen __attribute__((vector_size(EDF__VECTOR_BYTES)));
  edf__vector square[EDF__LANES];
  for (int i = 0; i < EDF__LANES; i++)
    if (i < n) square[i] = *(const edf__vector *)(const void *)(b + column[i]);
    else memset(&square[i], 0, sizeof *square);
  EDF__UNROLL
  for (int bit = 1; bit < EDF__LANES; bit *= 2) {    /* of i and j, which change places     */
    chosen low, high;
    for (int j = 0; j < EDF__LANES; j++) {
      low[j] = j & bit ? EDF__LANES + j - bit : j;
      high[j] = j & bit ? EDF__LANES + j : j + bit;
    }
    EDF__UNROLL
    for (int i = 0; i < EDF__LANES; i++)
      if (!(i & bit)) {
        edf__vector x = square[i], y = square[i + bit];
        square[i] = __builtin_shuffle(x, y, low);
        square[i + bit] = __builtin_shuffle(x, y, high);
      }
  }
  for (int i = 0; i < EDF__LANES; i++) memcpy(to + i * width, &square[i], sizeof *square);
#else
  for (int j = 0; j < EDF__LANES; j++)
    for (int i = 0; i < EDF__LANES; i++) to[i * width + j] = j < n ? b[column[j] + i] : 0;
#endif
}

/* Where lines lie beside each other, a transpose, in squares: it writes few lines at a time. */
static void edf__pack(edf_real *to, ptrdiff_t width, const edf_real *b, const ptrdiff_t *row,
                      ptrdiff_t k, const ptrdiff_t *column, ptrdiff_t n) {
  int whole = n == width && edf__run_of(column, n) == n;
  for (ptrdiff_t t = 0, lines; t < k; t += lines, to += lines * width) {
    const edf_real *from = b + row[t];
    lines = 1;
    if (whole) memcpy(to, from + *column, (size_t)width * sizeof *to);
    else if (t + EDF__LANES <= k && edf__run_of(row + t, EDF__LANES) == EDF__LANES) {
      lines = EDF__LANES;
      for (ptrdiff_t j = 0; j < width; j += EDF__LANES)
        edf__pack_square(to + j, width, from, column + j, n - j);
    } else
      for (ptrdiff_t j = 0; j < width; j++) to[j] = j < n ? from[column[j]] : 0;
  }
}

/* out[row[i] + column[j]] += sums[i][j], or = */
static void edf__unpack(const edf_real *sums, ptrdiff_t width, int assign, edf_real *out,
                        const ptrdiff_t *row, ptrdiff_t rows, const ptrdiff_t *column,
                        ptrdiff_t n) {
  for (ptrdiff_t j = 0, run; j < n; j += run) {
    run = edf__run_of(column + j, n - j);
    for (ptrdiff_t i = 0; i < rows; i++)
      edf__add_scaled(out + row[i] + column[j], sums + i * width + j, run, 1, assign);
  }
}

/* The tiles of a panel, for the n columns of the block from j on. */
static void edf__run_panel(edf__tile *t, edf_real *out, const edf_real *a, ptrdiff_t j,
                           ptrdiff_t n, edf__workspace *w) {
  const ptrdiff_t *row = w->out_row.at, *column = w->out_column.at + j, all = w->out_row.n;
  ptrdiff_t width = t->wide * EDF__LANES;
  int assign = t->assign, whole = n == width && edf__run_of(column, n) == n;
  t->assign |= !whole;
  for (ptrdiff_t i = 0; i < all; i += t->rows) {
    ptrdiff_t left = all - i;
    t->rows = edf__tile_rows(t->wide, left > edf__tile_rows(t->wide, 0));
    for (int r = 0; r < t->rows; r++) {              /* a row too much is summed for nobody */
      t->a[r] = a + w->a_row.at[r < left ? i + r : i];
      t->out[r] = whole && r < left ? out + row[i + r] + *column : w->sums + r * width;
    }
    edf__run_tile(t);
    if (!whole)
      edf__unpack(w->sums, width, assign, out, row + i, edf__least(left, t->rows), column, n);
  }
  t->assign = assign;
}

/* How many of the `left` columns the next strip has: as even as can be, so that none is
   narrow; and where out has runs, each begins a strip, and tiles write whole lines. */
static ptrdiff_t edf__strip(ptrdiff_t run, ptrdiff_t left) {
  ptrdiff_t n = run % EDF__LANES ? left : run, wide = (n + EDF__LANES - 1) / EDF__LANES;
  ptrdiff_t strips = (wide + EDF__VECTORS - 1) / EDF__VECTORS;
  return edf__least((wide + strips - 1) / strips * EDF__LANES, n);
}

/* A block: of each strip of columns the panel, packed for the first rows, and the tiles. */
static void edf__run_block(edf__tile *t, int in_place, edf_real *out, const edf_real *a,
                           const edf_real *b, const edf_real *kept, edf__workspace *w) {
  const ptrdiff_t *row = w->b_row.at, *column = w->b_column.at, all = w->b_column.n;
  edf_real *panel = w->panel;
  for (ptrdiff_t j = 0, n; j < all; j += n, panel += t->k * t->wide * EDF__LANES) {
    n = edf__strip(kept ? 1 : edf__run_of(w->out_column.at + j, all - j), all - j);
    t->wide = (int)((n + EDF__LANES - 1) / EDF__LANES);
    t->b = kept ? kept + (panel - w->panel) : panel;
    t->step = t->wide * EDF__LANES;
    if (!kept && in_place && n == t->step) {
      t->b = b + *row + column[j];
      t->step = t->k > 1 ? row[1] - *row : 0;
    } else if (!kept && w->out_row.first == 0)
      edf__pack(panel, t->step, b, row, t->k, column + j, n);
    edf__run_panel(t, out, a, j, n, w);
  }
}

/* BLAS takes what are three matrices in its sense. */
static int edf__suits_blas(const edf_route *r) {
  int fits = edf.kernel != EDF_BUILTIN;
#ifndef EDF_CBLAS
  fits = 0;
#endif
  for (int x = 0; x < 3; x++) fits = fits && r->matrix[x].direct && r->extent[x] <= INT_MAX;
  return fits;
}

#ifdef EDF_CBLAS
/* One argument, the order, serves all eight layouts. */
static void edf__blas_product(const edf_route *r, int assign, edf_real *out, const edf_real *a,
                              const edf_real *b) {
  const edf_matrix *m = r->matrix;
  int step[3];
  for (int x = 0; x < 3; x++) step[x] = (int)(m[x].tall ? m[x].column.step : m[x].row.step);
#if EDF_REAL_IS_DOUBLE
  cblas_dgemm
#else
  cblas_sgemm
#endif
      (m->tall ? CblasColMajor : CblasRowMajor,
       m[EDF_A].tall == m->tall ? CblasNoTrans : CblasTrans,
       m[EDF_B].tall == m->tall ? CblasNoTrans : CblasTrans, (int)r->extent[EDF__M],
       (int)r->extent[EDF__N], (int)r->extent[EDF__K], r->nest.alpha, a, step[EDF_A], b,
       step[EDF_B], assign ? 0 : 1, out, step[EDF_OUT]);
}
#endif

/* Tiles go down the rows of `left` and across the panels of `right`, whose axes are line and
   column. A tall out is out' = b' a': so its columns follow one another. */
typedef struct { int down, across, left, right; edf_axis line, column; } edf__roles;

static edf__roles edf__roles_of(const edf_route *r) {
  const edf_matrix *a = &r->matrix[EDF_A], *b = &r->matrix[EDF_B];
  edf__roles wide = { EDF__M, EDF__N, EDF_A, EDF_B, b->row, b->column };
  edf__roles tall = { EDF__N, EDF__M, EDF_B, EDF_A, a->column, a->row };
  return r->matrix[EDF_OUT].tall ? tall : wide;
}

/* The lines of a panel: K in equal parts. */
static ptrdiff_t edf__depth(ptrdiff_t all) {
  ptrdiff_t parts = all > EDF__KB ? (all + EDF__KB / 2) / EDF__KB : 1;
  return (all + parts - 1) / parts;
}
/* Numbers of a line of panels. */
static ptrdiff_t edf__padded_width(ptrdiff_t n) {
  return (n + EDF__LANES - 1) / EDF__LANES * EDF__LANES;
}

/* Block after block. A short b, or one for few rows, is not worth packing. */
static void edf__product(const edf_route *r, int assign, edf_real *out, const edf_real *a,
                         const edf_real *b, edf__workspace *w) {
#ifdef EDF_CBLAS
  if (edf__suits_blas(r)) { edf__blas_product(r, assign, out, a, b); return; }
#endif
  edf__roles is = edf__roles_of(r);
  ptrdiff_t rows = r->extent[is.down], width = r->extent[is.across], all = r->extent[EDF__K];
  ptrdiff_t step = edf__abs(is.line.step), depth = edf__depth(all);
  int in_place = step && is.column.step == 1 && (rows <= 128 || step <= 128);
  int wide = is.left == EDF_A;
  edf__tile t;
  t.alpha = r->nest.alpha;
  t.column = w->a_column.at;
  for (ptrdiff_t k = 0; k < all; k += depth)
    for (ptrdiff_t j = 0; j < width; j += EDF__NB)
      for (ptrdiff_t i = 0; i < rows; i += EDF__MB) {
        ptrdiff_t n_i = edf__least(EDF__MB, rows - i), n_j = edf__least(EDF__NB, width - j);
        t.k = edf__least(depth, all - k);
        t.assign = assign && k == 0;
        edf__find_places(&w->out_row, r, is.down, EDF_OUT, i, n_i);
        edf__find_places(&w->a_row, r, is.down, is.left, i, n_i);
        edf__find_places(&w->out_column, r, is.across, EDF_OUT, j, n_j);
        edf__find_places(&w->b_column, r, is.across, is.right, j, n_j);
        edf__find_places(&w->a_column, r, EDF__K, is.left, k, t.k);
        edf__find_places(&w->b_row, r, EDF__K, is.right, k, t.k);
        const edf_real *kept = w->panels;
        if (kept) kept += k * edf__padded_width(width) + j * t.k;
        edf__run_block(&t, in_place, out, wide ? a : b, wide ? b : a, kept, w);
      }
}

/* ---- Panels of a Parameter. Each step in time multiplies by the same one, and it changes
   between passes alone: so from the second use in a Forward or a Backward on its panels stay,
   in later passes from the first, until that pass ends. What a program writes between passes
   and steps counts, and inside of a pass with edf_push. */
static void edf__pack_all(edf_real *to, const edf_route *r, const edf_real *b,
                          edf__workspace *w) {
  edf__roles is = edf__roles_of(r);
  ptrdiff_t width = r->extent[is.across], all = r->extent[EDF__K], depth = edf__depth(all);
  for (ptrdiff_t k = 0; k < all; k += depth) {
    ptrdiff_t n_k = edf__least(depth, all - k);
    edf__find_places(&w->b_row, r, EDF__K, is.right, k, n_k);
    for (ptrdiff_t j = 0, n, wide; j < width; j += n, to += n_k * wide) {
      n = edf__strip(1, edf__least(EDF__NB - j % EDF__NB, width - j));
      wide = edf__padded_width(n);
      edf__find_places(&w->b_column, r, is.across, is.right, j, n);
      edf__pack(to, wide, b, w->b_row.at, n_k, w->b_column.at, n);
    }
  }
}

static int edf__same_axis(edf_axis p, edf_axis q) { return p.n == q.n && p.step == q.step; }
static edf__panels *edf__find_panels(edf__panels **list, const edf_real *of, edf__roles is) {
  for (edf__panels *p = *list; p; p = p->next)
    if (p->of == of && edf__same_axis(p->line, is.line) && edf__same_axis(p->column, is.column))
      return p;
  edf__panels *p = (edf__panels *)edf__alloc(&edf.kept, sizeof *p);
  p->next = *list;
  p->of = of;
  p->line = is.line;
  p->column = is.column;
  return *list = p;
}

static const edf_real *edf__panels_of(const edf_route *r, const edf_real *a, const edf_real *b,
                                      edf__workspace *w) {
  edf__roles is = edf__roles_of(r);
  int steady = edf.direction && !edf__suits_blas(r) && is.line.step && is.column.step;
  int found = 0;
  if (is.right == EDF_A) b = a;
  for (int i = 0; i < r->first[EDF__M]; i++) steady &= !r->nest.loop[i].s[is.right];
  for (int i = 0; i < edf.n_parameters && steady; i++) found |= edf.parameters[i]->value == b;
  if (!found) return NULL;
  b += r->nest.start[is.right];
  edf__panels *p = edf__find_panels(&w->kept, b, is);
  if (p->pass != edf__passes) { p->again = p->uses > 1; p->uses = p->packed = 0; }
  p->pass = edf__passes;
  if (++p->uses == 1 && !p->again) return NULL;
  if (!p->packed) {
    size_t n = (size_t)r->extent[EDF__K] * (size_t)edf__padded_width(r->extent[is.across]);
    p->at = (edf_real *)edf__grow(&edf.kept, p->at, n * sizeof *p->at);
    w->b_row.n = w->b_column.n = 0;
    edf__pack_all(p->at, r, b, w);
    p->packed = 1;
  }
  return p->at;
}

/* ---- A route with the memory it needs: the loops outside, from loop d on. */
static void edf__outside(const edf_route *r, int d, int assign, edf_real *out,
                         const edf_real *a, const edf_real *b, edf__workspace *w) {
  const edf_loop *l = &r->nest.loop[d];
  if (r->product && d == r->first[EDF__M]) edf__product(r, assign, out, a, b, w);
  else if (!r->product && d + 2 >= r->nest.n) edf__rows(r, assign, out, a, b);
  else
    for (ptrdiff_t i = 0; i < l->n; i++)
      edf__outside(r, d + 1, assign, out + i * l->s[EDF_OUT], a + i * l->s[EDF_A],
                   b + i * l->s[EDF_B], w);
}

static void edf__run_route(const edf_route *r, int assign, edf_real *out, const edf_real *a,
                           const edf_real *b, edf__workspace *w) {
  const ptrdiff_t *start = r->nest.start;
  if (r->product) {                      /* tables of another route                           */
    w->out_row.n = w->out_column.n = 0;
    w->a_row.n = w->a_column.n = w->b_row.n = w->b_column.n = 0;
  }
  edf__outside(r, 0, assign, out + start[EDF_OUT], a + start[EDF_A], b + start[EDF_B], w);
}

static edf__workspace *edf__workspaces(int n) {
  size_t bytes = (size_t)n * sizeof *edf.workspace;
  edf.workspace = (edf__workspace *)edf__grow(&edf.kept, edf.workspace, bytes);
  if (edf.n_workspaces < n) edf.n_workspaces = n;
  return edf.workspace;
}

/* ---- Threads, where the header is compiled with OpenMP: a route is cut along one loop, whose
   iterations write entries of their own, and each thread runs a slice of it, alone. The BLAS
   has to stay at one thread: never two pools. */
#ifdef _OPENMP
/* Iterations begin .. end-1 of loop d; the roles are those of the whole. */
static edf_route edf__slice(const edf_route *r, int d, ptrdiff_t begin, ptrdiff_t end) {
  edf_route part = *r;
  part.nest.loop[d].n = end - begin;
  if (r->product) edf__find_matrices(&part);
  for (int x = 0; x < 3; x++) {
    part.nest.start[x] += begin * r->nest.loop[d].s[x];
    part.matrix[x].tall = r->matrix[x].tall;
    part.matrix[x].direct &= r->matrix[x].direct;
  }
  return part;
}

/* The loop whose longest slice costs least, or -1 where cutting gains too little. Iterations
   write entries of their own where no longer loop comes back to them; shorter ones may. Two
   threads must not write into one line of the cache, 64 bytes. Panels are kept whole. */
static int edf__loop_to_cut(const edf_route *r, int threads, const edf_real *panels) {
  double best = edf__worth > 0 ? 0.75 * r->cost : HUGE_VAL;
  const edf_loop *l = r->nest.loop;
  int cut = -1;
  const int *across = r->first + edf__roles_of(r).across;
  if (threads < 2 || r->cost < edf__worth) return -1;
  for (int d = 0; d < r->nest.n; d++) {
    ptrdiff_t most = (l[d].n + threads - 1) / threads, step = edf__abs(l[d].s[EDF_OUT]);
    int fits = (size_t)(most * step) * sizeof(edf_real) >= 64 || edf__worth <= 0;
    if (panels) fits &= d < across[0] || d >= across[1];
    for (int i = 0; i < r->nest.n; i++)
      fits = fits && (edf__abs(l[i].s[EDF_OUT]) < step || edf__strides_over(l, r->nest.n, i));
    if (!fits) continue;
    edf_route part = edf__slice(r, d, 0, most);
    double cost = r->product ? edf__product_cost(&part, &edf__cpu)
                             : edf__loops_cost(&part.nest, r->nest.n - 1, &edf__cpu);
    if (cost < best) { best = cost; cut = d; }
  }
  return cut;
}

static int edf__run_slices(const edf_route *r, int assign, edf_real *out, const edf_real *a,
                           const edf_real *b, const edf_real *panels) {
  int threads = omp_in_parallel() ? 1 : omp_get_max_threads();
  int d = edf__loop_to_cut(r, threads, panels);
  if (d < 0) return 0;
  edf__workspace *w = edf__workspaces(threads);
  ptrdiff_t whole = r->nest.loop[d].n, most = (whole + threads - 1) / threads;
#if defined(EDF_CBLAS) && defined(__GNUC__) && defined(__ELF__)
  extern void openblas_set_num_threads(int) __attribute__((weak));
  if (openblas_set_num_threads) openblas_set_num_threads(1);         /* if it is OpenBLAS     */
#endif
  int t;                                 /* MSVC rejects a loop that declares it              */
#pragma omp parallel for num_threads(threads) schedule(static)
  for (t = 0; t < threads; t++) {
    ptrdiff_t begin = edf__least(t * most, whole), end = edf__least(begin + most, whole);
    edf_route part = edf__slice(r, d, begin, end);
    w[t].panels = panels;
    if (end > begin) edf__run_route(&part, assign, out, a, b, &w[t]);
  }
  return 1;
}
#endif

/* A BLAS that is slower than the built-in kernel is told once, of the first large product. */
#if defined EDF_CBLAS && defined TIME_UTC
static void edf__judge_blas(const edf_route *r, edf_real *out, const edf_real *a,
                            const edf_real *b, edf__workspace *w) {
  static int judged;
  double best[2] = { HUGE_VAL, HUGE_VAL };         /* nanoseconds                             */
  if (r->cost < 1e4 || r->cost > 1e6 || !edf__suits_blas(r) || judged++) return;
  for (int i = 0; i < 6; i++) {
    struct timespec begin, end;
    edf.kernel = i % 2 ? EDF_FASTEST : EDF_BUILTIN;
    timespec_get(&begin, TIME_UTC);
    edf__run_route(r, 1, out, a, b, w);
    timespec_get(&end, TIME_UTC);
    double ns = (double)(end.tv_nsec - begin.tv_nsec);
    best[i % 2] = fmin(best[i % 2], 1e9 * difftime(end.tv_sec, begin.tv_sec) + ns);
  }
  if (best[1] > 3 * best[0])
    fprintf(stderr, "edf: the BLAS takes %.0f us for %d x %d x %d, the built-in kernel %.0f: "
            "faster without -DEDF_CBLAS\n", best[1] / 1e3, (int)r->extent[EDF__M],
            (int)r->extent[EDF__K], (int)r->extent[EDF__N], best[0] / 1e3);
}
#endif

/* ---- The kernels: contract and fill. Each begins by handing over to a device. */
void edf_contract(const edf_route *r, int assign, edf_real *out, const edf_real *a,
                  const edf_real *b) {
  if (edf_device) { edf_device->contract(r, assign, out, a, b); return; }
  if (edf.kernel == EDF_REFERENCE) {
    if (assign) edf__walk_zero(r->nest.n, r->nest.loop, out + r->nest.start[EDF_OUT]);
    edf_contract_reference(&r->nest, out, a, b);
    return;
  }
  edf__workspace *w = r->product ? edf__workspaces(1) : NULL;
  if (w) w->panels = edf__panels_of(r, a, b, w);
#ifdef _OPENMP
  if (edf__run_slices(r, assign, out, a, b, w ? w->panels : NULL)) return;
#endif
#if defined EDF_CBLAS && defined TIME_UTC
  if (w && assign) edf__judge_blas(r, out, a, b, w);
#endif
  edf__run_route(r, assign, out, a, b, w);
}

static edf_route *edf__route_of(edf__contraction *t) {
  if (!t->route) {
    t->route = (edf_route *)edf__alloc(&edf.computed, sizeof *t->route);
    *t->route = edf_plan(&t->nest);
  }
  return t->route;
}

static void edf__contract_fast(edf__contraction *t, edf_real *out, size_t size, int *fresh,
                               const edf_real *a, const edf_real *b) {
  if (edf.kernel == EDF_REFERENCE && !edf_device) {
    edf__contract_by_definition(t, out, size, fresh, a, b);
    return;
  }
  const edf_route *r = edf__route_of(t);
  size_t covers = edf_device ? r->apart : r->covers;
  int assign = *fresh && (t->part ? r->covers > 0 : covers == size);
  if (*fresh && !assign && !t->part) edf__fill(out, size, 0);
  *fresh = 0;
  edf_contract(r, assign, out, a, b);
}

EDF__HOOKED(edf__contractor, edf__fast, edf__contract_fast)
EDF__C_END
#endif

/* ==== >>more  More nodes, entry by entry and by rows ===================================== */
#ifndef EDF__MORE_H
#define EDF__MORE_H
EDF__C_BEGIN
/* LeakyRelu: y = x where x > 0, else slope x.   dx += dy (1 where x > 0, else slope)
   Gelu: y = x/2 (1 + tanh(c (x + 0.044715 x^3))), c = sqrt(2/pi) (Hendrycks, Gimpel 2016).
         dx += dy (s + x s (1-s) 2 c (1 + 0.134145 x^2)), s = sigmoid(2 c (x + 0.044715 x^3))
   Softplus: y = ln(1 + exp(x)).   dx += dy / (1+exp(-x))
   Abs: y = |x|.  dx += dy sign(x)         Sin: dx += dy cos(x)         Cos: dx -= dy sin(x)
   Pow: y = x^p, of a number p.    dx += dy p x^(p-1)
   Clamp: y = min(max(x, lo), hi), of numbers lo <= hi.    dx += dy [lo <= x <= hi]
   Min, Max: of two nodes, shapes as Add.    da += dy [a is chosen]    db += dy [b is]
   At kinks: sign(0) = 0, Clamp passes at lo and hi (both as PyTorch has it), and of equal
   ones a is chosen, as in MaxOver. A NaN stays one. */
#define edf_leaky_relu(x, slope) edf_leaky_relu_at(EDF__HERE, x, slope)
#define edf_gelu(x)              edf_gelu_at(EDF__HERE, x)
#define edf_softplus(x)          edf_softplus_at(EDF__HERE, x)
#define edf_abs(x)               edf_abs_at(EDF__HERE, x)
#define edf_sin(x)               edf_sin_at(EDF__HERE, x)
#define edf_cos(x)               edf_cos_at(EDF__HERE, x)
#define edf_pow(x, p)            edf_pow_at(EDF__HERE, x, p)
#define edf_clamp(x, lo, hi)     edf_clamp_at(EDF__HERE, x, lo, hi)
#define edf_min(...)             edf_min_at(EDF__HERE, __VA_ARGS__)
#define edf_max(...)             edf_max_at(EDF__HERE, __VA_ARGS__)
edf_node *edf_leaky_relu_at(const char *file, int line, edf_node *x, edf_real slope);
edf_node *edf_pow_at(const char *file, int line, edf_node *x, edf_real p);
edf_node *edf_clamp_at(const char *file, int line, edf_node *x, edf_real lo, edf_real hi);
edf__unary edf_gelu_at, edf_softplus_at, edf_abs_at, edf_sin_at, edf_cos_at, edf_log_softmax_at;

/* LogSoftmax, the logarithm of Softmax, stable: y[b,k] = s[b,k] - ln sum_j exp(s[b,j]).
   s.grad[b,k] += y.grad[b,k] - exp(y[b,k]) sum_j y.grad[b,j] */
#define edf_log_softmax(s) edf_log_softmax_at(EDF__HERE, s)

/* BCELoss: cross entropy of yes-or-no scores s[i] and targets y[i] from 0 to 1,
   l[i] = -y ln p - (1-y) ln(1-p) with p = 1/(1+exp(-s)), as ln(1 + exp(s)) - y s: stable.
     s.grad[i] += l.grad[i] (p - y[i])          y.grad[i] -= l.grad[i] s[i]
   MSE: the scalar (1/n) sum_i (a[i] - b[i])^2.
   MaskedMean: the scalar sum_i m[i] x[i] / sum_i m[i]; m is 0 or 1, for lines of different
   length. MSE and MaskedMean take shapes as Sub and Mul do, BCELoss equal ones. */
#define edf_bce_loss(s, y)    edf_bce_loss_at(EDF__HERE, s, y)
#define edf_mse(a, b)         edf_mse_at(EDF__HERE, a, b)
#define edf_masked_mean(x, m) edf_masked_mean_at(EDF__HERE, x, m)
edf__binary edf_min_at, edf_max_at, edf_bce_loss_at, edf_mse_at, edf_masked_mean_at;
EDF__C_END
#endif

#ifdef EDF__CODE
EDF__C_BEGIN
/* A node under its constructor's name, which keeps a number: its formula calls it #. */
static edf_node *edf__with_number(const edf__site *at, const edf_op *is, int n, edf_node **in,
                                  edf_real number) {
  edf_op about = *is;
  about.name = at->op;
  edf_node *y = edf__computed(&about, at->file, at->line, n, in);
  y->says = is;
  *(edf_real *)edf_state(y, sizeof number) = number;
  return y;
}
static edf_node *edf__under(const edf__site *at, const edf_op *is, int n, edf_node **in,
                            edf_real number) {
  return edf__add_compnode(edf__with_number(at, is, n, in, number));
}

/* ---- LeakyRelu   y[i] = x[i] if x[i] > 0, else slope x[i]
                    x.grad[i] += y.grad[i] (1 if x[i] > 0, else slope) ---- */
static void edf__leaky_relu_forward(edf_node *y) {
  edf_node *x = y->in[0];
  edf_real slope = *(edf_real *)y->state;
  for (size_t i = 0; i < y->size; i++)
    y->value[i] = x->value[i] > 0 ? x->value[i] : slope * x->value[i];
}
static void edf__leaky_relu_backward(edf_node *y) {
  edf_node *x = y->in[0];
  edf_real slope = *(edf_real *)y->state;
  for (size_t i = 0; i < y->size; i++) {
    edf_real dy = y->grad[i];            /* read in any case: so the loop has no branch       */
    edf_addgrad(x, i, x->value[i] > 0 ? dy : slope * dy);
  }
}
static const edf_op edf__leaky_relu_op = { "LeakyRelu", NULL, edf__leaky_relu_forward,
  edf__leaky_relu_backward, "y x", "y@ = max(0, x@) + # min(0, x@)",
  "x.grad@ += y.grad@ ([x@ > 0] + # [x@ <= 0])", 1, 0 };
edf_node *edf_leaky_relu_at(const char *file, int line, edf_node *x, edf_real slope) {
  edf__site at = { "LeakyRelu", file, line };
  return edf__under(&at, &edf__leaky_relu_op, 1, &x, slope);
}

/* ---- Gelu   y[i] = x[i] s, s = sigmoid(u), u = 2 c (x[i] + 0.044715 x[i]^3), c = sqrt(2/pi)
               x.grad[i] += y.grad[i] (s + x[i] s (1-s) 2 c (1 + 0.134145 x[i]^2)) ---- */
static const edf_real edf__gelu_c = (edf_real)1.5957691216057308;             /* 2 c          */
static const edf_real edf__gelu_d = (edf_real)(1.5957691216057308 * 0.044715);

static void edf__gelu_forward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) {
    edf_real v = x->value[i], u = v * (edf__gelu_c + edf__gelu_d * v * v);
    y->value[i] = v / (1 + edf__exp(-u));
  }
}
static void edf__gelu_backward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) {
    edf_real v = x->value[i], u = v * (edf__gelu_c + edf__gelu_d * v * v);
    edf_real s = 1 / (1 + edf__exp(-u)), du = edf__gelu_c + 3 * edf__gelu_d * v * v;
    edf_addgrad(x, i, y->grad[i] * (s + v * s * (1 - s) * du));
  }
}
static const edf_op edf__gelu_op = { "Gelu", NULL, edf__gelu_forward, edf__gelu_backward,
  "y x", "y@ = x@/2 (1 + tanh(sqrt(2/pi) (x@ + 0.044715 x@^3)))",
  "x.grad@ += y.grad@ (s + x@ s (1-s) sqrt(8/pi) (1 + 0.134145 x@^2)), "
  "s = 1/(1+exp(-sqrt(8/pi) (x@ + 0.044715 x@^3)))", 1, 0 };
edf_node *edf_gelu_at(const char *file, int line, edf_node *x) {
  return edf__node1(&edf__gelu_op, file, line, x);
}

/* ln(1 + exp(x)) - less */
static edf_real edf__softplus(edf_real x, edf_real less) {
  edf_real e = edf__exp(x < 0 ? x : -x);
  edf_real ln = EDF_REAL_IS_DOUBLE ? (edf_real)log1p((double)e) : (edf_real)log1pf((float)e);
  return (x < 0 ? 0 : x) - less + ln;
}

/* ---- Softplus   y[i] = ln(1 + exp(x[i])) = max(0, x[i]) + ln(1 + exp(-|x[i]|))
                   x.grad[i] += y.grad[i] / (1+exp(-x[i])) ---- */
static void edf__softplus_forward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) y->value[i] = edf__softplus(x->value[i], 0);
}
static void edf__softplus_backward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++)
    edf_addgrad(x, i, y->grad[i] / (1 + edf__exp(-x->value[i])));
}
static const edf_op edf__softplus_op = { "Softplus", NULL, edf__softplus_forward,
  edf__softplus_backward, "y x", "y@ = ln(1 + exp(x@))", "x.grad@ += y.grad@ / (1+exp(-x@))",
  1, 0 };
edf_node *edf_softplus_at(const char *file, int line, edf_node *x) {
  return edf__node1(&edf__softplus_op, file, line, x);
}

/* ---- Abs, Sin, Cos, Pow, Clamp   y[i] = f(x[i])     x.grad[i] += y.grad[i] f'(x[i])
   The state is the node's numbers, p and q, and which f it is. A slope of 0 stops an infinite
   y.grad too. ---- */
enum { EDF__ABS, EDF__SIN, EDF__COS, EDF__POW, EDF__CLAMP };

static double edf__function(int f, double x, double p, double q) {
  switch (f) {
    case EDF__ABS: return fabs(x);
    case EDF__SIN: return sin(x);
    case EDF__COS: return cos(x);
    case EDF__POW: return pow(x, p);
    default:       return x < p ? p : x > q ? q : x;
  }
}
static double edf__function_slope(int f, double x, double p, double q) {
  switch (f) {
    case EDF__ABS: return x > 0 ? 1 : x < 0 ? -1 : 0;
    case EDF__SIN: return cos(x);
    case EDF__COS: return -sin(x);
    case EDF__POW: return p == 0 ? 0 : p * pow(x, p - 1);
    default:       return x < p || x > q ? 0 : 1;
  }
}
static void edf__function_forward(edf_node *y) {
  const edf_real *c = (const edf_real *)y->state, *x = y->in[0]->value;
  double p = (double)c[0], q = (double)c[1];
  for (size_t i = 0; i < y->size; i++)
    y->value[i] = (edf_real)edf__function((int)c[2], (double)x[i], p, q);
}
static void edf__function_backward(edf_node *y) {
  const edf_real *c = (const edf_real *)y->state, *x = y->in[0]->value;
  double p = (double)c[0], q = (double)c[1];
  for (size_t i = 0; i < y->size; i++) {
    edf_real slope = (edf_real)edf__function_slope((int)c[2], (double)x[i], p, q);
    edf_addgrad(y->in[0], i, slope == 0 ? 0 : y->grad[i] * slope);
  }
}
static const edf_op edf__function_op[] = {
  { "Abs", NULL, edf__function_forward, edf__function_backward, "y x", "y@ = max(x@, -x@)",
    "x.grad@ += y.grad@ ([x@ > 0] - [x@ < 0])", 1, 0 },
  { "Sin", NULL, edf__function_forward, edf__function_backward, "y x", "y@ = sin(x@)",
    "x.grad@ += y.grad@ cos(x@)", 1, 0 },
  { "Cos", NULL, edf__function_forward, edf__function_backward, "y x", "y@ = cos(x@)",
    "x.grad@ -= y.grad@ sin(x@)", 1, 0 },
  { "Pow", NULL, edf__function_forward, edf__function_backward, "y x", "y@ = pow(x@, #)",
    "x.grad@ += y.grad@ # pow(x@, # - 1)", 1, 0 },
  { "Clamp", NULL, edf__function_forward, edf__function_backward, "y x",
    "y@ = min(max(x@, #), ##)", "x.grad@ += y.grad@ [# <= x@] [x@ <= ##]", 1, 0 } };

static edf_node *edf__function_at(int f, const char *file, int line, edf_node *x, edf_real p,
                                  edf_real q) {
  edf__site at = { edf__function_op[f].name, file, line };
  edf_node *y = edf__with_number(&at, &edf__function_op[f], 1, &x, p);
  edf_real *c = (edf_real *)edf_state(y, 3 * sizeof *c);
  c[1] = q;
  c[2] = (edf_real)f;
  return edf__add_compnode(y);
}
edf_node *edf_abs_at(const char *file, int line, edf_node *x) {
  return edf__function_at(EDF__ABS, file, line, x, 0, 0);
}
edf_node *edf_sin_at(const char *file, int line, edf_node *x) {
  return edf__function_at(EDF__SIN, file, line, x, 0, 0);
}
edf_node *edf_cos_at(const char *file, int line, edf_node *x) {
  return edf__function_at(EDF__COS, file, line, x, 0, 0);
}
edf_node *edf_pow_at(const char *file, int line, edf_node *x, edf_real p) {
  return edf__function_at(EDF__POW, file, line, x, p, 0);
}
edf_node *edf_clamp_at(const char *file, int line, edf_node *x, edf_real lo, edf_real hi) {
  edf__site at = { "Clamp", file, line };
  if (!(lo <= hi)) edf__fail_at(&at, "lo is %g, above hi, %g", (double)lo, (double)hi);
  return edf__function_at(EDF__CLAMP, file, line, x, lo, hi);
}

/* ---- Max   y[i] = max(a[i], b[i])     a.grad[i] += y.grad[i] [b[i] <= a[i]]
                                         b.grad[i] += y.grad[i] [b[i] > a[i]]
   Min is the same of the other order; the number is 1 or -1. Repeats as in Div. ---- */
static int edf__takes_first(const edf_node *y, size_t i) {
  edf_real order = *(const edf_real *)y->state;
  edf_real a = y->in[0]->value[i % y->in[0]->size], b = y->in[1]->value[i % y->in[1]->size];
  return a != a || order * b <= order * a;
}
static void edf__max_forward(edf_node *y) {
  edf_node *a = y->in[0], *b = y->in[1];
  for (size_t i = 0; i < y->size; i++)
    y->value[i] = edf__takes_first(y, i) ? a->value[i % a->size] : b->value[i % b->size];
}
static void edf__max_backward(edf_node *y) {
  edf_node *a = y->in[0], *b = y->in[1];
  for (size_t i = 0; i < y->size; i++)
    if (edf__takes_first(y, i)) edf_addgrad(a, i % a->size, y->grad[i]);
    else edf_addgrad(b, i % b->size, y->grad[i]);
}
static const edf_op edf__max_op = { "Max", edf__div_shape, edf__max_forward, edf__max_backward,
  "y a b", "y@ = max(a', b')",
  "a.grad' += y.grad@ [b' <= a']\nb.grad' += y.grad@ [b' > a']", 0, 0 };
static const edf_op edf__min_op = { "Min", edf__div_shape, edf__max_forward, edf__max_backward,
  "y a b", "y@ = min(a', b')",
  "a.grad' += y.grad@ [a' <= b']\nb.grad' += y.grad@ [a' > b']", 0, 0 };
edf_node *edf_max_at(const char *file, int line, edf_node *a, edf_node *b) {
  edf__site at = { "Max", file, line };
  edf_node *in[2] = { a, b };
  return edf__under(&at, &edf__max_op, 2, in, 1);
}
edf_node *edf_min_at(const char *file, int line, edf_node *a, edf_node *b) {
  edf__site at = { "Min", file, line };
  edf_node *in[2] = { a, b };
  return edf__under(&at, &edf__min_op, 2, in, -1);
}

/* ---- LogSoftmax   y[b,k] = s[b,k] - ln sum_j exp(s[b,j])
                     s.grad[b,k] += y.grad[b,k] - exp(y[b,k]) sum_j y.grad[b,j] ---- */
static void edf__log_softmax_forward(edf_node *y) {
  edf_node *s = y->in[0];
  size_t K = edf__columns(y);
  for (size_t b = 0; b < y->size; b += K) {
    edf_real *row = y->value + b, max = edf__largest(s->value + b, (ptrdiff_t)K);
    for (size_t k = 0; k < K; k++) row[k] = edf__exp(s->value[b + k] - max);
    edf_real ln_Z = edf__ln(edf__total(row, (ptrdiff_t)K));
    for (size_t k = 0; k < K; k++) row[k] = (s->value[b + k] - max) - ln_Z;
  }
}
static void edf__log_softmax_backward(edf_node *y) {
  edf_node *s = y->in[0];
  size_t K = edf__columns(y);
  for (size_t b = 0; b < y->size; b += K) {
    edf_real sum = edf__total(y->grad + b, (ptrdiff_t)K);
    for (size_t k = b; k < b + K; k++)
      edf_addgrad(s, k, y->grad[k] - edf__exp(y->value[k]) * sum);
  }
}
static const edf_op edf__log_softmax_op = { "LogSoftmax", edf__softmax_shape,
  edf__log_softmax_forward, edf__log_softmax_backward, "y s",
  "y@ = s@ - ln sum_~ exp(s~)", "s.grad@ += y.grad@ - exp(y@) sum_~ y.grad~", 1, 0 };
edf_node *edf_log_softmax_at(const char *file, int line, edf_node *s) {
  return edf__node1(&edf__log_softmax_op, file, line, s);
}

/* ---- BCELoss   l[i] = ln(1 + exp(s[i])) - y[i] s[i], without the logarithm of 0
                  s.grad[i] += l.grad[i] (1/(1+exp(-s[i])) - y[i])
                  y.grad[i] -= l.grad[i] s[i] ---- */
static void edf__bce_shape(edf_node *l) {
  edf_node *s = l->in[0], *y = l->in[1];
  if (s->rank != y->rank || memcmp(s->dim, y->dim, (size_t)s->rank * sizeof *s->dim))
    edf__operands_error(l, "the shapes must be equal");
  edf__shape_of_first(l);
}
static void edf__bce_forward(edf_node *l) {
  edf_node *s = l->in[0], *y = l->in[1];
  for (size_t i = 0; i < l->size; i++)
    l->value[i] = edf__softplus(s->value[i], y->value[i] * s->value[i]);
}
static void edf__bce_backward(edf_node *l) {
  edf_node *s = l->in[0], *y = l->in[1];
  for (size_t i = 0; i < l->size; i++) {
    edf_real p = 1 / (1 + edf__exp(-s->value[i]));
    edf_addgrad(s, i, l->grad[i] * (p - y->value[i]));
    edf_addgrad(y, i, -l->grad[i] * s->value[i]);
  }
}
static const edf_op edf__bce_op = { "BCELoss", edf__bce_shape, edf__bce_forward,
  edf__bce_backward, "l s y", "l@ = ln(1 + exp(s@)) - y@ s@",
  "s.grad@ += l.grad@ (1/(1+exp(-s@)) - y@)\ny.grad@ -= l.grad@ s@",
  0, 1 << EDF_IS_BINARY_LOSS };
edf_node *edf_bce_loss_at(const char *file, int line, edf_node *s, edf_node *y) {
  return edf__node2(&edf__bce_op, file, line, s, y);
}

/* ---- MSE, MaskedMean: compositions, under their own name ---- */
edf_node *edf_mse_at(const char *file, int line, edf_node *a, edf_node *b) {
  edf__site at = { "MSE", file, line };
  edf_node *y = edf__pairwise("MSE", "- ", file, line, a, b);
  y->is |= 1 << EDF_IS_DIFFERENCE;
  y = edf__under(&at, &edf__square_op, 1, &y, 0);
  return edf__under(&at, &edf__mean_op, 1, &y, 0);
}
edf_node *edf_masked_mean_at(const char *file, int line, edf_node *x, edf_node *m) {
  edf__site at = { "MaskedMean", file, line };
  edf_node *y = edf__pairwise("MaskedMean", "", file, line, x, m), *in[2];
  in[0] = edf__under(&at, &edf__sum_op, 1, &y, 0);
  in[1] = edf__under(&at, &edf__sum_op, 1, &m, 0);
  return edf__under(&at, &edf__div_op, 2, in, 0);
}
EDF__C_END
#endif

/* ==== >>over  Dropout, Reshape, and windows; needs >>nest >>more ========================= */
#ifndef EDF__OVER_H
#define EDF__OVER_H
EDF__C_BEGIN
/* Dropout: in training each entry is 0 with probability `rate`, else x/(1-rate); y = x where
   edf.training is 0.   dx += dy/(1-rate) where x was kept. (Srivastava et al. 2014.) The mask
   depends on edf.seed and edf.draws alone. Errors: a rate that is not in [0, 1). */
#define edf_dropout(x, rate) edf_dropout_at(EDF__HERE, x, rate)
edf_node *edf_dropout_at(const char *file, int line, edf_node *x, double rate);

/* Reshape(x, "y[b,4,128]"): the same numbers in the same order; y is also the node's name. A
   first index without a number takes what is left, the batch. Errors: sizes that differ. */
#define edf_reshape(...) edf_reshape_at(EDF__HERE, __VA_ARGS__)
edf_node *edf_reshape_at(const char *file, int line, edf_node *x, const char *decl, ...)
    EDF__PRINTF(4, 5);

/* A maximum over windows: entry i of y is the greatest x[.. + offset[k]], where the first
   n_kept loops of t go over y and x, the others over the n entries of the window; winner[i] is
   the k of the first greatest. Backward adds y to the winner's x, or with `assign` also sets
   the others to 0. */
struct edf_window {
  edf_nest t;
  int n_kept;
  ptrdiff_t n, *offset;
  int *winner, assign;
  edf_real *y, *x;                       /* values, or in backward gradients                  */
};
void edf_max_window(const edf_window *w, int backward);
EDF__C_END
#endif

#ifdef EDF__CODE
EDF__C_BEGIN
/* ---- Windows of edf_max_window. */
enum { EDF__WIDE = 16 };                 /* neighbours at a time, so that compilers vectorise */

static void edf__max_wide(const edf_window *w, edf_real *y, int *winner, const edf_real *x) {
  edf_real most[EDF__WIDE];
  int first[EDF__WIDE] = { 0 };
  memcpy(most, x + w->offset[0], sizeof most);
  for (int k = 1; k < w->n; k++) {
    const edf_real *in = x + w->offset[k];
    EDF__KEEP_LOOP for (int l = 0; l < EDF__WIDE; l++) {
      int wins = (in[l] > most[l]) | (in[l] != in[l]);
      most[l] = wins ? in[l] : most[l];
      first[l] = wins ? k : first[l];
    }
  }
  memcpy(y, most, sizeof most);
  memcpy(winner, first, sizeof first);
}

static void edf__max_row(const edf_window *w, const edf_loop *l, edf_real *y, int *winner,
                         edf_real *x) {
  ptrdiff_t i = 0, so = l->s[EDF_OUT], sx = l->s[EDF_A];
  for (; so == 1 && sx == 1 && i + EDF__WIDE <= l->n; i += EDF__WIDE)
    edf__max_wide(w, y + i, winner + i, x + i);
  for (; i < l->n; i++) {
    edf_real *most = x + i * sx + w->offset[0], *in;
    int first = 0;
    for (int k = 1; k < w->n; k++) {
      in = x + i * sx + w->offset[k];
      if (*in > *most || *in != *in) { most = in; first = k; }
    }
    y[i * so] = *most;
    winner[i * so] = first;
  }
}

/* The winner is paid; where windows do not overlap and x.grad is fresh, the others get 0. */
static void edf__pay_row(const edf_window *w, const edf_loop *l, edf_real *dy, int *winner,
                         edf_real *dx) {
  ptrdiff_t i = 0, so = l->s[EDF_OUT], sx = l->s[EDF_A];
  for (; w->assign && so == 1 && sx == 1 && i + EDF__WIDE <= l->n; i += EDF__WIDE)
    for (int k = 0; k < w->n; k++) {
      edf_real *out = dx + i + w->offset[k];
      EDF__KEEP_LOOP for (int j = 0; j < EDF__WIDE; j++)
        out[j] = winner[i + j] == k ? dy[i + j] : 0;
    }
  for (; i < l->n; i++) {
    for (int k = 0; w->assign && k < w->n; k++) dx[i * sx + w->offset[k]] = 0;
    dx[i * sx + w->offset[winner[i * so]]] += dy[i * so];
  }
}

static void edf__each_row(const edf_window *w, int d, int backward, edf_real *y, int *winner,
                          edf_real *x) {
  static const edf_loop once = { 1, { 0, 0, 0 } };
  const edf_loop *l = d < w->n_kept ? &w->t.loop[d] : &once;
  for (ptrdiff_t i = 0; d + 1 < w->n_kept && i < l->n; i++)
    edf__each_row(w, d + 1, backward, y + i * l->s[EDF_OUT], winner + i * l->s[EDF_OUT],
                  x + i * l->s[EDF_A]);
  if (d + 1 >= w->n_kept) (backward ? edf__pay_row : edf__max_row)(w, l, y, winner, x);
}

void edf_max_window(const edf_window *w, int backward) {
  if (edf_device) edf_device->window(w, backward);
  else edf__each_row(w, 0, backward, w->y, w->winner, w->x + w->t.start[EDF_A]);
}

enum { EDF__HEAD = 16 };                 /* numbers before an array in a state: it is aligned */


/* ---- Dropout   y[i] = m[i] x[i] / (1-rate), m[i] = 0 with probability rate, else 1
                  x.grad[i] += y.grad[i] m[i] / (1-rate)
   Entry i's number is a hash of (edf.seed, edf.draws before this Forward + i + 1), so a device
   draws the same mask. The state is the rate and the factor of this Forward, then the mask.
   ---- */
static void edf__dropout_forward(edf_node *y) {
  const edf_node *x = y->in[0];
  size_t bytes = EDF__HEAD * sizeof(edf_real) + y->size;
  edf_real *state = (edf_real *)edf_state(y, bytes), rate = edf.training ? state[0] : 0;
  unsigned char *m = (unsigned char *)(state + EDF__HEAD);
  uint32_t limit = (uint32_t)((double)rate * 16777216);      /* of 24 random bits             */
  state[1] = 1 / (1 - rate);
  for (size_t i = 0; i < y->size; i++)
    m[i] = rate > 0 ? edf__draw(edf.draws + i + 1) >> 40 >= limit : 1;
  if (rate > 0) edf.draws += y->size;
  for (size_t i = 0; i < y->size; i++) y->value[i] = x->value[i] * (edf_real)m[i] * state[1];
}
static void edf__dropout_backward(edf_node *y) {
  edf_node *x = y->in[0];
  const edf_real *state = (const edf_real *)y->state;
  const unsigned char *m = (const unsigned char *)(state + EDF__HEAD);
  for (size_t i = 0; i < y->size; i++)
    edf_addgrad(x, i, y->grad[i] * (edf_real)m[i] * state[1]);
}
static const edf_op edf__dropout_op = { "Dropout", NULL, edf__dropout_forward,
  edf__dropout_backward, "y x", "y@ = mask@ x@ / (1-#)\n\ny@ = x@",
  "x.grad@ += y.grad@ mask@ / (1-#)\n\nx.grad@ += y.grad@", 1, 1 << EDF_IS_DROPOUT };
edf_node *edf_dropout_at(const char *file, int line, edf_node *x, double rate) {
  edf__site at = { "Dropout", file, line };
  if (!(rate >= 0 && (edf_real)rate < 1))
    edf__fail_at(&at, "the rate is %.9g, expected 0 or more and less than 1", rate);
  return edf__under(&at, &edf__dropout_op, 1, &x, (edf_real)rate);
}

/* ---- Reshape   y = x: the same numbers in the same order     x.grad += y.grad
   The state is the shape that was declared; 0 is the batch. ---- */
static void edf__reshape_shape(edf_node *y) {
  const edf_node *x = y->in[0];
  size_t rest = 1, known = 1;            /* without a batch that is not known                 */
  if (!y->state) memcpy(edf_state(y, sizeof y->dim), y->dim, sizeof y->dim);
  memcpy(y->dim, y->state, sizeof y->dim);
  y->letters_of = -1;
  y->row_dims = (char)y->rank;
  for (int d = 0; d < y->rank; d++) if (y->dim[d]) rest *= (size_t)y->dim[d];
  for (int d = 0; d < x->rank; d++) if (x->dim[d]) known *= (size_t)x->dim[d];
  int batch = y->rank && y->dim[0] == 0, unknown = x->size == 0;
  int merges = unknown && rest % known == 0;         /* whole rows of x; which, Forward knows */
  if (batch ? known % rest != 0 && !merges : unknown || known != rest) {
    edf__say_at(y);
    edf__say("the entries of x do not fill the shape");
    if (!unknown || batch) edf__fail_with(x, ", which has %zu%s", rest, batch ? " a row" : "");
    edf__fail_with(x, ": x has a batch, so its first index has no number");
  }
  if (batch) y->dim[0] = (int)(x->size / rest);
}
static void edf__reshape_forward(edf_node *y) {
  memcpy(y->value, y->in[0]->value, y->size * sizeof *y->value);
}
static void edf__reshape_backward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) edf_addgrad(x, i, y->grad[i]);
}
static const edf_op edf__reshape_op = { "Reshape", edf__reshape_shape, edf__reshape_forward,
  edf__reshape_backward, "y x", "y.flat[i] = x.flat[i]", "x.grad.flat[i] += y.grad.flat[i]",
  1, 0 };
edf_node *edf_reshape_at(const char *file, int line, edf_node *x, const char *decl, ...) {
  edf_node *y = edf__computed(&edf__reshape_op, file, line, 1, &x);
  va_list args;
  va_start(args, decl);
  edf__declare(y, y->op, decl, args);
  va_end(args);
  y->batched = 0;                        /* what the shape is computed from decides that      */
  return edf__add_compnode(y);
}
EDF__C_END
#endif

/* ==== >>optim  Optimisers; needs >>seam ================================================== */
#ifndef EDF__OPTIM_H
#define EDF__OPTIM_H
EDF__C_BEGIN
/* g is the gradient of a parameter p; its m and s, and how many steps t it has
   made, live with it. The course's number N is 1/(1-beta). edf_sgd is above.
     edf_momentum      m = mu m + eta g;  p -= m                     (heavy ball, Polyak 1964)
     edf_average       m = beta m + (1-beta) g;  p -= eta m
     edf_adagrad       s += g^2;  p -= eta g / (sqrt s + eps)        (Duchi et al. 2011)
     edf_rmsprop       s = beta s + (1-beta) g^2;  p -= eta g / (sqrt s + eps)
     edf_adam          m = beta1 m + (1-beta1) g;  s = beta2 s + (1-beta2) g^2;
                       p -= eta m' / (sqrt s' + eps), m' = m/(1-beta1^t), s' = s/(1-beta2^t)
                       edf_adam_default: 0.9, 0.999 and 1e-8         (Kingma and Ba 2014)
     edf_adamw         the same with p *= 1 - eta decay before       (Loshchilov, Hutter 2017)
     edf_adam_slides   beta = 1 - 1/min(t, N) in place of the two divisions, as on the slides
   All parameters that the last Backward reached make one step, others none. An `update`
   function of a parameter's own may call an edf_update_NAME, which makes the step of one.
   Errors: a mu or a beta that is not in [0, 1). */
void edf_momentum(edf_real eta, edf_real mu);
void edf_average(edf_real eta, edf_real beta);
void edf_adagrad(edf_real eta, edf_real eps);
void edf_rmsprop(edf_real eta, edf_real beta, edf_real eps);
void edf_adam(edf_real eta, edf_real beta1, edf_real beta2, edf_real eps);
void edf_adam_default(edf_real eta);
void edf_adamw(edf_real eta, edf_real beta1, edf_real beta2, edf_real eps, edf_real decay);
void edf_adam_slides(edf_real eta, edf_real beta1, edf_real beta2, edf_real eps);
#define edf_momentum(...)    EDF__CALL(edf_momentum(__VA_ARGS__))
#define edf_average(...)     EDF__CALL(edf_average(__VA_ARGS__))
#define edf_adagrad(...)     EDF__CALL(edf_adagrad(__VA_ARGS__))
#define edf_rmsprop(...)     EDF__CALL(edf_rmsprop(__VA_ARGS__))
#define edf_adam(...)        EDF__CALL(edf_adam(__VA_ARGS__))
#define edf_adam_default(eta) EDF__CALL(edf_adam_default(eta))
#define edf_adamw(...)       EDF__CALL(edf_adamw(__VA_ARGS__))
#define edf_adam_slides(...) EDF__CALL(edf_adam_slides(__VA_ARGS__))
void edf_update_momentum(edf_node *p, edf_real eta, edf_real mu);
void edf_update_average(edf_node *p, edf_real eta, edf_real beta);
void edf_update_adagrad(edf_node *p, edf_real eta, edf_real eps);
void edf_update_rmsprop(edf_node *p, edf_real eta, edf_real beta, edf_real eps);
void edf_update_adam(edf_node *p, edf_real eta, edf_real beta1, edf_real beta2, edf_real eps);
void edf_update_adamw(edf_node *p, edf_real eta, edf_real beta1, edf_real beta2, edf_real eps,
                      edf_real decay);
void edf_update_adam_slides(edf_node *p, edf_real eta, edf_real beta1, edf_real beta2,
                            edf_real eps);

/* Between Backward and the step. edf_clip: all g *= min(1, most/|g|), with the norm |g| of all
   gradients together, which it returns; edf_clip_each: each parameter by its own norm.
   Shrinkage: edf_l2: g += gamma p;  edf_l1: g += gamma sign(p). edf_update: a rule's loop. */
double edf_clip(double most);
void   edf_clip_each(double most);
void   edf_l2(edf_real gamma);
void   edf_l1(edf_real gamma);
void   edf_update(edf_node *p, edf_rule rule, const edf_real *numbers, int n);
EDF__C_END
#endif

#ifdef EDF__CODE
EDF__C_BEGIN
/* A root that a compiler vectorises without leave to ignore errno: the well-known first guess
   of 1/sqrt(x) by its bits, Newton's steps, and a last one for sqrt(x) itself. Within 2 ulp for
   normal x; 0 and infinity stay. */
#if EDF_REAL_IS_DOUBLE
static double edf__fast_root(double x) { return sqrt(x); }
#else
static inline float edf__fast_root(float x) {
  int32_t bits;
  float r;
  memcpy(&bits, &x, sizeof bits);
  bits = 0x5f375a86 - (bits >> 1);
  memcpy(&r, &bits, sizeof r);
  for (int k = 0; k < 3; k++) r *= 1.5f - 0.5f * x * r * r;
  float s = x * r;
  return x <= FLT_MAX ? s + 0.5f * r * (x - s * s) : x;
}
#endif

/* ---- The rules, each a loop over one parameter; c are its numbers. */
static void edf__momentum_rule(edf_node *p, const edf_real *c) {
  edf_real eta = c[0], mu = c[1], step = c[2];
  for (size_t i = 0; i < p->size; i++) {
    p->m[i] = mu * p->m[i] + eta * p->grad[i];
    p->value[i] -= step * p->m[i];
  }
}
static void edf__square_rule(edf_node *p, const edf_real *c) {
  edf_real eta = c[0], keep = c[1], add = c[2], eps = c[3];
  for (size_t i = 0; i < p->size; i++) {
    p->s[i] = keep * p->s[i] + add * p->grad[i] * p->grad[i];
    p->value[i] -= eta * p->grad[i] / (edf__fast_root(p->s[i]) + eps);
  }
}
static void edf__adam_rule(edf_node *p, const edf_real *c) {
  edf_real b1 = c[0], b2 = c[1], eta = c[2], scale = c[3], eps = c[4], keep = c[5];
  for (size_t i = 0; i < p->size; i++) {
    edf_real g = p->grad[i], m = b1 * p->m[i] + (1 - b1) * g;
    edf_real s = b2 * p->s[i] + (1 - b2) * g * g;
    p->m[i] = m;
    p->s[i] = s;
    p->value[i] = keep * p->value[i] - eta * m / (scale * edf__fast_root(s) + eps);
  }
}
static void edf__scale_rule(edf_node *p, const edf_real *c) {
  for (size_t i = 0; i < p->size; i++) p->grad[i] *= c[0];
}
static void edf__l2_rule(edf_node *p, const edf_real *c) {
  for (size_t i = 0; i < p->size; i++) p->grad[i] += c[0] * p->value[i];
}
static void edf__l1_rule(edf_node *p, const edf_real *c) {
  for (size_t i = 0; i < p->size; i++)
    p->grad[i] += p->value[i] > 0 ? c[0] : p->value[i] < 0 ? -c[0] : 0;
}

void edf_update(edf_node *p, edf_rule rule, const edf_real *c, int n) {
  static void (*const rules[])(edf_node *, const edf_real *) = { NULL, edf__momentum_rule,
    edf__square_rule, edf__adam_rule, edf__scale_rule, edf__l2_rule, edf__l1_rule };
  if (rule == EDF_SGD_RULE) { edf_update_sgd(p, *c); return; }
  if (rule == EDF_MOMENTUM_RULE || rule == EDF_ADAM_RULE) p->m = edf__reals(p, p->m);
  if (rule == EDF_SQUARE_RULE || rule == EDF_ADAM_RULE) p->s = edf__reals(p, p->s);
  if (edf_device) { edf_device->update(p, rule, c, n); return; }
  rules[rule](p, c);
}

/* ---- Each optimiser for one parameter, and for all of them. */
static void edf__check_beta(const char *who, const char *name, edf_real beta) {
  if (beta >= 0 && beta < 1) return;
  edf__say_who(who);
  edf__die("%s is %g, expected 0 or more and less than 1", name, (double)beta);
}

void edf_update_momentum(edf_node *p, edf_real eta, edf_real mu) {
  edf_real c[3] = { eta, mu, 1 };
  edf__check_parameter("edf_update_momentum", p, 1);
  edf__check_beta("edf_momentum", "mu", mu);
  edf_update(p, EDF_MOMENTUM_RULE, c, 3);
}
void (edf_momentum)(edf_real eta, edf_real mu) {
  for (int i = 0; i < edf.n_parameters; i++)
    if (edf__due(edf.parameters[i], eta)) edf_update_momentum(edf.parameters[i], eta, mu);
}

void edf_update_average(edf_node *p, edf_real eta, edf_real beta) {
  edf_real c[3] = { 1 - beta, beta, eta };
  edf__check_parameter("edf_update_average", p, 1);
  edf__check_beta("edf_average", "beta", beta);
  edf_update(p, EDF_MOMENTUM_RULE, c, 3);
}
void (edf_average)(edf_real eta, edf_real beta) {
  for (int i = 0; i < edf.n_parameters; i++)
    if (edf__due(edf.parameters[i], eta)) edf_update_average(edf.parameters[i], eta, beta);
}

void edf_update_adagrad(edf_node *p, edf_real eta, edf_real eps) {
  edf_real c[4] = { eta, 1, 1, eps };
  edf__check_parameter("edf_update_adagrad", p, 1);
  edf_update(p, EDF_SQUARE_RULE, c, 4);
}
void (edf_adagrad)(edf_real eta, edf_real eps) {
  for (int i = 0; i < edf.n_parameters; i++)
    if (edf__due(edf.parameters[i], eta)) edf_update_adagrad(edf.parameters[i], eta, eps);
}

void edf_update_rmsprop(edf_node *p, edf_real eta, edf_real beta, edf_real eps) {
  edf_real c[4] = { eta, beta, 1 - beta, eps };
  edf__check_parameter("edf_update_rmsprop", p, 1);
  edf__check_beta("edf_rmsprop", "beta", beta);
  edf_update(p, EDF_SQUARE_RULE, c, 4);
}
void (edf_rmsprop)(edf_real eta, edf_real beta, edf_real eps) {
  for (int i = 0; i < edf.n_parameters; i++)
    if (edf__due(edf.parameters[i], eta)) edf_update_rmsprop(edf.parameters[i], eta, beta, eps);
}

void edf_update_adamw(edf_node *p, edf_real eta, edf_real beta1, edf_real beta2, edf_real eps,
                      edf_real decay) {
  edf__check_parameter("edf_update_adamw", p, 1);
  edf__check_beta("edf_adam", "beta1", beta1);
  edf__check_beta("edf_adam", "beta2", beta2);
  double t = (double)(p->steps > 0 ? p->steps : 1);
  double bias1 = 1 - pow((double)beta1, t), bias2 = 1 - pow((double)beta2, t);
  edf_real c[6] = { beta1, beta2, (edf_real)((double)eta / bias1),
                    (edf_real)(1 / sqrt(bias2)), eps, 1 - eta * decay };
  edf_update(p, EDF_ADAM_RULE, c, 6);
}
void (edf_adamw)(edf_real eta, edf_real beta1, edf_real beta2, edf_real eps, edf_real decay) {
  for (int i = 0; i < edf.n_parameters; i++)
    if (edf__due(edf.parameters[i], eta))
      edf_update_adamw(edf.parameters[i], eta, beta1, beta2, eps, decay);
}
void edf_update_adam(edf_node *p, edf_real eta, edf_real beta1, edf_real beta2, edf_real eps) {
  edf_update_adamw(p, eta, beta1, beta2, eps, 0);
}
void (edf_adam)(edf_real eta, edf_real beta1, edf_real beta2, edf_real eps) {
  (edf_adamw)(eta, beta1, beta2, eps, 0);
}
void (edf_adam_default)(edf_real eta) {
  (edf_adamw)(eta, (edf_real)0.9, (edf_real)0.999, (edf_real)1e-8, 0);
}

/* beta = 1 - 1/min(t, N), with N = 1/(1-beta): a plain average of the first N gradients. */
void edf_update_adam_slides(edf_node *p, edf_real eta, edf_real beta1, edf_real beta2,
                            edf_real eps) {
  edf__check_parameter("edf_update_adam_slides", p, 1);
  edf__check_beta("edf_adam_slides", "beta1", beta1);
  edf__check_beta("edf_adam_slides", "beta2", beta2);
  edf_real first = 1 - 1 / (edf_real)(p->steps > 0 ? p->steps : 1);
  edf_real b1 = first < beta1 ? first : beta1, b2 = first < beta2 ? first : beta2;
  edf_real c[6] = { b1, b2, eta, 1, eps, 1 };
  edf_update(p, EDF_ADAM_RULE, c, 6);
}
void (edf_adam_slides)(edf_real eta, edf_real beta1, edf_real beta2, edf_real eps) {
  for (int i = 0; i < edf.n_parameters; i++)
    if (edf__due(edf.parameters[i], eta))
      edf_update_adam_slides(edf.parameters[i], eta, beta1, beta2, eps);
}

/* ---- Before the step: clipping and shrinkage change the gradients that a step would use. */
static void edf__change(const char *who, edf_node **p, int n, edf_rule rule, edf_real number) {
  for (int i = 0; i < n; i++) {
    if (!edf__may_step(p[i])) continue;
    if (p[i]->reached == 2) edf.late = who;
    edf_update(p[i], rule, &number, 1);
  }
}

static double edf__square_norm(const edf_real *g, size_t size) {
  enum { BLOCK = 4096 };                 /* sums of floats, but not long ones                 */
  double sum = 0;
  for (size_t i = 0; i < size; i += BLOCK) {
    size_t n = size - i < (size_t)BLOCK ? size - i : (size_t)BLOCK;
    sum += (double)edf__dot(g + i, g + i, (ptrdiff_t)n);
  }
  if (sum < HUGE_VAL) return sum;
  sum = 0;                               /* a float's square may overflow: once more, slowly  */
  for (size_t i = 0; i < size; i++) sum += (double)g[i] * (double)g[i];
  return sum;
}

/* Clips the gradients of n parameters by their norm together. A device gives it in one call:
   each would wait for its result. */
static double edf__clip(const char *who, edf_node **p, int n, double most) {
  edf_node **there = NULL;
  double sum = 0;
  int n_there = 0;
  if (!(most > 0)) edf__die("%s: the greatest norm is %g, expected more than 0", who, most);
  if (edf_device) there = (edf_node **)edf__alloc(&edf.kept, (size_t)n * sizeof *there);
  for (int i = 0; i < n; i++)
    if (there && edf__may_step(p[i])) there[n_there++] = p[i];
    else if (edf__may_step(p[i])) sum += edf__square_norm(p[i]->grad, p[i]->size);
  if (n_there) sum = edf_device->norm(there, n_there);
  edf__free(there);
  double norm = sqrt(sum);
  edf_real factor = (edf_real)(most / norm);
  if (norm > most) edf__change(who, p, n, EDF_SCALE_RULE, factor);
  return norm;
}

double edf_clip(double most) {
  return edf__clip("edf_clip", edf.parameters, edf.n_parameters, most);
}
void edf_clip_each(double most) {
  edf__clip("edf_clip_each", NULL, 0, most);           /* checks `most` alone                 */
  for (int i = 0; i < edf.n_parameters; i++)
    edf__clip("edf_clip_each", &edf.parameters[i], 1, most);
}

void edf_l2(edf_real gamma) {
  edf__change("edf_l2", edf.parameters, edf.n_parameters, EDF_L2_RULE, gamma);
}
void edf_l1(edf_real gamma) {
  edf__change("edf_l1", edf.parameters, edf.n_parameters, EDF_L1_RULE, gamma);
}
EDF__C_END
#endif

/* ######## Part Three: what is printed, checked and kept ################################## */

/* ==== >>tools  What tools are made of; needs >>seam ====================================== */
#ifndef EDF__TOOLS_H
#define EDF__TOOLS_H
EDF__C_BEGIN
/* What the laboratory, edf_lab.h, is written with, and a tool of your own can be: beside these,
   edf.loss, edf.feeds and the fields of a node that are not the framework's own.
   Watchers are told what runs: w->told(w, event, node), with the node that runs; where a
   Forward begins with its target, NULL for all; where a Backward begins or ends with the loss;
   before an update with the parameter; else with NULL. What is run meanwhile is told to nobody.
   One watches one graph, and belongs to the caller; edf_clear forgets it and tells EDF_CLEARED,
   while nodes and memory are there. Who is told may call edf_clear where a Forward or Backward
   ends. edf_watch_passes leaves out single nodes: a device may then run a pass as a whole.
   edf_find_watcher: the one that is told by this function, so a tool finds its own of a graph,
   or NULL. Errors: it watches already, or not. */
void edf_watch(edf_watcher *w);
void edf_watch_passes(edf_watcher *w);
void edf_unwatch(edf_watcher *w);
edf_watcher *edf_find_watcher(void (*told)(edf_watcher *, edf_event, edf_node *));

/* What a node is, and how it stands now: see edf_trait. edf_position: in the list of its kind.
   edf_expect_node stops, as any mistake does, unless x is a node of this graph, still there. */
int edf_is(const edf_node *x, edf_trait trait);
int edf_follows_batch(const edf_node *x, int d);     /* is dim[d] the batch?                  */
int edf_rows_fed(const edf_node *input);             /* at its last feed; below 0: of none    */
int edf_position(const edf_node *x);
void edf_expect_node(const char *who, const edf_node *x);
EDF__NORETURN void edf_stop(const char *format, ...) EDF__PRINTF(1, 2);

/* Marks the computed node `target` and what it is computed from (NULL: all), for EDF_IS_ACTIVE,
   and whom gradients would go to; returns the target before. A pass that runs marks its own;
   whoever is told of it may mark another meanwhile. */
edf_node *edf_mark(edf_node *target);

/* Of n > 0 entries; `bad` of them are NaN or infinite, norm is the root of the squares' sum. */
typedef struct { double least, greatest, mean, deviation, norm; size_t bad; } edf_statistics;
edf_statistics edf_statistics_of(const edf_real *v, size_t n);

/* A look aside: between begin and end a tool may feed and run edf_forward_to; nobody is told.
   Feeds, marks, random numbers, states and running statistics are put back, and what had run
   since the last feed runs again, with the random numbers of the last Forward: so values are as
   they were. Parameters that the tool moves it puts back itself, with edf_push. A stop ends it,
   and then all has to run again. Errors: nodes were made or cleared meanwhile. */
typedef struct edf_aside edf_aside;
edf_aside *edf_begin_aside(void);
void edf_end_aside(edf_aside *aside);

/* The gradient check of one of the program's own nodes, alone, at the values that it has, by
   eight random directions for each input; nothing is printed, all is put back: see >>check.
   Without a Backward that has come to y nothing is found. Errors: it is not of the program's
   own, it has not run since the last feed. */
typedef struct {
  edf_node *wrong_in, *assigned;         /* inputs: its gradient is wrong; is overwritten     */
  double factor;                         /* wrong is so many times the derivative; 0: none    */
  size_t unwritten, first;               /* entries that forward leaves; the first of them    */
} edf_verdict;
edf_verdict edf_verdict_of(edf_node *y);

/* Memory that belongs to the graph, as all of its own, until edf_clear: zero at first, kept
   where it grows. edf_release gives it back before; NULL is none. */
void *edf_keep(void *old, size_t bytes);
void edf_release(void *kept);

/* Text that grows, from { NULL, 0 }: edf_release(page.at) gives it back. Numbers have a point
   in every locale. Quoted, it is a string of JSON that can stand in a page's script. Of a node:
   its parts as they are printed, by >>print. */
typedef struct { char *at; size_t n; } edf_page;
typedef enum {
  EDF_SITE, EDF_SHAPE,                   /* Tanh "h" [b,8]   built at x.c:5; [b,8]            */
  EDF_FORWARD_LINE, EDF_BACKWARD_LINES,
  EDF_EQUATION_DATA                      /* JSON: letters, extents, tensors, terms            */
} edf_part;
void edf_write(edf_page *to, const char *format, ...) EDF__PRINTF(2, 3);
void edf_write_quoted(edf_page *to, const char *text, size_t n);
void edf_write_node(edf_page *to, const edf_node *x, edf_part part);

/* The words of a formula or of a printed line, one by one from { text, 0, 0, 0 }: 0 at the end
   of the line. The kind is a of a name, 0 of a number, _ of a sum or the like with what it
   goes over, sum_B,J, g of .grad, else the first character: of .flat, +=, -=, <= and others. */
typedef struct { const char *at; size_t n; char kind; int depth; } edf_word;
int edf_next_word(edf_word *w);          /* depth: in so many brackets [ ]                    */

/* A file that is written whole or not at all: w.file is a temporary one beside it, renamed at
   the end; a stop meanwhile leaves it, so put the text together before. On Unix the file that
   a link leads to is written, its mode is kept, and a pipe, a device or what is below /dev is
   written in place, w.target being "". Errors name `who`, unless that is NULL, the file and the
   system's reason. */
typedef struct { const char *who, *path; char *temporary, *target; FILE *file; } edf_writer;
edf_writer edf_create_file(const char *who, const char *path);
void edf_finish_file(edf_writer *w);
EDF__C_END
#endif

#ifdef EDF__CODE
EDF__C_BEGIN
/* ---- Who watches: first those of single nodes, then those of passes. */
static void edf__add_watcher(const char *who, edf_watcher *w, int passes) {
  edf_watcher **at = &edf.watchers;
  if (!w || !w->told) edf__die("%s: %s is NULL", who, w ? "told" : "the watcher");
  for (const edf_watcher *other = edf.watchers; other; other = other->next)
    if (other == w) edf__die("%s: it watches already", who);
  while (*at && (*at)->passes <= passes) at = &(*at)->next;
  w->passes = passes;
  w->next = *at;
  *at = w;
}

void edf_watch(edf_watcher *w) { edf__add_watcher("edf_watch", w, 0); }
void edf_watch_passes(edf_watcher *w) { edf__add_watcher("edf_watch_passes", w, 1); }

void edf_unwatch(edf_watcher *w) {
  edf_watcher **at = &edf.watchers;
  while (*at && *at != w) at = &(*at)->next;
  if (!*at) edf__die("edf_unwatch: it does not watch this graph");
  *at = w->next;
}

edf_watcher *edf_find_watcher(void (*told)(edf_watcher *, edf_event, edf_node *)) {
  edf_watcher *w = edf.watchers;
  while (w && w->told != told) w = w->next;
  return w;
}

/* ---- What a node is */
int edf_is(const edf_node *x, edf_trait trait) {
  switch (trait) {
    case EDF_HAS_FORMULA:   return x->says != NULL;
    case EDF_IS_ACTIVE:     return x->active;
    case EDF_IS_CURRENT:    return x->ran == edf.feeds;
    case EDF_NEEDS_GRAD:    return x->needs_grad;
    case EDF_HAS_BACKWARD:  return edf__runs_backward(x);
    case EDF_IS_REACHED:    return x->reached != 0;
    case EDF_GRAD_IS_ZERO:  return x->fresh;
    case EDF_MAY_STEP:      return x->kind == EDF_PARAMETER && edf__may_step(x);
    default:                return edf__is(x, trait);
  }
}

int edf_follows_batch(const edf_node *x, int d) { return (int)(x->batched >> d & 1); }
int edf_rows_fed(const edf_node *input) { return input->fed; }
int edf_position(const edf_node *x) { return x->position; }
void edf_expect_node(const char *who, const edf_node *x) { edf__check_node(who, x); }

void edf_stop(const char *format, ...) {
  va_list args;
  va_start(args, format);
  edf__vsay(format, args);
  va_end(args);
  edf__stop();
}

edf_node *edf_mark(edf_node *target) {
  edf_node *before = edf.target;
  if (target) edf__check_node("edf_mark", target);
  edf__mark(target);
  edf__each(edf__find_needs);
  return before;
}

edf_statistics edf_statistics_of(const edf_real *v, size_t n) {
  edf_statistics s = { HUGE_VAL, -HUGE_VAL, 0, 0, 0, 0 };
  for (size_t i = 0; i < n; i++) {
    double number = (double)v[i];
    s.bad += number - number != 0;
    s.least = number < s.least ? number : s.least;
    s.greatest = number > s.greatest ? number : s.greatest;
    s.mean += number;
    s.norm += number * number;
  }
  s.mean /= (double)n;
  s.norm = sqrt(s.norm);
  for (size_t i = 0; i < n; i++)
    s.deviation += ((double)v[i] - s.mean) * ((double)v[i] - s.mean) / (double)n;
  s.deviation = sqrt(s.deviation);
  return s;
}

/* ---- Memory */
void *edf_keep(void *old, size_t bytes) { return edf__grow(&edf.kept, old, bytes); }
void edf_release(void *kept) { edf__free(kept); }

/* ---- Text that grows. It belongs to the graph, so a panic leaks nothing. */
void edf_write(edf_page *to, const char *format, ...) {
  size_t room = to->at ? edf__header(to->at)->bytes : 0;
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int n = edf__format(NULL, 0, format, again);
  va_end(again);
  if (n < 0) edf__die("edf: a text cannot be written");
  if (to->n + (size_t)n >= room)
    to->at = (char *)edf__grow(&edf.kept, to->at, 2 * (to->n + (size_t)n) + 256);
  edf__format(to->at + to->n, (size_t)n + 1, format, args);
  to->n += (size_t)n;
  va_end(args);
}

void edf_write_quoted(edf_page *to, const char *text, size_t n) {
  edf_write(to, "\"");
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)text[i];
    edf_write(to, c < ' ' || c == 127 || strchr("\"\\<>&", c) ? "\\u%04x" : "%c", c);
  }
  edf_write(to, "\"");
}

/* ---- Words of a formula */
static size_t edf__name_length(const char *c) {
  size_t n = 0;
  while (edf__is_letter(c[n]) || (n && edf__is_digit(c[n]))) n++;
  return n;
}

int edf_next_word(edf_word *w) {
  static const struct { char kind; const char *text; } known[] = { { '_', "sum_" },
    { '_', "max_" }, { '_', "mean_" }, { '_', "variance_" }, { 'g', ".grad" }, { '.', ".flat" },
    { '+', "+=" }, { '-', "-=" }, { '<', "<=" } };
  const char *c = w->at += w->n, *end = c + edf__name_length(c);
  w->kind = end > c ? 'a' : *c;
  w->depth += (*c == '[') - (*c == ']');
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    size_t n = strlen(known[k].text);
    if (strncmp(c, known[k].text, n)) continue;
    w->kind = known[k].kind;
    if (end < c + n) end = c + n;
  }
  if (edf__is_digit(*c)) {
    w->kind = '0';
    edf__decimal(&end);                  /* moves it behind                                   */
  }
  while (w->kind == '_' && *end == ',' && edf__name_length(end + 1))
    end += 1 + edf__name_length(end + 1);
  if (end == c && *c && *c != '\n') end++;
  w->n = (size_t)(end - c);
  return w->n > 0;
}

/* ---- Files */
static void edf__cannot_write(const edf_writer *w, int opened, int why) {
  if (w->who) edf__say("%s: ", w->who);
  edf__say("%s: cannot be written: ", w->path);
  if (!opened && *w->temporary) edf__say("%s: ", w->temporary);
  edf__free(w->temporary);
  edf__free(w->target);
  edf__die("%s", strerror(why));
}

/* Where links lead; "" for what is no file that could be renamed. */
static char *edf__follow(const char *path) {
  edf_page at = { NULL, 0 };
  edf_write(&at, "%s", path);
#ifdef EDF__UNIX
  struct stat is;
  char to[4096];
  long links = 0, n;
  if (!stat(path, &is) && (!S_ISREG(is.st_mode) || !strncmp(path, "/dev/", 5))) *at.at = 0;
  for (; links < 40 && (n = (long)readlink(at.at, to, sizeof to)) > 0; links++) {
    const char *slash = *to == '/' ? NULL : strrchr(at.at, '/');
    at.n = slash ? (size_t)(slash + 1 - at.at) : 0;
    edf_write(&at, "%.*s", (int)n, to);
  }
#endif
  return at.at;
}

edf_writer edf_create_file(const char *who, const char *path) {
  edf_writer w = { who, path, NULL, NULL, NULL };
  edf_page name = { NULL, 0 };
  if (!path) edf__die("%s: the path of a file to write is NULL", who ? who : "edf");
  w.target = edf__follow(path);
  edf_write(&name, *w.target ? "%s.tmp" : "%s", w.target);
  w.temporary = name.at;
  w.file = fopen(*w.target ? w.temporary : path, "wb");
  if (!w.file) edf__cannot_write(&w, 0, errno);
#ifdef EDF__UNIX
  struct stat was, is;
  if (!stat(w.target, &was) && !stat(w.temporary, &is) && S_ISREG(is.st_mode))
    chmod(w.temporary, was.st_mode);
#endif
  return w;
}

/* Errors of writing show here: a full disk at the latest when the file is closed. */
void edf_finish_file(edf_writer *w) {
  int bad = ferror(w->file);
  bad |= fclose(w->file);
#ifdef _WIN32
  if (!bad) remove(w->target);           /* there rename does not replace                     */
#endif
  if (!bad && *w->target) bad = rename(w->temporary, w->target);
  int why = errno;
  if (bad) remove(w->temporary);
  if (bad) edf__cannot_write(w, 1, why);
  edf__free(w->temporary);
  edf__free(w->target);
}

/* ---- A look aside: the graph and its nodes as they were, and what a forward changes beside
   values: states of the program's nodes, unless that memory is its own, and the parameters that
   are running statistics. */
struct edf_aside {
  edf_graph was;
  edf_node *node;                        /* as they were; state: a copy of it, or NULL        */
  struct edf__lent *lent;                /* arrays that are copies meanwhile: see >>check     */
  int (*take_back)(edf_aside *a);        /* the last of them                                  */
  int n;
};

static void *edf__state_of(edf_node *x) {
  if (x->kind == EDF_PARAMETER) return x->update == edf_frozen ? edf_value(x) : NULL;
  return edf__is(x, EDF_IS_OWN) && edf_array_bytes(x->state) ? x->state : NULL;
}

edf_aside *edf_begin_aside(void) {
  size_t n = (size_t)edf__n_nodes(), room = n * sizeof(edf_node);
  edf_aside *a = (edf_aside *)edf__alloc(&edf.kept, sizeof *a + room);
  a->was = edf;
  a->n = (int)n;
  a->node = (edf_node *)(void *)(a + 1);
  for (int i = 0; i < a->n; i++) {
    void *state = edf__state_of(edf__nth(i));
    size_t bytes = state ? edf__header(state)->bytes : 0;
    a->node[i] = *edf__nth(i);
    a->node[i].state = state ? memcpy(edf__alloc(&edf.kept, bytes), state, bytes) : NULL;
  }
  edf.aside = a;
  edf.telling = 1;
  return a;
}

/* What had run runs again, all else has not; after a stop nothing has, and the next Forward
   finds the shapes. */
static void edf__run_back(edf_aside *a, int stopped) {
  while (a->lent) a->take_back(a);
  for (int i = 0; i < a->n; i++) {
    edf_node *x = edf__nth(i);
    const edf_node *was = &a->node[i];
    if (x->kind == EDF_INPUT) edf__push(x->value = was->value, 0);
    x->fed = was->fed;
    x->ran = stopped ? 0 : was->ran;
  }
  if (!stopped && a->was.batch) edf__set_batch(a->was.batch);
  edf.feeds = a->was.feeds;
  edf.draws = a->was.drawn;
  edf__mark(NULL);                       /* a device knows the inputs that are active         */
  for (int i = 0; i < edf.n_compnodes; i++)
    if (edf.compnodes[i]->ran == edf.feeds) edf__call_forward(edf.compnodes[i]);
}

/* All but what has run. 1: that belongs to other states. */
static int edf__put_back(edf_aside *a) {
  int others = 0;
  for (int i = 0; i < a->n && a->n == edf__n_nodes(); i++) {
    edf_node *x = edf__nth(i);
    void *now = edf__state_of(x), *state = a->node[i].state;
    size_t bytes = state ? edf__header(state)->bytes : 0;
    if (now && x->kind == EDF_COMPNODE) others |= !state || memcmp(now, state, bytes);
    if (now && state) memcpy(now, state, bytes);
    else if (now && x->kind == EDF_COMPNODE) memset(now, 0, edf__header(now)->bytes);
    if (now && x->kind == EDF_PARAMETER) edf_push(x);
    edf__free(state);
  }
  edf__mark(a->was.target);
  edf.aside = a->was.aside;
  edf.seed = a->was.seed;
  edf.draws = a->was.draws;
  edf.drawn = a->was.drawn;
  edf.at = a->was.at;
  edf.direction = a->was.direction;
  edf.held = a->was.held;
  edf.telling = a->was.telling;
  edf.accumulate = a->was.accumulate;
  edf.after_backward = a->was.after_backward;
  edf__free(a);
  return others;
}

void edf_end_aside(edf_aside *a) {
  if (a->n != edf__n_nodes())
    edf__die("edf_end_aside: nodes were made or cleared meanwhile");
  edf__run_back(a, 0);
  edf__put_back(a);
}

static void edf__end_asides(void) {
  for (edf_aside *a = edf.aside; a; a = edf.aside) {
    edf.aside = a->was.aside;            /* a stop meanwhile does not come here again         */
    if (a->n == edf__n_nodes()) edf__run_back(a, 1);
    edf__put_back(a);
  }
}

/* What edf.h itself does at an event, in >>watch. */
EDF__HOOK(edf__teller, edf__look)

/* To stderr, and once: what is no mistake for certain. Of a call of the program's alone. */
static void edf__remark(int *said, const char *file, int line, const char *text) {
  if (file && !(*said)++) fprintf(stderr, "%s:%d: %s\n", file, line, text);
}

/* ---- What a Backward of the program's is asked for in vain. */
static void edf__doubt_backward(const edf_node *loss) {
  static int late = 0, constant = 0;
  if (edf.late && !edf.accumulate)
    edf__remark(&late, edf.file, edf.line, edf__fmt("Backward clears gradients that %s has "
                "changed after the step: call it between Backward and the step", edf.late));
  edf.late = NULL;
  if (edf__is(loss, EDF_IS_SOFTMAX) && !loss->classes)
    edf__remark(&constant, edf.file, edf.line, "Backward of a Softmax: its rows sum to 1, so "
                "its mean is constant and every gradient is 0: is a loss of it meant?");
}

/* In a loop everything may have been built again: a list has grown since the last step, and no
   node that it had then is used any more. Of another graph all is in use. */
static void edf__doubt_step(const edf_node *first) {
  static int said = 0, none = 0, grown = 0, had[2] = { 0, 0 };
  edf_node **list[2] = { edf.compnodes, edf.parameters };
  const int n[2] = { edf.n_compnodes, edf.n_parameters };
  const edf_node *x = NULL;              /* the newest                                        */
  if (!edf.loss && !first->grad)         /* there may be nothing to step                      */
    edf__remark(&none, edf.file, edf.line,
                "a step before any Backward? Nothing has a gradient");
  for (int l = 0; l < 2; l++) {
    int i = 0;
    while (i < had[l] && had[l] < n[l] && !list[l][i]->active) i++;
    if (i && i == had[l]) x = list[l][n[l] - 1];
    had[l] = n[l];
  }
  grown = x ? grown + 1 : 0;
  if (grown != 32) return;
  const char *clear = x->kind == EDF_COMPNODE ? ", or call edf_clear_compnodes in it" : "";
  edf__remark(&said, edf.file, edf.line,
              edf__fmt("each of the last 32 steps had new nodes, and the old ones are kept: "
                       "build them before the loop%s\n  the newest of %d: %.80s \"%.80s\", "
                       "built at %.200s:%d", clear, x->position + 1, x->op, x->name, x->file,
                       x->line));
}

/* Backward of one loss again and again, with steps between and no Forward, is of old values. */
static void edf__doubt_values(int event, const edf_node *x) {
  static int said = 0, times = 0;
  static unsigned stepped = 0;           /* the graph, since its last Forward                 */
  static const edf_node *loss = NULL;
  if (edf.aside || edf.telling) return;  /* a tool's                                          */
  if (event == EDF_BEFORE_UPDATE) stepped = edf.id;
  if (event == EDF_BEGIN_FORWARD && stepped == edf.id) stepped = 0;
  if (event != EDF_BEGIN_BACKWARD) return;
  times = stepped == edf.id && x == loss && !edf.eager ? times + 1 : 0;
  loss = x;
  if (times == 8)
    edf__remark(&said, edf.file, edf.line, "eight times Backward behind a step without a "
                "Forward: the values are those from before");
}

/* ---- Who is told. The next is read first: one may leave the list while it is told. After an
   edf_clear, or in another graph, nobody is told any more. */
static int edf__notice_event(int event, edf_node *x) {
  int of_node = event == EDF_BEFORE_FORWARD || event == EDF_AFTER_FORWARD ||
                event == EDF_BEFORE_BACKWARD || event == EDF_AFTER_BACKWARD;
  int nobody = edf.telling || (!edf.watchers && !edf.look);
  edf_watcher *w = edf.watchers, *next;
  edf_node *target = edf.target;
  if (event == EDF__STOPPED && edf__run_first) edf__run_first(NULL, NULL);
  if (event == EDF__STOPPED) { edf__end_asides(); return edf.telling = 0; }
  if (event == EDF_BEGIN_BACKWARD) edf__doubt_backward(x);
  edf__doubt_values(event, x);
  if (event == EDF_BEFORE_UPDATE && !x->position) edf__doubt_step(x);
  if (nobody && event != EDF_CLEARED) return 0;
  edf.telling = 1;
  if (event == EDF_CLEARED) edf.watchers = NULL;
  for (; w && edf.telling; w = next) {
    next = w->next;
    if (!of_node || !w->passes) w->told(w, (edf_event)event, x);
  }
  edf.telling = 0;
  if (edf.target != target) edf__mark(target);       /* a tool may look at another meanwhile  */
  return edf__look && edf.look ? edf__look(event, x) : 0;
}
EDF__HOOKED(edf__teller, edf__notice, edf__notice_event)
EDF__C_END
#endif

/* ==== >>print  A program as text ========================================================= */
#ifndef EDF__PRINT_H
#define EDF__PRINT_H
EDF__C_BEGIN
/* The program, printed: forward in the notation, a line for each node with its shape and
   source line, and the backward that runs, as loops (`for b,i,j: W.grad[i,j] += ...`). A
   capital index is summed. print_node prints one node's.
   edf_formula gives a node of your own its lines, for these prints:
     edf_formula(y, "y[b,i] = max(0, x[b,i])", "x.grad[b,i] += y.grad[b,i] [y[b,i] > 0]")
   where the left side names the node, and the other tensors its inputs in their order; several
   backward lines have \n between. It is text, and not checked against the code. Without it a
   print says what the node's code is given and what it adds to. It returns the node. Errors:
   more names than inputs. */
void edf_print_program(FILE *out);
void edf_print_node(FILE *out, edf_node *node);

void edf_print(edf_node *node);                /* one screen about one node, to stdout        */
edf_node *edf_formula(edf_node *node, const char *forward, const char *backward);

#ifdef EDF_NO_DEBUG
static inline edf_node *edf__the_same(edf_node *node) { return node; }
#define edf_formula(node, f, b)       ((void)(f), (void)(b), edf__the_same(node))
#define edf_print(node)               ((void)(node))
#define edf_print_program(out)        ((void)(out))
#define edf_print_node(out, node)     ((void)(out), (void)(node))
#endif
EDF__C_END
#endif

#if defined(EDF__CODE) && !defined(EDF_NO_DEBUG)
EDF__C_BEGIN
typedef void edf__printer(edf_page *out, const edf_node *x);

/* A number of a text that Equations will read has as many digits as it needs. */
static void edf__write_number(edf_page *out, double n, int digits, int exact) {
  for (; exact && digits < 17; digits++) {
    const char *text = edf__fmt("%.*g", digits, fabs(n));
    if ((edf_real)edf__decimal(&text) == (edf_real)fabs(n)) break;
  }
  if (fabs(n) < HUGE_VAL) edf_write(out, "%.*g", digits, n);
  else edf_write(out, n < 0 ? "-1e999" : "1e999");
}

/* ---- Equations. Tensors go by the names of their nodes. In a loop every index is lower-case,
   unless two would then be the same; else a summed one is a capital, which it may have been
   given no name for. */
static void edf__write_letter(edf_page *out, const char *before, const edf__equation *e, int i,
                              int in_loop) {
  const char *name = e->letter[i].name, *first = name;
  int same = 0, left = e->letter[i].left;
  for (const edf__place *p = e->ref->place; p < e->ref->place + e->ref->rank; p++)
    left |= p->by && edf__ref_has(&e->ref[p->by]) >> i & 1;
  for (int k = 0; k < e->n_letter; k++)
    same |= k != i && !edf__compare_names(name, e->letter[k].name);
  while (*first && edf__lower(*first) == edf__upper(*first)) first++;
  int capital = !in_loop && !left && !edf__is_capital(name), none = same || !*first;
  edf_write(out, capital && none ? "%sS_" : "%s", before);
  for (const char *c = name; *c; c++)
    edf_write(out, "%c", in_loop && !same ? edf__lower(*c)
              : capital && !none && c == first ? edf__upper(*c) : *c);
}

static void edf__write_ref(edf_page *out, const edf_node *y, const edf__ref *r,
                           const char *grad, int in_loop) {
  const edf__equation *e = &((const edf__einsum *)y->state)->e;
  edf_write(out, "%s%s", edf_label(r->operand < 0 ? y : y->in[r->operand]), grad);
  for (const edf__place *p = r->place; p < r->place + r->rank; p++) {
    int empty = 1;
    edf_write(out, p > r->place ? "," : "[");
    if (p->by) { edf__write_ref(out, y, &e->ref[p->by], "", in_loop); continue; }
    for (int i = 0; i < e->n_letter; i++) {
      int factor = p->factor[i];
      if (!factor) continue;
      edf_write(out, factor < 0 ? "-" : empty ? "" : "+");
      if (abs(factor) != 1) edf_write(out, "%d*", abs(factor));
      edf__write_letter(out, "", e, i, in_loop);
      empty = 0;
    }
    if (p->constant || empty) edf_write(out, empty ? "%d" : "%+d", p->constant);
  }
  if (r->rank) edf_write(out, "]");
}

/* What the summed indices do where they do not just add up: mean_I, max_I, 1/(n-1); and what a
   gradient has of that. */
static void edf__write_reduction(edf_page *out, const edf__einsum *m, const edf__term *t,
                                 int backward) {
  double n = edf__divisor(m, t);
  int mean = m->kind == 'm', sample = m->kind == 's';
  const char *before = "_";
  if (!mean && !sample && m->kind != 'x') return;
  if (sample || (mean && backward)) {
    if (n > 0) edf_write(out, "1/%g ", n);
    else edf_write(out, sample ? "1/(n-1) " : "1/n ");
    return;
  }
  edf_write(out, mean ? "mean" : backward ? "[the first greatest]" : "max");
  for (int i = 0; !backward && i < m->e.n_letter; i++) {
    if (m->e.letter[i].left || !(edf__term_has(&m->e, t) >> i & 1)) continue;
    edf__write_letter(out, before, &m->e, i, 0);
    before = ",";
  }
  edf_write(out, " ");
}

/* A term behind its sign. The swap rule: in a gradient factor `swapped` is exchanged with the
   output; 0 is none. */
static void edf__write_term(edf_page *out, const edf_node *y, const edf__term *t, int swapped,
                            int exact) {
  const edf__einsum *m = (const edf__einsum *)y->state;
  if (!exact) edf__write_reduction(out, m, t, swapped > 0);
  if (fabs(t->number) != 1) {
    edf__write_number(out, fabs(t->number), m->kind ? 17 : 6, exact);
    edf_write(out, " ");
  }
  for (int f = t->first; f < t->first + t->n; f++) {
    if (f > t->first) edf_write(out, " ");
    edf__write_ref(out, y, &m->e.ref[f == swapped ? 0 : f], f == swapped ? ".grad" : "",
                   swapped > 0);
  }
}

/* A Lookup is printed as one. */
static int edf__has_equation(const edf_node *y) {
  return edf__is(y, EDF_IS_EQUATION) || (edf__is(y, EDF_IS_LOOKUP) && !y->says);
}
/* Writes an equation; if it is exact, as a line from which Equations makes the same node. */
static void edf__write_equation(edf_page *out, const edf_node *y, int exact) {
  const edf__einsum *m = (const edf__einsum *)y->state;
  const edf__equation *e = &m->e;
  const char *call = m->kind == 'm' ? "meanover(" : m->kind == 's' ? "sampleover("
                     : m->kind == 'x' ? "maxover(" : NULL;
  int n = 0;
  edf__write_ref(out, y, &e->ref[0], "", 0);
  edf_write(out, m->kind == 'p' ? " += " : " = ");
  if (exact && call) edf_write(out, "%s", call);
  for (const edf__term *t = e->term; t < e->term + e->n_term; t++) {
    if (t > e->term) edf_write(out, t->number < 0 ? " - " : " + ");
    else if (t->number < 0) edf_write(out, "-");
    edf__write_term(out, y, t, 0, exact);
  }
  if (exact && call) edf_write(out, ")");
  for (int i = 0; i < e->n_letter; i++) {
    if (!e->letter[i].bound) continue;
    edf__write_letter(out, n++ ? ", " : " | ", e, i, 0);
    edf_write(out, "<%d", e->letter[i].bound);
  }
  for (int d = 0; d < e->ref->rank; d++) {
    const edf__place *p = &e->ref->place[d];
    if (!p->by) continue;                /* a Scatter's classes                               */
    edf_write(out, "%s%s<%d", n++ ? ", " : " | ", edf_label(y->in[e->ref[p->by].operand]),
              p->constant + 1);
  }
}

static void edf__print_by(edf__printer *write, FILE *out, const edf_node *x) {
  edf_page page = { NULL, 0 };
  write(&page, x);
  if (page.at) fputs(page.at, out);
  edf__free(page.at);
}

/* for b,i,j: with every index of the term and of the left side, in alphabetical order. Where no
   tensor of the statement shows how far one goes, it is said: as long as a bound says, or where
   it stands in sums alone, as it was found to be. */
static void edf__write_loops(edf_page *out, const edf__einsum *m, const edf__term *t) {
  const edf__equation *e = &m->e;
  int list[EDF_MAX_INDEX], n = 0;
  for (int i = 0; i < e->n_letter; i++) {
    if (!e->letter[i].left && !(edf__term_has(e, t) >> i & 1)) continue;
    int k = n++;
    for (; k > 0 && edf__compare_names(e->letter[i].name, e->letter[list[k - 1]].name) < 0; k--)
      list[k] = list[k - 1];
    list[k] = i;
  }
  for (int k = 0; k < n; k++) {
    int shown = 0, i = list[k];
    ptrdiff_t bound = e->letter[i].bound;
    const edf__ref *r = &e->ref[0];
    for (int f = 0; f <= t->n; r = &e->ref[t->first + f++])
      for (int d = 0; d < r->rank; d++) shown |= edf__alone(e, &r->place[d]) == i;
    edf__write_letter(out, k ? "," : "for ", e, i, 1);
    if (!bound && !shown) bound = m->extent[i];
    if (bound > 0) edf_write(out, "<%td", bound);
  }
  if (n) edf_write(out, ": ");
}

/* ---- Formulas of the other nodes, with the nodes' names and letters put in. A tensor's name
   is followed by
     @  its indices                        P[b,t,k]     without those of the row that it lacks
     '  the same, if it has the last ones  b[k]
     ~  the same, those of the row summed  P[b,t,K]
     ?  the same, all but the last summed  P[B,T,k]
     $  where an operand lies in it        y[b,t+2,k]
   and alone
     ~ ?  stand for the summed ones        sum_K      !  the row's ones        k
     &    for those before the row         b,t,       #  the state's number, ## its second
     %    for the number of x's entries
   The row is what y lacks or reduces. A line of several is a statement each; what holds outside
   of training stands behind a blank line. With a $ x is every input in turn, and the formula is
   written for each, at most eight times. A user's formula has none of these. */
typedef struct {
  const edf_node *y;
  const char *text;                      /* its statements                                    */
  edf__letters l, loops;                 /* of the left side alone: what is looped over       */
  int row, operand, n_operand, on_left;
} edf__formula;
enum { EDF__SHOWN = 8 };

static edf__formula edf__formula_of(const edf_node *y, const char *text) {
  edf__formula f;
  int own = edf__is(y, EDF_IS_OWN);
  const char *blank = edf.training || own ? NULL : strstr(text, "\n\n");
  const edf_node *x = y->n_in && y->letters_of >= 0 ? y->in[y->letters_of] : y;
  int longer = x->rank > y->rank;
  f.y = y;
  f.text = blank ? blank + 2 : text;
  f.l = edf__letters_of(longer ? x : y);
  f.row = longer ? x->rank - y->rank : y->row_dims;
  f.operand = 0;
  f.n_operand = !own && strchr(text, '$') ? y->n_in : 1;
  return f;
}

/* Where a word stands in a list with a blank between; -1: nowhere. */
static int edf__find_word(const char *list, const edf_word *w) {
  for (int k = 0; *list; k++) {
    size_t n = strcspn(list, " ");
    if (n == w->n && !memcmp(list, w->at, n)) return k;
    list += n + (list[n] == ' ');
  }
  return -1;
}

/* The tensor of this name: y->says->tensors lists output and inputs. Between brackets a name is
   one if it has indices. */
static const edf_node *edf__tensor_of(const edf__formula *f, const edf_word *w) {
  const char *end = w->at + w->n;
  int indexed = *end && (strchr("[@~?'", *end) || !strncmp(end, ".grad", 5));
  int k = w->depth && !indexed ? -1 : edf__find_word(f->y->says->tensors, w);
  return k < 0 ? NULL : k ? f->y->in[k - 1 + f->operand] : f->y;
}

static void edf__loop_over(edf__formula *f, const char *name) {
  if (f->loops.n < EDF_MAX_RANK) edf__add_letter(&f->loops, name);
}

/* In a line of a user's: a small letter in a tensor's brackets, over which no sum_ goes. */
static int edf__is_free(const char *text, const edf_word *w) {
  edf_word s = { text, 0, 0, 0 };
  const char *c = w->at;
  size_t n;
  for (int open = 1; open && c > text; c--) open += (c[-1] == ']') - (c[-1] == '[');
  if (c == text || !(edf__is_letter(c[-1]) || edf__is_digit(c[-1]))) return 0;
  while (edf_next_word(&s) && s.at < w->at)
    for (c = strchr(s.at, '_'); s.kind == '_' && c < s.at + s.n; c += 1 + n)
      if ((n = edf__name_length(c + 1)) == w->n && !memcmp(c + 1, w->at, n)) return 0;
  return *w->at != edf__upper(*w->at);
}

/* Does a mark, of tensor x or alone, stand for letter d? 1: as it is, 2: as a summed one. */
static int edf__mark_has(const edf__formula *f, char mark, const edf_node *x, int d) {
  int n = f->l.n, begin = n - f->row, in_row = d >= begin, rank = x ? x->rank : 0;
  switch (mark) {
    case '@':  return d < begin || d >= begin + n - rank;
    case '\'': return d >= n - rank;
    case '~':  return in_row ? 2 : x != NULL;
    case '?':  return d < n - 1 ? 2 : x != NULL;
    case '!':  return in_row;
    case '&':  return !in_row;
    default:   return mark == '$';
  }
}

static void edf__write_mark(edf_page *out, edf__formula *f, char mark, const edf_node *x) {
  int n = 0, axis = f->l.n - f->row, from = 0, lacks = 0;
  if (!x && mark == '@') x = f->y;       /* after a name of the formula's own, mask@          */
  for (int k = 0; mark == '$' && k <= f->operand; k++) {
    lacks = f->y->in[k]->rank < f->y->rank;
    if (k < f->operand) from += lacks ? 1 : f->y->in[k]->dim[axis];
  }
  for (int d = 0; d < f->l.n; d++) {
    int has = edf__mark_has(f, mark, x, d), shifted = d == axis && (lacks || from);
    const char *name = f->l.name[d];
    if (f->on_left && (has == 1 || mark == '\'')) edf__loop_over(f, name);
    if (!has) continue;
    edf_write(out, n++ ? "," : x ? "[" : "");
    for (const char *c = name; *c && !(shifted && lacks); c++)
      edf_write(out, "%c", has == 2 ? edf__upper(*c) : *c);
    if (shifted) edf_write(out, lacks ? "%d" : "+%d", from);
  }
  if (n && (x || mark == '&')) edf_write(out, x ? "]" : ",");
}

/* One statement, up to the end of its line. A scalar's indices are left out. */
static void edf__write_formula(edf_page *out, edf__formula *f, const char *text) {
  edf_word w = { text, 0, 0, 0 };
  const edf_node *x = NULL;              /* the tensor just before                            */
  memset(&f->loops, 0, sizeof f->loops);
  for (f->on_left = 1; edf_next_word(&w); f->on_left &= w.at[w.n - 1] != '=') {
    const edf_node *tensor = edf__tensor_of(f, &w);
    int own = edf__is(f->y, EDF_IS_OWN), mark = strchr("@'~?$!&#%", w.kind) && !own;
    if (w.kind == 'a' && w.depth && !tensor && (f->on_left || (own && edf__is_free(text, &w))))
      edf__loop_over(f, w.at);
    if (w.kind == '_' && w.at[w.n] == '~' && !f->l.n) w.n += 2;      /* sum_~ of a scalar     */
    else if (tensor) edf_write(out, "%s", edf_label(tensor));
    else if (x && !x->rank && w.kind == '[') {
      w.n = strcspn(w.at, "]\n");
      w.n += w.at[w.n] == ']';
      w.depth--;
    } else if (!mark) edf_write(out, "%.*s", (int)w.n, w.at);
    else if (w.kind == '#') {
      int second = w.at[1] == '#';
      edf_write(out, "%g", (double)((const edf_real *)f->y->state)[second]);
      w.n += (size_t)second;
    }
    else if (w.kind != '%') edf__write_mark(out, f, w.kind, x);
    else if (f->y->in[0]->size) edf_write(out, "%zu", f->y->in[0]->size);
    else edf_write(out, "n");
    if (w.kind != 'g') x = tensor;
  }
}

/* ---- Any node: its line forward, of a leaf its name, and its lines backward. */
static void edf__write_forward(edf_page *out, const edf_node *y) {
  if (y->kind != EDF_COMPNODE) { edf_write(out, "%s", edf_label(y)); return; }
  if (edf__has_equation(y)) { edf__write_equation(out, y, 0); return; }
  if (!y->says) {
    edf_write(out, "%s = %s(", edf_label(y), y->op);
    for (int k = 0; k < y->n_in && k < EDF__SHOWN; k++)
      edf_write(out, "%s%s", k ? ", " : "", edf_label(y->in[k]));
    edf_write(out, y->n_in > EDF__SHOWN ? ", ...)" : ")");
    return;
  }
  edf__formula f = edf__formula_of(y, y->says->formula);
  for (; f.operand < f.n_operand && f.operand < EDF__SHOWN; f.operand++) {
    edf_write(out, f.operand ? "; " : "");
    edf__write_formula(out, &f, f.text);
  }
  if (f.n_operand > EDF__SHOWN) edf_write(out, "; ... %d more", f.n_operand - EDF__SHOWN);
  if (!y->causal || f.l.n < 2) return;
  const char *s = f.l.name[f.l.n - 1], *t = f.l.name[f.l.n - 2];
  edf_write(out, " | %s<=%s, ", s, t);
  edf__write_mark(out, &f, '~', NULL);
  edf_write(out, "<=%s", t);
}

/* for b,k: s.grad[b,k] += ... The loops are known when the statement has been written. */
static void edf__write_said_backward(edf_page *out, const edf_node *y) {
  edf__formula f = edf__formula_of(y, y->says->gradient);
  edf_page line = { NULL, 0 };
  int own = edf__is(y, EDF_IS_OWN), shown = 0;
  for (; f.operand < f.n_operand; f.operand++)
    for (const char *c = f.text; *c && (*c != '\n' || own); c += *c == '\n') {
      edf_word first = { c, 0, 0, 0 };
      const edf_node *x = edf_next_word(&first) ? edf__tensor_of(&f, &first) : NULL;
      line.n = 0;
      edf_write(&line, "%s", "");
      edf__write_formula(&line, &f, c);
      c += strcspn(c, "\n");
      if ((x && !x->needs_grad) || (shown++ >= EDF__SHOWN && f.n_operand > 1)) continue;
      edf_write(out, "       ");
      for (int d = 0; d < f.loops.n; d++)
        edf_write(out, "%s%s", d ? "," : "for ", f.loops.name[d]);
      if (y->causal && f.loops.n > 1) edf_write(out, "<=%s", f.loops.name[f.loops.n - 2]);
      edf_write(out, f.loops.n ? ": %s\n" : "%s\n", line.at);
    }
  edf_release(line.at);
  if (f.n_operand > 1 && shown > EDF__SHOWN)
    edf_write(out, "       ... %d more\n", shown - EDF__SHOWN);
}

static void edf__write_equation_backward(edf_page *out, const edf_node *y) {
  const edf__einsum *m = (const edf__einsum *)y->state;
  for (const edf__term *t = m->e.term; t < m->e.term + m->e.n_term; t++)
    for (int f = t->first; f < t->first + t->n; f++) {
      if (!y->in[m->e.ref[f].operand]->needs_grad) continue;
      edf_write(out, "       ");
      edf__write_loops(out, m, t);
      edf__write_ref(out, y, &m->e.ref[f], ".grad", 1);
      edf_write(out, t->number < 0 ? " -= " : " += ");
      edf__write_term(out, y, t, f, 0);
      edf_write(out, "\n");
    }
}

/* Of a node that has not said its formula: what its code is given, and what it adds to. */
static void edf__write_backward(edf_page *out, const edf_node *y) {
  if (edf__has_equation(y)) { edf__write_equation_backward(out, y); return; }
  if (y->says) { edf__write_said_backward(out, y); return; }
  for (int k = 0; k < y->n_in; k++) {
    if (!y->in[k]->needs_grad) continue;
    edf_write(out, "       %s.grad += by the code of %s, from %s.grad, %s", edf_label(y->in[k]),
              y->op, edf_label(y), edf_label(y));
    for (int i = 0; i < y->n_in && i < EDF__SHOWN; i++)
      edf_write(out, ", %s", edf_label(y->in[i]));
    edf_write(out, "\n");
  }
}

/* For tools: the equation as JSON: for each letter name, extent, whether it is on the left;
   tensors; terms. A place is its constant, then letter and factor in turn. */
static void edf__write_data(edf_page *to, const edf_node *y) {
  const edf__einsum *m = (const edf__einsum *)y->state;
  const edf__equation *e = &m->e;
  static const char kinds[] = "0msxp";
  int kind = m->kind ? (int)(strchr(kinds, m->kind) - kinds) : 0;
  edf_write(to, "{\"kind\":%d,\"name\":[", kind);
  for (int i = 0; i < e->n_letter; i++) {
    edf_write(to, i ? "," : "");
    edf_write_quoted(to, e->letter[i].name, strlen(e->letter[i].name));
  }
  edf_write(to, "],\"ext\":[");
  for (int i = 0; i < e->n_letter; i++) edf_write(to, i ? ",%ld" : "%ld", (long)m->extent[i]);
  edf_write(to, "],\"left\":[");
  for (int i = 0; i < e->n_letter; i++) edf_write(to, i ? ",%d" : "%d", e->letter[i].left);
  edf_write(to, "],\"ref\":[");
  for (const edf__ref *r = e->ref; r < e->ref + e->n_ref; r++) {
    edf_write(to, r > e->ref ? ",[%d,[" : "[%d,[", r->operand);
    for (int d = 0; d < r->rank; d++) {
      edf_write(to, d ? ",[%d" : "[%d", r->place[d].constant);
      for (int i = 0; i < e->n_letter; i++)
        if (r->place[d].factor[i]) edf_write(to, ",%d,%d", i, r->place[d].factor[i]);
      edf_write(to, "]");
    }
    edf_write(to, "]]");
  }
  edf_write(to, "],\"term\":[");
  for (const edf__term *t = e->term; t < e->term + e->n_term; t++)
    edf_write(to, t > e->term ? ",[%.9g,%d,%d]" : "[%.9g,%d,%d]", t->number, t->first, t->n);
  edf_write(to, "]}");
}

/* Kind, shape, place. */
static void edf__write_about(edf_page *out, const edf_node *x) {
  edf_write(out, "   %s ", x->op);
  edf_write_node(out, x, EDF_SHAPE);
  edf_write(out, "   %s:%d\n", x->file, x->line);
}

static void edf__write_line(edf_page *out, const edf_node *x) {
  edf__write_forward(out, x);
  edf__write_about(out, x);
}

static void edf__write_program(edf_page *out, const edf_node *all) {
  static const char *const title[] = { "inputs", "parameters", "forward" };
  size_t numbers = 0;
  (void)all;
  for (int i = 0; i < edf.n_parameters; i++) numbers += edf.parameters[i]->size;
  for (int i = 0; i < edf__n_nodes(); i++) {
    const edf_node *x = edf__nth(i);
    if (!x->position) edf_write(out, "%s", title[x->kind]);
    if (!x->position && x->kind == EDF_PARAMETER) edf_write(out, ", %zu numbers", numbers);
    if (!x->position) edf_write(out, "\n");
    edf_write(out, "  %3s  ", x->kind == EDF_COMPNODE ? edf__fmt("%d", x->position) : "");
    edf__write_line(out, x);
  }
  edf_write(out, edf.n_compnodes ? "backward\n" : "forward\nbackward\n");
  edf_node *before = edf_mark(edf.loss);             /* NULL: all that a loss might lead to   */
  for (int i = edf.n_compnodes - 1; i >= 0; i--) {
    const edf_node *c = edf.compnodes[i];
    if (!c->needs_grad || !c->active) continue;
    edf_write(out, "  %3d  %s\n", i, edf_label(c));
    if (c->backward) edf__write_backward(out, c);
    else edf_write(out, "       no gradient goes through\n");
  }
  edf__mark(before);
}

void edf_print_program(FILE *out) { edf__print_by(edf__write_program, out, NULL); }

static void edf__write_one(edf_page *out, const edf_node *x) {
  edf__each(edf__find_needs);
  edf__write_line(out, x);
  if (x->needs_grad && x->backward) edf__write_backward(out, x);
}

void edf_print_node(FILE *out, edf_node *node) {
  edf__check_node("edf_print_node", node);
  edf__print_by(edf__write_one, out, node);
}

/* ---- A formula of the user's. Its tensors are the names outside of brackets that are no
   functions, and those with indices. */
static void edf__collect_tensors(edf__text_of *names, const char *c, int *count) {
  edf_word w = { c, 0, 0, 0 };
  for (; edf_next_word(&w) || *w.at; w.n += !w.n) {  /* a line ends with a word of no length  */
    char next = w.at[w.n];
    if (w.kind != 'a' || next == '(' || (w.depth && next != '[')) continue;
    if (edf__find_word("ln pi flat grad if else", &w) >= 0) continue;
    if (edf__find_word(names->at, &w) >= 0) continue;
    edf__put(names, "%s%.*s", names->n ? " " : "", (int)w.n, w.at);
    ++*count;
  }
}

static void edf__check_users(const char *who, const edf_node *node) {
  edf__check_node(who, node);
  if (!edf__is(node, EDF_IS_OWN))
    edf__fail_with(node, "%s: the node is not one of your own", who);
}

edf_node *edf_formula(edf_node *node, const char *forward, const char *backward) {
  edf__text_of names = { { 0 }, 0 };
  int count = 0;
  edf__check_users("edf_formula", node);
  if (!forward || !backward) edf__die("edf_formula: %s: a formula is NULL", edf_label(node));
  edf__collect_tensors(&names, forward, &count);
  edf__collect_tensors(&names, backward, &count);
  if (count > node->n_in + 1)
    edf__fail_with(node, "edf_formula: the formula has %d tensors (%s), but the node and its "
                   "inputs are %d", count, names.at, node->n_in + 1);
  edf_op *says = (edf_op *)edf__alloc(&edf.computed, sizeof *says);
  says->tensors = edf__copy(&edf.computed, names.at);
  says->formula = edf__copy(&edf.computed, forward);
  says->gradient = edf__copy(&edf.computed, backward);
  node->says = says;
  return node;
}

/* ---- One node on one screen */
static void edf__print_numbers(const char *what, const edf_node *x, const edf_real *v,
                               size_t n) {
  enum { ROWS = 6, COLUMNS = 8 };
  size_t width = x->rank > 1 ? (size_t)x->dim[x->rank - 1] : n, rows = width ? n / width : 0;
  edf_real *finite = (edf_real *)edf_keep(NULL, n * sizeof *finite);
  size_t n_finite = 0;
  for (size_t i = 0; i < n; i++) if (v[i] - v[i] == 0) finite[n_finite++] = v[i];
  edf_statistics s = edf_statistics_of(finite, n_finite);
  edf_release(finite);
  printf("  %s: ", what);
  if (n_finite) printf("%g to %g, mean %g", s.least, s.greatest, s.mean);
  if (n_finite < n) printf(" (%zu of %zu are NaN or Inf)", n - n_finite, n);
  printf("\n");
  for (size_t b = 0; b < rows && b < ROWS; b++) {
    for (size_t i = 0; i < width && i < COLUMNS; i++)
      printf(" %11.5g", (double)v[b * width + i]);
    printf(width > COLUMNS ? " ...\n" : "\n");
  }
  if (rows > ROWS) printf(" ... %zu rows\n", rows);
}

void edf_print(edf_node *node) {
  edf__check_node("edf_print", node);
  printf("%s", edf_label(node));
  edf__print_by(edf__write_about, stdout, node);
  if (node->kind == EDF_COMPNODE) {
    printf("  ");
    edf__print_by(edf__write_forward, stdout, node);
    printf("\n");
  }
  size_t n = node->size;
  if (node->kind == EDF_INPUT && node->batched) {    /* its last feed, before a Forward too   */
    n = node->fed > 0 ? (size_t)node->fed : 0;
    for (int d = 1; d < node->rank; d++) n *= (size_t)node->dim[d];
  }
  if (node->value && n) edf__print_numbers("value", node, edf_value(node), n);
  else printf("  value: none yet\n");
  if (n > node->size) n = node->size;    /* gradients are of the last Forward's batch         */
  if (node->grad && n && node->fresh) printf("  grad: nothing has arrived yet\n");
  else if (node->grad && n) edf__print_numbers("grad", node, edf_grad(node), n);
  fflush(stdout);                        /* called from a debugger, it must show at once      */
}
EDF__C_END
#endif

#ifdef EDF__CODE
EDF__C_BEGIN
/* Name and shape are written as in messages. Without printing, they are all that is written. */
void edf_write_node(edf_page *to, const edf_node *x, edf_part part) {
#ifndef EDF_NO_DEBUG
  if (part == EDF_FORWARD_LINE) edf__write_forward(to, x);
  if (part == EDF_BACKWARD_LINES) edf__write_backward(to, x);
  if (part == EDF_EQUATION_DATA && edf__is(x, EDF_IS_EQUATION)) edf__write_data(to, x);
#endif
  if (part == EDF_SITE) edf__say_node(x);
  if (part == EDF_SHAPE) edf__say_dims(x, x->rank);
  edf_write(to, "%.*s", (int)edf__length, edf__message);
  edf__length = 0;
}
EDF__C_END
#endif

/* ==== >>check  The gradient check; needs >>print ========================================= */
#ifndef EDF__CHECK_H
#define EDF__CHECK_H
EDF__C_BEGIN
/* edf_gradcheck compares a node's backward, through everything it is computed from, with
   central differences under a random cotangent r: d/dx sum_i r[i] y[i]. It returns the worst
   |a - n| / (|a| + |n| + floor) over all parameters and wanted inputs, where floor is 1/1000
   (in float 1/20) of the tensor's largest entry and a bound on rounding, and prints a report
   with the worst entry and the likely mistake.
   Nodes of your own are also checked one by one, and held to their contract: forward writes
   every entry, backward adds, is linear in the node's gradient and reads no other, neither
   writes anything else, and both give the same when they run again, or another such node runs
   between them. At most 1000 entries of a tensor are tried, drawn at random, and of a larger
   one all along random directions; those at a kink, and those where rounding decides, are
   skipped and counted.
   Compile with -DEDF_REAL=double: below 1e-6 is right; in float one can only see errors above
   about 1e-2. Values, the states of nodes and random numbers are put back; the gradients left
   are those of edf_backward(node). Where a state was of other values, Forward has to run again.
   edf_expect_mismatch says of a node of your own that its backward is not the derivative, on
   purpose (straight-through estimators, gradient reversal); it returns the node. The check then
   fails where it is the derivative after all, and compares nothing through the node. */
double edf_gradcheck(edf_node *node);
edf_node *edf_expect_mismatch(edf_node *node);

#ifdef EDF_NO_DEBUG
static inline double edf__no_error(const edf_node *node) { return (void)node, 0; }
#define edf_gradcheck(node)           edf__no_error(node)
#define edf_expect_mismatch(node)     edf__the_same(node)
#endif
EDF__C_END
#endif

#if defined(EDF__CODE) && !defined(EDF_NO_DEBUG)
#if defined __wasi__ || defined __SANITIZE_ADDRESS__
#define EDF__NO_SIGNALS                  /* it has none; it tells of a crash itself           */
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define EDF__NO_SIGNALS
#endif
#endif
#ifndef EDF__NO_SIGNALS
#include <signal.h>
#endif
EDF__C_BEGIN
/* ---- The definition. The step h is a compromise: the error of a central difference is
   h^2 y'''/6, and that of rounding is eps |y| / h. */
static const double edf__h = EDF_REAL_IS_DOUBLE ? 1e-5 : 1e-2;
static const double edf__tolerance = EDF_REAL_IS_DOUBLE ? 1e-6 : 2e-2;
static const double edf__small = EDF_REAL_IS_DOUBLE ? 1e-3 : 5e-2;  /* of the largest entry   */
static const double edf__noise =                              /* rounding over tolerance      */
    EDF_REAL_IS_DOUBLE ? 1e6 * 1e-15 / 1e-5 : 50 * 1.2e-7 / 1e-2;
enum { EDF__TRIES = 1000, EDF__SURE = 20, EDF__DIRECTIONS = 8, EDF__GUARD = 64 };

typedef struct { size_t i; double yours, numeric; } edf__tried;     /* entry i of x           */
typedef struct {
  edf_node *node, *x;                    /* d sum_i r[i] node[i] / d x                        */
  int local, found;                      /* through this node alone; a culprit was found      */
  edf_real *r, *other, *plus, *centre;   /* two cotangents; the node at x + h and at x        */
  const edf_real *own;                   /* the values of x, of which a copy moves            */
  double left, right;                    /* the slopes on both sides of the last entry        */
  edf__tried tried[EDF__TRIES];
  size_t n, n_kink, n_noise, n_wrong, worst;
  double error, floor, noise;
} edf__check;

/* Under a random cotangent. */
static edf__check *edf__new_check(edf_node *node, int local) {
  size_t n = node->size;
  edf__check *c = (edf__check *)edf__alloc(&edf.kept, sizeof *c + 4 * n * sizeof *c->r);
  double norm = 0;
  c->node = c->x = node;
  c->local = local;
  c->r = (edf_real *)(c + 1);
  c->plus = c->r + n;
  c->centre = c->plus + n;
  c->other = c->centre + n;
  for (size_t i = 0; i < n; i++) {
    edf_real size = edf_uniform((edf_real)0.5, (edf_real)1.5);
    c->r[i] = edf__random_unit() < 0.5 ? -size : size;
    double term = (double)(c->r[i] * node->value[i]);
    if (term - term == 0) norm += term * term;
  }
  c->noise = edf__noise * (norm < HUGE_VAL ? sqrt(norm) : 0) + 1e-30;
  return c;
}

/* Every forward of the check draws the random numbers of the last Forward. */
static void edf__evaluate(edf__check *c) {
  unsigned long long draws = edf.draws;
  edf.draws = edf.drawn;
  edf_push(c->x);
  if (c->local) edf__call_forward(c->node);
  else (edf_forward_to)(c->node);
  edf_value(c->node);
  edf.draws = draws;
}

/* sum_i r[i] (to[i] - from[i]): differences first, so that less is lost to rounding. */
static double edf__difference(const edf__check *c, const edf_real *to, const edf_real *from) {
  double sum = 0;
  for (size_t i = 0; i < c->node->size; i++)
    if (to[i] != from[i])                /* infinities that stay have no difference           */
      sum += (double)c->r[i] * ((double)to[i] - (double)from[i]);
  return sum;
}

/* The difference that n entries of x make, from `first` on: each goes h up and h down, times
   its direction. */
static double edf__across(edf__check *c, size_t first, size_t n, const edf_real *direction,
                          double h) {
  const edf_real *own = c->own + first;
  edf_real *x = c->x->value + first;
  for (int down = 0; down < 2; down++) {
    for (size_t i = 0; i < n; i++)
      x[i] = (edf_real)((double)own[i] + (down ? -h : h) * (double)direction[i]);
    edf__evaluate(c);
    if (!down) memcpy(c->plus, c->node->value, c->node->size * sizeof *c->plus);
  }
  memcpy(x, own, n * sizeof *x);
  return edf__difference(c, c->plus, c->node->value);
}

/* Central difference at x[i]; and the slopes to the left and to the right. */
static double edf__slope(edf__check *c, size_t i, double h) {
  double x = (double)c->own[i], scale = fabs(x) > 1 ? fabs(x) : 1;
  double up = (double)(edf_real)(x + h * scale), down = (double)(edf_real)(x - h * scale);
  edf_real direction = (edf_real)scale;
  double across = edf__across(c, i, 1, &direction, h);
  c->left = edf__difference(c, c->centre, c->node->value) / (x - down);
  c->right = edf__difference(c, c->plus, c->centre) / (up - x);
  return across / (up - down);
}

/* The node's backward alone, from so many times the cotangent r, to gradients that begin so. */
static void edf__backward_alone(const edf__check *c, edf_real begin, edf_real times) {
  edf_node *y = c->node;
  for (int k = 0; k < y->n_in; k++)
    if (y->in[k]->grad) edf__fill(y->in[k]->grad, y->in[k]->size, begin);
  for (size_t i = 0; i < y->size; i++) y->grad[i] = times * c->r[i];
  y->backward(y);
}

/* The backward that is checked, from the cotangent r; x->grad stays until the next one. */
static void edf__your_gradient(edf__check *c) {
  edf_node *y = c->node;
  size_t bytes = y->size * sizeof *y->value;
  edf__evaluate(c);
  memcpy(c->centre, y->value, bytes);
  if (c->local) { edf__backward_alone(c, 0, 1); return; }
  edf__begin_backward(y);
  memcpy(y->grad, c->r, bytes);
  edf__backward_nodes();
  edf_grad(c->x);
}

static double edf__error(const edf__check *c, double yours, double numeric) {
  double error = fabs(yours - numeric) / (fabs(yours) + fabs(numeric) + c->floor);
  return error == error ? error : HUGE_VAL;                    /* NaN never passes            */
}

/* ---- Where a number proves nothing. If a slope does not agree and differs between right and
   left, smaller steps are tried: if right and left then still differ as much, the entry is at a
   kink, and is skipped if yours is between the two; if not, it was only near one, and the slope
   of a step that does not reach it counts. Rounding moves the numeric slope about when the step
   changes; a derivative stays. What differs by no more than that cannot be measured: so it is
   in a model that has learnt. Where many are wrong for sure, noise is not looked for. */
enum { EDF__AT_KINK = 1, EDF__IN_NOISE };
static int edf__doubt(edf__check *c, edf__tried *t) {
  static const double factor[] = { 0.5, 0.7, 1.4, 2, 3 };
  double slope = edf__slope(c, t->i, edf__h), bend = fabs(c->right - c->left);
  double slack = edf__small * bend + c->noise, least, most;
  int bent = bend >= 1e-3 * (fabs(slope) + c->floor);
  for (double h = edf__h / 16; bent && h > edf__h / 300; h /= 4) {
    slope = edf__slope(c, t->i, h);
    bent = fabs(c->right - c->left) <= 0.5 * bend;
    if (!bent && t->yours >= fmin(c->left, c->right) - slack &&
        t->yours <= fmax(c->left, c->right) + slack) return EDF__AT_KINK;
    if (bent && edf__error(c, t->yours, slope) < edf__error(c, t->yours, t->numeric))
      t->numeric = slope;
  }
  if (c->n_wrong >= EDF__SURE || edf__error(c, t->yours, t->numeric) <= edf__tolerance)
    return 0;
  least = most = t->numeric;
  for (int i = 0; i < 5; i++) {
    slope = edf__slope(c, t->i, edf__h * factor[i]);
    least = fmin(least, slope);
    most = fmax(most, slope);
  }
  int moves = fabs(t->yours - t->numeric) <= (EDF_REAL_IS_DOUBLE ? 2 : 5) * (most - least);
  return moves ? EDF__IN_NOISE : 0;
}

/* ---- Arrays are lent: a copy stands for x->value or x->grad, between so many guards, which
   nobody may write. Without any a device knows it. */
typedef struct edf__lent {
  struct edf__lent *next;
  edf_node *x;
  edf_real **at, *own;                   /* &x->value or &x->grad, and what was there         */
  size_t guards;
} edf__lent;

static edf_real edf__guard_at(size_t k) { return (edf_real)((double)k + 0.015625); }

/* Takes back what was lent last; 1: a guard was written. */
static int edf__take_back(edf_aside *a) {
  edf__lent *l = a->lent;
  edf_real *copy = *l->at - l->guards, *behind = *l->at + l->x->size;
  int written = 0;
  for (size_t k = 0; k < l->guards; k++)
    written |= copy[k] != edf__guard_at(k) || behind[k] != edf__guard_at(k);
  if (edf__seam && l->guards) edf__seam->forget(*l->at);     /* edf__free names the block     */
  *l->at = l->own;
  a->lent = l->next;
  edf__free(copy);
  edf__free(l);
  return written;
}

/* Returns what was there. */
static const edf_real *edf__lend(edf_node *x, edf_real **at, size_t guards) {
  const edf__lent lent = { edf.aside->lent, x, at, *at, guards };
  edf__lent *l = (edf__lent *)edf__alloc(&edf.kept, sizeof *l);
  size_t bytes = edf__times(x->size + 2 * guards, sizeof **at);
  edf_real *copy = (edf_real *)edf__alloc(&edf.kept, bytes), *behind = copy + guards + x->size;
  for (size_t k = 0; k < guards; k++) copy[k] = behind[k] = edf__guard_at(k);
  *at = (edf_real *)memcpy(copy + guards, *at, x->size * sizeof *copy);
  *l = lent;
  edf.aside->lent = l;
  edf.aside->take_back = edf__take_back;
  return l->own;
}

/* The values of x are lent while they move: those of an Input are the caller's, and may be
   constant. All entries of a small tensor are tried, of a large one a sample, at random. */
static void edf__borrow(edf__check *c, edf_node *x) {
  size_t all = x->size;
  c->x = x;
  c->own = edf__lend(x, &x->value, 0);
  c->n = all < (size_t)EDF__TRIES ? all : (size_t)EDF__TRIES;
  for (size_t k = 0; k < c->n; k++)
    c->tried[k].i = all == c->n ? k : (size_t)(edf__random_unit() * (double)all);
}

static void edf__give_back(edf__check *c) {
  edf__take_back(edf.aside);
  edf_push(c->x);
}

/* Yours and the slope, entry by entry. Those that differ but prove nothing are skipped: the
   last one takes their place. */
static double edf__compare(edf__check *c) {
  double largest = 0;
  edf__your_gradient(c);
  for (edf__tried *t = c->tried; t < c->tried + c->n; t++) {
    t->yours = (double)c->x->grad[t->i];
    t->numeric = edf__slope(c, t->i, edf__h);
    largest = fmax(largest, fmax(fabs(t->yours), fabs(t->numeric)));
  }
  c->floor = edf__small * (largest < HUGE_VAL ? largest : 0) + c->noise;
  c->error = 0;
  c->n_kink = c->n_noise = c->n_wrong = c->worst = 0;
  for (size_t k = 0; k < c->n;) {
    edf__tried *t = &c->tried[k];
    int doubt = edf__error(c, t->yours, t->numeric) > edf__tolerance ? edf__doubt(c, t) : 0;
    double error = edf__error(c, t->yours, t->numeric);        /* a smaller step may agree    */
    c->n_kink += doubt == EDF__AT_KINK;
    c->n_noise += doubt == EDF__IN_NOISE;
    if (doubt) { *t = c->tried[--c->n]; continue; }
    if (error > c->error) { c->error = error; c->worst = k; }
    c->n_wrong += error > edf__tolerance;
    k++;
  }
  return c->error;
}

/* ---- Of a large tensor a sample is tried; what the others do shows along eight random
   directions, all at once. One is wrong where two steps agree on another slope, by 3 % of what
   random signs would give, and x where most are: a mistake in one entry of a hundred shows. The
   factor is the one that fits best, or 0 where they scatter by more than 5 % around it. */
static int edf__wrong_in(edf__check *c, double *factor) {
  size_t n = c->x->size;
  edf_real *direction = (edf_real *)edf__alloc(&edf.kept, edf__times(n, sizeof *direction));
  double h, slack, yy = 0, yn = 0, nn = 0;
  int wrong = 0;
  edf__your_gradient(c);
  h = 1e-6 + 1e-3 * edf_statistics_of(c->x->value, n).norm / sqrt((double)n);
  slack = 0.03 * edf_statistics_of(c->x->grad, n).norm + c->noise * edf__h / h / 5;
  for (int d = 0; d < EDF__DIRECTIONS; d++) {
    double yours = 0;
    for (size_t k = 0; k < n; k++) {
      direction[k] = edf__random_unit() < 0.5 ? -1 : 1;
      yours += (double)c->x->grad[k] * (double)direction[k];
    }
    double whole = edf__across(c, 0, n, direction, h) / (2 * h);
    double quarter = edf__across(c, 0, n, direction, h / 4) / (h / 2);
    wrong += fabs(whole - yours) > slack && fabs(quarter - yours) > slack &&
             fabs(whole - quarter) < 0.3 * fabs(whole - yours);
    yy += yours * yours;
    yn += yours * quarter;
    nn += quarter * quarter;
  }
  edf__free(direction);
  wrong = wrong > EDF__DIRECTIONS / 2;
  *factor = wrong && yn * yn > (1 - 0.05 * 0.05) * yy * nn ? yn / nn : 0;
  return wrong;
}

/* ---- The report */
/* A line of the report begins: of d y / d x or, without x, of y. */
static void edf__say_of(const char *how, const edf_node *y, const edf_node *x) {
  printf("  %s  %s%s", how, x ? "d " : "", edf_label(y));
  printf(x ? " / d %s: " : ": ", x ? edf_label(x) : "");
}
#define edf__say_fail(y, x, likely, ...) (edf__say_of("FAIL", y, x), printf(__VA_ARGS__), \
                                          printf("\n        likely: %s\n", likely), 1)

static void edf__report(const edf__check *c) {
  const edf__tried *t = &c->tried[c->worst];
  int wrong = c->error > edf__tolerance;
  edf__say_of(wrong ? "FAIL" : c->n ? "ok  " : "NONE", c->node, c->x);
  printf(c->n ? "worst relative error %.2g" : "nothing was compared", c->error);
  if (wrong)
    printf(" at %s%s: yours %.6g, numeric %.6g\n        %zu of %zu entries tried are wrong",
           edf_label(c->x), edf__indices(c->x, t->i), t->yours, t->numeric, c->n_wrong, c->n);
  else printf(", %zu of %zu entries tried%s", c->n, c->x->size,
              c->n && c->floor == c->noise ? ", all of them 0" : "");
  if (c->n_kink) printf(", %zu at kinks skipped", c->n_kink);
  if (c->n_noise) printf(", %zu too small to measure", c->n_noise);
  printf("\n");
}

/* What working out that entry by hand needs: x there, and y and r where it moves y most. */
static void edf__say_there(edf__check *c) {
  const edf_node *y = c->node;
  size_t i = c->tried[c->worst].i, at = i % y->size, moved = 0;
  double most = 0;
  edf__slope(c, i, edf__h);
  for (size_t j = 0; j < y->size; j++) {
    double by = fabs((double)c->plus[j] - (double)y->value[j]);
    moved += by > 0;
    if (by > most) { most = by; at = j; }
  }
  printf("        there %s is %.6g, %s%s is %.6g and its grad %.6g; %zu of %zu move\n",
         edf_label(c->x), (double)c->x->value[i], edf_label(y), edf__indices(y, at),
         (double)c->centre[at], (double)c->r[at], moved, y->size);
}

/* ---- The likely mistake, from how yours and the numeric derivative differ. Is yours so many
   times the derivative: everywhere, where it is wrong, or in [j,i] that of [i,j]? */
enum { EDF__ALL, EDF__WRONG, EDF__TRANSPOSED };
static int edf__is_times(const edf__check *c, double factor, int where) {
  int turned = where == EDF__TRANSPOSED && c->x->rank == 2 && c->n == c->x->size;
  size_t rows = turned ? (size_t)c->x->dim[0] : 1, columns = c->n / rows;
  if (where == EDF__TRANSPOSED && (rows == 1 || columns == 1)) return 0;
  for (size_t k = 0; k < c->n; k++) {
    double yours = c->tried[k % columns * rows + k / columns].yours;
    double numeric = c->tried[k].numeric;
    int right = where == EDF__WRONG && edf__error(c, yours, numeric) <= edf__tolerance;
    if (!right && edf__error(c, yours, factor * numeric) > edf__small) return 0;
  }
  return 1;
}

/* The same check again under another cotangent: 1, or 1 in entry m and else 0. */
static double edf__again(const edf__check *c, size_t m, edf__check *again) {
  size_t n = c->node->size;
  *again = *c;
  again->r = c->other;
  for (size_t i = 0; i < n; i++) again->r[i] = m == n || i == m;
  return edf__compare(again);
}

/* When x moves: the derivative does, and yours does not. */
static int edf__stays(const edf__check *c) {
  edf__check moved = *c;
  edf_node *x = c->x;
  int stays = 1, changed = 0;
  for (size_t i = 0; i < x->size; i++)
    x->value[i] *= edf_uniform((edf_real)0.8, (edf_real)1.2);
  moved.own = edf__lend(x, &x->value, 0);
  edf__compare(&moved);
  edf__take_back(edf.aside);
  memcpy(x->value, c->own, x->size * sizeof *x->value);
  for (size_t k = 0; k < c->n; k++) {
    const edf__tried *t = &c->tried[k], *now = &moved.tried[k];
    stays &= x->grad[t->i] == (edf_real)t->yours;
    changed |= k < moved.n && now->i == t->i &&
               edf__error(c, now->numeric, t->numeric) > edf__small;
  }
  return stays && changed;
}

/* What the cotangent of entry m alone shows: yours reaches only x[m], though other entries of x
   move y[m] too; or it reaches an entry that does not. */
static int edf__say_probe(const edf__check *c, size_t m) {
  const edf_node *x = c->x, *y = c->node;
  size_t stray = x->size;
  int own = y->size == x->size, others = 0, any = 0;
  edf__check one;
  edf__again(c, m, &one);
  for (const edf__tried *t = one.tried; t < one.tried + one.n; t++) {
    int moves = fabs(t->numeric) > one.floor;
    any |= moves;
    others |= moves && t->i != m;
    own &= t->i == m || t->yours == 0;
    if (fabs(t->yours) > one.floor && fabs(t->numeric) <= one.noise) stray = t->i;
  }
  if (own && others)
    return printf("a cross term: each entry of %s moves several of %s", edf_label(x),
                  edf_label(y));
  if (!any || stray == x->size) return 0;
  return printf("a wrong index: the gradient of %s%s arrives at %s%s, on which it does not "
                "depend", edf_label(y), edf__indices(y, m), edf_label(x),
                edf__indices(x, stray));
}

/* How many entries of a gradient are not the derivative. */
static size_t edf__wrong_of(const edf__check *c, const edf_real *grad) {
  size_t wrong = 0;
  for (const edf__tried *t = c->tried; t < c->tried + c->n; t++)
    wrong += edf__error(c, (double)grad[t->i], t->numeric) > edf__tolerance;
  return wrong;
}

/* Has another input what x should have? Would yours be right if its code found in p.value what
   is in q.value, or what stands one entry before or behind? But not in numbers that have no
   gradient: they may be indices. */
static int edf__say_misread(edf__check *c) {
  edf_node *y = c->node, *x = c->x;
  int n = y->n_in, all = edf__is(y, EDF_IS_OWN) ? 3 * (n + 1) * (n + 1) : 0;
  edf__your_gradient(c);
  for (int k = 0; k < n; k++)
    if (y->in[k]->size == x->size && y->in[k]->grad && !edf__wrong_of(c, y->in[k]->grad))
      return printf("%s.grad is what this should be: are they exchanged?", edf_label(y->in[k]));
  for (int k = 0; k < all; k++) {
    int i = k / 3 % (n + 1), j = k / 3 / (n + 1), off = k % 3 - 1;
    edf_node *p = i < n ? y->in[i] : y, *q = j < n ? y->in[j] : y;
    size_t size = p->size, wrong;
    if (size != x->size || size != q->size || (p == q) != (off != 0)) continue;
    if (!p->grad || edf_statistics_of(p->grad, size).norm == 0) continue;
    const edf_real *own = edf__lend(p, &p->value, 0), *from = p == q ? own : q->value;
    for (size_t m = 0; m < size; m++) p->value[m] = from[(m + size - (size_t)off) % size];
    edf__backward_alone(c, 0, 1);
    edf__take_back(edf.aside);
    wrong = edf__wrong_of(c, x->grad);
    if (wrong > (off != 0) || 2 * wrong >= c->n_wrong) continue;
    return printf(off ? "a neighbour: %s.value is read one entry too %s"
                  : "%s.value is read where %s.value is meant", edf_label(p),
                  off > 0 ? "late" : off ? "early" : edf_label(q));
  }
  return 0;
}

/* A product y = x u(x), or exp(x) u(x), has two terms: one is y / x, or y. And what a factor
   that is lost may be: what else is read. */
static int edf__say_lost(const edf__check *c) {
  const edf_node *y = c->node, *x = c->x;
  for (int k = 0; c->n_wrong > 1 && k < y->n_in + 2; k++) {
    const edf_node *z = k < y->n_in ? y->in[k] : y;
    int lacks = 1, only = z == y, factor = 1, by_x = k > y->n_in;
    if (y->size != x->size || z->size != x->size) continue;
    for (const edf__tried *t = c->tried; t < c->tried + c->n; t++) {
      double of_z = (double)(z == y ? c->centre : z->value)[t->i];
      double by = by_x ? (double)x->value[t->i] : 1, right = by * t->numeric;
      double term = of_z * (double)c->r[t->i];
      lacks &= edf__error(c, by * t->yours + term, right) <= edf__tolerance;
      only &= edf__error(c, by * t->yours, term) <= edf__tolerance;
      factor &= edf__error(c, of_z * t->yours, right) <= edf__tolerance;
    }
    if (lacks || only || factor)
      return printf(factor ? "a lost factor: %s%s%s" : only
                    ? "a lost term of a product: yours is its grad times %s%s%s alone"
                    : "a lost term of a product: its grad times %s%s%s",
                    edf_label(z), by_x ? " / " : "", by_x ? edf_label(x) : "");
  }
  return 0;
}

static void edf__say_factor(const edf__check *c, double factor) {
  const edf_node *y = c->node, *x = c->x;
  printf("a factor: yours is %.3g times the derivative", factor);
  for (int k = 0; k < y->rank + x->rank; k++) {
    int d = k < y->rank ? k : k - y->rank, n = k < y->rank ? y->dim[d] : x->dim[d];
    if (n < 2 || (fabs(factor / n - 1) > 0.01 && fabs(factor * n - 1) > 0.01)) continue;
    printf("; dimension %d of %s is %d", d, edf_label(k < y->rank ? y : x), n);
    return;
  }
}

static void edf__say_likely(edf__check *c) {
  const char *y = edf_label(c->node), *x = edf_label(c->x), *where = ", in places";
  size_t n = c->node->size, worst = c->tried[c->worst].i % n;
  int yours_is_0 = 1, derivative_is_0 = 1, one_is_0 = 1;     /* where they differ            */
  int of[2][2] = { { 0, 0 }, { 0, 0 } };                     /* [they differ][x < 0]         */
  double yn = 0, nn = 0;
  edf__check again;
  for (const edf__tried *t = c->tried; t < c->tried + c->n; t++) {
    int wrong = edf__error(c, t->yours, t->numeric) > edf__tolerance;
    of[wrong][c->x->value[t->i] < 0]++;
    if (!wrong) continue;
    yn += t->yours * t->numeric;
    nn += t->numeric * t->numeric;
    yours_is_0 &= t->yours == 0;
    derivative_is_0 &= fabs(t->numeric) <= c->noise;
    one_is_0 &= t->yours == 0 || fabs(t->numeric) <= c->noise;
  }
  int s = of[1][1] > 0, sided = of[1][s] > 1 && of[0][!s] > 1 && !of[1][!s] && !of[0][s];
  double factor = nn > 0 ? yn / nn : 0;                      /* the one that fits best       */
  if (sided) where = edf_fmt(" where %.490s %s 0", x, s ? "<" : ">");
  edf__say_there(c);
  printf("        likely: ");
  if (yours_is_0 && edf__is_times(c, 0, EDF__ALL)) printf("the gradient is never written");
  else if (edf__is_times(c, -1, EDF__ALL)) printf("the sign");
  else if (fabs(factor) > 1e-6 && fabs(factor - 1) > 0.01 && edf__is_times(c, factor, EDF__ALL))
    edf__say_factor(c, factor);
  else if (edf__is_times(c, 1, EDF__TRANSPOSED))
    printf("transposed: yours[j,i] is the derivative for [i,j]");
  else if (yours_is_0 && sided) printf("a mask: yours is 0%s", where);
  else if (yours_is_0) printf("some entries are never written (a dropped row?)");
  else if (derivative_is_0 && edf__again(c, n, &again) > edf__small)
    printf("a mask is missing: wrong where the derivative is 0");
  else if (edf__is_times(c, -1, EDF__WRONG)) printf("the sign%s", where);
  else if (edf__say_misread(c) || edf__say_probe(c, 0) || edf__say_probe(c, n - 1) ||
           edf__say_probe(c, worst) || edf__say_lost(c)) {}
  else if (one_is_0)
    printf("a mask the wrong way round: yours is 0 where the derivative is not");
  else if (edf__stays(c))
    printf("it does not change with %s: a buffer from an earlier forward, or a factor is "
           "missing", x);
  else if (edf__again(c, n, &again) <= edf__small)    /* ones hide a cross term */
    printf("a cross term: it agrees where the gradient of %s is constant", y);
  else printf("no simple pattern; work out one entry by hand");
  printf("\n");
}

static double edf__check_directions(edf__check *c) {
  double factor;
  int all = c->x->size <= (size_t)EDF__TRIES;
  if (all || c->error > edf__tolerance || !edf__wrong_in(c, &factor)) return c->error;
  const char *by = factor == 0 ? "" : edf__fmt("; yours is %.3g times the slope", factor);
  return edf__say_fail(c->node, c->x, edf__fmt("some of the other %zu entries%s",
                       c->x->size - c->n, by), "wrong along random directions, though the %zu "
                       "entries tried are right", c->n);
}

/* d node / d x, which is said, unless the node is alone and right, or nothing is to be said. */
static double edf__check_one(edf__check *c, edf_node *x, int say) {
  edf__borrow(c, x);
  double error = edf__compare(c);
  int wrong = error > edf__tolerance;
  if (say && (wrong || !c->local)) edf__report(c);
  if (say && wrong && !c->found) edf__say_likely(c);
  if (say) error = edf__check_directions(c);
  edf__give_back(c);
  return error;
}

/* ---- What no derivative shows: the contract of a forward and a backward. Meanwhile the arrays
   of the node and of its inputs are lent: the value and gradient of y come back first. */
static int edf__is_repeated(const edf_node *y, int k) {      /* an input that came before     */
  for (int i = 0; i < k; i++) if (y->in[i] == y->in[k]) return 1;
  return 0;
}

static void edf__lend_all(edf_node *y) {
  for (int k = y->n_in - 1; k >= -1; k--) {
    edf_node *x = k < 0 ? y : y->in[k];
    if (edf__is_repeated(y, k)) continue;
    if (x->grad) edf__lend(x, &x->grad, EDF__GUARD);
    edf__lend(x, &x->value, EDF__GUARD);
  }
}

/* As a node that has no shape function, or need not have one. */
static int edf__shaped_as_first(const edf_node *y) {
  const edf_node *x = y->in[0];
  return x && x->rank == y->rank && !memcmp(x->dim, y->dim, (size_t)y->rank * sizeof *y->dim);
}

/* The guards are what they were, and the values of the inputs. */
static int edf__guards_break(const edf_node *y) {
  int broken = 0;
  while (edf.aside->lent) {
    const edf__lent l = *edf.aside->lent;
    int grad = l.at == &l.x->grad, input = !grad && l.x != y;
    int unshaped = l.at == &y->value && edf__shaped_as_first(y);
    int changed = input && memcmp(*l.at, l.own, l.x->size * sizeof *l.own);
    int outside = edf__take_back(edf.aside);
    if (outside && !broken)
      broken = edf__say_fail(y, NULL, unshaped
                             ? "an index beyond the end or below 0, or no shape function"
                             : "an index that goes beyond the end, or below 0",
                             "its code writes outside of %s%s", edf_label(l.x),
                             grad ? ".grad" : "");
    else if (changed && !broken)
      broken = edf__say_fail(y, NULL, "value where grad is meant, or a forward in place",
                             "it changes the values of %s", edf_label(l.x));
  }
  return broken;
}

/* How many entries keep what was there before: they are not written. And the first one. */
static size_t edf__forgotten(edf__check *c, size_t *first) {
  edf_node *y = c->node;
  size_t forgotten = 0;
  const edf_real before[2] = { (edf_real)12345.625, (edf_real)-54321.5 };
  for (int k = 0; k < 2; k++) {
    edf__fill(y->value, y->size, before[k]);
    edf__evaluate(c);
    memcpy(k ? c->plus : c->centre, y->value, y->size * sizeof *y->value);
  }
  for (size_t i = y->size; i-- > 0;)
    if (c->centre[i] == before[0] && c->plus[i] == before[1]) { forgotten++; *first = i; }
  return forgotten;
}

static int edf__forward_breaks(edf__check *c) {
  edf_node *y = c->node;
  size_t first = 0, forgotten = edf__forgotten(c, &first), bytes = y->size * sizeof *y->value;
  int part = first && 2 * first <= y->size && first + forgotten == y->size;
  if (forgotten)
    return edf__say_fail(y, NULL, part && edf__shaped_as_first(y)
                         ? "a forgotten shape function: it has the shape of its first input"
                         : "a loop that begins late or ends early", "forward does not write "
                         "%s%s, and %zu of %zu entries in all", edf_label(y),
                         edf__indices(y, first), forgotten, y->size);
  edf__evaluate(c);
  if (memcmp(c->centre, c->plus, bytes) || memcmp(c->plus, y->value, bytes))
    return edf__say_fail(y, NULL, "'+=' into values that are not cleared, or rand() "
                         "(edf_uniform is drawn alike), or a state that each run changes",
                         "forward gives other values when it runs again");
  return 0;
}

/* Runs the forward of another such node: a copy, with the inputs' numbers from the last to the
   first. Where there is a state the copy would share what that points to. */
static void edf__run_copy(edf_node *y) {
  for (int k = -1; k < y->n_in; k++) {
    edf_node *x = k < 0 ? y : y->in[k];
    const edf_real *own = edf__lend(x, &x->value, EDF__GUARD);
    for (size_t i = 0; x->grad && i < x->size; i++) x->value[i] = own[x->size - 1 - i];
  }
  edf_node copy = *y;
  if (!y->state) y->forward(&copy);
  for (int k = -1; k < y->n_in; k++) edf__take_back(edf.aside);
}

/* Which of its rules a backward breaks. It may only read y; it gives the same gradient again:
   after its forward, once more, and after a copy's forward; from 1024 times the cotangent one
   1024 times as high; and it adds: from 1 it arrives one higher than from 0. Else it assigns,
   which shows in the numbers only where a node is used twice, or it reads them. */
enum {
  EDF__KEEPS, EDF__CHANGES_GRAD, EDF__CHANGES_VALUE, EDF__NOT_FINITE, EDF__NOT_AGAIN,
  EDF__NOT_ALONE, EDF__READS, EDF__ASSIGNS, EDF__REPEATS, EDF__NOT_USED, EDF__NOT_LINEAR
};
static const char *const edf__breach[][2] = {                /* what is found, and likely     */
  { "", "" },
  { "its backward changes %s.grad, which it may only read",
    "the same memory used for both gradients" },
  { "its backward changes its own values, which it may only read",
    "value where grad is meant" },
  { "backward gives NaN or Inf",
    "a division by 0, or the log or square root of a negative number" },
  { "backward differs when it runs again",
    "a buffer is not cleared before it is added to, or is used up" },
  { "backward differs when another %s has run forward",
    "a static or global variable: edf_state(y, bytes) is its own" },
  { "backward reads a gradient to which it may only add",
    "the grad of an input is read where that of the node is meant" },
  { "backward does not add to what is there", "'=' where '+=' is needed" },
  { "backward does not add to what is there",
    "'=' where '+=' is needed: what repeated indices give is not added up" },
  { "backward is not linear in %s.grad", "the gradient of the node is not used" },
  { "backward is not linear in %s.grad",
    "it is cut off or squared (a cross term with it where the value belongs?), or something is "
    "added without it" }
};

static int edf__breach_of(edf__check *c, edf_node *x) {
  static const int times[] = { 1, 1, 1, 1024, 1 }, begin[] = { 0, 0, 0, 0, 1 };
  const edf_node *y = c->node;
  size_t bytes = y->size * sizeof *y->value;
  int breach = EDF__KEEPS;
  c->x = x;
  edf__your_gradient(c);
  edf_statistics s = edf_statistics_of(x->grad, x->size);
  if (memcmp(y->grad, c->r, bytes)) return EDF__CHANGES_GRAD;
  if (memcmp(y->value, c->centre, bytes)) return EDF__CHANGES_VALUE;
  if (s.bad) return EDF__NOT_FINITE;
  double usual = s.norm / sqrt((double)x->size);
  const edf_real *once = edf__lend(x, &x->grad, EDF__GUARD);
  for (int k = 0; k < 5 && !breach; k++) {
    int assigns = 1, differs = 0;
    if (k == 0) edf__evaluate(c);
    if (k == 2) edf__run_copy(c->node);
    edf__backward_alone(c, (edf_real)begin[k], (edf_real)times[k]);
    for (size_t i = 0; i < x->size; i++) {
      double was = (double)once[i], by = (double)x->grad[i] / times[k] - was;
      double slack = k < 3 ? 0 : 1e-3 * (k < 4 ? usual : 1 + fabs(was));
      if (fabs(by - begin[k]) <= slack) continue;
      differs = 1;
      assigns &= fabs(by) < slack;
    }
    if (differs) breach = k == 4 ? assigns ? EDF__ASSIGNS : EDF__READS
                        : k == 3 ? memcmp(x->grad, once, x->size * sizeof *once)
                          ? EDF__NOT_LINEAR : EDF__NOT_USED
                        : k == 2 ? EDF__NOT_ALONE : EDF__NOT_AGAIN;
  }
  edf__take_back(edf.aside);
  return breach;
}

/* With '=', where several entries of y come from one of x, the last one that arrives is all
   that is left, and the numbers are wrong too. */
static int edf__backward_breaks(edf__check *c, edf_node *x) {
  const edf_node *y = c->node;
  int breach = edf__breach_of(c, x);
  if (!breach || (breach >= EDF__NOT_USED && edf__is(y, EDF_IS_MISMATCHED))) return 0;
  if (breach == EDF__ASSIGNS && edf__check_one(c, x, 0) > edf__tolerance)
    breach = EDF__REPEATS;
  return edf__say_fail(y, breach <= EDF__CHANGES_VALUE ? NULL : x, edf__breach[breach][1],
                       edf__breach[breach][0], breach == EDF__NOT_ALONE ? y->op : edf_label(y));
}

edf_node *edf_expect_mismatch(edf_node *node) {
  edf__check_users("edf_expect_mismatch", node);
  node->is |= 1 << EDF_IS_MISMATCHED;
  return node;
}

/* ---- The check of a graph: first each node of the user's alone, which finds the culprit. Not
   once more where that is what the check through the graph will do. */
static double edf__check_alone(edf_node *y, const edf_node *whole) {
  edf__check *c = edf__new_check(y, 1);
  edf__lend_all(y);
  double worst = edf__forward_breaks(c);
  for (int k = 0; k < y->n_in && worst == 0; k++)
    if (y->in[k]->grad) worst = edf__backward_breaks(c, y->in[k]);
  if (edf__guards_break(y)) worst = 1;
  c->x = y;
  edf__evaluate(c);
  int mismatch = edf__is(y, EDF_IS_MISMATCHED), differs = 0;
  for (int k = 0; k < y->n_in && worst <= edf__tolerance; k++) {
    edf_node *x = y->in[k];
    if (!x->grad || (y == whole && !mismatch && x->kind != EDF_COMPNODE)) continue;
    double error = edf__check_one(c, x, !mismatch);
    if (mismatch) differs |= error > edf__tolerance;
    else worst = fmax(worst, error);
  }
  if (mismatch && worst == 0) {          /* on purpose: the two must differ for some input    */
    worst = !differs;
    edf__say_of(differs ? "ok  " : "FAIL", y, NULL);
    printf("its backward is %sthe derivative, %s expected\n", differs ? "not " : "",
           differs ? "as" : "but a mismatch was");
  }
  edf__free(c);
  edf__call_forward(y);
  if (worst > edf__tolerance)
    printf("        in %s, built at %s:%d\n", y->op, y->file, y->line);
  return worst;
}

/* Then through the graph; but nothing through a node whose backward is no derivative. */
static double edf__check_graph_of(edf_node *node) {
  double worst = 0;
  (edf_backward)(node);
  for (int i = 0; i < edf.n_compnodes; i++) {
    edf_node *y = edf.compnodes[i];
    if (edf__runs_backward(y) && edf__is(y, EDF_IS_OWN))
      worst = fmax(worst, edf__check_alone(y, node));
  }
  edf__check *c = edf__new_check(node, 0);
  c->found = worst > edf__tolerance;
  for (int i = 0; i < edf__n_nodes(); i++) edf__nth(i)->beyond = 0;
  for (int i = edf.n_compnodes - 1; i >= 0; i--) {
    const edf_node *y = edf.compnodes[i];
    for (int k = 0; k < y->n_in; k++)
      y->in[k]->beyond |= (char)(y->active && (edf__is(y, EDF_IS_MISMATCHED) || y->beyond));
  }
  for (int i = 0; i < edf.n_parameters + edf.n_inputs; i++) {
    edf_node *x = i < edf.n_parameters ? edf.parameters[i] : edf.inputs[i - edf.n_parameters];
    if (!x->active || !x->needs_grad) continue;
    if (!x->beyond) worst = fmax(worst, edf__check_one(c, x, 1));
    else printf("  skip  d %s / d %s: through a node whose backward is not the derivative\n",
                edf_label(node), edf_label(x));
  }
  edf__free(c);
  return worst;
}

double edf_gradcheck(edf_node *node) {
  edf__check_node("edf_gradcheck", node);
  if (edf_device) edf_device->sync(1);
  edf_aside *aside = edf_begin_aside();
  edf.after_backward = NULL;             /* other processes do not check                      */
  (edf_forward_to)(node);
  edf__each(edf__find_needs);
  edf__check_loss("edf_gradcheck", "node", node);
  printf("gradcheck of %s, built at %s:%d, in %s\n", edf_label(node), node->file, node->line,
         EDF_REAL_IS_DOUBLE ? "double" : "float: errors below 2e-2 do not show, compile with "
                                         "-DEDF_REAL=double");
  edf.accumulate = 0;
  double worst = edf__check_graph_of(node);
  edf.draws = aside->was.draws;
  (edf_forward_to)(node);
  (edf_backward)(node);
  if (!edf.held) aside->was.direction = 0;       /* gradients are those of `node` now         */
  aside->was.target = node;
  aside->was.drawn = aside->was.draws;
  edf.feeds += (unsigned)edf__put_back(aside);   /* then all has to run again                 */
  if (edf_device) edf_device->sync(0);
  return worst;
}

/* ---- An operand that the constructor was not given, y->in[n_in], is NULL, and the program
   would end without a word. What crashes when it first runs, and no longer with a node there,
   reads that. Any other crash is left as it is. */
#ifndef EDF__NO_SIGNALS
static edf_node *edf__at_first;
static void (*edf__its)(edf_node *);

static void edf__crashed(int number) {
  edf_node *y = edf__at_first;
  signal(number, SIG_DFL);
  if (!y) return;                        /* to what crashed, which ends the program           */
  edf_node behind = *y;
  int n = y->n_in;
  y->in[n] = &behind;
  edf__its(y);
  y->in[n] = NULL;
  edf__fail_at_with(y, y, "its %s reads in[%d], but it was built with %d input%s: was an "
                    "operand forgotten?", edf__its == y->shape ? "shape function" :
                    edf__its == y->forward ? "forward" : "backward", n, n, n == 1 ? "" : "s");
}

static int edf__look_behind(edf_node *y, void (*run)(edf_node *)) {
  edf__at_first = y;
  edf__its = run;
  if (!y || !edf__is(y, EDF_IS_OWN)) return 0;
  void (*before)(int) = signal(SIGSEGV, edf__crashed);
  run(y);
  signal(SIGSEGV, before);
  edf__at_first = NULL;
  return 1;
}
EDF__HOOKED(edf__runner, edf__run_first, edf__look_behind)
#endif

/* ---- For tools: the verdict on one node, at copies of its arrays and its inputs'. */
edf_verdict edf_verdict_of(edf_node *y) {
  edf_verdict v = { NULL, NULL, 0, 0, 0 };
  edf__check_users("edf_verdict_of", y);
  if (y->ran != edf.feeds) edf__no_value("edf_verdict_of", y);
  if (!edf__runs_backward(y) || !y->grad) return v;
  if (edf_device) edf_device->sync(1);
  edf_aside *aside = edf_begin_aside();
  edf__lend_all(y);
  edf__check *c = edf__new_check(y, 1);
  v.unwritten = edf__forgotten(c, &v.first);
  for (int k = 0; k < y->n_in; k++) {
    edf_node *x = y->in[k];
    if (!x->grad) continue;
    edf__borrow(c, x);
    if (!v.wrong_in && edf__wrong_in(c, &v.factor)) v.wrong_in = x;
    edf__give_back(c);
    if (!v.assigned && edf__breach_of(c, x) == EDF__ASSIGNS) v.assigned = x;
  }
  edf__free(c);
  edf_end_aside(aside);
  if (edf_device) edf_device->sync(0);
  return v;
}
EDF__C_END
#endif

/* ==== >>watch  Stepping, and who is told what runs; needs >>check ======================== */
#ifndef EDF__WATCH_H
#define EDF__WATCH_H
EDF__C_BEGIN
/* In any debugger, or from the program, edf_step_forward and edf_step_backward run one node and
   return it, NULL when the program is over. The first call begins a Forward of everything, or a
   Backward from the last loss (else from the last node); inside of one that runs, they go on
   from the node that it has stopped at, and the program follows. edf_where prints what is next,
   and how many of how many contributions the gradients that it reads and adds to have received.
   edf_break("h1") calls edf_breakpoint, an empty function, when the node of that name is about
   to run, forward or backward, so that a debugger's `break edf_breakpoint` stops there; a node
   of that name may come later. NULL takes all of these back.
   edf_find_nan looks for the first node with finite inputs and a value, or a gradient, that is
   NaN or infinite; it prints the entry, what it was computed from, and the line, and returns
   the node, or NULL. With EDF_DEBUG every value and gradient is NaN until it is written, and
   the first NaN of a Forward or Backward is reported by itself. */
edf_node *edf_step_forward(void);
edf_node *edf_step_backward(void);
void      edf_where(void);
void      edf_break(const char *name);
void      edf_breakpoint(edf_node *node, const char *name, const char *way);
edf_node *edf_find_nan(void);

#ifdef EDF_NO_DEBUG
#define edf_step_forward()            edf__the_same(NULL)
#define edf_step_backward()           edf__the_same(NULL)
#define edf_where()                   ((void)0)
#define edf_break(name)               ((void)(name))
#define edf_find_nan()                edf__the_same(NULL)
#endif
EDF__C_END
#endif

#if defined(EDF__CODE) && !defined(EDF_NO_DEBUG)
EDF__C_BEGIN
/* ---- Breakpoints: their names are the blocks of a list. */
static edf_node *volatile edf__stopped_at;

void edf_breakpoint(edf_node *node, const char *name, const char *way) {
  edf__stopped_at = *name && *way ? node : NULL;
}

/* By its name, or with its number, h@5. */
static int edf__is_called(const edf_node *x, const char *name) {
  return !strcmp(x->name, name) || (strchr(name, '@') && !strcmp(edf_label(x), name));
}

void edf_break(const char *name) {
  int found = 0;
  edf.look &= ~(unsigned)EDF__BREAKS;
  if (!name) { edf__free_list(&edf.breaks); return; }
  edf__copy(&edf.breaks, name);
  edf.look |= EDF__BREAKS;
  for (int i = 0; i < edf.n_compnodes; i++) found |= edf__is_called(edf.compnodes[i], name);
  if (!found) fprintf(stderr, "edf_break: no computed node is called %s so far\n", name);
}

/* 1: the debugger has run the node. */
static int edf__stop_at(int event, edf_node *x) {
  const edf__block *b = edf.breaks;
  if (event != EDF_BEFORE_FORWARD && event != EDF_BEFORE_BACKWARD) return 0;
  while (b && !edf__is_called(x, (const char *)b + EDF__ALIGN)) b = b->next;
  if (!b) return 0;
  edf.held = 1;
  edf_breakpoint(x, edf_label(x), event == EDF_BEFORE_FORWARD ? "forward" : "backward");
  int ran = !edf.held;
  edf.held = 0;
  return ran;
}

/* ---- One node. Without a program around it, the first begins. */
static edf_node *edf__next(void) {
  int i = edf.held ? edf.at : edf.at + edf.direction;
  for (; i >= 0 && i < edf.n_compnodes; i += edf.direction) {
    edf_node *c = edf.compnodes[i];
    if (edf.direction > 0 ? c->active : edf__runs_backward(c)) return c;
  }
  return NULL;
}

static edf_node *edf__run_next(void) {
  unsigned look = edf.look;
  edf_node *c = edf__next();
  edf.look &= ~(unsigned)EDF__BREAKS;
  edf.held = 0;
  edf.at = c ? c->position : edf.direction > 0 ? edf.n_compnodes : -1;
  if (!c) edf__end();
  else if (edf.direction > 0) edf__call_forward(c);
  else if (edf__starts_backward(c)) { c->backward(c); edf__ends_backward(c); }
  edf.look = look;
  return c;
}

/* A panic would end a debugger's session: so what it would say is said, and nothing runs. */
static edf_node *edf__no_step(const char *why, const edf_node *x) {
  fprintf(stderr, "edf_step_%s%s\n", why, x ? edf_label(x) : "");
  return NULL;
}

edf_node *edf_step_forward(void) {
  edf__passes++;
  if (edf.held && edf.direction != 1)
    return edf__no_step("forward: a Backward is running: let it end first", NULL);
  for (int i = 0; edf.direction != 1 && i < edf.n_inputs; i++)
    if (edf.inputs[i]->fed < 0) return edf__no_step("forward: first feed ", edf.inputs[i]);
  if (edf.direction != 1) edf__begin_forward(NULL);
  return edf__run_next();
}

edf_node *edf_step_backward(void) {
  edf_node *loss = edf.loss;
  edf__passes++;
  if (!loss && edf.n_compnodes) loss = edf.compnodes[edf.n_compnodes - 1];
  if (edf.direction == -1) return edf__run_next();
  if (edf.held) return edf__no_step("backward: a Forward is running: let it end first", NULL);
  edf__each(edf__find_needs);
  if (!loss) return edf__no_step("backward: the program has no computed node ", NULL);
  if (loss->ran != edf.feeds)
    return edf__no_step("backward: no Forward since the last feed has computed ", loss);
  if (!loss->needs_grad)
    return edf__no_step("backward: no parameter, and no edf_want_grad, reaches ", loss);
  edf__begin_backward(loss);
  edf__each(edf__end_fresh);             /* so that what has not arrived shows as 0           */
  return edf__run_next();
}

/* ---- Where it is: of how many contributions to x.grad, a line of a backward each, how many
   have arrived; the loss's own is its seed. */
static void edf__where_grad(const edf_node *x, const edf_node *next) {
  int all = x == edf.loss, arrived = all;
  for (int i = 0; i < edf.n_compnodes; i++) {
    const edf_node *c = edf.compnodes[i];
    const edf__einsum *m = edf__is(c, EDF_IS_EQUATION) ? (const edf__einsum *)c->state : NULL;
    const edf__equation *e = m ? &m->e : NULL;
    int lines = !edf__runs_backward(c) ? 0 : e ? e->n_ref - 1 : c->n_in;
    for (int k = 0; k < lines; k++) {
      int adds = c->in[e ? e->ref[k + 1].operand : k] == x;
      all += adds;
      arrived += adds && i > next->position;
    }
  }
  printf("       %s.grad: %d of %d contribution%s%s\n", edf_label(x), arrived, all,
         all == 1 ? "" : "s", x == next ? ", now passed on" : "");
}

void edf_where(void) {
  const edf_node *next = edf.direction ? edf__next() : NULL;
  const char *what = edf.direction > 0 ? "forward" : "backward";
  if (next) printf("%s: next is\n  %3d  ", what, next->position);
  else if (edf.direction) printf("%s: all assignments have run\n", what);
  else printf("nothing runs: the program has %d assignments\n", edf.n_compnodes);
  if (next && edf.direction > 0) edf__print_by(edf__write_line, stdout, next);
  else if (next) {
    printf("%s", edf_label(next));
    edf__print_by(edf__write_about, stdout, next);
    edf__print_by(edf__write_backward, stdout, next);
    edf__where_grad(next, next);
    for (int k = 0; k < next->n_in; k++)
      if (next->in[k]->needs_grad && !edf__is_repeated(next, k))
        edf__where_grad(next->in[k], next);
  }
  fflush(stdout);
}

/* ---- NaN and infinity: where they begin. */
static int edf__is_bad(const edf_node *x, const edf_real *v) {
  size_t i = 0;
  while (v && i < x->size && v[i] - v[i] == 0) i++;
  return v && i < x->size;
}

/* Entry i of x, and what its row has, since a row function sees all of that. */
static void edf__print_origin(const edf_node *x, size_t i) {
  size_t width = x->rank ? (size_t)x->dim[x->rank - 1] : 1;
  edf_statistics row = edf_statistics_of(x->value + i / width * width, width);
  printf("  from %s%s = %g", edf_label(x), edf__indices(x, i), (double)x->value[i]);
  if (x->rank > 1 && width > 1) printf(", its row %g to %g", row.least, row.greatest);
  edf__print_by(edf__write_about, stdout, x);
}

/* The k-th values of a term's indices; 0 after the last ones. */
static int edf__index_at(const edf__einsum *m, const edf__term *t, size_t k, ptrdiff_t *index) {
  unsigned has = edf__term_has(&m->e, t);
  for (int i = m->e.n_letter - 1; i >= 0; i--) {
    int stands = m->e.letter[i].left || has >> i & 1;
    size_t extent = stands ? (size_t)m->extent[i] : 1;
    index[i] = (ptrdiff_t)(k % extent);
    k /= extent;
  }
  return k == 0;
}

/* The product of a term at these indices. */
static double edf__product_at(const edf_node *y, const edf__term *t, const ptrdiff_t *index) {
  const edf__einsum *m = (const edf__einsum *)y->state;
  double product = t->number;
  for (int f = t->first; f < t->first + t->n; f++) {
    const edf_node *x = y->in[m->e.ref[f].operand];
    ptrdiff_t entry = edf__entry_of(m, &m->e.ref[f], x, index);
    product *= entry < 0 ? 0 : (double)x->value[entry];
  }
  return product;
}

/* The greatest product that goes into an entry of an equation. */
static void edf__print_greatest(const edf_node *y, size_t entry) {
  const edf__einsum *m = (const edf__einsum *)y->state;
  const edf__term *of = NULL;
  ptrdiff_t index[EDF_MAX_INDEX], most[EDF_MAX_INDEX];
  double greatest = -1;
  for (const edf__term *t = m->e.term; t < m->e.term + m->e.n_term; t++)
    for (size_t k = 0; edf__index_at(m, t, k, index); k++) {
      if (edf__entry_of(m, &m->e.ref[0], y, index) != (ptrdiff_t)entry) continue;
      double product = fabs(edf__product_at(y, t, index));
      if (product <= greatest) continue;
      greatest = product;
      of = t;
      memcpy(most, index, sizeof most);
    }
  if (!of) return;
  printf("  the greatest of its products is %g\n", edf__product_at(y, of, most));
  for (int f = of->first; f < of->first + of->n; f++) {
    const edf_node *x = y->in[m->e.ref[f].operand];
    ptrdiff_t from = edf__entry_of(m, &m->e.ref[f], x, most);
    if (from >= 0) edf__print_origin(x, (size_t)from);
  }
}

/* An entry's ancestry: one step back, and where an input was computed entry by entry, two. Of a
   row that was reduced the least entry: 0 makes a logarithm or a quotient infinite. */
static void edf__print_ancestry(const edf_node *y, size_t entry) {
  if (edf__is(y, EDF_IS_EQUATION)) { edf__print_greatest(y, entry); return; }
  for (int k = 0; k < y->n_in; k++) {
    const edf_node *x = y->in[k], *before = x->n_in == 1 ? x->in[0] : NULL;
    if (!x->size || (y->size % x->size && x->size % y->size)) continue;
    size_t width = x->size / y->size, from = width ? entry * width : entry % x->size;
    for (size_t i = from + 1; i < (entry + 1) * width; i++)
      if (fabs((double)x->value[i]) < fabs((double)x->value[from])) from = i;
    edf__print_origin(x, from);
    if (before && width == 1 && before->size == x->size && before->value)
      edf__print_origin(before, entry);
  }
}

static void edf__bring_all(void) {       /* messages read whole ancestries                    */
  if (edf_device) edf_device->sync(1);
  if (edf_device) edf_device->sync(0);
}

/* Returns the first of them. */
static size_t edf__print_bad(const edf_node *y, const char *grad, const edf_real *v) {
  size_t n = edf_statistics_of(v, y->size).bad, entry = 0;
  while (v[entry] - v[entry] == 0) entry++;
  printf("edf_find_nan: %s%s%s is %g: of %zu entries %zu %s NaN or infinite\n", edf_label(y),
         grad, edf__indices(y, entry), (double)v[entry], y->size, n, n == 1 ? "is" : "are");
  printf("  %s", edf_label(y));
  edf__print_by(edf__write_about, stdout, y);
  if (edf__is(y, EDF_IS_OWN) && !*grad && (edf.look & EDF__POISON) && v[entry] != v[entry])
    printf("  its forward computes that, or does not write this entry: EDF_DEBUG has put NaN "
           "there\n");
  return entry;
}

/* Does y turn finite inputs into a value that is not, or was it fed so? */
static int edf__say_bad_value(const edf_node *y) {
  int bad = !edf__is_stale(y) && edf__is_bad(y, y->value);
  for (int k = 0; bad && k < y->n_in; k++) bad = !edf__is_bad(y->in[k], y->in[k]->value);
  if (!bad) return 0;
  size_t entry = edf__print_bad(y, "", y->value);
  if (y->kind == EDF_COMPNODE) {
    printf("  ");
    edf__print_by(edf__write_forward, stdout, y);
    printf("\n");
  } else if (y->kind == EDF_INPUT) printf("  it was fed so\n");
  else printf("  after %ld steps of the optimiser\n", y->steps);
  edf__print_ancestry(y, entry);
  fflush(stdout);
  return 1;
}

/* The same of its backward, for the gradients of its inputs. */
static int edf__say_bad_grad(const edf_node *y) {
  int k = edf__runs_backward(y) && y->grad && !edf__is_bad(y, y->grad) ? 0 : y->n_in;
  while (k < y->n_in && (y->in[k]->fresh || !edf__is_bad(y->in[k], y->in[k]->grad))) k++;
  if (k == y->n_in) return 0;
  const edf_node *x = y->in[k];
  size_t entry = edf__print_bad(x, ".grad", x->grad);
  printf("  computed by the backward of %s", edf_label(y));
  edf__print_by(edf__write_about, stdout, y);
  edf__print_by(edf__write_backward, stdout, y);
  edf__print_origin(x, entry);
  if (y->size == x->size) edf__print_origin(y, entry);
  fflush(stdout);
  return 1;
}

edf_node *edf_find_nan(void) {
  edf__bring_all();
  for (int i = 0; i < edf__n_nodes(); i++)
    if (edf__say_bad_value(edf__nth(i))) return edf__nth(i);
  for (int i = edf.n_compnodes - 1; i >= 0; i--)
    if (edf__say_bad_grad(edf.compnodes[i])) return edf.compnodes[i];
  return NULL;
}

/* ---- EDF_DEBUG: what is not written yet is NaN; the first one that is computed is told by
   itself, once. */
static void edf__poison_grad(edf_node *x) {
  if (x->grad && x->fresh) edf__fill(x->grad, x->size, (edf_real)NAN);
}

static void edf__look_for_nan(const edf_node *x, int forward) {
  if (!(edf.look & EDF__FINITE)) return;
  edf__bring_all();
  if (forward ? edf__say_bad_value(x) : edf__say_bad_grad(x))
    edf.look &= ~(unsigned)EDF__FINITE;
}

static int edf__look_at(int event, edf_node *x) {
  int poison = (edf.look & EDF__POISON) != 0;
  if (poison && event == EDF_BEFORE_FORWARD) edf__fill(x->value, x->size, (edf_real)NAN);
  for (int k = 0; event == EDF_BEFORE_FORWARD && k < x->n_in; k++)
    if (x->in[k]->kind != EDF_COMPNODE) edf__look_for_nan(x->in[k], 1);
  if (poison && event == EDF_BEGIN_BACKWARD) edf__each(edf__poison_grad);
  if (event == EDF_AFTER_FORWARD || event == EDF_AFTER_BACKWARD)
    edf__look_for_nan(x, event == EDF_AFTER_FORWARD);
  return (edf.look & EDF__BREAKS) && edf__stop_at(event, x);
}

EDF__HOOKED(edf__teller, edf__look, edf__look_at)
EDF__C_END
#endif

#undef EDF__CODE

/* ==== >>names  Short names of all that follows Part One ================================= */
#if !defined(EDF_NO_SHORT_NAMES) && !defined(EDF__MORE_NAMES)
#define EDF__MORE_NAMES
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
#define BCELoss         edf_bce_loss
#define MSE             edf_mse
#define MaskedMean      edf_masked_mean
#define Dropout         edf_dropout
#define Reshape         edf_reshape
#define Momentum        edf_momentum
#define AdaGrad         edf_adagrad
#define RMSProp         edf_rmsprop
#define Adam            edf_adam
#define AdamDefault     edf_adam_default
#define AdamW           edf_adamw
#endif

/* History
   3.0  four headers: edf_slide.h (slides, layers, submitted backwards) and edf_data.h (data,
        saved models) leave edf.h; edf_op and edf_node_at are public; EDF_IMPLEMENTATION
        implements every header that a file includes
   2.0  two headers: edf_doctor, edf_trace_begin, edf_trace_end, edf_log(name, value),
        edf_log_scale, edf_plot_svg, edf_print_latex, edf_write_dot and edf_contact_sheet are in
        edf_lab.h now; watchers and tools are public; an Einsum is named by its left side
   1.3  a GPU behind the same program (edf_cuda.cu), several processes, edf_input_from
   1.2  programs printed as loops, stepping, the doctor, the trace page, curves
   1.1  functions over named indices, layers, recurrence, optimisers, saved models, threads
   1.0  the graph, the notation, one kernel

   MIT licence. Copyright (c) 2026 the edf.h authors

   Permission is hereby granted, free of charge, to any person obtaining a copy of this
   software and associated documentation files (the "Software"), to deal in the Software
   without restriction, including without limitation the rights to use, copy, modify, merge,
   publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons
   to whom the Software is furnished to do so, subject to the following conditions: The above
   copyright notice and this permission notice shall be included in all copies or substantial
   portions of the Software.

   THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED,
   INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR
   PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE
   FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
   OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER
   DEALINGS IN THE SOFTWARE. */
