/** Ourselves, on both clients, as lock and as mutex, with and without hand-overs. */
import { Locks, type LocksOptions } from 'holdfast';
import type { Contestant, Entrant } from '../contestant.ts';
import { ioredis, nodeRedis } from './connection.ts';

type Kind = 'lock' | 'mutex';

function contestant(locks: Locks, kind: Kind): Contestant {
  return {
    async take(key) {
      const lease = await locks[kind](key).acquire();
      return () => lease.release();
    },
    bare: (key) => locks[kind](key).acquire(),
    async keep(key, leaseMs) {
      const lease = await locks[kind](key).acquire({ leaseMs });
      return { isLost: () => !lease.isHeld, release: () => lease.release() };
    },
    close: () => locks.destroy(),
  };
}

function entrant(client: Entrant['client'], kind: Kind, options: LocksOptions = {}): Entrant {
  const isStrict = options.handovers === 0;
  // holdfast makes connections of its own from the settings of the client it is given: that one need not connect.
  const clientFor = async (port: number) =>
    client === 'ioredis' ? ioredis(port, { lazyConnect: true }) : nodeRedis(port);
  return {
    id: `holdfast-${kind}-${client}${isStrict ? '-strict' : ''}`,
    name: `holdfast ${kind} on ${client}`,
    settings: isStrict ? 'handovers: 0' : 'defaults',
    role: 'holdfast',
    client,
    isTuned: false,
    canKeep: true,
    sends: { evalsha: 1, eval: 1, subscribe: 1, unsubscribe: 1, ssubscribe: 1, sunsubscribe: 1 },
    open: async (port) => contestant(new Locks(await clientFor(port), options), kind),
    ...(!isStrict
      ? {
          openQuorum: async (ports) => {
            const clients = await Promise.all(ports.map(clientFor));
            // The servers of a benchmark are seconds old; the guard against restarts would keep them from voting.
            return contestant(new Locks(clients, { ...options, restartGuardMs: 0 }), kind);
          },
        }
      : {}),
  };
}

export const holdfasts: readonly Entrant[] = [
  entrant('ioredis', 'mutex'),
  entrant('ioredis', 'lock'),
  entrant('ioredis', 'lock', { handovers: 0 }),
  entrant('node-redis', 'mutex'),
  entrant('node-redis', 'lock'),
];
