/** A primary and its replicas, as real servers. Which one is the primary changes as a test wants it. */

import { waitFor } from '../wait-for.ts';
import { ask, askAll } from './raw-redis.ts';
import { RedisServer } from './redis-server.ts';
import { RespError } from './resp.ts';
import { USUAL_SERVER } from './server-program.ts';

const REPLICAS = 2;

/** A replica asks its primary once a second; the rest is a moment. */
const SYNC_LIMIT_MS = 60_000;

/** A new replica is served at once, instead of after five seconds in which others might join. */
const ARGS = ['--repl-diskless-sync-delay', '0'];

export class ReplicatedServers {
  readonly servers: readonly RedisServer[];

  constructor(args: readonly string[] = [], replicas = REPLICAS, program = USUAL_SERVER) {
    const options = { args: [...ARGS, ...args], program };
    this.servers = Array.from({ length: 1 + replicas }, () => new RedisServer(options));
  }

  /** The one that tests begin with. */
  get first(): RedisServer {
    return this.servers[0] as RedisServer;
  }

  /** All but that one. */
  othersThan(server: RedisServer): RedisServer[] {
    return this.servers.filter((other) => other !== server);
  }

  async start(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.start()));
    await this.gather(this.first);
  }

  /** Everybody is up, replicates from this one, and has caught up with it. */
  async gather(primary: RedisServer): Promise<void> {
    await Promise.all(this.servers.map((server) => server.ensureUp()));
    await promote(primary);
    await Promise.all(this.othersThan(primary).map((server) => follow(server, primary)));
    await this.untilInSync(primary);
  }

  /** The replicas of this one have all that it has. */
  async untilInSync(primary: RedisServer, replicas = this.servers.length - 1): Promise<void> {
    // A message travels to the replicas as a write does, and leaves nothing behind.
    const questions = [
      ['PUBLISH', 'in-sync', ''],
      ['WAIT', `${replicas}`, '500'],
    ];
    await waitFor(async () => Number((await askAll(primary.port, questions))[1]) >= replicas, {
      what: `${replicas} replicas to catch up`,
      limitMs: SYNC_LIMIT_MS,
    });
  }
}

export async function roleOf({ port }: RedisServer): Promise<string> {
  const role = await ask(port, ['ROLE']);
  return Array.isArray(role) ? String(role[0]) : '';
}

/** Makes it a primary, whatever it was. */
export async function promote({ port }: RedisServer): Promise<void> {
  await command(port, ['REPLICAOF', 'NO', 'ONE']);
}

export async function follow({ port }: RedisServer, primary: RedisServer): Promise<void> {
  await command(port, ['REPLICAOF', '127.0.0.1', `${primary.port}`]);
}

async function command(port: number, args: readonly string[]): Promise<void> {
  const reply = await ask(port, args);
  if (reply instanceof RespError) throw new Error(`${args.join(' ')} on port ${port}: ${reply.text}`);
}
