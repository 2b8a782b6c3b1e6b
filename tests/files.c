/* files.c - arrays, pictures, texts and models in files. What was written comes back. A broken
   file is refused: the error names the file, the place and what was found there. It changes
   nothing, and leaves no memory and no open file. Batches, shuffling and error rates are here
   too. */

#include "harness.h"
#include "edf.h"
#include "edf_data.h"
#include "edf_slide.h"
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#define N_OF(table) (sizeof table / sizeof *table)

static char bytes[1 << 16];                        /* of the file that was read last */
static size_t n_bytes;

static void read_bytes(const char *from) {
  FILE *f = fopen(from, "rb");
  if (!f) abort();
  n_bytes = fread(bytes, 1, sizeof bytes - 1, f);
  bytes[n_bytes] = '\0';
  fclose(f);
}

static int files_in_directory(void) {
  int n = 0;
  DIR *d = opendir(dir);
  if (!d) abort();
  while (readdir(d)) n++;
  closedir(d);
  return n;
}

/* ---- Refused files */

typedef enum { IDX, IMAGES, LABELS, CSV, NPY, TEXT, MODEL, LOADERS } loader;

static void load_and_free(loader which) {
  if (which == MODEL) {
    edf_load(path);
  } else if (which == TEXT) {
    edf_vocabulary t = edf_load_text(path);
    edf_free_text(&t);
  } else {
    edf_array a = which == IDX ? edf_load_idx(path) : which == IMAGES ? edf_load_images(path)
                : which == LABELS ? edf_load_labels(path) : which == CSV ? edf_load_csv(path)
                : edf_load_npy(path);
    edf_free_array(&a);
  }
}

/* Checks the error of the last TRY: it names the file at path, and has the words. */
static void stopped_at_file(const char *words, int fd) {
  char *name = strstr(caught, path);
  CHECK(name || !panicked, "the message does not name %s:\n%s", path, caught);
  if (name) memset(name, '.', strlen(dir));        /* its digits are no facts */
  harness_stopped(__FILE__, __LINE__, words);
  CHECK(lowest_free_fd() == fd, "%s is still open", path);
}

static void refused(loader which, const char *words) {
  int fd = lowest_free_fd();
  int bad = harness.bad;
  TRY(load_and_free(which));
  stopped_at_file(words, fd);
  if (harness.bad > bad) harness_fail(__FILE__, __LINE__, "the file is %s", path);
}

typedef struct { loader which; const char *name, *bytes; size_t n; const char *words; } bad;

static void broken_files_are_refused(void) {
  static const bad table[] = {
    { IDX, "empty", BYTES(""), "byte 0| 4| 0" },
    { IDX, "wrong magic", BYTES("\1\2\10\1\0\0\0\1x"), "byte 0|zeros|1 2" },
    { IDX, "text", BYTES("1,2,3\n4,5,6\n"), "byte 0|zeros|49 44" },
    { IDX, "gzip", BYTES("\37\213\10\0\0\0\0\0\0\3"), "gzip" },
    { IDX, "floats", BYTES("\0\0\15\1\0\0\0\1abcd"), "byte 2| 8| 13" },
    { IDX, "no dimension", BYTES("\0\0\10\0x"), "byte 3| 8| 0" },
    { IDX, "nine dimensions", BYTES("\0\0\10\11\0\0\0\1\0\0\0\1"), "byte 3| 8| 9" },
    { IDX, "half a dimension", BYTES("\0\0\10\2\0\0\0\1\0\0"), "byte 8| 4" },
    { IDX, "one byte missing", BYTES("\0\0\10\2\0\0\0\2\0\0\0\3abcde"), " 6| 5" },
    { IDX, "one byte more", BYTES("\0\0\10\2\0\0\0\2\0\0\0\3abcdefg"), " 6| 7" },
    { IDX, "big-endian", BYTES("\0\0\10\1\1\2\3\4x"), "16909060| 1" },
    { IDX, "above INT_MAX", BYTES("\0\0\10\2\0\0\0\1\200\0\0\0x"), "byte 8|2147483648" },
    { IDX, "a product that overflows", BYTES("\0\0\10\3\177\377\377\377\177\377\377\377\177"
      "\377\377\377x"), "byte 16| 1" },
    { IDX, "a product that overflows to nothing",
      BYTES("\0\0\10\4\100\0\0\0\100\0\0\0\100\0\0\0\100\0\0\0"), "byte 20| 0" },
    { IMAGES, "images that overflow an int",
      BYTES("\0\0\10\3\0\0\0\1\0\1\0\0\0\1\0\0x"), "65536" },
    { IMAGES, "labels as images", BYTES("\0\0\10\1\0\0\0\2ab"), "byte 3| 3|images| 1" },
    { LABELS, "images as labels", BYTES("\0\0\10\3\0\0\0\1\0\0\0\1\0\0\0\2ab"),
      "byte 3| 1|labels| 3" },
    { TEXT, "empty", BYTES(""), "byte" },
    { NPY, "empty", BYTES(""), "byte 0| 10| 0" },
    { NPY, "zip", BYTES("PK\3\4 a zip archive"), "byte 0|.npy" },
    { NPY, "version four", BYTES("\x93NUMPY\4\0\1\0{"), "byte 6|version| 4" },
    { NPY, "a header that is cut", BYTES("\x93NUMPY\1\0\75\0{"), "byte 10| 61" },
    { NPY, "a long header", BYTES("\x93NUMPY\1\0\377\177{"), "byte|32767" },
    { CSV, "empty", BYTES(""), "line 1|row" },
    { CSV, "a heading alone", BYTES("height,weight\n"), "line 2|row" },
    { CSV, "a short row", BYTES("1,2,3,4,5\n6,7,8,9\n"), "line 2| 5| 4" },
    { CSV, "a long row", BYTES("1,2\n3,4\n5,6,7,8,9\n"), "line 3| 2| 5" },
    { CSV, "behind empty lines", BYTES("a,b\n\n1,2\r\n\n3\n"), "line 5| 2| 1" },
    { CSV, "a word", BYTES("1,2\n3,four\n"), "line 2|number|four" },
    { CSV, "a word behind a number", BYTES("1,2\n3,4 apples\n"), "line 2|','|apples" },
    { CSV, "a class", BYTES("5.1,3.5,setosa\n4.9,3,setosa\n"), "line 1|number|setosa" },
    { CSV, "an empty field", BYTES("1,2\n3,\n"), "line 2|number|nothing" },
    { CSV, "too large", BYTES("1,2\n3,1e999\n"), "line 2|1e999" },
    { CSV, "semicolons", BYTES("1;2\n3;4\n"), "line 1|','|;2" },
    { CSV, "not a number", BYTES("1,2\n3,nan\n"), "line 2|number|nan" },
    { CSV, "hexadecimal", BYTES("1,2\n3,0x10\n"), "line 2|','|x10" },
    { CSV, "a sign alone", BYTES("1,2\n3,+\n"), "line 2|number|+" },
    { CSV, "a zero byte", BYTES("1,2\n3,\0004\n"), "line 2|number" },
    { CSV, "gzip", BYTES("\37\213\10\0\0\0\0\0\0\3"), "gzip" },
  };
  for (const bad *b = table; b < table + N_OF(table); b++) {
    write_bytes(file(b->name), b->bytes, b->n);
    refused(b->which, b->words);
    remove(path);
  }
}

static void missing_files_are_errors(void) {
  for (loader which = IDX; which < LOADERS; which++) {
    file("missing");
    refused(which, strerror(ENOENT));
    mkdir(file("a directory"), 0777);
    refused(which, strerror(EISDIR));
    rmdir(path);
  }
  STOPS(edf_load_npy(NULL), "NULL");
  STOPS(edf_load("no/such/model"), "no/such/model");
}


/* ---- IDX and CSV */

static void same(edf_array a, int rank, int rows, int columns, const double *value) {
  CHECK(a.rank == rank && a.dim[0] == rows && (rank < 2 || a.dim[rank - 1] == columns) &&
        a.size == (size_t)(rows * columns), "%s: rank %d, size %zu", path, a.rank, a.size);
  for (size_t i = 0; i < a.size; i++) CLOSE(a.value[i], value[i], 0, 1e-6);
  edf_free_array(&a);
  edf_free_array(&a);                              /* twice does no harm */
  CHECK(!a.value && !a.size && memory.live == 0, "%ld blocks are left", memory.live);
}

static void idx_files_are_read(void) {
  static const double number[] = { 7, 1, 128, 255, 9, 10 };
  double part[6];
  int fd = lowest_free_fd();
  for (int i = 0; i < 6; i++) part[i] = number[i] / 255;
  write_bytes(file("idx"), BYTES("\0\0\10\3\0\0\0\2\0\0\0\1\0\0\0\3\7\1\200\377\11\12"));
  same(edf_load_images(path), 2, 2, 3, part);
  same(edf_load_idx(path), 3, 2, 3, number);
  write_bytes(path, BYTES("\0\0\10\1\0\0\0\6\7\1\200\377\11\12"));
  same(edf_load_labels(path), 1, 6, 1, number);
  write_bytes(path, BYTES("\0\0\10\10\0\0\0\2\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1"
                          "\0\0\0\1\0\0\0\3\7\1\200\377\11\12"));
  same(edf_load_idx(path), 8, 2, 3, number);
  CHECK(lowest_free_fd() == fd, "a file is open");
}

/* Lengths around those at which a reader asks for more memory or another piece of the file. */
static void long_files_are_read_whole(void) {
  static const int sizes[] = { 1, 1015, 1016, 1017, 4095, 4096, 4097, 9000 };
  for (size_t k = 0; k < 2 * N_OF(sizes); k++) {
    int n = sizes[k / 2], csv = k % 2;
    memcpy(bytes, "\0\0\10\1\0", 6);
    bytes[6] = (char)(n >> 8);
    bytes[7] = (char)(n & 255);
    for (int i = 0; i < n; i++)
      if (csv) sprintf(bytes + 6 * i, "%05d\n", i * 7 % 256);
      else bytes[8 + i] = (char)(i * 7 % 256);
    write_bytes(file("long"), bytes, (size_t)(csv ? 6 * n : n + 8));
    edf_array a = csv ? edf_load_csv(path) : edf_load_idx(path);
    CHECK(a.dim[0] == n && a.size == (size_t)n, "%d: %zu", n, a.size);
    for (int i = 0; i < n; i++) CHECK((int)a.value[i] == i * 7 % 256, "%d: entry %d", n, i);
    edf_free_array(&a);
  }
}

static void csv_files_are_read(void) {
  static const double number[] = { -1, -2.5, 3e2, 4, 5, 0.0625 };
  static const bad table[] = {
    { CSV, "plain", BYTES("-1,-2.5\n3e2,4\n5,.0625\n"), "" },
    { CSV, "heading", BYTES("size,\"a b\"\n-1,-2.5\n3e2,4\n5,.0625\n"), "" },
    { CSV, "heading, CRLF", BYTES("size,weight\r\n-1,-2.5\r\n3e2,4\r\n5,.0625\r\n"), "" },
    { CSV, "byte order mark", BYTES("\357\273\277" "-1,-2.5\n3e2,4\n5,.0625"), "" },
    { CSV, "spaces", BYTES(" -1 , -2.5\n3e2,4 \n+5,\t.0625\n"), "" },
    { CSV, "empty lines", BYTES("\n-1,-2.5\n\n3e2,4\n \r\n5,.0625\n\n\r\n"), "" },
    { CSV, "signs", BYTES("-1,-2.5\n+3e+2,4\n5,+62.5E-3\n"), "" },
    { CSV, "a point first", BYTES("-.1e1,-2.5\n3e2,4\n5,.0625\n"), "" },
  };
  for (const bad *b = table; b < table + N_OF(table); b++) {
    write_bytes(file(b->name), b->bytes, b->n);
    same(edf_load_csv(path), 2, 3, 2, number);
    remove(path);
  }
}

/* ---- .npy */

/* Header and numbers as NumPy writes them: a multiple of 64 bytes, then little-endian. */
static void npy_files_are_whole(void) {
  static const char *const shape[] = { "()", "(5,)", "(2, 3)", "(1, 2, 1, 1, 2, 1, 1, 3)" };
  static const int dim[][8] = { { 0 }, { 5 }, { 2, 3 }, { 1, 2, 1, 1, 2, 1, 1, 3 } };
  static const int rank[] = { 0, 1, 2, 8 }, size[] = { 1, 5, 6, 12 };
  static edf_real v[12] = { -1, 0.5, 3, (edf_real)0.1, (edf_real)-1e30 };
  v[4] = (edf_real)INFINITY;
  for (int k = 0; k < 4; k++) {
    edf_array a = { rank[k], { 0 }, (size_t)size[k], v };
    memcpy(a.dim, dim[k], sizeof dim[k]);
    edf_save_npy(file("whole.npy"), a);
    read_bytes(path);
    size_t header = n_bytes - a.size * sizeof *v;
    CHECK(!memcmp(bytes, "\x93NUMPY\1\0", 8) && header % 64 == 0 && bytes[header - 1] == '\n' &&
          (size_t)(unsigned char)bytes[8] + 10 == header, "a header of %zu bytes", header);
    CHECK(!memcmp(bytes + header, v, a.size * sizeof *v), "the numbers of %s", shape[k]);
    WORDS(bytes + 10, EDF_REAL_IS_DOUBLE ? "'<f8'" : "'<f4'");
    WORDS(bytes + 10, "'fortran_order': False");
    WORDS(bytes + 10, shape[k]);
    edf_array b = edf_load_npy(path);
    CHECK(b.rank == rank[k] && b.size == a.size && !memcmp(b.dim, dim[k], sizeof dim[k]) &&
          !memcmp(a.value, b.value, a.size * sizeof *v), "%s does not come back", shape[k]);
    edf_free_array(&b);
  }
}

/* An .npy file of this version. */
static void put_npy(int version, const char *header, const char *data, size_t n) {
  char all[512] = "\x93NUMPY";
  size_t length = strlen(header), at = version > 1 ? 12 : 10;
  all[6] = (char)version;
  all[8] = (char)length;
  memcpy(all + at, header, length);
  memcpy(all + at + length, data, n);
  write_bytes(path, all, at + length + n);
}

#define HEAD(type, shape) \
  "{'descr': '" type "', 'fortran_order': False, 'shape': " shape ", }\n"

static void npy_files_of_others_are_read(void) {
  static const struct {
    int version; const char *header, *data; size_t n; double expected[3];
  } table[] = {
    { 1, HEAD("|u1", "(3,)"), BYTES("\1\376\7"), { 1, 254, 7 } },
    { 1, HEAD("|i1", "(3,)"), BYTES("\1\376\200"), { 1, -2, -128 } },
    { 1, HEAD("<i2", "(3,)"), BYTES("\1\0\376\377\0\200"), { 1, -2, -32768 } },
    { 1, HEAD("<u4", "(3,)"), BYTES("\1\2\3\4\0\0\0\200\0\1\0\0"),
      { 67305985, 2147483648., 256 } },
    { 1, HEAD("<i8", "(3,)"), BYTES("\1\0\0\0\0\0\0\0\376\377\377\377\377\377\377\377"
                                    "\0\0\0\0\0\0\0\200"), { 1, -2, -9223372036854775808. } },
        { 1, HEAD("<f4", "(3,)"), BYTES("\0\0\200\77\0\0\300\277\0\0\0\0"), { 1, -1.5, 0 } },
    { 1, HEAD("<f8", "(3, 1)"), BYTES("\0\0\0\0\0\0\360\77\0\0\0\0\0\0\0\300"
                                      "\0\0\0\0\0\0\0\0"), { 1, -2, 0 } },
    { 2, HEAD("<u2", "(3,)"), BYTES("\1\0\2\0\377\377"), { 1, 2, 65535 } },
    { 3, "{'shape':(3,), 'fortran_order':False,'descr':'|u1'}", BYTES("\1\2\3"), { 1, 2, 3 } },
  };
  for (size_t k = 0; k < N_OF(table); k++) {
    file("theirs.npy");
    put_npy(table[k].version, table[k].header, table[k].data, table[k].n);
    edf_array a = edf_load_npy(path);
    CHECK(a.size == 3 && a.dim[0] == 3, "%s: %zu entries", table[k].header, a.size);
    for (int i = 0; i < 3; i++)
      CHECK(a.value[i] == (edf_real)table[k].expected[i], "%s: entry %d is %g",
            table[k].header, i, (double)a.value[i]);
    edf_free_array(&a);
  }
}

static void broken_npy_headers_are_refused(void) {
  static const struct { const char *header, *data; size_t n; const char *words; } table[] = {
    { "{}", BYTES(""), "byte 10|descr" },
    { "{'descr': '|u1'}", BYTES(""), "fortran_order" },
    { "{'descr': '|u1', 'fortran_order': False}", BYTES(""), "shape" },
    { HEAD("<c8", "(3,)"), BYTES(""), "byte 10|f4|<c8" },
    { HEAD("<f2", "(3,)"), BYTES("123456"), "<f2" },
    { "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }\n", BYTES(""), "Fortran" },
    { HEAD("<f4", "(3,)"), BYTES("1234567"), " 12| 7" },
    { HEAD("<f4", "(3,)"), BYTES("1234567890123"), " 12| 13" },
    { HEAD("<f4", "(0,)"), BYTES(""), "dimension| 0" },
    { HEAD("<f4", "(3000000000,)"), BYTES(""), "dimension|3000000000" },
    { HEAD("<f8", "(2000000000,2000000000,99)"), BYTES(""), "bytes| 0" },
    { HEAD("<f4", "(1,1,1,1,1,1,1,1,1)"), BYTES("1234"), "dimension| 8" },
    { HEAD("<f4", "[3]"), BYTES(""), "shape" }, { HEAD("<f4", "(-3)"), BYTES(""), "shape" },
    { HEAD("<f4", "(3"), BYTES(""), "shape" }, { HEAD("<f4", "(2 2)"), BYTES(""), "shape" },
    { HEAD("<f4", "(2,,2)"), BYTES("1234567890123456"), "shape" },
  };
  for (size_t k = 0; k < N_OF(table); k++) {
    put_npy((file(edf_fmt("bad-%c.npy", 'a' + (int)k)), 1), table[k].header, table[k].data,
            table[k].n);
    refused(NPY, table[k].words);
  }
}

/* Infinities and NaN are read. A finite number that no float can hold is an error. */
static void large_numbers_are_no_infinities(void) {
  static const char v[] =                          /* inf, NaN, -FLT_MAX, 1e300 */
    "\0\0\0\0\0\0\360\177" "\0\0\0\0\0\0\370\177" "\0\0\0\340\377\377\357\307"
    "\234\165\0\210\074\344\067\176";
  put_npy((file("large.npy"), 1), HEAD("<f8", "(4,)"), v, 32);
  if (!EDF_REAL_IS_DOUBLE) refused(NPY, "byte 92|float");
  put_npy(1, HEAD("<f8", "(3,)"), v, 24);
  edf_array a = edf_load_npy(path);
  CHECK(isinf(a.value[0]) && isnan(a.value[1]) && (double)a.value[2] < -3.4028e38, "%g",
        (double)a.value[2]);
  edf_free_array(&a);
}

/* ---- Pictures */

/* Whole files, as Python's zlib makes them: one grey row, of which what is outside of 0 to 1 is
   cut off, and one in colours. Larger pictures are read by python.sh. */
static void pictures_are_png(void) {
  static const char grey[] =
    "\211PNG\15\12\32\12\0\0\0\15IHDR\0\0\0\10\0\0\0\1\10\0\0\0\0\306k\260\237\0\0\0\24IDATx\1"
    "\1\11\0\366\377\0\0\0\1\177\376\377\377\0\13}\3}/\365F\252\0\0\0\0IEND\256B`\202";
  static const char colours[] =
    "\211PNG\15\12\32\12\0\0\0\15IHDR\0\0\0\2\0\0\0\1\10\2\0\0\0{@\350\335\0\0\0\22IDATx\1"
    "\1\7\0\370\377\0\0" "3f\231\314\377\7\0\2\376\365\31\266\215\0\0\0\0IEND\256B`\202";
  edf_real eight[] = { (edf_real)-0.1, (edf_real)0.0019, (edf_real)0.002, (edf_real)0.4999,
                       (edf_real)0.998, (edf_real)0.9981, (edf_real)INFINITY, (edf_real)NAN };
  edf_real six[] = { 0, (edf_real)0.2, (edf_real)0.4, (edf_real)0.6, (edf_real)0.8, 1 };
  edf_array a = { 2, { 1, 8 }, 8, eight }, b = { 3, { 1, 2, 3 }, 6, six };
  edf_save_image(file("grey.png"), a);
  read_bytes(path);
  CHECK(n_bytes == sizeof grey - 1 && !memcmp(bytes, grey, n_bytes), "grey: %zu", n_bytes);
  edf_save_image(file("colours.png"), b);
  read_bytes(path);
  CHECK(n_bytes == sizeof colours - 1 && !memcmp(bytes, colours, n_bytes), "%zu", n_bytes);
}

static void wrong_pictures_are_errors(void) {
  edf_real v[6] = { 0 };
  edf_array line = { 1, { 1 }, 1, v }, two = { 3, { 1, 1, 2 }, 2, v }, none = { 2, { 1, 1 }, 1,
                                                                              NULL };
  edf_array right = { 2, { 1, 1 }, 1, v }, wrong = { 2, { 1, 2 }, 1, v };
  STOPS(edf_save_image("x.gif", right), "edf_save_image|x.gif|.png");
  STOPS(edf_save_image("x.png", line), "edf_save_image|x.png| 1");
  STOPS(edf_save_image("x.png", two), "edf_save_image|x.png| 3 | 2");
  STOPS(edf_save_image("x.png", none), "edf_save_image|numbers");
  STOPS(edf_save_npy("x.npy", none), "edf_save_npy|numbers");
  STOPS(edf_save_npy("x.npy", wrong), "edf_save_npy|size");
  STOPS(edf_contact_sheet(right, 1, 1, 0, 1), "edf_contact_sheet|[1, 1]");
  two.dim[2] = 1;
  two.size = 1;
  STOPS(edf_contact_sheet(two, 0, 1, 0, 1), "edf_contact_sheet| 0");
  STOPS(edf_contact_sheet(two, 1, 0, 0, 1), "edf_contact_sheet| 0");
  STOPS(edf_contact_sheet(two, 1, 1, 2, 2), "edf_contact_sheet| 2");
  STOPS(edf_contact_sheet(two, 1, 1, (edf_real)NAN, 2), "edf_contact_sheet");
  STOPS(edf_contact_sheet(two, 1, 2147483647, 0, 1), "edf_contact_sheet");
}

/* Entry i of the pictures becomes (i - lo) / (hi - lo), and all around them is white. The
   letters are what is not white, line by line. */
static void sheet_is(edf_array a, int columns, int zoom, const char *letters) {
  static edf_real number[26];
  char found[100];
  int n = 0;
  for (int i = 0; i < 26; i++) number[i] = (edf_real)i;
  a.value = number;
  edf_array s = edf_contact_sheet(a, columns, zoom, -1, 31);
  CHECK(s.rank == a.rank - 1 && s.value[0] == 1 && s.value[s.size - 1] == 1, "the frame");
  for (size_t i = 0; i < s.size && n < 99; i++)
    if (s.value[i] != 1) found[n++] = (char)('a' + (int)((double)s.value[i] * 32 - 0.5));
  found[n] = '\0';
  CHECK(!strcmp(found, letters), "%s instead of %s", found, letters);
  edf_free_array(&s);
}

static void contact_sheets_have_every_picture(void) {
  edf_array grey = { 3, { 3, 2, 2 }, 12, NULL }, colours = { 4, { 2, 1, 2, 3 }, 12, NULL };
  sheet_is(grey, 2, 1, "abefcdghijkl");
  sheet_is(grey, 9, 1, "abefijcdghkl");
  sheet_is(grey, 1, 2, "aabbaabbccddccddeeffeeffgghhgghhiijjiijjkkllkkll");
  sheet_is(colours, 2, 1, "abcdefghijkl");
  sheet_is(colours, 1, 2, "abcabcdefdefabcabcdefdefghighijkljklghighijkljkl");
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
}

/* ---- Text */

static void look_at(edf_vocabulary t, const char *text, size_t n) {
  int seen[256] = { 0 }, symbols = 0;
  static char back[5001];
  for (size_t i = 0; i < n; i++) seen[(unsigned char)text[i]] = 1;
  for (int c = 0; c < 256; c++) {
    CHECK(t.number[c] == (seen[c] ? symbols : -1), "the number of byte %d", c);
    if (seen[c]) CHECK(t.symbol[symbols] == (char)c, "symbol %d", symbols);
    symbols += seen[c];
  }
  CHECK(t.symbols == symbols && t.classes.rank == 1 && t.classes.size == n &&
        t.classes.dim[0] == (int)n, "%d symbols, %zu bytes", t.symbols, t.classes.size);
  edf_decode(&t, t.classes.value, n, back);
  CHECK(!memcmp(back, text, n) && !back[n], "%zu bytes do not come back", n);
  edf_free_text(&t);
  CHECK(!t.symbols && !t.classes.value && memory.live == 0, "%ld blocks", memory.live);
}

static void texts_are_classes_and_back(void) {
  static const size_t length[] = { 1, 256, 1023, 1024, 1025, 5000 };
  static char text[5000];
  for (size_t i = 0; i < sizeof text; i++) text[i] = (char)(255 - i * i % 256 + i / 256);
  for (size_t k = 0; k < N_OF(length); k++) {
    look_at(edf_text_of(text, length[k]), text, length[k]);
    write_bytes(file("text"), text, length[k]);
    look_at(edf_load_text(path), text, length[k]);
  }
  for (int i = 0; i < 256; i++) text[i] = (char)i;
  look_at(edf_text_of(text, 256), text, 256);
  write_bytes(path, BYTES("\xef\xbb\xbfyes"));
  look_at(edf_load_text(path), "yes", 3);
}

static void wrong_letters_are_errors(void) {
  static const struct { double k; const char *text, *words; } table[] = {
    { -1, NULL, "edf_decode| 1|-1" }, { 0.5, NULL, "edf_decode| 1|0.5" },
    { 2, NULL, "edf_decode| 1| 2" }, { NAN, NULL, "edf_decode| 1" },
    { 0, "ba t", "edf_encode| 2| 32" }, { 0, "b\xff" "ab", "edf_encode| 1| 255" },
  };
  for (size_t i = 0; i < N_OF(table); i++) {
    static edf_vocabulary t;
    edf_real k[4] = { 0, (edf_real)table[i].k };
    char text[4];
    t = edf_text_of("ab", 2);
    if (table[i].text) TRY(edf_encode(&t, table[i].text, 4, k));
    else TRY(edf_decode(&t, k, 2, text));
    edf_free_text(&t);
    harness_stopped(__FILE__, __LINE__, table[i].words);
  }
  STOPS(edf_text_of("a", 0), "edf_text_of| 0");
}

/* ---- ONNX. What the models compute is checked by onnx.sh. */
static void copy_forward(edf_node *y) {
  memcpy(y->value, y->in[0]->value, y->size * sizeof *y->value);
}
/* Returns a node that predicts (0), or one that cannot be exported. */
static edf_node *onnx_node(int which) {
  edf_node *in = edf_input("x[b,3]"), *w = edf_parameter("w[3,2]");
  edf_node *y = edf_einsum("y[b,j] = w[I,j] x[b,I]", w, in);
  switch (which) {
    case 0:  return y;
    case 1:  return edf_square(edf_compnode("Own", copy_forward, NULL, y));
    default: return edf_add(in, edf_input("x[b,3]"));
  }
}
static void onnx_models_are_whole_or_not_there(void) {
  remove(path);
  STOPS(edf_save_onnx(path, NULL), "edf_save_onnx|NULL");
  STOPS(edf_save_onnx(path, onnx_node(1)), "edf_save_onnx|Own|a node of your own");
  STOPS(edf_save_onnx(path, onnx_node(2)), "edf_save_onnx|Input \"x\"|another node has its name");
  STOPS(edf_save_onnx("no/such/directory.onnx", onnx_node(0)), "no/such/directory.onnx");
  CHECK(access(path, F_OK), "a refused model has left a file");
  edf_save_onnx(path, onnx_node(0));
  read_bytes(path);
  CHECK(n_bytes > 100 && !memcmp(bytes, "\10\10\22\5edf.h", 9), "the file does not begin so");
  edf_clear();
}

/* ---- Models */

static Parameter *W, *v;
static edf_node *x, *y, *loss;

static void two_parameters(void) {
  edf_clear();
  edf_seed(4);
  edf_init_normal(W = edf_parameter("W[2,3]"), 0, 1);
  edf_init_normal(v = edf_parameter("v[2]"), 0, 1);
}

static void network(int seed) {
  edf_clear();
  edf_seed((unsigned)seed);
  x = edf_input("x[b,5]");
  y = edf_input("y[b]");
  edf_affine_package first = edf_affine_params(5, 6), second = edf_affine_params(6, 3);
  edf_node *s = edf_batch_norm(edf_batch_norm_params(6), edf_affine(first, x));
  edf_node *h = edf_dropout(edf_tanh(s), 0.25);
  loss = edf_softmax_log_loss(edf_affine(second, h), y);
}

static void train(int steps) {
  static edf_real rows[8 * 5], labels[8];
  for (int i = 0; i < 40; i++) rows[i] = (edf_real)(i * 7 % 11) / 11;
  for (int i = 0; i < 8; i++) labels[i] = (edf_real)(i % 3);
  while (steps-- > 0) {
    edf_feed(x, rows, 8);
    edf_feed(y, labels, 8);
    edf_forward();
    edf_backward(loss);
    edf_adamw((edf_real)0.01, (edf_real)0.9, (edf_real)0.99, (edf_real)1e-8, (edf_real)0.1);
  }
}

typedef struct {                                   /* all that a model's file holds */
  edf_real number[3][100];
  unsigned long long steps, seed, draws;
} snapshot;

static snapshot look(void) {
  snapshot s;
  size_t at = 0;
  memset(&s, 0, sizeof s);
  for (int i = 0; i < edf.n_parameters; i++) {
    const edf_node *p = edf.parameters[i];
    memcpy(s.number[0] + at, p->value, p->size * sizeof *p->value);
    if (p->m) memcpy(s.number[1] + at, p->m, p->size * sizeof *p->m);
    if (p->s) memcpy(s.number[2] + at, p->s, p->size * sizeof *p->s);
    at += p->size;
    s.steps = s.steps * 1000 + (unsigned long long)p->steps;
  }
  s.seed = edf.seed;
  s.draws = edf.draws;
  return s;
}

static int same_model(snapshot a) {
  snapshot b = look();
  return !memcmp(&a, &b, sizeof a);
}

/* Ten steps are five steps, a file, another process and five steps. */
static void training_resumes_bit_for_bit(void) {
  network(1);
  train(5);
  edf_save(file("resumed.safetensors"));
  snapshot five = look();
  train(5);
  snapshot ten = look();
  network(99);
  train(2);
  edf_load(path);
  CHECK(same_model(five), "it begins elsewhere");
  train(5);
  CHECK(same_model(ten), "it ends elsewhere");
  network(1);
  edf_load(path);                                  /* before the first step */
  train(5);
  CHECK(same_model(ten) && !same_model(five), "it ends elsewhere, begun anew");
}

static void put_model(const char *header, size_t data) {       /* and 0, 1, 2 ... as float */
  size_t n = strlen(header);
  memset(bytes, 0, 8);
  for (int k = 0; k < 2; k++) bytes[k] = (char)(n >> 8 * k);
  memcpy(bytes + 8, header, n);
  for (size_t i = 0; i <= data / 4; i++) {
    float number = (float)i;
    memcpy(bytes + 8 + n + 4 * i, &number, 4);
  }
  write_bytes(file("theirs.safetensors"), bytes, 8 + n + data);
}

#define F32 "{\"dtype\":\"F32\",\"shape\":"
#define ENTRY(shape, from, to) F32 shape ",\"data_offsets\":[" from "," to "]}"
#define W32 "\"W\":" ENTRY("[2,3]", "0", "24")
#define V32 "\"v\":" ENTRY("[2]", "24", "32")

/* In any order, with the metadata of others, with and without the memory of an optimiser. */
static void models_of_others_are_read(void) {
  static const struct { const char *header; size_t data; double w, v; } table[] = {
    { "{" W32 "," V32 "}", 32, 5, 7 },
    { "{" V32 "," W32 "}       ", 32, 5, 7 },
    { " { \"__metadata__\" : {\"format\":\"pt\"} , " W32 " , " V32 " }\n", 32, 5, 7 },
    { "{\"W\":{\"dtype\":\"F32\", \"shape\": [2, 3],\"data_offsets\":[8,32]},"
      "\"v\":" ENTRY("[2]", "0", "8") "}", 32, 7, 1 },
  };
  for (size_t k = 0; k < N_OF(table); k++) {
    two_parameters();
    put_model(table[k].header, table[k].data);
    edf_load(path);
    double w = (double)W->value[5], number = (double)v->value[1];
    CHECK(w == table[k].w && number == table[k].v && edf.seed == 4, "header %zu: %g", k, w);
  }
  put_model("{" W32 "," V32 ",\"v.m\":" ENTRY("[2]", "32", "40") ",\"W.s\":"
            ENTRY("[2,3]", "40", "64") ",\"__metadata__\":{\"v.steps\":\"7\",\"seed\":\"5\","
            "\"draws\":\"6\"}}", 64);
  edf_load(path);
  CHECK((int)v->m[1] == 9 && (int)W->s[5] == 15 && v->steps == 7 && W->steps == 0, "memory");
  CHECK(edf.seed == 5 && edf.draws == 6, "seed %llu, draws %llu", edf.seed, edf.draws);
  put_model("{" W32 "," V32 "}", 32);
  edf_load(path);                                  /* what the file lacks begins afresh */
  CHECK((int)v->value[1] == 7 && v->steps == 0 && (!v->m || v->m[1] == 0) &&
        (!W->s || W->s[5] == 0), "the optimiser remembers another model");
  put_model("{\"v\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[24,40]}," W32 "}", 40);
  double two[] = { -0.5, 1e300 };
  size_t n = strlen(bytes + 8) + 32;
  memcpy(bytes + n, two, 16);
  write_bytes(path, bytes, n + 16);
  snapshot before = look();
  TRY(edf_load(path));
  if (EDF_REAL_IS_DOUBLE) CHECK(!panicked && v->value[1] == (edf_real)1e300, "F64: %s", caught);
  else CHECK(same_model(before), "something changed after: %s", caught);
  if (!EDF_REAL_IS_DOUBLE) stopped_at_file("float", lowest_free_fd());
}

static void broken_models_change_nothing(void) {
  static const struct { const char *header; size_t data; char built; const char *words; }
  table[] = {
    { "{" W32 "}", 24, 'v', "" },
    { "{" W32 "," V32 ",\"extra\":" ENTRY("[1]", "32", "36") "}", 36, 0, "extra" },
    { "{" W32 "," V32 ",\"v.mm\":" ENTRY("[2]", "32", "40") "}", 40, 0, "v.mm" },
    { "{\"W\":" ENTRY("[3,2]", "0", "24") "," V32 "}", 32, 'W', "[3, 2]|[2, 3]" },
    { "{\"W\":" ENTRY("[6]", "0", "24") "," V32 "}", 32, 'W', "[6]|[2, 3]" },
    { "{" W32 "," V32 ",\"v.m\":" ENTRY("[1]", "32", "36") "}", 36, 'v', "[1]|[2]" },
    { "{" W32 "," W32 "," V32 "}", 32, 0, "W" },
    { "{" W32 ",\"v\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[24,28]}}", 28, 0,
      "v|BF16|F32" },
    { "{" W32 ",\"v\":{\"dtype\":\"F32\",\"shape\":[2]}}", 32, 0, "v|data_offsets" },
    { "{" W32 ",\"v\":" ENTRY("[2]", "24", "28") "}", 32, 0, "v| 24| 28| 8" },
    { "{" W32 ",\"v\":" ENTRY("[2]", "32", "24") "}", 32, 0, "v| 32| 24" },
    { "{" W32 ",\"v\":" ENTRY("[2]", "16", "24") "}", 32, 0, " 16" },
    { "{" W32 ",\"v\":" ENTRY("[2]", "32", "40") "}", 40, 0, " 32" },
    { "{" W32 ",\"v\":" ENTRY("[2]", "24", "18446744073709551616") "}", 32, 0, "" },
    { "{" W32 ",\"v\":" ENTRY("[2]", "18446744073709551608", "0") "}", 32, 0, "" },
    { "{" W32 "," V32 "}", 31, 0, " 32| 31" },
    { "{" W32 "," V32 "}", 33, 0, " 32| 33" },
    { "{" W32 "," V32 ",\"__metadata__\":{\"W.steps\":\"many\"}}", 32, 0, "W|many" },
    { "{" W32 "," V32 ",\"__metadata__\":{\"W.steps\":\"-1\"}}", 32, 0, "W|-1" },
    { "{" W32 "," V32, 32, 0, "" }, { "{" W32 "," V32 "} x", 32, 0, "" },
    { "{" W32 ";" V32 "}", 32, 0, "" }, { "[" W32 "," V32 "]", 32, 0, "" },
    { "{" W32 ",\"v\":" ENTRY("[2", "24", "32") "}", 32, 0, "" }, { "{}", 0, 'W', "" },
    { "{" W32 ",\"v\":{\"dtype\":\"F32", 32, 0, "" },
  };
  for (size_t k = 0; k < N_OF(table); k++) {
    int fd = lowest_free_fd(), failures = harness.bad;
    char words[100] = "", *to = words;
    two_parameters();
    put_model(table[k].header, table[k].data);
    snapshot before = look();
    TRY(edf_load(path));
    CHECK(same_model(before), "something changed after: %s", caught);
    if (table[k].built)
      to += sprintf(to, "\"%c\"|files.c:%d|", table[k].built,
                    table[k].built == 'W' ? W->line : v->line);
    snprintf(to, 80, "%s", table[k].words);
    stopped_at_file(words, fd);
    if (harness.bad > failures) harness_fail(__FILE__, __LINE__, "header %s", table[k].header);
  }
}

/* Cut anywhere, or with a zero for a byte of the header. Only a zero in metadata may pass. */
static void damaged_models_change_nothing(void) {
  network(1);
  train(2);
  edf_save(file("whole.safetensors"));
  read_bytes(path);
  snapshot before = look();
  size_t header = (unsigned char)bytes[0] + 256u * (unsigned char)bytes[1];
  CHECK(header % 8 == 0 && n_bytes > header + 8, "numbers begin at byte %zu", 8 + header);
  for (size_t n = 0; n < n_bytes + header; n += n < header || n >= n_bytes ? 7 : 61) {
    char *at = bytes + 8 + (n < n_bytes ? 0 : n - n_bytes), old = *at;
    if (n >= n_bytes) *at = '\0';
    write_bytes(file("damaged.safetensors"), bytes, n < n_bytes ? n : n_bytes);
    *at = old;
    TRY(edf_load(path));
    CHECK(panicked ? strstr(caught, path) != NULL : n >= n_bytes, "at %zu: %s", n, caught);
    snapshot after = look();
    if (panicked) CHECK(same_model(before), "damaged at %zu: something changed", n);
    else CHECK(!memcmp(before.number, after.number, sizeof *after.number), "at %zu", n);
  }
  write_bytes(path, BYTES("\377\377\377\377\377\377\377\377{}"));
  TRY(edf_load(path));
  stopped_at_file("", lowest_free_fd());
}

/* Each request for memory fails once, in each loader. */
static void out_of_memory_is_an_error(void) {
  static const bad table[] = {
    { IDX, "idx", BYTES("\0\0\10\1\0\0\0\3abc"), "" }, { CSV, "csv", BYTES("1,2\n"), "" },
    { NPY, "npy", BYTES("\x93NUMPY\1\0\72\0{'descr': '|u1', 'fortran_order': False, "
                        "'shape': (2,), }\nab"), "" },
    { TEXT, "text", BYTES("abc"), "" }, { MODEL, "model", BYTES(""), "" },
  };
  for (const bad *b = table; b < table + N_OF(table); b++) {
    static long n;
    int fd = lowest_free_fd();
    for (n = 1; n < 50; n++) {
      two_parameters();
      snapshot before = look();
      write_bytes(file(b->name), b->bytes, b->n);
      if (b->which == MODEL)
        put_model("{" W32 "," V32 ",\"v.m\":" ENTRY("[2]", "32", "40") "}", 40);
      memory.until_failure = n;
      TRY(load_and_free(b->which));
      memory.until_failure = 0;
      if (!panicked) break;
      CHECK(same_model(before), "something changed after: %s", caught);
      harness_stopped(__FILE__, __LINE__, "memory");
      CHECK(lowest_free_fd() == fd, "%s is still open", path);
    }
    CHECK(n >= 2 && n < 50, "%s: request %ld", b->name, n);
    edf_clear();
  }
}

/* Names that a file could not tell apart are errors. Others may have any character. */
static void names_of_parameters_differ(void) {
  static const char *const names[] = { "W", "W.m", "__metadata__", "" };
  for (size_t k = 0; k < N_OF(names); k++) {
    two_parameters();
    edf_name(v, names[k]);
    if (!*names[k]) edf_name(v, "a \"name\" \\ with\nall \xc3\xa9");
    snapshot before = look();
    TRY(edf_save(file("names.safetensors")));
    if (*names[k]) harness_stopped(__FILE__, __LINE__, edf_fmt("edf_save|\"%s\"", names[k]));
    if (*names[k]) continue;
    v->value[1] = 0;
    edf_load(path);
    CHECK(same_model(before), "a name with special characters");
  }
  two_parameters();
  edf_name(W, "__metadata__");
  STOPS(edf_save(path), "edf_save|\"__metadata__\"");
  file("names.safetensors");
  STOPS(edf_load(path), "parameter");
  STOPS(edf_save(path), "edf_save|parameter");
  for (int pass = 0; pass < 2; pass++) {           /* W, W@1, V, W@3 */
    for (int i = 0; i < 4; i++) edf_parameter(i == 2 ? "V[2]" : "W[2]");
    for (int i = 0; i < 4 && !pass; i++) edf.parameters[i]->value[1] = (edf_real)i;
    if (pass) edf_load(path);
    else edf_save(file("equal.safetensors"));
    for (int i = 0; i < 4; i++)
      CHECK((int)edf.parameters[i]->value[1] == i, "parameter %d of the file is another", i);
    edf_clear();
  }
}

/* ---- Writing */

static void save(int which, const char *to, edf_real first) {
  edf_real numbers[1200] = { first };
  edf_array a = { 2, { 40, 30 }, 1200, numbers };
  if (which == 0) edf_save_npy(to, a);
  if (which == 1) edf_save_image(to, a);
  if (which == 2) edf_init_uniform(edf_parameter("W[600]"), first, first);
  if (which == 2) edf_save(to);
}

static void errors_of_writing_leave_the_old_file(void) {
  static const char *const names[] = { "old.npy", "old.png", "old.safetensors" };
  struct rlimit all, little;
  getrlimit(RLIMIT_FSIZE, &all);
  little = all;
  little.rlim_cur = 1000;                          /* a disk with room for this */
  signal(SIGXFSZ, SIG_IGN);
  for (int k = 0; k < 3; k++) {
    static char old[1 << 16];
    save(k, file(names[k]), 0.5);
    edf_clear();
    read_bytes(path);
    memcpy(old, bytes, n_bytes);
    size_t n = n_bytes;
    int files = files_in_directory(), fd = lowest_free_fd();
    setrlimit(RLIMIT_FSIZE, &little);
    TRY(save(k, path, 0.25));
    setrlimit(RLIMIT_FSIZE, &all);
    stopped_at_file(strerror(EFBIG), fd);
    read_bytes(path);
    CHECK(n_bytes == n && !memcmp(bytes, old, n), "%s is damaged", path);
    CHECK(files_in_directory() == files, "%s: a file is left", path);
    TRY(save(k, file(edf_fmt("no/such/%s", names[k])), 0.25));
    stopped_at_file(strerror(ENOENT), fd);
    mkdir(file(edf_fmt("directory-%s", names[k])), 0777);
    TRY(save(k, path, 0.25));
    stopped_at_file(strerror(EISDIR), fd);
    CHECK(files_in_directory() == files + 1, "%s: a file is left", path);
    if (k != 1) STOPS(save(k, NULL, 0.25), "path|NULL");
  }
}

/* A link stays a link, and the file that it names is written. */
static void links_are_followed(void) {
  edf_real number = 7;
  edf_array a = { 0, { 0 }, 1, &number };
  char link[sizeof path];
  write_bytes(file("target.npy"), BYTES("old"));
  snprintf(link, sizeof link, "%s", file("link.npy"));
  if (symlink("target.npy", link)) SKIP("no symbolic links");
  edf_save_npy(link, a);
  if (chdir(dir)) abort();
  number = 8;
  edf_save_npy("link.npy", a);                     /* without a directory, too */
  if (chdir("../..")) abort();
  struct stat is;
  CHECK(!lstat(link, &is) && S_ISLNK(is.st_mode), "%s is no link any more", link);
  a = edf_load_npy(file("target.npy"));
  CHECK(a.value[0] == 8, "%s has another number", path);
  edf_free_array(&a);
}

/* ---- Arrays and nodes */

static void shuffling_keeps_rows_together(void) {
  static const int dims[] = { 100, 2 };
  edf_array a = edf_new_array(2, dims), b = edf_new_array(1, dims);
  int moved = 0, seen[100] = { 0 };
  CHECK(a.rank == 2 && a.dim[0] == 100 && a.dim[1] == 2 && a.size == 200, "%zu", a.size);
  for (int i = 0; i < 200; i++) a.value[i] = (edf_real)(i % 2 * 1000 + i / 2);
  for (int i = 0; i < 100; i++) b.value[i] = (edf_real)i;
  edf_shuffle(&a, &b);
  for (int i = 0; i < 100; i++) {
    int row = (int)b.value[i];
    CHECK((int)a.value[2 * i] == row && (int)a.value[2 * i + 1] == row + 1000, "row %d", i);
    moved += row != i;
    seen[row]++;
  }
  for (int i = 0; i < 100; i++) CHECK(seen[i] == 1, "row %d is there %d times", i, seen[i]);
  CHECK(moved > 80, "only %d rows moved", moved);
  for (int i = 0; i < 100; i++) b.value[i] = (edf_real)i;
  edf_shuffle(&b, &b);
  for (int i = moved = 0; i < 100; i++) moved += (int)b.value[i] != i;
  CHECK(moved > 80, "only %d rows moved", moved);
  for (int i = 0; i < 100; i++) b.value[i] = (edf_real)i;
  edf_node *in = edf_input("x[b]"), *target = edf_input("t[b]");
  edf_all all;
  edf_batches(&all, in, b, target, b, 10);         /* an autoencoder: its targets are its inputs */
  for (int i = moved = 0; i < 100; i++) moved += (int)b.value[i] != i;
  CHECK(moved > 80, "only %d rows moved", moved);
  edf_clear();
  b.dim[0] = 99;
  TRY(edf_shuffle(&a, &b));
  edf_free_array(&a);
  edf_free_array(&b);
  harness_stopped(__FILE__, __LINE__, "edf_shuffle| 100| 99");
}

/* With mean 0 and deviation 1. A constant column is 0. Other rows by the same numbers. */
static void columns_are_normalized(void) {
  edf_real n[] = { 1, 10, (edf_real)0.1, 3, 20, (edf_real)0.1, 5, 60, (edf_real)0.1 };
  edf_real w[] = { 7, 30, 5 };
  const double expected[] = { -2, -20, 0, 0, -10, 0, 2, 30, 0 };
  const double s[] = { sqrt(8.0 / 3), sqrt(1400.0 / 3), 1 };
  edf_array a = { 2, { 3, 3 }, 9, n }, test = { 2, { 1, 3 }, 3, w }, one = { 1, { 3 }, 3, w };
  edf_normalize_columns(&a, &test);
  for (int i = 0; i < 9; i++) CLOSE(n[i], expected[i] / s[i % 3], 1e-7, 1e-6);
  CHECK(n[2] == 0 && n[5] == 0 && w[2] == 0, "a constant column");
  CLOSE(w[0], 4 / s[0], 0, 1e-6);
  CLOSE(w[1], 0, 1e-7, 0);
  w[0] = 5;
  edf_normalize_columns(&one, NULL);               /* of one dimension: one column */
  CLOSE(w[0] + w[1] + w[2], 0, 1e-6, 0);
  CLOSE(w[0], sqrt(2), 0, 1e-6);
  STOPS(edf_normalize_columns(&a, &one), "edf_normalize_columns| 3| 1");
}

static void rows_and_views_are_no_copies(void) {
  edf_real n[24] = { 0, 1, 2, 3, 4, 5 };
  edf_array a = { 3, { 4, 3, 2 }, 24, n };
  edf_array first = edf_rows(a, 0, 3), last = edf_rows(a, 3, 4);
  CHECK(first.rank == 3 && first.dim[0] == 3 && first.dim[1] == 3 && first.dim[2] == 2 &&
        first.size == 18 && first.value == n, "%d rows, %zu", first.dim[0], first.size);
  CHECK(last.dim[0] == 1 && last.size == 6 && last.value == n + 18, "%zu", last.size);
  STOPS(edf_rows(a, -1, 1), "edf_rows| -1 | 1 | 4");
  STOPS(edf_rows(a, 2, 2), "edf_rows| 2 | 4");
  STOPS(edf_rows(a, 0, 5), "edf_rows| 0 | 5 | 4");
  two_parameters();
  x = edf_input("x[b,2]");
  y = edf_einsum("y[b] = x[b,I]", x);
  edf_feed(x, n, 3);
  edf_forward();
  a = edf_view(W);
  CHECK(a.rank == 2 && a.dim[0] == 2 && a.dim[1] == 3 && a.value == W->value, "%zu", a.size);
  a = edf_view(y);
  CHECK(a.rank == 1 && a.dim[0] == 3 && a.value[2] == 9, "of a node: %zu", a.size);
  edf_feed(x, n + 2, 1);                           /* the rows of the last feed */
  a = edf_view(x);
  CHECK(a.rank == 2 && a.dim[0] == 1 && a.size == 2 && a.value[1] == 3, "%zu", a.size);
  STOPS(edf_view(NULL), "edf_view|NULL");
  edf_array six = { 2, { 2, 3 }, 6, n }, other = { 2, { 3, 2 }, 6, n };
  two_parameters();
  edf_set(W, six);
  CHECK(!memcmp(edf_value(W), n, 6 * sizeof *n), "edf_set: other numbers");
  STOPS(edf_set(W, other), "edf_set|\"W\"|[3, 2]|[2, 3]");
  STOPS(edf_set(edf_input("x[2,3]"), six), "edf_set|Parameter|\"x\"");
}

static void batches_feed_every_row_once(void) {
  edf_real rows[20], labels[10];
  edf_array X = { 2, { 10, 2 }, 20, rows }, none = { 0, { 0 }, 0, NULL };
  edf_all all;
  int order[4][10], total = 0;
  x = edf_input("x[b,2]");
  y = edf_input("y[b]");
  for (int pass = 0; pass < 4; pass++) {           /* shuffled, with seeds 3, 3, 4; in order */
    edf_array Y = { 1, { 10 }, 10, labels };
    int n = 0, sizes = 0, seen[10] = { 0 };
    for (int i = 0; i < 20; i++) rows[i] = labels[i / 2] = (edf_real)(i / 2);
    edf_seed(pass == 2 ? 4 : 3);
    edf.training = pass < 3;
    for (edf_batches(&all, x, X, y, Y, 4); edf_next(&all); sizes = 10 * sizes + all.rows) {
      edf_forward();
      CHECK(edf_view(x).dim[0] == all.rows && edf_view(y).dim[0] == all.rows, "%d", all.rows);
      for (int b = 0; b < all.rows; b++) {
        int row = order[pass][n++] = (int)y->value[b];
        seen[row]++;
        CHECK((int)x->value[2 * b] == row && (int)x->value[2 * b + 1] == row, "row %d", row);
      }
    }
    CHECK(n == 10 && sizes == 442 && !edf_next(&all), "%d rows, in batches of %d", n, sizes);
    for (int i = 0; i < 10; i++) CHECK(seen[i] == 1, "row %d is fed %d times", i, seen[i]);
    for (int i = 0; i < 10; i++) CHECK(pass < 3 || order[3][i] == i, "row %d is elsewhere", i);
  }
  CHECK(!memcmp(order[0], order[1], sizeof order[0]), "the seed does not fix the order");
  CHECK(memcmp(order[0], order[2], sizeof order[0]), "another seed gives the same order");
  edf.training = 1;
  for (edf_batches(&all, x, X, NULL, none, 100); edf_next(&all); ) total += all.rows;
  CHECK(total == 10, "%d rows in one batch without labels", total);
  edf_clear();
}

static void inputs(void) {
  x = edf_input("x[b,3]");
  y = edf_input("y[b]");
}

static void wrong_batches_are_errors(void) {
  edf_real n[12] = { 0 };
  edf_array X = { 2, { 4, 3 }, 12, n }, Y = { 1, { 3 }, 3, n }, column = { 2, { 4, 1 }, 4, n };
  edf_array none = { 2, { 4, 3 }, 12, NULL };
  edf_all all;
  STOPS((inputs(), edf_batches(&all, x, X, y, Y, 2)), "edf_batches|\"y\"|[3]|[4]");
  STOPS((inputs(), edf_batches(&all, x, X, y, column, 2)), "edf_batches|\"y\"|[4, 1]|[4]");
  STOPS((inputs(), edf_batches(&all, x, Y, NULL, Y, 2)), "edf_batches|\"x\"|[3]|[3, 3]");
  STOPS(edf_batches(&all, edf_input("f[4,3]"), X, NULL, X, 2), "edf_batches|\"f\"|batch");
  STOPS((inputs(), edf_batches(&all, x, X, NULL, X, 0)), "edf_batches| 0");
  STOPS((inputs(), edf_batches(&all, x, none, NULL, X, 2)), "edf_batches|numbers");
  STOPS(edf_batches(&all, NULL, X, NULL, X, 2), "edf_batches|NULL");
}

static void mean_values_are_of_the_last_feed(void) {
  edf_real n[] = { 1, 2, 3, 6, 100, 100 };
  x = edf_input("x[b,2]");
  y = edf_square(x);
  edf_feed(x, n, 2);
  edf_forward();
  CHECK(edf_mean_value(y) == 12.5 && edf_mean_value(x) == 3, "%g", edf_mean_value(y));
  edf_feed(x, n, 1);
  CHECK(edf_mean_value(x) == 1.5, "of the rows fed: %g", edf_mean_value(x));
  STOPS(edf_mean_value(y), "edf_mean_value|last feed|Square");
  STOPS(edf_mean_value(edf_input("x[b]")), "edf_mean_value|\"x\"");
}

/* The first of the greatest scores is the answer. A NaN anywhere in a row is a wrong answer. */
static void error_rates_count_wrong_rows(void) {
  const edf_real nan = (edf_real)NAN;
  edf_real n[] = { nan, 1, 0, 2, nan, 1, 2, 1, nan, nan, nan, nan, 2, 1, 0, 5, 5, 4 };
  edf_real labels[6], more[] = { 1, 2, 0, 5, 5, 4, 0, -1, 0, -3, -2, -1 }, k[] = { 1, 0, 0, 2 };
  x = edf_input("x[b,3]");
  y = edf_input("y[b]");
  edf_feed(x, n, 6);
  for (int label = 0; label < 3; label++) {
    for (int b = 0; b < 6; b++) labels[b] = (edf_real)label;
    edf_feed(y, labels, 6);
    edf_forward();
    CLOSE(edf_error_rate(x, y), label ? 1 : 4 / 6., 0, 1e-15);
  }
  edf_node *s = edf_input("s[b,2,3]"), *t = edf_input("t[b,2]"), *p = edf_relu(s);
  edf_feed(s, more, 2);
  edf_feed(t, k, 2);
  edf_forward_to(p);
  CLOSE(edf_error_rate(s, t), 0, 0, 0);
  k[0] = 0;
  k[3] = 1.5;                                      /* no class at all */
  CLOSE(edf_error_rate(s, t), 0.5, 0, 0);
  edf_feed(s, more, 2);
  STOPS(edf_error_rate(p, t), "edf_error_rate|last feed|Relu");
  STOPS((two_parameters(), edf_error_rate(W, W)), "edf_error_rate|\"W\"|label");
  STOPS((two_parameters(), edf_error_rate(W, edf_input("y[b]"))), "edf_error_rate|\"y\"");
  STOPS((two_parameters(), edf_error_rate(NULL, W)), "edf_error_rate|NULL");
}

static void samples_follow_their_shares(void) {
  static const edf_real P[5] = { 2, 0, 1, 1, 0 };
  int count[5] = { 0 }, again = 0;
  edf_seed(3);
  for (int i = 0; i < 8000; i++) count[edf_sample(P, 5)]++;
  CHECK(count[1] == 0 && count[4] == 0, "a class without a share was drawn");
  CLOSE(count[0], 4000, 200, 0);
  CLOSE(count[2], 2000, 160, 0);
  edf_seed(3);
  for (int i = 0; i < 8000; i++) again += edf_sample(P, 5) == 0;
  CHECK(again == count[0] && edf_sample(P, 1) == 0, "another draw: %d", again);
  static const edf_real no_share[2] = { 1, (edf_real)NAN };
  STOPS(edf_sample(no_share, 2), "edf_sample|NaN");
}

int main(void) {
  make_directory("files");
  RUN(broken_files_are_refused);
  RUN(missing_files_are_errors);
  RUN(idx_files_are_read);
  RUN(long_files_are_read_whole);
  RUN(csv_files_are_read);
  RUN(npy_files_are_whole);
  RUN(npy_files_of_others_are_read);
  RUN(broken_npy_headers_are_refused);
  RUN(large_numbers_are_no_infinities);
  RUN(pictures_are_png);
  RUN(wrong_pictures_are_errors);
  RUN(contact_sheets_have_every_picture);
  RUN(texts_are_classes_and_back);
  RUN(wrong_letters_are_errors);
  RUN(training_resumes_bit_for_bit);
  RUN(models_of_others_are_read);
  RUN(broken_models_change_nothing);
  RUN(damaged_models_change_nothing);
  RUN(out_of_memory_is_an_error);
  RUN(names_of_parameters_differ);
  RUN(errors_of_writing_leave_the_old_file);
  RUN(links_are_followed);
  RUN(shuffling_keeps_rows_together);
  RUN(columns_are_normalized);
  RUN(rows_and_views_are_no_copies);
  RUN(batches_feed_every_row_once);
  RUN(wrong_batches_are_errors);
  RUN(mean_values_are_of_the_last_feed);
  RUN(error_rates_count_wrong_rows);
  RUN(onnx_models_are_whole_or_not_there);
  RUN(samples_follow_their_shares);
  remove_directory();
  return harness_report();
}
