"""A printer for gdb: a node is shown as its name, op, shape, place, and the first numbers of its value and gradient.

    (gdb) source notes/edf_gdb.py
    (gdb) print h
    $1 = h: Tanh [4, 8]   x.c:9   value -0.52 0.77 0.11 ...   grad 0.003 -0.012 0.04 ...

It reads memory only, and calls no function of the program. `print *h` shows the fields, and `print/r h` the address."""
import gdb

SHOWN = 4                                  # numbers of an array


def text(pointer):
    return pointer.string() if int(pointer) else '?'


def numbers(array, n):
    """Returns the first numbers of an array of n, as a text."""
    if not int(array):
        return 'none'
    if n == 0:
        return 'empty'
    try:
        shown = ' '.join('%.4g' % float(array[i]) for i in range(min(n, SHOWN)))
    except gdb.MemoryError:
        return 'cannot be read'
    return shown + (' ...' if n > SHOWN else '')


class Node:
    def __init__(self, pointer):
        self.pointer = pointer

    def to_string(self):
        if not int(self.pointer):
            return 'NULL'
        x = self.pointer.dereference()
        dims = [int(x['dim'][d]) for d in range(int(x['rank']))]
        n = int(x['size'])
        if int(x['kind']) == 0 and int(x['batched']) and int(x['fed']) > 0:          # An Input has the rows of its last feed.
            dims[0] = int(x['fed'])
            n = 1
            for d in dims:
                n *= d
        shape = '[%s]' % ', '.join(map(str, dims)) if dims else 'scalar'
        zero = int(x['grad']) and int(x['grad_is_zero'])
        grad = 'zeros' if zero else numbers(x['grad'], int(x['size']))
        return '%s: %s %s   %s:%d   value %s   grad %s' % (text(x['name']), text(x['op']), shape, text(x['file']), int(x['line']),
                                                         numbers(x['value'], n), grad)


def find(value):
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_PTR and kind.target().strip_typedefs().unqualified().tag == 'edf_node':
        return Node(value)
    return None


gdb.pretty_printers.append(find)
