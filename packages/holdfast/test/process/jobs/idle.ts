/**
 * Nothing but a schedule whose slot is far away, a leader whose body waits, or a job whose body never ends. Neither a timer nor a
 * socket of the program keeps this process alive, and its standard input is not read. SIGUSR2 ends the work.
 */
import { Redis } from 'ioredis';
import { Locks } from '../../../src/index.ts';
import { readTask, reportTrouble, say } from '../children/talk.ts';

export interface IdleTask {
  readonly port: number;
  readonly does: 'schedule' | 'leader' | 'job';
  /** By which the work is ended: its own way, or the `Locks`. */
  readonly ends: 'stop' | 'close' | 'destroy';
}

export interface IdleLine {
  readonly ready: true;
}

/** The longest there is: no slot comes while this process lives. */
const EVERY_MS = 366 * 86_400_000;

reportTrouble();
const { port, does, ends } = readTask<IdleTask>();
const locks = new Locks(new Redis({ port, lazyConnect: true }));
/** Several processes run at once. */
const name = `until ${ends}`;
let stop = (): unknown => undefined;
process.on('SIGUSR2', () => void (ends === 'stop' ? stop() : locks[ends]()));

if (does === 'schedule') {
  const schedule = locks.schedule(name, { everyMs: EVERY_MS }, () => {});
  stop = () => schedule.stop();
  // Told once, when the server has answered: the slot of this moment is from before the job.
  schedule.on('skipped', () => say({ ready: true }));
} else if (does === 'job') {
  // It does not listen to its signal either.
  const body = (): Promise<void> => {
    say({ ready: true });
    return new Promise(() => {});
  };
  void locks.runJob(name, body).catch(() => {});
} else {
  const over = new AbortController();
  stop = () => over.abort();
  const body = ({ signal }: { signal: AbortSignal }): Promise<void> => {
    say({ ready: true });
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  };
  void locks.leader(name).run(body, { signal: over.signal });
}
