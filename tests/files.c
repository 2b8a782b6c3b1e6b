/* What is written: .npy, pictures, text, saved models. What comes back is what was written, and
   a file that is broken, hostile or another model's is refused and changes nothing.

   Built as: float double none sanitized valgrind shim */

#include "temporary.h"
#include "edf_lab.h"

static void read_bytes(char *bytes, size_t n, size_t *length) {
  FILE *f = fopen(path, "rb");
  if (!f) abort();
  *length = fread(bytes, 1, n, f);
  fclose(f);
}

static void no_temporary_is_left(void) {
  char temporary[160];
  snprintf(temporary, sizeof temporary, "%s.tmp", path);
  CHECK(access(temporary, F_OK) != 0, "%s is left", temporary);
}

/* ---- .npy */

static void npy_round_trip(void) {
  edf_real numbers[24];
  for (int i = 0; i < 24; i++) numbers[i] = (edf_real)(i * i) / 7 - 3;
  numbers[5] = (edf_real)INFINITY;
  for (int rank = 0; rank <= 4; rank++) {
    edf_array a = { rank, { 2, 3, 4, 1 }, 1, numbers };
    for (int d = 0; d < rank; d++) a.size *= (size_t)a.dim[d];
    edf_save_npy(file("array.npy"), a);
    edf_array b = edf_load_npy(path);
    CHECK(b.rank == rank && b.size == a.size, "rank %d, size %zu", b.rank, b.size);
    for (int d = 0; d < rank; d++) CHECK(b.dim[d] == a.dim[d], "dimension %d", d);
    CHECK(!memcmp(a.value, b.value, a.size * sizeof *a.value), "the numbers");
    edf_free_array(&b);
  }
  char bytes[512];
  size_t n;
  read_bytes(bytes, sizeof bytes, &n);
  CHECK(n % 64 == 24 * sizeof(edf_real) % 64 && !memcmp(bytes, "\x93NUMPY\1\0", 8), "%zu", n);
  no_temporary_is_left();
  remove(path);
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
}

/* An .npy file of this version, header and data. */
static void put_npy(int version, const char *header, const char *data, size_t n) {
  char bytes[512] = "\x93NUMPY";
  size_t length = strlen(header), at = version > 1 ? 12 : 10;
  bytes[6] = (char)version;
  bytes[8] = (char)length;
  memcpy(bytes + at, header, length);
  memcpy(bytes + at + length, data, n);
  write_bytes(bytes, at + length + n);
}

#define HEAD(type, shape) \
  "{'descr': '" type "', 'fortran_order': False, 'shape': " shape ", }\n"

static void npy_of_others(void) {                            /* as NumPy writes them */
  static const struct {
    int version; const char *header, *data; size_t n; double expected[3];
  } table[] = {
    { 1, HEAD("<i4", "(3,)"), BYTES("\1\0\0\0\376\377\377\377\0\1\0\0"), { 1, -2, 256 } },
    { 1, HEAD("|u1", "(3,)"), BYTES("\1\376\7"), { 1, 254, 7 } },
    { 1, HEAD("|i1", "(3,)"), BYTES("\1\376\7"), { 1, -2, 7 } },
    { 1, HEAD("|b1", "(3,)"), BYTES("\1\0\1"), { 1, 0, 1 } },
    { 1, HEAD(">i2", "(3,)"), BYTES("\0\1\377\376\1\0"), { 1, -2, 256 } },
    { 1, HEAD("<i8", "(3,)"), BYTES("\1\0\0\0\0\0\0\0\376\377\377\377\377\377\377\377"
                                  "\0\1\0\0\0\0\0\0"), { 1, -2, 256 } },
    { 1, HEAD(">f4", "(3,)"), BYTES("\77\200\0\0\300\0\0\0\0\0\0\0"), { 1, -2, 0 } },
    { 1, HEAD("<f8", "(3, 1)"), BYTES("\0\0\0\0\0\0\360\77\0\0\0\0\0\0\0\300"
                                    "\0\0\0\0\0\0\0\0"), { 1, -2, 0 } },
    { 2, HEAD("<u2", "(3,)"), BYTES("\1\0\2\0\377\377"), { 1, 2, 65535 } },
    { 3, "{'shape':(3,), 'fortran_order':False,'descr':'|u1'}", BYTES("\1\2\3"), { 1, 2, 3 } },
  };
  for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
    file("theirs.npy");
    put_npy(table[k].version, table[k].header, table[k].data, table[k].n);
    edf_array a = edf_load_npy(path);
    CHECK(a.size == 3, "file %zu: %zu entries", k, a.size);
    for (int i = 0; i < 3; i++)
      CHECK((double)a.value[i] == table[k].expected[i], "file %zu: entry %d is %g", k, i,
            (double)a.value[i]);
    edf_free_array(&a);
  }
  remove(path);
}

static void refuses_npy(const char *message) {
  static edf_array a;
  REFUSED(message, a = edf_load_npy(path));
  if (!panicked) edf_free_array(&a);
  remove(path);
}

/* A byte 0 ends no name of a type. */
static void npy_with_a_hole(void) {
  char bytes[256];
  put_npy((file("bad.npy"), 1), HEAD("<i4", "(3,)"), BYTES("123412341234"));
  FILE *f = fopen(path, "rb");
  if (!f) abort();
  size_t n = fread(bytes, 1, sizeof bytes, f);
  fclose(f);
  *strchr(bytes + 10, '4') = 0;
  write_bytes(bytes, n);
  refuses_npy("%: byte 10: expected numbers of type f4, f8, i1 to i8, u1 to u8 or b1, found "
              "'<i");
}

/* What is finite in the file is finite here, or an error; infinities and NaN are read. */
static void numbers_that_fit(void) {
  static const char bytes[] =            /* inf, NaN, -FLT_MAX, 1e300 */
    "\0\0\0\0\0\0\360\177" "\0\0\0\0\0\0\370\177" "\0\0\0\340\377\377\357\307"
    "\234\165\0\210\074\344\067\176";
  put_npy((file("large.npy"), 1), HEAD("<f8", "(4,)"), bytes, 32);
  if (EDF_REAL_IS_DOUBLE) {
    edf_array a = edf_load_npy(path);
    CHECK(a.value[3] == (edf_real)1e300, "%g", (double)a.value[3]);
    edf_free_array(&a);
  } else {
    refuses_npy("%: byte 92: number 3 is too large for a float: -DEDF_REAL=double reads it");
  }
  put_npy((file("large.npy"), 1), HEAD("<f8", "(3,)"), bytes, 24);
  edf_array a = edf_load_npy(path);
  CHECK((double)a.value[0] == INFINITY && a.value[1] != a.value[1] &&
        (double)a.value[2] == -3.4028234663852886e38, "%g", (double)a.value[2]);
  edf_free_array(&a);
  remove(path);
}

static void bad_npy(void) {
  static const struct { const char *header, *data; size_t n; const char *message; } table[] = {
    { "{}", BYTES(""), "%: byte 10: expected a header with 'descr':" },
    { HEAD("<c8", "(3,)"), BYTES(""),
      "%: byte 10: expected numbers of type f4, f8, i1 to i8, u1 to u8 or b1, found '<c8'" },
    { HEAD("|O8", "(3,)"), BYTES(""),
      "%: byte 10: expected numbers of type f4, f8, i1 to i8, u1 to u8 or b1, found '|O8'" },
    { "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }\n", BYTES(""),
      "%: byte 10: the array is in Fortran order: save np.ascontiguousarray(x)" },
    { HEAD("<f4", "(3,)"), BYTES("1234567"),
      "%: byte 68: the header promises 12 bytes of numbers, but 7 follow" },
    { HEAD("<f4", "(3,)"), BYTES("1234567890123"),
      "%: byte 68: the header promises 12 bytes of numbers, but 13 follow" },
    { HEAD("<f4", "(0,)"), BYTES(""),
      "%: byte 10: dimension 0: expected 1 to 2147483647 entries, found 0" },
    { HEAD("<f4", "(3000000000,)"), BYTES(""),
      "%: byte 10: dimension 0: expected 1 to 2147483647 entries, found 3000000000" },
    { HEAD("<f8", "(2000000000,2000000000,99)"), BYTES(""),
      "%: byte 90: the header promises at least 16000000000 bytes of numbers, but 0 follow" },
    { HEAD("<f4", "(1,1,1,1,1,1,1,1,1)"), BYTES("1234"),
      "%: byte 10: expected at most 8 dimensions" },
    { HEAD("<f4", "[3]"), BYTES(""), "%: byte 10: expected a shape as in (3, 4)" },
    { HEAD("<f4", "(-3)"), BYTES(""), "%: byte 10: expected a shape as in (3, 4)" },
    { HEAD("<f4", "(3"), BYTES(""), "%: byte 10: expected a shape as in (3, 4)" },
    { HEAD("<f4", "(2,,2)"), BYTES("1234567890123456"),
      "%: byte 10: expected a shape as in (3, 4)" },
    { HEAD("<f4", "(2, ,2)"), BYTES(""), "%: byte 10: expected a shape as in (3, 4)" },
    { HEAD("<f4", "(,2)"), BYTES(""), "%: byte 10: expected a shape as in (3, 4)" },
    { HEAD("<f4", "(2 2)"), BYTES(""), "%: byte 10: expected a shape as in (3, 4)" },
  };
  for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
    put_npy((file("bad.npy"), 1), table[k].header, table[k].data, table[k].n);
    refuses_npy(table[k].message);
  }
  write_bytes((file("bad.npy"), ""), 0);
  refuses_npy("%: byte 0: expected 10 more bytes, but the file has 0: it ended early");
  write_bytes(BYTES("PK\3\4 a zip archive"));
  refuses_npy("%: byte 0: expected an .npy file");
  write_bytes(BYTES("\x93NUMPY\4\0\1\0{"));
  refuses_npy("%: byte 6: expected version 1 to 3, found 4");
  write_bytes(BYTES("\x93NUMPY\1\0\377\177{"));
  refuses_npy("%: byte 8: expected a header of less than 4096 bytes, found 32767");
  write_bytes(BYTES("\x93NUMPY\1\0\75\0{"));
  refuses_npy("%: byte 10: expected 61 more bytes, but the file has 11: it ended early");
}

/* ---- Pictures */

static void pictures_round_trip(void) {
  edf_real grey[12], colour[18];
  for (int i = 0; i < 12; i++) grey[i] = (edf_real)i / 11;
  for (int i = 0; i < 18; i++) colour[i] = (edf_real)(17 - i) / 17;
  edf_array g = { 2, { 3, 4 }, 12, grey }, c = { 3, { 2, 3, 3 }, 18, colour };
  for (int k = 0; k < 3; k++) {
    edf_array a = k == 1 ? c : g;
    edf_save_image(file(k == 0 ? "a.pgm" : "a.ppm"), a);
    edf_array b = edf_load_image(path);
    CHECK(b.rank == (k ? 3 : 2) && b.dim[0] == a.dim[0] && b.dim[1] == a.dim[1], "case %d", k);
    for (size_t i = 0; i < b.size; i++)                      /* grey as PPM: three times */
      CLOSE(b.value[i], a.value[k == 2 ? i / 3 : i], 0.5 / 255 + 1e-6, 0);
    edf_free_array(&b);
    remove(path);
  }
  no_temporary_is_left();
}

static void what_is_outside_is_cut_off(void) {
  edf_real numbers[4] = { -1, 2, (edf_real)NAN, (edf_real)0.5 };
  edf_array a = { 2, { 1, 4 }, 4, numbers };
  char bytes[32];
  size_t n;
  edf_save_image(file("cut.pgm"), a);
  read_bytes(bytes, sizeof bytes, &n);
  CHECK(n == 15 && !memcmp(bytes, "P5\n4 1\n255\n\0\377\0\200", 15), "%zu bytes", n);
  remove(path);
}

static unsigned long crc_of(const unsigned char *p, size_t n) {
  unsigned long crc = 0xffffffffu;
  for (size_t i = 0; i < n; i++) {
    crc ^= p[i];
    for (int k = 0; k < 8; k++) crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
  }
  return crc ^ 0xffffffffu;
}

static unsigned long big(const unsigned char *p) {
  unsigned long high = (unsigned long)p[0] << 8 | p[1], low = (unsigned long)p[2] << 8 | p[3];
  return high << 16 | low;
}

/* Chunk by chunk: lengths, checksums, and the pixels of the stored blocks. */
static void png_is_right(void) {
  edf_real grey[6] = { 0, (edf_real)0.2, (edf_real)0.4, (edf_real)0.6, (edf_real)0.8, 1 };
  edf_array a = { 2, { 2, 3 }, 6, grey };
  char raw[512];
  const unsigned char *p = (const unsigned char *)raw;
  size_t n, at = 8;
  edf_save_image(file("a.png"), a);
  read_bytes(raw, sizeof raw, &n);
  CHECK(!memcmp(raw, "\x89PNG\r\n\x1a\n", 8), "the signature");
  for (int chunk = 0; chunk < 3; chunk++) {
    unsigned long length = big(p + at);
    CHECK(!memcmp(p + at + 4, chunk == 0 ? "IHDR" : chunk == 1 ? "IDAT" : "IEND", 4), "%.4s",
          raw + at + 4);
    CHECK(crc_of(p + at + 4, length + 4) == big(p + at + 8 + length), "CRC of chunk %d", chunk);
    if (chunk == 0) CHECK(big(p + at + 8) == 3 && big(p + at + 12) == 2, "the size");
    if (chunk == 1) {
      unsigned long s1 = 1, s2 = 0;
      for (int y = 0; y < 2; y++) {
        const unsigned char *block = p + at + 10 + y * 9;
        CHECK(block[0] == (y == 1) && block[1] == 4 && block[3] == 251 && block[5] == 0,
              "block %d", y);
        for (int k = 5; k < 9; k++) { s1 = (s1 + block[k]) % 65521; s2 = (s2 + s1) % 65521; }
        for (int x = 0; x < 3; x++)
          CHECK(block[6 + x] == (y * 3 + x) * 51, "pixel %d", block[6 + x]);
      }
      CHECK(big(p + at + 8 + length - 4) == (s2 << 16 | s1), "the Adler-32");
    }
    at += 12 + length;
  }
  CHECK(at == n, "%zu bytes, of which %zu are chunks", n, at);
  remove(path);
}

static void bad_pictures(void) {
  static const struct { const char *bytes; size_t n; const char *message; } table[] = {
    { BYTES(""), "%: byte 0: expected a PGM or PPM file, which begins with P2, P3, P5 or P6" },
    { BYTES("P4 1 1\nx"),
      "%: byte 0: expected a PGM or PPM file, which begins with P2, P3, P5 or P6" },
    { BYTES("P5"), "%: byte 2: expected the number of columns, found the end" },
    { BYTES("P5 two"), "%: byte 3: expected the number of columns, found no number" },
    { BYTES("P5 0 1 255 x"), "%: byte 3: expected the number of columns from 1 to 268435455, "
      "found 0" },
    { BYTES("P5 1 99999999999 255 x"), "%: byte 5: expected the number of rows from 1 to "
      "268435455, found 999999999 or more" },
    { BYTES("P5 1 1 65536 x"), "%: byte 7: expected the greatest number from 1 to 65535, found "
      "65536 or more" },
    { BYTES("P5 2 2 255 abc"), "%: byte 11: 2 x 2 pixels need 4 bytes, but 3 follow" },
    { BYTES("P6 2 2 255 abcdefghijk"),
      "%: byte 11: 2 x 2 pixels need 12 bytes, but 11 follow" },
    { BYTES("P5 2 2 256 abcdefg"), "%: byte 11: 2 x 2 pixels need 8 bytes, but 7 follow" },
    { BYTES("P5 200000000 200000000 255 a"),
      "%: byte 27: 200000000 x 200000000 pixels need 40000000000000000 bytes, but 1 follow" },
    { BYTES("P5 2 2 9\n\1\2\12\3"), "%: byte 11: expected a pixel from 0 to 9, found 10" },
    { BYTES("P2 2 2 9\n1 2 3"), "%: byte 9: 2 x 2 pixels need 8 bytes, but 5 follow" },
    { BYTES("P2 2 2 9\n1 2 3 10"),
      "%: byte 15: expected a pixel from 0 to 9, found 10 or more" },
    { BYTES("P2 2 2 9\n1 2 3 # nothing"), "%: byte 24: expected a pixel, found the end" },
    { BYTES("P2 2 2 9\n1 2 x 4"), "%: byte 13: expected a pixel, found no number" },
  };
  for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
    static edf_array a;
    file(edf_fmt("bad%d.pgm", (int)k));
    write_bytes(table[k].bytes, table[k].n);
    REFUSED(table[k].message, a = edf_load_image(path));
    if (!panicked) edf_free_array(&a);
    remove(path);
  }
}

static void pictures_of_others(void) {
  static const struct { const char *bytes; size_t n; } table[] = {
    { BYTES("P2\n# a comment\n2 2 # another\n4\n0 1\n2 4\n") },
    { BYTES("P5 2\n2\n4\n\0\1\2\4") },
    { BYTES("P5\n#c\n2 2 1000\n\0\0\0\372\1\364\3\350") },
    { BYTES("P5 2 2 4\n\0\1\2\4 and something behind it") },
  };
  for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
    write_bytes((file("o.pgm"), table[k].bytes), table[k].n);
    edf_array a = edf_load_image(path);
    CHECK(a.rank == 2 && a.size == 4, "file %zu", k);
    for (int i = 0; i < 4; i++) CLOSE(a.value[i], i == 3 ? 1 : i * 0.25, 1e-6, 0);
    edf_free_array(&a);
  }
  remove(path);
}

static void contact_sheets(void) {
  edf_real numbers[3 * 2 * 2];
  for (int i = 0; i < 12; i++) numbers[i] = (edf_real)i;
  edf_array a = { 3, { 3, 2, 2 }, 12, numbers };
  edf_array s;
  for (int zoom = 1; zoom <= 3; zoom++) {
    int gap = 2 + zoom / 3, step = 2 * zoom + gap, side = gap + 2 * step;
    s = edf_contact_sheet(a, 2, zoom, 0, 10);
    CHECK(s.rank == 2 && s.dim[0] == side && s.dim[1] == side, "%d x %d", s.dim[0], s.dim[1]);
    CLOSE(s.value[0], 1, 0, 0);
    for (int k = 0; k < 3; k++)
      for (int y = 0; y < 2 * zoom; y++)
        for (int x = 0; x < 2 * zoom; x++)
          CLOSE(s.value[(gap + k / 2 * step + y) * side + gap + k % 2 * step + x],
                (k * 4 + y / zoom * 2 + x / zoom) / 10.0, 1e-6, 0);
    for (int i = 0; i < side * side; i++) {                  /* white between them */
      int y = (i / side - gap) % step, x = (i % side - gap) % step;
      if (y < 0 || x < 0 || y >= 2 * zoom || x >= 2 * zoom) CLOSE(s.value[i], 1, 0, 0);
    }
    edf_free_array(&s);
  }
  edf_array nothing = { 3, { 0, 2, 2 }, 0, numbers };
  s = edf_contact_sheet(nothing, 3, 1, 0, 1);
  CHECK(s.rank == 2 && s.dim[0] == 2, "%d rows of no picture", s.dim[0]);
  edf_free_array(&s);
  edf_array colour = { 4, { 1, 1, 2, 3 }, 6, numbers };
  s = edf_contact_sheet(colour, 5, 1, 0, 1);
  CHECK(s.rank == 3 && s.dim[0] == 5 && s.dim[1] == 6 && s.dim[2] == 3, "%d x %d", s.dim[0],
        s.dim[1]);
  for (int i = 0; i < 6; i++) CLOSE(s.value[(2 * 6 + 2) * 3 + i], i, 1e-6, 0);
  edf_free_array(&s);
}

static void bad_calls(void) {
  edf_real one[3] = { 1, 1, 1 };
  edf_array line = { 1, { 1 }, 1, one }, dot = { 2, { 1, 1 }, 1, one }, none = { 2, { 1, 1 }, 1,
                                                                               NULL };
  edf_array rgb = { 3, { 1, 1, 3 }, 3, one }, wrong = { 2, { 1, 2 }, 1, one };
  static edf_array sheet;
  TRY(edf_save_image("x.gif", dot));
  CHECK(panicked && strstr(caught, "x.gif: expected a name that ends in"), "%s", caught);
  TRY(edf_save_image("x.png", line));
  CHECK(panicked && strstr(caught, "found 1 dimensions"), "%s", caught);
  TRY(edf_save_image("x.pgm", rgb));
  CHECK(panicked && strstr(caught, "a .pgm is grey"), "%s", caught);
  TRY(edf_save_image("x.png", none));
  CHECK(panicked && strstr(caught, "no numbers"), "%s", caught);
  TRY(edf_save_npy("x.npy", wrong));
  CHECK(panicked && strstr(caught, "not the product"), "%s", caught);
  TRY(sheet = edf_contact_sheet(dot, 1, 1, 0, 1));
  CHECK(panicked && strstr(caught, "edf_contact_sheet"), "%s", caught);
  TRY(edf_save_npy(file("no/such/directory.npy"), dot));
  CHECK(panicked && strstr(caught, "cannot be written") && strstr(caught, strerror(ENOENT)),
        "%s", caught);
  TRY(edf_save_npy("/dev/full/x", dot));
  CHECK(panicked, "a directory that is none");
  (void)sheet;
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
}

/* A view of an input has the rows that it was fed, also before Forward. */
static void views_of_inputs(void) {
  edf_real rows[6] = { 1, 2, 3, 4, 5, 6 };
  edf_node *x = edf_input("x[b,2]");
  edf_feed(x, rows, 3);
  edf_forward();
  edf_feed(x, rows + 2, 1);
  edf_array a = edf_view(x);
  CHECK(a.rank == 2 && a.dim[0] == 1 && a.size == 2 && a.value[1] == 4, "%d rows", a.dim[0]);
  edf_clear();
}

/* ---- Text */

static void text_and_back(void) {
  static const char text[] = "hello \xc3\xa4 world\n";
  char back[32];
  file("t.txt");
  write_bytes(BYTES("hello \xc3\xa4 world\n"));
  edf_text t = edf_load_text(path);
  CHECK(t.symbols == 11 && t.classes.size == sizeof text - 1, "%d symbols, %zu bytes",
        t.symbols, t.classes.size);
  for (int k = 1; k < t.symbols; k++)
    CHECK((unsigned char)t.symbol[k - 1] < (unsigned char)t.symbol[k], "not in order");
  CHECK(t.number['\n'] == 0 && t.number['z'] == -1, "%d %d", t.number['\n'], t.number['z']);
  edf_decode(&t, t.classes.value, t.classes.size, back);
  CHECK(!strcmp(back, text), "%s", back);
  edf_real numbers[8];
  TRY(edf_encode(&t, "low", 3, numbers));
  CHECK(!panicked && t.symbol[(int)numbers[1]] == 'o', "%s", caught);
  TRY(edf_encode(&t, "lot", 3, numbers));
  CHECK(panicked && !strcmp(caught, "edf_encode: byte 2, 116 or 't', is not in the text"), "%s",
        caught);
  numbers[0] = 11;
  TRY(edf_decode(&t, numbers, 1, back));
  CHECK(panicked && strstr(caught, "edf_decode: number 0 is 11, expected a class from 0 to 10"),
        "%s", caught);
  edf_free_text(&t);
  write_bytes("", 0);
  REFUSED("%: byte 0: line 1: expected 1 byte or more", t = edf_load_text(path));
  remove(path);
}

static void sampling(void) {
  static const edf_real P[4] = { (edf_real)0.5, 0, (edf_real)0.25, (edf_real)0.25 };
  int count[4] = { 0 };
  edf_seed(3);
  for (int i = 0; i < 8000; i++) count[edf_sample(P, 4)]++;
  CHECK(count[1] == 0, "a class of probability 0 was drawn %d times", count[1]);
  CLOSE(count[0], 4000, 200, 0);
  CLOSE(count[2], 2000, 160, 0);
}

/* ---- Saved models */

static edf_real images[8 * 5], labels[8];
typedef struct { edf_node *x, *y, *loss; edf_affine_package Phi[2]; } model;

static model build(int seed) {
  model m;
  edf_clear();
  edf_seed((unsigned)seed);
  for (int i = 0; i < 40; i++) images[i] = (edf_real)(i * 7 % 11) / 11;
  for (int i = 0; i < 8; i++) labels[i] = (edf_real)(i % 3);
  m.x = edf_input("x[b,5]");
  m.y = edf_input("y[b]");
  m.Phi[0] = edf_affine_params(5, 6);
  m.Phi[1] = edf_affine_params(6, 3);
  edf_node *h = edf_dropout(edf_tanh(edf_affine(m.Phi[0], m.x)), 0.25);
  m.loss = edf_softmax_log_loss(edf_affine(m.Phi[1], h), m.y);
  return m;
}

static void train(const model *m, int steps) {
  for (int i = 0; i < steps; i++) {
    edf_feed(m->x, images, 8);
    edf_feed(m->y, labels, 8);
    edf_forward();
    edf_backward(m->loss);
    edf_adamw((edf_real)0.01, (edf_real)0.9, (edf_real)0.99, (edf_real)1e-8, (edf_real)0.1);
  }
}

typedef struct { edf_real value[3][64]; long steps; unsigned long long seed, draws; } snapshot;

static snapshot look(void) {
  snapshot s;
  size_t at = 0;
  memset(&s, 0, sizeof s);
  for (int i = 0; i < edf.n_parameters; i++) {
    const edf_node *p = edf.parameters[i];
    memcpy(s.value[0] + at, p->value, p->size * sizeof *p->value);
    if (p->m) memcpy(s.value[1] + at, p->m, p->size * sizeof *p->m);
    if (p->s) memcpy(s.value[2] + at, p->s, p->size * sizeof *p->s);
    at += p->size;
    s.steps = s.steps * 1000 + p->steps;
  }
  s.seed = edf.seed;
  s.draws = edf.draws;
  return s;
}

/* Ten steps are five steps, a file, another process, and five steps: to the last bit. */
static void training_goes_on_bit_for_bit(void) {
  model m = build(1);
  train(&m, 5);
  edf_save(file("m.safetensors"));
  train(&m, 5);
  snapshot whole = look();
  m = build(99);
  train(&m, 2);
  edf_load(path);
  train(&m, 5);
  snapshot resumed = look();
  CHECK(!memcmp(&whole, &resumed, sizeof whole), "it is not the same: %g and %g",
        (double)whole.value[0][0], (double)resumed.value[0][0]);
  m = build(1);
  train(&m, 5);
  snapshot five = look();
  CHECK(memcmp(&whole, &five, sizeof whole), "five steps more change nothing");
  no_temporary_is_left();
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
  remove(path);
}

/* The format wants it, so that numbers can be read in place. */
static void numbers_are_aligned(void) {
  char name[8] = "";
  for (int k = 0; k < 5; k++) {
    unsigned char length[8];
    memset(name, 'p', (size_t)k + 1);
    edf_parameter("%s[2]", name);
    edf_save(file("aligned.safetensors"));
    FILE *f = fopen(path, "rb");
    if (!f || fread(length, 1, 8, f) != 8) abort();
    fclose(f);
    CHECK(length[0] % 8 == 0, "the header has %d bytes, modulo 256", length[0]);
    remove(path);
    edf_clear();
  }
}

static char bytes[1 << 16];
static size_t length;

static void put_file(const char *header, size_t data) {      /* and `data` bytes of numbers */
  size_t n = strlen(header);
  for (int k = 0; k < 8; k++) bytes[k] = (char)(n >> 8 * k);
  memcpy(bytes + 8, header, n);
  for (size_t i = 0; i < data; i++) bytes[8 + n + i] = (char)(i % 100);
  write_bytes(bytes, 8 + n + data);
}

/* The program of these: W[2,3] and v[2]. */
static void small_program(void) {
  edf_clear();
  edf_seed(4);
  edf_init_normal(edf_parameter("W[2,3]"), 0, 1);
  edf_init_normal(edf_parameter("v[2]"), 0, 1);
}

static void refuses(const char *message) {
  snapshot before = look();
  int fd = lowest_free_fd();
  TRY(edf_load(path));
  check_message(message);
  snapshot after = look();
  CHECK(!memcmp(&before, &after, sizeof before), "something changed after: %s", caught);
  nothing_is_left(fd);
  small_program();
}

#define W32 "\"W\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}"
#define V32 "\"v\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[24,32]}"

static void models_of_others(void) {
  static const char *const header[] = {
    "{" W32 "," V32 "}",
    "{" V32 "," W32 "}       ",
    " { \"__metadata__\" : {\"format\":\"pt\",\"seed\":\"x\"} , " W32 " , " V32 " }\n",
    "{\"__metadata__\":{}," V32 ",\"\\u0057\":{\"shape\":[2,3],\"data_offsets\":[0,24],"
    "\"dtype\":\"F32\"}}",
  };
  for (size_t k = 0; k < sizeof header / sizeof *header; k++) {
    small_program();
    file("theirs.safetensors");
    put_file(header[k], 32);
    unsigned long long seed = edf.seed;
    edf_load(path);
    float w;
    memcpy(&w, bytes + 8 + strlen(header[k]) + 20, 4);
    CHECK((float)edf.parameters[0]->value[5] == w, "header %zu: %g and %g", k,
          (double)edf.parameters[0]->value[5], (double)w);
    CHECK(edf.seed == seed, "the seed changed");
  }
  small_program();
  put_file("{\"v\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[0,16]},"
           "\"W\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[16,40]},"
           "\"v.m\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[40,48]},"
           "\"__metadata__\":{\"v.steps\":\"7\"}}", 48);
  edf_load(path);
  CHECK(edf.parameters[1]->m && !edf.parameters[1]->s && edf.parameters[1]->steps == 7, "v.m");
  edf_clear();
  remove(path);
}

static void bad_models(void) {
  static const struct { const char *header; size_t data; const char *message; } table[] = {
    { "{" W32 "}", 24, "%: byte 65: there is no tensor for parameter \"v\", declared at "
      "tests/files.c:%d" },
    { "{" W32 "," V32 ",\"x\":{}}", 32,
      "%: byte 124: tensor x is no parameter of this program" },
    { "{" W32 "," W32 "}", 32, "%: byte 69: tensor W is there twice" },
    { "{\"W\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[0,24]}," V32 "}", 32,
      "%: byte 41: tensor W has the shape [3, 2], but parameter \"W\" [2, 3], declared at "
      "tests/files.c:%d" },
    { "{\"W\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24]}," V32 "}", 32,
      "%: byte 39: tensor W has the shape [6], but parameter \"W\" [2, 3], declared at "
      "tests/files.c:%d" },
    { "{\"W\":{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[0,12]}," V32 "}", 32,
      "%: byte 28: tensor W has the type BF16, expected F32 or F64" },
    { "{\"W\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,20]}," V32 "}", 32,
      "%: byte 64: tensor W has the offsets 0 to 20, expected 24 bytes" },
    { "{\"W\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[24,0]}," V32 "}", 32,
      "%: byte 64: tensor W has the offsets 24 to 0, expected 24 bytes" },
    { "{" W32 ",\"v\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[16,24]}}", 32,
      "%: byte 120: a tensor begins at offset 16, where 24 was expected: a gap, or an "
      "overlap" },
    { "{" W32 ",\"v\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[32,40]}}", 40,
      "%: byte 120: a tensor begins at offset 32, where 24 was expected: a gap, or an "
      "overlap" },
    { "{" W32 "," V32 "}", 31,
      "%: byte 120: the tensors end at offset 32, but 31 bytes follow the header" },
    { "{" W32 "," V32 "}", 33,
      "%: byte 120: the tensors end at offset 32, but 33 bytes follow the header" },
    { "{" W32 ",\"v\":{\"dtype\":\"F32\",\"shape\":[2]}}", 32,
      "%: byte 96: tensor v lacks dtype, shape or data_offsets" },
    { "{\"W\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 0,
      "%: byte 36: tensor W: unexpected key dtype" },
    { "{\"W\":{\"shape\":[1,1,1,1,1,1,1,1,1]}}", 0,
      "%: byte 39: tensor W has more than 8 dimensions" },
    { "{\"W\":{\"data_offsets\":[0,99999999999999999999999]}}", 0,
      "%: byte 50: the number is too large" },
    { "{\"W\":{\"shape\":[2,-3]}}", 0, "%: byte 25: expected a whole number" },
    { "{\"W\":{\"dtype\":\"F32", 0, "%: byte 26: a string does not end" },
    { "{\"W\":", 0, "%: byte 13: expected '{', found byte 0" },
    { "{\"W\\q\":{}}", 0, "%: byte 13: a string has an unknown escape" },
    { "{\"\\u12G4\":{}}", 0, "%: byte 14: expected four hexadecimal digits" },
    { "{\"W\\u0000x\":{}}", 0, "%: byte 17: a name has a NUL" },
    { "[\xc3", 0, "%: byte 8: expected '{', found '['" },
    { "\xc3 ", 0, "%: byte 8: expected '{', found byte 195" },
    { "{" W32 "," V32 "} x", 32, "%: byte 121: expected the end of the header" },
    { "{\"__metadata__\":{\"W.steps\":\"many\"}," W32 "," V32 "}", 32,
      "%: byte 41: the steps of W are many, expected a whole number" },
    { "{\"__metadata__\":{\"a\":1}}", 0, "%: byte 29: expected '\"', found '1'" },
  };
  for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
    char message[512];
    small_program();
    file(edf_fmt("bad%d.safetensors", (int)k));
    put_file(table[k].header, table[k].data);
    int line = edf.parameters[strstr(table[k].message, "\"v\"") ? 1 : 0]->line;
    const char *number = strstr(table[k].message, "%d");
    if (number)
      snprintf(message, sizeof message, "%.*s%d", (int)(number - table[k].message),
               table[k].message, line);
    else snprintf(message, sizeof message, "%s", table[k].message);
    refuses(message);
    remove(path);
  }
}

static void bad_lengths(void) {
  static const struct { const char *bytes; size_t n; const char *message; } table[] = {
    { BYTES(""), "%: byte 0: expected 8 more bytes, but the file has 0: it ended early" },
    { BYTES("\1\0\0\0\0\0\0\0{"), "%: byte 0: expected a safetensors file: its header would "
      "have 1 bytes, but 1 follow" },
    { BYTES("\377\377\377\377\377\377\377\377{}"), "%: byte 0: expected a safetensors file: "
      "its header would have 18446744073709551615 bytes, but 2 follow" },
    { BYTES("\3\0\0\0\0\0\0\0{}"), "%: byte 0: expected a safetensors file: its header would "
      "have 3 bytes, but 2 follow" },
    { BYTES("PK\3\4 a zip archive"), "%: byte 0: expected a safetensors file: its header would "
      "have 8800140462016121680 bytes, but 10 follow" },
  };
  for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
    small_program();
    file(edf_fmt("short%d.safetensors", (int)k));
    write_bytes(table[k].bytes, table[k].n);
    refuses(table[k].message);
    remove(path);
  }
  static const char zip[3000] = "PK\3\4 a zip archive";          /* is not read to its end */
  small_program();
  write_bytes((file("long.safetensors"), zip), sizeof zip);
  refuses("%: byte 0: expected a safetensors file: its header would have 8800140462016121680 "
          "bytes, but at least 1016 follow");
  remove(path);
}

/* Every prefix of a good file is refused, and so is any byte of its header changed into a
   zero; nothing changes in memory. */
static void truncated_models(void) {
  model m = build(1);
  train(&m, 2);
  edf_save(file("whole.safetensors"));
  read_bytes(bytes, sizeof bytes, &length);
  CHECK(length > 1000 && length < sizeof bytes, "%zu bytes", length);
  snapshot before = look();
  size_t header = (unsigned char)bytes[0] + 256u * (unsigned char)bytes[1];
  for (size_t n = 0; n < length + header; n += n < header || n >= length ? 7 : 61) {
    file("cut.safetensors");
    if (n < length) write_bytes(bytes, n);
    else {
      char old = bytes[8 + n - length];
      bytes[8 + n - length] = 0;
      write_bytes(bytes, length);
      bytes[8 + n - length] = old;
    }
    TRY(edf_load(path));
    CHECK(panicked && strstr(caught, "cut.safetensors: byte "), "cut at %zu: %s", n, caught);
    snapshot after = look();
    CHECK(!memcmp(&before, &after, sizeof before), "cut at %zu: something changed", n);
  }
  remove(path);
  remove(file("whole.safetensors"));
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
}

/* The file that was there stays when the new one cannot be written whole. */
static void a_full_disk(void) {
  model m = build(1);
  train(&m, 1);
  char target[160];
  edf_save(file("kept.safetensors"));
  snprintf(target, sizeof target, "%s.tmp", path);
  if (symlink("/dev/full", target)) SKIP("no symbolic links");
  FILE *full = fopen("/dev/full", "wb");
  if (!full) { remove(target); remove(path); SKIP("no /dev/full"); }
  fclose(full);
  TRY(edf_save(path));
  CHECK(panicked && strstr(caught, "kept.safetensors: cannot be written: ")
        && strstr(caught, strerror(ENOSPC)), "%s", caught);
  m = build(2);
  edf_load(path);
  CHECK(edf.parameters[0]->steps == 1, "the old file is damaged");
  remove(target);
  remove(path);
  edf_clear();
}

/* ---- What is written to is what it was before: a link, a mode, a pipe, a device */

static void save_two(const char *to, edf_real first) {
  edf_real v[] = { first, 1 };
  edf_array a = { 1, { 2 }, 2, v };
  edf_save_npy(to, a);
}

static void has_two(const char *from, edf_real first) {
  edf_array a = edf_load_npy(from);
  CHECK(a.size == 2 && a.value[0] == first, "%s: %g", from, (double)a.value[0]);
  edf_free_array(&a);
}

static void is_kind(const char *name, mode_t kind) {
  struct stat is;
  CHECK(!lstat(name, &is) && (is.st_mode & S_IFMT) == kind, "%s is another kind of file", name);
}

static void modes_are_kept(void) {
  static const mode_t modes[] = { 0600, 0640, 0444, 0755, 0666 };
  struct stat is;
  umask(022);
  save_two(file("mode.npy"), 1);
  CHECK(!stat(path, &is) && (is.st_mode & 07777) == 0644, "a new file: %o", is.st_mode & 07777);
  for (int k = 0; k < 5; k++) {
    chmod(path, modes[k]);
    save_two(path, (edf_real)k);
    CHECK(!stat(path, &is) && (is.st_mode & 07777) == modes[k], "%o of %o", is.st_mode & 07777,
          modes[k]);
    has_two(path, (edf_real)k);
  }
  edf_writer w = edf_create_file(NULL, path);                /* and meanwhile */
  CHECK(!stat(w.temporary, &is) && (is.st_mode & 07777) == 0666, "%o", is.st_mode & 07777);
  fputs("x", w.file);
  edf_finish_file(&w);
  remove(path);
}

/* One to a file, by name and by whole path, one to a link, one to nothing yet. */
static void links_are_followed(void) {
  char whole[300], here[200], names[4][200];
  const char *name[] = { "one.npy", "whole.npy", "chain.npy", "new.npy" };
  for (int k = 0; k < 4; k++) snprintf(names[k], sizeof names[k], "%s", file(name[k]));
  if (!getcwd(here, sizeof here)) SKIP("no directory");
  snprintf(whole, sizeof whole, "%s/%s", here, file("target.npy"));
  save_two(path, 0);
  if (symlink("target.npy", names[0])) SKIP("no symbolic links");
  if (symlink(whole, names[1]) || symlink("one.npy", names[2])) abort();
  for (int k = 0; k < 3; k++) {
    save_two(names[k], (edf_real)(k + 2));
    is_kind(names[k], S_IFLNK);
    is_kind(whole, S_IFREG);
    has_two(whole, (edf_real)(k + 2));
    CHECK(access(edf_fmt("%s.tmp", names[k]), F_OK) && access(edf_fmt("%s.tmp", whole), F_OK),
          "a temporary file is left");
  }
  remove(whole);
  if (symlink("target.npy", names[3])) abort();
  save_two(names[3], 7);
  is_kind(names[3], S_IFLNK);
  has_two(whole, 7);
  for (int k = 0; k < 4; k++) remove(names[k]);
  remove(whole);
  edf_clear();
}

static void pipes_and_devices_stay(void) {
  char piped[600];
  if (mkfifo(file("pipe.npy"), 0600)) SKIP("no named pipes");
  int fd = open(path, O_RDWR | O_NONBLOCK);
  save_two(path, 5);
  CHECK(read(fd, piped, sizeof piped) == 128 + 2 * (int)sizeof(edf_real) &&
        !memcmp(piped, "\x93NUMPY", 6), "what comes out of a pipe");
  is_kind(path, S_IFIFO);
  close(fd);
  remove(path);
  if (symlink("/dev/null", file("null.npy"))) abort();
  save_two(path, 5);
  is_kind(path, S_IFLNK);
  is_kind("/dev/null", S_IFCHR);
  remove(path);
  int ends[2];
  if (access("/dev/fd", F_OK) || pipe(ends)) SKIP("no /dev/fd");
  save_two(edf_fmt("/dev/fd/%d", ends[1]), 5);
  CHECK(read(ends[0], piped, sizeof piped) > 100, "nothing in /dev/fd");
  close(ends[0]);
  close(ends[1]);
  if (symlink("/dev/full", file("full"))) abort();
  edf_writer w = edf_create_file("tool", path);
  for (int i = 0; i < 100000; i++) fputc('x', w.file);
  TRY(edf_finish_file(&w));
  CHECK(panicked && !strcmp(caught, edf_fmt("tool: %s: cannot be written: %s", path,
                                            strerror(ENOSPC))), "%s", caught);
  is_kind(path, S_IFLNK);
  remove(path);
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
}

static void names_must_differ(void) {
  small_program();
  edf_name(edf.parameters[1], "W");
  TRY(edf_save(file("twice.safetensors")));
  CHECK(panicked && strstr(caught, "edf_save: two parameters have one name"), "%s", caught);
  edf_name(edf.parameters[1], "W.m");
  TRY(edf_save(path));
  CHECK(panicked && strstr(caught, "a name is that of an optimiser's memory"), "%s", caught);
  edf_name(edf.parameters[1], "__metadata__");
  TRY(edf_save(path));
  CHECK(panicked && strstr(caught, "too long or the file's own"), "%s", caught);
  edf_name(edf.parameters[1], "a \"name\" \\ with\nall");
  edf_save(path);
  edf_real v = edf.parameters[1]->value[1];
  edf.parameters[1]->value[1] = 0;
  edf_load(path);
  CHECK(edf.parameters[1]->value[1] == v, "a name with special characters");
  edf_clear();
  TRY(edf_load(path));
  CHECK(panicked && strstr(caught, path) && strstr(caught, "is no parameter of this program, "
        "which has none: build them first, then load"), "%s", caught);
  remove(path);
  TRY(edf_save(path));
  CHECK(panicked && !strcmp(caught, "edf_save: there is no parameter"), "%s", caught);
}

static void running_statistics_are_saved(void) {
  edf_clear();
  edf_node *x = edf_input("x[b,5]");
  edf_batch_norm_package N = edf_batch_norm_params(5);
  edf_node *y = edf_batch_norm(N, x);
  (void)build;
  edf_feed(x, images, 8);
  edf_forward_to(y);
  edf_save(file("norm.safetensors"));
  edf_real mean = N.mean->value[2];
  N.mean->value[2] = 77;
  edf_load(path);
  CHECK(mean != 0 && N.mean->value[2] == mean, "%g and %g", (double)mean,
        (double)N.mean->value[2]);
  remove(path);
  edf_clear();
}

int main(void) {
  make_directory("files");
  RUN(npy_round_trip);
  RUN(npy_of_others);
  RUN(bad_npy);
  RUN(numbers_that_fit);
  RUN(npy_with_a_hole);
  RUN(pictures_round_trip);
  RUN(what_is_outside_is_cut_off);
  RUN(png_is_right);
  RUN(bad_pictures);
  RUN(pictures_of_others);
  RUN(contact_sheets);
  RUN(views_of_inputs);
  RUN(bad_calls);
  RUN(text_and_back);
  RUN(sampling);
  RUN(training_goes_on_bit_for_bit);
  RUN(numbers_are_aligned);
  RUN(models_of_others);
  RUN(bad_models);
  RUN(bad_lengths);
  RUN(truncated_models);
  RUN(a_full_disk);
  RUN(modes_are_kept);
  RUN(links_are_followed);
  RUN(pipes_and_devices_stay);
  RUN(names_must_differ);
  RUN(running_statistics_are_saved);
  if (rmdir(dir)) printf("not ok cleaning: %s is not empty\n", dir);
  return harness_report();
}
