#!/bin/sh
# On other machines and compilers the programs print the bytes that they print here.
#   sh tests/platforms.sh NAME [directory for what is built]
# NAME is windows, arm64, musl, tcc, wasm, clang or bits32. What is printed must be what gcc -O2
# -ffp-contract=off prints on this machine: all digits of ten steps of LeNet and of the LSTM, a
# checksum of their parameters, what the loaders read, wrote and complained of, three examples.
# Only \r before \n is taken away, which is how Windows ends the lines of a text.
#
# The reference is built beside the directory, once for all platforms: the first that wants it
# builds it under a name of its own and renames it, so that several can run at once.

cd "$(dirname "$0")/.." || exit 1
top=$PWD name=$1
dir=${2:-build/tests/platform-$name}
mkdir -p "$dir" && dir=$(cd "$dir" && pwd) || exit 1
bad=0
programs='01_sqrt 02_xor 04_custom_node lenet lstm loaders'

# ---- Lines that may differ: PLATFORM PROGRAM | line there | line here | reason
#   1  logf: that of mingw-w64 is rounded exactly, glibc's misses the last bit for one number in
#      400. It shows in the mean of 32 losses; no gradient has it, so the checksum is the same.
allowed='
windows lenet | step  3   loss 2.24733644 | step  3   loss 2.24733645 | 1
windows lstm  | step  4   loss 3.15406468 | step  4   loss 3.15406467 | 1
'

has() { command -v "$1" > /dev/null 2>&1; }
pass() { echo "ok platform-$name-$1"; }
fail() { bad=1; echo "not ok platform-$name-$1: $2"; head -n 12 "$3" | sed 's/^/  /'; }
need() { for tool; do has "$tool" || { echo "skip platform-$name: no $tool"; exit 0; }; done; }

# ---- build DIRECTORY: the programs by $cc $flags $libs, without a warning. The implementation
# is compiled twice: for all programs, and in double in 04, which is alone as a student's is.
compile() {                                # compile DIRECTORY NAME COMMAND
  log=$1/$2.log; shift 2
  "$@" > "$log" 2>&1 && [ ! -s "$log" ]
}
build() {
  linked="$1/edf.o $libs"
  compile "$1" edf $cc $flags -I. -c tests/platforms/edf.c -o "$1/edf.o" || return
  for program in $programs; do
    without=-DEDF_LINKED with=$linked source=examples/$program.c out=$1/$program$end
    case $program in
      04_*) without='' with=$libs ;;
      lstm) cp "$1/lenet$end" "$out"; : > "$1/lstm.log"; continue ;;
      lenet) source=tests/platforms/steps.c ;;
      loaders) source=tests/platforms/loaders.c ;;
    esac
    compile "$1" $program $cc $flags $without -I. $source -o "$out" $with || return
  done
}

# start DIRECTORY PROGRAM: by $run, in the directory files/, where the loaders may write
start() {
  argument=
  case $2 in lenet|lstm) argument=$2 ;; esac
  mkdir -p "$1/files"
  (cd "$1/files" && $run "../$2$end" $argument) > "$1/$2.printed" 2> "$1/$2.stderr"
  echo "exit status $?" >> "$1/$2.printed"
  awk '{ sub(/\r$/, ""); print }' "$1/$2.printed" > "$1/$2.txt"
}

# In -std=c99 gcc fuses a * b + c in the built-in product whatever the command line says: gnu99.
strict='-std=gnu99 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -ffp-contract=off'

cat > "$dir/probe.c" <<'END'
#include <stdio.h>
int main(void) { puts("here"); return 0; }
END

# ---- The platforms: compiler, flags, what runs it. -O1 compiles in half the time of -O2.
flags="-O1 $strict" libs=-lm end='' run=''
case $name in
  windows)
    cc=x86_64-w64-mingw32-gcc end=.exe run=wine libs='-static -lm'
    need $cc wine
    export WINEPREFIX="$dir/wine" WINEDEBUG=-all
    export WINEDLLOVERRIDES='mscoree,mshtml,winemenubuilder=' ;;   # no questions
  arm64)
    cc=aarch64-linux-gnu-gcc run=qemu-aarch64 libs='-static -lm' flags="-O2 $strict"
    need $cc $run ;;
  musl)
    cc=musl-gcc libs='-static -lm'
    need $cc ;;
  tcc)
    cc=tcc flags=-Wall
    need $cc ;;
  wasm)
    cc='clang --target=wasm32-wasi' end=.wasm libs='-Wl,-z,stack-size=1048576 -lm'
    run="node --no-warnings $top/tests/platforms/run.mjs"
    need clang wasm-ld node ;;
  clang)
    cc=clang
    need $cc ;;
  bits32)                                  # with SSE, since the i387 rounds at other places
    cc=i686-linux-gnu-gcc flags="-msse2 -mfpmath=sse -O1 $strict" libs='-static -lm'
    if ! has $cc && gcc -m32 -fsyntax-only "$dir/probe.c" 2> /dev/null; then cc='gcc -m32'
    else need $cc; fi ;;
  *) echo "platforms.sh: $name: windows, arm64, musl, tcc, wasm, clang or bits32" >&2; exit 2 ;;
esac

if ! $cc $flags "$dir/probe.c" -o "$dir/probe$end" $libs > "$dir/probe.log" 2>&1; then
  echo "skip platform-$name: no C library for $cc"
  exit 0
fi

# ---- The reference; its name has a checksum of all that goes into it
sum=$({ cat edf.h examples/*.[ch] tests/platforms/* tests/platforms.sh; gcc --version; } |
  cksum | tr -d ' ')
reference=$(dirname "$dir")/platform-reference-$sum

refer() {
  mine=$reference.$$ cc=gcc flags="-O2 $strict" libs=-lm end='' run=''
  for old in "$(dirname "$dir")"/platform-reference-*; do   # of another state of the sources
    case $old in "$reference"*) ;; *) rm -rf "$old" ;; esac
  done
  rm -rf "$mine"
  mkdir -p "$mine"
  if ! build "$mine"; then fail reference 'gcc warns, or worse' "$log"; return 1; fi
  for program in $programs; do
    start "$mine" $program
    grep -q '^exit status 0' "$mine/$program.txt" && continue
    fail reference "$program" "$mine/$program.stderr"
    return 1
  done
  [ -d "$reference" ] || mv "$mine" "$reference"
  rm -rf "$mine"
}
need gcc
[ "$(uname -m)" = x86_64 ] || { echo "skip platform-$name: no x86-64"; exit 0; }
[ -d "$reference" ] || (refer) || exit 1

if build "$dir"; then pass compile; else fail compile "$cc warns, or worse" "$log"; exit 1; fi

if [ $name = bits32 ]; then                # and without SSE it compiles, in either mode
  for std in c99 gnu99; do
    if compile "$dir" i387 $cc -std=$std -mno-sse -Wall -Wextra -I. -fsyntax-only \
       tests/platforms/edf.c; then pass i387-$std
    else fail i387-$std 'it does not compile' "$log"; fi
  done
  "$dir/probe" > /dev/null 2>&1 || { run=qemu-i386; need $run; }   # the kernel has 64 alone
fi
if [ $name = windows ] && ! wine wineboot -i > "$dir/wineboot.log" 2>&1; then
  fail wine 'wine does not start' "$dir/wineboot.log"
  exit 1
fi

# The lines of the table, put back to what they are here
excused() {
  printf '%s\n' "$allowed" | awk -F ' *[|] *' -v which="$name $1" '
    NR == FNR { if ($1 == which) here[$2] = $3; next }
    { print ($0 in here ? here[$0] : $0) }' - "$2"
}

for program in $programs; do
  start "$dir" $program
  excused $program "$dir/$program.txt" > "$dir/$program.excused"
  if diff "$reference/$program.txt" "$dir/$program.excused" > "$dir/$program.diff"
  then pass $program
  else
    { head -n 4 "$dir/$program.stderr"; cat "$dir/$program.diff"; } > "$dir/$program.why"
    fail $program "< is gcc's on this machine, > is what it printed" "$dir/$program.why"
  fi
done
[ $name = windows ] && wineserver -k 2> /dev/null
exit $bad
