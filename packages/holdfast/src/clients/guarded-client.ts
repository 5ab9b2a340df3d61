/**
 * A client of the caller's own making, behind the one place where its mistakes end. The seam says that a verb never
 * throws and never rejects; code that we did not write may do both. What such a client throws becomes a `CallFailure`
 * here, so that nothing above has to expect an exception: a renewal is tried again, and no waiter hangs.
 *
 * Only the deadlines are left to that client: a verb that never settles keeps its caller waiting.
 */
import {
  type Acknowledged,
  CallFailure,
  CLIENT,
  type Client,
  type Copies,
  type ReplicaTerms,
  type Reply,
  type ScriptCall,
  type StopListening,
  type Wake,
} from './client.ts';
import { reasonOf, thrownFailure } from './connection/reply-errors.ts';

class GuardedClient implements Client {
  readonly [CLIENT] = true as const;
  readonly description: string;
  readonly keyPrefix: string;
  readonly reconnectsSilently: boolean;
  readonly acknowledge?: NonNullable<Client['acknowledge']>;
  readonly #client: Client;
  #connections = 0;

  constructor(client: Client) {
    this.#client = client;
    this.description = client.description;
    this.keyPrefix = client.keyPrefix;
    this.reconnectsSilently = client.reconnectsSilently ?? false;
    // Only where the client has the verb: without it `replicas` is refused.
    if (client.acknowledge !== undefined) {
      this.acknowledge = (call, terms, timeoutMs) => this.#acknowledge(call, terms, timeoutMs);
    }
  }

  get isConnected(): boolean {
    try {
      return this.#client.isConnected;
    } catch {
      return false;
    }
  }

  get connections(): number {
    try {
      this.#connections = this.#client.connections;
    } catch {
      // The number that it gave last. A restart that goes unnoticed because of this is that client's fault.
    }
    return this.#connections;
  }

  async run(call: ScriptCall, timeoutMs: number): Promise<Reply | CallFailure> {
    try {
      return await this.#client.run(call, timeoutMs);
    } catch (error) {
      return unanswered(error);
    }
  }

  async listen(channel: string, wake: Wake, timeoutMs: number): Promise<StopListening | CallFailure> {
    try {
      const stop = await this.#client.listen(channel, wake, timeoutMs);
      return typeof stop === 'function' ? guardedStop(stop) : notHeard(stop);
    } catch (error) {
      return notHeard(error);
    }
  }

  async close(): Promise<void> {
    try {
      await this.#client.close();
    } catch (error) {
      // What is left open is that client's. Whoever closes a `Locks` can only be told.
      process.emitWarning(`${this.description} did not close: ${reasonOf(error)}`, {
        type: 'HoldfastWarning',
        code: 'HOLDFAST_CLIENT_CLOSE',
      });
    }
  }

  async #acknowledge(
    call: ScriptCall,
    terms: ReplicaTerms,
    timeoutMs: number,
  ): Promise<Acknowledged | CallFailure> {
    try {
      const written = await this.#client.acknowledge?.(call, terms, timeoutMs);
      if (written === undefined || written instanceof CallFailure) return written ?? unanswered(written);
      return { reply: written.reply, copies: counted(written.copies) };
    } catch (error) {
      return unanswered(error);
    }
  }
}

/** Wraps a client so that its verbs never throw and never reject. */
export function guardClient(client: Client): Client {
  return new GuardedClient(client);
}

async function counted(copies: Promise<Copies | CallFailure>): Promise<Copies | CallFailure> {
  try {
    const count = await copies;
    // Taken apart here, because an answer of another shape would throw above.
    return count instanceof CallFailure ? count : { replicas: count.replicas, local: count.local };
  } catch (error) {
    return unanswered(error);
  }
}

function guardedStop(stop: StopListening): StopListening {
  return () => {
    try {
      stop();
    } catch {
      // Nobody listens any more: a message that still comes wakes nobody.
    }
  };
}

/** A call that threw may have been written before: nobody can say that it has not happened. */
function unanswered(error: unknown): CallFailure {
  return thrownFailure(error, 'unknown');
}

/** A subscription that was not confirmed counts as none, whether it was sent or not. */
function notHeard(error: unknown): CallFailure {
  return thrownFailure(error, 'unreachable');
}
