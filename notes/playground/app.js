// The page. Two workers run program.c: one answers to keystrokes and judges, one trains.
'use strict';
const $ = id => document.getElementById(id);
const state = { text: '', losses: [], steps: 0, playing: false, error: null, marked: 0 };

// ---- The workers
class Program {
  constructor(url) { this.worker = new Worker(url); this.waiting = new Map(); this.number = 0;
    this.worker.onmessage = e => { this.waiting.get(e.data.id)(e.data); this.waiting.delete(e.data.id); }; }
  send(message) { const id = ++this.number;
    return new Promise(done => { this.waiting.set(id, done); this.worker.postMessage({ id, ...message }); }); }
  run(commands, fresh = false) { return this.send({ commands, fresh }); }
}
let editor, trainer;

async function load() {
  const base64 = $('wasm').textContent.replace(/\s/g, '');
  const packed = Uint8Array.from(atob(base64), c => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  const wasm = await new Response(stream).arrayBuffer();
  const url = URL.createObjectURL(new Blob([$('worker').textContent], { type: 'text/javascript' }));
  editor = new Program(url);
  trainer = new Program(url);
  await Promise.all([editor.send({ wasm }), trainer.send({ wasm })]);
}

// ---- The state of the page is in its address.
const settings = ['data', 'rule', 'rate', 'batch', 'seed'];
const chosen = ['tensor', 'line'], wanted = {};      // `wanted` is chosen when the program is there
function save() {
  const all = new URLSearchParams({ slide: $('slide').value });
  for (const key of settings) all.set(key, $(key).value);
  if ($('answer').value) all.set('answer', $('answer').value);
  for (const id of chosen) if ($(id).value) all.set(id, wanted[id] ?? $(id).selectedOptions[0].textContent);
  history.replaceState(null, '', '#' + all);
}
function restore() {
  const all = new URLSearchParams(location.hash.slice(1));
  show_example(examples.find(e => e.name === all.get('example')) || examples[0]);
  if (all.get('slide') !== null) $('slide').value = all.get('slide');
  for (const key of settings) if (all.get(key)) $(key).value = all.get(key);
  $('answer').value = all.get('answer') || '';
  for (const id of chosen) if (all.get(id)) wanted[id] = all.get(id);
}
const forget = () => { $('verdict').textContent = ''; };   // what was judged has changed
function show_example(example) {
  $('example').value = example.name;
  $('slide').value = example.text;
  forget();
  $('answer').value = '';
  for (const key of ['data', 'rule', 'rate', 'batch']) $(key).value = example[key];
  if (!$('seed').value) $('seed').value = 1;
}

// ---- The slide: each keystroke compiles it.
let asked = 0;
async function compile() {
  const text = $('slide').value, turn = ++asked, start = performance.now();
  save();
  const r = await editor.run([`text ${seed()}\n${text}`], true);
  if (turn !== asked) return;              // A later keystroke has asked again.
  $('program').classList.toggle('stale', r.error !== null);
  $('program').setAttribute('aria-label', r.error === null ? 'Program' : 'Program of the last text without an error');
  show_error(r.error, text);
  if (r.error !== null) return;
  if (text !== state.text) forget();
  state.text = text;
  show_program(r.answers[0]);
  document.documentElement.dataset.ms = (performance.now() - start).toFixed(1);
  await reset();
}
const seed = () => Math.max(0, Math.floor(+$('seed').value || 0));
// The commands that begin the last text without an error.
const program = () => [`text ${seed()}\n${state.text}`, `data ${$('data').value}`];

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

const escape_html = s => s.replace(/[&<>]/g, c => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[c]);
function draw_marks() {
  $('marks').innerHTML = $('slide').value.split('\n').map((line, k) => {
    const e = state.error;
    if (e && e.line === k + 1) {
      const c = [...line.padEnd(e.column + 1)], at = Math.max(0, e.column);
      return escape_html(c.slice(0, at).join('')) + `<mark class="bad">${escape_html(c[at])}</mark>` +
        escape_html(c.slice(at + 1).join(''));
    }
    return state.marked === k + 1 ? `<mark>${escape_html(line) || ' '}</mark>` : escape_html(line);
  }).join('\n') + '\n';
  $('marks').scrollTop = $('slide').scrollTop;
  $('marks').scrollLeft = $('slide').scrollLeft;
}

function row(to, line, text, quiet = '', kind = '') {
  const div = document.createElement('div');
  div.textContent = text;
  div.className = kind;
  if (quiet) { const span = document.createElement('span'); span.className = 'shape'; span.textContent = quiet; div.append(span); }
  if (line) { div.dataset.line = line; div.onmouseenter = () => mark_line(line); div.onmouseleave = () => mark_line(0); }
  to.append(div);
}
// A line that became one node is its own heading. It may also have bounds: | j<4, k<2.
const is_own_heading = n => n.heading.startsWith(n.forward) &&
  /^( \| [^<=!>,| ]+<\d+(, [^<=!>,| ]+<\d+)*)?$/.test(n.heading.slice(n.forward.length));
// Shows headings and nodes as edf_print_program does. The later steps of a recurrence are one row.
const LONGEST = 400;                       // rows that are shown
function show_nodes(to, nodes, rows_of) {
  let before = null, folded = [], place = '';
  const all = [], add = (...row) => all.push(row);
  for (const n of [...nodes, null]) {
    if (n?.folded) { folded.push(n); continue; }
    if (folded.length) {
      const from = folded[0], last = folded[folded.length - 1];
      const times = from.folded === last.folded ? '' : ' to ' + last.folded;
      const numbers = from === last ? 'node ' + last.number : `nodes ${from.number} to ${last.number}`;
      add(0, `[${from.folded}${times}] the same: ${numbers}`, '', 'heading');
      folded = [];
    }
    if (!n) break;
    if (!before || n.group !== before.group) {
      place = !n.heading ? '' : is_own_heading(n) ? 'own' : 'under';
      if (place === 'under') add(n.line, n.heading, '', 'heading');
    }
    for (const [text, quiet] of rows_of(n, place)) add(n.line, text, quiet);
    before = n;
  }
  for (const [line, ...texts] of all.slice(0, LONGEST)) row(to, line, ...texts);
  if (all.length > LONGEST) row(to, 0, `... ${all.length - LONGEST} more lines`);
}
// A node below a heading is indented.
const numbered = (n, text, place) => String(n.number).padStart(place === 'under' ? 5 : 3) + '  ' + text;
function show_program({ nodes, numbers }) {
  for (const id of ['forward', 'backward', 'parameters']) $(id).replaceChildren();
  const computed = nodes.filter(n => n.kind === 2 && !n.helper);
  show_nodes($('forward'), computed, (n, place) => [[numbered(n, place === 'own' ? n.heading : n.forward, place), n.shape]]);
  show_nodes($('backward'), computed.filter(n => n.backward).reverse(), (n, place) => [
    [numbered(n, place === 'own' ? n.heading : n.name, place)],
    ...n.backward.split('\n').filter(t => t.trim()).map(t => [' '.repeat(7) + t.trim()])]);
  for (const n of nodes.filter(n => n.kind === 1)) row($('parameters'), first_line_with(n.name), n.name + ' ' + n.shape);
  $('numbers').textContent = numbers;
  choices($('tensor'), nodes.map((n, k) => [k, n.name + ' ' + n.shape]).filter(([k]) => !nodes[k].helper).slice(0, 200),
    nodes.findIndex(n => n.kind === 1));
  choices($('line'), nodes.map((n, k) => [k, n.forward]).filter(([k]) => nodes[k].backward).slice(0, 200));
}
// The choice stays if its text does; otherwise it is `first`.
function choices(select, list, first) {
  const before = wanted[select.id] ?? select.selectedOptions[0]?.textContent, stays = list.some(([, text]) => text === before);
  select.replaceChildren(...list.map(([value, text]) => new Option(text, value, false, stays ? text === before : value === first)));
  delete wanted[select.id];
}
function first_line_with(name) {
  const word = new RegExp('(^|[^\\p{L}\\d_\'])' + name.replace(/[^\p{L}\d_]/gu, '\\$&') + '($|[^\\p{L}\\d_\'])', 'u');
  return state.text.split('\n').findIndex(line => word.test(line)) + 1;
}
function mark_line(line) {
  state.marked = line;
  draw_marks();
  for (const div of document.querySelectorAll('.rows div')) div.classList.toggle('linked', line > 0 && +div.dataset.line === line);
}
function line_at_cursor() { return $('slide').value.slice(0, $('slide').selectionStart).split('\n').length; }

// ---- Training
async function reset() {
  const r = await trainer.run(program(), true);
  state.losses = [];
  state.steps = 0;
  $('sum').textContent = '';
  $('state').textContent = r.error === null ? 'step 0' : r.error;
  if (r.error !== null) play(false);
  $('play').disabled = $('one').disabled = r.error !== null;
  draw_curve();
  $('picture').replaceChildren();
  if (r.error === null) await look();
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
  const { loss, steps } = r.answers[0];
  state.losses.push(...loss);
  state.steps = steps;
  $('state').textContent = `step ${steps}   loss ${format(loss[loss.length - 1])}`;
  state.step_ms = r.ms / n;
  draw_curve();
  return true;
}
// Steps for about 30 ms, then a picture at most every 250 ms: so the page stays quick.
async function loop() {
  let looked = 0;
  while (state.playing) {
    const n = Math.max(1, Math.min(50, Math.round(30 / (state.step_ms || 10))));
    if (!await step(n)) return;
    if (performance.now() - looked > 250) { await look(); looked = performance.now(); }
    await new Promise(done => setTimeout(done, 0));
  }
  await look();
}
function play(on) {
  if (state.playing === on) return;
  state.playing = on;
  $('play').textContent = on ? 'Stop' : 'Start';
  $('play').setAttribute('aria-pressed', on);
  if (on) loop();
}
const format = x => typeof x === 'number' ? String(+x.toPrecision(4)) : x;

// ---- Pictures
function draw_curve() {
  const all = state.losses.filter(x => typeof x === 'number'), w = 420, h = 190;
  const svg = $('curve');
  svg.setAttribute('viewBox', `0 0 ${w} ${h}`);
  if (!all.length) { svg.innerHTML = `<text x="44" y="95">no step yet</text>`; return; }
  const every = Math.max(1, Math.ceil(all.length / 400)), means = [];
  for (let i = 0; i < all.length; i += every) {
    const part = all.slice(i, i + every);
    means.push(part.reduce((a, b) => a + b) / part.length);
  }
  const top = Math.max(...means), low = Math.min(0, ...means), span = top - low || 1;
  const x = i => 44 + (w - 52) * (means.length > 1 ? i / (means.length - 1) : 0.5), y = v => 12 + (h - 36) * (top - v) / span;
  const path = means.map((v, i) => (i ? 'L' : 'M') + x(i).toFixed(1) + ' ' + y(v).toFixed(1)).join('');
  svg.innerHTML = [top, (top + low) / 2, low].map(v => `<line x1="44" x2="${w - 8}" y1="${y(v)}" y2="${y(v)}"/>` +
    `<text x="0" y="${y(v) + 4}">${format(v)}</text>`).join('') +
    `<path d="${path}"/><text x="44" y="${h - 4}">0</text><text x="${w - 8}" y="${h - 4}" text-anchor="end">${state.steps} steps</text>`;
  svg.setAttribute('aria-label', `Loss curve: ${format(means[0])} at first, ${format(means[means.length - 1])} after ${state.steps} steps`);
}

async function look() {
  const r = await trainer.run(['view']);
  if (r.error === null) draw_picture(r.answers[0]);
  await show_tensor();
}
const colour = (name, part) => `rgba(${getComputedStyle(document.documentElement).getPropertyValue(name)},${part})`;
function title(text) { const h = document.createElement('h2'); h.textContent = text; return h; }
function draw_picture(v) {
  const to = $('picture');
  if (v.boundary) {
    const canvas = document.createElement('canvas'), n = v.boundary, c = canvas.getContext('2d');
    canvas.id = 'boundary';
    canvas.width = canvas.height = 12 * n;
    v.p.forEach((p, i) => { const strength = Math.abs(p - 0.5) * 1.5;
      c.fillStyle = colour(p > 0.5 ? '--warm' : '--cold', strength); c.fillRect(i % n * 12, Math.floor(i / n) * 12, 12, 12); });
    v.y.forEach((y, i) => { const at = d => (v.x[2 * i + d] - v.from) / (v.to - v.from) * 12 * n;
      c.beginPath(); c.arc(at(0), 12 * n - at(1), 5, 0, 7); c.fillStyle = colour(y ? '--warm' : '--cold', 1); c.fill();
      c.strokeStyle = '#fff'; c.stroke(); });
    to.replaceChildren(title('Probability of class 1'), canvas);
  } else if (v.confusion) {
    const table = document.createElement('table'), head = table.insertRow();
    let right = 0, all = 0;
    head.innerHTML = '<th></th>' + [...Array(10).keys()].map(k => `<th>${k}</th>`).join('');
    for (let i = 0; i < 10; i++) {
      const tr = table.insertRow();
      tr.innerHTML = `<th>${i}</th>`;
      for (let j = 0; j < 10; j++) {
        const n = v.confusion[10 * i + j], td = tr.insertCell();
        all += n; right += i === j ? n : 0;
        td.textContent = n || '';
        td.style.background = n ? colour(i === j ? '--cold' : '--warm', 0.15 + 0.7 * n / 60) : '';
      }
    }
    to.replaceChildren(title(`Digit, and what it is taken for: ${(100 * right / all).toFixed(1)} % right`), table);
  } else if (v.samples) {
    const list = document.createElement('ol');
    list.className = 'samples';
    for (const name of v.samples) { const li = document.createElement('li'); li.textContent = name || '(nothing)'; list.append(li); }
    to.replaceChildren(title('Names drawn from P'), list);
  } else to.replaceChildren();
  const said = v.confusion || v.samples ? to.textContent : 'The plane, coloured by the probability of class 1';
  to.setAttribute('aria-label', said);
}

// A heat map has a row for each row of the tensor. Cold is positive, warm negative.
async function show_tensor() {
  const k = $('tensor').value, maps = document.querySelector('#heat .maps');
  if (k === '') { maps.replaceChildren(); return; }
  const r = await trainer.run([`value ${k}`]);
  if (r.error !== null || k !== $('tensor').value) return;
  const { dim, value, grad } = r.answers[0];
  maps.replaceChildren(...[['value', value], ['gradient', grad]].filter(([, v]) => v.length).map(([what, v]) => {
    const width = dim.length ? Math.min(dim[dim.length - 1] * (dim.length > 2 ? dim[dim.length - 2] : 1), 96) : 1;
    const columns = dim.length === 1 ? Math.min(dim[0], 32) : Math.max(1, width), rows = Math.min(Math.ceil(v.length / columns), 48);
    const cell = Math.max(2, Math.min(16, Math.floor(250 / Math.max(columns, rows)))), canvas = document.createElement('canvas');
    canvas.width = columns * cell; canvas.height = rows * cell;
    canvas.tabIndex = 0;
    const numbers = v.map(Number), most = Math.max(...numbers.filter(isFinite).map(Math.abs), 1e-30), c = canvas.getContext('2d');
    numbers.slice(0, columns * rows).forEach((x, i) => { c.fillStyle = isFinite(x) ? colour(x < 0 ? '--warm' : '--cold', Math.abs(x) / most) : '#f0f';
      c.fillRect(i % columns * cell, Math.floor(i / columns) * cell, cell, cell); });
    canvas.setAttribute('aria-label', `${what}: ${v.length} numbers, at most ${format(most)} in size. Arrow keys show an entry.`);
    canvas.setAttribute('role', 'img');
    const figure = document.createElement('div');
    figure.append(title(`${what}, up to ${format(most)}`), canvas);
    let at = 0;
    canvas.onmousemove = e => { const i = Math.floor(e.offsetY / cell) * columns + Math.floor(e.offsetX / cell); if (i < v.length) show_entry(k, at = i); };
    canvas.onkeydown = e => { const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[e.key];
      if (by && v[at + by] !== undefined) { e.preventDefault(); show_entry(k, at += by); } };
    return figure;
  }));
  if (!value.length) maps.textContent = 'No numbers yet: make a step.';
}
async function show_entry(k, i) {
  const r = await trainer.run([`entry ${k} ${i}`]);
  if (r.error !== null) return;
  const e = r.answers[0], more = e.all - e.products.length;
  const sum = e.products.map((p, n) => (p.is < 0 ? ' - ' : n ? ' + ' : ' ') + format(Math.abs(p.is)) + ' (' + p.of + ')').join('');
  $('sum').textContent = `${e.entry} = ${format(e.value)}` + (e.products.length ? '\n=' + sum + (more > 0 ? ` + ${more} more products` : '') : '') +
    (e.grad !== undefined ? `\n${e.entry.replace(/(\[|$)/, '.grad$1')} = ${format(e.grad)}` : '');
}

// ---- Your backward
async function judge(command) {
  $('verdict').textContent = '...';
  const r = await editor.run([...program(), command], true);
  const text = r.text.trim() || '', e = r.answers[2]?.error_of;
  const right = r.error === null && typeof e === 'number' && e < 1e-6;
  $('verdict').textContent = (r.error === null ? (right ? 'right: ' : 'not right: ') + 'worst relative error ' + format(e) + '\n\n' : r.error + '\n') + text;
}

// ---- A C program
function c_program() {
  const lines = state.text.split('\n').filter(line => line.trim());
  const quoted = lines.map(line => '      "' + line.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/%/g, '%%') + '\\n"').join('\n');
  return `/* cc -O2 hw1.c -lm      with edf.h and edf/slide.h in the same folder */
#define EDF_IMPLEMENTATION
#include "edf/slide.h"

int main(void) {
  edf_seed(${seed()});
  CompNode *loss = Equations(
${quoted});
  (void)loss;
  edf_print_program(stdout);
  /* edf_feed(edf_find("x"), numbers, ${+$('batch').value || 1}); edf_feed(edf_find("y"), classes, ${+$('batch').value || 1});
     then in each step: Forward(); Backward(loss); ${{ sgd: `SGD(${$('rate').value})`, momentum: `edf_momentum(${$('rate').value}, 0.9)`,
    adam: `edf_adam_default(${$('rate').value})` }[$('rule').value]}; */
  edf_clear();
}
`;
}

// ---- The page begins
for (const example of examples) $('example').append(new Option(example.name));
restore();
$('example').onchange = () => { show_example(examples[$('example').selectedIndex]); play(false); compile(); };
$('slide').oninput = () => { state.error = null; draw_marks(); compile(); };
$('slide').onscroll = draw_marks;
$('slide').onkeyup = $('slide').onclick = () => mark_line(line_at_cursor());
$('slide').onblur = $('slide').onmouseleave = () => mark_line(0);
$('slide').onmousemove = e => {
  const line = Math.floor((e.offsetY - 8 + $('slide').scrollTop) / 19) + 1;   // as in style.css
  const to = line > 0 && line <= $('slide').value.split('\n').length ? line : 0;
  if (to !== state.marked) mark_line(to);
};
for (const id of ['data', 'seed']) $(id).onchange = () => { save(); reset(); };
for (const id of ['rule', 'rate', 'batch', 'answer']) $(id).onchange = save;
$('play').onclick = () => play(!state.playing);
$('one').onclick = async () => { play(false); if (await step(1)) await look(); };
$('reset').onclick = () => { play(false); reset(); };
$('tensor').onchange = () => { save(); show_tensor(); };
$('line').onchange = () => { forget(); save(); };
$('answer').oninput = forget;
$('judge').onclick = () => { save(); judge(`answer ${$('line').value}\n${$('answer').value}`); };
$('gradcheck').onclick = () => judge('check');
$('share').onclick = async () => { save(); try { await navigator.clipboard.writeText(location.href); $('share').textContent = 'Copied'; }
  catch { $('share').textContent = 'The link is in the address bar'; } setTimeout(() => { $('share').textContent = 'Copy link'; }, 2000); };
$('in-c').onclick = () => { document.querySelector('#c-code pre').textContent = c_program(); $('c-code').showModal(); };
$('copy-c').onclick = () => navigator.clipboard.writeText(c_program());
$('close-c').onclick = () => $('c-code').close();
addEventListener('keydown', e => { if (e.ctrlKey && e.key === 'Enter' && !$('play').disabled) { e.preventDefault(); play(!state.playing); } });
addEventListener('hashchange', () => { restore(); compile(); });
load().then(compile).then(() => { document.documentElement.dataset.ready = 1; });
