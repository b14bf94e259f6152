'use strict';
/* picklock-worker - what a lock program in Node.js needs to be tested by picklock. No dependency.
 *
 *   const { run } = require('picklock-worker');
 *   run({
 *     promises: ['expiry', 'extends'],
 *     async init(settings) { ... },        // once, and at each reset; settings.key, .ttl_ms, .address() ...
 *     async acquire(wait_ms) { ... },      // true, false, or a fence (a number)
 *     async extend() { ... },
 *     async release() { ... },             // true, or false: it was not mine
 *     async cancel() { ... },              // the acquire that goes on is to end soon: true, it will (promise it with 'cancels')
 *     async close() { ... },               // before a reset: lets go of connections and timers
 *   });
 *
 * What a method throws is an error: nobody knows whether it has happened. Refused is `return false`, and nothing else.
 * From an ES module: import { createRequire } from 'node:module'; createRequire(import.meta.url)('picklock-worker').
 *
 * Standard output is picklock's alone: once this is loaded, what anybody prints goes to standard error. See docs/WORKERS.md of picklock. */

const fs = require('node:fs');

const OUT = 1;
let own = [];

function say(answer) {
  own.push(Buffer.from(JSON.stringify(answer) + '\n'));
  while (own.length) {
    const line = own.shift();
    const done = fs.writeSync(OUT, line);
    if (done < line.length) own.unshift(line.subarray(done));
  }
}

/* From here on: a library may print while it is loaded, too. */
function takeOutput() {
  const toErrors = process.stderr.write.bind(process.stderr);
  process.stdout.write = (...values) => toErrors(...values);
}

takeOutput();

class Settings {
  constructor(request) {
    Object.assign(this, request);
    delete this.op;
    delete this.id;
  }

  /* { host, port } of a server. */
  address(server = 0) {
    const [host, port] = this.servers[server].split(':');
    return { host, port: Number(port) };
  }

  url(server = 0) {
    return `redis://${this.servers[server]}`;
  }
}

function outcome(result) {
  if (typeof result === 'number' || typeof result === 'bigint') return { ok: true, fence: Number(result) };
  return { ok: Boolean(result) };
}

function clocks() {
  return { monotonic_us: Number(process.hrtime.bigint() / 1000n), wall_us: Date.now() * 1000 };
}

/* The library knows that the lock is gone (promise it with 'notice'). */
function lost() {
  say({ event: 'lost' });
}

function check(worker) {
  for (const method of ['init', 'acquire', 'release'])
    if (typeof worker[method] !== 'function') throw new Error(`the worker has no method ${method}`);
}

function run(worker) {
  let settings;

  async function make() {
    check(worker);
    if (settings.isUsed && worker.close) await worker.close();
    settings.isUsed = true;
    await worker.init(settings.shown);
    return { ready: true, promises: worker.promises || ['expiry'], library: worker.library || '' };
  }

  async function perform(request) {
    switch (request.op) {
      case 'init':
        settings = { shown: new Settings(request), isUsed: false };
        return make();
      case 'reset':
        return make();
      case 'time':
        return clocks();
      case 'acquire':
        return outcome(await worker.acquire(request.wait_ms));
      case 'extend':
        return outcome(await worker.extend());
      case 'release':
        return outcome(await worker.release());
      case 'cancel':
        return { ok: worker.cancel ? Boolean(await worker.cancel(request.of)) : false };
      default:
        throw new Error(`unknown op '${request.op}'`);
    }
  }

  async function answer(request) {
    let said;
    try {
      said = await perform(request);
    } catch (error) {
      if (request.op === 'init' || request.op === 'reset') {
        console.error(error);
        process.exit(1);
      }
      // what bytes a library puts into its message is its own affair: halves of a character are no text
      said = { error: String((error && error.message) || error).replace(/\p{Surrogate}/gu, '\ufffd') };
    }
    say({ id: request.id, ...said });
  }

  let rest = '';
  process.stdin.setEncoding('utf8');
  process.stdin.on('data', (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop();
    for (const line of lines) answer(JSON.parse(line));
  });
  process.stdin.on('end', () => process.exit(0));
}

module.exports = { run, lost, Settings };
