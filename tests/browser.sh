# A browser for tests, to be read by `.`: a script is added to a copy of a page in $dir, and
# what it leaves in <pre id="results"> are the test's lines, the last of which is `counted`.
#   $no_browser: why there is none, or empty

browser=
for name in chromium chromium-browser google-chrome; do
  command -v $name > /dev/null 2>&1 && browser=${browser:-$name}
done

in_window() {                              # in_window PAGE WIDTH: the page as it is in the end
  timeout 100 "$browser" --headless=new --no-sandbox --disable-gpu --no-first-run \
    --user-data-dir="$dir/profile" --window-size="$2",900 --dump-dom \
    "file://$(cd "$dir" && pwd)/$1" 2> "$dir/browser.log"
}

no_browser='no chromium'
if [ "$browser" ]; then
  echo '<!doctype html><title>empty</title><body><script>document.title = "it runs"</script>' \
    > "$dir/empty.html"
  no_browser="$browser does not run here"
  in_window empty.html 1280 | grep -q 'it runs' && no_browser=
fi

dark='s/(prefers-color-scheme: *dark)/(min-width: 1px)/'
in_browser() {                             # in_browser TEST SCRIPT PAGE WIDTH SED-COMMAND NAME
  {
    echo '<script>const failures = [];'
    echo 'onerror = (...what) => { failures.push(what.join(" ")); };'
    echo 'console.error = console.warn = onerror;'
    echo 'addEventListener("securitypolicyviolation", e => failures.push(e.blockedURI));'
    echo '</script>'
    sed "$5" "$dir/$3.html"
    echo '<script>'
    cat "$2"
    echo '</script>'
  } > "$dir/$6.html"
  in_window "$6.html" "$4" | sed -n '/<pre id="results">/,/<\/pre>/p' > "$dir/$6.out"
  grep -q '^counted' "$dir/$6.out" || echo 'not ok runs: it left no result' >> "$dir/$6.out"
  sed -n "s/^ok /ok $1-$6-/p; s/^not ok /not ok $1-$6-/p" "$dir/$6.out"
  sed -n 's/^counted/  &/p' "$dir/$6.out"
  ! grep -q '^not ok' "$dir/$6.out"
}
