/** Uses locks in the ways it is told, ends its own client, and then has nothing more to do. */
import { Locks } from '../../../src/index.ts';
import { STEPS, type StepName } from './steps.ts';
import { type ClientKind, openStore } from './store.ts';
import { leave, readTask, reportTrouble, say } from './talk.ts';

export interface LeaverTask {
  readonly port: number;
  readonly client: ClientKind;
  /** Where its locks live, so that several can run at once. */
  readonly prefix: string;
  readonly steps: readonly StepName[];
  /** Whether its own client is used by itself too. One that is not connected is only a pattern for ours. */
  readonly connects: boolean;
  readonly shareConnection: boolean;
  readonly callTimeoutMs: number;
}

export interface LeaverLine {
  /** Said before the first step. */
  readonly begun?: true;
  /** Said when nothing is left to do. */
  readonly leaving?: true;
}

reportTrouble();
const { port, client, prefix, steps, connects, ...options } = readTask<LeaverTask>();
const store = await openStore(client, port);
if (connects) await store.connect();
const settings = { prefix, leaseMs: 10_000, ...options };
const locks = new Locks(store.client, settings);
const others = new Locks(store.client, settings);
say({ begun: true });
for (const step of steps) await STEPS[step](locks, others);
store.end();
leave();
