// Added to a copy of a trace page by tests/browser.sh. The page has to show the headings and nodes
// of a slide as edf_print_program printed them, in the array `printed`.
addEventListener('load', () => {
  const results = [], all = (what, inside) => [...(inside || document).querySelectorAll(what)];
  const check = (name, bad) => results.push(bad.length === 0 ? 'ok ' + name
    : 'not ok ' + name + ': ' + String(bad.slice(0, 2)).slice(0, 400));
  const [forward, backward] = all('#program > ol');
  // A row without the place in the C program, which is a <small>.
  const text = e => [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.data.trim()).join('');
  const rows = (list, folded) => all('p, button, summary', list)
    .filter(e => !e.closest('details') === !folded || e.tagName === 'SUMMARY').map(text);
  // A printed line without its op, shape and place: "   Tanh [b=4, 8]   x.c:9".
  const lines = (from, to) => printed.slice(printed.indexOf(from) + 1, to)
    .map(line => line.replace(/ {3}\w+ (\[[^\]]*\])? +\S+:\d+$/, '').trim());
  const differ = (shown, expected) => Array.from({ length: Math.max(shown.length, expected.length) },
    (_, k) => shown[k] === expected[k] ? '' : `${shown[k]} instead of ${expected[k]}`).filter(d => d);

  const of_forward = rows(forward).slice(1), of_backward = rows(backward).slice(1);
  check('forward-as-printed', differ(of_forward, lines('forward', printed.indexOf('backward'))));
  // After "... 7 more" the page lists the gradients that are complete there.
  check('backward-as-printed', differ(of_backward.filter(row => !/\.grad, by /.test(row)),
                                      lines('backward')));
  const heading = 'h[b,t,j] = tanh(V[j,I] h[b,t-1,I] + W[j,K] x[b,t,K]) | j<4   [t=0]';
  const is_heading = row => all('.heading').some(e => e.textContent === row);
  const folded = all('summary').map(e => e.textContent);
  check('headings', is_heading(heading) && is_heading('[t=1]') ? [] : all('.heading').map(text));
  check('folded-steps', /^\[t=2 to t=8\] the same: nodes \d+ to \d+,\[t=8 to t=2\] /.test(folded)
    ? [] : folded.concat('', ''));
  check('fold-has-its-steps', rows(forward, true).includes('[t=8]') ? [] : rows(forward, true));

  // A fold is open while one of its steps is shown.
  const fold = all('details')[0], button = all('button', fold)[0], was_open = fold.open;
  button.click();
  const is_open = fold.open, current = all('[aria-current]')[0];
  all('button', forward)[0].click();
  check('fold-opens', !was_open && is_open && !fold.open && current === button ? []
    : [was_open, is_open, fold.open]);
  check('no-error', failures);
  document.body.innerHTML = '<pre id="results"></pre>';
  document.querySelector('#results').textContent = '\n' + results.join('\n') + '\ncounted ' +
    of_forward.length + ' ' + of_backward.length + '\n';
});
