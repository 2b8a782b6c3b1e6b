# Draws mutants of a C file's implementation, a line each, evenly over the chapters:
#   awk -f bench/mutants/mutate.awk SEED=1 DRAWS=40 edf.h
# prints chapter, file, line, kind, function, the line before and after, with tabs between: 40
# draws of each chapter, in the order drawn. The kind is drawn first, else most were constants.
#   awk -f bench/mutants/mutate.awk ALL=1 edf.h     every mutant there is
# A chapter begins at a comment `/* ==== >>name`, a second file with `lab`. Only what lies in an
# #if of EDF_IMPLEMENTATION counts, without comments, strings and directives.

function starts(text, part) { return substr(text, 1, length(part)) == part }

# The line with comments and what stands in quotes blotted out, of the same length.
function code_of(line,    i, c, next_two, out, quote) {
  out = ""
  for (i = 1; i <= length(line); i++) {
    c = substr(line, i, 1)
    next_two = substr(line, i, 2)
    if (in_comment) {
      if (next_two == "*/") { in_comment = 0; out = out "  "; i++ } else out = out " "
    } else if (quote != "") {
      if (c == "\\") { out = out "__"; i++ }
      else { if (c == quote) quote = ""; out = out (quote == "" ? c : "_") }
    } else if (next_two == "//") {
      while (length(out) < length(line)) out = out " "
      return out
    } else if (next_two == "/*") { in_comment = 1; out = out "  "; i++ }
    else { if (c == "\"" || c == "'") quote = c; out = out c }
  }
  return out
}

# A mutant: n characters at `at` become `text`.
function mutant(kind, at, n, text,    after, k) {
  after = substr($0, 1, at - 1) text substr($0, at + n)
  if (!((chapter, "kinds") in number)) chapters[++n_chapters] = chapter
  k = ++number[chapter, kind]
  number[chapter, "kinds"]++
  found[chapter, kind, k] = FILENAME "\t" FNR "\t" kind "\t" fn "\t" $0 "\t" after
}

# Each place where `part` stands becomes `text`; not the first `keep` characters of it.
function each(kind, part, text, keep,    at, from) {
  for (from = 1; at = index(substr(code, from), part); from = at + length(part)) {
    at += from - 1
    mutant(kind, at + keep, length(part) - keep, substr(text, keep + 1))
  }
}

function numbers(    at, n, from, is, before, to) {
  for (from = 1; match(substr(code, from), /[0-9][0-9A-Za-z_.]*([eE][-+]?[0-9]+)?[fLuUl]*/); ) {
    at = from + RSTART - 1
    n = RLENGTH
    from = at + n
    is = substr(code, at, n)
    before = substr(code, at - 1, 1)
    if (before ~ /[A-Za-z_0-9.]/) continue
    if (is ~ /^[0-9]+$/) to = is == 1 ? 0 : is + 1
    else if (is ~ /^[0-9]*\.[0-9]*$/) to = is / 2
    else if (is ~ /^[0-9.]+[eE][-+]?[0-9]+$/) to = "0.5*" is
    else continue
    if (is ~ /^[0-9]*\.[0-9]*$/ && to !~ /\./) to = to ".0"
    mutant("constant", at, n, to)
  }
}

function bounds(    at) {
  each("bound", " < ", " <= ", 1); each("bound", " <= ", " < ", 1)
  each("bound", " > ", " >= ", 1); each("bound", " >= ", " > ", 1)
  each("bound", " - 1", "", 0); each("bound", " + 1", "", 0)
  if ((at = match(code, /< [A-Za-z_][A-Za-z_0-9>.-]*;/)) && code ~ /for \(/)
    mutant("bound", at + RLENGTH - 1, 0, " - 1")
  if (at = match(code, /for \([^=;]*= 0;/)) mutant("bound", at + RLENGTH - 2, 1, "1")
}

function operators(    n, k, pair) {
  n = split("+ -,- +,* /,/ *,% /,< >,> <,<= >=,>= <=,== !=,!= ==,&& ||,|| &&,+= -=,-= +=," \
    "*= =,|= =,& |,| &,<< >>,>> <<,? : ", swaps, ",")
  for (k = 1; k < n; k++) {
    split(swaps[k], pair, " ")
    each("operator", " " pair[1] " ", " " pair[2] " ", 1)
  }
  each("operator", "++", "--", 0)
  each("operator", "--", "++", 0)
  each("operator", "!", "!!", 0)
}

# The place of the bracket that closes the one at `at`, 0 if it is not on this line.
function closing(at,    depth, c) {
  for (; at <= length(code); at++) {
    c = substr(code, at, 1)
    if (c == "(") depth++
    if (c == ")" && --depth == 0) return at
  }
  return 0
}

function conditions(    at, open, end) {
  if (!(at = match(code, /(if|while) \(/)) || substr(code, at + RLENGTH, 1) == "!") return
  open = at + RLENGTH - 1
  if (end = closing(open))
    mutant("condition", open, end - open + 1, "(!" substr($0, open, end - open + 1) ")")
}

# A whole statement on a line of its own, which is no declaration and does not leave.
function statements(    text, at) {
  text = code
  gsub(/^ +| +$/, "", text)
  if (text !~ /^[A-Za-z_*(].*;$/ || last !~ /([;{})]|else)$/) return
  if (text ~ /^(return|break|continue|goto|case|default|do|else|static|const|typedef|while)/)
    return
  if (text ~ /^[a-z_0-9]+ +[*(]*[A-Za-z_]/ && text !~ /^(if|for) \(/) return
  at = match(code, /[^ ]/)
  if (gsub(/\(/, "(", text) != gsub(/\)/, ")", text)) return
  mutant("dropped", at, length(code), "{}")
}

# The lines that lie in the implementation: how deep the #ifs are there.
function directive() {
  if (code ~ /^ *# *(if|ifdef|ifndef)/) {
    depth++
    if (!inside && code ~ /EDF_IMPLEMENTATION/ &&
        code !~ /# *ifndef|! *defined\(EDF_IMPLEMENTATION/)
      inside = depth
  }
  if (code ~ /^ *# *(else|elif)/ && inside == depth) inside = 0
  if (code ~ /^ *# *endif/) { if (inside == depth) inside = 0; depth-- }
}

FNR == 1 { chapter = FILENAME ~ /lab/ ? "lab" : "" }
{ code = code_of($0) }
/^\/\* (====|----).*>>[a-z]/ {
  chapter = $0
  sub(/^[^>]*>>/, "", chapter)
  sub(/[^a-z_].*/, "", chapter)
}
continued { continued = code ~ /\\$/; next }
code ~ /^ *#/ { directive(); continued = code ~ /\\$/; next }
inside && code ~ /^[A-Za-z_].*\(/ && !body {
  fn = code
  gsub(/EDF_(LAB_)?_PRINTF\([0-9, ]*\)|EDF__[A-Z]+ /, "", fn)
  if (fn ~ /^[a-z_ ]+\(edf_[a-z_]+\)\(/) sub(/\(/, "", fn)      # behind a macro of its name
  sub(/[()].*/, "", fn)
  sub(/.*[ *]/, "", fn)
}
code ~ /^}/ { body = 0; fn = "" }
inside && body && fn != "" {
  operators(); bounds(); numbers(); conditions(); statements()
}
inside && code ~ /^[A-Za-z_].*\) \{.*\}$/ { operators(); bounds(); numbers(); conditions() }
code ~ /^[^ }].*\{ *$/ || (fn != "" && code ~ /^ .*\) \{ *$/) { body = 1 }
code ~ /[^ ]/ { last = code; sub(/ +$/, "", last) }

# ---- The draws. 16807 is Park's and Miller's: its products are exact in every awk.

function draw(n) {
  state = state * 16807 % 2147483647
  return 1 + int(state / 2147483647 * n)
}

function seed_for(name,    k) {
  state = SEED * 7919 + 17
  for (k = 1; k <= length(name); k++)
    state = (state * 31 + index("abcdefghijklmnopqrstuvwxyz_", substr(name, k, 1))) % 2147483647
  for (k = 0; k < 20; k++) draw(1)
}

END {
  kinds = split("operator bound constant condition dropped", kind, " ")
  for (c = 1; c <= n_chapters; c++) {
    if (ALL) {
      for (k = 1; k <= kinds; k++)
        for (i = 1; i <= number[chapters[c], kind[k]]; i++)
          print chapters[c] "\t" found[chapters[c], kind[k], i]
      continue
    }
    seed_for(chapters[c])
    for (drawn = 0; drawn < DRAWS && number[chapters[c], "kinds"] > 0; ) {
      k = kind[draw(kinds)]
      if (!number[chapters[c], k]) continue
      i = draw(number[chapters[c], k])
      print chapters[c] "\t" found[chapters[c], k, i]
      found[chapters[c], k, i] = found[chapters[c], k, number[chapters[c], k]--]
      number[chapters[c], "kinds"]--
      drawn++
    }
  }
}
