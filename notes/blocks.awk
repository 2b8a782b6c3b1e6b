# Cuts a Markdown file into its blocks, for handout.sh: each goes to a file DIR/N, and a line
# "N LINE KIND WORDS" of what stands behind the fence is printed. Kinds: the word behind the
# fence, c edf ebnf gdb sh; `text` for a block without one, and for lines with four blanks before
# them; `picture` for a line ![...](FILE). A block in an HTML comment,
# <!-- c ... -->, is run and not shown; a hidden text is compared.
#   awk -v dir=DIR -f blocks.awk FILE.md

function begin(line, words) {
  n++
  file = dir "/" n
  printf "" > file
  print n, line, words
}
function finish() { close(file); file = ""; end = "" }

end == "fence" && /^ *```[ \t]*$/ { finish(); next }
end == "comment" && /^-->/        { finish(); next }
end == "blanks" && !/^    / && NF { finish() }
end == "blanks" {
  if (!NF) { empty++; next }             # blank lines behind it are not its own
  while (empty-- > 0) print "" > file
  empty = 0
  print substr($0, 5) > file
  next
}
end { print > file; next }

/^ *```/ {
  words = $0
  sub(/^ *```[ \t]*/, "", words)
  begin(NR, words == "" ? "text" : words)
  end = "fence"
  in_list = 0
  next
}
/^<!-- *(c|edf|sh|python|text)( |$)/ {
  sub(/^<!-- */, "")
  begin(NR, $0)
  end = "comment"
  next
}
/^!\[.*\]\(.*\)$/ {
  sub(/.*\(/, "")
  sub(/\)$/, "")
  print ++n, NR, "picture", $0
  next
}
/^    [^ ]/ && !in_list {
  begin(NR, "text")
  end = "blanks"
  empty = 0
  print substr($0, 5) > file
  next
}
NF { in_list = /^ *([*-]|[0-9]+[.]) / || (in_list && /^ /) }
