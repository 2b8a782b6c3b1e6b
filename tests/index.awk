# The public names of a header by chapter: awk -f tests/index.awk edf.h prints lines such as
#   name layers edf_conv        a function, macro, type or variable that is declared there
#   chapter layers 4843 Two Layers      where a chapter begins, in which Part, and its title
#   part One 3395               the last line of a Part
#   setting EDF_REAL            a line of the table >>config
# Declared is what stands outside of comments, braces and code (EDF__CODE), and the constants of
# an enum without a name; those of others stand with their type. Left out are edf_NAME_at, which
# are called by a macro, what has two underscores, short names, and macros that say in which
# header a name is.

function public_name(s) { return s ~ /^(edf|EDF)(_[A-Za-z0-9]+)*$/ }

function found(s) {
  if (!public_name(s) || s ~ /_at$/ || (s in chapter_of) || (s in is_setting)) return
  chapter_of[s] = chapter
  name[++names] = s
}

# A declaration at the outermost level, without what was in braces.
function declared(s,    n, word, k, list) {
  gsub(/EDF__PRINTF\([^)]*\)/, "", s)
  sub(/=.*/, "", s)
  if (s ~ /^[^(]*\(\*[a-z_0-9]+\)/) {       # a pointer to a function
    match(s, /\(\*[a-z_0-9]+\)/)
    found(substr(s, RSTART + 2, RLENGTH - 3))
  }
  else if (s ~ /\(/) {
    sub(/[ ]*\(.*/, "", s)
    n = split(s, word, /[^A-Za-z_0-9]+/)
    found(word[n])
  }
  else {                                   # a type, or variables: a name before each comma
    n = split(s, list, ",")
    for (k = 1; k <= n; k++) {
      sub(/[^A-Za-z_0-9]+$/, "", list[k])
      sub(/^.*[^A-Za-z_0-9]/, "", list[k])
      if (s !~ /^ *struct [a-z_]+ *$/) found(list[k])
    }
  }
}

FNR == 1 { chapter = "title"; part = "One" }
/^\/\* (====|----) >>[a-z]/ {
  if (part != "" && (/====/ || !coded)) {
    chapter = $0
    sub(/^[^>]*>>/, "", chapter)
    sub(/[^a-z].*/, "", chapter)
    coded = coded || /====/
    title = $0
    sub(/^[^>]*>>[a-z]* */, "", title)
    sub(/; needs .*/, "", title)
    sub(/ *[-=]+( \*\/)?$/, "", title)
    print "chapter", chapter, FNR, part, title
  }
}
/^\/\* ######## Part / {
  if (part != "One") print "part", part, FNR - 1
  part = $4
  sub(/:.*/, "", part)
}
/End of Part One/ { print "part One", FNR }
chapter == "config" && /^   EDF_[A-Z]/ {
  for (k = 1; k <= NF && $k ~ /^EDF_/; k++) {
    s = $k
    sub(/\(.*/, "", s)
    is_setting[s] = 1
    print "setting", s
  }
}

# ---- Without comments, strings and code
{
  line = $0
  if (comment) { if (!sub(/^.*\*\//, "", line)) next; comment = 0 }
  gsub(/"([^"\\]|\\.)*"/, "", line)
  gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", line)
  if (sub(/\/\*.*$/, "", line)) comment = 1
}
in_macro { in_macro = line ~ /\\$/; next }
line ~ /^#/ {
  in_macro = line ~ /\\$/
  if (line ~ /^#if/) {
    depth++
    if (!code && line ~ /^#if.*EDF(_LAB)?_(_CODE|IMPLEMENTATION)/) code = depth
  }
  if (line ~ /^#else/ && code == depth) code = 0
  if (line ~ /^#endif/) { if (code == depth) code = 0; depth-- }
  if (line ~ /^#define/ && !code) {
    sub(/^#define */, "", line)
    sub(/[^A-Za-z_0-9].*/, "", line)
    if (line !~ /_H$/ && $0 !~ /_is_in_edf/) found(line)
  }
  next
}
code || line !~ /[^ ]/ || line ~ /^extern *\{/ { next }
{ gsub(/EDF__C_(BEGIN|END)/, "", line) }
{
  for (k = 1; k <= length(line); k++) {
    c = substr(line, k, 1)
    if (c == "{") { if (braces++ == 0) is_enum = text ~ /(^|[ ;])enum *$/ && text !~ /typedef/ }
    else if (c == "}" && braces) {         # not of an extern "C"
      braces--
      n = split(inside, member, ",")
      for (j = 1; j <= n; j++) {
        sub(/=.*/, "", member[j])
        gsub(/ /, "", member[j])
        found(member[j])
      }
      inside = ""
      if (braces == 0 && text ~ /\)[ ]*$/) { declared(text); text = "" }     # a function's end
    }
    else if (braces) { if (is_enum) inside = inside c }
    else if (c == ";") { declared(text); text = "" }
    else if (c != "}") text = text c
  }
  text = text " "
}

END {
  if (part != "One") print "part", part, FNR
  for (k = 1; k <= names; k++) print "name", chapter_of[name[k]], name[k]
}
