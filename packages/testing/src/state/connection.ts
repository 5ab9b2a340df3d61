/** The state of one connection, from a socket or from a client in this process. */
import type { NodeReply } from '../protocol/reply.ts';

/** The other side of a connection. */
export interface Peer {
  /** Shown by CLIENT LIST and MONITOR. */
  readonly address: string;
  /** Called with replies that answer no request: messages, and the lines of MONITOR. */
  deliver(reply: NodeReply): void;
  /** Called when the node ends the connection. */
  close(): void;
}

export interface Transaction {
  readonly commands: (readonly string[])[];
  /** A command was refused while it was queued, so EXEC will refuse the whole transaction. */
  isBroken: boolean;
}

export class NodeConnection {
  readonly id: number;
  readonly peer: Peer;
  readonly openedMs: number;
  name = '';
  libraryName = '';
  libraryVersion = '';
  database = 0;
  protocol: 2 | 3 = 2;
  /** Shown by CLIENT LIST. */
  lastCommand = 'NULL';
  isMonitor = false;
  /** Set by QUIT: the connection is closed after the last reply is written. */
  isLeaving = false;
  transaction: Transaction | null = null;
  readonly channels: Set<string> = new Set();
  readonly patterns: Set<string> = new Set();
  readonly shardChannels: Set<string> = new Set();

  constructor(id: number, peer: Peer, openedMs: number) {
    this.id = id;
    this.peer = peer;
    this.openedMs = openedMs;
  }

  get isSubscriber(): boolean {
    return this.channels.size + this.patterns.size + this.shardChannels.size > 0;
  }
}
