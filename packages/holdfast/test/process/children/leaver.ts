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
  readonly callTimeoutMs: number;
  /** The servers that decide, when they are several. */
  readonly quorum?: readonly number[];
  /** Of several: see the options of `Locks`. */
  readonly nodeTimeoutMs?: number;
  readonly restartGuardMs?: number;
}

export interface LeaverLine {
  /** Said before the first step. */
  readonly begun?: true;
  /** Said when nothing is left to do. */
  readonly leaving?: true;
}

reportTrouble();
const { port, client, prefix, steps, connects, quorum, ...options } = readTask<LeaverTask>();
const store = await openStore(client, port);
if (connects) await store.connect();
const settings = { prefix, leaseMs: 10_000, ...options };
const voters = await Promise.all((quorum ?? []).map((each) => openStore(client, each)));
const servers = quorum === undefined ? store.client : voters.map((voter) => voter.client);
const locks = new Locks(servers, settings);
const others = new Locks(servers, settings);
say({ begun: true });
for (const step of steps) await STEPS[step](locks, others);
for (const { end } of [store, ...voters]) end();
leave();
