// What somebody's tests do with the package under Jest, whichever way it was loaded.
const assert = require('node:assert/strict');

exports.defineRules = ({ Locks, LockAbortedError, LockUnavailableError }, { EmbeddedNode }, { Redis }) => {
  let node;

  beforeEach(() => {
    node = new EmbeddedNode();
  });

  afterEach(() => node.close());

  test('locks exclude each other on the embedded node', async () => {
    const [here, there] = [new Locks(node.client()), new Locks(node.client())];
    const fence = await here.lock('a').using(
      async (lease) => {
        assert.equal(await there.lock('a').tryAcquire(), null);
        return here.lock('a').using((inner) => Math.max(inner.fence, lease.fence));
      },
      { waitMs: 5_000 },
    );
    const next = await there.lock('a').acquire({ waitMs: 5_000 });
    assert.ok(next.fence > fence);
    await Promise.all([here.close(), there.close()]);
  });

  test('a signal ends a wait', async () => {
    const [here, there] = [new Locks(node.client()), new Locks(node.client())];
    await here.lock('a').acquire({ waitMs: 5_000 });
    const leaving = new AbortController();
    const waiting = there.lock('a').acquire({ signal: leaving.signal });
    leaving.abort(new Error('enough'));
    await assert.rejects(waiting, (error) => error instanceof LockAbortedError);
    await Promise.all([here.close(), there.close()]);
  });

  test('a client of ioredis is taken', async () => {
    const { host, port } = await node.listen();
    const redis = new Redis({ host, port, lazyConnect: true });
    const locks = new Locks(redis);
    const lease = await locks.mutex('m').acquire({ waitMs: 5_000 });
    assert.equal(await lease.release(), true);
    await locks.close();
    redis.disconnect();
  });

  test('an outage is told with its reason', async () => {
    const { host, port } = await node.listen();
    await node.close();
    const redis = new Redis({ host, port, lazyConnect: true });
    const locks = new Locks(redis);
    await assert.rejects(locks.lock('a').tryAcquire(), (error) => {
      assert.ok(error instanceof LockUnavailableError);
      // The error comes from Node, which is outside of what Jest calls the world.
      assert.match(error.servers[0].text, /^connect ECONNREFUSED/);
      return true;
    });
    await locks.close();
    redis.disconnect();
  });
};
