/* pictures.h - writes a sheet of small images as a PNG, each image with a line of text */
#ifndef PICTURES_H
#define PICTURES_H

#include "edf/data.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- A grey picture with squares and text ---- */

typedef struct { int width, height; edf_real *grey; } picture;

/* Returns a white picture. The caller frees picture.grey. */
static picture picture_new(int width, int height) {
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

static void picture_square(picture *p, int x, int y, int side, edf_real grey) {
  for (int dy = 0; dy < side; dy++)
    for (int dx = 0; dx < side; dx++)
      if (picture_within(p, x + dx, y + dy))
        p->grey[(size_t)(y + dy) * (size_t)p->width + (size_t)(x + dx)] = grey;
}

/* A letter has 5 x 7 pixels. There is an empty column between two letters. */
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

/* Draws a text of capitals, figures and > . - in black. Other letters become spaces. */
static void picture_text(picture *p, int x, int y, int scale, const char *text) {
  for (; *text; text++, x += 6 * scale) {
    const char *letter = strchr(picture_letters, *text);
    if (!letter) continue;
    int k = (int)(letter - picture_letters);
    for (int row = 0; row < 7; row++)
      for (int column = 0; column < 5; column++)
        if (picture_font[k / 13][row][k % 13 * 6 + column] == '#')
          picture_square(p, x + column * scale, y + row * scale, scale, 0);
  }
}

/* ---- A sheet of images, 28 x 28 numbers from 0 (white) to 1 (black) ---- */

typedef struct { const edf_real *pixels; double weight; char text[32]; } sheet_tile;
enum { SHEET_COLUMNS = 10, SHEET_ROWS = 6, SHEET_ZOOM = 3, SHEET_SIDE = 28 * SHEET_ZOOM,
       SHEET_MARGIN = 12, SHEET_TITLE = 44,
       SHEET_STEP_X = SHEET_SIDE + SHEET_MARGIN, SHEET_STEP_Y = SHEET_STEP_X + 20 };

static void sheet_draw(picture *p, int x, int y, const sheet_tile *tile) {
  int width = 12 * (int)strlen(tile->text) - 2;
  for (int i = 0; i < 28; i++)
    for (int j = 0; j < 28; j++)
      picture_square(p, x + j * SHEET_ZOOM, y + i * SHEET_ZOOM, SHEET_ZOOM,
                     1 - tile->pixels[i * 28 + j]);
  picture_text(p, x + (SHEET_SIDE - width) / 2, y + SHEET_SIDE + 4, 2, tile->text);
}

static int sheet_by_weight(const void *a, const void *b) {
  double x = ((const sheet_tile *)a)->weight, y = ((const sheet_tile *)b)->weight;
  return (x < y) - (x > y);
}

/* Sorts the images by weight, and writes a sheet with the largest weights first. */
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

#endif /* PICTURES_H */
