/** Runs scripts over the caller's own connection. It is theirs: we neither connect it nor close it. */
import type { Agenda } from '../core/agenda.ts';
import { Call, type CallResult, refusal } from './call.ts';
import { CallFailure, type ScriptCall } from './client.ts';
import { Line } from './line.ts';
import type { SharedWire } from './wire.ts';

export class SharedConnection {
  readonly #agenda: Agenda;
  readonly #wire: SharedWire;
  readonly #line: Line;
  /** Its owner reconnects it without telling us: nobody who must know may share. */
  readonly connections = 1;
  #isClosed = false;

  constructor(wire: SharedWire, agenda: Agenda) {
    this.#wire = wire;
    this.#agenda = agenda;
    this.#line = new Line(wire, null);
  }

  get isConnected(): boolean {
    return !this.#isClosed && this.#wire.obstacle === null;
  }

  run(request: ScriptCall, timeoutMs: number): Promise<CallResult> {
    const refused = refusal(this.#isClosed, timeoutMs);
    if (refused !== null) return Promise.resolve(refused);
    // Asked each time: a client that is not ready would queue the call and run it whenever it comes back.
    const { obstacle } = this.#wire;
    if (obstacle !== null) return Promise.resolve(new CallFailure(obstacle.kind, obstacle.text));
    const call = new Call(request, timeoutMs, this.#agenda);
    this.#line.write([call], call.startedMs);
    call.arm();
    return call.result;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#line.cut('the client was closed before the answer came');
  }
}
