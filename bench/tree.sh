#!/bin/sh
# Writes the headers of a commit into a folder, so that programs of today compile with them.
#   sh bench/tree.sh COMMIT DIRECTORY
# Before version 4.0 the companions stood beside edf.h, as edf_slide.h. Before 3.0 edf.h had
# everything. So the folder edf/ gets files that include what the commit has.

cd "$(dirname "$0")/.." || exit 1
commit=$1 dir=$2
mkdir -p "$dir/edf"
git show "$commit:edf.h" > "$dir/edf.h" || exit 2
for name in slide layers judge derive data onnx c doctor lab; do
  of_40=edf/$name.h of_30=edf_$name.h
  if git cat-file -e "$commit:$of_40" 2> /dev/null; then
    git show "$commit:$of_40" > "$dir/$of_40"
  elif git cat-file -e "$commit:$of_30" 2> /dev/null; then
    git show "$commit:$of_30" > "$dir/$of_30"
    echo "#include \"../$of_30\"" > "$dir/$of_40"
  elif [ $name = slide ]; then
    echo '#include "../edf.h"' > "$dir/$of_40"
  else
    echo '#include "slide.h"' > "$dir/$of_40"
  fi
done
