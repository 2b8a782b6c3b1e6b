/* Files are not trusted: each broken file has its error, and leaves no memory and no open file.
   Built as: float double none sanitized shim */

#include "temporary.h"

/* ---- IDX: 00 00, a type byte (08: unsigned bytes), the rank, the dimensions, the bytes */

typedef enum { IDX, IMAGES, LABELS, CSV } loader;

static edf_array load(loader which) {
  return which == IDX ? edf_load_idx(path) : which == IMAGES ? edf_load_images(path)
       : which == LABELS ? edf_load_labels(path) : edf_load_csv(path);
}

static void refused(loader which, const char *message) {
  static edf_array a;
  REFUSED(message, a = load(which));
  if (!panicked) edf_free_array(&a);
}

typedef struct { loader which; const char *name, *bytes; size_t n; const char *message; } bad;

static void bad_idx(void) {
  static const bad table[] = {
    { IDX, "empty", BYTES(""),
      "%: byte 0: expected 4 more bytes, but the file has 0: it ended early" },
    { IDX, "three bytes", BYTES("\0\0\10"),
      "%: byte 0: expected 4 more bytes, but the file has 3: it ended early" },
    { IDX, "wrong magic", BYTES("\1\0\10\1\0\0\0\1x"),
      "%: byte 0: expected an IDX file, which begins with two zeros; found 1 0" },
    { IDX, "text", BYTES("1,2,3\n4,5,6\n"),
      "%: byte 0: expected an IDX file, which begins with two zeros; found 49 44" },
    { IDX, "gzip", BYTES("\37\213\10\0\0\0\0\0\0\3"),
      "%: byte 0: the file is compressed with gzip: unpack it first, with gunzip" },
    { IDX, "floats", BYTES("\0\0\15\1\0\0\0\1abcd"),
      "%: byte 2: expected type 8, unsigned bytes; found type 13" },
    { IDX, "rank 0", BYTES("\0\0\10\0x"),
      "%: byte 3: expected 1 to 8 dimensions, found 0" },
    { IDX, "rank 9", BYTES("\0\0\10\11\0\0\0\1\0\0\0\1"),
      "%: byte 3: expected 1 to 8 dimensions, found 9" },
    { IDX, "half a dimension", BYTES("\0\0\10\2\0\0\0\1\0\0"),
      "%: byte 8: expected 4 more bytes, but the file has 10: it ended early" },
    { IDX, "no data", BYTES("\0\0\10\1\0\0\0\5"),
      "%: byte 8: the header promises 5 bytes of numbers, but 0 follow" },
    { IDX, "one byte short", BYTES("\0\0\10\2\0\0\0\2\0\0\0\3abcde"),
      "%: byte 12: the header promises 6 bytes of numbers, but 5 follow" },
    { IDX, "one byte more", BYTES("\0\0\10\2\0\0\0\2\0\0\0\3abcdefg"),
      "%: byte 12: the header promises 6 bytes of numbers, but 7 follow" },
    { IDX, "a dimension over INT_MAX", BYTES("\0\0\10\1\377\377\377\377x"),
      "%: byte 4: dimension 0: expected 1 to 2147483647 entries, found 4294967295" },
    { IDX, "dimensions that overflow",
      BYTES("\0\0\10\3\177\377\377\377\177\377\377\377\177\377\377\377x"),
      "%: byte 16: the header promises at least 2147483647 bytes of numbers, but 1 follow" },
    { IDX, "dimensions that overflow to 0",
      BYTES("\0\0\10\4\100\0\0\0\100\0\0\0\100\0\0\0\100\0\0\0"),
      "%: byte 20: the header promises at least 1073741824 bytes of numbers, but 0 follow" },
    { IDX, "more than the file", BYTES("\0\0\10\1\77\0\0\0x"),
      "%: byte 8: the header promises 1056964608 bytes of numbers, but 1 follow" },
    { IDX, "a dimension of 0", BYTES("\0\0\10\2\0\0\0\0\0\0\0\3"),
      "%: byte 4: dimension 0: expected 1 to 2147483647 entries, found 0" },
    { IDX, "half of gzip", BYTES("\37\1\10\1\0\0\0\1x"),
      "%: byte 0: expected an IDX file, which begins with two zeros; found 31 1" },
    { IDX, "the other half", BYTES("\0\213\10\1\0\0\0\1x"),
      "%: byte 0: expected an IDX file, which begins with two zeros; found 0 139" },
    { IDX, "half a magic", BYTES("\0\1\10\1\0\0\0\1x"),
      "%: byte 0: expected an IDX file, which begins with two zeros; found 0 1" },
    { IDX, "bytes of a dimension", BYTES("\0\0\10\1\1\2\3\4x"),
      "%: byte 8: the header promises 16909060 bytes of numbers, but 1 follow" },
    { IDX, "INT_MAX", BYTES("\0\0\10\1\177\377\377\377x"),
      "%: byte 8: the header promises 2147483647 bytes of numbers, but 1 follow" },
    { IDX, "INT_MAX + 1", BYTES("\0\0\10\2\0\0\0\1\200\0\0\0x"),
      "%: byte 8: dimension 1: expected 1 to 2147483647 entries, found 2147483648" },
    { IDX, "as many as the file's bytes", BYTES("\0\0\10\2\0\0\0\15\0\0\0\2x"),
      "%: byte 12: the header promises 26 bytes of numbers, but 1 follow" },
    { IDX, "one more", BYTES("\0\0\10\2\0\0\0\16\0\0\0\2x"),
      "%: byte 12: the header promises at least 14 bytes of numbers, but 1 follow" },
    { LABELS, "images as labels", BYTES("\0\0\10\3\0\0\0\1\0\0\0\1\0\0\0\2ab"),
      "%: byte 3: expected 1 dimension for labels, found 3" },
    { IMAGES, "labels as images", BYTES("\0\0\10\1\0\0\0\2ab"),
      "%: byte 3: expected 3 dimensions for images, found 1" },
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    file(table[i].name);
    write_bytes(table[i].bytes, table[i].n);
    refused(table[i].which, table[i].message);
    remove(path);
  }
}

static void no_file(void) {
  for (loader which = IDX; which <= CSV; which++) {
    char message[256];
    file("missing");
    snprintf(message, sizeof message, "%%: cannot be opened: %s", strerror(ENOENT));
    refused(which, message);
    file("directory");
    mkdir(path, 0777);
    snprintf(message, sizeof message, "%%: cannot be read: %s", strerror(EISDIR));
    refused(which, message);
    rmdir(path);
  }
}

static void same(edf_array a, int rank, int rows, int columns, const double *value,
                 double scale) {
  CHECK(a.rank == rank && a.dim[0] == rows && (rank < 2 || a.dim[1] == columns),
        "rank %d, %d rows, %d columns", a.rank, a.dim[0], a.dim[1]);
  CHECK(a.size == (size_t)rows * (size_t)columns, "size %zu", a.size);
  for (size_t i = 0; i < a.size; i++) CLOSE(a.value[i], value[i] / scale, 0, 1e-6);
  edf_free_array(&a);
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
}

static void good_idx(void) {
  static const double numbers[] = { 7, 1, 128, 255, 9, 10 };
  int fd = lowest_free_fd();
  file("good");
  write_bytes(BYTES("\0\0\10\3\0\0\0\1\0\0\0\2\0\0\0\3\7\1\200\377\11\12"));
  edf_array a = edf_load_images(path);
  CHECK(a.rank == 2 && a.dim[0] == 1 && a.dim[1] == 6 && !a.dim[2], "[%d, %d, %d]", a.dim[0],
        a.dim[1], a.dim[2]);
  edf_free_array(&a);
  write_bytes(BYTES("\0\0\10\3\0\0\0\2\0\0\0\1\0\0\0\3\7\1\200\377\11\12"));
  same(edf_load_images(path), 2, 2, 3, numbers, 255);
  edf_free_array(&a);
  a = edf_load_idx(path);
  CHECK(a.rank == 3 && a.dim[1] == 1 && a.dim[2] == 3, "not [2,1,3]");
  CHECK(a.value[3] == 255, "bytes are scaled");
  edf_free_array(&a);
  edf_free_array(&a);                                        /* twice does no harm */
  write_bytes(BYTES("\0\0\10\1\0\0\0\6\7\1\200\377\11\12"));
  same(edf_load_labels(path), 1, 6, 1, numbers, 1);
  CHECK(lowest_free_fd() == fd, "a file is open");
  remove(path);
}

/* Every entry, also of what is read in pieces of 4096 bytes; up to eight dimensions. */
static void whole_idx(void) {
  static const int sizes[] = { 1, 4095, 4096, 4097, 9000 };
  static char bytes[9008] = "\0\0\10\1";
  edf_array a;
  file("whole");
  for (int k = 0; k < 5; k++) {
    bytes[6] = (char)(sizes[k] >> 8);
    bytes[7] = (char)(sizes[k] & 255);
    for (int i = 0; i < sizes[k]; i++) bytes[8 + i] = (char)(i * 7 % 256);
    write_bytes(bytes, (size_t)sizes[k] + 8);
    a = edf_load_idx(path);
    CHECK(a.rank == 1 && a.dim[0] == sizes[k] && a.size == (size_t)sizes[k], "%d", a.dim[0]);
    for (int i = 0; i < sizes[k]; i++)
      if (a.value[i] != i * 7 % 256) { CHECK(0, "entry %d", i); break; }
    edf_free_array(&a);
  }
  write_bytes(BYTES("\0\0\10\10\0\0\0\2\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1"
                    "\0\0\0\3\1\2\3\4\5\6"));
  a = edf_load_idx(path);
  CHECK(a.rank == 8 && a.dim[0] == 2 && a.dim[6] == 1 && a.dim[7] == 3 && a.size == 6, "of 8");
  for (int i = 0; i < 6; i++) CHECK((int)a.value[i] == i + 1, "entry %d", i);
  edf_free_array(&a);
  CHECK(!a.value && !a.rank && !a.size && !a.dim[0] && !a.dim[7], "freed, it is empty");
  remove(path);
}

/* Whichever request for memory fails. */
static void without_memory(void) {
  static const bad table[] = {
    { IDX, "1", BYTES("\0\0\10\1\0\0\0\3abc"), "%: out of memory for 1024 bytes" },
    { IDX, "2", BYTES("\0\0\10\1\0\0\0\3abc"), "%: out of memory for 3 entries" },
    { CSV, "1", BYTES("1,2\n"), "%: out of memory for 1024 bytes" },
    { CSV, "2", BYTES("1,2\n"), "%: out of memory for 2 entries" },
  };
  static char text[1500];
  for (size_t i = 0; i < sizeof text; i += 2) memcpy(text + i, "1\n", 2);
  file("2048");
  write_bytes(text, sizeof text);
  memory.until_failure = 2;
  refused(CSV, "%: out of memory for 2048 bytes");
  remove(path);
  for (int k = 0; k < 4; k++) {
    file(table[k].name);
    write_bytes(table[k].bytes, table[k].n);
    memory.until_failure = *table[k].name - '0';
    refused(table[k].which, table[k].message);
    memory.until_failure = 0;
    remove(path);
  }
}

/* What has no length, and cannot be read twice: its first byte is there. */
static int a_pipe_of(const char *bytes, size_t n) {
  int ends[2];
  if (access("/dev/fd", F_OK) || pipe(ends)) return -1;
  snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
  if (write(ends[1], bytes, n) != (ssize_t)n) abort();
  close(ends[1]);
  return ends[0];
}

static void from_a_pipe(void) {
  static const double bytes[] = { 7, 1, 128 }, numbers[] = { 1, 2.5, 3 }, row[] = { 12, 3 };
  int end = a_pipe_of("\0\0\10\2\0\0\0\1\0\0\0\3\7\1\200", 15);
  if (end < 0) SKIP("no /dev/fd");
  same(edf_load_idx(path), 2, 1, 3, bytes, 1);
  close(end);
  end = a_pipe_of(BYTES("1\n2.5\n3\n"));
  same(edf_load_csv(path), 2, 3, 1, numbers, 1);
  close(end);
  end = a_pipe_of(BYTES("12,3"));
  same(edf_load_csv(path), 2, 1, 2, row, 1);
  close(end);
  end = a_pipe_of(BYTES("to be"));
  edf_text t = edf_load_text(path);
  char text[6];
  edf_decode(&t, t.classes.value, 5, text);
  CHECK(t.classes.size == 5 && !strcmp(text, "to be"), "%s", text);
  edf_free_text(&t);
  close(end);
}

/* ---- CSV */

#define NOT_SUPPORTED ": missing values and names of classes are not supported, a heading is " \
                      "a first line without numbers"

static void bad_csv(void) {
  static const bad table[] = {
    { CSV, "empty", BYTES(""),
      "%: byte 0: line 1, column 1: expected at least one row of numbers" },
    { CSV, "newlines", BYTES("\n\n\n"),
      "%: byte 3: line 4, column 1: expected at least one row of numbers" },
    { CSV, "heading alone", BYTES("height,weight\n"),
      "%: byte 14: line 2, column 1: expected at least one row of numbers" },
    { CSV, "ragged, short", BYTES("1,2,3\n4,5\n"),
      "%: byte 9: line 2, column 2: expected 3 numbers as in the first row, found 2" },
    { CSV, "ragged, long", BYTES("1,2\n3,4\n5,6,7\n"),
      "%: byte 13: line 3, column 3: expected 2 numbers as in the first row, found 3" },
    { CSV, "a word", BYTES("1,2\n3,four\n"),
      "%: byte 6: line 2, column 2: expected a number, found 'four'" NOT_SUPPORTED },
    { CSV, "a word behind a number", BYTES("1,2\n3,4 apples\n"),
      "%: byte 8: line 2, column 2: expected ',' or the end of the line, found 'apples'" },
    { CSV, "two headings", BYTES("a,b\nc,d\n1,2\n"),
      "%: byte 4: line 2, column 1: expected a number, found 'c'" NOT_SUPPORTED },
    { CSV, "an empty field", BYTES("1,2\n3,\n"),
      "%: byte 6: line 2, column 2: expected a number, found nothing" NOT_SUPPORTED },
    { CSV, "an empty first field", BYTES("1,2\n,4\n"),
      "%: byte 4: line 2, column 1: expected a number, found nothing" NOT_SUPPORTED },
    { CSV, "no last field", BYTES("1,2,3\r\n4,5, \r\n"),
      "%: byte 13: line 2, column 3: expected a number, found nothing" NOT_SUPPORTED },
    { CSV, "too large", BYTES("1,2\n3,1e999\n"),
      "%: byte 6: line 2, column 2: expected a smaller number, found '1e999'" },
    { CSV, "semicolons", BYTES("1;2\n3;4\n"),
      "%: byte 1: line 1, column 1: expected ',' or the end of the line, found ';2'" },
    { CSV, "not a number", BYTES("1,2\n3,nan\n"),
      "%: byte 6: line 2, column 2: expected a number, found 'nan'" NOT_SUPPORTED },
    { CSV, "infinite", BYTES("1,2\n-inf,4\n"),
      "%: byte 4: line 2, column 1: expected a number, found '-inf'" NOT_SUPPORTED },
    { CSV, "a class", BYTES("5.1,3.5,setosa\n4.9,3,setosa\n"),
      "%: byte 8: line 1, column 3: expected a number, found 'setosa'" NOT_SUPPORTED },
    { CSV, "a long one", BYTES("1,2\n3,the name of a class that goes on and on and on\n"),
      "%: byte 6: line 2, column 2: expected a number, found 'the name of a class that goes on "
      "and on '" NOT_SUPPORTED },
    { CSV, "hexadecimal", BYTES("1,2\n3,0x10\n"),
      "%: byte 7: line 2, column 2: expected ',' or the end of the line, found 'x10'" },
    { CSV, "a zero byte", BYTES("1,2\n3,\0004\n"),
      "%: byte 6: line 2, column 2: expected a number, found nothing" NOT_SUPPORTED },
    { CSV, "a zero byte in the heading", BYTES("a\0b\n1,2\n"),
      "%: byte 1: line 1, column 1: expected text, found a zero byte" },
    { CSV, "a zero byte between rows", BYTES("1,2\n \0"),
      "%: byte 5: line 2, column 1: expected text, found a zero byte" },
    { CSV, "heading without an end", BYTES("height"),
      "%: byte 6: line 1, column 1: expected at least one row of numbers" },
    { CSV, "a sign alone", BYTES("1,2\n3, +\n"),
      "%: byte 7: line 2, column 2: expected a number, found '+'" NOT_SUPPORTED },
    { CSV, "a point alone", BYTES("1,2\n3,.\n"),
      "%: byte 6: line 2, column 2: expected a number, found '.'" NOT_SUPPORTED },
    { CSV, "a point at first", BYTES(".a,2\n3,4\n"),
      "%: byte 0: line 1, column 1: expected a number, found '.a'" NOT_SUPPORTED },
    { CSV, "a sign at first", BYTES("-a,2\n3,4\n"),
      "%: byte 0: line 1, column 1: expected a number, found '-a'" NOT_SUPPORTED },
    { CSV, "two numbers", BYTES("1,2 \t2\n"),
      "%: byte 5: line 1, column 2: expected ',' or the end of the line, found '2'" },
    { CSV, "line numbers", BYTES("a,b\n\n1,2\r\n\n3\n"),
      "%: byte 12: line 5, column 1: expected 2 numbers as in the first row, found 1" },
    { CSV, "gzip", BYTES("\37\213\10\0\0\0\0\0\0\3"),
      "%: byte 0: the file is compressed with gzip: unpack it first, with gunzip" },
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    file(table[i].name);
    write_bytes(table[i].bytes, table[i].n);
    refused(table[i].which, table[i].message);
    remove(path);
  }
}

/* A first line is a heading if it has a name and no number. What is missing is no name: such a
   line, and one with a number, is a row, and is refused, not dropped. */
static void headings_without_numbers(void) {
  static const struct { const char *line; int column; const char *found; } rows[] = {
    { "NA,2", 1, "'NA'" }, { "nan,2", 1, "'nan'" }, { "inf,2", 1, "'inf'" },
    { "-inf,2", 1, "'-inf'" }, { "\"a\",2", 1, "'\"a\"'" }, { ",2", 1, "nothing" },
    { "NA,NA", 1, "'NA'" }, { "nan,-Inf", 1, "'nan'" }, { ",", 1, "nothing" },
    { "\"\",\"NA\"", 1, "'\"\"'" }, { "\"1\",\"2\"", 1, "'\"1\"'" }, { "?,?", 1, "'?'" },
    { "null, none", 1, "'null'" }, { "a, -1e3 ", 1, "'a'" }, { "a,\"+.5 \"", 1, "'a'" },
    { "country,2019", 1, "'country'" }, { "1,setosa", 2, "'setosa'" }, { "a,5.1 cm", 1, "'a'" },
    { "a;b,2;3", 1, "'a;b'" },
  };
  static const char *const headings[] = {
    "a,b", "\"a\",\"b\"", ",b", "\"\",\"b\"", "NA,b", "RI,Na", "\"a, 1\",b", "1st,2nd",
    "a1,1a", "nancy,info", "\n \na,b", "inf. rate,b", "\"x\"\"1\",y", "-,b", "a b,\xc3\xa4\r",
  };
  file("headings");
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    const char *text = edf_fmt("%s\n3,4\n", rows[k].line);
    write_bytes(text, strlen(text));
    refused(CSV, edf_fmt("%%: byte %d: line 1, column %d: expected a number, found %s%s",
                         rows[k].column == 1 ? 0 : 2, rows[k].column, rows[k].found,
                         NOT_SUPPORTED));
  }
  for (size_t k = 0; k < sizeof headings / sizeof *headings; k++) {
    static const double numbers[] = { 3, 4 };
    const char *text = edf_fmt("%s\n3,4\n", headings[k]);
    write_bytes(text, strlen(text));
    same(edf_load_csv(path), 2, 1, 2, numbers, 1);
  }
  remove(path);
}

static void good_csv(void) {
  static const double numbers[] = { 1, -2.5, 3e2, 4, 5, 0.0625 };
  static const bad table[] = {
    { CSV, "plain", BYTES("1,-2.5\n3e2,4\n5,.0625\n"), "" },
    { CSV, "no final newline", BYTES("1,-2.5\n3e2,4\n5,.0625"), "" },
    { CSV, "CRLF", BYTES("1,-2.5\r\n3e2,4\r\n5,.0625\r\n"), "" },
    { CSV, "heading", BYTES("size,\"a 1\"\n1,-2.5\n3e2,4\n5,.0625\n"), "" },
    { CSV, "heading, CRLF", BYTES("size,weight\r\n1,-2.5\r\n3e2,4\r\n5,.0625\r\n"), "" },
    { CSV, "byte order mark", BYTES("\357\273\277" "1,-2.5\n3e2,4\n5,.0625\n"), "" },
    { CSV, "spaces", BYTES(" 1 , -2.5\n3e2,4 \n+5,\t.0625\n"), "" },
    { CSV, "empty lines within", BYTES("\n1,-2.5\n\n3e2,4\n \r\n5,.0625\n"), "" },
    { CSV, "blanks before the heading", BYTES(" \t(a),b\n+1,-2.5\n3e2,4\n5,.0625\n"), "" },
    { CSV, "a sign", BYTES("+1,-2.5\n3e2,4\n5,+.0625\n"), "" },
    { CSV, "a point", BYTES(".1e1,-2.5\n3e2,4\n5,.0625\n"), "" },
    { CSV, "a minus", BYTES("-1e0,-2.5\n3e2,4\n5,.0625\n"), "-" },
    { CSV, "empty lines at the end", BYTES("1,-2.5\n3e2,4\n5,.0625\n\n\r\n"), "" },
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    file(table[i].name);
    write_bytes(table[i].bytes, table[i].n);
    edf_array a = edf_load_csv(path);
    if (*table[i].message) a.value[0] *= -1;
    same(a, 2, 3, 2, numbers, 1);
    remove(path);
  }
}

static void long_csv(void) {                                 /* long lines, many lines */
  file("long");
  FILE *f = fopen(path, "w");
  if (!f) abort();
  for (int i = 0; i < 40; i++)
    for (int j = 0; j < 3000; j++) fprintf(f, "%d%c", i * 7 + j, j < 2999 ? ',' : '\n');
  fclose(f);
  edf_array a = edf_load_csv(path);
  CHECK(a.dim[0] == 40 && a.dim[1] == 3000, "[%d,%d]", a.dim[0], a.dim[1]);
  CHECK(a.value[39 * 3000 + 2999] == 39 * 7 + 2999, "the last is %g", (double)a.value[119999]);
  edf_free_array(&a);
  remove(path);
}

/* ---- What is done with arrays */

static edf_array rows(const char *bytes, size_t n) {
  write_bytes(bytes, n);
  return edf_load_idx(path);
}

static void counts_disagree(void) {
  static edf_real v[6];
  static const struct { int x, y, rank; const char *found; } table[] = {
    { 3, 2, 1, "3 and 2" }, { 3, 3, 0, "3 and 0" }, { 0, 3, 1, "0 and 3" },
    { -1, 3, 1, "0 and 3" }
  };
  for (int k = 0; k < 4; k++) {
    edf_array x = { table[k].x > 0, { 3 }, 3, v };
    edf_array y = { table[k].rank, { table[k].y }, (size_t)table[k].y, v };
    TRY(edf_shuffle(table[k].x < 0 ? NULL : &x, &y));
    CHECK(panicked && !strcmp(caught, edf_fmt("edf_shuffle: expected as many rows in both "
                                              "arrays, found %s", table[k].found)), "%s",
          caught);
  }
  TRY(edf_shuffle(NULL, NULL));
  CHECK(panicked && strstr(caught, "found 0 and 0"), "%s", caught);
}

/* From the last row down, each changes places with one of those up to it (Fisher and Yates). */
static void the_order_of_a_shuffle(void) {
  for (int n = 1; n <= 9; n++) {
    edf_real numbers[18], labels[9];
    int order[9];
    edf_array x = { 3, { n, 2, 1 }, (size_t)(2 * n), numbers };
    edf_array y = { 1, { n }, (size_t)n, labels };
    for (int i = 0; i < n; i++) {
      order[i] = i;
      labels[i] = (edf_real)i;
      numbers[2 * i] = (edf_real)(10 * i);
      numbers[2 * i + 1] = (edf_real)(10 * i + 1);
    }
    edf_seed(5);
    for (int i = n - 1; i > 0; i--) {
      int j = edf_below(i + 1), old = order[i];
      order[i] = order[j];
      order[j] = old;
    }
    edf_seed(5);
    edf_shuffle(&x, n % 2 ? &y : NULL);
    CHECK(edf.draws == (unsigned long long)n - 1, "%d rows: %llu draws", n, edf.draws);
    TRY(if (n % 2 == 0) edf_shuffle(&y, NULL));
    CHECK(!panicked, "of one index: %s", caught);
    for (int i = 0; i < n && n % 2 == 0; i++) labels[i] = (edf_real)i;
    for (int i = 0; i < n; i++) {
      CHECK((int)labels[i] == (n % 2 ? order[i] : i), "%d: row %d", n, i);
      CHECK((int)numbers[2 * i] == 10 * order[i], "%d: row %d", n, i);
      CHECK((int)numbers[2 * i + 1] == 10 * order[i] + 1, "%d: row %d", n, i);
    }
  }
}

static void shuffling_keeps_rows_together(void) {
  static edf_array x, y;
  int moved = 0, seen[100] = { 0 };
  char bytes[12 + 200] = "\0\0\10\2\0\0\0\144\0\0\0\2";      /* [100,2] */
  file("rows");
  for (int i = 0; i < 200; i++) bytes[12 + i] = (char)(i / 2 + (i % 2 ? 100 : 0));
  x = rows(bytes, 212);
  memcpy(bytes, "\0\0\10\1\0\0\0\144", 8);
  for (int i = 0; i < 100; i++) bytes[8 + i] = (char)i;
  y = rows(bytes, 108);
  edf_seed(7);
  edf_shuffle(&x, &y);
  for (int i = 0; i < 100; i++) {
    int label = (int)y.value[i];
    CHECK((int)x.value[2 * i] == label && (int)x.value[2 * i + 1] == label + 100, "row %d", i);
    moved += label != i;
    seen[label]++;
  }
  for (int i = 0; i < 100; i++) CHECK(seen[i] == 1, "row %d is there %d times", i, seen[i]);
  CHECK(moved > 80, "only %d rows moved", moved);
  edf_free_array(&x);
  edf_free_array(&y);
  remove(path);
}

/* The first of the greatest scores is the answer; of one class, of several indices, of none. */
static void error_rates(void) {
  edf_real scores[] = { 1, 2, 0, 5, 5, 4, 0, -1, 0, -3, -2, -1 }, classes[] = { 1, 0, 0, 2 };
  Input *s = edf_input("s[b,2,3]"), *y = edf_input("y[b,2]"), *t = edf_input("t[b]");
  edf_feed(s, scores, 2);
  edf_feed(y, classes, 2);
  edf_feed(t, classes, 2);
  CompNode *P = Einsum("P[b,t,k] = s[b,t,k]", s), *one = Einsum("one[b,i] = t[b] | i<1", t);
  Forward();
  CHECK(edf_error_rate(P, y) == 0 && edf_error_rate(s, y) == 0, "%g", edf_error_rate(P, y));
  CHECK(edf_error_rate(one, t) == 0.5, "of one class: %g", edf_error_rate(one, t));
  classes[0] = 0;
  classes[3] = (edf_real)1.5;
  edf_feed(y, classes, 2);
  CHECK(edf_error_rate(s, y) == 0.5, "%g", edf_error_rate(s, y));
  TRY(edf_error_rate(P, y));
  CHECK(panicked && strstr(caught, "the scores have no value for the last feed: call "
                                   "edf_forward first\n  Einsum"), "%s", caught);
  edf_feed(t, classes, 1);
  TRY(edf_error_rate(one, t));
  CHECK(panicked && strstr(caught, "edf_error_rate: 1 labels were fed for 2 rows of scores\n  "
                                   "Input \"t\""), "%s", caught);
  edf_feed(y, classes, 1);
  TRY(edf_error_rate(s, y));
  CHECK(panicked && strstr(caught, "edf_error_rate: 1 labels were fed for 2 rows of scores\n  "
                                   "Input \"y\""), "%s", caught);
  edf_clear();
}

/* A row of scores with a NaN anywhere is no answer, of whichever class. */
static void error_rate_of_nan(void) {
  const edf_real nan = (edf_real)NAN;
  edf_real scores[] = { nan, 1, 0, 2, nan, 1, 2, 1, nan, nan, nan, nan, 2, 1, 0 };
  edf_real classes[] = { 0, 0, 0, 0, 0 };
  Input *s = edf_input("s[b,3]"), *y = edf_input("y[b]");
  edf_feed(s, scores, 5);
  for (int k = 0; k < 3; k++) {
    for (int b = 0; b < 5; b++) classes[b] = (edf_real)k;
    edf_feed(y, classes, 5);
    Forward();
    CLOSE(edf_error_rate(s, y), k ? 1 : 0.8, 0, 1e-15);
  }
  edf_clear();
}

static void wrong_error_rates(void) {
  Parameter *p = edf_parameter("p"), *q = edf_parameter("q[2]"), *s = edf_parameter("s[2,3]");
  Input *y = edf_input("y[b]");
  TRY(edf_error_rate(p, p));
  CHECK(panicked && strstr(caught, "expected one label for each row"), "%s", caught);
  TRY(edf_error_rate(p, q));
  CHECK(panicked && strstr(caught, "edf_error_rate: expected one label for each row of "
                                   "scores\n  Parameter \"p\""), "%s", caught);
  TRY(edf_error_rate(s, s));
  CHECK(panicked && strstr(caught, "expected one label for each row"), "%s", caught);
  TRY(edf_error_rate(s, q));
  CHECK(!panicked, "%s", caught);
  TRY(edf_error_rate(edf_input("t[2,3]"), q));
  CHECK(panicked && strstr(caught, "the scores have no value: call edf_forward first\n  Input"),
        "%s", caught);
  TRY(edf_error_rate(s, y));
  CHECK(panicked, "labels that were never fed");
  CompNode *early = Relu(edf_input("z[b,3]")), *t = Einsum("t[b] = y[b]", y);
  TRY(edf_error_rate(early, y));
  CHECK(panicked && strstr(caught, "edf_error_rate: 0 labels were fed for 0 rows"), "%s",
        caught);
  TRY(edf_error_rate(early, t));
  CHECK(panicked && strstr(caught, "the scores have no value: call edf_forward first\n  Relu"),
        "%s", caught);
  TRY(edf_error_rate(NULL, y));
  CHECK(panicked && strstr(caught, "edf_error_rate"), "%s", caught);
  TRY(edf_error_rate(s, NULL));
  CHECK(panicked && strstr(caught, "edf_error_rate"), "%s", caught);
  edf_clear();
}

/* ---- Batches, and arrays beside nodes */

static void rows_of_arrays(void) {
  edf_real v[24];
  for (int i = 0; i < 24; i++) v[i] = (edf_real)i;
  edf_array a = { 3, { 4, 3, 2 }, 24, v }, none = { 0, { 0 }, 1, v };
  edf_array first = edf_rows(a, 0, 3), last = edf_rows(a, 3, 4);
  CHECK(first.rank == 3 && first.dim[0] == 3 && first.dim[1] == 3 && first.dim[2] == 2 &&
        first.size == 18 && first.value == v, "%d rows, %zu", first.dim[0], first.size);
  CHECK(last.dim[0] == 1 && last.size == 6 && last.value == v + 18, "%d rows, %zu", last.dim[0],
        last.size);
  static const struct { int from, to, of; } table[] = { { -1, 1, 4 }, { 2, 2, 4 }, { 3, 2, 4 },
                                                        { 0, 5, 4 }, { 0, 1, 0 } };
  for (int k = 0; k < 5; k++) {
    TRY(edf_rows(table[k].of ? a : none, table[k].from, table[k].to));
    CHECK(panicked && !strcmp(caught, edf_fmt("edf_rows: rows %d to %d of an array of %d rows",
                                              table[k].from, table[k].to, table[k].of)), "%s",
          caught);
  }
}

/* Of mean 0 and deviation 1; a constant column is 0. Other rows by the same numbers. */
static void normal_columns(void) {
  edf_real v[] = { 1, 10, (edf_real)0.1, 3, 20, (edf_real)0.1, 5, 60, (edf_real)0.1 };
  edf_real w[] = { 7, 30, 5 };
  edf_array x = { 2, { 3, 3 }, 9, v }, test = { 2, { 1, 3 }, 3, w }, y = { 1, { 3 }, 3, w };
  edf_normalize_columns(&x, &test);
  const double expected[] = { -2, -20, 0, 0, -10, 0, 2, 30, 0 };
  double s[] = { sqrt(8.0 / 3), sqrt(1400.0 / 3), 1 };
  for (int i = 0; i < 9; i++) CLOSE(v[i], expected[i] / s[i % 3], 1e-7, 1e-6);
  CHECK(v[2] == 0 && v[5] == 0 && w[2] == 0, "a constant column");
  CLOSE(w[0], 4 / s[0], 0, 1e-6);
  CLOSE(w[1], 0, 1e-7, 0);
  edf_normalize_columns(&y, NULL);                           /* of one index: one column */
  CLOSE(y.value[0] + y.value[1] + y.value[2], 0, 1e-6, 0);
  edf_normalize_columns(&y, &y);
  TRY(edf_normalize_columns(&x, &y));
  CHECK(panicked && !strcmp(caught, "edf_normalize_columns: expected the same columns, found 3 "
                                    "and 1"), "%s", caught);
}

/* All rows once, in the order of a shuffle; in their own order with edf.training 0. */
/* What is right, and looks like a mistake: nothing is said of it. */
static void legal_feeds(void) {
  const int series[1] = { 40 }, lines[2] = { 10, 4 };
  edf_array s = edf_new_array(1, series), a = edf_new_array(2, lines), many[80], own;
  Input *x = edf_input("x[b,4]"), *y = edf_input("y[b,4]"), *z = edf_input("z[b]");
  CompNode *d = Sub(x, y), *ell = Mean(Square(Sub(d, edf_parameter("p[4]"))));
  for (size_t i = 0; i < 40; i++) s.value[i] = a.value[i] = (edf_real)i;
  for (int i = 0; i + 32 <= 40; i += 8) edf_feed(x, s.value + i, 8);    /* windows           */
  for (int i = 0; i + 4 <= 40; i++) edf_feed(x, s.value + i, 1);
  for (int i = 0; i + 4 <= 40; i++) edf_feed(x, a.value + i, 1);        /* one line of rows  */
  for (int i = 0; i + 4 <= 9; i += 4) {                                 /* the next, to tell */
    edf_feed(x, a.value + i * 4, 4);
    edf_feed(y, a.value + i * 4 + 1, 4);
    edf_forward_to(d);
    CHECK(d->value[15] == -1, "%g", (double)d->value[15]);
  }
  for (int i = 0; i < 10; i += 4) edf_feed(x, a.value + i * 4, i < 8 ? 4 : 2);
  for (int i = 0; i < 40; i += 8) edf_feed(z, a.value + i, 8);
  for (int i = 0; i < 80; i++) many[i] = edf_new_array(2, lines);
  edf_feed(x, many[79].value, 10);
  edf_feed(y, many[0].value, 10);                          /* not among the newest           */
  for (int i = 0; i < 80; i++) {
    memset(many[i].value, 0, 40 * sizeof(edf_real));
    if (i == 79) (edf_forward_to)(ell);
    if (i == 79) edf_backward(ell);
    if (i) edf_free_array(&many[i]);
  }
  edf_free_array(&many[0]);
  CHECK(ell->value[0] == 0 && edf_mean_value(ell) == 0 &&
        edf_rows_fed(x) < 0, "it ran");
  own = a;
  own.value = (edf_real *)counted_malloc(40 * sizeof(edf_real));
  memcpy(own.value, a.value, 40 * sizeof(edf_real));
  edf_feed(x, own.value + 4, 9);
  edf_feed(y, edf_rows(a, 1, 10).value, 9);
  edf_forward_to(d);
  CHECK(d->value[35] == 0 && edf_view(x).value == own.value + 4, "%g", (double)d->value[35]);
  edf_free_array(&own);
  edf_free_array(&s);
  edf_free_array(&a);
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
}

/* And what is not: after each stop it goes on as if the call had not been. */
static void wrong_feeds(void) {
  const int lines[2] = { 10, 4 };
  edf_array a = edf_new_array(2, lines), part = edf_rows(a, 2, 4), view;
  Input *x = edf_input("x[b,4]");
  Parameter *p = edf_parameter("p[4]");
  CompNode *ell = Mean(Square(Sub(x, p)));
  memset(a.value, 0, 40 * sizeof(edf_real));
  TRY(edf_feed(x, a.value + 4, 10));
  CHECK(panicked && strstr(caught, "the data has 36 numbers, expected 40 for 10 rows"), "%s",
        caught);
  edf_feed(x, a.value + 1, 2);
  TRY(edf_feed(x, a.value + 3, 2));
  CHECK(panicked && strstr(caught, "begins at entry 3 of an array, inside a row of 4 entries: "
                                   "2 behind the last feed of 2 rows; * 4 is missing\n  Input"),
        "%s", caught);
  TRY(edf_free_array(&part));
  CHECK(panicked && strstr(caught, "rows of another") && part.value, "%s", caught);
  view = edf_view(p);
  TRY(edf_free_array(&view));
  CHECK(panicked && strstr(caught, "the array is a view of a node, which has its memory\n  "
                                   "Parameter \"p\""), "%s", caught);
  edf_forward();
  edf_free_array(&a);
  TRY(edf_backward(ell));
  CHECK(panicked && strstr(caught, "edf_backward: the array that an input was fed was freed by "
                                   "edf_free_array meanwhile\n  Input \"x\""), "%s", caught);
  TRY(edf_forward());
  CHECK(panicked && strstr(caught, "edf_forward: the array"), "%s", caught);
  edf_clear();
}

static void batches_of_rows(void) {
  edf_real rows[20], labels[10];
  for (int training = 1; training >= 0; training--) {
    edf_array X = { 2, { 10, 2 }, 20, rows }, Y = { 1, { 10 }, 10, labels };
    edf_all all;
    int n = 0, moved = 0, sizes = 0, seen[10] = { 0 };
    Input *x = edf_input("x[b,2]"), *y = edf_input("y[b]");
    CompNode *s = Einsum("s[b] = x[b,0] + y[b]", x, y);
    for (int i = 0; i < 20; i++) rows[i] = labels[i / 2] = (edf_real)(i / 2);
    edf_seed(3);
    edf.training = training;
    for (edf_batches(&all, x, X, y, Y, 4); edf_next(&all); n += all.rows) {
      Forward();
      sizes = 10 * sizes + all.rows;
      CHECK(edf_rows_fed(x) == all.rows && edf_rows_fed(y) == all.rows, "%d", all.rows);
      for (int b = 0; b < all.rows; b++) {
        int row = (int)y->value[b];
        seen[row]++;
        moved += row != n + b;
        CHECK(s->value[b] == (edf_real)(2 * row) && (int)x->value[2 * b + 1] == row, "%d", row);
      }
    }
    for (int i = 0; i < 10; i++) CHECK(seen[i] == 1, "row %d is fed %d times", i, seen[i]);
    CHECK(n == 10 && sizes == 442 && (moved > 5) == training, "%d, %d", sizes, moved);
    CHECK(edf.draws == (training ? 9u : 0u), "%llu draws", edf.draws);
    CHECK(!edf_next(&all) && !edf_next(&all), "none is left");
    n = 0;
    for (edf_batches(&all, x, X, NULL, X, 100); edf_next(&all); ) n += all.rows;
    CHECK(n == 10, "%d rows in one batch", n);
    edf_clear();
  }
  edf.training = 1;
}

static void wrong_batches(void) {
  edf_real v[12] = { 0 };
  edf_array X = { 2, { 4, 3 }, 12, v }, Y = { 1, { 3 }, 3, v }, column = { 2, { 4, 1 }, 4, v };
  edf_array none = { 2, { 4, 3 }, 12, NULL };
  edf_all all;
  Input *x = edf_input("x[b,3]"), *y = edf_input("y[b]"), *fixed = edf_input("f[4,3]");
#define SAYS(message, ...) \
  TRY(__VA_ARGS__); \
  CHECK(panicked && strstr(caught, message) == caught, "%s", caught)
  SAYS("edf_batches: the array has the shape [3], expected [4]\n  Input \"y\" [",
       edf_batches(&all, x, X, y, Y, 2));
  SAYS("edf_batches: the array has the shape [4, 1], expected [4]\n  Input \"y\" [",
       edf_batches(&all, x, X, y, column, 2));
  SAYS("edf_batches: the array has the shape [3], expected [3, 3]\n  Input \"x\" [",
       edf_batches(&all, x, Y, NULL, Y, 2));
  SAYS("edf_batches: the array has the shape [4, 3], expected [4, 3] of an Input with a batch",
       edf_batches(&all, fixed, X, NULL, X, 2));
  SAYS("edf_batches: 0 rows at a time, expected 1 or more",
       edf_batches(&all, x, X, NULL, X, 0));
  SAYS("edf_batches: the array has no numbers", edf_batches(&all, x, none, NULL, X, 2));
  SAYS("edf_batches: the node is NULL", edf_batches(&all, NULL, X, NULL, X, 2));
  edf_clear();
}

static void sets(void) {
  edf_real v[] = { 1, 2, 3, 4, 5, 6 };
  edf_array a = { 2, { 2, 3 }, 6, v }, b = { 2, { 3, 2 }, 6, v }, c = { 0, { 0 }, 1, v };
  Parameter *W = edf_parameter("W[2,3]"), *s = edf_parameter("s");
  edf_set(W, a);
  edf_set(s, c);
  edf_set(W, edf_view(W));
  for (int i = 0; i < 6; i++) CHECK(edf_value(W)[i] == v[i], "entry %d", i);
  CHECK(*edf_value(s) == 1, "a scalar");
  SAYS("edf_set: the array has the shape [3, 2], expected [2, 3]\n  Parameter \"W\" [2, 3]",
       edf_set(W, b));
  SAYS("edf_set: the array has the shape [2, 3], expected []\n  Parameter \"s\" scalar",
       edf_set(s, a));
  SAYS("edf_set: only a Parameter can", edf_set(edf_input("x[2,3]"), a));
  edf_clear();
}

static void mean_values(void) {
  edf_real v[] = { 1, 2, 3, 6, 100, 100 };
  Input *x = edf_input("x[b,2]"), *z = edf_input("z[b,2]");
  Parameter *p = edf_parameter("p");
  CompNode *y = Square(x);
  SAYS("edf_mean_value: it has no value for the last feed: call edf_forward\n  Input \"x\"",
       edf_mean_value(x));
  edf_feed(x, v, 2);
  edf_feed(z, v, 2);
  SAYS("edf_mean_value: it has no value for the last feed", edf_mean_value(y));
  Forward();
  CHECK(edf_mean_value(y) == 12.5 && edf_mean_value(x) == 3 && edf_mean_value(p) == 0, "%g",
        edf_mean_value(y));
  edf_feed(x, v, 1);
  CHECK(edf_mean_value(x) == 1.5, "of the rows fed: %g", edf_mean_value(x));
  SAYS("edf_mean_value: it has no value for the last feed: call edf_forward\n  Square",
       edf_mean_value(y));
  SAYS("edf_mean_value: the node is NULL", edf_mean_value(NULL));
  edf_clear();
}

int main(void) {
  make_directory("loaders");
  RUN(good_idx);
  RUN(bad_idx);
  RUN(whole_idx);
  RUN(without_memory);
  RUN(from_a_pipe);
  RUN(good_csv);
  RUN(bad_csv);
  RUN(headings_without_numbers);
  RUN(long_csv);
  RUN(no_file);
  RUN(counts_disagree);
  RUN(shuffling_keeps_rows_together);
  RUN(the_order_of_a_shuffle);
  RUN(error_rates);
  RUN(wrong_error_rates);
  RUN(error_rate_of_nan);
  RUN(rows_of_arrays);
  RUN(normal_columns);
  RUN(legal_feeds);
  RUN(wrong_feeds);
  RUN(batches_of_rows);
  RUN(wrong_batches);
  RUN(sets);
  RUN(mean_values);
  rmdir(dir);
  return harness_report();
}
