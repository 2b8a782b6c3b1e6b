// What tests/trace.sh adds to a copy of a page: it steps through it, points at entries, and
// leaves lines `ok NAME` and `not ok NAME: ...` in an element of its own. It runs behind the
// page's script and calls its functions.
(function () {
  const lines = [], count = {};
  function test(name, body) {
    const found = [];
    try { body(text => { if (found.push(text) > 4) throw 'enough'; }); }
    catch (e) { if (e !== 'enough') found.push(String(e.stack)); }
    lines.push(found.length ? 'not ok ' + name + ': ' + found.join('; ') : 'ok ' + name);
  }
  const all = (what, inside) => [...(inside || document).querySelectorAll(what)];
  function key(name, at) {
    (at || document.body).dispatchEvent(new KeyboardEvent('keydown',
      { key: name, bubbles: true, cancelable: true }));
  }
  function at(m, bad, why) {
    if (now !== m) bad(why + ': at ' + now + ', expected ' + m);
    if (+$('slider').value !== m) bad(why + ': the slider is at ' + $('slider').value);
    const current = all('#program [aria-current]');
    if (current.length !== 1 || current[0] !== moments[m].button) bad(why + ': the list');
  }
  // Is every tensor of a line read at the entry itself, or at the trailing part of its index?
  function elementwise(line) {
    if (!line || /(sum|mean|variance|max)_[A-Z]|flat\[|;| by the code of /.test(line))
      return false;
    const in_brackets = text => (text.match(/\w\[[^\]]*\]/g) || []).map(p => p.slice(2, -1));
    const [left, right] = sides(line), at = in_brackets(left)[0] || '';
    return in_brackets(right).every(p => at === p || at.endsWith(',' + p));
  }
  const twins = c => c.in.some((id, k) =>    // then no name tells which of the two is meant
    c.in.slice(0, k).some(other => other !== id && nodes[other].name === nodes[id].name));
  const point = td => td.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }));
  const last = moments.length - 1;

  test('steps', bad => {
    key('Home');
    at(0, bad, 'Home');
    for (let m = 1; m <= last; m++) {
      key(m % 2 ? 'ArrowRight' : 'ArrowDown');
      at(m, bad, 'an arrow');
      if (!$('what').textContent) bad('nothing is said at ' + m);
    }
    key('ArrowRight');
    at(last, bad, 'beyond the end');
    for (let m = last - 1; m >= 0; m--) {
      key(m % 2 ? 'ArrowLeft' : 'ArrowUp');
      at(m, bad, 'back');
    }
    key('End');
    at(last, bad, 'End');
    moments[1].button.click();
    at(1, bad, 'a click in the list');
    $('next').click();
    at(2, bad, 'the button');
    $('slider').value = 1;
    $('slider').dispatchEvent(new Event('input'));
    at(1, bad, 'the slider');
  });

  test('keyboard-in-a-map', bad => {
    const wide = moments.findIndex((t, m) => m && (go(m), all('#cards tbody tr')
      .some(tr => all('td', tr).length > 1)));
    if (wide < 0) return;                    // only scalars
    const td = all('#cards tbody tr').map(tr => all('td', tr)).find(r => r.length > 1);
    td[0].focus();
    key('ArrowRight', td[0]);
    if (document.activeElement !== td[1]) bad('the arrow does not move');
    if (now !== wide) bad('the arrow steps');
    if (!$('how').textContent.includes(td[1].name)) bad('the entry is not explained');
    key('Escape', td[1]);
    if (document.activeElement !== $('slider')) bad('Escape does not leave');
  });

  // Up to 40 entries of every moment: what is shown is the number in the page, and where all
  // factors are there, the sum of products is that number to 4 digits.
  test('sums', bad => {
    count.hovers = count.sums = count.parts = count.filled = 0;
    moments.forEach((t, m) => {
      go(m);
      const list = cells(), every = Math.ceil(list.length / 40);
      list.filter((_, k) => k % every === 0).forEach(td => check(td, t, m, bad));
    });
    if (!count.hovers) bad('there is nothing to point at');
    if (nodes.some(c => c.f && elementwise(c.line)) && !count.filled)
      bad('no formula was filled with numbers');
  });
  function check(td, t, m, bad) {
    const { id, kind, index } = td.entry, x = number(id, kind, index, m), c = nodes[t.n];
    point(td);
    count.hovers++;
    const shown = document.querySelector('#how .result'), name = label(id, kind, index);
    if (!$('how').textContent.includes(name)) bad(m + ': ' + name + ' is not named');
    if (!shown || ![show(x), show(x, 5)].includes(shown.textContent))
      bad(m + ': ' + name + ' shows ' + (shown && shown.textContent) + ' for ' + x);
    const forward = t.w === 'f' && id === c.id && !kind;
    const before = m && number(id, 1, index, m - 1);
    if (c && c.f && t.w !== 's')
      checkFormula(x, name, bad, forward && !c.eq && elementwise(c.line) && !twins(c));
    if (!c || !c.eq || !(forward || t.w === 'b' && kind && c.in.includes(id))) return;
    const terms = forward ? termsForward(c, index, m) : termsBackward(c, id, index, m);
    if (terms.some(p => p.factors.some(f => f.x === undefined))) {
      count.parts++;
      if (!$('how').textContent.includes('not in the page')) bad(name + ': a part, not said');
      return;
    }
    const max = forward && c.eq.kind === 3, begin = forward ? 0 : before;
    const sum = max ? Math.max(...terms.map(p => p.x))
      : terms.reduce((a, p) => a + p.x, begin);
    const most = Math.max(Math.abs(x), ...terms.map(p => Math.abs(p.x)));
    count.sums++;
    if (!(Math.abs(sum - x) <= 1e-4 * most) && !Number.isNaN(x) && !Number.isNaN(sum))
      bad(m + ': ' + name + ' is ' + x + ', its sum ' + sum);
    if (Number.isNaN(sum) !== Number.isNaN(x)) bad(m + ': ' + name + ': NaN');
  }

  // A formula with the numbers of one entry, = 1/(1+exp(-0.5)), gives that entry.
  function checkFormula(x, name, bad, must) {
    const sum = document.querySelector('#how .sum');
    if (!sum || !sum.textContent.startsWith('= ')) {
      if (must) bad(name + ': no formula with numbers');
      return;
    }
    const text = sum.textContent.slice(2).replace(/ \((was there|arrives)\)/g, '');
    const y = evaluate(text), most = Math.max(1, ...(text.match(/[\d.]+/g) || []).map(Number));
    count.filled++;
    if (!(Math.abs(y - x) <= 1e-3 * Math.abs(x) + 1e-5 * most || Number.isNaN(x) || x === y))
      bad(name + ' is ' + x + ', but it says ' + text + ', which is ' + y);
  }
  // + - * / ^, functions of known names, [a > b] is 1 or 0. Throws where it cannot read.
  function evaluate(text) {
    const tokens = text.replace(/\u2212/g, '-').replace(/\u00d7/g, '*')
      .replace(/\u221e/g, '1e999').match(/\d*\.?\d+(e[-+]?\d+)?|[A-Za-z]+|[<>=]+|\S/g) || [];
    const known = { exp: Math.exp, ln: Math.log, tanh: Math.tanh, sqrt: Math.sqrt,
      max: Math.max, min: Math.min, sin: Math.sin, cos: Math.cos, pow: Math.pow };
    let k = 0;
    const take = what => tokens[k] === what && ++k > 0;
    function must(what) {
      if (!take(what)) throw Error(text + ': expected ' + what + ', not ' + tokens[k]);
    }
    function sum() {
      let x = product();
      while ('+-'.includes(tokens[k] || ' ')) x += tokens[k++] === '-' ? -product() : product();
      return x;
    }
    function product() {
      let x = power();
      while (k < tokens.length && !/^([-+),>\]=;|]|<.*|>.*|if|else)$/.test(tokens[k]))
        if (take('/')) x /= power();
        else { take('*'); x *= power(); }
      return x;
    }
    function power() {
      const x = primary();
      return take('^') ? Math.pow(x, primary()) : x;
    }
    function primary() {
      const name = tokens[k++];
      if (name === '-') return -power();
      if (name === '(') { const x = sum(); must(')'); return x; }
      if (name === '[') return condition();
      if (name === 'NaN') return NaN;
      if (name === 'pi') return Math.PI;
      if (!known[name]) {
        if (!/^[\d.]/.test(name || '')) throw Error(text + ': what is ' + name + '?');
        return Number(name);
      }
      if (!take('(')) return known[name](power());
      const of = [sum()];
      while (take(',')) of.push(sum());
      must(')');
      return known[name](...of);
    }
    function condition() {
      const a = sum(), how = tokens[k++], b = sum();
      must(']');
      const holds = { '>': a > b, '<': a < b, '>=': a >= b, '<=': a <= b, '=': a === b }[how];
      if (holds === undefined) throw Error(text + ': what is ' + how + '?');
      return holds ? 1 : 0;
    }
    const x = sum();
    if (k < tokens.length) throw Error(text + ': what is ' + tokens.slice(k).join(' ') + '?');
    return x;
  }

  // Losses and softmaxes say how a number was made, not of what alone; so do means over rows.
  test('losses-with-numbers', bad => {
    moments.forEach((t, m) => {
      const c = nodes[t.n];
      if (!'fb'.includes(t.w) || !/^(Softmax|LogSoftmax|(Softmax)?LogLoss)$/.test(c.op)) return;
      go(m);
      const td = cells().find(cell => t.w === 'f' ? cell.entry.id === c.id && !cell.entry.kind
        : cell.entry.id !== c.id && cell.entry.kind);
      if (!td) return;
      point(td);
      const sum = document.querySelector('#how .sum'), text = sum ? sum.textContent : '';
      if (!/^= [^a-z]*\d/.test(text.replace(/ln|exp/g, '')) || /\w\[|sum_|arrives/.test(text))
        bad(m + ': ' + td.name + ' says ' + text);
    });
  });

  // A tensor of three indices or more: whichever two are rows and columns, the map shows them.
  test('axes', bad => {
    const m = moments.findIndex((t, k) => (go(k), all('#cards select').length > 0));
    if (m < 0 && nodes.some(x => x.dim.length > 2)) bad('no axis can be chosen');
    if (m < 0) return;
    const first = all('#cards section').findIndex(card => all('select', card).length);
    const look = () => all('#cards section')[first];
    const n = all('option', all('select', look())[0]).length;
    for (let choice = 0; choice < 2 * n * n; choice++) {
      const k = choice % 2, row = Math.floor(choice / 2) % n, col = Math.floor(choice / 2 / n);
      const box = all('select', look())[k], before = all('select', look()).map(s => +s.value);
      box.value = k ? col : row;
      box.onchange();
      const after = all('select', look()).map(s => +s.value);
      if (after[0] === after[1] || after[k] !== (k ? col : row)) bad('chosen ' + after);
      if (before[k] === after[k] && before[1 - k] !== after[1 - k]) bad('the other changes');
      const last = all('[role=grid] td', look()).pop().entry, x = nodes[last.id];
      const ends = last.index.map((i, d) => after.includes(d) ? i : -1);
      ends.forEach((i, d) => {
        if (i >= 0 && i !== range(x, d).pop()) bad(label(x.id, 0, last.index) + ' is the last');
      });
      cells().forEach(cell => { check(cell, moments[m], m, bad); });
    }
  });

  // A step shows the value before it, the gradient, the value after it.
  test('a-step-has-three-maps', bad => {
    moments.forEach((t, m) => {
      if (t.w !== 's') return;
      go(m);
      const card = document.querySelector('#cards section'), maps = all('[role=grid]', card);
      const entry = all('td', maps[0])[0].entry, last = maps.length - 1;
      const values = maps.map(table => all('td', table)[0].getAttribute('aria-label'));
      const of = (kind, at) => label(entry.id, kind, entry.index) + ' = '
        + show(number(entry.id, kind, entry.index, at));
      if (values[0] !== of(0, m - 1) || values[last] !== of(0, m)) bad(m + ': ' + values);
      if (!numbers(entry.id, 1, m)) return;
      if (last !== 2 || values[1] !== of(1, m)) bad(m + ': ' + values);
    });
  });

  // Every node of a moment goes by another name, and no number is another tensor's.
  test('names', bad => {
    moments.forEach((t, m) => {
      go(m);
      const names = all('#cards h3').map(h => h.firstChild.textContent);
      if (new Set(names).size < names.length) bad(m + ': ' + names);
    });
  });

  test('gradients-fill-up', bad => {
    moments.forEach((t, m) => {
      if (t.w !== 'B') return;
      const end = m + pass(m).length;
      t.need.forEach(id => {
        const first = arrived(id, m), then = arrived(id, end);
        if (first && !first.startsWith('0 of ')) bad(nodes[id].name + ': ' + first);
        // an equation's printed lines: one contribution each, two of x[b] x[b]
        const lines = pass(m).reduce((n, c) => n + (c.x.eq
          ? c.x.back.filter(g => sides(g)[0].startsWith(nodes[id].name + '.grad')).length
          : c.x.in.filter(k => k === id).length), 0);
        if (first && first !== '0 of ' + lines)
          bad(nodes[id].name + ': ' + first + ', lines: ' + lines);
        if (then && then.split(' of ')[0] !== then.split(' of ')[1]) bad(nodes[id].name + then);
        if (id !== t.n && !data.note && number(id, 1, nodes[id].dim.map(() => 0), m) !== 0)
          bad(nodes[id].name + ' does not begin with 0');
      });
    });
  });

  test('graph', bad => {
    moments.forEach((t, m) => {
      go(m);
      const boxes = all('#graph g').length, here = all('#graph .here').length;
      if (boxes !== members(m).list.length) bad(m + ': ' + boxes + ' boxes');
      if ('fbBs'.includes(t.w) && here !== 1) bad(m + ': ' + here + ' nodes are current');
      if (t.w === 'b' && !all('#graph .bw').length) bad(m + ': no contribution is drawn');
    });
    go(1);
    all('#graph g').pop().dispatchEvent(new MouseEvent('click', { bubbles: true }));
    if (now === 1) bad('a click on a node does not go there');
  });

  test('layout', bad => {
    [0, 1, last].forEach(m => {
      go(m);
      const box = $('graph').getBoundingClientRect();
      if (innerWidth > 900 && box.top + 60 > innerHeight / 2) bad('the graph is at ' + box.top);
      const wide = document.documentElement.scrollWidth;
      if (wide > innerWidth) bad(m + ': ' + wide + ' pixels of ' + innerWidth);
    });
    if (all('table[role=grid]:not([aria-label])').length) bad('a map without a label');
    const named = b => b.textContent || b.getAttribute('aria-label');
    if (!all('button').every(named)) bad('a button without a name');
  });

  // As the web's guidelines have it: 4.5 to 1 for text.
  test('contrast', bad => {
    const rgb = text => text.match(/[\d.]+/g).map(Number);
    const light = c => c.slice(0, 3).map(v => v / 255)
      .map(v => v <= 0.03928 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4))
      .reduce((a, v, k) => a + v * [0.2126, 0.7152, 0.0722][k], 0);
    const style = e => getComputedStyle(e), card = rgb(style($('how')).backgroundColor);
    const over = (c, back) => c.length < 4 ? c
      : c.slice(0, 3).map((v, k) => v * c[3] + back[k] * (1 - c[3]));
    function look(e, back) {
      const a = light(rgb(style(e).color)), b = light(back);
      const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      if (ratio < 4.5) bad((e.id || e.className || e.tagName) + ' has ' + ratio.toFixed(2));
    }
    go(1);
    look(document.body, rgb(style(document.body).backgroundColor));
    look($('about'), rgb(style(document.body).backgroundColor));
    look($('where'), card);
    look(document.querySelector('[aria-current]'),
      rgb(style(document.querySelector('[aria-current]')).backgroundColor));
    all('td.wide.p, td.wide.n').forEach(td => {
      if (!td.textContent) return;
      look(td, over(rgb(style(td).backgroundColor), card));
    });
  });

  test('alone', bad => {
    if (performance.getEntriesByType('resource').length) bad('something was asked for');
    failures.forEach(f => bad(f));
  });

  const page = document.createElement('pre');
  page.id = 'results';
  page.textContent = '\n' + lines.join('\n') + '\ncounted ' + JSON.stringify(count) + '\n';
  document.body.append(page);
})();
