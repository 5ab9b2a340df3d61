/** redlock 4.2.0: polls; decides only when every server has answered; renews on request only. */
import Redlock, { type Options } from 'redlock-4';
import {
  type Contestant,
  type Entrant,
  LEASE_MS,
  README,
  RETRIES_ENDLESS,
  RETRY_MS_TUNED,
  TUNED,
} from '../contestant.ts';
import { ioredis } from './connection.ts';

const README_OPTIONS: Options = { driftFactor: 0.01, retryCount: 10, retryDelay: 200, retryJitter: 200 };
const TUNED_OPTIONS: Options = {
  driftFactor: 0.01,
  retryCount: RETRIES_ENDLESS,
  retryDelay: RETRY_MS_TUNED,
  retryJitter: RETRY_MS_TUNED / 2,
};

async function open(ports: readonly number[], options: Options): Promise<Contestant> {
  const clients = ports.map((port) => ioredis(port));
  const redlock = new Redlock(clients, options);
  redlock.on('clientError', () => {});
  return {
    async take(key) {
      const lock = await redlock.lock(key, LEASE_MS);
      return () => lock.unlock();
    },
    bare: (key) => redlock.lock(key, LEASE_MS),
    async close() {
      for (const client of clients) client.disconnect();
    },
  };
}

function entrant(isTuned: boolean): Entrant {
  const options = isTuned ? TUNED_OPTIONS : README_OPTIONS;
  return {
    id: isTuned ? 'redlock-4-tuned' : 'redlock-4',
    name: 'redlock 4.2.0',
    settings: isTuned ? TUNED : README,
    role: 'peer',
    client: 'ioredis',
    isTuned,
    canKeep: false,
    sends: { evalsha: 1, eval: 1 },
    open: (port) => open([port], options),
    openQuorum: (ports) => open(ports, options),
  };
}

export const redlock4: readonly Entrant[] = [entrant(false), entrant(true)];
