#!/bin/sh
# The playground.  sh tests/playground.sh [DIRECTORY]         its program, by node
#                  sh tests/playground.sh DIRECTORY page      its page, in Chromium by Playwright:
#                  build/venv/bin/pip install playwright; no browser of its own is needed

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/playground}
mkdir -p "$dir"

if [ "$2" != page ]; then
  command -v node > /dev/null || { echo 'skip playground: no node'; exit; }
  ${CC:-cc} -std=c99 -Wall -Wextra -Wpedantic -Wshadow -Werror -O1 -I. notes/playground/program.c \
    -o "$dir/program" -lm || exit 1
  exec node tests/playground/program.js "$dir/program"
fi

job=page modules='playwright.sync_api'
. tests/python_with.sh
${CC:-cc} -O0 -I. tests/playground/traces.c -o "$dir/traces" -lm && "$dir/traces" "$dir" || exit 1
sh notes/playground/build.sh "$PWD/$dir/playground.html"
case $? in 0) ;; 3) echo 'skip page: no clang with wasi-libc, and no ziglang'; exit ;; *) exit 1 ;; esac
size=$(wc -c < "$dir/playground.html")
if [ "$size" -le 700000 ]; then echo "ok at-most-700-KB"; else echo "not ok at-most-700-KB: $size bytes"; exit 1; fi
$python tests/playground/page.py "$dir/playground.html" "$dir" || exit 1

# The pictures of the README, as make pictures draws them
$python -c 'import PIL' 2> /dev/null || { echo 'skip pictures: no Pillow'; exit; }
if $python notes/pictures.py "$dir/playground.html" "$dir" > "$dir/pictures.log" 2>&1; then echo 'ok pictures'
else echo 'not ok pictures'; sed 's/^/  /' "$dir/pictures.log"; exit 1; fi
