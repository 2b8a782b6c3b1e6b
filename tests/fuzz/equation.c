/* Fuzzes declarations and equations; see fuzz.sh. The first line is the equation, each further
   line declares an operand, an Input if it begins with '?':
     y[b,j] = W[I,j] x[b,I]
     W[3,2]
     ?x[b,3] */

#include "fuzz.h"
#include "edf.h"

static char text[4096];
static edf_real data_of_inputs[4096];
static FILE *nowhere;

/* An estimate of the work, so that no input runs for a minute: the product of all numbers */
static double work(void) {
  double product = 1;
  for (const char *s = text; *s; s++)
    if (*s >= '0' && *s <= '9' && (s == text || s[-1] < '0' || s[-1] > '9'))
      product *= 1 + atof(s);
  return product;
}

static edf_node *operand(const char *declaration) {
  if (*declaration == '?') return edf_want_grad(edf_input("%s", declaration + 1));
  edf_node *p = edf_parameter("%s", declaration);
  edf_init_uniform(p, -1, 1);
  return p;
}

static void feed_inputs(int batch) {
  for (int i = 0; i < edf.n_inputs; i++) {
    edf_node *x = edf.inputs[i];
    size_t entries = 1;
    for (int d = 0; d < x->rank; d++)                        /* dim[0] may be the last batch */
      entries *= (size_t)(x->batched >> d & 1 ? batch : x->dim[d]);
    if (entries > 4096) harness_panic("too large for this test");
    edf_feed(x, data_of_inputs, x->batched ? batch : 1);
  }
}

static void build_and_run(void) {
  edf_node *in[4] = { NULL, NULL, NULL, NULL }, *y;
  double effort = work();
  char *line = strchr(text, '\n');
  for (int n = 0; n < 4 && line; n++) {
    char *end;
    *line++ = '\0';
    end = strchr(line, '\n');
    if (end) *end = '\0';
    in[n] = operand(line);
    if (end) *end = '\n';
    line = end;
  }
  if (line) *line = '\0';
  y = edf_einsum(text, in[0], in[1], in[2], in[3]);
  edf_print_program(nowhere);
  if (effort > 1e5) return;
  for (int batch = 1; batch <= 3; batch++) {
    feed_inputs(batch);
    edf_forward();
    edf_backward(y);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  if (n >= sizeof text) return 0;
  if (!nowhere) nowhere = fopen("/dev/null", "w");
  memcpy(text, data, n);
  text[n] = '\0';
  memory.limit = 1 << 26;
  if (setjmp(panicked) == 0) build_and_run();
  edf_clear();
  if (memory.live != 0) abort();
  return 0;
}
