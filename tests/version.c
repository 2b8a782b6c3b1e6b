/* Files of an older version load: a model and an array that version 1.3 wrote, in float and in
   double, have every bit that was written. See tests/files13/made.c, which wrote them.

   Built as: float double none sanitized */
#define HARNESS_CATCH
#include "harness.h"
#include "files13/made.h"

#define FOLDER "tests/files13/"

/* What a number has become in a file of this type, and here. */
static edf_real written(int is_double, double x) {
  return is_double ? (edf_real)x : (edf_real)(float)x;
}

static void same(const char *what, const edf_real *x, size_t n, int array, int is_double) {
  CHECK(x, "%s is not there", what);
  for (size_t i = 0; x && i < n; i++) {
    edf_real expected = written(is_double, made_number(array, i));
    CHECK(!memcmp(&x[i], &expected, sizeof expected), "%s[%zu] is %a, expected %a", what, i,
          (double)x[i], (double)expected);
  }
}

static void load_model(const char *path, int is_double) {
  static const char *const parts[] = { "", ".m", ".s" };
  int remembered = 0, statistics = 0;
  char what[64];
  made_graph();
  edf_load(path);
  for (int k = 0; k < edf.n_parameters; k++) {
    edf_node *p = edf.parameters[k];
    int part, last = p->m ? PART_S : PART_VALUE;
    for (part = PART_VALUE; part <= last; part++) {
      snprintf(what, sizeof what, "%s%s", p->name, parts[part]);
      same(what, made_part(p, part), p->size, 3 * k + part, is_double);
    }
    CHECK(p->steps == (p->m ? made_steps(k) : 0), "%s.steps is %ld", p->name, p->steps);
    remembered += p->m != NULL;
    statistics += p->m == NULL && p->s == NULL;
  }
  CHECK(remembered == 6 && statistics == 2, "%d remember, %d do not", remembered, statistics);
  CHECK(edf.seed == MADE_SEED && edf.draws == MADE_DRAWS, "seed %llu, draws %llu", edf.seed,
        edf.draws);
  edf_clear();
}

static void model_in_float(void) { load_model(FOLDER "float.safetensors", 0); }
static void model_in_double(void) { load_model(FOLDER "double.safetensors", 1); }

static void load_array(const char *path, int is_double) {
  edf_array a = edf_load_npy(path);
  CHECK(a.rank == 2 && a.dim[0] == NPY_ROWS && a.dim[1] == NPY_COLUMNS, "rank %d", a.rank);
  same(path, a.value, NPY_ROWS * NPY_COLUMNS, -1, is_double);
  edf_free_array(&a);
}

static void array_in_float(void) { load_array(FOLDER "float.npy", 0); }
static void array_in_double(void) { load_array(FOLDER "double.npy", 1); }

/* The loaded model trains on: its numbers are not only there, they are where they are used. */
static void training_goes_on(void) {
  edf_node *loss = made_graph();
  edf_load(FOLDER "float.safetensors");
  for (int k = 0; k < edf.n_parameters; k++) {
    edf_node *p = edf.parameters[k];
    for (size_t i = 0; i < p->size; i++) p->value[i] = (edf_real)(k + 1) / 8;
    edf_push(p);
  }
  made_step(loss);
  for (int k = 0; k < edf.n_parameters; k++) {
    edf_node *p = edf.parameters[k];
    CHECK(p->steps == (p->m ? made_steps(k) + 1 : 0), "%s.steps is %ld", p->name, p->steps);
  }
  edf_clear();
}

int main(void) {
  RUN(model_in_float);
  RUN(model_in_double);
  RUN(array_in_float);
  RUN(array_in_double);
  RUN(training_goes_on);
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
  return harness_report();
}
