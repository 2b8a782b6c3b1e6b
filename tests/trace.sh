#!/bin/sh
# Trace pages in a browser: a script added to a copy of each page steps through it by keys,
# points at entries and compares sums (tests/trace/drive.js); wide and narrow, light and dark.
#   sh tests/trace.sh [directory for what is built]

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/trace}
mkdir -p "$dir"
browser=
for name in chromium chromium-browser google-chrome; do
  command -v $name > /dev/null 2>&1 && browser=${browser:-$name}
done
if [ -z "$browser" ]; then echo 'skip trace: no chromium'; exit; fi
${CC:-cc} -O1 -g -I. tests/trace/pages.c -o "$dir/pages" -lm || exit 1
"$dir/pages" "$dir" || exit 1

open() {                                   # open PAGE WIDTH: the page as it is in the end
  timeout 100 "$browser" --headless=new --no-sandbox --disable-gpu --no-first-run \
    --user-data-dir="$dir/profile" --window-size="$2",900 --dump-dom \
    "file://$(cd "$dir" && pwd)/$1" 2> "$dir/browser.log"
}
echo '<!doctype html><title>empty</title><body><script>document.title = "it runs"</script>' \
  > "$dir/empty.html"
if ! open empty.html 1280 | grep -q 'it runs'; then
  echo "skip trace: $browser does not run here"
  exit
fi

dark='s/(prefers-color-scheme: *dark)/(min-width: 1px)/'
bad=0
drive() {                                  # drive PAGE WIDTH SED-COMMAND NAME
  {
    echo '<script>const failures = [];'
    echo 'onerror = (...what) => { failures.push(what.join(" ")); };'
    echo 'console.error = console.warn = onerror;'
    echo 'addEventListener("securitypolicyviolation", e => failures.push(e.blockedURI));'
    echo '</script>'
    sed "$3" "$dir/$1.html"
    echo '<script>'
    cat tests/trace/drive.js
    echo '</script>'
  } > "$dir/$4.html"
  open "$4.html" "$2" | sed -n '/<pre id="results">/,/<\/pre>/p' > "$dir/$4.out"
  grep -q '^counted' "$dir/$4.out" || echo "not ok runs: it left no result" >> "$dir/$4.out"
  grep -q '^not ok' "$dir/$4.out" && bad=1
  sed -n "s/^ok /ok trace-$4-/p; s/^not ok /not ok trace-$4-/p" "$dir/$4.out"
  sed -n 's/^counted/  &/p' "$dir/$4.out"
}
cp notes/trace.html "$dir/notes.html"      # the source, with its sample
for page in sqrt mlp mnist steps attention lstm zoo twins notes; do
  drive $page 1280 '' $page-wide
done
for page in sqrt mlp attention twins; do drive $page 400 "$dark" $page-narrow-dark; done

size=$(wc -c < "$dir/mnist.html")
if [ "$size" -lt 2000000 ]; then echo "ok trace-below-2-MB"
else bad=1; echo "not ok trace-below-2-MB: $size bytes"; fi
if grep -q 'https\{0,1\}:' "$dir/zoo.html"; then bad=1; echo 'not ok trace-no-address: http'
else echo 'ok trace-no-address'; fi
exit $bad
