/** What a schedule and a single run share: one job, its server time, its sleep, and the asking for starts. */
import { hostname } from 'node:os';
import { CallFailure } from '../../clients/client.ts';
import { LockUnavailableError } from '../../errors.ts';
import { jobKey, jobLockKey } from '../../keys/derived.ts';
import { describeServers } from '../../locking/failures.ts';
import type { Session } from '../../locking/session.ts';
import { InterruptibleSleep } from '../../locking/waiting/interruptible-sleep.ts';
import { quote } from '../../runtime/printable.ts';
import { jobRead } from '../../scripts/generated.ts';
import { tellSkipped } from '../../telemetry/jobs.ts';
import { read } from '../../topologies/server/reading.ts';
import { type JobInfo, jobInfo } from './job-record.ts';
import type { StartTerms } from './protocol.ts';
import { ServerTime } from './server-time.ts';
import { askStart, type JobSubject, type StartResult } from './start.ts';

/** What the server knows of the job, and its time by the way. */
export type Sample = { readonly info: JobInfo | null } | { readonly error: LockUnavailableError };

export class JobAsker {
  readonly session: Session;
  readonly subject: JobSubject;
  readonly time: ServerTime;
  readonly host: string = hostname();
  readonly #sleep: InterruptibleSleep;
  #isStopped = false;

  constructor(session: Session, subject: JobSubject) {
    this.session = session;
    this.subject = subject;
    this.time = new ServerTime(session.timers.clock);
    this.#sleep = new InterruptibleSleep(session.timers);
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Ends the present sleep, and all that follow at once. */
  stop(): void {
    this.#isStopped = true;
    this.#sleep.stop();
  }

  async sleep(delayMs: number): Promise<void> {
    if (!this.#isStopped) await this.#sleep.sleep(delayMs);
  }

  /** Reads the marker of the job and the server's time, once. */
  async sample(): Promise<Sample> {
    const { name, key } = this.subject;
    const { topology, options } = this.session;
    const call = jobRead.call({ job: jobKey(key), lock: jobLockKey(key) });
    const [first] = await topology.query(() => call, options.callTimeoutMs);
    const reply = first?.reply ?? new CallFailure('unknown', 'no server answered');
    const found = reply instanceof CallFailure ? reply : read(reply, () => jobRead.decode(reply));
    if (found instanceof CallFailure) {
      const servers = [{ server: first?.server ?? '', kind: found.kind, text: found.text }];
      const message = `job ${quote(name)}: the server did not serve it (${describeServers(servers)})`;
      return { error: new LockUnavailableError(message, { lock: name, servers }) };
    }
    this.time.learn(found.nowMs);
    return { info: jobInfo(name, found) };
  }

  /** Asks for a start until there is an answer, or until `isWanted` says no. */
  ask(terms: Omit<StartTerms, 'host'>, isWanted: () => boolean): Promise<StartResult> {
    return askStart(
      this.session,
      this.subject,
      { ...terms, host: this.host },
      {
        onNow: (nowMs) => this.time.learn(nowMs),
        isWanted: () => !this.#isStopped && isWanted(),
        sleep: (delayMs) => this.sleep(delayMs),
      },
    );
  }

  tellSkipped(slotMs: number, reason: string): void {
    tellSkipped({ job: this.subject.name, session: this.session.id, slot: slotMs, reason });
  }

  /** A start that was decided and that nobody will run: it is taken back. */
  withdraw({ protocol, terms }: Extract<StartResult, { is: 'started' }>): void {
    this.session.topology.abandon(protocol, terms);
    this.session.finish();
  }
}
