/** redlock 5.0.0-beta.2: polls; decides with the majority; renews inside `using`. */
import Redlock, { type Settings } from 'redlock-5';
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

const README_SETTINGS: Settings = {
  driftFactor: 0.01,
  retryCount: 10,
  retryDelay: 200,
  retryJitter: 200,
  automaticExtensionThreshold: 500,
};
const TUNED_SETTINGS: Settings = {
  ...README_SETTINGS,
  retryCount: RETRIES_ENDLESS,
  retryDelay: RETRY_MS_TUNED,
  retryJitter: RETRY_MS_TUNED / 2,
};

async function open(ports: readonly number[], settings: Settings): Promise<Contestant> {
  const clients = ports.map((port) => ioredis(port));
  return redlockContestant(new Redlock(clients, settings), clients);
}

function entrant(isTuned: boolean): Entrant {
  const settings = isTuned ? TUNED_SETTINGS : README_SETTINGS;
  return {
    id: isTuned ? 'redlock-5-tuned' : 'redlock-5',
    name: 'redlock 5.0.0-beta.2',
    settings: isTuned ? TUNED : README,
    role: 'peer',
    client: 'ioredis',
    isTuned,
    canKeep: true,
    sends: { evalsha: 1, eval: 1 },
    open: (port) => open([port], settings),
    openQuorum: (ports) => open(ports, settings),
    quorumPhases: 1,
  };
}

export const redlock5: readonly Entrant[] = [entrant(false), entrant(true)];
