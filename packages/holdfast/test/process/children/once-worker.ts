/** Runs bodies of `once`: one that waits for a word, one that dies when its body has ended, or many at random. */
import { LockError, LockLostError, Locks } from '../../../src/index.ts';
import { CALL_TIMEOUT_MS } from '../limits.ts';
import { type ClientKind, openStore } from './store.ts';
import { leave, nextWord, readTask, reportTrouble, say } from './talk.ts';

export interface OnceTask {
  readonly port: number;
  readonly client: ClientKind;
  readonly leaseMs: number;
  /**
   * `wait`: the body ends when the test says a word. `die`: the process is killed between body and storing. `crowd`: all
   * keys that begin so, from 0 to `keys`, in an order of its own.
   */
  readonly way: 'wait' | 'die' | 'crowd';
  readonly key: string;
  readonly keys?: number;
}

export interface OnceLine {
  readonly ready?: true;
  readonly began?: { readonly attempt: number; readonly fence: number };
  readonly result?: string;
  readonly results?: readonly string[];
  readonly error?: { readonly code: string; readonly outcome: unknown };
}

reportTrouble();
const { port, client, leaseMs, way, key, keys = 0 } = readTask<OnceTask>();
const store = await openStore(client, port);
const locks = new Locks(store.client, { leaseMs, callTimeoutMs: CALL_TIMEOUT_MS });

if (way === 'crowd') {
  say({ ready: true });
  await nextWord();
  await crowd();
} else {
  await one();
}
await locks.close();
store.end();
leave();

async function one(): Promise<void> {
  const dies = {
    encode: (value: string): string => {
      process.kill(process.pid, 'SIGKILL');
      return value;
    },
    decode: (bytes: Uint8Array): string => Buffer.from(bytes).toString(),
  };
  try {
    const result = await locks.once(
      key,
      async ({ attempt, fence }) => {
        say({ began: { attempt, fence } });
        if (way === 'wait') await nextWord();
        return `of ${process.pid}`;
      },
      way === 'die' ? { codec: dies } : {},
    );
    say({ result });
  } catch (error) {
    if (!(error instanceof LockError)) throw error;
    say({ error: { code: error.code, outcome: error instanceof LockLostError ? error.outcome : undefined } });
  }
}

/** Every key once, several at a time. The result of each is whose body it was. */
async function crowd(): Promise<void> {
  const results: string[] = [];
  const left = Array.from({ length: keys }, (_, i) => (i * 7 + process.pid) % keys);
  const worker = async (): Promise<void> => {
    for (let i = left.pop(); i !== undefined; i = left.pop()) {
      results[i] = await locks.once(`${key}${i}`, ({ attempt }) => `${process.pid}, attempt ${attempt}`);
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  say({ results });
}
