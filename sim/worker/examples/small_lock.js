'use strict';
/* A small lock of our own, over a small client of our own: SET NX PX with a random token, released by a script that compares. */

const { randomBytes } = require('node:crypto');
const net = require('node:net');
const { run } = require('picklock-worker');

const RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

/* One value of RESP2 in text, and where it ends; null: it has not come whole. */
function parse(text) {
  const end = text.indexOf('\r\n');
  if (end < 0) return null;
  const head = text.slice(1, end);
  if (text[0] === '+') return { value: head, end: end + 2 };
  if (text[0] === ':') return { value: Number(head), end: end + 2 };
  if (text[0] === '-') return { value: new Error(head), end: end + 2 };
  const length = Number(head);
  if (length < 0) return { value: null, end: end + 2 };
  if (text.length < end + 4 + length) return null;
  return { value: text.slice(end + 2, end + 2 + length), end: end + 4 + length };
}

class Client {
  constructor(address) {
    this.address = address;
    this.waiting = [];
    this.connect();
  }

  connect() {
    this.text = '';
    this.socket = net.connect(this.address);
    this.socket.on('data', (bytes) => this.take(bytes.toString('latin1')));
    this.socket.on('error', (error) => this.fail(error));
    this.socket.on('close', () => this.fail(new Error('connection lost')));
  }

  take(bytes) {
    this.text += bytes;
    for (let found; (found = parse(this.text)); ) {
      this.text = this.text.slice(found.end);
      const { resolve, reject } = this.waiting.shift();
      if (found.value instanceof Error) reject(found.value);
      else resolve(found.value);
    }
  }

  fail(error) {
    for (const { reject } of this.waiting.splice(0)) reject(error);
  }

  ask(...words) {
    if (this.socket.destroyed) this.connect();
    const parts = words.map((word) => `$${Buffer.byteLength(String(word))}\r\n${word}\r\n`);
    this.socket.write(`*${words.length}\r\n${parts.join('')}`);
    return new Promise((resolve, reject) => this.waiting.push({ resolve, reject }));
  }
}

let client, settings, token, isCancelled;

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

run({
  promises: ['expiry', 'cancels'],

  async init(given) {
    settings = given;
    client = new Client(settings.address());
  },

  async acquire(wait_ms) {
    const end = Date.now() + wait_ms;
    token = randomBytes(8).toString('hex');
    isCancelled = false;
    for (;;) {
      const isGranted = await client.ask('SET', settings.key, token, 'NX', 'PX', settings.ttl_ms);
      if (isGranted && !isCancelled) return true;
      if (isGranted) await this.release();              // nobody wants it any more
      if (isGranted || isCancelled || Date.now() >= end) return false;
      await sleep(50);
    }
  },

  async release() {
    return (await client.ask('EVAL', RELEASE, 1, settings.key, token)) === 1;
  },

  async cancel() {
    isCancelled = true;
    return true;
  },

  async close() {
    client.socket.destroy();
  },
});
