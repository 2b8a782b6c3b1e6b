# Rules of MSVC that gcc and clang do not tell of: awk -f tests/msvc.awk edf.h
# * The loop after `#pragma omp ... for` does not declare its variable.
# * GNU words stand in a branch of an #if that names __GNUC__ or __clang__, not negated.
# Comments and strings do not count. Prints file:line: why: text, and then exits with 1.
function offends(why) { printf "%s:%d: %s: %s\n", FILENAME, FNR, why, $0; bad = 1 }

# Does this condition hold only where the compiler has the extensions?
function names(condition) {
  gsub(/! *defined *\(? *__(GNUC|clang)__/, "", condition)
  return condition !~ /ifndef/ && condition ~ /__GNUC__|__clang__/
}

FNR == 1 { depth = comment = loop = 0 }
{
  code = $0
  if (comment) { if (!sub(/^.*\*\//, "", code)) next; comment = 0 }
  gsub(/'\\?"'/, "0", code)
  gsub(/"([^"\\]|\\.)*"/, "\"\"", code)
  gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, " ", code)
  if (sub(/\/\*.*$/, "", code)) comment = 1
  sub(/\/\/.*$/, "", code)
}

code ~ /^[ \t]*#[ \t]*if/ { gnu[++depth] = names(code) }
code ~ /^[ \t]*#[ \t]*elif/ { gnu[depth] = names(code) }
code ~ /^[ \t]*#[ \t]*else/ { gnu[depth] = 0 }
code ~ /^[ \t]*#[ \t]*endif/ { depth-- }

{ words = " " code " "; gsub(/[^A-Za-z0-9_]/, " ", words) }
words ~ / (__attribute__|__builtin_[a-z0-9_]*|(__)?typeof(__)?|vector_size|(__)?asm(__)?) / {
  inside = 0
  for (i = 1; i <= depth; i++) inside += gnu[i]
  if (!inside) offends("a GNU word that no #if of __GNUC__ or __clang__ guards")
}

loop && match(code, /for *\(/) {
  head = substr(code, RSTART + RLENGTH)
  if (head ~ /^ *[A-Za-z_][A-Za-z0-9_ ]*[ *][A-Za-z_][A-Za-z0-9_]* *=/)
    offends("an OpenMP loop declares its variable")
  loop = 0
}
code ~ /(^[ \t]*#[ \t]*pragma|_Pragma).*/ && $0 ~ /omp.*[ \t]for([ \t"]|$)/ { loop = 1 }
END { exit bad }
