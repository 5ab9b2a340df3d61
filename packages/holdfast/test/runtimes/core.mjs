// The core of the contract, for any runtime that has `node:assert`: one session against another on a real server.
// Run it beside an installed package: `node core.mjs ioredis 6379`. It prints the rules that were kept.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Locks } from 'holdfast';

const [library = '', port = ''] = process.argv.slice(2);

/** Clients of somebody's application; closed at the end. */
const clients = [];

async function connect() {
  if (library === 'ioredis') {
    const { Redis } = await import('ioredis');
    const client = new Redis({ host: '127.0.0.1', port: Number(port), lazyConnect: true });
    clients.push(() => client.disconnect());
    return client;
  }
  const { createClient } = await import('redis');
  return createClient({ socket: { host: '127.0.0.1', port: Number(port) } });
}

const here = new Locks(await connect());
const there = new Locks(await connect());

/** Looks again until it is so. */
async function until(look, what) {
  const deadline = performance.now() + 10_000;
  while (!look()) {
    assert.ok(performance.now() < deadline, `waited in vain for ${what}`);
    await sleep(10);
  }
}

const RULES = {
  'a second owner waits until the first releases, and has a larger fence': async () => {
    const first = await here.lock('a').acquire();
    assert.equal(await there.lock('a').tryAcquire(), null);
    const waiting = there.lock('a').acquire({ waitMs: 10_000 });
    assert.equal(await Promise.race([waiting, sleep(200, 'still waiting')]), 'still waiting');
    assert.equal(await first.release(), true);
    const second = await waiting;
    assert.ok(second.fence > first.fence);
    assert.equal(await second.release(), true);
  },
  'a mutex excludes too': async () => {
    const lease = await here.mutex('m').acquire();
    assert.equal(await there.mutex('m').tryAcquire(), null);
    assert.equal(await lease.release(), true);
  },
  'many callers of two sessions take turns': async () => {
    let inside = 0;
    let most = 0;
    const work = async (locks) =>
      locks.lock('crowd').using(async () => {
        inside += 1;
        most = Math.max(most, inside);
        await sleep(1);
        inside -= 1;
      });
    await Promise.all(Array.from({ length: 60 }, (_, index) => work(index % 2 === 0 ? here : there)));
    assert.equal(most, 1);
  },
  'the call chain that holds a lock enters it again': async () => {
    const fences = await here.lock('b').using(async (outer) => {
      await sleep(1);
      return here.lock('b').using((inner) => [outer.fence, inner.fence]);
    });
    assert.equal(fences[0], fences[1]);
  },
  'a lease is renewed beyond its length': async () => {
    const lease = await here.lock('c').acquire({ leaseMs: 2_400 });
    await sleep(3_000);
    assert.equal(lease.isHeld, true);
    assert.equal(await there.lock('c').tryAcquire(), null);
    await lease.release();
  },
  'an owner is told when its lock is taken away': async () => {
    const lease = await here.lock('d').acquire({ leaseMs: 3_000 });
    assert.match(String(await there.forceRelease('d')), new RegExp(`^${here.session}:`));
    await until(() => lease.signal.aborted, 'the loss to be told');
    assert.equal(lease.isHeld, false);
    assert.equal(lease.signal.reason.code, 'ELOCKLOST');
    assert.equal(await lease.release(), false);
  },
  'a wait ends in time, with an error that says so': async () => {
    const lease = await here.lock('e').acquire();
    // Long enough for an answer: without one it would be an outage.
    await assert.rejects(there.lock('e').acquire({ waitMs: 1_000 }), { code: 'ELOCKTIMEOUT' });
    await lease.release();
  },
  'a lease is disposed of at the end of its block': async () => {
    const lease = await here.lock('f').acquire();
    await lease[Symbol.asyncDispose]();
    assert.equal(await there.inspect('f'), null);
  },
  'closing a session releases what it holds': async () => {
    await here.lock('g').acquire();
    await here.close();
    const lease = await there.lock('g').tryAcquire();
    assert.notEqual(lease, null);
    await there.close();
  },
};

for (const [rule, keep] of Object.entries(RULES)) {
  await keep();
  console.log(`kept: ${rule}`);
}
for (const close of clients) close();
