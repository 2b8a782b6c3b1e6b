"""The playground in Chromium.   python page.py PAGE DIRECTORY: prints ok and not ok lines."""
import os, re, shutil, subprocess, sys
from playwright.sync_api import sync_playwright

page_path, directory = os.path.abspath(sys.argv[1]), sys.argv[2]
browser_path = next(filter(None, map(shutil.which, ('chromium', 'chromium-browser', 'google-chrome'))), None)
if not browser_path:
    print('skip page: no chromium')
    sys.exit()
failed = 0


def check(name, right, found=''):
    global failed
    failed += not right
    print('ok ' + name if right else 'not ok %s: found %r' % (name, found))


XOR = ('input x[b,2], y[b]\nh[b,j] = tanh(W[j,I] x[b,I] - B[j]) | j<8\n'
       'P[b,k] = softmax_k V[k,J] h[b,J] | k<2\nloss[b] = -ln P[b,y[b]]\n')


class Page:
    def __init__(self, browser, width, height=900, dark=False, hash='', bypass_csp=True):
        self.context = browser.new_context(viewport={'width': width, 'height': height}, bypass_csp=bypass_csp,
                                           color_scheme='dark' if dark else 'light')
        self.page = self.context.new_page()
        self.bad = []
        self.page.on('console', lambda m: m.type in ('error', 'warning') and self.bad.append(m.text))
        self.page.on('pageerror', lambda e: self.bad.append(str(e)))
        self.page.on('request', lambda r: r.url.startswith(('http', 'ws')) and self.bad.append(r.url))
        self.page.goto('file://' + page_path + hash)
        self.page.locator('html[data-ready="1"]').wait_for(state='attached')

    def wait(self, condition, timeout=20000):
        self.page.wait_for_function(condition, timeout=timeout)

    def text(self, selector):
        return self.page.inner_text(selector)

    def write(self, text):
        self.page.fill('#slide', text)

with sync_playwright() as p:
    browser = p.chromium.launch(executable_path=browser_path, args=['--no-sandbox'])
    w = Page(browser, 1280)
    check('it-begins-with-a-program', 'h0[b,j] = W[j,I] x[b,I] - B[j]' in w.text('#forward'), w.text('#forward'))

    # Playwright's wait_for_function is what the page's policy forbids: so the others bypass it.
    strict = Page(browser, 1280, bypass_csp=False)
    check('policy-allows-what-it-needs', 'tanh' in strict.text('#forward'), strict.text('#forward'))

    # The page shows headings and nodes as edf_print_program prints them.
    STEPS = ('input x[b,9,3]\nh[b,t,j] = tanh(V[j,I]  h[b,t-1,I] + W[j,K] x[b,t,K]) | j<4\n'
             's[b,t] = A[J] h[b,t,J]\nP[b,t] = softmax_t s[b,t]\nloss[b] = mean_t (P[b,t] - s[b,t])^2\n')
    w.write(STEPS)
    w.wait('document.querySelector("#parameters").innerText.includes("A [4]")')
    w.page.click('#in-c')
    source = os.path.join(directory, 'steps.c')
    with open(source, 'w') as f:
        f.write(w.text('#c-code pre'))
    w.page.click('#close-c')
    subprocess.run(['cc', '-DEDF_REAL=double', '-I.', source, '-o', source[:-2], '-lm'], check=True)
    printed = subprocess.run([source[:-2]], capture_output=True, text=True).stdout
    printed = re.sub(r'   \w+ (\[[^\]]*\])?   \S+:\d+$', '', printed, flags=re.M)
    forward, backward = printed.split('\nforward\n')[1].split('\nbackward\n')
    for part, expected in (('forward', forward), ('backward', backward)):
        shown = w.page.evaluate('''[...document.querySelectorAll("#%s > div")].map(div => div.firstChild.data)''' % part)
        expected = expected.rstrip().split('\n')
        check(part + '-as-printed', [s.strip() for s in shown] == [e.strip() for e in expected], (shown, expected))
    check('folded-steps', '[t=2 to t=8] the same: nodes' in w.text('#forward') and
          '[t=8 to t=2] the same: nodes' in w.text('#backward'), w.text('#forward'))

    # A slide, a mistake, a correction.
    w.write(XOR)
    w.wait('document.querySelector("#parameters").innerText.includes("V [2, 8]")')
    check('backward', 'W.grad[j,i] += h0.grad[b,j] x[b,i]' in w.text('#backward'), w.text('#backward'))
    w.write(XOR.replace('V[k,J] h[b,J]', 'V[k,J] h[b,J,J]'))
    w.wait('document.querySelector("#error").innerText.length > 0')
    check('error-has-its-line', w.text('#error').startswith('line 3: '), w.text('#error'))
    check('error-is-marked', w.page.inner_text('mark.bad') != '' and w.page.locator('mark.bad').count() == 1)
    check('last-program-stays', 'tanh' in w.text('#forward') and w.page.locator('#program.stale').count() == 1)
    w.write(XOR)
    w.wait('!document.querySelector("#error").innerText')
    check('correction', w.page.locator('#program.stale').count() == 0)

    # Lines that belong together.
    w.page.hover('#forward div:nth-child(2)')
    lines = w.page.locator('.rows .linked').all_inner_texts()
    check('hover-links-lines', any('tanh(h0' in t for t in lines) and any('h0.grad[b,j] +=' in t for t in lines)
          and w.page.inner_text('#marks mark').startswith('h[b,j]'), lines)

    # It trains XOR, and a keystroke is answered meanwhile.
    for name, value in (('data', 'xor'), ('rule', 'sgd')):
        w.page.select_option('#' + name, value)
    for name, value in (('rate', '0.5'), ('batch', '4'), ('seed', '1')):
        w.page.fill('#' + name, value)
        w.page.dispatch_event('#' + name, 'change')
    w.wait('document.querySelector("#state").innerText === "step 0"')
    w.page.click('#play')
    w.wait('state.losses.length > 20')
    w.write(XOR.replace('ln P', 'ln Q'))
    w.wait('document.querySelector("#error").innerText.length > 0', 2000)
    check('a-page-that-trains-answers', w.page.evaluate('state.playing'))
    w.wait('state.losses.at(-1) < 0.05', 30000)
    w.page.click('#play')
    check('xor-is-learnt', w.page.evaluate('state.losses.at(-1)') < 0.05)
    w.write(XOR)
    w.wait('!document.querySelector("#error").innerText')
    right = 'for b,i,j: W.grad[j,i] += h0.grad[b,j] x[b,i]'
    w.page.select_option('#line', label='h0[b,j] = W[j,I] x[b,I] - B[j]')
    w.page.fill('#answer', right)                      # the line for B is missing
    w.page.click('#judge')
    w.wait('document.querySelector("#verdict").innerText.length > 9')
    check('answer-is-judged', w.text('#verdict').startswith('not right:'), w.text('#verdict'))
    check('boundary', w.page.locator('#boundary').count() == 1)

    w.page.click('#in-c')
    check('c-program', '#include "edf/slide.h"' in w.text('#c-code pre') and 'cc -O2 hw1.c -lm' in w.text('#c-code pre'))
    source = os.path.join(directory, 'hw1.c')
    with open(source, 'w') as f:
        f.write(w.text('#c-code pre'))
    c = subprocess.run(['cc', '-std=c99', '-Wall', '-Wextra', '-I.', source, '-o', source[:-2], '-lm'],
                       capture_output=True, text=True)
    printed = subprocess.run([source[:-2]], capture_output=True, text=True).stdout if not c.stderr else ''
    check('c-program-runs', 'W.grad[j,i] += h0.grad[b,j] x[b,i]' in printed, c.stderr or printed)
    w.page.click('#close-c')

    # The address has the whole state.
    w.page.fill('#slide', XOR.replace('j<8', 'j<5'))
    w.wait('document.querySelector("#parameters").innerText.includes("V [2, 5]")')
    hash = w.page.evaluate('location.hash')
    other = Page(browser, 400, hash=hash)
    check('state-from-the-address', 'V [2, 5]' in other.text('#parameters') and
          other.page.input_value('#rate') == '0.5' and other.page.input_value('#answer') == right)
    width = other.page.evaluate('document.documentElement.scrollWidth')
    check('400-pixels', width <= 400, width)

    # The largest example is quick: the best of thirty keystrokes, since other tests run meanwhile.
    names = w.page.locator('#example option').all_inner_texts()
    w.page.select_option('#example', index=[n.startswith('GPT') for n in names].index(True))
    w.wait('!document.querySelector("#error").innerText')
    times = []
    for _ in range(30):
        w.page.locator('#slide').press('Space')
        w.page.wait_for_timeout(100)
        times.append(w.page.evaluate('+document.documentElement.dataset.ms'))
    times.sort()
    check('keystroke-of-the-gpt-at-most-30-ms', times[0] <= 30, times)
    check('no-console-error-and-no-request', not w.bad + other.bad + strict.bad, w.bad + other.bad + strict.bad)
    browser.close()
sys.exit(failed > 0)
