#!/bin/sh
# LaTeX reads what edf_print_latex writes: the programs of golden.c, without an error.
#   sh tests/latex.sh [directory for what is built]

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/latex}
mkdir -p "$dir"
if ! command -v pdflatex >/dev/null 2>&1; then echo 'skip latex: no pdflatex'; exit; fi
${CC:-cc} -I. tests/golden.c tests/impl.c -o "$dir/golden" -lm &&
  "$dir/golden" > "$dir/log" || {
  echo 'not ok latex: golden.c failed'; exit 1; }

bad=0
for name in mlp convolution lstm_step attention odd_names; do
  if pdflatex -interaction=nonstopmode -halt-on-error -output-directory="$dir" \
      "build/golden_$name.tex" > "$dir/$name.log" 2>&1 && [ -s "$dir/golden_$name.pdf" ]
  then echo "ok latex-$name"
  else
    bad=1
    echo "not ok latex-$name"
    grep -A 5 '^!' "$dir/$name.log" | sed 's/^/  /'
  fi
done
exit $bad
