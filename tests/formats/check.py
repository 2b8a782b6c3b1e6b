"""check.py - files of other programs, and what edf/data.h reads from them.
   python3 check.py PROGRAM float32|float64 DIRECTORY [SECTION ...]

A case is a small file. The verdict is that of numpy, pandas, safetensors or onnxruntime: these
numbers, or refused. Where a verdict stands here, the tool differs or has none, and a comment says
why. An error must name the file."""
import json, os, shutil, struct, subprocess, sys
import numpy as np

program, real, d, *sections = sys.argv[1:]
real = np.dtype(real).type
os.makedirs(d, exist_ok=True)
passed, bad, REFUSED = 0, [], "refused"


def run(*arguments, stdin=None):
    return subprocess.run([program, *arguments], capture_output=True, input=stdin,
                          env={"ASAN_OPTIONS": "detect_leaks=0", **os.environ})


def arrays(text):
    """The arrays of a printed result: a list of (shape, numbers)."""
    found = []
    for line in text.decode("utf-8", "replace").splitlines():
        if line.startswith("["):
            shape, _, numbers = line.partition("]")
            found.append(([int(n) for n in shape[1:].split(",") if n],
                          np.array([float(x) for x in numbers.split()])))
    return found


def verdict(ok, message):
    global passed
    passed += bool(ok)
    if not ok:
        bad.append(message)


def case(name, kind, path, expected, *arguments, words=()):
    """Runs a case. `expected` is REFUSED, or an array, or a list of arrays."""
    r = run(kind, path, *arguments)
    found, error = arrays(r.stdout), r.stderr.decode("utf-8", "replace")
    if isinstance(expected, str):
        ok = r.returncode == -6 and os.path.basename(path).split("\0")[0] in error
    else:
        expected = expected if isinstance(expected, list) else [expected]
        ok = r.returncode == 0 and len(found) == len(expected) and all(
            shape == list(np.shape(e)) and
            np.array_equal(numbers, np.asarray(e).astype(real).astype(np.float64).ravel(),
                           equal_nan=True)
            for (shape, numbers), e in zip(found, expected))
    ok = ok and all(w in error + r.stdout.decode("utf-8", "replace") for w in words)
    verdict(ok, f"{name}: expected {expected!r} {words}, found {r.returncode} "
                f"{r.stdout[:200]} {error[:300]}")


def put(name, data):
    path = os.path.join(d, name)
    with open(path, "wb") as f:
        f.write(data)
    return path


def section(f):
    if not sections or f.__name__ in sections:
        f()


@section
def npy():
    from numpy.lib import format
    a = np.array([[0, 1, 2], [3, 100, 127]])
    for kind in "i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 b1".split():
        for order in "<>" if kind[1] != "1" else "|":
            np.save(f"{d}/a.npy", a.astype(order + kind))
            case(f"{order}{kind}", "npy", f"{d}/a.npy", np.load(f"{d}/a.npy"))
    for version in (1, 0), (2, 0), (3, 0):
        for shape in (), (0,), (3,), (2, 3), (2, 0, 3), (1, 2, 3, 1, 1, 2):
            x = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
            for y in (x, np.asfortranarray(x)) if len(shape) > 1 else (x,):
                with open(f"{d}/v.npy", "wb") as f:
                    format.write_array(f, y, version)
                case(f"version {version} {shape}", "npy", f"{d}/v.npy", np.load(f"{d}/v.npy"))
    extremes = {
        "half": np.array([6e-8, 65504, -0.0, np.inf, -np.inf, np.nan, 6.1e-5, 1 / 3], np.float16),
        "int64": np.array([2**63 - 1, -2**63, 2**53 + 1, -1]),          # rounded
        "uint64": np.array([2**64 - 1, 2**53 + 1, 0], np.uint64),
        "special": np.array([np.inf, -np.inf, np.nan, 1e-45, -0.0], np.float32),
        "subnormal": np.array([5e-324, 1e-320]),
    }
    for name, x in extremes.items():
        np.save(f"{d}/{name}.npy", x)
        case(name, "npy", f"{d}/{name}.npy", x)
    np.save(f"{d}/large.npy", np.array([1.0, 1e300]))
    case("1e300", "npy", f"{d}/large.npy", REFUSED if real is np.float32 else np.array([1, 1e300]))
    for x in np.array([1j]), np.array(["a"]), np.array(["2020-01-01"], "M8[D]"), \
            np.zeros(2, [("a", "f4")]):
        np.save(f"{d}/other.npy", x)                 # numpy reads them: they are no numbers
        case(f"type {x.dtype}", "npy", f"{d}/other.npy", REFUSED)
    np.savez(f"{d}/zip.npz", a=a)
    case("a zip", "npy", f"{d}/zip.npz", REFUSED)
    np.save(f"{d}/cut.npy", a)
    whole = open(f"{d}/cut.npy", "rb").read()
    for n in 0, 5, 9, 50, len(whole) - 1:
        put("cut.npy", whole[:n])
        case(f"cut at {n}", "npy", f"{d}/cut.npy", REFUSED)
    put("longer.npy", whole + b"x")                  # numpy does not look at what follows
    case("longer", "npy", f"{d}/longer.npy", REFUSED)
    for shape in ("2",), ("0",), ("2", "0"), ("2", "3", "1"):
        assert run("zeros", f"{d}/ours.npy", *shape).returncode == 0, shape
        x = np.load(f"{d}/ours.npy")
        case(f"ours {shape}", "npy", f"{d}/ours.npy", x)
        assert x.dtype == real and x.shape == tuple(int(n) for n in shape)


@section
def idx():
    kinds = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
    for code, kind in kinds.items():
        for shape in (4,), (2, 3), (2, 2, 2), (0,), (3, 0, 2):
            x = np.arange(-2, np.prod(shape, dtype=int) - 2).reshape(shape)
            x = (x % 256 if code == 8 else x).astype(kind)
            head = bytes([0, 0, code, len(shape)]) + np.array(shape, ">i4").tobytes()
            path = put("a.idx", head + x.tobytes())
            case(f"idx {kind} {shape}", "idx", path, x.astype(np.float64))
            if len(shape) == 3:
                rows = x.reshape(shape[0], -1 if x.size else 0).astype(np.float64)
                case(f"images {kind} {shape}", "images", path, rows / 255 if code == 8 else rows)
            if len(shape) == 1:
                case(f"labels {kind} {shape}", "labels", path, x.astype(np.float64))
    for code in 0, 7, 10, 15, 255:
        case(f"idx type {code}", "idx", put("a.idx", bytes([0, 0, code, 1, 0, 0, 0, 1, 7])),
             REFUSED)
    case("idx longer", "idx", put("a.idx", bytes([0, 0, 8, 1, 0, 0, 0, 1, 7, 7])), REFUSED)


@section
def streams():
    np.save(f"{d}/a.npy", np.arange(100000, dtype=np.float32))
    data = open(f"{d}/a.npy", "rb").read()
    for name, kind, text, expected in (
            ("npy", "npy", data, np.arange(100000)), ("csv", "csv", b"1,2\n3,4\n", [1, 2, 3, 4]),
            ("empty", "csv", b"", None), ("idx", "idx", bytes([0, 0, 8, 1, 0, 0, 0, 1, 7]), [7])):
        r = run(kind, "/dev/stdin", stdin=text)
        if expected is None:
            ok = r.returncode == -6 and b"/dev/stdin" in r.stderr
        else:
            ok = r.returncode == 0 and np.array_equal(arrays(r.stdout)[0][1], expected)
        verdict(ok, f"stream {name}: {r.returncode} {r.stderr[:200]}")
    if os.path.exists("/proc/sys/kernel/pid_max"):
        with open("/proc/sys/kernel/pid_max") as f:
            case("/proc", "csv", "/proc/sys/kernel/pid_max", np.array([[float(f.read())]]))


@section
def csv():
    import pandas

    def read(path, heading, separator):
        t = pandas.read_csv(path, sep=separator, header=0 if heading else None, comment=None,
                            na_values=["NA", "nan", "NaN", "NAN", "-nan", ""], keep_default_na=False,
                            skipinitialspace=True, encoding="utf-8-sig")
        kinds = pandas.api.types
        if not all(kinds.is_numeric_dtype(x) and not kinds.is_bool_dtype(x) for x in t.dtypes):
            return REFUSED
        return t.to_numpy(np.float64)

    def check(name, text, heading=0, separator=",", expected=None, words=()):
        path = put("a.csv", text if isinstance(text, bytes) else text.encode())
        if expected is None:
            expected = read(path, heading, separator)
        case(f"csv {name}: {text!r}", "csv", path, expected, words=words)
        return expected

    numbers = "1,2\n3,4\n"
    # The first row is data if it has a number or a missing cell.
    for first in "nan,2", ",2", "NA,2", "inf,2", "-inf,2", "Infinity,2", "-INF,-2", '"1","2"', \
            "+1,.5", "1e5,-0", "1.,2.E+3", "NaN,NA", "nan,nan", ",":
        check("first row", first + "\n" + numbers)
    for first in "0x1F,2", "2020-01-01,2", '"1,000",2', "\u22121,2", "setosa,5", "1 2,3", \
            "1e,2", "--1,2", "1.2.3,4", "12abc,3", "1_000,2", "1d5,2", "true,1", "5%,1", "$5,1":
        check("text in the first row", first + "\n" + numbers, words=["line 1", "cell 1"])
    for row in "3,x", "3,2020-01-01", "3,0x10", '3,"1,000"', "3,1 2":
        check("text below", numbers + row + "\n", words=["line 3", "cell 2"])
    # pandas makes 1e400 infinite. A number that overflows is text here.
    check("overflow", "1e400,2\n" + numbers, expected=REFUSED, words=["line 1", "1e400"])
    check("overflow", "1,2\n-1e999,2\n", expected=REFUSED, words=["line 2", "-1e999"])
    check("underflow", "1e-400,2\n" + numbers)
    for cell in "", "nan", "NA", "NaN", "NAN", "-nan", " ", '""', "inf", "-Inf", "+inf":
        check("a cell", f"1,2\n3,{cell}\n")
    for heading in "a,b", '"a","b"', "a b,c", "x1,y2", "a,", "size,nan", "#a,b", "0x1,b":
        check("heading", heading + "\n" + numbers, heading=1)
    check("heading alone", "a,b\n", expected=REFUSED)        # pandas: an empty table
    check("two headings", "a,b\nm,s\n1,2\n", 1, words=["line 2", "second heading"])
    check("comment below", "a,b\n1,2\n# made,by hand\n", 1, words=["line 3", "comment"])
    check("comment first", "# by hand\n1,2\n3,4\n", expected=REFUSED)
    for end in "\n", "\r\n", "":
        check("line ends", f"a,b{end or chr(10)}1,2{end or chr(10)}3,4{end}", 1)
    check("byte order mark", "\ufeffa,b\n1,2\n", 1)
    check("byte order mark and numbers", "\ufeff1,2\n3,4\n")
    check("blank lines", "\n1,2\n\n3,4\n\n")
    check("blanks", " 1 , 2 \n 3,4 \n")
    check("quotes in quotes", '"a ""b""",c\n1,2\n', 1)
    check("one column", "1\n2\n3\n")
    check("one column with a heading", "a\n1\n2\n", 1)
    check("one cell", "5")
    for separator, sep in (";", ";"), ("\t", "\t"), (" ", r"\s+"):
        for text in "1,2\n3,4\n", "a,b\n1,2\n", "1.5,-2e3\n,4\n" if separator != " " else "7,8\n":
            check(f"separator {separator!r}", text.replace(",", separator),
                  heading=text[0] == "a", separator=sep)
    check("decimal comma", "1,5;2,5\n3,5;4,5\n", separator=";", words=["line 1", "cell 2"])
    check("short row", "1,2,3\n4,5\n", expected=REFUSED, words=["line 2"])    # pandas: NaN
    check("long row", "1,2\n3,4,5\n", expected=REFUSED, words=["line 2"])     # pandas raises
    for text in "1;2\n3\n", "1\t2\n3\n4\n", "1 2\n3\n":           # pandas: NaN
        check("rows of other lengths", text, expected=REFUSED, words=["line 1", "cell 1"])
    check("zero byte", b"1,2\n3,\x004\n", expected=REFUSED)
    check("empty", "", expected=REFUSED)
    check("blank lines alone", "\n\n", expected=REFUSED)
    path = put("a.csv", b"1;2\n3;4\n")
    for heading in 0, 1:
        case(f"csv-with {heading}", "csv-with", path, read(path, heading, ";"), ";",
             str(heading))
    path = put("a.csv", b"1|2\n3|4\n")
    case("csv-with |", "csv-with", path, read(path, 0, "|"), "|", "0")
    case("csv-with a wrong separator", "csv-with", path, REFUSED, ",", "0")
    rng = np.random.default_rng(1)
    x = rng.standard_normal((50, 3)) * 10.0 ** rng.integers(-30, 30, (50, 3))
    pandas.DataFrame(x, columns=list("abc")).to_csv(f"{d}/r.csv", index=False)
    case("random numbers", "csv", f"{d}/r.csv", x)


@section
def images():
    from PIL import Image
    rng = np.random.default_rng(4)

    def read(name, path, pixels, most):
        case(name, "image", path, np.asarray(pixels).astype(real) / real(most))

    grey = rng.integers(0, 256, (5, 7), dtype=np.uint8)
    color = rng.integers(0, 256, (4, 3, 3), dtype=np.uint8)
    wide = rng.integers(0, 65536, (3, 4), dtype=np.uint16)
    Image.fromarray(grey).save(f"{d}/grey.pgm")
    read("P5", f"{d}/grey.pgm", grey, 255)
    Image.fromarray(color).save(f"{d}/color.ppm")
    read("P6", f"{d}/color.ppm", color, 255)
    Image.fromarray(wide).save(f"{d}/wide.pgm")
    read("P5, 16 bits", f"{d}/wide.pgm", wide, 65535)
    text = b" ".join(b"%d" % n for n in (color % 8).ravel())
    read("P3", put("text.ppm", b"P3 3 4 # columns, rows\n7\n" + text), color % 8, 7)
    read("P2", put("text.pgm", b"P2\n#\n#x\n2\t2\r\n1\n0 1 #0\n1 0\n\n"), [[0, 1], [1, 0]], 1)
    read("a # is a number", put("hash.pgm", b"P5 1 1 255\n#"), [[35]], 255)
    for name, data, words in (
            ("one byte missing", b"P5 2 2 255\nabc", "byte 11|4 numbers|3 bytes"),
            ("half a number missing", b"P5 1 1 256\na", "1 numbers|1 bytes"),
            ("a byte too much", b"P5 2 2 255\nabcde", "1 bytes follow"),
            ("two pictures", 2 * b"P5 1 1 255\na", "12 bytes follow"),
            ("too large", b"P5 2 1 9\n\x09\x0a", "number 1 is 10|at most 9"),
            ("too large in text", b"P2 2 1 9\n9 10", "number 1 is 10|at most 9"),
            ("a word", b"P2 2 1 9\n9 x", "byte 11|a number of the picture"),
            ("no numbers", b"P2 2 1 9", "2 numbers|0 bytes"),
            ("too few numbers", b"P2 2 1 9  7", "a number of the picture"),
            ("no blank", b"P5 1 1 255", "ended early"),
            ("no rows", b"P5 2 0 255\n", "2 by 0 pixels"),
            ("a greatest number of 0", b"P5 2 1 0\n\0\0", "up to 0"),
            ("a greatest number of 65536", b"P5 2 1 65536\n\0\0\0\0", "65535"),
            ("a huge picture", b"P6 1000000 1000000 65535\n", "3000000000000 numbers"),
            ("minus one", b"P5 -1 1 255\na", "the number of columns"),
            ("only P5", b"P5", "the number of columns"), ("only P", b"P", ""), ("empty", b"", "")):
        case(name, "image", put("broken.pgm", data), REFUSED, words=words.split("|"))
    names = {"png": "PNG", "jpg": "JPEG", "gif": "GIF", "bmp": "BMP"}
    for end, name in names.items():
        Image.fromarray(color).save(f"{d}/other.{end}")
    stb = run("image", f"{d}/other.png").returncode == 0
    if not stb:
        for end, name in names.items():
            case(name, "image", f"{d}/other.{end}", REFUSED, words=(name, "stb_image.h"))
        return
    for mode, channels in ("L", 1), ("LA", 1), ("RGB", 3), ("RGBA", 3):
        shape = (6, 5, len(mode))[:2 + (len(mode) > 1)]
        pixels = rng.integers(0, 256, shape, dtype=np.uint8)
        Image.fromarray(pixels, mode).save(f"{d}/stb.png")
        read(f"stb, {mode}", f"{d}/stb.png",
             pixels if mode in ("L", "RGB") else pixels[:, :, 0] if channels == 1 else
             pixels[:, :, :3], 255)
    Image.fromarray(wide).save(f"{d}/wide.png")
    read("stb, 16 bits", f"{d}/wide.png", wide, 65535)
    Image.fromarray(color).save(f"{d}/stb.bmp")
    read("stb, BMP", f"{d}/stb.bmp", color, 255)
    case("stb, cut", "image", put("cut.png", open(f"{d}/stb.png", "rb").read()[:50]), REFUSED,
         words=("stb_image.h",))


@section
def models():
    from safetensors.numpy import load_file, save_file
    six, two = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([10, 11], np.float32)

    def build(header, data=b"", pad=True):
        text = header if isinstance(header, bytes) else header.encode()
        text += b" " * (-len(text) % 8 if pad else 0)
        return put("a.safetensors", struct.pack("<Q", len(text)) + text + data)

    def check(name, header, data, names=("W", "2,3"), expected=None, words=()):
        path = build(header, data)
        if expected is None:
            try:
                expected = [load_file(path)[n] for n in names[::2]]
            except Exception:
                expected = REFUSED
        case(f"model {name}: {header!r}", "model", path, expected, *names, words=words)

    W = '{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}'
    v = '{"dtype":"F32","shape":[2],"data_offsets":[24,32]}'
    data6, data8 = six.tobytes(), six.tobytes() + two.tobytes()
    for order in ("dtype", "shape", "data_offsets"), ("data_offsets", "dtype", "shape"), \
            ("shape", "data_offsets", "dtype"), ("data_offsets", "shape", "dtype"):
        entry = json.loads(W)
        for separators in (",", ":"), (" , ", " : "), (",\n\t", ":\r\n"):
            check("order", json.dumps({"W": {k: entry[k] for k in order}}, separators=separators),
                  data6)
    for metadata in '"__metadata__":null', '"__metadata__":{}', '"__metadata__":{"format":"pt"}', \
            '"__metadata__":{"a":"\\"W\\":{\\"dtype\\":\\"F32\\"}"}':
        check("metadata first", "{" + metadata + ',"W":' + W + "}", data6)
        check("metadata last", '{"W":' + W + "," + metadata + "}", data6)
    check("foreign metadata", '{"__metadata__":{"author":"me"},"W":' + W + "}", data6,
          words=["left out", "author"])
    check("nested metadata", '{"__metadata__":{"a":{"b":[1,{"c":null}]}},"W":' + W + "}", data6,
          expected=[six])                # safetensors has only texts there
    check("another key", '{"W":{"x":[1,true,{}],' + W[1:] + "}", data6)
    for name in "dtype", "seed", "W.m", 'old "W', "shape", "data_offsets", "format", "a\\b", \
            "a/b", "\u00e9\u20ac", "\U0001f600", "a\nb", "\x7f", " W ", "W{", "]}", "":
        for escaped in True, False:
            text = json.dumps({name: json.loads(W)}, ensure_ascii=escaped)
            check("name", text, data6, (name, "2,3"))
    for escaped in r"\u0057", r"\u0057", r"W\u0000", r"\/W", r"\b\f\n\r\t", r"\ud83d\ude00":
        name = json.loads(f'"{escaped}"')
        if "\0" not in name:
            check("escape", '{"' + escaped + '":' + W + "}", data6, (name, "2,3"))
    for escaped in r"\ud83d", r"\ude00", r"\ud83dx", r"\x57", r"\u00", r"\u00g0", "a\tb":
        check("bad escape", '{"W":' + W + ',"' + escaped + '":' + v + "}", data8)
    for name in 'old "W', "xW", "Wx", "W.m", "w", "\\u0057x":
        text = "{" + json.dumps(name) + ":" + W + "}"
        check("another name", text, data6, expected=REFUSED, words=["\"W\""])
    check("unknown tensor", '{"W":' + W + ',"v":' + v + "}", data8, words=["left out", '"v"'])
    check("two", '{"v":' + v + ',"W":' + W + "}", data8, ("W", "2,3", "v", "2"))
    for dtype, size in ("F16", 2), ("BF16", 2), ("F32", 4), ("F64", 8):
        values = np.array([1.5, -0.25, 65504 if dtype == "F16" else 3e38, 0, np.inf, -np.inf])
        kind = {"F16": "<f2", "F32": "<f4", "F64": "<f8"}.get(dtype)
        raw = values.astype(kind).tobytes() if kind else \
            (values.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
        exact = values.astype(kind) if kind else \
            (values.astype("<f4").view("<u4") >> 16 << 16).view("<f4")
        check(dtype, '{"W":{"dtype":"%s","shape":[2,3],"data_offsets":[0,%d]}}'
              % (dtype, 6 * size), raw, expected=[exact.reshape(2, 3)])
    for dtype, size in ("I64", 8), ("I32", 4), ("U8", 1), ("BOOL", 1), ("F8_E5M2", 1), \
            ("F8_E4M3", 1), ("C64", 8):
        text = '{"dtype":"%s","shape":[6],"data_offsets":[24,%d]}' % (dtype, 24 + 6 * size)
        check(f"{dtype} is left out", '{"W":' + W + ',"v":' + text + "}",
              data6 + bytes(6 * size), expected=[six], words=["left out", '"v"'])
        check(f"{dtype} is no parameter", '{"W":' + W + ',"v":' + text + "}",
              data6 + bytes(6 * size), ("W", "2,3", "v", "6"), expected=REFUSED, words=[dtype])
    rank9 = '{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[24,32]}'
    check("rank 9 is left out", '{"W":' + W + ',"v":' + rank9 + "}", data8)
    scalar = '{"dtype":"F32","shape":[],"data_offsets":[0,4]}'
    check("scalar", '{"W":' + scalar + "}", data6[:4], ("W", ""))
    check("empty tensor beside", '{"W":' + W + ',"v":{"dtype":"F32","shape":[0,3],'
          '"data_offsets":[24,24]}}', data6)
    # Refused: duplicates, holes, overlaps and wrong lengths. The message quotes the name.
    check("duplicate", '{"W":' + W + ',"W":' + W + "}", data6, words=['"W"'], expected=REFUSED)
    check("duplicate", '{"W":' + W + ',"W":' + v + "}", data8, expected=REFUSED,
          words=['"W"', "twice"])        # the package takes the last
    check("duplicate key", '{"W":{"dtype":"F64",' + W[1:] + "}", data6, words=['"W"', "dtype"])
    check("duplicate metadata", '{"__metadata__":{"a":"1","a":"2"},"W":' + W + "}", data6,
          expected=REFUSED, words=['"a"'])
    check("hole", '{"W":' + W + ',"v":' + v.replace("24,32", "28,36") + "}", data8 + bytes(4),
          words=['"v"', "hole"])
    check("hole at the end", '{"W":' + W + "}", data8)
    check("hole at the beginning", '{"W":' + W.replace("0,24", "8,32") + "}", data8)
    check("overlap", '{"W":' + W + ',"v":' + v.replace("24,32", "16,24") + "}", data6,
          words=['"v"', "overlap"])
    check("too short", '{"W":' + W + "}", data6[:-1])
    check("wrong length", '{"W":' + W.replace("[2,3]", "[2,4]") + "}", data6, ("W", "2,4"))
    check("backward", '{"W":' + W.replace("0,24", "24,0") + "}", data6)
    for key in "dtype", "shape", "data_offsets":
        entry = json.loads(W)
        del entry[key]
        check(f"no {key}", json.dumps({"W": entry}), data6, words=['"W"', key])
    check("a wrong shape", '{"W":' + W + "}", data6, ("W", "3,2"), REFUSED, ["[2, 3]", "[3, 2]"])
    check("a huge shape", '{"W":' + W.replace("[2,3]", "[4294967296,4294967296,3]") + "}", data6)
    check("a negative shape", '{"W":' + W.replace("[2,3]", "[-2,-3]") + "}", data6)
    check("a fraction", '{"W":' + W.replace("[2,3]", "[2.0,3]") + "}", data6)
    for text in '{"W":' + W, '{"W":' + W + "}}", '{"W":' + W + ",}", '["W",' + W + "]", "{}x", \
            "{W:" + W + "}", "{'W':" + W + "}", "", "{", '{"W', '{"W":' + W + "} //", "nul":
        check("JSON", text, data6)
    deep = '{"W":' + W + ',"__metadata__":{"a":' + "[" * 100000 + "]" * 100000 + "}}"
    check("deep", deep, data6)
    for n in 0, 4, 8, 20:
        whole = open(build('{"W":' + W + "}", data6), "rb").read()
        case(f"cut at {n}", "model", put("a.safetensors", whole[:n]), REFUSED, "W", "2,3")
    # What we write, the package reads, and what it writes again, we read.
    for names in ["W"], ["dtype"], ["seed", "draws"], ["W", "W.m"], ["W.m", "W", "W.s"], \
            ['old "W', "W"], ["W.steps", "W"], ["\u00e9\n", "\\"], ["format", "__meta__"], \
            ["W", "W..m", "W.m"]:
        ours, theirs, n = f"{d}/ours.safetensors", f"{d}/theirs.safetensors", len(names)
        r = run("save", ours, *names)
        saved, tensors = arrays(r.stdout), load_file(ours)
        save_file(dict(reversed(tensors.items())), theirs)
        given = [x for name in names for x in (name, "2")]
        again = [run("model", path, *given) for path in (ours, theirs)]
        ok = len(saved) == 2 * n and b"lost" not in r.stdout and len(tensors) == 3 * n
        for i, name in enumerate(names if ok else []):
            numbers = saved[i][1]
            ok &= np.allclose(numbers, [9.5 + i, 19.5 + i], 1e-4)
            ok &= np.array_equal(numbers, saved[n + i][1])
            ok &= np.array_equal(numbers, tensors[name].astype(np.float64))
            ok &= all(np.array_equal(numbers, arrays(a.stdout)[i][1]) for a in again)
        ok &= all(a.stdout.count(b"m [") == n for a in again)
        verdict(ok, f"ours {names}: {r.stdout} {[a.stdout + a.stderr for a in again]}")


@section
def onnx():
    import onnx as o
    import onnxruntime

    def fresh(name):
        path = put(name, b"")
        os.remove(path)
        return path

    for x, W, h in ("x", "W", "h"), ("x", "W", "h/x"), ("a b", "W", "\u00e9"), ("%d", "W", "%s"), \
            ("x", "h", "h/99"), ("x/1", "W", "h"), ("x", "W/1", "h"), ("a\nb", "W", "h"):
        path = fresh("a.onnx")
        r = run("onnx", path, x, W, h)
        o.checker.check_model(o.load(path), full_check=True)
        session = onnxruntime.InferenceSession(path)
        assert session.get_inputs()[0].name == x, (x, r.stderr)
        case(f"onnx {x!r} {W!r} {h!r}", "onnx", path, [], x, W, h)
    for x, W, h in ("", "W", "h"), ("x", "", "h"), ("x", "W", ""), ("\udcf6", "W", "h"), \
            ("x", "W", "\udce9\udc80"), ("x", "x", "h"), ("x", "h/1", "h"):
        path = fresh("b.onnx")
        r = run("onnx", path, *[os.fsencode(n) for n in (x, W, h)])
        ok = r.returncode == -6 and b"edf_save_onnx" in r.stderr and not os.path.exists(path)
        verdict(ok, f"onnx {x!r} {W!r} {h!r}: {r.returncode} {r.stderr[:200]}")


@section
def made():
    for name, dims in ("rank 12", ["1"] * 12), ("rank 9", ["1"] * 9), ("a negative", ["2", "-1"]), \
            ("two negatives", ["-1", "-5"]), ("too many", ["65536"] * 4):
        r = run("zeros", f"{d}/made.npy", *dims)
        verdict(r.returncode == -6 and b"edf_new_array" in r.stderr,
                f"array {name}: {r.returncode} {r.stderr[:200]}")
    for dims in (["0", "5"], ["5", "0"], ["4"], ["2", "2", "4"], ["2", "2", "2", "3"]):
        case(f"picture {dims}", "zeros", f"{d}/made.png", REFUSED, *dims)


@section
def written():
    def mode(path):
        return oct(os.stat(path).st_mode & 0o7777)

    here = f"{d}/written"
    shutil.rmtree(here, ignore_errors=True)
    os.makedirs(f"{here}/below")
    path, link = f"{here}/a.npy", f"{here}/link.npy"
    umask = os.umask(0o027)
    case("a new file", "zeros", path, [], "2")
    verdict(mode(path) == "0o640", f"mode {mode(path)}, expected that of the umask")
    os.umask(umask)
    for wanted in 0o600, 0o644, 0o755, 0o666:
        os.chmod(path, wanted)
        case("another file", "zeros", path, [], "3")
        verdict(mode(path) == oct(wanted), f"mode {mode(path)}, expected {oct(wanted)}")
    # Relative, absolute, of a link, and to a file that is not there yet
    os.symlink("below/target.npy", link)
    os.symlink(os.path.abspath(link), f"{here}/second.npy")
    for name in link, f"{here}/second.npy", f"{here}/second.npy":
        case("a link", "zeros", name, [], "2", "2")
        verdict(os.readlink(link) == "below/target.npy" and os.path.islink(name) and
                np.load(f"{here}/below/target.npy").shape == (2, 2), f"link {name}")
    os.symlink("itself.npy", f"{here}/itself.npy")
    case("a link to itself", "zeros", f"{here}/itself.npy", REFUSED, "2")
    # Programs at once save one path. All succeed, and the file is that of one of them.
    command = [program, "zeros", path, "300", "1000"]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(8)]
    errors = [p.communicate()[1] for p in running]
    verdict(all(p.returncode == 0 for p in running), f"writers at once: {errors}")
    verdict(np.load(path).shape == (300, 1000), "writers at once: the file is whole")
    left = sorted(os.listdir(here)) + os.listdir(f"{here}/below")
    verdict(left == ["a.npy", "below", "itself.npy", "link.npy", "second.npy", "target.npy"],
            f"left: {left}")
    case("no such folder", "zeros", f"{here}/none/a.npy", REFUSED, "2")
    case("a folder", "zeros", f"{here}/below", REFUSED, "2")


print(f"{passed} cases")
for line in bad:
    print("  " + line)
sys.exit(1 if bad else 0)
