// Runs program.c. A message is { id, commands }; the answer { id, answers, text, error, ms }: one
// object for each command, what was printed besides, and the error that ended it. With `fresh` a
// new instance begins, as it must after an error, since WebAssembly has no setjmp.
let module, instance, memory, out = '';
const view = () => new DataView(memory.buffer);
const wasi = {
  environ_sizes_get: (count, bytes) => { view().setUint32(count, 0, true); view().setUint32(bytes, 0, true); return 0; },
  environ_get: () => 0,
  clock_time_get: (which, precision, at) => { view().setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true); return 0; },
  proc_exit: () => { throw new Error('exit'); },
  fd_close: () => 0,
  fd_fdstat_get: () => 0,
  fd_seek: () => 70,                       // it is no file
  fd_write: (fd, at, n, done) => {
    let bytes = 0;
    for (; n--; at += 8) {
      const from = view().getUint32(at, true), size = view().getUint32(at + 4, true);
      out += decoder.decode(new Uint8Array(memory.buffer, from, size), { stream: true });
      bytes += size;
    }
    view().setUint32(done, bytes, true);
    return 0;
  },
};
// Calls run(with) of the program. Returns 1, or 0 if it has trapped. The frames that it leaves are taken from the program's stack.
function attempt(run, argument) {
  const stack = instance.exports.__stack_pointer, before = stack.value;
  try { instance.exports.call(run, argument); return 1; } catch (trap) { stack.value = before; return 0; }
}
let decoder = new TextDecoder();

async function begin() {
  decoder = new TextDecoder();
  instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: wasi, page: { attempt } });
  memory = instance.exports.memory;
  instance.exports._initialize();
}

function run(command) {
  const bytes = new TextEncoder().encode(command);
  const at = instance.exports.room(bytes.length);
  new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
  out = '';
  try { instance.exports.run(); } catch (trap) { instance = null; }
  const lines = out.trimEnd().split('\n');
  const json = lines.findIndex(line => line.startsWith('{"'));      // The nodes are several lines.
  return { answer: JSON.parse(json < 0 ? '{"error":"it stopped"}' : lines.slice(json).join('\n')),
           text: lines.slice(0, json < 0 ? 0 : json).join('\n') };
}

let last = Promise.resolve();
async function serve(data) {
  if (data.wasm) { module = await WebAssembly.compile(data.wasm); return { ready: 1 }; }
  const start = performance.now(), answers = [];
  let text = '', error = null;
  if (data.fresh || !instance) await begin();
  for (const command of data.commands) {
    const r = run(command);
    answers.push(r.answer);
    text += r.text;
    if (r.answer.error !== undefined) { error = r.answer.error; break; }
  }
  return { answers, text, error, ms: performance.now() - start };
}
onmessage = e => {
  const answer = a => postMessage({ id: e.data.id, ...a });
  last = last.then(() => serve(e.data)).then(answer, bad => answer({ answers: [], text: '', error: String(bad), ms: 0 }));
};
