/** A lease whose connections all go silent, while new ones work. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Lease } from '../../src/index.ts';
import { StallWatch } from '../support/processes/stall-watch.ts';
import type { FaultProxy, Match } from '../support/proxies/fault-proxy.ts';
import { ask } from '../support/servers/raw-redis.ts';
import { waitFor } from '../support/wait-for.ts';

/**
 * A machine that stands still for most of a short lease costs it, and that is not what is asked here: a lease that is
 * lost beside a stall is tried again, at most so often. One that is lost without a stall is a failure at once.
 */
const TRIES_MAX = 5;
/** A server that takes longer to answer has stood still. */
const ANSWER_MS_MAX = 100;
const LOOK_EVERY_MS = 25;

interface Silenced {
  acquire(): Promise<Lease>;
  readonly proxies: readonly FaultProxy[];
  readonly renews: Match;
  /** How many of the proxies must see renewals again. @default all of them */
  readonly needed?: number;
}

/** Notices when this process stands still, or one of the servers, which are processes of their own. */
class SceneWatch {
  readonly #own = new StallWatch();
  readonly #servers: Promise<unknown>;
  #slowestMs = 0;
  #isOver = false;

  constructor(ports: readonly number[]) {
    this.#servers = Promise.all(ports.map((port) => this.#watch(port)));
  }

  /** The longest stall, 0 for none. */
  async end(): Promise<number> {
    this.#own.end();
    this.#isOver = true;
    await this.#servers;
    return Math.max(this.#own.longestMs, this.#slowestMs < ANSWER_MS_MAX ? 0 : this.#slowestMs);
  }

  async #watch(port: number): Promise<void> {
    while (!this.#isOver) {
      const beganMs = performance.now();
      await ask(port, ['PING']).catch(() => {});
      this.#slowestMs = Math.max(this.#slowestMs, performance.now() - beganMs);
      await sleep(LOOK_EVERY_MS);
    }
  }
}

/** Resolves when a lease has outlived the connections that it was granted over, and was released over others. */
export async function outlivesSilence(silenced: Silenced): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const watch = new SceneWatch(silenced.proxies.map(({ targetPort }) => targetPort));
    const [outcome] = await Promise.allSettled([keptThroughSilence(silenced)]);
    const stallMs = await watch.end();
    if (outcome.status === 'rejected') throw outcome.reason;
    const { isKept, reason } = outcome.value;
    if (isKept) return;
    if (stallMs === 0) throw new Error('lost, and nothing stood still', { cause: reason });
    if (tries === TRIES_MAX) throw new Error('lost every time', { cause: reason });
    console.info(`tried again after a stall of ${Math.round(stallMs)} ms: ${String(reason)}`);
  }
}

async function keptThroughSilence({
  acquire,
  proxies,
  renews,
  needed = proxies.length,
}: Silenced): Promise<{ isKept: boolean; reason: unknown }> {
  const lease = await acquire();
  for (const proxy of proxies) {
    proxy.clearHistory();
    proxy.mute();
  }
  // A dead connection does not get into the history: what is there came over a new one.
  const isRenewed = (proxy: FaultProxy): boolean => proxy.history.filter(renews).length >= 2;
  const areRenewed = (): boolean => proxies.filter(isRenewed).length >= needed;
  await waitFor(() => lease.signal.aborted || areRenewed(), { what: 'renewals', limitMs: 20_000 });
  const isKept = !lease.signal.aborted && (await lease.release());
  return { isKept, reason: lease.signal.reason };
}
