/** redlock 4.2.0: polls; decides only when every server has answered; renews only when asked to. */
import Redlock, { type Options } from 'redlock-4';
import { ioredis } from '../connection.ts';
import {
  LEASE_MS,
  type OpenParticipant,
  type Participant,
  RETRIES_ENDLESS,
  RETRY_MS_TUNED,
} from '../participant.ts';
import { type BothSettings, withBothSettings } from './both-settings.ts';

const OPTIONS: BothSettings<Options> = {
  readme: { driftFactor: 0.01, retryCount: 10, retryDelay: 200, retryJitter: 200 },
  tuned: {
    driftFactor: 0.01,
    retryCount: RETRIES_ENDLESS,
    retryDelay: RETRY_MS_TUNED,
    retryJitter: RETRY_MS_TUNED / 2,
  },
};

async function open(ports: readonly number[], options: Options): Promise<OpenParticipant> {
  const clients = ports.map((port) => ioredis(port));
  const redlock = new Redlock(clients, options);
  redlock.on('clientError', () => {});
  return {
    async take(key) {
      const lock = await redlock.lock(key, LEASE_MS);
      return () => lock.unlock();
    },
    acquireUnwrapped: (key) => redlock.lock(key, LEASE_MS),
    async close() {
      for (const client of clients) client.disconnect();
    },
  };
}

export const redlock4: readonly Participant[] = withBothSettings(
  {
    id: 'redlock-4',
    name: 'redlock 4.2.0',
    client: 'ioredis',
    canRenew: false,
    hasQuorum: true,
    sends: { evalsha: 1, eval: 1 },
  },
  OPTIONS,
  open,
);
