/* Saved models: every byte that edf_save writes, what edf_load takes and what it leaves, names
   and numbers of JSON at their bounds, and what is refused.

   Built as: float double none sanitized shim */
#include "temporary.h"
#include <limits.h>
#include <stdint.h>

static char found[1 << 16];
static size_t n_found;

static void read_found(void) {
  FILE *f = fopen(path, "rb");
  n_found = f ? fread(found, 1, sizeof found - 1, f) : 0;
  found[n_found] = 0;
  if (f) fclose(f);
}

/* A file with this header, and `data` bytes of numbers: 0, 1, 2 ... as float. */
static void put_model(const char *header, size_t data) {
  static char bytes[1 << 16];
  size_t n = strlen(header);
  for (int k = 0; k < 8; k++) bytes[k] = (char)((unsigned long long)n >> 8 * k);
  memcpy(bytes + 8, header, n);
  for (size_t i = 0; i < data / 4; i++) {
    float v = (float)i;
    memcpy(bytes + 8 + n + 4 * i, &v, 4);
  }
  file("theirs.safetensors");
  write_bytes(bytes, 8 + n + data);
}

static Parameter *W, *v, *s;

static void three(void) {
  edf_clear();
  W = edf_parameter("W[2,3]");
  v = edf_parameter("v[2]");
  s = edf_parameter("s");
  for (int i = 0; i < 6; i++) W->value[i] = (edf_real)(i + 1) / 4;
  v->value[0] = 7;
  v->value[1] = -8;
  s->value[0] = (edf_real)0.5;
  edf_push(W);
  edf_push(v);
  edf_push(s);
}

/* The numbers of these in this order: at *at, which goes on. */
static void has_reals(const char **at, const edf_real *x, size_t n, const char *name) {
  CHECK(x && !memcmp(*at, x, n * sizeof *x), "the numbers of %s", name);
  *at += n * sizeof *x;
}

#define FLOAT "{\"dtype\":\"F32\",\"shape\":"
#define W_ENTRY "\"W\":" FLOAT "[2,3],\"data_offsets\":[0,24]}"

/* Tensors in another order than the parameters', of v an m, of s an s, of W both. */
static void load_all(void) {
  three();
  put_model("{" W_ENTRY ",\"v\":" FLOAT "[2],\"data_offsets\":[24,32]},"
            "\"v.m\":" FLOAT "[2],\"data_offsets\":[32,40]},"
            "\"s\":" FLOAT "[],\"data_offsets\":[40,44]},"
            "\"s.s\":" FLOAT "[],\"data_offsets\":[44,48]},"
            "\"W.m\":" FLOAT "[2,3],\"data_offsets\":[48,72]},"
            "\"W.s\":" FLOAT "[2,3],\"data_offsets\":[72,96]},\"__metadata__\":{\"seed\":\"9\","
            "\"v.steps\":\"3\",\"draws\":\"18446744073709551615\",\"s.steps\":\"12\"}}", 96);
  edf_load(path);
  remove(path);
}

/* An entry of the header, of the next n numbers. */
static void put_entry(char *header, const char *name, const char *shape, int *at, int n) {
  int bytes = (int)sizeof(edf_real), end = *at + n * bytes;
  sprintf(header + strlen(header), ",\"%s\":{\"dtype\":\"F%d\",\"shape\":%s,\"data_offsets\":"
          "[%d,%d]}", name, 8 * bytes, shape, *at, end);
  *at = end;
}

static void whole_header(char *header) {
  int at = 0;
  strcpy(header, "{\"__metadata__\":{\"format\":\"edf.h\",\"seed\":\"9\","
         "\"draws\":\"18446744073709551615\",\"v.steps\":\"3\","
         "\"\\u0022 s\\u005c\\u000a\\u001f.steps\":\"12\"}");
  put_entry(header, "W", "[2,3]", &at, 6);
  put_entry(header, "W.m", "[2,3]", &at, 6);
  put_entry(header, "W.s", "[2,3]", &at, 6);
  put_entry(header, "v", "[2]", &at, 2);
  put_entry(header, "v.m", "[2]", &at, 2);
  put_entry(header, "\\u0022 s\\u005c\\u000a\\u001f", "[]", &at, 1);
  put_entry(header, "\\u0022 s\\u005c\\u000a\\u001f.s", "[]", &at, 1);
  strcat(header, "}");
  while (strlen(header) % 8) strcat(header, " ");
}

/* The length, the header with its blanks, the numbers one after the other; of what an optimiser
   keeps, what there is. */
static void whole_file(void) {
  char header[1000];
  load_all();
  edf_name(s, "\" s\\\n\x1f");
  edf_save(file("whole.safetensors"));
  read_found();
  whole_header(header);
  size_t n = strlen(header);
  unsigned long long length = 0;
  for (int k = 7; k >= 0; k--) length = length << 8 | (unsigned char)found[k];
  CHECK(length == n && n_found == 8 + n + 24 * sizeof(edf_real), "%llu, %zu", length, n_found);
  CHECK(!strncmp(found + 8, header, n), "\n     found: %.*s\n  expected: %s", (int)n, found + 8,
        header);
  const char *at = found + 8 + n;
  has_reals(&at, W->value, 6, "W");
  has_reals(&at, W->m, 6, "W.m");
  has_reals(&at, W->s, 6, "W.s");
  has_reals(&at, v->value, 2, "v");
  has_reals(&at, v->m, 2, "v.m");
  has_reals(&at, s->value, 1, "s");
  has_reals(&at, s->s, 1, "s.s");
  remove(path);
  edf_clear();
}

static void has_floats(const edf_real *x, size_t n, int first, const char *name) {
  CHECK(x, "%s is not there", name);
  for (size_t i = 0; x && i < n; i++)
    CHECK(x[i] == (edf_real)(first + (int)i), "%s[%zu] is %g", name, i, (double)x[i]);
}

#define ALL W_ENTRY ",\"s\":" FLOAT "[],\"data_offsets\":[24,28]}," \
  "\"v\":" FLOAT "[2],\"data_offsets\":[28,36]}"

/* What the file lacks begins afresh. */
static void what_is_taken(void) {
  three();
  put_model("{" ALL ",\"v.m\":" FLOAT "[2],\"data_offsets\":[36,44]},"
            "\"W.s\":" FLOAT "[2,3],\"data_offsets\":[44,68]},"
            "\"__metadata__\":{\"x\":\"99999999999999999999\","
            "\"W.steps\":\"9223372036854775807\",\"s.steps\":\"5\"}}", 68);
  edf_seed(77);
  edf_uniform(0, 1);
  edf_load(path);
  has_floats(W->value, 6, 0, "W");
  has_floats(s->value, 1, 6, "s");
  has_floats(v->value, 2, 7, "v");
  has_floats(v->m, 2, 9, "v.m");
  has_floats(W->s, 6, 11, "W.s");
  CHECK(!W->m && !v->s && !s->m && !s->s, "memory that the file lacks");
  CHECK(W->steps == LONG_MAX && !v->steps && s->steps == 5, "the steps");
  CHECK(edf.seed == 77 && edf.draws == 1, "the random numbers");
  put_model("{" ALL ",\"__metadata__\":{\"seed\":\"5\",\"x.steps\":\"1\",\"W.m.steps\":\"x\","
            "\"v.steps\":\"0\",\"note\":\"draws\"}}", 36);
  edf_load(path);
  CHECK(W->s && W->s[0] == 0 && W->s[5] == 0, "what begins afresh");
  CHECK(v->m && v->m[0] == 0 && v->m[1] == 0, "what begins afresh");
  CHECK(!W->steps && !v->steps && !s->steps, "the steps");
  CHECK(edf.seed == 77 && edf.draws == 1, "a seed alone");
  remove(path);
  edf_clear();
}

/* The state of the random numbers is taken where the file has both parts of it. */
static void random_numbers(void) {
  three();
  edf_seed(77);
  edf_uniform(0, 1);
  put_model("{" ALL ",\"__metadata__\":{\"draws\":\"6\","
            "\"seed\":\"18446744073709551616\"}}", 36);
  edf_load(path);
  CHECK(edf.seed == 77 && edf.draws == 1, "a seed that is too large");
  put_model("{" ALL ",\"__metadata__\":{\"draws\":\"6x\",\"seed\":\"5\"}}", 36);
  edf_load(path);
  CHECK(edf.seed == 77 && edf.draws == 1, "draws that are no number");
  put_model("{" ALL ",\"__metadata__\":{\"draws\":\"6\",\"seed\":\"5\"}}", 36);
  edf_load(path);
  CHECK(edf.seed == 5 && edf.draws == 6, "seed %llu, draws %llu", edf.seed, edf.draws);
  remove(path);
  edf_clear();
}

/* Escapes, and characters by number: of one, two and three bytes. */
static void names_in_json(void) {
  static const char *const table[][2] = {
    { "\\u0041\\u006a", "Aj" }, { "\\u007F", "\x7f" }, { "\\u0080", "\xc2\x80" },
    { "\\u00e9x", "\xc3\xa9x" }, { "\\u07ff", "\xdf\xbf" }, { "\\u0800", "\xe0\xa0\x80" },
    { "\\u20AC\\u20ac", "\xe2\x82\xac\xe2\x82\xac" }, { "\\uFFfd", "\xef\xbf\xbd" },
    { "\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t" }, { "\xc3\xa9", "\xc3\xa9" },
    { "\\u1234\\u5678\\u9abc", "\xe1\x88\xb4\xe5\x99\xb8\xe9\xaa\xbc" },
  };
  for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
    edf_clear();
    Parameter *p = edf_name(edf_parameter("p[2]"), table[k][1]);
    put_model(edf_fmt(" {\t\"%s\"\n:\r{\"shape\" : [ 2 ] , \"dtype\":\"F32\",\"data_offsets\":"
                      "[0\n,\t8\r]\n}\t}\n ", table[k][0]), 8);
    TRY(edf_load(path));
    CHECK(!panicked && p->value[1] == 1, "%s: %s", table[k][0], caught);
  }
  remove(path);
  edf_clear();
}

static void refuses(const char *header, size_t data, const char *message) {
  int fd = lowest_free_fd();
  three();
  put_model(header, data);
  TRY(edf_load(path));
  check_message(message);
  CHECK(W->value[5] == 1.5 && v->value[1] == -8 && !v->m && !W->steps, "changed: %s", caught);
  nothing_is_left(fd);
  remove(path);
}

static void refused_headers(void) {
  static const struct { const char *header; size_t data; const char *message; } table[] = {
    { "{\"\\u004\":1}", 0, "%: byte 15: expected four hexadecimal digits" },
    { "{\"\\u00g0\":1}", 0, "%: byte 14: expected four hexadecimal digits" },
    { "{\"\\u", 0, "%: byte 12: expected four hexadecimal digits" },
    { "{\"\\", 0, "%: byte 12: a string has an unknown escape" },
    { "{\"\\'\":1}", 0, "%: byte 12: a string has an unknown escape" },
    { "{\"W\x1f\":1}", 0, "%: byte 11: a string does not end" },
    { "{\"W \":1}", 0, "%: byte 14: tensor W  is no parameter of this program" },
    { "{\"W.mm\":1}", 0, "%: byte 16: tensor W.mm is no parameter of this program" },
    { "{\"WW\":1}", 0, "%: byte 14: tensor WW is no parameter of this program" },
    { "{W:1}", 0, "%: byte 9: expected '\"', found 'W'" },
    { "{\x7f", 0, "%: byte 9: expected '\"', found byte 127" },
    { "{~}", 0, "%: byte 9: expected '\"', found '~'" },
    { "{ \x1f}", 0, "%: byte 10: expected '\"', found byte 31" },
    { "{\"W\" 1}", 0, "%: byte 13: expected ':', found '1'" },
    { "{\"W\":{}}", 0, "%: byte 15: tensor W lacks dtype, shape or data_offsets" },
    { "{\"W\":{,}}", 0, "%: byte 14: expected '\"', found ','" },
    { "{\"W\":{\"type\":1}}", 0, "%: byte 21: tensor W: unexpected key type" },
    { "{\"W\":{\"shape\":[2,3],\"shape\":[2,3]}}", 0,
      "%: byte 36: tensor W: unexpected key shape" },
    { "{\"W\":{\"data_offsets\":[0,24],\"data_offsets\":[0,24]}}", 0,
      "%: byte 51: tensor W: unexpected key data_offsets" },
    { "{\"W\":{\"shape\":2}}", 0, "%: byte 22: expected '[', found '2'" },
    { "{\"W\":{\"shape\":[2 3]}}", 0, "%: byte 25: expected ',', found '3'" },
    { "{\"W\":{\"shape\":[,]}}", 0, "%: byte 23: expected a whole number" },
    { "{\"W\":{\"shape\":[2,3,1]}}", 0, "%: byte 29: tensor W has the shape [2, 3, 1], but "
      "parameter \"W\" [2, 3], declared at " },
    { "{\"W\":{\"shape\":[2]}}", 0, "%: byte 25: tensor W has the shape [2], but parameter "
      "\"W\" [2, 3], declared at " },
    { "{\"W\":{\"shape\":[]}}", 0, "%: byte 24: tensor W has the shape [], but parameter "
      "\"W\" [2, 3], declared at " },
    { "{\"v\":{\"shape\":[3]}}", 0, "%: byte 25: tensor v has the shape [3], but parameter "
      "\"v\" [2], declared at " },
    { "{\"s\":{\"shape\":[1]}}", 0, "%: byte 25: tensor s has the shape [1], but parameter "
      "\"s\" [], declared at " },
    { "{\"s\":{\"shape\":[1,1,1,1,1,1,1,1]}}", 0, "%: byte 39: tensor s has the shape "
      "[1, 1, 1, 1, 1, 1, 1, 1], but parameter \"s\" [], declared at " },
    { "{\"W\":{\"dtype\":\"F16\"}}", 0,
      "%: byte 27: tensor W has the type F16, expected F32 or F64" },
    { "{\"W\":{\"dtype\":\"F32\",\"shape\":[2,3]}}", 0,
      "%: byte 42: tensor W lacks dtype, shape or data_offsets" },
    { "{\"W\":{\"shape\":[2,3],\"data_offsets\":[0,24]}}", 0,
      "%: byte 50: tensor W lacks dtype, shape or data_offsets" },
    { "{\"W\":{\"dtype\":\"F32\",\"data_offsets\":[0,24]}}", 0,
      "%: byte 50: tensor W lacks dtype, shape or data_offsets" },
    { "{\"W\":{\"data_offsets\":[0;24]}}", 0, "%: byte 31: expected ',', found ';'" },
    { "{\"W\":{\"data_offsets\":[0,24}}", 0, "%: byte 34: expected ']', found '}'" },
    { "{\"W\":{\"data_offsets\":{0,24}}", 0, "%: byte 29: expected '[', found '{'" },
    { "{\"W\":{\"data_offsets\":[0,18446744073709551615", 0,
      "%: byte 51: the number is too large" },
    { "{\"W\":{\"data_offsets\":[0,9223372036854775810", 0,
      "%: byte 50: the number is too large" },
    { "{\"W\":" FLOAT "[2,3],\"data_offsets\":[0,9223372036854775809]}}", 0,
      "%: byte 81: tensor W has the offsets 0 to 9223372036854775809, expected 24 bytes" },
    { "{" ALL ",\"W.s\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[36,59]}}", 60,
      "%: byte 232: tensor W.s has the offsets 36 to 59, expected 24 bytes" },
    { "{" ALL "}", 40,
      "%: byte 174: the tensors end at offset 36, but 40 bytes follow the header" },
    { "{" ALL ",}", 36, "%: byte 174: expected '\"', found '}'" },
    { "{" ALL ";}", 36, "%: byte 173: expected '}', found ';'" },
    { "{" ALL "}}", 36, "%: byte 174: expected the end of the header" },
    { "{}", 36, "%: byte 10: there is no tensor for parameter \"W\", declared at " },
    { "{\"__metadata__\":{\"v.steps\":\"9223372036854775808\"}}", 0,
      "%: byte 56: the steps of v are 9223372036854775808, expected a whole number" },
    { "{\"__metadata__\":{\"v.steps\":\"-1\"}}", 0,
      "%: byte 39: the steps of v are -1, expected a whole number" },
    { "{\"__metadata__\":{\"v.steps\":\"\"}}", 0,
      "%: byte 37: the steps of v are , expected a whole number" },
    { "{\"__metadata__\":{\"a\":\"b\";}}", 0, "%: byte 32: expected '}', found ';'" },
    { "{\"__metadata__\":[]}", 0, "%: byte 24: expected '{', found '['" },
  };
  for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
    char message[400];
    const char *text = table[k].message, *end = text + strlen(text);
    three();
    const Parameter *p = strstr(text, "\"v\"") ? v : strstr(text, "\"s\"") ? s : W;
    snprintf(message, sizeof message, "%s", text);
    if (end[-1] == ' ') snprintf(message, sizeof message, "%s%s:%d", text, p->file, p->line);
    refuses(table[k].header, table[k].data, message);
  }
  edf_clear();
}

/* Names that a file could not tell apart; one with its ending has 255 bytes at most. */
static void refused_names(void) {
  static const struct { const char *name, *message; } table[] = {
    { "W", "two parameters have one name; edf_name gives another\n  Parameter \"W\" [2, 3]" },
    { "v.s", "a name is that of an optimiser's memory; edf_name gives another\n  "
      "Parameter \"v\" [2]" },
    { "__metadata__", "the name is too long or the file's own; edf_name gives another\n  "
      "Parameter \"__metadata__\" [2, 3]" },
  };
  for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
    three();
    edf_name(k == 2 ? W : s, table[k].name);
    TRY(edf_save(file("names.safetensors")));
    CHECK(panicked && !strncmp(caught, edf_fmt("edf_save: %s", table[k].message),
                               strlen(table[k].message) + 10), "%s", caught);
    const char *second = strstr(strstr(caught, "Parameter"), "\n  Parameter");
    CHECK(k == 2 ? !second : second && strstr(second, "scalar") != NULL, "%s", caught);
  }
  for (int n = 253; n <= 254; n++) {
    char name[300] = "";
    three();
    memset(name, 'n', (size_t)n);
    edf_name(s, name);
    TRY(edf_save(path));
    CHECK(panicked == (n == 254), "of %d bytes: %s", n, caught);
  }
  CHECK(strstr(caught, "edf_save: the name is too long or the file's own; edf_name gives "
                       "another\n  Parameter \"nnn") == caught, "%s", caught);
  remove(path);
  edf_clear();
}

/* 1e300 is no float; then nothing has changed. */
static void numbers_that_fit(void) {
  static const char header[] = "{\"p\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":"
                               "[0,16]}}";
  static const double numbers[] = { 2, 1e300 };
  char bytes[100] = { sizeof header - 1 };
  memcpy(bytes + 8, header, sizeof header);
  memcpy(bytes + 7 + sizeof header, numbers, sizeof numbers);
  edf_clear();
  Parameter *p = edf_parameter("p[2]");
  file("large.safetensors");
  write_bytes(bytes, 7 + sizeof header + sizeof numbers);
  TRY(edf_load(path));
  if (EDF_REAL_IS_DOUBLE) CHECK(!panicked && p->value[1] == (edf_real)1e300, "%s", caught);
  else check_message("%: byte 71: number 1 is too large for a float: -DEDF_REAL=double reads "
                     "it");
  CHECK(p->value[0] == (EDF_REAL_IS_DOUBLE ? 2 : 0), "%g", (double)p->value[0]);
  remove(path);
  edf_clear();
}

/* Two parameters were declared with one name: the second has its number too, and a model has
   both, at their places. */
static void equal_names(void) {
  edf_clear();
  edf_seed(1);
  Parameter *p[4];
  for (int i = 0; i < 4; i++) {
    p[i] = edf_parameter(i == 2 ? "V[2]" : "W[2]");
    edf_init_uniform(p[i], 0, 1);
  }
  CHECK(!strcmp(p[0]->name, "W") && !strcmp(p[1]->name, "W@1") && !strcmp(p[2]->name, "V") &&
        !strcmp(p[3]->name, "W@3"), "%s %s %s", p[0]->name, p[1]->name, p[3]->name);
  edf_save(file("equal.safetensors"));
  edf_clear();
  for (int i = 0; i < 4; i++) p[i] = edf_parameter(i == 2 ? "V[2]" : "W[2]");
  edf_load(path);
  edf_seed(1);
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < 2; k++) CHECK(p[i]->value[k] == edf_uniform(0, 1), "W@%d[%d]", i, k);
  remove(path);
  edf_clear();
}

/* Whichever request for memory fails: the file is closed, and nothing has changed. */
static void without_memory(void) {
  int done = 0, fd = lowest_free_fd();
  three();
  put_model("{" ALL ",\"v.m\":" FLOAT "[2],\"data_offsets\":[36,44]}}", 44);
  for (long n = 1; !done && n < 100; n++) {
    three();
    memory.until_failure = n;
    TRY(edf_load(path));
    memory.until_failure = 0;
    done = !panicked;
    CHECK(done || strstr(caught, "out of memory"), "request %ld: %s", n, caught);
    CHECK(done || (W->value[5] == 1.5 && v->value[1] == -8), "request %ld: changed", n);
    edf_clear();
    CHECK(memory.live == 0, "request %ld: %ld blocks are left", n, memory.live);
    CHECK(lowest_free_fd() == fd, "request %ld: a file is open", n);
  }
  CHECK(done, "it never ended");
  remove(path);
}

/* The memory of a model's file is given back when it has been read. */
static void nothing_is_kept(void) {
  three();
  put_model("{" ALL "}", 36);
  long before = memory.live;
  edf_load(path);
  CHECK(memory.live == before, "%ld blocks more", memory.live - before);
  edf_save(path);
  CHECK(memory.live == before, "%ld blocks more", memory.live - before);
  remove(path);
  edf_clear();
}

int main(void) {
  make_directory("models");
  RUN(whole_file);
  RUN(what_is_taken);
  RUN(random_numbers);
  RUN(names_in_json);
  RUN(refused_headers);
  RUN(refused_names);
  RUN(equal_names);
  RUN(numbers_that_fit);
  RUN(without_memory);
  RUN(nothing_is_kept);
  rmdir(dir);
  return harness_report();
}
