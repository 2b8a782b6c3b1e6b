/* slides.c - the course's texts, or the puzzles, on a GPU: -DSLIDES="\"../course_lines.c\"".
   Each is compared with plain loops, as on the CPU. Before, each is trained for four steps, so
   that its passes run plain, are recorded and are replayed. A line for each tensor of a text has
   its values and the gradients of all steps. cuda.sh compares the lines with the CPU's. */
#include "harness.h"
#include "edf/slide.h"
static void print_slide(const char *text, edf_node *y);
#define PLAIN_EXPORT print_slide
#include SLIDES

static void print_numbers(const edf_real *v, size_t n) {
  for (size_t i = 0; i < n; i++) printf(" %.17g", (double)v[i]);
}
static void print_steps(edf_node *y) {
  static edf_node *loss;
  loss = edf_mean(edf_square(y));
  for (int step = 0; step < 4; step++) {
    edf_forward();
    print_numbers(edf_value(y), y->size);
    TRY(edf_backward(loss));
    if (panicked) return;                /* It has no gradient.                               */
    for (int i = 0; i < edf.n_inputs + edf.n_parameters; i++) {
      edf_node *x = i < edf.n_inputs ? edf.inputs[i] : edf.parameters[i - edf.n_inputs];
      const edf_real *grad = edf_grad(x);
      if (grad) print_numbers(grad, x->size);
    }
    edf_sgd((edf_real)0.01);
  }
}
/* The Parameters have their first numbers again afterwards. */
static void print_slide(const char *text, edf_node *y) {
  static int n;
  (void)text;
  printf("%d:%s:%s", ++n, harness.name, y->name);
  print_steps(y);
  printf("\n");
  for (const array *a = slide.leaf; a < slide.leaf + slide.leaves; a++) {
    if (a->node->kind != EDF_PARAMETER) continue;
    memcpy(edf_value(a->node), a->given, a->n * sizeof *a->given);
    edf_push(a->node);
  }
  edf_forward();
}
