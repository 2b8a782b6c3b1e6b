/* edf/lab.h - v4.0 - the laboratory of edf.h: tools that look at a program while it learns

   A companion of edf.h. It includes edf/doctor.h, edf/slide.h and edf/data.h, and uses only
   public names of edf.h. EDF_IMPLEMENTATION, in exactly one file, compiles its code too.
   edf_clear frees its memory. With EDF_NO_DEBUG all calls do nothing.
   MIT licence, like edf.h. Search for >>plot, >>trace, >>dot. */
#if !defined(EDF_SLIDE_4_H) || \
    (defined(EDF_IMPLEMENTATION) && !defined(EDF_LINKED) && !defined(EDF_SLIDE__IMPLEMENTED))
#include "slide.h"
#endif
#if !defined(EDF_DATA_4_H) || \
    (defined(EDF_IMPLEMENTATION) && !defined(EDF_LINKED) && !defined(EDF_DATA__IMPLEMENTED))
#include "data.h"
#endif
#if !defined(EDF_DOCTOR_4_H) || \
    (defined(EDF_IMPLEMENTATION) && !defined(EDF_LINKED) && !defined(EDF_DOCTOR__IMPLEMENTED))
#include "doctor.h"
#endif
#ifndef EDF_LAB_4_H
#define EDF_LAB_4_H
#ifdef EDF_LAB_H
#error "edf_lab.h is version 3.0, and edf/lab.h is version 4.0: include only edf/lab.h"
#include "edf/lab.h: two versions"
#elif EDF_VERSION != 400
#error "edf/lab.h is version 4.0, and edf.h is another version: use one version of both"
#include "edf/lab.h: another version"    /* This file does not exist: a compiler stops here.  */
#endif

#ifdef __cplusplus
extern "C" {
#endif
/* Adds a value to a curve. The curves loss/train and loss/test share the chart loss. A value is
   drawn at the x of the newest value in its chart, so a test loss once an epoch is at the step
   of its training loss. For a logarithmic axis plot log10(value). edf_plot_svg draws all
   charts. The y axis includes 0. A value that is not finite leaves a gap. edf_clear forgets the
   curves. Errors: no name, a name of more than 79 characters, more than 100 curves, a file that
   cannot be written. */
void edf_plot(const char *name, double value);
void edf_plot_svg(const char *path);

/* Writes all values and gradients of a step as JSON, or as a script if the path ends with .js.
   Call it after Backward. The playground shows the file: make playground, open
   build/playground.html in a browser, and drop the file on it. The file has at most 2 MB.
   A large tensor is cut to its first entries along each index.
   Errors: no Forward so far, a file that cannot be written. */
void edf_write_trace(const char *path);

/* Writes the graph for Graphviz: dot -Tsvg graph.dot > graph.svg */
void edf_write_dot(const char *path);

#ifdef EDF_NO_DEBUG
#define edf_plot(name, value)         ((void)(name), (void)(value))
#define edf_plot_svg(path)            ((void)(path))
#define edf_write_trace(path)         ((void)(path))
#define edf_write_dot(path)           ((void)(path))
#endif
#ifdef __cplusplus
}
#endif
#endif /* EDF_LAB_4_H */

#if defined(EDF_IMPLEMENTATION) && !defined(EDF_LINKED) && !defined(EDF_LAB__IMPLEMENTED)
#define EDF_LAB__IMPLEMENTED
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifndef EDF_NO_DEBUG
/* Returns the number of a node, by which edf_doctor__nth finds it. */
static int edf_lab__number_of(const edf_node *x) {
  int before = x->kind == EDF_INPUT ? 0 : edf.n_inputs;
  return x->position + before + (x->kind == EDF_COMPNODE ? edf.n_parameters : 0);
}

/* Writes the page to a file, and frees the page. */
static void edf_lab__write_file(const char *who, const char *path, edf_page *page) {
  edf_writer w = edf_create_file(who, path);
  fputs(page->at, w.file);
  edf_finish_file(&w);
  edf_release(page->at);
}

/* ==== >>plot  Curves ====================================================================== */
/* A program may switch graphs. The edf_clear of the one that plotted first frees the values. */
enum { EDF_LAB__CURVES = 100 };
typedef struct edf_lab__curve {
  char name[80];                         /* "chart/curve", or only "chart"                    */
  double *point;                         /* x and y of each value                             */
  size_t n;                              /* number of values; 0 if the curve is unused        */
  struct edf_lab__curve *chart;          /* the first curve of its chart, which has           */
  double newest;                         /* the x of the last value of the chart              */
  double least;                          /* the least y of the chart, or 0                    */
  double greatest;                       /* the greatest y of the chart, or 0                 */
} edf_lab__curve;

static edf_lab__curve edf_lab__curves[EDF_LAB__CURVES + 1];          /* The last is unused.   */
static void (*edf_lab__before_curves)(edf_event event, edf_node *x);

static void edf_lab__curves_told(edf_event event, edf_node *x) {
  if (edf_lab__before_curves) edf_lab__before_curves(event, x);
  if (event != EDF_CLEARED) return;
  for (edf_lab__curve *c = edf_lab__curves; c->n; c++) EDF_FREE(c->point);
  memset(edf_lab__curves, 0, sizeof edf_lab__curves);
}

void edf_plot(const char *name, double y) {
  edf_lab__curve *c = edf_lab__curves, *chart = c;
  size_t length = name ? strlen(name) : 0, n = length ? strcspn(name, "/") : 0;
  while (length && c->n && strcmp(c->name, name)) c++;
  if (!length || length >= sizeof c->name || c == edf_lab__curves + EDF_LAB__CURVES)
    edf_stop("edf_plot: at most 100 curves, each with a name of 1 to 79 characters");
  if (!(c->n & (c->n - 1))) {            /* The memory is full: 0, 1, 2, 4 ... values.        */
    double *point = (double *)EDF_MALLOC(4 * (c->n + 1) * sizeof *point);
    if (!point) edf_stop("edf_plot: out of memory");
    if (c->n) memcpy(point, c->point, 2 * c->n * sizeof *point);
    if (c->n) EDF_FREE(c->point);
    c->point = point;
  }
  if (!edf_lab__curves->n) {             /* It is the first value.                            */
    edf_lab__before_curves = edf.told;
    edf.told = edf_lab__curves_told;
  }
  memcpy(c->name, name, length + 1);
  while (strcspn(chart->name, "/") != n || memcmp(chart->name, name, n)) chart++;
  c->chart = chart;
  chart->newest = fmax(chart->newest, (double)c->n + 1);
  if (fabs(y) < 1e300) chart->least = fmin(chart->least, y);
  if (fabs(y) < 1e300) chart->greatest = fmax(chart->greatest, y);
  c->point[2 * c->n] = chart->newest;
  c->point[2 * c->n++ + 1] = y;
}

/* Writes a text with the escapes of XML. */
static void edf_lab__write_text(edf_page *out, const char *style, double x, double y,
                                const char *text) {
  edf_write(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", style, x, y);
  for (; *text; text++)
    if (strchr("&<>", *text)) edf_write(out, "&#%d;", *text);
    else edf_write(out, "%c", *text > 0 && *text < ' ' ? ' ' : *text);
  edf_write(out, "</text>\n");
}

/* Returns the distance of ticks: 1, 2 or 5 times a power of ten, at most 6 in a range. */
static double edf_lab__tick(double range) {
  double power = pow(10.0, floor(log10(range / 5)));
  double n = range / power;
  return power * (n <= 5 ? 1 : n <= 10 ? 2 : n <= 25 ? 5 : 10);
}

/* Writes a chart of 610 by 200 pixels. At most 600 means of a curve are drawn. A value that is
   not finite leaves a gap, and h0 is a dot. */
static void edf_lab__write_chart(edf_page *out, const edf_lab__curve *chart, double top) {
  static const char *const colour[] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00" };
  double range = chart->greatest - chart->least;
  double tick = edf_lab__tick(range > 1e-300 ? range : 1);
  double least = floor(chart->least / tick + 1e-9) * tick;
  double most = ceil(chart->greatest / tick - 1e-9) * tick;
  if (!(most > least)) most = least + tick;
  double wide = 610 / fmax(chart->newest - 1, 1.0), high = 200 / (most - least);
  double step = fmax(1.0, edf_lab__tick(fmax(chart->newest - 1, 1.0)));
  int n = (int)strcspn(chart->name, "/"), k = 0;
  char text[sizeof chart->name + 32];
  snprintf(text, sizeof text, "%.*s", n, chart->name);
  edf_lab__write_text(out, "title", 70, top - 12, text);
  for (double y = least; y <= most + tick / 2; y += tick) {
    edf_write(out, "<path class=\"grid\" d=\"M70 %.1fh610\"/>\n", top + high * (most - y));
    edf_format(text, sizeof text, "%.4g", fabs(y) < tick / 2 ? 0 : y);
    edf_lab__write_text(out, "y", 62, top + high * (most - y) + 4, text);
  }
  for (double x = 1, next; x <= chart->newest; x = next) {     /* 1, round ones, the last     */
    edf_format(text, sizeof text, "%.4g", x);
    edf_lab__write_text(out, "x", 70 + wide * (x - 1), top + 218, text);
    next = (floor(x / step) + 1) * step;
    if (x < 2 && next < 1 + step / 2) next += step;
    if (next > chart->newest - step / 2 && x < chart->newest) next = chart->newest;
  }
  edf_lab__write_text(out, "x", 375, top + 236, "number of the value, such as the epoch");
  for (const edf_lab__curve *c = chart; c->n; c++) {
    size_t each = (c->n + 599) / 600;
    int is_gap = 1;
    if (c->chart != chart) continue;
    edf_write(out, "<path fill=\"none\" stroke=\"%s\" d=\"", colour[k % 5]);
    for (size_t from = 0, i; from < c->n; from = i) {
      double y = 0, x = 70 + wide * (c->point[2 * from] - 1);
      for (i = from; i < c->n && i < from + each; i++) y += c->point[2 * i + 1];
      y /= (double)(i - from);
      if (fabs(y) < 1e300)
        edf_write(out, "%c%.1f %.1f%s", is_gap ? 'M' : 'L', x, top + high * (most - y),
                  is_gap ? "h0" : "");
      is_gap = !(fabs(y) < 1e300);
    }
    edf_write(out, "M520 %.1fh22\"/>\n", top + 10 + 18 * k);
    const char *name = c->name[n] ? c->name + n + 1 : c->name;
    edf_format(text, sizeof text, "%.79s  %.4g", name, c->point[2 * c->n - 1]);
    edf_lab__write_text(out, "curve", 550, top + 14 + 18 * k++, text);
  }
}

void edf_plot_svg(const char *path) {
  edf_page page = { NULL, 0 }, charts = { NULL, 0 };
  int n = 0;
  for (const edf_lab__curve *c = edf_lab__curves; c->n; c++)
    if (c->chart == c) edf_lab__write_chart(&charts, c, 40 + 280 * n++);
  edf_write(&page, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 %d\" "
            "width=\"720\" height=\"%d\">\n<style>svg{font:13px sans-serif;background:#fff;"
            "fill:#222}.y{text-anchor:end}.x{text-anchor:middle}"
            ".title{font-size:16px;font-weight:bold}.grid{stroke:#8884}path{stroke-width:2;"
            "stroke-linecap:round}@media(prefers-color-scheme:dark){svg{background:#181818;"
            "fill:#ddd}}</style>\n%s</svg>\n", 60 + 280 * n, 60 + 280 * n,
            charts.at ? charts.at : "<text y=\"40\">nothing was plotted: edf_plot</text>\n");
  edf_release(charts.at);
  edf_lab__write_file("edf_plot_svg", path, &page);
}

/* ==== >>trace  The state at the end of a step ============================================= */
/* Writes the first `most` entries of v along each index of x. */
static void edf_lab__write_numbers(edf_page *to, const char *key, const edf_node *x,
                                   const edf_real *v, int most) {
  edf_write(to, ",\n\"%s\":[", key);
  for (size_t i = 0, n = 0; i < x->size; i++) {
    size_t rest = i;
    int shown = 1;
    for (int d = x->rank - 1; d >= 0; d--) {
      shown &= (int)(rest % (size_t)x->dim[d]) < most;
      rest /= (size_t)x->dim[d];
    }
    if (!shown) continue;
    double number = (double)v[i];
    const char *comma = n++ ? "," : "";
    if (number - number == 0) edf_write(to, "%s%.6g", comma, number);
    else edf_write(to, "%s\"%s\"", comma, number != number ? "NaN" : number < 0 ? "-Infinity"
                   : "Infinity");
  }
  edf_write(to, "]");
}

/* Writes printed lines of a node as strings. */
static void edf_lab__write_lines(edf_page *to, const char *key, const edf_node *y,
                                 edf_part part) {
  edf_page text = { NULL, 0 };
  edf_write_node(&text, y, part);
  edf_write(to, ",\"%s\":[", key);
  for (const char *c = text.at, *end; c && *c; c = end + (*end == '\n')) {
    c += strspn(c, " ");
    end = c + strcspn(c, "\n");
    if (to->at[to->n - 1] != '[') edf_write(to, ",");
    edf_write_quoted(to, c, (size_t)(end - c));
  }
  edf_write(to, "]");
  edf_release(text.at);
}

/* Writes an equation as JSON. An index is its name, its size, and 1 if it is on the left. A
   position is its constant, and pairs of index and factor, or of -1 and a lookup's tensor. */
static void edf_lab__write_equation(edf_page *to, const edf_node *y) {
  const edf_contraction *m = edf_contraction_of(y);
  const edf_equation *e = &m->e;
  int kind = m->outside != 0 ? '-' : m->kind ? m->kind : '0';
  edf_write(to, "{\"kind\":\"%c\",\"index\":[", kind);
  for (int i = 0; i < e->n_index; i++) {
    edf_write(to, i ? ",[" : "[");
    edf_write_quoted(to, e->index[i].name, strlen(e->index[i].name));
    edf_write(to, ",%ld,%d]", (long)m->extent[i], e->index[i].left);
  }
  edf_write(to, "],\"ref\":[");
  for (const edf_ref *r = e->ref; r < e->ref + e->n_ref; r++) {
    edf_write(to, r > e->ref ? ",[%d,[" : "[%d,[", r->operand);
    for (int d = 0; d < r->rank; d++) {
      edf_write(to, d ? ",[%d" : "[%d", r->place[d].constant);
      if (r->place[d].by) edf_write(to, ",-1,%d", r->place[d].by);
      for (int i = 0; i < e->n_index; i++)
        if (r->place[d].factor[i]) edf_write(to, ",%d,%d", i, r->place[d].factor[i]);
      edf_write(to, "]");
    }
    edf_write(to, "]]");
  }
  edf_write(to, "],\"term\":[");
  for (const edf_term *t = e->term; t < e->term + e->n_term; t++)
    edf_write(to, t > e->term ? ",[%.9g,%d,%d]" : "[%.9g,%d,%d]", edf_coefficient(t),
              t->first, t->n);
  edf_write(to, "]}");
}

/* Writes the number that prints show, and the heading. Nodes with the same `group` have the
   same heading. */
static void edf_lab__write_heading(edf_page *to, const edf_node *x, int group) {
  edf_write(to, ",\"number\":%d,\"group\":%d", x->position, group);
  edf_page text = { NULL, 0 };
  const char *step = edf_folded_step(x);
  edf_write_heading(&text, x);
  if (text.n) edf_write(to, ",\"heading\":");
  if (text.n) edf_write_quoted(to, text.at, text.n);
  edf_release(text.at);
  if (step) edf_write(to, ",\"folded\":");
  if (step) edf_write_quoted(to, step, strlen(step));
}

static void edf_lab__trace_node(edf_page *to, edf_node *x, int group, int most) {
  const char *text[] = { x->op, edf_label(x), x->file };
  edf_write(to, "{\"kind\":%d,\"row\":%d", (int)x->kind, x->line);
  for (int k = 0; k < 3; k++) {
    edf_write(to, ",\"%s\":", k == 0 ? "op" : k == 1 ? "name" : "file");
    edf_write_quoted(to, text[k], strlen(text[k]));
  }
  edf_write(to, ",\"dim\":[");
  for (int d = 0; d < x->rank; d++) edf_write(to, d ? ",%d" : "%d", x->dim[d]);
  edf_write(to, "],\"in\":[");
  for (int k = 0; k < x->n_in; k++)
    edf_write(to, k ? ",%d" : "%d", edf_lab__number_of(x->in[k]));
  edf_write(to, "]");
  if (x->kind == EDF_COMPNODE) {
    int is_lookup = x->about && !strcmp(x->about->name, "Lookup");   /* unknown to the page */
    int equation = !is_lookup && edf_contraction_of(x);
    edf_lab__write_heading(to, x, group);
    edf_lab__write_lines(to, "line", x, EDF_FORWARD_LINE);
    if (x->backward && x->reached)
      edf_lab__write_lines(to, "back", x, EDF_BACKWARD_LINES);
    edf_write(to, equation ? ",\"eq\":" : x->about ? ",\"f\":1" : "");
    if (equation) edf_lab__write_equation(to, x);
  }
  int has_value = x->kind == EDF_INPUT ? x->fed >= 0
                : x->kind == EDF_PARAMETER || x->ran == edf.feeds;
  if (has_value && x->active) edf_lab__write_numbers(to, "value", x, edf_value(x), most);
  if (has_value && x->active && x->grad && x->reached)
    edf_lab__write_numbers(to, "grad", x, edf_grad(x), most);
  edf_write(to, "}");
}

static edf_page edf_lab__trace_page(int most) {
  edf_page page = { NULL, 0 };
  int group = 0;
  edf_write(&page, "{\"most\":%d,\"loss\":%d,\"nodes\":[\n", most,
            edf.loss ? edf_lab__number_of(edf.loss) : -1);
  for (int i = 0, n = edf_doctor__n_nodes(); i < n; i++) {
    group += i && !edf_same_heading(edf_doctor__nth(i), edf_doctor__nth(i - 1));
    edf_lab__trace_node(&page, edf_doctor__nth(i), group, most);
    edf_write(&page, i + 1 < n ? ",\n" : "]}");
  }
  return page;
}

/* The file has at most 2 MB. */
void edf_write_trace(const char *path) {
  size_t n = path ? strlen(path) : 0;
  int is_script = n > 3 && !strcmp(path + n - 3, ".js"), most = 1024;
  if (!edf.n_compnodes || !edf.compnodes[0]->value)
    edf_stop("edf_write_trace: there are no values: call Forward and Backward first");
  edf_page page = edf_lab__trace_page(most);
  while (page.n > 1990000 && most > 1) {
    most -= most / 8 + 1;
    edf_release(page.at);
    page = edf_lab__trace_page(most);
  }
  edf_page all = { NULL, 0 };
  edf_write(&all, is_script ? "edf_trace(%s);\n" : "%s\n", page.at);
  edf_release(page.at);
  edf_lab__write_file("edf_write_trace", path, &all);
}

/* ==== >>dot  The graph in Graphviz's language ============================================= */
static void edf_lab__write_dot_node(edf_page *out, const edf_node *x) {
  static const char *const style[] = { "dashed", "\"rounded,dashed\"", "rounded" };
  edf_write(out, "  %c%d [label=\"", "xpc"[x->kind], x->position);
  for (const char *c = edf_label(x); *c; c++)
    if (*c == '\n') edf_write(out, "\\n");
    else edf_write(out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
  edf_write(out, "\\n%s ", x->op);
  edf_write_node(out, x, EDF_SHAPE);
  edf_write(out, "\", style=%s];\n", style[x->kind]);
  for (int k = 0; k < x->n_in; k++)
    edf_write(out, "  %c%d -> %c%d;\n", "xpc"[x->in[k]->kind], x->in[k]->position,
              "xpc"[x->kind], x->position);
}

void edf_write_dot(const char *path) {
  edf_page page = { NULL, 0 };
  edf_write(&page, "digraph edf {\n  rankdir=LR;\n  node [shape=box, fontname=monospace];\n");
  for (int i = 0; i < edf_doctor__n_nodes(); i++)
    edf_lab__write_dot_node(&page, edf_doctor__nth(i));
  edf_write(&page, "}\n");
  edf_lab__write_file("edf_write_dot", path, &page);
}
#endif /* EDF_NO_DEBUG */

#ifdef __cplusplus
}
#endif
#endif
