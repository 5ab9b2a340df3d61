/** `holdfast demo`: the sale that oversells without a lock, for real, in a minute. */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:os';
import { type DemoServer, startDemoMonitor, startDemoRedis } from '../demo/demo-servers.ts';
import { NO_OBSERVER, Progress } from '../demo/progress.ts';
import { isAsPromised } from '../demo/round.ts';
import { Sale } from '../demo/sale.ts';
import { checkSqlite, makeStockFile } from '../demo/stock-file.ts';
import { summarize } from '../demo/summary.ts';
import { EXIT } from '../exit-codes.ts';
import { Failure } from '../failure.ts';
import { printJson, printLines, printNotice, styled } from '../output.ts';
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
  readonly sql?: boolean;
  readonly watch?: boolean;
  readonly json?: boolean;
}

/** Long enough for a busy laptop, short enough to wait for in a demo. */
const LEASE_MS = 2_000;

export async function demo(flags: DemoFlags): Promise<number> {
  if (flags.chaos && flags.instances < 2) {
    throw new Failure(
      'usage',
      '--instances: expected at least 2, so that one may fail; got 1. See --no-chaos',
    );
  }
  if (flags.sql) checkSqlite();
  const own = flags.redis === undefined ? await startDemoRedis() : null;
  try {
    const redis = flags.redis ?? [own?.url ?? ''];
    // The variables name other servers than the demo's own Redis; and the shops do not support a cluster.
    const environment = own === null ? loginVariables(process.env) : {};
    // The shops are given URLs only, with the login in them.
    const urls = resolveUrls({ redis }, {}).map((url) => writeServerUrl(withLogin(url, environment)));
    const servers = await openServers({ redis }, environment);
    try {
      return await runSale(flags, urls, servers, own !== null);
    } finally {
      servers.close();
    }
  } finally {
    await own?.close();
  }
}

function loginVariables({ HOLDFAST_REDIS_USERNAME, HOLDFAST_REDIS_PASSWORD }: Environment): Environment {
  return { HOLDFAST_REDIS_USERNAME, HOLDFAST_REDIS_PASSWORD };
}

async function runSale(
  flags: DemoFlags,
  urls: readonly string[],
  servers: Servers,
  isOwnRedis: boolean,
): Promise<number> {
  const { instances, stock, buyers, seconds: secondsMax, chaos, json } = flags;
  const [first, ...others] = servers.clients;
  if (first === undefined) throw new Failure('internal', 'the demo has no server');
  const locks = openLocks(servers, {});
  const item = `holdfast-demo-${randomUUID().slice(0, 8)}`;
  const database = flags.sql ? makeStockFile() : null;
  const refuser = database === null ? 'the fence' : 'the database';
  const observer = json ? NO_OBSERVER : new Progress(locks, item, process.stdout.isTTY === true, refuser);
  if (!json) {
    const where = isOwnRedis ? 'a Redis of its own' : servers.labels.join(', ');
    const store = database === null ? '' : ', with the stock in SQLite';
    printLines([`${instances} shops, ${stock} items, ${buyers} buyers at a time, on ${where}${store}`, '']);
  }
  const monitor = flags.watch ? await startDemoMonitor(urls, item) : null;
  if (monitor !== null) sayWhere(monitor.url, json === true);
  const sale = new Sale(
    { instances, stock, buyers, secondsMax, leaseMs: LEASE_MS, item, urls, database },
    [first, ...others],
    locks,
    observer,
  );
  const stop = onSignal(sale, monitor);
  try {
    const results = await sale.run(chaos);
    if (json) printJson({ leaseMs: LEASE_MS, rounds: results });
    else printLines(summarize(results, LEASE_MS, database === null ? 'the stock' : 'the database'));
    if (monitor !== null && !json && process.stdout.isTTY === true) {
      stop();
      await untilLookedAt();
    }
    return results.every(isAsPromised) ? EXIT.ok : EXIT.nothing;
  } finally {
    stop();
    await sale.close();
    await locks.close();
    await monitor?.close();
  }
}

function sayWhere(url: string, json: boolean): void {
  // Standard output is JSON, and nothing else.
  if (json) printNotice(`watch the sale at ${url}`);
  else printLines([['watch the sale at ', styled('bold', url)], '']);
}

/** Whoever sits at a terminal looks at the page for as long as they like. */
async function untilLookedAt(): Promise<void> {
  printLines(['', 'The page stays. Ctrl-C ends it.']);
  await new Promise<void>((resolve) => {
    const stay = setInterval(() => {}, 60_000);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => {
        clearInterval(stay);
        resolve();
      });
    }
  });
}

/** On SIGINT and SIGTERM the shops and the monitor are ended before us. */
function onSignal(sale: Sale, monitor: DemoServer | null): () => void {
  const leave = async (signal: NodeJS.Signals): Promise<void> => {
    await Promise.all([sale.close(), monitor?.close()]).catch(() => {});
    process.exit(EXIT.signalled + constants.signals[signal]);
  };
  process.once('SIGINT', leave).once('SIGTERM', leave);
  return () => void process.off('SIGINT', leave).off('SIGTERM', leave);
}
