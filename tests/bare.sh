#!/bin/sh
# `make test` passes with a C compiler and make alone, and says what it skipped: a copy of the
# files that git tracks is tested with a PATH that has these, a shell and its usual tools; a
# CBLAS would be found without any PATH, so BLAS=none.
#   sh tests/bare.sh [directory for what is built]

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/bare}
rm -rf "$dir"
mkdir -p "$dir/bin" "$dir/copy"
dir=$(cd "$dir" && pwd)
has() { command -v "$1" >/dev/null 2>&1; }

compiler=$(command -v gcc || command -v "${CC:-cc}")
ln -s "$compiler" "$dir/bin/cc"
for tool in make as ld sh awk sed grep cat cp mv rm mkdir rmdir ln ls basename dirname sort \
  comm cmp diff head tail tr cut wc uniq tee touch env printf echo test true false date uname \
  getconf xargs fold cksum sleep kill expr find chmod mktemp id timeout gzip od; do
  has $tool && ln -s "$(command -v $tool)" "$dir/bin/$tool"
done
(git ls-files 2>/dev/null || find . -path ./build -prune -o -type f -print) |
  while read -r file; do
    mkdir -p "$dir/copy/$(dirname "$file")"
    cp "$file" "$dir/copy/$file"
  done

cd "$dir/copy" || exit 1
env -i PATH="$dir/bin" HOME="$dir" make test BLAS=none > "$dir/log" 2>&1
status=$?
if [ $status = 0 ]; then echo 'ok bare-passes'
else
  echo "not ok bare-passes: exit status $status, see $dir/log"
  grep -A 20 FAILED "$dir/log" | head -n 40 | sed 's/^/  /'
fi
sed -n 's/^CPU seconds/  &/p' "$dir/log"
tail -n 1 "$dir/log" | sed 's/^/  /'

bad=$status
skips() {                                  # skips WORDS: it says so
  if sed -n '/^SKIPPED/,$p' "$dir/log" | grep -q -e "$1"; then echo "ok bare-skips-$2"
  else bad=1; echo "not ok bare-skips-$2: nowhere is '$1'"; fi
}
skips 'no CBLAS was found' cblas
skips 'no valgrind' valgrind
skips 'no gdb' gdb
skips 'no clang++' clang++
skips 'no C++ compiler' cuda
skips 'no chromium' trace
exit $bad
