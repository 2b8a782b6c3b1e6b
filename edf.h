/* edf.h - v4.0 - the Educational Framework: backpropagation in one C header
   C99 and C++11. Needs the C library alone. MIT licence (at the end of the file).

   A program declares Inputs and Parameters and computes CompNodes from them. Three passes run:
   Forward computes values, Backward computes gradients, SGD moves the Parameters. A node has a
   C function for each of the first two. Sums of products are written as loops over indices, and
   one kernel runs them. This is s[b,j] = sum_I W[I,j] x[b,I]:

       edf_loops("bj = Ij, bI", edf_values(s), edf_values(W), edf_values(x));

       #define EDF_IMPLEMENTATION      in exactly one C or C++ file, before the include
       #include "edf.h"
       cc -g hw1.c -lm                 is enough; -O3 -march=native makes it fast

   Promises
     - Nodes run in the order in which the program built them.
     - A value is a plain row-major C array: print y->value[3] in a debugger.
     - A mistake stops the program with names, shapes and source lines.
     - After Backward(loss) every grad is the derivative of the mean of loss.
     - Nothing is clamped. NaN and infinity pass through, unless a mask or a slope of exactly 0
       (Relu, Square) stops them.
   Input, Parameter and CompNode are three names of one C type, edf_node. So any node can be an
   operand, and C needs no casts. The price: edf_feed(h, data, 1) compiles for a CompNode h, and
   stops only when it runs. These calls check the kind and name it in their errors:
     Input      edf_feed edf_batches edf_next
     Parameter  edf_update edf_init_uniform edf_init_normal edf_set, the statistics of BatchNorm
     CompNode   edf_backward edf_gradcheck edf_formula edf_expect_mismatch edf_check_backward
                edf_doctor edf_check edf_try
   "The slides" are those of the university course for which EDF was written.
   The framework will not have operator overloading, a class hierarchy of layers, configuration
   files, plugins, several number types in one graph, or a thread pool.

   Reading guide. Search for >>name. `make lines` prints the length of each chapter.
     The interface, all that a program can use:
       >>example >>config >>api                     >>names (at the end of the file)
     The framework:
       >>errors >>memory >>core >>backward >>init >>nodes >>loops >>declarations >>products
       >>losses >>optim
     The fast form of >>loops, which computes the same:      >>kernel
     What shows and checks a program:                        >>tools >>print >>check >>step
   For a first reading: >>example, then Relu and Affine in >>nodes and >>products, then
   edf_forward in >>core and edf_backward in >>backward.
   Companions include this file: edf/slide.h (equations and whole slides as programs),
   edf/layers.h, edf/judge.h (submitted backwards), edf/data.h (data, saved models), edf/onnx.h,
   edf/c.h (a model as a C file), edf/doctor.h (what is wrong with a training?) and edf/lab.h
   (doctor, curves, trace). */

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
   EDF_IMPLEMENTATION  -              compiles the code too, in exactly one file
   EDF_LINKED          -              overrides EDF_IMPLEMENTATION: an object file has the code
   EDF_REAL            float          float or double, the same in every file of a program
   EDF_CBLAS           -              uses the CBLAS of <cblas.h> for matrix products
   EDF_NO_SHORT_NAMES  -              defines only names that begin with edf or EDF_
   EDF_DEBUG           -              values start as NaN, and each pass reports the first NaN
   EDF_NO_DEBUG        -              removes printing, checking and stepping
   EDF_PANIC(message)  print, abort   handles an error. It may longjmp, and must not return. The
                                      message lasts until the next call. After a longjmp the
                                      failed call has done a part of its work.
   EDF_MALLOC(n) EDF_FREE(p)          replace the C library's; define both or neither
   With OpenMP (-fopenmp) products and loops run on all its threads, and small nodes share the
   batch. Beside another program that slows threads down, one runs alone. The bits are the same.
   Set OMP_NUM_THREADS, and keep a BLAS at one thread.                                       */

#define EDF_VERSION 400          /* 4.0 */
#if defined __cplusplus ? !defined _MSC_VER && __cplusplus < 201103L \
    : !defined _MSC_VER && (!defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L)
#error "edf.h is C99 and C++11: cc -std=c99 or c++ -std=c++11, or newer"
#include "edf.h: an older standard"      /* This file does not exist: a compiler stops here.  */
#endif
#ifndef EDF_REAL
#define EDF_REAL float
#endif
#ifdef __cplusplus
#define EDF__C_BEGIN extern "C" {
#define EDF__C_END }
#else
#define EDF__C_BEGIN
#define EDF__C_END
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
#ifdef __MINGW_PRINTF_FORMAT             /* Windows has two kinds of printf.                  */
#define EDF__PRINTF(f, a) EDF__ATTRIBUTE(format(__MINGW_PRINTF_FORMAT, f, a))
#else
#define EDF__PRINTF(f, a) EDF__ATTRIBUTE(format(printf, f, a))
#endif
#if defined __OPTIMIZE__ && defined __GNUC__ && !defined __clang__
#define EDF__BEGIN_COLD _Pragma("GCC push_options") _Pragma("GCC optimize(\"Og\")")
#define EDF__END_COLD _Pragma("GCC pop_options")
#else                                    /* gcc takes half the time for code that no step     */
#define EDF__BEGIN_COLD                  /* runs, such as printing, if it need not be fast.   */
#define EDF__END_COLD
#endif
#define EDF__USED EDF__ATTRIBUTE(used)
#define EDF__NORETURN EDF__ATTRIBUTE(noreturn)

#define EDF_MAX_RANK   8         /* dimensions of a tensor          */
#define EDF_MAX_INDEX  16        /* indices of an equation          */
#define EDF_MAX_FACTOR 8         /* tensors multiplied in one term  */

/* ---- >>api  Nodes, lists and the three passes ----------------------------------------------

   Names as on the slides have short forms, see >>names: Forward() is edf_forward().         */

EDF__C_BEGIN
typedef EDF_REAL edf_real;

/* Two files with different EDF_REAL do not link: each refers to the symbol of its own type. */
#define EDF__TYPE_MARK EDF__PASTE(edf_real_is_, EDF_REAL)
extern const char EDF__TYPE_MARK;
static const char *const edf__type_mark EDF__USED = &EDF__TYPE_MARK;

typedef struct edf_node edf_node;
typedef enum { EDF_INPUT, EDF_PARAMETER, EDF_COMPNODE } edf_kind;

struct edf_node {
  edf_kind     kind;
  const char  *op;                       /* "Affine"                                          */
  const char  *name;                     /* "h1"                                              */
  const char  *file;                     /* the source file that built it                     */
  int          line;                     /* the line there                                    */
  int          rank;                     /* number of dimensions                              */
  int          dim[EDF_MAX_RANK];        /* shape; 0 for a batch that is not known yet        */
  size_t       size;                     /* product of dim                                    */
  edf_real    *value;                    /* row-major                                         */
  edf_real    *grad;                     /* row-major; NULL if no gradient is needed          */
  edf_node   **in;                       /* inputs; in[n_in] is NULL                          */
  int          n_in;                     /* number of inputs                                  */
  void        *state;                    /* memory of the node, see edf_state                 */
  void       (*shape)(edf_node *);       /* sets rank and dim from the inputs'                */
  void       (*forward)(edf_node *);     /* writes value from the inputs' values              */
  void       (*backward)(edf_node *);    /* adds to the inputs' gradients; may be NULL        */
  void       (*update)(edf_node *, edf_real eta);      /* a Parameter's own rule, or NULL     */
  edf_real    *m;                        /* an optimiser's mean of the gradients              */
  edf_real    *s;                        /* an optimiser's mean of their squares              */
  long         steps;                    /* optimiser steps that a Parameter has made         */
  /* read-only */
  const struct edf_op *about;            /* its formulas; NULL after edf_compnode             */
  int          position;                 /* index in its list                                 */
  int          fed;                      /* rows of an Input's last feed, -1 if never fed     */
  unsigned     batched;                  /* bit d is 1 if dim[d] depends on the batch         */
  unsigned long ran;                     /* edf.feeds when forward last ran                   */
  char         active;                   /* 1 if the pass includes it                         */
  char         needs_grad;               /* 1 if it depends on a Parameter that is not frozen */
                                         /* or on a wanted node, by nodes with a backward     */
  char         reached;                  /* 1 if the last Backward gave it a gradient, or     */
                                         /* with edf.accumulate an earlier one                */
  char         mismatch_expected;        /* 1 after edf_expect_mismatch                       */
  /* private */
  char         wanted;                   /* 1 after edf_want_grad                             */
  char         grad_is_zero;             /* 1 if grad counts as 0, whatever its memory holds  */
  struct edf_note *note;                 /* what a companion keeps about it, or NULL          */
  const struct edf_op *code;             /* its functions on the host, also if a device has   */
                                         /* replaced forward and backward                     */
  void       (*check)(const edf_node *); /* stops at a wrong class number; or NULL            */
  struct edf__planned *planned;          /* the plans of its loops                            */
  const char  *label;                    /* the last text h@119 of edf_label, or NULL         */
  unsigned long long version;            /* number of the newest move of a Parameter that is  */
                                         /* in its value: see >>core                          */
};

/* A text that grows, from { NULL, 0 }: see edf_write. */
typedef struct { char *at; size_t n; } edf_page;

/* What a companion keeps about a node. Its own struct begins with this one. print is used
   before that of the op. It writes the node's line, or if `backward` is 1, lines that end with
   a newline. If it writes no line, a printed program shows only the heading. It may change the
   heading. */
typedef struct edf_note {
  const char *heading;                   /* stands above the nodes that have it; or NULL      */
  void (*print)(edf_page *to, const edf_node *y, int backward);    /* NULL: as its op says    */
} edf_note;

/* A kind of node. Its formulas are in the notation of edf/slide.h. The index i stands for all
   indices. k and n stand for the last ones, which form a row, and b for those before the row. A
   capital K is summed over. A K alone, as in "/ K", is the number of its values. */
typedef struct edf_op {
  const char *name;                      /* "Tanh"                                            */
  void (*shape)(edf_node *);             /* NULL: the shape of the first input                */
  void (*forward)(edf_node *);           /* writes every entry of y->value                    */
  void (*backward)(edf_node *);          /* adds to the gradients of the inputs; may be NULL  */
  const char *tensors;                   /* "y x": names of output and inputs in the formulas */
  const char *formula;                   /* "y[i] = tanh(x[i])"; NULL: it prints as Tanh(x)   */
  const char *gradient;                  /* "x.grad[i] += y.grad[i] (1 - y[i]^2)"             */
  int flags;                             /* EDF_LOOPS, EDF_TESTED                             */
  void (*print)(edf_page *to, const edf_node *y, int backward);    /* NULL: by the formulas   */
} edf_op;
enum {                                   /* the flags of an op                                */
  EDF_LOOPS = 1,                         /* its code adds to gradients by edf_loops and       */
                                         /* edf_run alone, and writes the value by them       */
  EDF_TESTED = 2,                        /* edf_gradcheck need not check such a node alone    */
  EDF_HELD = 4,                          /* It has no gradient on purpose, as stop(x):        */
                                         /* edf_gradcheck holds its value                     */
  EDF_MASKS = 8,                         /* An infinity in its value, or in the logarithm of  */
                                         /* its value, is a mask: no mistake for edf_find_nan */
  EDF__WAITS = 16                        /* Its code only calls edf_loops and edf_run, and    */
                                         /* reads no array itself: so these calls may wait    */
};

/* The events of which edf.told is notified: see "For companions and tools" below. */
typedef enum {
  EDF_BEGIN_FORWARD, EDF_END_FORWARD, EDF_BEGIN_BACKWARD, EDF_END_BACKWARD, EDF_BEFORE_UPDATE,
  EDF_CLEARED
} edf_event;

/* The whole graph is one value. Two assignments switch graphs: edf_graph a = edf; edf = b; */
typedef struct edf_graph {
  edf_node **inputs;                     /* the nodes, in order of construction               */
  edf_node **parameters;
  edf_node **compnodes;
  int n_inputs;
  int n_parameters;
  int n_compnodes;
  int training;                          /* 1; set it to 0 to evaluate (dropout, batch norm)  */
  int eager;                             /* 0; if 1, a constructor runs its node              */
  int accumulate;                        /* 0; if 1, Backward adds to Parameters' gradients   */
  int reuse_gradients;                   /* 0; if 1, several steps may follow one Backward    */
  int kernel;                            /* EDF_FASTEST, EDF_BUILTIN or EDF_REFERENCE         */
  unsigned long long seed;               /* 1; random number n depends on seed and n alone    */
  unsigned long long draws;              /* 0; random numbers drawn since edf_seed            */
  void (*after_backward)(void);          /* NULL, or a function that Backward calls last      */
  void (*told)(edf_event event, edf_node *x);      /* NULL, or a tool's callback              */
  void (*stopped)(const char *message);  /* NULL, or gets an error before EDF_PANIC does      */
  /* read-only */
  edf_node *loss;                        /* of the last Backward, or NULL                     */
  const struct edf_rule *rule;           /* of the last step, or NULL                         */
  edf_real numbers[5];                   /* its numbers; of a rule of your own only the first */
  const char *step_file;                 /* the call that made this step, or NULL             */
  int step_line;
  unsigned long feeds;                   /* grows with each feed and each change of batch     */
  int at;                                /* position of the running CompNode, or -1           */
  /* private */
  int direction;                         /* of the pass: 1 forward, -1 backward, 0 none       */
  edf_node *running;                     /* the node whose code runs, or NULL                 */
  int looking;                           /* 1 while a call that only looks runs passes        */
  int gradients;                         /* whether a step may use them: EDF__NO_GRADIENTS    */
  int batch;                             /* the batch of the present shapes, 0 if unknown     */
  const char *batch_name;                /* "b"                                               */
  int n_packages;                        /* parameter structs made so far                     */
  struct edf__block *nodes[4];           /* the nodes themselves, see >>memory                */
  struct edf__block *kept;               /* memory that edf_clear frees                       */
  struct edf__block *computed;           /* memory that edf_clear_compnodes frees too         */
  struct edf__block *scratch;            /* memory of one call, such as edf_gradcheck         */
  struct edf__workspace *workspace;      /* of the kernel, one for each thread                */
  unsigned clears;                       /* the count of all clears, after the last one here  */
  const char *file;                      /* of the call that runs, for messages               */
  int line;
} edf_graph;

extern edf_graph edf;
#define EDF__HERE __FILE__, __LINE__
#define EDF__CALL(...) \
  (edf.file = __FILE__, edf.line = __LINE__, __VA_ARGS__, edf.file = NULL, (void)0)
/* A macro may have the name of its function: (edf_feed)(x, data, 1) is the function.         */

/* Declares an Input by name and shape: edf_input("x[b,784]"), edf_input("x[b,i=%d]", n). A
   first index without a number is the batch. Each feed gives its size. A scalar has no
   brackets. edf_parameter("W[784,64]") declares a Parameter, which is 0 and has no batch. A
   second Parameter W is named W@3, by its position.
   Errors: a malformed declaration, or one of more than 255 characters. */
#define edf_input(...)     edf_input_at(EDF__HERE, __VA_ARGS__)
#define edf_parameter(...) edf_parameter_at(EDF__HERE, __VA_ARGS__)
edf_node *edf_input_at(const char *file, int line, const char *decl, ...) EDF__PRINTF(3, 4);
edf_node *edf_parameter_at(const char *file, int line, const char *decl, ...) EDF__PRINTF(3, 4);

/* Makes a node of your own that has the shape of its first input. Write it as a macro, so that
   messages name the line that calls it:
     #define MyRelu(x) edf_compnode("MyRelu", relu_forward, relu_backward, x)
   forward writes every entry of y->value. backward adds y->grad times the derivative to the
   inputs by edf_addgrad. If backward is NULL, no gradient flows. edf_compnode_shaped("Op",
   shape, forward, backward, x) has another shape: `shape` sets y->rank and y->dim. The
   functions look like Relu's in >>nodes. edf_gradcheck checks a node.
   Errors: no name, no forward, an operand that is no node of this graph. */
#define edf_compnode(op, forward, ...) edf_compnode_shaped(op, NULL, forward, __VA_ARGS__)
#define edf_compnode_shaped(op, shape, forward, ...) \
  edf_compnode_at(EDF__HERE, op, shape, forward, __VA_ARGS__, (edf_node *)0)
edf_node *edf_compnode_at(const char *file, int line, const char *op, void (*shape)(edf_node *),
                          void (*forward)(edf_node *), void (*backward)(edf_node *), ...);

/* Make a node of a kind of your own, which prints like a built-in one. The op is not copied:
   make it static.
     static const edf_op cube_op = { "Cube", NULL, cube_forward, cube_backward, "y x",
       "y[i] = x[i]^3", "x.grad[i] += y.grad[i] 3 x[i]^2", 0, NULL };
     #define Cube(x) edf_node1(&cube_op, __FILE__, __LINE__, x)
   edf_node_at makes a node of n operands. Its state is a copy of `bytes` bytes, or empty if
   `state` is NULL. In the formulas the index i stands for all indices, and p for the first
   edf_real of the state. Do not set EDF_LOOPS if backward calls edf_addgrad: with this flag
   x.grad still has old numbers, and the first edf_loops overwrites them.
   Errors: as edf_compnode. */
edf_node *edf_node1(const edf_op *op, const char *file, int line, edf_node *x);
edf_node *edf_node2(const edf_op *op, const char *file, int line, edf_node *a, edf_node *b);
edf_node *edf_node_at(const edf_op *op, const char *file, int line, int n, edf_node **in,
                      const void *state, size_t bytes);

/* Adds d to x.grad[i] if x has a gradient. */
static inline void edf_addgrad(edf_node *x, size_t i, edf_real d) {
  if (x->grad) x->grad[i] += d;
}

/* Returns y->state, at least `bytes` long. It is 0 at first and is kept when it grows. */
void *edf_state(edf_node *y, size_t bytes);

/* Sets the name that messages and prints show, and returns the node. A node is named after its
   op and position, an Einsum after its left-hand side. edf_label returns the name, or h@119 for
   a CompNode if several nodes are named h. Names and labels are copies, and last as long as the
   node, also after it gets another name. But the names of files are not copied. */
edf_node *edf_name(edf_node *node, const char *name);
const char *edf_label(const edf_node *node);

/* Asks Backward for the gradient of an Input, or of a node computed from Inputs alone. Returns
   the node. */
edf_node *edf_want_grad(edf_node *node);

/* Gives an Input `batch` rows of data. All Inputs of a pass that have a batch get the same
   number of rows. An Input without a batch takes its whole tensor: batch is 1, or its first
   dimension, with the same effect. The data is not copied: it must stay unchanged until the
   next feed or the end of Backward. Errors: no Input, no data, a batch below 1. */
void edf_feed(edf_node *input, const edf_real *data, int batch);
#define edf_feed(input, ...) EDF__CALL(edf_feed(input, __VA_ARGS__))

/* Forward: for c in CompNodes: c.forward(). Shapes follow the batch. edf_forward_to(x) runs
   only the nodes that x depends on, for example to predict without labels.
   Errors: an Input that was never fed, Inputs that disagree on the batch. */
void edf_forward(void);
void edf_forward_to(edf_node *node);
#define edf_forward()        EDF__CALL(edf_forward())
#define edf_forward_to(node) EDF__CALL(edf_forward_to(node))

/* Backward: all grads = 0; the n entries of loss.grad = 1/n; for c in reversed CompNodes:
   c.backward(). So each grad is the derivative of the mean of the loss. (The slides begin with
   loss.grad = 1, and divide by n at the Parameter.) edf.after_backward is called at the end:
   processes add up their gradients there, see examples/mpi_mnist.c. Errors: no Forward since
   the last feed, a loss that depends on no Parameter and on no wanted Input, a loss that
   depends on a Parameter that has moved since Forward. */
void edf_backward(edf_node *loss);
#define edf_backward(loss) EDF__CALL(edf_backward(loss))

/* An optimiser is a rule. run(p, c) makes one step of Parameter p from p->grad, with the
   numbers c; c[0] is eta. If needs_m or needs_s is 1, p->m or p->s has p->size numbers, 0 at
   first. */
typedef struct edf_rule {
  const char *name;
  void (*run)(edf_node *p, const edf_real *c);
  int needs_m;
  int needs_s;
} edf_rule;

/* SGD: for p in Parameters: p -= eta p.grad. edf_step(&rule, c) makes one step, by any rule, of
   each Parameter that the last Backward reached. If p->update is a function, the step calls it
   with (p, eta) instead. There edf_update(p, &rule, c) runs a rule for p alone. A Parameter
   with p->update = edf_frozen has no gradient and makes no step. Your own optimiser is a
   function and two lines:
     static const edf_rule sign = { "Sign", sign_step, 0, 0 };
     edf_step(&sign, &eta);
   Errors of a step: no Backward so far, or none since the last step. The second is no error if
   edf.reuse_gradients is 1. A program that computes gradients of its own calls edf_push_grad.
   edf_update may run at any time after the first Backward. */
extern const edf_rule edf_sgd_rule;      /* c = { eta }                                       */
void edf_step(const edf_rule *rule, const edf_real *c);
void edf_update(edf_node *p, const edf_rule *rule, const edf_real *c);
void edf_sgd(edf_real eta);
#define edf_sgd(eta)        EDF__CALL(edf_sgd(eta))
#define edf_step(rule, c)   EDF__CALL(edf_step(rule, c))
void edf_frozen(edf_node *p, edf_real eta);

void edf_zero_grad(void);                /* Sets Parameters' gradients to 0, for accumulate.  */

/* edf_clear frees all nodes and all memory. Settings stay. edf_clear_compnodes frees the
   CompNodes: a new graph in each step. A call that then gets a freed node, or a node of another
   graph, stops with an error, and does not read the node. This is certain for 40 clears after
   the node was built. Later, a freed node is mistaken for a new one only if exactly 41, 82, ...
   clears lie between them, and the new one has its address. An edf_check_backward counts as
   many clears. Until the next clear, a program may still read the fields of a CompNode that
   edf_clear_compnodes freed: value, grad and n_in are 0. The fields of other freed nodes must
   not be read. edf_addgrad checks nothing, since it runs for each entry. */
void edf_clear(void);
void edf_clear_compnodes(void);
edf_graph edf_new_graph(void);           /* Returns an empty graph with the defaults.         */

/* Return node->value and node->grad, current on the host whatever a device has computed. After
   the program has written one of them, it calls edf_push or edf_push_grad. A step, edf_update,
   edf_init_uniform, edf_init_normal and edf_push move a Parameter: call edf_forward before the
   next edf_backward. Without edf_push the framework does not notice that a value changed. */
edf_real *edf_value(edf_node *node);
edf_real *edf_grad(edf_node *node);
/* Returns an entry of the value, as a pointer: *edf_at(h, 3, 5) is h[3,5]. There is one int for
   each dimension. In gdb, `print *edf_at(h, 3, 5)` works. Errors: an index that is out of
   range; no value yet. */
edf_real *edf_at(edf_node *node, ...);
void edf_push(edf_node *node);
void edf_push_grad(edf_node *node);

/* ---- Nodes and their formulas. Each is a macro that adds the source line. dx is x.grad, dy is
   y.grad, and 1[y > 0] is 1 if y > 0, else 0. In an element-wise node one index stands for all.
   The name of an op is that of its node: edf_tanh_op. */
#define EDF__NODE1(name, x)    edf_node1(&edf_##name##_op, EDF__HERE, x)
#define EDF__NODE2(name, a, b) edf_node2(&edf_##name##_op, EDF__HERE, a, b)
extern const edf_op edf_sigmoid_op, edf_tanh_op, edf_relu_op, edf_exp_op, edf_log_op,
    edf_sqrt_op, edf_square_op, edf_add_op, edf_sub_op, edf_mul_op, edf_div_op, edf_sum_op,
    edf_mean_op, edf_affine_op, edf_softmax_op, edf_log_loss_op, edf_softmax_log_loss_op,
    edf_bce_loss_op, edf_dropout_op, edf_reshape_op;

/* Affine: s[b,j] = W[I,j] x[b,I] - B[j]. The bias is subtracted, as on the slides. I is the
   last dimension of x, and b stands for those before it. W [n_in, n_out] starts uniform with
   variance 1/n_in, and B [n_out] starts as 0. */
typedef struct { edf_node *w, *b; } edf_affine_package;
#define edf_affine_params(n_in, n_out) edf_affine_params_at(EDF__HERE, n_in, n_out)
#define edf_affine(...)                edf_affine_at(EDF__HERE, __VA_ARGS__)
edf_affine_package edf_affine_params_at(const char *file, int line, int n_in, int n_out);
edf_node *edf_affine_at(const char *file, int line, edf_affine_package Phi, edf_node *x);

#define edf_sigmoid(x) EDF__NODE1(sigmoid, x)        /* y = 1/(1+exp(-x))    dx += dy y (1-y) */
#define edf_tanh(x)    EDF__NODE1(tanh, x)           /* y = tanh(x)          dx += dy (1-y^2) */
#define edf_relu(x)    EDF__NODE1(relu, x)           /* y = max(0, x)        dx += dy 1[y > 0]*/

/* y = a + b, a - b, a b, a / b. The shapes are equal, or one operand has the last dimensions
   of the other and is repeated along the rest. */
#define edf_add(a, b)  EDF__NODE2(add, a, b)
#define edf_sub(a, b)  EDF__NODE2(sub, a, b)
#define edf_mul(a, b)  EDF__NODE2(mul, a, b)         /* da += dy b        db += dy a          */
#define edf_div(a, b)  EDF__NODE2(div, a, b)         /* da += dy / b      db -= dy y / b      */

/* Softmax over the last index k: P[b,k] = exp(s[b,k]) / sum_j exp(s[b,j]). */
#define edf_softmax(s) EDF__NODE1(softmax, s)

/* The loss l[b] = -ln P[b,y[b]] of classes y[b], which are whole numbers from 0 to K-1, stored
   as reals. Errors, in Forward: a label that is out of range or not whole. */
#define edf_log_loss(P, y) EDF__NODE2(log_loss, P, y)

/* Over all entries, to a scalar: y = sum_i x[i], and y = (1/n) sum_i x[i]. */
#define edf_sum(x)     EDF__NODE1(sum, x)
#define edf_mean(x)    EDF__NODE1(mean, x)

#define edf_exp(x)     EDF__NODE1(exp, x)            /* y = exp(x)           dx += dy y       */
#define edf_log(x)     EDF__NODE1(log, x)            /* y = ln(x)            dx += dy / x     */
#define edf_sqrt(x)    EDF__NODE1(sqrt, x)           /* y = sqrt(x)          dx += dy / (2 y) */
#define edf_square(x)  EDF__NODE1(square, x)         /* y = x^2              dx += dy 2 x     */

/* SoftmaxLogLoss: LogLoss from scores, exact also for tiny probabilities.
   l[b] = ln sum_j exp(s[b,j]) - s[b,y[b]] */
#define edf_softmax_log_loss(s, y) EDF__NODE2(softmax_log_loss, s, y)

/* BCELoss: cross entropy of yes-or-no scores s[i] and targets y[i] from 0 to 1,
   l[i] = -y ln p - (1-y) ln(1-p) with p = 1/(1+exp(-s)), computed as ln(1 + exp(s)) - y s.
     s.grad[i] += l.grad[i] (p - y[i])          y.grad[i] -= l.grad[i] s[i]
   MSE: the scalar (1/n) sum_i (a[i] - b[i])^2.
   MaskedMean: the scalar sum_i m[i] x[i] / sum_i m[i], with m 0 or 1. If m[i] is 0, x[i] has no
   influence, also if it is NaN.
   The shapes are as for Sub and Mul: a shorter m is repeated, and each repetition counts. For
   BCELoss they are equal. */
#define edf_bce_loss(s, y)    EDF__NODE2(bce_loss, s, y)
#define edf_mse(a, b)         edf_mse_at(EDF__HERE, a, b)
#define edf_masked_mean(x, m) edf_masked_mean_at(EDF__HERE, x, m)
edf_node *edf_mse_at(const char *file, int line, edf_node *a, edf_node *b);
edf_node *edf_masked_mean_at(const char *file, int line, edf_node *x, edf_node *m);

/* Dropout: in training each entry is 0 with probability `rate`, else x/(1-rate). If
   edf.training is 0, y = x.   dx += dy/(1-rate) for entries that were kept (Srivastava et al.
   2014). The mask depends only on edf.seed and edf.draws. Errors: a rate outside [0, 1). */
#define edf_dropout(x, rate) edf_dropout_at(EDF__HERE, x, rate)
edf_node *edf_dropout_at(const char *file, int line, edf_node *x, double rate);

/* Reshape(x, "y[b,4,128]"): the same numbers in the same order. The node is named y. A first
   index without a number, the batch, has the size that remains. Errors: sizes that differ. */
#define edf_reshape(...) edf_reshape_at(EDF__HERE, __VA_ARGS__)
edf_node *edf_reshape_at(const char *file, int line, edf_node *x, const char *decl, ...)
    EDF__PRINTF(4, 5);

/* ---- Random numbers. They are the same on every platform, but the last bit of edf_normal may
   differ: it uses log and cos of the C library. edf_seed starts them again. */
void     edf_seed(unsigned long long seed);
edf_real edf_uniform(edf_real lo, edf_real hi);               /* in [lo, hi)                  */
edf_real edf_normal(edf_real mean, edf_real deviation);       /* by Box and Muller            */
int      edf_below(int n);                                    /* 0 .. n-1                     */
void     edf_init_uniform(edf_node *p, edf_real lo, edf_real hi);
void     edf_init_normal(edf_node *p, edf_real mean, edf_real deviation);

/* ---- Optimisers. g is the gradient of Parameter p, which has its own m, s and number t of
   steps. The numbers c of a rule are the arguments of its function, and for edf_adam_rule those
   of edf_adamw.
     edf_momentum      m = mu m + eta g;  p -= m                     (heavy ball, Polyak 1964)
     edf_rmsprop       s = beta s + (1-beta) g^2;  p -= eta g / (sqrt s + eps)
     edf_adam          m = beta1 m + (1-beta1) g;  s = beta2 s + (1-beta2) g^2;
                       p -= eta m' / (sqrt s' + eps), m' = m/(1-beta1^t), s' = s/(1-beta2^t)
                       edf_adam_default: 0.9, 0.999 and 1e-8         (Kingma and Ba 2014)
     edf_adamw         the same, and before it p *= 1 - eta decay    (Loshchilov, Hutter 2017)
     edf_adam_slides   beta = 1 - 1/min(t, 1/(1-beta)) in place of the two divisions, as on the
                       slides: at first a plain average of the gradients
   Errors: a mu or a beta that is not in [0, 1). */
extern const edf_rule edf_momentum_rule, edf_rmsprop_rule, edf_adam_rule, edf_adam_slides_rule;
void edf_momentum(edf_real eta, edf_real mu);
void edf_rmsprop(edf_real eta, edf_real beta, edf_real eps);
void edf_adam(edf_real eta, edf_real beta1, edf_real beta2, edf_real eps);
void edf_adam_default(edf_real eta);
void edf_adamw(edf_real eta, edf_real beta1, edf_real beta2, edf_real eps, edf_real decay);
void edf_adam_slides(edf_real eta, edf_real beta1, edf_real beta2, edf_real eps);
#define edf_momentum(...)    EDF__CALL(edf_momentum(__VA_ARGS__))
#define edf_rmsprop(...)     EDF__CALL(edf_rmsprop(__VA_ARGS__))
#define edf_adam(...)        EDF__CALL(edf_adam(__VA_ARGS__))
#define edf_adam_default(eta) EDF__CALL(edf_adam_default(eta))
#define edf_adamw(...)       EDF__CALL(edf_adamw(__VA_ARGS__))
#define edf_adam_slides(...) EDF__CALL(edf_adam_slides(__VA_ARGS__))

/* These calls stand between Backward and the step. They change the gradients of all Parameters
   that the step will move. edf_clip multiplies them by min(1, most/|g|), and returns |g|, the
   norm of all together. edf_l2 adds gamma p, and edf_l1 adds gamma sign(p). */
double edf_clip(double most);
void edf_l2(edf_real gamma);
void edf_l1(edf_real gamma);

/* ---- Printing, checking and stepping. edf_print_program prints the nodes with their
   formulas, shapes and source lines, and then the backward that runs. This is the Backward of
   edf.loss. Before the first Backward, the last node that needs a gradient counts as the
   loss. Lines of a gradient that is not needed are left out. edf_print_node prints one node
   as it runs, edf_print a screen about it, with numbers. In the formula of an element-wise
   node one index stands for all. */
void edf_print_program(FILE *out);
void edf_print_node(FILE *out, edf_node *node);
void edf_print(edf_node *node);

/* Sets what prints show for a node of edf_compnode, and returns the node:
     edf_formula(y, "y[b,i] = max(0, x[b,i])", "x.grad[b,i] += y.grad[b,i] [y[b,i] > 0]")
   The texts are printed as they are. Several backward lines have \n between them. An edf_op has
   formulas that are printed with the labels of the tensors of each node. */
edf_node *edf_formula(edf_node *node, const char *forward, const char *backward);

/* Compares the backward of a node with central differences, and prints a report. First each
   node of your own that `node` depends on is checked alone, on a copy with copies of its
   inputs. It has to keep a contract. forward writes every entry. backward adds to the
   gradients, and is linear in y.grad. A second run gives the same. A run without the gradient
   of another input gives the same. Then its derivative is checked: y.grad is random numbers
   r, and x.grad must be the derivative of sum_i r[i] y[i]. If all are right, `node` is
   checked through the graph, for every Parameter and wanted Input. A Stop keeps its value. A
   line names what is not checked. For a wrong gradient the report names the worst entry and
   the likely mistake. The error of an entry is |a - n| / (|a| + |n| + floor). a is the
   gradient by backward, and n the numeric one. floor is 1/1000 (in float 1/20) of the
   tensor's largest entry, plus rounding. Returns the worst error, or 1 if a node breaks its
   contract. Right is at most 1e-6, in float 5e-3, so a gradient that is wrong by 3 percent
   shows. cc -DEDF_REAL=double sees smaller mistakes. At most 1000 entries of a tensor are
   tried. A kink is skipped: a point without a derivative, such as 0 of Relu. At its end
   edf_gradcheck restores the graph, as edf_restore does, so that it changes nothing. Errors:
   as edf_forward_to and edf_backward. */
double edf_gradcheck(edf_node *node);

/* Declares that the backward of a node is not its derivative. Nothing is compared through the
   node, and edf_gradcheck fails if its backward is the derivative. Returns the node. */
edf_node *edf_expect_mismatch(edf_node *node);

/* edf_step_forward and edf_step_backward run one node and return it, or NULL at the end. The
   first call begins a Forward, or a Backward of edf.loss (before the first Backward: of the
   last node that needs a gradient). If nothing can run, a step prints why, returns NULL and
   changes nothing. A new node, a feed or a moved Parameter ends the stepping, and the next call
   begins again.
   edf_where prints which node is next, and how many of the contributions to its gradients have
   arrived. edf_ran(node) is called when a node has run: set a breakpoint there.
   edf_find_nan prints and returns the node that made the first NaN or infinity, or NULL. An
   infinity that the program fed, such as -infinity in a mask, is no mistake by itself. It is
   reported if the loss is infinite because of it. If a node makes a NaN of it, that node is
   reported, and where the infinity is from. If Forward is right, Backward runs again. It cannot
   if a Parameter has moved since Forward: call edf_find_nan before the step. At its end it
   restores the graph. With EDF_DEBUG each pass ends with edf_debug_pass, which calls
   edf_find_nan if a value is wrong after Forward, or a gradient after Backward. After its first
   report it does nothing until edf_clear. */
edf_node *edf_step_forward(void);
edf_node *edf_step_backward(void);
void edf_where(void);
edf_node *edf_find_nan(void);
void edf_ran(edf_node *node);
void edf_debug_pass(int backward);

#ifdef EDF_NO_DEBUG
static inline edf_node *edf__the_same(edf_node *node) { return node; }
#define edf_formula(node, f, b)       ((void)(f), (void)(b), edf__the_same(node))
#define edf_print(node)               ((void)(node))
#define edf_print_program(out)        ((void)(out))
#define edf_print_node(out, node)     ((void)(out), (void)(node))
#define edf_gradcheck(node)           (edf__the_same(node) ? 0.0 : 0.0)
#define edf_expect_mismatch(node)     edf__the_same(node)
#define edf_step_forward()            edf__the_same(NULL)
#define edf_step_backward()           edf__the_same(NULL)
#define edf_where()                   ((void)0)
#define edf_find_nan()                edf__the_same(NULL)
#define edf_debug_pass(backward)      ((void)(backward))
#endif

/* ---- Loops for the code of a node, written as for numpy.einsum:
     edf_loops("bj = Ij, bI", edf_values(s), edf_values(W), edf_values(x));
   is, for all b, j and I, s[b,j] = sum_I W[I,j] x[b,I]. An index is a letter, and one that is
   not on the left is summed. += adds to the output, and -= subtracts. With one factor the last
   argument is edf_one. "..." stands for all dimensions that an operand has before its letters.
   An operand that lacks some of them is repeated. The gradient is the swap rule: exchange a
   factor with the output, and take the gradients of both. The other factor stays.
     edf_loops("Ij += bj, bI", edf_grads(W), edf_grads(s), edf_values(x));
     edf_loops("bI += Ij, bj", edf_grads(x), edf_values(W), edf_grads(s));
   If the output is a gradient that is not needed, nothing runs. The output must not also be a
   factor; this is not checked.
   edf_shape_by(y, "bj = Ij, bI") is for shape functions. It sets the shape of y from its
   inputs, in their order.
   Errors: an index with two sizes, an operand with another number of dimensions, and an index
   that is only on the left beside one that is only in one factor. */
typedef enum {                           /* an array of a node                                */
  EDF_VALUE, EDF_GRAD, EDF_M, EDF_S,
  EDF_OWN                                /* what a device keeps from Forward to Backward      */
} edf_which;
typedef struct { edf_node *of; edf_which which; } edf_operand;
static inline edf_operand edf_values(edf_node *x) {
  edf_operand a = { x, EDF_VALUE };
  return a;
}
static inline edf_operand edf_grads(edf_node *x) {
  edf_operand a = { x, EDF_GRAD };
  return a;
}
extern const edf_operand edf_one;        /* the number 1                                      */
void edf_loops(const char *spec, edf_operand out, edf_operand a, edf_operand b);
void edf_shape_by(edf_node *y, const char *spec);

/* ---- The kernel. What edf_loops runs is a nest of loops. Each loop has a size, and a stride
   in each operand, 0 if the operand does not have its index. The body of the nest is
   out[..] += alpha * a[..] * b[..]. */
enum { EDF_OUT, EDF_A, EDF_B };
enum { EDF_FASTEST, EDF_BUILTIN, EDF_REFERENCE };             /* edf.kernel                   */
typedef struct {
  ptrdiff_t n;                           /* size                                              */
  ptrdiff_t s[3];                        /* strides in out, a and b                           */
  const char *index;                     /* name of its index, or NULL                        */
} edf_loop;
typedef struct {
  int n;                                 /* number of loops                                   */
  edf_loop loop[EDF_MAX_INDEX];
  ptrdiff_t start[3];                    /* first element of each operand                     */
  edf_real alpha;
} edf_nest;
edf_nest edf_nest_of(const char *spec, edf_node *const of[3]);          /* NULL: the number 1 */
void edf_contract_reference(const edf_nest *nest, edf_real *out, const edf_real *a,
                            const edf_real *b);                 /* the definition, in >>loops */

/* A route is a plan for a nest. It sorts the loops into four groups, outside | M | N | K. An M
   loop is in out and a, an N loop is in out and b, and a K loop is in a and b. All other loops
   run outside. If M, N and K have more than one step each, the inside is a matrix product,
   out[M,N] += alpha a[M,K] b[K,N]. Otherwise the last loop is a vector loop.
     s[b,j] += W[I,j] x[b,I]                       M: j    N: b         K: I
     y[b,i,k] += F[DI,C,k] x[b,i+DI,C]             M: k    N: b, i      K: DI, C
     p[b,h,t,s] += Q[b,h,t,I] K[b,h,s,I]           M: t    N: s    K: I    outside: b, h
   With EDF_REFERENCE or with masks the loops stay as they are. edf/slide.h makes masks. A step
   runs only if i[low] - i[high] + constant <= 0 for each mask. For s <= t, low is the loop of
   s, high is that of t, and constant is 0. If low or high is -1, its index counts as 0. */
typedef struct { int low, high, constant; } edf_mask;
typedef struct {
  edf_nest nest;                         /* the loops in this order                           */
  int product;                           /* 1 for a matrix product                            */
  int first[4];                          /* index of the first M, N and K loop, and the end   */
  ptrdiff_t extent[3];                   /* number of steps of M, N and K                     */
  size_t covers;                         /* entries of out that it writes, 0 if some twice    */
  int n_mask;                            /* number of masks                                   */
  const edf_mask *mask;
} edf_route;
edf_route edf_plan(const edf_nest *nest);

/* An operand of a product as a matrix. `direct` is 1 if a BLAS can read it in place, with
   `step` entries from row to row, or if `tall` is 1, from column to column. */
typedef struct {
  ptrdiff_t rows, columns;
  ptrdiff_t step;
  int direct;
  int tall;
} edf_matrix;
edf_matrix edf_matrix_of(const edf_route *route, int operand);

/* Computes out[..] += alpha a[..] b[..], or with `assign` out[..] = for the entries of the
   nest. `assign` is only for routes that write no entry twice. out must not overlap a or b. */
void edf_contract(const edf_route *route, int assign, edf_real *out, const edf_real *a,
                  const edf_real *b);
/* Runs a plan on arrays of nodes, on the device if there is one. EDF_ADD adds to out.
   EDF_ASSIGN writes all of out: an entry that the nest does not reach becomes 0. EDF_PART
   overwrites only the entries that the nest reaches. A gradient that is not needed is left out.
   In a gradient that counts as 0, EDF_ADD assigns. */
enum { EDF_ADD, EDF_ASSIGN, EDF_PART };
void edf_run(const edf_route *route, int how, edf_operand out, edf_operand a, edf_operand b);

/* ---- A device, such as a GPU, has arrays of its own, and computes in place of the loops here.
   A linked edf_cuda.o sets edf_open_device, which the first node calls. Then edf_device is its
   table, or NULL. */
typedef enum { EDF_READS, EDF_WROTE } edf_access;             /* what the host does           */
typedef struct {
  /* A CompNode was built. If the device has a kernel for it, it replaces y->forward, and unless
     it is NULL y->backward. Such a backward reads grad_is_zero of an input, and clears it. All
     other nodes run on the host, by edf_run_code. */
  void   (*built)(edf_node *y);
  /* Runs a pass by nodes(). If it is a whole one, it may replay a recording, and return 1. */
  int    (*pass)(void (*nodes)(void), int whole);
  /* As edf_contract on the arrays of the device. Returns 0 if it has no kernel for the nest. */
  int    (*run)(const edf_route *r, int assign, edf_operand out, edf_operand a, edf_operand b);
  /* Makes a step of n Parameters. Returns -1 if it has no kernel for the rule. For rule NULL it
     returns the sum of their squared gradients. */
  double (*update)(edf_node **p, int n, const edf_rule *rule, const edf_real *c);
  /* The host is going to read an array, or it has written one. The host has no array EDF_OWN:
     EDF_READS keeps a copy of it, and EDF_WROTE puts the copy back. */
  void   (*sync)(edf_node *x, edf_which array, edf_access by);
  void   (*clear)(int all);              /* before CompNodes are freed, or all nodes          */
} edf_device_table;
extern edf_device_table *edf_device;
extern edf_device_table *(*edf_open_device)(void);
void edf_run_code(edf_node *y, int backward);      /* Runs y's C code, on current arrays.     */
size_t edf_array_bytes(const void *x);   /* Returns the size of a block of the graph, or 0.   */

/* ---- For companions and tools. A tool reads edf and the fields of nodes. edf.told(event, x)
   notifies it of passes and steps: x is the target of a Forward (NULL for all nodes), the
   loss of a Backward, or the Parameter of an update. This callback may read all, but not
   build, feed or clear. A second tool calls the function that was there before. edf_clear
   makes the last call, with NULL, and sets edf.told to NULL. A tool that wants single nodes
   replaces y->forward and y->backward: see examples/11_stopwatch.c. */

/* Raises an error: prints the message by EDF_PANIC. edf.stopped(message) is called before, and
   may longjmp: so a tool continues after an error. */
EDF__NORETURN void edf_stop(const char *format, ...) EDF__PRINTF(1, 2);

/* Returns a node as messages show it: Tanh "h" [b, 8]   built at x.c:5. The text lasts until 48
   KB of newer texts follow. */
const char *edf_shown(const edf_node *x);

/* Stops unless x is a node of this graph. x is not read before. The message names the call, and
   x as `name`: "edf_view", "the node". edf_expect_kind also stops if x has another kind, or if
   it is a copy, as the code of a node gets in edf_gradcheck. */
void edf_expect_node(const char *call, const char *name, const edf_node *x);
void edf_expect_kind(const char *call, const char *name, const edf_node *x, edf_kind kind);

/* Statistics of n > 0 entries. */
typedef struct {
  double least, greatest, mean, deviation;
  double norm;                           /* root of the sum of squares                        */
  size_t bad;                            /* entries that are NaN or infinite                  */
} edf_statistics;
edf_statistics edf_statistics_of(const edf_real *v, size_t n);

/* Allocates memory that belongs to the graph until edf_clear, or makes an old block larger. It
   is 0 at first. edf_release frees it earlier; NULL is ignored. */
void *edf_keep(void *old, size_t bytes);
void edf_release(void *kept);

/* A tool that only looks may have to run passes. Then it takes a snapshot of the graph before,
   and restores the graph at its end. So the program continues as if there had been no call.
   Between the two calls edf.told and edf.after_backward are not called, edf.accumulate counts
   as 0, and the tool does not build, feed or clear. A snapshot has the values, gradients,
   states and marks of all nodes, the memory of the optimisers, and the fields of edf. It does
   not have what a node of your own keeps elsewhere, such as a static variable. edf_restore
   frees the snapshot. */
typedef struct edf_snapshot edf_snapshot;
edf_snapshot *edf_take_snapshot(void);
void edf_restore(edf_snapshot *taken);

/* A page is a text that grows, from { NULL, 0 }. It lasts until edf_release(page.at) or
   edf_clear, but page.at changes when the text grows. edf_write_node writes a part of a node as
   prints show it. */
typedef enum {
  EDF_SITE,                              /* Tanh "h" [b, 8]   built at x.c:5                  */
  EDF_SHAPE,                             /* [b, 8]                                            */
  EDF_FORWARD_LINE,
  EDF_BACKWARD_LINES
} edf_part;
void edf_write(edf_page *to, const char *format, ...) EDF__PRINTF(2, 3);
/* As snprintf and strtod in the C locale: a number has a point, whatever setlocale says. */
int edf_format(char *to, size_t room, const char *format, ...) EDF__PRINTF(3, 4);
double edf_read_number(const char *text, char **end);
void edf_write_node(edf_page *to, const edf_node *x, edf_part part);

EDF__C_END
#endif /* EDF_H */

#ifdef EDF_IMPLEMENTATION
#include <float.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#endif

#if defined(EDF_IMPLEMENTATION) && !defined(EDF_LINKED) && !defined(EDF_IMPLEMENTED)
#define EDF_IMPLEMENTED
#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef EDF_CBLAS
#include <cblas.h>
#undef I                                 /* <cblas.h> may include <complex.h>                 */
#endif
#if defined A || defined B || defined C || defined G || defined J || defined K || defined N || \
    defined P || defined R || defined T || defined W || defined Z
#error "edf.h: a macro of one letter, as N: define it after the include of EDF_IMPLEMENTATION"
#include "edf.h: it is defined before"   /* This file does not exist: a compiler stops here.  */
#endif
#if defined(EDF_MALLOC) != defined(EDF_FREE)
#error "define both EDF_MALLOC and EDF_FREE, or neither"
#endif
#ifndef EDF_MALLOC
#define EDF_MALLOC(n) malloc(n)
#define EDF_FREE(p) free(p)
#endif
#ifndef EDF_PANIC
#define EDF_PANIC(message) (fflush(stdout), fprintf(stderr, "%s\n", message), abort())
#endif

EDF__C_BEGIN
const char EDF__TYPE_MARK = 1;
/* edf.gradients: no Backward has ended, a step has used its gradients, or they are new. */
enum { EDF__NO_GRADIENTS, EDF__USED_GRADIENTS, EDF__NEW_GRADIENTS };
#define EDF__EMPTY_GRAPH \
  { NULL, NULL, NULL, 0, 0, 0, 1, 0, 0, 0, EDF_FASTEST, 1, 0, NULL, NULL, NULL, NULL, NULL, \
    { 0, 0, 0, 0, 0 }, NULL, 0, 1, -1, 0, 0, 0, EDF__NO_GRADIENTS, 0, "b", 0, \
    { NULL, NULL, NULL, NULL }, NULL, NULL, NULL, NULL, 0, NULL, 0 }
edf_graph edf = EDF__EMPTY_GRAPH;
edf_device_table *edf_device = NULL;
edf_device_table *(*edf_open_device)(void) = NULL;

EDF__BEGIN_COLD
/* ==== >>errors  Messages ================================================================= */

/* Texts for messages, one after the other, and then from the beginning again. */
typedef struct {
  char at[1 << 16];
  size_t n;                              /* where the next text begins                        */
} edf__texts;
enum { EDF__TEXT = 8192 };               /* A longer text is cut, and ends with "..."         */

/* ---- Numbers as in the C locale. After setlocale(LC_ALL, "") they may have a decimal comma.
   Then the locale of numbers is changed for one call. */
static const char *edf__begin_numbers(void) {
  static char was[256];
  if (!strcmp(localeconv()->decimal_point, ".")) return NULL;
  snprintf(was, sizeof was, "%s", setlocale(LC_NUMERIC, NULL));
  setlocale(LC_NUMERIC, "C");
  return was;
}
static void edf__end_numbers(const char *was) { if (was) setlocale(LC_NUMERIC, was); }

static int edf__vformat(char *to, size_t room, const char *format, va_list args) {
  const char *was = edf__begin_numbers();
  int n = vsnprintf(to, room, format, args);
  edf__end_numbers(was);
  return n;
}
int edf_format(char *to, size_t room, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = edf__vformat(to, room, format, args);
  va_end(args);
  return n;
}
double edf_read_number(const char *text, char **end) {
  const char *was = edf__begin_numbers();
  double n = strtod(text, end);
  edf__end_numbers(was);
  return n;
}

/* Formats a text. It lasts until 48 KB of newer texts follow. So one message can use many
   texts, and a loop can append to one: text = edf__text("%s, %d", text, n). */
static const char *edf__vtext(edf__texts *in, const char *format, va_list args) {
  if (in->n + EDF__TEXT > sizeof in->at) in->n = 0;
  char *to = in->at + in->n;
  int n = edf__vformat(to, EDF__TEXT, format, args);
  if (n < 0) *to = 0;
  if (n >= EDF__TEXT) strcpy(to + EDF__TEXT - 4, "...");
  in->n += strlen(to) + 1;
  return to;
}
EDF__PRINTF(1, 2) static const char *edf__text(const char *format, ...) {
  static edf__texts all;
  va_list args;
  va_start(args, format);
  const char *text = edf__vtext(&all, format, args);
  va_end(args);
  return text;
}

/* Prints a part of a report. */
EDF__USED EDF__PRINTF(1, 2) static void edf__say(const char *format, ...) {
  char text[EDF__TEXT];
  va_list args;
  va_start(args, format);
  edf__vformat(text, sizeof text, format, args);
  va_end(args);
  fputs(text, stdout);
}

/* A place in the program. Messages begin with it: hw1.c:55: Relu: */
typedef struct {
  const char *op;
  const char *file;                      /* or NULL                                           */
  int line;
} edf__site;

static edf_device_table *edf__paused;    /* the device, while C code runs in its place        */
static int edf__stepping;                /* 1 while Parameters make their step                */
/* While a companion sets it, a node that is equal to an older one is not added. The function
   returns the older one, or NULL. */
static edf_node *(*edf__find_equal)(edf_node *y);

/* While this number stays the same, the value of a Parameter does, too. It grows with each
   pass, step, move of a Parameter, and node with code of its own. */
static unsigned long edf__epoch = 1;

#ifdef _OPENMP
static int edf__threads(void);
static int edf__n_jobs = -1;             /* small work that waits, -1 if none may, >>kernel   */
static void edf__begin_list(void);
static void edf__run_list(void);
static void edf__end_list(void);
static int edf__list_loops(const edf_route *r, int assign, edf_operand out, edf_operand a,
                           edf_operand b);
static int edf__list_code(edf_node *y, int backward);
static int edf__list_zeros(edf_node *x, edf_real *to);
static int edf__list_ran(edf_node *c);
static int edf__is_by_entry(const edf_node *y);
#else
static int edf__n_jobs;
#define edf__threads() 1
#define edf__begin_list() ((void)0)
#define edf__run_list() ((void)0)
#define edf__end_list() ((void)0)
#define edf__list_loops(r, assign, out, a, b) 0
#define edf__list_code(y, backward) 0
#define edf__list_zeros(x, to) 0
#define edf__list_ran(c) 0
#endif

/* Ends the pass, step or look that runs. An error may longjmp out of it. */
static void edf__end_calls(void) {
  if (edf__paused) edf_device = edf__paused;
  edf__paused = NULL;
  edf__stepping = 0;
  edf.running = NULL;
  edf.looking = 0;
  edf.direction = 0;
  edf.at = -1;
  edf__n_jobs = -1;
  edf__find_equal = NULL;
}
EDF__NORETURN static void edf__vfail(edf__site at, const char *format, va_list args) {
  static char message[EDF__TEXT];
  size_t n = 0;
  if (at.file) n += (size_t)snprintf(message, 1000, "%.900s:%d: ", at.file, at.line);
  if (at.op) n += (size_t)snprintf(message + n, 1000, "%.900s: ", at.op);
  size_t room = sizeof message - n;
  if ((size_t)edf__vformat(message + n, room, format, args) >= room)
    strcpy(message + sizeof message - 4, "...");
  edf.file = NULL;
  edf__end_calls();
  if (edf.stopped) edf.stopped(message);
  EDF_PANIC(message);
  abort();
}

/* The one error function. It prints the place and the message, and does not return. */
EDF__NORETURN EDF__PRINTF(2, 3) static void edf__fail(edf__site at, const char *format, ...) {
  va_list args;
  va_start(args, format);
  edf__vfail(at, format, args);
}

/* Returns the place where node y was built. */
static edf__site edf__site_of(const edf_node *y) {
  edf__site at = { y->op, y->file, y->line };
  return at;
}
/* Returns the place of the call that runs. Calls that are macros record their place. */
static edf__site edf__call_of(const char *function) {
  edf__site at = { function, edf.file, edf.line };
  return at;
}

/* ---- A node in a message: Relu "h" [b=64, 100]   built at hw1.c:55 */
static int edf__n_nodes(void) { return edf.n_inputs + edf.n_parameters + edf.n_compnodes; }
/* Returns node i of all nodes: Inputs, then Parameters, then CompNodes. */
static edf_node *edf__nth(int i) {
  if (i < edf.n_inputs) return edf.inputs[i];
  i -= edf.n_inputs;
  return i < edf.n_parameters ? edf.parameters[i] : edf.compnodes[i - edf.n_parameters];
}

static int edf__is_unique(const edf_node *x) {
  int same = 0;
  if (x->kind != EDF_COMPNODE) return 1;
  for (int i = edf__n_nodes(); same < 2 && i-- > 0;) {
    const char *name = edf__nth(i)->name;
    same += *name == *x->name && !strcmp(name, x->name);
  }
  return same <= 1;
}
/* Returns the label of x for a message, as text of edf__text. x may be of another graph. */
static const char *edf__label(const edf_node *x) {
  return edf__is_unique(x) ? x->name : edf__text("%.900s@%d", x->name, x->position);
}

/* For messages: returns dimension d of x. A batch is what x, or else another Input, was fed. */
static int edf__dimension(const edf_node *x, int d) {
  if (x->kind == EDF_INPUT && x->batched >> d & 1 && x->fed > 0) return x->fed;
  for (int i = 0; !x->dim[d] && d == 0 && i < edf.n_inputs; i++)
    if (edf.inputs[i]->batched && edf.inputs[i]->fed > 0) return edf.inputs[i]->fed;
  return x->dim[d];
}
/* Returns the first `rank` dimensions: [b=64, 100]. */
static const char *edf__dims(const edf_node *x, int rank) {
  const char *text = rank > 0 ? "[" : "scalar";
  for (int d = 0; d < rank; d++) {
    const char *batch = x->batched >> d & 1 ? edf.batch_name : "";
    int n = edf__dimension(x, d);
    text = edf__text("%s%s%s%s%s", text, batch, *batch && n ? "=" : "",
                     n || !*batch ? edf__text("%d", n) : "", d + 1 < rank ? ", " : "]");
  }
  return text;
}
static const char *edf__show(const edf_node *x) {
  const char *shown = edf__text("%.300s \"%.300s\" %s", x->op, edf__label(x),
                                edf__dims(x, x->rank));
  return edf__text("%-45s %s at %.300s:%d", shown,
                   x->code ? "built" : "declared", x->file, x->line);
}

/* ==== >>memory  Blocks that edf_clear can find =========================================== */

/* Each block is in a list of the graph, so nothing leaks after an error. Data begins at a
   multiple of 64 bytes and is 0 at first. */
typedef struct edf__block {
  struct edf__block *next;
  struct edf__block **link;              /* the pointer that points at this block             */
  size_t bytes;                          /* of data                                           */
  void *raw;                             /* as it came from EDF_MALLOC                        */
} edf__block;
enum { EDF__ALIGN = 64 };

static edf__block *edf__header(void *data) {
  return (edf__block *)(void *)((char *)data - EDF__ALIGN);
}

/* Returns `bytes` bytes. An error points at `at`. */
static void *edf__alloc_at(edf__site at, edf__block **list, size_t bytes) {
  void *raw = bytes < SIZE_MAX - 2 * EDF__ALIGN ? EDF_MALLOC(bytes + 2 * EDF__ALIGN) : NULL;
  if (!raw) edf__fail(at, "out of memory: %zu bytes", bytes);
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

static void *edf__alloc(edf__block **list, size_t bytes) {
  return edf__alloc_at(edf__call_of("edf"), list, bytes);
}
static void edf__free(void *data) {
  if (!data) return;
  edf__block *block = edf__header(data);
  if (*block->link != block)
    edf__fail(edf__call_of("edf"), "memory of another graph is freed: assign its graph to edf "
              "first");
  *block->link = block->next;
  if (block->next) block->next->link = block->link;
  EDF_FREE(block->raw);
}
static void edf__free_list(edf__block **list) {
  while (*list) edf__free((char *)*list + EDF__ALIGN);
}

/* Returns at least `bytes` bytes: the old ones, and then zeros. A block never shrinks. */
static void *edf__grow_at(edf__site at, edf__block **list, void *old, size_t bytes) {
  if (old && edf__header(old)->bytes >= bytes) return old;
  void *data = edf__alloc_at(at, list, bytes);
  if (old) memcpy(data, old, edf__header(old)->bytes);
  edf__free(old);
  return data;
}
static void *edf__grow(edf__block **list, void *old, size_t bytes) {
  return edf__grow_at(edf__call_of("edf"), list, old, bytes);
}

size_t edf_array_bytes(const void *x) {
  edf__block *list[] = { edf.kept, edf.computed, edf.scratch };
  for (int k = 0; k < 3; k++)
    for (edf__block *b = list[k]; b; b = b->next)
      if ((char *)b + EDF__ALIGN == x) return b->bytes;
  return 0;
}

static char *edf__copy(edf__block **list, const char *text) {
  size_t n = strlen(text) + 1;
  return (char *)memcpy(edf__alloc(list, n), text, n);
}

/* ---- Memory of nodes. A program may pass a node that was freed. So nodes are in blocks of
   their own, and a pointer is compared with the addresses of all nodes before it is read. A
   node must not get the address of a freed one. The nodes of a block begin at multiples of
   EDF__SLOT, plus EDF__STEP * (edf__clears % EDF__TURNS). So two nodes have different
   addresses, unless 0, 41, 82, ... clears lie between their blocks. */
enum {
  EDF__STEP = 8,                         /* nodes are aligned to it                           */
  EDF__TURNS = 41,                       /* A prime: loops of 10 or 100 steps do not hit it.  */
  EDF__SLOT = EDF__STEP * EDF__TURNS,    /* bytes from one node to the next                   */
  EDF__FEW = 3                           /* inputs that are stored with the node              */
};
typedef struct {
  edf_node node;
  edf_node *in[EDF__FEW + 1];
  char was[32];                          /* its name, when it is cleared                      */
} edf__slot;
typedef char edf__slot_is_large_enough[sizeof(edf__slot) <= EDF__SLOT ? 1 : -1];

/* The lists of blocks: edf.nodes */
enum {
  EDF__KEPT,                             /* Inputs and Parameters                             */
  EDF__COMPUTED,                         /* what edf_clear_compnodes frees                    */
  EDF__COPIES,                           /* copies of nodes, such as those of edf_gradcheck   */
  EDF__CLEARED,                          /* what the last edf_clear_compnodes has cleared     */
  EDF__LISTS
};
typedef struct {
  char *first;                           /* the first node                                    */
  size_t n;                              /* number of nodes for which there is room           */
  size_t used;                           /* number of nodes                                   */
  unsigned clears;                       /* the count when it was made                        */
} edf__nodes;                            /* the begin of such a block                         */
static unsigned edf__clears;             /* calls of edf_clear_compnodes and edf_clear        */

static edf__nodes *edf__nodes_in(edf__block *b) {
  return (edf__nodes *)(void *)((char *)b + EDF__ALIGN);
}
static edf__slot *edf__slot_in(const edf__nodes *block, size_t i) {
  return (edf__slot *)(void *)(block->first + i * EDF__SLOT);
}
/* Returns a new block with room for n nodes. */
static edf__nodes *edf__new_nodes(int list, size_t n) {
  size_t bytes = EDF__ALIGN + (n + 1) * EDF__SLOT, turn = edf__clears % EDF__TURNS;
  edf__nodes *block = (edf__nodes *)edf__alloc(&edf.nodes[list], bytes);
  char *begin = (char *)block + EDF__ALIGN;
  size_t off = (size_t)((uintptr_t)begin % EDF__SLOT), wanted = turn * EDF__STEP;
  block->first = begin + (wanted + EDF__SLOT - off) % EDF__SLOT;
  block->n = n;
  block->clears = edf__clears;
  return block;
}
/* Nodes of one block are built between the same two clears. */
static edf__slot *edf__new_slot(int list) {
  edf__nodes *newest = edf.nodes[list] ? edf__nodes_in(edf.nodes[list]) : NULL;
  if (!newest || newest->clears != edf__clears) newest = edf__new_nodes(list, 16);
  else if (newest->used == newest->n) newest = edf__new_nodes(list, 2 * newest->n);
  return edf__slot_in(newest, newest->used++);
}
/* Returns 1 if x is a node in this list of blocks. x is not read. */
static int edf__is_in(int list, const edf_node *x) {
  for (edf__block *b = edf.nodes[list]; b; b = b->next) {
    const edf__nodes *block = edf__nodes_in(b);
    uintptr_t off = (uintptr_t)x - (uintptr_t)block->first;
    if (off < block->used * EDF__SLOT) return off % EDF__SLOT == 0;
  }
  return 0;
}

/* Returns the list for the memory of node x. */
static edf__block **edf__list_of(const edf_node *x) {
  return edf__is_in(EDF__COPIES, x) ? &edf.scratch
         : x->kind == EDF_COMPNODE ? &edf.computed : &edf.kept;
}
/* Returns an array of x->size numbers, grown from the old one. */
static edf_real *edf__reals(const edf_node *x, edf_real *old) {
  size_t bytes = x->size * sizeof *old;
  edf__site at = edf__site_of(x);
  if (old && edf__header(old)->bytes >= bytes) return old;
  at.op = edf__text("%.300s \"%.300s\" %s", x->op, x->name, edf__dims(x, x->rank));
  return (edf_real *)edf__grow_at(at, edf__list_of(x), old, bytes);
}

EDF__END_COLD
/* ==== >>core  Nodes, shapes and Forward ================================================== */

static edf_node *edf__new_node(edf_kind kind, const char *op, const char *file, int line,
                               int n_in) {
  edf_device_table *(*open)(void) = edf_open_device;
  edf_open_device = NULL;
  if (open) edf_device = open();         /* The first node opens the device.                  */
  edf__slot *slot = edf__new_slot(kind == EDF_COMPNODE ? EDF__COMPUTED : EDF__KEPT);
  edf_node *x = &slot->node;
  x->kind = kind;
  x->op = op;
  x->name = op;
  x->file = file;
  x->line = line;
  x->fed = -1;
  x->position = -1;                      /* It is in no list yet.                             */
  x->n_in = n_in;
  x->in = slot->in;
  if (n_in > EDF__FEW)
    x->in = (edf_node **)edf__alloc(edf__list_of(x), ((size_t)n_in + 1) * sizeof x);
  return x;
}

/* Ends a Forward or Backward that runs step by step. If the code of a node calls this, its pass
   goes on. */
static void edf__end_stepping(void) {
  if (edf.running) return;
  edf.direction = 0;
  edf.at = -1;
}

static void edf__append(edf_node ***list, int *n, edf_node *x) {
  edf__end_stepping();
  if ((*n & (*n - 1)) == 0)              /* It is full: n is 0, 1, 2, 4 ...                   */
    *list = (edf_node **)edf__grow(&edf.kept, *list, (*n ? 2 * (size_t)*n : 1) * sizeof x);
  x->position = *n;
  (*list)[(*n)++] = x;
}

/* Returns 1 if x is a node of this graph, which may be read. A node that is being built and a
   copy in edf_gradcheck exist, but are not listed. */
static int edf__exists(const edf_node *x) {
  return edf__is_in(EDF__KEPT, x) || edf__is_in(EDF__COMPUTED, x) || edf__is_in(EDF__COPIES, x);
}
static int edf__is_listed(const edf_node *x) {
  edf_node **list[] = { edf.inputs, edf.parameters, edf.compnodes };
  const int n[] = { edf.n_inputs, edf.n_parameters, edf.n_compnodes };
  return edf__exists(x) && (unsigned)x->position < (unsigned)n[x->kind] &&
         list[x->kind][x->position] == x;
}

/* Stops because x is no node of this graph. The message calls x by `name`. */
EDF__NORETURN static void edf__fail_node(edf__site at, const edf_node *x, const char *name) {
  if (!x) edf__fail(at, "%s is NULL", name);
  if (edf__is_in(EDF__CLEARED, x))
    edf__fail(at, "%s was cleared by edf_clear_compnodes: it was \"%s\", built at %.300s:%d",
              name, x->name, x->file, x->line);
  edf__fail(at, "%s is not a node of this graph: was it cleared, or is it of another graph?",
            name);
}
/* Stops unless x is in a list of this graph. */
static void edf__check_node(edf__site at, const edf_node *x, const char *name) {
  if (!edf__is_listed(x)) edf__fail_node(at, x, name);
}
static void edf__check_operands(edf__site at, int n, edf_node **in) {
  for (int k = 0; k < n; k++)
    if (!edf__is_listed(in[k])) edf__fail_node(at, in[k], edf__text("operand %d", k + 1));
}
static void edf__check_call(const char *function, const edf_node *x) {
  edf__check_node(edf__call_of(function), x, "the node");
}
/* Stops unless x exists. The code of a node makes such calls. */
static void edf__check_exists(const char *function, const edf_node *x) {
  if (!edf__exists(x)) edf__fail_node(edf__call_of(function), x, "the node");
}
static void edf__check_kind(edf__site at, const edf_node *x, edf_kind kind, const char *name) {
  static const char *const kinds[] = { "an Input", "a Parameter", "a CompNode" };
  edf__check_node(at, x, name);
  if (x->kind != kind)
    edf__fail(at, "%s is %s, expected %s\n  %s", name, kinds[x->kind], kinds[kind],
              edf__show(x));
}
static void edf__check_parameter(const char *function, const edf_node *p) {
  edf__check_kind(edf__call_of(function), p, EDF_PARAMETER, "the node");
}

/* ---- Shapes. The shape of a node follows from its inputs' shapes, when it is built and again
   for each new batch. */
static void edf__shape_of_first(edf_node *y) {
  if (!y->n_in)
    edf__fail(edf__site_of(y), "a node without inputs needs a shape function: is its first "
              "operand NULL?");
  y->rank = y->in[0]->rank;
  memcpy(y->dim, y->in[0]->dim, sizeof y->dim);
}

/* Finds the size of a node whose rank and dim are set. */
static void edf__find_size(edf_node *y) {
  int unknown = 0;                       /* 1 if an input has an unknown batch                */
  for (int k = 0; k < y->n_in; k++) unknown |= y->in[k]->size == 0;
  if (y->rank < 0 || y->rank > EDF_MAX_RANK)
    edf__fail(edf__site_of(y), "its shape function set rank %d, expected 0 to %d", y->rank,
              EDF_MAX_RANK);
  y->size = 1;
  for (int d = 0; d < y->rank; d++) {
    if (unknown && y->dim[d] < 0) y->dim[d] = 0;     /* 0 + 1 - size of a window, for batch 0 */
    if (y->dim[d] < (y->kind == EDF_COMPNODE && !unknown))
      edf__fail(edf__site_of(y), "its shape function set dimension %d to %d, expected 1 or "
                "more", d, y->dim[d]);
    if (y->size > SIZE_MAX / 64 / ((size_t)y->dim[d] + 1))
      edf__fail(edf__site_of(y), "the tensor is too large\n  %s", edf__show(y));
    y->size *= (size_t)y->dim[d];
  }
}

/* Finds shape, size and memory of a node. Inputs and Parameters have declared shapes. */
static void edf__infer(edf_node *y) {
  int custom = y->kind == EDF_COMPNODE && !y->about;
  if (custom) y->rank = y->dim[0] = -1;  /* to see below what y->shape has set                */
  if (y->shape) y->shape(y);
  if (custom && y->rank == -1 && y->dim[0] != -1)
    edf__fail(edf__site_of(y), "its shape function set y->dim, but not y->rank");
  if (custom && y->rank == -1) y->rank = 0;          /* It has set neither: a scalar.         */
  edf__find_size(y);
  if (y->kind != EDF_INPUT && y->size) y->value = edf__reals(y, y->value);
  if (y->grad) y->grad = edf__reals(y, y->grad);
}

static void edf__set_batch(int batch) {
  if (batch == edf.batch) return;
  for (int i = 0; i < edf.n_inputs; i++)
    if (edf.inputs[i]->batched) edf.inputs[i]->dim[0] = batch;
  edf.batch = 0;                         /* unknown, if a shape is wrong                      */
  for (int i = 0; i < edf__n_nodes(); i++) edf__infer(edf__nth(i));
  edf.batch = batch;
  edf.feeds++;                           /* The values of another batch are old now.          */
}

/* Returns a copy of x in which the batch is unknown. */
static edf_node edf__without_batch(const edf_node *x) {
  edf_node copy = *x;
  if (x->batched) copy.size = 0;
  for (int d = 0; d < x->rank; d++) if (x->batched >> d & 1) copy.dim[d] = 0;
  return copy;
}

/* Finds the shape of a new node. The first run has copies of the inputs with batch 0: each
   dimension that comes out as 0 depends on the batch. The second run has the known batch. */
static void edf__infer_new(edf_node *y) {
  size_t n = (size_t)y->n_in;
  edf__nodes *copies = edf__new_nodes(EDF__COPIES, n);
  copies->used = n;
  for (size_t k = 0; k < n; k++) {
    edf__slot *copy = edf__slot_in(copies, k);
    copy->node = edf__without_batch(y->in[k]);
    copy->in[0] = y->in[k];
    y->in[k] = &copy->node;
  }
  edf__infer(y);
  for (int d = 0; d < y->rank; d++) y->batched |= (unsigned)(y->dim[d] == 0) << d;
  for (size_t k = 0; k < n; k++) y->in[k] = edf__slot_in(copies, k)->in[0];
  edf__free(copies);
  if (edf.batch) edf__infer(y);
}

/* ---- Forward */
static void edf__tell(edf_event event, edf_node *x) {
  if (edf.told && !edf.looking) edf.told(event, x);
}

/* Makes the target active, and all nodes that it depends on. NULL: all CompNodes. */
static void edf__mark(edf_node *target) {
  for (int i = 0; i < edf__n_nodes(); i++)
    edf__nth(i)->active = !target && edf__nth(i)->kind == EDF_COMPNODE;
  if (target) target->active = 1;
  for (int i = edf.n_compnodes - 1; i >= 0; i--)
    for (int k = 0; edf.compnodes[i]->active && k < edf.compnodes[i]->n_in; k++)
      edf.compnodes[i]->in[k]->active = 1;
}

/* Finds the batch of the active Inputs. If none of them has one, it is the old batch. Returns
   NULL, or why there is none: an Input was never fed, or Inputs disagree. */
static const char *edf__find_batch(int *batch) {
  const edf_node *first = NULL;
  *batch = edf.batch;
  for (int i = 0; i < edf.n_inputs; i++) {
    const edf_node *x = edf.inputs[i];
    if (!x->active) continue;
    if (x->fed < 0) return edf__text("an input was never fed\n  %s", edf__show(x));
    if (!x->batched) continue;
    if (!first) first = x;
    if (x->fed != first->fed)
      return edf__text("the inputs disagree on the batch\n  batch %d was fed to %s\n  batch %d "
                       "was fed to %s", x->fed, edf__show(x), first->fed, edf__show(first));
    *batch = x->fed;
  }
  return NULL;
}

/* Does nothing. It is called when a node has run, forward or backward. In gdb:
   break edf_ran if $_streq(node->name, "h") */
EDF__ATTRIBUTE(noinline) void edf_ran(edf_node *node) {
  static edf_node *volatile last;
  last = node;
  (void)last;
}

static void edf__repeat(edf_real *to, size_t n, edf_real number) {
  for (size_t i = 0; i < n; i++) to[i] = number;
}
/* Tells the device what the host does with an array. */
static void edf__sync(edf_node *x, edf_which array, edf_access by) {
  if (edf_device) edf_device->sync(x, array, by);
}
/* Returns the plan of x[i] = number * 1 * 1 for n entries. */
static edf_route edf__route_to_fill(size_t n, edf_real number) {
  edf_route r;
  memset(&r, 0, sizeof r);
  r.nest.n = r.first[3] = 1;
  r.nest.loop[0].n = r.extent[2] = (ptrdiff_t)n;
  r.nest.loop[0].s[EDF_OUT] = r.extent[0] = r.extent[1] = 1;
  r.nest.alpha = number;
  r.covers = n;
  return r;
}
static void edf__fill(edf_node *x, edf_which array, edf_real number) {
  edf_real *to = array == EDF_VALUE ? x->value : x->grad;
  edf_operand out = { x, array };
  edf_route r = edf__route_to_fill(x->size, number);
  if (edf_device && edf_device->run(&r, 1, out, edf_one, edf_one)) return;
  if (number == 0 && edf__list_zeros(x, to)) return;
  if (number == 0) memset(to, 0, x->size * sizeof *to);
  else edf__repeat(to, x->size, number);
  edf__sync(x, array, EDF_WROTE);
}

/* With EDF_DEBUG a value is NaN until it is written, and the end of a pass reports the first
   NaN, see >>step. An equation writes all its entries. */
#if defined EDF_DEBUG && !defined EDF_NO_DEBUG
enum { EDF__DEBUGS = 1 };
#else
enum { EDF__DEBUGS = 0 };
#endif
static int edf__nan_reported;            /* 1 after the first report, until edf_clear         */
static int edf__has_flag(const edf_node *y, int flag) {
  return y->code && (y->code->flags & flag) != 0;
}
static void edf__poison(edf_node *y) {
  if (EDF__DEBUGS && !edf__has_flag(y, EDF_LOOPS)) edf__fill(y, EDF_VALUE, (edf_real)NAN);
}
static void edf__end_pass(edf_event event, edf_node *x) {
  if (!edf.direction) return;            /* Steps in a debugger have ended it.                */
  edf.at = -1;
  edf.direction = 0;
  if (EDF__DEBUGS && !edf.looking) edf_debug_pass(event == EDF_END_BACKWARD);
  edf__tell(event, x);
}

/* Each move of a Parameter has a number, which becomes the version of the Parameter. A CompNode
   gets the newest version among its inputs when it runs. If an input has a newer version later,
   the value of the CompNode is old. A Parameter that a node moves while it runs, such as a
   running mean, keeps its version. */
static unsigned long long edf__moves;
static void edf__note_move(edf_node *p) {
  edf__epoch++;
  if (!edf.running) p->version = ++edf__moves;
  edf__end_stepping();
}

/* Returns the input of c that has the newest version, or c if it has no inputs. */
static const edf_node *edf__newest_input(const edf_node *c) {
  const edf_node *newest = c->n_in ? c->in[0] : c;
  for (int k = 1; k < c->n_in; k++)
    if (c->in[k]->version > newest->version) newest = c->in[k];
  return newest;
}
static void edf__note_forward(edf_node *c) {
  c->ran = edf.feeds;
  c->version = edf__newest_input(c)->version;
}

/* Backward does not fill the gradients with 0 at its start. It sets grad_is_zero. The first
   product of an equation then assigns instead of adding, which saves a pass over every weight.
   edf__write_zeros writes the zeros, before any other code sees the gradient. */
static void edf__write_zeros(edf_node *x) {
  if (x->grad && x->grad_is_zero) edf__fill(x, EDF_GRAD, 0);
  x->grad_is_zero = 0;
}
static void edf__write_zeros_of_inputs(edf_node *y) {
  for (int k = 0; k < y->n_in; k++) edf__write_zeros(y->in[k]);
}

/* Runs the C code of a node in place of the device. The arrays that it reads are copied to the
   host before, and those that it writes to the device after. */
void edf_run_code(edf_node *y, int backward) {
  edf__check_exists("edf_run_code", y);
  void (*code)(edf_node *) = backward ? y->code->backward : y->code->forward;
  if (backward && !edf__has_flag(y, EDF_LOOPS)) edf__write_zeros_of_inputs(y);
  if (!edf_device) { code(y); return; }
  for (int k = 0; k < y->n_in; k++) {
    edf__sync(y->in[k], EDF_VALUE, EDF_READS);
    if (backward && y->in[k]->grad) edf__sync(y->in[k], EDF_GRAD, EDF_READS);
  }
  if (backward) edf__sync(y, EDF_VALUE, EDF_READS);
  if (backward) edf__sync(y, EDF_GRAD, EDF_READS);
  edf__paused = edf_device;
  edf_device = NULL;
  code(y);
  edf_device = edf__paused;
  edf__paused = NULL;
  if (!backward) edf__sync(y, EDF_VALUE, EDF_WROTE);
  for (int k = 0; backward && k < y->n_in; k++)
    if (y->in[k]->grad) edf__sync(y->in[k], EDF_GRAD, EDF_WROTE);
}
/* Returns 1 if the node runs by its C code, although there is a device. */
static int edf__runs_on_host(const edf_node *c, int backward) {
  int own = backward ? c->backward != c->code->backward : c->forward != c->code->forward;
  return edf_device && !own && !edf__has_flag(c, EDF_LOOPS);
}

static void edf__end_node(edf_node *c) {
  edf.running = NULL;
  if (!edf__has_flag(c, EDF_TESTED)) edf__epoch++;
  if (!edf__list_ran(c)) edf_ran(c);
}
static void edf__forward_node(edf_node *c) {
  edf__poison(c);
  if (edf_device && c->check) c->check(c);
  edf.running = c;
  if (edf__runs_on_host(c, 0)) edf_run_code(c, 0);
  else if (!edf__list_code(c, 0)) c->forward(c);
  edf__note_forward(c);
  edf__end_node(c);
}
static void edf__forward_nodes(void) {
  edf__begin_list();
  for (edf.at = 0; edf.at < edf.n_compnodes; edf.at++)
    if (edf.compnodes[edf.at]->active) edf__forward_node(edf.compnodes[edf.at]);
  edf__end_list();
}

static void edf__begin_forward(const char *call, edf_node *target) {
  int batch;
  edf__mark(target);
  const char *problem = edf__find_batch(&batch);
  if (problem) edf__fail(edf__call_of(call), "%s", problem);
  edf__set_batch(batch);
  edf.direction = 1;
  edf__epoch++;
  edf__tell(EDF_BEGIN_FORWARD, target);
}
/* Returns 1 if a device has run this pass. It may replay a recording, without the nodes'
   code. Wrong class numbers stop before the pass, since a device cannot stop. */
static int edf__run_on_device(void (*nodes)(void), int forward) {
  if (!edf_device) return 0;
  for (int i = 0; forward && i < edf.n_compnodes; i++)
    if (edf.compnodes[i]->active && edf.compnodes[i]->check)
      edf.compnodes[i]->check(edf.compnodes[i]);
  if (!edf_device->pass(nodes, 1)) return 1;
  for (int i = 0; i < edf.n_compnodes; i++) {
    edf_node *y = edf.compnodes[i];
    if (forward && y->active) edf__note_forward(y);
    if (forward || !(y->active && y->needs_grad && y->backward)) continue;
    y->grad_is_zero = 0;
    for (int k = 0; k < y->n_in; k++) y->in[k]->grad_is_zero = 0;
  }
  return 1;
}
static void edf__run_forward(const char *call, edf_node *target) {
  edf__begin_forward(call, target);
  if (!edf__run_on_device(edf__forward_nodes, 1)) edf__forward_nodes();
  edf__end_pass(EDF_END_FORWARD, target);
}
void (edf_forward)(void) { edf__run_forward("edf_forward", NULL); }
void (edf_forward_to)(edf_node *node) {
  edf__check_call("edf_forward_to", node);
  edf__run_forward("edf_forward_to", node);
}

void (edf_feed)(edf_node *x, const edf_real *data, int batch) {
  edf__site at = edf__call_of("edf_feed");
  edf__check_kind(at, x, EDF_INPUT, "the node");
  int fits = x->batched ? batch >= 1 : batch == 1 || (x->rank && batch == x->dim[0]);
  if (!data) edf__fail(at, "the data is NULL\n  %s", edf__show(x));
  if (!fits)
    edf__fail(at, "batch is %d, %s\n  %s", batch, x->batched ? "expected 1 or more"
              : "but this Input has no batch index: pass 1", edf__show(x));
  if (edf.eager && x->batched) edf__set_batch(batch);
  x->value = (edf_real *)(uintptr_t)data;
  x->fed = batch;
  edf.feeds++;
  edf__end_stepping();
  edf__sync(x, EDF_VALUE, EDF_WROTE);
}

/* ---- A CompNode. Its inputs exist before it, so the order of construction is a schedule. */
static edf_node *edf__computed(const edf_op *about, edf__site at, int n, edf_node **in) {
  edf__check_operands(at, n, in);
  edf_node *y = edf__new_node(EDF_COMPNODE, at.op, at.file, at.line, n);
  for (int k = 0; k < n; k++) y->in[k] = in[k];
  y->about = y->code = about;
  y->shape = about->shape ? about->shape : edf__shape_of_first;
  y->forward = about->forward;
  y->backward = about->backward;
  y->name = edf__copy(&edf.computed, edf__text("%.900s%d", y->op, edf.n_compnodes));
  return y;
}

/* Returns 1 if the value of x is not from the last feed. */
static int edf__is_stale(const edf_node *x) {
  return x->kind == EDF_COMPNODE ? x->ran != edf.feeds :
         x->kind == EDF_INPUT && (x->fed < 0 || (x->batched && x->fed != edf.batch));
}
/* With edf.eager a constructor runs its node. */
static void edf__run_new(edf_node *y) {
  for (int k = 0; k < y->n_in; k++)
    if (y->in[k]->kind == EDF_INPUT && y->in[k]->batched && y->in[k]->fed > 0)
      edf__set_batch(y->in[k]->fed);
  for (int k = 0; k < y->n_in; k++)
    if (edf__is_stale(y->in[k]))
      edf__fail(edf__site_of(y), "edf.eager is 1, and an operand has no value of the last "
                "feed: feed all Inputs before you build nodes\n  %s", edf__show(y->in[k]));
  y->active = 1;
  edf__forward_node(y);
}
static edf_node *edf__add_compnode(edf_node *y) {
  edf_node *equal = edf__find_equal ? edf__find_equal(y) : NULL;
  if (equal) return equal;
  edf__infer_new(y);
  if (EDF__DEBUGS) {                     /* A debugger sees NaNs until Forward has run.       */
    size_t n = y->value ? y->size : 1024;
    if (!y->value) y->value = (edf_real *)edf__alloc(&edf.computed, n * sizeof *y->value);
    edf__repeat(y->value, n, (edf_real)NAN);
  }
  edf__append(&edf.compnodes, &edf.n_compnodes, y);
  if (edf_device) edf_device->built(y);
  if (edf.eager) edf__run_new(y);
  return y;
}

/* Makes a node of an op under the name of another one, such as Sub of an MSE. */
static edf_node *edf__node_named(edf__site at, const edf_op *op, int n, edf_node **in,
                                 const void *state, size_t bytes) {
  edf_node *y = edf__computed(op, at, n, in);
  if (state) memcpy(y->state = edf__alloc(&edf.computed, bytes), state, bytes);
  return edf__add_compnode(y);
}
edf_node *edf_node_at(const edf_op *op, const char *file, int line, int n, edf_node **in,
                      const void *state, size_t bytes) {
  edf__site at = { "edf_node_at", file, line };
  const char *missing = !op ? "the op" : !op->name ? "the name" :
                        !op->forward ? "forward" : NULL;
  if (missing) edf__fail(at, "%s is NULL", missing);
  at.op = op->name;
  return edf__node_named(at, op, n, in, state, bytes);
}
edf_node *edf_node1(const edf_op *op, const char *file, int line, edf_node *x) {
  return edf_node_at(op, file, line, 1, &x, NULL, 0);
}
edf_node *edf_node2(const edf_op *op, const char *file, int line, edf_node *a, edf_node *b) {
  edf_node *in[2] = { a, b };
  return edf_node_at(op, file, line, 2, in, NULL, 0);
}

/* Reads a constructor's operands up to the end mark. Returns them as a block that ends with
   NULL. */
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
  edf__site at = { "edf_compnode", file, line };
  int n;
  va_list args;
  if (!op || !forward) edf__fail(at, "%s is NULL", op ? "forward" : "the name");
  va_start(args, backward);
  edf_node **in = edf__operands(args, &n);
  va_end(args);
  edf_op *code = (edf_op *)edf__alloc(&edf.computed, sizeof *code + strlen(op) + 1);
  code->name = strcpy((char *)(code + 1), op);       /* a copy                                */
  code->shape = shape;
  code->forward = forward;
  code->backward = backward;
  at.op = code->name;
  edf_node *y = edf__computed(code, at, n, in);
  y->about = NULL;
  edf__free(in);
  return edf__add_compnode(y);
}

/* ==== >>backward  Backward, SGD and clearing ============================================= */

/* A node needs a gradient if it is wanted, is a Parameter that is not frozen, or has a backward
   and is computed from such a node. */
static void edf__find_needs(void) {
  for (int i = 0; i < edf__n_nodes(); i++) {
    edf_node *x = edf__nth(i);
    x->needs_grad = (x->kind == EDF_PARAMETER && x->update != edf_frozen) || x->wanted;
    for (int k = 0; x->backward && k < x->n_in; k++) x->needs_grad |= x->in[k]->needs_grad;
  }
}
static int edf__runs_backward(const edf_node *c) {
  return c->active && c->needs_grad && c->backward;
}

/* Returns a line about the last node below the loss at which a gradient ends. */
static const char *edf__show_end(edf_node *loss) {
  const edf_node *end = NULL;
  edf__mark(loss);
  for (edf_node **c = edf.compnodes; c < edf.compnodes + edf.n_compnodes; c++)
    for (int k = 0; (*c)->active && !(*c)->backward && k < (*c)->n_in; k++)
      if ((*c)->in[k]->needs_grad) end = *c;
  return end ? edf__text("\na node without backward cuts the path\n  %s", edf__show(end)) : "";
}
static void edf__check_loss(const char *call, edf_node *loss) {
  edf__site at = edf__call_of(call);
  edf__check_kind(at, loss, EDF_COMPNODE, "the loss");
  if (!loss->needs_grad)
    edf__fail(at, "the loss depends on no Parameter that is not frozen, nor on an Input with "
              "edf_want_grad\n  %s%s", edf__show(loss), edf__show_end(loss));
  if (loss->ran != edf.feeds)
    edf__fail(at, "the loss has no value for the last feed: call edf_forward first\n  %s",
              edf__show(loss));
}

/* Makes the loss and all nodes that it depends on active. If a Parameter has moved since one of
   these nodes ran, returns a text about the Parameter and the node, else NULL. */
static const char *edf__show_moved(edf_node *loss) {
  edf__mark(loss);
  for (int i = 0; i <= loss->position; i++) {
    const edf_node *c = edf.compnodes[i], *p = c->active ? edf__newest_input(c) : c;
    if (p->version <= c->version) continue;
    while (p->kind == EDF_COMPNODE) p = edf__newest_input(p);
    return edf__text("%.300s has moved since the last Forward\n  %s\n  its old value is in %s",
                     edf__label(p), edf__show(p), edf__show(c));
  }
  return NULL;
}

static void edf__write_all_zeros(void) {
  for (int i = 0; i < edf__n_nodes(); i++) edf__write_zeros(edf__nth(i));
}

static void edf__prepare_grad(edf_node *x) {
  int keep = edf.accumulate && !edf.looking && x->kind == EDF_PARAMETER && x->grad;
  int now = x->needs_grad && x->active;
  if (!x->needs_grad) {
    edf__free(x->grad);
    x->grad = NULL;
  }
  if (now) x->grad = edf__reals(x, x->grad);
  x->reached = (char)(now || (keep && x->reached));
  x->grad_is_zero = !keep;
}

static void edf__begin_backward(const char *call, edf_node *loss) {
  edf__find_needs();
  edf__check_loss(call, loss);
  const char *moved = edf__show_moved(loss);
  if (moved)
    edf__fail(edf__call_of(call), "call edf_forward first: %s\n  the loss is %s", moved,
              edf__show(loss));
  for (int i = 0; i < edf__n_nodes(); i++) edf__prepare_grad(edf__nth(i));
  edf__fill(loss, EDF_GRAD, (edf_real)1 / (edf_real)loss->size);
  loss->grad_is_zero = 0;
#ifndef __OPTIMIZE__
  edf__write_all_zeros();                /* A debugger shows the zeros.                       */
#endif
  edf.loss = loss;
  edf.gradients = EDF__NO_GRADIENTS;     /* until the Backward has ended                      */
  edf.direction = -1;
  edf.at = edf.n_compnodes;
  edf__epoch++;
  edf__tell(EDF_BEGIN_BACKWARD, loss);
}

static void edf__backward_node(edf_node *c) {
  if (!edf__runs_backward(c)) return;
  int loops = edf__has_flag(c, EDF_LOOPS);
  edf.running = c;
  if (!edf_device && !loops) edf__write_zeros_of_inputs(c);
  if (edf__runs_on_host(c, 1)) edf_run_code(c, 1);
  else if (!edf__list_code(c, 1)) c->backward(c);
  if (edf_device && !loops) edf__write_zeros_of_inputs(c);   /* if the device has left some   */
  edf__end_node(c);
}
static void edf__backward_nodes(void) {
  for (edf.at = edf.n_compnodes - 1; edf.at >= 0; edf.at--)
    edf__backward_node(edf.compnodes[edf.at]);
}
static void edf__end_backward(void) {
  edf__write_all_zeros();
  if (edf.direction) edf.gradients = EDF__NEW_GRADIENTS;
  edf__end_pass(EDF_END_BACKWARD, edf.loss);
  if (edf.after_backward && !edf.looking) edf.after_backward();
}

void (edf_backward)(edf_node *loss) {
  edf__begin_backward("edf_backward", loss);       /* all grads = 0, loss.grad = 1/n          */
  edf__begin_list();
  if (!edf__run_on_device(edf__backward_nodes, 0))           /* on a device the same loop     */
    for (edf.at = edf.n_compnodes - 1; edf.at >= 0; edf.at--)
      edf__backward_node(edf.compnodes[edf.at]);
  edf__end_list();
  edf__end_backward();
}

/* Threads share a loop that computes n entries, if n is large. */
#if defined _OPENMP && _OPENMP >= 200805 /* before 3.0 no loop over a size_t                  */
#define EDF__PRAGMA(text) _Pragma(#text)
#define EDF__SHARED_LOOP(n) \
  EDF__PRAGMA(omp parallel for num_threads((n) > 32768 ? edf__threads() : 1) schedule(static))
#else
#define EDF__SHARED_LOOP(n)
#endif

/* ---- Optimisers */
static void edf__sgd_step(edf_node *p, const edf_real *c) {
  EDF__SHARED_LOOP(p->size)
  for (size_t i = 0; i < p->size; i++) p->value[i] -= c[0] * p->grad[i];
}
const edf_rule edf_sgd_rule = { "SGD", edf__sgd_step, 0, 0 };

static int edf__may_step(const edf_node *p) {
  return p->grad && p->reached && p->update != edf_frozen;
}

/* Runs a rule for n Parameters. The C code of a rule that a device does not have runs here. */
static void edf__run_rule(const edf_rule *rule, const edf_real *c, edf_node **p, int n) {
  for (int i = 0; i < n; i++) {
    if (rule->needs_m) p[i]->m = edf__reals(p[i], p[i]->m);
    if (rule->needs_s) p[i]->s = edf__reals(p[i], p[i]->s);
  }
  if (edf_device && edf_device->update(p, n, rule, c) >= 0) return;
  for (int i = 0; i < n; i++) {
    for (int k = EDF_VALUE; k <= EDF_S; k++) edf__sync(p[i], (edf_which)k, EDF_READS);
    rule->run(p[i], c);
    for (int k = EDF_VALUE; k <= EDF_S; k++) edf__sync(p[i], (edf_which)k, EDF_WROTE);
  }
}

/* Calls a function with the Parameters that may step, in groups of up to 256, so that a device
   makes one step of a group. If `without` is 1, those with an update function are left out. */
typedef void edf__on_list(const edf_rule *rule, const edf_real *c, edf_node **p, int n);
static void edf__for_parameters(edf__on_list *run, const edf_rule *rule, const edf_real *c,
                                int without) {
  edf_node *p[256];
  for (int i = 0, n = 0; i < edf.n_parameters; i++) {
    edf_node *x = edf.parameters[i];
    if (edf__may_step(x) && !(without && x->update)) p[n++] = x;
    if (n == 0 || (n < 256 && i + 1 < edf.n_parameters)) continue;
    run(rule, c, p, n);
    n = 0;
  }
}

void edf_frozen(edf_node *p, edf_real eta) { (void)p; (void)eta; }

void edf_update(edf_node *p, const edf_rule *rule, const edf_real *c) {
  edf__check_parameter("edf_update", p);
  if (!p->grad)
    edf__fail(edf__call_of("edf_update"), "the Parameter has no gradient: call edf_backward "
              "first\n  %s", edf__show(p));
  edf__note_move(p);
  if (!edf__stepping && (rule->needs_m || rule->needs_s)) p->steps++;      /* for Adam's t    */
  edf__run_rule(rule, c, &p, 1);
}

/* Stops unless a step may use the gradients. */
static void edf__use_gradients(void) {
  if (edf.gradients == EDF__NO_GRADIENTS)
    edf__fail(edf__call_of("edf_step"), "there are no gradients: call edf_backward first");
  if (edf.gradients == EDF__USED_GRADIENTS && !edf.reuse_gradients)
    edf__fail(edf__call_of("edf_step"), "the last step has used these gradients: call "
              "edf_backward before each step\n  edf.reuse_gradients = 1 permits several steps "
              "with the same gradients");
  edf.gradients = EDF__USED_GRADIENTS;
}

/* Notes a step for tools: its rule, numbers and place. */
static void edf__note_step(const edf_rule *rule, const edf_real *c) {
  int n = rule == &edf_adam_rule ? 5 : rule == &edf_adam_slides_rule ? 4
        : rule == &edf_rmsprop_rule ? 3 : rule == &edf_momentum_rule ? 2 : 1;
  edf.rule = rule;
  memcpy(edf.numbers, c, (size_t)n * sizeof *c);
  edf.step_file = edf.file;
  edf.step_line = edf.line;
}
void (edf_step)(const edf_rule *rule, const edf_real *c) {
  if (edf__stepping)
    edf__fail(edf__call_of("edf_step"), "an update function calls it: use edf_update there");
  edf__use_gradients();
  edf__note_step(rule, c);
  edf__stepping = 1;
  for (int i = 0; i < edf.n_parameters; i++) {
    edf_node *p = edf.parameters[i];
    edf__tell(EDF_BEFORE_UPDATE, p);
    if (!edf__may_step(p)) continue;
    p->steps++;
    edf__note_move(p);
    if (p->update) p->update(p, c[0]);
  }
  edf__for_parameters(edf__run_rule, rule, c, 1);
  edf__stepping = 0;
}
void (edf_sgd)(edf_real eta) { (edf_step)(&edf_sgd_rule, &eta); }

void edf_zero_grad(void) {
  for (int i = 0; i < edf.n_parameters; i++) {
    edf.parameters[i]->grad_is_zero = 1;
    edf.parameters[i]->reached = 0;
    edf__write_zeros(edf.parameters[i]);
  }
}

/* ---- Clearing */
static void edf__run_cleared(edf_node *x) {
  edf__fail_node(edf__call_of("edf"), x, "a node that runs");
}
/* Leaves only what a message needs. A program that reads x->value itself finds NULL. */
static void edf__clear_node(edf__slot *slot) {
  edf_node *x = &slot->node;
  const char *file = x->file;
  int line = x->line;
  size_t n = strlen(x->name);
  if (n >= sizeof slot->was) n = sizeof slot->was - 1;
  memcpy(slot->was, x->name, n);
  memset(slot, 0, offsetof(edf__slot, was));
  x->kind = EDF_COMPNODE;
  x->op = "a cleared node";
  x->name = slot->was;
  x->file = file;
  x->line = line;
  x->position = x->fed = -1;
  x->in = slot->in;
  x->shape = x->forward = x->backward = edf__run_cleared;
}
/* Keeps the CompNodes, without their memory, until the next clear. */
static void edf__clear_nodes(void) {
  edf__block *all = edf.nodes[EDF__COMPUTED];
  edf__free_list(&edf.nodes[EDF__CLEARED]);
  for (edf__block *b = all; b; b = b->next)
    for (size_t i = 0; i < edf__nodes_in(b)->used; i++)
      edf__clear_node(edf__slot_in(edf__nodes_in(b), i));
  edf.nodes[EDF__CLEARED] = all;
  if (all) all->link = &edf.nodes[EDF__CLEARED];
  edf.nodes[EDF__COMPUTED] = NULL;
  edf.clears = ++edf__clears;
}
void edf_clear_compnodes(void) {
  edf__end_calls();
  if (edf_device) (edf_device->clear)(0);
  edf__clear_nodes();
  edf__free_list(&edf.computed);
  edf__free_list(&edf.scratch);
  edf.n_compnodes = 0;
  edf.loss = NULL;
}
void edf_clear(void) {
  edf.gradients = EDF__NO_GRADIENTS;
  edf__tell(EDF_CLEARED, NULL);
  edf.told = NULL;
  edf.rule = NULL;
  if (edf_device) (edf_device->clear)(1);
  edf_clear_compnodes();
  for (int list = 0; list < EDF__LISTS; list++) edf__free_list(&edf.nodes[list]);
  edf__free_list(&edf.kept);
  edf.inputs = edf.parameters = edf.compnodes = NULL;
  edf.n_inputs = edf.n_parameters = edf.n_packages = edf.batch = 0;
  edf.batch_name = "b";
  edf.workspace = NULL;
  edf__nan_reported = 0;
}
edf_graph edf_new_graph(void) {
  edf_graph empty = EDF__EMPTY_GRAPH;
  return empty;
}

/* ---- Single nodes */
void *edf_state(edf_node *y, size_t bytes) {
  edf__check_exists("edf_state", y);
  return y->state = edf__grow(edf__list_of(y), y->state, bytes);
}
edf_node *edf_name(edf_node *node, const char *name) {
  if (!name) edf__fail(edf__call_of("edf_name"), "the name is NULL");
  edf__check_call("edf_name", node);
  node->name = edf__copy(edf__list_of(node), name);
  return node;
}
/* The text h@119 is made when it is needed. It is made again after edf_name. */
const char *edf_label(const edf_node *node) {
  edf__check_exists("edf_label", node);
  if (edf__is_unique(node)) return node->name;
  const char *label = edf__text("%.900s@%d", node->name, node->position);
  if (!node->label || strcmp(node->label, label))
    ((edf_node *)(uintptr_t)node)->label = edf__copy(edf__list_of(node), label);
  return node->label;
}
edf_node *edf_want_grad(edf_node *node) {
  edf__check_call("edf_want_grad", node);
  node->wanted = 1;
  return node;
}

edf_real *edf_value(edf_node *node) {
  edf__check_exists("edf_value", node);
  if (!node->value || (node->kind == EDF_COMPNODE && !node->ran))
    edf__fail(edf__call_of("edf_value"), "the node has no value yet: %s first\n  %s",
              node->kind == EDF_INPUT ? "feed it" : "call edf_forward", edf__show(node));
  edf__sync(node, EDF_VALUE, EDF_READS);
  return node->value;
}
edf_real *edf_at(edf_node *node, ...) {
  edf_real *v = edf_value(node);
  size_t entry = 0;
  va_list index;
  va_start(index, node);
  for (int d = 0; d < node->rank; d++) {
    int i = va_arg(index, int);
    if (i < 0 || i >= node->dim[d])
      edf__fail(edf__call_of("edf_at"), "index %d of dimension %d, expected 0 to %d\n  %s", i,
                d, node->dim[d] - 1, edf__show(node));
    entry = entry * (size_t)node->dim[d] + (size_t)i;
  }
  va_end(index);
  return v + entry;
}
edf_real *edf_grad(edf_node *node) {
  edf__check_exists("edf_grad", node);
  if (node->grad) edf__sync(node, EDF_GRAD, EDF_READS);
  return node->grad;
}
/* Pushes a value that edf_gradcheck tries, or puts back. This is not a move. */
static void edf__push_tried(edf_node *node) {
  edf_device_table *device = edf__paused ? edf__paused : edf_device;
  if (device && node->value) device->sync(node, EDF_VALUE, EDF_WROTE);
}
void edf_push(edf_node *node) {
  edf__check_exists("edf_push", node);
  if (node->kind == EDF_PARAMETER) edf__note_move(node);
  edf__push_tried(node);
}
void edf_push_grad(edf_node *node) {
  edf__check_exists("edf_push_grad", node);
  if (node->kind == EDF_PARAMETER) edf.gradients = EDF__NEW_GRADIENTS;
  edf_device_table *device = edf__paused ? edf__paused : edf_device;
  if (device && node->grad) device->sync(node, EDF_GRAD, EDF_WROTE);
}

/* ==== >>init  Random numbers and initialisation ========================================== */

/* Number n is a hash of the seed and n: the finaliser of SplitMix64, Steele et al. 2014. */
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
  return x < hi ? x : lo;                /* Rounding may have reached hi.                     */
}
edf_real edf_normal(edf_real mean, edf_real deviation) {
  double radius = sqrt(-2 * log(1 - edf__random_unit()));
  double angle = 6.283185307179586 * edf__random_unit();
  return (edf_real)((double)mean + (double)deviation * radius * cos(angle));
}
int edf_below(int n) {
  if (n < 1) edf__fail(edf__call_of("edf_below"), "n is %d, expected at least 1", n);
  return (int)(edf__random_unit() * n);
}

void edf_init_uniform(edf_node *p, edf_real lo, edf_real hi) {
  edf__check_parameter("edf_init_uniform", p);
  for (size_t i = 0; i < p->size; i++) p->value[i] = edf_uniform(lo, hi);
  edf_push(p);
}
void edf_init_normal(edf_node *p, edf_real mean, edf_real deviation) {
  edf__check_parameter("edf_init_normal", p);
  for (size_t i = 0; i < p->size; i++) p->value[i] = edf_normal(mean, deviation);
  edf_push(p);
}

/* ==== >>nodes  Nodes, from the simplest ================================================== */

/* exp that a compiler vectorises: x = n ln2 + r, a polynomial for exp(r), and 2^n by the
   exponent's bits, in two halves so that subnormal results are right. Beyond -104 and 104 it is
   0 or infinity anyway. Within 1 ulp; NaN stays NaN. Limits and signs are set by bits, because
   gcc makes no vectors of a loop with a branch. Coefficients: Cephes, expf, tanhf. */
#if EDF_REAL_IS_DOUBLE
static double edf__exp(double x) { return exp(x); }
static double edf__tanh(double x) { return tanh(x); }
#else
static inline int32_t edf__bits_of(float x) {
  int32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
static inline float edf__float_of(int32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
/* Returns a if the mask is all ones, and b if it is 0. */
static inline float edf__choose(int32_t mask, float a, float b) {
  return edf__float_of((edf__bits_of(a) & mask) | (edf__bits_of(b) & ~mask));
}
static inline float edf__power_of_two(int32_t n) {
  return edf__float_of((int32_t)((uint32_t)(n + 127) << 23));
}

static inline float edf__exp(float x) {
  int32_t bits = edf__bits_of(x), size = bits & 0x7fffffff, limit = edf__bits_of(104);
  int32_t nan = (0x7f800000 - size) >> 31;                     /* all ones for a NaN          */
  float t = edf__float_of((bits ^ size) | (size < limit ? size : limit) | nan);
  float whole = t * 1.44269504f + 12582912.f;                  /* its low bits are n          */
  int32_t k = edf__bits_of(whole) - edf__bits_of(12582912.f), half = k >> 1;
  float n = (float)k;                    /* not whole - 12582912.f: x87 keeps more digits     */
  float r = (t - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  return (p * r * r + r + 1) * edf__power_of_two(half) * edf__power_of_two(k - half);
}

static inline float edf__tanh(float x) { /* near 0 by an odd polynomial                       */
  int32_t bits = edf__bits_of(x), size = bits & 0x7fffffff;
  int32_t is_near = (size - edf__bits_of(0.625f)) >> 31;       /* all ones, or 0              */
  float z = x * x, p = -5.70498872745e-3f * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  float small = p * z * x + x, large = 1 - 2 / (edf__exp(2 * edf__float_of(size)) + 1);
  return edf__choose(is_near, small, edf__float_of((bits ^ size) | edf__bits_of(large)));
}
#endif
static edf_real edf__ln(edf_real x) { return (edf_real)log((double)x); }
EDF__USED static edf_real edf__root(edf_real x) { return (edf_real)sqrt((double)x); }

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
const edf_op edf_sigmoid_op = { "Sigmoid", NULL, edf__sigmoid_forward,
  edf__sigmoid_backward, "y x", "y[i] = sigmoid(x[i])",
  "x.grad[i] += y.grad[i] y[i] (1 - y[i])", EDF_TESTED, NULL };

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
const edf_op edf_tanh_op = { "Tanh", NULL, edf__tanh_forward, edf__tanh_backward,
  "y x", "y[i] = tanh(x[i])", "x.grad[i] += y.grad[i] (1 - y[i]^2)", EDF_TESTED, NULL };

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
const edf_op edf_relu_op = { "Relu", NULL, edf__relu_forward, edf__relu_backward,
  "y x", "y[i] = max(0, x[i])", "x.grad[i] += y.grad[i] 1[y[i] > 0]", EDF_TESTED, NULL };

/* ---- Exp   y[i] = exp(x[i])     x.grad[i] += y.grad[i] y[i] ---- */
static void edf__exp_forward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) y->value[i] = edf__exp(x->value[i]);
}
static void edf__exp_backward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) edf_addgrad(x, i, y->grad[i] * y->value[i]);
}
const edf_op edf_exp_op = { "Exp", NULL, edf__exp_forward, edf__exp_backward,
  "y x", "y[i] = exp(x[i])", "x.grad[i] += y.grad[i] y[i]", EDF_TESTED, NULL };

/* ---- Log   y[i] = ln x[i]     x.grad[i] += y.grad[i] / x[i] ---- */
static void edf__log_forward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) y->value[i] = edf__ln(x->value[i]);
}
static void edf__log_backward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++)
    edf_addgrad(x, i, (edf_real)((double)y->grad[i] * (1 / (double)x->value[i])));
}
const edf_op edf_log_op = { "Log", NULL, edf__log_forward, edf__log_backward, "y x",
  "y[i] = ln(x[i])", "x.grad[i] += y.grad[i] / x[i]", EDF_TESTED, NULL };

/* ---- Sqrt   y[i] = sqrt(x[i])     x.grad[i] += y.grad[i] / (2 y[i]) ---- */
static void edf__sqrt_forward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) y->value[i] = edf__root(x->value[i]);
}
static void edf__sqrt_backward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++)
    edf_addgrad(x, i, (edf_real)((double)y->grad[i] * (0.5 / (double)y->value[i])));
}
const edf_op edf_sqrt_op = { "Sqrt", NULL, edf__sqrt_forward, edf__sqrt_backward, "y x",
  "y[i] = sqrt(x[i])", "x.grad[i] += y.grad[i] / (2 y[i])", EDF_TESTED, NULL };

/* ---- Square   y[i] = x[i]^2     x.grad[i] += y.grad[i] 2 x[i] ---- */
static void edf__square_forward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) y->value[i] = x->value[i] * x->value[i];
}
static void edf__square_backward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) { /* A slope of 0 stops an infinite or NaN y.grad.     */
    edf_real slope = 2 * x->value[i];
    edf_addgrad(x, i, slope == 0 ? 0 : y->grad[i] * slope);
  }
}
const edf_op edf_square_op = { "Square", NULL, edf__square_forward, edf__square_backward, "y x",
  "y[i] = x[i]^2", "x.grad[i] += y.grad[i] 2 x[i]", EDF_TESTED, NULL };

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

/* ---- Sum   y = sum_i x[i]     x.grad[i] += y.grad ---- */
static void edf__scalar_shape(edf_node *y) { y->rank = 0; }
static void edf__sum_forward(edf_node *y) {
  edf_loops(" = ...", edf_values(y), edf_values(y->in[0]), edf_one);
}
static void edf__sum_backward(edf_node *y) {
  edf_loops("... += ", edf_grads(y->in[0]), edf_grads(y), edf_one);
}
const edf_op edf_sum_op = { "Sum", edf__scalar_shape, edf__sum_forward, edf__sum_backward,
  "y x", "y = sum_K x[K]", "x.grad[k] += y.grad",
  EDF_LOOPS | EDF_TESTED | EDF__WAITS, NULL };

/* ---- Mean   y = (1/n) sum_i x[i]     x.grad[i] += y.grad / n ---- */
static void edf__mean_forward(edf_node *y) {
  edf_node *x = y->in[0];
  y->value[0] = edf__total(x->value, (ptrdiff_t)x->size) / (edf_real)x->size;
}
static void edf__mean_backward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < x->size; i++) edf_addgrad(x, i, y->grad[0] / (edf_real)x->size);
}
const edf_op edf_mean_op = { "Mean", edf__scalar_shape, edf__mean_forward,
  edf__mean_backward, "y x", "y = mean_K x[K]", "x.grad[k] += y.grad / K", EDF_TESTED, NULL };

/* ==== >>loops  Loops by their definition ================================================= */

static ptrdiff_t edf__entry(const edf_nest *nest, int operand, const ptrdiff_t *i) {
  ptrdiff_t entry = nest->start[operand];
  for (int k = 0; k < nest->n; k++) entry += i[k] * nest->loop[k].s[operand];
  return entry;
}
/* Returns 1 if n masks keep the step with these numbers. */
static int edf__keeps(const edf_mask *mask, int n, const ptrdiff_t *i) {
  int keep = 1;
  for (const edf_mask *m = mask; m < mask + n; m++)
    keep &= (m->low < 0 ? 0 : i[m->low]) - (m->high < 0 ? 0 : i[m->high]) + m->constant <= 0;
  return keep;
}
/* Adds alpha a b to out for all values of the indices that the masks keep; the last index runs
   fastest. >>kernel computes the same, faster. In a debugger, i[k] is the value of
   nest->loop[k].index. */
static void edf__run_nest(const edf_nest *nest, const edf_mask *mask, int n_mask, edf_real *out,
                          const edf_real *a, const edf_real *b) {
  ptrdiff_t i[EDF_MAX_INDEX] = { 0 };
  int k;
  for (k = 0; k < nest->n; k++) if (nest->loop[k].n <= 0) return;
  do {
    if (edf__keeps(mask, n_mask, i)) {
      edf_real factor_a = a[edf__entry(nest, EDF_A, i)];
      edf_real factor_b = b[edf__entry(nest, EDF_B, i)];
      out[edf__entry(nest, EDF_OUT, i)] += nest->alpha * factor_a * factor_b;
    }
    for (k = nest->n - 1; k >= 0 && ++i[k] == nest->loop[k].n; k--) i[k] = 0;
  } while (k >= 0);                      /* as an odometer counts; k is -1 at the end         */
}
void edf_contract_reference(const edf_nest *nest, edf_real *out, const edf_real *a,
                            const edf_real *b) {
  edf__run_nest(nest, NULL, 0, out, a, b);
}

/* ---- A spec: "...j = Ij, ...I". The index of a dimension is its letter, or for a dimension of
   the dots its number from the right: 1 for the last one. */
static const char *edf__name_of(char index) {
  static char names[128][2];
  names[(int)index][0] = index;
  return names[(int)index];
}
static int edf__is_spec_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

typedef struct {
  const char *spec;
  const char *at;                        /* what is read next                                 */
  edf_node *y;                           /* the node that runs, or NULL                       */
  edf_nest nest;
  const edf_node *source[EDF_MAX_INDEX]; /* the operand that gave a loop its size             */
  unsigned in[EDF_MAX_INDEX];            /* Bit k is 1 if operand k has the loop.             */
} edf__spec;

/* Stops with a message about the spec, and a list of the inputs. */
EDF__NORETURN static void edf__fail_spec(const edf__spec *s, const char *what) {
  const char *list = "";
  edf__site at = s->y ? edf__site_of(s->y) : edf__call_of("edf_loops");
  for (int k = 0; s->y && k < s->y->n_in; k++)
    list = edf__text("%s\n  %s", list, edf__show(s->y->in[k]));
  edf__fail(at, "\"%s\": %s%s", s->spec, what, list);
}
/* Stops because an index has the size n in x, and another size in an operand before it. */
EDF__NORETURN static void edf__fail_size(const edf__spec *s, const edf_loop *l, int n,
                                         const edf_node *x) {
  edf__site at = s->y ? edf__site_of(s->y) : edf__call_of("edf_loops");
  const edf_node *of[2] = { x, s->source[l - s->nest.loop] };
  const int size[2] = { n, (int)l->n };
  int dot = *l->index <= '8';            /* a dimension of "..."                              */
  const char *sizes = "";
  for (int k = 0; k < 2; k++)
    sizes = edf__text("%s\n  %s is %s in %s", sizes, dot ? "it" : l->index,
                      size[k] ? edf__text("%d", size[k]) : "the batch", edf__show(of[k]));
  edf__fail(at, dot ? "\"%s\": dimension %s from the right has two different sizes%s"
                    : "\"%s\": index %s has two different sizes%s", s->spec, l->index, sizes);
}
/* Returns the loop of an index. A new loop has the size -1. */
static edf_loop *edf__loop_of(edf__spec *s, char index) {
  edf_nest *t = &s->nest;
  edf_loop fresh = { -1, { 0, 0, 0 }, edf__name_of(index) };
  int k = 0;
  while (k < t->n && t->loop[k].index != fresh.index) k++;
  if (k == EDF_MAX_INDEX) edf__fail_spec(s, edf__text("more than %d indices", EDF_MAX_INDEX));
  if (k == t->n) t->loop[t->n++] = fresh;
  return &t->loop[k];
}
/* Reads the letters of an operand. Returns the first, and sets *dots and their number *n. */
static const char *edf__read_letters(edf__spec *s, int *dots, int *n) {
  s->at += strspn(s->at, " ");
  *dots = !strncmp(s->at, "...", 3);
  const char *letters = s->at + 3 * *dots;
  for (*n = 0; edf__is_spec_letter(letters[*n]); ++*n) {}
  s->at = letters + *n;
  s->at += strspn(s->at, " ");
  return letters;
}
/* Reads an operand and adds its strides. x is the tensor, or NULL for the number 1. */
static void edf__read_operand(edf__spec *s, int operand, const edf_node *x) {
  int dots, n, rank = x ? x->rank : 0;
  ptrdiff_t stride = 1;
  const char *letters = edf__read_letters(s, &dots, &n);
  if (dots ? n > rank : n != rank)
    edf__fail_spec(s, edf__text("rank %d%s is expected, %s has %d", n,
                                dots ? " or more" : "", x ? edf__label(x) : "edf_one", rank));
  for (int d = rank - 1; d >= 0; d--) {
    int from_right = rank - 1 - d, dot = from_right >= n;
    char index = dot ? (char)('1' + from_right - n) : letters[n - 1 - from_right];
    edf_loop *l = edf__loop_of(s, index);
    const edf_node **source = &s->source[l - s->nest.loop];
    s->in[l - s->nest.loop] |= 1u << operand;
    if (l->n >= 0 && l->n != x->dim[d]) edf__fail_size(s, l, x->dim[d], x);
    if (l->n < 0) *source = x;
    l->n = x->dim[d];
    l->s[operand] += stride;
    stride *= x->dim[d];
  }
}
static void edf__read_sign(edf__spec *s) {
  s->nest.alpha = *s->at == '-' ? -1 : 1;
  s->at += *s->at == '+' || *s->at == '-';
  if (*s->at++ != '=') edf__fail_spec(s, "expected '=', as in \"bj = Ij, bI\"");
}
static void edf__begin_spec(edf__spec *s, const char *spec, edf_node *y) {
  memset(s, 0, sizeof *s);
  s->spec = s->at = spec;
  s->y = y;
}

/* Stops if one index is only on the left, and another one only in one factor. The first would
   be a repetition and the second a sum, but most likely they are one index. */
static void edf__check_spec(const edf__spec *s) {
  const char *left = NULL, *right = NULL;
  for (int k = 0; k < s->nest.n; k++) {
    const char *index = s->nest.loop[k].index;
    if (*index <= '8') continue;         /* a dimension of "..."                              */
    if (s->in[k] == 1u << EDF_OUT) left = index;
    if (s->in[k] == 1u << EDF_A || s->in[k] == 1u << EDF_B) right = index;
  }
  if (left && right)
    edf__fail_spec(s, edf__text("index %s is only on the left, and %s only in one factor: one "
                                "index needs one letter (two calls can sum over %s, and repeat "
                                "along %s)", left, right, right, left));
}
edf_nest edf_nest_of(const char *spec, edf_node *const of[3]) {
  edf__spec s;
  for (int k = 0; k < 3; k++) if (of[k]) edf__check_exists("edf_loops", of[k]);
  edf__begin_spec(&s, spec, edf.running);
  edf__read_operand(&s, EDF_OUT, of[EDF_OUT]);
  edf__read_sign(&s);
  edf__read_operand(&s, EDF_A, of[EDF_A]);
  if (*s.at == ',') {
    s.at++;
    edf__read_operand(&s, EDF_B, of[EDF_B]);
  } else if (of[EDF_B]) edf__fail_spec(&s, "expected ',' and the last operand");
  if (*s.at) edf__fail_spec(&s, edf__text("cannot read \"%s\"", s.at));
  edf__check_spec(&s);
  return s.nest;
}

void edf_shape_by(edf_node *y, const char *spec) {
  edf__spec s;
  int dots, n, before = 0;
  edf__check_exists("edf_shape_by", y);
  edf__begin_spec(&s, spec, y);
  const char *left = edf__read_letters(&s, &dots, &n);
  edf__read_sign(&s);
  for (int k = 0; k < y->n_in; k++) {
    if (k && *s.at++ != ',') edf__fail_spec(&s, "there are more inputs than operands");
    edf__read_operand(&s, EDF_A, y->in[k]);
  }
  if (*s.at) edf__fail_spec(&s, edf__text("cannot read \"%s\"", s.at));
  for (int k = 0; dots && k < s.nest.n; k++) before += *s.nest.loop[k].index <= '8';
  if (before + n > EDF_MAX_RANK)
    edf__fail_spec(&s, edf__text("rank %d, expected 0 to %d", before + n, EDF_MAX_RANK));
  y->rank = before + n;
  for (int d = 0; d < y->rank; d++) {
    char index = d < before ? (char)('0' + before - d) : left[d - before];
    y->dim[d] = (int)edf__loop_of(&s, index)->n;
    if (y->dim[d] < 0) edf__fail_spec(&s, edf__text("no input has the index %c", index));
  }
}

/* ---- Running a plan on arrays of nodes. */
const edf_operand edf_one = { NULL, EDF_OWN };

static edf_real **edf__array_at(edf_node *x, int which) {
  return which == EDF_VALUE ? &x->value : which == EDF_GRAD ? &x->grad
         : which == EDF_M ? &x->m : &x->s;
}
static edf_real *edf__numbers(edf_operand a) {
  static edf_real one = 1;
  return a.of ? *edf__array_at(a.of, (int)a.which) : &one;
}
/* Returns 1 if an array stays the same until edf__epoch grows. */
static int edf__is_fixed(edf_operand a) {
  int in_pass = edf.direction && edf.running && !edf.looking;
  return in_pass && a.of && a.of->kind == EDF_PARAMETER && a.which == EDF_VALUE;
}
static int edf__fixed;                   /* bit x is 1 if operand x of this product is fixed  */
void edf_run(const edf_route *r, int how, edf_operand out, edf_operand a, edf_operand b) {
  edf_node *x = out.of;
  if (out.which == EDF_GRAD) {           /* The first sum for a gradient replaces the 0.      */
    if (!x->grad) return;
    if (x->grad_is_zero) how = EDF_ASSIGN;
    x->grad_is_zero = 0;
  }
  int assign = how == EDF_PART || (how == EDF_ASSIGN && r->covers == x->size);
  if (how && !assign) edf__fill(x, out.which, 0);
  if (edf_device && edf_device->run(r, assign, out, a, b)) return;
  if (a.of) edf__sync(a.of, a.which, EDF_READS);
  if (b.of) edf__sync(b.of, b.which, EDF_READS);
  edf__sync(x, out.which, EDF_READS);
  edf__fixed = edf__is_fixed(a) << EDF_A | edf__is_fixed(b) << EDF_B;
  if (!edf__list_loops(r, assign, out, a, b))
    edf_contract(r, assign, edf__numbers(out), edf__numbers(a), edf__numbers(b));
  edf__fixed = 0;
  edf__sync(x, out.which, EDF_WROTE);
}

/* ---- Running loops. A node keeps the plans of its loops, for the batch and the kernel for
   which they were made. */
typedef struct edf__planned {
  struct edf__planned *next;
  const char *spec;
  edf_node *of[3];
  int batch;
  int kernel;
  edf_route route;
} edf__planned;

/* Returns the plan of these loops. Outside of a node's code this is `unkept`. */
static const edf_route *edf__plan_of(const char *spec, edf_node *const of[3],
                                     edf__planned *unkept) {
  edf_node *y = edf.running && edf__is_listed(edf.running) ? edf.running : NULL;
  edf__planned *p = y ? y->planned : NULL;
  while (p && (strcmp(p->spec, spec) || memcmp(p->of, of, sizeof p->of))) p = p->next;
  if (p && p->batch == edf.batch && p->kernel == edf.kernel) return &p->route;
  edf_nest nest = edf_nest_of(spec, of);
  if (!p && y) {
    p = (edf__planned *)edf__alloc(&edf.computed, sizeof *p);
    p->spec = edf__copy(&edf.computed, spec);
    p->next = y->planned;
    y->planned = p;
  }
  if (!p) p = unkept;
  memcpy(p->of, of, sizeof p->of);
  p->batch = edf.batch;
  p->kernel = edf.kernel;
  p->route = edf_plan(&nest);
  return &p->route;
}

void edf_loops(const char *spec, edf_operand out, edf_operand a, edf_operand b) {
  edf_node *of[3] = { out.of, a.of, b.of };
  int how = spec[strcspn(spec, "+-=")] == '=' ? EDF_ASSIGN : EDF_ADD;
  edf__planned unkept;
  const edf_operand *operand[] = { &out, &a, &b };
  for (int k = 0; k < 3; k++)
    if (!of[k] && (k == EDF_OUT || operand[k]->which != EDF_OWN))
      edf__fail(edf__call_of("edf_loops"), "\"%s\": the %s is NULL", spec,
                k == EDF_OUT ? "output" : k == EDF_A ? "first factor" : "second factor");
  edf__check_exists("edf_loops", out.of);
  if (out.which == EDF_GRAD && !out.of->grad) return;
  edf_run(edf__plan_of(spec, of, &unkept), how, out, a, b);
}

EDF__BEGIN_COLD
/* ==== >>declarations  The text of an Input or a Parameter ================================ */

/* ---- A text that is being read. There are three copies. Messages show the first one. The
   second one is read: edf/slide.h has replaced signs such as a multiplication dot in it. The
   third one has a zero after each name. So a name is a pointer into the third copy, and from it
   follows its place in the text. */
typedef struct edf__scan {
  edf__site by;                          /* the call that gave the text                       */
  const char *text;                      /* as the program wrote it                           */
  const char *at;                        /* the next character, in the second copy            */
  size_t size;                           /* of one copy                                       */
} edf__scan;

/* Returns the line that has the character at `at`, and below it a caret. A letter that is not
   ASCII is one column. */
static const char *edf__caret(const edf__scan *s, const char *at) {
  static char shown[4096];               /* A longer line is cut, and has no caret.           */
  const char *place = s->text + (size_t)(at - s->text) % s->size, *line = s->text;
  int number = 1;
  for (const char *c = s->text; c < place; c++)
    if (*c == '\n') { line = c + 1; number++; }
  const char *file = s->by.file ? edf__text("%.900s:%d: ", s->by.file, s->by.line) : "";
  const char *before = strchr(s->text, '\n') ? edf__text("line %d: ", number) : "";
  int column = (int)(strlen(file) + strlen(s->by.op) + 2 + strlen(before));
  for (const char *c = line; c < place; c++) column += (*c & 0xC0) != 0x80;
  snprintf(shown, sizeof shown, "%s%.*s\n%*s^\n  ", before, (int)strcspn(line, "\n"), line,
           column, "");
  return shown;
}

/* Stops with a message about the character at `at`. */
#define edf__syntax(s, at, ...) \
  edf__fail((s)->by, "%s%s", edf__caret(s, at), edf__text(__VA_ARGS__))

static int edf__is_letter(char c) {      /* All characters that are not ASCII are letters.    */
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c & 0x80;
}
static int edf__is_digit(char c) { return c >= '0' && c <= '9'; }
/* Begins to read a text of n characters. The characters in `blanks` are read as a space.
   `prepare` may replace characters of the second copy; it keeps their number. */
static edf__scan edf__scan_of(const edf__site *at, const char *what, const char *text, int n,
                              int most, const char *blanks, void (*prepare)(char *)) {
  if (!text) edf__fail(*at, "the %s is NULL", what);
  if (n < 0 || n > most)
    edf__fail(*at, "the %s is too long: %d characters, at most %d", what, n, most);
  size_t size = (size_t)n + 1;
  char *copy = (char *)edf__alloc(&edf.computed, 3 * size);
  char *plain = copy + size, *names = plain + size;
  for (int i = 0; i < n; i++) copy[i] = strchr(blanks, text[i]) ? ' ' : text[i];
  strcpy(plain, copy);
  if (prepare) prepare(plain);
  for (int i = 0; i < n; i++) {
    int prime = plain[i] == '\'' && i > 0 && names[i - 1];
    if (edf__is_letter(plain[i]) || edf__is_digit(plain[i]) || prime) names[i] = plain[i];
  }
  edf__scan scan = { *at, copy, plain, size };
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
/* Stops at the next character, which is shown with all its bytes. */
EDF__NORETURN static void edf__found(const edf__scan *s, const char *expected,
                                     const char *hint) {
  const char *c = s->text + (size_t)(s->at - s->text) % s->size;
  int length = 1;
  while (c[0] & 0x80 && (c[length] & 0xC0) == 0x80) length++;
  const char *found = *c ? edf__text("'%.*s'", length, c) : "the end";
  edf__syntax(s, s->at, "expected %s, found %s%s", expected, found, hint);
}
static void edf__expect(edf__scan *s, char c, const char *expected, const char *hint) {
  if (!edf__accept(s, c)) edf__found(s, expected, hint);
}

static const char *edf__identifier(edf__scan *s, const char *expected) {
  if (!edf__is_letter(edf__peek(s))) edf__found(s, expected, "");
  const char *name = s->at + s->size;
  s->at += strlen(name);
  return name;
}
static int edf__whole(edf__scan *s, int least, int most) {
  long long n = 0;
  if (!edf__is_digit(edf__peek(s))) edf__found(s, "a number", "");
  const char *start = s->at;
  for (; edf__is_digit(*s->at) && n <= most; s->at++) n = 10 * n + (*s->at - '0');
  if (n < least) edf__syntax(s, start, "expected at least %d", least);
  if (n > most) edf__syntax(s, start, "the number is too large: at most %d", most);
  return (int)n;
}
/* ---- Declarations: x[b,784]  W[784,64]  v[i=3]  z */
static void edf__declare_dimension(edf_node *x, edf__scan *s) {
  int d = x->rank++;
  const char *name = NULL;
  if (d == EDF_MAX_RANK)
    edf__syntax(s, s->at, "a tensor has at most %d dimensions", EDF_MAX_RANK);
  if (!edf__is_digit(edf__peek(s))) name = edf__identifier(s, "a size or an index");
  if (!name || edf__accept(s, '=')) {
    x->dim[d] = edf__whole(s, 1, 1000000000);
    return;
  }
  if (x->kind == EDF_PARAMETER || d > 0)
    edf__syntax(s, name, "give %s a size, as in %s=10: only the batch, the first index of an "
                "Input, has none", name, name);
  x->batched = 1;
  if (x->kind != EDF_INPUT) return;      /* A Reshape is declared like an Input.              */
  x->dim[0] = edf.batch;
  for (int i = 0; i < edf.n_inputs; i++) if (edf.inputs[i]->batched) return;
  edf.batch_name = edf__copy(&edf.kept, name);     /* The first name of the batch is kept.    */
}

static void edf__read_declared(edf_node *x, edf__scan *s) {
  const char *name = edf__identifier(s, "a name");
  if (edf__accept(s, '[')) {
    do edf__declare_dimension(x, s); while (edf__accept(s, ','));
    edf__expect(s, ']', "']' or ','", "");
  }
  x->name = edf__copy(edf__list_of(x), name);
  if (x->kind != EDF_COMPNODE) edf__infer(x);      /* else it is a Reshape                    */
}

/* Reads the name and the shape of x from a declaration. */
static void edf__declare(edf_node *x, const char *op, const char *format, va_list args) {
  char text[256];
  edf__site at = { op, x->file, x->line };
  int n = format ? edf__vformat(text, sizeof text, format, args) : 0;
  edf__scan s = edf__scan_of(&at, "declaration", format ? text : NULL, n, 255, "\t\n\r",
                              NULL);
  edf__read_declared(x, &s);
  if (edf__peek(&s)) edf__found(&s, "the end", "");
  edf__free((void *)(uintptr_t)s.text);
}

/* Adds an Input or a Parameter to its list. */
static edf_node *edf__append_leaf(edf_node *p) {
  if (p->kind == EDF_INPUT) edf__append(&edf.inputs, &edf.n_inputs, p);
  else edf__append(&edf.parameters, &edf.n_parameters, p);
  return p;
}
/* The same. If a Parameter's name is taken, its position follows. */
static edf_node *edf__add_leaf(edf_node *p) {
  for (int i = 0; p->kind == EDF_PARAMETER && i < edf.n_parameters; i++)
    if (!strcmp(p->name, edf.parameters[i]->name))
      p->name = edf__copy(&edf.kept, edf__text("%s@%d", p->name, edf.n_parameters));
  return edf__append_leaf(p);
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

EDF__END_COLD
/* ==== >>products  Sums and products ====================================================== */

/* ---- Add, Sub, Mul   The operand of lower rank is repeated along the first dimensions ---- */
static void edf__pair_shape(edf_node *y) { edf_shape_by(y, "... = ..., ..."); }

/* y = a + b     a.grad += y.grad     b.grad += y.grad */
static void edf__add_forward(edf_node *y) {
  edf_loops("... = ...", edf_values(y), edf_values(y->in[0]), edf_one);
  edf_loops("... += ...", edf_values(y), edf_values(y->in[1]), edf_one);
}
static void edf__add_backward(edf_node *y) {
  edf_loops("... += ...", edf_grads(y->in[0]), edf_grads(y), edf_one);
  edf_loops("... += ...", edf_grads(y->in[1]), edf_grads(y), edf_one);
}
const edf_op edf_add_op = { "Add", edf__pair_shape, edf__add_forward,
  edf__add_backward, "y a b", "y[i] = a[i] + b[i]",
  "a.grad[i] += y.grad[i]\nb.grad[i] += y.grad[i]",
  EDF_LOOPS | EDF_TESTED | EDF__WAITS, NULL };

/* y = a - b     a.grad += y.grad     b.grad -= y.grad */
static void edf__sub_forward(edf_node *y) {
  edf_loops("... = ...", edf_values(y), edf_values(y->in[0]), edf_one);
  edf_loops("... -= ...", edf_values(y), edf_values(y->in[1]), edf_one);
}
static void edf__sub_backward(edf_node *y) {
  edf_loops("... += ...", edf_grads(y->in[0]), edf_grads(y), edf_one);
  edf_loops("... -= ...", edf_grads(y->in[1]), edf_grads(y), edf_one);
}
const edf_op edf_sub_op = { "Sub", edf__pair_shape, edf__sub_forward,
  edf__sub_backward, "y a b", "y[i] = a[i] - b[i]",
  "a.grad[i] += y.grad[i]\nb.grad[i] -= y.grad[i]",
  EDF_LOOPS | EDF_TESTED | EDF__WAITS, NULL };

/* y = a b     a.grad += y.grad b     b.grad += a y.grad */
static void edf__mul_forward(edf_node *y) {
  edf_loops("... = ..., ...", edf_values(y), edf_values(y->in[0]), edf_values(y->in[1]));
}
static void edf__mul_backward(edf_node *y) {
  edf_node *a = y->in[0], *b = y->in[1];
  edf_loops("... += ..., ...", edf_grads(a), edf_grads(y), edf_values(b));
  edf_loops("... += ..., ...", edf_grads(b), edf_values(a), edf_grads(y));
}
const edf_op edf_mul_op = { "Mul", edf__pair_shape, edf__mul_forward,
  edf__mul_backward, "y a b", "y[i] = a[i] b[i]",
  "a.grad[i] += y.grad[i] b[i]\nb.grad[i] += a[i] y.grad[i]",
  EDF_LOOPS | EDF_TESTED | EDF__WAITS, NULL };

/* Returns the inputs of a node as lines of a message. */
static const char *edf__show_inputs(const edf_node *y) {
  const char *lines = "";
  for (int k = 0; k < y->n_in; k++) lines = edf__text("%s\n  %s", lines, edf__show(y->in[k]));
  return lines;
}
/* ---- Div   y = a / b     a.grad += y.grad / b     b.grad -= y.grad y / b
   The shorter operand repeats: entry i of y meets entry i mod size of each operand. ---- */
static void edf__div_forward(edf_node *y) {
  const edf_node *a = y->in[0], *b = y->in[1];
  for (size_t i = 0; i < y->size; i++)
    y->value[i] = a->value[i % a->size] / b->value[i % b->size];
}
static void edf__div_backward(edf_node *y) {
  edf_node *a = y->in[0], *b = y->in[1];
  for (size_t i = 0; i < y->size; i++) {
    edf_real w = b->value[i % b->size], dy = y->grad[i];
    edf_addgrad(a, i % a->size, dy / w);
    edf_addgrad(b, i % b->size, -dy * y->value[i] / w);
  }
}
const edf_op edf_div_op = { "Div", edf__pair_shape, edf__div_forward, edf__div_backward,
  "y a b", "y[i] = a[i] / b[i]",
  "a.grad[i] += y.grad[i] / b[i]\nb.grad[i] -= y.grad[i] y[i] / b[i]", EDF_TESTED, NULL };

/* ---- Masked, of MaskedMean   y = a b     a.grad += y.grad b     b.grad += y.grad a
   b = 0 leaves an entry of a out, also if it is NaN. ---- */
static void edf__masked_forward(edf_node *y) {
  const edf_node *a = y->in[0], *b = y->in[1];
  for (size_t i = 0; i < y->size; i++) {
    edf_real m = b->value[i % b->size];
    y->value[i] = m == 0 ? 0 : a->value[i % a->size] * m;
  }
}
static void edf__masked_backward(edf_node *y) {
  edf_node *a = y->in[0], *b = y->in[1];
  for (size_t i = 0; i < y->size; i++) {
    edf_real m = b->value[i % b->size], dy = y->grad[i];
    edf_addgrad(a, i % a->size, m == 0 ? 0 : dy * m);
    edf_addgrad(b, i % b->size, dy * a->value[i % a->size]);
  }
}
static const edf_op edf__masked_op = { "Masked", edf__pair_shape, edf__masked_forward,
  edf__masked_backward, "y a b", "y[i] = a[i] b[i]",
  "a.grad[i] += y.grad[i] b[i]\nb.grad[i] += y.grad[i] a[i]", EDF_TESTED, NULL };

/* ---- Affine   s[b,j] = W[I,j] x[b,I] - B[j], and its gradient by the swap rule ---- */
static void edf__affine_shape(edf_node *s) { edf_shape_by(s, "...j = Ij, ...I, j"); }
static void edf__affine_forward(edf_node *s) {
  edf_node *W = s->in[0], *x = s->in[1], *B = s->in[2];
  edf_loops("...j = Ij, ...I", edf_values(s), edf_values(W), edf_values(x));
  edf_loops("...j -= j", edf_values(s), edf_values(B), edf_one);
}
static void edf__affine_backward(edf_node *s) {
  edf_node *W = s->in[0], *x = s->in[1], *B = s->in[2];
  edf_loops("Ij += ...j, ...I", edf_grads(W), edf_grads(s), edf_values(x));
  edf_loops("...I += Ij, ...j", edf_grads(x), edf_values(W), edf_grads(s));
  edf_loops("j -= ...j", edf_grads(B), edf_grads(s), edf_one);
}
const edf_op edf_affine_op = { "Affine", edf__affine_shape, edf__affine_forward,
  edf__affine_backward, "s W x B", "s[b,k] = W[N,k] x[b,N] - B[k]",
  "W.grad[n,k] += s.grad[b,k] x[b,n]\nx.grad[b,n] += W[n,k] s.grad[b,k]\n"
  "B.grad[k] -= s.grad[b,k]",
  EDF_LOOPS | EDF_TESTED | EDF__WAITS, NULL };

edf_node *edf_affine_at(const char *file, int line, edf_affine_package Phi, edf_node *x) {
  edf_node *in[3] = { Phi.w, x, Phi.b };
  return edf_node_at(&edf_affine_op, file, line, 3, in, NULL, 0);
}
/* W is uniform in +-sqrt(3/n_in), which has variance 1/n_in, for sums of n_in products. */
edf_affine_package edf_affine_params_at(const char *file, int line, int n_in, int n_out) {
  edf_affine_package Phi;
  edf__site at = { "edf_affine_params", file, line };
  if (n_in < 1 || n_out < 1)
    edf__fail(at, "%d inputs and %d outputs: expected at least 1 of each", n_in, n_out);
  int n = ++edf.n_packages;
  edf_real bound = edf__root((edf_real)3 / (edf_real)n_in);
  Phi.w = edf_parameter_at(file, line, "w%d[%d,%d]", n, n_in, n_out);
  Phi.b = edf_parameter_at(file, line, "b%d[%d]", n, n_out);
  edf_init_uniform(Phi.w, -bound, bound);
  return Phi;
}

/* ==== >>losses  Softmax, losses, Dropout, Reshape ======================================== */

/* ---- Softmax   P[b,k] = exp(s[b,k]) / sum_j exp(s[b,j])
                  s.grad[b,k] += P[b,k] (P.grad[b,k] - sum_j P[b,j] P.grad[b,j])
   The maximum of the row is subtracted first, which changes only the rounding. exp runs over
   a group of rows in one loop, which vectorises short rows. ---- */

/* Returns the number of entries that row b uses: all K. If `causal` is T > 0, row t of each T
   rows uses only the first t+1. */
static size_t edf__row_end(size_t b, size_t K, size_t causal) {
  size_t n = causal ? b % causal + 1 : K;
  return n < K ? n : K;
}
static void edf__softmax_rows(edf_real *P, const edf_real *s, size_t rows, size_t K,
                              size_t causal) {
  size_t group = K < 1024 ? 1024 / K : 1;                    /* rows                          */
  EDF__SHARED_LOOP(rows * K)
  for (size_t g = 0; g < rows; g += group) {
    size_t end = g + group < rows ? g + group : rows;
    for (size_t b = g; b < end; b++) {
      size_t n = edf__row_end(b, K, causal);
      const edf_real *row = s + b * K, max = edf__largest(row, (ptrdiff_t)n);
      for (size_t k = 0; k < n; k++) P[b * K + k] = row[k] - max;
    }
    edf_real *first = P + g * K;
    size_t used = (end - 1 - g) * K + edf__row_end(end - 1, K, causal);
    for (size_t i = 0; i < used; i++) first[i] = edf__exp(first[i]);
    for (size_t b = g; b < end; b++) {
      size_t n = edf__row_end(b, K, causal);
      edf_real *row = P + b * K, Z = edf__total(row, (ptrdiff_t)n);
      for (size_t k = 0; k < n; k++) row[k] /= Z;
      memset(row + n, 0, (K - n) * sizeof *row);
    }
  }
}
static void edf__softmax_rows_back(edf_node *P, size_t K, size_t causal) {
  edf_node *s = P->in[0];
  EDF__SHARED_LOOP(P->size)
  for (size_t b = 0; b < P->size; b += K) {
    size_t n = edf__row_end(b / K, K, causal);
    edf_real e = edf__dot(P->value + b, P->grad + b, (ptrdiff_t)n);
    for (size_t k = b; k < b + n; k++) edf_addgrad(s, k, P->value[k] * (P->grad[k] - e));
  }
}

static void edf__softmax_shape(edf_node *P) {
  edf__shape_of_first(P);
  if (!P->rank)
    edf__fail(edf__site_of(P), "a scalar has no last index\n  %s", edf__show(P->in[0]));
}
static size_t edf__columns(const edf_node *P) { return (size_t)P->dim[P->rank - 1]; }
static void edf__softmax_forward(edf_node *P) {
  size_t K = edf__columns(P);
  edf__softmax_rows(P->value, P->in[0]->value, P->size / K, K, 0);
}
static void edf__softmax_backward(edf_node *P) {
  edf__softmax_rows_back(P, edf__columns(P), 0);
}
const edf_op edf_softmax_op = { "Softmax", edf__softmax_shape, edf__softmax_forward,
  edf__softmax_backward, "P s", "P[b,k] = exp(s[b,k]) / sum_K exp(s[b,K])",
  "s.grad[b,k] += P[b,k] (P.grad[b,k] - sum_K P[b,K] P.grad[b,K])", EDF_TESTED, NULL };

/* ---- Labels are class numbers, one for each row of scores. */

/* Returns 1 if edf_real has all class numbers below K. A float skips odd numbers above 2^24. */
static int edf__has_classes(int K) { return EDF_REAL_IS_DOUBLE || K <= 16777216; }
/* Returns the indices of entry i of x: [1,0]. */
static const char *edf__indices(const edf_node *x, size_t i) {
  const char *text = "";
  size_t size = x->size;
  for (int d = 0; d < x->rank; d++) {
    size /= (size_t)x->dim[d];
    text = edf__text("%s%c%zu", text, d ? ',' : '[', i / size % (size_t)x->dim[d]);
  }
  return x->rank ? edf__text("%s]", text) : "";
}

/* Returns the class number in row b of y, one of K classes. */
static size_t edf__class_in(const edf_node *node, const edf_node *y, size_t b, size_t K) {
  double label = (double)y->value[b];
  int whole = label == floor(label);
  if (!whole || label < 0 || label >= (double)K)
    edf__fail(edf__site_of(node), "%s %g in row %s %s: expected 0 to %zu%s\n  %s",
              strstr(node->op, "LogLoss") ? "label" : "class", label,
              y->rank < 2 ? edf__text("%zu", b) : edf__indices(y, b),
              whole ? "is out of range" : "is not a whole number", K - 1,
              label == (double)K ? " (are the classes counted from 1?)" : "", edf__show(y));
  return (size_t)label;
}
/* Stops at a wrong label of an Input. */
static void edf__check_labels(const edf_node *loss) {
  const edf_node *P = loss->in[0], *y = loss->in[1];
  size_t K = (size_t)P->dim[P->rank - 1];
  for (size_t b = 0; y->kind == EDF_INPUT && b < y->size; b++) edf__class_in(loss, y, b, K);
}
static void edf__loss_shape(edf_node *loss) {
  const edf_node *P = loss->in[0], *y = loss->in[1];
  loss->check = edf__check_labels;
  int equal = P->rank == y->rank + 1;
  for (int d = 0; equal && d < y->rank; d++) equal = y->dim[d] == P->dim[d];
  if (!equal)
    edf__fail(edf__site_of(loss), "expected one label for each row of scores: y is %s, not %s%s"
              "\n  %s\n  %s", edf__dims(y, y->rank), edf__dims(P, P->rank - 1),
              P->rank < y->rank ? " (are the labels the second operand?)" : "", edf__show(P),
              edf__show(y));
  if (!edf__has_classes(P->dim[P->rank - 1]))
    edf__fail(edf__site_of(loss), "%d classes: a float has class numbers up to 16777216; use "
              "cc -DEDF_REAL=double\n  %s", P->dim[P->rank - 1], edf__show(P));
  loss->rank = y->rank;
  memcpy(loss->dim, y->dim, sizeof loss->dim);
}

/* Returns the entry of the scores that the label of row b selects. */
static size_t edf__label_entry(const edf_node *loss, size_t b) {
  size_t K = (size_t)loss->in[0]->dim[loss->in[0]->rank - 1];
  return b * K + edf__class_in(loss, loss->in[1], b, K);
}

/* ---- LogLoss   l[b] = -ln P[b,y[b]]     P.grad[b,y[b]] -= l.grad[b] / P[b,y[b]] ---- */
static void edf__log_loss_forward(edf_node *l) {
  for (size_t b = 0; b < l->size; b++)
    l->value[b] = -edf__ln(l->in[0]->value[edf__label_entry(l, b)]);
}
static void edf__log_loss_backward(edf_node *l) {
  edf_node *P = l->in[0];
  for (size_t b = 0; b < l->size; b++) {
    size_t i = edf__label_entry(l, b);
    edf_addgrad(P, i, -l->grad[b] / P->value[i]);
  }
}
const edf_op edf_log_loss_op = { "LogLoss", edf__loss_shape, edf__log_loss_forward,
  edf__log_loss_backward, "l P y", "l[b] = -ln P[b,y[b]]",
  "P.grad[b,y[b]] -= l.grad[b] / P[b,y[b]]", EDF_TESTED, NULL };

/* ---- SoftmaxLogLoss. The state is P = softmax(s). The greatest entry of a row has P = 1/Z,
   with Z the sum of exp(s - max): l = -ln(max P) + max s - s[y] is exact if P[y] is tiny. */
static void edf__softmax_log_loss_forward(edf_node *l) {
  edf_node *s = l->in[0];
  size_t K = s->size / l->size;
  edf_real *P = (edf_real *)edf_state(l, s->size * sizeof *P);
  edf__softmax_rows(P, s->value, l->size, K, 0);
  for (size_t b = 0; b < l->size; b++) {
    size_t best = b * K;
    for (size_t k = best; k < b * K + K; k++) best = s->value[k] > s->value[best] ? k : best;
    l->value[b] = (s->value[best] - s->value[edf__label_entry(l, b)]) - edf__ln(P[best]);
  }
}
static void edf__softmax_log_loss_backward(edf_node *l) {
  edf_node *s = l->in[0];
  const edf_real *P = (const edf_real *)l->state;
  size_t K = s->size / l->size;
  for (size_t b = 0; b < l->size; b++) {
    for (size_t k = b * K; k < b * K + K; k++) edf_addgrad(s, k, l->grad[b] * P[k]);
    edf_addgrad(s, edf__label_entry(l, b), -l->grad[b]);
  }
}
const edf_op edf_softmax_log_loss_op = { "SoftmaxLogLoss", edf__loss_shape,
  edf__softmax_log_loss_forward, edf__softmax_log_loss_backward, "l s y",
  "l[b] = ln sum_K exp(s[b,K]) - s[b,y[b]]",
  "s.grad[b,k] += l.grad[b] (exp(s[b,k]) / sum_K exp(s[b,K]) - 1[k = y[b]])",
  EDF_TESTED, NULL };

/* ---- BCELoss, without the logarithm of 0 */
static void edf__bce_shape(edf_node *l) {
  edf_node *s = l->in[0], *y = l->in[1];
  if (s->rank != y->rank || memcmp(s->dim, y->dim, (size_t)s->rank * sizeof *s->dim))
    edf__fail(edf__site_of(l), "the shapes must be equal%s", edf__show_inputs(l));
  edf__shape_of_first(l);
}
static void edf__bce_forward(edf_node *l) {
  edf_node *s = l->in[0], *y = l->in[1];
  for (size_t i = 0; i < l->size; i++) {
    double x = (double)s->value[i], ln = (x < 0 ? 0 : x) + log1p(exp(x < 0 ? x : -x));
    l->value[i] = (edf_real)(ln - (double)y->value[i] * x);
  }
}
static void edf__bce_backward(edf_node *l) {
  edf_node *s = l->in[0], *y = l->in[1];
  for (size_t i = 0; i < l->size; i++) {
    edf_real p = 1 / (1 + edf__exp(-s->value[i]));
    edf_addgrad(s, i, l->grad[i] * (p - y->value[i]));
    edf_addgrad(y, i, -l->grad[i] * s->value[i]);
  }
}
const edf_op edf_bce_loss_op = { "BCELoss", edf__bce_shape, edf__bce_forward,
  edf__bce_backward, "l s y", "l[i] = ln(1 + exp(s[i])) - y[i] s[i]",
  "s.grad[i] += l.grad[i] (sigmoid(s[i]) - y[i])\ny.grad[i] -= l.grad[i] s[i]",
  EDF_TESTED, NULL };

/* ---- MSE and MaskedMean are compositions. Their nodes have the op of the whole. ---- */
edf_node *edf_mse_at(const char *file, int line, edf_node *a, edf_node *b) {
  edf__site at = { "MSE", file, line };
  edf_node *in[2] = { a, b }, *y = edf__node_named(at, &edf_sub_op, 2, in, NULL, 0);
  y = edf__node_named(at, &edf_square_op, 1, &y, NULL, 0);
  return edf__node_named(at, &edf_mean_op, 1, &y, NULL, 0);
}
edf_node *edf_masked_mean_at(const char *file, int line, edf_node *x, edf_node *m) {
  edf__site at = { "MaskedMean", file, line };
  edf_node *in[2] = { x, m };
  edf__check_operands(at, 2, in);
  const edf_op *over = m->rank < x->rank ? &edf_mean_op : &edf_sum_op;     /* m is repeated   */
  edf_node *y = edf__node_named(at, &edf__masked_op, 2, in, NULL, 0);
  in[0] = edf__node_named(at, over, 1, &y, NULL, 0);
  in[1] = edf__node_named(at, over, 1, &m, NULL, 0);
  return edf__node_named(at, &edf_div_op, 2, in, NULL, 0);
}

enum { EDF__HEAD = 16 };                 /* numbers before an array in a state, to align it   */

/* ---- Dropout   y[i] = m[i] x[i] / (1-rate). Entry i's number is a hash of (edf.seed,
   edf.draws before this Forward + i + 1), so a device draws the same mask. The state is the
   rate and the factor of this Forward, then the mask m. */
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
const edf_op edf_dropout_op = { "Dropout", NULL, edf__dropout_forward,
  edf__dropout_backward, "y x", "y[i] = mask[i] x[i] / (1-p)\n\ny[i] = x[i]",
  "x.grad[i] += y.grad[i] mask[i] / (1-p)\n\nx.grad[i] += y.grad[i]", EDF_TESTED, NULL };
edf_node *edf_dropout_at(const char *file, int line, edf_node *x, double rate) {
  edf__site at = { "Dropout", file, line };
  if (!(rate >= 0 && (edf_real)rate < 1))
    edf__fail(at, "the rate is %.9g, expected 0 or more and less than 1", rate);
  edf_real state[2] = { (edf_real)rate, 0 };
  return edf_node_at(&edf_dropout_op, file, line, 1, &x, state, sizeof state);
}

/* ---- Reshape. The state is the shape that was declared; 0 is the batch. */
static void edf__reshape_shape(edf_node *y) {
  const edf_node *x = y->in[0];
  size_t rest = 1, known = 1;            /* without an unknown batch                          */
  if (!y->state) memcpy(edf_state(y, sizeof y->dim), y->dim, sizeof y->dim);
  memcpy(y->dim, y->state, sizeof y->dim);
  for (int d = 0; d < y->rank; d++) if (y->dim[d]) rest *= (size_t)y->dim[d];
  for (int d = 0; d < x->rank; d++) if (x->dim[d]) known *= (size_t)x->dim[d];
  int batch = y->rank && y->dim[0] == 0, unknown = x->size == 0, lost = unknown && !batch;
  int merges = unknown && rest % known == 0;         /* Forward checks it.                    */
  if (batch ? known % rest != 0 && !merges : unknown || known != rest)
    edf__fail(edf__site_of(y), "cannot reshape: x has %zu entries%s, the shape has %zu%s\n  %s",
              known, unknown ? " per row" : "", rest, lost ? ", no batch" : "", edf__show(x));
  if (batch) y->dim[0] = (int)(x->size / rest);
}
static void edf__reshape_forward(edf_node *y) {
  memcpy(y->value, y->in[0]->value, y->size * sizeof *y->value);
}
static void edf__reshape_backward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) edf_addgrad(x, i, y->grad[i]);
}
const edf_op edf_reshape_op = { "Reshape", edf__reshape_shape, edf__reshape_forward,
  edf__reshape_backward, "y x", "y.flat[n] = x.flat[n]", "x.grad.flat[n] += y.grad.flat[n]",
  EDF_TESTED, NULL };
edf_node *edf_reshape_at(const char *file, int line, edf_node *x, const char *decl, ...) {
  edf__site at = { "Reshape", file, line };
  edf_node *y = edf__computed(&edf_reshape_op, at, 1, &x);
  va_list args;
  va_start(args, decl);
  edf__declare(y, y->op, decl, args);
  va_end(args);
  y->batched = 0;                        /* The inference of the shape decides it.            */
  return edf__add_compnode(y);
}

/* ==== >>kernel  The plan of a nest, and the fast product ================================= */
/* ---- Canonical form. Loops of size 1 are dropped. A loop that is in no operand multiplies
   alpha. Two loops are fused if their strides allow it. */
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

static const edf_loop edf__once = { 1, { 0, 0, 0 }, NULL };
static ptrdiff_t edf__abs(ptrdiff_t s) { return s < 0 ? -s : s; }
static ptrdiff_t edf__least(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }
/* Compares two loops for qsort: by the stride in out, then in a, then in b, long strides first.
   So a plan does not depend on the order in which the loops were given. */
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
    int absent = !l->s[EDF_OUT] && !l->s[EDF_A] && !l->s[EDF_B] && l->n > 0;
    if (l->n < 0) l->n = 0;              /* an empty sum                                      */
    if (absent) t.alpha *= (edf_real)l->n;
    if (absent || l->n == 1) *l = t.loop[--t.n];
  }
  do qsort(t.loop, (size_t)t.n, sizeof *t.loop, edf__by_step); while (edf__fuse_one(&t));
  return t;
}

/* ---- The plan. */
enum { EDF__M, EDF__N, EDF__K, EDF__OUTSIDE };
static int edf__role(const edf_loop *l) {
  int in = (l->s[EDF_OUT] != 0) | (l->s[EDF_A] != 0) << 1 | (l->s[EDF_B] != 0) << 2;
  return in == 3 ? EDF__M : in == 5 ? EDF__N : in == 6 ? EDF__K : EDF__OUTSIDE;
}

/* Puts the loops in the order outside | M | N | K. If `alone` is a loop, it is the only loop of
   K, and all others run outside. */
static void edf__arrange(edf_route *r, const edf_nest *t, int alone) {
  r->nest = *t;
  r->nest.n = 0;
  for (int group = -1; group < 3; group++) {
    ptrdiff_t extent = 1;
    for (int i = 0; i < t->n; i++) {
      int role = alone < 0 ? edf__role(&t->loop[i]) : i == alone ? EDF__K : EDF__OUTSIDE;
      if (role != (group < 0 ? EDF__OUTSIDE : group)) continue;
      r->nest.loop[r->nest.n++] = t->loop[i];
      extent *= t->loop[i].n;
    }
    r->first[group + 1] = r->nest.n;
    if (group >= 0) r->extent[group] = extent;
  }
}

/* Returns the loop that makes the best row: it is long and has short strides. */
static int edf__best_row(const edf_nest *t) {
  double best = HUGE_VAL;
  int row = 0;
  for (int i = 0; i < t->n; i++) {
    ptrdiff_t widest = 0;
    for (int x = 0; x < 3; x++)
      if (edf__abs(t->loop[i].s[x]) > widest) widest = edf__abs(t->loop[i].s[x]);
    double cost = (widest <= 1 ? 0.15 : widest <= 8 ? 0.8 : 3) + 4 / (double)t->loop[i].n;
    if (cost < best) { best = cost; row = i; }
  }
  return row;
}
/* Returns 1 if the stride of loop i in out is longer than all shorter strides together. If this
   holds for each loop, no two steps write the same entry. */
static int edf__strides_over(const edf_loop *l, int n, int i) {
  ptrdiff_t s = edf__abs(l[i].s[EDF_OUT]), reach = 0;
  for (int k = 0; k < n; k++) {
    ptrdiff_t other = edf__abs(l[k].s[EDF_OUT]);
    if (k != i && other <= s) reach += (l[k].n - 1) * other;
  }
  return s > reach;
}
edf_route edf_plan(const edf_nest *nest) {
  edf_route r;
  memset(&r, 0, sizeof r);
  r.nest = *nest;
  if (edf.kernel == EDF_REFERENCE && !edf_device) return r;
  edf_nest t = edf__canonical(nest);
  edf__arrange(&r, &t, -1);
  r.product = r.extent[EDF__M] > 1 && r.extent[EDF__N] > 1 && r.extent[EDF__K] > 1;
  if (!r.product) edf__arrange(&r, &t, edf__best_row(&t));
  r.covers = 1;
  for (int i = 0; i < t.n; i++)
    if (t.loop[i].s[EDF_OUT] || t.loop[i].n == 0)
      r.covers *= edf__strides_over(t.loop, t.n, i) ? (size_t)t.loop[i].n : 0;
  return r;
}

/* ---- Operands as matrices, for a BLAS. Returns the step from entry to entry along a group of
   loops, or 0 if it is uneven. */
static ptrdiff_t edf__step_of(const edf_route *r, int group, int x) {
  int first = r->first[group], last = r->first[group + 1] - 1;
  const edf_loop *l = r->nest.loop;
  for (int i = first; i < last; i++) if (l[i].s[x] != l[i + 1].n * l[i + 1].s[x]) return 0;
  return l[last].s[x];
}
edf_matrix edf_matrix_of(const edf_route *r, int x) {
  int rows = x == EDF_B ? EDF__K : EDF__M, columns = x == EDF_A ? EDF__K : EDF__N;
  ptrdiff_t down = edf__step_of(r, rows, x), right = edf__step_of(r, columns, x);
  edf_matrix m = { r->extent[rows], r->extent[columns], 0, 0, 0 };
  int flat = right == 1 && down >= m.columns && down <= INT_MAX;
  int upright = down == 1 && right >= m.rows && right <= INT_MAX;
  m.direct = (flat || upright) && m.rows <= INT_MAX && m.columns <= INT_MAX;
  m.tall = !flat && (upright || (right != 1 && r->nest.loop[r->first[rows + 1] - 1].s[x] == 1));
  m.step = m.tall ? right : down;
  return m;
}

/* ---- Rows: the last two loops of a nest that is no product. A compiler vectorises them. */
static void edf__row(const edf_loop *l, edf_real c, int assign, edf_real *out,
                     const edf_real *a, const edf_real *b) {
  ptrdiff_t n = l->n, so = l->s[EDF_OUT], sa = l->s[EDF_A], sb = l->s[EDF_B];
  int one = (sa == 1 && sb == 0) || (sa == 0 && sb == 1), both = sa == 1 && sb == 1;
  const edf_real *x = sa ? a : b, scale = one ? c * (sa ? *b : *a) : c;
  if (so == 0 && one) *out = (assign ? 0 : *out) + scale * edf__total(x, n);
  else if (so == 0 && both) *out = (assign ? 0 : *out) + c * edf__dot(a, b, n);
  else if (so == 1 && one && assign) for (ptrdiff_t i = 0; i < n; i++) out[i] = scale * x[i];
  else if (so == 1 && one) for (ptrdiff_t i = 0; i < n; i++) out[i] += scale * x[i];
  else if (so == 1 && both && assign)
    for (ptrdiff_t i = 0; i < n; i++) out[i] = c * a[i] * b[i];
  else if (so == 1 && both) for (ptrdiff_t i = 0; i < n; i++) out[i] += c * a[i] * b[i];
  else
    for (ptrdiff_t i = 0; i < n; i++)
      out[i * so] = (assign && (so || !i) ? 0 : out[i * so]) + c * a[i * sa] * b[i * sb];
}

/* Rows that are added up to one row go four at a time, since an addition waits for the last
   addition to the same entry. */
static void edf__rows(const edf_route *r, int assign, edf_real *out, const edf_real *a,
                      const edf_real *b) {
  const edf_loop *end = r->nest.loop + r->nest.n, *row = r->nest.n > 0 ? end - 1 : &edf__once;
  const edf_loop *outer = r->nest.n > 1 ? end - 2 : &edf__once;
  int x = row->s[EDF_A] ? EDF_A : EDF_B, y = EDF_A + EDF_B - x;
  int sums = row->s[EDF_OUT] == 1 && row->s[x] == 1 && !row->s[y] && !outer->s[EDF_OUT];
  const edf_real *from = x == EDF_A ? a : b, *stays = x == EDF_A ? b : a;
  ptrdiff_t i = sums && assign, s = outer->s[x];
  if (i) edf__row(row, r->nest.alpha, assign, out, a, b);
  for (; sums && i + 4 <= outer->n; i += 4) {
    const edf_real *p = from + i * s;
    edf_real c[4];
    for (int k = 0; k < 4; k++) c[k] = r->nest.alpha * stays[(i + k) * outer->s[y]];
    for (ptrdiff_t k = 0; k < row->n; k++)
      out[k] = out[k] + c[0] * p[k] + c[1] * p[k + s] + c[2] * p[k + 2 * s] +
               c[3] * p[k + 3 * s];
  }
  int adds = row->s[EDF_OUT] == 1 && row->s[x] == 1 && !row->s[y] && !assign && row->n <= 64;
  for (; adds && i < outer->n; i++) {    /* short rows, such as thresholds                    */
    edf_real c = r->nest.alpha * stays[i * outer->s[y]], *to = out + i * outer->s[EDF_OUT];
    for (ptrdiff_t k = 0; k < row->n; k++) to[k] += c * from[i * s + k];
  }
  for (; i < outer->n; i++)
    edf__row(row, r->nest.alpha, assign && (i == 0 || outer->s[EDF_OUT]),
             out + i * outer->s[EDF_OUT], a + i * outer->s[EDF_A], b + i * outer->s[EDF_B]);
}

/* ---- The product, out[M,N] += alpha a[M,K] b[K,N], in tiles:

                           a panel of b, packed
                           . . . . . . . . .
                        k  b b b b b b b b b     For each k, a line of the panel, 4 vectors,
                           . . . . . . . . .     is multiplied by a number of each of 6 rows
            k              v v v v v v v v v     of a: 24 multiply-adds for 10 loads. The sums
       . .  a  . .         s s s s s s s s s     stay in registers.
       . .  a  . .         s s s s s s s s s
       . .  a  . .  rows   s s s s s s s s s     a is read in place, at row[i] + column[k]. So
       . .  a  . .         s s s s s s s s s     a convolution is not copied. Columns of a
       a, in place         a tile of out         matrix with long lines are, since they would
                                                 fall into a few sets of the cache.

   Each sum adds its k in order, whatever M and N are. So a row of a product has the same bits
   in any batch of at least 2, and for any number of threads. (Batch 1 is no product, and may
   round in another way.) */
#if defined(__GNUC__) && FLT_EVAL_METHOD != 2    /* The i387 (2) computes products too wide.  */
#if defined(__AVX512F__)
enum { EDF__VECTOR_BYTES = 64, EDF__VECTORS = 4, EDF__SUMS = 24 };     /* of 32 registers     */
#elif defined(__AVX__)
enum { EDF__VECTOR_BYTES = 32, EDF__VECTORS = 2, EDF__SUMS = 12 };     /* of 16               */
#else
enum { EDF__VECTOR_BYTES = 16, EDF__VECTORS = 2, EDF__SUMS = 12 };
#endif
typedef edf_real edf__vector __attribute__((vector_size(EDF__VECTOR_BYTES), may_alias,
                                            aligned(sizeof(edf_real))));
#define EDF__PREFETCH(x, writes) __builtin_prefetch(x, writes)
#else
enum { EDF__VECTOR_BYTES = sizeof(edf_real), EDF__VECTORS = 2, EDF__SUMS = 8 };
typedef edf_real edf__vector;
#define EDF__PREFETCH(x, writes) ((void)(x))
#endif
#if defined(__clang__)                   /* else it splits the vectors                        */
#define EDF__UNROLL _Pragma("clang loop unroll(full)")
#define EDF__FUSED __attribute__((min_vector_width(EDF__VECTOR_BYTES * 8)))
#elif defined(__GNUC__)
#define EDF__UNROLL _Pragma("GCC unroll 16")
#ifdef __STRICT_ANSI__                   /* -std=c99 would not fuse a * b + c                 */
#define EDF__FUSED __attribute__((optimize("fp-contract=fast")))
#endif
#else
#define EDF__UNROLL
#endif
#define EDF__INLINE EDF__ATTRIBUTE(always_inline) inline
#ifndef EDF__FUSED                       /* as the compiler's options say                     */
#define EDF__FUSED
#endif

enum {
  EDF__LANES = EDF__VECTOR_BYTES / sizeof(edf_real),
  EDF__ROWS = 8,                         /* of a tile, at most                                */
  EDF__STRIP = (int)EDF__VECTORS * (int)EDF__LANES,
  EDF__MB = 144,                         /* rows of a block: its part of a stays in the cache */
  EDF__NB = 256,                         /* columns of a block                                */
  EDF__KB = 512,                         /* k of a block: its panel stays in the cache        */
  EDF__DEPTH = EDF__KB * 3 / 2,          /* k of a block, at most                             */
  EDF__LONG_LINE = 2048 / sizeof(edf_real)           /* of a transposed matrix: it is packed  */
};

typedef struct {
  int wide, rows;                        /* number of vectors in a row, and of rows           */
  int assign;                            /* 1 for out =, 0 for out +=                         */
  edf_real alpha;
  ptrdiff_t k;                           /* number of products in a sum                       */
  ptrdiff_t step;                        /* line k of b is at b + k * step                    */
  ptrdiff_t a_step;                      /* from row to row of packed rows, or 0              */
  const edf_real *b;
  const edf_real *a[EDF__ROWS];          /* number k of row r is at a[r][column[k]]           */
  const ptrdiff_t *column;
  edf_real *out[EDF__ROWS];
} edf__tile;

/* The compiler knows wide and rows, so sum and line are registers. With `assign`, 0 is added to
   the sum, so that each compiler makes one instruction of the last line in all tiles, and all
   round alike. */
EDF__FUSED static EDF__INLINE void edf__sum_tile(int wide, int rows, const edf__tile *t) {
  edf__vector sum[EDF__ROWS][EDF__VECTORS], line[EDF__VECTORS], zero;
  const edf_real *b = t->b, *a[EDF__ROWS];
  memset(sum, 0, sizeof sum);
  memset(&zero, 0, sizeof zero);
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
      edf__vector was = t->assign ? zero : *out;
      *out = was + t->alpha * sum[r][v];
    }
  }
}

/* Returns how many rows have registers for their sums, or a third for the last rows. */
static EDF__INLINE int edf__tile_rows(int wide, int whole) {
  int rows = EDF__SUMS / wide < EDF__ROWS ? EDF__SUMS / wide : EDF__ROWS;
  return whole ? rows : (rows + 1) / 3;
}
EDF__FUSED static EDF__INLINE void edf__sum_wide(int wide, const edf__tile *t) {
  if (t->rows == edf__tile_rows(wide, 1)) edf__sum_tile(wide, edf__tile_rows(wide, 1), t);
  else edf__sum_tile(wide, edf__tile_rows(wide, 0), t);
}
EDF__FUSED static void edf__run_tile(const edf__tile *t) {
  if (t->wide == 1) edf__sum_wide(1, t);
  else if (t->wide == 2) edf__sum_wide(2, t);
  else if (EDF__VECTORS == 4 && t->wide == 3) edf__sum_wide(3, t);
  else if (EDF__VECTORS == 4) edf__sum_wide(4, t);
}

/* ---- Entry (i, j) of an operand is at row[i] + column[j], since strides add. A block has
   tables of row and column for out, a and b. Loops outside use the same tables again. */
typedef struct {
  ptrdiff_t first;                       /* of the block                                      */
  ptrdiff_t n;                           /* 0 if the table is not filled                      */
  ptrdiff_t at[EDF__DEPTH];
} edf__places;
typedef struct {                         /* the panels of all blocks of a Parameter           */
  unsigned long epoch;                   /* when it had these numbers                         */
  const edf_real *b;                     /* its first number                                  */
  ptrdiff_t n, k, right, down;           /* columns, lines, and the steps between them        */
  int filled;
  edf_real *at;
} edf__panels;
enum { EDF__KEPT_PANELS = 8 };
typedef struct edf__workspace {
  edf_real panel[EDF__NB * EDF__DEPTH];
  edf_real block[EDF__MB * EDF__DEPTH];  /* rows of a, if they are packed                     */
  ptrdiff_t in_order[EDF__DEPTH];        /* 0, 1, 2 ...: the columns of packed rows           */
  edf_real sums[EDF__ROWS * EDF__STRIP]; /* a tile whose rows are not whole in out            */
  edf__places row[3];
  edf__places column[3];
  edf__panels kept[EDF__KEPT_PANELS];
  int fixed;                             /* bit x is 1 if operand x is fixed                  */
  double took, share;                    /* seconds of the last jobs, and its part of them    */
} edf__workspace;
/* Each begins with a cache line, so that no vector of a panel lies across two. */
#define EDF__WORKSPACE ((sizeof(edf__workspace) + EDF__ALIGN - 1) / EDF__ALIGN * EDF__ALIGN)
static edf__workspace *edf__workspace_of(int thread) {
  return (edf__workspace *)(void *)((char *)edf.workspace + (size_t)thread * EDF__WORKSPACE);
}

/* Finds the places in operand x of `count` steps of a group of loops, from step `first` on. */
static void edf__find_places(edf__places *p, const edf_route *r, int group, int x,
                             ptrdiff_t first, ptrdiff_t count) {
  const edf_loop *l = r->nest.loop, *inner = &l[r->first[group + 1] - 1];
  ptrdiff_t *at = p->at;
  if (p->first == first && p->n == count) return;
  p->first = first;
  p->n = count;
  for (ptrdiff_t end = first + count, run; first < end; first += run, at += run) {
    ptrdiff_t index = first / inner->n, offset = first % inner->n * inner->s[x];
    run = edf__least(inner->n - first % inner->n, end - first);
    for (int i = r->first[group + 1] - 2; i >= r->first[group]; index /= l[i--].n)
      offset += index % l[i].n * l[i].s[x];
    for (ptrdiff_t c = 0; c < run; c++) at[c] = offset + c * inner->s[x];
  }
}

/* Returns how many of n places follow one another at this step. Whole blocks are compared
   first, since a compiler vectorises that. */
static ptrdiff_t edf__run_of(const ptrdiff_t *at, ptrdiff_t n, ptrdiff_t step) {
  ptrdiff_t i = 0, other = 0;
  for (; i + 16 <= n; i += 16) {
    for (ptrdiff_t k = 0; k < 16; k++) other |= at[i + k] ^ (at[0] + (i + k) * step);
    if (other) break;
  }
  while (i < n && at[i] == at[0] + i * step) i++;
  return i;
}

/* Transposes a square: to[i][j] = b[column[j] + i], in lines of `width`. */
static void edf__transpose(edf_real *to, ptrdiff_t width, const edf_real *b,
                           const ptrdiff_t *column) {
#if defined(__GNUC__) && !defined(__clang__) && FLT_EVAL_METHOD != 2
  edf__vector x[EDF__LANES], y[EDF__LANES];
  __typeof__(x[0] < x[0]) low, high;     /* lanes 0, 0, 1, 1 ... of two vectors in turn       */
  EDF__UNROLL
  for (int i = 0; i < EDF__LANES; i++) low[i] = i / 2 + i % 2 * EDF__LANES;
  high = low + EDF__LANES / 2;
  EDF__UNROLL
  for (int i = 0; i < EDF__LANES; i++)
    x[i] = *(const edf__vector *)(const void *)(b + column[i]);
  EDF__UNROLL
  for (int n = EDF__LANES; n > 1; n /= 2) {
    EDF__UNROLL
    for (int i = 0; i < EDF__LANES; i++)
      y[i] = __builtin_shuffle(x[i / 2], x[(i + EDF__LANES) / 2], i % 2 ? high : low);
    EDF__UNROLL
    for (int i = 0; i < EDF__LANES; i++) x[i] = y[i];
  }
  EDF__UNROLL
  for (int i = 0; i < EDF__LANES; i++) *(edf__vector *)(void *)(to + i * width) = x[i];
#else
  for (int j = 0; j < EDF__LANES; j++)
    for (int i = 0; i < EDF__LANES; i++) to[i * width + j] = b[column[j] + i];
#endif
}

/* Packs a panel: to[k][j] = b[row[k] + column[j]], in lines of `width`. After n a line repeats
   its last number. A transpose is copied in squares. */
static void edf__pack(edf_real *to, ptrdiff_t width, const edf_real *b, const ptrdiff_t *row,
                      ptrdiff_t k, const ptrdiff_t *column, ptrdiff_t n) {
  if (n == width && edf__run_of(column, n, 1) == n) {
    for (ptrdiff_t t = 0; t < k; t++) {
      const edf_real *from = b + row[t] + *column, *end = from + n;
      EDF__PREFETCH(end, 0);             /* The next strip begins there.                      */
      for (; from < end; from += EDF__LANES, to += EDF__LANES)
        *(edf__vector *)(void *)to = *(const edf__vector *)(const void *)from;
    }
    return;
  }
  for (ptrdiff_t t = 0, lines; t < k; t += lines, to += lines * width) {
    lines = edf__least(EDF__LANES, k - t);
    int even = edf__run_of(row + t, lines, 1) == EDF__LANES;
    for (ptrdiff_t j = 0; j < width; j += EDF__LANES) {
      if (even && j + EDF__LANES <= n) edf__transpose(to + j, width, b + row[t], column + j);
      else
        for (ptrdiff_t i = 0; i < lines; i++)
          for (ptrdiff_t c = j; c < j + EDF__LANES; c++)
            to[i * width + c] = b[row[t + i] + column[edf__least(c, n - 1)]];
    }
  }
}

/* Packs the rows of a, if they are columns of a matrix with lines of 2 KB or more. Returns the
   step from row to row, or 0 if a is read in place. */
static ptrdiff_t edf__pack_rows(const edf_real *a, edf__workspace *w, ptrdiff_t columns) {
  const edf__places *row = &w->row[EDF_A], *column = &w->column[EDF_A];
  ptrdiff_t n = column->n, step = (n + EDF__LANES - 1) / EDF__LANES * EDF__LANES;
  int is_long = n >= 64 && edf__abs(column->at[1] - column->at[0]) >= EDF__LONG_LINE;
  if (!is_long || columns < 128 || row->n < 16 || row->at[1] - row->at[0] != 1) return 0;
  edf__pack(w->block, step, a, row->at, row->n, column->at, n);
  for (ptrdiff_t k = 0; k < n; k++) w->in_order[k] = k;
  return step;
}

/* Runs the tiles of a panel, which has n columns of the block. */
EDF__FUSED static void edf__run_panel(edf__tile *t, edf_real *out, const edf_real *a,
                                      edf__workspace *w, const ptrdiff_t *column, ptrdiff_t n) {
  const edf__places *row = &w->row[EDF_OUT], *a_row = &w->row[EDF_A];
  ptrdiff_t width = t->wide * EDF__LANES;
  edf_real *sums = w->sums;
  edf_real alpha = t->alpha;
  int assign = t->assign, whole = n == width && edf__run_of(column, n, 1) == n;
  if (!whole) { t->assign = 1; t->alpha = 1; }
  for (ptrdiff_t i = 0; i < row->n; i += t->rows) {
    ptrdiff_t left = row->n - i;
    t->rows = edf__tile_rows(t->wide, left > edf__tile_rows(t->wide, 0));
    for (int r = 0; r < t->rows; r++) {  /* The sums of rows after the last are not used.     */
      ptrdiff_t at = r < left ? i + r : i;
      t->a[r] = t->a_step ? w->block + at * t->a_step : a + a_row->at[at];
      t->out[r] = whole && r < left ? out + row->at[i + r] + *column : sums + r * width;
      EDF__PREFETCH(t->out[r], 1);       /* It arrives while the sums are computed.           */
    }
    edf__run_tile(t);
    for (ptrdiff_t r = 0; !whole && r < t->rows && r < left; r++)
      for (ptrdiff_t j = 0; j < n; j++) {
        edf_real *to = &out[row->at[i + r] + column[j]];
        *to = (assign ? 0 : *to) + alpha * sums[r * width + j];
      }
  }
  t->assign = assign;
  t->alpha = alpha;
}

/* Returns how many of the `left` columns the next strip has. Strips are even, so that none is
   narrow. If out has runs, each run begins a strip, so that tiles write whole lines. */
static ptrdiff_t edf__strip(ptrdiff_t run, ptrdiff_t left) {
  ptrdiff_t n = run % EDF__LANES ? left : run, wide = (n + EDF__LANES - 1) / EDF__LANES;
  ptrdiff_t strips = (wide + EDF__VECTORS - 1) / EDF__VECTORS;
  return edf__least((wide + strips - 1) / strips * EDF__LANES, n);
}

/* ---- Kept panels. Each step of a recurrence multiplies a few rows by the same Parameter. From
   the second product on, the panels of the Parameter are kept until edf__epoch grows. Returns
   them, or NULL. Sets *pack to 1 if they must be filled. */
static edf_real *edf__find_panels(const edf_route *r, int across, int x, const edf_real *b,
                                  edf__workspace *w, int *pack) {
  edf__panels *p = w->kept, *end = p + EDF__KEPT_PANELS;
  edf__panels is = { edf__epoch, b, r->extent[across], r->extent[EDF__K],
                     edf__step_of(r, across, x), edf__step_of(r, EDF__K, x), 0, NULL };
  int even = is.right && is.down && edf__step_of(r, across, EDF_OUT) == 1;
  if (!(w->fixed >> x & 1) || !even || r->first[EDF__M]) return NULL;
  while (p < end && p->epoch == is.epoch && (p->b != b || p->n != is.n || p->k != is.k ||
                                             p->right != is.right || p->down != is.down)) p++;
  if (p == end) return NULL;
  if (p->epoch != is.epoch) {            /* the first product                                 */
    is.at = p->at;
    *p = is;
    return NULL;
  }
  *pack = !p->filled;
  p->filled = 1;
#ifdef _OPENMP
#pragma omp critical(edf_panels)
#endif
  p->at = (edf_real *)edf__grow(&edf.kept, p->at, (size_t)(is.n + EDF__LANES) *
                                                  (size_t)is.k * sizeof *p->at);
  return p->at;
}

/* Runs block after block. A block packs a panel for each strip of columns and runs its tiles. A
   tall out is computed as out' = b' a'. If there are few rows, b is read in place. */
static void edf__product(const edf_route *r, int assign, edf_real *out, const edf_real *a,
                         const edf_real *b, edf__workspace *w) {
  int tall = edf_matrix_of(r, EDF_OUT).tall, x = tall ? EDF_B : EDF_A, y = EDF_A + EDF_B - x;
  int down = tall ? EDF__N : EDF__M, across = tall ? EDF__M : EDF__N;
  ptrdiff_t rows = r->extent[down], width = r->extent[across], all = r->extent[EDF__K];
  ptrdiff_t parts = all > EDF__KB ? (all + EDF__KB / 2) / EDF__KB : 1;
  ptrdiff_t depth = (all + parts - 1) / parts, wide;
  const edf_real *left = tall ? b : a, *right = tall ? a : b;
  int pack = 1;                          /* 0 if kept panels are filled                       */
  edf_real *kept = rows <= EDF__MB ? edf__find_panels(r, across, y, right, w, &pack) : NULL;
  edf__tile t;
  t.alpha = r->nest.alpha;
  for (ptrdiff_t k = 0; k < all; k += depth)
    for (ptrdiff_t j = 0; j < width; j += EDF__NB)
      for (ptrdiff_t i = 0; i < rows; i += EDF__MB) {
        edf_real *panel = kept ? kept : w->panel;
        ptrdiff_t n_j = edf__least(EDF__NB, width - j), *row = w->row[EDF_B].at;
        t.k = edf__least(depth, all - k);
        t.assign = assign && k == 0;
        edf__find_places(&w->row[EDF_OUT], r, down, EDF_OUT, i, edf__least(EDF__MB, rows - i));
        edf__find_places(&w->row[EDF_A], r, down, x, i, edf__least(EDF__MB, rows - i));
        edf__find_places(&w->column[EDF_OUT], r, across, EDF_OUT, j, n_j);
        edf__find_places(&w->column[EDF_B], r, across, y, j, n_j);
        edf__find_places(&w->column[EDF_A], r, EDF__K, x, k, t.k);
        edf__find_places(&w->row[EDF_B], r, EDF__K, y, k, t.k);
        t.a_step = edf__pack_rows(left, w, n_j);
        t.column = t.a_step ? w->in_order : w->column[EDF_A].at;
        ptrdiff_t step = t.k > 1 ? row[1] - *row : 0;
        int even = rows <= 32 && !kept && edf__run_of(row, t.k, step) == t.k;
        for (ptrdiff_t c = 0, n; c < n_j; c += n, panel += t.k * wide) {
          const ptrdiff_t *to = w->column[EDF_OUT].at + c, *from = w->column[EDF_B].at + c;
          n = edf__strip(edf__run_of(to, n_j - c, 1), n_j - c);
          t.wide = (int)((n + EDF__LANES - 1) / EDF__LANES);
          t.b = panel;
          t.step = wide = t.wide * EDF__LANES;
          if (even && n == wide && edf__run_of(from, n, 1) == n) {
            t.b = right + *row + *from;
            t.step = step;
          } else if (i == 0 && pack) edf__pack(panel, wide, right, row, t.k, from, n);
          edf__run_panel(&t, out, left, w, to, n);
        }
        if (kept) kept = panel;
      }
}

/* ---- A BLAS */
#ifdef EDF_CBLAS
/* Returns 1 if a BLAS has computed the product. One argument, the order, is enough for all
   eight layouts. */
static int edf__blas_product(const edf_route *r, int assign, edf_real *out, const edf_real *a,
                             const edf_real *b) {
  edf_matrix c = edf_matrix_of(r, EDF_OUT), l = edf_matrix_of(r, EDF_A);
  edf_matrix m = edf_matrix_of(r, EDF_B);
  if (edf.kernel == EDF_BUILTIN || !c.direct || !l.direct || !m.direct) return 0;
#if EDF_REAL_IS_DOUBLE
  cblas_dgemm
#else
  cblas_sgemm
#endif
      (c.tall ? CblasColMajor : CblasRowMajor, l.tall == c.tall ? CblasNoTrans : CblasTrans,
       m.tall == c.tall ? CblasNoTrans : CblasTrans, (int)c.rows, (int)c.columns,
       (int)l.columns, r->nest.alpha, a, (int)l.step, b, (int)m.step, assign ? 0 : 1, out,
       (int)c.step);
  return 1;
}
#else
#define edf__blas_product(r, assign, out, a, b) 0
#endif

/* ---- Running a route: the loops outside, from loop d on. */
static void edf__outside(const edf_route *r, int d, int assign, edf_real *out,
                         const edf_real *a, const edf_real *b, edf__workspace *w) {
  const edf_loop *l = &r->nest.loop[d];
  if (r->product && d == r->first[EDF__M]) {
    if (!edf__blas_product(r, assign, out, a, b)) edf__product(r, assign, out, a, b, w);
  } else if (!r->product && d + 2 >= r->nest.n) edf__rows(r, assign, out, a, b);
  else
    for (ptrdiff_t i = 0; i < l->n; i++)
      edf__outside(r, d + 1, assign && (i == 0 || l->s[EDF_OUT]), out + i * l->s[EDF_OUT],
                   a + i * l->s[EDF_A], b + i * l->s[EDF_B], w);
}

/* ---- Threads. A loop whose steps write entries of their own is cut into slices, and each
   thread runs one. */
#ifdef _OPENMP
static double edf__multiply_adds(const edf_route *r) {
  double n = 1;
  for (int d = 0; d < r->nest.n; d++) n *= (double)r->nest.loop[d].n;
  return n;
}
/* Returns 1 if a thread needs less time for the loops alone than for a call of the others. */
static int edf__is_short(const edf_route *r) {
  return edf__multiply_adds(r) <= (r->product ? 3e5 : 1e5);
}
/* Returns the loop that can be cut most evenly, or -1. Columns are cut rather than rows, so
   that each thread packs only its own columns of b. */
static int edf__loop_to_cut(const edf_route *r, int threads) {
  const edf_loop *l = r->nest.loop;
  double best = 0.75;                    /* the largest part of the work in one slice         */
  int cut = -1, across = r->product && edf_matrix_of(r, EDF_OUT).tall ? EDF__M : EDF__N;
  for (int d = 0; d < r->nest.n; d++) {
    double part = (double)((l[d].n + threads - 1) / threads) / (double)l[d].n;
    int apart = l[d].s[EDF_OUT] != 0;    /* 1 if no two slices write the same entry           */
    for (int i = 0; i < r->nest.n; i++)
      apart &= edf__abs(l[i].s[EDF_OUT]) < edf__abs(l[d].s[EDF_OUT]) ||
               edf__strides_over(l, r->nest.n, i);
    int columns = cut >= r->first[EDF__M] && d >= r->first[across] &&
                  d < r->first[across + 1] && l[d].n >= 2 * EDF__STRIP * threads;
    if (apart && part < (columns ? best * 1.05 : best)) { best = part; cut = d; }
  }
  return cut;
}

/* Beside another program, a thread may be late, and all others wait for it. If all threads took
   longer than one would have taken, as far as the fastest one shows, one thread runs alone for
   a tenth of a second, and up to a second if this comes again. */
#ifndef EDF__REST
#define EDF__REST 0.1                    /* seconds; tests set 0                              */
#endif
static struct { double all, one, rest, until; } edf__pace;
static int edf__threads(void) {
  int n = omp_in_parallel() ? 1 : omp_get_max_threads();
  return n > 1 && edf__pace.until > 0 && omp_get_wtime() < edf__pace.until ? 1 : n;
}
static void edf__note_times(double all, int threads) {
  double one = HUGE_VAL;
  for (int t = 0; t < threads; t++) {
    const edf__workspace *w = edf__workspace_of(t);
    if (w->share > 0 && w->took < one * w->share) one = w->took / w->share;
  }
  edf__pace.all += all;
  edf__pace.one += one;
  if (edf__pace.all < 0.01) return;
  int late = edf__pace.all > edf__pace.one;
  edf__pace.rest = !late ? 0 : edf__pace.rest > 0 ? fmin(1.0, 2.0 * edf__pace.rest) : EDF__REST;
  edf__pace.until = late ? omp_get_wtime() + edf__pace.rest : 0;
  edf__pace.all = edf__pace.one = 0;
}
#else
#define edf__is_short(r) 1
#define edf__loop_to_cut(r, threads) (-1)
#endif

/* A job is work that threads share. Each does its part of the loop `cut`, or of the batch. */
typedef enum {
  EDF__BY_ROW,                           /* loops that read no rows of other threads          */
  EDF__OVER_ROWS,                        /* loops that add up all rows                        */
  EDF__ENTRIES,                          /* the code of x, which computes entry by entry      */
  EDF__CLEAR,                            /* zeros for an array of x                           */
  EDF__RAN                               /* nothing, but edf_ran(x) is called after the list  */
} edf__work;
typedef struct {
  edf__work work;
  edf_node *x;
  int backward;                          /* 1 for the code of Backward                        */
  int assign, fixed;                     /* for loops: see edf_contract and edf__fixed        */
  int cut;                               /* the loop that threads share, or -1                */
  ptrdiff_t unit;                        /* number of its steps that stay together            */
  edf_real *out;
  const edf_real *a, *b;
  const edf_route *route;
} edf__job;

/* Runs part t of loops. If no loop can be cut, part 0 is all. */
static void edf__run_loops(const edf__job *j, int t, int parts, edf__workspace *w) {
  const edf_route *r = j->route;
  edf_route part = *r;
  ptrdiff_t *s = part.nest.start;
  if (j->cut < 0 && t) return;
  if (j->cut >= 0) {
    edf_loop *l = &part.nest.loop[j->cut];
    ptrdiff_t n = l->n, rows = n / j->unit, from = rows * t / parts * j->unit;
    l->n = rows * (t + 1) / parts * j->unit - from;
    w->share = (double)l->n / (double)n;
    for (int x = 0; x < 3; x++) s[x] += from * l->s[x];
    for (int g = 0; g < 3; g++)
      if (j->cut >= r->first[g] && j->cut < r->first[g + 1])
        part.extent[g] = r->extent[g] / n * l->n;
  }
  for (int x = 0; r->product && x < 3; x++) w->row[x].n = w->column[x].n = 0;
  if (w) w->fixed = j->fixed;
  edf__outside(&part, 0, j->assign, j->out + s[EDF_OUT], j->a + s[EDF_A], j->b + s[EDF_B], w);
}
/* Runs part t of zeros, or of the code of a node. */
static void edf__run_rows(const edf__job *j, int t, int parts, edf__workspace *w) {
  size_t batch = (size_t)edf.batch, from = batch * (size_t)t / (size_t)parts;
  size_t n = batch * (size_t)(t + 1) / (size_t)parts - from, row = j->x->size / batch;
  w->share = (double)n / (double)batch;
  if (j->work == EDF__CLEAR) {
    memset(j->out + from * row, 0, n * row * sizeof *j->out);
    return;
  }
  edf_node y = *j->x, x = *y.in[0], *in = &x, *both[] = { &y, &x };
  for (int k = 0; k < 2; k++) {          /* copies that have only these rows                  */
    both[k]->size = n * row;
    both[k]->value += from * row;
    if (both[k]->grad) both[k]->grad += from * row;
  }
  y.in = &in;
  if (j->backward) y.backward(&y);
  else y.forward(&y);
}
static void edf__run_job(const edf__job *j, int t, int parts, edf__workspace *w) {
  if (j->work == EDF__BY_ROW || j->work == EDF__OVER_ROWS) edf__run_loops(j, t, parts, w);
  else if (j->work != EDF__RAN) edf__run_rows(j, t, parts, w);
}
#ifdef _OPENMP
static double edf__now(void) { return omp_get_wtime(); }
#else
static double edf__now(void) { return 0; }
#endif
/* Thread t of `parts` runs its part of the jobs: first those for which no thread waits for
   another, then the sums. */
static void edf__run_list_of(const edf__job *list, int n, int t, int parts) {
  edf__workspace *w = edf.workspace ? edf__workspace_of(t) : NULL;
  double begin = parts > 1 ? edf__now() : 0;
  for (int i = 0; i < n; i++)
    if (list[i].work != EDF__OVER_ROWS) edf__run_job(&list[i], t, parts, w);
  if (parts > 1) w->took = edf__now() - begin;
  for (int i = 0; i < n; i++) {
    if (list[i].work != EDF__OVER_ROWS) continue;
#ifdef _OPENMP
#pragma omp barrier
#endif
    begin = edf__now();
    edf__run_job(&list[i], t, parts, w);
    w->took += edf__now() - begin;
  }
}
static void edf__run_jobs(const edf__job *list, int n, int threads) {
  if (threads > 1 || list->route->product)
    edf.workspace = (edf__workspace *)edf__grow(&edf.kept, edf.workspace,
                                                (size_t)threads * EDF__WORKSPACE);
#ifdef _OPENMP
  if (threads > 1) {
    double start = edf__now();
#pragma omp parallel num_threads(threads)
    edf__run_list_of(list, n, omp_get_thread_num(), omp_get_num_threads());
    edf__note_times(edf__now() - start, threads);
    return;
  }
#endif
  edf__run_list_of(list, n, 0, 1);
}

static void edf__zero_nest(const edf_nest *t, int k, edf_real *out) {
  if (k == t->n) { *out = 0; return; }
  for (ptrdiff_t i = 0; i < t->loop[k].n; i++)
    edf__zero_nest(t, k + 1, out + i * t->loop[k].s[EDF_OUT]);
}
void edf_contract(const edf_route *r, int assign, edf_real *out, const edf_real *a,
                  const edf_real *b) {
  if (edf.kernel == EDF_REFERENCE || r->n_mask) {
    if (assign) edf__zero_nest(&r->nest, 0, out + r->nest.start[EDF_OUT]);
    edf__run_nest(&r->nest, r->mask, r->n_mask, out, a, b);
    return;
  }
  int threads = edf__is_short(r) ? 1 : edf__threads();
  int cut = threads > 1 ? edf__loop_to_cut(r, threads) : -1;
  edf__job j = { EDF__BY_ROW, NULL, 0, assign, edf__fixed, cut, 1, out, a, b, r };
  edf__run_jobs(&j, 1, cut < 0 ? 1 : threads);
}

/* ---- Small work waits. In a pass with several threads, small loops and the code of nodes are
   listed, and then each thread runs the list for its rows of the batch. So threads wait for one
   another once, and not at every node. Listed are loops whose step b reads and writes row b
   alone, the code of a node that computes entry by entry, and sums for the gradient of a
   Parameter, which nobody reads before the end of the pass. All other work runs at once, after
   the list. */
#ifdef _OPENMP
enum {
  EDF__JOBS = 256,                       /* in the list, at most                              */
  EDF__SMALL = 1 << 22                   /* multiply-adds of small loops, at most             */
};
static edf__job edf__list[EDF__JOBS];
static edf_route edf__routes[EDF__JOBS];
static int edf__list_threads;

static void edf__run_list(void) {
  int n = edf__n_jobs;
  if (n <= 0) return;
  edf__n_jobs = -1;
  edf__run_jobs(edf__list, n, edf__list_threads);
  for (int i = 0; i < n; i++) if (edf__list[i].work == EDF__RAN) edf_ran(edf__list[i].x);
  edf__n_jobs = 0;
}
static void edf__begin_list(void) {
  int threads = edf__threads(), most = edf.batch % threads ? edf.batch / 4 : threads;
  edf__list_threads = threads < most ? threads : most;
  edf__n_jobs = edf__list_threads > 1 && !edf_device && edf.kernel != EDF_REFERENCE ? 0 : -1;
}
static void edf__end_list(void) {
  edf__run_list();
  edf__n_jobs = -1;
}
static int edf__add_job(edf__work work, edf_node *x, int backward, edf_real *out) {
  edf__job j = { work, x, backward, 0, 0, 0, 1, out, NULL, NULL, NULL };
  if (edf__n_jobs == EDF__JOBS) edf__run_list();
  edf__list[edf__n_jobs++] = j;
  return 1;
}
/* Returns the loop whose step b is row b of each operand that has a batch, or -1. A row has
   *unit steps of it. */
static int edf__batch_loop(const edf_route *r, edf_node *const of[3], ptrdiff_t *unit) {
  const edf_loop *l = r->nest.loop;
  for (int d = 0, fits; d < r->nest.n; d++) {
    *unit = l[d].n / edf.batch;
    fits = *unit * edf.batch == l[d].n && of[EDF_OUT]->batched;
    for (int x = 0; x < 3 && fits; x++) {
      ptrdiff_t row = 1, all, end;       /* entries of a row, of the batch, and read in a row */
      int q = of[x] ? of[x]->rank - 1 : -1;
      for (; q >= 0 && !(of[x]->batched >> q & 1); q--) row *= of[x]->dim[q];
      if (q < 0) { fits = l[d].s[x] == 0; continue; }
      all = row * edf.batch;
      end = r->nest.start[x] % all + (*unit - 1) * l[d].s[x];
      fits = of[x]->batched == 1u << q && of[x]->dim[q] == edf.batch &&
             l[d].s[x] * *unit == row;
      for (int i = 0; i < r->nest.n; i++) {
        if (i == d || l[i].s[x] % all == 0) continue;
        fits &= l[i].s[x] > 0;
        end += (l[i].n - 1) * l[i].s[x];
      }
      fits &= end < row;
    }
    if (fits) return d;
  }
  return -1;
}
static int edf__list_loops(const edf_route *r, int assign, edf_operand out, edf_operand a,
                           edf_operand b) {
  edf_node *of[3] = { out.of, a.of, b.of };
  ptrdiff_t unit = 1;
  if (edf__n_jobs < 0) return 0;
  int small = !r->n_mask && edf__multiply_adds(r) <= EDF__SMALL &&
              edf__has_flag(edf.running, EDF__WAITS);
  int cut = small ? edf__batch_loop(r, of, &unit) : -1;
  int sums = cut < 0 && r->product && out.which == EDF_GRAD && out.of->kind == EDF_PARAMETER;
  if (!small || (cut < 0 && !sums)) { edf__run_list(); return 0; }
  edf__add_job(sums ? EDF__OVER_ROWS : EDF__BY_ROW, out.of, 0, edf__numbers(out));
  edf__job *j = &edf__list[edf__n_jobs - 1];
  j->assign = assign;
  j->fixed = edf__fixed;
  j->a = edf__numbers(a);
  j->b = edf__numbers(b);
  j->cut = sums ? edf__loop_to_cut(r, edf__list_threads) : cut;
  j->unit = sums ? 1 : unit;
  edf__routes[j - edf__list] = *r;
  j->route = &edf__routes[j - edf__list];
  return 1;
}
/* Returns 1 if the first dimension of x, and no other one, is the batch. */
static int edf__has_rows(const edf_node *x) { return x->batched == 1 && *x->dim == edf.batch; }
static int edf__list_code(edf_node *y, int backward) {
  if (edf__n_jobs < 0 || edf__has_flag(y, EDF__WAITS)) return 0;
  const edf_node *x = y->n_in == 1 ? y->in[0] : NULL;
  int rows = x && edf__has_rows(y) && edf__has_rows(x) && x->size == y->size;
  int own = y->about != y->code || y->forward != y->code->forward ||
            y->backward != y->code->backward || y->state || !edf__has_flag(y, EDF_TESTED);
  if (rows && !own && edf__is_by_entry(y)) return edf__add_job(EDF__ENTRIES, y, backward, NULL);
  edf__run_list();
  return 0;
}
static int edf__list_zeros(edf_node *x, edf_real *to) {
  return edf__n_jobs >= 0 && edf__has_rows(x) && edf__add_job(EDF__CLEAR, x, 0, to);
}
static int edf__list_ran(edf_node *c) {
  return edf__n_jobs > 0 && edf__add_job(EDF__RAN, c, 0, NULL);
}
#endif

/* ==== >>optim  Optimisers ================================================================ */
/* Returns sqrt(x) for the optimisers, within 2 ulp for normal x. A compiler vectorises this
   function: the well-known first guess of 1/sqrt(x) by its bits, three Newton steps, and a last
   step for sqrt(x) itself. 0 and infinity keep their value. */
static inline edf_real edf__fast_root(edf_real x) {
#if EDF_REAL_IS_DOUBLE
  return sqrt(x);
#else
  int32_t bits = edf__bits_of(x), size = bits & 0x7fffffff;
  int32_t is_finite = (size - 0x7f800000) >> 31;
  float r = edf__float_of(0x5f375a86 - (bits >> 1));
  for (int k = 0; k < 3; k++) r *= 1.5f - 0.5f * x * r * r;
  float s = x * r;
  s += 0.5f * r * (x - s * s);
  return edf__choose(is_finite, s, x);
#endif
}

static void edf__momentum_step(edf_node *p, const edf_real *c) {
  edf_real eta = c[0], mu = c[1];
  EDF__SHARED_LOOP(p->size)
  for (size_t i = 0; i < p->size; i++) {
    p->m[i] = mu * p->m[i] + eta * p->grad[i];
    p->value[i] -= p->m[i];
  }
}
static void edf__rmsprop_step(edf_node *p, const edf_real *c) {
  edf_real eta = c[0], beta = c[1], eps = c[2];
  for (size_t i = 0; i < p->size; i++) {
    edf_real g = p->grad[i];
    p->s[i] = beta * p->s[i] + (1 - beta) * g * g;
    p->value[i] -= eta * g / (edf__fast_root(p->s[i]) + eps);
  }
}
/* Both Adams: eta and scale contain the divisions by 1-beta^t. */
static void edf__adam_loop(edf_node *p, edf_real eta, edf_real b1, edf_real b2, edf_real scale,
                           edf_real eps, edf_real keep) {
  EDF__SHARED_LOOP(p->size)
  for (size_t i = 0; i < p->size; i++) {
    edf_real g = p->grad[i], m = b1 * p->m[i] + (1 - b1) * g;
    edf_real s = b2 * p->s[i] + (1 - b2) * g * g;
    p->m[i] = m;
    p->s[i] = s;
    p->value[i] = keep * p->value[i] - eta * m / (scale * edf__fast_root(s) + eps);
  }
}
static void edf__adam_step(edf_node *p, const edf_real *c) {
  double t = (double)(p->steps > 0 ? p->steps : 1);
  double eta = (double)c[0] / (1 - pow((double)c[1], t));
  double scale = 1 / sqrt(1 - pow((double)c[2], t));
  edf__adam_loop(p, (edf_real)eta, c[1], c[2], (edf_real)scale, c[3], 1 - c[0] * c[4]);
}
static void edf__adam_slides_step(edf_node *p, const edf_real *c) {
  edf_real first = 1 - 1 / (edf_real)(p->steps > 0 ? p->steps : 1);
  edf__adam_loop(p, c[0], first < c[1] ? first : c[1], first < c[2] ? first : c[2], 1, c[3], 1);
}
const edf_rule edf_momentum_rule = { "Momentum", edf__momentum_step, 1, 0 };
const edf_rule edf_rmsprop_rule = { "RMSProp", edf__rmsprop_step, 0, 1 };
const edf_rule edf_adam_rule = { "Adam", edf__adam_step, 1, 1 };
const edf_rule edf_adam_slides_rule = { "AdamSlides", edf__adam_slides_step, 1, 1 };

/* Makes a step. Stops if the factor of an average m or s is not in [0, 1). `beta` is the name
   of the first one. */
static void edf__step_with(const char *function, const edf_rule *rule, const char *beta,
                           edf_real eta, edf_real a, edf_real b, edf_real eps, edf_real decay) {
  edf_real c[5] = { eta, a, b, eps, decay };
  for (int k = 1; k <= rule->needs_m + rule->needs_s; k++)
    if (!(c[k] >= 0 && c[k] < 1))
      edf__fail(edf__call_of(function), "%s is %g, expected 0 or more and less than 1",
                k == 1 ? beta : "beta2", (double)c[k]);
  (edf_step)(rule, c);
}
void (edf_momentum)(edf_real eta, edf_real mu) {
  edf__step_with("edf_momentum", &edf_momentum_rule, "mu", eta, mu, 0, 0, 0);
}
void (edf_rmsprop)(edf_real eta, edf_real beta, edf_real eps) {
  edf__step_with("edf_rmsprop", &edf_rmsprop_rule, "beta", eta, beta, eps, 0, 0);
}
void (edf_adamw)(edf_real eta, edf_real beta1, edf_real beta2, edf_real eps, edf_real decay) {
  edf__step_with("edf_adamw", &edf_adam_rule, "beta1", eta, beta1, beta2, eps, decay);
}
void (edf_adam)(edf_real eta, edf_real beta1, edf_real beta2, edf_real eps) {
  edf__step_with("edf_adam", &edf_adam_rule, "beta1", eta, beta1, beta2, eps, 0);
}
void (edf_adam_default)(edf_real eta) {
  (edf_adam)(eta, (edf_real)0.9, (edf_real)0.999, (edf_real)1e-8);
}
void (edf_adam_slides)(edf_real eta, edf_real beta1, edf_real beta2, edf_real eps) {
  edf__step_with("edf_adam_slides", &edf_adam_slides_rule, "beta1", eta, beta1, beta2, eps, 0);
}

/* ---- Clipping and shrinkage are rules that change the gradients. */
static void edf__scale_grad(edf_node *p, const edf_real *c) {
  for (size_t i = 0; i < p->size; i++) p->grad[i] *= c[0];
}
static void edf__add_l2(edf_node *p, const edf_real *c) {
  for (size_t i = 0; i < p->size; i++) p->grad[i] += c[0] * p->value[i];
}
static void edf__add_l1(edf_node *p, const edf_real *c) {
  for (size_t i = 0; i < p->size; i++)
    p->grad[i] += p->value[i] > 0 ? c[0] : p->value[i] < 0 ? -c[0] : 0;
}
static const edf_rule edf__clip_rule = { "edf_clip", edf__scale_grad, 0, 0 };
static const edf_rule edf__l2_rule = { "edf_l2", edf__add_l2, 0, 0 };
static const edf_rule edf__l1_rule = { "edf_l1", edf__add_l1, 0, 0 };

static double edf__squares;              /* sum of the squared gradients                      */
static void edf__add_squares(const edf_rule *rule, const edf_real *c, edf_node **p, int n) {
  double lane[8] = { 0 };                /* so that a compiler vectorises the sum             */
  if (edf_device) lane[0] = edf_device->update(p, n, rule, c);
  for (int i = 0; !edf_device && i < n; i++)
    for (size_t k = 0; k < p[i]->size; k++)
      lane[k % 8] += (double)p[i]->grad[k] * (double)p[i]->grad[k];
  for (int k = 0; k < 8; k++) edf__squares += lane[k];
}
double edf_clip(double most) {
  if (!(most > 0))
    edf__fail(edf__call_of("edf_clip"), "the greatest norm is %g, expected more than 0", most);
  edf__squares = 0;
  edf__for_parameters(edf__add_squares, NULL, NULL, 0);
  double norm = sqrt(edf__squares);
  edf_real factor = (edf_real)(most / norm);
  if (norm > most) edf__for_parameters(edf__run_rule, &edf__clip_rule, &factor, 0);
  return norm;
}
void edf_l2(edf_real gamma) { edf__for_parameters(edf__run_rule, &edf__l2_rule, &gamma, 0); }
void edf_l1(edf_real gamma) { edf__for_parameters(edf__run_rule, &edf__l1_rule, &gamma, 0); }

EDF__BEGIN_COLD
/* ==== >>tools  What companions and tools call ============================================ */
void edf_stop(const char *format, ...) {
  edf__site at = { NULL, NULL, 0 };
  va_list args;
  va_start(args, format);
  edf__vfail(at, format, args);
}
const char *edf_shown(const edf_node *x) {
  edf__check_exists("edf_shown", x);
  return edf__show(x);
}
void edf_expect_node(const char *call, const char *name, const edf_node *x) {
  if (!edf__exists(x)) edf__fail_node(edf__call_of(call), x, name);
}
void edf_expect_kind(const char *call, const char *name, const edf_node *x, edf_kind kind) {
  edf__check_kind(edf__call_of(call), x, kind, name);
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

/* ---- Snapshots. They belong to the graph, so nothing leaks after an error. */
typedef struct {                         /* a copy of a block                                 */
  void *at;                              /* NULL if there was no block                        */
  size_t bytes;
} edf__block_copy;
typedef struct {                         /* a copy of a node                                  */
  edf_node node;
  edf__block_copy array[EDF_OWN];        /* by edf_which                                      */
  edf__block_copy state;                 /* what forward keeps for backward                   */
} edf__node_copy;
struct edf_snapshot {
  edf_graph graph;
  edf__node_copy *node;                  /* of all nodes                                      */
};

/* Returns 1 if the array belongs to the graph. An Input's values belong to the program. */
static int edf__has_array(edf_node *x, int which) {
  return *edf__array_at(x, which) && (which != EDF_VALUE || x->kind != EDF_INPUT);
}
/* Returns what forward keeps for backward: the state. Returns NULL if it is no block of the
   graph. */
static void *edf__kept_by(const edf_node *x) {
  return edf__has_flag(x, EDF_TESTED) || edf_array_bytes(x->state) ? x->state : NULL;
}
static edf__block_copy edf__copy_block(const void *block) {
  edf__block_copy copy = { NULL, 0 };
  if (!block) return copy;
  copy.bytes = edf__header((void *)(uintptr_t)block)->bytes;
  copy.at = memcpy(edf_keep(NULL, copy.bytes), block, copy.bytes);
  return copy;
}

edf_snapshot *edf_take_snapshot(void) {
  edf_snapshot *taken = (edf_snapshot *)edf_keep(NULL, sizeof *taken);
  size_t n = (size_t)edf__n_nodes();
  taken->graph = edf;
  taken->node = (edf__node_copy *)edf_keep(NULL, (n + 1) * sizeof *taken->node);
  for (int i = 0; i < edf__n_nodes(); i++) {
    edf_node *x = edf__nth(i);
    edf__node_copy *copy = &taken->node[i];
    for (int k = 0; k < EDF_OWN; k++) {
      if (!edf__has_array(x, k)) continue;
      edf__sync(x, (edf_which)k, EDF_READS);
      copy->array[k] = edf__copy_block(*edf__array_at(x, k));
    }
    copy->node = *x;
    copy->state = edf__copy_block(edf__kept_by(x));
    edf__sync(x, EDF_OWN, EDF_READS);
  }
  edf.looking = 1;
  return taken;
}

/* Writes the copy back. A block that has grown since then has zeros at its end, as if it had
   grown now. */
static void edf__restore_block(void *block, edf__block_copy copy) {
  char *to = (char *)memcpy(block, copy.at, copy.bytes);
  memset(to + copy.bytes, 0, edf__header(block)->bytes - copy.bytes);
  edf__free(copy.at);
}
/* Restores an array of x. Its memory is `now`, or NULL if it was freed since. */
static void edf__restore_array(edf_node *x, int which, edf_real *now, edf__block_copy copy) {
  edf_real **to = edf__array_at(x, which);
  if (which == EDF_VALUE && x->kind == EDF_INPUT) return;
  *to = NULL;
  if (!copy.at) { edf__free(now); return; }
  *to = (edf_real *)edf__grow(edf__list_of(x), now, copy.bytes);
  edf__restore_block(*to, copy);
  edf__sync(x, (edf_which)which, EDF_WROTE);
}
/* Restores what forward keeps. If there was no state before, a new one is freed. */
static void edf__restore_state(edf_node *x, void *now, edf__block_copy copy) {
  void *before = x->state;
  x->state = now;
  void *kept = edf__kept_by(x);
  if (kept && copy.at) edf__restore_block(kept, copy);
  if (copy.at || before == now) return;
  if (!before) edf__free(kept);
  x->state = before;
}
static void edf__restore_node(edf_node *x, const edf__node_copy *copy) {
  edf_node now = *x;
  *x = copy->node;
  x->note = now.note;
  x->planned = now.planned;
  x->label = now.label;
  for (int k = 0; k < EDF_OWN; k++)
    edf__restore_array(x, k, *edf__array_at(&now, k), copy->array[k]);
  edf__restore_state(x, now.state, copy->state);
  edf__sync(x, EDF_OWN, EDF_WROTE);
}

void edf_restore(edf_snapshot *taken) {
  int here = edf_array_bytes(taken) == sizeof *taken;
  if (!here || edf.clears != taken->graph.clears || edf.n_inputs != taken->graph.n_inputs ||
      edf.n_parameters != taken->graph.n_parameters ||
      edf.n_compnodes != taken->graph.n_compnodes)
    edf_stop("edf_restore: after edf_take_snapshot, a node was built or cleared, or edf is "
             "another graph now");
  edf__set_batch(taken->graph.batch);
  for (int i = 0; i < edf__n_nodes(); i++) edf__restore_node(edf__nth(i), &taken->node[i]);
  edf_graph now = edf;
  edf = taken->graph;
  memcpy(edf.nodes, now.nodes, sizeof edf.nodes);
  edf.kept = now.kept;
  edf.computed = now.computed;
  edf.scratch = now.scratch;
  edf.workspace = now.workspace;
  edf__free(taken->node);
  edf__free(taken);
}

/* ---- Pages. They belong to the graph, so nothing leaks after an error. */
void edf_write(edf_page *to, const char *format, ...) {
  size_t room = to->at ? edf__header(to->at)->bytes : 0;
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int n = edf__vformat(NULL, 0, format, again);
  va_end(again);
  if (to->n + (size_t)n >= room)
    to->at = (char *)edf__grow(&edf.kept, to->at, 2 * (to->n + (size_t)n) + 256);
  edf__vformat(to->at + to->n, (size_t)n + 1, format, args);
  to->n += (size_t)n;
  va_end(args);
}

/* ==== >>print  A program as text ========================================================= */
#ifndef EDF_NO_DEBUG
typedef void edf__printer(edf_page *out, const edf_node *x);

static void edf__print_by(edf__printer *write, FILE *out, const edf_node *x) {
  edf_page page = { NULL, 0 };
  write(&page, x);
  if (page.at) fputs(page.at, out);
  edf__free(page.at);
}

enum { EDF__SHOWN = 8 };                 /* inputs that are printed, at most                  */
EDF__USED static int edf__prints_program;          /* 1 or 2 while a program is printed,      */
                                                   /* forward or backward                     */
/* Writes the formula of a node whose op has one, with the names of its indices. It is NULL
   unless edf/slide.h is compiled, too. */
#ifdef __cplusplus
static void (*edf__print_formula)(edf_page *to, const edf_node *y, int backward) = NULL;
#else
static void (*edf__print_formula)(edf_page *to, const edf_node *y, int backward);
#endif

/* ---- A formula with the labels of its tensors: y[i] = tanh(x[i]) is h[i] = tanh(s[i]). */

/* Returns the length of the word at c. */
static size_t edf__word(const char *c) {
  size_t n = 0;
  while (edf__is_letter(c[n]) || (n > 0 && edf__is_digit(c[n]))) n++;
  return n;
}
/* Returns the tensor of y with this name of n letters, or NULL. about->tensors lists them. */
static const edf_node *edf__tensor_named(const edf_node *y, const char *name, size_t n) {
  const char *list = y->about->tensors;
  for (int k = 0; *list && n; k++, list += strspn(list, " ")) {
    size_t m = strcspn(list, " ");
    if (m == n && !strncmp(list, name, n)) return k ? y->in[k - 1] : y;
    list += m;
  }
  return NULL;
}
/* Returns the length of a bracket with all that is in it. */
static size_t edf__bracket(const char *c) {
  size_t n = 0;
  int depth = 0;
  do depth += (c[n] == '[') - (c[n] == ']'); while (c[n++] && depth);
  return n;
}
/* Writes n characters of a formula. A scalar has no brackets. p is the first number of the
   state. */
static void edf__write_words(edf_page *to, const edf_node *y, const char *c, size_t n) {
  for (const char *end = c + n; c < end;) {
    size_t word = edf__word(c), grad;
    const edf_node *x = edf__tensor_named(y, c, word);
    if (x) edf_write(to, "%s", edf__label(x));
    else if (word == 1 && *c == 'p' && y->state)
      edf_write(to, "%g", (double)*(const edf_real *)y->state);
    else edf_write(to, "%.*s", word ? (int)word : 1, c);
    c += word ? word : 1;
    grad = x && !strncmp(c, ".grad", 5) ? 5 : 0;
    edf_write(to, "%.*s", (int)grad, c);
    c += grad;
    if (x && !x->rank && *c == '[') c += edf__bracket(c);
  }
}
/* Writes the formula of y, or the lines of its gradient that are needed. Lines after a blank
   line hold if edf.training is 0. */
static void edf__write_formula(edf_page *to, const edf_node *y, int backward) {
  const char *c = backward ? y->about->gradient : y->about->formula;
  const char *blank = edf.training ? NULL : strstr(c, "\n\n");
  for (c = blank ? blank + 2 : c; *c && *c != '\n';) {
    size_t n = strcspn(c, "\n");
    const edf_node *x = edf__tensor_named(y, c, edf__word(c));
    if (!backward || !x || x->needs_grad) edf__write_words(to, y, c, n);
    if (backward && (!x || x->needs_grad)) edf_write(to, "\n");
    c += n + (c[n] == '\n');
  }
}
/* Writes a node without a formula: its operands, or what its code reads and adds to. */
static void edf__write_call(edf_page *to, const edf_node *y, int backward) {
  if (!backward) edf_write(to, "%s = %s(", edf__label(y), y->op);
  for (int k = 0; !backward && k < y->n_in && k < EDF__SHOWN; k++)
    edf_write(to, "%s%s", k ? ", " : "", edf__label(y->in[k]));
  if (!backward) edf_write(to, y->n_in > EDF__SHOWN ? ", ...)" : ")");
  for (int k = 0; backward && k < y->n_in; k++) {
    if (!y->in[k]->needs_grad) continue;
    edf_write(to, "%s.grad += by the code of %s, from %s.grad, %s", edf__label(y->in[k]), y->op,
              edf__label(y), edf__label(y));
    for (int i = 0; i < y->n_in && i < EDF__SHOWN; i++)
      edf_write(to, ", %s", edf__label(y->in[i]));
    edf_write(to, "\n");
  }
}

/* ---- The lines of any node, forward and backward. A leaf has only its name. */
static void edf__write_lines(edf_page *to, const edf_node *y, int backward) {
  const edf_op *op = y->about;
  if (y->kind != EDF_COMPNODE) edf_write(to, "%s", edf__label(y));
  else if (y->note && y->note->print) y->note->print(to, y, backward);
  else if (op && op->print) op->print(to, y, backward);
  else if (!op || !op->formula || (backward && !op->gradient)) edf__write_call(to, y, backward);
  else if (!op->tensors || !*op->tensors)          /* texts of edf_formula                    */
    edf_write(to, backward && *op->gradient ? "%s\n" : "%s",
              backward ? op->gradient : op->formula);
  else if (edf__print_formula) edf__print_formula(to, y, backward);
  else edf__write_formula(to, y, backward);
}
static void edf__write_forward(edf_page *out, const edf_node *y) {
  edf__write_lines(out, y, 0);
}
/* Writes the backward lines, indented. */
static void edf__write_backward(edf_page *out, const edf_node *y) {
  edf_page lines = { NULL, 0 };
  edf__write_lines(&lines, y, 1);
  for (const char *c = lines.at; c && *c; c += *c == '\n') {
    edf_write(out, "       %.*s\n", (int)strcspn(c, "\n"), c);
    c += strcspn(c, "\n");
  }
  edf_release(lines.at);
}

/* Writes op, shape and source line. */
static void edf__write_about(edf_page *out, const edf_node *x) {
  edf_write(out, "   %s %s   %s:%d\n", x->op, edf__dims(x, x->rank), x->file, x->line);
}

/* Writes the nodes, forward or backward. Nodes below a heading are indented. */
static void edf__write_nodes(edf_page *out, int backward) {
  const char *above = NULL;              /* the heading of the last node                      */
  for (int k = 0, n = edf.n_compnodes; k < n; k++) {
    const edf_node *x = edf.compnodes[backward ? n - 1 - k : k];
    edf_page line = { NULL, 0 };
    if (backward && !(x->needs_grad && x->active)) continue;
    edf__prints_program = 1 + backward;
    edf__write_forward(&line, x);
    edf__prints_program = 0;
    const char *heading = x->note ? x->note->heading : NULL;
    if (heading && heading != above) edf_write(out, "  %s\n", heading);
    if (heading || line.n) above = heading;
    if (line.n) {
      edf_write(out, heading ? "  %3d  " : "%3d  ", x->position);
      int own = !backward || (x->note && x->note->print);
      edf_write(out, "%s", own ? line.at : edf__label(x));
      if (!backward) edf__write_about(out, x);
      else if (x->backward) edf_write(out, "\n");
      else edf_write(out, "\n       no gradient goes through\n");
      if (backward && x->backward) edf__write_backward(out, x);
    }
    edf_release(line.at);
  }
}

/* ---- Only the backward that runs is printed. Returns the loss of the last Backward. Before
   the first one this is the last node that needs a gradient, or NULL. */
static edf_node *edf__next_loss(void) {
  edf_node *loss = edf.loss;
  for (int i = edf.n_compnodes - 1; !loss && i >= 0; i--)
    if (edf.compnodes[i]->needs_grad) loss = edf.compnodes[i];
  return loss;
}
typedef struct { char active, needs_grad; } edf__node_marks;
/* Returns the marks of all nodes. */
static edf__node_marks *edf__copy_marks(void) {
  size_t n = (size_t)edf__n_nodes();
  edf__node_marks *old = (edf__node_marks *)edf_keep(NULL, (n + 1) * sizeof *old);
  for (int i = 0; i < edf__n_nodes(); i++) {
    old[i].active = edf__nth(i)->active;
    old[i].needs_grad = edf__nth(i)->needs_grad;
  }
  return old;
}
static void edf__restore_marks(edf__node_marks *old) {
  for (int i = 0; i < edf__n_nodes(); i++) {
    edf__nth(i)->active = old[i].active;
    edf__nth(i)->needs_grad = old[i].needs_grad;
  }
  edf_release(old);
}
/* Marks what Backward runs, and returns the old marks. During a Backward, that is marked
   already. */
static edf__node_marks *edf__mark_backward(void) {
  edf__node_marks *old = edf__copy_marks();
  if (edf.direction < 0) return old;
  edf__find_needs();
  edf__mark(edf__next_loss());
  return old;
}

static void edf__write_program(edf_page *out, const edf_node *all) {
  static const char *const title[] = { "inputs\n", "parameters, %zu number%s\n" };
  size_t numbers = 0;
  int kind = -1;                         /* kind of the last line                             */
  (void)all;
  for (int i = 0; i < edf.n_parameters; i++) numbers += edf.parameters[i]->size;
  for (int i = 0; i < edf.n_inputs + edf.n_parameters; i++) {
    const edf_node *x = edf__nth(i);
    if (kind != (int)x->kind) edf_write(out, title[x->kind], numbers, numbers == 1 ? "" : "s");
    kind = (int)x->kind;
    edf_write(out, "       %s", edf__label(x));
    edf__write_about(out, x);
  }
  edf__node_marks *marks = edf__mark_backward();
  edf_write(out, "forward\n");
  edf__write_nodes(out, 0);
  edf_write(out, "backward\n");
  edf__write_nodes(out, 1);
  edf__restore_marks(marks);
}

void edf_print_program(FILE *out) { edf__print_by(edf__write_program, out, NULL); }
static void edf__write_one(edf_page *out, const edf_node *x) {
  edf__node_marks *marks = edf__mark_backward();
  edf__write_forward(out, x);
  edf__write_about(out, x);
  if (edf__runs_backward(x)) edf__write_backward(out, x);
  else if (x->needs_grad && x->backward)
    edf_write(out, "       no backward: %s does not depend on %s\n",
              edf__label(edf__next_loss()), edf__label(x));
  edf__restore_marks(marks);
}

void edf_print_node(FILE *out, edf_node *node) {
  edf__check_exists("edf_print_node", node);
  edf__print_by(edf__write_one, out, node);
}

edf_node *edf_formula(edf_node *node, const char *forward, const char *backward) {
  edf__site at = edf__call_of("edf_formula");
  edf__check_kind(at, node, EDF_COMPNODE, "the node");
  if (!forward || !backward) edf__fail(at, "a formula is NULL\n  %s", edf__show(node));
  if (node->about)
    edf__fail(at, "the node has its formula already\n  %s", edf__show(node));
  edf_op *about = (edf_op *)edf__alloc(&edf.computed, sizeof *about);
  about->tensors = "";                   /* The texts are printed as they are.                */
  about->formula = edf__copy(&edf.computed, forward);
  about->gradient = edf__copy(&edf.computed, backward);
  node->about = about;
  return node;
}

/* ---- One node on one screen */
static void edf__print_numbers(const char *what, const edf_node *x, const edf_real *v,
                               size_t n) {
  enum { ROWS = 6, COLUMNS = 8 };
  size_t width = x->rank > 1 ? (size_t)x->dim[x->rank - 1] : n, rows = width ? n / width : 0;
  edf_statistics s = edf_statistics_of(v, n);
  edf__say("  %s: ", what);
  if (s.bad) edf__say("%zu of %zu are NaN or Inf\n", s.bad, n);
  else edf__say("%g to %g, mean %g\n", s.least, s.greatest, s.mean);
  for (size_t b = 0; b < rows && b < ROWS; b++) {
    for (size_t i = 0; i < width && i < COLUMNS; i++)
      edf__say(" %11.5g", (double)v[b * width + i]);
    edf__say(width > COLUMNS ? " ...\n" : "\n");
  }
  if (rows > ROWS) edf__say(" ... %zu rows\n", rows);
}

void edf_print(edf_node *node) {
  edf__check_exists("edf_print", node);
  edf__say("%s", edf__label(node));
  edf__print_by(edf__write_about, stdout, node);
  if (node->kind == EDF_COMPNODE) {
    edf__say("  ");
    edf__print_by(edf__write_forward, stdout, node);
    edf__say("\n");
  }
  size_t n = node->kind == EDF_COMPNODE && !node->ran ? 0 : node->size;
  if (node->kind == EDF_INPUT && node->batched) {    /* the rows of its last feed             */
    n = node->fed > 0 ? (size_t)node->fed : 0;
    for (int d = 1; d < node->rank; d++) n *= (size_t)node->dim[d];
  }
  if (node->value && n) edf__print_numbers("value", node, edf_value(node), n);
  else edf__say("  value: none yet\n");
  if (n > node->size) n = node->size;    /* Gradients have the batch of the last Forward.     */
  if (node->grad && n && node->grad_is_zero) edf__say("  grad: nothing has arrived yet\n");
  else if (node->grad && n) edf__print_numbers("grad", node, edf_grad(node), n);
  fflush(stdout);                        /* A debugger shows it at once.                      */
}
#endif

/* With EDF_NO_DEBUG only EDF_SITE and EDF_SHAPE are written. */
void edf_write_node(edf_page *to, const edf_node *x, edf_part part) {
  edf__check_exists("edf_write_node", x);
#ifndef EDF_NO_DEBUG
  if (part == EDF_FORWARD_LINE) edf__write_forward(to, x);
  if (part == EDF_BACKWARD_LINES) edf__write_backward(to, x);
#endif
  if (part == EDF_SITE) edf_write(to, "%s", edf__show(x));
  if (part == EDF_SHAPE) edf_write(to, "%s", edf__dims(x, x->rank));
}

/* ==== >>check  The gradient check ======================================================== */
#ifndef EDF_NO_DEBUG
enum {
  EDF__TRIES = 1000,                     /* entries of a tensor                               */
  EDF__GUARD = 16                        /* numbers before and after an array                 */
};
static const double edf__h = EDF_REAL_IS_DOUBLE ? 1e-5 : 1e-2;
static const double edf__tolerance = EDF_REAL_IS_DOUBLE ? 1e-6 : 5e-3;
static const double edf__small = EDF_REAL_IS_DOUBLE ? 1e-3 : 5e-2;    /* of the largest entry */
static const double edf__noise = EDF_REAL_IS_DOUBLE ? 1e-4 : 2e-2;    /* of |r y|: rounding   */
static const edf_real edf__marks[2] = { (edf_real)12345.625, (edf_real)-54321.5 };

typedef struct {
  size_t i;                              /* an entry of x                                     */
  double yours;                          /* its gradient by backward                          */
  double numeric;                        /* by central differences                            */
} edf__entry_tried;

typedef struct {
  edf_node *y;                           /* d sum_i r[i] y[i] / d x                           */
  edf_node *x;
  edf_real *r;
  edf_real *up;                          /* y with x[i] moved up                              */
  edf_real *centre;                      /* y with x[i] where it is                           */
  int alone;                             /* 1 if y is a copy with copies of its inputs        */
  unsigned long long draws;              /* Each forward draws the same random numbers.       */
  edf__entry_tried entry[EDF__TRIES];
  size_t n;
  size_t n_wrong;
  size_t n_kink;
  size_t worst;
  double error;                          /* of the worst entry                                */
  double floor;
  double rounding;                       /* differences below it are rounding errors          */
  double right, left;                    /* one-sided slopes of the last difference           */
  int stopped;                           /* 1 if each path from x goes through a Stop         */
  double blur;                           /* the rounding error of the last difference         */
  double terms;                          /* the greatest term of d sum_i r[i] y[i] in a node  */
} edf__check;

/* Returns memory that is freed at the end of the check. */
static void *edf__borrow(size_t bytes) { return edf__alloc(&edf.scratch, bytes); }

/* ---- A copy of a node with copies of its inputs. Each array is between guards. */
static edf_real *edf__guarded(size_t n, const edf_real *from) {
  size_t bytes = (n + 2 * EDF__GUARD) * sizeof *from;
  edf_real *a = (edf_real *)edf__borrow(bytes) + EDF__GUARD;
  for (int k = 0; k < EDF__GUARD; k++) a[n + (size_t)k] = a[-1 - k] = edf__marks[0];
  return from ? (edf_real *)memcpy(a, from, n * sizeof *a) : a;
}
static void edf__own_arrays(edf_node *x) {
  x->value = edf__guarded(x->size, x->value);
  x->grad = x->grad ? edf__guarded(x->size, NULL) : NULL;
  x->grad_is_zero = 0;
}
static edf_node *edf__copy_node(const edf_node *y) {
  size_t n = (size_t)y->n_in;
  edf_node *copy = &edf__new_slot(EDF__COPIES)->node;
  *copy = *y;
  copy->in = (edf_node **)edf__borrow((n + 1) * sizeof y);
  for (size_t k = 0, j; k < n; k++) {
    for (j = 0; y->in[j] != y->in[k]; j++) {}        /* An input may occur twice.             */
    copy->in[k] = j < k ? copy->in[j] : &edf__new_slot(EDF__COPIES)->node;
    if (j < k) continue;
    *copy->in[k] = *y->in[k];
    edf__own_arrays(copy->in[k]);
  }
  edf__own_arrays(copy);
  size_t state = edf_array_bytes(y->state);
  if (state) copy->state = memcpy(edf__borrow(state), y->state, state);
  return copy;
}

static edf__check *edf__new_check(edf_node *y, int alone, unsigned long long draws) {
  edf__check *c = (edf__check *)edf__borrow(sizeof *c);
  c->y = alone ? edf__copy_node(y) : y;
  c->alone = alone;
  c->draws = draws;
  c->r = edf__guarded(y->size, NULL);
  c->up = edf__guarded(y->size, NULL);
  c->centre = edf__guarded(y->size, NULL);
  for (size_t i = 0; i < y->size; i++)
    c->r[i] = (edf_real)(edf_below(2) ? 1 : -1) * edf_uniform((edf_real)0.5, (edf_real)1.5);
  return c;
}

/* ---- Forward and backward of the check. */
static void edf__check_forward(edf__check *c) {
  edf.draws = c->draws;
  edf.running = c->alone ? c->y : NULL;
  if (c->alone) c->y->forward(c->y);
  else (edf_forward_to)(c->y);
  edf.running = NULL;
  if (!c->alone) edf_value(c->y);
}

/* Runs backward from y.grad = times * r. If y is alone, its inputs' gradients are `begin`. */
static void edf__check_backward(edf__check *c, edf_real begin, edf_real times) {
  edf_node *y = c->y;
  if (!c->alone) edf__begin_backward("edf_gradcheck", y);
  else
    for (int k = 0; k < y->n_in; k++)
      for (size_t i = 0; y->in[k]->grad && i < y->in[k]->size; i++) y->in[k]->grad[i] = begin;
  for (size_t i = 0; i < y->size; i++) y->grad[i] = times * c->r[i];
  if (c->alone) {
    edf.running = y;
    y->backward(y);
    edf.running = NULL;
    return;
  }
  edf_push_grad(y);
  edf__backward_nodes();
  edf__write_all_zeros();
  edf.at = -1;
  edf.direction = 0;
}

/* ---- Yours and the slope, entry by entry. */

/* Returns sum_i r[i] (to[i] - from[i]). The differences come first: less is lost to
   rounding. */
static double edf__difference(const edf__check *c, const edf_real *to, const edf_real *from) {
  double sum = 0;
  for (size_t i = 0; i < c->y->size; i++)
    if (to[i] != from[i]) sum += (double)c->r[i] * ((double)to[i] - (double)from[i]);
  return sum;
}

/* Returns the norm of r y over the entries of y that the last difference changed, or over all
   entries if it changed none. */
static double edf__norm_of_change(const edf__check *c) {
  double all = 0, changed = 0;
  size_t n = 0;
  for (size_t i = 0; i < c->y->size; i++) {
    double ry = (double)c->r[i] * (double)c->centre[i];
    int changes = c->up[i] != c->y->value[i];
    n += (size_t)changes;
    if (!(fabs(ry) < HUGE_VAL)) continue;
    all += ry * ry;
    if (changes) changed += ry * ry;
  }
  return sqrt(n > 0 ? changed : all);
}

/* Returns the central difference at x[i] with step h, and sets the one-sided slopes. The step
   is the difference of two stored numbers: x87 registers have more digits. */
static double edf__slope(edf__check *c, size_t i, double h) {
  volatile edf_real *at = &c->x->value[i];
  edf_real was = *at;
  h *= fmax(1.0, fabs((double)was));
  *at = (edf_real)((double)was + h);
  double up = (double)*at - (double)was;
  if (!c->alone) edf__push_tried(c->x);
  edf__check_forward(c);
  memcpy(c->up, c->y->value, c->y->size * sizeof *c->up);
  *at = (edf_real)((double)was - h);
  double down = (double)was - (double)*at;
  if (!c->alone) edf__push_tried(c->x);
  edf__check_forward(c);
  *at = was;
  if (!c->alone) edf__push_tried(c->x);
  c->right = edf__difference(c, c->up, c->centre) / up;
  c->left = edf__difference(c, c->centre, c->y->value) / down;
  c->blur = edf__tolerance * edf__noise * edf__norm_of_change(c) * edf__h / h;
  return edf__difference(c, c->up, c->y->value) / (up + down);
}

static double edf__relative_error(const edf__check *c, double yours, double right) {
  double error = fabs(yours - right) / (fabs(yours) + fabs(right) + c->floor);
  return error == error ? error : HUGE_VAL;
}
static int edf__is_wrong(const edf__check *c, const edf__entry_tried *e) {
  return edf__relative_error(c, e->yours, e->numeric) > edf__tolerance;
}

/* Returns 1 if x[i] is at a kink, where yours may be any slope between left and right. If the
   function is smooth, the two slopes agree 16 times better with a step that is 16 times
   smaller. 12 times is enough. After many kinks yours may also be the slope of a smaller step,
   up to rounding. e->numeric becomes the slope or limit that is nearest to yours. Two slopes
   give the limit for step 0: that of x^3 at 0 is 0. */
static int edf__is_at_kink(edf__check *c, edf__entry_tried *e) {
  double before = edf__slope(c, e->i, edf__h);
  e->numeric = before;
  double bend = fabs(c->right - c->left), slack = edf__small * bend + c->blur;
  double least = fmin(c->left, c->right), greatest = fmax(c->left, c->right);
  double tiny = 1e-3 * (fabs(e->numeric) + c->floor);
  double gap = fabs(e->yours - before);
  int smooth = 1, nearer = 0;
  for (int divisor = 16; divisor <= 256; divisor *= 16) {
    double slope = edf__slope(c, e->i, edf__h / divisor);
    double limit[2] = { slope, slope + (slope - before) / 255 };
    before = slope;
    if (divisor == 16)
      smooth = fabs(c->right - c->left) < fmax(bend / 12, tiny) && c->blur < fmax(bend, tiny);
    nearer |= fabs(e->yours - slope) < fmin(gap, c->blur);
    least = fmin(least, fmin(c->left, c->right));
    greatest = fmax(greatest, fmax(c->left, c->right));
    for (int k = 0; k < 2; k++)
      if (edf__relative_error(c, e->yours, limit[k]) <
          edf__relative_error(c, e->yours, e->numeric)) e->numeric = limit[k];
  }
  int between = e->yours >= least - slack && e->yours <= greatest + slack;
  return edf__is_wrong(c, e) && (nearer || (!smooth && between));
}

static double edf__greatest(const edf_real *v, size_t n) {
  double most = 0;
  for (size_t i = 0; i < n; i++) most = fmax(most, fabs((double)v[i]));
  return most;
}
/* Returns about how much the largest terms in a node add to sum_i r[i] y[i]. They may cancel in
   the node's value, and their rounding errors are in the numeric derivative. */
static double edf__size_of_sums(void) {
  double most = 0;
  for (int i = 0; i < edf.n_compnodes; i++) {
    edf_node *y = edf.compnodes[i];
    double first = 1, second = 1;        /* the greatest inputs                               */
    if (!edf__runs_backward(y) || !edf_grad(y)) continue;
    for (int k = 0; k < y->n_in; k++) {
      double in = y->in[k]->value ? edf__greatest(y->in[k]->value, y->in[k]->size) : 0;
      second = fmax(second, fmin(first, in));
      first = fmax(first, in);
    }
    double size = first * second * edf__greatest(y->grad, y->size);
    if (size < HUGE_VAL) most = fmax(most, size);
  }
  return most;
}

/* Tries the entries of x, every n-th of a large tensor. Returns the worst error. */
static double edf__compare(edf__check *c, edf_node *x) {
  double most = 0, blur = 0;
  size_t step = x->size / EDF__TRIES + 1, kept = 0;
  c->x = x;
  c->n = (x->size + step - 1) / step;
  edf__check_forward(c);
  memcpy(c->centre, c->y->value, c->y->size * sizeof *c->centre);
  edf__check_backward(c, 0, 1);
  if (!c->alone) edf_grad(x);
  for (size_t k = 0; k < c->n; k++) {
    c->entry[k].i = k * step;
    c->entry[k].yours = (double)x->grad[k * step];
  }
  for (edf__entry_tried *e = c->entry; e < c->entry + c->n; e++) {
    e->numeric = edf__slope(c, e->i, edf__h);
    most = fmax(most, fmax(fabs(e->yours), fabs(e->numeric)));
    most = fmax(most, fmax(fabs(c->left), fabs(c->right)));    /* At a minimum they cancel.   */
    if (e->numeric != 0) blur = fmax(blur, c->blur);
  }
  c->rounding = (blur > 0 ? blur : c->blur) / edf__tolerance + 1e-30;
  double epsilon = EDF_REAL_IS_DOUBLE ? DBL_EPSILON : FLT_EPSILON;
  c->floor = edf__small * (most < HUGE_VAL ? most : 0) + c->rounding +
             epsilon * c->terms / edf__h / edf__tolerance;
  c->error = 0;
  c->n_kink = c->n_wrong = c->worst = 0;
  for (size_t k = 0; k < c->n; k++) {
    edf__entry_tried e = c->entry[k];
    if (edf__is_wrong(c, &e) && edf__is_at_kink(c, &e)) { c->n_kink++; continue; }
    double error = edf__relative_error(c, e.yours, e.numeric);
    c->n_wrong += error > edf__tolerance;
    if (error > c->error) { c->error = error; c->worst = kept; }
    c->entry[kept++] = e;
  }
  c->n = kept;
  return c->error;
}

/* ---- The likely mistake: the first one that gives yours, entry by entry. */
enum {
  EDF__NEVER, EDF__SIGN, EDF__FACTOR, EDF__TRANSPOSED, EDF__MASK, EDF__NO_MASK, EDF__WRONG_MASK,
  EDF__SIGNS, EDF__NO_CASE, EDF__N_MISTAKES
};
static const char *const edf__mistakes[] = {
  "entries that are never written: the gradient stays 0", "the sign",
  "a factor: yours is %.3g times the derivative",
  "transposed: yours[j,i] is the derivative for [i,j]",
  "a mask that is wrong, or entries that are never written: yours is 0 there",
  "a mask is missing: wrong where the derivative is 0",
  "a mask that is wrong: yours is 0 where the derivative is not", "the sign of some entries",
  "a mask or a case is missing: where it is wrong, yours is %.3g times the derivative"
};

/* Returns what yours would be at entry k with this mistake. A factor is that of all entries, or
   of the wrong ones for EDF__NO_CASE. */
static double edf__would_be(const edf__check *c, int mistake, size_t k, double factor) {
  const edf__entry_tried *e = &c->entry[k];
  size_t rows = c->x->rank == 2 && c->n == c->x->size ? (size_t)c->x->dim[0] : c->n;
  int is_zero = fabs(e->numeric) <= c->rounding;
  switch (mistake) {
    case EDF__NEVER:      return 0;
    case EDF__SIGN:       return -e->numeric;
    case EDF__FACTOR:     return factor * e->numeric;
    case EDF__TRANSPOSED: return rows == c->n || rows == 1 ? (double)NAN
                                 : c->entry[k % rows * (c->n / rows) + k / rows].numeric;
    case EDF__MASK:       return edf__is_wrong(c, e) ? 0 : e->numeric;
    case EDF__NO_MASK:    return is_zero ? e->yours : e->numeric;
    case EDF__WRONG_MASK: return is_zero ? e->yours : 0;
    case EDF__SIGNS:      return edf__is_wrong(c, e) ? -e->numeric : e->numeric;
    default:                             /* one wrong entry proves nothing                    */
      return !edf__is_wrong(c, e) ? e->numeric
             : c->n_wrong > 1     ? factor * e->numeric : (double)NAN;
  }
}

/* Checks again with y.grad = 1 for entry m only, or for all entries if m is the size of y.
   Returns what this shows, or NULL. */
static const char *edf__probe(edf__check *c, size_t m) {
  int own = c->y->size == c->x->size, others = 0, stray = 0;
  for (size_t i = 0; i < c->y->size; i++) c->r[i] = i == m || m == c->y->size;
  double error = edf__compare(c, c->x);
  int is_zero = c->floor <= (1 + edf__small) * c->rounding;    /* both are 0: proves nothing  */
  if (m == c->y->size)
    return error <= edf__small && !is_zero
               ? "a missing term: it agrees where y.grad is constant" : NULL;
  for (const edf__entry_tried *e = c->entry; e < c->entry + c->n; e++) {
    own &= e->i == m || e->yours == 0;
    others |= e->i != m && fabs(e->numeric) > c->floor;
    stray |= fabs(e->yours) > c->floor && fabs(e->numeric) <= c->rounding;
  }
  return own && others ? "a missing term: each entry of x changes several entries of y"
         : stray ? "a wrong index: a gradient arrives where it does not belong" : NULL;
}

/* Returns 1 if nearly all entries of yours fit. Entries near a kink need not. */
static int edf__fits(const edf__check *c, size_t n) { return c->n && c->n - n <= c->n / 25; }

/* ---- Mistakes of a node that computes each entry from one entry of x. */

/* Returns 1 if x[i] changes y[i] alone. The entry that is tried is the worst one. */
static int edf__maps_entries(edf__check *c) {
  size_t i = c->entry[c->worst].i;
  if (!c->alone || c->y->size != c->x->size) return 0;
  edf__slope(c, i, edf__h);
  for (size_t k = 0; k < c->y->size; k++)
    if (k != i && c->up[k] != c->y->value[k]) return 0;
  edf__check_forward(c);
  return 1;
}

/* Returns the a of  v[k] = a term[k]  for nearly all entries, or 0. A term that is small, or is
   all of the derivative, proves nothing. */
static double edf__multiple(const edf__check *c, const double *v, const double *term) {
  double vt = 0, tt = 0;
  size_t fits = 0, matters = 0;
  for (size_t k = 0; k < c->n; k++) { vt += v[k] * term[k]; tt += term[k] * term[k]; }
  double a = tt > 0 && tt < HUGE_VAL ? vt / tt : 0;
  for (size_t k = 0; k < c->n; k++) {
    const edf__entry_tried *e = &c->entry[k];
    double left = fabs(v[k] - a * term[k]), numeric = fabs(e->numeric);
    fits += left <= edf__tolerance * (fabs(e->yours) + numeric + c->floor);
    matters += fabs(a * term[k]) > c->floor && fabs(e->numeric - a * term[k]) > c->floor;
  }
  return edf__fits(c, fits) && matters > c->n / 2 && c->n > 3 ? a : 0;
}
/* Returns what is wrong if one of two terms is missing or has the wrong sign. One of them is a
   multiple of y.grad, y.grad y, ...: y/x for x f(x), and y^2 for tanh. */
static const char *edf__wrong_term(const edf__check *c) {
  static const char *const by[] = { "", " y", " y/x", " x", " y^2", " x^2" };
  enum { TERMS = 6 };
  double *v = (double *)edf__borrow(4 * c->n * sizeof *v), *term = v + 3 * c->n;
  for (int t = 0; t < TERMS; t++) {
    for (size_t k = 0; k < c->n; k++) {
      const edf__entry_tried *e = &c->entry[k];
      double x = (double)c->x->value[e->i], y = (double)c->centre[e->i];
      double of[TERMS] = { 1, y, y / x, x, y * y, x * x };
      term[k] = (double)c->r[e->i] * of[t];
      v[k] = e->yours;
      v[c->n + k] = e->numeric - e->yours;
      v[2 * c->n + k] = e->numeric + e->yours;
    }
    double yours = edf__multiple(c, v, term), missing = edf__multiple(c, v + c->n, term);
    if (yours != 0) return "a term is missing: as the second one of the product rule";
    if (fabs(missing - 1) < edf__small)
      return "a term is missing: as the first one of the product rule";
    if (missing != 0)
      return edf__text("the sign of one of two terms, or a term is missing: the derivative "
                       "minus yours is %.3g y.grad%s", missing, by[t]);
    if (fabs(edf__multiple(c, v + 2 * c->n, term) - 2) < edf__small)
      return "the sign of one of two terms, or a term is missing";
  }
  return NULL;
}
/* Returns 1 if backward gives the derivative when array `a` has the numbers of array `b`. */
static int edf__is_right_with(edf__check *c, edf_real *a, const edf_real *b) {
  size_t bytes = c->x->size * sizeof *a, fits = 0;
  edf_real *was = (edf_real *)memcpy(edf__borrow(bytes), a, bytes);
  memcpy(a, b, bytes);
  edf__check_backward(c, 0, 1);
  memcpy(a, was, bytes);
  for (size_t k = 0; k < c->n; k++)
    fits += edf__relative_error(c, (double)c->x->grad[c->entry[k].i], c->entry[k].numeric) <=
            edf__tolerance;
  return edf__fits(c, fits);
}
/* Returns what is wrong if backward reads y.value in place of an input or of what forward has
   kept, or an input in place of y.value. */
static const char *edf__wrong_operand(edf__check *c) {
  edf_node *y = c->y;
  for (int k = 0; k < y->n_in; k++) {
    edf_node *x = y->in[k];
    const char *name = x == c->x ? "x" : edf__label(x);
    if (x->size != y->size) continue;
    if (edf__is_right_with(c, y->value, x->value))
      return edf__text("y.value is used where %s.value is meant", name);
    if (edf__is_right_with(c, x->value, y->value))
      return edf__text("%s.value is used where y.value is meant", name);
  }
  if (edf_array_bytes(y->state) >= y->size * sizeof *y->value &&
      edf__is_right_with(c, y->value, (const edf_real *)y->state))
    return "y.value is used where the value is meant that forward has saved in y.state";
  return NULL;
}

/* Returns what is wrong if x, or |x|, is less at all wrong entries than at all right ones, or
   greater. */
static const char *edf__missing_case(const edf__check *c) {
  for (int absolute = 0; absolute < 2; absolute++) {
    double least[2] = { HUGE_VAL, HUGE_VAL }, greatest[2] = { -HUGE_VAL, -HUGE_VAL };
    size_t n[2] = { 0, 0 };
    for (const edf__entry_tried *e = c->entry; e < c->entry + c->n; e++) {
      double x = (double)c->x->value[e->i];
      int wrong = edf__is_wrong(c, e);
      if (absolute) x = fabs(x);
      n[wrong]++;
      least[wrong] = fmin(least[wrong], x);
      greatest[wrong] = fmax(greatest[wrong], x);
    }
    int below = greatest[1] < least[0], above = greatest[0] < least[1];
    if (n[0] > 2 && n[1] > 2 && (below || above))
      return edf__text("a case is missing: it is wrong where %s %s %.3g, and right elsewhere",
                       absolute ? "|x|" : "x", below ? "<" : ">",
                       below ? greatest[1] : least[1]);
  }
  return NULL;
}

/* Returns 1 if x has the gradient that another input should have, and the other way round. */
static int edf__is_exchanged(edf__check *c) {
  edf_node *x = c->x;
  edf__check_forward(c);
  edf__check_backward(c, 0, 1);
  for (int j = 0; c->alone && j < c->y->n_in; j++) {
    edf_node *other = c->y->in[j];
    size_t k = 0, n = c->n;
    if (other == x || !other->grad || other->size != x->size) continue;
    while (k < n && edf__relative_error(c, (double)other->grad[c->entry[k].i],
                                        c->entry[k].numeric) <= edf__tolerance) k++;
    c->x = other;
    for (k = k == n ? 0 : n + 1; k < n; k++)
      if (edf__relative_error(c, c->entry[k].yours, edf__slope(c, c->entry[k].i, edf__h)) >
          edf__tolerance) break;
    c->x = x;
    if (k == n) return 1;
  }
  return 0;
}

/* Returns the factor by which yours is wrong, over all entries or over the wrong ones. */
static double edf__wrong_factor(const edf__check *c, int wrong_ones) {
  double yn = 0, nn = 0;
  for (const edf__entry_tried *e = c->entry; e < c->entry + c->n; e++) {
    if (wrong_ones && !edf__is_wrong(c, e)) continue;
    yn += e->yours * e->numeric;
    nn += e->numeric * e->numeric;
  }
  return yn / nn;
}
static const char *edf__likely(edf__check *c) {
  const edf__entry_tried *worst = &c->entry[c->worst];
  if (!(fabs(worst->yours) < HUGE_VAL))
    return "backward gives NaN or Inf: a division by 0, or a logarithm or root of less than 0";
  if (!(fabs(worst->numeric) < HUGE_VAL)) return "forward gives NaN or Inf near this entry";
  int by_entry = edf__maps_entries(c);
  for (int m = 0; m < EDF__N_MISTAKES; m++) {
    size_t fits = 0;
    double factor = edf__wrong_factor(c, m == EDF__NO_CASE);
    if (m == EDF__SIGN && edf__is_exchanged(c))
      return "exchanged: another input has this gradient";
    edf__check_forward(c);
    const char *operand = m == EDF__NO_CASE && by_entry ? edf__wrong_operand(c) : NULL;
    if (operand) return operand;
    for (size_t k = 0; k < c->n; k++) {
      double would_be = edf__would_be(c, m, k, factor);
      fits += edf__relative_error(c, c->entry[k].yours, would_be) <= edf__small;
    }
    if (edf__fits(c, fits))
      return strchr(edf__mistakes[m], '%') ? edf__text(edf__mistakes[m], factor)
                                           : edf__mistakes[m];
  }
  const char *probe = edf__missing_case(c);
  if (!probe && by_entry) probe = edf__wrong_term(c);
  if (!probe) probe = edf__probe(c, 0);
  if (!probe) probe = edf__probe(c, c->y->size - 1);
  if (!probe) probe = edf__probe(c, c->y->size);
  return probe ? probe : "no simple pattern: work out that entry by hand";
}

/* ---- The report. */
static void edf__print_result(const char *how, const edf_node *y, const edf_node *x,
                              const char *text) {
  edf__say("  %s  %s%s", how, x ? "d " : "", edf__label(y));
  edf__say("%s%s: %s\n", x ? " / d " : "", x ? edf__label(x) : "", text);
}
static int edf__say_breach(const edf_node *y, const edf_node *x, const char *found,
                           const char *likely) {
  edf__print_result("FAIL", y, x, found);
  edf__say("        likely: %s\n", likely);
  return 1;
}
/* Compares d y / d x. Prints the result if it is wrong or all 0, or if `show` is 1. */
static double edf__check_one(edf__check *c, edf_node *x, int show) {
  double error = edf__compare(c, x);
  const edf__entry_tried *e = &c->entry[c->worst];
  int wrong = error > edf__tolerance, leaf = x->kind != EDF_COMPNODE;
  int zero = c->n > 0 && !wrong && !(c->alone && leaf);        /* A leaf's turn comes later.  */
  for (size_t k = 0; k < c->n; k++) zero &= c->entry[k].yours == 0;
  if (wrong || zero || show)
    edf__print_result(wrong ? "FAIL" : c->n ? "ok  " : "SKIP", c->y, x,
             edf__text("worst relative error %.2g, %zu of %zu entries tried, "
                       "%zu at kinks skipped", error, c->n, x->size, c->n_kink));
  if (zero && c->stopped)
    edf__say("        every derivative is 0, since each path goes through stop\n");
  else if (zero)
    edf__say("        every derivative is 0 here, which hides mistakes: try other values of "
             "%s\n", edf__label(x));
  if (!wrong) return error;
  edf__say("        %zu wrong, most at %s%s = %.6g: yours %.6g, numeric %.6g\n", c->n_wrong,
         edf__label(x), edf__indices(x, e->i), (double)x->value[e->i], e->yours, e->numeric);
  edf__say("        likely: %s\n", edf__likely(c));
  return error;
}

/* ---- The contract of a node. */

static int edf__is_infinite(edf_real v) { return v == v && v - v != 0; }
/* Returns the first entry of v that is infinite, or NaN if `infinite` is 0. Returns x->size if
   there is none. */
static size_t edf__first_bad(const edf_node *x, const edf_real *v, int infinite) {
  size_t i = 0;
  while (i < x->size && !(infinite ? edf__is_infinite(v[i]) : v[i] != v[i])) i++;
  return i;
}
/* Returns 1 if v, the values of y, has NaN, and says so. */
static int edf__has_nan(const edf_node *y, const edf_real *v) {
  size_t i = edf__first_bad(y, v, 0);
  if (i == y->size) return 0;
  const char *found = edf__text("forward gives NaN at %s%s", edf__label(y), edf__indices(y, i));
  return edf__say_breach(y, NULL, found, "0/0, infinity minus infinity, or the root or "
                                         "logarithm of a number below 0");
}

/* Returns 1 if forward leaves an entry unwritten, gives NaN, or gives other values again. */
static int edf__forward_breaks(edf__check *c) {
  edf_node *y = c->y;
  size_t bytes = y->size * sizeof *y->value;
  for (int k = 0; k < 2; k++) {
    for (size_t i = 0; i < y->size; i++) y->value[i] = edf__marks[k];
    edf__check_forward(c);
    memcpy(k ? c->up : c->centre, y->value, bytes);
  }
  for (size_t i = 0; i < y->size; i++)
    if (c->centre[i] == edf__marks[0] && c->up[i] == edf__marks[1])
      return edf__say_breach(y, NULL, edf__text("forward does not write %s%s", edf__label(y),
                             edf__indices(y, i)), "entries that are not written: a loop that "
                             "begins late or ends early, or no shape function");
  if (edf__has_nan(y, c->centre)) return 1;
  if (!memcmp(c->centre, c->up, bytes)) return 0;
  return edf__say_breach(y, NULL, "forward gives other values when it runs again",
                         "'+=' into values that are not cleared, or a state that each run "
                         "changes");
}

static int edf__backward_breaks(edf__check *c, edf__check *other, edf_node *x) {
  static const struct { int begin, times; const char *found, *likely; } rule[] = {
    { 0, 1, "backward differs when it runs again",
      "a buffer is not cleared before it is added to" },
    { 0, 1, "backward differs when another such node has run forward",
      "a static or global variable: edf_state(y, bytes) is the node's own" },
    { 0, 1024, "backward is not linear in y.grad", "y.grad is not used, cut off or squared" },
    { 1, 1, "backward does not add to what is there",
      "'=' where '+=' is needed, or x.grad is read where y.grad is meant" } };
  size_t bytes = x->size * sizeof *x->grad;
  edf__check_forward(c);
  edf__check_backward(c, 0, 1);
  for (size_t i = 0; i < c->y->size; i++)
    if (c->y->grad[i] != c->r[i])
      return edf__say_breach(c->y, x, "backward changes y.grad",
                             "y.grad where x.grad is meant");
  const edf_real *once = (edf_real *)memcpy(edf__borrow(bytes), x->grad, bytes);
  edf_statistics s = edf_statistics_of(once, x->size);
  if (s.bad)
    return edf__say_breach(c->y, x, "backward gives NaN or Inf",
                           "a division by 0, or a logarithm or root of less than 0");
  for (int k = 0; k < 4; k++) {
    if (k == 0) edf__check_forward(c);
    if (k == 1 && !c->y->state) edf__check_forward(other);
    edf__check_backward(c, (edf_real)rule[k].begin, (edf_real)rule[k].times);
    for (size_t i = 0; i < x->size; i++) {
      double is = ((double)x->grad[i] - rule[k].begin) / rule[k].times - (double)once[i];
      double slack = k < 2 ? 0 : k < 3 ? 1e-3 * s.norm / sqrt((double)x->size)
                     : 1e-3 * (1 + fabs((double)once[i]));
      if (!(fabs(is) <= slack))
        return edf__say_breach(c->y, x, rule[k].found, rule[k].likely);
    }
  }
  return 0;
}

/* Returns 1 if a guard or an input's value has changed. */
static int edf__breaks_arrays(const edf__check *c, const edf_node *node) {
  for (int k = -1; k < node->n_in; k++) {
    const edf_node *x = k < 0 ? c->y : c->y->in[k];
    for (int g = 0; g < 2; g++) {
      const edf_real *v = g ? x->grad : x->value;
      for (int i = 0; v && i < EDF__GUARD; i++)
        if (v[x->size + (size_t)i] != edf__marks[0] || v[-1 - i] != edf__marks[0])
          return edf__say_breach(c->y, x, "its code writes outside the array",
                                 "an index after the end, or below 0");
    }
    int changes = k >= 0 && x->update == edf_frozen;           /* It is a running statistic. */
    if (k >= 0 && !changes && memcmp(x->value, node->in[k]->value, x->size * sizeof *x->value))
      return edf__say_breach(c->y, x, "its code changes x.value",
                             "x.grad is meant, or y.value in forward");
  }
  return 0;
}

/* Runs backward once without the gradient of each input. Returns 1 if another gradient then
   changes. The line that is printed before shows the reader of a crash what ran. */
static int edf__needs_all_gradients(edf__check *c) {
  edf_node *y = c->y;
  for (int k = 0; k < y->n_in; k++) {
    edf_node *without = y->in[k];
    edf_real *grad = without->grad;
    if (!grad) continue;
    for (int j = 0; j < y->n_in; j++)
      if (y->in[j] != without && y->in[j]->grad) break;
      else if (j + 1 == y->n_in) return 0;           /* No other input has a gradient.        */
    edf__say("  run   the backward of %s without %s.grad\n", edf_label(y), edf_label(without));
    fflush(stdout);
    for (int j = 0; j < y->n_in; j++) {
      edf_node *x = y->in[j];
      size_t bytes = x->size * sizeof *x->grad;
      if (x == without || !x->grad) continue;
      edf__check_backward(c, 0, 1);
      edf_real *once = (edf_real *)memcpy(edf__borrow(bytes), x->grad, bytes);
      without->grad = NULL;
      edf__check_backward(c, 0, 1);
      without->grad = grad;
      if (memcmp(once, x->grad, bytes))
        return edf__say_breach(y, x, edf__text("it differs without %s.grad",
                                               edf_label(without)),
                               "an if that skips more than the gradient that is not needed");
    }
  }
  return 0;
}
/* Says which inputs have no gradient, before backward runs for the first time. */
static void edf__show_missing(const edf_node *y) {
  for (int k = 0; k < y->n_in; k++) {
    if (y->in[k]->grad) continue;
    edf__say("  run   the backward of %s: %s has no gradient, %s.grad is NULL. Use "
             "edf_addgrad\n", edf_label(y), edf_label(y->in[k]), edf_label(y->in[k]));
    fflush(stdout);
  }
}

static double edf__check_alone(edf_node *node, unsigned long long draws) {
  edf__check *c = edf__new_check(node, 1, draws), *other = edf__new_check(node, 1, draws);
  char *broken = (char *)edf__borrow((size_t)node->n_in + 1);
  int differs = 0, show = 0;
  for (int k = 0; k < node->n_in; k++) { /* It gets the values of x in reverse order.         */
    const edf_node *x = node->in[k];
    for (size_t i = 0; x->grad && i < x->size; i++)
      other->y->in[k]->value[i] = x->value[x->size - 1 - i];
  }
  double worst = edf__forward_breaks(c);
  int runs = worst <= edf__tolerance;
  if (runs) edf__show_missing(c->y);
  for (int k = 0; k < node->n_in && runs; k++) {
    edf_node *x = c->y->in[k];
    if (!x->grad) continue;
    if (node->mismatch_expected) differs |= edf__compare(c, x) > edf__tolerance;
    else if (edf__backward_breaks(c, other, x)) worst = show = broken[k] = 1;
    else show |= edf__compare(c, x) > edf__tolerance;
  }
  for (int k = 0; k < node->n_in && runs && !node->mismatch_expected; k++)
    if (c->y->in[k]->grad && !broken[k])
      worst = fmax(worst, edf__check_one(c, c->y->in[k], show));
  if (worst <= edf__tolerance && runs && edf__needs_all_gradients(c)) worst = 1;
  if (edf__breaks_arrays(c, node)) worst = 1;
  if (node->mismatch_expected && !differs && worst <= edf__tolerance)
    worst = edf__say_breach(c->y, NULL, "it is the derivative", "a mismatch was expected");
  if (differs && worst <= edf__tolerance)
    edf__print_result("ok  ", c->y, NULL, "its backward is not the derivative, as expected");
  if (worst > edf__tolerance)
    edf__say("        in %s, built at %s:%d\n", node->op, node->file, node->line);
  return worst;
}

/* ---- Stops. No gradient goes through a Stop on purpose, so each Stop keeps its value while
   the check moves other numbers. */
typedef struct { void (*forward)(edf_node *); edf_real value[1]; } edf__held;
static void edf__keep_value(edf_node *y) {
  memcpy(y->value, ((edf__held *)y->state)->value, y->size * sizeof *y->value);
  edf__sync(y, EDF_VALUE, EDF_WROTE);
}
static void edf__hold_stops(int hold) {
  for (edf_node **c = edf.compnodes; c < edf.compnodes + edf.n_compnodes; c++) {
    edf_node *y = *c;
    size_t bytes = y->size * sizeof *y->value;
    int constant = y->fed >= 0, held = y->forward == edf__keep_value;
    if (!y->active || !edf__has_flag(y, EDF_HELD) || constant || hold == held) continue;
    if (held) {
      y->forward = ((edf__held *)y->state)->forward;
      y->state = NULL;
      continue;
    }
    edf__held *state = (edf__held *)edf__borrow(sizeof *state + bytes);
    state->forward = y->forward;
    memcpy(state->value, edf_value(y), bytes);
    y->state = state;
    y->forward = edf__keep_value;
    edf__print_result("ok  ", y, NULL, "no gradient goes through stop, on purpose: its value "
                      "is held");
  }
}

/* ---- Through the graph, but not through a node whose backward is not the derivative. */

/* Says why the derivative of a leaf is not checked. Returns 0 if it is. */
static int edf__skips(const edf_node *node, const edf_node *x, int after) {
  const char *why = after ? "through a node whose backward is not the derivative" : NULL;
  if (!x->needs_grad)
    why = x->kind == EDF_INPUT ? "not checked: an Input without edf_want_grad"
                               : "not checked: a frozen Parameter";
  if (why) edf__print_result("skip", node, x, why);
  return why != NULL;
}
/* Returns 1 if the value of the node has NaN. Says which node has the first one. */
static int edf__graph_has_nan(const edf_node *node) {
  edf_node **c = edf.compnodes;
  if (edf__first_bad(node, node->value, 0) == node->size) return 0;
  while (!(*c)->active || !edf__has_nan(*c, (*c)->value)) c++;
  return 1;
}
static double edf__check_graph(edf_node *node, unsigned long long draws) {
  edf__check *c = edf__new_check(node, 0, draws);
  double worst = 0;
  int first[] = { 0, edf.n_inputs, edf.n_inputs + edf.n_parameters };  /* of each kind        */
  /* after[i] is 1 if a mismatch is expected between node i and `node`, and reaches[i] if a path
     between them has no Stop. */
  char *after = (char *)edf__borrow((size_t)edf__n_nodes() + 1);
  char *reaches = (char *)edf__borrow((size_t)edf__n_nodes() + 1);
  reaches[first[node->kind] + node->position] = 1;
  for (int i = edf__n_nodes() - 1; i >= first[EDF_COMPNODE]; i--) {
    const edf_node *y = edf__nth(i);
    for (int k = 0; y->active && k < y->n_in; k++) {
      int in = first[y->in[k]->kind] + y->in[k]->position;
      after[in] |= y->mismatch_expected | after[i];
      reaches[in] |= reaches[i] && !edf__has_flag(y, EDF_HELD);
    }
  }
  edf__hold_stops(1);
  edf__check_forward(c);
  edf__check_backward(c, 0, 1);
  c->terms = edf__size_of_sums();
  for (int i = 0; i < first[EDF_COMPNODE]; i++) {
    edf_node *x = edf__nth(i);
    edf_real *own = x->value;
    size_t bytes = x->size * sizeof *own;
    if (!x->active || edf__skips(node, x, after[i])) continue;
    c->stopped = !reaches[i];
    /* Entries are moved in a copy, since the values of an Input belong to the program. */
    x->value = (edf_real *)memcpy(edf__borrow(bytes), own, bytes);
    edf__push_tried(x);
    worst = fmax(worst, edf__check_one(c, x, 1));
    x->value = own;
    edf__push_tried(x);
  }
  edf__hold_stops(0);
  return worst;
}

/* After a wrong node, the derivatives through the graph are not checked. */
static void edf__show_unchecked(const edf_node *node) {
  for (int i = 0; i < edf.n_inputs + edf.n_parameters; i++)
    if (edf__nth(i)->active)
      edf__print_result("skip", node, edf__nth(i), "not checked: a node has failed, see above");
}

double edf_gradcheck(edf_node *node) {
  unsigned long long draws = edf.draws;
  double worst = 0;
  edf__check_kind(edf__call_of("edf_gradcheck"), node, EDF_COMPNODE, "the node");
  edf_snapshot *taken = edf_take_snapshot();
  edf__run_forward("edf_gradcheck", node);
  edf__begin_backward("edf_gradcheck", node);      /* A wrong backward may change values.     */
  edf__end_backward();
  for (int i = 0; i < edf__n_nodes(); i++) if (edf__nth(i)->active) edf_value(edf__nth(i));
  edf__say("gradcheck of %s, built at %s:%d\n", edf__label(node), node->file, node->line);
  for (int i = 0; i < edf.n_compnodes; i++) {
    edf_node *y = edf.compnodes[i];
    if (!edf__has_flag(y, EDF_TESTED) && edf__runs_backward(y))
      worst = fmax(worst, edf__check_alone(y, draws));
  }
  if (worst <= edf__tolerance)
    worst = edf__graph_has_nan(node) ? 1 : edf__check_graph(node, draws);
  else if (edf__has_flag(node, EDF_TESTED)) edf__show_unchecked(node);
  edf__free_list(&edf.scratch);
  edf__free_list(&edf.nodes[EDF__COPIES]);
  edf_restore(taken);
  return worst;
}

edf_node *edf_expect_mismatch(edf_node *node) {
  edf__check_kind(edf__call_of("edf_expect_mismatch"), node, EDF_COMPNODE, "the node");
  node->mismatch_expected = 1;
  return node;
}

/* ==== >>step  Stepping, and the first NaN ================================================= */
/* Returns the node that runs next in the direction of the pass, or NULL. */
static edf_node *edf__next_node(void) {
  for (int i = edf.at + edf.direction; i >= 0 && i < edf.n_compnodes; i += edf.direction) {
    edf_node *c = edf.compnodes[i];
    if (edf.direction > 0 ? c->active : edf__runs_backward(c)) return c;
  }
  return NULL;
}

static edf_node *edf__run_next(void) {
  edf_node *c = edf__next_node();
  edf__epoch++;
  if (c) edf.at = c->position;
  if (edf.direction > 0 && c) edf__forward_node(c);
  else if (edf.direction > 0) edf__end_pass(EDF_END_FORWARD, NULL);
  else if (c) edf__backward_node(c);
  else edf__end_backward();
  return c;
}
static edf_node *edf__nothing_runs(const char *why) {
  edf__say("nothing runs: %s\n", why);
  return NULL;
}

edf_node *edf_step_forward(void) {
  int batch;
  if (edf.direction == 1) return edf__run_next();
  edf__node_marks *marks = edf__copy_marks();
  edf__mark(NULL);
  const char *why = edf__find_batch(&batch);
  edf__restore_marks(marks);
  if (why) return edf__nothing_runs(why);
  edf__begin_forward("edf_step_forward", NULL);
  edf.at = -1;
  return edf__run_next();
}

/* Returns why a Backward of the loss cannot begin, or NULL. */
static const char *edf__why_no_backward(edf_node *loss) {
  if (!edf.n_compnodes) return "there is no computed node";
  if (!loss || !loss->needs_grad) return "no parameter reaches the loss";
  if (loss->ran != edf.feeds)
    return "the loss has no value for the last feed: step forward first";
  const char *moved = edf__show_moved(loss);
  return moved ? edf__text("step forward first: %s", moved) : NULL;
}
edf_node *edf_step_backward(void) {
  if (edf.direction == -1) return edf__run_next();
  edf__node_marks *marks = edf__copy_marks();
  edf__find_needs();
  edf_node *loss = edf__next_loss();
  const char *why = edf__why_no_backward(loss);
  edf__restore_marks(marks);             /* A Forward that runs step by step may go on.       */
  if (why) return edf__nothing_runs(why);
  edf__begin_backward("edf_step_backward", loss);
  edf__write_all_zeros();
  return edf__run_next();
}

static void edf__where_grad(const edf_node *x) {
  int all = x == edf.loss, arrived = all;
  for (int i = 0; i < edf.n_compnodes; i++)
    for (int k = 0; edf__runs_backward(edf.compnodes[i]) && k < edf.compnodes[i]->n_in; k++) {
      all += edf.compnodes[i]->in[k] == x;
      arrived += edf.compnodes[i]->in[k] == x && i >= edf.at;
    }
  edf__say("       %s.grad: %d of %d contributions\n", edf__label(x), arrived, all);
}
void edf_where(void) {
  edf_node *next = edf.direction ? edf__next_node() : NULL;
  if (next) {
    edf__say("%s: next is\n  %3d  ", edf.direction > 0 ? "forward" : "backward",
             next->position);
    edf_print_node(stdout, next);
    if (edf.direction < 0) edf__where_grad(next);
    for (int k = 0; edf.direction < 0 && k < next->n_in; k++)
      if (next->in[k]->needs_grad) edf__where_grad(next->in[k]);
  } else edf__say("%s\n", edf.direction ? "all nodes have run" : "nothing runs");
  fflush(stdout);
}

/* ---- The first NaN or infinity. An infinity is made if the numbers that it is computed from
   are finite. A mask, or an infinity that the program fed, is no mistake by itself. */
typedef struct { edf_node *node; size_t i; } edf__spot;

static int edf__is_bad(const edf_node *x, const edf_real *v) {
  return v && x->size && edf_statistics_of(v, x->size).bad > 0;
}
/* Returns 1 if entry i of y is computed from entry i mod size of each input alone. */
static int edf__is_by_entry(const edf_node *y) {
  if (!y->about || !y->about->formula || !*y->about->tensors) return 0;
  for (const char *c = y->about->formula; (c = strchr(c, '[')) != NULL; c++)
    if (strncmp(c, "[i]", 3)) return 0;
  return 1;
}
/* Returns 1 if y is a mask, such as ln 1[s<=t], or a copy for a maximum with -infinity around
   it. */
static int edf__is_mask(const edf_node *y) {
  const edf_node *x = y->n_in ? y->in[0] : y;
  int n = 0;                             /* number of conditions in a product                 */
  while (n < x->n_in && edf__has_flag(x->in[n], EDF_MASKS)) n++;
  return edf__has_flag(y, EDF_MASKS) ||
         (y->code == &edf_log_op && (edf__has_flag(x, EDF_MASKS) || (n && n == x->n_in)));
}
/* Returns an infinity from which an entry is computed, of a computed node if there is one. */
static edf__spot edf__infinity_before(edf__spot at) {
  edf__spot found = { NULL, 0 };
  for (int k = 0; k < at.node->n_in; k++) {
    edf_node *x = at.node->in[k];
    const edf_real *v = edf_value(x);
    size_t i = edf__is_by_entry(at.node) ? at.i % x->size : edf__first_bad(x, v, 1);
    if (i == x->size || !edf__is_infinite(v[i])) continue;
    if (found.node && x->kind != EDF_COMPNODE) continue;
    found.node = x;
    found.i = i;
  }
  return found;
}
/* Returns the first of the infinities that have led to an entry, or the entry itself. */
static edf__spot edf__origin(edf__spot at) {
  for (edf__spot next; (next = edf__infinity_before(at)).node != NULL;) at = next;
  return at;
}

/* Returns the first entry of x that is NaN, or an infinity that x has made. An infinity of a
   Parameter is made by a step if the entry has a gradient. Returns { NULL, 0 } if there is
   none. */
static edf__spot edf__made_by(edf_node *x, int infinite) {
  edf__spot none = { NULL, 0 }, at = { x, 0 };
  const edf_real *v = edf_value(x);
  for (at.i = edf__first_bad(x, v, infinite); at.i < x->size; at.i++) {
    if (!infinite) return at;
    if (!edf__is_infinite(v[at.i])) continue;
    int stepped = x->kind == EDF_PARAMETER && x->steps && x->grad && edf_grad(x)[at.i] != 0;
    int computes = x->kind == EDF_COMPNODE && !edf__is_mask(x);
    if (stepped || (computes && !edf__infinity_before(at).node)) return at;
    if (!edf__is_by_entry(x)) return none;
  }
  return none;
}
static edf__spot edf__first_made(int infinite) {
  edf__spot at = { NULL, 0 };
  for (int i = 0; i < edf__n_nodes() && !at.node; i++) {
    edf_node *x = edf__nth(i);
    if (x->value && x->size && !edf__is_stale(x)) at = edf__made_by(x, infinite);
  }
  return at;
}

/* Returns the entry to report after Forward, or { NULL, 0 }: the first NaN, or the infinity
   that a node has made of finite numbers. If a node has made the NaN of an infinity that was
   fed, *from is this infinity. If nothing else is wrong, an infinite loss is traced back. */
static edf__spot edf__wrong_value(edf__spot *from) {
  edf__spot nan = edf__first_made(0), at = { NULL, 0 };
  from->node = NULL;
  if (nan.node) {
    at = edf__origin(nan);
    if (at.node == nan.node || edf__made_by(at.node, 1).node) return at;
    *from = at;
    return nan;
  }
  at = edf__first_made(1);
  if (at.node || !edf.n_compnodes) return at;
  if (edf.direction >= 0) edf__find_needs();
  edf__spot loss = { edf__next_loss(), 0 };
  if (!loss.node) loss.node = edf.compnodes[edf.n_compnodes - 1];
  if (edf__is_stale(loss.node)) return at;
  loss.i = edf__first_bad(loss.node, edf_value(loss.node), 1);
  return loss.i < loss.node->size ? edf__origin(loss) : at;
}

/* Prints that y made the NaN or infinity at an entry, in its value or in its gradient. */
static edf_node *edf__report_nan(edf_node *y, edf__spot at, const char *grad,
                                 edf__spot from) {
  const edf_node *x = at.node;
  const edf_real v = (*grad ? x->grad : x->value)[at.i];
  edf__say("%s%s%s = %g is the first %s. It is from %s\n  %s\n", edf__label(x), grad,
         edf__indices(x, at.i), (double)v, v != v ? "NaN" : "infinity",
         *grad ? edf__text("the backward of %s", edf__label(y)) :
         y->kind == EDF_COMPNODE ? "the forward of" : "", edf__show(y));
  if (y->kind == EDF_PARAMETER)
    edf__say("  after %ld step%s\n", y->steps, y->steps == 1 ? "" : "s");
  edf_print_node(stdout, y);
  for (int k = *grad ? -1 : 0; k < y->n_in; k++) {   /* the entries from which it comes       */
    const edf_node *by = k < 0 ? y : y->in[k];
    if (x->size % by->size == 0)
      edf__say("  %s%s = %g\n", edf__label(by), edf__indices(by, at.i % by->size),
             (double)by->value[at.i % by->size]);
  }
  if (from.node)
    edf__say("  the infinity is from %s%s = %g\n  %s\n", edf__label(from.node),
           edf__indices(from.node, from.i), (double)from.node->value[from.i],
           edf__show(from.node));
  for (int k = 0; k < y->n_in; k++) edf_print(y->in[k]);
  return y;
}
/* Reports a NaN or infinity that the backward of c has made in the gradient of x. */
static edf_node *edf__report_gradient(edf_node *c, edf_node *x) {
  edf__spot at = { x, 0 }, of_c = { c, 0 };
  while (x->grad[at.i] - x->grad[at.i] == 0) at.i++;
  if (c->size == x->size) of_c.i = at.i;
  edf__spot from = edf__infinity_before(of_c);
  return edf__report_nan(c, at, ".grad", from.node ? edf__origin(from) : from);
}
static edf_node *edf__find_nan(void) {
  edf_node *c, *found = NULL;
  edf__spot from, at = edf__wrong_value(&from);
  if (at.node) return edf__report_nan(at.node, at, "", from);
  if (!edf.loss || edf.loss->ran != edf.feeds) return NULL;
  edf__end_stepping();
  const char *moved = edf__show_moved(edf.loss);
  if (moved) edf__say("Every value is right. Gradients are not searched, since %s\n", moved);
  while (!moved && (c = edf_step_backward()) != NULL)
    for (int k = 0; !found && k < c->n_in; k++)
      if (edf__is_bad(c->in[k], edf_grad(c->in[k]))) found = edf__report_gradient(c, c->in[k]);
  return found;
}
edf_node *edf_find_nan(void) {
  edf_snapshot *taken = edf_take_snapshot();
  edf_node *found = edf__find_nan();
  edf_restore(taken);
  return found;
}

void edf_debug_pass(int backward) {
  edf__spot from;
  int is_wrong = !backward && !edf__nan_reported && edf__wrong_value(&from).node;
  for (int i = 0; i < edf__n_nodes() && backward && !edf__nan_reported && !is_wrong; i++) {
    edf_node *x = edf__nth(i);
    is_wrong = x->active && x->reached && edf__is_bad(x, edf_grad(x));
  }
  if (!is_wrong) return;
  edf__nan_reported = 1;
  edf_find_nan();
}
#endif
EDF__END_COLD
EDF__C_END
#endif

/* ==== >>names  Short names, as on the slides ============================================= */
#if !defined(EDF_NO_SHORT_NAMES) && !defined(EDF__SHORT_NAMES)
#define EDF__SHORT_NAMES
typedef edf_node Node, Input, Parameter, CompNode;
typedef edf_affine_package AffineParams;
#define Forward         edf_forward
#define Backward        edf_backward
#define SGD             edf_sgd
#define Affine          edf_affine
#define Sigmoid         edf_sigmoid
#define Tanh            edf_tanh
#define Relu            edf_relu
#define Add             edf_add
#define Sub             edf_sub
#define Mul             edf_mul
#define Sum             edf_sum
#define Mean            edf_mean
#define Softmax         edf_softmax
#define LogLoss         edf_log_loss
#define Exp             edf_exp
#define Log             edf_log
#define Square          edf_square
#define Div             edf_div
#define SoftmaxLogLoss  edf_softmax_log_loss
#define Sqrt            edf_sqrt
#define BCELoss         edf_bce_loss
#define MSE             edf_mse
#define MaskedMean      edf_masked_mean
#define Dropout         edf_dropout
#define Reshape         edf_reshape
#define Momentum        edf_momentum
#define RMSProp         edf_rmsprop
#define Adam            edf_adam
#define AdamDefault     edf_adam_default
#define AdamW           edf_adamw
#endif

/* MIT licence. Copyright (c) 2026 the edf.h authors

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
