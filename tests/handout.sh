#!/bin/sh
# Every block of the notes and of the answers to their exercises runs. On a page of its own
# every kind of mistake is found.
#   sh tests/handout.sh [DIRECTORY]            for what is built

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/handout}
mkdir -p "$dir/wrong"
dir=$(cd "$dir" && pwd)
bad=0
HANDOUT_DIR=$dir/pages sh notes/handout.sh notes/*.md || bad=1
export HANDOUT_FLOAT="$dir/pages/edf_float.o"      # the same implementation for the others
HANDOUT_DIR=$dir/answers sh notes/handout.sh notes/answers/*.md || bad=1

cat > "$dir/page.md" <<'END'
# A page

```c
#define EDF_IMPLEMENTATION
#include "edf_slide.h"
int main(void) {
  Parameter *w = edf_parameter("w");
  CompNode *L = Equations("L = w^2");
  w->value[0] = 3;
  Forward();
  Backward(L);
  printf("L is %g\nw.grad is %g\n", L->value[0], w->grad[0]);
}
```

    L is ...
    w.grad is 6

```sh
cat page.c | grep -c main
```

    1
END
export HANDOUT_DIR="$dir/one"
check() { sh notes/handout.sh "$1" > "$dir/out" 2>&1; }
check "$dir/page.md"
if [ $? = 0 ]; then echo 'ok page'; else bad=1; echo 'not ok page:'; cat "$dir/out"; fi
mistake() {                                    # mistake NAME SED-SCRIPT WORDS
  sed "$2" "$dir/page.md" > "$dir/wrong/page.md"
  if ! check "$dir/wrong/page.md" && grep -q "$3" "$dir/out"; then echo "ok mistake-$1"
  else bad=1; echo "not ok mistake-$1: not said: $3"; sed 's/^/  /' "$dir/out"; fi
}
mistake output 's/w.grad is 6/w.grad is 7/' 'the output is *w.grad is 6'
mistake compiler 's/Forward();/Forwards();/' 'the compiler says'
mistake crash 's/^  Backward(L);/&\n  *(int *)L->m = 1;/' 'killed, by signal'
mistake command 's/^cat page.c/cat paper.c/' 'the command fails\|not what is printed'
exit $bad
