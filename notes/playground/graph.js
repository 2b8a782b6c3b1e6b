// The graph: columns by the longest way from an input; long edges keep a row for themselves.
let plan = null;
function layers(list) {
  const column = {}, inside = new Set(list);
  for (let again = list.length; again-- > 0;) {
    let changed = false;
    for (const id of list) {
      const c = Math.max(0, ...nodes[id].in.filter(k => inside.has(k)).map(k => 1 + (column[k] || 0)));
      if (nodes[id].in.length && c !== column[id]) { column[id] = c; changed = true; }
    }
    if (!changed) break;
  }
  for (const id of list) if (!nodes[id].in.length)
    column[id] = Math.min(...list.filter(k => nodes[k].in.includes(id)).map(k => column[k] - 1), list.length) % list.length;
  return column;
}
// Cells of the columns: nodes, and the bends of edges that pass by.
function arrange(list) {
  const column = layers(list), columns = [], cell = {}, edges = [];
  const add = (c, item) => {
    (columns[c] = columns[c] || []).push(item);
    item.c = c;
    return item;
  };
  for (const id of list) cell[id] = add(column[id], { id, near: [] });
  for (const id of list) for (const k of new Set(nodes[id].in)) if (cell[k]) {
    const way = [cell[k]];
    const far = cell[id].c - cell[k].c > 8;  // such an edge goes behind the others
    for (let c = cell[k].c + 1; !far && c < cell[id].c; c++)
      way.push(add(c, { near: [] }));
    way.push(cell[id]);
    way.slice(1).forEach((p, n) => { p.near.push(way[n]); way[n].near.push(p); });
    edges.push({ from: k, to: id, way });
  }
  const tallest = Math.max(...columns.map(c => c.length));
  columns.forEach(c => c.forEach((p, k) => { p.y = k + (tallest - c.length) / 2; }));
  for (let sweep = 0; sweep < 8; sweep++) columns.forEach(c => {
    c.forEach(p => { p.w = p.near.reduce((a, q) => a + q.y, 0) / (p.near.length || 1); });
    c.sort((p, q) => p.w - q.w);
    c.forEach((p, k) => { p.y = k + (tallest - c.length) / 2; });
  });
  return { cell, edges, width: columns.length, height: tallest };
}
const STEP_X = 132, STEP_Y = 56, WIDE = 92, HIGH = 34;
const middle = p => [p.c * STEP_X + 62, p.y * STEP_Y + 32];
function curve(way) {
  let d = '', last = null;
  way.forEach((p, k) => {
    let [x, y] = middle(p);
    if (k === 0) x += WIDE / 2;
    if (k === way.length - 1) x -= WIDE / 2 + 4;
    const half = last && (last[0] + x) / 2;
    d += last ? `C${half} ${last[1]} ${half} ${y} ${x} ${y}` : `M${x} ${y}`;
    last = [x, y];
  });
  return d;
}
function edgeState(edge, t) {
  if (!'Bb'.includes(t.w)) return ran(edge.to) ? 'fw' : '';
  return nodes[edge.to].grad && numbers(edge.from, 1, now) ? 'bw' : '';
}
const ran = id => nodes[id].kind === 2 && nodes[id].from[0] <= now;
function drawGraph() {
  const t = moments[now];
  if (!$('graph').parentNode.open) return;
  if (!plan) plan = arrange(nodes.filter(x => x.value).map(x => x.id));
  const list = Object.keys(plan.cell).map(Number);
  const w = plan.width * STEP_X, h = plan.height * STEP_Y + 24;
  const svg = drawn('svg', { width: w, height: h, viewBox: `0 0 ${w} ${h}`, role: 'img',
    'aria-label': 'the graph; ' + $('where').textContent });
  const defs = drawn('defs', {});
  for (const name of ['', 'fw', 'bw']) {
    const tip = drawn('marker', { id: 'to-' + name, viewBox: '0 0 8 8', refX: 4, refY: 4,
      markerWidth: 9, markerHeight: 9, orient: 'auto-start-reverse', markerUnits: 'userSpaceOnUse' });
    tip.append(drawn('path', { d: 'M0 0L8 4L0 8z' }));
    defs.append(tip);
  }
  svg.append(defs);
  for (const edge of plan.edges) {
    const state = edgeState(edge, t), back = state === 'bw';
    const path = drawn('path', { d: curve(edge.way), class: state });
    path.setAttribute(back ? 'marker-start' : 'marker-end', `url(#to-${state})`);
    svg.append(path);
  }
  for (const id of list) svg.append(box(id, plan.cell[id], t));
  $('graph').replaceChildren(svg);
  const p = plan.cell[t.n], g = $('graph');
  if (p) {
    g.scrollLeft = middle(p)[0] - g.clientWidth / 2;
    g.scrollTop = middle(p)[1] - g.clientHeight / 2;
  }
}
function box(id, p, t) {
  const x = nodes[id], [cx, cy] = middle(p);
  const state = id === t.n ? ' here' : ran(id) ? ' done' : '';
  const g = drawn('g', { class: (x.in.length ? 'node' : 'leaf') + state });
  const cut = x.title.length > 11 ? x.title.slice(0, 10) + DOTS : x.title;
  g.append(drawn('title', {}, x.title + ' [' + x.dim.join(', ') + '] ' + x.op + ' ' + x.at), drawn('rect', { x: cx - WIDE / 2,
      y: cy - HIGH / 2, width: WIDE, height: HIGH, rx: 6 }), drawn('text', { x: cx, y: cy - 1 }, cut),
    drawn('text', { x: cx, y: cy + 12, class: 'op' }, x.op));
  g.addEventListener('click', () => {
    const its = moments.map((k, m) => m).filter(m => moments[m].n === id);
    its.sort((a, b) => Math.abs(a - now) - Math.abs(b - now));
    if (its.length) go(its[0]);
  });
  return g;
}
