/** Takes a lock and works under it, renewing, until it hears a word; then releases and leaves. */
import { type Lease, Locks } from '../../../src/index.ts';
import { CALL_TIMEOUT_MS } from '../limits.ts';
import { type ClientKind, openStore } from './store.ts';
import { leave, nextWord, readTask, reportTrouble, say } from './talk.ts';

export interface TakerTask {
  readonly port: number;
  readonly client: ClientKind;
  readonly guard: 'lock' | 'mutex';
  readonly name: string;
  readonly leaseMs: number;
}

export interface TakerLine {
  /** Said when the lock is held. A mutex has no fence: 0. */
  readonly fence?: number;
}

reportTrouble();
const { port, client, guard, name, leaseMs } = readTask<TakerTask>();
const store = await openStore(client, port);
const locks = new Locks(store.client, { leaseMs, callTimeoutMs: CALL_TIMEOUT_MS });
const [lease, fence] = await take();
say({ fence });
await nextWord();
await lease.release();
leave();

async function take(): Promise<readonly [Lease, number]> {
  if (guard === 'mutex') return [await locks.mutex(name).acquire(), 0];
  const fenced = await locks.lock(name).acquire();
  return [fenced, fenced.fence];
}
