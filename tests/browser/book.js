// What a browser finds in the book: errors, requests, pictures that do not load, links to
// nowhere, a book that is wider than its window, a page that is longer than two screens.
addEventListener('load', () => {
  const check = (name, bad) => results.push((bad.length ? 'not ok ' : 'ok ') + name +
                                            (bad.length ? ': ' + bad.join(', ') : ''));
  const results = [], root = document.documentElement;
  const all = (what, is) => [...document.querySelectorAll(what)].filter(is);
  check('no-error', failures);
  check('no-request', performance.getEntriesByType('resource').map(e => e.name.slice(0, 60))
                                 .filter(name => !name.startsWith('data:')));
  check('pictures', all('img', i => !i.naturalWidth).map(i => i.alt));
  const is_try_it = a => a && a.getAttribute('href').startsWith('playground.html#slide=%');
  check('links', all('a', a => !is_try_it(a) && !document.getElementById(a.hash.slice(1))).map(a => a.href));
  check('slides-can-be-tried', all('pre.edf', p => !is_try_it(p.nextElementSibling.querySelector('a')))
                                 .map(p => p.innerText));
  check('not-wider', root.scrollWidth > innerWidth ? [root.scrollWidth + ' pixels'] : []);
  if (innerWidth > 1000)                     // two screens, of 1080 pixels each
    check('two-screens', all('section', s => /^\d/.test(s.id) && s.offsetHeight > 2 * 1080)
                           .map(s => s.id + ' ' + s.offsetHeight));
  document.body.innerHTML = '<pre id="results">\n\n' + results.join('\n') + '\ncounted\n</pre>';
});
