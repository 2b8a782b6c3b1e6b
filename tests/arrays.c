/* Arrays as files, pictures and text: every byte that is written, every entry that is read, and
   what is refused at its bounds.

   Built as: float double none sanitized shim */
#include "temporary.h"
#include "edf_lab.h"
#include <limits.h>
#include <stdint.h>

static unsigned char found[400000], expected[400000];
static size_t n_found, n_expected;

static void read_found(void) {
  FILE *f = fopen(path, "rb");
  n_found = f ? fread(found, 1, sizeof found, f) : 0;
  if (f) fclose(f);
  remove(path);
}

static void same_bytes(const char *what) {
  size_t i = 0;
  CHECK(n_found == n_expected, "%s: %zu bytes, not %zu", what, n_found, n_expected);
  while (i < n_found && i < n_expected && found[i] == expected[i]) i++;
  CHECK(i == n_found, "%s: byte %zu of %zu is %d, not %d", what, i, n_found, found[i],
        expected[i]);
}

static void put(const char *bytes, size_t n) {
  memcpy(expected + n_expected, bytes, n);
  n_expected += n;
}

static void put_big(unsigned long n) {
  for (int k = 3; k >= 0; k--) expected[n_expected++] = (unsigned char)(n >> 8 * k & 255);
}

/* A panic with this message, whole. */
#define SAYS(message, ...)                                                       \
  do {                                                                           \
    TRY(__VA_ARGS__);                                                            \
    CHECK(panicked && !strcmp(caught, message), "\n     found: %s\n  expected: %s", caught, \
          message);                                                              \
  } while (0)

/* ---- .npy */

static edf_real values[2100];

/* 64 bytes or 128 with the header, then the numbers, little-endian. */
static void npy_bytes(void) {
  static const char *const shape[] = { "()", "(5,)", "(2, 3)", "(1, 2, 1, 1, 2, 1, 1, 3)" };
  static const int dim[][8] = { { 0 }, { 5 }, { 2, 3 }, { 1, 2, 1, 1, 2, 1, 1, 3 } };
  static const int rank[] = { 0, 1, 2, 8 }, size[] = { 1, 5, 6, 12 };
  for (int k = 0; k < 4; k++) {
    edf_array a = { rank[k], { 0 }, (size_t)size[k], values };
    memcpy(a.dim, dim[k], sizeof dim[k]);
    for (int i = 0; i < size[k]; i++) values[i] = (edf_real)(i - 3) / 4;
    edf_save_npy(file("bytes.npy"), a);
    char header[200];
    int n = sprintf(header, "{'descr': '<f%d', 'fortran_order': False, 'shape': %s, }",
                    (int)sizeof(edf_real), shape[k]);
    n_expected = 0;
    put("\x93NUMPY\1\0\x76\0", 10);
    put(header, (size_t)n);
    while (n_expected < 127) put(" ", 1);
    put("\n", 1);
    put((const char *)values, (size_t)size[k] * sizeof *values);
    read_found();
    same_bytes(shape[k]);
  }
}

/* Around 4096 bytes, the pieces in which the C library writes. */
static void npy_in_pieces(void) {
  static const int sizes[] = { 511, 512, 513, 1024, 1025, 2049 };
  int fd = lowest_free_fd();
  for (int k = 0; k < 6; k++) {
    edf_array a = { 1, { sizes[k] }, (size_t)sizes[k], values };
    for (int i = 0; i < sizes[k]; i++) values[i] = (edf_real)(i * i);
    edf_save_npy(file("pieces.npy"), a);
    edf_array b = edf_load_npy(path);
    CHECK(b.rank == 1 && b.size == a.size, "%zu numbers", b.size);
    CHECK(!memcmp(a.value, b.value, a.size * sizeof *a.value), "of %d", sizes[k]);
    edf_free_array(&b);
  }
  CHECK(lowest_free_fd() == fd, "a file is open");
  remove(path);
}

/* A header of this text, of this version: 2 and 3 have four bytes for its length. */
static void put_npy(int version, const char *header, size_t n, const char *data, size_t size) {
  n_expected = 0;
  put("\x93NUMPY", 6);
  expected[n_expected++] = (unsigned char)version;
  put("", 1);
  for (int k = 0; k < (version > 1 ? 4 : 2); k++)
    expected[n_expected++] = (unsigned char)(n >> 8 * k & 255);
  put(header, n);
  put(data, size);
  write_bytes((const char *)expected, n_expected);
}

/* The ends of each type. */
static void npy_types(void) {
  static const struct { const char *type, *bytes; size_t n; double expected; } table[] = {
    { "|i1", BYTES("\200"), -128 }, { "|i1", BYTES("\177"), 127 },
    { "|u1", BYTES("\377"), 255 },
    { "<i2", BYTES("\0\200"), -32768 }, { ">i2", BYTES("\177\377"), 32767 },
    { "=u2", BYTES("\1\2"), 513 }, { ">u4", BYTES("\1\2\3\4"), 16909060 },
    { "<i4", BYTES("\0\0\0\200"), -2147483648.0 }, { "<u4", BYTES("\0\0\0\200"), 2147483648.0 },
    { "<i8", BYTES("\0\0\0\0\0\0\0\200"), -9223372036854775808.0 },
    { ">i8", BYTES("\0\0\0\1\0\0\0\0"), 4294967296.0 },
    { ">u8", BYTES("\200\0\0\0\0\0\0\0"), 9223372036854775808.0 },
    { "<f4", BYTES("\0\0\300\277"), -1.5 }, { ">f8", BYTES("\100\10\0\0\0\0\0\0"), 3 },
    { "|b1", BYTES("\1"), 1 },
  };
  for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
    const char *header = edf_fmt("{'descr': '%s', 'fortran_order': False, 'shape': ()}",
                                 table[k].type);
    put_npy((file("type.npy"), 1 + (int)k % 3), header, strlen(header), table[k].bytes,
            table[k].n);
    edf_array a = edf_load_npy(path);
    CHECK(a.rank == 0 && a.size == 1 && (double)a.value[0] == table[k].expected, "%s: %g",
          table[k].type, (double)a.value[0]);
    edf_free_array(&a);
  }
  remove(path);
}

#define TYPES "%: byte 10: expected numbers of type f4, f8, i1 to i8, u1 to u8 or b1, found "
#define OF(type) "{'descr': " type ", 'fortran_order': False, 'shape': (3,), }"
#define SHAPE(shape) "{'descr': '|u1', 'fortran_order': False, 'shape': " shape ", }"

static void npy_refused(void) {
  static const struct { const char *header, *message; } table[] = {
    { OF("'f4'"), TYPES "'f4'" }, { OF("'<f2'"), TYPES "'<f2'" },
    { OF("'<f1'"), TYPES "'<f1'" }, { OF("'<i3'"), TYPES "'<i3'" },
    { OF("'|b2'"), TYPES "'|b2'" }, { OF("'?u1'"), TYPES "'?u1'" },
    { OF("'|u1"), TYPES "'|u1" }, { OF("|u1'"), TYPES "|u1'" },
    { OF("'|u16'"), TYPES "'|u16'" }, { OF("'|x1'"), TYPES "'|x1'" },
    { "{'descr': '|", TYPES "'|" }, { "{'descr': '", TYPES "'" },
    { "{'descr': '|u1'}", "%: byte 10: expected a header with 'fortran_order':" },
    { "{'descr':   '|u1', 'fortran_order':False}",
      "%: byte 10: expected a header with 'shape':" },
    { "{'descr': '|u1', 'fortran_order': Fals",
      "%: byte 10: the array is in Fortran order: save np.ascontiguousarray(x)" },
    { SHAPE("(2147483647,)"),
      "%: byte 76: the header promises 2147483647 bytes of numbers, but 0 follow" },
    { SHAPE("(1,2147483648)"),
      "%: byte 10: dimension 1: expected 1 to 2147483647 entries, found 2147483648" },
    { SHAPE("(21474836470,)"),
      "%: byte 10: dimension 0: expected 1 to 2147483647 entries, found 21474836470" },
    { SHAPE("(99999999999,)"),
      "%: byte 10: dimension 0: expected 1 to 2147483647 entries, found 9999999999" },
    { SHAPE("(7, 10)"), "%: byte 70: the header promises 70 bytes of numbers, but 0 follow" },
    { SHAPE("(70, 2)"),
      "%: byte 70: the header promises 140 bytes of numbers, but 0 follow" },
    { SHAPE("(71, 2)"),
      "%: byte 70: the header promises at least 71 bytes of numbers, but 0 follow" },
    { SHAPE("(1 x)"), "%: byte 10: expected a shape as in (3, 4)" },
  };
  for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
    static edf_array a;
    put_npy((file(edf_fmt("bad%d.npy", (int)k)), 1), table[k].header, strlen(table[k].header),
            "", 0);
    REFUSED(table[k].message, a = edf_load_npy(path));
    if (!panicked) edf_free_array(&a);
    remove(path);
  }
}

/* The longest header has 4095 bytes; a length has two bytes, or four. */
static void npy_headers(void) {
  static char header[4200];
  static edf_array a;
  memset(header, ' ', sizeof header);
  memcpy(header, SHAPE("(2,)"), strlen(SHAPE("(2,)")));
  put_npy((file("long.npy"), 2), header, 4095, "\3\4", 2);
  a = edf_load_npy(path);
  CHECK(a.size == 2 && a.value[0] == 3 && a.value[1] == 4, "%zu numbers", a.size);
  edf_free_array(&a);
  put_npy(2, header, 4096, "\3\4", 2);
  REFUSED("%: byte 8: expected a header of less than 4096 bytes, found 4096",
          a = edf_load_npy(path));
  write_bytes(BYTES("\x93NUMPY\3\0\4\3\2\1{"));
  REFUSED("%: byte 8: expected a header of less than 4096 bytes, found 16909060",
          a = edf_load_npy(path));
  write_bytes(BYTES("\x93NUMPY\2\0\1\0"));
  REFUSED("%: byte 10: expected 2 more bytes, but the file has 10: it ended early",
          a = edf_load_npy(path));
  write_bytes(BYTES("\x93NUMPY\2\0\5\0\0\0{"));
  REFUSED("%: byte 12: expected 5 more bytes, but the file has 13: it ended early",
          a = edf_load_npy(path));
  write_bytes(BYTES("\x93NUMPY\0\0\1\0{"));
  REFUSED("%: byte 6: expected version 1 to 3, found 0", a = edf_load_npy(path));
  put_npy(1, header, 118, "\3\4", 2);
  memory.until_failure = 1;
  REFUSED("%: out of memory for 1024 bytes", a = edf_load_npy(path));
  memory.until_failure = 2;
  REFUSED("%: out of memory for 2 entries", a = edf_load_npy(path));
  memory.until_failure = 0;
  remove(path);
}

static void arrays_refused(void) {
  edf_array none = { 1, { 1 }, 1, NULL }, wrong = { 2, { 2, 3 }, 5, values };
  edf_array rank9 = { 9, { 1, 1, 1, 1, 1, 1, 1, 1 }, 1, values };
  edf_array below = { -1, { 1 }, 1, values };
  edf_array right = { 1, { 1 }, 1, values };
  SAYS("edf_save_npy: the array has no numbers", edf_save_npy("x.npy", none));
  SAYS("edf_save_npy: the array has a size that is not the product of its dimensions",
       edf_save_npy("x.npy", wrong));
  SAYS("edf_save_npy: the array has a size that is not the product of its dimensions",
       edf_save_npy("x.npy", rank9));
  SAYS("edf_save_npy: the array has a size that is not the product of its dimensions",
       edf_save_npy("x.npy", below));
  SAYS("edf: the path of a file to write is NULL", edf_save_npy(NULL, right));
  mkdir(file("taken.npy"), 0777);
  TRY(edf_save_npy(path, right));
  CHECK(panicked && !strcmp(caught, edf_fmt("%s: cannot be written: %s", path,
                                            strerror(EISDIR))), "%s", caught);
  CHECK(access(edf_fmt("%s.tmp", path), F_OK) != 0, "a file is left");
  long before = memory.live;
  TRY(edf_save_npy("no/such/place.npy", right));
  CHECK(panicked && memory.live == before, "%ld blocks more", memory.live - before);
  rmdir(path);
  SAYS("(no path): cannot be opened: it is NULL", edf_load_npy(NULL));
  edf_clear();
}

/* What a node has now: of a parameter, of what was computed, of the rows that were fed. */
static void views(void) {
  Parameter *W = edf_parameter("W[2,3,4]");
  Input *x = edf_input("x[b,2]");
  for (int i = 0; i < 24; i++) W->value[i] = (edf_real)i;
  edf_push(W);
  edf_feed(x, W->value, 3);
  CompNode *y = Einsum("y[b] = x[b,I]", x);
  Forward();
  edf_array a = edf_view(W), b = edf_view(y), c = edf_view(x), d = edf_view(edf_parameter("p"));
  CHECK(a.rank == 3 && a.dim[0] == 2 && a.dim[1] == 3 && a.dim[2] == 4 && !a.dim[3] &&
        a.size == 24 && a.value == W->value, "of a parameter: %zu", a.size);
  CHECK(b.rank == 1 && b.dim[0] == 3 && b.size == 3 && b.value[2] == 9, "%zu", b.size);
  CHECK(c.rank == 2 && c.dim[0] == 3 && c.dim[1] == 2 && c.size == 6, "%zu", c.size);
  TRY(edf_view(NULL));
  CHECK(panicked && strstr(caught, "edf_view: "), "%s", caught);
  CHECK(d.rank == 0 && d.size == 1 && !d.dim[0], "of a scalar: %zu", d.size);
  edf_clear();
}

/* ---- Pictures */

static unsigned long crc_from(size_t at) {
  unsigned long crc = 0xffffffffu;
  for (; at < n_expected; at++) {
    crc ^= expected[at];
    for (int k = 0; k < 8; k++) crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
  }
  return crc ^ 0xffffffffu;
}

/* A PNG of these bytes: its pixels are stored, a block a row. */
static void expect_png(int rows, int columns, int channels, const unsigned char *byte) {
  unsigned long s1 = 1, s2 = 0, row = (unsigned long)(columns * channels), n = row + 1;
  n_expected = 0;
  put("\x89PNG\r\n\x1a\n\0\0\0\15IHDR", 16);
  put_big((unsigned long)columns);
  put_big((unsigned long)rows);
  put(channels == 3 ? "\10\2\0\0\0" : "\10\0\0\0\0", 5);
  put_big(crc_from(12));
  put_big(2 + (unsigned long)rows * (n + 5) + 4);
  size_t data = n_expected;
  put("IDATx\1", 6);
  for (int y = 0; y < rows; y++) {
    unsigned char head[6] = { y == rows - 1, n & 255, n >> 8 & 255, ~n & 255, ~n >> 8 & 255 };
    put((const char *)head, 6);
    put((const char *)byte + (size_t)y * row, row);
    for (unsigned long i = 0; i <= row; i++) {
      s1 = (s1 + (i ? byte[(size_t)y * row + i - 1] : 0)) % 65521;
      s2 = (s2 + s1) % 65521;
    }
  }
  put_big(s2 << 16 | s1);
  put_big(crc_from(data));
  put("\0\0\0\0IEND\xae\x42\x60\x82", 12);
}

static void expect_pnm(int rows, int columns, int from, int to, const unsigned char *byte) {
  n_expected = (size_t)sprintf((char *)expected, "P%c\n%d %d\n255\n", to == 3 ? '6' : '5',
                               columns, rows);
  for (int i = 0; i < rows * columns; i++)
    for (int c = 0; c < to; c++)
      expected[n_expected++] = byte[i * from + (from == 3 ? c : 0)];
}

/* Grey and in colours, of rows with more than 255 bytes too, and more than 65521 in sum. */
static void whole_pictures(void) {
  static edf_real pixel[3 * 300 * 3];
  static unsigned char byte[3 * 300 * 3];
  static const int shape[][4] = { { 2, 1, 2, 0 }, { 3, 3, 300, 3 }, { 3, 2, 5, 1 }, { 2, 1, 1 },
                                  { 3, 1, 2, 3 }, { 2, 3, 255 } };
  for (size_t i = 0; i < sizeof byte; i++) {
    byte[i] = (unsigned char)(i < 9 ? i * 31 : 255 - i % 50);
    pixel[i] = (edf_real)byte[i] / 255;
  }
  for (int k = 0; k < 6; k++) {
    const int *d = shape[k], channels = d[0] == 3 ? d[3] : 1;
    edf_array a = { d[0], { d[1], d[2], d[3] }, (size_t)(d[1] * d[2] * channels), pixel };
    edf_save_image(file("whole.png"), a);
    read_found();
    expect_png(d[1], d[2], channels, byte);
    same_bytes("png");
    edf_save_image(file("whole.ppm"), a);
    read_found();
    expect_pnm(d[1], d[2], channels, 3, byte);
    same_bytes("ppm");
    if (channels == 3) continue;
    edf_save_image(file("whole.pgm"), a);
    read_found();
    expect_pnm(d[1], d[2], 1, 1, byte);
    same_bytes("pgm");
  }
}

/* To the nearest of 256. */
static void pixels_are_rounded(void) {
  static const double v[] = { 0.0019, 0.002, 0.4999, 0.5, 0.998, 0.9981, 1, 0, -0.0001, 1.5 };
  static const unsigned char byte[] = { 0, 1, 127, 128, 254, 255, 255, 0, 0, 255 };
  for (int i = 0; i < 10; i++) values[i] = (edf_real)v[i];
  edf_array a = { 2, { 2, 5 }, 10, values };
  edf_save_image(file("round.pgm"), a);
  read_found();
  expect_pnm(2, 5, 1, 1, byte);
  same_bytes("rounded");
}

static void pictures_refused(void) {
  static edf_real row[65535];
  edf_array wide = { 2, { 1, 65534 }, 65534, row }, wider = { 2, { 1, 65535 }, 65535, row };
  edf_array two = { 3, { 1, 1, 2 }, 2, row }, four = { 4, { 1, 1, 1, 1 }, 1, row };
  edf_array scalar = { 0, { 0 }, 1, row }, rgb = { 3, { 1, 21845, 3 }, 65535, row };
#define SHAPES "expected [rows, columns], or with 1 or 3 channels, found "
  SAYS("edf_save_image: x.png: " SHAPES "3 dimensions, the last of 2",
       edf_save_image("x.png", two));
  SAYS("edf_save_image: x.ppm: " SHAPES "4 dimensions, the last of 1",
       edf_save_image("x.ppm", four));
  SAYS("edf_save_image: x.pgm: " SHAPES "0 dimensions, the last of 1",
       edf_save_image("x.pgm", scalar));
  SAYS("edf_save_image: NULL: expected a name that ends in .png, .pgm or .ppm",
       edf_save_image(NULL, wide));
  SAYS("edf_save_image: png: expected a name that ends in .png, .pgm or .ppm",
       edf_save_image("png", wide));
  SAYS("edf_save_image: x.png: a row of a .png has at most 65534 bytes here",
       edf_save_image("x.png", wider));
  SAYS("edf_save_image: x.png: a row of a .png has at most 65534 bytes here",
       edf_save_image("x.png", rgb));
  SAYS("edf_save_image: x.pgm: a .pgm is grey, but the array has 3 channels",
       edf_save_image("x.pgm", rgb));
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
  edf_save_image(file("wide.png"), wide);
  read_found();
  CHECK(n_found == 8 + 25 + 12 + 2 + 65540 + 4 + 12, "%zu bytes", n_found);
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
}

static void pictures_of_others(void) {
  static const struct { const char *bytes; size_t n; int rank; double value[6]; } table[] = {
    { BYTES("P2 3 2 1 0 1 0 1 1 0"), 2, { 0, 1, 0, 1, 1, 0 } },
    { BYTES("P3\n# a #\n1 \t2 \r255 #c\n0 51 102\n153 204 255 9"), 3,
      { 0, .2, .4, .6, .8, 1 } },
    { BYTES("P6 2 1 255\n\0\63\146\231\314\377"), 3, { 0, .2, .4, .6, .8, 1 } },
    { BYTES("P5 1 6 65535 \0\0\63\63\146\146\231\231\314\314\377\377"), 2,
      { 0, .2, .4, .6, .8, 1 } },
    { BYTES("P5 6 1 255\n\0\63\146\231\314\377"), 2, { 0, .2, .4, .6, .8, 1 } },
    { BYTES("P5 6 1 256\n\0\0\0\63\0\146\1\0\0\377\0\1"), 2,
      { 0, 51 / 256., 102 / 256., 1, 255 / 256., 1 / 256. } },
  };
  for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
    write_bytes((file("o.ppm"), table[k].bytes), table[k].n);
    int fd = lowest_free_fd();
    edf_array a = edf_load_image(path);
    CHECK(lowest_free_fd() == fd, "%zu: a file is open", k);
    CHECK(a.rank == table[k].rank && a.size == 6, "%zu: rank %d, size %zu", k, a.rank, a.size);
    CHECK(a.dim[0] * a.dim[1] == (a.rank == 3 ? 2 : 6), "%zu: %d columns", k, a.dim[1]);
    CHECK(a.dim[2] == (a.rank == 3 ? 3 : 0), "%zu: %d colours", k, a.dim[2]);
    CHECK(a.dim[0] == (int)"\2\2\1\6\1\1"[k], "%zu: %d rows", k, a.dim[0]);
    for (int i = 0; i < 6; i++) CLOSE(a.value[i], table[k].value[i], 1e-6, 0);
    edf_free_array(&a);
  }
  remove(path);
}

#define NO_PICTURE "%: byte 0: expected a PGM or PPM file, which begins with P2, P3, P5 or P6"

static void bad_pictures(void) {
  static const struct { const char *bytes; size_t n; const char *message; } table[] = {
    { BYTES("Q5 1 1 1 x"), NO_PICTURE }, { BYTES("P7 1 1 1 x"), NO_PICTURE },
    { BYTES("P"), NO_PICTURE }, { BYTES("P\0 1 1 9 1"), NO_PICTURE },
    { BYTES("P5 268435455 1 1 x"),
      "%: byte 17: 268435455 x 1 pixels need 268435455 bytes, but 1 follow" },
    { BYTES("P6 1 268435456 1 x"), "%: byte 5: expected the number of rows from 1 to "
      "268435455, found 268435456 or more" },
    { BYTES("P5 1 1 0 x"), "%: byte 7: expected the greatest number from 1 to 65535, found 0" },
    { BYTES("P3 2 1 255\n1 2 3 4 5 "),
      "%: byte 11: 2 x 1 pixels need 12 bytes, but 10 follow" },
    { BYTES("P3 2 1 255\n1 2 3 4 5 #"), "%: byte 22: expected a pixel, found the end" },
    { BYTES("P5 1 1 1"), "%: byte 8: 1 x 1 pixels need 1 bytes, but 0 follow" },
    { BYTES("P5 1"), "%: byte 4: expected the number of rows, found the end" },
    { BYTES("P5 1 /1 1 x"), "%: byte 5: expected the number of rows, found no number" },
    { BYTES("P5 1 :1 1 x"), "%: byte 5: expected the number of rows, found no number" },
    { BYTES("P5 1 3 300\n\0\1\1\54\1\55"),
      "%: byte 15: expected a pixel from 0 to 300, found 301" },
    { BYTES("P2 1 1 255 2550"),
      "%: byte 11: expected a pixel from 0 to 255, found 2550 or more" },
    { BYTES("P2 1 1 65535 65536"),
      "%: byte 13: expected a pixel from 0 to 65535, found 65536 or more" },
  };
  for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
    static edf_array a;
    write_bytes((file(edf_fmt("bad%d.pgm", (int)k)), table[k].bytes), table[k].n);
    REFUSED(table[k].message, a = edf_load_image(path));
    if (!panicked) edf_free_array(&a);
    remove(path);
  }
}

/* ---- Sheets of pictures */

/* A height, or a width, that an int cannot hold. No number of the array is read. */
static void sheets_too_large(void) {
  static edf_real v[4];
  static edf_array s;
  edf_array a = { 3, { 644119, 1, 1 }, 644119, v }, most = { 3, { 2147483647, 1, 1 }, 1, v };
  SAYS("edf_contact_sheet: 644119 pictures, 1 in a row, are a sheet of 4294987160 x 8336: "
       "expected 2147483647 at most", s = edf_contact_sheet(a, 1, 5000, 0, 1));
  SAYS("edf_contact_sheet: 644119 pictures, 644119 in a row, are a sheet of 8336 x 4294987160: "
       "expected 2147483647 at most", s = edf_contact_sheet(a, 700000, 5000, 0, 1));
  SAYS("edf_contact_sheet: 2147483647 pictures, 2147483647 in a row, are a sheet of 5 x "
       "6442450943: expected 2147483647 at most", s = edf_contact_sheet(most, 2147483647, 1, 0,
                                                                        1));
  CHECK(!s.value && memory.live == 0, "%ld blocks are left", memory.live);
}

/* Picture k of n, in colours or grey: where it lies, and white around it. */
static void whole_sheet(int n, int h, int w, int c, int columns, int zoom) {
  edf_array a = { c > 1 ? 4 : 3, { n, h, w, c > 1 ? c : 0 }, (size_t)(n * h * w * c), values };
  int gap = 2 + zoom / 3, used = columns < n || !n ? columns : n;
  int down = h * zoom + gap, right = w * zoom + gap;
  int rows = (n + used - 1) / used * down + gap, wide = used * right + gap;
  for (int i = 0; i < n * h * w * c; i++) values[i] = (edf_real)(i * 2 + 1);
  edf_array s = edf_contact_sheet(a, columns, zoom, 1, 5);
  CHECK(s.rank == a.rank - 1 && s.dim[0] == rows && s.dim[1] == wide &&
        s.dim[2] == (c > 1 ? c : 0) && s.size == (size_t)(rows * wide * c), "%d x %d x %d",
        s.dim[0], s.dim[1], s.dim[2]);
  for (int i = 0; i < rows * wide * c; i++) {
    int y = i / c / wide - gap, x = i / c % wide - gap;
    int k = y < 0 || x < 0 ? -1 : y / down * used + x / right;
    int inside = k >= 0 && k < n && y % down < h * zoom && x % right < w * zoom;
    int from = inside ? ((k * h + y % down / zoom) * w + x % right / zoom) * c + i % c : 0;
    CHECK(s.value[i] == (edf_real)(inside ? from / 2.0 : 1.0), "%d of %d: %g", i, n,
          (double)s.value[i]);
  }
  edf_free_array(&s);
}

static void whole_sheets(void) {
  whole_sheet(5, 2, 3, 1, 2, 1);
  whole_sheet(4, 1, 2, 3, 2, 3);
  whole_sheet(2, 3, 1, 1, 9, 2);
  whole_sheet(1, 1, 1, 2, 1, 6);
  whole_sheet(3, 2, 2, 3, 3, 1);
  whole_sheet(0, 2, 2, 1, 2, 1);
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
}

static void sheets_refused(void) {
  static edf_real v[20001];
  static edf_array s;
  const edf_real nan = (edf_real)NAN;
  edf_array a = { 3, { 1, 1, 1 }, 1, v }, plane = { 2, { 1, 1 }, 1, v }, empty = a;
  edf_array five = { 5, { 1, 1, 1, 1, 1 }, 1, v }, high = { 3, { 1, 20000, 1 }, 20000, v };
  edf_array wide = { 3, { 1, 1, 20001 }, 20001, v };
#define FORM "edf_contact_sheet: expected [pictures, rows, columns], or with channels, found "
#define MORE ": expected 1 or more, 1 or more, and a range"
  SAYS(FORM "2 dimensions", s = edf_contact_sheet(plane, 1, 1, 0, 1));
  SAYS(FORM "5 dimensions", s = edf_contact_sheet(five, 1, 1, 0, 1));
  SAYS("edf_contact_sheet: 0 in a row, enlarged 1 times, from 0 to 1" MORE,
       s = edf_contact_sheet(a, 0, 1, 0, 1));
  SAYS("edf_contact_sheet: 1 in a row, enlarged 0 times, from 0 to 1" MORE,
       s = edf_contact_sheet(a, 1, 0, 0, 1));
  SAYS("edf_contact_sheet: 1 in a row, enlarged 1 times, from 2 to 2" MORE,
       s = edf_contact_sheet(a, 1, 1, 2, 2));
  TRY(s = edf_contact_sheet(a, 1, 1, nan, 1));
  CHECK(panicked && strstr(caught, "and a range"), "%s", caught);
  SAYS("edf_contact_sheet: pictures of 1 x 20001, enlarged 1 times, are larger than 20000",
       s = edf_contact_sheet(wide, 1, 1, 0, 1));
  SAYS("edf_contact_sheet: pictures of 20000 x 1, enlarged 2 times, are larger than 20000",
       s = edf_contact_sheet(high, 1, 2, 0, 1));
  wide.dim[2] = (int)--wide.size;
  SAYS("edf_contact_sheet: pictures of 1 x 20000, enlarged 2 times, are larger than 20000",
       s = edf_contact_sheet(wide, 1, 2, 0, 1));
  s = edf_contact_sheet(wide, 1, 1, 0, 1);
  CHECK(s.dim[0] == 5 && s.dim[1] == 20004, "%d x %d", s.dim[0], s.dim[1]);
  edf_free_array(&s);
  s = edf_contact_sheet(high, 1, 1, 0, 1);
  CHECK(s.dim[0] == 20004 && s.dim[1] == 5, "%d x %d", s.dim[0], s.dim[1]);
  edf_free_array(&s);
  empty.value = NULL;
  SAYS("edf_contact_sheet: the array has no numbers", s = edf_contact_sheet(empty, 1, 1, 0, 1));
  memory.until_failure = 1;
  SAYS("edf_contact_sheet: out of memory for 25 pixels", s = edf_contact_sheet(a, 1, 1, 0, 1));
  memory.until_failure = 0;
  edf_clear();
}

/* ---- Text */

static char letters[5000];

static void look_at(const edf_text *t, size_t n, const char *what) {
  int seen[256] = { 0 }, symbols = 0;
  for (size_t i = 0; i < n; i++) seen[(unsigned char)letters[i]] = 1;
  for (int c = 0; c < 256; c++) {
    CHECK(t->number[c] == (seen[c] ? symbols : -1), "%s: number of %d", what, c);
    if (seen[c]) CHECK(t->symbol[symbols] == (char)c, "%s: symbol %d", what, symbols);
    symbols += seen[c];
  }
  CHECK(t->symbols == symbols && t->classes.rank == 1 && t->classes.dim[0] == (int)n &&
        t->classes.size == n, "%s: %d symbols of %zu", what, t->symbols, t->classes.size);
  for (size_t i = 0; i < n && i < t->classes.size; i++)
    CHECK((int)t->classes.value[i] == t->number[(unsigned char)letters[i]], "%s: %zu", what, i);
}

/* All bytes are symbols; files of a length where memory is asked for anew. */
static void texts(void) {
  static const size_t length[] = { 1, 256, 1023, 1024, 1025, 2047, 2048, 2049, 5000 };
  for (size_t i = 0; i < sizeof letters; i++) letters[i] = (char)(255 - i * i % 256 + i / 256);
  for (size_t k = 0; k < sizeof length / sizeof *length; k++) {
    edf_text t = edf_text_of(letters, length[k]);
    look_at(&t, length[k], "edf_text_of");
    edf_free_text(&t);
    CHECK(!t.symbols && !t.classes.value && !t.number[65], "freed, it is empty");
    file("text");
    write_bytes(letters, length[k]);
    t = edf_load_text(path);
    look_at(&t, length[k], "edf_load_text");
    edf_free_text(&t);
  }
  for (int i = 0; i < 256; i++) letters[i] = (char)i;
  edf_text t = edf_text_of(letters, 256);
  look_at(&t, 256, "all");
  edf_free_text(&t);
  write_bytes(BYTES("\xef\xbb\xbfyes"));
  t = edf_load_text(path);
  CHECK(t.classes.size == 3 && t.symbols == 3 && t.symbol[0] == 'e', "a byte order mark");
  edf_free_text(&t);
  remove(path);
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
}

static void texts_refused(void) {
  static edf_text t;
  SAYS("edf_text_of: a text has 1 to 2147483647 bytes, found 0", t = edf_text_of("a", 0));
  SAYS("edf_text_of: a text has 1 to 2147483647 bytes, found 0", t = edf_text_of(NULL, 3));
  SAYS("edf_text_of: a text has 1 to 2147483647 bytes, found 2147483648",
       t = edf_text_of("a", 2147483648u));
  memory.until_failure = 1;
  SAYS("edf_text_of: out of memory for 2 entries", t = edf_text_of("ab", 2));
  file("text");
  write_bytes(BYTES("ab"));
  memory.until_failure = 1;
  REFUSED("%: out of memory for 1024 bytes", t = edf_load_text(path));
  memory.until_failure = 2;
  REFUSED("%: out of memory for 2 entries", t = edf_load_text(path));
  memory.until_failure = 0;
  remove(path);
  (void)t;
}

static void letters_refused(void) {
  edf_text t = edf_text_of("ab", 2);
  char text[8];
  edf_real k[3] = { 0, 1, 2 };
  SAYS("edf_encode: byte 1, 32, is not in the text", edf_encode(&t, "a b", 3, k));
  SAYS("edf_encode: byte 0, 33 or '!', is not in the text", edf_encode(&t, "!", 1, k));
  SAYS("edf_encode: byte 2, 126 or '~', is not in the text", edf_encode(&t, "ba~", 3, k));
  SAYS("edf_encode: byte 0, 127, is not in the text", edf_encode(&t, "\x7f", 1, k));
  SAYS("edf_encode: byte 0, 255, is not in the text", edf_encode(&t, "\xff", 1, k));
  k[0] = 0;
  k[1] = 1;
  memset(text, 'x', sizeof text);
  edf_decode(&t, k, 2, text);
  CHECK(!memcmp(text, "ab\0x", 4), "%.4s", text);
  static const double bad[] = { -1, 0.5, 2 };
  for (int i = 0; i < 3; i++) {
    k[1] = (edf_real)bad[i];
    SAYS(edf_fmt("edf_decode: number 1 is %g, expected a class from 0 to 1", bad[i]),
         edf_decode(&t, k, 2, text));
  }
  k[0] = (edf_real)NAN;
  TRY(edf_decode(&t, k, 2, text));
  CHECK(panicked && strstr(caught, "edf_decode: number 0 is "), "%s", caught);
  edf_free_text(&t);
}

/* The class in which a random number falls, between the sums of the shares. */
static void samples(void) {
  static const edf_real P[] = { 0, 3, 0, 4, 1, 0 }, one[] = { 2 }, none[] = { 0, 0, 0 };
  static const edf_real sure[] = { 0, (edf_real)INFINITY, 0 };
  for (int seed = 0; seed < 500; seed++) {
    edf_seed((unsigned)seed);
    double u = edf_below(1 << 30) / (double)(1 << 30) * 8;
    int expect = u < 3 ? 1 : u < 7 ? 3 : 4;
    edf_seed((unsigned)seed);
    int k = edf_sample(P, 6);
    CHECK(k == expect, "seed %d: %d, not %d", seed, k, expect);
  }
  CHECK(edf_sample(one, 1) == 0 && edf_sample(none, 3) == 0, "of one, and of none");
  CHECK(edf_sample(sure, 3) == 1, "the only one, and its sum is infinite");
}

int main(void) {
  make_directory("arrays");
  RUN(npy_bytes);
  RUN(npy_in_pieces);
  RUN(npy_types);
  RUN(npy_refused);
  RUN(npy_headers);
  RUN(arrays_refused);
  RUN(views);
  RUN(whole_pictures);
  RUN(pixels_are_rounded);
  RUN(pictures_refused);
  RUN(pictures_of_others);
  RUN(bad_pictures);
  RUN(whole_sheets);
  RUN(sheets_refused);
  RUN(sheets_too_large);
  RUN(texts);
  RUN(texts_refused);
  RUN(letters_refused);
  RUN(samples);
  rmdir(dir);
  return harness_report();
}
