/** holdfast on both clients, as lock and as mutex, with and without hand-overs. */
import { Locks, type LocksOptions } from 'holdfast';
import { ioredis, nodeRedis } from './connection.ts';
import type { OpenParticipant, Participant } from './participant.ts';

type Kind = 'lock' | 'mutex';

function openOn(locks: Locks, kind: Kind): OpenParticipant {
  return {
    async take(key) {
      const lease = await locks[kind](key).acquire();
      return () => lease.release();
    },
    acquireUnwrapped: (key) => locks[kind](key).acquire(),
    async takeRenewed(key, leaseMs) {
      const lease = await locks[kind](key).acquire({ leaseMs });
      return { isLost: () => !lease.isHeld, release: () => lease.release() };
    },
    close: () => locks.destroy(),
  };
}

/** The class to measure: of the present code, or of another build of the package. */
type LoadLocks = () => Promise<typeof Locks>;

function participant(
  load: LoadLocks,
  client: Participant['client'],
  kind: Kind,
  options: LocksOptions = {},
): Participant {
  const isStrict = options.handovers === 0;
  // holdfast opens its own connections from the settings of the client it is given, which need not connect.
  const clientFor = async (port: number) =>
    client === 'ioredis' ? ioredis(port, { lazyConnect: true }) : nodeRedis(port);
  return {
    id: `holdfast-${kind}-${client}${isStrict ? '-strict' : ''}`,
    name: `holdfast ${kind} on ${client}`,
    settings: isStrict ? 'handovers: 0' : 'defaults',
    role: 'holdfast',
    client,
    isTuned: false,
    canRenew: true,
    sends: { evalsha: 1, eval: 1, subscribe: 1, unsubscribe: 1, ssubscribe: 1, sunsubscribe: 1 },
    async open(port) {
      const Loaded = await load();
      return openOn(new Loaded(await clientFor(port), options), kind);
    },
    ...(!isStrict
      ? {
          async openQuorum(ports) {
            const Loaded = await load();
            const clients = await Promise.all(ports.map(clientFor));
            // The restart guard keeps servers that are seconds old, as those of a benchmark are, from voting.
            return openOn(new Loaded(clients, { ...options, restartGuardMs: 0 }), kind);
          },
        }
      : {}),
  };
}

export function holdfastParticipants(load: LoadLocks): readonly Participant[] {
  return [
    participant(load, 'ioredis', 'mutex'),
    participant(load, 'ioredis', 'lock'),
    participant(load, 'ioredis', 'lock', { handovers: 0 }),
    participant(load, 'node-redis', 'mutex'),
    participant(load, 'node-redis', 'lock'),
  ];
}

export const holdfasts: readonly Participant[] = holdfastParticipants(async () => Locks);
