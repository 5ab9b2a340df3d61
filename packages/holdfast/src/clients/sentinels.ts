/** Asks sentinels which server is the primary. */
import { type Agenda, Alarm } from '../core/agenda.ts';
import { reasonOf } from './reason.ts';
import type { SharedWire, Wire, WireEvents } from './wire.ts';

/** Where a server listens, as the sentinels say it. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** What a caller's client knows of sentinels, and how it connects to them and to what they name. */
export interface Sentinels {
  /** Which client, where. No secrets. */
  readonly description: string;
  readonly keyPrefix: string;
  /** What they call the primary. */
  readonly name: string;
  readonly addresses: readonly Address[];
  /** Resolves when connections can be made. */
  ready(): Promise<void>;
  dialSentinel(address: Address, events: WireEvents): Wire;
  dialPrimary(address: Address, events: WireEvents): Wire;
  share(): SharedWire;
}

/**
 * How long the others may take once one has answered. During a failover they disagree for a second or two, and the one
 * that has led it knows best; but one that is frozen must not keep us from a primary that all the others name.
 */
const STRAGGLER_MS = 250;

interface Answer extends Address {
  /** Grows with every failover: the sentinel with the largest knows best. */
  readonly epoch: number;
  /** It leads a failover that is past the point of no return. */
  readonly isSwitching: boolean;
}

/** All sentinels are asked at once. */
export class PrimarySearch {
  readonly result: Promise<Address>;
  readonly #sentinels: Sentinels;
  readonly #agenda: Agenda;
  readonly #alarm = new Alarm(() => this.#settle(), false);
  readonly #wires: Wire[] = [];
  readonly #answers: Answer[] = [];
  readonly #refusals: string[] = [];
  #resolve: (address: Address) => void = () => {};
  #reject: (error: Error) => void = () => {};
  #isOver = false;

  constructor(sentinels: Sentinels, agenda: Agenda) {
    this.#sentinels = sentinels;
    this.#agenda = agenda;
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    sentinels.ready().then(
      () => this.#askAll(),
      (error: unknown) => this.#fail(reasonOf(error)),
    );
  }

  /** Ends it; the result stays open, and nobody waits for it any more. */
  cancel(): void {
    this.#isOver = true;
    this.#agenda.cancel(this.#alarm);
    for (const wire of this.#wires.splice(0)) wire.drop();
  }

  #askAll(): void {
    if (this.#isOver) return;
    for (const address of this.#sentinels.addresses) {
      this.#ask(address).then(
        (answer) => this.#note(answer),
        (error: unknown) => this.#note(`${address.host}:${address.port}: ${reasonOf(error)}`),
      );
    }
  }

  /** A client may leave a command without an answer for ever when its connection is lost. */
  #ask(address: Address): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const wire = this.#sentinels.dialSentinel(address, { lost: reject, message: () => {} });
      this.#wires.push(wire);
      wire
        .connect()
        .then(() => question(wire, this.#sentinels.name))
        .then(resolve)
        .catch(reject);
      wire.hold(false);
    });
  }

  #note(answer: Answer | string): void {
    if (this.#isOver) return;
    if (typeof answer === 'string') this.#refusals.push(answer);
    else this.#answers.push(answer);
    const heard = this.#answers.length + this.#refusals.length;
    if (heard === this.#sentinels.addresses.length) this.#settle();
    else if (this.#answers.length > 0 && !this.#alarm.isSet) this.#agenda.setIn(this.#alarm, STRAGGLER_MS);
  }

  #settle(): void {
    // Its epoch may have been read a moment too early, its address not.
    const [newest] = this.#answers.sort(
      (a, b) => b.epoch - a.epoch || Number(b.isSwitching) - Number(a.isSwitching),
    );
    if (newest === undefined) {
      this.#fail(this.#refusals.join('; '));
    } else {
      this.cancel();
      this.#resolve({ host: newest.host, port: newest.port });
    }
  }

  #fail(reasons: string): void {
    if (this.#isOver) return;
    this.cancel();
    this.#reject(new Error(`no sentinel names the primary ${this.#sentinels.name}: ${reasons}`));
  }
}

/**
 * The state tells the epoch, but not where the primary is: the sentinel that leads a failover has the new epoch there at
 * once, beside the old address, until every replica follows the new primary. Only the other question is answered with
 * the new one. It comes second, so that what changes between the two is never an old address with a new epoch.
 */
async function question(wire: Wire, name: string): Promise<Answer> {
  const [state, address] = await Promise.all([
    wire.command(['SENTINEL', 'MASTER', name]),
    wire.command(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name]),
  ]);
  return answerOf(fieldsOf(state), address);
}

/** Names and values in turn, or an object of them: clients differ. */
function fieldsOf(reply: unknown): Map<string, unknown> {
  if (reply instanceof Map) return new Map([...reply].map(([name, value]) => [String(name), value]));
  if (!Array.isArray(reply)) return new Map(Object.entries(reply ?? {}));
  const fields = new Map<string, unknown>();
  for (let i = 0; i + 1 < reply.length; i += 2) fields.set(String(reply[i]), reply[i + 1]);
  return fields;
}

function answerOf(state: Map<string, unknown>, reply: unknown): Answer {
  const [host, port]: unknown[] = Array.isArray(reply) ? reply : [];
  const address = { host: String(host), port: Number(port) };
  const epoch = Number(state.get('config-epoch') ?? 0);
  if (typeof host === 'string' && Number.isInteger(address.port) && Number.isInteger(epoch)) {
    const isSwitching = state.get('ip') !== host || Number(state.get('port')) !== address.port;
    return { ...address, epoch, isSwitching };
  }
  throw new Error(`an answer we cannot read: ${JSON.stringify(reply)}`);
}
