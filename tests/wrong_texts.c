/* Wrong texts for edf_equations: all that each is told is tests/golden/wrong_texts.txt, to be
   read as a student reads it. Here a @ stands before the place where the caret has to be, in
   columns of letters, not bytes. After each the graph is as it was: its nodes, their numbers,
   and what a right text computes then.

   Built as: float double none sanitized shim */
#include "wrong_programs.h"
#include "golden.h"
#include "texts.h"
#include "told.h"

static const struct { const char *tensors, *text; } wrong[] = {
  /* ---- The grammar of a line */
  { "s[b,4]", "" },
  { "s[b,4]", "  # nothing but a comment\n\n" },
  { "s[b,4]", "y[b] @s[b,J]" },
  { "s[b,4]", "y[b] = @" },
  { "s[b,4]", "y[b] = s[b@" },
  { "s[b,4]", "y[b] = s[b@;J]" },
  { "s[b,4]", "y[@] = s[B,J]" },
  { "s[b,4]", "y@(b) = s[b,J]" },
  { "s[b,4]", "@3 y[b] = s[b,J]" },
  { "s[b,4]", "y[b] = s[b,J]@] " },
  { "s[b,4]", "y[b] = 2 (s[b,J] + 1@" },
  { "s[b,4]", "y[b] = (@)" },
  { "s[b,4]", "y[b] = 2 + @* s[b,0]" },
  { "s[b,4]", "y[b] = s[b,0] @$ 2" },
  { "s[b,4]", "y[b] = s[b,0] @& s[b,1]" },
  { "s[b,4]", "y[b] = s[b,0] @{2}" },
  { "s[b,4]", "y[b] = s[b,0]@, s[b,1]" },
  { "s[b,4]", "y[b] = s[b,0] / @-2" },
  { "s[b,4]", "y[b,j] = s[b]@[j]" },
  { "s[b,4]", "y[b,j] = s[b,1@.5]" },
  { "s[b,4]", "y[b] := s[b,0]" },
  { "s[b,4]", "y[b] == s[b,0]" },
  { "s[b,4]", "for b,j @y[b] += s[b,j]" },
  { "s[b,4]", "for b,@k: y[b] += s[b,j]" },
  { "s[b,4]", "for b: y[b] += s[b,@i]" },
  { "s[b,4]", "y[b,i1,i2,i3,i4,i5,i6,i7,@i8] = s[b,0]" },
  { "s[b,4]", "y[b] = s[b,@9999999]" },
  { "s[b,4]", "y[b] = @1e999 s[b,0]" },
  { "s[b,4]", "y[b] = s[b,0]\n@y[b] = s[b,1]" },
  /* ---- Columns of letters */
  { "s[b,4]", "ŷ[b] = σ(s[b,J] − @θ)" },
  { "s[b,4]", "y[b,ĵ] = s[b,ĵ] · s[b,ĵ] ≤ 2" },
  { "s[b,4]", "z[b,j] = s[b,j]    # ŷ\r\n\ty[b,j] = s[b,j] ×\n\t  @q" },
  /* ---- Bounds and extents */
  { "s[b,4]", "y[b,j] = s[b,j] | j @4" },
  { "s[b,4]", "y[b,j] = s[b,j] | j < @" },
  { "s[b,4]", "y[b,j] = s[b,j] | j<@0" },
  { "s[b,4]", "y[b,j] = s[b,j] | j<@4000000000" },
  { "s[b,4]", "y[b,j] = s[b,@j] | j<5" },
  { "s[b,4]", "y[b,j] = s[b,j] | j<3, @j<4" },
  { "s[b,4]", "y[b,j] = s[b,j] | @k<3" },
  { "s[b,4]", "y[b,j] = s[b,j] | j<=@3" },
  { "s[b,4]", "y[b,j] = s[b,j] | j<=@k" },
  { "s[b,4] W[5,3]", "y[b,j] = W[I,j] s[b,@I]" },
  { "s[b,4]", "y[b,t] = s[b,@t+1] s[b,t]" },
  { "s[b,4]", "y[b,@k] = s[b,0]" },
  { "s[b,4]", "y = sum_@k 2" },
  { "s[b,4]", "y[b,j] = @s[b,j,j]" },
  { "s[b,4]", "y[b,j-1] = s[b,j]" },
  { "s[b,4] u[5]", "y[b,j] = s[b,j] + u[@j]" },
  { "s[b,4] u[1]", "y[b,j] = s[b,j] + u[@j]" },
  { "s[b,4]", "y[b] = s[b,@J-J]" },
  /* ---- What binds an index */
  { "s[b,4]", "y[b,j] = @s[b,i]" },
  { "s[b,4]", "y[b] = exp(@s[b,J])" },
  { "s[b,4]", "y[b] = exp(@s[b,j])" },
  { "s[b,4]", "y[b] = (@s[b,J])^2" },
  { "s[b,4]", "y[b] = tanh(@s[b,J] + 1)" },
  { "s[b,4]", "loss = ln @s[b,0]" },
  { "W[3,4] x[4] V[3,4]", "y[j] = W[j,I] x[I] σ(@V[j,I] x[I])" },
  { "h[b,5]", "s[b,j] = @W[I,J] h[b,I] − B[j] | j<3, J<3" },
  { "s[b,4]", "y[b] = sum_j @sum_j s[b,j]" },
  { "s[b,4]", "P[b,k] = @sum_k s[b,k]" },
  { "s[b,4]", "P[b] = @softmax_k s[b,k]" },
  { "s[b,4]", "y[b] = s[b,J] + @c" },
  { "s[b,4]", "m = (1/B) sum_b @s[b,j]" },
  { "s[b,4]", "y[b] = sum_ s[b,J]" },
  { "s[b,4]", "y[b] = sum_{j s[b,j]}" },
  { "s[b,4]", "y[b] = sum_j" },
  /* ---- Names without brackets */
  { "s[b,4]", "y[b,j] = @%g s[b,j]" },
  { "s[b,4]", "y[b,j] = @c s[b,j]" },
  { "s[b,4]", "y[b,j] = @η s[b,j]" },
  { "s[b,4] j", "y[b,j] = @j s[b,j]" },
  { "s[b,4]", "y[b,j] = @s s[b,j]" },
  { "s[b,4]", "W0[j] = s[0,j]\ny[b,j] = @W0 s[b,j]" },
  { "s[b,4]", "y[b] = sum_j s[b,j] / @N" },
  { "s[b,4]", "y[b,j] = @softmax(s[b,j])" },
  { "s[b,4]", "y[b,j] = @sigmiod(s[b,j])" },
  /* ---- Functions */
  { "s[b,4]", "y[b] = @max(s[b,0])" },
  { "s[b,4]", "y[b] = @tanh(s[b,0], s[b,1])" },
  { "s[b,4]", "y[b] = @min s[b,0]" },
  { "s[b,4]", "y[b] = ln s[b,J] s[b,J]" },
  { "s[b,4]", "y[b,j] = @tanh[s[b,j]]" },
  { "s[b,4]", "y[b,j] = tanh[s[b,j] @+ 1]" },
  { "s[b,4]", "y[b,j] = dropout(s[b,j], @s[b,0])" },
  { "s[b,4]", "y[b,j] = dropout(s[b,j], @1.5)" },
  { "s[b,4]", "y[b,j] = @dropout(s[b,j])" },
  { "s[b,4]", "y[b] = s[b,0]^@s[b,1]" },
  { "s[b,4]", "y[b] = s[b,0]^@(s[b,1])" },
  { "s[b,4]", "y[b] = 1[s[b,0] @]" },
  { "s[b,4]", "y[b] = 1[s[b,0] > 0 @> 1]" },
  { "s[b,4]", "y[b] = s[b,J] 2 / 3 @s[b,J]" },
  { "s[b,4]", "y[b] = s[b,0] / 2 @s[b,1]" },
  { "s[b,4]", "y[b,j] = normalize_j(s[b,j], @s[b,0])" },
  { "s[b,4]", "y[b,j] = normalize_j(s[b,j], -1)" },
  /* ---- New names */
  { "s[b,4]", "y[b,j] = s[b,j] +\n\n  2 q[@b,j]\nz = y[B,J]" },
  { "s[b,4]", "y[b,j] = W[@j,I] s[b,I]" },
  { "s[b,4]", "y[b,j] = @j[j] s[b,j]" },
  { "s[b,4] W[4,3]", "y[b,j] = @w[I,j] s[b,I] | j<3" },
  { "s[b,4]", "h[b,j] = W[j,I] s[b,I] | j<3\ny[b,k] = @H[k,J] h[b,J] | k<2" },
  { "s[b,4]", "y[b] = @sum_k[J] s[b,J]" },
  { "s[b,4] W[4,3]", "y[b,j] = @W'[j,I] s[b,I] | j<3" },
  { "s[b,4]", "Φ = (V)\ny[b,j] = @U[j,I] s[b,I] | j<3" },
  { "s[b,4]", "Φ = V\ny[b,j] = V[j,I] s[b,I] | j<3" },
  { "s[b,4]", "y[b,j] = W[(j,@k),I] s[b,I] u[k] | j<3" },
  { "s[b,4] k[b]=5", "y[b] = e[@k[b]]" },
  { "s[b,4] k[b]=5", "y[b] = e[k[b]] | @w<5" },
  { "s[b,4]", "y[b] = W[I,@99999999] s[b,I]" },
  /* ---- Declarations */
  { "s[b,4]", "input @s[b,5]\ny[b] = s[b,J]" },
  { "s[b,4]", "parameter @s[4]\ny[b] = s[b,J]" },
  { "s[b,4]", "parameter W[4,@k]\ny[b,k] = W[I,k] s[b,I]" },
  { "s[b,4]", "input z[b,3\n@y[b] = z[b,J]" },
  { "s[b,4]", "input u[b,3], @u[b,4]\ny[b] = u[b,J]" },
  { "s[b,4]", "input z[b,3] @| b<4\ny[b] = z[b,J]" },
  { "s[b,4]", "input z[b,3]" },
  /* ---- By value */
  { "s[b,4] e[5,3]", "y[b,j] = e[@s[b,k],j]" },
  { "s[b,4]", "y[b,j] = s[b,floor(@k/2)]" },
  { "v[5] a[5]=3", "o[@a[i]] += v[i]" },
  { "s[b,4] y[b]=4", "P[b,k] = softmax_k s[b,k]\nloss[b] = -ln @P" },
  { "s[b,4]", "y[b] = ln@" },
  { "s[b,4]", "y[b] = ((((((((((((((((((((((((((((((((@"
    "s[b,0]))))))))))))))))))))))))))))))))" },
  { "s[b,4]", "y[b] = max_i (2) @max_i (3) s[b,i]" },
  { "s[b,4] y[b]=4", "P[b,k] = softmax_k s[b,k]\nloss[b] = -ln @P[y[b]]" },
  { "s[b,4]", "M[(@b,j)] = s[b,j]" },
  { "s[b,4] u[7]", "M[k] = u[(k,@j)] s[0,j]" },
  { "s[3,4] u[11]", "z = s[I,J] u[@(I,J)]" },
  /* ---- Several parts, += */
  { "s[b,4]", "@y[b,j] = s[b,j] ; s[b,j]" },
  { "s[b,4]", "y[b,J+K] = s[b,J] ; s[b,K] ; @s[b,J]" },
  { "s[b,4]", "y[b,J+@K] = s[b,J]" },
  { "s[b,4]", "y[b,J+K] = s[b,J] ; @s[b,j]" },
  { "s[b,4] u[b,3]", "y[b,j] += s[b,j]\n@y[b,i] += u[b,i]" },
  { "s[b,4]", "y[b] += s[b,j]\n@y[b,j] += s[b,j]" },
  { "s[b,4]", "y[b] += s[b,j]\nz[b] = @y[b]\ny[b] += s[b,0]" },
  { "s[b,4]", "y[b] @*= s[b,j]" },
  { "s[b,4]", "x[0] = s[0,0]\n@x[1] = s[0,1]" },
  { "s[b,4]", "y[b,j] = s[b,j] + u[@j-9] | j<4" },
  /* ---- Recurrences */
  { "s[b,4]", "y[b] = @z[b]\nz[b] = s[b,0]" },
  { "s[b,4]", "y[b,j] = @y[b,j] + s[b,j]" },
  { "s[b,4]", "h[b,@t] = h[b,t-1]" },
  { "s[b,4]", "@h[b,t] = s[b,t] h[b,t-1]\n" },
  { "s[b,4]", "h[b,t] = tanh(s[b,t] + @h[B,t])" },
  { "s[b,4]", "h[b,t] = s[b,t] + h[b,t-1] + @h[b,T]" },
  { "s[b,4] a[4,4]", "h[b,t] = s[b,t] + h[b,t-1] + a[t,S] @h[b,S]" },
  { "s[b,4]", "h[@b,t] = s[b,t] + h[b-1,t]" },
  { "s[b,4]", "h[b,t] = s[b,t] + h[b,t-1] + h[b,@t+1]" },
  { "s[b,4]", "h[b,t] = s[b,t] + h[b,t-1]\ny[b] = h[b,@L]" },
  { "s[b,4]", "h[b,t] = s[b,t] + h[b,t-1]\ny[b] = h[b,@4]" },
  { "s[b,4]", "h[b,t] = s[b,t] + @h[t-1]" },
  { "s[b,4]", "@h[b,9] = s[b,0]\nh[b,t] = s[b,t] + h[b,t-1]" },
  { "s[b,4]", "@h[-1] = s[0,0]\nh[b,t] = s[b,t] + h[b,t-1]" },
  { "x[b,4,3]", "c[b,t,j] = c[b,t-1,j] + g[b,t,j]\n@g[b,j] = tanh(c[b,3,j]) x[b,0,j]" },
  { "x[b,4]", "h[l,3@b,j] = W[l,j,I] h[l-1,b,I] B[j] | l<4\nh[-1,b,j] = x[b,j]" },
  { "x[4,4,4]", "@h[i,j,k] = h[i-1,j,k] + h[i,j-1,k] + h[i,j,k-1] + x[i,j,k]" },
};

/* The text without its mark; what is behind that. */
static const char *without_mark(const char *text, char *to) {
  const char *mark = strchr(text, '@');
  size_t n = mark ? (size_t)(mark - text) : strlen(text);
  sprintf(to, "%.*s%s", (int)n, text, mark ? mark + 1 : "");
  return mark ? to + n : NULL;
}

/* Where the caret has to be: the line's number, if there are several, and its column. */
static void check_caret(const char *text, const char *place) {
  const char *begin = text, *line = strchr(caught, ' '), *caret = strstr(caught, "^\n");
  char number[32] = "";
  int several = strchr(text, '\n') != NULL, row = 1, column = 0, found = 0;
  for (const char *c = text; c < place; c++) if (*c == '\n') { begin = c + 1; row++; }
  for (const char *c = begin; c < place; c++) column += (*c & 0xC0) != 0x80;
  if (several) snprintf(number, sizeof number, " line %d: ", row);
  if (several) line = strstr(caught, number);
  if (!line || !caret) { CHECK(0, "no caret for\n%s\n%s", text, caught); return; }
  column += (int)(strlen("hw1.c:9: Equations: ") + (several ? strlen(number) - 1 : 0));
  while (caret[-1] != '\n') { caret--; found++; }
  CHECK(found == column, "the caret is %d columns off in\n%s", found - column, caught);
}

static double digest(void) {
  double sum = 0;
  for (int p = 0; p < edf.n_parameters; p++)
    for (size_t i = 0; i < edf.parameters[p]->size; i++)
      sum += (double)(i + 1) * (double)edf_value(edf.parameters[p])[i];
  return sum;
}

/* What a right text computes, with parameters of its own. */
static double right_text(void) {
  edf_node *y = edf_equations("input right[b,3]\nr[b,i] = tanh(Wr[i,J] right[b,J]) | i<2");
  static const edf_real numbers[6] = { 1, 2, 3, 4, 5, 6 };
  edf_feed(edf_find("right"), numbers, 2);
  Forward();
  double sum = 0;
  for (size_t i = 0; i < y->size; i++) sum += (double)(i + 1) * (double)y->value[i];
  return sum + digest();
}

static void each_is_told(void) {
  static char text[4096];
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
    edf_seed(7);
    declare(wrong[k].tensors, 2);
    double expected = right_text();
    edf_clear();
    edf_seed(7);
    declare(wrong[k].tensors, 2);
    int n[3] = { edf.n_inputs, edf.n_parameters, edf.n_compnodes };
    double before = digest();
    const char *place = without_mark(wrong[k].text, text);
    TRY(edf_equations_at(HW1(9), "%s", text));
    tell("-------- %s\n%s\n\n", wrong[k].tensors, panicked ? caught : "(no error)");
    if (!panicked) tell("(of %s)\n\n", text);
    else if (place) check_caret(text, place);
    CHECK(panicked, "no error in\n%s", text);
    CHECK(!panicked || (n[0] == edf.n_inputs && n[1] == edf.n_parameters
          && n[2] == edf.n_compnodes && before == digest()), "the graph has changed by\n%s",
          text);
    if (panicked) CHECK(right_text() == expected, "a right text behind\n%s", text);
    edf_clear();
    CHECK(memory.live == 0, "%ld blocks are left after\n%s", memory.live, text);
  }
  golden("wrong_texts.txt", golden_plain(told));
}

/* Memory that is not there: the bytes depend on the type of the numbers. */
static void too_large(void) {
  static const char *const texts[] = {
    "y[b,j] = W[j,I] s[b,I] | j<1000000000",
    "y[b,i,j,k] = W[i,j,k,I] s[b,I] | i<1000000, j<1000000, k<1000000",
    "y[i+99999999,j] = s[i,0] | j<1000000000",
    "h[b,t] = s[b,0] h[b,t-1] + s[b,1] | t<1000000000",
    "h[t,b] = h[t-1,b] + s[b,1] | t<30000000",
    "y[b] = e[k[b]] | k<1000000000",
  };
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
    memory.limit = 1 << 24;
    declare("s[b,4] k[b]=4", 2);
    TRY(edf_equations("%s", texts[k]));
    CHECK(panicked, "no error in\n%s", texts[k]);
    CHECK(edf.n_parameters == 0 && edf.n_compnodes == 0, "the graph has changed by\n%s",
          texts[k]);
    edf_clear();
    CHECK(memory.live == 0, "%ld blocks are left after\n%s", memory.live, texts[k]);
  }
  memory.limit = 0;
}

/* Of a long line the part that is near; and no text at all. */
static void long_and_none(void) {
  static char text[11000];
  declare("s[b,4]", 2);
  strcpy(text, "y[b] = s[b,0]");
  for (int i = 0; i < 2000; i++) strcat(text, " 2");
  strcat(text, " $");
  for (int i = 0; i < 2000; i++) strcat(text, " ŷ");
  TRY(edf_equations_at(HW1(9), "%s", text));
  CHECK(panicked && strlen(caught) < 4000 && strstr(caught, "found '$'"), "%s", caught);
  edf_clear();
  TRY(edf_equations_at(HW1(9), NULL));
  expect("hw1.c:9: Equations: the text is NULL");
  declare("s[b,4] t[b,4]", 2);
  TRY(edf_find(NULL));
  expect("edf_find: the name is NULL");
  declare("s[b,4] tt[b,4]", 2);
  TRY(edf_find("ttt"));
  CHECK(panicked && strstr(caught, "the nearest name:\n  Input \"tt\""), "%s", caught);
  edf_clear();
}

int main(int argc, char **argv) {
  golden_arguments(argc, argv);
  RUN(each_is_told);
  RUN(too_large);
  RUN(long_and_none);
  return harness_report();
}
