#!/bin/sh
# Random texts of the notation against plain loops: see texts.py, and hard.py for texts with
# masks, infinities and huge numbers. COUNT is the number of the latter. Then printed.c computes
# what is printed of all of them.
#   sh tests/random/random.sh [directory for what is built [SEED [COUNT]]]

cd "$(dirname "$0")/../.." || exit 1
dir=${1:-build/tests/random} seed=${2:-1} count=${3:-800}
mkdir -p "$dir" && dir=$(cd "$dir" && pwd)
command -v python3 > /dev/null || { echo 'skip random: no python3'; exit; }
${CC:-cc} -std=c99 -O1 -I. tests/random/run.c -o "$dir/run" -lm || exit 1
${CC:-cc} -std=c99 -O1 -DEDF_REAL=double -I. -Itests tests/printed.c tests/impl.c \
  -o "$dir/printed" -lm || exit 1
printf '#!/bin/sh\ntee -a "%s/cases" | "%s/run" "$@"\n' "$dir" "$dir" > "$dir/tee"
chmod +x "$dir/tee"
bad=0
rm -f "$dir/cases"
python3 tests/random/texts.py "$dir/tee" $seed $((count / 2)) || bad=1
python3 tests/random/hard.py "$dir/tee" $seed $count || bad=1
python3 tests/random/papers.py "$dir/tee" double || bad=1
python3 tests/random/forms.py "$dir/tee" $seed $((count / 2)) || bad=1
"$dir/run" < "$dir/cases" > "$dir/numbers"
"$dir/run" again < "$dir/cases" | cmp - "$dir/numbers" > "$dir/out"
if [ $? = 0 ]; then echo 'ok texts-read-again'
else bad=1; echo "not ok texts-read-again: other bits: $(cat "$dir/out")"; fi
printf '#!/bin/sh\nexec "%s/run" derive\n' "$dir" > "$dir/derive"
chmod +x "$dir/derive"
for each in texts forms; do
  python3 tests/random/$each.py "$dir/derive" $((seed + 1)) $((count / 4)) | sed "s/ $each-/ derivatives-of-$each-/" > "$dir/out"
  grep -q '^ok' "$dir/out" || bad=1
  cat "$dir/out"
done
python3 tests/random/papers.py "$dir/derive" double | sed 's/papers/derivatives-of-papers/' > "$dir/out"
grep -q '^ok' "$dir/out" || bad=1
cat "$dir/out"
"$dir/printed" random < "$dir/cases" > "$dir/out" || bad=1
sed '/^ok random_text$/d' "$dir/out"
rm -f "$dir/cases"

# The equations of papers, in both types and under sanitizers.
safe='-g1 -fsanitize=address,undefined -fno-sanitize-recover=all'
echo 'int main(void) { return 0; }' > "$dir/probe.c"
${CC:-cc} $safe "$dir/probe.c" -o "$dir/probe" 2> /dev/null && "$dir/probe" || safe=
for real in double float; do
  [ $count -gt 1000 ] || continue
  ${CC:-cc} -std=c99 -O1 $safe -DEDF_REAL=$real -I. tests/random/run.c -o "$dir/papers" -lm &&
    python3 tests/random/papers.py "$dir/papers" $real || bad=1
done

# A wrong number is noticed: the first value or gradient of each text is larger by 1e-8 of it.
planted() {
  printf '#!/bin/sh\n"%s" "$@" | awk '"'%s'"'\n' "$dir/run" "$2" > "$dir/wrong"
  chmod +x "$dir/wrong"
  if python3 tests/random/texts.py "$dir/wrong" $seed 60 > "$dir/out"; then
    bad=1; echo "not ok texts-planted: a wrong $1 is not noticed"
  else echo "ok texts-planted: a wrong $1"; fi
}
planted value '!/error/ { $1 = sprintf("%.17g", $1 * (1 + 1e-8)) } { print }'
planted gradient '{
  for (i = 2; i < NF; i++)
    if ($i == "|" && $(i + 1) + 0 != 0) {
      $(i + 1) = sprintf("%.17g", $(i + 1) * (1 + 1e-8)); break
    }
  print
}'
exit $bad
