/* export.h - saves a node as an ONNX model, and beside it what check.py needs: DIR/3.onnx,
   DIR/3.txt with a text about it, and DIR/3/ or, with other rows, DIR/3.5/, with the Inputs and
   the output y as .npy files. The program's environment has EXPORT_TO=DIR. */
#ifndef EXPORT_H
#define EXPORT_H
#include "harness.h"
#include "edf/data.h"
#include "edf/onnx.h"
#include "edf/slide.h"

static int exported;

static inline void export_rows(const char *rows, edf_node *y) {
  const char *to = edf_fmt("%s/%d%s", getenv("EXPORT_TO"), exported, rows);
  mkdir(to, 0777);
  for (int i = 0; i < edf.n_inputs; i++)
    if (edf.inputs[i]->fed >= 0)
      edf_save_npy(edf_fmt("%s/%s.npy", to, edf.inputs[i]->name), edf_view(edf.inputs[i]));
  edf_save_npy(edf_fmt("%s/is.npy", to), edf_view(y));
}
static inline void export_node(const char *text, edf_node *y) {
  FILE *f = fopen(edf_fmt("%s/%d.txt", getenv("EXPORT_TO"), ++exported), "w");
  if (!f) abort();
  fputs(text, f);
  fclose(f);
  edf_save_onnx(edf_fmt("%s/%d.onnx", getenv("EXPORT_TO"), exported), y);
  export_rows("", y);
}
#endif
