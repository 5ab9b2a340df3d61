/**
 * A process that acquires several locks and lets go of each lease object, keeping something else of it or nothing. The
 * garbage collector runs all the time. It says in lines of JSON what becomes of each lock.
 */
import { subscribe, tracingChannel } from 'node:diagnostics_channel';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Redis } from 'ioredis';
import {
  type AbandonedMessage,
  CHANNELS,
  type FencedLease,
  Locks,
  type LostMessage,
  type RenewTrace,
} from '../../../src/index.ts';
import { reach } from '../../support/locks/reach.ts';

export interface KeeperOrder {
  readonly port: number;
  readonly name: string;
  readonly leaseMs: number;
  /** What is kept of the lease, one lock each. */
  readonly ways: readonly Way[];
}

export interface KeeperLine {
  readonly is: 'held' | 'renewed' | 'abandoned' | 'lost' | 'told' | 'warned' | 'end';
  readonly lock?: string;
  /** How often it has been renewed. */
  readonly times?: number;
  readonly reason?: string;
  readonly code?: string;
  readonly text?: string;
}

const order = JSON.parse(process.argv[2] ?? '{}') as KeeperOrder;
const say = (line: KeeperLine): void => console.log(JSON.stringify(line));
const locks = new Locks(new Redis(order.port, '127.0.0.1', { lazyConnect: true }), {
  leaseMs: order.leaseMs,
});

const silent = createServer(() => {});
await new Promise<void>((resolve) => {
  silent.listen(0, '127.0.0.1', resolve);
});
silent.unref();
const silentUrl = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`;

const HOUR_MS = 3_600_000;
const kept = new Map<string, AbortSignal>();
const tell = (lock: string): void => say({ is: 'told', lock });

/** Each gets the lease once, and is all that remembers it. */
const WAYS = {
  signal: ({ name, signal }: FencedLease): unknown => kept.set(name, signal),
  listener: ({ name, signal }: FencedLease): unknown => signal.addEventListener('abort', () => tell(name)),
  any: ({ name, signal }: FencedLease): unknown => kept.set(name, AbortSignal.any([signal])),
  anyListener: ({ name, signal }: FencedLease): unknown =>
    AbortSignal.any([signal, AbortSignal.timeout(HOUR_MS)]).addEventListener('abort', () => tell(name)),
  sleep: ({ name, signal }: FencedLease): unknown =>
    sleep(HOUR_MS, undefined, { signal, ref: false }).catch(() => tell(name)),
  fetch: ({ name, signal }: FencedLease): unknown => fetch(silentUrl, { signal }).catch(() => tell(name)),
  fence: ({ fence }: FencedLease): unknown => fence,
  nothing: (): unknown => undefined,
} as const;

/** `using`: its body never ends and keeps nothing. */
export type Way = keyof typeof WAYS | 'using';

async function take(way: Way): Promise<void> {
  const lock = locks.lock(`${order.name}:${way}`);
  if (way === 'using') {
    await new Promise<void>((resolve) => {
      void lock.using(() => {
        resolve();
        return new Promise(() => {});
      });
    });
    return;
  }
  WAYS[way](await lock.acquire());
}

const renewals = new Map<string, number>();
tracingChannel<unknown, RenewTrace>(CHANNELS.renew).subscribe({
  start: () => {},
  end: () => {},
  asyncStart: () => {},
  asyncEnd: ({ locks: names }) => {
    for (const lock of names) {
      const times = (renewals.get(lock) ?? 0) + 1;
      renewals.set(lock, times);
      say({ is: 'renewed', lock, times });
    }
  },
  error: () => {},
});
subscribe(CHANNELS.abandoned, (message) =>
  say({ is: 'abandoned', lock: (message as AbandonedMessage).lock }),
);
subscribe(CHANNELS.lost, (message) => {
  const { lock, reason } = message as LostMessage;
  say({ is: 'lost', lock, reason });
});
process.on('warning', (warning) => {
  const { code = '' } = warning as Error & { readonly code?: string };
  say({ is: 'warned', code, text: warning.message });
});

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const looking = setInterval(() => {
  collectGarbage();
  for (const [lock, { aborted }] of kept) {
    if (!aborted) continue;
    kept.delete(lock);
    tell(lock);
  }
}, 100);

await reach(locks);
for (const way of order.ways) await take(way);
say({ is: 'held' });
process.stdin.setEncoding('utf8');
for await (const text of process.stdin) {
  const line = JSON.parse(String(text).trim()) as Way | 'end';
  if (line === 'end') break;
  await take(line);
}
clearInterval(looking);
await locks.close();
silent.closeAllConnections();
say({ is: 'end' });
process.exit(0);
