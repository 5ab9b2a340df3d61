/**
 * A process whose callbacks misbehave: listeners of signals and subscribers of channels throw, and block the event
 * loop, when the first of its leases is lost. It says what became of the second.
 */
import { subscribe } from 'node:diagnostics_channel';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import { CHANNELS, Locks } from '../../../src/index.ts';
import { reach } from '../../support/locks/reach.ts';

export interface CallbackPlan {
  readonly port: number;
  readonly kind: 'lock' | 'mutex';
  readonly names: readonly [lost: string, kept: string];
}

export type CallbackWord =
  | { readonly event: 'held' }
  | { readonly event: 'lost'; readonly reason: string; readonly heard: number }
  | {
      readonly event: 'end';
      readonly wasKept: boolean;
      readonly released: boolean;
      /** Messages of errors that reached the process; all must be the callbacks' own. */
      readonly uncaught: readonly string[];
      readonly unhandled: readonly string[];
    };

const BLOCK_MS = 50;

const { port, kind, names } = JSON.parse(process.argv[2] ?? '') as CallbackPlan;
const say = (word: CallbackWord): void => console.log(JSON.stringify(word));
const uncaught: string[] = [];
const unhandled: string[] = [];
process.on('uncaughtException', (error) => uncaught.push(error.message));
process.on('unhandledRejection', (error) => unhandled.push(String(error)));

const client = new Redis({ port, host: '127.0.0.1' });
const locks = new Locks(client, { leaseMs: 6_000 });
const of = (name: string) => (kind === 'lock' ? locks.lock(name) : locks.mutex(name));
const [lostName, keptName] = names;
await reach(locks);
const lost = await of(lostName).acquire();
const kept = await of(keptName).acquire();

let heard = 0;
const misbehave = (): never => {
  heard += 1;
  const untilMs = performance.now() + BLOCK_MS;
  while (performance.now() < untilMs);
  throw new Error('a callback of the caller');
};
lost.signal.addEventListener('abort', misbehave);
lost.signal.addEventListener('abort', async () => misbehave());
lost.signal.onabort = misbehave;
subscribe(CHANNELS.lost, misbehave);
subscribe(`tracing:${CHANNELS.renew}:start`, misbehave);
// The last listener comes all the same.
lost.signal.addEventListener('abort', () => {
  say({ event: 'lost', reason: lost.signal.reason.reason, heard });
});

say({ event: 'held' });
await new Promise((resolve) => createInterface({ input: process.stdin }).once('line', resolve));
const wasKept = kept.isHeld && !kept.signal.aborted;
const released = await kept.release();
await locks.close();
client.disconnect();
process.stdin.destroy();
say({ event: 'end', wasKept, released, uncaught, unhandled });
