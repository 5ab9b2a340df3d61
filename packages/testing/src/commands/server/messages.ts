/** PUBLISH, SUBSCRIBE, PUBSUB and their variants for patterns and sharded channels. */

import { CommandError } from '../../protocol/command-error.ts';
import { type NodeReply, Push, Several } from '../../protocol/reply.ts';
import { type ChannelKind, subscriptionsOf } from '../../state/channels.ts';
import type { NodeConnection } from '../../state/connection.ts';
import { ANY, at, type Command, manages, reads } from '../command.ts';
import { subcommands } from '../subcommands.ts';

/** The number of subscriptions in a confirmation. Sharded channels are counted apart from channels and patterns. */
function countOf(connection: NodeConnection, kind: ChannelKind): number {
  if (kind === 'shard') return connection.shardChannels.size;
  return connection.channels.size + connection.patterns.size;
}

function subscribes(name: string, kind: ChannelKind): Command {
  return manages(name, 1, ANY, ({ node, connection }, args) => {
    const confirmations = args.map((channel) => {
      node.channels.subscribe(connection, kind, channel);
      return new Push([name, channel, countOf(connection, kind)]);
    });
    return new Several(confirmations);
  });
}

function unsubscribes(name: string, kind: ChannelKind): Command {
  return manages(name, 0, ANY, ({ node, connection }, args) => {
    const channels = args.length > 0 ? args : [...subscriptionsOf(connection, kind)];
    const confirmations = channels.map((channel) => {
      node.channels.unsubscribe(connection, kind, channel);
      return new Push([name, channel, countOf(connection, kind)]);
    });
    if (confirmations.length > 0) return new Several(confirmations);
    return new Push([name, null, countOf(connection, kind)]);
  });
}

function names(name: string, kind: ChannelKind): Command {
  return reads(name, 0, ANY, ({ node }, args) => {
    if (args.length > 1) {
      throw new CommandError(
        `ERR unknown subcommand or wrong number of arguments for '${name.toUpperCase()}'. Try PUBSUB HELP.`,
      );
    }
    return node.channels.names(kind, args[0] ?? '*');
  });
}

function counts(kind: ChannelKind): Command['run'] {
  return ({ node }, args): NodeReply =>
    args.flatMap((channel) => [channel, node.channels.count(kind, channel)]);
}

const PUBSUB: readonly Command[] = [
  names('channels', 'channel'),
  reads('numsub', 0, ANY, counts('channel')),
  reads('numpat', 0, 0, ({ node }) => node.channels.names('pattern', '*').length),
  names('shardchannels', 'shard'),
  reads('shardnumsub', 0, ANY, counts('shard')),
];

export const MESSAGE_COMMANDS: readonly Command[] = [
  reads('publish', 2, 2, ({ node }, args) => node.channels.publish(at(args, 0), at(args, 1))),
  reads('spublish', 2, 2, ({ node }, args) => node.channels.publishSharded(at(args, 0), at(args, 1))),
  subscribes('subscribe', 'channel'),
  subscribes('psubscribe', 'pattern'),
  subscribes('ssubscribe', 'shard'),
  unsubscribes('unsubscribe', 'channel'),
  unsubscribes('punsubscribe', 'pattern'),
  unsubscribes('sunsubscribe', 'shard'),
  subcommands('pubsub', PUBSUB, true),
];

/**
 * The commands that a subscribed connection may send in RESP2, where the replies of other commands could not be told
 * from messages.
 */
const WHILE_LISTENING = new Set([
  'subscribe',
  'psubscribe',
  'ssubscribe',
  'unsubscribe',
  'punsubscribe',
  'sunsubscribe',
  'ping',
  'quit',
  'reset',
]);

export function assertMayRun(connection: NodeConnection, command: Command): void {
  if (connection.protocol === 3 || !connection.isSubscriber || WHILE_LISTENING.has(command.name)) return;
  throw new CommandError(
    `ERR Can't execute '${command.name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context`,
  );
}
