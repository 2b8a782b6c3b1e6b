/* read.c - a program for formats.sh.
     read KIND PATH                      prints the shape and the numbers of a file
     read csv-with PATH SEPARATOR HEADING
     read model PATH NAME SHAPE ...      loads Parameters, as in W 2,3; prints values and steps
     read save PATH NAME ...             saves Parameters of two numbers after a step of Adam
     read onnx PATH NAME NAME NAME       exports gelu(x + W), where x, W and the sum have names */
#ifdef WITH_STB
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>
#endif
#include "edf/data.h"
#include "edf/layers.h"
#include "edf/onnx.h"
#include "edf/slide.h"
#include <stdlib.h>
#include <string.h>

static void show(edf_array a) {
  printf("[");
  for (int d = 0; d < a.rank; d++) printf("%s%d", d ? "," : "", a.dim[d]);
  printf("]");
  for (size_t i = 0; i < a.size; i++) printf(" %.17g", (double)a.value[i]);
  printf("\n");
}
static void show_and_free(edf_array a) {
  show(a);
  edf_free_array(&a);
}

static void model(const char *path, int n, char **names) {
  for (int i = 0; i + 1 < n; i += 2)
    edf_name(edf_parameter(*names[i + 1] ? "p[%s]" : "p", names[i + 1]), names[i]);
  edf_load(path);
  for (int i = 0; i < edf.n_parameters; i++) {
    edf_node *p = edf.parameters[i];
    edf_array m = edf_view(p);
    show(m);
    m.value = p->m;
    if (p->m) printf("m ");
    if (p->m) show(m);
    printf("steps %ld\n", p->steps);
  }
}

static void save(const char *path, int n, char **names) {
  edf_node *p = NULL, *sum = NULL;
  for (int i = 0; i < n; i++) {
    p = edf_name(edf_parameter("p[2]"), names[i]);
    p->value[0] = (edf_real)(10 + i);
    p->value[1] = (edf_real)(20 + i);
    sum = sum ? edf_add(sum, edf_square(p)) : edf_square(p);
  }
  edf_forward();
  edf_backward(sum);
  edf_adam_default((edf_real)0.5);
  edf_save(path);
  for (int i = 0; i < n; i++) {
    show(edf_view(edf.parameters[i]));
    edf.parameters[i]->value[0] = edf.parameters[i]->m[0] = 0;
    edf.parameters[i]->steps = 0;
  }
  edf_load(path);
  for (int i = 0; i < n; i++) {
    p = edf.parameters[i];
    show(edf_view(p));
    if (p->m[0] == 0 || p->steps != 1) printf("the memory of \"%s\" is lost\n", p->name);
  }
}

int main(int argc, char **argv) {
  const char *kind = argv[1], *path = argv[2];
  if (argc < 3) return 2;
  if (!strcmp(kind, "idx")) show_and_free(edf_load_idx(path));
  if (!strcmp(kind, "images")) show_and_free(edf_load_images(path));
  if (!strcmp(kind, "labels")) show_and_free(edf_load_labels(path));
  if (!strcmp(kind, "csv")) show_and_free(edf_load_csv(path));
  if (!strcmp(kind, "csv-with")) show_and_free(edf_load_csv_with(path, *argv[3], atoi(argv[4])));
  if (!strcmp(kind, "npy")) show_and_free(edf_load_npy(path));
  if (!strcmp(kind, "image")) show_and_free(edf_load_image(path));
  if (!strcmp(kind, "model")) model(path, argc - 3, argv + 3);
  if (!strcmp(kind, "save")) save(path, argc - 3, argv + 3);
  if (!strcmp(kind, "onnx")) {
    edf_node *x = edf_name(edf_input("x[b,2]"), argv[3]);
    edf_node *W = edf_name(edf_parameter("W[2]"), argv[4]);
    edf_save_onnx(path, edf_gelu(edf_name(edf_add(x, W), argv[5])));
  }
  if (!strcmp(kind, "zeros")) {          /* zeros PATH DIM ...: an array, as .npy or as .png */
    int dim[20];
    for (int d = 3; d < argc && d < 23; d++) dim[d - 3] = atoi(argv[d]);
    edf_array a = edf_new_array(argc - 3, dim);
    for (size_t i = 0; i < a.size; i++) a.value[i] = 0;
    if (strstr(path, ".png")) edf_save_image(path, a);
    else edf_save_npy(path, a);
    edf_free_array(&a);
  }
  edf_clear();
  return 0;
}
