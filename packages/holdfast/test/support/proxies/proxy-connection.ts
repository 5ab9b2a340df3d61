/**
 * One client's connection through the fault proxy.
 *
 * `open`: requests and replies pass.
 * `holding`: a cut is coming. What the client sends is kept back, so that nothing after the aimed request runs.
 * The way out is the cut, or back to `open` when the aimed script turned out not to be known to the server.
 * `mute`: both sides stay connected and nothing passes any more, as after a lost route.
 * `closed`: both sides are closed or closing.
 */
import { connect, type Socket } from 'node:net';
import { type Frame, RespError, RespReader } from '../servers/resp.ts';
import type { AimedFault, Args } from './aimed-fault.ts';
import { DelayQueue } from './delay-queue.ts';
import { ReplyMatcher } from './reply-matcher.ts';

/** What a connection asks of the proxy it belongs to. */
export interface FaultSource {
  readonly delayMs: number;
  readonly isFrozen: boolean;
  /** Records that the request has come. */
  receive(args: Args): void;
  /** Records that the request goes on, and takes the fault aimed at it, if there is one. */
  claim(args: Args): AimedFault | undefined;
  /** Both sides are gone. */
  forget(connection: ProxyConnection): void;
}

export class ProxyConnection {
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #faults: FaultSource;
  readonly #toServer = new DelayQueue();
  readonly #toClient = new DelayQueue();
  readonly #replies = new ReplyMatcher<AimedFault | undefined>();
  #state: 'open' | 'holding' | 'mute' | 'closed' = 'open';
  #held: { readonly bytes: Buffer; readonly args: Args }[] = [];
  #cutBefore: { readonly fault: AimedFault; readonly args: Args } | undefined;
  #undelivered = 0;
  /** Faults taken from the proxy that have neither happened nor gone back. */
  readonly #claimed: AimedFault[] = [];

  constructor(client: Socket, targetPort: number, faults: FaultSource) {
    this.#client = client;
    this.#server = connect({ port: targetPort, host: '127.0.0.1', noDelay: true });
    this.#faults = faults;
    if (faults.isFrozen) this.hold();
    client.setNoDelay(true);
    const requests = new RespReader();
    const replies = new RespReader();
    client.on('data', (chunk: Buffer) => {
      for (const frame of requests.push(chunk)) {
        const args = requestArgs(frame);
        faults.receive(args);
        this.#toServer.add(() => this.#onRequest(frame.bytes, args), faults.delayMs);
      }
    });
    this.#server.on('data', (chunk: Buffer) => {
      for (const frame of replies.push(chunk)) this.#onReply(frame);
    });
    // An end travels behind the bytes that came before it, and not at all while the proxy is frozen.
    client.on('close', () => this.#onEnd(this.#toServer));
    this.#server.on('close', () => this.#onEnd(this.#toClient));
    // A reset is followed by `close`, which is all we want to know.
    client.on('error', () => {});
    this.#server.on('error', () => {});
  }

  get hasClient(): boolean {
    return !this.#client.destroyed;
  }

  hold(): void {
    this.#toServer.hold();
    this.#toClient.hold();
  }

  release(): void {
    this.#toServer.release();
    this.#toClient.release();
  }

  /** Nothing passes any more, and nobody is told. What the server still answers is lost. */
  mute(): void {
    if (this.#state === 'closed') return;
    this.#state = 'mute';
    for (const fault of this.#claimed.splice(0)) fault.giveBack();
  }

  /** Passes on now what is late. */
  hurry(): void {
    this.#toServer.hurry();
    this.#toClient.hurry();
  }

  /** Closes both sides at once; what was under way is lost. */
  destroy(): void {
    this.#close();
    this.#client.destroy();
    this.#server.destroy();
  }

  #onRequest(bytes: Buffer, args: Args): void {
    if (this.#state === 'holding') this.#held.push({ bytes, args });
    if (this.#state !== 'open') return;
    const fault = this.#faults.claim(args);
    if (fault !== undefined) this.#claimed.push(fault);
    if (fault?.kind === 'cut-before') {
      this.#state = 'holding';
      this.#cutBefore = { fault, args };
      this.#cutIfAnswered();
      return;
    }
    if (fault?.kind === 'cut-after') this.#state = 'holding';
    this.#replies.asked(args, fault);
    this.#undelivered += 1;
    this.#server.write(bytes);
  }

  #onReply(frame: Frame): void {
    const answer = this.#replies.heard(frame);
    let fault = answer?.tag;
    if (fault !== undefined && isUnknownScript(frame)) {
      this.#unclaim(fault).giveBack();
      if (fault.kind === 'cut-after') this.#reopen();
      fault = undefined;
    }
    const { args = [], isWhole = false } = answer ?? {};
    let delayMs = this.#faults.delayMs;
    if (fault?.kind === 'delay-reply') {
      delayMs += fault.delayMs;
      // Fired when the wait begins: the client may well leave before it ends.
      if (isWhole) this.#fire(fault, args);
    }
    this.#toClient.add(() => this.#deliver(frame, fault, args, isWhole), delayMs);
  }

  #deliver(frame: Frame, fault: AimedFault | undefined, args: Args, isWhole: boolean): void {
    if (isWhole) this.#undelivered -= 1;
    if (this.#state === 'mute' || this.#state === 'closed') return;
    if (fault?.kind === 'drop-reply') {
      this.#state = 'mute';
      this.#fire(fault, args);
    } else if (fault?.kind === 'cut-after') {
      if (isWhole) this.#cut(fault, args);
    } else {
      this.#client.write(frame.bytes);
      this.#cutIfAnswered();
    }
  }

  /** A cut before a request spares the requests before it: their replies reach the client first. */
  #cutIfAnswered(): void {
    if (this.#cutBefore !== undefined && this.#undelivered === 0) {
      this.#cut(this.#cutBefore.fault, this.#cutBefore.args);
    }
  }

  #cut(fault: AimedFault, args: Args): void {
    this.#unclaim(fault);
    this.#close();
    fault.fire(args);
  }

  #fire(fault: AimedFault, args: Args): void {
    this.#unclaim(fault).fire(args);
  }

  #unclaim(fault: AimedFault): AimedFault {
    this.#claimed.splice(this.#claimed.indexOf(fault), 1);
    return fault;
  }

  #reopen(): void {
    this.#state = 'open';
    for (const { bytes, args } of this.#held.splice(0)) this.#onRequest(bytes, args);
  }

  #onEnd(queue: DelayQueue): void {
    if (this.#client.destroyed && this.#server.destroyed) {
      this.#close();
      this.#faults.forget(this);
      return;
    }
    queue.add(() => this.#close(), this.#faults.delayMs);
  }

  #close(): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    for (const fault of this.#claimed.splice(0)) fault.giveBack();
    this.#toServer.clear();
    this.#toClient.clear();
    // After what was written has left, unlike `destroy`.
    this.#client.destroySoon();
    this.#server.destroySoon();
  }
}

function requestArgs({ value, bytes }: Frame): Args {
  if (!Array.isArray(value)) throw new Error(`a request is a list, got ${bytes.toString()}`);
  return value.map(String);
}

/** The script did not run: the client will send its text, and that is the request the fault is meant for. */
function isUnknownScript({ value }: Frame): boolean {
  return value instanceof RespError && value.text.startsWith('NOSCRIPT');
}
