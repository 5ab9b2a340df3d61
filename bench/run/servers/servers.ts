/** The servers of a scenario: the benchmark's Redis, and those of other kinds that the participants need. */
import type { Participant, ServerKind } from '../../participants/participant.ts';
import { messageOf } from '../rounds.ts';
import type { RunningServer } from './child-server.ts';
import { etcdVersion, startEtcd } from './etcd.ts';
import { postgresqlVersion, startPostgresql } from './postgresql.ts';

type Address = Pick<RunningServer, 'port' | 'pid'>;
type OtherKind = Exclude<ServerKind, 'redis'>;

interface Installation {
  readonly name: string;
  /** Null where the server is not installed. */
  version(): string | null;
  start(): Promise<RunningServer>;
}

const INSTALLATIONS: Readonly<Record<OtherKind, Installation>> = {
  postgresql: { name: 'PostgreSQL', version: postgresqlVersion, start: startPostgresql },
  etcd: { name: 'etcd', version: etcdVersion, start: startEtcd },
};

/** Names and versions of the servers of other kinds that are installed. */
export function otherServerVersions(): string[] {
  return Object.values(INSTALLATIONS).flatMap(({ name, version }) => {
    const installed = version();
    return installed === null ? [] : [`${name} ${installed}`];
  });
}

/** Says so on stderr where the machine lacks something. */
function isInstalled({ name, lacks }: Participant): boolean {
  const lacking = lacks?.() ?? null;
  if (lacking !== null) process.stderr.write(`${name} is left out: ${lacking}\n`);
  return lacking === null;
}

/** Null, with a word on stderr, where the server is not installed or does not start. */
async function tryStart({ name, version, start }: Installation): Promise<RunningServer | null> {
  try {
    if (version() !== null) return await start();
    process.stderr.write(`${name} is not installed and left out\n`);
  } catch (error) {
    process.stderr.write(`${name} did not start and is left out: ${messageOf(error)}\n`);
  }
  return null;
}

export class Servers implements AsyncDisposable {
  readonly #redis: Address;
  readonly #others: ReadonlyMap<ServerKind, RunningServer>;

  private constructor(redis: Address, others: ReadonlyMap<ServerKind, RunningServer>) {
    this.#redis = redis;
    this.#others = others;
  }

  /** Starts the servers that these participants need. The Redis is not the caller's to end. */
  static async startFor(participants: readonly Participant[], redis: Address): Promise<Servers> {
    const others = new Map<ServerKind, RunningServer>();
    for (const kind of new Set(participants.map(({ server }) => server ?? 'redis'))) {
      const server = kind === 'redis' ? null : await tryStart(INSTALLATIONS[kind]);
      if (server !== null) others.set(kind, server);
    }
    return new Servers(redis, others);
  }

  has({ server = 'redis' }: Participant): boolean {
    return server === 'redis' || this.#others.has(server);
  }

  /** Those of these participants that can run here. */
  available(participants: readonly Participant[]): Participant[] {
    return participants.filter((participant) => this.has(participant) && isInstalled(participant));
  }

  of({ id, server = 'redis' }: Participant): Address {
    const address = server === 'redis' ? this.#redis : this.#others.get(server);
    if (address === undefined) throw new Error(`expected a running ${server} for ${id}`);
    return address;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#others.values()) await server[Symbol.asyncDispose]();
  }
}
