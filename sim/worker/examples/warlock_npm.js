'use strict';
/* npm node-redis-warlock on the npm client redis, as they are. */

const { promisify } = require('node:util');
const redis = require('redis');
const Warlock = require('node-redis-warlock');
const { run } = require('picklock-worker');

let settings, client, warlock, lock, id;

/* The library keeps the error of a script to itself: then there is no result, and nobody knows. */
function certainly(result) {
  if (result === undefined) throw new Error('the script had no result');
  return result;
}

run({
  promises: ['expiry', 'extends', 'token'],
  library: `npm node-redis-warlock ${require('node-redis-warlock/package.json').version}`,

  async init(given) {
    settings = given;
    client = redis.createClient({ ...settings.address(), retry_strategy: (lost) => (lost.attempt > 1 ? new Error('gone') : 50) });
    client.on('error', (error) => console.error(error.message));
    warlock = Warlock(client);
    lock = promisify((key, ttl, done) => warlock.lock(key, ttl, (error, unlock, token) => done(error, unlock && token)));
  },

  async acquire(wait_ms) {
    const token = await lock(settings.key, settings.ttl_ms);
    id = token || id;
    return Boolean(token);
  },

  async extend() {
    return certainly(await warlock.touch(settings.key, id, settings.ttl_ms)) === 'OK';
  },

  async release() {
    return certainly(await promisify(warlock.unlock)(settings.key, id)) === 1;
  },

  async close() {
    client.end(false);
  },
});
