#!/bin/sh
# On another machine, or by another compiler, a program prints the bytes that it prints here,
# where gcc compiles it with -ffp-contract=off. In 32 bits tests run as well, by x87 and by SSE.
#   sh tests/platforms.sh PLATFORM [DIRECTORY]        windows, arm64, bits32 or tcc

cd "$(dirname "$0")/.." || exit 1
name=$1 dir=${2:-build/tests/platform-$1}
mkdir -p "$dir/here" && dir=$(cd "$dir" && pwd) || exit 1
source=tests/platforms/program.c
# In -std=c99 gcc fuses a * b + c of vectors, whatever the command line says: gnu99.
strict='-std=gnu99 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -ffp-contract=off'
bad=0

has() { command -v "$1" > /dev/null 2>&1; }
fail() { bad=1; echo "not ok $1: $2"; head -n 12 "$3" | sed 's/^/  /'; }

# prints DIRECTORY COMMAND: what the program prints there; Windows ends a line with \r\n
prints() {
  where=$1; shift
  mkdir -p "$where"
  (cd "$where" && "$@" > printed 2> stderr; echo "exit status $?" >> printed)
  sed 's/\r$//' "$where/printed" > "$where/text"
}

# Sets cc to a compiler for 32 bits, and run to a command that runs its programs.
find_32_bits() {
  cc=i686-linux-gnu-gcc run=qemu-i386
  has $cc || cc='gcc -m32'
  echo 'int main(void) { return 0; }' > "$dir/empty.c"
  if ! $cc -static "$dir/empty.c" -o "$dir/empty" 2> "$dir/log"; then run='32-bit-compiler'
  elif "$dir/empty" 2> "$dir/log"; then run=env; fi
}

# x87 keeps more digits than a float has, unless the compiler follows the standard: gnu99.
tests_of_32_bits() {
  for test in nodes:float layers:float gradcheck:double; do
    for math in 387 sse; do
      what=${test%:*}-$math
      if ! $cc -std=gnu99 -O2 -msse2 -mfpmath=$math -DEDF_REAL=${test#*:} -static -I. -Itests \
           tests/impl.c "tests/${test%:*}.c" -o "$dir/$what" -lm > "$dir/log" 2>&1
      then fail "$what" "$cc" "$dir/log"; continue; fi
      if $run "$dir/$what" > "$dir/log" 2>&1; then echo "ok $what"
      else grep -A 6 '^not ok' "$dir/log" > "$dir/short"; fail "$what" 'it says' "$dir/short"; fi
    done
  done
}

platform() {
  libs='-static -lm' flags="-O1 $strict"
  case $name in
    windows) cc=x86_64-w64-mingw32-gcc run=wine ;;
    arm64) cc=aarch64-linux-gnu-gcc run=qemu-aarch64 flags="-O2 $strict" ;;
    bits32) find_32_bits; flags="$flags -msse2 -mfpmath=sse" ;;
    tcc) cc=tcc run=env flags=-Wall libs=-lm ;;
    *) echo "platforms.sh: $name: windows, arm64, bits32 or tcc" >&2; exit 2 ;;
  esac
  for tool in ${cc% -m32} $run; do
    has "$tool" || { echo "skip $name: no $tool"; cc=; return; }
  done
  if ! $cc $flags -I. $source -o "$dir/$name.exe" $libs > "$dir/$name.log" 2>&1; then
    fail $name "$cc" "$dir/$name.log"
    return
  fi
  prints "$dir/$name" $run "$dir/$name.exe"
  if diff "$dir/here/text" "$dir/$name/text" > "$dir/$name/diff"; then echo "ok $name"
  else fail $name '< is what it prints here, > is what it prints there' "$dir/$name/diff"; fi
}

{ has gcc && [ "$(uname -m)" = x86_64 ]; } || { echo 'skip platforms: no gcc on x86-64'; exit; }
if ! gcc -O1 $strict -I. $source -o "$dir/here.exe" -lm > "$dir/log" 2>&1; then
  fail here 'gcc' "$dir/log"
  exit 1
fi
prints "$dir/here" "$dir/here.exe"
if grep -q '^exit status 0' "$dir/here/text"
then echo 'ok here'; else fail here 'it stops' "$dir/here/text"; fi

export WINEPREFIX="$dir/wine" WINEDEBUG=-all
export WINEDLLOVERRIDES='mscoree,mshtml,winemenubuilder='      # it asks no questions
platform
[ $name = bits32 ] && [ "$cc" ] && tests_of_32_bits
[ -d "$WINEPREFIX" ] && wineserver -k 2> /dev/null
exit $bad
