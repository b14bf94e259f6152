'use strict';
/* A small lock over ioredis that `picklock test` finds nothing against: what each line is for stands beside it. */

const { randomUUID } = require('crypto');
const Redis = require('ioredis');
const { run } = require('picklock-worker');

const RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end";
const PATIENCE_MS = 1000;

let settings, client, token;

/* No time of the library's own: retries send a command twice, and its commandTimeout leaves the connection open. */
function connected() {
  if (client && client.status !== 'end') return client;
  client = new Redis({ ...settings.address(), maxRetriesPerRequest: 0, retryStrategy: null, connectTimeout: PATIENCE_MS });
  client.on('error', (error) => console.error(error.message));
  return client;
}

function hangUp() {
  if (client) client.disconnect();
  client = null;
}

/* A connection that has fallen silent is given up, and what waits on it fails. Behind a failure the next command has a new one: no late reply comes there. */
async function ask(command) {
  const silent = setTimeout(hangUp, PATIENCE_MS);
  try {
    return await command(connected());
  } catch (error) {
    hangUp();
    throw error;
  } finally {
    clearTimeout(silent);
  }
}

function release() {
  return ask((redis) => redis.eval(RELEASE, 1, settings.key, token)); // compares and deletes in one step
}

run({
  promises: ['expiry', 'token'],

  async init(given) {
    settings = given;
    connected();
  },

  async acquire() {
    token = randomUUID(); // of this attempt alone: what an earlier one sent is not taken for its own
    const asked = performance.now(); // the lease counts from here, and no operator sets this clock
    const said = await ask((redis) => redis.set(settings.key, token, 'PX', settings.ttl_ms, 'NX'));
    // It may be ours all the same: what lies between may have sent it twice.
    if (said !== 'OK' && (await ask((redis) => redis.get(settings.key))) !== token) return false;
    if (performance.now() - asked > settings.ttl_ms * 0.9) { // too late, with something for a clock that runs slow
      await release();
      throw new Error('the lock came when most of its lease was over');
    }
    return true;
  },

  async release() {
    return (await release()) === 1;
  },

  async close() {
    hangUp();
  },
});
