/** Callers that contend for one lock in a cluster without a pause, and raise a number outside Redis under it. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { Cluster } from 'ioredis';
import { type FencedLease, LockLostError, Locks } from '../../../src/index.ts';
import type { StoreReply, StoreRequest } from '../counter/fenced-store.ts';
import type { RivalTask } from '../counter/rival-task.ts';
import { leave, nextWord, readTask, reportTrouble, say } from './talk.ts';

reportTrouble();
const { ports, storePort, callers, options } = readTask<RivalTask>();
const cluster = new Cluster(
  ports.map((port) => ({ host: '127.0.0.1', port })),
  { lazyConnect: true },
);
const locks = new Locks(cluster, options);
const lock = locks.lock('guard');

const store = connect({ port: storePort, host: '127.0.0.1' });
await once(store, 'connect');
const replies: ((reply: StoreReply) => void)[] = [];
createInterface({ input: store }).on('line', (line) => replies.shift()?.(JSON.parse(line) as StoreReply));

function askStore(request: StoreRequest): Promise<StoreReply> {
  store.write(`${JSON.stringify(request)}\n`);
  return new Promise((resolve) => replies.push(resolve));
}

/** Of the machine's own clock, which all processes share. */
const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

let isOver = false;
let sections = 0;

/** How often an owner looks whether it still holds, beside every step of its own. */
const LOOK_EVERY_MS = 5;

async function section(lease: FencedLease): Promise<void> {
  const { fence } = lease;
  say({ entered: fence, atMs: nowMs() });
  let heldMs = 0;
  const look = (): void => {
    // Read first: it held at that moment or later, however long this process then stands still.
    const atMs = nowMs();
    if (lease.isHeld) heldMs = atMs;
  };
  const looking = setInterval(look, LOOK_EVERY_MS);
  try {
    const { counter } = await askStore({ fence });
    // Whoever has lost the lock does not write: that is the caller's part of the bargain.
    if (counter === null || !lease.isHeld) return;
    await askStore({ fence, value: counter + 1 });
    sections += 1;
  } finally {
    clearInterval(looking);
    look();
    say({ left: fence, heldMs });
  }
}

async function caller(): Promise<void> {
  while (!isOver) {
    try {
      await lock.using(section);
    } catch (error) {
      if (!(error instanceof LockLostError)) say({ failed: String(error) });
    }
  }
}

say({ session: locks.session });
await nextWord();
void nextWord().then(() => {
  isOver = true;
});
await Promise.all(Array.from({ length: callers }, caller));
await locks.close();
store.destroy();
say({ sections });
leave();
