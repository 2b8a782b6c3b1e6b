/* notation.c - the tables of notes/notation.md. The page has two kinds of tables, and each of
   their rows is a test:

     | given | lines | result | ...                      the lines give these values
     | given | wrong | the message says | write instead  the lines stop with these words

   The code in a cell counts, and other text does not. Pieces of code are tensors with numbers
   (given), the lines of a program, values (result) or words of the message. An empty cell
   `given` has the tensors of the row above. In the last column of the second kind " or "
   separates two programs, and neither may stop. The words must stand after the caret of the
   message, so the program that the message shows does not count. */

#include "given.h"

#define PAGE "notes/notation.md"

enum { CELLS = 4 };
typedef struct {
  int line;                                /* its line in the page                       */
  int cells;                               /* the number of cells, 0 if it is no row     */
  char cell[CELLS][512];
} row;

/* ---- Reading the page */

/* Cuts a line into cells. \| is a | of a cell. */
static void read_row(row *r, const char *line) {
  size_t n = 0;
  r->cells = 0;
  for (line++; *line && *line != '\n'; line++) {
    if (*line == '|') {
      if (++r->cells == CELLS) return;
      n = 0;
      continue;
    }
    if (line[0] == '\\' && line[1] == '|') line++;
    if (n + 1 == sizeof *r->cell) abort();
    r->cell[r->cells][n++] = *line;
    r->cell[r->cells][n] = '\0';
  }
}

/* Returns the code in a text, `a` and `b`, with a separator between two pieces: a|b. */
static const char *code_in(const char *text, const char *separator) {
  static char to[2][512];
  static int turn;
  char *code = to[turn = !turn];
  size_t n = 0;
  code[0] = '\0';
  for (const char *at = strchr(text, '`'); at; at = strchr(at, '`')) {
    size_t length = strcspn(++at, "`");
    n += (size_t)snprintf(code + n, sizeof *to - n, "%s%.*s", n ? separator : "", (int)length,
                          at);
    if (n >= sizeof *to) abort();
    at += length + (at[length] == '`');
  }
  return code;
}

/* Calls check for each row of the tables with these words in the head. Returns how many rows
   there are. */
static int for_rows(const char *head, void (*check)(const row *r, const char *given)) {
  static char line[4096], given[512];
  static row r;
  int n = 0, in_table = 0, number = 0;
  FILE *in = fopen(PAGE, "r");
  if (!in) return 0;
  while (fgets(line, sizeof line, in)) {
    number++;
    if (*line != '|') in_table = 0;
    else if (!strncmp(line, head, strlen(head))) in_table = 1;
    else if (in_table && line[1] != '-') {
      read_row(&r, line);
      r.line = number;
      if (strchr(r.cell[0], '`')) snprintf(given, sizeof given, "%s", code_in(r.cell[0], "; "));
      check(&r, given);
      harness_clear(PAGE, number, line);
      n++;
    }
  }
  fclose(in);
  return n;
}

/* ---- Checking a row */

static edf_node *run(const char *given, const char *text) {
  declare(given);
  edf_node *y = edf_equations_at("hw1.c", 9, "%s", text);
  edf_forward();
  return y;
}

static void check_result(const row *r, const char *given) {
  const char *text = code_in(r->cell[1], "\n"), *right = code_in(r->cell[2], "; ");
  int failures = harness.bad;
  CHECK(r->cells >= 3 && *text && *right, "the row has no lines, or no result");
  TRY(edf_node *y = run(given, text);
      if (strstr(right, ".grad")) edf_backward(y);
      compare(text, right, 1e-4));
  if (panicked) harness_fail(PAGE, r->line, "it stops: %s", caught);
  else if (harness.bad > failures) harness_fail(PAGE, r->line, "the result is another");
}

static void check_message(const row *r, const char *given) {
  const char *text = code_in(r->cell[1], "\n"), *words = code_in(r->cell[2], "|");
  CHECK(r->cells == 4 && *text && *words, "line %d has no wrong lines, or no words", r->line);
  TRY(run(given, text));
  const char *caret = strstr(caught, "^\n");
  if (!panicked) harness_fail(PAGE, r->line, "it does not stop: %s", text);
  else harness_words(PAGE, r->line, caret ? caret : caught, words);
  for (const char *at = r->cell[3], *next = at; next; at = next + 4) {
    next = strstr(at, " or ");
    text = code_in(edf_fmt("%.*s", next ? (int)(next - at) : 500, at), "\n");
    TRY(edf_clear());
    if (!*text) continue;
    TRY(run(given, text));
    if (panicked) harness_fail(PAGE, r->line, "what it says to write stops: %s", caught);
  }
}

TEST(the_lines_of_the_page_give_their_results) {
  int n = for_rows("| given | lines | result |", check_result);
  CHECK(n > 50, "%s has %d rows with results", PAGE, n);
}

TEST(the_wrong_lines_of_the_page_stop_with_their_words) {
  int n = for_rows("| given | wrong | the message says | write instead |", check_message);
  CHECK(n > 50, "%s has %d rows with errors", PAGE, n);
}

int main(void) { return harness_main(); }
