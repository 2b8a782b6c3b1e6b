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
      "%: byte 8: the header promises 5 entries, but 0 bytes follow" },
    { IDX, "one byte short", BYTES("\0\0\10\2\0\0\0\2\0\0\0\3abcde"),
      "%: byte 12: the header promises 6 entries, but 5 bytes follow" },
    { IDX, "one byte more", BYTES("\0\0\10\2\0\0\0\2\0\0\0\3abcdefg"),
      "%: byte 12: the header promises 6 entries, but 7 bytes follow" },
    { IDX, "a dimension over INT_MAX", BYTES("\0\0\10\1\377\377\377\377x"),
      "%: byte 4: dimension 0: expected 1 to 2147483647 entries, found 4294967295" },
    { IDX, "dimensions that overflow",
      BYTES("\0\0\10\3\177\377\377\377\177\377\377\377\177\377\377\377x"),
      "%: byte 16: the header promises at least 38654705646 entries, but 1 bytes follow" },
    { IDX, "dimensions that overflow to 0",
      BYTES("\0\0\10\4\100\0\0\0\100\0\0\0\100\0\0\0\100\0\0\0"),
      "%: byte 20: the header promises at least 22548578304 entries, but 0 bytes follow" },
    { IDX, "more than the file", BYTES("\0\0\10\1\77\0\0\0x"),
      "%: byte 8: the header promises 1056964608 entries, but 1 bytes follow" },
    { IDX, "a dimension of 0", BYTES("\0\0\10\2\0\0\0\0\0\0\0\3"),
      "%: byte 4: dimension 0: expected 1 to 2147483647 entries, found 0" },
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
  static const double numbers[] = { 0, 1, 128, 255, 9, 10 };
  file("good");
  write_bytes(BYTES("\0\0\10\3\0\0\0\2\0\0\0\1\0\0\0\3\0\1\200\377\11\12"));
  same(edf_load_images(path), 2, 2, 3, numbers, 255);
  edf_array a = edf_load_idx(path);
  CHECK(a.rank == 3 && a.dim[1] == 1 && a.dim[2] == 3, "not [2,1,3]");
  CHECK(a.value[3] == 255, "bytes are scaled");
  edf_free_array(&a);
  edf_free_array(&a);                                        /* twice does no harm */
  write_bytes(BYTES("\0\0\10\1\0\0\0\6\0\1\200\377\11\12"));
  same(edf_load_labels(path), 1, 6, 1, numbers, 1);
  remove(path);
}

/* ---- CSV */

static void bad_csv(void) {
  static const bad table[] = {
    { CSV, "empty", BYTES(""),
      "%: byte 0: line 1: expected at least one row of numbers" },
    { CSV, "newlines", BYTES("\n\n\n"),
      "%: byte 3: line 4: expected at least one row of numbers" },
    { CSV, "heading alone", BYTES("height,weight\n"),
      "%: byte 14: line 2: expected at least one row of numbers" },
    { CSV, "ragged, short", BYTES("1,2,3\n4,5\n"),
      "%: byte 9: line 2: expected 3 numbers as in the first row, found 2" },
    { CSV, "ragged, long", BYTES("1,2\n3,4\n5,6,7\n"),
      "%: byte 13: line 3: expected 2 numbers as in the first row, found 3" },
    { CSV, "a word", BYTES("1,2\n3,four\n"),
      "%: byte 6: line 2: expected a number" },
    { CSV, "a word behind a number", BYTES("1,2\n3,4 apples\n"),
      "%: byte 8: line 2: expected ',' or the end of the line" },
    { CSV, "two headings", BYTES("a,b\nc,d\n1,2\n"),
      "%: byte 4: line 2: expected a number" },
    { CSV, "an empty field", BYTES("1,2\n3,\n"),
      "%: byte 6: line 2: expected a number" },
    { CSV, "an empty first field", BYTES("1,2\n,4\n"),
      "%: byte 4: line 2: expected a number" },
    { CSV, "too large", BYTES("1,2\n3,1e999\n"),
      "%: byte 6: line 2: the number is too large" },
    { CSV, "semicolons", BYTES("1;2\n3;4\n"),
      "%: byte 1: line 1: expected ',' or the end of the line" },
    { CSV, "not a number", BYTES("1,2\n3,nan\n"),
      "%: byte 6: line 2: expected a number" },
    { CSV, "infinite", BYTES("1,2\n-inf,4\n"),
      "%: byte 4: line 2: expected a number" },
    { CSV, "hexadecimal", BYTES("1,2\n3,0x10\n"),
      "%: byte 7: line 2: expected ',' or the end of the line" },
    { CSV, "a zero byte", BYTES("1,2\n3,\0004\n"),
      "%: byte 6: line 2: expected a number" },
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
    { CSV, "empty lines at the end", BYTES("1,-2.5\n3e2,4\n5,.0625\n\n\r\n"), "" },
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    file(table[i].name);
    write_bytes(table[i].bytes, table[i].n);
    same(edf_load_csv(path), 2, 3, 2, numbers, 1);
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
  static edf_array x, y;
  file("rows");
  x = rows(BYTES("\0\0\10\2\0\0\0\3\0\0\0\2abcdef"));
  y = rows(BYTES("\0\0\10\1\0\0\0\2ab"));
  TRY(edf_shuffle(&x, &y));
  CHECK(panicked && strstr(caught, "3") && strstr(caught, "2"), "3 and 2 rows: %s", caught);
  edf_free_array(&x);
  edf_free_array(&y);
  remove(path);
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
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

int main(void) {
  make_directory("loaders");
  RUN(good_idx);
  RUN(bad_idx);
  RUN(good_csv);
  RUN(bad_csv);
  RUN(long_csv);
  RUN(no_file);
  RUN(counts_disagree);
  RUN(shuffling_keeps_rows_together);
  rmdir(dir);
  return harness_report();
}
