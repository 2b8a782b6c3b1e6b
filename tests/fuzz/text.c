/* Fuzzes whole texts for edf_equations; see fuzz.sh. The first byte chooses a slide of texts.h,
   whose tensors are declared; the rest is the text. Behind an error the graph is as before, and
   a right text computes what it did. Half of the changes are of whole tokens: one goes, stands
   twice, or comes from another slide. */

#include "fuzz.h"
#include <math.h>
#include "edf.h"
#include "../texts.h"

enum { N_SLIDES = sizeof slides / sizeof *slides };
static char text[4096];
static FILE *nowhere;
static double expected;

size_t LLVMFuzzerMutate(uint8_t *data, size_t n, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static size_t word(const char *s, size_t n) {
  size_t k = 0;
  while (k < n && (s[k] == '_' || s[k] == '\'' || s[k] & 0x80 || (s[k] >= '0' && s[k] <= '9')
                   || (s[k] >= 'A' && s[k] <= 'Z') || (s[k] >= 'a' && s[k] <= 'z'))) k++;
  return k ? k : n > 0;
}
static unsigned drawn(unsigned *seed, size_t n) {
  *seed = *seed * 1664525u + 1013904223u;
  return n ? (*seed >> 8) % (unsigned)n : 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed) {
  if (seed % 2 || n < 2) return LLVMFuzzerMutate(data, n, most);
  for (unsigned k = 0; k <= seed / 2 % 3; k++) {
    const char *from = slides[drawn(&seed, N_SLIDES)].text, *with;
    char *at = (char *)data + 1 + drawn(&seed, n - 1), *end = (char *)data + n;
    unsigned kind = drawn(&seed, 4);
    with = from + drawn(&seed, strlen(from));
    size_t gone = kind == 3 ? 0 : word(at, (size_t)(end - at));
    size_t comes = word(with, strlen(with));
    if (kind == 0) comes = 0;
    if (kind == 1) { with = at; comes = gone; gone = 0; }
    if (n - gone + comes > most) continue;
    char token[4096];
    memcpy(token, with, comes);
    memmove(at + comes, at + gone, (size_t)(end - at) - gone);
    memcpy(at, token, comes);
    n += comes - gone;
  }
  return n;
}

/* All numbers that there are, in their order. */
static double digest(void) {
  double sum = 0;
  for (int p = 0; p < edf.n_inputs + edf.n_parameters; p++) {
    edf_node *x = p < edf.n_inputs ? edf.inputs[p] : edf.parameters[p - edf.n_inputs];
    for (size_t i = 0; x->value && i < x->size; i++)
      sum += (double)(i + 1) * (double)x->value[i];
  }
  return sum;
}

static double right_text(void) {
  static const edf_real numbers[6] = { 1, 2, 3, 4, 5, 6 };
  edf_node *y = edf_equations("input right[b,3]\nr[b,i] = tanh(Wr[i,J] right[b,J]) | i<2");
  edf_feed(edf_find("right"), numbers, 2);
  edf_forward_to(y);
  double sum = 0;
  for (size_t i = 0; i < y->size; i++) sum += (double)(i + 1) * (double)y->value[i];
  edf_node *W = edf_find("Wr");
  for (size_t i = 0; i < W->size; i++) sum += (double)W->value[i];
  return sum;
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc; (void)argv;
  nowhere = fopen("/dev/null", "w");
  if (setjmp(panicked)) abort();
  edf_seed(7);
  declare("x[b,3]", 2);
  expected = right_text();
  edf_clear();
  for (size_t k = 0; k < N_SLIDES; k++) {
    char path[64];
    snprintf(path, sizeof path, "build/fuzz/text/slide%zu", k);
    FILE *f = fopen(path, "wb");
    if (!f) return 0;
    fprintf(f, "%c%s", (int)k, slides[k].text);
    fclose(f);
  }
  return 0;
}

static int small(void) {
  double work = 0;
  for (int i = 0; i < edf.n_compnodes; i++) work += (double)edf.compnodes[i]->size;
  for (const char *s = text; *s; s++)          /* what a bound makes longer is in no node */
    if (*s >= '0' && *s <= '9' && (s == text || s[-1] < '0' || s[-1] > '9'))
      work *= 1 + (atof(s) > 9 ? atof(s) : 0);
  return work < 1e5;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static volatile int built, before[3];
  static volatile double numbers;
  if (n < 1 || n >= sizeof text) return 0;
  memcpy(text, data + 1, n - 1);
  text[n - 1] = '\0';
  memory.limit = 1 << 24;
  built = 0;
  edf_seed(7);
  if (setjmp(panicked) == 0) {
    declare(slides[data[0] % N_SLIDES].tensors, 2);
    before[0] = edf.n_inputs;
    before[1] = edf.n_parameters;
    before[2] = edf.n_compnodes;
    numbers = digest();
    edf_node *y = edf_equations("%s", text);
    built = 1;
    if (edf.n_compnodes < 4096) edf_print_program(nowhere);    /* names are looked for in all */
    if (small()) {
      edf_forward();
      edf_backward(y);
    }
    edf_clear_compnodes();
    edf_equations("%s", text);                 /* the same once more */
    edf_forward_to(edf.compnodes[0]);
  } else if (!built) {
    if (before[0] != edf.n_inputs || before[1] != edf.n_parameters
        || before[2] != edf.n_compnodes || numbers != digest()) abort();
    if (setjmp(panicked)) abort();
    memory.limit = 0;
    if (right_text() != expected) abort();
  }
  edf_clear();
  if (memory.live != 0) abort();
  return 0;
}
