/* fuzz.c - a target of libFuzzer for all parsers; see fuzz.sh. The first byte picks the parser,
   the rest is its text or file. Whatever it is, the parser returns, or stops with a message;
   edf_clear then leaves no memory, and no file is open. What was read has the properties that
   parse() checks. The environment's FUZZ_PARSER keeps to one parser, and FUZZ_DIR is the place
   for files. */

#include "harness.h"
#define EDF_IMPLEMENTATION
#include "edf.h"
#include "edf/data.h"
#include "edf/slide.h"
#include <stdint.h>

enum { EQUATION, PROGRAM, CSV, IDX, NPY, PICTURE, MODEL, PARSERS };

#define TENSOR(name, shape, offsets) \
  "\"" name "\":{\"dtype\":\"F32\",\"shape\":[" shape "],\"data_offsets\":[" offsets "]}"

static const struct { char parser; const char *bytes; size_t n; } seeds[] = {
  { EQUATION, BYTES("y[b,j] = W[I,j] x[b,I] - B[j]\nW[3,2]\n?x[b,3]\nB[2]") },
  { EQUATION, BYTES("y[b,i,k] = w[D,C,k] x[b,2*i+D-1,C] | i<4\nw[3,2,2]\n?x[b,8,2]") },
  { PROGRAM, BYTES("input x[b,3]\nh[b,i] = tanh(W[i,J] x[b,J] + c[i]) | i<2\nl = h[B,I]^2") },
  { PROGRAM, BYTES("input x[b,t=4,3]\n"
                   "h[b,t,j] = tanh(R[j,I] h[b,t-1,I] + W[j,K] x[b,t,K]) | j<2") },
  { PROGRAM, BYTES("input x[b,4,2]\n"
                   "a[b,t,s] = softmax_s (x[b,t,C] W[C,D]) x[b,s,D] / sqrt(2) | s<=t\n"
                   "y[b,t,c] = max(a[b,t,S] x[b,S,c], 0)\n") },
  { PICTURE, BYTES("P2 # a\n3 2 5\n0 1 2\n3 4 5\n") },
  { PICTURE, BYTES("P6 1 2 65535\n\2\0\1\0\0\2\2\0\1\0\0\2") },
  { CSV, BYTES("size,\"a b\"\r\n1,-2.5\r\n3e2,4\r\n\r\n") },
  { IDX, BYTES("\0\0\10\3\0\0\0\2\0\0\0\1\0\0\0\3abcdef") },
  { NPY, BYTES("\x93NUMPY\1\0\74\0{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }\n"
               "12345678") },
  { MODEL, BYTES("\217\0\0\0\0\0\0\0{" TENSOR("W", "2,3", "0,24") "," TENSOR("v", "2", "24,32")
                 ",\"__metadata__\":{\"v.steps\":\"3\"}}12345678123456781234567812345678") },
};

static const char *where;                          /* files lie here */
static int only = -1;                              /* the parser, if there is but one */
static FILE *nowhere;

static void write_seeds(void) {
  for (size_t k = 0; k < sizeof seeds / sizeof *seeds; k++) {
    char name[200];
    if (seeds[k].parser != only) continue;
    snprintf(name, sizeof name, "%s/seed%d", where, (int)k);
    FILE *f = fopen(name, "wb");
    if (!f || fputc(only, f) == EOF || fwrite(seeds[k].bytes, 1, seeds[k].n, f) != seeds[k].n)
      abort();
    fclose(f);
  }
}

static void remove_input(void) { remove(path); }

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  where = getenv("FUZZ_DIR") ? getenv("FUZZ_DIR") : ".";
  nowhere = fopen("/dev/null", "w");
  const char *quick = access("/dev/shm", W_OK) ? where : "/dev/shm";
  snprintf(path, sizeof path, "%s/edf-fuzz.%ld", quick, (long)getpid());
  atexit(remove_input);
  if (getenv("FUZZ_PARSER")) only = atoi(getenv("FUZZ_PARSER"));
  if (only >= 0) write_seeds();
  return 0;
}

/* Changes all but the first byte. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t n, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed) {
  if (n == 0) *data = (uint8_t)(seed % PARSERS);
  if (only >= 0) *data = (uint8_t)only;
  return 1 + LLVMFuzzerMutate(data + 1, n ? n - 1 : 0, most - 1);
}

/* An estimate of the work, so that no input runs for a minute: the product of all numbers. */
static double work_of(const char *text) {
  double product = 1;
  for (const char *s = text; *s; s++)
    if (*s >= '0' && *s <= '9' && (s == text || s[-1] < '0' || s[-1] > '9'))
      product *= 1 + atof(s);
  return product;
}

/* Prints the program, and runs it forward and backward with batches of 1 to 3 rows. */
static void run_program(edf_node *y, double work) {
  static edf_real numbers[4096];
  if (edf.n_compnodes < 1000) edf_print_program(nowhere);
  for (int batch = 1; batch <= 3 && work < 1e5; batch++) {
    for (int i = 0; i < edf.n_inputs; i++) {
      edf_node *x = edf.inputs[i];
      size_t entries = (size_t)batch;
      for (int d = 0; d < x->rank; d++) entries *= x->dim[d] ? (size_t)x->dim[d] : 1;
      if (entries > 4096) return;
      edf_feed(x, numbers, x->batched ? batch : x->rank ? x->dim[0] : 1);
    }
    edf_forward();
    edf_backward(y);
  }
}

/* The first line is the equation. Each other line declares an operand, with '?' an Input. */
static void parse_equation(char *text) {
  edf_node *in[4] = { NULL, NULL, NULL, NULL };
  double work = work_of(text);
  char *line = strchr(text, '\n');
  for (int n = 0; n < 4 && line; n++) {
    *line++ = '\0';
    char *end = strchr(line, '\n');
    if (end) *end = '\0';
    if (*line == '?') in[n] = edf_want_grad(edf_input("%s", line + 1));
    else edf_init_uniform(in[n] = edf_parameter("%s", line), -1, 1);
    line = end;
  }
  run_program(edf_einsum(text, in[0], in[1], in[2], in[3]), work);
}

static void load_model(void) {
  edf_parameter("W[2,3]");
  edf_parameter("v[2]");
  edf_load(path);
}

static void parse(int parser, const uint8_t *data, size_t n) {
  static edf_array a;
  static char text[4096];
  if (n >= sizeof text) return;
  memcpy(text, data, n);
  text[n] = '\0';
  if (parser >= CSV) write_bytes(path, text, n);
  switch (parser) {
  case EQUATION: parse_equation(text); break;
  case PROGRAM: run_program(edf_equations("%s", text), work_of(text)); break;
  case CSV: a = edf_load_csv(path); break;
  case IDX: a = edf_load_idx(path); break;
  case NPY: a = edf_load_npy(path); break;
  case PICTURE: a = edf_load_image(path); break;
  default: load_model();
  }
  edf_free_array(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static int fd;
  if (n < 1) return 0;
  fd = lowest_free_fd();
  memory.limit = 1 << 24;
  edf_seed(1);
  TRY(parse(*data % PARSERS, data + 1, n - 1));
  if (panicked && !*caught) abort();
  edf_clear();
  if (memory.live != 0 || lowest_free_fd() != fd) abort();
  return 0;
}
