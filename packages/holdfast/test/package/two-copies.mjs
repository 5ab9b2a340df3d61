// Run beside the installed packages: one process that has both copies of each, the ES module and the CommonJS one. Each
// copy must know the errors, failures and clients of the others. Prints the rules that were kept.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import * as imported from 'holdfast';
import * as importedTesting from 'holdfast-testing';

const require = createRequire(import.meta.url);
const required = require('holdfast');
const requiredTesting = require('holdfast-testing');

/** Each way round. */
const PAIRS = [
  [imported, required, requiredTesting],
  [required, imported, importedTesting],
];

const RULES = {
  'there are two copies, and they export the same': () => {
    assert.notEqual(imported.Locks, required.Locks);
    assert.notEqual(importedTesting.EmbeddedNode, requiredTesting.EmbeddedNode);
    assert.deepEqual(Object.keys(imported).sort(), Object.keys(required).sort());
    assert.deepEqual(Object.keys(importedTesting).sort(), Object.keys(requiredTesting).sort());
  },
  'an error of one is an instance of the same class of the other, and of no other class': () => {
    for (const [mine, theirs] of PAIRS) {
      const names = Object.keys(mine).filter((name) => name.endsWith('Error') && name !== 'LockError');
      assert.ok(names.includes('OnceFailedError') && names.includes('JobTimeoutError'));
      for (const name of names) {
        const error = new mine[name]('a message', { reason: 'gone' });
        assert.ok(error instanceof theirs.LockError);
        for (const other of names) assert.equal(error instanceof theirs[other], name === other);
      }
      assert.equal(new Error('a message') instanceof theirs.LockError, false);
    }
  },
  'a lock of one excludes a lock of the other, also on the embedded node of the other': async () => {
    for (const [mine, theirs, { EmbeddedNode }] of PAIRS) {
      const node = new EmbeddedNode();
      const [here, there] = [new mine.Locks(node.client()), new theirs.Locks(node.client())];
      const lease = await here.lock('a').acquire({ waitMs: 5_000 });
      assert.equal(await there.lock('a').tryAcquire(), null);
      const waiting = there.lock('a').acquire({ waitMs: 20_000 });
      assert.equal(await lease.release(), true);
      const second = await waiting;
      assert.ok(second.fence > lease.fence);
      await Promise.all([here.close(), there.close()]);
      await node.close();
    }
  },
  'a body under a lock of one is a stranger to the other': async () => {
    const node = new importedTesting.EmbeddedNode();
    const [here, there] = [new imported.Locks(node.client()), new required.Locks(node.client())];
    await here.lock('b').using(
      async () => {
        assert.equal(await there.lock('b').tryAcquire(), null);
        // Its own lock is entered again, also around a body of the other.
        const fences = await there.lock('c').using(() => here.lock('b').using((lease) => lease.fence));
        assert.ok(fences > 0);
      },
      { waitMs: 5_000 },
    );
    await Promise.all([here.close(), there.close()]);
    await node.close();
  },
  'a failure of a client of one is a failure to the other': async () => {
    for (const [mine, theirs, { EmbeddedNode }] of PAIRS) {
      assert.ok(new mine.CallFailure('closed', 'it is closed') instanceof theirs.CallFailure);
      assert.equal({ kind: 'closed' } instanceof theirs.CallFailure, false);
      const node = new EmbeddedNode();
      const locks = new mine.Locks(node.client());
      await node.close();
      await assert.rejects(locks.lock('a').tryAcquire(), (error) => {
        assert.equal(error.code, 'ELOCKUNAVAILABLE');
        return error instanceof theirs.LockUnavailableError;
      });
      await locks.close();
    }
  },
};

for (const [rule, check] of Object.entries(RULES)) {
  await check();
  console.log(`kept: ${rule}`);
}
