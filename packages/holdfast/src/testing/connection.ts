/** What the node knows of one connection: a socket, or a client in this process. */
import type { NodeReply } from './reply.ts';

/** The other side of a connection. */
export interface Peer {
  /** As CLIENT LIST shows it. */
  readonly address: string;
  /** Called with what nobody asked for: messages, and what a monitor sees. */
  deliver(reply: NodeReply): void;
  /** The node has ended the connection. */
  close(): void;
}

export interface Transaction {
  readonly commands: (readonly string[])[];
  /** Something in it was refused: EXEC will refuse all of it. */
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
  /** For CLIENT LIST. */
  lastCommand = 'NULL';
  isMonitor = false;
  /** It said goodbye: it is closed once its last reply is written. */
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
