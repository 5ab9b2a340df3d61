/** `holdfast demo`: the sale that oversells without a lock, for real, in a minute. */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:os';
import { Progress, SILENT } from '../demo/progress.ts';
import { isAsPromised } from '../demo/round.ts';
import { Sale } from '../demo/sale.ts';
import { openStage, type Stage } from '../demo/stage.ts';
import { summarize } from '../demo/summary.ts';
import { EXIT } from '../exit-codes.ts';
import { Failure } from '../failure.ts';
import { printJson, printLines } from '../output.ts';
import { type Environment, resolveUrls, withLogin } from '../servers/address.ts';
import { openServers, type Servers } from '../servers/connection.ts';
import { openLocks } from '../servers/locks.ts';
import { writeServerUrl } from '../servers/url.ts';

export interface DemoFlags {
  readonly redis?: readonly string[];
  readonly instances: number;
  readonly stock: number;
  readonly buyers: number;
  readonly seconds: number;
  readonly chaos: boolean;
  readonly json?: boolean;
}

/** Long for a busy laptop, short for somebody who watches. */
const LEASE_MS = 2_000;

export async function demo(flags: DemoFlags): Promise<number> {
  if (flags.chaos && flags.instances < 2) {
    throw new Failure(
      'usage',
      '--instances: expected at least 2, so that one may fail; got 1. See --no-chaos',
    );
  }
  const stage = flags.redis === undefined ? await openStage() : null;
  try {
    const redis = flags.redis ?? [stage?.url ?? ''];
    // What the environment says of servers is not about a Redis of the demo's own; and the shops know no cluster.
    const environment = stage === null ? loginVariables(process.env) : {};
    // The shops read URLs in their own way, and nothing else.
    const urls = resolveUrls({ redis }, {}).map((url) => writeServerUrl(withLogin(url, environment)));
    const servers = await openServers({ redis }, environment);
    try {
      return await play(flags, urls, servers, stage);
    } finally {
      servers.close();
    }
  } finally {
    await stage?.close();
  }
}

function loginVariables({ HOLDFAST_REDIS_USERNAME, HOLDFAST_REDIS_PASSWORD }: Environment): Environment {
  return { HOLDFAST_REDIS_USERNAME, HOLDFAST_REDIS_PASSWORD };
}

async function play(
  flags: DemoFlags,
  urls: readonly string[],
  servers: Servers,
  stage: Stage | null,
): Promise<number> {
  const { instances, stock, buyers, seconds: secondsMax, chaos, json } = flags;
  const [first, ...others] = servers.clients;
  if (first === undefined) throw new Failure('internal', 'the demo has no server');
  const locks = openLocks(servers, {});
  const item = `holdfast-demo-${randomUUID().slice(0, 8)}`;
  const audience = json ? SILENT : new Progress(locks, item, process.stdout.isTTY === true);
  if (!json) {
    const where = stage === null ? servers.labels.join(', ') : 'a Redis of its own';
    printLines([`${instances} shops, ${stock} items, ${buyers} buyers at a time, on ${where}`, '']);
  }
  const sale = new Sale(
    { instances, stock, buyers, secondsMax, leaseMs: LEASE_MS, item, urls },
    [first, ...others],
    locks,
    audience,
  );
  const stop = onSignal(sale);
  try {
    const results = await sale.run(chaos);
    if (json) printJson({ leaseMs: LEASE_MS, rounds: results });
    else printLines(summarize(results, LEASE_MS));
    return results.every(isAsPromised) ? EXIT.ok : EXIT.nothing;
  } finally {
    stop();
    await sale.close();
    await locks.close();
  }
}

/** Whoever has seen enough leaves no shop behind. */
function onSignal(sale: Sale): () => void {
  const leave = async (signal: NodeJS.Signals): Promise<void> => {
    await sale.close().catch(() => {});
    process.exit(EXIT.signalled + constants.signals[signal]);
  };
  process.once('SIGINT', leave).once('SIGTERM', leave);
  return () => void process.off('SIGINT', leave).off('SIGTERM', leave);
}
