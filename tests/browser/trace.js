// Added to a copy of a trace page by tests/browser.sh: steps through the page by the keys of a
// keyboard, points at entries and reads the numbers and sums that the page then shows.
addEventListener('load', () => {
  const results = [], all = (what, inside) => [...(inside || document).querySelectorAll(what)];
  const check = (name, bad) => results.push(bad.length === 0 ? 'ok ' + name
    : 'not ok ' + name + ': ' + String(bad.slice(0, 2)).slice(0, 400));
  const press = key => document.body.dispatchEvent(
    new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  const number = text => parseFloat(text.replace(/\u2212/g, '-').replace(/[()]/g, ''));
  const current = () => all('#program [aria-current]')[0];

  let moments = 0, hovers = 0, sums = 0;
  const wrong = [], unread = [], at = new Set();
  press('Home');
  for (let last = null; current() !== last; moments++) {
    last = current();
    at.add(last);
    const grids = all('#cards [role=grid]');
    grids.flatMap(grid => all('td', grid).slice(0, 20)).forEach(td => {
      const label = td.getAttribute('aria-label') || '', says = label.split(' = ');
      td.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }));
      const shown = document.querySelector('#how .result'), x = number(says[1] || '');
      hovers++;
      if (!shown || !document.querySelector('#how').textContent.includes(says[0]) ||
          !(Math.abs(number(shown.textContent) - x) <= 0.01 * Math.abs(x))) wrong.push(label);
      const sum = document.querySelector('#how .sum');
      sums += sum !== null;
      if (sum && / - 1[01]\)/.test(sum.textContent)) unread.push(sum.textContent);  // of 1[k = y[b]]
    });
    press('ArrowRight');
  }
  check('steps', at.size < 6 || at.size !== moments ? [moments + ' moments'] : []);
  check('hover-shows-the-number', wrong.concat(hovers < 100 ? [hovers + ' entries'] : []));
  check('a-condition-is-0-or-1', unread);
  check('hover-shows-its-sum', sums < 25 ? [sums + ' sums'] : []);
  check('no-error', failures);
  check('no-request', performance.getEntriesByType('resource').map(e => e.name));
  check('not-wider-than-its-window', document.documentElement.scrollWidth > innerWidth
    ? [document.documentElement.scrollWidth + ' pixels'] : []);
  const lines = document.createElement('pre');
  lines.id = 'results';
  lines.textContent = '\n' + results.join('\n') + '\ncounted ' + hovers + ' ' + sums + '\n';
  document.body.append(lines);
});
