/* files.c - arrays, pictures, texts and models in files. What was written comes back. A broken
   file is refused: the error names the file, the place and what was found there. It changes
   nothing, and leaves no memory and no open file. Batches, shuffling and error rates are here
   too. */

#include "models.h"
#include "edf/data.h"
#include "edf/onnx.h"
#include "edf/slide.h"
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

typedef enum { IDX, IMAGES, LABELS, CSV, NPY, TEXT, PICTURE, MODEL, LOADERS } loader;

static void load(loader which) {
  if (which == IDX) edf_load_idx(path);
  if (which == IMAGES) edf_load_images(path);
  if (which == LABELS) edf_load_labels(path);
  if (which == CSV) edf_load_csv(path);
  if (which == NPY) edf_load_npy(path);
  if (which == TEXT) edf_load_text(path);
  if (which == PICTURE) edf_load_image(path);
  if (which == MODEL) edf_load(path);
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
  TRY(load(which));
  stopped_at_file(words, fd);
  if (harness.bad > bad) harness_fail(__FILE__, __LINE__, "the file is %s", path);
}

typedef struct { loader which; const char *name, *bytes; size_t n; const char *words; } bad;

TEST(broken_files_are_refused) {
  static const bad table[] = {
    { IDX, "empty", BYTES(""), "byte 0| 4| 0" },
    { IDX, "wrong magic", BYTES("\1\2\10\1\0\0\0\1x"), "byte 0|zeros|1 2" },
    { IDX, "gzip", BYTES("\37\213\10\0\0\0\0\0\0\3"), "gunzip" },
    { IDX, "an unknown type", BYTES("\0\0\12\1\0\0\0\1abcd"), "byte 2| 8| 10" },
    { IDX, "nine dimensions", BYTES("\0\0\10\11\0\0\0\1\0\0\0\1"), "byte 3| 8| 9" },
    { IDX, "one byte missing", BYTES("\0\0\10\2\0\0\0\2\0\0\0\3abcde"), " 6| 5" },
    { IDX, "above INT_MAX", BYTES("\0\0\10\2\0\0\0\1\200\0\0\0x"), "byte 8|2147483648" },
    { IDX, "a product that overflows", BYTES("\0\0\10\3\177\377\377\377\177\377\377\377\177"
      "\377\377\377x"), "byte 16| 1" },
    { IMAGES, "labels as images", BYTES("\0\0\10\1\0\0\0\2ab"), "byte 3| 3|images| 1" },
    { LABELS, "images as labels", BYTES("\0\0\10\3\0\0\0\1\0\0\0\1\0\0\0\2ab"),
      "byte 3| 1|labels| 3" },
    { TEXT, "empty", BYTES(""), "byte" },
    { NPY, "empty", BYTES(""), "byte 0| 8| 0" },
    { NPY, "zip", BYTES("PK\3\4 a zip archive"), "byte 0|.npy" },
    { NPY, "version four", BYTES("\x93NUMPY\4\0\1\0{"), "byte 6|version| 4" },
    { NPY, "a header that is cut", BYTES("\x93NUMPY\1\0\75\0{"), "byte 10| 61" },
    { PICTURE, "empty", BYTES(""), "byte 0|empty" },
    { PICTURE, "one byte missing", BYTES("P6 1 1 255\nab"), "byte 11| 3| 2" },
    { PICTURE, "a number too much", BYTES("P2 1 1 9 1 1"), "byte 11| 1" },
    { PICTURE, "too large", BYTES("P2 1 1 9 10"), " 10| 9" },
    { PICTURE, "another format", BYTES("\x89PNG\r\n\032\n"), "byte 0|PNG|stb_image.h" },
    { CSV, "empty", BYTES(""), "line 1|row" },
    { CSV, "a short row", BYTES("1,2,3,4,5\n6,7,8,9\n"), "line 2| 5| 4" },
    { CSV, "a word", BYTES("1,2\n3,four\n"), "line 2|number|four" },
    { CSV, "a word behind a number", BYTES("1,2\n3,4 apples\n"), "line 2|cell 2|apples" },
    { CSV, "too large", BYTES("1,2\n3,1e999\n"), "line 2|cell 2|1e999" },
    { CSV, "too large in the first row", BYTES("1,1e400\n3,4\n"), "line 1|cell 2|1e400" },
    { CSV, "a date", BYTES("2020-01-01,2\n3,4\n"), "line 1|cell 1|2020-01-01" },
    { CSV, "a comment", BYTES("# made by hand\n1,2\n"), "line 2| 1| 2" },
    { CSV, "a comment below", BYTES("a,b\n1,2\n# end,x\n"), "line 3|cell 1|comment" },
    { CSV, "a second heading", BYTES("a,b\nm,s\n1,2\n"), "line 2|cell 1|second heading" },
    { CSV, "a thousand", BYTES("\"1,000\",2\n3,4\n"), "line 1|cell 1|1,000" },
    { CSV, "text behind quotes", BYTES("\"1\"2,3\n"), "line 1|cell 1|quotes" },
    { CSV, "a zero byte", BYTES("1,2\n3,\0004\n"), "line 2|zero byte" },
  };
  for (const bad *b = table; b < table + N_OF(table); b++) {
    write_bytes(file(b->name), b->bytes, b->n);
    refused(b->which, b->words);
    remove(path);
  }
}

TEST(missing_files_are_errors) {
  for (loader which = IDX; which < LOADERS; which++) {
    file("missing");
    refused(which, strerror(ENOENT));
    mkdir(file("a directory"), 0777);
    refused(which, strerror(EISDIR));
    rmdir(path);
  }
  STOPS(edf_load_npy(NULL), "NULL");
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

TEST(idx_files_are_read) {
  static const double number[] = { 7, 1, 128, 255, 9, 10 };
  double part[6];
  int fd = lowest_free_fd();
  for (int i = 0; i < 6; i++) part[i] = number[i] / 255;
  write_bytes(file("idx"), BYTES("\0\0\10\3\0\0\0\2\0\0\0\1\0\0\0\3\7\1\200\377\11\12"));
  same(edf_load_images(path), 2, 2, 3, part);
  same(edf_load_idx(path), 3, 2, 3, number);
  write_bytes(path, BYTES("\0\0\10\1\0\0\0\6\7\1\200\377\11\12"));
  same(edf_load_labels(path), 1, 6, 1, number);
  CHECK(lowest_free_fd() == fd, "a file is open");
}

TEST(csv_files_are_read) {
  static const double number[] = { -1, -2.5, 3e2, 4, 5, 0.0625 };
  static const struct { const char *name, *bytes; size_t n; } table[] = {
    { "heading", BYTES("size,\"a b\"\n-1,-2.5\n3e2,4\n5,.0625\n") },
    { "byte order mark", BYTES("\357\273\277" "-1,-2.5\n3e2,4\n5,.0625") },
    { "blanks and signs", BYTES("\n -1 , -2.5\n\n+3e+2,4 \n \r\n+5,\t62.5E-3\n\r\n") },
  };
  for (size_t k = 0; k < N_OF(table); k++) {
    write_bytes(file(table[k].name), table[k].bytes, table[k].n);
    same(edf_load_csv(path), 2, 3, 2, number);
    remove(path);
  }
}

/* ---- .npy */

/* Header and numbers as NumPy writes them: a multiple of 64 bytes, then little-endian. */
TEST(npy_files_are_whole) {
  static const char *const shape[] = { "()", "(5,)", "(1, 2, 1, 1, 2, 1, 1, 3)" };
  static const int dim[][8] = { { 0 }, { 5 }, { 1, 2, 1, 1, 2, 1, 1, 3 } };
  static const int rank[] = { 0, 1, 8 }, size[] = { 1, 5, 12 };
  static edf_real v[12] = { -1, 0.5, 3, (edf_real)0.1, (edf_real)-1e30 };
  v[4] = (edf_real)INFINITY;
  for (int k = 0; k < 3; k++) {
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

static void put_npy(const char *header, const char *data, size_t n) {
  char all[512] = "\x93NUMPY\1";
  size_t length = strlen(header);
  all[8] = (char)length;
  memcpy(all + 10, header, length);
  memcpy(all + 10 + length, data, n);
  write_bytes(path, all, 10 + length + n);
}

#define HEAD(type, shape) \
  "{'descr': '" type "', 'fortran_order': False, 'shape': " shape ", }\n"

TEST(npy_files_of_others_are_read) {
  static const struct {
    const char *header, *data; size_t n; double expected[3];
  } table[] = {
    { HEAD("|u1", "(3,)"), BYTES("\1\376\7"), { 1, 254, 7 } },
    { HEAD("<i2", "(3,)"), BYTES("\1\0\376\377\0\200"), { 1, -2, -32768 } },
    { HEAD("<i8", "(3,)"), BYTES("\1\0\0\0\0\0\0\0\376\377\377\377\377\377\377\377"
                                    "\0\0\0\0\0\0\0\200"), { 1, -2, -9223372036854775808. } },
    { HEAD("<f4", "(3,)"), BYTES("\0\0\200\77\0\0\300\277\0\0\0\0"), { 1, -1.5, 0 } },
    { HEAD("<f8", "(3, 1)"), BYTES("\0\0\0\0\0\0\360\77\0\0\0\0\0\0\0\300"
                                      "\0\0\0\0\0\0\0\0"), { 1, -2, 0 } },
    { "{'shape':(3,), 'fortran_order':False,'descr':'|u1'}", BYTES("\1\2\3"), { 1, 2, 3 } },
  };
  for (size_t k = 0; k < N_OF(table); k++) {
    file("theirs.npy");
    put_npy(table[k].header, table[k].data, table[k].n);
    edf_array a = edf_load_npy(path);
    CHECK(a.size == 3 && a.dim[0] == 3, "%s: %zu entries", table[k].header, a.size);
    for (int i = 0; i < 3; i++)
      CHECK(a.value[i] == (edf_real)table[k].expected[i], "%s: entry %d is %g",
            table[k].header, i, (double)a.value[i]);
    edf_free_array(&a);
  }
}

TEST(broken_npy_headers_are_refused) {
  static const struct { const char *header, *data; size_t n; const char *words; } table[] = {
    { "{}", BYTES(""), "byte 10|descr" },
    { HEAD("<c8", "(3,)"), BYTES(""), "byte 10|f4|<c8" },
    { HEAD("<f2", "(3,)"), BYTES("12345"), " 6| 5" },
    { "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }\n", BYTES(""), "bytes| 0" },
    { HEAD("<f4", "(3,)"), BYTES("1234567"), " 12| 7" },
    { HEAD("<f4", "(3,)"), BYTES("1234567890123"), " 12| 13" },
    { HEAD("<f4", "(3000000000,)"), BYTES(""), "dimension|3000000000" },
    { HEAD("<f8", "(2000000000,2000000000,99)"), BYTES(""), "bytes| 0" },
    { HEAD("<f4", "(1,1,1,1,1,1,1,1,1)"), BYTES("1234"), "dimensions| 8" },
    { HEAD("<f4", "[3]"), BYTES(""), "shape" },
    { HEAD("<f4", "(2 2)"), BYTES("1234567890123456"), "shape" },
    { HEAD("<f4", "(2,,2)"), BYTES("1234567890123456"), "shape" },
  };
  for (size_t k = 0; k < N_OF(table); k++) {
    file(edf_fmt("bad-%c.npy", 'a' + (int)k));
    put_npy(table[k].header, table[k].data, table[k].n);
    refused(NPY, table[k].words);
  }
}

/* ---- Pictures */

/* A whole file, as Python's zlib makes it: one grey row, of which what is outside of 0 to 1 is
   cut off. Larger pictures, in colours, are read by python.sh. */
TEST(pictures_are_read) {
  static const double grey[] = { 0, 0.2, 0.4, 0.6, 0.8, 1 }, color[] = { 1, 0, 0.5, 0, 0, 1 };
  write_bytes(file("grey.pgm"), BYTES("P2 # five\n3 2 5\n0 1 2\n3 4 5\n"));
  same(edf_load_image(path), 2, 2, 3, grey);
  write_bytes(file("color.ppm"), BYTES("P6 1 2 2\n\2\0\1\0\0\2"));
  edf_array a = edf_load_image(path);
  CHECK(a.rank == 3 && a.dim[0] == 2 && a.dim[1] == 1 && a.dim[2] == 3, "rank %d", a.rank);
  for (size_t i = 0; i < 6 && i < a.size; i++) CLOSE(a.value[i], color[i], 0, 1e-6);
  edf_free_array(&a);
}

TEST(pictures_are_png) {
  static const char grey[] =
    "\211PNG\15\12\32\12\0\0\0\15IHDR\0\0\0\10\0\0\0\1\10\0\0\0\0\306k\260\237\0\0\0\24IDATx\1"
    "\1\11\0\366\377\0\0\0\1\177\376\377\377\0\13}\3}/\365F\252\0\0\0\0IEND\256B`\202";
  edf_real eight[] = { (edf_real)-0.1, (edf_real)0.0019, (edf_real)0.002, (edf_real)0.4999,
                       (edf_real)0.998, (edf_real)0.9981, (edf_real)INFINITY, (edf_real)NAN };
  edf_array a = { 2, { 1, 8 }, 8, eight };
  edf_save_image(file("grey.png"), a);
  read_bytes(path);
  CHECK(n_bytes == sizeof grey - 1 && !memcmp(bytes, grey, n_bytes), "grey: %zu", n_bytes);
}

/* The right pictures of two entries of a row of a sheet are beside each other. */
TEST(contact_sheets_have_every_picture) {
  edf_real v[12] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
  edf_array a = { 3, { 3, 2, 2 }, 12, v }, s = edf_contact_sheet(a, 2, 1, -1, 31);
  const char *next = "abefcdghijkl";
  for (size_t i = 0; i < s.size; i++)
    if (s.value[i] != 1) CHECK((int)((double)s.value[i] * 32 - 0.5) == *next++ - 'a', "%zu", i);
  CHECK(s.rank == 2 && !*next, "%s is missing", next);
  edf_free_array(&s);
  STOPS(edf_save_image("x.gif", a), "edf_save_image|x.gif|.png");
}

/* ---- Text */

TEST(texts_are_classes_and_back) {
  static char text[5000], back[5001];
  for (size_t i = 0; i < sizeof text; i++) text[i] = (char)(255 - i * i % 256 + i / 256);
  write_bytes(file("text"), text, sizeof text);
  edf_vocabulary t = edf_load_text(path);
  for (int c = 1; c < t.symbols; c++)
    CHECK((unsigned char)t.symbol[c - 1] < (unsigned char)t.symbol[c], "the order of symbols");
  CHECK(t.classes.rank == 1 && t.classes.size == sizeof text, "%zu bytes", t.classes.size);
  memset(back, 'x', sizeof back);
  edf_decode(&t, t.classes.value, sizeof text, back);
  CHECK(!memcmp(back, text, sizeof text) && !back[sizeof text], "other bytes come back");
  edf_free_text(&t);
  CHECK(!t.symbols && !t.classes.value && memory.live == 0, "%ld blocks", memory.live);
  t = edf_text_of("ab", 2);
  edf_real wrong[2] = { 0, 2 };
  TRY(edf_decode(&t, wrong, 2, back));
  WORDS(caught, "edf_decode| 1| 2");
  TRY(edf_encode(&t, "ba t", 4, wrong));
  edf_free_text(&t);
  harness_stopped(__FILE__, __LINE__, "edf_encode| 2| 32");
}

/* ---- ONNX. What the models compute is checked by onnx.sh. */
/* Returns a node that predicts (0), or one that cannot be exported. */
static edf_node *onnx_node(int own) {
  edf_node *w = edf_parameter("w[3,2]");
  edf_node *y = edf_einsum("y[b,j] = w[I,j] x[b,I]", w, edf_input("x[b,3]"));
  return own ? edf_square(edf_compnode("Own", cotangent_forward, NULL, y)) : y;
}
TEST(onnx_models_are_whole_or_not_there) {
  file("model.onnx");
  STOPS(edf_save_onnx(path, onnx_node(1)), "edf_save_onnx|Own|a node of your own");
  STOPS(edf_save_onnx("no/such/directory.onnx", onnx_node(0)), "no/such/directory.onnx");
  CHECK(access(path, F_OK), "a refused model has left a file");
  edf_save_onnx(path, onnx_node(0));
  read_bytes(path);
  CHECK(n_bytes > 100 && !memcmp(bytes, "\10\10\22\5edf.h", 9), "the file does not begin so");
}

/* ---- Models */

static Parameter *W, *v;
static edf_node *x, *y;

static void two_parameters(void) {
  edf_clear();
  edf_seed(4);
  edf_init_normal(W = edf_parameter("W[2,3]"), 0, 1);
  edf_init_normal(v = edf_parameter("v[2]"), 0, 1);
}

static void network(int model, int seed) {
  edf_clear();
  edf_seed((unsigned)seed);
  plain_state = 1;
  declare_plain(models[model].tensors);
  models[model].build();
}

static void train(int steps) {
  while (steps-- > 0) {
    edf_forward();
    edf_backward(edf.compnodes[edf.n_compnodes - 1]);
    edf_adamw((edf_real)0.01, (edf_real)0.9, (edf_real)0.99, (edf_real)1e-8, (edf_real)0.1);
  }
}

typedef struct {                                   /* all that a model's file holds */
  edf_real number[3][1000];
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

/* Ten steps are five steps, a file, another process and five steps: of a model with Dropout,
   which needs the random numbers, and of one with the running means of BatchNorm. */
TEST(training_resumes_bit_for_bit) {
  static const int chosen[] = { MLP, ATTENTION };
  for (int k = 0; k < 2; k++) {
    network(chosen[k], 1);
    train(5);
    edf_save(file("resumed.safetensors"));
    snapshot five = look();
    train(5);
    snapshot ten = look();
    network(chosen[k], 99);
    train(2);
    edf_load(path);
    CHECK(same_model(five), "it begins elsewhere");
    train(5);
    CHECK(same_model(ten), "it ends elsewhere");
    network(chosen[k], 1);
    edf_load(path);                                /* before the first step */
    train(5);
    CHECK(same_model(ten) && !same_model(five), "it ends elsewhere, begun anew");
  }
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

/* Values that Forward computed before are old then. */
TEST(set_and_load_move_parameters) {
  edf_real n[6] = { 0 };
  edf_array six = { 2, { 2, 3 }, 6, n };
  for (int load = 0; load < 2; load++) {
    two_parameters();
    y = edf_square(W);
    edf_save(file("moved.safetensors"));
    edf_forward();
    edf_backward(y);
    if (load) edf_load(path);
    else edf_set(W, six);
    STOPS(edf_backward(y), "edf_backward|edf_forward|\"W\"|Square");
  }
}

/* In any order, with the metadata of others, with and without the memory of an optimiser. */
TEST(models_of_others_are_read) {
  two_parameters();
  put_model(" { \"__metadata__\" : {\"format\":\"pt\"} , " V32 " , " W32 " }\n", 32);
  edf_load(path);
  CHECK((int)W->value[5] == 5 && (int)v->value[1] == 7 && edf.seed == 4, "the numbers");
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
  edf_clear();
  edf_init_uniform(edf_parameter("W[2]"), 1, 1);
  edf_init_uniform(v = edf_parameter("W[2]"), 2, 2);
  edf_save(file("equal.safetensors"));             /* equal names are told apart: W, W@1 */
  edf_init_uniform(v, 3, 3);
  edf_load(path);
  CHECK((int)v->value[1] == 2 && (int)edf.parameters[0]->value[1] == 1, "one is the other");
  edf_clear();
  edf_parameter("__metadata__[2]");
  STOPS(edf_save(path), "edf_save|\"__metadata__\"");
}

TEST(broken_models_change_nothing) {
  static const struct { const char *header; size_t data; char built; const char *words; }
  table[] = {
    { "{" W32 "}", 24, 'v', "" },
    { "{" W32 "," V32 ",\"extra\":" ENTRY("[1]", "36", "40") "}", 40, 0,
      "a hole|extra| 36| 32" },
    { "{" W32 "," V32 ",\"W\":" ENTRY("[1]", "32", "36") "}", 36, 0, "\"W\"|twice" },
    { "{" W32 "," V32 ",\"e\":" ENTRY("[1]", "32", "40") "}", 40, 0, "\"e\"| 32| 40|\"F32\"" },
    { "{\"W\":" ENTRY("[3,2]", "0", "24") "," V32 "}", 32, 'W', "[3, 2]|[2, 3]" },
    { "{" W32 "," V32 ",\"v.m\":" ENTRY("[1]", "32", "36") "}", 36, 'v', "[1]|[2]" },
    { "{" W32 "," V32 ",\"v.m\":" ENTRY("[2]", "32", "40") ",\"v.m\":" ENTRY("[2]", "40", "48")
      "}", 48, 0, "\"v.m\"|twice" },
    { "{" W32 ",\"v\":{\"dtype\":\"I32\",\"shape\":[2],\"data_offsets\":[24,32]}}", 32, 0,
      "v|I32|F32" },
    { "{" W32 ",\"v\":{\"dtype\":\"F32\",\"shape\":[2]}}", 32, 0, "v|data_offsets" },
    { "{" W32 ",\"v\":" ENTRY("[2]", "24", "28") "}", 32, 0, "v| 24| 28|\"F32\"" },
    { "{" W32 ",\"v\":" ENTRY("[2]", "16", "24") "}", 32, 0, " 16|overlap" },
    { "{" W32 ",\"v\":" ENTRY("[2]", "24", "18446744073709551616") "}", 32, 0, "" },
    { "{" W32 "," V32 "}", 31, 0, " 32| 31" },
    { "{" W32 "," V32 ",\"__metadata__\":{\"W.steps\":\"many\"}}", 32, 0, "W|many" },
    { "{" W32 "," V32, 32, 0, "" }, { "{" W32 "," V32 "} x", 32, 0, "" },
    { "{" W32 ";" V32 "}", 32, 0, "" }, { "[" W32 "," V32 "]", 32, 0, "" },
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

/* ---- Some Parameters of a model */

/* One matches, one has another shape, one is missing, and two are in the file only. */
TEST(some_parameters_are_loaded) {
  two_parameters();
  edf_parameter("new[3]");
  W->m = (edf_real *)edf_keep(NULL, 6 * sizeof *W->m);
  W->m[1] = 4;
  W->steps = 9;
  put_model("{" W32 ",\"v\":" ENTRY("[2,1]", "24", "32") ",\"head\":" ENTRY("[1]", "32", "36")
            ",\"i\":{\"dtype\":\"I32\",\"shape\":[1],\"data_offsets\":[36,40]},"
            "\"__metadata__\":{\"seed\":\"77\",\"W.steps\":\"5\"}}", 40);
  int loaded = 0;
  double first = (double)v->value[1];
  CAPTURE(loaded = edf_load_some(path));
  CHECK(loaded == 1 && (int)W->value[5] == 5 && (double)v->value[1] == first, "%d, v[1] %g",
        loaded, (double)v->value[1]);
  CHECK(edf.seed == 4 && W->steps == 9 && (int)W->m[1] == 4, "more than values was loaded");
  WORDS(captured, "edf_load_some: |theirs.safetensors: 1 of 3 parameters\n  v [2] keeps its numbers: "
        "the file has \"F32\" [2, 1]\n  new [3] keeps its numbers: the file has no new\n|"
        "  only the file has \"head\"\n  only the file has \"i\"\n");
  put_model("{\"W\":{\"dtype\":\"I32\",\"shape\":[2,3],\"data_offsets\":[0,24]}," V32 "}", 32);
  CAPTURE(loaded = edf_load_some(path));
  CHECK(loaded == 1 && (int)v->value[1] == 7, "%d: v[1] %g", loaded, (double)v->value[1]);
  WORDS(captured, "W [2, 3] keeps its numbers: the file has \"I32\" [2, 3]");
}
/* The optimiser's memory of a file of edf.h is no Parameter that is left. */
TEST(a_body_is_loaded_under_a_new_head) {
  network(MLP, 1);
  train(2);
  edf_save(file("body.safetensors"));
  edf_real first = edf.parameters[0]->value[0];
  network(MLP, 2);
  int loaded = 0;
  CAPTURE(loaded = edf_load_some(path));
  CHECK(loaded == edf.n_parameters && !strchr(captured, '\n')[1], "%d: %s", loaded, captured);
  CHECK(edf.parameters[0]->value[0] == first, "another value");
}

/* A file that is cut anywhere is refused. */
TEST(damaged_models_change_nothing) {
  network(MLP, 1);
  train(2);
  edf_save(file("whole.safetensors"));
  read_bytes(path);
  snapshot before = look();
  for (size_t n = 0; n < n_bytes; n += n < 300 ? 7 : 61) {
    write_bytes(file("damaged.safetensors"), bytes, n);
    for (int some = 0; some < 2; some++) {
      TRY(some ? (void)edf_load_some(path) : edf_load(path));
      CHECK(panicked && strstr(caught, path) && same_model(before), "cut at %zu: %s", n, caught);
    }
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

TEST(errors_of_writing_leave_the_old_file) {
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
  }
}

/* ---- Arrays and nodes */

/* edf_batches shuffles two arrays. An autoencoder's targets are its inputs: one array. */
TEST(one_array_is_shuffled_once) {
  static const int dims[] = { 100, 2 };
  edf_array a = edf_new_array(2, dims), b = edf_new_array(1, dims);
  int moved = 0;
  for (int i = 0; i < 100; i++) b.value[i] = (edf_real)i;
  edf_shuffle(&b, &b);
  for (int i = 0; i < 100; i++) moved += (int)b.value[i] != i;
  CHECK(moved > 80, "only %d rows moved", moved);
  b.dim[0] = 99;
  TRY(edf_shuffle(&a, &b));
  edf_free_array(&a);
  edf_free_array(&b);
  harness_stopped(__FILE__, __LINE__, "edf_shuffle| 100| 99");
}

TEST(columns_are_normalized) {           /* a constant column is 0 */
  edf_real n[] = { 1, 7, 3, 7, 5, 7 }, w[] = { 7, 9 };
  edf_array a = { 2, { 3, 2 }, 6, n }, test = { 2, { 1, 2 }, 2, w };
  edf_normalize_columns(&a, &test);
  for (int i = 0; i < 6; i++) CLOSE(n[i], i % 2 ? 0 : (i - 2) / sqrt(8.0 / 3), 1e-6, 1e-6);
  CLOSE(w[0], 4 / sqrt(8.0 / 3), 0, 1e-6);           /* by the same numbers */
}

TEST(rows_and_views_are_no_copies) {
  edf_real n[24] = { 0, 1, 2, 3, 4, 5 };
  edf_array a = { 3, { 4, 3, 2 }, 24, n }, last = edf_rows(a, 3, 4);
  CHECK(last.rank == 3 && last.dim[0] == 1 && last.size == 6 && last.value == n + 18, "rows");
  STOPS(edf_rows(a, 2, 2), "edf_rows| 2 | 4");
  STOPS(edf_rows(a, 0, 5), "edf_rows| 0 | 5 | 4");
  two_parameters();
  x = edf_input("x[b,2]");
  edf_feed(x, n, 3);
  a = edf_view(x);                                 /* the rows of the last feed */
  CHECK(a.rank == 2 && a.dim[0] == 3 && a.dim[1] == 2 && a.value == n, "%zu", a.size);
  edf_array six = { 2, { 2, 3 }, 6, n }, other = { 2, { 3, 2 }, 6, n };
  edf_set(W, six);
  CHECK(!memcmp(edf_value(W), n, 6 * sizeof *n), "edf_set: other numbers");
  STOPS(edf_set(W, other), "edf_set|\"W\"|[3, 2]|[2, 3]");
}

TEST(batches_feed_every_row_once) {
  edf_real rows[20], labels[10], mean = 0;
  edf_array X = { 2, { 10, 2 }, 20, rows }, Y = { 1, { 10 }, 10, labels };
  edf_all all;
  int order[3][10];
  x = edf_input("x[b,2]");
  y = edf_input("y[b]");
  for (int pass = 0; pass < 3; pass++) {           /* shuffled, with the seeds 3, 3, and 4 */
    int n = 0, sizes = 0, seen[10] = { 0 };
    for (int i = 0; i < 20; i++) rows[i] = labels[i / 2] = (edf_real)(i / 2);
    edf_seed(pass == 2 ? 4 : 3);
    for (edf_batches(&all, x, X, y, Y, 4); edf_next(&all); sizes = 10 * sizes + all.rows) {
      mean += (edf_real)edf_mean_value(y) * (edf_real)all.rows / 30;
      for (int b = 0; b < all.rows; b++) {
        int row = order[pass][n++] = (int)y->value[b];
        CHECK(!seen[row]++, "row %d is fed twice", row);
        CHECK((int)x->value[2 * b] == row && (int)x->value[2 * b + 1] == row, "row %d", row);
      }
    }
    CHECK(n == 10 && sizes == 442, "%d rows, in batches of %d", n, sizes);
  }
  CLOSE(mean, 4.5, 1e-5, 0);
  CHECK(!memcmp(order[0], order[1], sizeof order[0]), "the seed does not fix the order");
  CHECK(memcmp(order[0], order[2], sizeof order[0]), "another seed gives the same order");
  edf.training = 0;
  edf_batches(&all, x, X, y, Y, 10);
  edf_next(&all);
  CHECK(!memcmp(y->value, labels, sizeof labels), "it is shuffled in evaluation");
  edf.training = 1;
  Y.dim[0] = 3;
  Y.size = 3;
  STOPS(edf_batches(&all, x, X, y, Y, 2), "edf_batches|\"y\"|[3]|[10]");
}

/* The first of the greatest scores counts. A NaN anywhere in a row is an error. */
TEST(error_rates_count_wrong_rows) {
  const edf_real nan = (edf_real)NAN;
  edf_real n[] = { nan, 1, 0, 2, nan, 1, 2, 1, nan, nan, nan, nan, 2, 1, 0, 5, 5, 4 };
  edf_real labels[6] = { 0 };
  x = edf_input("x[b,3]");
  y = edf_input("y[b]");
  edf_feed(x, n, 6);
  edf_feed(y, labels, 6);
  edf_forward();
  CLOSE(edf_error_rate(x, y), 4 / 6., 0, 1e-15);
  STOPS(edf_error_rate(edf_relu(x), y), "edf_error_rate|last feed|Relu");
}

TEST(samples_follow_their_shares) {
  static const edf_real P[5] = { 2, 0, 1, 1, 0 };
  int count[5] = { 0 };
  edf_seed(3);
  for (int i = 0; i < 8000; i++) count[edf_sample(P, 5)]++;
  CHECK(count[1] == 0 && count[4] == 0, "a class without a share was drawn");
  CLOSE(count[0], 4000, 200, 0);
  CLOSE(count[2], 2000, 160, 0);
}

int main(void) { return harness_main(); }
