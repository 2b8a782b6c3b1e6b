/* pictures.h - what the examples draw

     sheet_write_png       a sheet of small images, each with a line of text
     chart_write_svg       curves over 1, 2, 3 ... with axes and a legend

   chart_write_svg returns 0, or prints what went wrong with which file and returns 1. */
#ifndef PICTURES_H
#define PICTURES_H

#include "edf.h"
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *picture_open(const char *path, const char *mode) {
  FILE *file = fopen(path, mode);
  if (!file) fprintf(stderr, "cannot write %s: %s\n", path, strerror(errno));
  return file;
}

/* A full disk shows at the latest when the file is closed. */
static int picture_close(FILE *file, const char *path) {
  int bad = ferror(file);
  if (fclose(file)) bad = 1;
  if (bad) fprintf(stderr, "cannot write all of %s: %s\n", path, strerror(errno));
  return bad != 0;
}

/* ---- A grey picture and what is drawn on it ---- */

typedef struct { int width, height; edf_real *grey; } picture;

static picture picture_new(int width, int height) {       /* white; free picture.grey */
  size_t size = (size_t)width * (size_t)height;
  picture p = { width, height, (edf_real *)malloc(size * sizeof(edf_real)) };
  if (!p.grey) {
    fprintf(stderr, "no memory for a picture of %d x %d\n", width, height);
    exit(1);
  }
  for (size_t i = 0; i < size; i++) p.grey[i] = 1;
  return p;
}

static int picture_within(const picture *p, int x, int y) {
  return x >= 0 && x < p->width && y >= 0 && y < p->height;
}

static void picture_box(picture *p, int x, int y, int side, edf_real grey) {
  for (int dy = 0; dy < side; dy++)
    for (int dx = 0; dx < side; dx++)
      if (picture_within(p, x + dx, y + dy))
        p->grey[(size_t)(y + dy) * (size_t)p->width + (size_t)(x + dx)] = grey;
}

/* The letters, 5 x 7 with a column between them. */
static const char picture_letters[] = "0123456789>.-ABCDEFGHIJKLMNOPQRSTUVWXYZ";
static const char *const picture_font[3][7] = {
  { " ###    #    ###  #####    #  #####   ##  #####  ###   ###  #                ",
    "#   #  ##   #   #    #    ##  #      #        # #   # #   #  #               ",
    "#  ##   #       #   #    # #  ####  #        #  #   # #   #   #              ",
    "# # #   #      #     #  #  #      # ####    #    ###   ####    #         ####",
    "##  #   #     #       # #####     # #   #  #    #   #     #   #              ",
    "#   #   #    #    #   #    #  #   # #   #  #    #   #    #   #     ##        ",
    " ###   ###  #####  ###     #   ###   ###   #     ###   ##   #      ##        " },
  { " ###  ####   ###  ####  ##### #####  ###  #   #  ###    ### #   # #     #   #",
    "#   # #   # #   # #   # #     #     #   # #   #   #      #  #  #  #     ## ##",
    "#   # #   # #     #   # #     #     #     #   #   #      #  # #   #     # # #",
    "##### ####  #     #   # ####  ####  # ### #####   #      #  ##    #     # # #",
    "#   # #   # #     #   # #     #     #   # #   #   #      #  # #   #     #   #",
    "#   # #   # #   # #   # #     #     #   # #   #   #   #  #  #  #  #     #   #",
    "#   # ####   ###  ####  ##### #      ###  #   #  ###   ##   #   # ##### #   #" },
  { "#   #  ###  ####   ###  ####   #### ##### #   # #   # #   # #   # #   # #####",
    "##  # #   # #   # #   # #   # #       #   #   # #   # #   # #   # #   #     #",
    "##  # #   # #   # #   # #   # #       #   #   # #   # #   #  # #   # #     # ",
    "# # # #   # ####  #   # ####   ###    #   #   # #   # # # #   #     #     #  ",
    "#  ## #   # #     # # # # #       #   #   #   #  # #  # # #  # #    #    #   ",
    "#  ## #   # #     #  #  #  #      #   #   #   #  # #  ## ## #   #   #   #    ",
    "#   #  ###  #      ## # #   # ####    #    ###    #   #   # #   #   #   #####" }
};

/* Capitals, figures and > . - ; anything else is a space. */
static void picture_text(picture *p, int x, int y, int scale, const char *text) {
  for (; *text; text++, x += 6 * scale) {
    const char *letter = strchr(picture_letters, *text);
    if (!letter) continue;
    int k = (int)(letter - picture_letters);
    for (int row = 0; row < 7; row++)
      for (int column = 0; column < 5; column++)
        if (picture_font[k / 13][row][k % 13 * 6 + column] == '#')
          picture_box(p, x + column * scale, y + row * scale, scale, 0);
  }
}

/* ---- A sheet of images of 28 x 28 in 0..1, black on white ---- */

typedef struct { const edf_real *pixels; double weight; char text[32]; } sheet_tile;
enum { SHEET_COLUMNS = 10, SHEET_ROWS = 6, SHEET_ZOOM = 3, SHEET_SIDE = 28 * SHEET_ZOOM,
       SHEET_MARGIN = 12, SHEET_TITLE = 44,
       SHEET_STEP_X = SHEET_SIDE + SHEET_MARGIN, SHEET_STEP_Y = SHEET_STEP_X + 20 };

static void sheet_draw(picture *p, int x, int y, const sheet_tile *tile) {
  int width = 12 * (int)strlen(tile->text) - 2;
  for (int i = 0; i < 28; i++)
    for (int j = 0; j < 28; j++)
      picture_box(p, x + j * SHEET_ZOOM, y + i * SHEET_ZOOM, SHEET_ZOOM,
                  1 - tile->pixels[i * 28 + j]);
  picture_text(p, x + (SHEET_SIDE - width) / 2, y + SHEET_SIDE + 4, 2, tile->text);
}

static int sheet_by_weight(const void *a, const void *b) {
  double x = ((const sheet_tile *)a)->weight, y = ((const sheet_tile *)b)->weight;
  return (x < y) - (x > y);
}

/* Sorts the images, the largest weight first, and shows as many as there is room for. */
static void sheet_write_png(const char *path, const char *title, sheet_tile *tile, int n) {
  int room = SHEET_COLUMNS * SHEET_ROWS;
  qsort(tile, (size_t)n, sizeof *tile, sheet_by_weight);
  if (n > room) n = room;
  int rows = (n + SHEET_COLUMNS - 1) / SHEET_COLUMNS;
  picture p = picture_new(SHEET_COLUMNS * SHEET_STEP_X + SHEET_MARGIN,
                          SHEET_TITLE + rows * SHEET_STEP_Y);
  picture_text(&p, SHEET_MARGIN, SHEET_MARGIN, 2, title);
  for (int i = 0; i < n; i++)
    sheet_draw(&p, SHEET_MARGIN + i % SHEET_COLUMNS * SHEET_STEP_X,
               SHEET_TITLE + i / SHEET_COLUMNS * SHEET_STEP_Y, &tile[i]);
  edf_array a = { 2, { p.height, p.width }, (size_t)p.height * (size_t)p.width, p.grey };
  edf_save_image(path, a);
  free(p.grey);
}

/* ---- An SVG chart ---- */

/* Curves of n points at x = 1 .. n; y[i * stride], so that they may be columns of a table. The
   names are put into the file as they are: no < or &. */
typedef struct { const char *name, *colour; const double *y; } chart_curve;
typedef struct {
  const char *title, *x_name, *y_name;
  const chart_curve *curve;
  int n_curves, n;
  size_t stride;
} chart;

#define CHART_LEFT   64              /* the plotted area, with room around it for the names */
#define CHART_TOP    48
#define CHART_WIDTH  560
#define CHART_HEIGHT 320
#define CHART_BOTTOM (CHART_TOP + CHART_HEIGHT)
#define CHART_MIDDLE (CHART_LEFT + CHART_WIDTH / 2)

/* A step of 1, 2 or 5 times a power of ten that divides 0..top into at most 8. */
static double chart_step(double top) {
  double power = pow(10, floor(log10(top / 8)));
  double step = top / 8 / power;
  return power * (step <= 1 ? 1 : step <= 2 ? 2 : step <= 5 ? 5 : 10);
}

static double chart_value(const chart *c, int curve, int i) {
  return c->curve[curve].y[(size_t)i * c->stride];
}

/* The upper end of the y axis; curves that diverged do not count. */
static double chart_top(const chart *c) {
  double top = 1e-9;
  for (int k = 0; k < c->n_curves; k++)
    for (int i = 0; i < c->n; i++)
      if (chart_value(c, k, i) > top && chart_value(c, k, i) < HUGE_VAL)
        top = chart_value(c, k, i);
  return top * 1.05;
}

static double chart_x(const chart *c, double x) {
  return c->n < 2 ? CHART_MIDDLE : CHART_LEFT + CHART_WIDTH * (x - 1) / (c->n - 1);
}

static double chart_y(double y, double top) {
  return CHART_TOP + CHART_HEIGHT * (1 - y / top);
}

static void chart_axes(FILE *file, const chart *c, double top) {
  double step = chart_step(top), x_step = c->n < 12 ? 1 : ceil(chart_step(c->n));
  for (double y = 0; y <= top; y += step) {
    double at = chart_y(y, top);
    fprintf(file, "<path stroke=\"#ddd\" d=\"M%d %.1fh%d\"/>\n", CHART_LEFT, at, CHART_WIDTH);
    fprintf(file, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", CHART_LEFT - 8,
            at + 4, y);
  }
  for (double x = x_step; x <= c->n; x += x_step)
    fprintf(file, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
            chart_x(c, x), CHART_BOTTOM + 20, x);
  fprintf(file, "<path stroke=\"#222\" fill=\"none\" d=\"M%d %dV%dh%d\"/>\n", CHART_LEFT,
          CHART_TOP, CHART_BOTTOM, CHART_WIDTH);
}

static void chart_names(FILE *file, const chart *c) {
  fprintf(file, "<g text-anchor=\"middle\">\n");
  fprintf(file, "<text x=\"%d\" y=\"28\" font-size=\"16\">%s</text>\n", CHART_MIDDLE,
          c->title);
  fprintf(file, "<text x=\"%d\" y=\"%d\">%s</text>\n", CHART_MIDDLE, CHART_BOTTOM + 42,
          c->x_name);
  fprintf(file, "<text transform=\"translate(20 %d) rotate(-90)\">%s</text>\n</g>\n",
          CHART_TOP + CHART_HEIGHT / 2, c->y_name);
}

static void chart_draw(FILE *file, const chart *c, int k, double top) {
  const char *colour = c->curve[k].colour;
  int x = CHART_LEFT + CHART_WIDTH - 150, y = CHART_TOP + 20 + 22 * k;
  fprintf(file, "<g stroke=\"%s\" stroke-width=\"2\">\n<path d=\"M%d %dh24\"/>\n"
          "<polyline fill=\"none\" points=\"", colour, x, y);
  for (int i = 0; i < c->n; i++)
    fprintf(file, "%.1f,%.1f ", chart_x(c, i + 1), chart_y(chart_value(c, k, i), top));
  fprintf(file, "\"/>\n</g>\n<g fill=\"%s\">\n", colour);
  for (int i = 0; i < c->n; i++)
    fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>", chart_x(c, i + 1),
            chart_y(chart_value(c, k, i), top));
  fprintf(file, "\n</g>\n<text x=\"%d\" y=\"%d\">%s</text>\n", x + 32, y + 4,
          c->curve[k].name);
}

static int chart_write_svg(const char *path, const chart *c) {
  int width = CHART_LEFT + CHART_WIDTH + 24, height = CHART_BOTTOM + 60;
  double top = chart_top(c);
  FILE *file = picture_open(path, "w");
  if (!file) return 1;
  fprintf(file, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
          "height=\"%d\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#222\">\n",
          width, height, width, height);
  fprintf(file, "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n", width, height);
  chart_axes(file, c, top);
  chart_names(file, c);
  for (int k = 0; k < c->n_curves; k++) chart_draw(file, c, k, top);
  fprintf(file, "</svg>\n");
  return picture_close(file, path);
}

#endif /* PICTURES_H */
