// Added to a copy of a trace page by tests/browser.sh: steps through the page by the keys of a
// keyboard, points at entries and adds up the sums that the page then shows.
addEventListener('load', () => {
  const results = [], all = (what, inside) => [...(inside || document).querySelectorAll(what)];
  const check = (name, bad) => results.push(bad.length === 0 ? 'ok ' + name
    : 'not ok ' + name + ': ' + String(bad.slice(0, 2)).slice(0, 400));
  const press = key => document.body.dispatchEvent(
    new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  const number = text => parseFloat(text.replace(/\u2212/g, '-').replace(/[()]/g, ''));
  const current = () => all('#program [aria-current]')[0];

  // 0.5 is the value of the line  = 0.1 (was there) + [0.2 x 3] - [0.1 x 2]
  function added(line) {
    let sum = 0, sign = 1;
    line.childNodes.forEach(part => {
      if (part.nodeType === Node.TEXT_NODE) {
        const before = number(part.textContent.replace('=', ''));
        if (!Number.isNaN(before)) sum += before;
        sign = /\u2212\s*$/.test(part.textContent) ? -1 : 1;
      } else sum += sign * part.lastChild.textContent.split('\u00d7')
        .reduce((x, factor) => x * number(factor), 1);
    });
    return sum;
  }

  let moments = 0, hovers = 0, sums = 0;
  const wrong = [], wrongSums = [], at = new Set();
  press('Home');
  for (let last = null; current() !== last; moments++) {
    last = current();
    at.add(last);
    const cards = all('#cards section').map(card => all('[role=grid]', card).pop());
    cards.flatMap(grid => grid ? all('td', grid).slice(0, 20) : []).forEach(td => {
      const label = td.getAttribute('aria-label') || '', says = label.split(' = ');
      td.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }));
      const shown = document.querySelector('#how .result'), x = number(says[1] || '');
      hovers++;
      if (!shown || !document.querySelector('#how').textContent.includes(says[0]) ||
          !(Math.abs(number(shown.textContent) - x) <= 0.01 * Math.abs(x))) wrong.push(label);
      const line = document.querySelector('#how .sum'), boxes = line ? all('.t', line) : [];
      if (!boxes.length || all('span', boxes[0]).length < 2) return;
      if (/\u2026|max of/.test(line.textContent)) return;          // a part of it, or no sum
      sums++;
      if (Math.abs(added(line) - x) > 0.02 * (1 + Math.abs(x)))
        wrongSums.push(label + ' is not ' + line.textContent);
    });
    press('ArrowRight');
  }
  check('steps', at.size < 6 || at.size !== moments ? [moments + ' moments'] : []);
  check('hover-shows-the-number', wrong.concat(hovers < 100 ? [hovers + ' entries'] : []));
  check('hover-shows-its-sum', wrongSums.concat(sums < 25 ? [sums + ' sums'] : []));
  check('no-error', failures);
  check('no-request', performance.getEntriesByType('resource').map(e => e.name));
  check('not-wider-than-its-window', document.documentElement.scrollWidth > innerWidth
    ? [document.documentElement.scrollWidth + ' pixels'] : []);
  const lines = document.createElement('pre');
  lines.id = 'results';
  lines.textContent = '\n' + results.join('\n') + '\ncounted ' + hovers + ' ' + sums + '\n';
  document.body.append(lines);
});
