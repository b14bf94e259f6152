'use strict';
/* npm redlock on ioredis, as they are. It asks all servers that it is given, and promises a quorum: with one server that is one. */

const Redis = require('ioredis');
const Redlock = require('redlock');
const { run } = require('picklock-worker');

let settings, clients, redlock, lock, trouble;

/* The library says "Exceeded 0 attempts" of a refusal and of a connection that was lost. Which of them it was, it says aside. */
async function certainly(promise) {
  trouble = null;
  try {
    return await promise;
  } catch (error) {
    if (error.name !== 'LockError' || trouble) throw trouble || error;
    return false;
  }
}

run({
  promises: ['expiry', 'extends', 'token', 'quorum'],
  library: `npm redlock ${require('redlock/package.json').version}`,

  async init(given) {
    settings = given;
    clients = settings.servers.map((_, server) => new Redis({ ...settings.address(server), maxRetriesPerRequest: 0 }));
    for (const client of clients) client.on('error', (error) => console.error(error.message));
    redlock = new Redlock(clients, { retryCount: 0 });
    redlock.on('clientError', (error) => (trouble = error));
  },

  async acquire(wait_ms) {
    const retryCount = Math.floor(wait_ms / redlock.retryDelay);
    const granted = await certainly(redlock.acquireWithOptions(settings.key, settings.ttl_ms, { retryCount }));
    lock = granted || lock;
    return Boolean(granted);
  },

  async extend() {
    return Boolean(await certainly(lock.extend(settings.ttl_ms)));
  },

  async release() {
    return (await certainly(lock.unlock())) !== false;
  },

  async close() {
    for (const client of clients) client.disconnect();
  },
});
