// SPDX-License-Identifier: MIT
// Runs a WASI program under node with the given arguments and the current environment; exits with the program's exit code:
//
//     node --no-warnings tools/run_wasi.mjs PROGRAM [ARGS…]
import { readFile } from 'node:fs/promises';
import { argv, env } from 'node:process';
import { WASI } from 'node:wasi';

const wasi = new WASI({ version: 'preview1', args: argv.slice(2), env, returnOnExit: true });
const program = await WebAssembly.compile(await readFile(argv[2]));
const instance = await WebAssembly.instantiate(program, wasi.getImportObject());
process.exitCode = wasi.start(instance);
