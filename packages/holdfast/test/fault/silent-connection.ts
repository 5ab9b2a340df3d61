/** A lease whose connections all go silent, while new ones work. */
import type { Lease } from '../../src/index.ts';
import type { FaultProxy, Match } from '../support/proxies/fault-proxy.ts';
import { waitFor } from '../support/wait-for.ts';

/**
 * A machine that stands still for most of a short lease costs it, and that is not what is asked here: a lease that is
 * lost is tried again a few times. One whose renewals stay on the dead connection is lost every time.
 */
const TRIES_MAX = 5;

interface Silenced {
  acquire(): Promise<Lease>;
  readonly proxies: readonly FaultProxy[];
  readonly renews: Match;
  /** How many of the proxies must see renewals again. @default all of them */
  readonly needed?: number;
}

/** Resolves when a lease has outlived the connections that it was granted over, and was released over others. */
export async function outlivesSilence({ acquire, proxies, renews, needed }: Silenced): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const lease = await acquire();
    for (const proxy of proxies) {
      proxy.clearHistory();
      proxy.mute();
    }
    // A dead connection does not get into the history: what is there came over a new one.
    const isRenewed = (proxy: FaultProxy): boolean => proxy.history.filter(renews).length >= 2;
    const isKept = (): boolean => proxies.filter(isRenewed).length >= (needed ?? proxies.length);
    await waitFor(() => lease.signal.aborted || isKept(), { what: 'renewals', limitMs: 20_000 });
    if (!lease.signal.aborted && (await lease.release())) return;
    if (tries === TRIES_MAX) throw new Error('lost every time', { cause: lease.signal.reason });
  }
}
