#!/bin/sh
# Fuzzes the parsers with libFuzzer, each for some seconds, two at a time.
#   sh tests/fuzz.sh [DIRECTORY] [SECONDS [PARSER]]      10 seconds; the number of one parser
# An input that fails stays in the directory, as found-NAME-...; DIRECTORY/fuzz FILE runs it.

cd "$(dirname "$0")/.." || exit 1
dir=build/fuzz
case $1 in *[!0-9]*) dir=$1; shift ;; esac
seconds=${1:-10} chosen=$2 number=-1 bad=$dir/bad
flags='-std=c99 -g -O1 -I. -Itests -fsanitize=fuzzer,address,undefined'
flags="$flags -fno-sanitize-recover=all"
mkdir -p "$dir"
rm -f "$bad"

echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' > "$dir/probe.c"
clang $flags "$dir/probe.c" -o "$dir/probe" > /dev/null 2>&1 ||
  { echo 'skip fuzz: no clang with -fsanitize=fuzzer'; exit 0; }
clang $flags tests/fuzz.c -o "$dir/fuzz" -lm ||
  { echo 'not ok fuzz: it does not compile'; exit 1; }

fuzz() {                                       # fuzz NAME NUMBER
  mkdir -p "$dir/$1"
  if FUZZ_DIR="$dir/$1" FUZZ_PARSER=$2 "$dir/fuzz" -max_total_time=$seconds -max_len=1024 \
      -timeout=20 -rss_limit_mb=2000 -close_fd_mask=2 -artifact_prefix="$dir/found-$1-" \
      "$dir/$1" > "$dir/$1.log" 2>&1; then
    echo "ok fuzz-$1: $(sed -n 's/^Done //p' "$dir/$1.log")"
  else
    echo "not ok fuzz-$1: see $dir/$1.log"
    grep -E 'ERROR|SUMMARY|Test unit|^    #[0-6]|runtime error' "$dir/$1.log" | head -n 9
    : > "$bad"
  fi
}

for name in equation program csv idx npy picture model; do
  number=$((number + 1))
  [ "${chosen:-$number}" = $number ] || continue
  fuzz $name $number &
  [ $((number % 2)) = 0 ] || wait
done
wait
[ ! -e "$bad" ]
