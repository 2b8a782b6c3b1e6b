#!/bin/sh
# On another machine, or by another compiler, a program prints the bytes that it prints here,
# where gcc compiles it with -ffp-contract=off.
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

platform() {
  libs='-static -lm' flags="-O1 $strict"
  case $name in
    windows) cc=x86_64-w64-mingw32-gcc run=wine ;;
    arm64) cc=aarch64-linux-gnu-gcc run=qemu-aarch64 flags="-O2 $strict" ;;
    bits32) cc=i686-linux-gnu-gcc run=qemu-i386 flags="$flags -msse2 -mfpmath=sse" ;;
    tcc) cc=tcc run=env flags=-Wall libs=-lm ;;
    *) echo "platforms.sh: $name: windows, arm64, bits32 or tcc" >&2; exit 2 ;;
  esac
  for tool in $cc $run; do has $tool || { echo "skip $name: no $tool"; return; }; done
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
[ -d "$WINEPREFIX" ] && wineserver -k 2> /dev/null
exit $bad
