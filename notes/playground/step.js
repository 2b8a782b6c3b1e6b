// The numbers of a step: nodes with values and gradients, as edf_write_trace writes them. Heat maps, and how a number was made.
'use strict';
const $ = id => document.getElementById(id);
const VIEW = 16, MOST = 200000;
const TIMES = ' \u00d7 ', MINUS = '\u2212', DOTS = '\u2026', DOT = ' \u00b7 ', SVG = 'http://www.w3.org/2000/svg';
let nodes = [], moments = [], most = 0, now = 0, picked = null;      // the moment shown, the entry explained
let pos = {}, chosenAxes = {};             // views of large tensors by index; rows and columns

// ---- Small helpers
function el(tag, attributes, ...inside) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {})) e.setAttribute(k, v);
  e.append(...inside);
  return e;
}
function drawn(tag, attributes, text) {
  const e = document.createElementNS(SVG, tag);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  if (text) e.textContent = text;
  return e;
}
function show(x, digits) {
  if (x === undefined) return '?';
  if (x !== x) return 'NaN';
  const a = Math.abs(x), n = digits || 4;
  let s = a === Infinity ? '\u221e' : a && (a < 1e-3 || a >= 1e6) ? a.toExponential(n - 1).replace(/\.?0+e/, 'e')
        : String(+a.toPrecision(a >= 1000 ? 6 : n));
  return (x < 0 ? MINUS : '') + s;
}
const bracketed = (x, digits) => x < 0 ? '(' + show(x, digits) + ')' : show(x, digits);
const label = (id, kind, index) => nodes[id].title + (kind ? '.grad' : '') + (index.length ? '[' + index + ']' : '');
const key = (id, kind, index) => [id, kind, ...index].join();
const same = (a, b) => a.length === b.length && a.every((n, d) => n === b[d]);
const size = x => x.dim.reduce((a, n) => a * n, 1);

// ---- Colours: a name, .grad, and each index its own, in slide, program and tensors.
let hues = {};
const hue = index => 'i' + (hues[index.toLowerCase()] ??= Object.keys(hues).length % 8);
const WORDS = /([\p{L}_][\p{L}\p{M}\w']*(?:@\d+)?)(\.grad)?|[[\]|:]|[^\p{L}_[\]|:]+/gu;
// Returns the parts of a line, [text, class]. Within brackets, behind | and behind `for` stand indices.
function parts(line) {
  const list = [];
  let depth = 0, bounds = false, loops = /^\s*for\s/.test(line);
  for (const m of line.matchAll(WORDS)) {
    const [text, name, grad] = m, next = line[m.index + text.length];
    if (!name) {
      depth += text === '[' ? 1 : text === ']' ? -1 : 0;
      bounds = bounds || text === '|';
      loops = loops && text !== ':';
      list.push([text, '']);
    } else if (grad) list.push([name, 'n'], [grad, 'g']);
    else if (next === '[' ) list.push([name, 'n']);
    else if (depth || bounds || (loops && name !== 'for')) list.push([name, hue(name)]);
    else if (/_./.test(name)) {
      const at = name.indexOf('_') + 1;    // softmax_k
      list.push([name.slice(0, at), ''], [name.slice(at), hue(name.slice(at))]);
    } else list.push([name, nodes.some(x => x.name === name) ? 'n' : '']);
  }
  return list;
}
const tint = line => parts(line).map(([text, kind]) => kind ? el('span', { class: kind }, text) : text);

// ---- The nodes and the moments of a step. The moments are the assignments in the order in which they ran. A gradient is shown
// when all of its terms have been added. `again`: the same program with newer numbers.
function begin(data, lines, again) {
  ({ nodes, most } = data);
  moments = [{ w: 'F', n: -1 }];
  if (!again) [now, picked, pos, chosenAxes, hues] = [0, null, {}, {}, {}];
  nodes.forEach((x, id) => {
    x.runsBack = x.grad && x.back;
    x.id = id;
    x.at = x.file + ':' + x.row;
    x.slideLine = lines ? lines[id] : 0;
    const twin = y => y.name === x.name && y !== x && y.kind < 2;
    x.title = x.kind < 2 && nodes.some(twin) ? x.name + ' (' + x.op.toLowerCase() + ' ' + id + ')' : x.name;
    x.line = (x.line || []).join('\n');
    x.back = x.back || [];
    x.shown = x.dim.map(n => Math.min(n, most));
    x.arrays = [x.value, x.grad].map(v => v && v.map(Number));
    x.most = x.arrays.map(v => (v || []).reduce((a, n) => n - n === 0 && Math.abs(n) > a ? Math.abs(n) : a, 0));
    x.from = [x.kind < 2 ? 0 : Infinity, Infinity];
    if (x.eq) [x.eq.name, x.eq.ext, x.eq.left] = [0, 1, 2].map(k => x.eq.index.map(i => i[k]));
    if (x.op === 'Sum' || x.op === 'Mean') x.eq = x.eq || over(x);
  });
  nodes.forEach((x, id) => { x.users = nodes.filter(c => c.in.includes(id) && c.runsBack); });
  const add = (x, kind, w) => { x.from[kind] = moments.length; moments.push({ w, n: x.id }); };
  nodes.filter(x => x.kind === 2 && x.value).forEach(x => add(x, 0, 'f'));
  const loss = nodes[data.loss];
  if (loss && loss.grad) add(loss, 1, 'B');
  nodes.filter(x => x.grad && x !== loss && x.users.length)
    .sort((a, b) => lastUser(b) - lastUser(a) || b.id - a.id).forEach(x => add(x, 1, 'b'));
  nodes.forEach(nameIndices);
  nodes.forEach(x => { x.keys = x.keys || x.dim.map((n, d) => x.id + '.' + d); });
  $('note').textContent = nodes.some(x => x.dim.some(n => n > most))
    ? 'Of large tensors the page has the first ' + most + ' entries along each index.' : '';
}

// The user whose backward runs last: it completes the gradient of x.
const lastUser = x => Math.min(...x.users.map(c => c.id));
// Sum and Mean are equations too: y = x[I,J], all summed.
function over(x) {
  const dim = nodes[x.in[0]].dim;
  return x.f && { kind: x.op === 'Mean' ? 1 : 0, name: dim.map((n, d) => 'I' + d),
    ext: dim, left: dim.map(() => 0), ref: [[-1, []], [0, dim.map((n, d) => [0, d, 1])]], term: [[1, 1, 1]] };
}

// Returns a value (kind 0) or a gradient (1), or null if it is not there at moment m.
const numbers = (id, kind, m) => nodes[id].from[kind] <= m && nodes[id].arrays[kind] || null;
function number(id, kind, index, m) {       // undefined: it is not in the page
  const x = nodes[id], a = numbers(id, kind, m);
  let o = 0;
  for (let d = 0; d < x.dim.length; d++) {
    if (index[d] < 0 || index[d] >= x.shown[d]) return undefined;
    o = o * x.shown[d] + index[d];
  }
  return a ? a[o] : undefined;
}

// ---- Views of large tensors. Those along one index of the program move together.
function letter(e, place, d, x) {
  const alone = place[0] === 0 && place.length === 3 && place[2] === 1;
  return alone ? e.name[place[1]].toLowerCase() + '/' + x.dim[d] : x.id + '.' + d;
}
function nameIndices(x) {
  const first = nodes[x.in[0]], e = x.eq;
  if (e) for (const r of e.ref) {
    const y = r[0] < 0 ? x : nodes[x.in[r[0]]];
    y.keys = y.keys || y.dim.map((n, d) => letter(e, r[1][d], d, y));
  }
  else if (first) x.keys = x.dim.map((n, d) => first.keys && first.dim[d] === n ? first.keys[d] : x.id + '.' + d);
}
const place = (x, d) => Math.min(pos[x.keys[d]] || 0, x.shown[d] - 1);
// The dimensions that are rows and columns of the map: the last two, rather longer than 1.
function axes(x) {
  const all = x.dim.map((n, d) => d), long = all.filter(d => x.dim[d] > 1);
  const last = all.filter(d => all.length > 2 && x.dim[d] < 2).concat(all.length > 2 ? long : all).slice(-2).sort();
  return chosenAxes[x.keys] || last;
}
// The entries of dimension d that are on the screen: of the map's a window, else one.
function range(x, d) {
  const at = place(x, d), wide = axes(x).includes(d), from = wide ? at - at % VIEW : at;
  const end = wide ? Math.min(from + VIEW, x.shown[d]) : at + 1;
  return Array.from({ length: end - from }, (_, k) => from + k);
}

// ---- Heat maps: blue below 0, orange above, and what is not a number is striped.
function paint(td, v, most) {
  td.className = v > 0 ? 'p' : v < 0 ? 'n' : '';
  if (v - v !== 0) td.className = 'bad';
  else if (v) td.style.setProperty('--a', .08 + .92 * Math.pow(Math.abs(v) / most, .7));
  return td;
}
// Rows of an Input that are squares of at least 8 by 8 numbers, and any of 28 by 28, are drawn as pictures.
function side(x) {
  const n = x.dim.length, last = x.dim[n - 1], root = Math.sqrt(last);
  if (n > 2 && last === x.dim[n - 2] && last >= 8 && (x.kind === 0 || last === 28)) return last;
  return n > 1 && root === Math.floor(root) && root >= 8 && (x.kind === 0 || root === 28) ? root : 0;
}
function photos(x, kind, m) {
  const s = side(x), rows = Math.floor(size(x) / s / s), flat = x.dim[x.dim.length - 1] === s * s, box = el('div', { class: 'photos' });
  for (let b = 0; b < Math.min(rows, 8); b++) {
    const zoom = Math.max(2, Math.floor(56 / s)), c = el('canvas', { width: s * zoom, height: s * zoom, tabindex: b ? -1 : 0, role: 'img' });
    const index = at => {
      const i = b * s * s + at, list = flat ? [at] : [Math.floor(at / s), at % s];
      for (let d = x.dim.length - list.length - 1, left = Math.floor(i / s / s); d >= 0; left = Math.floor(left / x.dim[d--]))
        list.unshift(left % x.dim[d]);
      return list;
    };
    const draw = context => {
      context.clearRect(0, 0, s * zoom, s * zoom);
      for (let at = 0; at < s * s; at++) {
        const v = number(x.id, kind, index(at), m), style = getComputedStyle(document.documentElement);
        context.fillStyle = v - v !== 0 ? '#c0188a' : `rgba(${style.getPropertyValue(v < 0 ? '--neg' : '--pos')},${Math.abs(v) / x.most[kind]})`;
        context.fillRect(at % s * zoom, Math.floor(at / s) * zoom, zoom, zoom);
      }
    };
    c.mark = (is_hot, is_pick) => {        // outlines entries
      const context = c.getContext('2d');
      draw(context);
      for (let at = 0; at < s * s; at++) {
        const k = key(x.id, kind, index(at)), pick = is_pick(k);
        context.strokeStyle = pick ? '#b85c00' : '#888';
        if (pick || is_hot(k)) context.strokeRect(at % s * zoom - .5, Math.floor(at / s) * zoom - .5, zoom + 1, zoom + 1);
      }
    };
    const point = at => {
      c.at = Math.max(0, Math.min(s * s - 1, at));
      c.entry = { id: x.id, kind, index: index(c.at) };
      c.setAttribute('aria-label', label(x.id, kind, c.entry.index) + ' = ' + show(number(x.id, kind, c.entry.index, m)));
      explain(c.entry);
    };
    c.onpointermove = c.onpointerdown = e => point(Math.floor(e.offsetY / zoom) * s + Math.floor(e.offsetX / zoom));
    c.onfocus = () => point(c.at || 0);
    c.move = (right, down) => point((c.at || 0) + right + down * s);
    c.setAttribute('aria-label', label(x.id, kind, []) + ', row ' + b + ' as a picture');
    draw(c.getContext('2d'));
    box.append(c);
  }
  if (rows > 8) box.append(el('span', { class: 'soft' }, 'the first 8 of ' + rows));
  return box;
}
function heat(x, kind, m) {
  const r = x.dim.length, two = axes(x), down = two[r > 1 ? 0 : 1], right = two[r > 1 ? 1 : 0];
  const rows = r > 1 ? range(x, down) : [0], cols = r ? range(x, right) : [0];
  const wide = cols.length <= 6;
  const table = el('table', { role: 'grid', 'aria-label': label(x.id, kind, []) });
  const body = el('tbody');
  if (r) table.append(el('thead', {}, el('tr', {}, ...(r > 1 ? [el('th')] : []),
    ...cols.map(j => el('th', { scope: 'col', class: axis(x, right) }, String(j))))));
  rows.forEach(i => {
    const tr = el('tr', {}, ...(r > 1 ? [el('th', { scope: 'row', class: axis(x, down) }, String(i))] : []));
    cols.forEach(j => {
      const index = x.dim.map((n, d) => d === right ? j : d === down ? i : place(x, d));
      const v = number(x.id, kind, index, m);
      const td = paint(el('td', { tabindex: -1 }), v, x.most[kind]);
      const bad = td.className === 'bad' && v !== undefined;
      td.entry = { id: x.id, kind, index };
      td.name = label(x.id, kind, index);
      td.key = key(x.id, kind, index);
      td.setAttribute('aria-label', td.name + ' = ' + show(v));
      if (wide || bad) td.append(wide ? show(v, 3) : v !== v ? 'N' : '\u221e');
      if (wide) td.classList.add('wide');
      tr.append(td);
    });
    body.append(tr);
  });
  table.append(body);
  table.querySelector('td').tabIndex = 0;
  return table;
}
function scale(most) {
  const row = el('tr');
  for (let k = -4; k <= 4; k++) row.append(paint(el('td'), k / 4, 1));
  return el('div', { class: 'scale', 'aria-hidden': 'true' }, show(-most, 3), el('table', {}, row), show(most, 3));
}
const indexName = (x, d) => x.keys[d].includes('/') ? x.keys[d].split('/')[0] : 'index ' + (d + 1);
const axis = (x, d) => x.keys[d].includes('/') ? hue(indexName(x, d)) : '';
function chooser(x) {
  const two = [...axes(x)], pick = k => {
    const box = el('select', { 'aria-label': ['rows', 'columns'][k] }, ...x.dim.map((n, d) =>
      el('option', d === two[k] ? { value: d, selected: '' } : { value: d }, indexName(x, d))));
    box.onchange = () => {
      if (+box.value === two[1 - k]) two[1 - k] = two[k];
      two[k] = +box.value;
      chosenAxes[x.keys] = two;
      draw();
    };
    return box;
  };
  return x.dim.length < 3 ? '' : el('div', { class: 'move' }, 'rows ', pick(0), ' columns ', pick(1));
}
function mover(x, d) {
  const on = range(x, d), n = x.dim[d], key = x.keys[d], step = on.length > 1 ? VIEW : 1;
  if (on.length === n) return '';
  const name = indexName(x, d) + ' ';
  const go = (text, to) => {
    const b = el('button', { 'aria-label': name + ' from ' + to }, text);
    b.disabled = to < 0 || to >= x.shown[d];
    b.onclick = () => { pos[key] = to; draw(); };
    return b;
  };
  const part = on.length > 1 ? on[0] + ' to ' + on[on.length - 1] : String(on[0]);
  const least = x.shown[d] < n ? ' (the page has the first ' + x.shown[d] + ')' : '';
  return el('div', { class: 'move' }, name, go('<', on[0] - step), part + ' of ' + n, go('>', on[0] + step), least);
}
function card(id, m, role, main) {
  const x = nodes[id], maps = el('div', { class: 'maps' });
  const views = 'Bb'.includes(moments[m].w) ? [1, 0] : [0, 1];
  for (const kind of views) {
    if (!numbers(id, kind, m)) continue;
    maps.append(el('div', { class: 'map' },
      el('div', { class: 'soft' }, kind ? 'gradient' : 'value'), side(x) ? photos(x, kind, m) : heat(x, kind, m),
      scale(x.most[kind])));
  }
  if (!maps.children.length) maps.append(el('span', { class: 'soft' }, 'no value yet'));
  const shape = x.dim.length ? ' [' + x.dim.join(', ') + ']' : '';
  return el('section', { class: main ? 'card main' : 'card', 'aria-label': x.name, 'data-line': x.slideLine },
    el('h3', {}, el('span', { class: 'n' }, x.title), shape, el('span', { class: 'soft' }, ' ' + role)), maps,
    ...(side(x) ? [] : [chooser(x), ...x.dim.map((n, d) => mover(x, d))]));
}

// ---- Sums of products. Every choice v of the letters for which the places of ref are the
// given entry is visited. A place whose other letters are known gives its last.
const value = (place, v) => {
  let at = place[0];
  for (let k = 1; k < place.length; k += 2) at += v[place[k]] * place[k + 1];
  return at;
};
function choices(e, ref, entry, list, visit) {
  const alone = i => ref[1].some(p => p.length === 3 && p[1] === i);
  const order = [...list].sort((a, b) => alone(b) - alone(a)), v = e.ext.map(() => 0);
  const rank = p => Math.max(-1, ...p.filter((n, k) => k % 2).map(i => order.indexOf(i)));
  const closes = order.map((_, k) => ref[1].findIndex(p => rank(p) === k));
  const fits = () => ref[1].every((p, d) => value(p, v) === entry[d]);
  (function go(k) {
    if (k === order.length) return fits() ? visit(v) : undefined;
    const i = order[k], d = closes[k];
    if (d < 0) { for (v[i] = 0; v[i] < e.ext[i]; v[i]++) go(k + 1); v[i] = 0; return; }
    v[i] = 0;
    const p = ref[1][d], factor = p.find((n, k) => k && k % 2 === 0 && p[k - 1] === i);
    const at = (entry[d] - value(p, v)) / factor;
    if (at >= 0 && at < e.ext[i] && at === Math.floor(at)) { v[i] = at; go(k + 1); }
    v[i] = 0;
  })(0);
}
const lettersOf = (e, term) => e.ext.map((_, i) => i).filter(i => e.left[i] ||
  e.ref.slice(term[1], term[1] + term[2]).some(r => r[1].some(p => uses(p, i))));
const uses = (p, i) => p.some((n, k) => k % 2 && n === i);
function divisor(e, term) {
  const n = lettersOf(e, term).filter(i => !e.left[i]).reduce((a, i) => a * e.ext[i], 1);
  return e.kind === 'm' ? n : e.kind === 's' ? n - 1 : 1;
}
// How many products there are for an entry: what its places leave open.
const volume = (e, ref, list) => list.filter(i => !ref[1].some(p => uses(p, i))).reduce((a, i) => a * e.ext[i], 1);

function factorOf(c, ref, v, kind, m) {
  const id = ref[0] < 0 ? c.id : c.in[ref[0]], index = ref[1].map(p => value(p, v));
  const outside = index.some((n, d) => n < 0 || n >= nodes[id].dim[d]);
  return { id, kind, index, x: outside ? 0 : number(id, kind, index, m), outside };
}
function product(c, e, term, swapped, v, m) {
  const factors = swapped >= 0 ? [factorOf(c, e.ref[0], v, 1, m)] : [];
  for (let f = term[1]; f < term[1] + term[2]; f++)
    if (f !== swapped) factors.push(factorOf(c, e.ref[f], v, 0, m));
  const weight = term[0] / divisor(e, term);
  return { weight, factors, x: factors.reduce((a, f) => a * f.x, weight) };
}
// The first greatest of a window, the one that a maximum takes.
function winner(c, e, v, m) {
  const term = e.term[0], left = [];
  let best = null;
  const window = e.ref[0][1].map(p => value(p, v));
  choices(e, e.ref[0], window, lettersOf(e, term), w => {
    const f = factorOf(c, e.ref[1], w, 0, m);
    if (!f.outside) left.push(f);
    if (!f.outside && (!best || f.x > best.x)) best = f;
  });
  return { best, left };
}
function termsForward(c, index, m) {
  const e = c.eq, list = [];
  if (e.kind === 'x') {
    const v = e.ext.map(() => 0);
    e.ref[0][1].forEach((p, d) => { v[p[1]] = index[d]; });
    const w = winner(c, e, v, m);
    return w.left.map(f => ({ weight: 1, factors: [f], x: f.x, best: f === w.best }));
  }
  for (const t of e.term)
    choices(e, e.ref[0], index, lettersOf(e, t), v => list.push(product(c, e, t, -1, v, m)));
  return list;
}
function termsBackward(c, id, index, m) {
  const e = c.eq, list = [];
  for (const t of e.term)
    for (let f = t[1]; f < t[1] + t[2]; f++)
      if (c.in[e.ref[f][0]] === id)
        choices(e, e.ref[f], index, lettersOf(e, t), v => {
          const w = e.kind === 'x' ? winner(c, e, v, m).best : null;
          if (!w || same(w.index, index)) list.push(product(c, e, t, f, v, m));
        });
  return list;
}
function count(c, ref) {
  const of = t => volume(c.eq, ref, lettersOf(c.eq, t));
  return c.eq.term.reduce((a, t) => a + of(t), 0);
}

// ---- How a number was made, in words and numbers
function termBox(t, sign) {
  const w = Math.abs(t.weight), names = t.factors.map(f => label(f.id, f.kind, f.index));
  const figures = t.factors.map(f => f.outside ? '0 (outside)' : t.factors.length > 1 ? bracketed(f.x) : show(f.x));
  if (w !== 1 || !names.length) { names.unshift(show(w)); figures.unshift(show(w)); }
  return [sign, el('span', { class: 't' }, el('span', {}, ...tint(names.join(' '))), el('span', {}, figures.join(TIMES)))];
}
// The first three and the five largest of a long sum, in their order.
function chosen(terms) {
  if (terms.length <= 12) return terms;
  const far = t => Math.abs(t.x || 0);
  const large = [...terms].sort((a, b) => far(b) - far(a)).slice(0, 5);
  return terms.filter((t, k) => k < 3 || large.includes(t));
}
function sumLine(terms, before) {
  const line = el('div', { class: 'sum' }, '='), some = chosen(terms);
  if (before !== 0) line.append(show(before) + ' (from other nodes)');
  some.forEach((t, k) => {
    const sign = t.weight < 0 ? MINUS : k || before !== 0 ? '+' : '';
    const skipped = k && terms.indexOf(some[k - 1]) !== terms.indexOf(t) - 1;
    if (skipped) line.append('+ ' + DOTS + ' ');
    line.append(...termBox(t, sign));
  });
  if (!terms.length) line.append(before !== 0 ? '+ 0' : '0');
  if (terms.length && some[some.length - 1] !== terms[terms.length - 1])
    line.append('+ ' + DOTS);
  return line;
}
function remark(terms, some, before, x) {
  const known = terms.filter(t => t.factors.every(f => f.x !== undefined));
  const n = terms.length;
  const sum = known.reduce((a, t) => a + t.x, before);
  if (known.length < n) return n + ' terms, ' + known.length + ' of them in the page, '
    + 'which add up to ' + show(sum) + '; with those that are not in the page ' + show(x);
  if (some.length < n) return n + ' terms: the first three and the five largest are ' + 'written out, the others add up to '
    + show(sum - before - some.reduce((a, t) => a + t.x, 0));
  return '';
}
const soft = text => el('p', { class: 'soft' }, text);
const result = x => el('p', {}, '= ', el('b', { class: 'result' }, show(x)));
function explainSum(terms, before, x) {
  if (terms.length && terms[0].best !== undefined) return [
    el('div', { class: 'sum' }, '= max of', ...terms.slice(0, VIEW).flatMap(t => termBox(t, t.best ? '\u2192' : ''))), result(x),
    ...(terms.some(t => t.x === undefined) ? [soft('some are not in the page')] : [])];
  const note = remark(terms, chosen(terms), before, x);
  return [sumLine(terms, before), result(x), ...(note ? [soft(note)] : [])];
}

// The entries of another tensor that belong to an entry, where shapes agree: the same, or the
// leading part, or a row.
function related(id, index, other) {
  const x = nodes[id], y = nodes[other], n = Math.min(x.dim.length, y.dim.length);
  const row = from => Array.from({ length: Math.min(VIEW, y.shown[from.length]) }, (_, k) => [...from, k]);
  if (same(x.dim, y.dim)) return [index];
  if (!y.dim.length) return [[]];
  if (same(x.dim.slice(0, n), y.dim.slice(0, n)) && n) {
    if (y.dim.length <= x.dim.length) return [index.slice(0, n)];
    if (y.dim.length === n + 1) return row(index);
  }
  if (size(x) !== size(y)) return [];
  let at = index.reduce((a, i, d) => a * x.dim[d] + i, 0);
  return [y.dim.map((_, d) => {
    const step = y.dim.slice(d + 1).reduce((a, k) => a * k, 1), i = Math.floor(at / step);
    at -= i * step;
    return i;
  })];
}
// The two sides of a printed line, without its loops.
const sides = line => /^(?:for [^:]*: )?(.*?) [-+]?= (.*)$/s.exec(line).slice(1);
const NAME = "([\\p{L}_][\\p{L}\\p{M}\\w']*(?:@\\d+)?)(\\.grad)?", AT = '\\[([^[\\]]*)\\]';
const TENSOR = new RegExp(NAME + '(?![\\w@(])(?:' + AT + ')?', 'gu');
const WITHIN = new RegExp('(?<=[,[])' + NAME + AT, 'gu');        // y[b] of Q[b,y[b]]
const OVER = new RegExp('(sum|mean|variance)_([A-Z]\\w*(?:,[A-Z]\\w*)*) ' +
  '(exp\\([^()]*\\)|\\([^()]*\\)|[^ ()]+(?: [^ ()+*/-][^ ()]*)*)', 'g');
// A line with the numbers of one entry, 1/(1+exp(-0.5)), and what it reads: a letter is the
// entry's place, or goes over a sum. Null where letters and names do not tell which number.
function filled(c, line, id, index, m) {
  const places = text => text.split(/,(?![^[]*\])/), [left, right] = sides(line), at = {};
  const list = [], own = (/\[(.*)\]$/.exec(left) || ['', ''])[1];
  let lost = /[|;]|flat\[| by the code of | if /.test(line), elsewhere = false;
  const called = name => [...new Set([c.id, ...c.in])].filter(k => nodes[k].name === name);
  function read(all, name, grad, text) {
    const who = called(name), f = { id: who[0], kind: grad ? 1 : 0 };
    if (!who.length) return all;
    f.index = text ? text.split(',').map(p => p in at ? at[p] : +p) : [];
    f.x = f.index.every(Number.isInteger) ? number(f.id, f.kind, f.index, m) : undefined;
    lost = lost || who.length > 1 || f.x === undefined;
    if (!list.some(g => label(g.id, g.kind, g.index) === label(f.id, f.kind, f.index)))
      list.push(f);
    return f.x;
  }
  function over(all, how, letters, body) {
    const values = [], exp = body.startsWith('exp(');
    const inner = body.replace(/^(exp)?\(|\)$/g, ''), scalar = { dim: [] };
    const extent = letter => Math.max(0, ...[...inner.matchAll(TENSOR)].map(found =>
      (nodes[called(found[1])[0]] || scalar).dim[(found[3] || '').split(',').indexOf(letter)] || 0));
    (function go([letter, ...others]) {
      if (!letter) {
        let x = 1;
        inner.replace(TENSOR, (...found) => { x *= read(...found); });
        return values.push(exp ? Math.exp(x) : x);
      }
      const n = extent(letter);
      for (at[letter] = 0; at[letter] < n && values.length < 4096; at[letter]++) go(others);
      delete at[letter];
    })(letters.split(','));
    const sum = values.reduce((a, x) => a + x, 0), mean = sum / values.length;
    lost = lost || values.length > 4095 || /[-+*/^]/.test(inner.replace(/\[[^\]]*\]/g, ''));
    return bracketed(how === 'sum' ? sum : how === 'mean' ? mean
      : values.reduce((a, x) => a + (x - mean) * (x - mean), 0) / values.length, 6);
  }
  if (own) places(own).forEach((p, d) => { if (/^[^\W\d]\w*$/.test(p)) at[p] = index[d]; });
  if (own) places(own).forEach((p, d) => {
    const k = p in at ? index[d] : +(',' + p).replace(WITHIN, read).slice(1);
    elsewhere = elsewhere || k !== index[d];
  });
  const loops = (/^for ([^:]*):/.exec(line) || ['', ''])[1];
  if (loops && loops.split(',').some(letter => !(letter in at))) return null;
  const text = right.replace(OVER, over).replace(WITHIN, read).replace(/([\w)\]]) (?=[\w([])/g, '$1' + TIMES)
    .replace(/\b(ln|exp|sqrt|tanh)( \u00d7)(?= )/g, '$1').replace(TENSOR, (...found) => {
      const x = read(...found);
      return x === found[0] ? x : bracketed(x, 6);
    }).replace(/1?\[(\w+) = (\d+)\]/g, (all, a, b) => at[a] === +b ? 1 : 0);
  return lost || /_[A-Z]/.test(text) ? null : { text: elsewhere ? '0' : text, list };
}
// The numbers that belong to an entry, of all tensors of the assignment.
function neighbours(c, id, index, m, kinds) {
  const list = [], seen = new Set([id]);
  for (const other of [c.id, ...c.in]) for (const kind of kinds(other)) {
    if (seen.has(other + '/' + kind) || !numbers(other, kind, m)) continue;
    seen.add(other + '/' + kind);
    related(id, index, other).forEach(at => list.push({ id: other, kind, index: at, x: number(other, kind, at, m) }));
  }
  return list;
}
// exp(0.909) / 3.484 is one number: 0.5 x (0.713 - 1).
const shorter = text => text.replace(/exp\(\(?([^()]*)\)?\) \/ ([\d.e]+)/g, (all, a, b) =>
  show(Math.exp(+a.replace(MINUS, '-')) / +b));
function listOf(list) {
  return el('div', { class: 'sum' }, ...list.slice(0, VIEW).map(f => el('span', { class: 't' },
    label(f.id, f.kind, f.index) + ' = ' + show(f.x))));
}
const tooMany = (n, x) => [result(x), soft('a sum of ' + n + ' products: too many to be added here')];
function forwardWords(c, index, m) {
  const x = number(c.id, 0, index, m), n = c.eq ? count(c, c.eq.ref[0]) : 0;
  if (n > MOST) return tooMany(n, x);
  if (c.eq) {
    const terms = termsForward(c, index, m);
    heatUp(terms.flatMap(t => t.factors));
    return explainSum(terms, 0, x);
  }
  const all = c.f && filled(c, c.line, c.id, index, m);
  const near = all ? all.list : neighbours(c, c.id, index, m, id => id === c.id ? [] : [0]);
  heatUp(near);
  if (all) return [el('div', { class: 'sum' }, '= ' + all.text), result(x), listOf(near)];
  return [result(x), soft(c.f ? c.line : c.op + ' computes it by code of the program, ' + c.at), listOf(near)];
}
// A gradient is the sum over all nodes that read the tensor: equations give products, other
// nodes give a formula with numbers.
function backwardWords(id, index, m) {
  const x = number(id, 1, index, m), users = nodes[id].users;
  const equations = users.filter(c => c.eq), own = nodes[id].name + '.grad';
  const n = equations.reduce((a, c) => a + c.eq.ref.filter(r => r[0] >= 0 && c.in[r[0]] === id)
    .reduce((b, r) => b + count(c, r), 0), 0);
  if (n > MOST) return tooMany(n, x);
  const terms = equations.flatMap(c => termsBackward(c, id, index, m));
  const near = terms.flatMap(t => t.factors), texts = [], remarks = [];
  for (const c of users.filter(c => !c.eq)) {
    const rules = c.f ? c.back.filter(g => sides(g)[0].startsWith(own)) : [];
    const known = rules.length === 1 && filled(c, rules[0], id, index, m);
    near.push(...(known ? known.list : neighbours(c, id, index, m, k => k === c.id ? [1, 0] : [0])));
    if (known) texts.push((rules[0].includes('-=') && known.text !== '0' ? MINUS : '') + shorter(known.text));
    else remarks.push(c.f ? c.back.join('; ') : c.op + ' adds it by code of the program, ' + c.at);
  }
  heatUp(near);
  if (!terms.length && users.every(c => !c.eq)) {
    const all = remarks.length ? show(x) : texts.join(' + ');
    return [el('div', { class: 'sum' }, '= ' + all), result(x), ...remarks.map(soft), listOf(near)];
  }
  const known = terms.every(t => t.x === t.x && t.x !== undefined);
  const others = users.length > equations.length && known ? x - terms.reduce((a, t) => a + t.x, 0) : 0;
  return [...explainSum(terms, others, x), ...texts.concat(remarks).map(soft)];
}
const cells = () => [...document.querySelectorAll('#cards [role=grid] td')];
const pictures = () => [...document.querySelectorAll('#cards canvas')];
let hot = new Set();
function heatUp(list) { hot = new Set(list.map(f => key(f.id, f.kind, f.index))); }
function showMarks(pick) {
  cells().forEach(td => { td.classList.toggle('hot', hot.has(td.key)); td.classList.toggle('pick', td.key === pick); });
  pictures().forEach(c => c.mark(k => hot.has(k), k => k === pick));
}
function explain(entry) {
  const t = moments[now], c = nodes[t.n], how = $('how');
  picked = entry;
  heatUp([]);
  if (!entry) {                            // nothing was made here
    how.replaceChildren(soft('Point at an entry, tap it, or go to it with Tab and the arrow keys: here stands how it was made.'));
    return showMarks('');
  }
  const { id, kind, index } = entry, x = number(id, kind, index, now);
  const secret = t.w === 'b' && id === c.id && kind && isHidden(id);
  const words = secret ? [result(x), soft('Its line is hidden: write it, and its sum appears here.')]
    : t.w === 'f' && id === c.id && !kind ? forwardWords(c, index, now)
    : t.w === 'b' && id === c.id && kind ? backwardWords(id, index, now) : null;
  const other = number(id, 1 - kind, index, now);
  how.replaceChildren(el('p', {}, el('b', {}, ...tint(label(id, kind, index))), ...(words ? []
    : [' = ', el('b', { class: 'result' }, show(x, 5))]), el('span', { class: 'soft' },
    other === undefined ? '' : '   (' + label(id, 1 - kind, index) + ' = ' + show(other) + ')')), ...(words || []));
  showMarks(key(id, kind, index));
}
