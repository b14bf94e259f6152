'use strict';
/* The lock that many write first: it is released with a plain DEL, whoever has it by then. Over a socket, and nothing else. */

const net = require('node:net');
const { run } = require('picklock-worker');

let settings, socket, waiting;

/* Every reply to these commands is one line. */
function connect() {
  let text = '';
  socket = net.connect(settings.address());
  socket.setNoDelay(true);
  socket.on('data', (bytes) => {
    text += bytes;
    if (!text.endsWith('\r\n') || !waiting) return;
    waiting.resolve(text.trim());
    waiting = null;
    text = '';
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    if (waiting) waiting.reject(new Error('connection lost'));
    waiting = null;
  });
}

function ask(...words) {
  if (socket.destroyed) connect();
  const parts = words.map((word) => `$${Buffer.byteLength(String(word))}\r\n${word}\r\n`);
  return new Promise((resolve, reject) => {
    waiting = { resolve, reject };
    socket.write(`*${words.length}\r\n${parts.join('')}`);
  });
}

run({
  promises: ['expiry'],
  library: 'a plain DEL, in Node.js',

  async init(given) {
    settings = given;
    connect();
  },

  async acquire() {
    return (await ask('SET', settings.key, settings.name, 'NX', 'PX', settings.ttl_ms)) === '+OK';
  },

  async release() {
    return (await ask('DEL', settings.key)) === ':1';
  },

  async close() {
    socket.destroy();
  },
});
