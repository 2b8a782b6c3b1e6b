#!/bin/sh
# The book of the notes in a browser: it has all its pages, pictures and links.
#   sh tests/browser.sh [DIRECTORY]            for what is built

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/browser}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
browser=
for name in chromium chromium-browser google-chrome; do
  command -v $name > /dev/null && browser=${browser:-$name}
done
[ "$browser" ] || { echo 'skip browser: no chromium'; exit; }
bad=0

in_window() {                                  # in_window FILE WIDTH: the page in the end
  timeout 100 "$browser" --headless=new --no-sandbox --disable-gpu --no-first-run \
    --user-data-dir="$dir/profile" --window-size="$2",900 --dump-dom "file://$dir/$1" \
    2> "$dir/browser.log"
}
echo '<title>empty</title><body><script>document.title = "it runs"</script>' > "$dir/empty.html"
in_window empty.html 1280 | grep -q 'it runs' ||
  { echo "skip browser: $browser does not run here"; exit; }

# The script leaves lines of results in an element of its own; the last one is `counted`.
look() {                                # look NAME SCRIPT PAGE WIDTH [SED-COMMAND]
  {
    echo '<script>const failures = [];'
    echo 'onerror = (...what) => { failures.push(what.join(" ")); };'
    echo 'console.error = console.warn = onerror;'
    echo 'addEventListener("securitypolicyviolation", e => failures.push(e.blockedURI));'
    echo '</script>'
    sed "$5" "$3"
    echo '<script>'
    cat "$2"
    echo '</script>'
  } > "$dir/$1.html"
  in_window "$1.html" "$4" | sed -n '/<pre id="results">/,/<\/pre>/p' > "$dir/$1.out"
  grep -q '^counted' "$dir/$1.out" || echo 'not ok runs: it left no result' >> "$dir/$1.out"
  sed -n "s/^ok /ok $1-/p; s/^not ok /not ok $1-/p; s/^counted/  &/p" "$dir/$1.out"
  ! grep -q '^not ok' "$dir/$1.out" || bad=1
}

dark='s/(prefers-color-scheme: *dark)/(min-width: 1px)/'
command -v pandoc > /dev/null || { echo 'skip book: no pandoc'; exit $bad; }
sh notes/book.sh "$dir/notes.html" > "$dir/log" 2>&1 || { cat "$dir/log"; bad=1; }
look book tests/browser/book.js "$dir/notes.html" 1280
look book-narrow-dark tests/browser/book.js "$dir/notes.html" 400 "$dark"
exit $bad
