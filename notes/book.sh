#!/bin/sh
# The notes as one HTML page, with everything in it.   sh notes/book.sh OUTPUT
# Pages in the order of README.md; a link to a page becomes one to its heading. What a fence
# says to the handout compiler behind its first word goes, and so do blocks that are not shown.
# In the code of a table pandoc keeps the \ of \|, so it goes too. Below a slide is a link that
# opens it in the playground, which is beside the book: make playground.

cd "$(dirname "$0")" || exit 1
case $1 in /*) out=$1 ;; *) out=../$1 ;; esac
command -v pandoc > /dev/null || { echo 'make notes needs pandoc: apt install pandoc'; exit 1; }
pages=$(sed -n 's/.*](\([^)/]*[.]md\)).*/\1/p' README.md)

links=
for page in $pages; do links="$links;s/]($page)/](#$(basename $page .md))/g"; done
for page in $pages; do
  echo "<section id=\"$(basename $page .md)\">"
  echo
  sed -e '/^<!-- *\(c\|edf\|sh\|python\|text\)\( \|$\)/,/^-->$/d' -e 's/^```\([a-z]*\) .*/```\1/' \
    -e 's/^```\(edf\|ebnf\|gdb\)$/``` {.\1}/' -e "$links" \
    -e '/^|/s/\\|/|/g' -e "1s/^# .*/& {#top-$(basename $page .md)}/" "$page" |
    awk -v top=.. -v write=1 -f places.awk | LC_ALL=C awk '
    BEGIN { for (i = 1; i < 256; i++) code[sprintf("%c", i)] = sprintf("%%%02X", i) }
    { print }
    inside && /^```/ {
      print "\n[try it in the playground](playground.html#slide=" slide ")"
      inside = 0
    }
    inside {
      for (i = 1; i <= length($0); i++) slide = slide code[substr($0, i, 1)]
      slide = slide "%0A"
    }
    /^``` {[.]edf}/ { inside = 1; slide = "" }'
  echo
  echo '</section>'
  echo
done | pandoc -f markdown-auto_identifiers -t html5 -s --self-contained --toc --toc-depth=1 \
  --css book.css --metadata title='edf.h: lecture notes' --metadata lang=en -o "$out"
