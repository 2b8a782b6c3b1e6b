// The page. Two workers run program.c: one answers to keystrokes and judges, one trains.
const state = { text: '', losses: [], steps: 0, playing: false, error: null, marked: 0, recorded: false, best: Infinity };

// ---- The workers
class Program {
  constructor(url) { this.worker = new Worker(url); this.waiting = new Map(); this.number = 0;
    this.worker.onmessage = e => { this.waiting.get(e.data.id)(e.data); this.waiting.delete(e.data.id); }; }
  send(message) { const id = ++this.number;
    return new Promise(done => { this.waiting.set(id, done); this.worker.postMessage({ id, ...message }); }); }
  run(commands, fresh = false) { return this.send({ commands, fresh }); }
}
let editor, trainer;
const unpack = async id => {
  const packed = Uint8Array.from(atob($(id).textContent.replace(/\s/g, '')), c => c.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip')));
};
async function load() {
  const wasm = await (await unpack('wasm')).arrayBuffer();
  const url = URL.createObjectURL(new Blob([$('worker').textContent], { type: 'text/javascript' }));
  [editor, trainer] = [new Program(url), new Program(url)];
  await Promise.all([editor.send({ wasm }), trainer.send({ wasm })]);
}

// ---- The state of the page is in its address.
const settings = ['data', 'rule', 'rate', 'batch', 'seed', 'speed'];
function save() {
  if (state.recorded) return;
  const all = new URLSearchParams({ slide: $('slide').value });
  for (const key of settings) all.set(key, $(key).value);
  if ($('predict').checked) all.set('predict', 1);
  history.replaceState(null, '', '#' + all);
}
async function restore() {
  const all = new URLSearchParams(location.hash.slice(1)), named = examples.findIndex(e => e.name === all.get('example'));
  show_example(examples[Math.max(0, named)]);
  if (all.get('slide') !== null) $('slide').value = all.get('slide');
  $('example').selectedIndex = examples.findIndex(e => e.text === $('slide').value);      // or none
  for (const key of settings) if (all.get(key)) $(key).value = all.get(key);
  $('predict').checked = all.has('predict');
  if (all.has('sample')) { $('example').value = SAMPLE; return show_sample(); }
  return compile();
}
const forget = () => { $('verdict').textContent = ''; };   // what was judged has changed
function show_example(example) {
  $('example').value = example.name;
  $('slide').value = example.text;
  for (const key of ['data', 'rule', 'rate', 'batch']) $(key).value = example[key];
  if (!$('seed').value) $('seed').value = 1;
}

// ---- The slide: each keystroke compiles it. Numbers come from the chosen data, or from random ones if it does not fit.
let asked = 0;
const seed = () => Math.max(0, Math.floor(+$('seed').value || 0));
const program = () => [`text ${seed()}\n${state.text}`, `data ${state.data}`];     // of the last text without an error
async function compile() {
  const text = $('slide').value, turn = ++asked, start = performance.now();
  recorded(false);
  save();
  let r, data = $('data').value;
  for (const d of [data, 'random']) {
    r = await editor.run([`text ${seed()}\n${text}`, `data ${data = d}`, 'look 0'], true);
    if (r.answers.length < 2 || r.error === null) break;       // The first is an error of the text, which data cannot mend.
    if (d !== 'random') state.misfit = r.error;
  }
  if (turn !== asked) return;              // A later keystroke has asked again.
  $('program').classList.toggle('stale', r.error !== null);
  $('program').setAttribute('aria-label', r.error === null ? 'Program' : 'Program of the last text without an error');
  show_error(r.error, text);
  $('play').disabled = $('one').disabled = !state.text && r.error !== null;
  if (r.error !== null) return;
  if (text !== state.text) { forget(); found.clear(); }
  Object.assign(state, { text, data, misfit: data === $('data').value ? '' : state.misfit });
  const before = moments.length ? text_of(moments[now]) : '';
  begin(r.answers[2].trace, r.answers[2].lines);
  const best = moments.findIndex(t => t.w === 'b' && nodes[t.n].kind === 1 && nodes[t.n].users.some(c => c.eq));
  const stays = moments.findIndex(t => text_of(t) === before);
  now = Math.max(0, stays < 0 ? best : stays);
  write_program(r.answers[2].numbers);
  draw_marks();
  document.documentElement.dataset.ms = (performance.now() - start).toFixed(1);
  await new Promise(done => setTimeout(done, state.began ? 120 : 0));        // until the next keystroke
  state.began = true;
  if (turn === asked) await reset();
}
// An error is `slide:1: Equations: line 2: TEXT`, a line with ^ below the place, and the reason.
function show_error(error, text) {
  state.error = null;
  if (error === null) { $('error').textContent = ''; draw_marks(); return; }
  const lines = error.split('\n'), caret = lines.findIndex(line => /^ *\^$/.test(line));
  const head = /^slide:1: (?:\w+: )?(?:line (\d+): )?/.exec(lines[0]);
  let shown = error.replace(/^slide:1: /, '');
  if (caret === 1 && head) {
    const number = +(head[1] || 1), column = [...lines[1]].indexOf('^') - [...head[0]].length;
    state.error = { line: number, column };
    shown = `line ${number}: ` + lines.slice(2).map(line => line.trim()).join('\n');
  }
  $('error').textContent = shown;
  draw_marks();
}
// The text area is transparent: the coloured lines below it are what one sees.
function draw_marks() {
  $('marks').replaceChildren(...$('slide').value.split('\n').map((line, k) => {
    const e = state.error?.line === k + 1 ? [...line.padEnd(state.error.column + 1)] : null, at = Math.max(0, state.error?.column);
    const inside = e ? [e.slice(0, at).join(''), el('mark', { class: 'bad' }, e[at]), e.slice(at + 1).join('')] : tint(line);
    return el('span', { class: state.marked === k + 1 ? 'line marked' : 'line', 'data-line': k + 1 }, ...inside, '\n');
  }));
}
function mark_line(line) {
  if (line === state.marked) return;
  state.marked = line;
  for (const e of document.querySelectorAll('#marks .line, #recorded .line')) e.classList.toggle('marked', +e.dataset.line === line);
  for (const e of document.querySelectorAll('#rows [data-line], .card')) e.classList.toggle('linked', line > 0 && +e.dataset.line === line);
}

// ---- The program: headings and nodes as edf_print_program shows them. A row leads to a moment.
const SAMPLE = 'A recorded step: digits';
const found = new Set();                   // hidden lines that were written, as `node/tensor`
const adds_to = (line, x) => /(.*?) [-+]?= /.test(line) && sides(line)[0].startsWith(x.name + '.grad');
const can_hide = line => !/\[the first greatest\]/.test(line);
const tensor_of = line => (/^(?:for [^:]*: )?([^\s[]+)\.grad/.exec(line) || [])[1];
const hidden = (x, line) => $('predict').checked && !state.recorded && can_hide(line) && !found.has(x.name + '/' + tensor_of(line));
const isHidden = id => nodes[id].users.some(c => c.back.some(line => adds_to(line, nodes[id]) && hidden(c, line)));
let buttons = [];                          // of the moments
function text_of(t) {
  const x = nodes[t.n], n = x ? size(x) : 1;
  if (t.w === 'F') return 'inputs and parameters';
  if (t.w === 'B') return x.name + '.grad = 1' + (n > 1 ? '/' + n : '') + ', all others 0';
  if (t.w === 'f') return x.line;
  const lines = x.users.flatMap(c => c.back.filter(line => adds_to(line, x)).map(line => hidden(c, line) ? x.name + '.grad += ?' : line));
  return lines.join('\n') || x.name + '.grad, by ' + x.users.map(c => c.name).join(', ');
}
function row(tag, x, kind, ...inside) {
  const e = el(tag, { class: kind, 'data-line': x ? x.slideLine : 0 }, ...inside);
  e.onmouseenter = () => mark_line(x ? x.slideLine : 0);
  e.onmouseleave = () => mark_line(0);
  return e;
}
function button(m, x, kind, ...inside) { const b = row('button', x, kind, ...inside); b.onclick = () => go(m); return b; }
const shape = x => x.dim.length ? '[' + x.dim.join(', ') + ']' : 'scalar';
// A line that became one node is its own heading. It may also have bounds: | j<4, k<2.
const own_heading = x => x.heading.startsWith(x.line) && /^( \| [^<=!>,| ]+<\d+(, [^<=!>,| ]+<\d+)*)?$/.test(x.heading.slice(x.line.length));
const numbered = (x, text, place) => [el('small', {}, state.recorded ? x.at.split('/').pop() : shape(x)),
  String(x.number).padStart(place === 'under' ? 5 : 3) + '  ', ...tint(text)];
// The later steps of a recurrence are folded. They open when one of them is shown.
function write_nodes(list, its, write, unfolded) {
  let before = null, folded = [], place = '';
  const add = e => list.append(el('li', {}, e));
  for (const x of [...its, null]) {
    if (x && x.folded && !unfolded) { folded.push(x); continue; }
    if (folded.length) {
      const from = folded[0], to = folded[folded.length - 1], inside = el('ol');
      const times = from.folded === to.folded ? '' : ' to ' + to.folded;
      const which = from === to ? 'node ' + to.number : `nodes ${from.number} to ${to.number}`;
      add(el('details', {}, row('summary', from, '', `[${from.folded}${times}] the same: ${which}`), inside));
      write_nodes(inside, folded, write, true);
      folded = [];
    }
    if (!x) break;
    if (!before || before.group !== x.group) {
      place = !x.heading ? '' : own_heading(x) ? 'own' : 'under';
      if (place === 'under') add(row('p', x, 'heading', ...tint(x.heading)));
    }
    write(x, add, place);
    before = x;
  }
}
const write_forward = (x, add, place) => {
  const inside = numbered(x, place === 'own' ? x.heading : x.line, place), m = x.from[0];
  add(m < Infinity ? buttons[m] = button(m, x, 'node', ...inside) : row('p', x, 'node', ...inside));
};
// A line that adds to a gradient leads to the moment when the gradient is complete.
function write_backward(x, add, place) {
  const its = [...new Set(x.in)].map(id => nodes[id]).filter(y => y.from[1] < Infinity), ready = its.filter(y => lastUser(y) === x.id);
  add(row('p', x, 'node', ...numbered(x, place === 'own' ? x.heading : x.name, place)));
  for (const line of x.back) {
    const y = its.find(z => adds_to(line, z)), hides = hidden(x, line), was_found = $('predict').checked && can_hide(line) && !hides;
    const inside = hides ? [el('span', {}, `${tensor_of(line)}.grad += ?`)] : tint(line);
    const b = y ? button(y.from[1], x, 'loop' + (hides ? ' hidden' : '') + (was_found ? ' found' : ''), ...inside) : row('p', x, 'loop', ...inside);
    if (y && ready.includes(y)) buttons[y.from[1]] = buttons[y.from[1]] || b;
    if (hides) b.addEventListener('click', () => ask_for(x, tensor_of(line)));
    add(b);
  }
  for (const y of ready.filter(z => !buttons[z.from[1]])) add(buttons[y.from[1]] = button(y.from[1], x, 'loop', ...tint(text_of(moments[y.from[1]]))));
}
function write_program(n) {
  if (n !== undefined) state.numbers = n;
  buttons = [];
  $('rows').replaceChildren();
  const begins = (m, title) => {
    const list = el('ol', { 'aria-label': title }, el('li', {}, buttons[m] = button(m, null, '', ...tint(text_of(moments[m])))));
    $('rows').append(el('h3', {}, title), list);
    return list;
  };
  const computed = nodes.filter(x => x.kind === 2 && x.line), m = moments.findIndex(t => t.w === 'B');
  write_nodes(begins(0, 'Forward'), computed, write_forward);
  if (m >= 0) write_nodes(begins(m, 'Backward, derived'), computed.filter(x => x.runsBack).reverse(), write_backward);
  const all = nodes.filter(x => x.kind === 1);
  $('rows').append(el('h3', {}, `Parameters: ${state.numbers} number${state.numbers === 1 ? '' : 's'}`), el('ol', { id: 'parameters' },
    ...all.map(x => row('li', { slideLine: first_line_with(x.name) }, '', el('span', { class: 'n' }, x.name), ' ' + shape(x)))));
  moments.forEach((t, k) => { if (!buttons[k]) buttons[k] = el('button'); });      // A node without a row.
  plan = null;
  next_hidden();
  show_row(true);
}
const first_line_with = name => $('slide').value.split('\n').findIndex(line => parts(line).some(([text, kind]) => kind === 'n' && text === name)) + 1;

// ---- Steps. What an assignment writes comes first, then what it reads.
function involved(t) {
  const c = nodes[t.n];
  if (t.w === 'F') return nodes.filter(x => x.kind < 2 && x.value).map(x => [x.id, ['input', 'parameter'][x.kind]]);
  if (t.w === 'B') return [[t.n, 'the loss']];
  if (t.w === 'f') return [[c.id, 'written'], ...[...new Set(c.in)].map(id => [id, 'read'])];
  const factors = (y, term) => y.eq.ref.slice(term[1], term[1] + term[2]).map(r => y.in[r[0]]);
  const beside = y => y.eq ? y.eq.term.map(term => factors(y, term)).filter(f => f.includes(c.id)).flat() : y.in;
  const read = c.users.flatMap(beside).filter(id => id !== c.id);
  return [[c.id, 'gradient written'], ...c.users.map(y => [y.id, 'gradient read']),
    ...[...new Set(read)].filter(id => !c.users.includes(nodes[id])).map(id => [id, 'read'])];
}
function draw() {
  const t = moments[now], c = nodes[t.n], seen = involved(t).slice(0, 12);
  $('what').replaceChildren(...tint(text_of(t)));
  $('about').textContent = !c ? 'what the program was given' : c.op + (state.recorded ? DOT + c.at : '');
  $('where').textContent = now + 1 + ' of ' + moments.length;
  $('cards').replaceChildren(...seen.map(([id, role]) => card(id, now, role, role.includes('written'))));
  drawGraph();
  const first = document.querySelector('.main td, .main canvas');
  explain(picked || ('fb'.includes(t.w) && first && (first.entry || (first.focus && null))));
}
function look_at_constants(c) {            // z[b,4,k] reads at 4: there the view goes
  for (const r of c && c.eq ? c.eq.ref : []) r[1].forEach((p, d) => {
    if (p.length === 1) pos[nodes[r[0] < 0 ? c.id : c.in[r[0]]].keys[d]] = p[0];
  });
}
function show_row(stay) {
  const list = $('rows'), b = buttons[now], fold = b.closest('details');
  for (const d of list.querySelectorAll('details[open]')) if (d !== fold) d.open = false;
  if (fold) fold.open = true;
  list.querySelector('[aria-current]')?.removeAttribute('aria-current');
  b.setAttribute('aria-current', 'step');
  if (stay) return;                        // Where the row stands is not asked: that would lay out the page.
  const top = b.offsetTop - list.offsetTop;
  if (top < list.scrollTop || top + b.offsetHeight > list.scrollTop + list.clientHeight) list.scrollTop = top - list.clientHeight / 3;
}
function go(m) {
  if (!moments.length) return;
  now = Math.max(0, Math.min(moments.length - 1, m));
  picked = null;
  look_at_constants(nodes[moments[now].n]);
  show_row(false);
  draw();
}
function move_in_map(td, key) {
  const right = (key === 'ArrowRight') - (key === 'ArrowLeft'), down = (key === 'ArrowDown') - (key === 'ArrowUp');
  if (td.move) return td.move(right, down);
  const rows = [...td.closest('tbody').children], line = rows[rows.indexOf(td.parentNode) + down];
  const to = line && line.children[[...td.parentNode.children].indexOf(td) + right];
  if (to && to.tagName === 'TD') to.focus();
}
document.addEventListener('keydown', e => {
  if (e.ctrlKey && e.key === 'Enter' && !$('play').disabled) { e.preventDefault(); play(!state.playing); }
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }, end = { Home: 0, End: moments.length - 1 }[e.key];
  const td = e.target.closest?.('#cards td, #cards canvas');
  if (!moments.length || e.altKey || e.ctrlKey || e.metaKey || e.target.closest?.('select, textarea, input, dialog')) return;
  if (td && e.key === 'Escape') $('next').focus();
  if (!steps[e.key] && end === undefined) return;
  e.preventDefault();
  if (td && steps[e.key]) move_in_map(td, e.key);
  else go(end ?? now + steps[e.key]);
});
for (const event of ['mouseover', 'focusin', 'click'])
  $('cards').addEventListener(event, e => {
    const td = e.target.closest('td');
    if (td && td.entry && td.entry !== picked) explain(td.entry);
  });

// ---- Training
async function reset() {
  const turn = asked, r = await trainer.run([...program(), 'view', 'look'], true);
  if (turn !== asked || state.recorded) return;
  Object.assign(state, { losses: [], steps: 0, best: Infinity, said: '' });
  $('doctor').textContent = state.misfit ? state.misfit + '.\nThe Inputs have random numbers.' : '';
  $('state').textContent = r.error === null ? 'step 0' : r.error;
  if (r.error !== null) play(false);
  $('play').disabled = $('one').disabled = r.error !== null;
  draw_curve();
  if (r.error === null) shown(r.answers[2], r.answers[3]);
}
const step_command = n => `step ${n} ${+$('rate').value || 0} ${+$('batch').value} ${$('rule').value}`;
async function step(n) {
  const r = await trainer.run([step_command(n)]);
  if (r.error !== null) {
    play(false);
    $('state').textContent = r.error;
    await trainer.run(program(), true);
    return false;
  }
  const { loss, steps } = r.answers[0], newest = loss[loss.length - 1];
  state.losses.push(...loss);
  state.steps = steps;
  $('state').textContent = `step ${steps}   loss ${format(newest)}`;
  state.step_ms = r.ms / n;
  if (r.text.trim()) state.said = r.text.trim();
  draw_curve();
  await watch(newest);
  return true;
}
// If the loss is NaN, or the mean of 20 steps is twice the best one, shows what the doctor says.
async function watch(newest) {
  const all = state.losses, recent = all.slice(-20).reduce((a, b) => a + b, 0) / Math.min(20, all.length);
  if (typeof newest !== 'number') {
    play(false);
    const r = await trainer.run(['find']);
    $('doctor').textContent = `The loss is ${newest}.\n` + [state.said, r.text.trim()].filter(x => x).join('\n');
  } else if (recent > 2 * state.best && recent > state.best + .1)
    $('doctor').textContent = 'The loss rises: the last 20 steps have a mean of ' + format(recent) + ', the best were ' + format(state.best) +
      '.\n' + (state.said || 'The doctor has no finding. Often the rate is too large: try a third of it.');
  else if (state.said) $('doctor').textContent = state.said;
  if (all.length >= 20) state.best = Math.min(state.best, recent);
}
// At 1 and 10 steps a second each step is shown, otherwise the newest one every 250 ms.
async function loop() {
  let looked = -1e9;
  while (state.playing) {
    const speed = +$('speed').value, start = performance.now();
    const n = speed > 10 ? speed / 20 : speed ? 1 : Math.max(1, Math.min(50, Math.round(30 / (state.step_ms || 10))));
    if (!await step(n)) return;
    if (performance.now() - looked > (speed && speed <= 10 && !calm.matches ? 0 : calm.matches ? 1000 : 250)) {
      await look();
      looked = performance.now();
    }
    await new Promise(done => setTimeout(done, speed ? Math.max(0, n * 1000 / speed - (performance.now() - start)) : 0));
  }
  await look();
}
const calm = matchMedia('(prefers-reduced-motion: reduce)');
function play(on) {
  if (state.playing === on) return;
  state.playing = on;
  $('play').textContent = on ? 'Stop' : 'Start';
  $('play').setAttribute('aria-pressed', on);
  if (on) loop();
}
const format = x => typeof x === 'number' ? String(+x.toPrecision(4)) : x;
function shown(view, { trace, lines }) {
  const at = document.activeElement?.closest?.('#cards td, #cards canvas') && picked;
  const shapes = JSON.stringify(nodes.map(x => x.dim));
  draw_picture(view);
  begin(trace, lines, true);
  if (JSON.stringify(nodes.map(x => x.dim)) !== shapes) write_program();       // of another batch
  look_at_constants(nodes[moments[now].n]);
  draw();
  if (at) cells().find(td => td.key === key(at.id, at.kind, at.index))?.focus();
}
async function look() {
  const turn = asked, r = await trainer.run(['view', 'look']);
  if (r.error === null && turn === asked && !state.recorded) shown(...r.answers);
}

// ---- Pictures. The loss has a logarithmic axis, unless it is 0 or less somewhere.
function draw_curve() {
  const all = state.losses.filter(x => typeof x === 'number'), svg = $('curve'), w = svg.clientWidth || 300, h = 205, left = 46;
  svg.setAttribute('viewBox', `0 0 ${w} ${h}`);
  if (!all.length) { svg.innerHTML = `<text x="${left}" y="95">no step yet</text>`; return; }
  const every = Math.max(1, Math.ceil(all.length / 250)), means = [];
  for (let i = 0; i < all.length; i += every) {
    const part = all.slice(i, i + every);
    means.push(part.reduce((a, b) => a + b) / part.length);
  }
  const log = Math.min(...means) > 0, f = v => log ? Math.log10(v) : v;
  let top = f(Math.max(...means)), low = f(Math.min(...means));
  if (top - low < .3) [top, low] = [top + .15, low - .15];
  const x = i => left + (w - left - 8) * (means.length > 1 ? i / (means.length - 1) : .5), y = v => 10 + (h - 44) * (top - f(v)) / (top - low);
  const decades = Math.max(1, Math.ceil((top - low) / 5)), ticks = !log ? [0, 1, 2, 3, 4].map(k => low + (top - low) * k / 4)
    : [...Array(Math.ceil(top - low) + 2).keys()].map(k => Math.floor(low) + k).filter(e => e % decades === 0)
      .flatMap(e => (top - low < 2 ? [1, 2, 5] : top - low < 4 ? [1, 3] : [1]).map(d => d * 10 ** e)).filter(v => f(v) <= top && f(v) >= low);
  const path = means.map((v, i) => (i ? 'L' : 'M') + x(i).toFixed(1) + ' ' + y(v).toFixed(1)).join('');
  svg.innerHTML = ticks.map(v => `<line x1="${left}" x2="${w - 8}" y1="${y(v)}" y2="${y(v)}"/>` +
    `<text x="${left - 5}" y="${y(v) + 4}" text-anchor="end">${format(v)}</text>`).join('') + `<path d="${path}"/>` +
    `<text x="${left}" y="${h - 18}">1</text><text x="${w - 8}" y="${h - 18}" text-anchor="end">${state.steps}</text>` +
    `<text x="${(w + left) / 2}" y="${h - 4}" text-anchor="middle">step${log ? ' (log axis)' : ''}</text>`;
  svg.setAttribute('aria-label', `Loss curve: ${format(means[0])} at first, ${format(means[means.length - 1])} after ${state.steps} steps`);
}
const colour = (name, part) => `rgba(${getComputedStyle(document.documentElement).getPropertyValue(name)},${part})`;
function draw_picture(v) {
  const to = $('picture');
  if (v.boundary) {
    const n = v.boundary, canvas = el('canvas', { id: 'boundary', width: 12 * n, height: 12 * n }), c = canvas.getContext('2d');
    v.p.forEach((p, i) => { c.fillStyle = colour(p > .5 ? '--pos' : '--neg', Math.abs(p - .5) * 1.5);
      c.fillRect(i % n * 12, Math.floor(i / n) * 12, 12, 12); });
    v.y.forEach((y, i) => { const at = d => (v.x[2 * i + d] - v.from) / (v.to - v.from) * 12 * n;
      c.beginPath(); c.arc(at(0), 12 * n - at(1), 5, 0, 7); c.fillStyle = colour(y ? '--pos' : '--neg', 1); c.fill();
      c.strokeStyle = '#fff'; c.stroke(); });
    to.replaceChildren(el('h3', {}, 'Probability of class 1'), canvas);
  } else if (v.curve) {
    const at = (x, y) => [(x + 2.2) / 4.4 * 196, 98 - y * 80].map(n => (isFinite(n) ? n : 0).toFixed(1)).join(' ');
    const svg = drawn('svg', { id: 'fit', viewBox: '0 0 196 196' });
    v.x.forEach((x, i) => { const [cx, cy] = at(x, v.y[i]).split(' '); svg.append(drawn('circle', { cx, cy, r: 2.5 })); });
    svg.append(drawn('path', { d: v.curve.map((y, i) => (i ? 'L' : 'M') + at(v.at[i], +y)).join('') }));
    to.replaceChildren(el('h3', {}, 'The points, and the curve'), svg);
  } else if (v.confusion) {
    const cell = (i, j) => {
      const n = v.confusion[10 * i + j], td = el('td', {}, n ? String(n) : '');
      if (n) td.style.background = colour(i === j ? '--neg' : '--pos', .15 + .7 * n / 60);
      return td;
    };
    const digits = [...Array(10).keys()], all = v.confusion.reduce((a, b) => a + b), right = digits.reduce((a, i) => a + v.confusion[11 * i], 0);
    to.replaceChildren(el('h3', {}, `Digit, and what it is taken for: ${(100 * right / all).toFixed(1)} %`), el('table', {}, el('tr', {}, el('th'),
      ...digits.map(j => el('th', {}, String(j)))), ...digits.map(i => el('tr', {}, el('th', {}, String(i)), ...digits.map(j => cell(i, j))))));
  } else if (v.samples) to.replaceChildren(el('h3', {}, 'Names drawn from P'), el('ol', { class: 'samples' },
    ...v.samples.map(name => el('li', {}, name || '(nothing)'))));
  else to.replaceChildren();
  to.setAttribute('aria-label', v.confusion || v.samples ? to.textContent : v.curve ? 'The points of the data, and the curve that was learnt'
    : 'The plane, coloured by the probability of class 1');
}

// ---- Predict: the backward is hidden, and the student writes it. The lines of one gradient in one node are judged together.
let wanted = null;                         // { node, tensor } that is asked for
function ask_for(x, tensor) {
  wanted = { node: x.id, tensor };
  $('asked').textContent = tensor + '.grad';
  $('answer').placeholder = sides(x.back.find(line => tensor_of(line) === tensor))[0] + ' += ...';
}
function next_hidden() {
  const x = nodes.filter(c => c.runsBack).reverse().find(c => c.back.some(line => hidden(c, line)));
  document.body.classList.toggle('predicts', Boolean(x));
  if (x) ask_for(x, tensor_of(x.back.find(line => hidden(x, line))));
  else if ($('predict').checked && found.size) $('verdict').textContent = 'Every line of the backward is right.';
}
async function judge() {
  const text = $('answer').value, tensor = tensor_of(text.trim()) || wanted.tensor;
  const open = nodes.filter(c => c.runsBack && c.back.some(line => tensor_of(line) === tensor && hidden(c, line))).map(c => c.id);
  let said = '';
  for (const node of open.length ? [...new Set([...open.filter(id => id === wanted.node), ...open])] : [wanted.node]) {
    const r = await editor.run([...program(), `answer ${node}\n${text}`], true), name = tensor.replace(/@/g, '_');
    const report = r.error !== null ? r.error : r.text, lines = report.split('\n');
    if (lines.some(line => line.startsWith(`  ok    ${name}.grad:`))) {
      found.add(nodes[node].name + '/' + tensor);
      $('answer').value = '';
      $('verdict').textContent = `right: ${text.trim()}`;
      write_program();
      draw();
      return;
    }
    const from = lines.findIndex(line => line.startsWith(`  FAIL  ${name}.grad:`) || /cannot be run/.test(line));
    const rest = lines.slice(from + 1), end = rest.findIndex(line => /^ {2}(ok|FAIL|skip) /.test(line));
    said = said || (from < 0 ? report : [lines[from], ...rest.slice(0, end < 0 ? rest.length : end)].join('\n'));
  }
  const lines = said.trimEnd().split('\n');  // The caret stands 16 columns from the left, as the line does.
  $('verdict').textContent = ['not right yet', ...lines.map(x => /^ {8}answer: |^ +\^$/.test(x) ? x.slice(16) : x.trim())].join('\n');
}
async function gradcheck() {
  $('verdict').textContent = '...';
  const r = await editor.run([...program(), 'check'], true), e = r.answers[2]?.error_of;
  $('verdict').textContent = r.error !== null ? r.error : (typeof e === 'number' && e < 1e-6 ? 'right: ' : 'not right: ') +
    'worst relative error ' + format(e) + '\n\n' + r.text.trim();
}

// ---- Files of edf_write_trace, a script that calls edf_trace or JSON
function recorded(on, name) {
  state.recorded = on;
  document.body.classList.toggle('recorded', on);
  if (!on) { $('recorded').replaceChildren(); return; }
  play(false);
  const back = el('button', { type: 'button' }, 'Back to the slide');
  back.onclick = () => { $('example').value = examples.some(e => e.text === $('slide').value) ? $('example').value : examples[0].name; compile(); };
  const headings = [...new Set(nodes.filter(x => x.kind === 2).map(x => x.heading || x.line))].filter(x => x);
  nodes.forEach(x => { x.slideLine = headings.indexOf(x.heading || x.line) + 1; });
  $('recorded').replaceChildren(el('p', { class: 'soft' }, name + ': ' + nodes.length + ' nodes ', back),
    ...headings.slice(0, 200).map((h, k) => el('div', { class: 'line', 'data-line': k + 1 }, ...tint(h))));
}
function show_trace(text, name) {
  let data;
  try { data = JSON.parse(text.replace(/^edf_trace\(|\);\s*$/g, '')); } catch { data = null; }
  if (!data?.nodes) { $('verdict').textContent = name + ' is no file of edf_write_trace'; return; }
  asked++;                                 // no keystroke is waited for
  begin(data, null);
  found.clear();
  forget();
  recorded(true, name);
  write_program(nodes.filter(x => x.kind === 1).reduce((a, x) => a + size(x), 0));
  draw();
  $('program').classList.remove('stale');
}
const show_sample = async () => show_trace(await (await unpack('sample')).text(), 'one step of examples/03_mnist.c');
const open_file = async file => { if (file) show_trace(await file.text(), file.name); };

// ---- A C program, which trains on the same data
function c_program() {
  const lines = state.text.split('\n').filter(line => line.trim()), b = Math.max(1, Math.floor(+$('batch').value || 1)), rate = +$('rate').value || 0;
  const quoted = lines.map(line => '      "' + line.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/%/g, '%%') + '\\n"').join('\n');
  const [first, ...sections] = $('data-h').textContent.trim().split(/^\/\* ---- (?=\w+ \*\/$)/m), section = name => sections.find(s => s.startsWith(name + ' */'));
  const names = state.data === 'names' ? '#include "names.h"             /* examples/names.h of the project */\n' : '';
  const rule = { sgd: `SGD(${rate})`, momentum: `edf_momentum(${rate}, 0.9)`, adam: `edf_adam_default(${rate})` }[$('rule').value];
  return `/* hw1.c - a slide of the edf.h playground. With edf.h and the folder edf beside it:
   cc -O2 -DEDF_REAL=double hw1.c -lm && ./a.out */
#define EDF_IMPLEMENTATION
#include "edf/slide.h"
#include "edf/data.h"
${names}
${first.replace(/^\/\*[^]*?\*\/\n/, '/* A row of the data has n_x numbers for the Input x, and n_y for y. */\n')}
${section(state.data).replace(/^.*\n/, '')}
${section('feed').replace(/^.*\n/, '').trim()}

int main(void) {
  edf_seed(${seed()});
  CompNode *loss = Equations(${quoted});
  begin_data(make_${state.data});
  for (int step = 1; step <= 100; step++) {
    feed_batch(${b});
    Forward();
    if (step == 1 || step % 10 == 0) printf("step %3d   loss %.6g\\n", step, edf_mean_value(loss));
    Backward(loss);
    ${rule};
  }
  edf_print_program(stdout);
  edf_clear();
}
`;
}

// ---- The page begins
for (const name of [...examples.map(e => e.name), SAMPLE]) $('example').append(new Option(name));
$('example').onchange = () => {
  play(false);
  if ($('example').value === SAMPLE) return show_sample();
  show_example(examples[$('example').selectedIndex]);
  compile();
};
$('slide').oninput = () => { state.error = null; draw_marks(); compile(); };
$('slide').onkeyup = $('slide').onclick = () => mark_line($('slide').value.slice(0, $('slide').selectionStart).split('\n').length);
$('slide').onblur = $('slide').onmouseleave = () => mark_line(0);
$('slide').onmousemove = e => mark_line(+(document.elementsFromPoint(e.clientX, e.clientY).find(x => x.closest('.line'))?.closest('.line').dataset.line || 0));
for (const id of ['data', 'seed']) $(id).onchange = compile;
for (const id of ['rule', 'rate', 'batch', 'speed']) $(id).onchange = save;
$('play').onclick = () => play(!state.playing);
$('one').onclick = async () => { play(false); if (await step(1)) await look(); };
$('reset').onclick = () => { play(false); compile(); };
for (const [id, to] of [['first', () => 0], ['back', () => now - 1], ['next', () => now + 1], ['last', () => moments.length - 1]]) $(id).onclick = () => go(to());
$('predict').onchange = () => { found.clear(); forget(); save(); write_program(); draw(); };
$('ask').onsubmit = e => { e.preventDefault(); judge(); };
$('answer').onkeydown = e => { if (e.key === 'Enter' && !e.shiftKey && !e.ctrlKey) { e.preventDefault(); judge(); } };
$('gradcheck').onclick = gradcheck;
$('graph').parentNode.ontoggle = drawGraph;
$('share').onclick = async () => { save(); try { await navigator.clipboard.writeText(location.href); $('share').textContent = 'Copied'; }
  catch { $('share').textContent = 'The link is in the address bar'; } setTimeout(() => { $('share').textContent = 'Copy link'; }, 2000); };
const show_c = (name, text) => { document.querySelector('#c-code h2').textContent = name; document.querySelector('#c-code pre').textContent = text; };
$('in-c').onclick = () => { show_c('hw1.c', c_program()); $('c-code').showModal(); };
$('plain-c').onclick = async () => {       // the loops alone
  const r = await editor.run([...program(), 'c'], true);
  show_c('model.c', r.error !== null ? '/* ' + r.error + ' */' : r.answers[2].c);
};
$('copy-c').onclick = () => navigator.clipboard.writeText(document.querySelector('#c-code pre').textContent);
$('close-c').onclick = () => $('c-code').close();
$('file').onchange = e => open_file(e.target.files[0]);
document.addEventListener('dragover', e => e.preventDefault());
document.addEventListener('drop', e => { e.preventDefault(); open_file(e.dataTransfer.files[0]); });
addEventListener('hashchange', restore);
load().then(restore, show_sample).then(() => { document.documentElement.dataset.ready = 1; });
