/* edf_log and edf_plot_svg: series, charts, scales, gaps, and what is refused.

   Built as: float double none sanitized shim */
#include "temporary.h"
#include "edf_lab.h"

static char svg[200000];

/* A number that is none, in an attribute or a path; in the text between tags it may stand. */
static const char *nan_inside_a_tag(const char *s) {
  for (int inside = 0; *s; s++) {
    inside = *s == '<' ? 1 : *s == '>' ? 0 : inside;
    if (inside && (!strncmp(s, "nan", 3) || !strncmp(s, "inf", 3))) return s;
  }
  return NULL;
}

static int count(const char *text, const char *what) {
  int n = 0;
  for (; (text = strstr(text, what)) != NULL; text++) n++;
  return n;
}

static const char *drawn(void) {
  edf_plot_svg(file("curves.svg"));
  FILE *f = fopen(path, "rb");
  if (!f) abort();
  svg[fread(svg, 1, sizeof svg - 1, f)] = 0;
  fclose(f);
  remove(path);
  CHECK(!strncmp(svg, "<svg xmlns=", 11) && strstr(svg, "</svg>\n"), "%.40s", svg);
  CHECK(!nan_inside_a_tag(svg), "a NaN in a coordinate: %.60s", nan_inside_a_tag(svg));
  CHECK(count(svg, "<g ") == count(svg, "</g>"), "a <g> is not closed: %s", svg);
  CHECK(count(svg, "<text") == count(svg, "</text>"), "a text is not closed: %s", svg);
  return svg;
}

/* Loss and test loss share a chart; the test loss of an epoch lies under its step. */
static void charts(void) {
  for (int i = 1; i <= 30; i++) {
    edf_log("loss/train", 3.0 / i);
    if (i % 10 == 0) edf_log("loss/test", 4.0 / i);
    if (i % 10 == 0) edf_log("error", 100.0 / i);
  }
  const char *text = drawn();
  CHECK(count(text, "class=\"title\"") == 2 && strstr(text, ">loss</text>"), "%s", text);
  CHECK(strstr(text, ">train  0.1</text>") && strstr(text, ">test  0.1333</text>"), "%s", text);
  CHECK(count(text, "<circle") == 30 + 3 + 3, "%d points", count(text, "<circle"));
  CHECK(strstr(text, "cx=\"680.0\"") && count(text, "<title>30: ") == 2, "%s", text);
  CHECK(count(text, "<title>20: ") == 2 && count(text, "<title>3: ") == 2, "where they lie");
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
}

/* A value that cannot be shown is a gap, and counted. */
static void gaps(void) {
  static const double y[] = { 1, HUGE_VAL, 10, 0, 100, 1000 };
  for (int i = 0; i < 6; i++) edf_log("a<&b/c", y[i]);
  edf_log("a<&b/c", (double)NAN);
  const char *text = drawn();
  CHECK(strstr(text, ">a&lt;&amp;b</text>"), "%s", text);
  CHECK(strstr(text, "(2 values not shown)"), "%s", text);
  CHECK(count(text, "<circle") == 5 && !strstr(text, "inf"), "%s", text);
  const char *line = strstr(text, "<path d=\"M"), *end = line ? strchr(line, '>') : NULL;
  int moves = 0, lines = 0;
  for (; line && line < end; line++) { moves += *line == 'M'; lines += *line == 'L'; }
  CHECK(moves == 2 && lines == 3, "%d beginnings, %d lines: %s", moves, lines, text);
  edf_log("a<&b/\xc3\xa9\xc3 \xff", 2);          /* an accent, and no UTF-8 */
  CHECK(strstr(drawn(), ">\xc3\xa9? ?  2</text>"), "%s", svg);
  edf_log_scale("a<&b");
  text = drawn();
  CHECK(strstr(text, "(3 values not shown)") && strstr(text, "logarithmic"), "%s", text);
  CHECK(strstr(text, ">1e+03</text>") && strstr(text, ">10</text>"), "decades: %s", text);
  edf_clear();
}

/* Only powers of ten are marked, where there are two or more. */
static void decades(void) {
  for (int i = 0; i < 3; i++) edf_log("x", pow(10, i));
  edf_log_scale("x");
  const char *text = drawn();
  CHECK(count(text, "class=\"y\"") == 3 && strstr(text, ">1</text>"), "%s", text);
  edf_clear();
}

/* 50 000 values in a small file: means, and a band. */
static void long_series(void) {
  for (int i = 0; i < 50000; i++) edf_log("x", i % 2 ? 1 : 3);
  const char *text = drawn();
  CHECK(strlen(text) < 40000 && strstr(text, "fill-opacity") && !strstr(text, "<circle"),
        "%zu bytes", strlen(text));
  edf_clear();
}

/* ---- A long series, worked out here: from 0 to 10, gaps at its ends and within */

static double value_of(int i, int n) {
  if (i == 0 || i == n - 1 || (i >= 300 && i < 306) || i == 401) return (double)NAN;
  return i == 1 ? 10 : i % 7;
}

static double on_page(double y) { return 44 + 200 * (10 + 0.04 * 10 - y) / (10 + 0.04 * 10); }

/* Point k of a line with `each` values a point: how many of them are shown, and in *y the mean,
   the greatest (part 1) or the least (part -1). */
static int point(int k, int each, int n, int part, double *x, double *y) {
  int shown = 0;
  double sum = 0, sum_x = 0, most = -1, least = 99;
  for (int i = k * each; i < n && i < (k + 1) * each; i++) {
    double v = value_of(i, n);
    if (v != v) continue;
    shown++;
    sum += v;
    sum_x += i + 1;
    most = v > most ? v : most;
    least = v < least ? v : least;
  }
  *x = 70 + 610 * (sum_x / shown - 1) / (n - 1);
  *y = on_page(part == 0 ? sum / shown : part > 0 ? most : least);
  return shown;
}

static char *line_of(char *to, int each, int n, int part) {
  int points = (n + each - 1) / each, gap = part >= 0;
  for (int k = 0; k < points; k++) {
    double x, y;
    int shown = point(part < 0 ? points - 1 - k : k, each, n, part, &x, &y);
    if (shown) to += sprintf(to, "%c%.1f %.1f", gap ? 'M' : 'L', x, y);
    gap = shown ? 0 : gap || part == 0;
  }
  return to;
}

/* 600 values are 600 points; of more each point is the mean of some, in a band from the least
   of them to the greatest. */
static void long_lines(void) {
  static const int of[][2] = { { 600, 1 }, { 601, 2 }, { 1200, 2 }, { 1201, 3 }, { 1800, 3 } };
  static char expected[40000];
  for (int k = 0; k < 5; k++) {
    int n = of[k][0], each = of[k][1];
    for (int i = 0; i < n; i++) edf_log("x", value_of(i, n));
    const char *text = drawn();
    strcpy(line_of(expected + sprintf(expected, " d=\""), each, n, 0), "\"/>");
    CHECK(strstr(text, expected), "%d: %s\n is not %s", n, text, expected);
    strcpy(line_of(line_of(expected, each, n, 1), each, n, -1), "\"/>\n");
    CHECK((strstr(text, expected) != NULL) == (each > 1), "%d: the band: %s\n%s", n, text,
          expected);
    CHECK((strstr(text, "0.25") != NULL) == (each > 1), "%d: whether there is a band", n);
    edf_clear();
  }
}

/* The points of 40 values are drawn, not those of 41. */
static void points(void) {
  for (int i = 0; i < 41; i++) {
    edf_log("x/most", i);
    if (i < 40) edf_log("x/few", i);
  }
  CHECK(count(drawn(), "<circle") == 40, "%d points", count(svg, "<circle"));
  edf_clear();
}

static void one_value_and_none(void) {
  edf_log("x", 5);
  drawn();
  edf_clear();
  edf_log("x", (double)NAN);
  drawn();
  edf_clear();
  edf_log("x", 0);
  edf_log("x", 0);
  drawn();
  edf_clear();
}

/* Constant up to rounding; large; at the ends of what a double holds. */
static void axes_of_odd_values(void) {
  static const double pairs[][2] = { { 0.1 + 0.2, 0.3 }, { 1e17, 1e17 }, { 1e308, -1e308 },
                                     { 1e299, -1e299 }, { 5e-324, 0 }, { 1e-300, 2e-300 } };
  for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
    edf_log("x", pairs[k][0]);
    edf_log("x", pairs[k][1]);
    const char *text = drawn();
    CHECK(strlen(text) < 5000, "%zu: %zu bytes", k, strlen(text));
    CHECK(!strstr(text, "nan") && !strstr(text, "inf"), "%zu: %s", k, text);
    edf_clear();
  }
}

/* Nothing was logged: after a training that is no reason to stop. It is said, twice. */
static void nothing_logged(void) {
  char said[200] = "";
  FILE *f = tmpfile();
  fflush(stderr);
  int before = dup(2);
  if (!f || before < 0 || dup2(fileno(f), 2) < 0) abort();
  TRY(drawn());
  fflush(stderr);
  dup2(before, 2);
  close(before);
  rewind(f);
  said[fread(said, 1, sizeof said - 1, f)] = 0;
  fclose(f);
  const char *why = "nothing was logged: call edf_log(name, value) first";
  CHECK(!panicked, "it stops: %s", caught);
  CHECK(!strcmp(said, edf_fmt("edf_plot_svg: %s\n", why)), "stderr has: %s", said);
  CHECK(strstr(svg, edf_fmt(">%s</text>", why)) && strstr(svg, "height=\"40\""), "%s", svg);
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
}

/* Out of memory at the first value: there is no series without one. */
static void no_memory_for_a_value(void) {
  for (int n = 1; n < 7; n++) {
    edf_log("other", 1);
    memory.until_failure = n;
    TRY(edf_log("x", 2));
    memory.until_failure = 0;
    CHECK(panicked == (n < 5), "request %d: %s", n, caught);
    CHECK(count(drawn(), "class=\"title\"") == (n < 5 ? 1 : 2), "request %d: %s", n, svg);
    edf_log("x", 2);
    CHECK(strstr(drawn(), ">x  2</text>"), "request %d: %s", n, svg);
    edf_clear();
  }
}

/* Marks far below 1 are marks. */
static void small_decades(void) {
  for (int i = 0; i < 3; i++) edf_log("x", pow(10, -11 - i));
  edf_log_scale("x");
  const char *text = drawn();
  CHECK(strstr(text, ">1e-11</text>") && strstr(text, ">1e-13</text>"), "%s", text);
  CHECK(!strstr(text, "\">0</text>"), "a decade is 0: %s", text);
  edf_clear();
}

static void refused(void) {
  for (int k = 0; k < 2; k++) {
    TRY(edf_log(k ? "" : NULL, 1));
    CHECK(panicked && !strcmp(caught, "edf_log: the series has no name"), "%s", caught);
  }
  edf_log("x", 1);
  TRY(edf_log_scale("y"));
  CHECK(panicked && !strcmp(caught, "edf_log_scale: nothing was logged for y so far"), "%s",
        caught);
  TRY(edf_log_scale(NULL));
  CHECK(panicked && strstr(caught, "nothing was logged for (no name) so far"), "%s", caught);
  TRY(edf_plot_svg(file("no/such/file.svg")));
  CHECK(panicked && strstr(caught, "cannot be written"), "%s", caught);
  TRY(edf_plot_svg(NULL));
  CHECK(panicked && !strcmp(caught, "edf: the path of a file to write is NULL"), "%s", caught);
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
}

/* With one argument it is the logarithm. */
static void the_logarithm(void) {
  Parameter *p = edf_parameter("p");
  p->value[0] = (edf_real)2.718281828459045;
  CompNode *y = edf_log(p), *z = Log(y);
  Forward();
  CLOSE(y->value[0], 1, 1e-6, 0);
  CLOSE(z->value[0], 0, 1e-6, 0);
  edf_clear();
}

int main(void) {
  make_directory("plot");
  RUN(charts);
  RUN(gaps);
  RUN(decades);
  RUN(long_series);
  RUN(long_lines);
  RUN(points);
  RUN(one_value_and_none);
  RUN(axes_of_odd_values);
  RUN(nothing_logged);
  RUN(no_memory_for_a_value);
  RUN(small_decades);
  RUN(refused);
  RUN(the_logarithm);
  rmdir(dir);
  return harness_report();
}
