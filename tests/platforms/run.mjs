// node --no-warnings tests/platforms/run.mjs PROGRAM.wasm ARGUMENTS: runs a WASI program, which
// may open the files of the current directory. The exit status is the program's.
import { readFile } from 'node:fs/promises';
import { WASI } from 'node:wasi';

const args = process.argv.slice(2);
const wasi = new WASI({ version: 'preview1', args, env: {}, preopens: { '.': '.' },
                        returnOnExit: true });
const program = await WebAssembly.compile(await readFile(args[0]));
const imports = { wasi_snapshot_preview1: wasi.wasiImport };
process.exitCode = wasi.start(await WebAssembly.instantiate(program, imports));
