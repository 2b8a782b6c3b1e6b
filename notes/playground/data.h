/* data.h - the data of the playground. program.c includes it, and "Open in C" copies the first
   section, the one of the chosen data, and the last one. A row has n_x numbers for the Input x,
   and n_y for the Input y: class numbers, or for `curve` the value. */
enum { ROWS = 600, LETTERS = 27, LONGEST = 8, SIDE = 8 };
static edf_real data_x[ROWS * SIDE * SIDE], data_y[ROWS * LONGEST];
static int rows, n_x, n_y;
static int first_row, n_fed;               /* of the last feed */

/* ---- xor */
static void make_xor(void) {
  rows = 4, n_x = 2, n_y = 1;
  for (int i = 0; i < 4; i++) {
    data_x[2 * i] = i / 2;
    data_x[2 * i + 1] = i % 2;
    data_y[i] = i / 2 != i % 2;
  }
}
/* ---- spirals */
static void make_spirals(void) {           /* two arms of one and a half turns */
  rows = 200, n_x = 2, n_y = 1;
  for (int i = 0; i < rows; i++) {
    double t = (i / 2 + 5) / 105.0, angle = 9.42 * t + (i % 2 ? 3.14159 : 0);
    data_x[2 * i] = (edf_real)(t * cos(angle)) + edf_normal(0, (edf_real)0.02);
    data_x[2 * i + 1] = (edf_real)(t * sin(angle)) + edf_normal(0, (edf_real)0.02);
    data_y[i] = i % 2;
  }
}
/* ---- curve */
static void make_curve(void) {             /* y = sin(3 x) / (1 + x^2), with noise */
  rows = 60, n_x = 1, n_y = 1;
  for (int i = 0; i < rows; i++) {
    double x = -2 + 4 * (i + 0.5) / rows;
    data_x[i] = (edf_real)x;
    data_y[i] = (edf_real)(sin(3 * x) / (1 + x * x)) + edf_normal(0, (edf_real)0.06);
  }
}
/* ---- digits */
/* A digit is 5 rows of 3 points, each widened to 2 by 1, somewhere in 8 by 8. */
static void make_digits(void) {
  static const char *const shape[] = { "###" "#.#" "#.#" "#.#" "###", ".#." "##." ".#." ".#." "###",
    "###" "..#" "###" "#.." "###", "###" "..#" ".##" "..#" "###", "#.#" "#.#" "###" "..#" "..#",
    "###" "#.." "###" "..#" "###", "#.." "#.." "###" "#.#" "###", "###" "..#" ".#." ".#." ".#.",
    "###" "#.#" "###" "#.#" "###", "###" "#.#" "###" "..#" "..#" };
  rows = ROWS, n_x = SIDE * SIDE, n_y = 1;
  for (int b = 0; b < rows; b++) {
    int digit = b % 10, down = edf_below(4), right = edf_below(3);
    edf_real *image = data_x + b * SIDE * SIDE;
    for (int i = 0; i < SIDE * SIDE; i++) image[i] = edf_normal(0, (edf_real)0.15);
    for (int i = 0; i < 5; i++)
      for (int j = 0; j < 6; j++)
        if (shape[digit][3 * i + j / 2] == '#')
          image[(i + down) * SIDE + j + right] += edf_uniform((edf_real)0.6, 1);
    data_y[b] = digit;
  }
}
/* ---- names */
/* x is a 0 and the letters of a name, y the letters and then 0. Long names are left out. */
static void make_names(void) {
  rows = 0, n_x = n_y = LONGEST;
  for (const char *c = names + 1; *c; c += strcspn(c, "\n") + 1) {
    int n = (int)strcspn(c, "\n");
    if (n >= LONGEST || rows == ROWS) continue;
    memset(data_x + rows * LONGEST, 0, LONGEST * sizeof *data_x);
    memset(data_y + rows * LONGEST, 0, LONGEST * sizeof *data_y);
    for (int t = 0; t < n; t++)
      data_y[rows * LONGEST + t] = data_x[rows * LONGEST + t + 1] = c[t] - 'a' + 1;
    rows++;
  }
}
/* ---- random */
/* Each Input of the slide gets numbers of its own, once: four rows. A tensor with one number a
   row, which may be a class number, gets 0 and 1. */
static void make_random(void) {
  rows = 4, n_x = n_y = 0;
  for (int k = 0; k < edf.n_inputs; k++) {
    size_t n = 1;
    for (int d = 0; d < edf.inputs[k]->rank; d++)
      n *= d == 0 && edf.inputs[k]->batched ? (size_t)rows : (size_t)edf.inputs[k]->dim[d];
    edf_real *numbers = (edf_real *)edf_keep(NULL, n * sizeof *numbers);
    for (size_t i = 0; i < n; i++)
      numbers[i] = edf.inputs[k]->rank > 1 ? edf_normal(0, 1) : (edf_real)edf_below(2);
    edf_feed(edf.inputs[k], numbers, edf.inputs[k]->batched ? rows : 1);
  }
}
/* ---- feed */
static edf_node *input_named(const char *name) {
  for (int k = 0; k < edf.n_inputs; k++)
    if (!strcmp(edf.inputs[k]->name, name)) return edf.inputs[k];
  return NULL;
}
/* Makes the data. The Parameters' random numbers do not depend on it. */
static void begin_data(void (*make)(void)) {
  unsigned long long draws = edf.draws;
  make();
  edf.draws = draws;
  first_row = rows;                        /* The first feed begins a pass. */
  n_fed = 0;
}
static void feed_again(void) {
  edf_node *x = input_named("x"), *y = input_named("y");
  if (x && n_x) edf_feed(x, data_x + first_row * n_x, n_fed);
  if (y && n_y) edf_feed(y, data_y + first_row * n_y, n_fed);
}
/* Feeds the next n rows, or those that are left. Each pass over the data has a new order. */
static void feed_batch(int n) {
  first_row += n_fed;
  if (first_row == rows) {
    edf_array x = { 2, { rows, n_x }, (size_t)(rows * n_x), data_x };
    edf_array y = { 2, { rows, n_y }, (size_t)(rows * n_y), data_y };
    if (n_x) edf_shuffle(&x, &y);
    first_row = 0;
  }
  n_fed = n < rows - first_row ? n : rows - first_row;
  feed_again();
}
