"""Makes the pictures of the README from the real page, in Chromium by Playwright, with Pillow.   python pictures.py PAGE DIRECTORY
     backprop.png   a slide, its derived backward, and one entry of a gradient as a sum of products
     playground.gif stepping through a backward, and then training, at most 600 KB"""
import io, os, shutil, sys
from PIL import Image
from playwright.sync_api import sync_playwright

page_path, directory = os.path.abspath(sys.argv[1]), sys.argv[2]
browser_path = next(filter(None, map(shutil.which, ('chromium', 'chromium-browser', 'google-chrome'))), None)
MOST = 600 * 1024


def screenshot(page, size=None):
    image = Image.open(io.BytesIO(page.screenshot())).convert('RGB')
    return image.resize(size, Image.LANCZOS) if size else image


def small(image, colours):
    return image.quantize(colours, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)


with sync_playwright() as p:
    browser = p.chromium.launch(executable_path=browser_path, args=['--no-sandbox'])

    def open_page(width, height, example, scale=1):
        page = browser.new_context(viewport={'width': width, 'height': height}, bypass_csp=True, device_scale_factor=scale).new_page()
        page.goto('file://%s#example=%s' % (page_path, example))
        page.locator('html[data-ready="1"]').wait_for(state='attached')
        page.wait_for_timeout(400)
        return page

    # The left column without the training, so that all three are side by side.
    page = open_page(1240, 640, 'XOR', 1.5)
    page.add_style_tag(content='#training, header, footer, details { display: none !important } main { padding-top: 8px }')
    page.evaluate('() => { go(moments.findIndex(t => t.w === "b" && nodes[t.n].name === "W")); '
                  'document.querySelector("#rows").scrollTop = 1e4; }')
    page.hover('#cards .main td >> nth=3')
    page.wait_for_timeout(200)
    small(screenshot(page), 160).save(os.path.join(directory, 'backprop.png'), optimize=True)

    page = open_page(1240, 800, 'MLP')
    size, frames, times = (868, 560), [], []

    def take(milliseconds):
        frames.append(screenshot(page, size))
        times.append(milliseconds)
    page.evaluate('go(moments.findIndex(t => t.w === "B"))')
    for _ in range(6):
        take(900)
        page.keyboard.press('ArrowDown')
    page.evaluate('picked = null; go(moments.findIndex(t => t.w === "b" && nodes[t.n].name === "W"))')
    take(1200)
    page.select_option('#speed', '100')
    page.click('#play')
    for _ in range(12):
        page.wait_for_timeout(350)
        take(250)
    page.click('#play')
    page.wait_for_timeout(300)
    take(2500)
    browser.close()

palette = small(frames[-1], 32)
frames = [f.quantize(palette=palette, dither=Image.Dither.NONE) for f in frames]
path = os.path.join(directory, 'playground.gif')
frames[0].save(path, save_all=True, append_images=frames[1:], duration=times, loop=0, optimize=True)
if os.path.getsize(path) > MOST:
    sys.exit('%s has %d bytes, at most %d' % (path, os.path.getsize(path), MOST))
for name in ('backprop.png', 'playground.gif'):
    print('drew', os.path.join(directory, name), os.path.getsize(os.path.join(directory, name)), 'bytes')
