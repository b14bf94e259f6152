'use strict';
/* The scheme set-nx-px-cad as somebody's lock program: it looks at its wall clock when it begins, and before it releases; not when a reply comes. */

const { randomBytes } = require('node:crypto');
const net = require('node:net');
const { run } = require('picklock-worker');

const RELEASE = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end";
let settings, token, until;

function ask(...words) {
  return new Promise((resolve, reject) => {
    const socket = net.connect(settings.address());
    socket.write(`*${words.length}\r\n${words.map((word) => `$${String(word).length}\r\n${word}\r\n`).join('')}`);
    socket.on('data', (bytes) => {
      socket.destroy();
      resolve(String(bytes));
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the connection broke')));
  });
}

run({
  promises: ['expiry', 'token'],

  async init(given) {
    settings = given;
  },

  async acquire() {
    until = Date.now() + settings.ttl_ms;
    token = randomBytes(16).toString('hex');
    return (await ask('SET', settings.key, token, 'NX', 'PX', settings.ttl_ms)) === '+OK\r\n';
  },

  async release() {
    return Date.now() < until && (await ask('EVAL', RELEASE, 1, settings.key, token)) === ':1\r\n';
  },
});
