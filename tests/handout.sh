#!/bin/sh
# The handout compiler: README.md, the notes and the answers to their exercises; and a page with
# each kind of block, in which every planted mistake is found.
#   sh tests/handout.sh [directory for what is built]

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/handout}
mkdir -p "$dir/wrong"
HANDOUT_DIR=$PWD/$dir/pages
export HANDOUT_DIR
bad=0
sh notes/handout.sh notes/*.md || bad=1
HANDOUT_DIR=$HANDOUT_DIR/answers sh notes/handout.sh tests/notes/*.md || bad=1

cat > "$dir/page.md" <<'E2'
# A page

A fragment, and a program that goes on from it:

```c
#define EDF_IMPLEMENTATION
#include "edf_lab.h"
static double twice(double x) { return 2 * x; }
```
```c
int main(void) {
  Parameter *w = edf_parameter("w");
  CompNode *L = Equations("L = w^2");
  w->value[0] = 3;
  Forward();
  Backward(L);
  printf("L is %g\nw.grad is %g\n", L->value[0], twice(w->value[0]));
  edf_log("loss", L->value[0]);
  edf_plot_svg("curve.svg");
}
```

    L is ...
    w.grad is 6

![A curve](curve.svg)

```gdb
(gdb) break edf_backward
(gdb) run
(gdb) print loss->value[0]
= 9
```

```edf y=3
input s[b,3], y[b]
P[b,k] = softmax_k s[b,k]
loss[b] = -ln P[b,y[b]]
```

    ...
        0  P[b,k] = ...
    ...

- a list,

    not a block in it

```sh
cat page.c | grep -c main
make run EXAMPLE=02
```
```
1
```

```c of notes/text.c
static int classes_of(const char *name, int n, char **words) {
  size_t length = strlen(name);
```

<!-- c
#define EDF_IMPLEMENTATION
#include "edf.h"
int main(void) { Equations("y[i] = x[j]"); }
-->

    page.c:3: Equations: y[i] = x[j]
    ...

SGD is `edf_sgd` (edf.h:1).
E2
awk -v top=. -v write=1 -f notes/places.awk "$dir/page.md" > "$dir/placed.md"
mv "$dir/placed.md" "$dir/page.md"
compiled() { sh notes/handout.sh $2 "$1" > "$dir/out" 2>&1; }

compiled "$dir/page.md" --write
if compiled "$dir/page.md"; then echo 'ok handout-page'
else bad=1; echo 'not ok handout-page: it is right'; sed 's/^/  /' "$dir/out"; fi

mistake() {                                # mistake NAME SED-SCRIPT PATTERN
  sed "$2" "$dir/page.md" > "$dir/wrong/page.md"
  cp "$dir/curve.svg" "$dir/wrong"
  if cmp -s "$dir/page.md" "$dir/wrong/page.md"; then
    bad=1; echo "not ok handout-$1: nothing was changed"
  elif compiled "$dir/wrong/page.md"; then bad=1; echo "not ok handout-$1: it is not found"
  elif grep -q "$3" "$dir/out"; then echo "ok handout-$1"
  else bad=1; echo "not ok handout-$1: not said: $3"; sed 's/^/  /' "$dir/out"; fi
}
mistake output 's/w.grad is 6/w.grad is 7/' 'the output is *w.grad is 6'
mistake output-ends 's/^    w.grad is 6/&\n    and more/' 'the output ends'
mistake output-goes-on '/^    w.grad is 6/d' 'the output goes on *w.grad'
mistake c 's/Forward();/Forwards();/' 'the compiler says'
mistake c-warning 's/^  Backward(L);/&\n  int *p = L;/' 'the compiler says'
mistake c-crash 's/^  Backward(L);/&\n  *(int *)L->m = 1;/' 'killed, by signal'
mistake c-stops 's/^SGD is .*/<!-- c\nint main(void) { return 3; }\n-->/' 'it stops'
mistake c-no-main 's/^int main(void) {$/int min(void) {/' 'the compiler says\|no main follows'
mistake c-not-there 's/size_t length = str/size_t n = str/' 'not stand in notes'
mistake picture 's/"loss", L/"cost", L/' 'another picture'
mistake picture-none 's/(curve.svg)/(curves.svg)/' 'no program above has drawn'
mistake gdb 's/^= 9/= 10/' 'no line, or not there, with: = 10'
mistake edf 's|softmax_k s|softmax_j s|; s|^        0  P.*|    ...|' 'the page says nothing'
mistake edf-output 's/^        0  P.b,k/        0  Q[b,k/' 'the page says *0 Q'
mistake sh 's/^cat page.c/cat paper.c/' 'the command fails\|not what is printed'
mistake make 's/^make run/make runs/' 'no such target'
mistake unmade 's/^# A page/&\n\n    42/' 'nothing above has printed'
mistake kind 's/^```sh/```bash/' 'a block is c, edf, gdb, sh'
mistake place 's/(edf.h:[0-9]*)/(edf.h:3)/' 'edf_sgd stands at'
mistake error-output 's/page.c:3/page.c:4/' 'the output is *page.c:3'

# The book: every page, every picture, and nothing from elsewhere.
if ! command -v pandoc > /dev/null; then echo 'skip handout-book: no pandoc'; exit $bad; fi
sh notes/book.sh "$PWD/$dir/notes.html" > "$dir/out" 2>&1
for page in notes/[0-9s]*.md; do
  grep -q "<section id=\"$(basename $page .md)\"" "$dir/notes.html" || echo "no $page"
done >> "$dir/out"
grep -o '\(src\|href\)="[^#d"][^"]*"' "$dir/notes.html" >> "$dir/out"
[ "$(grep -c '<img' "$dir/notes.html")" = "$(cat notes/*.md | grep -c '^!\[')" ] ||
  echo 'a picture is missing' >> "$dir/out"
if [ -s "$dir/out" ]; then bad=1; echo 'not ok handout-book'; sed 's/^/  /' "$dir/out"
else echo 'ok handout-book'; fi

. tests/browser.sh
if [ "$no_browser" ]; then echo "skip handout-browser: $no_browser"; exit $bad; fi
look() { in_browser handout tests/notes/book.js notes "$@" || bad=1; }
look 1280 '' book-wide
look 1280 "$dark" book-wide-dark
look 400 '' book-narrow
look 400 "$dark" book-narrow-dark
exit $bad
