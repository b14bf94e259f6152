'use strict';
/* picklock-clocks - loaded into Node.js before a worker's own program (NODE_OPTIONS), while its time is picklock's.
 *
 * Node.js reads the monotonic clock for itself whenever its event loop goes on; from outside these reads look like the
 * program's. So each read that the program makes is told here, by a call that nobody else makes: it asks for the priority
 * of a process that there cannot be (time_page.h, enum time_told). picklock-time.so hears it. What is called, and what it
 * returns, stay as they are. Ways to the clock that cannot be followed to the read are told as such: then there is no
 * verdict that rests on knowing all reads.
 *
 * And it keeps V8 from compiling WebAssembly on other threads, as the flags do all else (runtime.c), and from going by
 * that time when it collects garbage.
 *
 * Sources: the documentation of Node.js on perf_hooks, process, os, events, worker_threads, wasi and v8. */

const os = require('node:os');
const perfHooks = require('node:perf_hooks');
const workerThreads = require('node:worker_threads');
const { syncBuiltinESMExports } = require('node:module');

const TELLS = 0x70630000;
const READ = 0, TELLS_READS = 1, NATIVE = 2, ENTRIES = 3, EVENT = 4, THREAD = 5, WASI = 6; // enum time_told

const { getPriority } = os;
const { apply, construct, getOwnPropertyDescriptor, getPrototypeOf, defineProperty, get } = Reflect;

function tell(what) {
  getPriority(TELLS + what);
}

/* The same function or class to whoever looks at it; each use is told first. */
function told(original, what, applies = () => true) {
  return new Proxy(original, {
    apply(target, self, values) {
      if (applies(values)) tell(what);
      return apply(target, self, values);
    },
    construct(target, values, made) {
      if (applies(values)) tell(what);
      return construct(target, values, made);
    },
  });
}

function define(owner, name, as) {
  if (!defineProperty(owner, name, as)) throw new Error(`${name} cannot be told`);
}

/* Where the property stands: the object itself, or what it inherits it from. */
function ownerOf(object, name) {
  let owner = object;
  while (owner && !getOwnPropertyDescriptor(owner, name)) owner = getPrototypeOf(owner);
  return owner;
}

/* object.name is told from now on, as a function or as a getter. What is not there in this Node.js is left out. */
function tellUse(object, name, what, applies) {
  const owner = object && ownerOf(object, name);
  if (!owner) return;
  const now = getOwnPropertyDescriptor(owner, name);
  const part = now.get ? 'get' : 'value';
  if (typeof now[part] === 'function') define(owner, name, { ...now, [part]: told(now[part], what, applies) });
}

/* object.name is an object: who takes it is told. */
function tellTaking(object, name, what) {
  const owner = ownerOf(object, name);
  const now = owner && getOwnPropertyDescriptor(owner, name);
  if (!now || !('value' in now)) return;
  let value = now.value;
  define(owner, name, {
    configurable: now.configurable,
    enumerable: now.enumerable,
    get() {
      tell(what);
      return value;
    },
    set(other) {
      value = other;
    },
  });
}

/* A class that stands in a module and is a global, too, stays one. */
function tellClass(object, name, what, applies) {
  const before = object[name];
  tellUse(object, name, what, applies);
  const global = getOwnPropertyDescriptor(globalThis, name);
  if (!global || get(globalThis, name) !== before) return;
  const { configurable, enumerable } = global;
  define(globalThis, name, { configurable, enumerable, writable: true, value: object[name] });
}

/* WebAssembly is compiled by threads of V8's own, unless it is told otherwise. It is told where somebody takes it: a
 * flag that it begins with would have it compile all modules of Node.js, too. */
function compileAtOnce() {
  const now = getOwnPropertyDescriptor(globalThis, 'WebAssembly');
  if (!now || !now.configurable || !('value' in now)) return;
  const settle = (value) => define(globalThis, 'WebAssembly', { ...now, value });
  define(globalThis, 'WebAssembly', {
    configurable: true,
    enumerable: now.enumerable,
    get() {
      const { setFlagsFromString } = require('node:v8');
      for (const flag of ['--wasm-num-compilation-tasks=0', '--no-wasm-async-compilation', '--no-wasm-tier-up']) setFlagsFromString(flag);
      settle(now.value);
      return now.value;
    },
    set: settle,
  });
}

/* By its clock seconds pass between two steps: V8 takes a program for idle that makes so little garbage a second, and gives
 * back half of the young generation at each collection, to take it anew. --predictable has it go by no clock there; all
 * else that it says is said by flags (runtime.c), or is read as V8 begins. Behind the program's own modules: a flag that
 * is set before would have V8 compile all modules of Node.js, too. Not where V8 has threads of its own, behind a wrapper:
 * these it does not bear. */
function collectByNoClock() {
  const isAlone = ['--single-threaded-gc', '--no-concurrent-recompilation'].every((flag) => process.execArgv.includes(flag));
  if (isAlone && workerThreads.isMainThread) setImmediate(() => require('node:v8').setFlagsFromString('--predictable'));
}

/* Of a module that is an experiment Node.js warns whoever loads it. Undefined: it is not there. */
function quietly(load) {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return load();
  } catch {
    return undefined;
  } finally {
    process.emitWarning = emitWarning;
  }
}

function follow() {
  const { performance } = perfHooks;
  for (const name of ['now', 'mark', 'measure', 'toJSON']) tellUse(performance, name, READ);
  tellUse(process.hrtime, 'bigint', READ);
  tellUse(process, 'hrtime', READ);
  tellUse(process, 'uptime', READ);

  const entries = ['getEntries', 'getEntriesByName', 'getEntriesByType'];
  for (const name of ['timerify', 'eventLoopUtilization', ...entries]) tellUse(performance, name, ENTRIES);
  tellTaking(performance, 'nodeTiming', ENTRIES);
  for (const name of ['monitorEventLoopDelay', 'createHistogram']) tellUse(perfHooks, name, ENTRIES);
  for (const name of ['PerformanceObserver', 'PerformanceMark']) tellClass(perfHooks, name, ENTRIES);
  tellUse(globalThis.Event && Event.prototype, 'timeStamp', EVENT);

  // a thread has this module, too, where it is begun with the options of the process
  tellUse(workerThreads, 'Worker', THREAD, ([, options]) => Boolean(options && (options.execArgv || options.env)));
  tellUse(process, 'dlopen', NATIVE);
  tellUse(quietly(() => require('node:wasi')), 'WASI', WASI);
  syncBuiltinESMExports();
}

/* Where something goes wrong, nothing is said: then each read counts, also those of Node.js. */
try {
  tell(READ); // does anybody hear it? Otherwise the clocks are the machine's
  follow();
  tell(TELLS_READS);
} catch {}

compileAtOnce();
collectByNoClock();
