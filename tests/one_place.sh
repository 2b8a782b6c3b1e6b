#!/bin/sh
# A built-in node stands in one place. A copy of edf.h gets one more by three insertions: a
# declaration with its formula, a paragraph, a short name; and it runs, forward and backward, is
# printed, checked, stepped, saved and traced. And no line outside of its chapter names a node.
#   sh tests/one_place.sh [directory for what is built]

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/one_place}
rm -rf "$dir"
mkdir -p "$dir/planted"
cc=${CC:-cc} bad=0

pass() { echo "ok one-place-$1"; }
fail() { bad=1; echo "not ok one-place-$1: $2"; head -n 20 "$dir/out" | sed 's/^/  /'; }

# ---- One node more

cat > "$dir/declaration" <<'EOF'
#define edf_cube(x) edf_cube_at(EDF__HERE, x)  /* y = x^3    dx += dy 3 x^2 */
edf__unary edf_cube_at;
EOF
cat > "$dir/paragraph" <<'EOF'
/* ---- Cube   y[i] = x[i]^3     x.grad[i] += y.grad[i] 3 x[i]^2 ---- */
static void edf__cube_forward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++)
    y->value[i] = x->value[i] * x->value[i] * x->value[i];
}
static void edf__cube_backward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++)
    edf_addgrad(x, i, y->grad[i] * 3 * x->value[i] * x->value[i]);
}
static const edf_op edf__cube_op = { "Cube", NULL, edf__cube_forward, edf__cube_backward,
  "y x", "y@ = x@^3", "x.grad@ += y.grad@ 3 x@^2", 1, 0 };
edf_node *edf_cube_at(const char *file, int line, edf_node *x) {
  return edf__node1(&edf__cube_op, file, line, x);
}

EOF
echo '#define Cube            edf_cube' > "$dir/name"
sed -e "/^#define edf_softplus(x)/r $dir/declaration" \
    -e "/^#define Softplus  *edf_softplus\$/r $dir/name" edf.h > "$dir/two.h"
awk -v paragraph="$dir/paragraph" '/^\/\* ---- LogSoftmax  / && !done {
    while ((getline line < paragraph) > 0) print line
    done = 1 }
  { print }' "$dir/two.h" > "$dir/edf.h"
cp edf_lab.h "$dir/edf_lab.h"
rm "$dir/two.h"

cat > "$dir/cube.c" <<'EOF'
#define EDF_IMPLEMENTATION
#include "edf.h"
#include "edf_lab.h"
#include <math.h>

static int bad;
static void says(int holds, const char *what) {
  if (!holds) { bad = 1; printf("not so: %s\n", what); }
}

static CompNode *c, *loss;
static void model(void) {
  static const edf_real points[] = { 1, 2, 3, -1, 0.5, 1 }, targets[] = { 1, 0, 2 };
  Input *x = edf_input("x[b,2]"), *t = edf_input("t[b]");
  AffineParams Phi = edf_affine_params(2, 1);
  c = edf_name(Cube(Affine(Phi, x)), "c");
  loss = MSE(Reshape(c, "r[b]"), t);
  Phi.w->value[0] = (edf_real)0.5;
  Phi.w->value[1] = (edf_real)0.25;
  edf_feed(x, points, 3);
  edf_feed(t, targets, 3);
}

static int holds(const char *path, const char *text) {
  static char at[2000000];
  FILE *f = fopen(path, "rb");
  size_t n = f ? fread(at, 1, sizeof at - 1, f) : 0;
  at[n] = 0;
  if (f) fclose(f);
  return strstr(at, text) != NULL;
}

int main(void) {
  FILE *f;
  model();
  edf_trace_begin("trace.html");
  Forward();
  Backward(loss);
  edf_trace_end();
  says(c->value[0] == 1 && c->value[1] == (edf_real)1.953125, "forward");
  says(fabs((double)(c->in[0]->grad[0] - 3 * c->grad[0])) < 1e-12, "backward");
  says(edf_gradcheck(loss) < 1e-6, "the gradient check");
  f = fopen("printed", "w");
  edf_print_program(f);
  edf_print_latex(f);
  fclose(f);
  says(holds("printed", "c[b,j] = Affine0[b,j]^3   Cube [b=3, 1]   cube.c:"), "its line");
  says(holds("printed", "for b,j: Affine0.grad[b,j] += c.grad[b,j] 3 Affine0[b,j]^2"),
       "its backward");
  says(holds("printed", "{c}[b,j] = {\\rm Affine0}[b,j]^3"), "LaTeX");
  says(holds("trace.html", "\"Cube\"") && holds("trace.html", "Affine0[b,j]^3"), "the trace");
  CompNode *first = edf_step_forward(), *second = edf_step_forward();
  says(first == c->in[0] && second == c, "a step");
  edf_save("model.edf");
  edf_clear();
  model();
  c->in[0]->in[0]->value[0] = 7;
  edf_load("model.edf");
  Forward();
  says(c->value[0] == 1, "saved and loaded");
  edf_write_dot("graph.dot");
  says(holds("graph.dot", "Cube"), "Graphviz");
  edf_clear();
  if (!bad) printf("a node in one place\n");
  return bad;
}
EOF

flags='-std=c99 -DEDF_REAL=double -Wall -Wextra -Werror -I.'
if ! (cd "$dir" && $cc $flags cube.c -o cube -lm) > "$dir/out" 2>&1; then
  fail compiles 'the copy with one node more does not compile'
elif ! (cd "$dir" && ./cube) > "$dir/out" 2>&1; then fail a-node-more 'see below'
else pass a-node-more; fi

# ---- No line outside of its chapter names a node: no comparison of its functions or of its op,
# no list of ops. Inside of it, and in tables of other ops, which share code, they stand freely;
# a call of such a function is one of code, and Einsum is what the notation is called.

cat > "$dir/names.awk" <<'EOF'
function offends(why) { printf "%s:%d: %s: %s\n", FILENAME, FNR, why, text; bad = 1 }
FNR == 1 { pass += FILENAME ~ /edf\.h$/; chapter = comment = table = 0 }
{
  text = code = $0
  if (match($0, /^\/\* (====|----) >>[a-z_]+/)) { split($0, w, />>| /); chapter = w[4] }
  if (comment) { if (!sub(/^.*\*\//, "", code)) next; comment = 0 }
  gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, " ", code)
  if (sub(/\/\*.*$/, "", code)) comment = 1
  if (code ~ /^static const edf_op /) { table = 1; named = 0 }
}
pass == 1 && table {                       # which node stands where
  rest = code
  if (!named && match(rest, /"[A-Za-z]+"/)) {
    named = 1
    op[substr(rest, RSTART, RLENGTH)] = chapter
    sub(/"[A-Za-z]+"/, "", rest)
  }
  while (match(rest, /edf__[a-z_]+_(shape|forward|backward)/)) {
    code_of[substr(rest, RSTART, RLENGTH)] = 1
    rest = substr(rest, RSTART + RLENGTH)
  }
}
pass == 1 && match(code, /^static void edf__[a-z_]+\(edf_node/) {
  home[substr(code, RSTART + 12, RLENGTH - 21)] = chapter
}
pass == 2 {
  if (code ~ /->(shape|forward|backward) *[!=]=/ ||
      code ~ /[!=]= *&?edf__[a-z_]+_(shape|forward|backward|op)/)
    offends("functions are compared")
  if (code ~ /cmp\([^;]*->(op|says->name)[^;]*"|cmp\([^;]*"[^;]*->(op|says->name)/ ||
      code ~ /->(op|says->name)(\[[^]]*\])? *[!=]=/ || code ~ /\*[a-z]+->op([^a-z_]|$)/)
    offends("an op is compared")
  rest = code
  while (match(rest, /"[A-Za-z]+"/)) {
    word = substr(rest, RSTART, RLENGTH)
    if (word in op && op[word] != chapter && word != "\"Einsum\"") offends("a node is named")
    rest = substr(rest, RSTART + RLENGTH)
  }
  rest = table ? "" : code
  while (match(rest, /edf__[a-z_]+[^a-z_]?/)) {
    word = substr(rest, RSTART, RLENGTH)
    called = sub(/\($/, "", word)
    sub(/[^a-z_]$/, "", word)
    if (!called && word in code_of && word in home && home[word] != chapter)
      offends("a node's function is named")
    rest = substr(rest, RSTART + RLENGTH)
  }
}
code ~ /};/ { table = 0 }
END { n = 0; for (o in op) n++; if (n < 25) { print "only " n " nodes were found"; bad = 1 }
      exit bad }
EOF
named() { awk -f "$dir/names.awk" "$1/edf.h" "$1/edf.h" "$1/edf_lab.h" > "$dir/out" 2>&1; }
if named .; then pass no-node-is-named-elsewhere
else fail no-node-is-named-elsewhere 'these lines'; fi

# What should be found is, where it is planted in another chapter
planted() {                                # planted NAME FILE LINE
  cp edf.h edf_lab.h "$dir/planted"
  awk -v line="$3" '{ print } /^\/\* ==== >>(seam|plot)/ { print line }' $2 > "$dir/planted/$2"
  if cmp -s $2 "$dir/planted/$2"; then fail finds-$1 'nothing was planted'
  elif named "$dir/planted"; then fail finds-$1 "'$3' goes unseen"
  else pass finds-$1; fi
}
planted a-function edf.h 'int f(edf_node *y) { return y->forward == edf__tanh_forward; }'
planted a-shape edf.h 'int f(edf_node *y) { return edf__einsum_shape != y->shape; }'
planted an-op edf.h 'int f(edf_node *y) { return !strcmp(y->op, "Mine"); }'
planted an-op-from-the-left edf_lab.h 'int f(edf_node *y) { return !strcmp("Mine", y->op); }'
planted a-letter edf.h "int f(edf_node *y) { return y->op[0] == 'L'; }"
planted a-list edf.h 'const char *list[] = { "Tanh", "Relu" };'
planted a-list-of-functions edf.h 'void (*list[])(edf_node *) = { edf__relu_backward };'
planted a-name edf_lab.h 'const char *f(void) { return "BCELoss"; }'
exit $bad
