/** @sesamecare-oss/redlock 1.4.0, the maintained fork of redlock 5. */
import { Redlock } from '@sesamecare-oss/redlock';
import {
  type Contestant,
  type Entrant,
  README,
  RETRIES_ENDLESS,
  RETRY_MS_TUNED,
  TUNED,
} from '../contestant.ts';
import { ioredis } from './connection.ts';
import { redlockContestant } from './redlock-family.ts';

interface Retry {
  readonly retryCount: number;
  readonly retryDelay: number;
  readonly retryJitter: number;
}

const README_RETRY: Retry = { retryCount: 10, retryDelay: 200, retryJitter: 200 };
const TUNED_RETRY: Retry = {
  retryCount: RETRIES_ENDLESS,
  retryDelay: RETRY_MS_TUNED,
  retryJitter: RETRY_MS_TUNED / 2,
};

async function open(ports: readonly number[], retry: Retry): Promise<Contestant> {
  const clients = ports.map((port) => ioredis(port));
  const settings = { driftFactor: 0.01, automaticExtensionThreshold: 500, ...retry };
  return redlockContestant(new Redlock(clients, settings), clients);
}

function entrant(isTuned: boolean): Entrant {
  const retry = isTuned ? TUNED_RETRY : README_RETRY;
  return {
    id: isTuned ? 'sesamecare-tuned' : 'sesamecare',
    name: '@sesamecare-oss/redlock 1.4.0',
    settings: isTuned ? TUNED : README,
    role: 'peer',
    client: 'ioredis',
    isTuned,
    canKeep: true,
    sends: { evalsha: 1, eval: 1 },
    open: (port) => open([port], retry),
    openQuorum: (ports) => open(ports, retry),
    quorumPhases: 1,
  };
}

export const sesamecare: readonly Entrant[] = [entrant(false), entrant(true)];
