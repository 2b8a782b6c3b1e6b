#!/bin/sh
# Trace pages in a browser: a script added to a copy of each page steps through it by keys,
# points at entries and compares sums (tests/trace/drive.js); wide and narrow, light and dark.
#   sh tests/trace.sh [directory for what is built [few]]      few: some of them

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/trace}
mkdir -p "$dir"
. tests/browser.sh
if [ "$no_browser" ]; then echo "skip trace: $no_browser"; exit; fi
${CC:-cc} -O1 -g -I. tests/trace/pages.c -o "$dir/pages" -lm || exit 1
"$dir/pages" "$dir" || exit 1

bad=0
drive() { in_browser trace tests/trace/drive.js "$@" || bad=1; }
cp notes/trace.html "$dir/notes.html"      # the source, with its sample
wide='sqrt mlp mnist steps attention lstm zoo twins notes' narrow='sqrt mlp attention twins'
[ "$2" != few ] || { wide='mlp mnist lstm zoo notes' narrow='attention'; }
for page in $wide; do drive $page 1280 '' $page-wide; done
for page in $narrow; do drive $page 400 "$dark" $page-narrow-dark; done

size=$(wc -c < "$dir/mnist.html")
if [ "$size" -lt 2000000 ]; then echo "ok trace-below-2-MB"
else bad=1; echo "not ok trace-below-2-MB: $size bytes"; fi
if grep -q 'https\{0,1\}:' "$dir/zoo.html"; then bad=1; echo 'not ok trace-no-address: http'
else echo 'ok trace-no-address'; fi
exit $bad
