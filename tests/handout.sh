#!/bin/sh
# Every block of the notes and of the answers to their exercises runs.
#   sh tests/handout.sh [DIRECTORY]            for what is built

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/handout}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
bad=0
HANDOUT_DIR=$dir/pages sh notes/handout.sh notes/*.md || bad=1
export HANDOUT_FLOAT="$dir/pages/edf_float.o"      # the same implementation for the others
HANDOUT_DIR=$dir/answers sh notes/handout.sh notes/answers/*.md || bad=1

exit $bad
