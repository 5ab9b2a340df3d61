/** A topology whose answers are what the test says. It proves nothing about servers, or about how many must agree. */
import type { CallFailure, StopListening, Wake } from '../../../src/clients/client.ts';
import { type ResolvedLocksOptions, resolveLocksOptions } from '../../../src/options/options.ts';
import { instantNow, leaseDeadline } from '../../../src/runtime/instant.ts';
import { TimerQueue } from '../../../src/runtime/timer-queue.ts';
import type { HoldTerms, LinePlace, Policy, Protocol, Statement } from '../../../src/topologies/protocol.ts';
import type {
  AcquireResult,
  Held,
  Mailbox,
  ReleaseResult,
  ReleaseTerms,
  StateResult,
  Topology,
} from '../../../src/topologies/topology.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { ScriptedChannels } from './scripted-channels.ts';
import { CountedRandom } from './stage.ts';

/** Where guests tell of a release. */
const CHANNEL = 'a-channel';

/** Where a session hears of its grants. */
export const MAILBOX: Mailbox = { channel: 'a-mailbox', mode: 'p' };

export const HELD: Held = { is: 'held', ttlMs: 60_000, owner: 'x:1', isSplit: false };

/** The same with a place in the line. */
export function heldInLine(line: Partial<LinePlace> = {}): Held {
  return { ...HELD, line: { place: 1, tickets: 1, openMs: 0, isGuest: false, ...line } };
}

export function failed(mayBeGranted: boolean): AcquireResult {
  const servers = [{ server: 's', kind: mayBeGranted ? 'unknown' : 'unreachable', text: 'no' }] as const;
  return { is: 'failed', servers, canRetry: true, mayBeGranted };
}

/** A kind of lock without fences, with some of its policy changed. */
export function protocolWith(policy: Partial<Policy>): Protocol {
  return {
    kind: 'test',
    name: 'a',
    key: 'a',
    channel: CHANNEL,
    policy: {
      holdsMax: 1,
      ownersMax: 1,
      holderPer: 'attempt',
      handoversMax: Number.POSITIVE_INFINITY,
      isHolderSecret: false,
      expected: 'nothing else',
      ...policy,
    },
    newHolder: (ids) => `${ids.session}:${ids.nextNumber()}`,
    acquire: never,
    readAcquire: never,
    release: never,
    readRelease: never,
    renewal: { call: never, read: never },
  };
}

function never(): never {
  throw new Error('the scripted topology reads no protocol');
}

export class ScriptedTopology implements Topology {
  readonly clock: FakeClock = new FakeClock();
  readonly timers: TimerQueue = new TimerQueue(this.clock);
  readonly options: ResolvedLocksOptions = resolveLocksOptions({
    clock: this.clock,
    random: new CountedRandom(() => 0),
  });
  readonly description = 'scripted';
  readonly keyPrefix = '';
  readonly hasAnswered = true;
  readonly size = 1;
  readonly majority = 1;
  /** The answers to the next acquires; then everything is granted. */
  readonly answers: (AcquireResult | Promise<AcquireResult>)[] = [];
  readonly asked: HoldTerms[] = [];
  readonly released: string[] = [];
  readonly abandoned: string[] = [];
  /** What the next subscription comes to. */
  listening: CallFailure | Promise<null> | null = null;
  readonly channels: ScriptedChannels = new ScriptedChannels();

  /** Where grants in the line are heard. Null: there is no line. */
  mailbox: Mailbox | null = null;

  get hasLine(): boolean {
    return this.mailbox !== null;
  }

  mailboxOf(): Mailbox | null {
    return this.mailbox;
  }

  outageOf(): [] {
    return [];
  }

  async acquire(_: Protocol, terms: HoldTerms): Promise<AcquireResult> {
    this.asked.push(terms);
    return this.answers.shift() ?? this.granted(terms.leaseMs);
  }

  granted(leaseMs: number): AcquireResult {
    const now = instantNow(this.clock);
    const deadline = leaseDeadline(now, leaseMs);
    return { is: 'granted', deadline, firstFence: undefined, fences: 1, heardAt: now };
  }

  async release(_: Protocol, { holder }: ReleaseTerms): Promise<ReleaseResult> {
    this.released.push(holder);
    return { is: 'released', receivers: 0 };
  }

  abandon(_: Protocol, { holder }: ReleaseTerms): void {
    this.abandoned.push(holder);
  }

  async state(statements: readonly Statement[]): Promise<readonly StateResult[]> {
    return statements.map(() => ({ is: 'kept' }));
  }

  async listen(channel: string, wake: Wake): Promise<StopListening | CallFailure> {
    const failure = await this.listening;
    if (failure !== null) return failure;
    return this.channels.listen(channel, wake);
  }

  /** How many listen where guests tell of a release. */
  get listeners(): number {
    return this.channels.listeners(CHANNEL);
  }

  /** Tells those. */
  publish(message: string | null = '0'): void {
    this.channels.publish(CHANNEL, message);
  }

  async query(): Promise<[]> {
    return [];
  }

  async flush(): Promise<void> {}

  stop(): void {}

  async close(): Promise<void> {}
}
